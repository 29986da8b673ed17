"""``portmp bench methods``: errors of gemm's methods by depth and by how entries are spread.

Products of 128 x k by k x 128 matrices, all limbs filled; sampled elements are compared with exact
integer arithmetic. ``auto`` is told to judge elements whatever the sizes, and how many are direct.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from portmp import definition, formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.bench import exact, options, values
from portmp.bench.experiment import Case, Experiment, Family, Run
from portmp.bench.options import Request
from portmp.bench.tables import Column, Row, Table, key, number
from portmp.bench.values import Plane, power_of_two
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines.ozaki import levels
from portmp.routines.ozaki.options import Auto
from portmp.routines.work import Entry
from portmp.runtime import planes

ORDER = 128
"""Rows of A and columns of B."""
SAMPLES = 64
DEPTHS = tuple(2**e for e in range(8, 14))
USUAL_FORMATS = ("float64", "ts", "dd", "qd")


@dataclass(frozen=True)
class Factors:
    """A (ORDER, k) and the transpose of B, on the host."""

    a: list[Plane]
    b: list[Plane]


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
        unit = power_of_two(sum(common))
        found.append(Entry(sum(terms) * unit, float(sum(map(abs, terms)) * unit)))
    return places, found


METHODS: Mapping[str, str | Auto] = {
    **{name: name for name in ("direct", "ozaki1", "ozaki2")},
    "auto": Auto(smallest=1),
}
"""As gemm takes them, by name."""


def measured(run: Run, form: Format, kind: str, k: int) -> list[Row]:
    """Errors, and energies if asked for, of all methods for one format, kind of entries, depth."""
    factors = INPUTS[kind](form, k)
    a, b = (Array(planes.upload(form, limbs, run.device.queue)) for limbs in (factors.a, factors.b))
    places, wanted = entries(factors)
    unit = Fraction(1, 2**form.bits)
    rows: list[Row] = []
    for name, method in METHODS.items():
        work = partial(blas.gemm, a, b.T, method=method)
        limbs = work().to_limbs()
        got = [exact.fraction([float(p[at]) for p in limbs]) for at in places]
        rows.append(
            {
                "format": form.name,
                "entries": kind,
                "k": k,
                "method": name,
                "takes": name if isinstance(method, str) else _taken(form, factors),
                "error": exact.errors(got, wanted, unit).as_dict(),
                **run.energy(work, 2 * ORDER**2 * k),
            }
        )
    direct = rows[0]["error"]["scaled"]
    for row in rows:
        scaled = row["error"]["scaled"]
        row["above_direct"] = scaled is None or (direct is not None and scaled > direct)
    return rows


def _taken(form: Format, factors: Factors) -> str:
    """Which shares of the elements are made by integers of how many bits, and directly."""
    found = levels.judged(form, factors.a, [p.T for p in factors.b])
    bits = [f"by {form.compute.bits + more} bits" for more in definition.BEYOND]
    shares = {name: float((found == level).mean()) for level, name in enumerate(["direct", *bits])}
    return ", ".join(f"{share:.3g} {name}" for name, share in shares.items() if share)


@dataclass
class Methods(Run):
    """One run on one device."""

    depths: tuple[int, ...] = DEPTHS


def cases(run: Methods) -> Iterator[Case]:
    """Each format, kind of entries and depth."""
    for form in run.forms:
        for kind in INPUTS:
            for k in run.depths:
                yield Case(f"{form.name}, {kind}, k = {k}", partial(measured, run, form, kind, k))


def _marked(row: Row) -> str:
    """The error in u^N T; what is above the direct product's is marked."""
    return number(row["error"]["scaled"], 2) + ("*" if row["above_direct"] else "")


def tables(found: Row) -> Iterator[Table | str]:
    """Errors in u^N T by method, a table for each format."""
    columns = (
        *map(key, ("entries", "k")),
        Column("direct, relative", "error.relative", ".2g"),
        Column("method", _marked, "words"),
        Column("auto takes", "takes", "words"),
    )
    for form in dict.fromkeys(r["format"] for r in found["rows"]):
        rows = [r for r in found["rows"] if r["format"] == form]
        title = f"{form}: largest errors in u^{formats.get(form).limbs} T; * above direct's"
        yield Table(title, columns, rows, pivot="method")


class GemmMethods(Family):
    """``portmp bench methods``: errors of gemm's methods."""

    name = "methods"
    limits = None
    run = Methods
    experiments = (
        Experiment(
            "methods",
            cases,
            (
                *map(key, ("format", "entries", "k", "method")),
                Column("in u^N T", "error.scaled", ".2g", compared=True),
            ),
            tables=tables,
            found=lambda *_: {"samples": SAMPLES, "order": ORDER},
            judged=False,
        ),
    )

    def check(self, request: Request) -> None:
        papers = [f.name for f in request.forms if f.paper]
        if papers:
            raise ArgumentError(f"--format: {papers[0]} given, it has the direct method only")
        options.check_least_size(request.sizes, 2)

    def ready(self, run: Methods, request: Request) -> None:
        if not run.device.properties.float64:
            name = run.device.name
            raise ArgumentError(f"--device: {name} has no float64, which other methods need")
        run.forms = request.forms or [formats.get(name) for name in USUAL_FORMATS]
        run.depths = tuple(request.sizes) or DEPTHS


FAMILY = GemmMethods()
