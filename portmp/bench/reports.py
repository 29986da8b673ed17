"""Reports in files: read as this version writes them, earlier versions as well, and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from operator import itemgetter
from pathlib import Path
from typing import Any

from portmp.bench import blas, digests
from portmp.bench.experiment import SCHEMA
from portmp.bench.tables import Row, Rows
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
        what = f"version 1 has {error}, which is missing" if isinstance(error, KeyError) else error
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


# --- reports of version 1 -----------------------------------------------------------------------


def current(data: Any) -> Row:
    """A report as this version writes it; InputError for one of a version that nobody knows."""
    if isinstance(data, list) and data and all("digests" in report for report in data):
        return _of_verify(data)
    if not isinstance(data, dict) or "schema" not in data:
        raise InputError("is no report of portmp bench: an object that names its schema is needed")
    mark = data["schema"]
    if mark == SCHEMA:
        return data
    if mark == {"name": "portmp bench", "version": 2}:
        return _of_version_2(data)
    if mark == {"name": "portmp bench blas", "version": 1}:
        return _of_version_1(data, "blas", list(map(_blas_of_1, data["devices"])), data["peers"])
    match = re.fullmatch(r"portmp (methods|nbody|slfp|ts2021) bench 1", str(mark))
    if match:
        return _of_version_1(data, match[1], _parts_of_1(data, match[1]))
    named = mark if isinstance(mark, str) else " ".join(map(str, getattr(mark, "values", list)()))
    raise InputError(f"is a report {named!r}; this portmp reads versions 1 to {SCHEMA['version']}")


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


def _of_version_2(data: Row) -> Row:
    """Version 3 has the commit, the seconds of all runs, and more families."""
    for part in data["devices"] if data["family"] == "ts2021" else ():
        for name in ("blocked", "split"):
            for row in part["experiments"].get(name, {"rows": ()})["rows"]:
                row["seconds"] = {"median": row["seconds"]}
    return {**data, "schema": SCHEMA, "commit": None}


def _of_version_1(data: Row, family: str, parts: list[Row], peers: Rows = ()) -> Row:
    kept = {k: data[k] for k in ("portmp", "definition", "templates", "date", "host")}
    paper = data.get("paper")
    return _of_version_2(
        {
            "family": family,
            **kept,
            "rule": data.get("rule"),
            "paper": {"source": paper} if isinstance(paper, str) else paper,
            "devices": parts,
            "peers": list(peers),
        }
    )


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
        name: {**e, "rows": list(_ROWS_OF_1.get((family, name), itemgetter("rows"))(e))}
        for name, e in found.items()
    }
    if family == "methods":
        experiments["methods"] = {
            k: experiments["methods"][k] for k in ("samples", "order", "rows")
        }
    skipped = [{**s, "failed": False} for s in data.get("skipped", ())]
    more = {"experiments": experiments, "skipped": skipped, "seconds": data.get("seconds", 0.0)}
    return [part | more]


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


_ROWS_OF_1: dict[tuple[str, str], Callable[[Row], Iterable[Row]]] = {
    ("methods", "methods"): _methods_of_1,
    ("nbody", "sizes"): _sizes_of_1,
    ("slfp", "accuracy"): _accuracy_of_1,
    ("ts2021", "split"): _split_of_1,
    ("ts2021", "accuracy"): _errors_of_1,
}
