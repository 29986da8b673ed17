"""Elements moved, bit by bit: copies, choices, gathering and scattering by offsets."""

from portmp.routines.moves.launch import copied, dense, gathered, like, scattered, selected

__all__ = ["copied", "dense", "gathered", "like", "scattered", "selected"]
