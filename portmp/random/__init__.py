"""Random numbers in every format: the same on every device, and however they are drawn in parts."""

from typing import Any

import numpy as np

from portmp import _load_arrays, _loading

with _loading:  # all of it as one thread's work: portmp says why
    _load_arrays()
    from portmp.random.generator import Generator, default_rng
    from portmp.random.philox import Philox

__all__ = ["Generator", "Philox", "default_rng"]


def __getattr__(name: str) -> Any:
    """NumPy's functions with a state of the process are refused by name."""
    if callable(getattr(np.random, name, None)):
        raise AttributeError(
            f"portmp.random has no {name}: rng = portmp.random.default_rng(seed) gives rng.random, "
            "rng.normal, rng.integers, rng.choice and rng.shuffle"
        )
    raise AttributeError(f"module 'portmp.random' has no attribute {name!r}")
