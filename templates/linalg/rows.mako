## Matrices with their rows in another order.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p, long = w.platform, w.platform.index %>
${arithmetic(w, [])}
/* row i of an entry of out, which is dense, is row order[i] of a's */
${p.kernel.format(threads)} ${head()}
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} j = e % n, entry = e / n / m;
    if (e >= count)
        return;
    const ${long} at = a_start + entry * a_batch + order[e / n] * a_row + j * a_col;
% for k in w.limbs:
    ${w.store("out", k, "e", w.limb("a", k, "at"))}
% endfor
}
