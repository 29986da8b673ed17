"""Householder's QR factorisation by blocks."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
