"""Arrays whose parts lie on several devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmp import discovery
from portmp.arrays import composed, creation, elementwise, printing, products
from portmp.arrays.array import Array
from portmp.arrays.viewed import AnyArray, Elsewhere, Viewed, integers, wrapped
from portmp.backends.base import Device, Queue
from portmp.distributed import processes, transport
from portmp.distributed.layout import Layout, Placement, Replicated, Rows, alone, chosen, whole
from portmp.distributed.memory import check_room
from portmp.errors import ArgumentError, PlaceError, ShapeError
from portmp.formats import Format
from portmp.runtime.planes import View, blank

T = TypeVar("T")
HOST = "host:0"
"""The device of the host's memory, where there is always one."""
Where = str | Device | Queue
Devices = Sequence[Where]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""What portmp's functions do with arrays on several devices, by their names.

They are given the function that is called, and its arguments. Functions of elements are ``where``.
"""

_kept: dict[tuple[int, ...], tuple[Queue, ...]] = {}


def queues_of(devices: Devices | None) -> tuple[Queue, ...]:
    """A queue for each of some devices: the same ones whenever these are named again.

    A device that is named several times has as many queues, each with parts of its own. None: those
    of all processes that ``initialize`` met.
    """
    job = processes.job()
    if devices is None and job is not None:
        return job.queues
    if devices is None:
        raise ArgumentError(
            "devices: none given, a list is needed: ['cuda:0', 'cuda:1']; of several processes "
            "portmp.distributed.initialize() makes it known"
        )
    if isinstance(devices, (str, Device, Queue)) or not isinstance(devices, Sequence):
        raise ArgumentError(
            f"devices: {devices!r:.60} given, a list is needed: ['cuda:0', 'cuda:1']"
        )
    if not devices:
        raise ArgumentError("devices: none given, one at least is needed")
    first = [discovery.queue_of(one) for one in devices]
    key = tuple(map(id, first))
    if key not in _kept:
        seen: set[Queue] = set()
        found = []
        for queue in first:
            found.append(queue.device.new_queue() if queue in seen else queue)
            seen.add(queue)
        _kept[key] = tuple(found)
    return _kept[key]


def has_elements(x: Any) -> bool:
    """Whether an operand is an array, whatever holds it; arrays of one element are numbers."""
    if isinstance(x, Viewed):
        return x.size != 1
    if isinstance(x, (str, bytes)):
        return False
    return hasattr(x, "__len__") and getattr(x, "shape", None) != ()


class Tile(NamedTuple):
    """A block of an array on one device: where it begins along each axis, and the view of it."""

    device: Device
    start: tuple[int, ...]
    array: AnyArray


class DistributedArray(Array):
    """An array whose parts lie on several devices (docs/distributed.md): made by ``portmp.shard``.

    Operators and portmp's functions work on it as on arrays of one device, with the same bits, as
    far as that page lists them; others say so. Conversions to the host (``to_float64``,
    ``to_strings``, ``tolist`` ...) collect all parts there.
    """

    __slots__ = ("pieces", "placement", "queues")
    pieces: tuple[AnyArray, ...]
    """What each device has: arrays of one device, a part of all elements each."""
    placement: Placement
    queues: tuple[Queue, ...]

    def __new__(cls, *given: Any) -> Any:
        """``made`` gives its parts."""
        raise ArgumentError("DistributedArray: portmp.shard(a, devices, layout) makes one")

    @staticmethod
    def made(
        views: Sequence[View[Any] | None], placement: Placement, queues: tuple[Queue, ...]
    ) -> DistributedArray:
        """An array of views, one for each device's queue; None for those of other processes."""
        elements = next(view for view in views if view is not None).elements
        there = [
            blank(elements, placement.local(i)).made(queues[i]) if view is None else view
            for i, view in enumerate(views)
        ]
        found = object.__new__(DistributedArray)
        found.pieces = tuple([wrapped(view) for view in there])
        found.placement, found.queues = placement, queues
        return found

    # --- facts --------------------------------------------------------------------------------

    @property
    def planes(self) -> Any:  # type: ignore[override]
        """Of arrays on one device their memory: asked for here, it says what does not work."""
        raise Elsewhere(self)

    @property
    def refusal(self) -> str:
        """What is said where an array of one device is needed."""
        count = len(self.queues)
        return (
            f"an array of shape {self.shape} on {count} devices given ({self.layout!r}), for which "
            "this is not made: x.gather() copies it to one device, where everything works; "
            "docs/distributed.md lists what works on several"
        )

    def called(self, function: Callable[..., Any], args: Any, options: Any, known: str = "") -> Any:
        """What a function that met this array does: as that of a name, or of its own."""
        does = FUNCTIONS.get(known or function.__name__)
        given = (*args, *options.values())
        if does is None or not any(isinstance(x, DistributedArray) for x in given):
            raise Elsewhere(self)
        return does(function, *args, **options)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Lengths of the axes."""
        return self.placement.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.placement.axes)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """What elements are: a format, or a dtype of NumPy's."""
        return self.pieces[self.home].dtype

    @property
    def format(self) -> Format:  # type: ignore[override]
        """The number format."""
        found = self.dtype
        if not isinstance(found, Format):
            raise Elsewhere(self)
        return found

    @property
    def itemsize(self) -> int:
        """Bytes of an element in memory."""
        return sum(np.dtype(part).itemsize for part in self.views[0].parts)

    @property
    def home(self) -> int:
        """The first part that this process has."""
        return self.queues.index(transport.home(self.queues))

    def by_one(self, act: Callable[[], T], what: str) -> T:
        """What a function gives: of several processes the first calls it, and tells all."""
        return transport.first(act, self.queues, what)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Those that have parts, one for each part."""
        return tuple([queue.device for queue in self.queues])

    @property
    def layout(self) -> Layout:
        """How it is cut up."""
        return self.placement.layout

    @property
    def views(self) -> tuple[Any, ...]:
        """The memory of each part: a ``View``."""
        return tuple([piece.planes for piece in self.pieces])

    def tiles(self) -> Iterator[Tile]:
        """All blocks of all devices, each with a view of it: what is written there is written here.

        Of a replicated array each device's copy is one. Of several processes each has its own.
        """
        for i, piece in enumerate(self.pieces):
            if transport.is_distant(self.queues[i]):
                continue
            axes, parts = self.placement.axes, self.placement.parts(i)
            blocks = [list(axis.blocks(part)) for axis, part in zip(axes, parts, strict=True)]
            for index in np.ndindex(*map(len, blocks)):
                mine = [each[n] for each, n in zip(blocks, index, strict=True)]
                starts = [n * axis.block for n, axis in zip(index, axes, strict=True)]
                key = tuple(
                    [
                        slice(at, at + end - first)
                        for at, (first, end) in zip(starts, mine, strict=True)
                    ]
                )
                view = piece[key] if key else piece
                yield Tile(self.queues[i].device, tuple([first for first, _ in mine]), view)

    # --- elsewhere ----------------------------------------------------------------------------

    def gather(self, device: Where | None = None, root: int | None = None) -> Any:
        """All of it as an array on one device, by default the first one; of several processes
        each has it, on its own first one, or *root* alone, where that is given: others None.
        """
        job = processes.job()
        if root is not None and root not in range(job.count if job is not None else 1):
            raise ArgumentError(f"gather: root: {root!r} given, there are the ranks of initialize")
        first = self.home
        queue = self.queues[first] if device is None else discovery.queue_of(device)
        check_room("gather", self.shape, self.dtype, alone(self.shape), [queue])
        found = transport.whole(self.views, self.placement, queue, root)
        if found is None:
            return None
        return wrapped(
            found if found is not self.views[first] else self.pieces[first].copy().planes
        )

    def redistribute(self, layout: Any, devices: Devices | None = None) -> DistributedArray:
        """The same elements by another layout, and on other devices where these are given.

        Itself, where nothing changes.
        """
        queues = self.queues if devices is None else queues_of(devices)
        return self.placed(chosen(layout).place(self.shape, len(queues)), queues)

    def placed(self, placement: Placement, queues: tuple[Queue, ...]) -> DistributedArray:
        """The same, cut up as a placement says."""
        if placement == self.placement and queues is self.queues:
            return self
        check_room("redistribute", self.shape, self.dtype, placement, queues)
        views = transport.moved(self.views, self.placement, placement, queues)
        return DistributedArray.made(views, placement, queues)

    def to(self, device: Any) -> Any:
        """``gather``: the array on one device."""
        return self.gather(device)

    def astype(self, dtype: Any, rounding: str | None = None, *, copy: bool = True) -> Any:
        """A copy in another dtype, as of arrays on one device."""
        more = {} if rounding is None else {"rounding": rounding}
        return self._each(lambda piece: piece.astype(dtype, copy=copy, **more))

    def copy(self, order: str = "C") -> Any:
        """A copy on the same devices."""
        return self._each(lambda piece: piece.copy(order))

    __copy__ = copy

    def _each(self, function: Callable[[AnyArray], AnyArray]) -> DistributedArray:
        """What a function makes of each part, which keeps its shape."""
        views = [
            None if transport.is_distant(piece.queue) else function(piece).planes
            for piece in self.pieces
        ]
        return DistributedArray.made(views, self.placement, self.queues)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Itself, where that is its shape; a vector of all, where rows follow each other. Of
        replicated arrays any shape.
        """
        count = len(self.queues)
        if self.placement.replicated:
            every = [piece.reshape(*shape, order=order) for piece in self.pieces]
            place = Replicated().place(every[0].shape, count)
            return DistributedArray.made([one.planes for one in every], place, self.queues)
        sizes = integers(shape, "reshape")
        if order == "C" and tuple(sizes) in (self.shape, (self.size,), (-1,)):
            if self.ndim == 1 or tuple(sizes) == self.shape:
                return self
            if not self.size:
                return self.placed(Replicated().place(self.shape, count), self.queues).reshape(0)
            rows = self.placed(Rows().place(self.shape, count), self.queues)
            first = rows.placement.axes[0]
            each = first._replace(n=self.size, block=first.block * (self.size // first.n))
            views = [piece.reshape(-1).planes for piece in rows.pieces]
            place = Placement(rows.placement.grid, (each,))
            return DistributedArray.made(views, place, self.queues)
        raise Elsewhere(self)

    def transpose(self, *axes: Any) -> Any:
        """Axes in reversed order, or in the given one: a view of each part."""
        views = [piece.transpose(*axes).planes for piece in self.pieces]
        order = (
            Array(views[0].view(self.shape, range(self.ndim), 0)).transpose(*axes).planes.strides
        )
        mine = tuple([self.placement.axes[i] for i in order])
        return DistributedArray.made(views, Placement(self.placement.grid, mine), self.queues)

    def settled(self) -> DistributedArray:
        """Itself with rows along the grid's rows, and columns along its columns."""
        if all(axis.along == i or axis.parts == 1 for i, axis in enumerate(self.placement.axes)):
            return self
        return self.placed(self.layout.place(self.shape, len(self.queues)), self.queues)

    # --- the host -----------------------------------------------------------------------------

    def to_limbs(self) -> list[np.ndarray[Any, Any]]:
        """The limb planes as NumPy arrays, leading limb first, collected from all devices."""
        found: list[np.ndarray[Any, Any]] = self.gather(HOST).to_limbs()
        return found

    def to_parts(self) -> list[np.ndarray[Any, Any]]:
        """The planes as they lie in memory, likewise."""
        found: list[np.ndarray[Any, Any]] = self.gather(HOST).to_parts()
        return found

    def to_numpy(self, dtype: Any = None) -> np.ndarray[Any, Any]:
        """Values as of arrays on one device; plain numbers as they are."""
        given = () if dtype is None else (dtype,)
        found: np.ndarray[Any, Any] = self.gather(HOST).to_numpy(*given)
        return found

    def tolist(self) -> Any:
        """Exact values as Python's numbers: nested lists, or one number."""
        return super().tolist() if isinstance(self.dtype, Format) else self.to_numpy().tolist()

    def _once(self) -> tuple[AnyArray, ...]:
        """This process's parts, of equal ones the first."""
        own = [piece for piece in self.pieces if not transport.is_distant(piece.queue)]
        return tuple(own[:1] if self.placement.replicated else own)

    def item(self, *index: int) -> Any:
        """The only element, or that at *index*, as one of Python's numbers: exact."""
        return self.gather(HOST).item(*index)

    def __repr__(self) -> str:
        names = [device.name for device in self.devices]
        text = printing.shown(self._ends(), quoted=isinstance(self.dtype, Format))
        return f"portmp.shard({text}, {names}, {self.layout!r}, {str(self.dtype)!r})"

    def __str__(self, quoted: bool = False) -> str:
        return printing.shown(self._ends(), quoted)

    def _repr_html_(self) -> str | None:
        return printing.html(self._ends())

    def _ends(self) -> Any:
        return _Ends(self) if printing.is_long(self) else self.gather(HOST)

    # --- operators ----------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(f"bool: one element expected, shape {self.shape} given")
        return bool(self.item())

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'DistributedArray'")

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __iter__(self) -> Iterator[Any]:
        raise Elsewhere(self)

    def __getitem__(self, key: Any) -> Any:
        whole_one = isinstance(key, slice) and self.ndim and key == slice(None)
        if key is Ellipsis or whole_one or (isinstance(key, tuple) and not key):
            return self
        if not self.ndim:
            raise PlaceError(f"index: {key!r:.60} given, an array of shape () has no axes")
        first, *rest = self.placement.axes
        # What leaves rows whole is a view of each part.
        rows = isinstance(key, tuple) and isinstance(key[0], slice) and key[0] == slice(None)
        if not rows or any(axis.parts > 1 for axis in rest):
            raise Elsewhere(self)
        pieces = [piece[key] for piece in self.pieces]
        place = Placement(self.placement.grid, (first, *map(whole, pieces[0].shape[1:])))
        return DistributedArray.made([piece.planes for piece in pieces], place, self.queues)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise Elsewhere(self)


_OPERATORS: dict[str, Any] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "floordiv": composed.floor_divide,
    "mod": composed.remainder,
    "pow": composed.power,
    "and": elementwise.bitwise_and,
    "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor,
    "matmul": products.matmul,
}
_ORDER: dict[str, Any] = {
    "lt": elementwise.less,
    "le": elementwise.less_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
}
_SAMENESS: dict[str, Any] = {"eq": elementwise.equal, "ne": elementwise.not_equal}


def _sameness(function: Any) -> Any:
    """``==`` or ``!=``, as one device's arrays mean it of what is no array."""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, Viewed) or has_elements(other):
            return function(self, other)
        return self._each(lambda piece: elementwise.is_same(piece, other, function.__name__))

    return operator


