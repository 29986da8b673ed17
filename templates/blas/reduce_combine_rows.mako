## Second half of GEMV and sums of many rows that have few chunks: a work-item a row. The same
## definition as reduce_combine.mako.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/combine.mako" import="ended, recomputed, tree"/>
<% p, long = w.platform, w.platform.index %>
<% combine = networks["combine"] %>
<% product = terms == "product" %>
<% empty = w.pack([w.literal(start)] + [w.literal(0)] * (w.format.limbs - 1)) %>
${arithmetic(w, [combine] + ([networks["add"], networks["mul"]] if product else []))}
/* chunks of a row combine pairwise with halving distance */
${p.kernel.format(threads)} ${head()}
{
% if recompute:
    ${p.shared} ${w.word} lanes0[${threads}];
    ${p.shared} int open[${threads}], some[1];
% endif
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} first_row = (${long})${p.axis(p.group_id, 0)} * ${threads};
    const ${long} mine = first_row + thread;
    const ${long} base = mine * chunks;
    ${w.value} z = ${empty};

    if (mine < rows && chunks > 0) {
${tree(w, combine)}
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
        ${p.atomics["or", "int32"].format("&some[0]", "1")};
    ${p.barrier}
    ${p.unrolled_by(1)}
    for (int r = 0; some[0] && r < ${threads}; ++r) {
        if (open[r]) {
            const ${long} row = first_row + r;
${recomputed(w, threads)}
        }
    }
    if (open[thread])
        z = ${w.alone("partial0[base]")};
% endif
    if (mine >= rows)
        return;
${ended(w, networks, "mine")}
}
