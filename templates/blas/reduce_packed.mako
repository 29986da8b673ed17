## First half of DOT, GEMV and sums over contiguous rows, stored short as a rule: 32 lanes a chunk
## as in reduce.mako, of which a work-item holds neighbours, so that parts are read in whole words.
## w: Writer, s: ReduceSchedule, networks: step, finish, combine, renormalise (where there is one)
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="first_half" file="/blas/first_half.mako"/>
<%!
    from portmp.codegen import packed
    from portmp.codegen.packed import COUNT, WIDEST
%>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    product = terms == "product"
    team = lanes // COUNT
    staged = s.staged if product else 0
    shares, rest = -(-staged * lanes // s.threads), staged * lanes % s.threads
    ## y in shared memory: a step's four neighbours of a work-item in vectors as long as it reads at once
    at_once = packed.shared_words(w)
    halves, piece = COUNT // at_once, w.scalar + (str(at_once) if w.memory_vectors else "")
    member = [f"_{e // at_once}[step]" + (f".{'xyzw'[e % at_once]}" if w.memory_vectors else "") for e in range(COUNT)]
%>
${arithmetic(w, list(networks.values()))}
/* chunks of ${chunk} elements: a team of ${team} work-items holds the ${lanes} lanes of ${s.rows} row${"s" if s.rows > 1 else ""}, ${COUNT} each; ${s.teams} teams a block${f" share {staged} steps of y" if staged else ""} */
${p.kernel.format(s.threads)} ${head()}
{
% for i in w.limbs:
    ${p.shared} ${w.word} lanes${i}[${s.teams * s.rows * lanes}];
% endfor
% if staged:
% for i in w.held_limbs("y"):
    ${p.shared} ${w.word} y_tile${i}[${staged * lanes}] __attribute__((aligned(${WIDEST})));
% endfor
% endif
    const int thread = (int)${p.axis(p.local_id, 0)};
    const int item = thread % ${team}, team = thread / ${team};
    const ${long} groups = (rows + ${s.rows - 1}) / ${s.rows};
% if staged:
    const ${long} row_blocks = (groups + ${s.teams - 1}) / ${s.teams};
    const ${long} which = (${long})${p.axis(p.group_id, 0)} / row_blocks;
    const ${long} row = ((${long})${p.axis(p.group_id, 0)} % row_blocks * ${s.teams} + team) * ${s.rows};
% else:
    const ${long} pair = (${long})${p.axis(p.group_id, 0)} * ${s.teams} + team;
    const int inside = pair < groups * chunks;
    const ${long} which = inside ? pair / groups : 0;
    const ${long} row = inside ? pair % groups * ${s.rows} : rows;
% endif
    /* teams beyond the end repeat the last row and store nothing */
    const ${long} first = which * ${chunk};
    const int count = k - first < ${chunk} ? (int)(k - first) : ${chunk};
    const int steps = count / ${lanes};
    ${w.type(step.result)} sum[${s.rows}][${COUNT}];
    ${long} x_at[${s.rows}];
% if product:
    ${long} y_at = y_start + first + item * ${COUNT};
% endif

    ${p.unroll}
    for (int r = 0; r < ${s.rows}; ++r) {
        const ${long} there = row + r < rows ? row + r : rows - 1;
        x_at[r] = x_start + there * x_row + first + item * ${COUNT};
% for e in range(COUNT):
        sum[r][${e}] = ${w.first_of(step.result, start)};
% endfor
    }
    int done = 0;
% for i in w.limbs:
% for line in packed.declared(w, "x", i, f"x_read{i}", s.unroll * s.rows):
    ${line}
% endfor
% endfor
    if (${s.unroll} <= steps) {
        ${p.unroll}
        for (int step = 0; step < ${s.unroll}; ++step) {
            ${p.unroll}
            for (int r = 0; r < ${s.rows}; ++r) {
% for i in w.limbs:
% for line in packed.loads(w, "x", i, f"x_at[r] + step * {lanes}", f"x_read{i}", f"step * {s.rows} + r"):
                ${line}
% endfor
% endfor
            }
        }
    }
    /* what a step has used is read anew at once: much of x is on its way all the time */
    while (done + ${s.unroll} <= steps) {
% if staged:
        const ${long} there = y_start + first + done * ${lanes} + thread;
        const int left = count - done * ${lanes} - thread;
% for i in w.held_limbs("y"):
        ${w.scalar} y_new${i}[${shares}];
% endfor
        ${p.unroll}
        for (int u = 0; u < ${shares}; ++u) {
% for i in w.held_limbs("y"):
            y_new${i}[u] = u * ${s.threads} < left ? ${w.limb("y", i, f"there + u * {s.threads}")} : ${w.literal(0)};
% endfor
        }
        ${p.barrier}
        ${p.unroll}
        for (int u = 0; u < ${shares}; ++u) {
            /* the halves of a team's neighbours apart, so that no two threads meet in a bank */
            const unsigned i = thread + u * ${s.threads};
            const unsigned at = i / ${lanes} * ${lanes} + i % ${COUNT} / ${at_once} * ${lanes // halves} + i % ${lanes} / ${COUNT} * ${at_once} + i % ${at_once};
            if (${"1" if not rest else f"i < {staged * lanes}"}) {
% for i in w.held_limbs("y"):
                y_tile${i}[at] = y_new${i}[u];
% endfor
            }
        }
        ${p.barrier}
        const int end = done + ${staged} < steps ? done + ${staged} : steps;
% else:
        const int end = steps;
% endif
        ${p.unrolled_by(1)}
        for (; done + ${s.unroll} <= end; done += ${s.unroll}) {
            /* the last ones are read again, and not used */
            const int ahead = done + ${2 * s.unroll} <= steps ? ${s.unroll * lanes} : 0;
% if staged:
% for i in w.limbs:
            ${piece} ${", ".join(f"y_read{i}_{half}[{s.unroll}]" for half in range(halves))};
% endfor
            ${p.unroll}
            for (int step = 0; step < ${s.unroll}; ++step) {
% for i in w.held_limbs("y"):
% for half in range(halves):
                y_read${i}_${half}[step] = ((${p.shared_pointer.format(piece)})y_tile${i})[(done % ${staged} + step) * ${team * halves} + ${half * team} + item];
% endfor
% endfor
            }
% elif product:
% for i in w.limbs:
% for line in packed.declared(w, "y", i, f"y_read{i}", s.unroll):
            ${line}
% endfor
% endfor
            ${p.unroll}
            for (int step = 0; step < ${s.unroll}; ++step) {
% for i in w.limbs:
% for line in packed.loads(w, "y", i, f"y_at + step * {lanes}", f"y_read{i}", "step"):
                ${line}
% endfor
% endfor
            }
% endif
% if product:
            y_at += ${s.unroll * lanes};
% endif
            ${p.unroll}
            for (int step = 0; step < ${s.unroll}; ++step) {
% if product:
% for e in range(COUNT):
                const ${w.value} y_e${e} = ${w.pack(f"y_read{i}{member[e]}" if i in w.held_limbs("y") else w.literal(0) for i in w.limbs) if staged else packed.value(w, "y", "y_read", e, "step")};
% endfor
% endif
                ${p.unroll}
                for (int r = 0; r < ${s.rows}; ++r) {
% for e in range(COUNT):
                    sum[r][${e}] = ${w.function(step)}(sum[r][${e}], ${packed.value(w, "x", "x_read", e, f"step * {s.rows} + r")}${f", y_e{e}" if product else ""});
% endfor
% if settle is not None:
                    if ((done + step + 1) % ${period} == 0) {
% for e in range(COUNT):
                        sum[r][${e}] = ${w.function(settle)}(sum[r][${e}]);
% endfor
                    }
% endif
% for i in w.limbs:
% for line in packed.loads(w, "x", i, f"x_at[r] + ahead + step * {lanes}", f"x_read{i}", f"step * {s.rows} + r"):
                    ${line}
% endfor
% endfor
                }
            }
            ${p.unroll}
            for (int r = 0; r < ${s.rows}; ++r)
                x_at[r] += ${s.unroll * lanes};
        }
    }
    /* the rest, and a last step that lanes beyond the end take too */
    for (int e0 = done * ${lanes} + item * ${COUNT}; e0 - item * ${COUNT} < count; e0 += ${lanes}) {
        ++done;
% if product:
% for e in range(COUNT):
        const ${w.value} y_e${e} = ${w.element("y", f"y_at + {e}", f"e0 + {e} < count")};
% endfor
% endif
        ${p.unroll}
        for (int r = 0; r < ${s.rows}; ++r) {
% for e in range(COUNT):
            sum[r][${e}] = ${w.function(step)}(sum[r][${e}], ${w.element("x", f"x_at[r] + {e}", f"e0 + {e} < count", identity)}${f", y_e{e}" if product else ""});
% endfor
% if settle is not None:
            if (done % ${period} == 0) {
% for e in range(COUNT):
                sum[r][${e}] = ${w.function(settle)}(sum[r][${e}]);
% endfor
            }
% endif
            x_at[r] += ${lanes};
        }
% if product:
        y_at += ${lanes};
% endif
    }
    ${p.unroll}
    for (int r = 0; r < ${s.rows}; ++r) {
% for e in range(COUNT):
        const ${w.value} z${e} = ${w.function(finish) + f"(sum[r][{e}])" if product else f"sum[r][{e}]"};
% for i in w.limbs:
        lanes${i}[(team * ${s.rows} + r) * ${lanes} + item * ${COUNT} + ${e}] = ${w.word_of(f"z{e}", i)};
% endfor
% endfor
    }
<%first_half:lane_tree args="distance" w="${w}" combine="${combine}" memory="lanes" other="lane + {}" at="lane" low="low">\
    for (unsigned q = item; q < ${s.rows * distance}; q += ${team}) {
        const unsigned lane = (team * ${s.rows} + q / ${distance}) * ${lanes} + q % ${distance};
        const ${w.value} low = ${w.pack(f"lanes{i}[lane]" for i in w.limbs)};
</%first_half:lane_tree>\
    ${p.barrier}
    for (int r = item; r < ${s.rows}; r += ${team}) {
        if (row + r < rows) {
% for i in w.limbs:
            partial${i}[(row + r) * chunks + which] = lanes${i}[(team * ${s.rows} + r) * ${lanes}];
% endfor
        }
    }
}
