#!/usr/bin/env python3
"""Kernels and calls by turns with a reference build, kept over commits.

Two runs at different times differ by more than their spreads where a machine has other work. So
both builds are there at once, each in a process of its own, and take turns: what slows the machine
down slows both. Where a process's memory lies makes a difference, too, so that both are started
anew a few times. A kernel has changed where the median of the ratios is beyond both spreads and
nearly all ratios lie on its side, so that no start says the contrary. It is information: no exit
status says so.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import turns

import portmp as mp
from portmp.backends.base import Device
from portmp.bench import history, options, reports
from portmp.bench.experiment import SCHEMA, Case, Run
from portmp.bench.measure import Budget, summary
from portmp.bench.options import Request
from portmp.bench.tables import Row
from portmp.errors import ArgumentError, DeviceError, InputError, PortmpError, one_line, printable
from portmp.progress import Progress

ROUNDS = 9
"""Turns of each kernel in a start."""
STARTS = 3
"""So often both builds are started anew."""
FEWEST = 3
"""Turns of a kernel in a start, however short the time is."""
ALIKE = 0.9
"""The share of ratios that must lie on the side of a change: more than two of three starts have."""
PREVIOUS = "HEAD~1"
NONE = "-"
SHOWN = 12
"""So many earlier runs are listed."""
OPTIONS = {
    "seconds": "limit, without compiling (default 60)",
    "runs": "turns of each kernel in each of three starts (default 9)",
}


# --- two builds ---------------------------------------------------------------------------------


def checkout() -> Path:
    """Where this build's ``portmp`` lies."""
    return Path(mp.__file__).parents[1]


def _git(*words: str) -> bytes:
    """What git says of the checkout; ArgumentError where it knows no such commit."""
    command = ["git", "-C", str(checkout()), *words]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    except (OSError, subprocess.SubprocessError) as error:
        raise ArgumentError(f"--reference: git does not run: {error}") from None
    if done.returncode:
        said = printable(" ".join(done.stderr.decode(errors="replace").split()))[:160]
        raise ArgumentError(
            "--reference: a folder with portmp in it or a commit of the checkout is needed; "
            f"git says: {said}"
        )
    return done.stdout


def is_build(folder: Path) -> bool:
    """Whether a folder has portmp in it."""
    return (folder / "portmp" / "__init__.py").is_file()


def checked(reference: str) -> str:
    """The reference, if there is one of that name; commits by their whole names."""
    if is_build(Path(reference)):
        return reference
    if reference.startswith("-"):
        raise ArgumentError(f"--reference: {reference!r} given, a folder or a commit is needed")
    return _git("rev-parse", "--verify", f"{reference}^{{commit}}").decode().strip()


def unpacked(commit: str, folder: Path) -> None:
    """Put the files of a commit into a folder."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", commit))) as archive:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)


class Side:
    """A build in a process of its own."""

    def __init__(self, folder: Path, device: str) -> None:
        self._stack = stack = contextlib.ExitStack()
        # No folder of the script's own on the path: modules there are named like others.
        words = [sys.executable, "-P", turns.__file__, device]
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        # Closed with the stack, as the process is.
        self._errors = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self._process = stack.enter_context(
            subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
                text=True,
            )
        )
        stack.callback(self._process.kill)
        with contextlib.ExitStack() as failed:
            failed.callback(stack.close)
            self.about = self._answer()
            failed.pop_all()

    def ask(self, do: str, kernel: str, calls: int = 0) -> Row:
        """What the build says; DeviceError where it fails."""
        assert self._process.stdin
        line = json.dumps({"do": do, "kernel": kernel, "calls": calls})
        with contextlib.suppress(OSError):  # the answer says why
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        found = self._answer()
        if "error" in found:
            raise DeviceError(f"{kernel}: {found['error']}")
        return found

    def _answer(self) -> Row:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if line:
            found: Row = json.loads(line)
            return found
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines() or [""]
        raise DeviceError(f"a build ended with status {self._process.returncode}: {said[-1]:.200}")

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


# --- the experiment -----------------------------------------------------------------------------


@dataclass
class Bench(Run):
    """A run with both builds."""

    reference: str = PREVIOUS
    about: Row = field(default_factory=dict)


@dataclass
class Turns:
    """A kernel's times by start: of the reference and of this build."""

    first: Row
    second: Row
    old: list[list[float]] = field(default_factory=list)
    new: list[list[float]] = field(default_factory=list)


def cases(bench: Bench) -> Iterator[Case]:
    """All kernels at once: both builds are started a few times, and take turns at each."""
    yield Case("kernels and calls", partial(_measured, bench))


def _measured(bench: Bench) -> list[Row]:
    with contextlib.ExitStack() as stack:
        place = Path(bench.reference)
        if not is_build(place):
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="portmp-")))
            unpacked(bench.reference, place)
        found: dict[str, Turns] = {}
        for start in range(STARTS):
            with Side(place, bench.device.name) as old, Side(checkout(), bench.device.name) as new:
                bench.about = old.about
                for i, name in enumerate(turns.KERNELS):
                    parts = len(turns.KERNELS) * (STARTS - start) - i
                    bench.show("turns", f"{name}, start {start + 1} of {STARTS}")
                    _turns(bench, (old, new), name, bench.budget.left("turns", parts), found)
    return [judged(name, turns) for name, turns in found.items()]


