"""Eigenvalues of real matrices, Schur's form, roots: against ball arithmetic and conditions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import TWICE, on_two_devices, slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, LinAlgError, ShapeError
from portmp.linalg import hessenberg
from portmp.routines.schur import launch, reference

flint = pytest.importorskip("flint")
scipy_linalg = pytest.importorskip("scipy.linalg")

FORMS = [formats.get(name).component.name for name in formats.COMPLEX]
CONSTANT = 40
"""Of the bound n c u^N |a| times an eigenvalue's condition: networks' own are up to 20."""


def rational(x: Fraction) -> Any:
    return flint.fmpq(x.numerator, x.denominator)


def exactly(a: mp.Array) -> list[Any]:
    """Eigenvalues by ball arithmetic of 900 bits."""
    flint.ctx.prec = 900
    values = [rational(v) for row in a.to_fractions() for v in row]
    found: list[Any] = flint.acb_mat(a.shape[0], a.shape[1], values).eig()
    return found


def distances(found: mp.Array, want: list[Any]) -> list[tuple[int, float]]:
    """For each wanted eigenvalue, in its order, how far the nearest of those found is.

    Each of those found is the nearest of one.
    """
    parts = zip(found.real.to_fractions(), found.imag.to_fractions(), strict=True)
    given = [flint.acb(rational(x), rational(y)) for x, y in parts]
    result, taken = [], set()
    for i, exact in enumerate(want):
        far = [float(abs(exact - g).mid()) for g in given]
        nearest = int(np.argmin(far))
        taken.add(nearest)
        result.append((i, far[nearest]))
    assert len(taken) == len(want)
    return result


def check(a: mp.Array, found: mp.Array) -> None:
    """Each within n c u^N of the norm times its condition, which float64 gives."""
    host = a.to_float64()
    values, left, right = scipy_linalg.eig(host, left=True)
    conditions = 1 / abs((left.conj() * right).sum(axis=0))
    want = exactly(a)
    unit = CONSTANT * len(host) * a.format.unit_roundoff * np.linalg.norm(host)
    for i, distance in distances(found, want):
        middle = complex(float(want[i].real.mid()), float(want[i].imag.mid()))
        nearest = int(np.argmin(abs(values - middle)))
        assert distance <= unit * conditions[nearest]


@slow("formats seldom fail apart", unless=lambda p: p["form"] in ("float32", "dd"))
@pytest.mark.parametrize("form", FORMS)
def test_every_format(device: Device, form: str) -> None:
    """Real and complex ones, each against its condition."""
    a = mp.array(np.random.default_rng(5).standard_normal((9, 9)), form, device)
    found = mp.linalg.eigvals(a)
    check(a, found)
    imaginary = found.imag.to_float64()
    assert ((imaginary[:-1] > 0) == (imaginary[1:] < 0)).all() and (imaginary != 0).any()
    pairs = np.flatnonzero(imaginary > 0)
    for part, sign in ((found.real, 1), (found.imag, -1)):
        limbs = part.to_limbs()[0]
        assert (limbs[pairs] == sign * limbs[pairs + 1]).all()


@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33])
def test_sizes(device: Device, n: int) -> None:
    given = np.random.default_rng(n).standard_normal((n, n))
    a = mp.array(given, "td", device)
    check(a, mp.linalg.eigvals(a))


@slow("sizes below have shown the same", unless=lambda p: p["n"] == 65)
@pytest.mark.parametrize("n", [64, 65, 130])
def test_larger_sizes(device: Device, n: int) -> None:
    """NumPy's to its digits; the sums of powers to the format's."""
    given = np.random.default_rng(n).standard_normal((n, n)) / n
    a = mp.array(given, "dd", device)
    found = mp.linalg.eigvals(a)
    real, imag = found.real.to_float64(), found.imag.to_float64()
    want = np.linalg.eigvals(given)
    nearest = [abs(real + 1j * imag - w).min() for w in want]
    assert max(nearest) < 1e-10
    assert abs(float(found.real.sum() - mp.linalg.trace(a))) < 1e-28
    squares = (found.real * found.real - found.imag * found.imag).sum()
    assert abs(float(squares - mp.linalg.trace(a @ a))) < 1e-27


def circulant(n: int) -> np.ndarray[Any, Any]:
    row = np.random.default_rng(n).integers(-9, 10, n)
    return np.array([np.roll(row, i) for i in range(n)], float)


@pytest.mark.parametrize("power", [-300, 0, 300])
def test_scaled_normal_matrices(device: Device, power: int) -> None:
    """Circulants, whose conditions are 1; far from one; permuted."""
    n = 17
    given = circulant(n) * 2.0**power
    order = np.random.default_rng(1).permutation(n)
    for host in (given, given[order][:, order]):
        a = mp.array(host, "dd", device)
        found = mp.linalg.eigvals(a)
        unit = CONSTANT * n * a.format.unit_roundoff * np.linalg.norm(circulant(n), 2)
        near = found * 2.0**-power
        want = exactly(mp.array(circulant(n), "dd", device))
        assert max(d for _, d in distances(near, want)) <= unit


def test_known_ones(device: Device) -> None:
    """Triangles, zero, permutations, a defective block, nothing, stacks."""

    def values(host: Any) -> list[complex]:
        found = mp.linalg.eigvals(mp.array(host, "dd", device)).to_numpy()
        return sorted(found.tolist(), key=lambda z: (round(z.real, 9), z.imag))

    triangle = np.triu(np.random.default_rng(1).standard_normal((7, 7)))
    np.fill_diagonal(triangle, range(1, 8))
    assert values(triangle) == list(range(1, 8))
    assert np.allclose(values(triangle.T), range(1, 8), atol=1e-25, rtol=0)
    assert values(np.zeros((3, 3))) == [0, 0, 0]
    cycle = np.roll(np.eye(5), 1, axis=0)
    assert np.allclose(np.array(values(cycle)) ** 5, 1, atol=1e-15)
    defective = np.eye(4) * 2 + np.diag(np.ones(3), 1)
    assert values(defective) == [2, 2, 2, 2]
    assert values([[0.0, 1], [-1, 0]]) == [-1j, 1j]
    empty = mp.linalg.eigvals(mp.zeros((0, 0), "dd", device))
    assert empty.shape == (0,) and empty.format.name == "cdd"
    assert mp.linalg.eigvals(mp.zeros((0, 3, 3), "dd", device)).real.shape == (0, 3)
    stack = mp.array(np.random.default_rng(4).standard_normal((2, 3, 6, 6)), "dd", device)
    found = mp.linalg.eigvals(stack)
    assert found.real.shape == (2, 3, 6)
    for i, j in np.ndindex(2, 3):
        alone = mp.linalg.eigvals(stack[i, j])
        assert (alone.real == found.real[i, j]).all() and (alone.imag == found.imag[i, j]).all()
    turned = stack[0, 0].T
    assert (mp.linalg.eigvals(turned).real == mp.linalg.eigvals(turned.copy()).real).all()


@pytest.mark.parametrize("n", [1, 2, 9, 33])
def test_schurs_form(device: Device, n: int) -> None:
    """Orthogonal factors, the form and its eigenvalues, in exact arithmetic."""
    a = mp.array(np.random.default_rng(n).standard_normal((n, n)), "dd", device)
    t, _ = check_form(a)
    below = np.tril(t.to_float64(), -1)
    assert (np.tril(below, -2) == 0).all()
    pairs = np.diagonal(below, -1) != 0
    assert not (pairs[1:] & pairs[:-1]).any()
    values = np.sort_complex(np.linalg.eigvals(t.to_float64()))
    assert np.allclose(values, np.sort_complex(np.linalg.eigvals(a.to_float64())), atol=1e-11)
    assert pairs.sum() * 2 == (values.imag != 0).sum()


def check_form(a: mp.Array) -> mp.linalg.Schur:
    """Schur's form of a matrix, which is backward stable with orthogonal vectors."""
    n = len(a)
    found = mp.linalg.schur(a)
    whole, form, vectors = (
        flint.fmpq_mat(n, n, [rational(v) for row in x.to_fractions() for v in row])
        for x in (a, *found)
    )
    unit = CONSTANT * n * a.format.unit_roundoff

    def norm(m: Any) -> float:
        entries = (Fraction(int(m[i, j].p), int(m[i, j].q)) for i, j in places)
        return math.sqrt(sum(float(x) ** 2 for x in entries))

    places = list(np.ndindex(n, n))
    turned = vectors.transpose()
    one = flint.fmpq_mat(n, n, [int(i == j) for i, j in places])
    assert norm(turned * vectors - one) <= unit
    assert norm(vectors * form * turned - whole) <= unit * norm(whole)
    return found


