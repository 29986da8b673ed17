"""Products of integer matrices by residues: kernels, and how they are launched.

Where an int8 matrix engine is fast moduli have eight bits; on CPUs, and for formats that these
are too few for, they have up to 22, and residues are float64 numbers. Bits are the same.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from portmp import formats
from portmp.backends.base import Device, Library, Multiplication, Queue, Rows
from portmp.codegen.kernel_spec import KernelSpec
from portmp.formats import Format
from portmp.networks.bounded import SMALLEST
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki import reference, systems
from portmp.routines.ozaki.launch import Block, Way
from portmp.routines.ozaki.options import Ozaki2
from portmp.routines.ozaki.reference import Host
from portmp.routines.ozaki.systems import Moduli, ResidueSystem, WideSystem
from portmp.routines.products import engines
from portmp.runtime.program import CompilationUnit
from portmp.schedules.base import widths

FEW = 12
"""Up to so many places a work-item rebuilds one element of C, beyond two, neighbours of a row: they
share what is read of tables, but their places take so many registers that blocks must be held to
two a compute unit."""

DEPTH = 2**17 - 16
"""Most products of residues (magnitudes up to 128) that an int32 holds, in steps of 16."""

SQUARES_DEPTH = 2**16 - 32
"""The same of squares' digits, of two products each."""

THRICE = 3
"""Words of a square: the upper digit, the lower one, the upper one."""

LAYOUT = "parts", "stride", "part_stride"

WIDE_DEPTH = 1024
"""Most products of wide residues (magnitudes up to 2^21) that a float64 number holds."""


class Scheme(ozaki.Scheme):
    """Integers modulo some numbers; *word*: what residues are multiplied as.

    ``longest``: most products of residues that a sum of the word holds.
    """

    word: str
    longest: int

    def __init__(self, numbers: Moduli) -> None:
        self.integers = numbers
        self.components = numbers.components
        self.count = len(numbers.multiplied)
        self.cuts, self.sums = engines.FACTORS[self.word], engines.SUMS[self.word]

    def parts(self, k: int) -> list[tuple[int, int]]:
        """As many steps as a sum holds."""
        return [(s, min(self.longest, k - s)) for s in range(0, k, self.longest)]

    @property
    def kept(self) -> int:
        """Matrices of sums."""
        return self.count

    def planes(self, k: int) -> int:
        """A plane for each sum and part."""
        return self.kept * len(self.parts(k))

    @property
    def marked(self) -> str:
        """What names of kernels have that take complex numbers."""
        return "_complex" if self.components > 1 else ""

    @property
    def told(self) -> tuple[str, ...]:
        """What kernels that rebuild are told of sums, and of complex results."""
        return (*LAYOUT, "imaginary") if self.components > 1 else LAYOUT

    def layout(self, k: int, plane: int) -> dict[str, int]:
        """Parts, steps from plane to plane and from part to part."""
        steps = len(self.parts(k)), plane, self.kept * plane
        return dict(zip(LAYOUT, steps, strict=True))

    def batches(self) -> "list[Batch]":
        """What is multiplied of the words of a part."""
        return [Batch(self.count)]

    def multiply(self, engine: Library, queue: Queue, block: Block) -> None:
        """Batches of one product for each modulus, part by part."""
        m, n, k, *factors, found = block
        for part, (_, steps) in enumerate(self.parts(k)):
            d = ozaki.padded(steps)
            for one in self.batches():
                if not one.count:
                    continue
                row = one.row * d
                a, b = (
                    Rows(
                        v.buffers[part],
                        row,
                        v.first * row + (one.skips * v.rows + at) * d,
                        v.rows * row,
                    )
                    for v, at in zip(factors, one.at, strict=True)
                )
                first = part * self.kept + one.first
                sums = Rows(found, n, first * m * n, one.step * m * n)
                asked = Multiplication(self.word, m, n, one.depth * d, a, b, sums, one.count)
                queue.multiply(engine, asked)


@dataclass(frozen=True)
class Batch:
    """Products of *count* moduli: rows of words hold *row* parts of the depth, after *skips* such
    words of each row, of which *depth* from parts *at* on are multiplied; sums become planes from
    *first* on, each *step* further.
    """

    count: int
    row: int = 1
    skips: int = 0
    at: tuple[int, int] = (0, 0)
    depth: int = 1
    first: int = 0
    step: int = 1


