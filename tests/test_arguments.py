"""What is asked for, and cannot be, is refused in portmp's words; nothing is lost without one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, OutOfMemory, PlaceError

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


def test_memory_beyond_addresses(device: Device) -> None:
    """Sizes whose last 64 bits are small."""
    x = mp.array([1.0], device=device)
    ways: list[Callable[[], Any]] = [
        lambda: mp.arange(2**61, device=device),
        lambda: mp.linspace(0, 1, 2**62, device=device),
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
        lambda: mp.putmask(b, b > 1, [1]),
        lambda: mp.place(b, b > 1, [1]),
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
    for bad in ("a", [0.5], mp.array([0.5])):
        for what, way in (("put: ind", mp.put), ("insert: obj", mp.insert)):
            with pytest.raises(PlaceError, match=f"^{what}: "):
                way(x, bad, 1)
        with pytest.raises(PlaceError, match=r"^delete: obj: "):
            mp.delete(x, bad)
