"""Devices: found, chosen, and probed before their first use."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
