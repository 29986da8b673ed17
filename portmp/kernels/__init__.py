"""Kernels of one's own: written once as a template, run with the same bits on every platform.

``Kernel`` and ``Module`` render, compile and launch; ``signature`` says what a call takes;
``vocabulary`` has the words that templates are written with.
"""

from portmp import _load_arrays, _names

_load_arrays()
__all__, __getattr__, __dir__ = _names(__name__)
