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
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from portmp import formats
from portmp.arrays.array import Array, from_limbs, operand, zeros
from portmp.arrays.products import dot
from portmp.backends.base import Device, Queue, Repeated, is_recording, recording
from portmp.errors import ArgumentError, InputError, ShapeError, choice, shown
from portmp.files import arrays as files
from portmp.formats import convert, parse
from portmp.nbody.forces import acceleration, energy, squared
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
        arrays = {name: operand(value, name) for name, value in given.items()}
        form, n = position.format, mass.size
        for name, shape in (("position", (n, 3)), ("velocity", (n, 3)), ("mass", (n,))):
            if arrays[name].shape != shape:
                raise ShapeError(f"{name}: shape {arrays[name].shape} given, {shape} needed")
        several = len(position.pieces) > 1
        places = [getattr(x, "placement", None) for x in (position, velocity)]
        if len({len(x.pieces) for x in arrays.values()}) > 1 or places[0] != places[1]:
            raise ArgumentError(
                "velocity, mass: on other devices than position, or cut up otherwise; "
                "portmp.shard(velocity, like=position) cuts it up likewise"
            )
        for pieces in zip(*[x.pieces for x in arrays.values()], strict=True):
            base.same(form, **dict(zip(arrays, [piece.planes for piece in pieces], strict=True)))
            gravity.check_root(form, pieces[0].device.platform, root)
        self._velocity, self._out = velocity.copy(), dict[str, Any]()
        if several:
            self._position, self._mass = position.copy(), mass.copy()
        else:  # as kernels take sources
            bodies = zeros((n, 4), form, position.device)
            self._position, self._mass = bodies[:, :3], bodies[:, 3]
            self._position[...], self._mass[...] = position, mass
            self._out["out"] = Array(allocate(form, (n, 3), position.queue))
        self._eps, self._root = _kept(exact(eps, "eps"), "eps", eps, "it"), root
        self.time = _kept(exact(time, "time"), "time", time, "it")
        self.steps = _count(steps, "steps")
        squared(eps, form)  # refused at once, where it cannot be
        self._acceleration: Any = None

    @property
    def position(self) -> Array:
        """Positions (n, 3): a copy."""
        return self._position.copy()

    @property
    def velocity(self) -> Array:
        """Velocities (n, 3): a copy."""
        return self._velocity.copy()

    @property
    def mass(self) -> Array:
        """Masses (n,), times the gravitational constant: a copy."""
        return self._mass.copy()

    eps: Fraction = within("_eps", "The softening length.")
    root: str = within("_root", "Where the inverse square roots come from.")
    by_one: Any = within("_velocity.by_one", "What calls a function in one of several processes.")
    format: formats.Format = within("_velocity.format", "The number format of all quantities.")

    @property
    def queues(self) -> tuple[Queue, ...]:
        """Those of the devices where the state is, which may be several."""
        return tuple([piece.queue for piece in self._velocity.pieces])

    @property
    def device(self) -> Device:
        """The first device that this process has."""
        return next(queue.device for queue in self.queues if queue.device.rank is None)

    def __len__(self) -> int:
        return self._velocity.shape[0]

    def acceleration(self) -> Array:
        """Accelerations (n, 3) at the present positions: a copy."""
        return self._forces().copy()

    def _forces(self) -> Array:
        """Accelerations, computed where the particles have moved since."""
        if self._acceleration is None:
            how: dict[str, Any] = {"eps": self._eps, "root": self._root, **self._out}
            found: Any = acceleration(self._position, self._mass, **how)
            like: Any = self._position
            self._acceleration = found if self._out else found.placed(like.placement, like.queues)
        return cast(Array, self._acceleration)

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
        position, velocity = self._position, self._velocity

        def once() -> None:
            for kick, drift in zip(kicks, drifts, strict=False):
                _add(kick, self._forces(), velocity)
                _add(drift, velocity, position)
                self._acceleration = None
            _add(kicks[-1], self._forces(), velocity)

        # A first step may compute forces that later ones find; copies cannot be recorded.
        alone = count if count < REPEATED or not self._out or is_recording() else 1
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
        r, m = self._position, self._mass
        return energy(r, self._velocity, m, eps=self._eps, root=self._root)

    def angular_momentum(self) -> list[Array]:
        """Sum of m r x v: three arrays of shape ()."""
        r, v, m = self._position, self._velocity, self._mass
        turns = ((1, 2), (2, 0), (0, 1))
        return [dot(m * r[:, i], v[:, j]) - dot(m * r[:, j], v[:, i]) for i, j in turns]

    # --- files ----------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the whole state to a .npz file; ``load`` goes on from there with the same bits.

        Of several processes, all of which call it, one writes.
        """
        file = Path(path)
        if file.suffix.lower() != ".npz":
            raise InputError(f"{file}: a state is saved as .npz")
        self.by_one(partial(files.write_members, file, self.members()), f"that {file} is written")

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
        both = zip(self._position.to_limbs(), self._mass.to_limbs(), strict=True)
        bodies = [np.column_stack(one) for one in both]
        for name, value in (("bodies", bodies), ("velocity", self._velocity.to_limbs())):
            planes |= {f"{name}{i}": plane for i, plane in enumerate(value)}
        return planes


def _add(factor: base.ScalarLimbs, x: Array, y: Array) -> None:
    """y + factor x in the place of y, on each device."""
    for mine, to in zip(x.pieces, y.pieces, strict=True):
        elementwise.apply("fma", [factor, mine.planes, to.planes], to.planes)


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
