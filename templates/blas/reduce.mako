## First half of DOT, GEMV, sums and extrema: 32 lanes a chunk, each in order, then a tree.
## w: Writer, v: scalar Writer, s: ReduceSchedule, networks: step, finish, combine,
## terms: "product" or "value", start: the lanes' first value, identity: beyond the end
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    step, finish, combine = (networks[role] for role in ("step", "finish", "combine"))
    settle = networks.get("renormalise")
    items = lanes // s.width
    state = step.result
    threads = items * s.rows
%>
<%
    def term(operand, index, inside=""):
        """One value a lane; lanes beyond the end hold the identity."""
        def lane(i, l):
            at = index.replace("LANE", str(l))
            text = v.limb(operand, i, at)
            if not inside:
                return text
            return f"({inside.replace('LANE', str(l))} ? {text} : {v.literal(0 if i else identity)})"
        if s.width == 1:
            return w.pack(lane(i, 0) for i in v.limbs)
        return w.pack(
            f"({w.word})(" + ", ".join(lane(i, l) for l in range(s.width)) + ")" for i in v.limbs
        )
    x_index = "x_at + LANE * x_col" if s.width > 1 else "x_at"
    y_index = "y_at + LANE * y_step" if s.width > 1 else "y_at"
%>
${arithmetic(w, list(networks.values()))}
/* one chunk of ${chunk} elements of one row: ${items} work-items hold ${lanes} lanes; ${s.rows} rows a block */
${p.kernel.format(threads)} ${name}(
    const ${long} rows, const ${long} k, const ${long} chunks,
    ${v.planes("x", const=True)},
    const ${long} x_start, const ${long} x_row, const ${long} x_col,
% if terms == "product":
    ${v.planes("y", const=True)}, const ${long} y_start, const ${long} y_step,
% endif
    ${v.planes("partial", const=False, compute=True)})
{
% for i in v.limbs:
    ${p.shared} ${w.word} lanes${i}[${threads}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
% if s.rows_fastest:
    const int item = thread / ${s.rows}, slot = thread;
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${s.rows} + thread % ${s.rows};
    const int stride = ${s.rows};
% else:
    const int item = thread % ${items}, slot = thread;
    const ${long} row = (${long})${p.axis(p.group_id, 0)} * ${s.rows} + thread / ${items};
    const int stride = 1;
% endif
    const ${long} which = (${long})${p.axis(p.group_id, 1)};
    const ${long} first = which * ${chunk};
    const ${long} last = first + ${chunk} < k ? first + ${chunk} : k;
    const ${long} whole = first + (last - first) / ${lanes} * ${lanes};
    ${w.type(step.result)} sum = ${w.first_of(state, start)};
    ${w.value} z;

    if (row < rows) {
        ${long} i = first + item * ${s.width};
        ${long} x_at = x_start + row * x_row + i * x_col;
% if terms == "product":
        ${long} y_at = y_start + i * y_step;
% endif
        for (; i < whole; i += ${lanes}) {
% if terms == "product":
            sum = ${w.function(step)}(sum, ${term("x", x_index)}, ${term("y", y_index)});
            y_at += ${lanes} * y_step;
% else:
            sum = ${w.function(step)}(sum, ${term("x", x_index)});
% endif
            x_at += ${lanes} * x_col;
% if settle is not None:
            if (((i - first) / ${lanes} + 1) % ${period} == 0)
                sum = ${w.function(settle)}(sum);
% endif
        }
        if (whole < last) {
% if settle is not None:
            const ${long} steps = (whole - first) / ${lanes} + 1;
% endif
<% inside = "i + LANE < last" if s.width > 1 else "i < last" %>
% if terms == "product":
            sum = ${w.function(step)}(sum, ${term("x", x_index, inside)}, ${term("y", y_index, inside)});
% else:
            sum = ${w.function(step)}(sum, ${term("x", x_index, inside)});
% endif
% if settle is not None:
            if (steps % ${period} == 0)
                sum = ${w.function(settle)}(sum);
% endif
        }
    }
    z = ${w.function(finish) + "(sum)" if terms == "product" else "sum"};
% for i in v.limbs:
    lanes${i}[slot] = ${w.word_of("z", i)};
% endfor
<% distance = lanes // 2 %>
% while distance >= s.width:
    ${p.barrier}
    if (item < ${distance // s.width}) {
        const int other = slot + ${distance // s.width} * stride;
        z = ${w.function(combine)}(z, ${w.pack(f"lanes{i}[other]" for i in v.limbs)});
% for i in v.limbs:
        lanes${i}[slot] = ${w.word_of("z", i)};
% endfor
    }
<% distance //= 2 %>
% endwhile
    if (item == 0 && row < rows) {
% while distance >= 1:
        {
<% swizzle = ".s" + "".join("%x" % ((l + distance) % s.width) for l in range(s.width)) %>
            const ${w.value} other = ${w.pack(w.word_of("z", i) + swizzle for i in v.limbs)};
            z = ${w.function(combine)}(z, other);
        }
<% distance //= 2 %>
% endwhile
% for i in v.limbs:
        partial${i}[row * chunks + which] = ${w.word_of("z", i) + (".s0" if s.width > 1 else "")};
% endfor
    }
}
