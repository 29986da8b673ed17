"""The script that compares machine code made with and without HIP's header."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tiers
from scripts import of_bench

from portmp.compilers.nvrtc import NvrtcCompiler

HEADER = "#include <hip/hip_runtime.h>\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    module: ModuleType = of_bench("hip_against_cuda")
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with HIP's header."""
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip/hip_runtime.h").write_text("")
    (tmp_path / "hip/hip_version.h").write_text(
        "#define HIP_VERSION_MAJOR 9\n#define HIP_VERSION_MINOR 1\n"
    )
    return tmp_path


def fake(folder: Path, body: str) -> str:
    """An nvcc that runs a line of the shell."""
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_where_listings_differ(script: ModuleType) -> None:
    """The first other instruction, also where one listing ends before the other."""
    assert not script.difference(["A", "B"], ["A", "B"])
    assert script.difference(["A", "B"], ["A", "C"]).startswith("instruction 1: 'B'")
    assert "'nothing' without" in script.difference(["A", "B"], ["A"])
    assert "'nothing' through" in script.difference([], ["A"])


@pytest.mark.parametrize("other", [False, True])
def test_the_command(
    script: ModuleType, folder: Path, other: bool, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The same code: 0; a changed constant: 1, and the table says where. NVRTC stands for nvcc."""
    tiers.check("nvrtc")
    tiers.check("nvdisasm")

    def build(text: str, with_hip: bool) -> bytes:
        assert text.startswith(HEADER) == with_hip
        if other and with_hip:
            text = text.replace("0.0f", "0.5f")
        return NvrtcCompiler().compile(text.removeprefix(HEADER), "sm_90")

    monkeypatch.setattr(script, "builder", lambda *_: build)
    nvcc = fake(folder, "echo release 12.3, V12.3.4")
    written = folder / "found.json"
    options = ["--case", "float32:dot", "--nvcc", nvcc, "--hip", str(folder), "-o", str(written)]
    assert script.main(options) == other
    printed = capsys.readouterr().out
    assert "nvcc 12.3.4, hip 9.1" in printed
    assert ("instruction " in printed) == other
    found = json.loads(written.read_text())
    assert found["same"] is not other
    assert [row["kernel"] for row in found["kernels"]] == ["dot_chunks", "dot_combine"]
    assert all(row["instructions"] > 50 for row in found["kernels"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--case", "dd:nbdy"], "--case: 'dd:nbdy' given, float32:nbody, "),
        (["--case", "dd"], "--case: 'dd' given, "),
        (["--nvcc", "no-such-compiler"], "--nvcc: 'no-such-compiler' given"),
        (["--hip", "no/such/folder"], "--hip: no/such/folder given, a folder with hip/"),
        (["--headers", "no/such/folder"], "--headers: no/such/folder given, a folder is needed"),
        (["-o", "no/such/folder/x.json"], "no/such/folder"),
    ],
)
def test_wrong_use(
    script: ModuleType, folder: Path, options: list[str], message: str, capsys: Any
) -> None:
    """One line that names the option; nothing is compiled."""
    usual = ["--nvcc", fake(folder, "exit 1"), "--hip", str(folder)]
    assert script.main([*usual, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_header_that_is_not_understood(script: ModuleType, folder: Path, capsys: Any) -> None:
    """The compiler's first error, and what to do."""
    tiers.check("nvrtc")
    tiers.check("nvdisasm")
    nvcc = fake(folder, "echo 'x.h(7): error: no cudaThing' >&2; exit 1")
    assert script.main(["--nvcc", nvcc, "--hip", str(folder), "--case", "float32:dot"]) == 2
    told = capsys.readouterr().err
    assert "failed through HIP: x.h(7): error: no cudaThing; --hip and --headers say" in told
