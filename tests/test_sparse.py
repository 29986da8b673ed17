"""Sparse matrices: products against exact sums, in every format; what is refused, by name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from slow import mostly_slow

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, DeviceError, FormatError, ShapeError
from portmp.routines import base
from portmp.routines.sparse import launch

LENGTHS = (0, 3, 8, 1, 17, 40, 0, 9, 2)
WIDTH = 41
CHUNK = definition.SPARSE_CHUNK


def pattern(lengths: Sequence[int], width: int, seed: int = 3) -> tuple[Any, Any]:
    """Columns in order, without repetition as far as there are enough, and borders of rows."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(width, n, replace=n > width)) for n in lengths]
    return np.concatenate([*rows, []]).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)])


def numbers(form: str, shape: tuple[int, ...], seed: int, device: Device) -> mp.Array:
    """Values with all limbs."""
    return mp.random.default_rng(seed).uniform(-1, 1, shape, format=form, device=device)


def exact(a: mp.sparse.csr_array, x: mp.Array) -> tuple[Any, Any]:
    """The exact product with a vector, and the sums of magnitudes."""
    values, right = a.data.to_fractions(), x.to_fractions()
    columns, starts = a.indices.to_numpy(), a.indptr.to_numpy()
    sums, sizes = [], []
    for first, last in itertools.pairwise(starts):
        terms = [values[i] * right[columns[i]] for i in range(first, last)]
        sums.append(sum(terms, Fraction(0)))
        sizes.append(sum(map(abs, terms), Fraction(0)))
    return sums, sizes


FORMATS = ["float32", "float64", "ds", "dd", "ts", "td", "qs", "qd", "d+s"]
STORED = ["slfp64in48b", "slfp64in32b_rz", "slfp32in16b", "float16", "fp64infp32", "tsin80b"]


@pytest.mark.parametrize(
    "form", mostly_slow([*FORMATS, *STORED], ["float64", "dd", "tsin80b"], "formats differ alike")
)
def test_products_are_near_exact_sums(form: str, device: Device) -> None:
    """Within the accumulator's bound, with several columns, and by the transpose."""
    columns, starts = pattern(LENGTHS, WIDTH)
    parent = formats.get(form).arithmetic
    data = numbers(parent.name, (len(columns),), 1, device).astype(form)
    a = mp.sparse.csr_array((data, columns, starts), shape=(len(LENGTHS), WIDTH))
    unit = parent.unit_roundoff * (2.0**24 if form == "d+s" else 1)
    b = numbers(parent.name, (WIDTH, 3), 2, device)
    product = a @ b
    assert product.format is parent and product.shape == (len(LENGTHS), 3)
    for j in range(3):
        sums, sizes = exact(a, b[:, j])
        found = product[:, j].to_fractions()
        for y, s, t in zip(found, sums, sizes, strict=True):
            assert abs(y - s) <= 200 * unit * t
        assert same(a @ b[:, j], product[:, j])
    x = numbers(parent.name, (len(LENGTHS),), 5, device)
    sums, sizes = exact(a.T, x)
    found = (x @ a).to_fractions()
    assert all(abs(y - s) <= 200 * unit * t for y, s, t in zip(found, sums, sizes, strict=True))
    assert same(a.times(x, trans=True), x @ a)
    rows = mp.array([[1, 2]], parent, device).T * x[None, :]
    assert same(rows @ a, (a.T @ rows.T).T)


def same(x: mp.Array, y: mp.Array) -> bool:
    """Whether all bits are the same."""
    pairs = zip(x.to_limbs(), y.to_limbs(), strict=True)
    return all(p.tobytes() == q.tobytes() for p, q in pairs)


def test_alpha_and_beta(device: Device) -> None:
    """As gemv's: what is not needed is not read, and rows without elements are products of none."""
    columns, starts = pattern(LENGTHS, WIDTH)
    data = numbers("dd", (len(columns),), 1, device)
    a = mp.sparse.csr_array((data, columns, starts), shape=(len(LENGTHS), WIDTH))
    x, y = numbers("dd", (WIDTH,), 2, device), numbers("dd", (len(LENGTHS),), 3, device)
    assert same(a.times(x, alpha=-1, beta=1, y=y), y + -1 * (a @ x))
    assert same(a.times(x * float("nan"), alpha=0, beta=1, y=y), y)
    assert (a.times(x, alpha=0) == 0).all()
    scaled = a.times(x, alpha="0.5", beta="-1.5", y=y)
    expected = "0.5" * (a @ x) + "-1.5" * y
    assert same(scaled[1:6], expected[1:6]) and same(scaled[:1], "-1.5" * y[:1])
    out = mp.zeros(y.shape, "dd", device)
    assert same(a.times(x, out=out), a @ x) and same(out, a @ x)
    with pytest.raises(ShapeError, match="beta is not 0 but y is missing"):
        a.times(x, beta=1)
    with pytest.raises(ShapeError, match=r"y: shape \(3,\) given, \(9,\) needed"):
        a.times(x, beta=1, y=y[:3])
    with pytest.raises(ArgumentError, match="out: overlaps x"):
        square = mp.sparse.csr_array(mp.eye(3, dtype="dd", device=device))
        v = mp.array([1, 2, 3], "dd", device)
        square.times(v, out=v)


