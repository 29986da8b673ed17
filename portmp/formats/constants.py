"""pi, e, the logarithm of 2 and Euler's constant as exact scalars, for any format.

They agree with the constants to 1728 bits, more than any format has: an array made of one, or a
product with one, has it correctly rounded. Expressions of them stay exact (``Exact``).
"""

from functools import cache
from typing import Any

from portmp.formats.exact import Exact
from portmp.networks import constants


class Constant(Exact):
    """An exact number with a name."""

    name: str
    from_float: Any = Exact.from_float  # comparisons make numbers
    from_decimal: Any = Exact.from_decimal

    def __new__(cls, name: str, number: int) -> "Constant":
        self = super().__new__(cls, number, constants.ONE)
        self.name = name
        return self

    def __reduce__(self) -> Any:
        return _named, (self.name,)

    def __copy__(self) -> "Constant":
        return self

    def __deepcopy__(self, memo: Any) -> "Constant":
        return self

    def __repr__(self) -> str:
        return f"portmp.{self.name}"


pi = Constant("pi", constants.pi())
e = Constant("e", constants.exp(constants.ONE))
ln2 = Constant("ln2", constants.ln2())

CONSTANTS = {constant.name: constant for constant in (pi, e, ln2)}
"""Those that are known at once, by name."""


@cache
def _euler() -> Constant:
    return Constant("euler_gamma", constants.euler())


def __getattr__(name: str) -> Constant:
    """Euler's constant, which takes longer, is worked out when it is asked for."""
    if name == "euler_gamma":
        return _euler()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _named(name: str) -> Constant:
    """The constant that a pickle names."""
    return CONSTANTS[name] if name in CONSTANTS else __getattr__(name)
