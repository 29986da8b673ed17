## Second half of gravity in parts: adds the slabs' sums of each target in order.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/nbody/gravity_target.mako" import="stored"/>
<%
    p, long = w.platform, w.platform.index
    forces, potential = "acceleration" in wanted, "potential" in wanted
    count = 3 * forces + potential
%>
${arithmetic(w, [networks["add"]])}
/* one target a work-item: slabs ascending */
${p.kernel.format(threads)} ${head()}
{
    const ${long} i = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= targets)
        return;
    ${p.unrolled_by(1)}
    for (int k = 0; k < ${count}; ++k) {
        ${long} at = k * targets + i;
        ${w.value} z = ${w.pack(f"part{i}[at]" for i in w.limbs)};
        for (${long} slab = 1; slab < slabs; ++slab) {
            at += ${count} * targets;
            z = ${w.function(networks["add"])}(z, ${w.pack(f"part{i}[at]" for i in w.limbs)});
        }
% if forces:
% if potential:
        if (k < 3) {
% else:
        {
% endif
${stored(w, [w.word_of("z", i) for i in w.limbs], "out", "out_start + i * out_row + k * out_axis", "", " " * 12)}
        }
% endif
% if potential:
% if forces:
        else {
% else:
        {
% endif
${stored(w, [w.word_of("z", i) for i in w.limbs], "pot", "pot_start + i * pot_step", "-", " " * 12)}
        }
% endif
    }
}
