## Exponents of rows: the least e with |x| < 2^e for all leading limbs of a row, SPECIAL where one is
## not finite. One slab of columns a block; slabs are combined by the larger.
## w: Writer, across: whether neighbouring rows are neighbours in memory.
<% p, long = w.platform, w.platform.index %>
<% double = w.format.planes[0] == "float64" %>
<% exponent = f"({w.bits('high_word', 'x')} >> 20) & 0x7ff" if double else f"({w.bits('as_int', 'x')} >> 23) & 0xff" %>
% if p.prologue and w.first("prologue"):
${p.prologue}
% endif
${p.kernel.format(threads)} ozaki_exponents(
    const ${long} rows, const ${long} columns, const ${long} slab,
    ${p.const_pointer.format(w.scalar)}a0, const ${long} a_start, const ${long} a_row, const ${long} a_col,
    ${p.pointer.format("int")}found)
{
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} first = (${long})${p.axis(p.group_id, 1)} * slab;
    const ${long} last = first + slab < columns ? first + slab : columns;
    int most = 0;
% if across:
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${threads} + thread;
    if (row >= rows)
        return;
    for (${long} col = first; col < last; ++col) {
% else:
    ${p.shared} int mosts[${threads}];
    const ${long} row = (${long})${p.axis(p.group_id, 0)};
    for (${long} col = first + thread; col < last; col += ${threads}) {
% endif
        const ${w.scalar} x = a0[a_start + row * a_row + col * a_col];
        const int e = ${exponent};
        most = e > most ? e : most;
    }
% if not across:
    mosts[thread] = most;
    for (int step = ${threads // 2}; step > 0; step /= 2) {
        ${p.barrier}
        if (thread < step && mosts[thread + step] > mosts[thread])
            mosts[thread] = mosts[thread + step];
    }
    if (thread != 0)
        return;
    most = mosts[0];
% endif
    /* numbers below the normal ones count as the smallest of those */
    found[(${long})${p.axis(p.group_id, 1)} * rows + row] = most == ${0x7FF if double else 0xFF} ? ${special} : (most > 1 ? most : 1) - ${1022 if double else 126};
}

/* the largest of the slabs, in the place of the first */
${p.kernel.format(threads)} ozaki_exponents_combine(
    const ${long} rows, const ${long} slabs, ${p.pointer.format("int")}found)
{
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    int most;
    if (row >= rows)
        return;
    most = found[row];
    for (${long} slab = 1; slab < slabs; ++slab) {
        const int e = found[slab * rows + row];
        most = e > most ? e : most;
    }
    found[row] = most;
}
