"""Arrays: creation, views, operators, comparisons, reductions and errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import mean
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import (
    ArgumentError,
    DeviceError,
    FormatError,
    InputError,
    PortmpError,
    ShapeError,
    UnsupportedError,
)
from portmp.formats import Format, convert, encodings, inputs
from portmp.runtime.digests import digest
from portmp.runtime.planes import upload

Plane = np.ndarray[Any, Any]
U = 2.0**-53
TINY = Fraction(1, 2**60)


def numbers(*shape: int) -> Plane:
    """Distinct Fractions that float64 does not hold and dd does."""
    items = np.empty(math.prod(shape), object)
    items[:] = [i + (i + 1) * TINY for i in range(items.size)]
    return items.reshape(shape)


def bits(planes: list[Plane]) -> list[Any]:
    """The bits of limb planes, all NaN made one."""
    return [convert.canonical_nan_bits(p).tolist() for p in planes]


# --- creation and conversion ------------------------------------------------------------


@pytest.mark.parametrize("name", formats.STANDARD)
def test_decimal_strings_are_rounded_once(device: Device, name: str) -> None:
    """Within half a unit of the last limb, and back to the same value as text."""
    form = formats.get(name)
    x = mp.array(["0.1", "-2/3", "1e10", "0x1.8p3"], name, device)
    wanted = [Fraction(1, 10), Fraction(-2, 3), Fraction(10**10), Fraction(12)]
    for value, exact in zip(x.to_fractions(), wanted, strict=True):
        assert abs(value - exact) <= abs(exact) / 2**form.bits
    assert x.to_fractions()[2:] == wanted[2:] or name == "float32"
    again = mp.array(x.to_strings("round-trip"), name, device)
    assert bits(again.to_limbs()) == bits(x.to_limbs())


def test_numbers_of_every_kind_are_exact(device: Device) -> None:
    """Floats, ints, Fractions, NumPy arrays, nested lists; the default format is dd."""
    third = Fraction(2**100, 3)
    nested = mp.array([[0.1, 2**53 + 1], [TINY + 1, "1.5"]], device=device)
    assert nested.format.name == "dd"
    assert nested.shape == (2, 2)
    assert len(nested) == 2
    exact = [[Fraction(0.1), 2**53 + 1], [TINY + 1, Fraction(3, 2)]]
    assert nested.to_fractions() == exact
    assert abs(mp.array(third, "qd", device).to_fractions() - third) <= third / 2**212
    plane = np.arange(6, dtype=np.float32).reshape(3, 2) / 4
    for source in (plane, plane.astype(np.float64), plane[::-1, ::-1][::-1, ::-1]):
        assert mp.array(source, "ts", device).to_fractions() == plane.tolist()
    assert mp.array(np.arange(3), "ds", device).to_fractions() == [0, 1, 2]
    assert mp.array(nested).to_fractions() == nested.to_fractions()
    assert mp.array(nested, "td").to_fractions() == exact


def test_zeros_and_empty_arrays(device: Device) -> None:
    """Any shape, also without elements."""
    for shape in ((), (0,), (2, 0, 3), (4,), np.int64(3), 3):
        x = mp.zeros(shape, "td", device)
        wanted = np.zeros(shape)
        assert x.shape == wanted.shape
        assert x.to_fractions() == wanted.tolist()
        assert (x + 1).to_fractions() == (wanted + 1).tolist()
    with pytest.raises(ShapeError, match="-1"):
        mp.zeros((2, -1))


@pytest.mark.parametrize("name", formats.NAMES)
def test_limb_planes_are_kept_or_normalised(device: Device, name: str) -> None:
    """Normalised limbs keep their bits; others keep their value."""
    form = formats.get(name)
    planes = inputs.ordinary(form, (3, 4), "kept")
    x = mp.from_limbs(planes, name, device)
    assert bits(x.to_limbs()) == bits(planes)
    assert bits(mp.from_limbs(x.limbs, name, device).to_limbs()) == bits(planes)
    if len(set(form.planes)) == 1:
        assert bits(mp.from_limbs(np.stack(planes), name, device).to_limbs()) == bits(planes)
    assert [p.format.name for p in x.limbs] == list(form.planes)
    if form.limbs > 1:
        overlapping = [np.array([3.0], form.dtype(i)) for i in range(form.limbs)]
        summed = mp.from_limbs(overlapping, name, device)
        assert summed.to_fractions() == [3 * form.limbs]
        assert [float(p[0]) for p in summed.to_limbs()[1:]] == [0.0] * (form.limbs - 1)


def test_wrong_limb_planes_are_refused(device: Device) -> None:
    """Count, dtype, shape, and values that the format does not hold."""
    one, single = np.ones(2), np.ones(2, np.float32)
    cases: list[tuple[Any, type[PortmpError], str]] = [
        ([one], FormatError, "1 given, dd has 2 planes"),
        ([one, one, one], FormatError, "3 given, dd has 2 planes"),
        ([one, single], FormatError, r"limbs\[1\].*float32.*float64"),
        ([one, np.ones(2, int)], FormatError, r"limbs\[1\].*int64"),
        ([one, np.ones(3)], ShapeError, r"\(3,\).*\(2,\)"),
        ([one, np.array([0.0, np.inf])], FormatError, r"not finite.*\[1\]"),
        (np.ones((3, 2)), FormatError, "3 given, dd has 2 planes"),
        (np.array(1.0), FormatError, r"array\(1\.\) given, dd has 2 planes"),
    ]
    for planes, error, text in cases:
        with pytest.raises(error, match=text):
            mp.from_limbs(planes, "dd", device)
    three = [np.array([1.0]), np.array([2.0**-40]), np.array([2.0**-300])]
    assert mp.from_limbs(three, "td", device).to_fractions() == [
        1 + Fraction(1, 2**40) + Fraction(1, 2**300)
    ]
    with pytest.raises(FormatError, match="float32"):
        mp.from_limbs([one, one], "d+s", device)
    with pytest.raises(FormatError, match=r"does not hold the exact sum.*\[0\]"):
        mp.from_limbs([2.0**-60 * (one + 2 * U), single], "d+s", device)


def test_values_that_a_format_cannot_hold_are_refused(device: Device) -> None:
    """Integers are never rounded; half numbers are none, complex ones not in real formats."""
    assert mp.array(2**53 + 1, "dd", device).to_fractions() == 2**53 + 1
    for value, name in ((2**53 + 1, "float64"), (2**24 + 1, "float32"), (2**60 + 2**30 + 1, "ds")):
        with pytest.raises(FormatError, match="not exact in"):
            mp.array([value], name, device)
    wrong: list[Any] = [
        np.float16(1),
        np.zeros(2, np.float16),
        1j,
        np.full(2, 1 + 1j),
        np.array([1, complex(0, math.nan)]),
        True,
        [None],
    ]
    for item in wrong:
        with pytest.raises(FormatError, match="accepted"):
            mp.array(item, "dd", device)
    with pytest.raises(InputError, match=r"data\[1\].*'one'"):
        mp.array(["1", "one"], "dd", device)
    with pytest.raises(ShapeError, match="ragged"):
        mp.array([[1, 2], [3]], "dd", device)


def test_complex_numbers_that_are_real_are_taken(device: Device) -> None:
    """With all their digits, and only where every imaginary part is 0."""
    for given in (0j, complex(0.1, -0.0), np.complex64(0.1), np.array([0.1, 3]) + 0j):
        real = np.real(given)
        assert np.array_equal(mp.array(given, "dd", device).to_float64(), real)
        assert np.array_equal(mp.asarray(given, device=device).real.to_float64(), real)


def test_large_integers_beside_small_ones_keep_their_digits(device: Device) -> None:
    """NumPy makes floats of such lists."""
    given = [3, 2**63 + 2049, 2**64 - 1]
    assert mp.asarray(given, dtype="uint64", device=device).tolist() == given
    assert mp.asarray([1.0, -2, 3], dtype="int8", device=device).tolist() == [1, -2, 3]
    with pytest.raises(FormatError, match="18446744073709551615"):
        mp.asarray(given, dtype="int64", device=device)
    with pytest.raises(FormatError, match="integers"):
        mp.asarray([1, 1.5], dtype="int8", device=device)


def test_unknown_names_suggest_known_ones(device: Device) -> None:
    with pytest.raises(FormatError, match=r"unknown format 'quad'.*formats: float32"):
        mp.array(1, "quad", device)
    with pytest.raises(FormatError, match="did you mean 'float64'"):
        mp.zeros(3, "flaot64", device)
    for internal in ("dd and its bound", "dd without a bound", "squares of float64"):
        with pytest.raises(FormatError, match="unknown format"):
            mp.array([1.0], internal, device)
    with pytest.raises(DeviceError, match=r"no device called|does not exist"):
        mp.array(1, "dd", "opencl:99")
    with pytest.raises(DeviceError, match=device.name):
        mp.array(1, "dd", "no such device")


def test_host_forms_of_values(device: Device) -> None:
    """Fractions, strings, float64 and mpmath numbers, of every shape."""
    mpmath = pytest.importorskip("mpmath")
    exact = numbers(2, 3) - Fraction(5, 2)
    x = mp.array(exact, "dd", device)
    assert x.to_fractions() == exact.tolist()
    assert x[0, 1].to_fractions() == exact[0, 1]
    assert x.to_float64().tolist() == [[float(v) for v in row] for row in exact]
    with pytest.raises(UnsupportedError, match=r"x\.to_float64\(\)"):
        np.asarray(x)
    assert np.asarray(x, object).tolist() == exact.tolist()
    one = x.astype("float32")
    assert np.asarray(one).dtype == np.float32
    assert np.asarray(one, np.float64).tolist() == exact.astype(np.float32).tolist()
    with pytest.raises(ValueError, match="a copy is needed"):
        one.__array__(copy=False)  # np.array(one, copy=False), whose earlier meaning NumPy 1 has
    assert float(x[1, 2]) == float(exact[1, 2])
    for row, line in zip(x.to_mpmath(), exact, strict=True):
        for value, wanted in zip(row, line, strict=True):
            assert isinstance(value, mpmath.mpf)
            sign, mantissa, exponent, _ = value._mpf_
            assert (-1) ** sign * int(mantissa) * Fraction(2) ** exponent == wanted
    assert mp.array("0.1", "qd", device).to_strings(5) == "0.1"
    assert mp.array(["1", "-0"], "dd", device).to_strings() == ["1.0", "-0.0"]
    assert mp.array(["inf", "nan"], "td", device).to_strings() == ["inf", "nan"]
    with pytest.raises(FormatError, match="no exact value"):
        mp.array(["inf"], "td", device).to_fractions()
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        float(x)


def test_float64_conversion_rounds_once(device: Device) -> None:
    """(1, u, u^2) lies above the tie that its first two limbs make."""
    up, down = ([[1.0], [U], [sign * U * 2.0**-60]] for sign in (1, -1))
    planes = [np.array(limb) for limb in up]
    assert mp.from_limbs(planes, "td", device).to_float64().tolist() == [1 + 2 * U]
    planes = [np.array(limb) for limb in down]
    assert mp.from_limbs(planes, "td", device).to_float64().tolist() == [1.0]


@pytest.mark.parametrize(
    ("given", "name"), [((2**53 + 1, 2.0**60, 2.0**59), "start"), ((0, 9.5, 2**53 + 1), "step")]
)
def test_arange_rounds_no_integers(given: tuple[Any, ...], name: str, device: Device) -> None:
    with pytest.raises(FormatError, match=f"arange: {name}: the integer 9007199254740993"):
        mp.arange(*given, dtype="float64", device=device)
    found = mp.arange(*given, dtype="dd", device=device)
    assert found[0].to_fractions() == given[0]


def test_text_names_format_and_device(device: Device) -> None:
    x = mp.array(["0.5", "-3"], "dd", device)
    assert str(x) == "[0.5, -3.0]"
    assert repr(x) == f"portmp.array(['0.5', '-3.0'], 'dd', device={device.name!r})"
    assert repr(mp.array("2", "ts", device)).startswith("portmp.array('2.0', 'ts', ")
    large = mp.arange(1200, dtype="dd", device=device)
    assert str(large) == "[0.0, 1.0, 2.0, ..., 1197.0, 1198.0, 1199.0]"
    assert str(large.reshape(2, 600)).splitlines() == [
        "[[0.0, 1.0, 2.0, ..., 597.0, 598.0, 599.0],",
        " [600.0, 601.0, 602.0, ..., 1197.0, 1198.0, 1199.0]]",
    ]


def test_conversion_between_formats_rounds_once(device: Device) -> None:
    """Every pair of formats: the value is the source's, rounded to the target."""
    for source, target in itertools.permutations(formats.STANDARD, 2):
        x = mp.from_limbs(inputs.ordinary(formats.get(source), (6,), "to"), source, device)
        y = x.astype(target)
        assert y.format.name == target
        for got, exact in zip(y.to_fractions(), x.to_fractions(), strict=True):
            assert abs(got - exact) <= abs(exact) / 2 ** formats.get(target).bits


