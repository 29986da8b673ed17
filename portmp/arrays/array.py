"""Arrays of multi-limb numbers on a device."""

import math
import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Self, cast

import numpy as np

from portmp import formats
from portmp.arrays import complexes, creation, dtypes, elementwise, numpy_protocol, printing, typed
from portmp.arrays.creation import Where, opened
from portmp.arrays.methods import Methods
from portmp.arrays.typed import Filled
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError, FormatError, ShapeError, shown
from portmp.formats import Format, convert, decimal, exact, longer, losses
from portmp.formats import complexes as complex_numbers
from portmp.routines import base
from portmp.routines.elementwise import launch as routine
from portmp.runtime.planes import Planes, allocate, moved, upload, within

__all__ = ["Array", "array", "from_limbs", "from_parts", "zeros"]

Number = int | float | str | Fraction


def operand(value: object, argument: str) -> "Array":
    """*value* itself, an Array; ArgumentError for anything else."""
    if not isinstance(value, Array):
        raise ArgumentError(
            f"{argument}: {type(value).__name__} given, an Array is needed: portmp.array(...)"
        )
    return value


class Array(Methods[Planes], holds=Planes):
    """A strided view of limb planes on one device: of real numbers, or of complex ones.

    Operators work elementwise with NumPy's broadcasting and return new arrays without
    waiting for the device; Python numbers and decimal strings mix in as exact scalars.
    ``@`` is the matrix product. Conversions to the host wait.
    """

    __slots__ = ()

    def __new__(cls, planes: Planes) -> Self:
        """An array; of shape () a Scalar."""
        of_one = cls is Array and getattr(planes, "shape", None) == ()
        return cast("Self", object.__new__(Scalar if of_one else cls))

    # --- facts ----------------------------------------------------------------------------

    format: Format = within("planes.elements", "The number format.")
    dtype: Format = within(
        "planes.elements", "The number format, by the name that NumPy has for it."
    )

    __numpy_dtype__: Any = within("planes.elements.__numpy_dtype__", "NumPy's dtype of the same.")

    @property
    def limbs(self) -> "tuple[Array, ...]":
        """The planes on the device, leading limb first: arrays of one limb, in the same memory.

        Of complex numbers those of the real parts, then those of the imaginary parts.
        """
        p = self.planes
        base.computes(p.format.component, "limbs")
        return tuple(
            Array(
                Planes(formats.get(p.format.planes[i]), p.shape, p.strides, p.start, (b,), p.queue)
            )
            for i, b in enumerate(p.buffers)
        )

    # --- host -----------------------------------------------------------------------------

    def to_limbs(self) -> list[np.ndarray[Any, Any]]:
        """The limb planes as NumPy arrays, leading limb first, as ``limbs`` has them."""
        planes = self.planes
        if not planes.size:
            return [np.empty(self.shape, dtype) for dtype in self.format.planes]
        return (planes if planes.contiguous else routine.contiguous(planes)).read_dense()

    def to_parts(self) -> list[np.ndarray[Any, Any]]:
        """The planes as they lie in memory: of storage formats integers, leading bits first."""
        if not self.size:
            return [np.empty(self.shape, part) for part in self.format.parts]
        return routine.contiguous(self.planes).read_parts()

    def to_float64(self) -> np.ndarray[Any, Any]:
        """Values rounded correctly to float64; FormatError for complex ones (``to_numpy``)."""
        formats.real_only(self.format, "to_float64")
        return convert.to_float64(self.to_limbs())

    def to_numpy(self, dtype: Any = None) -> np.ndarray[Any, Any]:
        """Values rounded correctly to a float dtype of NumPy's or of another library.

        ``numpy.longdouble``, numpy-quaddtype's ``QuadPrecDType()``, ``ml_dtypes.bfloat16`` ...
        Without one float64, and of complex numbers complex128; ``numpy.clongdouble`` has more.
        """
        if complexes.is_complex(self):
            return complex_numbers.to_numpy(self.to_limbs(), dtype or np.complex128)
        dtype = np.float64 if dtype is None else dtype
        return longer.to_dtype(self.to_limbs(), dtype)

    def to_fractions(self) -> Any:
        """Exact values as Fractions that stay exact beside floats: nested lists, or one number.

        Of complex numbers ``Complex`` with such parts.
        """
        limbs = self.to_limbs()
        if complexes.is_complex(self):
            found = complex_numbers.numbers(limbs, exactly=True)
            return convert.object_array(found, self.shape).tolist()
        return convert.object_array(exact.numbers(limbs), self.shape).tolist()

    def to_strings(self, digits: decimal.Digits = None) -> Any:
        """Decimal strings (nested lists, or one string).

        *digits* are significant digits, by default as many as the format holds; ``"short"`` gives
        the shortest text that gives each value's limbs back, ``"shown"``, which is printed, the
        same where the format's digits are enough for that, else so many.
        """
        if complexes.is_complex(self):
            found = list(complex_numbers.texts(self.to_limbs(), self.format, digits))
            return convert.object_array(found, self.shape).tolist()
        return decimal.to_strings(self.to_limbs(), self.format, digits).tolist()

    def to_mpmath(self) -> Any:
        """Exact values as mpmath numbers, mpf or mpc: nested lists, or one number."""
        if complexes.is_complex(self):
            found = complex_numbers.to_mpmath(self.to_limbs())
            return convert.object_array(found, self.shape).tolist()
        rows = convert.element_rows(self.to_limbs())
        return convert.object_array(list(map(decimal.to_mpmath, rows)), self.shape).tolist()

    def tolist(self) -> Any:
        """Exact values as Python's numbers: nested lists, or one number.

        Of one limb floats, else as ``to_fractions`` has them; infinities and NaN are floats.
        Complex numbers of one limb are Python's.
        """
        limbs = self.to_limbs()
        if complexes.is_complex(self):
            return convert.object_array(complex_numbers.numbers(limbs), self.shape).tolist()
        if len(limbs) == 1:
            return limbs[0].tolist()
        found = exact.numbers(limbs, infinite=True)
        return convert.object_array(found, self.shape).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return numpy_protocol.as_numpy(self, dtype, copy)

    def __float__(self) -> float:
        self._one("float")
        formats.real_only(self.format, "float")
        found, lost = self._nearest()
        losses.leaving(found, lost)
        return found

    def __complex__(self) -> complex:
        self._one("complex")
        both = complexes.halves(self) if complexes.is_complex(self) else (self,)
        nearest = [part._nearest() for part in both]
        for found, lost in nearest:
            losses.leaving(found, lost)
        return complex(*(found for found, _ in nearest))

    def _nearest(self) -> tuple[float, Callable[[], object]]:
        """The only real element as a float, rounded once, and what tells whether it is another.

        Not by the exact number, a Fraction, which knows no sign of zero.
        """
        limbs = [plane.item() for plane in self.to_limbs()]
        leading = limbs[0]
        found = math.fsum(limbs) if math.isfinite(leading) and leading else leading
        return found, lambda: math.fsum([*limbs, -found])

    def _repr_html_(self) -> str | None:
        return printing.html(self)

    def __format__(self, spec: str) -> str:
        return printing.formatted(self, spec)

    # --- conversion -------------------------------------------------------------------------

    @typed.as_(typed.OwnCast)
    def astype(self, dtype: Any, rounding: str | None = None, *, copy: bool = True) -> Any:
        """A copy in another format, or as integers; each value rounded once from its exact value.

        ``float`` is float64. Integers are rounded toward zero. *rounding* (``nearest`` or
        ``toward_zero``) is a storage format's. The device converts. Without *copy* an array that is
        in this format already is returned as it is.
        """
        kind = creation.rounded(dtypes.cast(dtype, self.format), rounding)
        if kind is self.format:
            return self.copy() if copy else self
        return elementwise.converted(self, kind)

    def to(self, device: str | Device | Queue) -> "Array":
        """The array on another device (itself if it is there already).

        In another queue of the same device it is the same memory: what is done there comes after
        all that was given to its own queue so far.
        """
        queue = opened(self.format, device)
        if queue.device is not self.device:
            return Array(moved(routine.contiguous(self.planes), queue))
        return Array(self.planes.in_queue(queue)) if isinstance(device, Queue) else self


