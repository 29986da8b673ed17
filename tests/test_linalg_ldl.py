"""L D L^T of symmetric matrices: exact arithmetic, SciPy's pivots, the reference's bits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import TURNS, TWICE, by_turns, on_two_devices, slow

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import inputs
from portmp.routines.ldl import launch, reference

flint = pytest.importorskip("flint")
scipy_linalg = pytest.importorskip("scipy.linalg")

CONSTANT = 40
"""Of the backward error's bound n c u^N |lu| |d| |lu|^T: networks' own constants are up to 20."""


def exact(a: mp.Array) -> Any:
    """A matrix of rational numbers."""
    rows = a.to_fractions()
    values = [flint.fmpq(x.numerator, x.denominator) for row in rows for x in row]
    return flint.fmpq_mat(a.shape[0], a.shape[1], values)


def sizes(m: Any) -> np.ndarray[Any, Any]:
    found = [
        [float(abs(Fraction(int(m[i, j].p), int(m[i, j].q)))) for j in range(m.ncols())]
        for i in range(m.nrows())
    ]
    return np.array(found, float).reshape(m.nrows(), m.ncols())


def symmetric(n: int, *, diagonal: bool = True) -> np.ndarray[Any, Any]:
    a = np.random.default_rng(n).standard_normal((n, n))
    a = a + a.T
    if not diagonal:
        np.fill_diagonal(a, 0)
    return a


def check(a: mp.Array, found: mp.linalg.Ldl) -> None:
    """a = lu d lu^T to the format's roundoff; shapes of triangles and blocks."""
    n = a.shape[0]
    lu, d = exact(found.lu), exact(found.d)
    error = sizes(lu * d * lu.transpose() - exact(a))
    bound = sizes(lu) @ sizes(d) @ sizes(lu).T
    assert (error <= CONSTANT * max(n, 1) * a.format.unit_roundoff * bound).all()
    assert sorted(found.perm.to_numpy().tolist()) == list(range(n))
    blocks = found.d.to_float64()
    assert (np.triu(blocks, 2) == 0).all() and (blocks == blocks.T).all()
    # no element is in two blocks
    pairs = np.diagonal(blocks, 1) != 0
    assert not (pairs[1:] & pairs[:-1]).any()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 31, 32, 33, 64, 65])
def test_exact_arithmetic_and_scipys_pivots(device: Device, n: int, lower: bool) -> None:
    """With and without a diagonal, where all pivots are pairs at first."""
    for diagonal in (True, False):
        given = symmetric(n, diagonal=diagonal)
        a = mp.array(given, "dd", device)
        found = mp.linalg.ldl(a, lower=lower)
        check(a, found)
        order = found.perm.to_numpy()
        triangle = found.lu.to_float64()[order]
        assert (triangle == (np.tril(triangle) if lower else np.triu(triangle))).all()
        assert (np.diagonal(triangle) == 1).all()
        if n:
            lu, d, perm = scipy_linalg.ldl(given, lower=lower)
            assert (perm == order).all()
            assert np.allclose(lu, found.lu.to_float64(), atol=1e-11 * n)
            assert np.allclose(d, found.d.to_float64(), atol=1e-11 * n)
        spoiled = a.copy()
        for i in range(n - 1):
            if lower:
                spoiled[i, i + 1 :] = math.nan
            else:
                spoiled[i + 1 :, i] = math.nan
        assert (mp.linalg.ldl(spoiled, lower=lower).lu == found.lu).all()


@slow("formats seldom fail apart", unless=lambda p: p["form"] in ("float32", "td", "d+s"))
@pytest.mark.parametrize("form", [name for name in formats.NAMES if name not in formats.STORED])
def test_every_format(device: Device, form: str) -> None:
    a = mp.array(symmetric(19, diagonal=False), form, device)
    check(a, mp.linalg.ldl(a))


@pytest.mark.parametrize("power", [-300, 300])
def test_scaled(device: Device, power: int) -> None:
    """By powers of two: the same pivots and L, D times the power."""
    a = mp.array(symmetric(40, diagonal=False), "dd", device)
    plain, far = mp.linalg.ldl(a), mp.linalg.ldl(a * 2.0**power)
    assert (plain.lu == far.lu).all() and (plain.d * 2.0**power == far.d).all()
    b = a[:, :2]
    x = mp.linalg.solve(a * 2.0**power, b * 2.0**power, assume_a="sym")
    assert (x == mp.linalg.solve(a, b, assume_a="sym")).all()


