## One elementwise operator over dense operands with explicit vectors, for CPUs.
## w: Writer of vectors, v: scalar Writer, networks["operator"], operands: [(name, access)], s: the schedule
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%
    p, operator = w.platform, networks["operator"]
    arrays = [n for n, access in operands if access != "value"]
    ## Of words that are decoded or converted a core looks too few ahead to have memory busy: so many bytes are
    ## fetched early (by trials with AXPY on two cores; words that are loaded as they are lose by it).
    lead = w.storage("out").encodings[0]
    ahead = 0 if lead.plain or lead.rescaled or not p.prefetch else 2048
%>
${arithmetic(w, [operator])}
${anywhere(w)}
/* out[i] = ${operator.name}(${", ".join(n for n, _ in operands)}) for all n elements: ${s.items} vectors of ${s.width} a work-item */
${p.kernel.format(s.threads)} ${head()}
{
    const ${p.index} first = ((${p.index})${p.axis(p.group_id, 0)} * ${s.threads} + ${p.axis(p.local_id, 0)}) * ${s.items * s.width};
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(w.splat(f"{operand}{k}") for k in w.limbs)};
% endif
% endfor

    const ${p.index} end = first + ${s.items * s.width} < n ? first + ${s.items * s.width} : n;
    ${p.index} i = first;
    for (; i + ${s.width} <= end; i += ${s.width}) {
% if ahead:
% for operand, place in [(operand, place) for operand in arrays for place in w.plane_names(operand, 0)]:
        ${p.prefetch.format(f"({p.const_pointer.format('char')})({place} + {operand}_start + i) + {ahead}")}
% endfor
% endif
% for operand in arrays:
        const ${w.value} ${operand} = ${w.pack(w.load_vector(operand, k, f"{operand}_start + i") for k in w.limbs)};
% endfor
        const ${w.type(operator.result)} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
% for k, word in w.words("out", operator.result):
        ${w.store_vector("out", k, "out_start + i", word)}
% endfor
    }
    if (i < end) {
        /* variables of their own: those above stay in registers */
        const int lanes = (int)(end - i);
% for operand in arrays:
        ${w.value} ${operand} = ${w.zero()};
        for (int lane = 0; lane < lanes; ++lane) {
% for k in w.limbs:
            ((${w.scalar} *)&${w.word_of(operand, k)})[lane] = ${v.limb(operand, k, f"{operand}_start + i + lane")};
% endfor
        }
% endfor
        ${w.type(operator.result)} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
        for (int lane = 0; lane < lanes; ++lane) {
% for k, word in w.words("out", operator.result):
            ${v.store("out", k, "out_start + i + lane", f"(({w.scalar} *)&{word})[lane]")}
% endfor
        }
    }
}
