## C = alpha A B + beta C: tiles in shared memory, results in registers, slabs of k.
## w: Writer, s: the schedule, networks: by role, slab and period: numbers of the definition
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%!
    def place(s, axis, index):
        """Row or column in the tile of a thread's index-th result."""
        threads = s.threads_m if axis == "row" else s.threads_n
        if s.vector == 1:
            return f"thread_{axis} + {index} * {threads}"
        return (
            f"thread_{axis} * {s.vector} + {index} / {s.vector} * {threads * s.vector}"
            f" + {index} % {s.vector}"
        )
%>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    often = settle is not None and period < s.tile_k
    unroll = period if often else s.unroll
    align = s.vector * (4 if w.scalar == "float" else 8)
    stage = (lambda size: f"stage * {size} + ") if s.stages > 1 else (lambda size: "")
    tiles = (
        ("a", "row", "m", s.tile_m, s.pitch_a, s.tile_k * s.pitch_a, s.a_order == "m"),
        ("b", "col", "n", s.tile_n, s.pitch_b, s.tile_k * s.pitch_b, s.b_order == "n"),
    )
%>
${arithmetic(w, list(networks.values()))}
% if not s.split:
${leading_chain(w, slab)}
% endif
/* a block computes a ${s.tile_m} x ${s.tile_n} tile of C in steps of ${s.tile_k}; a thread ${s.thread_m} x ${s.thread_n} results */
${p.kernel_of(s.threads, s.blocks)} ${name}(
    const ${long} m, const ${long} n, const ${long} k,
    ${w.planes("a", const=True)},
    const ${long} a_start, const ${long} a_row, const ${long} a_col, const ${long} a_batch,
    ${w.planes("b", const=True)},
    const ${long} b_start, const ${long} b_row, const ${long} b_col, const ${long} b_batch,
    ${w.planes("total", const=False, compute=True)},
    const ${long} total_start, const ${long} total_row, const ${long} total_col, const ${long} total_batch\
% if s.split:
)
% else:
,
    const ${long} slab,
    ${w.planes("c", const=True)},
    const ${long} c_start, const ${long} c_row, const ${long} c_col, const ${long} c_batch,
    ${w.planes("out", const=False)},
    const ${long} out_start, const ${long} out_row, const ${long} out_col, const ${long} out_batch,
    ${w.scalars("alpha")}, ${w.scalars("beta")},
    const int alpha_is_one, const int beta_kind)
% endif
{
% for operand, _, _, _, _, size, _ in tiles:
% for i in w.limbs:
    ${p.shared} ${w.scalar} ${operand}_tile${i}[${size * s.stages}] __attribute__((aligned(${align})));
% endfor
% endfor
    const ${long} tiles_n = (n + ${s.tile_n - 1}) / ${s.tile_n};
    const ${long} first_row = ((${long})${p.axis(p.group_id, 0)} / tiles_n) * ${s.tile_m};
    const ${long} first_col = ((${long})${p.axis(p.group_id, 0)} % tiles_n) * ${s.tile_n};
    const int thread = (int)${p.axis(p.local_id, 0)};
    const int thread_row = thread / ${s.threads_n};
    const int thread_col = thread % ${s.threads_n};
% if s.split:
    const ${long} slab_count = (k + ${slab - 1}) / ${slab};
    const ${long} batch = (${long})${p.axis(p.group_id, 1)} / slab_count;
    const ${long} slab = ((${long})${p.axis(p.group_id, 1)} % slab_count) * ${slab};
% else:
    const ${long} batch = (${long})${p.axis(p.group_id, 1)};
% endif
    ${w.type(state)} sum[${s.thread_m}][${s.thread_n}];

    const ${long} slab_end = slab + ${slab} < k ? slab + ${slab} : k;
% if s.stages > 1:
    int stage = 0;
% endif
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j)
            sum[i][j] = ${w.zero(state)};
    }
    for (${long} k0 = slab - ${s.tile_k}; k0 < slab_end; k0 += ${s.tile_k}) {
        /* fetch the next tile while this one is used */
        const ${long} next = k0 + ${s.tile_k};
        const int there = slab_end - next < ${s.tile_k} ? (int)(slab_end - next) : ${s.tile_k};
% for operand, axis, extent, length, pitch, size, across in tiles:
<% count = -(-length * s.tile_k // s.threads) %>
% for i in w.limbs:
        ${w.scalar} ${operand}_next${i}[${count}];
% endfor
        ${p.unroll}
        for (int u = 0; u < ${count}; ++u) {
            const int e = thread + u * ${s.threads};
% if across:
            const int kk = e / ${length}, ${axis} = e % ${length};
% else:
            const int kk = e % ${s.tile_k}, ${axis} = e / ${s.tile_k};
% endif
            const int inside = kk < there && first_${axis} + ${axis} < ${extent};
            const ${long} at = ${operand}_start + batch * ${operand}_batch + \
% if operand == "a":
(first_row + row) * a_row + (next + kk) * a_col;
% else:
(next + kk) * b_row + (first_col + col) * b_col;
% endif
% for i in w.limbs:
            ${operand}_next${i}[u] = inside ? ${w.limb(operand, i, "at")} : ${w.literal(0)};
% endfor
        }
% endfor
        if (k0 >= slab) {
            const int depth = slab_end - k0 < ${s.tile_k} ? (int)(slab_end - k0) : ${s.tile_k};
            int kk = 0;
            for (; kk + ${unroll} <= depth; kk += ${unroll}) {
                ${p.unroll}
                for (int step = 0; step < ${unroll}; ++step) {
${multiply_add(stage, "(kk + step)", " " * 20)}
                }
% if often:
${settled(" " * 16)}
% endif
            }
            for (; kk < depth; ++kk) {
${multiply_add(stage, "kk", " " * 16)}
            }
% if settle is not None and not often:
            if ((k0 + depth) % ${period} == 0) {
${settled(" " * 16)}
            }
% endif
        }
% if s.stages > 1:
        stage ^= 1;
% else:
        ${p.barrier}
% endif
% for operand, axis, extent, length, pitch, size, across in tiles:
<% count = -(-length * s.tile_k // s.threads) %>
        ${p.unroll}
        for (int u = 0; u < ${count}; ++u) {
            const int e = thread + u * ${s.threads};
% if across:
            const int kk = e / ${length}, ${axis} = e % ${length};
% else:
            const int kk = e % ${s.tile_k}, ${axis} = e / ${s.tile_k};
% endif
% if length * s.tile_k % s.threads:
            if (e >= ${length * s.tile_k})
                continue;
% endif
% for i in w.limbs:
            ${operand}_tile${i}[${stage(size)}kk * ${pitch} + ${axis}] = ${operand}_next${i}[u];
% endfor
        }
% endfor
        ${p.barrier}
    }
% if s.split:
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            const ${w.value} part = ${w.function(networks["finish"])}(sum[i][j]);
            const ${long} row = first_row + ${place(s, "row", "i")};
            const ${long} col = first_col + ${place(s, "col", "j")};
            const ${long} at = total_start + (${long})${p.axis(p.group_id, 1)} * total_batch + row * total_row + col * total_col;
            if (row < m && col < n) {
% for i in w.limbs:
                total${i}[at] = ${w.word_of("part", i)};
% endfor
            }
        }
    }
