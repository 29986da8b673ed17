"""The paper on quadruple and octuple precision BLAS: what is measured, its numbers beside it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from portmp import discovery
from portmp.bench import peers, plots
from portmp.bench.experiment import RATE, Experiment, paper_of, relative
from portmp.bench.experiment import Case as Measurement
from portmp.bench.options import Request
from portmp.bench.papers.hpcs2011 import copies, measured
from portmp.bench.papers.hpcs2011.measured import PORTMP, ROUTINE_NAMES, WITHOUT_FMA, Bench
from portmp.bench.peers import LIBRARY, FamilyBesideVendor
from portmp.bench.tables import Column, Row, Table, key, number, value_of
from portmp.errors import PortmpError

DOUBLE = "float64"
GPU, OLDER = "C2050", "C1060"
_BESIDE = {
    name: ways for name, ways in measured.ARITHMETIC.items() if not name.endswith(WITHOUT_FMA)
}
_KEYS = (key("routine"), key("format"), key("way"), key("N", "n"))


def precision(form: str) -> str:
    """dd or qd, whoever's arithmetic it is."""
    return form[:2]


def stated(*path: str) -> float | None:
    """A number of the paper; None where it states none."""
    found = value_of(paper_of("hpcs2011"), ".".join(path))
    return float(found) if isinstance(found, (int, float)) else None


# --- what follows from the rates ------------------------------------------------------------------


def followed(bench: Bench, rows: list[Row]) -> Row:
    """Each row's time over float64's; and what fma instructions give, by routine and way."""
    rates = {(r["routine"], r["format"], r["way"]): r["operations_per_second"] for r in rows}
    bench.rates_of = rates
    for row in rows:
        row["over_float64"] = {
            way: rates[row["routine"], DOUBLE, way] / row["operations_per_second"]
            for way in (PORTMP, LIBRARY)
            if (row["routine"], DOUBLE, way) in rates
        }
    gains = [
        {
            "routine": routine,
            "format": form,
            "way": way,
            "gain": rate / rates[routine, form + WITHOUT_FMA, way],
        }
        for (routine, form, way), rate in rates.items()
        if (routine, form + WITHOUT_FMA, way) in rates
    ]
    return {"kind": bench.kind, "gains": gains}


def stated_gain(row: Row) -> float | None:
    """What fma gives in the paper, of a routine in a format."""
    with_fma, without = (
        stated("rates", row["routine"], row["format"] + end) for end in ("", WITHOUT_FMA)
    )
    return with_fma / without if with_fma and without else None


def _rates(found: Row) -> Iterator[Table | str]:
    kind = found["kind"]
    columns = (
        *_KEYS,
        Column("time", "seconds.median", "s"),
        RATE,
        Column("of the peak", "peak_share", "%"),
        Column("the paper", lambda r: stated("peak_shares", r["routine"], r["format"]), "%"),
        Column("of the floor", "share", "%"),
        Column("x float64", f"over_float64.{PORTMP}"),
        Column("x library", f"over_float64.{LIBRARY}"),
        Column("paper x", partial(_over, kind)),
        Column("error", relative, "words"),
    )
    title = (
        "rates: operations of the format a second; of the peak: float64's own operations over two "
        f"a fma; x: times over float64's; the paper: {GPU}, its processor for x beside a CPU"
    )
    yield Table(title, columns, found["rows"])
    if found["gains"]:
        gains = (*_KEYS[:3], Column("gain", "gain"), Column("the paper", stated_gain))
        yield Table(f"fma: the rate over that without fma; the paper: {GPU}", gains, found["gains"])


def _over(kind: str, row: Row) -> float | None:
    if row["format"].endswith(WITHOUT_FMA):
        return None
    return stated("over_float64", kind, row["routine"], precision(row["format"]))


def _drawings(found: Row) -> Iterator[plots.Draw]:
    """Times over float64's, beside the paper's."""
    series: dict[str, dict[str, float]] = {}
    for row in found["rows"]:
        if row["format"] != DOUBLE and row["over_float64"].get(PORTMP):
            name = f"{row['format']}, {row['way']}"
            series.setdefault(name, {})[row["routine"]] = row["over_float64"][PORTMP]
    theirs = paper_of("hpcs2011")["over_float64"][found["kind"]]
    for form in ("dd", "qd"):
        series[f"the paper's {form}"] = {r: theirs[r][form] for r in ROUTINE_NAMES}
    yield partial(plots.bars, series=series, across="routine", up="time over float64's", log=True)


