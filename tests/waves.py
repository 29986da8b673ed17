"""Lines of AMD's assembler, run by the interpreter: what tests of instructions share."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import tiers

from portmp.compilers import tools
from portmp.emulator import assembler, listing
from portmp.emulator.codeobject import Argument, Kernel
from portmp.emulator.machine import Loaded, Machine

Words = np.ndarray[Any, Any]

INPUT, OUTPUT = "s[8:9]", "s[10:11]"
"""Where the addresses of what a test reads and writes are."""


@cache
def machine(arch: str) -> Machine:
    """An interpreter of *arch*."""
    return Machine(arch, tiers.interpreter())


@dataclass(frozen=True)
class Waves:
    """Waves of so many lanes, of an architecture that has them."""

    arch: str
    lanes: int
    ieee: bool = True

    def __str__(self) -> str:
        return f"wave{self.lanes}"

    def kernel(self, lines: Sequence[str], shared: int = 0, scratch: int = 0) -> Loaded:
        """A kernel of these lines: its two arguments' addresses are in s[8:9] and s[10:11]."""
        text = ["s_load_dwordx4 s[8:11], s[4:5], 0x0", *lines, "s_endpgm"]
        code = tuple(listing.instruction(line, 8 * i, 8) for i, line in enumerate(text))
        kernel = Kernel(
            name="test",
            arch=self.arch,
            lanes=self.lanes,
            shared=shared,
            scratch=scratch,
            argument_bytes=16,
            arguments=(Argument(0, 8, "global_buffer"), Argument(8, 8, "global_buffer")),
            user=(("private_segment_buffer", 4), ("arguments", 2)),
            user_count=6,
            group_ids=(True, False, False),
            scratch_offset=False,
            ieee=self.ieee,
            code=code,
        )
        rows = assembler.assemble(code, self.lanes, 0, arch=self.arch)
        content = np.concatenate([rows.rows.reshape(-1), rows.jumps])
        host = machine(self.arch).host
        buffer = host.allocate(content.nbytes)
        host.queue.write(buffer, content)
        return Loaded(kernel, rows, buffer)

    def launch(
        self,
        lines: Sequence[str],
        given: Words,
        results: int,
        *,
        shared: int = 0,
        scratch: int = 0,
        blocks: int = 1,
        threads: int | None = None,
    ) -> tuple[Words, Words]:
        """Run *lines* with *given* at the input's address; what is then there, and *results* words
        at the output's address.
        """
        memory = machine(self.arch).memory
        source = memory.allocate(given.nbytes)
        target = memory.allocate(4 * results)
        assert source is not None and target is not None
        memory.write(source, np.ascontiguousarray(given))
        values = [struct.pack("<Q", source), struct.pack("<Q", target)]
        block = (threads or self.lanes, 1, 1)
        try:
            kernel = self.kernel(lines, shared, scratch)
            machine(self.arch).launch(kernel, (blocks, 1, 1), block, values)
            after, found = np.empty_like(given), np.empty(results, np.uint32)
            memory.read(source, after)
            memory.read(target, found)
        finally:
            memory.free(source)
            memory.free(target)
        return after, found

    def run(
        self,
        lines: Sequence[str],
        given: Words,
        results: int,
        *,
        shared: int = 0,
        scratch: int = 0,
        loaded: int | None = None,
    ) -> Words:
        """Run *lines* with a lane's words of *given* (words, lanes) in v10, v11 ...; v40 and on are
        the results (words, lanes).

        Of *given* the first *loaded* rows, all if None. v1 is four times the lane.
        """
        row = 4 * self.lanes
        load = ["v_lshlrev_b32_e32 v1, 2, v0"]
        for i in range(given.shape[0] if loaded is None else loaded):
            load += [f"v_add_u32_e32 v2, {row * i}, v1"]
            load += [f"global_load_dword v{10 + i}, v2, {INPUT}"]
        store = []
        for i in range(results):
            store += [f"v_add_u32_e32 v2, {row * i}, v1"]
            store += [f"global_store_dword v2, v{40 + i}, {OUTPUT}"]
        text = [*load, *lines, *store]
        size = results * self.lanes
        _, found = self.launch(text, given, size, shared=shared, scratch=scratch)
        return found.reshape(results, self.lanes)

    def mask(self, at: int) -> str:
        """The scalar registers that hold a bit of each lane."""
        return f"s[{at}:{at + 1}]" if self.lanes == 64 else f"s{at}"

    def numbered(self, lines: Sequence[str], results: int = 1, **more: int) -> list[list[int]]:
        """Results where v10 holds 1000 + lane and v11 2000 + 3 lane."""
        lane = np.arange(self.lanes, dtype=np.uint32)
        given = np.array([1000 + lane, 2000 + 3 * lane], np.uint32)
        return [[int(v) for v in row] for row in self.run(lines, given, results, **more)]


def on(mask: int, lane: int) -> bool:
    """Whether a lane takes part."""
    return bool(mask >> lane & 1)


def masked(mask: int, lines: Sequence[str]) -> list[str]:
    """Lines for some lanes; all are on afterwards."""
    return [
        f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}",
        f"s_mov_b32 exec_hi, {mask >> 32:#x}",
        *lines,
        "s_mov_b64 exec, -1",
    ]


def assembled(arch: str, lines: Sequence[str]) -> dict[str, listing.Instruction]:
    """Those lines that LLVM's assembler takes, as its disassembler shows them."""
    command = [
        str(tools.versioned_tools("llvm-mc", tools.ROCM_FOLDERS)[0]),
        "-triple=amdgcn",
        f"-mcpu={arch}",
        "-mattr=+wavefrontsize64",
    ]

    def run(lines: Sequence[str], *more: str) -> subprocess.CompletedProcess[bytes]:
        text = "\n".join(lines).encode()
        return subprocess.run([*command, *more], input=text, capture_output=True, check=False)

    refused = {int(n) for n in re.findall(rb"<stdin>:(\d+):\d+: error", run(lines).stderr)}
    taken = [line for i, line in enumerate(lines, 1) if i not in refused]
    made = run(["kernel:", *taken], "-filetype=obj")
    assert made.returncode == 0, made.stderr
    shown = [one for _, one in listing.instructions(made.stdout)][: len(taken)]
    return dict(zip(taken, shown, strict=True))


WAVE64, WAVE32 = Waves("gfx908", 64), Waves("gfx1100", 32)
SOME, ALL = 0x9249_2492_F00F_1234, (1 << 64) - 1
"""Lanes that are on."""

either = pytest.mark.parametrize("waves", [WAVE64, WAVE32], ids=str)
"""In waves of 64 and of 32 lanes."""
