## Storage formats: words from the parts that lie in memory, and parts from words; of single elements or,
## in a dialect whose types of vectors have these names, of neighbours.
## w: Writer
<%page args="w"/>
<%!
    from portmp.formats.encodings import PRECISION, SIZES
    from portmp.codegen.writer import SCALAR, VECTORS

    def joined(encoding, texts, first, last):
        """The bits from *first* to *last* of the word's image, from the parts' texts."""
        ends = [offset + SIZES[part] for part, offset in zip(encoding.parts, encoding.offsets)]
        found = [
            f"{text} << {last - end}" if last > end else text
            for text, offset, end in zip(texts, encoding.offsets, ends) if first <= offset < last
        ]
        return " | ".join(found) or "0"

    def cut(encoding, j):
        """Part j of an image in high and low."""
        offset, size = encoding.offsets[j], SIZES[encoding.parts[j]]
        name, last = ("high", 32) if offset < 32 else ("low", 64)
        return f"{name} >> {last - offset - size}" if last > offset + size else name
%>
<%
    p, n, vectors = w.platform, w.lanes, w.width > 1
    ## Where all operands are stored short, every NaN is quiet: a stored or a computed one.
    calm = vectors and "*" in dict(w.stored)
    fabs, as_int, as_float = p.fabs["float32"].format, lambda x: w.bits("as_int", x), lambda x: w.bits("as_float", x)
    unsigned = w.held("uint32")
    as_unsigned = lambda x: f"as_uint{n}({x})" if vectors else f"(unsigned){as_int(x)}"
    to_int = lambda x: f"as_int{n}({x})" if vectors else f"(int)({x})" if " " in x else f"(int){x}"
%>
% for encoding, rounding in w.encodings:
<%
    name, rounded, truncates = encoding.name + w.times, w.rounded(encoding, rounding), rounding == "toward_zero"
    word, scalar, wide = w.held(encoding.word), SCALAR[encoding.word], encoding.word == "float64"
    size, dropped, shifts, whole = encoding.size, encoding.dropped, encoding.shifts, SIZES[encoding.word]
    image, suffix, parts = ("ulong" if wide else "uint") + n, "ul" if wide else "u", list(enumerate(encoding.parts))
    planes = ", ".join(f"{p.pointer.format((VECTORS if vectors else SCALAR)[part])}p{j}" for j, part in parts)
    taken = ", ".join(f"const {w.held(part) if vectors else 'unsigned'} p{j}" for j, part in parts)
    given = ", ".join(f"{p.out_parameter.format(SCALAR[part])}p{j}" for j, part in parts)
    words = [f"convert_uint{n}(p{j})" if vectors else f"p{j}" for j, _ in parts]
    there = [w.there(part, f"p{j}", "at", const=False) if vectors else f"*p{j}" for j, part in parts]
    part_of = lambda j, x: f"convert_{w.held(encoding.parts[j])}({x})" if vectors else f"({SCALAR[encoding.parts[j]]})({x})"
    step = (1 << dropped - 1) - 1
    ## Vectors of words of 32 bits are half as many: compilers make less of a short part so.
    halves = wide and size < 32 and len(parts) == 1
%>
% if not encoding.native and w.first(f"decoded_{name}"):
% if encoding.rescaled:
/* ${encoding.name}: its exponent, scaled by 2^${encoding.rebias}, is a float's; the largest one's are infinity and NaN */
% else:
/* the top ${size} bits of ${scalar + "s" if vectors else "a " + scalar}, the others zero */
% endif
${p.function} ${word} decoded_${name}(${taken})
{
% if encoding.rescaled:
<% shift = 32 - size - dropped %>\
    const int${n} image = ${to_int(joined(encoding, words, 0, 32))} >> ${shift} & (int)${hex(0x80000000 | 0x7fffffff >> shift)}u;
    const ${word} scaled = ${as_float("image")} * ${2.0**encoding.rebias}f;
    const int${n} bits = ${as_int("scaled")};
    return ${as_float(f"{fabs('scaled')} >= {2.0**encoding.overflow}f ? bits | 0x7f800000 : bits")};
% elif vectors and halves:
    const uint${n} high = ${joined(encoding, words, 0, 32)};
    return as_double${n}(convert_ulong${n}(high) << 32);
% elif vectors:
    return as_${word}(${joined(encoding, [f"convert_{image}(p{j})" for j, _ in parts], 0, whole)});
% elif wide:
    double y;
    ${w.bits("double_of", f"(int)({joined(encoding, words, 0, 32)})", f"(int)({joined(encoding, words, 32, 64)})")}
    return y;
% else:
    return ${as_float(f"(int)({joined(encoding, words, 0, 32)})")};
% endif
}

