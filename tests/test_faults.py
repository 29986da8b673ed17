"""Faults around portmp: processes that fork, die or run at once; drivers; files asking for much."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiers import check
from work import peak

import portmp as mp
from portmp import cli, paths
from portmp.backends import base as backends
from portmp.backends import trial
from portmp.backends.base import Device
from portmp.backends.opencl import drivers
from portmp.compilers import tools
from portmp.compilers.opencl import OpenclCompiler
from portmp.discovery import finding
from portmp.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    InputError,
    PortmpError,
    ShapeError,
)
from portmp.files import arrays as files
from portmp.files import content
from portmp.nbody import particles, system
from portmp.runtime import program
from portmp.schedules import database

ROOT = Path(__file__).resolve().parents[1]


def python(script: str, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


# --- forks ------------------------------------------------------------------------------------

FORKED = """
import multiprocessing, os, sys
import portmp as mp

def tell(queue):
    found = []
    for work in (lambda: x.to_strings(3), lambda: x + x, lambda: mp.array([1], "dd")):
        try:
            work()
        except mp.errors.DeviceError as error:
            found.append(str(error))
    queue.put(found)

x = mp.array([1, 2], "dd")
x + x
context = multiprocessing.get_context("fork")
queue = context.Queue()
child = context.Process(target=tell, args=(queue,))
child.start()
found = queue.get(timeout=60)
child.join(60)
assert child.exitcode == 0 and len(found) == 3 and len(set(found)) == 1, found
print(found[0])
print((x + x).to_strings(3))
"""

HOST_FORKED = """
import os, sys
import portmp as mp
x = mp.array([1, 2], "dd", "host:0")
child = os.fork()
if not child:
    os._exit(0 if (x + x).to_float64().tolist() == [2, 4] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_is_told(device: Device) -> None:
    """At whatever it does first; the parent goes on."""
    done = python(FORKED)
    assert done.returncode == 0, done.stderr
    told, after = done.stdout.splitlines()
    assert "was forked" in told and "get_context('spawn')" in told
    assert after == "['2.0', '4.0']"


def test_the_host_survives_a_fork() -> None:
    """It has no driver."""
    assert python(HOST_FORKED).returncode == 0


def test_a_process_that_used_no_driver_may_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "drivers", {"started": False, "lost": False})
    backends._forked()
    backends.check_process(finding.listed()[0])


# --- drivers that crash -----------------------------------------------------------------------

CRASHING = """
__attribute__((constructor)) static void start(void) { *(volatile int *)0 = 1; }
"""


@pytest.fixture
def crashing(tmp_path: Path) -> Path:
    """A driver whose start ends the process."""
    check("clang")
    library = tmp_path / "libcrash.so"
    (tmp_path / "crash.c").write_text(CRASHING)
    compiler = next(iter(tools.versioned_tools("clang", tools.ROCM_FOLDERS)))
    command = [str(compiler), "-shared", "-fPIC", "-o", str(library), str(tmp_path / "crash.c")]
    subprocess.run(command, check=True)
    return library


