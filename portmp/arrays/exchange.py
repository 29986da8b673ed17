"""Arrays handed to other libraries and taken from them: DLPack, and NVIDIA's array interface.

Plain numbers and values of one limb that lie as float32 or float64 have DLPack's dtypes; limb
planes of other formats are ``a.limbs``. Memory of GPUs is shared, that of other devices is copied
through the host. Complex numbers of one limb are copied: others have both parts side by side.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays.viewed import AnyArray
from portmp.backends import cuda_array, dlpack
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines.complexes import launch as complexes
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import Numbers, Planes, View, allocate


def _dtype(view: View[Any]) -> str:
    """The dtype of a view's only plane; BufferError where it has none that DLPack knows."""
    if isinstance(view, Planes) and view.format.components > 1:
        raise BufferError(
            f"parts of {view.format} lie in memory of their own: x.real and x.imag can be shared"
        )
    if isinstance(view, Planes) and (view.format.limbs > 1 or view.format.coded):
        raise BufferError(
            f"DLPack has no dtype for {view.format}; its limb planes have: a.limbs[0] ..."
        )
    return view.parts[0]


def _lends(view: View[Any]) -> bool:
    """Whether others can use the memory where it lies."""
    return view.device.dlpack_type > 0


def dlpack_device(x: AnyArray) -> tuple[int, int]:
    """The type and number of the device whose memory ``__dlpack__`` gives."""
    view = x.planes
    return (view.device.dlpack_type, view.device.index) if _lends(view) else (dlpack.CPU, 0)


