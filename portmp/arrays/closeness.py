"""Whether arrays are equal, or nearly."""

from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import creation, dtypes, elementwise, statistics, typed
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import FormatError, InputError, ShapeError
from portmp.formats import Format
from portmp.formats.meeting import fits

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]

_NOT_ALIKE = (FormatError, InputError, ShapeError)
"""What is raised where operands cannot be compared, so that they are not equal."""


def _arrays(a: Any, b: Any, exact: bool = True) -> tuple[Any, Any]:
    """Both as arrays, what is none like the other one.

    FormatError for NumPy's floats that the other's format does not hold, where they are to be
    *exact*.
    """
    like = a if isinstance(a, Viewed) else creation.asarray(b)
    return _like(a, like, exact), _like(b, like, exact)


def _like(x: Any, like: AnyArray, exact: bool) -> AnyArray:
    if isinstance(x, Viewed):
        return x
    kind = like.dtype
    made = creation.array(x, kind, like.queue)
    if not exact or not isinstance(x, np.ndarray) or not isinstance(kind, Format):
        return made
    plain = x.dtype.name in ("float32", "float64")
    if plain and fits(formats.get(x.dtype.name), kind):
        return made
    if x.dtype.kind == "f" and not np.array_equal(made.to_numpy(x.dtype), x, equal_nan=True):
        raise FormatError(
            f"array: an array of {x.dtype} given, {kind.name} does not hold all of it: "
            f"portmp.array(x, {kind.name!r}) rounds"
        )
    return made


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and equal elements, to the last digit.

    Waits for the device.
    """
    try:
        first, second = _arrays(a1, a2)
    except _NOT_ALIKE:
        return False
    return first.shape == second.shape and bool(statistics.all(same(first, second, equal_nan)))


def same(a: AnyArray, b: AnyArray, equal_nan: bool = True) -> Any:
    """Which elements of two arrays are equal, to the last digit."""
    found = elementwise.equal(a, b)
    if not equal_nan:
        return found
    both = elementwise.logical_and(elementwise.isnan(a), elementwise.isnan(b))
    return elementwise.logical_or(found, both)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays broadcast together and have equal elements. Waits for the device."""
    try:
        found = elementwise.equal(*_arrays(a1, a2))
    except _NOT_ALIKE:
        return False
    return bool(statistics.all(found))


@typed.gives(typed.PlainArray)
def isclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> AnyArray:
    """Whether |a - b| <= atol + rtol |b|, in full format; the tolerances are NumPy's."""
    first, second = _arrays(a, b, exact=False)
    kind = elementwise.common_dtype("isclose", (first, second))
    if not isinstance(kind, Format):
        kind = dtypes.default()
    first, second = first.astype(kind, copy=False), second.astype(kind, copy=False)
    # The tolerances' own digits matter to nobody.
    rtol, atol = (Fraction(t) if isinstance(t, float) and isfinite(t) else t for t in (rtol, atol))
    near = elementwise.abs(first - second) <= elementwise.abs(second) * rtol + atol
    finite = elementwise.logical_and(elementwise.isfinite(first), elementwise.isfinite(second))
    near = elementwise.logical_and(near, finite)
    return elementwise.logical_or(near, same(first, second, equal_nan))


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close as ``isclose`` has it. Waits for the device."""
    return bool(statistics.all(isclose(a, b, rtol, atol, equal_nan)))
