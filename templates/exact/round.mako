## Values from long accumulators: each limb is what is left, rounded; an element a work-item.
## w: Writer, accumulator: its digits, places: how limbs are rounded, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/exact/rounded.mako" import="rounded"/>
<%
    p, long = w.platform, w.platform.index
    digits, unit = accumulator.digits, accumulator.unit
    double = w.scalar == "double"
    work = p.pointer.format(long)
%>
${arithmetic(w, [])}
${rounded(w, accumulator)}
/* element first + item of m x n */
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (item >= count)
        return;
    const ${long} row = (first + item) / n, col = (first + item) % n;
    const ${long} out_at = out_start + row * out_row + col * out_col;
    ${work}mine = work + item * stride;
    int left = 1;
% for i in w.limbs:
    ${w.scalar} z${i} = ${w.literal(0)};
% endfor
    if (mine[${digits} * step] != 0) {
        left = 0;
% if double:
        { double y; ${w.bits("double_of", "0x7ff80000", "0")} z0 = y; }
% else:
        z0 = ${w.bits("as_float", "0x7fc00000")};
% endif
    } else {
        carried${digits}(mine, step);
    }
% for i, place in enumerate(places):
% if place.bits:
    if (left) {
        z${i} = rounded${digits}(mine, step, ${place.bits}, ${place.smallest - unit}, ${place.overflow}, ${int(place.truncates)});
% if i:
        z${i} = ${w.fabs(f"z{i}")} <= ${w.largest} ? z${i} : ${w.literal(0)};
% elif len(places) > 1:
        left = ${w.fabs("z0")} <= ${w.largest};
% endif
    }
% endif
% endfor
% for i in w.limbs:
    ${w.store("out", i, "out_at", f"z{i}")}
% endfor
}
