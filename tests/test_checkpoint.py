"""Runs of ``portmp nbody`` that are killed on the way, and go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portmp import cli
from portmp.backends.base import Device
from portmp.files import arrays as files

ROOT = Path(__file__).resolve().parents[1]
RUN = ("--format", "float64,dd", "--steps", "400", "--samples", "8", "--reverse")


def command(folder: Path, *words: str) -> list[str]:
    """The run, with its results in a folder."""
    return ["nbody", *RUN, "--trajectory", str(folder / "way.npz"), "--json", *words]


def told(text: str) -> Any:
    """What a run reports, but for the time that it took."""
    report = json.loads(text)
    for run in report["runs"]:
        run.pop("seconds")
    return report


def start(words: list[str]) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "portmp", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stage(file: Path) -> tuple[int, int]:
    """Courses and steps of the present one that a checkpoint has."""
    facts = json.loads(str(files.members(file)["checkpoint"]))
    return len(facts["courses"]), facts["done"]


def test_a_killed_run_goes_on(
    tmp_path: Path, device: Device, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice, at any time; its results are those of a run that nobody stopped, bit for bit."""
    whole, killed, file = tmp_path / "whole", tmp_path / "killed", tmp_path / "c.npz"
    whole.mkdir()
    killed.mkdir()
    assert cli.main(command(whole)) == 0
    expected = told(capsys.readouterr().out)
    words = command(killed, "--checkpoint", str(file), "--every", "0")
    seen = (0, 0)
    for _ in range(2):
        process = start(words)
        while process.poll() is None and not (file.exists() and stage(file) > seen):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert stage(file) > seen, "it began anew"
        seen = stage(file)
    process = start(words)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert all("left by a run that ended" in line for line in err.splitlines()), err
    assert told(out) == expected
    ways = [files.members(folder / "way.npz") for folder in (whole, killed)]
    assert [*ways[0]] == [*ways[1]]
    assert all(np.array_equal(ways[0][name], ways[1][name]) for name in ways[0])
    assert not file.exists(), "the run is over"


@pytest.fixture
def paused(
    tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> tuple[Path, list[str]]:
    """The checkpoint of a run that ended before its results were written, and the command."""
    file = tmp_path / "c.npz"
    words = command(tmp_path, "--checkpoint", str(file), "--steps", "8", "--samples", "2")
    with monkeypatch.context() as patch:
        patch.setattr("portmp.nbody.simulate._write_trajectory", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cli.main(words)
    assert stage(file) == (2, 16)
    capsys.readouterr()
    return file, words


def test_results_that_were_not_written_are_written(
    paused: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing moves again."""
    file, words = paused
    monkeypatch.setattr("portmp.nbody.system.System.step", lambda *_: pytest.fail("moves"))
    assert cli.main(words) == 0
    assert (file.parent / "way.npz").exists() and not file.exists()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (("--dt", "50"), "with dt '100', not '50'"),
        (("--steps", "9"), "with steps 8, not 9"),
        (("--format", "dd"), "with formats ['float64', 'dd'], not ['dd']"),
        (("--eps", "1"), "with eps None, not '1'"),
    ],
)
def test_another_runs_file_is_refused(
    paused: tuple[Path, list[str]],
    other: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And stays."""
    file, words = paused
    before = file.read_bytes()
    assert cli.main([*words, *other]) == 2
    assert message in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "other", "facts"])
def test_a_damaged_file_is_refused(
    paused: tuple[Path, list[str]], damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names it."""
    file, words = paused
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "other":
        files.write_members(file, {"x": np.ones(3)})
    else:
        found = files.members(file)
        files.write_members(file, {**found, "bodies0": np.ones(3)})
    assert cli.main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(file) in line


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--checkpoint", "x.csv"), "must end with .npz"), (("--every", "nan"), "--every: nan given")],
)
def test_bad_options(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["nbody", *words]) == 2
    assert message in capsys.readouterr().err
