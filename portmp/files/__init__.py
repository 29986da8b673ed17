"""Files of numbers and pictures: read whole and checked, written in one step."""

from portmp import _names

__all__, __getattr__, __dir__ = _names(__name__)
