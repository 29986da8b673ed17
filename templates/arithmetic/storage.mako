## Storage formats: words from the parts that lie in memory, and parts from words.
## w: Writer
<%page args="w"/>
<%!
    from portmp.formats.encodings import SIZES
    from portmp.formats import ROUNDINGS

    def joined(coding, first, last):
        """The 32 bits from *first* to *last* of the word's image, from parts p0, p1 ..."""
        found = [
            f"p{j} << {last - offset - SIZES[part]}" if last > offset + SIZES[part] else f"p{j}"
            for j, (part, offset) in enumerate(zip(coding.parts, coding.offsets))
            if first <= offset < last
        ]
        return " | ".join(found) or "0"

    def cut(coding, j):
        """Part j of an image in high and low."""
        offset, size = coding.offsets[j], SIZES[coding.parts[j]]
        name, last = ("high", 32) if offset < 32 else ("low", 64)
        return f"{name} >> {last - offset - size}" if last > offset + size else name
%>
<%
    p, one = w.platform, w.one
    types = {"uint32": "unsigned", "uint16": "unsigned short", "uint8": "unsigned char", "float32": "float"}
%>
% for coding, rounding in w.codings:
<%
    name, word, truncates = coding.name, "float" if coding.word == "float32" else "double", rounding == "toward_zero"
    rounded = name + ROUNDINGS[rounding]
    wide, dropped = word == "double", coding.dropped
    places = ", ".join(f"{p.pointer.format(types[part])}p{j}" for j, part in enumerate(coding.parts))
%>
% if coding.kind == "cut" and w.first(f"decoded_{name}"):
/* the top ${coding.size} bits of a ${word}, the others zero */
${p.function} ${word} decoded_${name}(${", ".join(f"const unsigned p{j}" for j in range(len(coding.parts)))})
{
% if wide:
    double y;
    ${one.bits("double_of", f"(int)({joined(coding, 0, 32)})", f"(int)({joined(coding, 32, 64)})")}
    return y;
% else:
    return ${one.bits("as_float", f"(int)({joined(coding, 0, 32)})")};
% endif
}

% elif coding.kind == "half" and w.first(f"decoded_{name}"):
/* binary16: its exponent, scaled by 2^112, is a float's; the largest one's are infinity and NaN */
${p.function} float decoded_${name}(const unsigned p0)
{
    const int image = (int)(p0 << 16) >> 3 & (int)0x8fffffffu;
    const float scaled = ${one.bits("as_float", "image")} * ${2.0**112}f;
    int bits = ${one.bits("as_int", "scaled")};
    if (${p.fabs["float32"].format("scaled")} >= ${2.0**16}f)
        bits |= 0x7f800000;
    return ${one.bits("as_float", "bits")};
}

% endif
% if coding.kind == "cut" and w.first(f"kept_{rounded}"):
/* x with its top ${coding.size} bits ${"as they are" if truncates else "rounded to nearest, ties to even"}; a NaN stays one */
${p.function} void kept_${rounded}(const ${word} x, ${p.out_parameter.format("unsigned")}image${f", {p.out_parameter.format('unsigned')}rest" if wide else ""})
{
    const int is_nan = x != x;
% if wide:
    unsigned high = (unsigned)${one.bits("high_word", "x")}, low = (unsigned)${one.bits("low_word", "x")};
% if truncates:
    high = is_nan ? high | 0x00080000u : high;
% elif dropped < 32:
    const unsigned sum = low + ${hex((1 << dropped - 1) - 1)}u + (low >> ${dropped} & 1u);
    high = is_nan ? high | 0x00080000u : high + (sum < low);
    low = sum;
% elif dropped == 32:
    high = is_nan ? high | 0x00080000u : high + (low > 0x80000000u || (low == 0x80000000u && (high & 1u)));
% else:
    high = is_nan ? high | 0x00080000u : high + ${hex((1 << dropped - 33) - 1)}u + ((high >> ${dropped - 32} & 1u) | (low != 0));
% endif
    *image = high;
    *rest = low;
% else:
    const unsigned high = (unsigned)${one.bits("as_int", "x")};
    *image = is_nan ? high | 0x00400000u : ${"high" if truncates else f"high + {hex((1 << dropped - 1) - 1)}u + (high >> {dropped} & 1u)"};
% endif
}

% endif
% if w.first(f"encode_{rounded}"):
${p.function} void encode_${rounded}(const ${word} x, ${", ".join(f"{p.out_parameter.format(types[part])}p{j}" for j, part in enumerate(coding.parts))})
{
% if coding.kind == "cut":
    unsigned high${", low" if wide else ""};
    kept_${rounded}(x, &high${", &low" if wide else ""});
% for j, part in enumerate(coding.parts):
    *p${j} = (${types[part]})(${cut(coding, j)});
% endfor
% elif coding.kind == "single":
    float y = (float)x;
% if truncates:
    if (${p.fabs["float64"].format("(double)y")} > ${p.fabs["float64"].format("x")})
        y = ${one.bits("as_float", one.bits("as_int", "y") + " - 1")};
% endif
    *p0 = y;
% else:
    const unsigned bits = (unsigned)${one.bits("as_int", "x")};
    const unsigned sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    /* no branches: neighbours in a warp hold numbers of all kinds */
% if truncates:
    const unsigned held = size < 0x47800000u ? size : 0x477fffffu;
    const unsigned normal = size == 0x7f800000u ? 0x7c00u : (held - 0x38000000u) >> 13;
    const unsigned small = size < 0x38800000u ? size : 0u;
    const unsigned subnormal = (unsigned)(${one.bits("as_float", "(int)small")} * 16777216.0f);
% else:
    const unsigned held = size < 0x47800000u ? size : 0x47800000u;
    const unsigned normal = (held - 0x38000000u + 0xfffu + (held >> 13 & 1u)) >> 13;
    /* the sum's last bit is that of binary16's subnormals */
    const unsigned subnormal = (unsigned)${one.bits("as_int", one.bits("as_float", "(int)size") + " + 0.5f")} - 0x3f000000u;
% endif
    const unsigned number = size < 0x38800000u ? subnormal : normal;
    const unsigned kept = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : number;
    *p0 = (unsigned short)(sign | kept);
% endif
}

${p.function} void store_${rounded}(${places}, const ${p.index} at, const ${word} x)
{
% for j, part in enumerate(coding.parts):
    ${types[part]} part${j};
% endfor
    encode_${rounded}(x, ${", ".join(f"&part{j}" for j in range(len(coding.parts)))});
% for j in range(len(coding.parts)):
    p${j}[at] = part${j};
% endfor
}

% endif
% endfor
