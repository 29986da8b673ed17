"""Whether arrays are equal, or nearly."""

from __future__ import annotations

from typing import Any

from portmp.arrays import creation, dtypes, elementwise, statistics
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import PortmpError
from portmp.formats import Format


def _arrays(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as arrays, what is none like the other one."""
    like = a if isinstance(a, Viewed) else creation.asarray(b)
    made = [
        x if isinstance(x, Viewed) else creation.array(x, dtypes.of_view(like.planes), like.queue)
        for x in (a, b)
    ]
    return made[0], made[1]


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and equal elements, to the last digit. A wait."""
    try:
        first, second = _arrays(a1, a2)
    except PortmpError:
        return False
    if first.shape != second.shape:
        return False
    same = elementwise.equal(first, second)
    if equal_nan:
        both = elementwise.logical_and(elementwise.isnan(first), elementwise.isnan(second))
        same = elementwise.logical_or(same, both)
    return bool(statistics.all(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays broadcast together and have equal elements. A wait."""
    try:
        return bool(statistics.all(elementwise.equal(*_arrays(a1, a2))))
    except PortmpError:
        return False


def isclose(
    a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False
) -> AnyArray:
    """Whether |a - b| <= atol + rtol |b|, in full format; the tolerances are NumPy's."""
    first, second = _arrays(a, b)
    kind = dtypes.promoted(dtypes.of_view(first.planes), dtypes.of_view(second.planes), "isclose")
    if not isinstance(kind, Format):
        kind = dtypes.default()
    first, second = first.astype(kind, copy=False), second.astype(kind, copy=False)
    near = elementwise.abs(first - second) <= elementwise.abs(second) * rtol + atol
    finite = elementwise.logical_and(elementwise.isfinite(first), elementwise.isfinite(second))
    found = elementwise.logical_or(near & finite, elementwise.equal(first, second))
    if equal_nan:
        found = found | (elementwise.isnan(first) & elementwise.isnan(second))
    return found


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close as ``isclose`` has it. A wait."""
    return bool(statistics.all(isclose(a, b, rtol, atol, equal_nan)))
