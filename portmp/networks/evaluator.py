"""The host reference: what every device computes, bit for bit, on NumPy arrays.

The networks that are rendered into device functions are evaluated here gate by gate with
IEEE arithmetic (``portmp.networks.ieee``). Values are sequences of limb arrays, words are arrays,
all of the format's word dtype; a network treats their elements one by one.
"""

import operator
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from portmp import networks
from portmp.networks import ieee
from portmp.networks.language import WORD

Array = npt.NDArray[Any]
Words = tuple[Array, ...]

# --- gates and networks ---------------------------------------------------------------


def gates(dtype: npt.DTypeLike) -> Mapping[str, Callable[..., Any]]:
    """Return the implementation of each gate and operator of the network language.

    *dtype* is that of the words (literals take it). Call them inside ``ieee.quiet()``.
    """
    word = np.dtype(dtype).type
    table: dict[str, Callable[..., Any]] = {
        "two_sum": ieee.two_sum,
        "fast_two_sum": ieee.fast_two_sum,
        "two_prod": ieee.two_prod,
        "fma": ieee.fma,
        "sqrt": np.sqrt,
        "fabs": np.abs,
        "scale": scale,
        "select": np.where,
        "finite": np.isfinite,
        "nonzero": lambda x: x != 0,
        "isnan": np.isnan,
        "less": operator.lt,
        "negative": np.signbit,
        "both": operator.and_,
        "either": operator.or_,
        "opposite": np.logical_not,
        "exponent": exponent,
        "power_of_two": power_of_two,
        "copysign": np.copysign,
        "seldom": seldom,
        "lookup": lookup,
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "neg": operator.neg,
        "literal": word,
        "add4_2011": add4_2011,
        "inverse_root": inverse_root,
        "inverse_root_guarded": inverse_root_guarded,
        "inverse_root_fast": inverse_root_fast,
        "inverse_root_rounded": inverse_root_rounded,
        "inverse_root_rsqrt": inverse_root_plain,
        "inverse_root_division": inverse_root_plain,
    }
    return MappingProxyType(table)


def run(name: str, dtype: npt.DTypeLike, *arguments: Any) -> Any:
    """Evaluate the network called *name* on arrays of *dtype*.

    A word is an array or a number, a value or sum a sequence of them. Returns an array
    for a word, a tuple of arrays otherwise.
    """
    net = networks.get(name)
    with ieee.quiet():
        converted = [
            np.asarray(argument, dtype)
            if kind == WORD
            else tuple(np.asarray(limb, dtype) for limb in argument)
            for (_, kind), argument in zip(net.inputs, arguments, strict=True)
        ]
        return networks.evaluate(net, gates(dtype), *converted)


# --- bits -------------------------------------------------------------------------------


def exponent(x: Array) -> Array:
    """e with 2^e <= |x| < 2^(e+1), of normal words: the biased exponent less the bias."""
    x = np.asarray(x)
    integer, top, mask, bias = _BITS[x.dtype.itemsize]
    bits: Array = np.ascontiguousarray(x).view(integer).reshape(x.shape)
    found: Array = (((bits >> top) & mask) - bias).astype(x.dtype)
    return found


def power_of_two(n: Array) -> Array:
    """2^n for integral n within the range of normal words."""
    n = np.asarray(n)
    integer, top, _, bias = _BITS[n.dtype.itemsize]
    scaled: Array = ((n.astype(integer) + bias) << top).astype(integer).view(n.dtype)
    return scaled


def scale(x: Array) -> Array:
    """2^-e for |x| from 2^e up to 2^(e+1), e from 2 - bias to bias - 1; beyond as at these ends."""
    x = np.asarray(x)
    integer, top, mask, bias = _BITS[x.dtype.itemsize]
    field: Array = (np.ascontiguousarray(x).view(integer) >> top) & mask
    turned = np.clip(2 * bias - field, 1, 2 * bias - 1).astype(integer)
    power: Array = np.left_shift(turned, top).view(x.dtype)
    return power.reshape(x.shape)


_BITS: dict[int, tuple[type, int, int, int]] = {
    4: (np.int32, 23, 0xFF, 127),
    8: (np.int64, 52, 0x7FF, 1023),
}
"""By bytes of a word: integers of its size, where the exponent begins, its mask and bias."""


# --- branches and tables ------------------------------------------------------------------


def seldom(
    flag: Array, computed: Callable[..., Any], operands: list[Any], other: Any
) -> Array | Words:
    """*other*, and where *flag* is set, what is computed of those operands."""
    where = np.asarray(flag)
    if not where.any():
        return other  # type: ignore[no-any-return]

    def taken(operand: Any) -> Any:
        if isinstance(operand, tuple):
            return tuple(taken(word) for word in operand)
        return np.broadcast_to(operand, where.shape)[where]

    found = computed(*(taken(operand) for operand in operands))

    def put(word: Any, into: Any) -> Array:
        result = np.array(np.broadcast_to(into, where.shape))
        result[where] = word
        return result

    if isinstance(other, tuple):
        return tuple(put(a, b) for a, b in zip(found, other, strict=True))
    return put(found, other)


@cache
def _columns(table: tuple[tuple[float, ...], ...], dtype: np.dtype[Any]) -> Array:
    return np.array(table, dtype).T.copy()


def lookup(net: networks.Network, index: Array) -> Array | Words:
    """The entry of each index in the table of *net*."""
    index = np.asarray(index)
    at = index.astype(np.int64)
    assert ((at >= 0) & (at < len(net.table))).all(), f"{net.name}: an index is out of its table"
    words = tuple(column[at] for column in _columns(net.table, index.dtype))
    return words[0] if len(words) == 1 else words


