"""All networks: the arithmetic of every format, with sources and bounds.

The fixed floating-point accumulation networks (FPANs) are those of Zhang and Aiken
(CAV 2025; SC 2025) as in MultiFloats.jl; accumulators keep one word more than the
format and are normalised at the end. ``u`` is the unit roundoff of the word.
"""

import re

from portmp.networks.language import NETWORKS, define

_GATES = {"TS": "two_sum", "QS": "fast_two_sum"}
_GATE_LINES = ("TS ", "QS ", "AD ")


def wires(text: str) -> str:
    """Expand a gate list such as ``TS a b; QS a c; AD b d`` into a listing.

    Each gate replaces its wires: TS is two_sum, QS fast_two_sum, AD an addition that
    drops its second wire.
    """
    lines = []
    for gate in text.replace("\n", " ").split(";"):
        if not gate.strip():
            continue
        op, i, j = gate.split()
        if op == "AD":
            lines.append(f"{i} = {i} + {j}")
        else:
            lines.append(f"{i}, {j} = {_GATES[op]}({i}, {j})")
    return "\n".join(lines) + "\n"


_HEAD = re.compile(r"(\w+) (.+ -> \S+)")


def define_all(text: str) -> None:
    """Add networks: each one's name and signature, its source, its bound, then its listing.

    Lines of gates are as ``wires`` takes them; empty lines count for nothing.
    """
    found: list[list[str]] = []
    for line in filter(None, text.splitlines()):
        if _HEAD.fullmatch(line):
            found.append([])
        found[-1].append(wires(line).strip() if line[:3] in _GATE_LINES else line)
    for head, source, bound, *listing in found:
        name, _, signature = head.partition(" ")
        told = source.removeprefix("source: "), bound.removeprefix("bound: ")
        define(name, signature, "\n".join(listing), source=told[0], bound=told[1])


def _unpack(**values: int) -> str:
    """Name the limbs of inputs: x0, x1 ... for x."""
    return "".join(f"{v}{i} = {v}[{i}]\n" for v, n in values.items() for i in range(n))


def _products(*pairs: str) -> str:
    """Products of limbs with their errors: p01 and e01 of x[0] and y[1] for ``01``."""
    return "".join(f"p{ij}, e{ij} = two_prod(x[{ij[0]}], y[{ij[1]}])\n" for ij in pairs)


def _added(error: str, words: str) -> str:
    """Add words to s one after another, the first one's error in h1, the next one's in h2 ..."""
    each = enumerate(words.split(), start=1)
    return "".join(f"s, {error}{n} = two_sum(s, {word})\n" for n, word in each)


def _scaled_quotient(n: int) -> str:
    """x / y by ``quotient{n}`` of x from 2 up to 4 and y from 1 up to 2, scaled back."""
    x, y = (", ".join(f"{v}[{i}] * {by}" for i in range(n)) for v, by in (("x", "s"), ("y", "t")))
    return f"""
s = scale(x[0])
t = scale(y[0])
back = 0.5 * scale(s)
back = back * t
s = s + s
q = quotient{n}(({x}), ({y}))
return {", ".join(f"q[{i}] * back" for i in range(n))}
"""


def _scaled_root(n: int) -> str:
    """sqrt(x) by ``refined_root{n}`` of x and its leading limb's root, scaled to 1 up to 4."""
    x = ", ".join(f"(x[{i}] * s) * s" for i in range(n))
    return f"""
g = sqrt(x[0])
s = scale(g)
r = refined_root{n}(({x}), g * s)
t = scale(s)
return {", ".join(f"r[{i}] * t" for i in range(n))}
"""


# --- one limb -----------------------------------------------------------------------

_IEEE = {"source": "IEEE 754", "bound": "u/(1+u), correctly rounded"}
define("add1", "x:word y:word -> word", "return x + y", **_IEEE)
define("mul1", "x:word y:word -> word", "return x * y", **_IEEE)
define("div1", "x:word y:word -> word", "return x / y", **_IEEE)
define("sqrt1", "x:word -> word", "return sqrt(x)", **_IEEE)
define("keep1", "s:word -> word", "return s", source="-", bound="exact")
define("accumulate1", "s:word x:word y:word -> word", "return fma(x, y, s)", **_IEEE)

