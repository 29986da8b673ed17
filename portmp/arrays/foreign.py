"""Calls with arrays of other libraries as they are: NumPy's, CuPy's, PyTorch's, all with DLPack.

float32 and float64 are computed in their own arithmetic, without a copy where a device's kernels
reach their memory, and results are arrays of the operands' library. Beside an array of portmp's
they take its format, as lists do.
"""

import functools
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from portmp import discovery, formats
from portmp.arrays import creation, elementwise, exchange
from portmp.arrays.viewed import AnyArray, Elsewhere, Viewed, wrapped
from portmp.backends import cuda_array
from portmp.backends.base import Queue, is_recording
from portmp.errors import ArgumentError, DeviceError, FormatError, ShapeError
from portmp.formats import Format
from portmp.formats.meeting import fits
from portmp.routines import base
from portmp.routines.moves import launch as moves

F = TypeVar("F", bound=Callable[..., Any])
A = TypeVar("A")
"""Arrays of one library: operands, and results that are of the same."""
FLOATS = ("float32", "float64")
_USUAL = (Viewed, int, float, str, list, Fraction, type(None))
"""What holds no array of others."""
_NUMBERS = ("alpha", "beta")
"""Arguments that are one number each."""


def as_they_are(function: F) -> F:
    """The function, which takes arrays of other libraries as well, and then gives such back."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for one in (*args, *options.values()):
            if not isinstance(one, _USUAL) and _arrays(one):
                return _called(function, args, options)
        try:
            return function(*args, **options)
        except Elsewhere as found:
            array = found.array
        return array.called(function, args, options)

    return cast(F, call)


def _called(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """A call that is given arrays of other libraries."""
    name, names = function.__name__, function.__code__.co_varnames
    given = [*zip(names, args, strict=False), *options.items()]
    named = [(key, one) for key, value in given for one in _arrays(value)]
    guests = [one for key, one in named if key not in ("out", *_NUMBERS)]
    known = [x for _, x in given if isinstance(x, Viewed) and isinstance(x.dtype, Format)]
    if not known and (not guests or any(isinstance(x, Viewed) for x in args)):
        return function(*args, **options)  # with no value, or beside integers: numbers
    if is_recording():
        raise ArgumentError(
            f"capture: {name} is given arrays of other libraries; portmp's alone are captured"
        )
    host: Any = known[0] if known else None
    taken = _Taken(host.dtype, host.queue, host) if known else _alone(name, guests)
    try:
        made = {key: taken.argument(key, value, f"{name}: {key}") for key, value in given}
        if len(made) < len(given):
            return function(*args, **options)  # which says what is given twice
        out, target = options.get("out"), made.get("out", host)
        found = function(*[made.pop(key) for key in names[: len(args)]], **made)
        if known or out is None:
            return found if known else taken.given_back(found)
        if taken.near:
            out[...] = taken.given_back(target)
        else:
            moves.copied(target.planes, exchange.taken(out))
        return (out, *map(taken.given_back, found[1:])) if isinstance(found, tuple) else out
    finally:
        taken.queue.synchronize()  # the caller may change or free what was read


def _arrays(value: Any) -> list[Any]:
    """The arrays of other libraries that a value is, or a tuple holds.

    Of NumPy's those of float32, float64 and float16: all others are numbers, as lists are.
    """
    if isinstance(value, tuple):
        return [x for one in value for x in _arrays(one)]
    if isinstance(value, np.ndarray):
        return [value] if value.dtype.char in "efd" else []
    lent = not isinstance(value, (Viewed, np.generic)) and exchange.is_array(value)
    return [value] if lent else []


def _check_unmasked(x: Any, argument: str) -> None:
    if isinstance(x, np.ma.MaskedArray):
        raise ArgumentError(f"{argument}: MaskedArray given; x.filled(...) says what counts")


def _dtype(x: Any) -> str:
    """The name of an array's dtype: NumPy's, or what another library calls the same."""
    return getattr(x.dtype, "name", "") or str(x.dtype).rpartition(".")[2]


def _library(x: Any) -> Any:
    """The module whose ``from_dlpack`` makes such arrays; the class where there is none."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    packages = (kind.__module__.partition(".")[0] for kind in type(x).__mro__)
    modules = (sys.modules.get(package) for package in packages)
    return next((m for m in modules if hasattr(m, "from_dlpack")), type(x))


