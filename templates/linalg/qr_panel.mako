## Householder's QR of a panel of few columns, column by column.
##
## ${rows} rows are a chunk of the definition, whose sums a block of threads makes; or ${split} blocks
## have it together, each so many of its lanes, and theirs are added by all who read them. A step ends the
## column before: its products with all columns are known from all blocks' sums, and its row from a
## copy, since its own block changes it meanwhile; then it sums products with its own column. So
## blocks need to wait for each other once a step: by launches of a step each or, where blocks have a
## barrier, within one. One block takes all steps in one launch. Of columns left of the diagonal, which hold vectors already, products give
## the triangle of the compact form.
<%! from portmp.definition import halvings %>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/linalg/panel.mako" import="ended"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
    f = {role: w.function(net) for role, net in networks.items()}
    state = networks["accumulate"].result
    ## Of complex numbers reflections are 1 - v t^-1 v^H.
    against, opposite = (f.get(role, f[role[:3]]) for role in ("div_conj", "neg_conj"))
    conj = lambda z: f"{f['conj']}({z})" if "conj" in f else z
    def length(alpha, rest):
        """The root of |alpha|^2 and a sum of squares."""
        if "length" in f:
            return f"{f['length']}({alpha}, {rest})"
        return f"{f['sqrt']}({f['add']}({f['mul']}({alpha}, {alpha}), {rest}))"
    ## Of longer values a column and its factors are read where they lie: a block's memory would not
    ## hold them.
    far = threads > 1 and w.format.itemsize > 32
    at_once = 8 if threads > 1 and not w.format.scalar and not far else 1
    ## Elements that stay in registers from step to step: a thread has a lane of one column, where
    ## blocks are full. With more limbs the arithmetic of a whole lane is too long to be written out.
    count = rows // lanes
    stay = many and threads * split == lanes * most and w.format.words <= 2
    own_lanes = lanes // split