@pytest.mark.parametrize("form, power", [("ts", 100), ("qs", 100), ("td", 960), ("qd", 960)])
def test_near_the_ends_of_the_range(device: Device, form: str, power: int) -> None:
    """Inverses of elements keep their limbs; the triangle that is not read has no part in it."""
    given = np.random.default_rng(7).integers(-99, 100, (17, 17)).astype(float)
    given = np.ldexp(np.tril(given) + np.tril(given, -1).T, power - 8)
    a = mp.array(given, form, device)
    check(a, mp.linalg.ldl(a))
    x = mp.array(np.arange(1, 18), form, device)
    b = a @ x
    found = mp.linalg.solve(a, b, assume_a="sym")
    assert float(abs(found - x).max()) <= 1e6 * a.format.unit_roundoff
    half = a.copy()
    half[0, 1:] = math.nan
    for one, other in zip(mp.linalg.ldl(half)[:2], mp.linalg.ldl(a)[:2], strict=True):
        assert (one == other).all()


def test_ties_zeros_and_nan(device: Device) -> None:
    """The first of equal rows; singular matrices go on; NaN is never larger than a number."""
    a = mp.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]], "dd", device)
    assert mp.linalg.ldl(a).perm.to_numpy().tolist() == [0, 1, 2]
    zero = mp.linalg.ldl(mp.zeros((3, 3), "dd", device))
    assert (zero.d == 0).all() and (zero.lu.to_float64() == np.eye(3)).all()
    rank_one = mp.array(np.ones((40, 40)), "dd", device)
    lu, d, _ = mp.linalg.ldl(rank_one)
    assert float(abs(lu @ d @ lu.T - rank_one).max()) == 0
    a[1, 0] = math.nan
    found = mp.linalg.ldl(a)
    assert found.perm.to_numpy().tolist() == [0, 2, 1]
    assert bool(mp.isnan(found.lu).any())


