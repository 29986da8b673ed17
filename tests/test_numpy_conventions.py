"""Conventions, keywords and ranges in which NumPy or exact arithmetic decides what is right."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import portmp as mp
from portmp.errors import AxisError, PlaceError, PortmpError
from portmp.nbody import particles

INF, NAN = float("inf"), float("nan")
CUBE = np.arange(24.0).reshape(2, 3, 4) ** 2
HOLES = np.array([[1.0, NAN, 4.0], [NAN, NAN, NAN], [-2.0, 0.5, 8.0]])
KEPT = np.array([True, True, False])
Call = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def _on_host() -> Iterator[None]:
    """Nothing is compiled: what is tested decides on the host."""
    with mp.device("host"):
        yield


def _same(found: Any, wanted: Any) -> None:
    """Shapes and values; NumPy's have float64's rounding."""
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            _same(*pair)
        return
    values = found.to_float64() if isinstance(found, mp.Array) else np.asarray(found)
    assert values.shape == np.shape(wanted), (values, wanted)
    np.testing.assert_allclose(values, wanted, rtol=1e-14)


AS_NUMPY: dict[str, tuple[Call, Any]] = {
    "diagonal": (lambda xp, x: xp.diagonal(x), CUBE),
    "diagonal of other axes": (lambda xp, x: xp.diagonal(x, 1, 2, 0), CUBE),
    "diagonal below": (lambda xp, x: x.diagonal(-1, axis1=-1, axis2=0), CUBE),
    "trace": (lambda xp, x: xp.trace(x), CUBE),
    "trace of other axes": (lambda xp, x: x.trace(1, 2, 1), CUBE),
    "of the last axes": (lambda xp, x: (xp.linalg.diagonal(x), xp.linalg.trace(x)), CUBE),
    "copysign": (lambda xp, x: 1 / xp.copysign(xp.asarray(0), x[0, 0, :1] - 1), CUBE),
    "lstsq": (lambda xp, x: np.linalg.lstsq(x[0], x[0, :, 0])[1], CUBE),
    "nansum": (lambda xp, x: xp.nansum(x, 1, where=KEPT, initial=2), HOLES),
    "nanprod": (lambda xp, x: xp.nanprod(x, axis=0, keepdims=True, initial=2), HOLES),
    "nanmax": (lambda xp, x: xp.nanmax(x, 1, where=KEPT, initial=-1), HOLES),
    "nanmin": (lambda xp, x: xp.nanmin(x, axis=0), HOLES),
    "nanmean": (lambda xp, x: xp.nanmean(x, 1, where=KEPT), HOLES),
    "nanvar": (lambda xp, x: xp.nanvar(x, 0, ddof=1, keepdims=True), HOLES),
    "nanstd": (lambda xp, x: xp.nanstd(x, where=KEPT), HOLES),
    "nancumsum": (lambda xp, x: xp.nancumsum(x, 1), HOLES),
    "nanmedian": (lambda xp, x: xp.nanmedian(x, 1), HOLES),
    "average": (
        lambda xp, x: xp.average(x, (2, 0), weights=x[:, 1].T, returned=True, keepdims=True),
        CUBE,
    ),
    "unweighted average": (lambda xp, x: xp.average(x, 1, returned=True), CUBE),
    "cov": (lambda xp, x: xp.cov(x[0], fweights=[1, 2, 0, 3], aweights=x[1, 0]), CUBE),
    "cov of some": (lambda xp, x: xp.cov(x[0], fweights=[1, 2, 0, 3], bias=True), CUBE),
    "corrcoef": (lambda xp, x: xp.corrcoef(x[0], x[1]), CUBE),
    "period": (lambda xp, x: xp.interp(x, [6.0, 2.0, 4.0], [1.0, 5.0, 3.0], period=7), CUBE),
    "unique": (lambda xp, x: xp.unique(x, return_inverse=True, return_counts=True), HOLES),
    "each nan": (lambda xp, x: xp.unique(x, equal_nan=False), HOLES),
    "unique rows": (lambda xp, x: xp.unique(x % 2, axis=0, return_index=True), CUBE[0]),
    "unique columns": (lambda xp, x: xp.unique(x % 3, axis=1), CUBE[0]),
    "union": (lambda xp, x: xp.union1d(x, x[2]), HOLES),
    "difference": (lambda xp, x: xp.setdiff1d(x, x[2]), HOLES),
    "weighted quantiles": (
        lambda xp, x: xp.quantile(x, [0, 0.3, 1], 1, method="inverted_cdf", weights=x[0, :, 0]),
        CUBE,
    ),
    "jumping quantiles": (
        lambda xp, x: xp.quantile(x, 0.4, method="inverted_cdf"),
        np.array([15.0, 20.0, 35.0, 40.0, 50.0]),
    ),
    "nan_to_num by place": (lambda xp, x: xp.nan_to_num(x, True, 7.0, 2.0), HOLES),
    "nan_to_num in place": (lambda xp, x: xp.nan_to_num(x.copy(), False), HOLES),
    "unique along a vector": (
        lambda xp, x: (xp.unique(x[0], axis=0), xp.unique(x, axis=-1, equal_nan=False)),
        np.array([[NAN, 1.0, NAN, 1.0]]),
    ),
    "angles": (lambda xp, x: xp.angle(x, deg=True), np.array([INF, -INF, -0.0, 0.0, NAN, -2.0])),
    "divmod of a number": (lambda xp, x: divmod(7, x), CUBE[0] + 2),
    "one axis by its number": (lambda xp, x: (xp.permute_dims(x, -1), x.transpose(0)), CUBE[0, 0]),
    "no ends": (lambda xp, x: xp.geomspace(x, 1, 5), np.ones((2, 0))),
    "select of numbers": (
        lambda xp, x: xp.select([x > 20, np.array(x[0] > 2)], [x, 0.5], 0.25),
        CUBE[0, :1],
    ),
    "several": (lambda xp, x: xp.atleast_3d(x[0], x) + xp.atleast_1d(x[0, 0], x), CUBE[0]),
    "pad": (lambda xp, x: xp.pad(x, ((1, 2), (0, 1))), HOLES),
    "rot90": (lambda xp, x: xp.rot90(x, 3, (2, 0)), CUBE),
    "reduce": (lambda xp, x: xp.add.reduce(x, axis=(0, 2), keepdims=True), CUBE),
}


@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:Mean of empty", "ignore:Degrees of freedom")
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", sorted(AS_NUMPY))
def test_as_numpy(name: str) -> None:
    """As portmp's functions, and as NumPy's of arrays."""
    call, host = AS_NUMPY[name]
    wanted = call(np, host)
    for xp in (mp, np):
        _same(call(xp, mp.array(host, "dd")), wanted)


def test_results_in_out() -> None:
    """Of functions that are made of others, of methods, and of several results."""
    x, one = mp.array([5.5, -2.25], "qd"), mp.array([[5.5], [1.0]], "qd")
    calls: tuple[tuple[Callable[..., Any], Any], ...] = (
        (lambda o: np.ldexp(x, 2, out=o), [22.0, -9.0]),
        (lambda o: mp.heaviside(x, 0.5, o), [1.0, 0.0]),
        (lambda o: mp.degrees(x * 0, out=o, where=[True, False]), [0.0, 7.0]),
        (lambda o: np.add.reduce(one, axis=0, out=o[:1]), [6.5, 7.0]),
        (lambda o: mp.einsum("i->i", x, out=o), [5.5, -2.25]),
        (lambda o: np.median(mp.stack([x, x]), axis=0, out=o), [5.5, -2.25]),
        (lambda o: np.nanquantile(mp.stack([x, x]), 0.5, axis=0, out=o), [5.5, -2.25]),
    )
    for call, wanted in calls:
        out = mp.full(2, 7, "qd")
        call(out)
        _same(out, np.array(wanted))
    pair = mp.zeros(2, "qd"), mp.zeros(2, "qd")
    found = np.divmod(x, 2, out=pair)
    assert found[0] is pair[0]
    _same(pair, (np.array([2.0, -2.0]), np.array([1.5, 1.75])))
    assert mp.modf(x, out=(pair[0], None))[0] is pair[0]


V, M, Z = (1.0, 2.0, 3.0), np.ones((2, 3)), np.zeros((2, 2))
REFUSED: tuple[tuple[Any, Callable[[], Any]], ...] = (
    (np.linalg.LinAlgError, lambda: mp.linalg.solve_triangular(mp.array(Z), [1, 2])),
    (np.linalg.LinAlgError, lambda: mp.linalg.cholesky_solve(mp.array(Z), [1, 2])),
    (np.linalg.LinAlgError, lambda: mp.linalg.lu_solve((mp.array(Z), [0, 1]), [1, 2])),
    (np.linalg.LinAlgError, lambda: mp.linalg.matrix_norm(mp.array(V))),
    (np.exceptions.AxisError, lambda: mp.sum(mp.array(V), axis=1)),
    (AxisError, lambda: np.expand_dims(mp.array(V), 5)),
    (IndexError, lambda: mp.array(V)[7]),
    (PlaceError, lambda: mp.delete(mp.array(V), 9)),
    (PlaceError, lambda: mp.insert(mp.array(V), [0.5], 1)),
    (PlaceError, lambda: mp.take_along_axis(mp.array(V), KEPT, 0)),
    (PlaceError, lambda: mp.unravel_index(9, (2, 2))),
    *(
        (PortmpError, call)
        for call in (
            lambda: mp.einsum("ii", mp.ones((1, 3))),
            lambda: mp.einsum("iij->j", mp.ones((1, 3, 2))),
            lambda: mp.einsum(""),
            lambda: mp.linalg.outer(M, V),
            lambda: np.linalg.outer(mp.array(M), mp.array(V)),
            lambda: mp.linalg.multi_dot([]),
            lambda: mp.linalg.lu_solve((mp.eye(2), [0, 5]), [1, 2]),
            lambda: mp.linalg.lu_solve((mp.eye(2), [0.5, 1]), [1, 2]),
            lambda: mp.dstack([]),
            lambda: mp.block([]),
            lambda: mp.block([[], []]),
            lambda: mp.choose([], []),
            lambda: mp.rot90(M, 1, (0, 0)),
            lambda: mp.rot90(M, 1, (0, 1, 1)),
            lambda: mp.pad(mp.array(V), 1.5),
            lambda: mp.pad(mp.array(V), (1, 2, 3)),
            lambda: mp.partition(V, 1.5),
            lambda: mp.argpartition(V, 3),
            lambda: mp.array(V).partition(-4),
            lambda: mp.vsplit(V, 1),
            lambda: mp.dsplit(M, 1),
            lambda: mp.repeat(mp.array(V), 1.5),
            lambda: mp.vander(V, -1),
            lambda: mp.take_along_axis(M, np.array([[0, 3]]), None),
            lambda: mp.std(V, ddof=2, correction=1),
            lambda: mp.tensordot(M, M, ((0,),)),
            lambda: mp.average(M, weights=V, axis=0),
            lambda: mp.cov(M, fweights=[1, -1, 1]),
            lambda: mp.quantile(V, 0.5, weights=V),
            lambda: mp.interp(V, V, V, period=0),
            lambda: mp.modf(V, out=(mp.zeros(3),)),
            lambda: mp.geomspace(-1, 1),
            lambda: mp.diff(mp.array(V), []),
            lambda: mp.cumsum(mp.array(V), []),
            lambda: mp.argmax(mp.array(V), ()),
            lambda: mp.zeros(3, mp.array(V)),
            lambda: mp.nan_to_num(mp.array(V), 5),
            lambda: mp.nan_to_num(mp.array(V, "cdd"), nan=1j),
            lambda: mp.nan_to_num(mp.array(V), nan="1j"),
            lambda: np.vecdot(mp.array(V), V, out=mp.zeros(())),
            lambda: mp.array(V).astype(str),
        )
    ),
)


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_refused(place: int) -> None:
    """By errors of portmp's own, which are NumPy's too, where that has one."""
    error, call = REFUSED[place]
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, PortmpError)


def test_norms_conditions_and_residuals() -> None:
    """Of nothing, of zero, of numbers whose powers leave the range."""
    for norm in (mp.linalg.vector_norm, mp.linalg.norm):
        assert float(norm(mp.zeros((0,)), ord=np.inf)) == 0
    assert mp.linalg.vector_norm(mp.zeros((0, 3)), axis=0, ord=np.inf).tolist() == [0, 0, 0]
    assert mp.linalg.matrix_norm(mp.zeros((3, 0)), ord=np.inf) == 0
    assert mp.linalg.matrix_norm(mp.zeros((3, 0)), ord=2) == 0
    stack = mp.stack([mp.zeros((2, 2)), mp.eye(2)])
    assert np.linalg.cond(stack).tolist() == [INF, 1] and mp.linalg.cond(mp.zeros((2, 2))) == INF
    with pytest.raises(mp.linalg.LinAlgError, match="entry 1 of the stack"):
        mp.linalg.solve_triangular(
            mp.stack([mp.eye(2), mp.array([[1, 2], [0, 0]])]), mp.ones((2, 2))
        )
    shapes = [np.linalg.lstsq(mp.ones((n, 2)), mp.ones(n))[1].shape for n in (2, 3)]
    assert shapes == [(0,), (0,)] and mp.linalg.lstsq(mp.ones((3, 2)), [1, 2, 3])[1].shape == (1,)
    with mpmath.workdps(80):
        for form, power in (("dd", 300), ("dd", -280), ("ts", 30), ("ts", -18)):
            x = mp.array(["3", "-4", "0.5"], form) * mp.array(f"1e{power}", form)
            sizes = [mpmath.mpf(v.numerator) / v.denominator for v in map(abs, x.to_fractions())]
            for p in (3.0, 2.5, -1.5, 40.0):
                right = mpmath.fsum(v**p for v in sizes) ** (1 / mpmath.mpf(p))
                for function in (mp.linalg.norm, mp.linalg.vector_norm):
                    found = function(x, ord=p).to_mpmath()
                    assert abs(found / right - 1) < 200 * x.dtype.unit_roundoff, (form, power, p)


HUGE, SMALL = Fraction(2) ** 1023, Fraction(2) ** -800


def _close(found: Any, wanted: Any) -> None:
    """Exact values within some units, each relative to its own size."""
    values = [Fraction(v) for v in np.ravel(np.array(found.tolist(), object))]
    exact = [Fraction(w) for w in np.ravel(np.array(wanted, object))]
    unit = 40 * Fraction(found.dtype.unit_roundoff)
    assert all(abs(a - b) <= unit * abs(b) for a, b in zip(values, exact, strict=True)), found


@pytest.mark.parametrize("scale", [HUGE, SMALL])
def test_the_formats_range_is_the_functions_range(scale: Fraction) -> None:
    """Sums, squares and differences beyond it, results within."""

    def array(*values: Any) -> mp.Array:
        return mp.array(list(values), "td")

    a = [scale, scale / 2, -scale]
    x, mean = array(*a), sum(a) / 3
    _close(x.mean(), mean)
    _close((x.std() / scale) ** 2, sum((v - mean) ** 2 for v in a) / 3 / scale**2)
    both = mp.stack([x, x / 2**60]).std(axis=1)
    assert both[0] == x.std() == both[1] * 2**60
    _close(mp.average(x, weights=array(1, 2, 4)), (a[0] + 2 * a[1] + 4 * a[2]) / 7)
    _close(mp.average(x, weights=array(1, 2, 4) / 8 * scale), (a[0] + 2 * a[1] + 4 * a[2]) / 7)
    _close(mp.trapezoid(x, array(0, 1, 3)), (a[0] + a[1]) / 2 + a[1] + a[2])
    _close(mp.trapezoid(array(1, 2, 3) / 8, x), -scale * 9 / 16)
    _close(mp.gradient(x, 4), [-scale / 8, -scale / 4, -scale * 3 / 8])
    slopes = [-2, -Fraction(11, 6), -Fraction(4, 3)]
    _close(mp.gradient(array(0, 1, 3) * 2**200, x), [v * 2**200 / scale for v in slopes])
    rows = mp.stack([x, -x / 4, x * array(1, Fraction(3, 2), 1) / 4])
    plain = mp.stack([array(8, 4, -8), array(-2, -1, 2), array(2, Fraction(3, 2), -2)])
    assert bool((mp.corrcoef(rows) == mp.corrcoef(plain)).all())
    _close(mp.linspace(x[2], x[0], 5), [scale * k / 4 for k in (-4, -2, 0, 2, 4)])
    pair = array(-scale, scale)
    for q in (Fraction(1, 4), Fraction(1, 2), Fraction(7, 8)):
        _close(mp.quantile(pair, q), scale * (2 * q - 1))
    _close(mp.median(array(scale, scale)), scale)
    _close(mp.interp(array(0, "0.5"), array(-1, 1), pair), [0, scale / 2])
    _close(mp.interp(pair / 2, pair, array(-4, 4)), [-2, 2])
    _close(mp.interp(pair / 2, pair, pair / 3), [-scale / 6, scale / 6])


def test_covariances_draws_and_equal_ratios() -> None:
    """Of rows of sizes far apart; between bounds and ends whose difference or quotient is not."""
    cov = mp.cov(mp.array([[2**500, -(2**500)], [Fraction(1, 2**500), 0]], "dd"))
    assert cov.tolist()[0][1] == 1 and cov.tolist()[1][1] == Fraction(1, 2**1001)
    for low, high in ((-1.7e308, 1.7e308), (mp.array(-1.7e308, "dd"), 1.7e308)):
        x = mp.random.default_rng(1).uniform(low, high, 50, "dd")
        assert bool((abs(x) <= 1.7e308).all()) and {bool(v > 0) for v in x} == {True, False}
    with mpmath.workdps(60):
        for ends in (("1e-160", "1e160"), ("-1e300", "-1e-250"), ("2e-270", "1e-269")):
            found = mp.geomspace(*ends, 5, dtype="dd")
            first, last = map(mpmath.mpf, ends)
            right = [first * (last / first) ** (mpmath.mpf(k) / 4) for k in range(5)]
            errors = [abs(f / r - 1) for f, r in zip(found.to_mpmath(), right, strict=True)]
            assert max(errors) < 1e-28
    rows = mp.geomspace([1, -1], [4, -4], 3)  # of one sign each
    assert abs(rows - mp.array([[1, -1], [2, -2], [4, -4]])).max() < 1e-30


SPIRALS = (
    (1j, 1000j, 4),
    (1 + 1j, 5 - 3j, 5),
    (1, -1, 5),
    (-1, 1, 3),
    ([1 + 1j, 2], [5, 3j], 3),
    (1e-300 + 1e-305j, -1e305 + 1e305j, 4),
    (2j, 5, 1),
    (2j, 5, 0),
)


@pytest.mark.parametrize(("start", "stop", "count"), SPIRALS)
@pytest.mark.parametrize("endpoint", [True, False])
def test_equal_ratios_of_complex_numbers(start: Any, stop: Any, count: int, endpoint: bool) -> None:
    """NumPy's spiral; half a turn goes against the clock from either end."""
    ends = [np.asarray(end, complex) for end in (start, stop)]
    found = mp.geomspace(*(end.tolist() for end in ends), count, endpoint, "cqd").to_numpy()
    sign = -1 if start == -1 else 1  # where NumPy goes by a zero's sign
    wanted = sign * np.geomspace(*(sign * end for end in ends), count, endpoint)
    assert found.shape == wanted.shape
    assert np.allclose(found, wanted, rtol=1e-12, atol=0)
    if start == -1 and endpoint:  # with one limb the quotient's imaginary part is -0
        assert mp.geomspace(-1 + 0j, 1, 3, "complex128").to_numpy()[1].imag == -1


