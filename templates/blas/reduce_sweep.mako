## First half of DOT, GEMV, sums and extrema on CPUs: a work-item goes through memory in order
## and keeps all lanes of a chunk. The same definition as reduce.mako.
## w: Writer of vectors, v: scalar Writer, s: SweepSchedule (across: vectors of rows, else of
## lanes), networks: step, finish, combine, renormalise (where there is one)
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%!
    from portmp.definition import halvings
%>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    product = terms == "product"
    rows = s.rows * (s.width if s.call.across else 1)
    vectors = lanes if s.call.across else lanes // s.width
%>
${arithmetic(w, list(networks.values()))}
${anywhere(w)}
/* a work-item takes a chunk of ${chunk} elements of ${rows} row${"s" if rows > 1 else ""}; ${s.width} ${"rows" if s.call.across else "lanes"} a vector */
${p.kernel_of(1)} ${head()}
{
    const ${long} which = (${long})${p.axis(p.group_id, 0)} % chunks;
    const ${long} row = (${long})${p.axis(p.group_id, 0)} / chunks * ${rows};
    const ${long} first = which * ${chunk};
    const int count = k - first < ${chunk} ? (int)(k - first) : ${chunk};
    const int many = rows - row < ${rows} ? (int)(rows - row) : ${rows};
% if s.call.across:
    const int dense = x_row == 1 && many == ${rows};

    /* lane by lane, so that the sums of all rows stay in registers */
    ${w.value} z[${s.rows}][${lanes}];
    for (int lane = 0; lane < ${lanes}; ++lane) {
        ${w.type(step.result)} sum[${s.rows}];
        ${p.unroll}
        for (int r = 0; r < ${s.rows}; ++r)
            sum[r] = ${w.first_of(step.result, start)};
        for (int i0 = 0; i0 < count; i0 += ${lanes}) {
            const int inside = i0 + lane < count;
            const ${long} i = first + i0 + (inside ? lane : 0);
            ${long} at = x_start + row * x_row + i * x_col;
% if product:
            const ${w.value} y = ${w.pack(w.splat(f"(inside ? {v.limb('y', i, 'y_start + i * y_step')} : {v.literal(0)})") for i in v.limbs)};
% endif
            if (inside && dense) {
                ${p.unroll}
                for (int r = 0; r < ${s.rows}; ++r) {
                    const ${w.value} x = ${w.pack(w.load_vector("x", i, f"at + r * {s.width}") for i in w.limbs)};
                    sum[r] = ${w.function(step)}(sum[r], x${", y" if product else ""});
                }
            } else {
                ${p.unroll}
                for (int r = 0; r < ${s.rows}; ++r) {
                    const int here = inside ? many - r * ${s.width} : 0;
${gathered("x", identity, "x_row", " " * 20)}
                    sum[r] = ${w.function(step)}(sum[r], x${", y" if product else ""});
                    at += ${s.width} * x_row;
                }
            }
% if settle is not None:
            if ((i0 / ${lanes} + 1) % ${period} == 0) {
                ${p.unroll}
                for (int r = 0; r < ${s.rows}; ++r)
                    sum[r] = ${w.function(settle)}(sum[r]);
            }
% endif
        }
        ${p.unroll}
        for (int r = 0; r < ${s.rows}; ++r)
            z[r][lane] = ${w.function(finish) + "(sum[r])" if product else "sum[r]"};
    }
% else:
    const int dense = x_col == 1${" && y_step == 1" if product else ""};
    ${w.type(step.result)} sum[${s.rows}][${vectors}];
    ${w.value} z[${s.rows}][${vectors}];
    int i0 = 0;

    for (int r = 0; r < ${s.rows}; ++r)
        for (int lane = 0; lane < ${vectors}; ++lane)
            sum[r][lane] = ${w.first_of(step.result, start)};
    for (; dense && i0 + ${lanes} <= count; i0 += ${lanes}) {
        ${p.unrolled_by(s.unroll)}
        for (int lane = 0; lane < ${vectors}; ++lane) {
            const ${long} i = first + i0 + lane * ${s.width};
% if product:
            const ${w.value} y = ${w.pack(w.load_vector("y", i, "y_start + i") for i in w.limbs)};
% endif
            ${p.unroll}
            for (int r = 0; r < ${s.rows}; ++r) {
                /* rows beyond the end repeat the last one and are not stored */
                const ${long} at = x_start + (row + (r < many ? r : many - 1)) * x_row + i;
                const ${w.value} x = ${w.pack(w.load_vector("x", i, "at") for i in w.limbs)};
                sum[r][lane] = ${w.function(step)}(sum[r][lane], x${", y" if product else ""});
            }
        }
${settled()}
    }
    /* strided operands, and a last step that lanes beyond the end take too */
    for (; i0 < count; i0 += ${lanes}) {
        for (int lane = 0; lane < ${vectors}; ++lane) {
            const int here = count - i0 - lane * ${s.width};
            const ${long} i = first + i0 + lane * ${s.width};
            ${long} at;
% if product:
            at = y_start + i * y_step;
${gathered("y", 0.0, "y_step", " " * 12)}
% endif
            for (int r = 0; r < ${s.rows}; ++r) {
                at = x_start + (row + (r < many ? r : many - 1)) * x_row + i * x_col;
${gathered("x", identity, "x_col", " " * 16)}
                sum[r][lane] = ${w.function(step)}(sum[r][lane], x${", y" if product else ""});
            }
        }
${settled()}
    }
    for (int r = 0; r < ${s.rows}; ++r)
        for (int lane = 0; lane < ${vectors}; ++lane)
            z[r][lane] = ${w.function(finish) + "(sum[r][lane])" if product else "sum[r][lane]"};
% endif
    for (int r = 0; r < ${s.rows}; ++r) {
        /* lanes combine pairwise with halving distance */
        for (int distance = ${vectors // 2}; distance > 0; distance /= 2)
            for (int lane = 0; lane < distance; ++lane)
                z[r][lane] = ${w.function(combine)}(z[r][lane], z[r][lane + distance]);
% if s.call.across:
        for (int l = 0; l < ${s.width} && r * ${s.width} + l < many; ++l) {
% for i in v.limbs:
            partial${i}[(row + r * ${s.width} + l) * chunks + which] = ((${v.scalar} *)&${w.word_of("z[r][0]", i)})[l];
% endfor
        }
% else:

% for distance in halvings(s.width):
        {
<% swizzle = ".s" + "".join("%x" % ((l + distance) % s.width) for l in range(s.width)) %>
            const ${w.value} other = ${w.pack(w.word_of("z[r][0]", i) + swizzle for i in v.limbs)};
            z[r][0] = ${w.function(combine)}(z[r][0], other);
        }

% endfor
        if (r < many) {
% for i in v.limbs:
            partial${i}[(row + r) * chunks + which] = ((${v.scalar} *)&${w.word_of("z[r][0]", i)})[0];
% endfor
        }
% endif
    }
}
<%def name="settled()">
% if settle is not None:
        if ((i0 / ${lanes} + 1) % ${period} == 0) {
            for (int r = 0; r < ${s.rows}; ++r)
                for (int lane = 0; lane < ${vectors}; ++lane)
                    sum[r][lane] = ${w.function(settle)}(sum[r][lane]);
        }
% endif
</%def>
<%def name="gathered(operand, beyond, stride, pad)">
## A vector from at on; lanes from here on hold the identity.
${pad}${w.value} ${operand} = ${w.pack([w.literal(beyond)] + [w.literal(0)] * (w.format.limbs - 1))};
${pad}for (int l = 0; l < ${s.width} && l < here; ++l) {
% for i in v.limbs:
${pad}    ((${v.scalar} *)&${w.word_of(operand, i)})[l] = ${v.limb(operand, i, f"at + l * {stride}")};
% endfor
${pad}}
</%def>