def exported(
    x: AnyArray,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the elements, once all that was given to their queue is done.

    A copy where the memory is a CPU's of OpenCL, *dl_device* asks for the host, or *copy* for one.
    """
    view = x.planes
    interleaved = isinstance(view, Planes) and view.format.name in WORDS
    if interleaved:
        view = side_by_side(view)
        copy = None if copy else copy
    dtype = _dtype(view)
    if dl_device not in (None, dlpack_device(x), (dlpack.CPU, 0)):
        raise BufferError(
            f"dl_device: {dl_device} given, {dlpack_device(x)} or the host is allowed"
        )
    shared = _lends(view) and dl_device in (None, dlpack_device(x))
    if not shared:
        if copy is False:
            raise BufferError("copy=False given, the elements are in a device's memory")
        host = (
            x.to_numpy(COMPLEX[view.format.name])
            if interleaved
            else x.to_numpy()
            if isinstance(view, Numbers)
            else x.to_limbs()[0]
        )
        try:
            return host.__dlpack__(max_version=max_version)
        except TypeError:  # NumPy before 2.1, whose capsules are those of before versions
            return host.__dlpack__()
    if interleaved and copy is False:
        raise BufferError("copy=False given, complex numbers are copied: x.real and x.imag are not")
    source = x.copy().planes if copy else view
    source.queue.synchronize()
    buffer: Any = source.buffers[0]
    start = buffer.pointer + source.start * np.dtype(dtype).itemsize
    if interleaved:
        steps = tuple(step // 2 for step in source.strides[:-1])
        name = COMPLEX[dtype]
        return dlpack.lent(buffer, start, dlpack_device(x), name, source.shape[:-1], steps)
    return dlpack.lent(buffer, start, dlpack_device(x), dtype, source.shape, source.strides)


WORDS = {"complex64": "float32", "complex128": "float64"}
"""Formats of complex numbers that others have, and their words."""
COMPLEX = {word: name for name, word in WORDS.items()}
"""The other way round."""


def side_by_side(view: Planes) -> Planes:
    """Real and imaginary parts as the last axis of an array of real numbers: dense, a copy."""
    pair = allocate(view.format.component, (*view.shape, 2), view.queue)
    for i, half in enumerate(view.halves):
        moves.copied(half, pair.view(view.shape, pair.strides[:-1], i))
    return pair


def of_interleaved(
    form: Format, shape: tuple[int, ...], strides: tuple[int, ...], start: int, there: Any
) -> Planes:
    """Complex numbers of memory in which both parts lie side by side, as a copy."""
    buffer, queue = there
    steps = tuple(2 * step for step in strides)
    halves = [
        Planes(form.component, shape, steps, 2 * start + i, (buffer,), queue) for i in range(2)
    ]
    return complexes.joined(*halves)


def by_address(x: AnyArray) -> dict[str, Any]:
    """The memory of the elements by NVIDIA's array interface, for arrays on such devices."""
    view = x.planes
    if view.device.dlpack_type != cuda_array.DEVICE_TYPE:
        raise AttributeError(f"{view.device.name} has no {cuda_array.NAME}")
    try:
        dtype = _dtype(view)
    except BufferError as error:
        raise AttributeError(str(error)) from None
    buffer: Any = view.buffers[0]
    start = buffer.pointer + view.start * np.dtype(dtype).itemsize
    stream = view.device.stream_number(view.queue)
    return cuda_array.lent(start, dtype, view.shape, view.strides, stream)


# --- memory of others, taken as it lies there -----------------------------------------------------


def device_of(kind: int, index: int | None = None) -> Device | None:
    """The device with memory of this kind of DLPack's, opened; None where there is none."""
    kind = dlpack.MANAGED.get(kind, kind)
    there = (d for d in discovery.listed() if d.dlpack_type == kind and index in (None, d.index))
    return next(discovery.accepted(there), None)


def is_array(x: Any) -> bool:
    """Whether others may take an object's memory: by DLPack, or by its address."""
    return hasattr(x, "__dlpack__") or hasattr(x, cuda_array.NAME)


def on_host(x: Any) -> bool:
    """Whether that is the host's memory."""
    told = getattr(x, "__dlpack_device__", None)
    return isinstance(x, np.ndarray) or (told is not None and int(told()[0]) in dlpack.HOSTS)


def home(x: Any) -> Device:
    """The device that another library's array is on, opened; ArgumentError where it is none here.

    By DLPack or, where there is none, by the array's address.
    """
    if hasattr(x, "__dlpack__"):
        device = device_of(*(int(n) for n in x.__dlpack_device__()))
    elif device := device_of(cuda_array.DEVICE_TYPE):
        device = device_of(cuda_array.DEVICE_TYPE, device.index_at(cuda_array.borrowed(x).pointer))
    if device is None:
        raise ArgumentError(f"{type(x).__name__} given, and no device here has such memory")
    return device


def taken(x: Any) -> View[Any]:
    """A view of another library's memory, which its device's first queue can use.

    What was given to its stream comes first.
    """
    device = home(x)
    queue = device.queue
    if hasattr(x, "__dlpack__"):
        there = resolved(x).__dlpack__(stream=device.stream_number(queue))
        return over(dlpack.borrowed(there), queue)
    known = cuda_array.borrowed(x)
    if known.stream is not None:
        device.wait_for_stream(known.stream)
    return over(known, queue)


def resolved(x: Any) -> Any:
    """An array whose memory holds its values: PyTorch may keep them with the other sign."""
    return x.resolve_neg() if hasattr(x, "resolve_neg") else x


def over(there: dlpack.Borrowed | cuda_array.Borrowed, queue: Queue) -> View[Any]:
    """A view of memory that a device's kernels can use where it lies."""
    size, device = np.dtype(there.dtype).itemsize, queue.device
    low, high = reach(there.shape, there.strides)
    # Kernels rely on where buffers begin: this one begins below the array, at a round address.
    begin = there.pointer + low * size
    begin -= begin % device.properties.alignment
    start, rest = divmod(there.pointer - begin, size)
    if rest:
        raise ArgumentError(f"{there.dtype} at address {there.pointer:#x}: it is misaligned")
    buffer = device.adopt(begin, (start + high) * size, there)
    if there.dtype in ("complex64", "complex128"):
        form = formats.get(there.dtype)
        return of_interleaved(form, there.shape, there.strides, start, (buffer, queue))
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
