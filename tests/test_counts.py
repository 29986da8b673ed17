"""Histograms, quantiles and samples, as users of NumPy call them, with odd arguments too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import PortmpError

COMPUTING = [name for name in formats.NAMES if not formats.get(name).coded]


@pytest.mark.parametrize("form", [*COMPUTING, "slfp32in16b"])
def test_histograms_of_every_format(device: Device, form: str) -> None:
    counts, edges = mp.histogram(mp.array([1, 2, 3, 4], form, device), 2)
    assert counts.tolist() == [2, 2] and edges.to_float64().tolist() == [1, 2.5, 4]
    assert edges.format is formats.get(form).arithmetic


@pytest.mark.parametrize(
    "call",
    [
        lambda x: mp.histogram(mp.array([1, float("inf")], "dd"), 3),
        lambda x: mp.histogram(x, [0, float("nan"), 2]),
        lambda x: mp.histogram(x, 2, range=(1, 2, 3)),
        lambda x: mp.histogram(x, 2, range=(0, float("inf"))),
        lambda x: mp.bincount(mp.arange(3), minlength=-1),
        lambda x: mp.quantile(x, 1.5),
        lambda x: mp.random.default_rng(1).choice(2**64, 5),
        lambda x: mp.polyfit(x[:0], x[:0], 1),
    ],
)
def test_what_is_refused(device: Device, call: Callable[[Any], Any]) -> None:
    with pytest.raises(PortmpError):
        call(mp.array([1, 2, 3], "dd", device))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("kept", [False, True])
def test_quantiles_along_axes(device: Device, axis: Any, kept: bool) -> None:
    values = np.array([[1, 2, 3], [4, 6, 5.0]])
    x = mp.array(values, "dd", device)
    for q in (0.5, 0.3, [0.1, 0.9], np.array(0.25), []):
        found = mp.quantile(x, q, axis=axis, keepdims=kept)
        wanted = np.quantile(values, q, axis=axis, keepdims=kept)
        assert found.shape == np.shape(wanted)
        np.testing.assert_allclose(found.to_float64(), wanted, rtol=1e-15)
    found = mp.median(x, axis=axis, keepdims=kept)
    np.testing.assert_allclose(found.to_float64(), np.median(values, axis, keepdims=kept))


def test_rounding_to_places_keeps_what_has_none(device: Device) -> None:
    x = mp.array(["1e300", "-0.0", "2.345", "nan", "inf"], "dd", device)
    found = mp.round(x, 2)
    assert found.to_limbs()[0][0] == 1e300 and np.signbit(found.to_limbs()[0][1])
    assert float(abs(found[2] - mp.array("2.34", "dd", device))) < 1e-30
    assert np.isnan(found.to_limbs()[0][3]) and np.isinf(found.to_limbs()[0][4])
    assert mp.round(x[:3], 400).to_strings() == x[:3].to_strings()
    assert mp.round(mp.array([1234, -56], "dd", device), -2).to_float64().tolist() == [1200, -100]


def test_shares_of_zero_are_never_drawn(device: Device) -> None:
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    p[rng.random(3000) < 0.7] = 0
    p /= p.sum()
    drawn = mp.random.default_rng(3).choice(3000, 60_000, p=mp.array(p, "float32", device))
    assert (p[np.asarray(drawn)] > 0).all()
    thirds = np.full(3, 1 / 3, np.float32)
    assert mp.random.default_rng(2).choice(3, 4, p=thirds, device=device).shape == (4,)


def test_arrays_give_their_format_and_device(device: Device) -> None:
    a = mp.array(["0.1", "0.7"], "td", device)
    for made in (mp.linspace(a[0], a[1], 3), mp.full(3, a[0]), mp.linspace(0, a[1], 3)):
        assert made.format.name == "td" and made.device is device
    (places,) = np.where(a > a[0])
    assert places.tolist() == [1]
