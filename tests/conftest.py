"""Devices for tests: ``device`` is the default one, ``every_device`` each one found."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import slow
import tiers
import times

from portmp import discovery
from portmp.backends import pool
from portmp.backends.base import Device
from portmp.backends.energy import JOULES, Meter
from portmp.backends.opencl import drivers
from portmp.bench import energy
from portmp.discovery import finding
from portmp.errors import PortmpError
from portmp.files import pictures
from portmp.schedules import database

TEST_DEVICE = "PORTMP_TEST_DEVICE"
KEPT = (
    *("PORTMP_REQUIRE", "PORTMP_SLOW", "PORTMP_CLANG", "PORTMP_NVDISASM"),
    *("PORTMP_TEST_CACHE", TEST_DEVICE),
)
"""Settings that say which tools and tests a run has; any other would change what is tested."""


def pytest_configure(config: pytest.Config) -> None:
    """Give the run a cache and settings of its own: kernels are compiled once for all workers.

    Both folders start empty and are removed at the end; workers inherit the environment.
    PORTMP_TEST_CACHE names a folder to keep compiled kernels in from one run to the next:
    they are found by content.
    """
    if hasattr(config, "workerinput"):
        return
    try:
        os.environ[slow.SETTING] = slow.resolved(os.environ.get(slow.SETTING, ""), date.today())
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    for name in [n for n in os.environ if n.startswith("PORTMP_") and n not in KEPT]:
        del os.environ[name]
    os.environ.pop(drivers.CACHE, None)
    folder = Path(tempfile.mkdtemp(prefix="portmp-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    kept = os.environ.get("PORTMP_TEST_CACHE")
    kernels = Path(kept).resolve() if kept else folder / "cache"
    for name, place in (("CACHE", kernels), ("CONFIG", folder / "config")):
        place.mkdir(parents=True, exist_ok=True)
        os.environ[f"PORTMP_{name}_DIR"] = str(place)
    os.environ[pool.POISON] = "1"
    if wanted := os.environ.get(TEST_DEVICE):
        os.environ["PORTMP_DEVICE"] = wanted


# --- the slow tier (slow.py) ---------------------------------------------------------------

COUNTED = pytest.StashKey[tuple[int, int]]()
"""How many slow tests are left out, of how many."""

SPENT = pytest.StashKey[float]()
"""Seconds of the processor that workers took (times.py)."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out, but for those that PORTMP_SLOW or the command line asks for."""
    if any("::" in argument for argument in config.args):
        return
    items[:], left, of = slow.select(items)
    config.hook.pytest_deselected(items=left)
    config.stash[COUNTED] = len(left), of


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints the summary, which collects nothing itself."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["slow"] = session.config.stash.get(COUNTED, (0, 0))
        output["spent"] = times.processor()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take a worker's count: all workers collect the same tests."""
    output = getattr(node, "workeroutput", {})
    if "slow" in output:
        node.config.stash[COUNTED] = tuple(output["slow"])
        node.config.stash[SPENT] = node.config.stash.get(SPENT, 0.0) + output["spent"]


def pytest_collection_finish() -> None:
    """What a worker's start takes is no test's."""
    times.lap()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The last report of a test has its time: with all attributes it travels from workers."""
    report = yield
    if report.when == "teardown":
        report.processor = times.lap()
    return report


@pytest.fixture(autouse=True)
def fresh_plans() -> None:
    """What a test changes in a routine counts for its calls, whatever was planned before it."""
    database.edition.number += 1


@pytest.fixture(autouse=True)
def labelled_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every picture that a test has drawn, both axes of each part say what they show."""
    write = pictures.write

    def checked(path: Path, figure: Any) -> None:
        for axes in figure.axes:
            labels = axes.get_xlabel(), axes.get_ylabel()
            assert not axes.axison or all(labels), f"{path}: {axes.get_title()}: labels {labels}"
        write(path, figure)

    monkeypatch.setattr(pictures, "write", checked)


