"""Functions by NumPy's names: NumPy's own results in float64, and full format in dd.

Each call is made with NumPy and with portmp; what NumPy rounds in another order agrees to 1e-12.
Then values that no float64 holds go through the same functions and are looked at exactly.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.arrays import statistics
from portmp.backends.base import Device
from portmp.errors import ArgumentError, PortmpError, ShapeError, UnsupportedError

Call = Callable[[Any, Any], Any]


class Arrays:
    """The same arrays of either library."""

    def __init__(self, xp: Any, device: Device | None = None) -> None:
        draw = np.random.default_rng(41)
        where = {} if device is None else {"device": device}
        kind = "float64" if xp is mp else np.float64

        def real(values: Any) -> Any:
            return xp.asarray(np.asarray(values, float), dtype=kind, **where)

        def whole(values: Any) -> Any:
            return xp.asarray(np.asarray(values), **where)

        self.a, self.b = real(draw.normal(size=(3, 4))), real(draw.normal(size=(4, 5)))
        self.cube = real(draw.normal(size=(2, 3, 4)))
        self.v, self.w = real(draw.normal(size=9)), real(draw.uniform(0.5, 2, size=9))
        self.up = real(np.cumsum(draw.uniform(0.1, 1, size=9)))
        self.square = real(draw.normal(size=(4, 4)))
        self.holes = real([[1.5, np.nan, -2, 3], [np.nan, np.nan, 4, -1], [0, 1, 2, 3]])
        self.ends = real([np.inf, -np.inf, np.nan, 0.0, -0.0, 2.5, -2.5])
        self.ties = real([3, 1, 3, 0, 1, 3, -2, 0, 7])
        self.i, self.counts = whole([2, 0, 1, 2]), whole([0, 3, 1, 1, 6])
        self.zeros = real([0, 0, 1, 0, 2, 0])


def changed(function: Callable[[Any, Any, Any], None]) -> Call:
    """A function that works in the memory of an array."""

    def call(xp: Any, s: Arrays) -> Any:
        x = s.a.copy()
        function(xp, s, x)
        return x

    return call


METHODS = [
    "linear",
    "lower",
    "higher",
    "nearest",
    "midpoint",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
]
QUARTERS = [0, 0.125, 0.25, 0.5, 0.625, 0.75, 1]

CALLS: dict[str, Call] = {
    # arrangements
    "rot90": lambda xp, s: [xp.rot90(s.a, k) for k in (-1, 0, 1, 2, 3, 5)],
    "rot90 axes": lambda xp, s: xp.rot90(s.cube, 1, (1, 2)),
    "atleast_3d": lambda xp, s: [xp.atleast_3d(x) for x in (s.v, s.a, s.cube)],
    "dstack": lambda xp, s: [xp.dstack([s.a, s.a]), xp.dstack((s.v, s.w))],
    "splits": lambda xp, s: [*xp.hsplit(s.a, 2), *xp.vsplit(s.a, 3), *xp.dsplit(s.cube, [1])],
    "hsplit": lambda xp, s: xp.hsplit(s.v, 3),
    "block": lambda xp, s: [xp.block([[s.a, s.a], [s.a, s.a]]), xp.block([s.v, s.w])],
    "delete": lambda xp, s: [
        xp.delete(s.a, 1, axis=0),
        xp.delete(s.a, [0, -1], axis=1),
        xp.delete(s.a, slice(0, 2), axis=1),
        xp.delete(s.a, 5),
        xp.delete(s.v, np.arange(9) % 2 == 0),
    ],
    "insert": lambda xp, s: [
        xp.insert(s.v, 1, 9.0),
        xp.insert(s.v, -1, [1.0, 2.0]),
        xp.insert(s.v, [0, 3, 3], [1.0, 2.0, 3.0]),
        xp.insert(s.a, 1, 5.0, axis=1),
        xp.insert(s.a, [1, 2], 5.0, axis=0),
        xp.insert(s.a, 1, s.b[:, 0], axis=0),
        xp.insert(s.a, 2, [1.0, 2.0, 3.0], axis=1),
    ],
    "resize": lambda xp, s: [xp.resize(s.a, (2, 2)), xp.resize(s.a, (5, 5))],
    "trim_zeros": lambda xp, s: [xp.trim_zeros(s.zeros, t) for t in ("fb", "f", "b")],
    "tri": lambda xp, s: [xp.tri(3), xp.tri(3, 5, 1), xp.tri(4, 2, -1)],
    "diagflat": lambda xp, s: [xp.diagflat(s.v), xp.diagflat(s.a, -2)],
    "fill_diagonal": changed(lambda xp, s, x: xp.fill_diagonal(x, 7.0)),
    "fill_diagonal of vectors": changed(lambda xp, s, x: xp.fill_diagonal(x, s.v[:3])),
    "pad": lambda xp, s: [
        xp.pad(s.a, ((1, 2), (0, 3)), mode)
        for mode in ("constant", "edge", "wrap", "symmetric", "reflect")
    ],
    "pad further": lambda xp, s: [xp.pad(s.v[:3], 7, m) for m in ("wrap", "symmetric", "reflect")],
    "orders": lambda xp, s: [xp.ravel(s.a, order="F"), s.a.flatten("F")],
    "copy": lambda xp, s: [xp.copy(s.a), xp.ascontiguousarray(s.a.T)],
    # grids
    "ix_": lambda xp, s: s.a[xp.ix_([0, 2], [1, 3])],
    "indices": lambda xp, s: [xp.indices((2, 3)), *xp.indices((2, 3), sparse=True)],
    "fromfunction": lambda xp, s: xp.fromfunction(lambda i, j: 2 * i + j, (3, 4)),
    "logspace": lambda xp, s: [xp.logspace(0, 2, 5), xp.logspace(0, 3, 4, base=2.0)],
    "geomspace": lambda xp, s: [xp.geomspace(1, 1000, 7), xp.geomspace(-2, -32, 4, endpoint=False)],
    # choices
    "select": lambda xp, s: xp.select([s.v < -0.5, s.v < 0.5], [s.v * 0, s.v], default=5),
    "choose": lambda xp, s: xp.choose(s.i, [s.a[0], s.a[1], s.b[:, 0]]),
    "compress": lambda xp, s: xp.compress([True, False, True], s.a, axis=0),
    "copyto": changed(lambda xp, s, x: xp.copyto(x, s.b[:, 0])),
    "copyto where": changed(lambda xp, s, x: xp.copyto(x, 2.0, where=x < 0)),
    "put": changed(lambda xp, s, x: xp.put(x, [0, -1, 5], [7.0, 8.0])),
    "digitize": lambda xp, s: [
        xp.digitize(s.ties, [-2.0, 0.0, 3.0], right=r) for r in (False, True)
    ],
    "digitize falling": lambda xp, s: [
        xp.digitize(s.ties, [3.0, 0.0, -2.0], right=r) for r in (False, True)
    ],
    "nan_to_num": lambda xp, s: [xp.nan_to_num(s.ends), xp.nan_to_num(s.ends, nan=1.0, posinf=2.0)],
    "fmax": lambda xp, s: [xp.fmax(s.ends, 0.5), xp.fmin(s.ends, 0.5)],
    "infinite": lambda xp, s: [xp.isposinf(s.ends), xp.isneginf(s.ends)],
    "heaviside": lambda xp, s: xp.heaviside(s.ends, 0.25),
    "exp2": lambda xp, s: xp.exp2(s.v),
    "ldexp": lambda xp, s: [xp.ldexp(s.v, 3), xp.ldexp(s.a, s.i), xp.ldexp(s.w, -1030)],
    "modf": lambda xp, s: [*xp.modf(s.v), *xp.modf(s.ends)],
    "divmod": lambda xp, s: [*xp.divmod(s.v, 0.3)],
    "sinc": lambda xp, s: [xp.sinc(s.v), xp.sinc(s.zeros), xp.fabs(s.v), xp.fix(s.v)],
    "angle": lambda xp, s: [xp.angle(s.v), xp.angle(s.v, deg=True)],
    "unwrap": lambda xp, s: [
        xp.unwrap(s.up * 9 % 6.5),
        xp.unwrap(s.cube * 5, axis=1),
        xp.unwrap(s.v * 4, period=4),
        xp.unwrap(s.v * 9, discont=5.0),
    ],
    # without NaN
    **{
        name: lambda xp, s, n=name: [
            getattr(xp, n)(s.holes),
            getattr(xp, n)(s.holes, axis=0),
            getattr(xp, n)(s.holes, axis=1),
        ]
        for name in [
            "nansum",
            "nanprod",
            "nanmax",
            "nanmin",
            "nanmean",
            "nanvar",
            "nanstd",
            "nanmedian",
            "nancumsum",
            "nancumprod",
            "nanargmax",
            "nanargmin",
        ]
    },
    "nanquantile": lambda xp, s: [
        xp.nanquantile(s.holes, 0.25, axis=1),
        xp.nanpercentile(s.holes, [25, 50]),
        xp.nanquantile(s.holes, 0.5, axis=0, method="lower"),
    ],
    # statistics
    "quantile": lambda xp, s: [
        xp.quantile(x, q, method=m) for m in METHODS for x in (s.v, s.ties[:8]) for q in QUARTERS
    ],
    "percentile": lambda xp, s: xp.percentile(s.a, [25, 50], axis=1, method="higher"),
    "cov": lambda xp, s: [
        xp.cov(s.v),
        xp.cov(s.a),
        xp.cov(s.a, rowvar=False),
        xp.cov(s.v, s.w),
        xp.cov(s.a, bias=True),
        xp.cov(s.a, ddof=2),
    ],
    "corrcoef": lambda xp, s: [xp.corrcoef(s.a), xp.corrcoef(s.v, s.w)],
    "histogram": lambda xp, s: [
        *xp.histogram(s.v, bins=4, density=True),
        *xp.histogram(s.ties, bins=[-2, 0, 1, 7], weights=s.w),
        *xp.histogram(s.v, bins=5, range=(-1, 2), weights=s.w, density=True),
        xp.histogram_bin_edges(s.v, 3),
    ],
    "bincount": lambda xp, s: [
        xp.bincount(s.counts, weights=s.v[:5]),
        xp.bincount(s.counts, minlength=9),
    ],
    "diff": lambda xp, s: [
        xp.diff(s.v, 2),
        xp.diff(s.a, 1, 0),
        xp.diff(s.v, prepend=0, append=s.w[:2]),
        xp.diff(s.a, axis=0, prepend=1.5),
        xp.ediff1d(s.a),
        xp.ediff1d(s.v, to_end=[1.0, 2.0], to_begin=-1.0),
    ],
    # numerics
    "gradient": lambda xp, s: [
        xp.gradient(s.v),
        xp.gradient(s.v, s.up),
        xp.gradient(s.v, s.up, edge_order=2),
        xp.gradient(s.v, 0.5, edge_order=2),
        *xp.gradient(s.a, 2.0, [0.0, 1.0, 3.0, 3.5]),
        xp.gradient(s.a, 0.5, axis=1),
    ],
    "interp": lambda xp, s: [
        xp.interp(s.v, s.up, s.w),
        xp.interp(s.v, s.up, s.w, left=-1.0, right=9.0),
        xp.interp([0.5, 2.0], s.up, s.w),
        xp.interp(1.5, s.up, s.w),
    ],
    "poly": lambda xp, s: [xp.poly(s.v[:4]), xp.poly([1, 2, 3])],
    "polynomials": lambda xp, s: [
        xp.polyadd(s.v[:3], s.w[:5]),
        xp.polysub(s.v[:5], [1, 2]),
        xp.polymul([1, 2], s.w[:3]),
        *xp.polydiv(s.v[:5], s.w[:2]),
        *xp.polydiv(s.v[:2], s.w[:3]),
        *xp.polydiv(s.v[:3], s.w[:1]),
        xp.polyder(s.v),
        xp.polyder(s.v, 2),
        xp.polyint(s.v),
        xp.polyint(s.v, 2, [1.0, 2.0]),
    ],
    "correlate": lambda xp, s: [
        xp.correlate(x, y, mode)
        for x, y in ((s.v, s.w[:4]), (s.v[:4], s.w), (s.v[:3], s.w))
        for mode in ("valid", "same", "full")
    ],
    "polyfit": lambda xp, s: [
        *xp.polyfit(s.up, s.v, 2, cov=True),
        *xp.polyfit(s.up, s.v, 1, w=s.w, cov="unscaled"),
        xp.polyfit([1, 2, 3, 4], [1.0, 4.0, 9.0, 16.5], 2),
    ],
    "polyfit of several": lambda xp, s: [*xp.polyfit(s.up[:4], s.b, 1, cov=True)],
    # products
    "einsum": lambda xp, s: [
        xp.einsum("ij,jk->ik", s.a, s.b),
        xp.einsum("ij,jk", s.a, s.b),
        xp.einsum("ij->", s.a),
        xp.einsum("ij->ji", s.a),
        xp.einsum("ii", s.square),
        xp.einsum("ii->i", s.square),
        xp.einsum("ij,ij->i", s.a, s.a),
        xp.einsum("i,j->ij", s.v, s.w),
        xp.einsum("kij,jl->kil", s.cube, s.b),
        xp.einsum("kij,kij->k", s.cube, s.cube),
        xp.einsum("...j,jk->...k", s.cube, s.b),
        xp.einsum("...ij->...ji", s.cube),
        xp.einsum("ij,jk,kl->il", s.a, s.square, s.b),
        xp.einsum("i,i,i->", s.v, s.w, s.up),
        xp.einsum("ba,bc,bd->acd", s.square, s.square, s.square),
        xp.einsum("ij,kj->ikj", s.a[:, :1], s.a),
        xp.einsum("iij,j->i", s.cube[:, :2], s.v[:4]),
    ],
    "vdot": lambda xp, s: [xp.vdot(s.a, s.a), xp.linalg.multi_dot([s.a, s.square, s.b])],
    "multi_dot": lambda xp, s: xp.linalg.multi_dot([s.v[:3], s.a, s.b, s.w[:5]]),
    # orders and sets
    "lexsort": lambda xp, s: [xp.lexsort((s.v, s.ties)), xp.lexsort((s.a, -s.a), axis=0)],
    "partition": lambda xp, s: [xp.partition(s.v, 3)[3], s.v[xp.argpartition(s.v, 3)[3]]],
    "sets": lambda xp, s: [
        xp.setxor1d(s.ties, [1.0, 2.0]),
        xp.union1d(s.ties, [9.0]),
        xp.isin(s.ties, [1, 3]),
        xp.searchsorted(s.up, [1.0, 2.0]),
        xp.sort([3, 1, 2]),
        xp.cumsum([1, 2, 3]),
        xp.vander([1, 2, 3], 3),
        xp.convolve([1, 2, 3], s.v),
        xp.transpose([[1, 2], [3, 4]]),
    ],
    # methods of universal functions
    "reduce": lambda xp, s: [
        xp.add.reduce(s.a),
        xp.multiply.reduce(s.a, axis=1),
        xp.maximum.reduce(s.a),
        xp.minimum.reduce(s.a, axis=1, keepdims=True),
        xp.logical_and.reduce(s.a > 0),
    ],
    "accumulate": lambda xp, s: [
        xp.add.accumulate(s.a),
        xp.multiply.accumulate(s.v),
        xp.maximum.accumulate(s.a, axis=1),
        xp.minimum.accumulate(s.v),
        xp.maximum.accumulate(s.holes, axis=1),
    ],
    "outer": lambda xp, s: [
        xp.subtract.outer(s.v, s.w),
        xp.add.outer(s.a, s.v),
        xp.multiply.outer(s.v, s.a),
        xp.power.outer(s.w, s.up),
    ],
    "at": changed(lambda xp, s, x: xp.add.at(x, ([0, 1, 1, 0], [2, 3, 3, 2]), s.v[:4])),
    "at rows": changed(lambda xp, s, x: xp.subtract.at(x, [0, 2, 0], 1.5)),
    "at a mask": changed(lambda xp, s, x: xp.multiply.at(x, x > 0, 3.0)),
    "at extrema": changed(lambda xp, s, x: xp.maximum.at(x, [0, 0, -1], 0.25)),
    "facts": lambda xp, s: [
        xp.ndim(s.a),
        xp.size(s.a),
        xp.size(s.a, 1),
        list(xp.shape(s.a)),
        xp.isscalar(3.5),
        xp.isscalar(s.a),
        xp.iscomplexobj(s.a),
    ],
    "places": lambda xp, s: [
        *xp.unravel_index(xp.argmax(s.a), s.a.shape),
        *xp.unravel_index(s.i, (2, 2)),
    ],
    "one by one": lambda xp, s: [list(i) for i in xp.ndindex(2, 3)],
}


def plain(found: Any) -> Any:
    """Nested lists of NumPy's arrays."""
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    values = found.to_float64() if isinstance(found, mp.Array) else found
    return np.asarray(values)


