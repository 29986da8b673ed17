"""Processors emulated by qemu, and levels of x86-64: digests, language, memory, processes."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import devices_page
import gmpy2
import numpy as np
import operands
import pytest
import tiers
from slow import mostly_slow
from test_cpu import (  # noqa: F401
    RNG,
    Run,
    head,
    run,
    test_atomics,
    test_block_memory_of_a_launch,
    test_blocks_that_meet_have_memory_of_their_own,
    test_each_work_item_once,
    test_exact_functions_of_floats,
    test_functions_of_integers,
)

from portmp import discovery, formats
from portmp.backends.cpu import emulated, runtime
from portmp.backends.cpu.emulated import EmulatedDevice, Memory
from portmp.backends.cpu.runtime import CpuDevice
from portmp.bench import reports
from portmp.bench.energy import Observer
from portmp.compilers import cpu
from portmp.errors import BackendUnavailable, CompileError, DeviceError, LaunchError
from portmp.report import subjects
from portmp.routines.case import Case
from portmp.verify import cases, command

LEVELS = ("x86-64-v2", "x86-64-v3")


def opened(label: str) -> CpuDevice:
    """A device by its label; skipped without what it needs."""
    tiers.check("cpu")
    if label in emulated.TARGETS:
        tiers.check("qemu")
    elif platform.machine() != "x86_64":
        pytest.skip("for x86-64")
    found = discovery.get(f"cpu:{label}")
    assert isinstance(found, CpuDevice)
    return found


@pytest.fixture(scope="module", params=emulated.TARGETS)
def processor(request: pytest.FixtureRequest) -> CpuDevice:
    """Each emulated processor: of tests of test_cpu.py, too."""
    return opened(request.param)


# --- digests --------------------------------------------------------------------------------------


def differing(label: str, chosen: list[Case]) -> list[str]:
    """Cases whose bits are not the recorded ones."""
    return [o.key + o.error for o in command.run(opened(label), chosen) if not o.ok]


SOME = ("ds", "dd", "ts", "d+s", "float32", "slfp64in24b", "float64", "qd2011")


def some(part: int) -> list[Case]:
    """One case of each routine, by turns of these formats, in one part of sixteen."""
    found: dict[str, Case] = {}
    for place, name in enumerate(SOME):
        for number, case in enumerate(cases.cases(name)):
            if number % len(SOME) == place or name == SOME[-1]:
                found.setdefault(case.routine, case)
    every = {case.routine for name in SOME for case in cases.cases(name)}
    assert len(found) > 0.9 * len(every)
    return list(found.values())[part::16]


@pytest.mark.parametrize(
    ("part", "label"),
    mostly_slow(
        [(part, label) for label in emulated.TARGETS for part in range(16)],
        [(0, "aarch64"), (5, "riscv64")],
        "of each routine a case, once on each processor",
    ),
)
def test_a_digest_of_each_routine(part: int, label: str) -> None:
    assert differing(label, some(part)) == []


def by_turns() -> list[tuple[str, str]]:
    """Each format on one of the processors and levels, words of both kinds on each."""
    labels = (*emulated.TARGETS, *LEVELS)
    turns = {(labels[i % 4], n) for i, n in enumerate((*formats.NAMES, *formats.STORED))}
    return sorted(turns | {("x86-64-v2", "float16")} | set(product(labels, ("d+s", "ts"))))


@pytest.mark.parametrize(
    ("label", "name"),
    mostly_slow(
        by_turns(), [("x86-64-v2", "float16")], "all digests were computed once (docs/results.md)"
    ),
)
def test_digests(label: str, name: str) -> None:
    assert differing(label, list(cases.cases(name))) == []


# --- launches -------------------------------------------------------------------------------------


def test_kernels_of_one_text(processor: CpuDevice) -> None:
    """Each by its own name, whatever their order; a name that is not there is told."""
    texts = [
        head("__global int *x").replace(" k(", f" {name}(") + f"{{ x[0] = {number}; }}\n"
        for number, name in enumerate(("zeta", "alpha", "mid"))
    ]
    binary = processor.compile("".join(texts))
    found = processor.load(binary, ["zeta", "alpha", "mid"])
    (buffer,) = processor.allocate_parts([4])
    for number, name in enumerate(("zeta", "alpha", "mid")):
        processor.queue.launch(found[name], (1, 1, 1), (1, 1, 1), [buffer])
        got = np.empty(1, np.int32)
        processor.queue.read(buffer, got)
        assert got[0] == number
    with pytest.raises(LaunchError, match="no kernel 'other'"):
        processor.load(binary, ["other"])


def test_names_that_end_others() -> None:
    """A compiler may call constants after the function that has them, and tell that name alone."""
    table = b"\0.promoted.portmp_run_b\0portmp_call_a_b\0portmp_here\0my_portmp_run_c\0"
    assert cpu.kernels(table) == ["a_b", "b"]


def test_memory_that_grows(processor: CpuDevice, run: Run) -> None:  # noqa: F811
    """A process sees what was allocated after its first launch; few processes, by turns."""
    source = head("__global uchar *x", "const long n") + "{ x[n] = 7; }\n"
    other = head("__global uchar *x", "const long n") + "{ x[n] = 8; }\n"
    run(source, np.zeros(8, np.uint8), 7)
    for size in (3 * emulated.STEP, 5 * emulated.STEP):
        for text, wanted in ((source, 7), (other, 8)):
            (found,) = run(text, np.zeros(size, np.uint8), size - 1)
            assert found[-1] == wanted and not found[:-1].any()


def test_few_processes(
    processor: CpuDevice,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that ran longest ago are ended, and start again when they are needed."""
    monkeypatch.setattr(emulated, "PROCESSES", 2)
    texts = [head("__global int *x") + f"{{ x[0] += {i}; }}\n" for i in range(4)]
    for i in (0, 1, 2, 3, 0, 3, 1):
        assert run(texts[i], np.ones(1, np.int32))[0][0] == 1 + i
        assert len(processor.threads._running) <= 2


