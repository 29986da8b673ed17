"""Arguments of arrays on several devices: what one device takes gives the same, what it refuses is
refused by the same sentence, and nothing is left out silently.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_distributed import HOST, LAYOUTS, check_same, drawn, team

import portmp as mp
from portmp import linalg
from portmp.errors import (
    ArgumentError,
    AxisError,
    FormatError,
    OutOfMemory,
    PlaceError,
    PortmpError,
    ShapeError,
)

TEAM = team(3)


def cut(x: Any, layout: Any = None) -> Any:
    """An array on three devices."""
    return mp.shard(x, TEAM, layout)


def both(call: Callable[..., Any], *arrays: Any, layout: Any = None, options: Any = None) -> None:
    """Of arrays that are cut up a call gives what it gives of those of one device."""
    named = options or {}
    check_same(call(*[cut(x, layout) for x in arrays], **named), call(*arrays, **named))


EMPTY = mp.zeros((3, 0), "dd", HOST), mp.zeros((0, 3), "qd", HOST)


def test_elements_of_any_kind_are_taken() -> None:
    """An element in any place may need another format, and so may integers and truth values."""
    given: list[Any] = [np.array([1, 2, 1 + 2j, 3], object), np.array(["1", "2", "1j", "4"])]
    for one in given:
        check_same(cut(one), mp.array(one, device=HOST))
    numbers, truths = mp.array([1, -2, 3, 4, 5], "int32"), drawn((5,)) > 0
    both(lambda x: x.astype("dd"), numbers)
    both(lambda x: mp.astype(x, "qd"), truths)
    both(mp.fft.fft, numbers)
    check_same(mp.shard(cut(numbers), TEAM, format="td"), numbers.astype("td"))
    for value in ([[5], [6]], "0.1", mp.array([5, 6], "qd"), True, 1j, np.arange(2)):
        for form in ("cdd", None):
            found = mp.distributed.full((2, 2), value, form, devices=TEAM)
            check_same(found, mp.full((2, 2), value, form))


@pytest.mark.parametrize("layout", [LAYOUTS[0], LAYOUTS[1], LAYOUTS[2]], ids=repr)
def test_reductions_take_what_they_take(layout: Any) -> None:
    """Axes, lengths of 0 and 1, a number to begin with."""
    truths, x = drawn((7, 4)) > 0, drawn((7, 4))
    for axis, keepdims in itertools.product((None, 0, 1, (0, 1)), (False, True)):
        named = {"axis": axis, "keepdims": keepdims}
        both(mp.all, truths, layout=layout, options=named)
        both(mp.any, truths, layout=layout, options=named)
        both(mp.max, x, layout=layout, options={**named, "initial": 1})
        both(mp.sum, x, layout=layout, options={**named, "initial": "0.1"})
        if axis in (0, 1):
            for empty, call in itertools.product(EMPTY, (mp.sum, mp.prod, mp.var)):
                both(call, empty, layout=layout, options=named)
    both(linalg.norm, EMPTY[0], layout=layout)
    both(mp.var, x[:1, 0], layout=layout)
    both(mp.std, x[:1, 0], layout=layout)


def test_numbers_of_shape_nothing() -> None:
    """Arrays of shape () are numbers, wherever their device is."""
    x = drawn((6,))
    a = mp.ones((3, 3), "dd")
    both(lambda x: mp.axpy(x.sum(), x, x), x)
    both(lambda x: mp.scal(x.max(), x), x)
    both(lambda a, x: mp.gemm(a, a, alpha=x.sum(), beta=x.max(), c=a), a, x)
    both(lambda x: mp.scal(2, x=x), x)
    both(lambda x: mp.prod(x, initial=x.sum()), x)
    both(mp.nrm2, x.sum())
    both(lambda x: x[()], x.sum())
    assert cut(x).item(-1) == x.item(-1)
    row = mp.array([[10]], "dd", x.device)
    for mine in (cut(x), cut(x, LAYOUTS[2])):
        check_same(mine > row, x > row)
        check_same((mine + row).sum(rounding="correct"), (x + row).sum(rounding="correct"))


@pytest.mark.parametrize(
    "other", [None, "x", object(), 2, "2", np.float64(2), 2 + 0j], ids=lambda x: type(x).__name__
)
def test_equal_to_anything(other: Any) -> None:
    """What is no number differs from all elements."""
    x = mp.array([1, 2, 3], "dd", TEAM[0])
    both(lambda x: x == other, x)
    both(lambda x: x != other, x)
    assert (other in cut(x)) == (other in x)


@pytest.mark.parametrize("smallest", [None, 1, 6, 100])
def test_methods_of_complex_products(smallest: int | None) -> None:
    """A part is one real product where the whole is."""
    a, b = (drawn(shape).astype("cdd") * mp.array(1 + 2j, "cdd") for shape in ((5, 3), (3, 4)))
    both(mp.gemm, a, b, options={"method": mp.ozaki.Auto(smallest=smallest)})


@pytest.mark.parametrize("form", ["cdd", "complex64"])
@pytest.mark.parametrize("size", [1, 2, 7, 9001])
def test_complex_vectors(form: str, size: int) -> None:
    """Products and norms of complex vectors, in chunks that lie on several devices."""
    real = mp.float32 if form == "complex64" else mp.dd
    x = mp.astype(drawn((size,), real.name), form) * mp.array(1 + 2j, form)
    both(lambda x: x @ x, x)
    both(mp.nrm2, x)
    both(mp.nrm2, x, layout=mp.Rows(5))


def test_ranks_and_places_of_results() -> None:
    """matrix_rank gathers; out and where are looked at."""
    a, x = drawn((5, 4)), drawn((7,))
    both(linalg.matrix_rank, a)
    both(lambda a: linalg.inv(a=a), a[:4])
    both(linalg.inv, mp.array([[1, 2], [3, 5]], "int64", TEAM[0]))
    for mask in (False, x > 0):
        out = cut(x.copy())
        there = mask if mask is False else cut(mask)
        assert mp.add(cut(x), 1, out=out, where=there) is out
        check_same(out, mp.add(x, 1, out=x.copy(), where=mask))


A, V = mp.ones((3, 3), "dd", HOST), mp.ones((3,), "dd", HOST)
SEVEN = mp.ones((7,), "dd", HOST)
NONE = mp.zeros((0, 3), "dd", HOST)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[PortmpError], str]] = {
    "c": (lambda on: mp.gemm(on(A), on(A), c=on(A[:1]), beta=1), ShapeError, r"c.*\(3, 3\)"),
    "c 1": (lambda on: mp.gemm(on(A), on(A), c=1, beta=1), ArgumentError, "c: int given"),
    "y": (lambda on: mp.gemv(on(A), on(V), y=on(A), beta=1), ShapeError, r"y: shape \(3, 3\)"),
    "alpha": (lambda on: mp.gemm(on(A), on(A), alpha=on(V)), ShapeError, "alpha: one number"),
    "alpha 2": (lambda on: mp.axpy(V.astype("qd").sum(), on(V), on(V)), FormatError, "alpha: "),
    "beta": (lambda on: mp.gemm(on(NONE), on(A), beta=2), ShapeError, "c is missing"),
    "method": (lambda on: mp.gemm(on(NONE), on(A), method="foo"), ArgumentError, "method: 'foo'"),
    "vector": (lambda on: mp.gemm(on(A), on(V)), ShapeError, "cannot be multiplied"),
    "formats": (lambda on: mp.dot(on(V), on(V.astype("qd"))), FormatError, "y: format qd, x has"),
    "add": (lambda on: on(A) + on(SEVEN), ShapeError, "operands of add: .*not broadcast"),
    "axpy": (lambda on: mp.axpy(2, on(A), on(SEVEN)), ShapeError, "operands of axpy"),
    "out": (lambda on: mp.add(on(V), 1, out=on(V[:1].copy())), ShapeError, r"out: shape \(1,\)"),
    "axis": (lambda on: mp.all(on(A), axis=99), AxisError, "99"),
    "max": (lambda on: on(NONE).max(0), ShapeError, "max: an empty array"),
    "item": (lambda on: on(V).item(99), PlaceError, "99"),
    "items": (lambda on: on(V).item(), ShapeError, "item: one element"),
    "index": (lambda on: on(V.sum())[0], PlaceError, "index"),
    "reshape": (lambda on: on(V).reshape(3.0), ArgumentError, "reshape"),
    "fft": (lambda on: mp.fft.fft(on(A), axis=None), ArgumentError, "axis: None"),
    "rounding": (lambda on: on(V).astype("td", rounding="up"), ArgumentError, "rounding: 'up'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_on_one_device(name: str) -> None:
    """Both refuse it, by the same class."""
    call, error, sentence = REFUSED[name]
    with pytest.raises(error, match=sentence):
        call(cut)
    if name != "alpha 2":
        with pytest.raises(error):
            call(lambda x: x)


def test_what_is_made_on_several_devices_is_refused_clearly() -> None:
    """Shapes, random formats without a definition, and results that fit no device."""
    rng = mp.random.default_rng(1)
    v = cut(V)
    calls: list[Callable[[], Any]] = [
        lambda: mp.where(v > 0),
        lambda: mp.modf(v, out=(v, v)),
        lambda: mp.add(1, 2, out=v),
        lambda: mp.dot(v, v, out=v),
        lambda: v @ v.astype("cdd"),
        lambda: mp.nbody.acceleration(cut(A), v, targets=v),
        *(lambda other=other: v + other for other in (range(3), [1, [2]], [1, 2, 3])),
    ]
    for call in calls:
        with pytest.raises(PortmpError, match=r"on 3 devices|out: shape"):
            call()
    with pytest.raises(FormatError, match="format: cqd given"):
        mp.distributed.standard_normal(rng, (3,), "cqd", devices=TEAM)
    with pytest.raises(ShapeError, match=r"shape \(2,\) cannot be broadcast to \(4,\)"):
        mp.distributed.full((4,), [5, 6], devices=TEAM)
    assert mp.BlockCyclic(*np.array([2, 1, 3])) == mp.BlockCyclic(2, 1, 3)
    column = cut(mp.ones((10**7, 1), "dd"))
    for call in (lambda: column @ column.T, lambda: column * column.T):
        with pytest.raises(OutOfMemory, match=r"takes \d+ bytes.*Rows\(\) on \d+ devices"):
            call()
