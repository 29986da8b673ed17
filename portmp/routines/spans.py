"""What bounds of long products leave to norms: of a few entries of a row and of a column each.

Where a sum of products has many steps its bound does not follow each of them (``Spans`` of
``networks.bounded``). What that leaves out is at most sum w_i |a_i b_i|, w_i by the place of i in
its span of ``definition.SPAN`` steps; of a span that is at most the root of sum w_i a_i^2 times
that of sum w_i b_i^2 (Cauchy and Schwarz): a product of matrices with a step for each span.
docs/bounds.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.networks import ieee
from portmp.networks.bounded import SMALLEST, SPANS, Spans, weights
from portmp.routines import base, elementwise
from portmp.routines.gemm import launch as products
from portmp.routines.reference import Arithmetic, Host
from portmp.runtime import program
from portmp.runtime.planes import Planes, allocate

THREADS = 128
OPERATORS = ("fma", "div", "sqrt")

SMALL = {"float32": 2.0**-100, "float64": 2.0**-1000}
"""Entries are divided by the largest one, or by this: its inverse is finite."""


def of(form: Format, k: int, accuracy: str) -> Spans | None:
    """How GEMM's sums over k steps are followed; None where every step is."""
    found = SPANS.get((form.limbs, form.accumulator(accuracy).suffix))
    return found if k >= definition.SPANNED else None


def added(bounds: Planes, a: Planes, b: Planes, alpha: float, spans: Spans) -> Planes:
    """*bounds* (..., m, n), in units of u^N, and what norms add of alpha a b.

    a (..., m, k) and b (..., k, n) are leading limbs, as words.
    """
    word = bounds.format.word
    turned = [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]
    rows, columns = _norms(a, spans), _norms(b.transposed(turned), spans).transposed(turned)
    kind = np.dtype(word).type
    with np.errstate(over="ignore"):
        factor = kind(_total(spans) * abs(alpha))
    return products.gemm(rows, columns, alpha=(factor,), beta=(kind(1),), c=bounds)


def _total(spans: Spans) -> float:
    """What all products of a span count."""
    counts = weights(spans)
    return sum(counts) * (definition.SPAN // len(counts))


def norms(word: str, spans: Spans, across: bool, device: Device | None) -> KernelSpec:
    """The kernel of norms of spans; *across*: neighbours in memory are of other spans."""
    return _kernel(word, spans, across, base.threads(device, THREADS))


@cache
def _kernel(word: str, spans: Spans, across: bool, threads: int) -> KernelSpec:
    form, total = formats.get(word), _total(spans)
    return spec(
        f"span_norms{'_across' if across else ''}",
        "blas/span_norms.mako",
        form,
        {op: form.operator(op) for op in OPERATORS},
        span=definition.SPAN,
        weights=tuple(count / total for count in weights(spans)),
        small=SMALL[word],
        least=2.0 ** SMALLEST[word],
        across=across,
        threads=threads,
    )


def _norms(x: Planes, spans: Spans) -> Planes:
    """Norms of spans of rows of x (..., m, k): (..., m, spans), as neighbours lie in x."""
    *lead, m, k = x.shape
    across = abs(x.strides[-2]) < abs(x.strides[-1])
    one = norms(x.format.name, spans, across, x.device)
    known = dict(one.values)
    count = base.blocks(k, known["span"])
    out = allocate(x.format, (*lead, count, m) if across else (*lead, m, count), x.queue)
    if out.size and out.device.by_reference:
        base.on_host(out, partial(_on_host, x.format, known), x)
    elif out.size:
        flat = x if x.ndim <= 3 else elementwise.contiguous(x).view_as((math.prod(lead), m, k))
        kernel = program.kernels(out.device, one)[one.name]
        arguments = [out.size, m, k, *base.batched(flat), *out.buffers]
        threads = known["threads"]
        out.queue.launch(kernel, (base.blocks(out.size, threads), 1, 1), (threads, 1, 1), arguments)
    return out.transposed([*range(len(lead)), x.ndim - 1, x.ndim - 2]) if across else out


def _on_host(form: Format, known: Mapping[str, Any], x: Host) -> Host:
    """The same on the host, bit for bit."""
    ar, word, size = Arithmetic(form), np.dtype(form.word).type, known["span"]
    *lead, m, k = x[0].shape
    entries = np.zeros((*lead, m, base.blocks(k, size) * size), form.word)
    entries[..., :k] = np.abs(x[0])
    entries = entries.reshape(*lead, m, -1, size)
    with ieee.quiet():
        largest = np.full(entries.shape[:-1], word(known["small"]))
        for i in range(size):
            largest = np.where(entries[..., i] > largest, entries[..., i], largest)
        (inverse,) = ar.operator("div", (np.ones_like(largest),), (largest,))
        (total,) = ar.zeros(1, largest.shape)
        for i in range(size):
            z, weight = entries[..., i] * inverse, word(known["weights"][i % len(known["weights"])])
            (total,) = ar.operator("fma", (z * weight,), (z,), (total,))
        (root,) = ar.operator("sqrt", (total,))
        least = np.full_like(largest, known["least"])
        (found,) = ar.operator("fma", (largest,), (root,), (least,))
    return [np.swapaxes(found, -1, -2) if known["across"] else found]
