"""Backward errors of factorisations by arithmetic twice as long: sizes, shapes, scales, kinds.

Factors in dd are compared with the matrix in qd, whose own roundings are 10^-32 of the bounds.
``test_linalg`` has the small ones in exact arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from slow import slow
from test_linalg import MATRICES

import portmp as mp
from portmp.backends.base import Device

CONSTANT = 10
"""Of the bounds n c u^N."""

SIZES = [1, 2, 63, 64, 65, 300, 1000]


def unit(a: mp.Array) -> float:
    return CONSTANT * max(a.shape) * a.format.unit_roundoff


def largest(x: mp.Array) -> float:
    return float(abs(x).max())


def columns(x: mp.Array) -> np.ndarray[Any, Any]:
    """Euclidean norms of columns."""
    return mp.linalg.norm(x, axis=0).to_float64()


def check_lu(a: mp.Array) -> None:
    """Elementwise: |p a - l u| within |l| |u|."""
    p, left, u = (x.astype("qd") for x in mp.linalg.lu(a))
    error = abs(p @ left @ u - a.astype("qd"))
    bound = abs(p) @ abs(left) @ abs(u)
    assert bool((error <= bound * unit(a)).all())
    assert largest(left) <= 1


def check_qr(a: mp.Array) -> None:
    """By columns; the largest element of Q^T Q - 1."""
    q, r = (x.astype("qd") for x in mp.linalg.qr(a))
    error = columns(q @ r - a.astype("qd"))
    assert (error <= unit(a) * columns(a)).all()
    one = mp.array(np.eye(q.shape[1]), "qd", a.device)
    assert largest(q.T @ q - one) <= unit(a)
    assert (np.tril(r.to_float64(), -1) == 0).all()


def check_cholesky(a: mp.Array) -> None:
    """Elementwise: |a - l l^T| within |l| |l^T|."""
    left = mp.linalg.cholesky(a).astype("qd")
    error = abs(left @ left.T - a.astype("qd"))
    assert bool((error <= (abs(left) @ abs(left.T)) * unit(a)).all())


def check_ldl(a: mp.Array) -> None:
    """Elementwise: |a - l d l^T| within |l| |d| |l^T|."""
    found = mp.linalg.ldl(a)
    lu, d = found.lu.astype("qd"), found.d.astype("qd")
    error = abs(lu @ d @ lu.T - a.astype("qd"))
    assert bool((error <= (abs(lu) @ abs(d) @ abs(lu.T)) * unit(a)).all())


@slow("smaller ones have shown the same", unless=lambda p: p["n"] < 1000)
@pytest.mark.parametrize("n", SIZES)
def test_sizes(device: Device, n: int) -> None:
    """Square random matrices, and positive definite and indefinite ones made of them."""
    rng = np.random.default_rng(n)
    given = rng.standard_normal((n, n))
    a = mp.array(given, "dd", device)
    check_lu(a)
    check_qr(a)
    check_ldl(a + a.T)
    check_cholesky(a @ a.T + mp.array(np.eye(n), "dd", device))


@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (65, 2), (2, 65), (129, 64)])
def test_wide_and_tall(device: Device, shape: tuple[int, int]) -> None:
    a = mp.array(np.random.default_rng(1).standard_normal(shape), "dd", device)
    check_lu(a)
    check_qr(a)


@slow("kinds seldom fail apart", unless=lambda p: p["kind"] in ("hilbert", "kahan", "wilkinson"))
@pytest.mark.parametrize("kind", MATRICES)
def test_kinds(device: Device, kind: str) -> None:
    """To condition numbers of 1 / u^N: Hilbert's has 10^32 at 22; Wilkinson's grow to 2^64."""
    n = 22 if kind in ("hilbert", "vandermonde") else 65
    a = mp.array(MATRICES[kind](n), "dd", device)
    check_lu(a)
    check_qr(a)
    if kind in ("hilbert", "moler"):
        check_ldl(a)
    if kind == "moler":
        check_cholesky(a)
    if kind == "hilbert":
        check_cholesky(mp.array(MATRICES[kind](18), "dd", device))


@pytest.mark.parametrize("power", [-300, 300])
def test_scaled(device: Device, power: int) -> None:
    """By powers of two: factors of the matrix as it was, bit for bit, times the power."""
    a = mp.array(np.random.default_rng(3).standard_normal((70, 70)), "dd", device)
    factor = 2.0**power
    lu, far = mp.linalg.lu_factor(a).lu, mp.linalg.lu_factor(a * factor).lu
    upper = np.triu(np.ones((70, 70)))
    assert (far == lu * mp.array(np.where(upper, factor, 1), "dd", device)).all()
    (q, r), (q_far, r_far) = mp.linalg.qr(a), mp.linalg.qr(a * factor)
    assert (q == q_far).all() and (r * factor == r_far).all()
    definite = a @ a.T
    left, left_far = mp.linalg.cholesky(definite), mp.linalg.cholesky(definite * factor)
    assert (left * math.sqrt(factor) == left_far).all()
    b = a[:, :3]
    x = mp.linalg.solve(a, b)
    assert (mp.linalg.solve(a * factor, b * factor) == x).all()
    scaled = mp.linalg.lstsq(a[:, :40] * factor, b * factor).x
    assert (scaled == mp.linalg.lstsq(a[:, :40], b).x).all()


def test_permuted_and_nearly_singular(device: Device) -> None:
    """Rows and columns in another order; a matrix one part in 10^28 from a singular one."""
    rng = np.random.default_rng(4)
    given = rng.standard_normal((64, 64))
    order = rng.permutation(64)
    check_lu(mp.array(given[order][:, order], "dd", device))
    a = mp.array(given, "qd", device)
    a[:, 63] = a[:, :63].sum(axis=1)
    near = (a + a * 1e-28 * mp.array(rng.standard_normal((64, 64)), "qd", device)).astype("dd")
    check_lu(near)
    check_qr(near)
    check_ldl(near + near.T)
    assert mp.linalg.cond(near) > 1e26


def statistics(xp: Any, a: Any, b: Any) -> dict[str, Any]:
    """What a user of NumPy writes; only the module's name differs."""
    linalg = xp.linalg
    symmetric = a @ a.T + 3 * xp.eye(len(a), dtype=a.dtype)
    q, r = linalg.qr(a)
    sign, logdet = linalg.slogdet(a)
    eigenvalues = linalg.eigvals(a)
    return {
        "solve": linalg.solve(a, b),
        "many": linalg.solve(a, symmetric),
        "inv": linalg.inv(a),
        "det": linalg.det(a),
        "slogdet": sign * logdet,
        "qr": abs(q @ r - a).max(),
        "r": abs(linalg.diagonal(r)),
        "cholesky": linalg.cholesky(symmetric),
        "power": linalg.matrix_power(a, 3),
        "negative": linalg.matrix_power(a, -1),
        "norm": linalg.norm(a),
        "one": linalg.norm(a, 1),
        "vectors": linalg.norm(a, axis=1),
        "lstsq": linalg.lstsq(a[:, :4], b, rcond=None)[0],
        "pinv": linalg.pinv(a[:, :4]),
        "trace": linalg.trace(a),
        "outer": linalg.outer(b, b),
        "real": xp.sort(eigenvalues.real),
        "imag": xp.sort(eigenvalues.imag),
    }


