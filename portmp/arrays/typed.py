"""Types of public functions, which tables and decorators make: checkers read ``typed.pyi``."""

from collections.abc import Callable
from typing import Any

AlikeOfOne = AlikeOfTwo = Array = OfOne = OfThree = OfTwo = Operand = PlainArray = Any
Averaged = Counted = Eye = Filled = Like = PlainOfOne = PlainOfTwo = Position = Reduced = Any
Full = Keeping = Kept = Range = Running = Spaced = Spread = Summed = Truth = Any


def keeps(function: Any) -> Any:
    """Of each kind of array the function gives the same kind."""
    return function


def as_(kind: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing: the function has the type that is named."""
    return lambda function: function
