## Steps of Fourier transforms of rows, from length *before* on: a block of threads takes ${columns}
## neighbouring transforms that its steps join, a thread four elements a step; between steps they lie
## in block memory.
## networks["add"], ["mul"], ["neg"]; radices of 2 and 4, first (before is 1), binary, columns,
## constants
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="steps" file="/fourier/steps.mako"/>
<%
    from math import prod
    from portmp.routines.fourier.spelling import Spelling
    p, long = w.platform, w.platform.index
    s, size = Spelling(w, networks), prod(radices)
    quarter, each = size // 4, 4
    parts = ("re", "im")
    apart = "(1 << apart)" if binary else "apart"
    beside = "" if first else f" * (({long})1 << before)" if binary else f" * ({long})before"
    ## A number's words lie so far apart. After four rows of columns one is left out, so that threads
    ## that read every fourth row meet other banks.
    span = size * columns * 5 // 4
%>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head()}
{
    ${p.shared} ${w.scalar} held[${2 * w.format.limbs * span}];
    const int thread = ${p.axis(p.local_id, 0)};
<% done, left = 1, size %>\
% for stage, radix in enumerate(radices):
<%
    left //= radix
    last = stage == len(radices) - 1
    together = each // radix
    ## In the last step of the first pass four neighbouring threads write neighbouring elements.
    turned = last and first and quarter >= 4
    ## Rows, one behind each four of which is left out; steps between them are of four, or the last ones.
    lies = lambda row: f"({row} + {row} / 4) * {columns} + column"
    beyond = lambda rows: (rows + rows // 4) * columns
    column = f"thread / 4 % {columns}" if turned else f"thread % {columns}"
    item = f"thread / {4 * columns} * 4 + thread % 4" if turned else f"thread / {columns}"
%>\
    {
        const int column = ${column}, item = ${item};
        const int id = (int)${p.axis(p.group_id, 0)} * ${columns} + column;
        const int inside = id < count;
${steps.places(binary, first, size, long)}<% ys = [] %>\
% for b in range(together):
<%
    x = [s.name() for _ in range(radix)]
    spot = s.name()
%>\
        const int ${spot} = item${f" + {b * quarter}" if b else ""}, ${spot}kk = ${spot} / ${left}, ${spot}q = ${spot} % ${left};
% if stage:
        const int ${spot}row = ${left * radix} * ${spot}kk + ${spot}q, ${spot}at = ${lies(f"{spot}row")};
% endif
% if not last:
        const int ${spot}to = ${lies(spot)};
% endif
% for q in range(radix):
% if stage == 0:
<% there = f"from + ({long})({spot}q + {q * left}) * {apart}" %>\
% for part, of in zip(parts, "xy"):
${steps.let(s, f"{x[q]}{part}", w.element(of, f"{of}_start + {there}", "inside"))}\
% endfor
% else:
% for n_part, part in enumerate(parts):
${steps.let(s, f"{x[q]}{part}", w.pack(f"held[{(n_part * w.format.limbs + limb) * span} + {beyond(q * left)} + {spot}at]" for limb in w.limbs))}\
% endfor
% endif
% endfor
% if not (first and stage == 0):
% for q in range(1, radix):
<% z, x[q] = x[q], s.name() %>\
${steps.rooted(s, binary, x[q], z, q, f"{spot}kk" if stage else 0, left)}\
% endfor
% endif
<%
    y = [s.name() for _ in range(radix)]
    ys.append((spot, y))
%>\
${steps.small(s, x, y, constants)}\
% endfor
% if not last:
% if stage:
        ${p.barrier}
% endif
% for spot, y in ys:
% for q in range(radix):
% for n_part, part in enumerate(parts):
% for limb in w.limbs:
        held[${(n_part * w.format.limbs + limb) * span} + ${beyond(q * done * left)} + ${spot}to] = ${w.word_of(y[q] + part, limb)};
% endfor
% endfor
% endfor
% endfor
    }
    ${p.barrier}
% else:
        if (inside) {
% for spot, y in ys:
% for q in range(radix):
% for part, of in zip(parts, "uv"):
% for limb in w.limbs:
            ${w.store(of, limb, f"{of}_start + to + ({spot}kk + {q * done}){beside}", w.word_of(y[q] + part, limb))}
% endfor
% endfor
% endfor
% endfor
        }
    }
% endif
<% done *= radix %>\
% endfor
}
