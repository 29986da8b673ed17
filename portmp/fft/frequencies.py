"""Frequencies of transforms by NumPy's names, and lengths that are transformed without detours."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from portmp.arrays import creation, dtypes, elementwise, manipulation, typed
from portmp.arrays.creation import Where
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError
from portmp.fft.transforms import length
from portmp.routines.axes import named
from portmp.routines.fourier.steps import factors


@typed.gives(typed.Array)
def fftfreq(n: int, /, d: Any = 1, *, dtype: Any = None, device: Where = None) -> Any:
    """0, 1, ... -2, -1, over n d: frequencies of the elements of ``fft``, each rounded once.

    *d*: the distance of two samples, an exact number.
    """
    n = length(n)
    return _frequencies([*range((n + 1) // 2), *range(-(n // 2), 0)], n, d, dtype, device)


@typed.gives(typed.Array)
def rfftfreq(n: int, /, d: Any = 1, *, dtype: Any = None, device: Where = None) -> Any:
    """0, 1, ... n // 2, over n d: frequencies of the elements of ``rfft``, each rounded once."""
    n = length(n)
    return _frequencies(list(range(n // 2 + 1)), n, d, dtype, device)


def _frequencies(numbers: list[int], n: int, d: Any, dtype: Any, device: Where) -> Any:
    step = creation._exact(d, "d")
    if not step:
        raise ArgumentError(f"d: {d!r:.60} given, a distance other than 0 is needed")
    kind = dtypes.default() if dtype is None else dtypes.resolved(dtype)
    return creation.array([Fraction(k) / (n * step) for k in numbers], kind, device)


@typed.keeps
def fftshift(x: AnyArray, /, axes: int | Sequence[int] | None = None) -> Any:
    """The same elements with frequency 0 in the middle."""
    return _shifted(x, axes, 1)


@typed.keeps
def ifftshift(x: AnyArray, /, axes: int | Sequence[int] | None = None) -> Any:
    """The inverse of ``fftshift``."""
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    x = elementwise.arrayed(x, "x")
    places = range(x.ndim) if axes is None else [axes] if hasattr(axes, "__index__") else list(axes)
    places = [named(a, x.ndim, "axes", count=1)[0] for a in places]
    moves = [x.shape[a] // 2 if sign > 0 else -(x.shape[a] // 2) for a in places]
    return manipulation.roll(x, tuple(moves), tuple(places)) if moves else x


def next_fast_len(target: int) -> int:
    """The smallest length from *target* on that is a product of 2s, 3s, 5s and 7s."""
    n = length(target, "target")
    while n > 1 and not factors(n):
        n += 1
    return n
