"""Errors of GEMM and DOT against exact arithmetic.

The measure is the error over u^N T with T the sum of the products' magnitudes; what is
allowed is twice the textbook row (add of mul) of the published comparison for the same
input and length, and 2 u^N of the result for the final rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from slow import slow

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format, inputs

Host = list[np.ndarray]

TEXTBOOK = {
    # limbs: {(input, k): max |err| / (u^N T) of add(mul())}
    2: {
        ("centred", 1000): 1.15,
        ("centred", 100000): 0.78,
        ("positive", 1000): 10.4,
        ("positive", 100000): 63.0,
        ("cancelling", 1000): 1.02,
        ("cancelling", 100000): 1.02,
    },
    3: {
        ("centred", 1000): 0.27,
        ("centred", 100000): 0.14,
        ("positive", 1000): 4.8,
        ("positive", 100000): 21.0,
        ("cancelling", 1000): 0.51,
        ("cancelling", 100000): 0.51,
    },
    4: {
        ("centred", 1000): 0.11,
        ("centred", 100000): 0.10,
        ("positive", 1000): 1.5,
        ("positive", 100000): 10.8,
        ("cancelling", 1000): 0.13,
        ("cancelling", 100000): 0.13,
    },
}
CASES = [(kind, k) for kind in ("centred", "positive", "cancelling") for k in (1000, 100000)]


def _unit(form: Format) -> Fraction:
    return Fraction(1, 2**form.bits)


def _allowed(form: Format, kind: str, k: int) -> float:
    """The coefficient of u^N T. One limb: an fma chain in slabs or lanes."""
    return 2 * TEXTBOOK[form.limbs][kind, k] if form.limbs > 1 else min(k, 1024) + k / 1024


def _pair(form: Format, kind: str, k: int) -> tuple[Host, Host]:
    """x and y of length k with full-width limbs."""
    make = inputs.positive if kind == "positive" else inputs.ordinary
    x, y = make(form, (k,), f"x {kind}"), make(form, (k,), f"y {kind}")
    if kind == "cancelling":
        half = k // 2
        for i, (px, py) in enumerate(zip(x, y, strict=True)):
            px[half : 2 * half] = -px[:half]
            py[half : 2 * half] = py[:half]
            if i == form.limbs - 1:
                px[half] *= px.dtype.type(0.5)
    return x, y


def _integers(planes: Host, scale: int) -> list[int]:
    """Exact values times 2^scale of a row of limbs."""
    total = [0] * planes[0].size
    for plane in planes:
        for i, word in enumerate(plane.tolist()):
            numerator, denominator = word.as_integer_ratio()
            total[i] += numerator * (2**scale // denominator)
    return total


@dataclass(frozen=True)
class Problem:
    """Limb planes of x and y (k,), their exact dot product and T."""

    x: Host
    y: Host
    exact: Fraction
    magnitude: Fraction


@cache
def _problem(name: str, kind: str, k: int) -> Problem:
    form = formats.get(name)
    x, y = _pair(form, kind, k)
    scale = 420
    xs, ys = _integers(x, scale), _integers(y, scale)
    products = [a * b for a, b in zip(xs, ys, strict=True)]
    unit = 2 ** (2 * scale)
    total, magnitude = sum(products), sum(map(abs, products))
    return Problem(x, y, Fraction(total, unit), Fraction(magnitude, unit))


def _ratio(form: Format, got: Fraction, problem: Problem) -> float:
    """Error over u^N T, after 2 u^N of the result is taken off."""
    error = abs(got - problem.exact) - 2 * _unit(form) * abs(problem.exact)
    return float(error / (_unit(form) * problem.magnitude))


def _fast(case: dict[str, Any]) -> bool:
    short = case["k"] == 1000 and case["name"] in ("float32", "ds", "dd", "ts", "qd", "d+s")
    return short or (case["name"], case["kind"]) in {
        ("dd", "centred"),
        ("ts", "positive"),
        ("qd", "cancelling"),
    }


@slow("long sums differ by their number of slabs alone: one of each kind and length", unless=_fast)
@pytest.mark.parametrize(("kind", "k"), CASES)
@pytest.mark.parametrize("name", formats.STANDARD)
def test_dot_and_gemm(device: Device, name: str, kind: str, k: int) -> None:
    """One dot product of length k, by both definitions."""
    form = formats.get(name)
    problem = _problem(name, kind, k)
    x, y = (mp.from_limbs(planes, form, device) for planes in (problem.x, problem.y))
    for got in (mp.dot(x, y), mp.gemm(x[None, :], y[:, None])):
        value = got.reshape(1).to_fractions()[0]
        assert _ratio(form, value, problem) <= _allowed(form, kind, k)
    if kind == "cancelling":
        assert abs(problem.exact) < problem.magnitude * 10 / k
