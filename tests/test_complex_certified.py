"""Complex systems with proved bounds and with refinement, against exact rational arithmetic."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg import certified, refinement

flint = pytest.importorskip("flint")

N = 7
Rows = list[list[Any]]


def rational(x: Any) -> Any:
    """A real matrix of exact numbers."""
    rows = [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in x.to_fractions()]
    return flint.fmpq_mat(rows)


def fractions(x: Any) -> Rows:
    return [[Fraction(int(v.p), int(v.q)) for v in row] for row in x.tolist()]


def exact(a: Any, b: Any) -> tuple[Rows, Rows]:
    """Both parts of the solution of the system whose numbers are these."""
    p, q = rational(a.real), rational(a.imag)
    rows = [[*x, *(-v for v in y)] for x, y in zip(p.tolist(), q.tolist(), strict=True)]
    rows += [[*y, *x] for x, y in zip(p.tolist(), q.tolist(), strict=True)]
    right = flint.fmpq_mat([*rational(b.real).tolist(), *rational(b.imag).tolist()])
    found = fractions(flint.fmpq_mat(rows).solve(right))
    return found[: len(found) // 2], found[len(found) // 2 :]


def covered(found: Any, a: Any, b: Any) -> float:
    """Check each component's bound; the largest of them relative to the component."""
    x, bound = (v if v.ndim == 2 else v[:, None] for v in (found.x, found.bound))
    parts, wanted = (x.real.to_fractions(), x.imag.to_fractions()), exact(a, b)
    worst = 0.0
    for (i, j), limit in np.ndenumerate(np.array(bound.to_fractions(), dtype=object)):
        off = [one[i][j] - true[i][j] for one, true in zip(parts, wanted, strict=True)]
        assert off[0] ** 2 + off[1] ** 2 <= limit**2, (i, j)
        size = math.hypot(*(float(true[i][j]) for true in wanted))
        worst = max(worst, float(limit) / size if size else 0.0)
    return worst


def whole(real: Any, imaginary: Any, form: str, device: Device) -> Any:
    part = formats.get(form).component
    halves = [mp.array(x, part, device) for x in (real, imaginary)]
    return halves[0] + halves[1] * mp.array(1j, form, device)


def numbers(rng: Any, form: str, device: Device, *shape: int) -> Any:
    """With digits in all limbs."""
    halves = [rng.standard_normal(shape) for _ in range(2)]
    return whole(*halves, form, device) / mp.array(3, formats.get(form).component, device)


def conditioned(form: str, n: int, sizes: Any, device: Device) -> Any:
    """A matrix of given singular values, rounded to a format."""
    rng = np.random.default_rng(n)
    u, v = (
        np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))[0]
        for _ in range(2)
    )
    return ((mp.array(u, "cqd", device) * sizes) @ mp.array(v, "cqd", device)).astype(form)


CASES = [
    (form, digits)
    for form in formats.COMPLEX
    for digits in (1, 10, 28, 58)
    if digits < formats.get(form).bits * np.log10(2) - 3
]


@pytest.mark.parametrize(
    ("form", "digits"),
    mostly_slow(CASES, [("complex128", 10), ("cdd", 10), ("cdd", 28)], "formats differ alike"),
)
def test_bounds_hold_and_are_sharp(form: str, digits: int, device: Device) -> None:
    """Up to condition numbers near the format's limit, by inverses of as few limbs as do."""
    sizes = mp.array(10.0 ** -np.linspace(0, digits, N), "qd", device)
    a = conditioned(form, N, sizes, device)
    b = numbers(np.random.default_rng(2), form, device, N, 2)
    found = mp.linalg.solve(a, b, certify=True)
    assert found.x.format is b.format and found.bound.format.name == b.format.word
    assert found.x.shape == found.bound.shape == b.shape
    assert covered(found, a, b) <= 64 * b.format.unit_roundoff
    short = formats.get(found.info.format)
    assert short.components == 2
    assert digits > 0.7 * (short.limbs - 1) * formats.get(b.format.word).bits * np.log10(2)
    assert found.info.corrections > 0 and found.info.contraction < 1


