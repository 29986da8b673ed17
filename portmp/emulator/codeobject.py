"""A code object as the loader sees it: its image in memory, and what its kernels are given.

Layouts: LLVM's "User Guide for AMDGPU Backend", code object versions 4 and 5 (kernel
descriptor, initial register state, kernel arguments).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from portmp.compilers import amd_code, elf
from portmp.emulator import listing
from portmp.emulator.listing import Instruction
from portmp.errors import DeviceError

_KEPT = 3
"""Subnormals are kept in operands and results, in the mode's two bits."""

USER_REGISTERS = (
    ("private_segment_buffer", 4),
    ("dispatch", 2),
    ("queue", 2),
    ("arguments", 2),
    ("dispatch_id", 2),
    ("flat_scratch", 2),
    ("private_segment_size", 1),
)
"""What the bits of a kernel's properties put into its first scalar registers, and their number."""


@dataclass(frozen=True)
class Argument:
    """One kernel argument: bytes at an offset of the argument segment."""

    offset: int
    nbytes: int
    kind: str


@dataclass(frozen=True)
class Kernel:
    """What a launch of a kernel needs to know. Sizes in bytes."""

    name: str
    arch: str
    lanes: int
    shared: int
    scratch: int
    argument_bytes: int
    arguments: tuple[Argument, ...]
    user: tuple[tuple[str, int], ...]
    user_count: int
    group_ids: tuple[bool, bool, bool]
    scratch_offset: bool
    ieee: bool
    code: tuple[Instruction, ...]

    @property
    def explicit(self) -> list[Argument]:
        """The arguments that a launch gives."""
        return [one for one in self.arguments if not one.kind.startswith("hidden_")]

    @property
    def packed_ids(self) -> bool:
        """Whether a lane's three indices share a register."""
        return self.arch in ("gfx90a", "gfx942") or self.arch.startswith(("gfx11", "gfx12"))

    @property
    def trap_ids(self) -> bool:
        """Whether the block's indices are in trap registers."""
        return self.arch.startswith("gfx12")


class CodeObject:
    """An ELF file for one architecture."""

    def __init__(self, binary: bytes) -> None:
        self.binary = amd_code.unbundle(binary)
        try:
            self._notes = amd_code.metadata(self.binary)
        except (ValueError, struct.error) as error:
            raise DeviceError(f"no code object that can be loaded: {error}") from None
        self.arch = _arch(self._notes)

    @cached_property
    def image(self) -> bytes:
        """Memory from address 0, as the program headers lay it out."""
        pieces = elf.loaded(self.binary)
        image = bytearray(max((at + size for at, size, _ in pieces), default=0))
        for at, _, content in pieces:
            image[at : at + len(content)] = content
        return bytes(image)

    @cached_property
    def has_lines(self) -> bool:
        """Whether it says which lines of its source the instructions come from."""
        return ".debug_line" in elf.sections(self.binary)

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """All kernels by name."""
        code: dict[str, list[Instruction]] = {}
        for function, one in listing.instructions(self.binary):
            code.setdefault(function, []).append(one)
        addresses = dict(elf.symbols(self.binary))
        found = {}
        names = {facts[".name"] for facts in self._notes["amdhsa.kernels"]}
        functions = [one for name, lines in code.items() if name not in names for one in lines]
        for facts in self._notes["amdhsa.kernels"]:
            name = facts[".name"]
            descriptor = addresses[facts[".symbol"]]
            own = code[name]
            if any(one.mnemonic.startswith("s_swappc") for one in own):
                own = own + functions
            found[name] = self._kernel(facts, self.image[descriptor : descriptor + 64], own)
        return found

    def _kernel(
        self, facts: Mapping[str, Any], descriptor: bytes, code: list[Instruction]
    ) -> Kernel:
        def number(at: int, layout: str = "<I") -> int:
            return int(struct.unpack_from(layout, descriptor, at)[0])

        mode, setup, properties = number(48), number(52), number(56, "<H")
        if mode >> 12 & 15 or (mode >> 16 & 3, mode >> 18 & 3) != (_KEPT, _KEPT):
            raise DeviceError(
                f"kernel {facts['.name']!r} does not round to nearest with subnormals kept"
            )
        if not mode >> 21 & 1 and not self.arch.startswith("gfx12"):
            raise DeviceError(f"kernel {facts['.name']!r} clamps no NaN")
        if number(58, "<H"):
            raise DeviceError(f"kernel {facts['.name']!r} wants its arguments in registers")
        user = tuple(item for bit, item in enumerate(USER_REGISTERS) if properties >> bit & 1)
        arguments = tuple(
            Argument(a[".offset"], a[".size"], a[".value_kind"]) for a in facts.get(".args", ())
        )
        return Kernel(
            name=facts[".name"],
            arch=self.arch,
            lanes=facts[".wavefront_size"],
            shared=facts[".group_segment_fixed_size"],
            scratch=facts[".private_segment_fixed_size"],
            argument_bytes=facts[".kernarg_segment_size"],
            arguments=arguments,
            user=user,
            user_count=setup >> 1 & 31,
            group_ids=(bool(setup >> 7 & 1), bool(setup >> 8 & 1), bool(setup >> 9 & 1)),
            scratch_offset=bool(setup & 1),
            # since gfx12 the bit has another meaning: a NaN always gives way
            ieee=bool(mode >> 23 & 1) and not self.arch.startswith("gfx12"),
            code=tuple(code),
        )


def _arch(notes: Mapping[str, Any]) -> str:
    """``gfx90a`` of a target such as ``amdgcn-amd-amdhsa--gfx90a:sramecc+``."""
    target = str(notes.get("amdhsa.target", ""))
    return target.rpartition("-")[2].partition(":")[0]