def test_copies_share_nothing(device: Device) -> None:
    """mp.array, astype and + of an Array give elements of their own, as in NumPy."""
    x = mp.array(["0.1", "0.2"], "dd", device)
    for copied in (mp.array(x), mp.array(x, "dd"), x.astype("dd"), +x, mp.array(x, device=device)):
        copied[...] = 9
    assert x.to_strings(5) == ["0.1", "0.2"]


def test_indices_of_small_integer_types(device: Device) -> None:
    """NumPy's small integers do not wrap."""
    x = mp.array(np.arange(1000.0).reshape(10, 100), "float64", device)
    assert x[np.uint8(3), np.int8(5)].to_float64() == 305
    assert x.reshape(-1)[np.int8(-1)].to_float64() == 999


def test_queues_do_not_mix(device: Device) -> None:
    """Operands of two queues would race: refused."""
    x = mp.array([1.0], "dd", device)
    elsewhere = mp.Array(upload(x.format, x.to_limbs(), device.new_queue()))
    with pytest.raises(DeviceError, match="another queue"):
        x + elsewhere


def test_truth_of_one_element(device: Device) -> None:
    """As in NumPy: one element has a truth value, more have none."""
    assert not mp.array([0.0], "dd", device) and not mp.array(-0.0, "dd", device)
    assert mp.array([[1e-300]], "dd", device) and mp.array("nan", "dd", device)
    for x in (mp.zeros(2, "dd", device), mp.zeros(0, "dd", device)):
        with pytest.raises(ShapeError, match="one element"):
            bool(x)


