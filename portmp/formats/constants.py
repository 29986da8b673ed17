"""pi, e and the logarithm of 2 as exact scalars, for any format.

They are Fractions that agree with the constants to 1728 bits, more than any format has: an array
made of one, or a product with one, has it correctly rounded.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from portmp.networks import constants


class Constant(Fraction):
    """A real number that arithmetic with arrays takes as an exact scalar."""

    name: str

    def __new__(cls, name: str, number: int) -> Constant:
        self = super().__new__(cls, number, constants.ONE)
        self.name = name
        return self

    def __reduce__(self) -> Any:
        return _named, (self.name,)

    def __copy__(self) -> Constant:
        return self

    def __deepcopy__(self, memo: Any) -> Constant:
        return self

    def __repr__(self) -> str:
        return f"portmp.{self.name}"

    def __str__(self) -> str:
        """Seventy digits."""
        digits = str(round(self * 10**70))
        return f"{digits[:-70] or '0'}.{digits[-70:]}"


pi = Constant("pi", constants.pi())
e = Constant("e", constants.exp(constants.ONE))
ln2 = Constant("ln2", constants.ln2())

CONSTANTS = {constant.name: constant for constant in (pi, e, ln2)}
"""All constants by name."""


def _named(name: str) -> Constant:
    """The constant that a pickle names."""
    return CONSTANTS[name]
