"""Memory that ``portmp nbody`` states before it begins: against what is really allocated."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from work import peak

from portmp import cli, formats
from portmp.backends.base import Device
from portmp.errors import InputError, OutOfMemory
from portmp.files import arrays as files
from portmp.nbody import memory, particles, simulate, system
from portmp.nbody.memory import Kept, Start
from portmp.nbody.trajectory import Course
from portmp.routines.gravity import launch as routine

COUNT = 20_000
FORMS = [formats.get("float64"), formats.get("dd")]
Captured = pytest.CaptureFixture[str]


def table(file: Path, count: int) -> Path:
    """Particles as text, after two lines that are none."""
    made = particles.plummer(count)
    rows = np.column_stack([made.mass, made.position, made.velocity]).tolist()
    lines = ["# G = 2", "", ",".join(particles.COLUMNS)]
    file.write_text("\n".join(lines + [",".join(map(repr, row)) for row in rows]))
    return file


def arrays(file: Path, count: int, **more: Any) -> Path:
    """Particles as arrays."""
    made = particles.plummer(count)
    np.savez(file, position=made.position, velocity=made.velocity, mass=made.mass, **more)
    return file


@pytest.mark.parametrize("name", ["float64", "dd", "qs"])
def test_particles_made_here(device: Device, name: str) -> None:
    """Made, rounded, sampled, saved: no more than is stated, and not far less."""
    form = formats.get(name)

    def made(count: int) -> system.System:
        return simulate.start(particles.plummer(count), form, device, "0.1", "exact")

    def sampled(moving: system.System) -> np.ndarray[Any, Any]:
        return moving.position.to_float64()

    moving = made(COUNT)
    sampled(moving)  # what is compiled and imported once is none of the particles'
    start = memory.sphere(COUNT, [form])
    assert 0.5 * start.making < peak(lambda: made(COUNT)) < 1.1 * start.making
    one = memory.on_host(Start(COUNT, 0), [form], Kept(1))
    assert 0.1 * one < peak(lambda: sampled(moving)) < one


def test_what_is_written(device: Device, tmp_path: Path) -> None:
    """A state, and positions of all samples in both formats."""
    made = particles.plummer(COUNT)
    moving = simulate.start(made, FORMS[1], device, "0.1", "exact")
    moving.save(tmp_path / "warm.npz")
    state = memory.on_host(Start(COUNT, 0), FORMS[1:], Kept(state=True))
    assert 0.5 * state < peak(lambda: moving.save(tmp_path / "state.npz")) < 1.1 * state
    courses = [Course(form.name, times=[0, 1, 2]) for form in FORMS]

    def followed() -> None:
        for course in courses:
            course.positions = [np.ones((COUNT, 3)) for _ in course.times]
        simulate._write_trajectory(tmp_path / "way.npz", courses)

    ways = memory.on_host(Start(COUNT, 0), FORMS, Kept(3))
    assert 0.5 * ways < peak(followed) < ways


@pytest.mark.parametrize("kind", ["table", "arrays", "constant", "state"])
def test_files(device: Device, tmp_path: Path, kind: str) -> None:
    """How many particles, and what reading them takes, without reading them."""
    file = tmp_path / ("bodies.csv" if kind == "table" else "bodies.npz")
    count = COUNT // 10 if kind == "table" else COUNT
    more = {"G": np.float64(2.5)} if kind == "constant" else {}
    if kind == "state":
        made = particles.plummer(count)
        simulate.start(made, FORMS[1], device, "0.1", "exact").save(file)
    else:
        (table if kind == "table" else arrays)(file, count, **more)

    def read() -> object:
        return system.load(file, device=device) if kind == "state" else particles.read(file)

    read()
    found = memory.source(str(file), FORMS[1:])
    assert found.count == count
    assert 0.5 * found.making < peak(read) < 1.1 * found.making
    # The way down to float64 goes through fractions, where numbers have more limbs.
    assert (memory.source(str(file), FORMS).making > 2 * found.making) == (kind == "state")


def test_no_file(tmp_path: Path) -> None:
    """What cannot be read says so when it is read; packaged examples are small."""
    nothing = Start(0, 0)
    assert memory.source("outer_solar_system", FORMS) == nothing
    assert memory.source(str(tmp_path / "nowhere.csv"), FORMS) == nothing
    assert memory.source(str(tmp_path), FORMS) == nothing
    (tmp_path / "damaged.npz").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="does not begin as a"):
        memory.source(str(tmp_path / "damaged.npz"), FORMS)
    whole = arrays(tmp_path / "whole.npz", 5).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole.replace(b"\x93NUMPY", b"\x93NUMPX"))
    with pytest.raises(InputError, match=r"cut\.npz: damaged or truncated"):
        files.headers(tmp_path / "cut.npz")


class Machine:
    """A device with 8 GB, a GPU or the host itself."""

    name = "some:0"

    def __init__(self, kind: str) -> None:
        self.properties = SimpleNamespace(kind=kind, memory=8 * 10**9)


def test_stated(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both memories; together where the device's is the host's. Little is not stated."""
    monkeypatch.setattr(routine, "workspace", lambda *_: 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 64 * 10**9)
    start = memory.sphere(10**7, FORMS)
    gpu, cpu = cast(Device, Machine("gpu")), cast(Device, Machine("cpu"))
    for device, end in ((gpu, ""), (cpu, ", 5.7 GB in all")):
        memory.check(start, FORMS, Kept(), device)
        assert capsys.readouterr().err == (
            "10000000 particles take 3.7 GB of some:0's 8 GB and 2 GB of the host's "
            f"64 GB that are free{end}\n"
        )
    memory.check(memory.sphere(1000, FORMS), FORMS, Kept(), cpu)
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.check(start, FORMS, Kept(), cpu)
    assert capsys.readouterr().err.endswith(" of the host's memory, 5.7 GB in all\n")
    with pytest.raises(OutOfMemory, match=r"^100000000000 particles take .* for the device$"):
        memory.check(memory.sphere(10**11, FORMS), FORMS, Kept(), cpu)
    monkeypatch.setattr(routine, "workspace", lambda *_: 6 * 10**9)
    with pytest.raises(OutOfMemory, match=r"take 9.7 GB of some:0's 8 GB"):
        memory.check(start, FORMS, Kept(), gpu)


def test_refused(capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, status 2, before any particle is made; what decides is named."""
    free = memory.available_memory()
    assert free is None or free > 10**7
    monkeypatch.setattr(memory, "available_memory", lambda: 10**7)
    monkeypatch.setitem(particles.SPHERES, "plummer", lambda *_: pytest.fail("made"))
    words = ["nbody", "plummer", "--number", "100000", "--format", "float64"]
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert "of the host's 0.01 GB that are free" in error
    assert error.endswith(": too much for the host\n") and error.count("\n") == 1
    assert cli.main([*words, "--trajectory", str(tmp_path / "x.npz"), "--samples", "7"]) == 2
    assert "keep the positions of 8 samples" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
