"""Gravity by direct summation: exact values, schedules, arguments."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import gmpy2
import numpy as np
import pytest
from slow import mostly_slow, slow

import portmp as mp
from portmp import formats, nbody
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, InputError, OutOfMemory, ShapeError
from portmp.formats import convert, inputs
from portmp.nbody import particles as particles_of
from portmp.networks import evaluator, ieee
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity import reference as gravity_reference
from portmp.routines.gravity import schedule as gravity_schedule
from portmp.routines.gravity.schedule import NbodySchedule

ROOT = Path(__file__).resolve().parents[1]
Host = list[np.ndarray[Any, Any]]
EPS = "0.01"
BOUNDS = {"acceleration": (47, 16), "potential": (36, 12)}
"""Largest errors in u^N of the sum of magnitudes that nbody states: of one limb, of several."""

SCHEDULES = (
    NbodySchedule(8, 1, 16, 4),
    NbodySchedule(4, 3, 32, 4, ilp=2),
    NbodySchedule(2, 2, 8, 2, shared=0),
    NbodySchedule(1, 2, 256, 1, shared=0),
    NbodySchedule(8, 1, 16, 4, stages=2),
    NbodySchedule(4, 2, 32, 2).for_call(parts=True),
)


def particles(name: str, count: int, seed: str = "n") -> tuple[Host, Host]:
    """Positions and masses; every second pair is close, one mass is 2^40 times larger."""
    form = formats.get(name)
    position = inputs.ordinary(form, (count, 3), f"{seed} r")
    mass = inputs.positive(form, (count,), f"{seed} m")
    half = count // 2
    for plane in position:
        plane[half : 2 * half] = plane[:half]
    position[0][half : 2 * half] *= position[0].dtype.type(1 + 2.0**-12)
    mass[0][:1] *= mass[0].dtype.type(2.0**40)
    for plane in mass[1:]:
        plane[:1] = 0
    return position, mass


def arrays(name: str, count: int, device: Device, seed: str = "n") -> tuple[mp.Array, mp.Array]:
    """The same on a device."""
    position, mass = particles(name, count, seed)
    return mp.from_limbs(position, name, device), mp.from_limbs(mass, name, device)


def numbers(planes: Host) -> Any:
    """Values as binary numbers of the context's precision, which must hold all bits."""
    return sum(np.frompyfunc(gmpy2.mpfr, 1, 1)(plane.astype(np.float64)) for plane in planes)


def exact(position: Any, mass: Any, eps: Any) -> tuple[Any, Any, Any, Any]:
    """Accelerations, potentials, and the sums of their terms' magnitudes (of the first floats)."""
    count = len(mass)
    i, j = np.triu_indices(count, 1)
    apart = position[j] - position[i]
    inverse = np.frompyfunc(gmpy2.rec_sqrt, 1, 1)((apart * apart).sum(-1) + eps * eps)
    pull, depth = np.full((count, count, 3), gmpy2.mpfr(0)), np.full((count,) * 2, gmpy2.mpfr(0))
    pull[i, j] = (inverse * inverse * inverse)[:, None] * apart
    pull[j, i] = -pull[i, j]
    depth[i, j] = depth[j, i] = inverse
    size = mass.astype(np.float64) @ abs(pull.astype(np.float64))
    return mass @ pull, size, -(depth @ mass), depth @ mass


def errors(form: formats.Format, host: Host, masses: Host, device: Device) -> tuple[float, float]:
    """The largest of accelerations and of potentials, in u^N of the sums of magnitudes."""
    position, mass = (mp.from_limbs(limbs, form, device) for limbs in (host, masses))
    results = nbody.field(position, mass, eps=EPS)
    softening = [plane[None] for plane in mp.array(EPS, form, device).to_limbs()]
    with gmpy2.context(precision=400):
        force, size, phi, depth = exact(numbers(host), numbers(masses), numbers(softening))
        found = [
            abs(numbers(got.to_limbs()) - value) / scale * 2**form.bits
            for got, value, scale in zip(results, (force, phi), (size, depth), strict=True)
        ]
    return float(found[0].astype(np.float64).max()), float(found[1].astype(np.float64).max())


