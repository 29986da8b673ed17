"""The reference's evidence, looked at again: ``ci/porting evidence [ENTRY ...]``.

Prints what holds, what fails and what cannot be checked here, claim by claim. Exit status 1 if
something fails. ``--record h200`` writes what the GPU of this machine gives into recorded.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from porting import checks, entries, errors_of_functions, running
from porting.entries import Entry
from portmp.errors import PortmpError, printable


def chosen(names: Sequence[str]) -> list[Entry]:
    """Entries by name, or all of a group; all of them if none is named."""
    every = entries.every()
    if not names:
        return list(every.values())
    found: list[Entry] = []
    for name in names:
        group = [entry for entry in every.values() if entry.group == name]
        found += group or [entries.get(name)]
    return found


def log(entry: Entry) -> tuple[list[str], Counter[str]]:
    """The lines of one entry, and how many claims are in each state."""
    results = checks.results(entry)
    lines = [f"{entry.name}: {entry.title}"]
    for result in results:
        words = printable(result.words).replace("\n", "\n" + " " * 31)
        lines.append(f"    {result.state:12} {result.where:13} {words}")
    return lines, Counter(result.state for result in results)


def record(names: Sequence[str], device: str) -> None:
    """Write down what a device here gives, for machines that have none; failures are told."""
    found: dict[str, Any] = dict(checks.recorded())
    results: dict[str, Any] = dict(found.get(device, {}).get("results", {})) if names else {}
    for entry in chosen(names):
        for claim in entry.claims:
            try:
                results |= _given(entry, claim, device)
            except PortmpError as error:
                print(f"{entry.name}: {printable(str(error))}", file=sys.stderr)
    facts = running.device(device).properties
    compiler = running.device(device).compiler
    about = f"{date.today()} on {facts.name}, driver {facts.driver}"
    about += f", {compiler.version()}" if compiler else ""
    found[device] = {"about": about, "results": dict(sorted(results.items()))}
    checks.RECORDED.write_text(json.dumps(found, indent=1) + "\n")


def _given(entry: Entry, claim: entries.Claim, device: str) -> dict[str, Any]:
    """What a device gives for a claim, where it is about that device."""
    if isinstance(claim, entries.Run) and device in claim.on:
        values = checks.ran(entry, claim, device)[: len(claim.expected(device))]
        is_float = values.dtype.kind == "f"
        listed = [float(v).hex() if is_float else int(v) for v in values]
        return {checks.key_of(entry, claim, device): listed}
    if isinstance(claim, entries.Error) and device in claim.worst:
        worst = errors_of_functions.worst(claim, device, checks.compile_text)
        return {errors_of_functions.key(entry, claim, device): round(worst, 4)}
    return {}


def main(argv: Sequence[str] | None = None) -> int:
    """Look at the evidence; the exit status."""
    parser = argparse.ArgumentParser(prog="ci/porting evidence")
    parser.add_argument("names", nargs="*", metavar="ENTRY", help="entries or groups (default all)")
    parser.add_argument("--record", metavar="DEVICE", help="write down what a device here gives")
    parser.add_argument("--quiet", action="store_true", help="only entries with a claim that fails")
    args = parser.parse_args(argv)
    try:
        if args.record:
            record(args.names, args.record)
            return 0
        total: Counter[str] = Counter()
        found = chosen(args.names)
        for entry in found:
            lines, states = log(entry)
            total += states
            if not args.quiet or states[checks.FAILS]:
                print("\n".join(lines), flush=True)
    except PortmpError as error:
        print(f"portmp: error: {printable(str(error))}", file=sys.stderr)
        return 2
    counts = ", ".join(f"{total[s]} {s}" for s in (checks.HOLDS, checks.FAILS, checks.UNCHECKED))
    print(f"{len(found)} entries: {counts}")
    return int(total[checks.FAILS] > 0)


if __name__ == "__main__":
    sys.exit(main())
