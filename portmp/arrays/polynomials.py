"""Polynomials as vectors of coefficients, the highest power's first, by NumPy's names."""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from portmp.arrays import (
    arranging,
    complexes,
    composed,
    creation,
    elementwise,
    manipulation,
    numerics,
    typed,
)
from portmp.arrays.viewed import AnyArray, Viewed, integers
from portmp.errors import ArgumentError, ShapeError

__all__ = ["correlate", "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub"]


def _coefficients(*given: Any, what: str) -> list[AnyArray]:
    """Vectors of one format; numbers are constants."""
    known = next((x for x in given if isinstance(x, Viewed)), None)
    found = []
    for x in given:
        made = manipulation.atleast_1d(numerics.values_beside(x, known))
        if made.ndim != 1:
            raise ShapeError(f"{what}: vectors are needed, shape {made.shape} given")
        found.append(made)
    return found


def _own(x: Any) -> Any:
    """The coefficients of a polynomial that is an object, NumPy's too."""
    return getattr(x, "coeffs", None)


def takes_objects(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of coefficients that takes polynomials as objects, too, and then gives such."""

    @functools.wraps(function)
    def taking(*given: Any, **options: Any) -> Any:
        kind = next((type(x) for x in given if isinstance(_own(x), Viewed)), None)
        found = function(*(x if _own(x) is None else _own(x) for x in given), **options)
        if kind is None:
            return found
        return tuple(map(kind, found)) if isinstance(found, tuple) else kind(found)

    return taking


def _trimmed(p: AnyArray) -> AnyArray:
    """Without leading zeros, but for one. Waits for the device."""
    found: AnyArray = arranging.trim_zeros(p, "f")
    return found if found.size else p[-1:]


@typed.gives(typed.Array)
def poly(roots: Any) -> Any:
    """The coefficients of the polynomial with these roots and 1 for the highest power.

    They are real where roots are, and where complex ones are conjugate in pairs. A wait then. Of a
    square matrix those of its characteristic polynomial are not offered: ``linalg.eigvals``
    gives its roots.
    """
    given = composed.as_values(roots)
    if given.ndim != 1:
        raise ShapeError(
            f"poly: a vector of roots is needed, shape {given.shape} given; linalg.eigvals gives "
            "the roots of a matrix' characteristic polynomial"
        )
    found = creation.ones((1,), given.dtype, given.queue)
    for root in given:
        longer = manipulation.pad(found, (0, 1))
        longer[1:] -= found * root
        found = longer
    if complexes.is_complex(found) and _in_pairs(given):
        return found.real.copy()
    return found


def _in_pairs(x: Any) -> bool:
    """Whether the conjugates of numbers are these numbers."""
    both = ([plane.tolist() for plane in y.to_limbs()] for y in (x, composed.conj(x)))
    one, other = (Counter(zip(*planes, strict=True)) for planes in both)
    return one == other


@typed.as_(typed.OfPolynomials)
@takes_objects
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    return _both(elementwise.add, a1, a2, "polyadd")


@typed.as_(typed.OfPolynomials)
@takes_objects
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return _both(elementwise.subtract, a1, a2, "polysub")


def _both(function: Any, a1: Any, a2: Any, what: str) -> Any:
    first, second = _coefficients(a1, a2, what=what)
    n = max(first.size, second.size)
    return function(*(manipulation.pad(x, (n - x.size, 0)) for x in (first, second)))


@typed.as_(typed.OfPolynomials)
@takes_objects
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    first, second = (_trimmed(x) for x in _coefficients(a1, a2, what="polymul"))
    return numerics.convolve(first, second)


@takes_objects
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The quotient and the remainder of two polynomials: one coefficient after the other.

    Waits for the device.

    Leading coefficients of the remainder that are zero are left out.
    """
    over, by = _coefficients(u, v, what="polydiv")
    by = _trimmed(by)
    if by.size == 1 and bool(by[0] == 0):
        raise ArgumentError("polydiv: v: zero given, another polynomial is needed")
    rest, n = over.copy(), by.size
    count = max(over.size - n + 1, 1)
    quotient = creation.zeros((count,), over.dtype, over.queue)
    steps = max(over.size - n + 1, 0)
    for k in range(steps):
        quotient[k] = rest[k] / by[0]
        rest[k : k + n] -= quotient[k] * by
        rest[k] = 0
    return quotient, _trimmed(rest[steps:] if steps < over.size else rest[-1:])


def _times(m: Any, what: str) -> int:
    (count,) = integers((m,), "m", count=1)
    if count < 0:
        raise ArgumentError(f"{what}: m: {m} given, a number from 0 on is needed")
    return count


@typed.as_(typed.OfPolynomial)
@takes_objects
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative."""
    (found,) = _coefficients(p, what="polyder")
    for _ in range(_times(m, "polyder")):
        n = found.size - 1
        found = (
            found[:-1] * creation.arange(n, 0, -1, dtype=found.dtype, device=found.queue)
            if n > 0
            else found[:0]
        )
    return found


@typed.as_(typed.OfPolynomial)
@takes_objects
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative, with constants *k* (0 by default), the first integral's first."""
    (found,) = _coefficients(p, what="polyint")
    count, k = _times(m, "polyint"), 0 if k is None else k
    constants = [k] * count if elementwise.is_number(k) else list(k)
    if len(constants) == 1:
        constants *= count
    if len(constants) != count:
        raise ArgumentError(f"polyint: k: {len(constants)} constants given, {count} are needed")
    for constant in constants:
        powers = creation.arange(found.size, 0, -1, dtype=found.dtype, device=found.queue)
        found = manipulation.pad(found / powers, (0, 1))
        found[-1] = constant
    return found


@typed.gives(typed.Array)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Sums of a[n + k] conj(v[n]) over n for all shifts k: ``convolve`` with v turned round."""
    first, second = _coefficients(a, v, what="correlate")
    second = composed.conj(second)
    if first.size < second.size:
        turned = numerics.convolve(second, manipulation.flip(first), mode)
        return manipulation.flip(turned)
    return numerics.convolve(first, manipulation.flip(second), mode)
