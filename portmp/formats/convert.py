"""Numbers <-> limbs on the host: parsing, correct rounding, renormalising and printing.

A value is the exact sum of its limbs, leading limb first. An array of values is a list of
*planes*: NumPy arrays of one shape, one per limb, whose dtypes the format gives. Everything
here is exact up to one stated rounding (to nearest, ties to even). Vectorised paths serve
float arrays; everything else goes element by element through integers.
"""

import functools
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmp import formats
from portmp.errors import FormatError, PortmpError, ShapeError
from portmp.formats import encode, foreign, parse
from portmp.formats.encodings import PRECISION, Encoding
from portmp.formats.foreign import Exact
from portmp.formats.registry import Format
from portmp.networks.ieee import two_sum

Array = NDArray[Any]
_EXACT_INTEGER = 2**53
_SUMS = {1: "float64", 2: "dd", 3: "td", 4: "qd"}
"""The format of sums of so many float64 words."""

_MOST_AXES = 64
"""NumPy's own limit; it also ends a list that contains itself."""


# --- exact value -> limbs


def round_to_limbs(value: Exact, fmt: Format) -> tuple[float, ...]:
    """Return the limbs of *value*: greedily, each the rest rounded as its encoding says.

    The result is weakly normalised, |x_(i+1)| <= ulp(x_i)/2. Overflow gives an infinity; an
    infinite or nan leading limb has +0 below it. A lower limb that would overflow its
    shorter dtype (d+s above 2^181) is 0. Negative rests that underflow give -0.0, as
    IEEE 754 rounding does.
    """
    return _round(value, fmt)[0]


def _round(value: Exact, fmt: Format) -> tuple[tuple[float, ...], bool]:
    """Return the limbs of *value* and whether they hold it exactly (False if not finite)."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return (float(value), *[0.0] * (fmt.limbs - 1)), value == 0
    return round_ratio(*value.as_integer_ratio(), fmt)


def round_ratio(numerator: int, denominator: int, fmt: Format) -> tuple[tuple[float, ...], bool]:
    """Return the limbs of numerator/denominator (not 0) and whether they hold it exactly."""
    if fmt.encodings[-1].plain and fmt.encodings[-1].word == "float64":
        return _doubles_of_ratio(numerator, denominator, fmt.limbs)
    limbs: list[float] = []
    for encoding in fmt.encodings:
        if not encoding.parts:
            limbs.append(0.0)
            continue
        truncates = fmt.rounding == "toward_zero" and not encoding.plain
        mantissa, exponent = _rounded(abs(numerator), denominator, encoding, truncates)
        overflow = mantissa.bit_length() + exponent > encoding.overflow
        if overflow and truncates:
            mantissa, exponent = (1 << encoding.bits) - 1, encoding.overflow - encoding.bits
            overflow = False
        if overflow and not limbs:
            infinity = -math.inf if numerator < 0 else math.inf
            return (infinity, *[0.0] * (fmt.limbs - 1)), False
        if overflow:
            limbs.append(0.0)
            continue
        limb = math.ldexp(mantissa, exponent)
        limbs.append(-limb if numerator < 0 else limb)
        signed = -mantissa if numerator < 0 else mantissa
        if exponent >= 0:
            numerator -= (signed << exponent) * denominator
        else:
            numerator = (numerator << -exponent) - signed * denominator
            denominator <<= -exponent
    return tuple(limbs), numerator == 0


def _doubles_of_ratio(
    numerator: int, denominator: int, count: int
) -> tuple[tuple[float, ...], bool]:
    """The same for so many limbs of float64: Python's quotient of integers is rounded once."""
    limbs: list[float] = []
    for _ in range(count):
        try:
            limb = numerator / denominator
        except OverflowError:
            infinity = -math.inf if numerator < 0 else math.inf
            return (infinity, *[0.0] * (count - 1)), False
        limbs.append(limb)
        whole, power = limb.as_integer_ratio()
        numerator = numerator * power - whole * denominator
        denominator *= power
    return tuple(limbs), numerator == 0


