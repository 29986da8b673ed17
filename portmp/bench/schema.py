"""Results' files are checked against the JSON Schema in the package, without a validator.

The part of JSON Schema (draft 2020-12) that the shipped schema uses: type, const, enum,
minimum, properties, required, additionalProperties, items, anyOf and $ref into $defs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from portmp.errors import InputError

_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,),
    "null": (type(None),), "integer": (int,), "number": (int, float),
}  # fmt: skip


@cache
def schema() -> dict[str, Any]:
    """The schema of results."""
    text = resources.files("portmp").joinpath("data/bench.schema.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def problems(data: object) -> Iterator[str]:
    """Where *data* breaks the schema: a place and what was expected there."""
    yield from _broken(data, schema(), "")


def _broken(value: object, rules: Mapping[str, Any], place: str) -> Iterator[str]:
    where = place or "the top level"
    if "$ref" in rules:
        yield from _broken(value, schema()["$defs"][rules["$ref"].rsplit("/", 1)[1]], place)
    if "anyOf" in rules and all(any(_broken(value, r, place)) for r in rules["anyOf"]):
        yield from _broken(value, rules["anyOf"][-1], place)
    if "const" in rules and value != rules["const"]:
        yield f"{where}: {rules['const']!r} expected, {_shown(value)} found"
    if "enum" in rules and value not in rules["enum"]:
        allowed = ", ".join(map(repr, rules["enum"]))
        yield f"{where}: one of {allowed} expected, {_shown(value)} found"
    kinds = rules.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where}: {' or '.join(kinds)} expected, {_shown(value)} found"
        return
    if "minimum" in rules and isinstance(value, (int, float)) and not value >= rules["minimum"]:
        yield f"{where}: at least {rules['minimum']} expected, {_shown(value)} found"
    if isinstance(value, list) and "items" in rules:
        for i, item in enumerate(value):
            yield from _broken(item, rules["items"], f"{place}[{i}]")
    if isinstance(value, dict):
        yield from _broken_object(value, rules, place)


def _broken_object(value: Mapping[str, Any], rules: Mapping[str, Any], place: str) -> Iterator[str]:
    where = place or "the top level"
    for name in rules.get("required", ()):
        if name not in value:
            yield f"{where}: {name!r} is missing"
    known = rules.get("properties", {})
    others = rules.get("additionalProperties", True)
    for name, item in value.items():
        below = f"{place}.{name}".lstrip(".")
        if name in known:
            yield from _broken(item, known[name], below)
        elif others is False:
            yield f"{below}: is not part of the schema"
        elif isinstance(others, dict):
            yield from _broken(item, others, below)


def _is(value: object, kind: str) -> bool:
    """Whether *value* is of a JSON type: True is no number."""
    return isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _shown(value: object) -> str:
    return f"{value!r:.40}"


def read(path: str | Path) -> dict[str, Any]:
    """The results in a file; InputError where it holds anything else."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{file}: cannot be read: {reason}") from None
    try:
        data = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON: {error}") from None
    for problem in problems(data):
        raise InputError(f"{file}: is no result of portmp bench blas: {problem}")
    found: dict[str, Any] = data
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
