## The kernel that tells how far results are off at most, from what is left of products' exact sums once
## the results are taken from them; a template's body finds that: a few neighbours of a row a work-item, the
## first in column ``first`` of ``row``. For each element e of them the body sets s0[e], s1[e] ...: digits, the
## lowest first. Sums and residues stand in whole tiles, so that all of them may be read.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="power_of_two"/>
<%def name="distances(count, base, bits, each, resident)">
## count: digits of base 2^base, bits: of operands, each: elements of a work-item; resident: blocks that a
## compute unit must hold. raised, smallest: what bounds are multiplied by, the smallest subnormal number.
<%
    p, long, double = w.platform, w.platform.index, w.double
    places = range(count)
    top = places[-1]
%>
${arithmetic(w, [])}
${arithmetic(double, [])}
${power_of_two(double)}
/* cut, known, lost: what is bounded: what operands were cut off, in the integers' unit; all, in that of
   2^(the exponents' sum); what may underflow */
${p.kernel_of(threads, resident)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = (n + ${each - 1}) / ${each};
    const ${long} row = item / items, first = item % items * ${each};
    double ${", ".join(f"s{t}[{each}]" for t in places)};
    if (row >= m)
        return;
    ${p.unroll}
    for (int e = 0; e < ${each}; ++e) {
% for t in places:
        s${t}[e] = 0.0;
% endfor
    }
${caller.body()}
    ${p.unroll}
    for (int e = 0; e < ${each}; ++e) {
        const ${long} col = first + e;
        int scale, here, near, rest;
        double size;
        ${w.scalar} value, bound;
        if (col >= n)
            return;
        scale = a_exponents[a_first + row] + b_exponents[b_first + col];
        here = scale >= least && scale <= most;
        size = s${top}[e];
% for t in reversed(places[:-1]):
        size = ${double.fma("size", double.literal(2.0 ** base), f"s{t}[e]")};
% endfor
        size = here ? ${double.fabs("size")} + cut : known;
        scale = here ? scale - ${2 * bits} : scale;
        near = scale < -1000 ? -1000 : scale > 1000 ? 1000 : scale;
        rest = scale - near < -1022 ? -1022 : scale - near > 1023 ? 1023 : scale - near;
        size = size * power_of_two(near) * power_of_two(rest) * ${double.literal(raised)};
        bound = (${w.scalar})(here ? size : size + lost) + ${w.literal(4 * smallest)};
        value = z[z_start + row * z_row + col * z_col];
        /* not a number where it is not known */
        value = (scale > most ? ${w.largest} : value) * 2;
        out[out_start + row * out_row + col * out_col] = bound + (value - value);
    }
}
</%def>
