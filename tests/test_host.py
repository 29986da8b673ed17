"""The host device: every routine by its reference, with no driver, and the same bits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import cli, discovery, formats, linalg, nbody, paths, progress
from portmp.arrays.array import Array
from portmp.backends import base as backends
from portmp.backends.base import Device, recording, replay
from portmp.backends.host import runtime
from portmp.backends.opencl import drivers
from portmp.compilers import cpu
from portmp.discovery import finding, probe
from portmp.errors import (
    ArgumentError,
    BackendUnavailable,
    DeviceError,
    FormatError,
    LaunchError,
    OutOfMemory,
)
from portmp.formats import inputs
from portmp.nbody.system import System
from portmp.networks.gravity import ROOTS
from portmp.routines import base, compilation_units
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.gemm import launch as gemm_routine
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.ozaki import Ozaki1, Ozaki2
from portmp.routines.products import engines
from portmp.routines.reduce import launch as reduce
from portmp.routines.split2021 import launch as split2021
from portmp.runtime import program
from portmp.runtime.planes import upload
from portmp.verify import cases, command

"""Devices are opened anew: the process that probes them finds them as they usually are."""

ROOT = Path(__file__).resolve().parents[1]
NO_DRIVER = "import sys\nfor name in ('pyopencl', 'cuda', 'hip'): sys.modules[name] = None\n"
"""Let the packages of every driver be missing."""


@pytest.fixture(scope="module")
def host() -> Device:
    return discovery.get("host")


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever looks kernels up for the host is an error, also where it is not launched."""
    looked_up = program.kernels

    def refused(device: Device, *module: Any) -> Any:
        assert not device.by_reference
        return looked_up(device, *module)

    monkeypatch.setattr(program, "kernels", refused)


def array(form: str, shape: tuple[int, ...], seed: str, device: Device) -> Array:
    f = formats.get(form)
    return Array(upload(f, inputs.ordinary(f, shape, seed), device.queue))


def bits(x: Array) -> str:
    return cases.digest(x.to_limbs())


# --- bits -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        ["float64", "dd", "d+s", "ts", "ts2021", "slfp64in48b", "tsin80b", "float16"],
        ("d+s", "float16"),
        "the reference is tried by test_bits",
    ),
)
def test_the_host_gives_the_recorded_digests(host: Device, name: str) -> None:
    """Every routine through the public functions; ``portmp verify`` has all formats."""
    outcomes = command.run(host, cases.cases(name))
    assert [(o.key, o.error) for o in outcomes if not o.ok] == []


def _everything(device: Device, form: str) -> dict[str, str]:
    """Results with views, batches, outputs and options, beyond what digests are recorded of."""
    a, b = array(form, (2, 1, 5, 7), "a", device), array(form, (3, 7, 4), "b", device)
    c, x = array(form, (2, 3, 5, 4), "c", device), array(form, (41,), "x", device)
    found = {}

    def note(name: str, value: Array) -> None:
        found[name] = bits(value)

    note("batches", mp.gemm(a, b, alpha="0.3", beta=-2, c=c[:1]))
    note("backwards", mp.gemm(a[..., ::-1], b[:, ::-1], accuracy="accurate"))
    note("turned", a[0, 0].T[::2] @ c[0, 0])
    out = c.copy()
    note("in place", mp.gemm(a, b, beta="1.5", c=out, out=out))
    wide = mp.zeros((2, 3, 4, 5), form, device)
    mp.gemm(a, b, alpha=0, beta=3, c=c, out=wide.transpose(0, 1, 3, 2))
    note("alpha zero, out turned", wide)
    mp.axpy("1/3", x, x, out=x[:])
    note("axpy", x)
    note("scal", mp.scal(2, x[3::5]))
    note("alpha one", mp.axpy(1, x, x))
    x[::4] = x[5]
    note("set", x[::-1])
    note("broadcast", c + b[:, :1])
    note("sums", c.transpose(3, 0, 2, 1).sum(axis=1))
    note("max", c[:, ::-1].max())
    note("min", c.min(axis=-2))
    note("gemv", mp.gemv(c[0, 0], x[:5], trans=True, beta=1, y=x[10:14]))
    note("nothing", mp.gemm(a[..., :0], b[:, :0]))
    assert mp.zeros((0, 3), form, device).sum(axis=1).shape == (0,)
    found["compare"] = str((x < x[0]).tolist())
    short = {"float64": "slfp64in40b", "float32": "slfp32in24b"}.get(form)
    if short:
        note("stored", x.astype(short) * 3)
        note("stored again", x.astype(short)[::3].astype(form))
        note("short matrix", mp.gemv(c[0, 0].astype(short), x[:4]))
    else:
        note("converted", x.astype("qs").astype(form))
    return found


