"""What compiled gravity kernels issue and occupy: without a device, and without running them."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Sequence
from typing import NamedTuple

from portmp import formats
from portmp.bench.papers.nbody import model
from portmp.bench.tables import Row
from portmp.codegen import kernel_spec
from portmp.codegen.kernel_spec import KernelSpec
from portmp.compilers import loops
from portmp.compilers.base import KernelReport
from portmp.compilers.loops import Loop
from portmp.compilers.occupancy import UNITS, occupancy
from portmp.compilers.select import compiler_for, platform_of
from portmp.errors import ArgumentError, choice
from portmp.progress import Progress
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.schedules import database

KERNELS: dict[str, tuple[str, ...]] = {
    "float32": ("fast", "rounded", "rsqrt", "division", "exact"),
    "float64": ("fast", "exact"),
    "ds": ("exact",),
    "dd": ("exact",),
}
"""Formats, and the roots of each that are compiled."""
CAVEAT = (
    "compiled, not run: static counts of the innermost loop; nothing here was measured on a device"
)


def reads(form: str, s: NbodySchedule) -> float:
    """Reads of shared memory an interaction: 16 bytes at once, a source for all targets."""
    f = formats.get(form)
    return 4 * f.itemsize / 16 / (s.targets * s.width)


class Card(NamedTuple):
    """What is compiled for: an architecture, and how many units of which clock (GHz) a card has."""

    arch: str
    units: int = 0
    clock: float = 0.0


def known(text: str) -> Card:
    """A card from ``gfx942``, ``MI100`` (the paper's), or ``gfx942:304x2.1``: units and clock.

    ArgumentError for an architecture whose units are not known.
    """
    name, colon, size = text.partition(":")
    papers = {paper.lower(): about["arch"] for paper, about in model.devices().items()}
    arch = papers.get(name.lower(), name)
    platform_of(choice("--static:", arch, UNITS))
    match = re.fullmatch(r"([1-9][0-9]{0,4})x([0-9]{1,2}(?:\.[0-9]{1,4})?)", size)
    if not colon:
        return Card(arch)
    if match is None or float(match[2]) == 0:
        raise ArgumentError(
            f"--static: {text[:40]!r} given; of a card its units and clock in GHz are needed, as "
            "in gfx942:304x2.1"
        )
    return Card(arch, int(match[1]), float(match[2]))


def _module(form: str, roots: Sequence[str]) -> tuple[list[KernelSpec], NbodySchedule]:
    """Kernels of several roots, named after them, for one compilation; their schedule."""
    f = formats.get(form)
    schedule = database.default(database.Task("nbody", f, "accurate", "all"))
    assert isinstance(schedule, NbodySchedule)
    kernels = []
    for root in roots:
        main = gravity.compilation_unit(form, schedule, ("acceleration",), root=root)[0]
        kernels.append(main.renamed(f"gravity_{root}"))
    return kernels, schedule


def report(given: str, progress: Progress) -> Row:
    """Every kernel's loop, resources and, for float32, bounds by its issue slots."""
    card, start = known(given), time.monotonic()
    arch, on = card.arch, platform_of(card.arch)
    compiler, _ = compiler_for(on, arch)
    version = compiler.version()
    rows: list[Row] = []
    for form, roots in KERNELS.items():
        progress.show(f"compiling gravity of {form} for {arch}")
        kernels, schedule = _module(form, roots)
        binary = compiler.compile(kernel_spec.rendered(kernels, on).text, arch)
        reports = {r.name: r for r in compiler.report(binary, arch)}
        found = loops.hot_loops(on, binary)
        for root in roots:
            name = f"gravity_{root}"
            loop = found[name].with_reads(reads(form, schedule)) if name in found else None
            rows.append(_row(form, root, reports[name], loop, schedule))
    progress.clear()
    about = f"{compiler.name} {version}"
    return {
        "selected": given,
        "about": about,
        "facts": None,
        "compiler": about,
        "refusal": None,
        "experiments": {"static": {"note": CAVEAT, "bounds": _bounds(card, rows), "rows": rows}},
        "skipped": [],
        "seconds": round(time.monotonic() - start, 3),
    }


def _row(
    form: str, root: str, report: KernelReport, loop: Loop | None, schedule: NbodySchedule
) -> Row:
    held = occupancy(report, schedule.threads)
    return {
        "format": form,
        "root": root,
        "schedule": dataclasses.asdict(schedule),
        "registers": report.registers,
        "spills": report.spills,
        "scratch": report.scratch,
        "shared": report.shared,
        "occupancy": held.as_dict() if held else None,
        "loop": loop.as_dict() if loop else None,
        "slots": slots(loop, report.arch, form, root) if loop else None,
    }


def slots(loop: Loop, arch: str, form: str, root: str) -> Row | None:
    """Turns at the vector units for each interaction, counted in two ways; None with float64.

    ``counted``: the float32 instructions, or all that the loop issues if they take longer,
    with special ones as the architecture has them. ``paper``: what the paper counts for its GPU of
    this architecture and this root, where it does.
    Loops with instructions of 64 bits are left out: their rate differs among architectures.
    """
    if any(name.endswith("64") for name, count in loop.instructions.items() if count):
        return None
    floats = loop.each("fma32", "add32", "mul32")
    counted = max(floats, loop.turns / UNITS[arch].issue)
    paper = model.slots(arch, root) if form == model.FORMAT else None
    return {"counted": counted, **({} if paper is None else {"paper": paper})}


def _bounds(card: Card, rows: Sequence[Row]) -> dict[str, Row]:
    """Rates by slots: of the paper's devices of this architecture, beside those it measured.

    Of a card with units and a clock the same without any.
    """
    found: dict[str, Row] = {}
    issue = UNITS[card.arch].issue
    slots = {
        r["root"]: r["slots"]["counted"] if r["slots"] else r["loop"]["turns"] / issue
        for r in rows
        if r["format"] == "float32" and r["loop"]
    }
    for name, about in model.devices().items():
        if about["arch"] == card.arch:
            # Its best by what it counts, too.
            both = slots | {"by its own count": float(about["slots"])}
            best = dict.fromkeys(("fast", "by its own count"), about["best"])
            found[name] = _by_root(model.lane_rate(name), both, about["roots"] | best)
    if card.units:
        lanes = card.units * UNITS[card.arch].rate * card.clock * 1e9
        found[f"{card.units} units of {card.clock:g} GHz"] = _by_root(lanes, slots, {})
    return found


def _by_root(lanes: float, slots: dict[str, float], stated: dict[str, float]) -> Row:
    """The bound of each root by what is counted here, and the share of it that the paper has."""
    bounds = {root: model.FLOP * lanes / each for root, each in slots.items()}
    roots = {
        root: {"bound": most} | ({"share": stated[root] * 1e12 / most} if root in stated else {})
        for root, most in bounds.items()
    }
    return {"lane_rate": lanes, "roots": roots}
