"""``portmp bench``: the benchmarks, and comparisons of their reports."""

import argparse
from typing import Any

from portmp.bench import compare
from portmp.bench import options as asked
from portmp.cli import WithDefaults, filled, flag


def options(parser: argparse.ArgumentParser) -> None:
    """A parser for each benchmark."""
    parser.register("type", None, str)  # the benchmarks check their own words
    kinds = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    subs = []
    for name, found in (asked.COMMANDS | asked.SUITES).items():
        told: Any = {"help": found.about, "description": found.about}
        subs.append(kinds.add_parser(name, **told, formatter_class=WithDefaults))
        asked.add(subs[-1], found)
    about = "two reports of one benchmark and their ratios, row by row"
    both = kinds.add_parser("compare", help=about, description=about)
    both.add_argument("old", metavar="OLD", help="a report of a benchmark")
    both.add_argument("new", metavar="NEW", help="another one of the same benchmark")
    for sub in (*subs, both):
        sub.register("type", None, filled)
        flag(sub, "--json", "print JSON")


def run(args: argparse.Namespace) -> int:
    """Measure, or compare."""
    if args.benchmark == "compare":
        return compare.command(args)
    from portmp.distributed import processes

    job = processes.job()
    if job and job.count > 1:  # the first process writes; all measure the same cases
        args.again = True
        args.output = None if job.rank else args.output
    status: int = asked.family(args.benchmark).command(args)
    return status