@pytest.mark.parametrize("form", mostly_slow(FORMATS, ["dd"], "formats differ alike"))
def test_kernels_of_cpus_and_gpus_agree(form: str, device: Device) -> None:
    """Lanes in one work-item or in a team; long rows by chunks; one column or many."""
    lengths = (0, 3, CHUNK + 52, 8, 9, 17, 2 * CHUNK, 1)
    columns, starts = pattern(lengths, 50)
    data = numbers(form, (len(columns),), 1, device)
    rows = launch.rows_of(data.planes, starts, columns, 50)
    one, zero = (base.scalar_limbs(data.format, n, "alpha") for n in (1, 0))
    for shape in ((50,), (50, 1), (50, 5)):
        x = numbers(form, shape, 2, device)
        found = [
            mp.Array(launch.times(rows, x.planes, alpha=one, beta=zero, alone=way))
            for way in (True, False, None)
        ]
        assert same(found[0], found[1]) and same(found[0], found[2])


def test_bits_are_the_same_on_all_devices() -> None:
    """Products with a vector and a matrix, and by the transpose, on the first two devices."""
    seen = set()
    columns, starts = pattern((5, 0, CHUNK + 9, 30), 64)
    for one in [*discovery.devices()[:2], discovery.get("host")]:
        data = numbers("ts", (len(columns),), 1, one)
        rows = launch.rows_of(data.planes, starts, columns, 64)
        words = [base.scalar_limbs(data.format, n, "alpha") for n in (1, 0)]
        x = numbers("ts", (64, 2), 2, one)
        found = mp.Array(launch.times(rows, x.planes, alpha=words[0], beta=words[1]))
        seen.add(b"".join(limb.tobytes() for limb in found.to_limbs()))
    assert len(seen) == 1


def test_not_finite_elements(device: Device) -> None:
    """Infinities and NaN spread as in DOT; zeros that are not stored hide them."""
    inf, nan = float("inf"), float("nan")
    for form in ("float64", "td"):
        a = mp.sparse.csr_array(
            ([1.0, inf, 1.0, -inf, inf, nan, 2.0], [0, 1, 0, 1, 2, 1, 0], [0, 2, 5, 6, 7]),
            form,
            device,
            shape=(4, 3),
        )
        x = mp.array([1, 1, 1], form, device)
        first, second, third, fourth = (a @ x).to_float64()
        assert first == inf and np.isnan(second) and np.isnan(third) and fourth == 2
        assert (a @ mp.array([1, 0, inf], form, device)).to_float64()[3] == 2
        limbs = (a @ x).to_limbs()[1:]
        assert all((limb[:3] == 0).all() for limb in limbs)


@pytest.mark.parametrize("size", [0, 1, 2, 65])
def test_sizes(size: int, device: Device) -> None:
    """From SciPy and back, dense and back, the diagonal, and products."""
    rng = np.random.default_rng(size)
    numbers = rng.random((size, size))
    matrix = scipy.sparse.coo_array(np.where(numbers < 0.3, numbers, 0))
    a = mp.sparse.csr_array(matrix, "dd", device)
    dense = matrix.toarray()
    assert a.shape == (size, size) and a.nnz == matrix.nnz
    assert (a.toarray().to_float64() == dense).all()
    assert (a.to_scipy().toarray() == dense).all()
    assert (a.T.toarray().to_float64() == dense.T).all()
    assert (a.diagonal().to_float64() == np.diag(dense)).all()
    assert (mp.sparse.csr_array(a.toarray()).to_scipy() != a.to_scipy()).nnz == 0
    x = mp.array(rng.standard_normal(size), "dd", device)
    exact_product = dense.astype(object) @ np.array([*x.to_fractions(), 0], object)[:size]
    assert np.allclose((a @ x).to_float64(), exact_product.astype(float), rtol=1e-14, atol=1e-30)
    assert (a @ mp.zeros((size, 0), "dd", device)).shape == (size, 0)


