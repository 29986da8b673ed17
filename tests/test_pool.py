"""Memory that queues keep for their next arrays: who gets it, when, and how much of it there is."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import discovery, formats
from portmp.backends import base, driver_api, pool
from portmp.backends.base import Argument, Buffer, Device, Dim3, Event, Kernel
from portmp.backends.host.runtime import HostEvent
from portmp.backends.opencl import runtime as opencl
from portmp.backends.pool import Part, Places, Pool, PooledDevice, PooledQueue, Reserve
from portmp.backends.rocm.runtime import RocmDevice, RocmDriver
from portmp.discovery import finding
from portmp.emulator import device as emulated
from portmp.errors import ArgumentError, DeviceError, OutOfMemory
from portmp.runtime import launch, planes

ALIGNED = 128


class PaperEvent(HostEvent):
    """A mark that its queue has passed, or not yet."""

    passed = True

    def reached(self) -> bool:
        return self.passed


class PaperQueue(PooledQueue):
    """Notes what comes after what."""

    def __init__(self, device: PaperDevice, name: str) -> None:
        self.device: PaperDevice = device
        self.name = name
        self.pool = Pool(device, name)

    def write(
        self, target: Buffer, source: np.ndarray[Any, Any], offset: int = 0, *, wait: bool = True
    ) -> None:
        assert isinstance(target, Part)
        self.device.notes.append((self.name, "writes", target.place, source[0]))

    def read(
        self, source: Buffer, target: np.ndarray[Any, Any], offset: int = 0, *, wait: bool = True
    ) -> None:
        raise NotImplementedError

    def copy(self, target: Buffer, source: Buffer, nbytes: int) -> None:
        raise NotImplementedError

    def _launcher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Argument]
    ) -> Callable[[], None]:
        raise NotImplementedError

    def record(self) -> Event:
        if self.device.lost:
            raise DeviceError("lost")
        self.device.notes.append((self.name, "marks"))
        self.device.marks.append(PaperEvent())
        return self.device.marks[-1]

    def wait(self, event: Event) -> None:
        self.device.notes.append((self.name, "waits"))

    def synchronize(self) -> None:
        self.device.notes.append((self.name, "is done"))


class PaperDevice(PooledDevice):
    """Gives numbers for places, and never one twice while it is not given back."""

    platform = "paper"
    index = 0
    kind = Part

    def __init__(self, memory: int = 1 << 20) -> None:
        self.properties = discovery.get("host:0").properties
        self.properties = type(self.properties)(
            **{**vars(self.properties), "memory": memory, "alignment": ALIGNED}
        )
        self.notes: list[tuple[Any, ...]] = []
        self.marks: list[PaperEvent] = []
        self.given: dict[int, int] = {}
        self.lost = False
        self._numbers = itertools.count(1)
        self.reserve = Reserve(memory)
        self.reserve.poison = False
        self.queue = PaperQueue(self, "first")

    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        if sum(self.given.values()) + sum(sizes) > self.properties.memory:
            raise OutOfMemory(f"{sum(sizes)} bytes asked for")
        found = tuple(next(self._numbers) for _ in sizes)
        self.given |= dict(zip(found, sizes, strict=True))
        return found

    def give(self, places: Places, stream: Any) -> None:
        for place in places:
            del self.given[place]
        self.notes.append((stream, "gives", *places))

    def new_queue(self) -> PaperQueue:
        queue = PaperQueue(self, "other")
        weakref.finalize(queue, queue.pool.close, "first").atexit = False
        return queue

    def compile(self, source: str) -> bytes:
        raise NotImplementedError

    def compiler_key(self) -> str:
        raise NotImplementedError

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        raise NotImplementedError


def _places(parts: Sequence[Buffer]) -> list[Any]:
    return [part.place for part in parts if isinstance(part, Part)]


def test_size_classes() -> None:
    """Multiples of the least size that hold what is asked for, or an eighth more at most."""
    for nbytes in [*range(3000), *(2**k + d for k in range(12, 50) for d in (-1, 0, 1, 999))]:
        for least in (128, 512):
            found = pool.size_class(nbytes, least)
            assert found >= max(nbytes, 1) and found % least == 0
            assert found <= max(nbytes + nbytes // 8, nbytes + least - 1, least)
            assert pool.size_class(found, least) == found


def test_freed_memory_serves_the_same_queue_again() -> None:
    """The next array of about that size has it; another queue has not, nor one of another size."""
    device = PaperDevice()
    queue, other = device.queue, device.new_queue()
    first = queue.allocate_parts((1000, 24))
    places = _places(first)
    assert [part.nbytes for part in first] == [1000, 24] and first[0].device is device
    del first
    elsewhere = other.allocate_parts((1000, 24))
    larger = queue.allocate_parts((4000, 24))
    assert not {*_places(elsewhere), *_places(larger)} & set(places)
    one, _ = queue.allocate_parts([999, 100])
    assert one.nbytes == 999
    again = queue.allocate_parts((1000, 24))
    assert not set(_places(again)) & set(places), "a part is still in use"
    del one, _
    assert _places(queue.allocate_parts((1000, 24))) == places
    assert device.notes == []


def test_memory_that_another_queue_used_waits_for_it() -> None:
    """It serves again once the others have come as far; its own queue goes on meanwhile."""
    device = PaperDevice()
    other, third = device.new_queue(), device.new_queue()
    third.name = "third"
    x = planes.allocate(formats.get("dd"), (5,), device.queue)
    places = _places(x.buffers)
    there = x.in_queue(other)
    back = there.in_queue(third).in_queue(device.queue)
    device.notes.clear()
    del x, there
    assert device.notes == []
    del back
    assert device.notes == [("other", "marks"), ("third", "marks")]
    device.marks[-1].passed = False
    assert device.usage().held == 256
    new = planes.allocate(formats.get("dd"), (5,), device.queue)
    assert not set(_places(new.buffers)) & set(places), "a queue has not come so far"
    device.marks[-1].passed = True
    again = planes.allocate(formats.get("dd"), (5,), device.queue)
    assert _places(again.buffers) == places and device.usage().held == 0
    device.notes.clear()
    del again
    assert device.notes == [], "what is new was noted nowhere"


def test_memory_that_others_still_use_is_bounded() -> None:
    """Above twice the limit its queue waits for those that used the oldest blocks."""
    device = PaperDevice()
    device.limit_held(2048)
    other = device.new_queue()
    waits = []
    for size in (1024, 3072, 1024, 4096):
        held = device.queue.allocate_parts((size,))
        held[0].note(other)
        device.notes.clear()
        del held
        device.marks[-1].passed = False
        waits.append(device.notes.count(("first", "waits")))
    assert waits == [0, 0, 1, 2], "3072 and 1024 are waited for at the end"
    assert device.usage() == (0, 2048 + 4096, 2048) and len(device.given) == 3
    device.give_memory_back()
    assert device.usage() == (0, 0, 2048) and not device.given
    kept = other.allocate_parts((1024,))
    kept[0].note(device.queue)
    del kept
    device.marks[-1].passed = False
    other.pool.close("first")
    assert device.usage().held == 1024, "the first queue keeps what a queue leaves"
    device.marks[-1].passed = True
    assert device.queue.allocate_parts((1024,)) and not device.usage().held
    device.limit_held(1 << 16)
    device.notes.clear()
    parts = [device.queue.allocate_parts((64,)) for _ in range(pool.BLOCKS + 2)]
    for (part,) in parts:
        part.note(other)
    del part, parts
    assert device.notes.count(("first", "waits")) == 2, "as many as idle ones at most"
    device.limit_held(0)
    assert not device.usage().held and not device.given


def test_memory_of_a_lost_device_serves_no_more() -> None:
    """Where its queue cannot wait for the others, nobody says when it is free."""
    device = PaperDevice()
    other = device.new_queue()
    x = planes.allocate(formats.get("dd"), (5,), device.queue)
    places, there = _places(x.buffers), x.in_queue(other)
    device.lost = True
    del x, there
    assert not set(_places(device.queue.allocate_parts((40, 40)))) & set(places)


def test_the_limit_of_what_is_kept() -> None:
    """A sixteenth of the memory, or what is set; what is larger goes back at once."""
    device = PaperDevice(1 << 20)
    queue = device.queue
    assert device.usage() == (0, 0, 1 << 16)
    large = queue.allocate_parts(((1 << 16) + 1,))
    assert device.usage() == ((1 << 16) + 1, 0, 1 << 16)
    del large
    assert device.usage() == (0, 0, 1 << 16) and not device.given
    parts = [queue.allocate_parts((1 << 15,)) for _ in range(3)]
    del parts
    assert device.usage() == (0, 1 << 15, 1 << 16), "the third was too much: the others went"
    device.limit_held(1 << 18)
    assert device.usage() == (0, 1 << 15, 1 << 18)
    held = queue.allocate_parts((1 << 17,)), queue.allocate_parts((1 << 15,))
    del held
    assert device.usage() == (0, (1 << 17) + (1 << 15), 1 << 18)
    held = queue.allocate_parts((1 << 17,)), queue.allocate_parts((1 << 15,))
    device.limit_held(1 << 12)
    del held
    assert device.usage() == (0, 0, 1 << 12) and not device.given
    small = [queue.allocate_parts((100,)) for _ in range(pool.BLOCKS + 9)]
    device.limit_held(1 << 20)
    assert len(device.given) == pool.BLOCKS + 9
    del small
    assert len(device.given) == pool.BLOCKS
    device.limit_held(0)
    assert not device.given and not queue.allocate_parts((1,))[0].nbytes - 1
    assert not device.given


def test_short_of_memory() -> None:
    """What is idle goes back to the driver, in all queues, before an allocation fails."""
    device = PaperDevice(1 << 14)
    device.limit_held(1 << 14)
    other = device.new_queue()
    kept = [queue.allocate_parts((1 << 12,)) for queue in (device.queue, other)]
    del kept
    assert device.usage() == (0, 1 << 13, 1 << 14)
    most = device.queue.allocate_parts(((1 << 14) - 100,))
    assert device.usage() == ((1 << 14) - 100, 0, 1 << 14)
    with pytest.raises(OutOfMemory, match=r"^99999 bytes"):
        other.allocate_parts((99999,))
    with pytest.raises(OutOfMemory, match=r"^999 bytes"):
        device.allocate(999)
    del most
    assert device.usage() == (0, 0, 1 << 14) and not device.given


def test_a_queue_that_goes_keeps_nothing() -> None:
    """Its idle memory goes back; so does what is freed with it, in whatever order."""
    device = PaperDevice()
    queue = device.new_queue()
    del_me = queue.allocate_parts((10,))
    kept = queue.allocate_parts((10,))
    del del_me
    queue.pool.close("first")
    assert list(device.given) == _places(kept)
    del kept
    assert not device.given and device.usage()[:2] == (0, 0)
    assert device.notes == [("other", "gives", 1), ("first", "gives", 2)]


def test_memory_for_any_queue_is_not_kept() -> None:
    """It comes from the driver and goes back to it."""
    device = PaperDevice()
    first = device.allocate(100)
    assert first.nbytes == 100 and device.usage() == (100, 0, 1 << 16)
    del first
    assert not device.given
    with pytest.raises(ArgumentError, match="nbytes=-1 is negative"):
        device.allocate(-1)


def test_threads_never_share_memory() -> None:
    """Threads that take, pass on and free memory of one queue, and of their own."""
    device = PaperDevice(1 << 30)
    lock, owned, wrong, passed = threading.Lock(), set[int](), list[int](), list[Any]()

    def work(seed: int) -> None:
        numbers = np.random.default_rng(seed)
        own = device.new_queue()
        for _ in range(300):
            queue = (device.queue, own)[int(numbers.integers(2))]
            parts = queue.allocate_parts((int(numbers.integers(1, 4)) * 4000,) * 2)
            places = set(_places(parts))
            with lock:
                wrong.extend(owned & places)
                owned.update(places)
            passed.append((parts, places))
            del parts
            given = passed.pop(0)
            with lock:
                owned.difference_update(given[1])
            del given

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads
    passed.clear()
    gc.collect()
    assert not wrong
    assert device.usage().in_use == 0
    assert device.reserve.held == device.reserve.counted()
    device.give_memory_back()
    assert not device.given


def test_poison() -> None:
    """Whatever memory held is overwritten by NaN before it is given out."""
    device = PaperDevice()
    device.reserve.poison = True
    one = device.queue.allocate_parts((16, 8))
    assert device.notes == [("first", "writes", place, 255) for place in _places(one)]
    assert np.isnan(np.full(8, 255, np.uint8).view(np.float64)).all()


# --- OpenCL -------------------------------------------------------------------------------------


def _opencl() -> opencl.ClDevice:
    """A device of its own, with the memory of nobody else."""
    found = opencl.find_devices()[0]
    assert isinstance(found, opencl.ClDevice)
    return found


def test_new_arrays_are_poisoned(device: Device) -> None:
    """In these tests, on devices whose memory is kept; reading what was never written shows it."""
    if not isinstance(device, PooledDevice) or not device.reserve.limit:
        pytest.skip(f"{device.name} keeps no memory")
    assert device.reserve.poison
    x = planes.allocate(formats.get("ds"), (7,), device.queue)
    assert np.isnan(x.read_parts()).all()


def test_memory_that_opencl_keeps() -> None:
    """The same cl_mem serves again, and is gone when it is given back."""
    device = _opencl()
    known = {id(part.place) for part in device.queue.allocate_parts((4096, 8)) if _places([part])}
    again = device.queue.allocate_parts((4090, 100))
    assert {id(place) for place in _places(again)} == known
    before = device.usage()
    assert before.held == 0 and before.in_use
    del again
    assert device.usage() == (0, before.in_use, before.limit)
    device.give_memory_back()
    assert device.usage().held == 0


def test_memory_is_not_given_out_while_another_queue_uses_it() -> None:
    """A copy that another queue has not begun yet finds what was there when it was asked for."""
    import pyopencl as cl

    device = _opencl()
    device.reserve.poison = False  # which waits
    queue, other = device.queue, device.new_queue()
    assert isinstance(queue, opencl.ClQueue)
    source = planes.upload(formats.get("float64"), [np.arange(8.0)], queue)
    sevens = planes.upload(formats.get("float64"), [np.full(8, 7.0)], queue)
    target = planes.allocate(formats.get("float64"), (8,), other)
    there = source.in_queue(other)
    begin = cl.UserEvent(device.context)
    cl.enqueue_barrier(other.queue, wait_for=[begin])
    other.copy(target.buffers[0], there.buffers[0], 64)
    place = _places(there.buffers)
    del source, there
    again = planes.allocate(formats.get("float64"), (8,), queue)
    assert _places(again.buffers) != place
    queue.copy(again.buffers[0], sevens.buffers[0], 64)
    queue.synchronize()  # the other one need not have come so far
    begin.set_status(cl.command_execution_status.COMPLETE)
    other.synchronize()
    assert target.read_parts()[0].tolist() == list(range(8))
    assert again.read_parts()[0].tolist() == [7] * 8
    assert _places(planes.allocate(formats.get("float64"), (8,), queue).buffers) == place


def test_queues_of_threads(device: Device) -> None:
    """Each thread computes in its own queue, with memory of its own."""

    def work(i: int, found: list[bool]) -> None:
        queue = mp.queue(device)
        for step in range(30):
            x = mp.array([float(i)] * (1 + step), "ds", queue)
            y = (x + x) * x
            found.append(y.to_float64().tolist() == [2.0 * i * i] * (1 + step))

    results: list[list[bool]] = [[] for _ in range(3)]
    threads = [threading.Thread(target=work, args=(i, results[i])) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[True] * 30] * 3


def test_what_memory_says(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes in use and kept, and the limit, which is set by the byte."""
    monkeypatch.setattr(finding, "_opened", dict(finding._opened))
    own = device if device.by_reference else _opencl()
    limit = mp.memory(own).limit
    x = mp.zeros(100, "ds", own)
    told = mp.memory(own)
    assert told.total == own.properties.memory and told.device == own.name
    if told.in_use is not None:
        assert told.in_use >= 800
        del x
        assert mp.memory(own).held >= 800
        assert mp.memory(own, limit=0)[3:] == (0, 0, 0)
        assert mp.memory(own, limit=limit).limit == limit
    with pytest.raises(ArgumentError, match="memory: limit: -1 given, 0 or more"):
        mp.memory(own, limit=-1)
    with pytest.raises(ArgumentError, match="limit: integers are needed"):
        mp.memory(own, limit=1.5)  # type: ignore[arg-type]
    host = mp.memory("host:0", limit=5)
    assert (host.in_use, host.held, host.limit) == (None, 0, 0)


