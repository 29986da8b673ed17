"""GEMM by integers: what products by slices and by residues share.

Definition: with K bits row i of A is scaled by 2^(K - e), e the least exponent with
|leading limb| < 2^e in the row, each limb is rounded to an integer, half to even, and a row's
integers are the sums; columns of B alike. A scheme cuts integers into words, whose products
an engine adds up exactly; sums are rounded to the format once (docs/bits.md). An element of a
row or a column with a leading limb that is not finite is the direct product's: computed from
leading limbs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Argument, Buffer, Device, Library, Queue
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ArgumentError, FormatError, OutOfMemory
from portmp.formats import Format
from portmp.routines import base, engines
from portmp.routines import gemm as direct
from portmp.routines.ozaki import reference
from portmp.routines.ozaki.integers import Integers
from portmp.runtime import program
from portmp.runtime.planes import Planes, allocate

THREADS = 256
TILE = 32
"""Rows and depth of cut operands come in whole tiles."""

SEARCH_COLUMNS, MOST_SLABS = 256, 65535
"""Columns, at least, that a block searches where rows are neighbours; slabs of a launch."""

LANES = {True: 8, False: 64}
"""Work-items that search a row together, by whether rows are neighbours."""

SPECIAL = 1 << 14
"""Instead of the exponent of a row with infinities or NaN."""

ROOM = 4
"""The workspace takes at most one part in so many of the device's memory by default."""


@dataclass(frozen=True)
class Words:
    """Words of an operand's rows: a buffer for each part of the depth, each of so many rows.

    ``first``: the row among them that is meant as the first one.
    """

    buffers: list[Buffer]
    rows: int
    first: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return sum(buffer.nbytes for buffer in self.buffers)


class Scheme(ABC):
    """A way to multiply integers: words that they are cut into, and sums of words' products.

    ``count``: words of an operand's integer; ``cuts``, ``sums``: formats of the words and of sums
    of their products; ``alike``: whether both factors' integers are cut alike; ``rebuilt``:
    elements of C that a work-item rebuilds, neighbours of a row; ``beside``: bytes that an element
    of C takes beside its sums.
    """

    integers: Integers
    count: int
    cuts: Format
    sums: Format
    alike = False
    rebuilt = 1
    beside = 0

    @abstractmethod
    def cut_spec(self, form: Format, second: bool, tiled: bool, threads: int) -> KernelSpec:
        """The kernel that cuts rows, of the *second* factor; *tiled*: rows are neighbours."""

    @abstractmethod
    def rebuild_spec(self, form: Format, k: int, threads: int) -> KernelSpec:
        """The kernel that rebuilds and rounds sums over *k* steps."""

    @abstractmethod
    def parts(self, k: int) -> list[tuple[int, int]]:
        """First step and length of the parts of the depth that are cut apart."""

    @abstractmethod
    def planes(self, k: int) -> int:
        """Matrices of sums that one block of C takes."""

    @abstractmethod
    def layout(self, k: int, plane: int) -> list[Argument]:
        """What the rebuilding kernel is told of planes of *plane* sums."""

    @abstractmethod
    def multiply(
        self,
        engine: Library,
        queue: Queue,
        m: int,
        n: int,
        k: int,
        left: Words,
        right: Words,
        found: Buffer,
    ) -> None:
        """All sums of a block of *m* rows and *n* columns, whole tiles, over *k* steps."""


@dataclass(frozen=True)
class Way:
    """How products are made: by which scheme and engine, in how many bytes beside the operands.

    ``workspace``: None for a share of the device's memory.
    """

    scheme: Scheme
    engine: Library
    workspace: int | None = None

    def limit(self, device: Device) -> int:
        """Bytes."""
        return self.workspace or device.properties.memory // ROOM


@cache
def exponent_spec(
    word: str, across: bool, ranges: bool = False, threads: int = THREADS
) -> KernelSpec:
    """The kernels that find exponents of rows, with *ranges* the least ones too.

    A block of *threads* searches as many rows as ``searched`` says.
    """
    name = "ozaki_ranges" if ranges else "ozaki_exponents"
    return spec(
        name,
        "ozaki/exponents.mako",
        formats.get(word),
        {},
        threads=threads,
        across=across,
        lanes=threads // searched(across, threads),
        ranges=ranges,
        special=SPECIAL,
    )


