"""QR, least squares, eigenvalues and singular values of complex matrices: exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import TWICE, mostly_slow, on_two_devices, slow

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, LinAlgError

flint = pytest.importorskip("flint")
mpmath = pytest.importorskip("mpmath")

FORMATS = mostly_slow(formats.COMPLEX, ("complex64", "cdd"), "the same kernels of other parts")
CONSTANT = 10
"""Of the bounds n c u^N."""
SHAPES = [(12, 9), (7, 11)]


class Exact:
    """A complex matrix of rational parts."""

    def __init__(self, real: Any, imaginary: Any) -> None:
        self.parts = real, imaginary

    def __matmul__(self, other: Exact) -> Exact:
        (p, q), (r, s) = self.parts, other.parts
        return Exact(p * r - q * s, p * s + q * r)

    def __sub__(self, other: Exact) -> Exact:
        return Exact(*(x - y for x, y in zip(self.parts, other.parts, strict=True)))

    @property
    def adjoint(self) -> Exact:
        real, imaginary = (x.transpose() for x in self.parts)
        return Exact(real, imaginary * flint.fmpq(-1))

    @property
    def doubled(self) -> Any:
        """The real matrix [p, -q; q, p]."""
        p, q = (x.tolist() for x in self.parts)
        rows = [[*x, *(-z for z in y)] for x, y in zip(p, q, strict=True)]
        rows += [[*y, *x] for x, y in zip(p, q, strict=True)]
        return flint.fmpq_mat(rows)

    def columns(self) -> list[Fraction]:
        """Sums of squares of columns."""
        totals = [Fraction(0)] * self.parts[0].ncols()
        for row in (row for part in self.parts for row in part.tolist()):
            totals = [
                t + Fraction(int(v.p), int(v.q)) ** 2 for t, v in zip(totals, row, strict=True)
            ]
        return totals

    def square(self) -> Fraction:
        return sum(self.columns(), Fraction(0))


def rational(x: mp.Array) -> Any:
    rows = [[flint.fmpq(v.numerator, v.denominator) for v in row] for row in x.to_fractions()]
    return flint.fmpq_mat(rows)


def exact(z: mp.Array) -> Exact:
    if z.format.components == 1:
        real = rational(z)
        return Exact(real, real - real)
    return Exact(rational(z.real), rational(z.imag))


def integers(z: np.ndarray[Any, Any]) -> Exact:
    """Of Gaussian integers."""
    parts = (part.astype(int).tolist() for part in (z.real, z.imag))
    return Exact(*(flint.fmpq_mat(flint.fmpz_mat(part)) for part in parts))


def one(n: int) -> Exact:
    return integers(np.eye(n, dtype=complex))


def gaussian(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Gaussian integers."""
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)


def made(form: str, device: Device | str, z: np.ndarray[Any, Any]) -> mp.Array:
    """NumPy's numbers, which a format of two float32 limbs holds, too."""
    return mp.array(z, "complex128", device).astype(form)


def matrices(m: int, n: int) -> dict[str, np.ndarray[Any, Any]]:
    column, row = gaussian(1, m, 1), gaussian(2, 1, n)
    return {
        "any": gaussian(3, m, n),
        "real": gaussian(4, m, n).real + 0j,
        "imaginary": 1j * gaussian(5, m, n).real,
        "equal": np.full((m, n), 1 - 1j),
        "of rank 1": column * row,
        "of rank 3": gaussian(6, m, 3) @ gaussian(7, 3, n),
        "of sizes far apart": column * row * np.ldexp(1.0, -2 * np.arange(n)) + np.eye(m, n),
        "with zeros": column * row * (np.arange(n) % 3 > 0),
        "zero": np.zeros((m, n), complex),
    }


def orthonormal(q: mp.Array, unit: Fraction) -> bool:
    """Whether columns are, within this."""
    found = exact(q)
    return (found.adjoint @ found - one(q.shape[1])).square() <= unit**2


