"""Limb planes on a device: what routines read and write.

A Planes is a strided view of planes of words, one for each limb (in storage formats for each
part of one), each aligned and contiguous. Shapes and strides count elements and are common to
all planes. Numbers is the same of plain integers and truth values, which have one plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from portmp.backends.base import (
    Buffer,
    Device,
    Event,
    Queue,
    check_process,
    check_unread,
    is_recording,
)
from portmp.backends.host.runtime import HostBuffer
from portmp.errors import ShapeError
from portmp.formats import Format, encode

Shape = tuple[int, ...]
Host = list[np.ndarray[Any, Any]]


Elements = TypeVar("Elements", Format, str)
"""What a view's elements are: values of a format, or numbers of a dtype."""


def within(path: str, doc: str) -> Any:
    """A property that is what a part of the object has; it is read without running Python."""
    return property(attrgetter(path), doc=doc)


class Facts:
    """What views have in common that are alike but for their memory, its queue and, as far as
    Start goes, where they begin there.
    """

    __slots__ = ()


class Unknown(Exception):
    """A Start was asked for what it does not know."""


class Start:
    """What stands in a plan for where an operand begins, number ``index`` of what a call gives.

    It is not at 0. Known is what is left of it by PERIOD; what a plan does may depend on nothing
    else. Unknown is raised where it would. ``offset``: elements from there to where a part of the
    operand begins.
    """

    __slots__ = ("index", "offset", "rest")

    def __init__(self, start: int, index: int, offset: int = 0) -> None:
        self.rest = start % PERIOD
        self.index = index
        self.offset = offset

    def __mod__(self, divisor: int) -> int:
        if PERIOD % divisor:
            raise Unknown
        return self.rest % divisor

    def __add__(self, elements: object) -> Start:
        if not isinstance(elements, int):
            raise Unknown
        return Start(self.rest + elements, self.index, self.offset + elements)

    __radd__ = __add__

    def __hash__(self) -> int:
        return hash((self.index, self.offset, self.rest))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Start) and self.index == other.index:
            return (self.offset, self.rest) == (other.offset, other.rest)
        raise Unknown

    def _refuse(self, *others: object) -> Any:
        raise Unknown

    __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __index__ = __neg__ = _refuse


PERIOD = 16
"""Elements, of which vectors are parts."""


MOST_FACTS = 1 << 16
_facts: dict[Any, Facts] = {}


class Place(NamedTuple):
    """Where a view's elements lie in its buffers."""

    shape: Shape
    strides: Shape
    start: int


