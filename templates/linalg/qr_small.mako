## Householder's QR of small matrices, many at once.
##
## A thread has a column, or every ${parts}-th element of it, in registers: what templates of small matrices
## call a row here is a column, and elements along it are rows. ${threads // (rows * parts)} matrices a block of threads.
##
## With two *panels* a launch factors whole matrices of so many: after a panel columns on the right are
## multiplied by its factor of Q, in tiles.
<%! from portmp.definition import halvings %>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="small" file="/linalg/small.mako"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace name="right" file="/linalg/blocks.mako"/>
<%
    p, long = w.platform, w.platform.index
    f = {role: w.function(net) for role, net in networks.items()}
    state = networks["accumulate"].result
    ## Of complex numbers reflections are 1 - v t^-1 v^H.
    against, opposite = (f.get(role, f[role[:3]]) for role in ("div_conj", "neg_conj"))
    conj = lambda z: f"{f['conj']}({z})" if "conj" in f else z
    def length(alpha, rest):
        """The root of |alpha|^2 and a sum of squares."""
        if "length" in f:
            return f"{f['length']}({alpha}, {rest})"
        return f"{f['sqrt']}({f['add']}({f['mul']}({alpha}, {alpha}), {rest}))"
    each, count = rows * parts, columns // parts
    matrices = threads // each
    barrier = p.warp_barrier if within and p.warp_barrier else p.barrier
    element = lambda u: f"part + {u * parts}" if parts > 1 else f"{u}"
    last = lambda u: u * parts + parts - 1
    ## The second panel has fewer rows.
    there = lambda u: f" && {u * parts} < width" if panels > 1 else ""
    ## A thread's lanes of the sums, and the slots of each.
    mine = lanes // parts
    slots = [range(c, count, mine) for c in range(mine)]
    groups = [range(g, min(g + group, count)) for g in range(0, count, group)]
    shares = -(-columns // each)
    ## Threads that share a column on the right.
    abreast = max(each // rows, 1)
%>
<% held = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
<%def name="kept(memory, index, value, pad)">${small.kept(w, memory, index, value, pad)}</%def>
<%def name="put(name, index, value, pad)">
% for k in w.limbs:
${pad}${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
## What lanes *c* and more, *step* apart, come to: pairs are summed as soon as both are known.
<%def name="lane_sum(name, c, distance)">
% if distance == mine:
            ${w.type(state)} ${name}_state = ${w.zero(state)};
% for u in slots[c]:
            if (${last(u)} > k${there(u)}) {
                const ${w.type(state)} z = ${f["accumulate"]}(${name}_state, ${held("next", f"before + {element(u)}")}, own[${u}]);
                ${name}_state = ${element(u)} > k && ${element(u)} < width ? z : ${name}_state;
            }
% endfor
            const ${w.value} ${name} = ${f["finish"]}(${name}_state);
% else:
${lane_sum(name + "a", c, distance * 2)}\
${lane_sum(name + "b", c + distance, distance * 2)}\
            const ${w.value} ${name} = ${f["add"]}(${name}a, ${name}b);
% endif
</%def>
${arithmetic(w, list(networks.values()))}
% if panels > 1:
${leading_chain(w, slab)}\
% endif
/* of matrices of ${columns} rows and ${columns if panels > 1 else rows} columns at most: R, below it the vectors; their triangles t, and where
   asked for the *vectors* as a unit trapezoid */
${p.kernel_of(threads, resident)} ${head()}
{
${small.shape(w, threads, rows, columns, parts)}\
% for k in w.limbs:
    ${p.shared} ${w.word} next${k}[${matrices * columns}];
    ${p.shared} ${w.word} factor${k}[${matrices * columns}];
    ${p.shared} ${w.word} top${k}[${matrices * rows}];
    ${p.shared} ${w.word} square${k}[${matrices}];
% if parts > 1:
    ${p.shared} ${w.word} part_sum${k}[${threads}];
% endif
% endfor
    const int before = matrix * ${columns}, first = matrix * ${rows};
% if panels > 1:
% for k in w.limbs:
    ${p.shared} ${w.word} known${k}[${2 * rows}];
% endfor
    const int count = high < wide ? high : wide, j = self % ${rows}, side = self / ${rows};
    for (int begin = 0; begin < count; begin += ${rows}) {
    const int m = high - begin, n = count - begin < ${rows} ? count - begin : ${rows};
% else:
    const int begin = 0;
% endif
    const ${long} skipped = begin * (a_row + a_col), panel = a_start + skipped;
    const int height = entry < batch ? n : 0, width = m;
${small.read(w, "a", rows, columns, parts, barrier, start="panel")}\
    const ${long} corner = t_start + entry * t_batch + begin * t_row;

    ${small.rolled(w)}
    for (int k = 0; k < n; ++k) {
        if (row == k) {
% for u in range(count):
${kept("next", f"before + {element(u)}", f"own[{u}]", " " * 12)}\
% endfor
        }
        ${barrier}
        ${w.value} own_top = ${w.zero()};
% for u in range(count):
        if (${element(u)} == k)
            own_top = own[${u}];
% endfor
        ${w.value} sum;
        {
${lane_sum("z", 0, 1)}\
            sum = z;
        }
% if parts > 1:
${kept("part_sum", "thread", "sum", " " * 8)}\
        ${barrier}
        {
% for i in range(parts):
            ${w.value} z${i} = ${held("part_sum", f"thread - self + row + {i * rows}")};
% endfor
% for distance in halvings(parts):
% for i in range(distance):
            z${i} = ${f["add"]}(z${i}, z${i + distance});
% endfor
% endfor
            sum = z0;
        }
% endif
## The only chunk is the first lane's of chunks; the others are zero.
        {
            const ${w.value} none = ${w.zero()};
            sum = ${f["add"]}(none, sum);
% for _ in halvings(lanes):
            sum = ${f["add"]}(sum, none);
% endfor
        }
        if (part == k % ${parts}) {
${kept("top", "first + row", "own_top", " " * 12)}\
        }
        if (row == k && part == 0) {
${kept("square", "matrix", "sum", " " * 12)}\
        }
        ${barrier}
        const ${w.value} alpha = ${held("next", "before + k")};
        const ${w.value} size = ${length("alpha", held("square", "matrix"))};
        const int zero = ${w.word_of("size", 0)} <= negligible;
        const ${w.value} minus = ${opposite}(size);
        ${w.value} beta = ${w.word_of("alpha", 0)} < 0 ? size : minus;
        const ${w.value} v = ${f["sub"]}(alpha, beta);
        const ${w.value} above = ${held("top", "first + row")};
        ${w.value} y = above;
        ${w.value} two = row == k ? ${w.first_of(networks["add"].result, 0.5)} : ${w.first_of(networks["add"].result, 2.0)};
        if (!zero) {
            const ${w.value} dividend = row == k ? beta : v, divisor = row == k ? v : beta;
            y = ${f["add"]}(y, ${against}(sum, v));
            two = ${f["div"]}(${opposite}(dividend), divisor);
        }
        if (row <= k && part == 0 && row < height) {
            const ${long} at = corner + row * t_row + k * t_col;
            const ${w.value} z = row == k ? two : ${conj("y")};
${put("t", "at", "z", " " * 12)}\
        }
        const ${w.value} share = ${f["mul"]}(two, y);
        ${w.value} rest = ${f["sub"]}(above, share);
        if (row == k)
            rest = beta;
${small.narrowed(w, "rest", " " * 8)}\
% for i in range(shares):
        {
            const int i = self + ${i * each};
            if (i < ${columns}) {
                ${w.value} z = ${w.zero()};
                if (i > k && !zero)
                    z = ${f["div"]}(${held("next", "before + i")}, v);
${small.narrowed(w, "z", " " * 16)}\
${kept("factor", "before + i", "z", " " * 16)}\
            }
        }
% endfor
        ${barrier}
% for slots_of in groups:
        if (${last(slots_of[-1])} >= k${there(slots_of[0])}) {
% for u in slots_of:
            {
                const ${w.value} l = ${held("factor", f"before + {element(u)}")};
                ${w.value} z = ${f["fma"]}(${f["neg"]}(l), share, own[${u}]);
${small.narrowed(w, "z", " " * 16)}\
                if (row == k)
                    z = l;
                if (${element(u)} == k)
                    z = rest;
                own[${u}] = row >= k && ${element(u)} >= k ? z : own[${u}];
            }
% endfor
        }
% endfor
    }
${small.write(w, "a", rows, columns, parts, barrier, "row", "0", start="panel")}\
    if (vectors && row < height) {
        const ${long} head = v_start + entry * v_batch + (begin + row) * v_col;
        ${w.value} z = ${w.zero()};
% if panels > 1:
        for (int i = part; i < begin; i += ${parts}) {
            const ${long} at = head + i * v_row;
${put("v", "at", "z", " " * 12)}\
        }
% endif
% for u in range(count):
        if (${element(u)} < width) {
            const ${long} at = head + (begin + ${element(u)}) * v_row;
            z = ${element(u)} > row ? own[${u}] : ${w.zero()};
            if (${element(u)} == row)
                z = ${w.first_of(networks["add"].result, 1.0)};
${put("v", "at", "z", " " * 12)}\
        }
% endfor
    }
% if panels > 1:
    ${p.device_barrier}
    const ${long} diagonal = panel + entry * a_batch, vectors_at = v_start + entry * v_batch + begin * (v_row + v_col);
    const ${long} share_at = share_start + entry * share_batch;
    for (int beside = n; begin + beside < wide; beside += ${rows}) {
        const int unknowns = n, right = wide - begin - beside;
<%
    vectors = lambda row, column: f"vectors_at + {row} * v_row + {column} * v_col"
    across = lambda row, column: vectors(column, row)
    triangle = lambda row, column: f"corner + {column} * t_row + {row} * t_col"
    share = lambda row, column: f"share_at + {row} * share_row + {column} * share_col"
    tile = lambda row, column: f"diagonal + {row} * a_col + (beside + {column}) * a_row"
%>\
${right.product(w, networks, abreast, period, "right", "unknowns", "m", "v", across, "a", tile, "share", share, False)}\
${right.system(w, networks, rows, abreast, "right", "t", triangle, "share", share, True)}\
        ${p.device_barrier}
${right.product(w, networks, abreast, period, "right", "m", "unknowns", "v", vectors, "share", share, "a", tile, True)}\
        ${p.device_barrier}
    }
    }
% endif
}
