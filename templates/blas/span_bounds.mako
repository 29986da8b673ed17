## Bounds of long products, in place of what was followed: to that norms' product, as of matrices, is added.
## w: Writer, rows and columns: results of a thread, across: threads side by side
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codegen.packed import WIDEST
%>
<%
    p, long = w.platform, w.platform.index
    fma = w.function(networks["fma"])
    down = threads // across
    several = WIDEST // (4 if w.scalar == "float" else 8) if w.memory_vectors else 1
%>
${arithmetic(w, list(networks.values()))}
/* a block computes ${down * rows} x ${across * columns} bounds; a thread ${rows} x ${columns}, of columns ${across} apart */
${p.kernel.format(threads)} ${head()}
{
    const ${long} tiles_m = (m + ${down * rows - 1}) / ${down * rows}, tiles_n = (n + ${across * columns - 1}) / ${across * columns};
    const ${long} tile = (${long})${p.axis(p.group_id, 0)};
    const ${long} entry = tile / tiles_n / tiles_m;
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} row = tile / tiles_n % tiles_m * ${down * rows} + thread / ${across} * ${rows};
    const ${long} col = tile % tiles_n * ${across * columns} + thread % ${across};
    ${long} x_at = x_start + entry * x_batch + row, y_at = y_start + entry * y_batch + col;
    const ${long} to = bounds_start + (entry * m + row) * n + col;
    ${w.scalar} sum[${rows}][${columns}];
    if (row >= m || col >= n)
        return;
    /* beyond the end are norms up to the pitch, and results that are not stored */
    ${p.unroll}
    for (int i = 0; i < ${rows}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${columns}; ++j)
            sum[i][j] = ${w.literal(0)};
    }
    ${p.unrolled_by(unroll)}
    for (int span = 0; span < spans; ++span) {
        ${w.scalar} x[${rows}], y[${columns}];
% for i in range(0, rows, several):
% if several > 1:
        const ${w.scalar}${several} here${i} = *(${p.const_pointer.format(f"{w.scalar}{several}")})(x0 + x_at + ${i});
% for lane in range(several):
        x[${i + lane}] = here${i}.${"xyzw"[lane]};
% endfor
% else:
        x[${i}] = x0[x_at + ${i}];
% endif
% endfor
% for j in range(columns):
        y[${j}] = y0[y_at + ${j * across}];
% endfor
        ${p.unroll}
        for (int i = 0; i < ${rows}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${columns}; ++j)
                sum[i][j] = ${fma}(x[i], y[j], sum[i][j]);
        }
        x_at += x_pitch;
        y_at += y_pitch;
    }
    /* loads of half the results wait together */
    ${p.unroll}
    for (int begin = 0; begin < ${rows}; begin += ${rows // 2}) {
        ${w.scalar} known[${rows // 2}][${columns}];
        ${p.unroll}
        for (int i = 0; i < ${rows // 2}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${columns}; ++j)
                known[i][j] = bounds0[to + (row + begin + i < m ? (begin + i) * n : 0) + (col + j * ${across} < n ? j * ${across} : 0)];
        }
        ${p.unroll}
        for (int i = 0; i < ${rows // 2}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${columns}; ++j) {
                known[i][j] = ${fma}(sum[begin + i][j] * total0, alpha0, known[i][j]);
                if (row + begin + i < m && col + j * ${across} < n)
                    bounds0[to + (begin + i) * n + j * ${across}] = ${fma}(known[i][j], unit0, least0);
            }
        }
    }
}
