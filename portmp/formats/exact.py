"""Exact numbers, real and complex, that stay exact beside Python's and NumPy's: floats as they are.

A Fraction becomes a float beside one, which loses whatever an array of more limbs would have held.
"""

import math
import operator
import sys
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.errors import ArgumentError, FormatError
from portmp.formats import convert, foreign, losses, spelled
from portmp.networks import constants

SHOWN = 70
"""Significant digits of the text of a number."""

MOST_BITS = 1 << 20
"""Of an exact power. Larger ones, and roots, are right to about as many bits as constants have."""


class Exact(Fraction):
    """A rational number; + - * / // % ** with integers, Fractions and floats give others.

    Beside an infinity or NaN it is a float, beside complex numbers they are exact, too
    (``Complex``). An array of NumPy's floats beside it is refused, since it would make it one of
    them; comparisons are exact.
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

    def __float__(self) -> float:
        found = self.numerator / self.denominator
        losses.leaving(found, lambda: self != found)
        return found

    def __mpq__(self) -> Any:
        """For gmpy2, which knows Fractions by their type alone."""
        import gmpy2

        return gmpy2.mpq(self.numerator, self.denominator)

    def __round__(self, ndigits: Any = None) -> Any:
        return _exact(super().__round__(ndigits))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """What NumPy's operators on an exact number and its own numbers and arrays give."""
        of = _UFUNCS.get(ufunc.__name__) if method == "__call__" and not options else None
        if of is None or len(inputs) > 2:
            form = "cdd" if any(isinstance(one, Complex) for one in inputs) else "dd"
            raise ArgumentError(
                f"numpy.{ufunc.__name__}: an exact number given; portmp's own takes it, and an "
                f'array of it: portmp.array(x, "{form}")'
            )
        arrays = [one.dtype for one in inputs if isinstance(one, np.ndarray) and one.shape]
        if arrays and (of in _COMPARED or arrays == [object]):
            found = ufunc(*(np.asarray(one, object) for one in inputs))
            return found.astype(bool) if of in _COMPARED else found
        taken = [_exact(_taken(one)) for one in inputs]
        return NotImplemented if NotImplemented in taken else of(*taken)


def _taken(other: Any) -> Any:
    """The other operand as a Fraction or Complex, an infinity or NaN as a float; NotImplemented."""
    if isinstance(other, np.ndarray) and other.shape:
        form = "cdd" if other.dtype.kind == "c" else "dd"
        raise FormatError(
            f"an array of NumPy's {other.dtype} beside an exact number: the result would have its "
            "digits alone; make it portmp's first, in the result's format: "
            f'portmp.array(x, "{form}")'
        )
    if isinstance(other, np.ndarray):
        other = other[()]
    if isinstance(other, Fraction):
        return other
    if isinstance(other, (int, np.integer, np.bool_)):
        return Fraction(int(other))
    if isinstance(other, (float, np.floating)):
        losses.beside_exact(other)
        return Fraction(*other.as_integer_ratio()) if math.isfinite(other) else float(other)
    if isinstance(other, (complex, np.complexfloating)):
        losses.beside_exact(other.real)
        losses.beside_exact(other.imag)
        return Complex(other.real, other.imag)
    return other if isinstance(other, Complex) else NotImplemented


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
        if a is NotImplemented or b is NotImplemented:
            return NotImplemented
        if isinstance(a, Complex) or isinstance(b, Complex):
            a, b = (one if isinstance(one, Complex) else Complex(one) for one in (a, b))
            return getattr(operator, name, divmod)(a, b)
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


