## LU with partial pivoting of a panel of few columns, column by column.
##
## Rows stay where they are in memory: place[i] is where row i belongs after the swaps so far, and
## rows whose place is above the diagonal are done. A block of threads has ${rows} rows. A step ends
## the column before (its pivot is known from all blocks' candidates) and finds candidates for its
## own; so blocks need to wait for each other once a step: by launches of a step each or, where
## blocks have a barrier, within one. One block takes all steps in one launch.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%namespace file="/linalg/panel.mako" import="ended"/>
<% p, long = w.platform, w.platform.index %>
<% integers = p.pointer.format("int") %>
<%def name="better(value, place)">${value} > value || (${value} == value && ${place} < spot)</%def>
<%def name="first_of_all(many)">
% if threads > 1:
        best_value[thread] = value;
        best_place[thread] = spot;
        best_row[thread] = row;
        for (int half = ${many // 2}; half > 0; half /= 2) {
            ${p.barrier}
            if (thread < half) {
                const int other = thread + half;
                if (best_value[other] > best_value[thread]
                    || (best_value[other] == best_value[thread] && best_place[other] < best_place[thread])) {
                    best_value[thread] = best_value[other];
                    best_place[thread] = best_place[other];
                    best_row[thread] = best_row[other];
                }
            }
        }
        ${p.barrier}
        value = best_value[0];
        spot = best_place[0];
        row = best_row[0];
% endif
</%def>
<%def name="size_of(value)">
            const ${w.scalar} size = ${w.fabs(value)};
            sizes[i - first] = size == size ? size : -1;
</%def>
<% held = min(rows * most // threads, 8) if threads > 1 else 1 %>
<% apart = max(threads // most, 1) %>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
${p.kernel.format(threads)} lu_panel(
    const ${long} m, const int width, const int first_step, const int end_step,
    const ${long} blocks, const int origin, const int pivot_count,
${matrix(w, "w", const=False)}\
    ${p.pointer.format(w.scalar)}candidates, ${integers}candidate_places, ${integers}candidate_rows,
    ${integers}places, ${integers}chosen, ${integers}pivots, ${integers}singular,
    ${integers}arrived)
{
% if threads > 1:
    ${p.shared} ${w.scalar} best_value[${threads}];
    ${p.shared} int best_place[${threads}];
    ${p.shared} int best_row[${threads}];
% endif
    ${p.shared} ${w.scalar} sizes[${rows}];
    ${p.shared} int spots[${rows}];
% for k in w.limbs:
    ${p.shared} ${w.word} factor${k}[${rows}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} group = ${p.axis(p.group_id, 0)}, entry = group / blocks, block = group % blocks;
    const ${long} base = w_start + entry * w_batch;
    const int first = (int)block * ${rows};
    const int last = (int)(m - first < ${rows} ? m : first + ${rows});
    ${integers}place = places + entry * m;

    for (int step = first_step; step < end_step; ++step) {
        const int col = step - 1;
        ${w.scalar} value = -3;
        int spot = (int)m, row = 0;
        if (step > 0) {
            const ${long} set = (entry * 2 + (col & 1)) * blocks;
            for (${long} b = thread; b < blocks; b += ${threads}) {
                const ${w.scalar} other = candidates[set + b];
                const int where = candidate_places[set + b];
                if (${better("other", "where")}) {
                    value = other;
                    spot = where;
                    row = candidate_rows[set + b];
                }
            }
${first_of_all(threads)}\
            const ${long} top = base + row * w_row;
            const ${long} pivot = top + col * w_col;
            const int divides = ${w.limb("w", 0, "pivot")} != 0;
            for (int i = first + thread; i < last; i += ${threads}) {
                const int before = place[i], now = i == row ? col : before == col ? spot : before;
                if (now != before)
                    place[i] = now;
                spots[i - first] = now;
                if (now > col) {
                    const ${long} at = base + i * w_row + col * w_col;
                    ${w.value} l = ${w.element("w", "at")};
                    if (divides) {
                        l = ${w.function(networks["div"])}(l, ${w.element("w", "pivot")});
% for k in w.limbs:
                        ${w.store("w", k, "at", w.word_of("l", k))}
% endfor
                    }
                    l = ${w.function(networks["neg"])}(l);
% for k in w.limbs:
                    factor${k}[i - first] = ${w.narrow(k, w.word_of("l", k))};
% endfor
                }
            }
            if (block == 0 && thread == 0) {
                chosen[entry * ${most} + col] = row;
                pivots[entry * pivot_count + origin + col] = origin + spot;
                if (!(value > 0) && singular[entry] == 0)
                    singular[entry] = origin + col + 1;
            }
            ${p.barrier}
% if threads == 1:
            for (int i = first; i < last; ++i) {
                if (spots[i - first] > col) {
                    const ${w.value} l = ${w.pack(f"factor{k}[i - first]" for k in w.limbs)};
                    for (int j = step; j < width; ++j) {
                        const ${long} at = base + i * w_row + j * w_col, above = top + j * w_col;
                        const ${w.value} z = ${w.function(networks["fma"])}(l, ${w.element("w", "above")}, ${w.element("w", "at")});
% for k in w.limbs:
                        ${w.store("w", k, "at", w.word_of("z", k))}
% endfor
                    }
                    const ${long} at = base + i * w_row + step * w_col;
                    if (step < width) {
${size_of(w.limb("w", 0, "at"))}\
                    }
                }
            }
% else:
## Elements are read before any is written: their reads do not wait for each other.
            const int j = thread % ${most};
            if (j > col && j < width) {
                const ${long} above = top + j * w_col;
                const ${w.value} y = ${w.element("w", "above")};
                for (int part = first + thread / ${most}; part < last; part += ${held * apart}) {
                    ${w.value} held[${held}];
% for u in range(held):
                    if (part + ${u * apart} < last) {
                        const ${long} at = base + (part + ${u * apart}) * w_row + j * w_col;
                        held[${u}] = ${w.element("w", "at")};
                    }
% endfor
% for u in range(held):
                    if (part + ${u * apart} < last && spots[part + ${u * apart} - first] > col) {
                        const int i = part + ${u * apart};
                        const ${long} at = base + i * w_row + j * w_col;
                        const ${w.value} z = ${w.function(networks["fma"])}(${w.pack(f"factor{k}[i - first]" for k in w.limbs)}, y, held[${u}]);
% for k in w.limbs:
                        ${w.store("w", k, "at", w.word_of("z", k))}
% endfor
                        if (j == step) {
${size_of(w.narrow(0, w.word_of("z", 0)))}\
                        }
                    }
% endfor
                }
            }
% endif
        } else {
            for (int i = first + thread; i < last; i += ${threads}) {
                const ${long} at = base + i * w_row;
                place[i] = i;
                spots[i - first] = i;
${size_of(w.limb("w", 0, "at"))}\
            }
        }
        ${p.device_barrier}
        if (step < width) {
            value = -3;
            spot = (int)m;
            row = 0;
            for (int i = first + thread; i < last; i += ${threads}) {
                const int where = spots[i - first];
                if (where >= step) {
                    const ${w.scalar} other = sizes[i - first];
                    if (${better("other", "where")}) {
                        value = other;
                        spot = where;
                        row = i;
                    }
                }
            }
${first_of_all(min(threads, rows))}\
            if (thread == 0) {
                const ${long} mine = (entry * 2 + (step & 1)) * blocks + block;
                candidates[mine] = value;
                candidate_places[mine] = spot;
                candidate_rows[mine] = row;
            }
        }
${ended(w, together)}\
    }
}
