## Exponents of rows: the least e with |x| < 2^e for all leading limbs of a row, SPECIAL where one is
## not finite. Rows and one slab of columns a block; slabs are combined by the larger.
## w: Writer, across: whether neighbouring rows are neighbours in memory, and so in a block; ranges:
## whether the least e of the entries other than 0 is found too (subnormal ones count as the least
## there are), and how many are 0; lanes: work-items of a row, threads / lanes rows a block.
<%
    height = threads // lanes
    names = ["most", "least", "zeros"] if ranges else ["most"]

    def joined(name, one, other):
        """What two parts of a row come to."""
        if name == "zeros":
            return f"{one} + {other}"
        return f"{other} {'>' if name == 'most' else '<'} {one} ? {other} : {one}"
    lowest = -51 if w.format.planes[0] == "float64" else -22
%>
<% p, long = w.platform, w.platform.index %>
<% double = w.format.planes[0] == "float64" %>
<% exponent = f"({w.bits('high_word', 'x')} >> 20) & 0x7ff" if double else f"({w.bits('as_int', 'x')} >> 23) & 0xff" %>
${p.kernel.format(threads)} ${head()}
{
    ${p.shared} int ${", ".join(f"{one}s[{threads}]" for one in names)};
    const int thread = (int)${p.axis(p.local_id, 0)};
    const int here = ${f"thread % {height}" if across else f"thread / {lanes}"}, lane = ${f"thread / {height}" if across else f"thread % {lanes}"};
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${height} + here;
    const ${long} first = (${long})${p.axis(p.group_id, 1)} * slab;
    const ${long} last = row >= rows ? first : first + slab < columns ? first + slab : columns;
    int most = 0;
% if ranges:
    int least = ${special}, zeros = 0;
% endif
    ${p.unrolled_by(4)}
    for (${long} col = first + lane; col < last; col += ${lanes}) {
        const ${w.scalar} x = a0[a_start + row * a_row + col * a_col];
        const int e = ${exponent};
        most = e > most ? e : most;
% if ranges:
        {
            const int low = e > 0 ? e : x != 0 ? ${lowest} : ${special};
            least = low < least ? low : least;
            zeros += x == 0;
        }
% endif
    }
% for one in names:
    ${one}s[thread] = ${one};
% endfor
    for (int step = ${lanes // 2}; step > 0; step /= 2) {
        ${p.barrier}
        if (lane < step) {
            const int other = thread + step * ${height if across else 1};
% for one in names:
            ${one}s[thread] = ${joined(one, f"{one}s[thread]", f"{one}s[other]")};
% endfor
        }
    }
    if (lane != 0 || row >= rows)
        return;
% for one in names:
    ${one} = ${one}s[thread];
% endfor
    /* numbers below the normal ones count as the smallest of those */
    most_found[(${long})${p.axis(p.group_id, 1)} * rows + row] = most == ${0x7FF if double else 0xFF} ? ${special} : (most > 1 ? most : 1) - ${1022 if double else 126};
% if ranges:
    least_found[(${long})${p.axis(p.group_id, 1)} * rows + row] = least == ${special} ? least : least - ${1022 if double else 126};
    zeros_found[(${long})${p.axis(p.group_id, 1)} * rows + row] = zeros;
% endif
}

/* the largest of the slabs in the place of the first, and the least alike */
${p.kernel.format(threads)} ${head(f"{name}_combine")}
{
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (row >= rows)
        return;
% for one in names:
    int ${one} = ${one}_found[row];
% endfor
    for (${long} slab = 1; slab < slabs; ++slab) {
% for one in names:
        const int ${one}_here = ${one}_found[slab * rows + row];
        ${one} = ${joined(one, one, f"{one}_here")};
% endfor
    }
% for one in names:
    ${one}_found[row] = ${one};
% endfor
}
