"""Conversions between all formats: one rounding of the exact value, on devices and on the host."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from slow import first_device, mostly_slow, on_one_device, slow

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format, convert, encode
from portmp.routines.conversions import reference
from portmp.routines.conversions import routine as cases
from portmp.runtime import planes
from portmp.runtime.planes import Host

ALL = [formats.get(name) for name in (*formats.NAMES, *formats.STORED)]


def expected(source: Format, target: Format, x: Host) -> Host:
    """By definition, number by number: limbs of the same encodings stay, others are rounded."""
    zeros = [np.zeros(x[0].shape, target.dtype(i)) for i in range(target.limbs)]
    if source.encodings == target.encodings[: source.limbs]:
        return [*x, *zeros[source.limbs :]]
    rows = []
    for row in zip(*(plane.tolist() for plane in x), strict=True):
        whole = row[0] and math.isfinite(row[0])
        rows.append(convert.round_to_limbs(convert.to_fraction(row) if whole else row[0], target))
    limbs = [np.array([row[i] for row in rows], target.dtype(i)) for i in range(target.limbs)]
    return encode.stored(target, limbs)


def differing(got: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> list[int]:
    """The places where bits differ; all NaN are one."""
    pairs = zip(got, wanted, strict=True)
    each = [convert.canonical_nan_bits(a) != convert.canonical_nan_bits(b) for a, b in pairs]
    return np.flatnonzero(np.logical_or.reduce(each)).tolist()


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        [f.name for f in ALL], formats.STANDARD, "limbs like those of the standard formats"
    ),
)
def test_the_host_rounds_once_to_every_format(name: str) -> None:
    """Subnormals, numbers beyond the range, ties that the last limb decides, signed zeros, NaN."""
    source = formats.get(name)
    x = cases.values(source, 40, "every format")
    for target in ALL:
        found = reference.between(source, target, x)
        assert not differing(found, expected(source, target, x)), target.name


@slow("formats and devices seldom fail together", unless=on_one_device({"dd"}))
@pytest.mark.parametrize(
    "name", mostly_slow([f.name for f in ALL], ("dd", "tsin80b"), "a kernel for each of 1406 pairs")
)
def test_devices_convert_to_every_format(every_device: Device, name: str) -> None:
    """A kernel for each pair of formats has the host's values, to the bit; elsewhere for some."""
    source = formats.get(name)
    x = cases.values(source, 300, "every format")
    there = mp.Array(planes.upload(source, x, every_device.queue))
    x = there.to_limbs()
    for target in ALL if every_device.name == first_device() else ALL[::5]:
        if target.word == "float64" and not every_device.properties.float64:
            continue
        wanted = reference.between(source, target, x)
        assert not differing(there.astype(target).to_limbs(), wanted), target.name


def test_the_ends_of_the_range(every_device: Device) -> None:
    """The largest number and half a step beside it: an infinity, unless more is taken away."""
    if not every_device.properties.float64:
        pytest.skip("the device has no float64")
    top, half = np.finfo(np.float64).max, 2.0**970
    rows = [(top, half, 0.0), (top, half, 1.0), (top, half, -1.0), (-top, -half, 2.0**-1074)]
    x = [np.array(column) for column in zip(*rows, strict=True)]
    there = mp.Array(planes.upload(formats.get("td"), x, every_device.queue))
    found = np.array(there.astype("dd").to_limbs()).T.tolist()
    assert found == [[math.inf, 0.0], [math.inf, 0.0], [top, half], [-top, -half]]
    assert there.astype("float64").to_limbs()[0].tolist() == [math.inf, math.inf, top, -top]
    assert there.astype("ds").to_limbs()[0].tolist() == [math.inf, math.inf, math.inf, -math.inf]


def test_views_are_converted_where_they_lie(device: Device) -> None:
    """Strides, broadcasting, empty arrays."""
    exact = np.arange(60, dtype=np.float64).reshape(3, 4, 5) / 7
    x = mp.array(exact, "td", device)
    for view, same in ((x[::2, :, ::-1], exact[::2, :, ::-1]), (x.T, exact.T)):
        assert np.array_equal(view.astype("ds").to_float64(), mp.array(same, "ds").to_float64())
    wide = mp.broadcast_to(x[0, 0], (7, 5)).astype("float32")
    assert np.array_equal(
        wide.to_float64(), np.broadcast_to(exact[0, 0].astype(np.float32), (7, 5))
    )
    assert x[:0].astype("ds").shape == (0, 4, 5)


@pytest.mark.parametrize("name", ["slfp32in24b", "float16_rz", "slfp64in24b", "qdin192b"])
def test_integers_reach_short_formats_rounded_once(device: Device, name: str) -> None:
    """2^62 + 2^51 + 1 is no tie, though float64 makes one of it."""
    whole = np.array([2**62 + 2**51 + 1, -(2**53) - 1, 65504, 65520, 0, -1, 2**63 - 1], np.int64)
    found = mp.plain_array(whole, None, device).astype(name)
    wanted = reference.from_plain(formats.get(name), [whole])
    assert not differing(found.to_limbs(), encode.stored(formats.get(name), wanted))
