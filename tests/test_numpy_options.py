"""NumPy's options and ways to write things: what they give is what NumPy gives, in full format."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, AxisError, FormatError, PlaceError, PortmpError, ShapeError

HOST = np.array([[1.0, 4.0, -2.0], [3.0, 0.5, 8.0]])
MASK = HOST > 0.75
ROW = np.array([True, False, True])


def _same(found: Any, wanted: Any) -> None:
    """Shapes and values, which float64 holds exactly here."""
    values = found.to_float64() if isinstance(found, mp.Array) else np.asarray(found)
    assert values.shape == np.shape(wanted)
    assert np.array_equal(values, wanted, equal_nan=True)


Call = Callable[[Any, Any, Any], Any]

REDUCED: dict[str, Call] = {
    "sum": lambda xp, x, m: [xp.sum(x, where=m), x.sum(axis=0, where=m), xp.sum(x, initial=5)],
    "sum of both": lambda xp, x, m: [xp.sum(x, axis=1, where=m, initial=0.5, keepdims=True)],
    "prod": lambda xp, x, m: [xp.prod(x, where=m), x.prod(axis=1, initial=2, where=m)],
    "max": lambda xp, x, m: [xp.max(x, axis=1, where=m, initial=2), x.max(initial=99)],
    "min": lambda xp, x, m: [xp.min(x, axis=0, where=m, initial=2), x.min(initial=-99)],
    "mean": lambda xp, x, m: [xp.mean(x[:, ::2], where=m[:, ::2]), x.mean(axis=0, where=[[True]])],
    "var of a mean": lambda xp, x, m: [
        xp.var(x[:, :2], mean=2.5),
        x[:, :2].var(axis=1, mean=[[1.0], [2.5]], keepdims=True),
        xp.std(x, 0, mean=x[:1] - 2) ** 0,
    ],
    "var": lambda xp, x, m: [
        x[1, ::2].var(where=[True, False]),
        xp.var(x[:, :2], where=[True, False]),
    ],
    "std": lambda xp, x, m: [xp.std(x[:, 0] * 0 + [[3.0], [5.0]], where=[True, False])],
    "none": lambda xp, x, m: [x.sum(where=False), x.mean(where=m & ~m), x.var(where=m & ~m)],
    "any": lambda xp, x, m: [(x > 3).any(where=m), xp.any(x > 3, axis=0, where=~m)],
    "all": lambda xp, x, m: [(x > 0).all(where=m), xp.all(x > 0, axis=1, where=~m)],
    "empty": lambda xp, x, m: [xp.max(x[:0], axis=0, initial=7), xp.min(x[:, :0], initial=7)],
    "of integers": lambda xp, x, m: [xp.sum(x > 0, where=m, initial=3), xp.sum(x > 0, axis=0)],
    "reduce": lambda xp, x, m: [
        xp.add.reduce(x, where=m, initial=2),
        xp.multiply.reduce(x, axis=None, where=m),
        xp.maximum.reduce(x, axis=1, initial=5),
        xp.logical_or.reduce(x > 5, where=m),
    ],
    "bits": lambda xp, x, m: [
        xp.bitwise_or.reduce(_whole(xp, x), axis=1),
        xp.bitwise_xor.reduce(_whole(xp, x), axis=None, keepdims=True),
        xp.bitwise_and.reduce(_whole(xp, x)),
        xp.logical_xor.reduce(m, axis=1),
    ],
}
"""Reductions of x with truth values m."""


def _whole(xp: Any, x: Any) -> Any:
    return x.astype("int64") * 3


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", sorted(REDUCED))
def test_reductions_of_a_part(name: str, device: Device) -> None:
    """As functions and methods of portmp, and as NumPy's functions of arrays."""
    x, m = mp.array(HOST, "dd", device), mp.array(MASK, device=device)
    wanted = REDUCED[name](np, HOST, MASK)
    for xp in (mp, np):
        for one, other in zip(REDUCED[name](xp, x, m), wanted, strict=True):
            _same(one, other)


