## Accelerations and potentials of softened gravity, by direct summation over all sources.
## w: Writer of targets (a vector of them where width > 1), v: scalar Writer, s: the schedule,
## networks: by role, wanted: acceleration, potential or both, distinct: whether a target may be a source
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%!
    AXES = "xyz"
%>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    forces, potential = "acceleration" in wanted, "potential" in wanted
    sums = ([f"a{axis}" for axis in AXES] if forces else []) + (["phi"] if potential else [])
    fields = [*AXES, "m"]
    block = s.threads * s.targets * s.width
%>
${arithmetic(w, list(networks.values()))}
/* ${s.targets * s.width} target${"s" if s.targets * s.width > 1 else ""} a thread; sources in tiles of ${s.tile}, tiles in slabs of ${slab} */
${p.kernel_of(s.threads)} ${name}(
    const ${long} targets, const ${long} sources,
    ${v.planes("target", const=True)}, const ${long} target_start, const ${long} target_row, const ${long} target_axis,
    ${v.planes("source", const=True)}, const ${long} source_start, const ${long} source_row, const ${long} source_axis,
    ${v.planes("mass", const=True)}, const ${long} mass_start, const ${long} mass_step,
    ${v.scalars("eps")},
% if distinct:
    const ${long} self,
% endif
% if forces:
    ${v.planes("out", const=False)}, const ${long} out_start, const ${long} out_row, const ${long} out_axis${"," if potential else ")"}
% endif
% if potential:
    ${v.planes("pot", const=False)}, const ${long} pot_start, const ${long} pot_step)
% endif
{
% if s.shared:
% for f in fields:
% for i in w.limbs:
    ${p.shared} ${v.word} ${f}${i}_tile[${s.tile}];
% endfor
% endfor
% endif
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} first = (${long})${p.axis(p.group_id, 0)} * ${block} + thread * ${s.width};
    const ${w.value} softening = ${w.pack(w.splat(f"eps{i}") for i in w.limbs)};
% for axis in AXES:
    ${w.value} ${axis}[${s.targets}];
% endfor
% for q in sums:
    ${w.type(state)} ${q}[${s.targets}];
    ${w.value} ${q}_total[${s.targets}];
