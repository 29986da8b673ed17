## Jacobi's method for small symmetric matrices, or Hermitian ones, a block of threads each.
##
## A step turns pairs of rows and columns, no two of which share one, half as many as there are
## rows: each index meets each other one once in a sweep. Only the lower triangle is read; in the end the
## other one is its (conjugate) copy. Of complex numbers, which have two parts, a pair of rows is
## turned by w and r, the sine and the slope times a phase, and columns by their conjugates.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
    f = {role: w.function(net) for role, net in networks.items()}
    held = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs)
    one = w.first_of(networks["add"].result, 1.0)
    one_half = w.first_of(networks["add"].result, 0.5)
%>
<%
    count = len(w.limbs)
    def part(name, which, index):
        """The real (0) or the imaginary part (1) of an element."""
        return w.pack(w.limb(name, k + which * count, index) for k in w.limbs)
%>
<%def name="put(name, index, value, pad)">
% for k in w.limbs:
${pad}${w.store(name, k, index, w.word_of(value, k))}
% endfor
% if parts > 1:
% for k in w.limbs:
${pad}${w.store(name, k + count, index, w.literal(0))}
% endfor
% endif
</%def>
<%def name="kept(memory, index, value, pad)">
% for k in w.limbs:
${pad}${memory}${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
## The numbers of a pair of a step: the last index stays, the others go round.
<%def name="pair(number, low, high)">
            int ${low} = (step + ${number}) % last, ${high} = (step + last - ${number}) % last;
            if (${number} == 0)
                ${high} = last;
            if (${low} > ${high}) {
                const int other = ${low};
                ${low} = ${high};
                ${high} = other;
            }
</%def>
## x, y become c x - s y, s x + c y.
<%def name="turn(name, first, second, number, pad)">
${pad}const ${w.value} x = ${w.element(name, first)}, y = ${w.element(name, second)};
${pad}const ${w.value} s = ${held("sine", number)}, g = ${held("slope", number)};
${pad}const ${w.value} u = ${f["fma"]}(${f["neg"]}(s), ${f["fma"]}(g, x, y), x);
${pad}const ${w.value} z = ${f["fma"]}(s, ${f["fma"]}(${f["neg"]}(g), y, x), y);
${put(name, first, "u", pad)}\
${put(name, second, "z", pad)}\
</%def>
## The same of complex numbers: of rows (as they stand) or columns, by conjugates, the first and the
## second of which may stand beyond the diagonal.
<%def name="turn_complex(name, first, second, number, rows, beyond_first, beyond_second, pad)">
${pad}const ${w.value} a = ${part(name, 0, first)}, c = ${part(name, 0, second)};
${pad}${w.value} b = ${part(name, 1, first)}, d = ${part(name, 1, second)};
${pad}const ${w.value} e = ${held("sine", number)}, g = ${held("slope", number)};
${pad}${w.value} f = ${held("sine_side", number)}, h = ${held("slope_side", number)};
% for condition, changed in ((beyond_first, "b"), (beyond_second, "d"), (f"!{rows}", "fh")):
% if condition != "0":
${pad}if (${condition}) {
% for one in changed:
${pad}    ${one} = ${f["neg"]}(${one});
% endfor
${pad}}
% endif
% endfor
% for net, result in (("low", "u"), ("high", "z")):
${pad}const ${w.type(networks[net].result)} ${result} = ${f[net]}(a, b, c, d, e, f, g, h);
% endfor
% for index, beyond, result in ((first, beyond_first, "u"), (second, beyond_second, "z")):
% for k in range(2 * count):
${pad}${w.store(name, k, index, f"({beyond} ? -{result}.x{k} : {result}.x{k})" if k >= count and beyond != "0" else f"{result}.x{k}")}
% endfor
% endfor
</%def>
<%def name="inside(i, j)">a_start + entry * a_batch + (${i} > ${j} ? ${i} * a_row + ${j} * a_col : ${j} * a_row + ${i} * a_col)</%def>
${arithmetic(w, list(networks.values()))}
/* v: what turns a (vectors are its columns, moved on by shift); sweeps_made: with a turn at least */
${p.kernel.format(threads)} ${head()}
{
% for k in w.limbs:
    ${p.shared} ${w.word} sine${k}[${most // 2}];
    ${p.shared} ${w.word} slope${k}[${most // 2}];
% if parts > 1:
    ${p.shared} ${w.word} sine_side${k}[${most // 2}];
    ${p.shared} ${w.word} slope_side${k}[${most // 2}];
% endif
% endfor
    ${p.shared} int turns[${most // 2}];
    ${p.shared} int more[1];
    const int thread = (int)${p.axis(p.local_id, 0)}, m = (int)size;
    const ${long} entry = ${p.axis(p.group_id, 0)};
    const int pairs = (m + 1) / 2, last = 2 * pairs - 1;

    for (int e = thread; e < (vectors ? m * m : 0); e += ${threads}) {
        const int i = e / m, j = e % m;
        const ${long} at = v_start + entry * v_batch + i * v_row + (j + shift) % m * v_col;
        const ${w.scalar} first = i == j ? ${w.literal(1)} : ${w.literal(0)};
        const ${w.value} z = ${w.pack(["first"] + [w.literal(0)] * (len(w.limbs) - 1))};
${put("v", "at", "z", " " * 8)}
    }
    int made = 0;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        int turned = 0;
        for (int step = 0; step < last; ++step) {
            ${fence}
            for (int i = thread; i < pairs; i += ${threads}) {
                int now = 0;
${pair("i", "low", "high")}
                if (high < m) {
                    const ${long} at = ${inside("high", "low")};
                    const ${long} at_low = ${inside("low", "low")}, at_high = ${inside("high", "high")};
                    const ${w.scalar} size_low = ${w.fabs(w.limb("a", 0, "at_low"))};
                    const ${w.scalar} size_high = ${w.fabs(w.limb("a", 0, "at_high"))};
                    const ${w.scalar} root_low = ${w.sqrt("size_low")}, root_high = ${w.sqrt("size_high")};
                    const ${w.scalar} product = tolerance * root_low * root_high;
                    const ${w.scalar} beside = edge * (root_low > root_high ? root_low : root_high);
                    const ${w.scalar} limit = product > least ? product : least;
% if parts > 1:
                    const ${w.scalar} size_real = ${w.fabs(w.limb("a", 0, "at"))};
                    const ${w.scalar} size_side = ${w.fabs(w.limb("a", count, "at"))};
                    const ${w.scalar} size_here = size_real > size_side ? size_real : size_side;
% else:
                    const ${w.scalar} size_here = ${w.fabs(w.limb("a", 0, "at"))};
% endif
                    now = size_here > (beside > limit ? beside : limit);
                    if (now) {
% if parts > 1:
                        const ${w.value} b_real = ${part("a", 0, "at")}, b_side = ${part("a", 1, "at")};
                        const ${w.value} b = ${f["hypot"]}(b_real, b_side);
% else:
                        const ${w.value} b = ${w.element("a", "at")};
% endif
                        const ${w.value} x = ${w.element("a", "at_low")}, y = ${w.element("a", "at_high")};
                        const ${w.value} slant = ${f["div"]}(${f["sub"]}(y, x), ${f["add"]}(b, b));
                        const int minus = ${w.word_of("slant", 0)} < 0;
                        const ${w.value} turned_round = ${f["neg"]}(slant);
                        const ${w.value} far = minus ? turned_round : slant;
                        const ${w.value} one = ${one}, one_half = ${one_half};
                        const int beyond = ${w.word_of("far", 0)} > ${w.literal(2.0**60 if w.scalar == "float" else 2.0**500)};
                        const ${w.value} above = beyond ? one_half : one;
                        ${w.value} under = far, t;
                        if (!beyond)
                            under = ${f["add"]}(far, ${f["sqrt"]}(${f["add"]}(${f["mul"]}(far, far), one)));
                        t = ${f["div"]}(above, under);
                        if (minus)
                            t = ${f["neg"]}(t);
                        const ${w.value} c = ${f["div"]}(one, ${f["sqrt"]}(${f["add"]}(${f["mul"]}(t, t), one)));
                        const ${w.value} s = ${f["mul"]}(t, c);
                        const ${w.value} g = ${f["div"]}(s, ${f["add"]}(one, c)), h = ${f["mul"]}(t, b);
                        const ${w.value} u = ${f["sub"]}(x, h), z = ${f["add"]}(y, h), none = ${w.zero()};
% if parts > 1:
                        const ${w.type(networks["sign"].result)} unit = ${f["sign"]}(b_real, b_side);
                        const ${w.value} phase = ${w.pack(f"unit.x{k}" for k in w.limbs)};
                        const ${w.value} phase_side = ${w.pack(f"unit.x{k + count}" for k in w.limbs)};
% for memory, size in (("sine", "s"), ("slope", "g")):
                        const ${w.value} ${size}_real = ${f["mul"]}(${size}, phase), ${size}_side = ${f["mul"]}(${size}, phase_side);
${kept(memory, "i", f"{size}_real", " " * 24)}\
${kept(f"{memory}_side", "i", f"{size}_side", " " * 24)}\
% endfor
% else:
${kept("sine", "i", "s", " " * 24)}\
${kept("slope", "i", "g", " " * 24)}\
% endif
${put("a", "at_low", "u", " " * 24)}\
${put("a", "at_high", "z", " " * 24)}\
${put("a", "at", "none", " " * 24)}\
                    }
                }
                turns[i] = now;
            }
            ${fence}
            for (int i = 0; i < (thread ? 0 : pairs); ++i)
                turned |= turns[i];
            for (int e = thread; e < pairs * pairs; e += ${threads}) {
                const int i = e / pairs, j = e % pairs;
                if (i < j && (turns[i] || turns[j])) {
${pair("i", "low", "high")}
${pair("j", "left", "right")}
                    /* rows of pair i in both columns of pair j, then columns of j in both rows of i */
                    ${p.unrolled_by(1)}
                    for (int side = 0; side < 4; ++side) {
                        const int rows = side < 2, number = rows ? i : j;
                        const int line = rows ? (side ? right : left) : side == 3 ? high : low;
                        if (turns[number] && line < m) {
                            const int above = rows ? low : left, below = rows ? high : right;
                            const ${long} upper = ${inside("above", "line")}, lower = ${inside("below", "line")};
% if parts > 1:
                            const int over = rows ? above < line : line < above, under = rows ? below < line : line < below;
${turn_complex("a", "upper", "lower", "number", "rows", "over", "under", " " * 28)}\
% else:
${turn("a", "upper", "lower", "number", " " * 28)}\
% endif
                        }
                    }
                }
            }
            for (int e = thread; e < (vectors ? m * pairs : 0); e += ${threads}) {
                const int row = e / pairs, i = e % pairs;
                if (turns[i]) {
${pair("i", "low", "high")}
                    const ${long} at = v_start + entry * v_batch + row * v_row;
                    const ${long} left = at + (low + shift) % m * v_col, right = at + (high + shift) % m * v_col;
% if parts > 1:
${turn_complex("v", "left", "right", "i", "0", "0", "0", " " * 20)}\
% else:
${turn("v", "left", "right", "i", " " * 20)}\
% endif
                }
            }
        }
        if (thread == 0)
            more[0] = turned;
        ${fence}
        const int goes_on = more[0];
        ${fence}
        if (!goes_on)
            break;
        ++made;
    }
    for (int e = thread; e < m * m; e += ${threads}) {
        const int i = e / m, j = e % m;
        if (i < j) {
            const ${long} from = ${inside("j", "i")};
            const ${long} at = a_start + entry * a_batch + i * a_row + j * a_col;
% for k in w.limbs:
            ${w.store("a", k, "at", w.limb("a", k, "from"))}
% if parts > 1:
            ${w.store("a", k + count, "at", "-" + w.limb("a", k + count, "from"))}
% endif
% endfor
        }
    }
    if (thread == 0)
        sweeps_made[entry] = made;
}
