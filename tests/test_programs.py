"""Routines as programs in one file: built, run, and their bits compared with the recorded ones."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tiers
from slow import mostly_slow

from portmp import cli, discovery
from portmp.compilers import amd_code, host_programs
from portmp.errors import ArgumentError
from portmp.runtime.digests import digest
from portmp.verify import programs
from portmp.verify.capture import Launched

FAST = [("gemm", "dd"), ("dot", "ts"), ("log", "qd"), ("nbody", "float32")]
SLOW = [
    *(("gemm", "ts"), ("gemv", "dd"), ("axpy", "ds"), ("reduce_sum", "td"), ("sort", "dd")),
    *(("cumulative_sum", "qs"), ("random_uniform", "dd"), ("fma", "d+s"), ("nbody", "dd")),
    *(("gemm_ozaki1", "dd"), ("sin", "ts"), ("gamma", "dd"), ("div", "float32")),
    *(("sort", "td"), ("mul", "qs"), ("erfc", "float64"), ("random_words", "float32")),
]
CASES = mostly_slow([*FAST, *SLOW], FAST, "a few stand for the others")


def built(source: Path, tmp_path: Path) -> Path:
    """What a C compiler makes of an OpenCL program; skips where it cannot."""
    compiler = tiers.opencl_compiler()
    binary = tmp_path / "program"
    build = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(binary)]
    subprocess.run([*build, "-c", str(source)], check=True)
    linked = subprocess.run([*build, str(source), "-lOpenCL"], capture_output=True, check=False)
    if linked.returncode:
        pytest.skip("no OpenCL library to link with: compiled only")
    return binary


def ran(binary: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(binary), *arguments], capture_output=True, text=True, check=False)
    missing = re.search("no OpenCL driver|device: none does", done.stderr)
    if done.returncode == 2 and missing:
        pytest.skip(f"{missing[0]}, says a plain program: built only")
    return done


@pytest.mark.parametrize(("name", "form"), CASES)
def test_opencl_programs_pass(name: str, form: str, tmp_path: Path) -> None:
    """Built by a C compiler without a warning, each case has its recorded bits."""
    (source,) = programs.write(name, form, ["opencl"], tmp_path)
    done = ran(built(source, tmp_path))
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-1]) == (0, "PASSED"), done.stdout + done.stderr
    digests = {run.name: run.digest for run in programs.runs(name, form, "opencl")}
    assert dict(line.rsplit(": ", 1) for line in lines[1:-1]) == digests


def test_a_wrong_bit_fails(tmp_path: Path) -> None:
    """One bit of one input, and one of arithmetic's constants: status 1, and which case it is."""
    (source,) = programs.write("add", "dd", ["opencl"], tmp_path)
    text = source.read_text()
    first = re.search(r"data0_0\[\] = \{\n    (0x[0-9a-f]+)", text)
    assert first
    changed = f"0x{int(first[1], 16) ^ 1:x}"
    source.write_text(text[: first.start(1)] + changed + text[first.end(1) :])
    done = ran(built(source, tmp_path))
    assert done.returncode == 1
    assert re.search(r"^ordinary: [0-9a-f]{32} IS WRONG$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("FAILED: 1 of 4 cases\n")
    done = ran(tmp_path / "program", "77")
    assert (done.returncode, done.stderr) == (2, "add_dd: device: there are not so many\n")


HIP_CASES = [
    *(("gemm", "dd"), ("exp", "ts"), ("sort", "td"), ("sqrt", "qs"), ("nbody", "float64")),
    *(("scattered", "ds"), ("random_words", "float32"), ("cbrt", "qd")),
]
HIP = mostly_slow(HIP_CASES, HIP_CASES[:1], "each is another run of hipcc")


@pytest.mark.parametrize(("name", "form"), HIP)
def test_hip_programs_build_and_run_interpreted(name: str, form: str, tmp_path: Path) -> None:
    """hipcc builds the program; its code for gfx90a, interpreted, gives the recorded bits."""
    tiers.check("hipcc")
    tiers.check("hiprtc")
    (source,) = programs.write(name, form, ["rocm"], tmp_path)
    environment = os.environ | {"HIP_PLATFORM": "amd"}
    build = host_programs.get("rocm").build.format(source.name.removesuffix(".hip.cpp")).split()[1:]
    build += ["--offload-arch=gfx90a", "-w"]
    subprocess.run(build, cwd=tmp_path, check=True, env=environment)
    alone = [*build, "--genco"]
    alone[alone.index("-o") + 1] = "code"
    subprocess.run(alone, cwd=tmp_path, check=True, env=environment)
    content = (tmp_path / "code").read_bytes()
    code = content[content.rfind(b"\x7fELF") :]
    every = programs.runs(name, form, "rocm")
    for run in every[:4]:
        assert interpreted(run, every, code) == run.digest, run.name


def interpreted(run: programs.Run, every: list[programs.Run], code: bytes) -> str:
    """The digest of a case on interpreted gfx90a."""
    device = discovery.get("emulated:gfx90a")
    texts = list(dict.fromkeys(one.kernel.text for other in every for one in other.launches))
    loaded = {r.name for r in amd_code.report(code, "gfx90a")}
    names = {}
    for one in run.launches:
        module, name = texts.index(one.kernel.text), one.kernel.name
        inside = f"module{module}"
        mangled = f"_ZN{len(inside)}{inside}{len(name)}{name}E"
        names[one.kernel] = next(n for n in loaded if n == name or n.startswith(mangled))
    kernels = device.load(code, list(names.values()))
    memories = device.allocate_parts([len(memory) for memory in run.memories])
    for memory, content in zip(memories, run.memories, strict=True):
        device.queue.write(memory, np.frombuffer(content, np.uint8))

    def argument(one: int | bytes) -> object:
        if isinstance(one, int):
            return memories[one]
        return np.frombuffer(one, f"u{len(one)}")[0]

    def launch(one: Launched) -> None:
        given = [argument(a) for a in one.arguments]
        kernel = kernels[names[one.kernel]]
        device.queue.launch(kernel, one.grid, one.block, given)  # type: ignore[arg-type]

    for one in run.launches:
        launch(one)
    planes = []
    for part in run.results:
        whole = np.zeros(len(run.memories[part.memory]), np.uint8)
        device.queue.read(memories[part.memory], whole)
        shape = eval(run.shape)  # a tuple of numbers that digests write
        kind = f"f{run.words}" if run.words else f"u{part.nbytes // math.prod(shape)}"
        planes.append(whole[part.offset :][: part.nbytes].view(kind).reshape(shape))
    return digest(planes)


CUDA_CASES = [("gemm", "dd"), ("sort", "td"), ("mul", "qs"), ("erfc", "float64")]


@pytest.mark.parametrize(
    ("name", "form"), mostly_slow(CUDA_CASES, CUDA_CASES[:1], "each is another run of nvcc")
)
def test_cuda_programs_build(name: str, form: str, tmp_path: Path) -> None:
    """nvcc takes them, where it is installed."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not on PATH")
    (source,) = programs.write(name, form, ["cuda"], tmp_path)
    build = host_programs.get("cuda").build.format(source.stem).split()
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It writes three files, or one, and says what it cannot write."""
    assert cli.main(["render", "add", "--format", "d+s", "--standalone", "-o", str(tmp_path)]) == 0
    names = ["add_d_s.c", "add_d_s.cu", "add_d_s.hip.cpp"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert capsys.readouterr().out.split() == [
        str(tmp_path / f"add_d_s{ending}") for ending in (".cu", ".hip.cpp", ".c")
    ]
    for words, message in (
        (["solve"], "computes on the host between kernels"),
        (["compare"], "the result is made on the host"),
        (["gem"], "routine: 'gem' given (did you mean 'gemv'?); allowed are abs, acos"),
        (["lu_swap"], "'lu_swap' is a part of routines and has no recorded cases of its own"),
        (["add", "--platform", "metal"], "'metal' given, programs are written for cuda"),
        (["add", "--diff", "cuda"], "no --diff, no --device"),
    ):
        assert cli.main(["render", *words, "--standalone", "-o", str(tmp_path)]) == 2
        assert message in capsys.readouterr().err
    new = tmp_path / "two" / "new"
    assert cli.main(["render", "add", "--standalone", "-o", str(new)]) == 0
    assert len(list(new.iterdir())) == 3
    capsys.readouterr()
    inside_a_file = str(tmp_path / "add_d_s.c" / "none")
    assert cli.main(["render", "add", "--standalone", "-o", inside_a_file]) == 2
    assert "cannot be made: Not a directory" in capsys.readouterr().err
    assert cli.main(["render", "add", "-o", str(tmp_path)]) == 2
    assert "-o: give --standalone" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["dd", "float32"])
def test_one_set_of_names(form: str) -> None:
    """Each name that a program or a text is made by is known to the other."""
    for name in programs.names(form):
        for made in (programs.text, programs.runs):
            try:
                assert made(name, form, "opencl")
            except ArgumentError as error:
                assert "unknown" not in str(error), name
                assert re.search(
                    "the host works between|computes on the host|made on the host|a part of"
                    "|too large|memory",
                    str(error),
                ), error


def test_texts_of_several_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    """sort has no unit of its own: its text is that of the kernels in its program."""
    assert cli.main(["render", "sort", "--format", "ts", "--platform", "cuda"]) == 0
    text = capsys.readouterr().out
    launched = {one.kernel for run in programs.runs("sort", "ts", "cuda") for one in run.launches}
    for kernel in launched:
        assert kernel.text.strip() in text
        assert re.search(rf"__global__ void[^;]*\b{kernel.name}\(", text), kernel.name
    assert cli.main(["render", "convert", "--diff", "cuda"]) == 0
    assert "__global__" in capsys.readouterr().out
    for words, message in (
        (["eigh"], "'eigh' is made of other routines, and the host works between their kernels"),
        (["sort", "--device", "opencl:0"], "--device: 'sort' is made of several texts"),
        (["sorted"], "routine: 'sorted' given (did you mean 'sort'?)"),
    ):
        assert cli.main(["render", *words]) == 2
        assert message in capsys.readouterr().err


def test_what_has_no_program() -> None:
    """Nothing is written that would not be the programs."""
    with pytest.raises(ArgumentError, match="computes on the host between kernels"):
        programs.program("nrm2", "dd", "cuda")
