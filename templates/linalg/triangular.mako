## A block of unknowns of triangular systems for a tile of right-hand sides: for CPUs.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p, long = w.platform, w.platform.index %>
<%def name="put(name, index, value)">
% for k in w.limbs:
            ${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
/* a x = b, a lower triangular with n rows, x in b's place; unknowns in ascending order */
${p.kernel.format(1)} ${head()}
{
    const int size = (int)n;
    const ${long} group = ${p.axis(p.group_id, 0)};
    const ${long} first = group % tiles * ${tile}, entry = group / tiles;
    const int width = (int)(columns - first < ${tile} ? columns - first : ${tile});
    const ${long} a_at = a_start + entry * a_batch;
    const ${long} b_at = b_start + entry * b_batch + first * b_col;

## What follows each other lies side by side in memory: rows, or right-hand sides.
    const int turned = (b_row < 0 ? -b_row : b_row) < (b_col < 0 ? -b_col : b_col);
    /* of columns one by one, else all together */
    const int step = turned ? 1 : width;
    for (int from = 0; from < width; from += step)
    for (int i = 0; i < size; ++i) {
        const ${long} row = b_at + i * b_row, pivot = a_at + i * (a_row + a_col);
        const int below = size - 1 - i;
        for (int j = 0; j < (unit ? 0 : step); ++j) {
            const ${long} at = row + (from + j) * b_col;
            const ${w.value} x = ${w.function(networks["div"])}(${w.element("b", "at")}, ${w.element("a", "pivot")});
${put("b", "at", "x")}
        }
        for (int e = 0; e < below * step; ++e) {
            const int down = 1 + (turned ? e % below : e / step), j = turned ? e / below : e % step;
            const ${long} known = row + (from + j) * b_col, at = known + down * b_row;
            const ${long} left = pivot + down * a_row;
            const ${w.value} z = ${w.function(networks["fma"])}(
                ${w.function(networks["neg"])}(${w.element("a", "left")}), ${w.element("b", "known")}, ${w.element("b", "at")});
${put("b", "at", "z")}
        }
    }
}
