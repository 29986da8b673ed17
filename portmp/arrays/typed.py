"""Types of public functions, which tables and decorators make: checkers read ``typed.pyi``."""

from collections.abc import Callable
from typing import Any


def keeps(function: Any) -> Any:
    """What tells type checkers of a function, and changes nothing."""
    return function


meets = joins = cuts = keeps


def as_(kind: Any) -> Callable[[Any], Any]:
    """A decorator that changes nothing: the function has the type that is named."""
    return lambda function: function


gives = as_


def __getattr__(name: str) -> Any:
    """Every type, which only checkers know."""
    if name.startswith("_"):
        raise AttributeError(name)
    return Any
