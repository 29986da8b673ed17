"""Eigenvectors of general matrices, complex matrices, Schur's complex form, complex roots."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from slow import TWICE, on_two_devices, slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import FormatError, LinAlgError, MatrixShapeError, ShapeError
from portmp.routines.schur import launch, reference

flint = pytest.importorskip("flint")

CONSTANT = 40
"""Of the bounds n c u^N |a|."""
PARTS = [formats.get(name).component.name for name in formats.COMPLEX]
USUAL = ("float32", "qs", "dd", "ctd")
EACH = slow("formats seldom fail apart", unless=lambda p: p["form"] in USUAL)
FORMS = [*PARTS, *formats.COMPLEX]
Exact = list[list[tuple[Fraction, Fraction]]]


def exactly(x: mp.Array) -> Exact:
    """The elements of a matrix."""
    real = x.real.to_fractions()
    imaginary = (
        x.imag.to_fractions() if x.format.components > 1 else np.zeros(x.shape, int).tolist()
    )
    rows = zip(real, imaginary, strict=True)
    return [[(Fraction(p), Fraction(q)) for p, q in zip(*row, strict=True)] for row in rows]


def of_flint(x: Exact) -> Any:
    """A matrix of balls that are points."""
    flint.ctx.prec = 1200

    def ratio(v: Fraction) -> Any:
        return flint.arb(flint.fmpq(v.numerator, v.denominator))

    entries = [flint.acb(ratio(p), ratio(q)) for row in x for p, q in row]
    return flint.acb_mat(len(x), len(x[0]), entries)


def length(x: Any) -> float:
    """The root of the sum of squares."""
    entries = (float(abs(v).mid()) for row in x.tolist() for v in row)
    return math.sqrt(sum(v * v for v in entries))


def check(a: mp.Array, balanced: float = 1.0) -> mp.linalg.LeftEig:
    """Residuals of all vectors, lengths and phases, in 1200 bits.

    *balanced*: how much larger the matrix is than it would be balanced.
    """
    found = mp.linalg.eig(a, left=True)
    n, unit = len(a), CONSTANT * len(a) * a.format.unit_roundoff
    values, left, right = found
    alone = mp.linalg.eig(a)
    assert alone.eigenvalues.tolist() == mp.linalg.eigvals(a).tolist() == values.tolist()
    assert alone.eigenvectors.tolist() == right.tolist()
    matrix, v, y = (of_flint(exactly(x)) for x in (a, right, left))
    diagonal = of_flint(exactly(values[None]))
    size = length(matrix) * balanced
    scaled = flint.acb_mat(n, n, [v[i, j] * diagonal[0, j] for i, j in np.ndindex(n, n)])
    assert length(matrix * v - scaled) <= unit * size * math.sqrt(n)
    adjoint = flint.acb_mat(n, n, [y[j, i].conjugate() for i, j in np.ndindex(n, n)])
    scaled = flint.acb_mat(n, n, [adjoint[i, j] * diagonal[0, i] for i, j in np.ndindex(n, n)])
    assert length(adjoint * matrix - scaled) <= unit * size * math.sqrt(n)
    for vectors in (right, left):
        lengths = mp.linalg.norm(abs(vectors), axis=0)
        assert float(abs(lengths - 1).max()) <= unit
        # Of others as large but for their errors any one may be the real one.
        near = abs(vectors).max(axis=0) - abs(vectors) <= CONSTANT * unit
        assert (near & (vectors.imag == 0) & (vectors.real > 0)).any(axis=0).all()
    if a.format.components == 1:
        check_pairs(found)
    return found


def check_pairs(found: mp.linalg.LeftEig) -> None:
    """Values and vectors of real matrices are real, or conjugate in pairs, to the last bit."""
    imaginary = found.eigenvalues.imag.to_limbs()[0]
    for x in (found.left, found.eigenvectors, found.eigenvalues[None]):
        assert (x[:, imaginary == 0].imag == 0).all()
        firsts = np.flatnonzero(imaginary > 0)
        one, other = x[:, firsts], x[:, firsts + 1]
        assert (one.real == other.real).all() and (one.imag == -other.imag).all()


def random(form: str, shape: tuple[int, ...], seed: int = 3) -> np.ndarray[Any, Any]:
    """Numbers of all sizes of a vector space's usual example, complex for complex formats."""
    rng = np.random.default_rng(seed)
    real = rng.standard_normal(shape)
    return real + 1j * rng.standard_normal(shape) if formats.get(form).components > 1 else real


