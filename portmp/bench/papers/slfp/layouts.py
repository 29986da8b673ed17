"""AXPY with the parts of each number one behind another, beside parts in planes of their own.

The paper's element types and array types: struct {u32 hi; u16 lo;} against struct {u32 *hi; u16
*lo;}. Elements are packed, so that a kernel reads and writes words of the largest power of two
that divides them: 48 bits in three words, 56, 40 and 24 in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import measure
from portmp.bench.experiment import Case
from portmp.bench.papers.slfp.measured import ONE_LIMB, SECONDS, Axpy, Bench, first_call
from portmp.bench.peers import factors
from portmp.bench.runner import Pool
from portmp.bench.tables import Row
from portmp.bench.values import Plane, pieces, values_of
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Index, Scratch, Value
from portmp.formats import Format, encode
from portmp.routines import base
from portmp.routines.work import ALIGNMENT, ALPHA
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate_numbers

SIZES = {"gpu": 2**26, "cpu": 2**24}
THREADS = 256
COMPARED = 2**20
"""Elements at either end whose bits are compared."""
FORMATS = tuple(
    name for names in ONE_LIMB.values() for name in names if len(formats.get(name).parts) > 1
)
"""Those of several parts: of one part, both are the same."""


@cache
def kernel_spec(form: str, threads: int) -> KernelSpec:
    """AXPY of packed elements."""
    f = formats.get(form)
    unit = f.itemsize & -f.itemsize
    return spec(
        "axpy_interleaved",
        "bench/axpy_interleaved.mako",
        f,
        {"operator": f.operator("fma")},
        takes=[
            *(Index("n"), Value("a")),
            *(Scratch("x", f"uint{8 * unit}", const=True), Scratch("y", f"uint{8 * unit}")),
        ],
        unit=unit,
        threads=threads,
    )


class Packed:
    """x and y of n elements each, packed, as a pool has them in planes."""

    def __init__(self, pool: Pool, n: int, starts: tuple[int, int]) -> None:
        self.form, self.n, self.queue = pool.values.form, n, pool.planes.queue
        device = self.queue.device
        block = encode.interleaved(self.form, pool.block)
        size = n * self.form.itemsize
        self.x, self.y = (allocate_numbers("uint8", (size,), self.queue) for _ in range(2))
        for memory, start in zip((self.x, self.y), starts, strict=True):
            for first, some in pieces(len(block), start, n):
                place = first * self.form.itemsize
                self.queue.write(memory.buffers[0], block[some], place)
        self.threads = base.threads(device, THREADS)
        self.key = kernel_spec(self.form.name, self.threads)

    def axpy(self, factor: str) -> None:
        """y = factor x + y."""
        words = base.scalar_limbs(self.form, factor, "alpha")
        grid = (base.blocks(self.n, self.threads), 1, 1)
        given = {"n": self.n, "a": words, "x": self.x, "y": self.y}
        launch.run(self.queue, (self.key,), grid, (self.threads, 1, 1), given)

    def read(self, first: int, count: int) -> list[Plane]:
        """Parts of some elements of y."""
        content = np.empty((count, self.form.itemsize), np.uint8)
        self.queue.read(self.y.buffers[0], content, first * self.form.itemsize)
        return encode.planar(self.form, content)


def same_bits(packed: Packed, y: Planes) -> bool:
    """Whether both ends of the results have the same bits."""
    count = min(COMPARED, packed.n)
    return all(
        np.array_equal(mine, other)
        for first in (0, packed.n - count)
        for mine, other in zip(
            packed.read(first, count),
            y.view((count,), (1,), y.start + first).read_parts(),
            strict=True,
        )
    )


def cases(bench: Bench) -> Iterator[Case]:
    """Rates of both layouts, by turns."""
    n = bench.size or SIZES[bench.kind]
    for i, form in enumerate(filter(bench.computes, map(formats.get, FORMATS))):
        memory = 4 * (n + ALIGNMENT) * form.itemsize
        expected = bench.expected(_AXPY, [form.name] * 2, n, memory) if i else 0.0
        measure = partial(_measured, bench, form, n)
        yield Case(f"{form.name}, n = {n}", measure, expected, memory=memory)


_AXPY = Axpy()


def _measured(bench: Bench, form: Format, n: int) -> list[Row]:
    device: Device = bench.device
    case = _AXPY.case(form, n)
    pool = Pool(values_of(form), case.starts[-1], device)
    x, y = pool.inputs(case)
    packed = Packed(pool, n, (case.starts[0], case.starts[1]))

    def planar(factor: str) -> Array:
        return blas.axpy(factor, x, y, out=y)

    def interleaved(factor: str) -> Array:
        packed.axpy(factor)
        return y

    first = sum(first_call(partial(call, ALPHA))[1] for call in (planar, interleaved))
    same = same_bits(packed, y.planes)
    one, two = factors(), factors()
    works: dict[str, Callable[[], object]] = {
        "planar": lambda: planar(next(one)),
        "interleaved": lambda: interleaved(next(two)),
    }
    left = bench.budget.left("interleaved")
    rounds = measure.by_turns(device, works, bench.runs, min(left, SECONDS[bench.kind]))
    times = {name: rounds.timing(name) for name in works}
    bench.budget.leave_out(max(0.0, first - sum(t.median for t in times.values())))
    return [
        {
            "format": form.name,
            "n": n,
            "word": form.itemsize & -form.itemsize,
            "same_bits": same,
            "seconds": {name: t.as_dict() for name, t in times.items()},
            "bytes_per_second": {
                name: _AXPY.nbytes(form, n) / t.median for name, t in times.items()
            },
            "planar_over_interleaved": rounds.faster("planar", "interleaved"),
        }
    ]
