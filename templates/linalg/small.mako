## What factorisations of small matrices share: a thread has a row, or every so many-th element of one,
## in registers; a block of threads has a few matrices, or one.
<%def name="shape(w, threads, rows, columns, parts)">
<%
    p, long = w.platform, w.platform.index
    each = rows * parts
%>\
    const int thread = (int)${p.axis(p.local_id, 0)}, self = thread % ${each}, matrix = thread / ${each};
    const int row = self % ${rows}, part = self / ${rows};
    const ${long} entry = ${p.axis(p.group_id, 0)} * ${threads // each} + matrix;
    ${p.shared} ${w.word} hold[${threads // each * rows * (columns + 1)}];
    const int held = matrix * ${rows * (columns + 1)};
</%def>
## Rows come and go by way of the block's memory, limb by limb, so that neighbours in memory are read
## and written at once: along rows, or along columns where these are nearer.
<%def name="place(rows, columns, parts, u, turned)">\
                const int e = self + ${u * rows * parts};
                const int i = ${turned} ? e % ${rows} : e / ${columns}, j = ${turned} ? e / ${rows} : e % ${columns};
</%def>
<%def name="read(w, operand, rows, columns, parts, barrier)">
<%
    count, long = columns // parts, w.platform.index
%>\
    ${w.value} own[${count}];
    {
        const int turned = ${operand}_turned;
        const ${long} base = ${operand}_start + entry * ${operand}_batch;
        ${w.value} given[${count}];
% for u in range(count):
        {
${place(rows, columns, parts, u, "turned")}\
            given[${u}] = ${w.zero()};
            if (i < height && j < width) {
                const ${long} at = base + i * ${operand}_row + j * ${operand}_col;
                given[${u}] = ${w.element(operand, "at")};
            }
        }
% endfor
% for k in w.limbs:
% for u in range(count):
        {
${place(rows, columns, parts, u, "turned")}\
            hold[held + i * ${columns + 1} + j] = ${w.word_of(f"given[{u}]", k)};
        }
% endfor
        ${barrier}
% for u in range(count):
        ${w.word_of(f"own[{u}]", k)} = hold[held + row * ${columns + 1} + part + ${u * parts}];
% endfor
        ${barrier}
% endfor
    }
</%def>
## Slots have turned so many times; the row goes to row *to*.
<%def name="write(w, operand, rows, columns, parts, barrier, to, turns)">
<%
    count, long = columns // parts, w.platform.index
%>\
    {
        const int turned = ${operand}_turned;
        const ${long} base = ${operand}_start + entry * ${operand}_batch;
% for k in w.limbs:
% for u in range(count):
        hold[held + ${to} * ${columns + 1} + part + (${u} + ${turns}) % ${count} * ${parts}] = ${w.word_of(f"own[{u}]", k)};
% endfor
        ${barrier}
% for u in range(count):
        {
${place(rows, columns, parts, u, "turned")}\
            if (i < height && j < width) {
                const ${long} at = base + i * ${operand}_row + j * ${operand}_col;
                ${w.store(operand, k, "at", f"hold[held + i * {columns + 1} + j]")}
            }
        }
% endfor
        ${barrier}
% endfor
    }
</%def>
