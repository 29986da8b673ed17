## A product's integers from its wide residues, and from them values, in vectors of neighbours of a row.
## w: Writer of vectors, v: scalar Writer, system: the moduli, doubles: words of a sum until it is rounded. Of complex numbers, which have two
## sums of a modulus, first the real parts, then the imaginary ones, so many rows further.
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere, arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace file="/ozaki/integers.mako" import="exact_sums, power_of_two, value_of_words, words_of_digits"/>
<%namespace name="places_" file="/ozaki/places.mako"/>
<%
    from portmp.routines.ozaki.systems import PLACE, places

    p, long, each = w.platform, w.platform.index, w.width
    double = w.double
    words, digits, steps = range(doubles), range(system.digits), range(system.places)
    rounding = double.literal(6755399441055744.0)  ## 1.5 2^52: a sum with it is rounded to an integer
    twice = system.components > 1
    row = len(steps) + 2 + 2 * twice
    line = "line" if twice else "row"

    def others(i):
        return double.splat(f"rebuild_wide_others[{row} * l + {i}]")

    def in_places(number):
        found = places(number)
        return [*found, *[0.0] * (len(steps) - len(found))]

    def at(word, scalar):
        """A lane of a word, to be set."""
        return word if each == 1 else f"(({scalar} *)&{word})[lane]"
%>
${arithmetic(w, [networks["add"], networks["mul"]])}
${arithmetic(double, [])}
${anywhere(double)}
${exact_sums(double)}
${power_of_two(v.double)}
${leading_chain(v, slab)}
/* of each modulus: its inverse, it, the product of all others in places of ${PLACE} bits${"; what sums count" if twice else ""} */
${p.constant} double rebuild_wide_others[${row * system.count}] = {
% for m in system.moduli:
    ${", ".join(map(v.double.literal, [1 / m, m, *in_places(system.product // m), *system.counts(m)]))},
% endfor
};
${p.kernel_of(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = (n + ${each - 1}) / ${each};
    const ${long} row = item / items, first = item % items * ${each};
    const int lanes = n - first < ${each} ? (int)(n - first) : ${each};
    ${double.word} whole, ${", ".join(f"p{t}" for t in steps)};
    ${double.word} ${", ".join(f"s{t}" for t in digits)}, ${", ".join(f"z{i}" for i in words)}, x, y, error, residue[${system.count}];
    ${double.word} up = ${double.literal(0)}, more = ${double.literal(0)};
    ${w.value} z, beside = ${w.zero()};
    if (row >= m)
        return;
% if twice:
    for (int imagined = 0; imagined < 2; ++imagined) {
    const ${long} line = row + imagined * imaginary;
% endif
    whole = ${double.literal(0)};
% for t in steps:
    p${t} = ${double.literal(0)};
% endfor
    for (int l = 0; l < ${system.count}; ++l) {
        ${p.const_pointer.format("double")}found = products + row * row_stride + first + ${"2 * " if twice else ""}l * stride;
        const ${double.word} inverse = ${others(0)}, modulus = ${others(1)};
## of complex numbers sums of a + sb and of a - sb: half their sum, or their difference over 2s
% for y, plane in (("y", ""), ("error", "stride + "))[: 1 + twice]:
        ${y} = ${double.literal(0)};
        for (${long} part = 0; part < parts; ++part) {
            ${y} = ${y} + ${double.there("float64", "found", f"{plane}part * part_stride")};
            x = ${double.fma(y, "inverse", rounding)} - ${rounding};
            ${y} = ${double.fma("-x", "modulus", y)};
        }
% endfor
% if twice:
        y = (imagined ? y - error : y + error) * (imagined ? ${others(len(steps) + 3)} : ${others(len(steps) + 2)});
        x = ${double.fma("y", "inverse", rounding)} - ${rounding};
        y = ${double.fma("-x", "modulus", "y")};
% endif
        whole = ${double.fma("y", "inverse", "whole")};
        residue[l] = y;
    }
    ## a few places at once: as many as stay in registers
% for some in (steps[start : start + 8] for start in range(0, len(steps), 8)):
    for (int l = 0; l < ${system.count}; ++l) {
% for t in some:
        p${t} = ${double.fma("residue[l]", others(t + 2), f"p{t}")};
% endfor
    }
% endfor
    {
${places_.digits(double, "whole", lambda t: f"p{t}", lambda t: f"s{t}", in_places(system.product), system.digits)}\
${words_of_digits(double, [f"s{t}" for t in digits], doubles, 2 * PLACE)}\
    }
    for (int lane = 0; lane < lanes; ++lane) {
        const int scale = a_exponents[a_first + row] + b_exponents[b_first + first + lane] - ${2 * system.bits};
        const int near = scale < -1000 ? -1000 : scale > 1000 ? 1000 : scale;
        const int far = scale - near;
        const int rest = far < -1022 ? -1022 : far > 1023 ? 1023 : far;
        ${at("up", "double")} = power_of_two(near);
        ${at("more", "double")} = power_of_two(rest);
    }
% for i in words:
    z${i} = z${i} * up * more;
% endfor
    {
${value_of_words(w, double, doubles)}\
    }
    for (int lane = 0; lane < lanes; ++lane) {
        const ${long} col = first + lane, c_at = c_start + ${line} * c_row + col * c_col;
        if (a_exponents[a_first + row] == ${special} || b_exponents[b_first + col] == ${special}) {
            ${at(w.word_of("z", 0), w.scalar)} = leading_chain(
                ${v.leading("a", pass_on=True)}, a_start + ${line} * a_row, a_col,
                ${v.leading("b", pass_on=True)}, b_start + col * b_col, b_row, k);
% for i in w.limbs:
% if i:
            ${at(w.word_of("z", i), w.scalar)} = 0;
% endif
% endfor
        }
        if (beta_kind != 0) {
% for i in w.limbs:
            ${at(w.word_of("beside", i), w.scalar)} = ${v.limb("c", i, "c_at")};
% endfor
        }
    }
${scaled(w, networks, "z", "beside", " " * 4)}
    for (int lane = 0; lane < lanes; ++lane) {
        const ${long} out_at = out_start + ${line} * out_row + (first + lane) * out_col;
% for i in w.limbs:
        ${v.store("out", i, "out_at", w.lane(w.word_of("z", i), "lane"))}
% endfor
    }
% if twice:
    }
% endif
}
