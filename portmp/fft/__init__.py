"""Fourier transforms, in every format that has complex numbers: the same bits on every device."""

from portmp import _load_arrays, _names

_load_arrays()
__all__, __getattr__, __dir__ = _names(__name__)
