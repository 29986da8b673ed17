"""Networks of the reproduced papers, under names of their own.

``ts2021``: the triple-single paper's, of its GPU and CPU listings, misprints
corrected. ``dd2011`` and ``qd2011``: Mukunoki and Takahashi's double-double and
quad-double, which are the QD library's, with two_prod by FMA or by splitting.
Branches on exact zeros are written as compare-and-select, which gives the same bits.
QD's accurate addition branches on magnitudes and has its own device function
(templates/arithmetic/add4_2011.mako) with a Python twin in portmp.networks.evaluator.
"""

from portmp.networks.expansions import define_all
from portmp.networks.language import NETWORKS, declare, define


def _three_sum(a: str, b: str, c: str) -> str:
    """Replace a, b, c by their sum in three words, two two_sums deep."""
    return f"u1, u2 = two_sum({a}, {b})\n{a}, u3 = two_sum({c}, u1)\n{b}, {c} = two_sum(u2, u3)\n"


# --- triple-single -------------------------------------------------------------------

define_all(
    """
renorm3_2021 c:4 -> 3
source: renormalisation of the triple-single paper (its branches as selects)
bound: none published
t, c3 = fast_two_sum(c[2], c[3])
t, c2 = fast_two_sum(c[1], t)
s0, s1 = fast_two_sum(c[0], t)
b1, b2 = fast_two_sum(s1, c2)
b2b = b2 + c3
d1, d2 = fast_two_sum(b1, c3)
more = nonzero(b2)
p1 = select(more, b1, d1)
p2 = select(more, b2b, d2)
e0, e1 = fast_two_sum(s0, c2)
f1, f2 = fast_two_sum(e1, c3)
g0, g1 = fast_two_sum(e0, c3)
more = nonzero(e1)
q0 = select(more, e0, g0)
q1 = select(more, f1, g1)
q2 = select(more, f2, 0)
full = nonzero(s1)
return select(full, s0, q0), select(full, p1, q1), select(full, p2, q2)
"""
)

_TS_ADD = """
s0, t0 = two_sum(x[0], y[0])
s1, t1 = two_sum(x[1], y[1])
s2, t2 = two_sum(x[2], y[2])
s1, t0 = two_sum(s1, t0)
""" + _three_sum("s2", "t0", "t1")
define_all(
    f"""
add3_2021 x:3 y:3 -> 3
source: triple-single paper, figure 15 (GPU)
bound: unbounded on cancellation; 1u^3 for one sign (measured)
{_TS_ADD}t0 = t0 + (t1 + t2)
return renorm3_2021((s0, s1, s2, t0))

add3_2021_cpu x:3 y:3 -> 3
source: triple-single paper, figure 8 (CPU)
bound: unbounded on cancellation; 1u^3 for one sign (measured)
{_TS_ADD}t0 = t2 + t0
t0 = t0 + t1
return renorm3_2021((s0, s1, s2, t0))
"""
)
_TS_MUL = (
    """
p0, q0 = two_prod(x[0], y[0])
p1, q1 = two_prod(x[0], y[1])
p2, q2 = two_prod(x[1], y[0])
"""
    + _three_sum("p1", "p2", "q0")
    + _three_sum("p2", "q1", "q2")
)
define_all(
    f"""
mul3_2021 x:3 y:3 -> 3
source: triple-single paper, figure 17 (GPU), first product corrected
bound: 5.25u^3 (measured)
{_TS_MUL}
r = q0 + (q1 + q2)
r = fma(x[1], y[1], r)
r = fma(x[2], y[0], r)
r = fma(x[0], y[2], r)
return renorm3_2021((p0, p1, p2, r))

mul3_2021_cpu x:3 y:3 -> 3
source: triple-single paper, figure 10 (CPU)
bound: 6.8u^3 (measured)
{_TS_MUL}
r = x[0] * y[2]
m = x[2] * y[0]
r = r + m
m = x[1] * y[1]
r = ((((r + m) + q0) + q1) + q2)
return renorm3_2021((p0, p1, p2, r))
"""
)

# --- double-double and quad-double ------------------------------------------------------

define_all(
    f"""
two_prod_split a:word b:word -> 2
source: Veltkamp's splitting and Dekker's product, 1971 (binary64)
bound: exact for |a|, |b| < 2^996
p = a * b
t = 134217729.0 * a
h = t - a
ah = t - h
al = a - ah
t = 134217729.0 * b
h = t - b
bh = t - h
bl = b - bh
q = ah * bh
e = q - p
q = ah * bl
e = e + q
q = al * bh
e = e + q
q = al * bl
e = e + q
return p, e

mul2_2011_split x:2 y:2 -> 2
source: HPCS2011's double-double without FMA
bound: 7u^2 (proved)
{NETWORKS["mul2"].listing.replace("two_prod", "two_prod_split")}
"""
)


_QD_ADD_ERROR = """
a, b = fast_two_sum(top, {error})
more = nonzero(b)
e = select(more, a, 0)
top = select(more, b, a)
"""
_QD_FLAGS = "f0 = nonzero(s0)\nf1 = nonzero(s1)\n"
_QD_DOWN = (
    """
f0 = nonzero(c1)
s0 = select(f0, top, 0)
top = select(f0, c1, top)
"""
    + _QD_ADD_ERROR.format(error="c2")
    + """
s1 = select(f0, e, 0)
s0 = select(f0, s0, e)
"""
    + _QD_FLAGS
    + _QD_ADD_ERROR.format(error="c3")
    + """
s2 = select(f1, e, 0)
s1 = select(f1, s1, select(f0, e, 0))
s0 = select(f0, s0, e)
"""
)
_QD_DOWN_FIFTH = (
    _QD_FLAGS
    + "f2 = nonzero(s2)\n"
    + _QD_ADD_ERROR.format(error="c4")
    + """
top = select(f2, a, top)
s2 = select(f2, s2, select(f1, e, 0))
s1 = select(f1, s1, select(f0, e, 0))
s0 = select(f0, s0, e)
"""
)


