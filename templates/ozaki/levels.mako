## The level of each element of a product, from products of sizes: neighbours of a row a work-item.
## w: Writer, levels: for each level its number and the margin, from the last one to the first; each: elements of
## a work-item; fine: bits of what sums tell. brief: whether all that is told is the list of direct elements, as far as it goes, and
## whether there are others than these and than those of the first level; else there is a mask of levels, 0 where none is passed, and told, for
## each of ``told_levels``, in which rows and columns elements have it.
<%
    p, long = w.platform, w.platform.index
    least = levels[-1][0]
    vectors = w.memory_vectors and sums == "int32"
%>
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = (n + ${each - 1}) / ${each};
    const ${long} row = item / items, begin = item % items * ${each};
    if (row >= m)
        return;
    const ${long} i = a_first + row, end = begin + ${each} < n ? begin + ${each} : n;
    const int a_exponent = a_exponents[i], a_range = a_exponent - a_least[i], a_from = a_begin[i], a_to = a_last[i];
    const ${long} a_sum = a_sums[i];
    const int a_lifted = a_lift[i];
    ${long} both[${each}];
    ${p.unroll}
    for (int e = 0; e < ${each}; ++e)
        both[e] = 0;
    for (${long} part = 0; part < parts; ++part) {
% if vectors:
        const int${each} found = *(${p.const_pointer.format(f"int{each}")})(products + part * part_stride + row * row_stride + begin);
% for e, lane in enumerate("xyzw"):
        both[${e}] += found.${lane};
% endfor
% else:
        for (int e = 0; e < ${each}; ++e)
            both[e] += (${long})products[part * part_stride + row * row_stride + begin + e];
% endif
    }
    ${p.unroll}
    for (int e = 0; e < ${each}; ++e) {
        const ${long} col = begin + e, j = b_first + col;
        int level = 0;
        if (col >= end)
            break;
        const int b_exponent = b_exponents[j];
        if (a_exponent == ${special} || b_exponent == ${special} || a_to < b_begin[j] || b_last[j] < a_from) {
            level = ${least};
        } else {
            const int b_range = b_exponent - b_least[j], widest = a_range > b_range ? a_range : b_range;
            const int lift = a_lifted + b_lift[j];
            const ${long} lost = a_sum + b_sums[j];
% for level, margin in levels:
            {
                const int more = ${margin + fine - 2 * bits} - lift;
                const ${long} needed = more < 0 ? lost << -more : (lost + (((${long})1 << more) - 1)) >> more;
                if (widest <= ${margin - 2} || both[e] >= needed)
                    level = ${level};
            }
% endfor
        }
% if not brief:
        mask[mask_start + row * mask_row + col * mask_col] = (${p.int8})level;
% endif
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
% if not brief:
% for place, level in enumerate(told_levels):
        if (level == ${level}) {
            told[${place} * (all_rows + all_columns) + i] = 1;
            told[${place} * (all_rows + all_columns) + all_rows + j] = 1;
        }
% endfor
% endif
    }
}
