## C = alpha A B + beta C: tiles in shared memory, results in registers, slabs of k.
## w: Writer, s: the schedule, layout: its tiles, networks: by role, slab and period: numbers of the
## definition
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%!
    import math

    from portmp.codegen import packed
    from portmp.codegen.packed import COUNT, WIDEST
    from portmp.formats.encodings import SIZES
%>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    often = settle is not None and period < s.tile_k
    group = min(max(s.unroll, period) if often else s.unroll, s.tile_k)
    unrolled = p.unrolled_by(s.unroll) if s.unroll < group else p.unroll
    rows, cols = tiles = layout.tiles(w)
    # Compilers weave barriers, unpacking and stores into the arithmetic of a loop over whole
    # tiles. That of several limbs needs its registers for itself: a branch keeps them apart.
    tail_inside = w.format.limbs - w.format.bounded > 1
    # Slabs of several limbs take so long that their ends do not show.
    width = 1 if tail_inside or not w.memory_vectors else math.gcd(s.vector, 8 * WIDEST // SIZES[w.format.word])
    stored_as_words = all(one.plain for one in w.storage("out").encodings)
%>
${arithmetic(w, list(networks.values()))}
% if not s.split:
${leading_chain(w, slab)}
% endif
/* a block computes a ${s.tile_m} x ${s.tile_n} tile of C in steps of ${s.tile_k}; a thread ${s.thread_m} x ${s.thread_n} results */
${p.kernel_of(s.threads, s.blocks)} ${head()}
{
% for t in tiles:
% for i in w.held_limbs(t.operand):
    ${p.shared} ${w.scalar} ${t.operand}_tile${i}[${t.size * s.stages}] __attribute__((aligned(${layout.aligned(w)})));
% endfor
% endfor
${places()}\
% if s.stages > 1:
    int stage = 0;
% endif
    ${w.type(state)} sum[${s.thread_m}][${s.thread_n}];

    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j)
            sum[i][j] = ${w.zero(state)};
    }
    const int depth = (int)(slab_end - slab);
    int done = 0;
    {
${fetched_tile("depth")}\
${unpacked(tiles)}\
${kept(tiles)}\
    }
    ${p.barrier}
    for (; ${"done < depth" if tail_inside else f"depth - done >= {s.tile_k}"}; done += ${s.tile_k}) {
        /* fetch the next tile while this one is used; its words are ready before threads wait */
${fetched_tile(f"depth - done - {s.tile_k}")}\
% if tail_inside:
        if (depth - done >= ${s.tile_k}) {
${whole_tile(" " * 12)}\
        } else {
${tail(" " * 12)}\
        }
% else:
${whole_tile(" " * 8)}\
% endif
% if settle is not None and not often:
        if (depth - done >= ${s.tile_k} && (done + ${s.tile_k}) % ${period} == 0) {
${settled(" " * 12)}\
        }
% endif
${unpacked(tiles)}\
% if s.stages > 1:
        stage ^= 1;
% else:
        ${p.barrier}
% endif
${kept(tiles)}\
        ${p.barrier}
    }
% if not tail_inside:
${tail(" " * 4)}\
% endif
% if s.split:
${slabs_kept()}\
% else:
${ended()}\
% endif
}
<%def name="places()">\
## where a thread's results are, and what it fetches first of each tile
<% p, long = w.platform, w.platform.index %>\
    const ${long} tiles_n = (n + ${s.tile_n - 1}) / ${s.tile_n};
    const ${long} first_row = ((${long})${p.axis(p.group_id, 0)} / tiles_n) * ${s.tile_m};
    const ${long} first_col = ((${long})${p.axis(p.group_id, 0)} % tiles_n) * ${s.tile_n};
    const int thread = (int)${p.axis(p.local_id, 0)};
% if s.threads_m % 2 == 0:
    /* of four neighbours two share each row and two each column, so that their reads are broadcasts */
    const int thread_row = thread / ${2 * s.threads_n} * 2 + thread % 2;
    const int thread_col = thread / 2 % ${s.threads_n};
% else:
    const int thread_row = thread / ${s.threads_n};
    const int thread_col = thread % ${s.threads_n};
% endif
% if s.split:
    const ${long} slab_count = (k + ${slab - 1}) / ${slab};
    const ${long} batch = (${long})${p.axis(p.group_id, 1)} / slab_count;
    const ${long} slab = ((${long})${p.axis(p.group_id, 1)} % slab_count) * ${slab};
% else:
    const ${long} batch = (${long})${p.axis(p.group_id, 1)};