def test_reductions_of_a_part_keep_all_digits(device: Device) -> None:
    """What does not count may be NaN; sums begin with any number."""
    third = Fraction(1, 3)
    x = mp.array([third, float("nan"), 1 + third], "qd", device)
    there = ~mp.isnan(x)
    exact = x.tolist()
    total = mp.sum(x, where=there, initial="0.1").item()
    assert abs(total - Fraction(1, 10) - exact[0] - exact[2]) < Fraction(1, 10**60)
    assert mp.max(x, where=there, initial=0).item() == exact[2]
    assert (
        mp.sum(x, where=there, rounding="correct").item()
        == mp.sum(x[there], rounding="correct").item()
    )
    value, error = mp.sum(x, where=there, bound=True)
    assert abs(value.item() - exact[0] - exact[2]) <= error.item()


def test_results_where_asked_for(device: Device) -> None:
    """The other elements of out stay."""
    x = mp.array(HOST, "dd", device)
    for call in (
        lambda xp, x, out, m: xp.add(x, 1, out=out, where=m),
        lambda xp, x, out, m: xp.divide(1, x, where=m, out=out),
        lambda xp, x, out, m: xp.square(x, where=m[0], out=out),
        lambda xp, x, out, m: xp.floor(x, out, where=m),
        lambda xp, x, out, m: xp.floor_divide(x, 2, out, where=m),
        lambda xp, x, out, m: xp.copysign(x, -1, out=out, where=[[True], [False]]),
    ):
        wanted = call(np, HOST, np.full((2, 3), 7.0), MASK)
        for xp in (mp, np):
            out = mp.full((2, 3), 7, "dd", device)
            assert call(xp, x, out, MASK) is out
            _same(out, wanted)
    greater = mp.zeros((2, 3), device=device, dtype=bool)
    mp.greater(x, 2, out=greater, where=MASK)
    _same(greater, (HOST > 2) & MASK)
    for xp in (mp, np):
        root = mp.zeros((2, 3), "dd", device)
        xp.sqrt(x, root)
        assert (root == mp.sqrt(x))[x > 0].all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: mp.sqrt(x, where=x > 0), ArgumentError, "sqrt: where given without out"),
        (lambda x: mp.exp(x, out=mp.zeros(2, "qd"), where=x > 0), FormatError, "out: qd"),
        (lambda x: mp.max(x, where=x > 0), ArgumentError, "max: where: given without initial"),
        (lambda x: mp.sum(x, where=[1, 0]), FormatError, "where: int64 given"),
        (lambda x: mp.sum(x, where=[True] * 3), ShapeError, r"\(3,\)"),
        (lambda x: mp.sum(x, initial=1, bound=True), ArgumentError, "initial"),
        (lambda x: mp.bitwise_or.reduce(x > 0, initial=1), ArgumentError, "initial"),
        (lambda x: mp.bitwise_or.reduce(x[:0] > 0), ShapeError, "empty"),
        (lambda x: x.item(0, 1), ShapeError, "2 indices"),
        (lambda x: x[mp.array([0.5])], IndexError, "whole"),
        (lambda x: mp.einsum(x, [0], x), ArgumentError, "list"),
        (lambda x: mp.einsum(x, [99]), ArgumentError, "99"),
        (lambda x: x.strides, AttributeError, "to_parts"),
        (lambda x: x.tobytes(), AttributeError, "portmp.save"),
        (lambda x: x.no_such_name, AttributeError, "'Array' object has no attribute"),
        (lambda x: np.linspace(x[0], 3), PortmpError, "portmp.linspace"),
        (lambda x: np.save("x.npy", x), PortmpError, "portmp.save"),
        (lambda x: np.linalg.cond(x[:, None] * x, "max"), ArgumentError, "'max'"),
        (
            lambda x: mp.linalg.solve(x.astype("float32")[:, None], np.ones(1)),
            FormatError,
            "rounds",
        ),
    ],
)
def test_refused(call: Any, error: type[Exception], words: str) -> None:
    """By name, with what is allowed."""
    with pytest.raises(error, match=words):
        call(mp.array([1.0, 2.0], "dd"))


