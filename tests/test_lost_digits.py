"""``errstate(rounded=...)`` tells of floats that come in rounded, and of digits that leave."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.errors import ArgumentError, FormatError, RoundedError, RoundedWarning

X = mp.array(["0.1", "0.25"], "dd", "host")
Z = mp.array("0.25+0.1j", "cdd", "host")

Call = Callable[[], Any]

LOSING: dict[str, Call] = {
    "a product": lambda: X * 0.1,
    "reflected": lambda: 0.1 - X,
    "a comparison": lambda: X == 0.1,
    "NumPy's float64": lambda: X + np.float64(0.1),
    "NumPy's float32": lambda: X + np.float32(0.1),
    "a list": lambda: np.add(X, [0.25, 0.1]),
    "a nested list": lambda: mp.array([[1, 0.25], ["0.1", np.float32(0.1)]], "dd", "host"),
    "NumPy's array": lambda: X * np.array([0.25, 0.1]),
    "NumPy's function": lambda: np.multiply(X, 0.1),
    "made": lambda: mp.array(np.array([0.1], np.float32), "float64", "host"),
    "filled": lambda: mp.full(2, 0.1, "dd", "host"),
    "set": lambda: X.copy().__setitem__(0, 0.1),
    "a large one": lambda: X + 1e23,
    "float": lambda: float(X[0]),
    "math": lambda: math.sqrt(X[0]),
    "complex": lambda: complex(X[0]),
    "both parts": lambda: complex(Z),
    "beside an exact number": lambda: mp.pi * 0.1,
    "a complex one": lambda: 0.1j * mp.pi,
    "beside a complex number": lambda: 0.1 * Z.item(),
    "a constant": lambda: float(mp.pi),
}

KEEPING: dict[str, Call] = {
    "its text": lambda: X * "0.1",
    "a Fraction": lambda: X + Fraction(1, 10),
    "an integer": lambda: X + 2**60,
    "what has a short text": lambda: X * -0.375,
    "a power of two": lambda: X * 2.0**-90,
    "infinity and NaN": lambda: np.add(X, [math.inf, math.nan]),
    "no more digits": lambda: mp.array([0.1], "float64", "host") * 0.1,
    "fewer digits": lambda: mp.array([0.1], "ds", "host") * 0.1,
    "what float holds": lambda: (float(X[1]), complex(X[1] * 2j), float(X[1].item())),
    "exact numbers": lambda: (0.25 * mp.pi, mp.pi * 2j, mp.pi > 0.1, f"{mp.pi:.3f}", Z.item() / 3),
    "by name": X.to_float64,
    "printed": lambda: f"{X} {X!r} {X[0]:.3e}",
    "usual tolerances": lambda: mp.allclose(X, X),
    "the largest number": lambda: mp.nan_to_num(X),
    "floats within": lambda: mp.linalg.cond(mp.linalg.inv(mp.reshape([*X, *X[::-1]], (2, 2)))),
}


@pytest.mark.parametrize("name", LOSING)
def test_lost_digits_are_told(name: str) -> None:
    """By an error or a warning at the line that loses them; else nothing is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = LOSING[name]()
    with mp.errstate(rounded="warn"), pytest.warns(RoundedWarning) as told:
        after = LOSING[name]()
    assert [one.filename for one in told] == [__file__]
    assert str(before) == str(after)
    with mp.errstate(rounded="raise"), pytest.raises(RoundedError, match=r"0\.1|1e\+23|float"):
        LOSING[name]()


@pytest.mark.parametrize("name", KEEPING)
def test_what_keeps_digits_is_silent(name: str) -> None:
    """Values that are exactly what their texts say, and functions' own floats."""
    with mp.errstate(rounded="raise"):
        KEEPING[name]()


def test_states_end_where_they_should() -> None:
    """A ``with`` sets back what was there, ``seterr`` tells it, other threads begin anew."""
    assert mp.seterr(rounded="raise")["rounded"] == "ignore"
    with mp.errstate(rounded="ignore"), mp.errstate(all="ignore"):
        X * 0.1
    with pytest.raises(FloatingPointError), mp.errstate():
        X * 0.1
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(X * 0.1))
    thread.start()
    thread.join()
    assert len(found) == 1
    assert mp.seterr(rounded="ignore")["rounded"] == "raise"
    with pytest.raises(ArgumentError, match=r"rounded 'print' given; allowed are ignore, warn"):
        mp.seterr(rounded="print")


# --- arrays of longer formats ---------------------------------------------------------------------

LONG = mp.array(["0.1", "0.3"], "qd", "host") / 3
WHOLE = mp.array([1, 2], "int64", "host")

REFUSED: dict[str, Call] = {
    "clip": lambda: np.clip(X, LONG, None),
    "clip's method": lambda: X.clip(0, LONG),
    "put": lambda: np.put(X.copy(), [0, 1], LONG),
    "put of a list": lambda: np.put(X.copy(), [0, 1], [LONG[0], 1]),
    "put of integers": lambda: np.put(WHOLE.copy(), [0], X[:1]),
    "insert": lambda: np.insert(X, 1, LONG[0]),
    "full_like": lambda: np.full_like(X, LONG[0]),
    "full_like of integers": lambda: np.full_like(WHOLE, X[0]),
    "pad": lambda: np.pad(X, 1, constant_values=LONG[0]),
    "ediff1d": lambda: np.ediff1d(X, to_begin=LONG),
    "digitize": lambda: np.digitize(X, LONG),
    "edges": lambda: np.histogram(X, bins=LONG),
    "a range": lambda: np.histogram(X, range=(LONG[0], LONG[1])),
    "a period": lambda: np.interp(X, X, X, period=LONG[0]),
    "linspace": lambda: mp.linspace(X[0], LONG[1], 3),
    "arange": lambda: mp.arange(X[0], 1, LONG[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arrays_of_longer_formats_are_not_rounded(name: str) -> None:
    """As ``X + LONG`` is: by an error that says how they meet."""
    with pytest.raises(FormatError, match="astype"):
        REFUSED[name]()


def test_bounds_of_integers_keep_their_digits() -> None:
    """Clipped integers are values where a bound is one; formats of ends are those of arrays."""
    found = np.clip(WHOLE, mp.array("1.5", "qd", "host"), None)
    assert found.dtype.name == "qd" and found.tolist() == [1.5, 2]
    short, wide = mp.array([0.5], "float32", "host"), mp.array(["0.6"], "float64", "host")
    assert np.clip(short, wide, None).tolist() == wide.tolist()
    found = mp.arange(LONG[0], "0.2", LONG[1])
    assert found.dtype.name == "qd" and found.device == LONG.device
    assert found.tolist() == [LONG[0].tolist(), (LONG[0] + LONG[1]).tolist()]
    assert mp.arange(LONG[0], 1, LONG[1], dtype="dd")[0].tolist() == LONG.astype("dd")[0].tolist()