def test_rows_of_equal_distances() -> None:
    """Lists are ends as arrays are, complex ones too."""
    for ends in (([1, 2], [3, 4]), (0, [3, 4]), ([1j, 2], 5), (0j, np.array([5.0, 6]))):
        found, wanted = mp.linspace(*ends, 3, "qd"), np.linspace(*ends, 3)
        assert found.dtype.name == ("cqd" if wanted.dtype == complex else "qd")
        assert np.array_equal(found.to_numpy(), wanted)
    assert mp.linspace(["0.1"], ["0.3"], 3, "qd")[1].to_strings(50) == ["0.2"]


def test_infinities_and_points_themselves() -> None:
    """Between an infinity and itself, and where a point is given."""
    same = mp.linspace(-INF, -INF, 3).to_float64()
    assert same.tolist() == [-INF] * 3 and mp.linspace(1, INF, 3).tolist() == [1, INF, INF]
    x = mp.array([-INF, -INF, 3, 4], "dd")
    for function in (mp.quantile, mp.nanquantile, lambda x, q: mp.percentile(x, 50)):
        assert function(x, 0.5) == -INF and function(-x, 0.5) == INF
    assert mp.median(x) == -INF and mp.quantile(x, Fraction(1, 3)) == -INF
    points = mp.array([1, 2, INF, INF, 4], "dd")
    found = mp.interp([1, 2, 2.5, 3, 3.5, 4, 4.5, 5, 9], [1, 2, 3, 4, 5], points)
    assert found.tolist() == [1, 2, INF, INF, INF, INF, INF, 4, 4]
    assert mp.interp([1, 2], [0, INF], mp.array([3, 4], "dd")).tolist() == [3, 3]


