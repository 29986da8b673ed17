"""Arithmetic as data: straight-line programs over words and expansions."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
