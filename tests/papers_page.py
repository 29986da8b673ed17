"""The page of the four papers: their tables and figures, the commands, what was recorded.

``python tests/papers_page.py > docs/papers.md`` writes it, from ``portmp/data/*_paper.json`` and
``bench/devices``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from portmp import formats
from portmp.bench import options, reports
from portmp.bench.experiment import paper_of
from portmp.bench.papers.hpcs2011 import experiments as hpcs2011
from portmp.bench.papers.nbody import model
from portmp.bench.papers.slfp import experiments as slfp
from portmp.bench.papers.ts2021.experiments import STATED
from portmp.bench.tables import Row, number, quantity, value_of
from portmp.report.subjects import Subject, sorted_by_device

ROOT = Path(__file__).resolve().parents[1]
GPU = "NVIDIA H200"
"""Whose records stand beside the papers', through ``cuda``."""
NONE = "-"


# --- what was recorded ----------------------------------------------------------------------------


@cache
def subjects() -> list[Subject]:
    """The devices of bench/devices, whose files other tests check."""
    files = sorted((ROOT / "bench" / "devices").glob("*.json"))
    found = (reports.current(json.loads(file.read_text(encoding="utf-8"))) for file in files)
    return sorted_by_device([report for one in found for report in one["reports"]])


@dataclass(frozen=True)
class Record:
    """What an experiment told, the newest of a kind of device, and of which device and when."""

    found: Row
    words: str

    @property
    def rows(self) -> list[Row]:
        """Its rows."""
        rows: list[Row] = self.found.get("rows", [])
        return rows

    def first(self, **wanted: Any) -> Row:
        """The largest row that has these values; an empty one where there is none."""
        fitting = [r for r in self.rows if all(r.get(k) == v for k, v in wanted.items())]
        return max(fitting, key=lambda row: row.get("n", 0), default={})


@cache
def record(kind: str, family: str, experiment: str) -> Record:
    """All of the device of a kind that was measured last: of GPUs the one above, of CPUs any.

    A row is the newest of its case, whatever time a run had; what is told beside the rows is that
    of the run with most of them.
    """
    runs: dict[str, list[tuple[str, Row]]] = {}
    for subject in subjects():
        if subject.kind != kind or subject.interpreted:
            continue
        if kind == "gpu" and (subject.title, subject.backend) != (GPU, "cuda"):
            continue
        about = f"{subject.title}, {subject.through}, driver {subject.facts['driver']}"
        for report, part in subject.of(family):
            found = part["experiments"].get(experiment, {})
            if found.get("rows"):
                runs.setdefault(about, []).append((report["date"], found))
    if not runs:
        return Record({}, "")
    about, best = max(runs.items(), key=lambda item: max(date for date, _ in item[1]))
    best.sort(key=lambda run: run[0])
    columns = next(e for e in options.family(family).experiments if e.name == experiment).columns
    rows: dict[tuple[str, ...], tuple[str, Row]] = {}
    for date, found in best:
        for row in found["rows"]:
            case = (column.cell(row) for column in columns if column.key)
            rows[*case, str(row.get("way"))] = date[:10], row
    days = sorted({date for date, _ in rows.values()})
    fullest = max(best, key=lambda run: (len(run[1]["rows"]), run[0]))[1]
    made = fullest | {"rows": [row for _, row in rows.values()]}
    return Record(made, f"{about}, {' to '.join(dict.fromkeys((days[0], days[-1])))}")


# --- a table of the page --------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A table or figure of a paper: the command that repeats it, and what differs and why."""

    where: str
    what: str
    command: str
    differs: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    records: Sequence[Record] = ()

    @property
    def anchor(self) -> str:
        """What links lead to."""
        kept = "".join(c for c in self.title.lower() if c.isalnum() or c in " -_")
        return kept.replace(" ", "-")

    @property
    def title(self) -> str:
        """Its heading."""
        return f"{self.where}: {self.what}"

    @property
    def recorded(self) -> str:
        """Of what and when."""
        words = list(dict.fromkeys(r.words for r in self.records if r.words))
        return "; ".join(words) or "nothing yet"

    def text(self) -> str:
        """The place as Markdown."""
        parts = [f"### {self.title}", f"```sh\n{self.command}\n```", self.differs]
        if self.records:
            parts.append(f"Recorded: {self.recorded}.")
        if self.lines:
            table = [self.heads, ["---"] * len(self.heads), *self.lines]
            parts.append("\n".join(f"| {' | '.join(line)} |" for line in table))
        return "\n\n".join(parts)


