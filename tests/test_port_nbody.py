"""Paper 003's way: N-body programs in CUDA, translated, compared with portmp's kernels."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tiers
from slow import mostly_slow

import portmp as mp
from portmp.codegen import kernel_spec
from portmp.compilers import amd_code, loops
from portmp.compilers.select import compiler_for
from portmp.porting import hipify, report, sources
from portmp.porting.traps.base import HIP
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity.schedule import NbodySchedule

FOLDER = Path(__file__).resolve().parent / "data/nbody"
FILES = [*sorted(FOLDER.glob("*.cu")), FOLDER / "common.cuh"]


def group() -> list[sources.Source]:
    """All files, read together."""
    return sources.together([sources.read(path) for path in FILES])


SAME = {
    "baseline": ("division", NbodySchedule(threads=256, shared=0, unroll=1)),
    "shared": ("rsqrt", NbodySchedule(threads=128, shared=1, tile=128, unroll=4)),
    "final": ("rounded", NbodySchedule(threads=256, shared=0, unroll=4, ilp=4)),
}
"""By program: portmp's root and schedule of the same algorithm."""

ARCHES = ("gfx908", "gfx90a")


Compile = Callable[[str, str], bytes]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """hipcc's code object of a program's kernel, from the text that portmp port writes."""
    folder = tmp_path_factory.mktemp("hip")
    for source in group():
        made = hipify.translated(source)
        (folder / made.file).write_bytes(made.content)

    @cache
    def code(name: str, arch: str) -> bytes:
        tiers.check("hipcc")
        tiers.check("hiprtc")
        command = ["hipcc", "--genco", f"--offload-arch={arch}", "-O3", "-w"]
        command += ["-o", f"{name}.{arch}", f"{name}.hip.cpp"]
        environment = os.environ | {"HIP_PLATFORM": "amd"}
        subprocess.run(command, cwd=folder, check=True, env=environment)
        content = (folder / f"{name}.{arch}").read_bytes()
        return content[content.rfind(b"\x7fELF") :]

    return code


def operations(code: bytes) -> Counter[str]:
    """Operations of the innermost loop, for all its interactions.

    fma and fmac are one operation; how an operand is encoded does not matter.
    """
    family = loops._FAMILIES["rocm"]
    found: list[Counter[str]] = []
    for listing in family.listing(code).values():
        body = loops.usual(loops.innermost(listing, family.root.match), family.call.match)
        if body:
            heads = (re.sub(r"_e(32|64)$", "", one.head.split()[0]) for one in body)
            found.append(Counter(head.replace("fmac", "fma") for head in heads))
    (one,) = found
    return one


def rendered(name: str, arch: str) -> Counter[str]:
    """Those of portmp's kernel."""
    root, schedule = SAME[name]
    unit = gravity.compilation_unit("float32", schedule, ("acceleration",), root=root)
    compiler, _ = compiler_for("rocm", arch)
    return operations(compiler.compile(kernel_spec.rendered(unit, "rocm").text, arch))


def test_the_report() -> None:
    """The programs have one trap: what the paper's fastest root is on AMD."""
    found = {
        (source.place.name, trap.entry)
        for source in group()
        for trap in report.of(source).traps
        if trap.platform == HIP
    }
    assert found == {("final.cu", "arithmetic/frsqrt-rn")}
    assert not any(report.of(source).remarks for source in group())


def test_the_exception_of_the_paper() -> None:
    """cudaMallocHost is hipHostMalloc; all else changes its prefix."""
    (header,) = [source for source in group() if source.place.name == "common.cuh"]
    changes = hipify.translated(header).changes
    names = {c.before: c.after for c in changes if c.kind == "name"}
    assert names.pop("cudaMallocHost") == "hipHostMalloc"
    assert names.pop("cudaFreeHost") == "hipHostFree"
    assert all(after == before.replace("cuda", "hip") for before, after in names.items())


@pytest.mark.parametrize("arch", mostly_slow(ARCHES, ["gfx908"], "gfx908 stands for both"))
def test_shared_is_the_same_code(arch: str, compiled: Compile) -> None:
    """rsqrtf and tiles: instruction by instruction what portmp's kernel has."""
    assert operations(compiled("shared", arch)) == rendered("shared", arch)


@pytest.mark.parametrize("arch", mostly_slow(ARCHES, ["gfx90a"], "gfx90a stands for both"))
def test_final_differs_by_the_loop(arch: str, compiled: Compile) -> None:
    """__frsqrt_rn without shared memory: the vector units have the same to do."""
    plain, ours = operations(compiled("final", arch)), rendered("final", arch)
    differing = {name for name in plain | ours if plain[name] != ours[name]}
    assert all(name.startswith("s_") for name in differing), differing
    assert sum((plain - ours).values()) <= 2 and sum((ours - plain).values()) <= 4
    assert plain["v_rsq_f32"] == 4


@pytest.mark.parametrize("arch", mostly_slow(ARCHES, ["gfx90a"], "gfx90a stands for both"))
def test_baseline_differs_by_the_root(arch: str, compiled: Compile) -> None:
    """1 / sqrtf: hipcc's root in float32, portmp's through float64: hiprtc's is inexact."""
    plain, ours = operations(compiled("baseline", arch)), rendered("baseline", arch)
    assert plain["v_sqrt_f32"] == 1 and ours["v_sqrt_f32"] == 0
    assert plain["v_rsq_f64"] == 0 and ours["v_rsq_f64"] == 1
    assert plain["v_cvt_f64_f32"] == 0 and ours["v_cvt_f64_f32"] == 1
    for name in ("v_sub_f32", "v_rcp_f32", "v_div_fixup_f32", "v_div_scale_f32"):
        assert plain[name] == ours[name] > 0, name


@pytest.mark.parametrize("name", mostly_slow(SAME, ["baseline", "final"], "the same but for tiles"))
def test_equal_results(name: str, compiled: Compile) -> None:
    """On interpreted gfx90a hipcc's code of the program gives the bits of portmp's kernel."""
    device = tiers.interpreted("emulated:gfx90a")
    n, eps = 512, np.float32(0.03125)
    at = np.arange(n)
    bodies = np.stack(
        [np.sin(12.9898 * at), np.sin(78.233 * at + 1), np.sin(37.719 * at + 2), at * 0 + 1 / n], 1
    ).astype(np.float32)
    code = compiled(name, "gfx90a")
    (kernel,) = [r.name for r in amd_code.report(code, "gfx90a") if "calc_acc" in r.name]
    loaded = device.load(code, [kernel])[kernel]
    out = np.zeros((n, 4), np.float32)
    given, made = device.allocate_parts([bodies.nbytes, out.nbytes])
    device.queue.write(given, bodies)
    device.queue.write(made, out)
    threads = SAME[name][1].threads
    arguments = [given, made, np.int32(n), given, eps]
    device.queue.launch(loaded, (n // threads, 1, 1), (threads, 1, 1), arguments)
    device.queue.read(made, out)

    root, schedule = SAME[name]
    position, mass = (mp.array(x, "float32", device.name) for x in (bodies[:, :3], bodies[:, 3]))
    ours = mp.nbody.acceleration(
        position, mass, eps="0.03125", root=root, schedule=schedule.for_call(False)
    )
    (values,) = ours.to_parts()
    assert out[:, :3].tobytes() == np.ascontiguousarray(values).tobytes()
