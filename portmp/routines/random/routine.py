"""Random numbers, as one object."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.case import Case
from portmp.routines.random import launch, reference
from portmp.routines.random.layout import Stream, draw
from portmp.routines.reference import Host, Plane
from portmp.routines.routine import Routine, Units
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
    def case(routine: str, name: str, call: Callable[[Any], Any], wanted: Any) -> Case:
        given = [np.zeros(1, form.word)]
        return Case(routine, name, form, (given,), call, lambda form, there: [wanted()])

    for name, (dtype, low, span) in SPANS.items():
        call = _numbers(dtype, partial(launch.fill_integers, STREAM, 12, low, span))
        wanted = partial(_integers, COUNT, low, span, dtype)
        yield case("random_integers", name, call, wanted)
    keys = partial(_integers, 3 * 101, 0, 1 << 64, "uint64")
    yield case(
        "random_orders",
        "3x101",
        lambda there: launch.orders(STREAM, 12, 3, 101, there.queue).read_span(),
        lambda: np.argsort(keys().reshape(3, 101), axis=1, kind="stable"),
    )
    call = _numbers("uint32", partial(launch.fill_words, STREAM, 7))
    words = partial(reference.words, STREAM, 7, COUNT)
    yield case("random_words", "from-7", call, lambda: words().astype(np.uint32))


def _integers(count: int, low: int, span: int, dtype: str) -> Plane:
    return reference.integers(STREAM, 12, count, low, span, dtype)[0]


def _numbers(dtype: str, drawn: Callable[[Any], None]) -> Callable[[Any], Any]:
    """What draws plain numbers on the device where an array is."""

    def call(there: Any) -> Any:
        out = allocate_numbers(dtype, (COUNT,), there.queue)
        drawn(out)
        return out.read_span()

    return call


class Random(Routine):
    """out[i] = f(place of i in a stream of words)."""

    name = "random"
    cases = staticmethod(cases)

    def on_request(self, form: Format, device: Device | None) -> Units:
        """Uniform and normal values; with float32 integers of 64 bits too, which have no format."""
        for kind in ("uniform", "normal"):
            block = launch.shape_of_block(kind, form, device)
            yield f"random_{kind}", (launch.kernel_spec(kind, form.name, *block),)
        if form.name == "float32":
            threads = base.threads(device, launch.THREADS)
            yield "random_integers", (launch.integers_spec(8, False, threads),)
