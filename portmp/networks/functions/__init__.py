"""Elementary functions as networks: each written once, for any word and number of limbs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from portmp.networks.functions import exponential, logarithm, trigonometric
from portmp.networks.functions.setting import Setting
from portmp.networks.language import Network, get

_FUNCTIONS: dict[str, tuple[int, Callable[[Setting], str]]] = {
    "exp": (1, exponential.exp),
    "log": (1, logarithm.log),
    "log1p": (1, logarithm.log1p),
    "log2": (1, logarithm.log2),
    "log10": (1, logarithm.log10),
    "sin": (1, trigonometric.sin),
    "cos": (1, trigonometric.cos),
    "tan": (1, trigonometric.tan),
}

ARITY = {name: arity for name, (arity, _) in _FUNCTIONS.items()}
"""Functions and their number of operands."""


@cache
def function(name: str, word: str, limbs: int) -> Network:
    """The network of a function for values of so many limbs."""
    return get(_FUNCTIONS[name][1](Setting(word, limbs)))
