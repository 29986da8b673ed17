"""``portmp svd``: singular values of matrices in files."""

import argparse

import portmp as mp
from portmp.cli import flag
from portmp.cli.shared import MATRIX, finish, matrix_options, prepare, waiting, written
from portmp.errors import ArgumentError


def options(parser: argparse.ArgumentParser) -> None:
    """The file, and where vectors go."""
    parser.add_argument("a", metavar="A", help=MATRIX)
    parser.add_argument("--left", metavar="FILE", help="write the left vectors, as columns, here")
    parser.add_argument("--right", metavar="FILE", help="write the right vectors, as rows, here")
    flag(parser, "--full", "square matrices of vectors")
    flag(parser, "--relative", "small values relatively exact, more slowly")
    matrix_options(parser)


def run(args: argparse.Namespace) -> int:
    """Find them."""
    read = prepare(args, args.a, outputs=[args.left, args.right])
    if args.full and args.left is None and args.right is None:
        raise ArgumentError("--full: is about vectors: give --left or --right")
    a = read(args.a)
    with waiting("svd", a):
        if args.left is None and args.right is None:
            return finish(args, mp.linalg.svdvals(a, relative=args.relative))
        u, s, vh = mp.linalg.svd(a, args.full, relative=args.relative)
    told = written({"left": (args.left, u), "right": (args.right, vh)})
    return finish(args, s, None, **told)
