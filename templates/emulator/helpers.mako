## Functions of the interpreter that are longer than an expression. w: Writer
<%!
    QUIET = ((32, "float", "uint", "0x00400000u"), (64, "double", "ulong", "0x0008000000000000ul"))

    def two_over_pi(count):
        """The 1201 bits of 2/pi behind the point that the hardware knows, in words of 64."""
        one = 1 << 1300

        def arctan(n):
            """of 1/n, by its series"""
            terms, power, k = 0, one // n, 1
            while power:
                terms += (1 - (k & 2)) * (power // k)
                power, k = power // (n * n), k + 2
            return terms

        pi = 16 * arctan(5) - 4 * arctan(239)
        known = (2 * one * one // pi >> 1300 - 1201) << 64 * count - 1201
        return [known >> 64 * (count - 1 - i) & 0xFFFFFFFFFFFFFFFF for i in range(count)]

    FIXED = (
        (32, "float", "uint", 150, "0x00400000u", "0xffc00000u", "0x7f800000u", "0x80000000u"),
        (64, "double", "ulong", 1075, "0x0008000000000000ul", "0xfff8000000000000ul",
         "0x7ff0000000000000ul", "0x8000000000000000ul"),
    )
%>
<%def name="helpers(w)">
static inline uint reversed(uint x)
{
    x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
    x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
    x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
    x = (x & 0x00ff00ff) << 8 | (x >> 8 & 0x00ff00ff);
    return x << 16 | x >> 16;
}

/* bits from a start on: those beyond the word are zero, or copies of the sign */
static inline uint field(const uint x, const uint start, const uint size)
{
    return size >= 32 ? x >> start : (x >> start) & ((1u << size) - 1);
}

static inline ulong field64(const ulong x, const uint start, const uint size)
{
    return size >= 64 ? x >> start : (x >> start) & ((1ul << size) - 1);
}

static inline long signed_field64(const long x, const uint start, const uint size)
{
    const long shifted = x >> start;
    return !size ? 0 : size >= 64 ? shifted : (long)((ulong)shifted << (64 - size)) >> (64 - size);
}

static inline int signed_field(const int x, const uint start, const uint size)
{
    return (int)signed_field64(x, start, min(size, 64u));
}

/* how many bits at the top are the sign: all ones where all are */
static inline uint sign_bits64(const long x)
{
    const ulong other = x < 0 ? ~(ulong)x : (ulong)x;
    return other ? (uint)clz(other) : 0xffffffffu;
}

static inline uint sign_bits(const int x)
{
    const uint other = x < 0 ? ~(uint)x : (uint)x;
    return other ? (uint)clz(other) : 0xffffffffu;
}

static inline uint permuted(const uint a, const uint b, const uint choice)
{
    uint r = 0;
    for (uint i = 0; i < 4; ++i) {
        const uint s = choice >> (8 * i) & 255;
        const ulong both = (ulong)a << 32 | b;
        uint value = 0;
        if (s < 8)
            value = (uint)(both >> (8 * s)) & 255;
        else if (s < 12) /* the sign of a half */
            value = (both >> (16 * (s - 8) + 15)) & 1 ? 255 : 0;
        else if (s > 12)
            value = 255;
        r |= value << (8 * i);
    }
    return r;
}

/* products of four bytes, with signs or without */
static inline int dot(const uint a, const uint b, const int signed_a, const int signed_b)
{
    int sum = 0;
    for (uint i = 0; i < 4; ++i) {
        const uchar x = (uchar)(a >> (8 * i)), y = (uchar)(b >> (8 * i));
        sum += (signed_a ? (int)(char)x : (int)x) * (signed_b ? (int)(char)y : (int)y);
    }
    return sum;
}

/* zero, with the sign, for a subnormal number */
static inline float flushed(const float x)
{
    return fabs(x) < 1.17549435e-38f ? copysign(0.0f, x) : x;
}

static inline int signed_of(const double x)
{
    return x != x ? 0 : x <= -2147483648.0 ? (int)0x80000000 : x >= 2147483647.0 ? 0x7fffffff : (int)x;
}

static inline uint unsigned_of(const double x)
{
    return !(x > 0.0) ? 0u : x >= 4294967295.0 ? 0xffffffffu : (uint)x;
}

% for bits, word, uword, quiet in QUIET:
static inline ${word} quieted${bits}(const ${word} x)
{
    return as_${word}(as_${uword}(x) | ${quiet});
}

static inline int signalling${bits}(const ${word} x)
{
    return x != x && !(as_${uword}(x) & ${quiet});
}

/* a NaN gives way to a number; in the mode ieee a signalling one becomes quiet and stays; -0 < +0 */
% for name, relation, first in (("least", "<", "a"), ("greatest", ">", "b")):
static inline ${word} ${name}${bits}(const ${word} a, const ${word} b, const int ieee)
{
    if (ieee && signalling${bits}(a))
        return quieted${bits}(a);
    if (ieee && signalling${bits}(b))
        return quieted${bits}(b);
    if (a != a)
        return b != b ? quieted${bits}(a) : b;
    return b != b ? a : a ${relation} b || (a == b && (as_${uword}(${first}) >> ${bits - 1})) ? a : b;
}

% endfor
/* the part behind the point, below 1 */
static inline ${word} fraction${bits}(const ${word} x)
{
    const ${word} r = x - floor(x);
    return r >= 1 ? as_${word}(${"0x3f7fffffu" if bits == 32 else "0x3feffffffffffffful"}) : r;
}

% endfor
static inline float median32(const float a, const float b, const float c, const int ieee)
{
    if (a != a || b != b || c != c)
        return least32(least32(a, b, ieee), c, ieee);
    const float top = greatest32(greatest32(a, b, ieee), c, ieee);
    return top == a ? greatest32(b, c, ieee) : top == b ? greatest32(a, c, ieee) : greatest32(a, b, ieee);
}

/* 2^n for a normal result */
static inline double power64(const int n)
{
    return as_double((ulong)(n + 1023) << 52);
}

/* x 2^n, rounded once: only the last product can be inexact */
static inline double scaled64(const double x, const int n)
{
    const int exponent = (int)(as_ulong(x) >> 52 & 2047);
    if (x != x)
        return quieted64(x);
    if (n > 2200)
        return x * power64(1000) * power64(1000) * power64(1000);
    if (n < -2200 || exponent == 2047)
        return exponent == 2047 ? x : copysign(0.0, x);
    if (n >= 0) {
        double y = x;
        int left = n;
        for (; left > 1000; left -= 1000)
            y *= power64(1000);
        return y * power64(left);
    }
    /* down: from a number in [1, 2) to where it belongs, in at most two exact steps and one that rounds */
    const double normal = exponent ? x : x * power64(64);
    const int e = (int)(as_ulong(normal) >> 52 & 2047) - 1023;
    if (normal == 0.0)
        return x;
    const double mantissa = as_double((as_ulong(normal) & 0x800ffffffffffffful) | 0x3ff0000000000000ul);
    const int to = e - (exponent ? 0 : 64) + n;
    if (to >= -1022)
        return to > 1023 ? mantissa * power64(1023) * 2.0 : mantissa * power64(to);
    return to < -1080 ? copysign(0.0, x) : mantissa * power64(-1022 + 60) * power64(to + 1022 - 60);
}

static inline float scaled32(const float x, const int n)
{
    /* exact in a double but for its rounding to a float */
    return (float)scaled64((double)x, clamp(n, -400, 400));
}

/* an approximation of x: the nearest number, or, with a shift of 1 or -1 (2: either), its neighbour
   where that errs by an ulp at most; a larger shift moves it always */
static inline float near32(const double x, const int shift)
{
    const float y = flushed((float)x);
    const int moved = shift < 2 ? shift : popcount(as_uint(y)) & 1 ? 1 : -1;
    if (y != y || fabs(y) > 3.0e38f || fabs(y) < 2.0e-38f)
        return y;
    const float z = as_float(as_uint(y) + moved);
    const int documented = fabs((double)z - x) <= fabs((double)z - (double)y);
    return documented || shift < -1 || shift > 2 ? z : y;
}

/* the same: the nearest number, or cut to 2^-24 and moved by as much */
static inline double near64(const double x, const int shift)
{
    const ulong kept = as_ulong(x) & ~0x0ffffffful;
    const uint e = (uint)(kept >> 52) & 2047;
    const long moved = shift < 2 ? shift : popcount((uint)(kept >> 28)) & 1 ? 1 : -1;
    return !shift || e == 2047 || e < 2 || e > 2045 ? x : as_double(kept + moved * (1l << 28));
}

static inline int exponent32(const float x)
{
    return (int)(as_uint(x) >> 23 & 255);
}

static inline int exponent64(const double x)
{
    return (int)(as_ulong(x) >> 52 & 2047);
}

static inline int subnormal32(const float x)
{
    return x != 0.0f && exponent32(x) == 0;
}

static inline int subnormal64(const double x)
{
    return x != 0.0 && exponent64(x) == 0;
}

% for bits, word, lifted, power, bias in ((32, "float", "0x1p32f", 32, 127), (64, "double", "0x1p64", 64, 1023)):
/* x is a mantissa from 1/2 to 1 by a power of two */
static inline int binary_exponent${bits}(const ${word} x)
{
    if (x == 0 || x != x || isinf(x))
        return 0;
    return subnormal${bits}(x) ? exponent${bits}(x * ${lifted}) - ${power} - ${bias - 1} : exponent${bits}(x) - ${bias - 1};
}

static inline ${word} mantissa${bits}(const ${word} x)
{
    return x == 0 || x != x || isinf(x) ? x : scaled${bits}(x, -binary_exponent${bits}(x));
}

% endfor
/* 53 bits of 2/pi that belong to an angle of this size: the first, or a later one of such segments */
__constant ulong TWO_OVER_PI[44] = {${", ".join(f"0x{word:x}ul" for word in two_over_pi(44))}};

static inline double segment_of_two_over_pi(const double x, const uint segment)
{
    const int e = exponent64(x), shift = (segment & 31) * 53 + max(e - 1077, 0);
    const ulong upper = TWO_OVER_PI[shift / 64] << shift % 64;
    const ulong lower = shift % 64 ? TWO_OVER_PI[shift / 64 + 1] >> (64 - shift % 64) : 0;
    return scaled64((double)((upper | lower) >> 11), -53 - shift + (e >= 1968 ? 128 : 0));
}

/* v_div_scale: s is the numerator n or the denominator d, scaled where the quotient needs it */
% for bits, word, far, power, tiny in ((32, "float", 96, 64, 23), (64, "double", 768, 128, 53)):
static inline int scaled_twice${bits}(const ${word} d, const ${word} n)
{
    if (n == 0 || d == 0)
        return 0;
    if (exponent${bits}(n) - exponent${bits}(d) >= ${far})
        return 1;
    if (subnormal${bits}(d))
        return 0;
    return subnormal${bits}(n / d);
}

static inline ${word} prepared${bits}(const ${word} s, const ${word} d, const ${word} n)
{
    if (n == 0 || d == 0)
        return as_${word}(${"0x7fc00000u" if bits == 32 else "0x7ff8000000000000ul"});
    if (exponent${bits}(n) - exponent${bits}(d) >= ${far})
        return s == d ? scaled${bits}(s, ${power}) : s;
    if (subnormal${bits}(d))
        return scaled${bits}(s, ${power});
    if (subnormal${bits}(1 / d))
        return s == d || !subnormal${bits}(n / d) ? scaled${bits}(s, -${power}) : s;
    if (subnormal${bits}(n / d))
        return s == n ? scaled${bits}(s, ${power}) : s;
    return exponent${bits}(n) <= ${tiny} ? scaled${bits}(s, ${power}) : s;
}

% endfor
/* a*b + c rounded twice: no instruction, but what a test puts in its place */
static inline float apart32(const float a, const float b, const float c)
{
    const float p = a * b;
    return p + c;
}

static inline double apart64(const double a, const double b, const double c)
{
    const double p = a * b;
    return p + c;
}

/* (a*b + c) 2^n, rounded once: where scaling meets a tie, the error of the sum decides */
static inline double quotient64(const double a, const double b, const double c, const uint scale)
{
    const double r = FMA64(a, b, c);
    if (!scale)
        return r;
    const int n = exponent64(c) > 1023 ? 128 : -128;
    const double y = scaled64(r, n);
    const double back = scaled64(y, -n);
    if (n > 0 || r != r || back == r || !isfinite(r))
        return y;
    /* Boldo and Muller 2005: r + e = a*b + c */
    const double u = a * b, v = FMA64(a, b, -u);
    const double s = c + v, t = s - c, low = (c - (s - t)) + (v - t);
    const double g = u + s, h = g - u, rest = (u - (g - h)) + (s - h);
    const double e = ((g - r) + rest) + low;
    const double other = as_double(as_ulong(y) + (fabs(back) < fabs(r) ? 1 : -1));
    const int tie = fabs(r - back) == fabs(scaled64(other, -n) - r);
    if (!tie || e == 0.0)
        return y;
    /* exactly between two by r alone: the one towards which e points */
    const double upper = fabs(y) > fabs(other) ? y : other, lower = fabs(y) > fabs(other) ? other : y;
    return (e > 0.0) == (r > 0.0) ? upper : lower;
}

static inline float quotient32(const float a, const float b, const float c, const uint scale)
{
    const float r = FMA32(a, b, c);
    if (!scale)
        return r;
    const int n = exponent32(c) > 127 ? 64 : -64;
    if (n > 0 || !isfinite(r))
        return scaled32(r, n);
    /* a*b is exact in a double; the sum is rounded to odd, so that the last rounding is right */
    const double p = (double)a * (double)b, s = p + (double)c;
    const double t = s - p, e = (p - (s - t)) + ((double)c - t);
    ulong bits = as_ulong(s);
    if (e != 0.0 && !(bits & 1))
        bits += (e > 0.0) == (s > 0.0) ? 1 : -1;
    return (float)scaled64(as_double(bits), n);
}

% for bits, word, uword, far, quiet, nan, infinity, sign in FIXED:
/* v_div_fixup: q is the quotient of n and d, or what their special values make of it */
static inline ${word} fixed${bits}(const ${word} q, const ${word} d, const ${word} n)
{
    const ${uword} negative = (as_${uword}(d) ^ as_${uword}(n)) & ${sign};
    if (n != n)
        return as_${word}(as_${uword}(n) | ${quiet});
    if (d != d)
        return as_${word}(as_${uword}(d) | ${quiet});
    if ((n == 0 && d == 0) || (isinf(n) && isinf(d)))
        return as_${word}(${nan});
    if (d == 0 || isinf(n))
        return as_${word}(negative | ${infinity});
    if (isinf(d) || n == 0 || exponent${bits}(n) - exponent${bits}(d) < -${far})
        return as_${word}(negative);
    if (q != q) /* the steps before overflowed */
        return as_${word}(negative | ${infinity});
    return as_${word}(negative | (as_${uword}(q) & ~${sign}));
}

% endfor
% for bits, word, uword, quiet in ((32, "float", "uint", 22), (64, "double", "ulong", 51)):
/* v_cmp_class: which of ten classes x is */
static inline uint class${bits}(const ${word} x)
{
    const uint negative = (uint)(as_${uword}(x) >> ${bits - 1});
    if (x != x)
        return as_${uword}(x) >> ${quiet} & 1 ? 2 : 1;
    if (isinf(x))
        return negative ? 4 : 512;
    if (x == 0)
        return negative ? 32 : 64;
    if (subnormal${bits}(x))
        return negative ? 16 : 128;
    return negative ? 8 : 256;
}

% endfor
</%def>
