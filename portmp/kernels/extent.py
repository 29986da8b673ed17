"""How much a call launches: the blocks of its grid, and the threads of a block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from portmp.errors import ArgumentError, LaunchError, suggestion
from portmp.kernels.signature import Signature, Size
from portmp.kernels.words.types import Block
from portmp.routines import base

Extent = int | str | Sequence[int | str] | Callable[..., Any]
"""Threads or blocks along each axis: numbers, sizes such as ``"n // 2"``, or a function of them."""


class Grid:
    """How many blocks a call launches: a number, or as many as its threads need."""

    def __init__(
        self,
        signature: Signature,
        values: Mapping[str, Any],
        threads: Extent | None,
        blocks: Extent | None,
    ) -> None:
        name = self._name = signature.name
        if (threads is None) == (blocks is None):
            raise ArgumentError(f"{name}: either threads or grid says how much is launched")
        self._of_threads = threads is not None
        self._what = "threads" if self._of_threads else "grid"
        asked = threads if threads is not None else blocks
        self._function = asked if callable(asked) else None
        axes: Sequence[Any] = () if callable(asked) else _sequence(asked)
        self._sizes = [Size(str(one)) for one in axes]
        if self._function:
            from inspect import signature as parameters_of  # as long to import as all of portmp

            used = list(parameters_of(self._function).parameters)
        else:
            used = [n for size in self._sizes for n in size.names]
        numbers = {p.name for p in signature.parameters if not p.is_array}
        known = {*signature.sizes, *values, *numbers}
        for one in used:
            if one not in known:
                raise ArgumentError(
                    f"{name}: {self._what}: {one!r} is no size, value or number of the kernel"
                    f"{suggestion(one, sorted(known))}"
                )
        self._values = {n: values[n] for n in used if n in values}
        self._used = used
        self.fixed = all(n in signature.sizes or n in self._values for n in used)
        """Whether it follows from sizes and values alone."""
        if not self._function and not 1 <= len(self._sizes) <= 3:
            raise ArgumentError(f"{name}: {self._what}: one to three axes are needed")

    @property
    def told(self) -> tuple[bool, tuple[Size, ...], dict[str, Any]]:
        """Whether threads are counted, along which axes (none for a function), and values."""
        axes = () if self._function else tuple(self._sizes)
        return self._of_threads, axes, {} if self._function else self._values

    def blocks(
        self, block: Block, sizes: Mapping[str, int], others: Mapping[str, Any]
    ) -> tuple[int, int, int]:
        """The grid of a call."""
        given: dict[str, Any] = self._values | dict(others) | dict(sizes)
        known = {n: given[n] for n in self._used}
        if self._function:
            axes = [*_sequence(self._function(**known))]
        else:
            axes = [size.value(known) for size in self._sizes]
        whole = all(isinstance(n, (int, np.integer)) and n >= 0 for n in axes)
        if not (whole and 1 <= len(axes) <= 3):
            raise LaunchError(
                f"{self._name}: {self._what}: {axes!r:.60} given, one to three integers from 0 "
                "on are needed"
            )
        counts = [int(n) for n in axes] + [1] * (3 - len(axes))
        if self._of_threads:
            counts = [
                base.blocks(n, size) for n, size in zip(counts, block.dimensions, strict=True)
            ]
        x, y, z = counts
        return x, y, z


def block_of(name: str, threads: int | Sequence[int]) -> Block:
    """The block that a kernel is declared with."""
    sizes = _sequence(threads)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in sizes)
    if not (whole and 1 <= len(sizes) <= 3 and all(n > 0 for n in sizes)):
        raise ArgumentError(
            f"{name}: block: {threads!r:.60} given, one to three positive integers are needed"
        )
    return Block(*map(int, sizes))


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)
