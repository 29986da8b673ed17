"""``portmp verify``: bits beside the recorded ones."""

import argparse

from portmp.verify.command import command as run

__all__ = ["options", "run"]


def options(parser: argparse.ArgumentParser) -> None:
    """The device, and which results."""
    parser.add_argument(
        "--device",
        help="a device, 'reference' or 'all' (default: PORTMP_DEVICE, else the best one)",
    )
    parser.add_argument("--format", help="one format only (default: all)")
    parser.add_argument("--routine", help="one routine only (default: all)")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes, a format each (default: 1)"
    )
    parser.add_argument(
        "--ranks",
        type=int,
        metavar="N",
        help="compute by N processes of MPI what works on several devices (default device: cpu)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON report")
