"""Sums, products, extrema, means and variances, over all elements or along axes."""

from __future__ import annotations

from typing import Any, Literal

from portmp.arrays import dtypes, elementwise, manipulation
from portmp.arrays.dtypes import BOOL, INTEGER, Dtype
from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import Format
from portmp.routines import axes, base, certified, exact, moves, order, reduce, scan
from portmp.routines import elementwise as routine
from portmp.routines.plain import reduction
from portmp.runtime.planes import Numbers, Planes, View, dense_strides

Axis = int | tuple[int, ...] | None


# --- along axes -----------------------------------------------------------------------------------


def _dense(view: Any) -> Any:
    """A dense copy, by the format's own kernels."""
    return routine.contiguous(view) if isinstance(view, Planes) else moves.dense(view)


def _shaped(found: View[Any], shape: tuple[int, ...], over: tuple[int, ...], keepdims: bool) -> Any:
    """Results of rows in the shape of the axes left, or of all, with length 1 for the others."""
    if keepdims:
        count, left = len(shape) + len(over), iter(shape)
        shape = tuple(1 if i in over else next(left) for i in range(count))
    return wrapped(found.view(shape, dense_strides(shape), found.start))


def _reduced(kind: str, view: View[Any], axis: Axis, keepdims: bool, dtype: str = "") -> Any:
    over = axes.named(axis, view.ndim)
    if kind in ("max", "min") and 0 in [view.shape[i] for i in over]:
        raise ShapeError(f"{kind}: an empty array has none")
    rows, shape = axes.rows(view, over, _dense)
    if isinstance(rows, Planes):
        return _shaped(reduce.over_rows(kind, rows), shape, over, keepdims)
    assert isinstance(rows, Numbers)
    return _shaped(reduction.over_rows(kind, rows, dtype), shape, over, keepdims)


def _into(found: Any, out: AnyArray | None) -> Any:
    if out is None:
        return found
    elementwise.into(found.planes, out.planes)
    return out


def _summed(kind: str, x: AnyArray, axis: Axis, dtype: Any, keepdims: bool, out: Any) -> Any:
    view = manipulation.checked(x, "x").planes
    wanted = _sum_dtype(view) if dtype is None else dtypes.resolved(dtype)
    if isinstance(view, Planes) or isinstance(wanted, Format):
        found = _reduced(kind, elementwise.as_dtype(view, wanted), axis, keepdims)
    else:
        found = _reduced(kind, view, axis, keepdims, wanted.name)
    return _into(found, out)


def _sum_dtype(view: View[Any]) -> Dtype:
    own = dtypes.of_view(view)
    if isinstance(own, Format):
        return own
    return INTEGER if own.kind in "ib" else dtypes.resolved("uint64")


def sum(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
    rounding: str | None = None,
    bound: bool | Literal["tight"] = False,
) -> Any:
    """Sums over all elements or along axes; of integers and truth values in 64 bits.

    *rounding* and *bound* of values as of ``dot``: the exact sum, rounded once; or two arrays, the
    sum and what its error is not above.
    """
    if rounding is not None or bound is not False:
        return _certified(x, axis, dtype, keepdims, out, rounding, bound)
    return _summed("sum", x, axis, dtype, keepdims, out)


def _certified(
    x: AnyArray,
    axis: Axis,
    dtype: Any,
    keepdims: bool,
    out: AnyArray | None,
    rounding: str | None,
    bound: bool | Literal["tight"],
) -> Any:
    """Sums that are rounded once, or with what their errors are not above."""
    view = manipulation.checked(x, "x").planes
    if dtype is not None:
        view = elementwise.as_dtype(view, dtypes.resolved(dtype))
    if not isinstance(view, Planes):
        raise FormatError("sum: rounding and bound need an array of values, integers given")
    if out is not None:
        raise ArgumentError("sum: out: given; with rounding or bound a new array is returned")
    over = axes.named(axis, view.ndim)
    rows, shape = axes.rows(view, over, _dense)
    assert isinstance(rows, Planes)
    tight = certified.wanted(bound, rows.format) == certified.TIGHT
    if tight or rounding is not None:
        if rounding is not None:
            base.check_rounding(rounding, bool(bound) and not tight)
        value = reduce.over_rows("sum", rows) if rounding is None else exact.over_rows(rows)
        if not tight:
            return _shaped(value, shape, over, keepdims)
        error = certified.over_rows_apart(value, rows)
    else:
        value, error = certified.over_rows(rows)
    return _shaped(value, shape, over, keepdims), _shaped(error, shape, over, keepdims)


