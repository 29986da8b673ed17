"""Memory of other libraries' arrays on GPUs, taken as it lies there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.backends import cuda_array, dlpack
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError
from portmp.runtime.planes import Numbers, Planes, View


def device_of(kind: int, index: int | None = None) -> Device | None:
    """The device with memory of this kind of DLPack's, opened; None where there is none."""
    there = (d for d in discovery.listed() if d.dlpack_type == kind and index in (None, d.index))
    return next(discovery.accepted(there), None)


def taken(x: Any) -> View[Any]:
    """A view of another library's memory, which its first queue can use.

    By DLPack or, where there is none, by its address; what was given to its stream comes first.
    """
    if hasattr(x, "__dlpack__"):
        device = device_of(*(int(n) for n in x.__dlpack_device__()))
    elif device := device_of(cuda_array.DEVICE_TYPE):
        device = device_of(cuda_array.DEVICE_TYPE, device.index_at(cuda_array.borrowed(x).pointer))
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
    size, device = np.dtype(there.dtype).itemsize, queue.device
    low, high = reach(there.shape, there.strides)
    # Kernels rely on where buffers begin: this one begins below the array, at a round address.
    begin = there.pointer + low * size
    begin -= begin % device.properties.alignment
    start, rest = divmod(there.pointer - begin, size)
    if rest:
        raise ArgumentError(f"{there.dtype} at address {there.pointer:#x}: it is misaligned")
    buffer = device.adopt(begin, (start + high) * size, there)
    if there.dtype in ("float32", "float64"):
        form = formats.get(there.dtype)
        return Planes(form, there.shape, there.strides, start, (buffer,), queue)
    return Numbers(there.dtype, there.shape, there.strides, start, (buffer,), queue)


def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """From where on, and to where, elements lie around the first one; 0 and 0 for none."""
    if 0 in shape:
        return 0, 0
    steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return sum(min(0, step) for step in steps), 1 + sum(max(0, step) for step in steps)
