"""Elementary functions as networks: each written once, for any word and number of limbs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from portmp.networks.functions import (
    draws,
    error,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    powers,
    rounding,
    trigonometric,
)
from portmp.networks.functions.setting import Setting
from portmp.networks.language import Network, get

_FUNCTIONS: dict[str, tuple[int, Callable[[Setting], str]]] = {
    "exp": (1, exponential.exp),
    "expm1": (1, exponential.expm1),
    "log": (1, logarithm.log),
    "log1p": (1, logarithm.log1p),
    "log2": (1, logarithm.log2),
    "log10": (1, logarithm.log10),
    "pow": (2, powers.pow),
    "sin": (1, trigonometric.sin),
    "cos": (1, trigonometric.cos),
    "tan": (1, trigonometric.tan),
    "asin": (1, inverse.asin),
    "acos": (1, inverse.acos),
    "atan": (1, inverse.atan),
    "atan2": (2, inverse.atan2),
    "sinh": (1, hyperbolic.sinh),
    "cosh": (1, hyperbolic.cosh),
    "tanh": (1, hyperbolic.tanh),
    "asinh": (1, hyperbolic.asinh),
    "acosh": (1, hyperbolic.acosh),
    "atanh": (1, hyperbolic.atanh),
    "cbrt": (1, powers.cbrt),
    "hypot": (2, powers.hypot),
    "erf": (1, error.erf),
    "erfc": (1, error.erfc),
    "gamma": (1, gamma.gamma),
    "lgamma": (1, gamma.lgamma),
    "floor": (1, rounding.floor),
    "ceil": (1, rounding.ceil),
    "trunc": (1, rounding.trunc),
    "round": (1, rounding.round),
    "fmod": (2, rounding.fmod),
}

_PARTS: dict[str, Callable[[Setting], str]] = {"uniform": draws.uniform, "normal": draws.normal}
"""What random numbers are made by."""

ARITY = {name: arity for name, (arity, _) in _FUNCTIONS.items()}
"""Functions and their number of operands."""


@cache
def function(name: str, word: str, limbs: int) -> Network:
    """The network of a function, or of a part of random numbers, for values of so many limbs."""
    made = _PARTS[name] if name in _PARTS else _FUNCTIONS[name][1]
    return get(made(Setting(word, limbs)))
