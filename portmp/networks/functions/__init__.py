"""Elementary functions as networks: each written once, for any word and number of limbs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from portmp.networks.functions import exponential
from portmp.networks.functions.setting import Setting
from portmp.networks.language import Network, get

_FUNCTIONS: dict[str, tuple[int, Callable[[Setting], str]]] = {"exp": (1, exponential.exp)}

ARITY = {name: arity for name, (arity, _) in _FUNCTIONS.items()}
"""Functions and their number of operands."""


@cache
def function(name: str, word: str, limbs: int) -> Network:
    """The network of a function for values of so many limbs."""
    return get(_FUNCTIONS[name][1](Setting(word, limbs)))
