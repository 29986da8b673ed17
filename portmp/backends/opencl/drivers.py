"""Finding OpenCL drivers before the loader is imported.

The OpenCL loader inside pyopencl's wheels reads one folder of ``.icd`` files, named by
OCL_ICD_VENDORS; setting it hides every other place. So the places are gathered into
one folder: the user's setting, the system's folder, and the CPU runtimes that pip
installed (PoCL, Intel).
"""

import contextlib
import ctypes
import hashlib
import os
import platform as machine
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from portmp import paths
from portmp.backends import trial

SYSTEM = Path("/etc/OpenCL/vendors")
PIP_RUNTIMES = (("pocl-binary-distribution", "libpocl"), ("intel-opencl-rt", "libintelocl."))
"""Packages whose shared library is an OpenCL driver, and how the library's name begins."""

SYSTEM_PACKAGE = {"Darwin": "brew install pocl"}
"""What installs a driver by the system's means, where that is not Debian's."""
DEBIAN = "the system's package, on Debian and Ubuntu apt-get install pocl-opencl-icd"


def install() -> str:
    """What installs pyopencl and a driver for this machine's processor, if these are not there."""
    pip = "pip install '.[pocl]' in a checkout of portmp"
    system, processor = machine.system(), machine.machine()
    if "pyopencl" in sys.modules and pip_libraries():
        return f"{SYSTEM_PACKAGE.get(system, DEBIAN)} (what pip installs is here and does not work)"
    if (system, processor) == ("Linux", "x86_64"):
        return pip  # the only platform for which the index has PoCL
    return f"{pip} and {SYSTEM_PACKAGE.get(system, DEBIAN)}"


def remedy() -> str:
    """What may bring a device where none is found."""
    setting = os.environ.get("OCL_ICD_VENDORS")
    if setting and os.environ.get("PORTMP_ICD_ONLY") == "1":
        return f"PORTMP_ICD_ONLY=1 leaves out all drivers but OCL_ICD_VENDORS={setting}"
    return f"a CPU device is installed by: {install()}"


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


def uninvited(platform: int) -> bool:
    """Whether the driver of a platform, a pointer, is one that PORTMP_ICD_ONLY keeps out.

    pyopencl's loader adds the drivers that lie beside it to those of a folder. A platform begins
    with a pointer to its driver's functions: which library they are in tells the driver.
    """
    if os.environ.get("PORTMP_ICD_ONLY") != "1":
        return False
    wanted = _libraries_in(Path(os.environ.get("OCL_ICD_VENDORS", "")))
    unwanted = {os.path.realpath(p) for p in pip_libraries()} - set(map(os.path.realpath, wanted))
    return os.path.realpath(_library_at(_pointer_at(platform))) in unwanted


def alone(platform: int) -> dict[str, str]:
    """Settings with which a program finds no driver but that of a platform, a pointer."""
    return {"OCL_ICD_VENDORS": str(_folder([_library_at(_pointer_at(platform))]))}


def _pointer_at(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


class _Found(ctypes.Structure):
    """What ``dladdr`` tells of an address."""

    _fields_: ClassVar = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _library_at(address: int) -> str:
    """The library that an address lies in, or nothing where that cannot be told."""
    look_up = getattr(ctypes.CDLL(None), "dladdr", None)
    found = _Found()
    if look_up is None or not look_up(ctypes.c_void_p(address), ctypes.byref(found)):
        return ""
    return os.fsdecode(found.file or b"")


_TRIED = "PORTMP_DRIVERS_TRIED"
"""The variable that names, for processes started from here, the folder of drivers that start."""


def _sound(libraries: list[str]) -> list[str]:
    """Those that start; a line on standard error for each of the others."""
    failing = trial.failing([f"icd={library}" for library in libraries], CACHE)
    for start, how in failing.items():
        print(
            f"portmp: the OpenCL driver {start.removeprefix('icd=')} is not used: starting it "
            f"{how}; update the package that it belongs to, or remove its .icd file",
            file=sys.stderr,
        )
    return [library for library in libraries if f"icd={library}" not in failing]


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
    os.environ[CACHE] = str(paths.process_folder("opencl") / "kernels")
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
    return _filled(paths.process_folder("opencl"), wanted)


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