# --- what CUDA and HIP share ------------------------------------------------------------------


def _gpu() -> tuple[RocmDevice, Any]:
    """A device of the interpreter's HIP that keeps memory as hardware does, and that HIP."""
    known = emulated.find("gfx90a", finding.interpreter())  # which launches nothing here
    facts = known.properties, known.traits, known.compiler
    made = RocmDevice(0, RocmDriver(known.hip, 0), *facts)
    made.reserve.poison = False  # which copies
    return made, known.hip


def _calls(hip: Any, work: Callable[[], object]) -> list[str]:
    """What of HIP is called meanwhile, but for what makes a device current."""
    hip.calls = []
    try:
        work()
        return [name for name in hip.calls if name != "hipSetDevice"]
    finally:
        hip.calls = None


def test_a_gpu_is_asked_for_memory_once() -> None:
    """Parts lie aligned in one allocation; the next array of this size takes no call."""
    device, hip = _gpu()
    queue = device.queue
    one, two = queue.allocate_parts((1000, 24))
    assert isinstance(one, driver_api.GpuBuffer) and isinstance(two, driver_api.GpuBuffer)
    assert two.pointer == one.pointer + 1024
    where = one.pointer
    del one, two

    def again() -> None:
        (first, _) = queue.allocate_parts((1001, 512))
        assert isinstance(first, driver_api.GpuBuffer) and first.pointer == where

    assert _calls(hip, again) == []
    assert _calls(hip, lambda: queue.allocate_parts((5000,))) == ["hipMalloc"]
    assert _calls(hip, device.reserve.drain) == ["hipFree"] * 2
    assert _calls(hip, lambda: device.allocate(8)) == ["hipMalloc", "hipFree"]
    held = queue.allocate_parts((1000,))
    other = device.new_queue()
    held[0].note(other)
    last = [held]
    del held
    assert _calls(hip, last.clear) == ["hipEventCreateWithFlags", "hipEventRecord"]
    device.limit_held(0)


