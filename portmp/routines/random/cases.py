"""What ``verify`` compares of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from portmp.formats import Format
from portmp.routines.case import Case
from portmp.routines.random import launch, reference
from portmp.routines.random.layout import draw
from portmp.routines.random.stream import Stream
from portmp.routines.reference import Host
from portmp.runtime.planes import allocate_numbers

COUNT = 403
STREAM = Stream((0xA4093822, 0x299F31D0), (0x082EFA98, 0xEC4E6C89))
PLACES = {"from-0": 0, "from-5": 5, "from-2pow40": (1 << 40) - 3}
"""The first element, counted in elements."""
SPANS = {"int8-full": ("int8", -128, 256), "int32-1000": ("int32", -7, 1000)}
SPANS |= {"int64-odd": ("int64", -(3**39), 3**40), "uint64-full": ("uint64", 0, 1 << 64)}


def cases(form: Format) -> Iterator[Case]:
    """Uniform and normal values; with float32 integers and words too, which have no format."""
    places = dict(list(PLACES.items())[:1]) if form.coded else PLACES
    for kind in ("uniform", "normal"):
        for name, first in places.items():
            yield _values(form, kind, name, first)
    if form.name == "float32":
        yield from _plain(form)


def _values(form: Format, kind: str, name: str, first: int) -> Case:
    one = draw(kind, form.name)
    start = first * one.words

    def call(out: Any) -> Any:
        launch.fill(kind, STREAM, start, out.planes)
        return out

    def on_host(f: Format, out: Host) -> Host:
        return reference.values(draw(kind, f.name), STREAM, start, COUNT)

    empty = [np.zeros(COUNT, form.dtype(i)) for i in range(form.limbs)]
    return Case(f"random_{kind}", name, form, (empty,), call, on_host)


def _plain(form: Format) -> Iterator[Case]:
    given = [np.zeros(1, form.word)]
    for name, (dtype, low, span) in SPANS.items():

        def drawn(out: Any, low: int = low, span: int = span) -> None:
            launch.fill_integers(STREAM, 12, low, span, out)

        def on_host(
            f: Format, there: Host, low: int = low, span: int = span, dtype: str = dtype
        ) -> Host:
            return reference.integers(STREAM, 12, COUNT, low, span, dtype)

        yield Case("random_integers", name, form, (given,), _numbers(dtype, drawn), on_host)

    def arranged(there: Any) -> Any:
        return launch.orders(STREAM, 12, 3, 101, there.queue).read_span()

    def arranged_on_host(f: Format, there: Host) -> Host:
        (keys,) = reference.integers(STREAM, 12, 3 * 101, 0, 1 << 64, "uint64")
        return [np.argsort(keys.reshape(3, 101), axis=1, kind="stable")]

    yield Case("random_orders", "3x101", form, (given,), arranged, arranged_on_host)

    def words(out: Any) -> None:
        launch.fill_words(STREAM, 7, out)

    def words_on_host(f: Format, there: Host) -> Host:
        return [reference.words(STREAM, 7, COUNT).astype(np.uint32)]

    call = _numbers("uint32", words)
    yield Case("random_words", "from-7", form, (given,), call, words_on_host)


def _numbers(dtype: str, drawn: Callable[[Any], None]) -> Callable[[Any], Any]:
    """What draws plain numbers on the device where an array is."""

    def call(there: Any) -> Any:
        out = allocate_numbers(dtype, (COUNT,), there.queue)
        drawn(out)
        return out.read_span()

    return call
