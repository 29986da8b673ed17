## Francis's QR iteration of Hessenberg matrices, a block of threads for each.
##
## A launch takes a number of steps: each looks where the active block begins, splits off one or two
## eigenvalues, or sweeps once through the block with two shifts. What is still to do is in memory.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    integers = p.pointer.format("int")
    f = {role: w.function(net) for role, net in networks.items()}
    zeros = [w.literal(0)] * (len(w.limbs) - 1)
    lead = lambda word: w.pack([word, *zeros])
    number = lambda value: w.first_of(networks["add"].result, value)
    held = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs)
    place = lambda i, j: f"base + ({i}) * h_row + ({j}) * h_col"
    parts = ("first", "second", "third", "down", "far")
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
${p.kernel.format(threads)} schur(
    const ${long} n, const int steps, const int whole,
${matrix(w, "h", const=False)}\
${matrix(w, "z", const=False)}\
${matrix(w, "values", const=False)}\
    ${integers}state)
{
% for part in parts:
% for k in w.limbs:
    ${p.shared} ${w.word} ${part}${k}[1];
% endfor
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
        ${p.barrier}
        if (thread < ${distance} && marks[thread + ${distance}] > marks[thread])
            marks[thread] = marks[thread + ${distance}];
% endfor
        ${p.barrier}
        begin = marks[0];
        ${p.barrier}
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
            ${p.device_barrier}
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
            const ${w.value} e = ${f["div"]}(difference, scale);
            const ${w.value} b = ${f["div"]}(${w.element("h", "above")}, scale);
            const ${w.value} c = ${f["div"]}(${w.element("h", "left")}, scale);
            const ${w.value} product = ${f["mul"]}(b, c);
            const ${w.value} square = ${f["add"]}(${f["mul"]}(e, e), product);
            const int real = ${w.word_of("square", 0)} >= 0;
            const ${w.value} magnitude = real ? square : ${f["neg"]}(square);
            const ${w.value} root = ${f["sqrt"]}(magnitude);
            const ${w.value} minus = ${f["neg"]}(root);
            const ${w.value} sum_of_both = ${f["add"]}(e, ${w.word_of("e", 0)} < 0 ? minus : root);
            ${p.device_barrier}
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
                const ${w.value} cosine = ${f["div"]}(sum_of_both, hypotenuse), sine = ${f["div"]}(c, hypotenuse);
                for (int j = last - 1 + thread; j < size; j += ${threads}) {
                    const ${long} one = ${place("last - 1", "j")}, two = one + h_row;
${turned("h", "one", "two")}\
                }
                ${p.device_barrier}
                for (int i = thread; i <= last; i += ${threads}) {
                    const ${long} one = ${place("i", "last - 1")}, two = one + h_col;
${turned("h", "one", "two")}\
                }
                for (int i = thread; i < size; i += ${threads}) {
                    const ${long} one = z_at + i * z_row + (last - 1) * z_col, two = one + z_col;
${turned("z", "one", "two")}\
                }
                ${p.device_barrier}
                if (thread == 0) {
                    const ${w.value} nothing = ${w.zero()};
${put("h", "left", "nothing", " " * 20)}\
                }
            }
            ${p.device_barrier}
            last -= 2;
            swept = 0;
            continue;
        }
        swept += 1;
        for (int k = begin; k < last; ++k) {
            const int long_one = k + 2 <= last;
            if (thread == 0) {
                ${w.value} v1, v2, v3 = ${w.zero()};
                if (k > begin) {
                    const ${long} one = ${place("k", "k - 1")}, two = one + h_row, three = two + h_row;
                    v1 = ${w.element("h", "one")};
                    v2 = ${w.element("h", "two")};
                    if (long_one)
                        v3 = ${w.element("h", "three")};
                } else {
                    const ${long} corner = ${place("last", "last")}, start = ${place("begin", "begin")};
                    const ${long} inner = corner - h_row - h_col, side = corner - h_col, above = corner - h_row;
                    const ${long} next = start + h_row + h_col, down = start + h_row, right = start + h_col;
                    const ${long} third = next + h_row;
                    ${w.value} x = ${w.element("h", "corner")}, y = ${w.element("h", "inner")};
                    ${w.value} product = ${f["mul"]}(${w.element("h", "side")}, ${w.element("h", "above")});
                    if (swept % 10 == 0) {
                        /* other shifts, in case those do not converge: from the end, then the top */
                        const int ending = swept % 20 != 0;
                        const ${long} near = ending ? side : down, far = ending ? side - h_row - h_col : third;
                        const ${w.scalar} sum = ${w.fabs(w.limb("h", 0, "near"))} + ${w.fabs(w.limb("h", 0, "far"))};
                        const ${w.value} s = ${lead("sum")};
                        const ${w.value} part = ${f["mul"]}(${number(0.75)}, s);
                        const ${w.value} shared = ${f["mul"]}(${number(-0.4375)}, s);
                        x = ${f["add"]}(part, ending ? x : ${w.element("h", "start")});
                        y = x;
                        product = ${f["mul"]}(shared, s);
                    }
                    const ${w.value} less = ${f["neg"]}(${w.element("h", "start")});
                    const ${w.value} r = ${f["add"]}(x, less), s = ${f["add"]}(y, less);
                    const ${w.value} top = ${f["fma"]}(r, s, ${f["neg"]}(product));
                    v1 = ${f["add"]}(${f["div"]}(top, ${w.element("h", "down")}), ${w.element("h", "right")});
                    v2 = ${f["add"]}(${w.element("h", "next")}, less);
                    v2 = ${f["add"]}(${f["add"]}(v2, ${f["neg"]}(r)), ${f["neg"]}(s));
                    v3 = ${w.element("h", "third")};
                }
                const ${w.scalar} s1 = ${w.fabs(w.word_of("v1", 0))}, s2 = ${w.fabs(w.word_of("v2", 0))};
                const ${w.scalar} s3 = ${w.fabs(w.word_of("v3", 0))};
                const ${w.scalar} sum = s1 + s2 + s3;
                marks[0] = sum > 0;
                if (sum > 0) {
                    const ${w.value} scale = ${lead("sum")};
                    v1 = ${f["div"]}(v1, scale);
                    v2 = ${f["div"]}(v2, scale);
                    v3 = ${f["div"]}(v3, scale);
                    const ${w.value} square = ${f["fma"]}(v3, v3, ${f["fma"]}(v2, v2, ${f["mul"]}(v1, v1)));
                    const ${w.value} root = ${f["sqrt"]}(square);
                    const ${w.value} minus = ${f["neg"]}(root);
                    const ${w.value} s = ${w.word_of("v1", 0)} < 0 ? minus : root;
                    if (k > begin) {
                        const ${long} one = ${place("k", "k - 1")}, two = one + h_row, three = two + h_row;
                        const ${w.value} beta = ${f["neg"]}(${f["mul"]}(s, scale)), nothing = ${w.zero()};
${put("h", "one", "beta", " " * 24)}\
${put("h", "two", "nothing", " " * 24)}\
                        if (long_one) {
${put("h", "three", "nothing", " " * 28)}\
                        }
                    }
                    v1 = ${f["add"]}(v1, s);
                    const ${w.value} x1 = ${f["div"]}(v1, s), x2 = ${f["div"]}(v2, s), x3 = ${f["div"]}(v3, s);
                    const ${w.value} y2 = ${f["div"]}(v2, v1), y3 = ${f["div"]}(v3, v1);
${kept("first", "0", "x1", " " * 20)}\
${kept("second", "0", "x2", " " * 20)}\
${kept("third", "0", "x3", " " * 20)}\
${kept("down", "0", "y2", " " * 20)}\
${kept("far", "0", "y3", " " * 20)}\
                }
            }
            ${p.device_barrier}
            const int moves = marks[0];
            if (moves) {
                const ${w.value} x1 = ${held("first", "0")}, x2 = ${held("second", "0")}, x3 = ${held("third", "0")};
                const ${w.value} y2 = ${held("down", "0")}, y3 = ${held("far", "0")};
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
                ${p.device_barrier}
${columns("h", "base", "start", "below")}\
                if (whole) {
${columns("z", "z_at", "0", "size - 1")}\
                }
            }
            ${p.device_barrier}
        }
    }
    if (thread == 0) {
        state[entry * 2] = last;
        state[entry * 2 + 1] = swept;
    }
}
