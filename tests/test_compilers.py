"""Compilers of GPU code: the machine code has the arithmetic that was written."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiers import TIERS, available, check, need, required

from portmp.backends.cuda import runtime as cuda
from portmp.backends.rocm import runtime as rocm
from portmp.compilers import amd_code, clang, hiprtc, nvrtc, select, tools
from portmp.compilers.base import CLASSES, Compiler, KernelReport
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import BackendUnavailable, CompileError

FMAS = 3
SOURCE = r"""
static __device__ __forceinline__ double muladd(double a, double b, double c) {
  double product = a * b;
  return product + c;
}

extern "C" __global__ void __launch_bounds__(256) mixed(const double* x, double* y) {
  __shared__ double tile[256];
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  double a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
  tile[threadIdx.x] = muladd(a, b, c);
  __syncthreads();
  double other = tile[255 - threadIdx.x];
  double r = fma(a, b, other);
  r = fma(r, other, c);
  y[i] = fma(r, c, b) * b - a;
}

extern "C" __global__ void __launch_bounds__(256) single(const float* x, float* y) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  float a = x[i];
  y[i] = fmaf(a, a, y[i]) * a + 1.5f;
}
"""
BROKEN = 'extern "C" __global__ void broken(double* y) {\n  y[0] = nothing;\n}\n'

TARGETS = [
    *(("nvrtc", arch) for arch in ("sm_75", "sm_90", "sm_120")),
    *(("hiprtc", arch) for arch in ("gfx90a", "gfx906")),
    *(("clang", arch) for arch in ("gfx90a", "gfx942", "gfx1100", "gfx1201")),
]
AMD_TARGETS = [target for target in TARGETS if target[0] != "nvrtc"]
COMPILERS: dict[str, type[Compiler]] = {
    "nvrtc": NvrtcCompiler,
    "hiprtc": HiprtcCompiler,
    "clang": ClangCompiler,
}
_done: dict[tuple[str, str], bytes] = {}


def compiled(tier: str, arch: str) -> tuple[Compiler, bytes]:
    """The compiler and the machine code of SOURCE, compiled once."""
    check(tier)
    compiler = COMPILERS[tier]()
    if (tier, arch) not in _done:
        _done[tier, arch] = compiler.compile(SOURCE, arch)
    return compiler, _done[tier, arch]


def reports(tier: str, arch: str) -> dict[str, KernelReport]:
    """Reports of SOURCE by kernel, with instruction counts."""
    compiler, binary = compiled(tier, arch)
    if tier == "nvrtc":
        check("nvdisasm")
    return {report.name: report for report in compiler.report(binary, arch)}


@pytest.mark.parametrize(("tier", "arch"), TARGETS)
def test_nothing_is_contracted(tier: str, arch: str) -> None:
    found = reports(tier, arch)
    assert set(found) == {"mixed", "single"}
    double, single = found["mixed"].instructions, found["single"].instructions
    assert (double["fma64"], double["mul64"], double["add64"]) == (FMAS, 2, 2)
    assert (single["fma32"], single["mul32"], single["add32"]) == (1, 1, 1)
    assert set(double) | set(single) <= set(CLASSES)


@pytest.mark.parametrize(("tier", "arch"), TARGETS)
def test_report_of_resources(tier: str, arch: str) -> None:
    mixed, single = (reports(tier, arch)[name] for name in ("mixed", "single"))
    assert mixed.arch == arch
    assert (mixed.shared, single.shared) == (2048, 0)
    assert (mixed.spills, mixed.scratch) == (0, 0)
    assert mixed.registers is not None and 8 <= mixed.registers <= 64
    assert mixed.instructions["barrier"] == 1
    assert mixed.instructions["shared"] == 2
    assert mixed.instructions["store"] == 1
    assert mixed.instructions["load"] >= 1
    assert mixed.as_dict()["instructions"]["fma64"] == FMAS


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_mnemonics_of_nvidia(arch: str) -> None:
    compiler, binary = compiled("nvrtc", arch)
    check("nvdisasm")
    heads = [line.split()[0] for line in compiler.disassemble(binary)["mixed"]]
    assert [heads.count(name) for name in ("DFMA", "DMUL", "DADD")] == [FMAS, 2, 2]
    assert not any(head.startswith(("@", "/*")) for head in heads)


@pytest.mark.parametrize(("tier", "arch"), AMD_TARGETS)
def test_mnemonics_of_amd(tier: str, arch: str) -> None:
    compiler, binary = compiled(tier, arch)
    lines = compiler.disassemble(binary)["mixed"]
    # Assemblers differ in the suffix that names the encoding.
    heads = [re.sub(r"_e(32|64)$", "", line.split()[0]) for line in lines]
    fused = heads.count("v_fma_f64") + heads.count("v_fmac_f64")
    assert (fused, heads.count("v_mul_f64"), heads.count("v_add_f64")) == (FMAS, 2, 2)
    assert heads[-1] == "s_endpgm"


@pytest.mark.parametrize("tier", ["nvrtc", "hiprtc", "clang"])
def test_compile_error_carries_the_log(tier: str) -> None:
    check(tier)
    arch = {"nvrtc": "sm_90", "hiprtc": "gfx90a", "clang": "gfx942"}[tier]
    with pytest.raises(CompileError, match=r"[:(]2[:)].*error") as caught:
        COMPILERS[tier]().compile(BROKEN, arch)
    assert "nothing" in str(caught.value)


@pytest.mark.parametrize("tier", ["nvrtc", "clang"])
def test_unknown_architecture(tier: str) -> None:
    check(tier)
    with pytest.raises(CompileError, match="quux"):
        COMPILERS[tier]().compile(SOURCE, "quux")


@pytest.mark.parametrize("tier", ["nvrtc", "hiprtc", "clang"])
def test_versions_and_options(tier: str) -> None:
    check(tier)
    compiler = COMPILERS[tier]()
    assert compiler.name in compiler.version().lower()
    assert re.search(r"\d+\.\d+", compiler.version())
    options = compiler.options("arch0")
    assert any("arch0" in option for option in options)
    off = "--fmad=false" if tier == "nvrtc" else "-ffp-contract=off"
    assert off in options


def test_nvrtc_architectures() -> None:
    check("nvrtc")
    assert {"sm_80", "sm_90"} <= set(NvrtcCompiler().architectures())


def test_hiprtc_survives_crashes_and_errors() -> None:
    check("hiprtc")
    compiler = HiprtcCompiler()
    first = compiler.compile(SOURCE, "gfx90a")
    worker = hiprtc._worker()
    with pytest.raises(CompileError, match="nothing"):
        compiler.compile(BROKEN, "gfx90a")
    assert hiprtc._worker() is worker
    with pytest.raises(CompileError, match="gfx0000"):
        compiler.compile(SOURCE, "gfx0000")
    assert compiler.compile(SOURCE, "gfx90a") == first


def _worker_that(then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that starts, and then does something else than compile."""
    real = subprocess.Popen

    def start(command: list[str], **options: Any) -> Any:
        script = f'print(\'{{"version": "0.0"}}\', flush=True); {then}'
        return real([command[0], "-c", script], **options)

    monkeypatch.setattr(subprocess, "Popen", start)