def test_scalars_that_compare_equal(device: Device) -> None:
    """What is kept of scalars tells -0.0 from 0.0, and types that accept other values."""
    x = mp.array([1.0, -1.0], "float64", device=device.name)
    for alpha in (0.0, -0.0, 0.0, 0, -0.0):
        expected = np.signbit(np.float64(alpha) * np.array([1.0, -1.0]))
        assert np.array_equal(np.signbit(mp.scal(alpha, x).to_limbs()[0]), expected)
    large = 2**53 + 1
    assert mp.scal(float(large), x).to_limbs()[0][0] == 2.0**53
    with pytest.raises(FormatError, match="is not exact in float64"):
        mp.scal(large, x)


def test_scalars_of_the_blas_from_arrays(device: Device) -> None:
    """An Array of shape () as alpha or beta keeps all its limbs; others are refused."""
    third = mp.array("1/3", "qd", device)
    one = mp.array(["1", "-3"], "qd", device)
    wanted = [limb.tolist() for limb in (one * third).to_limbs()]
    assert [limb.tolist() for limb in mp.scal(third, one).to_limbs()] == wanted
    zero = mp.zeros(2, "qd", device)
    assert [limb.tolist() for limb in mp.axpy(third, one, zero).to_limbs()] == wanted
    a = one[:, None]
    product = mp.gemm(a, mp.array([["1"]], "qd", device), alpha=third, beta=third, c=a)
    assert product.to_fractions()[0][0] == 2 * third.to_fractions()
    with pytest.raises(FormatError, match=r"alpha: format dd"):
        mp.scal(third.astype("dd"), one)
    with pytest.raises(ShapeError, match="alpha: one number"):
        mp.scal(one, one)


# --- views ------------------------------------------------------------------------------

VIEWS: list[Any] = [
    0,
    -1,
    (1, 2),
    (-1, -2, -3),
    slice(None),
    slice(None, None, -1),
    slice(1, 1),
    ...,
    (..., 0),
    (0, ...),
    (..., slice(None, None, -2)),
    (slice(None), slice(2, 0, -1), slice(1, 9)),
    None,
    (None, 0, None),
    (slice(None), None, 1),
    (..., None),
    (0, ..., None, slice(3, None, -3)),
    (slice(-1, None), slice(None, -1), -1),
    (np.int64(1), slice(None, None, 2)),
    (),
    (slice(5, 2), 0),
    (slice(None, None, -1), slice(None, None, -1), slice(None, None, -1)),
]


def test_views_are_those_of_numpy(device: Device) -> None:
    """The same elements in the same order, without a copy."""
    host = numbers(2, 3, 4)
    x = mp.array(host, "dd", device)
    for key in VIEWS:
        view = x[key]
        wanted = np.asarray(host[key], object)
        assert view.shape == wanted.shape, key
        assert view.to_fractions() == wanted.tolist(), key
        alone = isinstance(key, tuple) and all(isinstance(i, int) for i in key) and len(key) == 3
        assert (view.planes.buffers[0] is x.planes.buffers[0]) is not alone


def test_views_of_views_and_transposes(device: Device) -> None:
    host = numbers(3, 4, 5)
    x = mp.array(host, "dd", device)
    chains: list[Callable[[Any], Any]] = [
        lambda a: a[::-1, 1:][1:, ::-2],
        lambda a: a.T,
        lambda a: a.T[1:, ::2].T[None],
        lambda a: a.transpose(1, 0, 2)[::-1],
        lambda a: a.transpose(-1, 0, 1)[..., 1],
        lambda a: a[1].T[::-2],
        lambda a: a.reshape(12, 5)[::3],
        lambda a: a.reshape((5, -1)),
        lambda a: a.T.reshape(-1),
        lambda a: a[:, 1:3, ::-1].reshape(3, 2, 5, 1),
        lambda a: a[:, :0].reshape(0, 7),
        lambda a: a[:1, :1, :1].reshape(()),
        lambda a: a[1, :1, 3].reshape(1, 1),
        lambda a: a.reshape(np.int64(60)),
    ]
    for chain in chains:
        view, wanted = chain(x), chain(host)
        assert view.to_fractions() == np.asarray(wanted, object).tolist()
        assert view.copy().to_fractions() == view.to_fractions()
    assert [row.to_fractions() for row in x[0]] == host[0].tolist()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (0, 0), (0, 3, 4)])
def test_truth_values_of_no_elements(shape: tuple[int, ...], device: Device) -> None:
    """An axis of none fits any, as the standard and NumPy have it, and chooses nothing."""
    host = np.arange(24.0).reshape(2, 3, 4)
    x = mp.array(host, "dd", device)
    none = np.zeros(shape, bool)
    for mask in (none, mp.asarray(none, device=device)):
        assert x[mask].shape == host[none].shape and x[mask].size == 0
        x[mask] = 1
        x[mask] = x[mask]
        assert (x == host).all()
        y = mp.array([7.0, 8], "dd", device)
        if none.ndim == 1:
            y[mask] = 1
            assert y.to_fractions() == [7, 8]
    beyond = np.zeros((*shape, 5), bool)
    for mask in (beyond, mp.asarray(beyond, device=device)):
        with pytest.raises(IndexError, match="index: "):
            x[mask]
        with pytest.raises(IndexError, match="index: "):
            x[mask] = 1


