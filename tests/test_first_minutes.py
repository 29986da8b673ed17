"""What users type first: results with all digits, and advice that works when it is followed."""

from __future__ import annotations

import itertools
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse

import portmp as mp
from portmp import formats, progress
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, PortmpError, ShapeError, UnsupportedError
from portmp.formats import inputs
from portmp.routines.jacobi import blocks, columns, symmetric

# --- text that makes the array again --------------------------------------------------------------


@pytest.mark.parametrize("name", [*formats.NAMES, *formats.STORED])
def test_what_is_printed_makes_the_array_again(name: str) -> None:
    """All limbs, in every format: ordinary values, zeros, values with gaps between limbs."""
    form = formats.get(name)
    computing = form.arithmetic
    limbs = inputs.ordinary(computing, (4,), "repr")
    found = mp.from_limbs(limbs, computing.name).astype(name).reshape(2, 2)
    texts = ["0.1", "-0.0", "nan", "inf"] + ([] if form.limbs == 1 else [str(2**40 + 2**-40)])
    for x in (found, mp.array(texts, name), found[0, 0]):
        again = eval(repr(x), {"portmp": mp})
        assert again.format is x.format and again.shape == x.shape
        for parts in zip(x.to_parts(), again.to_parts(), strict=True):
            mine, theirs = (np.where(np.isnan(p), 7, p) for p in parts)
            assert mine.tobytes() == theirs.tobytes()


def test_what_is_printed_of_plain_numbers_makes_them_again() -> None:
    for x in (mp.array([[1, 2]], "uint8"), mp.array([True, False])):
        again = eval(repr(x), {"portmp": mp})
        assert again.dtype == x.dtype and again.tolist() == x.tolist()


def test_printing_follows_numpys_options() -> None:
    """Where none are set here."""
    x = mp.array(["0.123456789", "1e-30"], "qd")
    with np.printoptions(precision=3):
        assert str(x) == "[0.123, 1e-30]"
        with mp.printoptions(precision=5):
            assert str(x) == "[0.12346, 1e-30]"
    assert str(x) == "[0.123456789, 1e-30]"
    with np.printoptions(threshold=2, edgeitems=1):
        assert str(mp.arange(4, "qd")) == "[0.0, ..., 3.0]"


def test_matrices_are_tables_in_notebooks() -> None:
    row = "<tr><td>0.1</td><td>2.0</td></tr>"
    assert mp.array([["0.1", 2]], "qd")._repr_html_() == f"<table>{row}</table>"
    assert mp.zeros(3)._repr_html_() is None and mp.zeros((50, 50))._repr_html_() is None


# --- advice ---------------------------------------------------------------------------------------


def _exact(x: Any) -> Any:
    return x.to_fractions() if isinstance(x, mp.Array) else x.tolist()


def _followed(message: str, *arrays: Any) -> list[Any]:
    """The arrays after what a message says about them."""
    one = re.search(r"convert the array of (\S+) with astype\('(\S+)'\)", message)
    both = re.search(r"convert both with astype\('(\S+)'\)", message)
    assert one or both, message
    if both:
        return [x.astype(both[1]) for x in arrays]
    assert one is not None
    return [x.astype(one[2]) if str(x.dtype) == one[1] else x for x in arrays]


MIXED = [*formats.STANDARD, "dd2011", "slfp64in48b", "int64", "uint64"]


@pytest.mark.parametrize(
    ("first", "second"),
    [(a, b) for a, b in itertools.product(MIXED, MIXED) if "slfp" not in a + b or a < b],
)
def test_advice_about_formats_loses_nothing(first: str, second: str) -> None:
    """What a message advises works, and keeps all digits of both arrays."""
    x, y = (
        mp.array([2**63 - 1], name)
        if "int" in name
        else mp.array(["0.1"], formats.get(name).arithmetic.name).astype(name)
        for name in (first, second)
    )
    try:
        _ = x + y
    except FormatError as error:
        given = [_exact(one) for one in (x, y)]
        converted = _followed(str(error), x, y)
        assert [_exact(one) for one in converted] == given
        _ = converted[0] + converted[1]


@pytest.mark.parametrize("first", ["dd", "qd"])
def test_advice_of_routines_loses_nothing(first: str) -> None:
    second = {"dd": "qd", "qd": "dd"}[first]
    a, b = mp.array([["0.1"]], first), mp.array([["0.1"]], second)
    for work in (mp.gemm, mp.random.default_rng(1).normal):
        with pytest.raises(FormatError, match=r"convert the array of dd with astype\('qd'\)") as it:
            work(a, b)
        work(*_followed(str(it.value), a, b))


