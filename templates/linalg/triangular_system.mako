## Triangular systems whole, a tile of right-hand sides a block of threads: blocks of unknowns and the
## products between them, in the order that halving gives.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, neg = (w.function(networks[role]) for role in ("fma", "div", "neg"))
    state, settle = networks["accumulate"].result, networks.get("renormalise")
    ## Of a block of unknowns a thread has ${own} rows of one right-hand side, one below the other. Where
    ## a warp has all rows of its right-hand sides, blocks need not wait for each other at every step.
    parts = min(threads // tile, most)
    own = most // parts
    apart = parts >= 16
    ## More threads than there are rows take part in products alone.
    works = f" && thread < {parts * tile}" if threads > parts * tile else ""
    together = p.warp_barrier if apart and p.warp_barrier else p.barrier
    ## Of a product a thread has ${down} rows, as far apart as threads go, and ${across} columns.
    abreast = threads * across // tile
    span = abreast * down
    pitch = span + 1
    held = {"left": max(most * (most + 1) // 2, depth * pitch), "known": max(2 * own, depth) * tile}
    ## Where a thread's rows begin in the triangle, less their column.
    at = lambda u: f"(top + {u}) * (top + {u + 1}) / 2"
    batch = min(8, most * most // threads)
    ## Steps of a product that stand side by side, so that few sums do not wait for themselves.
    steps = 512 // sum(networks["accumulate"].cost.values())
    written_out = min(1 << max(0, steps.bit_length() - 1), 16)
    fetched_left, fetched_known = span * depth // threads, -(-depth * tile // threads)
    ## With few rows a thread leaves out those that are none; there are mostly ${most} or more.
    counts = [1 << i for i in range(down.bit_length())]
    versions = [n for n in counts if n * abreast >= most or n == down]
%>
<%def name="put(name, index, value)">
% for k in w.limbs:
            ${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
## A value as memory would give it back.
<%def name="stored(value)">
% for k in w.limbs:
% if w.format.planes[k] != w.format.word:
                ${w.word_of(value, k)} = ${w.narrow(k, w.word_of(value, k))};
% endif
% endfor
</%def>
<%def name="kept(memory, index, value)">
% for k in w.limbs:
                ${memory}${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
<% there = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
${arithmetic(w, list(networks.values()))}
${leading_chain(w, slab)}
/* a x = b, a lower triangular with n rows, x in b's place; unknowns in ascending order. With upper,
   a is an upper one turned round: its first block of rows is the one that may be smaller */
${p.kernel_of(threads, resident)} ${head()}
{
% for memory, count in held.items():
% for k in w.limbs:
    ${p.shared} ${w.word} ${memory}${k}[${count}];
% endfor
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} group = ${p.axis(p.group_id, 0)};
    const ${long} begin = group % tiles * ${tile}, entry = group / tiles;
    const int width = (int)(columns - begin < ${tile} ? columns - begin : ${tile});
    const ${long} a_at = a_start + entry * a_batch;
    const ${long} b_at = b_start + entry * b_batch + begin * b_col;
    const int blocks = (size + ${most - 1}) / ${most};
## Of what a warp reads neighbours lie side by side, whichever way a matrix is stored.
    const int by_rows = (b_row < 0 ? -b_row : b_row) < (b_col < 0 ? -b_col : b_col);
    const int a_by_rows = (a_row < 0 ? -a_row : a_row) < (a_col < 0 ? -a_col : a_col);
    const int part = ${f"thread % {parts}" if apart else f"thread / {tile}"};
    const int j = ${f"thread / {parts}" if apart else f"thread % {tile}"};
    /* what a thread brings of a product's left operand: where its first element is, and the next ones */
    const int left_row = a_by_rows ? thread % ${span} : thread / ${depth};
    const int left_step = a_by_rows ? thread / ${span} : thread % ${depth};
    const int rows_apart = a_by_rows ? 0 : ${threads // depth}, steps_apart = a_by_rows ? ${threads // span} : 0;
    const int row_of = by_rows ? thread % ${abreast} : thread / ${tile // across};
    const int column_of = by_rows ? thread / ${abreast} : thread % ${tile // across};

    for (int block = 0; block < blocks; ++block) {
        const int first = ${edge("block")}, end = ${edge("block + 1")}, rows = end - first;
        {
## Eight elements are read before they are kept; beyond the triangle and below its rows others are
## read, which nobody uses.
            const ${long} corner = a_at + first * (a_row + a_col);
            for (int e = thread; e < ${most * most}; e += ${batch * threads}) {
                ${w.value} read[${batch}];
% for u in range(batch):
                {
                    const int at_once = e + ${u * threads};
                    const int i = a_by_rows ? at_once % ${most} : at_once / ${most};
                    const int column = a_by_rows ? at_once / ${most} : at_once % ${most};
                    const int row = i < rows ? i : rows - 1;
                    const ${long} at = corner + row * a_row + (column < row ? column : row) * a_col;
                    read[${u}] = ${w.element("a", "at")};
                }
% endfor
% for u in range(batch):
                {
                    const int at_once = e + ${u * threads};
                    const int i = a_by_rows ? at_once % ${most} : at_once / ${most};
                    const int column = a_by_rows ? at_once / ${most} : at_once % ${most};
                    if (column <= i) {
                        ${w.value} l = read[${u}];
                        if (column < i)
                            l = ${neg}(l);
${kept("left", "i * (i + 1) / 2 + column", "l")}
                    }
                }
% endfor
            }
            ${w.value} mine[${own}];
            const int top = part * ${own};
            const ${long} side = b_at + (first + top) * b_row + j * b_col;
% for u in range(own):
            if (top + ${u} < rows && j < width) {
                const ${long} at = side + ${u} * b_row;
                mine[${u}] = ${w.element("b", "at")};
            } else {
                mine[${u}] = ${w.zero()};
            }
% endfor
            ${p.barrier}
            for (int i = 0; i < rows; i += ${own}) {
                const int spot = (i / ${own} & 1) * ${own * tile} + j;
                if (i == top${works}) {
% for u in range(own):
                    if (!unit) {
                        mine[${u}] = ${div}(mine[${u}], ${there("left", f"{at(u)} + top + {u}")});
${stored(f"mine[{u}]")}\
                    }
${kept("known", f"spot + {u * tile}", f"mine[{u}]")}\
% for v in range(u + 1, own):
                    mine[${v}] = ${fma}(${there("left", f"{at(v)} + top + {u}")}, mine[${u}], mine[${v}]);
${stored(f"mine[{v}]")}\
% endfor
% endfor
                }
                ${together}
                if (i < top${works}) {
                    ${p.unrolled_by(1)}
                    for (int u = 0; u < ${own}; ++u) {
                        const ${w.value} x = ${there("known", f"spot + u * {tile}")};
% for v in range(own):
                        mine[${v}] = ${fma}(${there("left", f"{at(v)} + i + u")}, x, mine[${v}]);
${stored(f"mine[{v}]")}\
% endfor
                    }
                }
            }
% for u in range(own):
            if (top + ${u} < rows && j < width) {
                const ${long} at = side + ${u} * b_row;
${put("b", "at", f"mine[{u}]")}
            }
% endfor
        }
        if (block + 1 == blocks)
            break;
        ${p.device_barrier}

        /* unknowns from low on, found by now, leave the rows below that the same halving has */
        int low = 0, high = blocks, middle = (blocks + upper) / 2;
        while (middle != block + 1) {
            if (middle > block)
                high = middle;
            else
                low = middle;
            middle = low + (high - low + upper) / 2;
        }
        const int from = ${edge("low")}, below = ${edge("high")}, k = end - from;
        /* in the order of the matrix as it was given */
        const int origin = upper ? end - 1 : from;
        const ${long} a_next = upper ? -a_col : a_col, b_next = upper ? -b_row : b_row;
        const ${long} left_apart = rows_apart * a_row + steps_apart * a_next;
        const ${long} x_at = b_at + origin * b_row;
        for (int top = end; top < below; top += ${span}) {
            const int there = below - top;
            const ${long} l_at = a_at + top * a_row + origin * a_col;
            ${w.type(state)} sum[${down}][${across}];
            ${w.value} next_left[${fetched_left}], next_known[${fetched_known}];

            ${p.unroll}
            for (int u = 0; u < ${down}; ++u) {
                ${p.unroll}
                for (int v = 0; v < ${across}; ++v)
                    sum[u][v] = ${w.zero(state)};
            }
${fetched("0")}
            for (int done = 0; done < k; done += ${depth}) {
                const int steps = k - done < ${depth} ? k - done : ${depth};
                ${p.barrier}
% for u in range(fetched_left):
                {
                    const int at = left_step * ${pitch} + left_row + ${u} * (steps_apart * ${pitch} + rows_apart);
${kept("left", "at", f"next_left[{u}]")}\
                }
% endfor
% for u in range(fetched_known):
                if (thread < ${depth * tile - u * threads}) {
                    const int e = thread + ${u * threads};
                    const int at = by_rows ? e % ${depth} * ${tile} + e / ${depth} : e;
${kept("known", "at", f"next_known[{u}]")}\
                }
% endfor
                ${p.barrier}
                if (done + ${depth} < k) {
${fetched(f"done + {depth}")}
                }
% for count in versions:
                ${"" if loop.first else "else "}${"" if loop.last else f"if (there <= {count * abreast}) "}{
${multiplied(count)}
                }
% endfor
            }
            /* all that lose something are read before the first one is written */
            ${w.value} before[${down}][${across}];
            ${p.unroll}
            for (int u = 0; u < ${down}; ++u) {
                ${p.unroll}
                for (int v = 0; v < ${across}; ++v) {
                    const int row = row_of + u * ${abreast}, column = column_of + v * ${tile // across};
                    const ${long} at = b_at + (top + row) * b_row + column * b_col;
                    before[u][v] = ${w.zero()};
                    if (row < there && column < width)
                        before[u][v] = ${w.element("b", "at")};
                }
            }
            ${p.unroll}
            for (int u = 0; u < ${down}; ++u) {
                ${p.unroll}
                for (int v = 0; v < ${across}; ++v) {
                    const int row = row_of + u * ${abreast}, column = column_of + v * ${tile // across};
                    const ${long} at = b_at + (top + row) * b_row + column * b_col;
                    if (row >= there || column >= width)
                        continue;
% for factor, value in (("alpha", -1), ("beta", 1)):
% for k in w.limbs:
                    const ${w.word} ${factor}${k} = ${w.literal(0 if k else value)};
% endfor
% endfor
                    const int alpha_is_one = 0, beta_kind = 1;
                    ${w.value} z = ${w.function(networks["finish"])}(sum[u][v]);
                    if (!(${w.fabs(w.word_of("z", 0))} <= ${w.largest})) {
                        const ${w.scalar} chain = leading_chain(
                            ${w.leading("a", pass_on=True)}, l_at + row * a_row, a_next,
                            ${w.leading("b", pass_on=True)}, x_at + column * b_col, b_next, k);
                        z = ${w.alone("chain")};
                    }
${scaled(w, networks, "z", "before[u][v]", " " * 20)}
${put("b", "at", "z")}
                }
            }
        }
        ${p.device_barrier}
    }
}
## The first row of a block.
<%def name="edge(block)">\
<% of = f"({block})" %>\
(upper ? (size > (blocks - ${of}) * ${most} ? size - (blocks - ${of}) * ${most} : 0) : (size < ${of} * ${most} ? size : ${of} * ${most}))\
</%def>
## What a thread has of the next steps of both operands; zeros beyond them.
<%def name="fetched(start)">
                {
                    const ${w.platform.index} at = l_at + left_row * a_row + (${start} + left_step) * a_next;
% for u in range(fetched_left):
                    next_left[${u}] = ${w.zero()};
                    if (left_row + ${u} * rows_apart < there && ${start} + left_step + ${u} * steps_apart < k) {
                        const ${w.platform.index} place = at + ${u} * left_apart;
                        next_left[${u}] = ${w.element("a", "place")};
                    }
% endfor
                }
% for u in range(fetched_known):
                {
                    const int e = thread + ${u * threads};
                    const int step = by_rows ? e % ${depth} : e / ${tile};
                    const int column = by_rows ? e / ${depth} : e % ${tile};
                    next_known[${u}] = ${w.zero()};
                    if (column < width && step < ${depth} && ${start} + step < k) {
                        const ${w.platform.index} at = x_at + (${start} + step) * b_next + column * b_col;
                        next_known[${u}] = ${w.element("b", "at")};
                    }
                }
% endfor
</%def>
<%def name="multiplied(count)">
<% p = w.platform %>
                    ${p.unrolled_by(max(1, written_out // (count * across)))}
                    for (int step = 0; step < steps; ++step) {
                        ${w.value} x[${across}];
                        ${p.unroll}
                        for (int v = 0; v < ${across}; ++v)
                            x[v] = ${there("known", f"step * {tile} + column_of + v * {tile // across}")};
                        ${p.unroll}
                        for (int u = 0; u < ${count}; ++u) {
                            const ${w.value} l = ${there("left", f"step * {pitch} + row_of + u * {abreast}")};
                            ${p.unroll}
                            for (int v = 0; v < ${across}; ++v)
                                sum[u][v] = ${w.function(networks["accumulate"])}(sum[u][v], l, x[v]);
                        }
                    }
% if settle is not None:
                    if (steps == ${depth} && (done + ${depth}) % ${period} == 0) {
                        ${p.unroll}
                        for (int u = 0; u < ${count}; ++u) {
                            ${p.unroll}
                            for (int v = 0; v < ${across}; ++v)
                                sum[u][v] = ${w.function(settle)}(sum[u][v]);
                        }
                    }
% endif
</%def>
