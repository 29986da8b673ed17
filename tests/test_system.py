"""Particles that move: steps, what is conserved, files, initial values, the command."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import cli, formats, nbody
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, InputError, ShapeError
from portmp.nbody import particles, simulate, system
from portmp.nbody.system import SCHEMES, System
from portmp.nbody.trajectory import Plan, begun, follow, go_on
from portmp.progress import Progress
from portmp.routines import base
from portmp.routines.elementwise import reference as elementwise_reference
from portmp.routines.gravity import reference as gravity_reference

mpmath = pytest.importorskip("mpmath")

TABLE = "# G = 1/4\nname, mass,x,y,z,vx,vy,vz\na, 4,1,0,0,0,0.5,0\nb, 4,-1,0,0,0,-0.5,0\n"


def pair(form: str, device: Device) -> System:
    """Two particles on a circle of radius 1 that they go round in time 4 pi."""
    return System(
        mp.array([[1, 0, 0], [-1, 0, 0]], form, device),
        mp.array([["0", "0.5", "0"], ["0", "-0.5", "0"]], form, device),
        mp.array([1, 1], form, device),
    )


def bits(*arrays: mp.Array) -> list[bytes]:
    """All limbs."""
    return [plane.tobytes() for array in arrays for plane in array.to_limbs()]


@pytest.mark.parametrize("name", ["float32", "float64", "dd", "ts"])
@pytest.mark.parametrize("scheme", ["leapfrog", "yoshida4"])
def test_a_step_is_kicks_and_drifts(device: Device, name: str, scheme: str) -> None:
    """Two steps have the bits of the same operations on the host."""
    form = formats.get(name)
    made = particles.plummer(5, 1)
    r, v, m = (mp.array(x, form, device) for x in (made.position, made.velocity, made.mass))
    moving = System(r, v, m, eps="0.1")
    moving.step("0.01", 2, scheme)
    host_r, host_v, host_m = (x.to_limbs() for x in (r, v, m))
    eps2 = nbody.squared("0.1", form)

    def moved(y: Any, factor: Fraction, x: Any) -> Any:
        words = base.scalar_limbs(form, factor, "dt")
        full = [np.full(plane.shape, w, plane.dtype) for w, plane in zip(words, y, strict=True)]
        return elementwise_reference.elementwise(form, "fma", full, x, y)

    dt, weights = Fraction("0.01"), SCHEMES[scheme]
    ends = [0, *weights, 0]
    for _ in range(2):
        for k in range(len(weights) + 1):
            force = gravity_reference.gravity(form, host_r, host_r, host_m, eps2)[0]
            host_v = moved(host_v, dt * (ends[k] + ends[k + 1]) / 2, force)
            if k < len(weights):
                host_r = moved(host_r, dt * weights[k], host_v)
    assert bits(moving.position, moving.velocity) == [x.tobytes() for x in (*host_r, *host_v)]
    assert moving.time == Fraction("0.02") and moving.steps == 2


@pytest.mark.parametrize(("scheme", "order"), [("leapfrog", 2), ("yoshida4", 4), ("yoshida6", 6)])
def test_order(device: Device, scheme: str, order: int) -> None:
    """Half the step, 2^order times less error, far below float64's roundoff."""
    errors = []
    for steps in (64, 128):
        moving = pair("td", device)
        moving.step(Fraction(1, steps), steps, scheme)
        x = moving.position.to_fractions()[0]
        with mpmath.workdps(50):
            place = [mpmath.mpf(c.numerator) / c.denominator for c in x]
            errors.append(mpmath.hypot(place[0] - mpmath.cos(0.5), place[1] - mpmath.sin(0.5)))
    assert abs(float(errors[0] / errors[1]) / 2**order - 1) < 0.02


@pytest.mark.parametrize(("name", "bound"), [("float64", 1e-12), ("dd", 1e-28), ("qs", 1e-24)])
def test_there_and_back(device: Device, name: str, bound: float) -> None:
    """A reversed run ends where it began, but for rounding."""
    moving = pair(name, device)
    before = np.array(moving.position.to_fractions(), object)
    moving.step("0.05", 40, "yoshida4")
    moving.step("-0.05", 40, "yoshida4")
    after = np.array(moving.position.to_fractions(), object)
    assert float(abs(after - before).max()) < bound
    assert moving.time == 0 and moving.steps == 80