def test_counts_that_a_format_rounds() -> None:
    """2^24 + 1 elements of 1 and the like, in float32."""
    x = mp.broadcast_to(mp.array([2], "float32"), (2**24 + 1,))
    assert x.mean() == 2 and mp.average(x) == 2 and x[:1].std() == 0


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "dd", "qd"])
def test_rounded_to_places(form: str) -> None:
    """As the exact number is, ties to even; the quotient has the format's error."""
    draw = random.Random(form)
    ties = [Fraction(2 * k + 1, 2 * 10**d) for k in range(-9, 9) for d in (0, 1, 2)]
    some = [Fraction(draw.randrange(-(10**7), 10**7), 10**4) for _ in range(40)]
    x = mp.array([*ties, *some, Fraction(5, 8), Fraction(-3, 8), 25, 35, -15], form)
    for places in (1, 2, 3, -1):
        exact = [round(v, places) for v in map(Fraction, x.tolist())]
        found = [Fraction(v) for v in mp.round(x, places).tolist()]
        unit = 4 * Fraction(x.dtype.unit_roundoff)
        assert all(abs(a - b) <= unit * abs(b) for a, b in zip(found, exact, strict=True))


def test_sinc() -> None:
    """Zeros at integers of any size, and all digits beside them."""
    x = mp.array([0, 1, -7, 2**60, "0.5", "0.75", "-2.000001", 5 + Fraction(1, 2**20)], "dd")
    x = mp.concat([x, mp.array([2**57 + Fraction(1, 4), -(2**31) - Fraction(3, 8)], "dd")])
    found = mp.sinc(x)
    assert found[:4].tolist() == [1, 0, 0, 0]
    with mpmath.workdps(80):
        for value, one in zip(x[4:].to_mpmath(), found[4:].to_mpmath(), strict=True):
            assert abs(one / mpmath.sincpi(value) - 1) < 1e-30


