## Every operation that arithmetic rests on, for the probe to compare with the host, bit for bit.
## w: Writer of the format of two words; networks: those of words by name, and of values: sum, product
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic, anywhere"/>
<%
    p = w.platform
    one_word = ("add", "mul", "div", "sqrt", "fma")
    arguments = {"add": "x.x0, y.x0", "mul": "x.x0, y.x0", "div": "x.x0, y.x0", "sqrt": "x.x0", "fma": "z, x.x0, y.x0"}
    index = f"(({p.index}){p.axis(p.group_id, 0)} * {threads} + {p.axis(p.local_id, 0)}) * {w.width}"
%>
${arithmetic(w, list(networks.values()))}
${anywhere(w)}
/* n is a multiple of ${w.width} */
${p.kernel.format(threads)} ${head()}
{
    const ${p.index} i = ${index};
    if (i >= n)
        return;
% for operand in "xy":
    const ${w.value} ${operand} = ${w.pack(w.load_vector(operand, k, "i") for k in w.limbs)};
% endfor
    const ${w.word} z = ${w.load_vector("z", 0, "i")};
% for op in one_word:
    ${w.store_vector(op, 0, "i", f"{w.function(networks[op])}({arguments[op]})")}
% endfor
% for op in ("sum", "product"):
    {
        const ${w.value} result = ${w.function(networks[op])}(x, y);
% for k in w.limbs:
        ${w.store_vector(op, k, "i", w.word_of("result", k))}
% endfor
    }
% endfor
}