def test_a_crash_of_hiprtc_suggests_clang(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    _worker_that("input(); import os; os.abort()", monkeypatch)
    with pytest.raises(CompileError, match=r"crashed \(SIGABRT.*use the clang compiler"):
        HiprtcCompiler().compile(SOURCE, "gfx942")


def test_a_worker_that_was_killed_is_replaced(fresh: None) -> None:
    check("hiprtc")
    HiprtcCompiler().compile(SOURCE, "gfx90a")
    process = hiprtc._worker()._process
    process.kill()
    process.wait()  # another look may already find its successor, which does not end
    assert HiprtcCompiler().compile(SOURCE, "gfx90a")


def test_hiprtc_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    _worker_that("import time; time.sleep(60)", monkeypatch)
    monkeypatch.setattr(hiprtc, "_SECONDS", 0.5)
    with pytest.raises(CompileError, match=r"did not finish in 0\.5 seconds"):
        HiprtcCompiler().compile(SOURCE, "gfx90a")


def test_missing_compilers_are_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fresh: None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "ROCM_FOLDERS", ())
    with pytest.raises(BackendUnavailable, match="apt-get install clang-19"):
        ClangCompiler().version()
    (tmp_path / "hip.py").write_text("raise ImportError('no hip here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BackendUnavailable, match=r"no hip here.*pip install hip-python"):
        HiprtcCompiler().version()
    monkeypatch.setattr(nvrtc, "_nvdisasm_paths", lambda: iter(()))
    with pytest.raises(BackendUnavailable, match="pip install nvidia-cuda-nvdisasm"):
        nvrtc.nvdisasm()


def test_named_clang_is_checked(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    monkeypatch.setenv("PORTMP_CLANG", "/bin/false")
    with pytest.raises(BackendUnavailable, match="PORTMP_CLANG=/bin/false"):
        ClangCompiler().version()


def test_named_clang_compiles_all_of_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the architectures that hiprtc compiles where no clang is named."""
    monkeypatch.delenv("PORTMP_CLANG", raising=False)
    assert select.compiler_for("rocm", "gfx90a")[0].name == "hiprtc"
    monkeypatch.setenv("PORTMP_CLANG", "/usr/bin/clang++-19")
    for arch in ("gfx90a", "gfx1030", "gfx942"):
        assert select.compiler_for("rocm", arch)[0].name == "clang"


@pytest.fixture
def fresh() -> Iterator[None]:
    """Forget which tools were found, before and after the test."""
    caches = (clang._version_of, hiprtc._started, nvrtc.nvdisasm, amd_code._objdump)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("backend", [cuda, rocm])
def test_backends_explain_what_is_missing(backend: Any) -> None:
    try:
        devices = backend.find_devices()
    except BackendUnavailable as error:
        assert len(str(error)) > 20 and "\n" not in str(error)
    else:
        assert devices


@pytest.mark.parametrize(
    ("mnemonic", "kind"),
    [
        ("v_fmac_f32_e32", "fma32"),
        ("v_pk_fma_f32", "fma32"),
        ("v_dual_fmac_f32", "fma32"),
        ("v_mad_f32", "fma32"),
        ("v_fma_f64", "fma64"),
        ("v_sub_f32_e32", "add32"),
        ("v_mul_f64", "mul64"),
        ("v_add_f64_e32", "add64"),
        ("v_rcp_f64_e32", "special"),
        ("v_div_fmas_f64", "special"),
        ("ds_read_b64", "shared"),
        ("s_load_dword", "load"),
        ("global_load_b64", "load"),
        ("flat_store_dwordx2", "store"),
        ("s_barrier", "barrier"),
        ("s_barrier_signal", "other"),
        ("s_barrier_wait", "barrier"),
        ("s_cbranch_scc1", "branch"),
        ("v_mul_lo_u32", "other"),
        ("v_cmp_lt_f64", "other"),
    ],
)
def test_classes_of_amd(mnemonic: str, kind: str) -> None:
    assert amd_code.classify(mnemonic) == kind


@pytest.mark.parametrize(
    ("mnemonic", "kind"),
    [
        ("DFMA.RM", "fma64"),
        ("FFMA", "fma32"),
        ("FADD.FTZ", "add32"),
        ("MUFU.RSQ64H", "special"),
        ("LDG.E.64", "load"),
        ("STG.E.64", "store"),
        ("LDS.64", "shared"),
        ("BRA", "branch"),
        ("BAR.SYNC", "barrier"),
        ("LDC", "other"),
        ("IMAD.WIDE", "other"),
    ],
)
def test_classes_of_nvidia(mnemonic: str, kind: str) -> None:
    assert nvrtc.classify(mnemonic) == kind


def test_machine_code_of_another_kind() -> None:
    with pytest.raises(ValueError, match="ELF"):
        amd_code.metadata(b"no machine code")


def test_offload_bundles_are_opened() -> None:
    name, content = b"hip-amdgcn-amd-amdhsa--gfx90a", b"code"
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1)
    start = len(head) + 24 + len(name)
    bundle = head + struct.pack("<QQQ", start, len(content), len(name)) + name + content
    assert amd_code.unbundle(bundle) == content


def test_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTMP_REQUIRE", "clang, nvrtc")
    assert [tier for tier in TIERS if required(tier)] == ["nvrtc", "clang"]
    with pytest.raises(pytest.fail.Exception, match="no such tool"):
        need("clang", "no such tool")
    with pytest.raises(pytest.skip.Exception):
        need("hiprtc", BackendUnavailable("no such tool"))
    with pytest.raises(ValueError, match="rocket"):
        available("rocket")


def test_libraries_with_a_version_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("libquux.so.5", "libquux.so.11", "libquux.so.11.2.3"):
        (tmp_path / name).touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    library = hiprtc.find_library("quux")
    assert library == tmp_path / "libquux.so.11"
    opened = hiprtc.bridge("quux", library) / "lib" / "libquux.so"
    assert opened.resolve() == library.resolve()
