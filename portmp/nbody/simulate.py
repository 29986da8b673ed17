"""``portmp nbody``: move particles, and watch what should not change.

The same particles move in each format that is asked for, side by side; energy and angular
momentum are sampled on the way, a reversed run shows how far from the start it ends.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays.array import array
from portmp.backends.base import Device
from portmp.errors import ArgumentError, InputError, choice
from portmp.files import arrays as files
from portmp.files import content, pictures, target
from portmp.formats import Format
from portmp.nbody import memory, particles, system
from portmp.nbody.checkpoint import Checkpoint
from portmp.nbody.system import SCHEMES, System
from portmp.nbody.trajectory import Course, Plan, begun, follow, go_on
from portmp.networks.gravity import ROOTS
from portmp.progress import Progress


def start(made: particles.Particles, form: Format, device: Device, eps: str, root: str) -> System:
    """The particles at rest in the device's memory, rounded once to the format."""
    arrays = [array(x, form, device) for x in (made.position, made.velocity, made.mass)]
    return System(*arrays, eps=eps, root=root)


# --- the command ------------------------------------------------------------------------------


def command(args: Any, placed: Callable[[System], System] = lambda one: one) -> int:
    """``portmp nbody``; *placed*: what is done to systems before they move."""
    plan = _plan(args)
    forms = list(dict.fromkeys(formats.get(name.strip()) for name in args.format.split(",")))
    if args.root is not None:
        choice("--root:", args.root, ROOTS)
    if args.eps is not None and system.exact(args.eps, "--eps") < 0:
        raise ArgumentError(f"--eps: {args.eps} given, a length from 0 on is needed")
    if not args.every >= 0:
        raise ArgumentError(f"--every: {args.every} given, a number of seconds from 0 on is needed")
    _check_outputs(args, forms)
    device = discovery.get(args.device)
    progress = Progress(sys.stderr.isatty())
    kept = memory.Kept((plan.samples + 1) * plan.ways, plan.reverse, bool(args.output))
    systems = [placed(one) for one in _systems(args, forms, kept, device)]
    keeper, by_one = _keeper(args, plan, forms), systems[0].by_one
    found = keeper and by_one(keeper.file.exists, f"whether {args.checkpoint} is there")
    stage = keeper.resumed(device) if keeper and found else None
    if stage:
        stage.system = placed(stage.system)
    courses = list(keeper.courses) if keeper else []
    moved = systems[-1]
    for moving in systems[len(courses) :]:
        stage = stage or begun(moving, plan)
        courses.append(follow(stage, plan, progress, keeper.pause if keeper else go_on))
        if keeper:
            keeper.ended(stage)
        moved, stage = stage.system, None
    if args.output:
        moved.save(args.output)
    if args.trajectory:
        by_one(lambda: _write_trajectory(Path(args.trajectory), courses), "the trajectory")
    if args.json:
        print(json.dumps(_report(args, plan, systems[0], courses), indent=1))
    else:
        print(_table(args, plan, systems[0], courses))
    if args.plot:
        by_one(lambda: _plot(Path(args.plot), plan, courses), "the picture")
    if keeper:
        by_one(keeper.remove, "that the checkpoint is removed")
    return 0


def _keeper(args: Any, plan: Plan, forms: list[Format]) -> Checkpoint | None:
    """The checkpoint that is asked for, and which run it is of."""
    if not args.checkpoint:
        return None
    source = Path(args.source)
    told = hashlib.sha256(content.content(source)).hexdigest() if source.is_file() else ""
    names = ("source", "eps", "root", "number", "seed")
    run = {
        **{name: getattr(args, name) for name in names},
        **asdict(plan),
        "dt": str(plan.dt),
        "formats": [form.name for form in forms],
        "sha256": told,
    }
    return Checkpoint(Path(args.checkpoint), run, args.every)


SPHERE = {"number": 1024, "seed": 0}
"""What only spheres have, by default."""


def _plan(args: Any) -> Plan:
    choice("--scheme:", args.scheme, SCHEMES)
    dt = system.exact(args.dt, "--dt")
    for name, least in (("steps", 1), ("samples", 1), ("number", 1), ("seed", 0)):
        value = getattr(args, name)
        if value is None:
            continue
        if name in SPHERE and args.source not in particles.SPHERES:
            raise ArgumentError(
                f"--{name}: only {' and '.join(particles.SPHERES)} have it, {args.source} given"
            )
        if value < least:
            raise ArgumentError(f"--{name}: {value} given, at least {least} is needed")
    if min(args.samples, args.steps) > MOST_SAMPLES:
        raise ArgumentError(
            f"--samples: {args.samples} given, at most {MOST_SAMPLES} are kept in memory"
        )
    samples, drawn = min(args.samples, args.steps), bool(args.trajectory or args.plot)
    back = not (drawn or args.output or args.checkpoint) if args.reverse is None else args.reverse
    return Plan(args.scheme, dt, args.steps, samples, back, drawn)


