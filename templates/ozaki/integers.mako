## What the kernels of integer products share: dot products of four bytes, powers of two, exact sums, and
## how digits become values.
<%def name="dot4(w, signed)">
<% p = w.platform; kind = "signed" if signed else "unsigned"; word = "int" if signed else "unsigned" %>
% if w.first(f"dot4_{kind}"):
/* c and the products of four ${kind} bytes */
${p.function} ${word} dot4_${kind}(const ${word} a, const ${word} b, const ${word} c)
{
% if w.traits.dot4 == "plain":
% if signed:
    return c + (${p.int8})a * (${p.int8})b + (${p.int8})(a >> 8) * (${p.int8})(b >> 8)
        + (${p.int8})(a >> 16) * (${p.int8})(b >> 16) + (a >> 24) * (b >> 24);
% else:
    return c + (a & 255u) * (b & 255u) + ((a >> 8) & 255u) * ((b >> 8) & 255u)
        + ((a >> 16) & 255u) * ((b >> 16) & 255u) + (a >> 24) * (b >> 24);
% endif
% else:
    ${word} y;
    ${p.dot4[w.traits.dot4, kind]}
    return y;
% endif
}

% endif
</%def>
<%def name="power_of_two(w)">
<% p = w.platform %>
% if w.first("power_of_two"):
/* 2^e, a normal number */
${p.function} double power_of_two(const int e)
{
    double y;
    ${w.bits("double_of", "(e + 1023) << 20", "0")}
    return y;
}

% endif
</%def>
<%def name="size_of(w)">
<% p = w.platform %>
% if w.first("size_of"):
/* |x| times both powers, which must be at most 2^31, rounded up; 1 at least but for 0 */
${p.function} unsigned size_of(const double x, const double up, const double more)
{
    const double scaled = ${w.fabs("x")} * up * more;
    const unsigned whole = (unsigned)scaled;
    const unsigned size = whole + ((double)whole < scaled);
    return x == 0 ? 0u : size > 0 ? size : 1u;
}

% endif
</%def>
<%def name="lift_of(p, fine, most)">
/* the largest lift with which the mean size, of entries that are not 0, stays below a quarter of the largest one */
${p.function} int lift_of(const ${p.index} sums, const ${p.index} count)
{
    int lift = 0;
    while (lift < ${most} && (sums << (lift + 3)) <= (count << ${fine}))
        ++lift;
    return lift;
}

</%def>
<%def name="exact_sums(w)">
## As two_sum and fast_two_sum, in float64 beside those of another word.
<% p, out = w.platform, w.platform.out_parameter.format(w.word) %>
% if w.first(f"exact_sum{w.times}"):
/* a + b and its rounding error (Knuth 1969) */
${p.function} ${w.word} exact_sum${w.times}(const ${w.word} a, const ${w.word} b, ${out}e)
{
    const ${w.word} s = a + b;
    const ${w.word} t = s - a;
    *e = (a - (s - t)) + (b - t);
    return s;
}

/* the same when |a| >= |b| or a = 0 (Dekker 1971) */
${p.function} ${w.word} exact_sum_in_order${w.times}(const ${w.word} a, const ${w.word} b, ${out}e)
{
    const ${w.word} s = a + b;
    *e = b - (s - a);
    return s;
}

% endif
</%def>
<%def name="words_of_digits(w, digits, words, base)">
## Statements that find z0, z1 ..., *words* leading words of the sum of s0, s1 ... 2^base, ... exactly,
## and write the digits and *error* over. digits: texts of them, the lowest first.
<% in_order = f"exact_sum_in_order{w.times}" %>
            /* the leading word of the sum, and of what is left of it, exactly: a digit that is not
               zero is above all that is below it, and so are the first errors */
% for t, digit in enumerate(digits):
% if t:
            ${digit} = ${digit} * ${w.literal(2.0 ** (base * t))};
% endif
% endfor
% for i in range(words):
            z${i} = ${digits[0] if i < len(digits) else w.literal(0)};
% for t in range(1, max(len(digits) - i, 1)):
            z${i} = ${in_order if i < 2 else f"exact_sum{w.times}"}(${digits[t]}, z${i}, &error);
            ${digits[t - 1]} = error;
% endfor
% endfor
% for i in range(1, words):
            z${i - 1} = ${in_order}(z${i - 1}, z${i}, &error);
            z${i} = error;
% endfor
</%def>
<%def name="value_of_words(w, double, words)">
## The statement that sets z to a value of the format, from its words z0, z1 ..., which it writes over.
% if w.format.word == "float64":
% for i in range(1, words):
            z${i} = ${double.fabs("z0")} <= ${double.largest} ? z${i} : ${double.literal(0)};
% endfor
            z = ${w.pack(f"z{i}" for i in w.limbs)};
% else:
            {
% for i in w.limbs:
                const ${w.word} f${i} = ${w.converted("float32", "z0")};
% if i < w.format.limbs - 1:
                z0 = z0 - ${double.converted("float64", f"f{i}")};
% for j in range(1, words):
                z${j - 1} = exact_sum${double.times}(z${j - 1}, z${j}, &error);
                z${j} = error;
% endfor
% endif
% endfor
% if w.format.limbs > 1:
                const ${w.flag} finite = ${w.fabs("f0")} <= ${w.largest};
% endif
                z = ${w.pack("f0" if i == 0 else f"(finite ? f{i} : {w.literal(0)})" for i in w.limbs)};
            }
% endif
</%def>
<%def name="double_from_int(w)">
<% p = w.platform %>
% if w.first("double_from_int"):
/* by bits: hardware converts at a small part of the rate of additions */
${p.function} double double_from_int(const int x)
{
    double y;
    ${w.bits("double_of", "0x43300000", "x ^ (int)0x80000000")}
    return y - 4503601774854144.0; /* 2^52 + 2^31 */
}

% endif
</%def>