def prod(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
) -> Any:
    """Products, likewise."""
    return _summed("prod", x, axis, dtype, keepdims, out)


def _extremum(kind: str, x: AnyArray, axis: Axis, keepdims: bool, out: AnyArray | None) -> Any:
    view = manipulation.checked(x, "x").planes
    return _into(_reduced(kind, view, axis, keepdims, str(view.elements)), out)


def max(
    x: AnyArray, /, axis: Axis = None, *, keepdims: bool = False, out: AnyArray | None = None
) -> Any:
    """The largest of all elements or along axes; NaN propagates."""
    return _extremum("max", x, axis, keepdims, out)


def min(
    x: AnyArray, /, axis: Axis = None, *, keepdims: bool = False, out: AnyArray | None = None
) -> Any:
    """The smallest, likewise."""
    return _extremum("min", x, axis, keepdims, out)


# --- means ----------------------------------------------------------------------------------------


def _values(x: AnyArray, dtype: Any, what: str) -> AnyArray:
    """x in a format: its own, the default one for integers, or what is asked for."""
    view = manipulation.checked(x, "x").planes
    own = dtypes.of_view(view)
    wanted = dtypes.resolved(dtype) if dtype is not None else own
    if dtype is None and not isinstance(own, Format):
        wanted = dtypes.promoted(own, dtypes.default(), what)
    if not isinstance(wanted, Format):
        raise FormatError(f"{what}: {wanted} asked for, a format is needed")
    found: AnyArray = wrapped(elementwise.as_dtype(view, wanted))
    return found


def _count(x: AnyArray, axis: Axis) -> int:
    found = 1
    for i in axes.named(axis, x.ndim):
        found *= x.shape[i]
    return found


def mean(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
) -> Any:
    """The sum divided by the number of elements."""
    values = _values(x, dtype, "mean")
    return _into(sum(values, axis, keepdims=keepdims) / _count(values, axis), out)


def var(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    correction: Any = 0,
    ddof: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
) -> Any:
    """The sum of squares of the differences from the mean, divided by n - *correction*.

    *ddof* is NumPy's name for the correction.
    """
    values = _values(x, dtype, "var")
    distance = values - mean(values, axis, keepdims=True)
    squares = sum(distance * distance, axis, keepdims=keepdims)
    left = _count(values, axis) - (correction if ddof is None else ddof)
    return _into(squares / (left if left > 0 else 0), out)


def std(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    correction: Any = 0,
    ddof: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
) -> Any:
    """The square root of the variance."""
    found = var(x, axis, correction=correction, ddof=ddof, dtype=dtype, keepdims=keepdims)
    return _into(elementwise.sqrt(found), out)


# --- truth values ---------------------------------------------------------------------------------


def _truth(x: AnyArray) -> Numbers:
    found = elementwise.as_dtype(manipulation.checked(x, "x").planes, BOOL)
    assert isinstance(found, Numbers)
    return found


def all(
    x: AnyArray, /, axis: Axis = None, *, keepdims: bool = False, out: AnyArray | None = None
) -> Any:
    """Whether all elements are true, or other than zero."""
    return _into(_reduced("all", _truth(x), axis, keepdims, "bool"), out)


def any(
    x: AnyArray, /, axis: Axis = None, *, keepdims: bool = False, out: AnyArray | None = None
) -> Any:
    """Whether one element is true, or other than zero."""
    return _into(_reduced("any", _truth(x), axis, keepdims, "bool"), out)


