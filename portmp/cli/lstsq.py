"""``portmp lstsq``: least squares, and polynomials through points."""

import argparse
import sys
from typing import Any

import portmp as mp
from portmp.cli.shared import MATRIX, finish, matrix_options, prepare, waiting
from portmp.demos.filip import polynomial_fit
from portmp.demos.ill_conditioned import powers
from portmp.errors import ArgumentError
from portmp.files import arrays as files


def options(parser: argparse.ArgumentParser) -> None:
    """Files, and the degree of a polynomial."""
    parser.add_argument("a", metavar="A", help=MATRIX)
    parser.add_argument(
        "b", metavar="B", nargs="?", help="right-hand sides, likewise (none with --polynomial)"
    )
    parser.add_argument(
        "--polynomial", type=int, metavar="DEGREE", help="fit a polynomial to columns y, x"
    )
    matrix_options(parser)


def run(args: argparse.Namespace) -> int:
    """Solve, or fit."""
    read = prepare(args, args.a, args.b)
    if args.polynomial is None:
        if args.b is None:
            raise ArgumentError("lstsq: two files A B expected, or --polynomial DEGREE and one")
        a, b = read(args.a), read(args.b)
        with waiting("lstsq", a):
            found = mp.linalg.lstsq(a, b)
            told = mp.linalg.trust(a, b, found.x)
        if args.output and not args.json:
            squares = found.residuals.to_strings(6)
            print(f"rank {found.rank}, sums of squares of residuals {squares}")
        if found.rank < a.shape[1] and not args.json:
            print(
                f"rank {found.rank}, {a.shape[1]} unknowns: the shortest of all solutions",
                file=sys.stderr,
            )
        short = found.residuals.to_strings("short")
        return finish(args, found.x, told, rank=found.rank, residuals=short)
    given: Any = read(args.a)
    data = given.gather() if len(given.pieces) > 1 else given
    if args.b is not None or args.polynomial < 0 or data.ndim != 2 or data.shape[1] != 2:
        raise ArgumentError("--polynomial DEGREE: one file with two columns, y and x, expected")
    names = [name.lower() for name in files.headings(args.a)]
    if sorted(names) != ["x", "y"]:
        print("columns are not called x and y: y is taken first, x second", file=sys.stderr)
    y, x = (data[:, 1], data[:, 0]) if names == ["x", "y"] else (data[:, 0], data[:, 1])
    with waiting("lstsq", data):
        fit = polynomial_fit(x, y, args.polynomial)
        told = mp.linalg.trust(powers(x, args.polynomial), y, fit, 0.0)
    return finish(args, fit if data is given else mp.shard(fit), told)