def cell(value: float | None, unit: str = "") -> str:
    """A number as the page shows it."""
    if value is None:
        return NONE
    if unit == "%":
        return f"{100 * value:.1f} %"
    return quantity(value, unit) if unit else number(value)


def with_size(row: Row, text: str, size: int | None) -> str:
    """What was recorded, and its size where the paper's is another one."""
    n = row.get("n")
    return text if text == NONE or n in (size, None) else f"{text} (N = {n})"


# --- HPCS2011 -------------------------------------------------------------------------------------


HPCS = paper_of("hpcs2011")
_DOUBLED = ("dd2011", "dd2011nofma", "qd2011", "qd2011nofma")
_OF = {"dd": "dd2011", "qd": "qd2011"}


def _hpcs_row(kind: str, routine: str, form: str) -> Row:
    """What was recorded by the paper's kernels, on CPUs by portmp's."""
    way = "paper" if kind == "gpu" and form != "float64" else "portmp"
    way = "library" if form == "float64" else way
    return record(kind, "hpcs2011", "rates").first(routine=routine, format=form, way=way)


def _rates() -> Iterator[list[str]]:
    for routine, size in HPCS["sizes"].items():
        for form in _DOUBLED:
            gain = hpcs2011.stated_gain({"routine": routine, "format": form})
            row = _hpcs_row("gpu", routine, form)
            rate, over = cell(row.get("operations_per_second"), "/s"), NONE
            for one in record("gpu", "hpcs2011", "rates").found.get("gains", ()):
                if (one["routine"], one["format"], one["way"]) == (routine, form, "paper"):
                    over = cell(one["gain"])
            stated = hpcs2011.rate_there("C2050", routine, form) or NONE
            yield [f"{routine} {form}", stated, with_size(row, rate, size), cell(gain), over]


def _over_double() -> Iterator[list[str]]:
    for routine, size in HPCS["sizes"].items():
        for both, form in _OF.items():
            line = [f"{routine} {both}"]
            for kind in ("gpu", "cpu"):
                row = _hpcs_row(kind, routine, form)
                here = cell(value_of(row, "over_float64.library"))
                line += [cell(HPCS["over_float64"][kind][routine][both])]
                line += [with_size(row, here, size)]
            yield line


def _over_cpu() -> Iterator[list[str]]:
    for routine, size in HPCS["sizes"].items():
        for both, form in _OF.items():
            row = record("gpu", "hpcs2011", "cpu").first(routine=routine, format=form)
            here = with_size(row, cell(row.get("over_cpu")), size)
            yield [f"{routine} {both}", cell(HPCS["over_cpu"][routine][both]), here]


def _peaks() -> Iterator[list[str]]:
    for routine in ("axpy", "gemm"):
        for form in ("float64", "dd2011", "qd2011"):
            line = [f"{routine} {form}"]
            for gpu in ("C2050", "C1060"):
                row = {"routine": routine, "format": form, "n": HPCS["sizes"][routine]}
                line.append(hpcs2011._there(gpu, row) or NONE)
            row = _hpcs_row("gpu", routine, form)
            rate = cell(row.get("operations_per_second"), "/s")
            share = cell(row.get("peak_share"), "%")
            here = f"{rate}, {share}" if row else NONE
            yield [*line, with_size(row, here, HPCS["sizes"][routine])]


def _gemv() -> Iterator[list[str]]:
    theirs = HPCS["gemv_over_axpy"]
    for both in ("float64", "dd", "qd"):
        form = _OF.get(both, both)
        rates = [_hpcs_row("gpu", r, form).get("operations_per_second") for r in ("gemv", "axpy")]
        here = rates[0] / rates[1] if all(rates) else None
        yield [
            both,
            *(cell(theirs[m][both]) for m in ("C2050", "C1060", "Core i7 920")),
            cell(here),
        ]