def test_its_text_has_no_warnings(processor: CpuDevice) -> None:
    text = runtime.POOL.read_text() + emulated.WORKER.read_text()
    target = f"{processor.label}-linux-musl"
    made = processor.compiler.object_of_c(text, "-target", target, "-Wall", "-Werror")
    assert made.startswith(b"\x7fELF")


def test_parts_of_memory() -> None:
    """None overlap; what is given back is given out again, as zeros; there is an end."""
    memory = Memory(64 * 4096)
    taken = [memory.take(5000) for _ in range(3)]
    assert sorted(t for t in taken if t is not None) == [0, 8192, 16384]
    ctypes.memset(memory.place + 8192, 255, 8192)
    memory.give(8192)
    assert memory.take(100) == 3 * 8192 and memory.take(8000) == 8192
    assert not any(ctypes.string_at(memory.place + 8192, 8192))
    assert memory.take(61 * 4096) is None and memory.used == 64 * 4096


def test_arguments_beyond_what_is_read(run: Run) -> None:  # noqa: F811
    """pool.c has room for some hundred."""
    parameters = ["__global long *x", *(f"const long a{i}" for i in range(200))]
    total = " + ".join(f"a{i}" for i in range(200))
    text = head(*parameters) + f"{{ x[0] = {total}; }}\n"
    assert run(text, np.zeros(1, np.int64), *range(200))[0][0] == 19900
    many = [*parameters, *(f"const long b{i}" for i in range(100))]
    with pytest.raises(LaunchError, match="'k' has too many parameters"):
        run(head(*many) + "{ x[0] = 1; }\n", np.zeros(1, np.int64), *range(300))


def test_functions_of_the_c_library_are_not_there(processor: CpuDevice) -> None:
    """Their programs need no system; portmp's own functions are in the text."""
    with pytest.raises(CompileError, match="undefined symbol: exp"):
        processor.compile(head("__global double *x") + "{ x[0] = exp(x[0]); }\n")


# --- processes ------------------------------------------------------------------------------------


def test_a_process_that_dies(processor: CpuDevice, run: Run) -> None:  # noqa: F811
    """It is told in words, memory stays as it is, and the next launch has a new process."""
    text = head("__global long *x") + "{ x[1] = 5; x[2] = *(__global volatile long *)x[0]; }\n"
    x = np.array([8, 0, 0])
    told = rf"{processor.name}: .* ended with signal {int(signal.SIGSEGV)} .*incomplete"
    for _ in range(2):
        with pytest.raises(DeviceError, match=told):
            run(text, x)
    (address,) = processor.allocate_parts([8])
    x[0] = address.place  # type: ignore[attr-defined]
    processor.queue.write(address, np.array([77]))
    assert run(text, x)[0].tolist() == [x[0], 5, 77]