# --- two limbs ----------------------------------------------------------------------

define_all(
    """
add2 x:2 y:2 -> 2
source: FPAN addition, Zhang and Aiken, CAV 2025
bound: 6u^2 (proved; 2u^2 for strictly normalised operands), 1.5u^2 (measured)
x0, y0 = two_sum(x[0], y[0])
x1, y1 = two_sum(x[1], y[1])
x0, x1 = fast_two_sum(x0, x1)
y0 = y0 + y1
y0 = y0 + x1
x0, y0 = fast_two_sum(x0, y0)
return x0, y0

add2_jmp6 x:2 y:2 -> 2
source: AccurateDWPlusDW, Joldes, Muller and Popescu, TOMS 2017, algorithm 6 (QD's ieee_add)
bound: 3u^2 + 13u^3 (proved)
s, e = two_sum(x[0], y[0])
t, f = two_sum(x[1], y[1])
e = e + t
s, e = fast_two_sum(s, e)
e = e + f
s, e = fast_two_sum(s, e)
return s, e

add2_word x:2 y:word -> 2
source: DWPlusFP, Joldes, Muller and Popescu, algorithm 4
bound: 2u^2 (proved)
s, e = two_sum(x[0], y)
v = x[1] + e
s, v = fast_two_sum(s, v)
return s, v

mul2 x:2 y:2 -> 2
source: FPAN multiplication, Zhang and Aiken; Joldes, Muller and Popescu, algorithm 10
bound: 7u^2 (proved), 5u^2 (measured)
p, e = two_prod(x[0], y[0])
c = x[0] * y[1]
d = x[1] * y[0]
c = c + d
e = e + c
p, e = fast_two_sum(p, e)
return p, e

mul2_jmp12 x:2 y:2 -> 2
source: DWTimesDW3, Joldes, Muller and Popescu, algorithm 12
bound: 4u^2 (proved)
p, e = two_prod(x[0], y[0])
t = x[1] * y[1]
t = fma(x[0], y[1], t)
t = fma(x[1], y[0], t)
e = e + t
p, e = fast_two_sum(p, e)
return p, e

mul2_word x:2 y:word -> 2
source: DWTimesFP3, Joldes, Muller and Popescu, algorithm 9
bound: 2u^2 (proved)
p, e = two_prod(x[0], y)
e = fma(x[1], y, e)
p, e = fast_two_sum(p, e)
return p, e

quotient2 x:2 y:2 -> 2
source: DWDivDW2, Joldes, Muller and Popescu, algorithm 17
bound: 15u^2 + 56u^3 (proved), 9u^2 (measured)
t = x[0] / y[0]
r = mul2_word(y, t)
p = x[0] - r[0]
d = x[1] - r[1]
d = p + d
c = d / y[0]
t, c = fast_two_sum(t, c)
return t, c

refined_root2 x:2 g:word -> 2
source: SQRTDWtoDW, Lefevre, Louvet, Muller, Picot and Rideau, TOMS 2023
bound: 25/8 u^2 (proved)
r = fma(-g, g, x[0])
r = x[1] + r
l = r / (g + g)
s, l = fast_two_sum(g, l)
return s, l

reciprocal2 y:2 -> 2
source: Newton step of second order from one division
bound: a start value
v = 1 / y[0]
r = fma(-y[0], v, 1)
r = fma(-y[1], v, r)
l = r * v
l = fma(r, l, l)
v, l = fast_two_sum(v, l)
return v, l
"""
)
_RECIPROCAL = """
v = 1 / y[0]
r = fma(-y[0], v, 1)
r = fma(-y[1], v, r)
w = r * v
"""
define_all(
    """
rsqrt_word x:word -> word
source: one residual step of third order on 1/sqrt(x), free of overflow and underflow
bound: correctly rounded for every positive float32 (exhaustive); no float64 found that is not
y = 1 / sqrt(x)
h, f = two_prod(x, y)
r = fma(-h, y, 1)
r = fma(-f, y, r)
c = 0.75 * r
r = fma(c, r, r)
h = 0.5 * y
return fma(h, r, y)

rsqrt2 x:2 y:word -> 2
source: one residual step of third order from the seed y of x0^-1/2
bound: 9u^2 (proved, seed within 1.05u), 4u^2 (measured)
p, e = two_prod(y, y)
q, f = two_prod(x[0], p)
r = 1 - q
r = r - f
r = fma(-x[0], e, r)
r = fma(-x[1], p, r)
h = 0.5 * y
l = h * r
c = 0.75 * r
l = fma(c, l, l)
z, l = fast_two_sum(y, l)
return z, l
"""
)