def test_wrong_views_are_refused(device: Device) -> None:
    x = mp.zeros((2, 3), device=device)
    keys: list[Any] = [2, -3, (0, 3), (0, 0, 0), 1.0, [0, 2], [0.5], "a", (..., ...), [True]]
    for key in keys:
        with pytest.raises(IndexError):
            x[key]
    wrong: list[Callable[[], Any]] = [
        lambda: x.reshape(4),
        lambda: x.reshape(-1, -1),
        lambda: x.reshape(-1, 4),
        lambda: x.reshape(-2, -3),
        lambda: x.transpose(0),
        lambda: x.transpose(0, 2),
        lambda: len(x[0, 0]),
        lambda: mp.zeros((0, 3), device=device).reshape(-1, 0),
    ]
    for call in wrong:
        with pytest.raises(ShapeError):
            call()


def _assigned(device: Device, assign: Callable[[Any], None]) -> None:
    host = numbers(5, 6)
    x = mp.array(host, "dd", device)
    assign(host)
    assign(x)
    assert x.to_fractions() == host.tolist()


ASSIGNMENTS: list[tuple[Any, Callable[[Any], Any]]] = [
    (..., lambda a: 7),
    ((1, 2), lambda a: -3),
    (slice(None, None, 2), lambda a: a[1::2, :1] if a.shape[0] == 6 else 4),
    (slice(1, None), lambda a: a[:-1]),
    (slice(None, -1), lambda a: a[1:]),
    (slice(None, None, -1), lambda a: a),
    ((slice(None), slice(None, None, -1)), lambda a: a),
    ((slice(None), slice(None, None, 2)), lambda a: a[:, 1::2]),
    ((slice(None, 5), slice(None, 5)), lambda a: a[:5, :5].T),
    (0, lambda a: a[3]),
    ((slice(None), 1), lambda a: a[2, 1:]),
    (slice(0, 0), lambda a: a[:0]),
    (slice(1, 4), lambda a: a[2]),
    ((None, 0), lambda a: a[4]),
    ((..., slice(3, 0, -1)), lambda a: a[::-1, 1:4]),
]


@pytest.mark.parametrize("index", range(len(ASSIGNMENTS)))
def test_assignment_is_numpys_with_overlaps(device: Device, index: int) -> None:
    """Sources that share memory with the target are read before they are overwritten."""
    key, value = ASSIGNMENTS[index]

    def assign(a: Any) -> None:
        source = value(a)
        # NumPy also reads before it writes; a copy makes that independent of its version.
        a[key] = source.copy() if isinstance(source, np.ndarray) else source

    _assigned(device, assign)


def test_views_that_share_one_element(device: Device) -> None:
    """The last of one is the first of the other: outputs are refused, assignments are NumPy's."""
    x = mp.array(np.arange(5.0), "dd", device)
    assert x[:3].planes.overlaps(x[2:].planes) and x[2:].planes.overlaps(x[:3].planes)
    assert not x[:2].planes.overlaps(x[2:].planes)
    with pytest.raises(ArgumentError, match="overlaps"):
        mp.axpy(3, x[:3], x[:3], out=x[2:])
    x[2:] = x[2::-1]
    assert x.to_float64().tolist() == [0, 1, 2, 1, 0]


def test_assignment_writes_through_views(device: Device) -> None:
    def assign(a: Any) -> None:
        a.T[1:, ::-1][::2, :3] = 9
        a[2:].reshape(-1)[3:7] = 11
        a[::2][1, 1:3] = a[4, :2]

    _assigned(device, assign)
    x = mp.zeros(3, "qd", device)
    x[1] = "0.1"
    x[2] = Fraction(1, 2**200) + 1
    assert x.to_fractions()[1] == mp.array("0.1", "qd", device).to_fractions()
    assert x.to_fractions()[2] == 1 + Fraction(1, 2**200)


def test_wrong_assignments_are_refused(device: Device) -> None:
    x = mp.zeros((2, 3), device=device)
    for value, error in (
        (mp.zeros(2, device=device), ShapeError),
        (mp.zeros((2, 2, 3), device=device), ShapeError),
        (mp.zeros(3, "td", device), FormatError),
        ([1, 2], ShapeError),
        ("x", InputError),
        (None, FormatError),
    ):
        with pytest.raises(error):
            x[...] = value
    assert x.to_fractions() == [[0] * 3] * 2


# --- operators --------------------------------------------------------------------------

ERROR: dict[str, dict[int, Fraction]] = {
    "add": {2: Fraction(2), 3: Fraction(2), 4: Fraction(2)},
    "mul": {2: Fraction(7), 3: Fraction(8), 4: Fraction(16)},
    "div": {2: 15 + Fraction(1, 2**16), 3: Fraction("1.01"), 4: Fraction("1.02")},
    "sqrt": {2: Fraction(25, 8), 3: Fraction("1.01"), 4: Fraction("1.01")},
}
"""Relative errors in units of u^N; one limb is correctly rounded."""


def allowed(form: Format, op: str) -> Fraction:
    """The largest relative error of *op*; d+s rounds its low limb once more."""
    u = Fraction(2) ** -encodings.PRECISION[form.word]
    if form.limbs == 1:
        return u
    stored = Fraction(0) if form.compute is form else Fraction(2) ** -(form.bits + 1) * (1 + 2 * u)
    return ERROR[op][form.limbs] * u**form.limbs + stored


def operand_pairs(form: Format) -> tuple[list[Plane], list[Plane]]:
    """Ordinary pairs, and pairs that cancel down to their last limb."""
    x, y = inputs.ordinary(form, (200,), "x"), inputs.ordinary(form, (200,), "y")
    close = inputs.ordinary(form, (200,), "close")
    near = [-p for p in close]
    if form.limbs > 1:
        near[-1] = y[-1] * near[-1].dtype.type(0.5)
    both = [np.concatenate(pair) for pair in zip(x, close, strict=True)]
    others = [np.concatenate(pair) for pair in zip(y, near, strict=True)]
    return convert.normalise(both, form), convert.normalise(others, form)


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        formats.STANDARD,
        ("dd", "ts", "qd", "d+s"),
        "the others have the same networks in another word; their bits are in test_bits",
    ),
)
def test_operators_keep_their_bounds(device: Device, name: str) -> None:
    """add, sub, mul, div and sqrt against exact rational numbers."""
    form = formats.get(name)
    x, y = (mp.from_limbs(p, name, device) for p in operand_pairs(form))
    first, second = x.to_fractions(), y.to_fractions()
    results: dict[str, list[Fraction]] = {
        "add": (x + y).to_fractions(),
        "sub": (x - y).to_fractions(),
        "mul": (x * y).to_fractions(),
        "div": (x / y).to_fractions(),
    }
    exact: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
    }
    for op, values in results.items():
        bound = allowed(form, "add" if op == "sub" else op)
        for a, b, value in zip(first, second, values, strict=True):
            wanted = exact[op](a, b)
            assert abs(value - wanted) <= bound * abs(wanted), (op, a, b)
    bound = allowed(form, "sqrt")
    for a, value in zip(first, mp.sqrt(abs(x)).to_fractions(), strict=True):
        # r = sqrt(a) (1 + e) with |e| <= bound, squared.
        assert (1 - bound) ** 2 <= value**2 / abs(a) <= (1 + bound) ** 2, a


