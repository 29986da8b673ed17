"""Products whose elements are made by integers or directly, each as ``levels`` says.

Sizes of entries are multiplied as int8 matrices, which tells each element's level. Those of the
first level are made at once, and few direct ones by a list of them. Of others the host reads in
which rows and columns they are, and these rows and columns are multiplied again; or, as part of a
longer work, that there are some, so that all of it must be done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Scratch
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.gemm import launch as direct
from portmp.routines.moves import launch as moves
from portmp.routines.ozaki import elements, levels, residues
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.integers import FINE
from portmp.routines.ozaki.launch import Operand, Way
from portmp.routines.ozaki.options import Auto
from portmp.routines.plain import launch as plain
from portmp.routines.products import engines
from portmp.routines.products.product import Asked, Product, computed_by, entries, last
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, View, allocate, allocate_numbers
from portmp.runtime.program import CompilationUnit

V = TypeVar("V", bound=View[Any])

LONG = {"gpu": 2**34, "cpu": 0}
"""Products of so many rows times columns times steps wait until their elements are judged, by the
kind of a device: a CPU has nothing else to do meanwhile."""

WORDS = {"gpu": "int8", "cpu": "float32"}
"""What sizes are multiplied as, by the kind of a device."""

TOGETHER = 4
"""Elements that a work-item judges, neighbours of a row."""

SINGLE_DEPTH = 1024
"""Most products of sizes that a float32 number holds."""

_FACTS = "least", "begin", "last", "sums", "lift"
"""What the kernel that judges elements takes of rows beside exponents."""


class Sizes(residues.Scheme):
    """Sizes of entries, and the levels of elements that products of sizes tell."""

    alike, count, rebuilt = True, 1, TOGETHER

    def __init__(self, kind: str, beyond: tuple[int, ...], brief: bool) -> None:
        self.beyond, self.brief = beyond, brief
        self.word = WORDS[kind]
        self.longest = residues.DEPTH if self.word == "int8" else SINGLE_DEPTH
        self.cuts, self.sums = engines.FACTORS[self.word], engines.SUMS[self.word]

    def cut_spec(self, form: Format, second: bool, tiled: bool, threads: int) -> KernelSpec:
        """Of leading limbs alone."""
        return size_spec(form.planes[0], self.word, tiled, threads)

    def rebuild_spec(self, form: Format, k: int, threads: int) -> KernelSpec:
        """The kernel that judges elements."""
        return level_spec(form, self.beyond, self.brief, self.sums.dtype(0).name, threads)

    def layout(self, k: int, plane: int) -> dict[str, int]:
        return {"parts": len(self.parts(k)), "part_stride": plane}


@cache
def size_spec(word: str, out: str, tiled: bool, threads: int) -> KernelSpec:
    """The kernel that finds sizes of entries, of leading limbs of a *word*, as *out*."""
    sizes = [Index(one) for one in ("rows", "depth", "rows_padded", "depth_padded")]
    return spec(
        f"ozaki_sizes{'_turned' if tiled else ''}",
        "ozaki/sizes.mako",
        formats.get(word),
        {},
        takes=[
            *sizes,
            Array("a", ("row", "col"), plain=(word,)),
            *(Array(n, plain=("int32",), numbered=False) for n in ("exponents", "lift")),
            Scratch("out", "uint32" if out == "int8" else out),
        ],
        threads=threads,
        packed=out == "int8",
        tiled=tiled,
        tile=ozaki.TILE,
        special=ozaki.SPECIAL,
        bits=levels.SIZES,
        largest=levels.LARGEST,
    )


@cache
def level_spec(
    form: Format, beyond: tuple[int, ...], brief: bool, sums: str, threads: int
) -> KernelSpec:
    """The kernel that judges elements of a format, from *sums*, for levels of so many bits more.

    *brief*: it tells of direct elements alone which they are.
    """
    facts = {n: ozaki.FOUND.get(n, "int32") for n in _FACTS}
    shared = partial(Array, plain=("int32",), const=False, numbered=False)
    mask = Array("mask", ("row", "col"), plain=("int8",), const=False, numbered=False)
    more = [Index("all_rows"), Index("all_columns"), mask, Scratch("told", "int8")]
    return spec(
        f"ozaki_levels{'_brief' if brief else ''}",
        "ozaki/levels.mako",
        form,
        {},
        takes=[
            *(Index(n) for n in ("m", "n", "parts", "part_stride", "row_stride")),
            Scratch("products", sums, const=True),
            *ozaki.EXPONENTS,
            *(Scratch(f"{v}_{n}", kind, const=True) for v in "ab" for n, kind in facts.items()),
            *(Index("down"), Index("right"), Index("most"), Scratch("list", "int64")),
            *(shared("tickets"), shared("others"), *([] if brief else more)),
        ],
        threads=threads,
        levels=tuple([(n, levels.margin(form, more)) for n, more in enumerate(beyond, 1)][::-1]),
        told_levels=told_of(beyond),
        brief=brief,
        sums=sums,
        each=TOGETHER,
        bits=levels.SIZES,
        fine=FINE,
        special=ozaki.SPECIAL,
    )


def told_of(beyond: tuple[int, ...]) -> tuple[int, ...]:
    """Levels of which rows and columns are told: all but the first; 0: direct."""
    return (*range(2, len(beyond) + 1), 0)


def units(form: Format, device: Device | None = None) -> dict[str, CompilationUnit]:
    """The compilation units that judge elements, by name."""
    threads = base.threads(device, ozaki.THREADS)
    kind = device.properties.kind if device else "gpu"
    scheme = Sizes(kind, definition.BEYOND, False)
    searching = base.threads_of(device, ozaki.THREADS)
    found = [
        *(ozaki.exponent_spec(form.word, False, n, searching) for n in (ozaki.RANGES, ozaki.SUMS)),
        *(
            scheme.cut_spec(form, False, turned, threads)
            for turned in {False, ozaki.turns(form, device)}
        ),
        scheme.rebuild_spec(form, 1, threads),
        Sizes(kind, definition.BEYOND_ROTATIONS, True).rebuild_spec(form, 1, threads),
    ]
    found.append(elements.kernel_spec(form.name, base.threads_of(device, elements.THREADS)))
    return {one.name: (one,) for one in found}


class _Facts(NamedTuple):
    """A factor as rows, and what is known of them by name."""

    operand: Operand
    known: dict[str, Numbers]

    @property
    def sized(self) -> Operand:
        """The factor with what sizes of its entries are made of."""
        return replace(self.operand, known={"lift": self.known["lift"]})


def _known(given: Product[Planes], way: Way) -> list[_Facts]:
    """Both factors of a product."""
    found = []
    for second, factor in enumerate((given.a, given.b.transposed((1, 0)))):
        view, nbytes = ozaki.as_rows(factor, way)
        ranges = ozaki.found_of_rows(view, ozaki.RANGES)
        known = ranges | ozaki.found_of_rows(view, ozaki.SUMS, ranges)
        operand = Operand(view, ranges["most"], bool(second), copied=nbytes)
        found.append(_Facts(operand, known))
    return found


class _Judge(ozaki.InBlocks):
    """Levels of all elements of a product (m, n), which is *turned*, or not."""

    def __init__(self, left: _Facts, right: _Facts, found: _Found, turned: bool, way: Way) -> None:
        super().__init__(left.sized, right.sized, left.operand.view.format, way)
        self.found = found
        self.m, self.n = (one.operand.view.shape[0] for one in (left, right))
        # Lists name elements of the product as it was asked for.
        self.steps = {"down": 1, "right": self.m} if turned else {"down": self.n, "right": 1}
        self.facts = {
            f"{name}_{fact}": one.known[fact]
            for name, one in (("a", left), ("b", right))
            for fact in _FACTS
        }

    def others(self, rows: slice, columns: slice, plane: int) -> dict[str, Any]:
        found, given = self.found, {**self.steps, **self.facts}
        given |= {"tickets": found.tickets, "others": found.others}
        given |= {"list": found.list, "most": found.list.size}
        if found.whole:
            mask, told = found.whole
            given |= {"all_rows": self.m, "all_columns": self.n, "told": told}
            given["mask"] = ozaki.part_of(mask, rows, columns)
        return {**given, **self.way.scheme.layout(self.left.view.shape[1], plane)}


def gemm(given: Asked, options: Auto) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    ozaki.check_options(options.engine, options.workspace)
    last.alike = False
    whole = direct.checked(given)
    form, (m, k), n = whole.a.format, whole.a.shape[-2:], whole.b.shape[-1]
    if not (whole.depth and levels.judges(form, m, n, k, options.smallest)):
        return direct.gemm(*given[:5], whole.out)
    if whole.out.size:
        alike = [update(each, options) for each in entries(whole)]
        last.alike = all(alike)
    return whole.out


def check(device: Device) -> None:
    """Refuse what has no float64."""
    if not device.properties.float64:
        raise ArgumentError(
            f"a product of so many rows, columns and steps needs float64 to have the bits of all "
            f"devices, and {device.name} has none; method='direct' has others"
        )


def update(asked: Product[Planes], options: Auto) -> bool:
    """The same of matrices that fit each other, over one step at least. Nothing is checked.

    Whether all elements are known to have the first level.
    """
    form, device, k = asked.out.format, asked.out.device, asked.steps
    if device.by_reference:
        computed_by(partial(levels.product, form, beyond=options.beyond))(*asked)
        return False
    check(device)
    given = ozaki.by_rows(asked)
    (m, n), queue, turned = given.out.shape, given.out.queue, given is not asked
    ways = partial(way, form, device, k, options)
    if options.unmade is not None:
        known = replace(options, unmade=None)  # what plans are found by keeps no memory
        _repeat((_attempt, known, turned), given, (options.unmade,), ways)
        return False
    places = _places(given)
    counts, mask, told = _told(given, options)
    inside = given.adds and given.out.overlaps(given.c)
    # What the first level makes meanwhile is seldom in vain, but it is written over the addend.
    early = not inside and m * n * k < LONG[device.properties.kind]
    # Exponents are found once.
    sides = () if early else (m, n)
    most = [allocate_numbers("int32", (size,), queue) for size in sides]
    _repeat((_judge, options, turned, early), given, (places, counts, mask, told, *most), ways)
    direct_ones, others = counts.read_parts()[0]

    def make(level: int, product: Product[Planes]) -> None:
        if level:
            ozaki.update(product, ways(level))
        else:
            # Factors of a direct product keep their places.
            direct.gemm(*(ozaki.turned(product) if turned else product))

    kept = given
    if others and inside:
        kept = given._replace(c=moves.copied(given.c))
    listed = elements.Listed(places, _one(counts, 0))
    values = elements.made(asked, listed) if direct_ones and not others else None
    if not early:
        ozaki.update(given, ways(1), most)
    if values:
        elements.put(asked, listed, values)
    if others:
        for level, sides in zip(told_of(options.beyond), told.read_parts()[0], strict=True):
            down = sides[:m]
            if level and options.components > 1:
                # With each row that of the other part, as the matrices of complex numbers have it.
                down = np.tile(down.reshape(2, -1).any(axis=0), 2)
            rows, columns = (np.flatnonzero(side) for side in (down, sides[m:]))
            if rows.size:
                _made_again(kept, mask, level, rows, columns, make)
    return not direct_ones and not others


def _repeat(
    what: tuple[Callable[..., None], Auto, *tuple[bool, ...]],
    given: Product[Planes],
    found: Sequence[Numbers],
    ways: Callable[[int | None], Way],
) -> None:
    """Do *what* for a product, by a plan: a function, the options, and what it is told.

    It is called as ``function(*told, judging, making, *given, *found)``, with ways to judge
    elements and to make those of the first level.
    """
    function, _, *told = what

    def launches(*operands: Any) -> None:
        function(*told, ways(None), ways(1), *operands)

    def fixed() -> bool:
        return all(ways(level).at_once(given) for level in (None, 1))

    later = function is _attempt
    launch.repeat(what, (*given, *found), launches, launches, fixed=fixed, later=later)


def shares(given: Product[Planes], options: Auto) -> dict[int, float]:
    """Which shares of a product's elements have which level; 0: direct. Nothing is made."""
    form, device, k = given.out.format, given.out.device, given.steps
    if not device.by_reference:
        check(device)
    counts = np.zeros(len(options.beyond) + 1, np.int64)
    for each in entries(given):
        if device.by_reference:
            a, b = (v.read_dense() for v in (each.a, each.b))
            mask = levels.judged(form, a, b, options.beyond)
        else:
            judging, told = way(form, device, k, options, None), _told(each, options)
            _judge(False, False, judging, judging, *each, _places(each), *told)
            mask = told[1].read_parts()[0]
        counts += np.bincount(mask.ravel(), minlength=counts.size)
    found = {level: int(count) / max(counts.sum(), 1) for level, count in enumerate(counts)}
    return {level: share for level, share in found.items() if share}


