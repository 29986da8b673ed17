## Rows of a matrix as integers, four neighbours of a row a work-item; a template's body cuts them.
## The body finds x0, x1 ...: the 32-bit words of four integers with their bias, and row, col; of complex ones
## those of the real part, then of the imaginary one, a_part elements further.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="power_of_two"/>
<%def name="operand(across=False)">
## w: Writer, integers: how many bits, and the bias; tiled: whether a
## block turns a tile whose rows are neighbours in memory; across: whether columns have exponents too.
<%
    p, long = w.platform, w.platform.index
    double = w.double
    pieces, words = range(integers.pieces), range(integers.words)
    parts = range(integers.components)
    top = integers.pieces - 1
    magic = 6755399441055744.0  ## 1.5 2^52: a sum with it is rounded to an integer
    step = "unsigned " + long
%>
${arithmetic(double, [])}
${power_of_two(double)}
${p.kernel.format(threads)} ${head()}
{
    const int thread = (int)${p.axis(p.local_id, 0)};
% if tiled:
    ## TILE rows and columns: a row of a tile is 32 bytes of residues, one sector of memory
    const ${long} tiles = depth_padded / ${tile};
    const ${long} tile_row = (${long})${p.axis(p.group_id, 0)} / tiles * ${tile};
    const ${long} tile_col = (${long})${p.axis(p.group_id, 0)} % tiles * ${tile};
    const int local_row = thread / ${tile // 4}, local_col = thread % ${tile // 4} * 4;
    const ${long} row = tile_row + local_row, col = tile_col + local_col;
% for i in w.limbs:
    ${p.shared} ${"float" if w.format.planes[i] == "float32" else "double"} held${i}[${tile} * ${tile + 1}];
% endfor
% else:
    const ${long} quad = (${long})${p.axis(p.group_id, 0)} * ${threads} + thread;
    const ${long} row = quad / (depth_padded / 4), col = quad % (depth_padded / 4) * 4;
% endif
    unsigned ${", ".join(f"x{j}[4]" for j in range(len(parts) * len(words)))};
    int shift;
    double up, more;
% for part in parts:
<% beside = " + a_part" if part else "" %>\
% if tiled:
% if part:
    ${p.barrier}
% endif
    for (int e = thread; e < ${tile * tile}; e += ${threads}) {
        const ${long} r = tile_row + e % ${tile}, c = tile_col + e / ${tile};
        const ${long} at = a_start + r * a_row + c * a_col${beside};
% for i in w.limbs:
        held${i}[e / ${tile} * ${tile + 1} + e % ${tile}] = r < rows && c < depth ? a${i}[at] : 0;
% endfor
    }
    ${p.barrier}
% elif not part:
    if (row >= rows_padded)
        return;
% endif
% if not part:
    shift = row < rows ? exponents[exponents_start + row] : ${special};
% endif
% if across:
    ${p.unroll}
    for (int e = 0; e < 4; ++e) {
        const int other = shift != ${special} && col + e < depth ? others[others_start + col + e] : ${special};
        const int both = ${integers.unit} - shift - other;
        /* beyond these numbers no result is compared */
        const int near = both < -2000 ? -2000 : both > 2000 ? 2000 : both;
        up = other == ${special} ? 0.0 : power_of_two(near / 2);
        more = other == ${special} ? 0.0 : power_of_two(near - near / 2);
% else:
% if not part:
    shift = shift == ${special} ? ${special} : ${integers.unit} - shift;
    up = shift == ${special} ? 0.0 : power_of_two(shift / 2);
    more = shift == ${special} ? 0.0 : power_of_two(shift - shift / 2);
% endif
    ${p.unroll}
    for (int e = 0; e < 4; ++e) {
% endif
        double ${", ".join(f"sum{q} = 0.0" for q in pieces)};
        ${long} ${", ".join(f"piece{q}" for q in pieces)};
        if (${'other' if across else 'shift'} != ${special} && col + e < depth) {
% for i in w.limbs:
% if tiled:
            double limb${i} = held${i}[(local_col + e) * ${tile + 1} + local_row];
% else:
            double limb${i} = a${i}[a_start + row * a_row + (col + e) * a_col${beside}];
% endif
            limb${i} = limb${i} * up * more;
% for q in reversed(pieces):
<% large = double.literal(magic * 2.0 ** (48 * q)) %>
            {
                const double high = (limb${i} + ${large}) - ${large};
                sum${q} = sum${q} + high;
% if q:
                limb${i} = limb${i} - high;
% endif
            }
% endfor
% endfor
        }
% for q in pieces:
        sum${q} = ${f"sum{q} * {double.literal(2.0 ** (-48 * q))}" if q else "sum0"} + ${double.literal(magic)};
        piece${q} = (${long})(((${step})(unsigned)(${double.bits("high_word", f"sum{q}")} - 0x43380000) << 32) | (unsigned)${double.bits("low_word", f"sum{q}")});
% endfor
% for q in pieces:
% if integers.bias_of(q):
        piece${q} += (${long})${integers.bias_of(q)};
% endif
% endfor
% for q in pieces:
% if q < top:
        piece${q + 1} += piece${q} >> 48;
        piece${q} &= 0xffffffffffff;
% endif
% endfor
% for j in words:
        x${len(words) * part + j}[e] = ${integers.word_of(j, step)};
% endfor
    }
% endfor
${caller.body()}
}
</%def>