@slow(TURNS, unless=by_turns("n", (33, 40, 64)))
@slow("formats seldom fail apart", unless=lambda p: (p["form"], p["n"]) in {("dd", 40), ("ts", 64)})
@pytest.mark.parametrize("n", [33, 40, 64])
@pytest.mark.parametrize("form", ["float64", "ds", "dd", "d+s", "ts", "td", "qs", "qd"])
def test_stacks_of_few_panels(anywhere: Device, form: str, n: int) -> None:
    """The reference's bits: panels of a stack's matrices end where each one's pairs do."""
    f = formats.get(form)
    full = [inputs.ordinary(f, (n, n), f"ldl stack {i}") for i in range(4)]
    hosts = [[np.tril(p) + np.tril(p, -1).T for p in host] for host in full]
    for plane in hosts[1]:
        np.fill_diagonal(plane, 0)
    hosts[2] = [(np.ones_like(p) if i == 0 else 0 * p) for i, p in enumerate(hosts[2])]
    hosts[3][0][n - 2, n // 2] = hosts[3][0][n // 2, n - 2] = math.nan
    wanted = [reference.factor(f, host) for host in hosts]
    stack = [np.stack(planes) for planes in zip(*hosts, strict=True)]
    a = mp.from_limbs(stack, f, anywhere).planes
    found = launch.factor(a)
    lower = np.tril_indices(n)
    for i, one in enumerate(wanted):
        assert found.order[i].tolist() == one.order.tolist()
        assert found.kinds[i].tolist() == one.kinds.tolist()
        for plane, other in zip(mp.Array(a).to_limbs(), one.factors, strict=True):
            mine, its = plane[i][lower], other[lower]
            assert (np.isnan(mine) == np.isnan(its)).all()
            assert mine[~np.isnan(mine)].tobytes() == its[~np.isnan(its)].tobytes()


def test_systems(device: Device) -> None:
    """Vectors, many sides, stacks and broadcasting; by the triangle asked for; definite ones."""
    a = mp.array(symmetric(37, diagonal=False), "td", device)
    b = mp.array(np.random.default_rng(1).standard_normal((37, 3)), "td", device)
    exactly = exact(a).solve(exact(b))
    for lower in (True, False):
        x = mp.linalg.solve(a, b, assume_a="sym", lower=lower)
        assert sizes(exact(x) - exactly).max() <= 1e6 * a.format.unit_roundoff
        one = mp.linalg.solve(a, b[:, 1], assume_a="sym", lower=lower)
        assert (one == x[:, 1]).all()
        spoiled = a.copy()
        if lower:
            spoiled[0, 1:] = math.nan
        else:
            spoiled[1:, 0] = math.nan
        assert (mp.linalg.solve(spoiled, b, assume_a="sym", lower=lower) == x).all()
    stack = mp.array(np.stack([symmetric(9), symmetric(9, diagonal=False)]), "dd", device)
    sides = mp.array(np.random.default_rng(2).standard_normal((9, 2)), "dd", device)
    x, factors = mp.linalg.solve(stack, sides, assume_a="sym"), mp.linalg.ldl(stack)
    for i in range(2):
        assert (x[i] == mp.linalg.solve(stack[i], sides, assume_a="sym")).all()
        alone = mp.linalg.ldl(stack[i])
        assert (alone.lu == factors.lu[i]).all() and (alone.d == factors.d[i]).all()
    many = mp.linalg.solve(stack[1], x, assume_a="sym")
    assert many.shape == (2, 9, 2)
    definite = stack @ stack + mp.array(np.eye(9), "dd", device)
    want = mp.linalg.solve(definite, sides)
    for lower in (True, False):
        found = mp.linalg.solve(definite, sides, assume_a="pos", lower=lower)
        assert float(abs(found - want).max()) < 1e-25
    none = mp.zeros((0, 0), "dd", device)
    assert mp.linalg.solve(none, mp.zeros(0, "dd", device), assume_a="sym").shape == (0,)


def test_what_is_refused_is_not_overwritten(device: Device) -> None:
    """Stacks that do not fit are seen before the factor takes a's memory."""
    a = mp.array(np.stack([4 * np.eye(3)] * 2), "dd", device)
    with pytest.raises(ShapeError, match="solve: stacks of a"):
        mp.linalg.solve(a, mp.ones((3, 3, 1), "dd", device), assume_a="pos", overwrite_a=True)
    assert (a == mp.array(4 * np.eye(3), "dd", device)).all()


def test_refused(device: Device) -> None:
    a = mp.array(np.eye(3), "dd", device)
    singular = mp.array(np.diag([1.0, 0, 2]), "dd", device)
    with pytest.raises(ArgumentError, match="singular: d has a zero"):
        mp.linalg.solve(singular, a, assume_a="sym")
    with pytest.raises(ArgumentError, match="did you mean 'sym'"):
        mp.linalg.solve(a, a, assume_a="symm")
    with pytest.raises(ArgumentError, match="it must be 'gen'"):
        mp.linalg.solve(a, a, assume_a="sym", refine=True)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="not positive definite"):
        mp.linalg.solve(-a, a, assume_a="pos")
    for assumed in ("sym", "pos"):
        with pytest.raises(ShapeError, match=r"^solve: b \(2, 3\) does not fit a"):
            mp.linalg.solve(a, a[:2], assume_a=assumed)
    with pytest.raises(ShapeError, match="square"):
        mp.linalg.ldl(a[:2])
    with pytest.raises(FormatError, match="storage format"):
        mp.linalg.ldl(mp.array(np.eye(3), "float16", device))


@slow(TWICE, unless=on_two_devices(0))
@pytest.mark.parametrize("n", [33, 70])
def test_bits_of_panels(every_device: Device, n: int) -> None:
    """Panels, and products beside them: the reference's bits."""
    form = formats.get("dd")
    host = inputs.ordinary(form, (n, n), "ldl bits")
    found = mp.linalg.ldl(mp.from_limbs(host, form, every_device)).lu.to_limbs()
    want = reference.lower(form, host)
    assert [p.tobytes() for p in found] == [np.ascontiguousarray(p).tobytes() for p in want]
