"""Functions of arrays as one kernel: ``fuse``."""

import functools
import inspect
import numbers
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar, cast

from portmp.arrays import elementwise, tracing
from portmp.arrays.viewed import Viewed
from portmp.errors import ArgumentError

MOST = 256
"""Kinds of operands for which a function keeps what it does."""

F = TypeVar("F", bound=Callable[..., Any])
Reads = list[Callable[[], Any]]
"""What tells the values of variables."""


def fuse(function: F) -> F:
    """One kernel of a function of arrays: ``@mp.fuse`` before it.

    The function may use elementwise operations and functions, comparisons, ``where``, ``clip`` and
    what else is made of these, views, broadcasting, Python's numbers and, at its end, one ``sum``,
    ``prod``, ``max`` or ``min``; it returns one array. Results have the bits of the same calls
    without ``fuse``, in every real format; each operand is read once, and nothing but the result is
    written.

    Python runs the function once for each kind of operands: their formats and shapes, and the
    values of numbers, also of those that it reads from variables around it. UnsupportedError says
    what to write instead where the function needs a value on the host (``if``, ``float``), changes
    an operand, or calls something else.
    """
    if not callable(function):
        raise ArgumentError(f"fuse: {type(function).__name__} given, a function is needed")
    known: dict[tuple[Any, ...], tracing.Traced] = {}
    around: Reads = []
    name = getattr(function, "__name__", "function")

    @functools.wraps(function)
    def fused(*operands: Any, **named: Any) -> Any:
        if named:
            operands = _in_order(name, function, operands, named)
        try:
            found = known.get(_kind(operands, around))
        except TypeError:  # lists and the like
            found = None
        if found is None:
            operands = _arrays(name, operands)
            around[:] = _variables(function, set())
            key = _kind(operands, around)
            if len(known) >= MOST:
                known.clear()
            found = known[key] = known.get(key) or tracing.traced(name, function, operands)
        return found.run(operands)

    return cast("F", fused)


def _kind(operands: Sequence[Any], around: Reads) -> tuple[Any, ...]:
    """What a function goes by when Python runs it: all of operands but the values of arrays."""
    key: list[Any] = []
    for one in operands:
        if isinstance(one, Viewed):
            view = one.planes
            key.append(view._facts or view.facts)
        else:
            key.append(_told(one))
    for read in around:
        key.append(read())
    return tuple(key)


def _told(number: Any) -> tuple[Any, ...]:
    """What a number goes by: 0 and -0 are equal, and mpmath's constants have its precision."""
    return type(number), number, repr(number), getattr(number, "_mpf_", None)


def _in_order(
    name: str, function: Callable[..., Any], operands: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """All arguments by place."""
    bound = inspect.signature(function).bind(*operands, **named)
    bound.apply_defaults()
    if bound.kwargs:
        raise ArgumentError(f"fuse: {name}: {', '.join(bound.kwargs)}: arguments by name alone")
    return bound.args


def _arrays(name: str, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Operands as arrays and numbers: lists and NumPy's arrays become arrays beside the first."""
    if not any(isinstance(one, Viewed) for one in operands):
        raise ArgumentError(f"fuse: {name}: no array given, one at least is needed")
    for i, one in enumerate(operands):
        number = isinstance(one, (numbers.Number, str, Decimal)) or hasattr(one, "_mpf_")
        if not (number or isinstance(one, (Viewed, list, tuple)) or getattr(one, "ndim", None)):
            raise ArgumentError(
                f"fuse: {name}: argument {i}: {type(one).__name__} given, arrays and numbers are "
                "allowed; other values are read from variables around the function"
            )
    return tuple(elementwise.beside(operands))


def _variables(function: Any, seen: set[Any]) -> Reads:
    """What tells the variables around a function, and those around functions that it calls.

    Of classes, and of modules and functions that stay, none.
    """
    if isinstance(function, functools.partial):
        return _variables(function.func, seen)
    found = _variables(function.__wrapped__, seen) if hasattr(function, "__wrapped__") else []
    if not hasattr(function, "__code__"):
        function = type(function).__call__
    code, known = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if code is None or function in seen or _stays(known.get("__name__")):
        return found
    seen.add(function)
    for cell in function.__closure__ or ():
        found += _variable(functools.partial(getattr, cell, "cell_contents", None), code, seen)
    return found + _named(known, code, seen)


def _stays(module: Any) -> bool:
    """Whether nobody changes what a module's functions read: of Python's and some libraries."""
    root = str(module).partition(".")[0]
    return root in sys.stdlib_module_names or root in ("mpmath", "numpy", "portmp")


def _named(known: dict[str, Any], code: types.CodeType, seen: set[Any]) -> Reads:
    """What tells those of a module's variables whose names code has."""
    names = [name for name in sorted(_names(code)) if name in known]
    return [r for n in names for r in _variable(functools.partial(known.get, n), code, seen)]


def _variable(read: Callable[[], Any], code: types.CodeType, seen: set[Any]) -> Reads:
    value = read()
    if isinstance(value, types.ModuleType):
        if (_stays(value.__name__) and value.__name__ != "mpmath") or (value, code) in seen:
            return []
        seen.add((value, code))
        return _named(vars(value), code, seen)
    if isinstance(value, (numbers.Number, str, type(None))) or hasattr(value, "_mpf_"):
        return [lambda: _told(read())]
    if isinstance(value, type):
        return []
    # By identity: as what a method is bound to, which it keeps, so that no other takes its place.
    same = [lambda: types.MethodType(repr, read())]
    return [*same, *_variables(value, seen)] if callable(value) else same


def _names(code: types.CodeType) -> set[str]:
    """Names of global variables that code reads, that of functions within it too."""
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))
