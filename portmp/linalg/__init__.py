"""Linear algebra that users build on: systems of equations, norms, products by their names."""

from portmp.linalg.conjugate_gradients import Solution, cg
from portmp.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_norm,
    matrix_power,
    matrix_transpose,
    norm,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from portmp.linalg.solve import lstsq, solve
from portmp.linalg.trust import Trust, trust

__all__ = [
    "Solution",
    "Trust",
    "cg",
    "cross",
    "diagonal",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "solve",
    "tensordot",
    "trace",
    "trust",
    "vecdot",
    "vector_norm",
]
