"""Linear algebra that users build on: systems, factorisations, conjugate gradients."""

from portmp.linalg.cholesky import cholesky, cholesky_solve
from portmp.linalg.conjugate_gradients import Solution, cg
from portmp.linalg.eigen import Eigh, eigh, eigvalsh
from portmp.linalg.least_squares import LeastSquares, lstsq
from portmp.linalg.lu import (
    Lu,
    LuFactors,
    SignAndLog,
    det,
    inv,
    lu,
    lu_factor,
    lu_solve,
    matrix_power,
    slogdet,
)
from portmp.linalg.norms import cond, norm
from portmp.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_norm,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from portmp.linalg.qr import QR, PivotedQR, qr
from portmp.linalg.refinement import Refined, Refinement
from portmp.linalg.singular import SVD, matrix_rank, pinv, svd, svdvals
from portmp.linalg.solve import solve
from portmp.linalg.triangular import solve_triangular, syrk, trmm
from portmp.linalg.trust import Trust, trust

__all__ = [
    "QR",
    "SVD",
    "Eigh",
    "LeastSquares",
    "Lu",
    "LuFactors",
    "PivotedQR",
    "Refined",
    "Refinement",
    "SignAndLog",
    "Solution",
    "Trust",
    "cg",
    "cholesky",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "syrk",
    "tensordot",
    "trace",
    "trmm",
    "trust",
    "vecdot",
    "vector_norm",
]
