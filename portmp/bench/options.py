"""What benchmarks are asked for: the options of each on the command line, and their reading."""

import argparse
import importlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from portmp import formats
from portmp.errors import ArgumentError, choice
from portmp.files import pictures
from portmp.formats import Format

ALL = "all"
FULL, QUICK = "full", "quick"
"""What --sizes may be."""
_SIZE = re.compile(r"([0-9]+)(?:\^([0-9]+))?")
_LARGEST_SIZE = 2**40
T = TypeVar("T")


# --- the options of each benchmark ------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """A benchmark on the command line: what it is about, the module that declares its family,

    and its options beside those that all have, each with its help.
    """

    about: str
    module: str
    options: Mapping[str, str]


_LIMIT = "limit, without compiling (default 60 on CPUs, 120 on GPUs)"
_RUNS = "runs of each case (default: what fits half a second on CPUs, a quarter on GPUs)"


def _commands(text: str) -> dict[str, Command]:
    """Commands by name: a head with the module and what it is about, then options in from it."""
    found: dict[str, Command] = {}
    for part in re.split(r"\n(?=\w)", text.strip()):
        head, *options = re.split(r"\n  (?=\w)", re.sub(r"\n    +", " ", part))
        name, module, about = re.split(r" \(|\): ", head, maxsplit=2)
        found[name] = Command(
            about, f"portmp.bench.{module}", dict(one.split(": ", 1) for one in options)
        )
    return found


COMMANDS = _commands(
    f"""
