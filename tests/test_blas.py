"""GEMM, GEMV and DOT: the host reference's bits, exact error bounds, views, rules, vectors."""

from __future__ import annotations

import itertools
import json
import operator
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import formats
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format, convert, encodings, inputs
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.gemm.schedule import GemmCall, GemmSchedule, PanelSchedule
from portmp.routines.reduce import reference as reduce_reference
from portmp.routines.reduce.schedule import ACROSS, ReduceSchedule, SweepSchedule
from portmp.runtime.planes import upload

Plane = np.ndarray[Any, Any]
Host = list[Plane]
Vector = dict[str, Any]

CHOSEN = ("dd", "ts", "float32", "d+s")
ALPHA, BETA = "1.1", "-2/3"


def bits(planes: Host) -> list[Any]:
    """The bits of limb planes, all NaN made one."""
    return [convert.canonical_nan_bits(p).tolist() for p in planes]


def words(form: Format, number: str) -> Host:
    """A scalar as the host reference takes it."""
    return convert.to_limbs(number, form)


def take(planes: Host, view: Callable[[Any], Any]) -> Host:
    """One view of every plane."""
    return [view(p) for p in planes]


# --- exact products ---------------------------------------------------------------------

DIGIT = 18
BLOCK = 4096
"""Digits below 4 * 2^18 and blocks of 2^12: float64 sums of digit products are exact."""


def digits(planes: Host) -> tuple[Plane, int]:
    """Finite values as sum_d digit[d] 2^(e - 18 (d + 1)), exactly: digits and e."""
    rest = [np.asarray(p, np.float64) for p in planes]
    top = int(np.frexp(max(float(np.abs(w).max(initial=0.0)) for w in rest))[1])
    rest = [np.ldexp(w, -top) for w in rest]
    found = []
    while not found or any(r.any() for r in rest):
        scaled = [np.ldexp(r, DIGIT) for r in rest]
        whole = [np.trunc(s) for s in scaled]
        rest = [s - w for s, w in zip(scaled, whole, strict=True)]
        found.append(np.sum(whole, axis=0))
    return np.stack(found), top


