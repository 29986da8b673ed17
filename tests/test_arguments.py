"""What is asked for, and cannot be, is refused in portmp's words; nothing is lost without one."""

from __future__ import annotations

import io
import math
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import (
    ArgumentError,
    DeviceError,
    FormatError,
    OutOfMemory,
    PlaceError,
    PortmpError,
    ShapeError,
)

# --- beyond the range -----------------------------------------------------------------------------


def test_integers_beyond_the_range_are_told_so() -> None:
    """Advice to make a text of it would give an infinity."""
    for give in (lambda: mp.array([2**2000], "dd"), lambda: mp.array([1]) * 10**400):
        with pytest.raises(FormatError, match=r"beyond the range of dd: .* below 2\^1024$"):
            give()
    with pytest.raises(FormatError, match="convert it to a decimal string"):
        mp.array([3**200], "dd")


def test_numbers_that_become_infinite_are_told() -> None:
    long = mp.array([1e300, 1.0], "dd")
    ways: list[Callable[[], Any]] = [
        lambda: mp.array([1e300], "ds"),
        lambda: mp.array(np.array([1e300]), "ds"),
        lambda: mp.array([1, "1e400"], "dd"),
        lambda: mp.array([Fraction(2) ** 2000], "dd"),
        lambda: mp.array([1.0]) * "1e4000",
        lambda: long.astype("ds"),
        lambda: mp.array(long, "ds"),
        lambda: mp.asarray(long, dtype="ds"),
        lambda: mp.asarray([10**6]).astype("float16"),
    ]
    for way in ways:
        assert bool(mp.isinf(way()).any())
        with mp.errstate(rounded="raise"), pytest.raises(FloatingPointError, match="infinity"):
            way()
        with mp.errstate(rounded="warn"), pytest.warns(RuntimeWarning, match="below 2"):
            way()
    with mp.errstate(rounded="raise"):
        given: list[Any] = [np.inf, "-inf", "Infinity", "nan", 2.0**999, 2**99]
        assert mp.array(given, "dd").astype("td").size == 6
        assert mp.array([np.inf, 1.0], "dd").astype("ds").size == 2


def test_memory_beyond_addresses(every_device: Device) -> None:
    """Sizes whose last 64 bits are small."""
    x = mp.array([1.0], device=every_device)
    ways: list[Callable[[], Any]] = [
        lambda: mp.arange(2**61, device=every_device),
        lambda: mp.linspace(0, 1, 2**62, device=every_device),
        lambda: mp.broadcast_to(x, (2**61,)).copy(),
    ]
    for way in ways:
        with pytest.raises(OutOfMemory, match="bytes asked for"):
            way()


# --- views that share places ----------------------------------------------------------------------


def test_broadcast_views_are_not_written() -> None:
    a = mp.array([1.0, 2.0, 3.0])
    b = mp.broadcast_to(a, (3, 3))
    whole = mp.broadcast_to(mp.asarray([1, 2, 3]), (3, 3))

    def setting(x: Any, key: Any, value: Any) -> Callable[[], None]:
        return lambda: x.__setitem__(key, value)

    ways: list[Callable[[], Any]] = [
        *(setting(x, (slice(None), 0), [7, 8, 9]) for x in (b, whole)),
        *(setting(b, key, 5) for key in (slice(None), 0, (0, 0), ..., [0, 1], b > 1)),
        setting(mp.broadcast_arrays(a, mp.ones((2, 3)))[0], 0, 1),
        lambda: mp.copyto(b, 1),
        lambda: b.fill(1),
        lambda: b.put([0], 1),
        lambda: mp.put_along_axis(b, mp.asarray([[0]]), 1, 1),
        lambda: mp.fill_diagonal(b, 1),
        b.sort,
        lambda: b.partition(1),
        lambda: mp.random.default_rng(1).shuffle(b),
        lambda: b.__iadd__(1),
        lambda: whole.__iadd__(1),
        lambda: mp.add(b, 1, out=b),
    ]
    for way in ways:
        with pytest.raises(ArgumentError, match="a broadcast view cannot be written"):
            way()
    assert a.tolist() == [1, 2, 3]
    c = b.copy()
    c[:, 0] = [7, 8, 9]
    assert c.tolist() == [[7, 2, 3], [8, 2, 3], [9, 2, 3]]