@pytest.mark.parametrize(
    "name", mostly_slow(["float32", "dd", "d+s"], ("d+s",), "scalars reach kernels in the same way")
)
def test_scalars_mix_in_on_both_sides(device: Device, name: str) -> None:
    """Python and NumPy numbers, strings and Fractions give the bits of an array operand."""
    form = formats.get(name)
    x = mp.from_limbs(inputs.ordinary(form, (5,), "scalar"), name, device)
    scalars: list[Any] = [3, 0.75, "0.1", Fraction(1, 3), np.float64(-1.5), np.int32(7)]
    for scalar in scalars:
        same = mp.array([scalar] * 5, name, device)
        pairs = [
            (x + scalar, x + same),
            (scalar + x, same + x),
            (x - scalar, x - same),
            (scalar - x, same - x),
            (x * scalar, x * same),
            (scalar * x, same * x),
            (x / scalar, x / same),
            (scalar / x, same / x),
        ]
        for got, wanted in pairs:
            assert isinstance(got, mp.Array)
            assert bits(got.to_limbs()) == bits(wanted.to_limbs())
        assert ((x < scalar) == (x < same)).all()
    exact = x.to_fractions()
    assert (-x).to_fractions() == [-v for v in exact]
    assert abs(x).to_fractions() == [abs(v) for v in exact]


def test_broadcasting_is_numpys(device: Device) -> None:
    """Values whose sums and products are exact, over every pair of shapes that fit."""
    shapes = [(), (4,), (3, 1), (2, 3, 1), (0, 1), (3, 4)]
    for left, right in itertools.product(shapes, repeat=2):
        a, b = np.arange(math.prod(left)), np.arange(math.prod(right)) - 2
        a, b = a.reshape(left), b.reshape(right)
        x, y = mp.array(a, "dd", device), mp.array(b, "dd", device)
        try:
            wanted = a * 5 - b
        except ValueError:
            for call in (lambda x=x, y=y: x * 5 - y, lambda x=x, y=y: x == y):
                with pytest.raises(ShapeError, match="do not broadcast"):
                    call()
            continue
        got = x * 5 - y
        assert got.shape == wanted.shape
        assert got.to_fractions() == wanted.tolist()
        assert np.array_equal(x <= y, a <= b)
    x = mp.array(numbers(3, 4), "dd", device)
    wanted = numbers(3, 4)[::-1, ::2] - numbers(3, 4)[:, :1]
    assert (x[::-1, ::2] - x[:, :1]).to_fractions() == wanted.tolist()
    with pytest.raises(ShapeError, match=r"\(3, 4\) and \(3,\)"):
        x + x[:, 0]


def test_operands_that_do_not_fit_are_refused(device: Device) -> None:
    """Formats are never mixed; sets, and arrays that would be rounded, are no operands."""
    x = mp.zeros(3, "dd", device)
    other = mp.zeros(3, "td", device)
    calls: list[Callable[[], Any]] = [
        lambda: x + other,
        lambda: x * other,
        lambda: x == other,
        lambda: x @ other,
        lambda: mp.fma(x, x, other),
        lambda: mp.maximum(x, other),
        lambda: mp.dot(x, other),
        lambda: mp.axpy(2, x, other),
        lambda: mp.axpy(0, x, other),
        lambda: mp.gemv(mp.zeros((3, 3), "td", device), x),
    ]
    for call in calls:
        with pytest.raises(FormatError, match=r"astype"):
            call()
    for wrong in ({1, 2, 3}, np.ones(3, np.longdouble), np.ones(3, np.float16), {1: 2}):
        for mixed in (lambda w=wrong: x + w, lambda w=wrong: w * x, lambda w=wrong: x < w):
            words = "make it an array first" if hasattr(wrong, "dtype") else "lists are operands"
            with pytest.raises(ArgumentError, match=words):
                mixed()
    for kind in (float, int):
        hidden = np.ma.array([1, 2, 3], kind, mask=[0, 1, 0])
        for lost in (lambda w=hidden: x + w, lambda w=hidden: mp.asarray(w), lambda w=hidden: x[w]):
            with pytest.raises(FormatError, match="masked arrays are not accepted"):
                lost()
    assert (
        mp.dot(x, [1, 2, 3]).tolist() == mp.dot(x, mp.array([1, 2, 3], x.format, device)).tolist()
    )
    with pytest.raises(ArgumentError, match=r"y: dict given.*portmp\.array"):
        mp.dot(x, {})
    assert (x + 1j).imag.tolist() == mp.ones_like(x).tolist()
    with pytest.raises(ShapeError, match="use \\*"):
        x @ x[0]


def test_lists_and_numpys_arrays_are_operands(device: Device) -> None:
    """In the array's format where it holds all of them; on either side, and in place."""
    x = mp.array([1, 2, 3], "dd", device)
    tenths = np.array([0.1, 0.2, 0.3])
    wanted = [Fraction(v) * (i + 1) for i, v in enumerate(tenths.tolist())]
    for found in (x * tenths, tenths * x, x * tenths.tolist(), tenths.tolist() * x):
        assert found.format is x.format and found.device is x.device
        assert list(found.to_fractions()) == wanted
    assert (
        mp.add(x, ["0.1", Fraction(1, 2), 1]).tolist() == (x + mp.array(["0.1", "0.5", 1])).tolist()
    )
    assert (x == [1, 0, 3]).tolist() == [True, False, True]
    assert (x <= (2, 2, 2)).tolist() == [True, True, False]
    for found in (x @ [1, 2, 3], [1, 2, 3] @ x, np.array([1.0, 2, 3]) @ x, x @ np.arange(1, 4)):
        assert found == 14
    assert (x ** [1, 2, 3]).tolist() == (x ** np.arange(1, 4)).tolist() == [1, 4, 27]
    whole = mp.asarray([1, 2, 3], device=device)
    assert (whole * [1, 2, 3]).dtype == "int64"
    assert (whole * [0.5, 1, 2]).tolist() == [0.5, 2, 6]
    y = x.copy()
    y += [1, 1, 1]
    y *= np.array([1.0, 2, 3])
    assert y.tolist() == [2, 6, 12]
    with pytest.raises(FormatError, match=r"float64 given, ds does not hold.*rounds"):
        mp.array([1, 2, 3], "ds", device) * tenths
    assert (mp.array([1, 2, 3], "ds", device) * tenths.astype(np.float32)).dtype.name == "ds"
    with pytest.raises(ShapeError, match="broadcast"):
        x - [1, 2]