def bits(*results: mp.Array) -> list[bytes]:
    """All limbs."""
    return [plane.tobytes() for result in results for plane in result.to_limbs()]


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        formats.STANDARD,
        ("float64", "ds", "td", "qs", "d+s"),
        "the same networks in the other word; all run in test_many_particles",
    ),
)
def test_values(device: Device, name: str) -> None:
    """Within 20 u^N of the sum of the magnitudes; close pairs and a huge mass among them."""
    assert max(errors(formats.get(name), *particles(name, 30), device)) <= 20


def sphere(form: formats.Format) -> tuple[Host, Host]:
    """512 particles of a Plummer sphere."""
    made = particles_of.plummer(512, 7)
    position = [[Fraction(c) for c in row] for row in made.position]
    return convert.to_limbs(position, form, "r"), convert.to_limbs(made.mass, form, "m")


def hostile(form: formats.Format) -> tuple[Host, Host]:
    """512 particles: equal positions, close pairs, eight masses 2^40 times larger."""
    position = inputs.ordinary(form, (512, 3), "hostile r")
    mass = inputs.positive(form, (512,), "hostile m")
    for plane in position:
        plane[256:384] = plane[384:] = plane[:128]
    position[0][256:384] *= position[0].dtype.type(1 + 2.0**-12)
    mass[0][:8] *= mass[0].dtype.type(2.0**40)
    for plane in mass[1:]:
        plane[:8] = 0
    return position, mass


def fast(case: dict[str, Any]) -> bool:
    """Both inputs for the formats of one and of two float64, one for those of float32 and mixed."""
    if case["name"] in ("float64", "dd"):
        return True
    return case["name"] in ("ts", "d+s") and case["make"] is hostile


@slow("formats of a word differ by their number of limbs alone", unless=fast)
@pytest.mark.parametrize("make", [sphere, hostile])
@pytest.mark.parametrize("name", formats.STANDARD)
def test_many_particles(device: Device, name: str, make: Any) -> None:
    """All of 512 particles, against 400 bits: within the bounds that nbody states.

    Of accelerations 47 u of one limb and 16 u^N of several, of potentials 36 and 12. The
    largest errors are 46.6 and 35.8 (float64, hostile), 15.03 and 11.3 (dd, hostile).
    """
    form = formats.get(name)
    force, phi = errors(form, *make(form), device)
    several = form.limbs > 1
    assert force <= BOUNDS["acceleration"][several]
    assert phi <= BOUNDS["potential"][several]


@pytest.mark.parametrize("name", BOUNDS)
def test_stated_bounds(name: str) -> None:
    """The function's words and the document have the numbers that the test above asserts."""
    words = "{} of one limb and {} of several".format(*BOUNDS[name])
    assert words in " ".join(getattr(nbody, name).__doc__.split())
    assert "| {} | {} |".format(name, " | ".join(map(str, BOUNDS[name]))) in (
        ROOT / "docs/nbody.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        ["float32", "dd", "qs", "d+s"],
        ("d+s",),
        "many kernels; float32 and dd have as many below, d+s has planes of two sizes",
    ),
)
def test_schedules(device: Device, name: str) -> None:
    """Tiles, targets a thread, shared memory: the reference's bits, over two slabs."""
    position, mass = arrays(name, 1061, device)
    some = position[1:8] + 0
    usual = nbody.acceleration(position, mass, eps=EPS, targets=some)
    host = [limbs.to_limbs() for limbs in (some, position, mass)]
    form = formats.get(name)
    wanted = gravity_reference.gravity(form, *host, nbody.squared(EPS, form))[0]
    assert bits(usual) == [plane.tobytes() for plane in wanted]
    for schedule in SCHEDULES:
        got = nbody.acceleration(position, mass, eps=EPS, targets=some, schedule=schedule)
        assert bits(got) == bits(usual), schedule


