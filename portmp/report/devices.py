"""Files of devices: several reports joined into one, what a file must be to be taken, the table.

``bench/devices`` holds a file for each device that somebody ran; ``portmp report --check`` says
before a file is sent whether it would be taken, and else what to send again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from portmp.bench import reports
from portmp.bench.experiment import SCHEMA
from portmp.bench.tables import Row
from portmp.errors import ArgumentError, BackendUnavailable, InputError, printable
from portmp.files import content
from portmp.report import checks
from portmp.report.page import safely
from portmp.report.subjects import cleaned, sorted_by_device
from portmp.verify.cases import recorded_as

AGAIN = "run portmp bench all -o FILE with this version, and send that file"
UNTOUCHED = "send the file as portmp wrote it"
ANEW = "measure again with nothing else running, and send the new file"
BITS = "portmp verify says which; send the file all the same, as an issue: the device or its driver"
OUTER = 6
"""Levels of a file down to the fields of a device."""
SHOWN = 5
"""So many sentences of one kind are shown, and how many more there are."""


# --- joined -------------------------------------------------------------------------------------


def joined(found: Sequence[Row], device: str | None) -> Row:
    """The reports of one device as one file; *device* names it where the files have several."""
    kept = []
    for report in found:
        parts = [p for p in report["devices"] if device in (None, p["selected"])]
        if parts:
            kept.append({**report, "devices": parts, "peers": []})
    if not kept:
        names = sorted({p["selected"] for report in found for p in report["devices"]})
        raise ArgumentError(f"--device: {device!r} given; the files have {', '.join(names)}")
    subjects = sorted_by_device(kept)
    if len(subjects) > 1:
        names = sorted({f"{s.title} ({p['selected']})" for s in subjects for _, p in s.parts})
        raise ArgumentError(
            f"a file of one device is to be written; these have {', '.join(names)}: "
            "choose with --device"
        )
    return {"schema": SCHEMA, "family": "device", "reports": [*_not_repeated(kept)]}


def _not_repeated(found: Sequence[Row]) -> Iterator[Row]:
    """Reports but for those of ``portmp verify`` all of whose digests are in a newer one."""
    digests = [_recorded(report) for report in found]
    days = [(report["date"][:10], place) for place, report in enumerate(found)]
    for place, report in enumerate(found):
        newer = (
            digests[other].items()
            for other in range(len(found))
            if days[other] > days[place] and found[other]["definition"] == report["definition"]
        )
        if report["family"] != "verify" or not any(digests[place].items() <= d for d in newer):
            yield report


def _recorded(report: Row) -> dict[str, str]:
    """A report's digests of what is recorded."""
    known = recorded_as(report["definition"])
    return {
        key: digest
        for part in report["devices"]
        for row in part["experiments"].get("digests", {"rows": ()})["rows"]
        for key, digest in row["digests"].items()
        if key in known
    }


def as_file(data: Row) -> str:
    """A file's text: a line for each row, so that changes can be read."""
    return _laid_out(data, OUTER) + "\n"


def _laid_out(data: Any, depth: int) -> str:
    """JSON with a line for each item of the outer levels and of lists of rows."""
    if isinstance(data, dict) and data and (depth > 0 or "rows" in data):
        items = [f"{json.dumps(k)}: {_laid_out(v, depth - 1)}" for k, v in data.items()]
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        items = [_laid_out(v, depth - 1) for v in data]
    else:
        return json.dumps(data, allow_nan=False)
    start, end = "{}" if isinstance(data, dict) else "[]"
    return "\n".join([start, ",\n".join(items), end])


# --- checked ------------------------------------------------------------------------------------


def refusals(path: Path) -> list[str]:
    """Why a file of a device is not taken, and what to send again; nothing where it is."""
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        raise BackendUnavailable("--check needs jsonschema: pip install jsonschema") from None
    try:
        data = json.loads(content.text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        return [f"is no JSON, or its end is missing ({error}); {UNTOUCHED}"]
    mark = data.get("schema") if isinstance(data, dict) else None
    if mark != SCHEMA:
        given = printable(json.dumps(mark))[:80] if mark else "no schema"
        return [f"{given} is given, version {SCHEMA['version']} of portmp bench is needed; {AGAIN}"]
    try:
        found: list[Row] = cleaned(reports.read_all(path))
    except InputError as error:
        return [f"{str(error).removeprefix(f'{path}: ')}; {UNTOUCHED}"]
    return safely(lambda: list(_refusals(found)), [f"rows are missing something; {UNTOUCHED}"])


def _refusals(found: Sequence[Row]) -> Iterator[str]:
    subjects = sorted_by_device(found)
    if len(subjects) != 1:
        names = ", ".join(f"{s.title} ({s.through})" for s in subjects) or "none"
        yield (
            f"one device a file is needed, this has {len(subjects)}: {names}; portmp report FILE "
            "--device NAME -o NEW.json takes one out"
        )
        return
    (subject,) = subjects
    if not any(verdict.total for verdict in checks.verdicts(subject)):
        yield f"no digests are in it; {AGAIN}"
    parts = subject.parts
    yield from _few([t for r, p in parts for t in checks.digests(r, p)], BITS)
    measured = [t for r, p in parts for t in (*checks.rates(p), *checks.counts(r, p))]
    yield from _few(measured, ANEW)


def _few(sentences: Sequence[str], advice: str) -> Iterator[str]:
    if sentences:
        more = len(sentences) - SHOWN
        shown = "; ".join(sentences[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
        yield f"{shown}; {advice}"