@pytest.mark.parametrize("form", ["dd", "float64"])
def test_views_outputs_and_options_are_those_of_any_device(
    host: Device, device: Device, form: str
) -> None:
    assert _everything(host, form) == _everything(device, form)


PRODUCTS: dict[str, Any] = {
    "residues": Ozaki2(),
    "more moduli": Ozaki2(moduli=20),
    "engine": Ozaki2(engine="own"),
    "workspace": Ozaki2(workspace=10**6),
    "slices": Ozaki1(slices=9, width=6),
    "bits": Ozaki1(bits=70),
    "float64": Ozaki1(word="float64"),
}


@pytest.mark.parametrize("options", PRODUCTS.values(), ids=PRODUCTS)
def test_products_by_integers(host: Device, device: Device, options: Any) -> None:
    """All options, batches and c: what the schemes' kernels give."""

    def product(on: Device) -> str:
        a, b = array("dd", (2, 6, 40), "a", on), array("dd", (40, 5), "b", on)
        c = array("dd", (6, 5), "c", on)
        return bits(mp.gemm(a, b, alpha="0.7", beta=-1, c=c, method=options))

    assert product(host) == product(device)


def test_a_library_is_refused_by_name(host: Device) -> None:
    a = array("dd", (4, 4), "a", host)
    with pytest.raises(BackendUnavailable, match="host"):
        mp.gemm(a, a, method=Ozaki2(engine="library"))