@pytest.mark.parametrize("eps", [EPS, 0])
def test_ways_to_call(device: Device, eps: Any) -> None:
    """One quantity or both, an output of one's own, strided operands: the same bits."""
    position, mass = arrays("ds", 19, device)
    force, phi = nbody.field(position, mass, eps=eps)
    assert bits(nbody.acceleration(position, mass, eps=eps)) == bits(force)
    assert bits(nbody.potential(position, mass, eps=eps)) == bits(phi)
    out = mp.zeros((19, 3), "ds", device)
    assert bits(nbody.acceleration(position, mass, eps=eps, out=out), out) == 2 * bits(force)
    turned = mp.from_limbs([p.T.copy() for p in position.to_limbs()], "ds", device).T
    assert bits(nbody.acceleration(turned, mass, eps=eps)) == bits(force)


def test_a_particle_does_not_attract_itself(device: Device) -> None:
    """Alone it feels nothing, with and without softening; a copy elsewhere acts."""
    position, mass = arrays("dd", 1, device)
    for eps in (0, "0.5"):
        force, phi = nbody.field(position, mass, eps=eps)
        assert not np.any(force.to_limbs()) and not np.any(phi.to_limbs())
    apart = nbody.potential(position, mass, eps="0.5", targets=position + 0)
    assert (apart.to_float64() < 0).all()


def test_no_particles(device: Device) -> None:
    """No targets, no sources."""
    none, weight = mp.zeros((0, 3), "ts", device), mp.zeros((0,), "ts", device)
    assert nbody.acceleration(none, weight).shape == (0, 3)
    assert nbody.potential(none, weight).shape == (0,)
    targets, _ = arrays("ts", 5, device)
    force, phi = nbody.field(none, weight, targets=targets)
    assert not np.any(force.to_limbs()) and not np.any(phi.to_limbs())


def test_coinciding_particles(device: Device) -> None:
    """Softened they exert no force on each other; without softening the result is NaN."""
    position = mp.array([[1, 2, 3], [1, 2, 3]], "qd", device)
    mass = mp.array([1, "1e12"], "qd", device)
    assert not np.any(nbody.acceleration(position, mass, eps="1e-3").to_limbs())
    for result in nbody.field(position, mass):
        limbs = result.to_limbs()
        assert np.isnan(limbs[0]).all() and not np.any(limbs[1:])


