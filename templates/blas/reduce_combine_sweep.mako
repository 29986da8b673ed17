## Second half of DOT, GEMV, sums and extrema on CPUs: the chunks of one row, by a work-item
## alone. The same definition as reduce_combine.mako, without barriers.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/combine.mako" import="ended, tree"/>
<% p, long = w.platform, w.platform.index %>
<% combine = networks["combine"] %>
<% product = terms == "product" %>
<% empty = w.pack([w.literal(start)] + [w.literal(0)] * (w.format.limbs - 1)) %>
${arithmetic(w, [combine] + ([networks["add"], networks["mul"]] if product else []))}
/* one row a work-item: chunks combine pairwise with halving distance */
${p.kernel_of(1)} ${head()}
{
    const ${long} row = (${long})${p.axis(p.group_id, 0)};
    const ${long} base = row * chunks;
    ${w.value} z = ${empty};

${tree(w, combine)}
    if (chunks > 0)
        z = ${w.pack(f"partial{i}[base]" for i in w.limbs)};
% if recompute:
    if (chunks > 0 && !(${w.fabs("partial0[base]")} <= ${w.largest})) {
        /* leading limbs alone in the same lanes and tree: tells inf from NaN */
        ${w.word} total;
        for (${long} which = 0; which < chunks; ++which) {
            ${w.word} chains[${lanes}];
            const ${long} first = which * ${chunk};
            const ${long} last = first + ${chunk} < k ? first + ${chunk} : k;
            for (int lane = 0; lane < ${lanes}; ++lane) {
                ${w.word} chain = 0;
                for (${long} i = first + lane; i < last; i += ${lanes})
% if product:
                    chain = ${w.fma(w.limb("x", 0, "x_start + row * x_row + i * x_col"), w.limb("y", 0, "y_start + i * y_step"), "chain")};
% else:
                    chain = chain + ${w.limb("x", 0, "x_start + row * x_row + i * x_col")};
% endif
                chains[lane] = chain;
            }
            for (int step = ${lanes // 2}; step > 0; step /= 2)
                for (int lane = 0; lane < step; ++lane)
                    chains[lane] = chains[lane] + chains[lane + step];
            partial0[base + which] = chains[0];
        }
        leaves = 1;
        while (leaves < chunks)
            leaves *= 2;
        for (${long} distance = leaves / 2; distance > 0; distance /= 2)
            for (${long} at = base; at < base + distance && at + distance < base + chunks; ++at)
                partial0[at] = partial0[at] + partial0[at + distance];
        total = partial0[base];
        z = ${w.alone("total")};
    }
% endif
${ended(w, networks, "row")}
}
