"""Constants, and single values of arrays, stay exact beside floats until an array rounds them."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError
from portmp.formats.exact import Exact

pi = mp.pi
EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "2.0 * pi": lambda p: 2.0 * p,
    "pi / 2.0": lambda p: p / 2.0,
    "pi ** 0.5": lambda p: p**0.5,
    "pi ** -3": lambda p: p**-3,
    "pi ** 1e5": lambda p: p**1e5,
    "2.5 ** pi": lambda p: 2.5**p,
    "(pi * 2e-300) ** 0.125": lambda p: (p * 2e-300) ** 0.125,
    "1.5 - pi": lambda p: 1.5 - p,
    "7.5 % pi": lambda p: 7.5 % p,
    "abs(-pi)": lambda p: abs(-p),
    "NumPy's numbers": lambda p: np.float32(0.5) * p / np.float64(3) + np.int64(2),
    "NumPy's function": lambda p: np.multiply(np.float64(2), np.negative(p)),
}
OPERATORS = ("__add__", "__rsub__", "__mul__", "__rtruediv__", "__mod__", "__floordiv__")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_of_a_constant(text: str, device: Device) -> None:
    """To 1600 bits; in an array each is rounded once from there."""
    with mpmath.workprec(1728):
        found, wanted = EXPRESSIONS[text](pi), EXPRESSIONS[text](+mpmath.pi)
        assert type(found) is Exact
        value = mpmath.mpf(found.numerator) / found.denominator
        assert abs(value - wanted) <= abs(wanted) * mpmath.mpf(2) ** -1600
    ones = mp.ones(2, "qd", device)
    assert (ones * found == mp.array([found, found], "qd", device)).all()


def test_the_order_of_factors_loses_nothing(device: Device) -> None:
    """Floats before, between and behind."""
    x = mp.array(["0.1", "3"], "qd", device)
    for left, right in ((2.0 * pi * x, x * pi * 2.0), (0.5 * x * pi, pi / 2.0 * x)):
        assert (left == right).all()


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("other", [2.0, 3, Fraction(1, 3), np.float32(0.1)])
def test_values_of_arrays(name: str, other: Any, device: Device) -> None:
    """What ``item``, ``tolist`` and ``to_fractions`` give, beside what a float is exactly."""
    x = mp.array(["0.1"], "dd", device)
    exact = Fraction(*map(int, (x[0].numerator, x[0].denominator)))
    wanted = getattr(exact, name)(Fraction(*other.as_integer_ratio()))
    for value in (x.item(), x.tolist()[0], x.to_fractions()[0]):
        assert isinstance(value, Exact) and value == exact
        assert getattr(value, name)(other) == wanted


def test_what_python_expects() -> None:
    """Floats, hashes, comparisons, copies, pickles, texts, rounding."""
    assert float(pi) == math.pi != pi and pi > math.pi
    assert hash(2 * pi) == hash(Fraction(2 * pi))
    assert pickle.loads(pickle.dumps(pi)) is copy.deepcopy(pi) is pi
    assert pickle.loads(pickle.dumps(pi / 3)) == copy.copy(pi / 3) == pi / 3
    for one in (3.0, 3, Fraction(3), mp.array(3.0)):
        assert pi > one and one < pi and not pi < one and pi >= one and pi != one
    for one in (4.0, 4, Fraction(4), mp.array(4.0)):
        assert pi < one and one > pi and not pi > one and pi <= one and pi != one
    assert repr(pi) == "portmp.pi"
    assert str(2 * pi).startswith("6.28318530717958647692528676655900576839433879875021")
    assert str(Exact(1, 8)) == "0.125" and str(pi * 10**90).endswith("E+90")
    assert type(round(pi, 3)) is Exact and round(pi) == 3 and pi // 1 == 3
    assert pi * math.inf == math.inf and math.isnan(pi - math.nan)
    assert (np.array([math.pi, 4.0]) < pi).tolist() == [True, False]


@pytest.mark.parametrize("of", [operator.mul, operator.add, operator.pow])
def test_arrays_of_floats_are_refused(of: Callable[[Any, Any], Any]) -> None:
    """On both sides, with what to write instead."""
    x = np.linspace(0, 1, 3)
    for a, b in ((x, pi), (pi, x)):
        with pytest.raises(
            FormatError, match=r"NumPy's float64 beside an exact number.*portmp\.array"
        ):
            of(a, b)


def test_what_has_no_exact_value() -> None:
    """Functions of NumPy's, roots of negative numbers, powers beyond all ranges."""
    with pytest.raises(ArgumentError, match=r"numpy\.sin: an exact number given"):
        np.sin(pi)
    with pytest.raises(ArgumentError, match="no exact number of it"):
        (-pi) ** 0.5
    with pytest.raises(OverflowError, match="no number of this range"):
        pi**1e300
    assert Exact(0) ** 0.5 == 0