def test_a_driver_that_crashes_is_left_out(crashing: Path, tmp_path: Path) -> None:
    """With a line that names it; the others work; a later process says so again."""
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "crash.icd").write_text(f"{crashing}\n")
    command = "import sys; from portmp import cli; sys.exit(cli.main(['devices', '--no-probe']))"
    settings = {"OCL_ICD_VENDORS": str(vendors), drivers._TRIED: ""}
    for _ in range(2):
        done = python(command, **settings, PORTMP_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        (line,) = done.stderr.splitlines()
        assert str(crashing) in line and "signal 11" in line and "is not used" in line
        assert "opencl:0" in done.stdout


@pytest.mark.parametrize("twice", [False, True])
def test_only_the_users_drivers(tmp_path: Path, twice: bool) -> None:
    """With PORTMP_ICD_ONLY, also where pyopencl's loader adds pip's PoCL to a folder's drivers."""
    check("pocl-debian")
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    for i in range(1 + twice):
        shutil.copy(drivers.SYSTEM / "pocl.icd", vendors / f"{i}.icd")
    command = (
        "from portmp.backends.opencl.runtime import find_devices\n"
        "print(*(d.properties.extra['platform'] for d in find_devices()), sep='\\n')"
    )
    settings = {"OCL_ICD_VENDORS": str(vendors), drivers._TRIED: "", "PORTMP_ICD_ONLY": "1"}
    done = python(command, **settings, PORTMP_CACHE_DIR=str(tmp_path / "cache"))
    (line,) = done.stdout.splitlines()
    assert "debian" in line, done.stderr


def test_what_keeps_devices_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user's setting leaves none, an installation would not help."""
    monkeypatch.delenv("PORTMP_ICD_ONLY", raising=False)
    monkeypatch.setenv("OCL_ICD_VENDORS", "nowhere")
    assert drivers.remedy().startswith("a CPU device is installed by: ")
    monkeypatch.setenv("PORTMP_ICD_ONLY", "1")
    assert drivers.remedy().endswith("all drivers but OCL_ICD_VENDORS=nowhere")


@pytest.mark.parametrize(
    ("backend", "name", "variable", "place"),
    [
        ("cuda", "libcuda.so.1", "LD_LIBRARY_PATH", ""),
        ("rocm", "libamdhip64.so", "ROCM_PATH", "lib"),
    ],
)
def test_a_vendors_library_that_crashes_is_named(
    crashing: Path, tmp_path: Path, backend: str, name: str, variable: str, place: str
) -> None:
    """The other backends work."""
    (tmp_path / place).mkdir(exist_ok=True)
    crashing.rename(tmp_path / place / name)
    command = "import sys; from portmp import cli; sys.exit(cli.main(['devices', '--no-probe']))"
    settings = {variable: str(tmp_path), trial._SOUND: ""}
    done = python(command, **settings, PORTMP_CACHE_DIR=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(f"{backend} ")]
    assert "is not used: starting it ends with signal 11" in line
    assert "host:0" in done.stdout


def test_drivers_are_tried_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Until one of their files changes."""
    monkeypatch.setattr(paths, "cache_folder", lambda: tmp_path)
    library = tmp_path / "libnone.so"
    library.write_bytes(b"")
    tried: list[Any] = []
    monkeypatch.setattr(trial, "_trial", lambda left, _: tried.append(left) or (0, ""))
    for text in (b"", b"", b"changed"):
        library.write_bytes(text) if text else None
        assert drivers._sound([str(library)]) == [str(library)]
    assert len(tried) == 2


def test_a_driver_that_hangs_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        trial, "_trial", lambda left, _: (0, "takes more than 60 s") if "icd=a" in left else (0, "")
    )
    assert drivers._sound(["a", "b"]) == ["b"]
    assert "the OpenCL driver a is not used: starting it takes more" in capsys.readouterr().err


def test_a_binary_without_code_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL makes one where it cannot read its files, and dies of it in the next process."""
    check("pocl")
    compilers = [getattr(device, "compiler", None) for device in finding.devices()]
    compiler = next(c for c in compilers if isinstance(c, OpenclCompiler) and "PoCL" in c.version())
    source = "__kernel void k(__global float *x) { x[0] = 3.25f; }"
    whole = compiler.compile(source, "")
    assert whole.startswith(b"poclbin")
    made = SimpleNamespace(get_info=lambda _: [whole.replace(b"BC\xc0\xde", bytes(4))])
    monkeypatch.setattr(compiler, "_quietly", lambda _: made)
    with pytest.raises(CompileError, match="a binary without code"):
        compiler.compile(source, "")


# --- processes at once ------------------------------------------------------------------------

FIRST = """
import portmp as mp
a = mp.array([["1.1", "2.2"], ["3.3", "4.4"]], "dd")
print((a @ a).to_strings(20), a.device.name)
"""

STORE = """
import sys
from pathlib import Path
from portmp.schedules import database
from portmp.routines.gemm import schedule  # registers its classes
path, number = Path(sys.argv[1]), int(sys.argv[2])
for i in range(10):
    entry = {"where": {"kind": "gpu", "device": f"{number} {i}"}, "routine": "gemm",
             "format": "dd", "accuracy": "accurate", "shape": "large",
             "schedule": {"kind": "panels", "rows": 1}}
    database.store([entry], path)
"""


def at_once(count: int, script: str, *words: Any, **changes: str) -> list[tuple[int, str, str]]:
    """Status and output of processes that run beside each other; {} in *words*: which one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, *(str(w).format(i) for w in words)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]
    ended = [(process.communicate(timeout=300), process) for process in started]
    return [(process.returncode, out, err) for (out, err), process in ended]


def test_first_use_by_eight_processes(tmp_path: Path, device: Device) -> None:
    """With empty caches: none is refused, none crashes, one result."""
    told = at_once(8, FIRST, PORTMP_CACHE_DIR=str(tmp_path / "cache"))
    assert {(status, err) for status, _, err in told} == {(0, "")}
    assert len({out for _, out, _ in told}) == 1
    assert not list(paths.abandoned(tmp_path / "cache"))


def test_no_schedule_is_lost(tmp_path: Path) -> None:
    """Where four processes store their own in one file."""
    path = tmp_path / "schedules.json"
    assert {status for status, _, _ in at_once(4, STORE, path, "{}")} == {0}
    assert len(json.loads(path.read_text())["entries"]) == 40


def test_a_lock_that_lasts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_PATIENCE", 0.1)
    with (
        paths.locked(tmp_path / "x"),
        pytest.raises(InputError, match=r"another process has had the lock .*\.x\.lock"),
        paths.locked(tmp_path / "x"),
    ):
        pass


WORKING = """
import time
from portmp.discovery import isolated

if __name__ == "__main__":
    pool = isolated.Workers(2)
    tasks = [pool._pool.submit(time.sleep, 60) for _ in range(2)]
    print(*pool._pool._processes, flush=True)
    time.sleep(60)
"""


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    """Within a second or so, whatever they are at."""
    script = tmp_path / "working.py"
    script.write_text(WORKING)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert len(workers) == 2 and all(map(_runs, workers))
    time.sleep(3)  # they have begun
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(100):
        if not any(map(_runs, workers)):
            return
        time.sleep(0.1)
    pytest.fail(f"{workers} still run")


MORTAL = """
import os, signal, sys
from pathlib import Path
from portmp.discovery import isolated

def work(name, folder):
    mark = Path(folder) / name
    if name == "deadly" or (name == "once" and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{name} done"

if __name__ == "__main__":
    pool = isolated.Workers(2)
    tasks = [(name, sys.argv[1]) for name in ("a", "once", "b", "deadly", "c")]
    print(list(pool.run(work, tasks)))
    for process in [*pool._pool._processes.values()]:
        process.kill()
        process.join()
    print(list(pool.run(work, tasks[:1])))
    pool.close()
"""


def test_a_worker_that_dies_takes_its_task_alone(tmp_path: Path) -> None:
    """Where it does so again, alone; the others' results are there, in their order."""
    script = tmp_path / "mortal.py"
    script.write_text(MORTAL)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    first, second = map(ast.literal_eval, done.stdout.splitlines())
    ended = "the process that was to do it ended, and again alone"
    assert first == ["a done", "once done", "b done", ended, "c done"]
    assert second == ["a done"]


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_watching_is_of_a_thread() -> None:
    """What another thread looks up meanwhile is not collected."""
    started, done = threading.Event(), threading.Event()

    def other() -> None:
        with program.watching() as mine:
            started.set()
            done.wait(60)
        assert mine == []

    thread = threading.Thread(target=other)
    thread.start()
    started.wait(60)
    with program.watching() as seen:
        _ = mp.array([1], "dd") + 1
    done.set()
    thread.join()
    assert seen


# --- files that ask for much ------------------------------------------------------------------


def read(path: Path, device: Device) -> Any:
    return files.read(path, mp.formats.get("dd"), device)


def npy(path: Path, dtype: str, shape: tuple[int, ...], data: bytes = b"") -> Path:
    """A .npy file whose header says what it likes."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}}}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data)
    return path


@pytest.mark.parametrize(
    ("dtype", "shape", "words"),
    [
        ("<U0", (10**9,), "empty texts"),
        ("|S0", (10**9,), "empty texts"),
        ("<f8", (10**12,), "truncated"),
        ("<f8", (2**62, 2**62), "truncated"),
        ("<f8", (0, 2**63), "shape"),
        ("<f8", (-1, 2), "shape"),
        ("<U1", (1,), "damaged"),
    ],
)
def test_headers_that_promise_much(
    tmp_path: Path, device: Device, dtype: str, shape: tuple[int, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read(npy(tmp_path / "x.npy", dtype, shape, b"\xff\xff\xff\xff"), device)


def test_archives_that_unpack_to_much(
    tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known from the directory; the user may allow it, or less."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "limb0.npy", npy(tmp_path / "x.npy", "<f8", (2**17,), bytes(2**20)).read_bytes()
        )
        archive.writestr("other.npy", bytes(2**20))
    monkeypatch.setattr(content, "LEAST_UNPACKED", 2**20)
    with pytest.raises(
        InputError, match=r"would unpack to 2\d{6}, \d+ are allowed; PORTMP_FILE_LIMIT"
    ):
        files.members(path)
    monkeypatch.setenv("PORTMP_FILE_LIMIT", str(2**22))
    with pytest.raises(InputError, match="does not begin as"):
        files.members(path)
    monkeypatch.setenv("PORTMP_FILE_LIMIT", "1000")
    with pytest.raises(InputError, match="1000 are allowed"):
        files.members(path)
    monkeypatch.setenv("PORTMP_FILE_LIMIT", "much")
    with pytest.raises(ArgumentError, match="a number of bytes"):
        files.members(path)


def test_a_format_is_known_without_the_limbs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for the format alone unpacks nothing else."""
    path = tmp_path / "x.npz"
    files.write(path, mp.array([1.0] * 1000, "qd"))
    unpacked: list[str] = []
    plain = files._parsed_npy
    monkeypatch.setattr(
        files, "_parsed_npy", lambda name, data: unpacked.append(name) or plain(name, data)
    )
    assert files.stored_format(path) is mp.formats.get("qd")
    assert unpacked == [f"{path}, format.npy"]


@pytest.mark.parametrize(
    "size", ["0 999999999999999999", "999999999999999999 0", "0 0", "99999999 99999999", "1 2"]
)
@pytest.mark.parametrize("layout", ["array", "coordinate"])
def test_sizes_of_matrix_market(tmp_path: Path, device: Device, size: str, layout: str) -> None:
    """Sixty bytes take no room: an error, or an empty matrix."""
    path = tmp_path / "x.mtx"
    entries = " 0" if layout == "coordinate" else ""
    path.write_text(f"%%MatrixMarket matrix {layout} real general\n{size}{entries}\n")

    def result() -> None:
        try:
            assert read(path, device).shape in ((0, 0), (1, 2))
        except InputError as error:
            assert str(path) in str(error)

    assert peak(result) < 2**24


@pytest.mark.parametrize("number", ["1e19999", "-1e-19999", "9" * 9000, f"0x1p{10**6}"])
def test_numbers_of_many_digits(tmp_path: Path, device: Device, number: str) -> None:
    """A thousand of them are soon read, as infinite, as zero, or refused as inexact integers."""
    path = tmp_path / "x.csv"
    path.write_text("\n".join([number] * 1000))
    try:
        assert read(path, device).shape == (1000, 1)
    except InputError as error:
        assert "not exact" in str(error)


def test_the_longest_number_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "0." + "0" * 20_000
    with pytest.raises(InputError, match="at most 10000 characters"):
        mp.array([text], "dd")
    monkeypatch.setenv("PORTMP_LONGEST_NUMBER", "30000")
    assert float(mp.array([text], "dd")[0]) == 0
    monkeypatch.setenv("PORTMP_LONGEST_NUMBER", "-1")
    with pytest.raises(InputError, match="PORTMP_LONGEST_NUMBER: '-1' given"):
        mp.array([text], "dd")


def test_text_that_fills_memory(
    tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a text takes while it is read is known from its marks."""
    path = tmp_path / "x.csv"
    path.write_text("1,2\n" * 1000)
    assert read(path, device).shape == (1000, 2)
    monkeypatch.setenv("PORTMP_FILE_LIMIT", str(100_000))
    for suffix in (".csv", ".txt", ".mtx"):
        with pytest.raises(InputError, match="100000 are allowed"):
            read(path.replace(path.with_suffix(suffix)), device)
        path = path.with_suffix(suffix)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mtx", ".csv", ".txt"])
def test_pipes_are_not_read(tmp_path: Path, device: Device, suffix: str) -> None:
    """One to which nobody writes stops nothing."""
    pipe = tmp_path / f"x{suffix}"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a pipe or a device"):
        read(pipe, device)
    with pytest.raises(InputError, match="is a pipe or a device"):
        particles.read(pipe.with_suffix(suffix))


def test_standard_input_is_read() -> None:
    """By its name, where a pipe is expected."""
    script = (
        "from pathlib import Path; from portmp.files import content; "
        "print(content.text(Path('/dev/stdin')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        input="1,2",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1,2\n"


# --- no exceptions but portmp's own -----------------------------------------------------------


def state(path: Path, **changes: Any) -> Path:
    """A saved system with other facts or arrays."""
    bodies = mp.array([[0, 0, 0, 1], [1, 0, 0, 1]], "float64")
    made = system.System(bodies[:, :3], bodies[:, :3], bodies[:, 3])
    made.save(path)
    found = files.members(path)
    facts = json.loads(str(found["facts"])) | changes.pop("facts", {})
    files.write_members(path, {**found, "facts": np.array(json.dumps(facts)), **changes})
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": {"steps": "x"}},
        {"facts": {"format": ["dd"]}},
        {"facts": {"time": "1/0"}},
        {"facts": {"eps": None}},
        {"facts": {"root": []}},
        {"facts": np.array("[" * 100_000)},
        {"facts": np.array("[]")},
        {"facts": np.array(3)},
        {"facts": np.zeros(0)},
        {"bodies0": np.array("x")},
        {"velocity0": np.zeros((2, 3), complex)},
    ],
    ids=str,
)
def test_states_that_are_none(tmp_path: Path, changes: dict[str, Any]) -> None:
    facts = changes.get("facts")
    path = tmp_path / "x.npz"
    if isinstance(facts, np.ndarray):
        files.write_members(path, {**files.members(state(path)), "facts": facts})
    else:
        state(path, **changes)
    with pytest.raises(InputError, match="is no saved system"):
        system.load(path)


@pytest.mark.parametrize("constant", [np.nan, np.inf, np.longdouble("inf"), 1 + 0j, [1.0]])
def test_constants_of_gravity(tmp_path: Path, constant: Any) -> None:
    zeros = np.zeros((2, 3))
    arrays = {"position": zeros, "velocity": zeros, "mass": np.ones(2), "G": np.array(constant)}
    files.write_members(tmp_path / "x.npz", arrays)
    with pytest.raises(InputError, match="G: "):
        particles.read(tmp_path / "x.npz")


def test_a_long_double_keeps_its_bits(tmp_path: Path) -> None:
    zeros, constant = np.zeros((1, 3)), np.longdouble(1) / 3
    arrays = {"position": zeros, "velocity": zeros, "mass": np.ones(1), "G": np.array(constant)}
    files.write_members(tmp_path / "x.npz", arrays)
    (weight,) = particles.read(tmp_path / "x.npz").mass
    high = float(weight)
    assert np.longdouble(high) + np.longdouble(float(weight - Fraction(high))) == constant


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "\xff", '{"version": 2, "entries": 3}', "7", '{"version": 2, "entries": [[]]}'],
)
def test_databases_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schedules.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=str(path)):
        database.store([], path)
    assert path.read_bytes() == text.encode("latin-1"), "the file was touched"


@pytest.mark.parametrize(
    ("work", "error"),
    [
        (lambda: mp.zeros((0, 2**63)), ShapeError),
        (lambda: mp.zeros((2**70,)), PortmpError),
        (lambda: mp.gemm(mp.zeros((2, 2)), mp.zeros((2, 2)), accuracy=["fast"]), ArgumentError),
        (lambda: mp.dot(mp.zeros(2), mp.zeros(2), accuracy={}), ArgumentError),
        (lambda: mp.array([1], device="opencl:" + "9" * 5000), DeviceError),
    ],
    ids=["zeros", "large", "gemm", "dot", "device"],
)
def test_arguments_of_the_wrong_kind(work: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error) as found:
        work()
    assert len(str(found.value)) < 400


# --- the terminal -----------------------------------------------------------------------------


def test_names_do_not_reach_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape characters and ends of lines of names inside files are shown as text."""
    path = tmp_path / "x.npz"
    files.write_members(path, {"a\x1b[31m\nb\x9b": np.ones(2), "c": np.ones(2)})
    assert cli.main(["gemm", str(path), str(path)]) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err and "\x9b" not in err and len(err.splitlines()) == 1
    assert r"a\x1b[31m\nb\x9b" in err


@pytest.mark.parametrize("said", ["", "Unable to allocate 8 GiB"])
def test_missing_memory_is_told(
    said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def greedy(_: Any) -> int:
        raise MemoryError(said)

    monkeypatch.setattr("portmp.cli.cache.run", greedy)
    assert cli.main(["cache"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "this machine's memory does not suffice" in line and said in line


def test_a_negative_length_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["nbody", "--eps=-1", "--steps", "1"]) == 2
    assert "--eps: -1 given" in capsys.readouterr().err
