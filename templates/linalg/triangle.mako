## Copies of matrices with zeros beyond a triangle, or, in place, these zeros alone, or the triangle alone.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p, long = w.platform, w.platform.index %>
${arithmetic(w, [])}
/* out: as many rows in all matrices, rows and columns of one as they say; a has so many rows; a diagonal
   that begins in a row; written: 0 everything, 1 zeros beyond the triangle alone, 2 the triangle alone; a
   block has threads / 2^spread rows, a thread ${each} of their columns */
${p.kernel.format(threads)} ${head()}
{
    const int mine = (int)${p.axis(p.local_id, 0)}, width = 1 << spread;
## Divisions of 64 bits would take longer than the copy.
    const unsigned block = (unsigned)${p.axis(p.group_id, 0)};
    const unsigned across = (unsigned)((columns + ${each} * width - 1) / ${each} >> spread);
    const ${long} line = (${long})(block / across) * (${threads} >> spread) + (mine >> spread);
    const ${long} entry = lines <= 0x7fffffff ? (${long})((unsigned)line / (unsigned)rows) : line / rows;
    const ${long} i = line - entry * rows;
    const ${long} first = (${long})(block % across) * (${each} * width) + (mine & (width - 1));
    const int held_here = i < held;
    ${long} at = a_start + entry * a_batch + i * a_row + first * a_col;
    ${long} out_at = out_start + entry * out_batch + i * out_row + first * out_col;
    ${long} below = i - begin - first, left = columns - first;
    if (line >= lines)
        return;
    ${p.unroll}
    for (int q = 0; q < ${each}; ++q) {
        const int ones = unit && below == 0;
        const int inside = held_here && (lower ? below >= 0 : below <= 0);
        if (left > 0 && (ones || !written || inside == (written == 2))) {
% for k in w.limbs:
            ${w.scalar} x${k} = ${"ones ? " + w.literal(1) + " : " if k == 0 else ""}${w.literal(0)};
% endfor
            if (inside && !ones) {
% for k in w.limbs:
                x${k} = ${w.limb("a", k, "at")};
% endfor
            }
% for k in w.limbs:
            ${w.store("out", k, "out_at", f"x{k}")}
% endfor
        }
        below -= width;
        left -= width;
        at += width * a_col;
        out_at += width * out_col;
    }
}
