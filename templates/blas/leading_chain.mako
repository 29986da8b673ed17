## The recomputation of an element whose accumulator is not finite: leading limbs only.
<%def name="leading_chain(v, slab)">
<% p, long = v.platform, v.platform.index %>
<% fma = p.fma[v.format.word] %>
% if v.first("leading_chain"):
/* one element by its leading limbs alone, fma in order of k, slab by slab: tells inf from NaN.
   rarely run and inlined once a result: its loop stays short */
${p.function} ${v.scalar} leading_chain(
    ${v.leading("a")}, ${long} a_at, const ${long} a_step,
    ${v.leading("b")}, ${long} b_at, const ${long} b_step, const ${long} k)
{
    ${v.scalar} total = 0;
    for (${long} slab = 0; slab < k; slab += ${slab}) {
        const ${long} end = slab + ${slab} < k ? slab + ${slab} : k;
        ${v.scalar} chain = 0;
        ${p.unrolled_by(1)}
        for (${long} i = slab; i < end; ++i) {
            chain = ${fma.format(v.limb("a", 0, "a_at"), v.limb("b", 0, "b_at"), "chain")};
            a_at += a_step;
            b_at += b_step;
        }
        total = slab == 0 ? chain : total + chain;
    }
    return total;
}

% endif
</%def>