@EACH
@pytest.mark.parametrize("form", FORMS)
def test_every_format(device: Device, form: str) -> None:
    """Random matrices; whole numbers with known eigenvalues, similar by unimodular matrices."""
    check(mp.array(random(form, (7, 7)), form, device))
    complex_ones = formats.get(form).components > 1
    blocks = [[2, -5], [5, 2]], [[-1, 1], [-1, -1]], [[7]]
    d = np.zeros((5, 5), object)
    for block, at in zip(blocks, (0, 2, 4), strict=True):
        d[at : at + len(block), at : at + len(block)] = block
    known = [2 + 5j, 2 - 5j, -1 + 1j, -1 - 1j, 7]
    if complex_ones:
        d[4, 4], known[4] = 7 + 3j, 7 + 3j
    lower, upper = np.eye(5, dtype=object), np.eye(5, dtype=object)
    lower[np.tril_indices(5, -1)] = [1, 0, 2, -1, 1, 0, 1, 0, -2, 1]
    upper[np.triu_indices(5, 1)] = [0, 1, -1, 0, 2, 0, 1, 1, 0, -1]
    product, inverse = lower @ upper, exact_inverse(upper) @ exact_inverse(lower)
    a = product @ d @ inverse
    assert (product @ inverse == np.eye(5, dtype=object)).all()
    given = mp.array(a.astype(complex if complex_ones else float), form, device)
    found = check(given)
    size = float(mp.linalg.norm(abs(given.astype(formats.complex_of(given.format)))))
    unit = CONSTANT * 5 * given.format.unit_roundoff * size
    y, x = found.left, found.eigenvectors
    conditions = 1 / abs((y.conj() * x).sum(axis=0))
    for value in known:
        far = abs(found.eigenvalues - value)
        at = int(far.argmin())
        assert float(far[at]) <= unit * float(conditions[at])


