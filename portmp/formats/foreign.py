"""Numbers and arrays of other libraries, read with all that they hold.

mpmath, gmpy2, python-flint, Python's own Fraction and Decimal, NumPy's and others' dtypes. None of
these libraries is imported: what is given is told by what it offers.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmp.errors import FormatError
from portmp.formats.parse import dyadic, parse_number

Exact = Fraction | int | float
"""A rational value, or a float (which also carries nan, the infinities and -0.0)."""

ACCEPTED = (
    "decimal strings, int, float, Fraction, Decimal, float32, float64 and longdouble, "
    "mpmath's mpf, gmpy2's mpz, mpq and mpfr, python-flint's fmpz, fmpq and arb"
)

_WORDS = 4
"""A number of a longer float dtype is the sum of so many float64 words, at most."""


# --- numbers


def exact(item: Any, argument: str) -> Exact:
    """The exact value of one number of any accepted type (integers as int)."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = item[()]
    for accepts, value in _READERS:
        if accepts(item):
            return value(item, argument)
    return refused(item, argument)


def _of_bytes(item: bytes, argument: str) -> Exact:
    return parse_number(item.decode("ascii", errors="backslashreplace"), argument)


def _of_decimal(item: Decimal, argument: str) -> Exact:
    return math.nan if item.is_nan() else parse_number(str(item), argument)


def _of_longer(item: Any, argument: str) -> Exact:
    """A scalar of a longer float dtype."""
    if item == 0 or not np.isfinite(item):
        return float(item)
    if hasattr(item, "as_integer_ratio"):
        numerator, denominator = item.as_integer_ratio()
        return Fraction(int(numerator), int(denominator))
    found = words(np.asarray(item))
    if found is None:
        raise FormatError(f"{argument}: {item} is beyond the range of float64")
    return sum((Fraction(float(word)) for word in found), Fraction(0))


def _of_mpf(item: Any, argument: str) -> Exact:
    sign, mantissa, exponent, _ = item._mpf_
    return _binary(item, -int(mantissa) if sign else int(mantissa), int(exponent))


def _of_mpfr(item: Any, argument: str) -> Exact:
    special = item == 0 or not item.is_finite()
    mantissa, exponent = (0, 0) if special else item.as_mantissa_exp()
    return _binary(item, int(mantissa), int(exponent))


def _of_ball(item: Any, argument: str) -> Exact:
    """python-flint's arb, which may be an interval."""
    if not item.is_exact():
        raise FormatError(f"{argument}: {item} is an interval, not a number; give its mid()")
    special = item == 0 or not item.is_finite()
    mantissa, exponent = (0, 0) if special else item.man_exp()
    return _binary(item, int(mantissa), int(exponent))


def _binary(item: Any, mantissa: int, exponent: int) -> Exact:
    # Mantissa 0 stands for zero, nan and the infinities, which float() keeps apart.
    return dyadic(mantissa, exponent) if mantissa else float(item)


def _is_flint(item: Any) -> bool:
    return type(item).__module__.partition(".")[0] == "flint"


