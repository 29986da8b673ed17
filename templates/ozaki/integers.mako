## What the kernels of integer products share: dot products of four bytes, powers of two.
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
<%def name="exact_sums(w)">
## As two_sum and fast_two_sum, in float64 beside those of another word.
<% p = w.platform %>
% if w.first("exact_sum"):
/* a + b and its rounding error (Knuth 1969) */
${p.function} double exact_sum(const double a, const double b, ${p.out_parameter.format("double")}e)
{
    const double s = a + b;
    const double t = s - a;
    *e = (a - (s - t)) + (b - t);
    return s;
}

/* the same when |a| >= |b| or a = 0 (Dekker 1971) */
${p.function} double exact_sum_in_order(const double a, const double b, ${p.out_parameter.format("double")}e)
{
    const double s = a + b;
    *e = b - (s - a);
    return s;
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
