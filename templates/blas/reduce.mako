## First half of DOT, GEMV, sums and extrema: 32 lanes a chunk, each in order, then a tree.
## w: Writer, s: ReduceSchedule, networks: step, finish, combine, renormalise
## (where there is one), terms: "product" or "value", start: the lanes' first value,
## identity: beyond the end
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="first_half" file="/blas/first_half.mako"/>
<%namespace name="combining" file="/blas/combine.mako"/>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    product = terms == "product"
    x_index, y_index = f"x_at[r] + step * {lanes} * x_col", f"y_at + step * {lanes} * y_step"
%>
${arithmetic(w, list(networks.values()))}
/* chunks of ${chunk} elements: a team of ${lanes} work-items holds the ${lanes} lanes of ${s.rows} row${"s" if s.rows > 1 else ""}; ${s.teams} teams a block */
${p.kernel.format(s.threads)} ${head()}
{
% for i in w.limbs:
    ${p.shared} ${w.word} lanes${i}[${s.threads}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
% if s.call.across:
    /* neighbouring work-items read neighbouring rows */
    const int item = thread / ${s.teams}, team = thread % ${s.teams};
    const int stride = ${s.teams};
    const ${long} row_blocks = (rows + ${s.teams * s.rows - 1}) / ${s.teams * s.rows};
    const ${long} which = (${long})${p.axis(p.group_id, 0)} / row_blocks;
    const ${long} row = ((${long})${p.axis(p.group_id, 0)} % row_blocks) * ${s.teams * s.rows} + team;
    const int row_step = ${s.teams};
% else:
    /* neighbouring work-items read neighbouring elements of a row */
    const int item = thread % ${lanes}, team = thread / ${lanes};
    const int stride = 1;
    const ${long} pair = (${long})${p.axis(p.group_id, 0)} * ${s.teams} + team;
    const ${long} which = pair % chunks;
    const ${long} row = pair / chunks * ${s.rows};
    const int row_step = 1;
% endif
    const ${long} first = which * ${chunk};
    const ${long} last = first + ${chunk} < k ? first + ${chunk} : k;
    const int steps = (int)(last - first) / ${lanes};
    ${w.type(step.result)} sum[${s.rows}];
    ${w.value} z;
    ${long} x_at[${s.rows}];
    ${long} i = first + item;
% if product:
    ${long} y_at = y_start + i * y_step;
% endif

    ${p.unroll}
    for (int r = 0; r < ${s.rows}; ++r) {
        /* rows beyond the end repeat the last one and are not stored */
        const ${long} there = row + r * row_step < rows ? row + r * row_step : rows - 1;
        x_at[r] = x_start + there * x_row + i * x_col;
        sum[r] = ${w.first_of(step.result, start)};
    }
    int done = 0;
    for (; done + ${s.unroll} <= steps; done += ${s.unroll}) {
        ${w.value} x[${s.unroll}][${s.rows}];
% if product:
        ${w.value} y[${s.unroll}];
% endif
        ${p.unroll}
        for (int step = 0; step < ${s.unroll}; ++step) {
% if product:
            y[step] = ${w.element("y", y_index)};
% endif
            ${p.unroll}
            for (int r = 0; r < ${s.rows}; ++r)
                x[step][r] = ${w.element("x", x_index)};
        }
        ${p.unroll}
        for (int step = 0; step < ${s.unroll}; ++step) {
            ${p.unroll}
            for (int r = 0; r < ${s.rows}; ++r) {
                sum[r] = ${w.function(step)}(sum[r], x[step][r]${", y[step]" if product else ""});
% if settle is not None:
                if ((done + step + 1) % ${period} == 0)
                    sum[r] = ${w.function(settle)}(sum[r]);
% endif
            }
        }
        ${p.unroll}
        for (int r = 0; r < ${s.rows}; ++r)
            x_at[r] += ${s.unroll * lanes} * x_col;
% if product:
        y_at += ${s.unroll * lanes} * y_step;
% endif
    }
    /* the rest, and a last step that lanes beyond the end take too */
    i += (${long})done * ${lanes};
    for (; i - item < last; i += ${lanes}) {
% if product:
        const int step = 0;
        const ${w.value} y = ${w.element("y", y_index, "i < last")};
% else:
        const int step = 0;
% endif
        ++done;
        ${p.unroll}
        for (int r = 0; r < ${s.rows}; ++r) {
            sum[r] = ${w.function(step)}(sum[r], ${w.element("x", x_index, "i < last", identity)}${", y" if product else ""});
% if settle is not None:
            if (done % ${period} == 0)
                sum[r] = ${w.function(settle)}(sum[r]);
% endif
            x_at[r] += ${lanes} * x_col;
        }
% if product:
        y_at += ${lanes} * y_step;
% endif
    }
    ${p.unroll}
    for (int r = 0; r < ${s.rows}; ++r) {
        z = ${w.function(finish) + "(sum[r])" if product else "sum[r]"};
% if s.rows > 1:
        ${p.barrier}
% endif
% for i in w.limbs:
        lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
<%first_half:lane_tree args="distance" w="${w}" combine="${combine}" memory="lanes" other="other" pad="${' ' * 8}">\
        if (item < ${distance}) {
            const int other = thread + ${distance} * stride;
</%first_half:lane_tree>\
% if not single:
        if (item == 0 && row + r * row_step < rows) {
% for i in w.limbs:
            partial${i}[(row + r * row_step) * chunks + which] = ${w.word_of("z", i)};
% endfor
        }
% endif
    }
% if single:
${combining.single(w, networks, "lanes0")}\
% endif
}
