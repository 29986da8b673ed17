"""GEMM by residues: integers of rows and columns, int8 products, the Chinese remainder theorem.

Definition: with K bits (``residues.system``) row i of A is scaled by 2^(K - e), e the least
exponent with |leading limb| < 2^e in the row, each limb is rounded to an integer, half to
even, and a row's integers are the sums; columns of B alike. The sum of their products is
exact, and rounded to the format once (docs/bits.md). An element of a row or a column with a
leading limb that is not finite is the direct product's: computed from leading limbs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from portmp import definition, formats, program
from portmp.backends.base import Argument, Buffer, Device
from portmp.errors import ArgumentError, FormatError, OutOfMemory
from portmp.formats import Format
from portmp.ozaki import Ozaki2, residues
from portmp.ozaki.residues import System
from portmp.planes import Planes, allocate
from portmp.program import Module
from portmp.routines import base, engines
from portmp.spec import KernelSpec, spec

THREADS = 256
TILE = 32
"""Rows and depth of residues come in whole tiles."""

SLAB, MOST_SLABS = 256, 65535
"""Columns, at least, that a work-item searches where rows are neighbours; slabs of a launch."""

SPECIAL = 1 << 14
"""Instead of the exponent of a row with infinities or NaN."""

ROOM = 4
"""The workspace takes at most one part in so many of the device's memory by default."""

BYTES = formats.Format("residues", ("int8",), "float32", {}, {}, "residues of integers")
INTS = formats.Format("integers", ("int32",), "float32", {}, {}, "exponents and products")


@cache
def exponent_spec(word: str, across: bool) -> KernelSpec:
    """The kernels that find exponents of rows."""
    return spec(
        "ozaki_exponents", "ozaki/exponents.mako", formats.get(word), {},
        threads=THREADS, across=across, special=SPECIAL,
    )  # fmt: skip


@cache
def residue_spec(form: str, system: System, inverted: bool, tiled: bool) -> KernelSpec:
    """The kernel that takes residues of rows."""
    return spec(
        f"ozaki_residues{'_a' if inverted else '_b'}", "ozaki/residues.mako", formats.get(form), {},
        threads=THREADS, system=system, inverted=inverted, tiled=tiled, tile=TILE, special=SPECIAL,
    )  # fmt: skip


