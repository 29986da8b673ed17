## What is known of rows by all their leading limbs: rows and one slab of columns a block; slabs are combined.
## w: Writer, finds: what, of
##   most: the least e with |x| < 2^e for all, SPECIAL where one is not finite; least: the least e of those that are not 0
##   (subnormal ones count as the least there are); count: how many are not 0; begin, last: where the first and the last stand these stand; sums: of |x| 2^(fine - e), each rounded up, e being the row's exponent.
## across: whether neighbouring rows are neighbours in memory, and so in a block; lanes: work-items of a row, threads / lanes
## rows a block.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="lift_of, power_of_two, size_of"/>
<%
    p, long = w.platform, w.platform.index
    height = threads // lanes
    JOINED = {"most": ">", "last": ">", "least": "<", "begin": "<"}
    BEGIN = {"least": special, "begin": "(int)columns", "last": -1}

    def joined(name, one, other):
        """What two parts of a row come to."""
        return f"{other} {JOINED[name]} {one} ? {other} : {one}" if name in JOINED else f"{one} + {other}"

    def kind(name):
        return long if name == "sums" else "int"
    lowest = -51 if w.format.planes[0] == "float64" else -22
    double = w.format.planes[0] == "float64"
    exponent = f"({w.bits('high_word', 'x')} >> 20) & 0x7ff" if double else f"({w.bits('as_int', 'x')} >> 23) & 0xff"
%>
% if "sums" in finds:
${arithmetic(w.double, [])}
${power_of_two(w.double)}
${size_of(w.double)}
${lift_of(p, fine, lifts)}
% endif
${p.kernel.format(threads)} ${head()}
{
% for one in finds:
    ${p.shared} ${kind(one)} ${one}_here[${threads}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const int here = ${f"thread % {height}" if across else f"thread / {lanes}"}, lane = ${f"thread / {height}" if across else f"thread % {lanes}"};
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${height} + here;
    const ${long} first_col = (${long})${p.axis(p.group_id, 1)} * slab;
    const ${long} end = row >= rows ? first_col : first_col + slab < columns ? first_col + slab : columns;
% for one in finds:
    ${kind(one)} ${one} = ${BEGIN.get(one, 0)};
% endfor
% if "sums" in finds:
    const int e_row = row < rows ? exponents[exponents_start + row] : ${special};
    const int shift = e_row == ${special} ? 0 : ${fine} - e_row;
    const double up = power_of_two(shift / 2), more = power_of_two(shift - shift / 2);
% endif
    ${p.unrolled_by(4)}
    for (${long} col = first_col + lane; col < end; col += ${lanes}) {
        const ${w.scalar} x = a0[a_start + row * a_row + col * a_col];
% if "most" in finds:
        const int e = ${exponent};
        most = e > most ? e : most;
% endif
% if "least" in finds:
        {
            const int low = e > 0 ? e : x != 0 ? ${lowest} : ${special};
            least = low < least ? low : least;
            count += x != 0;
            begin = x != 0 && (int)col < begin ? (int)col : begin;
            last = x != 0 ? (int)col : last;
        }
% endif
% if "sums" in finds:
        sums += e_row == ${special} ? 0 : size_of((double)x, up, more);
% endif
    }
% for one in finds:
    ${one}_here[thread] = ${one};
% endfor
    for (int step = ${lanes // 2}; step > 0; step /= 2) {
        ${p.barrier}
        if (lane < step) {
            const int other = thread + step * ${height if across else 1};
% for one in finds:
            ${one}_here[thread] = ${joined(one, f"{one}_here[thread]", f"{one}_here[other]")};
% endfor
        }
    }
    if (lane != 0 || row >= rows)
        return;
% for one in finds:
    ${one} = ${one}_here[thread];
% endfor
% if "most" in finds:
    /* numbers below the normal ones count as the smallest of those */
    most = most == ${0x7FF if double else 0xFF} ? ${special} : (most > 1 ? most : 1) - ${1022 if double else 126};
% endif
% if "least" in finds:
    least = least == ${special} ? least : least - ${1022 if double else 126};
% endif
% for one in finds:
    ${one}_found[(${long})${p.axis(p.group_id, 1)} * rows + row] = ${one};
% endfor
}

/* all slabs in the place of the first${', and what sizes are lifted by' if 'sums' in finds else ''} */
${p.kernel.format(threads)} ${head(f"{name}_combine")}
{
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (row >= rows)
        return;
% for one in finds:
    ${kind(one)} ${one} = ${one}_found[row];
% endfor
    for (${long} slab = 1; slab < slabs; ++slab) {
% for one in finds:
        const ${kind(one)} ${one}_here = ${one}_found[slab * rows + row];
        ${one} = ${joined(one, one, f"{one}_here")};
% endfor
    }
% for one in finds:
    ${one}_found[row] = ${one};
% endfor
% if "sums" in finds:
    lift_found[row] = lift_of(sums, count[row]);
% endif
}