def check_near(found: Any, wanted: Any) -> None:
    """Shapes and values, also of NaN and infinities."""
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check_near(one, other)
        return
    assert found.shape == wanted.shape, (found, wanted)
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", list(CALLS))
def test_numpys_results(name: str, device: Device) -> None:
    """In float64, as far as NumPy rounds alike."""
    with mp.default_format("float64"), mp.device(device):
        found = CALLS[name](mp, Arrays(mp, device))
    check_near(plain(found), plain(CALLS[name](np, Arrays(np))))


THIRD = Fraction(1, 3)


def exact(x: Any) -> Any:
    """Fractions of an array."""
    return x.to_fractions()


def test_nothing_is_rounded_to_float64(device: Device) -> None:
    """Values of dd that no float64 holds come out as they are, or as exact arithmetic has them."""
    v = mp.array([THIRD, 1 + THIRD, -THIRD, 2], "dd", device)
    kept = exact(v)
    assert exact(mp.rot90(v[None]).reshape(-1)) == kept[::-1]
    assert exact(mp.delete(v, 3)) == kept[:3]
    assert exact(mp.insert(v, 1, v[3])) == [kept[0], kept[3], *kept[1:]]
    assert exact(mp.pad(v, 1, "wrap")) == [kept[-1], *kept, kept[0]]
    assert exact(mp.select([v < 0], [v], default=0)) == [0, 0, kept[2], 0]
    assert exact(mp.fmax(v, float("nan"))) == kept
    assert exact(mp.nan_to_num(v)) == kept
    assert exact(mp.ldexp(v, -7)) == [x / 128 for x in kept]
    rest, whole = mp.modf(v)
    assert [a + b for a, b in zip(exact(rest), exact(whole), strict=True)] == kept
    assert exact(mp.maximum.accumulate(v)) == [kept[0], kept[1], kept[1], kept[3]]
    assert exact(mp.quantile(v, 0.5, method="lower")) == sorted(kept)[1]
    assert exact(mp.sort(v)) == exact(mp.partition(v, 1)) == sorted(kept)
    assert exact(mp.unwrap(v * 0 + v[0])) == [kept[0]] * 4