def positive(v: mp.Array) -> bool:
    """Whether the largest element of each column, one of those that are hardly smaller, is."""
    size, host = abs(v).to_float64(), v.to_numpy()
    real = (size > size.max(axis=0) * (1 - 1e-6)) & (host.imag == 0) & (host.real > 0)
    return bool(real.any(axis=0).all())


def unit_of(a: mp.Array) -> Fraction:
    return Fraction(CONSTANT * max(a.shape[-2:]) * a.format.unit_roundoff)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", FORMATS)
def test_qr(device: Device, form: str, shape: tuple[int, int]) -> None:
    """Q is unitary, columns' errors are those of their own sizes, R's diagonal is real."""
    for name, given in matrices(*shape).items():
        a = made(form, device, given)
        unit, whole, k = unit_of(a), exact(a), min(shape)
        q, r = mp.linalg.qr(a)
        ways = [(q, r, whole), (*mp.linalg.qr(a, "complete"), whole)]
        pivoted = mp.linalg.qr(a, pivoting=True)
        ways.append((pivoted.Q, pivoted.R, exact(made(form, device, given[:, pivoted.P]))))
        for left, right, wanted in ways:
            assert orthonormal(left, unit), name
            error = (wanted - exact(left) @ exact(right)).columns()
            for wrong, size in zip(error, wanted.columns(), strict=True):
                assert wrong <= unit**2 * size, name
            host = right.to_numpy()
            assert not np.tril(host, -1).any() and not np.diag(host).imag.any()
        assert bool((mp.linalg.qr(a, "r") == r).all())
        size = abs(np.diag(pivoted.R.to_numpy()[:k]))
        assert (size[1:] <= size[:-1] * (1 + 1e-5)).all()


def test_qr_of_blocks_and_stacks(device: Device) -> None:
    """Several panels; a stack is as its matrices."""
    z = gaussian(8, 2, 70, 66)
    a = made("cts", device, z)
    q, r = mp.linalg.qr(a)
    assert float(abs(a - q @ r).max()) < 1e-18
    assert float(abs(q.conj().mT @ q - mp.eye(66, dtype="cts", device=device)).max()) < 1e-19
    alone = mp.linalg.qr(a[1])
    assert bool((q[1] == alone.Q).all()) and bool((r[1] == alone.R).all())


@pytest.mark.parametrize(("m", "n", "rank"), [(9, 4, 4), (4, 9, 4), (9, 5, 3), (5, 9, 3)])
def test_least_squares(device: Device, m: int, n: int, rank: int) -> None:
    """The smallest x of all that minimise, and pseudoinverses, against exact ones."""
    left, right, sides = gaussian(m, m, rank), gaussian(n, rank, n), gaussian(3, m, 2)
    a, b = made("cdd", device, left @ right), made("cdd", device, sides)
    f, g = integers(left), integers(right)

    def inverse(x: Exact) -> Exact:
        top = x.doubled.inv().tolist()[:rank]
        real, minus = (flint.fmpq_mat([row[i : i + rank] for row in top]) for i in (0, rank))
        return Exact(real, minus * flint.fmpq(-1))

    pseudo = g.adjoint @ inverse(g @ g.adjoint) @ inverse(f.adjoint @ f) @ f.adjoint
    found = mp.linalg.lstsq(a, b)
    assert found.rank == rank
    assert (exact(found.x) - pseudo @ integers(sides)).square() < Fraction(1, 10**46)
    assert (exact(mp.linalg.pinv(a)) - pseudo).square() < Fraction(1, 10**46)
    rest = (exact(b) - exact(a) @ exact(found.x)).columns()
    assert found.residuals.format == "dd"
    for value, wanted in zip(found.residuals.to_fractions(), rest, strict=True):
        assert abs(value - wanted) <= Fraction(1, 10**28) * max(wanted, Fraction(1, 10**30))
    assert bool((mp.linalg.lstsq(a, b[:, 0]).x == found.x[:, 0]).all())
    real = mp.linalg.lstsq(a.real.copy(), b)
    assert np.allclose(real.x.to_numpy(), np.linalg.pinv((left @ right).real) @ sides)