# --- three limbs --------------------------------------------------------------------

define_all(
    f"""
add3 x:3 y:3 -> 3
source: FPAN addition, MultiFloats.jl v3
bound: 16u^3 (proved), 2u^3 (measured)
{_unpack(x=3, y=3)}
TS x0 y0; TS x1 y1; TS x2 y2; QS x0 x1; AD y0 y2; TS y1 x2; QS x0 y1; TS y0 x1;
AD x1 x2; TS x1 y1; TS y0 x1; QS x0 y0; AD x1 y1; QS y0 x1; QS x0 y0; QS y0 x1
return x0, y0, x1

add3_word x:3 y:word -> 3
source: two_sum cascade
bound: 8u^3 (proved), 2u^3 (measured)
a, e = two_sum(x[0], y)
b, f = two_sum(x[1], e)
c = x[2] + f
QS a b; TS b c; QS a b; QS b c
return a, b, c

mul3 x:3 y:3 -> 3
source: the order of Zhang and Aiken's FPAN, with one fma and errors paired
bound: 23u^3 (proved), 9u^3 (measured)
{_products("00", "01", "10")}
p02 = x[0] * y[2]
p20 = x[2] * y[0]
c = p02 + p20
d = fma(x[1], y[1], e01 + e10)
p01, f1 = two_sum(p01, p10)
e00, f2 = two_sum(e00, p01)
p00, e00 = fast_two_sum(p00, e00)
h = (c + d) + (f1 + f2)
TS e00 h; QS p00 e00; QS e00 h; QS p00 e00
return p00, e00, h

mul3_word x:3 y:word -> 3
source: products of the limbs with fast renormalisation
bound: 3u^3 (proved)
a, e0 = two_prod(x[0], y)
p1, e1 = two_prod(x[1], y)
c = fma(x[2], y, e1)
b, t = two_sum(e0, p1)
c = c + t
QS a b; QS b c; QS a b; QS b c
return a, b, c
"""
)


def _multiples(digit: int, limbs: int) -> str:
    """A digit of a quotient times the divisor's limbs."""
    pairs = (f"{digit}{j}, e{digit}{j} = two_prod(q{digit}, y[{j}])\n" for j in range(limbs))
    return "".join(f"p{pair}" for pair in pairs)


def _two_digits(limbs: int) -> str:
    """Two digits q0, q1 of x / y, what is left of x in s and g1 to g8, and 1 / y in v and w."""
    return f"""{_RECIPROCAL}
q0 = x[0] * v
{_multiples(0, limbs)}
s = x[0] - p00
{_added("f", "x[1] -e00 -p01")}
q1 = s * v
{_multiples(1, limbs - 1)}
s = s - p10
{_added("g", "f1 f2 f3 x[2] -e01 -p02 -e10 -p11")}
"""