def _rounded(
    numerator: int, denominator: int, encoding: Encoding, truncates: bool
) -> tuple[int, int]:
    """Round numerator/denominator >= 0, ties to even or toward zero: (mantissa, exponent)."""
    if numerator == 0:
        return 0, 0
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1  # now 2^exponent <= value < 2^(exponent + 1)
    quantum = max(exponent - encoding.bits + 1, encoding.smallest)
    units = numerator << max(-quantum, 0), denominator << max(quantum, 0)
    return units[0] // units[1] if truncates else divide_rounded(*units), quantum


def divide_rounded(numerator: int, denominator: int) -> int:
    """Return numerator/denominator >= 0 rounded to the nearest integer, ties to even."""
    quotient, rest = divmod(numerator, denominator)
    excess = 2 * rest - denominator
    return quotient + (excess > 0 or (excess == 0 and quotient & 1))


# --- anything -> planes


def to_limbs(data: object, fmt: Format, argument: str = "data") -> list[Array]:
    """Return the planes of *data*, of its shape, in fresh C-contiguous memory.

    *data* is a number, an array or a nested sequence of numbers: decimal strings (see
    parse_number), int, float, Fraction, Decimal, NumPy integers and floats of 32 bits or
    more, and what portmp.formats.foreign reads of other libraries. All are rounded as
    round_to_limbs does (float64 loses bits in ds and float32), except integers, which are never
    rounded. It is the type that counts: a string, Fraction, Decimal or mpq asks for rounding even
    where its value is an integer.

    Raises FormatError for an integer that *fmt* does not hold exactly and for types that are
    not accepted (bool, complex, float16, ...), InputError for text that is not a number,
    ShapeError for ragged nesting.
    """
    refuse_masked(data, argument)
    data = foreign.unwrapped(data, argument)
    if isinstance(data, np.ndarray):
        return _from_array(data, fmt, argument)
    items, shape = flattened(data, argument)
    return _from_items(items, shape, fmt, argument)


def refuse_masked(data: object, argument: str) -> None:
    """FormatError for NumPy's masked arrays, whose masks would be lost."""
    if isinstance(data, np.ma.MaskedArray):
        raise FormatError(f"{argument}: masked arrays are not accepted; x.filled(value) is")


def _from_array(data: Array, fmt: Format, argument: str) -> list[Array]:
    kind, size = data.dtype.kind, data.dtype.itemsize
    if kind == "f" and size in (4, 8):
        return _from_floats(data, fmt)[0]
    ends = [int(data.min()), int(data.max())] if kind in "iu" and data.size else [0]
    if kind in "iu" and ends[0] >= -_EXACT_INTEGER and ends[-1] <= _EXACT_INTEGER:
        planes, rest = _from_floats(data, fmt)
        if not np.any(rest):
            return planes
    elif foreign.is_longer(data.dtype):
        words = foreign.words(data)
        if words is None:
            return _from_items(list(data.ravel()), data.shape, fmt, argument)
        return change_format(words, formats.get(_SUMS[len(words)]), fmt)
    elif kind not in "iuUSTO":
        allowed = foreign.COMPLEX_ONES if kind == "c" else f"; allowed are {foreign.ACCEPTED}"
        raise FormatError(f"{argument}: arrays of dtype {data.dtype} are not accepted{allowed}")
    # Integers come here to be converted exactly, or refused with the place of the first.
    return _from_items(data.ravel().tolist(), data.shape, fmt, argument)


def _from_floats(data: Array, fmt: Format) -> tuple[list[Array], Array]:
    """Split real numbers that float64 holds into planes; also return what is left over."""
    planes: list[Array] = []
    with np.errstate(all="ignore"):
        rest = np.array(data, dtype=np.float64, order="C", subok=False)
        for i, encoding in enumerate(fmt.encodings):
            if encoding.plain or not encoding.parts:
                limb = rest.astype(fmt.dtype(i)) if encoding.parts else np.zeros_like(planes[0])
            else:
                limb = encode.rounded(rest, np.zeros(rest.shape), encoding, fmt.rounding)
            planes.append(limb)
            # A limb that overflowed (or was not finite) has zeros below. The difference is
            # exact: it is a multiple of rest's last bit and below half an ulp of the limb.
            rest = np.where(np.isfinite(limb), rest - limb, 0.0)
    return planes, rest


