#!/usr/bin/env python3
"""What bounds beside results, and correct rounding, take: by turns with the plain routines.

The file of results is written after each case; with ``--resume`` those that it has from the same
device are not measured again. ``--fdot N`` also times mpmath's fdot of N elements, with bits enough
for an exact sum.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Device
from portmp.bench import measure
from portmp.errors import PortmpError
from portmp.files import target
from portmp.formats import convert, inputs

SECONDS = 3.0
FORMATS = ("float64", "ds", "dd", "ts", "td", "qs", "qd")
ROUTINES = ("gemm", "gemv", "dot", "sum")
EXACT = 2200
"""Bits that hold every sum of products of doubles of usual size."""


def size_of(routine: str, form: str) -> int:
    """Rows of matrices and lengths: of vectors those that fill a GiB, at the rate of memory."""
    if routine == "gemm":
        return 2048
    values = (1 << 30) // formats.get(form).itemsize
    return 1 << (values.bit_length() // 2 if routine == "gemv" else values.bit_length() - 1)


Works = dict[str, Callable[[], object]]
BASES = {
    "bound": "plain",
    "fast bound": "fast",
    "normwise": "plain",
    "fast normwise": "fast",
    "tight": "plain",
    "correct": "plain",
}
"""What is compared, and with what; of products whose sums are exact with a quarter of the sizes."""


def exact(form: str, size: int, steps: int) -> list[str]:
    """The ways of products of matrices that add up exact sums."""
    f = formats.get(form)
    near = formats.wider(f) or definition.by_integers(size, size, steps, f.limbs)
    return ["correct"] if near else ["tight", "correct"]


def works(routine: str, form: str, size: int, steps: int, device: Device) -> Works:
    """The routine plain and fast, with bounds, tight ones too, and correctly rounded.

    *steps*: of products of matrices, columns of A and rows of B.
    """
    f = formats.get(form)

    def made(*shape: int, seed: str = "a") -> mp.Array:
        block = inputs.ordinary(f, (min(shape[0], 1024), *shape[1:]), seed)
        times = -(-shape[0] // block[0].shape[0])
        planes = [plane.repeat(times, axis=0)[: shape[0]] for plane in block]
        return mp.from_limbs(planes, f, device)

    def ways(call: Callable[..., object]) -> Works:
        found: Works = {"plain": call, "bound": lambda: call(bound=True)}
        if f.limbs > 1 and routine != "sum":
            found["fast"] = lambda: call(accuracy="fast")
            found["fast bound"] = lambda: call(accuracy="fast", bound=True)
        if routine in ("gemm", "gemv"):
            found["normwise"] = lambda: call(bound="normwise")
            if f.limbs > 1:
                found["fast normwise"] = lambda: call(accuracy="fast", bound="normwise")
        found["tight"] = lambda: call(bound="tight")
        found["correct"] = lambda: call(rounding="correct")
        return found

    if routine == "gemm":
        a, b = made(size, steps), made(steps, size, seed="b")
        rows, depth = size // 4, steps // 4
        c, d = a[:rows, :depth].copy(), b[:depth, :rows].copy()
        short = ways(lambda **options: mp.gemm(c, d, **options))
        return ways(lambda **options: mp.gemm(a, b, **options)) | {
            "quarter": short["plain"],
            **{name: short[name] for name in exact(form, size, steps)},
        }
    if routine == "gemv":
        a, x = made(size, size), made(size, seed="x")
        return ways(lambda **options: mp.gemv(a, x, **options))
    x, y = made(size), made(size, seed="y")
    if routine == "sum":
        return ways(x.sum)
    return ways(lambda **options: mp.dot(x, y, **options))


def measured(device: Device, cases: Works, quarters: list[str], seconds: float) -> dict[str, Any]:
    """Median seconds of each way, and how much longer than the plain one it takes.

    *quarters*: ways of a quarter of the sizes.
    """
    for work in cases.values():
        work()
    rounds = measure.by_turns(device, cases, 0, seconds)
    found: dict[str, Any] = {"seconds": {name: rounds.timing(name).median for name in cases}}
    for name, to in BASES.items():
        if name in cases:
            base = "quarter" if name in quarters else to
            found[f"{name.replace(' ', '_')}_over_{to}"] = rounds.faster(base, name)
    return found


def fdot(form: str, count: int) -> float:
    """Seconds of mpmath's exact sum of products."""
    import mpmath

    f = formats.get(form)
    with mpmath.workprec(EXACT):
        x, y = (
            [mpmath.mpf(v.numerator) / v.denominator for v in convert.to_fractions(planes)]
            for planes in (inputs.ordinary(f, (count,), seed) for seed in "xy")
        )
        start = time.perf_counter()
        mpmath.fdot(x, y)
        return time.perf_counter() - start


