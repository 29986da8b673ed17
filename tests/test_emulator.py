"""portmp on the interpreter of AMD machine code: its bits, its guards, and HIP's calls."""

from __future__ import annotations

import gc
import inspect
import io
import itertools
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, replace
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import gmpy2
import numpy as np
import operands
import pytest
import tiers
from slow import mostly_slow, slow

from portmp import discovery, formats, nbody, progress
from portmp.arrays.array import Array, zeros
from portmp.arrays.creation import array
from portmp.arrays.queues import capture
from portmp.backends import driver_api
from portmp.backends.cuda import runtime as cuda
from portmp.backends.driver_api import GpuDevice, Names
from portmp.backends.rocm import runtime as rocm
from portmp.emulator import assembler, hip, instructions
from portmp.emulator import device as emulated
from portmp.emulator.assembler import Row
from portmp.emulator.machine import Machine, Settings
from portmp.errors import (
    ArgumentError,
    CheckError,
    DeviceError,
    LaunchError,
    OutOfMemory,
    PortmpError,
)
from portmp.formats import inputs
from portmp.runtime import planes, program
from portmp.verify import cases as verify
from portmp.verify import command

ARCHITECTURES = {"gfx908": "hiprtc", "gfx90a": "hiprtc", "gfx1100": "clang"}
"""What CI runs: wave64 with one and with two words in a register pair, and wave32."""

# --- portmp on it --------------------------------------------------------------------------

ROUTINES = (
    "axpy",
    "dot",
    "gemv",
    "gemm",
    "nbody",
    "nbody_potential",
    "reduce_sum",
    "add",
    "mul",
    "div",
    "sqrt",
    "fma",
    "compare",
    "min",
    "copy",
)


SHORT = ("slfp64in56b", "slfp32in24b", "float16", "tsin80b")
"""Storage formats with parts of every size."""


def _device(arch: str) -> emulated.EmulatedDevice:
    tiers.check(ARCHITECTURES[arch])
    device = discovery.get(f"emulated:{arch}")
    assert isinstance(device, emulated.EmulatedDevice)
    return device


