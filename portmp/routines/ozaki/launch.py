"""GEMM by integers: what products by slices and by residues share.

Definition: with K bits row i of A is scaled by 2^(K - e), e the least exponent with
|leading limb| < 2^e in the row, each limb is rounded to an integer, half to even, and a row's
integers are the sums; columns of B alike. A scheme cuts integers into words, whose products
an engine adds up exactly; sums are rounded to the format once (docs/bits.md). An element of a
row or a column with a leading limb that is not finite is the direct product's: computed from
leading limbs.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Buffer, Device, Library, Queue
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Index, Parameter, Plain, Scratch
from portmp.errors import ArgumentError, FormatError, OutOfMemory, choice
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.gemm import launch as direct
from portmp.routines.moves import launch as moves
from portmp.routines.ozaki import reference
from portmp.routines.ozaki.integers import FINE, LIFTS, Integers, doubles
from portmp.routines.products import engines
from portmp.routines.products.product import SCALARS, Asked, Product, computed_by, entries
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, View, allocate, allocate_numbers

V = TypeVar("V", bound=View[Any])

THREADS = 256
TILE = 32
"""Rows and depth of cut operands come in whole tiles."""

SEARCH_COLUMNS, MOST_SLABS = 256, 65535
"""Columns, at least, that a block searches where rows are neighbours; slabs of a launch."""

LANES = {True: 8, False: 64}
"""Work-items that search a row together, by whether rows are neighbours."""

SPECIAL = 1 << 14
"""Instead of the exponent of a row with infinities or NaN."""

COPIED = 4
"""A copy of rows takes at most one part in so many of what the smallest block leaves."""

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


class Block(NamedTuple):
    """What is multiplied at once: *m* rows and *n* columns, whole tiles, over *k* steps."""

    m: int
    n: int
    k: int
    left: Words
    right: Words
    found: Buffer
    """Where the sums go."""


class Scheme(ABC):
    """A way to multiply integers: words that they are cut into, and sums of words' products.

    ``word``: what they are multiplied as; ``count``: words of an operand's integer; ``cuts``,
    ``sums``: formats of the words and of sums of their products; ``components``: 2 where factors
    are the real matrices [p, -q; q, p] and [r; s] of complex ones; ``alike``: whether both factors'
    integers are cut alike; ``rebuilt``: elements of C that a work-item rebuilds, neighbours of a
    row; ``beside``: bytes that an element of C takes beside its sums.
    """

    integers: Integers
    word: str
    count: int
    cuts: Format
    sums: Format
    components = 1
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
    def layout(self, k: int, plane: int) -> dict[str, int]:
        """What the rebuilding kernel is told of planes of *plane* sums."""

    @abstractmethod
    def multiply(self, engine: Library, queue: Queue, block: Block) -> None:
        """All sums of a block."""


def units_of(scheme: Scheme, form: Format, device: Device | None) -> list[KernelSpec]:
    """The kernels that cut both factors of a product over few steps, and rebuild its sums."""
    threads = base.threads(device, THREADS)
    return [
        scheme.cut_spec(form, False, False, threads),
        scheme.cut_spec(form, True, turns(form, device), threads),
        scheme.rebuild_spec(form, 1, threads),
    ]


def searching(form: Format, device: Device | None) -> KernelSpec:
    """The kernel that finds exponents of rows."""
    return exponent_spec(form.word, False, threads=base.threads_of(device, THREADS))


@dataclass(frozen=True)
class Way:
    """How products are made: by which scheme and engine, in how many bytes beside the operands.

    ``workspace``: None for a share of the device's memory. ``asked``: the options that all of this
    follows from, with formats, steps and the device.
    """

    scheme: Scheme
    engine: Library
    workspace: int | None = None
    asked: object = None

    def limit(self, device: Device) -> int:
        """Bytes."""
        return self.workspace or device.properties.memory // ROOM

    def at_once(self, given: Product[Planes]) -> bool:
        """Whether a product is made in one block: a plan takes the memory of all that it has."""
        (m, n), scheme, parts = given.out.shape, self.scheme, self.scheme.components
        sides = padded(m // parts), padded(n)
        needed = bytes_of(scheme, given.steps // parts, *sides)
        return needed <= self.limit(given.out.device) // 2


EXPONENT = ("most",)
RANGES = "most", "least", "count", "begin", "last"
SUMS = ("sums",)
"""What is found of rows: exponents; these and, of entries that are not 0, the least exponent, how
many there are, and where the first and the last one is; sums of magnitudes, and with them what
sizes are lifted by."""


@cache
def exponent_spec(
    word: str, across: bool, finds: tuple[str, ...] = EXPONENT, threads: int = THREADS
) -> KernelSpec:
    """The kernels that find what is known of rows.

    A block of *threads* searches as many rows as ``searched`` says.
    """
    name = {EXPONENT: "ozaki_exponents", RANGES: "ozaki_ranges", SUMS: "ozaki_sums"}[finds]
    rows, a = Index("rows"), Array("a", ("row", "col"), plain=(word,))
    known, more = [], []
    if finds == SUMS:
        known = [Array("exponents", plain=("int32",), numbered=False)]
        more = [Scratch("count", "int32", const=True), Scratch("lift_found", "int32")]
    found = [Scratch(f"{one}_found", FOUND.get(one, "int32")) for one in finds]
    return spec(
        name,
        "ozaki/exponents.mako",
        formats.get(word),
        {},
        takes={
            name: [rows, Index("columns"), Index("slab"), a, *known, *found],
            f"{name}_combine": [rows, Index("slabs"), *found, *more],
        },
        threads=threads,
        across=across,
        lanes=threads // searched(across, threads),
        finds=finds,
        special=SPECIAL,
        fine=FINE,
        lifts=LIFTS,
    )


FOUND = {"sums": "int64"}
"""Types of what is found, where it is not int32."""


@cache
def cut_spec(
    name: str, template: str, form: Format, kind: str, threads: int, **values: Any
) -> KernelSpec:
    """A kernel that cuts rows into words of a *kind*.

    With ``across`` among its values those of a product, whose columns count too.
    """
    sizes = [Index(one) for one in ("rows", "depth", "rows_padded", "depth_padded")]
    strides = ("part", "row", "col") if values["integers"].components > 1 else ("row", "col")
    exponents = ("exponents", "others") if values.get("across") else ("exponents",)
    found = [Array(one, plain=("int32",), numbered=False) for one in exponents]
    return spec(
        name,
        f"ozaki/{template}.mako",
        form,
        {},
        takes=[*sizes, Array("a", strides), *found, Scratch("out", kind)],
        threads=threads,
        tile=TILE,
        special=SPECIAL,
        **values,
    )


EXPONENTS = (
    *(Scratch("a_exponents", "int32", const=True), Index("a_first")),
    *(Scratch("b_exponents", "int32", const=True), Index("b_first")),
)
"""What kernels that rebuild take of a block's rows and columns."""


