"""``portmp eigh``: eigenvalues of symmetric and Hermitian matrices in files."""

import argparse
import sys
from typing import Any

import portmp as mp
from portmp.cli import flag
from portmp.cli.shared import MATRIX, finish, matrix_options, prepare, waiting, written
from portmp.errors import ArgumentError


def options(parser: argparse.ArgumentParser) -> None:
    """Files, which values, and where vectors go."""
    parser.add_argument("a", metavar="A", help=MATRIX)
    parser.add_argument("b", metavar="B", nargs="?", help="of A x = w B x, B positive definite")
    flag(parser, "--upper", "read upper triangles, not lower ones")
    parser.add_argument(
        "--subset", type=int, nargs=2, metavar=("LO", "HI"), help="only values LO to HI, from 0"
    )
    parser.add_argument(
        "--vectors", metavar="FILE", help="write the eigenvectors, as columns, here"
    )
    matrix_options(parser)


def run(args: argparse.Namespace) -> int:
    """Find them."""
    read = prepare(args, args.a, args.b, outputs=[args.vectors])
    a, b = read(args.a), None if args.b is None else read(args.b)
    subset = None if args.subset is None else tuple(args.subset)
    if subset and not 0 <= subset[0] <= subset[1] < a.shape[-1]:
        raise ArgumentError(
            f"--subset: {subset[0]} {subset[1]} given, two numbers in order from 0 to "
            f"{a.shape[-1] - 1} are needed"
        )
    options: dict[str, Any] = {"UPLO": "U" if args.upper else "L", "subset_by_index": subset}
    for name, x in ((args.a, a), (args.b, b)):
        if x is not None and x.ndim > 1 and x.shape == x.mT.shape and not (x == x.mT.conj()).all():
            half = "upper" if args.upper else "lower"
            kind = "Hermitian" if x.format.components > 1 else "symmetric"
            print(f"{name}: not {kind}: its {half} triangle alone is read", file=sys.stderr)
    with waiting("eigh", a):
        if args.vectors is None:
            return finish(args, mp.linalg.eigvalsh(a, b, **options))
        values, vectors = mp.linalg.eigh(a, b, **options)
    return finish(args, values, None, **written({"vectors": (args.vectors, vectors)}))
