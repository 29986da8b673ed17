"""Jacobi's method for symmetric matrices of at most ``definition.ROTATED`` rows, many at once.

Definition: a sweep has 2h - 1 steps, h = ceil(m / 2), and step r turns the pairs (r + i, r - i)
modulo 2h - 1, i from 1 to h - 1, and (r, 2h - 1) as number i = 0; an index m rests. A pair p < q is
left alone where the leading limb b of a_qp has |b| <= max(tolerance sqrt|a_pp| sqrt|a_qq|, least),
in plain operations on leading limbs. Else f = div(sub(a_qq, a_pp), add(a_qp, a_qp)); t = div(1,
add(|f|, sqrt(add(mul(f, f), 1)))), beyond 2^500 (float32 words: 2^60) div(1/2, |f|), with f's sign;
c = div(1, sqrt(add(mul(t, t), 1))), s = mul(t, c), g = div(s, add(1, c)), h = mul(t, a_qp): a_pp =
sub(a_pp, h), a_qq = add(a_qq, h), a_qp = 0. Elements (x, y) of rows p and q, or of columns p and q
of the vectors, become fma(-s, fma(g, x, y), x) and fma(s, fma(-g, y, x), y). Of Hermitian matrices
the larger leading limb of its two parts is that of an element, and the lower triangle counts; a_qp
is hypot of its parts in f and h, and with its phase, ``sign`` of a_qp, which is of length 1 however
tiny that is, w and r are s and g times the phase, each part by mul. Rows become x - conj(w) (r x +
y) and y + w (x - conj(r) y) (``networks.complexes``), columns likewise with conjugates of w and r.
An element whose row and column belong to two pairs is turned by the pair with the lower number
first. Sweeps end with one that turns nothing.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, Parameter, Plain, Scratch, matrix
from portmp.formats import Format
from portmp.networks import complexes
from portmp.routines import base
from portmp.routines.base import threads_of
from portmp.routines.jacobi import reference
from portmp.routines.jacobi.rule import Rule
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, allocate_numbers

THREADS = 256
FEW = 64
"""Threads for matrices of at most ``SMALL`` rows, and of a block that measures a row."""
SMALL = 16


def _limits(f: Format) -> list[Parameter]:
    return [Plain(name, f.word) for name in Rule._fields]


def parts_of(form: Format, *operands: str) -> dict[str, Format]:
    """How operands lie in memory whose parts kernels compute with."""
    return dict.fromkeys(operands, form) if form.components > 1 else {}


@cache
def kernel_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """Sweeps of small matrices."""
    whole = formats.get(form)
    f = whole.component
    roles = f.roles("add", "sub", "mul", "div", "sqrt", "neg", "fma")
    if whole is not f:
        roles |= f.roles("hypot")
        nets = {"sign": "sign", "low": "rotated_low", "high": "rotated_high"}
        roles |= {role: complexes.network(op, f.word, f.limbs) for role, op in nets.items()}
    sizes: dict[str, Any] = {"threads": threads, "most": definition.ROTATED}
    sizes |= {"parts": whole.components, "stored": parts_of(whole, "a", "v")}
    sizes["takes"] = (
        *(Index("size"), *(Flag(name) for name in ("sweeps", "vectors", "shift")), *_limits(f)),
        *(matrix("a", const=False), matrix("v", const=False), Scratch("sweeps_made", "int32")),
    )
    return spec("jacobi", "linalg/jacobi.mako", f, roles, **sizes)


@cache
def measure_spec(form: str, threads: int = FEW) -> KernelSpec:
    """How far matrices are from diagonal ones."""
    whole = formats.get(form)
    f = whole.component
    found = Scratch("counts", "int32"), Scratch("largest", f.word)
    takes = Index("n"), *_limits(f), matrix("a"), *found
    sizes: dict[str, Any] = {"takes": takes, "threads": threads, "parts": whole.components}
    sizes["stored"] = parts_of(whole, "a")
    return spec("off_diagonal", "linalg/off_diagonal.mako", f, {}, **sizes)


def unit(form: Format, device: Device | None, m: int) -> tuple[KernelSpec, ...]:
    """The kernel of matrices of m rows."""
    usual = FEW if m <= SMALL else THREADS
    return (kernel_spec(form.name, threads_of(device, usual)),)


def measure_unit(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel that measures."""
    return (measure_spec(form.name, threads_of(device, FEW)),)


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
    if not a.size:
        return np.zeros(batch, np.int32)

    def by_reference(a: Planes) -> np.ndarray[Any, Any]:
        made = partial(reference.turned, a.format, rule=rule, sweeps=sweeps, shift=shift)
        every = base.each_changed([a] if v is None else [a, v], made, a)
        return np.array([one.sweeps for one in every], np.int32)

    def by_kernels(a: Planes) -> np.ndarray[Any, Any]:
        count = allocate_numbers("int32", (batch,), a.queue)
        given = {"size": m, "sweeps": sweeps, "vectors": v is not None, "shift": shift, "a": a}
        given |= {"v": a if v is None else v, "sweeps_made": count}
        _run(unit(a.format, a.device, m), batch, rule, given)
        return count.read_parts()[0] if counted else np.zeros(batch, np.int32)

    return launch.do((a,), by_kernels, by_reference)


def _run(unit: tuple[KernelSpec, ...], blocks: int, rule: Rule, given: dict[str, Any]) -> None:
    """Launch a kernel that goes by a rule."""
    block = (dict(unit[0].values)["threads"], 1, 1)
    launch.run(given["a"].queue, unit, (blocks, 1, 1), block, given | rule._asdict())


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
    counts, largest = launch.do((a,), partial(_measure, rule), partial(_measure_on_host, rule))
    return Measured(counts.sum(axis=1), largest.max(axis=1).astype(np.float64), counts)


def _measure(rule: Rule, a: Planes) -> tuple[Any, Any]:
    """Of each row how many elements there are, and the largest."""
    rows = a.shape[:2]
    number = allocate_numbers("int32", rows, a.queue)
    sizes = allocate(formats.get(a.format.word), rows, a.queue)
    given = {"n": rows[1], "a": a, "counts": number, "largest": sizes}
    _run(measure_unit(a.format, a.device), rows[0] * rows[1], rule, given)
    return number.read_parts()[0], sizes.read_parts()[0]


def _measure_on_host(rule: Rule, a: Planes) -> tuple[Any, Any]:
    every = (base.matrix_of(a, (each,)).decoded() for each in range(a.shape[0]))
    counts, largest = zip(*(reference.measured(a.format, one, rule) for one in every), strict=True)
    return np.array(counts), np.array(largest)
