## A sparse matrix stored by rows times the columns of a matrix.
## networks: step, finish, combine, mul, add, renormalise (where there is one); lanes, period,
## threads; alone: a work-item has all lanes of a chunk; across: see below
## Of complex operands w is the writer of parts, and each of a's parts is multiplied by each of x's
## in sums of their own, the terms; sub, too.
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
    places = {"a": "a_start + i", "x": "x_at + (" + long + ")columns[i] * x_row"}
    limbs = len(w.limbs)
    element = lambda name, part, at: w.pack(w.limb(name, part * limbs + i, at) for i in w.limbs)
    lead = lambda name, part: w.limb(name, part * limbs, places[name])
    parts_of_a, parts_of_x = (w.storage(name).components for name in ("a", "x"))
    terms = [(i, j) for i in range(parts_of_a) for j in range(parts_of_x)]
    several = len(terms) > 1
    ends = ["ri"[i] * (parts_of_a - 1) + "ri"[j] * (parts_of_x - 1) for i, j in terms]
    named = lambda name: [f"{name}_{end}" if several else name for end in ends]
    all_of = lambda name, rest="": ", ".join(one + rest for one in named(name))
    zeros = ", ".join(f"{z} = {w.zero()}" for z in named("z"))
%>
<%def name="ended()">
        const ${long} c_at = c_start + row * c_row + column * c_col;
% if len(terms) == 4:
        ${w.value} re = ${w.function(networks["sub"])}(z_rr, z_ii), im = ${w.function(networks["add"])}(z_ri, z_ir);
% elif several:
        ${w.value} re = z_r, im = z_i;
% endif
% for part, z in enumerate(("re", "im") if several else ("z",)):
${scaled(w, networks, z, element("c", part, "c_at"), " " * 8)}
% for i in w.limbs:
        ${w.store("out", part * limbs + i, "out_start + row * out_row + column * out_col", w.word_of(z, i))}
% endfor
% endfor
</%def>
## What a lane accumulates: elements from i on, each ${lanes} further.
<%def name="accumulated(pad)">
${pad}int done = 0;
${pad}for (${long} i = first + lane; i < last; i += ${lanes}) {
% for sum, (p_a, p_x) in zip(named("sum"), terms):
${pad}    ${sum} = ${w.function(step)}(${sum}, ${element("a", p_a, places["a"])}, ${element("x", p_x, places["x"])});
% endfor
${pad}    ++done;
% if settle is not None:
% if several:
${pad}    if (done % ${period} == 0) {
% else:
${pad}    if (done % ${period} == 0)
% endif
% for sum in named("sum"):
${pad}        ${sum} = ${w.function(settle)}(${sum});
% endfor
% if several:
${pad}    }
% endif
% endif
${pad}}
</%def>
## A chunk that is not finite: leading limbs alone in the same lanes.
<%def name="recomputed()">
% for z, (p_a, p_x) in zip(named("z"), terms):
        if (!(${w.fabs(w.word_of(z, 0))} <= ${w.largest})) {
            ${w.word} chain[${lanes}];
            ${p.unrolled_by(1)}
            for (int lane = 0; lane < ${lanes}; ++lane) {
                chain[lane] = 0;
                for (${long} i = first + lane; i < last; i += ${lanes})
                    chain[lane] = ${w.fma(lead("a", p_a), lead("x", p_x), "chain[lane]")};
            }
            for (int distance = ${lanes // 2}; distance > 0; distance /= 2)
                for (int lane = 0; lane < distance && lane + distance < count; ++lane)
                    chain[lane] = chain[lane] + chain[lane + distance];
            ${z} = ${w.alone("chain[0]")};
        }
% endfor
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
    ${w.value} ${zeros};
% if alone:
    if (at >= chunks)
        return;
    if (count > 0) {
        ${w.value} ${all_of("values", f"[{lanes}]")};
        ${p.unrolled_by(1)}
        for (int lane = 0; lane < ${lanes} && lane < count; ++lane) {
            ${w.type(step.result)} ${all_of("sum", " = " + w.zero(step.result))};
${accumulated(" " * 12)}\
% for values, sum in zip(named("values"), named("sum")):
            ${values}[lane] = ${w.function(finish)}(${sum});
% endfor
        }
        ${p.unrolled_by(1)}
        for (int distance = ${lanes // 2}; distance > 0; distance /= 2)
            ${p.unrolled_by(1)}
            for (int lane = 0; lane < distance && lane + distance < count; ++lane)${" {" if several else ""}
% for values in named("values"):
                ${values}[lane] = ${w.function(combine)}(${values}[lane], ${values}[lane + distance]);
% endfor
% if several:
            }
% endif
% for z, values in zip(named("z"), named("values")):
        ${z} = ${values}[0];
% endfor
${recomputed()}\
    }
    {
% else:
% for i in range(limbs * len(terms)):
    ${p.shared} ${w.word} lanes${i}[${threads}];
% endfor
    if (lane < count) {
        ${w.type(step.result)} ${all_of("sum", " = " + w.zero(step.result))};
${accumulated(" " * 8)}\
% for z, sum in zip(named("z"), named("sum")):
        ${z} = ${w.function(finish)}(${sum});
% endfor
    }
% for t, z in enumerate(named("z")):
% for i in w.limbs:
    lanes${t * limbs + i}[thread] = ${w.word_of(z, i)};
% endfor
% endfor
% for distance in halvings(lanes):
    ${p.barrier}
    if (lane < ${distance} && lane + ${distance} < count) {
        const int other = thread + ${distance} * stride;
% for t, z in enumerate(named("z")):
        ${z} = ${w.function(combine)}(${z}, ${w.pack(f"lanes{t * limbs + i}[other]" for i in w.limbs)});
% for i in w.limbs:
        lanes${t * limbs + i}[thread] = ${w.word_of(z, i)};
% endfor
% endfor
    }
% endfor
    if (lane == 0 && at < chunks) {
${recomputed()}\
% endif
% if partial:
% for t, z in enumerate(named("z")):
% for i in w.limbs:
        out${i}[${f"{len(terms)} * at + {t}" if several else "at"}] = ${w.word_of(z, i)};
% endfor
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
    ${w.value} ${zeros};
    ${p.unrolled_by(1)}
    for (${long} i = first; i < last; ++i) {
        const ${long} from = ${f"{len(terms)} * (i * width + column)" if several else "i * width + column"};
% for t, (z, next) in enumerate(zip(named("z"), named("next"))):
        const ${w.value} ${next} = ${w.pack(f"partial{i}[from{f' + {t}' if several else ''}]" for i in w.limbs)};
        ${z} = i == first ? ${next} : ${w.function(combine)}(${z}, ${next});
% endfor
    }
    {
${ended()}\
    }
}
