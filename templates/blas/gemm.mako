## C = alpha A B + beta C: tiles in shared memory, results in registers, slabs of k.
## w: Writer, s: the schedule, networks: by role, slab and period: numbers of the definition
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%!
    from portmp.codegen import packed
    from portmp.codegen.packed import COUNT
    from portmp.codegen.packed import WIDEST

    def spaced(s, axis, index):
        """How far a thread's index-th row or column is from its first one in shared memory."""
        threads = s.threads_m if axis == "row" else s.threads_n
        if s.vector == 1:
            return f"{index} * {threads}"
        return f"{index} / {s.vector} * {threads * s.vector} + {index} % {s.vector}"

    def in_tile(s, axis, index):
        """Where it is there."""
        return f"thread_{axis} * {s.vector} + {spaced(s, axis, index)}"

    def first(s, t):
        """The first row or column of a thread in a tile."""
        return f"thread_{t.axis} * {2 * s.vector if t.halved else s.vector}"

    def apart(s, t, index):
        """Rows or columns from there to its index-th."""
        if not t.halved:
            return spaced(s, t.axis, index)
        threads, results = (s.threads_m, s.thread_m) if t.axis == "row" else (s.threads_n, s.thread_n)
        groups = f"{index} / {s.vector} % {results // (2 * s.vector)} * {2 * s.vector * threads}"
        return f"{groups} + {index} / {results // 2} * {s.vector} + {index} % {s.vector}"

    class Tile:
        """How the threads of a block fetch one operand's tile: so many neighbours at a time."""

        def __init__(self, s, operand, axis, extent, length, pitch, across, neighbours, widest):
            self.operand, self.axis, self.extent = operand, axis, extent
            self.pitch, self.size = pitch, s.tile_k * pitch
            self.elements = length * s.tile_k
            self.count = -(-self.elements // s.threads)
            self.partial = self.elements % s.threads != 0
            fast = length if across else s.tile_k
            units, rest = divmod(fast, neighbours)
            fits = not rest and self.elements % (s.threads * neighbours) == 0
            if not fits or s.threads % units and units % s.threads:
                units, neighbours = fast, 1
            self.wide = neighbours
            stored = min(neighbours, widest)
            self.stored = stored if across and pitch % stored == 0 else 1
            # Two stores of a thread: the first ones lie together in half a row, without gaps that
            # would have the same banks, and the second ones in the other half.
            results = s.thread_m if axis == "row" else s.thread_n
            self.halved = (
                1 < self.stored == s.vector == self.wide // 2 and results % self.wide == 0
            )
            self.half = length // 2
            scale = f" * {neighbours}" if neighbours > 1 else ""
            first, second = f"thread % {units}{scale}", f"thread / {units}"
            if units > s.threads:
                first, second = f"thread{scale}", "0"
            self.kk, self.at = (second, first) if across else (first, second)
            # From a thread's first element to its u-th: in k, and along the other index.
            self.steps = []
            for u in range(self.count):
                slow, unit = divmod(u // neighbours * s.threads, units)
                step = (slow, unit * neighbours + u % neighbours)
                self.steps.append(step if across else step[::-1])
            stride = {"a": ("a_col", "a_row"), "b": ("b_row", "b_col")}[operand]
            self.k_stride, self.stride = stride

        def at_step(self, u):
            """The index of a thread's u-th element."""
            dk, d = self.steps[u]
            in_k = f" + {dk} * {self.k_stride}" if dk else ""
            return f"{self.operand}_at" + in_k + (f" + {d} * {self.stride}" if d else "")

        def place(self, u):
            """Where it goes in shared memory, from a stage's begin."""
            dk, d = self.steps[u]
            at = f"{self.operand}_{self.axis}_in_tile"
            if self.halved:
                lane = d % self.wide
                at, d = f"{at} / 2", (d - lane) // 2 + lane // self.stored * self.half
            return f"({self.operand}_kk + {dk}) * {self.pitch} + {at} + {d}"

        def inside(self, u):
            """Whether it lies in the matrix and the slab."""
            dk, d = self.steps[u]
            place = f"first_{self.axis} + {self.operand}_{self.axis}_in_tile + {d}"
            return f"{self.operand}_kk + {dk} < there && {place} < {self.extent}"

    def stays_packed(w, t):
        """Whether a tile's elements stay as they are in memory until they go to shared memory."""
        return t.wide > 1 and not w.plain(t.operand)
%>
<%
    p, long = w.platform, w.platform.index
    state = networks["accumulate"].result
    settle = networks.get("renormalise")
    often = settle is not None and period < s.tile_k
    group = min(max(s.unroll, period) if often else s.unroll, s.tile_k)
    unrolled = p.unrolled_by(s.unroll) if s.unroll < group else p.unroll
    word = 4 if w.scalar == "float" else 8
    side_by_side = {
        t: WIDEST // word if w.plain(t) else COUNT for t in "ab"
    } if s.call.wide and w.memory_vectors else {"a": 1, "b": 1}
    stage = lambda t: f"stage * {t.size} + " if s.stages > 1 else ""
    tiles = (
        Tile(s, "a", "row", "m", s.tile_m, s.pitch_a, s.call.a_order == "m", side_by_side["a"], WIDEST // word),
        Tile(s, "b", "col", "n", s.tile_n, s.pitch_b, s.call.b_order == "n", side_by_side["b"], WIDEST // word),
    )
    align = word * max(s.vector, *(t.stored for t in tiles))
    # Compilers weave barriers, unpacking and stores into the arithmetic of a loop over whole
    # tiles. That of several limbs needs its registers for itself: a branch keeps them apart.
    tail_inside = w.format.limbs > 1
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
% for t in tiles:
% for i in w.limbs:
    ${p.shared} ${w.scalar} ${t.operand}_tile${i}[${t.size * s.stages}] __attribute__((aligned(${align})));
% endfor
% endfor
    const ${long} tiles_n = (n + ${s.tile_n - 1}) / ${s.tile_n};
    const ${long} first_row = ((${long})${p.axis(p.group_id, 0)} / tiles_n) * ${s.tile_m};
    const ${long} first_col = ((${long})${p.axis(p.group_id, 0)} % tiles_n) * ${s.tile_n};
    const int thread = (int)${p.axis(p.local_id, 0)};
% if s.threads_m % 2 == 0:
    /* neighbours by turns in one row and one column: their equal reads of both tiles are one */
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
    const int ${t.operand}_kk = ${t.kk}, ${t.operand}_${t.axis}_in_tile = ${t.at};
    ${long} ${t.operand}_at = ${t.operand}_start + batch * ${t.operand}_batch + (slab + ${t.operand}_kk) * ${t.k_stride} + (first_${t.axis} + ${t.operand}_${t.axis}_in_tile) * ${t.stride};
% endfor
    const int whole = first_row + ${s.tile_m} <= m && first_col + ${s.tile_n} <= n;
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
${fetched_tile("depth")}
${unpacked(tiles)}
${kept(tiles)}
    }
    ${p.barrier}
    for (; ${"done < depth" if tail_inside else f"depth - done >= {s.tile_k}"}; done += ${s.tile_k}) {
        /* fetch the next tile while this one is used; its words are ready before threads wait */
${fetched_tile(f"depth - done - {s.tile_k}")}
% if tail_inside:
        if (depth - done >= ${s.tile_k}) {
${whole_tile(" " * 12)}
        } else {
${tail(" " * 12)}
        }
% else:
${whole_tile(" " * 8)}
% endif
% if settle is not None and not often:
        if (depth - done >= ${s.tile_k} && (done + ${s.tile_k}) % ${period} == 0) {
${settled(" " * 12)}
        }
% endif
${unpacked(tiles)}
% if s.stages > 1:
        stage ^= 1;
% else:
        ${p.barrier}
% endif
${kept(tiles)}
        ${p.barrier}
    }
% if not tail_inside:
${tail(" " * 4)}
% endif
% if s.split:
    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        ${p.unroll}
        for (int j = 0; j < ${s.thread_n}; ++j) {
            const ${w.value} part = ${w.function(networks["finish"])}(sum[i][j]);
            const ${long} row = first_row + ${first(s, tiles[0])} + ${apart(s, tiles[0], "i")};
            const ${long} col = first_col + ${first(s, tiles[1])} + ${apart(s, tiles[1], "j")};
            const ${long} at = total_start + (${long})${p.axis(p.group_id, 1)} * total_batch + row * total_row + col * total_col;
            if (row < m && col < n) {
% for i in w.limbs:
                total${i}[at] = ${w.word_of("part", i)};
% endfor
            }
        }
    }
% else:
    /* slabs add up in memory; the last one ends the elements. A row's loads wait together */
    const ${long} row = first_row + ${first(s, tiles[0])}, col = first_col + ${first(s, tiles[1])};
% for operand in ("total", "c", "out"):
    const ${long} ${operand}_at = ${operand}_start + batch * ${operand}_batch + row * ${operand}_row + col * ${operand}_col;
% endfor
    ${long} not_finite = 0;

    ${p.unroll}
    for (int i = 0; i < ${s.thread_m}; ++i) {
        const int down = ${apart(s, tiles[0], "i")};
        ${w.value} z[${s.thread_n}], before[${s.thread_n}], added[${s.thread_n}];

        if (slab > 0) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; ++j) {
                const int across = ${apart(s, tiles[1], "j")};
                const ${long} at = total_at + down * total_row + across * total_col;
                before[j] = row + down < m && col + across < n ? ${w.pack(f"total{i}[at]" for i in w.limbs)} : ${w.zero()};
            }
        }
        if (slab_end >= k && beta_kind != 0) {
            ${p.unroll}
            for (int j = 0; j < ${s.thread_n}; ++j) {
                const int across = ${apart(s, tiles[1], "j")};
                const ${long} at = c_at + down * c_row + across * c_col;
                added[j] = row + down < m && col + across < n ? ${w.pack(w.limb("c", i, "at") for i in w.limbs)} : ${w.zero()};
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
            const int across = ${apart(s, tiles[1], "j")};
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
    if (not_finite == 0)
        return;
    ${p.unrolled_by(1)}
    for (int e = 0; e < ${s.thread_m * s.thread_n}; ++e) {
        const int i = e / ${s.thread_n}, j = e % ${s.thread_n};
        const int down = ${apart(s, tiles[0], "i")}, across = ${apart(s, tiles[1], "j")};
        const ${long} at = out_at + down * out_row + across * out_col;
        if ((not_finite >> e & 1) == 0)
            continue;
        const ${w.scalar} chain = leading_chain(
            ${w.leading("a", pass_on=True)}, a_start + batch * a_batch + (row + down) * a_row, a_col,
            ${w.leading("b", pass_on=True)}, b_start + batch * b_batch + (col + across) * b_col, b_row, k);
        ${w.value} z = ${w.pack(["chain"] + [w.literal(0)] * (w.format.limbs - 1))};
${scaled(w, networks, "z", w.pack(w.limb("c", i, "c_at + down * c_row + across * c_col") for i in w.limbs), " " * 8)}
% for i in w.limbs:
        ${w.store("out", i, "at", w.word_of("z", i))}
% endfor
    }
% endif
}
<%def name="fetched_tile(left)">
## left: how many steps of k the slab has from the tile on
<% p = w.platform %>
        const int there = ${left} < ${s.tile_k} ? ${left} : ${s.tile_k};
% for t in tiles:
% for i in w.limbs:
% if stays_packed(w, t):
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
${fetched(t, False)}
% endfor
        } else {
% for t in tiles:
${fetched(t, True)}
% endfor
        }
% for t in tiles:
        ${t.operand}_at += ${s.tile_k} * ${t.k_stride};
% endfor
</%def>
<%def name="unpacked(tiles)">
% for t in tiles:
% if stays_packed(w, t):
% for i in w.limbs:
        ${w.scalar} ${t.operand}_word${i}[${t.count}];
% for u in range(t.count):
        ${t.operand}_word${i}[${u}] = ${packed.word(w, t.operand, i, f"{t.operand}_next{i}", u % COUNT, u // COUNT)};
% endfor
% endfor
% endif
% endfor
</%def>
<%def name="fetched(t, guarded)">
<% p = w.platform %>
% for u in range(0, t.count, 1 if guarded and not stays_packed(w, t) else t.wide):
<%
    at, inside = t.at_step(u), t.inside(u)
%>
% for i in w.limbs:
% if stays_packed(w, t):
<%
    apart = [(t.inside(u + e), t.at_step(u + e)) for e in range(COUNT)]
    limb = t.operand, i
    name, group = f"{t.operand}_next{i}", u // COUNT
%>
% for line in packed.gathered(w, *limb, apart, name, group) if guarded else packed.loads(w, *limb, at, name, group):
            ${line}
% endfor
% elif t.wide > 1 and not guarded:
            {
                const ${w.scalar}${t.wide} here = *(${p.const_pointer.format(w.scalar + str(t.wide))})(${t.operand}${i} + ${at});
% for lane in range(t.wide):
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
<%def name="kept(tiles)">
<% p = w.platform %>
% for t in tiles:
% for u in range(0, t.count, t.stored):
<% word = f"{t.operand}_{'word' if stays_packed(w, t) else 'next'}" %>
% if t.partial and u == t.count - 1:
        if (thread < ${t.elements - u * s.threads}) {
% else:
        {
% endif
% for i in w.limbs:
% if t.stored > 1:
            ${w.scalar}${t.stored} here${i};
% for lane in range(t.stored):
            here${i}.${"xyzw"[lane]} = ${word}${i}[${u + lane}];
% endfor
            *(${p.shared_pointer.format(w.scalar + str(t.stored))})(${t.operand}_tile${i} + ${stage(t)}${t.place(u)}) = here${i};
% else:
            ${t.operand}_tile${i}[${stage(t)}${t.place(u)}] = ${word}${i}[${u}];
% endif
% endfor
        }
% endfor
% endfor
</%def>
<%def name="whole_tile(pad)">
<% p = w.platform %>
${pad}${p.unrolled_by(1)}
${pad}for (int kk = 0; kk < ${s.tile_k}; kk += ${group}) {
${pad}    ${unrolled}
${pad}    for (int step = 0; step < ${group}; ++step) {
${multiply_add("(kk + step)", pad + " " * 8)}
% if often:
${pad}        if (step % ${period} == ${period - 1}) {
${settled(pad + " " * 12)}
${pad}        }
% endif
${pad}    }
${pad}}
</%def>
<%def name="tail(pad)">
<% p = w.platform %>
${pad}${p.unrolled_by(1)}
${pad}for (int kk = 0; kk < depth - done; ++kk) {
${multiply_add("kk", pad + " " * 4)}
% if often:
${pad}    if (kk % ${period} == ${period - 1}) {
${settled(pad + " " * 8)}
${pad}    }
% endif
${pad}}
</%def>
<%def name="multiply_add(kk, pad)">
<% p = w.platform %>
${pad}${w.value} b[${s.thread_n}];
${pad}${p.unroll}
${pad}for (int j = 0; j < ${s.thread_n}; ++j) {
${pad}    const int at = ${stage(tiles[1])}${kk} * ${s.pitch_b} + ${in_tile(s, "col", "j")};
${pad}    b[j] = ${w.pack(f"b_tile{i}[at]" for i in w.limbs)};
${pad}}
${pad}${p.unroll}
${pad}for (int i = 0; i < ${s.thread_m}; ++i) {
${pad}    const int at = ${stage(tiles[0])}${kk} * ${s.pitch_a} + ${in_tile(s, "row", "i")};
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
