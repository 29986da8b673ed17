"""Products of complex matrices and vectors: of their parts by definition, exact sums, bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import formats
from portmp.errors import ArgumentError, ShapeError

HOST = "host"
FORMATS = mostly_slow(formats.COMPLEX, ("complex128", "cdd"), "the same products of other parts")
rng = np.random.default_rng(62)


def matrix(form: str, *shape: int) -> Any:
    """Complex numbers with all limbs and several sizes."""
    part = formats.get(form).component.name
    lengths = 10.0 ** rng.uniform(-3, 3, shape)
    halves = [
        mp.array(rng.normal(size=shape) * lengths, part, HOST) / mp.array(3, part, HOST)
        for _ in range(2)
    ]
    return halves[0] + halves[1] * mp.array(1j, form, HOST)


def exactly(z: Any) -> np.ndarray[Any, Any]:
    """Exact parts: real ones, then imaginary ones."""
    return np.array([z.real.to_fractions(), z.imag.to_fractions()], dtype=object)


def product(a: Any, b: Any) -> np.ndarray[Any, Any]:
    """The exact parts of a b."""
    (p, q), (r, s) = exactly(a), exactly(b)
    return np.array([p @ r - q @ s, p @ s + q @ r], dtype=object)


@pytest.mark.parametrize("form", FORMATS)
def test_direct_products_are_four_real_ones(form: str) -> None:
    """a c - b d is all of a c less all of b d; so z z^H is Hermitian, of one limb."""
    a, b = matrix(form, 3, 20), matrix(form, 20, 4)
    found = mp.gemm(a, b, method="direct")
    real = mp.gemm(a.real, b.real) - mp.gemm(a.imag, b.imag)
    imaginary = mp.gemm(a.real, b.imag) + mp.gemm(a.imag, b.real)
    assert bool((found.real == real).all()) and bool((found.imag == imaginary).all())
    assert bool((a @ b == found).all())
    square = mp.gemm(a, a, trans_b="C")
    if a.format.limbs == 1:
        assert bool((square == square.mT.conj()).all())
    x = b[:, 0].copy()
    vector = mp.gemv(a, x)
    assert bool((vector.real == mp.gemv(a.real, x.real) - mp.gemv(a.imag, x.imag)).all())


@pytest.mark.parametrize("form", FORMATS)
def test_by_integers_each_part_is_rounded_once(form: str) -> None:
    """The bits do not depend on how many real products there are: one, or one a part."""
    a, b = matrix(form, 3, 20), matrix(form, 20, 4)
    found = mp.gemm(a, b, method="ozaki2")
    column = mp.concat([b.real, b.imag])
    for part, row in ((found.real, [a.real, -a.imag]), (found.imag, [a.imag, a.real])):
        alone = mp.gemm(mp.concat(row, axis=1), column, method="ozaki2")
        assert bool((alone == part).all())
    exact = product(a, b)
    largest = [np.abs(exactly(x)).max(axis=(0, i)) for x, i in ((a, 2), (b, 1))]
    error = np.abs(exactly(found) - exact) / (np.outer(*largest) * 40)
    assert error.max() < 8 * Fraction(a.format.unit_roundoff)


@pytest.mark.parametrize("form", FORMATS)
def test_correct_rounding(form: str) -> None:
    """Each part is the exact sum, rounded once: of matrices, vectors, with real factors too."""
    a, b, c = matrix(form, 2, 9), matrix(form, 9, 3), matrix(form, 2, 3)
    part = a.format.component
    found = mp.gemm(a, b, rounding="correct")
    for half, wanted in zip((found.real, found.imag), product(a, b), strict=True):
        assert bool((half == mp.array(wanted.tolist(), part, HOST)).all())
    dot = mp.dot(a[0], b[:, 1].copy(), rounding="correct")
    assert bool(dot == found[0, 1])
    assert bool(mp.vdot(a[0].conj(), b[:, 1], rounding="correct") == dot)
    bounded = mp.vdot(a[0].conj(), b[:, 1], bound=True), mp.dot(a[0], b[:, 1], bound=True)
    assert all(bool(one == other) for one, other in zip(*bounded, strict=True))
    ended = mp.gemm(a, b, alpha=2, beta=-1, c=c, rounding="correct")
    wanted = 2 * product(a, b) - exactly(c)
    assert bool((ended.real == mp.array(wanted[0].tolist(), part, HOST)).all())
    vector = mp.gemv(a, b[:, 1].copy(), rounding="correct")
    assert bool((vector == found[:, 1]).all())
    with pytest.raises(ArgumentError, match="alpha: real with rounding"):
        mp.gemm(a, b, alpha=1j, rounding="correct")


@pytest.mark.parametrize("bound", [True, "tight", "normwise"])
@pytest.mark.parametrize("form", FORMATS)
def test_bounds_hold(form: str, bound: Any) -> None:
    """Of both parts, beside a product that has the same bits."""
    a, b = matrix(form, 3, 30), matrix(form, 30, 2)
    found, error = mp.gemm(a, b, bound=bound)
    assert bool((found == mp.gemm(a, b)).all())
    away = np.abs(exactly(found) - product(a, b))
    assert error.dtype.kind == "c" and (away <= exactly(error)).all()
    assert exactly(error).max() < 1e-2 * np.abs(exactly(found)).max()
    if bound == "normwise":
        return
    x, y = a[0], b[:, 0].copy()
    value, error = mp.dot(x, y, bound=bound)
    assert bool(value == mp.dot(x, y))
    assert (np.abs(exactly(value) - product(x, y)) <= exactly(error)).all()
    value, error = mp.gemv(a, y, bound=bound)
    assert (np.abs(exactly(value) - product(a, y)) <= exactly(error)).all()


def test_options_of_gemm() -> None:
    """alpha and beta are complex products that follow; what is not read may be NaN."""
    a, b, c = matrix("cdd", 3, 5), matrix("cdd", 5, 4), matrix("cdd", 3, 4)
    whole = a @ b
    out = mp.zeros((3, 4), "cdd", HOST)
    assert mp.gemm(a, b, alpha=2 - 1j, beta="1j", c=c, out=out) is out
    assert bool((out == (2 - 1j) * whole + mp.array(1j, "cdd", HOST) * c).all())
    same = mp.gemm(a.mT.conj(), b.mT, trans_a="C", trans_b=True)
    assert bool((same == whole).all()) and bool((mp.gemm(a, b, trans_a="N") == whole).all())
    assert not mp.gemm(a * math.nan, b, alpha=0).any()
    assert bool((mp.gemm(a, b, beta=0, c=c * math.nan) == whole).all())
    y = mp.gemv(a, b[:, 0].copy(), alpha=1j, beta=2, y=c[:, 0].copy())
    assert bool((y == 1j * mp.gemv(a, b[:, 0].copy()) + 2 * c[:, 0]).all())
    for how in ({}, {"method": "ozaki2"}, {"rounding": "correct"}, {"alpha": 0}):
        with pytest.raises(ShapeError, match=r"^gemm: a \(2, 3\) and b \(4, 5\) cannot"):
            mp.gemm(mp.ones((2, 3), "cdd"), mp.ones((4, 5), "cdd"), **how)
    with pytest.raises(ShapeError, match=r"^gemv: a \(2, 3\) and x \(2,\) cannot"):
        mp.gemv(mp.ones((2, 3), "cdd"), mp.ones(2, "cdd"), rounding="correct")
    with pytest.raises(ShapeError, match="c is missing"):
        mp.gemm(a, b, beta=1)
    with pytest.raises(ShapeError, match=r"c: shape \(3, 3\)"):
        mp.gemm(a, b, beta=1, c=c[:, :3])
    with pytest.raises(ArgumentError, match="'H'"):
        mp.gemm(a, b, trans_a="H")
    assert mp.gemm(mp.zeros((2, 0), "cdd", HOST), mp.zeros((0, 3), "cdd", HOST)).shape == (2, 3)


def test_real_operands_take_two_products() -> None:
    """Beside a complex matrix a real one has no imaginary part that is multiplied."""
    a, b = matrix("cdd", 3, 5), matrix("cdd", 5, 4)
    assert bool(((a.real @ b).imag == a.real @ b.imag).all())
    assert bool(((a @ b.imag).real == a.real @ b.imag).all())
    endless = mp.array([[complex(math.inf, 1)]], "cdd", HOST)
    assert str((mp.array([[2]], "dd", HOST) @ endless).tolist()) == "[[Complex(inf, Exact(2, 1))]]"


def test_products_by_other_names() -> None:
    """As NumPy's: conjugates in vdot and vecdot alone; batches, tensors, norms."""
    a, b = matrix("cdd", 2, 3, 4), matrix("cdd", 4, 3)
    x, y = a.to_numpy(), b.to_numpy()
    pairs = [
        (a @ b, x @ y),
        (mp.vdot(b, b), np.vdot(y, y)),
        (mp.vecdot(a, a), (x.conj() * x).sum(axis=-1)),
        (mp.dot(b[0], b[1]), y[0] @ y[1]),
        (mp.inner(b, b), np.inner(y, y)),
        (mp.outer(b, b), np.outer(y, y)),
        (mp.kron(b, b[:2]), np.kron(y, y[:2])),
        (mp.tensordot(a, b, 1), np.tensordot(x, y, 1)),
        (mp.einsum("bij,jk->bk", a, b), np.einsum("bij,jk->bk", x, y)),
        (mp.trace(b), np.trace(y)),
        (mp.nrm2(b), np.linalg.norm(y)),
        (mp.axpy(1j, b, b), 1j * y + y),
        (mp.scal(2 - 1j, b), (2 - 1j) * y),
    ]
    for found, wanted in pairs:
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-12)


def test_transposes_by_scipys_numbers() -> None:
    """0, 1 and 2 are "N", "T" and "C"; what names nothing is refused."""
    z = mp.array([[1, 2j], [3 - 1j, 4]], "cdd", "host:0")
    for number, letter in enumerate("NTC"):
        found = mp.gemm(z, z, trans_a=number).to_numpy()
        assert np.array_equal(found, mp.gemm(z, z, trans_a=letter).to_numpy())
        assert np.array_equal(found[:, 0], mp.gemv(z, z[:, 0], trans=number).to_numpy())
    refused: list[Any] = [3, "c", ["C"], None, ""]
    for wrong in refused:
        with pytest.raises(ArgumentError, match=r"gemm: trans_b .* given, allowed are 0, 1, 2"):
            mp.gemm(z, z, trans_b=wrong)
    for call in (mp.linalg.herk, mp.linalg.syrk):
        one: Any = z.real if call is mp.linalg.syrk else z
        for letter, plain in (("N", False), ("C", True), (2, True)):
            found = call(one, trans=letter).to_numpy()
            assert np.array_equal(found, call(one, trans=plain).to_numpy())
        with pytest.raises(ArgumentError, match=r"(her|syr)k: trans 'x' given"):
            call(one, trans="x")