%>
<%def name="kept(memory, index, value, pad)">
% for k in w.limbs:
${pad}${memory}${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
<%def name="put(name, index, value, pad)">
% for k in w.limbs:
${pad}${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
## What memory would give back.
<%def name="stored(memory, index, value, pad)">
% for k in w.limbs:
${pad}${memory}${k}[${index}] = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
## An element of column j, and of the next column for all to see.
<%def name="updated(i, value, pad)">
${pad}const ${long} to = base + (${i}) * a_row + j * a_col;
${put("a", "to", value, pad)}\
% if not far:
${pad}if (j == step) {
${stored("next", f"{i} - start", value, pad + "    ")}\
${pad}}
% endif
</%def>
## A batch of a thread's elements below a row. Another block may be writing that row.
<%def name="read(above, pad)">
% for u in range(at_once):
${pad}own[${u}] = ${w.zero()};
${pad}if (part + ${u * lanes} > ${above}) {
${pad}    const ${long} at = base + (part + ${u * lanes}) * a_row + j * a_col;
${pad}    own[${u}] = ${w.element("a", "at")};
${pad}}
% endfor
</%def>
<% held = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
<%def name="tree(count)">
% for distance in halvings(count):
            ${barrier}
            for (int e = thread; e < ${distance * most}; e += ${threads}) {
                const ${w.value} z = ${f["add"]}(${held("lane", "e")}, ${held("lane", f"e + {distance * most}")});
${kept("lane", "e", "z", " " * 16)}
            }
% endfor
            ${barrier}
</%def>
<%
    def of_chunk(at, first=0, distance=1):
        """A chunk's sum: its blocks' ones from a place on, combined as lanes are."""
        if distance == split:
            return held("sums", f"{at} + {first * most}")
        parts = (of_chunk(at, lane, 2 * distance) for lane in (first, first + distance))
        return f["add"] + f"({', '.join(parts)})"
%>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head()}
{
% for k in w.limbs:
    ${p.shared} ${w.word} lane${k}[${lanes * most}];
    ${p.shared} ${w.word} top${k}[${most}];
    ${p.shared} ${w.word} share${k}[${most}];
    ${p.shared} ${w.word} twice${k}[1];
% if not far:
    ${p.shared} ${w.word} factor${k}[${rows}];
    ${p.shared} ${w.word} next${k}[${rows}];
% endif
% endfor
% if threads == 1:
    ${w.type(state)} states[${lanes * most}];
% endif
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} group = ${p.axis(p.group_id, 0)}, entry = group / blocks, block = group % blocks;
    const ${long} base = a_start + entry * a_batch;
    const int chunk = (int)(block / ${split}), which = (int)(block % ${split}), start = chunk * ${rows};
    const int last = (int)(m - start < ${rows} ? m : start + ${rows});

% if threads > 1 and not far:
## Rows above the diagonal take part and change nothing.
    for (int i = thread; i < ${rows}; i += ${threads}) {
        const ${w.value} z = ${w.zero()};
${kept("factor", "i", "z", " " * 8)}
% if stay:
${kept("next", "i", "z", " " * 8)}
% endif
    }
% endif
% if stay:
    ${fence}
    const int mine = thread / ${own_lanes}, lane = thread % ${own_lanes} * ${split} + which, here = last - start;
    ${w.value} own[${count}];
% for u in range(count):
    {
        const int i = lane + ${u * lanes};
        const ${long} at = base + (start + i) * a_row + mine * a_col;
        own[${u}] = ${w.zero()};
        if (i < here && mine < width && start + i >= first_step)
            own[${u}] = ${w.element("a", "at")};
        if (mine == first_step - 1) {
${kept("next", "i", f"own[{u}]", " " * 12)}\
        }
    }
% endfor
    ${fence}
% endif
    for (int step = first_step; step < end_step; ++step) {
        const int col = step - 1;
        if (step > 0) {
            const ${long} set = (entry * 2 + (col & 1)) * blocks, chunks = blocks / ${split};
            for (int e = thread; e < ${lanes * most}; e += ${threads}) {
                const int j = e % ${most};
                ${w.value} z = ${w.zero()};
                ${long} b = e / ${most};
% if at_once > 1:
                for (; b + ${(at_once - 1) * lanes} < chunks; b += ${at_once * lanes}) {
                    ${w.value} sum[${at_once}];
% for u in range(at_once):
                    {
                        const ${long} at = (set + (b + ${u * lanes}) * ${split}) * ${most} + j;
                        sum[${u}] = ${of_chunk("at")};
                    }
% endfor
% for u in range(at_once):
                    z = ${f["add"]}(z, sum[${u}]);
% endfor
                }
% endif
                for (; b < chunks; b += ${lanes}) {
                    const ${long} at = (set + b * ${split}) * ${most} + j;
                    z = ${f["add"]}(z, ${of_chunk("at")});
                }
${kept("lane", "e", "z", " " * 16)}
            }
            for (int j = thread; j < width; j += ${threads}) {
                const ${long} at = (entry * 2 + (col & 1)) * ${most} + j;
                const ${w.value} z = ${held("saved", "at")};
${kept("top", "j", "z", " " * 16)}
            }
${tree(lanes)}
            const ${w.value} alpha = ${held("top", "col")};
            const ${w.value} size = ${length("alpha", held("lane", "col"))};
            const int zero = ${w.word_of("size", 0)} <= negligible;
            const ${w.value} minus = ${opposite}(size);
            const ${w.value} beta = ${w.word_of("alpha", 0)} < 0 ? size : minus;
            const ${w.value} v = ${f["sub"]}(alpha, beta);
            /* of all columns what stands in their row, and two numbers more, by other warps */
            for (int e = thread; e < ${2 * most}; e += ${threads}) {
                const int j = e % ${most};
                if (e < width) {
                    ${w.value} y = ${held("top", "j")};
                    if (!zero)
                        y = ${f["add"]}(y, ${against}(${held("lane", "j")}, v));
                    if (j > col) {
${kept("share", "j", "y", " " * 24)}
                    } else if (j < col && block == 0) {
                        const ${long} at = t_start + entry * t_batch + j * t_row + col * t_col;
% if "conj" in f:
                        y = ${conj("y")};
% endif
${put("t", "at", "y", " " * 24)}
                    }
                } else if (e >= ${most} && j < 2) {
                    /* what shares are multiplied by, and the diagonal of the compact form */
                    ${w.value} ratio = ${w.first_of(networks["add"].result, 2.0)};
                    if (j == 1)
                        ratio = ${w.first_of(networks["add"].result, 0.5)};
                    if (!zero) {
                        const ${w.value} over = j == 1 ? beta : v, under = j == 1 ? v : beta;
                        ratio = ${f["div"]}(${opposite}(over), under);
                    }
                    if (j == 0) {
${kept("twice", "0", "ratio", " " * 24)}
                    } else if (block == 0) {
                        const ${long} at = base + col * (a_row + a_col);
                        const ${long} corner = t_start + entry * t_batch + col * (t_row + t_col);
${put("a", "at", "beta", " " * 24)}
${put("t", "corner", "ratio", " " * 24)}
                    }
                }
            }
            for (int i = start + thread * ${split} + which; i < last; i += ${threads * split}) {
                if (i > col) {
                    const ${long} at = base + i * a_row + col * a_col;
                    ${w.value} z = ${w.zero()};
                    if (!zero)
                        z = ${f["div"]}(${held("next", "i - start") if stay else w.element("a", "at")}, v);
${put("a", "at", "z", " " * 20)}
% if not far:
                    z = ${f["neg"]}(z);
${stored("factor", "i - start", "z", " " * 20)}
% endif
                }
            }
            ${fence if far else barrier}
% if not stay:
            /* what rows below lose by */
            for (int j = step + thread; j < width; j += ${threads}) {
                const ${w.value} y = ${f["mul"]}(${held("twice", "0")}, ${held("share", "j")});
${kept("share", "j", "y", " " * 16)}
                if (block == 0) {
                    const ${long} at = base + col * a_row + j * a_col;
                    const ${w.value} z = ${f["sub"]}(${held("top", "j")}, y);
${put("a", "at", "z", " " * 20)}
                }
            }
            ${barrier}
% endif
% if threads == 1:
            for (int i = start; i < last; ++i) {
                if (i > col) {
                    for (int j = step; j < width; ++j) {
                        const ${long} at = base + i * a_row + j * a_col;
                        const ${w.value} z = ${f["fma"]}(${held("factor", "i - start")}, ${held("share", "j")}, ${w.element("a", "at")});
${put("a", "at", "z", " " * 24)}
                    }
                    if (step < width) {
                        const ${long} at = base + i * a_row + step * a_col;
                        const ${w.value} z = ${w.element("a", "at")};
${kept("next", "i - start", "z", " " * 24)}
                    }
                }
            }
% elif stay:
            /* what was divided goes back to those who have it; columns on the right change */
            if (mine == col) {
% for u in range(count):
                {
                    const int i = lane + ${u * lanes};
                    if (start + i > col && i < here)
                        own[${u}] = ${f["neg"]}(${held("factor", "i")});
                }
% endfor
            } else if (mine > col && mine < width) {
                const ${w.value} y = ${f["mul"]}(${held("twice", "0")}, ${held("share", "mine")});
                if (block == 0 && lane == 0) {
                    const ${long} at = base + col * a_row + mine * a_col;
                    const ${w.value} z = ${f["sub"]}(${held("top", "mine")}, y);
${put("a", "at", "z", " " * 20)}
                }
% for u in range(count):
                {
                    const int i = lane + ${u * lanes};
                    const ${w.value} z = ${f["fma"]}(${held("factor", "i")}, y, own[${u}]);
                    if (start + i > col) {
% for k in w.limbs:
                        ${w.word_of(f"own[{u}]", k)} = ${w.narrow(k, w.word_of("z", k))};
% endfor
                    }
                }
% endfor
                if (mine == step) {
% for u in range(count):
                    {
                        const int i = lane + ${u * lanes};
${kept("next", "i", f"own[{u}]", " " * 24)}\
                    }
% endfor
                }
            }
% else:
## Elements are read before any is written: their reads do not wait for each other.
            for (int e = thread; e < ${own_lanes * most}; e += ${threads}) {
                const int j = e % ${most};
                if (j > col && j < width) {
                    const ${w.value} y = ${held("share", "j")};
                    int part = start + e / ${most} * ${split} + which;
% if at_once > 1:
                    for (; part + ${(at_once - 1) * lanes} < last; part += ${at_once * lanes}) {
                        ${w.value} own[${at_once}];
${read("col", " " * 24)}\
% for u in range(at_once):
                        {
                            const int i = part + ${u * lanes} - start;
                            own[${u}] = ${f["fma"]}(${held("factor", "i")}, y, own[${u}]);
                        }
% endfor
% for u in range(at_once):
                        if (part + ${u * lanes} > col) {
${updated(f"part + {u * lanes}", f"own[{u}]", " " * 28)}\
                        }
% endfor
                    }
% endif
                    for (; part < last; part += ${lanes}) {
                        if (part > col) {
                            const ${long} at = base + part * a_row + j * a_col;
% if far:
                            const ${long} beside = base + part * a_row + col * a_col;
                            const ${w.value} l = ${w.element("a", "beside")};
                            const ${w.value} z = ${f["fma"]}(${f["neg"]}(l), y, ${w.element("a", "at")});
% else:
                            const ${w.value} z = ${f["fma"]}(${held("factor", "part - start")}, y, ${w.element("a", "at")});
% endif
${updated("part", "z", " " * 28)}\
                        }
                    }
                }
            }
% endif
% if far:
        }
% else:
        } else {
            for (int i = start + thread * ${split} + which; i < last; i += ${threads * split}) {
                const ${long} at = base + i * a_row;
                const ${w.value} z = ${w.element("a", "at")};
${stored("next", "i - start", "z", " " * 16)}
            }
        }
% endif
        ${fence}
        if (step < width) {
% if stay:
            if (chunk == 0 && lane == step % ${lanes} && mine < width) {
                const ${long} to = (entry * 2 + (step & 1)) * ${most} + mine;
% for u in range(most // lanes):
                    if (${u} == step / ${lanes}) {
${kept("saved", "to", f"own[{u}]", " " * 24)}\
                    }
% endfor
            }
% else:
            if (block == step % ${split}) {
                for (int j = thread; j < width; j += ${threads}) {
                    const ${long} at = base + step * a_row + j * a_col;
                    const ${long} to = (entry * 2 + (step & 1)) * ${most} + j;
                    const ${w.value} z = ${w.element("a", "at")};
${kept("saved", "to", "z", " " * 20)}
                }
            }
% endif
% if threads == 1:
            /* all columns of a row at once, as they lie in memory */
            for (int e = 0; e < ${lanes * most}; ++e)
                states[e] = ${w.zero(state)};
            for (int i = start > step + 1 ? start : step + 1; i < last; ++i) {
                const ${w.value} left = ${held("next", "i - start")};
                const int to = (i - start) % ${lanes} * ${most};
                for (int j = 0; j < width; ++j) {
                    const ${long} at = base + i * a_row + j * a_col;
                    states[to + j] = ${f["accumulate"]}(states[to + j], left, ${w.element("a", "at")});
                }
            }
            for (int e = 0; e < ${lanes * most}; ++e) {
                const ${w.value} z = ${f["finish"] + "(states[e])"};
${kept("lane", "e", "z", " " * 16)}
            }
% elif stay:
            {
                ${w.type(state)} sum = ${w.zero(state)};
## Rows that do not count are left out at the end of each step, so that none waits for the one before.
% for u in range(count):
                {
                    const int i = lane + ${u * lanes}, counts = start + i > step && i < here;
                    const ${w.type(state)} z = ${f["accumulate"]}(sum, ${held("next", "i")}, own[${u}]);
                    sum = counts ? z : sum;
                }
% endfor
                const ${w.value} z = ${f["finish"] + "(sum)"};
                const int e = lane / ${split} * ${most} + mine;
${kept("lane", "e", "z", " " * 16)}
            }
% else:
            for (int e = thread; e < ${own_lanes * most}; e += ${threads}) {
                const int j = e % ${most};
                ${w.type(state)} sum = ${w.zero(state)};
                int part = start + e / ${most} * ${split} + which;
% if at_once > 1:
                for (; j < width && part + ${(at_once - 1) * lanes} < last; part += ${at_once * lanes}) {
                    ${w.value} own[${at_once}];
${read("step", " " * 20)}\
                    if (part > step) {
% for u in range(at_once):
                        sum = ${f["accumulate"]}(sum, ${held("next", f"part + {u * lanes} - start")}, own[${u}]);
% endfor
                    } else {
% for u in range(at_once):
                        if (part + ${u * lanes} > step)
                            sum = ${f["accumulate"]}(sum, ${held("next", f"part + {u * lanes} - start")}, own[${u}]);
% endfor
                    }
                }
% endif
                for (; j < width && part < last; part += ${lanes}) {
                    if (part > step) {
                        const ${long} at = base + part * a_row + j * a_col;
% if far:
                        const ${long} beside = base + part * a_row + step * a_col;
                        sum = ${f["accumulate"]}(sum, ${w.element("a", "beside")}, ${w.element("a", "at")});
% else:
                        sum = ${f["accumulate"]}(sum, ${held("next", "part - start")}, ${w.element("a", "at")});
% endif
                    }
                }
                const ${w.value} z = ${f["finish"] + "(sum)"};
${kept("lane", "e", "z", " " * 16)}
            }
% endif
${tree(own_lanes)}
            for (int j = thread; j < ${most}; j += ${threads}) {
                const ${long} at = ((entry * 2 + (step & 1)) * blocks + block) * ${most} + j;
                const ${w.value} z = ${held("lane", "j")};
${kept("sums", "at", "z", " " * 16)}
            }
        }
${ended(w, together, fence)}\
    }
% if stay:
## Rows of R and vectors are written as they come.
% for u in range(count):
    {
        const int i = lane + ${u * lanes};
        if (i < here && start + i > end_step - 2 && mine > end_step - 2 && mine < width) {
            const ${long} at = base + (start + i) * a_row + mine * a_col;
${put("a", "at", f"own[{u}]", " " * 12)}\
        }
    }
% endfor
% endif
}