# --- places ---------------------------------------------------------------------------------------


def test_whole_values_are_places() -> None:
    x, values = mp.array([5.0, 6.0, 7.0]), mp.array([0, 2])
    for ind in (values, mp.asarray([0, 2]), [0, 2], np.array([0, 2])):
        assert mp.delete(x, ind).tolist() == [6]
        assert mp.insert(x, ind, 1).tolist() == [1, 5, 6, 1, 7]
        y = x.copy()
        y.put(ind, [1, 2])
        assert y.tolist() == [1, 6, 2]
        mp.put_along_axis(y, ind, [3, 4], 0)
        assert y.tolist() == [3, 6, 4]
    places = [p.tolist() for p in mp.ix_(values, values)]
    assert places == [[[0], [2]], [[0, 2]]] and x[mp.array(1)].tolist() == 6
    assert [p.tolist() for p in mp.unravel_index(values, (2, 2))] == [[0, 1], [0, 0]]
    assert np.add.reduceat(x, values).tolist() == [11, 7]
    y = x.copy()
    np.add.at(y, values, 1)
    assert y.tolist() == [6, 6, 8] and mp.roll(x, mp.array(1)).tolist() == [7, 5, 6]
    assert mp.compress(mp.array([1, 0, 1]), x).tolist() == [5, 7]
    assert [p.size for p in mp.split(x, values)] == [0, 2, 1]
    assert mp.partition(x, mp.array([1])).tolist() == [5, 6, 7]
    for bad in ("a", [0.5], mp.array([0.5])):
        for what, way in (("put: ind", mp.put), ("insert: obj", mp.insert)):
            with pytest.raises(PlaceError, match=f"^{what}: "):
                way(x, bad, 1)
        with pytest.raises(PlaceError, match=r"^delete: obj: "):
            mp.delete(x, bad)


# --- arguments that are none ----------------------------------------------------------------------

