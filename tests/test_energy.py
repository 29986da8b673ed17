"""Energy: what is read of each vendor, observations by a clock that is set, reports."""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portmp.backends import rapl
from portmp.backends.base import Device
from portmp.backends.cuda import energy as nvml_energy
from portmp.backends.cuda import nvml
from portmp.backends.cuda import runtime as cuda
from portmp.backends.energy import JOULES, WATTS, Meter
from portmp.backends.opencl import runtime as opencl
from portmp.backends.rocm import energy as amdsmi
from portmp.backends.rocm import runtime as rocm
from portmp.bench import energy, reports, tables
from portmp.bench.energy import Observer, Spans, Timer
from portmp.cli import main
from portmp.errors import BackendUnavailable, DeviceError, OutOfMemory

IDLE, BUSY = 80.0, 300.0


# --- a device whose power is known -----------------------------------------------------------


class Clock(Timer):
    """Time passes where somebody sleeps; meanwhile happens what is due."""

    def __init__(self) -> None:
        self.time = 0.0
        self.due: list[list[Any]] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        end = self.time + seconds
        while self.due and min(self.due)[0] <= end:
            entry = min(self.due)
            self.time = entry[0]
            entry[0] += entry[1]
            entry[2]()
        self.time = end

    @contextlib.contextmanager
    def every(self, interval: float, act: Callable[[], object]) -> Iterator[None]:
        entry = [self.time + interval, interval, act]
        self.due.append(entry)
        yield
        self.due.remove(entry)


class Board:
    """A device and its queue: so many watts while there is work, and in between."""

    name = "board:0"
    interpreted = False

    def __init__(self, clock: Clock, *meters: Meter) -> None:
        self.clock = clock
        self.meters = meters
        self.queue = self
        self.busy: list[tuple[float, float]] = []
        self.most = 0.0
        self.dry = 0

    def energy_meters(self) -> Any:
        return self.meters

    def launch(self, seconds: float) -> None:
        """A call of so many seconds."""
        end = self.busy[-1][1] if self.busy else 0.0
        self.dry += bool(self.busy) and end < self.clock.time
        start = max(end, self.clock.time)
        self.busy.append((start, start + seconds))
        self.most = max(self.most, start + seconds - self.clock.time)

    def record(self) -> Any:
        end = self.busy[-1][1]
        return SimpleNamespace(wait=lambda: self.clock.sleep(max(0.0, end - self.clock.time)))

    def synchronize(self) -> None:
        if self.busy:
            self.record().wait()

    def joules(self, until: float) -> float:
        """The energy from the start until a time."""
        working = sum(
            max(0.0, min(until, end) - start) for start, end in self.busy if start < until
        )
        return IDLE * until + (BUSY - IDLE) * working


def observer(*make: Callable[[Board], Meter]) -> tuple[Observer, Board]:
    """An observer of a board with these meters."""
    clock = Clock()
    board = Board(clock)
    board.meters = tuple(m(board) for m in make)
    device: Any = board
    return Observer(device, clock), board