def hostile() -> dict[str, tuple[Any, Any]]:
    """Both parts of matrices: graded, of parts of other sizes, near singular ones, with growth."""
    rng = np.random.default_rng(5)
    p, q = (rng.standard_normal((N, N)) for _ in range(2))
    rows, columns = (2.0 ** np.linspace(-k, k, N).astype(int) for k in (90, 60))
    scale = rows[:, None] * columns
    places = np.arange(1, N + 1)
    cauchy = 1 / (places[:, None] + 1j * places)
    close = p + 1j * q
    close[:, 1] = 1j * close[:, 0] + 2.0**-40 * close[:, 1]
    growing = np.tril(np.full((N, N), -1j), -1) + np.eye(N)
    growing[:, -1] = 1
    return {
        "graded": (scale * p, scale * q),
        "columns": (columns * p, columns[::-1] * q),
        "small imaginary": (p, 2.0**-70 * q),
        "large imaginary": (2.0**-70 * p, q),
        "imaginary": (0 * p, q),
        "real": (p, 0 * q),
        "turned": (p, p + 2.0**-30 * q),
        "cauchy": (cauchy.real, cauchy.imag),
        "close": (close.real, close.imag),
        "growing": (growing.real, growing.imag),
        "large": (2.0**500 * p, 2.0**500 * q),
        "small": (2.0**-500 * p, 2.0**-500 * q),
    }


@pytest.mark.parametrize("kind", hostile())
def test_hostile_matrices(kind: str, device: Device) -> None:
    a = whole(*hostile()[kind], "cdd", device)
    x = numbers(np.random.default_rng(8), "cdd", device, N) / abs(a).max(axis=0)
    b = (a @ x)[:, None] * mp.array([1, 2.0**-20], "dd", device)
    assert covered(mp.linalg.solve(a, b, certify=True), a, b) < 1e-29


def test_errors_of_both_parts_count(device: Device) -> None:
    """Where both parts have the same error, it is the root of two times that."""
    for form in ("complex64", "complex128", "cdd"):
        a, b = mp.array([[3]], form, device), mp.array([1 + 1j], form, device)
        assert covered(mp.linalg.solve(a, b, certify=True), a, b[:, None]) > 0
    # A real matrix stays real, whose bounds are those of the parts.
    for side in (b[:, None], b):
        found = mp.linalg.solve(a.real, side, certify=True)
        assert found.x.shape == found.bound.shape == side.shape and found.info.format == "float64"
        assert covered(found, a, b[:, None]) < 1e-31
    near = mp.linalg.solve(a.real, b, refine=True)
    assert near.info.format == "float64" and float(abs(near.x - b / 3).max()) < 1e-31


def test_whole_numbers(device: Device) -> None:
    """Where the solution is a number of the format, x is it, and the bound hardly above 0."""
    a = mp.array([[2, 1j, 0], [0, -4j, 0], [1 - 1j, 0, 8]], "cdd", device)
    x = mp.array([3, 1j, -0.25 + 1j], "cdd", device)
    found = mp.linalg.solve(a, a @ x, certify=True)
    assert (found.x == x).all() and float(found.bound.max()) <= 1e-40
    none = mp.linalg.solve(a[:0, :0], a[:0, :0], certify=True)
    assert none.x.shape == none.bound.shape == (0, 0) and none.bound.format.name == "float64"


@pytest.mark.parametrize("short", ["complex128", "cdd"])
def test_what_the_proof_is_made_of(short: str, device: Device) -> None:
    """|C| w and |R r| are not above what is taken for them, whatever R is."""
    rng = np.random.default_rng(11)
    for size in (1.0, 2.0**-45):
        a = numbers(rng, "cdd", device, 4, 4)
        r = mp.array([[1 + 0.9j]], short, device) * numbers(rng, short, device, 4, 4) * size
        inverse = certified._Inverse(a, r)
        weights = np.array([[1.0], [2.0**-30], [3.0], [0.25]])
        parts = [[rational(x.real), rational(x.imag)] for x in (r, a)]
        (p, q), (s, t) = parts
        one = flint.fmpq_mat([[flint.fmpq(i == j) for j in range(4)] for i in range(4)])
        real, imaginary = fractions(one - (p * s - q * t)), fractions(-(p * t + q * s))
        found = inverse.of_weights(weights)
        for i in range(4):
            sizes = [x**2 + y**2 for x, y in zip(real[i], imaginary[i], strict=True)]
            least = sum(
                float(v) ** 0.5 * (1 - 1e-15) * w for v, w in zip(sizes, weights[:, 0], strict=True)
            )
            assert least <= found[i, 0] <= 1.5 * least, i
        v = numbers(rng, "cdd", device, 4, 1) * size
        x, y = rational(v.real), rational(v.imag)
        real, imaginary = fractions(p * x - q * y), fractions(p * y + q * x)
        image = inverse.image(v)
        for i in range(4):
            square = real[i][0] ** 2 + imaginary[i][0] ** 2
            assert square <= Fraction(image[i, 0]) ** 2 <= square * Fraction(101, 100)