def exact_inverse(triangle: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of a triangle with ones on its diagonal, of whole numbers."""
    n = len(triangle)
    less = triangle - np.eye(n, dtype=object)
    total, power = np.eye(n, dtype=object), np.eye(n, dtype=object)
    for _ in range(n - 1):
        power = -power @ less
        total = total + power
    return np.asarray(total)


@pytest.mark.parametrize("form", ["dd", "cdd"])
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_sizes(device: Device, form: str, n: int) -> None:
    found = check(mp.array(random(form, (n, n), n), form, device))
    assert found.eigenvectors.format.name == found.eigenvalues.format.name == "cdd"


@EACH
@pytest.mark.parametrize("form", ["float32", "qs", "td", "cts", "complex128"])
def test_defective_matrices(device: Device, form: str) -> None:
    """Jordan blocks, whose vectors grow by 1 / u in each row, alone and turned."""
    n = 12
    block = np.eye(n) * 0.5 + np.eye(n, k=1)
    for given in (block, block.T, block - 0.5 * np.eye(n)):
        a = mp.array(given.astype(complex) if form.startswith("c") else given, form, device)
        found = check(a)
        first = 0 if given[0, 1] else n - 1
        assert float(abs(abs(found.eigenvectors[first]) - 1).max()) <= 8 * a.format.unit_roundoff
        assert (found.eigenvalues == given[0, 0]).all()
    turned = mp.array(random(form, (n, n)), form, device)
    q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))
    a = mp.array((q @ block @ q.T) * (1 + 0j if form.startswith("c") else 1), form, device)
    check(a)
    check(turned @ a @ mp.linalg.eig(turned).eigenvectors.real.astype(a.format))


def test_known_ones(device: Device) -> None:
    """Diagonals, triangles, zero, permutations, multiple values, graded ones."""
    numbers = mp.array(np.diag([3.0, -1, 3, 0]), "dd", device)
    found = check(numbers)
    assert found.eigenvalues.tolist() == [3, -1, 3, 0]
    assert (found.eigenvectors == mp.eye(4, dtype="dd", device=device)).all()
    assert (check(mp.zeros((3, 3), "cdd", device)).eigenvalues == 0).all()
    triangle = np.triu(np.random.default_rng(1).standard_normal((6, 6)))
    for given in (triangle, triangle.T, np.triu(random("cdd", (6, 6)))):
        form = "cdd" if given.dtype.kind == "c" else "dd"
        values = check(mp.array(given, form, device)).eigenvalues.to_numpy()
        assert np.allclose(np.sort(values), np.sort(np.diag(given)), atol=1e-14)
    for form in ("dd", "cdd"):  # whose first shifts are 0, and leave them as they are
        cycle = mp.array(np.roll(np.eye(5), 1, axis=0).astype(random(form, ()).dtype), form, device)
        values = check(cycle).eigenvalues
        assert float(abs(values**5 - 1).max()) < 1e-29
        twice = np.kron(np.eye(2), [[1, -2], [2, 1]])
        check(mp.array(twice.astype(random(form, ()).dtype), form, device))
    given = (
        random("dd", (6, 6)) * 2.0 ** (20 * np.arange(6.0)) / 2.0 ** (20 * np.arange(6.0)[:, None])
    )
    check(mp.array(given, "dd", device))  # balanced


def test_against_flint_and_mpmath(device: Device) -> None:
    """Values of complex matrices to their digits; of a circulant matrix, known."""
    given = random("cqd", (8, 8))
    a = mp.array(given, "cqd", device)
    found, flint_own = mp.linalg.eigvals(a), of_flint(exactly(a)).eig()
    for value in flint_own:
        assert (
            min(float(abs(value - w).mid()) for w in of_flint(exactly(found[None])).entries())
            < 1e-61
        )
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(80):
        other = mpmath.eig(mpmath.matrix(given.tolist()))[0]
        own = found.to_mpmath()
        assert max(min(abs(x - y) for y in own) for x in other) < mpmath.mpf(10) ** -61
    row = np.random.default_rng(5).integers(-9, 10, 9) + 1j * np.arange(9)
    circulant = np.array([np.roll(row, i) for i in range(9)])
    known = mp.fft.fft(mp.array(row, "cqd", device))
    values = mp.linalg.eigvals(mp.array(circulant, "cqd", device))
    assert max(float(abs(values - x.conj()).min()) for x in known.conj()) < 1e-60


def test_stacks(device: Device) -> None:
    """Each matrix as by itself, whatever pairs the others have; nothing."""
    for form in ("dd", "cdd"):
        a = mp.array(random(form, (2, 3, 5, 5)), form, device)
        a[0, 1] = mp.triu(a[0, 1])
        found = mp.linalg.eig(a, left=True)
        t, z = mp.linalg.schur(a, "complex")
        for i, j in np.ndindex(2, 3):
            for mine, whole in zip(mp.linalg.eig(a[i, j], left=True), found, strict=True):
                assert mine.tolist() == whole[i, j].tolist()
            for mine, whole in zip(mp.linalg.schur(a[i, j], "complex"), (t, z), strict=True):
                assert mine.tolist() == whole[i, j].tolist()
        for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
            nothing = mp.zeros(shape, form, device)
            values, vectors = mp.linalg.eig(nothing)
            assert values.shape == shape[:-1] and vectors.shape == shape
            assert mp.linalg.schur(nothing, "complex").T.shape == shape


@EACH
@pytest.mark.parametrize("form", FORMS)
def test_schurs_complex_form(device: Device, form: str) -> None:
    """Triangular, unitary, and the matrix; of a real one the same from its real form."""
    for given in (random(form, (7, 7)), np.ones((5, 5)) * random(form, ())):
        a = mp.array(given, form, device)
        found = mp.linalg.schur(a, "complex")
        assert found.T.format.components == found.Z.format.components == 2
        assert (mp.tril(found.T, -1) == 0).all()
        t, z, matrix = (of_flint(exactly(x)) for x in (*found, a))
        n, unit = len(a), CONSTANT * len(a) * a.format.unit_roundoff
        turned = z.conjugate().transpose()
        one = flint.acb_mat(n, n, [int(i == j) for i, j in np.ndindex(n, n)])
        assert length(turned * z - one) <= unit
        assert length(z * t * turned - matrix) <= unit * length(matrix)
        again = mp.linalg.rsf2csf(*mp.linalg.schur(a))
        assert again.T.tolist() == found.T.tolist() and again.Z.tolist() == found.Z.tolist()


def test_forms_of_blocks_with_real_values(device: Device) -> None:
    """``rsf2csf`` of blocks that another library left: real values, hardly anything below."""
    for block in ([[1.0, 2], [3, 4]], [[4.0, -2], [1e-30, 4]], [[0.0, 1e200], [-1e-200, 0]]):
        a = mp.array(block, "dd", device)
        t, z = mp.linalg.rsf2csf(a, mp.eye(2, dtype="dd", device=device))
        size = float(abs(a).max())
        assert float(abs(z @ t @ z.mT.conj() - a).max()) <= 1e-30 * size
        assert float(abs(z.mT.conj() @ z - mp.eye(2, dtype="cdd", device=device)).max()) < 1e-30
        assert (t[1, 0] == 0).all()


def test_complex_roots(device: Device) -> None:
    """Polynomials by their roots, and roots by their polynomials."""
    roots = mp.array(["1+2j", "1-2j", "3", "-1j", "1j"], "cqd", device)
    p = mp.poly(roots)
    assert p.format.name == "qd" and p.tolist() == [1, -5, 12, -20, 11, -15]
    found = mp.roots(p)
    assert max(float(abs(found - x).min()) for x in roots) < 1e-60
    imaginary = found.imag.to_limbs()[0]
    assert (imaginary == 0).sum() == 1 and mp.poly(found).format.name == "qd"
    own = mp.poly(roots[:2] * 1j)
    assert own.format.name == "cqd"
    assert own.tolist() == [1, mp.formats.exact.Complex(0, -2), -5]
    again = mp.roots(own)
    assert max(float(abs(again - x).min()) for x in roots[:2] * 1j) < 1e-60
    assert float(abs(mp.polyval(own, again)).max()) < 1e-60
    one = mp.poly1d(own, variable="z")
    assert one.r.tolist() == again.tolist() and float(abs(one(again)).max()) < 1e-60
    assert mp.roots(mp.array([0, 2j, 0], "cdd", device)).tolist() == [0]
    assert mp.roots(mp.array([0, 0], "dd", device)).format.name == "cdd"
    real, imag = mp.array([2, 1], "dd", device), mp.roots(mp.array([1, 0, 1], "dd", device)).imag
    assert sorted((real[:1] * imag).tolist()) == [-2, 2]
    twice: Any = np.poly(np.roots(mp.array([1, -3, 2], "dd", device)))
    assert twice.format.name == "dd"


def test_numpy_finds_it(device: Device) -> None:
    """``np.linalg.eig`` of an array of portmp is portmp's; results by its names."""
    a = mp.array([[2, 1], [0, 3]], "td", device)
    found: Any = np.linalg.eig(a)
    assert isinstance(found, mp.linalg.Eig)
    assert found.eigenvalues.tolist() == [2, 3] and found.eigenvectors.format.name == "ctd"
    values: Any = np.linalg.eigvals(a * 1j)
    assert values.tolist() == [2j, 3j]


def test_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled = mp.array(np.stack([np.eye(2), np.full((2, 2), 1j)]), "cdd", device)
    spoiled.imag[1, 0, 0] = math.nan
    for call in (mp.linalg.eig, mp.linalg.eigvals, mp.linalg.schur):
        with pytest.raises(LinAlgError, match="infinities or NaN in entry 1 of the stack"):
            call(spoiled)
        with pytest.raises(MatrixShapeError, match="square"):
            call(spoiled[:, :1])
        with pytest.raises(FormatError, match="storage format"):
            call(mp.zeros((2, 2), "float16", device))
    with pytest.raises(FormatError, match=r"d\+s has no complex numbers.*astype\('dd'\)"):
        mp.linalg.eig(mp.zeros((2, 2), "d+s", device))
    with pytest.raises(ValueError, match="schur: output"):
        mp.linalg.schur(spoiled[0], "triangle")
    with pytest.raises(ShapeError, match=r"rsf2csf: T .* one shape and format"):
        mp.linalg.rsf2csf(spoiled[0], mp.zeros((3, 3), "cdd", device))
    monkeypatch.setattr(reference, "MOST", 1)
    launch.kernel_spec.cache_clear()
    try:
        with pytest.raises(LinAlgError, match=r"eig: not converged: \d of 6 eigenvalues are left"):
            mp.linalg.eig(mp.array(random("cdd", (6, 6)), "cdd", device))
    finally:
        launch.kernel_spec.cache_clear()


GIVEN = random("cdd", (4, 4)) * 2.0 ** -np.arange(0, 40, 10)


@cache
def on_host(form: str) -> list[list[bytes]]:
    """The bits of what the host's definition gives."""
    return bits_of(mp.array(GIVEN, form, discovery.get("host")))


def bits_of(a: mp.Array) -> list[list[bytes]]:
    """Of values and vectors, and of Schur's form."""
    found = *mp.linalg.eig(a), *mp.linalg.schur(a)
    return [[limb.tobytes() for limb in x.to_limbs()] for x in found]


@slow(TWICE, unless=on_two_devices(2))
@slow("verify compares all formats", unless=lambda p: p["form"] == "cdd")
@pytest.mark.parametrize("form", ["cdd", "cqs"])
def test_bits(every_device: Device, form: str) -> None:
    """Of a graded complex matrix: those of the host."""
    assert bits_of(mp.array(GIVEN, form, every_device)) == on_host(form)
