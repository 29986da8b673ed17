"""Memory of other libraries' arrays on GPUs, taken as it lies there."""

from __future__ import annotations

from typing import Any

from portmp import discovery, formats
from portmp.backends import cuda_array, dlpack
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError
from portmp.runtime.planes import Numbers, Planes, View


def device_of(kind: int, index: int | None = None) -> Device | None:
    """The device with memory of this kind of DLPack's, opened; None where there is none."""
    for known in discovery.devices():
        if known.dlpack_type == kind and index in (None, known.index):
            return discovery.get(known)
    return None


def taken(x: Any) -> View[Any]:
    """A view of another library's memory, which its first queue can use.

    By DLPack or, where there is none, by its address; what was given to its stream comes first.
    """
    if hasattr(x, "__dlpack__"):
        device = device_of(*(int(n) for n in x.__dlpack_device__()))
    else:
        device = device_of(cuda_array.DEVICE_TYPE)
    if device is None:
        raise ArgumentError(f"{type(x).__name__} given, and no device here has such memory")
    queue = device.queue
    if hasattr(x, "__dlpack__"):
        return _over(dlpack.borrowed(x.__dlpack__(stream=device.stream_number(queue))), queue)
    there = cuda_array.borrowed(x)
    if there.stream is not None:
        device.wait_for_stream(there.stream)
    return _over(there, queue)


def _over(there: dlpack.Borrowed | cuda_array.Borrowed, queue: Queue) -> View[Any]:
    buffer = queue.device.adopt(there.pointer, there)
    if there.dtype in ("float32", "float64"):
        form = formats.get(there.dtype)
        return Planes(form, there.shape, there.strides, 0, (buffer,), queue)
    return Numbers(there.dtype, there.shape, there.strides, 0, (buffer,), queue)
