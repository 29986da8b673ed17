## Columns of Cholesky's factor, as many as a block has: the block on the diagonal, by a team of
## threads in each block of threads, and rows below it, ${lanes} threads a row with its elements in registers.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, neg, sqrt = (w.function(networks[role]) for role in ("fma", "div", "neg", "sqrt"))
    ## Of complex numbers the first factor is a conjugate there, else the second one.
    of_rows = w.function(networks["below"])
    ## A warp that works on a column does nothing else.
    crew = max(most, w.traits.warp_size)
    own, size_of = most // lanes, most * (most + 1) // 2
    threads = team + lanes * rows
    rounded = [k for k in w.limbs if w.format.planes[k] != w.format.word]
%>
<% there = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
## Where element (i, j) is: columns from the last to the first, each from the diagonal down. So what
## stands behind a column comes before it.
<% place = lambda i, j: f"({most - 1} - ({j})) * ({most} - ({j})) / 2 + ({i}) - ({j})" %>
<%def name="keep(memory, index, value)">
% for k in w.limbs:
                ${memory}${k}[${index}] = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
## A value as memory would give it back.
<%def name="stored(value)">
% for k in rounded:
                ${w.word_of(value, k)} = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
${arithmetic(w, list(networks.values()))}
/* out: the factor of a, n rows; b: rows below it, in place; failed: the first order whose pivot is not positive */
${p.kernel.format(threads)} ${head()}
{
% for k in w.limbs:
    ${p.shared} ${w.word} held${k}[${size_of}], roots${k}[${most}], known${k}[${2 * rows}];
% endfor
    ${p.shared} int spots[${size_of}];
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} group = ${p.axis(p.group_id, 0)};
    const ${long} entry = group / tiles, tile = group % tiles;
    const int worker = thread - ${team}, part = (worker + ${team}) % ${lanes}, mine_at = worker < 0 ? 0 : worker / ${lanes};
    const ${long} side = tile * ${rows} + mine_at;
    const int working = worker >= 0 && side < below;
    const ${long} a_at = a_start + entry * a_batch, b_at = b_start + entry * b_batch + side * b_row;
    ${w.value} mine[${own}], minus = ${w.zero()};

    ${p.unroll}
    for (int v = 0; v < ${own}; ++v) {
        const int column = v * ${lanes} + part;
        const ${long} at = b_at + column * b_col;
        mine[v] = ${w.zero()};
        if (working && column < size)
            mine[v] = ${w.element("b", "at")};
    }
    for (int e = thread; e < ${most * most}; e += ${threads}) {
        const int i = e / ${most}, j = e % ${most};
        if (j <= i) {
            const int row = i < size ? i : size - 1, column = j < row ? j : row, spot = ${place("i", "j")};
            const ${long} at = a_at + row * a_row + column * a_col;
            const ${w.value} read = ${w.element("a", "at")};
${keep("held", "spot", "read")}\
            spots[spot] = e;
        }
    }
    ${p.barrier}
## Step k ends column k of the block: its last product, pivot, root and quotients, by a thread a row.
## Meanwhile others take the column before from all columns behind; and rows below lose the product
## of the column before that one, whose quotients they have, and find those of the one before. So a
## step waits once.
    ${p.unrolled_by(1)}
    for (int k = 0; k < size + 2; ++k) {
        if (thread < ${crew}) {
            if (thread < ${most} && k < size) {
                const int row = thread > k ? thread : k, corner = ${place("k", "k")}, at = corner + row - k;
                ${w.value} x = ${there("held", "at")}, pivot = ${there("held", "corner")};
                if (k > 0) {
                    const int before = ${place("k", "k - 1")};
                    const ${w.value} top = ${there("held", "before")};
                    x = ${fma}(minus, top, x);
                    pivot = ${fma}(${neg}(top), top, pivot);
${stored("x")}\
${stored("pivot")}\
                }
                ${w.value} root = ${sqrt}(pivot);
${stored("root")}\
                if (thread == 0 && tile == 0 && !(${w.word_of("pivot", 0)} > 0) && failed[entry] == 0)
                    failed[entry] = origin + k + 1;
                if (thread == k) {
${keep("roots", "k", "root")}\
                }
                x = ${div}(x, root);
                if (thread > k) {
${keep("held", "at", "x")}\
                }
${stored("x")}\
                minus = ${neg}(x);
            }
        } else if (worker < 0) {
            const int column = k - 1, behind = (${most - 1} - k) * (${most} - k) / 2;
            if (k > 0 && k < size)
                for (int e = thread - ${crew}; e < behind; e += ${team - crew}) {
                    const int i = spots[e] / ${most}, j = spots[e] % ${most}, first = ${place(0, "column")};
                    const int left = first + i, right = first + j;
                    const ${w.value} z = ${fma}(${neg}(${there("held", "left")}), ${there("held", "right")}, ${there("held", "e")});
${keep("held", "e", "z")}\
                }
        } else {
            if (k > 1) {
                const int column = k - 2, done = column / ${lanes}, s = column % ${lanes}, first = done * ${lanes} + part;
                const int spot = (column & 1) * ${rows} + mine_at, top = ${place(0, "column")};
                const ${w.value} x = ${there("known", "spot")};
## The first of a thread's elements that are not done is always mine[0].
% for some in (range(v, min(v + at_once, own)) for v in range(0, own, at_once)):
                if (${some[0]} < ${own} - done) {
% for v in some:
                    const int j${v} = ${f"first + {v * lanes} < {most} ? first + {v * lanes} : {most - 1}"};
                    const int at${v} = top + ${f"j{v}" if v else f"(j{v} > column ? j{v} : column)"};
                    const ${w.value} z${v} = ${of_rows}(${neg}(${there("held", f"at{v}")}), x, mine[${v}]);
% endfor
% for v in some:
% for k in w.limbs:
<% limb, found = w.word_of(f"mine[{v}]", k), w.narrow(k, w.word_of(f"z{v}", k)) %>\
                    ${limb} = ${found if v else f"part > s ? {found} : {limb}"};
% endfor
% endfor
                }
% endfor
                if (s == ${lanes - 1} || column == size - 1) {
                    if (working && first < size) {
                        const ${long} at = b_at + first * b_col;
% for k in w.limbs:
                        ${w.store("b", k, "at", w.word_of("mine[0]", k))}
% endfor
                    }
% for v in range(own - 1):
                    mine[${v}] = mine[${v + 1}];
% endfor
                }
            }
            if (k > 0 && k <= size) {
                const int column = k - 1, spot = (column & 1) * ${rows} + mine_at;
                ${w.value} x = ${div}(mine[0], ${there("roots", "column")});
${stored("x")}\
                if (part == column % ${lanes}) {
                    mine[0] = x;
${keep("known", "spot", "x")}\
                }
            }
        }
        ${p.barrier}
    }
    if (tile == 0)
        for (int e = thread; e < size * size; e += ${threads}) {
            const int i = e / size, j = e % size;
            const int row = i > j ? i : j, column = i > j ? j : i, spot = ${place("row", "column")};
            const ${long} at = out_start + entry * out_batch + i * out_row + j * out_col;
            ${w.value} found = ${there("held", "spot")};
            if (i == j)
                found = ${there("roots", "i")};
            if (i < j)
                found = ${w.zero()};
% for k in w.limbs:
            ${w.store("out", k, "at", w.word_of("found", k))}
% endfor
        }
}
