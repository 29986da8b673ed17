"""bench/certified.py: its file is whole after each case, and a run that was ended goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scripts import of_bench

from portmp.backends.base import Device


@pytest.fixture(scope="module")
def certified() -> ModuleType:
    """The script."""
    module: ModuleType = of_bench("certified")
    return module


def test_a_run_goes_on(
    certified: ModuleType, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases of the file are kept; ways that a routine has not leave it out."""
    file = tmp_path / "bounds.json"
    given = ["--device", device.name, "--scale", "8", "--formats", "ds", "--seconds", "0.01"]
    given += ["--ways", "normwise,fast normwise", "-o", str(file)]
    asked: list[set[str]] = []
    measured = certified.measured

    def counted(where: Device, cases: dict[str, object], *more: object) -> object:
        asked.append(set(cases))
        return measured(where, cases, *more)

    monkeypatch.setattr(certified, "measured", counted)

    def run(*more: str) -> dict[str, dict[str, float]]:
        monkeypatch.setattr(sys, "argv", ["certified.py", *given, *more])
        assert certified.main() == 0
        cases: dict[str, dict[str, float]] = json.loads(file.read_text())["cases"]
        return cases

    first = run("--routines", "gemm,sum")
    assert list(first) == ["gemm/ds/8"]
    assert set(first["gemm/ds/8"]) == {"seconds", "normwise_over_plain", "fast_normwise_over_fast"}
    both = run("--routines", "gemm,gemv", "--resume")
    assert both["gemm/ds/8"] == first["gemm/ds/8"] and len(both) == 2
    assert asked == [
        {"plain", "fast", "normwise", "fast normwise"},
        {"plain", "fast", "normwise", "fast normwise"},
    ]
    report = json.loads(file.read_text())
    file.write_text(json.dumps(report | {"compiler": "another"}))
    with pytest.raises(SystemExit, match="of another device or compiler"):
        run("--resume")
