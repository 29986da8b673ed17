"""Random values on devices, by names that NumPy's Generator has."""

import functools
import inspect
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from portmp import discovery
from portmp.arrays import composed, creation, dtypes, functions
from portmp.arrays import elementwise as elementwise_arrays
from portmp.arrays.array import Array, operand
from portmp.arrays.creation import Where
from portmp.arrays.plain import PlainArray
from portmp.arrays.viewed import Viewed
from portmp.errors import ArgumentError, FormatError, no_attribute
from portmp.formats import Format, real_only
from portmp.formats.meeting import meeting
from portmp.random import samples
from portmp.random.philox import Philox, sizes
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.moves import launch as moves
from portmp.routines.random import launch
from portmp.routines.random.layout import BLOCK, draw
from portmp.runtime.planes import Numbers, Planes

Size = int | Sequence[int] | None


class Target(NamedTuple):
    """What values a draw makes, and where: in *out*, if that is given."""

    form: Format
    shape: tuple[int, ...]
    device: Where
    out: Array | None


def _draws(function: Callable[..., Array]) -> Callable[..., Array]:
    """A method that draws values: after its own arguments it has those that all of them have."""
    first, _, *own = inspect.signature(function).parameters.values()
    signature = inspect.Signature([first, *own, *_TARGET], return_annotation="Array")

    @functools.wraps(function)
    def method(*args: Any, **named: Any) -> Array:
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{function.__name__}: {error}") from None
        bound.apply_defaults()
        given = {p.name: bound.arguments[p.name] for p in own}
        where = {p.name: bound.arguments[p.name] for p in _TARGET}
        return function(args[0], _settled(**where, **given), **given)

    # The signature is the one above: nobody is to read it off the wrapped function's text.
    del method.__wrapped__
    vars(method)["__signature__"] = signature
    return method


def _target(
    size: Size = None,
    format: str | Format | None = None,
    device: Where = None,
    *,
    dtype: Any = None,
    out: Array | None = None,
) -> None:
    """The arguments that all methods have which draw values."""


_TARGET = tuple(inspect.signature(_target).parameters.values())


