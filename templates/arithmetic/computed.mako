## An operand that lies nowhere: its elements are what a network makes of others.
## w: Writer, one: its parameter (Computed)
<%page args="w, one"/>
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere"/>
<% p = w.platform %>
% if w.first(one.function(w)):
${anywhere(w)}
/* element \*at\* of ${one.name} */
${p.function} ${w.value} ${one.function(w)}(const ${p.index} at, ${", ".join(t for q in one.parts for t in q.texts(w))})
{
% if any(access == "strided" for _, access in one.operands):
    ${p.index} rest = at;
% for axis in range(one.rank - 1, 0, -1):
    const ${p.index} i${axis} = rest % ${one.name}_size${axis};
    rest /= ${one.name}_size${axis};
% endfor
    const ${p.index} i0 = rest;
% endif
    return ${w.function(one.net)}(${", ".join(one.element(w, *of) for of in one.operands)});
}

% endif