% else:
    /* slabs add up in memory; the last one ends the element */
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            const ${long} row = first_row + ${place(s, "row", "i")};
            const ${long} col = first_col + ${place(s, "col", "j")};
            const ${long} at = total_start + batch * total_batch + row * total_row + col * total_col;
            const ${long} c_at = c_start + batch * c_batch + row * c_row + col * c_col;
            const ${long} out_at = out_start + batch * out_batch + row * out_row + col * out_col;
            ${w.value} z = ${w.function(networks["finish"])}(sum[i][j]);
            if (row >= m || col >= n)
                continue;
            if (slab > 0)
                z = ${w.function(networks["add"])}(${w.pack(f"total{i}[at]" for i in w.limbs)}, z);
            if (slab_end < k) {
% for i in w.limbs:
                total${i}[at] = ${w.word_of("z", i)};
% endfor
                continue;
            }
            if (!(${w.fabs(w.word_of("z", 0))} <= ${w.largest})) {
                const ${w.scalar} chain = leading_chain(
                    a0, a_start + batch * a_batch + row * a_row, a_col,
                    b0, b_start + batch * b_batch + col * b_col, b_row, k);
                z = ${w.pack(["chain"] + [w.literal(0)] * (w.format.limbs - 1))};
            }
${scaled(w, networks, "z", w.pack(w.limb("c", i, "c_at") for i in w.limbs), " " * 12)}
% for i in w.limbs:
            out${i}[out_at] = ${w.narrow(i, w.word_of("z", i))};
% endfor
        }
    }
% endif
}
<%def name="multiply_add(stage, kk, pad)">
<% p = w.platform %>
${pad}${w.value} b[${s.thread_n}];
${pad}${p.unroll}
${pad}for (int j = 0; j < ${s.thread_n}; ++j) {
${pad}    const int at = ${stage(s.tile_k * s.pitch_b)}${kk} * ${s.pitch_b} + ${place(s, "col", "j")};
${pad}    b[j] = ${w.pack(f"b_tile{i}[at]" for i in w.limbs)};
${pad}}
${pad}${p.unroll}
${pad}for (int i = 0; i < ${s.thread_m}; ++i) {
${pad}    const int at = ${stage(s.tile_k * s.pitch_a)}${kk} * ${s.pitch_a} + ${place(s, "row", "i")};
${pad}    const ${w.value} a = ${w.pack(f"a_tile{i}[at]" for i in w.limbs)};
${pad}    ${p.unroll}
${pad}    for (int j = 0; j < ${s.thread_n}; ++j)
${pad}        sum[i][j] = ${w.function(networks["accumulate"])}(sum[i][j], a, b[j]);
${pad}}
</%def>
<%def name="settled(pad)">
<% p = w.platform %>
${pad}${p.unroll}
${pad}for (int i = 0; i < ${s.thread_m}; ++i) {
${pad}    ${p.unroll}
${pad}    for (int j = 0; j < ${s.thread_n}; ++j)
${pad}        sum[i][j] = ${w.function(networks["renormalise"])}(sum[i][j]);
${pad}}
</%def>
