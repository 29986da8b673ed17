"""GEMM by slices: digits of integers, products of digits by any engine, exact antidiagonals."""

from __future__ import annotations

from functools import cache

from portmp import definition, formats
from portmp.backends.base import Argument, Buffer, Device, Library, Queue, Rows
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.ozaki import Ozaki1, slices
from portmp.ozaki.slices import Slices
from portmp.planes import Planes
from portmp.program import Module
from portmp.routines import base, engines, ozaki
from portmp.spec import KernelSpec, spec


class Digits(ozaki.Scheme):
    """Digits side by side: of A the first one first, of B the last one first.

    So the digits whose products have one weight stand in the same columns, and an antidiagonal is
    one product of matrices, cut where a sum of the word is full.
    """

    def __init__(self, cut: Slices, word: str) -> None:
        self.integers = self.slices = cut
        self.word = word
        self.count = cut.count
        self.cuts, self.sums = engines.FACTORS[word], engines.SUMS[word]
        self.length = slices.longest(word, cut.width)

    def cut_spec(self, form: Format, second: bool, tiled: bool) -> KernelSpec:
        """The kernel that cuts rows into digits."""
        return digit_spec(form.name, self.slices, self.word, second, tiled)

    def rebuild_spec(self, form: Format) -> KernelSpec:
        """The kernel that adds up antidiagonals and rounds."""
        return gather_spec(form.name, self.slices, self.word)

    def parts(self, k: int) -> list[tuple[int, int]]:
        """The depth in one part: it is the sums that are cut."""
        return [(0, k)]

    def planes(self, k: int) -> int:
        """All pieces of all antidiagonals."""
        return sum(base.blocks((d + 1) * ozaki.padded(k), self.length) for d in range(self.count))

    def layout(self, k: int, plane: int) -> list[Argument]:
        """Columns of a digit, the longest sum, steps from sum to sum."""
        return [ozaki.padded(k), self.length, plane]

    def multiply(
        self, engine: Library, queue: Queue, m: int, n: int, k: int,
        left: list[Buffer], right: list[Buffer], found: Buffer,
    ) -> None:  # fmt: skip
        """Antidiagonals, the one of the least weight first."""
        depth, plane = ozaki.padded(k), 0
        row = self.count * depth
        for d in reversed(range(self.count)):
            whole = (d + 1) * depth
            piece = ozaki.padded(base.blocks(whole, base.blocks(whole, self.length)))
            for start in range(0, whole, piece):
                steps = min(piece, whole - start)
                engine.multiply(
                    queue, self.word, m, n, steps, Rows(left[0], row, start),
                    Rows(right[0], row, (self.count - 1 - d) * depth + start),
                    Rows(found, n, plane * m * n),
                )  # fmt: skip
                plane += 1


@cache
def digit_spec(form: str, cut: Slices, word: str, second: bool, tiled: bool) -> KernelSpec:
    """The kernel that cuts rows into digits."""
    return spec(
        f"ozaki_digits_{word}_{'b' if second else 'a'}", "ozaki/digits.mako", formats.get(form), {},
        threads=ozaki.THREADS, integers=cut, word=word, reverse=second, tiled=tiled,
        tile=ozaki.TILE, special=ozaki.SPECIAL,
    )  # fmt: skip


@cache
def gather_spec(form: str, cut: Slices, word: str) -> KernelSpec:
    """The kernel that adds up antidiagonals and rounds."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("add", "mul")}
    return spec(
        f"ozaki_gather_{word}", "ozaki/gather.mako", f, roles,
        threads=ozaki.THREADS, slices=cut, word=word,
        doubles=ozaki.doubles(f), slab=definition.SLAB, special=ozaki.SPECIAL,
    )  # fmt: skip


def modules(form: Format) -> dict[str, Module]:
    """The modules of all words' products, by name."""
    found = [ozaki.exponent_spec(form.word, False, ranges=True)]
    for word in slices.SUMS:
        cut = slices.slices(form, word)
        found += [
            digit_spec(form.name, cut, word, False, False),
            digit_spec(form.name, cut, word, True, True),
            gather_spec(form.name, cut, word),
        ]
    return {one.name: (one,) for one in found}


def check(form: Format, device: Device, method: Ozaki1) -> Digits:
    """The scheme, once formats, devices and options are refused that have none."""
    if not isinstance(method, Ozaki1):
        raise ArgumentError(f"method: {method!r} given, an Ozaki1 is needed")
    ozaki.check(form, device, "ozaki1", method.engine, method.workspace)
    cut = slices.slices(
        form, method.word, count=method.slices, width=method.width, bits=method.bits
    )
    return Digits(cut, method.word)


def gemm(
    a: Planes, b: Planes, *, alpha: base.Words, beta: base.Words, c: Planes | None,
    out: Planes | None, method: Ozaki1,
) -> Planes:  # fmt: skip
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    scheme = check(a.format, a.device, method)
    return ozaki.gemm(
        a, b, alpha=alpha, beta=beta, c=c, out=out, scheme=scheme,
        engine=engines.get(a.device, method.engine, method.word), workspace=method.workspace,
    )  # fmt: skip