class Scalar(Array, holds=Planes, axes=(False,)):
    """An array of shape (), which Python takes for a rational number: ``Fraction(x)``."""

    __slots__ = ()

    def _exact(self) -> Fraction:
        formats.real_only(self.format, "an exact real number")
        found = self.tolist()
        if isinstance(found, float) and not math.isfinite(found):
            raise OverflowError(f"{found} is no rational number")
        return Fraction(found)

    @property
    def numerator(self) -> int:
        """That of the exact value, in lowest terms."""
        return self._exact().numerator

    @property
    def denominator(self) -> int:
        """That of the exact value: a power of two."""
        return self._exact().denominator

    def as_integer_ratio(self) -> tuple[int, int]:
        """The exact value as two integers in lowest terms, as floats have it."""
        return self._exact().as_integer_ratio()

    def __trunc__(self) -> int:
        return math.trunc(self._exact())

    def __floor__(self) -> int:
        return math.floor(self._exact())

    def __ceil__(self) -> int:
        return math.ceil(self._exact())

    def __round__(self, digits: int | None = None) -> Any:
        """The nearest integer or, with *digits*, an array of the nearest number with so many."""
        if digits is None:
            return round(self._exact())
        if self.format.components > 1:
            return super().__round__(digits)
        return creation.array(round(self._exact(), digits), self.format, self.queue)

    def _mpmath_(self, precision: int, rounding: str) -> Any:
        """What mpmath takes for the value: exact."""
        return self.to_mpmath()

    def __mpq__(self) -> Any:
        """What gmpy2 takes for the value: exact."""
        import gmpy2

        return gmpy2.mpq(*self.as_integer_ratio())


