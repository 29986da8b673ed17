"""AMD code objects: resources from their metadata note, instructions from llvm-objdump."""

import re
import struct
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from portmp.compilers import elf, tools
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import BackendUnavailable

_METADATA_NOTE = 32
_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_PADDING = ("s_nop", "s_code_end")
_FLOAT_OPERATIONS = {
    **dict.fromkeys(("fma", "fmac", "fmaak", "fmamk", "mac", "mad", "madak", "madmk"), "fma"),
    **dict.fromkeys(("add", "sub", "subrev"), "add"),
    "mul": "mul",
}
_FLOAT = re.compile(r"[vs]_(?:pk_|dual_)?([a-z]+)_(?:legacy_)?f(32|64)")
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("special", r"v_(s_)?(rcp|rsq|sqrt|exp|log|sin|cos)_|v_div_|v_trig_"),
        ("shared", r"ds_"),
        ("load", r"(global|flat|buffer|scratch|s|s_buffer|s_scratch)_load"),
        ("store", r"(global|flat|buffer|scratch)_(store|atomic)"),
        ("branch", r"s_(c?branch|setpc|swappc|call)"),
        # Since gfx12 a barrier is a pair of instructions: count only the second of them.
        ("barrier", r"s_barrier(_wait)?$"),
    )
)
_HEADER = re.compile(r"([0-9a-f]+) <(.+)>:")
_PLACE = re.compile(r"//\s*([0-9A-Fa-f]+):")
_JUMP = re.compile(r"<[^>]*?(?:\+0x([0-9a-fA-F]+))?>\s*$")


def unbundle(binary: bytes) -> bytes:
    """The device's code object; some compilers wrap it in an offload bundle."""
    if not binary.startswith(_BUNDLE):
        return binary
    at = len(_BUNDLE) + 8
    for _ in range(struct.unpack_from("<Q", binary, len(_BUNDLE))[0]):
        offset, size, name_size = struct.unpack_from("<QQQ", binary, at)
        name = binary[at + 24 : at + 24 + name_size]
        at += 24 + name_size
        if b"amdgcn" in name:
            return binary[offset : offset + size]
    raise ValueError("the offload bundle holds no AMD code object")


def metadata(binary: bytes) -> dict[str, Any]:
    """The metadata note: ``amdhsa.kernels``, ``amdhsa.target`` and so on; else ValueError."""
    import msgpack

    for owner, kind, content in elf.notes(unbundle(binary)):
        if owner == "AMDGPU" and kind == _METADATA_NOTE:
            try:
                found = msgpack.unpackb(content)
            except (ValueError, msgpack.UnpackException) as error:
                raise ValueError(f"the metadata note is damaged: {error}") from None
            if isinstance(found, dict):
                return found
    raise ValueError("the code object has no metadata note")


def classify(mnemonic: str) -> str:
    """Class of an instruction; unfused v_mac and v_mad count as contractions too."""
    match = _FLOAT.match(mnemonic)
    if match and match[1] in _FLOAT_OPERATIONS:
        return _FLOAT_OPERATIONS[match[1]] + match[2]
    for kind, pattern in _PATTERNS:
        if pattern.match(mnemonic):
            return kind
    return "other"


@lru_cache(maxsize=1)
def _objdump() -> str:
    """The newest llvm-objdump: only a new one knows the newest architectures."""
    found = tools.versioned_tools("llvm-objdump", tools.ROCM_FOLDERS)
    if not found:
        raise BackendUnavailable(
            "llvm-objdump is not on PATH; Debian and Ubuntu: apt-get install llvm-19"
        )
    return str(found[0])


def listing(binary: bytes) -> str:
    """What llvm-objdump prints of the code: labels, and instructions with address and encoding."""
    return tools.run_on_binary([_objdump(), "-d"], unbundle(binary))


class Operation(NamedTuple):
    """What an instruction does, or one of its two operations; addresses of it and of its jump."""

    place: int
    text: str
    target: int | None


def functions(binary: bytes) -> dict[str, list[Operation]]:
    """Operations of each function; jumps name their target's distance from the start."""
    found: dict[str, list[Operation]] = {}
    lines: list[Operation] = []
    start = 0
    for line in listing(binary).splitlines():
        if header := _HEADER.fullmatch(line):
            start, lines = int(header[1], 16), found.setdefault(header[2], [])
        elif line.startswith("\t") and (place := _PLACE.search(line)):
            jump = _JUMP.search(line) if "branch" in line else None
            target = start + int(jump[1] or "0", 16) if jump else None
            # gfx11 and later pair two operations in one instruction.
            for part in line.split("//")[0].split(" :: "):
                lines.append(Operation(int(place[1], 16), " ".join(part.split()), target))
    return found


def disassemble(binary: bytes) -> dict[str, list[str]]:
    """Instructions of each function, without the padding behind the last one."""
    found = {name: [one.text for one in lines] for name, lines in functions(binary).items()}
    for lines in found.values():
        while lines and lines[-1].split()[0] in _PADDING:
            lines.pop()
    return found


def count(lines: Sequence[str]) -> Counter[str]:
    """Static counts by class."""
    return Counter(classify(line.split()[0]) for line in lines)


def report(binary: bytes, arch: str) -> list[KernelReport]:
    """Resources of every kernel; without llvm-objdump the instruction counts stay empty."""
    try:
        listing = disassemble(binary)
    except BackendUnavailable:
        listing = {}
    return [
        KernelReport(
            name=kernel[".name"],
            arch=arch,
            registers=kernel.get(".vgpr_count"),
            scalar_registers=kernel.get(".sgpr_count"),
            spills=kernel.get(".vgpr_spill_count", 0) + kernel.get(".sgpr_spill_count", 0),
            scratch=kernel.get(".private_segment_fixed_size"),
            shared=kernel.get(".group_segment_fixed_size"),
            instructions=count(listing.get(kernel[".name"], [])),
        )
        for kernel in metadata(binary)["amdhsa.kernels"]
    ]


class AmdCompiler(Compiler):
    """A compiler of code objects, with *more* options than its own."""

    def __init__(self, *more: str) -> None:
        self._more = more

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        """Instructions of each function, through llvm-objdump."""
        return disassemble(binary)

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """Resources of every kernel, from the metadata note."""
        return report(binary, arch)
