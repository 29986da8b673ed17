"""How gemm multiplies: methods by name, and which of them ``auto`` takes.

``auto`` takes what should be fastest among the methods whose error bound, for these very
operands, is not above the direct product's. Bounds follow from the range of the operands'
exponents, which is read from the device once a faster method is in sight; times from rates that
``portmp tune --rates`` measured on this device, or that the package has for its model. Where there
are none, nothing is measured: the direct product it is.

With T the sum of |a_i b_i| a direct sum is bounded by c u^N T at the least (c by the number of
limbs). K bits below the largest entry of a row, and entries at most R binary orders below it,
bound the rounding of integers by N (2^R_a + 2^R_b) 2^-K T, and what s slices leave out by
(s - 1) 2^(R_a + R_b + 2 - K) T: K is chosen such that they stay below.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from portmp import paths
from portmp.backends.base import Device
from portmp.errors import ArgumentError, choice
from portmp.formats import Format
from portmp.routines import base, ceilings, engines
from portmp.routines.ozaki import integers, residues, slices, systems
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.runtime.planes import Planes

Method = Ozaki1 | Ozaki2
METHODS: dict[str, Method | None] = {"direct": None, "ozaki1": Ozaki1(), "ozaki2": Ozaki2()}
AUTO = "auto"

LOG = logging.getLogger("portmp")

_DIRECT = (0, 3, 4, 6)
"""log2 of c by the number of limbs less one, rounded down (docs/bits.md)."""

_REACHED = 0.85
"""The share of the instructions' rate that direct products reach."""

_CUT, _REBUILT = 20, 30
"""Instructions that a word of a cut operand takes, and one of the sums that C is rebuilt from."""

_LAUNCHES = {"gpu": 4e-4, "cpu": 1e-3}
"""Seconds that choosing and launching takes, whatever the size."""

_GAIN = 0.9
"""Another method is taken where its time should be below this share of the direct one's."""

_ORDER = {"gpu": 4096, "cpu": 256}
"""Of the matrices whose product is timed."""


_FMAS, _PRODUCTS = ("float32", "float64"), ("int8", "float64")
"""Words whose rates count."""

_PARTS = ("fma", "products")


@dataclass(frozen=True)
class Rates:
    """Fmas a second by word, and products a second of engines that multiply matrices."""

    fma: Mapping[str, float]
    products: Mapping[str, float]


@dataclass(frozen=True)
class _Candidate:
    method: Method
    word: str
    products: int
    cuts: int
    sums: int

    def seconds(self, m: int, n: int, k: int, rates: Rates, kind: str) -> float:
        """What the product should take: engine, conversions, launches."""
        converted = _CUT * self.cuts * k * (m + n) / rates.fma["float32"]
        rebuilt = _REBUILT * self.sums * m * n / rates.fma["float64"]
        return (
            m * n * k * self.products / rates.products[self.word]
            + converted
            + rebuilt
            + _LAUNCHES[kind]
        )


def way(form: Format, device: Device, k: int, method: Method) -> ozaki.Way:
    """How a method makes products over *k* steps; refuses what it has none for."""
    if isinstance(method, Ozaki1):
        return slices.way(form, device, k, method)
    return residues.way(form, device, k, method)


def cut(form: Format, k: int, method: Method) -> integers.Integers:
    """What operands become for a method's products over *k* steps."""
    if isinstance(method, Ozaki1):
        return slices.chosen(form, method)
    return systems.system(form, k, method.moduli, method.bits)


def resolve(method: object, accuracy: str, schedule: object, a: Planes, b: Planes) -> Method | None:
    """The options of a method by its name or itself; None is the direct product."""
    if isinstance(method, str) and method == AUTO:
        if schedule is not None:
            raise ArgumentError("schedule: given, but only method direct has one")
        return chosen(a, b, accuracy)
    if isinstance(method, (Ozaki1, Ozaki2)):
        found: Method | None = method
    else:
        found = METHODS[choice("method:", method, [*METHODS, AUTO], ", Ozaki1, Ozaki2")]
    if found is not None and (accuracy != "accurate" or schedule is not None):
        raise ArgumentError("accuracy and schedule: given, but only method direct has them")
    if found is not None:
        base.computes(a.format, "gemm by integers")
    return found


def chosen(a: Planes, b: Planes, accuracy: str = "accurate") -> Method | None:
    """What ``auto`` takes for a (..., m, k) times b (..., k, n); None is the direct product."""
    form, device = a.format, a.device
    if a.ndim < 2 or b.ndim < 2 or b.format is not form or form.paper or form.coded:
        return _said(None, "no other method, or operands that do not fit")
    m, k, n = *a.shape[-2:], b.shape[-1]
    if device.by_reference:
        return _said(None, f"{device.name} runs no kernels: nothing is timed there")
    if not device.properties.float64 or not a.size or not b.size:
        return _said(None, "no float64, or nothing to multiply")
    rates = known(device)
    if rates is None:
        return _said(None, "no rates of this device are known; portmp tune --rates measures them")
    kind = device.properties.kind
    instructions = sum(form.accumulator(accuracy).networks["accumulate"].cost.values())
    direct = m * n * k * instructions / (_REACHED * rates.fma[form.word])

    def best(a_range: int, b_range: int) -> tuple[float, Method | None]:
        found = fastest(form, (m, n, k), (a_range, b_range), rates, kind)
        if found is None or found[0] >= direct * _GAIN or not _fits(form, device, k, found[1]):
            return direct, None
        return found

    if best(0, 0)[1] is None:
        return _said(None, f"{m}x{n}x{k} should take {direct:.3g} s, other methods more")
    ranges = ranges_of(a, b)
    seconds, method = best(*ranges)
    return _said(
        method,
        f"{m}x{n}x{k}, exponents of rows and columns over {ranges[0]} and {ranges[1]} binary "
        f"orders: should take {seconds:.3g} s, the direct product {direct:.3g} s",
    )


