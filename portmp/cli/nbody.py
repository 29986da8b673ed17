"""``portmp nbody``: particles under gravity."""

import argparse

from portmp.cli.shared import DEVICE
from portmp.distributed import processes
from portmp.distributed.creation import shard
from portmp.distributed.layout import Replicated
from portmp.nbody import simulate
from portmp.nbody.system import System


def run(args: argparse.Namespace) -> int:
    """Move them; each of several processes its own ones."""
    job = processes.job()
    return simulate.command(args, _cut) if job and job.count > 1 else simulate.command(args)


def _cut(x: System) -> System:
    """Rows of particles on the devices of all processes, masses on each of them."""
    given = shard(x.position), shard(x.velocity), shard(x.mass, layout=Replicated())
    return System(*given, eps=x.eps, root=x.root, time=x.time, steps=x.steps)


def options(parser: argparse.ArgumentParser) -> None:
    """The particles, the steps, and what is written."""
    parser.add_argument(
        "source",
        nargs="?",
        default="outer_solar_system",
        help="a .csv table, a saved .npz state, plummer, uniform, or outer_solar_system (default)",
    )
    parser.add_argument("--number", type=int, help="particles of a sphere (default 1024)")
    parser.add_argument("--seed", type=int, help="seed of a sphere (default 0)")
    parser.add_argument("--format", default="float64,dd", help="formats, side by side")
    parser.add_argument("--device", help=DEVICE)
    parser.add_argument("--scheme", default="yoshida6", help="leapfrog, yoshida4 or yoshida6")
    parser.add_argument("--dt", default="100", help="length of a step (decimal string)")
    parser.add_argument("--steps", type=int, default=1000, metavar="N", help="steps (default 1000)")
    parser.add_argument("--samples", type=int, default=200, help="how often errors are taken")
    parser.add_argument("--eps", help="softening length (decimal string, default 0)")
    parser.add_argument("--root", help="the inverse square root (default exact)")
    back = "go back, and tell how near (by default where nothing is written)"
    parser.add_argument("--reverse", action=argparse.BooleanOptionalAction, help=back)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the last state (.npz)")
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="save the run here on the way (.npz), and go on from it where it is there",
    )
    parser.add_argument(
        "--every",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="from one checkpoint to the next (default 60)",
    )
    parser.add_argument("--trajectory", metavar="FILE", help="write the samples' positions (.npz)")
    parser.add_argument("--plot", metavar="FILE", help="draw orbits and errors")
