## A block of unknowns of triangular systems, for a tile of right-hand sides a block of threads.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
%>
<%def name="put(name, index, value)">
% for k in w.limbs:
            ${w.store(name, k, index, w.word_of(value, k))}
% endfor
</%def>
## A value as memory would give it back.
<%def name="stored(value)">
% for k in w.limbs:
% if w.format.planes[k] != w.format.word:
                ${w.word_of(value, k)} = ${w.narrow(k, w.word_of(value, k))};
% endif
% endfor
</%def>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
/* a x = b, a lower triangular with n rows, x in b's place; unknowns in ascending order */
${p.kernel.format(threads)} triangular_solve(
    const ${long} n, const ${long} columns, const ${long} tiles, const int unit,
${matrix(w, "a")}\
${matrix(w, "b", const=False, end=")")}\
{
% if shared:
% for k in w.limbs:
    ${p.shared} ${w.word} left${k}[${most * (most + 1) // 2}];
    ${p.shared} ${w.word} known${k}[${2 * tile}];
% endfor
% endif
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} group = ${p.axis(p.group_id, 0)};
    const ${long} first = group % tiles * ${tile}, entry = group / tiles;
    const int width = (int)(columns - first < ${tile} ? columns - first : ${tile});
    const ${long} a_at = a_start + entry * a_batch;
    const ${long} b_at = b_start + entry * b_batch + first * b_col;

% if shared:
<% lanes = threads // tile %>\
## A thread has some rows of one right-hand side. Of what its warp reads, neighbours lie side by side.
    const int by_rows = (b_row < 0 ? -b_row : b_row) < (b_col < 0 ? -b_col : b_col);
    const int lane = by_rows ? thread % ${lanes} : thread / ${tile};
    const int j = by_rows ? thread / ${lanes} : thread % ${tile};
## Eight elements are read before they are kept; beyond the triangle and below n rows others are read,
## which nobody uses.
<% batch = min(8, most * most // threads) %>\
    for (int e = thread; e < ${most * most}; e += ${batch * threads}) {
        ${w.value} read[${batch}];
% for u in range(batch):
        {
            const int i = (e + ${u * threads}) / ${most}, column = (e + ${u * threads}) % ${most};
            const int row = i < size ? i : size - 1;
            const ${long} at = a_at + row * a_row + (column < row ? column : row) * a_col;
            read[${u}] = ${w.element("a", "at")};
        }
% endfor
% for u in range(batch):
        {
            const int i = (e + ${u * threads}) / ${most}, column = (e + ${u * threads}) % ${most};
            if (column <= i) {
                ${w.value} l = read[${u}];
                if (column < i)
                    l = ${w.function(networks["neg"])}(l);
% for k in w.limbs:
                left${k}[i * (i + 1) / 2 + column] = ${w.word_of("l", k)};
% endfor
            }
        }
% endfor
    }
    ${w.value} mine[${most // lanes}];
% for u in range(most // lanes):
    if (lane + ${u * lanes} < size && j < width) {
        const ${long} at = b_at + (lane + ${u * lanes}) * b_row + j * b_col;
        mine[${u}] = ${w.element("b", "at")};
    } else {
        mine[${u}] = ${w.zero()};
    }
% endfor
    ${barrier}
    for (int i = 0; i < size; ++i) {
        const int spot = (i & 1) * ${tile} + j;
        if (i % ${lanes} == lane && j < width) {
% for u in range(most // lanes):
            if (i == lane + ${u * lanes}) {
                if (!unit) {
                    mine[${u}] = ${w.function(networks["div"])}(mine[${u}], ${w.pack(f"left{k}[i * (i + 3) / 2]" for k in w.limbs)});
${stored(f"mine[{u}]")}\
                }
% for k in w.limbs:
                known${k}[spot] = ${w.word_of(f"mine[{u}]", k)};
% endfor
            }
% endfor
        }
        ${barrier}
        if (j < width) {
            const ${w.value} x = ${w.pack(f"known{k}[spot]" for k in w.limbs)};
## All rows, so that none waits for another; only those below keep what they get.
% for u in range(most // lanes):
            {
                const int row = lane + ${u * lanes}, below = row > i, at = row * (row + 1) / 2 + i;
                ${w.value} z = ${w.function(networks["fma"])}(${w.pack(f"left{k}[at]" for k in w.limbs)}, x, mine[${u}]);
${stored("z")}\
% for k in w.limbs:
                ${w.word_of(f"mine[{u}]", k)} = below ? ${w.word_of("z", k)} : ${w.word_of(f"mine[{u}]", k)};
% endfor
            }
% endfor
        }
    }
% for u in range(most // lanes):
    if (lane + ${u * lanes} < size && j < width) {
        const ${long} at = b_at + (lane + ${u * lanes}) * b_row + j * b_col;
% for k in w.limbs:
        ${w.store("b", k, "at", w.word_of(f"mine[{u}]", k))}
% endfor
    }
% endfor
% else:
## Consecutive threads take what lies side by side in memory: rows, or right-hand sides.
    const int turned = (b_row < 0 ? -b_row : b_row) < (b_col < 0 ? -b_col : b_col);
% if threads == 1:
    /* of columns one by one, else all together */
    const int step = turned ? 1 : width;
    for (int from = 0; from < width; from += step)
% else:
    const int step = width, from = 0;
% endif
    for (int i = 0; i < size; ++i) {
        const ${long} row = b_at + i * b_row, pivot = a_at + i * (a_row + a_col);
        const int below = size - 1 - i;
        for (int j = thread; j < (unit ? 0 : step); j += ${threads}) {
            const ${long} at = row + (from + j) * b_col;
            const ${w.value} x = ${w.function(networks["div"])}(${w.element("b", "at")}, ${w.element("a", "pivot")});
${put("b", "at", "x")}
        }
        ${fence}
        for (int e = thread; e < below * step; e += ${threads}) {
            const int down = 1 + (turned ? e % below : e / step), j = turned ? e / below : e % step;
            const ${long} known = row + (from + j) * b_col, at = known + down * b_row;
            const ${long} left = pivot + down * a_row;
            const ${w.value} z = ${w.function(networks["fma"])}(
                ${w.function(networks["neg"])}(${w.element("a", "left")}), ${w.element("b", "known")}, ${w.element("b", "at")});
${put("b", "at", "z")}
        }
        ${fence}
    }
% endif
}
