"""Results of the experiments on gravity as JSON and as tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from portmp.bench.papers.nbody import model
from portmp.bench.papers.nbody.measured import Bench
from portmp.bench.tables import (
    about,
    aligned,
    columns,
    duration,
    energy_lines,
    number,
    origin,
    paper_of,
    quantity,
    sections,
    with_energy,
)

SCHEMA = "portmp nbody bench 1"
RULE = "flops: 22 N^2 / t; interactions a second: N^2 / t"
Row = dict[str, Any]
Lines = list[str]


def head(start: datetime.datetime) -> Row:
    """What says which portmp made a report, and when."""
    return origin(SCHEMA, start) | {"rule": RULE, "paper": paper_of("nbody")["source"]}


def report(bench: Bench, experiments: Mapping[str, Row], start: datetime.datetime) -> Row:
    """Everything of one run on a device."""
    device = bench.device
    return head(start) | about(device) | {
        "clock_mhz": {"nominal": device.properties.clock_mhz, "under_load": bench.clock_mhz()},
        "ceilings": bench.ceilings,
        "runs": bench.runs, "limit_seconds": bench.budget.seconds,
        "experiments": dict(experiments), "skipped": bench.skipped,
        "seconds": round(bench.budget.passed(), 3), **bench.observer.facts(),
    }  # fmt: skip


# --- tables ----------------------------------------------------------------------------------


def table(data: Row) -> str:
    """All experiments of a report."""
    facts, clock = data["device"]["facts"], data["clock_mhz"]["under_load"]
    lines = [
        f"{data['device']['selected']}: {facts['name']}, {facts['compute_units']} units, driver "
        f"{data['driver']}" + (f", {clock:.0f} MHz under load" if clock else ""),
        f"{data['rule']}; paper: {data['paper']}",
        *energy_lines(data),
    ]
    return "\n".join([*lines, *sections(data, _TABLES)])


def _flops(value: float) -> str:
    return quantity(value, "flop/s")


def _roots(found: Row) -> Lines:
    names = list(found["paper"])
    rows = [
        [r["format"], r["root"], duration(r["seconds"]["least"]), _flops(r["flops_max"]),
         quantity(r["interactions_per_second"], "/s"), number(r["over_division"]),
         *(number(found["paper"][n].get(r["root"]), 3) for n in names)]
        for r in found["rows"]
    ]  # fmt: skip
    heads = ("format", "root", "time", "rate", "interactions", "over division", *names)
    title = f"roots: N = {found['n']}, the fastest of the runs; beside it the paper's table 3"
    return columns(title, *with_energy(heads, rows, found["rows"]), 2)


def _sizes(found: Row) -> Lines:
    names, lines = list(found["paper"]), []
    for series in found["series"]:
        rows = []
        for r in series["rows"]:
            shares = (model.table_share(found["paper"][n]["rows"], r["n"]) for n in names)
            parts = " in parts" if (r["schedule"] or {}).get("parts") else ""
            rows.append([
                str(r["n"]) + parts, _flops(r["flops_max"]), _flops(r["flops_median"]),
                number(r["share"]), number(r["model"]), *map(number, shares),
            ])  # fmt: skip
        title = (
            f"sizes: {series['format']} {series['root']}; the model is the staircase of "
            f"{series['at_once']} targets at once; shares of the fastest, the paper's table A.1"
        )
        heads = ("N", "max", "median", "share", "model", *names)
        lines += [*columns(title, *with_energy(heads, rows, series["rows"]), 1), ""]
    return lines[:-1]


def _steps(found: Row) -> Lines:
    names = list(model.devices())
    rows = [
        [str(r["before"]["n"]), str(r["after"]["n"]),
         *(duration(r[k]["seconds"]["least"]) for k in ("before", "after")),
         f"{r['ratio']:.2f}", f"{r['ideal']:.2f}", *(f"{r['paper'][n]:.2f}" for n in names)]
        for r in found["rows"]
    ]  # fmt: skip
    title = (
        f"steps: {found['format']} {found['root']}, {found['threads']} threads a block, one target "
        f"each: {found['at_once']} at once; the paper's tables 4 and 5"
    )
    heads = ("N", "one block more", "time", "time then", "ratio", "ideal", *names)
    return columns(title, heads, rows, 0)


def _cycles(found: Row) -> Lines:
    names = list(found["paper"])
    rows = []
    for r in found["rows"]:
        theirs = (found["paper"][n] for n in names)
        shown = [f"{t[r['op']]:g}, {t[r['op']] / t['fma']:.1f}" if r["op"] in t else "-"
                 for t in theirs]  # fmt: skip
        rows.append([
            r["format"], r["op"], duration(max(r["seconds"], 1e-12)), number(r["cycles"]),
            number(r["over_fma"]), *shown,
        ])  # fmt: skip
    by = f"cycles by {found['clock']}" if found["clock"] else (
        "no clock of the device can be read by kernels here: times only"
    )  # fmt: skip
    heads = ("format", "operation", "time", "cycles", "over fma", *(f"{n} (paper)" for n in names))
    return columns(f"cycles: of one step of a dependent chain; {by}", heads, rows, 2)


def _build(found: Row) -> Lines:
    rows = [
        [r["kernel"], str(r["n"]), duration(r["seconds"]["median"]), f"{100 * r['spread']:.2f} %",
         _flops(r["flops_median"]), *_mix(r["loop"])]
        for r in found["rows"]
    ]  # fmt: skip
    title = "build: the rendered kernel and a plain one written by hand, through one compiler"
    heads = ("kernel", "N", "median", "spread", "rate", "float32 an interaction", "all issued")
    lines = columns(title, *with_energy(heads, rows, found["rows"]), 1)
    if not rows:
        return lines
    same = {True: "the same", False: "not the same", None: "not known (no disassembler)"}
    return [
        *lines,
        f"plain over rendered: {found['plain_over_rendered']:.4f}; instructions of the loops by "
        f"class: {same[found['same_loop']]}; largest difference of results "
        f"{found['largest_difference']:.1e}",
        "The rendered text is itself valid for the plain compiler: no translation is measured.",
    ]


def _mix(loop: Row | None) -> tuple[str, str]:
    if loop is None:
        return "-", "-"
    each = loop["an_interaction"]
    floats = sum(each.get(c, 0) for c in ("fma32", "add32", "mul32"))
    return f"{floats:g}", f"{loop['turns']:g}"


def _copies(found: Row) -> Lines:
    ways = list(dict.fromkeys(r["way"] for r in found["rows"]))
    rates = {(r["bytes"], r["way"]): r["bytes_per_second"] for r in found["rows"]}
    rows = [
        [str(size), *(quantity(rates[size, way], "B/s") for way in ways)]
        for size in dict.fromkeys(r["bytes"] for r in found["rows"])
    ]
    title = "copies: medians; to and from the device by the wall's clock (pageable memory)"
    return columns(title, ("bytes", *ways), rows, 0)


def _bound(found: Row) -> Lines:
    counts = [str(count) for count in found["counts"]]
    rows = [
        [r["format"], r["root"], f"{r['slots']:.4g}", quantity(r["bound"], "/s"),
         quantity(r["interactions_per_second"], "/s"), f"{100 * r['share']:.0f} %",
         f"{100 * r['peak_share']:.0f} %", *(_flops(r["flops"][c]) for c in counts)]
        for r in found["rows"]
    ]  # fmt: skip
    heads = (
        "format", "root", "slots", "bound", "reached", "share", "of 2 fma rate",
        *(f"{c} flop" for c in counts),
    )  # fmt: skip
    lines = columns(
        "bound: the measured rate of fmas over the instructions of an interaction", heads, rows, 2
    )
    sources = dict.fromkeys(f"{r['format']} {r['root']}: {r['slots_by']}" for r in found["rows"])
    return [*lines, *(f"slots of {source}" for source in sources)]


_TABLES: dict[str, Callable[[Row], Lines]] = {
    "roots": _roots, "sizes": _sizes, "steps": _steps, "cycles": _cycles, "build": _build,
    "copies": _copies, "bound": _bound,
}  # fmt: skip


# --- compiled, not run -------------------------------------------------------------------------

CLASSES = ("fma32", "add32", "mul32", "fma64", "add64", "mul64", "special", "other")


def static_table(data: Row) -> str:
    """Instructions, resources and bounds of compiled kernels."""
    lines: Lines = []
    for part in data["static"]:
        lines += [f"{part['arch']}, {part['compiler']}", part["note"]]
        heads = (
            "format", "root", *CLASSES, "turns", "registers", "spills", "shared", "warps", "by",
            "slots", "paper's",
        )  # fmt: skip
        cells = [_static_row(row) for row in part["rows"]]
        lines += [*aligned([heads, *cells], range(2, 16)), ""]
        for name, found in part["paper"].items():
            lines += [*_paper_lines(name, found), ""]
    return "\n".join([*lines, *_STATIC_LEGEND])


def _static_row(row: Row) -> list[str]:
    each = row["loop"]["an_interaction"] if row["loop"] else {}
    held, slots = row["occupancy"], row["slots"] or {}
    return [
        row["format"], row["root"], *(f"{each.get(c, 0):.4g}" for c in CLASSES),
        number(row["loop"]["turns"] if row["loop"] else None, 4),
        *(str(row[k]) if row[k] is not None else "-" for k in ("registers", "spills", "shared")),
        f"{held['warps']:g}/{held['most']}" if held else "-", held["limit"] if held else "-",
        number(slots.get("counted"), 4), number(slots.get("paper"), 4),
    ]  # fmt: skip


def _paper_lines(name: str, found: Row) -> Lines:
    measured = found["measured"]
    lines = [f"{name}, measured in the paper: {_flops(measured)}; bounds for float32 fast:"]
    about = {"counted": "by the instructions counted here", "paper": "by the paper's accounting"}
    return lines + [
        f"  {found['slots'][k]:g} slots {about[k]}: {_flops(most)}, of which "
        f"{100 * measured / most:.1f} % was measured"
        for k, most in found["bounds"].items()
    ]  # fmt: skip


_STATIC_LEGEND = (
    "instructions of an interaction by class; turns: at the vector units, a root or reciprocal as",
    "four where it has no unit of its own; warps: a scheduler holds, of so many at most, and what",
    "limits them: min(M, floor(R / (g ceil(r/g)))) by registers, floor(L / (l + l0)) w / S by",
    "shared memory (portmp/compilers/occupancy.py has the numbers and their sources); slots: the",
    "larger of float32 instructions and turns over what a scheduler issues meanwhile; none where",
    "64-bit instructions take part; paper's: its accounting, 12 and the root as 3 or 4. Static",
    "counts hold what is placed inside the loop, but what a jump skips that calls a function (slow",
    "paths of roots and divisions); an instruction for two operations (packed float32) counts once",
)