def test_elements_and_indices(device: Device) -> None:
    """One index counts in C order; arrays of whole values are indices."""
    x = mp.array(HOST, "dd", device)
    for index in ((4,), (-1,), (1, 2), ((0, 1),)):
        assert x.item(*index) == HOST.item(*index)
    with pytest.raises(IndexError, match="6 elements"):
        x.item(6)
    order = mp.array([2, 0, -1], "dd", device)
    _same(x[:, order], HOST[:, [2, 0, -1]])
    _same(x[:, range(2)], HOST[:, :2])
    x[mp.array([1], "dd", device)] = 0
    _same(x, HOST * [[1.0], [0.0]])


def test_truth_values_are_an_array_of_their_own(device: Device) -> None:
    """Without a format; ``array`` makes masks as NumPy does."""
    for data in ([True, False], np.array([[True], [False]]), (True,), True):
        found = mp.array(data, device=device)
        assert isinstance(found, mp.PlainArray) and found.dtype == bool
        assert np.array_equal(np.asarray(found), data)
    assert mp.array([1.0], device=device, ndmin=3).shape == (1, 1, 1)


def test_sums_by_numbers_of_axes(device: Device) -> None:
    """Einstein's sums, by lists."""
    x = mp.array(HOST, "dd", device)
    for call in (
        lambda xp, x: xp.einsum(x, [0, 1], x, [2, 1], [0, 2]),
        lambda xp, x: xp.einsum(x, [1, 0]),
        lambda xp, x: xp.einsum(x, [0, 1], [0]),
        lambda xp, x: xp.einsum(x, [Ellipsis, 3], x, [Ellipsis, 3]),
    ):
        for xp in (mp, np):
            _same(call(xp, x), call(np, HOST))


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro"])
def test_condition_numbers_of_numpys_name(p: Any, device: Device) -> None:
    """In the format: the Hilbert matrix of order 3, and a stack with a singular one."""
    host = np.array([[1 / (i + j + 1) for j in range(3)] for i in range(3)])
    a = mp.array([[Fraction(1, i + j + 1) for j in range(3)] for i in range(3)], "dd", device)
    found = np.linalg.cond(a, p)
    assert found.format is a.format
    assert np.isclose(float(found), np.linalg.cond(host, p), rtol=1e-12)
    stack = mp.stack([a, mp.ones((3, 3), "dd", device)])
    both = np.linalg.cond(stack, p).to_float64()
    assert both.shape == (2,) and both[0] == float(found)
    assert np.linalg.cond(mp.zeros((0, 3, 3), "dd", device), p).shape == (0,)
    if p in (1, np.inf):
        assert abs(found.item() - 748) < Fraction(1, 10**25) and np.isinf(both[1])


def test_methods_that_change_or_choose(device: Device) -> None:
    """As NumPy's arrays have them."""
    x = mp.array([3.0, 1.0, 2.0], "dd", device)
    x.put([0, -1], [5, 7])
    _same(x, [5.0, 1.0, 7.0])
    x.partition(1)
    _same(x, [1.0, 5.0, 7.0])
    _same(x.compress([True, False, True]), [1.0, 7.0])
    _same(mp.asarray([1, 0, 1], device=device).choose([x, -x]), [-1.0, 5.0, -7.0])
    assert x.argpartition(1).tolist() == [0, 1, 2]


def test_zero_keeps_its_sign_as_a_float(device: Device) -> None:
    """Also of several limbs, whose exact number has none."""
    for form in ("float64", "dd", "qd"):
        zero = mp.array(-0.0, form, device)
        assert str(float(zero)) == "-0.0" and str(complex(zero).real) == "-0.0"


