"""Solutions with proved bounds, and refinement by GMRES, against exact rational arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError

flint = pytest.importorskip("flint")


def exact(a: mp.Array, b: mp.Array) -> list[list[Fraction]]:
    """The solution of the system whose numbers are these, (n, r)."""
    n, r = b.shape
    rows, sides = a.to_fractions(), b.to_fractions()
    matrix, right = (
        flint.fmpq_mat(n, k, [flint.fmpq(v.numerator, v.denominator) for row in m for v in row])
        for m, k in ((rows, n), (sides, r))
    )
    x = matrix.solve(right)
    return [[Fraction(int(x[i, j].p), int(x[i, j].q)) for j in range(r)] for i in range(n)]


def conditioned(form: str, n: int, digits: float, device: Device, seed: int = 0) -> mp.Array:
    """A matrix whose singular values go down by so many decimal digits, rounded to a format."""
    rng = np.random.default_rng([int(digits), n, seed])
    u, v = (mp.array(np.linalg.qr(rng.standard_normal((n, n)))[0], "qd", device) for _ in range(2))
    sizes = mp.array(10.0 ** -np.linspace(0, digits, n), "qd", device)
    return ((u * sizes[None, :]) @ v).astype(form)


def covered(found: mp.linalg.Certified, a: mp.Array, b: mp.Array) -> float:
    """Check each component's bound; the largest bound over what it is a bound for, relatively."""
    sides = b if b.ndim == 2 else b[:, None]
    columns = [v if v.ndim == 2 else v[:, None] for v in (found.x, found.bound)]
    x, bound = (v.to_fractions() for v in columns)
    worst = 0.0
    for i, row in enumerate(exact(a, sides)):
        for j, want in enumerate(row):
            assert abs(x[i][j] - want) <= bound[i][j], (i, j)
            worst = max(worst, float(bound[i][j] / abs(want)) if want else 0.0)
    return worst


CASES = [
    (form, digits)
    for form in ("float32", "float64", "ds", "dd", "ts", "td", "qs", "qd", "d+s")
    for digits in (1, 5, 10, 20, 28, 45, 60)
    if digits < formats.get(form).bits * np.log10(2) - 2.5
]


@pytest.mark.parametrize(
    ("form", "digits"),
    mostly_slow(
        CASES, [("float64", 10), ("dd", 10), ("dd", 28), ("d+s", 20)], "formats differ alike"
    ),
)
def test_bounds_hold_and_are_sharp(form: str, digits: int, device: Device) -> None:
    """Up to condition numbers near the format's limit, by inverses of as few limbs as do."""
    n = 12
    a = conditioned(form, n, digits, device)
    b = mp.array(np.random.default_rng(2).standard_normal((n, 2)), form, device)
    found = mp.linalg.solve(a, b, certify=True)
    assert found.x.format is b.format and found.bound.format.name == b.format.word
    assert found.x.shape == found.bound.shape == b.shape
    assert covered(found, a, b) <= 64 * b.format.unit_roundoff
    limbs = formats.get(found.info.format).limbs
    assert digits > 0.7 * (limbs - 1) * formats.get(b.format.word).bits * np.log10(2)
    assert found.info.corrections > 0 and found.info.contraction < 1


def test_graded_solutions_and_scaled_systems(device: Device) -> None:
    """Components of all sizes have bounds of their own; rows and columns of any scale."""
    n = 9
    rng = np.random.default_rng(4)
    well = rng.standard_normal((n, n)) + 3 * np.eye(n)
    rows, columns = (2.0 ** np.linspace(-p, p, n).astype(int) for p in (90, 60))
    for form in ("dd", "td"):
        a = mp.array(rows[:, None] * well * columns, form, device)
        b = mp.array(rows * rng.standard_normal(n), form, device)
        found = mp.linalg.solve(a, b, certify=True)
        assert covered(found, a, b) <= 1e3 * b.format.unit_roundoff
    for power, other in ((-100, 0), (-100, -20), (100, 100)):
        a = mp.array(well, "ts", device) * 2.0**power
        b = mp.array(rng.standard_normal(n), "ts", device) * 2.0**other
        assert covered(mp.linalg.solve(a, b, certify=True), a, b) < 1e-20
    tiny = mp.array([["1e30", "1e-30"], ["1e-30", "1e-30"]], "ts", device)
    right = mp.array(["1e-15", "3e-30"], "ts", device)
    covered(mp.linalg.solve(tiny, right, certify=True), tiny, right)


