## Corrections of approximate eigenvectors, element by element.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    f = {role: w.function(net) for role, net in networks.items()}
%>
${arithmetic(w, list(networks.values()))}
/* of x: s = x^T a x, r = 1 - x^T x; out: what x is to be multiplied by, less 1 */
${p.kernel.format(threads)} correction(
    const ${long} n,
${matrix(w, "s")}\
${matrix(w, "r")}\
    ${w.planes("out", const=False)})
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
    const ${w.value} rest = ${w.element("r", "r_at")}, gap = ${f["sub"]}(right, left);
    const ${w.value} turn = ${f["fma"]}(right, rest, ${w.element("s", "s_at")});
    const ${w.scalar} size = ${w.fabs(w.limb("s", 0, "s_at"))};
    const ${w.scalar} size_r = ${w.fabs(w.limb("r", 0, "r_at"))};
    const ${w.scalar} size_i = ${w.fabs(w.limb("s", 0, "at_i"))};
    const ${w.scalar} size_j = ${w.fabs(w.limb("s", 0, "at_j"))};
    const ${w.scalar} product = (size_i > size_j ? size_i : size_j) * size_r;
    const ${w.scalar} size_gap = ${w.fabs(w.word_of("gap", 0))};
    const ${w.scalar} limit = size_gap * ${w.literal(2.0**-8)};
    ${w.value} z;
    if (i != j && size <= limit && product <= limit)
        z = ${f["div"]}(turn, gap);
    else {
        const ${w.value} half_of = ${w.first_of(networks["sub"].result, 0.5)};
        z = ${f["mul"]}(half_of, rest);
    }
% for k in w.limbs:
    ${w.store("out", k, "e", w.word_of("z", k))}
% endfor
}
