"""Arrays handed to other libraries and taken from them: DLPack, and NVIDIA's array interface.

Plain numbers and values of one limb that lie as float32 or float64 have DLPack's dtypes; limb
planes of other formats are ``a.limbs``. Memory of GPUs is shared, that of other devices is copied
through the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays import borrowed, creation
from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.backends import cuda_array, dlpack
from portmp.errors import ArgumentError
from portmp.runtime.planes import Numbers, Planes, View


def _dtype(view: View[Any]) -> str:
    """The dtype of a view's only plane; BufferError where it has none that DLPack knows."""
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
    dtype = _dtype(view)
    if dl_device not in (None, dlpack_device(x), (dlpack.CPU, 0)):
        raise BufferError(
            f"dl_device: {dl_device} given, {dlpack_device(x)} or the host is allowed"
        )
    shared = _lends(view) and dl_device in (None, dlpack_device(x))
    if not shared:
        if copy is False:
            raise BufferError("copy=False given, the elements are in a device's memory")
        host = x.to_numpy() if isinstance(view, Numbers) else x.to_limbs()[0]
        try:
            return host.__dlpack__(max_version=max_version)
        except TypeError:  # NumPy before 2.1, whose capsules are those of before versions
            return host.__dlpack__()
    source = x.copy().planes if copy else view
    source.queue.synchronize()
    buffer: Any = source.buffers[0]
    start = buffer.pointer + source.start * np.dtype(dtype).itemsize
    return dlpack.lent(buffer, start, dlpack_device(x), dtype, source.shape, source.strides)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library's, by DLPack.

    Of a GPU that portmp drives the memory is shared, unless *device* or *copy* asks otherwise; else
    it is copied. Integers and truth values become plain numbers, float32 and float64 values.
    """
    if isinstance(x, Viewed):
        return creation.asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(f"from_dlpack: {type(x).__name__} given, which has no __dlpack__")
    kind, index = (int(n) for n in x.__dlpack_device__())
    where = None if device is None else discovery.queue_of(device)
    if kind != dlpack.CPU and borrowed.device_of(kind, index) is not None:
        found = wrapped(borrowed.taken(x))
        if where is not None and where is not found.queue:
            return found.to(where)
        return found.copy() if copy else found
    if copy is False:
        raise BufferError("copy=False given, memory of the host must be copied to a device")
    host = creation.host_plane(x)
    return creation.asarray(host, dtype=host.dtype, device=device)


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
