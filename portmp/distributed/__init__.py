"""Arrays on several devices, with the bits that they have on one (docs/distributed.md)."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