def mirrored(n: int, steep: int = 0) -> np.ndarray[Any, Any]:
    """|v|^2 - 2 v v^H: eigenvalues |v|^2, n - 1 times, and -|v|^2; or a graded matrix."""
    v = gaussian(n, n, 1)
    if steep:
        scale = np.ldexp(1.0, -steep * np.arange(n))
        return (v @ v.conj().T + 9 * np.eye(n)) * scale[:, None] * scale
    return float((abs(v) ** 2).sum().round()) * np.eye(n) - 2 * v @ v.conj().T


def hermitian(n: int) -> dict[str, np.ndarray[Any, Any]]:
    z = gaussian(n, n, n)
    return {
        "any": z + z.conj().T,
        "n - 1 equal": mirrored(n),
        "graded": mirrored(n, 2),
        "pairs": np.kron(np.eye(n // 2), np.array([[2, 1j], [-1j, 2]])),
        "diagonal": np.diag(np.arange(n) % 3 + 0j),
        "zero": np.zeros((n, n), complex),
    }


@pytest.mark.parametrize("form", FORMATS)
def test_eigenvalues_and_vectors(device: Device, form: str) -> None:
    """Residuals, and vectors orthonormal although eigenvalues are equal; values ascend."""
    for name, z in hermitian(8).items():
        a = made(form, device, z)
        w, v = mp.linalg.eigh(a)
        unit, size = unit_of(a), exact(a).square()
        assert w.format is a.format.component and v.format is a.format
        assert orthonormal(v, unit), name
        n = a.shape[0]
        values = exact(mp.eye(n, dtype=w.format, device=device) * w)
        assert (exact(a) @ exact(v) - exact(v) @ values).square() <= unit**2 * size, name
        assert positive(v)
        assert (np.diff(w.to_float64()) >= 0).all()
        assert float(abs(mp.linalg.eigvalsh(a) - w).max()) <= float(unit) * math.sqrt(float(size))
    w = mp.linalg.eigvalsh(made(form, device, mirrored(8)))
    most = float(abs(mirrored(8)[0, 0] + 2 * abs(gaussian(8, 8, 1)[0, 0]) ** 2).round())
    wanted = mp.array([-most] + [most] * 7, w.format, device)
    assert float(abs(w - wanted).max()) <= most * float(unit_of(made(form, device, mirrored(8))))


def test_eigenvalues_to_all_digits(device: Device) -> None:
    """mpmath's in 90 digits; of either triangle, the diagonal's imaginary parts are not read."""
    z = hermitian(6)["any"]
    with mpmath.workdps(90):
        wanted = mpmath.eighe(mpmath.matrix(z.tolist()), eigvals_only=True)
        wanted = sorted(Fraction(*map(int, mpmath.libmp.to_rational(x._mpf_))) for x in wanted)
    rough = np.tril(z, -1) + np.triu(np.full((6, 6), np.nan), 1) + np.diag(np.diag(z) + 5j)
    for form in ("cqd", "cdd", "cqs"):
        a = made(form, device, z)
        for given, part in ((a, "L"), (made(form, device, rough), "L"), (a, "U")):
            found = mp.linalg.eigvalsh(given, UPLO=part).to_fractions()
            errors = [abs(x - y) for x, y in zip(found, wanted, strict=True)]
            assert max(errors) <= unit_of(a) * 60
    assert np.allclose(np.linalg.eigvalsh(a), np.linalg.eigvalsh(z))


def test_pairs_of_matrices(device: Device) -> None:
    """a x = w b x by either triangle, in the format where both meet."""
    z = gaussian(16, 4, 4)
    a = made("cdd", device, z + z.conj().T)
    b = made("cdd", device, z @ z.conj().T + 9 * np.eye(4))
    unit = float(unit_of(a)) * 1e3
    for part in "LU":
        w, v = mp.linalg.eigh(a, b, part)
        product = b @ v
        assert float(abs(a @ v - product * w).max()) <= unit
        one = mp.eye(4, dtype="cdd", device=device)
        assert float(abs(v.conj().mT @ product - one).max()) <= unit
    alone = mp.linalg.eigvalsh(a, mp.eye(4, dtype="dd", device=device))
    assert float(abs(alone - mp.linalg.eigvalsh(a)).max()) <= unit


@slow("the same by other pairs of blocks", unless=lambda p: p["name"] == "n - 1 equal")
@pytest.mark.parametrize("name", ["any", "n - 1 equal", "pairs"])
def test_larger_spectra(device: Device, name: str) -> None:
    """By blocks of columns and by corrections of the first limb's vectors, clusters too."""
    z = hermitian(70)[name]
    for form in ("cdd", "complex128"):
        a = made(form, device, z)
        unit, size = float(unit_of(a)), float(np.linalg.norm(z, 2))
        w, v = mp.linalg.eigh(a)
        eye = mp.eye(70, dtype=v.format, device=device)
        assert float(abs(v.conj().mT @ v - eye).max()) <= unit
        assert float(abs(a @ v - v * w).max()) <= unit * size
        u, s, vh = mp.linalg.svd(a)
        assert float(abs(a - (u * s) @ vh).max()) <= unit * size
        for side in (u, vh):
            assert float(abs(side @ side.conj().mT - eye).max()) <= unit
        assert float(abs(mp.sort(abs(w), descending=True) - s).max()) <= 2 * unit * size


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", FORMATS)
def test_singular_values_and_vectors(device: Device, form: str, shape: tuple[int, int]) -> None:
    """The matrix is their product, both sides are unitary; ranks."""
    for name, z in matrices(*shape).items():
        a, k = made(form, device, z), min(shape)
        unit, size = unit_of(a), exact(a).square()
        u, s, vh = mp.linalg.svd(a)
        assert s.format is a.format.component and (u.shape[0], vh.shape[0]) == shape
        assert orthonormal(u, unit) and orthonormal(vh.mT, unit), name
        error = exact(a) - exact(u[:, :k] * s) @ exact(vh[:k])
        assert error.square() <= unit**2 * size, name
        assert (np.diff(s.to_float64()) <= 0).all()
        assert positive(vh[:k].mT)
        thin = mp.linalg.svd(a, full_matrices=False)
        assert bool((u[:, :k] == thin.U).all()) and bool((mp.linalg.svdvals(a) == s).all())
        if name != "of sizes far apart":
            assert mp.linalg.matrix_rank(a) == np.linalg.matrix_rank(z), name


def test_columns_of_rounding_errors(device: Device) -> None:
    """Their products vanish but for a few bits, and vectors are orthonormal all the same."""
    a = made("cts", device, matrices(12, 9)["equal"])
    u, s, vh = mp.linalg.svd(a)
    assert orthonormal(u, unit_of(a)) and orthonormal(vh.mT, unit_of(a))
    assert float(s[1]) <= float(unit_of(a)) * float(s[0])


def test_singular_values_to_all_digits(device: Device) -> None:
    """mpmath's in 80 digits, small ones of columns of different scales too."""
    z = gaussian(9, 6, 5) * np.ldexp(1.0, -8 * np.arange(5))
    with mpmath.workdps(110):
        s = mpmath.svd_c(mpmath.matrix(z.tolist()), compute_uv=False)
        wanted = [Fraction(*map(int, mpmath.libmp.to_rational(x._mpf_))) for x in s]
    a = made("cqd", device, z)
    for found, exactly in zip(mp.linalg.svdvals(a).to_fractions(), wanted, strict=True):
        assert abs(found / exactly - 1) <= unit_of(a) * 60


def test_norms_and_conditions_are_numpys(device: Device) -> None:
    z = gaussian(11, 2, 5, 5)
    a = made("cdd", device, z)
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        found = mp.linalg.norm(a, order, axis=(1, 2))
        assert found.format == "dd"
        assert np.allclose(found.to_float64(), np.linalg.norm(z, order, axis=(1, 2)), 1e-13)
    inverses = mp.linalg.pinv(a, rtol=[0.5, 1e-9]).to_numpy()
    assert np.allclose(inverses[1], np.linalg.inv(z[1])) and np.linalg.matrix_rank(inverses[0]) < 5
    for order in (None, 2, -2, "fro"):
        assert np.allclose(mp.linalg.cond(a, order).to_float64(), np.linalg.cond(z, order), 1e-12)
    for order in (1, math.inf):  # estimated from below
        ratio = mp.linalg.cond(a, order).to_float64() / np.linalg.cond(z, order)
        assert (ratio > 0.5).all() and (ratio < 1 + 1e-12).all()
    s = np.linalg.svd(a[0], hermitian=False)[1]
    assert np.allclose(s, np.linalg.svd(z[0])[1])
    square = a[0] @ a[0].conj().T
    by_eigenvalues = mp.linalg.svd(square, hermitian=True)
    error = square - (by_eigenvalues.U * by_eigenvalues.S) @ by_eigenvalues.Vh
    assert float(abs(error).max()) < 1e-27


def test_nothing_and_one(device: Device) -> None:
    for n in (0, 1):
        a = made("cdd", device, np.full((n, n), 3 - 4j))
        q, r = mp.linalg.qr(a)
        assert q.shape == r.shape == (n, n)
        assert mp.linalg.eigh(a).eigenvalues.tolist() == [3.0] * n
        assert mp.linalg.svdvals(a).tolist() == [5.0] * n
    assert mp.linalg.pinv(mp.zeros((0, 3), "cdd", device)).shape == (3, 0)
    assert mp.linalg.lstsq(mp.zeros((3, 0), "cdd", device), mp.ones(3, "cdd", device)).rank == 0
    assert float(abs(q @ r - a).max()) < 1e-31
    assert r.imag.tolist() == [[0.0]]


def test_what_is_not_finite(device: Device) -> None:
    z = gaussian(12, 4, 4)
    for bad in (complex(0, math.nan), complex(math.inf, 0)):
        given = z.copy()
        given[2, 1] = bad
        a = made("cdd", device, given)
        for function in (mp.linalg.eigh, mp.linalg.svd, mp.linalg.svdvals, mp.linalg.pinv):
            with pytest.raises(LinAlgError, match="infinities or NaN"):
                function(a)
        assert np.isnan(mp.linalg.qr(a).R.to_numpy()).any()
    huge = made("cdd", device, np.full((2, 2), 1e308 + 1e308j))
    found = mp.linalg.svdvals(huge / 4)
    assert np.allclose((found / 1e300).to_float64(), [1e8 / math.sqrt(2), 0])


@slow(TWICE, unless=on_two_devices(2))
@slow("digests show it of every format", unless=lambda p: p["form"] == "complex64")
@pytest.mark.parametrize("form", formats.COMPLEX)
def test_bits_are_the_hosts(every_device: Device, form: str) -> None:
    """Of a matrix and a stack: factors, vectors and values."""
    given = [gaussian(13, 2, 6, 5) / 7, gaussian(14, 4, 4) / 3]
    calls: list[tuple[Any, int]] = [(mp.linalg.qr, 0), (mp.linalg.svd, 0), (mp.linalg.eigh, 1)]
    for function, which in calls:
        found, wanted = (function(made(form, on, given[which])) for on in (every_device, "host"))
        for mine, theirs in zip(found, wanted, strict=True):
            for plane, reference in zip(mine.to_limbs(), theirs.to_limbs(), strict=True):
                assert plane.tobytes() == reference.tobytes()


def test_refusals(device: Device) -> None:
    a = made("cdd", device, gaussian(15, 3, 3))
    with pytest.raises(ArgumentError, match=r"ord 1 of matrices, whose error has no bound here"):
        mp.linalg.norm(a, 1, bound=True)
