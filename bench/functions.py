#!/usr/bin/env python3
"""Elementary functions on one core of a CPU: portmp on an OpenCL device, and the QD library.

    PORTMP_CACHE_DIR=... python bench/functions.py --device opencl:0 -o report.json

Both run on one core, by turns: the OpenCL driver has one thread (PoCL), QD is called in a loop by
a program that the system's C++ compiler makes (package libqd-dev). Operands are uniform, with all
limbs full. Operations are those of the networks, guards included, without what is seldom computed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Before any driver starts its threads.
CORE = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})
os.environ["POCL_MAX_PTHREAD_COUNT"] = "1"

import numpy as np  # noqa: E402

import portmp as mp  # noqa: E402
from portmp import formats  # noqa: E402
from portmp.arrays.functions import FUNCTIONS  # noqa: E402
from portmp.errors import PortmpError  # noqa: E402
from portmp.networks.functions import ARITY  # noqa: E402

COUNT, TURNS = 1 << 15, 7
CASES: dict[str, tuple[float, float, str]] = {
    "exp": (-10, 10, "exp(x)"),
    "expm1": (-10, 10, ""),
    "log": (0.01, 100, "log(x)"),
    "log1p": (-0.9, 10, ""),
    "log2": (0.01, 100, ""),
    "log10": (0.01, 100, "log10(x)"),
    "pow": (0.1, 10, "pow(x, y)"),
    "sin": (-10, 10, "sin(x)"),
    "cos": (-10, 10, "cos(x)"),
    "tan": (-10, 10, "tan(x)"),
    "asin": (-1, 1, "asin(x)"),
    "acos": (-1, 1, "acos(x)"),
    "atan": (-10, 10, "atan(x)"),
    "atan2": (-10, 10, "atan2(x, y)"),
    "sinh": (-10, 10, "sinh(x)"),
    "cosh": (-10, 10, "cosh(x)"),
    "tanh": (-10, 10, "tanh(x)"),
    "asinh": (-10, 10, "asinh(x)"),
    "acosh": (1, 10, "acosh(x)"),
    "atanh": (-1, 1, "atanh(x)"),
    "cbrt": (0.1, 10, "nroot(x, 3)"),
    "hypot": (-10, 10, "sqrt(sqr(x) + sqr(y))"),
    "erf": (-5, 5, ""),
    "erfc": (-5, 5, ""),
    "gamma": (-10, 50, ""),
    "lgamma": (-10, 50, ""),
    "floor": (-1e6, 1e6, "floor(x)"),
    "ceil": (-1e6, 1e6, "ceil(x)"),
    "trunc": (-1e6, 1e6, "aint(x)"),
    "round": (-1e6, 1e6, "nint(x)"),
    "fmod": (1, 1e4, "fmod(x, y)"),
}
"""Range of the operands, and how QD says it."""

PROGRAM = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>
#include <qd/fpu.h>
#include <qd/qd_real.h>

template <class T, class F>
static void timed(const char *name, const char *form, double low, double high, int n, F f)
{
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> draw(low, high);
    std::vector<T> x(n), y(n), z(n);
    for (auto *v : {&x, &y})
        for (auto &one : *v)
            one = T(draw(generator)) / T(3.0) * T(3.0 - 1e-15);
    double best = 1e9;
    for (int turn = 0; turn < 3; ++turn) {
        auto began = std::chrono::steady_clock::now();
        for (int i = 0; i < n; ++i)
            z[i] = f(x[i], y[i]);
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        best = std::min(best, took.count());
    }
    volatile double used = to_double(z[n / 2]);
    (void)used;
    std::printf("%s %s %.3f\n", name, form, best / n * 1e9);
}

template <class T> static void all(const char *form, int n)
{
    (void)n;
CALLS}

int main()
{
    unsigned old;
    fpu_fix_start(&old);
    all<dd_real>("dd", 16384);
    all<qd_real>("qd", 1024);
}
"""


