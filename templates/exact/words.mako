## Words as integers, and long accumulators of digits of 32 bits.
## w: Writer of scalar words
<%def name="words(w, factors, held=0)">
<%
    p, long = w.platform, w.platform.index
    double = w.scalar == "double"
    top, ones = (52, 0x7ff) if double else (23, 0xff)
    image = "as_long" if double else "as_int"
    integer = long if double else "int"
    work = p.pointer.format(long)
%>
% if w.first("significand"):
/* a word's bits: its significand, whether it is negative, and where the significand's last bit
   stands in units of the smallest subnormal; -1 where it is not finite */
${p.function} int significand_of(const ${w.scalar} x, ${p.out_parameter.format(f"unsigned {long}")}bits, ${p.out_parameter.format("int")}negative)
{
    const ${integer} word = ${w.bits(image, "x")};
    const int exponent = (int)(word >> ${top}) & ${ones};
    const ${integer} fraction = word & ${hex((1 << top) - 1)};
    *negative = word < 0;
    *bits = (unsigned ${long})(exponent ? fraction | ${"(" + long + ")" if double else ""}${hex(1 << top)} : fraction);
    return exponent == ${ones} ? -1 : exponent ? exponent - 1 : 0;
}

/* to a digit of an accumulator, whose carry comes later */
${p.function} void add_digit(${work}work, const ${long} step, const int digit, const unsigned ${long} bits, const int negative)
{
    const ${long} change = negative ? -(${long})bits : (${long})bits;
    work[digit * step] += change;
}

/* a number of 64 bits, its last bit at a place of the accumulator */
${p.function} void add_number(${work}work, const ${long} step, const unsigned ${long} bits, const int place, const int negative)
{
    const int digit = place >> 5, shift = place & 31;
    const unsigned ${long} low = (bits & 0xffffffffu) << shift, high = (bits >> 32) << shift;
    add_digit(work, step, digit, low & 0xffffffffu, negative);
    add_digit(work, step, digit + 1, (low >> 32) + (high & 0xffffffffu), negative);
    add_digit(work, step, digit + 2, high >> 32, negative);
}

% endif
% if held and w.first("add_word"):
/* a word, the smallest subnormal at a place of the accumulator */
${p.function} void add_word(${work}work, const ${long} step, const ${w.scalar} x, const int unit)
{
    unsigned ${long} bits;
    int negative;
    const int place = significand_of(x, &bits, &negative);
    if (bits != 0)
        add_number(work, step, bits, unit + place, negative);
}

% endif
% if factors > 1 and w.first("add_product"):
/* the product of two significands, likewise */
${p.function} void add_product(${work}work, const ${long} step, const unsigned ${long} x, const unsigned ${long} y, const int place, const int negative)
{
% if double:
    const int digit = place >> 5, shift = place & 31;
    const unsigned ${long} x0 = x & 0xffffffffu, x1 = x >> 32, y0 = y & 0xffffffffu, y1 = y >> 32;
    const unsigned ${long} low = x0 * y0;
    const unsigned ${long} left = x1 * y0 + (low >> 32);
    const unsigned ${long} middle = x0 * y1 + (left & 0xffffffffu);
    const unsigned ${long} high = x1 * y1 + (left >> 32) + (middle >> 32);
    const unsigned ${long} s0 = (low & 0xffffffffu) << shift, s1 = (middle & 0xffffffffu) << shift;
    const unsigned ${long} s2 = (high & 0xffffffffu) << shift, s3 = (high >> 32) << shift;
    add_digit(work, step, digit, s0 & 0xffffffffu, negative);
    add_digit(work, step, digit + 1, (s0 >> 32) + (s1 & 0xffffffffu), negative);
    add_digit(work, step, digit + 2, (s1 >> 32) + (s2 & 0xffffffffu), negative);
    add_digit(work, step, digit + 3, (s2 >> 32) + (s3 & 0xffffffffu), negative);
    add_digit(work, step, digit + 4, s3 >> 32, negative);
% else:
    add_number(work, step, x * y, place, negative);
% endif
}

% endif
</%def>

## Significands of the limbs n in words.
<%def name="significands(name, words, n, pad=8)">\
<% long, pad = w.platform.index, " " * pad %>\
% for i in n:
${pad}unsigned ${long} ${name}_bits${i};
${pad}int ${name}_negative${i};
${pad}const int ${name}_place${i} = significand_of(${words[i]}, &${name}_bits${i}, &${name}_negative${i});
% endfor
</%def>

## Their products are added, their last bits at places that are more.
<%def name="products(x, y, n, more=0, pad=8)">\
<% pad = " " * pad %>\
${pad}if ((${" | ".join(f"{name}_place{i}" for name in (x, y) for i in n)}) < 0) {
${pad}    ++special;
${pad}} else {
% for i in n:
% for j in n:
${pad}    if (${x}_bits${i} != 0 && ${y}_bits${j} != 0)
${pad}        add_product(mine, step, ${x}_bits${i}, ${y}_bits${j}, ${x}_place${i} + ${y}_place${j}${f" + {more}" if more else ""}, ${x}_negative${i} != ${y}_negative${j});
% endfor
% endfor
${pad}}
</%def>

## Numbers are added.
<%def name="numbers(x, n, pad=8)">\
<% pad = " " * pad %>\
${pad}if ((${" | ".join(f"{x}_place{i}" for i in n)}) < 0) {
${pad}    ++special;
${pad}} else {
% for i in n:
${pad}    if (${x}_bits${i} != 0)
${pad}        add_number(mine, step, ${x}_bits${i}, ${x}_place${i}, ${x}_negative${i});
% endfor
${pad}}
</%def>
