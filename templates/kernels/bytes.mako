## Functions on the bytes of integers.
<%namespace name="integers" file="/ozaki/integers.mako"/>
<%def name="permute_bytes(words, name)">
<% p = words.platform %>
/* four of the bytes of x and y, chosen by the half bytes of a selector */
${p.function} unsigned ${name}(const unsigned x, const unsigned y, const unsigned selector)
{
    const unsigned ${p.index} both = (unsigned ${p.index})y << 32 | x;
    unsigned chosen = 0;
    for (int i = 0; i < 4; i++)
        chosen |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255u) << 8 * i;
    return chosen;
}

</%def>
<%def name="dot4(words, name, signed)">
${integers.dot4(words.of(words.form.name).writer, signed)}
</%def>