class Residues(Scheme):
    """Residues of eight bits, for int8 matrix engines.

    ``across``: of a product, whose columns count too; ``raised``: the kernel tells how far results
    are off instead, times that.
    """

    word, longest, alike = "int8", DEPTH, True
    across = False
    raised = 0.0

    def __init__(self, numbers: ResidueSystem) -> None:
        super().__init__(numbers)
        self.system = numbers
        few = self.components > 1 or len(systems.places(numbers.product)) <= FEW
        self.rebuilt = 1 if few else 2
        # Of a square both digits lie side by side, with the upper one again at the end.
        self.count = len(numbers.alone) + THRICE * len(numbers.digits_of)
        if numbers.squares:
            self.longest = SQUARES_DEPTH

    @property
    def kept(self) -> int:
        return self.system.kept

    def batches(self) -> list[Batch]:
        """Of squares lower digits, and both with both the other way round; with sums of a square
        stands that of another modulus, as ``ResidueSystem.groups`` has them.
        """
        squares, single = len(self.system.digits_of), len(self.system.alone)
        if not squares:
            return [Batch(single)]
        of_squares = partial(Batch, squares, THRICE, single, step=systems.GROUP)
        return [
            of_squares(at=(1, 1)),
            of_squares(at=(0, 1), depth=2, first=1),
            Batch(squares, first=2, step=systems.GROUP),
            Batch(single - squares, skips=squares, first=systems.GROUP * squares),
        ]

    def cut_spec(self, form: Format, second: bool, tiled: bool, threads: int) -> KernelSpec:
        """Both factors' are alike."""
        name = f"ozaki_residues{self.marked}"
        name += "_across" if self.across else "_turned" if tiled else ""
        how = {"integers": self.system, "tiled": tiled, "across": self.across}
        return ozaki.cut_spec(name, "residues", form, "uint32", threads, **how)

    def rebuild_spec(self, form: Format, k: int, threads: int) -> KernelSpec:
        """The kernel that rebuilds and rounds sums, or tells how far results are off."""
        return ozaki.rebuild_spec(
            "ozaki_distances" if self.raised else f"ozaki_rebuild{self.marked}",
            *("rebuild", form, self.told, "int32", threads),
            system=self.system,
            each=self.rebuilt * self.components,
            resident=self.rebuilt * self.components,
            components=self.components,
            parted=len(self.parts(k)) > 1,
            distances=bool(self.raised),
            raised=self.raised,
            smallest=2.0 ** SMALLEST[form.word],
        )


class WideResidues(Scheme):
    """Residues of up to 22 bits, as float64 numbers."""

    word, longest = "float64", WIDE_DEPTH

    def __init__(self, numbers: WideSystem, device: Device | None) -> None:
        super().__init__(numbers)
        self.system = numbers
        self.rebuilt = _lanes(device)

    def cut_spec(self, form: Format, second: bool, tiled: bool, threads: int) -> KernelSpec:
        """The first factor's residues carry the factors of the Chinese remainder theorem."""
        return ozaki.cut_spec(
            f"ozaki_wide{self.marked}_{'b' if second else 'a'}",
            *("residues_wide", form, "float64", threads),
            integers=self.system,
            inverted=not second,
            tiled=tiled,
            half=systems.HALF,
            lanes=min(self.rebuilt, 4),
        )

    def rebuild_spec(self, form: Format, k: int, threads: int) -> KernelSpec:
        """Neighbours of a row by a work-item."""
        how = (
            f"ozaki_rebuild_wide{self.marked}",
            "rebuild_wide",
            form,
            self.told,
            "float64",
            threads,
        )
        return ozaki.rebuild_spec(*how, width=self.rebuilt, system=self.system)


def _lanes(device: Device | None) -> int:
    """Lanes of vectors of residues: 1 on GPUs, and where no kernel runs."""
    if device is None or device.by_reference or device.properties.kind != "cpu":
        return 1
    return min(4, max(widths(formats.get("float64"), device)))


def numbers(form: Format, kind: str, k: int, method: Ozaki2) -> systems.System:
    """The moduli by which a ``cpu`` or a ``gpu`` multiplies over *k* steps."""
    return of_kind(systems.system(form, k, method.moduli, method.bits), kind, k)


def of_kind(found: systems.System, kind: str, k: int) -> systems.System:
    """The system, or what a kind of device has in its place."""
    if kind == "cpu":
        return systems.wide(found, k)
    return systems.squared(found, k) if isinstance(found, WideSystem) else found


def of_system(
    device: Device | None,
    k: int,
    few: systems.System,
    workspace: int | None = None,
    components: int = 1,
) -> Residues | WideResidues:
    """How products over *k* steps are made by the moduli of a system, or by what is like it.

    Without a device on a GPU. Wide residues take more memory: a CPU that has not enough for them
    takes eight bits. Two *components*: of complex numbers, in half as many steps.
    """
    kind = device.properties.kind if device else "gpu"
    found = of_kind(few, kind, k)
    if components > 1:
        found = systems.of_complex(few, k, kind == "gpu")
    if isinstance(found, ResidueSystem):
        return Residues(found)
    by = WideResidues(found, device)
    if device and isinstance(few, ResidueSystem):
        limit = Way(by, engines.Own(), workspace).limit(device)
        if ozaki.bytes_of(by, k // components) > limit:
            found = systems.of_complex(few, k, True) if components > 1 else few
            return Residues(found) if isinstance(found, ResidueSystem) else by
    return by


def of_complex(form: Format, device: Device | None) -> dict[str, CompilationUnit]:
    """The compilation units that complex products of parts in a format have of their own."""
    by = of_system(device, 2, systems.system(form, 2), components=2)
    return {one.name: (one,) for one in ozaki.units_of(by, form, device)}


def units(form: Format, device: Device | None = None) -> dict[str, CompilationUnit]:
    """The compilation units of products over few steps, by name."""
    by = of_system(device, 1, systems.system(form, 1))
    found = [ozaki.searching(form, device), *ozaki.units_of(by, form, device)]
    if by.word == "int8":
        found.append(engines.product_spec(device))
    elif device and device.properties.kind == "cpu":
        found.append(engines.panels_for(by.word, device))
    return {one.name: (one,) for one in found}


def on_host(form: Format, a: Host, b: Host, *rest: Any, moduli: int | None = None) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by residues; *rest*: see reference.product."""
    return reference.product(form, systems.system(form, a[0].shape[1], moduli), a, b, *rest)