def _names(host: bool) -> list[str]:
    return [d.name for d in discovery.listed() if host or not d.by_reference]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``every_device`` on each device of this machine.

    On the host device only if it is marked ``with_host``: the host is slow, or has no kernels.
    """
    if "every_device" in metafunc.fixturenames:
        names = _names(metafunc.definition.get_closest_marker("with_host") is not None)
        metafunc.parametrize("every_device", names, indirect=True, scope="module")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what tests want said: of each property whose name begins with "remark", the last.

    And how many slow tests are left out, which the last line counts as deselected; and what files
    take.
    """
    reports = [r for kind in terminalreporter.stats.values() for r in kind if hasattr(r, "nodeid")]
    whole = config.stash.get(SPENT, times.processor())
    for line in times.table(times.by_file(reports), whole):
        terminalreporter.write_line(line)
    left, of = config.stash.get(COUNTED, (0, 0))
    if of:
        terminalreporter.write_line(slow.summary(left, of))
        # Workers' own count does not get here.
        terminalreporter.stats.setdefault("deselected", []).extend(
            # Reports without content, for plugins that look into reports.
            [SimpleNamespace()] * (left - len(terminalreporter.stats.get("deselected", [])))
        )
    passed = terminalreporter.stats.get("passed", [])
    found = {k: v for r in passed for k, v in r.user_properties if k.startswith("remark")}
    for name, text in found.items():
        terminalreporter.write_line(f"{name.removeprefix('remark ')}: {text}")


@pytest.fixture(scope="module", autouse=True)
def devices_of_a_module() -> Iterator[None]:
    """Names mean the same devices in each module, whatever another one opened by its name."""
    before = dict(finding._opened)
    yield
    finding._opened.clear()
    finding._opened.update(before)


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Device:
    """The device that portmp chooses by default.

    Where the probe refuses all devices that run kernels, what needs one is skipped.
    """
    found = discovery.get()
    if found.by_reference:
        pytest.skip("no device here runs kernels and is accepted by the probe: portmp devices")
    return found


@pytest.fixture(params=["default", *tiers.INTERPRETED])
def anywhere(request: pytest.FixtureRequest, device: Device) -> Device:
    """The default device, one of waves of 64 lanes, one of waves of 32."""
    return device if request.param == "default" else tiers.interpreted(request.param)


@pytest.fixture(scope="module")
def every_device(request: pytest.FixtureRequest) -> Device:
    """Each device in turn; one that is refused here is skipped, with the reason.

    Tiers of devices that must work are named by PORTMP_REQUIRE (tests/tiers.py).
    """
    try:
        return discovery.get(str(request.param))
    except PortmpError as error:
        pytest.skip(str(error))


class Prompt(energy.Timer):
    """Readings whenever the time is asked for: a thread's would be late on a busy machine."""

    def __init__(self) -> None:
        self._act: Callable[[], object] | None = None

    def now(self) -> float:
        act, self._act = self._act, None
        if act:
            for _ in range(3):
                act()
            self._act = act
        return super().now()

    @contextmanager
    def every(self, interval: float, act: Callable[[], object]) -> Iterator[None]:
        self._act = act
        try:
            yield
        finally:
            self._act = None


@pytest.fixture
def metered(device: Device, monkeypatch: pytest.MonkeyPatch) -> str:
    """What pretends to tell the default device's energy, in short observations, always in time."""
    joules = map(float, itertools.count())
    meter = Meter("a pretended counter", JOULES, lambda: next(joules), lag=0.0)
    monkeypatch.setattr(type(device), "energy_meters", lambda self: [meter])
    monkeypatch.setattr(energy, "SPANS", energy.Spans(work=0.03, idle=0.03, batch=0.005))
    monkeypatch.setattr(energy, "Timer", Prompt)
    return meter.about
