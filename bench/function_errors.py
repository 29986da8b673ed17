#!/usr/bin/env python3
"""Errors of elementary functions against MPFR: the largest that a search finds, in units of u^N.

    python bench/function_errors.py --device opencl:0 -o report.json

Random operands by kinds (all sizes, about 1 and 2, multiples of pi, the numbers nearest to these);
then from the worst ones on, operands beside them, again and again. Bits are the same on every
device, so any device will do.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import random
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr

import portmp as mp
from portmp import formats
from portmp.arrays.functions import FUNCTIONS
from portmp.errors import PortmpError
from portmp.formats import Format, inputs
from portmp.networks import constants
from portmp.networks.functions import ARITY

Host = list[np.ndarray]
TOP = {"float32": 127, "float64": 1023}
LEAST = {"float32": mpfr(2) ** -149, "float64": mpfr(2) ** -1074}
ILL = {"sin", "cos", "tan", "gamma", "lgamma"}
"""Functions with zeros or poles at which no lower limb of float32 is left: not searched there."""


def _power(x: Any, y: Any) -> Any:
    return x**y if x >= 0 or gmpy2.is_integer(y) else mpfr("nan")


EXACT: dict[str, Callable[..., Any]] = {
    name: getattr(gmpy2, name) for name in ARITY if hasattr(gmpy2, name)
} | {"pow": _power, "round": gmpy2.rint, "lgamma": lambda x: gmpy2.lgamma(x)[0]}


def drawn(form: Format, name: str, kind: str, count: int, seed: str) -> Host:
    """Operands of a kind."""
    top, p = TOP[form.word], form.encodings[0].bits
    ranges = {
        "small": (-30, -1),
        "middle": (-3, 3),
        "large": (2, 7 if form.word == "float32" else 10),
        "any": (8 - top, top - 7),
    }
    stream = inputs.Stream(f"errors {name} {kind} {seed}")
    if kind in ranges:
        return inputs.expansions(form, count, stream, *ranges[kind])
    if kind == "multiples of pi":
        draw = random.Random(seed)
        rows = []
        for _ in range(count):
            m = draw.getrandbits(draw.randint(1, 20 if form.word == "float32" else 600))
            angle = constants.fraction(constants.pi()) * m / draw.choice((1, 2, 64, 7))
            rows.append(constants.words_of(angle, form.word, form.limbs))
        return [np.array([row[i] for row in rows], form.word) for i in range(form.limbs)]
    if kind == "nearest to multiples of pi":
        return nearest_multiples(form, count)
    lower = inputs.expansions(form, count, stream, -3 * p, -p - 2)
    return [np.full(count, float(kind), form.word), *lower[:-1]]


def nearest_to_quarter_turns(e: int, bits: int) -> list[int]:
    """The m below 2^bits whose m 2^e are nearest to multiples of pi/2, the last the nearest.

    They are the denominators of the convergents of 2^e over pi/2 (Muller 2016, chapter 11).
    """
    found: list[int] = []
    before, last = 1, 0
    rest = Fraction(2) ** (e + 1) * Fraction(constants.ONE, constants.pi())
    while True:
        whole = rest.numerator // rest.denominator
        before, last = last, whole * last + before
        if last >> bits:
            return found
        found.append(last)
        if rest == whole:
            return found
        rest = 1 / (rest - whole)


def nearest_multiples(form: Format, count: int) -> Host:
    """The numbers that leave least to the reduction by pi/2, for exponents up to the largest."""
    first, top = -form.bits // 2, TOP[form.word] - form.bits
    rows = []
    for i in range(count):
        e = first + (top - first) * (i // 2) // (count // 2)
        m = nearest_to_quarter_turns(e, form.bits)[-1 - i % 2]
        rows.append(constants.words_of(m * Fraction(2) ** e, form.word, form.limbs))
    return [np.array([row[i] for row in rows], form.word) for i in range(form.limbs)]


def beside(form: Format, x: Host, stream: random.Random, times: int) -> Host:
    """Each operand so many times, with one limb moved by some of its last bits."""
    many = [np.repeat(limb, times) for limb in x]
    for i in range(len(many[0])):
        which = stream.randrange(form.limbs)
        scale = 1 + stream.uniform(-1, 1) * 2.0 ** -stream.randint(3, form.encodings[0].bits - 1)
        many[which][i] = many[which][i] * scale
    # Back to limbs in order, where a change has made them overlap.
    for i in range(form.limbs - 2, -1, -1):
        total = many[i] + many[i + 1]
        many[i + 1] = many[i + 1] - (total - many[i])
        many[i] = total
    return many


def errors(form: Format, name: str, given: list[Host], device: str) -> np.ndarray:
    """In units of u^N, of each element; zero where the result is not an ordinary number.

    Relative, but of lgamma(x) for negative x, which has zeros there: x times its slope, if that is
    more, what one unit in x changes.
    """
    arrays = [mp.from_limbs(x, form.name, device) for x in given]
    result = FUNCTIONS[name](*arrays).to_limbs()
    taken = [a.to_limbs() for a in arrays]
    found = np.zeros(len(result[0]))
    least, unit = LEAST[form.word], mpfr(2) ** form.bits
    for i in range(len(found)):
        values = [sum((mpfr(float(limb[i])) for limb in x), mpfr(0)) for x in (*taken, result)]
        exact = EXACT[name](*values[:-1])
        if not gmpy2.is_finite(exact) or not exact or not gmpy2.is_finite(values[-1]):
            continue
        error = max(mpfr(0), abs(values[-1] - exact) - 8 * least)
        size = abs(exact)
        if name == "lgamma" and values[0] < 0:
            size = max(size, abs(values[0] * gmpy2.digamma(values[0])))
        found[i] = float(error / size * unit)
    return found


def searched(form: Format, name: str, device: str, count: int, rounds: int) -> tuple[float, Any]:
    """The largest error found, and its operands."""
    kinds = ["small", "middle", "large", "any"]
    if form.limbs > 1:
        kinds += ["1", "2", "0.5"] if form.word == "float64" or name not in ILL else []
        kinds += ["-1"] if form.word == "float64" else []
    if name in ("sin", "cos", "tan") and (form.word == "float64" or form.limbs < 3):
        kinds += ["multiples of pi", "nearest to multiples of pi"]
    worst, where = 0.0, None
    stream = random.Random(name)
    for kind in kinds:
        given = [drawn(form, name, kind, count, "x")]
        if ARITY[name] == 2:
            other = "middle" if name == "pow" or kind not in ("any", "large") else kind
            given.append(drawn(form, name, other, count, "y"))
        for _ in range(rounds + 1):
            found = errors(form, name, given, device)
            order = np.argsort(found)[::-1][: max(count // 32, 1)]
            if found[order[0]] > worst:
                worst = float(found[order[0]])
                where = [[float(limb[order[0]]) for limb in x] for x in given]
            given = [beside(form, [limb[order] for limb in x], stream, 32) for x in given]
    return worst, where


def main() -> int:
    """0 once it is searched, 1 where an error is above 2 u^N, 2 where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="opencl:0")
    names = [n for n in formats.STANDARD if n != "d+s"]
    parser.add_argument("--formats", default=",".join(names))
    parser.add_argument("--functions", default=",".join(ARITY))
    parser.add_argument("--count", type=int, default=512, help="operands of a kind (512)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds beside the worst (4)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    context = gmpy2.get_context()
    context.precision, context.emax, context.emin = 1300, 1 << 30, -(1 << 30)
    rows = []
    began = time.time()
    try:
        device = mp.zeros(1, "float64", args.device).device
        for name in args.functions.split(","):
            for form in args.formats.split(","):
                worst, where = searched(
                    formats.get(form), name, args.device, args.count, args.rounds
                )
                rows.append({"function": name, "format": form, "worst": worst, "operands": where})
                print(f"{name:8}{form:8}{worst:9.4f}", flush=True)
    except PortmpError as error:
        print(f"function_errors: {error}", file=sys.stderr)
        return 2
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "operands of a kind": args.count,
        "rounds": args.rounds,
        "seconds": round(time.time() - began),
        "rows": rows,
    }
    if args.output:
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    return int(max((row["worst"] for row in rows), default=math.inf) > 2)


if __name__ == "__main__":
    sys.exit(main())
