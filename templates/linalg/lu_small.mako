## LU with partial pivoting of small matrices, many at once.
##
## A thread has a row, or every ${parts}-th element of it, in registers; ${threads // (rows * parts)} matrices a block of threads.
## Rows stay where they are: place is where a row belongs after the swaps so far, and the last place
## is where it is written. The slots that hold a row turn: the column that is worked on is always the
## first one, and what was worked on comes in at the end, so that one text serves all steps; with one
## part two steps, after which slots turn by two.
##
## With two *panels* a launch factors whole matrices of so many: out first becomes a; a panel's swaps
## reach the other columns, and the first one's products those on the right.
<%! from portmp.definition import halvings %>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="small" file="/linalg/small.mako"/>
<%namespace name="right" file="/linalg/blocks.mako"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace file="/kernels/lanes.mako" import="exchanges"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, neg = (w.function(networks[role]) for role in ("fma", "div", "neg"))
    each = rows * parts
    matrices = threads // each
    barrier = p.warp_barrier if within and p.warp_barrier else p.barrier
    ## Neighbours in a warp find their largest by exchanges, what several warps have by memory; without
    ## exchanges all is by memory, many candidates in two steps.
    exchange = w.platform.exchange.get(w.traits.exchange)
    spans_of = lambda high: high // min(high, 32) if exchange else 8 if high > 16 else 1
    alone = exchange and within and spans_of(rows) == 1
    ## Nothing makes a matrix's threads wait between two steps then: rows of two steps have memory.
    stride = columns + 1
    tops = 2 if alone else 1
    ## Rows and parts of the panels: the second one has as many rows as columns.
    cuts = [(rows, parts), (columns, max(each // columns, 1))][:panels]
    ## Threads that share a column beside a panel.
    abreast = max(each // columns, 1)
    target = lambda row, column: f"corner + ({row}) * out_row + ({column}) * out_col"
    moved = lambda top, left: lambda row, column: target(f"{top} + {row}", f"{left} + {column}")
%>
## The largest of some sizes, the first of equals, and where it is; names end with *end*.
<%def name="largest(sizes, places, end, pad)">
<%
    found = [(size, place) for size, place in zip(sizes, places)]
    level = 0
%>\
% while len(found) > 1:
<%
    level += 1
    pairs, found = [(found[i], found[i + 1]) for i in range(0, len(found), 2)], []
%>\
% for i, ((a, at), (b, there)) in enumerate(pairs):
<% name = f"{level}_{i}{end}" %>\
${pad}const int later${name} = ${b} > ${a};
${pad}const ${w.scalar} size${name} = later${name} ? ${b} : ${a};
${pad}const int place${name} = later${name} ? ${there} : ${at};
<% found.append((f"size{name}", f"place{name}")) %>\
% endfor
% endwhile
${pad}const ${w.scalar} largest${end} = ${found[0][0]};
${pad}const int spot${end} = ${found[0][1]};
</%def>
## What a row has to offer for a column's pivot: nothing where its place is above.
<%def name="candidate(size, column, t, pad)">
${pad}const ${w.scalar} mine = ${w.size(lambda k: w.word_of(f"own[{t}]", k))};
${pad}const ${w.scalar} ${size} = row >= height || place < ${column} ? -2 : mine == mine ? mine : -1;
</%def>
<%def name="search(column, t, pad)">
${pad}{
${candidate("size", column, t, pad + "    ")}\
${pad}    largest = size;
${pad}    spot = place;
% for distance in halvings(lanes):
${pad}    {
${pad}        const ${w.scalar} other = exchange_${w.scalar}(largest, thread ^ ${distance}, thread);
${pad}        const int there = exchange(spot, thread ^ ${distance}, thread);
${pad}        const int better = other > largest || (other == largest && there < spot);
${pad}        largest = better ? other : largest;
${pad}        spot = better ? there : spot;
${pad}    }
% endfor
${pad}}
</%def>
<%
    element = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs)
    ## Limbs are neighbours: they are read and written at once.
    upper = lambda spot: w.pack(f"top[{w.format.words} * ({spot}) + {k}]" for k in w.limbs)
%>
## Step begun + t, whose column is slot t; *turn*: whose part of a row that is, or with one part t.
<%def name="step(t, turn)">
        ${f"if (begun + {t} < steps) " if t else ""}{
        const int k = begun + ${t};
        const int ${"" if split == 1 else f"turn = k % {split}, "}live = width - k + ${turn};
        const int above = ${f"(k % 2 * {matrices} + matrix)" if alone else "matrix"} * ${stride};
% if exchange:
        ${w.scalar} largest = -3;
        int spot = 0;
## A part's rows are whole warps': others need not search.
        ${"if (part == turn)" if apart else ""}
${search("k", t, " " * 8)}\
% else:
${candidate("size", "k", t, " " * 8)}\
% endif
% if exchange:
% if alone and split > 1:
        spot = exchange(spot, thread - self + ${turn} * ${high}, thread);
        largest = exchange_${w.scalar}(largest, thread - self + ${turn} * ${high}, thread);
% elif not alone:
        if (${"part == turn && " if split > 1 else ""}row % ${lanes} == 0) {
            best_sizes[matrix * ${spans} + row / ${lanes}] = largest;
            best_places[matrix * ${spans} + row / ${lanes}] = spot;
        }
        ${barrier}
        largest = best_sizes[matrix * ${spans}];
        spot = best_places[matrix * ${spans}];
% for i in range(1, spans):
        {
            const ${w.scalar} other = best_sizes[matrix * ${spans} + ${i}];
            const int there = best_places[matrix * ${spans} + ${i}];
            const int better = other > largest || (other == largest && there < spot);
            largest = better ? other : largest;
            spot = better ? there : spot;
        }
% endfor
% endif
% else:
        ${"if (part == turn)" if split > 1 else ""}
            sizes[matrix * ${high + 1} + place] = size;
        ${barrier}
% if spans > 1:
        if (self < ${spans}) {
            const int from = matrix * ${high + 1} + self * ${span};
${largest([f"sizes[from + {i}]" for i in range(span)], [str(i) for i in range(span)], "_here", " " * 12)}\
            best_sizes[matrix * ${spans} + self] = largest_here;
            best_places[matrix * ${spans} + self] = self * ${span} + spot_here;
        }
        ${barrier}
${largest([f"best_sizes[matrix * {spans} + {i}]" for i in range(spans)], [f"best_places[matrix * {spans} + {i}]" for i in range(spans)], "", " " * 8)}\
% else:
${largest([f"sizes[matrix * {high + 1} + {i}]" for i in range(high)], [str(i) for i in range(high)], "", " " * 8)}\
% endif
% endif
        if (place == spot) {
% for slots in groups:
            if (${slots[0] * split} < live) {
% for u in slots:
% for k in w.limbs if u >= t else ():
                top[${w.format.words} * (above + ${slot(u)}) + ${k}] = ${w.word_of(f"own[{u}]", k)};
% endfor
% endfor
            }
% endfor
        }
        place = place == spot ? k : place == k ? spot : place;
        pivot = row == k ? spot : pivot;
        none = none == 0 && !(largest > 0) ? origin + k + 1 : none;
        ${barrier}
        const ${w.value} divisor = ${upper(f"above + {turn}")};
        ${w.value} l = own[${t}];
% if split > 1:
        if (part == turn) {
% endif
            if (place > k && ${w.nonzero("divisor")})
                l = ${div}(l, divisor);
${small.narrowed(w, "l", " " * 12)}\
% if split > 1:
            own[${t}] = l;
            const ${w.value} minus = ${neg}(l);
${small.kept(w, "factor", "first + row", "minus", " " * 12)}\
        }
        ${barrier}
        const ${w.value} minus = ${element("factor", "first + row")};
% else:
        const ${w.value} minus = ${neg}(l);
% endif
        const int active = place > k;
${small.updated(w, groups, slot, split, fma, lambda u: upper(f"above + {slot(u)}"), t)}\
% if split == 1:
        own[${t}] = l;
% endif
        }
</%def>
${arithmetic(w, list(networks.values()))}
${exchanges(w)}\
% if panels > 1:
${leading_chain(w, slab)}\
% endif
/* of matrices of ${rows} rows and ${rows if panels > 1 else columns} columns at most; pivots: from *origin* on, of pivot_count a matrix */
${p.kernel_of(threads, resident)} ${head()}
{
${small.shape(w, threads, rows, columns, parts)}\
% if not exchange:
    ${p.shared} ${w.scalar} sizes[${matrices * (rows + 1)}];
% endif
% if spans_of(rows) > 1 or (exchange and not alone):
    ${p.shared} ${w.scalar} best_sizes[${matrices * spans_of(rows)}];
    ${p.shared} int best_places[${matrices * spans_of(rows)}];
% endif
    ${p.shared} ${w.word} top[${w.format.words * matrices * stride * tops}];
% if parts > 1:
% for k in w.limbs:
    ${p.shared} ${w.word} factor${k}[${matrices * rows}];
% endfor
% endif
    const int first = matrix * ${rows};
% if panels > 1:
% for k in w.limbs:
    ${p.shared} ${w.word} known${k}[${2 * columns}];
% endfor
    ${p.shared} int spots[${rows}];
    const int j = self % ${columns}, side = self / ${columns};
    const ${long} corner = out_start + entry * out_batch, came = (slot + entry) * order_count;
    for (int e = self; e < ${rows * rows}; e += ${each}) {
        const int i = a_turned ? e % ${rows} : e / ${rows}, column = a_turned ? e / ${rows} : e % ${rows};
        const ${long} from = a_start + entry * a_batch + i * a_row + column * a_col, to = ${target("i", "column")};
        if (i < m && column < n) {
            const ${w.value} z = ${w.element("a", "from")};
% for k in w.limbs:
            ${w.store("out", k, "to", w.word_of("z", k))}
% endfor
        }
    }
    ${p.device_barrier}
% endif
% for panel, cut in enumerate(cuts):
<%
    high, split = cut
    count = columns // split
    lanes, spans = min(high, 32), spans_of(high)
    span = high // spans
    apart = split > 1 and high % max(w.traits.warp_size, lanes) == 0
    ahead = 2 if split == 1 else 1
    slot = lambda u: f"part + {u * split}" if split > 1 else f"{u}"
    groups = [range(g, min(g + group, count)) for g in range(0, count, group)]
    begin, source, start = panel * columns, "a", None
    if panels > 1:
        source, start = "out", f"out_start + {begin} * (out_row + out_col)"
%>\
% if panels > 1:
    {
    const int row = self % ${high}, part = self / ${high}, origin = start + ${begin}, height = m - ${begin};
    const int width = ${"n - " if panel else ""}${columns}, steps = ${f"count - {columns}" if panel else columns};
% else:
    const int height = entry < batch ? m : 0;
% endif
    int place = row, pivot = 0, none = 0;
${small.read(w, source, high, columns, split, barrier, start=start)}\

    for (int begun = 0; begun < steps; begun += ${ahead}) {
% for t in range(ahead):
${step(t, f"{t}" if split == 1 else "turn")}\
% endfor
% if split == 1:
        const ${w.value} ${", ".join(f"done{t} = own[{t}]" for t in range(ahead))};
${small.turned(count, [f"done{t}" for t in range(ahead)], " " * 8)}\
% else:
        if (begun % ${split} == ${split - 1} || begun == steps - 1) {
            const ${w.value} done = own[0];
${small.turned(count, ["done"], " " * 12)}\
        }
% endif
    }
    if (row < height && part == 0) {
        if (row < steps)
            pivots[entry * pivot_count + origin + row] = origin + pivot;
% if panels == 1:
        if (row < place_count)
            places[(slot + entry) * place_count + row] = place;
        if (place < order_count)
            order[(slot + entry) * order_count + place] = row;
% endif
    }
    if (self == 0 && height > 0 && (origin == 0 || (none != 0 && singular[entry] == 0)))
        singular[entry] = none;
    const int turns = ${f"(steps + {ahead - 1}) / {ahead} * {ahead}" if split == 1 else f"(steps + {split - 1}) / {split}"};
${small.write(w, "out", high, columns, split, barrier, "place", "turns", start=start)}\
% if panels > 1:
${swaps(begin, high)}\
    }
% endif
% if panel < panels - 1:
    {
        const int unknowns = ${columns}, below = m - ${columns}, beside = n - ${columns};
<% on_top, on_left, rest = (moved(r, c) for r, c in ((0, columns), (columns, 0), (columns, columns))) %>\
${right.system(w, networks, columns, abreast, "beside", "out", moved(0, 0), "out", on_top, False)}\
        ${p.device_barrier}
${right.product(w, networks, abreast, period, "beside", "below", "unknowns", "out", on_left, "out", on_top, "out", rest, True)}\
        ${p.device_barrier}
    }
% endif
% endfor
}
## Rows go to their places in the columns of the other panel, and in the order.
<%def name="swaps(begin, high)">
<% other = 0 if begin else columns %>\
        const int before = row < height ? ${f"order[came + {begin} + row]" if begin else "row"} : 0;
        const int there = j < ${columns if begin else f"n - {columns}"};
        if (part == 0)
            spots[row] = place;
        ${p.device_barrier}
        if (row < height && part == 0)
            order[came + ${begin} + place] = before;
% for k in w.limbs:
        {
            ${w.word} held[${high // abreast}];
% for u in range(high // abreast):
            if (side + ${u * abreast} < height && there) {
                const ${long} at = ${target(f"{begin} + side + {u * abreast}", f"{other} + j")};
                held[${u}] = ${w.limb("out", k, "at")};
            }
% endfor
            ${p.device_barrier}
% for u in range(high // abreast):
            if (side + ${u * abreast} < height && there) {
                const ${long} at = ${target(f"{begin} + spots[side + {u * abreast}]", f"{other} + j")};
                ${w.store("out", k, "at", f"held[{u}]")}
            }
% endfor
        }
% endfor
        ${p.device_barrier}
</%def>
