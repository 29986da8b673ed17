"""Views of arrays on devices: shapes, indices and axes, whatever the elements are."""

import functools
import importlib
import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from portmp.arrays import indexing
from portmp.backends.base import Device, Event, Queue, is_recording
from portmp.errors import ArgumentError, ShapeError, UnsupportedError
from portmp.formats import Format
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import View, within

V = TypeVar("V", bound=View[Any])
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


AnyArray = Any
"""An Array or a PlainArray: the classes stand above the functions that work on both."""
_CLASSES: "dict[tuple[type[View[Any]], bool], type[Viewed[Any]]]" = {}
"""By the class of views, and whether they have axes."""


def wrapped(view: View[Any]) -> Any:
    """The array over a view: an Array over planes of a format, a PlainArray over plain numbers."""
    key = type(view), bool(view.shape)
    if key not in _CLASSES:
        # Only some modules were imported, by their own names.
        importlib.import_module("portmp")._load_arrays()
    array: Any = object.__new__(_CLASSES[key])
    array.planes = view
    return array


_MAKERS: list[Callable[[Any], Any]] = []


def makes_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that makes arrays of numbers, for modules that stand below it."""
    _MAKERS.append(function)
    return function


def made(numbers: Any, **options: Any) -> Any:
    """An array of numbers, as ``asarray`` makes it."""
    return _MAKERS[0](numbers, **options)


class Elsewhere(UnsupportedError):
    """An array on several devices was given where one of one device is needed.

    ``array``: that, which knows what functions do there.
    """

    def __init__(self, array: Any) -> None:
        super().__init__(array.refusal)
        self.array = array


def everywhere(function: F) -> F:
    """The function, which is asked of arrays on several devices as well."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except Elsewhere as found:
            array = found.array
        return array.called(function, args, options)

    return cast(F, call)