def _pointers(parts: Sequence[Buffer]) -> list[int]:
    return [part.pointer for part in parts if isinstance(part, driver_api.GpuBuffer)]


def test_scratch_memory_of_a_gpu_is_one_area(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that comes again, or takes less, has what the largest had, without the driver."""
    device, hip = _gpu()
    queue = device.queue
    monkeypatch.setattr(pool, "LEAST_AREA", 5000)

    def addresses(*sizes: int) -> list[int]:
        return _pointers(queue.scratch_parts(sizes))

    first = addresses(4000, 3000)
    assert first[1] == first[0] + 4096
    assert _calls(hip, lambda: addresses(5000)) == [], "small enough for the area"
    assert addresses(5000) == first[:1] and addresses(100) != first[:1]
    assert device.usage().held >= 7168
    grown: list[int] = []
    assert _calls(hip, lambda: grown.extend(addresses(9000, 7))) == ["hipMalloc"]
    assert addresses(6000) == grown[:1]
    two = [queue.scratch_parts((n,)) for n in (6000, 5500, 20000)]
    assert len({*map(tuple, map(_pointers, two))}) == 3
    wanted = _pointers(two[2])
    del two[:]
    assert addresses(6000) == wanted, "of those that were lent at once the largest one stays"
    held, other = device.usage().held, device.new_queue()
    gone = weakref.ref(other)
    other.scratch_parts((6000,))
    assert device.usage().held > held
    del other
    assert gone() is None and device.usage().held == held, "an area keeps no queue"
    device.give_memory_back()
    assert device.usage().held == 0
    device.limit_held(2500)
    assert _calls(hip, lambda: addresses(5001)) == ["hipMalloc", "hipFree"], "above twice the limit"
    device.limit_held(1 << 20)
    plan = launch.Plan(queue, scratch=(6000,))
    for recorded in (False, True):  # what is recorded keeps its memory
        with base.recording() if recorded else contextlib.nullcontext():
            (part,) = plan._more([])
        assert isinstance(part.block, pool.Block) == recorded


def test_small_copies_of_a_gpu() -> None:
    """Writing waits for nothing, reading once; what is sent stays until it has arrived."""
    device, hip = _gpu()
    queue = device.queue
    numbers = [np.arange(12.0), np.arange(12.0) / 3]
    x = planes.upload(formats.get("dd"), numbers, queue)
    assert "hipStreamSynchronize" not in _calls(hip, lambda: x.write(numbers))
    found: list[Any] = []
    calls = _calls(hip, lambda: found.extend(x.read_parts()))
    assert calls == ["hipMemcpyDtoHAsync", "hipStreamSynchronize"]
    assert all(map(np.array_equal, found, numbers))
    apart = [np.arange(driver_api.STAGED / 8) + i for i in range(2)]
    far = planes.upload(formats.get("dd"), apart, queue).view((3,), (1,), 7)
    calls = _calls(hip, lambda: found.extend(far.read_parts()))
    assert calls == ["hipMemcpyDtoHAsync"] * 2 + ["hipStreamSynchronize"]
    assert [x.tolist() for x in found[2:]] == [[7, 8, 9], [8, 9, 10]]
    queue, size = device.new_queue(), driver_api.STAGED
    sent = [np.full(size, i, np.uint8) for i in range(3 * driver_api.STAGED_HALF // size)]
    buffers = [queue.allocate_parts((size,))[0] for _ in sent]

    def send() -> None:
        for buffer, content in zip(buffers, sent, strict=True):
            queue.write(buffer, content)

    calls = _calls(hip, send)
    assert calls.count("hipEventRecord") == 2 and calls.count("hipEventSynchronize") == 1
    got = np.empty(size, np.uint8)
    for buffer, content in zip(buffers, sent, strict=True):
        queue.read(buffer, got)
        assert np.array_equal(got, content)
    large = np.arange(size + 1, dtype=np.uint8)
    queue.write(buffers[0], large[:size])
    held = device.allocate(size + 1)
    assert _calls(hip, lambda: queue.write(held, large))[-1] == "hipStreamSynchronize"


def test_zeros_of_a_gpu() -> None:
    """All parts of a block are set by one call, some of them by a call each."""
    device, hip = _gpu()
    queue = device.queue
    parts = queue.allocate_parts((24, 1000, 8))
    calls = []
    for chosen in (parts, parts[::2]):
        for part in parts:
            queue.write(part, np.ones(part.nbytes, np.uint8))
        calls.append(_calls(hip, partial(queue.clear, chosen)))
        for part in parts:
            got = np.empty(part.nbytes, np.uint8)
            queue.read(part, got)
            assert (got == (part not in chosen)).all()
    assert calls == [["hipMemsetD8Async"], ["hipMemsetD8Async"] * 2]


def test_small_copies_without_pinned_memory() -> None:
    """Where the driver has none, copies are those of large arrays."""
    device, hip = _gpu()
    hip.failing["hipHostMalloc"] = hip.hipError_t.hipErrorOutOfMemory
    try:
        x = planes.upload(formats.get("float64"), [np.arange(3.0)], device.queue)
        assert x.read_parts()[0].tolist() == [0, 1, 2]
    finally:
        hip.failing.clear()


def test_a_gpu_short_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle memory of all queues goes back before an allocation fails."""
    device, _ = _gpu()
    other = device.new_queue()
    given, free = device.driver.allocate, device.free_memory()
    parts = [queue.allocate_parts((5000,)) for queue in (device.queue, other)]
    del parts
    held = device.usage().held
    assert held >= 10000 and device.free_memory() == free

    def scarce(nbytes: int, stream: Any) -> int | None:
        return None if device.usage().held or nbytes > 8000 else given(nbytes, stream)

    monkeypatch.setattr(device.driver, "allocate", scarce)
    part = other.allocate_parts((7000,))
    assert device.usage()[:2] == (7000, 0), "the exact size: there was no room for a class"
    with pytest.raises(OutOfMemory, match=r"9000 bytes asked for, .* bytes are free"):
        other.allocate_parts((9000,))
    del part
    assert device.usage()[:2] == (0, 0)
    assert len(other.allocate_parts((5000,))) == 1
    assert device.usage().held >= 5000
    del other
    gc.collect()
    assert device.usage()[:2] == (0, 0) and device.free_memory() == free
