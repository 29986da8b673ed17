"""Elementary functions on the host, bit for bit as on devices."""

from portmp.routines.elementwise.reference import elementwise

__all__ = ["elementwise"]
