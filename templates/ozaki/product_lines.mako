## int32 products of int8 matrices whose rows lie along the depth: c[i][j] = sum over k a[i][k] b[j][k],
## for CPUs: a work-item a block, whose loops over lanes become vectors of float32. Sums of lanes are
## exact for a while, then they are added up as integers.
## tile x tile results a block; rows x columns of them at once, in lanes lanes.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long, w1 = w.platform, w.platform.index, w.single
    together = lanes * 1024  ## 1024 products of up to 2^14
    inner = [(i, j) for i in range(rows) for j in range(columns)]
%>
${arithmetic(w1, [])}
/* ${tile} x ${tile} results a block, one matrix of each batch in the second axis */
${p.kernel.format(1)} ${head()}
{
    const ${long} across = (n + ${tile - 1}) / ${tile}, depth = 4 * words;
    const ${long} top = (${long})${p.axis(p.group_id, 0)} / across * ${tile};
    const ${long} left = (${long})${p.axis(p.group_id, 0)} % across * ${tile};
    const ${long} bottom = top + ${tile} < m ? top + ${tile} : m;
    const ${long} right = left + ${tile} < n ? left + ${tile} : n;
    a += 4 * (a_start + ${p.axis(p.group_id, 1)} * a_batch);
    b += 4 * (b_start + ${p.axis(p.group_id, 1)} * b_batch);
    c += c_start + ${p.axis(p.group_id, 1)} * c_batch;
    for (${long} col = left; col < right; col += ${columns})
    for (${long} row = top; row < bottom; row += ${rows}) {
        int total[${rows * columns}];
        /* rows beyond the last are the last one, whose sums are written once */
% for name_, count, end in (("x", rows, "m"), ("y", columns, "n")):
% for i in range(count):
<% first = "row" if name_ == "x" else "col"; which = "a" if name_ == "x" else "b" %>\
        ${p.const_pointer.format(p.int8)}${name_}${i} = ${which} + 4 * (${first} + ${i} < ${end} ? ${first} + ${i} : ${end} - 1) * ${which}_row;
% endfor
% endfor
        for (int e = 0; e < ${rows * columns}; ++e)
            total[e] = 0;
        for (${long} start = 0; start < depth; start += ${together}) {
            const ${long} whole = depth / ${lanes} * ${lanes};
            const ${long} stop = start + ${together} < whole ? start + ${together} : whole;
            float sum[${rows * columns}][${lanes}];
            for (int e = 0; e < ${rows * columns}; ++e)
                for (int lane = 0; lane < ${lanes}; ++lane)
                    sum[e][lane] = 0.0f;
            for (${long} k = start; k < stop; k += ${lanes}) {
                float left_words[${rows}][${lanes}], right_word[${lanes}];
% for i in range(rows):
                for (int lane = 0; lane < ${lanes}; ++lane)
                    left_words[${i}][lane] = x${i}[k + lane];
% endfor
% for j in range(columns):
                for (int lane = 0; lane < ${lanes}; ++lane)
                    right_word[lane] = y${j}[k + lane];
% for i in range(rows):
                for (int lane = 0; lane < ${lanes}; ++lane)
                    sum[${columns * i + j}][lane] = ${w1.fma(f"left_words[{i}][lane]", "right_word[lane]", f"sum[{columns * i + j}][lane]")};
% endfor
% endfor
            }
            for (int e = 0; e < ${rows * columns}; ++e)
                for (int lane = 0; lane < ${lanes}; ++lane)
                    total[e] += (int)sum[e][lane];
            if (start + ${together} >= depth)
                for (${long} k = whole; k < depth; ++k) {
% for i, j in inner:
                    total[${columns * i + j}] += x${i}[k] * y${j}[k];
% endfor
                }
        }
% for i, j in inner:
        if (row + ${i} < m && col + ${j} < n)
            c[(row + ${i}) * c_row + col + ${j}] = total[${columns * i + j}];
% endfor
    }
}