def _operator(function: Any, turned: bool = False) -> Any:
    def operator(self: Any, other: Any) -> Any:
        return function(other, self) if turned else function(self, other)

    return operator


for _name, _function in _OPERATORS.items():  # in place a new array
    for _prefix in ("", "i", "r"):
        setattr(DistributedArray, f"__{_prefix}{_name}__", _operator(_function, _prefix == "r"))
for _name, _function in _ORDER.items():
    setattr(DistributedArray, f"__{_name}__", _operator(_function))
for _name, _function in _SAMENESS.items():
    setattr(DistributedArray, f"__{_name}__", _sameness(_function))


class _Ends:
    """An array that is printed: elements at the ends of its axes are read one by one."""

    def __init__(self, x: DistributedArray, index: tuple[int, ...] = ()) -> None:
        self.x, self.index = x, index
        self.shape = x.shape[len(index) :]
        self.ndim, self.size = len(self.shape), math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return _Ends(self.x, (*self.index, key))
        found = [self.element((*self.index, i)) for i in key]
        return creation.array(found, creation.chosen(self.x.dtype, None), HOST)

    def element(self, index: tuple[int, ...]) -> Any:
        """One element, on the host."""
        place, mine, grid = self.x.placement, [], [0, 0]
        for axis, n in zip(place.axes, index, strict=True):
            block, at = divmod(n, axis.block)
            mine.append(block // axis.parts * axis.block + at)
            if axis.parts > 1:
                grid[axis.along] = block % axis.parts
        there = self.x.pieces[grid[0] * place.grid[1] + grid[1]][tuple(mine)]
        found = wrapped(transport.known(there.planes, self.x.queues))
        return found.to(HOST) if isinstance(found, Array) else found.item()
