## LU with partial pivoting on an augmented matrix (n rows, n + r columns), a column a step.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p, long = w.platform, w.platform.index %>
<% w_planes = w.planes("w", const=False) %>
<%def name="at(index)">${w.element("w", index)}</%def>
<%def name="put(index, value)">
% for i in w.limbs:
    ${w.store("w", i, index, w.word_of(value, i))}
% endfor
</%def>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
/* pivot: the largest leading limb, the first of equals; swap its row up; multipliers below */
${p.kernel.format(threads)} lu_pivot(
    const ${long} n, const ${long} columns, const ${long} col, ${w_planes},
    ${p.pointer.format("int")}singular)
{
    ${p.shared} ${w.scalar} best_value[${threads}];
    ${p.shared} ${long} best_row[${threads}];
    const int thread = (int)${p.axis(p.local_id, 0)};
    ${w.scalar} value = -1;
    ${long} row = n;

    for (${long} i = col + thread; i < n; i += ${threads}) {
        const ${w.scalar} candidate = ${w.fabs("w0[i * columns + col]")};
        if (candidate > value) {
            value = candidate;
            row = i;
        }
    }
    best_value[thread] = value;
    best_row[thread] = row;
    for (int step = ${threads // 2}; step > 0; step /= 2) {
        ${p.barrier}
        if (thread < step) {
            const ${w.scalar} other = best_value[thread + step];
            const ${long} other_row = best_row[thread + step];
            if (other > best_value[thread]
                || (other == best_value[thread] && other_row < best_row[thread])) {
                best_value[thread] = other;
                best_row[thread] = other_row;
            }
        }
    }
    ${p.device_barrier}
    row = best_row[0] < n ? best_row[0] : col;
    if (thread == 0 && !(best_value[0] > 0))
        singular[0] = 1;
    if (row != col) {
        for (${long} j = thread; j < columns; j += ${threads}) {
            const ${long} upper = col * columns + j, lower = row * columns + j;
% for i in w.limbs:
            const ${"float" if w.format.planes[i] == "float32" else "double"} t${i} = w${i}[upper];
            w${i}[upper] = w${i}[lower];
            w${i}[lower] = t${i};
% endfor
        }
    }
    ${p.device_barrier}
    for (${long} i = col + 1 + thread; i < n; i += ${threads}) {
        const ${long} at = i * columns + col, top = col * columns + col;
        const ${w.value} l = ${w.function(networks["div"])}(${at("at")}, ${at("top")});
${put("at", "l")}
    }
}

/* trailing update: w[i][j] -= l[i] u[j] */
${p.kernel.format(threads)} lu_update(
    const ${long} n, const ${long} columns, const ${long} col, ${w_planes})
{
    const ${long} width = columns - col - 1;
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} i = col + 1 + e / width, j = col + 1 + e % width;
    const ${long} at = i * columns + j, left = i * columns + col, top = col * columns + j;
    ${w.value} z;
    if (e >= (n - col - 1) * width)
        return;
    z = ${w.function(networks["fma"])}(${w.function(networks["neg"])}(${at("left")}), ${at("top")}, ${at("at")});
${put("at", "z")}
}

/* back substitution, one unknown: x = w / u */
${p.kernel.format(threads)} lu_divide(
    const ${long} n, const ${long} columns, const ${long} col, ${w_planes})
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} at = col * columns + n + e, top = col * columns + col;
    ${w.value} z;
    if (e >= columns - n)
        return;
    z = ${w.function(networks["div"])}(${at("at")}, ${at("top")});
${put("at", "z")}
}

/* back substitution, the rows above: w[i] -= u[i] x */
${p.kernel.format(threads)} lu_eliminate(
    const ${long} n, const ${long} columns, const ${long} col, ${w_planes})
{
    const ${long} width = columns - n;
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} i = e / width, j = n + e % width;
    const ${long} at = i * columns + j, left = i * columns + col, top = col * columns + j;
    ${w.value} z;
    if (e >= col * width)
        return;
    z = ${w.function(networks["fma"])}(${w.function(networks["neg"])}(${at("left")}), ${at("top")}, ${at("at")});
${put("at", "z")}
}
