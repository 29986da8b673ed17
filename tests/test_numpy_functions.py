"""No function of NumPy or of scipy.linalg loses digits of an Array without a word.

All public functions are called with arrays whose values no float64 holds. What comes back is an
Array, plain facts (shapes, truth values, integers), exact numbers, or an error of portmp's that
names what to do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, PortmpError, UnsupportedError

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.linalg")

UNCALLED = [
    "asmatrix",
    "bmat",
    "fromfile",
    "fromfunction",
    "fromregex",
    "frompyfunc",
    "genfromtxt",
    "info",
    "load",
    "loadtxt",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "set_printoptions",
    "seterr",
    "seterrcall",
    "setbufsize",
    "show_config",
    "show_runtime",
    "test",
    "printoptions",
    "errstate",
    "get_include",
    "getbufsize",
    "geterr",
    "geterrcall",
    "get_printoptions",
    "nested_iters",
    "mgrid",
    "ogrid",
    "r_",
    "c_",
    "s_",
    "index_exp",
    "iterable",
    "isfortran",
    "typename",
    "busday_count",
    "busday_offset",
    "is_busday",
    "datetime_as_string",
    "datetime_data",
    "tri",
]
"""Files, settings, dates, and what takes lengths; np.save and np.savetxt have a test below."""


def _functions() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        found = pytest.importorskip(module)
        for name in sorted(dir(found)):
            value = getattr(found, name)
            if name[0] == "_" or name in UNCALLED or isinstance(value, type):
                continue
            if callable(value) and not inspect.isclass(value):
                yield module, name


def _arguments(a: Any, v: Any, module: str) -> list[tuple[Any, ...]]:
    """Calls of all kinds: whoever takes arrays takes one of these."""
    ones: list[tuple[Any, ...]] = [(a,), (v,), (a, a), (v, v), (a, v), (a, 1), (v, 1)]
    more: list[tuple[Any, ...]] = [(a, a, a), (v, v, v), (v, 1, 1), (v, v, 1), (a, 0, 1), (a, 2, 2)]
    more += [(v, 0.5), (v, [0, 1]), (v, [0], v[:1]), (a, (0, 1)), (a, 1, a), (v, v, v, v)]
    lists: list[tuple[Any, ...]] = [([a, a],), ([v, v],), ([a, a], 0), ((v, v), v), (v, (v, v))]
    chosen: list[tuple[Any, ...]] = [(v > 0, v, v), (v > 0, v), (a, [v > 0]), (v[0], v[1], 4)]
    chosen += [("i,i", v, v), ("ij,jk", a, a), (v, abs), (abs, v), (abs, 0, a)]
    # Here the first argument is data of its own for functions of other modules.
    of_numpy: list[tuple[Any, ...]] = [(1, v), (3, v), ((2, 2), v)]
    return [*ones, *more, *lists, *chosen, *(of_numpy if module == "numpy" else [])]


NAMED = r"to_float64|array of portmp's is needed"
EXACT = (int, bool, str, bytes, Fraction, type(None), np.integer, np.bool_, mp.Array, mp.PlainArray)


def _loses(found: Any, depth: int = 0) -> bool:
    """Whether something that was computed holds float64 (or shorter) numbers."""
    if isinstance(found, (float, complex, np.floating, np.complexfloating)):
        return True
    if isinstance(found, EXACT) or depth > 4:
        return False
    if isinstance(found, np.ndarray):
        if found.dtype.kind in "fc":
            return found.size > 0
        return found.dtype.kind == "O" and any(_loses(x, depth + 1) for x in found.ravel().tolist())
    if isinstance(found, dict):
        return any(_loses(x, depth + 1) for x in found.values())
    if isinstance(found, (list, tuple)):
        return any(_loses(x, depth + 1) for x in found)
    if isinstance(found, Iterator):
        return any(_loses(x, depth + 1) for x in found)
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "name"), list(_functions()))
def test_no_digits_are_lost(module: str, name: str, device: Device) -> None:
    """Called in many ways: what is no error is no float."""
    function: Callable[..., Any] = getattr(pytest.importorskip(module), name)
    third = Fraction(1, 3)
    a = mp.array([[1 + third, third], [third, 2 + third]], "dd", device)
    v = mp.array([third, 1 + third], "dd", device)
    for arguments in _arguments(a, v, module):
        try:
            found = function(*arguments)
        except PortmpError as error:
            # What is not there names what there is.
            assert not isinstance(error, UnsupportedError) or re.search(NAMED, str(error))
            continue
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, BufferError):
            continue
        except (NotImplementedError, AssertionError):
            continue
        assert not _loses(found), (arguments, found)


def test_what_float64_would_hide(device: Device, tmp_path: Any) -> None:
    """Arrays that differ in the 26th digit differ; files and series are refused by name."""
    x = mp.array(["1.00000000000000000000000001", "2"], "dd", device)
    y = mp.array(["1", "2"], "dd", device)
    assert not np.array_equal(x, y) and np.array_equal(x, x.copy())
    assert np.concatenate([x, y]).format.name == "dd"
    assert (np.mean(x) * 2 - 3).to_strings() != "0"
    assert np.where(x > y, x, y).to_fractions()[0] == x.to_fractions()[0]
    assert np.add.reduce(x).to_fractions() == sum(x.to_fractions())
    for refused in (
        lambda: np.save(tmp_path / "x.npy", x),
        lambda: np.savetxt(tmp_path / "x.txt", x),
        lambda: np.testing.assert_array_equal(x, x),  # it asks for NumPy's arrays
        lambda: np.asarray(x),
        lambda: np.array(x, np.float64),
    ):
        with pytest.raises(UnsupportedError, match="to_float64"):
            refused()
    assert np.asarray(x[0], object).item() == x[0].item()
    one = mp.array([0.5, 1.5], "float64", device)
    assert np.asarray(one).tolist() == [0.5, 1.5]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # which brought the argument
        with pytest.raises(ValueError, match="copy"):
            np.asarray(one, copy=False)


REDUCTIONS = (np.add, np.multiply, np.maximum, np.minimum)


@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 1)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_reductions_by_universal_functions_take_all_options(
    axis: Any, keepdims: bool, device: Device
) -> None:
    """None is no option that was not given."""
    host = np.arange(6.0).reshape(2, 3) + 1
    x = mp.array(host, "dd", device)
    for function in REDUCTIONS:
        found = function.reduce(x, axis=axis, keepdims=keepdims)
        wanted = function.reduce(host, axis=axis, keepdims=keepdims)
        assert found.shape == wanted.shape
        assert np.array_equal(found.to_float64(), wanted)


def test_no_axis_is_all_axes(device: Device) -> None:
    """Also of functions whose usual axis is another."""
    host = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    x = mp.array(host, "dd", device)
    calls: list[Callable[[Any], Any]] = [
        lambda a: np.sort(a, axis=None),
        lambda a: np.argsort(a, axis=None),
        lambda a: np.concatenate([a, a], axis=None),
        lambda a: np.cumsum(a, axis=None),
        lambda a: np.flip(a, axis=None),
        lambda a: np.cross(a, a[::-1], axis=None),
        lambda a: np.std(a, axis=None, ddof=1),
        lambda a: np.transpose(a, axes=None),
        lambda a: np.median(a, axis=None),
    ]
    for call in calls:
        found, wanted = call(x), call(host)
        assert found.shape == wanted.shape
        values = found.to_float64() if isinstance(found, mp.Array) else np.asarray(found)
        np.testing.assert_allclose(values, wanted, rtol=1e-15)


def test_options_that_are_not_here_are_refused(device: Device) -> None:
    """By name, and not left out."""
    x = mp.array([[1.0, 2.0], [3.0, 4.0]], "dd", device)
    mask = np.array([True, False])
    calls: dict[str, Callable[[], Any]] = {
        "where": lambda: np.add(x, 1, where=mask),
        "dtype": lambda: np.add(x, 1, dtype=float),
        "casting": lambda: np.add(x, 1, casting="no"),
        "'order'": lambda: np.sort(x, order="a"),
    }
    for name, call in calls.items():
        with pytest.raises((ArgumentError, UnsupportedError), match=name):
            call()
