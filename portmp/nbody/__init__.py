"""Gravity of particles: forces, systems that move, simulations."""

from portmp import _load_arrays, _names

_load_arrays()
__all__, __getattr__, __dir__ = _names(__name__)
