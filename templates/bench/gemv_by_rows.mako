## y = A x as the paper has it: one thread a row, which goes through it in order; A lies by columns.
## w: Writer, networks: accumulate and finish of the format, threads of a block
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    step, finish = networks["accumulate"], networks["finish"]
%>
${arithmetic(w, [step, finish])}
/* one thread a row of n, k columns; neighbouring threads read neighbouring elements of a column */
${p.kernel.format(threads)} ${head()}
{
    const ${long} i = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= n)
        return;
    ${w.type(step.result)} sum = ${w.zero(step.result)};
    for (${long} j = 0; j < k; ++j) {
        const ${w.value} a = ${w.element("a", "a_start + j * n + i")};
        const ${w.value} x = ${w.element("x", "x_start + j")};
        sum = ${w.function(step)}(sum, a, x);
    }
    const ${w.value} result = ${w.function(finish)}(sum);
% for i in w.limbs:
    y${i}[i] = ${w.word_of("result", i)};
% endfor
}
