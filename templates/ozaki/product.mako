## int32 products of int8 matrices whose rows lie along the depth: c[i][j] = sum over k a[i][k] b[j][k].
## Any order of adding gives the same integers. tile x tile results a block, each thread results x results.
<%namespace file="/ozaki/integers.mako" import="dot4"/>
<%
    p, long = w.platform, w.platform.index
    side = threads_side * results
    step = 8  ## words of four bytes a tile is deep
    threads = threads_side * threads_side
%>
${dot4(w, True)}
/* ${side} x ${side} results a block, one matrix of each batch in the second axis */
${p.kernel.format(threads)} ${head()}
{
    ${p.shared} int a_tile[${side} * ${step + 1}], b_tile[${side} * ${step + 1}];
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} across = (n + ${side - 1}) / ${side};
    const ${long} top = (${long})${p.axis(p.group_id, 0)} / across * ${side};
    const ${long} left = (${long})${p.axis(p.group_id, 0)} % across * ${side};
    const int i0 = thread / ${threads_side}, j0 = thread % ${threads_side};
    int sums[${results * results}];
    a += a_start + ${p.axis(p.group_id, 1)} * a_batch;
    b += b_start + ${p.axis(p.group_id, 1)} * b_batch;
    c += c_start + ${p.axis(p.group_id, 1)} * c_batch;
    ${p.unroll}
    for (int e = 0; e < ${results * results}; ++e)
        sums[e] = 0;
    for (${long} k = 0; k < words; k += ${step}) {
        for (int e = thread; e < ${side * step}; e += ${threads}) {
            const int r = e / ${step}, q = e % ${step};
            const int inside = k + q < words;
            a_tile[r * ${step + 1} + q] = inside && top + r < m ? a[(top + r) * a_row + k + q] : 0;
            b_tile[r * ${step + 1} + q] = inside && left + r < n ? b[(left + r) * b_row + k + q] : 0;
        }
        ${p.barrier}
        ${p.unroll}
        for (int q = 0; q < ${step}; ++q) {
            int held[${results}];
            ${p.unroll}
            for (int j = 0; j < ${results}; ++j)
                held[j] = b_tile[(j0 + j * ${threads_side}) * ${step + 1} + q];
            ${p.unroll}
            for (int i = 0; i < ${results}; ++i) {
                const int x = a_tile[(i0 + i * ${threads_side}) * ${step + 1} + q];
                ${p.unroll}
                for (int j = 0; j < ${results}; ++j)
                    sums[i * ${results} + j] = dot4_signed(x, held[j], sums[i * ${results} + j]);
            }
        }
        ${p.barrier}
    }
    ${p.unroll}
    for (int i = 0; i < ${results}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${results}; ++j) {
            const ${long} row = top + i0 + i * ${threads_side}, col = left + j0 + j * ${threads_side};
            if (row < m && col < n)
                c[row * c_row + col] = sums[i * ${results} + j];
        }
    }
}
