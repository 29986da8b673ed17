"""Random values on devices, by names that NumPy's Generator has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays.array import DEFAULT_FORMAT, Array, operand
from portmp.arrays.creation import opened
from portmp.arrays.plain import DTYPES, PlainArray
from portmp.errors import ArgumentError, FormatError, OutOfMemory
from portmp.formats import Format
from portmp.random.philox import Philox, Where, sizes
from portmp.routines import base, elementwise
from portmp.routines.random import launch
from portmp.routines.random.layout import BLOCK, draw
from portmp.runtime.planes import Planes, allocate, allocate_numbers

Size = int | Sequence[int] | None


class Generator:
    """Draws from a stream of words. Element i of a draw depends on the seed and on its place alone:

    ``rng.random(5)`` and then ``rng.random(7)`` are ``rng.random(12)``, on any device.
    Arguments are those of NumPy's Generator; *format*, *device*: as of ``portmp.zeros``; *out*: an
    array that is filled and returned, whose format, device and shape are then taken.
    """

    def __init__(self, bit_generator: Philox) -> None:
        if not isinstance(bit_generator, Philox):
            raise ArgumentError(
                f"bit_generator: {type(bit_generator).__name__} given, a Philox is needed"
            )
        self.bit_generator = bit_generator

    def __repr__(self) -> str:
        return f"<portmp.random.Generator of {self.bit_generator!r}>"

    def spawn(self, n_children: int) -> list[Generator]:
        """So many generators with keys of their own, as NumPy's SeedSequence gives them."""
        return [Generator(child) for child in self.bit_generator.spawn(n_children)]

    def random(
        self,
        size: Size = None,
        format: str | Format | None = None,
        device: Where = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """Uniform in [0, 1): multiples of 2^-b, as likely each, b the bits that the format stores.

        That is 53 for float64, 106 for dd, 212 for qd.
        """
        return Array(self._drawn("uniform", size, format, device, out))

    def uniform(
        self,
        low: Any = 0,
        high: Any = 1,
        size: Size = None,
        format: str | Format | None = None,
        device: Where = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """low + (high - low) x, with x as ``random`` gives it; by rounding it may be *high*.

        Bounds are exact scalars or Arrays, which broadcast.
        """
        form, size, device = self._settled(size, format, device, out, low=low, high=high)
        x = self._drawn("uniform", size, form, device, None)
        start, end = self._given(form, "low", low), self._given(form, "high", high)
        width: elementwise.Operand
        if isinstance(start, tuple) and isinstance(end, tuple):
            width = base.scalar_limbs(form, _exact(end) - _exact(start), "high - low")
        else:
            width = elementwise.apply("sub", [end, start], None, ("high", "low"))
        return _scaled(x, width, start, out)

    def standard_normal(
        self,
        size: Size = None,
        format: str | Format | None = None,
        device: Where = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """Normal numbers of mean 0 and variance 1, in full width: by Box and Muller's method."""
        return Array(self._drawn("normal", size, format, device, out))

    def normal(
        self,
        loc: Any = 0,
        scale: Any = 1,
        size: Size = None,
        format: str | Format | None = None,
        device: Where = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """loc + scale z, with z as ``standard_normal`` gives it.

        *loc* and *scale* are exact scalars or Arrays, which broadcast; *scale* is not below zero.
        """
        form, size, device = self._settled(size, format, device, out, loc=loc, scale=scale)
        mean, deviation = self._given(form, "loc", loc), self._given(form, "scale", scale)
        if isinstance(deviation, tuple) and not _exact(deviation) >= 0:
            raise ArgumentError(f"scale: {scale} given, numbers from 0 on are allowed")
        z = self._drawn("normal", size, form, device, None)
        return _scaled(z, deviation, mean, out)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: Any = "int64",
        device: Where = None,
        *,
        endpoint: bool = False,
    ) -> PlainArray:
        """Integers from *low* up to *high* (or 0 to *low*), which itself only *endpoint* takes in.

        Each is made of 128 bits of the stream: chances differ by less than 2^-64 of themselves. The
        result is a plain array of *dtype*.
        """
        name = np.dtype(dtype).name if dtype is not bool else "bool"
        if name not in DTYPES or name == "bool":
            raise FormatError(f"dtype: {name} given, {', '.join(DTYPES[:-1])} are allowed")
        first, last = (0, low) if high is None else (low, high)
        try:
            first, last = int(first), int(last) - (not endpoint)
            whole = (first, last + (not endpoint)) == ((0, low) if high is None else (low, high))
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise ArgumentError(f"low, high: {low!r}, {high!r} given, integers are needed")
        held = np.iinfo(name)
        if not held.min <= first <= last <= held.max:
            raise ArgumentError(
                f"low, high: from {first} to {last} asked for; {name} holds {held.min} to "
                f"{held.max}, and low is not above what is drawn last"
            )
        queue, shape = discovery.queue_of(device), sizes(size)
        _fits(math.prod(shape) * np.dtype(name).itemsize, queue.device)
        out = allocate_numbers(name, shape, queue)
        stream, place = self.bit_generator.reserve(out.size, BLOCK)
        launch.fill_integers(stream, place, first, last - first + 1, out)
        return PlainArray(out)

    # --- parts ------------------------------------------------------------------------------------

    def _drawn(
        self, kind: str, size: Size, format: str | Format | None, device: Where, out: Array | None
    ) -> Planes:
        if out is not None:
            _, size, _ = self._settled(size, format, device, out)
            target = base.output(out.planes, out.planes, sizes(size))
        else:
            form = formats.get(DEFAULT_FORMAT if format is None else format)
            shape, queue = sizes(size), opened(form, device)
            _fits(math.prod(shape) * form.itemsize, queue.device)
            target = allocate(form, shape, queue)
        words = draw(kind, target.format.name).words
        stream, first = self.bit_generator.reserve(target.size, words)
        launch.fill(kind, stream, first, target)
        return target

    def _settled(
        self,
        size: Size,
        format: str | Format | None,
        device: Where,
        out: Array | None,
        **given: Any,
    ) -> tuple[Format, Size, Where]:
        """Format, shape and device: of *out*, of arrays among what is given, or as asked for."""
        arrays = {name: x for name, x in given.items() if isinstance(x, Array)}
        if out is not None:
            arrays = {"out": operand(out, "out"), **arrays}
        first = next(iter(arrays.values()), None)
        if first is None:
            return formats.get(DEFAULT_FORMAT if format is None else format), size, device
        if format is not None and formats.get(format) is not first.format:
            name = next(iter(arrays))
            raise FormatError(f"format: {format} given, {name} has {first.format}")
        if device is not None and discovery.queue_of(device) is not first.queue:
            raise ArgumentError(f"device: {device} given, {next(iter(arrays))} is elsewhere")
        if size is None:
            shapes = [a.shape for a in ([out] if out is not None else arrays.values())]
            size = np.broadcast_shapes(*shapes)
        return first.format, size, first.queue

    @staticmethod
    def _given(form: Format, name: str, value: Any) -> elementwise.Operand:
        """A parameter as an operand."""
        if isinstance(value, Array):
            if value.format is not form:
                raise FormatError(
                    f"{name}: format {value.format} given, {form} is needed; convert with "
                    f"{name}.astype({form.name!r})"
                )
            return value.planes
        return base.scalar_limbs(form, value, name)


def _scaled(
    x: Planes, factor: elementwise.Operand, shift: elementwise.Operand, out: Array | None
) -> Array:
    """shift + factor x, in the memory of x or in *out*."""
    target = x if out is None else out.planes
    return Array(elementwise.apply("fma", [x, factor, shift], target))


def _exact(limbs: base.ScalarLimbs) -> Fraction:
    """The value of finite limbs; ArgumentError for others."""
    if not all(map(np.isfinite, limbs)):
        raise ArgumentError(f"{limbs[0]} given, finite numbers are allowed")
    return sum((Fraction(float(limb)) for limb in limbs), Fraction(0))


def _fits(needed: int, device: Any) -> None:
    """OutOfMemory for more bytes than a device has."""
    if needed > device.properties.memory:
        raise OutOfMemory(
            f"size: {needed} bytes asked for, {device.name} has {device.properties.memory}"
        )


def default_rng(seed: Any = None) -> Generator:
    """A generator of random numbers.

    *seed*: what NumPy's SeedSequence takes (None: from the system, integers from 0 on, sequences of
    them), a SeedSequence, a Philox, or a Generator, which is returned.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, Philox) else Philox(seed))
