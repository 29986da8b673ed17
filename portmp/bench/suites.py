"""Several benchmarks by one command, into one file: ``portmp bench all``, ``portmp bench papers``.

A suite names its members, each with its share of the time and its options for a device. What a
member leaves of its time is the next one's. Everything counts, compiling too: a visitor waits for
all of it.
"""

import dataclasses
import datetime
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from portmp.backends.base import Device
from portmp.bench import experiment, options
from portmp.bench.experiment import SCHEMA, Family, unmeasured
from portmp.bench.journal import Journal
from portmp.bench.options import Request
from portmp.bench.tables import Row
from portmp.errors import PortmpError
from portmp.files import target
from portmp.progress import Progress


@dataclass(frozen=True)
class Member:
    """A benchmark of a suite, and its *options* beside those of the suite.

    ``formats``: on devices with float64, and without; ``sized``: whether it takes the sizes of the
    suite; ``timed``: whether its results are times, which no interpreter and no host reference has;
    ``energy``: whether energy is read without being asked for; ``asked``: the option of the suite
    without which it is left out.
    """

    family: str
    share: int
    options: Sequence[str] = ()
    formats: tuple[str, str] | None = None
    sized: bool = False
    timed: bool = True
    energy: bool = False
    asked: str = ""

    def words(self, device: Device, args: Any) -> list[str]:
        """Its options on a device."""
        words = [*self.options]
        if self.formats:
            words += ["--format", self.formats[0 if device.properties.float64 else 1]]
        if self.sized and args.sizes:
            words += ["--sizes", args.sizes]
        return words

    def part(
        self, request: Request, device: Device, limit: float, progress: Progress, journal: Journal
    ) -> Row:
        """Its part of one device; where it cannot run there, why."""
        if self.timed and (device.interpreted or device.by_reference):
            what = "an interpreter" if device.interpreted else "the host's reference"
            return left_out(device, self.family, f"{what}: its times say nothing of any device")
        family: Family = options.family(self.family)
        words = self.words(device, request.args)
        try:
            names = [e.name for e in family.experiments]
            mine = options.read(options.parsed(self.family, words), names)
            mine = dataclasses.replace(
                mine,
                seconds=max(limit, 0.001),
                runs=request.runs,
                energy=self.timed and (self.energy or bool(request.energy)),
                whole=True,
            )
            return family.part(mine, device, progress, journal)
        except PortmpError as error:
            progress.clear()
            return left_out(device, self.family, str(error), failed=True)


@dataclass(frozen=True)
class Suite:
    """Benchmarks that one command runs. ``seconds``: the limit of a device, by its kind."""

    name: str
    members: Sequence[Member]
    seconds: dict[str, float]

    def command(self, args: Any) -> int:
        """Run all members: 1 if a result is wrong, a case failed or a device was refused."""
        start = datetime.datetime.now(datetime.UTC)
        request = options.read(args, ())
        progress = Progress(sys.stderr.isatty())
        journal = experiment.journal_of(self.name, request)
        devices = experiment.devices(request.devices, progress, lambda device: True)
        members = [m for m in self.members if not m.asked or getattr(args, m.asked)]
        left = {
            device.name: request.seconds or self.seconds[device.properties.kind]
            for device, _ in devices
        }
        reports, failed = [], False
        for i, member in enumerate(members):
            part = member.share / sum(m.share for m in members[i:])
            family: Family = options.family(member.family)
            parts = []
            for device, refusal in devices:
                if refusal:
                    parts.append(unmeasured(device, refusal))
                    continue
                begun = time.monotonic()
                log = journal.of(f"{i} {member.family}")
                limit = part * left[device.name]
                parts.append(member.part(request, device, limit, progress, log))
                left[device.name] = max(0.0, left[device.name] - (time.monotonic() - begun))
            data = family.report(parts, start)
            failed |= family.failed(data)
            reports.append(data)
            found = {"schema": SCHEMA, "family": self.name, "reports": reports}
            text = json.dumps(found, indent=1, allow_nan=False)
            if request.output:  # with what is known if the rest is killed
                target.replace(request.output, f"{text}\n".encode())
            if not args.json:
                print(f"{family.table(data)}\n", flush=True)
        journal.close()
        if args.json:
            print(text)
        return int(failed)


def left_out(device: Device, family: str, reason: str, failed: bool = False) -> Row:
    """The part of a device on which a benchmark is not run."""
    skipped = {"experiment": family, "what": "all", "reason": " ".join(reason.split())}
    return unmeasured(device, None) | {"skipped": [{**skipped, "failed": failed}]}


# --- the suites -----------------------------------------------------------------------------------


_OZAKI = "gemm-ozaki2,gemm-ozaki1"
SUITES = {
    "all": Suite(
        "all",
        (
            Member("verify", 40, timed=False),
            Member("tune", 30, asked="tune"),
            Member(
                "blas",
                30,
                ("--routine", "gemm,gemv,dot,axpy", "--accuracy", "accurate"),
                ("dd,qd,ds,float64,td,ts,qs", "ds,ts,qs,float32"),
                energy=True,
            ),
            Member("blas", 12, ("--routine", _OZAKI), ("dd,td,qd", "ds,ts,qs"), energy=True),
            Member(
                "nbody",
                14,
                ("--experiment", "roots,sizes,copies"),
                ("float32,float64,dd", "float32,ds"),
            ),
            Member("slfp", 14, ("--experiment", "axpy")),
            Member("everyday", 14),
        ),
        {"gpu": 480.0, "cpu": 480.0},
    ),
    "papers": Suite(
        "papers",
        (
            Member("hpcs2011", 1, sized=True),
            Member("nbody", 1),
            Member("ts2021", 1),
            Member("slfp", 1),
        ),
        {"gpu": 600.0, "cpu": 360.0},
    ),
}
