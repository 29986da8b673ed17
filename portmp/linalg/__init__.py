"""Linear algebra that users build on: systems, factorisations, iterative methods."""

from portmp import _load_arrays, _loading

with _loading:  # all of it as one thread's work: portmp says why
    _load_arrays()
    from portmp.errors import LinAlgError
    from portmp.linalg import polynomials as polynomials
    from portmp.linalg import sparse as sparse
    from portmp.linalg.certified import Certificate, Certified
    from portmp.linalg.cholesky import cholesky, cholesky_solve
    from portmp.linalg.conjugate_gradients import cg
    from portmp.linalg.eigen import Eigh, eigh, eigvalsh
    from portmp.linalg.exponential import expm
    from portmp.linalg.iterative import Solution
    from portmp.linalg.ldl import Ldl, ldl
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
    from portmp.linalg.minimal_residuals import gmres, minres
    from portmp.linalg.nonsymmetric import Complex, Schur, companion, eig, eigvals, schur
    from portmp.linalg.norms import cond, norm
    from portmp.linalg.products import (
        cross,
        diagonal,
        matmul,
        matrix_norm,
        matrix_transpose,
        multi_dot,
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
    from portmp.linalg.tensors import tensorinv, tensorsolve
    from portmp.linalg.triangular import solve_triangular, syrk, trmm
    from portmp.linalg.trust import Trust, trust

__all__ = [
    "QR",
    "SVD",
    "Certificate",
    "Certified",
    "Complex",
    "Eigh",
    "Ldl",
    "LeastSquares",
    "LinAlgError",
    "Lu",
    "LuFactors",
    "PivotedQR",
    "Refined",
    "Refinement",
    "Schur",
    "SignAndLog",
    "Solution",
    "Trust",
    "cg",
    "cholesky",
    "cholesky_solve",
    "companion",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "gmres",
    "inv",
    "ldl",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "minres",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "schur",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "syrk",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "trmm",
    "trust",
    "vecdot",
    "vector_norm",
]
