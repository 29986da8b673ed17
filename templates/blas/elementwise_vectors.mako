## One elementwise operator over dense operands with explicit vectors, for CPUs.
## w: Writer of vectors, v: scalar Writer, networks["operator"], operands: [(name, access)], s: the schedule
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<% p, operator = w.platform, networks["operator"] %>
<% arrays = [n for n, access in operands if access != "value"] %>
${arithmetic(w, [operator])}
${anywhere(w)}
/* out[i] = ${operator.name}(${", ".join(n for n, _ in operands)}) for all n elements: ${s.items} vectors of ${s.width} a work-item */
${p.kernel.format(s.threads)} ${name}(
    const ${p.index} n,
% for operand, access in operands:
% if access == "value":
    ${v.scalars(operand)},
% else:
    ${v.planes(operand, const=True)}, const ${p.index} ${operand}_start,
% endif
% endfor
    ${v.planes("out", const=False)}, const ${p.index} out_start, const ${p.index} out_stride0)
{
    const ${p.index} first = ((${p.index})${p.axis(p.group_id, 0)} * ${s.threads} + ${p.axis(p.local_id, 0)}) * ${s.items * s.width};
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(w.splat(f"{operand}{k}") for k in w.limbs)};
% endif
% endfor

    for (${p.index} i = first; i < first + ${s.items * s.width} && i < n; i += ${s.width}) {
        const int lanes = n - i < ${s.width} ? (int)(n - i) : ${s.width};
        ${w.value} result;
% for operand in arrays:
        ${w.value} ${operand} = ${w.zero()};
% endfor
        if (lanes == ${s.width}) {
% for operand in arrays:
% for k in w.limbs:
            ${w.word_of(operand, k)} = ${w.neighbours(operand, k, f"{operand}_start + i")};
% endfor
% endfor
        } else {
            for (int lane = 0; lane < lanes; ++lane) {
% for operand in arrays:
% for k in w.limbs:
                ((${w.scalar} *)&${w.word_of(operand, k)})[lane] = ${operand}${k}[${operand}_start + i + lane];
% endfor
% endfor
            }
        }
        result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
        if (lanes == ${s.width}) {
% for k in w.limbs:
            ${w.neighbours("out", k, "out_start + i", const=False)} = ${w.word_of("result", k)};
% endfor
        } else {
            for (int lane = 0; lane < lanes; ++lane) {
% for k in w.limbs:
                out${k}[out_start + i + lane] = ((${w.scalar} *)&${w.word_of("result", k)})[lane];
% endfor
            }
        }
    }
}
