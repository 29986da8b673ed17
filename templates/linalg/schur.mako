## Francis's QR iteration of Hessenberg matrices, a block of threads for each.
##
## A launch takes a number of steps: each looks where the active block begins, splits off one or two
## eigenvalues, or sweeps once through the block with two shifts. What is still to do is in memory.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers in branches.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
    f = {role: w.function(net) for role, net in networks.items()}
    zeros = [w.literal(0)] * (len(w.limbs) - 1)
    lead = lambda word: w.pack([word, *zeros])
    number = lambda value: w.first_of(networks["add"].result, value)
    held = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs)
    place = lambda i, j: f"base + ({i}) * h_row + ({j}) * h_col"
%>
<%def name="put(name, index, value, pad)">
% for k in w.limbs:
${pad}${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
<%def name="kept(memory, index, value, pad)">
% for k in w.limbs:
${pad}${memory}${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
## Columns k, k + 1 and k + 2 of some rows of a matrix lose the reflection.
<%def name="columns(name, at, start, end)">
            for (int i = ${start} + thread; i <= ${end}; i += ${threads}) {
                const ${long} one = ${at} + i * ${name}_row + k * ${name}_col;
                const ${long} two = one + ${name}_col, three = two + ${name}_col;
                ${w.value} t = ${f["mul"]}(x1, ${w.element(name, "one")});
                t = ${f["fma"]}(x2, ${w.element(name, "two")}, t);
                if (long_one)
                    t = ${f["fma"]}(x3, ${w.element(name, "three")}, t);
                const ${w.value} less = ${f["neg"]}(t);
                const ${w.value} a = ${f["add"]}(${w.element(name, "one")}, less);
                const ${w.value} b = ${f["fma"]}(less, y2, ${w.element(name, "two")});
${put(name, "one", "a", " " * 16)}\
${put(name, "two", "b", " " * 16)}\
                if (long_one) {
                    const ${w.value} c = ${f["fma"]}(less, y3, ${w.element(name, "three")});
${put(name, "three", "c", " " * 20)}\
                }
            }
</%def>
## Two rows, or columns, turned by the cosine and sine of a plane rotation.
<%def name="turned(name, one, two)">
                    const ${w.value} u = ${w.element(name, one)}, v = ${w.element(name, two)};
                    const ${w.value} a = ${f["fma"]}(cosine, u, ${f["mul"]}(sine, v));
                    const ${w.value} b = ${f["fma"]}(cosine, v, ${f["neg"]}(${f["mul"]}(sine, u)));
${put(name, one, "a", " " * 20)}\
${put(name, two, "b", " " * 20)}\
</%def>
${arithmetic(w, list(networks.values()))}
/* whole: all of h, and z, become Schur's form, else only the active block does; state: for each
   matrix the last row that is active, or -1, and how often it was swept for that */
${p.kernel.format(threads)} ${head()}
{
    /* a column that is reflected, the root with its sign and what it divides, then its quotients */
% for k in w.limbs:
    ${p.shared} ${w.word} column${k}[3];
    ${p.shared} ${w.word} below${k}[2];
    ${p.shared} ${w.word} quotient${k}[5];
% endfor
    ${p.shared} int marks[${threads}];
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} entry = ${p.axis(p.group_id, 0)};
    const ${long} base = h_start + entry * h_batch, z_at = z_start + entry * z_batch;
    const ${long} values_at = values_start + entry * values_batch;
    const ${w.scalar} small = ${w.literal(small, scalar=True)}, least = ${w.literal(least, scalar=True)};
    int last = state[entry * 2], swept = state[entry * 2 + 1];

    for (int step = 0; step < steps && last >= 0 && swept < ${most}; ++step) {
        /* the active block begins below the last subdiagonal element that is as good as zero */
        int begin = 0;
        for (int i = last - thread; i > 0 && begin == 0; i -= ${threads}) {
            const ${w.scalar} above = ${w.fabs(w.limb("h", 0, place("i - 1", "i - 1")))};
            const ${w.scalar} here = ${w.fabs(w.limb("h", 0, place("i", "i")))};
            const ${w.scalar} off = ${w.fabs(w.limb("h", 0, place("i", "i - 1")))};
            const ${w.scalar} sum = above + here;
            const ${w.scalar} limit = small * (sum > 0 ? sum : 1);
            if (!(off > limit) || !(off > least))
                begin = i;
        }
        marks[thread] = begin;
% for distance in [2**i for i in reversed(range(threads.bit_length() - 1))]:
        ${barrier}
        if (thread < ${distance} && marks[thread + ${distance}] > marks[thread])
            marks[thread] = marks[thread + ${distance}];
% endfor
        ${barrier}
        begin = marks[0];
        ${w.platform.device_barrier}
        if (begin > 0 && thread == 0) {
            const ${long} at = ${place("begin", "begin - 1")};
            const ${w.value} nothing = ${w.zero()};
${put("h", "at", "nothing", " " * 12)}\
        }
        if (begin == last) {
            if (thread == 0) {
                const ${long} from = ${place("last", "last")}, to = values_at + last * values_row;
                const ${long} imaginary = to + values_col;
                const ${w.value} x = ${w.element("h", "from")}, nothing = ${w.zero()};
${put("values", "to", "x", " " * 16)}\
${put("values", "imaginary", "nothing", " " * 16)}\
            }
            ${fence}
            last -= 1;
            swept = 0;
            continue;
        }
        if (begin == last - 1) {
            const ${long} corner = ${place("last", "last")};
            const ${long} above = corner - h_row, left = corner - h_col, top = above - h_col;
            const ${w.value} d = ${w.element("h", "corner")};
            const ${w.value} middle = ${number(0.5)};
            const ${w.value} difference = ${f["mul"]}(middle, ${f["add"]}(${w.element("h", "top")}, ${f["neg"]}(d)));
            const ${w.scalar} s1 = ${w.fabs(w.word_of("difference", 0))};
            const ${w.scalar} s2 = ${w.fabs(w.limb("h", 0, "above"))}, s3 = ${w.fabs(w.limb("h", 0, "left"))};
            const ${w.scalar} sum = s1 + s2 + s3;
            const ${w.value} scale = ${lead("sum")};
            for (int i = thread; i < 3; i += ${threads}) {
                ${w.value} v = difference;
                if (i > 0) {
                    const ${long} from = i == 1 ? above : left;
                    v = ${w.element("h", "from")};
                }
                v = ${f["div"]}(v, scale);
${kept("column", "i", "v", " " * 16)}\
            }
            ${barrier}
            const ${w.value} e = ${held("column", "0")}, b = ${held("column", "1")}, c = ${held("column", "2")};
            const ${w.value} product = ${f["mul"]}(b, c);
            const ${w.value} square = ${f["add"]}(${f["mul"]}(e, e), product);
            const int real = ${w.word_of("square", 0)} >= 0;
            const ${w.value} magnitude = real ? square : ${f["neg"]}(square);
            const ${w.value} root = ${f["sqrt"]}(magnitude);
            const ${w.value} minus = ${f["neg"]}(root);
            const ${w.value} sum_of_both = ${f["add"]}(e, ${w.word_of("e", 0)} < 0 ? minus : root);
            ${fence}
            if (thread == 0) {
                const ${long} to = values_at + (last - 1) * values_row, then = to + values_row;
                const ${long} side = to + values_col, beside = then + values_col;
                ${w.value} x1, x2, y1 = ${w.zero()}, y2 = ${w.zero()};
                if (real) {
                    x1 = ${f["add"]}(d, ${f["mul"]}(sum_of_both, scale));
                    x2 = x1;
                    if (${w.word_of("sum_of_both", 0)} != 0)
                        x2 = ${f["add"]}(d, ${f["neg"]}(${f["mul"]}(${f["div"]}(product, sum_of_both), scale)));
                } else {
                    x1 = ${f["add"]}(d, difference);
                    x2 = x1;
                    y1 = ${f["mul"]}(root, scale);
                    y2 = ${f["neg"]}(y1);
                }
${put("values", "to", "x1", " " * 16)}\
${put("values", "then", "x2", " " * 16)}\
${put("values", "side", "y1", " " * 16)}\
${put("values", "beside", "y2", " " * 16)}\
            }
            if (real && whole) {
                /* an eigenvector of the block is (e + root, c): it becomes the first axis */
                const ${w.value} hypotenuse = ${f["sqrt"]}(${f["add"]}(${f["mul"]}(sum_of_both, sum_of_both), ${f["mul"]}(c, c)));
                for (int i = thread; i < 2; i += ${threads}) {
                    const ${w.value} v = ${f["div"]}(i == 0 ? sum_of_both : c, hypotenuse);
${kept("quotient", "i", "v", " " * 20)}\
                }
                ${barrier}
                const ${w.value} cosine = ${held("quotient", "0")}, sine = ${held("quotient", "1")};
                for (int j = last - 1 + thread; j < size; j += ${threads}) {
                    const ${long} one = ${place("last - 1", "j")}, two = one + h_row;
${turned("h", "one", "two")}\
                }
                ${fence}
                for (int i = thread; i <= last; i += ${threads}) {
                    const ${long} one = ${place("i", "last - 1")}, two = one + h_col;
${turned("h", "one", "two")}\
                }
                for (int i = thread; i < size; i += ${threads}) {
                    const ${long} one = z_at + i * z_row + (last - 1) * z_col, two = one + z_col;
${turned("z", "one", "two")}\
                }
                ${fence}
                if (thread == 0) {
                    const ${w.value} nothing = ${w.zero()};
${put("h", "left", "nothing", " " * 20)}\
                }
            }
            ${fence}
            last -= 2;
            swept = 0;
            continue;
        }
        swept += 1;
        if (thread == 0) {
            const ${long} corner = ${place("last", "last")}, first = ${place("begin", "begin")};
            const ${long} inner = corner - h_row - h_col, side = corner - h_col, above = corner - h_row;
            ${w.value} x = ${w.element("h", "corner")}, y = ${w.element("h", "inner")};
            ${w.value} one = ${w.element("h", "side")}, other = ${w.element("h", "above")};
            if (swept % 10 == 0) {
                /* other shifts, in case those do not converge: from the end, then the top */
                const int ending = swept % 20 != 0;
                const ${long} near = ending ? side : first + h_row, far = near + (ending ? -1 : 1) * (h_row + h_col);
                const ${w.scalar} total = ${w.fabs(w.limb("h", 0, "near"))} + ${w.fabs(w.limb("h", 0, "far"))};
                const ${w.value} s = ${lead("total")};
                const ${w.value} part = ${f["mul"]}(${number(0.75)}, s);
                one = ${f["mul"]}(${number(-0.4375)}, s);
                other = s;
                x = ${f["add"]}(part, ending ? x : ${w.element("h", "first")});
                y = x;
            }
            ${w.value} v1, v2, v3;
            /* what small elements leave of a column that begins at the top may vanish on its way */
            int from = swept > ${patience} ? last - 2 : begin;
            for (;; --from) {
                const ${long} start = ${place("from", "from")}, next = start + h_row + h_col;
                const ${long} down = start + h_row, right = start + h_col, third = next + h_row;
                const ${w.value} less = ${f["neg"]}(${w.element("h", "start")});
                ${w.value} r = ${f["add"]}(x, less), s = ${f["add"]}(y, less);
                ${w.value} below = ${w.element("h", "down")}, near = one, far = other;
                v1 = ${w.element("h", "right")};
                v2 = ${f["add"]}(${w.element("h", "next")}, less);
                v2 = ${f["add"]}(${f["add"]}(v2, ${f["neg"]}(r)), ${f["neg"]}(s));
                v3 = ${w.element("h", "third")};
                /* products of small shifts would vanish: all is as many times as large then */
                ${w.scalar} most = 0, up = 1;
% for value in ("r", "s", "near", "far"):
                most = ${w.fabs(w.word_of(value, 0))} > most ? ${w.fabs(w.word_of(value, 0))} : most;
% endfor
                for (int i = 0; i < ${raising.times} && most < ${w.literal(raising.below, scalar=True)}; ++i) {
                    most = most * ${w.literal(raising.by, scalar=True)};
                    up = up * ${w.literal(raising.by, scalar=True)};
                }
% for value in ("r", "s", "near", "far", "below", "v1", "v2", "v3"):
                ${value} = ${w.pack(f"{w.word_of(value, k)} * up" for k in w.limbs)};
% endfor
                const ${w.value} top = ${f["fma"]}(r, s, ${f["neg"]}(${f["mul"]}(near, far)));
                v1 = ${f["add"]}(${f["div"]}(top, below), v1);
                if (from == begin)
                    break;
                const ${w.scalar} s1 = ${w.fabs(w.word_of("v1", 0))};
                const ${w.scalar} s2 = ${w.fabs(w.word_of("v2", 0))}, s3 = ${w.fabs(w.word_of("v3", 0))};
                const ${w.scalar} others = s2 + s3, sum = s1 + others;
                const ${w.scalar} edge = ${w.fabs(w.limb("h", 0, "start - h_col"))};
                const ${w.scalar} before = ${w.fabs(w.limb("h", 0, "start - h_row - h_col"))};
                const ${w.scalar} here = ${w.fabs(w.limb("h", 0, "start"))}, after = ${w.fabs(w.limb("h", 0, "next"))};
                const ${w.scalar} around = before + here + after;
                if (edge * (others / sum) < small * (s1 / sum * around))
                    break;
            }
${kept("column", "0", "v1", " " * 12)}\
${kept("column", "1", "v2", " " * 12)}\
${kept("column", "2", "v3", " " * 12)}\
            marks[0] = from;
        }
        ${barrier}
        const int from = marks[0];
        for (int k = from; k < last; ++k) {
            const int long_one = k + 2 <= last;
            if (thread == 0 && k > from) {
                const ${long} one = ${place("k", "k - 1")}, two = one + h_row, three = two + h_row;
                ${w.value} v3 = ${w.zero()};
                if (long_one)
                    v3 = ${w.element("h", "three")};
                const ${w.value} v1 = ${w.element("h", "one")}, v2 = ${w.element("h", "two")};
${kept("column", "0", "v1", " " * 16)}\
${kept("column", "1", "v2", " " * 16)}\
${kept("column", "2", "v3", " " * 16)}\
            }
            ${barrier}
            const ${w.scalar} s1 = ${w.fabs("column0[0]")}, s2 = ${w.fabs("column0[1]")}, s3 = ${w.fabs("column0[2]")};
            const ${w.scalar} sum = s1 + s2 + s3;
            const int moves = sum > 0;
            ${barrier}
            if (moves) {
                for (int e = thread; e < 3; e += ${threads}) {
                    const ${w.value} v = ${f["div"]}(${held("column", "e")}, ${lead("sum")});
${kept("column", "e", "v", " " * 20)}\
                }
                ${barrier}
                if (thread == 0) {
                    const ${w.value} v1 = ${held("column", "0")}, v2 = ${held("column", "1")}, v3 = ${held("column", "2")};
                    const ${w.value} square = ${f["fma"]}(v3, v3, ${f["fma"]}(v2, v2, ${f["mul"]}(v1, v1)));
                    const ${w.value} root = ${f["sqrt"]}(square);
                    const ${w.value} minus = ${f["neg"]}(root);
                    const ${w.value} s = ${w.word_of("v1", 0)} < 0 ? minus : root;
                    if (k == from && k > begin) {
                        const ${long} before = ${place("k", "k - 1")};
                        const ${w.value} turned = ${f["neg"]}(${w.element("h", "before")});
${put("h", "before", "turned", " " * 24)}\
                    }
                    if (k > from) {
                        const ${long} one = ${place("k", "k - 1")}, two = one + h_row, three = two + h_row;
                        const ${w.value} beta = ${f["neg"]}(${f["mul"]}(s, ${lead("sum")})), nothing = ${w.zero()};
${put("h", "one", "beta", " " * 24)}\
${put("h", "two", "nothing", " " * 24)}\
                        if (long_one) {
${put("h", "three", "nothing", " " * 28)}\
                        }
                    }
                    const ${w.value} pivot = ${f["add"]}(v1, s);
${kept("column", "0", "pivot", " " * 20)}\
${kept("below", "0", "s", " " * 20)}\
${kept("below", "1", "pivot", " " * 20)}\
                }
                ${barrier}
                for (int e = thread; e < 5; e += ${threads}) {
                    const int from = e < 3 ? e : e - 2, by = e < 3 ? 0 : 1;
                    const ${w.value} v = ${f["div"]}(${held("column", "from")}, ${held("below", "by")});
${kept("quotient", "e", "v", " " * 20)}\
                }
            }
            ${fence}
            if (moves) {
                const ${w.value} x1 = ${held("quotient", "0")}, x2 = ${held("quotient", "1")}, x3 = ${held("quotient", "2")};
                const ${w.value} y2 = ${held("quotient", "3")}, y3 = ${held("quotient", "4")};
                const int end = whole ? size - 1 : last, start = whole ? 0 : begin;
                const int below = k + 3 < last ? k + 3 : last;
                for (int j = k + thread; j <= end; j += ${threads}) {
                    const ${long} one = ${place("k", "j")}, two = one + h_row, three = two + h_row;
                    ${w.value} t = ${f["fma"]}(y2, ${w.element("h", "two")}, ${w.element("h", "one")});
                    if (long_one)
                        t = ${f["fma"]}(y3, ${w.element("h", "three")}, t);
                    const ${w.value} less = ${f["neg"]}(t);
                    const ${w.value} a = ${f["fma"]}(less, x1, ${w.element("h", "one")});
                    const ${w.value} b = ${f["fma"]}(less, x2, ${w.element("h", "two")});
${put("h", "one", "a", " " * 20)}\
${put("h", "two", "b", " " * 20)}\
                    if (long_one) {
                        const ${w.value} c = ${f["fma"]}(less, x3, ${w.element("h", "three")});
${put("h", "three", "c", " " * 24)}\
                    }
                }
                ${fence}
${columns("h", "base", "start", "below")}\
                if (whole) {
${columns("z", "z_at", "0", "size - 1")}\
                }
            }
            ${fence}
        }
    }
    if (thread == 0) {
        state[entry * 2] = last;
        state[entry * 2 + 1] = swept;
    }
}
