"""Results as JSON and as a table."""

from __future__ import annotations

import datetime
import json
import os
import platform as host_platform
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import definition
from portmp.backends.base import Device
from portmp.bench.cases import ACCURATE, shape_text
from portmp.bench.roofline import Ceilings
from portmp.codegen import render
from portmp.files import target

SCHEMA = {"name": "portmp bench blas", "version": 1}
Rows = Sequence[dict[str, Any]]
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def report(devices: Rows, peers: Rows, start: datetime.datetime) -> dict[str, Any]:
    """Everything of one run."""
    return origin(SCHEMA, start) | {"devices": list(devices), "peers": list(peers)}


@cache
def paper_of(name: str) -> dict[str, Any]:
    """What a paper states, from data/NAME_paper.json."""
    text = resources.files("portmp").joinpath(f"data/{name}_paper.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def host() -> dict[str, Any]:
    """The machine that the devices are in."""
    return {
        "machine": host_platform.machine(),
        "processor": _processor(Path("/proc/cpuinfo")),
        "cores": os.cpu_count() or 1,
        "system": f"{host_platform.system()} {host_platform.release()}",
        "python": host_platform.python_version(),
        "numpy": np.__version__,
    }


def _processor(table: Path) -> str:
    """The processor's name, where the system tells one."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", table.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else host_platform.processor()


def device_report(
    device: Device, limits: Ceilings | None, results: Rows, skipped: Rows, seconds: float,
    refusal: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """One device's part."""
    return {
        "selected": device.name,
        "facts": device.properties.as_dict(),
        "compiler": device.compiler_key(),
        "refusal": refusal,
        "ceilings": limits.as_dict() if limits else None,
        "results": list(results),
        "skipped": list(skipped),
        "seconds": round(seconds, 3),
    }


def failed(data: dict[str, Any]) -> bool:
    """Whether a result is wrong, a case failed or a device was refused."""
    return any(
        d["refusal"]
        or any(r["error"]["wrong"] for r in d["results"])
        or any(s["failed"] for s in d["skipped"])
        for d in data["devices"]
    )


# --- text ---------------------------------------------------------------------------------


def quantity(value: float, unit: str) -> str:
    """``4.19 G/s``: three digits and a prefix."""
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def joules(value: float) -> str:
    """``364 pJ``: three digits and a prefix."""
    for scale, prefix in ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}J"
    return f"{value / 1e-12:.3g} pJ"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Lines of columns of one width each; those in *right* are flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def origin(schema: object, start: datetime.datetime) -> dict[str, Any]:
    """What says which portmp made a report, where and when."""
    return {
        "schema": schema, "portmp": mp.__version__, "definition": definition.VERSION,
        "templates": render.templates_digest(), "date": start.isoformat(timespec="seconds"),
        "host": host(),
    }  # fmt: skip


def about(device: Device) -> dict[str, Any]:
    """What says which device a report is of."""
    return {
        "device": {
            "selected": device.name, "facts": device.properties.as_dict(),
            "compiler": device.compiler_key(),
        },
        "driver": device.properties.driver,
    }  # fmt: skip


def write(
    data: dict[str, Any], table: Callable[[dict[str, Any]], str], output: Path | None, json_: bool
) -> None:
    """The report as JSON into its file, and on standard output as JSON or as a table."""
    text = json.dumps(data, indent=1, allow_nan=False)
    if output:
        target.replace(output, f"{text}\n".encode())
    print(text if json_ else table(data))


def sections(
    data: dict[str, Any], tables: Mapping[str, Callable[[dict[str, Any]], list[str]]]
) -> list[str]:
    """The tables of a report's experiments, and what was skipped."""
    lines: list[str] = []
    for name, found in data["experiments"].items():
        lines += ["", *tables[name](found)]
    lines += [""] if data["skipped"] else []
    return lines + [
        f"skipped: {s['experiment']}, {s['what']}: {s['reason']}" for s in data["skipped"]
    ]


def columns(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int
) -> list[str]:
    """A titled table, of which the first *left* columns are flush left."""
    if not rows:
        return [title, "nothing was measured"]
    return [title, *aligned([heads, *rows], range(left, len(heads)))]


def number(value: float | None, digits: int = 3) -> str:
    """A few digits, or a dash for nothing."""
    return "-" if value is None else f"{value:.{digits}g}"


def head(device: dict[str, Any]) -> list[str]:
    """A device's name, driver and ceilings."""
    facts = device["facts"]
    platform = facts.get("extra", {}).get("platform") or f"driver {facts['driver']}"
    driver = " ".join(str(platform).split(",")[0].split())
    lines = [f"{device['selected']}: {facts['name']}, {facts['compute_units']} units, {driver}"]
    clocks = sorted({r["clock_mhz"] for r in device["results"] if r["clock_mhz"]})
    if clocks:
        seen = f"{clocks[0]:.0f}" + (f" to {clocks[-1]:.0f}" if len(clocks) > 1 else "")
        lines[0] += f", {seen} MHz under load"
    if device["ceilings"]:
        rates = device["ceilings"]["instructions_per_second"]
        texts = [
            f"{word} {op} {quantity(rate, '/s')}"
            for word, ops in rates.items()
            for op, rate in ops.items()
        ]
        memory = device["ceilings"]["memory"]
        texts.append(f"{memory['by']} {quantity(memory['bytes_per_second'], 'B/s')}")
        lines.append("ceilings: " + ", ".join(texts))
    return lines + energy_lines(device)


