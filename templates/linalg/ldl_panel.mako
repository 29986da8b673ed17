## Bunch's and Kaufman's factorisation of a panel of few columns, in one block of threads for each
## matrix; or of *whole* matrices of few panels, with the products between them.
##
## A column of the matrix is brought up to date when it is looked at: by what columns of the panel
## before it take away, which v holds (columns of L times D). So only two columns of the rest are
## touched in a step, whichever rows are swapped.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace name="beside" file="/linalg/blocks.mako"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers in branches.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
    f = {role: w.function(net) for role, net in networks.items()}
    zeros = [w.literal(0)] * (len(w.limbs) - 1)
    lead = lambda word: w.pack([word, *zeros])
    ## Words of imaginary parts, which change their signs above the diagonal.
    sides = list(w.limbs)[w.format.limbs:] if hermitian else []
    size_at = lambda at: w.size(lambda k: w.limb("v", k, at))
    columns = min(threads, most)
    rest = lambda row, column: f"base + (next + {row}) * a_row + (next + {column}) * a_col"
    left = lambda row, step: f"base + (next + {row}) * a_row + (first + {step}) * a_col"
    right = lambda step, column: f"v_at + (next + {column}) * v_row + {step} * v_col"
%>
<%def name="put(name, index, value, pad)">
% for k in w.limbs:
${pad}${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
<%def name="swap(name, one, other, pad)">
${pad}const ${w.value} x = ${w.element(name, one)}, y = ${w.element(name, other)};
${put(name, one, "y", pad)}\
${put(name, other, "x", pad)}\
</%def>
## The largest of a column of v from row k on, but for one row, and the first row that has it.
<%def name="largest(column, but)">
            value = -3;
            spot = size;
            for (int i = k + thread; i < size; i += ${threads}) {
                if (i != ${but}) {
                    const ${w.scalar} other = ${size_at(f"v_at + i * v_row + ({column}) * v_col")};
                    const ${w.scalar} known = other == other ? other : -1;
                    if (known > value) {
                        value = known;
                        spot = i;
                    }
                }
            }
% if threads > 1:
            best_value[thread] = value;
            best_row[thread] = spot;
            for (int step = ${threads // 2}; step > 0; step /= 2) {
                ${barrier}
                if (thread < step) {
                    const int other = thread + step;
                    if (best_value[other] > best_value[thread]
                        || (best_value[other] == best_value[thread] && best_row[other] < best_row[thread])) {
                        best_value[thread] = best_value[other];
                        best_row[thread] = best_row[other];
                    }
                }
            }
            ${barrier}
            value = best_value[0];
            spot = best_row[0];
            ${barrier}
% endif
</%def>
## Column c of the matrix from row k on, up to date, to a column of v.
<%def name="updated(c, column)">
            for (int i = k + thread; i < size; i += ${threads}) {
                const ${long} from = i < ${c} ? base + ${c} * a_row + i * a_col : base + i * a_row + ${c} * a_col;
                const ${long} to = v_at + i * v_row + (${column}) * v_col;
                ${w.value} z = ${w.element("a", "from")};
% for word in sides:
                ${w.word_of("z", word)} = i < ${c} ? -${w.word_of("z", word)} : ${w.word_of("z", word)};
% endfor
                for (int j = 0; j < mine; ++j) {
                    const ${long} left = base + i * a_row + (first + j) * a_col;
                    const ${long} top = v_at + ${c} * v_row + j * v_col;
                    z = ${f["update"]}(${f["neg"]}(${w.element("a", "left")}), ${w.element("v", "top")}, z);
                }
% for word in sides:
                ${w.word_of("z", word)} = i == ${c} ? 0 : ${w.word_of("z", word)};
% endfor
${put("v", "to", "z", " " * 16)}\
            }
            ${fence}
</%def>
${arithmetic(w, list(networks.values()))}
% if whole:
${leading_chain(w, slab)}\
% endif
/* columns first to end - 1 of a, whose lower triangle counts; places: which row came to row i;
   kinds: 0 alone, 1 and 2 the first and second of a pair; ends: the column to go on with */
${p.kernel.format(threads)} ${head()}
{
% if threads > 1:
    ${p.shared} ${w.scalar} best_value[${threads}];
    ${p.shared} int best_row[${threads}];
% endif
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} entry = ${p.axis(p.group_id, 0)};
    const ${long} base = a_start + entry * a_batch, v_at = v_start + entry * v_batch;
    const ${w.scalar} alpha = ${w.literal(alpha, scalar=True)};
% if whole:
    for (int first = 0, next = 0; first < size; first = next) {
    const int end = first + ${most} < size ? first + ${most} : size;
% endif
    int k = first;

    /* a pair may need one more column than there is room for, unless the matrix ends */
    while (k < end && (k + 1 < end || end == size)) {
        const int mine = k - first;
        ${w.scalar} value, below;
        int spot, from_row, other = k, pair = 0;
        {
${updated("k", "mine")}\
${largest("mine", "k")}\
        }
        below = value;
        from_row = spot;
        if (below > 0) {
            const ${w.scalar} here = ${size_at("v_at + k * v_row + mine * v_col")};
            if (!(here >= alpha * below)) {
${updated("from_row", "mine + 1")}\
${largest("mine + 1", "from_row")}\
                const ${w.value} part = ${f["ratio"]}(${lead("below")}, ${lead("value")});
                const ${w.scalar} limit = alpha * below, ratio = ${w.word_of("part", 0)};
                if (!(here >= limit * ratio)) {
                    const ${w.scalar} there = ${size_at("v_at + from_row * v_row + (mine + 1) * v_col")};
                    other = from_row;
                    pair = there >= alpha * value ? 0 : 1;
                    if (!pair) {
                        for (int i = k + thread; i < size; i += ${threads}) {
                            const ${long} to = v_at + i * v_row + mine * v_col, from = to + v_col;
                            const ${w.value} z = ${w.element("v", "from")};
${put("v", "to", "z", " " * 28)}\
                        }
                    }
                }
            }
        }
        ${fence}
        const int row = k + pair;
        if (other != row) {
            for (int i = row + thread; i < size; i += ${threads}) {
                if (i != other) {
                    const int to_row = i > other ? i : other;
                    const int to_column = i == row ? other : i > other ? other : i;
                    const ${long} from = base + i * a_row + row * a_col;
                    const ${long} to = base + to_row * a_row + to_column * a_col;
                    ${w.value if sides else f"const {w.value}"} z = ${w.element("a", "from")};
% for word in sides:
                    ${w.word_of("z", word)} = i > row && i < other ? -${w.word_of("z", word)} : ${w.word_of("z", word)};
% endfor
${put("a", "to", "z", " " * 20)}\
                }
            }
            for (int j = thread; j < k; j += ${threads}) {
                const ${long} one = base + row * a_row + j * a_col, two = base + other * a_row + j * a_col;
${swap("a", "one", "two", " " * 16)}\
            }
            for (int j = thread; j <= row - first; j += ${threads}) {
                const ${long} one = v_at + row * v_row + j * v_col, two = v_at + other * v_row + j * v_col;
${swap("v", "one", "two", " " * 16)}\
            }
            if (thread == 0) {
                const int held = places[entry * n + row];
                places[entry * n + row] = places[entry * n + other];
                places[entry * n + other] = held;
            }
        }
        if (thread == 0) {
            kinds[entry * n + k] = pair;
            if (pair)
                kinds[entry * n + k + 1] = 2;
        }
        ${fence}
        const ${long} top = v_at + k * v_row + mine * v_col;
        if (!pair) {
            const int divides = ${" || ".join(f"{x} != 0" for x in w.leaders(lambda k: w.limb("v", k, "top")))};
            for (int i = k + thread; i < size; i += ${threads}) {
                const ${long} at = v_at + i * v_row + mine * v_col, to = base + i * a_row + k * a_col;
                ${w.value} z = ${w.element("v", "at")};
                if (i > k && divides)
                    z = ${f["quotient"]}(z, ${w.element("v", "top")});
${put("a", "to", "z", " " * 16)}\
            }
        } else {
            const ${long} side = top + v_row, corner = side + v_col;
            const ${w.value} off = ${w.element("v", "side")};
            const ${w.value} d1 = ${f["div"]}(${w.element("v", "corner")}, off);
            const ${w.value} d2 = ${f["across"]}(${w.element("v", "top")}, off);
            const ${w.value} one = ${w.first_of(networks["fma"].result, 1.0)};
            const ${w.value} inverse = ${f["quotient"]}(one, ${f["fma"]}(d1, d2, ${f["neg"]}(one)));
            const ${w.value} scale = ${f["div"]}(inverse, off), opposite = ${f["across"]}(inverse, off);
            for (int i = k + thread; i < size; i += ${threads}) {
                const ${long} at = v_at + i * v_row + mine * v_col, next = at + v_col;
                const ${long} to = base + i * a_row + k * a_col, beside = to + a_col;
                const ${w.value} x = ${w.element("v", "at")}, y = ${w.element("v", "next")};
                ${w.value} l1 = x, l2 = y;
                if (i > k + 1) {
                    l1 = ${f["mul"]}(opposite, ${f["fma"]}(d1, x, ${f["neg"]}(y)));
                    l2 = ${f["mul"]}(scale, ${f["fma"]}(d2, y, ${f["neg"]}(x)));
                }
${put("a", "to", "l1", " " * 16)}\
                if (i > k) {
${put("a", "beside", "l2", " " * 20)}\
                }
            }
        }
        ${fence}
        k += 1 + pair;
    }
% if whole:
    next = k;
    const int steps = next - first, below = size - next;
    for (int tile = 0; tile < below; tile += ${columns}) {
        const int j = tile + thread % ${columns}, side = thread / ${columns};
${beside.product(w, networks, threads // columns, period, "below", "below", "steps", "a", left, "v", right, "a", rest, True, "i >= j")}\
    }
    ${fence}
    }
% else:
    if (thread == 0)
        ends[entry] = k;
% endif
}