def chosen(cases: Works, names: list[str], quarters: list[str]) -> Works:
    """The ways of these names that there are, and what they are compared with."""
    ways = [name for name in names if name in cases]
    quarter = ["quarter"] if any(name in quarters for name in ways) else []
    kept = {*ways, *(BASES[name] for name in ways), *quarter}
    return {name: work for name, work in cases.items() if name in kept}


def begun(file: Path, about: dict[str, Any]) -> dict[str, Any]:
    """The cases of a file of this device and compiler; none where there is no such file."""
    if not file.exists():
        return {}
    report = json.loads(file.read_text())
    same = all(report.get(key) == about[key] for key in ("device", "compiler"))
    if not same:
        raise SystemExit(f"certified: {file} is of another device or compiler")
    cases: dict[str, Any] = report["cases"]
    return cases


def measure_all(args: argparse.Namespace, report: dict[str, Any], device: Device) -> None:
    """Each format's cases that are not in the report yet, which is written after each of them."""
    cases = report["cases"]

    def keep(key: str, found: dict[str, Any], told: str) -> None:
        cases[key] = found
        print(told, flush=True)
        if args.output:
            target.replace(args.output, (json.dumps(report, indent=1) + "\n").encode())

    for form in args.formats.split(","):
        for routine in args.routines.split(","):
            size = int(size_of(routine, form) * 2.0**-args.scale)
            steps = args.steps if args.steps and routine == "gemm" else size
            key = f"{routine}/{form}/{size}" + (f"/{steps}" if steps != size else "")
            if key in cases:
                continue
            quarters = exact(form, size, steps) if routine == "gemm" else []
            every = works(routine, form, size, steps, device)
            ways = chosen(every, args.ways.split(","), quarters)
            if not ways:
                continue
            found = measured(device, ways, quarters, args.seconds)
            ratios = [f"{name} {v:.3g} times" for name, v in found.items() if "_over_" in name]
            told = ", ".join(ratios).replace("_", " ")
            seconds = found["seconds"].get("plain") or found["seconds"]["fast"]
            keep(key, found, f"{routine:5} {form:8} {size:8}  {seconds:.3e} s, {told}")
        key = f"fdot/{form}/{args.fdot}"
        if args.fdot and key not in cases:
            seconds = fdot(form, args.fdot) / args.fdot
            told = f"fdot  {form:8} {args.fdot:8}  {seconds:.3e} s an element"
            keep(key, {"seconds_an_element": seconds}, told)


def main() -> int:
    """0 once it is measured, 2 where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--routines", default=",".join(ROUTINES))
    parser.add_argument("--ways", default=",".join(BASES), help="of " + ", ".join(BASES))
    parser.add_argument(
        "--scale", type=int, default=0, metavar="K", help="sizes over 2^K, K below 0 too"
    )
    parser.add_argument(
        "--steps", type=int, default=0, metavar="K", help="of gemm: columns of A, rows of B"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each case")
    parser.add_argument("--bounds", action="store_true", help="leave correct rounding out")
    parser.add_argument("--fdot", type=int, default=0, metavar="N")
    parser.add_argument("--resume", action="store_true", help="keep what the file has")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    if args.bounds:
        args.ways = ",".join(name for name in args.ways.split(",") if name != "correct")
    if unknown := set(args.ways.split(",")) - set(BASES):
        parser.error(f"--ways: {', '.join(sorted(unknown))} given, {', '.join(BASES)} are allowed")
    if args.steps < 0:
        parser.error(f"--steps: {args.steps} given, at least 1 is allowed")
    if args.resume and not args.output:
        parser.error("--resume needs --output")
    try:
        device = discovery.get(args.device)
        about = {
            "date": datetime.date.today().isoformat(),
            "device": device.properties.as_dict(),
            "compiler": device.compiler_key(),
        }
        known = begun(args.output, about) if args.resume else {}
        measure_all(args, {**about, "cases": known}, device)
    except PortmpError as error:
        print(f"certified: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
