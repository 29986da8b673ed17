"""Particles that move: their state stays on the device, symplectic schemes advance it.

A step is a symmetric composition of kick-drift-kick leapfrogs (Yoshida 1990). Its kicks and
drifts are fused multiply-adds in the particles' format, its forces those of portmp.nbody; so
an orbit has the same bits on every device, also where it is saved and continued.
"""

import itertools
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays.array import Array, from_limbs, operand, zeros
from portmp.arrays.products import dot
from portmp.backends.base import Device, Repeated, is_recording, recording
from portmp.errors import ArgumentError, InputError, ShapeError, choice, shown
from portmp.files import arrays as files
from portmp.formats import convert, parse
from portmp.nbody.forces import energy, squared
from portmp.routines import base
from portmp.routines.base import Scalar
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.gravity import launch as gravity
from portmp.runtime.planes import allocate, within

_CUBE_ROOT = (
    "1.259921049894873164767210607278228350570251464701507980081975112155299676513959483729396562"
)
"""Of 2, to more digits than any format has."""
_Y6 = (
    "-1.1776799841788710069464156809643157346392692526345984844753685137967415561815089",
    "0.23557321335935813368479318297853460168646808210340111900349313095621471215222265",
    "0.78451361047755726381949763386634987577682441745149338456794779895125997479544942",
)


def _symmetric(*outer: Fraction) -> tuple[Fraction, ...]:
    """Weights around the middle one, which makes them sum to 1."""
    return (*outer, 1 - 2 * sum(outer, Fraction(0)), *reversed(outer))


SCHEMES: dict[str, tuple[Fraction, ...]] = {
    "leapfrog": (Fraction(1),),
    "yoshida4": _symmetric(1 / (2 - Fraction(_CUBE_ROOT))),
    "yoshida6": _symmetric(*(Fraction(w) for w in reversed(_Y6))),
}
"""Weights of the leapfrogs of a step; orders 2, 4 and 6 (Yoshida 1990, solution A)."""

REPEATED = 8
"""Steps from which on one is recorded and repeated."""

FILE_VERSION = 1


class System:
    """Particles with velocities: position (n, 3), velocity (n, 3), mass (n,) (G is in it).

    ``time`` is exact: the sum of the steps as they were given. Masses stay; *eps* and *root*
    are those of ``nbody.acceleration``.
    """

    def __init__(
        self,
        position: Array,
        velocity: Array,
        mass: Array,
        *,
        eps: Scalar = 0,
        root: str = "exact",
        time: Fraction = Fraction(0),
        steps: int = 0,
    ) -> None:
        given = {"position": position, "velocity": velocity, "mass": mass}
        planes = {name: operand(value, name).planes for name, value in given.items()}
        form = planes["position"].format
        base.same(form, **planes)
        n = planes["mass"].size
        for name, shape in (("position", (n, 3)), ("velocity", (n, 3)), ("mass", (n,))):
            if planes[name].shape != shape:
                raise ShapeError(f"{name}: shape {planes[name].shape} given, {shape} needed")
        gravity.check_root(form, position.device.platform, root)
        self._bodies = zeros((n, 4), form, position.device)
        self._bodies[:, :3] = position
        self._bodies[:, 3] = mass
        self._velocity = velocity.copy()
        self._eps, self._root = _kept(exact(eps, "eps"), "eps", eps, "it"), root
        self.time = _kept(exact(time, "time"), "time", time, "it")
        self.steps = _count(steps, "steps")
        self._eps2 = squared(eps, form)
        self._acceleration = Array(allocate(form, (n, 3), position.planes.queue))
        self._current = False

    @property
    def position(self) -> Array:
        """Positions (n, 3): a copy."""
        return self._bodies[:, :3].copy()

    @property
    def velocity(self) -> Array:
        """Velocities (n, 3): a copy."""
        return self._velocity.copy()

    @property
    def mass(self) -> Array:
        """Masses (n,), times the gravitational constant: a copy."""
        return self._bodies[:, 3].copy()

    eps: Fraction = within("_eps", "The softening length.")
    root: str = within("_root", "Where the inverse square roots come from.")
    format: formats.Format = within("_bodies.format", "The number format of all quantities.")
    device: Device = within("_bodies.device", "Where the state is.")

    def __len__(self) -> int:
        return self._bodies.shape[0]

    def acceleration(self) -> Array:
        """Accelerations (n, 3) at the present positions: a copy."""
        return self._forces().copy()

    def _forces(self) -> Array:
        """Accelerations, computed where the particles have moved since."""
        if not self._current:
            position, bodies = self._bodies[:, :3].planes, self._bodies.planes
            found = {"acceleration": self._acceleration.planes}
            gravity.gravity_sum(position, bodies, self._eps2, found, 0, root=self._root)
            self._current = True
        return self._acceleration

    def step(self, dt: Scalar, count: int = 1, scheme: str = "leapfrog") -> None:
        """Advance by *count* steps of *dt* (negative: back in time). SCHEMES has the schemes.

        Nothing is read back: the device may still be at work on return.
        """
        weights = SCHEMES[choice("scheme:", scheme, SCHEMES)]
        count = _count(count, "count")
        length = exact(dt, "dt")
        ends = [weights[0] / 2, *((a + b) / 2 for a, b in itertools.pairwise(weights))]
        ends.append(weights[-1] / 2)
        kicks = [base.scalar_limbs(self.format, length * w, "dt") for w in ends]
        drifts = [base.scalar_limbs(self.format, length * w, "dt") for w in weights]
        if not all(np.isfinite(words[0]) for words in (*kicks, *drifts)):
            raise ArgumentError(f"dt: {shown(dt)} given, too large for {self.format.name}")
        ended = _kept(self.time + count * length, "dt", dt, "the time that it gives")
        position, velocity = self._bodies[:, :3].planes, self._velocity.planes

        def once() -> None:
            for kick, drift in zip(kicks, drifts, strict=False):
                force = self._forces().planes
                elementwise.apply("fma", [kick, force, velocity], velocity)
                elementwise.apply("fma", [drift, velocity, position], position)
                self._current = False
            elementwise.apply("fma", [kicks[-1], self._forces().planes, velocity], velocity)

        # A first step may compute forces that later ones find.
        alone = count if count < REPEATED or is_recording() else 1
        for _ in range(alone):
            once()
        if alone < count:
            with recording() as launches:
                once()
            Repeated(launches)(count - alone - 1)
        self.time = ended
        self.steps += count

    # --- what should not change ---------------------------------------------------------------

    def energy(self) -> Array:
        """Kinetic and potential energy, of shape (): see nbody.energy."""
        r, m = self._bodies[:, :3], self._bodies[:, 3]
        return energy(r, self._velocity, m, eps=self._eps, root=self._root)

    def angular_momentum(self) -> list[Array]:
        """Sum of m r x v: three arrays of shape ()."""
        r, v, m = self._bodies[:, :3], self._velocity, self._bodies[:, 3]
        turns = ((1, 2), (2, 0), (0, 1))
        return [dot(m * r[:, i], v[:, j]) - dot(m * r[:, j], v[:, i]) for i, j in turns]

    # --- files ----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the whole state to a .npz file; ``load`` goes on from there with the same bits."""
        file = Path(path)
        if file.suffix.lower() != ".npz":
            raise InputError(f"{file}: a state is saved as .npz")
        files.write_members(file, self.members())

    def members(self) -> dict[str, np.ndarray[Any, Any]]:
        """The whole state as arrays by name; ``restored`` makes a system of them."""
        facts = {
            "version": FILE_VERSION,
            "format": self.format.name,
            "time": str(self.time),
            "steps": self.steps,
            "eps": str(self._eps),
            "root": self._root,
        }
        planes = {"facts": np.array(json.dumps(facts))}
        for name, value in (("bodies", self._bodies), ("velocity", self._velocity)):
            planes |= {f"{name}{i}": plane for i, plane in enumerate(value.to_limbs())}
        return planes


