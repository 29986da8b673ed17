## STREAM's triad: what memory gives to a kernel that reads two arrays and writes a third.
## w: Writer
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p = w.platform %>
${arithmetic(w, [])}
/* a work-item takes that many neighbouring vectors of ${w.width} words */
${p.kernel.format(1)} ${name}(
    const ${p.index} vectors, const ${w.scalar} scale,
    ${p.const_pointer.format(w.word)}x, ${p.const_pointer.format(w.word)}y, ${p.pointer.format(w.word)}out)
{
    const ${p.index} first = (${p.index})${p.axis(p.group_id, 0)} * vectors;
    const ${w.word} factor = ${w.splat("scale")};

    for (${p.index} i = first; i < first + vectors; ++i) {
        const ${w.word} product = factor * y[i];
        out[i] = x[i] + product;
    }
}
