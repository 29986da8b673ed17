## A thread's targets of gravity, from what is read of them to their sums in memory.
## s: the schedule, layout: its targets, networks: by role, wanted: acceleration, potential or both

## Coordinates, and sums: of a slab so far, and of all.
<%def name="declared()">\
% for axis in "xyz":
    ${w.value} ${axis}[${s.targets}];
% endfor
% for q in layout.sums:
    ${w.type(networks["accumulate"].result)} ${q}[${s.targets}];
    ${w.value} ${q}_total[${s.targets}];
% endfor
</%def>

## Targets are read, sums begin.
<%def name="begun()">\
<% p, long = w.platform, w.platform.index %>\
    ${p.unroll}
    for (int u = 0; u < ${s.targets}; ++u) {
% for lane in range(s.width):
        {
            /* targets beyond the end repeat the last one and are not stored */
            const ${long} i = ${layout.target("first", "u", lane)};
            const ${long} at = target_start + (i < targets ? i : targets - 1) * target_row;
% for axis, at in zip("xyz", ("at", "at + target_axis", "at + 2 * target_axis")):
% for i in w.limbs:
            ${w.lane_of(f"{axis}[u]", i, lane)} = ${v.limb("target", i, at)};
% endfor
% endfor
        }
% endfor
% for q in layout.sums:
        ${q}[u] = ${w.zero(networks["accumulate"].result)};
        ${q}_total[u] = ${w.zero()};
% endfor
    }
</%def>

## Sums within a slab are renormalised.
<%def name="settled(settle)">\
            ${w.platform.unroll}
            for (int u = 0; u < ${s.targets}; ++u) {
% for q in layout.sums:
                ${q}[u] = ${w.function(settle)}(${q}[u]);
% endfor
            }
</%def>

## A slab ends.
<%def name="finished()">\
            ${w.platform.unroll}
            for (int u = 0; u < ${s.targets}; ++u) {
% for q in layout.sums:
                const ${w.value} ${q}_part = ${w.function(networks["finish"])}(${q}[u]);
% if parts:
                ${q}_total[u] = ${q}_part;
% else:
                ${q}_total[u] = next > ${slab} ? ${w.function(networks["add"])}(${q}_total[u], ${q}_part) : ${q}_part;
% endif
                ${q}[u] = ${w.zero(networks["accumulate"].result)};
% endfor
            }
</%def>

## The sums are stored: those of one slab for a second kernel, or the results.
<%def name="ended()">\
<% p, long = w.platform, w.platform.index %>\
    ${p.unroll}
    for (int u = 0; u < ${s.targets}; ++u) {
% for lane in range(s.width):
        {
            const ${long} i = ${layout.target("first", "u", lane)};
            if (i < targets) {
% if parts:
                const ${long} at = (${long})${p.axis(p.group_id, 1)} * ${len(layout.sums)} * targets + i;
% for k, q in enumerate(layout.sums):
% for i in w.limbs:
                part${i}[at + ${k} * targets] = ${w.lane_of(f"{q}_total[u]", i, lane)};
% endfor
% endfor
% else:
% for k, q in enumerate(layout.sums):
<% words = [w.lane_of(f"{q}_total[u]", i, lane) for i in w.limbs] %>\
% if q == "phi":
${stored(v, words, "pot", "pot_start + i * pot_step", "-", " " * 16)}
% else:
${stored(v, words, "out", f"out_start + i * out_row + {k} * out_axis", "", " " * 16)}
% endif
% endfor
% endif
            }
        }
% endfor
    }
</%def>

## A result: its words, or, if it is not finite, the leading one alone.
<%def name="stored(v, words, plane, at, sign, pad)">
${pad}{
${pad}    const ${v.word} leading = ${words[0]};
${pad}    const int finite = ${v.fabs("leading")} <= ${v.largest};
${pad}    ${plane}0[${at}] = ${v.narrow(0, f"{sign}leading")};
% for i, word in enumerate(words):
% if i:
${pad}    ${plane}${i}[${at}] = ${v.narrow(i, f"(finite ? {sign}{word} : {v.literal(0)})")};
% endif
% endfor
${pad}}
</%def>
