## Corrections of approximate eigenvectors, element by element.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    f = {role: w.function(net) for role, net in networks.items()}
%>
${arithmetic(w, list(networks.values()))}
/* of x: s = x^T a x, r = 1 - x^T x; out: what x is to be multiplied by, less 1 */
${p.kernel.format(threads)} ${head()}
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} i = e / n, j = e % n;
    if (e >= n * n)
        return;
    /* both elements of a pair go by the lower one */
    const ${long} low = i > j ? j : i, high = i > j ? i : j;
    const ${long} s_at = s_start + high * s_row + low * s_col, r_at = r_start + high * r_row + low * r_col;
    const ${long} at_i = s_start + i * (s_row + s_col), at_j = s_start + j * (s_row + s_col);
    const ${w.value} left = ${w.element("s", "at_i")}, right = ${w.element("s", "at_j")};
    const ${w.value} gap = ${f["sub"]}(right, left);
    const ${w.scalar} size_gap = ${w.fabs(w.word_of("gap", 0))};
% for part in range(parts):
    {
<% own = [k + part * len(w.limbs) for k in w.limbs] %>\
        const ${w.value} rest = ${w.pack(w.limb("r", k, "r_at") for k in own)};
        ${w.value} z;
        if (size_gap > apart)
            z = ${f["div"]}(${f["fma"]}(right, rest, ${w.pack(w.limb("s", k, "s_at") for k in own)}), gap);
        else {
            const ${w.value} half_of = ${w.first_of(networks["sub"].result, 0.5)};
            z = ${f["mul"]}(half_of, rest);
        }
% if part:
        /* the other one of the pair is conjugate */
        if (i < j)
            z = ${f["neg"]}(z);
% endif
% for k in own:
        ${w.store("out", k, "e", w.word_of("z", k - own[0]))}
% endfor
    }
% endfor
}
