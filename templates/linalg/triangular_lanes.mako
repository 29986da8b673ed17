## A block of unknowns of triangular systems: ${lanes} threads of a warp have a right-hand side in
## registers, each every ${lanes}th row.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    from itertools import product

    p, long = w.platform, w.platform.index
    fma, div, neg = (w.function(networks[role]) for role in ("fma", "div", "neg"))
    own, tile = most // lanes, threads // lanes
    together = p.warp_barrier or p.barrier
    batch = min(8, most * most // threads)
    pairs = [range(v, min(v + 2, own)) for v in range(0, own, 2)]
%>
<%def name="kept(memory, index, value)">
% for k in w.limbs:
            ${memory}${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
<% there = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
/* a x = b, a lower triangular with n rows, x in b's place; unknowns in ascending order */
${p.kernel.format(threads)} ${head()}
{
% for k in w.limbs:
    ${p.shared} ${w.word} left${k}[${most * (most + 1) // 2}];
    ${p.shared} ${w.word} known${k}[${2 * tile}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} group = ${p.axis(p.group_id, 0)};
    const ${long} side = group % tiles * ${tile} + thread / ${lanes}, entry = group / tiles;
    const int part = thread % ${lanes}, j = thread / ${lanes};
    const ${long} corner = a_start + entry * a_batch;
    const ${long} b_at = b_start + entry * b_batch + side * b_col;
    const int a_by_rows = (a_row < 0 ? -a_row : a_row) < (a_col < 0 ? -a_col : a_col);
    ${w.value} mine[${own}];

    ${p.unroll}
    for (int v = 0; v < ${own}; ++v) {
        const int row = v * ${lanes} + part;
        const ${long} at = b_at + row * b_row;
        mine[v] = ${w.zero()};
        if (row < size && side < columns)
            mine[v] = ${w.element("b", "at")};
    }
## Several elements are read before they are kept; beyond the triangle others are read, of which
## nothing comes.
    for (int e = thread; e < ${most} * size; e += ${batch * threads}) {
        ${w.value} read[${batch}];
        ${p.unroll}
        for (int u = 0; u < ${batch}; ++u) {
            const int at_once = e + u * ${threads};
            const int i = a_by_rows ? at_once % ${most} : at_once / ${most};
            const int column = a_by_rows ? at_once / ${most} : at_once % ${most};
            const int row = i < size ? i : size - 1;
            const ${long} at = corner + row * a_row + (column < row ? column : row) * a_col;
            read[u] = ${w.element("a", "at")};
        }
        ${p.unroll}
        for (int u = 0; u < ${batch}; ++u) {
            const int at_once = e + u * ${threads};
            const int i = a_by_rows ? at_once % ${most} : at_once / ${most};
            const int column = a_by_rows ? at_once / ${most} : at_once % ${most};
            if (column <= i && i < size) {
                const ${w.value} l = read[u], minus = ${neg}(l);
                const int spot = i * (i + 1) / 2 + column;
% for k in w.limbs:
                left${k}[spot] = column < i ? ${w.word_of("minus", k)} : ${w.word_of("l", k)};
% endfor
            }
        }
    }
    ${p.barrier}
## The first of a thread's rows that are not done is always mine[0].
    ${p.unrolled_by(1)}
    for (int done = 0; done < ${own}; ++done) {
        const int first = done * ${lanes} + part;
        ${p.unrolled_by(1)}
        for (int s = 0; s < ${lanes} && done * ${lanes} + s < size; ++s) {
            const int i = done * ${lanes} + s, spot = (s & 1) * ${tile} + j;
            ${w.value} x = mine[0];
            if (!unit) {
                x = ${div}(x, ${there("left", "i * (i + 3) / 2")});
% for k in w.limbs:
% if w.format.planes[k] != w.format.word:
                ${w.word_of("x", k)} = ${w.narrow(k, w.word_of("x", k))};
% endif
% endfor
            }
            if (part == s) {
                mine[0] = x;
${kept("known", "spot", "x")}\
            }
            ${together}
            x = ${there("known", "spot")};
## Pairs of rows do not wait for each other; those beyond the last are of no use. All but the first of a thread's rows are below row i.
% for pair in pairs:
            if (${pair[0]} < ${own} - done) {
% for v in pair:
                const int row${v} = first + ${v * lanes} < size ? first + ${v * lanes} : size - 1;
                const int at${v} = row${v} * (row${v} + 1) / 2 + i;
                const ${w.value} z${v} = ${fma}(${there("left", f"at{v}")}, x, mine[${v}]);
% endfor
% for v, k in product(pair, w.limbs):
<% limb, found = w.word_of(f"mine[{v}]", k), w.narrow(k, w.word_of(f"z{v}", k)) %>\
                ${limb} = ${found if v else f"part > s ? {found} : {limb}"};
% endfor
            }
% endfor
        }
        if (first < size && side < columns) {
            const ${long} at = b_at + first * b_row;
% for k in w.limbs:
            ${w.store("b", k, "at", w.word_of("mine[0]", k))}
% endfor
        }
% for v in range(own - 1):
        mine[${v}] = mine[${v + 1}];
% endfor
    }
}
