"""Products of sparse matrices, stored by rows, with vectors and matrices."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
