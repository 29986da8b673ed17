"""Linear algebra that users build on: solve, lstsq and conjugate gradients."""

from portmp.linalg.conjugate_gradients import Solution, cg
from portmp.linalg.solve import lstsq, solve

__all__ = ["Solution", "cg", "lstsq", "solve"]
