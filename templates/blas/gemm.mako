## C = alpha A B + beta C: tiles in shared memory, results in registers, slabs of k.
## w: Writer (its width is the schedule's), v: the scalar Writer, s: the schedule,
## networks: by role, slab and period: numbers of the definition
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    a_pitch, b_pitch = s.tile_m + s.pad, s.tile_n // s.width
    scaled_col = f"thread_col + j * {s.threads_n}"
    if s.width > 1:
        scaled_col = f"({scaled_col}) * {s.width}"
%>
${arithmetic(w, list(networks.values()))}
% if not s.split:
${leading_chain(v, slab)}
% endif
/* a block computes a ${s.tile_m} x ${s.tile_n} tile of C in steps of ${s.tile_k}; a thread ${s.thread_m} x ${s.thread_n} results${" of " + str(s.width) + " lanes" if s.width > 1 else ""} */
${p.kernel.format(s.threads)} ${name}(
    const ${long} m, const ${long} n, const ${long} k,
    ${v.planes("a", const=True)},
    const ${long} a_start, const ${long} a_row, const ${long} a_col, const ${long} a_batch,
    ${v.planes("b", const=True)},
    const ${long} b_start, const ${long} b_row, const ${long} b_col, const ${long} b_batch,
% if s.split:
    ${v.planes("slabs", const=False, compute=True)})
% else:
    ${v.planes("c", const=True)},
    const ${long} c_start, const ${long} c_row, const ${long} c_col, const ${long} c_batch,
    ${v.planes("out", const=False)},
    const ${long} out_start, const ${long} out_row, const ${long} out_col, const ${long} out_batch,
    ${v.scalars("alpha")}, ${v.scalars("beta")},
    const int alpha_is_one, const int beta_kind)
% endif
{
% for i in v.limbs:
    ${p.shared} ${w.scalar} a_tile${i}[${s.tile_k * a_pitch}];
    ${p.shared} ${w.word} b_tile${i}[${s.tile_k * b_pitch}];
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
    ${w.value} total[${s.thread_m}][${s.thread_n}];
% endif
    ${w.sum} sum[${s.thread_m}][${s.thread_n}];

% if not s.split:
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j)
            total[i][j] = ${w.zero()};
    }
    for (${long} slab = 0; slab < k; slab += ${slab}) {
% else:
    {
% endif
        const ${long} slab_end = slab + ${slab} < k ? slab + ${slab} : k;
        ${p.unroll}
        for (int i = 0; i < ${s.thread_m}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; ++j)
                sum[i][j] = ${w.zero(state)};
        }
        for (${long} k0 = slab; k0 < slab_end; k0 += ${s.tile_k}) {
            const int depth = slab_end - k0 < ${s.tile_k} ? (int)(slab_end - k0) : ${s.tile_k};
            for (int e = thread; e < ${s.tile_m * s.tile_k}; e += ${s.threads}) {
% if s.a_order == "k":
                const int kk = e % ${s.tile_k}, row = e / ${s.tile_k};
% else:
                const int kk = e / ${s.tile_m}, row = e % ${s.tile_m};
% endif
                const int inside = kk < depth && first_row + row < m;
                const ${long} at = a_start + batch * a_batch + (first_row + row) * a_row + (k0 + kk) * a_col;
% for i in v.limbs:
                a_tile${i}[kk * ${a_pitch} + row] = inside ? ${v.limb("a", i, "at")} : ${v.literal(0)};
% endfor
            }
            for (int e = thread; e < ${s.tile_n * s.tile_k}; e += ${s.threads}) {
% if s.b_order == "k":
                const int kk = e % ${s.tile_k}, col = e / ${s.tile_k};
% else:
                const int kk = e / ${s.tile_n}, col = e % ${s.tile_n};
% endif
                const int inside = kk < depth && first_col + col < n;
                const ${long} at = b_start + batch * b_batch + (k0 + kk) * b_row + (first_col + col) * b_col;
% for i in v.limbs:
% if s.width > 1:
                ((${p.shared_pointer.format(w.scalar)})b_tile${i})[kk * ${s.tile_n} + col] = inside ? ${v.limb("b", i, "at")} : ${v.literal(0)};
% else:
                b_tile${i}[kk * ${b_pitch} + col] = inside ? ${v.limb("b", i, "at")} : ${v.literal(0)};
% endif
% endfor
            }
            ${p.barrier}
            for (int kk = 0; kk < depth; ++kk) {
                ${w.value} b[${s.thread_n}];
                ${p.unroll}
                for (int j = 0; j < ${s.thread_n}; ++j) {
                    const int at = kk * ${b_pitch} + thread_col + j * ${s.threads_n};
                    b[j] = ${w.pack(f"b_tile{i}[at]" for i in v.limbs)};
                }
                ${p.unroll}
                for (int i = 0; i < ${s.thread_m}; ++i) {
                    const int at = kk * ${a_pitch} + thread_row + i * ${s.threads_m};
                    const ${w.value} a = ${w.pack(w.splat(f"a_tile{i}[at]") for i in v.limbs)};
                    ${p.unroll}
                    for (int j = 0; j < ${s.thread_n}; ++j)
                        sum[i][j] = ${w.function(networks["accumulate"])}(sum[i][j], a, b[j]);
                }
            }
            ${p.barrier}
% if not networks["renormalise"].name.startswith("keep"):
            if ((k0 - slab + depth) % ${period} == 0) {
                ${p.unroll}
                for (int i = 0; i < ${s.thread_m}; ++i) {
                    ${p.unroll}
                    for (int j = 0; j < ${s.thread_n}; ++j)
                        sum[i][j] = ${w.function(networks["renormalise"])}(sum[i][j]);
                }
            }
% endif
        }
        ${p.unroll}
        for (int i = 0; i < ${s.thread_m}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; ++j) {
                const ${w.value} part = ${w.function(networks["finish"])}(sum[i][j]);
% if s.split:
                const ${long} row = first_row + thread_row + i * ${s.threads_m};
                const ${long} col = first_col + ${scaled_col};
                const ${long} at = ((${long})${p.axis(p.group_id, 1)} * m + row) * n + col;
% if s.width > 1:
                for (int lane = 0; lane < ${s.width}; ++lane) {
                    if (row < m && col + lane < n) {
% for i in v.limbs:
                        slabs${i}[at + lane] = ${w.lane(w.word_of("part", i), "lane")};
% endfor
                    }
                }
% else:
                if (row < m && col < n) {
% for i in v.limbs:
                    slabs${i}[at] = ${w.word_of("part", i)};
% endfor
                }
% endif
% else:
                total[i][j] = slab == 0 ? part : ${w.function(networks["add"])}(total[i][j], part);
% endif
            }
        }
    }
