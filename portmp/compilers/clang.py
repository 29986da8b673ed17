"""HIP source to AMD code objects with a plain clang: no ROCm and no GPU needed."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from portmp.compilers import tools
from portmp.compilers.amd_code import AmdCompiler
from portmp.errors import BackendUnavailable, CompileError

_OLDEST = 17
_PRELUDE = Path(__file__).with_name("hip_prelude.h")
_LIBRARY = re.compile(r"undefined (?:hidden )?symbol: (__oc(?:ml|kl)_\w+)")
_LIBRARY_FOLDERS = (
    "opt/rocm/amdgcn/bitcode",
    "opt/rocm/lib/llvm/lib/clang/*/lib/amdgcn/bitcode",
    "usr/lib/*-linux-gnu/amdgcn/bitcode",
    "usr/lib*/amdgcn/bitcode",
)
_LIBRARY_REMEDY = (
    "Debian and Ubuntu: apt-get install rocm-device-libs; or name its folder of .bc files in "
    "HIP_DEVICE_LIB_PATH"
)
_REMEDY = "Debian and Ubuntu: apt-get install clang-19 lld-19; or name one in PORTMP_CLANG"


_version_of = lru_cache(maxsize=8)(tools.version_of)


def _find() -> tuple[str, str]:
    """Path and version line of the compiler to use."""
    wanted = os.environ.get("PORTMP_CLANG")
    paths = [wanted] if wanted else map(str, tools.versioned_tools("clang++", tools.ROCM_FOLDERS))
    for path in paths:
        major, line = _version_of((path,))
        if major >= _OLDEST:
            return path, line
        if wanted:
            raise BackendUnavailable(f"PORTMP_CLANG={wanted} is no clang of at least 17: {line}")
    raise BackendUnavailable(f"no clang++ of at least version {_OLDEST} is on PATH; {_REMEDY}")


@lru_cache(maxsize=1)
def _prelude_key() -> str:
    """Digest of the prelude, which is part of what the compiler sees."""
    return sha256(_PRELUDE.read_bytes()).hexdigest()[:12]


def device_library() -> Path | None:
    """The folder of AMD's device library: HIP_DEVICE_LIB_PATH, else where packages put it."""
    named = os.environ.get("HIP_DEVICE_LIB_PATH")
    usual = (place for pattern in _LIBRARY_FOLDERS for place in Path("/").glob(pattern))
    return next((p for p in ([Path(named)] if named else usual) if (p / "ocml.bc").is_file()), None)


@lru_cache(maxsize=4)
def _library_key(folder: Path | None) -> str:
    """Digest of the device library, which a kernel may be linked with."""
    if folder is None:
        return "none"
    return sha256((folder / "ocml.bc").read_bytes()).hexdigest()[:12]


def _library_options(folder: Path, arch: str) -> Iterator[str]:
    """What links the device library, set as HIP sets it: nothing flushed, nothing assumed.

    An older library has no settings for the newest architectures; those of the nearest relative
    stand for them. They choose among instructions that all later ones have as well.
    """
    number = arch.removeprefix("gfx")
    families = (number, "940", "90a") if number.startswith("9") else (number, "1030")
    known = [f for f in families if (folder / f"oclc_isa_version_{f}.bc").is_file()]
    wide = "on" if number.startswith("9") else "off"
    settings = (
        *("daz_opt_off", "unsafe_math_off", "finite_only_off", "correctly_rounded_sqrt_on"),
        *(f"wavefrontsize64_{wide}", *(f"isa_version_{f}" for f in known[:1]), "abi_version_500"),
    )
    for name in ("ocml", "ockl", *(f"oclc_{one}" for one in settings)):
        file = folder / f"{name}.bc"
        if file.is_file():
            yield from ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(file))


class ClangCompiler(AmdCompiler):
    """The newest clang++ on PATH, or the one that PORTMP_CLANG names."""

    name = "clang"

    def version(self) -> str:
        """Version line of clang, and digests of the prelude and of AMD's device library."""
        library = _library_key(device_library())
        return f"{_find()[1]} prelude {_prelude_key()} library {library}"

    def options(self, arch: str) -> tuple[str, ...]:
        """Options for one AMD architecture; the prelude replaces the headers of HIP."""
        return (
            *("-x", "hip", "--offload-device-only", "--no-gpu-bundle-output"),
            *("-nogpulib", "-nogpuinc", f"--offload-arch={arch}"),
            *("-std=c++17", "-O3", "-ffp-contract=off", *self._more),
        )

    def compile(self, source: str, arch: str) -> bytes:
        """Compile to a code object; messages place lines in ``<stdin>``.

        AMD's device library is linked where the source calls it; CompileError where it is missing.
        """
        options = self.options(arch)
        try:
            return self._compiled(source, options)
        except CompileError as error:
            wanted = _LIBRARY.search(str(error))
            if wanted is None:
                raise
        folder = device_library()
        if folder is None:
            raise CompileError(
                f"the source needs {wanted[1]} of AMD's device library, which is not found; "
                f"{_LIBRARY_REMEDY}"
            )
        return self._compiled(source, (*options, *_library_options(folder, arch)))

    def _compiled(self, source: str, options: Sequence[str]) -> bytes:
        command = [_find()[0], *options, "-include", str(_PRELUDE), "-"]
        return tools.made(command, source, "clang")
