## Cholesky's factors of small matrices, many at once.
##
## A thread has a row, or every ${parts}-th element of it, in registers; ${threads // (rows * parts)} matrices a block of threads.
## The slots that hold a row turn: the column that is worked on is always the first one.
##
## With two *panels* a launch factors whole matrices of so many: out first becomes a's lower triangle;
## the first panel's rows below are unknowns of a triangular system, whose products the others lose.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="small" file="/linalg/small.mako"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace name="right" file="/linalg/blocks.mako"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, neg, sqrt = (w.function(networks[role]) for role in ("fma", "div", "neg", "sqrt"))
    each, count = rows * parts, columns // parts
    matrices = threads // each
    barrier = p.warp_barrier if within and p.warp_barrier else p.barrier
    slot = lambda u: f"part + {u * parts}" if parts > 1 else f"{u}"
    groups = [range(g, min(g + group, count)) for g in range(0, count, group)]
    ## Factors of rows, and zeros for what a group of slots has beyond the last row.
    beyond = group * parts
    stride = rows + beyond
%>
<% element = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
<%
    size = rows * panels
    ## Threads that share a row below the first panel.
    abreast = max(each // rows, 1)
    target = lambda row, column: f"corner + ({row}) * out_row + ({column}) * out_col"
%>
${arithmetic(w, list(networks.values()))}
% if panels > 1:
${leading_chain(w, slab)}\
% endif
/* the lower triangles of ${size} rows at most, zeros above; failed: the first order whose pivot is not positive */
${p.kernel_of(threads, resident)} ${head()}
{
${small.shape(w, threads, rows, columns, parts)}\
% for k in w.limbs:
    ${p.shared} ${w.word} pivot${k}[${matrices}];
    ${p.shared} ${w.word} factor${k}[${matrices * stride}];
% endfor
    const int first = matrix * ${stride};
    if (self < ${beyond}) {
        const ${w.value} none = ${w.zero()};
${small.kept(w, "factor", f"first + {rows} + self", "none", " " * 8)}\
    }
% if panels > 1:
% for k in w.limbs:
    ${p.shared} ${w.word} known${k}[${2 * rows}];
% endfor
    const int j = self % ${rows}, side = self / ${rows};
    const ${long} corner = out_start + entry * out_batch;
    for (int e = self; e < ${size * size}; e += ${each}) {
        const int i = a_turned ? e % ${size} : e / ${size}, column = a_turned ? e / ${size} : e % ${size};
        const ${long} from = a_start + entry * a_batch + i * a_row + column * a_col, to = ${target("i", "column")};
        if (i < all && column < all) {
            ${w.value} z = ${w.zero()};
            if (column <= i)
                z = ${w.element("a", "from")};
% for k in w.limbs:
            ${w.store("out", k, "to", w.word_of("z", k))}
% endfor
        }
    }
    ${p.device_barrier}

    for (int begin = 0; begin < all; begin += ${rows}) {
    const int n = all - begin < ${rows} ? all - begin : ${rows}, origin = start + begin;
    const ${long} diagonal = out_start + begin * (out_row + out_col);
% endif
    const int height = entry < batch ? n : 0, width = n;
    int order = 0;
${small.read(w, "out" if panels > 1 else "a", rows, columns, parts, barrier, lower=True, start="diagonal" if panels > 1 else None)}\

    ${small.rolled(w)}
    for (int k = 0; k < n; ++k) {
        const int turn = k % ${parts}, live = n - k + turn, active = row > k;
        if (row == k && part == turn) {
${small.kept(w, "pivot", "matrix", "own[0]", " " * 12)}\
        }
        ${barrier}
        const ${w.value} x = ${element("pivot", "matrix")};
        order = order == 0 && !(${w.word_of("x", 0)} > 0) ? origin + k + 1 : order;
        ${w.value} l = own[0];
% if parts > 1:
        if (part == turn) {
% endif
            ${w.value} root = ${sqrt}(x);
${small.narrowed(w, "root", " " * 12)}\
            if (active)
                l = ${div}(l, root);
            if (row == k)
                l = root;
${small.narrowed(w, "l", " " * 12)}\
${small.kept(w, "factor", "first + row", "l", " " * 12)}\
% if parts > 1:
            own[0] = l;
        }
% endif
        ${barrier}
        const ${w.value} minus = ${neg}(${"l" if parts == 1 else element("factor", "first + row")});
        const int column = first + k - turn;
${small.updated(w, groups, slot, parts, fma, lambda u: element("factor", f"column + {slot(u)}"))}\
% if parts == 1:
        own[${count - 1}] = l;
% else:
        if (turn == ${parts - 1} || k == n - 1) {
            const ${w.value} done = own[0];
${small.turned(count, ["done"], " " * 12)}\
        }
% endif
    }
    if (self == 0 && height > 0 && (origin == 0 || (order != 0 && failed[entry] == 0)))
        failed[entry] = order;
    const int turns = ${"n" if parts == 1 else f"(n + {parts - 1}) / {parts}"};
${small.write(w, "out", rows, columns, parts, barrier, "row", "turns", lower=True, start="diagonal" if panels > 1 else None)}\
% if panels > 1:
    ${p.device_barrier}
    if (begin == 0) {
        const int unknowns = ${rows}, below = all - ${rows};
<%
    side_of = lambda row, column: target(f"{rows} + {column}", row)
    rows_below = lambda row, column: target(f"{rows} + {row}", column)
    corner = lambda row, column: target(f"{rows} + {row}", f"{rows} + {column}")
%>\
${right.system(w, networks, rows, abreast, "below", "out", target, "out", side_of, True)}\
        ${p.device_barrier}
${right.product(w, networks, abreast, period, "below", "below", "unknowns", "out", rows_below, "out", side_of, "out", corner, True, "i >= j")}\
        ${p.device_barrier}
    }
    }
% endif
}
