"""Gravity of particles by direct summation, in any format, with the same bits everywhere.

Positions are Arrays (n, 3), masses (n,), of one format; the gravitational constant is a
factor of the masses. The acceleration of particle i is

    a_i = sum over j of m_j (r_j - r_i) / (|r_j - r_i|^2 + eps^2)^(3/2)

with Plummer softening *eps*, an exact scalar. The sum runs over j in order (docs/bits.md).
"""

from collections.abc import Sequence

from portmp.arrays.array import Array, operand
from portmp.arrays.products import dot
from portmp.arrays.viewed import everywhere
from portmp.errors import ShapeError
from portmp.routines import base
from portmp.routines.base import Scalar
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity.launch import squared
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.runtime.planes import Planes

__all__ = [
    "acceleration",
    "energy",
    "field",
    "kinetic_energy",
    "potential",
    "potential_energy",
    "squared",
]

FORCE, POTENTIAL = gravity.RESULTS


@everywhere
def acceleration(
    position: Array,
    mass: Array,
    *,
    eps: Scalar = 0,
    targets: Array | None = None,
    out: Array | None = None,
    root: str = "exact",
    schedule: NbodySchedule | None = None,
) -> Array:
    """Accelerations (n, 3) that particles at *position* (m, 3) with *mass* (m,) cause.

    Of these particles themselves, or of *targets* (n, 3). A particle does not attract
    itself. Where eps is 0 (or its square is below the format's normal numbers), a target
    whose squared distance from another particle is below them gets NaN (root exact).

    Error per component, over u^N times the sum of the terms' magnitudes (root exact): at most
    47 of one limb and 16 of several on all of 512 particles of a Plummer sphere, and of a set
    with close pairs, equal positions and a mass ratio of 2^40; no bound for all inputs. Of one
    limb it is at most 24 + min(m, 1024) + m / 1024, as for any such sum. Both hold while no
    1 / r^3 and m / r^3 leaves the range of the words: units matter (docs/nbody.md).

    *root*: ``exact`` has the same bits on every device. float32 and float64 have others
    that are faster or what programs elsewhere do, with the platform's bits: ``fast`` (the
    hardware's estimate), ``rsqrt``, ``rounded``, ``division`` (portmp.networks.gravity.ROOTS).

    Sources are packed as x, y, z, mass first, in memory for 4 m numbers, unless *position*
    and *mass* are views bodies[:, :3] and bodies[:, 3] of one array (m, 4).
    """
    (found,) = sums(position, mass, targets, eps, root, schedule, (FORCE,), out)
    return found


@everywhere
def potential(
    position: Array,
    mass: Array,
    *,
    eps: Scalar = 0,
    targets: Array | None = None,
    root: str = "exact",
    schedule: NbodySchedule | None = None,
) -> Array:
    """Potentials (n,): minus the sum over j of m_j / (|r_j - r_i|^2 + eps^2)^(1/2).

    Of the particles themselves, each without its own term, or of *targets* (n, 3). Error as
    for ``acceleration``: at most 36 of one limb and 12 of several on the same particles.
    """
    (found,) = sums(position, mass, targets, eps, root, schedule, (POTENTIAL,))
    return found


@everywhere
def field(
    position: Array,
    mass: Array,
    *,
    eps: Scalar = 0,
    targets: Array | None = None,
    root: str = "exact",
    schedule: NbodySchedule | None = None,
) -> tuple[Array, Array]:
    """Accelerations and potentials from one pass over the sources."""
    force, found = sums(position, mass, targets, eps, root, schedule, (FORCE, POTENTIAL))
    return force, found


def kinetic_energy(velocity: Array, mass: Array) -> Array:
    """Sum of m v^2 / 2 for velocities (n, 3) and masses (n,), of shape ()."""
    v, m = operand(velocity, "velocity"), operand(mass, "mass")
    _check_vectors(v, "velocity")
    if m.shape != v.shape[:1]:
        raise ShapeError(f"mass: shape {m.shape} given, {v.shape[:1]} needed")
    squares = [dot(m * v[:, k], v[:, k]) for k in range(3)]
    found: Array = (squares[0] + squares[1] + squares[2]) / 2
    return found


def potential_energy(
    position: Array, mass: Array, *, eps: Scalar = 0, root: str = "exact"
) -> Array:
    """Minus the sum over pairs of m_i m_j / (|r_j - r_i|^2 + eps^2)^(1/2), of shape ()."""
    found: Array = dot(mass, potential(position, mass, eps=eps, root=root)) / 2
    return found


def energy(
    position: Array, velocity: Array, mass: Array, *, eps: Scalar = 0, root: str = "exact"
) -> Array:
    """Kinetic and potential energy, of shape (); with G in the masses it is G times the energy."""
    kinetic = kinetic_energy(velocity, mass)
    found: Array = kinetic + potential_energy(position, mass, eps=eps, root=root)
    return found


def _check_vectors(planes: Planes | Array, name: str) -> None:
    if planes.ndim != 2 or planes.shape[1] != 3:
        raise ShapeError(f"{name}: shape {planes.shape} given, (n, 3) needed")


def sums(
    position: Array,
    mass: Array,
    targets: Array | None,
    eps: Scalar,
    root: str,
    schedule: NbodySchedule | None,
    wanted: Sequence[str],
    out: Array | None = None,
    first: int | None = None,
) -> list[Array]:
    """What sources cause, as far as *wanted*; accelerations in *out*, if it is given.

    *first*: which source the first of the *targets* is, where these are sources that follow it.
    """
    source, weight = operand(position, "position").planes, operand(mass, "mass").planes
    target = source if targets is None else operand(targets, "targets").planes
    inputs = {"position": source, "mass": weight, "targets": target}
    base.same(source.format, **inputs)
    for name in ("position", "targets"):
        _check_vectors(inputs[name], name)
    if weight.shape != source.shape[:1]:
        raise ShapeError(f"mass: shape {weight.shape} given, {source.shape[:1]} needed")
    given = None if out is None else operand(out, "out").planes
    results = {
        one: base.output(given, target, target.shape[: 2 if one == FORCE else 1], **inputs)
        for one in wanted
    }
    eps2 = squared(eps, source.format)
    gravity.check_root(source.format, source.device.platform, root)
    bodies = gravity.packed(source, weight)
    if targets is None and bodies.buffers is not source.buffers:
        target = bodies.view(target.shape, (4, 1), bodies.start)
    first = 0 if targets is None else first
    gravity.gravity_sum(target, bodies, eps2, results, first, root=root, schedule=schedule)
    return [Array(one) for one in results.values()]
