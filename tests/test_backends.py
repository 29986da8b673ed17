"""Buffers, queues and events of every device."""

from __future__ import annotations

import numpy as np
import pytest

from portmp import discovery
from portmp.backends.base import Device
from portmp.errors import DeviceError


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


def test_parts(every_device: Device) -> None:
    """A part is a window of its buffer."""
    step = every_device.properties.alignment
    buffer = every_device.allocate(4 * step)
    queue = every_device.queue
    content = np.random.default_rng(1).integers(0, 256, 4 * step, dtype=np.uint8)
    queue.write(buffer, content)
    got = np.empty(step, np.uint8)
    queue.read(buffer.part(2 * step, step), got)
    assert np.array_equal(got, content[2 * step : 3 * step])


def test_selection(every_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, by platform, by a part of the driver's name, by PORTMP_DEVICE, as a Device."""
    name = every_device.name
    assert discovery.get(name) is every_device
    assert discovery.get(every_device) is every_device
    assert discovery.get(every_device.platform).platform == every_device.platform
    known = every_device.properties.name
    assert known in discovery.get(known.upper()).properties.name
    monkeypatch.setenv("PORTMP_DEVICE", name)
    assert discovery.get() is every_device


@pytest.mark.parametrize(
    ("wanted", "message"),
    [("opencl:77", "has opencl:0"), ("no such device", "no device called"), ("cuda:x", "cuda")],
)
def test_unknown_devices(wanted: str, message: str) -> None:
    """Refused, with what there is."""
    with pytest.raises(DeviceError, match=message):
        discovery.get(wanted)
