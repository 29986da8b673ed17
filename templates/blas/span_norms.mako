## Norms of spans: of so many neighbours in rows of matrices, whose squares have weights by turns.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, sqrt = (w.function(networks[role]) for role in ("fma", "div", "sqrt"))
%>
${arithmetic(w, list(networks.values()))}
/* out is dense: rows of spans or, *turned*, spans of rows, as neighbours lie in memory */
${p.kernel.format(threads)} ${name}(
    const ${long} count, const ${long} m, const ${long} k, const int turned,
${matrix(w, "x")}\
    ${w.planes("out", const=False)})
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} spans = (k + ${span - 1}) / ${span}, across = turned ? m : spans;
    const ${long} entry = e / (m * spans), place = e % (m * spans);
    const ${long} row = turned ? place % across : place / across;
    const ${long} first = (turned ? place / across : place % across) * ${span};
    const ${long} at = x_start + entry * x_batch + row * x_row + first * x_col;
    const int there = k - first < ${span} ? (int)(k - first) : ${span};
    ${w.value} z[${span}], largest = ${w.literal(small)}, sum = ${w.zero()};
    if (e >= count)
        return;
% for u in range(span):
    z[${u}] = ${u} < there ? ${w.fabs(w.limb("x", 0, f"at + {u} * x_col"))} : ${w.zero()};
% endfor
% for u in range(span):
    largest = z[${u}] > largest ? z[${u}] : largest;
% endfor
    /* no square overflows, and none that counts underflows */
    const ${w.value} inverse = ${div}(${w.literal(1)}, largest);
% for u in range(span):
    z[${u}] = z[${u}] * inverse;
    sum = ${fma}(z[${u}] * ${w.literal(weights[u % len(weights)])}, z[${u}], sum);
% endfor
    ${w.store("out", 0, "e", f"{fma}(largest, {sqrt}(sum), {w.literal(least)})")}
}