def _copies() -> Iterator[list[str]]:
    for routine, size in HPCS["sizes"].items():
        for both in ("float64", "dd", "qd"):
            row = record("gpu", "hpcs2011", "copies").first(
                routine=routine, format=_OF.get(both, both)
            )
            at = {"routine": routine, "format": _OF.get(both, both), "n": size}
            theirs = [hpcs2011._stated_share(gpu, at) or NONE for gpu in ("C1060", "C2050")]
            yield [f"{routine} {both}", *theirs, with_size(row, cell(row.get("share"), "%"), size)]


def _machines(name: str) -> Place:
    """What a paper says of its machines."""
    machines = paper_of(name)["machines"]
    facts = dict.fromkeys(fact for about in machines.values() for fact in about)
    return Place(
        "Settings",
        ", ".join(machines),
        "portmp devices",
        "The paper's machines. What `portmp devices` tells of those at hand.",
        ("", *machines),
        [
            [fact, *(f"{m[fact]:g}" if fact in m else NONE for m in machines.values())]
            for fact in facts
        ],
    )


def _hpcs_places() -> Iterator[Place]:
    yield _machines("hpcs2011")
    rates = [record(kind, "hpcs2011", "rates") for kind in ("gpu", "cpu")]
    yield Place(
        "Table 1",
        "operations of a sum and a product",
        "portmp formats",
        "An fma counts as two. `dd2011` and `dd2011nofma` are rendered from networks of so many "
        "operations, which `tests/test_bench_hpcs2011.py` counts.",
        ("format", "a sum, the paper", "a product", "both"),
        [
            [form, cell(sums), cell(HPCS["flops"][form] - sums), cell(HPCS["flops"][form])]
            for form, sums in HPCS["sums"].items()
        ],
    )
    yield Place(
        "Table 2",
        "rates with and without fma",
        "portmp bench hpcs2011 --experiment rates --sizes full",
        "The paper's kernels in its arithmetic (rows of the way `paper`), operations of the format "
        "a second. N is 8,192,000, 8192 and 4096. In DD the fma gives what it gave then, in QD "
        "less.",
        ("routine", "C2050", "here", "gain by fma", "gain here"),
        list(_rates()),
        rates[:1],
    )
    yield Place(
        "Figures 2 to 10",
        "time over double's, and rates by size",
        "portmp bench hpcs2011 --experiment rates,sweep --plot hpcs2011.png",
        "Over the library's float64 (here cuBLAS or OpenBLAS, in the paper CUBLAS 3.1 and "
        "GotoBLAS2), by the paper's kernels, on CPUs portmp's. cuBLAS multiplies float64 on matrix "
        "units, so that GEMM in DD takes more of its times than then. A dash: recorded before the "
        "library's GEMV was measured.",
        ("routine", "C2050", "GPU here", "Core i7 920", "CPU here"),
        list(_over_double()),
        rates,
    )
    yield from _hpcs_sentences(rates[:1])


