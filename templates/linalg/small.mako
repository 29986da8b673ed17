## What factorisations of small matrices share: a thread has a row, or every so many-th element of one,
## in registers; a block of threads has a few matrices, or one.
## Before a loop whose steps have hundreds of operations each: some compilers write such loops out, too,
## where they are short.
<%def name="rolled(w)">${w.platform.unrolled_by(1) if w.format.words > 1 else ""}</%def>
## *turned*: what a thread's row is counted from.
<%def name="shape(w, threads, rows, columns, parts, turned='self')">
<%
    p, long = w.platform, w.platform.index
    each = rows * parts
%>\
    const int thread = (int)${p.axis(p.local_id, 0)}, self = thread % ${each}, matrix = thread / ${each};
    const int row = ${turned} % ${rows}, part = self / ${rows};
    const ${long} entry = ${p.axis(p.group_id, 0)} * ${threads // each} + matrix;
    ${p.shared} ${w.word} hold[${threads // each * rows * (columns + 1)}];
    const int held = matrix * ${rows * (columns + 1)};
</%def>
## Rows come and go by way of the block's memory, limb by limb, so that neighbours in memory are read
## and written at once: along rows or, *turned*, along columns where these are nearer. What a thread
## reads or writes is *step* apart in memory and *jump* in the block's; the first *inside* of it are in
## the matrix. *start*: where the first matrix begins, if not where the operand does.
<%def name="places(w, operand, rows, columns, parts, start)">
<%
    long, down = w.platform.index, rows * parts // columns
%>\
        const int turned = ${operand}_turned;
        const int i = turned ? self % ${rows} : self / ${columns}, j = turned ? self / ${rows} : self % ${columns};
        const ${long} base = ${start or operand + "_start"} + (entry < batch ? entry : 0) * ${operand}_batch;
        const ${long} from = base + i * ${operand}_row + j * ${operand}_col;
        const ${long} step = turned ? ${parts} * ${operand}_col : ${down} * ${operand}_row;
        const int start = held + i * ${columns + 1} + j, jump = turned ? ${parts} : ${down * (columns + 1)};
        const int rest = turned ? width - j + ${parts - 1} : height - i + ${down - 1};
        const int inside = i < height && j < width ? rest / (turned ? ${parts} : ${down}) : 0;
</%def>
## Whether element u is on the diagonal or left of it.
<%def name="left(rows, columns, parts, u)">(turned ? j + ${u * parts} <= i : j <= i + ${u * (rows * parts // columns)})</%def>
## What is not in the matrix becomes anything that is.
<%def name="read(w, operand, rows, columns, parts, barrier, lower=False, start=None)">
<%
    count, long = columns // parts, w.platform.index
    ## What was read may be written over from here on.
    whole = w.platform.device_barrier if barrier == w.platform.barrier else barrier
%>\
    ${w.value} own[${count}];
    {
${places(w, operand, rows, columns, parts, start)}\
        ${w.value} given[${count}];
% for u in range(count):
        {
            const int there = ${u} < inside${" && " + capture(left, rows, columns, parts, u) if lower else ""};
            const ${long} at = there ? from + ${u} * step : base;
            given[${u}] = ${w.element(operand, "at")};
        }
% endfor
% for k in w.limbs:
% for u in range(count):
        hold[start + ${u} * jump] = ${w.word_of(f"given[{u}]", k)};
% endfor
        ${whole if k == 0 else barrier}
% for u in range(count):
        ${w.word_of(f"own[{u}]", k)} = hold[held + row * ${columns + 1} + part + ${u * parts}];
% endfor
        ${barrier}
% endfor
    }
</%def>
## Slots have turned so many times; the row goes to row *to*.
<%def name="write(w, operand, rows, columns, parts, barrier, to, turns, lower=False, start=None)">
<%
    count, long = columns // parts, w.platform.index
%>\
    {
${places(w, operand, rows, columns, parts, start)}\
% for k in w.limbs:
% for u in range(count):
        hold[held + ${to} * ${columns + 1} + part + (${u} + ${turns}) % ${count} * ${parts}] = ${w.word_of(f"own[{u}]", k)};
% endfor
        ${barrier}
% for u in range(count):
        if (${u} < inside) {
            const ${long} at = from + ${u} * step;
            const ${w.word} z = hold[start + ${u} * jump];
<% z = "(" + capture(left, rows, columns, parts, u) + f" ? z : {w.literal(0)})" if lower else "z" %>\
            ${w.store(operand, k, "at", z)}
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
## The slots turn; *last*, those that were the first ones, come in at the end.
<%def name="turned(count, last, pad)">
% for u in range(len(last), count):
${pad}own[${u - len(last)}] = own[${u}];
% endfor
% for u, one in enumerate(last, count - len(last)):
${pad}own[${u}] = ${one};
% endfor
</%def>
## Slots 1 to the last, or with parts 0 to the last, lose what *update* subtracts from them, where
## they are still worked on; with one part they turn. *after*: with one part those after this slot do, and
## none turns. *busy*: a further condition.
<%def name="updated(w, groups, slot, parts, fma, factor, after=None, busy='')">
<% turning = parts == 1 and after is None %>\
% for slots in groups:
        if (${slots[0] * parts} < live${busy}) {
% for u in slots:
% if parts > 1 or u > (after or 0):
            {
                ${w.value} z = ${fma}(minus, ${factor(u)}, own[${u}]);
${narrowed(w, "z", " " * 16)}\
                const int still = active && ${"part > turn" if u == 0 else f"{slot(u)} < live"};
                own[${u - turning}] = still ? z : own[${u}];
            }
% endif
% endfor
% if turning:
        } else {
% for u in slots:
% if u > 0:
            own[${u - 1}] = own[${u}];
% endif
% endfor
% endif
        }
% endfor
</%def>
