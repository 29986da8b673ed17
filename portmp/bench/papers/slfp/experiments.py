"""The reduced-length formats' paper: what is measured of it, and its numbers beside portmp's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from portmp.bench import options, plots
from portmp.bench.experiment import RATE, Experiment, paper_of
from portmp.bench.options import Request
from portmp.bench.papers.slfp import accuracy, layouts
from portmp.bench.papers.slfp.measured import KINDS, ONE_LIMB, PAPER, SWEPT, Bench, Kind, cases
from portmp.bench.peers import FamilyBesideVendor
from portmp.bench.tables import ENERGY, Column, Row, Rows, Table, key, number, shape_text

SMALLEST = 32
_LAYOUTS = ("planar", "interleaved")
_NAMES = [name for parent, shorts in ONE_LIMB.items() for name in (parent, *shorts)]
_FIGURES = {"mflops_per_watt": "paper eff x", "board_mflops_per_watt": "of its board"}
"""What the paper's efficiency may be of, and how its column is called."""


def theirs(kind: str, experiment: str) -> tuple[str, Row]:
    """The paper's device of a kind, and its rows of an experiment; none where it has no such."""
    devices = paper_of("slfp")["devices"]
    name = next(n for n, d in devices.items() if d["kind"] == kind)
    return name, devices[name].get(experiment, {}).get("rows", {})


def times(over: Mapping[str, float]) -> str:
    """How many times as fast as float64, in brackets as float32: the paper's columns."""
    first, *more = [number(ratio) for ratio in over.values()]
    if "float64" not in over:
        return f"{first} x {next(iter(over))}"
    return f"{first} ({more[0]})" if more else first


def stated(rows: Row, name: str, figure: str = "gflops") -> str:
    """The paper's ratio of a format's figure to FP64's, for short floats to FP32's in brackets."""
    if figure not in rows.get(name, {}):
        return "-"
    bases = ["float64", *(["float32"] if name in ONE_LIMB["float32"] else [])]
    return times({base: rows[name][figure] / rows[base][figure] for base in bases})


# --- tables -----------------------------------------------------------------------------------


def _of_a_size(name: str, rows: Rows, there: Row) -> Iterator[Column]:
    """The columns for rows of one size; *there*: the paper's."""
    cut = {row["format"].removesuffix("_rz"): row for row in rows if _truncated(row)}
    by_bytes = name != "gemm"
    yield key("type")
    yield Column("GFlop/s", lambda r: r["operations_per_second"] / 1e9, ".4g")
    if by_bytes:
        yield Column("GB/s", lambda r: r["bytes_per_second"] / 1e9, ".4g")
    yield Column("x float64", lambda r: times(r["over"]), "words")
    if by_bytes:
        yield from (Column("ideal", "ideal"), Column("reached", "reached", "%"))
    if cut:
        ratios = {t: times(row["over"]) for t, row in cut.items()}
        yield Column("truncated", lambda r: ratios.get(r["type"]), "words")
    if there:
        yield Column("paper x", partial(_stated, there, "gflops"), "words")
    read = {row["type"]: row["energy"] for row in rows if row.get("energy")}
    if read:
        yield from (*ENERGY, Column("W", "energy.watts"))
        for heading, figure in (
            ("x kept up", "operations_per_second"),
            ("eff x", "gflops_per_watt"),
        ):
            yield Column(heading, partial(_over_parents, read, figure), "words")
        for figure, heading in _FIGURES.items():
            if figure in there.get("float64", {}):
                yield Column(heading, partial(_stated, there, figure), "words")


def _over_parents(read: Mapping[str, Row], figure: str, row: Row) -> str | None:
    """A figure of the energy over those of the parents."""
    mine = read.get(row["type"])
    over = {b: mine[figure] / read[b][figure] for b in row["over"] if mine and b in read}
    return times(over) if over else None


def _stated(there: Row, figure: str, row: Row) -> str:
    return stated(there, row["type"].removeprefix(PAPER).strip(), figure)


def _truncated(row: Row) -> bool:
    return bool(row["type"].endswith("_rz"))


