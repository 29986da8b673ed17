"""The same bits on every device: digests of the host reference and of each device found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slow import first_device, slow

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.routines.case import Case
from portmp.verify import cases, command


def _differences(outcomes: list[command.Outcome]) -> list[str]:
    return [f"{o.key} {o.error}".strip() for o in outcomes if not o.ok]


WHOLE = {"dd", "d+s", "float32"}
"""Formats whose core the fast tier has, as users compile them ..."""
EACH = {"d+s", "float32"}
"""... and those that each device has: words of both kinds, and one limb."""
CORE = {"add", "mul", "div", "sqrt", "dot", "gemm"}
"""Routines that call all networks of a format, but for those of gravity and the fast sums."""


def _chosen(name: str, part: str) -> list[Case]:
    return [c for c in cases.cases(name) if (c.routine in CORE) == (part == "core")]


def _kept(case: dict[str, str]) -> bool:
    """Every routine of one format on one device, and the core of a few on each."""
    first = case["every_device"] == first_device()
    if first and case["name"] == "dd":
        return True
    return case["part"] == "core" and case["name"] in (WHOLE if first else EACH)


def _weight(case: dict[str, str]) -> float:
    """Kernels of all other routines are many times those of the core."""
    return 1 if case["part"] == "core" else 8


@slow(
    "devices give the same bits from the same networks",
    unless=lambda p: p["name"] == "dd" or (p["part"] == "core" and p["name"] in WHOLE),
    weight=_weight,
)
@pytest.mark.parametrize("part", ["core", "rest"])
@pytest.mark.parametrize("name", formats.NAMES)
def test_host_reference_gives_the_recorded_digests(name: str, part: str) -> None:
    """Every case of the package has a recorded digest, and the reference gives it."""
    assert _differences(command.run(None, _chosen(name, part))) == []


@pytest.mark.parametrize("name", formats.NAMES)
def test_networks_of_every_format(device: Device, name: str) -> None:
    """The core on one device."""
    assert _differences(command.run(device, _chosen(name, "core"))) == []


@slow("formats and devices seldom fail together", unless=_kept, weight=_weight)
@pytest.mark.parametrize("part", ["core", "rest"])
@pytest.mark.parametrize("name", formats.NAMES)
def test_device_gives_the_recorded_digests(every_device: Device, name: str, part: str) -> None:
    """All routines, ordinary and hostile inputs: 100 % of the digests."""
    assert _differences(command.run(every_device, _chosen(name, part))) == []


def test_parts_are_all_cases() -> None:
    """Nothing is lost between the two, and both are something."""
    for name in formats.NAMES:
        core, rest = (_chosen(name, part) for part in ("core", "rest"))
        assert {c.routine for c in core} == CORE
        assert rest and len(core) + len(rest) == len(cases.cases(name))


def test_records_are_complete_and_versioned() -> None:
    """The file holds exactly the cases' keys, and keys carry the definition's version."""
    keys = {case.key for case in cases.selected(None, None)}
    assert keys == set(cases.recorded())
    assert all(f".{definition.VERSION}/" in key for key in keys)


def test_record_writes_what_the_package_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording is reproducible (a few cases)."""
    some = [c for c in cases.cases("dd") if c.routine in ("add", "dot")]
    monkeypatch.setattr(cases, "selected", lambda form, routine: some)
    assert cases.record(tmp_path / "d.json") == len(some)
    written = json.loads((tmp_path / "d.json").read_text())["digests"]
    assert written == {c.key: cases.recorded()[c.key] for c in some}


def test_a_changed_bit_changes_the_digest() -> None:
    """Signs of zeros and last bits count, payloads of NaN do not."""
    import numpy as np

    plane = np.array([0.0, 1.0, np.nan])
    other = np.array([-0.0, 1.0, np.nan])
    payload = plane.copy()
    payload.view(np.uint64)[2] |= 7
    assert cases.digest([plane]) != cases.digest([other])
    assert cases.digest([plane]) == cases.digest([payload])
    assert cases.digest([plane]) != cases.digest([plane.reshape(3, 1)])


def test_report_names_failures() -> None:
    """A wrong digest is counted, listed and marked in the table."""
    case = cases.cases("dd")[0]
    good = command.Outcome(case.key, "a", "a")
    bad = command.Outcome(case.key, "a", "b")
    report = command.report(None, [good, bad])
    assert (report["passed"], report["total"]) == (1, 2)
    assert [f["key"] for f in report["failures"]] == [case.key]
    assert "1/2!" in command.table([good, bad])