def _check_outputs(args: Any, forms: list[Format]) -> None:
    given = {name: getattr(args, name) for name in ("output", "trajectory", "checkpoint")}
    for name, file in ((name, Path(file)) for name, file in given.items() if file):
        if file.suffix.lower() != ".npz":
            raise InputError(f"--{name} {file}: the file's name must end with .npz")
        target.check_place(file)
    if args.output and len(forms) > 1:
        raise ArgumentError(f"--output: one state is saved, {len(forms)} formats are given")
    if args.plot:
        pictures.check(Path(args.plot))


def _systems(args: Any, forms: list[Format], kept: memory.Kept, device: Device) -> list[System]:
    """The source in each format: a saved state, a sphere, or a table of initial values.

    What many particles take is said first; OutOfMemory where that is too much.
    """
    if args.source in particles.SPHERES:
        number, seed = (
            default if getattr(args, name) is None else getattr(args, name)
            for name, default in SPHERE.items()
        )
        memory.check(memory.sphere(number, forms), forms, kept, device)
        made = particles.SPHERES[args.source](number, seed)
    else:
        memory.check(memory.source(args.source, forms), forms, kept, device)
        if args.source.lower().endswith(".npz") and system.is_saved(args.source):
            for name in ("eps", "root"):
                if getattr(args, name) is not None:
                    raise ArgumentError(f"--{name}: a saved state has its own")
            return [system.load(args.source, form.name, device) for form in forms]
        made = particles.read(args.source)
    eps, root = args.eps or "0", args.root or "exact"
    return [start(made, form, device, eps, root) for form in forms]


def _report(args: Any, plan: Plan, moved: System, courses: list[Course]) -> dict[str, Any]:
    facts = moved.device.properties
    return {
        "source": args.source,
        "particles": len(moved),
        "device": ", ".join(queue.device.name for queue in moved.queues),
        "name": facts.name,
        "driver": facts.driver,
        "scheme": plan.scheme,
        "dt": str(plan.dt),
        "steps": plan.steps,
        "eps": str(moved.eps),
        "root": moved.root,
        "runs": [
            {k: v for k, v in asdict(course).items() if k != "positions"} for course in courses
        ],
    }


def _table(args: Any, plan: Plan, moved: System, courses: list[Course]) -> str:
    device, more = moved.device, len(moved.queues) - 1
    lines = [
        f"{args.source}: {len(moved)} particles, {plan.steps} steps of {float(plan.dt):g}, "
        f"{plan.scheme}, on {device.name} ({device.properties.name})"
        + (f" and {more} more" if more else ""),
        "",
        f"{'format':8} {'energy':>24} {'energy error':>13} {'largest':>9} "
        f"{'momentum error':>15} {'way back':>9} {'seconds':>8}",
    ]
    for course in courses:
        back = "" if course.returned is None else f"{course.returned:.1e}"
        lines.append(
            f"{course.format:8} {course.energy[:24]:>24} {course.energy_errors[-1]:13.1e} "
            f"{max(course.energy_errors):9.1e} {max(course.momentum_errors):15.1e} {back:>9} "
            f"{course.seconds:8.1f}"
        )
    lines += ["", "energy: the scheme's error, less with a smaller --dt;"]
    lines += ["momentum, way back: roundings of the format. Next: --format dd,qd, --help"]
    return "\n".join(lines)


def _write_trajectory(path: Path, courses: list[Course]) -> None:
    """Times (samples,) and, for each format, positions (samples, n, 3) in float64."""
    arrays = {course.format: np.array(course.positions) for course in courses}
    files.write_members(path, {"times": np.array(courses[0].times), **arrays})


MOST_SAMPLES = 1_000_000

MOST_ORBITS = 50
"""Particles whose ways are drawn; of more only the last places."""


def _plot(path: Path, plan: Plan, courses: list[Course]) -> None:
    """Orbits of the last format, errors of energy and angular momentum of all."""
    plt = pictures.pyplot()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 5))
    ways = np.array(courses[-1].positions)
    if ways.shape[1] <= MOST_ORBITS:
        left.plot(ways[:, :, 0], ways[:, :, 1], linewidth=0.8)
    left.plot(ways[-1, :, 0], ways[-1, :, 1], ".", color="black", markersize=2)
    left.set_aspect("equal")
    left.set_title(f"{courses[-1].format}: ways of the particles", fontsize=9)
    left.set_xlabel("x (length as given)")
    left.set_ylabel("y (length as given)")
    for axes, name in ((middle, "energy_errors"), (right, "momentum_errors")):
        for course in courses:
            points = [(t, e) for t, e in zip(course.times, getattr(course, name), strict=True) if e]
            if points:
                axes.plot(*zip(*points, strict=True), ".-", label=course.format, linewidth=0.6)
                axes.set_yscale("log")
        axes.set_xlabel("time (as given)")
        axes.set_ylabel("relative error")
        axes.legend()
    middle.set_title(f"relative energy error, {plan.scheme}", fontsize=9)
    right.set_title("relative error of the angular momentum", fontsize=9)
    figure.tight_layout()
    pictures.write(path, figure)
