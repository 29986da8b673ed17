"""Jacobi's method for symmetric matrices of at most ``definition.ROTATED`` rows, many at once.

Definition: a sweep has 2h - 1 steps, h = ceil(m / 2), and step r turns the pairs (r + i, r - i)
modulo 2h - 1, i from 1 to h - 1, and (r, 2h - 1) as number i = 0; an index m rests. A pair p < q is
left alone where the leading limb b of a_qp has |b| <= max(tolerance sqrt|a_pp| sqrt|a_qq|, least),
in plain operations on leading limbs. Else f = div(sub(a_qq, a_pp), add(a_qp, a_qp)); t = div(1,
add(|f|, sqrt(add(mul(f, f), 1)))), beyond 2^500 (float32 words: 2^60) div(1/2, |f|), with f's sign;
c = div(1, sqrt(add(mul(t, t), 1))), s = mul(t, c), g = div(s, add(1, c)), h = mul(t, a_qp): a_pp =
sub(a_pp, h), a_qq = add(a_qq, h), a_qp = 0. Elements (x, y) of rows p and q, or of columns p and q
of the vectors, become fma(-s, fma(g, x, y), x) and fma(s, fma(-g, y, x), y). An element whose row
and column belong to two pairs is turned by the pair with the lower number first. Sweeps end with
one that turns nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.jacobi import reference
from portmp.routines.jacobi.rule import Rule
from portmp.routines.reference import Host
from portmp.routines.triangular.launch import threads_of
from portmp.runtime import program
from portmp.runtime.planes import Planes, allocate, allocate_numbers

THREADS = 256
FEW = 64
"""Threads for matrices of at most ``SMALL`` rows, and of a block that measures a row."""
SMALL = 16


@cache
def kernel_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """Sweeps of small matrices."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("add", "sub", "mul", "div", "sqrt", "neg", "fma")}
    sizes: dict[str, Any] = {"threads": threads, "most": definition.ROTATED}
    return spec("jacobi", "linalg/jacobi.mako", f, roles, **sizes)


@cache
def measure_spec(form: str, threads: int = FEW) -> KernelSpec:
    """How far matrices are from diagonal ones."""
    return spec("off_diagonal", "linalg/off_diagonal.mako", formats.get(form), {}, threads=threads)


def unit(form: Format, device: Device | None, m: int) -> tuple[KernelSpec, ...]:
    """The kernel of matrices of m rows."""
    usual = FEW if m <= SMALL else THREADS
    return (kernel_spec(form.name, threads_of(device, usual)),)


def measure_unit(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel that measures."""
    return (measure_spec(form.name, threads_of(device, FEW)),)


class Turned(NamedTuple):
    """Vectors as columns (batch, m, m), and the number of sweeps that turned something."""

    v: Planes | None
    sweeps: np.ndarray[Any, np.dtype[np.int32]] | None


def turned(
    a: Planes,
    rule: Rule,
    *,
    sweeps: int,
    v: Planes | None = None,
    shift: int = 0,
    counted: bool = True,
) -> np.ndarray[Any, Any]:
    """Overwrite the lower triangles of a (batch, m, m) by almost diagonal ones; their vectors to v.

    Column j of the vectors becomes column j + *shift*, modulo m. Returns how many sweeps turned
    something, *sweeps* at most, which waits; not *counted*: nothing.
    """
    batch, m, _ = a.shape
    made = np.zeros(batch, np.int32)
    if not a.size:
        return made
    if a.device.by_reference:
        for each in range(batch):

            def found(planes: Host, each: int = each) -> list[Host]:
                done = reference.turned(a.format, planes, rule, sweeps, shift)
                made[each] = done.sweeps
                return [done.a] if v is None else [done.a, done.v]

            mine = base.matrix_of(a, (each,))
            outs = [mine] if v is None else [mine, base.matrix_of(v, (each,))]
            base.all_on_host(outs, found, mine)
        return made
    count = allocate_numbers("int32", (batch,), a.queue)
    (key,) = unit(a.format, a.device, m)
    threads = dict(key.values)["threads"]
    word = np.dtype(a.format.word).type
    a.queue.launch(
        program.kernels(a.device, key)[key.name],
        (batch, 1, 1),
        (threads, 1, 1),
        [
            m,
            np.int32(sweeps),
            np.int32(v is not None),
            np.int32(shift),
            word(rule.tolerance),
            word(rule.least),
            word(rule.edge),
            *base.batched(a),
            *base.batched(a if v is None else v),
            *count.buffers,
        ],
    )
    return count.read_parts()[0] if counted else made


class Measured(NamedTuple):
    """Of each matrix: how many elements below the diagonal are to be turned away; the largest.

    ``rows``: how many in each row.
    """

    counts: np.ndarray[Any, Any]
    largest: np.ndarray[Any, Any]
    rows: np.ndarray[Any, Any]


def measured(a: Planes, rule: Rule) -> Measured:
    """How far symmetric a (batch, n, n) are from diagonal ones, by lower triangles; waits."""
    batch, n, _ = a.shape
    if not a.size:
        return Measured(np.zeros(batch, int), np.zeros(batch), np.zeros((batch, n), int))
    if a.device.by_reference:
        rows = [
            reference.measured(a.format, base.matrix_of(a, (each,)).decoded(), rule)
            for each in range(batch)
        ]
        counts, largest = (np.array(part) for part in zip(*rows, strict=True))
    else:
        (key,) = measure_unit(a.format, a.device)
        threads = dict(key.values)["threads"]
        number = allocate_numbers("int32", (batch, n), a.queue)
        sizes = allocate(formats.get(a.format.word), (batch, n), a.queue)
        word = np.dtype(a.format.word).type
        a.queue.launch(
            program.kernels(a.device, key)[key.name],
            (batch * n, 1, 1),
            (threads, 1, 1),
            [
                n,
                word(rule.tolerance),
                word(rule.least),
                word(rule.edge),
                *base.batched(a),
                *number.buffers,
                *sizes.buffers,
            ],
        )
        counts, largest = number.read_parts()[0], sizes.read_parts()[0]
    return Measured(counts.sum(axis=1), largest.max(axis=1).astype(np.float64), counts)