def qd_program(folder: Path) -> Path | None:
    """The compiled program; None where QD or a compiler is not installed."""
    if shutil.which("g++") is None:
        return None
    calls = "".join(
        f'    timed<T>("{name}", form, {low}, {high}, n, '
        f"[](const T &x, const T &y) {{ (void)y; return {text}; }});\n"
        for name, (low, high, text) in CASES.items()
        if text
    )
    source, program = folder / "qd.cpp", folder / "qd"
    source.write_text(PROGRAM.replace("CALLS", calls))
    options = ["-O3", "-march=native", "-ffp-contract=off"]
    made = subprocess.run(
        ["g++", *options, str(source), "-o", str(program), "-lqd"], capture_output=True, check=False
    )
    return program if made.returncode == 0 else None


def qd_times(program: Path) -> dict[tuple[str, str], float]:
    """Nanoseconds a call, by function and format."""
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return {(name, form): float(ns) for name, form, ns in map(str.split, said.splitlines())}


def operands(name: str, form: str, device: str) -> list[Any]:
    """Arrays of a function's range."""
    low, high, _ = CASES[name]
    draw = np.random.default_rng(1)
    kind = np.float32 if formats.get(form).word == "float32" else np.float64
    found = []
    for _ in range(ARITY[name]):
        plain = mp.array(draw.uniform(low, high, COUNT).astype(kind), form, device)
        found.append(plain / 3 * mp.array(2.9999995, form, device))
    return found


def own_time(name: str, given: list[Any], out: Any) -> float:
    """Nanoseconds an element, of one launch."""
    queue = out.device.queue
    queue.synchronize()
    began = time.perf_counter()
    FUNCTIONS[name](*given, out=out)
    queue.synchronize()
    return (time.perf_counter() - began) / COUNT * 1e9


def packages() -> dict[str, str]:
    """Versions of the installed QD and PoCL, as the system's packages tell them."""
    query = ["dpkg-query", "-W", "-f=${Package} ${Version}\n", "libqd-dev", "pocl-opencl-icd"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except OSError:
        return {}
    return dict(line.split() for line in said.splitlines() if len(line.split()) == 2)


def main() -> int:
    """0 once it is measured, 2 where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--formats", default="float64,ds,dd,td,qd")
    parser.add_argument("--functions", default=",".join(CASES))
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    names, forms = args.functions.split(","), args.formats.split(",")
    try:
        device = mp.zeros(1, "float64", args.device).device
    except PortmpError as error:
        print(f"functions: {error}", file=sys.stderr)
        return 2
    cases = {}
    for name in names:
        for form in forms:
            given = operands(name, form, args.device)
            cases[name, form] = (given, FUNCTIONS[name](*given))
    own: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    other: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = qd_program(Path(folder))
        for _ in range(TURNS):
            for (name, form), (given, out) in cases.items():
                own[name, form].append(own_time(name, given, out))
            if program:
                for case, ns in qd_times(program).items():
                    other.setdefault(case, []).append(ns)
    rows = []
    for (name, form), times in own.items():
        cost = formats.get(form).operator(name).cost.total()
        row: dict[str, Any] = {"function": name, "format": form, "operations": cost}
        row["ns"] = {"median": statistics.median(times), "least": min(times)}
        if theirs := other.get((name, form)):
            row["qd_ns"] = {"median": statistics.median(theirs), "least": min(theirs)}
            row["ratio"] = row["qd_ns"]["median"] / row["ns"]["median"]
        rows.append(row)
        ratio = f"{row['qd_ns']['median']:10.1f} {row['ratio']:7.1f}" if theirs else ""
        print(f"{name:8}{form:8}{cost:7}{row['ns']['median']:9.2f}{ratio}")
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "cpu": model[1] if model else "",
        "cores": 1,
        "packages": packages(),
        "elements": COUNT,
        "turns": TURNS,
        "rows": rows,
    }
    if args.output:
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
