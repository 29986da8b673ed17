"""``ci/fuzz``: many mutated files a target, one process a core; what fails is kept in a file.

``--guided SECONDS`` lets a fuzzer that watches which lines run choose them (fuzz_guided.py).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from fuzz_targets import MEMORY, SECONDS, TARGETS, cases, run

PART = 5000
"""Cases of one process's turn: each turn has a seed of its own."""


class Hang(BaseException):
    """A case takes too long: no error, so that no reader takes it for one."""


def _hang(*_: Any) -> None:
    raise Hang(f"more than {SECONDS} s")


def turn(name: str, count: int, seed: int) -> tuple[int, list[str]]:
    """How many of the cases were read, and a line for each kind of failure."""
    signal.signal(signal.SIGALRM, _hang)
    target, read, failures = TARGETS[name], 0, {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for case in cases(target, count, seed):
        signal.setitimer(signal.ITIMER_REAL, 10 * SECONDS)  # on a busy machine
        began = time.process_time()
        try:
            read += run(target, case)
            if time.process_time() - began > SECONDS:
                raise Hang(f"{time.process_time() - began:.1f} s")
        except (Exception, Hang) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"
            failures.setdefault(kind.split(": ", maxsplit=1)[0], (kind, case))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if grown > MEMORY:
            failures.setdefault("memory", (f"memory grew by {grown} bytes", case))
    signal.setitimer(signal.ITIMER_REAL, 0)
    return read, [_kept(name, *failure) for failure in failures.values()]


def _kept(name: str, kind: str, case: bytes) -> str:
    """The failure as a line; its case is in the file that the line names."""
    file = Path(f"fuzz-{name}-{hashlib.sha256(case).hexdigest()[:12]}{TARGETS[name].suffix}")
    file.write_bytes(case)
    return f"{name}: {kind[:200]!r}; the case is in {file}"


def guided(name: str, seconds: int, seed: int) -> tuple[str, bool]:
    """A line on a target's guided run, and whether something failed."""
    script = Path(__file__).with_name("fuzz_guided.py")
    done = subprocess.run(
        [sys.executable, str(script), name, str(seconds), str(seed)],
        env={**os.environ, "PYTHONPATH": str(script.parents[1])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    ran = re.search(r"Done (\d+) runs", done.stderr)
    if done.returncode == 0 and ran:
        reached = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stderr)[-1]
        edges, _, kept = reached
        return (
            f"{name}: {ran[1]} cases, {kept} kept for the {edges} branches that they reach",
            False,
        )
    return f"{name}: failed\n{done.stderr[-3000:]}", True


def guide(names: Sequence[str], seconds: int, seed: int) -> int:
    """Each target for some seconds, one process a core; how many failed."""
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for line, bad in pool.map(lambda name: guided(name, seconds, seed), names):
            print(line, flush=True)
            failed += bad
    return failed


def main() -> int:
    """0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="ci/fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="(default: all)")
    parser.add_argument("--count", type=int, default=100_000, help="cases a target")
    parser.add_argument("--seed", type=int, default=0, help="of the first turn")
    parser.add_argument("--guided", type=int, metavar="SECONDS", help="a target, by coverage")
    parser.add_argument("--list", action="store_true", help="name the targets")
    args = parser.parse_args()
    if args.list:
        print("\n".join(TARGETS))
        return 0
    unknown = [name for name in args.targets if name not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]!r}; targets: {', '.join(TARGETS)}")
    if args.guided:
        if find_spec("atheris") is None:
            parser.error("--guided: atheris is needed; pip install '.[fuzz]'")
        return 1 if guide(args.targets or [*TARGETS], args.guided, args.seed) else 0
    failed = 0
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for name in args.targets or TARGETS:
            counts = [min(PART, args.count - at) for at in range(0, args.count, PART)]
            turns = [pool.submit(turn, name, n, args.seed + i) for i, n in enumerate(counts)]
            found = [done.result() for done in turns]
            lines = {line.partition("; ")[0]: line for _, each in found for line in each}
            failed += len(lines)
            print(f"{name}: {args.count} cases, {sum(read for read, _ in found)} of them read")
            print("".join(f"    {line}\n" for line in lines.values()), end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
