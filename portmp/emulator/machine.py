"""Memory with guards, and launches of kernels on the interpreter.

Everything lies in one buffer of an OpenCL device, the arena. Each allocation has addresses of its
own, far from all others, and those in its middle carry into the upper word: what a kernel computes
wrong is then outside of every buffer. Fresh memory, registers and shared memory hold a pattern
that is a NaN and no address.
"""

import bisect
import math
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from portmp.backends import base
from portmp.backends.base import Buffer, Device, Dim3
from portmp.backends.findings import check_error
from portmp.emulator import assembler, atomics, findings, instructions, lanes
from portmp.emulator.codeobject import CodeObject, Kernel
from portmp.emulator.loaded import Loaded
from portmp.errors import DeviceError, LaunchError
from portmp.progress import lasting

if TYPE_CHECKING:
    from portmp.codegen.kernel_spec import KernelSpec

FIRST_MIDDLE, LAST_MIDDLE, STEP = 0x1000_0000_0000, 0x7F00_0000_0000, 1 << 33
"""Addresses around which allocations lie: multiples of 2^32."""

CAPACITY = 1 << 28
ALIGNMENT = 256
POISON = 0xFFF7A5A5
LIMIT = 4096
"""Rows that a slot may run in one launch, in units of 2^20, before it counts as endless."""

SLOTS = 16
"""Blocks that run at a time."""

_STATE_BYTES = 1 << 28
_TIMES = 1 << 31
"""Times of accesses to block memory, which are counted from launch to launch, before they begin
again."""

UNIT_BYTES = 32
"""What is known of a unit of block memory: a word, or a byte where one is used by less."""


@dataclass(frozen=True)
class Settings:
    """How kernels run: approximations on the upper (``shift`` 1) or lower side (-1) of what they
    approximate, or by their bits on either (2); waves of a block in descending order; a change
    of rows that a test makes.
    """

    shift: int = 0
    descending: bool = False
    mutation: assembler.Mutation | None = None


@dataclass(frozen=True)
class Region:
    """An allocation: its first address, its bytes, where it lies in the arena."""

    address: int
    nbytes: int
    readonly: bool
    at: int

    def holds(self, address: int, nbytes: int) -> bool:
        """Whether all these bytes are its own."""
        return self.address <= address and address + nbytes <= self.address + self.nbytes


_ADDRESS = attrgetter("address")