@cache
def rebuild_spec(form: str, system: System) -> KernelSpec:
    """The kernel that rebuilds and rounds sums."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("add", "mul")}
    return spec(
        "ozaki_rebuild", "ozaki/rebuild.mako", f, roles, threads=THREADS, system=system,
        doubles=doubles(f), slab=definition.SLAB, special=SPECIAL,
    )  # fmt: skip


def modules(form: Format, device: Device | None = None) -> dict[str, Module]:
    """The modules of products over few steps, by name; none where moduli are too few."""
    try:
        system = residues.system(form, 1)
    except FormatError:
        return {}
    found = [
        exponent_spec(form.word, False),
        residue_spec(form.name, system, True, False),
        residue_spec(form.name, system, False, True),
        rebuild_spec(form.name, system),
        engines.product_spec(),
    ]
    return {one.name: (one,) for one in found}


def doubles(form: Format) -> int:
    """How many float64 words hold a sum until it is rounded to the format."""
    return form.limbs if form.word == "float64" else (1, 2, 2, 3)[form.limbs - 1]


@dataclass(frozen=True)
class Operand:
    """A factor as rows of integers: *view* (rows, depth) and the exponents of its rows."""

    view: Planes
    exponents: Buffer
    inverted: bool

    def residues(self, system: System, first: int, rows: int, start: int, depth: int) -> Buffer:
        """Residues of *rows* rows from *first* on, *depth* columns from *start* on, in tiles."""
        v = self.view
        tiled = abs(v.strides[0]) < abs(v.strides[1])
        rows_padded, depth_padded = padded(rows), padded(depth)
        out = allocate(BYTES, (system.count * rows_padded * depth_padded,), v.queue).buffers[0]
        key = residue_spec(v.format.name, system, self.inverted, tiled)
        kernel = program.kernels(v.device, key)[key.name]
        tiles = rows_padded * depth_padded // (TILE * TILE)
        blocks = tiles if tiled else base.blocks(tiles * TILE * TILE // 4, THREADS)
        at = v.start + first * v.strides[0] + start * v.strides[1]
        args: list[Argument] = [
            rows, depth, rows_padded, depth_padded, *v.buffers, at, *v.strides,
            self.exponents, first, out,
        ]  # fmt: skip
        v.queue.launch(kernel, (blocks, 1, 1), (THREADS, 1, 1), args)
        return out


def padded(count: int) -> int:
    """*count* in whole tiles."""
    return base.blocks(count, TILE) * TILE


def operand(view: Planes, *, inverted: bool) -> Operand:
    """*view* (rows, depth) and the exponents of its rows."""
    rows, depth = view.shape
    across = abs(view.strides[0]) < abs(view.strides[1])
    slab = max(SLAB, base.blocks(depth, MOST_SLABS)) if across else depth
    slabs = base.blocks(depth, slab)
    found = allocate(INTS, (slabs * rows,), view.queue).buffers[0]
    key = exponent_spec(view.format.word, across)
    kernels = program.kernels(view.device, key)
    grid = (base.blocks(rows, THREADS) if across else rows, slabs, 1)
    args: list[Argument] = [rows, depth, slab, view.buffers[0], view.start, *view.strides, found]
    view.queue.launch(kernels["ozaki_exponents"], grid, (THREADS, 1, 1), args)
    if slabs > 1:
        grid = (base.blocks(rows, THREADS), 1, 1)
        view.queue.launch(
            kernels["ozaki_exponents_combine"], grid, (THREADS, 1, 1), [rows, slabs, found]
        )
    return Operand(view, found, inverted)


def check(form: Format, device: Device, k: int, method: Ozaki2) -> None:
    """Refuse formats, devices and options that have no product by residues."""
    if not isinstance(method, Ozaki2):
        raise ArgumentError(f"method: {method!r} given, an Ozaki2 is needed")
    if form.paper:
        known = ", ".join(formats.STANDARD)
        raise FormatError(f"method: ozaki2 given, format {form.name} has none; formats: {known}")
    if not device.properties.float64:
        raise ArgumentError(f"method: ozaki2 given, {device.name} has no float64")
    engines.check(method.engine)
    if method.workspace is not None and (
        type(method.workspace) is bool
        or not isinstance(method.workspace, (int, np.integer))
        or method.workspace <= 0
    ):
        raise ArgumentError(
            f"workspace: {method.workspace!r} given, a positive number of bytes is needed"
        )
    residues.system(form, k, method.moduli)


def gemm(
    a: Planes, b: Planes, c: Planes, out: Planes, alpha: base.Words, beta: base.Words,
    method: Ozaki2,
) -> None:  # fmt: skip
    """alpha a b + beta c for matrices a (m, k), b (k, n), c and out (m, n); k > 0."""
    form, device, k = a.format, a.device, a.shape[1]
    system = residues.system(form, k, method.moduli)
    engine = engines.get(device, method.engine)
    m, n = out.shape
    left = operand(a, inverted=True)
    right = operand(b.transposed((1, 0)), inverted=False)
    limit = method.workspace or device.properties.memory // ROOM
    rows, columns = blocks(system, m, n, k, limit)
    beta_kind = 0 if base.is_number(beta, 0) else 1 if base.is_number(beta, 1) else 2
    end = [*alpha, *beta, np.int32(base.is_number(alpha, 1)), np.int32(beta_kind)]
    key = rebuild_spec(form.name, system)
    kernel = program.kernels(device, key)[key.name]
    parts = [(s, min(residues.DEPTH, k - s)) for s in range(0, k, residues.DEPTH)]
    for j in range(0, n, columns):
        width = min(columns, n - j)
        cached: list[Buffer] = []
        cached += (right.residues(system, j, width, s, d) for s, d in parts)
        for i in range(0, m, rows):
            height = min(rows, m - i)
            stride = padded(height) * padded(width)
            found = allocate(INTS, (len(parts) * system.count * stride,), out.queue).buffers[0]
            for part, (s, d) in enumerate(parts):
                engine.multiply(
                    out.queue, "int8", padded(height), padded(width), padded(d), system.count,
                    left.residues(system, i, height, s, d), cached[part],
                    found, part * system.count * stride,
                )  # fmt: skip
            views = [(v.start + i * v.strides[0] + j * v.strides[1], v) for v in (c, out)]
            args: list[Argument] = [
                height, width, k, len(parts), stride, system.count * stride, padded(width), found,
                left.exponents, i, right.exponents, j,
                *a.buffers, a.start + i * a.strides[0], *a.strides,
                *b.buffers, b.start + j * b.strides[1], *b.strides,
            ]  # fmt: skip
            for start, v in views:
                args += [*v.buffers, start, *v.strides]
            grid = (base.blocks(height * width, THREADS), 1, 1)
            out.queue.launch(kernel, grid, (THREADS, 1, 1), [*args, *end])
            del found, args  # before memory for the next block is asked for
        del cached


def blocks(system: System, m: int, n: int, k: int, limit: int) -> tuple[int, int]:
    """Rows and columns of C at a time, so that residues and products stay below *limit* bytes.

    OutOfMemory where even the smallest block takes more.
    """
    parts = base.blocks(k, residues.DEPTH)

    def needed(rows: int, columns: int) -> int:
        return system.count * (padded(k) * (rows + columns) + 4 * parts * rows * columns)

    rows, columns = padded(m), padded(n)
    while needed(rows, columns) > limit:
        if rows == columns == TILE:
            raise OutOfMemory(
                f"workspace: {limit} bytes allowed, the smallest block of a product over {k} "
                f"steps needs {needed(rows, columns)}"
            )
        if rows >= columns:
            rows = padded(rows // 2)
        else:
            columns = padded(columns // 2)
    return rows, columns
