"""``portmp report``: pages of measured results."""

import argparse

from portmp.cli import flag
from portmp.report.command import command as run

__all__ = ["options", "run"]


def options(parser: argparse.ArgumentParser) -> None:
    """Files, and what is made of them."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="what bench and verify wrote")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a page (.html), one file of one device (.json), a figure (.svg)",
    )
    parser.add_argument("--device", help="with -o FILE.json: which device, such as opencl:0")
    flag(parser, "--compare", "two files: what changed beyond both spreads")
    flag(parser, "--check", "say whether files of a device would be taken")
