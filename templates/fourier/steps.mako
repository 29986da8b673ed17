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
## Where a work-item's elements come *from*, so far *apart*, and go *to*: rows lie one after the other.
<%def name="places(s, size, whole=False)">
<% long = s.w.platform.index %>\
% if whole:
        const ${long} begin = (${long})id * ${size}, from = begin, to = begin, apart_by = 1;
        const int k = 0;
% else:
% if s.binary:
        const int row = id >> apart, i = id & ((1 << apart) - 1), k = ${"0" if s.first else "i & ((1 << before) - 1)"};
        const ${long} begin = (${long})row * ${size} << apart, apart_by = (${long})1 << apart;
% else:
        const int row = id / apart, i = id % apart, k = ${"0" if s.first else "i % before"};
        const ${long} begin = (${long})row * ${size} * apart, apart_by = apart;
% endif
        const ${long} from = begin + i, to = begin + (${long})${f"i * {size}" if s.first else f"(i - k) * {size} + k"};
% endif
</%def>
## The transforms *y* of elements *x*, by steps; *far*: transforms that the pass joined before, of
## which kk is the first one's number; *beyond*: those that it joins afterwards.
<%def name="joined(s, x, y, radices, constants, kk, far, beyond)">
<% done, left, held = 1, len(x), {(0, q): z for q, z in enumerate(x)} %>\
% for radix in radices:
<% left, following = left // radix, {} %>\
% for p in range(done):
<%
    known = [(s.name(), s.name()) for _ in range(1, radix)] if far * done > 1 or not s.first else []
    number, m, at = s.sum(kk, far * p), s.name(), s.name()
    beyond_lists = s.listed is not None and far * done >= s.listed
%>\
% if known and not beyond_lists:
        const int ${m} = ${s.times_before(far * done)}, ${at} = ${2 * s.w.format.limbs} * (${m} - 1) + ${s.sum("k", s.times_before(number) if number else 0)};
% endif
% for q in range(left):
<% z = [held[p, q + left * i] for i in range(radix)] %>\
% for i, root in enumerate(known, 1):
<% given, z[i] = z[i], s.name() %>\
% if q == 0 and beyond_lists:
${folded(s, root, number, i * left * beyond)}\
% elif q == 0:
${listed(s, root, i, m, at)}\
% endif
${let(s, z[i] + "re", s.minus(s.times(given + "re", root[0]), s.times(given + "im", root[1])))}\
${let(s, z[i] + "im", s.plus(s.times(given + "re", root[1]), s.times(given + "im", root[0])))}\
% endfor
<%
    places = [p + done * i for i in range(radix)]
    made = [y[place] if left == 1 else s.name() for place in places]
    following |= {(place, q): one for place, one in zip(places, made)}
%>\
${small(s, z, made, constants)}\
% endfor
% endfor
<% held, done = following, done * radix %>\
% endfor
</%def>
## Names for cos and sin of root *i* from where roots are listed.
<%def name="listed(s, root, i, m, at)">
<%
    w, limbs = s.w, s.w.format.limbs
    word = lambda limb: f"roots[{at} + {2 * limbs * (i - 1) + limb} * {m}]"
%>\
${let(s, root[0], w.pack(word(limb) for limb in w.limbs))}\
${let(s, root[1], w.pack(word(limbs + limb) for limb in w.limbs))}\
</%def>
## The same from the first eighth of the circle, of the root that lies *steps* parts away for each
## transform. *binary*: part and eighth are powers of two, told by their exponents.
<%def name="folded(s, root, number, steps)">
<%
    w, limbs = s.w, s.w.format.limbs
    less, more = w.literal(-1), w.literal(1)
    cos, sin = root
%>\
        ${w.value} ${cos}, ${sin};
        {
            int j = (k${f" + {s.times_before(number)}" if number else ""}) * ${f"({steps} << part)" if s.binary else f"({steps} * part)"};
% if s.binary:
            const int behind = j >> (eighth + 2), quarter = j >> (eighth + 1) & 1, over = j >> eighth & 1;
            j &= (1 << eighth) - 1;
            j = over ? (1 << eighth) - j : j;
% else:
            const int behind = j >= 4 * eighth;
            j -= behind ? 4 * eighth : 0;
            const int quarter = j >= 2 * eighth;
            j -= quarter ? 2 * eighth : 0;
            const int over = j > eighth;
            j = over ? 2 * eighth - j : j;
% endif
            const ${w.scalar} sign = behind != quarter ? ${less} : ${more};
            const ${w.scalar} below = behind ? ${more} : ${less};
% if limbs == 1:
            const ${w.scalar}2 both = circle[j];
            ${cos} = sign * (over != quarter ? both.y : both.x);
            ${sin} = below * (over != quarter ? both.x : both.y);
% else:
            const ${w.platform.index} at = ${2 * limbs} * (${w.platform.index})j;
            const int from = over != quarter ? ${limbs} : 0;
            ${cos} = ${w.pack(f"sign * circle[at + from + {limb}]" for limb in w.limbs)};
            ${sin} = ${w.pack(f"below * circle[at + {limbs} - from + {limb}]" for limb in w.limbs)};
% endif
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
