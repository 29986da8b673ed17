"""Orders: sorting, searching, where extrema are."""

from portmp.routines.order.launch import argsort, position, searchsorted

__all__ = ["argsort", "position", "searchsorted"]
