"""Finding OpenCL drivers before the loader is imported.

The OpenCL loader inside pyopencl's wheels reads one folder of ``.icd`` files, named by
OCL_ICD_VENDORS; setting it hides every other place. So the places are gathered into
one folder: the user's setting, the system's folder, and the CPU runtimes that pip
installed (PoCL, Intel).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform as machine
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from portmp import paths

SYSTEM = Path("/etc/OpenCL/vendors")
PIP_RUNTIMES = (("pocl-binary-distribution", "libpocl"), ("intel-opencl-rt", "libintelocl."))
"""Packages whose shared library is an OpenCL driver, and how the library's name begins."""

SYSTEM_PACKAGE = {"Darwin": "brew install pocl"}
"""What installs a driver by the system's means, where that is not Debian's."""
DEBIAN = "the system's package, on Debian and Ubuntu apt-get install pocl-opencl-icd"


def install() -> str:
    """What installs pyopencl and a driver for this machine's processor."""
    pip = "pip install 'portmp[opencl]'"
    system, processor = machine.system(), machine.machine()
    if (system, processor) == ("Linux", "x86_64"):
        return pip  # the only platform for which the index has PoCL
    return f"{pip} and {SYSTEM_PACKAGE.get(system, DEBIAN)}"


def pip_libraries() -> list[str]:
    """Paths of OpenCL drivers installed by pip."""
    found = []
    for package, prefix in PIP_RUNTIMES:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name.startswith(prefix) and file.suffix == ".so":
                path = Path(str(file.locate())).resolve()
                if path.is_file():
                    found.append(str(path))
                    break
    return found


def _libraries_in(place: Path) -> list[str]:
    """Libraries that a folder of .icd files names, or *place* itself if it is a library."""
    if place.is_file() and place.suffix != ".icd":
        return [str(place)]
    files = [place] if place.is_file() else sorted(place.glob("*.icd")) if place.is_dir() else []
    libraries = []
    for file in files:
        try:
            name = file.read_text().strip()
        except (OSError, ValueError):  # ValueError: no text
            continue
        beside = file.parent / name
        libraries.append(str(beside) if not Path(name).is_absolute() and beside.is_file() else name)
    return libraries


def gather() -> Path | None:
    """Make the folder of all drivers and point OCL_ICD_VENDORS to it; None when there is none.

    With PORTMP_ICD_ONLY=1 there are those of the user's OCL_ICD_VENDORS alone. A driver that ends
    the process that starts it is left out, with a line on standard error. pyopencl is told to keep
    no cache: it would run what lies in a folder that nobody checks, fails where the disk is full,
    and saves no time.
    """
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    setting = os.environ.get("OCL_ICD_VENDORS")
    if setting and setting == os.environ.get(_TRIED):
        return Path(setting)
    libraries = _libraries_in(Path(setting)) if setting else []
    if not (setting and os.environ.get("PORTMP_ICD_ONLY") == "1"):
        libraries += _libraries_in(SYSTEM)
        libraries += pip_libraries()
    unique: dict[str, str] = {}
    for library in libraries:
        absolute = Path(library).is_absolute()
        unique.setdefault(os.path.realpath(library) if absolute else library, library)
    if not unique:
        return None
    folder = _folder(_sound(list(unique.values())))
    os.environ["OCL_ICD_VENDORS"] = os.environ[_TRIED] = str(folder)
    return folder


_TRIED = "PORTMP_DRIVERS_TRIED"
"""The variable that names, for processes started from here, the folder of drivers that start."""

_HANG = 60.0
"""Seconds after which a driver that is being started counts as hung."""


