"""Norms and condition numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from portmp import definition
from portmp.arrays import composed, elementwise, manipulation, typed
from portmp.arrays.array import Array, array, zeros
from portmp.arrays.blas import nrm2
from portmp.arrays.elementwise import sqrt
from portmp.arrays.products import Bound
from portmp.arrays.typed import Operand
from portmp.errors import ArgumentError, LinAlgWarning, MatrixShapeError, ShapeError
from portmp.formats import convert, losses, wider
from portmp.linalg import bounded_norms, operands, scaling
from portmp.linalg.elimination import LuFactors, lu_factor, lu_solve
from portmp.linalg.operands import By
from portmp.linalg.singular import svdvals
from portmp.routines import axes as named_axes
from portmp.routines.bounds import certified
from portmp.runtime.planes import upload

Order = int | float | str | None
VECTOR = "None, 0, inf, -inf and numbers"
MATRIX = "None, 'fro', 'nuc', 1, -1, 2, -2, inf, -inf"
CONDITIONS = (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)
STEPS = 5
"""The estimate of a norm ends after so many steps."""


Axes = int | tuple[int, int] | None


@overload
def norm(
    x: Operand,
    ord: Order = None,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    bound: Literal[False] = False,
) -> Array: ...


@overload
def norm(
    x: Operand,
    ord: Order = None,
    axis: Axes = None,
    keepdims: bool = False,
    *,
    bound: Literal[True, "tight"],
) -> tuple[Array, Array]: ...


def norm(
    x: Operand,
    ord: Order = None,  # NumPy's name
    axis: Axes = None,
    keepdims: bool = False,
    *,
    bound: Bound = False,
) -> Array | tuple[Array, Array]:
    """A norm of vectors or matrices along *axis*; arguments are NumPy's.

    Of vectors *ord* may be None or 2 (Euclidean), 1, inf, -inf, 0 (how many are not 0), or another
    p: (sum |x|^p)^(1/p); of matrices None or ``fro``, 1 and inf (the largest sum of a column's or
    row's magnitudes), -1 and -inf (the smallest), 2, -2 and ``nuc`` (the largest, the smallest and
    the sum of the singular values). Without *axis*: None flattens, else x has one or
    two axes. The largest of nothing is 0. Euclidean norms neither overflow nor vanish in between.
    Reads a number from the device where x is scaled.

    With *bound*, True or ``tight``, two arrays are returned, as by ``gemm``: norms, and what their
    errors are not above. Norms by singular values, and by other p, have none; of complex numbers
    Euclidean ones have, and 0.
    """
    given = operands.values(x, "norm: x")
    certified.wanted(bound, given.format.component)
    if axis is None:
        if ord is None and not bound:
            return _kept(nrm2(given), given.ndim, keepdims)
        if ord is None:
            value, error = nrm2(given, bound="tight" if bound == "tight" else True)
            return _kept(value, given.ndim, keepdims), _kept(error, given.ndim, keepdims)
        if given.ndim not in (1, 2):
            raise ShapeError(f"norm: x {given.shape} with ord needs an axis, or one or two axes")
        axes = tuple(range(given.ndim))
    else:
        axes = named_axes.named(axis, given.ndim, "norm: axis")
    if len(axes) not in (1, 2):
        raise ShapeError(f"norm: axis {axis!r} given, one or two of {given.ndim} are allowed")
    if bound:
        bounded_norms.check(ord, axes, given.format)
    found = of_vectors(given, ord, axes[0]) if len(axes) == 1 else _matrices(given, ord, axes)
    kept = tuple(1 if i in axes else n for i, n in enumerate(given.shape))
    shape = kept if keepdims else found.shape
    if not bound:
        return found.reshape(shape)
    error = bounded_norms.of(found, given, ord, axes, bound)
    return found.reshape(shape), error.reshape(shape)


def _kept(found: Array, ndim: int, keepdims: bool) -> Array:
    return found.reshape((1,) * ndim) if keepdims else found


def of_vectors(x: Array, ord: Order, axis: int) -> Array:
    """``norm`` along one axis."""
    if not isinstance(ord, (int, float, type(None))) or (ord is not None and math.isnan(ord)):
        raise _refused(ord, "vectors", VECTOR)
    if ord is None or ord == 2:
        return euclidean(x, (axis,))
    if ord == 0:
        return array((x != 0).sum(axis), x.format.component, x.queue)
    sizes = abs(x)
    if ord in (math.inf, -math.inf):
        return _extreme(sizes, axis, ord > 0)
    found: Array = sizes.sum(axis) if ord == 1 else _of_powers(sizes, ord, axis)
    return found


def _refused(ord: Any, what: str, known: str) -> ArgumentError:
    return ArgumentError(f"norm: ord {ord!r} given, of {what} {known} are allowed")


def _of_powers(sizes: Array, p: float, axis: int) -> Any:
    """(sum s^p)^(1/p); where that leaves the range of s over the largest (p < 0: the smallest)."""
    one, total = array(1, sizes.format, sizes.queue) / p, (sizes**p).sum(axis)
    if not sizes.size or composed.in_range(total, least=True):
        return total**one
    most = sizes.max(axis, keepdims=True) if p > 0 else sizes.min(axis, keepdims=True)
    unit = elementwise.where((most == 0) | elementwise.isinf(most), 1, most)
    found = ((sizes / unit) ** p).sum(axis) ** one * unit.reshape(total.shape)
    return elementwise.where(composed.usual(total, least=True), total**one, found)


def _matrices(x: Array, ord: Order, axes: tuple[int, ...]) -> Array:
    if not isinstance(ord, (int, float, str, type(None))) or ord not in CONDITIONS:
        raise _refused(ord, "matrices", MATRIX)
    if ord in (None, "fro"):
        return euclidean(x, axes)
    if ord in (2, -2, "nuc"):
        s: Array = svdvals(manipulation.moveaxis(x, axes, (-2, -1)))
        return s.sum(-1) if ord == "nuc" else _extreme(s, -1, ord == 2)
    row, column = axes
    along, other = (row, column) if ord in (1, -1) else (column, row)
    return _extreme(abs(x).sum(along), other - (along < other), ord in (1, math.inf))


def _extreme(sizes: Array, axis: int, largest: bool) -> Array:
    """The *largest* or the smallest of sizes along an axis; of none the largest one is 0."""
    if sizes.shape[axis]:
        found: Array = sizes.max(axis) if largest else sizes.min(axis)
    elif largest:
        found = sizes.sum(axis)
    else:
        raise ShapeError("norm: x: there is no smallest one of an empty axis")
    return found


def euclidean(x: Array, axes: tuple[int, ...]) -> Array:
    """The root of the sum of squares along axes (from 0 on), each scaled by a power of two."""
    if x.format.components > 1:
        return euclidean(manipulation.stack([x.real, x.imag], axis=x.ndim), (*axes, x.ndim))
    if not x.size:
        none: Array = scaling.squares(x).sum(axes)
        return none
    largest = scaling.sizes(x).max(axes, keepdims=True).to_limbs()[0].astype(np.float64)
    word = x.format.word
    scale = np.vectorize(lambda n: definition.norm_exponent(word, n) or 0, otypes=[float])
    exponents = scale(largest)
    part = x.format.component
    squares = scaling.squares(x * array(np.ldexp(1.0, -exponents.astype(int)), part, x.queue))
    for axis in sorted(axes, reverse=True):
        squares = squares.sum(axis)
    powers = array(np.ldexp(1.0, exponents.astype(int)), part, x.queue)
    found: Array = sqrt(squares) * powers.reshape(squares.shape)
    return found


@typed.gives(typed.Array)
def cond(x: Operand, p: Order = None, *, method: By = "auto") -> Any:
    """The condition number of x (..., m, n): its largest singular value over the smallest one.

    In the format of x, or of its parts, of stacks (...). *p* None or 2; with -2 the smallest over
    the largest. In other norms of ``norm``, of square matrices, |x| |x^-1|. With 1 and inf |x^-1|
    is estimated from below by Hager's and Higham's method, from the factors of x: at most five
    steps of two systems, and one more; seldom less than a third of it; in the others it is the
    inverse's. inf for a singular matrix, NaN where x holds NaN; an error for one without elements.
    A LinAlgWarning tells of numbers above 1/u^N: x, rounded, may be singular in this format.
    """
    matrix, by_values = _conditioned(x, p)
    if matrix.ndim > 2:
        batch = matrix.shape[:-2]
        found = zeros(batch, matrix.format.component, matrix.queue)
        for each in np.ndindex(*batch):
            found[each] = cond(matrix[each], p, method=method)
        return found
    if by_values:
        return _by_singular_values(matrix, p != -2, method)
    if isinstance(p, float) and math.isinf(p):
        matrix = matrix.mT
        p = math.copysign(1, p)
    size = norm(matrix, p, axis=(0, 1))
    factors = lu_factor(matrix, method=method)
    if math.isnan(size) or operands.is_singular(factors.lu):
        return size if math.isnan(size) else array(math.inf, matrix.format.component, matrix.queue)
    if p != 1:
        return _told(size * norm(_inverse(factors, method), p, axis=(0, 1)))
    inverse = norm_estimate(
        lambda b: lu_solve(factors, b, method=method),
        lambda b: lu_solve(factors, b, trans=2, method=method),
        matrix,
    )
    return _told(size * inverse)


def cond_in_format(x: Array, p: Order = None) -> Any:
    """``cond`` as NumPy has it: in the format of x, and in all norms by the inverse itself."""
    matrix, by_values = _conditioned(x, p)
    if by_values:
        s = svdvals(matrix)
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        return _told(elementwise.where(elementwise.isnan(found), math.inf, found))
    if matrix.ndim > 2:
        found = zeros(matrix.shape[:-2], matrix.format.component, matrix.queue)
        for each in np.ndindex(found.shape):
            found[each] = cond_in_format(matrix[each], p)
        return found
    factors = lu_factor(matrix)
    if operands.is_singular(factors.lu):
        return array(math.inf, matrix.format.component, matrix.queue)
    return _told(norm(matrix, p, axis=(0, 1)) * norm(_inverse(factors), p, axis=(0, 1)))


def _inverse(factors: LuFactors, method: By = "auto") -> Array:
    """What ``inv`` makes, by factors and without its warning: cond is the number to say so."""
    return lu_solve(factors, operands.identity(factors.lu.shape, factors.lu), method=method)


def _conditioned(x: Operand, p: Order) -> tuple[Array, bool]:
    """The matrix or stack x of ``cond``, and whether singular values tell; NumPy's errors."""
    if not isinstance(p, (int, float, str, type(None))) or p not in CONDITIONS:
        raise ArgumentError(f"cond: p {p!r} given, allowed are {MATRIX}")
    by_values = p in (None, 2, -2)
    matrix = operands.matrix(x, "cond", square=not by_values, argument="x", kinds="fc")
    if 0 in matrix.shape[-2:]:
        raise MatrixShapeError(f"cond: x {matrix.shape} given, which has no singular values")
    return matrix, by_values


