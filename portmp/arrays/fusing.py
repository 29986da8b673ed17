"""Functions of arrays as one kernel: ``fuse``."""

from __future__ import annotations

import functools
import inspect
import numbers
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from portmp.arrays import elementwise, tracing
from portmp.arrays.viewed import Viewed
from portmp.errors import ArgumentError

MOST = 256
"""Kinds of operands for which a function keeps what it does."""

Reads = list[Callable[[], Any]]
"""What tells the values of variables."""


def fuse(function: Callable[..., Any]) -> Callable[..., Any]:
    """One kernel of a function of arrays: ``@mp.fuse`` before it.

    The function may use elementwise operations and functions, comparisons, ``where``, ``clip`` and
    what else is made of these, views, broadcasting, Python's numbers and, at its end, one ``sum``,
    ``prod``, ``max`` or ``min``; it returns one array. Results have the bits of the same calls
    without ``fuse``, in every format; each operand is read once, and nothing but the result is
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

    return fused


def _kind(operands: Sequence[Any], around: Reads) -> tuple[Any, ...]:
    """What a function goes by when Python runs it: all of operands but the values of arrays."""
    key: list[Any] = []
    for one in operands:
        if isinstance(one, Viewed):
            view = one.planes
            key.append(view._facts or view.facts)
        else:
            key += (type(one), one, repr(one))  # of 0 and -0, which are equal, the texts are not
    for read in around:
        key.append(read())
    return tuple(key)


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
        if (elementwise.is_number(one) and not (isinstance(one, Viewed) or number)) or one is None:
            raise ArgumentError(
                f"fuse: {name}: argument {i}: {type(one).__name__} given, arrays and numbers are "
                "allowed; other values are read from variables around the function"
            )
    return tuple(elementwise.beside(operands))


def _variables(function: Any, seen: set[Any]) -> Reads:
    """What tells the variables around a function, and those around functions that it calls.

    Of modules, classes and portmp's own functions none: they stay.
    """
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return []
    seen.add(code)
    found: Reads = []
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for cell in cells.values():
        found += _variable(functools.partial(getattr, cell, "cell_contents", None), seen)
    for name in _names(code):
        if name in function.__globals__:
            found += _variable(functools.partial(function.__globals__.get, name), seen)
    return found


def _variable(read: Callable[[], Any], seen: set[Any]) -> Reads:
    value = read()
    if isinstance(value, (types.ModuleType, type)):
        return []
    if isinstance(value, types.FunctionType):
        own = value.__module__.partition(".")[0] == __name__.partition(".")[0]
        return [] if own else [read, *_variables(value, seen)]
    if isinstance(value, (numbers.Number, str, tuple, type(None))):
        return [read, lambda: repr(read())]
    return [lambda: id(read())]


def _names(code: types.CodeType) -> set[str]:
    """Names of global variables that code reads, that of functions within it too."""
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))
