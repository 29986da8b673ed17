"""Processors that are not this machine's: ``cpu:aarch64`` and ``cpu:riscv64``, by qemu.

Python stays native. Each compiled text is a program of the other processor (worker.c), which runs
under qemu in a process of its own. The device's memory is a file that all of them map, so that a
launch tells its process numbers alone; it has ended when the call returns.
"""

import contextlib
import ctypes
import mmap
import os
import re
import struct
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

from portmp import paths
from portmp.backends.base import Kernel, is_lost
from portmp.backends.cpu import runtime
from portmp.backends.cpu.runtime import POOL, CpuDevice, CpuKernel
from portmp.backends.host.runtime import machine_memory
from portmp.backends.pool import size_class
from portmp.compilers import cpu
from portmp.errors import BackendUnavailable, DeviceError, LaunchError, suggestion

WORKER = Path(__file__).with_name("worker.c")
TARGETS = ("aarch64", "riscv64")
"""Processors, as qemu names them."""
INSTALL = "on Debian and Ubuntu apt-get install qemu-user"

BASE, STEP = 1 << 36, 1 << 24
"""Where memory begins for kernels, and bytes that they get more of it at once."""
PROCESSES = 32
"""How many wait for the next launch; others start anew, which takes some hundredths of a second."""
ARGUMENTS = 1 << 16
"""Bytes of arguments, as worker.c has room for."""
_REQUEST, _ANSWER = struct.Struct("=10Q"), struct.Struct("=q")


def qemu(target: str) -> tuple[str, str]:
    """The program that runs a processor's code, and its version."""
    name = f"qemu-{target}"
    program = which(name) or which(f"{name}-static")
    if program is None:
        raise BackendUnavailable(f"device 'cpu:{target}': {name} is not on PATH; {INSTALL}")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version ([\d.]+\d)", done.stdout)
    if done.returncode or not found:
        said = (done.stdout + done.stderr).strip() or f"status {done.returncode}"
        raise BackendUnavailable(f"device 'cpu:{target}': {program} does not work: {said}")
    return program, found[1]


