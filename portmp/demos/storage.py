"""``portmp demo storage``: what short storage costs in accuracy, and how refinement mends it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from portmp import formats
from portmp.backends.base import Device
from portmp.demos import storage_accuracy
from portmp.demos.presented import presented
from portmp.demos.storage_accuracy import Attempt, DotError, Solve
from portmp.errors import ArgumentError
from portmp.files import pictures
from portmp.formats import Format
from portmp.progress import Progress

FORMATS = tuple(f"slfp64in{bits}b{end}" for bits in (56, 48, 40, 32, 24, 16) for end in ("", "_rz"))
SIZE = 1024
SIZES = (16, 2**15)

SMALL = 0.25
"""Rounding r leaves r / (1 - r) of a residual, at worst: of this size a third in each round.

Conjugate gradients give up after a round that leaves more than half; its iterations leave some.
"""


@dataclass(frozen=True)
class Findings:
    """All that was measured; the first of ``solves`` is float64's."""

    size: int
    condition: float
    tolerance: float
    dots: list[DotError]
    solves: list[Solve]

    @property
    def passed(self) -> bool:
        """Whether every format converged whose rounding is small beside the least eigenvalue."""
        return all(s.refined.converged for s in self.solves if s.rounding < SMALL)


def run(device: Device, size: int, forms: list[Format], progress: Progress) -> Findings:
    """Measure dot products, then the system."""
    dots = []
    for form in forms:
        progress.show(f"dot products in {form.name}")
        dots += [
            storage_accuracy.dot_error(form, data, n, device)
            for n in storage_accuracy.LENGTHS
            for data in storage_accuracy.DATA
        ]
    system = storage_accuracy.LinearSystem(size, device, progress.show)
    solves = [system.solve(form, progress.show) for form in [formats.get("float64"), *forms]]
    return Findings(size, system.condition, system.tolerance, dots, solves)


def _dot_table(dots: list[DotError]) -> list[str]:
    lines = [
        "Dot products: root mean square error over the sum of |x_i y_i|, and as expected",
        f"{'format':16}{'n':>9}"
        + "".join(f"{data:>14}{'expected':>12}" for data in storage_accuracy.DATA),
    ]
    for first, second in zip(dots[::2], dots[1::2], strict=True):
        cells = "".join(f"{d.error:14.1e}{d.expected:12.1e}" for d in (first, second))
        lines.append(f"{first.format:16}{first.n:9}{cells}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"


def _solve_row(solve: Solve, base: Attempt) -> str:
    plain, refined = solve.plain, solve.refined
    cells = f"{solve.format:16}{solve.rounding:9.1e}{_number(plain.residual):>11}"
    cells += f"{_number(plain.error):>9}"
    if refined.problem:
        return f"{cells}  no solution: see below"
    work = f"{len(refined.rounds)}/{sum(refined.rounds)}"
    end = "" if refined.converged else "  not converged"
    if base.bytes:
        end = f"{refined.bytes / base.bytes:7.2f}{refined.seconds / base.seconds:7.2f}" + end
    return f"{cells}{_number(refined.residual):>11}{_number(refined.error):>9}{work:>10}{end}"


def table(device: Device, found: Findings) -> str:
    """Both experiments, and what did not work."""
    base = found.solves[0].refined
    lines = [
        f"device {device.name}: {device.properties.name}, driver {device.properties.driver}",
        "",
        *_dot_table(found.dots),
        "",
        f"Kriging, {found.size} sites, condition number about {found.condition:.1e}: conjugate "
        f"gradients to a residual of {found.tolerance:.0e}",
        f"{'':25}{'short matrix alone':>20}{'refined with float64':>37}",
        f"{'format':16}{'rounding':>9}{'residual':>11}{'error':>9}{'residual':>11}{'error':>9}"
        f"{'rounds':>10}{'bytes':>7}{'time':>7}",
        *(_solve_row(solve, base) for solve in found.solves),
        "",
        "rounding: norm of what it changes in the matrix, over the least eigenvalue's bound",
        "rounds: of refinement, and iterations in all; bytes, time: over float64's",
    ]
    problems = {s.format: s.refined.problem for s in found.solves if s.refined.problem}
    lines += [f"{name}: {text}" for name, text in problems.items()]
    if base.seconds:
        lines.append(f"float64: {base.bytes / 1e9:.2f} GB of matrix in {base.seconds:.2f} s")
    return "\n".join(lines)


def as_json(found: Findings) -> dict[str, Any]:
    """Everything, for machines."""
    return {**asdict(found), "passed": found.passed}


def plot(path: Path, found: Findings) -> None:
    """Dot products' errors by length, and the system's errors by bytes of a number."""
    figure, (left, right) = pictures.pyplot().subplots(1, 2, figsize=(13, 5))
    left.set_prop_cycle(color=pictures.pyplot().get_cmap("tab20").colors)
    positive = [d for d in found.dots if d.data == "positive"]
    for name in dict.fromkeys(d.format for d in positive):
        mine = [d for d in positive if d.format == name]
        lengths = [d.n for d in mine]
        (line,) = left.loglog(lengths, [d.expected for d in mine], ":", linewidth=0.8)
        left.loglog(lengths, [d.error for d in mine], ".-", color=line.get_color(), label=name)
    left.set_title("dot products of positive numbers: error (dotted: expected)", fontsize=9)
    left.set_xlabel("length (products)")
    left.set_ylabel("root mean square error, relative to the sum of sizes")
    left.legend(fontsize=7, ncols=6, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    for name in ("plain", "refined"):
        solved = [(formats.get(s.format).itemsize, getattr(s, name).error) for s in found.solves]
        points = [(size, error) for size, error in solved if error is not None]
        if points:
            right.semilogy(*zip(*points, strict=True), "o", label=name)
    right.set_title(f"kriging, {found.size} equations: relative error of the solution", fontsize=9)
    right.set_xlabel("size of a number of the matrix (bytes)")
    right.set_ylabel("relative error of the solution")
    right.legend()
    figure.tight_layout()
    pictures.write(path, figure)


def _forms(text: str | None) -> list[Format]:
    names = text.split(",") if text else FORMATS
    forms = list(dict.fromkeys(formats.get(name.strip()) for name in names))
    allowed = [name for name in formats.STORED if formats.get(name).parent == "float64"]
    for form in forms:
        if form.name not in allowed:
            raise ArgumentError(
                f"--format: {form.name} given, storage formats of float64 are needed: "
                f"{', '.join(allowed)}"
            )
    return forms


def command(args: Any) -> int:
    """``portmp demo storage``: 0 if all formats converged that should, else 1."""
    forms = _forms(args.format)

    def measured(device: Device, size: int, progress: Progress) -> Findings:
        return run(device, size, forms, progress)

    return presented(args, SIZE, SIZES, measured, table, as_json, plot)
