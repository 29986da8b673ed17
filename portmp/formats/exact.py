"""Exact real numbers that stay exact beside Python's and NumPy's: floats count as what they are.

A Fraction becomes a float beside one, which loses whatever an array of more limbs would have held.
"""

import math
import operator
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.errors import ArgumentError, FormatError
from portmp.formats import convert, spelled
from portmp.networks import constants

SHOWN = 70
"""Significant digits of the text of a number."""

MOST_BITS = 1 << 20
"""Of an exact power. Larger ones, and roots, are right to about as many bits as constants have."""


class Exact(Fraction):
    """A rational number; + - * / // % ** with integers, Fractions and floats give others.

    Beside an infinity or NaN it is a float. An array of NumPy's floats beside it is refused, since
    it would make it one of them; comparisons are exact.
    """

    __slots__ = ()

    def __reduce__(self) -> Any:
        return Exact, (self.numerator, self.denominator)

    def __repr__(self) -> str:
        text = super().__repr__()
        return text if len(text) < 3 * SHOWN else f"<exact number {self}...>"

    def __str__(self) -> str:
        """Seventy digits, fewer where these are all."""
        quotient = Context(prec=SHOWN).divide(Decimal(self.numerator), Decimal(self.denominator))
        return f"{quotient:f}" if quotient and -7 < quotient.adjusted() < SHOWN else str(quotient)

    def __format__(self, spec: str) -> str:
        ratio = float(self) if not self else (self.numerator, self.denominator)
        return spelled.formatted(ratio, spec, str(self)) if spec else str(self)

    def __mpq__(self) -> Any:
        """For gmpy2, which knows Fractions by their type alone."""
        import gmpy2

        return gmpy2.mpq(self.numerator, self.denominator)

    def __round__(self, ndigits: Any = None) -> Any:
        return _exact(super().__round__(ndigits))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        of = _UFUNCS.get(ufunc.__name__) if method == "__call__" and not options else None
        if of is None or len(inputs) > 2:
            raise ArgumentError(
                f"numpy.{ufunc.__name__}: an exact number given; portmp's own takes it, and an "
                'array of it: portmp.array(x, "dd")'
            )
        arrays = [one.dtype for one in inputs if isinstance(one, np.ndarray) and one.shape]
        if arrays and (of in _COMPARED or arrays == [object]):
            found = ufunc(*(np.asarray(one, object) for one in inputs))
            return found.astype(bool) if of in _COMPARED else found
        taken = [_exact(_taken(one)) for one in inputs]
        return NotImplemented if NotImplemented in taken else of(*taken)


def _taken(other: Any) -> Any:
    """The other operand as a Fraction, an infinity or NaN as a float; NotImplemented for others."""
    if isinstance(other, np.ndarray) and other.shape:
        real = "x.real" if other.dtype.kind == "c" else "x"
        raise FormatError(
            f"an array of NumPy's {other.dtype} beside an exact number: the result would have its "
            f"digits alone; make it portmp's first, in the result's format: "
            f'portmp.array({real}, "dd")'
        )
    if isinstance(other, np.ndarray):
        other = other[()]
    if isinstance(other, Fraction):
        return other
    if isinstance(other, (int, np.integer, np.bool_)):
        return Fraction(int(other))
    if isinstance(other, (float, np.floating)):
        return Fraction(*other.as_integer_ratio()) if math.isfinite(other) else float(other)
    return NotImplemented


def _power(x: Fraction, y: Fraction) -> Fraction:
    """x^y, exact where y is whole and it has not too many bits."""
    x, y = (Fraction(one.numerator, one.denominator) for one in (x, y))
    bits = max(x.numerator.bit_length(), x.denominator.bit_length())
    if y.denominator == 1 and abs(y) * bits <= MOST_BITS:
        return Fraction(x ** int(y))
    if x <= 0:
        if x == 0 and y > 0:
            return x
        raise ArgumentError(f"**: {float(x)} to the power {float(y)} given, no exact number of it")
    scale = x.numerator.bit_length() - x.denominator.bit_length()
    part = x / Fraction(2) ** scale
    log = constants.log(constants.real(part.numerator, part.denominator)) + scale * constants.ln2()
    exponent = log * y.numerator // y.denominator
    whole = exponent // constants.ln2()
    if abs(whole) > MOST_BITS:
        raise OverflowError(f"**: {float(x)} to the power {float(y)} is no number of this range")
    return (
        constants.fraction(constants.exp(exponent - whole * constants.ln2())) * Fraction(2) ** whole
    )


def _both(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator's method and the one for operands the other way round."""
    plain: Callable[[Any, Any], Any] = _power if name == "pow" else getattr(Fraction, f"__{name}__")

    def found(a: Any, b: Any) -> Any:
        if NotImplemented in (a, b):
            return NotImplemented
        if isinstance(a, float) or isinstance(b, float):  # an infinity or NaN
            return getattr(operator, name, divmod)(float(a), float(b))
        return _exact(plain(a, b))

    return lambda self, other: found(self, _taken(other)), lambda self, other: found(
        _taken(other), self
    )


def _exact(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    return Exact(value) if isinstance(value, Fraction) else value


def _alone(name: str) -> Callable[..., Any]:
    of = getattr(Fraction, f"__{name}__")
    return lambda self: Exact(of(self))


def numbers(limbs: Sequence[Any], *, infinite: bool = False) -> list[Any]:
    """The values of an array's planes in C order; *infinite*: infinities and NaN as floats."""
    return [
        row[0] if infinite and not all(map(math.isfinite, row)) else Exact(convert.to_fraction(row))
        for row in convert.element_rows(limbs)
    ]


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow")
_UNARY = ("neg", "pos", "abs")

for _name in _BINARY:
    for _sign, _method in zip(("", "r"), _both(_name), strict=True):
        setattr(Exact, f"__{_sign}{_name}__", _method)
for _name in _UNARY:
    setattr(Exact, f"__{_name}__", _alone(_name))

_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
_COMPARED = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
    **dict(zip(_COMPARISONS, _COMPARED, strict=True)),
}
"""NumPy's functions that its numbers and arrays call for operators."""
