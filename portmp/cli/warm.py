"""``portmp warm``: kernels compiled ahead."""

import argparse
import json
import sys
from dataclasses import asdict

from portmp import discovery, formats
from portmp.cli.shared import DEVICE
from portmp.progress import Progress
from portmp.tuner import warm


def options(parser: argparse.ArgumentParser) -> None:
    """What is compiled, for which device."""
    parser.add_argument("--format", default="dd", help="a format, or all: the standard ones")
    parser.add_argument("--device", help=DEVICE)
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="processes (default: one a core)"
    )


def run(args: argparse.Namespace) -> int:
    """Compile."""
    device = discovery.get(args.device)
    names = formats.STANDARD if args.format == "all" else (formats.get(args.format).name,)
    rows = []
    for one in warm.warm(device, names, Progress(sys.stderr.isatty()), args.workers):
        rows.append(one)
        if not args.json:
            print(
                f"{one.format:10} {one.units} units, {one.compiled} compiled in "
                f"{one.seconds:.1f} s on {device.name}"
            )
            for failure in one.failures:
                print(f"portmp: {failure}", file=sys.stderr)
    if args.json:
        print(json.dumps([asdict(one) for one in rows], indent=1))
    return int(any(one.failures for one in rows))
