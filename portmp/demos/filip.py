"""The demonstration: a regression that float64 cannot do, and a system that dd cannot.

Filip (NIST StRD, linear least squares): a polynomial of degree 10 through 82 points, by QR. In
float64 half of the digits are lost; every step below runs in the chosen format. Hilbert's matrix of
order 24 has the condition number 1e35, more than dd has digits for.
"""

import decimal
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.demos.ill_conditioned import hilbert, powers, rows_of, whole
from portmp.errors import PortmpError
from portmp.files import pictures
from portmp.formats import parse

FORMATS = ("float64", "dd", "td", "qd")
CERTIFIED_DIGITS = 15
ORDER = 24


def polynomial_fit(x: mp.Array, y: mp.Array, degree: int) -> mp.Array:
    """Coefficients, lowest power first, of the least-squares polynomial through (x, y).

    All powers count, however close to dependent they are in the format.
    """
    return mp.linalg.lstsq(powers(x, degree), y, rcond=0.0).x


def agreeing_digits(value: Fraction, certified: str) -> int:
    """Leading significant digits of *value*, rounded to as many, that equal the certified ones."""
    exact = parse.parse_number(certified, "certified")
    for digits in range(CERTIFIED_DIGITS, 0, -1):
        if _rounded(value, digits) == _rounded(Fraction(exact), digits):
            return digits
    return 0


def _rounded(value: Fraction, digits: int) -> decimal.Decimal:
    """*value* to *digits* significant decimal digits, half away from zero."""
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_UP)
    return context.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))


@dataclass(frozen=True)
class Fit:
    """The coefficients in one format, or why there are none."""

    format: str
    coefficients: list[str]
    digits: list[int]
    seconds: float
    problem: str = ""
    hilbert: float = 0.0


def run(device: Device, progress: Callable[[str], None]) -> tuple[list[str], list[Fit]]:
    """The certified coefficients, and fits in every format; times are of second ones, compiled."""
    certified = [row["estimate"] for row in rows_of("filip_certified.csv")]
    points = rows_of("filip.csv")
    fits = []
    about = "slow: no kernels" if device.by_reference else "the first run compiles its kernels"
    for name in FORMATS:
        progress(f"fitting in {name} ({about}) ...")
        start = time.perf_counter()
        try:
            x = mp.array([p["x"] for p in points], name, device)
            y = mp.array([p["y"] for p in points], name, device)
            for _ in range(1 if device.by_reference else 2):
                start = time.perf_counter()
                fit = polynomial_fit(x, y, len(certified) - 1)
                fit.to_limbs()  # which waits
            seconds = time.perf_counter() - start
            ones = mp.linalg.solve(*hilbert(ORDER, name, device)).to_fractions()
            held = whole(ones, [Fraction(1)] * ORDER, name)
            values, texts = fit.to_fractions(), fit.to_strings(CERTIFIED_DIGITS)
            digits = [agreeing_digits(v, c) for v, c in zip(values, certified, strict=True)]
            fits.append(Fit(name, texts, digits, seconds, hilbert=held))
        except PortmpError as error:
            nothing = [0] * len(certified)
            fits.append(Fit(name, [], nothing, time.perf_counter() - start, str(error)))
    return certified, fits


def table(device: Device, certified: list[str], fits: list[Fit]) -> str:
    """Coefficients by format, with the number of digits that agree with the certified values."""
    width = 23
    lines = [
        "Filip: 82 points, a polynomial of degree 10, by least squares (QR) in each format",
        f"device {device.name}: {device.properties.name} ({_driver(device)})",
        "",
        f"{'':4}{'certified':>{width}}"
        + "".join(f"{formats.get(f.format).name:>{width}}  ok" for f in fits),
    ]
    for k, value in enumerate(certified):
        row = f"B{k:<3}{value:>{width}}"
        for fit in fits:
            text = fit.coefficients[k] if fit.coefficients else "-"
            row += f"{text:>{width}} {fit.digits[k]:>3}"
        lines.append(row)
    lines.append("")
    for fit in fits:
        least = f"{fit.format:8} at least {min(fit.digits):2} of {CERTIFIED_DIGITS} digits agree"
        note = f" ({fit.problem})" if fit.problem else ""
        lines.append(f"{least}, {fit.seconds:6.2f} s{note}")
    lines.append("ok: significant digits that agree with the certified value")
    lines += ["", f"Hilbert's matrix of order {ORDER}: a system of condition number 1e35, by LU"]
    lines += [f"{fit.format:8} {fit.hilbert:4.0f} digits are right" for fit in fits]
    called = sys.argv[0] if Path(sys.argv[0]).name == "portmp" else "portmp"
    lines += ["", f"Next: {called} demo linalg (more problems), {called} nbody, docs/tutorial.md"]
    return "\n".join(lines)


def _driver(device: Device) -> str:
    """The driver's name and version, short."""
    facts = device.properties
    return str(facts.extra.get("platform", f"driver {facts.driver}")).split(",")[0].strip()


def plot(path: Path, fits: list[Fit]) -> None:
    """Bars of agreeing digits, a group for each coefficient."""
    figure, axes = pictures.pyplot().subplots(figsize=(9, 4))
    pictures.bars(axes, {f.format: {f"B{k}": d for k, d in enumerate(f.digits)} for f in fits})
    axes.axhline(CERTIFIED_DIGITS, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlabel("coefficient")
    axes.set_ylabel("decimal digits that agree")
    axes.set_title("Filip regression: agreement with the certified coefficients")
    axes.legend(ncols=len(fits), loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
    figure.tight_layout()
    pictures.write(path, figure)


def passed(fits: list[Fit]) -> bool:
    """Whether quad-double has all certified digits (14 where the fifteenth is a rounding)."""
    return all(min(f.digits) >= CERTIFIED_DIGITS - 1 for f in fits if f.format == "qd")


def as_json(device: Device, certified: list[str], fits: list[Fit]) -> dict[str, Any]:
    """Everything, for machines."""
    return {
        "device": {"name": device.name, **device.properties.as_dict()},
        "certified": certified,
        "fits": [f.__dict__ for f in fits],
        "passed": passed(fits),
    }


def say(text: str) -> None:
    """A progress line on standard error."""
    print(text, file=sys.stderr, flush=True)


def command(args: Any) -> int:
    """``portmp demo``: 0 if quad-double reaches the certified digits, else 1."""
    if args.plot:
        pictures.check(Path(args.plot))
    say("opening the device (the first time it is probed, which takes some seconds) ...")
    device = discovery.get(args.device)
    certified, fits = run(device, say)
    if args.json:
        print(json.dumps(as_json(device, certified, fits), indent=1))
    else:
        print(table(device, certified, fits))
    if args.plot:
        plot(Path(args.plot), fits)
    return 0 if passed(fits) else 1
