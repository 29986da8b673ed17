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
    assert [x.tolist() for x in found] == wanted
    unset = mp.empty(1000, dtype="bool", device=every_device)
    count = int(mp.count_nonzero(unset))
    assert 0 <= count <= 1000 and mp.nonzero(unset)[0].shape == (count,)


@pytest.mark.parametrize(("kind", "n"), [("int8", 300), ("uint8", 300), ("int16", 40000)])
def test_short_indices_of_long_axes(every_device: Device, kind: str, n: int) -> None:
    """Indices mean what they mean in 64 bits."""
    a = mp.arange(n, dtype="float64", device=every_device)
    given = np.array([1, 2, -3] if kind != "uint8" else [1, 2, 3], kind)
    assert a[given].tolist() == [float(i % n) for i in given.astype(int)]
    a[given] = 5.0
    assert a[given.astype(int)].tolist() == [5.0] * 3


@pytest.mark.parametrize("counts", [[2**63 - 1, 2**63 - 1, 5], [2**62, 2**62, 2**63 - 1]])
def test_repetitions_beyond_64_bits(every_device: Device, counts: list[int]) -> None:
    """Their sum is none of the 64 bits that are left of it."""
    a = mp.arange(3, dtype="float64", device=every_device)
    with pytest.raises(ArgumentError, match="too many"):
        mp.repeat(a, mp.asarray(np.array(counts), device=every_device))


def test_threads_that_set_columns(every_device: Device) -> None:
    """Each writes its elements alone: none is lost."""
    for n in (8, 200):
        sources = [mp.full(n, 1 + c, "float64", every_device) for c in (0, 1)]
        for _ in range(20):
            a = mp.zeros((n, 2), "float64", every_device)
            start = threading.Barrier(2)

            def work(
                c: int, a: Any = a, start: threading.Barrier = start, given: Any = sources
            ) -> None:
                start.wait()
                a[:, c] = given[c]

            threads = [threading.Thread(target=work, args=(c,)) for c in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert a.tolist() == [[1, 2]] * n


def test_spectra_are_checked() -> None:
    """Threads of the kernel that reduces a matrix to a triangle wait for each other's reads."""
    tiers.check("oclgrind")
    a = np.eye(3) * 3 + 1 / (1 + np.arange(3)[:, None] + np.arange(3))
    found = mp.linalg.eigvals(mp.asarray(a, device="oclgrind"))
    assert found.tolist() == mp.linalg.eigvals(mp.asarray(a)).tolist()