@slow("each root in one word", unless=lambda p: (p["name"] == "float64") == (p["root"] == "rsqrt"))
@pytest.mark.parametrize("root", ["fast", "rsqrt", "division"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_other_roots(device: Device, name: str, root: str) -> None:
    """Near the exact one; the same with any schedule."""
    position, mass = arrays(name, 300, device)
    wanted = nbody.acceleration(position, mass, eps="0.1").to_float64()
    got = nbody.acceleration(position, mass, eps="0.1", root=root)
    unit = 2.0 ** -formats.get(name).bits
    assert np.abs(got.to_float64() - wanted).max() < 300 * unit * np.abs(wanted).max()
    for schedule in SCHEDULES[:2]:
        again = nbody.acceleration(position, mass, eps="0.1", root=root, schedule=schedule)
        assert bits(again) == bits(got)


def test_roots_of_words() -> None:
    """The host's root is the correctly rounded one; float64 is cut, whatever its exponent."""
    x = np.float32(1) + np.arange(0, 2**23, 4099, dtype=np.float32) * np.float32(2.0**-23)
    for scaled in (x, 2 * x, x * np.float32(2.0**-124), x * np.float32(2.0**120)):
        root = evaluator.inverse_root(scaled)
        with gmpy2.context(precision=100):
            for a, y in zip(scaled[::97], root[::97], strict=True):
                error = abs(gmpy2.rec_sqrt(gmpy2.mpfr(float(a))) - float(y))
                assert error <= gmpy2.mpfr(float(np.spacing(y))) / 2
    wide = np.ldexp(x.astype(np.float64) / 3, np.arange(x.size) % 2000 - 1000)
    assert np.abs(evaluator.inverse_root(wide) * np.sqrt(wide) - 1).max() < 2.0**-23
    hard = np.array([0, -1, np.inf, np.nan, 1e-310])
    with ieee.quiet():
        assert np.isnan(evaluator.inverse_root_guarded(hard)[[0, 1, 3, 4]]).all()
        assert np.isnan(evaluator.inverse_root_guarded(hard.astype(np.float32))).all()


@slow("each format with one softening", unless=lambda p: (p["eps"] == 0) == (p["name"] == "dd"))
@pytest.mark.parametrize("name", ["float32", "dd"])
@pytest.mark.parametrize("eps", [EPS, 0])
def test_own_terms_with_any_schedule(device: Device, name: str, eps: Any) -> None:
    """Accelerations and potentials of the particles themselves: the reference's bits."""
    form = formats.get(name)
    position, mass = arrays(name, 150, device)
    r, m = position.to_limbs(), mass.to_limbs()
    wanted = [
        plane.tobytes()
        for result in gravity_reference.gravity(form, r, r, m, nbody.squared(eps, form), 0)
        for plane in result
    ]
    widths = [NbodySchedule(1, 2, 32, 2, 0, w) for w in (2, 4)]
    for schedule in (
        None,
        *SCHEDULES[:3],
        SCHEDULES[-1],
        *(widths if device.traits.root == "ieee" else ()),
    ):
        assert bits(*nbody.field(position, mass, eps=eps, schedule=schedule)) == wanted, schedule


def test_an_own_term_that_overflows(device: Device) -> None:
    """m / eps^3 is infinite: still a particle does not attract itself."""
    for name, eps in (("float32", "1e-14"), ("ds", "1e-14"), ("float64", "1e-110")):
        host = inputs.ordinary(formats.get(name), (9, 3), "far")
        position, mass = mp.from_limbs(host, name, device), mp.array([1] * 9, name, device)
        force = nbody.acceleration(position, mass, eps=eps)
        assert np.isfinite(force.to_float64()).all()
        assert bits(force) == bits(nbody.field(position, mass, eps=eps)[0])


def test_parts_without_sources(device: Device) -> None:
    """Nothing to share out: zeros."""
    none, weight = mp.zeros((0, 3), "dd", device), mp.zeros((0,), "dd", device)
    targets, _ = arrays("dd", 5, device)
    schedule = NbodySchedule(4, 1, 32, 4).for_call(parts=True)
    force = nbody.acceleration(none, weight, targets=targets, schedule=schedule)
    assert not np.any(force.to_limbs())


def test_parts_without_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where slabs' sums do not fit, whole blocks give the same bits."""
    position, mass = arrays("dd", 1200, device)
    schedule = NbodySchedule(4, 1, 32, 4).for_call(parts=True)
    wanted = bits(nbody.acceleration(position, mass, eps=EPS, schedule=schedule))

    def full(*_: Any) -> None:
        raise OutOfMemory("full")

    with monkeypatch.context() as patch:
        patch.setattr(gravity, "SPARED", 10**9)
        patch.setattr(gravity, "MOST_PARTS", 4 * 1200)
        assert bits(nbody.acceleration(position, mass, eps=EPS, schedule=schedule)) == wanted
    bodies = gravity.packed(position.planes, mass.planes)
    out = mp.zeros((1200, 3), "dd", device)
    monkeypatch.setattr(gravity, "allocate", full)
    targets = bodies.view((1200, 3), (4, 1), bodies.start)
    eps2 = nbody.squared(EPS, bodies.format)
    found = {"acceleration": out.planes}
    gravity.gravity_sum(targets, bodies, eps2, found, 0, schedule=schedule)
    assert bits(out) == wanted


def test_turns_that_blocks_fill() -> None:
    """The last turn's share, by what a unit takes: a warp for each scheduler, or two."""
    assert gravity.filled(528, 32, 132, 32) == 1
    assert gravity.filled(529, 32, 132, 32) == 529 / 1056
    assert gravity.filled(2731, 32, 132, 32) == 2731 / (6 * 528)  # 2^18 targets, three a thread
    assert gravity.filled(5462, 32, 132, 32) == 5462 / (6 * 1056)
    assert gravity.filled(10923, 32, 132, 32) == 10923 / (11 * 1056)
    assert gravity.filled(256, 1024, 132, 32) == 256 / 264
    assert gravity.filled(196, 1024, 132, 32) == 196 / 264
    assert gravity.filled(3, 256, 110, 64) == 3 / 110


class Gpu:
    """What the choice of a schedule asks of a device."""

    by_reference = False

    def __init__(self, kind: str = "gpu", memory: int = 150 * 10**9) -> None:
        self.properties = SimpleNamespace(kind=kind, memory=memory, compute_units=132, warp_size=32)


def test_when_slabs_go_to_blocks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few targets, and where whole blocks leave units idle and memory is there."""

    def spread(s: NbodySchedule, form: str, targets: int, device: Any) -> NbodySchedule:
        slabs = -(-targets // 1024)
        found: NbodySchedule = gravity._spread(s, formats.get(form), device, targets, slabs)
        return found

    gpu, narrow = Gpu(), NbodySchedule(32, 3, 256, 16)
    found = [spread(narrow, "float32", 2**k, gpu).parts for k in range(10, 23)]
    assert found == [k in range(11, 20) for k in range(10, 23)]
    wide = NbodySchedule(1024, 1, 128, 4)
    parts = [2**17, 200_000, 300_000]
    for targets in (*parts, 2**18, 390_000, 500_000):
        assert spread(wide, "dd", targets, gpu).parts == (targets in parts), targets
    assert not spread(wide, "dd", 200_000, Gpu(memory=16 * 10**9)).parts
    assert not spread(wide, "dd", 200_000, Gpu("cpu")).parts
    assert spread(NbodySchedule(512, 4), "float32", 2**18, gpu) == NbodySchedule(512, 2)
    monkeypatch.setattr(gravity_schedule, "nbody", lambda *_: wide)
    dd, device = formats.get("dd"), cast(Device, gpu)
    assert gravity.workspace(dd, device, 200_000) == 3 * 196 * 200_000 * 16
    assert gravity.workspace(dd, device, 2**18) == gravity.workspace(dd, device, 0) == 0


def test_distant_particles(device: Device) -> None:
    """float64 beyond float32's range, with every root."""
    position, mass = arrays("float64", 20, device)
    position = position * 2.0**200
    wanted = nbody.acceleration(position, mass)
    for root in ("fast", "rsqrt", "division"):
        got = nbody.acceleration(position, mass, root=root).to_float64()
        assert np.allclose(got, wanted.to_float64(), rtol=1e-10, atol=0)


def test_packed_sources(device: Device) -> None:
    """Views of one array (n, 4) are used as they are, also the second half of it."""
    position, mass = arrays("dd", 24, device)
    bodies = mp.zeros((30, 4), "dd", device)
    bodies[6:, :3] = position
    bodies[6:, 3] = mass
    part = bodies[6:]
    got = nbody.acceleration(part[:, :3], part[:, 3], eps=EPS)
    assert bits(got) == bits(nbody.acceleration(position, mass, eps=EPS))


def test_newton(device: Device) -> None:
    """A 3-4-5 triangle: exact in every format that holds the numbers."""
    position = mp.array([[0, 0, 0], [3, 4, 0]], "dd", device)
    force, phi = nbody.field(position, mp.array([1, 500], "dd", device))
    assert np.allclose(force.to_float64(), [[12, 16, 0], [-0.024, -0.032, 0]], rtol=1e-15)
    assert np.allclose(phi.to_float64(), [-100, -0.2], rtol=1e-15)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"position": [[1, 2, 3]]}, ArgumentError, "position: list given, an Array is needed"),
        ({"mass": 1.0}, ArgumentError, "mass: float given"),
        ({"targets": 1}, ArgumentError, "targets: int given"),
        ({"eps": float("inf")}, ArgumentError, "eps: inf given, a number with a finite square"),
        ({"eps": "x"}, InputError, "eps: 'x' is not a number"),
        ({"eps": "1e200"}, ArgumentError, "eps: '1e200' given, a number with a finite square"),
        ({"eps": [1]}, ShapeError, "eps: one number expected"),
        ({"root": ["exact"]}, ArgumentError, r"root: \['exact'\] given"),
        ({"schedule": "fast"}, ArgumentError, "schedule: 'fast' given, NbodySchedule is allowed"),
        ({"schedule": NbodySchedule(tile=24)}, ArgumentError, "tile 24, unroll 4 and ilp 1 given"),
        ({"schedule": NbodySchedule(shared=3)}, ArgumentError, "shared 3 given, 0, 1, 2 are"),
        ({"schedule": NbodySchedule(threads=0)}, ArgumentError, "threads 0 given"),
        ({"schedule": NbodySchedule(unroll=4, ilp=3)}, ArgumentError, "ilp 3 given"),
        ({"schedule": NbodySchedule(stages=2, shared=0)}, ArgumentError, "stages 2 with shared 0"),
        ({"schedule": NbodySchedule(async_copy=1)}, ArgumentError, "async_copy 1 given"),
        ({"root": "quick"}, ArgumentError, "root: 'quick' given; allowed are exact, fast"),
        ({"root": "fast"}, FormatError, "root: 'fast' given, formats of several limbs"),
    ],
)
def test_wrong_arguments(
    device: Device, changes: dict[str, Any], kind: type[Exception], message: str
) -> None:
    """Named, with what was given and what is allowed."""
    position, mass = arrays("dd", 4, device)
    given: dict[str, Any] = {"position": position, "mass": mass, **changes}
    with pytest.raises(kind, match=message):
        nbody.acceleration(**given)


