## One elementwise operator over any strided operands: one element a work-item.
## w: Writer, networks["operator"], operands: [(name, access)], rank, threads, sign_only
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p, operator = w.platform, networks["operator"] %>
${arithmetic(w, [operator])}
/* out[i] = ${operator.name}(${", ".join(n for n, _ in operands)}) for all n elements */
${p.kernel.format(threads)} ${name}(
    const ${p.index} n,
% for axis in range(1, rank):
    const ${p.index} size${axis},
% endfor
% for operand, access in operands:
% if access == "value":
    ${w.scalars(operand)},
% else:
    ${w.planes(operand, const=True)}, const ${p.index} ${operand}_start,
% if access == "strided":
    ${", ".join(f"const {p.index} {operand}_stride{axis}" for axis in range(rank))},
% endif
% endif
% endfor
% if sign_only:
    ${p.pointer.format(p.int8)}out0, const ${p.index} out_start,
% else:
    ${w.planes("out", const=False)}, const ${p.index} out_start,
% endif
    ${", ".join(f"const {p.index} out_stride{axis}" for axis in range(rank))})
{
    const ${p.index} i = (${p.index})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= n)
        return;
% if rank > 1:
    ${p.index} rest = i;
% for axis in range(rank - 1, 0, -1):
    const ${p.index} i${axis} = rest % size${axis};
    rest /= size${axis};
% endfor
    const ${p.index} i0 = rest;
% else:
    const ${p.index} i0 = i;
% endif
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(f"{operand}{k}" for k in w.limbs)};
% else:
% if access == "strided":
    const ${p.index} ${operand}_at = ${operand}_start + ${" + ".join(f"i{axis} * {operand}_stride{axis}" for axis in range(rank))};
% elif access == "contiguous":
    const ${p.index} ${operand}_at = ${operand}_start + i;
% endif
    const ${w.value} ${operand} = ${w.pack(w.limb(operand, k, f"{operand}_at") for k in w.limbs)};
% endif
% endfor
    const ${w.word if sign_only else w.value} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
    const ${p.index} at = out_start + ${" + ".join(f"i{axis} * out_stride{axis}" for axis in range(rank))};
% if sign_only:
    out0[at] = (${p.int8})result;
% else:
% for k in w.limbs:
    out${k}[at] = ${w.narrow(k, w.word_of("result", k))};
% endfor
% endif
}