def test_energy_and_momentum(device: Device) -> None:
    """Of the circle: exact values, and angular momentum to rounding after steps."""
    moving = pair("dd", device)
    r, v, m = moving.position, moving.velocity, moving.mass
    assert nbody.kinetic_energy(v, m).to_fractions() == Fraction(1, 4)
    assert nbody.potential_energy(r, m).to_fractions() == Fraction(-1, 2)
    assert moving.energy().to_fractions() == Fraction(-1, 4)
    assert [x.to_fractions() for x in moving.angular_momentum()] == [0, 0, 1]
    moving.step("0.1", 50)
    turn = moving.angular_momentum()[2].to_fractions()
    assert abs(turn - 1) < Fraction(1, 2**98)


def test_no_and_one_particle(device: Device) -> None:
    """Nothing stays nothing, one goes straight on."""
    none = System(*(mp.zeros(s, "dd", device) for s in ((0, 3), (0, 3), (0,))))
    none.step(1, 2)
    assert len(none) == 0
    one = System(
        mp.array([[1, 2, 3]], "dd", device),
        mp.array([[1, 0, 2]], "dd", device),
        mp.array([5], "dd", device),
    )
    one.step("0.5", 4)
    assert one.position.to_fractions() == [[3, 2, 7]]


def test_continued_from_a_file(device: Device, tmp_path: Path) -> None:
    """The same bits as without the stop; another format takes the exact values."""
    made = particles.plummer(7, 3)
    arrays = [mp.array(x, "ts", device) for x in (made.position, made.velocity, made.mass)]
    moving = System(*arrays, eps="0.1")
    moving.step("0.1", 3, "yoshida6")
    moving.save(tmp_path / "state.npz")
    again = system.load(tmp_path / "state.npz", device=device)
    assert (again.time, again.steps, again.eps) == (Fraction("0.3"), 3, Fraction("0.1"))
    for one in (moving, again):
        one.step("0.1", 2)
    assert bits(moving.position, moving.velocity) == bits(again.position, again.velocity)
    wide = system.load(tmp_path / "state.npz", "qs", device)
    assert wide.format.name == "qs"


def facts(**changes: Any) -> str:
    """What a saved state says of itself, with changes."""
    usual = {"version": 1, "format": "dd", "time": "0", "steps": 0, "eps": "0", "root": "exact"}
    return json.dumps({**usual, **changes})


