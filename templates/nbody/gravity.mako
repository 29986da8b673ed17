## Accelerations and potentials of softened gravity, by direct summation over all sources.
## w: Writer of targets (a vector of them where width > 1), v: scalar Writer, s: the schedule,
## layout: its sources and targets, networks: by role, wanted: acceleration, potential or both,
## distinct: whether a target may be a source, parts: whether a block sums one slab only.
## Sources are packed: x, y, z, mass.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%namespace name="tile" file="/nbody/gravity_tile.mako"/>
<%namespace name="target" file="/nbody/gravity_target.mako"/>
<%namespace file="/nbody/gravity_pair.mako" import="pairs"/>
<%
    p, long = w.platform, w.platform.index
    bodies = layout.sources(w, v)
    settle = networks.get("renormalise")
    count = s.targets * s.width
%>
${arithmetic(w, list(networks.values()))}
/* ${count} target${"s" if count > 1 else ""} a thread; sources in tiles of ${s.tile}, tiles in slabs of ${slab} */
${p.kernel_of(s.threads)} ${head()}
{
${tile.memory(bodies)}\
    const int thread = (int)${p.axis(p.local_id, 0)};
% if bodies.own:
    const int base = ${bodies.own};
% endif
    const ${long} block = (${long})${p.axis(p.group_id, 0)} * ${layout.block};
    const ${long} first = block + ${layout.times("thread", s.width)};
    const ${w.value} eps2 = ${w.pack(w.splat(f"softening{i}") for i in w.limbs)};
${target.declared()}\
% if parts:
    const ${long} begin = (${long})${p.axis(p.group_id, 1)} * ${slab};
    const ${long} end = begin + ${slab} < sources ? begin + ${slab} : sources;
% else:
    const ${long} begin = 0, end = sources;
% endif

${target.begun()}\
${tile.first(bodies)}\
    for (${long} j0 = begin; j0 < end; j0 += ${s.tile}) {
        const ${long} next = j0 + ${s.tile};
        const int count = next <= end ? ${s.tile} : (int)(end - j0);
${tile.begun(bodies)}\
% if distinct:
        /* where in the tile the thread's targets are themselves; far away in most tiles */
        const ${long} place = first + self - j0;
        const int mine = place > -${layout.block} && place < ${s.tile} ? (int)place : ${s.tile};
% endif
${pairs(bodies)}\
${tile.ended(bodies)}\
% if settle is not None:
        if (count == ${s.tile} && next % ${period} == 0) {
${target.settled(settle)}\
        }
% endif
        if (next >= end || next % ${slab} == 0) {
${target.finished()}\
        }
    }
${target.ended()}\
}
