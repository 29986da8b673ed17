## A word from a long accumulator: what is left in it, rounded.
## w: Writer of scalar words, accumulator: its digits
<%def name="rounded(w, accumulator)">
<%
    p, long = w.platform, w.platform.index
    digits, unit = accumulator.digits, accumulator.unit
    double = w.scalar == "double"
    least, bias = (-1022, 1023) if double else (-126, 127)
    work = p.pointer.format(long)
%>
% if w.first("power"):
/* 2^e, a normal number */
${p.function} ${w.scalar} power(const int e)
{
% if double:
    double y;
    ${w.bits("double_of", f"(e + {bias}) << 20", "0")}
    return y;
% else:
    return ${w.bits("as_float", f"(e + {bias}) << 23")};
% endif
}

% endif
% if w.first(f"rounded{digits}"):
/* the digits' carries; the last digit has the sign alone */
${p.function} void carried${digits}(${work}work, const ${long} step)
{
    ${long} carry = 0;
    ${p.unrolled_by(1)}
    for (int digit = 0; digit < ${digits - 1}; ++digit) {
        carry += work[digit * step];
        work[digit * step] = carry & 0xffffffff;
        carry >>= 32;
    }
    work[${digits - 1} * step] += carry;
}

/* one word: what is left in the accumulator, rounded to a number of bits, none of them below the place
   lowest; it is subtracted. A number from 2^overflow on is infinite. */
${p.function} ${w.scalar} rounded${digits}(
    ${work}work, const ${long} step, const int bits, const int lowest, const int overflow, const int truncates)
{
    const int negative = work[${digits - 1} * step] < 0;
    int digit, last, place, ahead, shift;
    unsigned ${long} found, number;
    ${w.scalar} size;
    if (negative) {
        ${p.unrolled_by(1)}
        for (digit = 0; digit < ${digits}; ++digit)
            work[digit * step] = -work[digit * step];
    }
    carried${digits}(work, step);
    digit = ${digits - 1};
    while (digit > 0 && work[digit * step] == 0)
        --digit;
    found = (unsigned ${long})work[digit * step];
    if (found == 0)
        return ${w.literal(0)};
    last = 32 * digit - 1;
    while (found != 0) {
        found >>= 1;
        ++last;
    }
    /* the significand's last bit, and the bits from there on */
    place = last - bits + 1 > lowest ? last - bits + 1 : lowest;
    digit = place >> 5;
    shift = place & 31;
    number = (unsigned ${long})work[digit * step];
    if (digit + 1 < ${digits})
        number |= (unsigned ${long})work[(digit + 1) * step] << 32;
    number >>= shift;
    if (shift != 0 && digit + 2 < ${digits})
        number |= (unsigned ${long})work[(digit + 2) * step] << (64 - shift);
    if (!truncates && place > 0) {
        const int next = (place - 1) >> 5, bit = (place - 1) & 31;
        if (work[next * step] >> bit & 1) {
            ${long} below = work[next * step] & (((${long})1 << bit) - 1);
            for (int i = 0; i < next && below == 0; ++i)
                below = work[i * step];
            number += below != 0 || (number & 1) != 0;
        }
    }
    ahead = last - place + 1;
    if (ahead > 0 && ahead < 64 && (number >> ahead) != 0)
        ++last;
    if (last + (${unit}) >= overflow) {
        if (!truncates)
            return negative ? ${w.literal(float("-inf"))} : ${w.literal(float("inf"))};
        number = ((unsigned ${long})1 << bits) - 1;
        place = overflow - bits - (${unit});
    }
    digit = place >> 5;
    shift = place & 31;
    {
        const unsigned ${long} low = (number & 0xffffffffu) << shift, high = (number >> 32) << shift;
        work[digit * step] -= (${long})(low & 0xffffffffu);
        work[(digit + 1) * step] -= (${long})((low >> 32) + (high & 0xffffffffu));
        work[(digit + 2) * step] -= (${long})(high >> 32);
    }
    carried${digits}(work, step);
    place += ${unit};
    shift = place < ${least} ? ${least} : place;
    size = (${w.scalar})number * power(shift) * power(place - shift);
    if (negative) {
        ${p.unrolled_by(1)}
        for (digit = 0; digit < ${digits}; ++digit)
            work[digit * step] = -work[digit * step];
        carried${digits}(work, step);
    }
    return negative ? -size : size;
}

% endif
</%def>
