"""Queues of one's own, events, memory that devices copy by themselves, repeated launches."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from slow import TURNS, by_turns, slow

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, DeviceError, FormatError, ShapeError

STEP = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        ${store("y", "i", add(load("x", "i"), load("y", "i")))}
    }
}
"""
step = mp.Kernel(STEP, "step(x: in [n], y: inout [n])", threads="n", block=64, format="dd")


def test_work_in_another_queue(anywhere: Device) -> None:
    """The same memory; what is done there comes after what its own queue was given."""
    other = mp.queue(anywhere)
    assert other is not anywhere.queue and other.device is anywhere
    x = mp.array(range(1000), "dd", anywhere)
    doubled = x + x
    there = doubled.to(other)
    assert there.queue is other and doubled.queue is anywhere.queue
    step(x=there, y=there[::-1].copy())
    there[0] = 7
    back = there.to(anywhere.queue)
    assert back.to_fractions()[:3] == [7, 2, 4] == doubled.to_fractions()[:3]
    assert there.to(anywhere) is there


def test_arrays_are_made_in_a_queue(device: Device) -> None:
    """By every function that takes a device, and by calls of kernels that make arrays."""
    queue = mp.queue(device)
    made: list[mp.Array | mp.PlainArray] = [
        mp.array([1, 2], "qd", queue),
        mp.zeros(3, "ds", queue),
        mp.from_limbs([np.ones(2), np.zeros(2)], "dd", queue),
        mp.plain_array([1, 2], "int8", queue),
        mp.plain_zeros(2, "int8", queue),
        mp.plain_full(2, 3, "int8", queue),
    ]
    made += [made[0] * 2, made[0].copy(), made[3].copy(), made[1].astype("float32")]
    assert all(one.queue is queue for one in made)
    filled = mp.Kernel(
        "${kernel()}\n{\n    ${store('y', global_id(), number(1))}\n}\n",
        "filled(y: out [64])",
        grid=1,
        block=64,
    )
    y = filled(device=queue)
    assert y.queue is queue and y.to_fractions() == [1] * 64


def test_queues_do_not_mix(device: Device) -> None:
    """Arrays of two queues in one call are refused, by name."""
    x, y = mp.zeros(4, "dd", device), mp.zeros(4, "dd", mp.queue(device))
    with pytest.raises(DeviceError, match=r"step: y: on .* \(another queue"):
        step(x=x, y=y)
    with pytest.raises(DeviceError, match="queue"):
        _ = x + y


def test_events(anywhere: Device) -> None:
    """Marks are passed in order; another queue waits for one."""
    first, second = mp.queue(anywhere), mp.queue(anywhere)
    x = mp.zeros(100, "dd", first)
    begun = first.record()
    for _ in range(5):
        step(x=mp.array([1] * 100, "dd", first), y=x)
    ended = first.record()
    second.wait(ended)
    assert mp.Array(x.planes.in_queue(second)).to_fractions() == [5] * 100
    ended.wait()
    assert ended.seconds_since(begun) >= 0


def test_waiting_for_another_device(every_device: Device) -> None:
    """A mark in a queue of any device."""
    here, there = mp.queue(every_device), mp.queue()
    x = mp.array([1, 2], "ds", there) + 1
    here.wait(there.record())
    here.synchronize()
    assert x.to_fractions() == [2, 3]


@slow(TURNS, unless=by_turns("form", ("float32", "dd", "td", "slfp64in24b")))
@pytest.mark.parametrize("form", ["float32", "dd", "td", "slfp64in24b"])
def test_copies_without_waiting(form: str, anywhere: Device) -> None:
    """Planes to the device and back, through memory that stays in its place."""
    x = mp.array(np.random.default_rng(3).standard_normal((7, 30)), form, anywhere)
    parts = x.to_parts()
    sent = [mp.pinned(part.shape, part.dtype, anywhere) for part in parts]
    got = [mp.pinned(part.shape, part.dtype, anywhere) for part in parts]
    for mine, part in zip(sent, parts, strict=True):
        assert not mine.any()
        mine[...] = part
    y = mp.zeros(x.shape, form, anywhere)
    y.write_from(*sent)
    y.read_into(*got).wait()
    assert all((a == b).all() for a, b in zip(got, parts, strict=True))