def _blocked(x: Plane) -> Plane:
    """(digits, rows, k) as (blocks, digits * rows, BLOCK), extended by zeros."""
    count, rows, k = x.shape
    padded = np.zeros((count * rows, -(-k // BLOCK) * BLOCK))
    padded[:, :k] = x.reshape(-1, k)
    return padded.reshape(count * rows, -1, BLOCK).transpose(1, 0, 2)


def exact_product(a: Host, b: Host) -> list[list[Fraction]]:
    """The exact matrix product of a (m, k) and b (k, n)."""
    (da, ea), (db, eb) = digits(a), digits([p.T for p in b])
    blocks = _blocked(da) @ _blocked(db).transpose(0, 2, 1)
    sums = blocks.astype(np.int64).sum(axis=0)
    pairs = sums.reshape(len(da), da.shape[1], len(db), db.shape[1])
    last = DIGIT * (len(da) + len(db))

    def element(row: int, col: int) -> Fraction:
        terms = pairs[:, row, :, col].tolist()
        total = sum(
            term << (last - DIGIT * (i + j + 2))
            for i, line in enumerate(terms)
            for j, term in enumerate(line)
        )
        return Fraction(total) * Fraction(2) ** (ea + eb - last)

    return [[element(row, col) for col in range(db.shape[1])] for row in range(da.shape[1])]


def full_width(form: Format, leading: Plane, rng: np.random.Generator) -> Host:
    """Values with these leading limbs and random lower limbs of up to half an ulp each."""
    planes = [leading.astype(form.dtype(0))]
    for i in range(1, form.limbs):
        half_ulp = np.spacing(np.abs(planes[-1])).astype(np.float64) / 2
        lower = half_ulp * rng.uniform(-1, 1, leading.shape)
        planes.append(lower.astype(form.dtype(i)))
    return planes


# --- gemm -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHOSEN)
def test_gemm_of_every_shape(device: Device, name: str) -> None:
    """Zero, one, primes, tile sizes and their neighbours, in each of m, n and k."""
    form = formats.get(name)
    sizes = [0, 1, 2, 7, 13, 16, 17]
    a, b = (inputs.ordinary(form, (17, 17), seed) for seed in "ab")
    x, y = mp.from_limbs(a, name, device), mp.from_limbs(b, name, device)
    whole = {
        k: gemm_reference.gemm(
            form, take(a, lambda p, k=k: p[:, :k]), take(b, lambda p, k=k: p[:k])
        )
        for k in sizes
    }
    for m, n, k in itertools.product(sizes, repeat=3):
        product = mp.gemm(x[:m, :k], y[:k, :n])
        assert product.shape == (m, n)
        # An element does not depend on the others: it is that of the largest product.
        assert bits(product.to_limbs()) == bits(take(whole[k], lambda p, m=m, n=n: p[:m, :n]))


@pytest.mark.parametrize("name", CHOSEN)
def test_gemm_of_views(device: Device, name: str) -> None:
    """Steps, reversed axes and transposes of both operands, into views of an output."""
    form = formats.get(name)
    a, b = inputs.ordinary(form, (12, 40), "view a"), inputs.ordinary(form, (40, 15), "view b")
    x, y = mp.from_limbs(a, name, device), mp.from_limbs(b, name, device)
    views: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
        (lambda p: p[::2, ::3], lambda p: p[:14, ::-2]),
        (lambda p: p[::-1, ::-1], lambda p: p[::-1]),
        (lambda p: p[5:, 3:20].T[::2, :4].T, lambda p: p[1:10, 2:]),
        (lambda p: p[3:4, :15], lambda p: p[10:25, 7:8]),
    ]
    for left, right in views:
        wanted = gemm_reference.gemm(form, take(a, left), take(b, right))
        u, v = left(x), right(y)
        assert bits((u @ v).to_limbs()) == bits(wanted)
        assert bits(mp.gemm(u.T, v.T, trans_a=True, trans_b=True).to_limbs()) == bits(wanted)
        assert bits(mp.gemm(u.T, v, trans_a=True).to_limbs()) == bits(wanted)
        m, n = wanted[0].shape
        whole = mp.array(np.full((2 * m, n + 2), 7.0), name, device)
        target = whole[::-2, 1:-1]
        assert mp.gemm(u, v, out=target).planes is target.planes
        assert bits(target.to_limbs()) == bits(wanted)
        around = whole.to_float64()
        around[::-2, 1:-1] = 7
        assert (around == 7).all()


@pytest.mark.parametrize("name", CHOSEN)
def test_gemm_of_batches(device: Device, name: str) -> None:
    """Leading axes broadcast as in NumPy, also through views."""
    form = formats.get(name)
    a = inputs.ordinary(form, (2, 1, 3, 9), "batch a")
    b, c = inputs.ordinary(form, (3, 9, 5), "batch b"), inputs.ordinary(form, (2, 3, 3, 5), "c")
    x, y, z = (mp.from_limbs(p, name, device) for p in (a, b, c))
    alpha, beta = words(form, ALPHA), words(form, BETA)
    product, scaled = x @ y, mp.gemm(x, y[::-1], alpha=ALPHA, beta=BETA, c=z)
    shared = mp.gemm(x, y, beta=1, c=z[1, 2])
    assert product.shape == scaled.shape == (2, 3, 3, 5)
    for i, j in np.ndindex(2, 3):
        left, right = take(a, lambda p, i=i: p[i, 0]), take(b, lambda p, j=j: p[j])
        other = take(b, lambda p, j=j: p[2 - j])
        addend = take(c, lambda p, i=i, j=j: p[i, j])
        assert bits(product[i, j].to_limbs()) == bits(gemm_reference.gemm(form, left, right))
        wanted = gemm_reference.gemm(form, left, other, alpha, beta, addend)
        assert bits(scaled[i, j].to_limbs()) == bits(wanted)
        wanted = gemm_reference.gemm(
            form, left, right, (), words(form, "1"), take(c, lambda p: p[1, 2])
        )
        assert bits(shared[i, j].to_limbs()) == bits(wanted)
    assert (x[:0] @ y).shape == (0, 3, 3, 5)
    assert bits((x[0, 0, 1] @ y[0]).to_limbs()) == bits(product[0, 0, 1].to_limbs())
    assert bits((x[0, 0] @ y[1, :, 2:3]).to_limbs()) == bits(product[0, 1, :, 2:3].to_limbs())
    assert (x @ y[1, :, 2]).shape == (2, 1, 3)
    with pytest.raises(ShapeError, match=r"batches \(2,\) and \(3,\)"):
        mp.gemm(x.reshape(2, 3, 9), y)


@pytest.mark.parametrize("name", CHOSEN)
def test_alpha_and_beta(device: Device, name: str) -> None:
    """Every combination of 0, 1 and another number, c given, aliased or missing."""
    form = formats.get(name)
    a, b = inputs.ordinary(form, (5, 11), "ab a"), inputs.ordinary(form, (11, 6), "ab b")
    c = inputs.ordinary(form, (5, 6), "ab c")
    x, y, z = (mp.from_limbs(p, name, device) for p in (a, b, c))
    for alpha, beta in itertools.product(("0", "1", ALPHA), ("0", "1", BETA)):
        wanted = bits(gemm_reference.gemm(form, a, b, words(form, alpha), words(form, beta), c))
        assert bits(mp.gemm(x, y, alpha=alpha, beta=beta, c=z).to_limbs()) == wanted
        own = z.copy()
        mp.gemm(x, y, alpha=alpha, beta=beta, c=own, out=own)
        assert bits(own.to_limbs()) == wanted
    for alpha, beta in ((1, 1), (0, BETA)):
        with pytest.raises(ShapeError, match="c is missing"):
            mp.gemm(x, y, alpha=alpha, beta=beta)


@pytest.mark.parametrize("name", CHOSEN)
def test_what_zero_scalars_do_not_read(device: Device, name: str) -> None:
    """beta = 0 ignores NaN in c and in the output; alpha = 0 ignores NaN in a, b and x."""
    form = formats.get(name)
    x, v = (mp.from_limbs(inputs.ordinary(form, s, "zero"), name, device) for s in ((3, 4), (4,)))
    nan = mp.array(np.full((3, 3), np.nan), name, device)
    nan_row, c = nan[0], mp.array([[1, "-0", 2]] * 3, name, device)
    plain, plain_row = bits((x @ x.T).to_limbs()), bits(mp.gemv(x, v).to_limbs())
    assert bits(mp.gemm(x, x.T, c=nan, out=nan.copy()).to_limbs()) == plain
    assert bits(mp.gemv(x, v, y=nan_row, out=nan_row.copy()).to_limbs()) == plain_row
    for left, right in ((nan, nan), (x[:, :0], x[:, :0].T)):
        alpha = 0 if left is nan else 1
        assert bits(mp.gemm(left, right, alpha=alpha, beta=1, c=c).to_limbs()) == bits(c.to_limbs())
        zeros = mp.gemm(left, right, alpha=alpha, out=nan.copy())
        assert bits(zeros.to_limbs()) == bits(mp.zeros((3, 3), name, device).to_limbs())
        scaled = mp.gemm(left, right, alpha=alpha, beta=BETA, c=c)
        assert bits(scaled.to_limbs()) == bits(mp.scal(BETA, c).to_limbs())
        row = mp.gemv(left, right[:, 0], alpha=alpha, beta=BETA, y=c[0])
        assert bits(row.to_limbs()) == bits(mp.scal(BETA, c[0]).to_limbs())
    assert np.isnan(mp.gemm(x, x.T, beta=1, c=nan).to_float64()).all()
    assert np.isnan(mp.gemm(nan, c, alpha=2).to_float64()).all()


def test_wrong_operands_of_gemm_are_refused(device: Device) -> None:
    """Shapes, missing axes, outputs that overlap what is read."""
    x = mp.zeros((4, 6), device=device)
    shapes: list[tuple[Callable[[], Any], str]] = [
        (lambda: mp.gemm(x, x), r"\(4, 6\) and b \(4, 6\)"),
        (lambda: mp.gemm(x, x.T, trans_a=True), "cannot be multiplied"),
        (lambda: mp.gemm(x[0], x.T), r"\(6,\)"),
        (lambda: mp.gemm(x, x.T, out=x), r"out: shape \(4, 6\) given, \(4, 4\) needed"),
        (lambda: mp.gemm(x, x.T, beta=1, c=x), r"\(4, 6\)"),
        (lambda: mp.gemm(x, x.T, beta=1, c=x[None, :, :4]), r"\(1, 4, 4\)"),
        (lambda: mp.gemv(x, x[:, 0]), r"\(4, 6\) and x \(4,\)"),
        (lambda: mp.gemv(x, x[0], beta=1), "y is missing"),
        (lambda: mp.gemv(x, x[0], beta=1, y=x[0]), r"y: shape \(6,\) given"),
        (lambda: mp.gemv(x[None], x[0]), r"\(1, 4, 6\)"),
        (lambda: mp.dot(x[0], x[:, 0]), r"\(6,\).*\(4,\)"),
        (lambda: mp.dot(x, x), r"\(4, 6\)"),
    ]
    for call, text in shapes:
        with pytest.raises(ShapeError, match=text):
            call()
    square = mp.zeros((9, 4), device=device)
    overlaps: list[tuple[Callable[[], Any], str]] = [
        (lambda: mp.gemm(x, x.T, out=x[:, :4]), "overlaps a"),
        (lambda: mp.gemm(x[:, :4], square[:4], out=square[2:6]), "overlaps b"),
        (lambda: mp.gemm(x, x.T, beta=1, c=square[:4], out=square[1:5]), "overlaps c"),
        (lambda: mp.gemm(x, x.T, beta=1, c=square[:4].T, out=square[:4]), "overlaps c"),
        (lambda: mp.gemv(square[:4], x[0, :4], out=square[:4, 0]), "overlaps a"),
        (lambda: mp.gemv(x[:, :4], square[0], out=square[0]), "overlaps x"),
        (lambda: mp.gemv(x, x[0], beta=1, y=square[1], out=square[1, ::-1]), "overlaps y"),
    ]
    for call, text in overlaps:
        with pytest.raises(ArgumentError, match=text):
            call()


# --- errors -----------------------------------------------------------------------------


def accumulated(form: Format, terms: list[Fraction]) -> Fraction:
    """The bound of the multiply-accumulate's error for these products in one slab."""
    u = Fraction(2) ** -encodings.PRECISION[form.word]
    size, result = sum(map(abs, terms), Fraction(0)), abs(sum(terms, Fraction(0)))
    if form.limbs == 1:
        count = len(terms)
        return count * u / (1 - count * u) * size
    stored = Fraction(0) if form.compute is form else Fraction(2) ** -form.bits * result
    if form.limbs == 2:
        running = sum(map(abs, itertools.accumulate(terms)), Fraction(0))
        # To first order; the rest is of order n^2 u^3.
        rest = len(terms) ** 2 * u**3 * size
        return u**2 * (running + 9 * size + 2 * result) + rest + stored
    return 20 * u**form.limbs * size + 2 * u**form.limbs * result


@pytest.mark.parametrize("name", formats.STANDARD)
def test_products_keep_the_proved_bound(device: Device, name: str) -> None:
    """gemm, element by element, against exact sums: ordinary, positive, cancelling."""
    form = formats.get(name)
    for make in (inputs.ordinary, inputs.positive, inputs.cancelling):
        a, b = make(form, (3, 150), "bound"), inputs.positive(form, (150, 2), "bound")
        left, right = convert.to_fractions(a), convert.to_fractions(b)
        x, y = mp.from_limbs(a, name, device), mp.from_limbs(b, name, device)
        got = mp.gemm(x, y).to_fractions()
        for i, j in np.ndindex(3, 2):
            terms = [p * q for p, q in zip(left[i], right[:, j], strict=True)]
            error = abs(got[i][j] - sum(terms, Fraction(0)))
            assert error <= accumulated(form, terms), (make.__name__, i, j)


@pytest.mark.parametrize("name", ["dd", "float64"])
def test_a_long_product_of_one_element(device: Device, name: str) -> None:
    """k = 10^6 in a 1 x 1 result: a thousand slabs."""
    form, k = formats.get(name), 10**6
    rng = np.random.default_rng(3)
    a, b = (full_width(form, rng.uniform(-0.5, 0.5, k), rng) for _ in range(2))
    left, right = take(a, lambda p: p[None, :]), take(b, lambda p: p[:, None])
    exact = exact_product(left, right)[0][0]
    x, y = mp.from_limbs(a, name, device), mp.from_limbs(b, name, device)
    size = Fraction(float(np.abs(a[0]) @ np.abs(b[0])))
    # Twice the textbook's error for sums of 10^5 terms; one limb: its slabs and their sum.
    unit = Fraction(2) ** -form.bits
    bound = 2 * Fraction("0.78") * unit if name == "dd" else (1024 + k // 1024 + 1) * unit
    for result in (mp.gemm(x[None, :], y[:, None])[0, 0], mp.dot(x, y)):
        error = abs(result.to_fractions() - exact)
        assert error <= bound * size + 2 * unit * abs(exact), float(error / (unit * size))


def test_exact_products_are_exact() -> None:
    """The sums that errors are measured against, by Fractions, across several blocks."""
    form, rng = formats.get("td"), np.random.default_rng(5)
    a, b = (full_width(form, rng.standard_normal(2 * BLOCK + 6), rng) for _ in range(2))
    pairs = zip(convert.to_fractions(a), convert.to_fractions(b), strict=True)
    wanted = sum((x * y for x, y in pairs), Fraction(0))
    assert exact_product([p[None, :] for p in a], [p[:, None] for p in b]) == [[wanted]]


# --- gemv and dot -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", mostly_slow(CHOSEN, ("dd", "float32"), "views have the same strides in all formats")
)
def test_gemv_of_views(device: Device, name: str) -> None:
    """Transposes, steps and reversed axes, with alpha, beta and strided outputs."""
    form = formats.get(name)
    a, v = inputs.ordinary(form, (30, 70), "gemv a"), inputs.ordinary(form, (140,), "gemv x")
    x, w = mp.from_limbs(a, name, device), mp.from_limbs(v, name, device)
    views: list[Callable[[Any], Any]] = [
        lambda p: p,
        lambda p: p.T,
        lambda p: p[::-2, 1::3],
        lambda p: p[3:4],
        lambda p: p[:, :1],
        lambda p: p[::5, ::-1],
        lambda p: p[:0],
        lambda p: p[:, :0],
    ]
    alpha, beta = words(form, ALPHA), words(form, BETA)
    for view in views:
        matrix, host = view(x), take(a, view)
        m, n = matrix.shape
        vector, addend = w[: 2 * n : 2][::-1], w[m:0:-1][:m]
        factor = take(v, lambda p, n=n: p[: 2 * n : 2][::-1])
        rest = take(v, lambda p, m=m: p[m:0:-1][:m])
        wanted = bits(reduce_reference.gemv(form, host, factor))
        assert bits(mp.gemv(matrix, vector).to_limbs()) == wanted
        assert bits(mp.gemv(matrix.T, vector, trans=True).to_limbs()) == wanted
        target = mp.zeros(2 * m, name, device)[::-2]
        mp.gemv(matrix, vector, alpha=ALPHA, beta=BETA, y=addend, out=target)
        wanted = bits(reduce_reference.gemv(form, host, factor, alpha, beta, rest))
        assert bits(target.to_limbs()) == wanted
        target[...] = addend
        mp.gemv(matrix, vector, alpha=ALPHA, beta=BETA, y=target, out=target)
        assert bits(target.to_limbs()) == wanted


@pytest.mark.parametrize("name", CHOSEN)
def test_dot_of_views(device: Device, name: str) -> None:
    """Lengths around lanes and chunks; strided, reversed and two-dimensional sources."""
    form = formats.get(name)
    p, q = inputs.ordinary(form, (9000,), "dot p"), inputs.ordinary(form, (9000,), "dot q")
    x, y = mp.from_limbs(p, name, device), mp.from_limbs(q, name, device)
    views: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
        (lambda a, n=n: a[:n], lambda a, n=n: a[:n]) for n in (0, 1, 31, 32, 33, 8192, 8193)
    ] + [
        (lambda a: a[::3], lambda a: a[2999::-1]),
        (lambda a: a[-1:0:-7], lambda a: a[1286:0:-1]),
        (lambda a: a.reshape(90, 100)[:, 3], lambda a: a.reshape(90, 100)[4, ::-1][:90]),
    ]
    for left, right in views:
        wanted = reduce_reference.dot(form, take(p, left), take(q, right))
        got = mp.dot(left(x), right(y))
        assert got.shape == ()
        assert bits(got.to_limbs()) == bits(wanted)
        assert bits((left(x) @ right(y)).to_limbs()) == bits(wanted)


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (ReduceSchedule(teams=10**6), r"32000000 threads a block, .* allows \d+"),
        (ReduceSchedule(rows=0), "rows 0 given, positive"),
        (ReduceSchedule(combine_threads=10**6), r"1000000 threads a block, .* allows \d+"),
        (ReduceSchedule(staged=2, rows=2), "staged needs rows 1"),
        (ReduceSchedule(combine_threads=48), "combine_threads 48 given, 32 times a power of two"),
        (ReduceSchedule(elements_per_access=2), "elements_per_access 2 given, allowed are 1, 4"),
        (
            ReduceSchedule(elements_per_access=4, call=ACROSS),
            "elements_per_access 4 needs rows that lie along",
        ),
        (ReduceSchedule(elements_per_access=4, staged=6), "staged 6 is no multiple of unroll 4"),
        (ReduceSchedule(staged=3), "128 threads x staged 3 do not divide 8192"),
        (SweepSchedule(width=3), "width 3 given, dd on .* has 1"),
        (SweepSchedule(unroll=5), "unroll 5 does not divide 32"),
    ],
)
def test_schedules_of_gemv_and_dot_that_do_not_fit(
    device: Device, schedule: ReduceSchedule | SweepSchedule, text: str
) -> None:
    """Refused with the numbers, before anything is compiled."""
    x = mp.zeros((3, 4), device=device)
    for call in (
        lambda: mp.gemv(x, x[0], schedule=schedule),
        lambda: mp.dot(x[0], x[1], schedule=schedule),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


def test_schedules_without_such_vectors_are_refused(device: Device) -> None:
    """A width that no platform has, and any width for arithmetic without a vector form."""
    x = mp.zeros((3, 4), device=device)
    y = mp.zeros((3, 4), "qd2011", device)
    with pytest.raises(ArgumentError, match="width 3 given, dd on"):
        mp.gemm(x, x.T, schedule=PanelSchedule(4, 1, 1, width=3))
    with pytest.raises(ArgumentError, match=r"width 2 given, qd2011 on .* has 1"):
        mp.gemm(y, y.T, schedule=PanelSchedule(4, 1, 1, width=2))
    with pytest.raises(ArgumentError, match=r"width 4 given, qd2011 on .* has 1"):
        mp.dot(y[0], y[1], schedule=SweepSchedule(width=4))


@pytest.mark.parametrize(
    "name", mostly_slow(["dd", "float32"], ("dd",), "special values of one limb need less")
)
def test_slabs_of_batches_and_special_values(device: Device, name: str) -> None:
    """Blocks that share slabs find their batch, strides, and the leading limbs again."""
    form = formats.get(name)
    a, b = inputs.ordinary(form, (2, 3, 1300), "slabs"), inputs.ordinary(form, (5, 1300), "slabs")
    for (row, at), value in {(0, 1299): np.inf, (1, 5): np.nan, (2, 1030): -np.inf}.items():
        for i, plane in enumerate(a):
            plane[1, row, at] = 0.0 if i else value
    x, y = mp.from_limbs(a, name, device), mp.from_limbs(b, name, device).T[::-1]
    split = mp.gemm(x, y, schedule=GemmSchedule(2, 4, 1, 1, 32, call=GemmCall(split=True)))
    flipped = take(b, lambda p: p.T[::-1])
    for i in range(2):
        wanted = gemm_reference.gemm(form, take(a, lambda p, i=i: p[i]), flipped)
        assert bits(split[i].to_limbs()) == bits(wanted)
        assert bits((x[i] @ y).to_limbs()) == bits(wanted)


# --- the recorded vectors on the device ---------------------------------------------------

RECORDED = Path(__file__).parent / "data" / "vectors.json"
VECTORS: list[Vector] = json.loads(RECORDED.read_text())["vectors"]

STANDARD = {
    ("f32", 2): "ds",
    ("f32", 3): "ts",
    ("f32", 4): "qs",
    ("f64", 2): "dd",
    ("f64", 3): "td",
    ("f64", 4): "qd",
    ("f64+f32", 2): "d+s",
}
PAPERS = {
    ("add_seed_gpu", "f32"): "ts2021",
    ("mul_seed_gpu", "f32"): "ts2021",
    ("add_jmp6", "f64"): "dd2011",
    ("add_qd_ieee", "f64"): "qd2011",
}
OPERATORS: dict[str, Callable[..., Array]] = {
    "add_fpan": operator.add,
    "mul_fpan": operator.mul,
    "div": operator.truediv,
    "sqrt": mp.sqrt,
    "ds_add": operator.add,
    "ds_mul": operator.mul,
    "add_jmp6": operator.add,
    "add_seed_gpu": operator.add,
    "mul_seed_gpu": operator.mul,
    "add_qd_ieee": operator.add,
}
PAPER_OPERATIONS = {op for op, _ in PAPERS}


def format_of(op: str, fmt: str, n: int) -> str | None:
    """The format whose public operator is *op*, if there is one."""
    if op in PAPER_OPERATIONS:
        return PAPERS.get((op, fmt))
    return STANDARD.get((fmt, n))


def finite(vector: Vector, *keys: str) -> bool:
    """Whether all words of *keys* are finite."""
    return all(np.isfinite(float.fromhex(word)) for key in keys for word in vector[key])


def grouped(ops: Any) -> dict[tuple[str, str], list[Vector]]:
    """Vectors by operation and format."""
    groups: dict[tuple[str, str], list[Vector]] = defaultdict(list)
    for vector in VECTORS:
        name = format_of(vector["op"], vector["fmt"], vector["n"])
        if vector["op"] in ops and name:
            groups[vector["op"], name].append(vector)
    return groups


def planes_of(form: Format, rows: list[list[str]]) -> Host:
    """Rows of hexadecimal words as limb planes, bit for bit."""
    table = np.array([[float.fromhex(word) for word in row] for row in rows])
    return [table[:, i].astype(form.dtype(i)) for i in range(form.limbs)]


def unsigned_zeros(planes: Host) -> list[Any]:
    """Bits with all zeros made +0."""
    return bits([p + p.dtype.type(0) for p in planes])


ELEMENTWISE = grouped(OPERATORS)


@pytest.mark.parametrize("key", ELEMENTWISE, ids="-".join)
def test_recorded_operations(device: Device, key: tuple[str, str]) -> None:
    """Public operators give the networks' recorded bits wherever these are finite."""
    op, name = key
    form = formats.get(name)
    vectors = [v for v in ELEMENTWISE[key] if finite(v, "in", "out")]
    assert vectors
    count = len(vectors[0]["in"]) // form.limbs
    # Recorded words may overlap more than from_limbs lets through: they are put there as is.
    operands = [
        Array(
            upload(
                form, planes_of(form, [v["in"][i * form.limbs :] for v in vectors]), device.queue
            )
        )
        for i in range(count)
    ]
    got = OPERATORS[op](*operands).to_limbs()
    wanted = planes_of(form, [v["out"] for v in vectors])
    assert unsigned_zeros(got) == unsigned_zeros(wanted)


DOTS = grouped({"dot_F2P", "dot_F4c", "dot_F5c"})


@pytest.mark.parametrize("key", DOTS, ids="-".join)
def test_recorded_dot_products(device: Device, key: tuple[str, str]) -> None:
    """As products of one row and one column, too short to be renormalised inside."""
    form = formats.get(key[1])
    by_length: dict[int, list[Vector]] = defaultdict(list)
    for vector in DOTS[key]:
        if vector["len"] < 256:
            by_length[vector["len"]].append(vector)
    assert by_length
    for length, vectors in by_length.items():
        shape = (len(vectors), length)
        rows, columns = (
            [p.reshape(shape) for p in planes_of(form, [w for v in vectors for w in v[side]])]
            for side in ("x", "y")
        )
        x, y = (Array(upload(form, side, device.queue)) for side in (rows, columns))
        got = mp.gemm(x[:, None, :], y[:, :, None])[:, 0, 0].to_limbs()
        wanted = planes_of(form, [v["out"] for v in vectors])
        assert unsigned_zeros(got) == unsigned_zeros(wanted), length


def test_every_recorded_operation_with_an_operator_is_run() -> None:
    """The groups are those that the file and the formats make."""
    names = {name for _, name in ELEMENTWISE}
    assert names == {*STANDARD.values(), "ts2021", "dd2011", "qd2011"}
    assert {op for op, _ in ELEMENTWISE} == set(OPERATORS)
    assert {name for _, name in DOTS} == {"ds", "ts", "qs", "dd", "td", "qd"}
