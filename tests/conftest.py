"""Devices for tests: ``device`` is the default one, ``every_device`` each one found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from portmp import discovery
from portmp.backends.base import Device
from portmp.backends.energy import JOULES, Meter
from portmp.bench import energy
from portmp.errors import PortmpError


def _names(host: bool) -> list[str]:
    return [d.name for d in discovery.devices() if host or not d.by_reference]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``every_device`` on each device of this machine.

    On the host device only if it is marked ``with_host``: the host is slow, or has no kernels.
    """
    if "every_device" in metafunc.fixturenames:
        names = _names(metafunc.definition.get_closest_marker("with_host") is not None)
        metafunc.parametrize("every_device", names, indirect=True, scope="session")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests want said: of each property whose name begins with "remark", the last."""
    passed = terminalreporter.stats.get("passed", [])
    found = {k: v for r in passed for k, v in r.user_properties if k.startswith("remark")}
    for name, text in found.items():
        terminalreporter.write_line(f"{name.removeprefix('remark ')}: {text}")


@pytest.fixture(scope="session")
def device() -> Device:
    """The device that portmp chooses by default."""
    return discovery.get()


@pytest.fixture(scope="session")
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
