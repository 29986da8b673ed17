"""Elementwise operations on plain integers and truth values."""

from portmp.routines.plain.launch import apply, counted, fill
from portmp.routines.plain.operations import OPERATIONS

__all__ = ["OPERATIONS", "apply", "counted", "fill"]