def _hpcs_sentences(rates: list[Record]) -> Iterator[Place]:
    """What the paper says beside its tables, its copies, and what it leaves to the future."""
    yield Place(
        "In the text",
        "the GPU over the processor, in the same format",
        "portmp bench hpcs2011 --experiment rates,cpu",
        "The paper compares a C2050 with 4 cores of a Core i7 920 by the QD library, this a GPU "
        "with its host's processor by portmp's kernels through OpenCL or clang.",
        ("routine", "C2050", "here"),
        list(_over_cpu()),
        [record("gpu", "hpcs2011", "cpu")],
    )
    yield Place(
        "In the text",
        "rates and shares of the peak",
        "portmp bench hpcs2011 --experiment rates",
        "Rates in the format, in operations of float64, and shares of the peak as the paper counts "
        "them: float64's own operations over two a fma "
        "(here over the measured rate of fmas). Matrix units let float64's GEMM pass 100 %. For QD "
        "GEMM the paper prints GFlops and the other GPU's share; what stands here follows from its "
        f"rates. Its fmas are {cell(HPCS['fma_shares']['dd2011'], '%')} (DD) and "
        f"{cell(HPCS['fma_shares']['qd2011'], '%')} (QD) of all instructions, so that about half "
        "of the peak is the bound.",
        ("routine", "C2050", "C1060", "here"),
        list(_peaks()),
        rates,
    )
    yield Place(
        "In the text",
        "GEMV's rate over AXPY's",
        "portmp bench hpcs2011 --experiment rates",
        "The paper's GEMV has one thread a row: with 8192 rows it leaves a GPU of more than 16,000 "
        "lanes idle, where 448 were filled then.",
        ("format", "C2050", "C1060", "Core i7 920", "here"),
        list(_gemv()),
        rates,
    )
    yield Place(
        "Figures 11 to 13",
        "the share of copies",
        "portmp bench hpcs2011 --experiment copies --sizes full",
        "Of the whole time, one after the other; the paper's bus is PCIe 2.0 x16. Memory on the "
        "host stays in its place. The GPU has become faster than the bus has: copies take more.",
        ("routine", "C1060", "C2050", "here"),
        list(_copies()),
        [record("gpu", "hpcs2011", "copies")],
    )
    yield _future(
        "Krylov methods that rounding slows down",
        "portmp demo krylov --plot krylov.png",
        "The paper: DD pays off where it halves the iterations. "
        "[Shown](linalg.md#more-digits-fewer-iterations) on dense matrices for conjugate "
        "gradients, where it pays and where it does not. The rest of the BLAS and LAPACK's "
        "methods are in [linear algebra](linalg.md).",
    )


# --- reduced-length formats -----------------------------------------------------------------------


def _future(name: str, command: str, about: str) -> Place:
    """What a paper leaves for later, and portmp has."""
    return Place("Future work", name, command, about, (), ())


def _in_gflops(machine: str, routine: str) -> bool:
    """Whether a table of the paper has GFlops/W."""
    return bool(paper_of("slfp")["devices"][machine][routine]["table"] == "d")


def _slfp_lines(kind: str, routine: str) -> Iterator[list[str]]:
    machine, theirs = slfp.theirs(kind, routine)
    mine = record(kind, "slfp", routine)
    size = paper_of("slfp")["devices"][machine][routine]["n"]
    sizes = {row["n"] for row in mine.rows}
    n = min(sizes, key=lambda one: abs(one - size), default=0)
    base = {f: r for f in ("float64", "float32") if (r := mine.first(type=f, n=n))}
    for name, stated in theirs.items():
        row = mine.first(type=f"paper {name}", n=n) or mine.first(type=name, n=n)
        here = cell(value_of(row, "over.float64"))
        watts = value_of(row, "energy.gflops_per_watt")
        ours = value_of(base.get("float64", {}), "energy.gflops_per_watt")
        board = stated.get("board_mflops_per_watt")
        unit = 1000 if _in_gflops(machine, routine) else 1
        yield [
            name,
            f"{stated['gflops']:g}",
            slfp.stated(theirs, name),
            here if here == NONE else with_size(row, here, size),
            f"{stated['watts']}" + (f" ({stated['board_watts']})" if board else ""),
            f"{stated['mflops_per_watt'] / unit:g}" + (f" ({board / unit:g})" if board else ""),
            slfp.stated(theirs, name, "mflops_per_watt"),
            cell(watts / ours if watts and ours else None),
        ]


def _slfp_format(form: formats.Format) -> Iterator[str]:
    (one,) = form.encodings
    yield from (form.name, str(one.size), str(one.exponent), str(one.bits - 1))
    yield from (f"{one.bits * math.log10(2):.2f}", str(form.digits))


