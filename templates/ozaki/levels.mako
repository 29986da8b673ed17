## The level of each element of a product, from products of sizes: neighbours of a row a work-item.
## w: Writer, levels: for each level its number and the margin, from the last one to the first; each: elements of
## a work-item. mask: levels, 0 where none is passed; list: these, as far as it goes; others: whether there are more, or some
## of other levels but the first; told: for each of the levels ``told_levels`` which rows and, but for the
## first, which columns have such elements.
<%
    p, long = w.platform, w.platform.index
%>
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = (n + ${each - 1}) / ${each};
    const ${long} row = item / items, first = item % items * ${each};
    if (row >= m)
        return;
    const ${long} i = a_first + row, end = first + ${each} < n ? first + ${each} : n;
    const int a_exponent = a_exponents[i], a_range = a_exponent - a_least[i];
    ${long} a_alone = 0;
    for (${long} part = 0; part < parts; ++part)
        a_alone += (${long})products[part * part_stride + row * row_stride + n];
    for (${long} col = first; col < end; ++col) {
        const ${long} j = b_first + col;
        ${long} both = 0, alone = a_alone;
        int level = 0;
        for (${long} part = 0; part < parts; ++part) {
            both += (${long})products[part * part_stride + row * row_stride + col];
            alone += (${long})products[part * part_stride + m * row_stride + col];
        }
        if (both == 0 || a_exponent == ${special} || b_exponents[j] == ${special}) {
            level = ${least};
        } else {
            /* where neither is 0: as often at least */
            const ${long} met = k - a_zeros[i] - b_zeros[j];
            const int b_range = b_exponents[j] - b_least[j];
            const int widest = a_range > b_range ? a_range : b_range;
            both += (met > 0 ? met : 0) - alone;
% for level, margin in levels:
<% more = margin - bits %>\
            if (widest <= ${margin - 2} || both >= ${f"(alone + {(1 << more) - 1}) >> {more}" if more > 0 else f"alone << {-more}"})
                level = ${level};
% endfor
        }
        mask[mask_start + row * mask_row + col * mask_col] = (${p.int8})level;
        if (level != ${least}) {
            int kept = 0;
            if (level == 0) {
                const int ticket = ${p.atomics["add", "int32"].format("&tickets[tickets_start]", "1")};
                kept = ticket >= 0 && ticket < most;
                if (kept)
                    list[ticket] = i * down + j * right;
            }
            if (!kept)
                others[others_start] = 1;
        }
        /* many have the first level: of these the rows do */
% for place, level in enumerate(told_levels):
        if (level == ${level}) {
            told[${place} * (all_rows + all_columns) + i] = 1;
% if level != least:
            told[${place} * (all_rows + all_columns) + all_rows + j] = 1;
% endif
        }
% endfor
    }
}