_TAIL3 = wires("TS c d; TS q1 c; QS q0 q1; QS q1 c; AD c d")
define_all(
    f"""
quotient3 x:3 y:3 -> 3
source: long division: two digits, and the rest by a reciprocal of two limbs
bound: 1.01u^3 (proved)
{_two_digits(3)}
l = ((g1 + g2) + (g3 + g4)) + ((g5 + g6) + (g7 + g8))
l = (l - e02) - e11
l = fma(-q1, y[2], l)
c, d = two_prod(s, v)
d = fma(s, w, d)
d = fma(l, v, d)
{_TAIL3}
QS q1 c; QS q0 q1; QS q1 c
return q0, q1, c

rsqrt3 x:3 seed:word -> 3
source: two-limb reciprocal square root, one residual step
bound: 51u^3 (proved, seed within 1.05u), 8.8u^3 (measured)
v = rsqrt2((x[0], x[1]), seed)
s = mul3((v[0], v[1], 0), (v[0], v[1], 0))
r = add3_word(-mul3(x, s), 1)
h = 0.5 * v[0]
c = h * r[0]
v0 = v[0]
v1 = v[1]
v1, c = two_sum(v1, c)
v0, v1 = fast_two_sum(v0, v1)
v1, c = fast_two_sum(v1, c)
return v0, v1, c
"""
)
_ROOT = f"""
t = g0 + g0
h = 1 / t
s = fma(-g0, g0, x[0])
s, f1 = two_sum(s, x[1])
g1 = s * h
p, e = two_prod(t, g1)
q, b = two_prod(g1, g1)
s = s - p
{_added("k", "f1 x[2] -e -q")}
r = fma(-t, h, 1)
o = g1 + g1
r = fma(-o, h, r)
w = r * h
"""
define_all(
    f"""
refined_root3 x:3 g0:word -> 3
source: two digits, and the rest by a reciprocal of two limbs
bound: 1.01u^3 (proved), 1u^3 (measured)
{_ROOT}
l = ((k1 + k2) + (k3 + k4)) - b
c, d = two_prod(s, h)
d = fma(s, w, d)
d = fma(l, h, d)
a = g0
{_TAIL3.replace("q0", "a").replace("q", "g")}
QS g1 c; QS a g1; QS g1 c
return a, g1, c
"""
)

# --- four limbs ---------------------------------------------------------------------

define_all(
    f"""
add4 x:4 y:4 -> 4
source: FPAN addition, MultiFloats.jl v3, with an end for every weakly normalised operand
bound: 16u^4 (proved), 2u^4 (measured)
{_unpack(x=4, y=4)}
TS x0 y0; TS x1 y1; TS x2 y2; TS x3 y3; QS x0 x1; AD y0 y3; TS y1 x2; TS y2 x3;
TS y0 x3; QS x1 y1; TS x2 y2; QS x0 x1; QS y1 x2; TS y0 y1; QS x1 x3; AD x2 y2;
TS y0 x1; TS y1 x2; QS x0 y0; TS x1 y1; AD x2 x3; TS y0 x1; TS y1 x2; QS x0 y0;
QS x1 y1; QS y0 x1; AD y1 x2; QS x0 y0; QS x1 y1; QS y0 x1; QS x0 y0; QS y0 x1;
QS x1 y1; QS y0 x1; QS x1 y1
return x0, y0, x1, y1

add4_word x:4 y:word -> 4
source: two_sum cascade
bound: 8u^4 (proved), 2u^4 (measured)
a, e = two_sum(x[0], y)
b, f = two_sum(x[1], e)
c, g = two_sum(x[2], f)
d = x[3] + g
QS a b; TS b c; TS c d; QS a b; TS b c; QS c d; QS a b; QS b c; QS c d; QS b c;
QS c d
return a, b, c, d

mul4 x:4 y:4 -> 4
source: FPAN multiplication, MultiFloats.jl v3
bound: 50u^4 (proved), 17.2u^4 (measured)
{_products("00", "01", "10", "02", "11", "20")}
p03 = x[0] * y[3]
p12 = x[1] * y[2]
p21 = x[2] * y[1]
p30 = x[3] * y[0]
TS p01 p10; TS e01 e10; TS p02 p20; AD e02 e20; AD p03 p30; AD p12 p21; TS e00 p01;
TS e01 p11; AD e10 e02; AD p20 e11; AD p03 p12; QS p00 e00; QS p01 p10; TS e01 p02;
AD e10 p03; AD p11 p20; TS p01 e01; AD p10 p11; AD e10 p02; AD p10 e01; TS p01 p10;
TS e00 p01; AD p10 e10; QS p00 e00; TS p01 p10; TS e00 p01; QS p00 e00; QS p01 p10;
QS e00 p01; QS p00 e00; QS p01 p10; QS e00 p01; QS p01 p10
return p00, e00, p01, p10

mul4_word x:4 y:word -> 4
source: products of the limbs with fast renormalisation
bound: 5u^4 (proved), 3.7u^4 (measured)
a, e0 = two_prod(x[0], y)
p1, e1 = two_prod(x[1], y)
p2, e2 = two_prod(x[2], y)
d = fma(x[3], y, e2)
b, t = two_sum(e0, p1)
c, t2 = two_sum(e1, p2)
c, t3 = two_sum(c, t)
d = d + (t2 + t3)
QS a b; QS c d; QS b c; QS a b; QS c d; QS b c; QS c d
return a, b, c, d
"""
)
_TAIL4 = """
g1, k = two_sum(g[1], c[0])
k, d = two_sum(k, c[1])
g0 = g[0]
""" + wires("""QS g0 g1; QS g1 k; QS k d; QS g0 g1; QS g1 k; QS k d; QS g1 k; QS k d""")
_ORDERED4 = wires("""TS c d; TS q2 c; TS q1 q2; QS q0 q1; TS c d; TS q2 c; TS q1 q2; QS q0 q1;
                     QS q1 q2; QS q2 c; AD c d; QS q1 q2; TS q2 c; QS q1 q2; QS q0 q1; QS q1 q2;
                     QS q2 c""")
