"""Routines on devices, a folder each: schedules, launches, search spaces, the host's reference."""

# Each routine registers its schedules: the database cannot read entries of kinds it does not know.
from portmp.routines import elementwise, gemm, gravity, reduce

__all__ = ["elementwise", "gemm", "gravity", "reduce"]
