## Wide residues of rows of a matrix: four neighbours of a row a work-item.
## w: Writer, integers: the system of moduli and what it needs, inverted: whether residues carry the
## factors of the Chinese remainder theorem, tiled: whether neighbours in memory are rows; half: bits of
## the parts of words that are weighed, lanes: of vectors, 1, 2 or 4.
## Out: for each of what is multiplied, of a modulus, the residues, float64 numbers nearest to zero, in rows of depth_padded,
## rows_padded of them.
<%namespace file="/arithmetic/arithmetic.mako" import="anywhere, arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="double_from_int"/>
<%namespace name="rows" file="/ozaki/operand.mako"/>
<%
    p, system = w.platform, integers
    many = w.double.wider(lanes)
    parts, vectors = range(32 // half * system.words * system.components), range(4 // lanes)
    table = "a" if inverted else "b"
    rounding = many.literal(6755399441055744.0)  ## 1.5 2^52: a sum with it is rounded to an integer
    row = len(parts) + 3
    weight = lambda i: many.splat(f"{table}_weights[{row} * l + {i}]")
%>
${arithmetic(many, [])}
${anywhere(many)}
${double_from_int(w.double)}
/* for each modulus: what the parts of an operand weigh, what takes the bias away, the modulus with a minus, its inverse */
${p.constant} double ${table}_weights[${row * system.products}] = {
% for m, of in system.multiplied:
<% factor = system.inverse(m) if inverted else 1; unbias = system.unbias(m, of) * factor % m %>\
    ${", ".join(map(w.double.literal, [*system.weights(m, factor, of), unbias, -m, 1 / m]))},
% endfor
};
<%rows:operand>
    ${many.word} ${", ".join(f"part{h}[{len(vectors)}]" for h in parts)};
    out += row * depth_padded + col;
    ${p.unroll}
    for (int e = 0; e < 4; ++e) {
% for h in parts:
        ((double *)part${h})[e] = double_from_int((int)((x${half * h // 32}[e] >> ${half * h % 32}) & ${2**half - 1}u));
% endfor
    }
    ${p.unrolled_by(w.table_steps)}
    for (int l = 0; l < ${system.products}; ++l) {
        ${p.unroll}
        for (int i = 0; i < ${len(vectors)}; ++i) {
            ${many.word} sum = ${weight(len(parts))}, times;
% for h in parts:
            sum = ${many.fma(f"part{h}[i]", weight(h), "sum")};
% endfor
            times = ${many.fma("sum", weight(len(parts) + 2), rounding)} - ${rounding};
            ${many.there("float64", "out", f"l * (rows_padded * depth_padded) + {lanes} * i", const=False)} = ${many.fma("times", weight(len(parts) + 1), "sum")};
        }
    }
</%rows:operand>