% endif
    const ${long} slab_end = slab + ${slab} < k ? slab + ${slab} : k;
    /* what this thread fetches of a tile begins here */
% for t in tiles:
    const int ${t.operand}_kk = ${t.begin[0]}, ${t.operand}_${t.axis.name}_in_tile = ${t.begin[1]};
    ${long} ${t.operand}_at = ${t.operand}_start + batch * ${t.operand}_batch + (slab + ${t.operand}_kk) * ${t.strides[0]} + (first_${t.axis.name} + ${t.operand}_${t.axis.name}_in_tile) * ${t.strides[1]};
% endfor
    const int whole = first_row + ${s.tile_m} <= m && first_col + ${s.tile_n} <= n;
</%def>
<%def name="slabs_kept()">\
## sums of slabs that another kernel adds
<% p, long = w.platform, w.platform.index %>\
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            const ${w.value} part = ${w.function(networks["finish"])}(sum[i][j]);
            const ${long} row = first_row + ${rows.first} + ${rows.offset("i")};
            const ${long} col = first_col + ${cols.first} + ${cols.offset("j")};
            const ${long} at = total_start + (${long})${p.axis(p.group_id, 1)} * total_batch + row * total_row + col * total_col;
            if (row < m && col < n) {
% for i in w.limbs:
                total${i}[at] = ${w.word_of("part", i)};
% endfor
            }
        }
    }
</%def>
<%def name="ended()">\
## slabs are added to those in memory; the last one ends the elements
<% p, long = w.platform, w.platform.index %>\
    /* slabs add up in memory; the last one ends the elements. A row's loads wait together */
    const ${long} row = first_row + ${rows.first}, col = first_col + ${cols.first};
% for operand in ("total", "c", "out"):
    const ${long} ${operand}_at = ${operand}_start + batch * ${operand}_batch + row * ${operand}_row + col * ${operand}_col;
% endfor
    ${long} not_finite = 0;

% if width > 1:
${neighbours_at_once()}\
% endif
${one_by_one()}\
% if width > 1:
    }
% endif
${made_again()}\
</%def>
<%def name="neighbours_at_once()">\
## dense results; what follows in braces does the others
<% p, long = w.platform, w.platform.index %>\
    /* whole tiles of dense results: neighbours at once, by code that lies together */
    const int last = slab_end >= k;
    const ${long} to = last ? out_at : total_at, to_row = last ? out_row : total_row;
    if (whole && total_col == 1 && (total_at | total_row) % ${width} == 0${"" if stored_as_words else " && !last"}
            && (!last || (out_col == 1 && (out_at | out_row) % ${width} == 0 && alpha_is_one && beta_kind == 0))) {
% for i in w.limbs:
        ${p.pointer.format(w.scalar)}to${i} = ${f"last ? out{i} : total{i}" if stored_as_words else f"total{i}"};
% endfor
        ${p.unroll}
        for (int i = 0; i < ${s.thread_m}; ++i) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; j += ${width}) {
                const int down = ${rows.offset("i")}, across = ${cols.offset("j")};
                ${w.value} ${", ".join(f"z{lane}" for lane in range(width))};
% for lane in range(width):
                z${lane} = ${w.function(networks["finish"])}(sum[i][(j + ${lane})]);
% endfor
                if (slab > 0) {
% for i in w.limbs:
                    const ${w.scalar}${width} before${i} = *(${p.const_pointer.format(f"{w.scalar}{width}")})(total${i} + total_at + down * total_row + across);
% endfor
% for lane, part in enumerate("xyzw"[:width]):
                    z${lane} = ${w.function(networks["add"])}(${w.pack(f"before{i}.{part}" for i in w.limbs)}, z${lane});
% endfor
                }
% for lane in range(width):
                if (last && !(${w.fabs(w.word_of(f"z{lane}", 0))} <= ${w.largest}))
                    not_finite |= (${long})1 << (i * ${s.thread_n} + j + ${lane});
% endfor
% for i in w.limbs:
                {
                    ${w.scalar}${width} here;
% for lane, part in enumerate("xyzw"[:width]):
                    here.${part} = ${w.word_of(f"z{lane}", i)};
% endfor
                    *(${p.pointer.format(f"{w.scalar}{width}")})(to${i} + to + down * to_row + across) = here;
                }
% endfor
            }
        }
    } else {
</%def>
<%def name="one_by_one()">\
## results of any strides
<% p, long = w.platform, w.platform.index %>\
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        const int down = ${rows.offset("i")};
        ${w.value} z[${s.thread_n}], before[${s.thread_n}], added[${s.thread_n}];

        if (slab > 0) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; ++j) {
                const int across = ${cols.offset("j")};
                const ${long} at = total_at + down * total_row + across * total_col;
                before[j] = row + down < m && col + across < n ? ${w.pack(f"total{i}[at]" for i in w.limbs)} : ${w.zero()};
            }
        }
        if (slab_end >= k && beta_kind != 0) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; ++j) {
                const int across = ${cols.offset("j")};
                const ${long} at = c_at + down * c_row + across * c_col;
                added[j] = row + down < m && col + across < n ? ${w.element("c", "at")} : ${w.zero()};
            }
        }
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            z[j] = ${w.function(networks["finish"])}(sum[i][j]);
            if (slab > 0)
                z[j] = ${w.function(networks["add"])}(before[j], z[j]);
        }
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            const int across = ${cols.offset("j")};
            if (row + down >= m || col + across >= n)
                continue;
            if (slab_end < k) {
                const ${long} at = total_at + down * total_row + across * total_col;
% for i in w.limbs:
                total${i}[at] = ${w.word_of("z[j]", i)};
% endfor
            } else if (${w.fabs(w.word_of("z[j]", 0))} <= ${w.largest}) {
                const ${long} at = out_at + down * out_row + across * out_col;
${scaled(w, networks, "z[j]", "added[j]", " " * 16)}
% for i in w.limbs:
                ${w.store("out", i, "at", w.word_of("z[j]", i))}
% endfor
            } else {
                not_finite |= (${long})1 << (i * ${s.thread_n} + j);
            }
        }
    }
