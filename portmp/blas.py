"""The BLAS on arrays: gemm, gemv, dot, axpy, scal, and elementwise functions."""

from __future__ import annotations

import math
from typing import Any

from portmp import definition
from portmp.array import Array, Number
from portmp.errors import ArgumentError
from portmp.routines import base, elementwise, reduce
from portmp.routines import gemm as gemm_routine
from portmp.tuning import GemmSchedule, ReduceSchedule


def _array(value: Any, argument: str) -> Array:
    if not isinstance(value, Array):
        raise ArgumentError(
            f"{argument}: {type(value).__name__} given, an Array is needed: portmp.array(...)"
        )
    return value


def _swapped(a: Array, trans: bool) -> Array:
    order = [*range(a.ndim - 2), a.ndim - 1, a.ndim - 2]
    return a.transpose(*order) if trans and a.ndim >= 2 else a


def gemm(
    a: Array,
    b: Array,
    *,
    alpha: Number = 1,
    beta: Number = 0,
    c: Array | None = None,
    trans_a: bool = False,
    trans_b: bool = False,
    out: Array | None = None,
    schedule: GemmSchedule | None = None,
) -> Array:
    """alpha op(a) op(b) + beta c, with op the transpose where asked for.

    a (..., m, k), b (..., k, n), c and out (..., m, n), one format, one device; batch
    axes broadcast. beta = 0 does not read c, alpha = 0 does not read a and b.
    Error per element: the multiply-accumulate's bound of the format (docs/bits.md),
    plus 2u^N of the result.
    """
    left, right = _swapped(_array(a, "a"), trans_a), _swapped(_array(b, "b"), trans_b)
    form = left.format
    return Array(
        gemm_routine.gemm(
            left.planes, right.planes,
            alpha=base.words(form, alpha, "alpha"), beta=base.words(form, beta, "beta"),
            c=None if c is None else _array(c, "c").planes,
            out=None if out is None else _array(out, "out").planes,
            schedule=schedule,
        )
    )  # fmt: skip


def gemv(
    a: Array,
    x: Array,
    *,
    alpha: Number = 1,
    beta: Number = 0,
    y: Array | None = None,
    trans: bool = False,
    out: Array | None = None,
    schedule: ReduceSchedule | None = None,
) -> Array:
    """alpha op(a) x + beta y for a (m, n), x (n,), y and out (m,)."""
    matrix = _swapped(_array(a, "a"), trans)
    form = matrix.format
    return Array(
        reduce.gemv(
            matrix.planes, _array(x, "x").planes,
            alpha=base.words(form, alpha, "alpha"), beta=base.words(form, beta, "beta"),
            y=None if y is None else _array(y, "y").planes,
            out=None if out is None else _array(out, "out").planes,
            schedule=schedule,
        )
    )  # fmt: skip


def dot(x: Array, y: Array, *, schedule: ReduceSchedule | None = None) -> Array:
    """sum_i x_i y_i of two vectors of one length; shape ()."""
    return Array(reduce.dot(_array(x, "x").planes, _array(y, "y").planes, schedule))


def axpy(alpha: Number, x: Array, y: Array, *, out: Array | None = None) -> Array:
    """alpha x + y, elementwise."""
    words = base.words(_array(x, "x").format, alpha, "alpha")
    target = None if out is None else _array(out, "out").planes
    return Array(elementwise.axpy(words, x.planes, _array(y, "y").planes, target))


def scal(alpha: Number, x: Array, *, out: Array | None = None) -> Array:
    """alpha x."""
    words = base.words(_array(x, "x").format, alpha, "alpha")
    target = None if out is None else _array(out, "out").planes
    return Array(elementwise.scal(words, x.planes, target))


def fma(x: Array, y: Any, z: Any) -> Array:
    """x y + z, elementwise: add(mul(x, y), z); one limb: the fused operation."""
    return _array(x, "x")._apply("fma", y, z)


def sqrt(x: Array) -> Array:
    """Square roots, elementwise; negative numbers give NaN."""
    return _array(x, "x")._apply("sqrt")


def minimum(x: Array, y: Any) -> Array:
    """The smaller of two, elementwise; NaN propagates, -0 < +0."""
    return _array(x, "x")._apply("min", y)


def maximum(x: Array, y: Any) -> Array:
    """The larger of two, elementwise; NaN propagates, -0 < +0."""
    return _array(x, "x")._apply("max", y)


def nrm2(x: Array) -> Array:
    """The Euclidean norm, scaled by a power of two so that squares neither overflow nor vanish.

    Definition: s = 2^-e with e the exponent of the largest |x_i|, then
    2^e sqrt(dot(s x, s x)); without scaling where that is zero, infinite or NaN. Reads
    one number back from the device.
    """
    largest = float(abs(_array(x, "x")).max().to_limbs()[0]) if x.size else 0.0
    flat = x.reshape(-1)
    exponent = definition.norm_exponent(x.format.word, largest)
    if exponent is None:
        return sqrt(dot(flat, flat))
    scaled = scal(math.ldexp(1.0, -exponent), flat)
    return scal(math.ldexp(1.0, exponent), sqrt(dot(scaled, scaled)))