@pytest.mark.parametrize("write", ["x += 1j", "x *= z", "x[0] = z[0]", "x[:1] = [z[0]]"])
def test_complex_values_in_real_arrays(write: str) -> None:
    """One sentence tells what to do, and doing that is enough."""
    names = {"x": mp.array(["0.1"], "qd", "host"), "z": mp.array(["1j"], "cqd", "host")}
    with pytest.raises(FormatError) as found:
        exec(write, names)
    if write[2] in "+*":
        advice = re.search(r"in place: qd cannot become cqd: astype\('(\w+)'\)", str(found.value))
        assert advice
        names["x"] = names["x"].astype(advice[1])
        exec(write, names)
    else:
        assert "qd holds real numbers alone: x.real, x.imag" in str(found.value)


def test_numpys_complex_numbers_are_operands() -> None:
    x, y = np.array([1 + 2j, 3]), mp.array(["0.1", "0.2"], "qd")
    work: list[Callable[[], Any]] = [lambda: x * y, lambda: y * x, lambda: mp.multiply(y, x)]
    for one in work:
        assert one().to_strings(30) == ["0.1+0.2j", "0.6+0.0j"]
    assert (x.real * y).to_strings(30) == ["0.1", "0.6"]
    assert (y * x.imag).to_strings(30) == ["0.2", "0.0"]


def test_advice_about_sparse_operands_works() -> None:
    x, y = scipy.sparse.csr_array(np.eye(2)), mp.array(["0.1", "0.2"], "qd")
    with pytest.raises(ArgumentError, match=r"portmp\.array\(x\.toarray\(\), 'qd'\)"):
        _ = y * x
    assert (y * mp.array(x.toarray(), "qd"))[1].to_strings(30) == ["0.0", "0.2"]
    with pytest.raises(UnsupportedError, match=r"portmp\.sparse\.csr_array\(T, 'qd'\)"):
        _ = x @ y
    assert (mp.sparse.csr_array(x, "qd") @ y).to_strings(30) == ["0.1", "0.2"]


NEWEST = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="earlier ones ask no object for a dtype"
)


@NEWEST
def test_finfo_of_numpy_names_our_own() -> None:
    x = mp.array(["0.1", "0.2"], "qd")
    for asked in (x, x[0], x.dtype):
        with pytest.raises(FormatError, match=r"portmp\.finfo\('qd'\) gives limits"):
            np.finfo(asked)
        assert mp.finfo(asked) == mp.finfo("qd")
    assert mp.finfo(x).eps == 2.0**-211
    assert np.finfo(mp.zeros(2, "float32")).eps == np.finfo(np.float32).eps
    assert np.iinfo(mp.asarray([1])).max == mp.iinfo(mp.asarray([1])).max == 2**63 - 1


# --- formats where zeros takes them ---------------------------------------------------------------


def test_formats_are_given_by_place() -> None:
    """As ``zeros(3, "qd")`` has it; NumPy's arguments stay where they are."""
    qd = formats.get("qd")
    made = [
        (mp.eye(3, "qd"), (3, 3)),
        (mp.eye(3, 2, 1, "qd"), (3, 2)),
        (mp.identity(2, qd), (2, 2)),
        (mp.arange(5, "qd"), (5,)),
        (mp.arange(1, 5, "qd"), (4,)),
        (mp.arange(1, 5, "0.5", "qd"), (8,)),
        (mp.linspace(0, 1, "qd"), (50,)),
        (mp.linspace(0, 1, 3, "qd"), (3,)),
    ]
    for x, shape in made:
        assert x.format is qd and x.shape == shape
    assert mp.arange(1, 5, "0.5", "qd").tolist() == [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]
    assert mp.eye(2, "qd").tolist() == [[1, 0], [0, 1]]
    assert mp.arange("1", "2").tolist() == [1]
    with pytest.raises(ArgumentError, match="beside format"):
        mp.eye(3, "qd", dtype="dd")


def test_float_is_float64_for_astype() -> None:
    """As ``np.float64``, not the default format."""
    for x in (mp.array(["0.1"], "qd"), mp.array([1], "int64")):
        for given in (float, "float"):
            assert x.astype(given).format.name == "float64"
            assert mp.astype(x, given).tolist() == x.astype(np.float64).tolist()
        assert x.astype(None).dtype == x.dtype


