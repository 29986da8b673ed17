"""``portmp bench methods``: errors of gemm's methods by depth and by how entries are spread.

Products of 128 x k by k x 128 matrices, all limbs filled; sampled elements are compared with exact
integer arithmetic. ``auto`` is the cheapest method by integers whose bound is not above the direct
product's, for square matrices of order k: gemm's ``auto`` takes it where the direct one is slower.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import exact, values
from portmp.bench.energy import Observer, observing
from portmp.bench.exact import Entry
from portmp.bench.options import listed, listed_formats, size
from portmp.bench.tables import about, columns, energy_lines, energy_table, number, origin, write
from portmp.errors import ArgumentError
from portmp.files import target
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines.ozaki import choose, residues
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.runtime import planes

SCHEMA = "portmp methods bench 1"
ORDER = 128
"""Rows of A and columns of B."""
SAMPLES = 64
DEPTHS = tuple(2**e for e in range(8, 14))
USUAL_FORMATS = ("float64", "ts", "dd", "qd")
Row = dict[str, Any]
Host = list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Factors:
    """A (ORDER, k) and the transpose of B, on the host."""

    a: Host
    b: Host


def _lognormal(form: Format, k: int, phi: float) -> Factors:
    a, b = (values.lognormal(form, (ORDER, k), values.FULL, seed, phi) for seed in (1, 2))
    return Factors(a, b)


def _uniform(form: Format, k: int) -> Factors:
    a, b = (
        [p.reshape(ORDER, k) for p in values.full_limbs(form, ORDER * k, f"methods {name}")]
        for name in "ab"
    )
    return Factors(a, b)


def _ill_conditioned(form: Format, k: int) -> Factors:
    """Each term comes again with the other sign, and with a lowest limb of its own."""
    found = _uniform(form, k)
    half = k // 2
    for p in found.a[: max(1, form.limbs - 1)]:
        p[:, half : 2 * half] = p[:, :half]
    for p in found.b:
        p[:, half : 2 * half] = -p[:, :half]
    if form.limbs == 1:
        found.a[0][:, half : 2 * half] *= found.a[0].dtype.type(1 + 2.0**-10)
    return found


INPUTS: Mapping[str, Callable[[Format, int], Factors]] = {
    "uniform": _uniform,
    **{f"phi {phi:g}": partial(_lognormal, phi=phi) for phi in (0.5, 1.0, 2.0, 4.0)},
    "ill-conditioned": _ill_conditioned,
}
"""Uniform on (-1, 1); (ru - 0.5) exp(phi rn); sums that cancel."""


def entries(factors: Factors) -> tuple[list[tuple[int, int]], list[Entry]]:
    """Places of sampled elements, and what they should be."""
    places = [(i % ORDER, (37 * i + 5) % ORDER) for i in range(SAMPLES)]
    common = [values.exponent(limbs) for limbs in (factors.a, factors.b)]
    found = []
    for i, j in places:
        x, y = (
            values.integers([p[row] for p in limbs], e)
            for limbs, row, e in ((factors.a, i, common[0]), (factors.b, j, common[1]))
        )
        terms = [p * q for p, q in zip(x.tolist(), y.tolist(), strict=True)]
        unit = exact.power(sum(common))
        found.append(Entry(sum(terms) * unit, float(sum(map(abs, terms)) * unit)))
    return places, found


def ways(form: Format, a: Array, b: Array) -> dict[str, str | Ozaki1 | Ozaki2]:
    """Methods by name, as gemm takes them."""
    k, device = a.shape[1], a.device
    found: dict[str, str | Ozaki1 | Ozaki2] = {"direct": "direct", "ozaki1": "ozaki1"}
    if residues.modules(form):
        found["ozaki2"] = "ozaki2"
    ranges = choose.ranges_of(a.planes, b.planes)
    kind = device.properties.kind
    best = choose.fastest(form, (k, k, k), ranges, choose.measured(device), kind)
    return found | {"auto": best[1] if best else "direct"}


def measured(device: Device, form: Format, kind: str, k: int, observer: Observer) -> Row:
    """Errors, and energies if asked for, of all methods for one format, kind of entries, depth."""
    factors = INPUTS[kind](form, k)
    a, b = (Array(planes.upload(form, limbs, device.queue)) for limbs in (factors.a, factors.b))
    places, wanted = entries(factors)
    unit = Fraction(1, 2**form.bits)
    errors, taken = {}, ""
    works: dict[str, Callable[[], Array]] = {}
    for name, method in ways(form, a, b.T).items():
        works[name] = partial(blas.gemm, a, b.T, method=method)
        limbs = works[name]().to_limbs()
        got = [exact.fraction([float(p[at]) for p in limbs]) for at in places]
        errors[name] = exact.errors(got, wanted, unit).as_dict()
        taken = _named(method) if name == "auto" else taken
    return {
        "format": form.name, "entries": kind, "k": k, "errors": errors, "auto": taken,
        **observer.parts(works, 2 * ORDER**2 * k, {}),
    }  # fmt: skip


def _named(method: str | Ozaki1 | Ozaki2) -> str:
    if isinstance(method, Ozaki1):
        return f"{method.slices} x {method.width} bits, {method.word}"
    return f"{method.moduli} moduli" if isinstance(method, Ozaki2) else method


def report(
    device: Device, rows: Sequence[Row], start: datetime.datetime, observer: Observer
) -> Row:
    """Everything of one run."""
    what = {"samples": SAMPLES, "order": ORDER, "rows": list(rows)}
    return origin(SCHEMA, start) | about(device) | observer.facts() | what


def table(data: Row) -> str:
    """Errors in u^N T by method; the ones above the direct product's are marked."""
    facts = data["device"]["facts"]
    lines = [f"{data['device']['selected']}: {facts['name']}, driver {data['driver']}"]
    lines += energy_lines(data)
    for form in dict.fromkeys(r["format"] for r in data["rows"]):
        rows = [r for r in data["rows"] if r["format"] == form]
        names = list(rows[0]["errors"])
        cells = []
        for r in rows:
            direct = r["errors"]["direct"]["scaled"]
            scaled = [r["errors"][name]["scaled"] for name in names]
            worst = r["errors"]["direct"]["relative"]
            cells.append([
                r["entries"], str(r["k"]), number(worst, 2),
                *(number(s, 2) + ("*" if s is None or s > direct else "") for s in scaled),
                r["auto"],
            ])  # fmt: skip
        heads = ("entries", "k", "direct, relative", *names, "auto takes")
        title = f"{form}: largest errors in u^{formats.get(form).limbs} T; * above direct's"
        lines += ["", *columns(title, heads, cells, 1)]
        energies = [([r["entries"], str(r["k"])], r.get("energy", {})) for r in rows]
        lines += energy_table(form, ("entries", "k"), names, energies)
    return "\n".join(lines)


def command(args: Any) -> int:
    """``portmp bench methods``: 0 once all is measured."""
    start = datetime.datetime.now(datetime.UTC)
    forms = listed_formats(args.format) or [formats.get(name) for name in USUAL_FORMATS]
    papers = [f.name for f in forms if f.paper]
    if papers:
        raise ArgumentError(f"--format: {papers[0]} given, it has the direct method only")
    depths = listed(args.size, size) or list(DEPTHS)
    if min(depths) < 2:
        raise ArgumentError(f"--size: {min(depths)} given, at least 2 is needed")
    output = Path(args.output) if args.output else None
    if output:
        target.check_place(output)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = discovery.hardware(args.device)
    if not device.properties.float64:
        raise ArgumentError(f"--device: {device.name} has no float64, which other methods need")
    observer = observing(device, args.energy, progress)
    rows = []
    for form in forms:
        for kind in INPUTS:
            for k in depths:
                progress.show(f"bench {device.name}: {form.name}, {kind}, k = {k}")
                rows.append(measured(device, form, kind, k, observer))
    progress.clear()
    write(report(device, rows, start, observer), table, output, args.json)
    return 0