</%def>
<%def name="made_again()">\
## elements that are not finite, by leading limbs
<% p, long = w.platform, w.platform.index %>\
    if (not_finite == 0)
        return;
    ${p.unrolled_by(1)}
    for (int e = 0; e < ${s.thread_m * s.thread_n}; ++e) {
        const int i = e / ${s.thread_n}, j = e % ${s.thread_n};
        const int down = ${rows.offset("i")}, across = ${cols.offset("j")};
        const ${long} at = out_at + down * out_row + across * out_col;
        if ((not_finite >> e & 1) == 0)
            continue;
        const ${w.scalar} chain = leading_chain(
            ${w.leading("a", pass_on=True)}, a_start + batch * a_batch + (row + down) * a_row, a_col,
            ${w.leading("b", pass_on=True)}, b_start + batch * b_batch + (col + across) * b_col, b_row, k);
        ${w.value} z = ${w.alone("chain")};
${scaled(w, networks, "z", w.element("c", "c_at + down * c_row + across * c_col"), " " * 8)}
% for i in w.limbs:
        ${w.store("out", i, "at", w.word_of("z", i))}
% endfor
    }
</%def>
<%def name="fetched_tile(left)">\
## left: how many steps of k the slab has from the tile on
<% p = w.platform %>\
        const int there = ${left} < ${s.tile_k} ? ${left} : ${s.tile_k};
