"""What tells results apart: digests of their bits."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.formats import convert


def digest(planes: Sequence[np.ndarray[Any, Any]]) -> str:
    """32 hexadecimal digits of the shape and the bits of all planes; all NaN are one."""
    state = hashlib.sha256(str(planes[0].shape).encode())
    for bits in map(bits_of, planes):
        state.update(bits.astype(bits.dtype.newbyteorder("<")).tobytes())
    return state.hexdigest()[:32]


def bits_of(plane: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What is compared of a plane: its bits, all NaN one; numbers other than floats themselves."""
    return convert.canonical_nan_bits(plane) if plane.dtype.kind == "f" else plane
