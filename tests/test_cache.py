"""The disk cache: compiled once, never trusted when damaged, never in the way."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiers

from portmp import paths
from portmp.backends.base import Buffer, Device, Kernel, Properties, Queue
from portmp.backends.driver_api import GpuDevice
from portmp.backends.opencl import drivers
from portmp.cli import main
from portmp.codegen.platform import Traits
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import CompileError, LaunchError
from portmp.routines import compilation_units
from portmp.runtime import program

ROOT = Path(__file__).resolve().parents[1]
ADD = compilation_units.kernels("dd")["elementwise_add"]
MUL = compilation_units.kernels("dd")["elementwise_mul"]
PROPERTIES = Properties(
    name="fake",
    vendor="",
    driver="1",
    arch="a",
    kind="gpu",
    compute_units=1,
    warp_size=32,
    max_threads=1024,
    shared_memory=1 << 15,
    memory=1 << 30,
    float64=True,
)
SCRIPT = """
import sys
from portmp import formats
from portmp.backends.opencl import runtime
from portmp.formats import inputs
from portmp.routines.elementwise import launch as elementwise
from portmp.runtime import planes
from portmp.verify import cases

device = next(d for d in runtime.find_devices() if d.name == sys.argv[1])
compiled = []
original = device.compile
device.compile = lambda source: compiled.append(source) or original(source)
if "wait" in sys.argv:
    print("ready", flush=True)
    sys.stdin.readline()
form = formats.get("dd")
x = [planes.upload(form, inputs.ordinary(form, (20,), s), device.queue) for s in "xy"]
print(len(compiled), cases.digest(elementwise.apply("add", x).read_dense()), len(compiled))
"""


class FakeKernel(Kernel):
    """What a fake device loads."""

    def __init__(self, name: str, binary: bytes) -> None:
        self.name = name
        self.binary = binary


class FakeDevice(Device):
    """Counts what it compiles; the binary is a digest of the source."""

    platform = "opencl"
    index = 0
    queue: Queue

    def __init__(self, key: str = "compiler 1 -O3 driver=1", loads: bool = True) -> None:
        self.properties = PROPERTIES
        self.traits = Traits()
        self.key = key
        self.loads = loads
        self.compiled: list[str] = []

    def allocate(self, nbytes: int) -> Buffer:
        raise NotImplementedError

    def new_queue(self) -> Queue:
        raise NotImplementedError

    def compile(self, source: str) -> bytes:
        self.compiled.append(source)
        self.loads = True
        return hashlib.sha512(source.encode()).digest() * 10

    def compiler_key(self) -> str:
        return self.key

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        if not self.loads:
            raise LaunchError("the driver does not know this binary")
        return {name: FakeKernel(name, binary) for name in kernels}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of the test's own."""
    place = tmp_path / "cache"
    monkeypatch.setenv("PORTMP_CACHE_DIR", str(place))
    paths.cache_folder.cache_clear()
    paths._warn.cache_clear()
    yield place
    paths.cache_folder.cache_clear()


def binary(device: FakeDevice, one: Any = ADD) -> bytes:
    """What *device* gets for a kernel."""
    kernel = program.kernels(device, one)[one.name]
    assert isinstance(kernel, FakeKernel)
    return kernel.binary


def only_file(folder: Path) -> Path:
    """The one binary of the cache."""
    (path,) = folder.glob("*.bin")
    return path


# --- one process after another -----------------------------------------------------------


