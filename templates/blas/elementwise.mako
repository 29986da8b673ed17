## One elementwise operator over any strided operands.
## w: Writer, networks["operator"], operands: [(name, access)], rank, s: the schedule
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    def at(operand, access, rank):
        """Where an operand's element is."""
        if access == "contiguous":
            return f"{operand}_start + i"
        return f"{operand}_start + " + " + ".join(f"i{a} * {operand}_stride{a}" for a in range(rank))
%>
<%
    p, operator = w.platform, networks["operator"]
    kinds = {name: kind for (name, _), (_, kind) in zip(operands, operator.inputs)}
    def element(operand):
        """An operand's element; of truth values any byte but 0 is true."""
        index = f"{operand}_at"
        return f"{operand}0[{index}] != 0" if kinds[operand].role == "flag" else w.element(operand, index)
%>
${arithmetic(w, [operator])}
/* out[i] = ${operator.name}(${", ".join(n for n, _ in operands)}) for all n elements */
${p.kernel.format(s.threads)} ${head()}
{
    const ${p.index} first = (${p.index})${p.axis(p.group_id, 0)} * ${s.threads * s.items} + ${p.axis(p.local_id, 0)};
% if s.items == 1:
    const ${p.index} i = first;
    if (i >= n)
        return;
${axes("    ")}
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(f"{operand}{k}" for k in w.limbs)};
% else:
    const ${p.index} ${operand}_at = ${at(operand, access, rank)};
    const ${w.type(kinds[operand])} ${operand} = ${element(operand)};
% endif
% endfor
    const ${w.type(operator.result)} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
${stored("    ")}
% else:
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(f"{operand}{k}" for k in w.limbs)};
% else:
    ${w.type(kinds[operand])} ${operand}[${s.items}];
% endif
% endfor
    /* all loads before the first store, so that more of them are under way */
    ${p.unroll}
    for (int item = 0; item < ${s.items}; ++item) {
        const ${p.index} i = first + item * ${s.threads};
        if (i < n) {
${axes(" " * 12)}
% for operand, access in operands:
% if access != "value":
            const ${p.index} ${operand}_at = ${at(operand, access, rank)};
            ${operand}[item] = ${element(operand)};
% endif
% endfor
        }
    }
    ${p.unroll}
    for (int item = 0; item < ${s.items}; ++item) {
        const ${p.index} i = first + item * ${s.threads};
        if (i < n) {
${axes(" " * 12)}
            const ${w.type(operator.result)} result = ${w.function(operator)}(${", ".join(n if a == "value" else f"{n}[item]" for n, a in operands)});
${stored(" " * 12)}
        }
    }
% endif
}
<%def name="axes(pad)">
% if rank > 1:
${pad}${w.platform.index} rest = i;
% for axis in range(rank - 1, 0, -1):
${pad}const ${w.platform.index} i${axis} = rest % size${axis};
${pad}rest /= size${axis};
% endfor
${pad}const ${w.platform.index} i0 = rest;
% else:
${pad}const ${w.platform.index} i0 = i;
% endif
</%def>
<%def name="stored(pad)">
${pad}const ${w.platform.index} at = ${at("out", "strided", rank)};
% if networks["operator"].result.role == "flag":
${pad}out0[at] = result;
% else:
% for k, word in w.words("out", networks["operator"].result):
${pad}${w.store("out", k, "at", word)}
% endfor
% endif
</%def>