def flattened(data: object, argument: str) -> tuple[list[object], tuple[int, ...]]:
    """Return the leaves of a nested sequence in C order, and its shape."""
    level: list[Any] = [data]
    shape: tuple[int, ...] = ()
    while level:
        nested = sum(map(_is_nested, level))
        if nested == 0:
            break
        lengths = {len(item) for item in level} if nested == len(level) else set()
        if len(lengths) != 1 or len(shape) == _MOST_AXES:
            raise ShapeError(
                f"{argument}: nesting is ragged or too deep at axis {len(shape)}; all "
                f"sequences of one level need one length"
                + (f", not {sorted(lengths)}" if len(lengths) > 1 else "")
            )
        shape += (lengths.pop(),)
        level = [leaf for item in level for leaf in item]
    return level, shape


def leaves(data: object) -> list[object]:
    """The numbers in nested sequences, in C order."""
    return flattened(foreign.unwrapped(data, "data"), "data")[0]


def _is_nested(item: object) -> bool:
    if isinstance(item, (str, float, int)):
        return False
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray))


def _from_items(
    items: list[Any], shape: tuple[int, ...], fmt: Format, argument: str
) -> list[Array]:
    if items and all(isinstance(item, (float, np.float32)) for item in items):
        return _from_floats(np.array(items, dtype=np.float64).reshape(shape), fmt)[0]
    try:
        rows = [_item_limbs(item, fmt, argument) for item in items]
    except PortmpError:
        # Which one it was is looked for only then.
        rows = [
            _item_limbs(item, fmt, f"{argument}{list(place)}" if place else argument)
            for place, item in zip(np.ndindex(shape), items, strict=True)
        ]
    return to_planes(rows, shape, fmt)


def to_planes(
    rows: Sequence[tuple[float, ...]], shape: tuple[int, ...], fmt: Format
) -> list[Array]:
    """Limb planes of this shape from the limbs of each value."""
    columns = zip(*rows, strict=True) if rows else [()] * len(fmt.planes)
    return [np.array(c, dtype=fmt.dtype(i)).reshape(shape) for i, c in enumerate(columns)]


def _item_limbs(item: object, fmt: Format, argument: str) -> tuple[float, ...]:
    if isinstance(item, str):
        found = parse.ratio(item, argument)
        return (_round(found, fmt) if isinstance(found, float) else round_ratio(*found, fmt))[0]
    value = foreign.exact(item, argument)
    limbs, exact = _round(value, fmt)
    if isinstance(value, int) and not exact:
        # Long integers cannot be printed in decimal (int's digit limit) and need not be.
        shown = str(value) if value.bit_length() <= 256 else f"of {value.bit_length()} bits"
        told = "is not exact in {}; convert it to a decimal string or a Fraction to have it rounded"
        if math.isinf(limbs[0]):
            told = f"is beyond the range of {{}}: {fmt.reach}"
        raise FormatError(f"{argument}: the integer {shown} {told.format(fmt)}")
    return limbs


# --- limbs -> exact value


def to_fraction(limbs_of_one: Sequence[float]) -> Fraction:
    """Return the exact sum of the limbs of one value; FormatError if one is not finite."""
    limbs = [float(limb) for limb in limbs_of_one]
    if not all(map(math.isfinite, limbs)):
        raise FormatError(f"limbs {limbs} have no exact value: nan or infinity")
    return Fraction(*exact_sum(limbs))


