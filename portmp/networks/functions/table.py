"""Which elementary functions there are, and the modules that have their listings."""

import importlib
from functools import cache

from portmp.networks.catalogue import get
from portmp.networks.functions.setting import Setting
from portmp.networks.language import Network

_FUNCTIONS = {
    name: (arity, module)
    for module, arity, names in (
        ("exponential", 1, "exp expm1"),
        ("logarithm", 1, "log log1p log2 log10"),
        ("powers", 2, "pow"),
        ("trigonometric", 1, "sin cos tan"),
        ("inverse", 1, "asin acos atan"),
        ("inverse", 2, "atan2"),
        ("hyperbolic", 1, "sinh cosh tanh asinh acosh atanh"),
        ("powers", 1, "cbrt"),
        ("powers", 2, "hypot"),
        ("error", 1, "erf erfc"),
        ("gamma", 1, "gamma lgamma"),
        ("rounding", 1, "floor ceil trunc round"),
        ("rounding", 2, "fmod"),
    )
    for name in names.split()
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