% endif
% if not (vectors or encoding.native or encoding.rescaled) and w.first(f"kept_{rounded}"):
/* x with its top ${size} bits ${"as they are" if truncates else "rounded to nearest, ties to even"}; a NaN stays one */
${p.function} void kept_${rounded}(const ${word} x, ${p.out_parameter.format("unsigned")}image${f", {p.out_parameter.format('unsigned')}rest" if wide else ""})
{
    const int is_nan = x != x;
% if wide:
    unsigned high = (unsigned)${w.bits("high_word", "x")}, low = (unsigned)${w.bits("low_word", "x")};
% if truncates:
    high = is_nan ? high | 0x00080000u : high;
% elif dropped < 32:
    const unsigned sum = low + ${hex(step)}u + (low >> ${dropped} & 1u);
    high = is_nan ? high | 0x00080000u : high + (sum < low);
    low = sum;
% elif dropped == 32:
    high = is_nan ? high | 0x00080000u : high + (low > 0x80000000u || (low == 0x80000000u && (high & 1u)));
% else:
    high = is_nan ? high | 0x00080000u : high + ${hex(step >> 32)}u + ((high >> ${dropped - 32} & 1u) | (low != 0));
% endif
    *image = high;
    *rest = low;
% else:
    const unsigned high = ${as_unsigned("x")};
    *image = is_nan ? high | 0x00400000u : ${"high" if truncates else f"high + {hex(step)}u + (high >> {dropped} & 1u)"};
% endif
}

% endif
% if w.first(f"encode_{rounded}"):
% if vectors and not (encoding.native or encoding.rescaled):
/* the top ${size} bits, ${f"as they are{': a NaN is quiet, and' if calm else ';'} a NaN stays one" if truncates else "rounded to nearest, ties to even; a NaN stays one"} */
% endif
${p.function} void ${f"store_{rounded}({planes}, const {p.index} at, const {word} x)" if vectors else f"encode_{rounded}(const {word} x, {given})"}
{
% if encoding.native:
    float${n} y = ${w.converted("float32", "x")};
% if truncates and vectors:
    const int${n} beyond = convert_int${n}(${p.fabs["float64"].format(f"convert_double{n}(y)")} > ${p.fabs["float64"].format("x")});
    y = as_float${n}(as_int${n}(y) + beyond);
% elif truncates:
    if (${p.fabs["float64"].format("(double)y")} > ${p.fabs["float64"].format("x")})
        y = ${as_float(as_int("y") + " - 1")};
% endif
    ${there[0]} = y;
% elif encoding.rescaled:
<%
    fraction = PRECISION[encoding.word] - 1
    rebias, beyond, least = (k << fraction for k in (encoding.rebias, 255 - encoding.rebias, encoding.rebias + 1))
    infinity = (beyond - rebias) >> dropped
%>\
    const ${unsigned} bits = ${as_unsigned("x")};
    const ${unsigned} sign = bits >> ${32 - size} & ${hex(1 << size - 1)}u, size = bits & 0x7fffffffu;
% if not vectors:
    /* no branches: neighbours in a warp hold numbers of all kinds */
% endif
% if truncates:
    const ${unsigned} held = size < ${hex(beyond)}u ? size : ${hex(beyond - 1)}u;
    const ${unsigned} normal = size == 0x7f800000u ? ${hex(infinity)}u : (held - ${hex(rebias)}u) >> ${dropped};
    const ${unsigned} small = size < ${hex(least)}u ? size : 0u;
    const ${unsigned} subnormal = ${"convert_uint" + n if vectors else "(unsigned)"}(${as_float(to_int("small"))} * ${2.0**-encoding.smallest}f);
% else:
    const ${unsigned} held = size < ${hex(beyond)}u ? size : ${hex(beyond)}u;
    const ${unsigned} normal = (held - ${hex(rebias)}u + ${hex(step)}u + (held >> ${dropped} & 1u)) >> ${dropped};
    /* the sum's last bit is that of the subnormals */
    const ${unsigned} subnormal = ${as_unsigned(as_float(to_int("size")) + f" + {2.0**(encoding.smallest + fraction)}f")} - ${hex(127 + encoding.smallest + fraction << fraction)}u;
% endif
    const ${unsigned} number = size < ${hex(least)}u ? subnormal : normal;
    const ${unsigned} kept = size > 0x7f800000u ? ${hex(infinity | 1 << encoding.bits - 2)}u | (size >> ${dropped} & ${hex((1 << encoding.bits - 1) - 1)}u) : number;
% for j, _ in parts:
    ${there[j]} = ${part_of(j, f"(sign | kept) >> {shifts[j]}" if shifts[j] else "sign | kept")};
% endfor
% elif vectors:
    const ${image} bits = as_${image}(x);
% if truncates and calm:
    const ${image} kept = bits;
% else:
    const ${image} kept = x != x ? bits | ${hex(1 << PRECISION[encoding.word] - 2)}${suffix} : ${"bits" if truncates else f"bits + ({hex(step)}{suffix} + (bits >> {dropped} & 1{suffix}))"};
% endif
% if halves:
    const uint${n} high = convert_uint${n}(kept >> 32);
    ${there[0]} = ${part_of(0, f"high >> {32 - size}")};
% else:
% for j, _ in parts:
    ${there[j]} = ${part_of(j, f"kept >> {shifts[j] + whole - size}" if shifts[j] + whole - size else "kept")};
% endfor
% endif
% else:
    unsigned high${", low" if wide else ""};
    kept_${rounded}(x, &high${", &low" if wide else ""});
% for j, _ in parts:
    ${there[j]} = ${part_of(j, cut(encoding, j))};
% endfor
% endif
}

% if not vectors:
${p.function} void store_${rounded}(${planes}, const ${p.index} at, const ${word} x)
{
% for j, part in parts:
    ${SCALAR[part]} part${j};
% endfor
    encode_${rounded}(x, ${", ".join(f"&part{j}" for j, _ in parts)});
% for j, _ in parts:
    p${j}[at] = part${j};
% endfor
}

% endif
% endif
% endfor
