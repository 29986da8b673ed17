## Norms of spans: of so many neighbours in rows of matrices, whose squares have weights by turns.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%!
    from portmp.codegen.packed import WIDEST
%>
<%
    p, long = w.platform, w.platform.index
    several = WIDEST // (4 if w.scalar == "float" else 8)
    fma, div, sqrt = (w.function(networks[role]) for role in ("fma", "div", "sqrt"))
%>
${arithmetic(w, list(networks.values()))}
/* out is dense, ${"spans of rows" if across else "rows of spans"}, as neighbours lie in memory */
${p.kernel.format(threads)} ${name}(
    const ${long} count, const ${long} m, const ${long} k,
${matrix(w, "x")}\
    ${w.planes("out", const=False)})
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} spans = (k + ${span - 1}) / ${span}, neighbours = ${"m" if across else "spans"};
    const ${long} entry = e / (m * spans), place = e % (m * spans);
% if across:
    const ${long} row = place % neighbours, first = place / neighbours * ${span};
% else:
    const ${long} row = place / neighbours, first = place % neighbours * ${span};
% endif
    const ${long} at = x_start + entry * x_batch + row * x_row + first * x_col;
    const int there = k - first < ${span} ? (int)(k - first) : ${span};
    ${w.value} z[${span}], largest = ${w.literal(small)}, sum = ${w.zero()};
    if (e >= count)
        return;
% if w.memory_vectors and not across:
    if (x_col == 1 && at % ${several} == 0 && there == ${span}) {
        ${p.const_pointer.format(w.scalar + str(several))}from = (${p.const_pointer.format(w.scalar + str(several))})(x0 + at);
% for u in range(0, span, several):
        const ${w.scalar}${several} from${u} = from[${u // several}];
% endfor
% for u in range(span):
        z[${u}] = ${w.fabs(f"from{u - u % several}.{'xyzw'[u % several]}")};
% endfor
    } else
% endif
    {
% for u in range(span):
        z[${u}] = ${u} < there ? ${w.fabs(w.limb("x", 0, f"at + {u} * x_col"))} : ${w.zero()};
% endfor
    }
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
