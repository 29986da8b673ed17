## Norms of spans: of so many neighbours in rows of two matrices, whose squares have weights by turns.
## w: Writer, span: entries, lanes: threads that share one, period and products: what weights follow,
## unit: which they are multiplied by, total: of all of a span, small, least: numbers, multiples: of a's
## and of b's limbs that an entry is made of, if not of the first alone
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/span_entries.mako" import="chosen, size"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, sqrt = (w.function(networks[role]) for role in ("fma", "div", "sqrt"))
    teams, steps = threads // lanes, range(0, span, lanes)
    turns = sorted({step % period for step in steps}) if period else []

    def summed(numbers):
        """Their sum, by halves."""
        half = len(numbers) // 2
        return summed([f"({x} + {y})" for x, y in zip(numbers[:half], numbers[half:])]) if half else numbers[0]
%>
${arithmetic(w, list(networks.values()))}
/* for each matrix and span as many norms as a pitch says, zeros' where there is no row */
${p.kernel.format(threads)} ${head()}
{
    ${p.shared} ${w.scalar} sizes[${threads}], sums[${threads}];
    const ${long} group = (${long})${p.axis(p.group_id, 0)};
    const int of_a = group < a_blocks, across = of_a ? a_across : b_across;
    const ${long} block = of_a ? group : group - a_blocks;
    const ${long} x_start = of_a ? a_start : b_start, x_batch = of_a ? a_batch : b_batch;
    const ${long} x_row = of_a ? a_row : b_row, x_col = of_a ? a_col : b_col;
    const ${long} height = of_a ? m : n, pitch = of_a ? a_pitch : b_pitch;
${chosen(w, multiples)}\
    const ${long} row_blocks = (pitch + ${teams - 1}) / ${teams}, spans = (k + ${span - 1}) / ${span};
    const ${long} entry = block / row_blocks / spans, which = block / row_blocks % spans;
    const int thread = (int)${p.axis(p.local_id, 0)};
    /* neighbours read neighbours, in a row or of rows side by side */
    const int mine = across ? thread % ${teams} : thread / ${lanes};
    const int lane = across ? thread / ${teams} : thread % ${lanes};
    const ${long} row = block % row_blocks * ${teams} + mine, first = which * ${span};
    ${long} at = x_start + entry * x_batch + row * x_row + (first + lane) * x_col;
    const int there = row >= height ? 0 : k - first < ${span} ? (int)(k - first) : ${span};
    const ${long} next = ${lanes} * x_col;
    ${w.scalar} z[${len(steps)}], sum = ${w.zero()}, largest = ${w.literal(small)};
% for turn in turns:
    const int apart${turn} = (lane + ${turn}) % ${period} - ${period // 2};
    ${w.scalar} weight${turn} = (${w.scalar})(apart${turn} < 0 ? -apart${turn} : apart${turn})${f" + {w.literal(products)}" if products else ""};
% if unit != 1:
    weight${turn} = weight${turn} * ${w.literal(unit)};
% endif
% if not products:
    weight${turn} = apart${turn} == 0 ? ${w.literal(1)} : weight${turn};
% endif
% endfor

    if (there == ${span}) {
% for i in range(len(steps)):
        z[${i}] = ${size(w, networks["fma"], multiples, "at")};
        at += next;
% endfor
    } else {
% for i, step in enumerate(steps):
        z[${i}] = lane + ${step} < there ? ${size(w, networks["fma"], multiples, f"at + {step} * x_col")} : ${w.zero()};
% endfor
    }
% for i in range(len(steps)):
    largest = z[${i}] > largest ? z[${i}] : largest;
% endfor
    sizes[thread] = largest;
    ${p.barrier}
% for other in range(lanes):
    {
        const ${w.scalar} size = sizes[across ? ${other} * ${teams} + mine : mine * ${lanes} + ${other}];
        largest = size > largest ? size : largest;
    }
% endfor
    /* no square overflows, and none that counts underflows */
    const ${w.scalar} inverse = ${div}(${w.literal(1)}, largest);
% for i, step in enumerate(steps):
    z[${i}] = z[${i}] * inverse;
    sum = ${fma}(z[${i}] * ${f"weight{step % period}" if period else w.literal(products * unit)}, z[${i}], sum);
% endfor
    sums[thread] = sum;
    ${p.barrier}
    if (lane > 0)
        return;
    const ${w.scalar} all = ${summed([f"sums[across ? {other} * {teams} + mine : mine * {lanes} + {other}]" for other in range(lanes)])};
    const ${w.scalar} norm = ${fma}(largest, ${sqrt}(all * ${w.literal(1 / total)}), ${w.literal(least)});
    const ${long} to = (of_a ? 0 : b_out) + (entry * spans + which) * pitch + row;
    if (row >= pitch)
        return;
    ${w.store("out", 0, "to", "norm")}
}
