## The same norms of spans (span_norms.mako) on CPUs: one work-item a block, explicit vectors of rows, or of
## lanes where rows lie together.
## w: Writer of vectors, v: scalar Writer, span: entries, lanes: which add up apart, counts: weights by
## turns, total: all of a span, small, least: numbers, rows: of a block, multiples: of a's and of b's limbs
## that an entry is made of, if not of the first alone
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere, arithmetic"/>
<%namespace file="/blas/span_entries.mako" import="chosen, size"/>
<%!
    from portmp.definition import halvings
%>
<%
    p, long = w.platform, w.platform.index
    fma, div, sqrt = (w.function(networks[role]) for role in ("fma", "div", "sqrt"))
    vectors, own = rows // w.width, lanes // w.width
    ## whole steps of weights
    weights = counts * max(1, lanes // len(counts))

    def weights_at(index):
        return f"weights[{index}]" if w.width == 1 else f"*(const {w.anywhere} *)(weights + {index})"

    def larger(name, than):
        return f"{name} = {than} > {name} ? {than} : {name};"

    def halved(sums, indent):
        """The lanes' sum in the first one, by halves."""
        return "\n".join(
            f"{indent}{sums}[{lane}] = {sums}[{lane}] + {sums}[{lane + apart}];"
            for apart in halvings(lanes)
            for lane in range(apart)
        )
%>
${arithmetic(w, list(networks.values()))}
% if multiples[0] and w.width > 1:
${arithmetic(v, [networks["fma"]])}
% endif
${anywhere(w)}
/* for each matrix and span as many norms as a pitch says, zeros' where there is no row */
${p.kernel_of(1)} ${head()}
{
    ${p.shared} ${w.word} sizes[${span * vectors}];
    const ${w.scalar} weights[${len(weights)}] = {${", ".join(map(v.literal, weights))}};
    const ${long} group = (${long})${p.axis(p.group_id, 0)};
    const int of_a = group < a_blocks, across = of_a ? a_across : b_across;
    const ${long} block = of_a ? group : group - a_blocks;
    const ${long} x_start = of_a ? a_start : b_start, x_batch = of_a ? a_batch : b_batch;
    const ${long} x_row = of_a ? a_row : b_row, x_col = of_a ? a_col : b_col;
    const ${long} height = of_a ? m : n, pitch = of_a ? a_pitch : b_pitch;
${chosen(v, multiples)}\
    const ${long} row_blocks = pitch / ${rows}, spans = (k + ${span - 1}) / ${span};
    const ${long} entry = block / row_blocks / spans, which = block / row_blocks % spans;
    const ${long} row = block % row_blocks * ${rows}, first = which * ${span};
    const ${long} at = x_start + entry * x_batch + row * x_row + first * x_col;
    const int there = k - first < ${span} ? (int)(k - first) : ${span};
    const int filled = height - row < ${rows} ? height > row ? (int)(height - row) : 0 : ${rows};
    const ${long} to = (of_a ? 0 : b_out) + (entry * spans + which) * pitch + row;
    ${w.word} largest[${vectors}], sum[${vectors}];

    if (x_col == 1 && there == ${span}) {
        for (int i = 0; i < ${rows}; ++i) {
            const ${long} x_at = at + i * x_row;
            ${w.word} top = ${w.literal(small)}, inverse, total[${own}];
            ${w.scalar} most = ${v.literal(small)}, part[${lanes}];
% for q in range(own):
            total[${q}] = ${w.literal(0)};
% endfor
            if (i < filled) {
                for (int step = 0; step < ${span}; step += ${w.width}) {
                    const ${w.word} z = ${size(w, networks["fma"], multiples, "x_at + step")};
                    ${larger("top", "z")}
                    sizes[step / ${w.width}] = z;
                }
% for lane in range(w.width):
                ${larger("most", w.lane("top", lane))}
% endfor
                /* no square overflows, and none that counts underflows */
                inverse = ${div}(${w.literal(1)}, ${w.splat("most")});
                for (int step = 0; step < ${span}; step += ${lanes}) {
                    ${p.unroll}
                    for (int q = 0; q < ${own}; ++q) {
                        const ${w.word} z = sizes[step / ${w.width} + q] * inverse;
                        const ${w.word} weight = ${weights_at(f"step % {len(weights)} + q * {w.width}")};
                        total[q] = ${fma}(z * weight, z, total[q]);
                    }
                }
            }
% for lane in range(lanes):
            part[${lane}] = ${w.lane(f"total[{lane // w.width}]", lane % w.width)};
% endfor
${halved("part", " " * 12)}
            ((${w.scalar} *)largest)[i] = most;
            ((${w.scalar} *)sum)[i] = part[0];
        }
    } else {
        ${p.shared_pointer.format(w.scalar)}size = (${p.shared_pointer.format(w.scalar)})sizes;
        const int together = across && x_row == 1 && filled == ${rows};
        for (int place = 0; place < ${span}; ++place) {
            if (together && place < there) {
                ${p.unroll}
                for (int j = 0; j < ${vectors}; ++j)
                    sizes[place * ${vectors} + j] = ${size(w, networks["fma"], multiples, f"at + place * x_col + j * {w.width}")};
                continue;
            }
            for (int i = 0; i < ${rows}; ++i)
                size[place * ${rows} + i] = i < filled && place < there ? ${size(v, networks["fma"], multiples, "at + i * x_row + place * x_col")} : ${v.literal(0)};
        }
        for (int j = 0; j < ${vectors}; ++j) {
            ${w.word} top = ${w.literal(small)}, inverse, total[${lanes}];
            for (int place = 0; place < ${span}; ++place) {
                const ${w.word} z = sizes[place * ${vectors} + j];
                ${larger("top", "z")}
            }
            inverse = ${div}(${w.literal(1)}, top);
% for lane in range(lanes):
            total[${lane}] = ${w.literal(0)};
% endfor
            for (int step = 0; step < ${span}; step += ${lanes}) {
                ${w.word} z;
% for lane in range(lanes):
                z = sizes[(step + ${lane}) * ${vectors} + j] * inverse;
                total[${lane}] = ${fma}(z * ${w.splat(f"weights[step % {len(weights)} + {lane}]")}, z, total[${lane}]);
% endfor
            }
${halved("total", " " * 12)}
            largest[j] = top;
            sum[j] = total[0];
        }
    }
    ${p.unroll}
    for (int j = 0; j < ${vectors}; ++j) {
        largest[j] = ${fma}(largest[j], ${sqrt}(sum[j] * ${w.literal(1 / total)}), ${w.literal(least)});
        ${w.store_vector("out", 0, f"to + j * {w.width}", "largest[j]")}
    }
}
