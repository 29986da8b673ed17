## The same bounds of long products (span_bounds.mako) on CPUs: one work-item a block, explicit vectors.
## w: Writer of vectors, v: scalar Writer, height and columns: bounds of a block, rows and vectors: that are
## summed at a time
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere, arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    fma = w.function(networks["fma"])
    wide = vectors * w.width
    numbers = "total", "alpha", "unit", "least"

    def ended(total):
        return f'{fma}({fma}({total} * total, alpha, known), unit, least)'
%>
${arithmetic(w, list(networks.values()))}
${anywhere(w)}
/* a block computes ${height} x ${columns} bounds */
${p.kernel_of(1)} ${head()}
{
    const ${long} tiles_m = (m + ${height - 1}) / ${height}, tiles_n = (n + ${columns - 1}) / ${columns};
    const ${long} tile = (${long})${p.axis(p.group_id, 0)};
    const ${long} entry = tile / tiles_n / tiles_m;
    const ${long} first = tile / tiles_n % tiles_m * ${height}, first_col = tile % tiles_n * ${columns};
    const ${long} last = first + ${height} < m ? first + ${height} : m;
    const int width = n - first_col < ${columns} ? (int)(n - first_col) : ${columns};
    const ${long} y_at = y_start + entry * y_batch + first_col;
% for number in numbers:
    const ${w.word} ${number} = ${w.splat(f"{number}0")};
% endfor

    for (${long} row = first; row < last; row += ${rows}) {
        const ${long} x_at = x_start + entry * x_batch + row;
        for (int col = 0; col < width; col += ${wide}) {
            /* beyond the end are norms up to the pitch, and results that are not stored */
            ${w.word} sum[${rows}][${vectors}];
            ${p.unroll}
            for (int i = 0; i < ${rows}; ++i) {
                ${p.unroll}
                for (int j = 0; j < ${vectors}; ++j)
                    sum[i][j] = ${w.literal(0)};
            }
            for (int span = 0; span < spans; ++span) {
                ${w.word} y[${vectors}];
                ${p.unroll}
                for (int j = 0; j < ${vectors}; ++j)
                    y[j] = ${w.load_vector("y", 0, f"y_at + span * y_pitch + col + j * {w.width}")};
                ${p.unroll}
                for (int i = 0; i < ${rows}; ++i) {
                    const ${w.word} x = ${w.splat(v.limb("x", 0, "x_at + span * x_pitch + i"))};
                    ${p.unroll}
                    for (int j = 0; j < ${vectors}; ++j)
                        sum[i][j] = ${fma}(x, y[j], sum[i][j]);
                }
            }
            ${p.unroll}
            for (int i = 0; i < ${rows}; ++i) {
                ${p.unroll}
                for (int j = 0; j < ${vectors}; ++j) {
                    const ${long} to = bounds_start + (entry * m + row + i) * n + first_col + col + j * ${w.width};
                    const int lanes = row + i < last ? width - col - j * ${w.width} : 0;
                    if (lanes >= ${w.width}) {
                        const ${w.word} known = ${w.load_vector("bounds", 0, "to")};
                        ${w.store_vector("bounds", 0, "to", ended("sum[i][j]"))}
                    } else if (lanes > 0) {
                        /* variables of their own: those above stay in registers */
                        ${w.word} known = ${w.literal(0)}, found;
                        for (int lane = 0; lane < lanes; ++lane)
                            ((${w.scalar} *)&known)[lane] = ${v.limb("bounds", 0, "to + lane")};
                        found = ${ended("sum[i][j]")};
                        for (int lane = 0; lane < lanes; ++lane)
                            ${v.store("bounds", 0, "to + lane", w.lane("found", "lane"))}
                    }
                }
            }
        }
    }
}
