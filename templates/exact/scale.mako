## Exact sums times alpha, plus beta c, in longer accumulators; an element a work-item.
## w: Writer, given: the sums' accumulators, accumulator: the results', addend: whether beta c is
## added; threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/exact/words.mako" import="products, significands, words"/>
<%
    p, long = w.platform, w.platform.index
    n, digits, top = list(w.limbs), accumulator.digits, given.digits - 1
%>
${arithmetic(w, [])}
${words(w, accumulator.factors)}
/* element first + item of m x n */
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (item >= count)
        return;
    ${p.pointer.format(long)}sum = sums + item * sums_stride;
    ${p.pointer.format(long)}mine = work + item * stride;
    ${long} special = sum[${top + 1} * sums_step], carry = 0;
    ${p.unrolled_by(1)}
    for (int digit = 0; digit < ${digits}; ++digit)
        mine[digit * step] = 0;
${significands("y", [f"alpha{i}" for i in n], n)}\
    /* digits from 0 to 2^32 - 1; what is carried last has the sign */
    ${p.unrolled_by(1)}
    for (int digit = 0; digit <= ${top}; ++digit) {
        carry += sum[digit * sums_step];
        const int negative = digit == ${top} && carry < 0;
        const unsigned ${long} bits = (unsigned ${long})(digit < ${top} ? carry & 0xffffffff : negative ? -carry : carry);
        carry >>= 32;
        if (bits == 0)
            continue;
% for i in n:
        if (y_bits${i} != 0)
            add_product(mine, step, bits, y_bits${i}, 32 * digit + y_place${i}, negative != y_negative${i});
% endfor
    }
% if addend:
    {
        const ${long} row = (first + item) / n, col = (first + item) % n;
        const ${long} c_at = c_start + row * c_row + col * c_col;
${significands("x", [w.limb("c", i, "c_at") for i in n], n)}\
${significands("z", [f"beta{i}" for i in n], n)}\
${products("x", "z", n, more=(accumulator.factors - 2) * -given.unit // 2)}\
    }
% endif
    mine[${digits} * step] = special;
}