def _by_singular_values(a: Array, large: bool, method: By) -> Any:
    if not math.isfinite(float(abs(a).max())):
        return array(math.nan, a.format.component, a.queue)
    s = svdvals(a, method=method)
    ends = (s[0], s[-1]) if large else (s[-1], s[0])
    if not float(s[-1]):
        # as NumPy has it
        return array(math.inf if large or not float(s[0]) else 0.0, a.format.component, a.queue)
    return _told(ends[0] / ends[1])


def _told(found: Array) -> Array:
    """Condition numbers, with a warning of those that rounding errors alone may have made."""
    sizes, longer = found.to_float64(), wider(found.format)
    worst = np.max(sizes, where=np.isfinite(sizes), initial=0)
    if worst * found.format.unit_roundoff >= 1:
        more = f"; {longer} has more digits, if x is made in it" * bool(longer)
        told = f"cond: {worst:.1e}: in {found.format} x may as well be singular{more}"
        losses.warn(told, LinAlgWarning)
    return found


def norm_estimate(
    times: Callable[[Array], Array], times_turned: Callable[[Array], Array], like: Array
) -> float:
    """A lower bound of the 1-norm of an operator on vectors (n,) (Higham 1988, LAPACK's xLACON).

    *times* and *times_turned* apply it and its (conjugate) transpose, to columns, too; *like* is an
    array (..., n) on its device. Which entry is taken and where it ends is decided on the host by
    leading limbs.
    """
    n, form = like.shape[-1], like.format
    kind: Any = np.complex128 if form.components > 1 else np.float64

    def lead(x: Array) -> np.ndarray[Any, Any]:
        real, *side = x.to_limbs()[:: form.limbs]
        found: np.ndarray[Any, Any] = real.astype(kind)
        return found + 1j * side[0] if side else found

    def host(values: Any) -> Array:
        given = np.asarray(values, kind)
        parts = (given.real, given.imag)[: form.components]
        limbs = [plane for part in parts for plane in convert.to_limbs(part, form.component)]
        return Array(upload(form, limbs, like.queue))

    slopes = np.where(np.arange(n) % 2, -1.0, 1.0) * (1 + np.arange(n) / max(n - 1, 1))
    # Both do not depend on what follows: one pass over the operator.
    v, last = lead(times(host(np.stack([np.full(n, 1.0 / n), slopes], axis=1)))).T
    best = float(_polar(v)[0].sum())
    if n == 1 or not math.isfinite(best):
        return best
    signs = _polar(v)[1]
    z = lead(times_turned(host(signs)))
    at = int(np.argmax(_polar(z)[0]))
    for _ in range(STEPS - 1):
        unit = zeros((n,), like.format, like.queue)
        unit[at] = 1
        v = lead(times(unit))
        sizes, new = _polar(v)
        size = float(sizes.sum())
        same, best_before = bool((new == signs).all()), best
        best = max(best, size)
        if same or size <= best_before or not math.isfinite(size):
            break
        signs = new
        z = lead(times_turned(host(signs)))
        sizes = _polar(z)[0]
        before, at = at, int(np.argmax(sizes))
        if sizes[before] == sizes[at]:
            break
    return max(best, 2 * float(_polar(last)[0].sum()) / (3 * n))


def _polar(v: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Magnitudes, and signs or phases, 1 of 0: the same everywhere, as libraries' hypot is not."""
    if v.dtype.kind != "c":
        return np.abs(v), np.where(v < 0, -1.0, 1.0)
    most = np.maximum(np.abs(v.real), np.abs(v.imag))
    unit = np.where(most > 0, most, 1)
    x, y = v.real / unit, v.imag / unit
    length = np.sqrt(x * x + y * y)
    divisor = np.where(most > 0, length, 1)
    return most * length, np.where(most > 0, x / divisor, 1) + 1j * (y / divisor)
