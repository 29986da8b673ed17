"""Errors of GEMM and DOT against exact sums, in units of u^N sum|a b|.

Limits are twice what textbook arithmetic, add(mul()) in a loop, was measured to reach for
the same number of limbs, inputs and length; one limb has the classical bound.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import convert, formats
from portmp.backends.base import Device
from portmp.formats import Format

Plane = np.ndarray[Any, Any]
Host = list[Plane]

# --- exact products ---------------------------------------------------------------------

DIGIT = 18
BLOCK = 4096
"""Digits below 4 * 2^18 and blocks of 2^12: float64 sums of digit products are exact."""


def digits(planes: Host) -> tuple[Plane, int]:
    """Finite values as sum_d digit[d] 2^(e - 18 (d + 1)), exactly: digits and e."""
    words = [np.asarray(p, np.float64) for p in planes]
    top = int(np.frexp(max(float(np.abs(w).max(initial=0.0)) for w in words))[1])
    rest = [np.ldexp(w, -top) for w in words]
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


def absolute(planes: Host) -> Host:
    """|x| of values."""
    return [np.where(planes[0] < 0, -p, p) for p in planes]


# --- inputs -----------------------------------------------------------------------------


def full_width(form: Format, leading: Plane, rng: np.random.Generator) -> Host:
    """Values with these leading limbs and random lower limbs of up to half an ulp each."""
    planes = [leading.astype(form.dtype(0))]
    for i in range(1, form.limbs):
        half_ulp = np.spacing(np.abs(planes[-1])).astype(np.float64) / 2
        lower = half_ulp * rng.uniform(-1, 1, leading.shape)
        planes.append(lower.astype(form.dtype(i)))
    return planes


def symmetric(form: Format, m: int, n: int, k: int, rng: np.random.Generator) -> tuple[Host, Host]:
    """Uniform in [-0.5, 0.5]."""
    left, right = rng.uniform(-0.5, 0.5, (m, k)), rng.uniform(-0.5, 0.5, (k, n))
    return full_width(form, left, rng), full_width(form, right, rng)


def positive(form: Format, m: int, n: int, k: int, rng: np.random.Generator) -> tuple[Host, Host]:
    """Uniform in [0, 1]: running sums are as large as they can be."""
    left, right = rng.uniform(0, 1, (m, k)), rng.uniform(0, 1, (k, n))
    return absolute(full_width(form, left, rng)), absolute(full_width(form, right, rng))


def cancelling(form: Format, m: int, n: int, k: int, rng: np.random.Generator) -> tuple[Host, Host]:
    """Each product comes twice, with both signs, in random order; one pair differs slightly.

    What is left is the last limb of one entry (one limb: its last bit) times its partner:
    conditions are about k/u^(N-1).
    """
    half = k // 2
    left, right = (
        full_width(form, np.exp(rng.standard_normal(s)) * rng.uniform(-0.5, 0.5, s), rng)
        for s in ((m, half), (half, n))
    )
    order = rng.permutation(2 * half)
    a = [np.concatenate([p, -p], axis=1)[:, order] for p in left]
    b = [np.concatenate([p, p], axis=0)[order] for p in right]
    if form.limbs == 1:
        a[0][:, 0] = np.nextafter(a[0][:, 0], a[0].dtype.type(0))
    else:
        a[-1][:, 0] = 0
    return a, b


INPUTS: dict[str, Callable[..., tuple[Host, Host]]] = {
    "symmetric": symmetric, "positive": positive, "cancelling": cancelling,
}  # fmt: skip

# --- limits -----------------------------------------------------------------------------

SHORT, LONG = 1_000, 100_000
TEXTBOOK = {
    ("symmetric", SHORT): {2: "1.15", 3: "0.27", 4: "0.11"},
    ("symmetric", LONG): {2: "0.78", 3: "0.14", 4: "0.10"},
    ("positive", SHORT): {2: "10.4", 3: "4.8", 4: "1.5"},
    ("positive", LONG): {2: "63", 3: "21", 4: "10.8"},
    ("cancelling", SHORT): {2: "1.02", 3: "0.51", 4: "0.13"},
    ("cancelling", LONG): {2: "1.02", 3: "0.51", 4: "0.13"},
}
"""Largest error over u^N sum|a b| of add(mul()) in a loop; cancelling was measured for LONG."""


def limit(form: Format, kind: str, k: int, size: Fraction, result: Fraction) -> Fraction:
    """What the error may be where sum|a b| = *size*: twice the textbook's, and the end."""
    u = Fraction(2) ** -formats.PRECISION[form.word]
    if form.limbs == 1:
        return k * u / (1 - k * u) * size
    unit = u**form.limbs
    stored = Fraction(2) ** -form.bits if form.compute is not form else 2 * unit
    return 2 * Fraction(TEXTBOOK[kind, k][form.limbs]) * unit * size + stored * abs(result)


def check(
    form: Format, kind: str, k: int, got: Plane, exact: list[list[Fraction]], size: Plane
) -> None:
    """Each element is within its limit; *got* holds Fractions."""
    for row, line in enumerate(exact):
        for col, value in enumerate(line):
            error = abs(got[row][col] - value)
            allowed = limit(form, kind, k, Fraction(float(size[row, col])), value)
            assert error <= allowed, (row, col, float(error / allowed))


@pytest.mark.parametrize("k", [SHORT, LONG])
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", formats.STANDARD)
def test_errors_of_products_stay_within_twice_the_textbooks(
    device: Device, name: str, kind: str, k: int
) -> None:
    """gemm of a few elements, and dot of its first row and column."""
    form = formats.get(name)
    m, n = (3, 3) if k == SHORT else (1, 2)
    a, b = INPUTS[kind](form, m, n, k, np.random.default_rng([k, len(name), form.bits]))
    exact = exact_product(a, b)
    # Leading limbs suffice: sum|a b| is off by a few u, far below the limit's factor 2.
    size = np.abs(a[0].astype(np.float64)) @ np.abs(b[0].astype(np.float64))
    x, y = mp.from_limbs(a, name, device), mp.from_limbs(b, name, device)
    check(form, kind, k, mp.gemm(x, y).to_fractions(), exact, size)
    dot = mp.dot(x[0], y[:, 0]).to_fractions()
    check(form, kind, k, [[dot]], [exact[0][:1]], size)


@pytest.mark.parametrize("name", formats.STANDARD)
def test_exact_products_are_exact(name: str) -> None:
    """The sums that errors are measured against, by Fractions, across several blocks."""
    form = formats.get(name)
    a, b = cancelling(form, 1, 2, 2 * BLOCK + 6, np.random.default_rng(5))
    left, right = convert.to_fractions(a), convert.to_fractions(b)
    wanted = [[sum(left[0] * right[:, j], Fraction(0)) for j in range(2)]]
    assert exact_product(a, b) == wanted
    assert all(value != 0 for value in wanted[0])
