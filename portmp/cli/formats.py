"""``portmp formats``: the table of formats."""

import argparse
import json
from typing import Any

from portmp import formats


def options(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""


def run(args: argparse.Namespace) -> int:
    """List formats."""
    same = ("name", "limbs", "word", "bits", "digits", "about")
    rows: list[dict[str, Any]] = [
        {k: getattr(f, k) for k in same} | {"bytes": f.itemsize, "stored_short": f.coded}
        for f in map(formats.get, (*formats.NAMES, *formats.COMPLEX, *formats.STORED))
    ]
    if args.json:
        print(json.dumps({"formats": rows}, indent=1))
        return 0
    print(f"{'format':14}{'limbs':>6}  {'word':9}{'bytes':>6}{'bits':>6}{'digits':>8}  what it is")
    for row in rows:
        print(
            f"{row['name']:14}{row['limbs']:>6}  {row['word']:9}{row['bytes']:>6}{row['bits']:>6}"
            f"{row['digits']:>8}  {row['about']}"
        )
    return 0
