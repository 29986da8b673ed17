"""Numbers and arrays of other libraries: read with all that they hold, or refused."""

from __future__ import annotations

import array as standard
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest

from portmp import formats
from portmp.errors import FormatError
from portmp.formats import convert

THIRD = Fraction(1, 3)
QD = formats.get("qd")


def read(data: object, form: str = "qd") -> Any:
    """The exact values of what portmp reads."""
    return convert.to_fractions(convert.to_limbs(data, formats.get(form))).tolist()


def near(found: Fraction, wanted: Fraction, bits: int = 210) -> bool:
    """Whether so many leading bits agree."""
    return abs(found - wanted) <= abs(wanted) / 2**bits


def test_matrices_of_mpmath_keep_their_digits() -> None:
    """Their ``__array__`` gives float64."""
    with mpmath.workprec(300):
        matrix = mpmath.matrix([[mpmath.mpf(1) / 3, 2], [mpmath.mpf("1e-400"), mpmath.inf]])
        ((third, two), _) = convert.to_limbs(matrix, QD)[0].tolist()
        assert (third, two) == (1 / 3, 2.0)
        found = read(matrix[:1, :])
        assert near(found[0][0], THIRD) and found[0][1] == 2
        with pytest.raises(FormatError, match="a complex number is not accepted"):
            read(mpmath.matrix([mpmath.mpc(1, 2)]))
        with pytest.raises(FormatError, match="is not accepted"):
            read(mpmath.iv.matrix([[mpmath.iv.mpf(1) / 3]]))


def test_numbers_in_lists_and_object_arrays() -> None:
    """gmpy2, Decimal, Fraction, mpmath: rounded once."""
    with gmpy2.context(precision=300), mpmath.workprec(300):
        numbers = [gmpy2.mpfr(1) / 3, gmpy2.mpq(1, 3), mpmath.mpf(1) / 3, Decimal(1) / 3, THIRD]
    for data in (numbers, np.array(numbers, object), [numbers[:2], numbers[2:4]]):
        flat = np.array(read(data), object).ravel()
        assert all(near(x, THIRD, 90) for x in flat)
    assert near(read(numbers[0]), THIRD) and near(read(numbers[1]), THIRD)


class Rounds:
    """Elements that hold more than ``__array__`` gives."""

    def __init__(self, *items: object) -> None:
        self.items = items

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.array([float(x) for x in self.items])  # type: ignore[arg-type]

    def __iter__(self) -> Any:
        return iter(self.items)


class Declares(Rounds):
    """Elements that are what their dtype says, as those of h5py and zarr."""

    dtype = np.dtype("float64")


class Lists(Rounds):
    """Elements that come as a list, as those of pandas and PyTorch."""

    def tolist(self) -> list[object]:
        return list(self.items)


def test_foreign_arrays_are_read_exactly_or_refused() -> None:
    """An ``__array__`` of floats counts only where the elements are floats."""
    assert read(Rounds(0.5, 2.0)) == [Fraction(1, 2), 2]
    assert read(Declares(0.5, 2.0)) == [Fraction(1, 2), 2]
    assert near(read(Lists(THIRD))[0], THIRD)
    with pytest.raises(FormatError, match=r"Rounds gives float64, .* elements hold more"):
        read(Rounds(THIRD))
    assert read(standard.array("d", [0.5])) == [Fraction(1, 2)]


def test_longdouble_is_exact_in_bulk() -> None:
    """As the sum of words; also beyond float64's range, where it overflows as texts do."""
    values = np.array([1, -2, 1.5], np.longdouble) / 3
    wanted = [Fraction(*map(int, x.as_integer_ratio())) for x in values]
    assert read(values) == wanted and read(list(values)) == wanted
    tiny, huge = np.longdouble("1e-4000"), np.longdouble("1e4000")
    assert [p.tolist() for p in convert.to_limbs([tiny, huge], QD)[:2]] == [[0, np.inf], [0, 0]]
    odd = np.array([np.inf, -np.inf, np.nan, -0.0], np.longdouble)
    first = convert.to_limbs(odd, QD)[0]
    assert np.isnan(first[2]) and np.signbit(first[3]) and first[:2].tolist() == [np.inf, -np.inf]


def test_dtypes_of_other_libraries() -> None:
    """numpy-quaddtype and ml_dtypes, where they are installed."""
    quad = pytest.importorskip("numpy_quaddtype")
    values = np.array(["1", "2"], quad.QuadPrecDType()) / np.array("3", quad.QuadPrecDType())
    assert all(near(x, i * THIRD, 112) for i, x in enumerate(read(values), 1))
    assert read(values[0]) == read(values)[0] == read([values[0]])[0]


def test_short_dtypes_of_other_libraries() -> None:
    """All of ml_dtypes' numbers are float64's."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn"):
        values = np.array([0.1, -3.0], getattr(ml_dtypes, name))
        assert read(values) == [Fraction(float(x)) for x in values]


def test_numbers_of_flint() -> None:
    """fmpz, fmpq, arb where it is a point, and matrices."""
    flint = pytest.importorskip("flint")
    flint.ctx.prec = 300
    assert near(read(flint.fmpq(1, 3)), THIRD) and read(flint.fmpz(7)) == 7
    point = (flint.arb(1) / 3).mid()
    assert near(read(point), THIRD)
    assert near(read(flint.fmpq_mat([[flint.fmpq(1, 3)]]))[0][0], THIRD)
    with pytest.raises(FormatError, match="interval"):
        read(flint.arb(1) / 3)


def test_formats_are_named_in_few_words_and_pickled() -> None:
    """A format is one object of a process."""
    assert repr(QD) == "<portmp format qd: quad-double, 66 digits; limits: portmp.finfo('qd')>"
    assert pickle.loads(pickle.dumps(QD)) is QD
