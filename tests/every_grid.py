"""Every number of processes and devices with every layout, routine and format, once, recorded.

``python tests/every_grid.py FILE [FORMATS [DEVICES]]`` starts jobs of MPI on CPU devices, a few
formats each, and writes what they found, after each job; what FILE has is not done again. Of each
routine and format it is the first recorded case that several devices make; the digest must be the
recorded one in every process. Exit status 1 where one is not. DEVICES (``cuda:0,cpu:0``): by one
process on these together, without MPI.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from portmp import paths
from portmp.distributed import array, processes
from portmp.verify import ranks
from portmp.verify.cases import cases, selected

JOBS = ((1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (3, 1), (4, 1), (7, 1))
"""Numbers of processes, and of devices that each has."""
AT_ONCE = 20
"""Formats of a job."""


def worker(file: str, devices: str, names: str) -> None:
    """One of the processes: the first one writes the rows of all layouts."""
    mixed = None if devices.isdecimal() else devices.split(",")
    job = None if mixed else processes.initialize(devices=["cpu:0"] * int(devices))
    queues = job.queues if job else array.queues_of(mixed)
    rows: list[dict[str, Any]] = []
    for layout in ranks.layouts(len(queues)):
        counts: dict[str, int] = {}
        wrong: list[str] = []
        for name in names.split(","):
            done: set[str] = set()
            for case in cases(name):
                if case.routine not in ranks.ROUTINES or case.routine in done:
                    continue
                for one in ranks.compared([case], queues, [layout], mixed):
                    done.add(case.routine)
                    wrong += [] if one.ok else [f"{one.key} {one.error}".strip()]
            counts[name] = len(done)
        every = job.share(sorted(wrong), "what differs") if job else [wrong]
        differ = sorted({key for each in every for key in each})
        rows.append({"layout": repr(layout), "routines": counts, "differ": differ})
    if job is None or job.rank == 0:
        Path(file).write_text(json.dumps(rows))


def started(count: int, devices: int | str, names: list[str]) -> list[dict[str, Any]]:
    """The rows of one job."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        words = [__file__, "worker", str(file), str(devices), ",".join(names)]
        environment = ranks.ANYWHERE | os.environ | {"PYTHONPATH": paths.python_path()}
        launcher = [ranks.launcher(), "-n", str(count)] if isinstance(devices, int) else []
        command = [*launcher, sys.executable, *words]
        subprocess.run(command, check=True, env=environment)
        found: list[dict[str, Any]] = json.loads(file.read_text())
    return [{"processes": count, "devices of each": devices, **row} for row in found]


def main(file: str, chosen: str = "", devices: str = "") -> int:
    """Start all jobs that the file has not."""
    jobs = [(1, devices)] if devices else JOBS
    target = Path(file)
    told: dict[str, Any] = json.loads(target.read_text()) if target.exists() else {"rows": []}
    told["what"] = __doc__.split("\n")[0]
    told["machine"] = f"{platform.machine()}, {devices or 'cpu:0'}, {datetime.date.today()}"
    every = dict.fromkeys(case.form.name for case in selected(None, None))
    names = chosen.split(",") if chosen else list(every)
    for first in range(0, len(names), AT_ONCE):
        some = names[first : first + AT_ONCE]
        for count, each in jobs:
            place = {"processes": count, "devices of each": each}
            there = [row for row in told["rows"] if place.items() <= row.items()]
            missing = [name for name in some if not there or name not in there[0]["routines"]]
            for row in started(count, each, missing) if missing else []:
                same = [old for old in there if old["layout"] == row["layout"]]
                for old in same:
                    old["routines"] |= row["routines"]
                    old["differ"] += row["differ"]
                told["rows"] += [] if same else [row]
            rows = ",\n".join(map(json.dumps, told["rows"]))
            facts = json.dumps({name: told[name] for name in told if name != "rows"})
            target.write_text(f'{facts[:-1]}, "rows": [\n{rows}\n]}}\n')
    wrong = [key for row in told["rows"] for key in row["differ"]]
    done = sum(sum(row["routines"].values()) for row in told["rows"])
    print(f"{done} results in {len(told['rows'])} rows, {len(wrong)} differ: {wrong[:5]}")
    return int(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(*sys.argv[2:])
    else:
        sys.exit(main(*sys.argv[1:]))
