## A product's integers from its residues, and from them values.
## w: Writer, system: the moduli, each: elements of a work-item, which are read at once where memory is
## read by vectors; parted: whether the depth has more than one part, all of which are summed here.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="double_from_int"/>
<%namespace name="sums" file="/ozaki/result.mako"/>
<%
    p, long = w.platform, w.platform.index
    double = w.double
    digits, moduli = range(system.digits), list(system.moduli)
    base, rounding = 2.0 ** 40, 6755399441055744.0
    product = system.digits_of(system.product)
    layout = ("parts", "stride", "part_stride")
    kind = p.const_pointer.format(f"int{each}" if w.memory_vectors else "int")
%>
${arithmetic(double, [])}
${double_from_int(double)}
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
<%sums:result layout="${layout}" kind="int" count="${system.digits}" base="${40}" weight="${-2 * system.bits}" each="${each}">
% if parted:
    for (${long} part = 0; part < parts; ++part) {
% else:
    {
% endif
        ${kind}found = (${kind})(products + ${"part * part_stride + " if parted else ""}row * row_stride + first);
        double whole[${each}], x, y;
        ${p.unroll}
        for (int e = 0; e < ${each}; ++e)
            whole[e] = 0.0;
        /* the product is the sum of residues y times the products of other moduli, up to a
           multiple of the product of all, which the sum of y / modulus tells */
        ${p.unrolled_by(w.table_steps)}
        for (int l = 0; l < ${system.count}; ++l) {
            const double modulus = rebuild_moduli[2 * l], inverse = rebuild_moduli[2 * l + 1];
% if w.memory_vectors:
            const int${each} sums = found[l * (stride / ${each})];
% endif
% for e, lane in enumerate("xyzw"[:each]):
            x = double_from_int(${f"sums.{lane}" if w.memory_vectors else f"found[l * stride + {e}]"});
            y = ${double.fma("x", "inverse", double.literal(rounding))} - ${double.literal(rounding)};
            y = ${double.fma("-y", "modulus", "x")};
            whole[${e}] = ${double.fma("y", "inverse", f"whole[{e}]")};
% for t in digits:
            s${t}[${e}] = ${double.fma("y", f"rebuild_others[{len(digits)} * l + {t}]", f"s{t}[{e}]")};
% endfor
% endfor
        }
        /* digits from -2^39 to 2^39 - 1: of the integer, whatever the moduli */
        ${p.unroll}
        for (int e = 0; e < ${each}; ++e) {
            y = (whole[e] + ${double.literal(rounding)}) - ${double.literal(rounding)};
% for t in digits:
            s${t}[e] = ${double.fma("-y", double.literal(product[t]), f"s{t}[e]")};
% endfor
% for t in digits[:-1]:
            x = floor(s${t}[e] * ${double.literal(1 / base)} + 0.5);
            s${t}[e] = ${double.fma("-x", double.literal(base), f"s{t}[e]")};
            s${t + 1}[e] = s${t + 1}[e] + x;
% endfor
        }
    }
</%sums:result>
