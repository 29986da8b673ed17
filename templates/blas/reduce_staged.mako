## First half of DOT and sums of long vectors: a block fetches a chunk in long stretches, 32 of
## its threads are the lanes. The same definition as reduce.mako.
## w: Writer, s: ReduceSchedule, networks: step, finish, combine, renormalise (where there is one)
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    product = terms == "product"
    threads, tile = s.threads, s.threads * s.staged
    tiles = chunk // tile
    operands = (("x", "x_start + row * x_row", "x_col"),) + ((("y", "y_start", "y_step"),) if product else ())
%>
${arithmetic(w, list(networks.values()))}
/* a block takes ${f"{s.fold} chunks" if s.fold > 1 else "a chunk"} of ${chunk} elements of one row, ${tile} elements at a time; ${lanes} threads are the lanes */
${p.kernel.format(threads)} ${name}(
    const ${long} rows, const ${long} k, const ${long} chunks, const ${long} parts,
    ${w.planes("x", const=True)},
    const ${long} x_start, const ${long} x_row, const ${long} x_col,
% if product:
    ${w.planes("y", const=True)}, const ${long} y_start, const ${long} y_step,
% endif
    ${w.planes("partial", const=False, compute=True)})
{
% for operand, _, _ in operands:
% for i in w.limbs:
    ${p.shared} ${w.word} ${operand}_tile${i}[${tile}];
% endfor
% endfor
% for i in w.limbs:
    ${p.shared} ${w.word} lanes${i}[${lanes}];
% if s.fold > 1:
    ${p.shared} ${w.word} folded${i}[${s.fold}];
% endif
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} row = (${long})${p.axis(p.group_id, 0)} / parts;
    const ${long} part = (${long})${p.axis(p.group_id, 0)} % parts;
    ${w.type(step.result)} sum = ${w.first_of(step.result, start)};
    ${w.value} z;

    for (int tile = -1; tile < ${tiles * s.fold}; ++tile) {
        /* fetch the next tile while this one is summed; chunks of a block lie far apart */
        const ${long} next = ${chunk_of("tile + 1")} * ${chunk} + ${f"(tile + 1) % {tiles}" if tiles > 1 else "0"} * ${tile} + thread;
% for operand, _, _ in operands:
        ${w.value} ${operand}_next[${s.staged}];
% endfor
        ${p.unroll}
        for (int u = 0; u < ${s.staged}; ++u) {
            const ${long} i = next + u * ${threads};
            const int inside = tile + 1 < ${tiles * s.fold} && i < k;
% for operand, origin, stride in operands:
            const ${long} ${operand}_at = ${origin} + i * ${stride};
            ${operand}_next[u] = ${w.pack(f"(inside ? {w.limb(operand, i, operand + '_at')} : {w.literal(0 if i else identity)})" for i in w.limbs)};
% endfor
        }
        if (tile >= 0) {
            const ${long} first = ${chunk_of("tile")} * ${chunk};
            const ${long} left = k - first < ${chunk} ? k - first : ${chunk};
            const int done = ${f"tile % {tiles} * {tile // lanes}" if tiles > 1 else "0"};
            const int steps = left > 0 ? (int)((left + ${lanes - 1}) / ${lanes}) - done : 0;
            const int some = steps < ${tile // lanes} ? steps : ${tile // lanes};
            if (thread < ${lanes}) {
                ${p.unroll} ${s.unroll}
                for (int step = 0; step < some; ++step) {
                    const int at = step * ${lanes} + thread;
% for operand, _, _ in operands:
                    const ${w.value} ${operand} = ${w.pack(f"{operand}_tile{i}[at]" for i in w.limbs)};
% endfor
                    sum = ${w.function(step)}(sum, ${", ".join(o for o, _, _ in operands)});
% if settle is not None:
                    if ((done + step + 1) % ${period} == 0)
                        sum = ${w.function(settle)}(sum);
% endif
                }
            }
% if tiles > 1:
            if (tile % ${tiles} == ${tiles - 1})
% endif
            {
                /* the chunk's end: lanes combine pairwise */
                z = ${w.function(finish) + "(sum)" if product else "sum"};
                sum = ${w.first_of(step.result, start)};
                if (thread < ${lanes}) {
% for i in w.limbs:
                    lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
                }
<% distance = lanes // 2 %>
% while distance:
                ${p.barrier}
                if (thread < ${distance}) {
                    z = ${w.function(combine)}(z, ${w.pack(f"lanes{i}[thread + {distance}]" for i in w.limbs)});
% for i in w.limbs:
                    lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
                }
<% distance //= 2 %>
% endwhile
% if s.fold > 1:
                if (thread == 0) {
% for i in w.limbs:
                    folded${i}[tile / ${tiles}] = ${w.word_of("z", i)};
% endfor
                }
% endif
            }
        }
        ${p.barrier}
        ${p.unroll}
        for (int u = 0; u < ${s.staged}; ++u) {
% for operand, _, _ in operands:
% for i in w.limbs:
            ${operand}_tile${i}[thread + u * ${threads}] = ${w.word_of(f"{operand}_next[u]", i)};
% endfor
% endfor
        }
        ${p.barrier}
    }
% if s.fold > 1:
    /* the first levels of the tree of chunks: pairs that are ${s.fold // 2} parts apart, then closer */
    for (int distance = ${s.fold // 2}; distance > 0; distance /= 2) {
        if (thread < distance && (thread + distance) * parts + part < chunks) {
            z = ${w.function(combine)}(
                ${w.pack(f"folded{i}[thread]" for i in w.limbs)},
                ${w.pack(f"folded{i}[thread + distance]" for i in w.limbs)});
% for i in w.limbs:
            folded${i}[thread] = ${w.word_of("z", i)};
% endfor
        }
        ${p.barrier}
    }
    if (thread == 0)
        z = ${w.pack(f"folded{i}[0]" for i in w.limbs)};
% endif
    if (thread == 0) {
% for i in w.limbs:
        partial${i}[row * chunks + part] = ${w.word_of("z", i)};
% endfor
    }
}
<%def name="chunk_of(tile)"><% tiles = chunk // (s.threads * s.staged) %>${f"(part + ({tile}) / {tiles} * parts)" if s.fold > 1 else "part"}</%def>
