"""Factorisations and systems against exact arithmetic; bits of long ones across devices."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tiers
from slow import TWICE, on_two_devices, slow

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import inputs
from portmp.routines import base
from portmp.routines.cholesky import reference as cholesky_reference
from portmp.routines.lu import reference as lu_reference
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki import residues
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.qr import reference as qr_reference
from portmp.routines.reference import Host
from portmp.routines.triangular import launch as triangular
from portmp.routines.triangular import reference as triangular_reference
from portmp.routines.triangular import steps
from portmp.routines.triangular.routine import dominant

flint = pytest.importorskip("flint")

NUMPY_2 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="has functions that NumPy 2 brought"
)

N = 37
"""Two blocks, the second one odd."""


def exact(a: mp.Array) -> Any:
    """A matrix of rational numbers."""
    rows = a.to_fractions()
    rational = flint.fmpq
    values = [[rational(x.numerator, x.denominator) for x in row] for row in rows]
    return flint.fmpq_mat(len(rows), a.shape[1], [x for row in values for x in row])


def sizes(m: Any) -> np.ndarray[Any, Any]:
    """Magnitudes of rational numbers as floats, which may be far below a float64's roundoff."""
    rows, columns = m.nrows(), m.ncols()
    entries = [
        [abs(Fraction(int(m[i, j].p), int(m[i, j].q))) for j in range(columns)] for i in range(rows)
    ]
    return np.array([[float(x) for x in row] for row in entries]).reshape(rows, columns)


def eye(n: int) -> Any:
    return flint.fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


# --- matrices ------------------------------------------------------------------------------------


def _hilbert(n: int) -> list[list[Fraction]]:
    return [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]


def _vandermonde(n: int) -> list[list[Fraction]]:
    return [[Fraction(i + 1, n) ** j for j in range(n)] for i in range(n)]


def _frank(n: int) -> list[list[int]]:
    return [[n - max(i, j) if j >= i - 1 else 0 for j in range(n)] for i in range(n)]


def _wilkinson(n: int) -> list[list[int]]:
    """Growth 2^(n - 1) with partial pivoting."""
    return [[1 if i == j or j == n - 1 else -1 if j < i else 0 for j in range(n)] for i in range(n)]


def _moler(n: int) -> list[list[int]]:
    return [[i + 1 if i == j else min(i, j) - 1 for j in range(n)] for i in range(n)]


def _kahan(n: int) -> list[list[float]]:
    s, c = math.sin(1.2), math.cos(1.2)
    return [[s**i if i == j else -c * s**i if j > i else 0.0 for j in range(n)] for i in range(n)]


def _random(n: int) -> list[list[float]]:
    found: list[list[float]] = np.random.default_rng(7).standard_normal((n, n)).tolist()
    return found


def _graded(n: int) -> list[list[float]]:
    return [[x * 2.0 ** -(i + j) for j, x in enumerate(row)] for i, row in enumerate(_random(n))]


MATRICES: dict[str, Callable[[int], list[list[Any]]]] = {
    "random": _random,
    "graded": _graded,
    "hilbert": _hilbert,
    "vandermonde": _vandermonde,
    "frank": _frank,
    "kahan": _kahan,
    "wilkinson": _wilkinson,
    "moler": _moler,
}
FORMATS = ("float32", "dd", "td", "qd", "d+s")
"""One of each number of limbs, and limbs of two words."""
CONSTANT = 40
"""Of the backward errors' bounds n c u^N below: networks' own constants are up to 20."""


def _kept(case: dict[str, Any]) -> bool:
    return case["form"] == "dd" or case["kind"] == "random"


def made(kind: str, form: str, device: Device, n: int = N) -> mp.Array:
    if form == "float32" and kind in ("graded", "vandermonde"):
        n = 20  # within its range
    return mp.array(MATRICES[kind](n), form, device)


@slow("formats and matrices seldom fail together", unless=_kept)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("form", FORMATS)
def test_backward_errors(device: Device, form: str, kind: str) -> None:
    """LU elementwise, QR by columns, orthogonality; all in exact arithmetic."""
    a = made(kind, form, device)
    n, whole = a.shape[0], exact(a)
    unit = CONSTANT * n * a.format.unit_roundoff
    p, left, u = mp.linalg.lu(a)
    lower, upper = exact(left), exact(u)
    error = sizes(exact(p) * lower * upper - whole)
    bound = sizes(exact(p)) @ sizes(lower) @ sizes(upper)
    assert (error <= unit * bound).all()
    assert sizes(lower).max() <= 1 + unit
    q, r = mp.linalg.qr(a)
    orthogonal = exact(q)
    assert sizes(orthogonal.transpose() * orthogonal - eye(n)).max() <= unit
    error = sizes(orthogonal * exact(r) - whole)
    assert (np.linalg.norm(error, axis=0) <= unit * np.linalg.norm(sizes(whole), axis=0)).all()
    assert (np.tril(r.to_float64(), -1) == 0).all() and (np.tril(u.to_float64(), -1) == 0).all()


@slow("formats seldom fail apart", unless=lambda p: p["form"] == "dd")
@pytest.mark.parametrize("form", FORMATS)
def test_cholesky(device: Device, form: str) -> None:
    """Elementwise, by exact arithmetic; only the triangle asked for is read."""
    for a in (made("moler", form, device), made("hilbert", form, device, 5)):
        n, whole = a.shape[0], exact(a)
        factor = mp.linalg.cholesky(a)
        lower = exact(factor)
        error = sizes(lower * lower.transpose() - whole)
        bound = sizes(lower) @ sizes(lower).T
        assert (error <= CONSTANT * n * a.format.unit_roundoff * bound).all()
        spoiled = a.copy()
        spoiled[0, 1:] = math.nan
        assert (mp.linalg.cholesky(spoiled) == factor).all()
        assert (mp.linalg.cholesky(spoiled.T, upper=True) == factor.T).all()
        b = a[:, :2]
        x = mp.linalg.cholesky_solve(factor, b)
        assert (x == mp.linalg.cholesky_solve(factor.T, b, upper=True)).all()
        assert float(abs(a @ x - b).max()) <= 1e5 * n * a.format.unit_roundoff * n


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 64, 65])
def test_sizes_about_blocks(device: Device, n: int) -> None:
    """solve, inv and all of triangular systems, by their residuals."""
    rng = np.random.default_rng(n)
    a = mp.array(rng.standard_normal((n, n)) + 3 * np.eye(n), "dd", device)
    b = mp.array(rng.standard_normal((n, 3)), "dd", device)
    unit = 1e4 * n * a.format.unit_roundoff
    x = mp.linalg.solve(a, b)
    assert float(abs(a @ x - b).max()) < unit
    assert (mp.linalg.solve(a, b[:, 1]) == x[:, 1]).all()
    y = mp.linalg.lu_solve(mp.linalg.lu_factor(a), b, trans=1)
    assert float(abs(a.T @ y - b).max()) < unit
    assert float(abs(mp.linalg.inv(a) @ a - mp.array(np.eye(n), "dd", device)).max()) < unit
    large = a + mp.array(2 * n * np.eye(n), "dd", device)
    host = np.linalg.inv
    for lower in (True, False):
        for trans in (True, False):
            for ones in (True, False):
                t = np.tril(large.to_float64()) if lower else np.triu(large.to_float64())
                if ones:
                    t = t / (2 * n)
                    np.fill_diagonal(t, 1)
                given = mp.array(t, "dd", device)
                spoiled = given.copy()
                if ones:
                    spoiled[range(n)[0], 0] = 5.0
                options: dict[str, Any] = {"lower": lower, "trans": trans, "unit_diagonal": ones}
                op = given.T if trans else given
                x = mp.linalg.solve_triangular(spoiled, b, **options)
                assert float(abs(op @ x - b).max()) < unit
                z = mp.linalg.solve_triangular(spoiled, b.T, left=False, **options)
                assert float(abs(z @ op - b.T).max()) < unit
                assert np.allclose(x.to_float64(), host(op.to_float64()) @ b.to_float64())
                product = mp.linalg.trmm(spoiled, b, **options)
                assert float(abs(product - op @ b).max()) < unit
                product = mp.linalg.trmm(spoiled, b.T, left=False, **options)
                assert float(abs(product - b.T @ op).max()) < unit