@pytest.mark.parametrize("form", ["ds", "dd", "qd", "d+s"])
def test_errors_of_sums_are_those_of_the_format(form: str, device: Device) -> None:
    """Compositions stay within a few roundings of exact arithmetic."""
    given = [Fraction(k, 7) for k in (3, -5, 8, 13, -2, 6)]
    v = mp.array(given, form, device)
    held = exact(v)
    tolerance = Fraction(2) ** (6 - v.format.bits)
    near = [
        (mp.einsum("i,i->", v, v), sum(x * x for x in held)),
        (mp.nansum(v), sum(held)),
        (
            mp.bincount(mp.plain_array([0, 1, 0, 1, 0, 0]), weights=v)[0],
            sum(held[i] for i in (0, 2, 4, 5)),
        ),
        (mp.polyint(v)[0], held[0] / 6),
        (mp.poly(v[:2])[2], held[0] * held[1]),
        (mp.gradient(v)[1], (held[2] - held[0]) / 2),
        (
            mp.quantile(v, THIRD, method="weibull"),
            sorted(held)[1] + (sorted(held)[2] - sorted(held)[1]) * THIRD,
        ),
    ]
    for found, wanted in near:
        assert abs(exact(found) - wanted) <= tolerance * max(1, abs(wanted))
    total = mp.zeros(1, form, device)
    mp.add.at(total, [0] * 6, v)
    order = mp.zeros(1, form, device)
    for x in v:
        order[0] += x
    assert exact(total) == exact(order)


