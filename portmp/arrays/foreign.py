"""Calls with arrays of other libraries as they are: NumPy's, CuPy's, PyTorch's, all with DLPack.

float32 and float64 are computed in their own arithmetic, without a copy where a device's kernels
reach their memory, and results are arrays of the operands' library. Beside an array of portmp's
they take its format, as lists do.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmp import discovery, formats
from portmp.arrays import creation, elementwise, exchange
from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.backends import cuda_array, dlpack
from portmp.backends.base import Queue, is_recording
from portmp.errors import ArgumentError, DeviceError, FormatError, ShapeError
from portmp.formats import Format, convert
from portmp.routines import base
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import upload, upload_numbers

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
            if not isinstance(one, _USUAL) and any(True for _ in _arrays(one)):
                return _called(function, args, options)
        return function(*args, **options)

    return call  # type: ignore[return-value]


def _called(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """A call that is given arrays of other libraries."""
    name, names = function.__name__, function.__code__.co_varnames
    given = [*zip(names, args, strict=False), *options.items()]
    out = options.get("out")
    guests = [
        one for key, value in given if key not in ("out", *_NUMBERS) for one in _arrays(value)
    ]
    known = [x for _, x in given if isinstance(getattr(x, "dtype", None), Format)]
    taken = _beside(known[0]) if known else _together(name, guests) if guests else None
    if taken is None:
        return function(*args, **options)
    if is_recording():
        raise ArgumentError(f"{name}: recorded work takes arrays of portmp's alone, no others")
    made = {key: taken.argument(key, value, f"{name}: {key}") for key, value in given}
    try:
        target = made.get("out")
        found = function(*[made.pop(key) for key in names[: len(args)]], **made)
        if known or out is None:
            return found if known else taken.given_back(found)
        taken.fill(out, target)
        return (out, *map(taken.given_back, found[1:])) if isinstance(found, tuple) else out
    finally:
        taken.queue.synchronize()  # the caller may change or free what was read


# --- what arrays of others are --------------------------------------------------------------------


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays of other libraries that a value is, or a tuple holds.

    Of NumPy's those of float32 and float64: all others are numbers, as lists are.
    """
    if isinstance(value, tuple):
        for one in value:
            yield from _arrays(one)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and value.dtype.itemsize in (4, 8):
            yield value
    elif not isinstance(value, (Viewed, np.generic)) and (
        hasattr(value, "__dlpack__") or hasattr(value, cuda_array.NAME)
    ):
        yield value


def _dtype(x: Any) -> str:
    """The name of an array's dtype: NumPy's, or what another library calls the same."""
    dtype = getattr(x, "dtype", "")
    if isinstance(dtype, np.dtype):
        return {"f": "float32", "d": "float64"}.get(dtype.char) or dtype.name
    return str(dtype).rpartition(".")[2]


def _has_dtype(x: AnyArray) -> bool:
    """Whether other libraries have the dtype of an array of portmp's."""
    return str(x.dtype) in FLOATS or not isinstance(x.dtype, Format)


