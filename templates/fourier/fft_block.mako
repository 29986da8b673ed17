## Steps of Fourier transforms of rows, from length *before* on: a block of threads takes ${columns}
## neighbouring transforms that its steps join, a thread ${each} elements; between stages, whose steps
## a thread takes by itself, elements lie in block memory.
## networks["add"], ["mul"], ["neg"]; radices of 2 and 4, first (before is 1), whole, binary, listed,
## columns, each, constants
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="steps" file="/fourier/steps.mako"/>
<%
    from math import prod
    from portmp.routines.fourier.block_memory import BlockMemory
    from portmp.routines.fourier.spelling import Spelling
    from portmp.routines.fourier.steps import grouped
    p, limbs = w.platform, w.format.limbs
    s, size = Spelling(w, networks, first, binary, listed), prod(radices)
    parts, stages = ("re", "im"), grouped(radices, each)
    group = each if whole and len(stages) > 2 else prod(stages[-1])
    place = BlockMemory(w.format, size, columns, each, group, first, whole)
    ## Threads of a transform; in the last stage of the first pass they are neighbours.
    across = size // each
    turned = first and not whole
    by_item = f"thread % {across}", f"thread / {across}"
    by_column = f"thread / {columns}", f"thread % {columns}"
    ## Threads with many elements have few enough registers for so many blocks of a compute unit.
    resident = (2 if w.scalar == "double" else 3) if each > 4 else 1
    done, left = 1, size
%>
<%def name="transform(column)">
        const int id = (int)${p.axis(p.group_id, 0)} * ${columns} + ${column};
        const int inside = id < count;
${steps.places(s, size, whole)}\
</%def>\
${arithmetic(w, list(networks.values()))}
${p.kernel_of(threads, resident)} ${head()}
{
    ${p.shared} ${w.scalar} held[${place.words}];
    const int thread = ${p.axis(p.local_id, 0)};
    const int item = ${(by_item if whole else by_column)[0]}, column = ${(by_item if whole else by_column)[1]};
${transform("column")}\
% for stage, its in enumerate(stages):
<%
    radix, last = prod(its), stage == len(stages) - 1
    left //= radix
    xs = [[s.name() for _ in range(radix)] for _ in range(each // radix)]
    ys = [[s.name() for _ in range(radix)] for _ in xs]
    spots = [s.name() for _ in xs]
%>\
% if stage and last and turned:
        const int item_ = ${by_item[0]}, column_ = ${by_item[1]};
<% mine = ("item_", "column_") %>\
% else:
<% mine = ("item", "column") %>\
% endif
% for b, spot in enumerate(spots):
        const int ${spot} = ${mine[0]}${f" + {b * across}" if b else ""}, ${spot}kk = ${spot} / ${left}, ${spot}q = ${spot} % ${left};
% endfor
% if stage == 0:
% for spot, x in zip(spots, xs):
% for q, z in enumerate(x):
% for part, of in zip(parts, "xy"):
${steps.let(s, z + part, w.element(of, f"{of}_start + from + ({spot} + {q * left}) * apart_by", "inside"))}\
% endfor
% endfor
% endfor
% else:
% for b, spot in enumerate(spots):
        const int ${spot}at = ${place.at(f"({left * radix} * {spot}kk + {spot}q)", mine[1])};
% endfor
% for turn in range(0, 2, place.parts):
<% exchanged = parts[turn : turn + place.parts] %>\
% if stage > 1 or turn:
        ${p.barrier}
% endif
% for spot, y in written:
% for m, z in enumerate(y):
% for n, part in enumerate(exchanged):
% for limb in w.limbs:
        held[${(n * limbs + limb) * place.span + place.beyond(m * size // len(y))} + ${spot}to] = ${w.word_of(z + part, limb)};
% endfor
% endfor
% endfor
% endfor
        ${p.barrier}
% for spot, x in zip(spots, xs):
% for q, z in enumerate(x):
% for n, part in enumerate(exchanged):
${steps.let(s, z + part, w.pack(f"held[{(n * limbs + limb) * place.span + place.beyond(q * left)} + {spot}at]" for limb in w.limbs))}\
% endfor
% endfor
% endfor
% endfor
% endif
% for spot, x, y in zip(spots, xs, ys):
${steps.joined(s, x, y, its, constants, f"{spot}kk" if stage else "", done, left)}\
% endfor
% if not last:
% for spot in spots:
        const int ${spot}to = ${place.at(spot, mine[1])};
% endfor
% endif
<% written, done = [*zip(spots, ys)], done * radix %>\
% endfor
% if turned:
        {
${transform("column_")}\
% endif
        if (inside) {
% for spot, y in written:
% for m, z in enumerate(y):
% for part, of in zip(parts, "uv"):
% for limb in w.limbs:
            ${w.store(of, limb, f"{of}_start + to + ({spot}kk + {m * size // len(y)}){s.beside}", w.word_of(z + part, limb))}
% endfor
% endfor
% endfor
% endfor
        }
% if turned:
        }
% endif
}
