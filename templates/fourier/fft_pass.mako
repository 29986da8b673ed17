## Steps of Fourier transforms of rows, from length *before* on: a work-item takes the elements of the
## transforms that its steps join, and they stay in registers.
## networks["add"], ["mul"], ["neg"]; radices, first (before is 1), threads, constants: cos and sin of
## 2 pi j / r by odd r.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    from math import prod
    p, long = w.platform, w.platform.index
    add, mul, neg = (w.function(networks[role]) for role in ("add", "mul", "neg"))
    size, limbs = prod(radices), w.format.limbs
    parts = ("re", "im")
    minus = lambda a, b: f"{add}({a}, {neg}({b}))"
    plus = lambda a, b: f"{add}({a}, {b})"
    number = lambda words: w.pack(w.literal(word) for word in words)
    count = 0

    def name():
        global_[0] += 1
        return f"z{global_[0]}"

    global_ = [0]
%>
<%def name="let(name, text)">
    const ${w.value} ${name} = ${text};
</%def>
## The root of element q of sub-transform kk, times the element; sets its new names.
<%def name="rooted(z, q, kk, step)">
<% to = name() %>\
    ${w.value} ${to}re, ${to}im;
    {
        ${long} j = (k${f" + {kk} * before" if kk else ""}) * (${q * step} * part);
        const int behind = j >= 4 * eighth;
        j -= behind ? 4 * eighth : 0;
        const int quarter = j >= 2 * eighth;
        j -= quarter ? 2 * eighth : 0;
        const int over = j > eighth;
        j = ${2 * limbs} * (over ? 2 * eighth - j : j);
        const int from = over != quarter ? ${limbs} : 0;
        const ${w.scalar} sign = behind != quarter ? -1 : 1, below = behind ? 1 : -1;
        const ${w.value} c = ${w.pack(f"sign * roots[j + from + {k}]" for k in w.limbs)};
        const ${w.value} s = ${w.pack(f"below * roots[j + {limbs} - from + {k}]" for k in w.limbs)};
        ${to}re = ${minus(f"{mul}({z}re, c)", f"{mul}({z}im, s)")};
        ${to}im = ${plus(f"{mul}({z}re, s)", f"{mul}({z}im, c)")};
    }
<% global_.append(to) %>\
</%def>
<%def name="both(to, by, a, b)">
% for part in parts:
${let(to + part, by(a + part, b + part))}\
% endfor
</%def>
## Differences a - i b and sums a + i b.
<%def name="across(less, more, a, b)">
${let(less + "re", plus(a + "re", b + "im"))}\
${let(less + "im", minus(a + "im", b + "re"))}\
${let(more + "re", minus(a + "re", b + "im"))}\
${let(more + "im", plus(a + "im", b + "re"))}\
</%def>
<%def name="small(x, y)">
<% r = len(x) %>\
% if r == 2:
${both(y[0], plus, x[0], x[1])}\
${both(y[1], minus, x[0], x[1])}\
% elif r == 4:
<% s, d, t, u = (name() for _ in range(4)) %>\
${both(s, plus, x[0], x[2])}\
${both(d, minus, x[0], x[2])}\
${both(t, plus, x[1], x[3])}\
${both(u, minus, x[1], x[3])}\
${both(y[0], plus, s, t)}\
${both(y[2], minus, s, t)}\
${across(y[1], y[3], d, u)}\
% else:
<%
    half = range(1, (r + 1) // 2)
    cos, sin = dict(constants)[r]
    sums, differences = ({q: name() for q in half} for _ in range(2))
    total = x[0]
%>\
% for q in half:
${both(sums[q], plus, x[q], x[r - q])}\
${both(differences[q], minus, x[q], x[r - q])}\
<% to = y[0] if q == half[-1] else name() %>\
${both(to, plus, total, sums[q])}\
<% total = to %>\
% endfor
% for i in half:
<% on, off = x[0], "" %>\
% for q in half:
<% to, other, j = name(), name(), i * q % r %>\
% for part in parts:
${let(to + part, plus(on + part, f"{mul}({sums[q]}{part}, {number(cos[j])})"))}\
<% term = f"{mul}({differences[q]}{part}, {number(sin[j])})" %>\
${let(other + part, plus(off + part, term) if off else term)}\
% endfor
<% on, off = to, other %>\
% endfor
${across(y[i], y[r - i], on, off)}\
% endfor
% endif
</%def>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head()}
{
    const ${long} id = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (id >= count)
        return;
    const ${long} apart = n / ${size}, row = id / apart, i = id % apart;
    const ${long} k = ${"0" if first else "i % before"}, to = ${f"i * {size}" if first else f"(i - k) * {size} + k"};
    const ${long} x_at = x_start + row * x_row + i * x_col, y_at = y_start + row * y_row + i * y_col;
<% held = {(0, q): name() for q in range(size)} %>\
% for q in range(size):
% for part, of in zip(parts, ("x", "y")):
${let(f"{held[0, q]}{part}", w.element(of, f"{of}_at + {q} * apart * {of}_col"))}\
% endfor
% endfor
<% done, left = 1, size %>\
% for radix in radices:
<% left, next_held = left // radix, {} %>\
% for kk in range(done):
% for q in range(left):
<% x = [held[kk, q + left * i] for i in range(radix)] %>\
% if not (first and done == 1):
% for i in range(1, radix):
${rooted(x[i], i, kk, left)}\
<% x[i] = global_.pop() %>\
% endfor
% endif
<%
    y = [name() for _ in range(radix)]
    next_held |= {(kk + done * i, q): y[i] for i in range(radix)}
%>\
${small(x, y)}\
% endfor
% endfor
<% held, done = next_held, done * radix %>\
% endfor
    const ${long} u_at = u_start + row * u_row + to * u_col, v_at = v_start + row * v_row + to * v_col;
% for kk in range(size):
% for part, of in zip(parts, ("u", "v")):
% for limb in w.limbs:
    ${w.store(of, limb, f"{of}_at + {kk} * {'' if first else 'before * '}{of}_col", w.word_of(held[kk, 0] + part, limb))}
% endfor
% endfor
% endfor
}
