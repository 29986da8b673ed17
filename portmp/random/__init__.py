"""Random numbers in every format: the same on every device, and however they are drawn in parts."""

from typing import Any

import numpy as np

from portmp import _load_arrays, _names
from portmp.errors import no_attribute

_load_arrays()
__all__, _named, __dir__ = _names(__name__)


def __getattr__(name: str) -> Any:
    """NumPy's functions with a state of the process are refused by name."""
    if name in __all__:
        return _named(name)
    if callable(getattr(np.random, name, None)):
        raise no_attribute(
            f"portmp.random has no {name}: rng = portmp.random.default_rng(seed) gives rng.random, "
            "rng.normal, rng.integers, rng.choice and rng.shuffle"
        )
    raise AttributeError(f"module 'portmp.random' has no attribute {name!r}")
