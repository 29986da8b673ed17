## A value rounded as a storage format has it in memory: w: Writer, net: the network
<%page args="w, net"/>
<%!
    from portmp import formats
    from portmp.codegen.writer import SCALAR
%>
<%
    p, v = w.platform, w.one
    form = formats.get(net.name.removeprefix("stored_"))
%>
% if w.width == 1:
/* x as ${form.name} is stored */
${v.signature(net)}
{
% for k, one in enumerate(form.encodings):
<% word, names = v.word_of("x", k), [f"p{k}_{j}" for j in range(len(one.parts))] %>\
% if one.parts and not one.plain:
% for part, name in zip(one.parts, names):
    ${SCALAR[part]} ${name};
% endfor
    encode_${v.rounded(one, form.rounding)}(${", ".join([word, *(f"&{name}" for name in names)])});
% endif
    const ${v.word} y${k} = ${v.decoded(one, names) if names and not one.plain else v.literal(0) if not names else word if one.word == v.format.word else f"({v.scalar}){v.narrow(k, word)}"};
% endfor
    return ${v.pack(f"y{k}" for k in v.limbs)};
}

% else:
${w.signature(net)}
{
    ${w.value} z;
    for (int lane = 0; lane < ${w.width}; ++lane) {
        const ${v.value} y = ${v.function(net)}(${v.pack(w.lane(w.word_of("x", k), "lane") for k in w.limbs)});
% for k in w.limbs:
        ${w.lane_of("z", k, "lane")} = ${v.word_of("y", k)};
% endfor
    }
    return z;
}

% endif
