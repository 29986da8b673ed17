## LU with partial pivoting of a panel of few columns, column by column.
##
## Rows stay where they are in memory: place[i] is where row i belongs after the swaps so far, and
## rows whose place is above the diagonal are done. A block of threads has ${rows} rows. A step ends
## the column before (its pivot is known from all blocks' candidates) and finds candidates for its
## own; so blocks need to wait for each other once a step: by launches of a step each or, where
## blocks have a barrier, within one. One block takes all steps in one launch. Where elements stay in
## registers each block shows the row that may become the pivot's.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/linalg/panel.mako" import="ended"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
    integers = p.pointer.format("int")
    fma, div, neg = (w.function(networks[role]) for role in ("fma", "div", "neg"))
    searchers = min(threads, 32)
    apart = max(threads // most, 1)
    held = rows // apart
    ## Elements that stay in registers from step to step; a thread has one column of them.
    stay = threads > 1 and held * w.format.words * (2 if w.scalar == "double" else 1) <= registers
    at_once = min(held, 8)
    tree = p.warp_barrier or barrier
    ## Threads whose best is found by exchanging it, without memory.
    warp = min(threads, most, w.traits.warp_size) if w.exchange else 1
    swapped = lambda x: f"exchange({x}, thread ^ reach, thread)"
%>
<%namespace file="/kernels/lanes.mako" import="exchanges"/>
<%def name="better(value, place)">${value} > value || (${value} == value && ${place} < spot)</%def>
## Of what *count* threads found the best, for all threads.
<%def name="first_of_all(count)">
% if threads > 1 and warp > 1:
        for (int reach = ${warp // 2}; reach > 0; reach /= 2) {
            const int where = ${swapped("spot")}, which = ${swapped("row")};
            const ${w.scalar} other = exchange_${w.scalar}(value, thread ^ reach, thread);
            if (${better("other", "where")}) {
                value = other;
                spot = where;
                row = which;
            }
        }
        if (thread < ${count} && thread % ${warp} == 0) {
            best_value[thread / ${warp}] = value;
            best_place[thread / ${warp}] = spot;
            best_row[thread / ${warp}] = row;
        }
        ${barrier}
${first_of_few(count // warp)}\
% elif threads > 1:
        if (thread < ${count}) {
            best_value[thread] = value;
            best_place[thread] = spot;
            best_row[thread] = row;
        }
% if count > searchers:
        ${barrier}
        if (thread < ${searchers}) {
            ${p.unroll}
            for (int other = thread + ${searchers}; other < ${count}; other += ${searchers}) {
                const ${w.scalar} theirs = best_value[other];
                const int where = best_place[other], which = best_row[other];
                if (${better("theirs", "where")}) {
                    value = theirs;
                    spot = where;
                    row = which;
                }
            }
            best_value[thread] = value;
            best_place[thread] = spot;
            best_row[thread] = row;
        }
% endif
        for (int reach = ${searchers // 2}; reach > 0; reach /= 2) {
            ${tree}
            if (thread < reach) {
                const int other = thread + reach;
                if (best_value[other] > best_value[thread]
                    || (best_value[other] == best_value[thread] && best_place[other] < best_place[thread])) {
                    best_value[thread] = best_value[other];
                    best_place[thread] = best_place[other];
                    best_row[thread] = best_row[other];
                }
            }
        }
        ${barrier}
        value = best_value[0];
        spot = best_place[0];
        row = best_row[0];
% endif
</%def>
## Of a few in memory the best: every thread looks at all of them.
<%def name="first_of_few(count)">
        value = best_value[0];
        spot = best_place[0];
        row = best_row[0];
% for e in range(1, count):
        {
            const ${w.scalar} other = best_value[${e}];
            const int where = best_place[${e}], which = best_row[${e}];
            if (${better("other", "where")}) {
                value = other;
                spot = where;
                row = which;
            }
        }
% endfor
</%def>
<%def name="kept(memory, index, value)">
% for k in w.limbs:
            ${memory}${k}[${index}] = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
<%def name="put(index, value)">
% for k in w.limbs:
            ${w.store("w", k, index, w.word_of(value, k))}
% endfor
</%def>
<% element = lambda memory, index: w.pack(f"{memory}{k}[{index}]" for k in w.limbs) %>
## A batch of a thread's elements, from a row on: all are read, then computed, then those written
## that are below the diagonal; so none waits for another.
<%def name="read(count)">
% for u in range(count):
                if (part + ${u * apart} < last) {
                    const ${long} at = base + (part + ${u * apart}) * w_row + j * w_col;
                    own[${u}] = ${w.element("w", "at")};
                } else {
                    own[${u}] = ${w.zero()};
                }
% endfor
</%def>
<%def name="update(count)">
% for u in range(count):
                    {
                        const int i = part + ${u * apart} - first;
                        const ${w.value} z = ${fma}(${element("factor", "i")}, y, own[${u}]);
                        const int below = spots[i] > col;
% for k in w.limbs:
                        ${w.word_of(f"own[{u}]", k)} = below ? ${w.narrow(k, w.word_of("z", k))} : ${w.word_of(f"own[{u}]", k)};
% endfor
                    }
% endfor
</%def>
## What was computed, where it is below the diagonal.
<%def name="written(count)">
% for u in range(count):
                    if (part + ${u * apart} < last && spots[part + ${u * apart} - first] > col) {
                        const int i = part + ${u * apart};
                        const ${long} at = base + i * w_row + j * w_col;
${put("at", f"own[{u}]")}
                        if (j == step) {
${kept("next", "i - first", f"own[{u}]")}
                        }
                    }
% endfor
</%def>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
% if threads > 1 and warp > 1:
${exchanges(w)}\
% endif
${p.kernel.format(threads)} ${head()}
{
% if threads > 1:
    ${p.shared} ${w.scalar} best_value[${threads}];
    ${p.shared} int best_place[${threads}];
    ${p.shared} int best_row[${threads}];
% endif
    ${p.shared} int spots[${rows}];
% for k in w.limbs:
    ${p.shared} ${w.word} next${k}[${rows}];
    ${p.shared} ${w.word} factor${k}[${rows}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} group = ${p.axis(p.group_id, 0)}, entry = group / blocks, block = group % blocks;
    const ${long} base = w_start + entry * w_batch;
    const int first = (int)block * ${rows};
    const int last = (int)(m - first < ${rows} ? m : first + ${rows});
    ${integers}place = places + entry * m;
    /* where the first rows belong, and which rows come there: of this panel, for swaps later */
    ${integers}first_place = firsts + (slot + entry) * ${most};
    ${integers}first_row = chosen + (slot + entry) * ${most};

    /* the column that is worked on, and where its rows belong */
    for (int i = first + thread; i < last; i += ${threads}) {
        const ${long} at = base + i * w_row + (first_step > 0 ? first_step - 1 : 0) * w_col;
        const ${w.value} z = ${w.element("w", "at")};
        const int where = first_step > 0 ? place[i] : i;
        if (first_step == 0) {
            place[i] = i;
            if (i < ${most})
                first_place[i] = i;
        }
        spots[i - first] = where;
${kept("next", "i - first", "z")}
    }
% if threads > 1:
## Rows that are done, or none, take part and change nothing.
    for (int i = thread; i < ${rows}; i += ${threads}) {
        const ${w.value} none = ${w.zero()};
        if (first + i >= last)
            spots[i] = -1;
${kept("factor", "i", "none")}
    }
% endif
% if stay:
    const int j = thread % ${most}, part = first + thread / ${most};
    ${w.value} own[${held}];
    if (j < width) {
${read(held)}\
    }
% endif
    ${fence}

    for (int step = first_step; step < end_step; ++step) {
        const int col = step - 1;
        ${w.scalar} value = -3;
        int spot = (int)m, row = 0;
        if (step > 0) {
            const ${long} set = (entry * 2 + (col & 1)) * blocks;
            /* every thread reads one or few: they come from far, one after the other */
            for (${long} b = thread; b < blocks; b += ${threads}) {
                const ${w.scalar} other = candidates[set + b];
                const int where = candidate_places[set + b], which = candidate_rows[set + b];
                if (${better("other", "where")}) {
                    value = other;
                    spot = where;
                    row = which;
                }
            }
${first_of_all(threads)}\
% if stay:
            const ${long} top = (set + row / ${rows}) * ${most}, pivot = top + col;
            ${w.value} y = ${w.zero()};
            if (j > col && j < width) {
                const ${long} above = top + j;
                y = ${w.element("tops", "above")};
            }
% else:
            const ${long} top = base + row * w_row;
            const ${long} pivot = top + col * w_col;
% endif
            for (int i = first + thread; i < last; i += ${threads}) {
                const int before = spots[i - first], now = i == row ? col : before == col ? spot : before;
                if (now != before) {
                    place[i] = now;
                    spots[i - first] = now;
                    if (i < ${most})
                        first_place[i] = now;
                }
                if (now > col) {
                    const ${w.value} divisor = ${w.element("tops" if stay else "w", "pivot")};
                    ${w.value} l = ${element("next", "i - first")};
                    if (${w.nonzero("divisor")})
                        l = ${div}(l, divisor);
                    /* undivided too: memory may hold what was there before the first step */
                    const ${long} at = base + i * w_row + col * w_col;
${put("at", "l")}
                    l = ${neg}(l);
${kept("factor", "i - first", "l")}
                }
            }
            if (block == 0 && thread == 0) {
                first_row[col] = row;
                pivots[entry * pivot_count + origin + col] = origin + spot;
                if (!(value > 0) && singular[entry] == 0)
                    singular[entry] = origin + col + 1;
            }
            ${barrier}
% if threads == 1:
            for (int i = first; i < last; ++i) {
                if (spots[i - first] > col) {
                    const ${w.value} l = ${element("factor", "i - first")};
                    for (int j = step; j < width; ++j) {
                        const ${long} at = base + i * w_row + j * w_col, above = top + j * w_col;
                        const ${w.value} z = ${fma}(l, ${w.element("w", "above")}, ${w.element("w", "at")});
${put("at", "z")}
                    }
                    if (step < width) {
                        const ${long} at = base + i * w_row + step * w_col;
                        const ${w.value} z = ${w.element("w", "at")};
${kept("next", "i - first", "z")}
                    }
                }
            }
% elif stay:
            if (j > col && j < width) {
${update(held)}\
                if (j == step) {
% for u in range(held):
${kept("next", f"part + {u * apart} - first", f"own[{u}]")}\
% endfor
                }
            }
% else:
            const int j = thread % ${most};
            if (j > col && j < width) {
                const ${long} above = top + j * w_col;
                const ${w.value} y = ${w.element("w", "above")};
                for (int part = first + thread / ${most}; part < last; part += ${at_once * apart}) {
                    ${w.value} own[${at_once}];
${read(at_once)}\
${update(at_once)}\
${written(at_once)}\
                }
            }
% endif
        }
% if stay:
        if (step < width && j == step) {
            /* the best of this thread's rows */
            value = -3;
            spot = (int)m;
            row = 0;
% for u in range(held):
            {
                const int where = spots[part + ${u * apart} - first];
                const ${w.scalar} size = ${w.size(lambda k: w.word_of(f"own[{u}]", k))};
                const ${w.scalar} other = size == size ? size : -1;
                if (where >= step && (${better("other", "where")})) {
                    value = other;
                    spot = where;
                    row = part + ${u * apart};
                }
            }
% endfor
            best_value[thread / ${most}] = value;
            best_place[thread / ${most}] = spot;
            best_row[thread / ${most}] = row;
        }
% endif
        ${fence}
        if (step < width) {
% if stay:
${first_of_few(apart)}\
% else:
            value = -3;
            spot = (int)m;
            row = 0;
            for (int i = first + thread; i < (thread < ${searchers} ? last : 0); i += ${searchers}) {
                const int where = spots[i - first];
                const ${w.scalar} size = ${w.size(lambda k: f"next{k}[i - first]")};
                const ${w.scalar} other = size == size ? size : -1;
                if (where >= step && (${better("other", "where")})) {
                    value = other;
                    spot = where;
                    row = i;
                }
            }
${first_of_all(searchers)}\
% endif
% if stay:
            /* this block's candidate for the pivot's row, for all */
            if (value > -3 && j < width) {
                const ${long} to = ((entry * 2 + (step & 1)) * blocks + block) * ${most} + j;
% for u in range(held):
                if (part + ${u * apart} == row) {
% for k in w.limbs:
                    ${w.store("tops", k, "to", w.word_of(f"own[{u}]", k))}
% endfor
                }
% endfor
            }
% endif
            if (thread == 0) {
                const ${long} mine = (entry * 2 + (step & 1)) * blocks + block;
                candidates[mine] = value;
                candidate_places[mine] = spot;
                candidate_rows[mine] = row;
            }
        }
${ended(w, together, fence)}\
    }
% if stay:
## Of rows that became pivots' all from the diagonal on, of others what comes after the last step.
% for u in range(held):
    if (part + ${u * apart} < last && j < width) {
        const int i = part + ${u * apart}, where = spots[i - first];
        if (j >= (where < end_step - 1 ? where : end_step - 1)) {
            const ${long} at = base + i * w_row + j * w_col;
${put("at", f"own[{u}]")}
        }
    }
% endfor
% endif
}
