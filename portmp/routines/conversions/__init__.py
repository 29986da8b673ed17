"""Conversions between plain integers and formats, on the device."""

from portmp.routines.conversions.launch import from_plain, holds, to_plain

__all__ = ["from_plain", "holds", "to_plain"]