def test_wrong_shapes_and_formats(device: Device) -> None:
    """Shapes, formats, outputs and the papers' formats."""
    position, mass = arrays("dd", 4, device)
    with pytest.raises(ShapeError, match=r"position: shape \(3, 4\) given, \(n, 3\) needed"):
        nbody.acceleration(position.T, mass)
    with pytest.raises(ShapeError, match=r"mass: shape \(3,\) given, \(4,\) needed"):
        nbody.potential(position, mass[:3])
    with pytest.raises(ShapeError, match=r"targets: shape \(4,\) given"):
        nbody.field(position, mass, targets=mass)
    with pytest.raises(FormatError, match="mass: format qd"):
        nbody.acceleration(position, mass.astype("qd"))
    with pytest.raises(ArgumentError, match="out: overlaps position"):
        nbody.acceleration(position, mass, out=position)
    if device.platform == "opencl":
        with pytest.raises(ArgumentError, match="root: 'rounded' given, OpenCL C"):
            nbody.potential(position.astype("float64"), mass.astype("float64"), root="rounded")
        # The language promises no rounding of roots: portmp's own serves, which is float32's exact.
        single = position.astype("float32"), mass.astype("float32")
        rounded, exact = (nbody.potential(*single, root=r) for r in ("rounded", "exact"))
        assert np.array_equal(rounded.to_limbs(), exact.to_limbs())
    with pytest.raises(FormatError, match=r"format dd2011 given, a paper.*allowed are float32"):
        nbody.acceleration(position.astype("dd2011"), mass.astype("dd2011"))
