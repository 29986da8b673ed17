"""Random shapes, views, keys and values: portmp beside NumPy's objects and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import portmp as mp
from portmp.backends.base import Device

steady = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
NUMBERS = st.fractions(min_value=-8, max_value=8, max_denominator=64)
"""Exact in every format with room for their sums, but for quotients."""


@st.composite
def tables(draw: st.DrawFn, shape: Any = SHAPES) -> np.ndarray[Any, Any]:
    """NumPy arrays of Fractions with binary denominators, exact in dd."""
    sizes = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    size = int(np.prod(sizes))
    values = draw(st.lists(st.integers(-999, 999), min_size=size, max_size=size))
    made = np.empty(size, object)
    made[:] = [Fraction(v, 64) for v in values]
    return made.reshape(sizes)


def _array(table: np.ndarray[Any, Any], device: Device) -> Any:
    return mp.array(table.tolist(), "dd", device).reshape(table.shape)


def _exact(x: Any) -> np.ndarray[Any, Any]:
    found = np.empty(x.size, object)
    found[:] = x.reshape(-1).tolist()
    return found.reshape(x.shape)


def _agree(found: Any, expected: Any) -> None:
    wanted = np.asarray(expected, object)
    assert found.shape == wanted.shape
    assert np.array_equal(_exact(found), wanted)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Indices of all kinds: integers, slices, None, ..., lists, arrays and truth values."""
    if draw(st.booleans()):
        return draw(hnp.basic_indices(shape, allow_newaxis=True))
    if draw(st.booleans()):
        return draw(hnp.arrays(np.bool_, shape))
    assume(0 not in shape)
    result = hnp.array_shapes(min_dims=1, max_dims=2, max_side=3)
    return draw(hnp.integer_array_indices(shape, result_shape=result))


@steady
@given(data=st.data())
def test_indexing(device: Device, data: st.DataObject) -> None:
    """What a key gives, and what an assignment by it leaves."""
    table = data.draw(tables())
    key = data.draw(keys(table.shape))
    x = _array(table, device)
    expected = table[key]
    found = x[key]
    _agree(found, expected)
    shape = np.shape(expected)
    value = data.draw(tables(st.sampled_from([shape, shape[1:], ()])))
    if isinstance(key, np.ndarray) or (
        isinstance(key, tuple) and any(isinstance(k, np.ndarray) for k in key)
    ):
        on_device = mp.asarray(key, device=device) if isinstance(key, np.ndarray) else key
        _agree(x[on_device], expected)
    table[key] = value if value.shape else value.item()
    x[key] = _array(value, device) if value.size else 0
    _agree(x, table)


@steady
@given(data=st.data())
def test_views_and_in_place(device: Device, data: st.DataObject) -> None:
    """Views of views, changed in place, change what they are views of."""
    table = data.draw(tables(hnp.array_shapes(min_dims=2, max_dims=3, max_side=4)))
    x = _array(table, device)
    key = data.draw(hnp.basic_indices(table.shape, allow_newaxis=False, allow_ellipsis=False))
    view, own = table[key], x[key]
    assume(np.ndim(view) > 0)
    operation = data.draw(st.sampled_from(["add", "sub", "mul"]))
    number = data.draw(NUMBERS.filter(lambda f: f.denominator in (1, 2, 4, 8)))
    other = view[..., ::-1] if operation == "add" and view.ndim else number
    theirs = own[..., ::-1] if operation == "add" and view.ndim else number
    if operation == "add":
        view[...] = view + other
        own += theirs
    elif operation == "sub":
        view[...] = view - number
        own -= number
    else:
        view[...] = view * number
        own *= number
    _agree(x, table)


@steady
@given(data=st.data())
def test_broadcasting(device: Device, data: st.DataObject) -> None:
    """Operators on shapes that broadcast, beside exact arithmetic."""
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    a, b = (data.draw(tables(s)) for s in shapes.input_shapes)
    x, y = _array(a, device), _array(b, device)
    for found, expected in ((x + y, a + b), (x - y, a - b), (x * y, a * b)):
        _agree(found, np.broadcast_to(expected, shapes.result_shape))
    for found, answer in ((x < y, a < b), (x == y, a == b), (x >= y, a >= b)):
        assert found.tolist() == np.broadcast_to(answer, shapes.result_shape).astype(bool).tolist()


@steady
@given(data=st.data())
def test_reductions(device: Device, data: st.DataObject) -> None:
    """Sums, extrema, counts, running sums along random axes, with and without their axes kept."""
    table = data.draw(tables(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)))
    x = _array(table, device)
    axis = data.draw(st.none() | hnp.valid_tuple_axes(table.ndim, min_size=1))
    keep = data.draw(st.booleans())
    if data.draw(st.booleans()):
        x, table = x.T, table.T
    _agree(mp.sum(x, axis=axis, keepdims=keep), np.sum(table, axis=axis, keepdims=keep))
    _agree(mp.max(x, axis=axis, keepdims=keep), np.max(table, axis=axis, keepdims=keep))
    _agree(mp.min(x, axis=axis, keepdims=keep), np.min(table, axis=axis, keepdims=keep))
    one = data.draw(st.integers(-table.ndim, table.ndim - 1))
    _agree(mp.cumulative_sum(x, axis=one), np.cumsum(table, axis=one))
    places = mp.argmax(x, axis=one)
    assert places.tolist() == np.argmax(table, axis=one).tolist()
    found = mp.mean(x, axis=one)
    count = table.shape[one]
    exact = np.asarray(np.sum(table, axis=one), object).ravel()
    for value, total in zip(found.reshape(-1).tolist(), exact, strict=True):
        assert abs(value - total / count) <= abs(total) * Fraction(1, 2**100)


