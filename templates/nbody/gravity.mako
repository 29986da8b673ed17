## Accelerations and potentials of softened gravity, by direct summation over all sources.
## w: Writer of targets (a vector of them where width > 1), v: scalar Writer, s: the schedule,
## networks: by role, wanted: acceleration, potential or both, distinct: whether a target may
## be a source, parts: whether a block sums one slab only. Sources are packed: x, y, z, mass.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%!
    AXES = "xyz"

    def times(text, count):
        return text if count == 1 else f"{text} * {count}"

    def plus(text, more):
        return f"{text} + {more}" if more else text
%>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    forces, potential = "acceleration" in wanted, "potential" in wanted
    sums = ([f"a{axis}" for axis in AXES] if forces else []) + (["phi"] if potential else [])
    block = s.threads * s.targets * s.width
    ## 16-byte pieces of a source: x y z m, or x y and z m; without vectors in memory single words
    quad = {"float32": "float4", "float64": "double2"} if w.memory_vectors else {"float32": "float", "float64": "double"}
    pieces = {i: (1 if w.format.planes[i] == "float32" else 2) if w.memory_vectors else 4 for i in w.limbs}
    warp = w.traits.warp_size
    team = {0: 1, 1: s.threads, 2: warp}[s.shared]
    member = {0: "0", 1: "thread", 2: f"thread % {warp}"}[s.shared]
    sync = {0: "", 1: p.barrier, 2: p.warp_barrier}[s.shared]
    room = s.tile * (s.threads // team if s.shared else 1)

    def apart(u):
        """Whether no lane of target u is in the tile."""
        return f"(unsigned)({plus('mine', u * s.threads * s.width + s.width - 1)}) >= {s.tile + s.width - 1}u"

    ## When a tile needs no test for a target's own term: none of the block's targets is in it (the
    ## same for all threads, which compilers use), or none of the thread's. That second loop is seldom
    ## run, but its registers count for both: it is written out less.
    full, unroll = f"count == {s.tile}", s.unroll // s.ilp
    own = [full, *map(apart, range(s.targets))]
    away = f"(next <= block + self || j0 >= block + self + {block})"
    if not distinct:
        untested = [(full, unroll)]
    elif w.format.limbs > 1:
        untested = [(" && ".join(own), unroll)]
    else:
        untested = [(f"{full} && {away}", unroll), (" && ".join(own), max(unroll // 4, min(unroll, 4)))]
%>
${arithmetic(w, list(networks.values()))}
/* ${s.targets * s.width} target${"s" if s.targets * s.width > 1 else ""} a thread; sources in tiles of ${s.tile}, tiles in slabs of ${slab} */
${p.kernel_of(s.threads)} ${name}(
    const ${long} targets, const ${long} sources,
    ${v.planes("target", const=True)}, const ${long} target_start, const ${long} target_row, const ${long} target_axis,
    ${v.planes("source", const=True)}, const ${long} source_start,
    ${v.scalars("softening")},
% if distinct:
    const ${long} self,
% endif
% if parts:
    ${v.planes("part", const=False, compute=True)})
% else:
% if forces:
    ${v.planes("out", const=False)}, const ${long} out_start, const ${long} out_row, const ${long} out_axis${"," if potential else ")"}
% endif
% if potential:
    ${v.planes("pot", const=False)}, const ${long} pot_start, const ${long} pot_step)
% endif
% endif
{
% if s.shared:
% for i in w.limbs:
    ${p.shared} ${quad[w.format.planes[i]]} tile${i}[${s.stages * room * pieces[i]}];
% endfor
% endif
% for i in w.limbs:
    ${p.const_pointer.format(quad[w.format.planes[i]])}bodies${i} = (${p.const_pointer.format(quad[w.format.planes[i]])})(source${i} + source_start);
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
% if s.shared == 2:
    const int base = thread / ${warp} * ${s.tile};
% endif
    const ${long} block = (${long})${p.axis(p.group_id, 0)} * ${block};
    const ${long} first = block + ${times("thread", s.width)};
    const ${w.value} eps2 = ${w.pack(w.splat(f"softening{i}") for i in w.limbs)};
% for axis in AXES:
    ${w.value} ${axis}[${s.targets}];
% endfor
% for q in sums:
    ${w.type(state)} ${q}[${s.targets}];
    ${w.value} ${q}_total[${s.targets}];
% endfor
% if parts:
    const ${long} begin = (${long})${p.axis(p.group_id, 1)} * ${slab};
    const ${long} end = begin + ${slab} < sources ? begin + ${slab} : sources;
% else:
    const ${long} begin = 0, end = sources;
% endif

    ${p.unroll}
    for (int u = 0; u < ${s.targets}; ++u) {
% for lane in range(s.width):
        {
            /* targets beyond the end repeat the last one and are not stored */
            const ${long} i = ${plus("first + " + times("u", s.threads * s.width), lane)};
            const ${long} at = target_start + (i < targets ? i : targets - 1) * target_row;
% for k, axis in enumerate(AXES):
% for i in w.limbs:
            ${part(f"{axis}[u]", i, lane)} = ${v.limb("target", i, "at" if k == 0 else f"at + {k} * target_axis" if k > 1 else "at + target_axis")};
% endfor
% endfor
        }
% endfor
% for q in sums:
        ${q}[u] = ${w.zero(state)};
        ${q}_total[u] = ${w.zero()};
% endfor
    }
% if s.stages == 2:
    int now = 0;
% if not s.async_copy:
% for i in w.limbs:
    ${quad[w.format.planes[i]]} held${i}[${s.tile * pieces[i] // team}];
% endfor
% endif
${fetch("begin", "0", " " * 4)}
${keep("begin", "0", " " * 4)}
    ${sync}
% endif
    for (${long} j0 = begin; j0 < end; j0 += ${s.tile}) {
        const ${long} next = j0 + ${s.tile};
        const int count = next <= end ? ${s.tile} : (int)(end - j0);
% if s.stages == 2:
        if (next < end) {
${fetch("next", "1 - now", " " * 12)}
        }
% elif s.shared:
        ${sync}
% for i in w.limbs:
        for (int q = ${member}; q < ${times("count", pieces[i])}; q += ${team})
            tile${i}[${f"base * {pieces[i]} + " if s.shared == 2 else ""}q] = bodies${i}[${times("j0", pieces[i])} + q];
% endfor
        ${sync}
% endif
% if distinct:
        /* where in the tile the thread's targets are themselves; far away in most tiles */
        const ${long} place = first + self - j0;
        const int mine = place > -${block} && place < ${s.tile} ? (int)place : ${s.tile};
% endif
% for when, (test, unroll) in zip(("if", "} else if"), untested):
        ${when} (${test}) {
            ${p.unrolled_by(unroll)}
            for (int jj = 0; jj < ${s.tile}; ${"++jj" if s.ilp == 1 else f"jj += {s.ilp}"}) {
${interaction(s.ilp, False, " " * 16)}
            }
% endfor
        } else {
            ${p.unrolled_by(min(4, unroll) if w.format.limbs == 1 else 1)}
            for (int jj = 0; jj < count; ++jj) {
${interaction(1, distinct, " " * 16)}
            }
        }
% if s.stages == 2:
        if (next < end) {
${keep("next", "1 - now", " " * 12)}
            ${sync}
        }
        now = 1 - now;
% endif
% if settle is not None:
        if (count == ${s.tile} && next % ${period} == 0) {
            ${p.unroll}
            for (int u = 0; u < ${s.targets}; ++u) {
% for q in sums:
                ${q}[u] = ${w.function(settle)}(${q}[u]);
% endfor
            }
        }
% endif
        if (next >= end || next % ${slab} == 0) {
            ${p.unroll}
            for (int u = 0; u < ${s.targets}; ++u) {
% for q in sums:
                const ${w.value} ${q}_part = ${w.function(networks["finish"])}(${q}[u]);
                ${q}_total[u] = ${f"{q}_part" if parts else f"next > {slab} ? {w.function(networks['add'])}({q}_total[u], {q}_part) : {q}_part"};
                ${q}[u] = ${w.zero(state)};
% endfor
            }
        }
    }
    ${p.unroll}
    for (int u = 0; u < ${s.targets}; ++u) {
% for lane in range(s.width):
        {
            const ${long} i = ${plus("first + " + times("u", s.threads * s.width), lane)};
            if (i < targets) {
% if parts:
                const ${long} at = (${long})${p.axis(p.group_id, 1)} * ${len(sums)} * targets + i;
% for k, q in enumerate(sums):
% for i in w.limbs:
                part${i}[at + ${k} * targets] = ${part(f"{q}_total[u]", i, lane)};
% endfor
% endfor
% else:
% for k, axis in enumerate(AXES if forces else ""):
${stored(v, [capture(part, f"a{axis}_total[u]", i, lane) for i in w.limbs], "out", f"out_start + i * out_row + {k} * out_axis", "", " " * 16)}
% endfor
% if potential:
${stored(v, [capture(part, "phi_total[u]", i, lane) for i in w.limbs], "pot", "pot_start + i * pot_step", "-", " " * 16)}
% endif
% endif
            }
        }
% endfor
    }
}
<%def name="part(value, i, lane)">${w.word_of(value, i) if w.width == 1 else f"(({v.word} *)&{w.word_of(value, i)})[{lane}]"}</%def>
<%def name="stored(v, words, plane, at, sign, pad)">
${pad}{
${pad}    const ${v.word} leading = ${words[0]};
${pad}    const int finite = ${v.fabs("leading")} <= ${v.largest};
${pad}    ${plane}0[${at}] = ${v.narrow(0, f"{sign}leading")};
% for i, word in enumerate(words):
% if i:
${pad}    ${plane}${i}[${at}] = ${v.narrow(i, f"(finite ? {sign}{word} : {v.literal(0)})")};
% endif
% endfor
${pad}}
</%def>
<%def name="fetch(j, buffer, pad)">
## A tile on its way: into registers, or straight into shared memory.
% for i in w.limbs:
% if s.async_copy:
${pad}for (int q = ${member}; q < ${s.tile * pieces[i]}; q += ${team})
${pad}    if (${times(j, pieces[i])} + q < ${times("end", pieces[i])})
${pad}        ${w.platform.async_copy.format(f"&tile{i}[({buffer}) * {room * pieces[i]} + {f'base * {pieces[i]} + ' if s.shared == 2 else ''}q]", f"&bodies{i}[{times(j, pieces[i])} + q]")}
% else:
${pad}${w.platform.unroll}
${pad}for (int r = 0; r < ${s.tile * pieces[i] // team}; ++r) {
${pad}    const ${w.platform.index} q = ${times(j, pieces[i])} + ${member} + ${times("r", team)};
${pad}    if (q < ${times("end", pieces[i])})
${pad}        held${i}[r] = bodies${i}[q];
${pad}}
% endif
% endfor
</%def>
<%def name="keep(j, buffer, pad)">
## The tile in place.
% if s.async_copy:
${pad}${w.platform.async_wait}
% else:
% for i in w.limbs:
${pad}${w.platform.unroll}
${pad}for (int r = 0; r < ${s.tile * pieces[i] // team}; ++r)
${pad}    tile${i}[(${buffer}) * ${room * pieces[i]} + ${f"base * {pieces[i]} + " if s.shared == 2 else ""}${member} + r * ${team}] = held${i}[r];
% endfor
% endif
</%def>
<%def name="interaction(ilp, check, pad)">
<%
    p = w.platform
    steps = range(ilp)
    where = {"x": "x", "y": "y", "z": "z", "m": "w"}, {"x": "a.x", "y": "a.y", "z": "b.x", "m": "b.y"}

    def field(f, e):
        """A source's coordinate or mass in every lane."""
        words = []
        for i in w.limbs:
            single = w.format.planes[i] == "float32"
            text = f"s{i}_{e}" + (f if pieces[i] == 4 else "." + where[0][f] if single else where[1][f])
            words.append(w.splat(text if w.format.planes[i] == w.format.word else f"({v.word}){text}"))
        return w.pack(words)

    def place(i, e):
        """Where a source's first piece is."""
        at = "jj" if e == 0 else f"jj + {e}"
        if not s.shared:
            return f"bodies{i}[", f"j0 + {at}"
        shift = (f"now * {room} + " if s.stages == 2 else "") + ("base + " if s.shared == 2 else "")
        return f"tile{i}[", f"{shift}{at}"
%>
% for e in steps:
% for i in w.limbs:
% if pieces[i] == 4:
${pad}const ${quad[w.format.planes[i]]} ${", ".join(f"s{i}_{e}{f} = {place(i, e)[0]}4 * ({place(i, e)[1]}) + {n}]" for n, f in enumerate("xyzm"))};
% elif pieces[i] == 1:
${pad}const float4 s${i}_${e} = ${place(i, e)[0]}${place(i, e)[1]}];
% else:
${pad}const double2 s${i}_${e}a = ${place(i, e)[0]}2 * (${place(i, e)[1]})], s${i}_${e}b = ${place(i, e)[0]}2 * (${place(i, e)[1]}) + 1];
% endif
% endfor
% endfor
${pad}${p.unroll}
${pad}for (int u = 0; u < ${s.targets}; ++u) {
% for axis in AXES:
% for e in steps:
${pad}    const ${w.value} d${axis}${e} = ${w.function(networks["sub"])}(${field(axis, e)}, ${axis}[u]);
% endfor
% endfor
% for e in steps:
${pad}    ${"" if check else "const "}${w.value} inverse${e} = ${w.function(networks["inverse"])}(dx${e}, dy${e}, dz${e}, eps2);
% endfor
% if check:
${pad}    /* a particle does not attract itself */
% for lane in range(s.width):
${pad}    if (jj == ${plus("mine + " + times("u", s.threads * s.width), lane)}) {
% for i in w.limbs:
${pad}        ${part("inverse0", i, lane)} = ${v.literal(0)};
% endfor
${pad}    }
% endfor
% endif
% if forces:
% for e in steps:
${pad}    const ${w.value} strength${e} = ${w.function(networks["strength"])}(inverse${e}, ${field("m", e)});
% endfor
% for e in steps:
% for axis in AXES:
${pad}    a${axis}[u] = ${w.function(networks["accumulate"])}(a${axis}[u], strength${e}, d${axis}${e});
% endfor
% endfor
% endif
% if potential:
% for e in steps:
${pad}    phi[u] = ${w.function(networks["accumulate"])}(phi[u], inverse${e}, ${field("m", e)});
% endfor
% endif
${pad}}
</%def>