def _renorm_qd(terms: int) -> str:
    """QD's renormalisation of *terms* words to four, its branches as selects.

    QD first adds the words from the last upwards, keeping the errors c1, c2 ... Then it
    adds the errors to the lowest word so far, ``top``, one by one; whenever that is
    inexact, the sum is finished (e; s0, s1, s2 in turn) and its error is the new top.
    Finished words are never zero and unfinished ones are, so ``nonzero`` tells them
    apart. A fourth word is not finished: the last error of five is just added to it.
    QD returns at once if c0 is infinite; that is left to the guard of special values.
    """
    lines = [f"c{i} = c[{i}]" for i in range(terms)]
    lines.append(f"top = c{terms - 1}")
    lines += [f"top, c{i + 1} = fast_two_sum(c{i}, top)" for i in reversed(range(terms - 1))]
    down = _QD_DOWN + (_QD_DOWN_FIFTH if terms == 5 else "")
    returned = """
f2 = nonzero(s2)
s3 = select(f2, top, 0)
s2 = select(f2, s2, select(f1, top, 0))
s1 = select(f1, s1, select(f0, top, 0))
return select(f0, s0, top), s1, s2, s3
"""
    return "\n".join(lines) + down + _QD_FLAGS + returned


for _terms in (4, 5):
    define_all(
        f"""
renorm{_terms}_2011 c:{_terms} -> 4
source: QD's renormalisation (its branches as selects)
bound: none published
{_renorm_qd(_terms)}
"""
    )


def _qd_mul(two_prod: str) -> str:
    places = [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0), (0, 3), (1, 2), (2, 1), (3, 0)]
    products = [f"p{n}, q{n} = {two_prod}(x[{i}], y[{j}])" for n, (i, j) in enumerate(places)]
    early, late = ("\n".join(some) for some in (products[:6], products[6:]))
    return f"""
{early}
{_three_sum("p1", "p2", "q0")}
{_three_sum("p2", "q1", "q2")}
{_three_sum("p3", "p4", "p5")}
s0, t0 = two_sum(p2, p3)
s1, t1 = two_sum(q1, p4)
s2 = q2 + p5
s1, t0 = two_sum(s1, t0)
s2 = s2 + (t0 + t1)
{late}
q0, q3 = two_sum(q0, q3)
q4, q5 = two_sum(q4, q5)
p6, p7 = two_sum(p6, p7)
p8, p9 = two_sum(p8, p9)
t0, t1 = two_sum(q0, q4)
t1 = t1 + (q3 + q5)
r0, r1 = two_sum(p6, p8)
r1 = r1 + (p7 + p9)
q3, q4 = two_sum(t0, r0)
q4 = q4 + (t1 + r1)
t0, t1 = two_sum(q3, s1)
t1 = t1 + q4
m1 = x[1] * y[3]
m2 = x[2] * y[2]
m3 = x[3] * y[1]
w = (m1 + m2) + m3
w = ((((w + q6) + q7) + q8) + q9) + s2
t1 = t1 + w
return renorm5_2011((p0, p1, s0, t0, t1))
"""


for _tail, _with in (("", "with"), ("_split", "without")):
    define_all(
        f"""
mul4_2011{_tail} x:4 y:4 -> 4
source: QD's accurate_mul {_with} FMA
bound: 0.5u^4 (measured)
{_qd_mul(f"two_prod{_tail}")}
"""
    )
define_all(
    f"""
add4_2011_sloppy x:4 y:4 -> 4
source: QD's sloppy_add
bound: unbounded on cancellation
s0, t0 = two_sum(x[0], y[0])
s1, t1 = two_sum(x[1], y[1])
s2, t2 = two_sum(x[2], y[2])
s3, t3 = two_sum(x[3], y[3])
s1, t0 = two_sum(s1, t0)
{_three_sum("s2", "t0", "t1")}
u1, u2 = two_sum(s3, t0)
s3, u3 = two_sum(t2, u1)
t0 = u2 + u3
t0 = (t0 + t1) + t3
return renorm5_2011((s0, s1, s2, s3, t0))
"""
)

# --- textbook accumulation: acc = add(mul(a, b), acc) --------------------------------

declare(
    "add4_2011",
    "x:4 y:4 -> 4",
    "add4_2011.mako",
    source="QD's ieee_add: merges the limbs by magnitude",
    bound="unbounded on cancellation (measured)",
    needs=("two_sum", "fast_two_sum", "renorm4_2011"),
)

for _n, _suffix, _add, _mul in (
    (3, "_2021", "add3_2021", "mul3_2021"),
    (3, "_2021_cpu", "add3_2021_cpu", "mul3_2021_cpu"),
    (2, "_2011", "add2_jmp6", "mul2"),
    (2, "_2011_split", "add2_jmp6", "mul2_2011_split"),
    (4, "_2011", "add4_2011", "mul4_2011"),
    (4, "_2011_split", "add4_2011", "mul4_2011_split"),
):
    define_all(
        f"""
accumulate{_n}{_suffix} s:{_n} x:{_n} y:{_n} -> {_n}
source: one product and one addition a step
bound: textbook
return {_add}({_mul}(x, y), s)
"""
    )
for _n in (2, 3, 4, 5):
    define(f"keep{_n}", f"s:{_n} -> {_n}", "return s", source="-", bound="exact")