def called(function: Any, name: str, about: str) -> Any:
    """A function by its public name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = about
    return function


class Viewed(Generic[V]):
    """What arrays of all kinds share; ``planes`` is the view of device memory."""

    __slots__ = ("__weakref__", "planes")

    def __init_subclass__(
        cls, holds: type[View[Any]] | None = None, axes: Sequence[bool] = (True, False), **more: Any
    ) -> None:
        """A class with *holds* is that of arrays over such views, with axes, without, or both."""
        super().__init_subclass__(**more)
        if holds is not None:
            _CLASSES.update({(holds, some): cls for some in axes})

    def __init__(self, planes: V) -> None:
        if not isinstance(planes, View):
            raise UnsupportedError(
                f"an array of {type(planes).__name__} was asked for; arrays are made by "
                "portmp.array, zeros, ones, empty, full and from_limbs; for the module statistics "
                "portmp has mean, median, std and var"
            )
        self.planes = planes

    @property
    @abstractmethod
    def dtype(self) -> Format | np.dtype[Any]:
        """What elements are: a format, or a dtype of NumPy's."""

    @abstractmethod
    def to(self, device: Any) -> Self:
        """The array on another device, or in another queue."""

    @abstractmethod
    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers, or one number."""

    shape: tuple[int, ...] = within("planes.shape", "Lengths of the axes.")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.planes.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.planes.size

    device: Device = within("planes.queue.device", "The device that holds the limbs.")
    queue: Queue = within("planes.queue", "The queue that its work is given to.")

    @property
    def pieces(self) -> tuple[AnyArray, ...]:
        """What each device has: itself, on one device."""
        return (self,)

    def by_one(self, act: Callable[[], T], what: str) -> T:
        """What a function gives: of an array of several processes one calls it, and tells all."""
        return act()

    # --- copies that the host does not wait for ---------------------------------------------

    def write_from(self, *host: np.ndarray[Any, Any]) -> Event:
        """Copy NumPy arrays, one for each plane, to this dense array without waiting.

        Planes are what ``to_parts`` gives, of a plain array its numbers. The arrays must stay as
        they are until the event that is returned: ``event.wait()``. Only from ``portmp.pinned``
        memory does the device copy by itself.
        """
        self._matched("write_from", host)
        self.planes.write_parts(list(host), wait=False)
        return self.queue.record()

    def read_into(self, *host: np.ndarray[Any, Any]) -> Event:
        """Copy this dense array to NumPy arrays, one for each plane, without waiting.

        They hold the numbers from the event on that is returned: ``event.wait()``.
        """
        self._matched("read_into", host)
        if any(not plane.flags.writeable for plane in host):
            raise ArgumentError("read_into: a NumPy array that cannot be written was given")
        self.planes.read_into(list(host), wait=False)
        return self.queue.record()

    def _matched(self, what: str, host: Sequence[np.ndarray[Any, Any]]) -> None:
        """Errors where the host's arrays are not what the planes are."""
        if is_recording():
            raise ArgumentError(
                f"capture: {what} copies memory of the host's, where launches alone are captured; "
                "do it after the block or between replays"
            )
        if not self.planes.contiguous:
            raise ArgumentError(
                f"{what}: a dense array is needed, its strides are {self.planes.strides}"
            )
        wanted = self.planes.parts
        if len(host) != len(wanted):
            raise ArgumentError(f"{what}: {len(host)} arrays given, there are {len(wanted)} planes")
        for i, (plane, dtype) in enumerate(zip(host, wanted, strict=True)):
            if not isinstance(plane, np.ndarray):
                raise ArgumentError(
                    f"{what}: plane {i}: {type(plane).__name__} given, no NumPy array"
                )
            if plane.dtype != dtype or plane.shape != self.shape or not plane.flags.c_contiguous:
                raise ArgumentError(
                    f"{what}: plane {i}: {plane.dtype} of shape {plane.shape} given, C-contiguous "
                    f"{dtype} of shape {self.shape} is needed"
                )

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len: an array of shape () has no length")
        return self.shape[0]

    def reshape(self, *shape: int | Sequence[int], order: str = "C") -> Self:
        """Another shape of the same elements, a view where possible; -1 is worked out."""
        if order != "C":
            raise ArgumentError(f"reshape: order: {order!r} given, portmp has C order alone")
        sizes = integers(shape, "reshape")
        if sizes.count(-1) == 1:
            known = math.prod(n for n in sizes if n != -1)
            if known and self.size % known == 0:
                sizes[sizes.index(-1)] = self.size // known
        if math.prod(sizes) != self.size or any(n < 0 for n in sizes):
            raise ShapeError(
                f"reshape: {self.shape} has {self.size} elements, {tuple(sizes)} given"
            )
        view: Self = wrapped(moves.dense(self.planes).view_as(sizes))
        return view

    def transpose(self, *axes: int | Sequence[int] | None) -> Self:
        """A view with the axes reversed, or in the given order."""
        order = integers([] if axes == (None,) else axes, "transpose") or list(
            reversed(range(self.ndim))
        )
        order = [a + self.ndim if a < 0 else a for a in order]
        if sorted(order) != list(range(self.ndim)):
            raise ShapeError(f"transpose: {axes} is no order of {self.ndim} axes")
        view: Self = wrapped(self.planes.transposed(order))
        return view

    @property
    def T(self) -> Self:
        """The view with all axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Self:
        """The view with the last two axes exchanged: each matrix transposed."""
        if self.ndim < 2:
            raise ShapeError(f"mT: matrices are needed, shape {self.shape} given")
        return self.transpose(*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)

    def __getitem__(self, key: Any) -> Self:
        """Elements by integers, slices, None and ``...``: a view; or by arrays: a copy.

        Arrays (or lists) of integers choose indices, truth values those where they are true, as
        with NumPy. An element by integers alone is a copy, too.
        """
        found: Self = wrapped(indexing.taken(self.planes, key))
        return found

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise TypeError("iteration over an array of shape ()")
        rows = self.planes if self.ndim > 1 else moves.copied(self.planes)
        return (wrapped(indexing.taken(rows, i, alone=False)) for i in range(len(self)))

    def copy(self, order: str = "C") -> Self:
        """A dense copy on the same device; *order* is NumPy's: memory's order cannot be seen."""
        dense: Self = wrapped(moves.copied(self.planes))
        return dense

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()


def integers(values: Sequence[Any], argument: str, count: int | None = None) -> list[int]:
    """Integers given one by one or as one sequence; *count* of them."""
    if len(values) == 1 and isinstance(values[0], Sequence) and not isinstance(values[0], str):
        values = values[0]
    elif len(values) == 1 and isinstance(values[0], Viewed):
        values = np.atleast_1d(indexing.on_host(values[0], argument)).tolist()
    try:
        found = [operator.index(n) for n in values]
    except TypeError:
        found = None
    if found is None or count not in (None, len(found)):
        many = f"{count} " if count and count > 1 else ""
        raise ArgumentError(f"{argument}: {many}integers are needed, {values!r} given")
    return found
