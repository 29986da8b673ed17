"""``portmp devices``: what was found, and what is missing."""

import argparse
import json
from contextlib import suppress

from portmp import discovery
from portmp.cli import flag
from portmp.discovery import probe
from portmp.errors import PortmpError


def options(parser: argparse.ArgumentParser) -> None:
    """``--no-probe``."""
    flag(parser, "--no-probe", "do not probe the arithmetic")


def run(args: argparse.Namespace) -> int:
    """List devices."""
    rows, problems = [], {}
    for backend in discovery.BACKENDS:
        found = discovery.find(backend)
        if found.problem:
            problems[backend] = found.problem
        for device in found.devices:
            state, usable = "not probed", True
            if not args.no_probe:
                try:
                    repairs = probe.approve(device).repairs
                    state = "ok" if not repairs else "repaired: " + "; ".join(repairs)
                except PortmpError as error:
                    state, usable = str(error), False
            if device.by_reference:
                state = device.remark
            facts = device.properties.as_dict()
            facts |= {"device": facts["name"], "name": device.name}
            rows.append({**facts, "state": state, "usable": usable})
    if args.json:
        print(json.dumps({"devices": rows, "problems": problems}, indent=1))
        return 0
    usual = ""
    with suppress(PortmpError):
        usual = "" if args.no_probe else discovery.get().name
    for row in rows:
        about = row["extra"].get("platform", f"driver {row['driver']}")
        memory = f"{row['memory'] / 2**30:.1f} GiB"
        size = f"{row['compute_units']} units, {memory}"
        print(f"{row['name']:10} {row['kind']:4} {row['device']}, {size}")
        print(f"{'':15} {about}: {row['state']}{', the default' * (row['name'] == usual)}")
    for backend, problem in problems.items():
        print(f"{backend:10} none: {problem}")
    return 0
