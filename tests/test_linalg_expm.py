"""The exponential of matrices: ball arithmetic, proved truncation, plans, stacks, bits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import TWICE, on_two_devices, slow

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Device
from portmp.errors import FormatError, ShapeError
from portmp.linalg import exponential

flint = pytest.importorskip("flint")
scipy_linalg = pytest.importorskip("scipy.linalg")


def exponentials(a: mp.Array) -> Any:
    """By ball arithmetic of 900 bits."""
    flint.ctx.prec = 900
    values = [
        flint.arb(flint.fmpq(v.numerator, v.denominator)) for r in a.to_fractions() for v in r
    ]
    return flint.arb_mat(*a.shape, values).exp()


def relative_error(found: mp.Array, want: Any) -> float:
    """In the 1-norm, the largest sum of a column."""
    n = found.shape[0]
    errors, sizes = np.zeros((n, n)), np.zeros((n, n))
    for i, row in enumerate(found.to_fractions()):
        for j, v in enumerate(row):
            errors[i, j] = float(abs(want[i, j] - flint.fmpq(v.numerator, v.denominator)))
            sizes[i, j] = float(abs(want[i, j]))
    return float(errors.sum(axis=0).max() / sizes.sum(axis=0).max())


FORMS = [name for name in formats.NAMES if name not in formats.STORED]


@slow("formats seldom fail apart", unless=lambda p: p["form"] in ("float32", "dd", "d+s"))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "size"), [(2, 0.01), (3, 1.0), (5, 8.0)])
def test_ball_arithmetic(device: Device, form: str, n: int, size: float) -> None:
    """Symmetric matrices, whose condition is the norm: 2^s n u^N of squarings, and a constant."""
    given = np.random.default_rng(n).standard_normal((n, n))
    a = mp.array((given + given.T) * size, form, device)
    norm = float(abs(a).sum(axis=0).max())
    allowed = 40 * n * max(1.0, 2 * norm) * a.format.unit_roundoff
    assert relative_error(mp.linalg.expm(a), exponentials(a)) <= allowed


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65])
def test_sizes(device: Device, n: int) -> None:
    """exp(a) exp(-a) = 1, and SciPy's."""
    given = np.random.default_rng(n).standard_normal((n, n)) / 4
    a = mp.array(given, "dd", device)
    found = mp.linalg.expm(a)
    assert found.shape == (n, n)
    if n:
        one = mp.array(np.eye(n), "dd", device)
        assert float(abs(found @ mp.linalg.expm(-a) - one).max()) < 1e-26
        assert np.allclose(found.to_float64(), scipy_linalg.expm(given), rtol=1e-11, atol=1e-11)


def test_known_ones(device: Device) -> None:
    """Zero, nilpotent, rotations; far below one and far beyond the range."""
    zero = mp.linalg.expm(mp.zeros((3, 3), "dd", device))
    assert (zero.to_float64() == np.eye(3)).all()
    jordan = mp.array(np.diag([1.0, 2.0], 1), "td", device)
    assert mp.linalg.expm(jordan).to_fractions() == [[1, 1, 1], [0, 1, 2], [0, 0, 1]]
    turn = mp.array([[0, -1], [1, 0]], "qd", device)
    angle = mp.array(30, "qd", device)
    found = mp.linalg.expm(turn * 30)
    assert abs(float(found[0, 0] - mp.cos(angle))) < 1e-58
    assert abs(float(found[1, 0] - mp.sin(angle))) < 1e-58
    small = mp.array(np.array([[1.0, 2], [3, 4]]) * 2.0**-300, "dd", device)
    assert (mp.linalg.expm(small) == small + mp.array(np.eye(2), "dd", device)).all()
    assert float(mp.linalg.expm(mp.array([[2.0**20]], "dd", device))[0, 0]) == math.inf
    assert float(mp.linalg.expm(mp.array([[-(2.0**20)]], "dd", device))[0, 0]) == 0


def test_stacks_are_their_matrices(device: Device) -> None:
    """Of different norms, so of different degrees; NaN and infinities only where they are."""
    given = np.random.default_rng(3).standard_normal((2, 4, 3, 3))
    given *= 10.0 ** np.arange(-4, 4).reshape(2, 4, 1, 1) / 100
    given[1, 0, 0, 0], given[0, 3, 1, 1] = math.nan, math.inf
    a = mp.array(given, "dd", device)
    found = mp.linalg.expm(a)
    for i, j in np.ndindex(2, 4):
        alone = mp.linalg.expm(a[i, j])
        if (i, j) in ((1, 0), (0, 3)):
            assert bool(mp.isnan(found[i, j]).all()) and bool(mp.isnan(alone).all())
        else:
            assert (alone == found[i, j]).all()
    assert mp.linalg.expm(mp.zeros((0, 2, 2), "dd", device)).shape == (0, 2, 2)
    turned = a[0, 0].T
    assert (mp.linalg.expm(turned) == mp.linalg.expm(turned.copy())).all()


