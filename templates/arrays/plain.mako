## One operation on plain numbers, in the longest integers of their kind, over arrays of any strides.
## operands: those that are arrays and their dtypes, out: dtype, wide: dtype, expression, helper, rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="element"/>
<%!
    from portmp.codegen.elements import Elements, at, number
%>
<%
    p = w.platform
    long = number(p, wide)
    names = {"W": long, "U": number(p, "uint64"), "x": "x", "y": "y"}
%>
${arithmetic(w, [])}
% if helper:
${p.function} ${long} ${op}(const ${long} x, const ${long} y)
{
% for line in helper.format_map(names).splitlines():
    ${line}
% endfor
}

% endif
${p.kernel.format(threads)} ${head()}
{
${element(w, rank, threads)}\
% for operand, dtype in operands:
    const ${long} ${operand} = (${long})${Elements(w, operand, dtype).load(at(operand, rank))};
% endfor
    out0[${at("out", rank)}] = (${number(p, out)})(${f"{op}(x, y)" if helper else expression.format_map(names)});
}
