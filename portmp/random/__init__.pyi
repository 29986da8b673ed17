"""The names of ``portmp.random``, and where they are."""

from portmp.random.generator import Generator as Generator
from portmp.random.generator import default_rng as default_rng
from portmp.random.philox import Philox as Philox