class _Taken(NamedTuple):
    """How a call takes arrays of others: in which format and queue; whose results are, and where.

    ``host``: an array of portmp's beside which they are taken; results are portmp's then.
    """

    form: Format
    queue: Queue
    host: AnyArray = None
    library: Any = None
    near: bool = True

    def argument(self, name: str, value: Any, argument: str) -> Any:
        """What the function is given for one of its arguments, by its name and in messages."""
        if name.startswith("overwrite_"):  # what lies elsewhere could not be, what lies here is not
            return self.host is not None and value
        if name == "out":
            return value if self.host is not None or value is None else self._target(value)
        if name in _NUMBERS and _arrays(value):
            if tuple(value.shape):
                raise ShapeError(f"{argument}: one number expected, shape {value.shape} given")
            return int(value) if "int" in _dtype(value) else float(value)
        if isinstance(value, tuple):
            return tuple(self.argument(name, one, argument) for one in value)
        return self._taken(value, argument) if _arrays(value) else value

    def _taken(self, x: Any, argument: str) -> AnyArray:
        """An array of portmp's for another one."""
        dtype, what = _dtype(x), type(x).__name__
        _check_unmasked(x, argument)
        if getattr(x, "requires_grad", False):
            raise ArgumentError(
                f"{argument}: {what} that requires a gradient given, which portmp does not compute "
                "with: x.detach() has its values"
            )
        if dtype not in FLOATS and not dtype.startswith(("int", "uint", "bool")):
            raise FormatError(
                f"{argument}: {what} of {dtype} given; {' and '.join(FLOATS)} are taken as they are"
            )
        if exchange.on_host(x):
            there = creation.host_plane(x)
            if self.host is not None:
                return elementwise.beside_one(there, self.host, self.form, argument)
            found = self._uploaded(there)
        else:
            found = wrapped(exchange.taken(x))
            if found.device is not self.queue.device:
                raise DeviceError(
                    f"{argument}: on {found.device.name}, others are on {self.queue.device.name}"
                )
            found = found.to(self.queue)
        if dtype not in FLOATS or fits(found.dtype, self.form):
            return elementwise.converted(found, self.form) if dtype in FLOATS else found
        raise FormatError(f"{argument}: {dtype} given, {self.form.name} does not hold all of it")

    def _uploaded(self, x: np.ndarray[Any, Any]) -> AnyArray:
        """The host's memory where kernels read it as it lies, else a copy of it."""
        lies = self.queue.device.near and x.size and x.dtype.isnative and x.dtype.kind == "f"
        if lies and not any(n % x.itemsize for n in (x.ctypes.data, *x.strides)):
            steps = tuple(step // x.itemsize for step in x.strides)
            there = cuda_array.Borrowed(x.ctypes.data, x.dtype.name, x.shape, steps, None, x)
            return wrapped(exchange.over(there, self.queue))
        return creation.asarray(x, dtype=x.dtype, device=self.queue)

    def _target(self, out: Any) -> AnyArray:
        """What is computed for *out*, an array as the operands are."""
        alike = _library(out) is self.library and exchange.on_host(out) is self.near
        if not alike or _dtype(out) != self.form.name:
            what = f"{type(out).__name__} of {_dtype(out)}" if alike else type(out).__name__
            raise FormatError(f"out: {what} given, {self.form.name} as the operands' is needed")
        _check_unmasked(out, "out")
        if not getattr(getattr(out, "flags", None), "writeable", True):
            raise ArgumentError("out: a read-only array given")
        return creation.empty(tuple(out.shape), self.form, self.queue)

    def given_back(self, found: Any) -> Any:
        """Results as arrays of the operands' library, as far as that has their dtypes."""
        if isinstance(found, tuple):
            parts = map(self.given_back, found)
            return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        if not isinstance(found, Viewed) or (
            isinstance(found.dtype, Format) and found.dtype.name not in FLOATS
        ):
            return found
        values: Any = creation.host_plane(found) if self.near else found
        if self.library is np:
            return values if values.ndim else values[()]
        return getattr(self.library, "from_dlpack", lambda x: x)(values)


def _alone(name: str, guests: list[Any]) -> _Taken:
    """Arrays of one library: in float32 or, where one of them is float64, in float64."""
    kinds = {_library(x): type(x).__name__ for x in guests}
    if len(kinds) > 1:
        raise ArgumentError(
            f"{name}: {' and '.join(kinds.values())} given, arrays of one library are needed"
        )
    if len({exchange.on_host(x) for x in guests}) > 1:
        raise DeviceError(f"{name}: arrays of the host and of a device given; move one of them")
    near = exchange.on_host(guests[0])
    queue = discovery.queue_of(None) if near else exchange.home(guests[0]).queue
    form = formats.get("float64" if "float64" in map(_dtype, guests) else "float32")
    base.check_words(form, queue.device)
    return _Taken(form, queue, None, next(iter(kinds)), near)
