"""Sums, products, extrema, means and variances, over all elements or along axes."""

# mypy: disable-error-code="type-abstract"
import math
from fractions import Fraction
from typing import Any, Literal

from portmp import formats
from portmp.arrays import complexes, composed, creation, dtypes, elementwise, manipulation, typed
from portmp.arrays.dtypes import BOOL, INTEGER, Dtype
from portmp.arrays.foreign import as_they_are
from portmp.arrays.viewed import AnyArray, Viewed, called, everywhere, integers, wrapped
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import Format, foreign
from portmp.routines import axes, base
from portmp.routines.bounds import certified
from portmp.routines.elementwise import launch as routine
from portmp.routines.exact import launch as exact
from portmp.routines.moves import launch as moves
from portmp.routines.order import launch as order
from portmp.routines.plain import reduction
from portmp.routines.reduce import launch as reduce
from portmp.routines.scan import launch as scan
from portmp.runtime.planes import Numbers, Planes, View, dense_strides

__all__ = ["all", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum"]
__all__ += ["cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "ptp", "std"]
__all__ += ["sum", "var"]

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


def _chosen(x: AnyArray, where: Any, neutral: Any) -> AnyArray:
    """x with a number that counts for nothing where *where* is false."""
    if where is True:
        return x
    given = manipulation.checked(x, "x")
    return elementwise.where(_mask(given, where), given, neutral)


def _mask(x: AnyArray, where: Any) -> AnyArray:
    """Truth values, one for each element of x."""
    mask = elementwise.arrayed(where, "where")
    if mask.dtype != BOOL:
        raise FormatError(f"where: {mask.dtype} given, truth values are needed")
    return manipulation.broadcast_to(mask, x.shape)


def _begun(name: str, found: Any, initial: Any) -> Any:
    """A result with a number that the reduction begins with."""
    return found if initial is None else elementwise.call(name, initial, found)


def _reduced(kind: str, view: View[Any], axis: Axis, keepdims: bool, dtype: str = "") -> Any:
    over = axes.named(axis, view.ndim)
    if isinstance(view, Planes):
        formats.real_only(view.format, kind)
    if kind in ("max", "min") and 0 in [view.shape[i] for i in over]:
        raise ShapeError(f"{kind}: an empty array has none")
    rows, shape = axes.rows(view, over, _dense)
    if isinstance(rows, Planes):
        return _shaped(reduce.over_rows(kind, rows), shape, over, keepdims)
    assert isinstance(rows, Numbers)
    return _shaped(reduction.over_rows(kind, rows, dtype), shape, over, keepdims)


def _into(found: Any, out: AnyArray | None) -> Any:
    return found if out is None else elementwise.given_back(found.planes, out)


def _of_complex(function: Any, x: Any, dtype: Any, *more: Any, **named: Any) -> Any:
    """Sums and the like of complex numbers: of each part by itself."""
    return complexes.by_parts(function, _taken(x, dtype), *more, **named)


def _taken(x: Any, dtype: Any) -> Any:
    """Numbers as those of a dtype that is asked for."""
    wanted = x.dtype if dtype is None else dtypes.resolved(dtype, own=x.dtype)
    return wrapped(elementwise.as_dtype(x.planes, wanted))


def _complex(x: Any, dtype: Any) -> bool:
    """Whether numbers are complex, or are to become so."""
    asked = None if dtype is None else dtypes.resolved(dtype, own=getattr(x, "dtype", None))
    return complexes.is_complex(x) or complexes.is_complex_format(asked)


def _product(x: AnyArray, axis: Axis, dtype: Any, keepdims: bool) -> Any:
    """The product of complex numbers along axes, in C order.

    Definition: as long as there are several, the first half times the second, element by element;
    of an odd number the last one is kept for the next step.
    """
    wanted = x.dtype if dtype is None else dtypes.resolved(dtype, own=x.dtype)
    view = elementwise.as_dtype(x.planes, wanted)
    over = axes.named(axis, view.ndim)
    rows, shape = axes.rows(view, over, _dense)
    found = wrapped(rows)
    if not found.shape[1]:
        found = creation.ones((found.shape[0], 1), wanted, x.queue)
    while (count := found.shape[1]) > 1:
        half = count // 2
        pairs = found[:, :half] * found[:, half : 2 * half]
        rest = found[:, 2 * half :]
        found = manipulation.concat([pairs, rest], axis=1) if count % 2 else pairs
    return _shaped(_dense(found.planes), shape, over, keepdims)


def _summed(
    kind: str, x: Any, axis: Axis, dtype: Any, keepdims: bool, out: Any, initial: Any, where: Any
) -> Any:
    neutral, operation = (0, "add") if kind == "sum" else (1, "multiply")
    chosen = manipulation.checked(_chosen(x, where, neutral), "x")
    if _complex(chosen, dtype):
        if kind == "sum":
            found = _of_complex(sum, chosen, dtype, axis, keepdims=keepdims)
        else:
            found = _product(chosen, axis, dtype, keepdims)
        return _into(_begun(operation, found, initial), out)
    view = chosen.planes
    wanted = _sum_dtype(view, dtype)
    if isinstance(view, Planes) or isinstance(wanted, Format):
        view = elementwise.as_dtype(view, wanted)
    found = _reduced(kind, view, axis, keepdims, str(wanted))
    return _into(_begun(operation, found, initial), out)


def _sum_dtype(view: View[Any], dtype: Any) -> Dtype:
    own = dtypes.of_view(view)
    if dtype is not None or isinstance(own, Format):
        return dtypes.resolved(dtype, own=own)
    return INTEGER if own.kind in "ib" else dtypes.resolved("uint64")


@typed.as_(typed.Summed)
@as_they_are
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
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Sums over all elements or along axes; of integers and truth values in 64 bits.

    *rounding* and *bound* of values as of ``dot``: the exact sum, rounded once; or two arrays, the
    sum and what its error is not above. *initial* is added to each sum. *where*: which elements
    count, truth values that broadcast; the others are taken as 0.
    """
    if rounding is not None or bound is not False:
        if initial is not None:
            raise ArgumentError("sum: initial: given with rounding or bound, which sum x alone")
        if complexes.is_complex(x):
            chosen, options = _chosen(x, where, 0), {"keepdims": keepdims, "rounding": rounding}
            if bound is False:
                return _into(_of_complex(sum, chosen, dtype, axis, **options), out)
            halves = complexes.halves(_taken(chosen, dtype))
            pairs = [sum(half, axis, out=out, bound=bound, **options) for half in halves]
            return tuple(complexes.joined(*both) for both in zip(*pairs, strict=True))
        return _certified(_chosen(x, where, 0), axis, dtype, keepdims, out, rounding, bound)
    return _summed("sum", x, axis, dtype, keepdims, out, initial, where)


def _certified(
    x: Any, axis: Axis, dtype: Any, keepdims: bool, out: Any, rounding: str | None, bound: Any
) -> Any:
    """Sums that are rounded once, or with what their errors are not above."""
    view = manipulation.checked(x, "x").planes
    if dtype is not None:
        view = elementwise.as_dtype(view, dtypes.resolved(dtype, own=dtypes.of_view(view)))
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
        error = certified.over_rows_error_bound(value, rows)
    else:
        value, error = certified.over_rows(rows)
    return _shaped(value, shape, over, keepdims), _shaped(error, shape, over, keepdims)


@typed.as_(typed.Summed)
@everywhere
def prod(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Products of all elements, or along axes; where *where* is false 1 is taken.

    *initial* is a factor more; *dtype* and *out* as of ``sum``.
    """
    return _summed("prod", x, axis, dtype, keepdims, out, initial, where)


def _with_one(view: View[Any], axis: Axis, initial: Any) -> View[Any]:
    """Axes without elements, over which extrema are taken, with one: the number to begin with."""
    over = axes.named(axis, view.ndim)
    shape = tuple(1 if i in over and not n else n for i, n in enumerate(view.shape))
    one = elementwise.like_number(elementwise.number(initial, dtypes.of_view(view)), view)
    return one.broadcast_to(shape)


def _extremum(kind: str, about: str) -> Any:
    def extremum(
        x: AnyArray,
        /,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        out: AnyArray | None = None,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if where is not True and initial is None:
            raise ArgumentError(
                f"{kind}: where: given without initial, which is the result where nothing counts"
            )
        view = manipulation.checked(_chosen(x, where, initial), "x").planes
        if initial is not None and 0 in view.shape:
            view = _with_one(view, axis, initial)
        found = _reduced(kind, view, axis, keepdims, str(view.elements))
        return _into(_begun(f"{kind}imum", found, initial), out)

    about = f"{about}\n\n*initial* is one of the numbers, and the result where there are no others."
    about += " *where*, for which it\nis needed: which elements count, truth values that broadcast."
    return everywhere(called(extremum, kind, about))


max: typed.Reduced = _extremum("max", "The largest of all elements or along axes; NaN propagates.")
min: typed.Reduced = _extremum("min", "The smallest of all elements or along axes; NaN propagates.")


# --- means ----------------------------------------------------------------------------------------


def _values(x: AnyArray, dtype: Any, what: str) -> AnyArray:
    """x in a format: its own, the default one for integers, or what is asked for."""
    if dtype is None and isinstance(x, Viewed) and isinstance(x.dtype, Format):
        return x
    view = manipulation.checked(x, "x").planes
    own = dtypes.of_view(view)
    wanted = dtypes.resolved(dtype, own=own) if dtype is not None else own
    if dtype is None and not isinstance(own, Format):
        wanted = dtypes.promoted(own, dtypes.default(), what)
    if not isinstance(wanted, Format):
        raise FormatError(f"{what}: {wanted} asked for, a format is needed")
    return wrapped(elementwise.as_dtype(view, wanted))


def _count(x: AnyArray, axis: Axis) -> int:
    return math.prod(x.shape[i] for i in axes.named(axis, x.ndim))


def _counted(values: AnyArray, axis: Axis, keepdims: bool, where: Any) -> Any:
    """How many elements count: an exact number, or with *where* values in the format."""
    if where is True:
        return Fraction(_count(values, axis))
    there = count_nonzero(_mask(values, where), axis=axis, keepdims=keepdims)
    return there.astype(values.dtype)


def near_one(x: AnyArray, axis: Axis, where: Any = True) -> tuple[AnyArray, AnyArray]:
    """x over powers of two, so that magnitudes along axes are below 1; and the powers (int64)."""
    power = composed.exponents(max(elementwise.abs(x), axis, keepdims=True, initial=0, where=where))
    return composed.times_powers(x, -power), power


def scaled_back(found: AnyArray, power: AnyArray) -> Any:
    """Results times powers of two that have axes of length 1 for those that are gone."""
    return composed.times_powers(found, power.reshape(found.shape))


@typed.as_(typed.Averaged)
def mean(
    x: AnyArray,
    /,
    axis: Axis = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: AnyArray | None = None,
    where: Any = True,
) -> Any:
    """The sum divided by the number of elements, or of those where *where* is true.

    Where that leaves the format's range, of x over a power of two: it reads the result.
    """
    values = _values(x, dtype, "mean")
    if complexes.is_complex(values):
        found = complexes.by_parts(mean, values, axis, keepdims=keepdims, where=where)
        return _into(found, out)
    count = _counted(values, axis, keepdims, where)
    found = sum(values, axis, keepdims=keepdims, where=where) / count
    if not composed.in_range(found) and values.size:
        near, power = near_one(values, axis, where)
        found = sum(near, axis, keepdims=keepdims, where=where) / count
        found = scaled_back(found, power)
    return _into(found, out)


def _spread(name: str, about: str) -> Any:
    of_all = mean

    def spread(
        x: AnyArray,
        /,
        axis: Axis = None,
        *,
        correction: Any = 0,
        ddof: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        out: AnyArray | None = None,
        where: Any = True,
        mean: Any = None,
    ) -> Any:
        if ddof is not None and correction != 0:
            raise ArgumentError(f"{name}: correction: given beside ddof, which is the same")
        values = _values(x, dtype, name)
        if complexes.is_complex(values):
            told = {"axis": axis, "correction": correction, "ddof": ddof, "where": where}
            centres: Any = (None, None)
            if mean is not None:
                given = elementwise.as_arrays([values, mean], ("x", f"{name}: mean"))[1]
                centres = composed.real(given), composed.imag(given)
            parts = list(zip(complexes.halves(values), centres, strict=True))
            squares = [var(part, **told, keepdims=keepdims, mean=centre) for part, centre in parts]
            found = squares[0] + squares[1]
            if name == "std" and values.size and not composed.in_range(found, least=True):
                each = [std(part, **told, keepdims=keepdims, mean=centre) for part, centre in parts]
                return _into(elementwise.abs(complexes.joined(*each)), out)
            return _into(elementwise.sqrt(found) if name == "std" else found, out)
        less = ("correction", correction) if ddof is None else ("ddof", ddof)
        exact = foreign.exact(less[1], f"{name}: {less[0]}")
        left = _counted(values, axis, keepdims, where) - exact
        left = elementwise.maximum(left, 0) if where is not True else left if left > 0 else 0
        if mean is None:
            centre = of_all(values, axis, keepdims=True, where=where)
        else:
            over = axes.named(axis, values.ndim)
            shape = tuple(1 if i in over else n for i, n in enumerate(values.shape))
            centre = elementwise.as_arrays([values, mean], ("x", f"{name}: mean"))[1]
            centre = manipulation.broadcast_to(centre, shape)
        differences, power = values - centre, None
        found = sum(differences * differences, axis, keepdims=keepdims, where=where) / left
        if values.size and not composed.in_range(found, least=True):
            differences, power = near_one(values / 2 - centre / 2, axis, where)
            found = sum(differences * differences, axis, keepdims=keepdims, where=where) / left
        found = elementwise.sqrt(found) if name == "std" else found
        if power is not None:
            found = scaled_back(found, (power + 1) * (1 if name == "std" else 2))
        return _into(found, out)

    return called(spread, name, about)


var: typed.Spread = _spread(
    "var",
    """The sum of squares of the differences from the mean, divided by n - *correction*.

    *ddof* is NumPy's name for the correction. *where*: which elements count. *mean*: the mean where
    it is known, with the axes that ``keepdims`` leaves. Where squares leave the format's range, of
    differences over a power of two: it reads the result.
    """,
)
std: typed.Spread = _spread(
    "std", "The square root of the variance, whose own range does not matter."
)


# --- truth values ---------------------------------------------------------------------------------


def _truth(x: AnyArray) -> Numbers:
    found = elementwise.as_dtype(manipulation.checked(x, "x").planes, BOOL)
    assert isinstance(found, Numbers)
    return found


def _of_truth(name: str, neutral: int, about: str) -> Any:
    def of_truth(
        x: AnyArray,
        /,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        out: AnyArray | None = None,
        where: Any = True,
    ) -> Any:
        truth = _truth(_chosen(x, where, neutral))
        return _into(_reduced(name, truth, axis, keepdims, "bool"), out)

    about = f"{about}, or other than zero, where *where* is true."
    return everywhere(called(of_truth, name, about))


all: typed.Truth = _of_truth("all", 1, "Whether all elements are true")
any: typed.Truth = _of_truth("any", 0, "Whether one element is true")


@typed.gives(typed.PlainArray)
def count_nonzero(x: AnyArray, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements are true, or other than zero."""
    return _reduced("count", _truth(x), axis, keepdims, "int64")


# --- where extrema are ----------------------------------------------------------------------------


def _position(name: str, about: str) -> Any:
    def position(
        x: AnyArray, /, axis: int | None = None, *, keepdims: bool = False, out: Any = None
    ) -> Any:
        view = manipulation.checked(x, "x").planes
        if isinstance(view, Planes):
            formats.real_only(view.format, name)
        over = axes.named(axis, view.ndim, count=None if axis is None else 1)
        rows, shape = axes.rows(view, over, _dense)
        return _into(_shaped(order.position(rows, name == "argmax"), shape, over, keepdims), out)

    about = f"The index (int64) of the first of the {about} elements, or of the first NaN."
    return called(position, name, f"{about}\n\nOver all elements in C order, or along an axis.")


argmax: typed.Position = _position("argmax", "largest")
argmin: typed.Position = _position("argmin", "smallest")


# --- running --------------------------------------------------------------------------------------


def _running(op: str, name: str, about: str) -> Any:
    def running(
        x: AnyArray,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
        out: AnyArray | None = None,
    ) -> Any:
        given = manipulation.checked(x, "x")
        view = given.planes
        if _complex(given, dtype) and view.ndim and (axis is not None or view.ndim == 1):
            if op == "mul":
                return _into(_running_product(given, dtype, axis, include_initial), out)
            options = {"axis": axis, "include_initial": include_initial}
            return _into(_of_complex(running, given, dtype, **options), out)
        if axis is None and view.ndim != 1:
            raise ArgumentError(f"{name}: axis: needed, the number of axes is {view.ndim}")
        if not view.ndim:
            raise ShapeError(f"{name}: one axis at least is needed")
        (along,) = axes.named(0 if axis is None else axis, view.ndim, count=1)
        wanted = _sum_dtype(view, dtype)
        taken = elementwise.as_dtype(view, wanted)
        computed = wanted.arithmetic if isinstance(wanted, Format) else wanted
        taken = elementwise.as_dtype(taken, computed)
        rows, shape = axes.rows(taken, (along,), _dense)
        count = rows.shape[1] + include_initial
        made = moves.like(rows, (rows.shape[0], count))
        if include_initial:
            first = elementwise.like_number(elementwise.number(int(op == "mul"), computed), made)
            moves.copied(first, made.view((rows.shape[0],), (count,), 0))
        scan.over_rows(op, rows, made.view(rows.shape, made.strides, int(include_initial)))
        found = manipulation.moveaxis(wrapped(made.view_as((*shape, count))), -1, along)
        return _into(wrapped(elementwise.as_dtype(found.planes, wanted)), out)

    return called(running, name, about)


def _running_product(x: AnyArray, dtype: Any, axis: int | None, include_initial: bool) -> Any:
    """Running products of complex numbers along an axis.

    Definition: for d = 1, 2, 4 ... each element with one d places before it becomes that one times
    it, all at once.
    """
    found = manipulation.moveaxis(_taken(x, dtype), 0 if axis is None else axis, -1)
    apart = 1
    while apart < found.shape[-1]:
        later = found[..., :-apart] * found[..., apart:]
        found = manipulation.concat([found[..., :apart], later], axis=-1)
        apart *= 2
    if include_initial:
        first = creation.ones((*found.shape[:-1], 1), found.dtype, x.queue)
        found = manipulation.concat([first, found], axis=-1)
    moved = manipulation.moveaxis(found, -1, 0 if axis is None else axis)
    return moved.copy()


cumulative_sum: typed.Running = _running(
    "add",
    "cumulative_sum",
    "Running sums along an axis, which vectors need not name; first a 0, if it is asked for.",
)
cumulative_prod: typed.Running = _running(
    "mul", "cumulative_prod", "Running products along an axis; *include_initial* puts a 1 first."
)


def _cumulative(function: Any) -> Any:
    """Running results of all elements in C order where no axis is named, as NumPy has them."""

    def method(x: Any, axis: int | None = None, **options: Any) -> Any:
        x = manipulation.checked(x, "x")
        if axis is None:
            return function(manipulation.ravel(x), axis=0, **options)
        return function(x, axis=axis, **options)

    method.__doc__ = function.__doc__
    return method


cumsum: typed.OwnKind = _cumulative(cumulative_sum)
cumprod: typed.OwnKind = _cumulative(cumulative_prod)


def _edge(end: Any, x: AnyArray, axis: int) -> Any:
    """An array beside another along an axis: a number has length 1 there."""
    if end is None or (isinstance(end, Viewed) and end.ndim) or not elementwise.is_number(end):
        return end if end is None else elementwise.as_arrays([x, end], "diff: end")[1]
    (along,) = axes.named(axis, x.ndim, count=1)
    shape = tuple(1 if i == along else n for i, n in enumerate(x.shape))
    if isinstance(end, Viewed):
        return manipulation.broadcast_to(end, shape)
    limbs = elementwise.number(end, x.dtype, "diff")
    return manipulation.broadcast_to(wrapped(elementwise.like_number(limbs, x.planes)), shape)


@typed.keeps
def diff(
    x: AnyArray, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """Differences of neighbours along an axis, n times.

    *prepend*, *append*: what stands before and after, arrays or numbers.
    """
    x = elementwise.as_arrays(
        [x, *(end for end in (prepend, append) if isinstance(end, Viewed))], "diff: x"
    )[0]
    prepend, append = (_edge(end, x, axis) for end in (prepend, append))
    (n,) = integers((n,), "diff: n", count=1)
    if n < 0:
        raise ArgumentError(f"diff: n: {n} given, a number from 0 on is needed")
    parts = [part for part in (prepend, x, append) if part is not None]
    found = manipulation.concat(parts, axis=axis) if len(parts) > 1 else x
    (along,) = axes.named(axis, x.ndim, count=1)
    lead = (slice(None),) * along
    name = "not_equal" if x.dtype == BOOL else "subtract"
    for _ in range(n):
        upper, lower = found[(*lead, slice(1, None))], found[(*lead, slice(None, -1))]
        found = elementwise.call(name, upper, lower)
    return found


@typed.as_(typed.Reduced)
def ptp(x: AnyArray, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The largest less the smallest element."""
    if complexes.is_complex(x):
        formats.real_only(x.dtype, "ptp")
    return _into(max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims), out)


def spread_weights(weights: AnyArray, x: AnyArray, axis: Axis, what: str) -> Any:
    """A weight for each element: weights have the shape of x, or of its axes in their order."""
    if weights.shape != x.shape and axis is not None:
        over = axes.named(axis, x.ndim)
        if weights.shape != tuple(x.shape[i] for i in over):
            raise ShapeError(
                f"{what}: weights {weights.shape} given, {x.shape} is needed, or the lengths of "
                f"axis {axis}"
            )
        order = sorted(range(len(over)), key=over.__getitem__)
        lengths = [n if i in over else 1 for i, n in enumerate(x.shape)]
        weights = weights.transpose(*order).reshape(lengths)
    return manipulation.broadcast_to(weights, x.shape)


@typed.as_(typed.Weighted)
def average(
    x: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean, or that with weights: of the shape of x, or of its *axis*, in their order.

    *returned*: a pair, with the sums of the weights.
    """
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        count = Fraction(_count(manipulation.checked(x, "x"), axis))
        return (found, creation.full_like(found, count)) if returned else found
    x, weights = elementwise.as_arrays([x, weights], ("average: x", "average: weights"))
    x, weights = _values(x, None, "average"), _values(weights, None, "average")
    spread = spread_weights(weights, x, axis, "average")
    total = sum(spread, axis, keepdims=keepdims)
    found = sum(x * spread, axis, keepdims=keepdims) / total
    if complexes.is_complex(found):
        return (found, total) if returned else found
    if not composed.in_range(found, least=True) and x.size:
        near, power = near_one(x, axis)
        light, _ = near_one(spread, axis)
        found = sum(near * light, axis, keepdims=keepdims) / sum(light, axis, keepdims=keepdims)
        found = scaled_back(found, power)
    return (found, total) if returned else found