ENDLESS = """
import threading, time
import numpy as np
from portmp import discovery
device = discovery.get({name!r})
text = {text!r}
kernel = device.load(device.compile(text), ["k"])["k"]
(x,) = device.allocate_parts([4])
device.queue.write(x, np.zeros(1, np.int32))
launch = lambda: device.queue.launch(kernel, (1, 1, 1), (1, 1, 1), [x])
threading.Thread(target=launch, daemon=True).start()
seen = (np.ctypeslib.ctypes.c_int * 1).from_address(x.place + device.shift)
while not seen[0]:
    time.sleep(0.01)
print(*[process.pid for process in device.threads._running.values()][-1:], flush=True)
time.sleep(1000)
"""


def alive(pid: int) -> bool:
    """Whether a process is there that has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_processes_end_with_their_parent(processor: CpuDevice) -> None:
    """Even while they compute, and however it ends."""
    text = head("volatile __global int *x") + "{ x[0] = 1; while (x[0]) x[0] = 2; }\n"
    script = ENDLESS.format(name=processor.name, text=text)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    last = time.monotonic() + 60
    while alive(pid) and time.monotonic() < last:
        time.sleep(0.01)
    outlived = alive(pid)
    if outlived:
        os.kill(pid, signal.SIGKILL)
    assert not outlived


# --- what they are called, and what is missing ----------------------------------------------------


def test_what_it_is_called(processor: CpuDevice) -> None:
    """Found by its name alone, and told as what it is."""
    assert isinstance(processor, EmulatedDevice) and processor.interpreted
    label = processor.name.removeprefix("cpu:")
    assert processor.name not in [d.name for d in discovery.listed()]
    assert f"{label}, emulated by qemu-{label} " in repr(processor)
    assert f"an emulated processor (qemu-{label} " in processor.remark
    with pytest.raises(DeviceError, match="is an interpreter, whose times say nothing"):
        discovery.hardware(processor.name)
    assert "no hardware" in Observer(processor).problem
    keys = {opened(one).compiler_key() for one in (*emulated.TARGETS, "x86-64-v2")}
    assert len(keys | {runtime.find_devices()[0].compiler_key()}) == 4


def test_what_reports_call_it(processor: CpuDevice, tmp_path: Path) -> None:
    """In the table of devices, too."""
    pytest.importorskip("jsonschema")
    (case, *_) = (case for case in cases.cases("float32") if case.routine == "neg")
    path = tmp_path / "verify.json"
    path.write_text(json.dumps([command.report(processor, command.run(processor, [case]))]))
    found = reports.read_all(path)
    (subject,) = subjects.sorted_by_device(found)
    assert subject.interpreted and subject.through == "emulated processor"
    assert "| *emulated processor* | clang" in devices_page.table([(path, found)])


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """qemu, a qemu that works, a clang, a processor of that name, a level."""
    monkeypatch.setattr(emulated, "find", emulated.find.__wrapped__)
    monkeypatch.setattr(discovery.finding, "_opened", {})
    program = tmp_path / "qemu-aarch64"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailable, match=r"qemu-aarch64 is not on PATH; .*qemu-user"):
        discovery.get("cpu:aarch64")
    program.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(BackendUnavailable, match=r"cpu:aarch64.*qemu-aarch64 .*not work: broken"):
        discovery.get("cpu:aarch64")
    program.write_text("#!/bin/sh\necho qemu-aarch64 version 7.2.22\n")
    monkeypatch.setattr(cpu, "_candidates", lambda: iter(()))
    with pytest.raises(BackendUnavailable, match="no clang of at least version"):
        discovery.get("cpu:aarch64")
    with pytest.raises(DeviceError, match=r"'cpu:aarch65'.*aarch64'.*beside cpu:0 there are cpu:"):
        discovery.get("cpu:aarch65")
    monkeypatch.setattr(cpu, "features", lambda: "linux x86_64 flags: avx2 fma bmi2 avx512f")
    with pytest.raises(DeviceError, match="no avx512bw, avx512cd, avx512dq, avx512vl"):
        discovery.get("cpu:x86-64-v4")


# --- fma without an instruction -------------------------------------------------------------------


def check_fma(label: str) -> str:
    """fma of numbers of all sizes against MPFR; where the C library's function lies in it."""
    device = opened(label)
    for kind, word, dtype in (("f", "float", np.float32), ("d", "double", np.float64)):
        source = head(*(f"__global {word} *{a}" for a in "xyzr"))
        source += "{ const int i = (int)get_group_id(0); r[i] = fma(x[i], y[i], z[i]); }\n"
        kernel = device.load(device.compile(source), ["k"])["k"]
        given = hard(dtype)
        buffers = device.allocate_parts([a.nbytes for a in (*given, given[0])])
        for buffer, array in zip(buffers, given, strict=False):
            device.queue.write(buffer, array)
        device.queue.launch(kernel, (len(given[0]), 1, 1), (1, 1, 1), list(buffers))
        found = np.empty_like(given[0])
        device.queue.read(buffers[-1], found)
        rows = zip(*(a.tolist() for a in given), strict=True)
        wanted = np.array([operands.rounded(kind, gmpy2.fma, *row) for row in rows], dtype)
        signed = ~np.isnan(wanted)
        assert np.array_equal(found, wanted, equal_nan=True)
        assert (np.signbit(found) == np.signbit(wanted))[signed].all()
        tiny = np.finfo(dtype).tiny
        assert (np.abs(wanted) < tiny).sum() > 1000  # subnormal ones among them
    library = ctypes.CDLL(None)
    place: Any = ctypes.cast(library.fma, ctypes.c_void_p).value
    maps = Path("/proc/self/maps").read_text().splitlines()
    start = min(int(m.split("-")[0], 16) for m in maps if "libm.so" in m or "libm-" in m)
    return hex(place - start)


