## LU with partial pivoting of a panel of few columns by one thread, in vectors of columns: for CPUs.
##
## Rows stay where they are in memory, as in lu_panel, whose arguments these are: spots[i] is where row i
## belongs after the swaps so far. All steps are one launch; what lies in a group of columns left of
## the one that is worked on is computed with the others and not stored.
## w: Writer of vectors, v: scalar Writer
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%
    p, long, lanes = w.platform, w.platform.index, w.width
    groups, integers = most // lanes, p.pointer.format("int")
    fma, div, neg = (w.function(networks[role]) for role in ("fma", "div", "neg"))
    everywhere = lambda memory, index: w.pack(w.splat(f"{memory}{k}[{index}]") for k in w.limbs)
    lane_of = lambda value, k, lane: f"(({w.scalar} *)&{w.word_of(value, k)})[{lane}]"
%>
## The columns of a group that there are, one by one.
<%def name="apart(first, start)">
for (int lane = ${first}; lane < ${lanes} && ${start} + lane < width; ++lane) {
</%def>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
${anywhere(w)}
${p.kernel.format(1)} ${head()}
{
    ${p.shared} int spots[${rows}];
    /* the column that is worked on, and by what rows lose of the pivot's */
% for k in w.limbs:
    ${p.shared} ${w.word} column${k}[${rows // lanes}], losing${k}[${rows // lanes}];
    ${p.shared} ${w.scalar} *next${k} = (${p.shared} ${w.scalar} *)column${k};
    ${p.shared} ${w.scalar} *factor${k} = (${p.shared} ${w.scalar} *)losing${k};
% endfor
    const ${long} entry = ${p.axis(p.group_id, 0)}, base = w_start + entry * w_batch;
    const int last = (int)m, full = (last + ${lanes - 1}) / ${lanes}, whole = w_col == 1 && width == ${most};
    /* where the first rows belong, and which rows come there: for swaps later */
    ${integers}first_place = firsts + (slot + entry) * ${most};
    ${integers}first_row = chosen + (slot + entry) * ${most};

    for (int i = 0; i < full * ${lanes}; ++i) {
        const ${long} at = base + (i < last ? i : 0) * w_row;
        spots[i] = i < last ? i : -1;
        if (i < last && i < ${most})
            first_place[i] = i;
% for k in w.limbs:
        next${k}[i] = ${v.limb("w", k, "at")};
% endfor
    }
    for (int col = 0; col < width; ++col) {
        const int step = col + 1, first = step / ${lanes};
        ${w.scalar} value = -3;
        int spot = last, row = 0;
        for (int i = 0; i < last; ++i) {
            const int where = spots[i];
            const ${w.scalar} size = ${v.size(lambda k: f"next{k}[i]")}, other = size == size ? size : -1;
            if (where >= col && (other > value || (other == value && where < spot))) {
                value = other;
                spot = where;
                row = i;
            }
        }
        first_row[col] = row;
        pivots[entry * pivot_count + origin + col] = origin + spot;
        if (!(value > 0) && singular[entry] == 0)
            singular[entry] = origin + col + 1;
        if (spot != col) {
            for (int i = 0; i < last; ++i) {
                if (spots[i] == col) {
                    spots[i] = spot;
                    if (i < ${most})
                        first_place[i] = spot;
                }
            }
        }
        spots[row] = col;
        if (row < ${most})
            first_place[row] = col;
        ${w.value} top[${groups}];
        for (int g = first; g < ${groups}; ++g) {
            const ${long} at = base + row * w_row + g * ${lanes} * w_col;
            top[g] = ${w.zero()};
            if (whole) {
                top[g] = ${w.pack(w.load_vector("w", k, "at") for k in w.limbs)};
            } else {
                ${apart("0", f"g * {lanes}").strip()}
% for k in w.limbs:
                    ${lane_of("top[g]", k, "lane")} = ${v.limb("w", k, "at + lane * w_col")};
% endfor
                }
            }
        }
        const ${w.value} divisor = ${everywhere("next", "row")};
        const int divides = ${" || ".join(f"{x} != 0" for x in v.leaders(lambda k: f"next{k}[row]"))};
        for (int i = 0; i < full; ++i) {
            ${w.value} l = ${w.pack(f"column{k}[i]" for k in w.limbs)};
            if (divides)
                l = ${div}(l, divisor);
% for k in w.limbs:
            column${k}[i] = ${w.word_of("l", k)};
% endfor
            l = ${neg}(l);
% for k in w.limbs:
            losing${k}[i] = ${w.word_of("l", k)};
% endfor
        }
        for (int i = 0; i < last; ++i) {
            if (spots[i] <= col)
                continue;
            const ${w.value} l = ${everywhere("factor", "i")};
            const ${long} mine = base + i * w_row, left = mine + col * w_col;
            /* undivided too: memory may hold what was there before the first step */
% for k in w.limbs:
            ${v.store("w", k, "left", f"next{k}[i]")}
% endfor
            for (int g = first; g < ${groups} && g * ${lanes} < width; ++g) {
                const ${long} at = mine + g * ${lanes} * w_col;
                const int done = g == first ? step % ${lanes} : 0;
                ${w.value} z = ${w.zero()};
                if (whole) {
                    z = ${w.pack(w.load_vector("w", k, "at") for k in w.limbs)};
                } else {
                    ${apart("0", f"g * {lanes}").strip()}
% for k in w.limbs:
                        ${lane_of("z", k, "lane")} = ${v.limb("w", k, "at + lane * w_col")};
% endfor
                    }
                }
                z = ${fma}(l, top[g], z);
                if (whole && done == 0) {
% for k in w.limbs:
                    ${w.store_vector("w", k, "at", w.word_of("z", k))}
% endfor
                } else {
                    ${apart("done", f"g * {lanes}").strip()}
% for k in w.limbs:
                        ${v.store("w", k, "at + lane * w_col", lane_of("z", k, "lane"))}
% endfor
                    }
                }
            }
            if (step < width) {
                const ${long} at = mine + step * w_col;
% for k in w.limbs:
                next${k}[i] = ${v.limb("w", k, "at")};
% endfor
            }
        }
    }
}
