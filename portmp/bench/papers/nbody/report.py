"""Columns, tables and pictures of the experiments on gravity."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from portmp.bench import plots
from portmp.bench.papers.nbody import model
from portmp.bench.tables import Column, Row, Table, key, quantity

PAPERS = tuple(model.devices())
RATE = "flop/s"


def _ratio(name: str, row: Row) -> float | None:
    """What the paper has for a row of one of its formats."""
    return model.ratios(name).get(row["root"]) if row["format"] == model.FORMAT else None


ROOTS = (
    *map(key, ("format", "root")),
    Column("time", "seconds.least", "s"),
    Column("rate", "flops_max", RATE, compared=True),
    Column("interactions", "interactions_per_second", "/s"),
    Column("over division", "over_division"),
    *(Column(name, partial(_ratio, name)) for name in PAPERS),
)


# --- sizes, steps, cycles ---------------------------------------------------------------------


def _with_parts(row: Row) -> str:
    return f"{row['n']}{' in parts' if (row['schedule'] or {}).get('parts') else ''}"


SIZES = (key("format"), key("root"), key("N", "n"), Column("max", "flops_max", RATE, compared=True))


def sizes(found: Row) -> Iterator[Table | str]:
    """A table for each format and root."""
    columns = (
        key("N", _with_parts),
        Column("max", "flops_max", RATE),
        Column("median", "flops_median", RATE),
        Column("share", "share"),
        Column("model", "model"),
    )
    theirs = tuple(
        Column(name, partial(model.table_share, found["paper"][name]["rows"])) for name in PAPERS
    )
    for form, root in dict.fromkeys((r["format"], r["root"]) for r in found["rows"]):
        rows = [r for r in found["rows"] if (r["format"], r["root"]) == (form, root)]
        title = (
            f"sizes: {form} {root}; the model is the staircase of {rows[0]['at_once']} targets at "
            "once; shares of the fastest"
        )
        paper = form == model.FORMAT
        title += f", the paper's table A.1, of {form}" * paper
        yield Table(title, columns + theirs * paper, rows)


STEPS = (
    key("N", "before.n", "words"),
    Column("one block more", "after.n", "words"),
    Column("time", "before.seconds.least", "s"),
    Column("time then", "after.seconds.least", "s"),
    Column("ratio", "ratio", ".2f", compared=True),
    Column("ideal", "ideal", ".2f"),
    *(Column(name, f"paper.{name}", ".2f") for name in PAPERS),
)


def steps(found: Row) -> Iterator[Table | str]:
    """The paper's tables 4 and 5, and its figure 5 as numbers."""
    title = (
        "steps: {format} {root}, {threads} threads a block, one target each: {at_once} at once; "
        "the paper's tables 4 and 5"
    )
    yield Table(title.format_map(found) if found["rows"] else "steps", STEPS, found["rows"])
    around = [
        {"N": before["n"], "blocks": f"{(n - before['n']) // found['threads']:+d}", "over": over}
        for row in found["rows"]
        for before in [row["before"]]
        for n, seconds in row.get("around", ())
        for over in [seconds / before["seconds"]["least"]]
    ]
    if around:
        columns = key("N", "N", "words"), Column("blocks", "over", ".3f")
        title = "steps: block by block (figure 5), the least time over that of N"
        yield Table(title, columns, around, pivot="blocks")


def draw_steps(found: Row) -> Iterator[plots.Draw]:
    """The time by number of particles around each step, as in figure 5."""
    rows = [row for row in found["rows"] if "around" in row]
    series = {f"around {row['before']['n']}": row["around"] for row in rows}
    up = "least time of a step (s)"
    yield partial(plots.lines, series=series, across="number of particles", up=up, base=2)


CYCLES = (
    key("format"),
    key("operation", "op"),
    Column("time", lambda r: max(float(r["seconds"]), 1e-12), "s", compared=True),
    Column("cycles", "cycles"),
    Column("over fma", "over_fma"),
)


def cycles(found: Row) -> Iterator[Table | str]:
    """With the paper's cycles, and those over an fma's."""

    def theirs(name: str, row: Row) -> str | None:
        stated = found["paper"][name]
        each = stated.get(row["op"]) if row["format"] == model.FORMAT else None
        return None if each is None else f"{each:g}, {each / stated['fma']:.1f}"

    beside = (Column(f"{n} (paper)", partial(theirs, n), "words") for n in found["paper"])
    without = "no clock of the device can be read by kernels here: times only"
    by = f"cycles by {found['clock']}" if found["clock"] else without
    title = f"cycles: of one step of a dependent chain; {by}"
    yield Table(title, (*CYCLES, *beside), found["rows"])


# --- build, copies, bound ---------------------------------------------------------------------


def _floats(row: Row) -> str | None:
    each = row["loop"]["an_interaction"] if row["loop"] else None
    return f"{sum(each.get(c, 0) for c in CLASSES[:3]):g}" if each else None


BUILD = (
    key("kernel"),
    Column("N", "n", "words"),
    Column("median", "seconds.median", "s"),
    Column("spread", lambda r: f"{100 * r['spread']:.2f} %", "words"),
    Column("rate", "flops_median", RATE, compared=True),
    Column("over rendered", "over_rendered", ".4f"),
    Column("float32 an interaction", _floats, "words"),
    Column("all issued", lambda r: f"{r['loop']['turns']:g}" if r["loop"] else None, "words"),
    Column("difference", "difference", ".1e"),
)


_BY = "float32 at 22 flop an interaction"
VARIANTS = (
    *map(key, ("root", "shared")),
    key("ILP", "ilp"),
    key("threads"),
    Column("rate", "flops_max", RATE, compared=True),
)


