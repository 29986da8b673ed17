## Householder's QR of small matrices, many at once.
##
## A thread has a column, or every ${parts}-th element of it, in registers: what templates of small matrices
## call a row here is a column, and elements along it are rows. ${threads // (rows * parts)} matrices a block of threads.
<%! from portmp.definition import halvings %>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%namespace name="small" file="/linalg/small.mako"/>
<%
    p, long = w.platform, w.platform.index
    f = {role: w.function(net) for role, net in networks.items()}
    state = networks["accumulate"].result
    each, count = rows * parts, columns // parts
    matrices = threads // each
    barrier = p.warp_barrier if within and p.warp_barrier else p.barrier
    element = lambda u: f"part + {u * parts}" if parts > 1 else f"{u}"
    last = lambda u: u * parts + parts - 1
    ## A thread's lanes of the sums, and the slots of each.
    mine = lanes // parts
    slots = [range(c, count, mine) for c in range(mine)]
    groups = [range(g, min(g + group, count)) for g in range(0, count, group)]
    shares = -(-columns // each)
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
            if (${last(u)} > k) {
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
/* of matrices of ${columns} rows and ${rows} columns at most: R, below it the vectors, and their triangles t */
${p.kernel_of(threads, resident)} qr_small(
    const ${long} batch, const int m, const int n,
${matrix(w, "a")} const int a_turned,
${matrix(w, "out", const=False)} const int out_turned,
${matrix(w, "t", const=False)}\
    const ${w.word} negligible)
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
    const int height = entry < batch ? n : 0, width = m;
    const int before = matrix * ${columns}, first = matrix * ${rows};
${small.read(w, "a", rows, columns, parts, barrier)}\
    const ${long} corner = t_start + entry * t_batch;

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
        const ${w.value} size = ${f["sqrt"]}(${f["add"]}(${f["mul"]}(alpha, alpha), ${held("square", "matrix")}));
        const int zero = ${w.word_of("size", 0)} <= negligible;
        const ${w.value} minus = ${f["neg"]}(size);
        ${w.value} beta = ${w.word_of("alpha", 0)} < 0 ? size : minus;
        const ${w.value} v = ${f["sub"]}(alpha, beta);
        const ${w.value} above = ${held("top", "first + row")};
        ${w.value} y = above;
        ${w.value} two = row == k ? ${w.first_of(networks["add"].result, 0.5)} : ${w.first_of(networks["add"].result, 2.0)};
        if (!zero) {
            const ${w.value} dividend = row == k ? beta : v, divisor = row == k ? v : beta;
            y = ${f["add"]}(y, ${f["div"]}(sum, v));
            two = ${f["div"]}(${f["neg"]}(dividend), divisor);
        }
        if (row <= k && part == 0 && row < height) {
            const ${long} at = corner + row * t_row + k * t_col;
            const ${w.value} z = row == k ? two : y;
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
        if (${last(slots_of[-1])} >= k) {
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
${small.write(w, "out", rows, columns, parts, barrier, "row", "0")}\
}