def test_formats_of_python() -> None:
    """What ``format`` gives of floats whose digits all end."""
    draw = random.Random(5)
    parts = (
        ("", "<", ">", "=", "^", "*<", "0>", "x=", "_^"),
        ("", "+", "-", " "),
        ("", "z"),
        ("", "#"),
        ("", "0"),
        ("", "8", "23"),
        ("", ",", "_"),
        (".0", ".1", ".2", ".3", ".6", ".17", ".40"),
        ("", "e", "E", "f", "F", "g", "G", "%", "n"),
    )
    values = (
        0.0,
        -0.0,
        1.0,
        2.5,
        -2.5,
        99.5,
        1e5,
        999999.5,
        0.0625,
        -0.0009765625,
        2.0**70,
        2.0**-40,
    )
    for value, _ in itertools.product((*values, -INF, NAN), range(150)):
        spec = "".join(draw.choice(part) for part in parts)
        array = mp.array(value, draw.choice(("float64", "dd", "td")))
        try:
            wanted = format(value, spec)
        except ValueError:
            with pytest.raises(ValueError, match="format"):
                format(array, spec)
        else:
            assert format(array, spec) == wanted, (value, spec)
    assert f"{mp.array('1e-30', 'dd') + 1:#.31g}" == "1.000000000000000000000000000001"
    assert f"{mp.array('-1e-30', 'qd'):z.2f}" == "0.00" and f"{mp.array(2, 'qd'):#}" == "2.0"


