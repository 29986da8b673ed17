"""``portmp demo linalg``: how many digits of ill-conditioned problems each format keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from portmp import formats
from portmp.backends.base import Device
from portmp.demos import ill_conditioned
from portmp.demos.ill_conditioned import Outcome, Say
from portmp.demos.presented import presented
from portmp.files import pictures
from portmp.progress import Progress

SITES = 1000
ALLOWED = (16, 4096)
COLOURS = {"float32": "grey", "float64": "C0", "dd": "C1", "td": "C2", "qd": "C3", "ts": "C4"}
ENOUGH = 15
"""Digits that td has of NIST's sets at least, as many as are certified."""


def run(device: Device, sites: int, say: Say) -> list[Outcome]:
    """All problems in all their formats."""
    return [
        *ill_conditioned.regressed(device, say),
        *ill_conditioned.examples(device, say),
        *ill_conditioned.solved(device, say),
        *ill_conditioned.rooted(device, say),
        *ill_conditioned.kriged(device, say, sites),
    ]


def passed(found: list[Outcome]) -> bool:
    """Whether td has the digits of NIST's sets, and dd any of kriging's."""
    sets = {*ill_conditioned.regressions()}
    known = [o for o in found if o.problem in sets and o.format == "td"]
    kriged = [o for o in found if o.problem == "Kriging" and o.format == "dd"]
    return all(o.digits >= ENOUGH for o in known) and all(o.digits > 1 for o in kriged)


def table(device: Device, found: list[Outcome]) -> str:
    """A line a problem and size, a column a format; notes below."""
    forms = sorted({o.format for o in found}, key=lambda name: formats.get(name).bits)
    lines = [
        f"device {device.name}: {device.properties.name}, driver {device.properties.driver}",
        "",
        "Decimal digits that are right",
        f"{'':14}{'unknowns':>9}" + "".join(f"{name:>9}" for name in forms),
    ]
    rows: dict[tuple[str, int], dict[str, Outcome]] = {}
    for one in found:
        rows.setdefault((one.problem, one.size), {})[one.format] = one
    for (problem, size), row in rows.items():
        cells = (f"{row[name].digits:9.1f}" if name in row else f"{'':9}" for name in forms)
        lines.append(f"{problem:14}{size:9}" + "".join(cells))
    notes = {o.note: f"{o.problem}, {o.size} unknowns, {o.format}: {o.note}" for o in found}
    lines += ["", *(text for note, text in notes.items() if note)]
    return "\n".join(lines).rstrip()


def as_json(found: list[Outcome]) -> dict[str, Any]:
    """Everything, for machines."""
    return {"outcomes": [o._asdict() for o in found], "passed": passed(found)}


def plot(path: Path, found: list[Outcome]) -> None:
    """Four panels: regressions, systems by size, roots by degree, kriging and examples."""
    figure, panels = pictures.pyplot().subplots(2, 2, figsize=(11, 8), layout="constrained")
    (regressions, systems), (roots, others) = panels
    sets = tuple(ill_conditioned.regressions())
    _bars(regressions, found, sets, ill_conditioned.REGRESSED, "NIST's regressions, by QR")
    examples, forms = ("Kriging", "Kahan", "Rump"), ("float32", *ill_conditioned.LONG)
    _bars(others, found, examples, forms, "kriging, Kahan's and Rump's examples")
    for axis, names, title in (
        (systems, tuple(ill_conditioned.SYSTEMS), "systems, by LU"),
        (roots, ("Wilkinson",), "roots of Wilkinson's polynomials"),
    ):
        for name, style in zip(names, ("-", "--"), strict=False):
            for form in dict.fromkeys(o.format for o in found if o.problem == name):
                mine = [o for o in found if o.problem == name and o.format == form]
                label = f"{name}, {form}" if len(names) > 1 else form
                x, y = [o.size for o in mine], [o.digits for o in mine]
                axis.plot(x, y, style, marker=".", color=COLOURS[form], label=label)
        axis.set_title(title)
        axis.set_xlabel("n")
        axis.legend(fontsize=8)
    for axis in panels.flat:
        axis.set_ylabel("digits that are right")
    pictures.write(path, figure)


def _bars(
    axis: Any, found: list[Outcome], problems: tuple[str, ...], forms: tuple[str, ...], title: str
) -> None:
    known = {(o.problem, o.format): o.digits for o in found}
    series = {form: {p: known.get((p, form), 0.0) for p in problems} for form in forms}
    pictures.bars(axis, series, COLOURS, fontsize=8)
    axis.set_title(title)
    axis.set_xlabel("problem")
    axis.set_ylim(0, 1.3 * max(known.values()))
    axis.legend(fontsize=8, ncols=len(forms), loc="upper center")


def command(args: Any) -> int:
    """``portmp demo linalg``: 0 if td and dd have the digits that they must, else 1."""

    def solved(device: Device, sites: int, progress: Progress) -> list[Outcome]:
        return run(device, sites, progress.show)

    return presented(args, SITES, ALLOWED, solved, table, as_json, plot)
