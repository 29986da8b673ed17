"""Linear systems on the host, bit for bit as on devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm.reference import gemm
from portmp.routines.reference import Arithmetic, Host, Value


def solve(form: Format, a: Host, b: Host) -> Host:
    """x of a x = b for a (n, n), b (n, r): LU with partial pivoting on [a b]."""
    ar = Arithmetic(form)
    n = a[0].shape[0]
    with ieee.quiet():
        w = [np.concatenate(pair, axis=1) for pair in zip(a, b, strict=True)]

        def part(rows: Any, cols: Any) -> Value:
            return ar.load([p[rows, cols] for p in w])

        def put(rows: Any, cols: Any, value: Value) -> None:
            for plane, stored in zip(w, ar.store(value), strict=True):
                plane[rows, cols] = stored

        for col in range(n):
            sizes = np.nan_to_num(np.abs(w[0][col:, col]), nan=-1.0, posinf=np.inf)
            pivot = col + int(np.argmax(sizes))
            if not sizes.max() > 0:
                raise ArgumentError("a: the matrix is singular (a pivot is zero or NaN)")
            if pivot != col:
                for plane in w:
                    plane[[col, pivot]] = plane[[pivot, col]]
            below, right = slice(col + 1, n), slice(col + 1, None)
            top = part(slice(col, col + 1), slice(col, col + 1))
            left = part(below, slice(col, col + 1))
            if left[0].size:
                wide = tuple(np.broadcast_to(t, left[0].shape) for t in top)
                put(below, slice(col, col + 1), ar.operator("div", left, wide))
                _eliminate(ar, part, put, below, col, right)
        for col in range(n - 1, -1, -1):
            row, rhs = slice(col, col + 1), slice(n, None)
            x = part(row, rhs)
            top = part(row, row)
            put(row, rhs, ar.operator("div", x, tuple(np.broadcast_to(t, x[0].shape) for t in top)))
            if col:
                _eliminate(ar, part, put, slice(0, col), col, rhs)
        return [p[:, n:] for p in w]


def _eliminate(ar: Arithmetic, part: Any, put: Any, rows: slice, col: int, cols: slice) -> None:
    """w[rows, cols] += (-w[rows, col]) w[col, cols]."""
    target = part(rows, cols)
    shape = target[0].shape
    left = ar.operator("neg", part(rows, slice(col, col + 1)))
    top = part(slice(col, col + 1), cols)
    put(
        rows,
        cols,
        ar.operator(
            "fma",
            tuple(np.broadcast_to(v, shape) for v in left),
            tuple(np.broadcast_to(v, shape) for v in top),
            target,
        ),
    )


def lstsq(form: Format, a: Host, b: Host) -> Host:
    """Least squares by the normal equations."""
    at = [p.T for p in a]
    return solve(form, gemm(form, at, a), gemm(form, at, b))
