"""Fourier transforms of rows: X[k] = sum over j of x[j] exp(-2 pi i j k / n).

Definition: ``steps`` says how a transform is made of those of its factors, which are these. Of 2:
x0 + x1, x0 - x1. Of 4: s = x0 + x2, d = x0 - x2, t = x1 + x3, u = x1 - x3, then s + t, d - iu,
s - t, d + iu. Of an odd r: t_q = x_q + x_(r-q) and u_q = x_q - x_(r-q) for q below r / 2; first
x0 + t_1 + ...; then, with a_p = x0 + t_1 cos(2 pi p / r) + t_2 cos(4 pi p / r) + ... and
b_p = u_1 sin(2 pi p / r) + ..., a_p - i b_p and a_p + i b_p. Sums are taken from the left. A
product with a root c + is is (a c - b s) + i (a s + b c). Sums and products are the format's
networks without the guards of special values: what is not finite, or overflows on the way, becomes
NaN where those would keep infinities. Roots have each part rounded once. Steps that a thread takes
together change no bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from portmp import formats
from portmp.backends.base import Device, Queue
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Scratch
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.fourier import reference, steps
from portmp.routines.fourier import roots as of_unity
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, allocate, upload_numbers

THREADS = 128
LONGEST = 2**31 - 1
"""Parts of a circle, and elements of a call: kernels count in 32 bits."""


@cache
def kernel_spec(
    form: str,
    radices: tuple[int, ...],
    first: bool,
    binary: bool,
    columns: int,
    threads: int = THREADS,
    *,
    whole: bool = False,
    listed: int | None = None,
) -> KernelSpec:
    """The kernel of these steps; *first*: of those that a transform begins with.

    *binary*: sizes are powers of two, told by their exponents. With *columns* by block memory.
    *whole*: of all steps. *listed*: steps that join so many of the pass's transforms or more find
    their roots from an eighth of the circle.
    """
    f = formats.get(form)
    nets = {"add": f.network("add"), "mul": f.network("mul"), "neg": f.operator("neg")}
    parts = [Array(name) for name in "xy"] + [Array(name, const=False) for name in "uv"]
    sizes = [Flag(name) for name in ("count", "apart", "before", "part", "eighth")]
    # Of one limb both parts of a root of the circle are read at once.
    circle = Scratch("circle", f.word, const=True, lanes=2 if f.limbs == 1 else 1)
    each = steps.each(f, prod(radices))
    odd = {r: _constants(form, r) for r in radices if r % 2}
    threads = prod(radices) * columns // each or threads
    return spec(
        "fft_block" if columns else "fft_pass",
        f"fourier/fft_{'block' if columns else 'pass'}.mako",
        f,
        nets,
        takes=[*sizes, *parts, Scratch("roots", f.word, const=True), circle],
        radices=radices,
        first=first,
        binary=binary,
        constants=tuple(odd.items()),
        columns=columns,
        threads=threads,
        each=each,
        whole=whole,
        listed=listed,
    )


def _constants(form: str, r: int) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """The words of cos and sin of 2 pi j / r, by j."""
    planes, limbs = of_unity.of(form, np.arange(r), r), formats.get(form).limbs
    cos = tuple(tuple(float(p[j]) for p in planes[:limbs]) for j in range(r))
    sin = tuple(tuple(-float(p[j]) for p in planes[limbs:]) for j in range(r))
    return cos, sin


def transform(parts: Sequence[Planes], out: Sequence[Planes]) -> None:
    """The transforms of rows (m, n) of real and imaginary *parts*, in *out*, which is no operand.

    All lie dense in memory.

    n has no prime factors but 2, 3, 5 and 7. Exchanging the parts of both is the inverse, times n.
    """
    form, n = parts[0].format, parts[0].shape[1]
    base.computes(form, "fft")
    if n == 1:
        for part, to in zip(parts, out, strict=True):
            elementwise.apply("copy", [part], to)
        return
    assert steps.factors(n), n
    if order_of(n) > LONGEST or parts[0].size > LONGEST:
        raise ShapeError(
            f"fft: rows of {n} elements, {parts[0].size} in all: too many for one launch"
        )
    queue = parts[0].queue
    words = kept(queue, (form.name, n), lambda: known_roots(queue, form, n))
    operands = (*parts, *words, *out)
    launch.repeat((transform,), operands, _launch, _on_host)


KEPT = 16
"""Arrays of roots that a queue keeps."""
_known: WeakKeyDictionary[Queue, dict[Any, Any]] = WeakKeyDictionary()


def kept(queue: Queue, key: Any, made: Callable[[], Any]) -> Any:
    """What was made before of this key for a queue, or what is made now."""
    there = _known.setdefault(queue, {})
    if key not in there:
        while len(there) >= KEPT:
            del there[next(iter(there))]
        there[key] = made()
    return there[key]


def known_roots(queue: Queue, form: Format, n: int) -> tuple[Numbers, Numbers]:
    """Words of a length's roots: those listed, and of an eighth of the circle if some are not."""
    words = upload_numbers(listed(form, n), queue)
    if steps.is_listed(form, n):
        return words, words
    return words, upload_numbers(of_unity.table(form.name, order_of(n)), queue)


