"""Norms of rows and columns, and bounds of products' errors by them (docs/bounds.md).

Squares are added up in three words: of large numbers, of ordinary ones and of small ones, the
first and the last scaled by powers of two, so that no square overflows or underflows. What is not
finite is among the large ones. Norms are held over 2^HELD, so that those of the largest numbers are
finite.
"""

from dataclasses import dataclass
from inspect import cleandoc

from portmp.networks.bounded import SMALLEST
from portmp.networks.constants import PRECISION
from portmp.networks.language import define

HELD = 12
"""Norms are held over two to this power: those of up to 4^HELD of the largest numbers."""

ROOM = 3
"""Powers of two that are left above a product of norms below overflow."""


@dataclass(frozen=True)
class Sizes:
    """Exponents: from *large* on and below *small* numbers are scaled by 2^-shift and 2^shift."""

    large: int
    small: int
    shift: int


SIZES = {"float32": Sizes(48, -63, 90), "float64": Sizes(500, -500, 600)}


def _power(exponent: int) -> str:
    return repr(2.0**exponent)


def _square(sizes: Sizes) -> str:
    """NaN is neither below *large* nor below *small*."""
    large, small = _power(sizes.large), _power(sizes.small)
    return f"""
        size = fabs(x[0])
        high = select(less(size, {large}), 0, x[0] * {_power(-sizes.shift)})
        low = select(less(size, {small}), x[0] * {_power(sizes.shift)}, 0)
        middle = select(less(size, {large}), x[0], 0)
        middle = select(less(size, {small}), 0, middle)
        return fma(high, high, s[0]), fma(middle, middle, s[1]), fma(low, low, s[2])
    """


def _root(word: str, sizes: Sizes) -> str:
    """Of the largest sum that is not 0, with the next one: what is left out is below a rounding."""
    shift, tiny = sizes.shift, _power(SMALLEST[word])
    down = _power(-shift)
    return f"""
        next = x[1] * {down}
        large = fma(next, {down}, x[0])
        next = x[2] * {down}
        middle = fma(next, {down}, x[1])
        held = sqrt(large) * {_power(shift - HELD)}
        ordinary = sqrt(middle) * {_power(-HELD)}
        little = fma(sqrt(x[2]), {_power(-shift - HELD)}, {tiny})
        little = select(nonzero(x[2]), little, 0)
        ordinary = select(nonzero(x[1]), ordinary, little)
        return select(nonzero(x[0]), held, ordinary), 0, 0
    """


def _bound(word: str) -> str:
    """z: what a unit of both norms' product counts, |alpha|, and what is added.

    Not finite where that product, or alpha times it, may overflow.
    """
    tiny = _power(SMALLEST[word])
    return f"""
        size = fma(x[0], y[0], {tiny})
        bound = fma(size, z[0], {tiny})
        bound = fma(bound, z[1], z[2])
        room = size * {_power(2 * HELD + ROOM)}
        room = fma(room, z[1], room)
        return select(finite(room), bound, fabs(room)), 0, 0
    """


for _word in PRECISION:
    _sizes = SIZES[_word]
    for _name, _signature, _listing, _holds in (
        ("square", "s:3 x:3 -> 3", _square(_sizes), "each within u"),
        ("squares", "x:3 y:3 -> 3", "return x[0] + y[0], x[1] + y[1], x[2] + y[2]", "within u"),
        ("norm", "x:3 -> 3", _root(_word, _sizes), "within 4u"),
        ("normwise", "x:3 y:3 z:3 -> 3", _bound(_word), "within 4u"),
    ):
        define(
            f"{_name}_{_word}",
            _signature,
            cleandoc(_listing),
            source="after Blue 1978",
            bound=_holds,
        )
