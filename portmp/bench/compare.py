"""``portmp bench compare``: two reports of one family, row by row."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from portmp.bench import options
from portmp.bench.experiment import Experiment, Family, spread
from portmp.bench.reports import broken, read_all
from portmp.bench.tables import Column, Row, Table, shown, value_of
from portmp.errors import InputError, printable

CHANGES: Mapping[bool | None, str] = {True: "yes", False: "no", None: "-"}
_JOULES = Column("J/op", "energy.joules_per_operation", "J")
_INSTALL = "pip install jsonschema, and this command tells where"


# --- comparing --------------------------------------------------------------------------------


def pairs(old: Row, new: Row) -> Iterator[tuple[Row | None, Row | None]]:
    """The devices to compare: by name, or the only one of each file with the other's."""
    if len(old["devices"]) == len(new["devices"]) == 1:
        yield old["devices"][0], new["devices"][0]
        return
    before = {d["selected"]: d for d in old["devices"]}
    after = {d["selected"]: d for d in new["devices"]}
    for name in dict.fromkeys([*before, *after]):
        yield before.get(name), after.get(name)


def _columns(experiment: Experiment) -> list[Column]:
    """What two reports are compared by: the first of these has a ratio, as joules have."""
    return [c for c in experiment.columns if c.compared]


def _by_key(part: Row | None, experiment: Experiment) -> dict[tuple[str, ...], Row]:
    found = part["experiments"].get(experiment.name, {"rows": ()}) if part else {"rows": ()}
    return {tuple(c.cell(row) for c in experiment.key): row for row in found["rows"]}


def _ratio(old: float | None, new: float | None) -> float | None:
    return new / old if old and new is not None else None


def _is_change(ratio: float | None, both: Iterable[Row | None]) -> bool | None:
    """Whether a ratio is beyond the spreads of both rows; None where they tell no spread.

    Times that are off by their spread each, in opposite directions, make a ratio of (1 + a)(1 + b).
    """
    measured = [row for row in both if row and value_of(row, "seconds.lower") is not None]
    if not ratio or len(measured) < 2:
        return None
    return max(ratio, 1 / ratio) > math.prod(1 + spread(row) for row in measured)


def rows(old: Row | None, new: Row | None, experiment: Experiment) -> list[Row]:
    """What an experiment's rows are compared by, of two devices, and the ratio, new over old.

    Null where missing. So for joules of an operation, where one of them has any. ``change`` says
    whether the ratio is beyond the spreads of what was measured.
    """
    before, after = _by_key(old, experiment), _by_key(new, experiment)
    found = []
    for each in dict.fromkeys([*before, *after]):
        both = before.get(each), after.get(each)
        some = next(row for row in both if row is not None)
        line: Row = {"experiment": experiment.name}
        line |= {c.heading: c.value(some) for c in experiment.key}
        for i, column in enumerate(_columns(experiment)):
            values = [column.value(row) if row is not None else None for row in both]
            tail = f"_{column.heading}" if i else ""
            line |= {f"old{tail}": values[0], f"new{tail}": values[1]}
        line["ratio"] = _ratio(line["old"], line["new"])
        line["change"] = _is_change(line["ratio"], both)
        for which, row in zip(("old", "new"), both, strict=True):
            line[f"{which}_joules_per_operation"] = _JOULES.value(row) if row else None
        found.append(line)
    return found


def compared(family: Family, old: Row, new: Row) -> list[Row]:
    """All pairs of devices with their rows."""
    return [
        {
            "old": a["selected"] if a else None,
            "new": b["selected"] if b else None,
            "rows": [r for e in family.by_name.values() for r in rows(a, b, e)],
        }
        for a, b in pairs(old, new)
    ]


# --- text -------------------------------------------------------------------------------------


def title(which: str, data: Row, part: Row | None) -> str:
    """Which device, by which version, when."""
    name = "not there"
    if part:
        about = part["facts"]["name"] if part["facts"] else part["about"]
        name = f"{part['selected']} ({about})"
    return f"{which}: {name}, portmp {data['portmp']}, {data['date']}"


def _both(heading: str, field: str, unit: str, missing: str = "-") -> Iterator[Column]:
    for which in ("old", "new"):

        def cell(row: Row, path: str = f"{which}{field}") -> str:
            return missing if row[path] is None else shown(row[path], unit)

        yield Column(f"{which} {heading}".strip(), cell, "words")


def as_table(
    family: Family,
    experiment: Experiment,
    found: list[Row],
    changes: Mapping[bool | None, str] = CHANGES,
) -> Table:
    """What ``rows`` found as a table; changes are told where there are words of them."""
    first, *others = _columns(experiment)
    columns = [Column(c.heading, c.heading, c.unit, key=True) for c in experiment.key]
    columns += [*_both("", "", first.unit, "missing"), Column("new/old", "ratio", ".3f")]
    if changes is not CHANGES or any(row["change"] is not None for row in found):
        columns.append(Column("change", lambda r: changes[r["change"]], "words"))
    for other in others:
        columns += _both(other.heading, f"_{other.heading}", other.unit)
    field = "_joules_per_operation"
    if any(row[f"{which}{field}"] for row in found for which in ("old", "new")):
        columns += _both("J/op", field, "J")
        ratio = Column("new/old", lambda r: _ratio(r[f"old{field}"], r[f"new{field}"]), ".3f")
        columns.append(ratio)
    return Table(experiment.name if len(family.experiments) > 1 else "", columns, found)


def table(family: Family, old: Row, new: Row) -> str:
    """A table for each experiment of each pair of devices."""
    lines: list[str] = []
    for a, b in pairs(old, new):
        lines += [title("old", old, a), title("new", new, b), ""]
        tables: list[str] = []
        for experiment in family.by_name.values():
            found = rows(a, b, experiment)
            if found:
                tables += [*as_table(family, experiment, found).lines(), ""]
        lines += tables or ["neither report has a measured case of this device", ""]
    return "\n".join(lines).rstrip()


def matched(old: list[Row], new: list[Row]) -> list[tuple[Row, Row]]:
    """The reports of two files that are of one benchmark, the first with the first."""
    left = list(new)
    found = []
    for one in old:
        other = next((r for r in left if r["family"] == one["family"]), None)
        if other is not None:
            left.remove(other)
            found.append((one, other))
    return found


def command(args: Any) -> int:
    """``portmp bench compare OLD NEW``: 0 once both files are read."""
    olds, news = read_all(args.old), read_all(args.new)
    both = matched(olds, news)
    if not both:
        first, second = (" and ".join(dict.fromkeys(r["family"] for r in f)) for f in (olds, news))
        raise InputError(
            f"{args.old} is a report of bench {first}, {args.new} one of bench "
            f"{second}: two of one benchmark are needed"
        )
    single = len(olds) == len(news) == 1
    try:
        found = [(o["family"], compared(options.family(o["family"]), o, n)) for o, n in both]
        texts = [table(options.family(o["family"]), o, n) for o, n in both]
    except (AttributeError, KeyError, TypeError, ValueError):
        if any(broken(report) for pair in both for report in pair):
            raise
        raise InputError(f"{args.old}, {args.new}: not as the schema says; {_INSTALL}") from None
    if args.json:
        data = found[0][1] if single else [{"family": f, "devices": d} for f, d in found]
        print(json.dumps(data, indent=1))
    else:
        print(printable("\n\n".join(texts)))
    return 0