def test_formats_that_meet_in_systems(device: Device) -> None:
    """float32 beside float64 is float64, as elementwise; NumPy's arrays take the other's format."""
    a = mp.array([[2, 1], [1, 3]], "float32", device)
    b = mp.array([3, 4], "float64", device)
    for found in (
        mp.linalg.solve(a, b),
        mp.linalg.lstsq(a, b).x,
        mp.linalg.solve(b * mp.eye(2, dtype="float64"), a),
    ):
        assert found.format.name == "float64"
    assert mp.linalg.solve(np.eye(2), b.astype("qd")).format.name == "qd"
    lower = mp.linalg.solve_triangular(a, b, lower=True)
    assert lower.format.name == "float64" and lower.tolist() == [1.5, 2.5 / 3]


LISTS: tuple[Callable[[Any], Any], ...] = (
    lambda xp: xp.unique([2.0, 1.0, 2.0]),
    lambda xp: xp.tile([1.0, 2.0], 3),
    lambda xp: xp.zeros_like([[1.0, 2.0]]),
    lambda xp: xp.full_like([1.0], 7.0),
    lambda xp: xp.vstack([[1.0, 2.0], [3.0, 4.0]]),
    lambda xp: xp.hstack([[1.0], [3.0, 4.0]]),
    lambda xp: xp.column_stack([[1.0, 2.0], [3.0, 4.0]]),
    lambda xp: xp.stack([1.0, 2.0, 3.0]),
    lambda xp: xp.stack([[1.0], [2.0]], axis=1),
    lambda xp: xp.concatenate([[1.0], [2.0, 3.0]]),
    lambda xp: xp.triu([[1.0, 2.0], [3.0, 4.0]]),
    lambda xp: xp.trace([[1.0, 2.0], [3.0, 4.0]]),
    lambda xp: xp.diag([1.0, 2.0], 1),
    lambda xp: xp.roll([1.0, 2.0, 3.0], 1),
    lambda xp: xp.flip([1.0, 2.0]),
    lambda xp: xp.repeat([1.0, 2.0], [1, 2]),
    lambda xp: xp.take([1.0, 2.0, 4.0], [2, 0]),
    lambda xp: xp.squeeze([[1.0, 2.0]]),
    lambda xp: xp.expand_dims([1.0, 2.0], 0),
    lambda xp: xp.moveaxis([[1.0, 2.0]], 0, 1),
    lambda xp: xp.reshape([1.0, 2.0], (2, 1)),
    lambda xp: xp.rot90([[1.0, 2.0], [3.0, 4.0]]),
    lambda xp: xp.kron([1.0, 2.0], [1.0, 3.0]),
    lambda xp: xp.inner([1.0, 2.0], [1.0, 3.0]),
    lambda xp: xp.cross([1.0, 2.0, 3.0], [1.0, 0.0, 2.0]),
    lambda xp: xp.cross([[1.0, 2, 3]], [[1.0], [0], [2]], axisb=0, axisc=0),
    lambda xp: xp.cross([[1.0], [2], [3]], [[1.0], [0], [2]], axis=0),
    lambda xp: xp.cross([[1.0], [2], [3]], [[1.0, 0, 2]], 0, 1),
    lambda xp: xp.take([1.0, 2.0, 4.0], [[2, 7, -9]], mode="clip"),
    lambda xp: xp.take([[1.0, 2.0], [4.0, 8.0]], np.array([3, -4], np.int8), 1, mode="wrap"),
    lambda xp: xp.take([1.0, 2.0, 4.0], -1, mode="clip"),
    lambda xp: xp.polyval([1.0, 0.0, 2.0], 3.0),
    lambda xp: xp.polyval([1.0, 0.0, 2.0], [1.0, 2.0]),
    lambda xp: xp.maximum(1, [0.0, 2.0]),
    lambda xp: xp.power(2.0, [1.0, 3.0]),
    lambda xp: xp.trapezoid([1.0, 3.0], [0.0, 2.0]),
    lambda xp: xp.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0])[1],
    lambda xp: xp.split([1.0, 2.0, 3.0, 4.0], [1, 3])[1],
    lambda xp: xp.split([1.0, 2.0, 3.0, 4.0], np.array([1, 3]))[2],
    lambda xp: xp.broadcast_arrays([1.0, 2.0], [[1.0], [2.0]])[0],
    lambda xp: xp.average([1.0, 3.0], weights=[1.0, 3.0]),
    lambda xp: xp.linalg.matrix_norm([[3.0, 4.0]]),
    lambda xp: xp.linalg.vector_norm([3.0, 4.0]),
    lambda xp: xp.sort(xp.roots([1.0, -3.0, 2.0]).real),
    lambda xp: xp.isclose([1.0, 2.0], [1.0, 3.0]),
)


