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
from portmp.bench.tables import Column, Row, Table, key, number, shown, value_of
from portmp.errors import PortmpError

DOUBLE = "float64"
GPU, OLDER, CPU = "C2050", "C1060", "Core i7 920"
_BESIDE = {
    name: ways for name, ways in measured.ARITHMETIC.items() if not name.endswith(WITHOUT_FMA)
}
_NAMES = ("routine", "format", "way")
_KEYS = (*map(key, _NAMES), key("N", "n"))
SHARE = ".1%"
"""How the paper writes shares."""


def precision(form: str) -> str:
    """dd or qd, whoever's arithmetic it is."""
    return form[:2]


def stated(*path: str) -> float | None:
    """A number of the paper; None where it states none."""
    found = value_of(paper_of("hpcs2011"), ".".join(path))
    return float(found) if isinstance(found, (int, float)) else None


# --- what follows from the rates ------------------------------------------------------------------


def followed(bench: Bench, rows: list[Row]) -> Row:
    """What fma instructions give, and GEMV's rates over AXPY's, of what was measured."""
    bench.rates_of = {
        (r["routine"], r["format"], r["way"]): r["operations_per_second"] for r in rows
    }
    gains = [{k: r[k] for k in (*_NAMES, "gain")} for r in rows if "gain" in r]
    over = [
        {"format": form, "way": way, "over_axpy": rate / bench.rates_of["axpy", form, way]}
        for (routine, form, way), rate in bench.rates_of.items()
        if routine == "gemv" and ("axpy", form, way) in bench.rates_of
    ]
    return {"kind": bench.kind, "gains": gains, "gemv": over}


def stated_gain(row: Row) -> float | None:
    """What fma gives in the paper, of a routine in a format."""
    with_fma, without = (
        stated("rates", GPU, row["routine"], row["format"] + end) for end in ("", WITHOUT_FMA)
    )
    return with_fma / without if with_fma and without else None


def _of(form: str) -> str:
    """What the paper's ratios call a format."""
    return DOUBLE if form == DOUBLE else precision(form)


def rate_there(*at: str) -> str | None:
    """A rate of the paper with all its digits."""
    rate = stated("rates", *at)
    return f"{rate / 1e9:g} G/s" if rate else None


def _there(gpu: str, row: Row) -> str | None:
    """A rate of the paper, also of float64, the share of the peak; what it prints in its place."""
    at = gpu, row["routine"], row["format"]
    double, share = stated("in_float64", *at), stated("peak_shares", *at)
    printed = stated("peak_shares", "printed", *at)
    found = (
        rate_there(*at),
        double and f"{double / 1e9:g} G/s of float64",
        share and shown(share, SHARE),
        printed and f"printed {shown(printed, SHARE)}",
    )
    return at_size(row, ", ".join(text for text in found if text))


def at_size(row: Row, text: str | None) -> str | None:
    """What the paper states, with the size at which it does where the row has another one."""
    size = paper_of("hpcs2011")["sizes"][row["routine"]]
    return f"{text} at {size}" if text and row["n"] != size else text or None


def _rates(found: Row) -> Iterator[Table | str]:
    kind = found["kind"]
    columns = (
        *_KEYS,
        Column("time", "seconds.median", "s"),
        RATE,
        Column("of the peak", "peak_share", "%"),
        *(Column(gpu, partial(_there, gpu), "words") for gpu in (GPU, OLDER)),
        Column("of the floor", "share", "%"),
        Column("x float64", f"over_float64.{PORTMP}"),
        Column("x library", f"over_float64.{LIBRARY}"),
        Column("paper x", partial(_over, kind), "words"),
        Column("error", relative, "words"),
    )
    title = (
        "rates: operations of the format a second; of the peak: float64's own operations over two "
        f"a fma; {GPU}, {OLDER}: the paper's rates and shares; x: times over portmp's float64 and "
        "the library's, by turns; paper x: over CUBLAS, beside a CPU its processor's over GotoBLAS2"
    )
    yield Table(title, columns, found["rows"])
    if found["gains"]:
        gains = (*_KEYS[:3], Column("gain", "gain"), Column(GPU, stated_gain))
        yield Table("fma: the rate over that without fma, by turns", gains, found["gains"])
        yield (
            "fmas are {dd2011:.1%} of the paper's instructions in dd, {qd2011:.1%} in qd: about "
            "half of the peak is the bound".format_map(paper_of("hpcs2011")["fma_shares"])
        )
    if found.get("gemv"):
        theirs = (Column(m, partial(_over_axpy, m)) for m in (GPU, OLDER, CPU))
        over = (*_KEYS[1:3], Column("over AXPY", "over_axpy"), *theirs)
        yield Table("gemv: its rate over AXPY's in the same format", over, found["gemv"])


def _over_axpy(machine: str, row: Row) -> float | None:
    if row["format"].endswith(WITHOUT_FMA):
        return None
    return stated("gemv_over_axpy", machine, _of(row["format"]))


def _over(kind: str, row: Row) -> str | None:
    if row["format"].endswith(WITHOUT_FMA):
        return None
    over = stated("over_float64", kind, row["routine"], precision(row["format"]))
    return at_size(row, number(over)) if over else None


def _drawings(found: Row) -> Iterator[plots.Draw]:
    """Times over the library's float64, as the paper's, beside them."""
    series: dict[str, dict[str, float]] = {}
    for row in found["rows"]:
        if row["format"] != DOUBLE and row["over_float64"].get(LIBRARY):
            name = f"{row['format']}, {row['way']}"
            series.setdefault(name, {})[row["routine"]] = row["over_float64"][LIBRARY]
    theirs = paper_of("hpcs2011")["over_float64"][found["kind"]]
    for form in ("dd", "qd"):
        series[f"the paper's {form}"] = {r: theirs[r][form] for r in ROUTINE_NAMES}
    up = "time over the library's float64"
    yield partial(plots.bars, series=series, across="routine", up=up, log=True)


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
    yield from measured.measurements(other, "cpu", list(measured.tasks(other, _BESIDE)))


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


def _stated_share(gpu: str, row: Row) -> str | None:
    form, routine = _of(row["format"]), row["routine"]
    share = stated("copies", gpu, routine, form)
    most = paper_of("hpcs2011")["copies"]["at_most"].get(routine, ())
    return at_size(row, "<= " * (form in most) + shown(share, SHARE)) if share else None


_COPIES = (
    *(each for each in _KEYS if each.heading != "way"),
    Column("to it", f"bytes_per_second.{copies.TO}", "B/s"),
    Column("work", f"seconds.{copies.WORK}.median", "s"),
    Column("from it", f"bytes_per_second.{copies.BACK}", "B/s"),
    Column("copies", "share", "%", compared=True),
    *(Column(gpu, partial(_stated_share, gpu), "words") for gpu in (OLDER, GPU)),
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
            share=8,
            tables=_rates,
            found=followed,
            drawings=_drawings,
        ),
        Experiment(
            "copies",
            copies.cases,
            _COPIES,
            f"copies: their share of the whole time, one after the other; {OLDER}, {GPU}: the "
            f"paper's; overlapped: what is left beside the work, in {copies.PIECES} pieces by "
            f"{copies.QUEUES} queues",
            share=3,
        ),
        Experiment(
            "sweep",
            measured.sweep,
            (*_KEYS, RATE),
            "sweep: rates by size, the paper's figures 2 to 10; the largest sizes are in rates",
            share=2,
            drawings=partial(plots.curves, lambda row: f"{row['format']}, {row['way']}"),
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