def test_formats_of_complex_numbers() -> None:
    """A sign between the parts and one width for both; neither zeros before them nor per cent."""
    draw = random.Random(7)
    parts = (
        ("", "<", ">", "^", "*<", "=", "_^", "0>"),
        ("", "+", "-", " "),
        ("", "z"),
        ("", "#"),
        ("", "", "0"),
        ("", "8", "43"),
        ("", ",", "_"),
        (".0", ".1", ".3", ".6", ".17"),
        ("e", "E", "f", "g", "G", "n", "%", "d"),
    )
    values = (0j, complex(-0.0, -0.0), 2.5 - 1j, -0.0625 + 99.5j, complex(NAN, -INF), 2.0**70 * 1j)
    for value, _ in itertools.product(values, range(150)):
        spec = "".join(draw.choice(part) for part in parts)
        array = mp.array(value, draw.choice(("complex128", "cdd", "cqd")))
        numbers = [array] if array.format.limbs == 1 else [array, array.item()]
        try:
            wanted = format(value, spec)
        except ValueError:
            for one in numbers:
                with pytest.raises(ValueError, match="format"):
                    format(one, spec)
        else:
            assert {format(one, spec) for one in numbers} == {wanted}, (value, spec)
    third = f"0.{'3' * 40}-2.{'0' * 40}j"
    assert f"{mp.array('1/3-2j', 'cqd'):>90.40f}" == f"{third:>90}"
    assert f"{mp.array('2-1j', 'cdd'):>12}" == "    2.0-1.0j"