def test_exact_solutions(device: Device) -> None:
    """Where the solution is a number of the format, the bound may be 0 and must be next to it."""
    a = mp.array([[2, 0, 0], [0, -4, 0], [1, 0, 8]], "dd", device)
    x = mp.array([3, 0, "-0.25"], "dd", device)
    found = mp.linalg.solve(a, a @ x, certify=True)
    assert (found.x == x).all() and float(abs(found.bound).max()) <= 1e-40
    nothing = mp.linalg.solve(a, a[:, 0] * 0, certify=True)
    assert (nothing.x == 0).all() and float(nothing.bound.max()) <= 1e-300


@pytest.mark.parametrize("n", [0, 1, 2, 65])
def test_sizes(n: int, device: Device) -> None:
    """Vectors, matrices, nothing; float64's method by integers too."""
    rng = np.random.default_rng(n)
    a = mp.array(rng.standard_normal((n, n)), "dd", device)
    b = mp.array(rng.standard_normal(n), "dd", device)
    found = mp.linalg.solve(a, b, certify=True)
    assert found.x.shape == found.bound.shape == (n,)
    if n:
        assert covered(found, a, b) < 1e-29
        both = mp.linalg.solve(a, b, refine=True, certify=True)
        assert (both.x == found.x).all()
    assert mp.linalg.solve(a, b[:, None][:, :0], certify=True).bound.shape == (n, 0)


def test_what_cannot_be_proved(device: Device) -> None:
    """Singular matrices, also those that rounding hides; condition numbers beyond the format."""
    rng = np.random.default_rng(3)
    b = mp.array(np.ones(6), "dd", device)
    singular = rng.integers(-9, 9, (6, 6)).astype(float)
    singular[5] = singular[0] - 2 * singular[3]
    with pytest.raises(ArgumentError, match=r"cannot be proved regular in dd|singular: the pivot"):
        mp.linalg.solve(mp.array(singular, "dd", device), b, certify=True)
    with pytest.raises(ArgumentError, match="singular: the pivot of column 0"):
        mp.linalg.solve(mp.zeros((6, 6), "dd", device), b, certify=True)
    hard = conditioned("dd", 12, 40, device)
    with pytest.raises(ArgumentError, match=r"cannot be proved regular in dd.*more bits"):
        mp.linalg.solve(hard, mp.array(np.ones(12), "dd", device), certify=True)
    for spoilt in (float("nan"), float("inf")):
        with pytest.raises(ArgumentError, match="infinities or NaN"):
            mp.linalg.solve(mp.array(np.eye(6), "dd", device), b * spoilt, certify=True)
    eye = mp.array(np.eye(6), "dd", device)
    calls: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (ShapeError, "certify takes one matrix", (eye[None], b)),
        (ShapeError, "certify takes one or two axes", (eye, eye[None])),
        (ShapeError, "must be square", (eye[1:], b)),
        (FormatError, "of which no bound is proved", (eye.astype("ts2021"), b.astype("ts2021"))),
    ]
    for kind, message, arguments in calls:
        with pytest.raises(kind, match=re.escape(message)):
            mp.linalg.solve(*arguments, certify=True)


def test_bits_are_the_same_on_all_devices() -> None:
    """x, bounds and what is told of them."""
    seen = set()
    for device in [d for d in discovery.devices() if d.properties.float64][:2]:
        a = conditioned("dd", 10, 20, device)
        found = mp.linalg.solve(a, mp.array(np.ones(10), "dd", device), certify=True)
        planes = [*found.x.to_limbs(), *found.bound.to_limbs()]
        seen.add((found.info, b"".join(plane.tobytes() for plane in planes)))
    assert len(seen) == 1


# --- refinement by GMRES ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "size"), mostly_slow([("dd", 1e-19), ("td", 1e-22)], [("dd", 1e-19)], "the same way")
)
def test_refinement_by_gmres(form: str, size: float, device: Device) -> None:
    """One singular value beyond the reach of float64's factors: no limb more is taken."""
    n = 130
    rng = np.random.default_rng(7)
    u, v = (mp.array(np.linalg.qr(rng.standard_normal((n, n)))[0], "qd", device) for _ in range(2))
    sizes = mp.array([*np.linspace(1, 0.1, n - 1), size], "qd", device)
    a = ((u * sizes[None, :]) @ v).astype(form)
    b = mp.array(rng.standard_normal((n, 1)), form, device)
    x, info = mp.linalg.solve(a, b, refine=True)
    assert info.format == "float64" and 0 < info.iterations <= 8
    assert info.backward <= n * a.format.unit_roundoff
    long = mp.linalg.solve(a.astype("qd"), b.astype("qd"))
    error = float(abs(x.astype("qd") - long).max()) / float(abs(long).max())
    assert error <= info.bound
    assert 0.1 / size <= info.condition <= 1e3 / size
    many = mp.linalg.solve(a, mp.array(rng.standard_normal((n, 3)), form, device), refine=True)
    assert many.info.iterations == 0 and many.info.format == "dd"