@pytest.mark.parametrize("value", [2.5, -1234567.125, 0.0, 1e-9, 1e22])
def test_format_strings_are_those_of_floats(value: float) -> None:
    """Fillers, signs, widths that count exponents, groups: of numbers that floats hold."""
    x = mp.array(value, "dd", "host")
    parts = (
        ("", "<", "^", "*>", "0="),
        ("", "+", " "),
        ("", "0"),
        ("", "3", "14"),
        ("", ",", "_"),
        ("", ".2", ".10"),
        ("e", "f", "g", "E"),
    )
    for chosen in itertools.product(*parts):
        spec = "".join(chosen)
        assert format(x, spec) == format(value, spec), spec
    assert f"{mp.array('0.1', 'qd', 'host'):+10.33f}" == f"+0.1{'0' * 32}"


@pytest.mark.parametrize("value", [2.5, -1234567.125, 0.0, 7.0, 1e22])
def test_widths_alone_print_numbers_as_they_are_printed(value: float) -> None:
    """Without a precision and a kind: the shortest text, as Python's floats have it."""
    x = mp.array(value, "dd", "host")
    for spec in (">50", "40", "<9", "*^30", "+", " ", "012", "+,", "_", "=+40", ".10"):
        assert format(x, spec) == format(value, spec), spec
    assert f"[{mp.array('0.1', 'qd', 'host'):>6}]" == "[   0.1]"


def test_what_is_no_number_differs_from_all(device: Device) -> None:
    """As NumPy has it; what may be one, but is not taken, is refused."""
    x = mp.array(["0.1", "2"], "dd", device)
    for other in (object(), print, None, {}, Device):
        assert not bool((x == other).any()) and bool((x != other).all())
    assert (x == Fraction(2)).tolist() == [False, True]
    with pytest.raises(FormatError):
        x == np.float16(2)  # noqa: B015


def test_arrays_are_not_made_of_what_is_no_view() -> None:
    """Of Python's statistics.mean, say, which calls the class of the elements with a Fraction."""
    x = mp.array(["0.1", "2.5"], "qd", "host")
    for make in (lambda: mp.Array([1, 2]), lambda: mp.ndarray((2, 2)), lambda: mean(x)):
        with pytest.raises(UnsupportedError, match=r"made by portmp\.array, zeros"):
            make()


def test_what_is_on_no_device_goes_to_the_arrays(device: Device) -> None:
    """Masks, conditions and numbers beside an array that is on another device than the usual."""
    x = mp.array([1, -2, 3], "dd", device)
    other = next((d for d in discovery.devices() if d.name != device.name), device)
    with mp.device(other):
        mask = np.array([True, False, True])
        for found, wanted in (
            (mp.where(mask, x, 0), [1, 0, 3]),
            (mp.where(x > 0, 2.5, "0.5"), [2.5, 0.5, 2.5]),
            (mp.select([x > 2, x < 0], [1, 2]), [0, 2, 1]),
            (mp.choose([0, 1, 0], [x, 7]), [1, 7, 3]),
            (mp.concat([x, [4.0]]), [1, -2, 3, 4]),
            (x[mask], [1, 3]),
        ):
            assert found.device is device and found.tolist() == wanted
        mp.copyto(x, 5, where=mask)
    assert x.tolist() == [5, -2, 5]


def test_operands_on_two_devices_are_refused(device: Device) -> None:
    others = [d for d in discovery.devices() if d.name != device.name]
    if not others:
        pytest.skip("one device only")
    here, there = mp.array([1, 2], "dd", device), mp.array([3, 4], "dd", others[0].name)
    calls: list[Callable[[], Any]] = [
        lambda: here + there,
        lambda: here == there,
        lambda: mp.dot(here, there),
        lambda: here.__setitem__(0, there[0]),
        lambda: mp.axpy(1, here, there),
        lambda: mp.scal(1, here, out=there),
    ]
    there_too = mp.asarray([0, 1], device=others[0])
    indexed: list[Callable[[], Any]] = [
        lambda: here[there_too],
        lambda: here[there_too == 0],
        lambda: here.__setitem__(there_too, 1),
        lambda: here.__setitem__(there_too == 0, 1),
        lambda: mp.take(here, there_too),
        lambda: mp.where(there_too == 0, here, 1),
        lambda: mp.take_along_axis(here, there_too),
    ]
    for call in calls:
        with pytest.raises(DeviceError, match=rf"\.to\('{device.name}'\)"):
            call()
    for call in indexed:  # a driver that is given another's memory may crash
        with pytest.raises(DeviceError, match=r"copy with \w+\.to\('"):
            call()
    assert (here + there.to(device)).to_fractions() == [4, 6]
    assert there.to(device).to(device).device is device
    table = mp.array([[1, 2, 3], [4, 5, 6]], "ts", device)
    for part in (table[1, 1:], table[:, 2], table.T, table[:0], table[1, 1]):
        moved = part.to(others[0].name)
        assert moved.device is others[0] and moved.shape == part.shape
        assert moved.to_fractions() == part.to_fractions()


# --- special values ---------------------------------------------------------------------


def special_words(form: Format) -> Plane:
    """Zeros, ones, infinities, NaN and the largest word, as leading limbs."""
    largest = np.finfo(form.word).max
    return np.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, largest, -largest], form.word
    )


def pairs_of(words: Plane) -> tuple[Plane, Plane]:
    """Every word with every word, as two flat arrays."""
    return np.repeat(words, words.size), np.tile(words, words.size)


def leading_only(form: Format, words: Plane, device: Device) -> mp.Array:
    """Values with zeros below the given leading limbs."""
    lower = [np.zeros(words.shape, form.dtype(i)) for i in range(1, form.limbs)]
    return mp.from_limbs([words, *lower], form, device)


