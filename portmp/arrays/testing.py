"""Assertions about arrays in full format, by the names of numpy.testing.

NumPy's own compare what float64 holds, and refuse arrays that hold more.
"""

from typing import Any

from portmp.arrays import closeness, creation, elementwise, manipulation, statistics
from portmp.arrays.viewed import Viewed

__all__ = [
    "assert_allclose",
    "assert_almost_equal",
    "assert_array_almost_equal",
    "assert_array_equal",
    "assert_array_less",
    "assert_equal",
]


def _both(actual: Any, desired: Any, exact: bool = True) -> tuple[Any, Any]:
    """Two arrays of one dtype; of two lists such as ``asarray`` makes.

    NumPy's floats must be held by the other's format, where they are to be *exact*.
    """
    if not isinstance(actual, Viewed) and not isinstance(desired, Viewed):
        actual = creation.asarray(actual)
    return closeness._arrays(actual, desired, exact)


def _checked(good: Any, a: Any, b: Any, what: str, message: str) -> None:
    """AssertionError that names the first element for which truth values are false."""
    wrong = elementwise.logical_not(good)
    count = int(statistics.count_nonzero(wrong))
    if not count:
        return
    place = int(statistics.argmax(wrong.astype("int8")))
    spread = (manipulation.broadcast_to(x, good.shape) for x in (a, b))
    first, second = (manipulation.ravel(x)[place] for x in spread)
    raise AssertionError(
        f"{message + ': ' if message else ''}{what}: {count} of {good.size} elements are not; the "
        f"first, at place {place}: {first} and {second}"
    )


def _shapes(a: Any, b: Any, what: str, strict: bool = False) -> None:
    if a.shape != b.shape and (strict or (a.ndim and b.ndim)):
        raise AssertionError(f"{what}: shapes {a.shape} and {b.shape} differ")


def assert_array_equal(
    actual: Any, desired: Any, err_msg: str = "", *, strict: bool = False
) -> None:
    """That all elements are equal, to the last digit; NaN equals NaN. *strict*: shapes and dtypes
    are, too, else a number stands for as many as there are.
    """
    a, b = _both(actual, desired)
    _shapes(a, b, "equal", strict)
    if strict and a.dtype != b.dtype:
        raise AssertionError(f"equal: dtypes {a.dtype} and {b.dtype} differ")
    _checked(closeness.same(a, b), a, b, "equal", err_msg)


def assert_equal(actual: Any, desired: Any, err_msg: str = "") -> None:
    """The same, item by item of lists and dictionaries that hold arrays."""
    if isinstance(desired, dict):
        assert isinstance(actual, dict) and actual.keys() == desired.keys(), err_msg
        for key, value in desired.items():
            assert_equal(actual[key], value, err_msg)
    elif isinstance(desired, (list, tuple)) and any(
        isinstance(x, (Viewed, list, tuple, dict, str)) for x in desired
    ):
        assert isinstance(actual, (list, tuple)) and len(actual) == len(desired), err_msg
        for one, other in zip(actual, desired, strict=True):
            assert_equal(one, other, err_msg)
    elif isinstance(actual, Viewed) or isinstance(desired, Viewed):
        assert_array_equal(actual, desired, err_msg)
    elif isinstance(actual, (int, float)) and isinstance(desired, (int, float)):
        assert_array_equal(creation.asarray(actual), desired, err_msg)
    else:
        assert actual == desired, err_msg or f"{actual!r} and {desired!r}"


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: Any = 1e-7,
    atol: Any = 0,
    equal_nan: bool = True,
    err_msg: str = "",
) -> None:
    """That |actual - desired| <= atol + rtol |desired| in full format."""
    a, b = _both(actual, desired, exact=False)
    _shapes(a, b, "close")
    near = closeness.isclose(a, b, rtol, atol, equal_nan)
    _checked(near, a, b, f"close (rtol {rtol}, atol {atol})", err_msg)


def assert_almost_equal(actual: Any, desired: Any, decimal: int = 7, err_msg: str = "") -> None:
    """That |actual - desired| < 1.5 10^-decimal in full format."""
    a, b = _both(actual, desired, exact=False)
    _shapes(a, b, "almost equal")
    good = closeness.same(a, b) | (elementwise.abs(a - b) < f"1.5e{-decimal}")
    _checked(good, a, b, f"almost equal ({decimal} decimals)", err_msg)


assert_array_almost_equal = assert_almost_equal


def assert_array_less(x: Any, y: Any, err_msg: str = "") -> None:
    """That all elements of x are less than those of y."""
    a, b = _both(x, y)
    _shapes(a, b, "less")
    _checked(elementwise.less(a, b), a, b, "less", err_msg)