# --- beside a CPU ---------------------------------------------------------------------------------


def _beside(bench: Bench) -> Iterator[Measurement]:
    """The same on the host's processor, beside a GPU."""
    if bench.kind == "cpu" or not bench.device.properties.float64:
        return
    try:
        processor = discovery.interpreter()
    except PortmpError as error:
        bench.skip("cpu", "all", str(error))
        return
    vendor, problem = peers.find(processor)
    other = Bench(
        processor,
        None,
        bench.runs,
        bench.budget,
        bench.progress,
        skipped=bench.skipped,
        sizes=measured.SIZES[measured.USUAL["cpu"]],
        vendor=vendor,
        no_vendor=problem,
    )
    facts = processor.properties
    bench.beside = {"processor": facts.name, "units": facts.compute_units}
    yield from measured.measurements(other, "cpu", _BESIDE)


def _faster(bench: Bench, rows: list[Row]) -> Row:
    """How many times as fast the GPU is: in ``over_cpu`` of each row."""
    for row in rows:
        row["over_cpu"] = None
        gpu = bench.rates_of.get((row["routine"], row["format"], row["way"]))
        if gpu:
            row["over_cpu"] = gpu / row["operations_per_second"]
    return {}


def _cpu(found: Row) -> Iterator[Table | str]:
    if not found["rows"]:
        yield "cpu: nothing was measured: this is what a GPU stands beside"
        return
    columns = (
        *_KEYS,
        RATE,
        Column("GPU over it", "over_cpu"),
        Column("the paper", lambda r: stated("over_cpu", r["routine"], precision(r["format"]))),
    )
    title = (
        f"cpu: {found.get('processor')}, {found.get('units')} units; the GPU's rate over it, in "
        f"the paper the {GPU}'s over a Core i7 920's"
    )
    yield Table(title, columns, found["rows"])


# --- copies ---------------------------------------------------------------------------------------


def _stated_share(row: Row) -> str | None:
    form = DOUBLE if row["format"] == DOUBLE else precision(row["format"])
    shares = [stated("copies", gpu, row["routine"], form) for gpu in (OLDER, GPU)]
    found = [f"{number(100 * share)} %" for share in shares if share is not None]
    return ", ".join(found) or None


_COPIES = (
    *(each for each in _KEYS if each.heading != "way"),
    Column("to it", f"bytes_per_second.{copies.TO}", "B/s"),
    Column("work", f"seconds.{copies.WORK}.median", "s"),
    Column("from it", f"bytes_per_second.{copies.BACK}", "B/s"),
    Column("copies", "share", "%", compared=True),
    Column("the paper", _stated_share, "words"),
    Column("overlapped", "share_overlapped", "%"),
    Column("faster", "faster"),
    Column("same bits", "same_bits", "yes"),
)


# --- the family -----------------------------------------------------------------------------------


class Hpcs2011(FamilyBesideVendor):
    """``portmp bench hpcs2011``: the experiments of the paper on DD and QD BLAS, on any device."""

    name = paper = "hpcs2011"
    run = Bench
    experiments = (
        Experiment(
            "rates",
            measured.cases,
            (*_KEYS, RATE),
            share=6,
            tables=_rates,
            found=followed,
            drawings=_drawings,
        ),
        Experiment(
            "copies",
            copies.cases,
            _COPIES,
            f"copies: their share of the whole time, one after the other; the paper: {OLDER}, "
            f"{GPU}; overlapped: what is left beside the work, in {copies.PIECES} pieces by "
            f"{copies.QUEUES} queues",
            share=3,
        ),
        Experiment("cpu", _beside, (*_KEYS, RATE), share=3, tables=_cpu, found=_faster),
    )

    def ready(self, run: Bench, request: Request) -> None:
        super().ready(run, request)
        run.sizes = measured.SIZES[request.args.sizes or measured.USUAL[run.kind]]

    def facts(self, run: Bench) -> Row:
        limits = run.ceilings.as_dict() if run.ceilings else None
        return {**super().facts(run), "ceilings": limits}


FAMILY = Hpcs2011()