def test_copies_of_plain_numbers(anywhere: Device) -> None:
    """A part of an array, from and to memory of NumPy's own."""
    x = mp.plain_zeros(100, "uint16", anywhere)
    numbers = np.arange(40, dtype=np.uint16)
    x[20:60].write_from(numbers).wait()
    found = np.empty(100, np.uint16)
    x.read_into(found).wait()
    assert found.tolist() == [0] * 20 + list(range(40)) + [0] * 40


def test_pinned_memory_goes_back(device: Device) -> None:
    """With its last view."""
    memory = mp.pinned((3, 4), "int32", device)
    view = memory[1:]
    base: Any = view
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    gone = weakref.ref(base)
    del memory, base
    gc.collect()
    assert gone() is not None
    view[...] = 5
    del view
    gc.collect()
    assert gone() is None


def test_repeated_launches(anywhere: Device) -> None:
    """A loop does again what was recorded, in place."""
    x, y = mp.array(range(50), "dd", anywhere), mp.zeros(50, "dd", anywhere)
    with mp.capture() as recorded:
        step(x=x, y=y)
        step(x=x, y=y)
    assert (
        len(recorded) == 2 and repr(recorded) == f"<portmp loop of 2 launches on {anywhere.name}>"
    )
    for _ in range(3):
        recorded.replay()
    assert y.to_fractions() == [8 * i for i in range(50)]


def _recorded(x: mp.Array, plane: Any) -> None:
    with mp.capture():
        x.write_from(plane, plane)


REFUSED: dict[str, tuple[Callable[[mp.Array, Any], object], type[Exception], str]] = {
    "planes": (
        lambda x, p: x.write_from(p),
        ArgumentError,
        "write_from: 1 arrays given, there are 2",
    ),
    "dtype": (
        lambda x, p: x.write_from(p, p.astype("float32")),
        ArgumentError,
        "write_from: plane 1: float32 of shape (6,) given, C-contiguous float64 of shape (6,)",
    ),
    "shape": (
        lambda x, p: x.read_into(p, p[:3]),
        ArgumentError,
        "read_into: plane 1: float64 of sh",
    ),
    "strides": (
        lambda x, p: x[::2].read_into(p, p),
        ArgumentError,
        "read_into: a dense array is need",
    ),
    "no array": (lambda x, p: x.read_into(p, [1]), ArgumentError, "read_into: plane 1: list given"),
    "to read": (
        lambda x, p: x.read_into(p, np.broadcast_to(p[:1], 6).copy().view(Frozen)),
        ArgumentError,
        "read_into: a NumPy array that cannot be written",
    ),
    "pinned dtype": (lambda x, p: mp.pinned(3, "dd"), ArgumentError, "pinned: dtype: 'dd' given"),
    "pinned objects": (
        lambda x, p: mp.pinned(3, object),
        ArgumentError,
        "pinned: dtype: object given",
    ),
    "pinned shape": (lambda x, p: mp.pinned(-3), ShapeError, "pinned: shape (-3,) given"),
    "queue": (lambda x, p: mp.queue("nothing:7"), DeviceError, "nothing:7"),
    "recorded": (_recorded, ArgumentError, "capture: write_from copies"),
}


class Frozen(np.ndarray[Any, Any]):
    """An array that cannot be written."""

    def __array_finalize__(self, obj: Any) -> None:
        self.flags.writeable = False


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, device: Device) -> None:
    """One sentence that says what was given."""
    work, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        work(mp.zeros(6, "dd", device), np.zeros(6))


def test_a_queue_of_a_device_without_float64(device: Device) -> None:
    """The format is refused whatever names the device."""
    queue = mp.queue(device)
    facts = queue.device.properties
    if facts.float64:
        assert mp.zeros(1, "dd", queue).format.name == "dd"
    else:
        with pytest.raises(FormatError):
            mp.zeros(1, "dd", queue)