def test_parts_of_memory() -> None:
    """A part is an aligned window of its buffer."""
    device = _device("gfx90a")
    step = device.properties.alignment
    whole = device.allocate(4 * step)
    content = np.random.default_rng(1).integers(0, 256, 4 * step, dtype=np.uint8)
    device.queue.write(whole, content)
    got = np.empty(step, np.uint8)
    device.queue.read(whole.part(2 * step, step), got)
    assert np.array_equal(got, content[2 * step : 3 * step])
    with pytest.raises(ArgumentError, match=f"offset={step // 2} is not a multiple"):
        whole.part(step // 2, 1)
    one, two = device.allocate_parts((1, 24))
    device.queue.write(one, content[:1])
    device.queue.write(two, content[:24])
    device.queue.read(one, got[:1])
    assert got[0] == content[0]


def _failures(device: Any, form: str, routines: Sequence[str]) -> list[command.Outcome]:
    cases = [c for c in verify.selected(form, None) if c.routine in routines]
    assert cases
    return [o for o in command.run(device, cases) if not o.ok]


FAST = {"gfx908": ("dd",), "gfx90a": ("slfp64in56b",), "gfx1100": ("ds", "float16")}
"""Formats of the fast tier: of either word, one limb and two, parts of each size."""


TURNS = {
    (form, (*ARCHITECTURES,)[(i + more) % 3])
    for i, form in enumerate((*formats.NAMES, *SHORT))
    for more in ((0, 1, 2) if form in ("dd", "ts", "d+s") else (0,))
} | {(form, arch) for arch, some in FAST.items() for form in some}
"""Each format on one architecture, some on all."""


@slow("minutes on an interpreter", unless=lambda p: p["form"] in FAST[p["arch"]])
@pytest.mark.parametrize(("form", "arch"), sorted(TURNS))
def test_recorded_digests(
    arch: str, form: str, record_property: Callable[[str, object], None]
) -> None:
    """The code objects of the platform give the recorded bits; speed and limits are printed."""
    device = _device(arch)
    assert not _failures(device, form, ROUTINES)
    record_property(f"remark {device.name}", device.remark)


QUOTIENTS = """
extern "C" __global__ void __launch_bounds__(256) quotients(
    const {word} *a, const {word} *b, {word} *out)
{{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    out[i] = a[i] / b[i];
}}
"""


@slow(
    "both compilers expand both words alike on all architectures",
    unless=lambda p: (p["arch"] == "gfx90a") == (p["kind"] == "f"),
)
@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_division_as_compilers_expand_it(arch: str, kind: str) -> None:
    """v_div_scale, v_rcp, multiply-adds, v_div_fmas and v_div_fixup: each special operand by each.

    The exception is Markstein's: over a mantissa of ones the quotient depends on the estimate.
    """
    device = _device(arch)
    word, dtype, unsigned = {
        "f": ("float", np.float32, np.uint32),
        "d": ("double", np.float64, np.uint64),
    }[kind]
    rng = np.random.default_rng(7)
    columns = np.array([operands.special(kind, rng) for _ in range(2)], unsigned)
    a, b = (m.reshape(-1).copy() for m in np.meshgrid(*columns, indexing="ij"))
    kernels = device.load(device.compile(QUOTIENTS.format(word=word)), ["quotients"])
    buffers = [device.allocate(a.nbytes) for _ in range(3)]
    for buffer, content in zip(buffers, (a, b), strict=False):
        device.queue.write(buffer, content)
    device.queue.launch(kernels["quotients"], (a.size // 256, 1, 1), (256, 1, 1), buffers)
    found = np.empty(a.size, dtype)
    device.queue.read(buffers[2], found)
    ones = unsigned((1 << (23 if kind == "f" else 52)) - 1)
    for x, y, got in zip(a, b, found, strict=True):
        exact = operands.rounded(
            kind, gmpy2.div, *(operands.number_of(kind, int(v)) for v in (x, y))
        )
        if np.isnan(exact):
            assert np.isnan(got)
        elif y & ones == ones and got != exact:
            assert got in (np.nextafter(dtype(exact), dtype(s)) for s in (-np.inf, np.inf))
        else:
            assert dtype(exact).tobytes() == got.tobytes(), (hex(x), hex(y), exact, got)


def _settled(settings: Settings) -> emulated.EmulatedDevice:
    """The interpreter of gfx908 with settings of a test's own."""
    plain = _device("gfx908")
    device = emulated.opened("gfx908", "gfx908", discovery.interpreter(), settings)
    device.traits = plain.traits
    return device


@pytest.mark.parametrize(
    "label",
    mostly_slow(
        ["gfx908+1", "gfx908-1", "gfx908~1"],
        ("gfx908~1",),
        "the last one moves estimates either way",
    ),
)
def test_results_do_not_depend_on_approximations(label: str) -> None:
    """Reciprocals and roots may err by as much as is documented."""
    tiers.check("hiprtc")
    device = discovery.get(f"emulated:{label}")
    for form in ("float32", "float64", "ts"):
        assert not _failures(device, form, ("div", "sqrt", "nbody", "nrm2"))


def test_an_approximation_that_is_worse_is_noticed() -> None:
    """Off by 2^-6: the digests of gravity, which starts from the estimate, differ."""
    assert _failures(_settled(Settings(shift=-(2**18))), "float32", ("nbody",))


def test_approximations_are_really_moved() -> None:
    """The inexact root changes with its estimate; the exact one does not."""
    plain, moved = _device("gfx908"), _settled(Settings(shift=1))
    for root, changes in (("fast", True), ("exact", False)):
        found = []
        for device in (plain, moved):
            form = formats.get("float32")
            host = [inputs.ordinary(form, (64, 3), "position"), inputs.ordinary(form, (64,), "m")]
            r, m = (Array(planes.upload(form, h, device.queue)) for h in host)
            sums = nbody.acceleration(r, m, eps="0.01", root=root).to_limbs()[0]
            found.append(sums.tobytes())
        assert (found[0] != found[1]) == changes


def _unfused(row: Row) -> Row:
    known = f"unfused_{row.operation}"
    return replace(row, operation=known) if known in instructions.UNFUSED else row


def _without_exec(row: Row) -> Row:
    kind = instructions.operations()[row.operation].kind
    return replace(row, flags=row.flags | assembler.EVERY_LANE) if kind == "vector" else row


def _without_barrier(row: Row) -> Row:
    if row.operation != "s_barrier":
        return row
    return replace(row, operation="s_mov_b32", target=assembler.SINK, sources=(assembler.SINK,))


@pytest.mark.parametrize(
    ("mutation", "form", "routines"),
    [
        (_unfused, "dd", ("mul", "gemm")),
        pytest.param(_unfused, "ts", ("mul",), marks=slow("the instruction of the other word")),
        pytest.param(
            _without_exec,
            "dd",
            ("div", "dot", "gemm"),
            marks=slow("test_lanes_that_are_off_keep_their_registers sees it as well"),
        ),
        (_without_barrier, "dd", ("gemm",)),
    ],
    ids=["fma", "fma32", "exec", "barrier"],
)
def test_broken_instructions_are_noticed(
    mutation: assembler.Mutation, form: str, routines: Sequence[str]
) -> None:
    """A multiply-add rounded twice, lanes that should be off, a missing barrier."""
    assert _failures(_settled(Settings(mutation=mutation)), form, routines)


def test_waves_may_run_in_any_order() -> None:
    """Between barriers: the same bits when the last wave of a block runs first."""
    device = _settled(Settings(descending=True))
    assert not _failures(device, "dd", ("gemm", "dot", "gemv", "nbody"))


def test_the_interpreter_tells_that_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line on a terminal where that takes long, from Python too; once, and nothing elsewhere."""

    class Terminal(io.StringIO):
        visible = True

        def isatty(self) -> bool:
            return self.visible

    told = threading.Event()
    show = progress.Progress.show

    def noticed(line: progress.Progress, text: str) -> None:
        show(line, text)
        told.set()

    def slow_kernels(device: Any, *unit: Any) -> Any:
        assert told.wait(60 if screen.visible else 0.1) == screen.visible
        return kernels(device, *unit)

    kernels, screen = program.kernels, Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress.Progress, "show", noticed)
    monkeypatch.setattr(program, "kernels", slow_kernels)
    monkeypatch.setattr("sys.stderr", screen)
    for visible in (True, False):
        told.clear()
        screen.truncate(0)
        screen.visible = visible
        fresh = Machine("gfx908", discovery.interpreter())
        for _ in range(2):
            fresh._interpreter(64)
        assert ("\rcompiling the interpreter, the first time" in screen.getvalue()) == visible


def test_an_access_behind_an_array_is_reported() -> None:
    """A kernel that is told of more elements than there are."""
    device = _device("gfx908")
    form = formats.get("dd")
    x = planes.upload(form, inputs.ordinary(form, (300,), "x"), device.queue)
    from portmp.routines.elementwise import launch as elementwise

    longer = x.view((4000,), (1,), 0)
    words = (
        r"emulated:gfx908 finds mistakes in the kernel elementwise_neg, launched with grid=.*\n"
        r"  Invalid read of size 8 at global memory address 0x[0-9a-f]+ "
        r"\(0 bytes behind the end of x0, which has 2400\): "
        r"thread \(\d+,0,0\) of block \(\d+,0,0\) in rendered line \d+"
    )
    with pytest.raises(CheckError, match=words):
        elementwise.apply("neg", [longer])


# --- the host's side -----------------------------------------------------------------------


def test_interpreted_devices_appear_only_when_they_are_asked_for() -> None:
    """They are in no list, and are not timed."""
    device = _device("gfx908")
    assert device not in discovery.listed()
    assert "interpreter" in device.properties.name and "no hardware" in device.properties.name
    with pytest.raises(DeviceError, match="interpreter"):
        discovery.hardware(device)
    with pytest.raises(DeviceError, match="gfx908, gfx90a"):
        discovery.get("emulated:gfx9")


def test_nothing_is_left_behind() -> None:
    """Memory, streams and events that the backend made are given back."""
    device = _device("gfx908")
    gc.collect()
    memory, events, streams = (
        device.hip.machine.memory.allocations,
        len(device.hip.events),
        len(device.hip.streams),
    )
    form = formats.get("dd")
    for _ in range(3):
        host = [inputs.ordinary(form, (50,), "left")] * 2
        x, y = (Array(planes.upload(form, h, device.queue)) for h in host)
        queue = device.new_queue()
        mark = device.queue.record()
        (x * y).to_limbs()
        device.queue.record().seconds_since(mark)
        del x, y, queue, mark
    gc.collect()
    kernels = device.hip.machine.memory.allocations - memory
    assert kernels <= 1, "only a module that was loaded now"
    assert (len(device.hip.events), len(device.hip.streams)) == (events, streams)


@pytest.mark.parametrize(
    ("call", "status", "error"),
    [
        ("hipMalloc", hip.hipError_t.hipErrorOutOfMemory, OutOfMemory),
        ("hipMalloc", hip.hipError_t.hipErrorInvalidValue, DeviceError),
        ("hipMemcpyHtoDAsync", hip.hipError_t.hipErrorInvalidValue, DeviceError),
        ("hipMemcpyDtoHAsync", hip.hipError_t.hipErrorInvalidValue, DeviceError),
        ("hipStreamSynchronize", hip.hipError_t.hipErrorLaunchFailure, DeviceError),
        ("hipModuleLaunchKernel", hip.hipError_t.hipErrorLaunchFailure, LaunchError),
        ("hipSetDevice", hip.hipError_t.hipErrorInvalidValue, DeviceError),
    ],
)
def test_failing_calls_become_errors(
    call: str, status: hip.hipError_t, error: type[PortmpError]
) -> None:
    """Each call's failure reaches the user as portmp's own error, and the device goes on."""
    device = _device("gfx908")
    form = formats.get("dd")

    def work() -> Array:
        x = Array(planes.upload(form, inputs.ordinary(form, (9,), "x"), device.queue))
        result: Array = x + x
        result.to_limbs()
        return result

    work()
    device.hip.failing[call] = status
    try:
        with pytest.raises(error):
            work()
    finally:
        device.hip.failing.clear()
    work()


def test_calls_of_one_result_in_their_order() -> None:
    """Memory, copy, launch, copy back, wait, and memory given back."""
    device = _device("gfx908")
    form = formats.get("dd")
    host = inputs.ordinary(form, (9,), "x")
    (Array(planes.upload(form, host, device.queue)) + 1).to_limbs()
    gc.collect()
    device.hip.calls = []
    try:
        result = Array(planes.upload(form, host, device.queue)) + 1
        result.to_limbs()
        del result
        gc.collect()
        calls = [c for c in device.hip.calls if c not in ("hipSetDevice", "hipError_t")]
    finally:
        device.hip.calls = None
    order = [
        "hipMalloc",
        "hipMemcpyHtoDAsync",
        "hipModuleLaunchKernel",
        "hipMemcpyDtoHAsync",
        "hipStreamSynchronize",
        "hipFree",
    ]
    places = [calls.index(name) for name in order[:4]]
    assert places == sorted(places)
    assert calls.index("hipStreamSynchronize", places[3]) > places[3]
    assert calls.count("hipMalloc") == calls.count("hipFree")


def test_calls_are_those_of_hip_python() -> None:
    """Every call and status that the interpreter offers is there, with the same number."""
    tiers.check("hiprtc")
    from hip import hip as real

    for name in vars(hip.Hip):
        if name.startswith("hip"):
            assert hasattr(real, name), name
    for kind in (hip.hipError_t, hip.hipMemLocationType):
        for member in kind:
            assert int(getattr(getattr(real, kind.__name__), member.name)) == int(member)
    assert hasattr(real.hipDeviceAttribute_t, "hipDeviceAttributeMemoryPoolsSupported")


OTHER = "another device"
CALLS: dict[str, tuple[Any, ...]] = {
    "allocate": (64, None),
    "free": (0x1000, None),
    "allocate_host": (64,),
    "free_host": (0x1000,),
    "upload": (0x1000, 0x2000, 64, None),
    "download": (0x2000, 0x1000, 64, None),
    "MemsetD8Async": (0x1000, 0, 64, None),
    "MemcpyDtoDAsync": (0x1000, 0x2000, 64, None),
    "new_stream": (),
    "StreamDestroy": (None,),
    "StreamSynchronize": (None,),
    "record": (None,),
    "StreamWaitEvent": (None, None, 0),
    "EventSynchronize": (None,),
    "elapsed": (None, None),
    "EventDestroy": (None,),
    "ModuleLoadData": (b"no code object",),
    "function": (None, "kernel"),
    "memory": (),
    "give_back": (),
    "enable_peer_access": (OTHER,),
    "copy_peer": (0x1000, OTHER, 0x2000, 64, None),
}
SOURCE = inspect.getsource(driver_api)
SHARED = set(re.findall(r'\b(?:call|_function)(?:\(|, )"(\w+)"', SOURCE))
SHARED |= set(re.findall(r'names\.prefix\}(\w+)"', SOURCE))
"""Functions that are called by one name, behind each vendor's prefix."""


def test_every_call_of_the_backend_has_arguments_here() -> None:
    """All that the ROCm backend asks of HIP.

    The clock comes from the kernel's driver, the address of attributes, and is empty without them;
    block memory need not be asked for, blocks do not wait for each other; two are made of others.
    What no method of the driver's calls, queues and devices do. No graph is made here, so none is
    launched, and no message's event is asked after.
    """
    functions = inspect.getmembers(rocm.RocmDriver, inspect.isfunction)
    offered = {name for name, _ in functions if not name.startswith("_")}
    beside = {"allow_memory", "clock_mhz", "current", "knows", "pci_address", "order", "reaches"}
    beside |= {"call", "captured", "check_launch", "is_reached", "launcher", "resident_blocks"}
    direct = set(re.findall(r'\b_?driver\.call(?:\(|, )"(\w+)"', SOURCE))
    assert offered - CALLS.keys() == beside
    graphs = {"GraphLaunch", "GraphExecDestroy"}
    assert CALLS.keys() - offered == direct - graphs and len(direct) == 8 + len(graphs)


def _names(table: Names) -> list[str]:
    """The names of functions and constants of a vendor; empty ones are of what is not used."""
    own = {key: text for key, text in asdict(table).items() if isinstance(text, str) and text}
    prefix, constants = own.pop("prefix"), [own.pop(name) for name in CONSTANTS]
    return [*(prefix + name for name in (*own.values(), *SHARED)), *constants]


CONSTANTS = ("pool_access", "on_device", "read_write", "out_of_memory", "capture_mode")


def test_the_tables_name_what_the_bindings_have() -> None:
    """Functions, enumerations with their members, and structures; both tables are complete."""
    driver = pytest.importorskip("cuda.bindings.driver")
    for name in _names(cuda.NAMES):
        assert attrgetter(name)(driver) is not None, name
    tiers.check("hiprtc")
    from hip import hip as real

    for name in _names(rocm.NAMES):
        assert attrgetter(name)(real) is not None, name
    for table in (cuda.NAMES, rocm.NAMES):
        used = len(asdict(table)) - 3 - (not table.launch_together)
        assert len(set(_names(table))) == used + len(SHARED) and len(SHARED) == 25


class Renamed:
    """The interpreter's runtime under the names of another vendor's driver."""

    CUdevice_attribute = SimpleNamespace(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED=0)
    CUresult = SimpleNamespace(CUDA_ERROR_OUT_OF_MEMORY=hip.hipError_t.hipErrorOutOfMemory)
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL=1)

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.names = dict(zip(astuple(cuda.NAMES), astuple(rocm.NAMES), strict=True))

    def __getattr__(self, name: str) -> Any:
        own = name.removeprefix("cu")
        return getattr(self.inner, f"hip{own if own in SHARED else self.names[own]}")

    def cuDeviceGetAttribute(self, wanted: Any, device: int) -> tuple[int, int]:
        return 0, 0

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return 0, device

    def cuGetErrorName(self, status: Any) -> tuple[int, bytes]:
        return 0, status.name.encode()

    cuGetErrorString = cuGetErrorName

    def cuLaunchKernel(self, *given: Any) -> Any:
        assert given[-1] == 0
        return self.inner.hipModuleLaunchKernel(*given[:-1], None)


def test_one_driver_class_by_two_tables() -> None:
    """The same device gives the same bits through the other vendor's names."""
    device = _device("gfx908")
    driver = cuda.CudaDriver(Renamed(device.hip), 0)
    other = GpuDevice(0, driver, device.properties, device.traits, device.compiler)
    other.platform = "rocm"
    form = formats.get("dd")
    host = inputs.ordinary(form, (100,), "x")
    given = [Array(planes.upload(form, host, on.queue)) for on in (device, other)]
    first, second = ((x * x).to_limbs() for x in given)
    assert all(map(np.array_equal, first, second))
    stream = other.queue.stream
    assert driver.allocate(1 << 60, stream) is None
    with pytest.raises(DeviceError, match="kernel 'none': hipErrorNotFound"):
        driver.function(0, "none")
    start = driver.record(stream)
    assert driver.elapsed(start, driver.record(stream)) >= 0
    assert not driver.reaches(driver)
    assert driver.memory()[1] == device.properties.memory


class Graphs:
    """The interpreter's runtime with streams that capture, and graphs that do what was captured.

    ``failing``: calls that fail.
    """

    hipStreamCaptureMode = SimpleNamespace(hipStreamCaptureModeThreadLocal=1)

    def __init__(self, inner: hip.Hip) -> None:
        self.inner, self.numbers = inner, itertools.count(1000)
        self.captured: dict[Any, list[Any]] = {}
        self.graphs: dict[int, list[Any]] = {}
        self.calls: list[str] = []
        self.failing: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("hip") and name[3].isupper():
            self.calls.append(name)
            if name in self.failing:
                return lambda *given: (hip.hipError_t.hipErrorLaunchFailure, None)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        place = {"hipModuleLaunchKernel": 8, "hipMemcpyDtoDAsync": 3}.get(name)
        if place is None:
            return found

        def called(*given: Any) -> Any:
            noted = self.captured.get(given[place])
            if noted is None:
                return found(*given)
            noted.append(lambda stream: found(*given[:place], stream, *given[place + 1 :]))
            return (hip.hipError_t.hipSuccess,)

        return called

    def hipStreamBeginCapture(self, stream: Any, mode: Any) -> Any:
        assert mode == 1 and stream in self.inner.streams
        self.captured[stream] = []
        return (hip.hipError_t.hipSuccess,)

    def hipStreamEndCapture(self, stream: Any) -> Any:
        return self._kept(self.captured.pop(stream))

    def _kept(self, work: list[Any]) -> Any:
        number = next(self.numbers)
        self.graphs[number] = work
        return hip.hipError_t.hipSuccess, number

    def hipGraphInstantiateWithFlags(self, graph: int, flags: int) -> Any:
        assert flags == 0
        return self._kept(self.graphs[graph])

    def hipGraphLaunch(self, graph: int, stream: Any) -> Any:
        assert all(not work(stream)[0] for work in self.graphs[graph])
        return (hip.hipError_t.hipSuccess,)

    def hipGraphDestroy(self, graph: int) -> Any:
        del self.graphs[graph]
        return (hip.hipError_t.hipSuccess,)

    hipGraphExecDestroy = hipGraphDestroy


@pytest.mark.parametrize("vendor", [cuda.CudaDriver, rocm.RocmDriver])
def test_captured_launches_are_a_graph(vendor: Any) -> None:
    """One call for all, by each vendor's names; launches where no graph is made; no leftovers."""
    inner = _device("gfx908")
    api = Graphs(inner.hip)
    driver = vendor(Renamed(api) if vendor is cuda.CudaDriver else api, 0)
    device = GpuDevice(0, driver, inner.properties, inner.traits, inner.compiler)
    device.platform = "rocm"
    x = zeros(20, "dd", device.queue) + 0.5
    streams = len(inner.hip.streams)
    for fails in ("", "hipStreamBeginCapture", "hipGraphInstantiateWithFlags", "hipGraphLaunch"):
        y = x.copy()
        with capture() as loop:
            y += 1
            z = array([1, 2], "dd", device.queue) + 1
        api.failing, api.calls = {fails}, []
        if fails == "hipGraphLaunch":
            with pytest.raises(DeviceError, match="hipErrorLaunchFailure"):
                loop.replay()
        else:
            loop.replay()
            loop.replay(2)
            assert (y - x - 4).to_float64().any() == 0 and z.to_float64().tolist() == [2, 3]
            assert api.calls.count("hipGraphLaunch") == (0 if fails else 3)
        api.failing = set()
        del loop, y, z
        gc.collect()
        assert (len(inner.hip.streams), len(api.graphs)) == (streams, 0), fails


class Pooled(Renamed):
    """The same with a pool of memory, which keeps 300 bytes of which 100 are used."""

    CUmemPool_attribute = SimpleNamespace(
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD="kept at most",
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES="waits",
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT="kept",
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT="used",
    )
    cuuint64_t = int

    def __init__(self, inner: hip.Hip) -> None:
        super().__init__(inner)
        self.trimmed: list[tuple[str, int]] = []
        self.told: dict[str, int] = {}

    def cuDeviceGetAttribute(self, wanted: Any, device: int) -> tuple[int, int]:
        return 0, 1

    def cuDeviceTotalMem(self, device: int) -> tuple[int, int]:
        return 0, 1000

    def cuDeviceGetDefaultMemPool(self, device: int) -> tuple[int, str]:
        return 0, "pool"

    def cuMemPoolSetAttribute(self, pool: str, attribute: str, value: int) -> tuple[int]:
        assert pool == "pool"
        self.told[attribute] = value
        return (0,)

    def cuMemPoolGetAttribute(self, pool: str, attribute: str) -> tuple[int, int]:
        return 0, {"kept": 300, "used": 100}[attribute]

    def cuMemPoolTrimTo(self, pool: str, least: int) -> tuple[int]:
        self.trimmed.append((pool, least))
        return (0,)


def test_memory_that_a_pool_keeps_is_free() -> None:
    """Half of a device's memory may stay in the pool; what is not used of it counts as free."""
    hip = _device("gfx908").hip
    pooled = Pooled(hip)
    plain = cuda.CudaDriver(Renamed(hip), 0).memory()
    driver = cuda.CudaDriver(pooled, 0)
    assert driver.memory() == (min(plain[0] + 200, plain[1]), plain[1])
    assert pooled.told == {"kept at most": 500, "waits": 0}
    driver.give_back()
    assert pooled.trimmed == [("pool", 0)]


def test_the_runtime_takes_what_is_asked_for_the_address() -> None:
    """Its names of the attributes exist: without a device there is no address, and no error."""
    tiers.check("hiprtc")
    from hip import hip as real

    for part in ("DomainId", "BusId", "DeviceId"):
        assert hasattr(real.hipDeviceAttribute_t, f"hipDeviceAttributePci{part}")
    assert _answers()["address"] == ""


ASKED = """
import functools, json, sys
from portmp.backends.rocm import runtime as rocm
from portmp.compilers import hiprtc
from hip import hip

calls, other = json.load(sys.stdin)
with hiprtc.findable("amdhip64"):
    hip.hipInit(0)
answers = {"devices": int(hip.hipGetDeviceCount()[1])}
for pools in (False, True):
    driver = rocm.RocmDriver(hip, 0)
    driver.current, driver._pools = lambda: hip, pools
    for name, given in calls.items():
        if name == "ModuleLoadData":
            given = [b"no code object"]
        asked = getattr(driver, name, functools.partial(driver.call, name))
        try:
            asked(*(driver if g == other else g for g in given))
        except Exception as error:
            answers[f"{name} {pools}"] = f"{type(error).__name__}: {error}"
        else:
            answers[f"{name} {pools}"] = "nothing"
answers["address"] = driver.pci_address()
print(json.dumps(answers))
"""


@cache
def _answers() -> dict[str, Any]:
    """What AMD's runtime says to each call, in a process from which every AMD GPU is hidden."""
    tiers.check("hiprtc")
    given = {
        name: [] if name == "ModuleLoadData" else arguments for name, arguments in CALLS.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        input=json.dumps([given, OTHER]),
        text=True,
        capture_output=True,
        check=True,
        env=os.environ | {"HIP_VISIBLE_DEVICES": "-1"},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert not found["devices"]
    return found


@pytest.mark.parametrize("pools", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_calls_are_accepted_by_the_runtime(name: str, pools: bool) -> None:
    """AMD's runtime takes each call and its arguments, and answers that there is no device."""
    answer = _answers()[f"{name} {pools}"]
    if (name, pools) == ("give_back", False):
        assert answer == "nothing"  # without pools nothing is kept
        return
    assert re.match(r"(Device|Launch)Error: .*hipError(InvalidDevice|NoDevice)", answer), answer