def test_other_sources_and_copies(device: Device) -> None:
    """Decimal strings, unsorted columns, views, other formats, sparse matrices of portmp."""
    a = mp.sparse.csr_array((["0.1", "0.2", "0.3"], [2, 0, 1], [0, 2, 3]), "qd", device)
    wanted = mp.array([["0.2", 0, "0.1"], [0, "0.3", 0]], "qd", device)
    assert a.shape == (2, 3) and same(a.toarray(), wanted)
    assert a.indices.tolist() == [0, 2, 1] and a.indptr.tolist() == [0, 2, 3]
    data = mp.array(["0.1", "7", "0.2", "7", "0.3"], "qd", device)[::2]
    assert same(mp.sparse.csr_array((data, [2, 0, 1], [0, 2, 3])).toarray(), wanted)
    view = mp.array(["0.2", "7", "0.1", "7", "0.3"], "qd", device)[::2]
    unit = mp.eye(3, dtype="qd", device=device)
    assert same(mp.sparse.csr_array((view, [0, 2, 1], [0, 2, 3])) @ unit, wanted)
    short = a.astype("qdin192b")
    assert short.format.name == "qdin192b" and (short @ unit).format.name == "qd"
    assert mp.sparse.csr_array(a, "dd").format.name == "dd"
    assert same((2 * a).toarray(), 2 * wanted) and same((a / 2).toarray(), wanted / 2)
    assert same((-a).toarray()[0], -wanted[0]) or ((-a).toarray() == -wanted).all()
    assert same(abs(-a).toarray(), wanted) and same(a.copy().toarray(), wanted)
    assert same(a.to("host").toarray().to(device), wanted)
    assert "2 x 3, 3 elements in qd" in repr(a)
    cut = mp.sparse.csr_array(([1 / 3], [0], [0, 1]), "slfp64in24b", device, rounding="toward_zero")
    assert cut.format.name == "slfp64in24b_rz"


def test_bad_use(device: Device) -> None:
    """Each argument is named, with what is allowed."""
    two = [1.0, 2.0]
    good = (two, [0, 1], [0, 1, 2])
    make = mp.sparse.csr_array
    a = make(good, "dd", device)
    x, cube = mp.array([1, 2], "dd", device), mp.zeros((2, 2, 2), "dd", device)
    cases: list[tuple[type[Exception], str, Any]] = [
        (ArgumentError, "a tuple of 2 given; (data, indices, indptr)", lambda: make(good[:2])),
        (
            ArgumentError,
            "indices from 0 to 5 given, 0 to 1",
            lambda: make((two, [0, 5], [0, 2]), shape=(1, 2)),
        ),
        (ArgumentError, "indices from -1 to 0", lambda: make((two, [-1, 0], [0, 2]))),
        (ArgumentError, "indptr must begin with 0", lambda: make((two, [0, 1], [0, 2, 1, 2]))),
        (ArgumentError, "indptr must begin with 0", lambda: make((two, [0, 1], [0, 1]))),
        (ArgumentError, "indptr must begin with 0", lambda: make(([], [], []))),
        (ArgumentError, "indices: float64 (2,) given", lambda: make((two, [0.0, 1.0], [0, 2]))),
        (ArgumentError, "the element (0, 1) is given twice", lambda: make((two, [1, 1], [0, 2]))),
        (ShapeError, "vectors of one length", lambda: make(([1.0], [0, 1], [0, 2]))),
        (ShapeError, "indptr has 2 rows, shape (3, 2)", lambda: make(good, shape=(3, 2))),
        (ShapeError, "shape (2, -1) given", lambda: make(good, shape=(2, -1))),
        (ShapeError, "a matrix is needed", lambda: make(np.ones(3))),
        (ShapeError, "shape (1, 1) given for a matrix (2, 2)", lambda: make(a, shape=(1, 1))),
        (FormatError, "complex numbers are not", lambda: make(([1j], [0], [0, 1]), "dd")),
        (FormatError, "did you mean", lambda: make(good, "slfp64in32")),
        (ArgumentError, "texts or exact numbers", lambda: make([["1", "0"]])),
        (ArgumentError, "x: ndarray given", lambda: a @ np.ones(2)),
        (ArgumentError, "the left operand: ndarray given", lambda: np.ones(2) @ a),
        (ArgumentError, "two sparse matrices given", lambda: a @ a),
        (ArgumentError, "numbers only", lambda: a * x),
        (ShapeError, "a sparse matrix (2, 2) and (3,)", lambda: a @ mp.zeros(3, "dd", device)),
        (ShapeError, "a sparse matrix (2, 2) and (2, 2, 2)", lambda: a @ cube),
        (FormatError, "a: format dd, x has td", lambda: a @ x.astype("td")),
        (FormatError, "is a storage format", lambda: a @ x.astype("slfp64in32b")),
        (DeviceError, "copy with a.to", lambda: a.to("host") @ x),
    ]
    if device.name == "host":
        cases.pop()
    for kind, message, call in cases:
        with pytest.raises(kind, match=re.escape(message)):
            call()