def test_a_script_of_numpys_runs(device: Device) -> None:
    """With ``mp`` in the place of ``np``: the same numbers, to float64's digits."""
    rng = np.random.default_rng(8)
    host, side = rng.standard_normal((8, 8)), rng.standard_normal(8)
    want = statistics(np, host, side)
    found = statistics(mp, mp.array(host, "dd", device), mp.array(side, "dd", device))
    for name, value in want.items():
        mine = np.asarray(found[name].to_float64())
        assert np.allclose(mine, value, rtol=1e-9, atol=1e-11), name


def test_numpys_results(device: Device) -> None:
    """All of a result's parts, in NumPy's shapes, also through NumPy's own functions."""
    rng = np.random.default_rng(4)
    tall, b, square = (rng.standard_normal(shape) for shape in ((6, 3), 6, (2, 4, 4)))
    tensor, right = rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 3))
    inverse = rng.standard_normal((6, 2, 3))

    def results(of: Any, turned: Any) -> list[Any]:
        x, residuals, rank, s = of.lstsq(turned(tall), turned(b), rcond=-1)
        orders = (None, 2, -2, "fro", "nuc", -1, -np.inf)
        found = [of.cond(turned(square[0]), p) for p in orders]
        return [
            *(x, residuals, rank, s, *found, of.cond(turned(square))),
            of.tensorsolve(turned(tensor), turned(right)),
            of.tensorsolve(turned(np.moveaxis(tensor, 2, 0)), turned(right), axes=(0,)),
            of.tensorinv(turned(inverse), ind=1),
        ]

    wanted = results(np.linalg, lambda x: x)
    own = results(mp.linalg, lambda x: mp.array(x, "dd", device))
    for mine, other in zip(own, wanted, strict=True):
        host = mine.to_float64() if isinstance(mine, mp.Array) else np.asarray(mine)
        assert host.shape == np.shape(other) and np.allclose(host, other, rtol=1e-10)
    a = mp.array(tall, "dd", device)
    found: Any = np.linalg.lstsq(a, mp.array(b, "dd", device))
    assert len(found) == 4 and found[0] is found.x and found[1:3] == (found.residuals, found.rank)
    assert mp.linalg.cond(mp.zeros((2, 2), "dd", device), "fro") == math.inf
