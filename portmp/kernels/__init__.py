"""Kernels of one's own: written once as a template, run with the same bits on every platform.

``Kernel`` and ``Module`` render, compile and launch; ``signature`` says what a call takes;
``vocabulary`` has the words that templates are written with.
"""

from portmp import _load_arrays, _loading

with _loading:  # all of it as one thread's work: portmp says why
    _load_arrays()
    from portmp.kernels.kernel import Kernel, Module

__all__ = ["Kernel", "Module"]