INSERTED = [8.0, 1.0, 2.0, 16.0, 4.0]
"""What a mask of two truths inserts: of newer NumPys."""


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="has functions that NumPy 2 brought"
)
def test_lists_are_taken(device: Device) -> None:
    """Where NumPy takes them; numbers in them are exact."""
    with mp.device(device.name):
        for call in LISTS:
            _same(call(mp), call(np))
        _same(mp.insert([1.0, 2.0, 4.0], ROW, [8.0, 16.0]), INSERTED)


def test_places_and_pairs() -> None:
    """By lists of truth values as by arrays, into ``out``; else one error of portmp's."""
    x = mp.array([1, 2, 4], "dd", "host")
    _same(mp.insert(x, [True, False, True], 9), [9, 1, 2, 9, 4])
    _same(mp.insert(x[None], mp.asarray(ROW, device="host"), 9, axis=1), [[9, 1, 2, 9, 4]])
    out = mp.zeros(2, "dd", "host")
    assert mp.take(x, [0, 5], out=out, mode="clip") is out
    _same(out, [1, 4])
    assert x.take([2, 0], None, out) is out
    _same(np.take(x, [5, 3], mode="wrap"), [4, 1])
    factors = mp.array([[2, 0], [0.5, 4]], "dd", "host"), np.array([1, 1])
    _same(mp.linalg.lu_solve(factors, x[1:]), [2, 0])
    for error, words, call in (
        (PlaceError, r"shape \(2,\)", lambda: mp.insert(x, [True, False], 9)),
        (PlaceError, r"shape \(\)", lambda: mp.insert(x, True, 9)),
        (ArgumentError, "mode: 'up' given", lambda: mp.take(x, 0, mode="up")),
        (PlaceError, "whole", lambda: mp.take(x, [0.5], mode="clip")),
        (PlaceError, "out of range", lambda: mp.take(x[:0], [1], mode="wrap")),
        (ShapeError, "shape", lambda: mp.take(x, [0], out=out)),
        (ShapeError, r"\(2,\)", lambda: mp.var(x, mean=[1, 2])),
        (AxisError, "5 given", lambda: mp.cross(x, x, axisa=5)),
        (ArgumentError, "NoneType given, a pair", lambda: mp.linalg.lu_solve(None, x)),
        (ArgumentError, "tuple given, a pair", lambda: mp.linalg.lu_solve((x, x, x), x)),
    ):
        with pytest.raises(error, match=words):
            call()


def test_what_is_no_array_is_refused() -> None:
    """With the argument's name, in every function that changes or joins arrays."""
    for call in (
        lambda: mp.put([1.0], [0], 1),
        lambda: mp.copyto([1.0], 2),
        lambda: mp.fill_diagonal([[1.0]], 2),
        lambda: mp.exp(1.0, out=[0.0]),
        lambda: mp.sum([1.0], out=[0.0]),
        lambda: mp.stack([[1.0], [2.0]], out=3),
        lambda: mp.concat(2.5),
        lambda: mp.vstack(None),
        lambda: mp.diag([1.0], "a"),
        lambda: mp.trim_zeros([1.0], 2),
        lambda: mp.triu({}),
    ):
        with pytest.raises(ArgumentError, match=r"needed|allowed"):
            call()
