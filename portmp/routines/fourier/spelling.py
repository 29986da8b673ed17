"""How templates of Fourier transforms spell values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from portmp.codegen.writer import Writer
from portmp.networks import Network


class Spelling:
    """Sums, differences and products of a format's values, by the functions of its networks."""

    def __init__(
        self,
        w: Writer,
        networks: Mapping[str, Network],
        first: bool,
        binary: bool,
        listed: int | None,
    ) -> None:
        self.w, self.first, self.binary, self.listed = w, first, binary, listed
        long = w.platform.index
        power = f"(({long})1 << before)" if binary else f"({long})before"
        self.beside = "" if first else f" * {power}"
        """What multiplies the numbers of a transform's elements where they are stored."""
        self._of = {role: w.function(net) for role, net in networks.items()}
        self._numbers = count(1)

    def name(self) -> str:
        """A new name."""
        return f"z{next(self._numbers)}"

    def plus(self, a: str, b: str) -> str:
        """a + b."""
        return f"{self._of['add']}({a}, {b})"

    def minus(self, a: str, b: str) -> str:
        """a - b."""
        return f"{self._of['add']}({a}, {self._of['neg']}({b}))"

    def times(self, a: str, b: str) -> str:
        """a b."""
        return f"{self._of['mul']}({a}, {b})"

    def times_before(self, number: str | int) -> str:
        """An integer times the length of the transforms that a pass begins with."""
        if self.first:
            return f"{number}"
        return f"({number} << before)" if self.binary else f"({number}) * before"

    def sum(self, first: str, number: str | int) -> str:
        """An integer, or none, and another one."""
        return " + ".join(f"{one}" for one in (first, number) if one)

    def number(self, words: Iterable[float]) -> str:
        """A constant."""
        return self.w.pack(self.w.literal(word) for word in words)