def variants(found: Row) -> Iterator[Table | str]:
    """The fastest of all, and the fastest with each choice; the paper's choices below."""
    rows = sorted(found["rows"], key=lambda r: float(r["flops_max"]), reverse=True)
    title = f"variants: the fastest {min(10, len(rows))} of {len(rows)}, N = {found.get('n')}, "
    yield Table(title + _BY, VARIANTS, rows[:10])
    best = [
        next(r for r in rows if r[name] == value) | {"choice": f"{name} {value}"}
        for name in ("root", "shared", "ilp", "threads")
        for value in dict.fromkeys(r[name] for r in rows)
    ]
    if best:
        yield Table("variants: the fastest of each choice", (key("choice"), *VARIANTS), best)
    for name, about in model.devices().items():
        threads, root, shared = about["threads"], about["root"], about["shared"]
        yield f"the paper's best on {name}: {root}, shared {shared}, ILP 4, {threads} threads"


COPIES = (key("bytes"), key("way"), Column("rate", "bytes_per_second", "B/s", compared=True))


def copies(found: Row) -> Iterator[Table | str]:
    """Rates by bytes, a column for each way."""
    title = "copies: medians; to and from the device by the wall's clock (pageable memory)"
    columns = key("bytes", "bytes", "words"), Column("way", "bytes_per_second", "B/s")
    yield Table(title, columns, found["rows"], pivot="way")


BOUND = (
    *map(key, ("format", "root")),
    Column("slots", "slots", ".4g"),
    Column("bound", "bound", "/s"),
    Column("reached", "interactions_per_second", "/s", compared=True),
    Column("share", "share", "%"),
    Column("of 2 fma rate", "peak_share", "%"),
    *(Column(f"{count} flop", f"flops.{count}", RATE) for count in model.COUNTS),
)


def bound(found: Row) -> Iterator[Table | str]:
    """Bounds, and what the slots were counted by."""
    title = "bound: the measured rate of fmas over the instructions of an interaction"
    yield Table(title, BOUND, found["rows"])
    yield from dict.fromkeys(
        f"slots of {r['format']} {r['root']}: {r['slots_by']}" for r in found["rows"]
    )


# --- compiled, not run ------------------------------------------------------------------------

CLASSES = ("fma32", "add32", "mul32", "fma64", "add64", "mul64", "special", "other")


def _class(name: str, row: Row) -> float:
    return float(row["loop"]["an_interaction"].get(name, 0)) if row["loop"] else 0.0


def _warps(row: Row) -> str | None:
    held = row["occupancy"]
    return f"{held['warps']:g}/{held['most']}" if held else None


STATIC = (
    *map(key, ("format", "root")),
    *(Column(c, partial(_class, c), ".4g") for c in CLASSES),
    Column("turns", "loop.turns", ".4g", compared=True),
    *(Column(name, name, "words") for name in ("registers", "spills", "shared")),
    Column("warps", _warps, "words"),
    Column("by", "occupancy.limit", "words"),
    Column("slots", "slots.counted", ".4g"),
    Column("paper's", "slots.paper", ".4g"),
)


def static(found: Row) -> Iterator[Table | str]:
    """Instructions, resources and bounds of compiled kernels."""
    yield Table(found["note"], STATIC, found["rows"])
    for name, beside in found["bounds"].items():
        told = {
            root: f" (the paper's: {100 * each['share']:.0f} %)" if "share" in each else ""
            for root, each in beside.get("roots", {}).items()
        }
        roots = (f"{r} {quantity(beside['roots'][r]['bound'], RATE)}{told[r]}" for r in told)
        if told:
            yield f"{name}: bounds of float32 by the instructions counted here: {', '.join(roots)}"
        if told.get("division"):
            yield "  division: portmp's goes another way (by float64), the paper's by less"


STATIC_LEGEND = (
    "instructions of an interaction by class; turns: at the vector units, a root or reciprocal as",
    "four where it has no unit of its own; warps: a scheduler holds, of so many at most, and what",
    "limits them; slots: float32 instructions or, if they are more, turns over what a scheduler",
    "issues meanwhile; none where 64-bit instructions take part; paper's: 12 and the root, as it",
    "counts for this GPU. docs/benchmarks.md (N-body) says what static counts leave out",
)


# --- pictures ---------------------------------------------------------------------------------


def draw_sizes(found: Row) -> Iterator[plots.Draw]:
    """Rates by number of particles, points that were measured beside the model."""
    series: dict[str, list[Row]] = {}
    for row in found["rows"]:
        series.setdefault(f"{row['format']} {row['root']}", []).append(row)

    def draw(axes: Any) -> None:
        for name, rows in series.items():
            numbers = [row["n"] for row in rows]
            (line,) = axes.plot(numbers, [row["flops_max"] for row in rows], "o", label=name)
            low, high = math.log2(numbers[0]), math.log2(numbers[-1])
            fine = [round(2 ** (low + (high - low) * i / 400)) for i in range(401)]
            top = max(row["flops_max"] for row in rows)
            steps = [top * model.staircase(n, rows[0]["at_once"]) for n in fine]
            axes.plot(fine, steps, "-", linewidth=0.8, color=line.get_color(), label="model")
        plots.lines(
            axes, {}, "number of particles", "rate at 22 flop an interaction (flop/s)", base=2
        )
        axes.legend(fontsize=7)

    yield draw


def draw_roots(found: Row) -> Iterator[plots.Draw]:
    """Rates over that of division, by root, beside the paper's."""
    series: dict[str, dict[str, float]] = {}
    for row in found["rows"]:
        series.setdefault(row["format"], {})[row["root"]] = row["over_division"] or 0.0
    papers = found["paper"].items()
    series |= {f"{name} (paper, {model.FORMAT})": ratios for name, ratios in papers}
    yield partial(plots.bars, series=series, across="root", up="rate over that of division")
