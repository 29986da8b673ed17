## STREAM's triad: what memory gives to a kernel that reads two arrays and writes a third.
## w: Writer
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<% p = w.platform %>
${arithmetic(w, [])}
/* a work-item takes that many neighbouring vectors of ${w.width} words */
${p.kernel.format(1)} ${head()}
{
    const ${p.index} first = (${p.index})${p.axis(p.group_id, 0)} * vectors;
    const ${w.word} factor = ${w.splat("scale")};

    for (${p.index} i = first; i < first + vectors; ++i) {
        const ${w.word} product = factor * y[i];
        out[i] = x[i] + product;
    }
}