class Memory:
    """The arena, and which addresses its parts have.

    ``known`` has a byte for each word of it: which of its four bytes were written, a bit each.
    """

    def __init__(self, host: Device, capacity: int = CAPACITY) -> None:
        self.host = host
        self.capacity = capacity
        self.arena = host.allocate(capacity)
        self.known = host.allocate(capacity // 4)
        self._regions: list[Region] = []
        """In the order of the arena."""
        self._by_address: list[Region] = []
        # in turn: an address that was given back is not soon another buffer's
        self._middles = deque(range(FIRST_MIDDLE, LAST_MIDDLE, STEP))
        self.free_bytes = capacity

    def allocate(self, nbytes: int, *, readonly: bool = False) -> int | None:
        """The address of new memory; None where there is not enough."""
        size = _aligned(nbytes)
        at = index = 0
        for region in self._regions:
            if region.at - at >= size:
                break
            at = region.at + _aligned(region.nbytes)
            index += 1
        if at + size > self.capacity or not self._middles:
            return None
        address = self._middles.popleft() - size // 2 // ALIGNMENT * ALIGNMENT
        region = Region(address, nbytes, readonly, at)
        self._regions.insert(index, region)
        bisect.insort(self._by_address, region, key=_ADDRESS)
        self.free_bytes -= size
        words = np.full(-(-nbytes // 4), POISON, np.uint32)
        if words.size:
            self.host.queue.write(self.arena, words, at)
            self._know(at, np.zeros(4 * words.size, np.bool_))
        return address

    def free(self, address: int) -> bool:
        """Give memory back; whether there was any at this address."""
        region = self._region(address)
        if region is None or region.address != address:
            return False
        self._regions.remove(region)
        self._by_address.remove(region)
        size = _aligned(region.nbytes)
        self._middles.append(address + size // 2 // ALIGNMENT * ALIGNMENT)
        self.free_bytes += size
        return True

    def _region(self, address: int) -> Region | None:
        """The allocation that would hold an address: the last one that begins at it or before."""
        index = bisect.bisect_right(self._by_address, address, key=_ADDRESS) - 1
        return self._by_address[index] if index >= 0 else None

    def holds(self, address: int, nbytes: int) -> bool:
        """Whether all these bytes belong to one allocation."""
        region = self._region(address)
        return region is not None and region.holds(address, nbytes)

    def readonly(self, address: int) -> bool:
        """Whether this byte is in an allocation for reading only."""
        region = self._region(address)
        return region is not None and region.readonly and region.holds(address, 1)

    def spanned(self, address: int) -> tuple[int, int] | None:
        """First address and end of the allocation that holds an address."""
        region = self._region(address)
        return (region.address, region.address + region.nbytes) if region else None

    @property
    def allocations(self) -> int:
        """How many allocations there are."""
        return len(self._regions)

    def table(self) -> np.ndarray[Any, Any]:
        """Of each allocation: first address, end, whether it is for reading only, and its place."""
        rows = [(r.address, r.address + r.nbytes, r.readonly, r.at) for r in self._by_address]
        return np.array(rows, np.uint64).reshape(-1)

    def _place(self, address: int, nbytes: int) -> int:
        region = self._region(address)
        if region is None or not region.holds(address, nbytes):
            raise DeviceError(f"{nbytes} bytes at {address:#x} are in no buffer")
        return region.at + address - region.address

    def write(self, address: int, content: np.ndarray[Any, Any]) -> None:
        """Copy from the host."""
        at = self._place(address, content.nbytes)
        self.host.queue.write(self.arena, content, at)
        self._know(at, np.ones(content.nbytes, np.bool_))

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy within it; what was never written stays so."""
        content = np.empty(nbytes, np.uint8)
        self.read(source, content)
        known = self._known(self._place(source, nbytes), nbytes)
        at = self._place(target, nbytes)
        self.host.queue.write(self.arena, content, at)
        self._know(at, known)

    def _know(self, at: int, written: np.ndarray[Any, Any]) -> None:
        """Of bytes from a place on, whether each was written."""
        start, end = at // 4 * 4, -(-(at + written.size) // 4) * 4
        inside = slice(at - start, at - start + written.size)
        whole = written.size == end - start
        known = np.empty(end - start, np.bool_) if whole else self._known(start, end - start)
        known[inside] = written
        words = np.packbits(known.reshape(-1, 4), axis=1, bitorder="little")
        if words.size:
            self.host.queue.write(self.known, words.reshape(-1), start // 4)

    def _known(self, at: int, nbytes: int) -> np.ndarray[Any, Any]:
        """Whether each of these bytes was written."""
        words = np.empty(-(-(at % 4 + nbytes) // 4), np.uint8)
        if words.size:
            self.host.queue.read(self.known, words, at // 4)
        known = np.unpackbits(words.reshape(-1, 1), axis=1, count=4, bitorder="little")
        return known.reshape(-1)[at % 4 : at % 4 + nbytes].astype(np.bool_)

    def read(self, address: int, target: np.ndarray[Any, Any]) -> None:
        """Copy to the host."""
        self.host.queue.read(self.arena, target, self._place(address, target.nbytes))


def _aligned(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT


class Machine:
    """Loads code objects of one architecture and runs their kernels on *host*, a CPU."""

    def __init__(
        self, arch: str, host: Device, settings: Settings | None = None, name: str = ""
    ) -> None:
        self.arch = arch
        self.name = name or arch
        self.host = host
        self.memory = Memory(host)
        self.settings = settings or Settings()
        self.rows_run = 0
        self.seconds = 0.0
        """Rows that ran, and the time that they took."""
        self._state: Buffer | None = None
        self._units: Buffer | None = None
        self._time = 0
        self._interpreters: dict[int, base.Kernel] = {}

    def load(self, binary: bytes) -> dict[str, Loaded]:
        """Put a code object into memory; its kernels by name."""
        code = CodeObject(binary)
        if code.arch != self.arch:
            raise DeviceError(f"a code object for {code.arch} was given, this is {self.arch}")
        image = np.frombuffer(_widened(code.image), np.uint8)
        base = self.memory.allocate(image.size, readonly=True)
        if base is None:
            raise DeviceError("there is no memory for a code object")
        self.memory.write(base, image)
        return {name: self._assembled(kernel, base, code) for name, kernel in code.kernels.items()}

    def _assembled(self, kernel: Kernel, base: int, code: CodeObject) -> Loaded:
        mutation = self.settings.mutation
        rows = assembler.assemble(kernel.code, kernel.lanes, base, mutation, kernel.arch)
        buffer = self._given(np.concatenate([rows.rows.reshape(-1), rows.jumps]))
        return Loaded(kernel, rows, buffer, code if code.has_lines else None)

    def launch(
        self, loaded: Loaded, grid: Dim3, block: Dim3, values: Sequence[bytes], extra: int = 0
    ) -> None:
        """Run a kernel; CheckError says which lines and threads did what they must not.

        *extra*: bytes of block memory behind those that the kernel declares.
        """
        kernel = loaded.kernel
        if min(block) < 1 or math.prod(block) > 1024:
            raise LaunchError(f"block={block}: blocks of 1 to 1024 threads are interpreted")
        if not math.prod(grid):
            raise LaunchError(f"grid={grid} has no blocks")
        content = _arguments(kernel, grid, block, values)
        arguments = self.memory.allocate(len(content), readonly=True)
        packet = self.memory.allocate(64, readonly=True)
        try:
            if arguments is None or packet is None:
                raise LaunchError("there is no memory for arguments")
            self.memory.write(arguments, np.frombuffer(content, np.uint8))
            self.memory.write(packet, _packet(kernel, grid, block, arguments))
            given = {"arguments": arguments, "dispatch": packet}
            self._run(loaded, grid, block, given, extra, self._places(loaded, values))
        finally:
            for address in (arguments, packet):
                if address is not None:
                    self.memory.free(address)

    def _places(self, loaded: Loaded, values: Sequence[bytes]) -> Callable[[int], str]:
        """What the kernel's parameters say of an address: a byte of one, or how far from one."""
        pairs = zip(loaded.kernel.explicit, values, strict=True)
        pointers = [
            (int.from_bytes(value, "little"), place)
            for place, (argument, value) in enumerate(pairs)
            if argument.kind == "global_buffer"
        ]

        def place(address: int) -> str:
            names = loaded.arrays.parameters if loaded.arrays else ()
            held = {i: self.memory.spanned(at) for at, i in pointers if i < len(names)}
            spans = [(span, names[i]) for i, span in held.items() if span]
            return findings.beside(address, spans)

        return place

    def _run(
        self,
        loaded: Loaded,
        grid: Dim3,
        block: Dim3,
        given: dict[str, int],
        extra: int,
        places: Callable[[int], str],
    ) -> None:
        kernel = loaded.kernel
        size = _sizes(loaded, grid, block, extra, self.host.traits.wide_atomics)
        scalars, group_registers = _registers(kernel, given)
        units = self._shadow(size.slots * 4 * (size.shared // 4 + 1))
        table = self.memory.table()
        numbers = self._numbers(loaded, grid, block, size, table.size // 4, group_registers)
        told = np.concatenate([numbers, scalars, loaded.program.constants])
        parameters, regions = self._given(told), self._given(table)
        state = self._workspace(4 * size.slots * size.waves * size.words)
        shared = self.host.allocate(size.slots * (size.shared + 8))
        buffers = [self.memory.arena, self.memory.known, loaded.rows, parameters, regions]
        found = self._interpreted(kernel.lanes, size.slots, [*buffers, state, shared, units])
        launch = findings.Launch(loaded, grid, block, self.memory.readonly, size.shared, places)
        if mistakes := findings.found(found, launch):
            raise check_error(self.name, kernel.name, grid, block, mistakes)

    def _numbers(
        self, loaded: Loaded, grid: Dim3, block: Dim3, size: "_Sizes", regions: int, group: int
    ) -> np.ndarray[Any, Any]:
        """What the interpreter is told of a launch, in the order of its parameters."""
        kernel, rows = loaded.kernel, loaded.program
        grids = (*grid[:2], math.prod(grid), math.prod(block), size.waves, size.words)
        memory = (rows.vectors, rows.registers, kernel.scratch, size.shared, regions, size.slots)
        ways = (group, kernel.packed_ids, self.settings.descending, POISON)
        limits = (rows.constants.size, LIMIT, assembler.SCALARS, *block[:2])
        checks = (kernel.ieee, loaded.code is not None, self._time)
        return np.array([*grids, *memory, *ways, *limits, *checks], np.uint32)

    def _interpreted(
        self, lanes: int, slots: int, buffers: Sequence[Buffer]
    ) -> np.ndarray[Any, Any]:
        """Run the interpreter in so many slots; what it noted."""
        host, run = self.host, self._interpreter(lanes)
        report = self._given(np.zeros(findings.SLOT * slots, np.uint64))
        start = time.perf_counter()
        shift = np.int32(self.settings.shift)
        host.queue.launch(run, (slots, 1, 1), (1, 1, 1), [*buffers, report, shift])
        found = np.empty(findings.SLOT * slots, np.uint64)
        host.queue.read(report, found)
        self.seconds += time.perf_counter() - start
        self.rows_run += int(found[0 :: findings.SLOT].sum())
        self._time = int(found[1 :: findings.SLOT].max())
        return found

    def _interpreter(self, width: int) -> base.Kernel:
        """The kernel on the host device that runs waves of so many lanes."""
        from portmp.runtime import program

        if width not in self._interpreters:
            one = interpreter(width)
            text = "compiling the interpreter, the first time on this machine"
            with lasting(text, sys.stderr.isatty()):
                self._interpreters[width] = program.kernels(self.host, one)[one.name]
        return self._interpreters[width]

    def _given(self, content: np.ndarray[Any, Any]) -> Buffer:
        buffer = self.host.allocate(content.nbytes)
        self.host.queue.write(buffer, content)
        return buffer

    def _workspace(self, nbytes: int) -> Buffer:
        if self._state is None or self._state.nbytes < nbytes:
            self._state = self.host.allocate(nbytes)
        return self._state

    def _shadow(self, units: int) -> Buffer:
        """What is known of units of block memory. What is older than a launch means nothing."""
        nbytes = UNIT_BYTES * max(units, 1)
        if self._units is None or self._units.nbytes < nbytes or self._time > _TIMES:
            self._units, self._time = self._given(np.zeros(nbytes, np.uint8)), 0
        return self._units


@cache
def interpreter(width: int) -> "KernelSpec":
    """The OpenCL kernel that runs waves of so many lanes."""
    from portmp import formats
    from portmp.codegen import kernel_spec

    table = tuple(instructions.operations().values())
    form = formats.get("float64")
    return kernel_spec.spec(
        "interpreter",
        "emulator/interpreter.mako",
        form,
        {},
        lanes=width,
        operations=table,
        atomics=tuple(atomics.operations().values()),
        ways=tuple(lanes.WAYS.items()),
        registers=assembler.INDEXED,
        apertures=(assembler.SHARED_APERTURE, assembler.PRIVATE_APERTURE),
    )


@dataclass(frozen=True)
class _Sizes:
    """Of a launch: waves a block, words of a wave, blocks that run at a time, bytes a block."""

    waves: int
    words: int
    slots: int
    shared: int


def _sizes(loaded: Loaded, grid: Dim3, block: Dim3, extra: int, wide_atomics: bool) -> _Sizes:
    kernel = loaded.kernel
    shared = -(-kernel.shared // 16) * 16 + extra if extra else kernel.shared
    waves = -(-math.prod(block) // kernel.lanes)
    words = loaded.program.registers + -(-kernel.scratch // 4) * kernel.lanes
    # without atomic operations on 64 bits only one block may run at a time
    together = SLOTS if wide_atomics else 1
    slots = max(1, min(math.prod(grid), together, _STATE_BYTES // (4 * waves * words)))
    return _Sizes(waves, words, slots, shared)


def _registers(kernel: Kernel, given: dict[str, int]) -> tuple[np.ndarray[Any, Any], int]:
    """Scalar registers at the start, and where the block's indices go."""
    words = np.full(assembler.SCALARS, POISON, np.uint32)
    at = 0
    for name, count in kernel.user:
        if name == "private_segment_buffer":
            words[at : at + 4] = assembler.SCRATCH_DESCRIPTOR
        elif name in given:
            words[at : at + 2] = (given[name] & 0xFFFFFFFF, given[name] >> 32)
        elif name == "flat_scratch":
            words[at : at + 2] = 0
        elif name == "private_segment_size":
            words[at] = kernel.scratch
        else:
            raise LaunchError(f"kernel {kernel.name!r} wants its {name}, which is not interpreted")
        at += count
    at = kernel.user_count
    places = 1 << 24 if kernel.trap_ids else 0
    for axis, wanted in enumerate(kernel.group_ids):
        own = wanted and not kernel.trap_ids
        places |= (at if own else 255) << 8 * axis
        at += own
    if kernel.scratch_offset and at < assembler.VCC:
        words[at] = 0
    words[assembler.SCC] = 0
    return words, places


def _arguments(kernel: Kernel, grid: Dim3, block: Dim3, values: Sequence[bytes]) -> bytes:
    """The argument segment: explicit arguments as given, hidden ones as a launch fills them."""
    content = bytearray(kernel.argument_bytes)
    count = len(kernel.explicit)
    if count != len(values):
        raise LaunchError(f"kernel {kernel.name!r} takes {count} arguments, {len(values)} given")
    for argument, value in zip(kernel.explicit, values, strict=True):
        content[argument.offset : argument.offset + argument.nbytes] = value[: argument.nbytes]
    hidden = {"hidden_grid_dims": 1}
    for axis, letter in enumerate("xyz"):
        hidden[f"hidden_block_count_{letter}"] = grid[axis]
        hidden[f"hidden_group_size_{letter}"] = block[axis]
    for argument in kernel.arguments:
        if argument.kind in hidden:
            value = hidden[argument.kind].to_bytes(argument.nbytes, "little")
            content[argument.offset : argument.offset + argument.nbytes] = value
    return _widened(content)


def _widened(content: bytes | bytearray) -> bytes:
    """Filled up: compilers widen scalar loads, which may so end behind tables and arguments."""
    return bytes(content).ljust(max(64, -(-len(content) // 64) * 64), b"\0")


def _packet(kernel: Kernel, grid: Dim3, block: Dim3, arguments: int) -> np.ndarray[Any, Any]:
    """The dispatch packet that some kernels read their sizes from."""
    sizes = [blocks * threads for blocks, threads in zip(grid, block, strict=True)]
    content = struct.pack("<6H5I", 0, 3, *block, 0, *sizes, kernel.scratch, kernel.shared)
    return np.frombuffer(content + struct.pack("<4Q", 0, arguments, 0, 0), np.uint8)
