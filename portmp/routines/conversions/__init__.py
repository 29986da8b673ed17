"""Conversions between formats and plain integers."""

from portmp.routines.conversions.launch import between, from_plain, holds, to_plain

__all__ = ["between", "from_plain", "holds", "to_plain"]
