## Interactions of a thread's targets with the sources of a tile. bodies: Sources, s: the schedule

## The tile's sources one after the other; tiles that need no test for a target's own term have loops
## of their own.
<%def name="pairs(bodies)">\
<%
    p = w.platform
    untested = layout.untested(w.format.limbs)
    (_, unroll) = untested[-1]
%>\
% for when, (test, often) in zip(("if", "} else if"), untested):
        ${when} (${test}) {
            ${p.unrolled_by(often)}
            for (int jj = 0; jj < ${s.tile}; ${"++jj" if s.ilp == 1 else f"jj += {s.ilp}"}) {
${pair(bodies, s.ilp, False, " " * 16)}
            }
% endfor
        } else {
            ${p.unrolled_by(min(4, unroll) if w.format.limbs == 1 else 1)}
            for (int jj = 0; jj < count; ++jj) {
${pair(bodies, 1, distinct, " " * 16)}
            }
        }
</%def>

## Sources side by side with each target; checked: whether one of them may be the target itself.
<%def name="pair(bodies, side_by_side, checked, pad)">
<%
    p, steps = w.platform, range(side_by_side)
%>
% for e in steps:
% for i in w.limbs:
${pad}${bodies.read(i, e)}
% endfor
% endfor
${pad}${p.unroll}
${pad}for (int u = 0; u < ${s.targets}; ++u) {
% for axis in "xyz":
% for e in steps:
${pad}    const ${w.value} d${axis}${e} = ${w.function(networks["sub"])}(${bodies.field(axis, e)}, ${axis}[u]);
% endfor
% endfor
% for e in steps:
${pad}    ${"" if checked else "const "}${w.value} inverse${e} = ${w.function(networks["inverse"])}(dx${e}, dy${e}, dz${e}, eps2);
% endfor
% if checked:
${itself(pad + "    ")}\
% endif
% if "acceleration" in wanted:
% for e in steps:
${pad}    const ${w.value} strength${e} = ${w.function(networks["strength"])}(inverse${e}, ${bodies.field("m", e)});
% endfor
% for e in steps:
% for axis in "xyz":
${pad}    a${axis}[u] = ${w.function(networks["accumulate"])}(a${axis}[u], strength${e}, d${axis}${e});
% endfor
% endfor
% endif
% if "potential" in wanted:
% for e in steps:
${pad}    phi[u] = ${w.function(networks["accumulate"])}(phi[u], inverse${e}, ${bodies.field("m", e)});
% endfor
% endif
${pad}}
</%def>

## A target's own term is none.
<%def name="itself(pad)">\
${pad}/* a particle does not attract itself */
% for lane in range(s.width):
${pad}if (jj == ${layout.target("mine", "u", lane)}) {
% for i in w.limbs:
${pad}    ${w.lane_of("inverse0", i, lane)} = ${v.literal(0)};
% endfor
${pad}}
% endfor
</%def>
