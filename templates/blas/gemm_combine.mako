## Second half of a split GEMM: adds the slabs of each element in order, then alpha and beta.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<% p, long = w.platform, w.platform.index %>
${arithmetic(w, [networks["add"], networks["mul"]])}
${leading_chain(w, slab)}
/* one element a work-item: slabs ascending, special values, alpha and beta */
${p.kernel.format(threads)} ${head()}
{
    const ${long} element = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} batch = (${long})${p.axis(p.group_id, 1)};
    const ${long} slab_count = (k + ${slab - 1}) / ${slab};
    const ${long} row = element / n, col = element % n;
    const ${long} c_at = c_start + batch * c_batch + row * c_row + col * c_col;
    const ${long} out_at = out_start + batch * out_batch + row * out_row + col * out_col;
    ${long} at = (batch * slab_count * m + row) * n + col;
    ${w.value} z;
    if (element >= m * n)
        return;
    z = ${w.pack(f"slabs{i}[at]" for i in w.limbs)};
    for (${long} part = 1; part < slab_count; ++part) {
        at += m * n;
        z = ${w.function(networks["add"])}(z, ${w.pack(f"slabs{i}[at]" for i in w.limbs)});
    }
    if (!(${w.fabs(w.word_of("z", 0))} <= ${w.largest})) {
        const ${w.scalar} chain = leading_chain(
            ${w.leading("a", pass_on=True)}, a_start + batch * a_batch + row * a_row, a_col,
            ${w.leading("b", pass_on=True)}, b_start + batch * b_batch + col * b_col, b_row, k);
        z = ${w.alone("chain")};
    }
${scaled(w, networks, "z", w.element("c", "c_at"), " " * 4)}
% for i in w.limbs:
    ${w.store("out", i, "out_at", w.word_of("z", i))}
% endfor
}
