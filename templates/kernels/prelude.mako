## What a user's kernels need before them: arithmetic of their formats, functions on lanes of warps.
## arithmetics: (Writer, networks) of each format; helpers: (what, type, format, bytes, ...) of each function
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    memory = "" if p.exchange else ", " + p.shared_pointer.format("int") + "exchanged"
    passed = "" if p.exchange else ", exchanged"
    function = lambda *words: "_".join(words).replace(" ", "_")
%>
% for w, networks in arithmetics:
${arithmetic(w, networks)}
% endfor
% if helpers:
/* the x of another thread of this warp, by its number in the block */
${p.function} int exchange(const int x, const int from, const int self${memory})
{
% if p.exchange:
    ${p.exchange.format(words.traits.warp_size - 1)}
% else:
    exchanged[self] = x;
    ${p.barrier}
    const int y = exchanged[from];
    ${p.barrier}
    return y;
% endif
}

% endif
% for what, kind, form, size, *more in helpers:
% if what == "shuffle":
${p.function} ${kind} ${function("shuffle", kind)}(const ${kind} x, const int from, const int self${memory})
{
% if form and words.of(form).form.limbs > 1:
<% w = words.of(form).writer %>
% for i in w.limbs:
    const ${w.scalar} x${i} = ${function("shuffle", w.scalar)}(x.x${i}, from, self${passed});
% endfor
    return make_${kind}(${", ".join(f"x{i}" for i in w.limbs)});
% elif kind == "float":
    return ${p.as_float.format("exchange(" + p.as_int.format("x", l="") + f", from, self{passed})", l="")};
% elif kind == "double":
    double y;
    const int high = exchange(${p.high_word.format("x", l="", d=2)}, from, self${passed});
    const int low = exchange(${p.low_word.format("x", l="", d=2)}, from, self${passed});
    ${p.double_of.format("high", "low", l="", d=2)}
    return y;
% elif size == "8":
    const unsigned high = (unsigned)exchange((int)(x >> 32), from, self${passed});
    const unsigned low = (unsigned)exchange((int)x, from, self${passed});
    return (${kind})((unsigned ${p.index})high << 32 | low);
% else:
    return (${kind})exchange((int)x, from, self${passed});
% endif
}

% elif what in ("warp_reduce", "warp_scan"):
<%
    op, width = more
    combined = words.of(form).operator(op, "{0}", "{1}") if form else whole[op]
%>
${p.function} ${kind} ${function(what, kind, op, width)}(const ${kind} mine, const int self${memory})
{
    ${kind} x = mine;
% if what == "warp_reduce":
    for (int d = ${int(width) // 2}; d > 0; d >>= 1) {
        const ${kind} y = ${function("shuffle", kind)}(x, self ^ d, self${passed});
        x = self & d ? ${combined.format("y", "x")} : ${combined.format("x", "y")};
    }
% else:
    const int lane = self & ${int(width) - 1};
    for (int d = 1; d < ${width}; d <<= 1) {
        const ${kind} y = ${function("shuffle", kind)}(x, lane < d ? self : self - d, self${passed});
        if (lane >= d)
            x = ${combined.format("y", "x")};
    }
% endif
    return x;
}

% endif
% endfor
