#!/usr/bin/env python3
"""What each format costs on one core of a CPU: AXPY, DOT and GEMM over float64's time.

    PORTMP_CACHE_DIR=... python bench/format_costs.py --device opencl:0 -o report.json

Formats run by turns on one core, with one thread of the OpenCL driver (PoCL). Compared is the least
processor time of the turns, which waiting for a machine that has other work does not lengthen.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# Before any driver starts its threads.
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["POCL_MAX_PTHREAD_COUNT"] = "1"

import portmp as mp  # noqa: E402
from portmp.errors import PortmpError  # noqa: E402

FORMATS = ("float64", "ds", "ts", "qs", "dd", "td", "qd")
ELEMENTS, ORDER = 1 << 21, 320


def calls(form: str, device: str) -> dict[str, Callable[[], object]]:
    """What is measured of a format, on normal numbers of full width."""
    draw = partial(mp.random.default_rng(1).standard_normal, format=form, device=device)
    x, y, out = draw(ELEMENTS), draw(ELEMENTS), mp.zeros(ELEMENTS, form, device)
    a, b, c = draw((ORDER, ORDER)), draw((ORDER, ORDER)), mp.zeros((ORDER, ORDER), form, device)
    return {
        "axpy": partial(mp.axpy, "0.3", x, y, out=out),
        "dot": partial(mp.dot, x, y),
        "gemm": partial(mp.gemm, a, b, out=c),
    }


def main() -> int:
    """0 once it is measured, 2 where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        queue = mp.zeros(1, "float64", args.device).queue
    except PortmpError as error:
        print(f"format_costs: {error}", file=sys.stderr)
        return 2
    every = {form: calls(form, args.device) for form in FORMATS}
    least: dict[tuple[str, str], float] = {}
    for _ in range(args.turns):
        for form, routines in every.items():
            for routine, call in routines.items():
                queue.synchronize()
                began = time.process_time()
                call()
                queue.synchronize()
                took = time.process_time() - began
                least[routine, form] = min(took, least.get((routine, form), took))
    rows: list[dict[str, Any]] = []
    for (routine, form), seconds in sorted(least.items()):
        over = seconds / least[routine, "float64"]
        rows.append({"routine": routine, "format": form, "seconds": seconds, "over_float64": over})
        print(f"{routine:6}{form:9}{1e3 * seconds:10.3f} ms{over:8.2f}")
    if args.output:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        report = {
            "what": "least processor time of turns on one core",
            "date": datetime.date.today().isoformat(),
            "device": queue.device.properties.as_dict(),
            "cpu": model[1] if model else "",
            "turns": args.turns,
            "elements": ELEMENTS,
            "order": ORDER,
            "rows": rows,
        }
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
