## The rate of the device's own instructions: independent chains of additions or fmas.
## w: Writer, chains, steps: written out in the loop, op: "add" or "fma"
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p = w.platform %>
${arithmetic(w, [])}
/* ${chains} independent chains a work-item, ${steps} steps of each in an iteration */
${p.kernel.format(threads)} ${head()}
{
    const ${w.word} a = ${w.splat("scale")}, b = ${w.splat("shift")};
    ${w.word} x[${chains}];
    ${w.word} sum;

    ${p.unroll}
    for (int c = 0; c < ${chains}; ++c)
        x[c] = ${w.splat(f"(({w.scalar})({p.axis(p.local_id, 0)} + c))")};
    for (int i = 0; i < iterations; ++i) {
        ${p.unroll}
        for (int step = 0; step < ${steps}; ++step) {
            ${p.unroll}
            for (int c = 0; c < ${chains}; ++c)
% if op == "fma":
                x[c] = ${w.fma("x[c]", "a", "b")};
% else:
                x[c] = x[c] + b;
% endif
        }
    }
    sum = x[0];
    ${p.unroll}
    for (int c = 1; c < ${chains}; ++c)
        sum = sum + x[c];
    /* never true for finite chains: keeps the result alive */
    if (${w.lane("sum", "0")} == ${w.literal(0.5, scalar=True)})
        out[0] = ${w.lane("sum", "0")};
}