@pytest.mark.parametrize(("form", "size"), [("cdd", "1e300"), ("cdd", "1e-290"), ("cds", "1e25")])
def test_spreads_of_complex_numbers(form: str, size: str) -> None:
    """Squares may leave the format's range, the deviation does not."""
    unit = mp.array(["1+1j", "2", "4j"], form)
    found = mp.std(unit * size) / mp.std(unit) / size
    assert abs(found - 1) < 1e-13 and np.nanstd(unit * size) == mp.std(unit * size)
    assert mp.std(unit * size, axis=0, keepdims=True).shape == (1,)
    for draw in (mp.random.default_rng(1).random, mp.random.default_rng(1).standard_normal):
        with pytest.raises(PortmpError, match="which holds complex numbers"):
            draw(2, format=form)


def test_frequencies_by_place() -> None:
    """The distance and the axes may follow without their names, as NumPy's."""
    assert mp.fft.fftfreq(4, "1/3").tolist() == [0, 0.75, -1.5, -0.75]
    assert mp.fft.rfftfreq(4, 0.5).tolist() == [0, 0.5, 1]
    assert mp.fft.ifftshift(mp.fft.fftshift(mp.array(M), 1), 1).tolist() == M.tolist()


def test_arrays_behind_decide_the_format() -> None:
    """A list, or an array of NumPy's, before an array of portmp's loses none of its digits."""
    x, plain = mp.array(["0.1", "1/3", "2"], "qd"), np.array([0.25, 0.5, 1.0])
    third = x[1].item()
    assert np.insert(plain, 0, x[1])[0].item() == third
    assert np.histogram(plain, bins=x)[1][1].item() == third
    assert np.ediff1d(plain, x).tolist()[3] == third
    assert np.gradient(plain, x).format.name == "qd" == mp.insert([1, 2], 1, x[:1]).format.name
    assert np.digitize(plain, x).tolist() == [1, 2, 2]
    assert np.histogram2d(plain, plain, x)[1].tolist() == x.tolist()
    square = mp.zeros((3, 3), "qd")
    np.fill_diagonal(square, plain)
    assert mp.diag(square).tolist() == plain.tolist()
    assert mp.select([np.array([False, True, False])], [x], "1/3").tolist()[0] == third
    assert np.result_type(x, plain) == "qd" and round(x, 1).to_strings(5) == ["0.1", "0.3", "2.0"]
    one = mp.zeros((), "qd")
    np.put(one, 0, 5)
    assert one == 5


