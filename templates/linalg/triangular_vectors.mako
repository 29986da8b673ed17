## A block of unknowns of triangular systems for a tile of right-hand sides, in vectors of these: for CPUs.
## w: Writer of vectors, v: scalar Writer
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%
    p, long, groups = w.platform, w.platform.index, tile // w.width
    fma, div, neg = (w.function(networks[role]) for role in ("fma", "div", "neg"))
    everywhere = lambda index: w.pack(w.splat(v.limb("a", k, index)) for k in w.limbs)
%>
${arithmetic(w, [networks["div"], networks["neg"], networks["fma"]])}
${anywhere(w)}
/* a x = b, a lower triangular with n rows, x in b's place; unknowns in ascending order */
${p.kernel.format(1)} ${head()}
{
    const ${long} group = ${p.axis(p.group_id, 0)};
    const ${long} first = group % tiles * ${tile}, entry = group / tiles;
    const int size = (int)n, width = (int)(columns - first < ${tile} ? columns - first : ${tile});
    const int whole = b_col == 1 && width == ${tile};
    const ${long} a_at = a_start + entry * a_batch;
    const ${long} b_at = b_start + entry * b_batch + first * b_col;
    ${w.value} x[${most * groups}];

    for (int i = 0; i < size; ++i) {
        const ${long} at = b_at + i * b_row;
% for g in range(groups):
        {
            ${w.value} y = ${w.zero()};
            if (whole) {
                y = ${w.pack(w.load_vector("b", k, f"at + {g * w.width}") for k in w.limbs)};
            } else {
                for (int lane = 0; lane < ${w.width} && ${g * w.width} + lane < width; ++lane) {
% for k in w.limbs:
                    ((${w.scalar} *)&${w.word_of("y", k)})[lane] = ${v.limb("b", k, f"at + ({g * w.width} + lane) * b_col")};
% endfor
                }
            }
            x[i * ${groups} + ${g}] = y;
        }
% endfor
    }
    for (int i = 0; i < size; ++i) {
        const ${long} pivot = a_at + i * (a_row + a_col);
        if (!unit) {
            const ${w.value} divisor = ${everywhere("pivot")};
% for g in range(groups):
            x[i * ${groups} + ${g}] = ${div}(x[i * ${groups} + ${g}], divisor);
% endfor
        }
% for g in range(groups):
        const ${w.value} known${g} = x[i * ${groups} + ${g}];
% endfor
        for (int j = i + 1; j < size; ++j) {
            const ${long} left = pivot + (j - i) * a_row;
            const ${w.value} l = ${neg}(${everywhere("left")});
% for g in range(groups):
            x[j * ${groups} + ${g}] = ${fma}(l, known${g}, x[j * ${groups} + ${g}]);
% endfor
        }
    }
    for (int i = 0; i < size; ++i) {
        const ${long} at = b_at + i * b_row;
% for g in range(groups):
        {
            ${w.value} y = x[i * ${groups} + ${g}];
            if (whole) {
% for k in w.limbs:
                ${w.store_vector("b", k, f"at + {g * w.width}", w.word_of("y", k))}
% endfor
            } else {
                for (int lane = 0; lane < ${w.width} && ${g * w.width} + lane < width; ++lane) {
% for k in w.limbs:
                    ${v.store("b", k, f"at + ({g * w.width} + lane) * b_col", f"(({w.scalar} *)&{w.word_of('y', k)})[lane]")}
% endfor
                }
            }
        }
% endfor
    }
}