def _sound(libraries: list[str]) -> list[str]:
    """Those that start: tried in another process, once for each state of the files."""
    states = [(library, *_state(library)) for library in libraries]
    note = f"drivers-{hashlib.sha256(repr(states).encode()).hexdigest()[:32]}.json"
    if paths.recalled(note) == libraries:
        return libraries
    sound, left = [], libraries
    while left:
        started, how = _trial(left)
        if not how:
            sound += left
            break
        print(
            f"portmp: the OpenCL driver {left[started]} is not used: starting it {how}; update "
            "the package that it belongs to, or remove its .icd file",
            file=sys.stderr,
        )
        sound, left = sound + left[:started], left[started + 1 :]
    if sound == libraries:
        paths.remember(note, libraries)
    return sound


def _state(library: str) -> tuple[int, int]:
    """Size and time of change of a library's file, or of the loader's list of libraries."""
    for path in (library, "/etc/ld.so.cache"):
        with contextlib.suppress(OSError):
            facts = Path(path).stat() if Path(path).is_absolute() else None
            if facts:
                return facts.st_size, facts.st_mtime_ns
    return 0, 0


def _trial(libraries: list[str]) -> tuple[int, str]:
    """Start drivers in another process: which one ended it, and how; or no word."""
    with paths.temporary_folder("trial") as folder, tempfile.TemporaryFile("w+") as said:
        command = [sys.executable, "-P", "-S", str(Path(__file__).with_name("trial.py"))]
        environment = {**os.environ, CACHE: str(folder)}
        try:
            status = subprocess.run(
                [*command, *libraries],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                env=environment,
                timeout=_HANG,
                check=False,
            ).returncode
            how = f"ends with signal {-status}" if status < 0 else f"ends with status {status}"
        except subprocess.TimeoutExpired:
            how = f"takes more than {_HANG:.0f} s"
        said.seek(0)
        lines = said.read().splitlines()
    started = [i for i, library in enumerate(libraries) if f"start {library}" in lines]
    if "end" in lines or not started:
        return 0, ""  # what ends a process that has started all of them harms no use
    return started[-1], how


CACHE = "POCL_CACHE_DIR"
"""The variable that names PoCL's folder of compiled kernels."""

_SPECIALISED = "POCL_WORK_GROUP_SPECIALIZATION"
"""The variable that lets PoCL compile a kernel once more when it is launched."""


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Let drivers start inside with the settings that suit portmp; a user's own stand.

    PoCL keeps compiled kernels in a folder of this process. Its usual one is shared: what a
    process that died, or one beside this, left there is taken for a kernel; and portmp keeps
    binaries itself. They hold kernels as they are compiled, not those that PoCL would compile
    again at each process's first launch, for its grid, to no gain that was measured.
    """
    os.environ.setdefault(_SPECIALISED, "0")
    if CACHE in os.environ:
        yield
        return
    os.environ[CACHE] = str(_private_folder() / "kernels")
    try:
        yield
    finally:
        del os.environ[CACHE]  # PoCL reads it once; processes started from here have their own


def _folder(libraries: list[str]) -> Path:
    """A folder with exactly one .icd file for each library."""
    key = hashlib.sha256("\n".join(libraries).encode()).hexdigest()[:16]
    wanted = {f"{i:02d}.icd": f"{library}\n".encode() for i, library in enumerate(libraries)}
    base = paths.cache_folder()
    if base is not None:
        with contextlib.suppress(OSError):
            return _filled(base / f"opencl-drivers-{key}", wanted)
    return _filled(_private_folder(), wanted)


def _filled(folder: Path, wanted: dict[str, bytes]) -> Path:
    """*folder*, mended where its .icd files are not the wanted ones: the loader runs them."""
    paths.make_private(folder)
    if doubt := paths.writers(folder):
        raise PermissionError(f"{folder}: {doubt}")
    for file in folder.glob("*.icd"):
        if file.name not in wanted:
            file.unlink(missing_ok=True)
    for name, content in wanted.items():
        if paths.read_private(folder / name) != content:
            paths.replace_file(folder / name, content, mode=0o600)
    return folder


def _private_folder() -> Path:
    """A folder of this process; no one else can have prepared it."""
    return paths.process_folder("opencl")
