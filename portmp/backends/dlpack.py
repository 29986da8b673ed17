"""DLPack: memory of a device handed to other libraries and taken from them, without a copy.

The structures are those of DLPack's dlpack.h (version 0.8, which all later ones accept).
"""

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

CPU = 1
"""The type of the host's memory."""
HOSTS = (CPU, 3, 11)
"""Types of memory that the host reads as it lies: its own, and what is pinned for GPUs."""
MANAGED = {13: 2}
"""Memory that moves between the host and devices of a type."""
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Device(ctypes.Structure):
    _fields_: ClassVar = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Dtype(ctypes.Structure):
    _fields_: ClassVar = [
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class _Tensor(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Dtype),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]

_kept: dict[int, tuple[Any, ...]] = {}
"""What is lent: structures, their memory and the capsule, until the borrower gives them back."""


def _forget(managed: Any) -> None:
    _kept.pop(ctypes.addressof(managed.contents), None)


_give_back = _DELETER(_forget)

_API = {
    "PyCapsule_New": (ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    "PyCapsule_SetName": (ctypes.c_int, ctypes.py_object, ctypes.c_char_p),
    "PyCapsule_IsValid": (ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p),
    "PyCapsule_GetPointer": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
}
"""Python's functions of capsules: what they return and take; capsules that may go, by address."""


def _api(name: str) -> Any:
    prototype = ctypes.PYFUNCTYPE(*_API[name])
    return prototype((name, ctypes.pythonapi))


_new, _set_name = _api("PyCapsule_New"), _api("PyCapsule_SetName")
_is_valid, _get_pointer = _api("PyCapsule_IsValid"), _api("PyCapsule_GetPointer")


def lent(
    owner: object,
    pointer: int,
    device: tuple[int, int],
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int],
) -> Any:
    """A capsule of memory at *pointer*, which *owner* keeps; strides count elements."""
    kind = np.dtype(dtype)
    lengths = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    place, form = _Device(*device), _Dtype(_CODES[kind.kind], 8 * kind.itemsize, 1)
    tensor = _Tensor(pointer, place, len(shape), form, lengths, steps, 0)
    managed = _Managed(tensor, None, _give_back)
    _sweep()
    address = ctypes.addressof(managed)
    capsule = _new(address, _NAME, None)
    _kept[address] = (managed, lengths, steps, owner, capsule)
    return capsule


def _sweep() -> None:
    """Forget capsules that nobody took and nobody has any more.

    A destructor of the capsule's would be the usual way. But it may be called while an exception
    is on its way, when no Python may run.
    """
    for address, entry in tuple(_kept.items()):
        if sys.getrefcount(entry[-1]) <= _OURS and _is_valid(id(entry[-1]), _NAME):
            _kept.pop(address, None)


_OURS = 2
"""References to a capsule that only ``_kept`` has: its tuple's, and that of the call that asks."""


@dataclass(frozen=True)
class Borrowed:
    """Memory of another library: it is given back with the last reference to this."""

    managed: Any
    pointer: int
    device: tuple[int, int]
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __del__(self) -> None:
        if self.managed.contents.deleter:
            self.managed.contents.deleter(self.managed)


def borrowed(capsule: Any) -> Borrowed:
    """The memory of a capsule, which cannot be taken twice; ValueError for other dtypes."""
    managed = ctypes.cast(int(_get_pointer(id(capsule), _NAME)), ctypes.POINTER(_Managed))
    tensor = managed.contents.tensor
    kinds = {code: kind for kind, code in _CODES.items()}
    kind, bits = kinds.get(tensor.dtype.code), tensor.dtype.bits
    if kind is None or tensor.dtype.lanes != 1:
        raise ValueError(f"DLPack: a dtype of code {tensor.dtype.code} is not known")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    steps, strides = 1, []
    for n in reversed(shape):
        strides.append(steps)
        steps *= n
    if tensor.strides:
        strides = [tensor.strides[i] for i in reversed(range(tensor.ndim))]
    _set_name(capsule, _USED)
    return Borrowed(
        managed,
        int(tensor.data or 0) + int(tensor.byte_offset),
        (tensor.device.type, tensor.device.index),
        "bool" if kind == "b" else np.dtype(f"{kind}{bits // 8}").name,
        shape,
        tuple(reversed(strides)),
    )
