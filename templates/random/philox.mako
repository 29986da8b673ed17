## Philox4x32-10: the words of a block.
<%!
    from portmp.routines.random.layout import MULTIPLIERS, ROUNDS, STEPS
%>
<%def name="philox(w)">
<%
    p = w.platform
    wide = f"unsigned {p.index}"
    (first, second), (step0, step1) = map(hex, MULTIPLIERS), map(hex, STEPS)
%>
% if w.first("philox"):
typedef struct {
    unsigned x0, x1, x2, x3;
} philox_block;

/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011) of the counter (block, upper0, upper1) */
${p.function} philox_block philox(const ${wide} block, const unsigned upper0, const unsigned upper1, unsigned key0, unsigned key1)
{
    philox_block x;
    x.x0 = (unsigned)block;
    x.x1 = (unsigned)(block >> 32);
    x.x2 = upper0;
    x.x3 = upper1;
    ${p.unroll}
    for (int round = 0; round < ${ROUNDS}; ++round) {
        const ${wide} first = (${wide})x.x0 * ${first}u;
        const ${wide} second = (${wide})x.x2 * ${second}u;
        const unsigned x1 = x.x1, x3 = x.x3;
        x.x0 = (unsigned)(second >> 32) ^ x1 ^ key0;
        x.x1 = (unsigned)second;
        x.x2 = (unsigned)(first >> 32) ^ x3 ^ key1;
        x.x3 = (unsigned)first;
        key0 += ${step0}u;
        key1 += ${step1}u;
    }
    return x;
}

% endif
</%def>
