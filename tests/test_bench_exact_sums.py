"""bench/exact_sums.py: what is compared, kernels of named files, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scripts import of_bench

from portmp.backends.base import Device

KERNEL = """
__kernel void product(
    uint m, uint n, uint k, double alpha, __global double* A, uint lda, __global double* B,
    uint ldb, double beta, __global double* C, uint ldc,
    __local data_t* As,
    __local data_t* Bs
) {
    const int x = get_local_id(0), y = get_local_id(1), own = y * BLOCK_SIZE + x;
    const int column = get_group_id(0) * BLOCK_SIZE + x, row = get_group_id(1) * BLOCK_SIZE + y;
    double sum = 0;
    for (int i = 0; i < k; i += BLOCK_SIZE) {
        As[own] = A[row * lda + i + x];
        Bs[own] = B[(i + y) * ldb + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < BLOCK_SIZE; ++j)
            sum += As[y * BLOCK_SIZE + j] * Bs[j * BLOCK_SIZE + x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[row * ldc + column] += sum;
}
"""
"""A plain product with the arguments of ExBLAS's."""


@pytest.fixture(scope="module")
def exact_sums() -> ModuleType:
    """The script."""
    module: ModuleType = of_bench("exact_sums")
    return module


def _run(
    exact_sums: ModuleType, device: Device, monkeypatch: pytest.MonkeyPatch, *more: str
) -> int:
    given = ["--device", device.name, "--count", "2000", "--seconds", "0.001", *more]
    monkeypatch.setattr(sys, "argv", ["exact_sums.py", *given])
    monkeypatch.setattr(exact_sums, "CHECKED", 2000)
    status: int = exact_sums.main()
    return status


def test_which_results_are_exact(
    exact_sums: ModuleType, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Correct rounding is right throughout, where sums cancel too; plain sums are not."""
    file, kernel = tmp_path / "sums.json", tmp_path / "product.cl"
    kernel.write_text("typedef double data_t;" + KERNEL)
    more = ["--exblas-gemm", str(kernel)] if device.platform == "opencl" else []
    given = ["--orders", "32", "-o", str(file), *more]
    assert _run(exact_sums, device, monkeypatch, *given) == 0
    cases = json.loads(file.read_text())["cases"]
    keys = "correct_ordinary", "correct_cancelling"
    for case in ("sum", "dot", "gemm 32"):
        assert [cases[case]["portmp, correct"][key] for key in keys] == [1, 1]
    assert cases["dot"]["portmp, a chain of fma"]["correct_cancelling"] == 0
    plain = cases["gemm 32"]["portmp, a chain of fma"]
    assert 0 < plain["correct_ordinary"] < 1 and plain["correct_cancelling"] == 0
    others = [facts for name, facts in cases["gemm 32"].items() if name.startswith("ExBLAS")]
    assert len(others) == 2 * (device.platform == "opencl")
    assert all(0 < facts["correct_ordinary"] < 1 for facts in others)


def test_other_files_are_refused(
    exact_sums: ModuleType,
    device: Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither a kernel nor a library."""
    other = tmp_path / "other"
    other.write_text("void nothing();")
    assert _run(exact_sums, device, monkeypatch, "--exblas-gemm", str(other)) == 2
    assert "which has no kernel of As and Bs" in capsys.readouterr().err
    assert _run(exact_sums, device, monkeypatch, "--reproblas", str(other)) == 2
    assert "a shared library of ReproBLAS is needed" in capsys.readouterr().err