define_all(
    f"""
quotient4 x:4 y:4 -> 4
source: long division: three digits, and the rest by a reciprocal of two limbs
bound: 1.02u^4 (proved)
{_two_digits(4)}
q2 = s * v
{_multiples(2, 2)}
s = s - p20
{_added("h", "g1 g2 g3 g4 g5 g6 g7 g8 x[3]")}
{_added("i", "-e02 -p03 -e11 -p12 -e20 -p21")}
l = ((h1 + h2) + (h3 + h4)) + ((h5 + h6) + (h7 + h8))
l = l + (((h9 + i1) + (i2 + i3)) + ((i4 + i5) + i6))
l = ((l - e03) - e12) - e21
l = fma(-q1, y[3], l)
l = fma(-q2, y[2], l)
c, d = two_prod(s, v)
d = fma(s, w, d)
d = fma(l, v, d)
{_ORDERED4}
return q0, q1, q2, c

rsqrt4 x:4 seed:word -> 4
source: two-limb reciprocal square root, one two-limb residual step
bound: 350u^4 (proved, seed within 1.05u), 38.5u^4 (measured)
g = rsqrt2((x[0], x[1]), seed)
s = mul4((g[0], g[1], 0, 0), (g[0], g[1], 0, 0))
r = add4_word(-mul4(x, s), 1)
h0 = 0.5 * g[0]
h1 = 0.5 * g[1]
c = mul2((r[0], r[1]), (h0, h1))
{_TAIL4}
return g0, g1, k, d

refined_root4 x:4 g0:word -> 4
source: three digits, and the rest by a reciprocal of two limbs
bound: 1.01u^4 (proved), 0.8u^4 (measured)
{_ROOT}
g2 = s * h
p2, e2 = two_prod(t, g2)
p3, b3 = two_prod(o, g2)
s = s - p2
{_added("l", "k1 k2 k3 k4 x[3] -b -e2 -p3")}
l = (((l1 + l2) + (l3 + l4)) + ((l5 + l6) + (l7 + l8))) - b3
l = fma(-g2, g2, l)
c, d = two_prod(s, h)
d = fma(s, w, d)
d = fma(l, h, d)
a = g0
{_ORDERED4.replace("q0", "a").replace("q", "g")}
return a, g1, g2, c
"""
)

# --- quotients and roots of scaled operands -------------------------------------------

