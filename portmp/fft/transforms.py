"""Discrete Fourier transforms by NumPy's names: X[k] = sum over j of x[j] exp(-2 pi i j k / n).

Arrays of any format that has complex numbers; real ones and integers are taken as complex ones.
*n*: elements that are transformed, of which those that an array lacks are 0 (by default all).
*norm*: "backward" (inverse transforms are divided by n), "forward" (the others are) or "ortho"
(both are, by sqrt(n)). *out*: an array that takes the result. Errors: docs/fourier.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from portmp import formats
from portmp.arrays import complexes, creation, dtypes, elementwise, manipulation
from portmp.arrays.typed import Transform, TransformOfAxes
from portmp.arrays.viewed import AnyArray, called, everywhere, integers, wrapped
from portmp.errors import ArgumentError, ShapeError, choice
from portmp.fft import rows
from portmp.formats import Format
from portmp.routines import axes as named_axes

NORMS = ("backward", "forward", "ortho")


def given(x: Any, name: str) -> Any:
    """An array of values, real or complex; integers in the default format."""
    found = elementwise.arrayed(x, "x")
    if not isinstance(found.dtype, Format):
        found = found.astype(dtypes.default())
    if not found.ndim:
        raise ShapeError(f"{name}: x: an axis at least is needed, a number given")
    formats.complex_of(found.dtype.component)
    return found


def as_complex(x: Any) -> Any:
    """The array itself, or its numbers as complex ones."""
    return x if complexes.is_complex(x) else x.astype(formats.complex_of(x.dtype))


def length(n: Any, argument: str = "n") -> int:
    """A number of elements, one at least."""
    if isinstance(n, bool) or not hasattr(n, "__index__") or int(n) < 1:
        raise ArgumentError(f"{argument}: {n!r:.60} given, an integer of 1 at least is needed")
    return int(n)


def resized(x: Any, n: int) -> Any:
    """The first n elements of rows, zeros behind those that there are."""
    have = x.shape[-1]
    if n <= have:
        return x if n == have else x[..., :n]
    made = creation.zeros((*x.shape[:-1], n), x.dtype, x.queue)
    made[..., :have] = x
    return made


def scaled(x: Any, n: int, norm: Any, inverse: bool) -> Any:
    """What *norm* makes of a transform of n elements."""
    norm = choice("norm:", norm or "backward", NORMS)
    if norm == "ortho":
        root = math.isqrt(n)
        if root * root != n:
            part = x.dtype.component
            return x / elementwise.sqrt(creation.full((), n, part, x.queue))
        n = root
    elif (norm == "backward") != inverse:
        return x
    return x * Fraction(1, n) if n & (n - 1) == 0 else x / n


def along(x: Any, axis: Any, work: Callable[[Any], Any], name: str) -> Any:
    """What is made of the rows of an array along an axis, which stays that axis."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise ArgumentError(f"{name}: axis: {axis!r:.60} given, an integer is needed")
    (at,) = named_axes.named(int(axis), x.ndim)
    last = x.ndim - 1
    if at == last:
        return work(x)
    return manipulation.moveaxis(work(manipulation.moveaxis(x, at, last)), last, at)


def _of_complex(x: Any, n: Any, norm: Any, inverse: bool) -> Any:
    n = x.shape[-1] if n is None else length(n)
    if not n:
        raise ShapeError("fft: x: no elements along the axis")
    z = rows.transformed(resized(as_complex(x), n), inverse)
    return scaled(z, n, norm, inverse)


