## Elements of a product by the direct definition: those of a list, a block each; then they are put in their places.
## w: Writer, slab, period: numbers of the definition, threads: of a block, which share the slabs of an element.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    words = range(networks["finish"].result.words)
%>
${arithmetic(w, list(networks.values()))}
${leading_chain(w, slab)}
${p.kernel.format(threads)} ${head()}
{
% for i in w.limbs:
    ${p.shared} ${w.scalar} parts${i}[${threads}];
% endfor
    const int lane = (int)${p.axis(p.local_id, 0)}, found = tickets[tickets_start];
    const ${long} count = found < most ? found : most, slabs = (k + ${slab - 1}) / ${slab};
    for (${long} e = ${p.axis(p.group_id, 0)}; e < count; e += groups) {
        const ${long} row = list[e] / n, col = list[e] % n;
        ${w.value} z = ${w.zero()};
        for (${long} first = 0; first < slabs; first += ${threads}) {
            const ${long} begin = (first + lane) * ${slab}, end = begin + ${slab} < k ? begin + ${slab} : k;
            ${w.type(state)} sum = ${w.zero(state)};
            ${long} a_at = a_start + row * a_row + begin * a_col, b_at = b_start + begin * b_row + col * b_col;
            ${p.unrolled_by(1)}
            for (${long} i = begin; i < end; ++i) {
                sum = ${w.function(networks["accumulate"])}(sum, ${w.element("a", "a_at")}, ${w.element("b", "b_at")});
% if settle is not None:
                if ((i - begin) % ${period} == ${period - 1})
                    sum = ${w.function(settle)}(sum);
% endif
                a_at += a_col;
                b_at += b_row;
            }
            {
                const ${w.value} part = ${w.function(networks["finish"])}(sum);
% for i in w.limbs:
                parts${i}[lane] = ${w.word_of("part", i)};
% endfor
            }
            ${p.barrier}
            if (lane == 0) {
                for (int other = 0; other < ${threads} && first + other < slabs; ++other) {
                    const ${w.value} part = ${w.pack(f"parts{i}[other]" for i in w.limbs)};
                    z = first + other == 0 ? part : ${w.function(networks["add"])}(z, part);
                }
            }
            ${p.barrier}
        }
        if (lane != 0)
            continue;
        if (!(${w.fabs(w.word_of("z", 0))} <= ${w.largest})) {
            const ${w.scalar} chain = leading_chain(
                ${w.leading("a", pass_on=True)}, a_start + row * a_row, a_col,
                ${w.leading("b", pass_on=True)}, b_start + col * b_col, b_row, k);
            z = ${w.alone("chain")};
        }
${scaled(w, networks, "z", w.element("c", "c_start + row * c_row + col * c_col"), " " * 8)}
% for i in w.limbs:
        ${w.store("values", i, "values_start + e", w.word_of("z", i))}
% endfor
    }
}

${p.kernel.format(threads)} ${head(f"{name}_put")}
{
    const int found = tickets[tickets_start];
    const ${long} count = found < most ? found : most;
    for (${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)}; e < count; e += groups * ${threads}) {
        const ${long} at = out_start + list[e] / n * out_row + list[e] % n * out_col;
% for i in w.limbs:
        out${i}[at] = values${i}[values_start + e];
% endfor
    }
}
