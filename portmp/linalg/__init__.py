"""Linear algebra that users build on: systems, factorisations, iterative methods."""

from portmp import _load_arrays, _names

_load_arrays()
__all__, __getattr__, __dir__ = _names(__name__)
