"""Products of vectors and matrices, by the names of the array API standard and of NumPy.

``einsum``: products of arrays, summed over the axes whose letters do not stay.
"""

import math
import string
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from portmp import definition, formats
from portmp.arrays import (
    complexes,
    composed,
    creation,
    elementwise,
    manipulation,
    statistics,
    typed,
)
from portmp.arrays.dtypes import BOOL
from portmp.arrays.foreign import as_they_are
from portmp.arrays.viewed import AnyArray, Viewed, integers, wrapped
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.routines import axes, base
from portmp.routines.bounds import certified
from portmp.routines.complexes import products as by_parts
from portmp.routines.exact import launch as exact
from portmp.routines.gemm import launch as gemm
from portmp.routines.products import methods
from portmp.routines.products.product import Product, of_vectors
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import Planes, View

__all__ = ["cross", "diag", "dot", "einsum", "inner", "kron", "matmul", "outer", "polyval"]
__all__ += ["tensordot", "trace", "vander", "vdot", "vecdot"]


def _pair(what: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Both in one dtype, as arrays."""
    if elementwise.alike((x1, x2)) is not None:
        return x1, x2
    first, second = elementwise.as_arrays([x1, x2], (f"{what}: x1", f"{what}: x2"))
    kind = elementwise.common_dtype(what, (first, second))
    if kind == BOOL:
        raise FormatError(f"{what}: truth values given, numbers are needed")
    a, b = (wrapped(in_kind(x.planes, kind)) for x in (first, second))
    return a, b


def in_kind(view: View[Any], kind: Any) -> View[Any]:
    """A view in the dtype where operands meet; a real one beside a complex one stays real."""
    real = complexes.is_complex_format(kind) and not complexes.is_complex_format(view.elements)
    return elementwise.as_dtype(view, kind.component if real else kind)


@typed.as_(typed.Multiplied)
@as_they_are
def matmul(x1: AnyArray, x2: AnyArray, /, *, out: AnyArray | None = None) -> Any:
    """The matrix product: x1 (..., m, k), x2 (..., k, n); vectors stand for a row or a column."""
    a, b = _pair("matmul", x1, x2)
    if not a.shape or not b.shape:
        raise ShapeError("@: operands of shape () given; use *")
    return elementwise.given_back(_product(a.planes, b.planes), out)


def _product(a: View[Any], b: View[Any]) -> View[Any]:
    """The product of matrices, or of vectors that stand for a row or a column."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    if a.shape[-1] != b.shape[-1 if column else -2]:
        raise ShapeError(f"matmul: {a.shape} and {b.shape} cannot be multiplied")
    if row and column and isinstance(a, Planes) and isinstance(b, Planes):
        if a.format.components + b.format.components > 2:
            return by_parts.by_four(a, b, reduce.dot)
        return reduce.dot(a, b)
    left = a.view((1, *a.shape), (0, *a.strides), a.start) if row else a
    right = b.view((*b.shape, 1), (*b.strides, 0), b.start) if column else b
    found = _of_matrices(left, right)
    if row or column:
        shape, strides = list(found.shape), list(found.strides)
        for axis in [-2] * row + [-1] * column:
            del shape[axis], strides[axis]
        found = found.view(shape, strides, found.start)
    return found


def is_by_one(a: Planes, b: Planes) -> bool:
    """Whether a complex product is judged element by element, by its sizes."""
    sizes = a.shape[-2], b.shape[-1], a.shape[-1]
    return definition.judges(*sizes, a.format.word, a.format.limbs)


def _of_matrices(left: View[Any], right: View[Any], method: object = methods.AUTO) -> View[Any]:
    if isinstance(left, Planes) and isinstance(right, Planes):
        if left.format.components + right.format.components > 2:
            multiply: Any = _of_matrices
            if is_by_one(left, right):
                return by_parts.by_one(left, right, methods.AUTO, multiply)
            return by_parts.by_four(left, right, multiply)
        one = base.scalar_limbs(left.format, 1, "alpha")
        zero = base.scalar_limbs(left.format, 0, "alpha")
        if min(left.shape[-2], right.shape[-1]) > 1:  # else a vector's
            given = Product(left, right, one, zero, None, None)
            return methods.of_matrices(given, method=method)[0]
        return gemm.gemm(left, right, alpha=one, beta=zero)
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(f"matmul: {left.shape} and {right.shape} cannot be multiplied")
    rows, columns = wrapped(left)[..., :, :, None], wrapped(right)[..., None, :, :]
    terms = elementwise.multiply(rows, columns)
    summed: View[Any] = statistics.sum(terms, -2, dtype=terms.dtype).planes
    return summed


@typed.meets
def vecdot(x1: AnyArray, x2: AnyArray, /, *, axis: int = -1) -> Any:
    """Sums of products along an axis of both, x1 conjugated, with broadcasting of the others.

    *axis* is counted in each of them, as NumPy does: from the front, too.
    """
    a, b = _pair("vecdot", x1, x2)
    a = composed.conj(a)
    least = min(a.ndim, b.ndim)
    if not least:
        raise ShapeError(f"vecdot: {a.shape} and {b.shape} given, an axis at least is needed")
    if not -least <= axis < least:
        raise ShapeError(f"vecdot: axis: {axis} given, {-least} to {least - 1} are allowed")
    if a.shape[axis] != b.shape[axis]:
        raise ShapeError(f"vecdot: lengths {a.shape[axis]} and {b.shape[axis]} along the axis")
    rows, columns = (manipulation.moveaxis(x, axis, -1) for x in (a, b))
    left, right = rows[..., None, :], columns[..., :, None]
    return wrapped(_of_matrices(left.planes, right.planes))[..., 0, 0]


@typed.meets
def tensordot(
    x1: AnyArray, x2: AnyArray, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Any:
    """Sums of products over pairs of axes: the last of x1 with the first of x2, or those named."""
    a, b = _pair("tensordot", x1, x2)
    over_a, over_b = _paired(axes, a.ndim, b.ndim)
    if [a.shape[i] for i in over_a] != [b.shape[i] for i in over_b]:
        raise ShapeError(f"tensordot: axes of {a.shape} and {b.shape} have other lengths")
    left = [i for i in range(a.ndim) if i not in over_a]
    right = [i for i in range(b.ndim) if i not in over_b]
    k = math.prod(a.shape[i] for i in over_a)
    rows = a.transpose(*left, *over_a).reshape(math.prod(a.shape[i] for i in left), k)
    cols = b.transpose(*over_b, *right).reshape(k, math.prod(b.shape[i] for i in right))
    shape = [a.shape[i] for i in left] + [b.shape[i] for i in right]
    return wrapped(_of_matrices(rows.planes, cols.planes)).reshape(shape)


def _paired(named: Any, first: int, second: int) -> tuple[list[int], list[int]]:
    if isinstance(named, int):
        if not 0 <= named <= min(first, second):
            raise ShapeError(f"tensordot: axes: {named} given for {first} and {second} axes")
        return list(range(first - named, first)), list(range(named))
    if not isinstance(named, (list, tuple)) or len(named) != 2:
        raise ArgumentError(f"tensordot: axes: {named!r:.60} given, a number or a pair is needed")
    over = [
        list(axes.named(one if isinstance(one, Sequence) else (one,), ndim, "axes"))
        for one, ndim in zip(named, (first, second), strict=True)
    ]
    if len(over[0]) != len(over[1]):
        raise ArgumentError(f"tensordot: axes: {named} given: as many of both")
    return over[0], over[1]


Bound = bool | Literal["tight"]
"""Whether a bound of the error is wanted: of what roundings may lose, or a tight one."""

ProductBound = Bound | Literal["normwise"]
"""Those of matrices' products, which may be by norms."""


@typed.as_(typed.Dotted)
@as_they_are
def dot(
    x: AnyArray,
    y: AnyArray,
    *,
    accuracy: str = "accurate",
    schedule: Any = None,
    out: AnyArray | None = None,
    rounding: str | None = None,
    bound: Bound = False,
) -> Any:
    """sum_i x_i y_i of two vectors; shape (). *accuracy* as in gemm.

    As NumPy has it, matrices are multiplied, and a number multiplies all.

    *rounding*: ``correct`` gives the exact sum of two vectors' products, rounded once to the
    format, whatever cancels in it: the limbs that ``array`` gives of that number. Digits of exact
    products are added as integers, which takes many times as long. Operands that are not finite
    are refused (ArgumentError), so it waits for the device.

    With *bound* two arrays are returned, as by gemm: the sum, and what its error is not above.
    """
    a, b = elementwise.as_arrays([x, y], ("x", "y"))
    if complexes.is_complex(a) or complexes.is_complex(b):
        a, b = _pair("dot", a, b)
        if a.ndim == b.ndim == 1:
            return _of_complex_vectors(a, b, accuracy, schedule, out, rounding, bound)
    if rounding is not None or bound is not False:
        return _certified(a, b, accuracy, schedule, out, rounding, bound)
    if isinstance(a.planes, Planes) and isinstance(b.planes, Planes) and a.ndim == b.ndim == 1:
        target = None if out is None else elementwise.target(out)
        found = wrapped(reduce.dot(a.planes, b.planes, accuracy, schedule, target))
        return found if out is None else out
    if a.ndim == 0 or b.ndim == 0:
        return elementwise.multiply(a, b, out=out)
    if b.ndim > 2:
        return elementwise.given_back(tensordot(a, b, axes=((-1,), (-2,))).planes, out)
    return matmul(a, b, out=out)


def _of_complex_vectors(
    a: Any, b: Any, accuracy: str, schedule: Any, out: Any, rounding: str | None, bound: Bound
) -> Any:
    """``dot`` of vectors of which one at least is complex, of one length."""
    if a.shape != b.shape:
        raise ShapeError(f"dot: vectors of one length expected, x {a.shape} and y {b.shape} given")
    parts = [elementwise.as_dtype(x.planes, formats.complex_of(x.dtype)) for x in (a, b)]
    x, y = (cast(Planes, part) for part in parts)
    line = wrapped(by_parts.stacked(y.halves, -1))
    negative = elementwise.negative(wrapped(x.part(1))).planes
    across = [(x.part(0), negative), (x.part(1), x.part(0))]
    sides = [wrapped(by_parts.stacked(pair, -1)) for pair in across]
    if rounding is not None and bound is False:
        exactly = [
            dot(side, line, accuracy=accuracy, schedule=schedule, rounding=rounding)
            for side in sides
        ]
        return _into(complexes.joined(*exactly), out)
    plain = by_parts.by_four(a.planes, b.planes, lambda p, q: reduce.dot(p, q, accuracy, schedule))
    if bound is False:
        return _into(wrapped(plain), out)
    if out is not None:
        raise ArgumentError("dot: out: given; with rounding or bound a new array is returned")
    near = [dot(side, line, accuracy=accuracy, rounding=rounding, bound=bound) for side in sides]
    value = wrapped(plain) if rounding is None else complexes.joined(*(v for v, _ in near))
    return value, bounds(value, [(v.planes, e.planes) for v, e in near])


def _into(found: Any, out: Any) -> Any:
    return elementwise.given_back(found.planes, out)


def bounds(value: Any, near: Sequence[tuple[Planes, Planes]]) -> Any:
    """Bounds of both parts' errors, as those of a complex number, from values near with theirs."""
    parts = zip(value.planes.halves, near, strict=True)
    return complexes.joined(*(wrapped(certified.distance(part, pair)) for part, pair in parts))


def _certified(
    a: Any, b: Any, accuracy: str, schedule: Any, out: Any, rounding: str | None, bound: Bound
) -> Any:
    """The sum of products rounded once, or with what its error is not above."""
    x, y = a.planes, b.planes
    if not isinstance(x, Planes) or not isinstance(y, Planes):
        raise FormatError("dot: rounding and bound need arrays of values, integers given")
    if out is not None:
        raise ArgumentError("dot: out: given; with rounding or bound a new array is returned")
    how = certified.wanted(bound, x.format)
    if how == certified.TIGHT:
        found = dot(a, b, accuracy=accuracy, schedule=schedule, rounding=rounding)
        if found.shape:
            raise ShapeError(f"dot: vectors expected with a bound, {a.shape} and {b.shape} given")
        return found, wrapped(certified.dot_error_bound(found.planes, x, y))
    if rounding is None:
        certified.check(accuracy, schedule)
        value, error = certified.dot(x, y, accuracy)
        return wrapped(value), wrapped(error)
    methods.check_correct(rounding, accuracy, schedule, bound=bool(how))
    if x.ndim != 1 or x.shape != y.shape:
        raise ShapeError(f"dot: vectors of one length expected, x {x.shape} and y {y.shape} given")
    return wrapped(exact.gemm(of_vectors(x, y).in_columns()).view_as(()))


@typed.meets
def inner(x1: AnyArray, x2: AnyArray) -> Any:
    """Sums of products over the last axes of both."""
    x1, x2 = elementwise.as_arrays([x1, x2], ("inner: x1", "inner: x2"))
    if x1.ndim == 0 or x2.ndim == 0:
        return elementwise.multiply(x1, x2)
    return tensordot(x1, x2, axes=((-1,), (-1,)))


@typed.meets
def vdot(x1: Any, x2: Any, /, *, rounding: str | None = None, bound: Bound = False) -> Any:
    """The sum of products of all elements of two arrays of one size, in C order, x1 conjugated.

    *rounding* and *bound* as in ``dot``.
    """
    a, b = map(manipulation.ravel, elementwise.as_arrays([x1, x2], ("vdot: x1", "vdot: x2")))
    if a.size != b.size:
        raise ShapeError(f"vdot: arrays of one size are needed, {a.size} and {b.size} given")
    return dot(composed.conj(a), b, rounding=rounding, bound=bound)


@typed.meets
def outer(x1: AnyArray, x2: AnyArray, /) -> Any:
    """The products of all elements of one with all of the other, as a matrix."""
    a, b = map(manipulation.ravel, elementwise.as_arrays([x1, x2], ("outer: x1", "outer: x2")))
    return a[:, None] * b[None, :]


@typed.meets
def kron(x1: AnyArray, x2: AnyArray, /) -> Any:
    """The Kronecker product: each element of x1 times x2, as blocks."""
    x1, x2 = elementwise.as_arrays([x1, x2], ("kron: x1", "kron: x2"))
    ndim = max(x1.ndim, x2.ndim)
    sizes = [[1] * (ndim - x.ndim) + list(x.shape) for x in (x1, x2)]
    left = x1.reshape([n for size in sizes[0] for n in (size, 1)])
    right = x2.reshape([n for size in sizes[1] for n in (1, size)])
    return (left * right).reshape([a * b for a, b in zip(*sizes, strict=True)])


@typed.as_(typed.OwnKind)
def trace(
    x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sums of matrices' diagonals: see ``diagonal``."""
    found = manipulation.diagonal(x, offset, axis1, axis2)
    return statistics.sum(found, -1, dtype=dtype, out=out)


@typed.meets
def cross(
    x1: AnyArray,
    x2: AnyArray,
    /,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Any:
    """The vector product along an axis of length 3: that of x1, of x2, of the result, or of all."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    first, second = _pair("cross", x1, x2)
    a, b = manipulation.moveaxis(first, axisa, -1), manipulation.moveaxis(second, axisb, -1)
    if a.shape[-1:] != (3,) or b.shape[-1:] != (3,):
        raise ShapeError(f"cross: an axis of length 3 is needed, {a.shape} and {b.shape} given")
    after, before = [1, 2, 0], [2, 0, 1]
    found = a[..., after] * b[..., before] - a[..., before] * b[..., after]
    return manipulation.moveaxis(found, -1, axisc)


@typed.keeps
def diag(x: AnyArray, k: int = 0) -> Any:
    """The matrix with this vector on its k-th diagonal, or a copy of a matrix' k-th diagonal."""
    x = manipulation.checked(x, "x")
    if x.ndim == 2:
        return manipulation.diagonal(x, offset=k).copy()
    if x.ndim != 1:
        raise ShapeError(f"diag: a vector or a matrix is needed, shape {x.shape} given")
    (k,) = integers((k,), "diag: k", count=1)
    n = x.size + abs(k)
    found = creation.zeros((n, n), x.dtype, x.queue)
    manipulation.diagonal(found, offset=k)[...] = x
    return found


@typed.keeps
def vander(x: AnyArray, n: int | None = None, *, increasing: bool = False) -> Any:
    """Powers of a vector's elements as columns, from n - 1 to 0, or the other way round."""
    x = manipulation.checked(x, "x")
    if x.ndim != 1:
        raise ShapeError(f"vander: a vector is needed, shape {x.shape} given")
    (count,) = integers((x.size if n is None else n,), "vander: n", count=1)
    ones = creation.ones((x.size, count), x.dtype, x.queue)
    if count > 1:
        ones[:, 1:] = manipulation.broadcast_to(x[:, None], (x.size, count - 1))
        ones = statistics.cumulative_prod(ones, axis=1)
    return ones if increasing else manipulation.flip(ones, axis=1)


@typed.as_(typed.Evaluated)
def polyval(p: AnyArray, x: Any) -> Any:
    """The polynomial with coefficients p (or a poly1d), the highest first, at x: Horner's rule.

    Of a poly1d x the composition, a poly1d.
    """
    if hasattr(x, "coeffs"):
        return type(x)(p)(x)
    p, x = elementwise.beside([getattr(p, "coeffs", p), x])
    p = manipulation.checked(p, "p")
    found = creation.zeros_like(x if isinstance(x, Viewed) else p[0])
    for coefficient in p:
        found = found * x + coefficient
    return found


# --- Einstein's sums ------------------------------------------------------------------------------

Labels = list[str]


def einsum(
    subscripts: Any, *operands: Any, out: AnyArray | None = None, optimize: Any = False
) -> Any:
    """``einsum("ij,jk->ik", a, b)``: sums of products by letters of axes, as NumPy has them.

    Or with numbers for axes, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``; without the last list those
    stay that come once.

    Products are taken from the left to the right, two at a time, each a matrix product of this
    library (``matmul``) where axes are summed over, else elementwise. *optimize* is there for
    NumPy's sake: the order is always this.
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _lettered([subscripts, *operands])
    if not operands:
        raise ArgumentError("einsum: no operands given")
    arrays = elementwise.as_arrays(operands, [f"einsum: operand {i}" for i in range(len(operands))])
    given, wanted = _parsed(subscripts, arrays)
    sizes: dict[str, int] = {}
    for labels, x in zip(given, arrays, strict=True):
        for label, n in zip(labels, x.shape, strict=True):
            if sizes.setdefault(label, n) != n:
                if 1 not in (n, sizes[label]) or labels.count(label) > 1:
                    raise ShapeError(
                        f"einsum: {subscripts!r}: axes {label} have lengths {sizes[label]} and {n}"
                    )
                sizes[label] = max(n, sizes[label])
    parts = [_once(x, labels, sizes) for x, labels in zip(arrays, given, strict=True)]
    found, labels = parts[0]
    for i, (x, theirs) in enumerate(parts[1:], 1):
        later = set(wanted).union(*(names for _, names in parts[i + 1 :]))
        found, labels = _two(found, labels, x, theirs, later)
    found, labels = _summed(found, labels, set(wanted))
    found = found.transpose(*(labels.index(label) for label in wanted)) if wanted else found
    return elementwise.given_back(found.planes, out)


def _lettered(given: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The text for operands that are given with lists of axes' numbers, and the operands."""
    lists = given[1::2] + (given[-1:] if len(given) % 2 else [])
    if len(given) < 2 or not all(isinstance(axes, (list, tuple)) for axes in lists):
        raise ArgumentError(
            "einsum: a text such as 'ij,jk->ik' and arrays are needed, or arrays, each with a list "
            "of its axes' numbers"
        )
    texts = ["".join(map(_letter, axes)) for axes in lists]
    left = ",".join(texts[: len(given) // 2])
    arrays = tuple(given[: len(given) // 2 * 2 : 2])
    return (f"{left}->{texts[-1]}" if len(given) % 2 else left), arrays


def _letter(axis: Any) -> str:
    if axis is Ellipsis:
        return "..."
    letters = string.ascii_uppercase + string.ascii_lowercase
    if not isinstance(axis, (int, np.integer)) or not 0 <= axis < len(letters):
        raise ArgumentError(f"einsum: axis {axis!r:.40} given, numbers from 0 to 51 are allowed")
    return letters[axis]


def _parsed(subscripts: str, arrays: list[Any]) -> tuple[list[Labels], Labels]:
    """The letters of each operand's axes and those of the result; those of ``...`` are numbers."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    names = left.split(",")
    if len(names) != len(arrays):
        raise ArgumentError(f"einsum: {len(arrays)} operands given for {subscripts!r}")
    opened = [x.ndim - len(n.replace("...", "")) for n, x in zip(names, arrays, strict=True)]
    most = max((k for n, k in zip(names, opened, strict=True) if "..." in n), default=0)
    given = []
    for name, x, open_ in zip(names, arrays, opened, strict=True):
        if open_ < 0 or ("..." not in name and open_):
            raise ShapeError(f"einsum: {name!r} given for an array of shape {x.shape}")
        given.append(_letters(name, [str(i) for i in range(most - open_, most)], subscripts))
    if arrow:
        wanted = _letters(right, [str(i) for i in range(most)], subscripts)
        known = {label for labels in given for label in labels}
        if len(set(wanted)) != len(wanted) or not known.issuperset(wanted):
            raise ArgumentError(f"einsum: the result of {subscripts!r} has other or equal letters")
        return given, wanted
    every = [label for labels in given for label in labels]
    alone = sorted(x for x in set(every) if every.count(x) == 1 and not x.isdigit())
    return given, [*(str(i) for i in range(most)), *alone]


def _letters(name: str, open_: Labels, subscripts: str) -> Labels:
    before, dots, after = name.partition("...")
    if not all(c in string.ascii_letters for c in before + after):
        raise ArgumentError(f"einsum: {subscripts!r} given; letters, commas, ... and -> are needed")
    return [*before, *(open_ if dots else []), *after]


def _once(x: AnyArray, labels: Labels, sizes: dict[str, int]) -> tuple[AnyArray, Labels]:
    """The view whose axes have different letters, without axes of length 1 that are repeated."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = manipulation.diagonal(x, 0, first, second)
            labels = [n for i, n in enumerate(labels) if i not in (first, second)] + [label]
    gone = [i for i, n in enumerate(labels) if x.shape[i] == 1 and sizes[n] != 1]
    kept = [n for i, n in enumerate(labels) if i not in gone]
    return (manipulation.squeeze(x, axis=gone) if gone else x), kept


def _summed(x: AnyArray, labels: Labels, kept: set[str]) -> tuple[AnyArray, Labels]:
    """The sum over axes whose letters are not kept; integers stay of their dtype."""
    over = tuple(i for i, n in enumerate(labels) if n not in kept)
    if not over:
        return x, labels
    found = statistics.sum(x, over, dtype=x.dtype)
    return found, [n for n in labels if n in kept]


def _two(
    a: AnyArray, first: Labels, b: AnyArray, second: Labels, later: set[str]
) -> tuple[AnyArray, Labels]:
    """The product of two, summed over the letters that come in no later operand."""
    a, first = _summed(a, first, later.union(second))
    b, second = _summed(b, second, later.union(first))
    both = [n for n in first if n in second and n in later]
    over = [n for n in first if n in second and n not in later]
    left = [n for n in first if n not in second]
    right = [n for n in second if n not in first]
    a = a.transpose(*(first.index(n) for n in (*both, *left, *over))) if first else a
    b = b.transpose(*(second.index(n) for n in (*both, *over, *right))) if second else b
    k = len(both)
    shape = (*a.shape[:k], *a.shape[k : k + len(left)], *b.shape[k + len(over) :])
    labels = [*both, *left, *right]
    if not over:
        open_ = a.reshape((*a.shape, *[1] * len(right)))
        spread = b.reshape((*shape[:k], *[1] * len(left), *shape[k + len(left) :]))
        return elementwise.multiply(open_, spread), labels
    batch, m = math.prod(a.shape[:k]), math.prod(a.shape[k : k + len(left)])
    inner, n = math.prod(a.shape[k + len(left) :]), math.prod(b.shape[k + len(over) :])
    pair = (a.reshape(batch, m, inner), b.reshape(batch, inner, n))
    if not k:
        pair = (pair[0][0], pair[1][0])
    return matmul(*pair).reshape(shape), labels