def _library(x: Any) -> Any:
    """The module whose ``from_dlpack`` makes such arrays; the class where there is none."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    packages = (kind.__module__.partition(".")[0] for kind in type(x).__mro__)
    modules = (sys.modules.get(package) for package in packages)
    return next((m for m in modules if hasattr(m, "from_dlpack")), type(x))


def _on_host(x: Any) -> bool:
    """Whether an array's memory is the host's."""
    told = getattr(x, "__dlpack_device__", None)
    return isinstance(x, np.ndarray) or (told is not None and int(told()[0]) == dlpack.CPU)


def _named(x: Any) -> str:
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"


# --- what a call makes of them --------------------------------------------------------------------


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
        if name == "out" and self.host is None and value is not None:
            return self._target(value, argument)
        if name in _NUMBERS and any(True for _ in _arrays(value)):
            if tuple(value.shape):
                raise ShapeError(f"{argument}: one number expected, shape {value.shape} given")
            return int(value) if _dtype(value).startswith(("int", "uint")) else float(value)
        return value if name == "out" else self.taken(value, argument)

    def taken(self, value: Any, argument: str) -> Any:
        """An argument with arrays of portmp's for those of others."""
        if isinstance(value, tuple):
            return tuple(self.taken(one, argument) for one in value)
        if next(_arrays(value), None) is None:
            return value
        if isinstance(value, np.ma.MaskedArray):
            raise ArgumentError(f"{argument}: a masked array given; x.filled(...) says what counts")
        if getattr(value, "requires_grad", False):
            raise ArgumentError(
                f"{argument}: {_named(value)} that requires a gradient given, and none is computed "
                "here: give x.detach()"
            )
        dtype = _dtype(value)
        if dtype not in FLOATS and not dtype.startswith(("int", "uint", "bool")):
            raise FormatError(
                f"{argument}: {_named(value)} of {dtype} given; float32 and float64 are taken as "
                "they are"
            )
        if _on_host(value):
            x = value if isinstance(value, np.ndarray) else creation.host_plane(value)
            if self.host is not None:
                return elementwise.beside_one(x, self.host, self.form, argument)
            found = self._uploaded(x)
        else:
            found = wrapped(exchange.taken(value))
            if found.device is not self.queue.device:
                raise DeviceError(
                    f"{argument}: on {found.device.name}, others are on {self.queue.device.name}"
                )
            if self.host is not None:
                found = found.to(self.queue)
                return elementwise.beside_one(found, self.host, self.form, argument)
        return elementwise.converted(found, self.form) if dtype == "float32" else found

    def _uploaded(self, x: np.ndarray[Any, Any]) -> AnyArray:
        """The host's memory where kernels read it as it lies, else a copy of it."""
        lies = self.queue.device.near and x.size and x.dtype.isnative and x.dtype.kind == "f"
        if lies and not any(n % x.itemsize for n in (x.ctypes.data, *x.strides)):
            steps = tuple(step // x.itemsize for step in x.strides)
            there = cuda_array.Borrowed(x.ctypes.data, x.dtype.name, x.shape, steps, None, x)
            return wrapped(exchange.over(there, self.queue))
        native = np.ascontiguousarray(convert.native(x)).reshape(x.shape)
        if native.dtype.kind != "f":
            return wrapped(upload_numbers(native, self.queue))
        return wrapped(upload(formats.get(native.dtype.name), [native], self.queue))

    def _target(self, out: Any, argument: str) -> AnyArray:
        """What is computed for *out*, an array of the operands' library."""
        if _library(out) is not self.library or _on_host(out) is not self.near:
            raise ArgumentError(f"{argument}: {_named(out)} given, an array as a's is needed")
        if _dtype(out) != self.form.name:
            raise FormatError(f"{argument}: {_dtype(out)} given, {self.form.name} is needed")
        return creation.empty(tuple(out.shape), self.form, self.queue)

    def fill(self, out: Any, target: AnyArray) -> None:
        """Copy the result to its place."""
        if self.near:
            out[...] = self.given_back(target)
        else:
            moves.copied(target.planes, exchange.taken(out))

    def given_back(self, found: Any) -> Any:
        """Results as arrays of the operands' library, as far as that has their dtypes."""
        if isinstance(found, tuple):
            parts = map(self.given_back, found)
            return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        if not isinstance(found, Viewed) or not _has_dtype(found):
            return found
        make = getattr(self.library, "from_dlpack", lambda x: x)
        if not self.near:
            return make(found)
        values = creation.host_plane(found)
        if self.library is not np:
            return make(values)
        return values if values.ndim else values[()]


def _beside(host: AnyArray) -> _Taken:
    """In the format of an array of portmp's, and where that is."""
    return _Taken(host.dtype, host.queue, host)


def _together(name: str, guests: list[Any]) -> _Taken:
    """Of one library, in float32 or, where one of them is float64, in float64."""
    libraries = {_library(x): x for x in guests}
    if len(libraries) > 1:
        kinds = " and ".join(map(_named, libraries.values()))
        raise ArgumentError(f"{name}: {kinds} given, arrays of one library are needed")
    (library,) = libraries
    near = {_on_host(x) for x in guests}
    if len(near) > 1:
        raise DeviceError(f"{name}: arrays of the host and of a device given; move one of them")
    form = formats.get("float64" if "float64" in map(_dtype, guests) else "float32")
    if near == {False}:
        return _Taken(form, exchange.home(guests[0]).queue, None, library, False)
    queue = discovery.queue_of(None)
    base.check_words(form, queue.device)
    return _Taken(form, queue, None, library)