def rebuild_takes(layout: Sequence[str], kind: str) -> list[Parameter]:
    """What a kernel takes that rebuilds sums, words of a *kind* that lie by a *layout*."""
    return [
        *(Index(one) for one in ("m", "n", "k", *layout, "row_stride")),
        *(Scratch("products", kind, const=True), *EXPONENTS),
        *(Array(one, ("row", "col")) for one in "abc"),
        *(Array("out", ("row", "col"), const=False), *SCALARS),
    ]


def compared_takes(kind: str, word: str) -> list[Parameter]:
    """What a kernel takes that tells how far results, words, are off."""
    words = partial(Array, strides=("row", "col"), plain=(word,), numbered=False)
    return [
        *(Index(one) for one in ("m", "n", "stride", "row_stride")),
        *(Scratch("products", kind, const=True), Scratch("results", "int8", const=True)),
        *(*EXPONENTS, words("z"), words("out", const=False)),
        *(Plain(one, "float64") for one in ("cut", "known", "lost")),
        *(Flag("least"), Flag("most")),
    ]


@cache
def rebuild_spec(
    name: str,
    template: str,
    form: Format,
    layout: tuple[str, ...],
    kind: str,
    threads: int,
    *,
    width: int = 1,
    **values: Any,
) -> KernelSpec:
    """A kernel that rebuilds sums of a *kind*, which lie by a *layout*, and rounds them.

    With ``distances`` among its values it tells how far results are off.
    """
    distances = values.get("distances", False)
    return spec(
        name,
        f"ozaki/{template}.mako",
        form,
        form.roles("add", "mul"),
        width=width,
        takes=compared_takes(kind, form.word) if distances else rebuild_takes(layout, kind),
        threads=threads,
        doubles=doubles(form),
        slab=definition.SLAB,
        special=SPECIAL,
        **values,
    )


