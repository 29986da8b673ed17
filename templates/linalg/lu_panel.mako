## LU with partial pivoting of a panel of few columns, column by column.
##
## Rows stay where they are in memory: place[i] is where row i belongs after the swaps so far, and
## rows whose place is above the diagonal are done. A block of threads has ${rows} rows. A step ends
## the column before (its pivot is known from all blocks' candidates) and finds candidates for its
## own; so launches of a step each are all that blocks need to wait for each other, and one block
## takes all steps in one launch.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<% p, long = w.platform, w.platform.index %>
<% integers = p.pointer.format("int") %>
<%def name="better(value, place)">${value} > value || (${value} == value && ${place} < spot)</%def>
<%def name="first_of_all()">
% if threads > 1:
        best_value[thread] = value;
        best_place[thread] = spot;
        best_row[thread] = row;
        for (int step = ${threads // 2}; step > 0; step /= 2) {
            ${p.barrier}
            if (thread < step) {
                const int other = thread + step;
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
        ${p.barrier}
% endif
</%def>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
${p.kernel.format(threads)} lu_panel(
    const ${long} m, const int width, const int first_step, const int end_step,
    const ${long} blocks, const int origin, const int pivot_count,
${matrix(w, "w", const=False)}\
    ${p.pointer.format(w.scalar)}candidates, ${integers}candidate_places, ${integers}candidate_rows,
    ${integers}places, ${integers}chosen, ${integers}pivots, ${integers}singular)
{
% if threads > 1:
    ${p.shared} ${w.scalar} best_value[${threads}];
    ${p.shared} int best_place[${threads}];
    ${p.shared} int best_row[${threads}];
% endif
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
${first_of_all()}\
            const ${long} top = base + row * w_row;
            const ${long} pivot = top + col * w_col;
            const int divides = ${w.limb("w", 0, "pivot")} != 0;
            for (int i = first + thread; i < last; i += ${threads}) {
                const int now = i == row ? col : place[i] == col ? spot : place[i];
                const ${long} at = base + i * w_row + col * w_col;
                place[i] = now;
                if (now > col && divides) {
                    const ${w.value} l = ${w.function(networks["div"])}(${w.element("w", "at")}, ${w.element("w", "pivot")});
% for k in w.limbs:
                    ${w.store("w", k, "at", w.word_of("l", k))}
% endfor
                }
            }
            if (block == 0 && thread == 0) {
                chosen[entry * ${most} + col] = row;
                pivots[entry * pivot_count + origin + col] = origin + spot;
                if (!(value > 0) && singular[entry] == 0)
                    singular[entry] = origin + col + 1;
            }
            ${p.device_barrier}
            for (int e = thread; e < (last - first) * ${most}; e += ${threads}) {
                const int i = first + e / ${most}, j = e % ${most};
                if (j > col && j < width && place[i] > col) {
                    const ${long} left = base + i * w_row + col * w_col;
                    const ${long} at = base + i * w_row + j * w_col, above = top + j * w_col;
                    const ${w.value} z = ${w.function(networks["fma"])}(
                        ${w.function(networks["neg"])}(${w.element("w", "left")}), ${w.element("w", "above")}, ${w.element("w", "at")});
% for k in w.limbs:
                    ${w.store("w", k, "at", w.word_of("z", k))}
% endfor
                }
            }
            ${p.device_barrier}
        }
        if (step < width) {
            value = -3;
            spot = (int)m;
            row = 0;
            for (int i = first + thread; i < last; i += ${threads}) {
                if (step == 0)
                    place[i] = i;
                const int where = step == 0 ? i : place[i];
                if (where >= step) {
                    const ${long} at = base + i * w_row + step * w_col;
                    const ${w.scalar} size = ${w.fabs(w.limb("w", 0, "at"))};
                    const ${w.scalar} other = size == size ? size : -1;
                    if (${better("other", "where")}) {
                        value = other;
                        spot = where;
                        row = i;
                    }
                }
            }
${first_of_all()}\
            if (thread == 0) {
                const ${long} mine = (entry * 2 + (step & 1)) * blocks + block;
                candidates[mine] = value;
                candidate_places[mine] = spot;
                candidate_rows[mine] = row;
            }
            ${p.device_barrier}
        }
    }
}