for _n in (2, 3, 4):
    for _name, _inner, _signature, _listing, _of in (
        ("div", "quotient", "x:{n} y:{n} -> {n}", _scaled_quotient, "scaled operands"),
        ("sqrt", "refined_root", "x:{n} -> {n}", _scaled_root, "a scaled operand"),
    ):
        _network = NETWORKS[f"{_inner}{_n}"]
        define(
            f"{_name}{_n}",
            _signature.format(n=_n),
            _listing(_n),
            source=f"{_network.source}, on {_of}" if _n == 2 else f"{_network.name} of {_of}",
            bound=_network.bound,
        )

# --- multiply-accumulate, normalised once (NUMERICS: F2P, F4c, F5c) -------------------

define_all(
    """
accumulate2 s:+3 x:2 y:2 -> +3
source: F2P: three running words, 18 instructions
bound: 1.001u^2 sum|S_i| + 9.001u^2 T (proved)
p, e = two_prod(x[0], y[0])
e = fma(x[0], y[1], e)
e = fma(x[1], y[0], e)
a, t = two_sum(s[0], p)
v = t + e
b, w = two_sum(s[1], v)
c = s[2] + w
return a, b, c
"""
)
_PRODUCTS3 = _products("00", "01", "10")
_PARTIAL3 = """
p01, f1 = two_sum(p01, p10)
m, f2 = two_sum(e00, p01)
"""
_ADDED3 = """
a, t = two_sum(s[0], p00)
b, t1 = two_sum(s[1], m)
b, t2 = two_sum(b, t)
"""
define_all(
    f"""
accumulate3 s:+4 x:3 y:3 -> +4
source: four running words, 64 instructions
bound: 24u^3 T (proved), 9u^3 T (measured)
{_PRODUCTS3}
d = fma(x[1], y[1], e01 + e10)
r = x[0] * y[2]
r = fma(x[2], y[0], r)
{_PARTIAL3}
v = (r + d) + (f1 + f2)
{_ADDED3}
c, w1 = two_sum(s[2], v)
c, w2 = two_sum(c, t1)
c, w3 = two_sum(c, t2)
d = s[3] + ((w1 + w2) + w3)
return a, b, c, d
"""
)
_PRODUCTS4 = _products("00", "01", "10", "02", "20", "11")
_PARTIAL4 = """
r = fma(x[3], y[0], r)
r = fma(x[1], y[2], r)
r = fma(x[2], y[1], r)
m1, f1 = two_sum(p01, p10)
m1, f2 = two_sum(m1, e00)
m2, g0 = two_sum(p02, p20)
m2, g1 = two_sum(m2, p11)
n, g2 = two_sum(e01, e10)
h, g3 = two_sum(f1, f2)
n, g4 = two_sum(n, h)
m2, g5 = two_sum(m2, n)
"""
_ADDED4 = """
a, t = two_sum(s[0], p00)
b, a1 = two_sum(s[1], m1)
b, b1 = two_sum(b, t)
c, c1 = two_sum(s[2], m2)
c, c2 = two_sum(c, a1)
c, c3 = two_sum(c, b1)
"""
define_all(
    f"""
accumulate4 s:+5 x:4 y:4 -> +5
source: five running words, 137 instructions
bound: 83u^4 T (proved), 17.5u^4 T (measured)
{_PRODUCTS4}
d = (e02 + e20) + e11
r = x[0] * y[3]
{_PARTIAL4}
m3 = (r + d) + (((g0 + g1) + (g2 + g3)) + (g4 + g5))
{_ADDED4}
d, d0 = two_sum(s[3], m3)
d, d1 = two_sum(d, c1)
d, d2 = two_sum(d, c2)
d, d3 = two_sum(d, c3)
e = s[4] + ((d0 + d1) + (d2 + d3))
return a, b, c, d, e
"""
)

# --- the same, faster: no word below the last limb, settled every few steps (F2/K, F3/K) ----