def environment(**changes: str) -> dict[str, str]:
    """Environment of a process that uses the cache."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


def run_script(**changes: str) -> list[str]:
    """Add two vectors in another process: times compiled before, digest, times compiled."""
    pytest.importorskip("pyopencl")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tiers.opencl()],
        env=environment(**changes),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_a_second_process_does_not_compile(folder: Path) -> None:
    """The binary on disk gives the same bits."""
    _, digest, first = run_script()
    assert first == "1" and len(list(folder.glob("*.bin"))) == 1
    assert run_script() == ["0", digest, "0"]


def test_two_processes_at_once(folder: Path) -> None:
    """Both build the same kernel at the same time; one whole file is left."""
    pytest.importorskip("pyopencl")
    command = [sys.executable, "-c", SCRIPT, tiers.opencl(), "wait"]
    pair = [
        subprocess.Popen(
            command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in pair:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in pair:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0].split() for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    assert answers[0][1] == answers[1][1]
    files = [path.suffix for path in folder.iterdir() if path.suffix in (".bin", ".note")]
    assert sorted(files) == [".bin", ".note"] and not list(paths.abandoned(folder))
    assert run_script() == ["0", answers[0][1], "0"]


@pytest.mark.parametrize("place", ["a file", "nothing"])
def test_without_a_folder_everything_works(tmp_path: Path, place: str) -> None:
    """A file in the folder's place, or an empty setting: compiled each time, nothing written."""
    obstacle, home = tmp_path / "obstacle", tmp_path / "home"
    obstacle.write_text("in the way")
    home.mkdir()
    (tmp_path / "tmp").mkdir()
    changes = {
        "PORTMP_CACHE_DIR": str(obstacle) if place == "a file" else "",
        "XDG_CACHE_HOME": str(home),
        "POCL_CACHE_DIR": str(tmp_path / "pocl"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    first, second = run_script(**changes), run_script(**changes)
    assert first == second and first[2] == "1"
    assert obstacle.read_text() == "in the way"
    assert not list(home.rglob("*.bin"))
    assert not list((tmp_path / "tmp").glob("*opencl*")), "the drivers' folder is left behind"


# --- what is in the files ---------------------------------------------------------------


def truncated(data: bytes) -> bytes:
    """Half of a file."""
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    """One bit of the content changed."""
    return data[:-7] + bytes([data[-7] ^ 16]) + data[-6:]


def flipped_digest(data: bytes) -> bytes:
    """One bit of the digest changed."""
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        flipped,
        flipped_digest,
        lambda data: b"",
        lambda data: data[:30],
        lambda data: data + b"x",
        lambda data: b"something else " * 20,
    ],
)
def test_damage_is_found(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    """A damaged file is compiled again and replaced."""
    expected = binary(FakeDevice())
    path = only_file(folder)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    second = FakeDevice()
    assert binary(second) == expected
    assert len(second.compiled) == 1
    assert path.read_bytes() == good
    third = FakeDevice()
    assert binary(third) == expected and third.compiled == []


def test_known_modules_are_not_rendered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note leads to the binary; damaged, of other code or of nothing, it is as if missing."""
    expected = binary(FakeDevice())
    (note,) = folder.glob("*.note")
    good = note.read_bytes()
    for content in (b"", b"x", good.replace(b" ", b"0 "), b"\xff", b"../" * 20):
        note.write_bytes(content)
        assert binary(FakeDevice()) == expected
        assert note.read_bytes() == good
    with monkeypatch.context() as patch:
        patch.setattr(program, "source", None)
        assert binary(FakeDevice()) == expected
    monkeypatch.setattr(program, "code", lambda: "changed")
    assert binary(FakeDevice()) == expected
    assert len(list(folder.glob("*.note"))) == 2
    only_file(folder).unlink()
    again = FakeDevice()
    assert binary(again) == expected and len(again.compiled) == 1


def test_a_binary_that_does_not_load_is_replaced(folder: Path) -> None:
    """A driver that refuses an old binary gets a new one."""
    expected = binary(FakeDevice())
    second = FakeDevice(loads=False)
    assert binary(second) == expected
    assert len(second.compiled) == 1 and only_file(folder).is_file()


def test_a_file_that_cannot_be_written(folder: Path) -> None:
    """A folder in the file's place is no error, and no temporary files stay."""
    expected = binary(FakeDevice())
    path = only_file(folder)
    path.unlink()
    path.mkdir()
    second = FakeDevice()
    assert binary(second) == expected and len(second.compiled) == 1
    assert only_file(folder) == path


def test_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the setting the user's cache folder is used."""
    monkeypatch.delenv("PORTMP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert paths.cache_folder() == tmp_path / "xdg" / "portmp"
    paths.cache_folder.cache_clear()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert paths.cache_folder() == tmp_path / "home" / ".cache" / "portmp"
    assert list(program.cached_files()) == []


def test_clearing_spares_the_files_of_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only names that portmp gives are listed and removed; folders stay, too."""
    folder.mkdir()
    own = {f"{'0a' * 32}.bin", f"{'0a' * 32}.note", f"probe-{'1b' * 16}.json"}
    foreign = {
        "thesis.bin",
        "results.json",
        f"{'0A' * 32}.bin",
        f"{'0a' * 31}.bin",
        f"probe-{'1b' * 16}.json.bak",
        f"probe-{'1g' * 16}.json",
    }
    for name in own | foreign:
        (folder / name).write_text("x")
    (folder / f"{'2c' * 32}.bin").mkdir()
    assert {p.name for p in program.cached_files()} == own
    assert main(["cache", "--clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == 3
    assert {p.name for p in folder.iterdir() if p.is_file()} == foreign
    assert len(list(folder.iterdir())) == len(foreign) + 1


# --- whom the cache believes ---------------------------------------------------------------


@pytest.fixture
def planted(folder: Path) -> Path:
    """A binary that portmp kept, with other content in its place as somebody may leave it."""
    binary(FakeDevice())
    return only_file(folder)


def _warned(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("portmp: ") and all(word in line for word in words)


def test_files_and_folders_are_the_users_alone(folder: Path, planted: Path) -> None:
    """Whatever the umask says: nobody else reads or writes them."""
    before = os.umask(0)
    try:
        binary(FakeDevice(), MUL)
        paths.remember("probe-x.json", {})
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o703])
def test_a_folder_that_others_write_to_is_not_used(
    folder: Path, planted: Path, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a line that says so, once."""
    folder.chmod(mode)
    paths.cache_folder.cache_clear()
    again = FakeDevice()
    binary(again)
    assert len(again.compiled) == 1 and paths.cache_folder() is None
    _warned(capsys, str(folder), "is not used", "chmod 700")


def test_a_folder_below_one_that_all_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others could put another folder in its place; not so where only owners may rename."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("PORTMP_CACHE_DIR", str(shared / "mine"))
    for mode, used in ((0o1777, True), (0o777, False)):
        shared.chmod(mode)
        paths.cache_folder.cache_clear()
        assert (paths.cache_folder() is not None) == used
    _warned(capsys, str(shared), "is not used")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("what", ["folder", "binary", "key"])
def test_what_belongs_to_another_user_is_not_used(
    folder: Path, planted: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Be its content what portmp itself wrote."""
    paths._key.cache_clear()
    os.chown({"folder": folder, "binary": planted, "key": folder / "key"}[what], 12345, 12345)
    paths.cache_folder.cache_clear()
    again = FakeDevice()
    binary(again)
    assert len(again.compiled) == 1
    _warned(capsys, "is not used", "12345" if what == "folder" else "others may have written it")
    paths._key.cache_clear()


def test_files_that_others_may_write_are_not_used(
    planted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The compiler runs again."""
    planted.chmod(0o666)
    again = FakeDevice()
    binary(again)
    assert len(again.compiled) == 1
    _warned(capsys, str(planted))


def test_a_seal_is_of_this_cache_and_this_name(
    folder: Path, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file from another cache, or under another file's name, is compiled again."""
    good = planted.read_bytes()
    binary(FakeDevice(), MUL)
    (other,) = (p for p in folder.glob("*.bin") if p != planted)
    planted.write_bytes(other.read_bytes())
    again = FakeDevice()
    binary(again)
    assert len(again.compiled) == 1 and planted.read_bytes() == good
    monkeypatch.setenv("PORTMP_CACHE_DIR", str(tmp_path / "elsewhere"))
    paths.cache_folder.cache_clear()
    third = FakeDevice()
    binary(third)
    (moved,) = (tmp_path / "elsewhere").glob("*.bin")
    assert moved.name == planted.name and moved.read_bytes() != good
    moved.write_bytes(good)
    fourth = FakeDevice()
    binary(fourth)
    assert len(fourth.compiled) == 1


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_only_regular_files_are_read(planted: Path, kind: str, tmp_path: Path) -> None:
    """A pipe to which nobody writes stops nothing; a link is not followed."""
    good = planted.read_bytes()
    planted.unlink()
    if kind == "pipe":
        os.mkfifo(planted)
    else:
        (tmp_path / "target").write_bytes(good)
        planted.symlink_to(tmp_path / "target")
    again = FakeDevice()
    binary(again)
    assert len(again.compiled) == 1


def test_code_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text of the same size and time of change is other code."""
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(paths, "PACKAGE", package)
    found = set()
    for text in ("x = 1", "x = 2"):
        (package / "one.py").write_text(text)
        os.utime(package / "one.py", (1, 1))
        program.code.cache_clear()
        found.add(program.code())
    program.code.cache_clear()
    assert len(found) == 2


def test_what_killed_processes_leave_is_cleared(folder: Path, planted: Path) -> None:
    """Unfinished files of the cache, and drivers' folders."""
    left = folder / f".{planted.name[:50]}.{'0f' * 8}"
    left.write_bytes(b"half")
    (folder / ".mine.txt").write_text("of the user")
    assert left in list(program.cached_files())
    assert main(["cache", "--clear"]) == 0
    assert not left.exists() and (folder / ".mine.txt").exists()


def test_temporary_folders_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that a living process has are not, be they old."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with paths.temporary_folder("test") as mine:
        left = tmp_path / "portmp.test.left"
        left.mkdir()
        for folder in (mine, left):
            os.utime(folder, (1, 1))
        with paths.temporary_folder("test"):
            assert mine.is_dir() and not left.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that fails for it is not blamed, nor its source."""

    class Failing(FakeDevice):
        def compile(self, source: str) -> bytes:
            raise CompileError("1:1: no space left")

    assert paths.full_disk() == ""
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=4096))
    with pytest.raises(CompileError, match=r"the disk of .* is full: 4096 bytes are free; TMPDIR"):
        binary(Failing())


# --- keys --------------------------------------------------------------------------------


def test_what_a_key_depends_on(folder: Path) -> None:
    """Compiler, options, driver, kernel and traits each have their own file."""
    devices = [
        FakeDevice(),
        FakeDevice("compiler 2 -O3 driver=1"),
        FakeDevice("compiler 1 -O2 driver=1"),
        FakeDevice("compiler 1 -O3 driver=2"),
        FakeDevice(),
    ]
    devices[-1].traits = replace(devices[-1].traits, fma="contracted")
    for device in devices:
        binary(device)
        assert len(device.compiled) == 1
    binary(devices[0], MUL)
    assert len(devices[0].compiled) == 2
    files = list(program.cached_files())
    assert sum(path.suffix == ".bin" for path in files) == 6
    assert sorted(files) == sorted(set(folder.iterdir()) - {folder / "key"})


class FakeCompiler(Compiler):
    """Names itself only."""

    name = "fake"

    def __init__(self, version: str, *options: str) -> None:
        self._version = version
        self._options = options

    def version(self) -> str:
        return self._version

    def options(self, arch: str) -> tuple[str, ...]:
        return (*self._options, f"--arch={arch}")

    def compile(self, source: str, arch: str) -> bytes:
        raise NotImplementedError

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        raise NotImplementedError

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        raise NotImplementedError


def test_keys_of_gpus() -> None:
    """Version, options, architecture and driver are all in the key."""

    def key(compiler: FakeCompiler, **facts: Any) -> str:
        driver: Any = None
        properties = replace(PROPERTIES, **facts)
        return GpuDevice(0, driver, properties, Traits(), compiler).compiler_key()

    keys = {
        key(FakeCompiler("1", "-O3")),
        key(FakeCompiler("2", "-O3")),
        key(FakeCompiler("1", "-O2")),
        key(FakeCompiler("1", "-O3"), arch="b"),
        key(FakeCompiler("1", "-O3"), driver="2"),
        key(FakeCompiler("1", "-O3"), warp_size=64),
    }
    assert len(keys) == 6
    assert key(FakeCompiler("1", "-O3")) in keys


def test_keys_of_opencl() -> None:
    """Platform, driver, device and every option are in the key."""
    pytest.importorskip("pyopencl")
    from portmp.backends.opencl import runtime as opencl

    keys = {}
    for device in opencl.find_devices():
        key = device.compiler_key()
        facts = device.properties
        assert all(str(part) in key for part in (facts.driver, facts.name, facts.extra["platform"]))
        assert "-cl-std=CL1.2" in key
        assert keys.setdefault(key, facts) == facts  # twins share what was compiled for one


# --- in memory ---------------------------------------------------------------------------


def test_threads_compile_once() -> None:
    """Many threads that want a kernel at the same time get the same one."""
    device = FakeDevice()
    start = threading.Barrier(8)
    found: list[Kernel] = []

    def want() -> None:
        start.wait()
        found.append(program.kernels(device, ADD)[ADD.name])

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({id(kernel) for kernel in found}) == 1
    assert len(device.compiled) == 1


def test_files_are_replaced_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails midway leaves the old file and nothing else."""
    folder.mkdir()
    path = folder / "x.bin"
    paths.replace_file(path, b"old")

    def fail(*arguments: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        paths.replace_file(path, b"new")
    assert only_file(folder) == path and path.read_bytes() == b"old"
    assert np.uint8(path.stat().st_mode & 0o44) == 0o44


def test_replacing_is_writing(tmp_path: Path) -> None:
    """The umask makes the mode of a new file, an old one keeps its own; links are followed."""
    before = os.umask(0o077)
    try:
        paths.replace_file(tmp_path / "new", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    (tmp_path / "new").chmod(0o640)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to("../new")
    paths.replace_file(tmp_path / "elsewhere" / "link", b"2")
    assert (tmp_path / "elsewhere" / "link").is_symlink()
    assert (tmp_path / "new").read_bytes() == b"2"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "dangling").symlink_to("later")
    paths.replace_file(tmp_path / "dangling", b"3")
    assert (tmp_path / "later").read_bytes() == b"3"
    paths.replace_file(tmp_path / ("n" * 255), b"4")
    assert len(list(tmp_path.iterdir())) == 5


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """Whatever is no plain file stays what it is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    paths.replace_file(pipe, b"data")
    assert os.read(reader, 10) == b"data"
    os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe] and pipe.is_fifo()


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """No HOME and no entry among the users, or a user that does not exist."""
    for setting in ("~no-such-user-here/cache", None):
        if setting:
            monkeypatch.setenv("PORTMP_CACHE_DIR", setting)
        else:
            monkeypatch.delenv("PORTMP_CACHE_DIR")
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
            monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        paths.cache_folder.cache_clear()
        assert paths.cache_folder() is None


# --- the folder of OpenCL drivers --------------------------------------------------------


def test_the_drivers_folder_is_repaired(folder: Path) -> None:
    """Wrong, missing and added files are mended; right ones are not written again."""
    libraries = ["/lib/one.so", "two.so"]
    place = drivers._folder(libraries)
    assert place.parent == folder
    right = {"00.icd": "/lib/one.so\n", "01.icd": "two.so\n"}
    assert {p.name: p.read_text() for p in place.iterdir()} == right
    stamps = [p.stat().st_ino for p in sorted(place.iterdir())]
    assert drivers._folder(libraries) == place
    assert [p.stat().st_ino for p in sorted(place.iterdir())] == stamps
    (place / "00.icd").write_text("/lib/ev")
    (place / "01.icd").unlink()
    (place / "02.icd").write_text("/tmp/other.so\n")
    assert drivers._folder(libraries) == place
    assert {p.name: p.read_text() for p in place.iterdir()} == right


def test_an_obstacle_in_the_place_of_the_drivers_folder(folder: Path) -> None:
    """A file there is no error: the process has a folder of its own."""
    place = drivers._folder(["x.so"])
    (place / "00.icd").unlink()
    place.rmdir()
    place.write_text("in the way")
    assert (drivers._folder(["x.so"]) / "00.icd").read_text() == "x.so\n"
    assert place.read_text() == "in the way"


def test_without_a_cache_the_drivers_folder_is_private(tmp_path: Path) -> None:
    """A new name each time, closed to others, gone with the process."""
    code = "from portmp.backends.opencl import drivers; f = drivers._folder(['x.so']); "
    code += "print(f, oct(f.stat().st_mode & 0o777), (f / '00.icd').read_text().strip())"
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=environment(PORTMP_CACHE_DIR="", TMPDIR=str(tmp_path)),
        )
        found.append(done.stdout.split())
    assert found[0][0] != found[1][0]
    assert [f[1:] for f in found] == [["0o700", "x.so"]] * 2
    assert list(tmp_path.iterdir()) == []
