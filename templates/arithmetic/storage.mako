## Storage formats: words from the parts that lie in memory, and parts from words.
## w: Writer
<%page args="w"/>
<%!
    from portmp.codings import SIZES
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
/* binary16: its exponent, scaled by 2^112, is a float's */
${p.function} float decoded_${name}(const unsigned p0)
{
    const unsigned size = (p0 & 0x7fffu) << 13;
    const float scaled = ${one.bits("as_float", "(int)size")} * ${2.0**112}f;
    const int bits = size >= 0x0f800000u ? (int)(size | 0x7f800000u) : ${one.bits("as_int", "scaled")};
    return ${one.bits("as_float", "bits | (int)((p0 & 0x8000u) << 16)")};
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
    unsigned kept;
    if (size > 0x7f800000u)
        kept = 0x7e00u | (size >> 13 & 0x3ffu);
    else if (size < 0x38800000u)
% if truncates:
        kept = (unsigned)(${one.bits("as_float", "(int)size")} * 16777216.0f);
    else if (size < 0x47800000u)
        kept = (size - 0x38000000u) >> 13;
    else
        kept = size == 0x7f800000u ? 0x7c00u : 0x7bffu;
% else:
        /* the sum's last bit is that of binary16's subnormals */
        kept = (unsigned)${one.bits("as_int", one.bits("as_float", "(int)size") + " + 0.5f")} - 0x3f000000u;
    else if (size < 0x47800000u)
        kept = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    else
        kept = 0x7c00u;
% endif
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