def searched(across: bool, threads: int) -> int:
    """Rows whose exponents a block of threads finds."""
    return max(threads // LANES[across], 1)


def turns(form: Format, device: Device | None) -> bool:
    """Whether blocks turn whole tiles, which takes all threads and memory of a block.

    Others read each element where it is, and CPUs copy rows before (``as_rows``).
    """
    if device and device.properties.kind == "cpu":
        return False
    nbytes = sum(np.dtype(plane).itemsize for plane in form.planes) * TILE * (TILE + 1)
    room = device is None or nbytes <= device.properties.shared_memory
    return room and base.threads(device, THREADS) == THREADS


def padded(count: int) -> int:
    """*count* in whole tiles."""
    return base.blocks(count, TILE) * TILE


@dataclass(frozen=True)
class Operand:
    """A factor as rows of integers: *view* (rows, depth) and the exponents of its rows.

    *others*: those of the columns, of a product; *known*: what else a kernel takes of rows;
    *copied*: bytes of a view that is a copy.
    """

    view: Planes
    exponents: Numbers
    second: bool
    others: Numbers | None = None
    known: Mapping[str, Numbers] = field(default_factory=dict)
    copied: int = 0

    @property
    def held(self) -> int:
        """Bytes beside words."""
        return self.exponents.buffers[0].nbytes + self.copied

    def words(self, scheme: Scheme, first: int, rows: int) -> Words:
        """Words of *rows* rows from *first* on, whole tiles of them."""
        parts = scheme.parts(self.view.shape[1] // scheme.components)
        held = padded(rows)
        return Words([self.cut(scheme, first, rows, *part).buffers[0] for part in parts], held)

    def cut(self, scheme: Scheme, first: int, rows: int, start: int, depth: int) -> Planes:
        """Words of *rows* rows from *first* on, *depth* columns from *start* on, in tiles."""
        v = self.view
        threads = base.threads(v.device, THREADS)
        tiled = turns(v.format, v.device) and abs(v.strides[0]) < abs(v.strides[1])
        tiled = tiled and self.others is None
        rows_padded, depth_padded = padded(rows), padded(depth)
        size = scheme.count * rows_padded * depth_padded
        out = allocate(scheme.cuts, (size,), v.queue)
        key = scheme.cut_spec(v.format, self.second, tiled, threads)
        tiles = rows_padded * depth_padded // (TILE * TILE)
        blocks = tiles if tiled else base.blocks(tiles * TILE * TILE // 4, threads)
        given: dict[str, Any] = {"rows": rows, "depth": depth, "out": out}
        given |= {"rows_padded": rows_padded, "depth_padded": depth_padded}
        given["a"] = part_of(v, slice(first, first + rows), slice(start, start + depth))
        if scheme.components > 1:
            # The imaginary parts: of [p, -q; q, p] below, of [r; s] behind.
            axis = int(self.second)
            steps = v.shape[axis] // 2 * v.strides[axis], *v.strides
            given["a"] = v.view((2, rows, depth), steps, given["a"].start)
        for name, one in {"exponents": self.exponents, **self.known}.items():
            given[name] = one.view((rows,), (1,), first)
        if self.others is not None:
            given["others"] = self.others.view((depth,), (1,), start)
        launch.run(v.queue, (key,), (blocks, 1, 1), (threads, 1, 1), given)
        return out


def operand(view: Planes, way: Way, *, second: bool, most: Numbers | None = None) -> Operand:
    """*view* (rows, depth) and the exponents of its rows, which are found if they are not given."""
    held, nbytes = as_rows(view, way)
    return Operand(held, most or found_of_rows(held)["most"], second, copied=nbytes)


def as_rows(view: Planes, way: Way) -> tuple[Planes, int]:
    """A matrix whose rows are read again and again, and bytes of a copy.

    A CPU copies them where elements of a row lie apart, and the workspace has room.
    """
    if view.device.properties.kind != "cpu" or abs(view.strides[0]) >= abs(view.strides[1]):
        return view, 0
    nbytes = view.size * sum(np.dtype(plane).itemsize for plane in view.format.planes)
    room = way.limit(view.device) - bytes_of(way.scheme, view.shape[1])
    return (moves.copied(view), nbytes) if nbytes <= room // COPIED else (view, 0)


def found_of_rows(
    view: Planes, finds: tuple[str, ...] = EXPONENT, known: Mapping[str, Numbers] | None = None
) -> dict[str, Numbers]:
    """What is found of rows, in the first places, by name; *known*: what sums need."""
    rows, depth = view.shape
    across = abs(view.strides[0]) < abs(view.strides[1])
    slab = max(SEARCH_COLUMNS, base.blocks(depth, MOST_SLABS)) if across else depth
    slabs = base.blocks(depth, slab)
    found = {
        one: allocate_numbers(FOUND.get(one, "int32"), (slabs * rows,), view.queue) for one in finds
    }
    given: dict[str, Any] = {f"{name}_found": one for name, one in found.items()}
    given["rows"] = rows
    threads = base.threads_of(view.device, THREADS)
    key = exponent_spec(view.format.word, across, finds, threads)
    grid = (base.blocks(rows, searched(across, threads)), slabs, 1)
    more: dict[str, Any] = {"columns": depth, "slab": slab, "a": view}
    if known is not None:
        more["exponents"] = known["most"]
    launch.run(view.queue, (key,), grid, (threads, 1, 1), {**given, **more})
    if known is not None:
        found["lift"] = allocate_numbers("int32", (rows,), view.queue)
        given |= {"lift_found": found["lift"], "count": known["count"]}
    if slabs > 1 or known is not None:
        given["slabs"] = slabs
        launch.over(view.queue, (key,), rows, threads, given, f"{key.name}_combine")
    return found


def check(form: Format, device: Device, method: str, engine: str, workspace: object) -> None:
    """Refuse formats, devices and options that no scheme has."""
    if form.paper:
        known = ", ".join(formats.STANDARD)
        raise FormatError(f"method: {method} given, format {form.name} has none; formats: {known}")
    if not device.properties.float64:
        raise ArgumentError(f"method: {method} given, {device.name} has no float64")
    check_options(engine, workspace)


def check_options(engine: str, workspace: object) -> None:
    """Refuse options that no method has."""
    choice("engine:", engine, engines.CHOICES)
    if workspace is not None and (
        isinstance(workspace, bool)
        or not isinstance(workspace, (int, np.integer))
        or workspace <= 0
    ):
        raise ArgumentError(f"workspace: {workspace!r} given, a positive number of bytes is needed")


def gemm(given: Asked, way: Way) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    whole = direct.checked(given)
    if not whole.depth:
        return direct.gemm(*given[:5], whole.out)
    if whole.out.size:
        for each in entries(whole):
            update(each, way)
    return whole.out


def update(given: Product[Planes], way: Way, most: Sequence[Numbers] = ()) -> None:
    """The same of matrices that fit each other, over one step at least. Nothing is checked.

    *most*: exponents of rows and of columns, where they are known and no reference computes.
    """
    by_reference = computed_by(partial(reference.product, given.a.format, way.scheme.integers))
    operands: Any = (*given, *most)
    if way.asked and way.at_once(given):
        launch.repeat((update, way.asked), operands, partial(_update, way), by_reference)
    else:
        launch.do(operands, partial(_update, way), by_reference)


def _update(way: Way, *operands: Any) -> None:
    given = by_rows(Product(*operands[:6]))
    rows, columns = operands[6:] or (None, None)
    left = operand(given.a, way, second=False, most=rows)
    right = operand(given.b.transposed((1, 0)), way, second=True, most=columns)
    multiplied(left, right, given, way)


def by_rows(given: Product[Planes]) -> Product[Planes]:
    """The product whose output lies by rows, since neighbours of a row are written at once: it, or
    the transposed one, whose sums are the same integers.
    """
    down, across = given.out.strides
    return given if abs(down) >= abs(across) else turned(given)


def turned(given: Product[Planes]) -> Product[Planes]:
    """The transposed product."""
    found = given.each(lambda v: v.transposed((1, 0)))
    return found._replace(a=found.b, b=found.a)


def multiplied(left: Operand, right: Operand, given: Product[Planes], way: Way) -> None:
    """The product of factors whose exponents are known."""
    _Product(left, right, given, way).run()


class InBlocks(ABC):
    """What is made of the sums of two factors' words, block by block; k > 0.

    *form*: that of the results.
    """

    def __init__(self, left: Operand, right: Operand, form: Format, way: Way) -> None:
        self.left, self.right, self.way = left, right, way
        self.threads = base.threads(left.view.device, THREADS)
        steps = left.view.shape[1] // way.scheme.components
        self.key = way.scheme.rebuild_spec(form, steps, self.threads)

    def run(self) -> None:
        """All blocks."""
        left, right, scheme = self.left, self.right, self.way.scheme
        (m, k), n = (size // scheme.components for size in left.view.shape), right.view.shape[0]
        held_bytes = left.held + right.held
        limit = self.way.limit(left.view.device)
        rows, columns = blocks(scheme, m, n, k, limit, held_bytes)
        for j in range(0, n, columns):
            width = min(columns, n - j)
            held = right.words(scheme, j, width)
            for i in range(0, m, rows):
                height = min(rows, m - i)
                mine = left.words(scheme, i, height)
                self.block(mine, held, slice(i, i + height), slice(j, j + width))
                del mine  # before memory for the next block is asked for
            del held

    def block(self, first: Words, then: Words, rows: slice, columns: slice) -> None:
        """Some rows and columns, by words of these rows and columns."""
        scheme, queue = self.way.scheme, self.left.view.queue
        k = self.left.view.shape[1] // scheme.components
        height, width = rows.stop - rows.start, columns.stop - columns.start
        down, across = padded(height), padded(width)
        found = allocate(scheme.sums, (scheme.planes(k) * down * across,), queue)
        block = Block(down, across, k, first, then, found.buffers[0])
        scheme.multiply(self.way.engine, queue, block)
        given = {"m": height, "n": width, "row_stride": across, "products": found}
        given |= {"a_exponents": self.left.exponents, "a_first": rows.start}
        given |= {"b_exponents": self.right.exponents, "b_first": columns.start}
        given |= self.others(rows, columns, down * across)
        items = height * base.blocks(width, scheme.rebuilt)
        launch.over(queue, (self.key,), items, self.threads, given)

    @abstractmethod
    def others(self, rows: slice, columns: slice, plane: int) -> dict[str, Any]:
        """What else the kernel takes, of a block whose sums lie in planes of so many."""


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
    k, scheme = a.shape[1], way.scheme
    whole = Product(a, a.transposed((1, 0)), alpha, beta, c, c)
    spans = [_span([part[side] for part in parts]) for side in (0, 1)]
    if scheme.alike:
        spans = [_span(spans)]
    sizes = [[v.stop - v.start for v in part] for part in parts]
    sums = max(padded(m) * padded(n) for m, n in sizes)
    needed = _bytes_of_cuts(scheme, k) * sum(padded(v.stop - v.start) for v in spans)
    needed += _bytes_of_sums(scheme, k) * sums + a.shape[0] * engines.INTS.dtype(0).itemsize
    if not whole.depth or needed > way.limit(c.device):
        for rows, columns in parts:
            block = part_of(c, rows, columns)
            left, right = part_of(a, rows, slice(0, k)), part_of(whole.b, slice(0, k), columns)
            part = Product(left, right, alpha, beta, block, block)
            if whole.depth:
                update(part, way)
            else:
                gemm(part, way)
        return
    mine = operand(a, way, second=False)
    product = _Product(mine, replace(mine, second=True), whole, way)
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


def part_of(v: V, rows: slice, columns: slice) -> V:
    """Some rows and columns of a matrix."""
    start = v.start + rows.start * v.strides[0] + columns.start * v.strides[1]
    return v.view((rows.stop - rows.start, columns.stop - columns.start), v.strides, start)


class _Product(InBlocks):
    """alpha a b + beta c of matrices, whose words are there."""

    def __init__(self, left: Operand, right: Operand, given: Product[Planes], way: Way) -> None:
        super().__init__(left, right, given.out.format, way)
        self.given = given

    def others(self, rows: slice, columns: slice, plane: int) -> dict[str, Any]:
        """Operands and the output, how sums lie, and what ends an element."""
        (a, b, _, _, c, out), scheme = self.given, self.way.scheme
        k, steps = a.shape[1], a.shape[1] // scheme.components
        parts = {"a": part_of(a, rows, slice(0, k)), "b": part_of(b, slice(0, k), columns)}
        parts |= {"c": part_of(c, rows, columns), "out": part_of(out, rows, columns)}
        told = {"k": k, **scheme.layout(steps, plane)}
        if scheme.components > 1:
            told["imaginary"] = out.shape[0] // 2
        return {**told, **self.given.ending, **parts}


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
