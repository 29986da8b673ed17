## The triple-single paper's splitting into float32 matrices, and its sum of their products.
## w: Writer; a float as a value is followed by zeros.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    add = w.function(networks["add"])
    rest = [w.literal(0)] * (w.format.limbs - 1)
%>
${arithmetic(w, [networks["add"]])}
/* the bits of each element above a constant of its row, and the element without them */
${p.kernel.format(threads)} ${head("split2021_slice")}
{
    const ${long} i = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    float large, slice;
    if (i >= count)
        return;
    large = ${w.bits("as_float", "(exponents[i / columns] + above + 127) << 23")};
    slice = a0[i] + large;
    slice = slice - large;
    out[i] = slice;
    {
        const ${w.value} z = ${add}(${w.element("a", "i")}, ${w.pack(["-slice", *rest])});
% for i in w.limbs:
        a${i}[i] = ${w.word_of("z", i)};
% endfor
    }
}

/* one more product; the first one is the sum */
${p.kernel.format(threads)} ${head("split2021_add")}
{
    const ${long} i = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= count)
        return;
    {
        ${w.value} z = ${w.pack(["product[i]", *rest])};
        if (!first)
            z = ${add}(${w.element("c", "i")}, z);
% for i in w.limbs:
        c${i}[i] = ${w.word_of("z", i)};
% endfor
    }
}