@steady
@given(data=st.data())
def test_sorting(device: Device, data: st.DataObject) -> None:
    """Orders are stable; searching and sets agree with them."""
    table = data.draw(tables(hnp.array_shapes(min_dims=1, max_dims=2, max_side=40)))
    table = np.vectorize(lambda f: Fraction(int(f * 4) % 7, 4), otypes=[object])(table)
    x = _array(table, device)
    axis = data.draw(st.integers(-table.ndim, table.ndim - 1))
    _agree(mp.sort(x, axis=axis), np.sort(table, axis=axis))
    order = mp.argsort(x, axis=axis)
    assert order.tolist() == np.argsort(table, axis=axis, kind="stable").tolist()
    _agree(mp.take_along_axis(x, order, axis=axis), np.sort(table, axis=axis))
    values, counts = np.unique(table.astype(float), return_counts=True)
    found = mp.unique_counts(x)
    assert found.values.to_float64().tolist() == values.tolist()
    assert found.counts.tolist() == counts.tolist()
    known = mp.sort(x.reshape(-1))
    for side in ("left", "right"):
        places = np.searchsorted(np.sort(table.astype(float).ravel()), values, side=side)
        assert mp.searchsorted(known, found.values, side=side).tolist() == places.tolist()


@steady
@given(data=st.data())
def test_arrangements(device: Device, data: st.DataObject) -> None:
    """Joining, rolling, repeating, tiling and splitting."""
    table = data.draw(tables(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3)))
    x = _array(table, device)
    axis = data.draw(st.integers(-table.ndim, table.ndim - 1))
    shift = data.draw(st.integers(-5, 5))
    _agree(mp.roll(x, shift, axis=axis), np.roll(table, shift, axis=axis))
    _agree(mp.roll(x, shift), np.roll(table, shift))
    _agree(mp.concat([x, x[::-1]], axis=axis), np.concatenate([table, table[::-1]], axis=axis))
    _agree(mp.stack([x, x], axis=axis), np.stack([table, table], axis=axis))
    _agree(mp.flip(x, axis=axis), np.flip(table, axis=axis))
    count = data.draw(st.integers(0, 3))
    _agree(mp.repeat(x, count, axis=axis), np.repeat(table, count, axis=axis))
    _agree(mp.tile(x, (count, 2)), np.tile(table, (count, 2)))
    cut = data.draw(st.integers(1, 4))
    for found, expected in zip(
        mp.array_split(x, cut, axis), np.array_split(table, cut, axis), strict=True
    ):
        _agree(found, expected)


WHOLE = st.integers(-(2**63), 2**63 - 1)


@steady
@given(data=st.data())
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
def test_integers(dtype: str, device: Device, data: st.DataObject) -> None:
    """Operators on integers wrap around, shift, divide and compare as NumPy's do."""
    elements = hnp.from_dtype(np.dtype(dtype))
    a, b = (data.draw(hnp.arrays(dtype, 4, elements=elements)) for _ in range(2))
    x, y = mp.asarray(a, device=device), mp.asarray(b, device=device)
    with np.errstate(all="ignore"):
        pairs = [(x + y, a + b), (x * y, a * b), (x - y, a - b), (x & y, a & b), (x ^ y, a ^ b)]
        pairs += [(x // y, a // b), (x % y, a % b), (~x, ~a), (-x, -a), (x < y, a < b)]
        pairs += [(x >> (y & 7), a >> (b & 7)), (mp.sum(x), np.sum(a)), (mp.abs(x), np.abs(a))]
    for found, expected in pairs:
        assert found.to_numpy().tolist() == expected.tolist()
        assert found.dtype == expected.dtype


@steady
@given(values=st.lists(WHOLE, min_size=1, max_size=5))
@pytest.mark.parametrize("form", ["float64", "dd", "qs"])
def test_integers_as_values(form: str, values: list[int], device: Device) -> None:
    """There rounded once, and back exactly where nothing was rounded; cut at the ends."""
    x = mp.asarray(values, dtype="int64", device=device)
    there = x.astype(form)
    assert there.to_parts()[0].dtype == there.format.dtype(0)
    assert there.tolist() == mp.array([Fraction(v) for v in values], form, device).tolist()
    back = there.astype("int64")
    cut = [min(max(int(Fraction(v)), -(2**63)), 2**63 - 1) for v in there.tolist()]
    assert back.tolist() == cut