def _places(given: Product[Planes]) -> Numbers:
    """Memory of a list of direct elements."""
    return allocate_numbers("int64", (elements.most(*given.out.shape),), given.out.queue)


def _told(given: Product[Planes], options: Auto) -> tuple[Numbers, Numbers, Numbers]:
    """Memory of what the host may read: counts, levels of all, rows and columns by level."""
    (m, n), queue = given.out.shape, given.out.queue
    kinds = ("int32", (2,)), ("int8", (m, n)), ("int8", (len(options.beyond), m + n))
    counts, mask, told = (allocate_numbers(dtype, shape, queue) for dtype, shape in kinds)
    return counts, mask, told


class _Found(NamedTuple):
    """What is found of the elements of a product.

    ``list``: places of direct ones, of which there are ``tickets``; ``others``: whether there are
    some of other levels but the first, or more direct ones than the list holds; ``whole``: levels
    of all (m, n), and which rows, then columns, have those of levels that are told (levels, m + n).
    """

    list: Numbers
    tickets: Numbers
    others: Numbers
    whole: tuple[Numbers, Numbers] | None = None


def _one(numbers: Numbers, at: int) -> Numbers:
    return numbers.view((1,), (1,), numbers.start + at)


def _judge(turned: bool, early: bool, judging: Way, making: Way, *operands: Any) -> None:
    """Levels of all elements and, where it is *early*, the first level's product."""
    given: Product[Planes] = Product(*operands[:6])
    places, counts, mask, told, *most = operands[6:]
    left, right = _known(given, judging)
    for one, kept in zip((left, right), most, strict=False):
        moves.copied(one.operand.exponents.view(kept.shape, (1,), 0), kept)
    if early:
        # The longest work first: what is launched meanwhile does not wait for the host.
        ozaki.multiplied(left.operand, right.operand, given, making)
    plain.fill(told, 0)
    plain.fill(counts, 0)
    found = _Found(places, _one(counts, 0), _one(counts, 1), (mask, told))
    _Judge(left, right, found, turned, judging).run()