def test_the_state_is_its_own(device: Device) -> None:
    """What is read is a copy; numbers of NumPy are taken."""
    moving, other = pair("dd", device), pair("dd", device)
    for array in (moving.position, moving.velocity, moving.mass, moving.acceleration()):
        array[:] = 7
    moving.step(np.float64(0.5), np.int64(2))
    other.step("0.5", 2)
    assert bits(moving.position, moving.velocity) == bits(other.position, other.velocity)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"facts": None}, "is no saved system: 'facts'"),
        ({"bodies1": None}, "is no saved system: 'bodies1'"),
        ({"facts": '{"version": 7}'}, "version 7, 1 is read"),
        ({"facts": "x"}, "is no saved system"),
        ({"facts": facts(time="1/0")}, "rational numbers are needed"),
        ({"facts": facts(steps=-3)}, "steps: -3 given"),
        ({"facts": facts(root="best")}, "root: 'best' given"),
        ({"velocity1": np.zeros(3)}, "is no saved system"),
    ],
)
def test_damaged_states(
    device: Device, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """Named, with what is missing."""
    file = tmp_path / "state.npz"
    pair("dd", device).save(file)
    arrays = dict(np.load(file))
    for name, value in changes.items():
        arrays.pop(name) if value is None else arrays.update({name: np.array(value)})
    np.savez(file, **arrays)
    with pytest.raises(InputError, match=message):
        system.load(file, device=device)


def test_wrong_arguments(device: Device, tmp_path: Path) -> None:
    """Each names the argument."""
    moving = pair("dd", device)
    with pytest.raises(ArgumentError, match=r"scheme: 'leap' given \(did you mean 'leapfrog'"):
        moving.step(1, 1, "leap")
    with pytest.raises(ArgumentError, match="count: -1 given"):
        moving.step(1, -1)
    with pytest.raises(ArgumentError, match="dt: 'x' given, a finite number"):
        moving.step("x")
    with pytest.raises(ArgumentError, match="dt: '1e400' given, too large for dd"):
        moving.step("1e400")
    with pytest.raises(ShapeError, match=r"mass: shape \(1,\) given, \(2,\) needed"):
        nbody.kinetic_energy(moving.velocity, moving.mass[:1])
    with pytest.raises(ShapeError, match=r"velocity: shape \(2,\) given, \(2, 3\) needed"):
        System(moving.position, moving.mass, moving.mass)
    with pytest.raises(FormatError, match="root: 'fast' given"):
        System(moving.position, moving.velocity, moving.mass, root="fast")
    with pytest.raises(ShapeError, match=r"velocity: shape \(2,\) given, \(n, 3\) needed"):
        nbody.kinetic_energy(moving.mass, moving.mass)
    with pytest.raises(InputError, match=r"a state is saved as \.npz"):
        moving.save(tmp_path / "state.csv")


# --- initial values ---------------------------------------------------------------------------


def test_table(tmp_path: Path) -> None:
    """Exact numbers, the constant in the masses, names."""
    file = tmp_path / "pair.csv"
    file.write_text(TABLE)
    made = particles.read(file)
    assert made.names == ("a", "b")
    assert made.mass == [1, 1]
    assert made.velocity[1] == [0, Fraction(-1, 2), 0]
    assert len(particles.read("outer_solar_system").mass) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no particles"),
        ("mass,x,y,z,vx,vy\n", "no column 'vz'"),
        ("mass,x,y,z,vx,vy,vz\n1,2\n", "line 2: 2 fields, the heading has 7"),
        ("mass,x,y,z,vx,vy,vz\n1,2,3,4,5,6,no\n", "line 2: vz: 'no' is no finite number"),
        ("# G = big\nmass,x,y,z,vx,vy,vz\n", "line 1: G: 'big' is no finite number"),
        ("mass,x,y,z,vx,vy,vz\n", "holds no particles"),
        ("mass,x,y,z,vx,vy,vz,x\n", "two columns are called 'x'"),
        ("# G = 2.5 (km)\nmass,x,y,z,vx,vy,vz\n", "line 1: G: '2.5 .km.' is no finite number"),
        ("mass,x,y,z,vx,vy,vz\n1,1e999999999,0,0,0,0,0\n", "x: '1e999999999' is no finite number"),
    ],
)
def test_wrong_tables(tmp_path: Path, text: str, message: str) -> None:
    """The file, the line and the field."""
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        particles.read(file)


ARRAYS = {"position": np.eye(3), "velocity": np.zeros((3, 3)), "mass": np.ones(3)}