def is_complex(value: Any) -> bool:
    """Whether a number is of a complex type, or a text with an imaginary part."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (float, int)):
        return False
    if isinstance(value, (complex, np.complexfloating)) or hasattr(value, "_mpc_"):
        return True
    if isinstance(value, (str, bytes)):
        text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
        return text.strip()[:1] == "(" or text.strip()[-1:] in ("j", "J")
    return type(value).__name__ in ("Complex", "mpc", "acb") and hasattr(value, "imag")


COMPLEX_ONES = (
    " where real ones are held; cdd and others that begin with c are formats of complex ones"
)


def refused(item: Any, argument: str) -> Exact:
    """FormatError for what is no real number."""
    if is_complex(item):
        raise FormatError(f"{argument}: a complex number is not accepted{COMPLEX_ONES}")
    raise FormatError(f"{argument}: {type(item).__name__} is not accepted; allowed are {ACCEPTED}")


_READERS: Sequence[tuple[Callable[[Any], bool], Callable[[Any, str], Exact]]] = (
    (lambda x: isinstance(x, str), parse_number),
    (lambda x: isinstance(x, bytes), _of_bytes),
    (lambda x: isinstance(x, (float, np.float32)), lambda x, _: float(x)),
    (lambda x: isinstance(x, (bool, np.bool_)), refused),
    (lambda x: isinstance(x, numbers.Integral), lambda x, _: int(x)),
    (
        lambda x: isinstance(x, numbers.Rational),
        lambda x, _: Fraction(int(x.numerator), int(x.denominator)),
    ),
    (lambda x: isinstance(x, Decimal), _of_decimal),
    (lambda x: isinstance(x, np.generic) and is_longer(x.dtype), _of_longer),
    (lambda x: _is_flint(x) and hasattr(x, "man_exp"), _of_ball),
    (lambda x: hasattr(x, "_mpf_"), _of_mpf),  # mpmath's mpf and constants
    (lambda x: hasattr(x, "as_mantissa_exp"), _of_mpfr),
    (lambda x: _is_flint(x) and hasattr(x, "q"), lambda x, _: Fraction(int(x.p), int(x.q))),
    (lambda x: _is_flint(x) and type(x).__name__ == "fmpz", lambda x, _: int(x)),
)
"""Which numbers are read, and how; the first that accepts one reads it."""


# --- arrays of longer floats


def is_longer(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a float that is not float32 or float64: longdouble, or another library's.

    Those may be shorter, too; NumPy's own float16 is none of portmp's formats.
    """
    if dtype.kind == "f":
        return dtype.itemsize > 8 or dtype.isbuiltin == 2  # registered by another library
    return dtype.kind not in "biucmMOSUT" and not isinstance(dtype, np.dtypes.VoidDType)


def words(values: NDArray[Any]) -> list[NDArray[np.float64]] | None:
    """float64 arrays whose exact sum *values* are, the leading one first.

    None where float64's range is too short.
    """
    found: list[NDArray[np.float64]] = []
    rest = values
    with np.errstate(all="ignore"):
        while len(found) < _WORDS:
            word = np.asarray(rest).astype(np.float64)
            held = word.astype(values.dtype)
            if np.any(np.isinf(word) & (held != rest)):
                return None
            found.append(word)
            rest = np.where(np.isfinite(word), rest - held, np.zeros_like(held))
            if np.all(rest == np.zeros_like(held)):
                return found
    return None


# --- arrays of other libraries


def unwrapped(data: Any, argument: str) -> Any:
    """*data* of another library as a NumPy array or nested lists, with all that its elements hold.

    What is no foreign array is returned as it is. ``__array__`` counts only where the elements are
    what it gives: elsewhere it may round them.
    """
    if isinstance(data, np.generic) and not isinstance(data, (str, bytes)):
        return np.asarray(data)
    if isinstance(data, (np.ndarray, str, bytes, Sequence)):
        return data
    if _declares(data) and hasattr(data, "__array__"):
        return np.asarray(data)
    if hasattr(data, "tolist"):
        return data.tolist()
    if not hasattr(data, "__array__"):
        return data
    found = np.asarray(data)
    if found.dtype.kind in "fc" and not isinstance(_first(data), (float, int, np.generic)):
        raise FormatError(
            f"{argument}: {type(data).__name__} gives {found.dtype}, and does not tell whether its "
            "elements hold more; give a NumPy array or nested lists of its numbers"
        )
    return found


def _declares(data: Any) -> bool:
    """Whether an object says that its elements have dtypes of NumPy."""
    declared = getattr(data, "dtype", None)
    found = [declared] if declared is not None else list(getattr(data, "dtypes", ()))
    return bool(found) and all(isinstance(one, np.dtype) for one in found)


def _first(data: Any) -> Any:
    """The first element of nested things that can be iterated."""
    item = data
    for _ in range(64):
        if isinstance(item, (str, bytes)) or not hasattr(item, "__iter__"):
            break
        item = next(iter(item), 0.0)
    return item
