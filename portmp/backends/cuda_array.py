"""NVIDIA's array interface (version 3): memory of a GPU by its address, among Python libraries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp.errors import InputError

NAME = "__cuda_array_interface__"
DEVICE_TYPE = 2
"""What DLPack calls devices with such memory."""


def lent(
    pointer: int, dtype: str, shape: Sequence[int], strides: Sequence[int], stream: int | None
) -> dict[str, Any]:
    """What the interface says of memory that *stream* fills; strides count elements."""
    kind = np.dtype(dtype)
    return {
        "shape": tuple(shape),
        "typestr": kind.str,
        "data": (pointer, False),
        "strides": tuple(step * kind.itemsize for step in strides),
        "stream": stream,
        "version": 3,
    }


@dataclass(frozen=True)
class Borrowed:
    """Memory of another library's array, which lives as long as ``owner``; strides in elements."""

    pointer: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    stream: int | None
    owner: Any


def borrowed(owner: Any) -> Borrowed:
    """The memory of an object with the interface; InputError where it is none that portmp reads."""
    told: Mapping[str, Any] = getattr(owner, NAME)
    if told.get("mask") is not None:
        raise InputError(f"{NAME}: an array with a mask given, arrays without one are read")
    kind = np.dtype(told["typestr"])
    shape = tuple(int(n) for n in told["shape"])
    steps = told.get("strides")
    if steps is None:
        dense = [kind.itemsize]
        for n in reversed(shape[1:]):
            dense.insert(0, dense[0] * n)
        steps = dense[: len(shape)]
    if kind.str[0] == ">" or any(step % kind.itemsize for step in steps):
        raise InputError(f"{NAME}: {kind.str} with strides {steps} given, whole elements are read")
    strides = tuple(int(step) // kind.itemsize for step in steps)
    return Borrowed(int(told["data"][0]), kind.name, shape, strides, told.get("stream"), owner)
