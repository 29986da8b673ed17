"""Transforms along the last axis of complex arrays, of any length, without factors.

Lengths with larger prime factors than 7 are Bluestein's (1970): with c_j = exp(-pi i j^2 / n) and
m, the first power of two from 2n - 1 on, X_k = c_k y_k, where y is the cyclic convolution of length
m of x_j c_j and of 1 / c_|j|, by transforms of length m; both factors c are complex products, the
one with y by c / m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import creation
from portmp.arrays.viewed import wrapped
from portmp.backends.base import Queue
from portmp.formats import Format
from portmp.routines.complexes import launch as complexes
from portmp.routines.fourier import launch, roots
from portmp.routines.fourier.launch import kept
from portmp.routines.fourier.steps import factors
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import Planes, allocate, upload


def transformed(x: Any, inverse: bool = False) -> Any:
    """sum over j of x[..., j] exp(-+ 2 pi i j k / n), of a complex array; + for the inverse."""
    form, shape = x.planes.format, x.shape
    n = shape[-1]
    if not x.size:
        return wrapped(allocate(form, shape, x.queue))
    given = (x if len(shape) == 2 else x.reshape((x.size // n, n))).planes
    if not given.contiguous:
        given = wrapped(given).copy().planes
    out = allocate(form, given.shape, x.queue)
    of, to = given.halves, out.halves
    # The inverse of exchanged parts is the transform, its parts exchanged.
    parts, results = (of[::-1], to[::-1]) if inverse else (of, to)
    if n == 1 or factors(n):
        launch.transform(parts, results)
    else:
        _by_convolution(parts, results)
    return wrapped(out) if len(shape) == 2 else wrapped(out).reshape(shape)


def root_array(form: Format, angles: Any, order: int, queue: Queue, shift: int = 0) -> Planes:
    """exp(-2 pi i j / order) 2^shift for integers j: complex numbers whose parts are of *form*."""
    planes = roots.of(form.name, angles, order)
    return upload(formats.complex_of(form), [np.ldexp(p, shift) for p in planes], queue)


def _by_convolution(x: Sequence[Planes], out: Sequence[Planes]) -> None:
    form, queue, (rows, n) = x[0].format, x[0].queue, x[0].shape
    m = 1 << (2 * n - 2).bit_length()
    squares = np.array([j * j % (2 * n) for j in range(n)])
    chirp: Planes = kept(queue, (form, n, 0), lambda: root_array(form, squares, 2 * n, queue))
    shift = 1 - m.bit_length()
    after = kept(queue, (form, n, shift), lambda: root_array(form, squares, 2 * n, queue, shift))
    other = kept(queue, (form, n, "other"), lambda: _other(form, squares, n, m, queue))
    padded: Planes = creation.zeros((rows, m), chirp.format, queue).planes
    inside = padded.view((rows, n), padded.strides, padded.start)
    complexes.apply("mul", [*x, *chirp.halves], inside)
    there = allocate(padded.format, padded.shape, queue)
    launch.transform(padded.halves, there.halves)
    complexes.apply("mul", [*there.halves, *other.halves], padded)
    # The inverse: parts are exchanged before and after.
    launch.transform(padded.halves[::-1], there.halves[::-1])
    first = there.view((rows, n), there.strides, there.start)
    found: Planes = complexes.apply("mul", [*first.halves, *after.halves])
    for part, to in zip(found.halves, out, strict=True):
        moves.copied(part, to)


def _other(form: Format, squares: Any, n: int, m: int, queue: Queue) -> Planes:
    """The transform of 1 / c_|j|, cyclic of length m."""
    angles = (2 * n - squares) % (2 * n)
    planes = [np.zeros((1, m), form.word) for _ in range(2 * form.limbs)]
    for plane, values in zip(planes, roots.of(form.name, angles, 2 * n), strict=True):
        plane[0, :n] = values
        plane[0, m - n + 1 :] = values[:0:-1]
    given = upload(formats.complex_of(form), planes, queue)
    found = allocate(given.format, given.shape, queue)
    launch.transform(given.halves, found.halves)
    return found
