## A product's integers from its residues, and from them values or, of what is left when results are taken
## from them, how far results are off.
## w: Writer, system: the moduli, each: elements of a work-item, which are read at once where memory is
## read by vectors, resident: blocks that a compute unit must hold; parted: whether the depth has more than one part, all of which are summed here;
## components: 2 where the elements of a work-item are the real and the imaginary part of a complex one, of the same sums;
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
    from itertools import groupby

    kinds = [0] if components == 1 else [1, 2]
    made = [system.groups_of(kind) for kind in kinds]
    groups = made[0]
    total = places(system.product)
    total = [*total, *[0.0] * (2 * system.digits - 1 - len(total))]
    vectors = each > components and w.memory_vectors
    kind = p.const_pointer.format(f"int{each}" if vectors else "int")
    step = f"unsigned {long}"
    steps = max(len(places(g.others)) for g in groups)
    sizes = [len(g.factors) for g in groups]
    size = max(sizes)
    wide = 2 * components * size + 1

    def padded(items, count):
        return [*items, *[0] * (count - len(items))]
%>
${arithmetic(double, [])}
${double_from_int(double)}
/* of each group of moduli: factors, shares times 2^32, the product; ... */
${p.constant} int rebuild_groups[${wide * len(groups)}] = {
% for of_parts in zip(*made):
    ${", ".join(map(str, [*(n for g in of_parts for n in [*padded(g.factors, size), *padded(g.shares, size)]), of_parts[0].product]))},
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
                const int of_group = rebuild_groups[${wide} * ${g} + ${wide - 1}];
% for part in range(components):
<% mark = "m" if part else "" %>\
                const int ${", ".join(f"f{mark}{i} = rebuild_groups[{wide} * {g} + {2 * size * part + i}], i{mark}{i} = rebuild_groups[{wide} * {g} + {2 * size * part + size + i}]" for i in range(count))};
% endfor
% for i in range(count):
% if vectors:
                const int${each} x${i} = found[(${first} + ${i}) * (stride / ${each})];
% endif
% for e, lane in enumerate("xyzw"[:each // components]):
% if distances or not vectors:
                const int x${i}${e} = ${f"x{i}.{lane}" if vectors else f"found[({first} + {i}) * stride + {e}]"}${f" - taken[({first} + {i}) * stride + {e}]" if distances else ""};
% endif
% endfor
% endfor
% for e, lane in enumerate("xyzw"[:each]):
<% x = [f"x{i}.{lane}" if vectors and not distances else f"x{i}{0 if components > 1 else e}" for i in range(count)]; mark = "m" if components > 1 and e else "" %>
                ## Of sums that may be longer than a signed number the bits that count are right.
                times = (int)((${" + ".join(f"({step})(({long}){x[i]} * i{mark}{i})" for i in range(count))} + 2147483648) >> 32);
                y = double_from_int((int)(${" + ".join(f"(unsigned){x[i]} * (unsigned)f{mark}{i}" for i in range(count))} - (unsigned)times * (unsigned)of_group));
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
<% at = first = 0 %>\
% for count, alike in groupby(sizes):
<% end = at + len(list(alike)); begin = f"{count} * g" + (f" + {first - count * at}" if first != count * at else "") %>\
% if end - at > 1:
        ${p.unrolled_by(w.table_steps)}
        for (int g = ${at}; g < ${end}; ++g)
${group("g", f"({begin})" if "+" in begin else begin, count)}
% else:
${group(at, first, count)}
% endif
<% first += count * (end - at); at = end %>\
% endfor
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
<%sums:result count="${system.digits}" base="${2 * PLACE}" weight="${-2 * system.bits}" each="${each}" resident="${resident}" parts="${components}">
${digits_of_sums()}
</%sums:result>
% endif