@pytest.mark.parametrize(
    ("text", "name"),
    [("f4", "float32"), ("<f8", "float64"), ("double", "float64"), ("i4", "int32"), ("?", "bool")],
)
def test_short_names_of_dtypes(text: str, name: str) -> None:
    """NumPy's, beside names of formats, which come first; others are unknown formats."""
    x = mp.array(["0.1", "2"], "qd")
    assert str(x.astype(text).dtype) == str(mp.zeros(1, text).dtype) == name
    assert str(x.astype("float16").dtype) == "float16"
    with pytest.raises(ValueError, match="unknown format 'f3'"):
        x.astype("f3")


def test_ranges_powers_and_orders() -> None:
    """What Python's ranges, negative powers of integers and Fortran's order mean, or that not."""
    x, whole = mp.array(["0.5", "0.25"], "qd"), mp.asarray([2, 3])
    assert (x * range(2)).tolist() == (range(2) * x).tolist() == [0, 0.25]
    assert (whole * range(1, 3)).tolist() == [2, 6]
    for power in (-1, np.int64(-2)):
        with pytest.raises(ValueError, match="astype"):
            _ = whole**power
    assert (whole.astype("qd") ** -1)[0].tolist() == 0.5 and (whole**2).tolist() == [4, 9]
    with pytest.raises(PortmpError, match="order: 'F' given"):
        whole.reshape(1, 2, order="F")
    half = np.array([0.5, 3], np.float16)
    with pytest.raises(PortmpError, match=r"portmp\.array\(x\.astype\('float32'\), 'qd'\)"):
        _ = x * half
    assert (x * mp.array(half.astype("float32"), "qd")).tolist() == [0.25, 0.75]


def test_a_command_without_output() -> None:
    """Standard output is closed: no traceback."""
    code = "import sys; from portmp.cli import main; sys.exit(main(['formats']))"
    run = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" >&-', sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("mark", [",", ";", " "])
def test_particles_of_any_separator(mark: str, tmp_path: Path) -> None:
    """As ``portmp.load`` takes them."""
    lines = ("name,mass,x,y,z,vx,vy,vz", "Sun,1,0,0,0,0,0,0", "Earth,0.1,1,0,0,0,1,0")
    file = tmp_path / "n.csv"
    file.write_text("\n".join(line.replace(",", mark) for line in lines) + "\n")
    found = particles.read(file)
    assert found.names == ("Sun", "Earth") and list(found.mass) == [1, Fraction(1, 10)]