def hard(dtype: Any) -> list[np.ndarray[Any, Any]]:
    """Products that all but cancel, that lie half way, that end among subnormal numbers."""
    facts = np.finfo(dtype)
    bits, low = facts.nmant, int(facts.minexp)
    n = 4000
    x, y = ((1 + RNG.random((2, n))) * RNG.choice([-1.0, 1.0], (2, n))).astype(dtype)
    x[::3] = dtype(1) + facts.eps * RNG.integers(0, 9, len(x[::3])).astype(dtype)
    scales = [0, low, low - bits // 2, low - bits]
    columns: list[list[np.ndarray[Any, Any]]] = []
    for scale, shift in product(scales, (0, -bits - 1, bits + 2)):
        half = scale // 2
        a, b = np.ldexp(x, half).astype(dtype), np.ldexp(y, scale - half).astype(dtype)
        near = (-(x * y)).astype(dtype) if shift == 0 else y
        with np.errstate(all="ignore"):
            z = np.ldexp(near, scale + shift).astype(dtype)
        columns.append([a, b, z])
    bit = [
        np.array(operands.special("f" if dtype is np.float32 else "d", RNG), np.uint64)
        .astype(f"u{np.dtype(dtype).itemsize}")
        .view(dtype)
        for _ in range(3)
    ]
    columns += [[a.ravel() for a in np.meshgrid(*(b[:24] for b in bit))]]
    return [np.concatenate(parts) for parts in zip(*columns, strict=True)]


@pytest.mark.parametrize("label", ["x86-64-v2", "x86-64-v3", *emulated.TARGETS])
def test_fma(label: str) -> None:
    """By the instruction, or by the function that the process has where there is none."""
    check_fma(label)


def test_fma_of_a_processor_without_it() -> None:
    """The C library's own computation, which it takes where the processor has no instruction."""
    opened("x86-64-v2")
    if platform.libc_ver()[0] != "glibc" or " fma " not in f" {cpu.features()} ":
        pytest.skip("for glibc on a processor with fma")
    script = "from test_emulated_processors import check_fma; print(check_fma('x86-64-v2'))"
    places = []
    for tunables in ("", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={
                **os.environ,
                "GLIBC_TUNABLES": tunables,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        places.append(done.stdout)
    assert len(set(places)) == 2  # another function
