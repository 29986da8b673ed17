"""Random numbers in every format: the same on every device, and however they are drawn in parts."""

from portmp.random.generator import Generator, default_rng
from portmp.random.philox import Philox

__all__ = ["Generator", "Philox", "default_rng"]
