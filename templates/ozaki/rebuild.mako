## A product's integers from its residues, and from them values or, of what is left when results are taken
## from them, how far results are off.
## w: Writer, system: the moduli, each: elements of a work-item, which are read at once where memory is
## read by vectors, resident: blocks that a compute unit must hold; parted: whether the depth has more than one part, all of which are summed here;
## distances: whether residues of results, bytes, are taken from the sums.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="double_from_int"/>
<%namespace name="places_" file="/ozaki/places.mako"/>
<%namespace name="sums" file="/ozaki/result.mako"/>
<%namespace name="ends" file="/ozaki/distances.mako"/>
<%
    from portmp.routines.ozaki.systems import PLACE, places

    p, long = w.platform, w.platform.index
    double = w.double
    groups = system.groups
    total = places(system.product)
    total = [*total, *[0.0] * (2 * system.digits - 1 - len(total))]
    vectors = each > 1 and w.memory_vectors
    kind = p.const_pointer.format(f"int{each}" if vectors else "int")
    step = f"unsigned {long}"
    steps = max(len(places(g.others)) for g in groups)
    size = len(groups[0].factors)

    def padded(items, count):
        return [*items, *[0] * (count - len(items))]
%>
${arithmetic(double, [])}
${double_from_int(double)}
/* of each group of moduli: factors, shares times 2^32, the product; ... */
${p.constant} int rebuild_groups[${(2 * size + 1) * len(groups)}] = {
% for g in groups:
    ${", ".join(map(str, [*padded(g.factors, size), *padded(g.shares, size), g.product]))},
% endfor
};
/* ... the product's inverse and the product of all other moduli in places of ${PLACE} bits */
${p.constant} double rebuild_others[${(steps + 1) * len(groups)}] = {
% for g in groups:
    ${", ".join(map(double.literal, [1 / g.product, *padded(places(g.others), steps)]))},
% endfor
};
<%def name="group(g, first, count)">
            ## Adds what residues of the moduli of group number g make, which are so many from ``first`` on.
            {
                const int ${", ".join(f"f{i} = rebuild_groups[{2 * size + 1} * {g} + {i}], i{i} = rebuild_groups[{2 * size + 1} * {g} + {size + i}]" for i in range(count))};
                const int of_group = rebuild_groups[${2 * size + 1} * ${g} + ${2 * size}];
% for i in range(count):
% if vectors:
                const int${each} x${i} = found[(${first} + ${i}) * (stride / ${each})];
% endif
% for e, lane in enumerate("xyzw"[:each]):
% if distances or not vectors:
                const int x${i}${e} = ${f"x{i}.{lane}" if vectors else f"found[({first} + {i}) * stride + {e}]"}${f" - taken[({first} + {i}) * stride + {e}]" if distances else ""};
% endif
% endfor
% endfor
% for e, lane in enumerate("xyzw"[:each]):
<% x = [f"x{i}.{lane}" if vectors and not distances else f"x{i}{e}" for i in range(count)] %>
                ## Of sums that may be longer than a signed number the bits that count are right.
                times = (int)((${" + ".join(f"({step})(({long}){x[i]} * i{i})" for i in range(count))} + 2147483648) >> 32);
                y = double_from_int((int)(${" + ".join(f"(unsigned){x[i]} * (unsigned)f{i}" for i in range(count))} - (unsigned)times * (unsigned)of_group));
                whole[${e}] = ${double.fma("y", f"rebuild_others[{steps + 1} * {g}]", f"whole[{e}]")};
% for t in range(steps):
                p${t}[${e}] = ${double.fma("y", f"rebuild_others[{steps + 1} * {g} + {t + 1}]", f"p{t}[{e}]")};
% endfor
% endfor
            }
</%def>
<%def name="digits_of_sums()">
% if parted:
    for (${long} part = 0; part < parts; ++part) {
% else:
    {
% endif
        ${kind}found = (${kind})(products + ${"part * part_stride + " if parted else ""}row * row_stride + first);
% if distances:
        ${p.const_pointer.format(p.int8)}taken = results + row * row_stride + first;
% endif
        double whole[${each}], ${", ".join(f"p{t}[{each}]" for t in range(len(total)))}, x, y;
        int times;
        ${p.unroll}
        for (int e = 0; e < ${each}; ++e) {
            whole[e] = 0.0;
% for t in range(len(total)):
            p${t}[e] = ${"0.0" if t % 2 or t // 2 >= system.digits else f"s{t // 2}[e]"};
% endfor
        }
        /* the product is the sum of what groups make times the products of other moduli, up to a
           multiple of the product of all, which the sum of y over the group's product tells */
        ${p.unrolled_by(w.table_steps)}
        for (int g = 0; g < ${system.kept // size}; ++g)
${group("g", f"{size} * g", size)}
% if system.kept % size:
${group(len(groups) - 1, system.kept // size * size, system.kept % size)}
% endif
        ${p.unroll}
        for (int e = 0; e < ${each}; ++e) {
${places_.digits(double, "whole[e]", lambda t: f"p{t}[e]", lambda t: f"s{t}[e]", total, system.digits)}\
        }
    }
</%def>
% if distances:
<%ends:distances count="${system.digits}" base="${2 * PLACE}" bits="${system.bits}" each="${each}" resident="${resident}">
${digits_of_sums()}
</%ends:distances>
% else:
<%sums:result count="${system.digits}" base="${2 * PLACE}" weight="${-2 * system.bits}" each="${each}" resident="${resident}">
${digits_of_sums()}
</%sums:result>
% endif