def test_weights_are_summed_in_as_many_launches_as_there_are_lengths(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sum has the bits that ``sum`` has of its values in order."""
    draw = np.random.default_rng(3)
    places = draw.integers(0, 12, size=90)
    x = mp.array(draw.normal(size=90), "dd", device) / 3
    wanted = [x[np.flatnonzero(places == k)].sum().to_limbs() for k in range(12)]
    calls = []
    summed = statistics.sum
    monkeypatch.setattr(
        statistics, "sum", lambda *a, **named: calls.append(a) or summed(*a, **named)
    )
    found = mp.bincount(mp.plain_array(places, device=device), weights=x)
    assert [[float(v) for v in limbs] for limbs in zip(*found.to_limbs(), strict=True)] == [
        [float(v) for v in limbs] for limbs in wanted
    ]
    assert len(calls) == len(set(np.bincount(places).tolist()) - {0}) < 12
    counted, edges = mp.histogram(x, 4, weights=x)
    ordered = mp.sort(x)
    inside = [(ordered >= edges[k]) & (ordered < edges[k + 1]) for k in range(3)]
    assert all(counted[k] == ordered[mask].sum() for k, mask in enumerate(inside))


def test_places_beside_nan_are_those_of_numbers(device: Device) -> None:
    """Also of infinities, where NumPy's are not to be trusted."""
    x = mp.array([float("nan"), float("-inf"), float("nan")], "dd", device)
    assert int(mp.nanargmax(x)) == int(mp.nanargmin(x)) == 1
    assert float(mp.nanmax(x)) == float("-inf")


def test_ldexp_goes_as_far_as_the_word(device: Device) -> None:
    """Also where 2^n alone is no number of the word."""
    x = mp.array([2.0**-1000], "float64", device)
    assert mp.ldexp(x, 2000).tolist() == [2.0**1000]
    assert mp.ldexp(mp.array([1.5], "dd", device), [5000]).tolist() == [float("inf")]
    assert mp.ldexp(mp.array([2.0**-100], "ds", device), 200).tolist() == [2.0**100]


def test_testing_looks_at_all_digits(device: Device) -> None:
    """What differs in the 26th digit differs."""
    x = mp.array(["1.00000000000000000000000001", "2"], "dd", device)
    y = mp.array(["1", "2"], "dd", device)
    check = mp.testing
    check.assert_array_equal(x, x.copy())
    check.assert_equal({"x": [x, 1.5]}, {"x": [x.copy(), 1.5]})
    check.assert_allclose(x, y)
    check.assert_almost_equal(x, y, decimal=25)
    check.assert_array_less(y[:1], x[:1])
    for wrong in (
        lambda: check.assert_array_equal(x, y),
        lambda: check.assert_equal([x], [y]),
        lambda: check.assert_allclose(x, y, rtol="1e-27"),
        lambda: check.assert_almost_equal(x, y, decimal=27),
        lambda: check.assert_array_less(x, y),
        lambda: check.assert_array_equal(x, x[:1].reshape(1, 1)),
    ):
        with pytest.raises(AssertionError):
            wrong()
    nothing = mp.array([float("nan")], "dd", device)
    check.assert_array_equal(nothing, nothing)


def test_multi_dot_writes_where_it_is_told(device: Device) -> None:
    """With *out*, as NumPy's does, of two matrices and of more."""
    a = mp.array([[1.0, 2.0], [3.0, 4.0]], "dd", device)
    for factors, want in (([a, a], [[7, 10], [15, 22]]), ([a, a, a], [[37, 54], [81, 118]])):
        out = mp.zeros((2, 2), "dd", device)
        assert mp.linalg.multi_dot(factors, out=out) is out
        assert out.to_float64().tolist() == want


def test_lists_and_ranges_of_generators() -> None:
    """permutation and shuffle take what NumPy's take; exponential and lognormal."""
    rng = mp.random.default_rng(3)
    items = list("abcdefgh")
    rng.shuffle(items)
    assert sorted(items) == list("abcdefgh") != items
    assert sorted(rng.permutation(range(9)).tolist()) == list(range(9))
    x = rng.exponential(2, 4000, "dd")
    assert abs(float(x.mean()) - 2) < 0.2 and bool((x >= 0).all())
    again = mp.random.default_rng(5).exponential(3, 4, "qd")
    drawn = mp.random.default_rng(5).random(4, "qd")
    assert (again == -mp.log1p(-drawn) * 3).all()
    z = mp.random.default_rng(5).normal(1, 2, 4, "dd")
    assert (mp.random.default_rng(5).lognormal(1, 2, 4, "dd") == mp.exp(z)).all()
    with pytest.raises(ArgumentError, match="scale"):
        rng.exponential(-1)


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("", "savetxt", "to_strings"),
        ("", "polynomial", "poly1d"),
        ("", "busday_count", "to_float64"),
        ("", "inverse", "^portmp has no inverse: portmp.linalg has inv, eigh"),
        ("", "solve_ivp", "recipes"),
        ("random", "seed", "default_rng"),
        ("random", "randn", "rng.normal"),
    ],
)
def test_names_that_are_not_here_say_what_is(module: str, name: str, words: str) -> None:
    """As AttributeErrors: hasattr is false."""
    where = getattr(mp, module) if module else mp
    with pytest.raises(AttributeError, match=words):
        getattr(where, name)
    assert not hasattr(mp, "no_such_function")


