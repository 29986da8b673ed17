"""Factors of symmetric indefinite matrices, by panels."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