% if not s.split:

    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        const ${long} row = first_row + thread_row + i * ${s.threads_m};
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            const ${long} col = first_col + ${scaled_col};
            const ${long} c_at = c_start + batch * c_batch + row * c_row + col * c_col;
            const ${long} out_at = out_start + batch * out_batch + row * out_row + col * out_col;
            ${w.value} z = total[i][j];
% if s.width > 1:
            ${w.value} c = ${w.zero()};
            const int lanes = n - col < ${s.width} ? (int)(n - col) : ${s.width};
% for i in v.limbs:
            ${v.scalar} *const z${i} = (${v.scalar} *)&${w.word_of("z", i)}, *const addend${i} = (${v.scalar} *)&${w.word_of("c", i)};
% endfor
% endif
            if (row >= m || col >= n)
                continue;
% if s.width > 1:
            for (int lane = 0; lane < lanes; ++lane) {
                if (!(${v.fabs("z0[lane]")} <= ${v.largest})) {
                    z0[lane] = leading_chain(
                        a0, a_start + batch * a_batch + row * a_row, a_col,
                        b0, b_start + batch * b_batch + (col + lane) * b_col, b_row, k);
% for i in v.limbs:
% if i > 0:
                    z${i}[lane] = ${v.literal(0)};
% endif
% endfor
                }
                if (beta_kind != 0) {
% for i in v.limbs:
                    addend${i}[lane] = ${v.limb("c", i, "c_at + lane * c_col")};
% endfor
                }
            }
${scaled(w, networks, "z", "c", " " * 12)}
            for (int lane = 0; lane < lanes; ++lane) {
% for i in v.limbs:
                out${i}[out_at + lane * out_col] = ${v.narrow(i, f"z{i}[lane]")};
% endfor
            }
% else:
            if (!(${v.fabs(v.word_of("z", 0))} <= ${v.largest})) {
                const ${v.scalar} chain = leading_chain(
                    a0, a_start + batch * a_batch + row * a_row, a_col,
                    b0, b_start + batch * b_batch + col * b_col, b_row, k);
                z = ${v.pack(["chain"] + [v.literal(0)] * (v.format.limbs - 1))};
            }
${scaled(w, networks, "z", v.pack(v.limb("c", i, "c_at") for i in v.limbs), " " * 12)}
% for i in v.limbs:
            out${i}[out_at] = ${v.narrow(i, v.word_of("z", i))};
% endfor
% endif
        }
    }
% endif
}
