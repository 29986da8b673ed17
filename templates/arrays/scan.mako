## Running sums or products along rows: a work-item goes through a chunk in order, and what the chunks
## before it come to is combined with its elements afterwards.
## networks["step"] of values; dtype and text of plain numbers; chunk, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codegen.elements import Elements, number
%>
<%
    p, long = w.platform, w.platform.index
    x, result, total = (Elements(w, name, dtype) for name in ("x", "out", "total"))
    names = {"T": x.type, "U": number(p, "uint64")}

    def step(a, b):
        return text.format(a, b, **names) if dtype else f"{w.function(networks['step'])}({a}, {b})"
%>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head("scan_chunks")}
{
    const ${long} id = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} row = id / chunks;
    const ${long} which = id % chunks;
    if (row >= rows)
        return;
    const ${long} first = which * ${chunk};
    const int count = k - first < ${chunk} ? (int)(k - first) : ${chunk};
    ${long} from = x_start + row * x_row + first * x_col;
    ${long} to = out_start + row * out_row + first * out_col;
    ${x.type} sum = ${x.load("from")};
    for (int i = 1; i < count; ++i) {
% for line in result.store("to", "sum"):
        ${line}
% endfor
        from += x_col;
        to += out_col;
        const ${x.type} next = ${x.load("from")};
        sum = ${step("sum", "next")};
    }
% for line in result.store("to", "sum"):
    ${line}
% endfor
% if dtype:
    total0[id] = sum;
% else:
% for i in w.limbs:
    total${i}[id] = ${w.word_of("sum", i)};
% endfor
% endif
}

/* the running totals of the chunks before each but a row's first are combined with its elements */
${p.kernel.format(threads)} ${head("scan_carry")}
{
    const ${long} i = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= n)
        return;
    const ${long} row = i / k;
    const ${long} which = i % k / ${chunk};
    if (which == 0)
        return;
    const ${long} to = out_start + row * out_row + i % k * out_col;
    const ${long} before = row * chunks + which - 1;
    const ${x.type} carry = ${total.load("before") if dtype else w.pack(f"total{k}[before]" for k in w.limbs)};
    const ${x.type} here = ${result.load("to")};
    const ${x.type} sum = ${step("carry", "here")};
% for line in result.store("to", "sum"):
    ${line}
% endfor
}
