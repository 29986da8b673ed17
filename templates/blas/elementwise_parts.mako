## One elementwise operator over dense operands that are stored short: a work-item takes four
## neighbours at a time, so that short parts are read and written in whole words.
## w: Writer, networks["operator"], operands: [(name, access)], s: the schedule
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codegen import packed
    from portmp.codegen.packed import COUNT
%>
<%
    p, operator = w.platform, networks["operator"]
    arrays = [n for n, access in operands if access != "value"]
    step = s.threads * COUNT
%>
${arithmetic(w, [operator])}
/* out[i] = ${operator.name}(${", ".join(n for n, _ in operands)}) for all n elements: ${s.items} times ${COUNT} neighbours a work-item */
${p.kernel.format(s.threads)} ${head()}
{
    const ${p.index} first = (${p.index})${p.axis(p.group_id, 0)} * ${step * s.items} + ${p.axis(p.local_id, 0)} * ${COUNT};
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(f"{operand}{k}" for k in w.limbs)};
% endif
% endfor
    if (first + ${step * (s.items - 1) + COUNT} <= n) {
        /* all loads before the first store, so that more of them are under way */
% for item in range(s.items):
% for operand in arrays:
% for k in w.limbs:
% for line in packed.loads(w, operand, k, f"{operand}_start + first + {item * step}", f"{operand}{item}_{k}"):
        ${line}
% endfor
% endfor
% endfor
% endfor
% for item in range(s.items):
% for e in range(COUNT):
% for operand in arrays:
        const ${w.value} ${operand}${item}e${e} = ${w.pack(packed.word(w, operand, k, f"{operand}{item}_{k}", e) for k in w.limbs)};
% endfor
        const ${w.value} result${item}e${e} = ${w.function(operator)}(${", ".join(n if a == "value" else f"{n}{item}e{e}" for n, a in operands)});
% endfor
% for k in w.limbs:
% for line in packed.stores(w, "out", k, f"out_start + first + {item * step}", [w.word_of(f"result{item}e{e}", k) for e in range(COUNT)]):
        ${line}
% endfor
% endfor
% endfor
        return;
    }
    for (${p.index} group = first; group < n; group += ${step}) {
        for (${p.index} at = group; at < n && at < group + ${COUNT}; ++at) {
% for operand in arrays:
            const ${w.value} ${operand} = ${w.element(operand, f"{operand}_start + at")};
% endfor
            const ${w.value} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
% for k in w.limbs:
            ${w.store("out", k, "out_start + at", w.word_of("result", k))}
% endfor
        }
        if (group == first + ${step * (s.items - 1)})
            break;
    }
}
