## Bounds of long products: norms of spans are multiplied as matrices, and what was followed is added.
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
${p.kernel.format(threads)} ${name}(
    const ${long} m, const ${long} n, const ${long} spans,
    ${w.planes("x", const=True)}, const ${long} x_pitch, const ${long} x_batch,
    ${w.planes("y", const=True)}, const ${long} y_pitch, const ${long} y_batch,
    ${w.planes("followed", const=True)}, const ${long} followed_start, ${w.planes("out", const=False)},
    ${w.scalars("factor")}, ${w.scalars("unit")}, ${w.scalars("least")})
{
    const ${long} tiles_m = (m + ${down * rows - 1}) / ${down * rows}, tiles_n = (n + ${across * columns - 1}) / ${across * columns};
    const ${long} tile = (${long})${p.axis(p.group_id, 0)};
    const ${long} entry = tile / tiles_n / tiles_m;
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} row = tile / tiles_n % tiles_m * ${down * rows} + thread / ${across} * ${rows};
    const ${long} col = tile % tiles_n * ${across * columns} + thread % ${across};
    ${long} x_at = entry * x_batch + row, y_at = entry * y_batch;
    ${long} at[${columns}];
    ${w.scalar} sum[${rows}][${columns}];
    if (row >= m || col >= n)
        return;
    /* columns beyond the end repeat the first one and are not stored; rows have norms up to the pitch */
% for j in range(columns):
    at[${j}] = col + ${j * across} < n ? col + ${j * across} : col;
% endfor
    ${p.unroll}
    for (int i = 0; i < ${rows}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${columns}; ++j)
            sum[i][j] = ${w.literal(0)};
    }
    for (${long} span = 0; span < spans; ++span) {
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
        y[${j}] = y0[y_at + at[${j}]];
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
    ${p.unroll}
    for (int i = 0; i < ${rows}; ++i) {
        const ${long} to = (entry * m + row + i) * n;
        if (row + i < m) {
% for j in range(columns):
            if (col + ${j * across} < n) {
                const ${w.scalar} known = ${fma}(factor0, sum[i][${j}], followed0[followed_start + to + at[${j}]]);
                out0[to + at[${j}]] = ${fma}(known, unit0, least0);
            }
% endfor
        }
    }
}