def _slfp_places() -> Iterator[Place]:
    yield _machines("slfp")
    yield Place(
        "Table 1",
        "the formats",
        "portmp formats",
        "The same formats under the paper's names; `slfp32in16b` is bfloat16. portmp rounds to "
        "nearest when it stores (the names with `_rz` cut off as the paper does).",
        ("format", "bits", "exponent", "stored significand", "digits, the paper", "to tell apart"),
        [list(_slfp_format(formats.get(name))) for name in slfp._NAMES],
    )
    for kind, routine, what in (
        ("cpu", "axpy", "bound by memory: what matters is how many bytes move"),
        ("cpu", "gemm", "bound by arithmetic: a short format costs the conversion"),
        ("gpu", "axpy", "bound by memory, as then"),
        ("gpu", "gemm", "by the paper's kernel once that is recorded, else by portmp's"),
    ):
        machine, _ = slfp.theirs(kind, routine)
        table = paper_of("slfp")["devices"][machine][routine]
        yield Place(
            f"Table ({table['table']})",
            f"{routine.upper()} on {machine}, N = {table['n']}",
            f"portmp bench slfp --device {'cuda:0' if kind == 'gpu' else 'cpu:0'} "
            f"--experiment {routine} --size {table['n']} --energy",
            f"Rates over float64's of the same run ({what}); in brackets over float32's. The paper "
            "labels MFlops/W as GFlops/W in AXPY's tables; watts are of the whole system, in "
            "brackets a second figure, most likely of the board. Energy here is of the board, and "
            "only where a counter can be read.",
            (
                *("format", "GFlops", "x FP64", "x float64 here", "W"),
                *(f"{'GM'[not _in_gflops(machine, routine)]}Flops/W", "eff x", "eff x here"),
            ),
            list(_slfp_lines(kind, routine)),
            [record(kind, "slfp", routine)],
        )


# --- gravity --------------------------------------------------------------------------------------


NBODY = model.devices()


_HARDWARE = {
    "peak": "Tflop/s of float32",
    "cores": "lanes",
    "units": "compute units",
    "clock": "GHz",
    "memory_gb": "GB of memory",
    "gb_per_second": "GB/s",
    "l2_mb": "MB of L2 cache",
    "shared_kb": "KB of memory that blocks of a unit share",
    "watts": "W",
}


def _nbody_roots() -> Iterator[list[str]]:
    mine = record("gpu", "nbody", "roots")
    for root in ("division", "rsqrt", "rounded"):
        row = mine.first(format="float32", root=root)
        line = [root]
        for name, about in NBODY.items():
            line.append(f"{about['roots'][root]:g} ({model.ratios(name)[root]:.2f})")
        here = f"{row['flops_max'] / 1e12:.3g} ({row['over_division']:.2f})" if row else NONE
        yield [*line, with_size(row, here, 2**22)]


def _nbody_sizes() -> Iterator[list[str]]:
    mine = record("gpu", "nbody", "sizes")
    cuda = {row[0]: row for row in NBODY["A100"]["sizes_cuda"]}
    for older, newer in zip(NBODY["MI100"]["sizes"], NBODY["A100"]["sizes"], strict=True):
        row = mine.first(format="float32", root="fast", n=older[0])
        both = [row["flops_max"] / 1e12, row["flops_median"] / 1e12] if row else []
        cells = (f"{most:g}, {median:g}" for _, most, median in (older, newer, cuda[older[0]]))
        yield [str(older[0]), *cells, ", ".join(f"{v:.4g}" for v in both) or NONE]


def _nbody_steps() -> Iterator[list[str]]:
    mine = record("gpu", "nbody", "steps")
    for k in range(4):
        line = [str(k + 1)]
        for about in NBODY.values():
            step = about["steps"][k]
            (n, before), (more, after) = step["before"], step["after"]
            misprint = ", times misprinted" if "misprint" in step else ""
            line.append(f"{n}: {before:g} s, {more}: {after:g} s: {step['ratio']:.2f}{misprint}")
        row = next((r for r in mine.rows if r["k"] == k + 1), None)
        here = f"{row['before']['n']}, {row['after']['n']}: {row['ratio']:.2f}" if row else NONE
        yield [*line, f"{(k + 2) / (k + 1):.2f}", here]