# --- reciprocal roots -------------------------------------------------------------------


def inverse_root(x: Array) -> Array:
    """1/sqrt(x) correctly rounded to float32; of a float64 4^k m, 2^-k that of m cut to float32.

    1 <= m < 4.
    """
    x = np.asarray(x)
    if x.dtype == np.float32:
        # Twice rounded, and right for every normal float32 (all were tried).
        root = (1 / np.sqrt(x.astype(np.float64))).astype(np.float32)
        return np.where((x > 0) & (x < np.inf), root, np.float32(np.nan))
    bits = np.ascontiguousarray(x).view(np.int64)
    twice = ((bits >> 32) - 0x3FF00000) & ~0x1FFFFF
    cut = (bits - (twice << 32)) & ~0x1FFFFFFF
    root = inverse_root(cut.view(np.float64).astype(np.float32)).astype(np.float64)
    scaled: Array = (root.view(np.int64) - ((twice >> 1) << 32)).view(np.float64)
    return scaled.reshape(x.shape)


def inverse_root_guarded(x: Array) -> Array:
    """The same; NaN below the smallest normal number."""
    x = np.asarray(x)
    return np.where(x >= np.finfo(x.dtype).tiny, inverse_root(x), x.dtype.type(np.nan))


# The inexact roots are each platform's own; these are the host's.


def inverse_root_plain(x: Array) -> Array:
    """1/sqrt(x) with two roundings."""
    root: Array = x.dtype.type(1) / np.sqrt(x)
    return root


def inverse_root_rounded(x: Array) -> Array:
    """1/sqrt(x) of a float32, correctly rounded."""
    root: Array = (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype)
    return root


def inverse_root_fast(x: Array) -> Array:
    """The host has no estimate: float32's root, for float64 with one step of third order."""
    if x.dtype == np.float32:
        return inverse_root_rounded(x)
    net = networks.get("inverse_root_double_guarded")
    root: Array = networks.evaluate(net, gates(x.dtype), x)
    return root


# --- QD's accurate addition -------------------------------------------------------------


def add4_2011(a: Words, b: Words) -> Words:
    """Add values of four limbs as QD's ``ieee_add`` does.

    The limbs of both are taken in order of magnitude and added to a sum of two words,
    whose leading word is emitted whenever three words are needed; what is left when four
    have been emitted is added to the last. Each element goes its own way through the
    loop, so each step acts on those elements that it concerns.
    """
    merge = _Merge(a, b)
    everywhere = np.ones(merge.size, bool)
    u, v = ieee.fast_two_sum(merge.take(everywhere), merge.take(everywhere))
    x = np.zeros((4, merge.size), u.dtype)
    emitted = np.zeros(merge.size, np.intp)
    while True:
        adding = (emitted < 4) & (merge.taken < 8)
        if not adding.any():
            break
        s, u1, v1 = _three_accumulate(u, v, merge.take(adding))
        u, v = np.where(adding, u1, u), np.where(adding, v1, v)
        emit = np.flatnonzero(adding & (s != 0))
        x[emitted[emit], emit] = s[emit]
        emitted[emit] += 1
    for place, word in ((emitted, u), (emitted + 1, v)):
        # Those with four words emitted lose the sum, as in QD.
        last = np.flatnonzero((emitted < 4) & (place < 4))
        x[place[last], last] = word[last]
    merge.add_rest(x[3])
    normal: Words = networks.evaluate(networks.get("renorm4_2011"), gates(x.dtype), x)
    return tuple(np.reshape(limb, merge.shape) for limb in normal)


class _Merge:
    """The limbs of two values, to be taken by magnitude; of equal ones b's comes first."""

    def __init__(self, a: Words, b: Words) -> None:
        limbs = np.broadcast_arrays(*a, *b)
        self.shape = limbs[0].shape
        self._a = np.stack([limb.ravel() for limb in limbs[:4]])
        self._b = np.stack([limb.ravel() for limb in limbs[4:]])
        self.size = self._a.shape[1]
        self._i = np.zeros(self.size, np.intp)
        self._j = np.zeros(self.size, np.intp)

    @property
    def taken(self) -> Array:
        """Number of limbs taken so far."""
        return self._i + self._j

    def take(self, where: Array) -> Array:
        """Return the next limb of each element, and count it as taken for those *where*."""
        columns = np.arange(self.size)
        a = self._a[np.minimum(self._i, 3), columns]
        b = self._b[np.minimum(self._j, 3), columns]
        from_a = (self._j > 3) | ((self._i < 4) & (np.abs(a) > np.abs(b)))
        self._i += where & from_a
        self._j += where & ~from_a
        return np.where(from_a, a, b)

    def add_rest(self, total: Array) -> None:
        """Add the limbs not taken to *total*, in place: a's, then b's."""
        for limbs, first in ((self._a, self._i), (self._b, self._j)):
            for k, limb in enumerate(limbs):
                np.add(total, limb, out=total, where=first <= k)


def _three_accumulate(u: Array, v: Array, t: Array) -> tuple[Array, Array, Array]:
    """Add *t* to the sum of two words (u, v): return the word to emit, or 0, and the sum."""
    s, low = ieee.two_sum(v, t)
    s, middle = ieee.two_sum(u, s)
    full = (low != 0) & (middle != 0)
    compact = np.where(low == 0, middle, low)
    return (
        np.where(full, s, u.dtype.type(0)),
        np.where(full, middle, s),
        np.where(full, low, compact),
    )