@pytest.mark.parametrize("bits", sorted({formats.get(name).bits for name in FORMS}))
def test_plans(bits: int) -> None:
    """The truncation's bound, by ball arithmetic; the scaled norm is within it."""
    flint.ctx.prec = 2000
    for degree in exponential.degrees(bits):
        m, h = degree.powers * degree.steps, degree.largest
        assert h <= 1
        x = flint.arb(flint.fmpq(h.numerator, h.denominator))
        tail = x.exp() - sum(x**k / flint.fmpz.fac_ui(k) for k in range(m + 1))
        # |E| is at most e^h times the tail, and a changes by -log(1 - |E|) / h of its norm
        assert bool(-(1 - x.exp() * tail).log() / x < flint.arb(2) ** -bits)
    for norm in (0.0, 2.0**-300, 1e-9, 0.3, 1.0, 7.0, 1e5, 2.0**300):
        plan = exponential.plan(bits, norm)
        known = {(d.powers, d.steps): d.largest for d in exponential.degrees(bits)}
        assert Fraction(norm) / 2**plan.squarings <= known[plan.powers, plan.steps]


@slow("formats seldom fail apart", unless=lambda p: p["form"] in ("complex64", "cdd"))
@pytest.mark.parametrize("form", formats.COMPLEX)
@pytest.mark.parametrize("size", [0.02, 5.0])
def test_complex_ball_arithmetic(device: Device, form: str, size: float) -> None:
    """Of Hermitian matrices h, exp(h) and exp(i h), the same bounds."""
    rng = np.random.default_rng(5)
    p, q = rng.standard_normal((2, 4, 4))
    h = mp.array((p + p.T + 1j * (q - q.T)) * size, form, device)
    flint.ctx.prec = 900
    for a in (h, h * mp.array(1j, form, device)):
        pairs = zip(*(part.ravel().to_fractions() for part in (a.real, a.imag)), strict=True)
        whole = [
            flint.acb(*(flint.fmpq(v.numerator, v.denominator) for v in pair)) for pair in pairs
        ]
        want, found = flint.acb_mat(4, 4, whole).exp(), mp.linalg.expm(a)
        assert found.format is a.format
        errors, sizes = np.zeros((4, 4)), np.zeros((4, 4))
        halves = found.real.to_fractions(), found.imag.to_fractions()
        for i, j in np.ndindex(4, 4):
            x, y = (flint.fmpq(v[i][j].numerator, v[i][j].denominator) for v in halves)
            errors[i, j] = float(abs(want[i, j] - flint.acb(x, y)).mid())
            sizes[i, j] = float(abs(want[i, j]).mid())
        norm = float(abs(a).sum(axis=0).max())
        allowed = 80 * max(1.0, 2 * norm) * 4 * a.format.unit_roundoff
        assert errors.sum(axis=0).max() / sizes.sum(axis=0).max() <= allowed


def test_complex_ones(device: Device) -> None:
    """Turned phases, whole numbers, stacks with NaN, and numbers beyond the range."""
    spin = mp.array([[0, -1j], [1j, 0]], "cqd", device)
    angle = mp.array(30, "qd", device)
    found = mp.linalg.expm(spin * 30j)
    assert float(abs(found[0, 0] - mp.cos(angle))) < 1e-58
    assert float(abs(found[0, 1] - mp.sin(angle))) < 1e-58
    ladder = mp.array(np.diag([1j, 2j], 1), "ctd", device)
    assert mp.linalg.expm(ladder).tolist() == [[1, 1j, -1], [0, 1, 2j], [0, 0, 1]]
    stack = mp.array(
        np.stack([np.eye(2) * 1j, np.full((2, 2), complex(0, math.nan))]), "cdd", device
    )
    made = mp.linalg.expm(stack)
    assert bool(mp.isnan(made[1].real).all()) and bool(mp.isnan(made[1].imag).all())
    assert (made[0] == mp.linalg.expm(stack[0])).all()
    assert complex(made[0, 0, 0]) == pytest.approx(np.exp(1j), rel=1e-15)
    p, q = np.random.default_rng(2).standard_normal((2, 3, 3))
    given = p + 1j * q
    near = mp.linalg.expm(mp.array(given, "complex128", device)).to_numpy()
    np.testing.assert_allclose(near, scipy_linalg.expm(given), rtol=1e-12)
    tall = mp.linalg.expm(mp.array([[2.0**20 + 1j]], "cdd", device))
    assert not bool(mp.isfinite(tall[0, 0]))


def test_refused(device: Device) -> None:
    with pytest.raises(ShapeError, match="square"):
        mp.linalg.expm(mp.zeros((2, 3), "dd", device))
    with pytest.raises(FormatError, match="storage format"):
        mp.linalg.expm(mp.zeros((2, 2), "float16", device))


@slow(TWICE, unless=on_two_devices(2))
def test_bits(every_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the host, also where products are by integers."""
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(definition, "MANY", (16**3,) * 4)
    given = np.random.default_rng(9).standard_normal((20, 20))
    host = discovery.get("host")
    for method in ("direct", "ozaki2"):
        mine, other = (
            mp.linalg.expm(mp.array(given, "dd", d), method=method).to_limbs()
            for d in (every_device, host)
        )
        assert [p.tobytes() for p in mine] == [p.tobytes() for p in other]
