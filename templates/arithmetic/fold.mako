## A loop over rows of constants for each stage: w: Writer, net: its network
<%page args="w, net"/>
<%!
    from portmp.networks import get
    from portmp.networks.language import cut, parts_of
%>
<%
    p, scalar = w.platform, w.one.function(net)
    def made(kind, words):
        return words[0] if kind.words == 1 else f"{w.make(kind)}({', '.join(words)})"
    def held(name, kind):
        return [name] if kind.words == 1 else [f"{name}.x{k}" for k in range(kind.words)]
    operands = net.inputs if net.start else net.inputs[1:]
    name, kind = net.inputs[0]
    started = [w.literal(word) for word in net.start] or held(name, kind)
    before = None
%>
% for s, stage in enumerate(net.stages):
% if len(stage.rows) > 1 and w.first(f"{scalar}_rows{s}"):
${p.constant} ${w.scalar} ${scalar}_rows${s}[${len(stage.rows) * len(stage.rows[0])}] = {
% for row in stage.rows:
    ${", ".join(w.literal(word, scalar=True) for word in row)},
% endfor
};

% endif
% endfor
/* ${net.source}; error ${net.bound} */
${w.signature(net)}
{
% for s, stage in enumerate(net.stages):
<%
    step = get(stage.step)
    kinds = [kind for _, kind in step.inputs]
    taken, size = len(operands) + 1, len(stage.rows[0])
    state = started if before is None else held(f"z{s - 1}", before)
    state = (state + [w.literal(0)] * kinds[0].words)[: kinds[0].words]
    given = [
        name if kind.words == whole.words else made(kind, held(name, whole)[: kind.words])
        for (name, whole), kind in zip(operands, kinds[1:taken])
    ]
    row = [w.splat(f"{scalar}_rows{s}[{f'{size} * ' if size > 1 else ''}i{f' + {k}' if k else ''}]") for k in range(size)]
    if len(stage.rows) == 1:
        row = [w.literal(word) for word in stage.rows[0]]
    constants = [made(kind, part) for kind, part in zip(kinds[taken:], parts_of(row, kinds[taken:]))]
    before = step.result
    call = f"{w.function(step)}({', '.join([f'z{s}', *given, *constants])})"
%>\
    ${w.type(kinds[0])} z${s} = ${made(kinds[0], state)};
% if len(stage.rows) == 1:
    z${s} = ${call};
% else:
    for (int i = 0; i < ${len(stage.rows)}; ++i)
        z${s} = ${call};
% endif
% endfor
    return z${len(net.stages) - 1};
}