_DIGITS = 2000
"""Of a numerator and of a denominator, as a file holds them."""
_RATIONAL = re.compile(rf"-?[0-9]{{1,{_DIGITS}}}(/[1-9][0-9]{{0,{_DIGITS - 1}}})?")


def _kept(value: Fraction, argument: str, given: object, what: str) -> Fraction:
    """A number that a file can hold; ArgumentError for longer ones, also than Python writes."""
    longest = max(value.numerator.bit_length(), value.denominator.bit_length())
    if longest < 4 * _DIGITS and _RATIONAL.fullmatch(str(value)):
        return value
    raise ArgumentError(f"{argument}: {shown(given)} given; {what} has more than {_DIGITS} digits")


def load(path: str | Path, form: str | None = None, device: str | Device | None = None) -> System:
    """The system that ``System.save`` wrote, where asked for in another format."""
    file = Path(path)
    found = files.members(file)
    try:
        return restored(found, form, device)
    except Exception as error:  # a file may hold anything in the place of anything
        raise InputError(f"{file}: is no saved system: {error}") from None


def restored(
    found: Mapping[str, np.ndarray[Any, Any]], form: str | None, device: str | Device | None
) -> System:
    """The system whose ``members`` are given; whatever error where they are none."""
    facts = json.loads(str(found["facts"][()]))
    if facts["version"] != FILE_VERSION:
        raise InputError(f"version {facts['version']!r}, {FILE_VERSION} is read")
    stored = formats.get(facts["format"])
    wanted = formats.get(form) if form else stored
    bodies, velocity = (
        convert.change_format([found[f"{name}{i}"] for i in range(stored.limbs)], stored, wanted)
        for name in ("bodies", "velocity")
    )
    if bodies[0].ndim != 2 or bodies[0].shape[1] != 4:
        raise InputError(f"bodies of shape {bodies[0].shape}, (n, 4) is needed")
    texts = [str(facts[name]) for name in ("time", "eps")]
    if not all(map(_RATIONAL.fullmatch, texts)):
        raise InputError(f"time and eps {texts!r:.80}, rational numbers are needed")
    return System(
        from_limbs([x[:, :3] for x in bodies], wanted, device),
        from_limbs(velocity, wanted, device),
        from_limbs([x[:, 3] for x in bodies], wanted, device),
        time=Fraction(texts[0]),
        eps=Fraction(texts[1]),
        root=facts["root"],
        steps=facts["steps"],
    )


def is_saved(path: str | Path) -> bool:
    """Whether a .npz file claims to hold a state that ``System.save`` wrote."""
    return "facts" in files.headers(path)


def exact(value: Scalar, argument: str) -> Fraction:
    """A number as it was given: a decimal string exactly, a float by its value."""
    try:
        plain = value.item() if isinstance(value, np.generic) else value
        return Fraction(parse.parse_number(plain, argument) if isinstance(plain, str) else plain)
    except (InputError, ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ArgumentError(
            f"{argument}: {shown(value)} given, a finite number is needed"
        ) from None


def _count(value: object, argument: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ArgumentError(f"{argument}: {shown(value)} given, an integer from 0 on is needed")
    return int(value)