% for t in tiles:
% for i in w.held_limbs(t.operand):
% if t.stays_packed:
% for line in packed.declared(w, t.operand, i, f"{t.operand}_next{i}", t.count // COUNT):
        ${line}
% endfor
% else:
        ${w.scalar} ${t.operand}_next${i}[${t.count}];
% endif
% endfor
% endfor
        if (whole && there == ${s.tile_k}) {
% for t in tiles:
${fetched(t, False)}\
% endfor
        } else {
% for t in tiles:
${fetched(t, True)}\
% endfor
        }
% for t in tiles:
        ${t.operand}_at += ${s.tile_k} * ${t.strides[0]};
% endfor
</%def>
<%def name="unpacked(tiles)">\
% for t in tiles:
% if t.stays_packed:
% for i in w.held_limbs(t.operand):
        ${w.scalar} ${t.operand}_word${i}[${t.count}];
% for u in range(t.count):
        ${t.operand}_word${i}[${u}] = ${packed.word(w, t.operand, i, f"{t.operand}_next{i}", u % COUNT, u // COUNT)};
% endfor
% endfor
% endif
% endfor
</%def>
<%def name="fetched(t, guarded)">\
<% p = w.platform %>\
% for u in range(0, t.count, 1 if guarded and not t.stays_packed else t.read):
<% at, inside = t.at_step(u), t.inside(u) %>\
% for i in w.held_limbs(t.operand):
% if t.stays_packed:
<%
    each = [(t.inside(u + e), t.at_step(u + e)) for e in range(COUNT)]
    limb = t.operand, i
    name, group = f"{t.operand}_next{i}", u // COUNT
%>\
% for line in packed.gathered(w, *limb, each, name, group) if guarded else packed.loads(w, *limb, at, name, group):
            ${line}
% endfor
% elif t.read > 1 and not guarded:
            {
                const ${w.scalar}${t.read} here = *(${p.const_pointer.format(w.scalar + str(t.read))})(${t.operand}${i} + ${at});
% for lane in range(t.read):
                ${t.operand}_next${i}[${u + lane}] = here.${"xyzw"[lane]};
% endfor
            }
% elif guarded:
            ${t.operand}_next${i}[${u}] = ${inside} ? ${w.limb(t.operand, i, at)} : ${w.literal(0)};
% else:
            ${t.operand}_next${i}[${u}] = ${f"thread + {u * s.threads} >= {t.elements} ? {w.literal(0)} : " if t.partial and u == t.count - 1 else ""}${w.limb(t.operand, i, at)};
% endif
% endfor
% endfor
</%def>
<%def name="kept(tiles)">\
<% p = w.platform %>\
% for t in tiles:
% for u in range(0, t.count, t.stored):
<%
    word = f"{t.operand}_{'word' if t.stays_packed else 'next'}"
    some = t.partial and u == t.count - 1
    pad = " " * (12 if some or t.stored > 1 else 8)
%>\
% if some:
        if (thread < ${t.elements - u * s.threads}) {
% elif t.stored > 1:
        {
% endif
% for i in w.held_limbs(t.operand):
% if t.stored > 1:
            ${w.scalar}${t.stored} here${i};
% for lane in range(t.stored):
            here${i}.${"xyzw"[lane]} = ${word}${i}[${u + lane}];
% endfor
            *(${p.shared_pointer.format(w.scalar + str(t.stored))})(${t.operand}_tile${i} + ${t.stage}${t.place(u)}) = here${i};
% else:
${pad}${t.operand}_tile${i}[${t.stage}${t.place(u)}] = ${word}${i}[${u}];
% endif
% endfor
% if some or t.stored > 1:
        }
% endif
% endfor
% endfor
</%def>
<%def name="whole_tile(pad)">\
<% p = w.platform %>\
${pad}${p.unrolled_by(1)}
${pad}for (int kk = 0; kk < ${s.tile_k}; kk += ${group}) {
${pad}    ${unrolled}
${pad}    for (int step = 0; step < ${group}; ++step) {
${multiply_add("(kk + step)", pad + " " * 8)}\
% if often:
${pad}        if (step % ${period} == ${period - 1}) {
${settled(pad + " " * 12)}\
${pad}        }
% endif
${pad}    }
${pad}}
</%def>
<%def name="tail(pad)">\
<% p = w.platform %>\
${pad}${p.unrolled_by(1)}
${pad}for (int kk = 0; kk < depth - done; ++kk) {
${multiply_add("kk", pad + " " * 4)}\
% if often:
${pad}    if (kk % ${period} == ${period - 1}) {
${settled(pad + " " * 8)}\
${pad}    }
% endif
${pad}}
</%def>
<%def name="multiply_add(kk, pad)">\
<% p = w.platform %>\
${pad}${w.value} b[${s.thread_n}];
${pad}${p.unroll}
${pad}for (int j = 0; j < ${s.thread_n}; ++j) {
${pad}    const int at = ${cols.stage}${kk} * ${s.pitch_b} + ${cols.axis.in_tile("j")};
${pad}    b[j] = ${w.pack(f"b_tile{i}[at]" if i in w.held_limbs("b") else w.literal(0) for i in w.limbs)};
${pad}}
${pad}${p.unroll}
${pad}for (int i = 0; i < ${s.thread_m}; ++i) {
${pad}    const int at = ${rows.stage}${kk} * ${s.pitch_a} + ${rows.axis.in_tile("i")};
${pad}    const ${w.value} a = ${w.pack(f"a_tile{i}[at]" if i in w.held_limbs("a") else w.literal(0) for i in w.limbs)};
${pad}    ${p.unroll}
${pad}    for (int j = 0; j < ${s.thread_n}; ++j)
${pad}        sum[i][j] = ${w.function(networks["accumulate"])}(sum[i][j], a, b[j]);
${pad}}
</%def>
<%def name="settled(pad)">\
<% p = w.platform %>\
${pad}${p.unroll}
${pad}for (int i = 0; i < ${s.thread_m}; ++i) {
${pad}    ${p.unroll}
${pad}    for (int j = 0; j < ${s.thread_n}; ++j)
${pad}        sum[i][j] = ${w.function(networks["renormalise"])}(sum[i][j]);
${pad}}
</%def>