blas (blas): rates, shares of the floor and errors of the BLAS
  format: formats, or 'all' (default dd, td, qd, ds, ts, qs, float64)
  routine: routines, or 'all' (default gemm, gemm-narrow, gemm-batched, gemv, gemv-transposed,
    dot, axpy)
  accuracy: accurate, fast or both (the default)
  size: orders of matrices, lengths of vectors (default: some for the device's kind)
  seconds: limit (default none)
  runs: {_RUNS}
  peers: measure what else is installed
  vendors: float32 and float64 beside cuBLAS, cuSOLVER and CUB (by CuPy), or OpenBLAS
  plot: draw shares and rates
linalg (linalg): factorisations, systems and spectra: rates, residuals, beside the device's
    library
  format: formats, or 'all' (default dd, td, float64)
  routine: which (default all of): lu, cholesky, solve, qr, inv, eigh, svd
  size: orders (default 16 and 32 in stacks, 256 to 8192)
  seconds: limit (default 120 on CPUs, 400 on GPUs)
  runs: {_RUNS}
  plot: draw rates by size
complex (complexes): complex products and functions: rates, shares of floors, beside the device's
    library
  format: formats, or 'all' (default cdd, complex128)
  routine: which (default all of): complex-gemm, complex-gemm-direct, complex-gemm-ozaki2,
    complex-mul, complex-div, complex-abs, complex-exp
  size: orders (default 256 to 8192), lengths (default 65536 to 2^28)
  seconds: limit (default 120 on CPUs, 400 on GPUs)
  runs: {_RUNS}
  plot: draw rates by size
methods (gemm_methods): errors of gemm's methods by depth and by how entries are spread
  format: formats, or 'all' (default float64, ts, dd, qd)
  size: depths (default 256 to 8192)
everyday (everyday): calls that users type, with defaults: beside the best way to ask, and beside
    peers
  format: formats (default dd, float64)
  sizes: full (the default), or quick (on the device host)
  seconds: {_LIMIT}
  runs: runs of each call (default: what fits a second)
  plot: draw times over the best
devices (several): the same work on 1, 2, 4 ... devices: times, ratios, equal bits
  format: formats (default dd)
  experiment: which (default all of): gemm, lu, cholesky, qr, nbody, sum, dot
  size: orders of matrices, particles, lengths (default: some for the device's kind)
  devices: names, of which --device is the first (default: all of its backend; one alone has two
    parts)
  runs: runs of each case (default: what fits 5 s)
nbody (papers.nbody.experiments): experiments on gravity by direct summation, beside a paper's
  format: formats, or 'all' (default float32)
  experiment: which (default all of): cycles, build, copies, steps, roots, sizes, variants, bound
  size: particles for roots, at most for sizes (default: what the limit allows)
  seconds: limit (default 60 on CPUs, 120 on GPUs)
  runs: runs of each case (default 10, fewer where they take more than 10 s)
  static: compile for these (gfx908, mi100, gfx942:304x2.1 by units and GHz), no run
  plot: draw rates by size, and roots
hpcs2011 (papers.hpcs2011.experiments): experiments on the BLAS in double-double and quad-double,
    beside a paper's
  experiment: which (default all of): rates, copies, sweep, cpu
  sizes: full: the paper's (the default on GPUs), or quick (on CPUs)
  seconds: {_LIMIT}
  runs: {_RUNS}
  plot: draw times over float64's
ts2021 (papers.ts2021.experiments): experiments on triple-single products, beside a paper's
  experiment: which (default all of): blocked, split, accuracy
  size: the largest order (default 8192)
  seconds: {_LIMIT}
  runs: {_RUNS}
  plot: draw rates, times and errors
slfp (papers.slfp.experiments): experiments on formats that are short in memory, beside a paper's
  experiment: which (default all of): axpy, gemm, gemv, dot, interleaved, accuracy, sweep
  size: the length of vectors, and the order of matrices (default: several)
  seconds: {_LIMIT}
  runs: {_RUNS}
  plot: draw ratios to float64
"""
)
WITHIN = {
    name: Command(about, f"portmp.bench.{module}", {})
    for name, module, about in (
        ("verify", "digests", "recorded digests"),
        ("tune", "tuned", "a search for schedules"),
        ("history", "history", "two builds by turns"),
        ("vendors", "vendors", "the libraries that come with devices"),
    )
}
"""Families without a command: suites run the first two, ``bench/history.py`` the third, ``bench
blas --vendors`` the last."""

SUITES = _commands(
    f"""
all (suites): what to run on a new device: digests, ceilings, BLAS, Ozaki, gravity, storage, calls
  seconds: limit of a device, compiling too (default 480)
  tune: search for schedules first
papers (suites): the experiments of all four papers
  sizes: full: the paper's (the default on GPUs), or quick (on CPUs), of hpcs2011
  seconds: limit of a device, compiling too (default 360 on CPUs, 600 on GPUs)
  runs: {_RUNS}
"""
)
_SETTINGS: dict[str, dict[str, Any]] = {
    "format": {"metavar": "F,..."},
    "routine": {"metavar": "R,..."},
    "size": {"metavar": "N,..."},
    "experiment": {"metavar": "E,..."},
    "sizes": {"metavar": "S"},
    "devices": {"metavar": "D,..."},
    "static": {"metavar": "ARCH,..."},
    "accuracy": {"default": "both"},
    "runs": {"type": int, "metavar": "N"},
    "seconds": {"type": float},
    "peers": {"action": "store_true"},
    "vendors": {"action": "store_true"},
    "tune": {"action": "store_true"},
    "plot": {"metavar": "FILE"},
}


def family(name: str) -> Any:
    """The family of experiments, or the suite of families, that a benchmark runs."""
    if name in SUITES:
        return importlib.import_module(SUITES[name].module).SUITES[name]
    return importlib.import_module((COMMANDS | WITHIN)[name].module).FAMILY


def parsed(name: str, words: Sequence[str]) -> argparse.Namespace:
    """The options of a family as a command line would have them."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add(parser, (COMMANDS | WITHIN)[name])
    return parser.parse_args(words)


def add(parser: argparse.ArgumentParser, command: Command) -> None:
    """The options of a benchmark."""
    parser.add_argument(
        "--device",
        action="append",
        help="a device or 'all'; may be repeated (default: PORTMP_DEVICE, else the best one)",
    )
    for name, about in command.options.items():
        parser.add_argument(f"--{name}", help=about, **_SETTINGS[name])
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the JSON report; an ended run goes on"
    )
    parser.add_argument(
        "--again", action="store_true", help="measure all anew, whatever an ended run has left"
    )
    parser.add_argument(
        "--energy",
        action="store_true",
        default=None,
        help="joules of an operation and GFLOP/s per watt, about 3 s more for each case",
    )


# --- what was given ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What a benchmark is asked for, checked as far as that needs no device.

    ``whole``: its limit of time is that of everything, compiling too.
    """

    devices: Sequence[str]
    forms: list[Format]
    sizes: list[int]
    experiments: list[str]
    seconds: float | None
    runs: int
    energy: bool | None
    again: bool
    whole: bool
    output: Path | None
    picture: Path | None
    args: argparse.Namespace

    @property
    def size(self) -> int | None:
        """The size of benchmarks that take one."""
        return self.sizes[0] if self.sizes else None


def read(args: Any, experiments: Collection[str]) -> Request:
    """The words of a command line as values; ArgumentError for what cannot be."""
    given = vars(args).get

    def experiment(name: str) -> str:
        return choice("--experiment:", name, experiments)

    wanted = listed(given("experiment"), experiment)
    if given("sizes") is not None:
        choice("--sizes:", given("sizes"), (FULL, QUICK))
    seconds, runs = given("seconds"), given("runs")
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise ArgumentError(f"--seconds: {seconds} given, a positive number is needed")
    if runs is not None and runs < 1:
        raise ArgumentError(f"--runs: {runs} given, at least 1 is needed")
    output, picture = pictures.outputs(given("output"), given("plot"))
    return Request(
        given("device") or [],
        listed_formats(given("format")),
        listed(given("size"), size),
        [name for name in experiments if name in wanted or not wanted],
        seconds,
        runs or 0,
        given("energy"),
        bool(given("again")),
        False,
        output,
        picture,
        args,
    )


def listed(text: str | None, read: Callable[[str], T]) -> list[T]:
    """The items of ``A,B,C``, each once."""
    words = (word.strip() for word in (text or "").split(","))
    return list(dict.fromkeys(read(word) for word in words if word))


def size(text: str) -> int:
    """``4096`` or ``2^26``."""
    match = _SIZE.fullmatch(text)
    exponent = int(match[2] or 1) if match and len(match[2] or "") < 4 else 1000
    if match is None or len(match[1]) > 15:
        raise ArgumentError(
            f"--size: {text[:40]!r} given, an integer such as 4096 or 2^26 is needed"
        )
    found: int = int(match[1]) ** exponent
    if not 1 <= found <= _LARGEST_SIZE:
        raise ArgumentError(f"--size: {text[:40]} given, 1 to 2^40 is allowed")
    return found


def listed_formats(text: str | None) -> list[Format]:
    """Formats by name; ``all`` are the standard ones."""
    if text == ALL:
        return [formats.get(name) for name in formats.STANDARD]
    return listed(text, formats.get)


def check_one_size(sizes: Sequence[int], text: str | None, what: str) -> None:
    """ArgumentError for several sizes; *what* one of them would be a size of."""
    if len(sizes) > 1:
        raise ArgumentError(f"--size: {text} given, one {what} is needed")


def check_least_size(sizes: Sequence[int], least: int) -> None:
    """ArgumentError for sizes below the least one."""
    if min(sizes, default=least) < least:
        raise ArgumentError(f"--size: {min(sizes)} given, at least {least} is needed")