X, Q = mp.array([1.0, 2.0, 3.0]), mp.array(["0.1", "0.2"], "qd")
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "save": (lambda: mp.save(X, "x.npz"), "save: file: Array given"),
    "load": (lambda: mp.load(io.BytesIO()), "load: file: BytesIO given"),
    "pow": (lambda: pow(X, 2, 3), "pow: modulo: 3 given"),
    "put": (lambda: mp.put(X, "a", 1), "put: ind: "),
    "std": (lambda: mp.std(X, ddof="a"), "std: ddof: 'a'"),
    "var": (lambda: mp.var(X, correction=[1]), "var: correction: list"),
    "cov": (lambda: mp.cov(X, ddof="a"), "cov: ddof: 'a'"),
    "triu": (lambda: mp.triu_indices("a"), "triu_indices: n: "),
    "tril": (lambda: mp.tril_indices(2, 0.5), "tril_indices: k: "),
    "diagonal": (lambda: mp.diag_indices(2, "b"), "diag_indices: ndim: "),
    "size": (lambda: mp.size(X, "a"), "size: axis: 'a' given"),
    "size beyond": (lambda: mp.size(X, 5), "size: axis: 5 given"),
    "lexsort": (lambda: mp.lexsort(5), "lexsort: keys"),
    "lexsort of a vector": (lambda: mp.lexsort(X), "lexsort: keys"),
    "fromfunction": (lambda: mp.fromfunction(5, (2,)), "fromfunction: function: 5 given"),
    "shapes": (lambda: mp.broadcast_shapes((2,), "a"), "broadcast_shapes: shapes: "),
    "weights": (lambda: mp.nanquantile(X, 0.5, weights=[1, 1, 1]), "nanquantile: weights: "),
    "step": (lambda: X[::0], "index: slice.*step cannot be zero"),
    "ends": (lambda: X["a":], "index: slice"),
    "copy": (lambda: mp.array([1.0], copy=False), "array: copy=False given"),
    "copy of another dtype": (lambda: mp.asarray(X, dtype="qd", copy=False), "asarray: copy="),
    "kind": (lambda: mp.sort(X, kind="foo"), "sort: kind 'foo' given; allowed are quicksort"),
    "kind of argsort": (lambda: mp.argsort(X, kind="foo"), "argsort: kind 'foo'"),
    "axes of argsort": (lambda: mp.argsort(X[0]), "argsort: one axis"),
    "repeats that are no integers": (
        lambda: mp.repeat(X, mp.array(["1.5", "1", "1"], "qd")),
        "repeat: repeats: an array of integers",
    ),
    "a diagonal between two": (lambda: mp.triu(mp.eye(2), k=0.5), r"triu: k: integers .* \(0.5,\)"),
    "an axis too many": (lambda: X.sum(axis=1), "^axis: 1 given, the number of axes is 1$"),
    "the truth of many": (lambda: bool(X > 1), r"given; x.any\(\) and x.all\(\) make one"),
    "into NumPy's array": (lambda: np.ones(3).__iadd__(X), "x = x [+] y makes one where x [+]= y"),
    "nanmax": (lambda: mp.nanmax(X[:0]), "nanmax: an empty array has none"),
    "nanmin": (lambda: mp.nanmin(mp.zeros((0, 3)), axis=0), "nanmin: an empty array"),
    "format": (lambda: f"{Q[0].item():d}", "format 'd': one of floats"),
    "integers": (lambda: mp.array([1, 1.5], dtype=int), "data: .* 1.5 given"),
    "index": (lambda: mp.take(X, [2**64]), r"\[18446744073709551616\] given"),
    "product": (lambda: mp.ones((2, 3)) @ mp.ones(2), r"matmul: \(2, 3\) and \(2,\) cannot"),
    "maxiter": (
        lambda: mp.linalg.gmres(mp.eye(3), X, maxiter=0),
        "maxiter 0 given, a whole number, 1 or more",
    ),
    "maxiter of cg": (
        lambda: mp.linalg.cg(mp.eye(3), X, maxiter=0),
        "cg: maxiter 0 given, a whole",
    ),
    "rtol of cg": (lambda: mp.linalg.cg(mp.eye(3), X, rtol=-1.0), "cg: rtol -1.0 given"),
    "not definite": (lambda: mp.linalg.cg(-mp.eye(3), X), "minres and solve take others"),
    "float128": (lambda: mp.array([1], "float128"), r"'float128' \(td has its digits\); formats"),
    "element": (lambda: mp.sum(X, out=X[0]), r"out: an element given, .*: a\[i, \.\.\.\] is"),
    "element of a matrix": (lambda: np.add(1, X[0], out=mp.ones((2, 2))[0, 0]), "out: an element"),
    "in place": (lambda: mp.asarray([1]).__iadd__(0.5), r"cannot become dd: astype\('dd'\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_arguments_are_named(case: str) -> None:
    call, told = WRONG[case]
    with pytest.raises(PortmpError, match=told):
        call()


def test_names_that_portmp_has_not_are_named_once() -> None:
    """Python adds no ``Did you mean`` to a sentence that says what to use."""
    for of, name in ((mp, "float128"), (X, "strides"), (mp.random, "rand")):
        with pytest.raises(AttributeError) as caught:
            getattr(of, name)
        assert "Did you mean" not in "".join(traceback.format_exception(caught.value))
        assert name in str(caught.value)


def test_variables_of_the_environment_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTMP_FORMAT", "ddd")
    with pytest.raises(FormatError, match=r"^PORTMP_FORMAT: unknown format 'ddd'"):
        mp.zeros(2)
    monkeypatch.setenv("PORTMP_DEVICE", "no such device")
    with pytest.raises(DeviceError, match=r"^PORTMP_DEVICE: no device called"):
        mp.zeros(2, "dd")
    with pytest.raises(DeviceError, match=r"^no device called"):
        mp.zeros(2, "dd", "no such device")


# --- right values ---------------------------------------------------------------------------------


def test_reductions_of_values_in_integers() -> None:
    """Elements are cut, as NumPy cuts them, then summed."""
    x = [[1.5, 2.5], [3.0, -4.5]]
    for dtype in (int, bool, "int64", "uint8"):
        for name in ("sum", "prod", "nansum", "nanprod", "trace"):
            if dtype == "uint8":
                found, wanted = (getattr(m, name)(m.array(x[:1]), dtype=dtype) for m in (mp, np))
            else:
                found, wanted = (getattr(m, name)(m.array(x), dtype=dtype) for m in (mp, np))
            assert found.tolist() == wanted.tolist() and found.dtype == wanted.dtype
    assert np.add.reduce(mp.array(x), dtype=int).tolist() == [4, -2]


def test_rounding_to_powers_beyond_the_range() -> None:
    for form in ("ds", "dd", "qd"):
        x = mp.array([1.5, -1.5, math.inf, -0.0], form)
        for n in (39, 309, 400):
            assert mp.round(x, -n).to_strings() == ["0.0", "-0.0", "inf", "-0.0"]
    assert mp.round(mp.array([1.7e308]), -309).tolist() == [0]


def test_exact_numbers_in_format_strings() -> None:
    """With all digits, on all versions of Python."""
    tenth = mp.array(["0.1"], "qd")
    for one in (tenth.tolist()[0], tenth.to_fractions()[0], tenth[0].item(), tenth[0]):
        assert f"{one:.40f}" == "0." + "1".ljust(40, "0")
        assert f"{one:.40e}" == "1." + "0" * 40 + "e-01"
        assert f"{one:>6.1f}|{one:+.1%}" == "   0.1|+10.0%"
    assert f"{mp.pi:.30f}" == "3.141592653589793238462643383280" and f"{mp.pi}" == str(mp.pi)
    third = mp.array([1], "qd")[0].item() / 3
    assert f"{third:.50f}" == "0." + "3" * 50 and f"{-third:.3g}" == "-0.333"
    assert f"{third * 0:.3f}" == "0.000" and f"{third * 3 * 10**6:,.0f}" == "1,000,000"


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_shares_have_any_shape(name: str) -> None:
    x, scale = [[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], 100 if "per" in name else 1
    shares: list[Any] = [[], 0.5, [0.25, 0.5], [[0.25, 0.5], [0.75, 1.0], [0.0, 0.5]], [[0.5]]]
    for q in [(np.array(share) * scale).tolist() for share in shares]:
        for axis, keepdims in ((None, False), (0, False), (1, True)):
            wanted = getattr(np, name)(np.array(x), q, axis, keepdims=keepdims)
            for given in (q, np.array(q), mp.array(q)):
                found = getattr(mp, name)(mp.array(x), given, axis, keepdims=keepdims)
                assert found.shape == np.shape(wanted)
                assert np.array_equal(found.to_float64(), wanted)
    with pytest.raises(ShapeError, match="q: nesting is ragged"):
        getattr(mp, name)(mp.array(x), [[0.5], [0.5, 1]])
    with mp.errstate(rounded="raise"):
        getattr(mp, name)(mp.array(x), [0.25, "0.1"])
        with pytest.raises(FloatingPointError, match=r"q: the float 0\.1 given"):
            getattr(mp, name)(mp.array(x), [0.25, 0.1])


def test_numpys_numbers_without_axes_beside_integers() -> None:
    i, one = mp.asarray([1, 2, 3]), np.array(1)
    own = np.array([1, 2, 3])
    for name in (
        "add",
        "multiply",
        "bitwise_and",
        "maximum",
        "floor_divide",
        "left_shift",
        "power",
    ):
        for found in (getattr(np, name)(i, one), getattr(np, name)(i, np.array(True))):
            assert found.dtype == np.dtype("int64")
            assert found.tolist() == getattr(np, name)(own, one).tolist()
    assert (one + i).dtype == np.dtype("int64") and ((i > 1) & np.array(True)).dtype == bool
    assert mp.where(i > 1, one, i).tolist() == [1, 1, 1] and mp.full(2, one).tolist() == [1, 1]
    i[0] = np.array(7)
    i += one
    assert i.tolist() == [8, 3, 4]
    assert (mp.array([1.0]) + np.array(True)).tolist() == [2]
    assert (i + np.array(0.5)).format.name == "dd"


def test_results_in_the_place_of_an_element() -> None:
    x = mp.array([1.0, 2.0, 3.0])
    assert mp.sum(x, out=x[0, ...]).tolist() == 6 and x.tolist() == [6, 2, 3]
    assert mp.max(x, out=mp.zeros(())).tolist() == 6
    value = x[1]
    value += 1
    assert value.tolist() == 3 and x.tolist() == [6, 2, 3]


def test_empty_arrays_in_text() -> None:
    """``repr`` has their shapes."""
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        for dtype in ("qd", "int64", "bool"):
            again = eval(repr(mp.zeros(shape, dtype)), {"portmp": mp})
            assert again.shape == shape and str(again.dtype) == dtype


def test_no_exponents_without_a_precision() -> None:
    with mp.printoptions(suppress=True):
        x = mp.array(["1e-10", "-1e20", "1.5"], "qd")
        assert str(x) == "[0.0000000001, -100000000000000000000.0, 1.5]"
        assert eval(repr(x), {"portmp": mp}).to_fractions() == x.to_fractions()


def test_condition_numbers_have_the_digits_of_the_format() -> None:
    a = mp.array([[2, 1], [1, 3]], "qd")
    root = mp.sqrt(mp.array(5, "qd"))  # its eigenvalues are (5 -+ root) / 2
    for found in (mp.linalg.cond(a), *mp.linalg.cond(mp.stack([a, a])), mp.linalg.cond(a, 2)):
        assert found.format.name == "qd" and abs(found - (5 + root) / (5 - root)) < 1e-60


def test_polyfit_tells_of_ranks() -> None:
    with pytest.warns(mp.errors.LinAlgWarning, match="polyfit: rank 1 of 3"):
        mp.polyfit([1, 1, 1], [1, 2, 3], 2)


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".mtx"])
def test_texts_come_back_as_they_were(tmp_path: Path, suffix: str) -> None:
    """In their format and shape; other programs see comments."""
    file = tmp_path / f"a{suffix}"
    for form in ("dd", "td", "qd", "ds", "d+s"):
        for x in (["0.1", "0.2"], [["0.1", "1e-3"]], [["0.1"], ["-2"]], "0.1"):
            given = mp.array(x, form)
            mp.save(file, given)
            found = mp.load(file)
            assert found.format is given.format and found.shape == given.shape
            assert found.to_fractions() == given.to_fractions()
            assert mp.load(file, "qd").format.name == "qd"
            plain = form == "dd" and given.ndim == 2
            assert ("portmp" in file.read_text()) != plain
            if suffix != ".mtx":
                mark = "," if suffix == ".csv" else None
                assert np.loadtxt(file, delimiter=mark, ndmin=2).size == given.size
    file.write_text(file.read_text().replace("0.1", "0.1\n0.2").replace("1 1", "2 1"))
    assert mp.load(file).shape == (2, 1)  # which is no longer what the comment says
