"""What bounds of long products leave to norms: of a few entries of a row and of a column each.

Where a sum of products has many steps its bound does not follow all of them (``Spans`` of
``networks.bounded``). What that leaves out is at most sum w_i |a_i b_i|, a_i and b_i what counts of
the operands' limbs, w_i by the place of i in its period; of a span of ``definition.SPAN`` steps
that is at most the root of sum w_i a_i^2 times that of sum w_i b_i^2 (Cauchy and Schwarz): a
product of matrices with a step for each span. docs/bounds.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen import signature
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Index, matrix
from portmp.formats import Format
from portmp.networks import ieee
from portmp.networks.bounded import SMALLEST, SPANS, Spans
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.reference import Arithmetic, Host, Plane, Value
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, dense_strides
from portmp.schedules.base import widths

THREADS = 128
ROWS, COLUMNS = 8, 4
"""Bounds that a thread computes: neighbours in a column; in a row as many apart as ..."""
ACROSS = 16
"""... threads lie side by side."""
PITCH = ACROSS * COLUMNS
"""Rows are padded to a multiple of this and so of ROWS: threads read norms without a test."""
PANEL_ROWS, PANEL_COLUMNS = 16, 512
"""On CPUs: rows whose norms a work-item computes and rows of its bounds, and their columns."""
OPERATORS = ("fma", "div", "sqrt")
NUMBERS = ("total", "alpha", "unit", "least")
"""What a bound is made of beside norms."""

SMALL = {"float32": 2.0**-100, "float64": 2.0**-1000}
"""Entries are divided by the largest one, or by this: its inverse is finite."""


def of(form: Format, k: int, accuracy: str) -> Spans | None:
    """How GEMM's sums over k steps are followed; None where every step is."""
    found = SPANS.get((form.limbs, form.accumulator(accuracy).suffix, form.word))
    return found if found is not None and k >= found.steps else None


class Scale(NamedTuple):
    """Norms count by *alpha*, a size; *unit* times what is in units of u^N plus *least* bounds."""

    alpha: float
    unit: float
    least: float


