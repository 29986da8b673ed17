"""``portmp tune``: a search for schedules."""

import argparse

from portmp.cli import flag
from portmp.cli.shared import DEVICE
from portmp.tuner.search import command as run

__all__ = ["options", "run"]


def options(parser: argparse.ArgumentParser) -> None:
    """What is searched, for how long."""
    parser.add_argument("routine", nargs="?", help="gemm, gemv, dot, axpy or nbody (default all)")
    parser.add_argument("--device", help=DEVICE)
    parser.add_argument(
        "--format", help="formats, with commas between (default: all standard ones)"
    )
    parser.add_argument("--accuracy", default="both", help="accurate, fast or both (default)")
    parser.add_argument("--shape", help="one class of shapes only: large, columns-8, ...")
    parser.add_argument(
        "--seconds", type=float, default=300, help="limit of a search (default 300)"
    )
    parser.add_argument("--passes", type=int, default=2, help="passes over the space (default 2)")
    parser.add_argument("--workers", type=int, help="processes that compile (default: all cores)")
    flag(parser, "--again", "forget earlier trials")
    flag(parser, "--show", "show the schedules in effect")
    parser.add_argument("-o", "--output", metavar="FILE", help="add to this file of schedules")