@lru_cache(maxsize=4096)
def dense_strides(shape: Shape) -> Shape:
    """Strides (elements) of a C-contiguous array."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(int(size), 1)
    return tuple(reversed(strides))


def broadcast_strides(shape: Shape, strides: Shape, wanted: Sequence[int]) -> Shape:
    """Strides that show an array of *shape* as one of shape *wanted*: 0 where it is repeated."""
    lead = len(wanted) - len(shape)
    if min(wanted, default=0) < 0:
        raise ShapeError(f"shape {tuple(wanted)} given, lengths cannot be negative")
    if lead < 0 or any(n not in (1, want) for n, want in zip(shape, wanted[lead:], strict=True)):
        raise ShapeError(f"shape {shape} cannot be broadcast to {tuple(wanted)}")
    rest = zip(shape, strides, wanted[lead:], strict=True)
    return (0,) * lead + tuple([0 if n == 1 != want else step for n, step, want in rest])


class View(Generic[Elements]):
    """A strided view of planes in device memory: ``buffers[i]`` holds numbers of ``parts[i]``.

    All planes have the view's shape, strides and start, which count *elements*. A view is not
    changed once it is made.
    """

    __slots__ = (
        "__weakref__",
        "_facts",
        "buffers",
        "copied",
        "elements",
        "queue",
        "shape",
        "start",
        "strides",
    )
    elements: Elements
    copied: bool
    """Set, and true, of an element that was taken from an array: nobody else sees its memory."""

    def __init__(
        self,
        elements: Elements,
        shape: Shape,
        strides: Shape,
        start: int,
        buffers: tuple[Buffer, ...],
        queue: Queue,
    ) -> None:
        self.elements = elements
        self.shape = shape
        self.strides = strides
        self.start = start
        self.buffers = buffers
        self.queue = queue
        self._facts: Facts | None = None

    @property
    def facts(self) -> Facts:
        """What it is and how its elements lie in memory: one object for all that are alike."""
        if self._facts is None:
            start: Any = self.start
            if type(start) is int:
                start = start and 1 + start % PERIOD
            key = (self.elements, self.shape, self.strides, start)
            if len(_facts) >= MOST_FACTS:
                _facts.clear()
            self._facts = _facts.setdefault(key, Facts())
        return self._facts

    @property
    def parts(self) -> tuple[str, ...]:
        """The dtypes of the planes."""
        raise NotImplementedError

    def view(self, shape: Sequence[int], strides: Sequence[int], start: int) -> Self:
        """Another view of the same memory."""
        shape, strides = tuple(shape), tuple(strides)
        return type(self)(self.elements, shape, strides, start, self.buffers, self.queue)

    def in_queue(self, queue: Queue, mark: Event | None = None) -> Self:
        """The same memory in another queue, whose further work comes after this one's so far, or
        after a *mark* in it.
        """
        if queue is self.queue:
            return self
        check_unread("an array in another queue")
        for buffer in self.buffers:
            buffer.note(queue)
        queue.wait(mark or self.queue.record())
        place = self.shape, self.strides, self.start
        return type(self)(self.elements, *place, self.buffers, queue)

    device: Device = within("queue.device", "The device that holds the planes.")

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def place(self) -> Place:
        """Where the view's elements lie in its buffers."""
        return Place(self.shape, self.strides, self.start)

    @property
    def contiguous(self) -> bool:
        """Whether elements follow each other in C order."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step and self.size:
                return False
            step *= size
        return True

    # --- views ----------------------------------------------------------------------------

    def transposed(self, axes: Sequence[int]) -> Self:
        """Axes in another order."""
        shape = [self.shape[a] for a in axes]
        return self.view(shape, [self.strides[a] for a in axes], self.start)

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """NumPy's broadcasting, without a copy (stride 0)."""
        if self.shape == shape:
            return self
        return self.view(shape, broadcast_strides(self.shape, self.strides, shape), self.start)

    def view_as(self, shape: Sequence[int]) -> Self:
        """Dense planes with another shape of the same size."""
        sizes = tuple(shape)
        return self.view(sizes, dense_strides(sizes), self.start)

    def overlaps(self, other: View[Any]) -> bool:
        """Whether the two views may share an element; of blocks of one array, whether they do."""
        if self.buffers[0] is not other.buffers[0] or not self.size or not other.size:
            return False
        low, high = self._extent()
        other_low, other_high = other._extent()
        if low > other_high or other_low > high:
            return False
        steps = sorted({*self._steps(), *other._steps()}, reverse=True)
        mine, others = self._spans(steps), other._spans(steps)
        if mine is None or others is None:
            return True
        pairs = zip(mine, others, strict=True)
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)

    def same_view(self, other: View[Any]) -> bool:
        """Whether both name the same elements in the same order."""
        return self.buffers[0] is other.buffers[0] and self.place == other.place

    def _extent(self) -> tuple[int, int]:
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        return (
            self.start + sum(r for r in reach if r < 0),
            self.start + sum(r for r in reach if r > 0),
        )

    def _steps(self) -> dict[int, int]:
        """The distances of neighbours along axes, without signs, and how many there are of each."""
        sides = zip(self.shape, self.strides, strict=True)
        return {abs(step): count for count, step in sides if count > 1 and step}

    def _spans(self, steps: Sequence[int]) -> list[tuple[int, int]] | None:
        """The first and last index along each axis of an array that has these *steps*.

        None where the view is no block of such an array: where rows reach into the next one.
        """
        sizes = self._steps()
        if sum(count > 1 and step != 0 for count, step in zip(*self.place[:2], strict=True)) != len(
            sizes
        ):
            return None  # two axes with one step
        rest, room, found = self._extent()[0], math.inf, []
        for step in (*steps, 1):
            first, rest = divmod(rest, step)
            last = first + sizes.get(step, 1) - 1 if step in steps else first
            if (last + 1) * step > room:
                return None
            found.append((first, last))
            room = step
            if step == 1:
                break
        return found

    # --- copies ---------------------------------------------------------------------------

    def write_parts(self, parts: Host, *, wait: bool = True) -> None:
        """Copy planes as they lie in memory to the device; only for contiguous views."""
        check_process(self.device)
        queue = self.queue
        made = queue.allocate_parts([p.nbytes for p in parts]) if is_recording() else ()
        for i, (buffer, part) in enumerate(zip(self.buffers, parts, strict=True)):
            start = self.start * part.itemsize
            if not made:
                queue.write(buffer, np.ascontiguousarray(part), start, wait=wait)
            elif part.nbytes:  # from memory of its own, which is copied each time
                queue.write(made[i], np.ascontiguousarray(part))
                queue.do(type(queue).copy, (buffer, made[i], part.nbytes, start), made)

    def read_parts(self) -> Host:
        """Copy a contiguous view to the host as it lies in memory, and wait."""
        parts = [np.empty(self.shape, dtype) for dtype in self.parts]
        self.read_into(parts)
        return parts

    def read_into(self, parts: Host, *, wait: bool = True) -> None:
        """The same into C-contiguous arrays of the planes' dtypes."""
        check_unread("reading an array")
        check_process(self.device)
        if wait:
            self.queue.read_parts(self.buffers, parts, self.start)
            return
        for buffer, part in zip(self.buffers, parts, strict=True):
            self.queue.read(buffer, part, self.start * part.itemsize, wait=False)

    # --- where the host computes ------------------------------------------------------------

    def in_place(self) -> Host:
        """The parts where they lie, of a device whose memory is the host's."""
        found = []
        for dtype, buffer in zip(self.parts, self.buffers, strict=True):
            assert isinstance(buffer, HostBuffer)
            word = np.dtype(dtype)
            if not self.size:
                found.append(np.empty(self.shape, word))
                continue
            steps = [stride * word.itemsize for stride in self.strides]
            start = self.start * word.itemsize
            found.append(np.ndarray(self.shape, word, buffer.memory, start, steps))
        return found

    def decoded(self) -> Host:
        """What such a view holds: plain numbers, or limbs."""
        return self.in_place()

    def fill(self, host: Host) -> None:
        """Set the elements of such a view, whatever its strides."""
        for mine, part in zip(self.in_place(), host, strict=True):
            mine[...] = part.astype(mine.dtype, copy=False).reshape(self.shape)

    def raw(self, plane: int) -> Numbers:
        """The bits of one plane, as unsigned integers."""
        dtype = f"uint{8 * np.dtype(self.parts[plane]).itemsize}"
        held = (self.buffers[plane],)
        return Numbers(dtype, self.shape, self.strides, self.start, held, self.queue)