def test_rectangles(device: Device) -> None:
    """Wide and tall ones, of nothing and of one row."""
    for m, n in ((0, 0), (0, 3), (3, 0), (1, 5), (5, 1), (9, 70), (70, 9), (300, 34)):
        a = mp.array(np.random.default_rng(m).standard_normal((m, n)), "dd", device)
        k = min(m, n)
        p, left, u = mp.linalg.lu(a)
        assert (left.shape, u.shape) == ((m, k), (k, n))
        order = mp.linalg.lu(a, p_indices=True).p.to_numpy()
        for mode in ("reduced", "complete"):
            q, r = mp.linalg.qr(a, mode)
            assert (q.shape[1], r.shape[0]) == ((m, m) if mode == "complete" else (k, k))
            if a.size:
                assert float(abs(q @ r - a).max()) < 1e-28
                assert (
                    float(abs(q.T @ q - mp.array(np.eye(q.shape[1]), "dd", device)).max()) < 1e-29
                )
        assert (mp.linalg.qr(a, "r") == mp.linalg.qr(a).R).all()
        if a.size:
            assert float(abs(p @ left @ u - a).max()) < 1e-29
            rows = mp.from_limbs([w[order] for w in left.to_limbs()], "dd", device)
            assert float(abs(rows @ u - a).max()) < 1e-29


@pytest.mark.parametrize("name", ["ts", "dd"])
def test_stacks_of_many_scales(device: Device, name: str) -> None:
    """What scaling does to one matrix does not reach the signs of another's zeros."""
    far = 2.0**60 if name == "ts" else 2.0**490
    given = np.random.default_rng(8).standard_normal((5, 6, 6))
    given[1] *= far
    given[2] = 0.0
    given[3] = -0.0
    given[4, 2] = given[4, :, 3] = -0.0
    a = mp.array(given, name, device)
    linalg = mp.linalg

    def parts(x: mp.Array) -> list[mp.Array]:
        return [*linalg.qr(x), *linalg.eigh(x), *linalg.ldl(x)[:2]]

    for whole, *alone in zip(parts(a), *map(parts, a), strict=True):
        for each, one in zip(whole, alone, strict=True):
            assert bits(each.to_limbs()) == bits(one.to_limbs())


def test_nothing(device: Device) -> None:
    """Stacks of no matrices, matrices without rows or columns."""
    x, none = mp.zeros((0, 3, 3), "dd", device), mp.zeros((0, 0), "dd", device)
    linalg = mp.linalg
    shapes = [linalg.inv(x), linalg.cholesky(x), linalg.qr(x).Q, linalg.lu(x).l, linalg.solve(x, x)]
    assert [one.shape for one in shapes] == [(0, 3, 3)] * 5
    assert linalg.det(x).shape == linalg.slogdet(x).sign.shape == (0,)
    assert linalg.solve(none, mp.zeros(0, "dd", device)).shape == (0,)
    assert linalg.solve(none, mp.zeros((0, 2), "dd", device), refine=True).x.shape == (0, 2)
    assert linalg.cholesky(none).shape == linalg.inv(none).shape == (0, 0)
    assert linalg.lu_solve(linalg.lu_factor(none), none[0:0, :0]).shape == (0, 0)
    for m, n in ((3, 0), (0, 3)):
        found = linalg.lstsq(mp.zeros((m, n), "dd", device), mp.zeros(m, "dd", device))
        assert (found.x.shape, found.rank) == ((n,), 0)
        assert linalg.pinv(mp.zeros((m, n), "dd", device)).shape == (n, m)
        assert linalg.syrk(mp.zeros((m, n), "dd", device)).shape == (m, m)
        assert linalg.trmm(none, mp.zeros((0, n), "dd", device)).shape == (0, n)


@pytest.mark.parametrize("method", ["direct", "ozaki2"])
def test_syrk_of_nothing(device: Device, method: Any) -> None:
    """As gemm: alpha = 0 does not read a, beta = 0 does not read c, on every device."""
    for where in (device, discovery.get("host")):
        a = mp.array(np.full((2, 40, 3), math.nan), "dd", where)
        c = mp.array(np.random.default_rng(5).standard_normal((2, 40, 40)), "dd", where)
        kept = mp.linalg.syrk(a, alpha=0, beta=1, c=c, method=method)
        assert bits(kept.to_limbs()) == bits(mp.triu(c).to_limbs())
        assert (mp.linalg.syrk(a, alpha=0, method=method) == 0).all()
        lower = mp.linalg.syrk(c, trans=True, lower=True, beta=0, c=c * math.nan, method=method)
        assert bits(lower.to_limbs()) == bits(mp.tril(c.mT @ c).to_limbs())


def test_stacks(device: Device) -> None:
    """A stack's matrices have the bits that they have alone; views and broadcasting."""
    rng = np.random.default_rng(3)
    a = mp.array(rng.standard_normal((2, 3, 40, 40)) + 5 * np.eye(40), "dd", device)
    b = mp.array(rng.standard_normal((3, 40, 2)), "dd", device)
    lu, piv = mp.linalg.lu_factor(a)
    x, q, d = mp.linalg.solve(a, b), mp.linalg.qr(a).Q, mp.linalg.det(a)
    s = a @ a.transpose(0, 1, 3, 2)
    factor = mp.linalg.cholesky(s)
    for i, j in np.ndindex(2, 3):
        one = mp.linalg.lu_factor(a[i, j])
        assert (one.lu == lu[i, j]).all() and (one.piv == piv[i, j].to_numpy()).all()
        assert (mp.linalg.solve(a[i, j], b[j]) == x[i, j]).all()
        assert (q[i, j] == mp.linalg.qr(a[i, j]).Q).all()
        assert bool(mp.linalg.det(a[i, j]) == d[i, j])
        assert (mp.linalg.cholesky(s[i, j]) == factor[i, j]).all()
    turned = a[0, 0, ::-1, ::2][:20].T
    assert (mp.linalg.inv(turned) == mp.linalg.inv(turned.copy())).all()


@pytest.mark.parametrize("count", [1, lu_reference.FEW, lu_reference.FEW + 1])
@pytest.mark.parametrize(("rows", "swaps"), [(9, 9), (9, 4), (3, 0)])
def test_orders_of_rows(count: int, rows: int, swaps: int) -> None:
    """Of few matrices and of many: swaps one after the other."""
    rng = np.random.default_rng(count)
    pivots = rng.integers(np.arange(swaps), rows, (count, swaps)).astype(np.int32)
    found = lu_reference.swapped(pivots, rows)
    for order, mine in zip(found, pivots, strict=True):
        expected = list(range(rows))
        for i, row in enumerate(mine):
            expected[i], expected[row] = expected[row], expected[i]
        assert order.tolist() == expected


