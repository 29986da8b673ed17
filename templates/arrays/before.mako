## In which order elements stand, as a function: whether a stands before b. NaN is the greatest.
## networks["compare"] of values; dtype of plain numbers
<%!
    from portmp.codegen.elements import Elements, ordering as named
%>
<%def name="before(w, networks, dtype, descending=False)">
<%
    p, kind = w.platform, Elements(w, "x", dtype).type
    a, b = ("b", "a") if descending else ("a", "b")
%>
% if w.first(named(dtype, descending)):
/* whether a stands before b, in ${"descending" if descending else "ascending"} order */
${p.function} int ${named(dtype, descending)}(const ${kind} a, const ${kind} b)
{
% if dtype:
    return ${a} < ${b};
% else:
    const ${w.word} a0 = ${w.word_of(a, 0)};
    const ${w.word} b0 = ${w.word_of(b, 0)};
    if (a0 != a0 || b0 != b0)
        return a0 == a0;
    return ${w.function(networks["compare"])}(${a}, ${b}) < 0;
% endif
}

% endif
</%def>
