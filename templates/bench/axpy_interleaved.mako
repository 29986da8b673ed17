## AXPY of numbers whose parts lie one behind another, to compare with parts in planes.
## w: Writer, networks["operator"], unit: bytes of the largest word that divides an element, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codegen.interleaved import joined, pieces
    from portmp.codegen.writer import SCALAR
%>
<%
    p, operator = w.platform, networks["operator"]
    form = w.storage("x")
    (encoding,) = form.encodings
    size, word = form.itemsize // unit, SCALAR[f"uint{8 * unit}"]
    parts = range(len(encoding.parts))
%>
${arithmetic(w, [operator])}
/* y[i] = a x[i] + y[i] for n elements of ${form.itemsize} bytes */
${p.kernel.format(threads)} ${head()}
{
    const ${p.index} i = (${p.index})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= n)
        return;
    const ${p.index} at = i * ${size};
    const ${w.scalar} left = ${w.decoded(encoding, joined("x", encoding, unit))};
    const ${w.scalar} right = ${w.decoded(encoding, joined("y", encoding, unit))};
% for j, part in enumerate(encoding.parts):
    ${SCALAR[part]} part${j};
% endfor
    encode_${w.rounded(encoding, form.rounding)}(${w.function(operator)}(a0, left, right), ${", ".join(f"&part{j}" for j in parts)});
% for j, words in enumerate(pieces(encoding, unit)):
% for k, place in enumerate(words):
    y[at + ${place}] = (${word})(${f"part{j} >> {8 * unit * k}" if k else f"part{j}"});
% endfor
% endfor
}