def test_pivots_and_ties(device: Device) -> None:
    """The largest leading limb, the first of equals; NaN never before a number; zeros stay."""
    a = mp.array([[1, 0, 0], [-2, 1, 0], [2, 0, 1]], "dd", device)
    assert mp.linalg.lu_factor(a).piv.to_numpy().tolist() == [1, 2, 2]
    a[0, 0] = math.nan
    found = mp.linalg.lu_factor(a)
    assert found.piv.to_numpy().tolist()[0] == 1
    zero = mp.array([[0, 1], [0, 2]], "dd", device)
    lu, piv = mp.linalg.lu_factor(zero)
    assert lu.to_float64().tolist() == [[0, 1], [0, 2]] and piv.to_numpy().tolist() == [0, 1]
    with pytest.raises(ArgumentError, match="singular: the pivot of column 0 is zero or NaN"):
        mp.linalg.solve(zero, zero)
    rank = mp.array(
        np.outer(np.arange(1, 41), np.ones(40)) + np.diag([1.0] * 35 + [0] * 5), "dd", device
    )
    with pytest.raises(ArgumentError, match=r"the pivot of column 3[67] is zero"):
        mp.linalg.solve(rank, rank)


@slow(TWICE, unless=on_two_devices(2))
@pytest.mark.with_host
def test_pivots_that_may_be_rounding_errors(every_device: Device) -> None:
    """2^-100 is left of 1 in dd: less than 32 * 2^(-106 * 15 / 16), which 2^-94 is not."""
    weak = mp.array([[1, 1], [1, 1 + Fraction(1, 2**100)]], "dd", every_device)
    told = r"^{}: a: the matrix is numerically singular{}: a pivot is 7\.9e-31 of .* td has, if a"
    scale = mp.array([2.0**-70, 2.0**50], "dd", every_device)
    right = mp.array([1, 2], "dd", every_device)
    for a in (weak, weak * scale, (weak * scale).T, weak * scale * (1 / scale)[:, None]):
        with pytest.warns(mp.linalg.LinAlgWarning, match=told.format("solve", "")) as found:
            x = mp.linalg.solve(a, right)
        assert found[0].filename == __file__
        with pytest.warns(mp.linalg.LinAlgWarning, match=told.format("solve", "")):
            over = mp.linalg.solve(a.copy(), right, overwrite_a=True)
        assert x.tolist() == over.tolist()
    near = mp.array([[1, 1], [1, 1 + Fraction(1, 2**94)]], "dd", every_device)
    with pytest.warns(mp.linalg.LinAlgWarning, match=told.format("inv", " in entry 1 of .* stack")):
        mp.linalg.inv(mp.stack([near, weak]))
    zero = mp.ones((3, 3), dtype="dd", device=every_device)
    zero[:2, :2] = weak
    with pytest.raises(ArgumentError, match=r"in entry 1 of the stack: the pivot of column 2"):
        mp.linalg.inv(mp.stack([zero * 0 + mp.eye(3, dtype="dd", device=every_device), zero]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in (near, near * scale, near.T * scale[:, None], weak[1:, 1:] * scale[0]):
            mp.linalg.inv(a)
        assert float(mp.linalg.cond(weak, "fro")) == 2.0**102


@pytest.mark.parametrize("n", [5, 33, 70])
@pytest.mark.parametrize("form", ["float32", "float64", "qs", "dd", "d+s"])
def test_products_of_low_rank_are_told(form: str, n: int, device: Device) -> None:
    """By factors of all kernels; and of the same numbers those that are regular are not."""
    limbs = inputs.ordinary(formats.get(form), (2, n, n), f"weak {n}")
    a, b = mp.from_limbs(limbs, form, device)
    with pytest.warns(mp.linalg.LinAlgWarning, match="numerically singular"):
        mp.linalg.inv(a[:, 1:] @ b[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mp.linalg.inv(a)
    stack = mp.array(np.stack([np.eye(2), np.zeros((2, 2))]), "dd", device)
    with pytest.raises(ArgumentError, match="in entry 1 of the stack"):
        mp.linalg.inv(stack)
    assert mp.linalg.det(stack).to_float64().tolist() == [1, 0]
    indefinite = mp.array(np.diag([1.0] * 34 + [-1.0, 2]), "dd", device)
    with pytest.raises(ArgumentError, match="not positive definite: its leading minor of order 35"):
        mp.linalg.cholesky(indefinite)


def test_determinants(device: Device) -> None:
    """Of integers, against the exact ones; far beyond the range by their logarithms."""
    rng = np.random.default_rng(5)
    for n in (1, 2, 5, 40):
        given = rng.integers(-9, 10, (n, n))
        want = int(flint.fmpz_mat(given.tolist()).det())
        a = mp.array(given, "qd", device)
        assert abs(Fraction(mp.linalg.det(a).to_fractions()) / want - 1) < 1e-55
        sign, size = mp.linalg.slogdet(a)
        assert float(sign) == math.copysign(1, want)
        assert abs(float(size) - math.log(abs(want))) < 1e-12
    for power in (300, -300):
        large = mp.array(np.diag([-3.0] + [1.0] * 9) * 2.0**power, "dd", device)
        sign, size = mp.linalg.slogdet(large)
        assert float(sign) == -1
        assert abs(float(size) - (math.log(3) + 10 * power * math.log(2))) < 1e-11
        assert float(mp.linalg.det(large)) == (-math.inf if power > 0 else 0)
    sign, size = mp.linalg.slogdet(mp.zeros((2, 2), "dd", device))
    assert float(sign) == 0 and float(size) == -math.inf
    assert float(mp.linalg.det(mp.zeros((0, 0), "dd", device))) == 1
    a = mp.array(rng.standard_normal((4, 4)), "dd", device)
    cube = mp.linalg.matrix_power(a, 3)
    assert float(abs(cube - a @ (a @ a)).max()) < 1e-28
    assert (
        float(abs(mp.linalg.matrix_power(a, -2) @ a @ a - mp.linalg.matrix_power(a, 0)).max())
        < 1e-26
    )


# --- least squares -------------------------------------------------------------------------------

LONGLEY = """60323 83.0 234289 2356 1590 107608 1947
61122 88.5 259426 2325 1456 108632 1948
60171 88.2 258054 3682 1616 109773 1949
61187 89.5 284599 3351 1650 110929 1950
63221 96.2 328975 2099 3099 112075 1951
63639 98.1 346999 1932 3594 113270 1952
64989 99.0 365385 1870 3547 115094 1953
63761 100.0 363112 3578 3350 116219 1954
66019 101.2 397469 2904 3048 117388 1955
67857 104.6 419180 2822 2857 118734 1956
68169 108.4 442769 2936 2798 120445 1957
66513 110.8 444546 4681 2637 121950 1958
68655 112.6 482704 3813 2552 123366 1959
69564 114.2 502601 3931 2514 125368 1960
69331 115.7 518173 4806 2572 127852 1961
70551 116.9 554894 4007 2827 130081 1962"""
"""Employment, and six columns that explain it (Longley 1967)."""


def longley(form: str, device: Device) -> tuple[mp.Array, mp.Array]:
    rows = [line.split() for line in LONGLEY.splitlines()]
    a = mp.array([["1", *row[1:]] for row in rows], form, device)
    return a, mp.array([row[0] for row in rows], form, device)


def wampler(form: str, device: Device, which: int) -> tuple[mp.Array, mp.Array]:
    """Polynomials of degree 5 at 0, 1, ... 20 (Wampler 1970), some with errors added."""
    base = Fraction(1, 10) if which == 2 else Fraction(1)
    y = [sum(base**k * x**k for k in range(6)) for x in range(21)]
    if which >= 3:
        errors = [759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048]
        errors += errors[-2::-1]
        y = [v + 10 ** (2 * (which - 3)) * e for v, e in zip(y, errors, strict=True)]
    a = mp.array([[x**k for k in range(6)] for x in range(21)], form, device)
    return a, mp.array(y, form, device)


def least(a: mp.Array, b: mp.Array) -> Any:
    """The exact solution of the normal equations."""
    left, right = exact(a), exact(b[:, None] if b.ndim == 1 else b)
    return (left.transpose() * left).solve(left.transpose() * right)


@pytest.mark.parametrize("form", ["float64", "dd", "td"])
def test_nist_regressions(device: Device, form: str) -> None:
    """Longley and Wampler 1 to 5: digits right are the format's less those of the condition."""
    problems = [longley(form, device)] + [wampler(form, device, k) for k in range(1, 6)]
    for i, (a, b) in enumerate(problems):
        found = mp.linalg.lstsq(a, b)
        want = least(a, b)
        errors = [
            abs(x / Fraction(int(want[j, 0].p), int(want[j, 0].q)) - 1)
            for j, x in enumerate(found.x.to_fractions())
        ]
        # condition numbers 5e9 (Longley) and 7e6, squared where residuals are large
        allowed = (1e11, 1e9, 1e9, 1e11, 1e13, 1e15)[i]
        assert max(errors) < allowed * a.format.unit_roundoff
        assert found.rank == a.shape[1]
        if i and i != 2:
            assert all(int(want[j, 0].p) == int(want[j, 0].q) == 1 for j in range(6))
        rest = [Fraction(v) for v in (b - a @ found.x).to_fractions()]
        squares = float(sum(v * v for v in rest))
        assert float(found.residuals) == pytest.approx(squares, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("m", "n", "rank"), [(9, 4, 4), (4, 9, 4), (9, 5, 3), (5, 9, 3), (40, 34, 33)]
)
def test_least_squares(device: Device, m: int, n: int, rank: int) -> None:
    """The smallest x of all that minimise, of any rank, against exact pseudoinverses."""
    rng = np.random.default_rng(m * n)
    left, right = rng.integers(-3, 4, (m, rank)), rng.integers(-3, 4, (rank, n))
    sides = rng.integers(-9, 10, (m, 2))
    a, b = mp.array(left @ right, "dd", device), mp.array(sides, "dd", device)
    found = mp.linalg.lstsq(a, b)
    assert found.rank == rank
    f, g = (flint.fmpq_mat(flint.fmpz_mat(x.tolist())) for x in (left, right))
    ft, gt = f.transpose(), g.transpose()
    inverse = gt * (g * gt).inv() * (ft * f).inv() * ft
    want = inverse * flint.fmpq_mat(flint.fmpz_mat(sides.tolist()))
    assert sizes(exact(found.x) - want).max() < 1e-24
    assert sizes(exact(mp.linalg.pinv(a)) - inverse).max() < 1e-24
    assert (mp.linalg.lstsq(a, b[:, 0]).x == found.x[:, 0]).all()


def test_column_pivoting(device: Device) -> None:
    """Columns by what is left of them; the diagonal of R does not grow."""
    a = mp.array(np.random.default_rng(2).standard_normal((12, 9)), "dd", device)
    q, r, p = mp.linalg.qr(a, pivoting=True)
    order = p.to_numpy()
    chosen = mp.from_limbs([w[:, order] for w in a.to_limbs()], "dd", device)
    assert float(abs(q @ r - chosen).max()) < 1e-29
    size = abs(np.diag(r.to_float64()))
    assert (size[1:] <= size[:-1] * (1 + 1e-12)).all()
    assert sorted(order.tolist()) == list(range(9))


# --- norms ---------------------------------------------------------------------------------------


def test_norms_are_numpys(device: Device) -> None:
    """Of vectors, matrices and stacks, along any axes."""
    x = np.random.default_rng(4).standard_normal((3, 4, 5))
    x[0, 0, 0] = 0
    a = mp.array(x, "dd", device)
    cases: list[tuple[Any, Any]] = [(None, None), (None, 1), (2, -1), (1, 0), (math.inf, 2)]
    cases += [(-math.inf, 0), (0, 0), (None, (0, 2)), ("fro", (2, 0)), (1, (1, 2)), (-1, (2, 1))]
    cases += [(math.inf, (0, 1)), (-math.inf, (-1, 0))]
    for order, axis in cases:
        for keep in (False, True):
            found = mp.linalg.norm(a, order, axis, keep)
            want = np.linalg.norm(x, order, axis, keep)
            assert found.shape == np.shape(want)
            assert np.allclose(found.to_float64(), want, rtol=1e-14)
    far = mp.array([3e200, 4e200], "dd", device)
    for found in (mp.linalg.norm(far), mp.linalg.norm(far, axis=0)):
        assert float(found) == pytest.approx(5e200, rel=1e-15)


def test_condition(device: Device) -> None:
    """Of the Hilbert matrix, whose inverse is known; of singular ones."""
    n = 12
    a = mp.array(_hilbert(n), "qd", device)
    inverse = flint.fmpq_mat(
        n, n, [flint.fmpq(1, i + j + 1) for i in range(n) for j in range(n)]
    ).inv()
    want = float(sum(Fraction(1, i + 1) for i in range(n))) * sizes(inverse).sum(axis=0).max()
    for p in (1, math.inf):
        assert want / 3 <= mp.linalg.cond(a, p) <= want * (1 + 1e-12)
    assert mp.linalg.cond(x=mp.zeros((2, 2), "dd", device)) == math.inf
    assert math.isnan(mp.linalg.cond(mp.array([[math.nan, 0], [0, 1]], "dd", device)))


# --- refinement ----------------------------------------------------------------------------------


def conditioned(form: str, digits: int, device: Device) -> mp.Array:
    """A matrix whose singular values go down by so many decimal digits, rounded to a format."""
    rng = np.random.default_rng(digits)
    n = 20
    u, v = (mp.array(np.linalg.qr(rng.standard_normal((n, n)))[0], "qd", device) for _ in range(2))
    middle = mp.array(np.diag(10.0 ** -np.linspace(0, digits, n)), "qd", device)
    return (u @ middle @ v).astype(form)


@pytest.mark.parametrize(
    ("form", "digits", "took"),
    [
        ("dd", 3, "float64"),
        ("dd", 10, "float64"),
        ("dd", 22, "dd"),
        ("td", 10, "float64"),
        ("td", 22, "dd"),
        ("ts", 3, "float32"),
        ("ts", 10, "ds"),
        ("d+s", 8, "float64"),
        ("float64", 5, "float64"),
    ],
)
def test_refinement(device: Device, form: str, digits: int, took: str) -> None:
    """Which factors it takes, backward errors by exact arithmetic, and that the bound is one."""
    a = conditioned(form, digits, device)
    n = a.shape[0]
    b = mp.array(np.random.default_rng(1).standard_normal((n, 2)), form, device)
    x, info = mp.linalg.solve(a, b, refine=True)
    whole, sides, found = exact(a), exact(b), exact(x)
    assert info.format == took
    assert (info.corrections > 0) == (took != form)
    rest = sizes(whole * found - sides).max(axis=0)
    scale = sizes(whole).sum(axis=1).max() * sizes(found).max(axis=0) + sizes(sides).max(axis=0)
    # the residual's own rounding comes on top of what it shows
    assert (rest <= (info.backward + 10 * n * a.format.unit_roundoff) * scale).all()
    assert info.backward <= n * a.format.unit_roundoff
    want = whole.solve(sides)
    error = (sizes(found - want).max(axis=0) / sizes(want).max(axis=0)).max()
    assert error <= info.bound
    inverse = sizes(whole.inv()).sum(axis=1).max()
    true = sizes(whole).sum(axis=1).max() * inverse
    assert true / 3 <= info.condition <= true * 1.01
    one = mp.linalg.solve(a, b[:, 0], refine=True)
    assert one.x.shape == (n,)


def test_refinement_scales_and_refuses(device: Device) -> None:
    """Residuals far below float32's range; singular matrices, infinities, stacks."""
    a = conditioned("ts", 3, device)
    b = mp.array(np.linspace(1, 2, 20), "ts", device)
    x = mp.linalg.solve(a, b, refine=True).x
    small = mp.linalg.solve(a, b * 2.0**-60, refine=True).x
    assert (small == x * 2.0**-60).all()
    zero = mp.linalg.solve(a, b * 0, refine=True)
    assert (zero.x == 0).all() and zero.info.backward == 0
    with pytest.raises(ArgumentError, match="singular: the pivot of column 1"):
        mp.linalg.solve(mp.array([[1, 1], [1, 1]], "dd", device), mp.array([1, 1]), refine=True)
    with pytest.raises(ArgumentError, match="infinities or NaN"):
        mp.linalg.solve(a, b * math.inf, refine=True)
    with pytest.raises(ShapeError, match="refine takes one matrix"):
        mp.linalg.solve(a[None], b, refine=True)


# --- bits ----------------------------------------------------------------------------------------


def bits(host: Host) -> list[bytes]:
    return [np.ascontiguousarray(p).tobytes() for p in host]


LONG: dict[str, tuple[tuple[int, int], Callable[[mp.Array], mp.Array], Callable[..., Host]]] = {
    "lu": ((290, 40), lambda a: mp.linalg.lu_factor(a).lu, lu_reference.packed),
    "qr": ((530, 3), lambda a: mp.linalg.qr(a).Q, qr_reference.orthogonal),
    "qr of halves": ((70, 67), lambda a: mp.linalg.qr(a).R, qr_reference.upper),
    "cholesky": ((70, 70), mp.linalg.cholesky, cholesky_reference.lower),
}


@slow(TWICE, unless=on_two_devices(0))
@slow("devices have shown the same bits in verify", unless=lambda p: p["name"] != "qr of halves")
@pytest.mark.parametrize("name", LONG)
def test_bits_of_several_blocks(every_device: Device, name: str) -> None:
    """Rows in several blocks of threads, columns in several halves: the reference's bits."""
    shape, call, reference = LONG[name]
    form = formats.get("dd")
    host = dominant(form, 70, name) if name == "cholesky" else inputs.ordinary(form, shape, name)
    a = mp.from_limbs(host, form, every_device)
    assert bits(call(a).to_limbs()) == bits(reference(form, host))


@pytest.mark.parametrize("layout", triangular.LAYOUTS)
def test_bits_of_systems_by_layout(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few and of many right-hand sides: the reference's bits, without races."""
    device = tiers.interpreted("emulated:gfx1100")
    monkeypatch.setattr(triangular, "layout_for", lambda *_: layout)
    form = formats.get("dd")
    a, b = dominant(form, 70, "layouts"), inputs.ordinary(form, (70, 37), layout)
    for columns, lower, unit in (
        (37, True, False),
        (37, False, True),
        (3, True, True),
        (3, False, False),
    ):
        sides = [p[:, :columns].copy() for p in b]
        turned = [np.ascontiguousarray(p.T) for p in sides]
        wanted = triangular_reference.solve(form, a, sides, lower=lower, unit=unit)
        for x in (mp.from_limbs(sides, form, device), mp.from_limbs(turned, form, device).T):
            found = mp.linalg.solve_triangular(
                mp.from_limbs(a, form, device), x, lower=lower, unit_diagonal=unit
            )
            assert bits(found.to_limbs()) == bits(wanted)


@slow("waves of 64 lanes do the same", unless=lambda p: p["on"] == "emulated:gfx1100")
@pytest.mark.parametrize("on", tiers.INTERPRETED)
@pytest.mark.parametrize("lanes", triangular.LANES)
def test_bits_of_systems_by_lanes(on: str, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads share a right-hand side of few unknowns: the reference's bits."""
    device = tiers.interpreted(on)
    monkeypatch.setattr(triangular, "lanes_for", lambda _: lanes)
    form = formats.get("dd")
    for n, columns in ((32, 70), (31, 3), (5, 1)):
        a, b = dominant(form, n, "lanes"), inputs.ordinary(form, (n, columns), "lanes")
        for lower, unit in ((True, False), (False, True)):
            wanted = triangular_reference.solve(form, a, b, lower=lower, unit=unit)
            found = mp.linalg.solve_triangular(
                mp.from_limbs(a, form, device),
                mp.from_limbs(b, form, device),
                lower=lower,
                unit_diagonal=unit,
            )
            assert bits(found.to_limbs()) == bits(wanted)


def test_systems_of_many_sides_in_long_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of unknowns and GEMM's products instead of one launch: the reference's bits."""
    device = tiers.interpreted("emulated:gfx1100")
    form = formats.get("ts")
    assert triangular.layouts("ts") == ("narrow",)
    a, b = dominant(form, 40, "sides"), inputs.ordinary(form, (40, 5), "sides")
    wanted = triangular_reference.solve(form, a, b, lower=True, unit=False)
    for alone in (1, triangular.ALONE):
        monkeypatch.setattr(triangular, "ALONE", alone)
        factor, sides = (mp.from_limbs(v, form, device) for v in (a, b))
        found = mp.linalg.solve_triangular(factor, sides, lower=True)
        assert bits(found.to_limbs()) == bits(wanted)


def test_bits_of_products_by_integers(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """``method`` multiplies where products are large, on devices and in the reference."""
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(definition, "MANY", (16**3,) * 4)
    form = formats.get("dd")
    host = dominant(form, 70, "integers")
    a = mp.from_limbs(host, form, device)
    ways = ("ozaki2", Ozaki2()), *((way, way) for way in (Ozaki2(moduli=20), Ozaki2(bits=60)))
    ways = *ways, (Auto(smallest=16), Auto(smallest=16))
    direct = bits(lu_reference.packed(form, host))
    for method, options in ways:
        found = mp.linalg.lu_factor(a, method=method)
        assert bits(found.lu.to_limbs()) == bits(lu_reference.packed(form, host, options))
        assert bits(found.lu.to_limbs()) != direct
    with pytest.raises(ArgumentError, match="did you mean 'ozaki2'"):
        mp.linalg.solve(a, a, method="ozaki3")


@pytest.mark.parametrize(
    ("method", "kind", "cuts"),
    [
        (Ozaki2(), "cpu", 2),
        (Ozaki2(), "gpu", 1),
        (Ozaki1(), "", 2),
        (Ozaki2(workspace=400_000), "", 0),
    ],
)
def test_squares_by_integers_cut_their_rows_once(
    device: Device, monkeypatch: pytest.MonkeyPatch, method: Ozaki1 | Ozaki2, kind: str, cuts: int
) -> None:
    """For all blocks, as first factors and as second ones where these are not alike; each block
    anew with little memory."""
    of_kind = residues.of_kind
    if kind:
        monkeypatch.setattr(residues, "of_kind", lambda found, _, k: of_kind(found, kind, k))
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(definition, "MANY", (16**3,) * 4)
    monkeypatch.setattr(steps, "WHOLE_BY_INTEGERS", {"cpu": 32, "gpu": 32})
    cut: list[int] = []
    operand_cut = ozaki.Operand.cut

    def counted(self: ozaki.Operand, *rest: Any) -> Any:
        cut.append(self.view.shape[0])
        return operand_cut(self, *rest)

    monkeypatch.setattr(ozaki.Operand, "cut", counted)
    form = formats.get("dd")
    host = [*inputs.wide(form, (150, 40), "squares")]
    host[0][70, 3] = np.inf
    a = mp.from_limbs(host, form, device)
    zero, one = (base.scalar_limbs(form, n, "alpha") for n in (0, 1))
    zeros = [np.zeros((150, 150)) for _ in host]
    for lower in (True, False):
        cut.clear()
        found = mp.linalg.syrk(a, lower=lower, method=method)
        whole = triangular_reference.square(
            form, host, zeros, one, zero, lower=lower, method=method
        )
        wanted = triangular_reference.triangle(whole, lower=lower, unit=False)
        assert bits(found.to_limbs()) == bits(wanted)
        assert len(cut) == cuts if cuts else len(cut) > 4
    host = dominant(form, 150, "integers")
    found = mp.linalg.cholesky(
        mp.from_limbs([np.stack([p, p]) for p in host], form, device), method=method
    )
    wanted = cholesky_reference.lower(form, host, method)
    for one in found:
        assert bits(one.to_limbs()) == bits(wanted)
    place = mp.zeros((150, 448), form, device)[:, ::3]  # strides do not tell blocks apart
    place[...] = mp.from_limbs(host, form, device)
    mp.linalg.cholesky(place, overwrite_a=True, method=method)
    assert bits(place.to_limbs()) == bits(wanted)


@pytest.mark.parametrize("on", ["device", "host"])
def test_in_place(device: Device, on: str) -> None:
    """Results in the operands' memory, views of larger arrays and stacks too: the same bits."""
    where = device if on == "device" else discovery.get("host")
    form, linalg = formats.get("dd"), mp.linalg

    def given(host: Host, inside: bool) -> mp.Array:
        a = mp.from_limbs(host, form, where)
        if not inside:
            return a.copy()
        frame = mp.zeros((*a.shape[:-2], a.shape[-2] + 3, a.shape[-1] + 5), form, where)
        part = frame[..., 1:-2, 2:-3]
        part[...] = a
        return part

    def same(mine: mp.Array, other: mp.Array) -> bool:
        return bits(mine.to_limbs()) == bits(other.to_limbs())

    square = dominant(form, N, "in place")
    stack = [np.stack([p, p.T, p]) for p in square]
    sides = inputs.ordinary(form, (N, 3), "sides")
    many = [np.stack([p] * 3) for p in sides]
    for inside in (False, True):
        for host, right in ((square, sides), (stack, many)):
            a, b = given(host, inside), given(right, inside)
            usual, x = linalg.lu_factor(a), linalg.solve(a, b)
            positive = linalg.cholesky(a, upper=True)
            both = linalg.solve(a, b, assume_a="pos")
            y = linalg.solve_triangular(a, b, lower=True)
            z = linalg.lu_solve(usual, b, trans=1)
            t, u, v, w = (given(right, inside) for _ in range(4))
            assert same(linalg.solve_triangular(a, t, lower=True, overwrite_b=True), y)
            assert same(linalg.lu_solve(usual, u, 1, overwrite_b=True), z)
            assert same(linalg.cholesky_solve(positive, v, upper=True, overwrite_b=True), both)
            assert same(t, y) and same(u, z) and same(v, both)
            c, d, e, f = (given(host, inside) for _ in range(4))
            assert linalg.lu_factor(c, overwrite_a=True).lu is c and same(c, usual.lu)
            linalg.cholesky(d, upper=True, overwrite_a=True)
            assert same(d, positive)
            assert same(linalg.solve(e, w, overwrite_a=True, overwrite_b=True), x)
            assert same(w, x) and same(e, usual.lu)
            w[...] = mp.from_limbs(right, form, where)
            linalg.solve(f, w, assume_a="pos", overwrite_a=True, overwrite_b=True)
            assert same(w, both)
            if inside:
                assert same(b, mp.from_limbs(right, form, where))
    a, b = given(square, False), given(sides, False)
    wide = linalg.solve_triangular(a, b.T, left=False)
    turned = b.T
    linalg.solve_triangular(a, turned, left=False, overwrite_b=True)
    assert same(b.T, wide)
    vector = mp.from_limbs([p[:, 0] for p in sides], form, where)
    x = linalg.solve(a, vector)
    linalg.solve(a, vector, overwrite_b=True)
    assert same(vector, x)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Squares of 32 rows, and products by integers of such."""
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(definition, "MANY", (16**3,) * 4)
    monkeypatch.setattr(steps, "WHOLE", 32)
    monkeypatch.setattr(steps, "WHOLE_BY_INTEGERS", {"cpu": 32, "gpu": 32})


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "part": lambda x: x[..., 2:-1, 1:-4],
    "steps": lambda x: x[..., ::3, ::2],
    "turned": lambda x: x[..., 1::2, ::2].mT,
    "backwards": lambda x: x[..., ::-1, 3:],
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("on", ["device", "host"])
@pytest.mark.parametrize("method", ["direct", "ozaki2"])
@pytest.mark.parametrize("view", VIEWS)
def test_syrk_in_place(device: Device, on: str, method: Any, view: str) -> None:
    """One triangle of c is right to the last bit, all else of its memory as it was."""
    where = device if on == "device" else discovery.get("host")
    rng = np.random.default_rng(12)
    for batch, rows, columns in (((), 211, 206), ((3,), 47, 45), ((2, 2), 8, 8)):
        if len(batch) > 1 and view != "whole":
            continue
        shape = (*batch, rows, columns)
        frame = [1e6 + rng.integers(99, size=shape), (1 + rng.integers(99, size=shape)) * 2.0**-60]
        # no matrix of the frame's: the largest square that the view shows
        n = min(VIEWS[view](frame[0]).shape[-2:])

        def shown(x: Any, n: int = n) -> Any:
            return VIEWS[view](x)[..., :n, :n]

        a = rng.integers(-99, 99, (*batch, n, 20)).astype(float)
        square = a @ np.swapaxes(a, -1, -2)
        for lower in (False, True):
            inside = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
            held = [plane.copy() for plane in frame]
            strange = np.resize([math.nan, -math.inf, -0.0, 5e-324], (n, n))
            for plane in held:
                mine = shown(plane)
                mine[...] = np.where(inside, mine, strange)
            for alpha, beta in ((3, -2), (1, 0), (0, 1), (0, 0)):
                place = mp.from_parts(held, "dd", where)
                wanted = [plane.copy() for plane in held]
                products = alpha * square, np.zeros_like(square)
                for plane, product in zip(wanted, products, strict=True):
                    mine = shown(plane)
                    mine[...] = np.where(inside, product + (beta * mine if beta else 0), mine)
                c = shown(place)
                if beta == 0:
                    c[np.broadcast_to(inside, c.shape)] = math.nan
                found = mp.linalg.syrk(
                    mp.array(a, "dd", where),
                    alpha=alpha,
                    beta=beta,
                    c=c,
                    lower=lower,
                    overwrite_c=True,
                    method=method,
                )
                assert found is c
                assert [p.tobytes() for p in place.to_limbs()] == [p.tobytes() for p in wanted]


@pytest.mark.usefixtures("small_blocks")
def test_syrk_into_a_stack(device: Device) -> None:
    """A matrix for all of c's; what is converted is left alone."""
    form = formats.get("td")
    a = mp.from_limbs(inputs.ordinary(form, (40, 70), "a"), form, device)
    c = mp.from_limbs(inputs.ordinary(form, (2, 70, 70), "c"), form, device)
    wanted = mp.linalg.syrk(a, alpha="1.1", beta="0.3", c=c, trans=True)
    place = c.copy()
    mp.linalg.syrk(a, alpha="1.1", beta="0.3", c=place, trans=True, overwrite_c=True)
    assert bits(mp.triu(place).to_limbs()) == bits(wanted.to_limbs())
    assert bits(mp.tril(place, -1).to_limbs()) == bits(mp.tril(c, -1).to_limbs())
    for one, mine in zip(c, wanted, strict=True):
        alone = mp.linalg.syrk(a, alpha="1.1", beta="0.3", c=one, trans=True)
        assert bits(alone.to_limbs()) == bits(mine.to_limbs())
    short = mp.array(np.eye(40), "float32", device)
    found = mp.linalg.syrk(a.astype("float64"), c=short, beta=1, overwrite_c=True)
    assert found.format.name == "float64"
    assert (short == mp.eye(40, dtype="float32", device=device)).all()
    # With beta = 0 c counts only where it is overwritten, as in gemm.
    for other in (mp.zeros((2, 40, 40), "qd", device), mp.zeros((3, 3), "dd", device)):
        plain = mp.linalg.syrk(a, c=other)
        assert plain.format is form and plain.shape == (40, 40)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("on", ["device", "host"])
@pytest.mark.parametrize("method", ["direct", "ozaki2"])
def test_triangular_products_in_place(
    device: Device, monkeypatch: pytest.MonkeyPatch, on: str, method: Any
) -> None:
    """Right where nothing is rounded, else the bits of those in new memory."""
    # the host's products are slow, a device's are of several tiles
    n, block = (150, 100) if on == "device" else (60, 40)
    monkeypatch.setattr(definition, "TRIANGLE", block)
    whole, numbers = np.random.default_rng(13).integers(-99, 99, (2, n, n)).astype(float)
    where, form = device if on == "device" else discovery.get("host"), formats.get("dd")
    a = mp.from_limbs(inputs.ordinary(form, (2, n, n), "a"), form, where)
    b = mp.from_limbs(inputs.ordinary(form, (2, n, n), "b"), form, where)
    for options in (
        {"lower": lower, "trans": trans, "left": left, "unit_diagonal": lower == trans}
        for lower in (True, False)
        for trans in (True, False)
        for left in (True, False)
    ):
        wanted = mp.linalg.trmm(a, b, method=method, **options)
        place = mp.zeros((2, 2 * n + 1, 2 * n), form, where)
        mine = place[..., ::2, ::2][:, :n].mT
        mine[...] = b
        found = mp.linalg.trmm(a, mine, overwrite_b=True, method=method, **options)
        assert bits(found.to_limbs()) == bits(mine.to_limbs()) == bits(wanted.to_limbs())
        triangle = np.tril(whole) if options["lower"] else np.triu(whole)
        if options["unit_diagonal"]:
            np.fill_diagonal(triangle, 1)
        factor, mine = triangle.T if options["trans"] else triangle, mp.array(numbers, form, where)
        mp.linalg.trmm(mp.array(whole, form, where), mine, overwrite_b=True, **options)
        wanted_here = factor @ numbers if options["left"] else numbers @ factor
        assert (mine == mp.array(wanted_here, form, where)).all()
    vector, before = b[0, :, 1].copy(), b[0, :, 1]
    mp.linalg.trmm(a[0], vector, overwrite_b=True)
    assert bits(vector.to_limbs()) == bits(mp.linalg.trmm(a[0], before).to_limbs())


def test_in_place_refuses(device: Device) -> None:
    """What cannot hold a result, or is needed to the end."""
    a = mp.array(np.eye(4) * 2, "dd", device)
    b, linalg = mp.zeros((4, 4), "dd", device), mp.linalg
    once = mp.array([[1.0], [2], [3], [4]], "dd", device)
    repeated = mp.broadcast_to(once, (4, 4))
    for message, call in (
        ("no element twice", lambda: linalg.lu_factor(repeated, overwrite_a=True)),
        ("no element twice", lambda: linalg.solve(a, repeated, overwrite_b=True)),
        ("result's shape", lambda: linalg.solve(mp.stack([a, a]), b, overwrite_b=True)),
        ("a and b overlap", lambda: linalg.solve(a, a, overwrite_a=True)),
        ("a and b overlap", lambda: linalg.solve_triangular(a, a, overwrite_b=True)),
        ("a and b overlap", lambda: linalg.trmm(a, a, overwrite_b=True)),
        ("no element twice", lambda: linalg.trmm(a, repeated, overwrite_b=True)),
        ("no element twice", lambda: linalg.syrk(a, c=repeated, overwrite_c=True)),
        ("result's shape", lambda: linalg.syrk(mp.stack([a, a]), c=b, overwrite_c=True)),
        ("a and c overlap", lambda: linalg.syrk(a, c=a, overwrite_c=True)),
        ("a and c overlap", lambda: linalg.syrk(b[:, :2], c=b.T, overwrite_c=True)),
        ("c is missing", lambda: linalg.syrk(a, overwrite_c=True)),
        ("do not take", lambda: linalg.solve(a, b, refine=True, overwrite_b=True)),
        ("do not take", lambda: linalg.solve(a, b, assume_a="sym", overwrite_a=True)),
    ):
        with pytest.raises(ArgumentError, match=message):
            call()


@NUMPY_2
def test_vecdot_along_an_axis_from_the_front(device: Device) -> None:
    """As in NumPy, where it is counted in each operand."""
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(3, 4)
    for x, y, axis in ((a, a, 0), (a, a, 1), (b, b, 0), (a, b[:2], 0)):
        found = mp.linalg.vecdot(mp.array(x, "dd", device), mp.array(y, "dd", device), axis=axis)
        assert (found.to_float64() == np.linalg.vecdot(x, y, axis=axis)).all()


def test_wrong_arguments(device: Device) -> None:
    """Each named, with what is allowed."""
    a = mp.array(np.eye(3), "dd", device)
    short = mp.array(np.eye(3), "float16", device)
    wide = mp.array(np.ones((2, 3)), "dd", device)
    calls: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (ShapeError, "must be square", lambda: mp.linalg.solve(wide, a)),
        (ShapeError, "does not fit", lambda: mp.linalg.solve(a, wide)),
        (ShapeError, "two axes", lambda: mp.linalg.lu(a[0])),
        (mp.linalg.LinAlgError, "must be square", lambda: mp.linalg.inv(wide)),
        (np.linalg.LinAlgError, "two axes", lambda: mp.linalg.det(a[0])),
        (mp.linalg.LinAlgError, "x must be square", lambda: mp.linalg.cond(wide, 1)),
        (np.linalg.LinAlgError, "one matrix", lambda: mp.linalg.lstsq(a[None], a)),
        (np.linalg.LinAlgError, "3 rows", lambda: mp.linalg.lstsq(a, wide)),
        (np.linalg.LinAlgError, "one or two axes", lambda: mp.linalg.lstsq(a, a[None])),
        (np.linalg.LinAlgError, r"cond: x \(0, 3\)", lambda: mp.linalg.cond(a[:0])),
        (np.linalg.LinAlgError, r"cond: x \(0, 0\)", lambda: mp.linalg.cond(a[:0, :0], 1)),
        (np.linalg.LinAlgError, r"cond: x \(0, 3\)", lambda: np.linalg.cond(a[:0])),
        (np.linalg.LinAlgError, "matrix_power: a: ", lambda: mp.linalg.matrix_power(a * 0, -2)),
        (
            ShapeError,
            "stacks of",
            lambda: mp.linalg.solve(mp.zeros((2, 3, 3)), mp.zeros((3, 3, 3))),
        ),
        (FormatError, "storage format", lambda: mp.linalg.qr(short)),
        (FormatError, "astype", lambda: mp.linalg.solve(a, a.astype("qd"))),
        (ArgumentError, "reduced, complete, r", lambda: mp.linalg.qr(a, "raw")),
        (ArgumentError, "ord 3", lambda: mp.linalg.norm(a, 3)),
        (ArgumentError, "p 3 given", lambda: mp.linalg.cond(a, 3)),
        (ArgumentError, "ind 0 given", lambda: mp.linalg.tensorinv(a, 0)),
        (np.linalg.LinAlgError, "no square matrix", lambda: mp.linalg.tensorinv(wide, 1)),
        (np.linalg.LinAlgError, "does not fit b", lambda: mp.linalg.tensorsolve(wide, a[0])),
        (ShapeError, "-1 to 0 are allowed", lambda: mp.linalg.vecdot(a, a[0], axis=1)),
        (ArgumentError, "rcond", lambda: mp.linalg.lstsq(a, a, rcond=2.0)),
        (ArgumentError, "whole number", lambda: mp.linalg.matrix_power(a, 0.5)),  # type: ignore[arg-type]
        (ArgumentError, "trans 3", lambda: mp.linalg.lu_solve(mp.linalg.lu_factor(a), a, trans=3)),
        (ArgumentError, "c is missing", lambda: mp.linalg.syrk(a, beta=1)),
        (ShapeError, r"c \(2, 3\) given, \(3, 3\)", lambda: mp.linalg.syrk(a, beta=1, c=wide)),
        (
            ShapeError,
            "and c .* do not fit",
            lambda: mp.linalg.syrk(mp.zeros((2, 3, 3)), beta=1, c=mp.zeros((3, 3, 3))),
        ),
        (FormatError, "astype", lambda: mp.linalg.syrk(a, beta=1, c=a.astype("qd"))),
        (FormatError, "astype", lambda: mp.linalg.syrk(a, c=a.astype("qd"), overwrite_c=True)),
        (FormatError, "astype", lambda: mp.linalg.trmm(a, a.astype("qd"))),
    ]
    for kind, match, call in calls:
        with pytest.raises(kind, match=match):
            call()


def test_blocks_of_one_array_do_not_overlap(device: Device) -> None:
    """A product's output may lie beside its operands in one array; overlapping ones are refused."""
    w = mp.array(np.random.default_rng(1).standard_normal((9, 9)), "dd", device)
    want = w[3:, :3] @ w[:3, 3:]
    mp.gemm(w[3:, :3], w[:3, 3:], out=w[3:, 3:])
    assert (w[3:, 3:] == want).all()
    for out in (w[2:8, 3:], w[3:, 2:8]):
        with pytest.raises(ArgumentError, match="overlaps"):
            mp.gemm(w[3:, :3], w[:3, 3:], out=out)
    assert w[0:4, 0:4].planes.overlaps(w[3:, 3:].planes)
    assert not w[0:3, 0:4].planes.overlaps(w[3:, 0:4].planes)
    assert not w[:, 0:3].planes.overlaps(w.T[5:, :].planes)
    assert w[:, 0:6].planes.overlaps(w.T[5:, :].planes)


@pytest.mark.parametrize(("form", "power"), [("ts", -60), ("ts", 100), ("dd", -500), ("dd", 700)])
def test_qr_and_least_squares_of_any_size(device: Device, form: str, power: int) -> None:
    """Squares would vanish or overflow: factors are those of the matrix near 1, but R's size."""
    values = np.random.default_rng(5).standard_normal((6, 3))
    near, far = (mp.array(np.ldexp(values, p), form, device) for p in (0, power))
    q, r = mp.linalg.qr(near)
    found = mp.linalg.qr(far)
    unit = near.format.unit_roundoff
    assert float(abs(found.Q.T @ found.Q - mp.eye(3, dtype=form, device=device)).max()) < 60 * unit
    size = float(abs(found.Q @ found.R - far).max()) * 2.0**-power
    assert size < 60 * unit
    assert float(abs(found.Q - q).max()) < 1e3 * unit and float(abs(r).max()) > 0
    b = np.ldexp(values @ [1.0, -2.0, 3.0], power)
    x = mp.linalg.lstsq(far, mp.array(b, form, device)).x
    y = mp.linalg.lstsq(near, mp.array(np.ldexp(b, -power), form, device)).x
    assert float(abs(x - y).max()) < 1e3 * unit
    pivoted = mp.linalg.qr(far, pivoting=True)
    taken = far[:, pivoted.P.tolist()]
    rest = float(abs(pivoted.Q @ pivoted.R - taken).max()) * 2.0**-power
    assert rest < 60 * unit


@NUMPY_2
def test_norms_of_nothing(device: Device) -> None:
    """The largest of no sizes is 0 as NumPy has it, the smallest is refused."""
    for shape in ((0, 3), (3, 0), (0, 0)):
        x = mp.zeros(shape, "dd", device)
        for kind in (None, "fro", "nuc", 1, 2, math.inf):
            assert float(mp.linalg.norm(x, kind)) == np.linalg.norm(np.zeros(shape), kind) == 0
        with pytest.raises(ShapeError, match="norm: x: there is no smallest"):
            mp.linalg.norm(x, -2)
    assert float(mp.linalg.norm(mp.zeros(0, "dd", device), math.inf)) == 0


def test_norms_are_scaled_each_by_itself(device: Device) -> None:
    x = mp.array([[3e200, 4e200], [3e-200, 4e-200], [0, 0]], "dd", device)
    found = mp.linalg.norm(x, axis=1).to_float64()
    np.testing.assert_allclose(found, [5e200, 5e-200, 0], rtol=1e-15)
    x = mp.array([[3e200, 4e200], [np.inf, 0], [np.nan, 1]], "dd", device)
    found = mp.linalg.norm(x, axis=1).to_float64()
    assert found[1] == np.inf and np.isnan(found[2]) and abs(found[0] / 5e200 - 1) < 1e-15
    stack = mp.array([[[1e200]], [[1e-200]]], "dd", device)
    np.testing.assert_allclose(mp.linalg.matrix_norm(stack).to_float64(), [1e200, 1e-200])


def test_errors_are_numpys(device: Device) -> None:
    zeros = mp.zeros((2, 2), "dd", device)
    calls = (mp.linalg.inv, mp.linalg.cholesky, lambda a: mp.linalg.solve(a, a, assume_a="sym"))
    for call in calls:
        with pytest.raises(np.linalg.LinAlgError) as caught:
            call(zeros)
        assert isinstance(caught.value, mp.linalg.LinAlgError)
        assert isinstance(caught.value, ArgumentError)
