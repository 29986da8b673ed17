"""``portmp port``: CUDA sources read."""

import argparse

from portmp.cli import flag
from portmp.porting.command import command as run

__all__ = ["options", "run"]


def options(parser: argparse.ArgumentParser) -> None:
    """Sources, and what is written of them."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="CUDA sources and their headers")
    flag(parser, "--opencl", "tell of OpenCL as well as of HIP")
    flag(parser, "--traps", "traps alone, no list of constructs")
    flag(parser, "--hip", "write HIP texts into the folder of -o")
    flag(parser, "--template", "write first templates of kernels into it")
    parser.add_argument("-o", "--output", metavar="DIR", help="where to write")
    parser.add_argument(
        "--fail",
        choices=("certain", "likely", "possible", "never"),
        default="likely",
        help="the least certainty of a trap that makes the exit status 1 (default likely)",
    )
