## How far results are from the values of long accumulators, rounded up to a word; an element a
## work-item. w: Writer, accumulator: its digits, factors, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/exact/rounded.mako" import="rounded"/>
<%namespace file="/exact/words.mako" import="significands, words"/>
<%
    p, long = w.platform, w.platform.index
    n, digits, unit = list(w.limbs), accumulator.digits, accumulator.unit
    double = w.scalar == "double"
    most = (53, -1074, 1024) if double else (24, -149, 128)
    bits, smallest, overflow = most
    more = smallest - unit
    work = p.pointer.format(long)
%>
${arithmetic(w, [])}
${words(w, accumulator.factors)}
${rounded(w, accumulator)}
% if w.first("next_up"):
/* the next word above a positive number */
${p.function} ${w.scalar} next_up(const ${w.scalar} x)
{
    return ${w.bits("as_double", w.bits("as_long", "x") + " + 1") if double else w.bits("as_float", w.bits("as_int", "x") + " + 1")};
}

% endif
/* element first + item of m x n */
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (item >= count)
        return;
    const ${long} row = (first + item) / n, col = (first + item) % n;
    const ${long} z_at = z_start + row * z_row + col * z_col;
    ${work}mine = work + item * stride;
    ${w.scalar} size;
${significands("x", [w.limb("z", i, "z_at") for i in n], n)}\
    if (mine[${digits} * step] != 0 || (${" | ".join(f"x_place{i}" for i in n)}) < 0) {
% if double:
        { double y; ${w.bits("double_of", "0x7ff80000", "0")} size = y; }
% else:
        size = ${w.bits("as_float", "0x7fc00000")};
% endif
    } else {
        int negative;
        ${long} rest = 0;
% for i in n:
        if (x_bits${i} != 0)
            add_number(mine, step, x_bits${i}, x_place${i} + ${more}, !x_negative${i});
% endfor
        carried${digits}(mine, step);
        negative = mine[${digits - 1} * step] < 0;
        size = ${w.fabs(f"rounded{digits}(mine, step, {bits}, {more}, {overflow}, 0)")};
        ${p.unrolled_by(1)}
        for (int digit = 0; digit < ${digits}; ++digit)
            rest |= mine[digit * step];
        /* rounded down: what is left has the sign of what there was */
        if (rest != 0 && size <= ${w.largest} && (mine[${digits - 1} * step] < 0) == negative)
            size = next_up(size);
    }
    out[out_start + row * out_row + col * out_col] = size;
}
