"""Buffers, queues and events of every device."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from slow import first_device

import portmp as mp
from portmp import discovery, formats, paths
from portmp.arrays import creation
from portmp.backends.base import Device, recording, replay
from portmp.discovery import finding, probe
from portmp.discovery.verdict import Verdict
from portmp.errors import DeviceError
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.reduce import launch as reduce

"""Devices are opened anew: the process that probes them finds them as they usually are."""


@pytest.mark.with_host
def test_copies_in_order(every_device: Device) -> None:
    """Asynchronous copies to, within and from the device arrive in the queue's order."""
    queue = every_device.new_queue()
    source = np.arange(100000, dtype=np.float64)
    target = np.empty_like(source)
    first, second = (every_device.allocate(source.nbytes) for _ in range(2))
    start = queue.record()
    queue.write(first, source, wait=False)
    queue.copy(second, first, source.nbytes)
    queue.read(second, target, wait=False)
    end = queue.record()
    queue.synchronize()
    assert np.array_equal(source, target)
    assert end.seconds_since(start) >= 0


@pytest.mark.with_host
def test_copies_between_devices(every_device: Device) -> None:
    """What another device's queue wrote arrives, after it was written; from any offset."""
    content = np.arange(100000, dtype=np.float64)
    for other in discovery.devices():
        source = other.allocate(content.nbytes)
        target = every_device.allocate(content.nbytes)
        other.queue.write(source, content, wait=False)
        got = np.empty_like(content)
        every_device.queue.receive(target, other.queue, source, content.nbytes)
        every_device.queue.read(target, got)
        assert np.array_equal(got, content)
        every_device.queue.receive(target, other.queue, source, content.nbytes - 800, 800)
        every_device.queue.read(target, got)
        assert np.array_equal(got, [*content[100:], *content[-100:]])


@pytest.mark.with_host
def test_zeros(every_device: Device) -> None:
    """Few bytes are set by the driver, many by a kernel, of any format: they alone."""
    queue = every_device.new_queue()
    parts = queue.allocate_parts((24, 1001, 8))
    for part in parts:
        queue.write(part, np.ones(part.nbytes, np.uint8))
    queue.clear(parts[:2])
    for part in parts:
        got = np.empty(part.nbytes, np.uint8)
        queue.read(part, got)
        assert (got == (part is parts[2])).all()
    kinds = (*formats.NAMES, *formats.STORAGE, "int16", "bool")
    for kind in kinds if every_device.name == first_device() else kinds[::5]:
        double = kind in formats.NAMES + formats.STORAGE and formats.get(kind).word == "float64"
        if double and not every_device.properties.float64:
            continue
        for count in (3, creation.FEW_BYTES + 1):
            found = mp.zeros(count, kind, queue).planes
            assert not any(part.view(np.uint8).any() for part in found.read_parts())


@pytest.mark.with_host
def test_several_parts(every_device: Device) -> None:
    """Memory of any sizes, small and large, overlaps nowhere; it may be used again at once."""
    queue = every_device.queue
    for sizes in ((1, 24, 4096), (8, 8), (2**20, 3), (5,), (8, 8)):
        parts = queue.allocate_parts(sizes)
        contents = [np.full(n, 7 * i + len(sizes), np.uint8) for i, n in enumerate(sizes)]
        for part, content in zip(parts, contents, strict=True):
            assert part.nbytes == content.nbytes
            queue.write(part, content)
        for part, content in zip(parts, contents, strict=True):
            got = np.empty_like(content)
            queue.read(part, got)
            assert np.array_equal(got, content)


@pytest.mark.with_host
def test_selection(every_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by platform, by a part of the driver's name, by PORTMP_DEVICE, as a Device."""
    name = every_device.name
    monkeypatch.setattr(finding, "_opened", {name: every_device})  # others here open it anew
    assert discovery.get(name) is every_device
    assert discovery.get(every_device) is every_device
    assert discovery.get(every_device.platform).platform == every_device.platform
    known = every_device.properties.name
    assert known in discovery.get(known.upper()).properties.name
    monkeypatch.setenv("PORTMP_DEVICE", name)
    assert discovery.get() is every_device


def test_a_refused_device_is_refused_however_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name and as a Device; other names fall back to the next one, with a line."""
    # A line that is said once a day is said each time where there is no cache.
    monkeypatch.setattr(paths, "cache_folder", lambda: None)
    found = sorted(discovery.listed(), key=finding._rank)
    refused = Verdict(found[0].traits, refusal="a made-up difference")
    monkeypatch.setattr(finding, "_opened", {})
    monkeypatch.setattr(probe, "_verdicts", {found[0].name: refused})
    monkeypatch.delenv("PORTMP_DEVICE", raising=False)
    for wanted in (found[0], found[0].name):
        with pytest.raises(DeviceError, match="made-up"):
            discovery.get(wanted)
    for wanted in (None, found[0].backend):
        others = [d for d in found[1:] if wanted in (None, d.backend)]
        capsys.readouterr()
        if others:
            assert discovery.get(wanted) in others
            said = capsys.readouterr().err.splitlines()
            assert "made-up" in said[0] and found[0].name in said[0]
        else:
            with pytest.raises(DeviceError, match="made-up"):
                discovery.get(wanted)


@pytest.mark.with_host
def test_threads_share_kernels(every_device: Device) -> None:
    """Launches of one kernel from several threads keep their own arguments."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    arrays = [mp.array([float(i)] * 3, "float32", every_device) for i in range(4)]
    wrong: list[float] = []

    def work(i: int) -> None:
        for _ in range(60):
            wrong.extend(v for v in (arrays[i] + arrays[i]).to_float64() if v != 2 * i)

    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(arrays))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_recorded_launches_are_repeated(every_device: Device) -> None:
    """Each exactly once, on the memory that they were given, however the device works inside."""
    x = mp.array([1.0, 3.0, 5.0], "dd", every_device)
    y = mp.array([1.0, 1.0, 2.0], "dd", every_device)
    total = mp.zeros((), "dd", every_device)
    with recording() as launches:
        elementwise.apply("add", [x.planes, y.planes], x.planes)
        reduce.dot(x.planes, y.planes, out=total.planes)
    elementwise.apply("add", [y.planes, y.planes], y.planes)
    count = len(launches)
    assert count in (2, 3)  # GPUs end a short row by the kernel that sums it
    assert x.to_float64().tolist() == [2.0, 4.0, 7.0]
    replay(launches)
    replay(launches)
    assert x.to_float64().tolist() == [6.0, 8.0, 15.0]
    assert float(total) == 2.0 * (6 + 8 + 2 * 15)
    assert len(launches) == count
    with recording() as twice:
        replay(launches)
        replay(twice)
    assert [len(launches), len(twice)] == [count, 2 * count]
    assert x.to_float64().tolist() == [10.0, 12.0, 23.0]


def test_other_threads_are_not_recorded(device: Device) -> None:
    """A recording holds what its own thread launches."""
    x = mp.array([1.0, 2.0], "float64", device)
    with recording() as launches:
        other = threading.Thread(target=lambda: elementwise.apply("neg", [x.planes]))
        other.start()
        other.join()
        assert not launches
        elementwise.apply("neg", [x.planes])
    assert len(launches) == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("opencl:77", r"has (opencl:\d|none that works)"),
        ("no such device", "no device called"),
        ("cuda:x", "cuda"),
        ("opencl:²", "does not exist"),
    ],
)
def test_unknown_devices(wanted: str, message: str) -> None:
    """Refused, with what there is."""
    with pytest.raises(DeviceError, match=message):
        discovery.get(wanted)