class Generator:
    """Draws from a stream of words. Element i of a draw depends on the seed and on its place alone:

    ``rng.random(5)`` and then ``rng.random(7)`` are ``rng.random(12)``, on any device.
    Arguments are those of NumPy's Generator; *format*, *device*: as of ``portmp.zeros``; *dtype*:
    another name for the format; *out*: an array that is filled and returned, whose format, device
    and shape are then taken.
    """

    def __init__(self, bit_generator: Philox) -> None:
        if not isinstance(bit_generator, Philox):
            raise ArgumentError(
                f"bit_generator: {type(bit_generator).__name__} given, a Philox is needed"
            )
        self.bit_generator = bit_generator

    def __repr__(self) -> str:
        return f"<portmp.random.Generator of {self.bit_generator!r}>"

    def spawn(self, n_children: int) -> "list[Generator]":
        """So many generators with keys of their own, as NumPy's SeedSequence gives them."""
        return [Generator(child) for child in self.bit_generator.spawn(n_children)]

    @_draws
    def random(self, target: Target) -> Array:
        """Uniform in [0, 1): multiples of 2^-b, as likely each, b the bits that the format stores.

        That is 53 for float64, 106 for dd, 212 for qd.
        """
        return Array(self._drawn("uniform", target, target.out))

    @_draws
    def uniform(self, target: Target, low: Any = 0, high: Any = 1) -> Array:
        """low + (high - low) x, with x as ``random`` gives it; by rounding it may be *high*.

        Where the difference is beyond the format's range, low (1 - x) + high x.

        Bounds are exact scalars or Arrays, which broadcast.
        """
        form = target.form
        start, end = _given(form, "low", low), _given(form, "high", high)
        width: elementwise.Operand
        if isinstance(start, tuple) and isinstance(end, tuple):
            width = base.scalar_limbs(form, _exact(end) - _exact(start), "high - low")
            finite = bool(np.isfinite(width[0]))
        else:
            width = elementwise.apply("sub", [end, start], None, ("high", "low"))
            finite = composed.in_range(Array(width))
        x = self._drawn("uniform", target, None)
        if finite:
            return _scaled(x, width, start, target.out)
        share = Array(x)
        found = low * (1 - share) + high * share
        made: Array = elementwise_arrays.given_back(found.planes, target.out)
        return made

    @_draws
    def standard_normal(self, target: Target) -> Array:
        """Normal numbers of mean 0 and variance 1, in full width: by Box and Muller's method."""
        return Array(self._drawn("normal", target, target.out))

    @_draws
    def normal(self, target: Target, loc: Any = 0, scale: Any = 1) -> Array:
        """loc + scale z, with z as ``standard_normal`` gives it.

        *loc* and *scale* are exact scalars or Arrays, which broadcast; *scale* is not below zero.
        """
        mean, deviation = _given(target.form, "loc", loc), _spread(target.form, "scale", scale)
        return _scaled(self._drawn("normal", target, None), deviation, mean, target.out)

    @_draws
    def exponential(self, target: Target, scale: Any = 1) -> Array:
        """-scale log1p(-x), with x as ``random`` gives it: exponential of mean *scale*.

        *scale*: an exact scalar or an Array, not below zero.
        """
        mean = _spread(target.form, "scale", scale)
        waiting = -functions.log1p(-Array(self._drawn("uniform", target, None)))
        place = None if target.out is None else target.out.planes
        return Array(elementwise.apply("mul", [waiting.planes, mean], place))

    def standard_exponential(self, *where: Any, **named: Any) -> Array:
        """``exponential`` of mean 1; arguments are those that all draws have."""
        return self.exponential(1, *where, **named)

    @_draws
    def lognormal(self, target: Target, mean: Any = 0, sigma: Any = 1) -> Array:
        """e^z, with z as ``normal`` gives it of the same arguments."""
        middle, deviation = _given(target.form, "mean", mean), _spread(target.form, "sigma", sigma)
        z = _scaled(self._drawn("normal", target, None), deviation, middle, target.out)
        made: Array = functions.exp(z, out=target.out)
        return made

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
        kind = dtypes.resolved(dtype)
        if kind.name not in (*dtypes.SIGNED, *dtypes.UNSIGNED):
            allowed = ", ".join((*dtypes.SIGNED, *dtypes.UNSIGNED))
            raise FormatError(f"dtype: {kind.name} given, {allowed} are allowed")
        first, last = (0, low) if high is None else (low, high)
        try:
            first, last = int(first), int(last) - (not endpoint)
            whole = (first, last + (not endpoint)) == ((0, low) if high is None else (low, high))
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise ArgumentError(f"low, high: {low!r}, {high!r} given, integers are needed")
        held = np.iinfo(kind.name)
        if not held.min <= first <= last <= held.max:
            raise ArgumentError(
                f"low, high: from {first} to {last} asked for; {kind.name} holds {held.min} to "
                f"{held.max}, and low is not above what is drawn last"
            )
        out = creation.new(sizes(size), kind, device, "integers")
        assert isinstance(out, Numbers)
        stream, place = self.bit_generator.reserve(out.size, BLOCK)
        launch.fill_integers(stream, place, first, last - first + 1, out)
        return PlainArray(out)

    def permutation(self, x: Any, axis: int = 0, device: Where = None) -> Any:
        """A copy of an array whose parts along an axis are in a random order.

        Of an integer: the numbers below it (int64) in such an order, on *device*. All orders are as
        likely: by 64 bits for each part, of which two are seldom equal.
        """
        given = self._elements(x, device)
        if given is None:
            n = samples.whole(x, "x")
            found = samples.orders(self.bit_generator, 1, n, discovery.queue_of(device))
            return PlainArray(found.view_as((n,)))
        return samples.arranged(self.bit_generator, given, axis)

    def permuted(self, x: Any, axis: int | None = None, out: Any = None) -> Any:
        """A copy whose rows along an axis have an order each; without an axis all elements one."""
        given = self._elements(x, None)
        if given is None:
            raise ArgumentError(f"x: {type(x).__name__} given, an array is needed")
        return elementwise_arrays.given_back(
            samples.arranged_each(self.bit_generator, given, axis).planes, out
        )

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the parts of an array along an axis into a random order, in its own memory.

        Of a list its items.
        """
        if isinstance(x, list):
            x[:] = [x[i] for i in self.permutation(len(x)).tolist()]
            return
        if not isinstance(x, Viewed):
            raise ArgumentError(f"x: {type(x).__name__} given, an array or a list is needed")
        elementwise_arrays.written(x, "shuffle: x")
        moves.copied(samples.arranged(self.bit_generator, x, axis).planes, x.planes)

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        device: Where = None,
    ) -> Any:
        """Elements of an array along an axis, or integers (int64) from 0 to a - 1, by chance.

        *p*: their probabilities, an array of a format or numbers; without *replace* nothing is
        drawn twice, and what is drawn first counts for later draws. *device* is for integers.
        What is drawn is in random order always: *shuffle* is there for NumPy's sake.
        """
        shape = sizes(size)
        return samples.chosen(
            self.bit_generator, self.random, a, shape, bool(replace), p, axis, device
        )

    def __getattr__(self, name: str) -> Any:
        """NumPy's other distributions are refused by name."""
        if callable(getattr(np.random.Generator, name, None)):
            raise no_attribute(
                f"Generator has no {name}: it has random, uniform, normal, lognormal, exponential, "
                "integers and choice, of which others are made in full format (by inverting "
                "distribution functions, or with products of linalg.cholesky)"
            )
        raise AttributeError(f"'Generator' object has no attribute {name!r}")

    # --- parts ------------------------------------------------------------------------------------

    def _elements(self, x: Any, device: Where) -> Any:
        """An array of what may be one; None for a number."""
        if isinstance(x, (list, tuple, range, np.ndarray)):
            x = list(x) if isinstance(x, range) else x
            return creation.asarray(x, device=device)
        return x if isinstance(x, Viewed) else None

    def _drawn(self, kind: str, target: Target, out: Array | None) -> Planes:
        """Values in new memory or in *out*."""
        if out is None:
            planes = creation.new(target.shape, target.form, target.device, "random")
        else:
            planes = base.output(out.planes, out.planes, target.shape)
        assert isinstance(planes, Planes)
        words = draw(kind, target.form.name).words
        stream, first = self.bit_generator.reserve(planes.size, words)
        launch.fill(kind, stream, first, planes)
        return planes


