"""Every ``out=`` of portmp's: what does not fit is refused, and memory beside it keeps its bits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError, DeviceError, FormatError, PortmpError, ShapeError

N, SIZE = 6, 16
"""Elements along an axis of operands, and of the memory that they are parts of."""
FORM = "float64"


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions and methods that have ``out``, each once."""
    known: set[int] = set()

    def within(place: Any, path: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        names = [n for n in dir(place) if not n.startswith("_")]
        for name in sorted(names, key=lambda n: isinstance(getattr(place, n), (ModuleType, type))):
            one = getattr(place, name)
            if id(one) in known or not getattr(one, "__module__", "portmp").startswith("portmp"):
                continue
            if isinstance(one, (ModuleType, type)):
                if isinstance(one, type) or (one.__name__.startswith("portmp.") and not path):
                    known.add(id(one))
                    yield from within(one, f"{path}{name}.")
            elif callable(one) and "out" in _parameters(one):
                known.add(id(one))
                yield path + name, one

    yield from within(mp, "")


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


FUNCTIONS = dict(functions())
SEVERAL = ("divmod", "frexp", "modf")
"""Functions of two results."""
SEED = "a generator"
"""What stands for one among operands."""
ON_DEVICE = (
    "add",
    "greater",
    "exp",
    "concat",
    "stack",
    "sum",
    "cumulative_sum",
    "dot",
    "gemm",
    "gemv",
)
"""Of each way to a result one or two; checks are common to all devices."""


class Room:
    """Memory that inputs and outputs are parts of, with a pattern around them."""

    def __init__(self, device: Any, dtype: Any = FORM) -> None:
        content = str(dtype) == "bool" or 77
        self.whole = mp.full((SIZE, SIZE), content, dtype=dtype, device=device)
        self.before = self.bits()

    def part(self, shape: tuple[int, ...], at: int = 2) -> Any:
        """A view of some elements."""
        rows = self.whole if len(shape) == 2 else self.whole[3]
        found = rows[tuple(slice(at, at + n) for n in shape or (1,))]
        return found if shape else found.reshape(())

    def bits(self) -> list[np.ndarray[Any, Any]]:
        """All elements."""
        return (
            [part.copy() for part in self.whole.to_parts()]
            if hasattr(self.whole, "to_parts")
            else [self.whole.to_numpy()]
        )

    def untouched(self, shape: tuple[int, ...] | None = None, at: int = 2) -> bool:
        """Whether all elements, but for those of a part, are as they were."""
        beside = np.ones((SIZE, SIZE), bool)
        if shape is not None:
            rows = beside if len(shape) == 2 else beside[3]
            rows[tuple(slice(at, at + n) for n in shape) if shape else at] = False
        pairs = zip(self.bits(), self.before, strict=True)
        return all(np.array_equal(now[beside], then[beside]) for now, then in pairs)


def operands(name: str, rooms: Callable[[Any], Room]) -> tuple[Any, ...]:
    """What a function is called with, each a part of some memory."""
    short = name.rpartition(".")[2]

    def filled(shape: tuple[int, ...], dtype: Any = FORM) -> Any:
        view = rooms(dtype).part(shape)
        drawn = np.random.default_rng(len(shape)).uniform(0.2, 0.8, shape)
        view[...] = mp.asarray(drawn, dtype=FORM, device=view.queue) if dtype == FORM else 3
        return view

    a, m = filled((N,)), filled((N, N))
    if short.startswith("bitwise") or short in ("invert", "left_shift", "right_shift"):
        return (filled((N,), "int64"),) * (1 + (short not in ("bitwise_invert",)))
    known: dict[str, tuple[Any, ...]] = {
        "axpy": (2, a, filled((N,))),
        "scal": (2, a),
        "concat": ((a, a),),
        "stack": ((a, a),),
        "multi_dot": ((m, m, m),),
        "matmul": (m, m),
        "gemm": (m, m),
        "gemv": (m, a),
        "acceleration": (filled((N, 3)), a),
        "permuted": (SEED, a),
        "times": (mp.sparse.csr_array(m), a),
        "clip": (a, 0.4),
        "einsum": ("i,i->i", a, a),
        "ldexp": (a, mp.asarray([1] * N, device=a.queue)),
        "trace": (filled((N, N)),),
        "choose": (filled((N,), "int64") - 3, (a, a)),
        "take": (a, filled((N,), "int64") - 3),
        **dict.fromkeys(("fft2", "ifft2", "irfft2", "rfft2"), (m,)),
        **dict.fromkeys(("random", "standard_normal"), (SEED,)),
        **dict.fromkeys(("exponential", "lognormal", "normal", "uniform"), (SEED, a)),
    }
    if short in known:
        return known[short]
    parameters = _parameters(FUNCTIONS[name]).values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return (a,) * len(needed)


def called(name: str, given: tuple[Any, ...], **out: Any) -> Any:
    """The function's result; a generator begins anew each time."""
    options: dict[str, Any] = {}
    if given[0] is SEED:
        given = (mp.random.default_rng(1), *given[1:])
        if "size" in _parameters(FUNCTIONS[name]):
            options = {"size": N, "format": FORM}
    if name in SEVERAL:
        out = {"out": (out["out"], None)} if out else {}
        return FUNCTIONS[name](*given, **out)[0]
    return FUNCTIONS[name](*given, **options, **out)


def test_there_are_many() -> None:
    """The walk finds functions of all kinds."""
    wanted = {
        "exp",
        "add",
        "sum",
        "concat",
        "linalg.multi_dot",
        "dot",
        "gemm",
        "sparse.csr_array.times",
    }
    assert wanted <= FUNCTIONS.keys() and len(FUNCTIONS) > 100


def test_outs_on_a_device(device: Device) -> None:
    """Where kernels write."""
    for name in ON_DEVICE:
        check_outs(name, device, mp.zeros(1, device="host").queue)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_outs(name: str, device: Device) -> None:
    """Of each function, where nothing is compiled."""
    check_outs(name, mp.zeros(1, device="host").device, device.queue)


def check_outs(name: str, device: Device, elsewhere: Queue) -> None:
    """One that fits takes the result; all others are refused by name, and nothing is written."""
    used: list[Room] = []

    def rooms(dtype: Any) -> Room:
        used.append(Room(device, dtype))
        return used[-1]

    given = operands(name, rooms)
    for room in used:
        room.before = room.bits()
    right = called(name, given)
    shape, kind = right.shape, right.dtype
    fitting = Room(device, kind)
    found = called(name, given, out=fitting.part(shape))
    assert found.planes.same_view(fitting.part(shape).planes)
    assert same(fitting.part(shape), right) and fitting.untouched(shape)

    longer = tuple(n + 1 for n in shape) or (1,)
    wrong: list[tuple[Room, Any, type[PortmpError] | tuple[type[PortmpError], ...]]] = []
    for other, error in ((longer, ShapeError), (shape[1:] if shape else (2,), ShapeError)):
        room = Room(device, kind)
        wrong.append((room, room.part(other), error))
    for dtype in (FORM, "float32", "dd", "int64", "int8", "bool"):
        if dtype != str(kind):
            room = Room(device, dtype)
            wrong.append((room, room.part(shape), (FormatError, ArgumentError)))
    draws_there = len(given) == 1 and given[0] is SEED
    for place in (device.new_queue(), elsewhere):
        if place is not device.queue and not draws_there:
            room = Room(place, kind)
            wrong.append((room, room.part(shape), DeviceError))
    if right.size > 1:
        room = Room(device, kind)
        wrong.append((room, mp.broadcast_to(room.part(()), shape), ArgumentError))
    for room, out, error in wrong:
        with pytest.raises(error, match="out"):
            called(name, given, out=out)
        assert room.untouched(), f"{out.shape} of {out.dtype} on {out.device.name}"
    with pytest.raises(PortmpError):
        called(name, given, out=np.zeros(shape))
    assert all(room.untouched() for room in used)

    for at in (1, 3):
        for i in range(len(used)):
            check_overlap(name, rooms, used, i, at, shape, kind, right)


def check_overlap(
    name: str,
    rooms: Callable[[Any], Room],
    used: list[Room],
    i: int,
    at: int,
    shape: tuple[int, ...],
    kind: Any,
    right: Any,
) -> None:
    """A part of an operand's memory a step beside it: the right result, or nothing is written."""
    first = len(used)
    given = operands(name, rooms)
    now = used[first:]
    del used[first:]
    for room in now:
        room.before = room.bits()
    if str(now[i].whole.dtype) != str(kind):
        return
    try:
        found = called(name, given, out=now[i].part(shape, at))
    except PortmpError:
        assert all(room.untouched() for room in now)
        return
    assert same(found, right), (i, at)
    assert now[i].untouched(shape, at)


def same(found: Any, right: Any) -> bool:
    """Whether two arrays have the same bits."""
    parts = [x.to_parts() if hasattr(x, "to_parts") else [x.to_numpy()] for x in (found, right)]
    return all(a.tobytes() == b.tobytes() for a, b in zip(*parts, strict=True))
