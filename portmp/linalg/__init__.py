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

__all__ = [
    "Solution",
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
    "vecdot",
    "vector_norm",
]