def test_arrays(tmp_path: Path) -> None:
    """A .npz file with position, velocity, mass and the constant."""
    file = tmp_path / "bodies.npz"
    np.savez(file, **ARRAYS, G=np.float64(2.5))
    made = particles.read(file)
    assert made.mass == [Fraction(5, 2)] * 3 and made.names == ("", "", "")
    assert np.array_equal(made.position, np.eye(3))
    assert cli.main(["nbody", str(file), "--dt", "0.01", "--steps", "2", "--eps", "0.1"]) == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mass": np.ones(2)}, "position: float64 of shape .3, 3. given"),
        ({"velocity": np.full((3, 3), np.inf)}, "velocity: not all numbers are finite"),
        ({"mass": np.array(["a"] * 3)}, "mass: "),
        ({"G": np.ones(2)}, "G: float64 of shape"),
        ({"position": None}, "no array 'position'"),
    ],
)
def test_wrong_arrays(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    """The file and the array."""
    file = tmp_path / "bodies.npz"
    given = {name: array for name, array in (ARRAYS | changed).items() if array is not None}
    np.savez(file, **given)
    with pytest.raises(InputError, match=message):
        particles.read(file)


def test_positions_are_kept_only_where_they_are_used(device: Device) -> None:
    """Samples of many particles would take more than the particles."""
    made = particles.plummer(20)
    for ways in (False, True):
        moving = simulate.start(made, formats.get("float64"), device, "0.1", "exact")
        plan = Plan("leapfrog", Fraction(1, 100), 4, 2, False, ways)
        course = follow(begun(moving, plan), plan, Progress(False), go_on)
        assert len(course.positions) == (3 if ways else 0) and len(course.times) == 3


def test_spheres(device: Device) -> None:
    """From a seed, in float32 numbers; a Plummer sphere has energy near -1/4, at rest."""
    made, again = particles.plummer(2000, 5), particles.plummer(2000, 5)
    assert np.array_equal(made.position, again.position)
    assert not np.array_equal(made.position, particles.plummer(2000, 6).position)
    for values in (made.position, made.velocity):
        assert np.array_equal(np.float32(values), values)
        assert abs(np.mean(values, axis=0)).max() < 1e-7
    arrays = [mp.array(x, "float64", device) for x in (made.position, made.velocity, made.mass)]
    assert abs(float(System(*arrays).energy()) + 0.25) < 0.02
    cold = particles.uniform(500)
    assert not np.any(cold.velocity)
    assert np.linalg.norm(cold.position, axis=1).max() < 1.2
    with pytest.raises(ArgumentError, match="number: 0 given"):
        particles.uniform(0)


# --- the command --------------------------------------------------------------------------------


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two formats side by side, the way back, a state to go on from, a picture."""
    state, way = tmp_path / "state.npz", tmp_path / "way.npz"
    arguments = ["nbody", "--steps", "12", "--samples", "3", "--reverse", "--json"]
    assert cli.main([*arguments, "--trajectory", str(way)]) == 0
    report = json.loads(capsys.readouterr().out)
    single, double = report["runs"]
    assert [single["format"], double["format"]] == ["float64", "dd"]
    assert single["times"] == [0, 400, 800, 1200]
    assert double["returned"] < 1e-26 < single["returned"] < 1e-10
    assert max(double["momentum_errors"]) < 1e-28
    assert np.load(way)["dd"].shape == (4, 6, 3)
    assert cli.main(["nbody", "--format", "dd", "--steps", "2", "-o", str(state)]) == 0
    assert cli.main(["nbody", str(state), "--format", "dd", "--steps", "1"]) == 0
    assert "6 particles, 1 steps of 100" in capsys.readouterr().out
    for words, back in (([], True), (["--no-reverse"], False), (["-o", str(state)], False)):
        given = ["nbody", "--format", "dd", "--steps", "2", "--json", *words]
        assert cli.main(given) == 0  # the way back, where nothing is written, shows the difference
        found = json.loads(capsys.readouterr().out)["runs"][0]["returned"]
        assert (found is not None) == back
    assert cli.main(["nbody", str(state), "--eps", "1"]) == 2
    assert "--eps: a saved state has its own" in capsys.readouterr().err


def test_picture(tmp_path: Path) -> None:
    """Orbits and errors are drawn."""
    pytest.importorskip("matplotlib")
    file = tmp_path / "orbits.svg"
    assert cli.main(["nbody", "--steps", "8", "--format", "dd", "--plot", str(file)]) == 0
    assert file.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scheme", "rk4"], "--scheme: 'rk4' given"),
        (["--steps", "0"], "--steps: 0 given, at least 1"),
        (["--dt", "x"], "--dt: 'x' given"),
        (["--number", "9"], "--number: only plummer and uniform have it, outer_solar_system given"),
        (["plummer", "--number", "0"], "--number: 0 given, at least 1"),
        (["--root", "quick"], "--root: 'quick' given"),
        (["--format", "dd,td", "-o", "x.npz"], "--output: one state is saved, 2 formats"),
        (["--trajectory", "x.csv"], "must end with .npz"),
        (["nowhere.csv"], "nowhere.csv: cannot be read"),
        (["--format", "float17"], "unknown format 'float17'"),
        (["--format", "float16"], "nbody: float16 is a storage format"),
        (["--eps", "x"], "--eps: 'x' given, a finite number"),
        (["state.npz", "--eps", "1"], "state.npz: cannot be read"),
    ],
)
def test_wrong_command_lines(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    """One line, status 2."""
    assert cli.main(["nbody", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_collision(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Two particles in one place, without softening: an error that says so."""
    file = tmp_path / "met.csv"
    file.write_text("mass,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n1,0,0,0,0,0,0\n")
    assert cli.main(["nbody", str(file), "--steps", "2", "--dt", "1"]) == 2
    assert "without softening" in capsys.readouterr().err
