"""Elements moved, bit by bit: copies, choices, gathering and scattering by offsets."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
