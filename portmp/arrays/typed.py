"""Types of elementwise functions, which tables make: type checkers read ``typed.pyi``."""

from typing import Any

AlikeOfOne = AlikeOfTwo = Array = OfOne = OfThree = OfTwo = Operand = PlainArray = Any
PlainOfOne = PlainOfTwo = Any