def test_the_split_of_a_paper(
    host: Device, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bits of a device whose float32 products are portmp's own, not a library's."""
    engine = engines.get
    monkeypatch.setattr(engines, "get", lambda on, name, word: engine(on, "own", word))

    def product(on: Device, slices: int) -> str:
        a, b = array("ts2021", (9, 30), "a", on), array("ts2021", (7, 30), "b", on).T
        return bits(Array(split2021.gemm(a.planes, b.planes, slices)))

    for slices in (1, 2, 4):
        assert product(host, slices) == product(device, slices)


def test_conjugate_gradients(host: Device, device: Device) -> None:
    """Recorded iterations are repeated; also with a matrix that is stored short."""

    def solved(on: Device, inner: str | None) -> tuple[Any, ...]:
        root = array("float64", (12, 12), "cg", on)
        a = root @ root.T + mp.array(np.eye(12) * 8, "float64", on)
        found = linalg.cg(a, array("float64", (12,), "cg b", on), inner=inner)
        return bits(found.x), found.rounds, found.residuals, found.converged

    for inner in (None, "slfp64in32b"):
        mine = solved(host, inner)
        assert mine == solved(device, inner)
        assert mine[-1] and sum(mine[1]) > 3


def test_what_is_recorded_is_repeated(host: Device) -> None:
    """A routine is one launch, on the memory that it was given."""
    x, y = (mp.array([1.0, 3.0, 5.0], "dd", host) for _ in range(2))
    total = mp.zeros((), "dd", host)
    with recording() as launches:
        elementwise.apply("add", [x.planes, y.planes], x.planes)
        reduce.dot(x.planes, y.planes, out=total.planes)
    replay(launches)
    assert len(launches) == 2
    assert x.to_float64().tolist() == [3.0, 9.0, 15.0]
    assert float(total) == 3 + 27 + 75


# --- gravity ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "eps"), [("float32", "0.01"), ("float64", "0.01"), ("dd", "0.01"), ("float64", 0)]
)
def test_gravity(host: Device, device: Device, form: str, eps: Any) -> None:
    """Of the particles themselves and of targets; parts of several slabs; a field at once."""

    def all_of(on: Device) -> list[str]:
        position, mass = array(form, (30, 3), "r", on), array(form, (30,), "m", on)
        targets = array(form, (4, 3), "t", on)
        force, potential = nbody.field(position, mass, eps=eps)
        out = mp.zeros((30, 3), form, on)[::-1]
        nbody.acceleration(position, mass, eps=eps, out=out)
        assert bits(out) == bits(force)
        assert bits(nbody.potential(position, mass, eps=eps)) == bits(potential)
        apart = nbody.field(position, mass, eps=eps, targets=targets)
        return [bits(v) for v in (force, potential, *apart)]

    assert all_of(host) == all_of(device)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("form", ["float32", "float64"])
def test_every_root(host: Device, form: str, root: str) -> None:
    """The host has roots of its own where a platform has; each is near the exact one."""
    position, mass = array(form, (20, 3), "r", host), array(form, (20,), "m", host)
    if (root, form) == ("rounded", "float64"):
        with pytest.raises(ArgumentError, match="exact, fast, rsqrt, division"):
            nbody.acceleration(position, mass, eps="0.1", root=root)
        return
    exact = nbody.acceleration(position, mass, eps="0.1").to_float64()
    found = nbody.acceleration(position, mass, eps="0.1", root=root).to_float64()
    unit = 2.0 ** (-24 if form == "float32" else -53)
    assert np.abs(found - exact).max() < 200 * unit * np.abs(exact).max()
    with pytest.raises(FormatError, match="exact only"):
        dd = array("dd", (20, 3), "r", host)
        nbody.acceleration(dd, array("dd", (20,), "m", host), root="rsqrt")


def test_particles_that_move(host: Device, device: Device) -> None:
    def moved(on: Device) -> str:
        r, v, m = (array("dd", s, n, on) for s, n in (((5, 3), "r"), ((5, 3), "v"), ((5,), "m")))
        system = System(r, v, m, eps="0.1")
        system.step("0.01", 2, "yoshida4")
        return bits(system.position)

    assert moved(host) == moved(device)


# --- memory -----------------------------------------------------------------------------


def test_arrays_move_to_and_from_other_devices(host: Device, device: Device) -> None:
    x = array("dd", (3, 5), "x", host)[:, ::-1]
    there = x.to(device)
    assert there.device is device
    assert bits(there) == bits(x) == bits(there.to("host:0"))
    assert bits(mp.from_parts(x.to_parts(), "dd", host)) == bits(x)
    assert x.to_limbs()[0].tolist() == mp.from_limbs(x.limbs, "dd", "host").to_limbs()[0].tolist()


def test_memory_has_its_bounds(host: Device) -> None:
    """Copies beyond it, and more than there is, are refused with words."""
    buffer = host.allocate(16)
    with pytest.raises(DeviceError, match="the memory has 16"):
        host.queue.write(buffer, np.zeros(3))
    with pytest.raises(DeviceError, match="from 12 on"):
        host.queue.read(buffer, np.zeros(1), 12)
    with pytest.raises(OutOfMemory, match="bytes asked for"):
        mp.zeros((2**40,), "dd", host)
    with pytest.raises(OutOfMemory, match="the machine has"):
        host.allocate(2**62)


def test_memory_that_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime.HostDevice().properties.memory > 0
    monkeypatch.delattr(os, "sysconf")
    assert runtime.HostDevice().properties.memory == runtime.UNKNOWN


# --- what it is not ---------------------------------------------------------------------


def test_facts(host: Device) -> None:
    facts = host.properties
    assert (host.name, facts.name, facts.kind) == ("host:0", "host reference (NumPy)", "cpu")
    assert facts.float64 and facts.memory > 2**28
    assert "slow" in repr(host) and "slow" in host.remark
    assert probe.approve(host).repairs == ()


def test_it_runs_no_kernels(host: Device) -> None:
    class Made(backends.Kernel):
        name = "made"

    says = "host:0: the host device runs no kernels"
    with pytest.raises(DeviceError, match=says):
        host.compile("")
    with pytest.raises(DeviceError, match=says):
        host.load(b"", ["made"])
    with pytest.raises(DeviceError, match=says):
        host.queue.launch(Made(), (1, 1, 1), (1, 1, 1), [])
    with pytest.raises(LaunchError, match="host:0 runs no kernels"):
        program.source(host, *compilation_units.find("dd", "add"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tune"], "runs no kernels"),
        (["bench", "blas"], "times say nothing"),
        (["bench", "nbody"], "times say nothing"),
        (["bench", "methods"], "portmp devices lists those that are here"),
        (["compile", "gemm"], "--device: host:0 runs no kernels"),
        (["render", "gemm"], "--device: host:0 runs no kernels"),
    ],
    ids=" ".join,
)
def test_commands_refuse_it(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*words, "--device", "host"]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_a_default_that_is_the_host_is_not_timed(
    host: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "_opened", {"": host})
    monkeypatch.delenv("PORTMP_DEVICE", raising=False)
    assert cli.main(["bench", "blas"]) == 2


def test_wrong_arguments_are_refused_as_elsewhere(host: Device) -> None:
    a, x = array("float64", (3, 3), "a", host), array("float64", (3,), "x", host)
    calls: list[Callable[[], object]] = [
        lambda: mp.gemm(a, a, accuracy="quick"),
        lambda: mp.gemv(a, x, accuracy="quick"),
        lambda: mp.gemm(a, a, out=a),
        lambda: mp.axpy(1, x[:2], x[1:], out=x[1:]),
        lambda: mp.linalg.solve(mp.zeros((3, 3), "float64", host), x),
        lambda: gemm_routine.gemm(
            a.planes,
            a.planes,
            alpha=base.scalar_limbs(a.format, 1, "alpha"),
            beta=base.scalar_limbs(a.format, 0, "beta"),
            schedule="fast",  # type: ignore[arg-type]
        ),
        lambda: mp.dot(x, x, schedule=GemmSchedule()),  # type: ignore[arg-type]
        lambda: nbody.potential(a, x, schedule=GemmSchedule()),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ArgumentError):
            call()
    assert bits(mp.gemm(a, a, schedule=GemmSchedule())) == bits(a @ a)


# --- found and chosen -------------------------------------------------------------------


def test_it_comes_last(host: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    assert host in discovery.devices()
    assert sorted(discovery.devices(), key=finding._rank)[-1] is host
    assert discovery.BACKENDS[-1] == discovery.HOST
    assert discovery.get("host:0") is discovery.get("numpy") is host
    with pytest.raises(DeviceError, match="host has host:0"):
        discovery.get("host:1")


def _without_drivers(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    settings = {k: v for k, v in os.environ.items() if k != "PORTMP_DEVICE"} | variables
    settings |= {"PYTHONPATH": str(ROOT), "PORTMP_CACHE_DIR": "", "PORTMP_CLANG": "no such clang"}
    run = [sys.executable, "-c", NO_DRIVER + code]
    return subprocess.run(run, capture_output=True, text=True, env=settings, check=False)


def test_the_first_example_needs_no_driver() -> None:
    """It prints what the README says; one line on standard error says what computed."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block
    done = _without_drivers(
        block[1] + "mp.zeros(3)\nassert not [m for m in sys.modules if m.startswith('pyopencl.')]\n"
    )
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^print\(.*?\)\s+# (.*?)(?: on every device)?$", block[1], re.MULTILINE)
    assert done.stdout.splitlines() == promised
    assert re.fullmatch(
        r"portmp: no device works here, so the host .*; PORTMP_CLANG=.*; unset it, or .*\n",
        done.stderr,
    )


def test_a_line_is_said_once_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By whichever process; each time where there is no cache."""
    now = [5e8]
    monkeypatch.setattr(finding.time, "time", lambda: now[0])
    monkeypatch.setattr(paths, "cache_folder", lambda: tmp_path)
    for later, said in (
        (0, "one\n"),
        (86_000, ""),
        (86_400, "one\n"),
        (86_399, "one\n"),
        (86_500, ""),
    ):
        now[0] = 5e8 + later
        finding._say("one")
        assert capsys.readouterr().err == said, later
    finding._say("two")
    assert capsys.readouterr().err == "two\n"
    monkeypatch.setattr(paths, "cache_folder", lambda: None)
    for _ in range(2):
        finding._say("one")
        assert capsys.readouterr().err == "one\n"


def test_a_setting_that_names_no_clang_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, where another device of this processor is the default one instead."""
    monkeypatch.setenv("PORTMP_CLANG", "/none/clang")
    with pytest.raises(BackendUnavailable, match=r"^PORTMP_CLANG=/none/clang is no clang") as told:
        next(cpu.found())
    monkeypatch.setattr(paths, "cache_folder", lambda: None)
    monkeypatch.setattr(finding, "find", lambda name: finding.Found(name, (), str(told.value)))
    for kind, lines in (("cpu", 1), ("gpu", 0)):
        facts = SimpleNamespace(kind=kind)
        chosen: Any = SimpleNamespace(name="opencl:0", by_reference=False, properties=facts)
        finding._tell(chosen)
        said = capsys.readouterr().err.splitlines()
        assert len(said) == lines
        assert all("unset it" in line and "opencl:0 is the default" in line for line in said)


def test_nothing_is_said_where_it_was_asked_for() -> None:
    done = _without_drivers("import portmp as mp; print(mp.zeros(1))", PORTMP_DEVICE="host")
    assert (done.returncode, done.stderr) == (0, "")


def test_devices_says_why_it_is_there() -> None:
    done = _without_drivers("from portmp import cli; sys.exit(cli.main(['devices']))")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("host:0     cpu  host reference (NumPy)")
    assert "slow" in lines[1] and "no device works" in lines[1]
    assert [line.split()[0] for line in lines[2:]] == ["cuda", "rocm", "opencl", "cpu"]


def test_the_demo_passes_without_a_driver() -> None:
    done = _without_drivers("from portmp import cli; sys.exit(cli.main(['demo']))")
    assert done.returncode == 0, done.stderr
    assert "qd       at least 15 of 15 digits agree" in done.stdout
    assert "slow: no kernels" in done.stderr


def test_what_installs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is here and does not work is not named again."""
    pip: list[str] = ["ziglang"]
    there: dict[str, list[str]] = {"clang": [], "ld.lld": [], "ld": []}
    monkeypatch.setattr(cpu, "find_spec", lambda name: name if name in pip else None)
    monkeypatch.setattr(cpu.tools, "versioned_tools", lambda name: there[name])
    monkeypatch.setattr(cpu.tools, "version_of", lambda command: (int(command[0]), ""))
    monkeypatch.setattr(cpu.sys, "platform", "linux")
    monkeypatch.delenv("PORTMP_CLANG", raising=False)
    assert cpu.install() == "on Debian and Ubuntu apt-get install clang-19"
    pip.clear()
    there["clang"] = ["15"]
    way = "pip install '.[cpu]' in a checkout of portmp"
    assert cpu.install() == f"{way}, or on Debian and Ubuntu apt-get install clang-19"
    there["clang"] = ["19"]
    assert cpu.install() == f"{way}, or on Debian and Ubuntu apt-get install lld-19, a linker"
    there["ld"] = ["ld"]
    assert cpu.install() == way
    pip.append("ziglang")
    assert cpu.install() == "a clang of another version from 17 on, on PATH"
    monkeypatch.setenv("PORTMP_CLANG", "clang-19")
    assert cpu.install() == "unset PORTMP_CLANG, or name another clang"


@pytest.mark.parametrize(
    ("system", "processor", "command"),
    [
        ("Linux", "x86_64", "pip install '.[pocl]'"),
        ("Linux", "aarch64", "apt-get install pocl-opencl-icd"),
        ("Darwin", "arm64", "brew install pocl"),
    ],
)
def test_what_installs_a_driver(
    system: str, processor: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers.machine, "system", lambda: system)
    monkeypatch.setattr(drivers.machine, "machine", lambda: processor)
    monkeypatch.setattr(drivers, "pip_libraries", list)
    assert command in drivers.install() and drivers.install().startswith("pip install '.[pocl]'")
    assert ("brew" in drivers.install()) == (system == "Darwin")
    monkeypatch.setattr(drivers, "pip_libraries", lambda: ["libpocl.so"])  # what was just done
    monkeypatch.setitem(sys.modules, "pyopencl", drivers)
    assert "pip install " not in drivers.install()
    assert drivers.install().endswith("is here and does not work)")


def test_work_that_lasts_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    told, show = threading.Event(), progress.Progress.show

    def noticed(line: progress.Progress, text: str) -> None:
        show(line, text)
        told.set()

    monkeypatch.setattr(progress.Progress, "show", noticed)
    for visible in (True, False):
        told.clear()
        with progress.lasting("gemm of dd", visible):
            assert told.wait(60 if visible else 0.1) == visible
        assert ("\rgemm of dd: 0 s" in capsys.readouterr().err) == visible
    told.clear()
    with progress.lasting("outside", True), progress.lasting("inside", True):
        assert told.wait(60)
    error = capsys.readouterr().err
    assert "\rinside: 0 s" in error and "outside" not in error