def _attempt(turned: bool, judging: Way, making: Way, *operands: Any) -> None:
    """The product if no elements are others, which are never told apart here."""
    given: Product[Planes] = Product(*operands[:6])
    tickets = allocate_numbers("int32", (1,), given.out.queue)
    plain.fill(tickets, 0)
    left, right = _known(given, judging)
    listed = elements.Listed(_places(given), tickets)
    _Judge(left, right, _Found(*listed, operands[6]), turned, judging).run()
    asked = ozaki.turned(given) if turned else given
    values = elements.made(asked, listed)
    ozaki.multiplied(left.operand, right.operand, given, making)
    elements.put(asked, listed, values)


def way(form: Format, device: Device, k: int, options: Auto, level: int | None) -> Way:
    """How a level's products are made, or elements are judged."""
    by: residues.Scheme = Sizes(device.properties.kind, options.beyond, options.unmade is not None)
    if level is not None:
        numbers = levels.system(form, options.beyond[level - 1], k)
        by = residues.of_system(device, k, numbers, options.workspace, options.components)
    engine = engines.get(device, options.engine, by.word)
    return Way(by, engine, options.workspace, (options, level))


Indices = np.ndarray[Any, Any]


def _made_again(
    given: Product[Planes],
    mask: Numbers,
    level: int,
    rows: Indices,
    columns: Indices,
    make: Callable[[int, Product[Planes]], None],
) -> None:
    """The elements of a level, all of which are in these rows and columns."""
    a, b, alpha, beta, c, out = given
    found = allocate(out.format, (rows.size, columns.size), out.queue)
    fewer = Product(
        *(_picked(a, rows, None), _picked(b, None, columns), alpha, beta),
        _picked(c, rows, columns) if given.adds else found,
        found,
    )
    make(level, fewer)
    chosen = plain.apply("equal", [_picked(mask, rows, columns), level], "bool")
    moves.scattered(found, out, _offsets(out, rows, columns), found.shape, (0, 0), chosen)


def _picked(v: V, rows: Indices | None, columns: Indices | None) -> V:
    """These rows and columns of a matrix; None: all."""
    kept = [indices is None for indices in (rows, columns)]
    picks = [v.shape[i] if one is None else one.size for i, one in enumerate((rows, columns))]
    steps = [step if keep else 0 for step, keep in zip(v.strides, kept, strict=True)]
    return moves.gathered(v, _offsets(v, rows, columns), tuple(picks), tuple(steps))


def _offsets(v: View[Any], rows: Indices | None, columns: Indices | None) -> Numbers:
    """Where these rows and columns of a matrix begin."""
    found = []
    for axis, indices in enumerate((rows, columns)):
        if indices is not None:
            shape = [1, 1]
            shape[axis] = indices.size
            numbers = allocate_numbers("int64", shape, v.queue)
            numbers.write_parts([(indices * v.strides[axis]).reshape(shape)])
            found.append(numbers)
    return found[0] if len(found) == 1 else plain.apply("add", found, "int64")