def test_float_keeps_all_digits() -> None:
    """Of functions the word is an array's own format, else the default one."""
    q, i = mp.array(["0.1", "0.2"], "qd"), mp.asarray([1, 2])
    for word in (float, "float"):
        for x, form in ((q, "qd"), (q.astype("ds"), "ds"), (i, "dd"), (i > 0, "dd")):
            made = (mp.asarray(x, dtype=word), mp.array(x, word), mp.array([x], dtype=word))
            made += (mp.sum(x, dtype=word), mp.cumsum(x, dtype=word), mp.mean(x, dtype=word))
            made += (np.sum(x, dtype=word), mp.zeros_like(x, dtype=word))
            assert {found.format.name for found in made} == {form}
        assert mp.sum(q, dtype=word).to_strings(60) == "0.3"
        assert mp.array([1.0], dtype=word).format.name == mp.zeros(2, word).format.name == "dd"


# --- pandas, matplotlib ---------------------------------------------------------------------------


def test_columns_of_pandas_are_operands() -> None:
    """On either side, with all digits of the array's format."""
    v, s = mp.array(["0.1", "0.2"], "qd"), pd.Series([2.0, 3.0], index=["a", "b"])
    for found in (v * s, s * v, mp.multiply(v, s)):
        assert found.format.name == "qd" and found.to_strings(30) == ["0.2", "0.6"]
    assert (v - s).to_strings(30) == ["-1.9", "-2.8"] and (s - v).to_strings(30) == ["1.9", "2.8"]
    assert (v @ s).to_strings(30) == "0.8" and (v == s).tolist() == [False, False]
    table = pd.DataFrame({"x": [2.0, 3.0]})
    assert (table * v[:, None]).to_strings(30) == [["0.2"], ["0.6"]]
    with pytest.raises(UnsupportedError, match=r"x\.to_float64\(\) can be computed with"):
        table["y"] = v
    table["y"] = v.to_float64()
    assert table["y"].tolist() == [0.1, 0.2]
    with pytest.raises(FormatError, match="float32 does not hold all of it"):
        _ = mp.array([1, 2], "float32") * s


def test_matplotlib_draws_arrays() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    v = mp.array(["0.1", "0.2"], "qd")
    (line,) = pyplot.plot(v, mp.arange(2))
    assert line.get_xdata().tolist() == [0.1, 0.2] and line.get_ydata().tolist() == [0, 1]
    assert v.to_numpy().dtype == np.float64


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["solve", "eigh", "cg", "default_rng", "csr_array"])
def test_names_of_packages_inside(name: str) -> None:
    """What the message says is there."""
    with pytest.raises(AttributeError) as found:
        getattr(mp, name)
    place = re.search(r"it is (portmp\.\w+\.\w+)", str(found.value))
    assert place and callable(eval(place[1], {"portmp": mp}))


def test_mistyped_names_are_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lingalg'") as found:
        _ = mp.lingalg
    assert found.value.name == "lingalg" and found.value.obj is mp
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":  # earlier ones say "object" of all others
        with pytest.raises(ValueError, match=r"portmp\.finfo\('qd'\)"):
            np.finfo(mp.zeros(1, "qd"))
    assert mp.finfo("qd").digits == 66


# --- long work ---


