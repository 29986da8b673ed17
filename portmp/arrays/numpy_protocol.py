"""What NumPy's functions do with arrays: the same in full format, or an error that names the way.

``np.add(a, b)`` and the other universal functions come to ``ufunc`` (NEP 13), functions such as
``np.concatenate`` to ``function`` (NEP 18), and what only takes NumPy's arrays to ``as_numpy``,
which gives one where nothing is lost. Plain numbers lose nothing: for what portmp has not, NumPy
works on a copy of them.
"""

import functools
import importlib
import inspect
import itertools
import traceback
from typing import Any

import numpy as np

from portmp.arrays import complexes, dtypes
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import ArgumentError, UnsupportedError, not_here
from portmp.runtime.planes import Numbers

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the array API standard."""


def namespace(x: AnyArray, *, api_version: str | None = None) -> Any:
    """The module whose functions work on arrays: portmp, by the array API standard 2024.12."""
    if api_version not in (None, *VERSIONS):
        raise ValueError(f"api_version: {api_version!r} given, portmp has {', '.join(VERSIONS)}")
    return importlib.import_module("portmp")


def as_numpy(x: AnyArray, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """The values as a NumPy array, where nothing is lost: of one limb, or as exact objects."""
    if copy is False:
        raise ValueError("a copy is needed: the values are in a device's memory")
    wanted = None if dtype is None else np.dtype(dtype)
    if wanted is not None and wanted.kind == "O":
        return np.array(x.tolist(), object).reshape(x.shape)
    if x.format.limbs > 1:
        raise UnsupportedError(_of_parts(x, _asking().format(x.format.name)))
    values: np.ndarray[Any, Any]
    values = x.to_numpy(x.format.name) if x.format.components > 1 else x.to_limbs()[0]
    return values if wanted is None else values.astype(wanted)


_ASKING = {
    "": "NumPy has no {0}: x.to_float64() rounds to float64, x.tolist() gives exact numbers; "
    "portmp's functions keep all digits, and portmp.array takes lists of arrays",
    "numpy.testing": "NumPy has no {0}: portmp.testing has the same assertions, and numpy's take "
    "x.to_float64()",
    "matplotlib": "matplotlib has no {0}: pictures are drawn of x.to_float64()",
    "pandas": "pandas has no {0}: a column of x.to_strings() keeps all digits, one of "
    "x.to_float64() can be computed with; portmp.array(column, '{0}') takes both",
    "scipy": "SciPy has no {0}: its solvers take x.to_float64(), and functions that return "
    "f(x).to_float64() (docs/recipes.md)",
    "scipy.linalg": "SciPy has no {0}: portmp.linalg has most of these functions, with all digits; "
    "others take x.to_float64()",
    "scipy.sparse": "SciPy has no {0}: portmp.sparse.csr_array(T, '{0}') takes its matrices, and "
    "has @ with all digits",
}
"""What is said to the library that asks for NumPy's array."""


def _of_parts(x: AnyArray, advice: str) -> str:
    """What is said of float64, for complex numbers."""
    if not complexes.is_complex(x):
        return advice
    return advice.replace("to_float64", "to_numpy").replace(" float64", " complex128")


def _asking() -> str:
    """What to write instead, by the modules between portmp and who called a library."""
    names = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_stack(None))
    ours = ("portmp", "numpy", "scipy", "pandas", "matplotlib")
    among = list(itertools.takewhile(lambda name: name.partition(".")[0] in ours, names))
    return _ASKING[max((k for k in _ASKING for n in among if n.startswith(k)), key=len)]


