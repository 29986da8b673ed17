## How far symmetric matrices are from diagonal ones, row by row.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
%>
${arithmetic(w, [])}
/* of each row left of the diagonal: how many leading limbs Jacobi's method would turn away, and the largest */
${p.kernel.format(threads)} ${head()}
{
% if threads > 1:
    ${p.shared} int count_of[${threads}];
    ${p.shared} ${w.scalar} size_of[${threads}];
% endif
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} group = ${p.axis(p.group_id, 0)}, entry = group / n, row = group % n;
    const ${long} base = a_start + entry * a_batch, mine = base + row * (a_row + a_col);
    const ${w.scalar} size_row = ${w.fabs(w.limb("a", 0, "mine"))}, root_row = ${w.sqrt("size_row")};
    int count = 0;
    ${w.scalar} most = 0;
    for (${long} j = thread; j < row; j += ${threads}) {
        const ${long} diagonal = base + j * (a_row + a_col), at = base + row * a_row + j * a_col;
        const ${w.scalar} size_column = ${w.fabs(w.limb("a", 0, "diagonal"))}, root_column = ${w.sqrt("size_column")};
        const ${w.scalar} product = tolerance * root_column * root_row;
        const ${w.scalar} beside = edge * (root_column > root_row ? root_column : root_row);
        const ${w.scalar} limit = product > least ? product : least;
% if parts > 1:
        const ${w.scalar} size_real = ${w.fabs(w.limb("a", 0, "at"))}, size_side = ${w.fabs(w.limb("a", len(w.limbs), "at"))};
        const ${w.scalar} size = size_real > size_side ? size_real : size_side;
% else:
        const ${w.scalar} size = ${w.fabs(w.limb("a", 0, "at"))};
% endif
        count += !(size <= (beside > limit ? beside : limit));
        most = size > most ? size : most;
    }
% if threads > 1:
    count_of[thread] = count;
    size_of[thread] = most;
    for (int step = ${threads // 2}; step > 0; step /= 2) {
        ${barrier}
        if (thread < step) {
            count_of[thread] += count_of[thread + step];
            const ${w.scalar} other = size_of[thread + step];
            size_of[thread] = other > size_of[thread] ? other : size_of[thread];
        }
    }
    ${barrier}
    count = count_of[0];
    most = size_of[0];
% endif
    if (thread == 0) {
        counts[group] = count;
        largest[group] = most;
    }
}
