## Copies of matrices with zeros beyond a triangle.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<% p, long = w.platform, w.platform.index %>
${arithmetic(w, [])}
/* out: dense matrices of a number of rows and columns; a has so many rows */
${p.kernel.format(threads)} triangle(
    const ${long} count, const ${long} rows, const ${long} columns, const ${long} held,
    const int lower, const int unit,
${matrix(w, "a")}\
    ${w.planes("out", const=False)})
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} j = e % columns, i = e / columns % rows;
    const ${long} at = a_start + e / columns / rows * a_batch + i * a_row + j * a_col;
    if (e >= count)
        return;
    if (unit && i == j) {
% for k in w.limbs:
        ${w.store("out", k, "e", w.literal(0 if k else 1))}
% endfor
    } else if (i < held && (lower ? j <= i : j >= i)) {
% for k in w.limbs:
        ${w.store("out", k, "e", w.limb("a", k, "at"))}
% endfor
    } else {
% for k in w.limbs:
        ${w.store("out", k, "e", w.literal(0))}
% endfor
    }
}
