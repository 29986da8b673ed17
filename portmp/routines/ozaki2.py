"""GEMM by residues: int8 products modulo coprime numbers, the Chinese remainder theorem."""

from __future__ import annotations

from functools import cache

from portmp import definition, formats
from portmp.backends.base import Argument, Buffer, Device, Library, Queue, Rows
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.ozaki import Ozaki2, residues
from portmp.ozaki.residues import System
from portmp.planes import Planes
from portmp.program import Module
from portmp.routines import base, engines, ozaki
from portmp.spec import KernelSpec, spec


class Residues(ozaki.Scheme):
    """Integers modulo the numbers of a residue system."""

    cuts, sums = engines.BYTES, engines.INTS

    def __init__(self, system: System) -> None:
        self.integers = self.system = system
        self.count = system.count

    def cut_spec(self, form: Format, second: bool, tiled: bool) -> KernelSpec:
        """The first factor's residues carry the factors of the Chinese remainder theorem."""
        return residue_spec(form.name, self.system, not second, tiled)

    def rebuild_spec(self, form: Format) -> KernelSpec:
        """The kernel that rebuilds and rounds sums."""
        return rebuild_spec(form.name, self.system)

    def parts(self, k: int) -> list[tuple[int, int]]:
        """As many steps as an int32 holds."""
        return [(s, min(residues.DEPTH, k - s)) for s in range(0, k, residues.DEPTH)]

    def planes(self, k: int) -> int:
        """A plane for each modulus and part."""
        return self.count * base.blocks(k, residues.DEPTH)

    def layout(self, k: int, plane: int) -> list[Argument]:
        """Parts, steps from modulus to modulus and from part to part."""
        return [base.blocks(k, residues.DEPTH), plane, self.count * plane]

    def multiply(
        self, engine: Library, queue: Queue, m: int, n: int, k: int,
        left: list[Buffer], right: list[Buffer], found: Buffer,
    ) -> None:  # fmt: skip
        """A batch of one product for each modulus, part by part."""
        for part, (_, steps) in enumerate(self.parts(k)):
            d = ozaki.padded(steps)
            engine.multiply(
                queue, "int8", m, n, d, Rows(left[part], d, 0, m * d),
                Rows(right[part], d, 0, n * d), Rows(found, n, part * self.count * m * n, m * n),
                self.count,
            )  # fmt: skip


@cache
def residue_spec(form: str, system: System, inverted: bool, tiled: bool) -> KernelSpec:
    """The kernel that takes residues of rows."""
    return spec(
        f"ozaki_residues{'_a' if inverted else '_b'}", "ozaki/residues.mako", formats.get(form), {},
        threads=ozaki.THREADS, integers=system, inverted=inverted, tiled=tiled, tile=ozaki.TILE,
        special=ozaki.SPECIAL,
    )  # fmt: skip


@cache
def rebuild_spec(form: str, system: System) -> KernelSpec:
    """The kernel that rebuilds and rounds sums."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("add", "mul")}
    return spec(
        "ozaki_rebuild", "ozaki/rebuild.mako", f, roles, threads=ozaki.THREADS, system=system,
        doubles=ozaki.doubles(f), slab=definition.SLAB, special=ozaki.SPECIAL,
    )  # fmt: skip


def modules(form: Format) -> dict[str, Module]:
    """The modules of products over few steps, by name; none where moduli are too few."""
    try:
        system = residues.system(form, 1)
    except FormatError:
        return {}
    found = [
        ozaki.exponent_spec(form.word, False),
        residue_spec(form.name, system, True, False),
        residue_spec(form.name, system, False, True),
        rebuild_spec(form.name, system),
        engines.product_spec(),
    ]
    return {one.name: (one,) for one in found}


def check(form: Format, device: Device, k: int, method: Ozaki2) -> Residues:
    """The scheme, once formats, devices and options are refused that have none."""
    if not isinstance(method, Ozaki2):
        raise ArgumentError(f"method: {method!r} given, an Ozaki2 is needed")
    ozaki.check(form, device, "ozaki2", method.engine, method.workspace)
    return Residues(residues.system(form, k, method.moduli))


def gemm(
    a: Planes, b: Planes, *, alpha: base.Words, beta: base.Words, c: Planes | None,
    out: Planes | None, method: Ozaki2,
) -> Planes:  # fmt: skip
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    scheme = check(a.format, a.device, a.shape[-1], method)
    return ozaki.gemm(
        a, b, alpha=alpha, beta=beta, c=c, out=out, scheme=scheme,
        engine=engines.get(a.device, method.engine, "int8"), workspace=method.workspace,
    )  # fmt: skip
