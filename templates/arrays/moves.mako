## Elements are moved, bit by bit, whatever they are: out[at] = x[at], over arrays of any strides.
## A condition chooses between x and y, or whether anything is written; offsets say where elements of
## x, or of out, lie beyond their strides. parts: dtypes, operands: (x, y or nothing, cond, offset),
## indexed: the operand that offsets belong to, rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="element"/>
<%!
    from portmp.codegen.elements import at
%>
<%
    p = w.platform
    def place(name):
        return at(name, rank, "offset" if indexed == name else "")
%>
${arithmetic(w, [])}
${p.kernel.format(threads)} ${head()}
{
${element(w, rank, threads)}\
% if "offset" in operands:
    const ${p.index} offset = offset0[${at("offset", rank)}];
% endif
% if "cond" in operands:
    const int chosen = cond0[${at("cond", rank)}];
% if "y" not in operands:
    if (!chosen)
        return;
% endif
% endif
    const ${p.index} to = ${place("out")};
    const ${p.index} from = ${place("x")};
% if "y" in operands:
    const ${p.index} other = ${place("y")};
% endif
% for k in range(len(parts)):
    out${k}[to] = ${f"chosen ? x{k}[from] : y{k}[other]" if "y" in operands else f"x{k}[from]"};
% endfor
}
