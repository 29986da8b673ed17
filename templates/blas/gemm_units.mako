## C = alpha A B + beta C of float64: warps multiply by matrix units what copies bring to block
## memory; a block takes all slabs of k, one after the other.
## w: Writer, s: the schedule, layout: its tiles, networks: by role, slab: of the definition
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%
    p, long = w.platform, w.platform.index
    unit = p.matrix_units[w.traits.matrix_unit]
    rows, cols = tiles = layout.tiles(w)
    thread_m, thread_n = rows.axis.results, cols.axis.results
    carried = tiles if p.tile_stores else ()  # by a thread, from its loads to its stores
    units_m, units_n, steps = s.warp_m // unit.rows, s.warp_n // unit.columns, s.tile_k // unit.steps
    memory = p.shared_pointer.format(w.scalar)
    ahead = f"(stage == 0 ? {s.stages - 1} : stage - 1)"
%>
${arithmetic(w, list(networks.values()))}
% if not s.split:
${leading_chain(w, slab)}
% endif
/* a block computes a ${s.tile_m} x ${s.tile_n} tile of C in steps of ${s.tile_k}, a warp ${s.warp_m} x ${s.warp_n} results of it */
${p.kernel_of(s.threads, s.blocks)} ${head()}
{
% if p.dynamic_shared:
    ${p.dynamic_shared}
% endif
    ${memory}a_tile = (${memory})dynamic_;
    ${memory}b_tile = a_tile + ${rows.size * s.stages};
    const ${long} tiles_m = (m + ${s.tile_m - 1}) / ${s.tile_m}, tiles_n = (n + ${s.tile_n - 1}) / ${s.tile_n};
    /* blocks of ${s.group} rows of tiles follow each other */
    const ${long} block = ${p.axis(p.group_id, 0)}, group = block / (${s.group} * tiles_n) * ${s.group};
    const ${long} group_rows = tiles_m - group < ${s.group} ? tiles_m - group : ${s.group};
    const ${long} in_group = block % (${s.group} * tiles_n);
    const ${long} first_row = (group + in_group % group_rows) * ${s.tile_m};
    const ${long} first_col = in_group / group_rows * ${s.tile_n};
    const int thread = (int)${p.axis(p.local_id, 0)}, lane = thread % ${s.lanes}, warp = thread / ${s.lanes};
    /* a lane's rows and columns of operands and results begin here in the tile */
    const int lane_row = ${unit.factors[0]}, lane_step = ${unit.factors[1]};
    const int a_row_in_warp = warp / ${s.warps_n} * ${s.warp_m} + lane_row, b_col_in_warp = warp % ${s.warps_n} * ${s.warp_n} + lane_row;
    const int thread_row = ${unit.first[0]}, thread_col = ${unit.first[1]};
% if s.split:
    const ${long} slab_count = (k + ${slab - 1}) / ${slab};
    const ${long} batch = (${long})${p.axis(p.group_id, 1)} / slab_count;
    const ${long} slab = ((${long})${p.axis(p.group_id, 1)} % slab_count) * ${slab};
    const ${long} end = slab + ${slab} < k ? slab + ${slab} : k;
% else:
    const ${long} batch = (${long})${p.axis(p.group_id, 1)}, end = k;
    ${long} slab = 0;
% endif
    /* what this thread copies of a tile begins here; so many rows or columns of it are there */
% for t in tiles:
    const int ${t.start_step} = ${t.begin[0]}, ${t.start_along} = ${t.begin[1]};
    const int ${t.operand}_left = (int)(${t.extent} - first_${t.axis.name} < ${t.length} ? ${t.extent} - first_${t.axis.name} : ${t.length}) - ${t.start_along};
    ${p.const_pointer.format(w.scalar)}${t.operand}_from = ${t.operand}0 + ${t.operand}_start + batch * ${t.operand}_batch + (slab + ${t.start_step}) * ${t.strides[0]} + (first_${t.axis.name} + ${t.start_along}) * ${t.strides[1]};
% endfor
    const int whole = first_row + ${s.tile_m} <= m && first_col + ${s.tile_n} <= n;
    ${long} to_copy = end - slab, to_multiply = to_copy;
    int stage = 0;
    ${w.value} sum[${thread_m}][${thread_n}];
% for t in carried:
    ${w.scalar} ${t.operand}_carried[${t.count}];
% endfor
    ${w.scalar} a_held[2][${units_m}][${unit.left}], b_held[2][${units_n}][${unit.right}];

${cleared(" " * 4)}
    ${long} not_finite = 0;
    ${p.unrolled_by(1)}
    for (int next = 0; next < ${s.stages - 1}; ++next) {
${copied("next", " " * 8)}
% for t in carried:
${stored(t, "next", " " * 8)}
% endfor
    }
    ${p.tile_copies_wait.format(s.stages - 2)}
    ${p.barrier}
    if (to_multiply < ${s.tile_k}) {
${ended(" " * 8)}
    }
${held(0, "0", " " * 4)}
    ${p.unrolled_by(1)}
    do {
% for step in range(steps):
% if step == steps - 1:
% for t in carried:
${stored(t, ahead, " " * 8)}
% endfor
        ${p.tile_copies_wait.format(s.stages - 2)}
        ${p.barrier}
        to_multiply -= ${s.tile_k};
        stage = stage + 1 == ${s.stages} ? 0 : stage + 1;
        if (0 < to_multiply && to_multiply < ${s.tile_k}) {
${ended(" " * 12)}
        }
${held((step + 1) % 2, "0", " " * 8)}
% else:
${held((step + 1) % 2, str((step + 1) * unit.steps), " " * 8)}
% endif
% if step == 0:
${copied(ahead, " " * 8)}
% endif
        ${p.unroll}
        for (int i = 0; i < ${units_m}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${units_n}; ++j)
                ${multiplied(step % 2)}
        }
% endfor
% if s.split:
    } while (to_multiply > 0);
