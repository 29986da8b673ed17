## Norms of spans: of so many neighbours in rows of two matrices, whose squares have weights by turns.
## w: Writer, span: entries, lanes: which add up apart, team: threads that share them, period and
## products: what weights follow, total: of all of a span, small, least: numbers
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, sqrt = (w.function(networks[role]) for role in ("fma", "div", "sqrt"))
    teams, own = threads // team, range(lanes // team)
    entries = [(q, q * team + step) for step in range(0, span, lanes) for q in own]

    turns = sorted({place % period for _, place in entries}) if period else []

    def summed(numbers):
        """Their sum, by halves."""
        half = len(numbers) // 2
        return summed([f"({x} + {y})" for x, y in zip(numbers[:half], numbers[half:])]) if half else numbers[0]
%>
${arithmetic(w, list(networks.values()))}
/* for each matrix and span as many norms as a pitch says, zeros' where there is no row */
${p.kernel.format(threads)} ${name}(
    const ${long} m, const ${long} n, const ${long} k, const ${long} a_blocks,
    const int a_across, const int b_across,
${matrix(w, "a")}\
${matrix(w, "b")}\
    ${w.planes("out", const=False)}, const ${long} b_out,
    const ${long} a_pitch, const ${long} b_pitch)
{
% if team > 1:
    ${p.shared} ${w.scalar} sizes[${threads}], sums[${threads}];
% endif
    const ${long} group = (${long})${p.axis(p.group_id, 0)};
    const int of_a = group < a_blocks, across = of_a ? a_across : b_across;
    const ${long} block = of_a ? group : group - a_blocks;
    const ${long} x_start = of_a ? a_start : b_start, x_batch = of_a ? a_batch : b_batch;
    const ${long} x_row = of_a ? a_row : b_row, x_col = of_a ? a_col : b_col;
    const ${long} height = of_a ? m : n, pitch = of_a ? a_pitch : b_pitch;
    ${p.const_pointer.format(w.scalar)}x0 = of_a ? a0 : b0;
    const ${long} row_blocks = (pitch + ${teams - 1}) / ${teams}, spans = (k + ${span - 1}) / ${span};
    const ${long} entry = block / row_blocks / spans, which = block / row_blocks % spans;
    const int thread = (int)${p.axis(p.local_id, 0)};
% if team > 1:
    /* neighbours read neighbours, in a row or of rows side by side */
    const int mine = across ? thread % ${teams} : thread / ${team};
    const int lane = across ? thread / ${teams} : thread % ${team};
% else:
    const int mine = thread, lane = 0;
% endif
    const ${long} row = block % row_blocks * ${teams} + mine, first = which * ${span};
    ${long} at = x_start + entry * x_batch + row * x_row + (first + lane) * x_col;
    const int there = row >= height ? 0 : k - first < ${span} ? (int)(k - first) : ${span};
    const ${long} next = ${team} * x_col;
    ${w.scalar} z[${len(entries)}], sum[${len(own)}], top[${len(own)}], largest = ${w.literal(small)};
% for turn in turns:
    const int apart${turn} = (lane + ${turn}) % ${period} - ${period // 2};
    ${w.scalar} weight${turn} = (${w.scalar})(apart${turn} < 0 ? -apart${turn} : apart${turn})${f" + {w.literal(products)}" if products else ""};
% if not products:
    weight${turn} = apart${turn} == 0 ? ${w.literal(1)} : weight${turn};
% endif
% endfor

    if (there == ${span}${" && x_col == 1" if team == 1 else ""}) {
% for i, (_, place) in enumerate(entries):
        z[${i}] = ${w.fabs(w.limb("x", 0, f"at + {place}" if team == 1 else "at"))};
% if team > 1:
        at += next;
% endif
% endfor
    } else {
% for i, (_, place) in enumerate(entries):
        z[${i}] = lane + ${place} < there ? ${w.fabs(w.limb("x", 0, f"at + {place} * x_col"))} : ${w.zero()};
% endfor
    }
% for q in own:
    top[${q}] = ${w.literal(small)};
% endfor
% for i, (q, _) in enumerate(entries):
    top[${q}] = z[${i}] > top[${q}] ? z[${i}] : top[${q}];
% endfor
% for q in own:
    largest = top[${q}] > largest ? top[${q}] : largest;
% endfor
% if team > 1:
    sizes[thread] = largest;
    ${p.barrier}
% for other in range(team):
    {
        const ${w.scalar} size = sizes[across ? ${other} * ${teams} + mine : mine * ${team} + ${other}];
        largest = size > largest ? size : largest;
    }
% endfor
% endif
    /* no square overflows, and none that counts underflows */
    const ${w.scalar} inverse = ${div}(${w.literal(1)}, largest);
% for q in own:
    sum[${q}] = ${w.zero()};
% endfor
% for i, (q, place) in enumerate(entries):
    z[${i}] = z[${i}] * inverse;
    sum[${q}] = ${fma}(z[${i}] * ${f"weight{place % period}" if period else w.literal(products)}, z[${i}], sum[${q}]);
% endfor
% if team > 1:
    sums[thread] = ${summed([f"sum[{q}]" for q in own])};
    ${p.barrier}
    if (lane > 0)
        return;
    const ${w.scalar} all = ${summed([f"sums[across ? {other} * {teams} + mine : mine * {team} + {other}]" for other in range(team)])};
% else:
    const ${w.scalar} all = ${summed([f"sum[{q}]" for q in own])};
% endif
    const ${w.scalar} norm = ${fma}(largest, ${sqrt}(all * ${w.literal(1 / total)}), ${w.literal(least)});
    const ${long} to = (of_a ? 0 : b_out) + (entry * spans + which) * pitch + row;
    if (row >= pitch)
        return;
    ${w.store("out", 0, "to", "norm")}
}