@pytest.mark.parametrize("name", formats.STANDARD)
def test_special_values_are_those_of_one_word(device: Device, name: str) -> None:
    """Infinities, NaN and overflow as in IEEE 754, with +0 below."""
    form = formats.get(name)
    a, b = pairs_of(special_words(form))
    x, y = leading_only(form, a, device), leading_only(form, b, device)
    with np.errstate(all="ignore"):
        cases = {
            "+": (x + y, a + b),
            "-": (x - y, a - b),
            "*": (x * y, a * b),
            "/": (x / y, a / b),
            "sqrt": (mp.sqrt(y), np.sqrt(b)),
            "double": (y * 2, b * 2),
            "1 /": (1 / y, 1 / b),
        }
    for op, (got, wanted) in cases.items():
        planes = got.to_limbs()
        finite = np.isfinite(wanted)
        assert np.array_equal(np.isfinite(planes[0]), finite), op
        assert np.array_equal(planes[0][~finite], wanted[~finite], equal_nan=True), op
        assert not any(np.signbit(p[~finite]).any() or p[~finite].any() for p in planes[1:]), op
        zero = wanted == 0
        assert not any(p[zero].any() for p in planes), op
        if form.limbs == 1:
            assert bits(planes) == bits([wanted]), op


def test_signs_of_nan_change_nothing_else(device: Device) -> None:
    """Devices make NaNs of either sign: no other limb depends on it."""
    x, y = [1.0, math.nan, -math.nan, math.inf, 5.0], [-2.0, -1.0, 2.0, -3.0, math.nan]
    found = []
    for one in (device, discovery.get("host")):
        a, b = (mp.array(np.array(v), "dd", one) for v in (x, y))
        made = mp.remainder(a, b), mp.floor_divide(a, b), mp.modf(a / b)[0]
        found.append([digest(v.to_limbs()) for v in (*made, mp.copysign(mp.sqrt(a - 9), -abs(a)))])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", formats.STANDARD)
def test_comparisons_with_special_values(device: Device, name: str) -> None:
    """As for floats: NaN is unordered, -0 equals 0, infinities are at the ends."""
    form = formats.get(name)
    words = special_words(form)
    a, b = pairs_of(words)
    x, y = leading_only(form, a, device), leading_only(form, b, device)
    assert np.array_equal(x == y, a == b)
    assert np.array_equal(x != y, a != b)
    assert np.array_equal(x < y, a < b)
    assert np.array_equal(x <= y, a <= b)
    assert np.array_equal(x > y, a > b)
    assert np.array_equal(x >= y, a >= b)
    assert np.array_equal(x < math.inf, a < np.inf)
    assert not (y == "nan").any()
    assert (x == y).dtype == np.bool_


def test_comparisons_see_every_limb(device: Device) -> None:
    """Values that differ in their last limb, and one value with two normalised forms."""
    for name in ("ds", "ts", "qs", "dd", "td", "qd", "d+s"):
        form = formats.get(name)
        planes = inputs.ordinary(form, (40,), "last limb")
        more = [p.copy() for p in planes]
        more[-1] = np.nextafter(more[-1], np.array(np.inf, more[-1].dtype))
        more = convert.normalise(more, form)
        x, y = mp.from_limbs(planes, name, device), mp.from_limbs(more, name, device)
        assert (x < y).all() and (x != y).all() and not (x >= y).any() and (y > x).all()
        assert (x == x.copy()).all() and (x <= x.copy()).all()
    one = mp.from_limbs([np.array(w) for w in (1.0, U, U * U)], "td", device)
    two = mp.from_limbs([np.array(w) for w in (1 + 2 * U, -U + U * U, 0.0)], "td", device)
    assert bits(one.to_limbs()) != bits(two.to_limbs())
    assert [bool(c) for c in (one == two, one <= two, one >= two)] == [True] * 3
    assert [bool(c) for c in (one != two, one < two, one > two)] == [False] * 3
    assert (one - two).to_fractions() == 0


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        formats.STANDARD,
        ("float32", "dd", "ts", "d+s"),
        "limbs are chosen one by one: more of them show nothing else",
    ),
)
def test_minimum_and_maximum(device: Device, name: str) -> None:
    """NaN propagates from either side, -0 is below +0, ordinary values by value."""
    form = formats.get(name)
    a, b = pairs_of(special_words(form))
    x, y = leading_only(form, a, device), leading_only(form, b, device)
    for function, pick in ((mp.minimum, np.minimum), (mp.maximum, np.maximum)):
        planes = function(x, y).to_limbs()
        wanted = pick(a, b)
        assert np.array_equal(planes[0], wanted, equal_nan=True)
        assert not any(p.any() for p in planes[1:])
    zeros = leading_only(form, np.array([0.0, -0.0], form.word), device)
    assert np.signbit(mp.minimum(zeros, zeros[::-1]).to_limbs()[0]).tolist() == [True, True]
    assert np.signbit(mp.maximum(zeros, zeros[::-1]).to_limbs()[0]).tolist() == [False, False]
    p, q = (inputs.ordinary(form, (50,), seed) for seed in "pq")
    first, second = mp.from_limbs(p, name, device), mp.from_limbs(q, name, device)
    pairs = list(zip(first.to_fractions(), second.to_fractions(), strict=True))
    assert mp.minimum(first, second).to_fractions() == [min(pair) for pair in pairs]
    assert mp.maximum(first, second).to_fractions() == [max(pair) for pair in pairs]
    assert mp.maximum(first, 0).to_fractions() == [max(pair[0], 0) for pair in pairs]


# --- axpy, scal, fma --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float32", "dd", "d+s"])
def test_axpy_and_scal_skip_what_alpha_makes_needless(device: Device, name: str) -> None:
    """alpha = 0 reads no x, alpha = 1 multiplies nothing; scal by 0 still multiplies."""
    form = formats.get(name)
    x = leading_only(form, np.array([np.nan, np.inf, 1, -0.0], form.word), device)
    y = leading_only(form, np.array([1, -0.0, np.nan, -0.0], form.word), device)
    assert bits(mp.axpy(0, x, y).to_limbs()) == bits(y.to_limbs())
    assert bits(mp.axpy("0.0", x, y).to_limbs()) == bits(y.to_limbs())
    assert bits(mp.axpy(1, x, y).to_limbs()) == bits((x + y).to_limbs())
    assert bits(mp.scal(1, x).to_limbs()) == bits(x.to_limbs())
    assert np.isnan(mp.scal(0, x).to_limbs()[0]).tolist() == [True, True, False, False]
    plain = mp.from_limbs(inputs.ordinary(form, (30,), "axpy"), name, device)
    other = mp.from_limbs(inputs.ordinary(form, (30,), "other"), name, device)
    tenth = mp.array(["0.1"], name, device)
    wanted = bits(mp.fma(tenth, plain, other).to_limbs())
    assert bits(mp.axpy("0.1", plain, other).to_limbs()) == wanted
    assert bits(mp.scal(Fraction(1, 10), plain).to_limbs()) == bits((tenth * plain).to_limbs())
    if form.limbs > 1 and form.compute is form:
        assert bits((tenth * plain + other).to_limbs()) == wanted
    target = other.copy()
    assert mp.axpy("0.1", plain, target, out=target).planes is target.planes
    assert bits(target.to_limbs()) == wanted
    mp.scal(-2, target[::-1], out=target[::-1])
    assert target.to_fractions() == mp.scal(-2, mp.axpy("0.1", plain, other)).to_fractions()
    for call in (
        lambda: mp.axpy(2, plain[:-1], other[:-1], out=plain[1:]),
        lambda: mp.scal(2, plain, out=plain[::-1]),
    ):
        with pytest.raises(ArgumentError, match="overlaps x"):
            call()
    with pytest.raises(ShapeError, match=r"\(29,\).*\(30,\)"):
        mp.axpy(2, plain, other, out=plain[1:])
    wide = mp.axpy(0, plain.reshape(6, 5), other[:5])
    assert bits(wide.to_limbs()) == bits((0 * plain.reshape(6, 5) + other[:5]).to_limbs())
    with pytest.raises(ShapeError, match=r"axpy.*\(30,\) and \(29,\)"):
        mp.axpy(0, plain, other[1:])
    with pytest.raises(ShapeError, match="one number"):
        mp.axpy(np.ones(2), plain, other)  # type: ignore[arg-type]


