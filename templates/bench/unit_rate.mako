## The rate of a matrix unit: independent chains of its products.
## w: Writer of float64, chains: of a warp, threads: of a block
<%
    p = w.platform
    unit = p.matrix_units[w.traits.matrix_unit]
    left, right = ([f"{one}[{e}]" for e in range(n)] for one, n in (("a", unit.left), ("b", unit.right)))
%>
${p.kernel.format(threads)} ${head()}
{
    ${w.scalar} a[${unit.left}], b[${unit.right}], x[${chains}][${unit.held}];

    ${p.unroll}
    for (int e = 0; e < ${unit.left}; ++e)
        a[e] = scale + (${w.scalar})e;
    ${p.unroll}
    for (int e = 0; e < ${unit.right}; ++e)
        b[e] = scale;
    ${p.unroll}
    for (int c = 0; c < ${chains}; ++c) {
        ${p.unroll}
        for (int e = 0; e < ${unit.held}; ++e)
            x[c][e] = (${w.scalar})(${p.axis(p.local_id, 0)} + c + e);
    }
    for (int i = 0; i < iterations; ++i) {
% for c in range(chains):
        ${unit.statement([f"x[{c}][{e}]" for e in range(unit.held)], left, right)}
% endfor
    }
    /* never true for finite chains: keeps the results alive */
    ${p.unroll}
    for (int c = 0; c < ${chains}; ++c) {
        ${p.unroll}
        for (int e = 0; e < ${unit.held}; ++e) {
            if (x[c][e] == ${w.literal(0.5, scalar=True)})
                out[0] = x[c][e];
        }
    }
}
