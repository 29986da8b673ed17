"""Triangular systems and products, and what factorisations by blocks are made of."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
