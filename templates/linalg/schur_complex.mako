## QR iteration of complex Hessenberg matrices with one shift, a block of threads for each.
##
## A launch takes a number of steps: each looks where the active block begins, and splits off an
## eigenvalue or sweeps once through the block. What is still to do is in memory.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers in branches.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
    f = {role: w.function(net) for role, net in networks.items()}
    lead = lambda word: w.pack([word, *[w.literal(0)] * (len(w.limbs) - 1)])
    held = lambda index: w.pack(f"turn{k}[{index}]" for k in w.limbs)
    place = lambda i, j: f"base + ({i}) * h_row + ({j}) * h_col"
    size_at = lambda index: w.size(lambda k: w.limb("h", k, index))
    size_of = lambda value: w.size(lambda k: w.word_of(value, k))
    leads = lambda value: w.leaders(lambda k: w.word_of(value, k))
%>
<%def name="put(name, index, value, pad)">
% for k in w.limbs:
${pad}${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
<%def name="kept(index, value, pad)">
% for k in w.limbs:
${pad}turn${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
## Elements one and two of a matrix become c one + s two and c two - conj(s) one.
<%def name="turned(name, s, minus)">
                    const ${w.value} u = ${w.element(name, "one")}, v = ${w.element(name, "two")};
                    const ${w.value} a = ${f["fma"]}(${s}, v, ${f["mul_real"]}(u, c));
                    const ${w.value} b = ${f["fma"]}(${minus}, u, ${f["mul_real"]}(v, c));
${put(name, "one", "a", " " * 20)}\
${put(name, "two", "b", " " * 20)}\
</%def>
${arithmetic(w, list(networks.values()))}
/* whole: all of h, and z, become Schur's form, else only the active block does; state: for each
   matrix the last row that is active, or -1, and how often it was swept for that */
${p.kernel.format(threads)} ${head()}
{
    /* the first column of a sweep, then a rotation: c and s */
% for k in w.limbs:
    ${p.shared} ${w.word} turn${k}[2];
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
            const ${w.scalar} above = ${size_at(place("i - 1", "i - 1"))};
            const ${w.scalar} here = ${size_at(place("i", "i"))};
            const ${w.scalar} off = ${size_at(place("i", "i - 1"))};
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
        ${p.device_barrier}
        if (begin > 0 && thread == 0) {
            const ${long} at = ${place("begin", "begin - 1")};
            const ${w.value} nothing = ${w.zero()};
${put("h", "at", "nothing", " " * 12)}\
        }
        if (begin == last) {
            if (thread == 0) {
                const ${long} from = ${place("last", "last")}, to = values_at + last * values_row;
                const ${w.value} x = ${w.element("h", "from")};
${put("values", "to", "x", " " * 16)}\
            }
            ${fence}
            last -= 1;
            swept = 0;
            continue;
        }
        swept += 1;
        if (thread == 0) {
            const ${long} corner = ${place("last", "last")}, top = ${place("begin", "begin")};
            const ${long} over = corner - h_row, left = corner - h_col, high = over - h_col;
            const ${long} under = top + h_row;
            const ${w.value} d = ${w.element("h", "corner")}, first = ${w.element("h", "top")};
            ${w.value} shift = d;
            if (swept % 10 == 0) {
                const int ending = swept % 20 != 0;
                const ${long} near = ending ? left : under;
                const ${w.scalar} near_size = ${size_at("near")};
                const ${w.scalar} more = near_size * ${w.literal(0.75, scalar=True)};
                shift = ${f["add"]}(ending ? d : first, ${lead("more")});
            } else {
                /* the eigenvalue of the last two rows and columns that is nearer to d */
                ${w.value} e = ${f["sub"]}(${w.element("h", "high")}, d);
                ${w.value} b = ${w.element("h", "over")}, x = ${w.element("h", "left")};
                e = ${w.pack(f"{w.word_of('e', k)} * {w.literal(0.5)}" for k in w.limbs)};
                const ${w.scalar} s1 = ${size_of("e")}, s2 = ${size_of("b")}, s3 = ${size_of("x")};
                const ${w.scalar} sum = s1 + s2 + s3;
                const ${w.value} scale = ${lead("sum")}, nothing = ${w.zero()};
                e = ${f["div_real"]}(e, scale);
                b = ${f["div_real"]}(b, scale);
                x = ${f["div_real"]}(x, scale);
                const ${w.value} product = ${f["fma"]}(b, x, nothing);
                ${w.value} root = ${f["sqrt"]}(${f["fma"]}(e, e, product));
<% (e0, e1), (r0, r1) = leads("e"), leads("root") %>\
                const ${w.scalar} along = ${e0} * ${r0}, across = ${e1} * ${r1}, both = along + across;
                if (both < 0)
                    root = ${f["neg"]}(root);
                const ${w.value} below = ${f["add"]}(e, root);
                if (${w.nonzero("below")})
                    shift = ${f["sub"]}(d, ${f["mul_real"]}(${f["div"]}(product, below), scale));
            }
            const ${w.value} x = ${f["sub"]}(first, shift), y = ${w.element("h", "under")};
${kept("0", "x", " " * 12)}\
${kept("1", "y", " " * 12)}\
        }
        for (int k = begin; k < last; ++k) {
            if (thread == 0) {
                const ${long} one = ${place("k", "k - 1")}, two = one + h_row;
                ${w.value} x = ${held("0")}, y = ${held("1")};
                if (k > begin) {
                    x = ${w.element("h", "one")};
                    y = ${w.element("h", "two")};
                }
                const ${w.scalar} s1 = ${size_of("x")}, s2 = ${size_of("y")}, sum = s1 + s2;
                marks[0] = s2 > 0;
                if (s2 > 0) {
                    const ${w.value} nothing = ${w.zero()}, scale = ${lead("sum")};
                    ${w.value} phase = ${lead(w.literal(1))};
                    if (s1 > 0)
                        phase = ${f["div_real"]}(x, ${lead("s1")});
                    const ${w.value} unit = ${f["root"]}(${f["conj_fma"]}(phase, phase, nothing));
                    phase = ${f["div_real"]}(phase, unit);
                    const ${w.value} m = ${f["div_real"]}(${f["mul_real"]}(unit, ${lead("s1")}), scale);
                    y = ${f["div_real"]}(y, scale);
                    const ${w.value} square = ${f["conj_fma"]}(y, y, ${f["fma"]}(m, m, nothing));
                    const ${w.value} r = ${f["root"]}(square);
                    const ${w.value} c = ${f["div_real"]}(m, r);
                    const ${w.value} s = ${f["div_real"]}(${f["conj_fma"]}(y, phase, nothing), r);
                    if (k > begin) {
                        const ${w.value} beta = ${f["mul_real"]}(${f["mul_real"]}(phase, r), scale);
${put("h", "one", "beta", " " * 24)}\
${put("h", "two", "nothing", " " * 24)}\
                    }
${kept("0", "c", " " * 20)}\
${kept("1", "s", " " * 20)}\
                }
            }
            ${fence}
            if (marks[0]) {
                const ${w.value} c = ${held("0")}, s = ${held("1")};
                const ${w.value} turned = ${f["conj"]}(s), minus = ${f["neg"]}(s), back = ${f["neg_conj"]}(s);
                const int end = whole ? size - 1 : last, start = whole ? 0 : begin;
                const int below = k + 2 < last ? k + 2 : last;
                for (int j = k + thread; j <= end; j += ${threads}) {
                    const ${long} one = ${place("k", "j")}, two = one + h_row;
${turned("h", "s", "back")}\
                }
                ${fence}
                for (int i = start + thread; i <= below; i += ${threads}) {
                    const ${long} one = ${place("i", "k")}, two = one + h_col;
${turned("h", "turned", "minus")}\
                }
                for (int i = thread; whole && i < size; i += ${threads}) {
                    const ${long} one = z_at + i * z_row + k * z_col, two = one + z_col;
${turned("z", "turned", "minus")}\
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
