## A product's integers from its residues, and from them values: one element a work-item.
## w: Writer, system: the moduli, parts of the depth are summed here (blocks of residues' products).
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace file="/ozaki/integers.mako" import="double_from_int, exact_sums, power_of_two"/>
<%
    p, long = w.platform, w.platform.index
    double = w.double
    digits, moduli = range(system.digits), list(system.moduli)
    base, rounding = 2.0 ** 40, 6755399441055744.0
    product = system.digits_of(system.product)
    words = range(doubles)
%>
${arithmetic(w, [networks["add"], networks["mul"]])}
${arithmetic(double, [])}
${exact_sums(double)}
${power_of_two(double)}
${double_from_int(double)}
${leading_chain(w, slab)}
/* each modulus and its inverse; the products of the others, in digits of 40 bits */
${p.constant} double rebuild_moduli[${2 * len(moduli)}] = {
% for m in moduli:
    ${double.literal(m)}, ${double.literal(1 / m)},
% endfor
};
${p.constant} double rebuild_others[${len(digits) * len(moduli)}] = {
% for m in moduli:
    ${", ".join(double.literal(d) for d in system.other(m))},
% endfor
};
${p.kernel.format(threads)} ${name}(
    const ${long} m, const ${long} n, const ${long} k, const ${long} parts,
    const ${long} stride, const ${long} part_stride, const ${long} row_stride,
    ${p.const_pointer.format("int")}products,
    ${p.const_pointer.format("int")}a_exponents, const ${long} a_first,
    ${p.const_pointer.format("int")}b_exponents, const ${long} b_first,
    ${w.planes("a", const=True)}, const ${long} a_start, const ${long} a_row, const ${long} a_col,
    ${w.planes("b", const=True)}, const ${long} b_start, const ${long} b_row, const ${long} b_col,
    ${w.planes("c", const=True)}, const ${long} c_start, const ${long} c_row, const ${long} c_col,
    ${w.planes("out", const=False)}, const ${long} out_start, const ${long} out_row, const ${long} out_col,
    ${w.scalars("alpha")}, ${w.scalars("beta")},
    const int alpha_is_one, const int beta_kind)
{
    const ${long} element = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} row = element / n, col = element % n;
    const ${long} c_at = c_start + row * c_row + col * c_col;
    const ${long} out_at = out_start + row * out_row + col * out_col;
    double whole = 0.0, ${", ".join(f"s{t} = 0.0" for t in digits)};
    ${w.value} z;
    if (element >= m * n)
        return;
    if (a_exponents[a_first + row] == ${special} || b_exponents[b_first + col] == ${special}) {
        const ${w.scalar} chain = leading_chain(
            a0, a_start + row * a_row, a_col, b0, b_start + col * b_col, b_row, k);
        z = ${w.pack(["chain"] + [w.literal(0)] * (w.format.limbs - 1))};
    } else {
        const int scale = a_exponents[a_first + row] + b_exponents[b_first + col] - ${2 * system.bits};
        const int near = scale < -1000 ? -1000 : scale > 1000 ? 1000 : scale;
        const int far = scale - near;
        const int rest = far < -1022 ? -1022 : far > 1023 ? 1023 : far;
        for (${long} part = 0; part < parts; ++part) {
            ${p.const_pointer.format("int")}found = products + part * part_stride + row * row_stride + col;
            double x, y;
            /* the product is the sum of residues y times the products of other moduli, up to a
               multiple of the product of all, which the sum of y / modulus tells */
            ${p.unroll} ${w.table_steps}
            for (int l = 0; l < ${system.count}; ++l) {
                const double modulus = rebuild_moduli[2 * l], inverse = rebuild_moduli[2 * l + 1];
                x = double_from_int(found[l * stride]);
                y = ${double.fma("x", "inverse", double.literal(rounding))} - ${double.literal(rounding)};
                y = ${double.fma("-y", "modulus", "x")};
                whole = ${double.fma("y", "inverse", "whole")};
% for t in digits:
                s${t} = ${double.fma("y", f"rebuild_others[{len(digits)} * l + {t}]", f"s{t}")};
% endfor
            }
            /* digits from -2^39 to 2^39 - 1: of the integer, whatever the moduli */
            whole = (whole + ${double.literal(rounding)}) - ${double.literal(rounding)};
% for t in digits:
            s${t} = ${double.fma("-whole", double.literal(product[t]), f"s{t}")};
% endfor
            whole = 0.0;
% for t in digits[:-1]:
            x = floor(s${t} * ${double.literal(1 / base)} + 0.5);
            s${t} = ${double.fma("-x", double.literal(base), f"s{t}")};
            s${t + 1} = s${t + 1} + x;
% endfor
        }
% for t in digits:
% if t:
        s${t} = s${t} * ${double.literal(base ** t)};
% endif
% endfor
        {
            /* the leading word of the sum, and of what is left of it, exactly */
            double error;
% for i in words:
            double z${i} = ${"s0" if i < len(digits) else "0.0"};
% for t in digits[1:max(len(digits) - i, 1)]:
            z${i} = exact_sum(s${t}, z${i}, &error);
            s${t - 1} = error;
% endfor
% endfor
% for i in words[1:]:
            z${i - 1} = exact_sum_in_order(z${i - 1}, z${i}, &error);
            z${i} = error;
% endfor
% for i in words:
            z${i} = z${i} * power_of_two(near) * power_of_two(rest);
% endfor
% if w.format.word == "float64":
% for i in words[1:]:
            z${i} = ${double.fabs("z0")} <= ${double.largest} ? z${i} : 0.0;
% endfor
            z = ${w.pack(f"z{i}" for i in w.limbs)};
% else:
            {
% for i in w.limbs:
                const float f${i} = (float)z0;
% if i < w.format.limbs - 1:
                z0 = z0 - (double)f${i};
% for j in words[1:]:
                z${j - 1} = exact_sum(z${j - 1}, z${j}, &error);
                z${j} = error;
% endfor
% endif
% endfor
% if w.format.limbs > 1:
                const int finite = ${w.fabs("f0")} <= ${w.largest};
% endif
                z = ${w.pack("f0" if i == 0 else f"(finite ? f{i} : 0.0f)" for i in w.limbs)};
            }
% endif
        }
    }
${scaled(w, networks, "z", w.pack(w.limb("c", i, "c_at") for i in w.limbs), " " * 4)}
% for i in w.limbs:
    out${i}[out_at] = ${w.narrow(i, w.word_of("z", i))};
% endfor
}
