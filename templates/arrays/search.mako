## Where elements would stand among sorted ones.
## networks["compare"] of values; dtype of plain numbers; right, rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="element"/>
<%namespace file="/arrays/before.mako" import="before"/>
<%!
    from portmp.codegen.elements import Elements, at, ordering
%>
<%
    p, long = w.platform, w.platform.index
    x, sorted_ = Elements(w, "x", dtype), Elements(w, "sorted", dtype)
%>
${arithmetic(w, list(networks.values()))}
${before(w, networks, dtype)}
${p.kernel.format(threads)} ${head()}
{
${element(w, rank, threads)}\
    const ${long} from = ${at("x", rank)};
    const ${x.type} value = ${x.load("from")};
    ${long} low = 0;
    ${long} high = count;
    while (low < high) {
        const ${long} probe = low + (high - low) / 2;
        const ${long} there = sorted_start + probe * sorted_step;
        const ${x.type} found = ${sorted_.load("there")};
        if (${f"!{ordering(dtype)}(value, found)" if right else f"{ordering(dtype)}(found, value)"})
            low = probe + 1;
        else
            high = probe;
    }
    out0[${at("out", rank)}] = low;
}
