#!/usr/bin/env python3
"""Elementary functions: times of portmp on a device and, on a CPU, of the QD library beside it.

    PORTMP_CACHE_DIR=... python bench/functions.py --device opencl:0 -o report.json
    python bench/functions.py --device cuda:0 --seconds 100 -o report.json

On a CPU both run on one core, by turns: the OpenCL driver has one thread (PoCL), QD is called in a
loop by a program that the system's C++ compiler makes (package libqd-dev). Printed and compared is
the least time of the turns, since a machine may have other work too. On a GPU it is the median by
the device's clock, and what does not fit the seconds is left out, by name. ``--elements`` says
how many values both take on a CPU, where QD's loop has 16384 of dd and 1024 of qd else; ``copy`` is
what reading and writing them costs. Operands are uniform,
with all limbs full. Operations are the networks', guards included, without what is seldom computed.
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
from collections.abc import Callable
from functools import partial
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
from portmp.backends.base import Device  # noqa: E402
from portmp.bench import measure  # noqa: E402
from portmp.errors import PortmpError  # noqa: E402
from portmp.networks.functions import ARITY  # noqa: E402

COUNT, TURNS = {"cpu": 1 << 17, "gpu": 1 << 22}, 9
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
    "copy": (-10, 10, "x"),
}
"""Range of the operands, and how QD says it."""
COPY = "copy"
DRAWS = ("random", "standard_normal")
"""What is drawn by a generator."""

PROGRAM = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

int main(int, char **words)
{
    unsigned old;
    fpu_fix_start(&old);
    all<dd_real>("dd", std::atoi(words[1]));
    all<qd_real>("qd", std::atoi(words[2]));
}
"""


def qd_program(folder: Path, names: list[str]) -> Path | None:
    """The compiled program for some functions; None where QD or a compiler is not installed."""
    if shutil.which("g++") is None:
        return None
    calls = "".join(
        f'    timed<T>("{name}", form, {low}, {high}, n, '
        f"[](const T &x, const T &y) {{ (void)y; return {text}; }});\n"
        for name, (low, high, text) in CASES.items()
        if text and name in names
    )
    source, program = folder / "qd.cpp", folder / "qd"
    source.write_text(PROGRAM.replace("CALLS", calls))
    options = ["-O3", "-march=native", "-ffp-contract=off"]
    made = subprocess.run(
        ["g++", *options, str(source), "-o", str(program), "-lqd"], capture_output=True, check=False
    )
    return program if made.returncode == 0 else None


def qd_times(program: Path, count: int | None) -> dict[tuple[str, str], float]:
    """Nanoseconds a call, by function and format."""
    counts = [str(count or usual) for usual in (16384, 1024)]
    said = subprocess.run([program, *counts], capture_output=True, text=True, check=True).stdout
    return {(name, form): float(ns) for name, form, ns in map(str.split, said.splitlines())}


def operands(name: str, form: str, device: str, count: int) -> list[Any]:
    """Arrays of a function's range."""
    low, high, _ = CASES[name]
    draw = np.random.default_rng(1)
    kind = np.float32 if formats.get(form).word == "float32" else np.float64
    found = []
    for _ in range(1 if name == COPY else ARITY[name]):
        plain = mp.array(draw.uniform(low, high, count).astype(kind), form, device)
        found.append(plain / 3 * mp.array(2.9999995, form, device))
    return found


def own_time(call: Callable[[], object], out: Any) -> float:
    """Nanoseconds an element, of one launch."""
    queue = out.device.queue
    queue.synchronize()
    began = time.perf_counter()
    call()
    queue.synchronize()
    return (time.perf_counter() - began) / out.size * 1e9


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
    parser.add_argument("--functions", default=",".join((*CASES, *DRAWS)))
    parser.add_argument("--elements", type=int, metavar="N", help="values, on a CPU")
    parser.add_argument("--seconds", type=float, default=100, help="on a GPU (100)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    names, forms = args.functions.split(","), args.formats.split(",")
    try:
        device = mp.zeros(1, "float64", args.device).device
    except PortmpError as error:
        print(f"functions: {error}", file=sys.stderr)
        return 2
    cases = {}
    if device.properties.kind == "gpu":
        return on_gpu(device, names, forms, args)
    for name in names:
        for form in forms:
            cases[name, form] = prepared(name, form, args.device, args.elements or COUNT["cpu"])
    own: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    other: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = qd_program(Path(folder), names)
        for _ in range(TURNS):
            for case, (call, out) in cases.items():
                own[case].append(own_time(call, out))
            if program:
                for case, ns in qd_times(program, args.elements).items():
                    other.setdefault(case, []).append(ns)
    rows = []
    for (name, form), times in own.items():
        row: dict[str, Any] = {"function": name, "format": form, "operations": cost(name, form)}
        row["ns"] = {"median": statistics.median(times), "least": min(times)}
        if theirs := other.get((name, form)):
            row["qd_ns"] = {"median": statistics.median(theirs), "least": min(theirs)}
            row["ratio"] = row["qd_ns"]["least"] / row["ns"]["least"]
        rows.append(row)
        ratio = f"{row['qd_ns']['least']:10.1f} {row['ratio']:7.1f}" if theirs else ""
        print(f"{name:16}{form:8}{row['operations']:7}{row['ns']['least']:9.2f}{ratio}")
    write(args.output, device, rows, {"turns": TURNS, "elements": args.elements or COUNT["cpu"]})
    return 0


def prepared(name: str, form: str, device: str, count: int) -> tuple[Callable[[], object], Any]:
    """What calls a function or draws random numbers, once it is compiled, and where results go."""
    if name in FUNCTIONS:
        given = operands(name, form, device, count)
        out = FUNCTIONS[name](*given)
        return partial(FUNCTIONS[name], *given, out=out), out
    if name == COPY:
        (x,) = operands(name, form, device, count)
        return partial(mp.positive, x, out=x.copy()), x
    rng, out = mp.random.default_rng(1), mp.zeros(count, form, device)
    drawn = getattr(rng, name)
    return partial(drawn, out=drawn(out=out)), out


def cost(name: str, form: str) -> int:
    """Operations of a function's network; of random numbers none are counted."""
    return formats.get(form).operator(name).cost.total() if name in FUNCTIONS else 0


def on_gpu(device: Device, names: list[str], forms: list[str], args: argparse.Namespace) -> int:
    """Device times, while there are seconds left; 0."""
    began, rows, left_out = time.monotonic(), [], []
    for form in forms:
        for name in names:
            if time.monotonic() - began > args.seconds:
                left_out.append(f"{name} {form}")
                continue
            call, out = prepared(name, form, args.device, COUNT["gpu"])
            each = measure.timed(device, call, 5).median / out.size
            rows.append({"function": name, "format": form, "operations": cost(name, form)})
            rows[-1]["values/s"] = 1 / each
            print(f"{name:16}{form:8}{1e-9 / each:9.3f} G/s")
    if left_out:
        print("left out:", ", ".join(left_out))
    write(args.output, device, rows, {"left out": left_out})
    return 0


def write(path: Path | None, device: Device, rows: list[Any], more: dict[str, Any]) -> None:
    """The report, where a file is named."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "cpu": model[1] if model else "",
        "packages": packages(),
        "elements": COUNT[device.properties.kind],
        **more,
        "rows": rows,
    }
    if path:
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
