"""``ci/soak``: processes with threads that compute the same for minutes: equal bits, flat memory.

All begin at once with an empty cache. After each task has been done once, each thread takes them
in an order of its own; a result's digest must be that of the host reference, every time. Memory is
flat where a process's largest resident size in the last quarter of the time is not above that in
the second (but for SLACK). A run of less than SETTLED seconds is not judged by its memory: pools
and heaps of threads are still filling.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

SLACK = 16 * 2**20
"""Bytes by which a process may grow: heaps of threads are ragged."""
PHASES = 4
SETTLED = 60.0


@dataclass
class Found:
    """What a process saw: results, those that differ, bytes resident in each phase, errors."""

    results: int = 0
    wrong: list[str] = field(default_factory=list)
    resident: list[int] = field(default_factory=lambda: [0] * PHASES)


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def tasks(name: str) -> Mapping[str, Callable[[], bytes]]:
    """What is computed, on a device: functions that return the bits of their result."""
    import numpy as np

    import portmp as mp
    from portmp import discovery
    from portmp.errors import ShapeError
    from portmp.files import arrays as files

    device = discovery.get(name)
    draw = np.random.default_rng(7)

    def some(form: str, *shape: int) -> mp.Array:
        high = draw.standard_normal(shape)
        return mp.array(high, form, device) + mp.array(high[::-1] * 2.0**-60, form, device)

    def bits(result: mp.Array) -> bytes:
        return b"".join(limb.tobytes() for limb in result.to_limbs())

    found: dict[str, Callable[[], bytes]] = {}
    for form in ("ds", "dd", "qd"):
        a, b, x = some(form, 40, 40), some(form, 40, 40), some(form, 3000)
        found |= {
            f"gemm {form}": partial(lambda a, b: bits(mp.gemm(a, b)), a, b),
            f"gemv {form}": partial(lambda a, b: bits(mp.gemv(a, b[:, 1])), a, b),
            f"dot {form}": partial(lambda x: bits(mp.dot(x, x)), x),
            f"elements {form}": partial(lambda x: bits(mp.sqrt(abs(x)) / (x * x + 1)), x),
            f"solve {form}": partial(
                lambda a, b: bits(mp.linalg.solve(a[:9, :9] + 9, b[:9, 0])), a, b
            ),
            f"text {form}": partial(lambda x: "".join(x[:50].to_strings(30)).encode(), x),
        }
    short = some("slfp64in48b", 900)
    found["storage"] = lambda: bits((short.astype("dd") * 3).astype("slfp64in48b"))

    def saved() -> bytes:
        """Through a file that all threads of all processes replace and read."""
        files.write(SHARED, short)
        return bits(files.read(SHARED, short.format, device))

    def refused() -> bytes:
        try:
            mp.gemm(short, short)
        except ShapeError as error:
            return str(error).encode()
        return b"no error"

    found |= {"file": saved, "error": refused}
    return found


SHARED = Path(os.environ.get("SOAK_FOLDER", ".")) / "shared.npz"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def expected(name: str) -> tuple[dict[str, str], dict[str, object]]:
    """Digests by the host reference, and what the device *name* is."""
    from portmp import discovery

    facts = discovery.get(name).properties.as_dict()
    return {task: digest(work()) for task, work in tasks("host:0").items()}, facts


def process(
    number: int, device: str, count: int, seconds: float, right: Mapping[str, str]
) -> Found:
    """One process's work: *count* threads beside each other."""
    faulthandler.enable()
    known, found, lock = tasks(device), Found(), threading.Lock()
    for name, work in known.items():
        found.wrong += [f"{name}: other bits at first"] * (digest(work()) != right[name])
    began = time.time()

    def thread(of: int) -> None:
        draw = random.Random(f"{number} {of}")
        while (took := time.time() - began) < seconds:
            name = draw.choice([*known])
            try:
                told = digest(known[name]())
                wrong = "" if told == right[name] else f"{name}: other bits"
            except Exception as error:
                wrong = f"{name}: {type(error).__name__}: {error}"
            phase = int(PHASES * took / seconds)
            with lock:
                found.results += 1
                found.wrong += [wrong] if wrong else []
                found.resident[phase] = max(found.resident[phase], resident())

    threads = [threading.Thread(target=thread, args=(i,)) for i in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


def first(device: str, right: Mapping[str, str]) -> str:
    """What a process's first use gives: nothing if it is right."""
    try:
        known = tasks(device)
        wrong = [name for name in FIRST if digest(known[name]()) != right[name]]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"other bits: {wrong}" if wrong else ""


FIRST = ("gemm dd", "text ds")


def starts(count: int, processes: int, device: str, right: Mapping[str, str], folder: Path) -> int:
    """Start processes at once, *count* times, each time with an empty cache; how many fail."""
    spawn, bad = get_context("spawn"), 0
    for number in range(count):
        os.environ["PORTMP_CACHE_DIR"] = str(folder / f"cache{number}")
        with ProcessPoolExecutor(processes, spawn) as pool:
            said = [pool.submit(first, device, right) for _ in range(processes)]
            wrong = [word for each in said if (word := _word(each))]
        bad += len(wrong)
        print("".join(f"start {number}: {word[:300]}\n" for word in wrong), end="", flush=True)
    print(f"{device}: {count} starts of {processes} processes with empty caches: {bad} went wrong")
    return bad


def _word(future: Future[str]) -> str:
    try:
        return future.result()
    except BrokenProcessPool:
        return "a process died"


def main() -> int:
    """0 if all results have the same bits and memory is flat."""
    parser = argparse.ArgumentParser(prog="ci/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--threads", type=int, default=8, help="of each process")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write a JSON report")
    parser.add_argument("--starts", type=int, metavar="N", help="start N times instead")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="portmp-soak-"))
    os.environ |= {"SOAK_FOLDER": str(folder), "PORTMP_CACHE_DIR": str(folder / "cache")}
    spawn = get_context("spawn")
    try:
        with ProcessPoolExecutor(1, spawn) as alone:
            right, facts = alone.submit(expected, args.device).result()
        report: dict[str, object] = {
            "date": time.strftime("%Y-%m-%d"),
            "device": facts,
            "processes": args.processes,
        }
        if args.starts:
            bad = starts(args.starts, args.processes, args.device, right, folder)
            _write(args.output, report | {"starts": args.starts, "wrong": bad})
            return bool(bad)
        seconds = 60 * args.minutes
        with ProcessPoolExecutor(args.processes, spawn) as pool:
            numbers = range(args.processes)
            work = [
                pool.submit(process, n, args.device, args.threads, seconds, right) for n in numbers
            ]
            found = [each.result() for each in work]
    except BrokenProcessPool:
        print(f"{args.device}: a process died; standard error tells where", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    bad = 0
    for number, each in enumerate(found):
        sizes = " ".join(f"{size / 2**20:.0f}" for size in each.resident)
        grown = seconds >= SETTLED and each.resident[-1] > each.resident[1] + SLACK
        bad += bool(each.wrong) or grown
        print(f"process {number}: {each.results} results, {len(each.wrong)} wrong; MiB {sizes}")
        print("".join(f"    {line[:300]}\n" for line in sorted({*each.wrong})[:5]), end="")
        print("    memory grows\n" * grown, end="")
    total = sum(each.results for each in found)
    print(
        f"{args.device}: {args.processes} processes of {args.threads} threads, {args.minutes:g} "
        f"minutes: {total} results of {len(right)} tasks; {bad} processes went wrong"
    )
    _write(
        args.output,
        report
        | {
            "threads": args.threads,
            "minutes": args.minutes,
            "tasks": [*right],
            "results": [each.results for each in found],
            "wrong": [len(each.wrong) for each in found],
            "resident_bytes_by_quarter": [each.resident for each in found],
        },
    )
    return 1 if bad else 0


def _write(file: Path | None, report: dict[str, object]) -> None:
    if file:
        file.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