def bounds(followed: Planes, a: Planes, b: Planes, scale: Scale, spans: Spans) -> Planes:
    """(*followed* + W |alpha| times the product of norms of a and b) *unit* + *least*.

    *followed* (..., m, n) is dense and overwritten; a (..., m, k) and b (..., k, n) hold
    as many limbs, words, as norms are made of (``Spans.limbs``); their leading axes broadcast.
    """
    word, device, shape = followed.format, followed.device, followed.shape
    if not followed.size:
        return followed
    rows, columns = norms(a, b, spans)
    kind = np.dtype(word.word).type
    numbers = tuple(map(kind, (_total(spans), *scale)))
    m, n = shape[-2:]

    def by_reference(rows: Planes, columns: Planes, followed: Planes) -> None:
        cut = (
            v.view((*v.shape[:-1], count), v.strides, v.start)
            for v, count in ((rows, m), (columns, n))
        )
        base.on_host(followed, partial(_bounds_on_host, word, numbers), *cut, followed)

    def by_kernel(rows: Planes, columns: Planes, followed: Planes) -> None:
        both = kernels(word.name, spans, device)
        given: dict[str, Any] = {name: (v,) for name, v in zip(NUMBERS, numbers, strict=True)}
        given |= {"m": m, "n": n, "spans": rows.shape[-2], "bounds": followed}
        for name, v in (("x", rows), ("y", columns)):
            one = _each(v, shape[:-2])
            steps = one.strides[-2], one.strides[0] if one.ndim == 3 else 0
            given[name] = one.view((1, 1), steps, one.start)
        height, width = both.tile
        tiles = base.blocks(m, height) * base.blocks(n, width) * (followed.size // (m * n))
        unit, block = (both.norms, both.bounds), (both.threads, 1, 1)
        launch.run(followed.queue, unit, (tiles, 1, 1), block, given, both.bounds.name)

    launch.do((rows, columns, followed), by_kernel, by_reference)
    return followed


def _each(v: Planes, batch: tuple[int, ...]) -> Planes:
    """Norms for each product of a batch, on one axis; no axis where all have the same."""
    *lead, spans, pitch = v.shape
    if math.prod(lead) == 1:
        return v.view_as((spans, pitch))
    if tuple(lead) != batch:
        v = elementwise.contiguous(v.broadcast_to((*batch, spans, pitch)))
    return v.view_as((math.prod(batch), spans, pitch))


@cache
def _total(spans: Spans) -> float:
    """What all products of a span count."""
    counts = spans.weights
    return sum(counts) * (definition.SPAN // len(counts))


class Kernels(NamedTuple):
    """The kernels of norms of spans and of their product, and how blocks share out work.

    *rows*: whose norms a block of the first computes, *tile*: bounds of one of the second.
    """

    norms: KernelSpec
    bounds: KernelSpec
    threads: int
    rows: int
    tile: tuple[int, int]


def kernels(word: str, spans: Spans, device: Device | None) -> Kernels:
    """The kernels for *device*: on CPUs, and where blocks are small, a work-item is a block."""
    threads = base.threads(device, THREADS)
    alone = device is not None and (
        device.properties.kind == "cpu" or threads < definition.SPAN_LANES
    )
    if device is None or device.by_reference or not alone:
        return _shared(word, spans, threads)
    return panels(word, spans, widths(formats.get(word), device)[-1])


@cache
def _shared(word: str, spans: Spans, threads: int) -> Kernels:
    """Threads share a span, and a block's bounds."""
    across = min(ACROSS, threads)
    counts = {"period": spans.period, "products": spans.followed.products, "unit": spans.unit}
    found, product = _specs(
        word,
        spans,
        "",
        {**counts, "threads": threads},
        {"threads": threads, "across": across, "rows": ROWS, "columns": COLUMNS, "unroll": 2},
    )
    rows, tile = threads // definition.SPAN_LANES, (threads // across * ROWS, across * COLUMNS)
    return Kernels(found, product, threads, rows, tile)


@cache
def panels(word: str, spans: Spans, width: int) -> Kernels:
    """Work-items compute with vectors of so many rows or bounds."""
    tile = PANEL_ROWS, PANEL_COLUMNS
    found, product = _specs(
        word,
        spans,
        "_vectors",
        {"counts": spans.weights, "rows": PANEL_ROWS, "width": width},
        {"rows": 4, "vectors": 2, "height": tile[0], "columns": tile[1], "width": width},
    )
    return Kernels(found, product, 1, PANEL_ROWS, tile)


def _specs(
    word: str, spans: Spans, kind: str, of_norms: dict[str, Any], of_bounds: dict[str, Any]
) -> tuple[KernelSpec, KernelSpec]:
    form, read = formats.get(word), formats.of_words(word, spans.limbs)
    lengths = [Index(one) for one in ("m", "n", "k", "a_blocks")]
    pitches = [Index(one) for one in ("b_out", "a_pitch", "b_pitch")]
    out = Array("out", const=False, start=False)
    across = Flag("a_across"), Flag("b_across")
    return spec(
        "span_norms",
        f"blas/span_norms{kind}.mako",
        form,
        form.roles(*OPERATORS),
        stored=dict.fromkeys(("a", "b", "x"), read),
        takes=[*lengths, *across, matrix("a"), matrix("b"), out, *pitches],
        multiples=tuple(spans.multiples(word)),
        span=definition.SPAN,
        lanes=definition.SPAN_LANES,
        total=_total(spans),
        small=SMALL[word],
        least=2.0 ** SMALLEST[word],
        **of_norms,
    ), spec(
        "span_bounds",
        f"blas/span_bounds{kind}.mako",
        form,
        {"fma": form.operator("fma")},
        takes=[
            *(Index("m"), Index("n"), Flag("spans")),
            *(Array(one, ("pitch", "batch")) for one in "xy"),
            *(Array("bounds", const=False), *map(signature.Value, NUMBERS)),
        ],
        **of_bounds,
    )


def norms(a: Planes, b: Planes, spans: Spans) -> tuple[Planes, Planes]:
    """Norms of spans of rows of a (..., m, k) and of columns of b (..., k, n), as in ``bounds``.

    Each (..., spans, rows), with those of rows of zeros up to a multiple of PITCH.
    """
    word, device, k = formats.get(a.format.word), a.device, a.shape[-1]
    turned = b.transposed([*range(b.ndim - 2), b.ndim - 1, b.ndim - 2])
    shapes = [
        (*v.shape[:-2], base.blocks(k, definition.SPAN), base.blocks(v.shape[-2], PITCH) * PITCH)
        for v in (a, turned)
    ]
    size, other = map(math.prod, shapes)
    memory = allocate(word, (size + other,), a.queue)
    rows, columns = (
        memory.view(shape, dense_strides(shape), start)
        for shape, start in zip(shapes, (0, size), strict=True)
    )
    both = kernels(word.name, spans, device)

    def by_reference(a: Planes, turned: Planes) -> None:
        known, counts = dict(both.norms.values), spans.weights
        for out, v, by in zip((rows, columns), (a, turned), known["multiples"], strict=True):
            base.on_host(out, partial(_norms_on_host, word, known, counts, by), v)

    def by_kernel(a: Planes, turned: Planes) -> None:
        given: dict[str, Any] = {"m": a.shape[-2], "n": turned.shape[-2], "k": k, "out": memory}
        blocks = []
        for name, v, out in (("a", a, rows), ("b", turned, columns)):
            given[name] = flat = _at_most_three_axes(v)
            given[f"{name}_across"] = abs(flat.strides[-2]) < abs(flat.strides[-1])
            given[f"{name}_pitch"] = out.shape[-1]
            blocks.append(base.blocks(out.shape[-1], both.rows) * (out.size // out.shape[-1]))
        given |= {"a_blocks": blocks[0], "b_out": size}
        unit, block = (both.norms, both.bounds), (both.threads, 1, 1)
        launch.run(a.queue, unit, (sum(blocks), 1, 1), block, given)

    launch.do((a, turned), by_kernel, by_reference)
    return rows, columns


def _at_most_three_axes(v: Planes) -> Planes:
    *lead, m, k = v.shape
    return v if len(lead) <= 1 else elementwise.contiguous(v).view_as((math.prod(lead), m, k))


def _norms_on_host(
    form: Format,
    known: Mapping[str, Any],
    counts: tuple[float, ...],
    by: tuple[float, ...],
    x: Host,
) -> Host:
    """What ``span_norms`` does, bit for bit."""
    ar, word = Arithmetic(form), np.dtype(form.word).type
    span, lanes = known["span"], known["lanes"]
    *lead, m, k = x[0].shape
    weight = np.resize(np.array(counts, form.word), span).reshape(-1, lanes)
    pitch = base.blocks(m, PITCH) * PITCH
    entries = np.zeros((*lead, pitch, base.blocks(k, span) * span), form.word)
    with ieee.quiet():
        entries[..., :m, :k] = _sizes(ar, by, tuple(map(np.abs, x)))
    entries = entries.reshape(*lead, pitch, -1, span // lanes, lanes)
    with ieee.quiet():
        largest = np.full(entries.shape[:-2], word(known["small"]))
        for step, lane in np.ndindex(span // lanes, lanes):
            entry = entries[..., step, lane]
            largest = np.where(entry > largest, entry, largest)
        (inverse,) = ar.operator("div", (np.ones_like(largest),), (largest,))
        (total,) = ar.zeros(1, entries[..., 0, :].shape)
        for step in range(span // lanes):
            z = entries[..., step, :] * inverse[..., None]
            (total,) = ar.operator("fma", (z * weight[step],), (z,), (total,))
        for apart in definition.halvings(lanes):
            total = total[..., :apart] + total[..., apart:]
        (root,) = ar.operator("sqrt", (total[..., 0] * word(1 / known["total"]),))
        least = np.full_like(largest, known["least"])
        (found,) = ar.operator("fma", (largest,), (root,), (least,))
    return [np.swapaxes(found, -1, -2)]


def _sizes(ar: Arithmetic, by: tuple[float, ...], x: Value) -> Plane:
    """What counts of entries, of limbs' sizes and what they are multiplied by."""
    if not by:
        return x[0]
    counted = [(limb, limb.dtype.type(times)) for limb, times in zip(x, by, strict=True) if times]
    size: Plane = np.multiply(*counted[0])
    for limb, times in counted[1:]:
        (size,) = ar.operator("fma", (limb,), (np.full_like(limb, times),), (size,))
    return size


def _bounds_on_host(
    form: Format, numbers: tuple[Any, ...], rows: Host, columns: Host, followed: Host
) -> Host:
    """What ``span_bounds`` does, bit for bit."""
    ar, (x,), (y,), known = Arithmetic(form), rows, columns, tuple(followed)
    shape = known[0].shape
    (total,) = ar.zeros(1, shape)
    with ieee.quiet():
        for span in range(x.shape[-2]):
            pair = x[..., span, :, None], y[..., span, None, :]
            left, right = (np.broadcast_to(v, shape) for v in pair)
            (total,) = ar.operator("fma", (left,), (right,), (total,))
        weight, alpha, unit, least = (np.full(shape, number) for number in numbers)
        known = ar.operator("fma", (total * weight,), (alpha,), known)
        return list(ar.operator("fma", known, (unit,), (least,)))
