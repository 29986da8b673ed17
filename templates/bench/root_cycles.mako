## How long an operation takes: a chain of it, each on the result of the one before.
## w: Writer, networks: root (none for fma), steps: written out, threads: one warp, or one
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p = w.platform %>
${arithmetic(w, list(networks.values()))}
/* one warp, ${steps} steps of its chain in an iteration */
${p.kernel.format(threads)} ${head()}
{
    ${w.word} x = start;
% if p.clock:
    const ${p.index} before = ${p.clock};
    /* never true: the chain cannot start before the clock was read */
    if (before == -1)
        x = shift;
% endif
    for (int i = 0; i < iterations; ++i) {
        ${p.unroll}
        for (int step = 0; step < ${steps}; ++step)
% if networks:
            x = ${w.function(networks["root"])}(x);
% else:
            x = ${w.fma("x", "scale", "shift")};
% endif
    }
    /* never true for chains that stay positive: the clock is read after the last of them */
    if (!(x > ${w.literal(0)}))
        return;
% if p.clock:
    cycles[0] = ${p.clock} - before;
% endif
    out[0] = x;
}
