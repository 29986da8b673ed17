"""``portmp bench compare``: two results' files, row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from portmp.bench import schema, tables
from portmp.bench.cases import shape_text

Row = dict[str, Any]
Key = tuple[str, str, str, tuple[int, ...]]


_HEAD = (
    "routine", "format", "accuracy", "shape", "old", "new", "new/old", "old share", "new share",
)  # fmt: skip
_JOULES = ("old J/op", "new J/op", "new/old")


def pairs(old: Row, new: Row) -> Iterator[tuple[Row | None, Row | None]]:
    """The devices to compare: by name, or the only one of each file with the other's."""
    if len(old["devices"]) == len(new["devices"]) == 1:
        yield old["devices"][0], new["devices"][0]
        return
    before = {d["selected"]: d for d in old["devices"]}
    after = {d["selected"]: d for d in new["devices"]}
    for name in dict.fromkeys([*before, *after]):
        yield before.get(name), after.get(name)


def rows(old: Row | None, new: Row | None) -> list[Row]:
    """Rates of each case of two devices and their ratio, new over old; null where missing.

    So for joules of an operation, where one of them has any.
    """
    before, after = _by_key(old), _by_key(new)
    found = []
    for key in dict.fromkeys([*before, *after]):
        rates = [t[key]["operations_per_second"] if key in t else None for t in (before, after)]
        shares = [t[key]["share"] if key in t else None for t in (before, after)]
        joules = [_joules(t[key]) if key in t else None for t in (before, after)]
        routine, form, accuracy, shape = key
        found.append({
            "routine": routine, "format": form, "accuracy": accuracy, "shape": list(shape),
            "old": rates[0], "new": rates[1],
            "old_share": shares[0], "new_share": shares[1],
            "ratio": rates[1] / rates[0] if rates[0] and rates[1] is not None else None,
            "old_joules_per_operation": joules[0], "new_joules_per_operation": joules[1],
        })  # fmt: skip
    return found


def _joules(result: Row) -> float | None:
    """Joules of an operation, where a result has its energy."""
    energy = result.get("energy")
    return float(energy["joules_per_operation"]) if energy else None


def _by_key(device: Row | None) -> dict[Key, Row]:
    return {
        (r["routine"], r["format"], r["accuracy"], tuple(r["shape"])): r
        for r in (device["results"] if device else ())
    }


def compared(old: Row, new: Row) -> list[Row]:
    """All pairs of devices with their rows."""
    return [
        {
            "old": a["selected"] if a else None,
            "new": b["selected"] if b else None,
            "rows": rows(a, b),
        }
        for a, b in pairs(old, new)
    ]


def _title(which: str, data: Row, device: Row | None) -> str:
    name = f"{device['selected']} ({device['facts']['name']})" if device else "not there"
    return f"{which}: {name}, portmp {data['portmp']}, {data['date']}"


def _cells(row: Row) -> tuple[str, ...]:
    rates = ["missing" if row[k] is None else tables.quantity(row[k], "/s") for k in ("old", "new")]
    shares = [
        "-" if row[k] is None else f"{100 * row[k]:.0f} %" for k in ("old_share", "new_share")
    ]
    ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
    shape = shape_text(row["shape"])
    return row["routine"], row["format"], row["accuracy"], shape, *rates, ratio, *shares


def _joule_cells(row: Row) -> tuple[str, ...]:
    old, new = (row[f"{which}_joules_per_operation"] for which in ("old", "new"))
    ratio = f"{new / old:.3f}" if old and new else "-"
    return *("-" if j is None else tables.joules(j) for j in (old, new)), ratio


def table(old: Row, new: Row) -> str:
    """A table for each pair of devices."""
    lines: list[str] = []
    for a, b in pairs(old, new):
        found = rows(a, b)
        table = [_HEAD, *map(_cells, found)]
        if any(row[name] for row in found for name in row if name.endswith("_per_operation")):
            table = [
                (*line, *more)
                for line, more in zip(table, [_JOULES, *map(_joule_cells, found)], strict=True)
            ]
        lines += [_title("old", old, a), _title("new", new, b), ""]
        lines += [*tables.aligned(table, range(4, len(table[0]))), ""]
    return "\n".join(lines).rstrip()


def command(args: Any) -> int:
    """``portmp bench compare OLD NEW``: 0 once both files are read."""
    old, new = schema.read(args.old), schema.read(args.new)
    print(json.dumps(compared(old, new), indent=1) if args.json else table(old, new))
    return 0
