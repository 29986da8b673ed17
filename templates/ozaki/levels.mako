## The level of each element of a product, from products of sizes: neighbours of a row a work-item.
## w: Writer, levels: for each level its number and the margin, from the last one to the first; each: elements of
## a work-item; fine, lifts: bits of what sums tell sizes in, and the most that sizes are lifted by.
## mask: levels, 0 where none is passed; list: these, as far as it goes; others: whether there are more, or some of other levels but the
## first; told: for each of the levels ``told_levels`` which rows and, but for the first, which columns have such elements.
<%namespace file="/ozaki/integers.mako" import="lift_of"/>
<%
    p, long = w.platform, w.platform.index
    least = levels[-1][0]
%>
% if w.first("lift_of"):
${lift_of(p, fine, lifts)}
% endif
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = (n + ${each - 1}) / ${each};
    const ${long} row = item / items, begin = item % items * ${each};
    if (row >= m)
        return;
    const ${long} i = a_first + row, end = begin + ${each} < n ? begin + ${each} : n;
    const int a_exponent = a_exponents[i], a_range = a_exponent - a_least[i];
    const int a_lift = lift_of(a_sums[i], a_count[i]);
    for (${long} col = begin; col < end; ++col) {
        const ${long} j = b_first + col;
        int level = 0;
        if (a_exponent == ${special} || b_exponents[j] == ${special} || a_last[i] < b_begin[j] || b_last[j] < a_begin[i]) {
            level = ${least};
        } else {
            const int b_range = b_exponents[j] - b_least[j], widest = a_range > b_range ? a_range : b_range;
            const int lift = a_lift + lift_of(b_sums[j], b_count[j]);
            const ${long} lost = a_sums[i] + b_sums[j];
            ${long} both = 0;
            for (${long} part = 0; part < parts; ++part)
                both += (${long})products[part * part_stride + row * row_stride + col];
% for level, margin in levels:
            {
                const int more = ${margin + fine - 2 * bits} - lift;
                const ${long} needed = more < 0 ? lost << -more : (lost + (((${long})1 << more) - 1)) >> more;
                if (widest <= ${margin - 2} || both >= needed)
                    level = ${level};
            }
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
