"""Which elementary functions there are, and the modules that have their listings."""

from __future__ import annotations

import importlib
from functools import cache

from portmp.networks.catalogue import get
from portmp.networks.functions.setting import Setting
from portmp.networks.language import Network

_FUNCTIONS = {
    "exp": (1, "exponential"),
    "expm1": (1, "exponential"),
    "log": (1, "logarithm"),
    "log1p": (1, "logarithm"),
    "log2": (1, "logarithm"),
    "log10": (1, "logarithm"),
    "pow": (2, "powers"),
    "sin": (1, "trigonometric"),
    "cos": (1, "trigonometric"),
    "tan": (1, "trigonometric"),
    "asin": (1, "inverse"),
    "acos": (1, "inverse"),
    "atan": (1, "inverse"),
    "atan2": (2, "inverse"),
    "sinh": (1, "hyperbolic"),
    "cosh": (1, "hyperbolic"),
    "tanh": (1, "hyperbolic"),
    "asinh": (1, "hyperbolic"),
    "acosh": (1, "hyperbolic"),
    "atanh": (1, "hyperbolic"),
    "cbrt": (1, "powers"),
    "hypot": (2, "powers"),
    "erf": (1, "error"),
    "erfc": (1, "error"),
    "gamma": (1, "gamma"),
    "lgamma": (1, "gamma"),
    "floor": (1, "rounding"),
    "ceil": (1, "rounding"),
    "trunc": (1, "rounding"),
    "round": (1, "rounding"),
    "fmod": (2, "rounding"),
}

"""The number of operands, and the module that has the listing, loaded when it is needed."""

_PARTS = {"uniform": "draws", "normal": "draws"}
"""What random numbers are made by, and the module that has the listing."""

ARITY = {name: arity for name, (arity, _) in _FUNCTIONS.items()}
"""Functions and their number of operands."""


@cache
def function(name: str, word: str, limbs: int) -> Network:
    """The network of a function, or of a part of random numbers, for values of so many limbs."""
    part = _PARTS[name] if name in _PARTS else _FUNCTIONS[name][1]
    module = importlib.import_module(f"portmp.networks.functions.{part}")
    return get(getattr(module, name)(Setting(word, limbs)))
