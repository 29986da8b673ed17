## How many reciprocal roots of a run of floats are not correctly rounded.
## w: Writer of float32, networks: inverse_root, count: floats a work-item
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p, long = w.platform, w.platform.index %>
${arithmetic(w, [networks["root"]])}
/* all floats from 1 up to 4, times a scale, in the grid: roots of others are theirs, scaled */
${p.kernel.format(threads)} ${head()}
{
    const int item = (int)${p.axis(p.group_id, 0)} * ${threads} + (int)${p.axis(p.local_id, 0)};
    int differing = 0;
    for (int i = item * ${count}; i < (item + 1) * ${count}; ++i) {
        const float mantissa = (float)(i & 0x7fffff) * ${2.0**-23}f + 1.0f;
        const float x = (i < 0x800000 ? mantissa : 2.0f * mantissa) * scale;
        /* rounded twice, and yet right for every float (all were tried) */
        const float root = (float)(1.0 / ${p.sqrt["float64"].format("(double)x")});
        differing += inverse_root(x) != root;
    }
    wrong[item] = (float)differing;
}
