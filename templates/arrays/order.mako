## The order of the elements of each row, by merging: indices of ever longer runs that are in order.
## Equal elements keep their places.
## networks["compare"] of values; dtype of plain numbers; descending, run, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/before.mako" import="before"/>
<%!
    from portmp.codegen.elements import Elements, ordering
%>
<%
    p, long = w.platform, w.platform.index
    x = Elements(w, "x", dtype)
%>
${arithmetic(w, list(networks.values()))}
${before(w, networks, dtype, descending)}
/* each work-item puts the indices of ${run} neighbours in order, one after the other */
${p.kernel.format(threads)} ${head("order_runs")}
{
    const ${long} id = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (id >= n)
        return;
    const ${long} row = id / runs;
    const ${long} first = id % runs * ${run};
    const ${long} last = first + ${run} < k ? first + ${run} : k;
    const ${long} base = x_start + row * x_row;
    ${p.pointer.format(long)}mine = to + row * k;
    for (${long} i = first; i < last; ++i) {
        const ${long} here = base + i * x_col;
        const ${x.type} value = ${x.load("here")};
        ${long} place = i;
        for (; place > first; --place) {
            const ${long} there = base + mine[place - 1] * x_col;
            const ${x.type} other = ${x.load("there")};
            if (!${ordering(dtype, descending)}(value, other))
                break;
            mine[place] = mine[place - 1];
        }
        mine[place] = i;
    }
}

/* two runs become one: each element finds how many of the other run stand before it */
${p.kernel.format(threads)} ${head("order_merge")}
{
    const ${long} i = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= n)
        return;
    const ${long} row = i / k;
    const ${long} place = i % k;
    const ${long} base = x_start + row * x_row;
    ${p.const_pointer.format(long)}mine = from + row * k;
    const ${long} start = place / (2 * width) * (2 * width);
    const int second = place - start >= width;
    const ${long} middle = start + width < k ? start + width : k;
    ${long} low = second ? start : middle;
    ${long} high = second ? middle : start + 2 * width < k ? start + 2 * width : k;
    const ${long} other = low;
    const ${long} here = base + mine[place] * x_col;
    const ${x.type} value = ${x.load("here")};
    while (low < high) {
        const ${long} probe = low + (high - low) / 2;
        const ${long} there = base + mine[probe] * x_col;
        const ${x.type} found = ${x.load("there")};
        /* equals of the first run stand before those of the second */
        if (second ? !${ordering(dtype, descending)}(value, found) : ${ordering(dtype, descending)}(found, value))
            low = probe + 1;
        else
            high = probe;
    }
    to[row * k + (second ? place - middle + low : place + low - other)] = mine[place];
}
