## The entry of an index in a table of constants: w: Writer, net: its network
<%page args="w, net"/>
<%
    p, words, table = w.platform, net.result.words, w.one.function(net) + "_table"
    entry = lambda k, at: f"{table}[{f'{words} * ' if words > 1 else ''}{at}{f' + {k}' if k else ''}]"
    limbs = [
        entry(k, "at") if w.width == 1 else
        f"({w.word})({', '.join(entry(k, f'at.s{lane}') for lane in range(w.width))})"
        for k in range(words)
    ]
%>
% if w.first(table):
${p.table} ${w.scalar} ${table}[${len(net.table) * words}] = {
% for row in net.table:
    ${", ".join(w.literal(word, scalar=True) for word in row)},
% endfor
};

% endif
/* ${net.source} */
${w.signature(net)}
{
    const int${w.lanes} at = ${f"convert_int{w.lanes}" if w.width > 1 else "(int)"}(${net.inputs[0][0]});
    return ${limbs[0] if words == 1 else f"{w.make(net.result)}({', '.join(limbs)})"};
}
