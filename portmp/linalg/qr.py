"""QR by Householder's reflections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from portmp.arrays.array import Array, array, zeros
from portmp.errors import ArgumentError, suggestion
from portmp.linalg import operands
from portmp.linalg.operands import By
from portmp.routines import qr as routine
from portmp.routines import triangular

MODES = ("reduced", "complete", "r")


class QR(NamedTuple):
    """a = Q R; the columns of ``Q`` are orthonormal, ``R`` is upper triangular."""

    Q: Array
    R: Array


def qr(a: Array, mode: str = "reduced", *, method: By = "direct") -> QR | Array:
    """Q and R of a (..., m, n), k the smaller of m and n; names and modes are NumPy's.

    ``reduced``: Q (..., m, k), R (..., k, n); ``complete``: Q (..., m, m), R (..., m, n); ``r``: R
    alone, (..., k, n). Signs of R's diagonal are as they come: that opposite to the element's that
    it replaces. *method* as in ``lu_factor``. Columns whose squares overflow or vanish need scaling
    first; an infinity or NaN gives NaN. Backward stable: |a - Q R| and |Q^T Q - 1| are at most about
    m u^N times a small number, columnwise.
    """
    matrix = operands.matrix(a, "qr")
    if mode not in MODES:
        near = suggestion(str(mode), list(MODES))
        raise ArgumentError(f"qr: mode {mode!r} given{near}; allowed are {', '.join(MODES)}")
    by = operands.by(method, matrix.format, "qr")
    (m, n), batch = matrix.shape[-2:], matrix.shape[:-2]
    rows = m if mode == "complete" else min(m, n)
    w = operands.stacked(matrix)
    factors = routine.factor(w, by)
    upper = triangular.copied_triangle(w, lower=False, unit=False, rows=rows)
    r = operands.unstacked(upper, batch)
    if mode == "r":
        return r
    q = zeros((*batch, m, rows), matrix.format, matrix.queue)
    if q.size:
        q[...] = array(np.eye(m, rows), matrix.format, matrix.queue)
        routine.applied(factors, operands.stacked(q, own=False), transposed=False, method=by)
    return QR(q, r)