def exact_sum(limbs: Sequence[float]) -> tuple[int, int]:
    """Return the sum of finite limbs as (numerator, a power of two), not reduced."""
    ratios = [limb.as_integer_ratio() for limb in limbs]
    common = max(denominator for _, denominator in ratios)
    return sum(n * (common // denominator) for n, denominator in ratios), common


def to_fractions(planes: Sequence[Array]) -> Array:
    """Return the exact values as an object array of Fraction, of the planes' shape."""
    planes = checked_planes(planes)
    return object_array([to_fraction(row) for row in element_rows(planes)], planes[0].shape)


def checked_planes(planes: Sequence[Array]) -> list[Array]:
    """Return the planes as arrays; refuse dtypes and shapes that no format has."""
    arrays = [np.asarray(plane) for plane in planes]
    if not arrays:
        raise ShapeError("no planes given; a value has at least one limb")
    for i, plane in enumerate(arrays):
        if plane.dtype.name not in PRECISION:
            raise FormatError(f"plane {i} has dtype {plane.dtype}; allowed: float32, float64")
        if plane.shape != arrays[0].shape:
            raise ShapeError(f"plane {i} has shape {plane.shape}, plane 0 {arrays[0].shape}")
    return arrays


def native(given: Array) -> Array:
    """Numbers of the other byte order turned round."""
    return given.astype(given.dtype.newbyteorder("="), copy=False)


def element_rows(planes: Sequence[Array]) -> Iterator[tuple[float, ...]]:
    """Iterate over the values in C order: the limbs of each as Python floats."""
    return zip(*(plane.ravel().tolist() for plane in planes), strict=True)


def object_array(items: Sequence[object], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


# --- limbs -> float64


def to_float64(planes: Sequence[Array]) -> NDArray[np.float64]:
    """Return the values rounded once to float64, ties to even, in the planes' shape.

    Right for limbs in any order and with any overlap. An infinite or nan leading limb is
    the result; below a finite leading limb, they give the floating-point sum. Zeros keep
    the leading limb's sign.
    """
    checked = checked_planes(planes)
    words = [plane.astype(np.float64).ravel() for plane in checked]
    with np.errstate(all="ignore"):
        total = _rounded_sum(words)
    alone = np.logical_and.reduce([np.full(total.shape, True), *(word == 0 for word in words[1:])])
    result: Array = np.where(alone | ~np.isfinite(words[0]), words[0], total)
    return result.reshape(checked[0].shape)


def _rounded_sum(words: list[Array]) -> Array:
    """Return the correctly rounded sums of flat float64 words."""
    naive: Array = functools.reduce(operator.add, words)
    if len(words) <= 2:
        return naive  # one addition of exact operands rounds once
    finite = np.logical_and.reduce([np.isfinite(word) for word in words])
    float64 = formats.get("float64")
    swept = _swept(words, 2)
    total = np.where(finite, swept[0], naive)
    for i in np.flatnonzero(finite & ~_is_rounded(swept)):
        limbs, _ = _round(to_fraction([word[i] for word in words]), float64)
        total[i] = limbs[0]
    return total


def _is_rounded(words: list[Array]) -> Array:
    """Return where words[0] certainly is the rounded sum of the words.

    It is if nothing is left below the second word (words[0], words[1] come from a two_sum),
    or if the rest is clearly below half the distance to the nearer neighbour. Near-ties and
    overflow in the sweeps (which leaves nan) are left to exact arithmetic.
    """
    leading = np.abs(words[0])
    below = functools.reduce(operator.add, [np.abs(word) for word in words[2:]])
    gap = leading - np.nextafter(leading, 0.0)
    margin = 0.5 * (1 - 2.0**-40)
    clear = np.abs(words[1]) + below < margin * gap
    return np.asarray(np.isfinite(leading) & np.isfinite(words[1]) & ((below == 0) | clear))


def _swept(words: Sequence[Array], up: int, down: int = 0) -> list[Array]:
    """Carry sums from the last word to the first so often, then back; the exact total stays."""
    swept, upwards = list(words), list(reversed(range(len(words) - 1)))
    for i in upwards * up + upwards[::-1] * down:
        swept[i], swept[i + 1] = two_sum(swept[i], swept[i + 1])
    return swept


# --- canonical planes


def normalise(planes: Sequence[Array], fmt: Format, argument: str = "planes") -> list[Array]:
    """Return planes of the same values with |x_(i+1)| <= ulp(x_i)/2, in fresh memory.

    Limbs may come in any order and overlap. Values that are normalised already keep their
    bits; an infinite or nan leading limb gets +0 below it. Raises FormatError for dtypes
    that are not *fmt*'s, for a lower limb that is not finite below a finite one, and for a
    sum that *fmt* does not hold exactly.
    """
    arrays = checked_planes(planes)
    given = tuple(plane.dtype.name for plane in arrays)
    if given != fmt.planes:
        raise FormatError(
            f"{argument}: dtypes ({', '.join(given)}) do not fit {fmt}, "
            f"which has ({', '.join(fmt.planes)})"
        )
    shape = arrays[0].shape
    flat = [np.array(p, dtype=fmt.dtype(i)).ravel() for i, p in enumerate(arrays)]
    special = ~np.isfinite(flat[0])
    for lower in flat[1:]:
        lower[special] = 0.0
        for i in np.flatnonzero(~np.isfinite(lower)).tolist():
            raise _refusal(f"{argument}: a lower limb is not finite", flat, i, shape)
    with np.errstate(all="ignore"):
        _mend(flat, np.flatnonzero(~(_is_normalised(flat, fmt) | special)), fmt)
        mended = _is_normalised(flat, fmt) | special
    for i in np.flatnonzero(~mended).tolist():
        limbs, exact = _round(to_fraction([plane[i] for plane in flat]), fmt)
        if not exact:
            raise _refusal(f"{argument}: {fmt} does not hold the exact sum", flat, i, shape)
        for plane, limb in zip(flat, limbs, strict=True):
            plane[i] = limb
    held = encode.stored(fmt, flat)
    kept = np.logical_and.reduce([(a == b) | np.isnan(b) for a, b in zip(held, flat, strict=True)])
    for i in np.flatnonzero(~kept).tolist():
        raise _refusal(f"{argument}: {fmt} does not hold the exact sum", flat, i, shape)
    return [plane.reshape(shape) for plane in flat]


def _refusal(message: str, flat: list[Array], i: int, shape: tuple[int, ...]) -> FormatError:
    """Return the error that names the limbs and the place of value *i*."""
    limbs = [float(plane[i]) for plane in flat]
    place = f" at {[int(k) for k in np.unravel_index(i, shape)]}" if shape else ""
    return FormatError(f"{message}: limbs {limbs}{place}")


def _is_normalised(flat: list[Array], fmt: Format) -> Array:
    """Return where all limbs are finite and obey |x_(i+1)| <= ulp(x_i)/2."""
    result = np.isfinite(flat[0])
    for upper, lower in itertools.pairwise(flat):
        # Doubling instead of halving: half of the smallest ulp would underflow to 0.
        twice = 2 * np.abs(lower.astype(fmt.word))
        # np.spacing of the largest number is infinite; its neighbour has the same ulp.
        largest = np.nextafter(np.finfo(upper.dtype).max, upper.dtype.type(0))
        ulp = np.spacing(np.minimum(np.abs(upper), largest))
        result &= np.isfinite(lower) & (twice <= ulp)
    return np.asarray(result)


def _mend(flat: list[Array], places: Array, fmt: Format) -> None:
    """Renormalise the values at *places* with two_sum sweeps, where those keep the value."""
    if not places.size:
        return
    words = [plane[places].astype(fmt.word) for plane in flat]
    words = _swept(words, fmt.limbs - 1, 1)
    stored = [word.astype(fmt.dtype(i)) for i, word in enumerate(words)]
    exact = np.logical_and.reduce([s == w for s, w in zip(stored, words, strict=True)])
    exact &= np.logical_and.reduce([np.isfinite(s) for s in stored])
    for plane, limb in zip(flat, stored, strict=True):
        plane[places[exact]] = limb[exact]


def canonical_nan_bits(plane: Array) -> NDArray[np.uint32] | NDArray[np.uint64]:
    """Return the bits of a float32 or float64 plane, each nan as the one positive quiet nan.

    The shape stays; the dtype is uint32 (0x7fc00000) or uint64 (0x7ff8000000000000).
    """
    (checked,) = checked_planes([plane])
    values = np.array(checked, dtype=checked.dtype.newbyteorder("="), order="C", subok=False)
    if values.dtype == np.float32:
        single = values.view(np.uint32)
        single[np.isnan(values)] = 0x7FC00000
        return single
    double = values.view(np.uint64)
    double[np.isnan(values)] = 0x7FF8000000000000
    return double


def change_format(planes: Sequence[Array], source: Format, target: Format) -> list[Array]:
    """Limb planes of *source* in *target*, each value rounded once from its exact value."""
    if source is target:
        return list(planes)
    if target.encodings[: source.limbs] == source.encodings:
        more = range(source.limbs, target.limbs)
        return [*planes, *(np.zeros(planes[0].shape, target.dtype(i)) for i in more)]
    if source.limbs == 1:
        return to_limbs(planes[0], target)
    flat = [plane.ravel() for plane in planes]
    if target.coded and target.limbs == 1:
        total, rest = _leading(flat)
        (encoding,) = target.encodings
        rounded = encode.rounded(total, rest, encoding, target.rounding)
        return [rounded.reshape(planes[0].shape)]
    found, settled = _widened(flat, target)
    left = np.flatnonzero(~settled)
    items = np.empty(left.size, object)
    rows = zip(*(plane[left].tolist() for plane in flat), strict=True)
    for i, row in enumerate(rows):
        # A leading limb that is zero or not finite is the whole value, sign included.
        items[i] = to_fraction(row) if row[0] and math.isfinite(row[0]) else row[0]
    for plane, limb in zip(found, to_limbs(items, target), strict=True):
        plane[left] = limb
    return [plane.reshape(planes[0].shape) for plane in found]


def _leading(flat: list[Array]) -> tuple[Array, Array]:
    """Exact sums of limbs: rounded to float64, and numbers with the signs of what is left."""
    limbs = [plane.astype(np.float64) for plane in flat]
    with np.errstate(all="ignore"):
        words = _swept(limbs, len(limbs))
    # The largest number and half a step or more: its limbs stay as they are.
    beyond = ~np.isfinite(words[0])
    words = [np.where(beyond, limb, word) for limb, word in zip(limbs, words, strict=True)]
    rest = functools.reduce(lambda lower, word: np.where(word != 0, word, lower), words[:0:-1])
    special = ~np.isfinite(flat[0]) | (flat[0] == 0)
    return np.where(special, flat[0], words[0]), np.where(special, 0.0, rest)


def _widened(flat: list[Array], target: Format) -> tuple[list[Array], Array]:
    """Limbs as *target* has them where two_sum sweeps settle them, and where they do.

    They do in targets of float64 words of no fewer limbs, but for zeros, ties and values that
    are not finite.
    """
    words = [np.zeros(flat[0].shape, target.dtype(i)) for i in range(target.limbs)]
    if set(target.planes) != {"float64"} or target.limbs < len(flat):
        return words, np.zeros(flat[0].shape, bool)
    words[: len(flat)] = [plane.astype(np.float64) for plane in flat]
    with np.errstate(all="ignore"):
        words = _swept(words, target.limbs - 1, 1)
        settled = np.isfinite(words[0]) & (words[0] != 0)
        for upper, lower in itertools.pairwise(words):
            size = np.abs(upper)
            nearer = size - np.nextafter(size, 0)  # below a power of two numbers are closer
            settled &= (lower == 0) | (2 * np.abs(lower) < nearer)
    return words, settled
