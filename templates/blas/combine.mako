## What the second halves of reductions share.
<%namespace file="/blas/epilogue.mako" import="scaled"/>

## A row that is not finite, by a block: leading limbs alone in the same lanes and tree, which tells
## inf from NaN. The chain of ``row`` ends in partial0, where its chunks begin; lanes0 is shared
## memory of a word a thread.
<%def name="recomputed(w, threads)">
<% p, long = w.platform, w.platform.index %>
        const int lane = thread % ${lanes};
        ${p.device_barrier}
        for (${long} group = 0; group < chunks; group += ${threads // lanes}) {
            const ${long} which = group + thread / ${lanes};
            const ${long} first = which * ${chunk};
            const ${long} last = first + ${chunk} < k ? first + ${chunk} : k;
            ${w.word} chain = 0;
            for (${long} i = first + lane; i < last; i += ${lanes})
                chain = ${leading(w)};
            lanes0[thread] = chain;
            for (int step = ${lanes // 2}; step > 0; step /= 2) {
                ${p.barrier}
                if (lane < step)
                    lanes0[thread] = lanes0[thread] + lanes0[thread + step];
            }
            ${p.barrier}
            if (lane == 0 && which < chunks)
                partial0[row * chunks + which] = lanes0[thread];
            ${p.device_barrier}
        }
        ${long} apart = 1;
        while (apart < chunks)
            apart *= 2;
        for (apart /= 2; apart > 0; apart /= 2) {
            for (${long} i = thread; i < apart && i + apart < chunks; i += ${threads})
                partial0[row * chunks + i] = partial0[row * chunks + i] + partial0[row * chunks + i + apart];
            ${p.device_barrier}
        }
</%def>

## The end of a row of one chunk, whose ${lanes} lanes a block combined to z: leading limbs of it lie
## in ``memory``, a word a lane in shared memory.
<%def name="single(w, networks, memory)">
<% p, long = w.platform, w.platform.index %>
% if recompute:
    ${p.barrier}
    if (!(${w.fabs(memory + "[0]")} <= ${w.largest})) {
        /* not finite: leading limbs alone, as chunks of longer rows */
        ${p.barrier}
        if (thread < ${lanes}) {
            ${w.word} chain = 0;
            for (${long} i = thread; i < k; i += ${lanes})
                chain = ${leading(w)};
            ${memory}[thread] = chain;
        }
        for (int step = ${lanes // 2}; step > 0; step /= 2) {
            ${p.barrier}
            if (thread < step)
                ${memory}[thread] = ${memory}[thread] + ${memory}[thread + step];
        }
        ${p.barrier}
        z = ${w.alone(memory + "[0]")};
    }
% endif
    if (thread == 0) {
${ended(w, networks, "row")}
    }
</%def>

## A lane's sum of leading limbs, with element i of ``row``.
<%def name="leading(w)">\
<% x = w.limb("x", 0, "x_start + row * x_row + i * x_col") %>\
% if terms == "product":
${w.fma(x, w.limb("y", 0, "y_start + i * y_step"), "chain")}\
% else:
chain + ${x}\
% endif
</%def>

## The chunks of the row at ``base`` by a work-item alone: it leaves the last combination in z.
<%def name="tree(w, combine)">
<% p, long = w.platform, w.platform.index %>
    ${long} leaves = 1;
    while (leaves < chunks)
        leaves *= 2;
    ${p.unrolled_by(1)}
    for (${long} distance = leaves / 2; distance > 0; distance /= 2) {
        ${p.unrolled_by(1)}
        for (${long} at = base; at < base + distance && at + distance < base + chunks; ++at) {
            const ${long} other = at + distance;
            const ${w.value} upper = ${w.pack(f"partial{i}[other]" for i in w.limbs)};
            z = ${w.function(combine)}(${w.pack(f"partial{i}[at]" for i in w.limbs)}, upper);
% for i in w.limbs:
            partial${i}[at] = ${w.word_of("z", i)};
% endfor
        }
    }
</%def>

## The end: alpha z + beta c is stored.
<%def name="ended(w, networks, row)">
<%
    long = w.platform.index
    product = terms == "product"
%>
% if product:
    {
        const ${long} c_at = c_start + ${row} * c_step;
${scaled(w, networks, "z", w.element("c", "c_at"), " " * 8)}
    }
% endif
% for i in w.limbs:
    ${w.store("out", i, f"out_start + {row} * out_step", w.word_of("z", i))}
% endfor
</%def>