def ufunc(x: AnyArray, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """A universal function of NumPy's on arrays of portmp's."""
    name = function.__name__
    own = _own(name)
    own = own if method == "__call__" else getattr(own, method, None)
    out = options.pop("out", None)
    for one in out or ():
        if not isinstance(one, (Viewed, type(None))):
            raise UnsupportedError(
                f"np.{name}: out: {type(one).__name__} given, an array of portmp's is needed; "
                "x = x + y makes one where x += y cannot"
            )
    if out and len(out) == 1:
        (out,) = out
    known = {k: v for k, v in options.items() if not _as_usual(k, v)}
    if own is None or known.keys() - _OPTIONS.get(method, set()):
        if _lossless(inputs) and out is None:
            return getattr(function, method)(*map(_copied, inputs), **options)
        called = f"np.{name}" if hasattr(np, name) else name  # SciPy's are none of NumPy's
        raise _missing(x, called + ("" if method == "__call__" else f".{method}"), known)
    known |= {} if out is None else {"out": out}
    try:
        return own(*inputs, **known)
    except TypeError:
        _check_names(f"np.{name}", own, inputs, known)
        raise


def _as_usual(name: str, value: Any) -> bool:
    """Whether an option of a universal function is as if it were not there."""
    if name in ("where", "subok"):
        return value is True
    # Along no axis is along all, where along the first is usual.
    return value is np._NoValue or (value is None and name != "axis")


_OPTIONS = {
    "__call__": {"where"},
    "reduce": {"axis", "keepdims", "dtype", "initial", "where"},
    "accumulate": {"axis", "dtype"},
    "reduceat": {"axis", "dtype"},
}


def function(x: AnyArray, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy's on arrays of portmp's."""
    module = func.__module__.removeprefix("numpy").removeprefix(".")
    name = f"{module}.{func.__name__}" if module else func.__name__
    if name in _MAKERS:
        return _made_like(x, name, args, kwargs)
    own = _own(name)
    if own is None:
        if _lossless((args, kwargs)):
            return func(*_copied(args), **_copied(kwargs))
        raise _missing(x, f"np.{name}", {})
    kept = {k: v for k, v in kwargs.items() if not _is_default(func, own, k, v)}
    try:
        return own(*args, **kept)
    except TypeError:
        _check_names(f"np.{name}", own, args, kept)
        raise


def _made_like(x: AnyArray, name: str, args: Any, kwargs: Any) -> Any:
    """What ``like=x`` asks for: on its device and, where no dtype is told, in its format."""
    made = getattr(importlib.import_module("portmp"), name, None)
    if made is None:
        raise _missing(x, f"np.{name}", {})
    kept = {k: v for k, v in kwargs.items() if v is not None and (k, v) not in _DEFAULTS}
    args = (*args, kept.pop("M")) if "M" in kept else args
    _check_names(f"np.{name}", made, args, kept)
    with dtypes.default_format(getattr(x, "format", None) or dtypes.default()):
        return made(*args, **kept).to(x.queue)


def _check_names(name: str, own: Any, args: Any, kwargs: Any) -> None:
    """ArgumentError for arguments of NumPy's that a function does not have."""
    known = inspect.signature(own)
    try:
        known.bind(*args, **kwargs)
    except TypeError as error:
        there = ", ".join(known.parameters)
        raise ArgumentError(f"{name}: {error}; here it takes {there}") from None


def _missing(x: AnyArray, name: str, options: dict[str, Any]) -> UnsupportedError:
    with_ = f" with {', '.join(options)}" if options else ""
    own = name.removeprefix("np.")
    instead = not_here.INSTEAD.get(own)
    if instead is None and "." not in own and hasattr(importlib.import_module("portmp"), own):
        instead = f"call portmp.{own}"
    if instead and not options:
        said = f"NumPy has no such function of arrays of portmp's: {instead}"
    else:
        said = "portmp has no such function in full format"
    rounded = _of_parts(x, "a.to_float64() gives NumPy arrays, rounded to float64")
    return UnsupportedError(f"{name}{with_}: {said}; {rounded}")


def _lossless(given: Any) -> bool:
    """Whether nested arguments hold no array of values."""
    if isinstance(given, Viewed):
        return isinstance(given.planes, Numbers)
    if isinstance(given, dict):
        return all(map(_lossless, given.values()))
    return not isinstance(given, (list, tuple)) or all(map(_lossless, given))


def _copied(given: Any) -> Any:
    """Nested arguments with NumPy's arrays for those of plain numbers."""
    if isinstance(given, Viewed):
        return np.asarray(given)
    if isinstance(given, dict):
        return {k: _copied(v) for k, v in given.items()}
    return type(given)(map(_copied, given)) if isinstance(given, (list, tuple)) else given


# --- NumPy's names for what portmp has ------------------------------------------------------------

_OTHERS = {"float_power": "power", "gammaln": "lgamma"}
"""Functions whose namesakes here have no *out*, or another dtype."""
_MAKERS = (
    *("array", "asarray", "asanyarray", "empty", "zeros", "ones", "full", "eye", "identity"),
    *("arange", "tri", "fromfunction", "fromiter", "frombuffer", "fromfile", "fromstring"),
    *("loadtxt", "genfromtxt"),
)
"""Functions of NumPy's that come here by ``like=`` alone."""
_NOT_THESE = ("linspace", "save")
"""Functions of NumPy's that those of these names do not stand for."""
_AS_NUMPY = {
    "linalg.cond": ("portmp.linalg.norms", "cond_in_format"),
    "linalg.lstsq": ("portmp.linalg.least_squares", "lstsq_as_numpy"),
}
"""Functions of which NumPy's give another kind of result than those of their names here."""


@functools.cache
def _own(name: str) -> Any:
    """The function that one of NumPy's is, by its name below ``numpy``; None if there is none."""
    if name == "copy":
        return lambda a, **_: a.copy()
    if name in _AS_NUMPY:
        module, own = _AS_NUMPY[name]
        return getattr(importlib.import_module(module), own)
    module, _, own = _OTHERS.get(name, name).rpartition(".")
    if module not in ("", "fft", "linalg") or own in _NOT_THESE:
        return None
    # They build on arrays, and are named here.
    public = importlib.import_module(f"portmp.{module}" if module else "portmp")
    found = getattr(public, own) if own in public.__all__ else None
    return found if callable(found) else None


def _is_default(function: Any, own: Any, name: str, value: Any) -> bool:
    """Whether an option of NumPy's function says what it does anyhow, and portmp's too."""
    if value is np._NoValue:
        return True
    if value is None:  # along no axis is along all, where another is usual
        usual, other = (_usual(one, name) for one in (function, own))
        return usual is None or other in (None, inspect.Parameter.empty)
    return (name, value) in _DEFAULTS if isinstance(value, (bool, str, int)) else False


def _usual(function: Any, name: str) -> Any:
    """The default of a parameter; empty where there is no such parameter."""
    try:
        known = inspect.signature(function).parameters
    except ValueError:
        return inspect.Parameter.empty
    return known[name].default if name in known else inspect.Parameter.empty


_DEFAULTS = {
    ("keepdims", False),
    ("casting", "same_kind"),
    ("order", "K"),
    ("order", "C"),
    ("subok", True),
    ("overwrite_input", False),
}