def _fits(form: Format, device: Device, k: int, method: Method) -> bool:
    """Whether the memory that a method may take is enough for products over *k* steps."""
    found = way(form, device, k, method)
    return ozaki.bytes_of(found.scheme, k) <= found.limit(device)


def ranges_of(a: Planes, b: Planes) -> tuple[int, int]:
    """The widest ranges of exponents of rows of a and of columns of b, in binary orders."""
    found = (max((ozaki.widest_range(v) for v in _rows(x)), default=0) for x in (a, _turned(b)))
    a_range, b_range = found
    return a_range, b_range


def fastest(
    form: Format, shape: tuple[int, int, int], ranges: tuple[int, int], rates: Rates, kind: str
) -> tuple[float, Method] | None:
    """The method that should be fastest for a shape (m, n, k) among those that keep the bound."""
    m, n, k = shape
    times = [
        (c.seconds(m, n, k, rates, kind), c.method) for c in candidates(form, k, *ranges, kind)
    ]
    return min(times, key=lambda entry: entry[0], default=None)


def candidates(form: Format, k: int, a_range: int, b_range: int, kind: str) -> Iterator[_Candidate]:
    """Methods whose bound is not above the direct product's; ranges in binary orders."""
    limbs = form.limbs
    # The direct product's bound is that of the format it computes in.
    allowed = form.compute.bits - _DIRECT[form.compute.limbs - 1] + (limbs - 1).bit_length()
    bits = max(allowed + max(a_range, b_range) + 1, integers.needed(form))
    if bits <= systems.MOST_BITS:
        found = systems.holding(bits, k)
        count = max(found.count, systems.LEAST) if found else None
        residue_method = Ozaki2(moduli=count) if found else Ozaki2(bits=bits)
        numbers = residues.numbers(form, kind, k, residue_method)
        word = residues.word_of(numbers)
        yield _Candidate(residue_method, word, *(3 * [numbers.count]))
    for word in ("int8", "float64"):
        wanted = max(allowed + a_range + b_range + 2, integers.needed(form))
        try:
            cut = slices.slices(form, word, bits=wanted)
        except ArgumentError:
            continue
        products = cut.count * (cut.count + 1) // 2
        pieces = math.ceil(k / slices.longest(word, cut.width))
        method = Ozaki1(slices=cut.count, width=cut.width, word=word)
        yield _Candidate(method, word, products, cut.count, cut.count + products * (pieces - 1))


def known(device: Device) -> Rates | None:
    """Rates of *device*: measured here (``measured``), else those in the package for its kind."""
    if device not in _rates:
        kept = _parsed(paths.recalled(_file(device)))
        _rates[device] = kept or _packaged().get(_entry(device))
    return _rates[device]


def measured(device: Device) -> Rates:
    """Rates of *device*, measured now, which takes seconds, and kept in the cache folder."""
    order = _ORDER[device.properties.kind]
    found = Rates(
        {word: ceilings.instruction_rate(device, word) for word in _FMAS},
        {word: ceilings.product_rate(device, word, order, 3) for word in _PRODUCTS},
    )
    paths.remember(_file(device), asdict(found))
    _rates[device] = found
    return found


_rates: WeakKeyDictionary[Device, Rates | None] = WeakKeyDictionary()


def _file(device: Device) -> str:
    names = [engines.get(device, "auto", word).name for word in _PRODUCTS]
    own = engines.panels_for("float64", device) if device.properties.kind == "cpu" else None
    key = f"{device.compiler_key()}\0{device.name}\0{names}\0{own}"
    return f"rates-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _parsed(data: Any) -> Rates | None:
    """Rates, if all are there and are rates."""
    try:
        fma, products = ({str(w): float(r) for w, r in data[of].items()} for of in _PARTS)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    rates = [fma.get(w, 0.0) for w in _FMAS] + [products.get(w, 0.0) for w in _PRODUCTS]
    return Rates(fma, products) if all(r > 0 and math.isfinite(r) for r in rates) else None


Entry = tuple[str, str, bool]


def _entry(device: Device) -> Entry:
    """What the package's rates are found by: platform, model, whether its BLAS multiplies int8."""
    own = engines.get(device, "auto", "int8").name == engines.OWN
    return device.platform, device.properties.name, not own


@cache
def _packaged() -> dict[Entry, Rates]:
    """Rates of devices that were measured, with the date and the driver of each in the file."""
    text = resources.files("portmp").joinpath("data/rates.json").read_text()
    return {
        (one["platform"], one["device"], one["library"]): Rates(one["fma"], one["products"])
        for one in json.loads(text)["entries"]
    }


def _said(method: Method | None, why: str) -> Method | None:
    LOG.debug("gemm auto: %s: %s", method or "direct", why)
    return method


def _rows(v: Planes) -> Iterator[Planes]:
    """The matrices of a batch."""
    for each in np.ndindex(*v.shape[:-2]):
        yield base.matrix_of(v, each)


def _turned(v: Planes) -> Planes:
    axes = [*range(v.ndim - 2), v.ndim - 1, v.ndim - 2]
    return v.transposed(axes)