${kept(" " * 4)}
}
% else:
        if (to_multiply <= 0 || end - slab - to_multiply == ${slab}) {
${kept(" " * 12)}
            slab += ${slab};
${cleared(" " * 12)}
        }
    } while (to_multiply > 0);
    if (not_finite == 0 && k > 0 && alpha_is_one && beta_kind == 0 && (${p.const_pointer.format("void")})total0 == (${p.const_pointer.format("void")})out0 && total_start == out_start)
        return;
${places(" " * 4)}
    /* what is more than a sum, and what is not finite: seldom, so this loop stays short */
    ${p.unrolled_by(1)}
    for (int e = 0; e < ${thread_m * thread_n}; ++e) {
        const int i = e / ${thread_n}, j = e % ${thread_n};
        const ${long} here = row + ${rows.offset("i")}, across = col + ${cols.offset("j")};
        ${w.value} z;

        if (here >= m || across >= n)
            continue;
        z = total0[total_at + (here - row) * total_row + (across - col) * total_col];
        if (not_finite >> e & 1)
            z = leading_chain(
                ${w.leading("a", pass_on=True)}, a_start + batch * a_batch + here * a_row, a_col,
                ${w.leading("b", pass_on=True)}, b_start + batch * b_batch + across * b_col, b_row, k);
${scaled(w, networks, "z", w.element("c", "c_start + batch * c_batch + here * c_row + across * c_col"), " " * 8)}
        ${w.store("out", 0, "out_start + batch * out_batch + here * out_row + across * out_col", "z")}
    }
}
% endif
<%def name="cleared(pad)">
<% p = w.platform %>
${pad}${p.unroll}
${pad}for (int i = 0; i < ${thread_m}; ++i) {
${pad}    ${p.unroll}
${pad}    for (int j = 0; j < ${thread_n}; ++j)
${pad}        sum[i][j] = ${w.zero()};
${pad}}
</%def>
<%def name="copied(where, pad)">
## The next tile sets out to a stage; what lies beyond the matrix or the last step of k is zeros.
<% p = w.platform %>
${pad}{
${pad}    const int there = to_copy < 0 ? 0 : to_copy < ${s.tile_k} ? (int)to_copy : ${s.tile_k};
% for t in tiles:
${pad}    ${memory}const ${t.operand}_to = ${t.operand}_tile + ${where} * ${t.size} + ${t.target};
${pad}    const int ${t.operand}_bytes = ${t.bytes};
% endfor
% for t in tiles:
% for u in range(t.count // t.read):
${pad}    ${p.tile_copies[8 * t.read].format(f"{t.operand}_to + {t.ahead(u)}", f"{t.operand}_from{t.source(u)}", t.there(u), f"{t.operand}_carried + {u * t.read}")}
% endfor
% endfor
% for t in tiles:
${pad}    ${t.operand}_from += ${s.tile_k} * ${t.strides[0]};
% endfor
${pad}    to_copy -= ${s.tile_k};
${pad}}
${pad}${p.tile_copies_end}
</%def>
<%def name="stored(t, where, pad)">
## What this thread loaded of a tile goes to its stage.
<% p = w.platform %>
${pad}{
${pad}    ${memory}const ${t.operand}_to = ${t.operand}_tile + ${where} * ${t.size} + ${t.target};
% for u in range(t.count // t.read):
${pad}    ${p.tile_stores[8 * t.read].format(f"{t.operand}_to + {t.ahead(u)}", f"{t.operand}_carried + {u * t.read}")}
% endfor
${pad}}
</%def>
<%def name="ended(pad)">
## What follows the last step of k in the stage's tile: -0 times 0, which changes no sum.
<% p = w.platform %>
${pad}for (int e = thread; e < ${s.tile_m} * (${s.tile_k} - (int)to_multiply); e += ${s.threads})
${pad}    a_tile[stage * ${rows.size} + ${rows.index(f"e % {s.tile_m}", f"(int)to_multiply + e / {s.tile_m}")}] = -0.0;
${pad}${p.barrier}
</%def>
<%def name="held(buffer, step, pad)">
## Numbers of a unit's operands from this step of the stage's tile on.
<%
    p, high = w.platform, unit.heights
    row = f"a_row_in_warp + i * {unit.rows} + e % {high} * {unit.across}"
%>
${pad}${p.unroll}
${pad}for (int i = 0; i < ${units_m}; ++i) {
${pad}    ${p.unroll}
${pad}    for (int e = 0; e < ${unit.left}; ++e)
${pad}        a_held[${buffer}][i][e] = a_tile[stage * ${rows.size} + ${rows.index(row, f"{step} + lane_step + e / {high} * 4")}];
${pad}}
${pad}${p.unroll}
${pad}for (int j = 0; j < ${units_n}; ++j) {
${pad}    ${p.unroll}
${pad}    for (int e = 0; e < ${unit.right}; ++e)
${pad}        b_held[${buffer}][j][e] = b_tile[stage * ${cols.size} + ${cols.index(f"b_col_in_warp + j * {unit.columns}", f"{step} + lane_step + e * 4")}];
${pad}}
</%def>
<%def name="multiplied(buffer)">\
<%
    high, wide = unit.rows // unit.row_step, unit.beside
    sums = [f"sum[{high} * i + {h}][{wide} * j + {e}]" for h in range(high) for e in range(wide)]
    left = [f"a_held[{buffer}][i][{e}]" for e in range(unit.left)]
    right = [f"b_held[{buffer}][j][{e}]" for e in range(unit.right)]
%>\
${unit.statement(sums, left, right)}\
</%def>
<%def name="kept(pad)">
## One slab's sums are added to those of the slabs before, in memory.
<% p = w.platform %>
${places(pad)}
% for wide in sorted({unit.beside, 1}, reverse=True):
% if wide > 1:
${pad}const int dense = whole && total_col == 1 && (total_at | total_row) % 2 == 0;
${pad}if (dense) {
% elif unit.beside > 1:
${pad}} else {
% else:
${pad}{
% endif
${pad}    ${p.unroll}
${pad}    for (int i = 0; i < ${thread_m}; ++i) {
${pad}        ${p.unroll}
${pad}        for (int j = 0; j < ${thread_n}; j += ${wide}) {
${pad}            ${p.pointer.format(w.scalar)}const at = total0 + total_at + ${rows.offset("i")} * total_row + (${cols.offset("j")}) * total_col;
% if wide == 1:
${pad}            if (row + ${rows.offset("i")} >= m || col + ${cols.offset("j")} >= n)
${pad}                continue;
% if not s.split:
${pad}            if (slab > 0)
${pad}                sum[i][j] += *at;
% endif
${pad}            *at = sum[i][j];
% else:
${pad}            ${w.scalar}2 both;
% if not s.split:
${pad}            if (slab > 0) {
${pad}                both = *(${p.const_pointer.format(w.scalar + "2")})at;
${pad}                sum[i][j] += both.x;
${pad}                sum[i][j + 1] += both.y;
${pad}            }
% endif
${pad}            both.x = sum[i][j];
${pad}            both.y = sum[i][j + 1];
${pad}            *(${p.pointer.format(w.scalar + "2")})at = both;
% endif
% if not s.split:
% for lane in range(wide):
${pad}            if (to_multiply <= 0 && !(${w.fabs(f"sum[i][j + {lane}]")} <= ${w.largest}))
${pad}                not_finite |= (${p.index})1 << (i * ${thread_n} + j + ${lane});
% endfor
% endif
${pad}        }
${pad}    }
% endfor
${pad}}
</%def>
<%def name="places(pad)">\
## Where the thread's first result lies.
<%
    p, long = w.platform, w.platform.index
    batch = f"({long}){p.axis(p.group_id, 1)}" if s.split else "batch"
%>\
${pad}const ${long} row = first_row + ${rows.first}, col = first_col + ${cols.first};
${pad}const ${long} total_at = total_start + ${batch} * total_batch + row * total_row + col * total_col;\
</%def>