@pytest.mark.parametrize("form", ["float32", "ds", "ts", "qs", "float64", "dd", "td", "qd"])
def test_schurs_form_of_low_rank(device: Device, form: str) -> None:
    """What columns leave of others is rounding errors, each time smaller: squares vanish."""
    for n in (9, 16):
        left, right = (np.random.default_rng(n).integers(-3, 4, (n, 3)) for _ in range(2))
        for given in (np.ones((n, n)), left @ right.T, left @ np.diag([1, -2, 3]) @ left.T):
            check_form(mp.array(given.astype(float), form, device))


@pytest.mark.parametrize("fall", [30, 60, 100])
def test_schurs_form_of_graded_matrices(device: Device, fall: int) -> None:
    """Far below 1 elements of qs have few limbs left, and their products none."""
    n = 24
    sizes = 2.0 ** np.linspace(0, -fall, n)
    given = np.random.default_rng(fall).standard_normal((n, n))
    for graded in (given * sizes, given * sizes[:, None], given * sizes * sizes[:, None]):
        check_form(mp.array(graded, "qs", device))


def test_sweeps_from_below(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sweeps do not help they begin below small elements: same bits, backward stable."""
    monkeypatch.setattr(reference, "PATIENCE", 0)
    launch.kernel_spec.cache_clear()
    begun: list[bool] = []
    apart = reference._Iteration.apart

    def noted(self: Any, k: int, v: Any) -> bool:
        begun.append(apart(self, k, v))
        return begun[-1]

    monkeypatch.setattr(reference._Iteration, "apart", noted)
    try:
        rng = np.random.default_rng(5)
        for form in ("dd", "qs"):
            given = rng.standard_normal((9, 9)) * 2.0 ** -np.arange(9.0)
            found = check_form(mp.array(given, form, device))
            wanted = mp.linalg.schur(mp.array(given, form, discovery.get("host")))
            for mine, other in zip(found, wanted, strict=True):
                pairs = zip(mine.to_limbs(), other.to_limbs(), strict=True)
                assert all(p.tobytes() == q.tobytes() for p, q in pairs)
        assert any(begun) and not all(begun)
    finally:
        launch.kernel_spec.cache_clear()


def test_roots(device: Device) -> None:
    """Wilkinson's polynomial; zeros in front and at the end; constants."""
    c = [Fraction(1)]
    for k in range(1, 21):
        c = [x - k * y for x, y in zip([*c, Fraction(0)], [Fraction(0), *c], strict=True)]
    for form, allowed in (("td", 1e-27), ("qd", 1e-43)):
        found = mp.roots(mp.array(c, form, device))
        assert (found.imag == 0).all()
        errors = [
            min(abs(Fraction(x) - k) for x in found.real.to_fractions()) for k in range(1, 21)
        ]
        assert max(errors) < allowed
    padded = mp.roots(mp.array([0, 0, 1, -3, 2, 0, 0], "dd", device))
    assert sorted(padded.real.to_float64().tolist()) == [0, 0, 1, 2]
    assert mp.roots(mp.array([0, 5], "dd", device)).real.shape == (0,)
    assert mp.roots(mp.array([2, -5], "dd", device)).real.to_float64().tolist() == [2.5]
    with pytest.raises(LinAlgError, match="roots: p holds infinities or NaN"):
        mp.roots(mp.array([1, math.nan, 2], "cdd", device))
    matrix = mp.linalg.companion(mp.array([2, -10, 4], "dd", device)).to_float64()
    assert (matrix == scipy_linalg.companion([2, -10, 4])).all()
    with pytest.raises(ArgumentError, match="highest coefficient"):
        mp.linalg.companion(mp.array([0, 1], "dd", device))
    with pytest.raises(ShapeError, match="two coefficients"):
        mp.linalg.companion(mp.array([1], "dd", device))


def test_balancing() -> None:
    """Rows as large as columns, by powers of two alone; nothing for triangles' zeros."""
    rng = np.random.default_rng(3)
    scale = 2.0 ** rng.integers(-30, 30, 8)
    sizes = abs(rng.standard_normal((8, 8)) + 3) * scale[:, None] / scale
    balanced = sizes.copy()
    found = hessenberg.balanced(balanced, 200)
    powers = 2.0**found
    assert (balanced == sizes / powers[:, None] * powers).all()
    np.fill_diagonal(balanced, 0)
    assert (balanced.max(axis=0) <= 8 * balanced.max(axis=1)).all()
    assert (hessenberg.balanced(np.triu(np.ones((3, 3))), 200) == 0).any()


def test_numpy_finds_it(device: Device) -> None:
    """``np.linalg.eigvals`` of an array of portmp is portmp's."""
    a = mp.array([[0, 1], [-2, 3]], "dd", device)
    found: Any = np.linalg.eigvals(a)
    assert sorted(found.real.to_float64().tolist()) == [1, 2]
    twice: Any = np.roots(mp.array([1, -3, 2], "dd", device))
    assert sorted(twice.real.to_float64().tolist()) == [1, 2]


def test_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    a = mp.array(np.eye(3), "dd", device)
    spoiled = mp.array(np.stack([np.eye(2), np.full((2, 2), math.inf)]), "dd", device)
    with pytest.raises(ArgumentError, match="infinities or NaN in entry 1 of the stack"):
        mp.linalg.eigvals(spoiled)
    with pytest.raises(ShapeError, match="square"):
        mp.linalg.eigvals(a[:2])
    for name in ("d+s", "dd2011"):
        with pytest.raises(FormatError, match="no complex numbers"):
            mp.linalg.eigvals(a.astype(name))
    with pytest.raises(FormatError, match="storage format"):
        mp.linalg.eigvals(mp.zeros((2, 2), "float16", device))
    monkeypatch.setattr(reference, "MOST", 1)
    launch.kernel_spec.cache_clear()
    try:
        random = mp.array(np.random.default_rng(1).standard_normal((6, 6)), "dd", device)
        with pytest.raises(
            ArgumentError,
            match=r"not converged: 6 of 6 eigenvalues are left, an .* of \d\.\d\de[-+]\d\d",
        ):
            mp.linalg.eigvals(random)
    finally:
        launch.kernel_spec.cache_clear()


@slow(TWICE, unless=on_two_devices(1))
def test_bits(every_device: Device) -> None:
    """Values, Schur's form and its vectors: those of the host."""
    given = np.random.default_rng(2).standard_normal((2, 7, 7))
    host = discovery.get("host")
    found, want = (mp.array(given, "dd", d) for d in (every_device, host))
    for call in (mp.linalg.eig, mp.linalg.schur):
        for mine, other in zip(call(found), call(want), strict=True):
            pairs = zip(mine.to_limbs(), other.to_limbs(), strict=True)
            assert all(p.tobytes() == q.tobytes() for p, q in pairs)
