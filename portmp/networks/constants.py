"""Constants of functions to any number of bits, by integers, and their words.

Real numbers are integers scaled by 2^BITS, right to a few units of the last of these bits. Nothing
here depends on a library or on a machine's floating point, so tables are the same everywhere.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial, isqrt

BITS = 1728
"""Bits after the point: enough for the reduction of the largest float64 modulo pi."""
GUARD = 64
ONE = 1 << BITS

PRECISION = {"float32": 24, "float64": 53}
"""Significand bits of a word."""


def real(numerator: int, denominator: int = 1) -> int:
    """A rational number."""
    return (numerator << BITS) // denominator


def times(a: int, b: int) -> int:
    """The product."""
    return (a * b) >> BITS


def over(a: int, b: int) -> int:
    """The quotient."""
    return (a << BITS) // b


def sqrt(a: int) -> int:
    """The square root."""
    return isqrt(a << BITS)


def fraction(a: int) -> Fraction:
    """The number as a fraction."""
    return Fraction(a, ONE)


def _odd_terms(power: int, following: Callable[[int], int], sign: int) -> int:
    """x + s x^3/3 + x^5/5 + s x^7/7 ... of a *power* x and what makes x^(k+2) of x^k; s: *sign*."""
    total, k = 0, 1
    while power not in (0, -1):
        total += power // k if k & 2 == 0 else sign * (power // k)
        power = following(power)
        k += 2
    return total


def _of_inverse(n: int, sign: int) -> int:
    """arctan(1/n), or with the sign 1 artanh(1/n), for an integer n > 1, with guard bits."""
    return _odd_terms((1 << (BITS + GUARD)) // n, lambda power: power // (n * n), sign)


@cache
def pi() -> int:
    """Machin's formula."""
    return (16 * _of_inverse(5, -1) - 4 * _of_inverse(239, -1)) >> GUARD


@cache
def exp(a: int) -> int:
    """The exponential of |a| < 64, by its series at a / 2^32 and 32 squarings."""
    halvings = 32
    more = BITS + GUARD + halvings
    x = a << (GUARD + halvings) >> halvings
    total = term = 1 << more
    k = 1
    while term:
        term = ((term * x) >> more) // k
        total += term
        k += 1
    for _ in range(halvings):
        total = (total * total) >> more
    return total >> (GUARD + halvings)


@cache
def ln2() -> int:
    """18 arctanh(1/26) - 2 arctanh(1/4801) + 8 arctanh(1/8749)."""
    a, b, c = (_of_inverse(n, 1) for n in (26, 4801, 8749))
    return (18 * a - 2 * b + 8 * c) >> GUARD


@cache
def log(a: int) -> int:
    """The natural logarithm of a > 0: of a / 2^e near 1 by arctanh, after eight square roots."""
    e = a.bit_length() - 1 - BITS
    x = a >> e if e >= 0 else a << -e
    roots = 8
    more = GUARD + roots
    y = x << more
    for _ in range(roots):
        y = isqrt(y << (BITS + more))
    one = 1 << (BITS + more)
    w = ((y - one) << (BITS + more)) // (y + one)
    square = (w * w) >> (BITS + more)
    total = _odd_terms(w, lambda power: (power * square) >> (BITS + more), 1)
    return ((total << (roots + 1)) >> more) + e * ln2()


@cache
def sin_cos(a: int) -> tuple[int, int]:
    """Sine and cosine of |a| < 8 by their series."""
    more = BITS + GUARD
    x = a << GUARD
    sums = [0, 0]
    term, k = 1 << more, 0
    while term not in (0, -1):
        sums[k & 1] += term if k & 2 == 0 else -term
        k += 1
        term = ((term * x) >> more) // k
    return sums[1] >> GUARD, sums[0] >> GUARD


@cache
def arctan(a: int) -> int:
    """The arctangent of 0 <= a <= 1, after six halvings of the angle."""
    more = GUARD
    one = 1 << (BITS + more)
    x = a << more
    for _ in range(6):
        root = isqrt((one * one) + x * x)
        x = (x << (BITS + more)) // (one + root)
    square = (x * x) >> (BITS + more)
    return (_odd_terms(x, lambda power: (power * square) >> (BITS + more), -1) << 6) >> more


def bernoulli(n: int) -> Fraction:
    """The Bernoulli number of an even index from 2 to twice ``_CORRECTED``."""
    return _bernoulli_numbers()[n]


@cache
def _bernoulli_numbers() -> tuple[Fraction, ...]:
    """By Akiyama and Tanigawa's triangle."""
    found: list[Fraction] = []
    row: list[Fraction] = []
    for m in range(2 * _CORRECTED + 1):
        row.append(Fraction(1, m + 1))
        for j in range(m, 0, -1):
            row[j - 1] = j * (row[j - 1] - row[j])
        found.append(row[0])
    return tuple(found)


_SUMMED, _CORRECTED = 50, 60
"""Terms summed, and corrections by Euler and Maclaurin's formula: right to about 330 bits."""


@cache
def zeta_less_one(k: int) -> int:
    """zeta(k) - 1 for an integer k > 1."""
    n = _SUMMED
    total: int = sum(ONE // i**k for i in range(2, n))
    total += real(1, (k - 1) * n ** (k - 1)) + real(1, 2 * n**k)
    rising = k
    for j in range(1, _CORRECTED):
        b = bernoulli(2 * j) * Fraction(rising, factorial(2 * j) * n ** (k + 2 * j - 1))
        total += real(b.numerator, b.denominator)
        rising *= (k + 2 * j - 1) * (k + 2 * j)
    return total


@cache
def euler() -> int:
    """Euler's constant, 0.577 ..., by the first algorithm of Brent and McMillan (1980).

    With n = 320 its error is about e^(-4 n), 2^-1846.
    """
    n = 320
    a, b = -log(real(n)), ONE
    above, below, k = a, b, 0
    while a > 0 or b > 0 or k < n:
        k += 1
        b = b * n * n // (k * k)
        a = (a * n * n // k + b) // k
        above, below = above + a, below + b
    return above * ONE // below


# --- words ----------------------------------------------------------------------------------


def rounded(value: Fraction, bits: int) -> Fraction:
    """The nearest number with so many significand bits, ties to even, whatever its exponent."""
    if not value:
        return value
    numerator, denominator = abs(value.numerator), value.denominator
    shift = bits - numerator.bit_length() + denominator.bit_length()
    for e in (shift, shift - 1):
        scaled = Fraction(numerator, denominator) * Fraction(2) ** e
        whole = round(scaled)
        if whole.bit_length() <= bits or whole == 1 << bits:
            result = whole / Fraction(2) ** e
            return result if value > 0 else -result
    raise AssertionError(value)


def words_of(value: Fraction | int, word: str, count: int) -> tuple[float, ...]:
    """A number as so many words, leading one first; an int is one of this module's reals."""
    rest = Fraction(value, ONE) if isinstance(value, int) else value
    bits, words = PRECISION[word], []
    for _ in range(count):
        nearest = rounded(rest, bits)
        words.append(float(nearest))
        rest -= nearest
    return tuple(words)
