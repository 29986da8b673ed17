## Steps of Fourier transforms of rows, from length *before* on: a work-item takes the elements of the
## transforms that its steps join, and they stay in registers.
## networks["add"], ["mul"], ["neg"]; radices, first (before is 1), threads, constants
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="steps" file="/fourier/steps.mako"/>
<%
    from math import prod
    from portmp.routines.fourier.spelling import Spelling
    p, long = w.platform, w.platform.index
    s, size = Spelling(w, networks), prod(radices)
    parts = ("re", "im")
%>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head()}
{
    const int id = (int)${p.axis(p.group_id, 0)} * ${threads} + (int)${p.axis(p.local_id, 0)};
    if (id >= count)
        return;
    const int row = id / apart, i = id % apart;
    const int k = ${"0" if first else "i % before"};
    const ${long} to = ${f"(({long})i) * {size}" if first else f"({long})(i - k) * {size} + k"};
    const ${long} x_at = x_start + row * x_row + i * x_col, y_at = y_start + row * y_row + i * y_col;
<% held = {(0, q): s.name() for q in range(size)} %>\
% for q in range(size):
% for part, of in zip(parts, "xy"):
${steps.let(s, f"{held[0, q]}{part}", w.element(of, f"{of}_at + ({long}){q} * apart * {of}_col"))}\
% endfor
% endfor
<% done, left = 1, size %>\
% for radix in radices:
<% left, following = left // radix, {} %>\
% for kk in range(done):
% for q in range(left):
<% x = [held[kk, q + left * i] for i in range(radix)] %>\
% if not (first and done == 1):
% for i in range(1, radix):
<% z, x[i] = x[i], s.name() %>\
${steps.rooted(s, x[i], z, i, kk, left)}\
% endfor
% endif
<%
    y = [s.name() for _ in range(radix)]
    following |= {(kk + done * i, q): y[i] for i in range(radix)}
%>\
${steps.small(s, x, y, constants)}\
% endfor
% endfor
<% held, done = following, done * radix %>\
% endfor
    const ${long} u_at = u_start + row * u_row + to * u_col, v_at = v_start + row * v_row + to * v_col;
% for kk in range(size):
% for part, of in zip(parts, "uv"):
% for limb in w.limbs:
    ${w.store(of, limb, f"{of}_at + {kk} * {'' if first else 'before * '}{of}_col", w.word_of(held[kk, 0] + part, limb))}
% endfor
% endfor
% endfor
}