def counter(board: Board, step: float = 0.1) -> Meter:
    """A counter that is brought up to date ten times a second."""
    return Meter("counter", JOULES, lambda: board.joules(board.clock.time // step * step))


def gauge(board: Board) -> Meter:
    """The mean power of the last second."""

    def read() -> float:
        now = board.clock.time
        return board.joules(now) - board.joules(now - 1.0)

    return Meter("gauge", WATTS, read, lag=1.0)


def still(board: Board) -> Meter:
    """A counter that does not move."""
    return Meter("still", JOULES, lambda: 5.0)


# --- observations ----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [counter, gauge])
@pytest.mark.parametrize("once", [0.00071, 0.017, 0.33, 1.7])
def test_observation(make: Callable[[Board], Meter], once: float) -> None:
    """Power and calls are those of the work alone; the queue neither runs dry nor grows."""
    observe, board = observer(make)
    assert observe.idle_watts == pytest.approx(IDLE, rel=0.01)
    board.clock.sleep(1.0)
    found = observe.observe(lambda: board.launch(once), 1e9, once)
    assert found
    assert found.watts == pytest.approx(BUSY, rel=0.01)
    assert found.seconds >= 2 and found.calls * once == pytest.approx(found.seconds, rel=1e-6)
    assert board.dry == 0 and board.most <= 2 * max(once, 0.051) + 1e-9
    data = found.as_dict()
    assert data["read"] == make.__name__ and data["idle_watts"] == observe.idle_watts
    assert data["joules"] == pytest.approx(BUSY * found.seconds, rel=0.01)
    assert data["joules_per_call"] == pytest.approx(BUSY * once, rel=0.01)
    assert data["joules_per_operation"] == pytest.approx(BUSY * once * 1e-9, rel=0.01)
    above = data["joules_per_operation_above_idle"]
    assert above == pytest.approx((BUSY - IDLE) * once * 1e-9, rel=0.02)
    assert data["operations_per_second"] == pytest.approx(1e9 / once, rel=1e-6)
    assert data["gflops_per_watt"] == pytest.approx(1 / once / BUSY, rel=0.01)


def test_long_calls() -> None:
    """A call that is longer than an observation is one by itself."""
    observe, board = observer(counter)
    found = observe.observe(lambda: board.launch(7.0), 1.0, 7.0)
    assert found and found.calls == len(board.busy) == 1
    assert found.watts == pytest.approx(BUSY, rel=0.01)
    assert observe.duration(7.0) == 7.0 and 2.2 < observe.duration(0.001) < 2.3


def test_samples_of_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many are waited for; a counter needs none."""
    monkeypatch.setattr(energy, "SPANS", Spans(samples=250))
    observe, board = observer(gauge)
    found = observe.observe(lambda: board.launch(0.01), 1.0, 0.01)
    assert found and found.samples >= 249 and found.seconds == pytest.approx(5, abs=0.1)
    observe, board = observer(counter)
    found = observe.observe(lambda: board.launch(0.01), 1.0, 0.01)
    assert found and found.samples == pytest.approx(20, abs=1) and found.seconds < 2.1


def test_a_counter_that_stands_still() -> None:
    """The next meter is taken; where there is none, the reason is kept."""
    observe, board = observer(still, gauge)
    assert observe.meter is board.meters[1] and not observe.problem
    observe, board = observer(still)
    assert observe.problem == "still: the counter moved 0 times, at least 2 are needed"
    assert observe.observe(lambda: board.launch(1.0), 1.0, 1.0) is None and not board.busy
    assert observe.facts()["energy"] == {
        "read": None,
        "idle_watts": None,
        "problem": observe.problem,
    }
    assert observe.duration(1.0) == 0.0


def test_a_meter_that_fails() -> None:
    """That case has no energy, the report says why, the next case has some again."""
    observe, board = observer(counter)
    assert observe.meter
    good = observe.meter

    def lost() -> float:
        if board.clock.time > 2.5:
            raise DeviceError("GPU is lost")
        return good.read()

    observe.meter = Meter("counter", JOULES, lost)
    work = lambda: board.launch(0.01)  # noqa: E731
    assert observe.part(work, 1.0, 0.01) == {"energy": None}
    assert observe.problem == "counter: GPU is lost"
    observe.meter = good
    assert observe.part(work, 1.0, 0.01)["energy"]["calls"] > 100
    lines = tables.energy_lines(observe.facts())
    assert lines[0].startswith("energy: counter; idle ")
    assert lines[1:] == ["energy: not of all cases: counter: GPU is lost"]


def test_errors_of_the_work_are_the_callers() -> None:
    """They are no problem of a meter."""
    observe, _ = observer(counter)

    def work() -> None:
        raise OutOfMemory("full")

    with pytest.raises(OutOfMemory, match="full"):
        observe.observe(work, 1.0, 0.01)
    assert not observe.problem


def test_nothing_asked_for() -> None:
    """Nothing at all is said."""
    nothing = Observer(None)
    assert nothing.part(lambda: None, 1.0) == nothing.facts() == {}
    assert tables.energy_lines({}) == []


def test_means_by_hand() -> None:
    """From step to step of a counter; the area below samples that lie unevenly."""
    steps = [(0.0, 5.0), (0.9, 5.0), (1.0, 7.0), (1.5, 7.0), (2.0, 19.0), (3.0, 27.0), (3.9, 27.0)]
    assert energy.counted_power(steps) == (10.0, 3)
    assert energy.sampled_power([(0.0, 10.0), (1.0, 30.0), (4.0, 30.0)]) == (27.5, 3)
    for mean in (energy.counted_power, energy.sampled_power):
        with pytest.raises(DeviceError):
            mean([(0.0, 1.0)])
    backwards = energy.Readings(Meter("", JOULES, float), Clock())
    backwards.taken = [(0.0, 9.0), (1.0, 8.0), (2.0, 3.0)]
    with pytest.raises(DeviceError, match="-5 W were read"):
        backwards.power(0.0, 2.0)


def test_a_thread_reads() -> None:
    """Beside the block, and no longer than it."""
    often, count = threading.Event(), []

    def act() -> None:
        count.append(0)
        if len(count) >= 3:
            often.set()

    before = threading.active_count()
    with Timer().every(0.001, act):
        assert often.wait(30)
    assert threading.active_count() == before


# --- what is read ----------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No library is kept from one test to the next."""
    for library in (nvml.library, amdsmi._library):
        library.cache_clear()
    yield
    for library in (nvml.library, amdsmi._library):
        library.cache_clear()


class UnknownQuery(Exception):
    """As the bindings of OpenCL raise."""


NOT_SUPPORTED, NOT_FOUND, NO_DRIVER = 3, 6, 9
WORDS = {NOT_SUPPORTED: b"Not Supported", NOT_FOUND: b"Not Found", NO_DRIVER: b"Driver Not Loaded"}


def gives(number: int) -> Callable[[ctypes.c_void_p, Any], int]:
    """A query of NVML: it writes the number where it is told to, for the GPU that it knows."""

    def query(gpu: ctypes.c_void_p, target: Any) -> int:
        assert gpu.value == 0x19
        target._obj.value = number
        return 0

    return query


def fails(*_: Any) -> int:
    """A call that this GPU or system does not have."""
    return NOT_SUPPORTED


def fake_nvml(monkeypatch: pytest.MonkeyPatch, **entries: Any) -> SimpleNamespace:
    """NVML with one GPU at 0000:19:00.0, and what is given instead."""

    def handle(address: bytes, target: Any) -> int:
        target._obj.value = 0x19
        return 0 if address == b"0000:19:00.0" else NOT_FOUND

    found = SimpleNamespace(
        **{
            "nvmlInit_v2": lambda: 0,
            "nvmlErrorString": lambda status: WORDS[status],
            "nvmlDeviceGetHandleByPciBusId_v2": handle,
            "nvmlDeviceGetTotalEnergyConsumption": gives(5_000_250),
            "nvmlDeviceGetPowerUsage": gives(123_456),
            **entries,
        }
    )
    monkeypatch.setattr(nvml.ctypes, "CDLL", lambda name: found)
    return found


def test_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter in joules, then the power in watts, of the GPU at that address."""
    fake_nvml(monkeypatch)
    first, second = nvml_energy.meters("0000:19:00.0")
    assert (first.unit, first.read()) == (JOULES, 5000.25)
    assert (second.unit, second.read(), second.lag) == (WATTS, 123.456, 1.0)
    with pytest.raises(BackendUnavailable, match=r"no GPU at '0000:20:00.0' of the bus: Not Found"):
        nvml_energy.meters("0000:20:00.0")


def test_nvml_without_a_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power alone; or neither, which is said; or a GPU that is lost later; or an old driver."""
    fake = fake_nvml(monkeypatch, nvmlDeviceGetTotalEnergyConsumption=fails)
    (meter,) = nvml_energy.meters("0000:19:00.0")
    assert meter.unit == WATTS
    fake.nvmlDeviceGetPowerUsage = fails
    with pytest.raises(DeviceError, match="Not Supported"):
        meter.read()
    del fake.nvmlDeviceGetTotalEnergyConsumption
    with pytest.raises(
        BackendUnavailable,
        match=r"counter of the board: this driver has no nvmlDeviceGetTotal.*; NVML, .*Not Supp",
    ):
        nvml_energy.meters("0000:19:00.0")


def test_nvml_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it comes from."""

    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(nvml.ctypes, "CDLL", missing)
    with pytest.raises(BackendUnavailable, match=r"NVML is missing.*comes with the driver"):
        nvml_energy.meters("0000:19:00.0")
    fake_nvml(monkeypatch, nvmlInit_v2=lambda: NO_DRIVER)
    with pytest.raises(BackendUnavailable, match=r"not start \(Driver Not.*comes with the driver"):
        nvml_energy.meters("0000:19:00.0")


def test_names_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's own bindings call the same functions, and the same clock by the same number."""
    real = pytest.importorskip("pynvml")
    source = Path(real.__file__).read_text(encoding="utf-8")
    used = re.findall(r'"(nvml\w+)"', Path(nvml.__file__).read_text(encoding="utf-8"))
    # The bindings start the library by another function, which takes flags.
    for name in {*used, *vars(fake_nvml(monkeypatch))} - {"nvmlInit_v2"}:
        assert re.search(rf"\b{name}\b", source), name
    assert nvml._SM_CLOCK == real.NVML_CLOCK_SM


def fake_smi(monkeypatch: pytest.MonkeyPatch, energy: Any, power: Any) -> None:
    """AMD SMI with one GPU at 0000:c1:00.0, whose calls give these dictionaries or fail."""

    def handle(address: str) -> str:
        if address != "0000:c1:00.0":
            raise RuntimeError("Error code:\n\t2 | not found")
        return "the GPU"

    def call(found: Any) -> Callable[[Any], Any]:
        def give(gpu: str) -> Any:
            assert gpu == "the GPU"
            if found is None:
                raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")
            return found

        return give

    monkeypatch.setitem(
        sys.modules,
        "amdsmi",
        SimpleNamespace(
            amdsmi_init=lambda: None,
            amdsmi_get_processor_handle_from_bdf=handle,
            amdsmi_get_energy_count=call(energy),
            amdsmi_get_power_info=call(power),
        ),
    )


COUNT = {"energy_accumulator": 2_000_000, "counter_resolution": 15.25, "timestamp": 1}
POWERS = {
    "MI300": ({"current_socket_power": 717, "average_socket_power": "N/A"}, 717),
    "MI200": ({"current_socket_power": "N/A", "average_socket_power": 94}, 94),
    "unset": ({"current_socket_power": 2**32 - 1, "average_socket_power": 0, "socket_power": 5}, 5),
}


@pytest.mark.parametrize("name", POWERS)
def test_amdsmi(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The counter times its resolution, and the power by whichever name holds a number."""
    power, watts = POWERS[name]
    fake_smi(monkeypatch, COUNT, power)
    first, second = amdsmi.meters("0000:c1:00.0")
    assert (first.unit, first.read()) == (JOULES, pytest.approx(30.5))
    assert (second.unit, second.read()) == (WATTS, watts)


def test_amdsmi_without_a_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older names; power alone; neither; another address; no library."""
    fake_smi(monkeypatch, {"power": 2_000_000, "counter_resolution": 15.25}, None)
    (meter,) = amdsmi.meters("0000:c1:00.0")
    assert meter.read() == pytest.approx(30.5)
    amdsmi._library.cache_clear()
    fake_smi(monkeypatch, None, POWERS["MI200"][0])
    assert [m.unit for m in amdsmi.meters("0000:c1:00.0")] == [WATTS]
    amdsmi._library.cache_clear()
    fake_smi(monkeypatch, None, {"average_socket_power": "N/A"})
    with pytest.raises(
        BackendUnavailable, match=r"NOT_SUPPORTED; .* tells no current_socket_power"
    ):
        amdsmi.meters("0000:c1:00.0")
    with pytest.raises(BackendUnavailable, match="no GPU at '' of the bus: Error code: 2"):
        amdsmi.meters("")
    amdsmi._library.cache_clear()
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    with pytest.raises(BackendUnavailable, match=r"cannot be imported.*share/amd_smi"):
        amdsmi.meters("0000:c1:00.0")


ZONES = {
    "intel-rapl": "",
    "intel-rapl:0": "package-0",
    "intel-rapl:0:0": "core",
    "intel-rapl:0:1": "dram",
    "intel-rapl:1": "package-1",
    "intel-rapl:2": "psys",
    "intel-rapl-mmio:0": "package-0",
}


@pytest.fixture
def zones(tmp_path: Path) -> Path:
    """A folder as Linux shows it, each counter at 900 of at most 999 microjoules."""
    for place, name in ZONES.items():
        (tmp_path / place).mkdir()
        if name:
            for file, text in (("name", name), ("energy_uj", 900), ("max_energy_range_uj", 999)):
                (tmp_path / place / file).write_text(f"{text}\n")
    return tmp_path


def test_powercap(zones: Path) -> None:
    """Packages and their memory once each; a counter that begins again goes on."""
    (meter,) = rapl.meters(zones)
    assert meter.about == "RAPL counters of package-0, dram, package-1" and meter.unit == JOULES
    assert meter.read() == 0
    for place, name in ZONES.items():
        if name:
            (zones / place / "energy_uj").write_text("950\n")
    assert meter.read() == pytest.approx(150e-6)
    (zones / "intel-rapl:1" / "energy_uj").write_text("30\n")  # 50 to its end at 1000, and 30
    assert meter.read() == pytest.approx(230e-6)
    (zones / "intel-rapl:0" / "energy_uj").unlink()
    with pytest.raises(DeviceError, match="do not read"):
        meter.read()


def test_powercap_that_cannot_be_read(zones: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that helps; or that there is none."""

    def refused(zone: rapl.Zone) -> int:
        raise PermissionError(13, "Permission denied", str(zone.folder / "energy_uj"))

    monkeypatch.setattr(rapl.Zone, "_value", refused)
    with pytest.raises(BackendUnavailable) as error:
        rapl.meters(zones)
    assert str(error.value).startswith(f"{zones}/intel-rapl:0/energy_uj may be read by root alone")
    assert str(error.value).endswith(f"sudo chmod a+r {zones}/intel-rapl:*/energy_uj")
    for folder in (zones / "none", zones / "intel-rapl"):
        with pytest.raises(BackendUnavailable, match="shows no energy counter of a processor"):
            rapl.meters(folder)


# --- devices find what tells their energy ------------------------------------------------------


def test_platforms_of_vendors(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the address on the bus, not by number."""
    fake_nvml(monkeypatch)
    fake_smi(monkeypatch, COUNT, None)
    api: Any = SimpleNamespace(
        CUdevice_attribute=SimpleNamespace(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED=0),
        cuDeviceGetAttribute=lambda attribute, device: (0, 0),
        cuDeviceGetPCIBusId=lambda length, device: (0, b"0000:19:00.0" + bytes(20)),
    )
    gpu: Any = SimpleNamespace(driver=cuda.CudaDriver(api, 0))
    assert cuda.CudaDevice.energy_meters(gpu)[0].read() == 5000.25
    names = {f"hipDeviceAttribute{n}": n for n in ("PciDomainId", "PciBusId", "PciDeviceId")}
    names["hipDeviceAttributeMemoryPoolsSupported"] = ""
    numbers = {"PciBusId": 0xC1}
    api = SimpleNamespace(
        hipDeviceAttribute_t=SimpleNamespace(**names),
        hipDeviceGetAttribute=lambda name, device: (0, numbers.get(name, 0)),
    )
    gpu = SimpleNamespace(driver=rocm.RocmDriver(api, 0))
    assert rocm.RocmDevice.energy_meters(gpu)[0].read() == pytest.approx(30.5)
    device: Any = SimpleNamespace(name="emulated:gfx908", interpreted=True)
    assert re.search(r"emulated:gfx908 .* no hardware", Observer(device).problem)


class Handle:
    """An OpenCL device that knows some queries; others are errors."""

    def __init__(self, **known: Any) -> None:
        self.known = known

    def __getattr__(self, name: str) -> Any:
        if name not in self.known:
            raise UnknownQuery("INVALID_VALUE")
        return self.known[name]


def test_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU by its vendor's queries, a CPU by the host's counters, others not at all."""
    fake_nvml(monkeypatch)
    fake_smi(monkeypatch, COUNT, None)
    monkeypatch.setattr(rapl, "meters", lambda: ["the host's"])

    def meters(kind: str, handle: Handle) -> Any:
        facts = SimpleNamespace(kind=kind, vendor="Another")
        device: Any = SimpleNamespace(
            name="opencl:0",
            properties=facts,
            handle=handle,
            _cl=SimpleNamespace(Error=UnknownQuery),
        )
        return opencl.ClDevice.energy_meters(device)

    places = ((0, "00.0"), (6, "06.0"), (0x30, "06.0"), (0x31, "06.1"))
    for slot, place in places:
        found = opencl._nvidia_place(
            Handle(pci_bus_id_nv=5, pci_slot_id_nv=slot, pci_domain_id_nv=1)
        )
        assert found == f"0001:05:{place}"
    known = Handle(pci_bus_id_nv=0x19, pci_slot_id_nv=0, pci_domain_id_nv=0)
    assert meters("gpu", known)[0].read() == 5000.25
    topology = SimpleNamespace(bus=0xC1 - 256, device=0, function=0)
    assert meters("gpu", Handle(topology_amd=topology))[0].read() == pytest.approx(30.5)
    assert meters("cpu", Handle()) == ["the host's"]
    with pytest.raises(BackendUnavailable, match="tells the energy of a GPU of Another"):
        meters("gpu", Handle())


# --- benchmarks --------------------------------------------------------------------------------

BLAS = ["bench", "blas", "--format", "dd", "--routine", "axpy", "--size", "40", "--runs", "1"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder of its own, with ceilings that are not measured."""
    from portmp.bench import roofline

    limits = roofline.Ceilings("cpu", {"float64": {"fma": 1e9}}, 1e9, "triad")
    monkeypatch.setattr(roofline, "measured", lambda device, words, *_: limits)
    monkeypatch.chdir(tmp_path)


def test_bench_blas(quick: None, metered: str, capsys: Any) -> None:
    """Columns of the table, data that the schema describes, and a comparison."""
    assert main([*BLAS, "--energy", "-o", "r.json"]) == 0
    shown = capsys.readouterr().out
    data = reports.read_all("r.json")[0]
    (device,) = data["devices"]
    (row,) = device["experiments"]["blas"]["rows"]
    found = row["energy"]
    assert device["energy"]["read"] == found["read"] == metered and not device["energy"]["problem"]
    assert found["idle_watts"] == device["energy"]["idle_watts"] > 0
    assert found["joules"] == pytest.approx(found["watts"] * found["seconds"])
    each = found["joules"] / found["calls"] / row["operations"]
    assert found["joules_per_operation"] == pytest.approx(each)
    assert found["gflops_per_watt"] == pytest.approx(1e-9 / each)
    assert f"energy: {metered}; idle" in shown and "GFLOP/s/W" in shown
    assert tables.joules(each) in shown
    assert main(["bench", "compare", "r.json", "r.json"]) == 0
    assert "new J/op" in capsys.readouterr().out
    assert main([*BLAS, "-o", "without.json"]) == 0
    assert "energy" not in capsys.readouterr().out
    assert main(["bench", "compare", "r.json", "without.json", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)
    assert pair["rows"][0]["old_joules_per_operation"] == found["joules_per_operation"]
    assert pair["rows"][0]["new_joules_per_operation"] is None


def test_a_device_that_cannot_be_read(
    quick: None, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """One line and the report say why; the run goes on, and its status is 0."""

    def none(self: Device) -> Any:
        raise BackendUnavailable("there is no meter: buy one")

    monkeypatch.setattr(type(device), "energy_meters", none)
    assert main([*BLAS, "--energy", "-o", "r.json"]) == 0
    shown = capsys.readouterr().out
    assert "energy: not read: there is no meter: buy one\n" in shown and "J/op" not in shown
    (found,) = reports.read_all("r.json")[0]["devices"]
    assert found["energy"]["problem"] == "there is no meter: buy one"
    assert found["experiments"]["blas"]["rows"][0]["energy"] is None


def test_this_machine(quick: None, device: Device, capsys: Any, monkeypatch: Any) -> None:
    """Whatever it has: a reading or a reason, never an error."""
    monkeypatch.setattr(energy, "SPANS", Spans(work=0.1, idle=0.1, batch=0.01, samples=3))
    assert main([*BLAS, "--energy", "--device", device.name, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["devices"]
    assert bool(found["energy"]["read"]) == bool(found["experiments"]["blas"]["rows"][0]["energy"])
    assert found["energy"]["read"] or len(found["energy"]["problem"]) > 20


def test_joules() -> None:
    """Three digits and a prefix."""
    values = (12.0, 0.5, 2e-4, 3.64e-10, 5e-13)
    texts = ["12 J", "500 mJ", "200 uJ", "364 pJ", "0.5 pJ"]
    assert list(map(tables.joules, values)) == texts
