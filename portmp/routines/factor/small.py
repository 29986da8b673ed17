"""Small matrices, many at once: how their factorisations' kernels are cut up.

A thread has a row of a matrix, or every few elements of one, in registers; a block of threads has
as many matrices as a warp holds, or one. The numbers change speed, never bits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, Parameter, matrix
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import base
from portmp.runtime import launch
from portmp.runtime.planes import Planes
from portmp.runtime.program import CompilationUnit

SIZES = (8, 16, 32, 64)
"""Rows and columns that kernels are rendered for; matrices take the next larger ones."""
REGISTERS = 64
"""32-bit registers of a thread that elements of a row may take, and twice as many for ..."""
WARP = 32
"""... matrices whose rows are then those of one warp, the smallest that GPUs have: its threads need
no barrier of the block."""
OPERATIONS = 5000
"""Operations on words that a step has in a thread's text, elements times those of each: beyond it
compilers take seconds."""
GROUPS = 8
"""A thread's elements are computed in so many groups of neighbours that are still worked on."""
RESIDENT = 1
"""Blocks of threads that share a compute unit at least."""
TEAM = 128
"""Threads of a matrix that has several panels, at least ..."""
AT_ONCE = {1: 4, 2: 4, 3: 3, 4: 3}
"""... and how many of these matrices share a compute unit at least, by limbs."""


class Shape(NamedTuple):
    """Threads of a block; rows and columns of a panel; parts that a row is cut into; whether a
    matrix is that of threads of one warp; slots of a group; blocks that share a compute unit;
    panels of a matrix, which are factored one after the other in one launch."""

    threads: int
    rows: int
    columns: int
    parts: int
    within: bool
    group: int
    resident: int
    panels: int = 1

    def blocks(self, batch: int) -> int:
        """Blocks of threads for so many matrices."""
        return base.blocks(batch, self.threads // (self.rows * self.parts))


def shape_of(
    form: Format,
    device: Device | None,
    rows: int,
    columns: int,
    nets: Iterable[Network] = (),
    most_parts: int = SIZES[-1],
) -> Shape | None:
    """How matrices of so many rows and columns are cut; None where another kernel takes them.

    That is the case on CPUs, whose threads take turns at barriers. Without a device: for the usual
    GPU. *nets*: what a step does with each element, by default a fused multiply-add.
    """
    m, n = (next((size for size in SIZES if size >= count), None) for count in (rows, columns))
    if m is None or n is None:
        return None
    words = form.words * np.dtype(form.word).itemsize // 4
    warp = max(device.properties.warp_size, WARP) if device is not None else WARP
    costs: list[int] = [sum(net.cost.values()) for net in nets or [form.operator("fma")]]
    cost = sum(costs)
    parts = max(n // m, 1)  # no more columns than threads
    while (
        n // parts * words > REGISTERS * (2 if m * parts == WARP else 1)
        or n // parts * cost > OPERATIONS
    ):
        parts *= 2
    parts = min(parts, most_parts)
    threads = max(m * parts, warp)
    if device is not None and _unable(device, threads):
        return None
    return Shape(threads, m, n, parts, m * parts <= warp, max(n // parts // GROUPS, 1), RESIDENT)


def _unable(device: Device, threads: int) -> bool:
    return device.properties.kind == "cpu" or device.properties.max_threads < threads


def two_panels(form: Format, device: Device | None, panel: Shape | None) -> Shape | None:
    """How matrices of two panels are cut, each of which alone would be cut as *panel*.

    A block of threads has a matrix. None where other kernels take them, as with ``shape_of``, and
    of complex numbers, whose products are four real ones.
    """
    if panel is None or form.components > 1:
        return None
    parts = max(panel.parts, TEAM // panel.rows)
    threads = panel.rows * parts
    if device is not None and _unable(device, threads):
        return None
    group = max(panel.columns // parts // GROUPS, 1)
    many = AT_ONCE[form.limbs]
    return Shape(threads, panel.rows, panel.columns, parts, False, group, many, 2)


def products(form: Format) -> dict[str, Network]:
    """Networks by role of what templates do beside a panel."""
    operators = form.roles("div", "neg", "fma", "mul", "add")
    return form.accumulator("accurate").networks | operators


def sums(form: Format) -> dict[str, int]:
    """Numbers of the definition that sums of products there go by."""
    period = form.component.accumulator("accurate").period
    return {"period": period, "slab": definition.SLAB}


def kernel(
    name: str,
    form: Format,
    shape: Shape,
    roles: dict[str, Network],
    takes: Iterable[Parameter],
    **values: Any,
) -> KernelSpec:
    """The kernel of a factorisation by its name; it also takes how many matrices there are.

    With several panels its *roles* are those of products, too.
    """
    called = f"{name}_{'small' if shape.panels == 1 else 'panels'}"
    nets = roles | products(form) if shape.panels > 1 else roles
    values = {**shape._asdict(), **sums(form), **values}
    takes = (Index("batch"), *takes)
    return spec(called, f"linalg/{name}_small.mako", form, nets, takes=takes, **values)


def units(
    form: Format, shape: Callable[[int], Shape | None], kernel: Callable[[str, Shape], KernelSpec]
) -> Iterator[tuple[str, CompilationUnit]]:
    """The kernels of matrices of one panel and of two, whose *shape* is that of so many rows."""
    for found in map(shape, (definition.BLOCK, 2 * definition.BLOCK)):
        if found:
            one = kernel(form.name, found)
            yield one.name, (one,)


def run(key: KernelSpec, shape: Shape, a: Planes, given: Mapping[str, Any]) -> None:
    """Launch such a kernel for matrices a (batch, rows, columns)."""
    batch = a.shape[0]
    grid, block = (shape.blocks(batch), 1, 1), (shape.threads, 1, 1)
    launch.run(a.queue, (key,), grid, block, {"batch": batch, **given})


def taken(name: str, const: bool = True) -> tuple[Parameter, ...]:
    """What a kernel takes of matrices: beside them whether a column's elements are nearer."""
    return matrix(name, const=const), Flag(f"{name}_turned")


def given(name: str, v: Planes) -> dict[str, Any]:
    """What such a kernel is given."""
    return {name: v, f"{name}_turned": abs(v.strides[-2]) < abs(v.strides[-1])}
