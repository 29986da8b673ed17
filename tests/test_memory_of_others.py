"""What would read or write memory beside an array, or memory that nobody set: refused, or right."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tiers

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, PortmpError, ShapeError

pytestmark = pytest.mark.with_host


@pytest.mark.parametrize("shape", [(-1,), (-2, -2), (2, -3), (0, -1)])
def test_negative_lengths(every_device: Device, shape: tuple[int, ...]) -> None:
    """No array is shown as one of a negative length."""
    one = mp.ones(1, "float64", every_device)
    for call in (mp.broadcast_to, np.broadcast_to):
        with pytest.raises(ShapeError, match="cannot be negative"):
            call(one, shape)


def test_the_other_byte_order(every_device: Device) -> None:
    """Numbers are taken by their values, also where planes are given as they lie in memory."""
    x, i = np.array([1.0, 2.5, -3.0]), np.arange(4)
    planes = [x.astype(">f8"), (x * 0).astype(">f8")]
    assert mp.from_parts(planes, "dd", every_device).tolist() == x.tolist()
    for made in (mp.plain_array(i.astype(">i8"), None, every_device), mp.asarray(i.astype(">i4"))):
        assert made.tolist() == i.tolist()


def test_sparse_patterns_stay(every_device: Device) -> None:
    """What kernels read by indices is nobody's to change; elements are as many as before."""
    data = mp.arange(3, dtype="float64", device=every_device) + 1
    m = mp.sparse.csr_array((data, [0, 1, 2], [0, 1, 2, 3]), shape=(3, 3))
    x = mp.arange(3, dtype="float64", device=every_device)
    m.indices[1] = 1000
    m.indptr[1] = 1000
    assert (m @ x).tolist() == [0, 2, 6]
    for wrong in (mp.full(1, 5.0, "float64", every_device), [1, 2, 3], mp.ones((3, 1), "float64")):
        with pytest.raises(ArgumentError, match=r"data: .* an Array of shape \(3,\) is needed"):
            m.data = wrong
    m.data = (mp.arange(6, dtype="float64", device=every_device) * 2)[::2]
    assert (m @ x).tolist() == [0, 4, 16]
    m.data[1] = 7
    assert (m @ x).tolist() == [0, 7, 16]


@pytest.mark.parametrize("form", ["dd", "int64"])
def test_no_values_for_a_mask(every_device: Device, form: str) -> None:
    """Places without values are an error, and keep what they had; no place needs none."""
    a = mp.full(5, 3, dtype=form, device=every_device)
    mask = mp.asarray([True, False, True, False, True], device=every_device)
    for shape in ((0,), (0, 1), (1, 0)):
        with pytest.raises(PortmpError):
            a[mask] = mp.zeros(shape, dtype=form, device=every_device)
    a[mp.zeros(5, dtype="bool", device=every_device)] = mp.zeros(0, dtype=form, device=every_device)
    assert [int(x) for x in a.tolist()] == [3] * 5


@pytest.mark.parametrize("of", [2, 255])
def test_any_byte_but_0_is_true(every_device: Device, of: int) -> None:
    """Of truth values that NumPy views in bytes, and of those that nobody set."""
    raw = np.array([of, 0, 3, 0, 1], "uint8").view(bool)
    truths = [True, False, True, False, True]
    mask, usual = (mp.plain_array(x, "bool", every_device) for x in (raw, np.array(truths)))
    a = mp.arange(5, dtype="dd", device=every_device)
    found: list[Any] = [
        mp.count_nonzero(mask), mp.sum(mask), mask.astype("int64"), mp.nonzero(mask)[0],
        mask.astype("dd"), mp.equal(mask, usual), mp.logical_xor(mask, usual), a[mask],
        mp.where(mask, a, -a), mp.sort(mask), mp.argmax(mask), mask & usual, ~mask,
        mp.cumulative_sum(mask.astype("int32")), mask.any(), mask.all(), mask,
    ]  # fmt: skip
    wanted: list[Any] = [
        3, 3, [1, 0, 1, 0, 1], [0, 2, 4], [1, 0, 1, 0, 1], [True] * 5, [False] * 5, [0, 2, 4],
        [0, -1, 2, -3, 4], sorted(truths), 0, truths, [not x for x in truths],
        [1, 1, 2, 2, 3], True, False, truths,
    ]  # fmt: skip
    assert found.tolist() == mp.linalg.eigvals(mp.asarray(a)).tolist()
