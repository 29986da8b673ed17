## Storage formats in explicit vectors: words from neighbouring parts, and parts from words.
## Only a dialect whose types of vectors have these names has a width above one.
## w: Writer of vectors
<%page args="w"/>
<%!
    from portmp.formats.encodings import SIZES
    from portmp.formats import ROUNDINGS
    from portmp.codegen.writer import VECTORS
%>
<%
    p, n = w.platform, w.width
    ## Where all operands are stored short, every NaN is quiet: a stored or a computed one.
    calm = "*" in dict(w.stored)
%>
% for part in w.parts:
% if w.first(f"{VECTORS[part]}{n}_anywhere"):
typedef ${VECTORS[part]}${n} ${VECTORS[part]}${n}_anywhere __attribute__((aligned(${SIZES[part] // 8})));
% endif
% endfor

% if w.mixed and w.first(f"narrowedx{n}"):
/* low limbs as they are stored; beyond float's range values are their leading limbs */
${p.function} float${n} narrowedx${n}(const double${n} x)
{
    const float${n} y = convert_float${n}(x);
    const long${n} held = ${p.fabs["float64"].format(f"convert_double{n}(y)")} <= 3.4028234663852886e+38;
    return as_float${n}(as_int${n}(y) & convert_int${n}(held));
}

% endif
% for coding, rounding in w.codings:
<%
    name, truncates = f"{coding.name}x{n}", rounding == "toward_zero"
    rounded = f"{coding.name}{ROUNDINGS[rounding]}x{n}"
    wide, dropped = coding.word == "float64", coding.dropped
    word, image, suffix = ("double", "ulong", "ul") if wide else ("float", "uint", "u")
    whole, size = SIZES[coding.word], coding.size
    shifts = [whole - offset - SIZES[part] for part, offset in zip(coding.parts, coding.offsets)]
    places = ", ".join(f"{p.pointer.format(VECTORS[part])}p{j}" for j, part in enumerate(coding.parts))
    quiet = 1 << (51 if wide else 22)
    # Vectors of words of 32 bits are half as many: compilers make less of a short part so.
    halves = wide and size < 32 and len(coding.parts) == 1
%>
% if coding.kind == "cut" and w.first(f"decoded_{name}"):
/* the top ${size} bits of ${word}s, the others zero */
${p.function} ${word}${n} decoded_${name}(${", ".join(f"const {VECTORS[part]}{n} p{j}" for j, part in enumerate(coding.parts))})
{
% if halves:
    const uint${n} high = convert_uint${n}(p0) << ${shifts[0] - 32};
    return as_double${n}(convert_ulong${n}(high) << 32);
% else:
    return as_${word}${n}(${" | ".join(f"convert_{image}{n}(p{j}) << {shift}" if shift else f"convert_{image}{n}(p{j})" for j, shift in enumerate(shifts))});
% endif
}

% elif coding.kind == "half" and w.first(f"decoded_{name}"):
/* binary16: its exponent, scaled by 2^112, is a float's; the largest one's are infinity and NaN */
${p.function} float${n} decoded_${name}(const ushort${n} p0)
{
    const int${n} image = as_int${n}(convert_uint${n}(p0) << 16) >> 3 & (int)0x8fffffffu;
    const float${n} scaled = as_float${n}(image) * ${2.0**112}f;
    const int${n} beyond = ${p.fabs["float32"].format("scaled")} >= ${2.0**16}f;
    return as_float${n}(as_int${n}(scaled) | (beyond & 0x7f800000));
}

% endif
% if w.first(f"store_{rounded}"):
% if coding.kind == "cut":
/* the top ${size} bits, ${f"as they are{': a NaN is quiet, and' if calm else ';'} a NaN stays one" if truncates else "rounded to nearest, ties to even; a NaN stays one"} */
% endif
${p.function} void store_${rounded}(${places}, const ${p.index} at, const ${word}${n} x)
{
% if coding.kind == "cut":
    const ${image}${n} bits = as_${image}${n}(x);
% if truncates and calm:
    const ${image}${n} kept = bits;
% else:
    const ${image}${n} kept = x != x ? bits | ${hex(quiet)}${suffix} : ${"bits" if truncates else f"bits + ({hex((1 << dropped - 1) - 1)}{suffix} + (bits >> {dropped} & 1{suffix}))"};
% endif
% if halves:
    const uint${n} high = convert_uint${n}(kept >> 32);
    ${w.there(coding.parts[0], "p0", "at", const=False)} = convert_${VECTORS[coding.parts[0]]}${n}(high >> ${shifts[0] - 32});
% else:
% for j, (part, shift) in enumerate(zip(coding.parts, shifts)):
    ${w.there(part, f"p{j}", "at", const=False)} = convert_${VECTORS[part]}${n}(${f"kept >> {shift}" if shift else "kept"});
% endfor
% endif
% elif coding.kind == "single":
    float${n} y = convert_float${n}(x);
% if truncates:
    const int${n} beyond = convert_int${n}(${p.fabs["float64"].format(f"convert_double{n}(y)")} > ${p.fabs["float64"].format("x")});
    y = as_float${n}(as_int${n}(y) + beyond);
% endif
    ${w.there("float32", "p0", "at", const=False)} = y;
% else:
    const uint${n} bits = as_uint${n}(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    const uint${n} small = size < 0x38800000u ? size : 0u;
% if truncates:
    const uint${n} normal = size == 0x7f800000u ? 0x7c00u : size < 0x47800000u ? (size - 0x38000000u) >> 13 : 0x7bffu;
    const uint${n} subnormal = convert_uint${n}(as_float${n}(small) * 16777216.0f);
% else:
    const uint${n} normal = size < 0x47800000u ? (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13 : 0x7c00u;
    /* the sum's last bit is that of binary16's subnormals */
    const uint${n} subnormal = as_uint${n}(as_float${n}(small) + 0.5f) - 0x3f000000u;
% endif
    const uint${n} kept = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : size < 0x38800000u ? subnormal : normal;
    ${w.there("uint16", "p0", "at", const=False)} = convert_ushort${n}(sign | kept);
% endif
}

% endif
% endfor
