"""Schedules change speed, never bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import portmp as mp
from portmp import formats, inputs, tuning
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.tuning import GemmSchedule, ReduceSchedule

FORMATS = ("float32", "dd", "qs", "d+s")
GEMM = (
    GemmSchedule(4, 4, 1, 1, 8),
    GemmSchedule(2, 8, 2, 3, 16, pad=1),
    GemmSchedule(8, 2, 1, 2, 64, split=True),
    GemmSchedule(1, 1, 3, 1, 32, width=4),
    GemmSchedule(2, 2, 1, 1, 8, width=2, split=True),
)
REDUCE = (
    ReduceSchedule(1, 1),
    ReduceSchedule(3, 1, rows_fastest=True, combine_threads=32),
    ReduceSchedule(2, 4, combine_threads=128),
    ReduceSchedule(1, 8, rows_fastest=True),
)


def _bits(result: mp.Array) -> list[bytes]:
    return [plane.tobytes() for plane in result.to_limbs()]


def _array(name: str, shape: tuple[int, ...], seed: str, device: Device) -> mp.Array:
    form = formats.get(name)
    return mp.from_limbs(inputs.ordinary(form, shape, seed), form, device)


@pytest.mark.parametrize("name", FORMATS)
def test_gemm(device: Device, name: str) -> None:
    """Tiles, results a thread, vectors, padding, slabs shared by blocks: one result."""
    a = _array(name, (5, 2100), "a", device)
    b = _array(name, (2100, 7), "b", device)
    c = _array(name, (5, 7), "c", device)
    usual = _bits(mp.gemm(a, b, alpha="0.1", beta=3, c=c))
    for schedule in GEMM:
        got = mp.gemm(a, b, alpha="0.1", beta=3, c=c, schedule=schedule)
        assert _bits(got) == usual, schedule


@pytest.mark.parametrize("name", FORMATS)
def test_gemv_and_dot(device: Device, name: str) -> None:
    """Rows a block, vectors, which index runs fastest: one result."""
    a = _array(name, (5, 8300), "a", device)
    x = _array(name, (8300,), "x", device)
    usual = _bits(mp.gemv(a, x)), _bits(mp.dot(a[0], x))
    for schedule in REDUCE:
        got = _bits(mp.gemv(a, x, schedule=schedule)), _bits(mp.dot(a[0], x, schedule=schedule))
        assert got == usual, schedule


def test_dot_is_gemv_with_one_row(device: Device) -> None:
    """One definition for both."""
    a = _array("td", (3, 500), "a", device)
    x = _array("td", (500,), "x", device)
    rows = mp.gemv(a, x).to_limbs()
    one = mp.dot(a[1], x).to_limbs()
    assert all(np.array_equal(r[1], o) for r, o in zip(rows, one, strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tile_k": 24}, r"tile_k 24 does not divide 256"),
        ({"threads_m": 4096, "threads_n": 4096}, r"threads a block, .* allows \d+"),
        ({"thread_m": 10**6}, r"\d+ bytes of shared memory, .* has \d+"),
    ],
)
def test_schedules_that_do_not_fit_are_refused(
    device: Device, change: dict[str, int], message: str
) -> None:
    """With the numbers."""
    a = _array("dd", (2, 2), "a", device)
    with pytest.raises(ArgumentError, match=message):
        mp.gemm(a, a, schedule=replace(tuning.gpu_gemm(a.format), **change))