def listed(form: Format, n: int) -> np.ndarray[Any, Any]:
    """Words of roots in the order of use: a step of r that joins transforms of m elements takes
    those of i k / (r m), by i from 1 on, words (cos, then sin) and k < m.
    """
    found, before = [], 1
    for r in steps.factors(n):
        if steps.is_listed(form, before * r):
            numbers = np.arange(1, r)[:, None] * np.arange(before) * (n // (before * r))
            found.append(np.stack(of_unity.of(form.name, numbers, n), axis=1).ravel())
        before *= r
    return np.concatenate(found)


def order_of(n: int) -> int:
    """The smallest multiple of 8 that a length divides."""
    return next(n * k for k in (1, 2, 4, 8) if n * k % 8 == 0)


def _on_host(x: Planes, y: Planes, *others: Any) -> None:
    base.all_on_host(others[2:], partial(reference.transformed, x.format), x, y)


def _launch(x: Planes, y: Planes, words: Numbers, eighth: Numbers, u: Planes, v: Planes) -> None:
    rows, n = x.shape
    if not x.size:
        return
    form, queue, order = x.format, x.queue, order_of(n)
    given, binary = (x, y), n & (n - 1) == 0
    todo = [*steps.passes(n, form, blocked(x.device))]
    for i, (before, radices, columns) in enumerate(todo):
        made = u, v
        if i < len(todo) - 1:
            made = allocate(form, x.shape, queue), allocate(form, x.shape, queue)
        size = prod(radices)
        numbers = {"apart": n // size, "before": before}
        numbers |= {"part": order // (before * size), "eighth": order // 8}
        if binary:
            numbers = {name: value.bit_length() - 1 for name, value in numbers.items()}
        numbers["count"] = count = rows * n // size
        views: dict[str, Any] = dict(zip("xyuv", (*given, *made), strict=True))
        threads = size * columns // steps.each(form, size) or base.threads(x.device, THREADS)
        told = before == 1, binary, columns, threads
        of_lists, whole = steps.listed(form, before, radices), bool(columns) and size == n
        one = kernel_spec(form.name, radices, *told, whole=whole, listed=of_lists)
        grid = (base.blocks(count, columns or threads), 1, 1)
        views |= {"roots": words, "circle": eighth}
        launch.run(queue, (one,), grid, (threads, 1, 1), {**numbers, **views})
        given = made


def blocked(device: Device | None) -> bool:
    """Whether blocks of many threads have steps together: CPUs take barriers in turns."""
    if device is None:
        return True
    there = device.properties
    return there.kind != "cpu" and there.max_threads >= 256 and there.shared_memory >= 48 << 10