def _nbody_cycles() -> Iterator[list[str]]:
    mine = record("gpu", "nbody", "cycles")
    stated = NBODY["MI100"]["cycles"]
    for op, cycles in stated.items():
        row = mine.first(format="float32", op=op)
        slots = NBODY["MI100"]["root_slots"].get(op, 1)
        here = f"{row['cycles']:.3g}, {row['over_fma']:.3g}" if row else NONE
        yield [op, f"{cycles:g}, {slots}", here]


def _nbody_bound() -> Iterator[list[str]]:
    for name, about in NBODY.items():
        bound = model.FLOP / (2 * about["slots"])
        share = about["best"] / about["peak"]
        yield [
            name,
            f"{about['peak']:g}",
            str(about["slots"]),
            cell(bound, "%"),
            f"{about['best']:g}, {cell(share, '%')}",
            cell(share / bound, "%"),
        ]
    row = record("gpu", "nbody", "bound").first(format="float32", root="fast")
    if row:
        reached = model.FLOP * row["interactions_per_second"] / 1e12
        yield [
            GPU,
            f"{reached / row['peak_share']:.3g} (measured)",
            f"{row['slots']:.3g}",
            cell(row["bound"] / row["interactions_per_second"] * row["peak_share"], "%"),
            f"{reached:.3g}, {cell(row['peak_share'], '%')}",
            cell(row["share"], "%"),
        ]


def _nbody_variants() -> Iterator[list[str]]:
    rows = record("gpu", "nbody", "variants").rows
    best = max(rows, key=lambda row: float(row["flops_max"]), default={})
    for what in ("root", "shared", "ilp", "threads"):
        theirs = (str(about[what]) for about in NBODY.values())
        yield [what, *theirs, str(best.get(what, NONE))]


def _nbody_places() -> Iterator[Place]:
    yield Place(
        "Tables 1 and 2",
        "the paper's GPUs",
        "portmp devices",
        "What `portmp devices` tells of those at hand; the paper's are the PCIe ones, with ROCm "
        "4.3.0 and CUDA 11.4.",
        ("", *NBODY),
        [[what, *(f"{about[k]:g}" for about in NBODY.values())] for k, what in _HARDWARE.items()],
    )
    yield Place(
        "Figures 1 and 2",
        "copies by size",
        "portmp bench nbody --experiment copies",
        "Figures alone, without numbers in the text, so that no number stands here: within the "
        "device, to it and from it, by size. Figure 2 sets hipMemcpy beside hipMemcpyPeerAsync on "
        "one GPU: on `cuda` and `rocm` the columns of copies within the device.",
        (),
        (),
        [record("gpu", "nbody", "copies")],
    )
    yield Place(
        "Table 3",
        "the inverse square root",
        "portmp bench nbody --experiment roots --size 2^22",
        "Tflop/s at 22 flop an interaction, and over that of the division. `division` is "
        "1.0f/sqrtf(r2), `rsqrt` rsqrtf(r2), `rounded` __frsqrt_rn(r2), and portmp's own correctly "
        "rounded root in OpenCL, which promises none. portmp's default, `exact`, is not in it.",
        ("root", *NBODY, "here"),
        list(_nbody_roots()),
        [record("gpu", "nbody", "roots")],
    )
    yield Place(
        "In the text",
        "cycles of a root by clock64()",
        "portmp bench nbody --experiment cycles",
        "Cycles of one step of a dependent chain, and over an fma's; the paper's of MI100.",
        ("operation", "MI100", "here"),
        list(_nbody_cycles()),
        [record("gpu", "nbody", "cycles")],
    )
    yield Place(
        "Table A.1",
        "rates by number of particles",
        "portmp bench nbody --experiment sizes --size 2^24 --seconds 600",
        "Tflop/s: maximum and median, in the paper of 100 runs, here of 10 or as many as ten "
        "seconds allow. portmp cuts the sources up where targets are few, so that small numbers of "
        "particles do not leave units idle.",
        ("N", "MI100", "A100, HIP", "A100, CUDA", "here"),
        list(_nbody_sizes()),
        [record("gpu", "nbody", "sizes")],
    )
    yield from _nbody_kernels()


