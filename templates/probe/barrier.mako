## What each work-item of a block keeps while it waits for the others.
## w: Writer of float32
<% p = w.platform %>
${p.kernel.format(threads)} ${head()}
{
    ${p.shared} float seen[${threads}];
    const int thread = (int)${p.axis(p.local_id, 0)};
    const float kept = -numbers[thread];
    seen[thread] = numbers[thread];
    ${p.barrier}
    numbers[thread] = kept * seen[${threads - 1} - thread];
}
