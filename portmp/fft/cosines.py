"""Cosine and sine transforms II and III, as SciPy names and scales them.

II: y[k] = 2 sum over j of x[j] cos(pi (2j + 1) k / 2n), or sin(pi (2j + 1)(k + 1) / 2n). III is the
inverse of II, times 2n. By a complex transform of the same length (Makhoul 1980). Those of complex
numbers are those of both parts.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from portmp.arrays import complexes, creation, elementwise, manipulation
from portmp.arrays.typed import CosineTransform
from portmp.arrays.viewed import AnyArray, called, wrapped
from portmp.errors import ArgumentError, ShapeError, choice
from portmp.fft import rows
from portmp.fft.transforms import NORMS, along, as_complex, given, length, resized
from portmp.routines.fourier.launch import kept

TYPES = (2, 3)


def _weights(x: Any, n: int, sign: int) -> Any:
    """exp(sign pi i k / 2n) by k."""
    form, queue = x.dtype, x.queue
    angles = [-sign * k % (4 * n) for k in range(n)]
    key = form, n, "cosines", sign
    return wrapped(kept(queue, key, lambda: rows.root_array(form, angles, 4 * n, queue)))


def _second(x: Any) -> Any:
    n = x.shape[-1]
    mixed = manipulation.concat([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    found = rows.transformed(as_complex(mixed))
    return (found * _weights(x, n, -1)).real * 2


def _third(x: Any) -> Any:
    n = x.shape[-1]
    tail = creation.zeros(x.shape, x.dtype, x.queue)
    if n > 1:
        tail[..., 1:] = -x[..., :0:-1]
    found = rows.transformed(complexes.joined(x, tail) * _weights(x, n, 1), True).real
    made = creation.zeros(x.shape, x.dtype, x.queue)
    made[..., ::2] = found[..., : (n + 1) // 2]
    if n > 1:
        made[..., 1::2] = found[..., (n + 1) // 2 :][..., ::-1]
    return made


def _signs(x: Any) -> Any:
    """Every second element with the other sign."""
    made = x.copy()
    if x.shape[-1] > 1:
        made[..., 1::2] = -x[..., 1::2]
    return made


def _cosines(x: Any, kind: int) -> Any:
    return _second(x) if kind == 2 else _third(x)


def _sines(x: Any, kind: int) -> Any:
    return _second(_signs(x))[..., ::-1] if kind == 2 else _signs(_third(x[..., ::-1]))


def _root(x: Any, number: Fraction) -> Any:
    return elementwise.sqrt(creation.array(number, x.dtype, x.queue))


def _function(name: str, about: str, of: Callable[[Any, int], Any], inverse: bool) -> Any:
    edge = 0 if of is _cosines else -1

    def function(
        x: AnyArray, /, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
    ) -> Any:
        if type not in TYPES:
            raise ArgumentError(f"{name}: type: {type!r:.60} given, allowed are 2 and 3")
        choice(f"{name}: norm:", norm or "backward", NORMS)
        whole = given(x, name)
        if complexes.is_complex(whole):
            return complexes.by_parts(function, whole, type, n, axis, norm)
        kind = 5 - type if inverse else type

        def work(row: Any) -> Any:
            row = row if n is None else resized(row, length(n))
            count = row.shape[-1]
            if not count:
                raise ShapeError(f"{name}: x: no elements along the axis")
            if norm == "ortho":
                return _orthogonal(row, kind, count)
            found = of(row, kind)
            return found / (2 * count) if inverse == ((norm or "backward") == "backward") else found

        def _orthogonal(row: Any, kind: int, count: int) -> Any:
            if kind == 3:
                row = row.copy()
                row[..., edge] = row[..., edge] * _root(row, Fraction(2))
            found = of(row, kind) * _root(row, Fraction(1, 2 * count))
            if kind == 2:
                found[..., edge] = found[..., edge] * _root(row, Fraction(1, 2))
            return found

        return along(whole, axis, work, name)

    return called(function, name, about)


dct: CosineTransform = _function(
    "dct", "The cosine transform of type 2 or 3 along an axis.", _cosines, False
)
idct: CosineTransform = _function("idct", "The inverse of ``dct`` of that type.", _cosines, True)
dst: CosineTransform = _function(
    "dst", "The sine transform of type 2 or 3 along an axis.", _sines, False
)
idst: CosineTransform = _function("idst", "The inverse of ``dst`` of that type.", _sines, True)