def test_fma_of_one_limb_rounds_once(device: Device) -> None:
    """(1 + e)(1 - e) - 1 is -e^2; in two roundings it would be 0."""
    for name in ("float32", "float64"):
        e = Fraction(2) ** (1 - formats.get(name).bits)
        x = mp.array([1 + e], name, device)
        assert mp.fma(x, 1 - e, -1).to_fractions() == [-(e**2)]
    nan = mp.array(["nan"], "dd", device)
    assert np.isnan(mp.fma(nan, 0, 1).to_float64()).all()


# --- reductions -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dd", "float32"])
def test_sums_and_extrema_over_axes(device: Device, name: str) -> None:
    """Exact values over every axis of every kind of view, against NumPy on Fractions."""
    step = Fraction(1, 2**30) if name != "float32" else Fraction(1, 4)
    items = np.empty(60, object)
    items[:] = [(7 * i) % 60 - 30 + i % 3 * step for i in range(60)]
    host = items.reshape(3, 4, 5)
    x = mp.array(host, name, device)
    views: list[Callable[[Any], Any]] = [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:, ::-1, ::2],
        lambda a: a[1],
        lambda a: a[0, 1],
        lambda a: a[:, None],
        lambda a: a[1][:, None, :],
        lambda a: a[:1, :, None, 1:],
        lambda a: a[::2, :1],
        lambda a: a.T[None, ::-1, None],
    ]
    for view in views:
        mine, wanted = view(x), view(host)
        axes = [None, *range(-wanted.ndim, wanted.ndim)]
        for axis, kind in itertools.product(axes, ("sum", "max", "min")):
            result = getattr(mine, kind)(axis)
            exact = np.asarray(getattr(wanted, kind)(axis), object)
            assert result.shape == exact.shape
            assert result.to_fractions() == exact.tolist(), (kind, axis)
    empty = mp.zeros((2, 0), name, device)
    assert empty.sum().to_fractions() == 0
    assert empty.sum(axis=1).to_fractions() == [0, 0]
    assert empty.max(axis=0).shape == (0,)
    with pytest.raises(ShapeError, match="empty"):
        empty.min(axis=1)
    for axis in (2, -3):
        with pytest.raises(ShapeError, match=str(axis)):
            empty.sum(axis)


@pytest.mark.parametrize("name", ["dd", "float32"])
def test_reductions_of_special_values(device: Device, name: str) -> None:
    """NaN and infinities come out as plain arithmetic gives them."""
    form = formats.get(name)
    rows = np.array(
        [[1, np.inf, 2], [np.inf, 1, -np.inf], [0, np.nan, 1], [-0.0, -0.0, -0.0], [0.0, -0.0, 0]],
        form.word,
    )
    x = leading_only(form, rows, device)
    assert np.array_equal(
        x.sum(axis=1).to_float64(), [np.inf, np.nan, np.nan, 0, 0], equal_nan=True
    )
    assert np.array_equal(x.max(1).to_float64(), [np.inf, np.inf, np.nan, 0, 0], equal_nan=True)
    assert np.array_equal(x.min(1).to_float64(), [1, -np.inf, np.nan, 0, 0], equal_nan=True)
    assert np.signbit(x.max(1).to_limbs()[0][3:]).tolist() == [True, False]
    assert np.signbit(x.min(1).to_limbs()[0][3:]).tolist() == [True, True]


def nrm2_inputs(form: Format) -> dict[str, list[float]]:
    """Vectors with norms of 5 * 2^e far from 1, and such whose squares overflow or vanish."""
    info = np.finfo(form.word)
    high, low = info.maxexp - 3, info.minexp + 1
    return {
        "plain": [3, 4, 0],
        "huge": [3 * 2.0**high, 0, -(4 * 2.0**high) / 2],
        "tiny": [3 * 2.0**low, 4 * 2.0**low],
        "mixed": [2.0**high, 2.0**low, 1],
        "subnormal": [float(info.smallest_subnormal) * 3, float(info.smallest_subnormal) * 4],
    }


@pytest.mark.parametrize("name", formats.STANDARD)
def test_norms_neither_overflow_nor_vanish(device: Device, name: str) -> None:
    """The squared norm against the exact one, near both ends of the range."""
    form = formats.get(name)
    u = Fraction(2) ** -encodings.PRECISION[form.word]
    # Squares, their sum and the root; scaling back loses what is below the subnormals.
    bound = allowed(form, "sqrt") + 16 * u**form.limbs
    smallest = Fraction(float(np.finfo(form.word).smallest_subnormal))
    for kind, values in nrm2_inputs(form).items():
        if form.compute is not form and kind != "plain":
            # A short low limb does not reach so far: the leading limb is left.
            bound = 4 * u
        norm = mp.nrm2(mp.array(values, name, device)).to_fractions()
        square = sum((Fraction(v) ** 2 for v in values), Fraction(0))
        slack = form.limbs * smallest
        assert (norm * (1 - bound) - slack) ** 2 <= square, kind
        assert square <= (norm * (1 + bound) + slack) ** 2, kind
    matrix = mp.array([[3, 0], [0, 4]], name, device)
    assert mp.nrm2(matrix).to_fractions() == mp.nrm2(matrix.reshape(-1)).to_fractions()
    assert mp.nrm2(mp.zeros((0, 2), name, device)).to_fractions() == 0
    assert mp.nrm2(mp.zeros(3, name, device)).to_fractions() == 0
    for value in ("inf", "-inf"):
        assert mp.nrm2(mp.array([1, value], name, device)).to_float64() == np.inf
    assert np.isnan(mp.nrm2(mp.array(["inf", "nan"], name, device)).to_float64())