def searched(across: bool, threads: int) -> int:
    """Rows whose exponents a block of threads finds."""
    return max(threads // LANES[across], 1)


def turns(form: Format, device: Device | None) -> bool:
    """Whether blocks turn whole tiles, which takes all threads and memory of a block.

    Others read each element where it is.
    """
    nbytes = sum(np.dtype(plane).itemsize for plane in form.planes) * TILE * (TILE + 1)
    room = device is None or nbytes <= device.properties.shared_memory
    return room and base.threads(device, THREADS) == THREADS


def padded(count: int) -> int:
    """*count* in whole tiles."""
    return base.blocks(count, TILE) * TILE


@dataclass(frozen=True)
class Operand:
    """A factor as rows of integers: *view* (rows, depth) and the exponents of its rows.

    *others*: those of the columns, of a product.
    """

    view: Planes
    exponents: Buffer
    second: bool
    others: Buffer | None = None

    def words(self, scheme: Scheme, first: int, rows: int) -> Words:
        """Words of *rows* rows from *first* on, whole tiles of them."""
        parts = scheme.parts(self.view.shape[1])
        return Words([self.cut(scheme, first, rows, *part) for part in parts], padded(rows))

    def cut(self, scheme: Scheme, first: int, rows: int, start: int, depth: int) -> Buffer:
        """Words of *rows* rows from *first* on, *depth* columns from *start* on, in tiles."""
        v = self.view
        threads = base.threads(v.device, THREADS)
        tiled = turns(v.format, v.device) and abs(v.strides[0]) < abs(v.strides[1])
        tiled = tiled and self.others is None
        rows_padded, depth_padded = padded(rows), padded(depth)
        size = scheme.count * rows_padded * depth_padded
        out = allocate(scheme.cuts, (size,), v.queue).buffers[0]
        key = scheme.cut_spec(v.format, self.second, tiled, threads)
        kernel = program.kernels(v.device, key)[key.name]
        tiles = rows_padded * depth_padded // (TILE * TILE)
        blocks = tiles if tiled else base.blocks(tiles * TILE * TILE // 4, threads)
        at = v.start + first * v.strides[0] + start * v.strides[1]
        args: list[Argument] = [
            rows,
            depth,
            rows_padded,
            depth_padded,
            *v.buffers,
            at,
            *v.strides,
            self.exponents,
            first,
        ]
        args += [out] if self.others is None else [self.others, start, out]
        v.queue.launch(kernel, (blocks, 1, 1), (threads, 1, 1), args)
        return out


def operand(view: Planes, *, second: bool) -> Operand:
    """*view* (rows, depth) and the exponents of its rows."""
    return Operand(view, _exponents(view, ranges=False)[0].buffers[0], second)


def widest_range(view: Planes) -> int:
    """By how much exponents of a row's entries differ from its largest, at most; 0 is not counted.

    *view* (rows, depth). Rows with infinities or NaN do not count. Waits for the device.
    """
    rows = view.shape[0]
    most, least = (found.read_dense()[0][:rows] for found in _exponents(view, ranges=True))
    counted = (most != SPECIAL) & (least != SPECIAL)
    return int((most - least)[counted].max(initial=0))


def _exponents(view: Planes, *, ranges: bool) -> list[Planes]:
    """Exponents of rows, in the first places; with *ranges* the least ones too."""
    rows, depth = view.shape
    across = abs(view.strides[0]) < abs(view.strides[1])
    slab = max(SEARCH_COLUMNS, base.blocks(depth, MOST_SLABS)) if across else depth
    slabs = base.blocks(depth, slab)
    found = [allocate(engines.INTS, (slabs * rows,), view.queue) for _ in range(1 + ranges)]
    out = [each.buffers[0] for each in found]
    threads = base.threads(view.device, THREADS)
    key = exponent_spec(view.format.word, across, ranges, threads)
    kernels = program.kernels(view.device, key)
    grid = (base.blocks(rows, searched(across, threads)), slabs, 1)
    args: list[Argument] = [rows, depth, slab, view.buffers[0], view.start, *view.strides, *out]
    view.queue.launch(kernels[key.name], grid, (threads, 1, 1), args)
    if slabs > 1:
        grid = (base.blocks(rows, threads), 1, 1)
        view.queue.launch(
            kernels[f"{key.name}_combine"], grid, (threads, 1, 1), [rows, slabs, *out]
        )
    return found


def check(form: Format, device: Device, method: str, engine: str, workspace: object) -> None:
    """Refuse formats, devices and options that no scheme has."""
    if form.paper:
        known = ", ".join(formats.STANDARD)
        raise FormatError(f"method: {method} given, format {form.name} has none; formats: {known}")
    if not device.properties.float64:
        raise ArgumentError(f"method: {method} given, {device.name} has no float64")
    engines.check(engine)
    if workspace is not None and (
        isinstance(workspace, bool)
        or not isinstance(workspace, (int, np.integer))
        or workspace <= 0
    ):
        raise ArgumentError(f"workspace: {workspace!r} given, a positive number of bytes is needed")


def gemm(
    a: Planes,
    b: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None,
    out: Planes | None,
    way: Way,
) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    addend, target = direct.operands(a, b, c, out, beta)
    if not a.shape[-1] or base.is_number(alpha, 0):
        return direct.gemm(a, b, alpha=alpha, beta=beta, c=c, out=target)
    if not target.size:
        return target
    batch = target.shape[:-2]
    views = [v.broadcast_to((*batch, *v.shape[-2:])) for v in (a, b, addend, target)]
    for each in np.ndindex(*batch):
        update(*(base.matrix_of(v, each) for v in views), alpha=alpha, beta=beta, way=way)
    return target


def update(
    a: Planes,
    b: Planes,
    c: Planes,
    out: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    way: Way,
) -> None:
    """The same of matrices that fit each other, over one step at least. Nothing is checked."""
    if out.device.by_reference:
        on_host = partial(reference.product, a.format, way.scheme.integers)
        base.on_host(out, on_host, a, b, alpha, beta, c)
        return
    if abs(out.strides[0]) < abs(out.strides[1]):
        # Neighbours of a row of C are written at once: of a view by columns the transposed product
        # is made, whose sums are the same integers.
        a, b, c, out = (v.transposed((1, 0)) for v in (b, a, c, out))
    left = operand(a, second=False)
    right = operand(b.transposed((1, 0)), second=True)
    product = _Product(left, right, c, out, alpha=alpha, beta=beta, way=way)
    in_blocks(left, right, way, product.block)


def in_blocks(
    left: Operand, right: Operand, way: Way, block: Callable[[Words, Words, slice, slice], None]
) -> None:
    """Call *block* with words of rows and of columns, and which these are, block by block."""
    (m, k), n, scheme = left.view.shape, right.view.shape[0], way.scheme
    held_bytes = left.exponents.nbytes + right.exponents.nbytes
    rows, columns = blocks(scheme, m, n, k, way.limit(left.view.device), held_bytes)
    for j in range(0, n, columns):
        width = min(columns, n - j)
        held = right.words(scheme, j, width)
        for i in range(0, m, rows):
            height = min(rows, m - i)
            mine = left.words(scheme, i, height)
            block(mine, held, slice(i, i + height), slice(j, j + width))
            del mine  # before memory for the next block is asked for
        del held


def square(
    a: Planes,
    c: Planes,
    parts: Sequence[tuple[slice, slice]],
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    way: Way,
) -> None:
    """Blocks of c (n, n) become alpha a a^T + beta c, for a (n, k) that shares no element with c.

    *parts*: rows and columns of each block; they begin at multiples of TILE. Rows of a are cut
    once, or once as the first factor and once as the second one where these are not alike, if
    that fits the workspace; else for each block. Nothing is checked.
    """
    k, b, scheme = a.shape[1], a.transposed((1, 0)), way.scheme
    options: dict[str, Any] = {"alpha": alpha, "beta": beta, "way": way}
    spans = [_span([part[side] for part in parts]) for side in (0, 1)]
    if scheme.alike:
        spans = [_span(spans)]
    sizes = [[v.stop - v.start for v in part] for part in parts]
    sums = max(padded(m) * padded(n) for m, n in sizes)
    needed = _bytes_of_cuts(scheme, k) * sum(padded(v.stop - v.start) for v in spans)
    needed += _bytes_of_sums(scheme, k) * sums + a.shape[0] * engines.INTS.dtype(0).itemsize
    nothing = not k or base.is_number(alpha, 0)
    if nothing or needed > way.limit(c.device):
        for rows, columns in parts:
            block = _part(c, rows, columns)
            left, right = _part(a, rows, slice(0, k)), _part(b, slice(0, k), columns)
            if nothing:
                gemm(left, right, c=block, out=block, **options)
            else:
                update(left, right, block, block, **options)
        return
    mine = operand(a, second=False)
    product = _Product(mine, replace(mine, second=True), c, c, **options)
    words = [
        one.words(scheme, span.start, span.stop - span.start)
        for one, span in zip((product.left, product.right), spans, strict=not scheme.alike)
    ]
    for rows, columns in parts:
        product.block(
            replace(words[0], first=rows.start - spans[0].start),
            replace(words[-1], first=columns.start - spans[-1].start),
            rows,
            columns,
        )


def _span(parts: Sequence[slice]) -> slice:
    return slice(min(v.start for v in parts), max(v.stop for v in parts))


def _part(v: Planes, rows: slice, columns: slice) -> Planes:
    start = v.start + rows.start * v.strides[0] + columns.start * v.strides[1]
    return v.view((rows.stop - rows.start, columns.stop - columns.start), v.strides, start)


class _Product:
    """alpha a b + beta c of matrices, whose words are there, block by block; k > 0."""

    def __init__(
        self,
        left: Operand,
        right: Operand,
        c: Planes,
        out: Planes,
        *,
        alpha: base.ScalarLimbs,
        beta: base.ScalarLimbs,
        way: Way,
    ) -> None:
        self.left, self.right, self.c, self.out = left, right, c, out
        self.scheme, self.engine = way.scheme, way.engine
        beta_kind = 0 if base.is_number(beta, 0) else 1 if base.is_number(beta, 1) else 2
        self.end = [*alpha, *beta, np.int32(base.is_number(alpha, 1)), np.int32(beta_kind)]
        self.threads = base.threads(out.device, THREADS)
        key = self.scheme.rebuild_spec(out.format, left.view.shape[1], self.threads)
        self.kernel = program.kernels(out.device, key)[key.name]

    def block(self, first: Words, then: Words, rows: slice, columns: slice) -> None:
        """Some rows and columns of the product, by words of these rows and columns."""
        (i, j), queue, scheme = (rows.start, columns.start), self.out.queue, self.scheme
        height, width = rows.stop - i, columns.stop - j
        a, b = self.left.view, self.right.view
        k, plane = a.shape[1], padded(height) * padded(width)
        found = allocate(scheme.sums, (scheme.planes(k) * plane,), queue).buffers[0]
        scheme.multiply(self.engine, queue, padded(height), padded(width), k, first, then, found)
        args: list[Argument] = [
            height,
            width,
            k,
            *scheme.layout(k, plane),
            padded(width),
            found,
            self.left.exponents,
            i,
            self.right.exponents,
            j,
            *a.buffers,
            a.start + i * a.strides[0],
            *a.strides,
            *b.buffers,
            b.start + j * b.strides[0],
            *reversed(b.strides),
        ]
        for v in (self.c, self.out):
            args += [*v.buffers, v.start + i * v.strides[0] + j * v.strides[1], *v.strides]
        items = height * base.blocks(width, scheme.rebuilt)
        grid = (base.blocks(items, self.threads), 1, 1)
        queue.launch(self.kernel, grid, (self.threads, 1, 1), [*args, *self.end])


def blocks(scheme: Scheme, m: int, n: int, k: int, limit: int, held: int = 0) -> tuple[int, int]:
    """Rows and columns of C at a time, so that cut operands and sums stay below *limit* bytes.

    *held* bytes of them are taken already. OutOfMemory where even the smallest block takes more.
    """
    rows, columns = padded(m), padded(n)
    while (needed := bytes_of(scheme, k, rows, columns) + held) > limit:
        if rows == columns == TILE:
            raise OutOfMemory(
                f"workspace: {limit} bytes allowed, the smallest block of a product over {k} "
                f"steps needs {needed}"
            )
        if rows >= columns:
            rows = padded(rows // 2)
        else:
            columns = padded(columns // 2)
    return rows, columns


def bytes_of(scheme: Scheme, k: int, rows: int = TILE, columns: int = TILE) -> int:
    """What a block of C takes over *k* steps, by default the smallest one."""
    of_cuts, of_sums = _bytes_of_cuts(scheme, k), _bytes_of_sums(scheme, k)
    return of_cuts * (rows + columns) + of_sums * rows * columns


def _bytes_of_cuts(scheme: Scheme, k: int) -> int:
    """Bytes of the words of a row."""
    depth = sum(padded(steps) for _, steps in scheme.parts(k))
    return scheme.count * depth * scheme.cuts.dtype(0).itemsize


def _bytes_of_sums(scheme: Scheme, k: int) -> int:
    """Bytes of the sums of an element of C, and of what stands beside them."""
    return scheme.planes(k) * scheme.sums.dtype(0).itemsize + scheme.beside