def count_nonzero(x: AnyArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements are true, or other than zero."""
    return _reduced("count", _truth(x), axis, keepdims, "int64")


# --- where extrema are ----------------------------------------------------------------------------


def _position(x: AnyArray, axis: int | None, keepdims: bool, largest: bool) -> Any:
    view = manipulation.checked(x, "x").planes
    if axis is not None and not isinstance(axis, int):
        axis = axes.named(axis, view.ndim)[0]
    over = axes.named(axis, view.ndim)
    rows, shape = axes.rows(view, over, _dense)
    return _shaped(order.position(rows, largest), shape, over, keepdims)


def argmax(
    x: AnyArray, /, axis: int | None = None, *, keepdims: bool = False, out: Any = None
) -> Any:
    """The index (int64) of the first of the largest elements, or of the first NaN.

    Over all elements in C order, or along an axis.
    """
    return _into(_position(x, axis, keepdims, True), out)


def argmin(
    x: AnyArray, /, axis: int | None = None, *, keepdims: bool = False, out: Any = None
) -> Any:
    """That of the first of the smallest, likewise."""
    return _into(_position(x, axis, keepdims, False), out)


# --- running --------------------------------------------------------------------------------------


def _running(
    op: str, x: AnyArray, axis: int | None, dtype: Any, initial: bool, out: AnyArray | None
) -> Any:
    what = "cumulative_sum" if op == "add" else "cumulative_prod"
    view = manipulation.checked(x, "x").planes
    if axis is None and view.ndim != 1:
        raise ArgumentError(f"{what}: axis: needed, the array has {view.ndim}")
    if not view.ndim:
        raise ShapeError(f"{what}: one axis at least is needed")
    (along,) = axes.named(0 if axis is None else axis, view.ndim)
    wanted = _sum_dtype(view) if dtype is None else dtypes.resolved(dtype)
    taken = elementwise.as_dtype(view, wanted)
    computed = wanted.arithmetic if isinstance(wanted, Format) else wanted
    taken = elementwise.as_dtype(taken, computed)
    rows, shape = axes.rows(taken, (along,), _dense)
    count = rows.shape[1] + initial
    made = moves.like(rows, (rows.shape[0], count))
    if initial:
        first = elementwise.like_number(elementwise.number(int(op == "mul"), computed), made)
        moves.copied(first, made.view((rows.shape[0],), (count,), 0))
    scan.over_rows(op, rows, made.view(rows.shape, made.strides, int(initial)))
    found = manipulation.moveaxis(wrapped(made.view_as((*shape, count))), -1, along)
    return _into(wrapped(elementwise.as_dtype(found.planes, wanted)), out)


def cumulative_sum(
    x: AnyArray,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
    out: AnyArray | None = None,
) -> Any:
    """Running sums along an axis, which vectors need not name; first a 0, if it is asked for."""
    return _running("add", x, axis, dtype, include_initial, out)


def cumulative_prod(
    x: AnyArray,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
    out: AnyArray | None = None,
) -> Any:
    """Running products, likewise; first a 1, if it is asked for."""
    return _running("mul", x, axis, dtype, include_initial, out)


def _edge(end: Any, x: AnyArray, axis: int) -> Any:
    """An array beside another along an axis: a number has length 1 there."""
    if end is None or (isinstance(end, Viewed) and end.ndim):
        return end
    (along,) = axes.named(axis, x.ndim)
    shape = tuple(1 if i == along else n for i, n in enumerate(x.shape))
    if isinstance(end, Viewed):
        return manipulation.broadcast_to(end, shape)
    limbs = elementwise.number(end, dtypes.of_view(x.planes), "diff")
    return manipulation.broadcast_to(wrapped(elementwise.like_number(limbs, x.planes)), shape)


def diff(
    x: AnyArray, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """Differences of neighbours along an axis, n times.

    *prepend*, *append*: what stands before and after, arrays or numbers.
    """
    x = manipulation.checked(x, "x")
    prepend, append = (_edge(end, x, axis) for end in (prepend, append))
    if n < 0:
        raise ArgumentError(f"diff: n: {n} given, a number from 0 on is needed")
    parts = [part for part in (prepend, x, append) if part is not None]
    found = manipulation.concat(parts, axis=axis) if len(parts) > 1 else x
    (along,) = axes.named(axis, x.ndim)
    lead = (slice(None),) * along
    name = "not_equal" if dtypes.of_view(x.planes) == BOOL else "subtract"
    for _ in range(n):
        upper, lower = found[(*lead, slice(1, None))], found[(*lead, slice(None, -1))]
        found = elementwise.call(name, upper, lower)
    return found


def ptp(x: AnyArray, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest less the smallest element."""
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


def average(x: AnyArray, axis: Axis = None, weights: Any = None) -> Any:
    """The mean, or that with weights, which broadcast with x."""
    if weights is None:
        return mean(x, axis)
    (x, weights) = elementwise.beside([manipulation.checked(x, "x"), weights])
    if weights.shape != x.shape and weights.ndim == 1 and isinstance(axis, int):
        ends = [1] * x.ndim
        ends[axis] = weights.size
        weights = weights.reshape(ends)
    spread = manipulation.broadcast_to(weights, x.shape)
    return sum(x * spread, axis) / sum(spread, axis)
