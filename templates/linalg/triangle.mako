## Copies of matrices with zeros beyond a triangle, or, in place, these zeros alone.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<% p, long = w.platform, w.platform.index %>
${arithmetic(w, [])}
/* out: as many matrices, columns and rows as count says; a has so many rows; a diagonal that begins
   in a row */
${p.kernel.format(threads)} triangle(
    const ${long} count, const ${long} rows, const ${long} columns, const ${long} held,
    const ${long} begin, const int lower, const int unit, const int in_place,
${matrix(w, "a")}\
${matrix(w, "out", const=False, end=")")}
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
## Divisions of 64 bits would take longer than the copy.
    const int near = count <= 0x7fffffff;
    const ${long} line = near ? (${long})((unsigned)e / (unsigned)columns) : e / columns;
    const ${long} entry = near ? (${long})((unsigned)line / (unsigned)rows) : line / rows;
    const ${long} j = e - line * columns, i = line - entry * rows;
    const ${long} at = a_start + entry * a_batch + i * a_row + j * a_col;
    const ${long} out_at = out_start + entry * out_batch + i * out_row + j * out_col;
    if (e >= count)
        return;
    if (unit && i == begin + j) {
% for k in w.limbs:
        ${w.store("out", k, "out_at", w.literal(0 if k else 1))}
% endfor
    } else if (i < held && (lower ? begin + j <= i : begin + j >= i)) {
        if (in_place)
            return;
% for k in w.limbs:
        ${w.store("out", k, "out_at", w.limb("a", k, "at"))}
% endfor
    } else {
% for k in w.limbs:
        ${w.store("out", k, "out_at", w.literal(0))}
% endfor
    }
}