% endfor

    ${p.unroll}
    for (int u = 0; u < ${s.targets}; ++u) {
% for lane in range(s.width):
        {
            /* targets beyond the end repeat the last one and are not stored */
            const ${long} i = first + u * ${s.threads * s.width} + ${lane};
            const ${long} at = target_start + (i < targets ? i : targets - 1) * target_row;
% for k, axis in enumerate(AXES):
% for i in w.limbs:
            ${part(f"{axis}[u]", i, lane)} = ${v.limb("target", i, "at" if k == 0 else f"at + {k} * target_axis" if k > 1 else "at + target_axis")};
% endfor
% endfor
        }
% endfor
% for q in sums:
        ${q}_total[u] = ${w.zero()};
% endfor
    }
    for (${long} slab = 0; slab < sources; slab += ${slab}) {
        const ${long} slab_end = slab + ${slab} < sources ? slab + ${slab} : sources;

        ${p.unroll}
        for (int u = 0; u < ${s.targets}; ++u) {
% for q in sums:
            ${q}[u] = ${w.zero(state)};
% endfor
        }
        for (${long} j0 = slab; j0 < slab_end; j0 += ${s.tile}) {
            const int count = slab_end - j0 < ${s.tile} ? (int)(slab_end - j0) : ${s.tile};
% if s.shared:
            ${p.barrier}
            for (int jj = thread; jj < count; jj += ${s.threads}) {
                const ${long} at = source_start + (j0 + jj) * source_row;
% for i in w.limbs:
% for k, axis in enumerate(AXES):
                ${axis}${i}_tile[jj] = ${v.limb("source", i, f"at + {k} * source_axis")};
% endfor
                m${i}_tile[jj] = ${v.limb("mass", i, "mass_start + (j0 + jj) * mass_step")};
% endfor
            }
            ${p.barrier}
% endif
            if (count == ${s.tile}) {
                ${p.unroll} ${s.unroll}
                for (int jj = 0; jj < ${s.tile}; ++jj) {
${interaction(" " * 20)}
                }
% if settle is not None:
                if ((j0 + ${s.tile} - slab) % ${period} == 0) {
                    ${p.unroll}
                    for (int u = 0; u < ${s.targets}; ++u) {
% for q in sums:
                        ${q}[u] = ${w.function(settle)}(${q}[u]);
% endfor
                    }
                }
% endif
            } else {
                ${p.unroll} 1
                for (int jj = 0; jj < count; ++jj) {
${interaction(" " * 20)}
                }
            }
        }
        ${p.unroll}
        for (int u = 0; u < ${s.targets}; ++u) {
% for q in sums:
            const ${w.value} ${q}_part = ${w.function(networks["finish"])}(${q}[u]);
            ${q}_total[u] = slab > 0 ? ${w.function(networks["add"])}(${q}_total[u], ${q}_part) : ${q}_part;
% endfor
        }
    }
    ${p.unroll}
    for (int u = 0; u < ${s.targets}; ++u) {
% for lane in range(s.width):
        {
            const ${long} i = first + u * ${s.threads * s.width} + ${lane};
            if (i < targets) {
% for k, axis in enumerate(AXES if forces else ""):
${stored(f"a{axis}_total[u]", lane, "out", f"out_start + i * out_row + {k} * out_axis", "", " " * 16)}
% endfor
% if potential:
${stored("phi_total[u]", lane, "pot", "pot_start + i * pot_step", "-", " " * 16)}
% endif
            }
        }
% endfor
    }
}
<%def name="part(value, i, lane)">${w.word_of(value, i) if w.width == 1 else f"(({v.word} *)&{w.word_of(value, i)})[{lane}]"}</%def>
<%def name="stored(value, lane, plane, at, sign, pad)">
${pad}{
${pad}    const ${v.word} leading = ${capture(part, value, 0, lane)};
${pad}    const int finite = ${v.fabs("leading")} <= ${v.largest};
${pad}    ${plane}0[${at}] = ${w.narrow(0, f"{sign}leading")};
% for i in w.limbs:
% if i:
${pad}    ${plane}${i}[${at}] = ${w.narrow(i, f"(finite ? {sign}{capture(part, value, i, lane)} : {v.literal(0)})")};
% endif
% endfor
${pad}}
</%def>
<%def name="interaction(pad)">
<% p = w.platform %>
% if not s.shared:
${pad}const ${long} at = source_start + (j0 + jj) * source_row, mass_at = mass_start + (j0 + jj) * mass_step;
% endif
% for k, f in enumerate(fields):
${pad}const ${w.value} ${f}j = ${w.pack(w.splat(f"{f}{i}_tile[jj]" if s.shared else v.limb("mass", i, "mass_at") if f == "m" else v.limb("source", i, f"at + {k} * source_axis")) for i in w.limbs)};
% endfor
${pad}${p.unroll}
${pad}for (int u = 0; u < ${s.targets}; ++u) {
% for axis in AXES:
${pad}    const ${w.value} d${axis} = ${w.function(networks["sub"])}(${axis}j, ${axis}[u]);
% endfor
${pad}    ${w.value} inverse = ${w.function(networks["inverse"])}(dx, dy, dz, softening);
% if distinct:
${pad}    /* a particle does not attract itself */
% for lane in range(s.width):
${pad}    if (j0 + jj == first + u * ${s.threads * s.width} + ${lane} + self) {
% for i in w.limbs:
${pad}        ${part("inverse", i, lane)} = ${v.literal(0)};
% endfor
${pad}    }
% endfor
% endif
% if forces:
${pad}    const ${w.value} strength = ${w.function(networks["strength"])}(inverse, mj);
% for axis in AXES:
${pad}    a${axis}[u] = ${w.function(networks["accumulate"])}(a${axis}[u], strength, d${axis});
% endfor
% endif
% if potential:
${pad}    phi[u] = ${w.function(networks["accumulate"])}(phi[u], inverse, mj);
% endif
${pad}}
</%def>