@pytest.mark.parametrize("work", ["eigh", "eigvalsh", "svd", "svdvals", "cond"])
def test_long_work_says_so_on_terminals(
    work: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By itself, with the step; not beside a line that is there, nor into files."""
    shown: list[str] = []
    waited = threading.Event()

    def slowly(self: progress.Progress, text: str) -> None:
        shown.append(text)
        waited.set()

    def step(text: str, doing: Callable[[str], None] = progress.doing) -> None:
        doing(text)
        if progress._running:
            waited.wait(60)

    a = mp.array([[2, 1], [1, 3]], "qd")
    for module in (blocks, columns, symmetric):
        monkeypatch.setattr(module, "doing", step)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress.Progress, "show", slowly)
    getattr(mp.linalg, work)(a)
    assert not shown
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    getattr(mp.linalg, work)(a)
    assert shown and shown[0].startswith(("eigenvalues", "singular values"))
    assert not progress._running


# --- kernels --------------------------------------------------------------------------------------


def test_kernels_refuse_one_array_as_input_and_result(device: Device) -> None:
    """What reads neighbours would find some of them written already; an inout is read, too."""
    text = "${kernel()}\n{\n}\n"
    a = mp.array([1, 2], "dd", device)
    apart = mp.Kernel(text, "apart(x: in [n], y: out [n])", threads="n", block=64)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="apart: y: overlaps x, and is written"):
            apart(x=a, y=a)
    both = mp.Kernel(text, "both(x: out [n], y: out [n])", threads="n", block=64)
    with pytest.raises(ArgumentError, match="both: x: overlaps y"):
        both(x=a, y=a)
    mp.Kernel(text, "kept(x: in [n], y: inout [n])", threads="n", block=64)(x=a, y=a)


def _fitted(a: Any, b: Any, c: Any) -> Any:
    return b * a + c * mp.array(["0.1", "0.2", "0.3"], "qd")


@NEWEST
def test_solvers_of_scipy_say_how_functions_are_given() -> None:
    """Where a function gives an array with more digits, and where the first guess is one."""
    x = mp.array(["0.1", "0.2", "0.3"], "qd")
    plain = x.to_float64()
    calls: list[Callable[[], Any]] = [
        lambda: scipy.optimize.least_squares(lambda p: p - x, plain),
        lambda: scipy.optimize.least_squares(lambda p: p - x, x),
        lambda: scipy.optimize.minimize(lambda p: ((p - x) ** 2).sum(), plain),
        lambda: scipy.optimize.minimize(lambda p: ((p - x) ** 2).sum(), x),
        lambda: scipy.optimize.root(lambda p: p - x, plain),
        lambda: scipy.optimize.root(lambda p: p - x, x),
        lambda: scipy.optimize.curve_fit(_fitted, plain, plain),
        lambda: scipy.optimize.curve_fit(_fitted, x, plain),
        lambda: scipy.integrate.solve_ivp(lambda t, p: -p * x, (0, 1), plain),
        lambda: scipy.integrate.solve_ivp(lambda t, p: -p, (0, 1), x),
    ]
    for call in calls:
        with pytest.raises((FormatError, UnsupportedError), match=r"SciPy.*f\(x\)\.to_float64\(\)"):
            call()
    found = scipy.optimize.least_squares(lambda p: (p - x).to_float64(), plain + 1).x
    assert np.abs(found - plain).max() < 1e-12


def test_libraries_are_told_what_serves_them() -> None:
    """Each sentence names what can be done there, and it works."""
    x, square = mp.array(["0.1", "0.2"], "qd"), mp.array([["0.1", 0], [0, 2]], "qd")
    table = pd.DataFrame({"a": [1, 2]})
    asked: list[tuple[Callable[[], Any], str]] = [
        (lambda: table.assign(y=x), r"pandas.*x\.to_strings\(\)"),
        (lambda: scipy.linalg.solve(square, x), r"portmp\.linalg has most"),
        (lambda: scipy.sparse.csr_array(np.eye(2)) * x, r"portmp\.sparse\.csr_array\(T, 'qd'\)"),
        (lambda: np.testing.assert_allclose(x, x), r"portmp\.testing"),
        (lambda: np.asarray(x), r"portmp\.array takes lists"),
        (lambda: np.asarray(x * 1j), r"x\.to_numpy\(\) rounds to complex128"),
        (lambda: table.a.__imul__(x), r"x = column \* y makes one"),
        (lambda: x[0]._hasna, r"float\(x\) is x rounded"),  # as pandas asks of a value to be set
        (lambda: x.__delitem__(0), r"portmp\.delete"),
        (lambda: scipy.special.jv(0, x), "^jv: portmp has no such function"),
    ]
    for call, words in asked:
        with pytest.raises(UnsupportedError, match=words):
            call()
    assert list(table.assign(y=x.to_strings("short")).y) == ["0.1", "0.2"]
    assert mp.array(table.assign(y=x.to_strings()).y, "qd").tolist() == x.tolist()
    assert (scipy.special.gammaln(x) == mp.lgamma(x)).all()
    table.loc[0, "z"] = x[0]
    assert mp.array([table.z[0]], "qd").tolist() == x[:1].tolist()


# --- names and settings of mpmath's ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["dps", "prec"])
def test_settings_of_mpmath_are_refused(name: str) -> None:
    """To set them would change nothing, and nobody would be told."""
    with pytest.raises(AttributeError, match=rf"{name} cannot be set: digits are a format's"):
        setattr(mp, name, 50)
    with mp.default_format("td"):
        assert mp.sqrt(2).format == "td"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mpf", r"portmp\.array\('0\.1', 'qd'\)"),
        ("workdps", "digits are a format's"),
        ("zeta", r"mpmath\.zeta takes x\.to_mpmath\(\)"),
        ("lu_solve", r"portmp\.linalg\.lu_solve"),
    ],
)
def test_names_of_mpmath_lead_on(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(mp, name)


def test_a_default_format_without_with_is_told() -> None:
    """It changes nothing, and all that follows would have fewer digits than was thought."""
    with pytest.warns(RuntimeWarning, match=r"no effect by itself: write `with .*'qd'\):`"):
        mp.default_format("qd")
    with pytest.raises(FormatError, match="unknown format"):
        mp.default_format("quad")

    @mp.default_format("qd")
    def nested(depth: int) -> str:
        return nested(depth - 1) if depth else str(mp.zeros(1).format)

    with mp.default_format("td"):
        assert nested(2) == "qd" and mp.zeros(1).format == "td"
    assert mp.zeros(1).format == "dd"


def test_kernels_say_how_their_format_is_told() -> None:
    text = "${kernel()} { const ${index} i = ${global_id()}; ${store('x', 'i', 'number(1)')} }"
    x = mp.zeros(4, "qd")
    with pytest.raises(FormatError, match=r"dd is needed: Kernel\(\.\.\., format='qd'\)"):
        mp.Kernel(text, "one(x: out [n])", threads="n")(x=x)
    for alone in ("", "void k() { }"):
        with pytest.raises(PortmpError, match=r"has no \$\{kernel"):
            mp.Kernel(alone, "one(x: out [n])", threads="n")(x=mp.zeros(4))


# --- formats where NumPy has dtypes ---------------------------------------------------------------


@pytest.mark.parametrize("p", [None, 1, "fro", np.inf])
@pytest.mark.parametrize("cond", [mp.linalg.cond, np.linalg.cond])
def test_condition_numbers_of_rounding_errors_are_told(cond: Any, p: Any) -> None:
    """A Hilbert matrix of 25 rows has 2e36, and 8e34 is found."""
    line = mp.arange(25)
    with pytest.warns(mp.linalg.LinAlgWarning, match="in dd x may as well be singular; td has"):
        assert cond(1 / (line[:, None] + line + 1), p) > 1e33
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cond(1 / (line[:6, None] + line[:6] + 1), p) < 1e9
        assert cond(mp.zeros((2, 2)), p) == mp.inf


def test_lists_and_arrays_are_broadcast_by_full() -> None:
    assert mp.full((2, 2), ["0.1", 2], "qd")[1].to_strings(30) == ["0.1", "2.0"]
    assert mp.full((2, 2), np.array([1, 2])).tolist() == [[1, 2], [1, 2]]
    with pytest.raises(ShapeError, match="broadcast"):
        mp.full((2, 2), [1, 2, 3])


def test_orders_of_memory_and_no_axes_are_taken_as_numpy_has_them() -> None:
    x = mp.array([["0.1", 2], [3, 4]], "qd")
    assert (x.copy(order="F") == x).all() and (x.transpose(None) == x.T).all()


def test_formats_are_equal_to_their_names() -> None:
    x, y = mp.zeros(1, "qd"), mp.zeros(1, "float64")
    assert x.dtype == "qd" == x.dtype and x.dtype != "dd" and x.dtype in ("dd", "qd")
    assert y.dtype == np.float64 == y.dtype and y.dtype == np.dtype(float) and y.dtype != np.int64
    assert x.dtype not in (np.float64, 1) and {x.dtype: 1}[mp.qd] == 1


def test_like_makes_arrays_of_the_same_format() -> None:
    numpy: Any = np  # whose types know no arrays but its own
    x = mp.array(["0.1"], "qd")
    made = [
        numpy.zeros(2, like=x),
        numpy.full(2, "0.1", like=x),
        numpy.array([1, 2], like=x),
        numpy.eye(2, 3, 1, like=x),
        numpy.tri(2, 3, like=x),
        numpy.arange(0, 1, 0.5, like=x),
    ]
    assert {one.format for one in made} == {mp.qd}
    assert made[1].tolist() == [x.item()] * 2 and made[3].shape == (2, 3)
    assert numpy.zeros(2, int, like=x).dtype == np.int64
    with pytest.raises(UnsupportedError, match="loadtxt"):
        numpy.loadtxt(["1"], like=x)


def test_a_format_may_follow_the_number_of_points() -> None:
    for made in (mp.linspace(1, 2, 3, "qd"), mp.geomspace(1, 2, 3, "qd")):
        assert made.format == "qd"
    assert abs(mp.logspace(0, 1, 3, "qd")[1] - mp.sqrt(mp.array(10, "qd"))) < 1e-63


def test_exact_numbers_stay_exact_beside_arrays_of_one_number() -> None:
    x = mp.array("0.1", "qd")
    assert (np.array(2.0) * mp.pi * x - 2 * mp.pi * x).item() == 0
    assert isinstance(divmod(mp.pi, 1)[1] * 2.0, type(2 * mp.pi))
    assert (np.array([1, 2], object) * mp.pi)[1] == 2 * mp.pi
    assert repr(2 * mp.pi).startswith(
        "<exact number 6.28318530717958647692528676655900576839433879875"
    )
    with pytest.raises(TypeError):
        _ = np.array("a") * mp.pi
