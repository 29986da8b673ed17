"""Tight bounds of large products, by integers: as exact arithmetic has them, whatever the product.

Which products are large is a rule of sizes; but for the last tests it is set aside, so that small
ones are compared in every way.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq
from slow import mostly_slow
from test_certified import HOST, MAKERS, fractions

import portmp as mp
from portmp import definition, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format, inputs
from portmp.routines.bounds import certified
from portmp.routines.ozaki import distances, residues, systems
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.options import Ozaki1, Ozaki2

FORMS = ["float32", "float64", "ds", "dd", "ts", "td", "qs", "qd"]
TIGHT: dict[str, Any] = {"bound": "tight"}
SMALLEST = {"float32": mpq(2) ** -149, "float64": mpq(2) ** -1074}


def ways(form: Format) -> list[dict[str, Any]]:
    """How products are computed."""
    found: list[dict[str, Any]] = [{}, {"rounding": "correct"}, {"method": "ozaki1"}]
    if form.bits < 150:  # others are compared otherwise where they are so far off
        found += [{"method": Ozaki1(slices=3)}, {"method": Ozaki2(moduli=6)}]
    found += [{"accuracy": "fast"}] if form.limbs > 1 else []
    return found + ([{"method": "ozaki2"}] if form.bits < 200 else [])


def powers(planes: Any, axis: int) -> Any:
    """The powers of two above the largest entries of rows or columns."""
    least = np.finfo(planes[0].dtype).minexp + 1
    exponents = np.maximum(np.frexp(planes[0])[1], least).max(axis)
    return np.array([mpq(2) ** int(e) for e in exponents], object)


def near(found: tuple[mp.Array, mp.Array], a: Any, b: Any, far: bool = False) -> int:
    """Bounds are not below errors, and above them by no more than is promised; how many there are.

    *far*: without the promise, where what underflows counts.
    """
    value, bound = found
    form = value.format
    errors = abs(fractions(value.to_limbs()) - np.dot(fractions(a), fractions(b)))
    limits = bound.to_limbs()[0]
    assert bound.format.name == form.word and limits.shape == errors.shape
    more = powers(a, 1)[:, None] * powers(b, 0)[None, :] * mpq(form.unit_roundoff) / 2**29
    known = np.isfinite(limits)
    for limit, error, extra in zip(limits[known], errors[known], more[known], strict=True):
        assert error <= mpq(float(limit))
        allowed = (error + extra) * (1 + mpq(1, 2**18)) + 8 * SMALLEST[form.word]
        assert far or mpq(float(limit)) <= allowed
    return int(known.sum())


@pytest.fixture
def every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """All products count as large; none is compared otherwise."""
    monkeypatch.setattr(definition, "by_integers", lambda *_: True)
    monkeypatch.setattr(certified, "error_bound", None)


# --- beside exact arithmetic ---------------------------------------------------------------------


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("kind", ["ordinary", "positive", "cancelling"])
@pytest.mark.parametrize("form", FORMS)
def test_bounds_are_errors(form: str, kind: str) -> None:
    """By every method, on the host."""
    f = formats.get(form)
    a, b = MAKERS[kind](f, (5, 60), "a"), MAKERS[kind](f, (60, 4), "b")
    left, right = mp.from_limbs(a, f, HOST), mp.from_limbs(b, f, HOST)
    for how in ways(f):
        found = mp.gemm(left, right, **how, **TIGHT)
        plain = mp.gemm(left, right, **how)
        for p, q in zip(found[0].to_limbs(), plain.to_limbs(), strict=True):
            assert np.array_equal(p, q)
        assert near(found, a, b) == 20


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("binary_orders", [16, 40, 44, 64])
def test_entries_of_different_sizes(form: str, binary_orders: int) -> None:
    """Large entries of rows meet small ones of columns: within two percent up to 2^16.

    From 2^40 on what operands are cut off is as large as errors, and then larger.
    """
    f = formats.get(form)
    a, b = inputs.ordinary(f, (6, 64), "a"), inputs.ordinary(f, (64, 6), "b")
    grades = np.arange(64) * binary_orders // 64
    a, b = [np.ldexp(p, -grades) for p in a], [np.ldexp(p, grades[:, None]) for p in b]
    value, bound = mp.gemm(mp.from_limbs(a, f, HOST), mp.from_limbs(b, f, HOST), **TIGHT)
    assert near((value, bound), a, b) == 36
    errors = abs(fractions(value.to_limbs()) - np.dot(fractions(a), fractions(b)))
    rows = zip(bound.to_limbs()[0].flat, errors.flat, strict=True)
    close = sum(mpq(float(w)) <= mpq(102, 100) * e for w, e in rows)
    assert binary_orders not in (16, 64) or (close >= 34) == (binary_orders == 16)


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("form", FORMS)
def test_rows_and_columns_of_all_sizes(form: str) -> None:
    """To both ends of the range: limbs, or all, underflow; where sums may overflow is no bound."""
    f = formats.get(form)
    end = 60 if f.word == "float32" else 500
    steps = np.array([-2 * end, -end - 9, -end, 0, end, 2 * end])
    a, b = inputs.ordinary(f, (6, 12), "a"), inputs.ordinary(f, (12, 6), "b")
    with np.errstate(all="ignore"):
        a = [np.nan_to_num(np.ldexp(p, steps[:, None]), posinf=0, neginf=0) for p in a]
        b = [np.nan_to_num(np.ldexp(p, steps[None, :]), posinf=0, neginf=0) for p in b]
        a, b = ([p.astype(f.word) for p in v] for v in (a, b))
    a[0][0, 3:] = 0  # a row of small numbers and zeros
    for plane in a[1:]:
        plane[0, 3:] = 0
    left, right = mp.from_limbs(a, f, HOST), mp.from_limbs(b, f, HOST)
    for how in ways(f):
        found = mp.gemm(left, right, **how, **TIGHT)
        assert near(found, a, b, far=True) >= 25
        sums = steps[:, None] + steps[None, :]
        limits, least = found[1].to_limbs()[0], math.log2(SMALLEST[f.word])
        # Of products that underflow ten smallest numbers a step count, of at least 1024 steps.
        assert (limits[sums < least] <= 2.0 ** (least + 14)).all()


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("form", ["float32", "float64", "dd", "qs"])
def test_zeros_integers_and_nothing(form: str) -> None:
    """Exact products have hardly an error; rows of zeros none."""
    f = formats.get(form)
    a = np.arange(-20.0, 20).reshape(4, 10)
    a[2] = 0
    x, y = mp.array(a, form, HOST), mp.array(a[::-1].T.copy(), form, HOST)
    limits = mp.gemm(x, y, **TIGHT)[1].to_limbs()[0]
    assert (limits <= 2.0**-19 * f.unit_roundoff).all()
    assert (limits[2] <= 1e-30).all()
    assert [v.shape for v in mp.gemm(x[:0], y, **TIGHT)] == [(0, 4), (0, 4)]


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("form", ["float32", "float64", "dd", "ts", "qd"])
def test_what_is_not_finite_has_none(form: str) -> None:
    """Infinite or NaN in its row or column, overflow of the result; and nowhere else."""
    top = float(np.finfo(formats.get(form).word).max)
    for bad in (math.inf, -math.inf, math.nan):
        a = mp.array([[1.0, 2.0, 3.0], [4.0, bad, 6.0]], form, HOST)
        b = mp.array([[1.0, -1.0], [0.0, 2.0], [3.0, 1.0]], form, HOST)
        limits = mp.gemm(a, b, **TIGHT)[1].to_limbs()[0]
        assert np.isfinite(limits[0]).all() and np.isnan(limits[1]).all()
        limits = mp.gemm(b.T, a.T, **TIGHT)[1].to_limbs()[0]
        assert np.isfinite(limits[:, 0]).all() and np.isnan(limits[:, 1]).all()
    x = mp.array([[top, -top], [1.0, 1.0]], form, HOST)
    y = mp.array([[2.0, 1.0], [2.0, 0.5]], form, HOST)
    limits = mp.gemm(x, y, **TIGHT)[1].to_limbs()[0]
    assert np.isnan(limits[0]).all() and np.isfinite(limits[1]).all()


# --- devices -------------------------------------------------------------------------------------


def same(found: mp.Array, wanted: mp.Array) -> None:
    """The same numbers."""
    assert np.array_equal(found.to_limbs()[0], wanted.to_limbs()[0], equal_nan=True)


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("form", mostly_slow(FORMS, ["float64", "ts", "qd"], "the same kernels"))
def test_the_same_bits_on_devices(
    device: Device, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Odd sizes, ends of the range, views, columns as neighbours, batches, blocks."""
    f = formats.get(form)
    for kind in ("wide", "ordinary"):
        a, b = MAKERS[kind](f, (37, 45), "a"), MAKERS[kind](f, (45, 35), "b")
        pairs = []
        for where in (device, HOST):
            left, right = mp.from_limbs(a, f, where), mp.from_limbs(b, f, where)
            pairs.append(
                [
                    mp.gemm(left, right, **TIGHT)[1],
                    mp.gemm(left[::2, ::-3], right[1:16], **TIGHT)[1],
                    mp.gemm(right, left, trans_a=True, trans_b=True, **TIGHT)[1],
                ]
            )
        for here, there in zip(*pairs, strict=True):
            same(here, there)
    turned = mp.zeros((35, 37), f, device).T
    left, right = mp.from_limbs(a, f, device), mp.from_limbs(b, f, device)
    same(mp.gemm(left, right, out=turned, **TIGHT)[1], pairs[0][0])
    monkeypatch.setattr(ozaki, "ROOM", device.properties.memory // 500_000)
    same(mp.gemm(left, right, **TIGHT)[1], pairs[0][0])
    stack = mp.from_limbs(inputs.ordinary(f, (3, 6, 7), "c"), f, device)
    found = mp.gemm(stack, stack[0].T, **TIGHT)[1]
    for i in range(3):
        same(found[i], mp.gemm(stack[i], stack[0].T, **TIGHT)[1])


def test_no_float64(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where integers cannot be compared this is said: other bits are no choice."""
    monkeypatch.setattr(definition, "by_integers", lambda *_: True)
    x = mp.array([[1.0, 2.0], [3.0, 4.0]], "ds", device)
    monkeypatch.setattr(device, "properties", replace(device.properties, float64=False))
    with pytest.raises(ArgumentError, match=r"bound: 'tight' given.*no float64"):
        mp.gemm(x, x, **TIGHT)


# --- moduli --------------------------------------------------------------------------------------


@pytest.mark.parametrize("computed", ["accurate", "fast", "correct", Ozaki2(moduli=6)])
@pytest.mark.parametrize("k", [1, 1024, 1025, 4096, residues.DEPTH])
@pytest.mark.parametrize("form", FORMS)
def test_moduli_tell_all_that_may_be_left(form: str, k: int, computed: Any) -> None:
    """Twice what results may be off and what integers may be, at most; sums of bytes are exact."""
    f = formats.get(form)
    if f.limbs == 1 and computed == "fast":
        return
    found = distances.limits(f, k, computed)
    scheme = distances.differences(f, k, found)
    if scheme is None:
        assert (form == "qd" and k > 4096) or isinstance(computed, Ozaki2)
        return
    product = math.prod(systems.moduli()[: scheme.count])
    known = mpq(found.known)
    assert 2 * (2 * known * 4**found.bits + mpq(found.cut)) < product
    assert mpq(found.lost) <= known * mpq(2) ** found.least
    # Results are no larger than their integers' bits.
    bits, steps = scheme.results.system.bits, max(k, 1)
    assert steps * 4**found.bits * (1 + known) < 2**bits
    for system in (scheme.system, scheme.results.system):
        for m in system.moduli:
            weights = [w >> (8 * i) & 255 for w in system.weights(m) for i in range(4)]
            assert sum(weights) * 255 + m < 2**22
    # What is promised.
    cut = mpq(found.cut) / 4**found.bits
    assert cut <= mpq(f.unit_roundoff) / 2**30 * (1 + mpq(1, 2**19))


# --- the rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "shape"), [("dd", (128, 128, 8192)), ("qs", (130, 128, 4096))])
def test_large_products(
    device: Device, form: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the rule by integers, below it not; with alpha or beta neither."""
    f, (m, n, k) = formats.get(form), shape
    a, b = inputs.ordinary(f, (m, k), "a"), inputs.ordinary(f, (k, n), "b")
    left, right = mp.from_limbs(a, f, device), mp.from_limbs(b, f, device)
    called: list[str] = []
    inner = distances.product

    def counted(*given: Any) -> Any:
        called.append(form)
        return inner(*given)

    monkeypatch.setattr(distances, "product", counted)
    value, bound = mp.gemm(left, right, **TIGHT)
    assert called == [form]
    rows, columns = [0, m - 1], [0, n - 1]
    some = [
        mp.from_limbs([p[rows][:, columns] for p in v.to_limbs()], v.format, HOST)
        for v in (value, bound)
    ]
    assert near((some[0], some[1]), [p[rows] for p in a], [p[:, columns] for p in b]) == 4
    mp.gemm(left[:127, :40], right[:40], **TIGHT)
    monkeypatch.setattr(definition, "by_integers", lambda *_: True)
    mp.gemm(left[:3, :40], right[:40], alpha=2, **TIGHT)
    mp.gemm(left[:3, :40], right[:40], beta=1, c=value[:3], **TIGHT)
    assert called == [form]
