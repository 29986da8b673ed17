"""How much a call launches: the blocks of its grid, and the threads of a block."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from portmp.errors import ArgumentError, LaunchError, suggestion
from portmp.kernels.signature import Declaration, Size
from portmp.kernels.words.types import Block
from portmp.routines import base

Extent = int | str | Sequence[int | str] | Callable[..., Any]
"""Lengths along each axis: numbers, texts of names such as ``"n // 2"``, or a function of names."""


class Axes:
    """Lengths along one to three axes, which may be made of *known* names.

    ArgumentError for other names; *where* and *kinds*, what is known, stand in it.
    """

    def __init__(self, where: str, asked: Extent, known: Collection[str], kinds: str) -> None:
        self.where = where
        self._function = asked if callable(asked) else None
        self.sizes = () if callable(asked) else tuple(Size(str(n)) for n in _sequence(asked))
        """Along each axis; none for a function."""
        if self._function:
            from inspect import signature as parameters_of  # as long to import as all of portmp

            self.names = tuple(parameters_of(self._function).parameters)
        else:
            self.names = tuple(n for size in self.sizes for n in size.names)
        for one in self.names:
            if one not in known:
                near = suggestion(one, sorted(known))
                raise ArgumentError(f"{where}: {one!r} is no {kinds} of the kernel{near}")
        if not self._function and not 1 <= len(self.sizes) <= 3:
            raise ArgumentError(f"{where}: {asked!r:.60} given, one to three axes are needed")

    def lengths(
        self, values: Mapping[str, Any], least: int, error: type[Exception] = ArgumentError
    ) -> tuple[int, int, int]:
        """The lengths, where *values* has the names; 1 along further axes.

        *error* for what are no integers, or less than *least*.
        """
        known = {n: values[n] for n in self.names}
        if self._function:
            found = [*_sequence(self._function(**known))]
        else:
            for name, value in known.items():
                if not _is_whole(value):
                    raise error(f"{self.where}: {name} is {value!r:.60}, an integer is needed")
            found = [size.value(known) for size in self.sizes]
        if not (1 <= len(found) <= 3 and all(_is_whole(n) and n >= least for n in found)):
            given = found[0] if len(found) == 1 else found
            raise error(
                f"{self.where}: {given!r:.60} given, one to three integers from {least} on are "
                "needed"
            )
        x, y, z = [*map(int, found), 1, 1][:3]
        return x, y, z


class Grid:
    """How many blocks a call launches: so many, or as many as its threads need."""

    def __init__(
        self,
        signature: Declaration,
        values: Mapping[str, Any],
        threads: Extent | None,
        blocks: Extent | None,
    ) -> None:
        name = signature.name
        numbers = {p.name for p in signature.parameters if not p.is_array}
        known = {*signature.sizes, *values, *numbers}
        kinds = "size, value or number"
        if threads is not None and blocks is None:
            self._of_threads, self._axes = True, Axes(f"{name}: threads", threads, known, kinds)
        elif blocks is not None and threads is None:
            self._of_threads, self._axes = False, Axes(f"{name}: grid", blocks, known, kinds)
        else:
            raise ArgumentError(f"{name}: either threads or grid says how much is launched")
        used = self._axes.names
        self._values = {n: values[n] for n in used if n in values}
        self.fixed = all(n in signature.sizes or n in self._values for n in used)
        """Whether it follows from sizes and values alone."""

    @property
    def told(self) -> tuple[bool, tuple[Size, ...], dict[str, Any]]:
        """Whether threads are counted, along which axes (none for a function), and values."""
        return self._of_threads, self._axes.sizes, self._values if self._axes.sizes else {}

    def blocks(
        self, block: Block, sizes: Mapping[str, int], numbers: Mapping[str, Any]
    ) -> tuple[int, int, int]:
        """The grid of a call."""
        counts = self._axes.lengths({**self._values, **numbers, **sizes}, 0, LaunchError)
        if not self._of_threads:
            return counts
        x, y, z = (base.blocks(n, size) for n, size in zip(counts, block.dimensions, strict=True))
        return x, y, z


def block_of(where: str, threads: Extent, values: Mapping[str, Any]) -> Block:
    """The block of a kernel whose template has these values."""
    return Block(*Axes(f"{where}: block", threads, values, "value").lengths(values, 1))


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
