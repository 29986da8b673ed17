"""Jacobi's method: symmetric matrices become diagonal, columns orthogonal."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
