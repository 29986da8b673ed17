"""Reports in files, those of ``portmp verify`` as well: read and checked."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from portmp.bench import digests
from portmp.bench.experiment import SCHEMA
from portmp.bench.tables import Row
from portmp.errors import InputError
from portmp.files import content
from portmp.verify import outcome
from portmp.verify.outcome import Outcome

# --- reading ----------------------------------------------------------------------------------


def schema() -> Row:
    """The JSON Schema of reports."""
    text = resources.files("portmp").joinpath("data/bench.schema.json").read_text()
    found: Row = json.loads(text)
    return found


def read_all(path: str | Path) -> list[Row]:
    """The reports in a file, one or those of a suite, as this version writes them.

    InputError where it holds anything else. The schema is checked where jsonschema is installed.
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
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise InputError(f"{file}: is no report of portmp bench: {what}") from None
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    problem = broken(found)
    if problem:
        raise InputError(f"{file}: is no report of portmp bench: {problem}")
    reports: list[Row] = found.get("reports", [found])
    return reports


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


# --- reports of portmp verify ---------------------------------------------------------------------


def current(data: Any) -> Row:
    """A report as ``portmp bench`` writes it; InputError for one of another version."""
    if isinstance(data, list) and data and all("digests" in report for report in data):
        return _of_verify(data)
    if not isinstance(data, dict) or "schema" not in data:
        raise InputError("is no report of portmp bench: an object that names its schema is needed")
    mark = data["schema"]
    if mark == SCHEMA:
        return data
    named = mark if isinstance(mark, str) else " ".join(map(str, getattr(mark, "values", list)()))
    raise InputError(f"is a report {named!r}; this portmp reads version {SCHEMA['version']}")


def _of_verify(data: list[Row]) -> Row:
    """What ``portmp verify`` writes, a report for each device, as a report of the digests."""
    first = data[0]
    return {
        "schema": SCHEMA,
        "family": "verify",
        **{k: first[k] for k in ("portmp", "definition", "templates", "date")},
        "commit": None,
        "host": _UNKNOWN | first["host"],
        "rule": None,
        "paper": None,
        "devices": [_verified(report) for report in data],
        "peers": [],
    }


_UNKNOWN = {"processor": "", "cores": 1, "system": "", "numpy": ""}
"""What reports of ``portmp verify`` do not say of their host."""


def _verified(report: Row) -> Row:
    facts = dict(report["device"])
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for one in outcome.read(report):
        routine, form = (word.rpartition(".")[0] for word in one.key.split("/")[:2])
        groups.setdefault((form, routine), []).append(one)
    rows = [digests.row_of(*group, found) for group, found in groups.items()]
    compiler, remark = facts.pop("compiler", ""), facts.pop("remark", None)
    return {
        "selected": facts.pop("selected"),
        "facts": facts if "vendor" in facts else None,
        "compiler": compiler,
        **({} if "vendor" in facts else {"about": "the host reference"}),
        **({"remark": remark} if remark else {}),
        "refusal": report.get("refusal"),
        "experiments": {"digests": {"rows": rows}},
        "skipped": [],
        "seconds": 0.0,
    }