def _nbody_kernels() -> Iterator[Place]:
    """How kernels are built, cut into blocks, searched for and bounded."""
    yield Place(
        "Figure 4",
        "HIP over CUDA on one GPU",
        "python bench/hip_against_cuda.py\nportmp bench nbody --experiment build",
        "t(CUDA) / t(HIP) is 0.9991 to 1.0007 in the paper (two columns of table A.1). Here the "
        "machine code of kernels through HIP's header and without it is compared, which is the "
        "same; `build` compares rendered kernels with the paper's final ones for both GPUs, "
        "written by hand.",
        (),
        (),
        [record("gpu", "nbody", "build")],
    )
    yield Place(
        "Tables 4 and 5, figure 5",
        "one block more",
        "portmp bench nbody --experiment steps",
        "The least time at a multiple of what the units take at once, and one block above; a "
        "second table, and `--plot`, go block by block around it. Several blocks share a unit, "
        "which hides part of the step, on MI100 then and here.",
        ("rounds", *NBODY, "ideal", "here"),
        list(_nbody_steps()),
        [record("gpu", "nbody", "steps")],
    )
    yield Place(
        "Section 4.4",
        "the search for the fastest kernel",
        "portmp bench nbody --experiment variants --seconds 300",
        "Root, shared memory (0: none, 1: a block's, 2: a warp's), ILP and threads of a block, one "
        "target each. portmp's own schedules, which the other tables have, take several targets.",
        ("", *NBODY, "here"),
        list(_nbody_variants()),
        [record("gpu", "nbody", "variants")],
    )
    counts = paper_of("nbody")["flop"]
    yield Place(
        "Section 6.3",
        "bounds by instructions",
        "portmp bench nbody --experiment bound\nportmp bench nbody --static gfx908,sm_80,sm_90",
        "Slots of an interaction: 12 and those of the root; the bound is 22 over twice as many "
        f"(where units of their own take all roots, as the A100's may, {cell(22 / 24, '%')}). "
        f"Other ways of counting: {', '.join(f'{v} ({k})' for k, v in counts.items())}. Here slots "
        "are counted in machine code, and the peak is the measured rate of fmas.",
        ("device", "peak, Tflop/s", "slots", "bound", "reached, of the peak", "of the bound"),
        list(_nbody_bound()),
        [record("gpu", "nbody", "bound")],
    )


# --- triple-single --------------------------------------------------------------------------------


TS = paper_of("ts2021")


def _ts_ratios() -> Iterator[list[str]]:
    found = record("gpu", "ts2021", "blocked").found.get("ratios", {})
    for ratio, stated in STATED.items():
        theirs = [cell(about[stated]) for about in TS["ratios"].values()]
        here = [cell(found.get(blocks, {}).get(ratio)) for blocks in ("paper", "portmp")]
        yield [ratio.replace("_", " "), *theirs, *here]


def _ts_split() -> Iterator[list[str]]:
    mine = record("gpu", "ts2021", "split")
    for n in sorted({row["n"] for row in mine.rows}):
        ways = ("9", "10", "11", "12", "ts", "ozaki2")
        yield [str(n), *(cell(mine.first(n=n, way=w).get("over_blocked")) for w in ways)]


def _ts_errors() -> Iterator[list[str]]:
    mine = record("gpu", "ts2021", "accuracy")
    for n in sorted({row["n"] for row in mine.rows}):
        line = [str(n)]
        for way in ("blocked", "9", "12"):
            stated = TS["errors"][way].get(str(n))
            errors = [mine.first(n=n, way=way, fill=f) for f in ("full", "float64")]
            line.append(f"{stated:.0e}" if stated else NONE)
            line.append(", ".join(f"{e['relative_error']:.1e}" for e in errors if e))
        yield line


