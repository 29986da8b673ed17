## Random values: each is a function of its place in the stream.
## w: Writer (of vectors on CPUs), v: scalar Writer, draw: which words make what, networks by role, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/random/philox.mako" import="philox"/>
<%
    p, lanes, count = w.platform, w.width, draw.together
    wide = f"unsigned {p.index}"
    uniforms = [networks[f"uniform{number}"] for number in range(len(draw.bits))]
    result = networks["normal"] if draw.kind == "normal" else uniforms[0]
    numbers = "xy"

    def digits(number, limb, element):
        """The digits of a limb of a uniform number, by the words of the element's blocks."""
        before = sum(map(len, draw.bits[:number])) + limb
        place = element * draw.words + before * draw.per_limb
        words = [f"b{j // 4}.x{j % 4}" for j in range(place, place + draw.per_limb)]
        text = words[0] if len(words) == 1 else f"(({wide}){words[1]} << 32 | {words[0]})"
        return f"({v.scalar})({text} >> {32 * draw.per_limb - draw.bits[number][limb]})"

    def one(name, net, limb):
        """A lane's word of a value of a network's result."""
        word = name if net.result.words == 1 else f"{name}.x{limb}"
        return word if lanes == 1 else f"(({w.scalar} *)&{word})[lane]"
%>
${arithmetic(w, list(networks.values()))}
${philox(v)}
/* out[i] for all n elements, of which the first ${f"{count} are a block's, less those that are skipped" if count > 1 else "is the first block's"} */
${p.kernel.format(threads)} ${head()}
{
    const ${p.index} item = ((${p.index})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)}) * ${lanes};
    if (item * ${count} - skipped >= n)
        return;
% for element in range(count):
% for number, net in enumerate(uniforms):
    ${w.type(net.result)} ${numbers[number]}${element};
% endfor
% endfor
% if lanes > 1:
    for (int lane = 0; lane < ${lanes}; ++lane)
% else:
    const int lane = 0;
% endif
    {
% for j in range(draw.blocks):
        const philox_block b${j} = philox(block + (item + lane) * ${draw.blocks} + ${j}, upper0, upper1, key0, key1);
% endfor
% for element in range(count):
% for number, net in enumerate(uniforms):
% for limb, bits in enumerate(draw.bits[number]):
        ${one(f"{numbers[number]}{element}", net, limb)} = ${digits(number, limb, element)} * ${v.literal(2.0 ** -sum(draw.bits[number][: limb + 1]))};
% endfor
% endfor
% endfor
    }
% for element in range(count):
    {
% for number, net in enumerate(uniforms):
        const ${w.type(net.result)} ${numbers[number]} = ${w.function(net)}(${numbers[number]}${element});
% endfor
        const ${w.type(result.result)} z = ${f"{w.function(result)}(x, y)" if draw.kind == "normal" else "x"};
% if lanes > 1:
        for (int lane = 0; lane < ${lanes}; ++lane) {
% else:
        {
% endif
            const ${p.index} i = (item + lane) * ${count} + ${element} - skipped;
            if (i >= 0 && i < n) {
% for k in range(result.result.words):
                ${v.store("out", k, "out_start + i", one("z", result, k))}
% endfor
            }
        }
    }
% endfor
}
