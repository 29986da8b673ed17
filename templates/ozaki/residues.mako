## Residues of rows of a matrix: four neighbours of a row a work-item.
## w: Writer, integers: the system of moduli and what it needs, tiled: whether neighbours in memory are
## rows, across: whether columns have exponents too.
## Out: for each of what is multiplied, of a modulus, the residues in rows of depth_padded bytes, rows_padded of them.
<%!
    import numpy as np

    def f32(x):
        return float(np.float32(x))
%>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/ozaki/integers.mako" import="dot4"/>
<%namespace name="rows" file="/ozaki/operand.mako"/>
<%
    p, system = w.platform, integers
    single = w.single
    words, count, squares = range(system.components * system.words), len(system.alone), len(system.digits_of)
%>
${arithmetic(single, [])}
${dot4(w, False)}
% if w.first("residue"):
/* the byte of sum modulo m that is nearest to zero; bits: those of 1.5 2^23 + sum, sum < 2^22 */
${p.function} unsigned residue(const unsigned bits, const float m, const float inverse)
{
    const float more = ${single.bits("as_float", "bits")};
    const float q = ${single.fma("(more - 12582912.0f)", "inverse", "12582912.0f")} - 12582912.0f;
    return (unsigned)${single.bits("as_int", single.fma("-q", "m", "more"))} & 255u;
}

% endif
/* for each modulus: what the bytes of an operand weigh, what takes the bias away with 1.5 2^23 as a float, the modulus, its inverse */
${p.constant} unsigned ${name}_weights[${count * len(words)}] = {
% for m, of in system.alone:
    ${", ".join(f"{v}u" for v in system.weights(m, of=of))},
% endfor
};
${p.constant} unsigned ${name}_unbias[${count}] = {
    ${", ".join(f"{system.unbias(m, of) + 0x4B400000}u" for m, of in system.alone)}
};
${p.constant} float ${name}_moduli[${2 * count}] = {
% for m, _ in system.alone:
    ${single.literal(m)}, ${single.literal(f32(1 / m))},
% endfor
};
% if squares:
/* for each square: what the bytes weigh, the lower bytes of that, then the upper ones; what takes the bias away, the square, 2^32 over it; the
   root, its inverse */
${p.constant} unsigned ${name}_square_weights[${2 * squares * len(words)}] = {
% for m, of in system.digits_of:
    ${", ".join(f"{v}u" for part in (0, 1) for v in system.weights(m * m, part, of))},
% endfor
};
${p.constant} unsigned ${name}_squares[${3 * squares}] = {
% for m, of in system.digits_of:
    ${system.unbias(m * m, of)}u, ${m * m}u, ${2**32 // (m * m)}u,
% endfor
};
${p.constant} float ${name}_roots[${2 * squares}] = {
% for m, _ in system.digits_of:
    ${single.literal(m)}, ${single.literal(f32(1 / m))},
% endfor
};
% endif
<%rows:operand across="${across}">
% if squares:
    ${p.pointer.format("unsigned")}squares = out + (${count} * rows_padded + 3 * row) * (depth_padded / 4) + col / 4;
% endif
    out += (row * depth_padded + col) / 4;
    ${p.unrolled_by(w.table_steps)}
    for (int l = 0; l < ${count}; ++l) {
        unsigned found[4];
        ${p.unroll if w.traits.warp_size > 1 else ""}
        for (int e = 0; e < 4; ++e) {
            unsigned sum = ${name}_unbias[l];
% for j in words:
            sum = dot4_unsigned(x${j}[e], ${name}_weights[${len(words)} * l + ${j}], sum);
% endfor
            found[e] = residue(sum, ${name}_moduli[2 * l], ${name}_moduli[2 * l + 1]) << (8 * e);
        }
        out[l * (rows_padded * depth_padded / 4)] = found[0] | found[1] | found[2] | found[3];
    }
% if squares:
    ${p.unrolled_by(w.table_steps)}
    for (int l = 0; l < ${squares}; ++l) {
        unsigned lower = 0, upper = 0;
        ${p.unroll if w.traits.warp_size > 1 else ""}
        for (int e = 0; e < 4; ++e) {
            const float m = ${name}_roots[2 * l], inverse = ${name}_roots[2 * l + 1];
            unsigned sum = ${name}_squares[3 * l], high = 0, digit;
% for j in words:
            sum = dot4_unsigned(x${j}[e], ${name}_square_weights[${2 * len(words)} * l + ${j}], sum);
            high = dot4_unsigned(x${j}[e], ${name}_square_weights[${2 * len(words)} * l + ${len(words) + j}], high);
% endfor
            sum += high << 8;
            /* up to twice the square */
            sum -= (unsigned)(((unsigned ${p.index})sum * ${name}_squares[3 * l + 2]) >> 32) * ${name}_squares[3 * l + 1];
            digit = residue(sum + 0x4B400000u, m, inverse);
            lower |= digit << (8 * e);
            sum = (unsigned)((float)((int)sum - (int)(${p.int8})digit) * inverse + 0.5f);
            upper |= residue(sum + 0x4B400000u, m, inverse) << (8 * e);
        }
        squares[0] = upper;
        squares[depth_padded / 4] = lower;
        squares[2 * (depth_padded / 4)] = upper;
        squares += 3 * rows_padded * (depth_padded / 4);
    }
% endif
</%rows:operand>
