"""QR of columns that depend on each other, and of sizes far apart: exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import TWICE, on_two_devices, slow

import portmp as mp
from portmp import definition, formats
from portmp.backends.base import Device

flint = pytest.importorskip("flint")

CONSTANT = 4
"""Of the bounds m c u^N."""

SHAPES = [(24, 18), (12, 24)]


def exact(a: mp.Array) -> Any:
    """A matrix of rational numbers."""
    rows = a.to_fractions()
    values = [flint.fmpq(x.numerator, x.denominator) for row in rows for x in row]
    return flint.fmpq_mat(a.shape[0], a.shape[1], values)


def squares(m: Any) -> list[Fraction]:
    """Sums of squares of columns."""
    return [
        sum(
            (Fraction(int(m[i, j].p), int(m[i, j].q)) ** 2 for i in range(m.nrows())),
            start=Fraction(0),
        )
        for j in range(m.ncols())
    ]


def matrices(word: str, m: int, n: int) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(28)
    column = rng.integers(-900, 900, (m, 1)).astype(float)
    multiples = column * rng.integers(1, 9, (1, n))
    few = rng.integers(-9, 10, (m, 3)) @ rng.integers(-9, 10, (3, n))
    far = 10 if word == "float64" else 1
    return {
        "equal": np.ones((m, n)),
        "multiples": multiples,
        "with zeros": multiples * (np.arange(n) % 3 > 0),
        "of rank 3": few.astype(float),
        "of sizes far apart": np.ldexp(multiples + np.eye(m, n), -far * np.arange(n)[None, :]),
        "nearly equal": column + np.ldexp(np.eye(m, n), -np.arange(n)),
        "zero": np.zeros((m, n)),
    }


def check(a: mp.Array, q: mp.Array, r: mp.Array) -> None:
    """|a - q r| by columns, and |q^T q - 1|."""
    unit = Fraction(CONSTANT * max(a.shape) * a.format.unit_roundoff)
    given, left, right = exact(a), exact(q), exact(r)
    error = squares(given - left * right)
    for wrong, size in zip(error, squares(given), strict=True):
        assert wrong <= unit**2 * size
    count = q.shape[1]
    one = flint.fmpq_mat(count, count, [int(i == j) for i in range(count) for j in range(count)])
    assert sum(squares(left.transpose() * left - one)) <= unit**2


@slow("other formats of the word show it", unless=lambda p: p["form"] in ("dd", "ts", "qs"))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", [n for n in formats.STANDARD if not formats.get(n).coded])
def test_dependent_columns(device: Device, form: str, shape: tuple[int, int]) -> None:
    """Q is orthogonal, with pivoting too, and columns' errors are those of their own sizes."""
    for given in matrices(formats.get(form).word, *shape).values():
        a = mp.array(given, form, device)
        check(a, *mp.linalg.qr(a))
        found = mp.linalg.qr(a, pivoting=True)
        check(mp.array(given[:, found.P.to_numpy()], form, device), found.Q, found.R)


@pytest.mark.parametrize("form", ["dd", "ts", "qs"])
def test_stacks_are_as_their_matrices(device: Device, form: str) -> None:
    """Also where some of them are factored column by column."""
    given = np.stack(list(matrices(formats.get(form).word, 24, 18).values()))
    whole = mp.linalg.qr(mp.array(given, form, device))
    for each, one in enumerate(given):
        alone = mp.linalg.qr(mp.array(one, form, device))
        assert (whole.Q[each] == alone.Q).all() and (whole.R[each] == alone.R).all()


@slow(TWICE, unless=on_two_devices(1))
@pytest.mark.parametrize("form", ["dd", "qs"])
def test_bits_of_dependent_columns(every_device: Device, form: str) -> None:
    """The host's."""
    for given in matrices(formats.get(form).word, 12, 9).values():
        found = mp.linalg.qr(mp.array(given, form, every_device))
        want = mp.linalg.qr(mp.array(given, form, "host:0"))
        for ours, theirs in zip(found, want, strict=True):
            for mine, reference in zip(ours.to_limbs(), theirs.to_limbs(), strict=True):
                assert mine.tobytes() == reference.tobytes()


@pytest.mark.parametrize("form", ["dd", "ts", "qs"])
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_of_dependent_columns(
    device: Device, form: str, shape: tuple[int, int]
) -> None:
    """U and V are orthonormal; the matrix is their product."""
    given = matrices(formats.get(form).word, *shape)
    for name in ("equal", "multiples", "of rank 3", "zero"):
        a = mp.array(given[name], form, device)
        u, s, vh = mp.linalg.svd(a)
        unit = Fraction(10 * max(shape) * a.format.unit_roundoff)
        for side in (exact(u), exact(vh)):
            count = side.nrows()
            eye = [int(i == j) for i in range(count) for j in range(count)]
            rest = side.transpose() * side - flint.fmpq_mat(count, count, eye)
            assert sum(squares(rest)) <= unit**2
        k = min(shape)
        error = exact(a) - exact(u[:, :k] * s[None, :]) * exact(vh[:k])
        assert sum(squares(error)) <= unit**2 * sum(squares(exact(a)))
        assert mp.linalg.matrix_rank(a) == np.linalg.matrix_rank(given[name])


@pytest.mark.parametrize("form", ["float32", "ts", "dd"])
def test_least_squares_of_multiples(device: Device, form: str) -> None:
    """Rank 1, whatever the estimate of the condition overflows to."""
    m, n = 40, 30
    column = np.random.default_rng(5).integers(-9, 10, (m, 1))
    a = mp.array(column * np.arange(1, n + 1), form, device)
    found = mp.linalg.lstsq(a, a[:, 0] * 3)
    assert found.rank == 1
    assert float(abs(a @ found.x - a[:, 0] * 3).max()) <= 1e3 * a.format.unit_roundoff


def test_matrices_below_all_normal_numbers(device: Device) -> None:
    """Pivoting of what is left, where 1 / size is out of range."""
    a = mp.array(np.ldexp(np.ones((12, 12)), -900), "dd", device)
    found = mp.linalg.qr(a, pivoting=True)
    assert math.isclose(float(abs(found.R[0, 0])) * 2.0**900, math.sqrt(12) * 1.0)
    assert float(abs(found.Q.T @ found.Q - mp.array(np.eye(12), "dd", device)).max()) < 1e-30


def test_lengths_that_count_as_zero_are_below_rounding_errors() -> None:
    """Of columns as they are scaled: below the format's roundoff, and squares keep all limbs."""
    for name in formats.STANDARD:
        form = formats.get(name)
        if form.coded:
            continue
        low, _ = definition.COLUMNS[form.word]
        least = definition.NEGLIGIBLE[form.word][form.limbs - 1]
        assert least <= form.unit_roundoff * low
        smallest = 2.0**-1074 if form.word == "float64" else 2.0**-149
        exact_from = max(least, definition.SQUARES_EXACT[form.word][form.limbs - 1])
        assert smallest <= 2 * exact_from**2 * form.unit_roundoff