def _ts_places() -> Iterator[Place]:
    yield _machines("ts2021")
    yield Place(
        "Figures 19 to 22",
        "rates of products in blocks",
        "portmp bench ts2021 --experiment blocked",
        "The largest ratio of rates over N = 32 to 8192. The paper's GPUs have 32 float32 units "
        "for one of float64, this one two: there formats of float64 are as fast.",
        ("rate over rate", *TS["ratios"], "here, the paper's blocks", "portmp's schedules"),
        list(_ts_ratios()),
        [record("gpu", "ts2021", "blocked")],
    )
    yield Place(
        "Figures 23 and 24",
        "times of the splitting",
        "portmp bench ts2021 --experiment split",
        f"Times over that of the paper's product in blocks. The paper: {TS['split_over_blocked']}. "
        "Here it overtakes from N = 1024 on, which the paper thought possible for larger orders; "
        "residues (`ozaki2`) are far ahead. On CPUs, where SGEMM is portmp's, it does not.",
        ("N", "9 slices", "10", "11", "12", "ts", "ozaki2"),
        list(_ts_split()),
        [record("gpu", "ts2021", "split")],
    )
    yield Place(
        "Figure 25",
        "largest relative errors",
        "portmp bench ts2021 --experiment accuracy",
        "Of all elements against quad-double. The paper does not say how entries get their low "
        "limbs: here with all limbs filled, and with a float64's. The largest error is that of the "
        "few results in which most cancels, so it scatters by ten or a hundred times between "
        "draws: orders of magnitude can be compared.",
        ("N", *(f"{w}, {o}" for w in ("blocked", "9 slices", "12") for o in ("paper", "here"))),
        list(_ts_errors()),
        [record("gpu", "ts2021", "accuracy")],
    )
    yield _future(
        "slices of two words, larger orders, and ill-conditioned systems",
        "portmp bench ts2021 --size 16384 --plot ts2021.png\nportmp demo linalg",
        "The paper's splitting takes much memory; orders above 8192 are measured where it is "
        "there. [Systems](ill_conditioned.md) of Hilbert and Vandermonde are solved in `ts` beside "
        "other formats. Slices of two words (`3 DF`, `4 DF` in both experiments; "
        "`mp.split2021(a, b, 3, words=2)`) make 9 products of double-single with the errors of 144 "
        "of float32: at N = 256 on `cpu:0` (two shared cores of an AMD EPYC, clang 22, 2026-11-29) "
        "an error of 1.7e-21 (12 slices: 9.8e-21) in 0.74 of the time of the product in blocks (12 "
        "slices, by portmp's SGEMM: 3.2 times); residues take fewer products than any slices. "
        "`--plot` draws errors over times.",
    )


# --- the page -------------------------------------------------------------------------------------


PAPERS: dict[str, tuple[str, Callable[[], Iterable[Place]]]] = {
    "hpcs2011": ("Quadruple and octuple precision BLAS", _hpcs_places),
    "slfp": ("Reduced-length floating-point formats", _slfp_places),
    "nbody": ("Gravity by HIP and CUDA", _nbody_places),
    "ts2021": ("Triple-single products", _ts_places),
}
HEAD = """# The four papers

portmp repeats the experiments of four papers on any device, and prints their numbers beside its
own. Here is each table and figure: the command, what was recorded, the paper's number, what
differs and why. `portmp bench papers -o papers.json` runs all of them;
[the page on benchmarks](benchmarks.md) says how each is measured.

This page is made by `python tests/papers_page.py` from `portmp/data/*_paper.json` and
[bench/devices](../bench/devices/README.md). A dash: not stated there, or not recorded yet. "N" in
brackets: recorded at another size than the paper's. Cases that the last run had no time for are of
the run before, with both dates.
"""


def places() -> dict[str, list[Place]]:
    """All places by paper."""
    return {name: list(make()) for name, (_, make) in PAPERS.items()}


@cache
def page() -> str:
    """The whole page."""
    parts = [HEAD.rstrip()]
    for name, found in places().items():
        parts.append(f"## {PAPERS[name][0]}")
        parts.append(f"{paper_of(name)['source']}.")
        index = [
            f"| [{p.title}](#{p.anchor}) | {', '.join(f'`{c}`' for c in p.command.splitlines())} |"
            for p in found
        ]
        parts.append("\n".join(["| in the paper | command |", "|---|---|", *index]))
        parts += [place.text() for place in found]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(), end="")
