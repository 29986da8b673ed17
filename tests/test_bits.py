"""The same bits on every device: digests of the host reference and of each device found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portmp import definition, formats, verify
from portmp.backends.base import Device


def _differences(outcomes: list[verify.Outcome]) -> list[str]:
    return [f"{o.key} {o.error}".strip() for o in outcomes if not o.ok]


@pytest.mark.parametrize("name", formats.NAMES)
def test_host_reference_gives_the_recorded_digests(name: str) -> None:
    """Every case of the package has a recorded digest, and the reference gives it."""
    assert _differences(verify.run(None, verify.cases(name))) == []


@pytest.mark.parametrize("name", formats.NAMES)
def test_device_gives_the_recorded_digests(every_device: Device, name: str) -> None:
    """All routines, ordinary and hostile inputs: 100 % of the digests."""
    assert _differences(verify.run(every_device, verify.cases(name))) == []


def test_records_are_complete_and_versioned() -> None:
    """The file holds exactly the cases' keys, and keys carry the definition's version."""
    keys = {case.key for case in verify.selected(None, None)}
    assert keys == set(verify.recorded())
    assert all(f".{definition.VERSION}/" in key for key in keys)


def test_record_writes_what_the_package_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording is reproducible (a few cases)."""
    some = [c for c in verify.cases("dd") if c.routine in ("add", "dot")]
    monkeypatch.setattr(verify, "selected", lambda form, routine: some)
    assert verify.record(tmp_path / "d.json") == len(some)
    written = json.loads((tmp_path / "d.json").read_text())["digests"]
    assert written == {c.key: verify.recorded()[c.key] for c in some}


def test_a_changed_bit_changes_the_digest() -> None:
    """Signs of zeros and last bits count, payloads of NaN do not."""
    import numpy as np

    plane = np.array([0.0, 1.0, np.nan])
    other = np.array([-0.0, 1.0, np.nan])
    payload = plane.copy()
    payload.view(np.uint64)[2] |= 7
    assert verify.digest([plane]) != verify.digest([other])
    assert verify.digest([plane]) == verify.digest([payload])
    assert verify.digest([plane]) != verify.digest([plane.reshape(3, 1)])


def test_report_names_failures() -> None:
    """A wrong digest is counted, listed and marked in the table."""
    case = verify.cases("dd")[0]
    good = verify.Outcome(case.key, "a", "a")
    bad = verify.Outcome(case.key, "a", "b")
    report = verify.report(None, [good, bad])
    assert (report["passed"], report["total"]) == (1, 2)
    assert [f["key"] for f in report["failures"]] == [case.key]
    assert "1/2!" in verify.table([good, bad])
