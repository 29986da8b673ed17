"""``portmp bench compare``: two reports of one family, row by row; reports of version 1 as well."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from portmp.bench import blas, options
from portmp.bench.experiment import SCHEMA, Experiment, Family, spread
from portmp.bench.tables import Column, Row, Rows, Table, shown
from portmp.errors import InputError, printable
from portmp.files import content

_CHANGES = {True: "yes", False: "no", None: "-"}
_JOULES = Column("J/op", "energy.joules_per_operation", "J")
_INSTALL = "pip install jsonschema, and this command tells where"


# --- reading ----------------------------------------------------------------------------------


def schema() -> Row:
    """The JSON Schema of reports."""
    text = resources.files("portmp").joinpath("data/bench.schema.json").read_text()
    found: Row = json.loads(text)
    return found


def read(path: str | Path) -> Row:
    """The report in a file, as this version writes it; InputError where it holds anything else.

    The schema is checked where jsonschema is installed.
    """
    file = Path(path)
    text = content.text(file)
    try:
        data = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    try:
        found = current(data)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        what = f"version 1 has {error}, which is missing" if isinstance(error, KeyError) else error
        raise InputError(f"{file}: is no report of portmp bench: {what}") from None
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    problem = broken(found)
    if problem:
        raise InputError(f"{file}: is no report of portmp bench: {problem}")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def broken(data: object) -> str:
    """Where a report breaks the schema, or nothing; nothing without jsonschema, too."""
    try:
        import jsonschema
    except ImportError:
        return ""
    errors = jsonschema.Draft202012Validator(schema()).iter_errors(data)
    error = jsonschema.exceptions.best_match(errors)
    if error is None:
        return ""
    place = error.json_path.removeprefix("$").removeprefix(".") or "the top level"
    return f"{place}: {error.message:.200}"


# --- reports of version 1 -----------------------------------------------------------------------


def current(data: Any) -> Row:
    """A report as this version writes it; InputError for one of a version that nobody knows."""
    if not isinstance(data, dict) or "schema" not in data:
        raise InputError("is no report of portmp bench: an object that names its schema is needed")
    mark = data["schema"]
    if mark == SCHEMA:
        return data
    if mark == {"name": "portmp bench blas", "version": 1}:
        return _of_version_1(data, "blas", list(map(_blas_of_1, data["devices"])), data["peers"])
    match = re.fullmatch(r"portmp (methods|nbody|slfp|ts2021) bench 1", str(mark))
    if match:
        return _of_version_1(data, match[1], _parts_of_1(data, match[1]))
    named = mark if isinstance(mark, str) else " ".join(map(str, getattr(mark, "values", list)()))
    raise InputError(f"is a report {named!r}; this portmp reads versions 1 and {SCHEMA['version']}")


def _of_version_1(data: Row, family: str, parts: list[Row], peers: Rows = ()) -> Row:
    kept = {k: data[k] for k in ("portmp", "definition", "templates", "date", "host")}
    paper = data.get("paper")
    return {
        "schema": SCHEMA,
        "family": family,
        **kept,
        "rule": data.get("rule"),
        "paper": {"source": paper} if isinstance(paper, str) else paper,
        "devices": parts,
        "peers": list(peers),
    }


def _blas_of_1(part: Row) -> Row:
    kept = ("selected", "facts", "compiler", "refusal", "ceilings", "energy", "seconds")
    return {
        **{k: part[k] for k in kept if k in part},
        "experiments": {"blas": {"rows": part["results"]}},
        "skipped": [{"experiment": "blas", "what": blas.named(s), **s} for s in part["skipped"]],
    }


def _parts_of_1(data: Row, family: str) -> list[Row]:
    if "static" in data:
        return [
            {
                "selected": p["arch"],
                "about": p["compiler"],
                "facts": None,
                "compiler": p["compiler"],
                "refusal": None,
                "skipped": [],
                "seconds": 0.0,
                "experiments": {
                    "static": {"note": p["note"], "bounds": p["paper"], "rows": p["rows"]}
                },
            }
            for p in data["static"]
        ]
    kept = ("clock_mhz", "energy", "engines", "library", "limit_seconds", "runs")
    part = {**data["device"], "refusal": None, **{k: data[k] for k in kept if k in data}}
    if "ceilings" in data:
        part["ceilings"] = {"instructions_per_second": data["ceilings"]}
    found = data.get("experiments", {"methods": data})
    experiments = {
        name: {**e, "rows": list(_ROWS_OF_1.get((family, name), _same)(e))}
        for name, e in found.items()
    }
    if family == "methods":
        experiments["methods"] = {
            k: experiments["methods"][k] for k in ("samples", "order", "rows")
        }
    skipped = [{**s, "failed": False} for s in data.get("skipped", ())]
    more = {"experiments": experiments, "skipped": skipped, "seconds": data.get("seconds", 0.0)}
    return [part | more]


def _same(found: Row) -> Iterator[Row]:
    yield from found["rows"]


def _split_of_1(found: Row) -> Iterator[Row]:
    for row in found["rows"]:
        for way in row["seconds"]:
            by_way = {k: v[way] for k, v in row.items() if k != "n"}
            yield {"n": row["n"], "way": way, **by_way}


def _errors_of_1(found: Row) -> Iterator[Row]:
    for row in found["rows"]:
        for way, error in row["errors"].items():
            yield {"n": row["n"], "fill": row["fill"], "way": way, "relative_error": error}


def _methods_of_1(found: Row) -> Iterator[Row]:
    for row in found["rows"]:
        direct = row["errors"]["direct"]["scaled"]
        for name, error in row["errors"].items():
            energy = {"energy": row["energy"][name]} if "energy" in row else {}
            yield {
                **{k: row[k] for k in ("format", "entries", "k")},
                "method": name,
                "takes": row["auto"] if name == "auto" else name,
                "error": error,
                "above_direct": error["scaled"] is None or error["scaled"] > direct,
                **energy,
            }


def _sizes_of_1(found: Row) -> Iterator[Row]:
    for series in found["series"]:
        yield from ({**row, "at_once": series["at_once"]} for row in series["rows"])


def _accuracy_of_1(found: Row) -> Iterator[Row]:
    for what in ("inputs", "sums"):
        yield from ({"what": what, **row} for row in found[what])


_ROWS_OF_1: dict[tuple[str, str], Callable[[Row], Iterator[Row]]] = {
    ("methods", "methods"): _methods_of_1,
    ("nbody", "sizes"): _sizes_of_1,
    ("slfp", "accuracy"): _accuracy_of_1,
    ("ts2021", "split"): _split_of_1,
    ("ts2021", "accuracy"): _errors_of_1,
}


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
    measured = [row for row in both if row is not None and "lower" in _seconds(row)]
    if not ratio or len(measured) < 2:
        return None
    return max(ratio, 1 / ratio) > math.prod(1 + spread(row) for row in measured)


def _seconds(row: Row) -> Mapping[str, Any]:
    found = row.get("seconds")
    return found if isinstance(found, Mapping) else {}


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


def _title(which: str, data: Row, part: Row | None) -> str:
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


def _table(experiment: Experiment, found: list[Row], title: str) -> Table:
    first, *others = _columns(experiment)
    columns = [Column(c.heading, c.heading, c.unit, key=True) for c in experiment.key]
    columns += [*_both("", "", first.unit, "missing"), Column("new/old", "ratio", ".3f")]
    if any(row["change"] is not None for row in found):
        columns.append(Column("change", lambda r: _CHANGES[r["change"]], "words"))
    for other in others:
        columns += _both(other.heading, f"_{other.heading}", other.unit)
    field = "_joules_per_operation"
    if any(row[f"{which}{field}"] for row in found for which in ("old", "new")):
        columns += _both("J/op", field, "J")
        ratio = Column("new/old", lambda r: _ratio(r[f"old{field}"], r[f"new{field}"]), ".3f")
        columns.append(ratio)
    return Table(title, columns, found)


def table(family: Family, old: Row, new: Row) -> str:
    """A table for each experiment of each pair of devices."""
    lines: list[str] = []
    for a, b in pairs(old, new):
        lines += [_title("old", old, a), _title("new", new, b), ""]
        for experiment in family.by_name.values():
            found = rows(a, b, experiment)
            title = experiment.name if len(family.experiments) > 1 else ""
            if found:
                lines += [*_table(experiment, found, title).lines(), ""]
    return "\n".join(lines).rstrip()


def command(args: Any) -> int:
    """``portmp bench compare OLD NEW``: 0 once both files are read."""
    old, new = read(args.old), read(args.new)
    kinds: Mapping[str, Any] = options.COMMANDS
    if old["family"] != new["family"] or old["family"] not in kinds:
        raise InputError(
            f"{args.old} is a report of bench {old['family']}, {args.new} one of bench "
            f"{new['family']}: two of one benchmark are needed"
        )
    family = options.family(old["family"])
    try:
        found = compared(family, old, new)
        text = json.dumps(found, indent=1) if args.json else table(family, old, new)
    except (AttributeError, KeyError, TypeError, ValueError):
        if broken(old) or broken(new):
            raise
        raise InputError(f"{args.old}, {args.new}: not as the schema says; {_INSTALL}") from None
    print(printable(text))
    return 0
