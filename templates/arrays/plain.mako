## One operation on plain numbers, in the longest integers of their kind, over arrays of any strides.
## operands: [(name, dtype, is a scalar)], out: dtype, wide: dtype, expression, helper, rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="sizes, element"/>
<%!
    from portmp.codegen.elements import Elements, at, number, strides
%>
<%
    p = w.platform
    long = number(p, wide)
    names = {"W": long, "U": number(p, "uint64"), "x": "x", "y": "y"}
    result = Elements(w, "out", out)
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
${p.kernel.format(threads)} ${name}(
${sizes(w, rank)}\
% for operand, dtype, scalar in operands:
% if scalar:
    const ${long} ${operand},
% else:
    ${Elements(w, operand, dtype).parameter()}, ${strides(p.index, operand, rank)},
% endif
% endfor
    ${result.parameter(const=False)}, ${strides(p.index, "out", rank)})
{
${element(w, rank, threads)}\
% for operand, dtype, scalar in operands:
% if not scalar:
    const ${long} ${operand} = (${long})${operand}0[${at(operand, rank)}];
% endif
% endfor
    out0[${at("out", rank)}] = (${result.type})(${f"{op}(x, y)" if helper else expression.format_map(names)});
}
