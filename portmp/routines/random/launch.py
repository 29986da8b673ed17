"""Random values: element i of a draw is a function of the seed and of its place in the stream.

Definition: docs/bits.md, section Random numbers.
"""

from functools import cache

import numpy as np

from portmp import formats
from portmp.backends.base import Device, Queue
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Plain
from portmp.formats import Format
from portmp.networks import Network, functions
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.schedule import flat
from portmp.routines.order import launch as order
from portmp.routines.random import reference
from portmp.routines.random.layout import BLOCK, Draw, Stream, draw
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, allocate, allocate_numbers

THREADS = 128
_WORDS = "upper0", "upper1", "key0", "key1"
_STREAM = (
    *(Index("n"), Plain("block", "uint64"), Index("skipped")),
    *(Plain(word, "uint32") for word in _WORDS),
)
"""What kernels are told of a stream, and of where in it they begin."""


def roles(one: Draw) -> dict[str, Network]:
    """The networks of a draw: digits to values and, of normal numbers, these to the result."""
    word = one.form.word
    found = {
        f"uniform{i}": functions.function("uniform", word, len(bits))
        for i, bits in enumerate(one.bits)
    }
    if one.kind == "normal":
        found["normal"] = functions.function("normal", word, one.form.limbs)
    return found


@cache
def kernel_spec(kind: str, form: str, threads: int, width: int) -> KernelSpec:
    """The kernel of a kind of values in a format: blocks of *threads*, vectors of *width*."""
    one = draw(kind, form)
    return spec(
        f"random_{kind}",
        "random/values.mako",
        formats.get(form),
        roles(one),
        width=width,
        takes=[*_STREAM, Array("out", const=False)],
        threads=threads,
        draw=one,
    )


def shape_of_block(kind: str, form: Format, device: Device | None) -> tuple[int, int]:
    """Threads of a block, and lanes of a thread's vectors."""
    schedule = flat(form, device)
    if kind == "normal" and schedule.width > 1:
        return schedule.threads, schedule.width
    return base.threads(device, THREADS), 1


def fill(kind: str, stream: Stream, first: int, out: Planes) -> None:
    """Draw the elements of *out* in C order, the first from the words from *first* on.

    *first* is a multiple of an element's words.
    """
    form, n = out.format, out.size
    one = draw(kind, form.name)
    if not n:
        return
    if not out.contiguous:
        dense = allocate(form, out.shape, out.queue)
        fill(kind, stream, first, dense)
        elementwise.apply("copy", [dense], out)
        return

    def by_kernel(out: Planes) -> None:
        threads, width = shape_of_block(kind, form, out.device)
        key = kernel_spec(kind, form.name, threads, width)
        each = one.together * threads * width
        _launch(key, stream, divmod(first, BLOCK), one.words, each, threads, out)

    launch.do((out,), by_kernel, base.hosted(lambda: reference.values(one, stream, first, n)))


def _launch(
    key: KernelSpec,
    stream: Stream,
    place: tuple[int, int],
    words: int,
    each: int,
    threads: int,
    out: Planes | Numbers,
    **numbers: int,
) -> None:
    """Launch a kernel whose blocks make *each* elements, the first at this block and word."""
    block, skipped = place[0], place[1] // words
    given = {"n": out.size, "block": block, "skipped": skipped, "out": out, **numbers}
    given |= zip(_WORDS, (*stream.upper, *stream.key), strict=True)
    grid = (base.blocks(skipped + out.size, each), 1, 1)
    launch.run(out.queue, (key,), grid, (threads, 1, 1), given)


@cache
def integers_spec(size: int, raw: bool, threads: int) -> KernelSpec:
    """The kernel of integers of so many bytes, or of the stream's words themselves."""
    name = "random_words" if raw else f"random_integers{8 * size}"
    path, form = "random/integers.mako", formats.get("float32")
    numbers = Plain("low", "uint64"), Plain("span0", "uint32"), Plain("span1", "uint32")
    out = Array("out", plain=(f"uint{8 * size}",), const=False)
    takes = [*_STREAM, *(() if raw else numbers), out]
    return spec(name, path, form, {}, takes=takes, size=size, raw=raw, threads=threads)


def fill_integers(stream: Stream, first: int, low: int, span: int, out: Numbers) -> None:
    """Draw the integers of a dense *out* from *low* on, *span* of them (1 to 2^64) as likely each.

    *first* is a multiple of four words.
    """
    if not out.size:
        return

    def by_kernel(out: Numbers) -> None:
        threads = base.threads(out.device, THREADS)
        parts = {"low": low % 2**64, "span0": span % 2**32, "span1": (span >> 32) % 2**32}
        key = integers_spec(np.dtype(out.dtype).itemsize, False, threads)
        _launch(key, stream, divmod(first, BLOCK), BLOCK, threads, threads, out, **parts)

    terms = stream, first, out.size, low, span, out.dtype
    launch.do((out,), by_kernel, base.hosted(lambda: reference.integers(*terms)))


def fill_words(stream: Stream, first: int, out: Numbers) -> None:
    """The stream's words from *first* on, in a dense *out* of uint32."""
    if not out.size:
        return

    def by_kernel(out: Numbers) -> None:
        threads = base.threads(out.device, THREADS)
        key = integers_spec(4, True, threads)
        _launch(key, stream, divmod(first, BLOCK), 1, BLOCK * threads, threads, out)

    terms = stream, first, out.size
    launch.do((out,), by_kernel, base.hosted(lambda: [reference.words(*terms).astype(np.uint32)]))


def orders(stream: Stream, first: int, rows: int, n: int, queue: Queue) -> Numbers:
    """Orders of n things, a row each: those of rows n integers of 64 bits. Shape (rows, n).

    *first* is a multiple of four words. Of two equal integers the first stands first.
    """
    keys = allocate_numbers("uint64", (rows, n), queue)
    fill_integers(stream, first, 0, 1 << 64, keys)
    return order.argsort(keys)
