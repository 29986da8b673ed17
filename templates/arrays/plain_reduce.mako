## Plain numbers of each row reduced to one, in the longest integers of their kind.
## source, out, wide: dtypes, start, text: of two numbers, part (elements of a block), threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codegen.elements import Elements, number
    from portmp.definition import halvings
%>
<%
    p, long, kind = w.platform, w.platform.index, number(w.platform, wide)
    names = {"T": kind, "U": number(p, "uint64")}
    x = Elements(w, "x", source)
%>
${arithmetic(w, [])}
/* a block reduces ${part} elements of a row */
${p.kernel.format(threads)} ${head()}
{
    ${p.shared} ${kind} sums[${threads}];
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} block = (${long})${p.axis(p.group_id, 0)};
    const ${long} first = block % blocks * ${part};
    const ${long} last = first + ${part} < k ? first + ${part} : k;
    ${kind} sum = ${start};

    for (${long} i = first + thread; i < last; i += ${threads}) {
        const ${kind} next = (${kind})${x.load("x_start + block / blocks * x_row + i * x_col")};
        sum = ${text.format("sum", "next", **names)};
    }
    sums[thread] = sum;
% for distance in halvings(threads):
    ${p.barrier}
    if (thread < ${distance})
        sums[thread] = ${text.format("sums[thread]", f"sums[thread + {distance}]", **names)};
% endfor
    if (thread == 0)
        out0[block] = (${number(p, out)})sums[0];
}
