"""Small runs of every routine for Oclgrind, which checks each access of each work-item.

A script, not a test: ``oclgrind ... python oclgrind_check.py dd products``. Results are compared
with the host reference; what Oclgrind finds is in its log (test_oclgrind.py reads it).
The kernels are those of GPUs, and the explicit-vector ones of CPUs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.backends.opencl import runtime as opencl
from portmp.backends.pool import Places
from portmp.codegen.platform import Traits
from portmp.discovery import finding
from portmp.formats import Format, inputs
from portmp.networks.operators import ARITY
from portmp.routines import base
from portmp.routines.case import ALPHA, BETA, Case
from portmp.routines.cholesky import reference as cholesky_reference
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise import reference as elementwise_reference
from portmp.routines.elementwise.cases import signs
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.gemm.schedule import GemmCall, GemmSchedule, PanelSchedule
from portmp.routines.gravity import reference as gravity_reference
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.routines.ldl import reference as ldl_reference
from portmp.routines.lu import reference as lu_reference
from portmp.routines.ozaki import levels, residues, slices
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.products import engines
from portmp.routines.qr import reference as qr_reference
from portmp.routines.reduce import reference as reduce_reference
from portmp.routines.reduce.schedule import ACROSS, ReduceSchedule, SweepSchedule
from portmp.routines.reference import Host
from portmp.routines.triangular.routine import dominant
from portmp.routines.work import summed
from portmp.verify import cases as verify

TILES = GemmSchedule(4, 4, 2, 2, 8, unroll=2)
PADDED = GemmSchedule(2, 8, 4, 2, 4, vector=2, pad=2, stages=2, unroll=1)
SPLIT = GemmSchedule(2, 2, 1, 1, 8, unroll=1, call=GemmCall(split=True))
VECTORS = PanelSchedule(4, 3, 1, width=4)
ROWS = ReduceSchedule(2, 3, 2, combine_threads=64)
COLUMNS = ReduceSchedule(2, 2, 1, combine_threads=32, call=ACROSS)
STAGED = ReduceSchedule(2, 1, 1, staged=1)
SWEEP = SweepSchedule(3, 4)
SWEEP_COLUMNS = SweepSchedule(2, 4, call=ACROSS)
GRAVITY = NbodySchedule(4, 2, 8, 2)
STRIDED = ("neg", "add", "fma", "compare")
"""Operators whose kernel of strided operands is checked: another's differs in its network alone."""


class Simulated(opencl.ClDevice):
    """Gives each plane new memory, which is never given back, instead of the pool's.

    Where memory is allocated again at an address that was freed, Oclgrind 21.10 sometimes goes
    by what the old content was: a false report. New memory always counts as uninitialised, so
    that this hides nothing.
    """

    kept: ClassVar[list[Places]] = []

    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        own = super().take(sizes, stream)
        self.kept.append(own)
        return own


def simulator() -> Device:
    """Oclgrind's device, with fused multiply-adds as GPUs have them."""
    import pyopencl as cl

    # Oclgrind answers an unknown property with an error, as it may.
    cl.Device.warp_size_nv = cl.Device.wavefront_width_amd = 0
    found = opencl.find_devices()[0]
    assert isinstance(found, opencl.ClDevice)
    device = Simulated(found.index, found.handle)
    if "Oclgrind" not in device.properties.name:
        raise SystemExit(f"the first OpenCL device is {device.properties.name}, not Oclgrind's")
    device.traits = Traits(fma="builtin")
    device.reserve.limit, device.reserve.poison = 0, False
    # No probe: it would run in a process that Oclgrind does not watch.
    finding._opened[device.name] = device
    return device


