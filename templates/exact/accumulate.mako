## Exact sums in long accumulators: a work-item takes every so-many-th term of an element's sum.
## w: Writer, accumulator: its digits, factors: 2 for products, 1 for values, addend: whether beta c
## is added; threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/exact/words.mako" import="products, significands, words"/>
<%
    p, long = w.platform, w.platform.index
    n, digits, product = list(w.limbs), accumulator.digits, accumulator.factors == 2
%>
${arithmetic(w, [])}
${words(w, accumulator.factors)}
/* accumulators begin so far apart, their digits follow each other by steps;
   element first + item % count of m x n, every parts-th of its k terms from item / count on */
${p.kernel.format(threads)} ${name}(
    const ${long} n, const ${long} k, const ${long} first, const ${long} count, const ${long} parts,
    ${w.planes("a", const=True)}, const ${long} a_start, const ${long} a_row, const ${long} a_col,
% if product:
    ${w.planes("b", const=True)}, const ${long} b_start, const ${long} b_row, const ${long} b_col,
% endif
% if addend:
    ${w.planes("c", const=True)}, const ${long} c_start, const ${long} c_row, const ${long} c_col,
    ${w.scalars("beta")},
% endif
    ${p.pointer.format(long)}work, const ${long} apart, const ${long} step)
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = count * parts;
    if (item >= items)
        return;
    const ${long} element = first + item % count, part = item / count;
    const ${long} row = element / n, col = element % n;
    ${p.pointer.format(long)}mine = work + item * apart;
    ${long} special = 0, carry = 0;
    ${long} a_at = a_start + row * a_row + part * a_col;
% if product:
    ${long} b_at = b_start + part * b_row + col * b_col;
% endif
    ${p.unrolled_by(1)}
    for (int digit = 0; digit < ${digits}; ++digit)
        mine[digit * step] = 0;
    for (${long} i = part; i < k; i += parts) {
${significands("x", [w.limb("a", i, "a_at") for i in n], n)}\
% if product:
${significands("y", [w.limb("b", i, "b_at") for i in n], n)}\
${products("x", "y", n)}\
        b_at += parts * b_row;
% else:
        if ((${" | ".join(f"x_place{i}" for i in n)}) < 0) {
            ++special;
        } else {
% for i in n:
            if (x_bits${i} != 0)
                add_number(mine, step, x_bits${i}, x_place${i}, x_negative${i});
% endfor
        }
% endif
        a_at += parts * a_col;
    }
% if addend:
    if (part == 0) {
        const ${long} c_at = c_start + row * c_row + col * c_col;
${significands("x", [w.limb("c", i, "c_at") for i in n], n)}\
${significands("y", [f"beta{i}" for i in n], n)}\
${products("x", "y", n)}\
    }
% endif
    ${p.unrolled_by(1)}
    for (int digit = 0; digit < ${digits - 1}; ++digit) {
        carry += mine[digit * step];
        mine[digit * step] = carry & 0xffffffff;
        carry >>= 32;
    }
    mine[${digits - 1} * step] = carry;
    mine[${digits} * step] = special;
}
