"""Eigenvalues of Hessenberg matrices, and Schur's form, by Francis's iteration."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