ENERGY_HEAD = ("GFLOP/s/W", "J/op")


def energy_lines(part: dict[str, Any]) -> list[str]:
    """What tells a device's energy and its idle power, or why nothing does; none if not asked."""
    found = part.get("energy")
    if not found:
        return []
    if not found["read"]:
        return [f"energy: not read: {found['problem']}"]
    lines = [f"energy: {found['read']}; idle {found['idle_watts']:.3g} W"]
    return lines + ([f"energy: not of all cases: {found['problem']}"] if found["problem"] else [])


def energy_cells(energy: dict[str, Any] | None) -> tuple[str, str]:
    """Operations a second per watt, and joules of an operation."""
    if not energy:
        return "-", "-"
    return number(energy["gflops_per_watt"]), joules(energy["joules_per_operation"])


def with_energy(
    heads: Sequence[str], cells: Sequence[Sequence[str]], rows: Rows
) -> tuple[list[str], list[list[str]]]:
    """A table's heads and cells, with two columns more where any of the rows has energy."""
    if not any(row.get("energy") for row in rows):
        return list(heads), [list(line) for line in cells]
    return [*heads, *ENERGY_HEAD], [
        [*line, *energy_cells(row.get("energy"))] for line, row in zip(cells, rows, strict=True)
    ]


def energy_table(
    what: str, heads: Sequence[str], names: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Mapping[str, Any]]],
) -> list[str]:  # fmt: skip
    """Energies by name, one row for the cells below *heads*; nothing where there are none."""
    if not any(found for _, by_name in rows for found in by_name.values()):
        return []
    cells = [
        [*first, *(", ".join(energy_cells(e)) if (e := found.get(n)) else "-" for n in names)]
        for first, found in rows
    ]
    title = f"energy, {what}: {' and '.join(ENERGY_HEAD)}"
    return ["", *columns(title, (*heads, *names), cells, len(heads))]


def table(data: dict[str, Any]) -> str:
    """All devices' results, then the peers'."""
    lines: list[str] = []
    for device in data["devices"]:
        lines += [*head(device), ""]
        if device["refusal"]:
            lines += [f"refused: {device['refusal']}", ""]
            continue
        results = device["results"]
        heads, cells = with_energy(_HEAD, [_row(r) for r in results], results)
        lines += [*aligned([heads, *cells], _RIGHT), ""]
        lines += [f"skipped: {_name(s)}: {s['reason']}" for s in device["skipped"]]
        lines += [f"WRONG: {_name(r)}" for r in device["results"] if r["error"]["wrong"]]
    if data["peers"]:
        lines += [*_peer_lines(data["peers"]), ""]
    read = any(r.get("energy") for device in data["devices"] for r in device["results"])
    return "\n".join([*lines, *_LEGEND, *(_ENERGY_LEGEND if read else ())])


_HEAD = (
    "routine", "format", "accuracy", "shape", "time", "spread", "rate", "traffic", "share",
    "of the", "error", "in u^N T",
)  # fmt: skip
_RIGHT = (4, 5, 6, 7, 8, 10, 11, 12, 13)
"""Columns of numbers."""
_LEGEND = (
    "time: median of a call; spread: between the quartiles; rate: operations of the format;",
    "share: of the floor, by the ceilings of this run; error: largest of the sampled entries",
    "against exact arithmetic, relative and over u^N times the sum of the terms' magnitudes",
)

_ENERGY_LEGEND = (
    "GFLOP/s/W and J/op: operations as in the rate, while the case is repeated for two seconds,",
    "idle power included",
)


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    error = result["error"]
    return (
        result["routine"], result["format"], result["accuracy"], shape_text(result["shape"]),
        *_times(result["seconds"]),
        quantity(result["operations_per_second"], "/s"),
        quantity(result["bytes_per_second"], "B/s"),
        f"{100 * result['share']:.0f} %", result["floor"]["bound"], *_errors(error),
    )  # fmt: skip


def _times(seconds: dict[str, Any]) -> tuple[str, str]:
    spread = (seconds["upper"] - seconds["lower"]) / (seconds["median"] or 1)
    return duration(seconds["median"]), f"{100 * spread:.0f} %"


def _errors(error: dict[str, Any]) -> tuple[str, str]:
    if error["relative"] is None or error["scaled"] is None:
        return "not finite", "-"
    return f"{error['relative']:.1e}", f"{error['scaled']:.2g}"


def _name(row: dict[str, Any]) -> str:
    accuracy = "" if row["accuracy"] == ACCURATE else f" {row['accuracy']}"
    return f"{row['routine']} {row['format']}{accuracy} {shape_text(row['shape'])}"


def _peer_lines(peers: Rows) -> list[str]:
    rows = [("peer", "routine", "format", "bits", "shape", "time", "spread", "rate", "error")]
    for peer in peers:
        title = f"{peer['name']} {peer['version'] or ''}".strip()
        for r in peer["results"]:
            rows.append((
                title, r["routine"], r["format"], str(r["bits"]), shape_text(r["shape"]),
                *_times(r["seconds"]), quantity(r["operations_per_second"], "/s"),
                _errors(r["error"])[0],
            ))  # fmt: skip
    lines = aligned(rows, (3, 5, 6, 7, 8)) if len(rows) > 1 else ["peers:"]
    return lines + [f"{p['name']}: {p['problem']}" for p in peers if p["problem"]]
