## Long accumulators of one element added up, digit by digit: a digit a work-item.
## w: Writer, planes: integers of an accumulator, threads
<% p, long = w.platform, w.platform.index %>
/* of count elements' parts every fewer-th becomes one */
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} kept = count * fewer;
    if (item >= ${planes} * kept)
        return;
    const ${long} digit = item / kept, which = item % kept;
    ${long} sum = 0;
    for (${long} at = which; at < count * parts; at += kept)
        sum += work[digit * step + at * stride];
    sums[digit * sums_step + which * sums_stride] = sum;
}
