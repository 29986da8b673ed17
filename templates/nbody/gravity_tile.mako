## A tile of gravity's sources on its way to the threads: straight from global memory, or through
## memory that a block or a warp shares, the next tile meanwhile where there are two stages.
## bodies: Sources, s: the schedule

## What is declared for tiles.
<%def name="memory(bodies)">\
<% p = w.platform %>\
% if s.shared:
% for i in w.limbs:
    ${p.shared} ${bodies.types[i]} tile${i}[${s.stages * bodies.room * bodies.pieces[i]}];
% endfor
% endif
% for i in w.limbs:
    ${p.const_pointer.format(bodies.types[i])}bodies${i} = (${p.const_pointer.format(bodies.types[i])})(source${i} + source_start);
% endfor
</%def>

## The first tile, before the loop over tiles.
<%def name="first(bodies)">\
% if s.stages == 2:
    int now = 0;
% if not s.async_copy:
% for i in w.limbs:
    ${bodies.types[i]} held${i}[${bodies.held(i)}];
% endfor
% endif
${fetch(bodies, "begin", "0", " " * 4)}
${keep(bodies, "begin", "0", " " * 4)}
    ${bodies.sync}
% endif
</%def>

## What a step of the loop begins with: the next tile sets out, or this one is brought.
<%def name="begun(bodies)">\
% if s.stages == 2:
        if (next < end) {
${fetch(bodies, "next", "1 - now", " " * 12)}
        }
% elif s.shared:
        ${bodies.sync}
% for i in w.limbs:
        for (int q = ${bodies.member}; q < ${layout.times("count", bodies.pieces[i])}; q += ${bodies.team})
            tile${i}[${bodies.begin(i)}q] = bodies${i}[${layout.times("j0", bodies.pieces[i])} + q];
% endfor
        ${bodies.sync}
% endif
</%def>

## What it ends with: the next tile is there.
<%def name="ended(bodies)">\
% if s.stages == 2:
        if (next < end) {
${keep(bodies, "next", "1 - now", " " * 12)}
            ${bodies.sync}
        }
        now = 1 - now;
% endif
</%def>

## A tile on its way: into registers, or straight into shared memory.
<%def name="fetch(bodies, j, buffer, pad)">
% for i in w.limbs:
<%
    from_j, end = (layout.times(text, bodies.pieces[i]) for text in (j, "end"))
%>\
% if s.async_copy:
${pad}for (int q = ${bodies.member}; q < ${s.tile * bodies.pieces[i]}; q += ${bodies.team})
${pad}    if (${from_j} + q < ${end})
${pad}        ${w.platform.async_copy.format(f"&tile{i}[({buffer}) * {bodies.room * bodies.pieces[i]} + {bodies.begin(i)}q]", f"&bodies{i}[{from_j} + q]")}
% else:
${pad}${w.platform.unroll}
${pad}for (int r = 0; r < ${bodies.held(i)}; ++r) {
${pad}    const ${w.platform.index} q = ${from_j} + ${bodies.member} + ${layout.times("r", bodies.team)};
${pad}    if (q < ${end})
${pad}        held${i}[r] = bodies${i}[q];
${pad}}
% endif
% endfor
</%def>

## The tile in place.
<%def name="keep(bodies, j, buffer, pad)">
% if s.async_copy:
${pad}${w.platform.async_wait}
% else:
% for i in w.limbs:
${pad}${w.platform.unroll}
${pad}for (int r = 0; r < ${bodies.held(i)}; ++r)
${pad}    tile${i}[(${buffer}) * ${bodies.room * bodies.pieces[i]} + ${bodies.begin(i)}${bodies.member} + r * ${bodies.team}] = held${i}[r];
% endfor
% endif
</%def>
