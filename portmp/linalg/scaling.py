"""Matrices brought near 1 by powers of two, exactly, and what is found brought back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.arrays import elementwise
from portmp.arrays.array import Array, array
from portmp.arrays.plain import plain_array
from portmp.errors import LinAlgError
from portmp.linalg.operands import in_stack
from portmp.routines.bounds import certified


def sizes(x: Array) -> Array:
    """Magnitudes of elements, of complex numbers the larger one of both parts'."""
    if x.format.components == 1:
        return abs(x)
    found: Array = elementwise.maximum(abs(x.real), abs(x.imag))
    return found


def squares(x: Array) -> Array:
    """Squares of elements, of complex numbers of their absolute values."""
    if x.format.components == 1:
        return x * x
    real, imaginary = x.real, x.imag
    found: Array = real * real + imaginary * imaginary
    return found


MANY = 4096
"""So many columns are looked at on the device first: most often none needs to be scaled."""
Powers = np.ndarray[Any, np.dtype[np.int64]]


class Scaled(NamedTuple):
    """Matrices near 1 or another power of two (or 0), and by which powers they were divided."""

    x: Array
    powers: Powers


def near_one(x: Array, routine: str, argument: str = "a", lifted: int = 0) -> Scaled:
    """Each matrix of a stack divided by a power of two; reads a number of each.

    The largest element is from 1/2 to 1 then, times 2^lifted.
    Raises LinAlgError where one holds infinities or NaN.
    """
    batch = x.shape[:-2]
    if not x.size:
        return Scaled(x, np.zeros(batch, np.int64))
    largest = sizes(x).max(axis=(-2, -1)).to_limbs()[0].astype(np.float64)
    if not np.isfinite(largest).all():
        entry = int(np.flatnonzero(~np.isfinite(largest).reshape(-1))[0])
        where = in_stack(entry, batch)
        raise LinAlgError(f"{routine}: {argument} holds infinities or NaN{where}")
    powers = np.where(largest > 0, np.frexp(largest)[1] - lifted, 0).astype(np.int64)
    return Scaled(times_power(x, -powers), powers)


def columns(x: Array) -> Scaled:
    """Columns of matrices whose squares might overflow or vanish, also those of what other columns
    leave of them, brought to ``definition.COLUMNS``; powers (..., 1, n).

    Others stay as they are, as do those with infinities or NaN. Reads a number of each.
    """
    if not x.size:
        return Scaled(x, np.zeros((*x.shape[:-2], 1, x.shape[-1]), np.int64))
    largest = Array(certified.leading(sizes(x).max(axis=-2, keepdims=True).planes))
    low, high = definition.COLUMNS[x.format.word]
    if largest.size > MANY and low <= float(largest.min()) and float(largest.max()) <= high:
        return Scaled(x, np.zeros(largest.shape, np.int64))
    words = largest.to_limbs()[0].astype(np.float64)
    outside = np.isfinite(words) & (words > 0) & ((words < low) | (words > high))
    aim = int(np.frexp(high)[1]) - 1 if x.format.word == "float32" else 0
    powers = np.where(outside, np.frexp(np.where(outside, words, 1.0))[1] - aim, 0).astype(np.int64)
    return Scaled(times_power(x, -powers), powers)


SQUARES = {"float32": (2.0**-24, 2.0**48), "float64": (2.0**-400, 2.0**480)}
"""Sizes whose squares, and sums of some of them, neither overflow nor lose limbs, by word."""


def for_squares(x: Array) -> Scaled:
    """Each matrix of a stack whose squares might overflow or vanish brought near 1.

    Others stay as they are, as do those with infinities or NaN. Reads a number of each.
    """
    batch = x.shape[:-2]
    if not x.size:
        return Scaled(x, np.zeros(batch, np.int64))
    largest = sizes(x).max(axis=(-2, -1)).to_limbs()[0].astype(np.float64)
    low, high = SQUARES[x.format.word]
    outside = np.isfinite(largest) & (largest > 0) & ((largest < low) | (largest > high))
    powers = np.where(outside, np.frexp(np.where(outside, largest, 1.0))[1], 0).astype(np.int64)
    return Scaled(times_power(x, -powers), powers)


def times_power(x: Array, powers: Powers) -> Array:
    """Each entry of a stack (the first axes of x) times a power of two, in steps within range.

    With a power for each column entries are matrices. One whose powers are all 0 stays as it is,
    with its zeros' signs, whatever the others of its stack are: as it would alone.
    """
    limit = 120 if x.format.word == "float32" else 1000
    shape = (*powers.shape, *(1,) * (x.ndim - powers.ndim))
    touched = (powers != 0).reshape(shape)
    if powers.ndim == x.ndim > 1 and powers.shape[-2] == 1:
        touched = touched.any(axis=(-2, -1), keepdims=True)
    kept = x
    while powers.any():
        part = np.clip(powers, -limit, limit)
        x = x * array(np.ldexp(1.0, part).reshape(shape), x.format.component, x.queue)
        powers = powers - part
    if x is kept or touched.all():
        return x
    chosen: Array = elementwise.where(plain_array(touched, "bool", x.queue), x, kept)
    return chosen