class Memory:
    """A file in memory, which takes none before it is used."""

    def __init__(self, nbytes: int) -> None:
        self.file = os.memfd_create("portmp", os.MFD_CLOEXEC)
        os.ftruncate(self.file, nbytes)
        self._bytes = mmap.mmap(self.file, nbytes)
        self.place = ctypes.addressof(ctypes.c_uint8.from_buffer(self._bytes))
        self._end = 0
        self._free: dict[int, list[int]] = {}
        self._sizes: dict[int, int] = {}
        self._lock = threading.RLock()

    @property
    def used(self) -> int:
        """How much kernels may see, by whole steps."""
        return min(-(-self._end // STEP) * STEP, len(self._bytes))

    def take(self, nbytes: int) -> int | None:
        """The offset of a part that nobody has, or None."""
        whole = size_class(nbytes, mmap.PAGESIZE)
        with self._lock:  # which a finalizer's thread may hold already
            free = self._free.setdefault(whole, [])
            offset = free.pop() if free else self._end
            end = max(self._end, offset + whole)
            if end > len(self._bytes):
                return None
            self._end = end
            self._sizes[offset] = whole
            return offset

    def give(self, offset: int) -> None:
        """Take a part back: the system gets its memory."""
        with self._lock:
            whole = self._sizes.pop(offset)
            self._bytes.madvise(mmap.MADV_REMOVE, offset, whole)
            self._free[whole].append(offset)


class Processes:
    """Launches in processes under qemu, one of each program, in the place of ``Threads``."""

    repeat = None
    """No list of launches is repeated by one call."""

    def __init__(self, name: str, program: str, memory: Memory) -> None:
        self._name, self._program, self._memory = name, program, memory
        self._said = paths.process_folder("qemu") / name.partition(":")[2]
        self._running: dict[bytes, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()
        # One thread, since processes are killed with the thread that started them.
        self._starter = ThreadPoolExecutor(1)

    def launch(
        self, queue: int, place: tuple[bytes, int], shape: Any, arguments: bytes, nbytes: int
    ) -> int:
        """Run a program's kernel to its end; not 0 as in pool.c."""
        program, kernel = place
        if nbytes > ARGUMENTS:
            return 2
        with self._lock:
            process = self._running.pop(program, None) or self._started(program)
            self._running[program] = process
            request = _REQUEST.pack(kernel, self._memory.used, nbytes, *shape)
            try:
                failed = self._answered(process, request + arguments)
            except BaseException:
                del self._running[program]
                process.kill()  # its answer would be taken for that of the next launch
                raise
            while len(self._running) > PROCESSES:
                with self._running.pop(next(iter(self._running))) as oldest:
                    oldest.kill()
        return failed

    def _started(self, program: bytes) -> subprocess.Popen[bytes]:
        with paths.temporary_folder("program") as folder, self._said.open("ab") as said:
            file = folder / "program"
            file.write_bytes(program)
            file.chmod(0o700)
            process = self._starter.submit(
                subprocess.Popen,
                [self._program, str(file), str(BASE), str(self._memory.file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                pass_fds=(self._memory.file,),
                start_new_session=True,  # Ctrl-C is this process's to handle
            ).result()
            self._answered(process, b"")
        return process

    def _answered(self, process: subprocess.Popen[bytes], request: bytes) -> int:
        """What a process answers; DeviceError where it ends instead."""
        assert process.stdin and process.stdout
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(request)
            process.stdin.flush()
        word = process.stdout.read(_ANSWER.size)
        if len(word) == _ANSWER.size:
            found: int = _ANSWER.unpack(word)[0]
            return found
        status = process.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        said = self._said.read_text(errors="replace").strip().splitlines() or ["no message"]
        self._said.write_bytes(b"")
        raise DeviceError(
            f"{self._name}: the process of a kernel ended with {how} ({said[-1]}); what it wrote "
            "is incomplete, and the next launch starts another"
        )

    def begin(self) -> None:
        """Nothing: a program's first launch starts its process."""

    def new_queue(self) -> int:
        """Nothing is known of a queue."""
        return 0

    def finish(self, queue: int, most: int) -> int:
        """All has ended."""
        return 0

    def finish_all(self) -> None:
        """All has ended."""


class EmulatedDevice(CpuDevice):
    """A processor under qemu."""

    interpreted = True
    near = False
    compiler: cpu.ProgramCompiler

    def __init__(self, clang: cpu.Clang, target: str) -> None:
        program, version = qemu(target)
        memory = Memory(machine_memory() // mmap.PAGESIZE * mmap.PAGESIZE)
        self._memory, self.shift = memory, memory.place - BASE
        self._qemu = f"qemu-{target} {version}"
        super().__init__(clang, target, Processes(f"cpu:{target}", program, memory))
        self.properties = replace(
            self.properties,
            name=f"{target}, emulated by {self._qemu}",
            vendor=target,
            arch=self.compiler.target,
            compute_units=1,
            extra={**self.properties.extra, "emulator": self._qemu, "host": self.properties.name},
        )
        self.traits = replace(self.traits, vector_bits=128)

    def _compiler(self, clang: cpu.Clang) -> cpu.ProgramCompiler:
        main = POOL.read_text() + WORKER.read_text()
        return cpu.ProgramCompiler(clang, f"{self.label}-linux-musl", main)

    @property
    def remark(self) -> str:
        """What it is."""
        return f"an emulated processor ({self._qemu}), no hardware: its times say nothing"

    @property
    def remedy(self) -> str:
        """A compiler and a linker that know other processors."""
        return f"another compiler: {cpu.install()}; with the system's ld.lld, too (lld-19)"

    def take_one(self, nbytes: int) -> int | None:
        offset = self._memory.take(nbytes)
        return None if offset is None else BASE + offset

    def give_one(self, place: int) -> None:
        if not is_lost():  # it is its parent's memory, too
            self._memory.give(place - BASE)

    def compiler_key(self) -> str:
        return f"{super().compiler_key()} {self._qemu}"

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        there = cpu.kernels(binary)
        if missing := [name for name in kernels if name not in there]:
            raise LaunchError(f"the binary has no kernel {missing[0]!r}")
        return {name: CpuKernel(name, (binary, there.index(name))) for name in kernels}


@cache
def find(label: str) -> CpuDevice:
    """A processor that is emulated, or a level of x86-64; DeviceError says which there are."""
    if label in TARGETS:
        qemu(label)
        return runtime.by_first_clang(lambda clang: EmulatedDevice(clang, label))
    if label not in runtime.LEVELS:
        known = (*TARGETS, *runtime.LEVELS)
        names = ", ".join(f"cpu:{name}" for name in known)
        near = suggestion(label, list(known))
        raise DeviceError(
            f"device {f'cpu:{label}'[:40]!r} does not exist{near}; beside cpu:0 there are {names}"
        )
    if missing := [one for one in runtime.LEVELS[label] if one not in cpu.features().split()]:
        raise DeviceError(f"device 'cpu:{label}': this processor has no {', '.join(missing)}")
    return runtime.by_first_clang(lambda clang: CpuDevice(clang, label))
