## Householder's QR of a panel of few columns by one thread, in vectors of columns: for CPUs.
##
## The steps and arguments are qr_panel's; all steps are one launch. What lies in a group of columns left of the
## one that is worked on is computed with the others and not stored.
## w: Writer of vectors, v: scalar Writer
<%! from portmp.definition import halvings %>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%
    p, long, size = w.platform, w.platform.index, w.width
    groups = most // size
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
    everywhere = lambda memory, index: w.pack(w.splat(f"{memory}{k}[{index}]") for k in w.limbs)
    lane_of = lambda value, k, lane: f"(({w.scalar} *)&{w.word_of(value, k)})[{lane}]"
    same = lambda value, lane: w.pack(w.splat(lane_of(value, k, lane)) for k in w.limbs)
%>
## A group of columns of a row: what there is of it.
<%def name="read(value, at, g, pad)">
${pad}if (whole) {
${pad}    ${value} = ${w.pack(w.load_vector("a", k, at) for k in w.limbs)};
${pad}} else {
${pad}    ${value} = ${w.zero()};
${pad}    for (int lane = 0; lane < ${size} && ${g} * ${size} + lane < width; ++lane) {
% for k in w.limbs:
${pad}        ${lane_of(value, k, "lane")} = ${v.limb("a", k, f"{at} + lane * a_col")};
% endfor
${pad}    }
${pad}}
</%def>
## Written from a lane of the group on.
<%def name="put(value, at, g, done, pad)">
${pad}if (whole && ${done} == 0) {
% for k in w.limbs:
${pad}    ${w.store_vector("a", k, at, w.word_of(value, k))}
% endfor
${pad}} else {
${pad}    for (int lane = ${done}; lane < ${size} && ${g} * ${size} + lane < width; ++lane) {
% for k in w.limbs:
${pad}        ${v.store("a", k, f"{at} + lane * a_col", lane_of(value, k, "lane"))}
% endfor
${pad}    }
${pad}}
</%def>
## Lanes of all groups become one, pairwise.
<%def name="tree(values, pad)">
% for distance in halvings(lanes):
${pad}for (int e = 0; e < ${distance * groups}; ++e)
${pad}    ${values}[e] = ${f["add"]}(${values}[e], ${values}[e + ${distance * groups}]);
% endfor
</%def>
${arithmetic(w, list(networks.values()))}
${anywhere(w)}
${p.kernel.format(1)} ${head()}
{
    /* the column that is worked on, and by what rows lose of its row */
% for k in w.limbs:
    ${p.shared} ${w.word} column${k}[${rows // size}], losing${k}[${rows // size}];
    ${p.shared} ${w.scalar} *next${k} = (${p.shared} ${w.scalar} *)column${k};
    ${p.shared} ${w.scalar} *factor${k} = (${p.shared} ${w.scalar} *)losing${k};
% endfor
    const ${long} entry = ${p.axis(p.group_id, 0)}, base = a_start + entry * a_batch;
    const int last = (int)m, full = (last + ${size - 1}) / ${size}, whole = a_col == 1 && width == ${most};
    const int there = (width + ${size - 1}) / ${size};

    for (int i = 0; i < full * ${size}; ++i) {
        const ${long} at = base + (i < last ? i : 0) * a_row;
% for k in w.limbs:
        next${k}[i] = ${v.limb("a", k, "at")};
% endfor
    }
    for (int col = 0; col < width; ++col) {
        const ${long} diagonal = base + col * a_row;
        ${w.value} total[${lanes * groups}], part[${lanes * groups}], share[${groups}];
        for (int e = 0; e < ${lanes * groups}; ++e)
            total[e] = ${w.zero()};
        for (int start = 0; start < last; start += ${chunk}) {
            const int end = last - start < ${chunk} ? last : start + ${chunk};
            ${w.type(state)} states[${lanes * groups}];
            for (int e = 0; e < ${lanes * groups}; ++e)
                states[e] = ${w.zero(state)};
            for (int i = start > col + 1 ? start : col + 1; i < end; ++i) {
                const ${w.value} left = ${everywhere("next", "i")};
                const int to = (i - start) % ${lanes} * ${groups};
                for (int g = 0; g < there; ++g) {
                    const ${long} at = base + i * a_row + g * ${size} * a_col;
                    ${w.value} y;
${read("y", "at", "g", " " * 20)}\
                    states[to + g] = ${f["accumulate"]}(states[to + g], left, y);
                }
            }
            for (int e = 0; e < ${lanes * groups}; ++e)
                part[e] = ${f["finish"] + "(states[e])"};
${tree("part", " " * 12)}\
            const int lane = start / ${chunk} % ${lanes} * ${groups};
            for (int g = 0; g < ${groups}; ++g)
                total[lane + g] = ${f["add"]}(total[lane + g], part[g]);
        }
${tree("total", " " * 8)}\
        const ${w.value} alpha = ${everywhere("next", "col")}, own = ${same(f"total[col / {size}]", f"col % {size}")};
        const ${w.value} length = ${length("alpha", "own")}, minus = ${opposite}(length);
        const int zero = ${lane_of("length", 0, "0")} <= negligible;
        const ${w.value} beta = next0[col] < 0 ? length : minus, v = ${f["sub"]}(alpha, beta);
        ${w.value} twice = ${w.first_of(networks["add"].result, 2.0)}, corner = ${w.first_of(networks["add"].result, 0.5)};
        if (!zero) {
            twice = ${f["div"]}(${opposite}(v), beta);
            corner = ${f["div"]}(${opposite}(beta), v);
        }
        for (int g = 0; g < there; ++g) {
            const ${long} at = diagonal + g * ${size} * a_col;
            ${w.value} y, row;
${read("row", "at", "g", " " * 12)}\
            y = row;
            if (!zero)
                y = ${f["add"]}(row, ${against}(total[g], v));
% if "conj" in f:
            const ${w.value} product = ${conj("y")};
% endif
            for (int lane = 0; lane < ${size} && g * ${size} + lane < col; ++lane) {
                const ${long} to = t_start + entry * t_batch + (g * ${size} + lane) * t_row + col * t_col;
% for k in w.limbs:
                ${v.store("t", k, "to", lane_of("product" if "conj" in f else "y", k, "lane"))}
% endfor
            }
            /* what rows below lose by */
            share[g] = ${f["mul"]}(twice, y);
            row = ${f["sub"]}(row, share[g]);
            const int left = col + 1 - g * ${size}, done = left > 0 ? left : 0;
${put("row", "at", "g", "done", " " * 12)}\
        }
        const ${long} center = diagonal + col * a_col, end = t_start + entry * t_batch + col * (t_row + t_col);
% for k in w.limbs:
        ${v.store("a", k, "center", lane_of("beta", k, "0"))}
        ${v.store("t", k, "end", lane_of("corner", k, "0"))}
% endfor
        for (int i = 0; i < full; ++i) {
            ${w.value} z = ${w.zero()};
            if (!zero)
                z = ${f["div"]}(${w.pack(f"column{k}[i]" for k in w.limbs)}, v);
% for k in w.limbs:
            column${k}[i] = ${w.word_of("z", k)};
% endfor
            z = ${f["neg"]}(z);
% for k in w.limbs:
            losing${k}[i] = ${w.word_of("z", k)};
% endfor
        }
        const int step = col + 1, first = step / ${size};
        for (int i = step; i < last; ++i) {
            const ${w.value} l = ${everywhere("factor", "i")};
            const ${long} mine = base + i * a_row, below = mine + col * a_col;
% for k in w.limbs:
            ${v.store("a", k, "below", f"next{k}[i]")}
% endfor
            for (int g = first; g < there; ++g) {
                const ${long} at = mine + g * ${size} * a_col;
                const int done = g == first ? step % ${size} : 0;
                ${w.value} z;
${read("z", "at", "g", " " * 16)}\
                z = ${f["fma"]}(l, share[g], z);
${put("z", "at", "g", "done", " " * 16)}\
            }
            if (step < width) {
                const ${long} at = mine + step * a_col;
% for k in w.limbs:
                next${k}[i] = ${v.limb("a", k, "at")};
% endfor
            }
        }
        if (step < width && step < last) {
            const ${long} at = base + step * (a_row + a_col);
% for k in w.limbs:
            next${k}[step] = ${v.limb("a", k, "at")};
% endfor
        }
    }
}
