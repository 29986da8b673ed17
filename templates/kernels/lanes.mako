## Functions on lanes of logical warps: self is the thread's number in its block.
<%!
    from portmp.kernels.words.base import joined_name
%>
<%def name="memory(words)">${"" if words.exchange else ", " + words.platform.shared_pointer.format("int") + "exchanged"}</%def>
<%def name="exchange(words)">
<% p = words.platform %>
/* the x of another thread of this warp, by its number in the block */
${p.function} int exchange(const int x, const int from, const int self${memory(words)})
{
% if words.exchange:
    ${words.exchange.format(words.traits.warp_size - 1)}
% else:
    exchanged[self] = x;
    ${p.barrier}
    const int y = exchanged[from];
    ${p.barrier}
    return y;
% endif
}

</%def>
## Where lanes exchange words: the same for integers and for the format's words, each once in a text.
<%def name="exchanges(words)">
<% p = words.platform %>\
% if words.exchange and words.first("exchange"):
${exchange(words)}\
% endif
% if words.exchange and words.first(f"exchange_{words.scalar}"):
${p.function} ${words.scalar} exchange_${words.scalar}(const ${words.scalar} x, const int from, const int self)
{
% if words.scalar == "float":
    return ${p.as_float.format("exchange(" + p.as_int.format("x", l="") + ", from, self)", l="")};
% else:
    double y;
    const int high = exchange(${p.high_word.format("x", l="", d=2)}, from, self);
    const int low = exchange(${p.low_word.format("x", l="", d=2)}, from, self);
    ${p.double_of.format("high", "low", l="", d=2)}
    return y;
% endif
}

% endif
</%def>
<%def name="shuffle(words, name, kind)">
<%
    p, passed = words.platform, "" if words.exchange else ", exchanged"
    form, again = kind.form, lambda x: f"exchange({x}, from, self{passed})"
%>
${p.function} ${kind} ${name}(const ${kind} x, const int from, const int self${memory(words)})
{
% if form and form.words > 1:
<% w = words.of(form.name).writer %>
% for i in w.limbs:
    const ${w.scalar} x${i} = ${joined_name("shuffle", w.scalar)}(x.x${i}, from, self${passed});
% endfor
    return make_${kind}(${", ".join(f"x{i}" for i in w.limbs)});
% elif kind == "float":
    return ${p.as_float.format(again(p.as_int.format("x", l="")), l="")};
% elif kind == "double":
    double y;
    const int high = ${again(p.high_word.format("x", l="", d=2))};
    const int low = ${again(p.low_word.format("x", l="", d=2))};
    ${p.double_of.format("high", "low", l="", d=2)}
    return y;
% elif kind.bytes == 8:
    const unsigned high = (unsigned)${again("(int)(x >> 32)")};
    const unsigned low = (unsigned)${again("(int)x")};
    return (${kind})((unsigned ${p.index})high << 32 | low);
% else:
    return (${kind})${again("(int)x")};
% endif
}

</%def>
<%def name="warp_reduce(words, name, kind, combined, width)">
<% passed = "" if words.exchange else ", exchanged" %>
${words.platform.function} ${kind} ${name}(const ${kind} mine, const int self${memory(words)})
{
    ${kind} x = mine;
    for (int d = ${width // 2}; d > 0; d >>= 1) {
        const ${kind} y = ${joined_name("shuffle", kind)}(x, self ^ d, self${passed});
        x = self & d ? ${combined.format("y", "x")} : ${combined.format("x", "y")};
    }
    return x;
}

</%def>
<%def name="warp_scan(words, name, kind, combined, width)">
<% passed = "" if words.exchange else ", exchanged" %>
${words.platform.function} ${kind} ${name}(const ${kind} mine, const int self${memory(words)})
{
    ${kind} x = mine;
    const int lane = self & ${width - 1};
    for (int d = 1; d < ${width}; d <<= 1) {
        const ${kind} y = ${joined_name("shuffle", kind)}(x, lane < d ? self : self - d, self${passed});
        if (lane >= d)
            x = ${combined.format("y", "x")};
    }
    return x;
}

</%def>
