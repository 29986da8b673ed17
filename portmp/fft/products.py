"""Convolutions and correlations by transforms: n log n operations, errors of the largest sum."""

from __future__ import annotations

from typing import Any

from portmp.arrays import complexes, elementwise, manipulation, typed
from portmp.arrays.viewed import AnyArray
from portmp.errors import ShapeError, choice
from portmp.fft.frequencies import next_fast_len
from portmp.fft.rows import transformed
from portmp.fft.transforms import as_complex, given, resized, scaled


@typed.gives(typed.Array)
def convolve(a: AnyArray, b: AnyArray, /, mode: str = "full", axis: int = -1) -> Any:
    """c[k] = sum over j of a[j] b[k - j] along an axis, other axes broadcast; *mode* as NumPy's.

    Each element's error is in proportion to the largest one, not to itself: ``mp.convolve`` adds
    products one by one.
    """
    choice("convolve: mode:", mode, ("full", "same", "valid"))
    left, right = elementwise.as_arrays([given(a, "convolve"), given(b, "convolve")], "ab")
    first, second = (manipulation.moveaxis(x, axis, -1) for x in (left, right))
    n, m = first.shape[-1], second.shape[-1]
    if not (n and m):
        raise ShapeError(f"convolve: elements are needed, {left.shape}, {right.shape} given")
    real = not (complexes.is_complex(first) or complexes.is_complex(second))
    size = next_fast_len(n + m - 1)
    product = transformed(resized(as_complex(first), size)) * transformed(
        resized(as_complex(second), size)
    )
    full = scaled(transformed(product, True), size, None, True)[..., : n + m - 1]
    full = full.real if real else full
    longer, shorter = max(n, m), min(n, m)
    start = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
    count = {"full": n + m - 1, "same": longer, "valid": longer - shorter + 1}[mode]
    return manipulation.moveaxis(full[..., start : start + count], -1, axis)


@typed.gives(typed.Array)
def correlate(a: AnyArray, b: AnyArray, /, mode: str = "full", axis: int = -1) -> Any:
    """sum over j of a[j + k] conj(b[j]): ``convolve`` with b turned round and conjugate."""
    other = given(b, "correlate")
    other = other.conj() if complexes.is_complex(other) else other
    return convolve(a, manipulation.flip(other, axis=axis), mode, axis)