def test_every_sentence_is_of_a_name_that_is_not_here() -> None:
    """What is added loses its sentence."""
    from portmp.errors import not_here

    assert not [name for name in not_here.INSTEAD if name in mp.__all__]
    for said in not_here.INSTEAD.values():
        for name, arguments in re.findall(r"portmp\.([a-z_]+)\(([^()]*)\)", said):
            given = [x.strip() for x in arguments.split(",")]
            keywords = dict.fromkeys(x.partition("=")[0] for x in given if "=" in x)
            inspect.signature(getattr(mp, name)).bind(
                *(x for x in given if "=" not in x), **keywords
            )
    with pytest.raises(AttributeError, match="has no gamma"):
        _ = mp.random.default_rng(1).gamma


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: mp.quantile(x, 0.5, method="middle"), ArgumentError, "method"),
        (lambda x: mp.histogram(x, 3, weights=x[:1]), ShapeError, "weights"),
        (lambda x: mp.polyfit(x, x, 1, cov="all"), ArgumentError, "cov"),
        (lambda x: mp.polyfit(x, x, 1, cov=True), ShapeError, "cov"),
        (lambda x: mp.einsum("ij", x), ShapeError, "'ij'"),
        (lambda x: mp.einsum("i,j", x), ArgumentError, "operands"),
        (lambda x: mp.einsum("i->j", x), ArgumentError, "letters"),
        (lambda x: mp.einsum("i,i", x, mp.zeros(3, "dd")), ShapeError, "lengths"),
        (lambda x: mp.select([x > 0], []), ArgumentError, "as many"),
        (lambda x: mp.pad(x, 1, "mean"), ArgumentError, "mode"),
        (lambda x: mp.pad(x, -1), ArgumentError, "pad_width"),
        (lambda x: mp.digitize(x, [1, 3, 2]), ArgumentError, "order"),
        (lambda x: mp.geomspace(-1, 2), ArgumentError, "one sign"),
        (lambda x: mp.polydiv(x, [0, 0]), ArgumentError, "zero"),
        (lambda x: mp.poly(x[None]), ShapeError, "eigvals"),
        (lambda x: mp.gradient(x, 1, 2), ArgumentError, "distances"),
        (lambda x: mp.nanargmax(x * float("nan")), ArgumentError, "NaN"),
        (lambda x: mp.choose([3], [x]), IndexError, "choices"),
        (lambda x: mp.add.at(x, [5], 1), IndexError, "size 2"),
        (lambda x: np.place(x, x > 0, 1), UnsupportedError, "mask"),
        (lambda x: mp.fill_diagonal(x, 1), ShapeError, "fill_diagonal"),
        (lambda x: mp.linalg.multi_dot([x]), ArgumentError, "two"),
        (lambda x: mp.ldexp(x, x), PortmpError, "integers"),
    ],
)
def test_refused(call: Any, error: type[Exception], words: str) -> None:
    """What cannot be done is said with the argument's name."""
    with pytest.raises(error, match=words):
        call(mp.array([1.0, 2.0], "dd"))
