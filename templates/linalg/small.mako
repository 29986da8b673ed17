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
<%def name="read(w, operand, rows, columns, parts, barrier, lower=False)">
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
            if (i < height && j ${"<= i" if lower else "< width"}) {
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
<%def name="write(w, operand, rows, columns, parts, barrier, to, turns, lower=False)">
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
<% found = f"hold[held + i * {columns + 1} + j]" %>\
                ${w.store(operand, k, "at", f"(j <= i ? {found} : {w.literal(0)})" if lower else found)}
            }
        }
% endfor
        ${barrier}
% endfor
    }
</%def>
## A value in the block's memory, which other threads of its matrix read.
<%def name="kept(w, memory, index, value, pad)">
% for k in w.limbs:
${pad}${memory}${k}[${index}] = ${w.word_of(value, k)};
% endfor
</%def>
## A value as its planes would give it back.
<%def name="narrowed(w, value, pad)">
% if any(plane != w.format.word for plane in w.format.planes):
% for k in w.limbs:
${pad}${w.word_of(value, k)} = ${w.narrow(k, w.word_of(value, k))};
% endfor
% endif
</%def>
## The slots turn by one; *last* comes in at the end.
<%def name="turned(count, last, pad)">
% for u in range(1, count):
${pad}own[${u - 1}] = own[${u}];
% endfor
${pad}own[${count - 1}] = ${last};
</%def>
## Slots 1 to the last, or with parts 0 to the last, lose what *update* subtracts from them, where
## they are still worked on; with one part they turn.
<%def name="updated(w, groups, slot, parts, fma, factor)">
% for slots in groups:
        if (${slots[0] * parts} < live) {
% for u in slots:
% if u > 0 or parts > 1:
            {
                ${w.value} z = ${fma}(minus, ${factor(u)}, own[${u}]);
${narrowed(w, "z", " " * 16)}\
                const int still = active && ${"part > turn" if u == 0 else f"{slot(u)} < live"};
                own[${u if parts > 1 else u - 1}] = still ? z : own[${u}];
            }
% endif
% endfor
        }${" else {" if parts == 1 else ""}
% if parts == 1:
% for u in slots:
% if u > 0:
            own[${u - 1}] = own[${u}];
% endif
% endfor
        }
% endif
% endfor
</%def>
