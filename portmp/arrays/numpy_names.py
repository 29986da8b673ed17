"""NumPy's names for what portmp has: which of its functions are which of NumPy's."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from portmp.arrays import (
    applied,
    arranging,
    choosing,
    closeness,
    composed,
    contraction,
    counting,
    creation,
    dtypes,
    elementwise,
    functions,
    manipulation,
    methods,
    missing,
    numerics,
    polynomials,
    powers,
    products,
    sorting,
    statistics,
    ufunc_methods,
)

MODULES: tuple[ModuleType, ...] = (
    creation,
    elementwise,
    powers,
    functions,
    composed,
    manipulation,
    statistics,
    sorting,
    products,
    closeness,
    numerics,
    counting,
    applied,
    arranging,
    choosing,
    contraction,
    missing,
    polynomials,
    dtypes,
)
"""Where functions are looked for by their names."""

UFUNCS = functions.NUMPY | {
    "absolute": "abs",
    "fabs": "abs",
    "conjugate": "positive",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "power": "power",
    "float_power": "power",
    "true_divide": "divide",
}
"""Universal functions that have another name here."""

OTHERS: dict[str, Callable[..., Any]] = {
    "amax": statistics.max,
    "amin": statistics.min,
    "around": functions.round,
    "concatenate": manipulation.concat,
    "cumsum": methods.cumsum,
    "cumprod": methods.cumprod,
    "cumulative_sum": statistics.cumulative_sum,
    "ndim": lambda a: a.ndim,
    "shape": lambda a: a.shape,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "copy": lambda a, **_: a.copy(),
    "unique_values": sorting.unique_values,
    "where": sorting.where,
}
"""Functions that have another name, or another order of arguments, here."""

_NOT_THESE = ("array", "asarray", "empty", "zeros", "ones", "full", "eye", "arange", "linspace")
"""Names that NumPy does not dispatch on arrays that are given."""


ANSWERING = {"": "portmp", "linalg": "portmp.linalg"}
"""Modules that answer for NumPy's of these names: they build on arrays, and are named here."""
AS_NUMPY = {
    "linalg.cond": ("portmp.linalg.norms", "cond_in_format"),
    "linalg.lstsq": ("portmp.linalg.least_squares", "lstsq_as_numpy"),
}
"""Functions of which NumPy's give another kind of result than those of their names here."""
ABOVE = ("polyfit", "roots")
"""Functions that build on arrays too, and are in ``portmp``."""


def _own(name: str) -> Callable[..., Any] | None:
    for module in MODULES:
        found = module.__dict__.get(name)
        if callable(found) and getattr(found, "__module__", "").startswith("portmp."):
            return found  # type: ignore[no-any-return]
    return None


def ufunc(name: str, method: str) -> Callable[..., Any] | None:
    """The function that a universal function, or one of its methods, is; None if there is none."""
    if method == "__call__":
        return _own(UFUNCS.get(name, name))
    return ufunc_methods.METHODS.get(method, {}).get(UFUNCS.get(name, name))


def function(name: str) -> Callable[..., Any] | None:
    """The function that one of NumPy's is, by its name below ``numpy``; None if there is none."""
    if name in OTHERS:
        return OTHERS[name]
    if name in AS_NUMPY:
        place, own = AS_NUMPY[name]
        return getattr(importlib.import_module(place), own)  # type: ignore[no-any-return]
    module, _, rest = name.rpartition(".")
    if module or name in ABOVE:
        answering = ANSWERING.get(module)
        found = answering and getattr(importlib.import_module(answering), rest, None)
        return found if callable(found) else None
    return None if name in _NOT_THESE else _own(name)


def is_default(function: Any, own: Any, name: str, value: Any) -> bool:
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
