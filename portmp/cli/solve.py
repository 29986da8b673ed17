"""``portmp solve``: systems of equations in files."""

from __future__ import annotations

import argparse
import decimal
from typing import TYPE_CHECKING, Any

import portmp as mp
from portmp.cli import flag
from portmp.cli.shared import MATRIX, finish, matrix_options, prepare, waiting
from portmp.errors import ArgumentError

if TYPE_CHECKING:
    from portmp.linalg import Certified, Refined


def options(parser: argparse.ArgumentParser) -> None:
    """Files, and the method."""
    parser.add_argument("a", metavar="A", help=MATRIX)
    parser.add_argument("b", metavar="B", help="right-hand sides, likewise")
    flag(parser, "--positive", "A is positive definite: by Cholesky's method")
    flag(parser, "--refine", "by factors of fewer limbs, with an error estimate")
    flag(parser, "--certify", "with a proved bound of each component's error")
    matrix_options(parser)


def run(args: argparse.Namespace) -> int:
    """Solve."""
    read = prepare(args, args.a, args.b, stacks=False)
    if args.positive and (args.refine or args.certify):
        raise ArgumentError("--positive: goes with neither --refine nor --certify")
    a, b = read(args.a), read(args.b)
    with waiting("solve", a):
        if args.positive:
            found: Any = mp.linalg.solve(a, b, assume_a="pos", lower=True)
        else:
            found = mp.linalg.solve(a, b, refine=args.refine, certify=args.certify)
    if args.certify:
        return _certified(args, found)
    return _refined(args, found) if args.refine else finish(args, found)


def _refined(args: argparse.Namespace, found: Refined) -> int:
    """Write or print the solution, and what was done."""
    info = found.info
    told = (
        f"factors in {info.format}, {info.corrections} corrections, {info.iterations} iterations "
        f"of GMRES; condition about {info.condition:.2g}; error below {info.bound:.2g} of the "
        "largest |x|, by that estimate"
    )
    return finish(args, found.x, note=told, refinement=info._asdict())


def _certified(args: argparse.Namespace, found: Certified) -> int:
    """Write or print the solution, and its bounds: the largest one in words, all as JSON."""
    upwards = decimal.Context(prec=2, rounding=decimal.ROUND_CEILING)
    bounds = found.bound.to_float64()
    largest = upwards.create_decimal_from_float(float(bounds.max(initial=0)))
    above = f"{largest:.1e}" if largest else "0"
    told = (
        f"no component's error is above {above}: proved with an inverse in "
        f"{found.info.format} and {found.info.corrections} corrections"
    )
    bound = found.bound.to_strings("round-trip")
    return finish(args, found.x, note=told, bound=bound, certificate=found.info._asdict())
