## What steps of Fourier transforms share. *s* spells values: ``s.plus``, ``s.minus``, ``s.times``, and
## new names by ``s.name()``; a complex number is two values, whose names end with re and im.
<%!
    PARTS = ("re", "im")
%>
<%def name="let(s, name, text)">
        const ${s.w.value} ${name} = ${text};
</%def>
<%def name="both(s, to, by, a, b)">
% for part in PARTS:
${let(s, to + part, by(a + part, b + part))}\
% endfor
</%def>
## Where a work-item's elements come *from*, and go *to*: rows lie one after the other.
<%def name="places(binary, first, size, long)">
% if binary:
        const int row = id >> apart, i = id & ((1 << apart) - 1), k = ${"0" if first else "i & ((1 << before) - 1)"};
        const ${long} begin = (${long})row * ${size} << apart;
% else:
        const int row = id / apart, i = id % apart, k = ${"0" if first else "i % before"};
        const ${long} begin = (${long})row * ${size} * apart;
% endif
        const ${long} from = begin + i, to = begin + (${long})${f"i * {size}" if first else f"(i - k) * {size} + k"};
</%def>
## Element q of the sub-transform that k and kk tell, times its root, by the name *to*. *binary*: apart,
## before, part and eighth are powers of two, told by their exponents.
<%def name="rooted(s, binary, to, z, q, kk, step)">
<%
    w, limbs = s.w, s.w.format.limbs
    less, more = w.literal(-1), w.literal(1)
%>\
        ${w.value} ${to}re, ${to}im;
        {
            int j = (k${"" if kk == 0 else f" + ({kk} << before)" if binary else f" + {kk} * before"}) * ${f"({q * step} << part)" if binary else f"({q * step} * part)"};
% if binary:
            const int behind = j >> (eighth + 2), quarter = j >> (eighth + 1) & 1, over = j >> eighth & 1;
            j &= (1 << eighth) - 1;
            const ${w.platform.index} at = ${2 * limbs} * (${w.platform.index})(over ? (1 << eighth) - j : j);
% else:
            const int behind = j >= 4 * eighth;
            j -= behind ? 4 * eighth : 0;
            const int quarter = j >= 2 * eighth;
            j -= quarter ? 2 * eighth : 0;
            const int over = j > eighth;
            const ${w.platform.index} at = ${2 * limbs} * (${w.platform.index})(over ? 2 * eighth - j : j);
% endif
            const int from = over != quarter ? ${limbs} : 0;
            const ${w.scalar} sign = behind != quarter ? ${less} : ${more};
            const ${w.scalar} below = behind ? ${more} : ${less};
            const ${w.value} c = ${w.pack(f"sign * roots[at + from + {i}]" for i in w.limbs)};
            const ${w.value} e = ${w.pack(f"below * roots[at + {limbs} - from + {i}]" for i in w.limbs)};
            ${to}re = ${s.minus(s.times(z + "re", "c"), s.times(z + "im", "e"))};
            ${to}im = ${s.plus(s.times(z + "re", "e"), s.times(z + "im", "c"))};
        }
</%def>
## a - i b by one name, a + i b by another.
<%def name="across(s, less, more, a, b)">
${let(s, less + "re", s.plus(a + "re", b + "im"))}\
${let(s, less + "im", s.minus(a + "im", b + "re"))}\
${let(s, more + "re", s.minus(a + "re", b + "im"))}\
${let(s, more + "im", s.plus(a + "im", b + "re"))}\
</%def>
## The transform y of as many elements x as there are names; constants: cos and sin of 2 pi j / r.
<%def name="small(s, x, y, constants)">
<% r = len(x) %>\
% if r == 2:
${both(s, y[0], s.plus, x[0], x[1])}\
${both(s, y[1], s.minus, x[0], x[1])}\
% elif r == 4:
<% sums, differences, others, rest = (s.name() for _ in range(4)) %>\
${both(s, sums, s.plus, x[0], x[2])}\
${both(s, differences, s.minus, x[0], x[2])}\
${both(s, others, s.plus, x[1], x[3])}\
${both(s, rest, s.minus, x[1], x[3])}\
${both(s, y[0], s.plus, sums, others)}\
${both(s, y[2], s.minus, sums, others)}\
${across(s, y[1], y[3], differences, rest)}\
% else:
<%
    half = range(1, (r + 1) // 2)
    cos, sin = dict(constants)[r]
    t, u = ({q: s.name() for q in half} for _ in range(2))
    total = x[0]
%>\
% for q in half:
${both(s, t[q], s.plus, x[q], x[r - q])}\
${both(s, u[q], s.minus, x[q], x[r - q])}\
<% to = y[0] if q == half[-1] else s.name() %>\
${both(s, to, s.plus, total, t[q])}\
<% total = to %>\
% endfor
% for p in half:
<% on, off = x[0], "" %>\
% for q in half:
<% to, other, j = s.name(), s.name(), p * q % r %>\
% for part in PARTS:
${let(s, to + part, s.plus(on + part, s.times(t[q] + part, s.number(cos[j]))))}\
<% term = s.times(u[q] + part, s.number(sin[j])) %>\
${let(s, other + part, s.plus(off + part, term) if off else term)}\
% endfor
<% on, off = to, other %>\
% endfor
${across(s, y[p], y[r - p], on, off)}\
% endfor
% endif
</%def>