def test_what_cannot_be_proved(device: Device) -> None:
    """Singular matrices, also those that rounding hides; condition numbers beyond the format."""
    rng = np.random.default_rng(3)
    b = mp.array(np.ones(6), "cdd", device)
    singular = rng.integers(-9, 9, (6, 6)) + 1j * rng.integers(-9, 9, (6, 6))
    singular[5] = 1j * singular[0] - (2 - 1j) * singular[3]
    with pytest.raises(ArgumentError, match=r"cannot be proved regular in cdd|singular: the pivot"):
        mp.linalg.solve(mp.array(singular, "cdd", device), b, certify=True)
    hard = conditioned("cdd", 6, mp.array(10.0 ** -np.linspace(0, 40, 6), "qd", device), device)
    with pytest.raises(ArgumentError, match=r"cannot be proved regular in cdd.*more bits"):
        mp.linalg.solve(hard, b, certify=True)
    eye = mp.array(np.eye(6), "cdd", device)
    for option in ("refine", "certify"):
        chosen: Any = {option: True}
        for spoilt in (complex(1, math.nan), complex(1, math.inf)):
            with pytest.raises(ArgumentError, match="infinities or NaN"):
                mp.linalg.solve(eye, b * spoilt, **chosen)
        with pytest.raises(ShapeError, match=re.escape(f"{option} takes one matrix")):
            mp.linalg.solve(eye[None], b, **chosen)


def test_bits_are_those_of_the_host(device: Device) -> None:
    """x, bounds and what is told of them, of both."""
    seen = set()
    for one in (device, discovery.get("host")):
        a = conditioned("cdd", 6, mp.array(10.0 ** -np.linspace(0, 12, 6), "qd", one), one)
        b = numbers(np.random.default_rng(1), "cdd", one, 6)
        proved, near = mp.linalg.solve(a, b, certify=True), mp.linalg.solve(a, b, refine=True)
        planes = [*proved.x.to_limbs(), *proved.bound.to_limbs(), *near.x.to_limbs()]
        seen.add((proved.info, near.info, b"".join(plane.tobytes() for plane in planes)))
    assert len(seen) == 1


# --- refinement -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "digits", "limbs"),
    mostly_slow(
        [("complex128", 8, 1), ("cdd", 10, 1), ("cdd", 22, 2), ("ctd", 22, 2), ("cqs", 4, 1)],
        [("cdd", 10, 1), ("cdd", 22, 2)],
        "the same steps",
    ),
)
def test_refinement(form: str, digits: int, limbs: int, device: Device) -> None:
    """Factors of as few limbs as do; the error is within the estimated bound."""
    a = conditioned(form, N, mp.array(10.0 ** -np.linspace(0, digits, N), "qd", device), device)
    b = numbers(np.random.default_rng(4), form, device, N, 2)
    x, info = mp.linalg.solve(a, b, refine=True)
    short = formats.get(info.format)
    assert (short.limbs, short.components, x.format) == (limbs, 2, b.format)
    assert info.backward <= N * a.format.unit_roundoff
    long = mp.linalg.solve(a.astype("cqd"), b.astype("cqd"))
    error = abs(x.astype("cqd") - long).max(0) / abs(long).max(0)
    assert float(error.max()) <= info.bound
    assert 10.0**digits / N <= info.condition <= 10.0 ** (digits + 2)


def test_first_limbs_are_of_both_parts(device: Device) -> None:
    """A view of the same memory."""
    z = numbers(np.random.default_rng(6), "cqd", device, 3)
    for form in map(formats.get, ("complex128", "cdd", "ctd")):
        near = refinement.first_limbs(z, form)
        kept = [half[: form.limbs] for half in (z.real.to_limbs(), z.imag.to_limbs())]
        for one, other in zip(near.to_limbs(), [*kept[0], *kept[1]], strict=True):
            np.testing.assert_array_equal(one, other)
    assert [f.name for f in refinement.shorter(z.format)] == ["complex128", "cdd", "ctd", "cqd"]


def test_refinement_by_gmres(device: Device) -> None:
    """One singular value beyond the reach of complex128's factors: no limb more is taken."""
    n = 130
    sizes = mp.array([*np.linspace(1, 0.1, n - 1), 1e-19], "qd", device)
    a = conditioned("cdd", n, sizes, device)
    b = numbers(np.random.default_rng(7), "cdd", device, n)
    x, info = mp.linalg.solve(a, b, refine=True)
    assert info.format == "complex128" and 0 < info.iterations <= 8
    assert info.backward <= n * a.format.unit_roundoff
    long = mp.linalg.solve(a.astype("ctd"), b.astype("ctd"))
    assert float(abs(x.astype("ctd") - long).max() / abs(long).max()) <= info.bound
    assert 1e18 <= info.condition <= 1e22
