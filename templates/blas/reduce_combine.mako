## Second half of DOT, GEMV, sums and extrema: the chunks of one row, by a tree, then the end.
<%! from portmp import definition %>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/combine.mako" import="ended, recomputed"/>
<% p, long = w.platform, w.platform.index %>
<% combine = networks["combine"] %>
<% product = terms == "product" %>
<% empty = w.pack([w.literal(start)] + [w.literal(0)] * (w.format.limbs - 1)) %>
${arithmetic(w, [combine] + ([networks["add"], networks["mul"]] if product else []))}
/* one row a block: chunks combine pairwise with halving distance */
${p.kernel.format(threads)} ${head()}
{
% for i in w.limbs:
    ${p.shared} ${w.word} lanes${i}[${threads}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} row = (${long})${p.axis(p.group_id, 0)};
    const ${long} base = row * chunks;
    ${long} distance = 1;
    ${w.value} z = ${empty};

    while (distance < chunks)
        distance *= 2;
## Unrolled, a combination that branches on data grows a hundredfold on some architectures.
    ${p.unrolled_by(1)}
    for (distance /= 2; distance >= ${threads * held}; distance /= 2) {
        /* so far apart, both chunks belong to this thread */
        for (${long} i = thread; i < distance && i + distance < chunks; i += ${threads}) {
            const ${long} at = base + i, other = at + distance;
            const ${w.value} upper = ${w.pack(f"partial{i}[other]" for i in w.limbs)};
            z = ${w.function(combine)}(${w.pack(f"partial{i}[at]" for i in w.limbs)}, upper);
% for i in w.limbs:
            partial${i}[at] = ${w.word_of("z", i)};
% endfor
        }
    }
    if (thread < chunks)
        z = ${w.pack(f"partial{i}[base + thread]" for i in w.limbs)};
% if held > 1:
    /* then a thread holds all its chunks */
% for h in range(1, held):
    ${w.value} z${h} = ${empty};
    if (thread + ${h * threads} < chunks)
        z${h} = ${w.pack(f"partial{i}[base + thread + {h * threads}]" for i in w.limbs)};
% endfor

% for half in definition.halvings(held):
% for h in range(half):
    if (thread + ${(h + half) * threads} < chunks)
        ${f"z{h}" if h else "z"} = ${w.function(combine)}(${f"z{h}" if h else "z"}, z${h + half});
% endfor

% endfor
    if (distance >= ${threads})
        distance = ${threads // 2};
% endif
% for i in w.limbs:
    lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
    ${p.unrolled_by(1)}
    for (; distance > 0; distance /= 2) {
        ${p.barrier}
        if (thread < distance && thread + distance < chunks) {
            z = ${w.function(combine)}(z, ${w.pack(f"lanes{i}[thread + distance]" for i in w.limbs)});
% for i in w.limbs:
            lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
        }
    }
% if recompute:
    ${p.barrier}
    if (chunks > 0 && !(${w.fabs("lanes0[0]")} <= ${w.largest})) {
${recomputed(w, threads)}
        z = ${w.alone("partial0[base]")};
    }
% endif
    if (thread != 0)
        return;
${ended(w, networks, "row")}
}
