## Integers to values of a format, rounded once: each limb is the rest rounded to its word.
## networks["copy"], source: dtype, rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="element"/>
<%!
    from portmp.codegen.elements import Elements, at, number, wide
%>
<%
    p = w.platform
    long, unsigned = p.index, number(p, "uint64")
    result = Elements(w, "out")
    top, wrapped = (2.0**64, "0") if wide(source) == "uint64" else (2.0**63, f"({unsigned})1 << 63")
%>
${arithmetic(w, [networks["copy"]])}
${p.kernel.format(threads)} ${head()}
{
${element(w, rank, threads)}\
    const ${number(p, wide(source))} x = ${Elements(w, "x", source).load(at("x", rank))};
    const ${w.word} z0 = (${w.word})x;
% if w.format.limbs > 1:
    /* the largest are rounded to the end of their range, which is no integer of it */
    const ${unsigned} head = z0 == ${w.literal(top)} ? ${wrapped} : (${unsigned})(${number(p, wide(source))})z0;
    ${"" if w.format.limbs > 2 else "const "}${long} left = (${long})((${unsigned})x - head);
% endif
% for k in range(1, w.format.limbs):
    const ${w.word} z${k} = (${w.word})left;
% if k + 1 < w.format.limbs:
    left -= (${long})z${k};
% endif
% endfor
    const ${w.value} z = ${w.pack(f"z{k}" for k in w.limbs)};
    const ${p.index} to = ${at("out", rank)};
% for line in result.store("to", "z"):
    ${line}
% endfor
}
