## What the first halves of reductions share.
<%!
    from portmp.definition import halvings
%>

## Lanes in shared memory combine pairwise with halving distance. The caller's body opens a block for
## the threads of a distance; there z, or low, combines with what lies at other.format(distance) in
## shared memory and goes to at.
<%def name="lane_tree(w, combine, memory, other, at='thread', low='', pad='    ')">\
% for distance in halvings(lanes):

${pad}${w.platform.barrier}
${caller.body(distance=distance)}\
${pad}    ${f"const {w.value} z" if low else "z"} = ${w.function(combine)}(${low or "z"}, ${w.pack(f"{memory}{i}[{other.format(distance)}]" for i in w.limbs)});
% for i in w.limbs:
${pad}    ${memory}${i}[${at}] = ${w.word_of("z", i)};
% endfor
${pad}}
% endfor

</%def>
