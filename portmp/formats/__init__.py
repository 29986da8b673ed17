"""Number formats: their registry, encodings in memory, conversions."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