def _of_real(x: Any, n: Any, norm: Any) -> Any:
    if complexes.is_complex(x):
        raise ArgumentError("rfft: x: complex numbers given, fft takes these")
    n = x.shape[-1] if n is None else length(n)
    return _of_complex(x, n, norm, False)[..., : n // 2 + 1]


def _to_real(x: Any, n: Any, norm: Any) -> Any:
    """The inverse of the transform of real numbers, of its first half: the rest mirrors it."""
    n = 2 * (x.shape[-1] - 1) if n is None else length(n)
    length(n)
    half = resized(as_complex(x), n // 2 + 1)
    whole = creation.zeros((*x.shape[:-1], n), half.dtype, x.queue)
    whole[..., : n // 2 + 1] = half
    whole.imag[..., 0] = 0
    if n % 2 == 0:
        whole.imag[..., n // 2] = 0
    mirrored = half[..., 1 : (n + 1) // 2][..., ::-1]
    if mirrored.size:
        whole.real[..., n // 2 + 1 :] = mirrored.real
        whole.imag[..., n // 2 + 1 :] = -mirrored.imag
    return _of_complex(whole, n, norm, True).real


def _one(name: str, about: str, work: Callable[[Any, Any, Any], Any]) -> Any:
    """The public function of one axis."""

    def function(
        x: AnyArray,
        /,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        out: AnyArray | None = None,
    ) -> Any:
        one = wrapped(given(x, name).planes)
        found = along(one, axis, lambda rows: work(rows, n, norm), name)
        return elementwise.given_back(found.planes, out)

    return everywhere(called(function, name, about))


def _swapped(norm: Any) -> str:
    """The other direction's way to divide."""
    given = choice("norm:", norm or "backward", NORMS)
    return {"backward": "forward", "forward": "backward"}.get(given, given)


fft: Transform = _one(
    "fft", "The transform along an axis.", lambda x, n, norm: _of_complex(x, n, norm, False)
)
ifft: Transform = _one(
    "ifft",
    "The inverse of ``fft``: with exp(+2 pi i j k / n), over n.",
    lambda x, n, norm: _of_complex(x, n, norm, True),
)
rfft: Transform = _one(
    "rfft",
    "The first n // 2 + 1 elements of ``fft`` of real numbers: the rest mirrors it.",
    _of_real,
)
irfft: Transform = _one(
    "irfft", "The inverse of ``rfft``: n real numbers, by default an even n.", _to_real
)
hfft: Transform = _one(
    "hfft",
    "The transform of what mirrors itself, given by its first half: n real numbers.",
    lambda x, n, norm: _to_real(as_complex(x).conj(), n, _swapped(norm)),
)
ihfft: Transform = _one(
    "ihfft",
    "The inverse of ``hfft``: the first half of the transform of real numbers, over n.",
    lambda x, n, norm: _of_real(x, n, _swapped(norm)).conj(),
)


def _places(x: Any, s: Any, axes: Any, name: str) -> tuple[list[int], list[int | None]]:
    """Axes, and the number of elements that is transformed along each."""
    if s is not None and (isinstance(s, str) or not isinstance(s, Sequence)):
        raise ArgumentError(f"{name}: s: {s!r:.60} given, a sequence of lengths is needed")
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(-count, 0)
    places = [int(a) + x.ndim * (int(a) < 0) for a in integers(list(axes), "axes")]
    if any(not 0 <= a < x.ndim for a in places):
        named_axes.named(tuple(axes), x.ndim)
    sizes: list[Any] = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places):
        raise ArgumentError(f"{name}: s: {len(sizes)} lengths given, axes: {len(places)}")
    if s is None and len(set(places)) < len(places):
        sizes[:-1] = [-1] * (len(sizes) - 1)  # as long as x, whatever was made of it before
    return places, [
        x.shape[axis] if n == -1 else None if n is None else length(n, f"{name}: s")
        for axis, n in zip(places, sizes, strict=True)
    ]


def _several(name: str, about: str, usual: Any, kind: str) -> Any:
    """The public function of several axes, one after the other."""

    def function(
        x: AnyArray,
        /,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = usual,
        norm: str | None = None,
        out: AnyArray | None = None,
    ) -> Any:
        found = given(x, name)
        places, sizes = _places(found, s, axes, name)
        steps = [*zip(places, sizes, strict=True)]
        one, last = {"c": (fft, fft), "i": (ifft, ifft), "r": (fft, rfft), "h": (ifft, irfft)}[kind]
        if kind == "h":
            order = [(one, step) for step in steps[:-1]] + [(last, step) for step in steps[-1:]]
        else:
            order = [(last, step) for step in steps[-1:]] + [(one, s) for s in steps[-2::-1]]
        if not order and kind in "rh":
            raise ArgumentError(f"{name}: axes: one at least is needed")
        found = found if order else as_complex(found)
        for by, (axis, n) in order:
            found = by(found, n, axis, norm)
        return found if out is None else elementwise.given_back(found.planes, out)

    return called(function, name, about)


fftn: TransformOfAxes = _several(
    "fftn", "The transform along several axes, by default all.", None, "c"
)
ifftn: TransformOfAxes = _several("ifftn", "The inverse of ``fftn``.", None, "i")
rfftn: TransformOfAxes = _several(
    "rfftn", "``rfft`` along the last of several axes, ``fft`` the others.", None, "r"
)
irfftn: TransformOfAxes = _several("irfftn", "The inverse of ``rfftn``.", None, "h")
fft2: TransformOfAxes = _several(
    "fft2", "The transform along two axes, by default the last ones.", (-2, -1), "c"
)
ifft2: TransformOfAxes = _several("ifft2", "The inverse of ``fft2``.", (-2, -1), "i")
rfft2: TransformOfAxes = _several(
    "rfft2", "``rfftn`` along two axes, by default the last ones.", (-2, -1), "r"
)
irfft2: TransformOfAxes = _several("irfft2", "The inverse of ``rfft2``.", (-2, -1), "h")
