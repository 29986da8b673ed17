"""``portmp gemm``: products of matrices in files."""

import argparse

import numpy as np

import portmp as mp
from portmp.arrays.array import Array
from portmp.cli import flag
from portmp.cli.shared import MATRIX, finish, matrix_options, prepare, waiting
from portmp.errors import ArgumentError, ShapeError


def options(parser: argparse.ArgumentParser) -> None:
    """Files, factors and how to multiply."""
    parser.add_argument("a", metavar="A", help=MATRIX)
    parser.add_argument("b", metavar="B", help="likewise")
    parser.add_argument("-C", dest="c", metavar="C", help="matrix to add")
    parser.add_argument("--alpha", default="1", help="factor of the product (decimal string)")
    parser.add_argument("--beta", help="factor of C (default 1 where C is given)")
    flag(parser, "--trans-a", "transpose A")
    flag(parser, "--trans-b", "transpose B")
    parser.add_argument(
        "--accuracy", default="accurate", help="accurate (the default), or fast: one word less"
    )
    parser.add_argument(
        "--method",
        choices=("auto", "direct", "ozaki1", "ozaki2"),
        default="auto",
        help="each element as its row and column allow (auto, the default), direct, or all by "
        "integers (ozaki1, ozaki2)",
    )
    matrix_options(parser)


def run(args: argparse.Namespace) -> int:
    """Multiply."""
    if args.beta is not None and args.c is None:
        raise ArgumentError("--beta: needs the matrix C (-C FILE)")
    read = prepare(args, args.a, args.b, args.c, stacks=False)
    a, b, c = read(args.a), read(args.b), read(args.c) if args.c else None
    if c is not None:
        _check_c(args, a, b, c)
    beta = (args.beta or "1") if c is not None else 0
    with waiting("gemm", a):
        result = mp.gemm(
            a,
            b,
            alpha=args.alpha,
            beta=beta,
            c=c,
            accuracy=args.accuracy,
            method=args.method,
            trans_a=args.trans_a,
            trans_b=args.trans_b,
        )
    return finish(args, result)


def _check_c(args: argparse.Namespace, a: Array, b: Array, c: Array) -> None:
    """Refuse a C of another shape than the product's: broadcast, it would hide a wrong file."""
    left = a.shape[-2:][:: -1 if args.trans_a else 1]
    right = b.shape[-2:][:: -1 if args.trans_b else 1]
    if len(left) + len(right) < 4 or left[1] != right[0]:
        return  # gemm has the words for that, and for batches that differ
    try:
        product = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), left[0], right[1])
    except ValueError:
        return
    if c.shape != product:
        raise ShapeError(f"-C {args.c}: the shape is {c.shape}, that of the product {product}")
