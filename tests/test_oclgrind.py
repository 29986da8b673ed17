"""Kernels under Oclgrind: no access out of bounds, no race, no uninitialised value.

Built with ``-cl-opt-disable``: optimised code turns a read of an uninitialised variable
into nothing at all, and Oclgrind sees only what is left.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from slow import slow
from tiers import check

from portmp import formats

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = (
    "--data-races",
    "--uniform-writes",
    "--uninitialized",
    "--check-api",
    "--local-mem-size",
    str(2**18),  # as CPUs have, for the packed panels of their GEMM
)
PROBLEM = re.compile(
    r"invalid|race|uninitiali[sz]ed|error detected|divergence|out of", re.IGNORECASE
)
HARMLESS = (
    # pyopencl and portmp ask every device for the properties of extensions.
    ("clGetDeviceInfo", "CL_INVALID_VALUE"),
    # pyopencl looks for its own attribute among the kernels of a program made from a binary.
    ("clCreateKernel", "Kernel '_source' not found"),
)
BROKEN = """
__kernel void broken(__global double *out, __local double *shared)
{
    double unset;
    shared[get_local_id(0)] = get_local_id(0);
    out[get_global_id(0)] = shared[1 - get_local_id(0)];
    if (out[0] > 100)
        unset = 1;
    out[0] = unset;
    out[get_global_id(0) + 1] = 0;
}
"""


def problems(log: str) -> list[str]:
    """The reports in Oclgrind's log (blocks between empty lines) that mean something."""
    blocks = re.split(r"\n\s*\n", log)
    return [
        block.strip()
        for block in blocks
        if PROBLEM.search(block) and not any(a in block and b in block for a, b in HARMLESS)
    ]


def under_oclgrind(tmp_path: Path, *command: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run Python under Oclgrind, whose devices are then the only ones; also what it reported."""
    check("oclgrind")
    pytest.importorskip("pyopencl")
    log = tmp_path / "log"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PORTMP_CACHE_DIR": "",
        "PORTMP_ICD_ONLY": "1",
        "OCL_ICD_VENDORS": str(tmp_path),
    }
    done = subprocess.run(
        [
            "oclgrind",
            *OPTIONS,
            "--build-options",
            "-cl-opt-disable",
            "--log",
            str(log),
            sys.executable,
            *command,
        ],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
        check=False,
    )
    return done, done.stderr + "\n\n" + (log.read_text() if log.exists() else "")


FORMATS = ("float32", "float64", "ds", "dd", "d+s", "ts", "td", "qd2011")
CASES = {"elements": 20, "products": 6, "integers": 4, "systems": 4, "tall": 2}
"""Parts of the check, and how many cases each has at least."""
CHECKED = [
    (name, part)
    for name in FORMATS
    for part in CASES
    if part != "integers" or not formats.get(name).paper
]


FAST = dict.fromkeys(CASES, "d+s") | {"integers": "ds", "tall": "float32"}
"""The format of each part that the fast tier has: of what takes longest, one of short networks."""


@slow("formats differ in networks, not in accesses", unless=lambda p: p["name"] == FAST[p["part"]])
@pytest.mark.parametrize(("name", "part"), CHECKED)
def test_kernels_are_clean(name: str, part: str, tmp_path: Path) -> None:
    """All routines of a format: the host reference's bits, and nothing to report."""
    done, report = under_oclgrind(tmp_path, str(ROOT / "tests" / "oclgrind_check.py"), name, part)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    counted = re.match(r"(\d+) cases; different from the reference: none", done.stdout)
    assert counted and int(counted[1]) >= CASES[part]
    assert problems(report) == []


def test_oclgrind_sees_what_is_wrong(tmp_path: Path) -> None:
    """The same settings report a race, an uninitialised value and a write out of bounds."""
    script = f"""
import pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, {BROKEN!r}).build(cache_dir=False), "broken")
out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 16)
kernel.set_args(out, cl.LocalMemory(16))
cl.enqueue_nd_range_kernel(queue, kernel, (2,), (2,))
queue.finish()
"""
    done, report = under_oclgrind(tmp_path, "-c", script)
    assert done.returncode == 0, done.stderr
    found = "\n".join(problems(report))
    assert "data race at local memory" in found
    assert "Uninitialized value" in found
    assert re.search(r"Invalid write of size 8 at global memory", found)
