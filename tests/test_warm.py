"""``portmp warm`` compiles ahead: afterwards calls find their kernels in the disk cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiers

from portmp import discovery
from portmp.cli import main
from portmp.errors import ArgumentError
from portmp.progress import Progress
from portmp.routines import compilation_units
from portmp.tuner import warm

CALLS = """
import portmp as mp
from portmp import discovery
device = discovery.get({device!r})
device.compile = None  # whatever is not in the cache fails
x = mp.array([[1.5, 2.5], [3.5, 4.5]], "float32", device)
d = mp.array([[2.0, 0.0], [0.0, 4.0]], "float32", device)
print((x @ x + x).to_float64().tolist(), mp.linalg.solve(d, d).to_float64().tolist())
"""


AHEAD = """
import sys
from portmp.cli import main
from portmp.routines import compilation_units
every = compilation_units.units
compilation_units.units = lambda form, device=None: {{
    name: unit for name, unit in every(form, device).items() if name in {names!r}
}}
sys.exit(main(["warm", "--format", "float32", "--device", {device!r}, "--json"]))
"""
NEEDED = [
    *("gemm", "add", "copy", "triangular", "lu", "lu_swap", "weak_pivots", "integers_counted")
]
"""Units that the calls need; all of a format take compilers minutes."""


def portmp(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a cache folder of its own."""
    environment = {**os.environ, "PORTMP_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )


def test_calls_after_it_compile_nothing(tmp_path: Path) -> None:
    """In other processes; a second run finds all units. On a CPU: GPUs cut small products finer."""
    device = tiers.interpreter().name
    words = "-c", AHEAD.format(names=NEEDED, device=device)
    first = portmp(tmp_path, *words)
    assert (first.returncode, first.stderr) == (0, "")
    (row,) = json.loads(first.stdout)
    assert row["format"] == "float32" and row["compiled"] == row["units"] == len(NEEDED)
    (row,) = json.loads(portmp(tmp_path, *words).stdout)
    assert row["compiled"] == 0
    done = portmp(tmp_path, "-c", CALLS.format(device=device))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[12.5, 17.5], [24.5, 33.5]] [[1.0, 0.0], [0.0, 1.0]]\n"


def test_without_a_cache_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """There would be nowhere to keep what is compiled."""
    monkeypatch.setattr("portmp.paths.cache_folder", lambda: None)
    with pytest.raises(ArgumentError, match="PORTMP_CACHE_DIR"):
        list(warm.warm(discovery.get(), ["dd"], Progress(False)))


@pytest.mark.parametrize(
    "words", [("--format", "dx"), ("--workers", "-1"), ("--device", "no such")]
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """No traceback."""
    assert main(["warm", *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("form", ["float32", "dd", "d+s", "slfp64in48b", "qd2011"])
def test_units_are_known_by_what_they_are(form: str) -> None:
    """A function in a unit would have another name in each process, and never be found again."""
    for name, unit in compilation_units.units(form).items():
        assert " at 0x" not in repr(unit), name