class Planes(View[Format]):
    """Limb planes of a format."""

    __slots__ = ()
    format: Format = View.elements  # type: ignore[misc]
    """The number format of the elements, by another name."""

    @property
    def parts(self) -> tuple[str, ...]:
        return self.elements.parts

    def seen_as(self, form: Format) -> Planes:
        """The same memory, or its first planes (of both parts), as values of another format."""
        count = len(form.parts) // form.components
        buffers = tuple(one for half in self.halves for one in half.buffers[:count])
        return Planes(form, self.shape, self.strides, self.start, buffers, self.queue)

    def part(self, which: int) -> Planes:
        """The real (0) or the imaginary part (1) of complex numbers, in the same memory."""
        form = self.elements.component
        count = form.limbs
        buffers = self.buffers[which * count : (which + 1) * count]
        return Planes(form, self.shape, self.strides, self.start, buffers, self.queue)

    @property
    def halves(self) -> tuple[Planes, ...]:
        """Both parts of complex numbers; real ones themselves."""
        return (self.part(0), self.part(1)) if self.elements.components > 1 else (self,)

    # --- host -----------------------------------------------------------------------------

    def write(self, host: Host) -> None:
        """Copy limbs of this shape to the device; only for contiguous views."""
        self.write_parts(encode.parts_of(self.format, host))

    def read_dense(self) -> Host:
        """Copy the limbs of a contiguous view to the host and wait."""
        return encode.limbs_of(self.format, self.read_parts())

    def decoded(self) -> Host:
        """The limbs of such a view: where they are stored as they are, its memory itself."""
        return encode.limbs_of(self.format, self.in_place())

    def fill(self, host: Host) -> None:
        super().fill(encode.parts_of(self.format, host))


class Numbers(View[str]):
    """One plane of plain numbers, of a dtype of NumPy."""

    __slots__ = ()
    dtype: str = View.elements  # type: ignore[misc]
    """The name of the numbers' dtype, by another name."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.elements,)

    def read_span(self) -> np.ndarray[Any, Any]:
        """Copy the elements of any view to the host, and wait."""
        if self.contiguous:
            return self._true(self.read_parts()[0])
        check_unread("reading an array")
        check_process(self.device)
        low, high = self._extent()
        span = np.empty(high - low + 1, self.dtype)
        self.queue.read(self.buffers[0], span, low * span.itemsize)
        steps = [step * span.itemsize for step in self.strides]
        elements = np.lib.stride_tricks.as_strided(span[self.start - low :], self.shape, steps)
        return self._true(np.ascontiguousarray(elements))

    def decoded(self) -> Host:
        """The numbers of such a view."""
        return [self._true(part) for part in self.in_place()]

    def _true(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Numbers as they are; of truth values any byte but 0 is true."""
        if self.elements != "bool":
            return numbers
        return np.asarray(numbers.view(np.uint8) != 0)


