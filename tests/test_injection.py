"""System calls that fail, threads in processes: ci/inject and ci/soak do the same for longer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import injection
import pytest
import soak
from slow import slow
from tiers import check

SCENES = {scene.name: scene for scene in injection.SCENES}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("table", 9),
        *(
            pytest.param(name, 9, marks=slow("each fault takes seconds"))
            for name in SCENES
            if name != "table"
        ),
    ],
)
def test_faults_lose_nothing(name: str, count: int, tmp_path: Path) -> None:
    """One of each kind: a whole file is there, and words; the next run is as it should be."""
    check("strace")
    trials = injection.tried(SCENES[name], tmp_path / "scene", count, seed=7)
    assert len(trials) == count
    assert not [(str(t.fault), t.struck, t.complaints) for t in trials if t.complaints]


def test_a_lost_result_is_noticed(tmp_path: Path) -> None:
    """By the harness itself."""
    stage = injection.Stage(SCENES["table"], tmp_path, {"r.csv": b"new"}, {})
    place = injection.Place(tmp_path)
    place.fill(["r.csv"])
    fault = injection.Fault("disk full", "write", 1)
    struck = "write(3</x/inject/here/r.csv>"
    trial = injection.Trial(stage.scene, fault, 0, "", "Traceback", struck)
    complaints = [*stage._of_the_files(place, trial), *injection._of_the_words(trial)]
    assert any("was not written, and the status is 0" in c for c in complaints)
    assert any("a traceback" in c for c in complaints)
    (place.here / "r.csv").write_bytes(b"ne")
    (place.here / ".r.csv.0123456789abcdef").touch()
    complaints = stage._of_the_files(place, trial)
    assert any("neither the earlier file nor the new one" in c for c in complaints)
    assert any("left over" in c for c in complaints)


def test_threads_in_processes() -> None:
    """On the host device, for a second: the same bits in each thread of each process."""
    words = ["--minutes", "0.02", "--processes", "2", "--threads", "3", "--device", "host:0"]
    script = Path(soak.__file__)
    done = subprocess.run(
        [sys.executable, str(script), *words],
        env={**os.environ, "PYTHONPATH": str(script.parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 processes went wrong" in done.stdout
