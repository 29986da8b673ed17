## First half of DOT and sums of long vectors: a block fetches a chunk in long stretches, 32 of
## its threads are the lanes. The same definition as reduce.mako.
## w: Writer, s: ReduceSchedule, networks: step, finish, combine, renormalise (where there is one)
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="first_half" file="/blas/first_half.mako"/>
<%namespace name="combining" file="/blas/combine.mako"/>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    product = terms == "product"
    threads, tile = s.threads, s.threads * s.staged
    operands = (("x", "x_start + row * x_row", "x_col"),) + ((("y", "y_start", "y_step"),) if product else ())
%>
${arithmetic(w, list(networks.values()))}
/* a chunk of ${chunk} elements of one row a block, ${tile} elements at a time; ${lanes} threads are the lanes */
${p.kernel.format(threads)} ${head()}
{
% for operand, _, _ in operands:
% for i in w.limbs if operand == "x" else w.held_limbs(operand):
    ${p.shared} ${w.word} ${operand}_tile${i}[${tile if i in w.held_limbs(operand) else lanes}];
% endfor
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} row = (${long})${p.axis(p.group_id, 0)} / chunks;
    const ${long} which = (${long})${p.axis(p.group_id, 0)} % chunks;
    const ${long} first = which * ${chunk};
    const int count = k - first < ${chunk} ? (int)(k - first) : ${chunk};
    const int steps = (count + ${lanes - 1}) / ${lanes};
% for operand, origin, stride in operands:
    ${long} ${operand}_at = ${origin} + (first + thread) * ${stride};
% endfor
    ${w.type(step.result)} sum = ${w.first_of(step.result, start)};
    ${w.value} z;

    for (int e0 = -${tile}; e0 < count; e0 += ${tile}) {
        /* fetch the next stretch while this one is summed */
% for operand, _, _ in operands:
        ${w.value} ${operand}_next[${s.staged}];
% endfor
        ${p.unroll}
        for (int u = 0; u < ${s.staged}; ++u) {
            const int inside = e0 + ${tile} + thread + u * ${threads} < count;
% for operand, _, stride in operands:
            const ${long} ${operand}_there = ${operand}_at + u * ${threads} * ${stride};
            ${operand}_next[u] = ${w.element(operand, f"{operand}_there", "inside", identity)};
% endfor
        }
% for operand, _, stride in operands:
        ${operand}_at += ${tile} * ${stride};
% endfor
        if (thread < ${lanes} && e0 >= 0) {
            const int done = e0 / ${lanes};
            const int some = steps - done < ${tile // lanes} ? steps - done : ${tile // lanes};
            ${p.unrolled_by(s.unroll)}
            for (int step = 0; step < some; ++step) {
                const int at = step * ${lanes} + thread;
% for operand, _, _ in operands:
                const ${w.value} ${operand} = ${w.pack(f"{operand}_tile{i}[at]" if i in w.held_limbs(operand) else w.literal(0) for i in w.limbs)};
% endfor
                sum = ${w.function(step)}(sum, ${", ".join(o for o, _, _ in operands)});
% if settle is not None:
                if ((done + step + 1) % ${period} == 0)
                    sum = ${w.function(settle)}(sum);
% endif
            }
        }
        ${p.barrier}
        ${p.unroll}
        for (int u = 0; u < ${s.staged}; ++u) {
% for operand, _, _ in operands:
% for i in w.held_limbs(operand):
            ${operand}_tile${i}[thread + u * ${threads}] = ${w.word_of(f"{operand}_next[u]", i)};
% endfor
% endfor
        }
        ${p.barrier}
    }
    z = ${w.function(finish) + "(sum)" if product else "sum"};
    if (thread < ${lanes}) {
% for i in w.limbs:
        x_tile${i}[thread] = ${w.word_of("z", i)};
% endfor
    }
<%first_half:lane_tree args="distance" w="${w}" combine="${combine}" memory="x_tile" other="thread + {}">\
    if (thread < ${distance}) {
</%first_half:lane_tree>\
% if single:
${combining.single(w, networks, "x_tile0")}\
% else:
    if (thread == 0) {
% for i in w.limbs:
        partial${i}[row * chunks + which] = ${w.word_of("z", i)};
% endfor
    }
% endif
}
