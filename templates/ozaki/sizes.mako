## Sizes of entries of rows, of seven bits: four neighbours of a row a work-item, as residues lie.
## w: Writer, packed: whether sizes are bytes, else float32 numbers; tiled: whether a block turns a tile whose rows are neighbours in
## memory.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="power_of_two"/>
<%
    p, long = w.platform, w.platform.index
    double = w.double
%>
${arithmetic(double, [])}
${power_of_two(double)}
${p.kernel.format(threads)} ${head()}
{
    const int thread = (int)${p.axis(p.local_id, 0)};
% if tiled:
    const ${long} tiles = depth_padded / ${tile};
    const ${long} tile_row = (${long})${p.axis(p.group_id, 0)} / tiles * ${tile};
    const ${long} tile_col = (${long})${p.axis(p.group_id, 0)} % tiles * ${tile};
    const int local_row = thread / ${tile // 4}, local_col = thread % ${tile // 4} * 4;
    const ${long} row = tile_row + local_row, col = tile_col + local_col;
    ${p.shared} ${w.scalar} held[${tile * (tile + 1)}];
    for (int e = thread; e < ${tile * tile}; e += ${threads}) {
        const ${long} r = tile_row + e % ${tile}, c = tile_col + e / ${tile};
        held[e / ${tile} * ${tile + 1} + e % ${tile}] = r < rows && c < depth ? a0[a_start + r * a_row + c * a_col] : 0;
    }
    ${p.barrier}
% else:
    const ${long} quad = (${long})${p.axis(p.group_id, 0)} * ${threads} + thread;
    const ${long} row = quad / (depth_padded / 4), col = quad % (depth_padded / 4) * 4;
    if (row >= rows_padded)
        return;
% endif
    const int e_row = row < rows ? exponents[exponents_start + row] : ${special};
    const int shift = e_row == ${special} ? 0 : ${bits} - e_row + lift[lift_start + row];
    const double up = power_of_two(shift / 2), more = power_of_two(shift - shift / 2);
% if packed:
    unsigned found = 0;
% endif
    ${p.unroll}
    for (int e = 0; e < 4; ++e) {
        unsigned size = 0;
        if (e_row != ${special} && col + e < depth) {
            const double scaled = ${double.fabs("(double)" + (f"held[(local_col + e) * {tile + 1} + local_row]" if tiled else "a0[a_start + row * a_row + (col + e) * a_col]"))} * up * more;
            size = scaled < ${largest}.0 ? (unsigned)scaled : ${largest}u;
        }
% if packed:
        found |= size << (8 * e);
% else:
        out[row * depth_padded + col + e] = (float)size;
% endif
    }
% if packed:
    out[(row * depth_padded + col) / 4] = found;
% endif
}
