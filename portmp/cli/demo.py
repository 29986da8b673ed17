"""``portmp demo``: the demonstrations."""

import argparse
import importlib
import warnings

from portmp.cli.shared import DEVICE
from portmp.errors import ArgumentError, LinAlgWarning

_SIZED_DEMOS = {
    "storage": "storage",
    "linalg": "linear_algebra",
    "krylov": "krylov",
    "spectra": "spectra",
}
"""Demonstrations that take a size, and their modules."""


def options(parser: argparse.ArgumentParser) -> None:
    """Which one, and what it takes."""
    parser.add_argument(
        "about",
        nargs="?",
        choices=("filip", *_SIZED_DEMOS),
        default="filip",
        help="filip (the default), storage: what short formats cost, and refinement, linalg: "
        "digits of ill-conditioned problems in each format, krylov: where more digits pay by "
        "fewer iterations, or spectra: eigenvalues that float64 gets wrong",
    )
    parser.add_argument("--device", help=DEVICE)
    parser.add_argument(
        "--plot", metavar="FILE", help="draw digits, errors, iterations or eigenvalues"
    )
    parser.add_argument("--format", metavar="F,...", help="storage: formats (default all slfp64)")
    parser.add_argument(
        "--size",
        type=int,
        metavar="N",
        help="storage, krylov: equations (default 1024); linalg: sites (default 1000); "
        "spectra: order (default 100)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the JSON report, not of filip"
    )


def run(args: argparse.Namespace) -> int:
    """Run it."""
    warnings.simplefilter("ignore", LinAlgWarning)  # their tables tell which digits are right
    others = () if args.about == "storage" else ("format", "size", "output")
    for name in others[:1] if args.about in _SIZED_DEMOS else others:
        if getattr(args, name) is not None:
            raise ArgumentError(f"--{name}: belongs to portmp demo storage")
    module = importlib.import_module(f"portmp.demos.{_SIZED_DEMOS.get(args.about, args.about)}")
    status: int = module.command(args)
    return status