def _turns(
    bench: Bench, sides: tuple[Side, Side], name: str, limit: float, found: dict[str, Turns]
) -> None:
    """A kernel's turns in one start."""
    known = found.get(name)
    with bench.budget.beside():
        first = sides[0].ask("ready", name, known.first["calls"] if known else 0)
        second = sides[1].ask("ready", name, first["calls"])
    mine = found.setdefault(name, Turns(first, second))
    once: tuple[list[float], list[float]] = [], []
    begun = bench.budget.passed()
    for turn in range(bench.runs or ROUNDS):
        for which in (0, 1) if turn % 2 else (1, 0):
            once[which].append(float(sides[which].ask("run", name)["seconds"]))
        if turn + 1 >= FEWEST and bench.budget.passed() - begun > limit:
            break
    mine.old.append(once[0])
    mine.new.append(once[1])


def judged(name: str, found: Turns) -> Row:
    """A kernel's row: both times, the ratio of rates by turns, whether it is a change."""
    calls = found.first["calls"]
    old, new = ([t for start in each for t in start] for each in (found.old, found.new))
    times = [summary([calls * t for t in each], calls) for each in (new, old)]
    by_start = [
        [a / b for a, b in zip(*both, strict=True)]
        for both in zip(found.old, found.new, strict=True)
    ]
    ratios = [ratio for each in by_start for ratio in each]
    lower, ratio, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    beyond = (1 + times[0].spread) * (1 + times[1].spread)
    change = NONE
    for word, side, larger in (("faster", 1, ratio), ("SLOWER", -1, 1 / ratio)):
        agreeing = [side * (r - 1) > 0 for r in ratios]
        if larger > beyond and sum(agreeing) >= ALIKE * len(agreeing):
            change = word
    return {
        "kernel": name,
        "n": found.second["n"],
        "seconds": times[0].as_dict(),
        "reference_seconds": times[1].as_dict(),
        "ratio": {"median": ratio, "lower": lower, "upper": upper},
        "starts": [statistics.median(each) for each in by_start],
        "change": change,
        "bits": "same" if found.first["digest"] == found.second["digest"] else "other",
    }


def followed(bench: Bench, rows: list[Row]) -> Row:
    """What the reference was."""
    place = bench.reference
    name = Path(place).name if is_build(Path(place)) else place  # no folders of this machine
    return {"reference": name, "reference_portmp": bench.about.get("version", "")}


class History(history.History):
    """The experiment that reports show, with what it measures."""

    run = Bench
    limits: Mapping[str, float] = {"gpu": 60.0, "cpu": 60.0}
    experiments = (replace(history.History.experiments[0], cases=cases, found=followed),)

    def check(self, request: Request) -> None:
        """The reference must be there, the file one of such runs."""
        checked(request.args.reference or PREVIOUS)
        if request.output and request.output.exists():
            kept(request.output)

    def begin(self, request: Request, device: Device, budget: Budget, progress: Progress) -> Run:
        """A run beside the reference that was asked for."""
        run = super().begin(request, device, budget, progress)
        assert isinstance(run, Bench)
        run.reference = checked(request.args.reference or PREVIOUS)
        return run

    def as_file(self, data: Row, place: Path) -> Row:
        """Earlier runs of the file, and this one."""
        before = kept(place) if place.exists() else []
        return {"schema": SCHEMA, "family": self.name, "reports": [*before, data]}

    def command(self, args: Any) -> int:
        """Run it, and say what earlier runs of the file had."""
        status = super().command(args)
        if args.output and not args.json:
            print("\n".join(["", *past(kept(Path(args.output)))]))
        return status


def kept(place: Path) -> list[Row]:
    """The runs in a file; InputError where it holds others."""
    found = reports.read_all(place)
    others = {r["family"] for r in found} - {History.name}
    if others:
        raise InputError(
            f"{place}: holds bench {', '.join(sorted(others))}; a file of bench history is needed"
        )
    return found


def past(found: list[Row]) -> list[str]:
    """The runs of a file, the newest last, each with its changes."""
    lines = [f"runs in the file: {len(found)}"]
    for report in found[-SHOWN:]:
        for part in report["devices"]:
            rows = part["experiments"].get("turns", {"rows": []})["rows"]
            marks = [
                f"{row['kernel']} {row['ratio']['median']:.3f}"
                for row in rows
                if row["change"] != NONE
            ]
            commit = (report["commit"] or "no commit")[:12]
            lines.append(
                printable(
                    f"{report['date'][:10]} {commit} on {part['selected']}: "
                    f"{', '.join(marks) or 'no change beyond the noise'}"
                )
            )
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """0 once it is measured, 1 where a build failed, 2 for what cannot be asked for."""
    about = "kernels and calls by turns with a reference build: what changed beyond the noise"
    parser = argparse.ArgumentParser(description=about)
    options.add(parser, options.Command(about, "", OPTIONS))
    parser.add_argument(
        "--reference", metavar="R", help="a commit, or a folder with portmp in it (default HEAD~1)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    try:
        return History().command(parser.parse_args(words))
    except PortmpError as error:
        print(f"history: {printable(one_line(error))}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