define_all(
    f"""
accumulate2_fast s:+2 x:2 y:2 -> +2
source: F2/K: two running words, 12 instructions
bound: 11.001u^2 sum|S_i| + 29.001u^2 T (proved)
p, e = two_prod(x[0], y[0])
e = fma(x[0], y[1], e)
e = fma(x[1], y[0], e)
a, t = two_sum(s[0], p)
b = s[1] + (t + e)
return a, b

renormalise2_fast s:+2 -> +2
source: F2/K's settling
bound: exact where |s_0| >= |s_1|
a, b = fast_two_sum(s[0], s[1])
return a, b

finish2_fast s:+2 -> 2
source: F2/K's end
bound: exact
a, b = two_sum(s[0], s[1])
return a, b

accumulate3_fast s:+3 x:3 y:3 -> +3
source: F3/K: three running words, 45 instructions
bound: 71u^3 sum|S_i| + 212u^3 T (proved), 41.6u^3 T (measured)
{_PRODUCTS3}
r = fma(x[1], y[1], e01 + e10)
r = fma(x[0], y[2], r)
r = fma(x[2], y[0], r)
{_PARTIAL3}
v = r + (f1 + f2)
{_ADDED3}
c = s[2] + (v + (t1 + t2))
return a, b, c

accumulate4_fast s:+4 x:4 y:4 -> +4
source: F4/K: four running words, 112 instructions
bound: 383u^4 sum|S_i| + 1517u^4 T (proved)
{_PRODUCTS4}
r = (e02 + e20) + e11
r = fma(x[0], y[3], r)
{_PARTIAL4}
m3 = r + (((g0 + g1) + (g2 + g3)) + (g4 + g5))
{_ADDED4}
d = s[3] + ((m3 + c1) + (c2 + c3))
return a, b, c, d
"""
)

# --- the words of a sum settled, and the value they stand for ------------------------

_SWEEP = "one sweep of two_sum up and down"
_UP = {2: "TS b c; TS a b; ", 3: "TS c d; TS b c; TS a b; ", 4: "TS d e; TS c d; TS b c; TS a b; "}
"""Sweeps of two_sum upwards, by limbs."""
for _name, _signature, _gates, _source, _bound in (
    ("renormalise2", "s:+3 -> +3", _UP[2] + "TS b c", _SWEEP, "exact"),
    ("renormalise3", "s:+4 -> +4", _UP[3] + "TS b c; TS c d", _SWEEP, "exact"),
    ("renormalise4", "s:+5 -> +5", _UP[4] + "TS b c; TS c d; TS d e", _SWEEP, "exact"),
    ("renormalise3_fast", "s:+3 -> +3", "TS a b; TS b c", "F3/K's settling", "exact"),
    ("renormalise4_fast", "s:+4 -> +4", "TS a b; TS b c; TS c d", "F4/K's settling", "exact"),
    (
        "finish2",
        "s:+3 -> 2",
        2 * _UP[2] + "AD b c; QS a b",
        "two sweeps of two_sum",
        "u^2|result| (proved)",
    ),
    (
        "finish3",
        "s:+4 -> 3",
        3 * _UP[3] + "AD c d; QS b c; QS a b; QS b c",
        "three sweeps of two_sum",
        "u^3|result| (proved)",
    ),
    (
        "finish4",
        "s:+5 -> 4",
        4 * _UP[4] + "AD d e; QS c d; QS b c; QS c d; QS a b; QS b c; QS c d; QS b c; QS c d",
        "four sweeps of two_sum",
        "2u^4|result| (proved)",
    ),
    ("finish3_fast", "s:+3 -> 3", 2 * _UP[2] + "QS b c; QS a b; QS b c", "F3/K's end", "exact"),
    (
        "finish4_fast",
        "s:+4 -> 4",
        3 * _UP[3] + "QS b c; QS c d; QS b c; QS a b; QS b c; QS c d",
        "F4/K's end: three sweeps",
        "exact",
    ),
):
    _words, _kept = "abcde"[: int(_signature[3])], "abcde"[: int(_signature[-1])]
    _named = "".join(f"{word} = s[{i}]\n" for i, word in enumerate(_words))
    _ended = f"return {', '.join(_kept)}"
    define(_name, _signature, _named + wires(_gates) + _ended, source=_source, bound=_bound)