def ordinary(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """A shorter name for the inputs."""
    return inputs.ordinary(form, shape, f"oclgrind {seed}")


def elementwise_cases(form: Format) -> Iterator[Case]:
    """Every operator on dense operands, one of each arity on strided ones, and with a scalar."""
    for op, arity in ARITY.items():
        dense = [ordinary(form, (5,), f"{op}{i}") for i in range(arity)]
        odd = [ordinary(form, (3, 4), f"{op}{i}") for i in range(arity)]
        views = [("dense", dense, False), ("strided", odd, True)]
        for name, operands, turned in views if op in STRIDED else views[:1]:
            yield Case(
                op,
                name,
                form,
                tuple(operands),
                _operator(op, turned),
                lambda f, *v, op=op, turned=turned: elementwise_reference.elementwise(
                    f, op, *([p.T if turned else p for p in o] for o in v)
                ),
            )
    alpha = base.scalar_limbs(form, ALPHA, "alpha")
    x, y = ordinary(form, (7,), "x"), ordinary(form, (7,), "y")
    yield Case(
        "axpy",
        "scalar",
        form,
        (x, y),
        lambda x, y: mp.axpy(ALPHA, x, y),
        lambda f, x, y: elementwise_reference.axpy(f, alpha, x, y),
    )


def _operator(op: str, turned: bool) -> Callable[..., Any]:
    """An operator on arrays, transposed where asked for (that makes them strided)."""

    def run(*arrays: mp.Array) -> Any:
        operands = [a.T if turned else a for a in arrays]
        if op == "compare":
            return signs(*operands)
        return mp.Array(elementwise.apply(op, [a.planes for a in operands]))

    return run


def gemm_cases(form: Format) -> Iterator[Case]:
    """Products whose sizes fit no tile, with everything that the kernels branch on."""
    alpha, beta = (base.scalar_limbs(form, t, "alpha") for t in (ALPHA, BETA))
    a, b, c = (ordinary(form, s, "gemm") for s in ((9, 19), (19, 11), (9, 11)))
    special = inputs.with_specials(a, "gemm", (np.inf, np.nan))
    deep = ordinary(form, (3, 1030), "deep"), ordinary(form, (1030, 2), "deep")
    schedules = {"tiles": TILES, "padded": PADDED, "vectors": VECTORS}
    for name, schedule in schedules.items():
        if schedule.width > 1 and form.scalar:
            continue
        yield Case(
            "gemm",
            name,
            form,
            (a, b, c),
            lambda a, b, c, s=schedule: mp.gemm(a, b, alpha=ALPHA, beta=BETA, c=c, schedule=s),
            lambda f, a, b, c: gemm_reference.gemm(f, a, b, alpha, beta, c),
        )
        yield Case(
            "gemm",
            f"special-{name}",
            form,
            (special, b),
            lambda a, b, s=schedule: mp.gemm(a, b, schedule=s),
            gemm_reference.gemm,
        )
    yield Case(
        "gemm",
        "aligned",
        form,
        (ordinary(form, (9, 20), "a"), ordinary(form, (20, 12), "b")),
        lambda a, b: mp.gemm(a, b, schedule=PADDED),
        gemm_reference.gemm,
    )
    if "fast" in summed(form):
        yield Case(
            "gemm_fast",
            "tiles",
            form,
            (a, b),
            lambda a, b: mp.gemm(a, b, accuracy="fast", schedule=TILES),
            lambda f, a, b: gemm_reference.gemm(f, a, b, accuracy="fast"),
        )
    yield Case(
        "gemm",
        "transposed",
        form,
        ([p.T.copy() for p in a], [p.T.copy() for p in b]),
        lambda a, b: mp.gemm(a, b, trans_a=True, trans_b=True, schedule=TILES),
        lambda f, a, b: gemm_reference.gemm(f, [p.T for p in a], [p.T for p in b]),
    )
    if not form.scalar:  # QD's additions take the simulator too long
        yield Case(
            "gemm",
            "split",
            form,
            deep,
            lambda a, b: mp.gemm(a, b, schedule=SPLIT),
            gemm_reference.gemm,
        )


def integer_cases(form: Format) -> Iterator[Case]:
    """Products by few slices and residues (engines' tiles are large), and ranges of exponents."""
    if form.paper:
        return
    a, b = ordinary(form, (3, 19), "integers"), ordinary(form, (19, 2), "integers")
    for word in slices.SUMS:
        yield Case(
            "gemm",
            f"ozaki1-{word}",
            form,
            (a, b),
            partial(mp.gemm, method=Ozaki1(slices=2, word=word)),
            partial(slices.on_host, cut=slices.slices(form, word, count=2)),
        )
    yield Case(
        "gemm",
        "ozaki2",
        form,
        ([p.T.copy() for p in a], [p.T.copy() for p in b]),
        partial(mp.gemm, trans_a=True, trans_b=True, method=Ozaki2(moduli=4)),
        lambda f, a, b: residues.on_host(f, [p.T for p in a], [p.T for p in b], moduli=4),
    )

    if levels.has(form):
        judged = partial(mp.gemm, method=Auto(smallest=1))
        yield Case("gemm", "auto", form, (a, b), judged, levels.product)
        turned = ([p.T.copy() for p in b], [p.T.copy() for p in a])
        yield Case("gemm", "auto-across", form, turned, judged, levels.product)


def reduction_cases(form: Format) -> Iterator[Case]:
    """DOT, GEMV, sums and extrema by every schedule, special values and several chunks."""
    alpha, beta = (base.scalar_limbs(form, t, "alpha") for t in (ALPHA, BETA))
    a, x, y = (ordinary(form, s, "gemv") for s in ((5, 70), (70,), (5,)))
    special = inputs.with_specials(a, "gemv", (np.inf, np.nan))
    for name, schedule in {
        "rows": ROWS,
        "columns": COLUMNS,
        "staged": STAGED,
        "sweep": SWEEP,
        "sweep-columns": SWEEP_COLUMNS,
    }.items():
        if schedule.width > 1 and form.scalar:
            continue
        yield Case(
            "gemv",
            name,
            form,
            (a, x, y),
            lambda a, x, y, s=schedule: mp.gemv(a, x, alpha=ALPHA, beta=BETA, y=y, schedule=s),
            lambda f, a, x, y: reduce_reference.gemv(f, a, x, alpha, beta, y),
        )
    yield Case("gemv", "special", form, (special, x), mp.gemv, reduce_reference.gemv)
    yield Case("dot", "odd", form, (x, x), mp.dot, reduce_reference.dot)
    for kind in ("sum", "max"):
        yield Case(
            kind,
            "rows",
            form,
            (special,),
            lambda x, kind=kind: getattr(x, kind)(axis=-1),
            lambda f, x, kind=kind: reduce_reference.over_rows(f, kind, x),
        )
    if form.limbs == 1:
        long = ordinary(form, (2 * 8192 + 3,), "chunks")
        for name, schedule in {"usual": None, "staged": STAGED}.items():
            yield Case(
                "dot",
                f"chunks-{name}",
                form,
                (long, long),
                lambda x, y, s=schedule: mp.dot(x, y, schedule=s),
                reduce_reference.dot,
            )


def solve_cases(form: Format) -> Iterator[Case]:
    """LU with rows to swap, back substitution, Cholesky, QR, symmetric ones: of one block."""
    a, b = ordinary(form, (6, 6), "solve a"), ordinary(form, (6, 2), "solve b")
    yield Case("solve", "odd", form, (a, b), mp.linalg.solve, lu_reference.solve)
    yield Case("qr", "odd", form, (a,), "linalg.qr", qr_reference.orthogonal)
    large = dominant(form, 6, "cholesky")
    yield Case("cholesky", "odd", form, (large,), "linalg.cholesky", cholesky_reference.lower)
    yield Case("ldl", "odd", form, (a,), "linalg.ldl", ldl_reference.lower)


def tall_cases(form: Format) -> Iterator[Case]:
    """LU and QR of several blocks of rows."""
    tall = ordinary(form, (259, 2), "tall")
    yield Case("lu", "tall", form, (tall,), "linalg.lu_factor", lu_reference.packed)
    yield Case("qr", "tall", form, (tall,), "linalg.qr", qr_reference.upper, {"mode": "r"})


def gravity_cases(form: Format) -> Iterator[Case]:
    """Tiles with a rest, in shared memory or not; the particles' own terms left out."""
    if form.paper:
        return
    position, mass = ordinary(form, (11, 3), "position"), ordinary(form, (11,), "mass")
    schedules = {
        "tiles": GRAVITY,
        "memory": replace(GRAVITY, shared=0, targets=1, ilp=2),
        "two tiles": replace(GRAVITY, stages=2),
        "parts": GRAVITY.for_call(parts=True),
    }
    for name, schedule in schedules.items():
        yield Case(
            "nbody",
            name,
            form,
            (position, mass),
            lambda r, m, s=schedule: mp.nbody.acceleration(r, m, schedule=s),
            lambda f, r, m: gravity_reference.gravity(f, r, r, m, mp.nbody.squared(0, f), 0)[0],
        )


PARTS: dict[str, tuple[Callable[[Format], Iterator[Case]], ...]] = {
    "elements": (elementwise_cases, reduction_cases),
    "products": (gemm_cases, gravity_cases),
    "integers": (integer_cases,),
    "systems": (solve_cases,),
    "tall": (tall_cases,),
}
"""What is checked in one process."""


def main(name: str, part: str) -> int:
    """Run a part of the cases of a format; 1 when a result differs from the host reference."""
    engines.SIDE = 2  # of int8 tiles, most of which would lie beyond the matrices
    device = simulator()
    different = []
    count = 0
    for make in PARTS[part]:
        for case in make(formats.get(name)):
            print(f"# {case.key}", file=sys.stderr, flush=True)
            count += 1
            found, wanted = verify.device_result(case, device), case.host_result()
            if verify.digest(found) != verify.digest(wanted):
                different.append(case.key)
    print(f"{count} cases; different from the reference: {', '.join(different) or 'none'}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