numbers.Rational.register(Scalar)


# --- creation from planes -------------------------------------------------------------------------

array = creation.array
zeros: Filled = creation.zeros


def from_limbs(
    limbs: Sequence[Any] | np.ndarray[Any, Any], format: str | Format, device: Where = None
) -> Array:
    """An array from limb planes, leading limb first: NumPy arrays or anything with DLPack.

    Planes whose words are alike may be one NumPy array, on its first axis. They are normalised; a
    finite value that the format cannot hold is refused.
    """
    form = formats.get(format)
    stacked = isinstance(limbs, np.ndarray) and limbs.ndim > 0
    count = len(limbs) if stacked or isinstance(limbs, Sequence) else shown(limbs)
    if count != len(form.planes):
        raise FormatError(f"limbs: {count} given, {form.name} has {len(form.planes)} planes")
    host: list[np.ndarray[Any, Any]] = []
    for i, plane in enumerate(limbs):
        values = creation.host_plane(plane)
        if values.dtype != form.dtype(i):
            raise FormatError(
                f"limbs[{i}]: dtype {values.dtype} given, "
                f"plane {i} of {form.name} is {form.planes[i]}"
            )
        if values.shape != (host[0].shape if host else values.shape):
            raise ShapeError(f"limbs[{i}]: shape {values.shape}, limbs[0] has {host[0].shape}")
        host.append(values)
    return Array(upload(form, complex_numbers.normalise(host, form), opened(form, device)))


def from_parts(parts: Sequence[Any], format: str | Format, device: Where = None) -> Array:
    """An array from planes as they lie in memory (``to_parts``), leading bits first."""
    form = formats.get(format)
    given = [convert.native(np.asarray(part)) for part in parts]
    found = ", ".join(f"{part.dtype} {part.shape}" for part in given)
    if tuple(part.dtype.name for part in given) != form.parts:
        raise FormatError(f"parts: {found} given, {form.name} has {', '.join(form.parts)}")
    if any(part.shape != given[0].shape for part in given):
        raise ShapeError(f"parts: {found} given, one shape is needed")
    planes = allocate(form, given[0].shape, opened(form, device))
    if planes.size:
        planes.write_parts(given)
    return Array(planes)
