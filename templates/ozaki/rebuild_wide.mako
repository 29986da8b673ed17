## A product's integers from its wide residues, and from them values.
## w: Writer, system: the moduli, each: elements of a work-item, lanes of a vector.
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere, arithmetic"/>
<%namespace name="places_" file="/ozaki/places.mako"/>
<%namespace name="sums" file="/ozaki/result.mako"/>
<%
    from portmp.routines.ozaki.systems import PLACE, places

    p, long = w.platform, w.platform.index
    many = w.double.wider(each)
    steps = range(system.places)
    rounding = many.literal(6755399441055744.0)  ## 1.5 2^52: a sum with it is rounded to an integer
    row = len(steps) + 2
    layout = ("parts", "stride", "part_stride")

    def others(i):
        return many.splat(f"rebuild_wide_others[{row} * l + {i}]")

    def in_places(number):
        found = places(number)
        return [*found, *[0.0] * (len(steps) - len(found))]
%>
${arithmetic(many, [])}
${anywhere(many)}
/* of each modulus: its inverse, it, the product of all others in places of ${PLACE} bits */
${p.constant} double rebuild_wide_others[${row * system.count}] = {
% for m in system.moduli:
    ${", ".join(map(w.double.literal, [1 / m, m, *in_places(system.product // m)]))},
% endfor
};
<%sums:result layout="${layout}" kind="double" count="${system.digits}" base="${2 * PLACE}" weight="${-2 * system.bits}" each="${each}">
    {
        ${many.word} whole = ${many.literal(0)}, ${", ".join(f"p{t} = {many.literal(0)}" for t in steps)};
        ${many.word} ${", ".join(f"digit{t}" for t in range(system.digits))}, x, y;
        for (int l = 0; l < ${system.count}; ++l) {
            ${p.const_pointer.format("double")}found = products + row * row_stride + first + l * stride;
            const ${many.word} inverse = ${others(0)}, modulus = ${others(1)};
            y = ${many.literal(0)};
            for (${long} part = 0; part < parts; ++part) {
                y = y + ${many.there("float64", "found", "part * part_stride")};
                x = ${many.fma("y", "inverse", rounding)} - ${rounding};
                y = ${many.fma("-x", "modulus", "y")};
            }
            whole = ${many.fma("y", "inverse", "whole")};
% for t in steps:
            p${t} = ${many.fma("y", others(t + 2), f"p{t}")};
% endfor
        }
${places_.digits(many, "whole", lambda t: f"p{t}", lambda t: f"digit{t}", in_places(system.product), system.digits)}
        ${p.unroll}
        for (int e = 0; e < ${each}; ++e) {
% for t in range(system.digits):
            s${t}[e] = ${many.lane(f"digit{t}", "e")};
% endfor
        }
    }
</%sums:result>
