## Products of matrices whose rows lie along the depth: c[i][j] = sum over k a[i][k] b[j][k], whose sums
## are exact in the word: for CPUs, a work-item a block, in vectors.
## w: Writer of vectors, v: scalar Writer; down x across results a block, rows x vectors of them at once,
## over ``steps`` steps, for which rows of b are packed.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long, lanes = w.platform, w.platform.index, w.width
    columns = lanes * vectors
    inner = [(i, j) for i in range(rows) for j in range(vectors)]
%>
${arithmetic(w, [])}
/* ${down} x ${across} results a block, one matrix of each batch in the second axis */
${p.kernel.format(1)} ${head()}
{
    ${p.shared} ${w.word} packed[${steps * across // lanes}];
    ${w.word} held[${down * across // lanes}];
    const ${long} blocks = (n + ${across - 1}) / ${across};
    const ${long} top = (${long})${p.axis(p.group_id, 0)} / blocks * ${down};
    const ${long} left = (${long})${p.axis(p.group_id, 0)} % blocks * ${across};
    const int height = m - top < ${down} ? (int)(m - top) : ${down}, width = n - left < ${across} ? (int)(n - left) : ${across};
    a += a_start + ${p.axis(p.group_id, 1)} * a_batch + top * a_row;
    b += b_start + ${p.axis(p.group_id, 1)} * b_batch + left * b_row;
    c += c_start + ${p.axis(p.group_id, 1)} * c_batch + top * c_row + left;
    for (int e = 0; e < ${down * across // lanes}; ++e)
        held[e] = ${w.literal(0)};
    for (${long} start = 0; start < depth; start += ${steps}) {
        const int count = depth - start < ${steps} ? (int)(depth - start) : ${steps};
        /* rows and columns beyond the last are the last one, whose sums are not stored */
        for (int col = 0; col < width; col += ${columns}) {
            ${p.shared_pointer.format(v.word)}target = (${p.shared_pointer.format(v.word)})packed + col * ${steps};
% for j in range(columns):
            ${p.const_pointer.format(v.word)}y${j} = b + start + (col + ${j} < width ? col + ${j} : width - 1) * b_row;
% endfor
            for (int k = 0; k < count; ++k) {
% for j in range(columns):
                target[${columns} * k + ${j}] = y${j}[k];
% endfor
            }
        }
        for (int col = 0; col < width; col += ${columns})
        for (int row = 0; row < height; row += ${rows}) {
            ${p.shared_pointer.format(w.word)}y = packed + col / ${lanes} * ${steps};
            ${w.word} *sums = held + (row * ${across} + col) / ${lanes};
% for i in range(rows):
            ${p.const_pointer.format(v.word)}x${i} = a + start + (row + ${i} < height ? row + ${i} : height - 1) * a_row;
% endfor
            ${w.word} ${", ".join(f"sum{i}_{j} = sums[{i * across // lanes + j}]" for i, j in inner)};
            for (int k = 0; k < count; ++k) {
                const ${w.word} ${", ".join(f"y{j} = y[{vectors} * k + {j}]" for j in range(vectors))};
                ${w.word} x;
% for i in range(rows):
                x = ${w.splat(f"x{i}[k]")};
% for j in range(vectors):
                sum${i}_${j} = ${w.fma("x", f"y{j}", f"sum{i}_{j}")};
% endfor
% endfor
            }
% for i, j in inner:
            sums[${i * across // lanes + j}] = sum${i}_${j};
% endfor
        }
    }
    for (int row = 0; row < height; ++row)
        for (int col = 0; col < width; ++col)
            c[row * c_row + col] = ((${v.word} *)held)[row * ${across} + col];
}
