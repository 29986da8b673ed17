## C = alpha A B + beta C on CPUs: one work-item a block, a packed panel of B, explicit vectors.
## w: Writer of vectors, v: scalar Writer, s: the schedule, networks: by role
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere, arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    columns = s.tile_n

    def beyond(value):
        """Whether one of the leading words is not finite."""
        far = f"!({w.fabs(w.word_of(value, 0))} <= {w.largest})"
        return p.any.format(far) if w.width > 1 else far
%>
${arithmetic(w, list(networks.values()))}
${anywhere(w)}
${leading_chain(v, slab)}
/* a work-item computes ${s.rows} x ${columns} results, ${s.results_m} x ${columns} at a time, of one slab of k */
${p.kernel_of(1)} ${head()}
{
% for i in v.limbs:
    ${p.shared} ${w.word} panel${i}[${slab * columns // s.width}];
% endfor
    const ${long} panels = (n + ${columns - 1}) / ${columns};
    const ${long} first_row = ((${long})${p.axis(p.group_id, 0)} / panels) * ${s.rows};
    const ${long} first_col = ((${long})${p.axis(p.group_id, 0)} % panels) * ${columns};
    const ${long} last_row = first_row + ${s.rows} < m ? first_row + ${s.rows} : m;
    const ${long} batch = (${long})${p.axis(p.group_id, 1)};
    const int width = n - first_col < ${columns} ? (int)(n - first_col) : ${columns};
    const int depth = k - slab < ${slab} ? (int)(k - slab) : ${slab};
    const int together = b_col == 1 && width == ${columns};
    const int dense = total_col == 1 && out_col == 1 && (beta_kind == 0 || c_col == 1);

    for (int kk = 0; kk < depth; ++kk) {
        const ${long} at = b_start + batch * b_batch + (slab + kk) * b_row + first_col * b_col;
        if (together) {
            ${p.unroll}
            for (int j = 0; j < ${s.results_n}; ++j) {
% for i in v.limbs:
                panel${i}[kk * ${s.results_n} + j] = ${w.load_vector("b", i, f"at + j * {s.width}")};
% endfor
            }
            continue;
        }
        for (int col = 0; col < ${columns}; ++col) {
% for i in v.limbs:
            ((${p.shared_pointer.format(w.scalar)})panel${i})[kk * ${columns} + col] = col < width ? ${v.limb("b", i, "at + col * b_col")} : ${v.literal(0)};
% endfor
        }
    }
    for (${long} row0 = first_row; row0 < last_row; row0 += ${s.results_m}) {
        ${w.type(state)} sum[${s.results_m}][${s.results_n}];
        ${w.value} part[${s.results_m * s.results_n}];
        ${long} a_at[${s.results_m}];

        ${p.unroll}
        for (int i = 0; i < ${s.results_m}; ++i) {
            /* rows beyond the end repeat the last one and are not stored */
            const ${long} row = row0 + i < m ? row0 + i : m - 1;
            a_at[i] = a_start + batch * a_batch + row * a_row + slab * a_col;
            ${p.unroll}
            for (int j = 0; j < ${s.results_n}; ++j)
                sum[i][j] = ${w.zero(state)};
        }
        for (int k0 = 0; k0 < depth; k0 += ${period}) {
            const int end = k0 + ${period} < depth ? k0 + ${period} : depth;
            for (int kk = k0; kk < end; ++kk) {
                ${w.value} b[${s.results_n}];
                ${p.unroll}
                for (int j = 0; j < ${s.results_n}; ++j)
                    b[j] = ${w.pack(f"panel{i}[kk * {s.results_n} + j]" for i in w.limbs)};
                ${p.unroll}
                for (int i = 0; i < ${s.results_m}; ++i) {
                    const ${long} at = a_at[i] + kk * a_col;
                    const ${w.value} a = ${w.pack(w.splat(v.limb("a", i, "at")) for i in w.limbs)};
                    ${p.unroll}
                    for (int j = 0; j < ${s.results_n}; ++j)
                        sum[i][j] = ${w.function(networks["accumulate"])}(sum[i][j], a, b[j]);
                }
            }
% if settle is not None:
            if (end - k0 == ${period}) {
                ${p.unroll}
                for (int i = 0; i < ${s.results_m}; ++i) {
                    ${p.unroll}
                    for (int j = 0; j < ${s.results_n}; ++j)
                        sum[i][j] = ${w.function(settle)}(sum[i][j]);
                }
            }
% endif
        }
        ${p.unroll}
        for (int i = 0; i < ${s.results_m}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${s.results_n}; ++j)
                part[i * ${s.results_n} + j] = ${w.function(networks["finish"])}(sum[i][j]);
        }
        for (int e = 0; e < ${s.results_m * s.results_n}; ++e) {
            const ${long} row = row0 + e / ${s.results_n};
            const ${long} col = first_col + e % ${s.results_n} * ${s.width};
            const int lanes = n - col < ${s.width} ? (int)(n - col) : ${s.width};
            const ${long} at = total_start + batch * total_batch + row * total_row + col * total_col;
            const ${long} c_at = c_start + batch * c_batch + row * c_row + col * c_col;
            const ${long} out_at = out_start + batch * out_batch + row * out_row + col * out_col;
            if (row >= last_row)
                break;
            if (dense && lanes == ${w.width}) {
                /* variables of their own: of those below there are pointers */
                ${w.value} z = part[e];
                ${w.value} other = ${w.zero()};
                if (slab > 0) {
                    other = ${w.pack(w.there(w.format.word, f"total{i}", "at") for i in w.limbs)};
                    z = ${w.function(networks["add"])}(other, z);
                }
                if (slab + depth < k) {
% for i in w.limbs:
                    ${w.there(w.format.word, f"total{i}", "at", const=False)} = ${w.word_of("z", i)};
% endfor
                    continue;
                }
                if (!${beyond("z")}) {
                    if (beta_kind != 0)
                        other = ${w.pack(w.load_vector("c", i, "c_at") for i in w.limbs)};
${scaled(w, networks, "z", "other", " " * 20)}
% for i in w.limbs:
                    ${w.store_vector("out", i, "out_at", w.word_of("z", i))}
% endfor
                    continue;
                }
            }
            ${w.value} z = part[e];
            ${w.value} other = ${w.zero()};
% for i in v.limbs:
            ${v.scalar} *const z${i} = (${v.scalar} *)&${w.word_of("z", i)}, *const other${i} = (${v.scalar} *)&${w.word_of("other", i)};
% endfor
            if (slab > 0) {
                for (int lane = 0; lane < lanes; ++lane) {
% for i in v.limbs:
                    other${i}[lane] = total${i}[at + lane * total_col];
% endfor
                }
                z = ${w.function(networks["add"])}(other, z);
            }
            if (slab + depth < k) {
                for (int lane = 0; lane < lanes; ++lane) {
% for i in v.limbs:
                    total${i}[at + lane * total_col] = z${i}[lane];
% endfor
                }
                continue;
            }
            for (int lane = 0; lane < lanes; ++lane) {
                if (!(${v.fabs("z0[lane]")} <= ${v.largest})) {
                    z0[lane] = leading_chain(
                        ${v.leading("a", pass_on=True)}, a_start + batch * a_batch + row * a_row, a_col,
                        ${v.leading("b", pass_on=True)}, b_start + batch * b_batch + (col + lane) * b_col, b_row, k);
% for i in v.limbs:
% if i > 0:
                    z${i}[lane] = ${v.literal(float("inf") if v.format.bounded and i == v.format.limbs - 1 else 0)};
% endif
% endfor
                }
                if (beta_kind != 0) {
% for i in v.limbs:
                    other${i}[lane] = ${v.limb("c", i, "c_at + lane * c_col")};
% endfor
                }
            }
${scaled(w, networks, "z", "other", " " * 12)}
            for (int lane = 0; lane < lanes; ++lane) {
% for i in v.limbs:
                ${v.store("out", i, "out_at + lane * out_col", f"z{i}[lane]")}
% endfor
            }
        }
    }
}