def _routine(name: str, found: Row) -> Iterator[Table | str]:
    machine, there = theirs(found["kind"], name)
    beside = f", beside the paper's {machine}" if there else ""
    for n in dict.fromkeys(row["n"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["n"] == n]
        shown = _in_order([row for row in rows if not _truncated(row)])
        title = f"{name}, n = {shape_text([n])}{beside}"
        yield Table(title, tuple(_of_a_size(name, rows, there)), shown)


def _in_order(rows: Rows) -> list[Row]:
    """Rows as the paper has its formats, behind their parents."""
    order = [f for parent, shorts in KINDS["axpy"].families.items() for f in (parent, *shorts)]
    return sorted(rows, key=lambda row: order.index(row["format"]))


def _sweep(found: Row) -> Iterator[Table | str]:
    for name in dict.fromkeys(row["routine"] for row in found["rows"]):
        rows = _in_order([row for row in found["rows"] if row["routine"] == name])
        columns = key("type"), Column("n", "operations_per_second", "/s")
        title = f"sweep: {name}, operations a second by n; larger ones are in {name}"
        yield Table(title, columns, sorted(rows, key=lambda row: row["n"]), pivot="n")


def _interleaved(found: Row) -> Iterator[Table | str]:
    sizes = ", ".join(shape_text([n]) for n in dict.fromkeys(r["n"] for r in found["rows"]))
    columns = (
        key("format"),
        Column("word", "word"),
        *(Column(name, f"bytes_per_second.{name}", "B/s") for name in _LAYOUTS),
        Column("planar over interleaved", "planar_over_interleaved"),
        Column("same bits", "same_bits", "yes"),
    )
    title = "interleaved: AXPY with parts one behind another, in words of so many bytes"
    yield Table(f"{title}, n = {sizes}", columns, found["rows"])


def _accuracy(found: Row) -> Iterator[Table | str]:
    columns = (
        key("format"),
        key("rounding", lambda r: r["rounding"].replace("_", " ")),
        Column("n", lambda r: f"{r['mean']:+.3g}, {r['rms']:.3g}", "words"),
    )
    for what, title in (
        (accuracy.INPUTS, "a matrix's positive entries are stored short, vectors are not"),
        (accuracy.SUMS, "running sums of positive products, stored short after each"),
    ):
        rows = [r for r in found["rows"] if r["what"] == what]
        whole = "errors over the sum in units of 2^-p, mean and root mean square, by terms"
        yield Table(f"accuracy: {title}: {whole}", columns, rows, pivot="n")


# --- pictures ---------------------------------------------------------------------------------


def _bars(name: str, found: Row, per_watt: bool) -> dict[str, dict[str, float]]:
    """Bars by label and format: one for each size, and the paper's."""
    series: dict[str, dict[str, float]] = {}
    for row in found["rows"]:
        value = row["energy"]["gflops_per_watt"] if row.get("energy") else 0.0
        if not per_watt:
            value = row["operations_per_second"]
        if value and row["type"] in _NAMES:
            series.setdefault(f"n = {shape_text([row['n']])}", {})[row["type"]] = value
    series = {label: bars for label, bars in series.items() if "float64" in bars}
    if series:
        machine, there = theirs(found["kind"], name)
        figure = "mflops_per_watt" if per_watt else "gflops"
        bars = {f: r[figure] for f, r in there.items() if f in _NAMES}
        series |= {f"the paper's {machine}": bars} if bars else {}
    return {
        label: {f: bars[f] / bars["float64"] for f in _NAMES if f in bars}
        for label, bars in series.items()
    }


def _drawings(name: str, found: Row) -> Iterator[plots.Draw]:
    """Rates over float64's by format, and rates over watts where they were read."""
    for what, per_watt in (("rate", False), ("rate per watt", True)):
        series = _bars(name, found, per_watt)
        if series:
            up = f"{name}: {what} over float64's"
            yield partial(plots.bars, series=series, across="format", up=up)


# --- the experiments --------------------------------------------------------------------------


def _routine_of(kind: Kind, share: int) -> Experiment:
    return Experiment(
        kind.name,
        lambda bench: cases(bench, kind),
        (key("type"), key("n"), RATE),
        share=share,
        tables=partial(_routine, kind.name),
        drawings=partial(_drawings, kind.name),
        found=lambda bench, _: {"kind": bench.kind},
        label=_named,
    )


def _named(row: Row) -> str:
    return f"{row.get('type', row['format'])}, n = {row['n']}"


_SHARES = {"axpy": 6, "gemm": 4, "gemv": 2, "dot": 2}


class Slfp(FamilyBesideVendor):
    """``portmp bench slfp``: the experiments of the paper on short formats, on any device."""

    name = paper = "slfp"
    run = Bench
    experiments = (
        *(_routine_of(KINDS[name], share) for name, share in _SHARES.items()),
        Experiment(
            "interleaved",
            layouts.cases,
            (
                *map(key, ("format", "n")),
                Column("rate", "bytes_per_second.planar", "B/s", compared=True),
            ),
            tables=_interleaved,
            label=_named,
        ),
        Experiment(
            "accuracy",
            accuracy.cases,
            (
                *map(key, ("what", "format", "rounding", "n")),
                Column("mean", "mean", compared=True),
                Column("rms", "rms", compared=True),
            ),
            share=2,
            tables=_accuracy,
        ),
        Experiment(
            "sweep",
            lambda bench: cases(bench, *SWEPT),
            (*map(key, ("routine", "type", "n")), RATE),
            share=3,
            tables=_sweep,
            drawings=partial(plots.curves, lambda row: str(row["type"])),
            label=lambda row: f"{row['routine']} {_named(row)}",
        ),
    )

    def check(self, request: Request) -> None:
        few = request.sizes if len(request.sizes) > 2 else request.sizes[:1]
        options.check_one_size(few, request.args.size, "length, and one order")
        options.check_least_size(request.sizes, SMALLEST)

    def ready(self, run: Bench, request: Request) -> None:
        super().ready(run, request)
        run.order = request.sizes[-1] if request.sizes else None


FAMILY = Slfp()
