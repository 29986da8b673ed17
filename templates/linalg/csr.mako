## A sparse matrix stored by rows times the columns of a matrix.
## networks: step, finish, combine, mul, add, renormalise (where there is one); lanes, period,
## threads; alone: a work-item has all lanes of a chunk; across: see below
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%!
    from portmp.definition import halvings
%>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    teams = threads if alone else threads // lanes
    sparse = w.element("a", "a_start + i")
    dense = w.element("x", "x_at + (" + long + ")columns[i] * x_row")
%>
<%def name="ended()">
        const ${long} c_at = c_start + row * c_row + column * c_col;
${scaled(w, networks, "z", w.element("c", "c_at"), " " * 8)}
% for i in w.limbs:
        ${w.store("out", i, "out_start + row * out_row + column * out_col", w.word_of("z", i))}
% endfor
</%def>
## What a lane accumulates: elements from i on, each ${lanes} further.
<%def name="accumulated(sum, pad)">
${pad}int done = 0;
${pad}for (${long} i = first + lane; i < last; i += ${lanes}) {
${pad}    ${sum} = ${w.function(step)}(${sum}, ${sparse}, ${dense});
${pad}    ++done;
% if settle is not None:
${pad}    if (done % ${period} == 0)
${pad}        ${sum} = ${w.function(settle)}(${sum});
% endif
${pad}}
</%def>
## A chunk that is not finite: leading limbs alone in the same lanes.
<%def name="recomputed()">
        if (!(${w.fabs(w.word_of("z", 0))} <= ${w.largest})) {
            ${w.word} chain[${lanes}];
            ${p.unrolled_by(1)}
            for (int lane = 0; lane < ${lanes}; ++lane) {
                chain[lane] = 0;
                for (${long} i = first + lane; i < last; i += ${lanes})
                    chain[lane] = ${w.fma(w.limb("a", 0, "a_start + i"), w.limb("x", 0, "x_at + (" + long + ")columns[i] * x_row"), "chain[lane]")};
            }
            for (int distance = ${lanes // 2}; distance > 0; distance /= 2)
                for (int lane = 0; lane < distance && lane + distance < count; ++lane)
                    chain[lane] = chain[lane] + chain[lane + distance];
            z = ${w.alone("chain[0]")};
        }
</%def>
<%def name="multiplied(name, partial)">
${p.kernel.format(threads)} ${head(name)}
{
    const int thread = (int)${p.axis(p.local_id, 0)};
% if alone:
    const int team = thread;
% elif across:
    /* neighbouring work-items have neighbouring columns */
    const int lane = thread / ${teams}, team = thread % ${teams}, stride = ${teams};
% else:
    /* neighbouring work-items have neighbouring elements */
    const int lane = thread % ${lanes}, team = thread / ${lanes}, stride = 1;
% endif
    const ${long} at = (${long})${p.axis(p.group_id, 0)} * ${teams} + team;
    const ${long} row = at / width, column = at % width;
    const ${long} first = at < chunks ? starts[row] : 0, last = at < chunks ? starts[row + 1] : 0;
    const int count = some ? (int)(last - first) : 0;
    const ${long} x_at = x_start + column * x_col;
    ${w.value} z = ${w.zero()};
% if alone:
    if (at >= chunks)
        return;
    if (count > 0) {
        ${w.value} values[${lanes}];
        ${p.unrolled_by(1)}
        for (int lane = 0; lane < ${lanes} && lane < count; ++lane) {
            ${w.type(step.result)} sum = ${w.zero(step.result)};
${accumulated("sum", " " * 12)}\
            values[lane] = ${w.function(finish)}(sum);
        }
        ${p.unrolled_by(1)}
        for (int distance = ${lanes // 2}; distance > 0; distance /= 2)
            ${p.unrolled_by(1)}
            for (int lane = 0; lane < distance && lane + distance < count; ++lane)
                values[lane] = ${w.function(combine)}(values[lane], values[lane + distance]);
        z = values[0];
${recomputed()}\
    }
    {
% else:
% for i in w.limbs:
    ${p.shared} ${w.word} lanes${i}[${threads}];
% endfor
    if (lane < count) {
        ${w.type(step.result)} sum = ${w.zero(step.result)};
${accumulated("sum", " " * 8)}\
        z = ${w.function(finish)}(sum);
    }
% for i in w.limbs:
    lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
% for distance in halvings(lanes):
    ${p.barrier}
    if (lane < ${distance} && lane + ${distance} < count) {
        const int other = thread + ${distance} * stride;
        z = ${w.function(combine)}(z, ${w.pack(f"lanes{i}[other]" for i in w.limbs)});
% for i in w.limbs:
        lanes${i}[thread] = ${w.word_of("z", i)};
% endfor
    }
% endfor
    if (lane == 0 && at < chunks) {
${recomputed()}\
% endif
% if partial:
% for i in w.limbs:
        out${i}[at] = ${w.word_of("z", i)};
% endfor
% else:
        const int k = count;
${ended()}\
% endif
    }
}
</%def>
${arithmetic(w, list(networks.values()))}
/* rows of one chunk, each with alpha and beta; ${"a work-item" if alone else f"{lanes} work-items"} for each row and column */
${multiplied("csr_rows", False)}
/* chunks of longer rows */
${multiplied("csr_chunks", True)}
/* the chunks of each row in order */
${p.kernel.format(threads)} ${head("csr_add")}
{
    const ${long} at = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (at >= rows)
        return;
    const ${long} row = at / width, column = at % width;
    const ${long} first = firsts[row], last = firsts[row + 1];
    const int k = last > first;
    ${w.value} z = ${w.zero()};
    ${p.unrolled_by(1)}
    for (${long} i = first; i < last; ++i) {
        const ${long} from = i * width + column;
        const ${w.value} next = ${w.pack(f"partial{i}[from]" for i in w.limbs)};
        z = i == first ? next : ${w.function(combine)}(z, next);
    }
    {
${ended()}\
    }
}
