## Residues of rows of a matrix: four neighbours of a row a work-item.
## w: Writer, integers: the system of moduli and what it needs, tiled: whether neighbours in memory are
## rows, across: whether columns have exponents too.
## Out: for each modulus the residues in rows of depth_padded bytes, rows_padded of them.
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
    words = range(system.words)
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
${p.constant} unsigned ${name}_weights[${system.count * len(words)}] = {
% for m in system.moduli:
    ${", ".join(f"{v}u" for v in system.weights(m))},
% endfor
};
${p.constant} unsigned ${name}_unbias[${system.count}] = {
    ${", ".join(f"{system.unbias(m) + 0x4B400000}u" for m in system.moduli)}
};
${p.constant} float ${name}_moduli[${2 * system.count}] = {
% for m in system.moduli:
    ${single.literal(m)}, ${single.literal(f32(1 / m))},
% endfor
};
<%rows:operand across="${across}">
    out += (row * depth_padded + col) / 4;
    ${p.unrolled_by(w.table_steps)}
    for (int l = 0; l < ${system.count}; ++l) {
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
</%rows:operand>
