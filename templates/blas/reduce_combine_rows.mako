## Second half of GEMV and sums of many rows that have few chunks: a work-item a row. The same
## definition as reduce_combine.mako.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/combine.mako" import="parameters, recomputed"/>
<% p, long = w.platform, w.platform.index %>
<% combine = networks["combine"] %>
<% product = terms == "product" %>
<% empty = w.pack([w.literal(start)] + [w.literal(0)] * (w.format.limbs - 1)) %>
${arithmetic(w, [combine] + ([networks["add"], networks["mul"]] if product else []))}
/* chunks of a row combine pairwise with halving distance */
${p.kernel.format(threads)} ${name}(
${parameters(w)}
{
% if recompute:
    ${p.shared} ${w.word} lanes0[${threads}];
    ${p.shared} int open[${threads}], some[1];
% endif
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} first_row = (${long})${p.axis(p.group_id, 0)} * ${threads};
    const ${long} mine = first_row + thread;
    const ${long} base = mine * chunks;
    ${long} distance = 1;
    ${w.value} z = ${empty};

    if (mine < rows && chunks > 0) {
        while (distance < chunks)
            distance *= 2;
        ${p.unroll} 1
        for (distance /= 2; distance > 0; distance /= 2) {
            ${p.unroll} 1
            for (${long} at = base; at < base + distance && at + distance < base + chunks; ++at) {
                const ${long} other = at + distance;
                const ${w.value} upper = ${w.pack(f"partial{i}[other]" for i in w.limbs)};
                z = ${w.function(combine)}(${w.pack(f"partial{i}[at]" for i in w.limbs)}, upper);
% for i in w.limbs:
                partial${i}[at] = ${w.word_of("z", i)};
% endfor
            }
        }
        if (chunks == 1)
            z = ${w.pack(f"partial{i}[base]" for i in w.limbs)};
    }
% if recompute:
    /* rows that are not finite, one after the other by the whole block */
    if (thread == 0)
        some[0] = 0;
    ${p.barrier}
    open[thread] = !(${w.fabs(w.word_of("z", 0))} <= ${w.largest});
    if (open[thread])
        some[0] = 1;
    ${p.barrier}
    ${p.unroll} 1
    for (int r = 0; some[0] && r < ${threads}; ++r) {
        if (open[r]) {
            const ${long} row = first_row + r;
${recomputed(w, threads)}
        }
    }
    if (open[thread])
        z = ${w.pack(["partial0[base]"] + [w.literal(0)] * (w.format.limbs - 1))};
% endif
    if (mine >= rows)
        return;
% if product:
    {
        const ${long} c_at = c_start + mine * c_step;
${scaled(w, networks, "z", w.pack(w.limb("c", i, "c_at") for i in w.limbs), " " * 8)}
    }
% endif
% for i in w.limbs:
    ${w.store("out", i, "out_start + mine * out_step", w.word_of("z", i))}
% endfor
}
