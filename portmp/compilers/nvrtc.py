"""CUDA source to cubins with NVIDIA's run-time compiler, through cuda-bindings."""

import os
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from portmp.compilers import elf, tools
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import BackendUnavailable, CompileError

_REMEDY = "pip install cuda-bindings nvidia-cuda-nvrtc"
_ARGUMENTS, _SHARED = ".nv.constant0.", ".nv.shared."
_REGISTER_COUNT, _FRAME_SIZE = 0x2F, 0x11
_RESERVED_SECTION, _RESERVED_BYTES = ".nv.shared.reserved.0", 1024
_BY_CLASS = {
    "fma64": "DFMA",
    "add64": "DADD",
    "mul64": "DMUL",
    "fma32": "FFMA FFMA2 FFMA32I",
    "add32": "FADD FADD2 FADD32I FSWZADD",
    "mul32": "FMUL FMUL2 FMUL32I",
    "special": "MUFU",
    "load": "LD LDG LDL",
    "store": "ST STG STL RED REDG ATOM ATOMG",
    "shared": "LDS STS LDSM STSM ATOMS",
    "branch": "BRA BRX BRXU JMP JMX CALL RET",
    "barrier": "BAR",
}
_EXACT = {head: kind for kind, heads in _BY_CLASS.items() for head in heads.split()}
_INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(?:(@!?U?P\w+)\s+)?(\S.*?)\s*;")
_LABEL = re.compile(r"(\.L_x?_?\w+):")
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,]+),")


def classify(mnemonic: str) -> str:
    """Class of a SASS instruction; its modifiers do not matter."""
    return _EXACT.get(mnemonic.partition(".")[0], "other")


def _nvrtc() -> Any:
    """The bindings, once they have found the library."""
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except Exception as error:  # the bindings raise several types for a missing library
        raise BackendUnavailable(f"NVRTC is missing ({error}); {_REMEDY}") from error
    return nvrtc