def allocate_numbers(dtype: str, shape: Sequence[int], queue: Queue) -> Numbers:
    """New memory for plain numbers, with undefined content."""
    numbers: Numbers = blank(dtype, tuple(shape)).made(queue)
    return numbers


def allocate_together(dtype: str, shapes: Sequence[Shape], queue: Queue) -> list[Numbers]:
    """The same for several shapes, in one allocation."""
    sizes = [(math.prod(shape) or 1) * np.dtype(dtype).itemsize for shape in shapes]
    buffers = queue.allocate_parts(sizes)
    return [
        Numbers(dtype, shape, dense_strides(shape), 0, (buffer,), queue)
        for shape, buffer in zip(shapes, buffers, strict=True)
    ]


class Blank(NamedTuple):
    """Dense views of one kind that are to be made."""

    kind: type[View[Any]]
    elements: Any
    shape: Shape
    strides: Shape
    sizes: tuple[int, ...]
    """Bytes of each plane."""
    facts: Facts

    def made(self, queue: Queue) -> Any:
        """One, in new memory with undefined content."""
        buffers = queue.allocate_parts(self.sizes)
        view = self.kind(self.elements, self.shape, self.strides, 0, buffers, queue)
        view._facts = self.facts
        return view


@lru_cache(maxsize=4096)
def blank(elements: Format | str, shape: Shape) -> Blank:
    """What makes planes of a format, or plain numbers of a dtype.

    Sizes may be NumPy's integers, which are equal to Python's and do less: they are kept as those.
    """
    shape = tuple(map(int, shape))
    kind: Any = Planes if isinstance(elements, Format) else Numbers
    parts = elements.parts if isinstance(elements, Format) else (elements,)
    size = max(math.prod(shape), 1)
    sizes = tuple([size * np.dtype(part).itemsize for part in parts])
    strides = dense_strides(shape)
    facts = kind(elements, shape, strides, 0, (), None).facts
    return Blank(kind, elements, shape, strides, sizes, facts)


def blank_like(view: View[Any]) -> Blank:
    """What makes dense views of the same elements and shape."""
    return blank(view.elements, view.shape)


def allocate(form: Format, shape: Sequence[int], queue: Queue) -> Planes:
    """New planes with undefined content."""
    planes: Planes = blank(form, tuple(shape)).made(queue)
    return planes


def upload(form: Format, host: Host, queue: Queue) -> Planes:
    """Copy host planes to new device planes."""
    planes = allocate(form, host[0].shape, queue)
    if planes.size:
        planes.write(host)
    return planes


def upload_numbers(host: np.ndarray[Any, Any], queue: Queue) -> Numbers:
    """Copy plain numbers of the host, of a dtype that devices have, to new memory."""
    numbers = allocate_numbers(host.dtype.name, host.shape, queue)
    if numbers.size:
        numbers.write_parts([host])
    return numbers


FEW_BYTES = 4096
"""Up to so many bytes a CPU's driver copies: no kernel is compiled for them."""


def copied(source: View[Any], target: View[Any]) -> bool:
    """Copy a few elements, which lie side by side, to memory that they fill, by the driver.

    False, and nothing is done, for others, for GPUs, whose drivers take as long to copy a plane as
    to launch a kernel for all, and where launches are recorded.
    """
    if target.device.properties.kind != "cpu":
        return False
    if is_recording() or not target.queue.copies or source.queue is not target.queue:
        return False
    if source.buffers[0] is target.buffers[0] or not (source.contiguous and target.contiguous):
        return False
    size, whole = target.size, target.buffers[0].nbytes
    sizes = [np.dtype(part).itemsize for part in target.parts]
    if not 0 < size * sum(sizes) <= FEW_BYTES or size * sizes[0] != whole:
        return False
    for to, of, step in zip(target.buffers, source.buffers, sizes, strict=True):
        target.queue.copy(to, of, size * step, target.start * step, source.start * step)
    return True


def moved(planes: Planes, queue: Queue) -> Planes:
    """Copy a contiguous view to new planes on the device of *queue*."""
    check_unread("copying an array to another queue")
    made = allocate(planes.format, planes.shape, queue)
    for i, (target, source) in enumerate(zip(made.buffers, planes.buffers, strict=True)):
        step = np.dtype(planes.format.parts[i]).itemsize
        queue.receive(target, planes.queue, source, planes.size * step, planes.start * step)
    return made
