## Which matrices have a pivot that may be rounding errors alone: one far smaller than a product that
## was subtracted on its way.
##
## Each of l_ki u_ik, i < k, is held against u_kk, so that neither rows' nor columns' scales matter.
## A thread has ${each} of a column's products; any that is too large tells, whoever finds it.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    lowest, highest = (p.atomics.get((op, "int32"), "").format for op in ("min", "max"))
    at = lambda row, column: f"base + {row} * w_row + {column} * w_col"
    lead = lambda row, column: w.size(lambda k: w.limb("w", k, at(row, column)))
%>
${arithmetic(w, [])}
/* singular: columns without a pivot stay (from 1); else the least ratio's bits less infinity's */
${p.kernel.format(threads)} ${head()}
{
    const ${long} e = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} k = e % n, part = e / n % parts, entry = e / n / parts;
    const ${long} base = w_start + entry * w_batch, end = k < (part + 1) * ${each} ? k : (part + 1) * ${each};
    ${w.scalar} most = 0;
    if (e >= count)
        return;
    for (${long} i = part * ${each}; i < end; ++i) {
        const ${w.scalar} product = ${lead("k", "i")} * ${lead("i", "k")};
        most = product > most ? product : most;
    }
## The limit may be below the words' range, its root is not.
    const ${w.scalar} own = ${lead("k", "k")} * ${w.literal(1 / root)};
    const ${w.scalar} limit = most * ((${w.scalar})(16 * n) * ${w.literal(root)});
    if (own < limit) {
        const int bits = ${p.as_int.format("(float)(own / limit)", l="")} - ${infinity};
% if p.atomics:
        const int before = ${lowest("&singular[entry]", "bits")};
        if (before > 0)
            ${highest("&singular[entry]", "before")};
% else:
        /* where there are no atomics, nobody else is there */
        if (singular[entry] <= 0 && bits < singular[entry])
            singular[entry] = bits;
% endif
    }
}