def _asked(function: str, *given: Any) -> Any:
    """The values that a function of the library gives: none, one, or a tuple of several."""
    status, *values = getattr(_nvrtc(), function)(*given)
    if int(status):
        raise CompileError(f"{function}: {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


def _log(program: Any) -> str:
    log = bytearray(_asked("nvrtcGetProgramLogSize", program))
    _asked("nvrtcGetProgramLog", program, log)
    return log.rstrip(b"\0").decode(errors="replace").strip()


def _nvdisasm_paths() -> Iterator[Path]:
    """Places where nvdisasm may be: named, of the pip package, on PATH, in a toolkit."""
    named = os.environ.get("PORTMP_NVDISASM")
    if named:
        yield Path(named)
    try:
        for file in metadata.files("nvidia-cuda-nvdisasm") or []:
            if file.name == "nvdisasm":
                yield Path(str(file.locate()))
    except metadata.PackageNotFoundError:
        pass
    roots = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    for folder in tools.search_folders([f"{root}/bin" for root in roots if root]):
        yield folder / "nvdisasm"


@lru_cache(maxsize=1)
def nvdisasm() -> str:
    """Path of NVIDIA's disassembler."""
    for path in _nvdisasm_paths():
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise BackendUnavailable("nvdisasm is missing; pip install nvidia-cuda-nvdisasm")


class Code(NamedTuple):
    """A section's instructions, predicates behind them, and how many stand before each label."""

    lines: list[str]
    labels: dict[str, int]


def functions(binary: bytes) -> dict[str, Code]:
    """SASS of each kernel with the subroutines that were placed behind it."""
    found: dict[str, Code] = {}
    code = Code([], {})
    for line in tools.run_on_binary([nvdisasm(), "-c"], binary).splitlines():
        if section := _SECTION.match(line):
            code = found.setdefault(section[1], Code([], {}))
        elif label := _LABEL.match(line):
            code.labels[label[1]] = len(code.lines)
        elif (match := _INSTRUCTION.match(line)) and match[2].split()[0] != "NOP":
            code.lines.append(f"{match[2]} {match[1]}" if match[1] else match[2])
    return found


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Attribute numbers and payloads of an ``.nv.info`` section."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        # Only form 4 has a payload behind its head; elsewhere the size field is the value.
        payload = data[at : at + size] if form == 4 else b""
        at += (len(payload) + 3) // 4 * 4
        yield attribute, payload


def _per_kernel(data: bytes, names: Sequence[str]) -> dict[tuple[int, str], int]:
    """Attributes of ``.nv.info`` that give one number for each function."""
    found: dict[tuple[int, str], int] = {}
    for attribute, payload in _attributes(data):
        if attribute in (_REGISTER_COUNT, _FRAME_SIZE) and len(payload) == 8:
            index, value = struct.unpack("<II", payload)
            found[attribute, names[index]] = value
    return found


def _shared_sizes(parts: Mapping[str, Any]) -> dict[str, int]:
    """Static shared memory by kernel.

    Since sm_90 the section also covers what the system reserves for itself in each block.
    """
    reserved = _RESERVED_SECTION in parts
    return {
        name.removeprefix(_SHARED): max(part.data_size - _RESERVED_BYTES * reserved, 0)
        for name, part in parts.items()
        if name.startswith(_SHARED) and name != _RESERVED_SECTION
    }


class NvrtcCompiler(Compiler):
    """NVRTC, for real architectures: the result is a cubin, not PTX."""

    name = "nvrtc"

    def version(self) -> str:
        """Version of the NVRTC library."""
        return "nvrtc {}.{}".format(*_asked("nvrtcVersion"))

    def architectures(self) -> tuple[str, ...]:
        """Real architectures that the installed NVRTC compiles for."""
        return tuple(f"sm_{number}" for number in _asked("nvrtcGetSupportedArchs"))

    def options(self, arch: str) -> tuple[str, ...]:
        """Options for one architecture."""
        return (
            f"--gpu-architecture={arch}",
            "--fmad=false",
            "--ftz=false",
            "--prec-div=true",
            "--prec-sqrt=true",
            "--std=c++17",
        )

    def compile(self, source: str, arch: str) -> bytes:
        """Compile to a cubin; messages place lines in ``kernel.cu``."""
        nvrtc = _nvrtc()
        if arch not in self.architectures():
            allowed = ", ".join(self.architectures())
            raise CompileError(f"{self.version()} does not know {arch!r}; it knows {allowed}")
        program = _asked("nvrtcCreateProgram", source.encode(), b"kernel.cu", 0, [], [])
        try:
            words = [option.encode() for option in self.options(arch)]
            (status,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
            if int(status):
                raise CompileError(_log(program) or status.name)
            code = bytearray(_asked("nvrtcGetCUBINSize", program))
            _asked("nvrtcGetCUBIN", program, code)
            return bytes(code)
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        """SASS of each kernel with the subroutines that were placed behind it."""
        return {name: code.lines for name, code in functions(binary).items()}

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """Resources of every kernel; what takes the disassembler is left out without it.

        ``spills`` are local memory instructions, from spilled registers or from arrays
        that are indexed at run time: the cubin does not tell them apart.
        """
        try:
            listing = self.disassemble(binary)
        except BackendUnavailable:
            listing = {}
        parts = elf.sections(binary)
        names = [name for name, _ in elf.symbols(binary)]
        numbers = _per_kernel(parts[".nv.info"].data(), names)
        shared = _shared_sizes(parts)
        return [
            _report(name, arch, numbers, shared.get(name, 0), listing.get(name))
            for name in names
            if _ARGUMENTS + name in parts and f".text.{name}" in parts
        ]


def _report(
    name: str, arch: str, numbers: dict[tuple[int, str], int], shared: int, lines: list[str] | None
) -> KernelReport:
    heads = [line.split()[0] for line in lines or ()]
    local = sum(head.partition(".")[0] in ("LDL", "STL") for head in heads)
    return KernelReport(
        name=name,
        arch=arch,
        registers=numbers.get((_REGISTER_COUNT, name)),
        scalar_registers=None,
        spills=None if lines is None else local,
        scratch=numbers.get((_FRAME_SIZE, name)),
        shared=shared,
        instructions=Counter(map(classify, heads)),
    )
