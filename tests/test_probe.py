"""Devices are probed when they are opened: approved, repaired or refused, with words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portmp import discovery
from portmp.backends.base import Device
from portmp.backends.opencl.runtime import ClDevice
from portmp.codegen.platform import Traits
from portmp.discovery import probe, probe_process
from portmp.errors import DeviceError


@pytest.fixture
def fresh() -> Device:
    """A CPU device of its own, so that its options and traits may be spoiled."""
    found = [d for d in discovery.find("opencl").devices if d.properties.kind == "cpu"]
    if not found:
        pytest.skip("no OpenCL CPU device")
    assert isinstance(found[0], ClDevice)
    device = ClDevice(90, found[0].handle)
    device.traits = discovery.get(found[0].name).traits
    return device


def test_every_device_found_is_approved(every_device: Device) -> None:
    """Opening probes: the verdict is known and holds."""
    assert probe.approve(every_device).refusal == ""


@pytest.mark.parametrize("option", ["-cl-fast-relaxed-math", "-cl-denorms-are-zero"])
def test_options_that_break_arithmetic_are_noticed(fresh: ClDevice, option: str) -> None:
    """Options that fold two_sum to zero are seen; flushing is, where the driver obeys it."""
    fresh.compiler.build_options += (option,)
    verdict = probe.examine(fresh)
    if option == "-cl-fast-relaxed-math":
        assert "differ from IEEE 754" in verdict.refusal


def _failing(check: str, until: Traits) -> Any:
    """Checks of which one fails until the device has the given traits."""

    def checks(device: Device) -> Iterator[tuple[str, str, int, int]]:
        yield check, f"{check} made to fail", int(device.traits != until), 10

    return checks


@pytest.mark.parametrize(
    ("check", "cure"),
    [
        ("fma", {"fma": "contracted"}),
        ("division float32", {"division": "widened"}),
        ("square root float32", {"sqrt": "widened"}),
    ],
)
def test_repairs(
    fresh: Device, monkeypatch: pytest.MonkeyPatch, check: str, cure: dict[str, Any]
) -> None:
    """What another spelling cures is repaired and said."""
    fresh.traits = Traits(warp_size=1)
    monkeypatch.setattr(probe, "_checks", _failing(check, replace(fresh.traits, **cure)))
    verdict = probe.examine(fresh)
    assert verdict.refusal == ""
    assert verdict.traits == replace(Traits(warp_size=1), **cure)
    assert verdict.repairs == (f"{check} made to fail: 1 of 10 results differ from IEEE 754",)


@pytest.mark.parametrize("check", ["rounding", "division float64", "two_sum float32"])
def test_what_has_no_cure_is_refused(
    fresh: Device, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    """The refusal says which operation differs."""
    monkeypatch.setattr(probe, "_checks", _failing(check, Traits(warp_size=-1)))
    assert check in probe.examine(fresh).refusal


def test_widened_division_and_root_are_correctly_rounded(fresh: Device) -> None:
    """The repairs themselves pass the probe on a real device."""
    fresh.traits = replace(fresh.traits, division="widened", sqrt="widened")
    assert probe.examine(fresh).refusal == ""


def test_a_crash_refuses_the_device(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that kills the probe process does not kill the caller."""

    def crash(*args: Any, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(args, -11, "", "LLVM ERROR: cannot select\n")

    monkeypatch.setattr(probe, "_recalled", lambda key: None)
    monkeypatch.setattr(subprocess, "run", crash)
    with pytest.raises(DeviceError, match=r"refused.*signal 11: LLVM ERROR"):
        probe.approve(fresh)
    probe._verdicts.pop(fresh.name)


def test_the_probe_process_ignores_files_of_the_current_folder(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds this package and the device itself, not by place or number."""
    asked: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        asked.append((command, options["env"]))
        return subprocess.CompletedProcess(command, 1, "", "stopped here\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert "stopped here" in probe._in_own_process(fresh).refusal
    ((command, environment),) = asked
    assert "-P" in command
    assert command[-1] == fresh.compiler_key()
    first = environment["PYTHONPATH"].split(os.pathsep)[0]
    assert (Path(first) / "portmp" / "__init__.py").is_file()
    assert probe_process.main("opencl", "no such device") == 1