def _settled(
    size: Size, format: Any, dtype: Any, device: Where, out: Array | None, **given: Any
) -> Target:
    """Of *out*, of arrays among what is given, or as asked for."""
    arrays = {name: x for name, x in given.items() if isinstance(x, Array)}
    if out is not None:
        place, views = operand(out, "out").planes, {n: x.planes for n, x in arrays.items()}
        base.same_device(place, "out", **views)
        base.refuse_overlap(place, **views)
        arrays = {"out": out, **arrays}
    name, first = next(iter(arrays.items()), ("", None))
    form = creation.chosen(format, dtype, None if first is None else first.format)
    if not isinstance(form, Format):
        raise FormatError(f"dtype: {form} given, a format is needed; integers makes integers")
    real_only(form, "format")
    if first is None:
        return Target(form, sizes(size), device, out)
    if form is not first.format:
        raise FormatError(f"format: {form} given, {name} has {first.format}")
    if device is not None and discovery.queue_of(device) is not first.queue:
        raise ArgumentError(f"device: {device} given, {name} is elsewhere")
    if size is None:
        shapes = [a.shape for a in ([out] if out is not None else arrays.values())]
        return Target(form, np.broadcast_shapes(*shapes), first.queue, out)
    return Target(form, sizes(size), first.queue, out)


def _given(form: Format, name: str, value: Any) -> elementwise.Operand:
    """A parameter as an operand."""
    if not isinstance(value, Array):
        return base.scalar_limbs(form, value, name)
    if value.format is not form:
        raise FormatError(
            f"{name}: format {value.format} given, {form} is needed; "
            + meeting((form, value.format))
        )
    return value.planes


def _spread(form: Format, name: str, value: Any) -> elementwise.Operand:
    """A parameter that is not below zero."""
    found = _given(form, name, value)
    if isinstance(found, tuple) and not _exact(found) >= 0:
        raise ArgumentError(f"{name}: {value} given, numbers from 0 on are allowed")
    return found


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


def default_rng(seed: Any = None) -> Generator:
    """A generator of random numbers.

    *seed*: what NumPy's SeedSequence takes (None: from the system, integers from 0 on, sequences of
    them), a SeedSequence, a Philox, or a Generator, which is returned.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, Philox) else Philox(seed))
