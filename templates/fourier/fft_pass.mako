## Steps of Fourier transforms of rows, from length *before* on: a work-item takes the elements of the
## transforms that its steps join, and they stay in registers.
## networks["add"], ["mul"], ["neg"]; radices, first (before is 1), binary, threads, constants
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="steps" file="/fourier/steps.mako"/>
<%
    from math import prod
    from portmp.routines.fourier.spelling import Spelling
    p, long = w.platform, w.platform.index
    s, size = Spelling(w, networks), prod(radices)
    parts = ("re", "im")
    apart = "(1 << apart)" if binary else "apart"
    beside = "" if first else f" * (({long})1 << before)" if binary else f" * ({long})before"
%>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head()}
{
    const int id = (int)${p.axis(p.group_id, 0)} * ${threads} + (int)${p.axis(p.local_id, 0)};
    if (id >= count)
        return;
${steps.places(binary, first, size, long)}<% held = {(0, q): s.name() for q in range(size)} %>\
% for q in range(size):
% for part, of in zip(parts, "xy"):
${steps.let(s, f"{held[0, q]}{part}", w.element(of, f"{of}_start + from + ({long}){q} * {apart}"))}\
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
${steps.rooted(s, binary, x[i], z, i, kk, left)}\
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
% for kk in range(size):
% for part, of in zip(parts, "uv"):
% for limb in w.limbs:
    ${w.store(of, limb, f"{of}_start + to + {kk}{beside}", w.word_of(held[kk, 0] + part, limb))}
% endfor
% endfor
% endfor
}
