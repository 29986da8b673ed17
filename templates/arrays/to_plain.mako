## Values of a format to integers, toward zero: those beyond the ends become the ends, NaN becomes 0.
## networks["copy"], target: dtype, lowest, highest (of the dtype), rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="element"/>
<%!
    from portmp.codegen.elements import Elements, at, number, wide
%>
<%
    p = w.platform
    long, unsigned, wanted = p.index, number(p, "uint64"), number(p, wide(target))
    x = Elements(w, "x")
    top = 2.0**64 if wide(target) == "uint64" else 2.0**63
    ends = {"highest": f"{highest}u{'ll' if long == 'long long' else 'l'}" if top == 2.0**64 else f"{highest}",
            "lowest": f"({long}){lowest + 1} - 1" if lowest else "0"}
%>
${arithmetic(w, [networks["copy"]])}
% if w.first("whole"):
/* what lies before the point, modulo 2^64: numbers of 2^62 and more are multiples of four */
${p.function} ${unsigned} whole(const ${w.word} x)
{
    return ${w.fabs("x")} < ${w.literal(2.0**62)} ? (${unsigned})(${long})x : (${unsigned})(${long})(x * ${w.literal(0.25)}) << 2;
}

% endif
${p.function} ${wanted} truncated_${target}(const ${w.value} x)
{
% for k in w.limbs:
    const ${w.word} x${k} = ${w.word_of("x", k)};
% endfor
    /* the sign of what follows the leading limb, and of what lies behind the point */
    ${w.word} below = 0, rest = 0, tail;
    ${unsigned} z;

    if (x0 != x0)
        return 0;
% for k in reversed(range(1, w.format.limbs)):
    below = x${k} != 0 ? x${k} : below;
% endfor
    if (x0 > ${w.literal(top)} || (x0 == ${w.literal(top)} && below >= 0))
        return ${ends["highest"]};
% if top == 2.0**64:
    if (x0 < 0)
        return 0;
% else:
    if (x0 < ${w.literal(-top)} || (x0 == ${w.literal(-top)} && below <= -1))
        return ${ends["lowest"]};
% endif
    z = ${" + ".join(f"whole(x{k})" for k in w.limbs)};
% for k in reversed(w.limbs):
    tail = ${w.fabs(f"x{k}")} < ${w.literal(2.0**62)} ? x${k} - (${w.word})(${long})x${k} : 0;
    rest = tail != 0 ? tail : rest;
% endfor
    if (x0 > 0 && rest < 0)
        z -= 1;
    if (x0 < 0 && rest > 0)
        z += 1;
% if wide(target) == target:
    return (${wanted})z;
% elif lowest:
    return (${wanted})z < ${ends["lowest"]} ? ${ends["lowest"]} : (${wanted})z > ${ends["highest"]} ? ${ends["highest"]} : (${wanted})z;
% else:
    return z > ${ends["highest"]} ? ${ends["highest"]} : z;
% endif
}

${p.kernel.format(threads)} ${head()}
{
${element(w, rank, threads)}\
    const ${p.index} from = ${at("x", rank)};
    out0[${at("out", rank)}] = (${number(p, target)})truncated_${target}(${x.load("from")});
}