class Complex:
    """An exact complex number: what ``tolist`` gives of more than one limb, and ``1j * mp.pi``.

    ``real`` and ``imag`` are exact numbers, or floats where they are not finite or -0. + - * /
    with other numbers are exact, too, and so are whole powers.
    """

    __slots__ = ("imag", "real")

    def __init__(self, real: Any, imag: Any = 0) -> None:
        self.real, self.imag = map(_kept, (real, imag))

    def _with(self, other: Any) -> Any:
        if isinstance(other, Complex):
            return other
        if foreign.is_complex(other) and not isinstance(other, (str, bytes)):
            parts = other.real, other.imag
            for part in parts if isinstance(other, (complex, np.complexfloating)) else ():
                losses.beside_exact(part)
            return Complex(*(foreign.exact(part, "operand") for part in parts))
        if isinstance(other, float):
            losses.beside_exact(other)
        return Complex(other) if isinstance(other, (int, float, Fraction)) else None

    def __add__(self, other: Any) -> Any:
        it = self._with(other)
        if it is None:
            return NotImplemented
        return Complex(self.real + it.real, self.imag + it.imag)

    def __neg__(self) -> "Complex":
        return Complex(-self.real, -self.imag)

    def __pos__(self) -> "Complex":
        return self

    def __abs__(self) -> Any:
        """Exact where the root is rational, else as right as constants are."""
        if isinstance(self.real, float) or isinstance(self.imag, float):
            return math.hypot(self.real, self.imag)
        square = self.real * self.real + self.imag * self.imag
        root = math.isqrt(square.numerator * square.denominator << 2 * constants.BITS)
        return Exact(root, square.denominator << constants.BITS)

    def __sub__(self, other: Any) -> Any:
        it = self._with(other)
        return NotImplemented if it is None else self + -it

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        it = self._with(other)
        if it is None:
            return NotImplemented
        real = self.real * it.real - self.imag * it.imag
        return Complex(real, self.real * it.imag + self.imag * it.real)

    def __truediv__(self, other: Any) -> Any:
        it = self._with(other)
        if it is None:
            return NotImplemented
        above, below = self * it.conjugate(), it.real * it.real + it.imag * it.imag
        return Complex(above.real / below, above.imag / below)

    def __rtruediv__(self, other: Any) -> Any:
        it = self._with(other)
        return NotImplemented if it is None else it / self

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, (int, np.integer)):
            raise ArgumentError(
                f"**: an exact complex number to the power {power} given; of others than integers "
                'an array is needed: portmp.array(z, "cdd")'
            )
        found, square, left = Complex(1), self, abs(int(power))
        while left:
            found, square, left = found * square if left & 1 else found, square * square, left >> 1
        return found if power >= 0 else 1 / found

    def __rpow__(self, base: Any) -> Any:
        return Complex(base) ** self

    __array_ufunc__ = Exact.__array_ufunc__

    def conjugate(self) -> "Complex":
        """The number with the other sign of its imaginary part."""
        return Complex(self.real, -self.imag)

    def __eq__(self, other: object) -> bool:
        it = self._with(other)
        return NotImplemented if it is None else self.real == it.real and self.imag == it.imag

    def __hash__(self) -> int:
        width = 1 << sys.hash_info.width
        found = (hash(self.real) + sys.hash_info.imag * hash(self.imag)) % width  # as Python's
        found -= width if found >= width // 2 else 0
        return -2 if found == -1 else found

    def __bool__(self) -> bool:
        return bool(self.real) or bool(self.imag)

    def __complex__(self) -> complex:
        return complex(float(self.real), float(self.imag))

    def __reduce__(self) -> Any:
        return Complex, (self.real, self.imag)

    def __repr__(self) -> str:
        return f"Complex({self.real!r}, {self.imag!r})"

    def __str__(self) -> str:
        return joined(str(self.real), str(self.imag))

    def __format__(self, spec: str) -> str:
        return spelled.of_complex((self.real, self.imag), spec, format) if spec else str(self)


def joined(real: str, imaginary: str) -> str:
    """The text of a number whose parts have these."""
    sign = "" if imaginary.startswith("-") else "+"
    return f"{real}{sign}{imaginary}j"


def _kept(x: Any) -> Any:
    """An exact number, or the float that none is."""
    if isinstance(x, (float, np.floating)):
        special = not math.isfinite(x) or (x == 0 and math.copysign(1, x) < 0)
        return float(x) if special else Exact(*x.as_integer_ratio())
    return Exact(x)
