## Steps of Fourier transforms of rows, from length *before* on: a work-item takes the elements of the
## transforms that its steps join, and they stay in registers.
## networks["add"], ["mul"], ["neg"]; radices, first (before is 1), binary, listed, threads, constants
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="steps" file="/fourier/steps.mako"/>
<%
    from math import prod
    from portmp.routines.fourier.spelling import Spelling
    p, long = w.platform, w.platform.index
    s, size = Spelling(w, networks, first, binary, listed), prod(radices)
    parts = ("re", "im")
    x, y = ([s.name() for _ in range(size)] for _ in range(2))
%>
${arithmetic(w, list(networks.values()))}
${p.kernel.format(threads)} ${head()}
{
    const int id = (int)${p.axis(p.group_id, 0)} * ${threads} + (int)${p.axis(p.local_id, 0)};
    if (id >= count)
        return;
${steps.places(s, size)}\
% for q in range(size):
% for part, of in zip(parts, "xy"):
${steps.let(s, f"{x[q]}{part}", w.element(of, f"{of}_start + from + {q} * apart_by"))}\
% endfor
% endfor
${steps.joined(s, x, y, radices, constants, "", 1, 1)}\
% for kk in range(size):
% for part, of in zip(parts, "uv"):
% for limb in w.limbs:
    ${w.store(of, limb, f"{of}_start + to + {kk}{s.beside}", w.word_of(y[kk] + part, limb))}
% endfor
% endfor
% endfor
}
