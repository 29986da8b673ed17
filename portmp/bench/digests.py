"""The digests of ``portmp verify`` as an experiment: which results have the recorded bits."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from portmp import formats
from portmp.bench.experiment import Case, Experiment, Family, Run
from portmp.bench.tables import Column, Row, Table, key
from portmp.formats import Format
from portmp.routines.case import Case as Result
from portmp.verify import command
from portmp.verify.cases import cases as results
from portmp.verify.outcome import Outcome

FIRST = ("dd", "ds", "float64", "qd", "float32", "ts", "td", "qs", "d+s")
"""Formats that come first where time is short."""
ROUTINES = ("gemm", "dot", "add", "mul", "div", "sqrt", "nbody")
"""So do these routines of them."""
LONGER = 1.5
"""A group may take so many times as long as those before it on average."""


@dataclass
class Bench(Run):
    """One run on one device. ``took``: seconds of each group so far."""

    took: list[float] = field(default_factory=list)

    def expected(self) -> float:
        """Seconds that the next group should take."""
        return LONGER * sum(self.took) / len(self.took) if self.took else 0.0


def order(names: Collection[str]) -> list[tuple[Format, str, list[Result]]]:
    """The results of formats by format and routine: a few routines of all that tell most first."""
    groups: dict[tuple[Format, str], list[Result]] = {}
    for name in sorted(names, key=lambda n: FIRST.index(n) if n in FIRST else len(FIRST)):
        for result in results(name):
            groups.setdefault((formats.get(name), result.routine), []).append(result)
    found = [(form, routine, group) for (form, routine), group in groups.items()]
    return sorted(found, key=lambda one: not (one[0].name in FIRST and one[1] in ROUTINES))


def cases(bench: Bench) -> Iterator[Case]:
    """Each routine of each format, until the time is over."""
    names = [*formats.NAMES, *formats.COMPLEX, *formats.STORED]
    lacking = [name for name in names if not bench.computes(formats.get(name))]
    if lacking:
        bench.skip("digests", ", ".join(lacking), f"{bench.device.name} has no float64")
    left = order([name for name in names if name not in lacking])
    for i, (form, routine, group) in enumerate(left):
        count = sum(len(results) for _, _, results in left[i:])
        what = f"{routine} {form.name}"
        rest = f"{what} and what follows, {count} results"
        act = partial(_measured, bench, form, routine, group)
        yield Case(what, act, bench.expected(), rest=rest)
        if bench.short:
            return


def _measured(bench: Bench, form: Format, routine: str, group: Sequence[Result]) -> list[Row]:
    start = time.monotonic()
    found = command.run(bench.device, group)
    bench.took.append(time.monotonic() - start)
    return [row_of(form.name, routine, found)]


def row_of(form: str, routine: str, found: Sequence[Outcome]) -> Row:
    """The row of a routine in a format."""
    passed = sum(o.ok for o in found)
    return {
        "format": form,
        "routine": routine,
        "cases": len(found),
        "passed": passed,
        "same_bits": passed == len(found),
        "digests": {o.key: o.digest for o in found},
        "errors": {o.key: o.error for o in found if o.error},
    }


def _tables(found: Row) -> Iterator[Table | str]:
    """How many are as recorded; a table of the others alone, as most devices have none."""
    rows = found["rows"]
    passed, total = (sum(r[name] for r in rows) for name in ("passed", "cases"))
    title = f"digests: {passed} of {total} as recorded"
    if wrong := [r for r in rows if r["passed"] < r["cases"]]:
        columns = (
            key("routine"),
            key("format"),
            Column("as recorded", "passed"),
            Column("of", "cases"),
        )
        yield Table(f"{title}; those that are not:", columns, wrong)
    else:
        routines, forms = (len({r[name] for r in rows}) for name in ("routine", "format"))
        yield f"{title}, by {routines} routines in {forms} formats"


class Verify(Family):
    """The recorded results, as far as time allows."""

    name = "verify"
    run = Bench
    limits = None
    experiments = (
        Experiment(
            "digests",
            cases,
            (key("routine"), key("format"), Column("passed", "passed", compared=True)),
            tables=_tables,
            label=lambda row: f"{row['routine']} {row['format']}",
        ),
    )


FAMILY = Verify()
