#!/usr/bin/env python3
"""Certified results beside exact arithmetic: products with bounds, and sums that are rounded once.

Operands are of all sizes that the recorded inputs have: ordinary, positive, cancelling, over the
whole range. Exact sums are Python's integers. Exit status 1 where a bound is below an error or a
sum is not the exact one's rounding.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import PortmpError
from portmp.formats import Format, convert, inputs

FORMATS = ("float32", "ds", "ts", "qs", "float64", "dd", "td", "qd")
KINDS = {
    "ordinary": inputs.ordinary,
    "positive": inputs.positive,
    "wide": inputs.wide,
    "cancelling": inputs.cancelling,
}
ROWS = 60
NORMAL = {"float32": -126, "float64": -1022}
"""Exponents of the smallest normal numbers."""
SMALLEST = 1 << 1074
"""Values are counted in units of 1 over this."""


def integers(planes: Sequence[Any]) -> Any:
    """Values in units of the smallest float64; those that are not finite as 0."""
    kept = [np.where(np.isfinite(planes[0]), plane, 0) for plane in planes]
    found = [int(v * SMALLEST) for v in convert.to_fractions(kept).ravel()]
    return convert.object_array(found, np.shape(planes[0]))


def bounded(
    f: Format, kind: str, seed: int, device: Device, options: dict[str, Any], steps: int
) -> dict[str, Any]:
    """A product of matrices over so many steps (0: a few): known bounds, false ones, the nearest.

    And the widest: the largest bound over its error, of errors above u^N T / 1000 in the normal
    range, T the sum of the products' magnitudes.
    """
    k = steps or 1 + 7 * (seed % 6)
    make = KINDS[kind]
    a, b = make(f, (ROWS, k), f"a {seed}"), make(f, (k, ROWS), f"b {seed}")
    left, right = (mp.from_limbs(v, f, device) for v in (a, b))
    value, bound = mp.gemm(left, right, **options)
    xs, ys = integers(a), integers(b)
    exact, sizes = np.dot(xs, ys), np.dot(abs(xs), abs(ys))
    lost = abs(integers(value.to_limbs()) * SMALLEST - exact).ravel()
    limits = bound.to_limbs()[0].ravel()
    known = np.isfinite(limits)
    unit = SMALLEST * SMALLEST
    wide = [int(Fraction(float(v)) * unit) for v in limits[known]]
    nearest = max((Fraction(e, w) for e, w in zip(lost[known], wide, strict=True) if w), default=0)
    false = sum(e > w for e, w in zip(lost[known], wide, strict=True))
    usual = int(Fraction(2) ** NORMAL[f.word] * unit)
    per = int(1000 / Fraction(f.unit_roundoff))
    least = [max(int(v) // per, usual) for v in sizes.ravel()[known]]
    rows = zip(lost[known], wide, least, strict=True)
    widest = max((Fraction(w, e) for e, w, some in rows if e > some), default=0)
    return {
        "known": int(known.sum()),
        "false": int(false),
        "nearest": float(nearest),
        "widest": float(widest),
    }


def correct(f: Format, seed: int, device: Device) -> dict[str, Any]:
    """Sums of products that cancel up to a small rest: how many, how many false, the condition."""
    pairs = 2 + seed % 5
    x, y = (inputs.wide(f, (ROWS, pairs), f"{name} {seed}") for name in "xy")
    order = np.random.default_rng(seed).permutation(2 * pairs)
    left = [np.concatenate([p, p], axis=1)[:, order] for p in x]
    right = [np.concatenate([p, -p], axis=1)[:, order].T.copy() for p in y]
    left[-1][::2, 0] = 0
    a, b = mp.from_limbs(left, f, device), mp.from_limbs(right, f, device)
    found = mp.gemm(a, b, rounding="correct").to_limbs()
    xs, ys = integers(left), integers(right)
    sums, sizes = np.dot(xs, ys).ravel(), np.dot(abs(xs), abs(ys)).ravel()
    unit = SMALLEST * SMALLEST
    rows = zip(*(plane.ravel().tolist() for plane in found), strict=True)
    false = sum(
        list(row) != list(convert.round_ratio(int(s), unit, f)[0])
        for row, s in zip(rows, sums, strict=True)
    )
    # Decimal logarithms, by the numbers' lengths.
    conditions = [
        (int(t).bit_length() - abs(int(s)).bit_length()) * 0.30103
        for s, t in zip(sums, sizes, strict=True)
        if s
    ]
    above = sum(c >= 100 for c in conditions)
    return {
        "sums": len(sums),
        "false": int(false),
        "largest": max(conditions, default=0.0),
        "from 1e100": above,
    }


def summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts added up, and the largest of the others."""
    return {
        key: max(row[key] for row in found)
        if key in ("nearest", "largest", "widest")
        else sum(row[key] for row in found)
        for key in found[0]
    }


def main() -> int:
    """0 where all holds, 1 where something is false, 2 where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host:0")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--products", type=int, default=1_000_000)
    parser.add_argument("--sums", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=0, help="of a product; usually 1 to 36")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bound", default="True", choices=("True", "tight", "normwise"))
    parser.add_argument("--accuracy", default="accurate", help="of products: or fast")
    parser.add_argument("--method", default="direct", help="of products: or ozaki1, ozaki2")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    names = args.formats.split(",")
    options = {
        "bound": args.bound == "True" or args.bound,
        "accuracy": args.accuracy,
        "method": args.method,
    }
    name_of = "bound" if args.bound == "True" else args.bound
    rows: dict[str, Any] = {}
    try:
        device = discovery.get(args.device)
        for name in names:
            f = formats.get(name)
            each = -(-args.products // (len(names) * len(KINDS) * ROWS**2))
            seeds = range(args.seed, args.seed + each)
            runs = [
                bounded(f, kind, seed, device, options, args.steps)
                for kind in KINDS
                for seed in seeds
            ]
            rows[f"{name_of}/{name}"] = summed(runs)
            each = -(-args.sums // (len(names) * ROWS**2))
            if each:
                rows[f"correct/{name}"] = summed(
                    [correct(f, args.seed + i, device) for i in range(each)]
                )
            print(name, rows[f"{name_of}/{name}"], rows.get(f"correct/{name}", ""), flush=True)
    except PortmpError as error:
        print(f"certified_hunt: {error}", file=sys.stderr)
        return 2
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "seed": args.seed,
        "options": options,
        "steps": args.steps,
        "rows": rows,
    }
    if args.output:
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(row["false"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
