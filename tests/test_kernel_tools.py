"""What stands around a user's kernel: texts, resources, programs, tuning, verifying, lines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiers import check, opencl_compiler

import portmp as mp
from portmp import discovery, paths
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.compilers import host_programs
from portmp.compilers.base import KernelReport
from portmp.compilers.occupancy import residency
from portmp.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    InputError,
    PortmpError,
    RenderError,
    ShapeError,
    VerifyError,
)
from portmp.kernels.verifying import Outcome, Verified
from portmp.runtime import program
from portmp.schedules import database

TILED = """
${kernel()}
{
    const ${index} first = ${global_id()} * ${tile};
    for (${index} i = first; i < first + ${tile} && i < n; ++i) {
        const ${value} sum = ${fma(load("a"), load("x", "i"), load("y", "i"))};
        ${store("y", "i", "sum")}
    }
}
"""
TAKES = "axpy(a: value, x: in [n], y: inout [n])"


def tiled(text: str = TILED, block: int = 64, **more: Any) -> mp.Kernel:
    return mp.Kernel(
        text, TAKES, **({"threads": "(n + tile - 1) // tile", "tile": 2, "block": block} | more)
    )


def bits(x: mp.Array) -> list[bytes]:
    return [limb.tobytes() for limb in x.to_limbs()]


def operands(device: str | Device, count: int = 300) -> tuple[mp.Array, mp.Array]:
    x, y = np.random.default_rng(7).standard_normal((2, count))
    return mp.array(x, "dd", device), mp.array(y, "dd", device)


def exactly(a: Fraction, x: mp.Array, y: mp.Array) -> list[Fraction]:
    """What the kernel approximates."""
    pairs = zip(x.to_fractions(), y.to_fractions(), strict=True)
    return [a * one + other for one, other in pairs]


# --- texts and resources ------------------------------------------------------------------------


def test_difference_of_two_platforms() -> None:
    """As ``diff -u`` tells it."""
    kernel = tiled()
    found = kernel.diff("cuda", "rocm").splitlines()
    assert found[:2] == ["--- cuda", "+++ rocm"]
    assert "-    *e = __fma_rn(a, b, -p);" in found and "+    *e = fma(a, b, -p);" in found
    assert kernel.diff("rocm", "rocm") == ""
    with pytest.raises(ArgumentError, match="unknown platform 'metal'"):
        kernel.diff("cuda", "metal")


@pytest.mark.parametrize(
    ("tier", "target", "arch", "most"),
    [
        ("nvrtc", "cuda", "sm_90", 64),
        ("hiprtc", "rocm", "gfx90a", 32),
        ("clang", "rocm", "gfx1100", 32),
    ],
)
def test_resources_without_a_device(tier: str, target: str, arch: str, most: int) -> None:
    """Blocks and warps of a compute unit, in a table and for JSON."""
    check(tier)
    held = 24 * 1024
    text = TILED.replace("{\n", '{\n    ${shared(real, "held", ' + str(held // 8) + ")}\n", 1)
    text = text.replace("    const", "    held[0] = 1; ${barrier()}\n    const", 1)
    text = text.replace('"sum")}', '"sum")}\n        if (held[n & 7] > 2) return;')
    (found,) = tiled(text, 256).compile(target, arch)
    warps = 256 // (64 if arch == "gfx90a" else 32)
    assert found.resident is not None and found.resident.most == most
    assert found.resident.warps == found.resident.blocks * warps
    assert found.threads == 256 and found.shared == held
    if target == "rocm":
        assert (found.resident.blocks, found.resident.limit) == (2, "shared memory")
    resources = tiled(text, 256).compile(target, arch)
    _, head, row = str(resources).splitlines()
    assert head.split()[:2] == ["kernel", "threads"] and row.split()[:2] == ["axpy_kernel", "256"]
    assert f"{found.resident.warps}/{most}" in row
    (told,) = json.loads(json.dumps(resources.as_dicts()))
    assert told["resident"]["blocks"] == found.resident.blocks and told["threads"] == 256


@pytest.mark.parametrize(
    ("arch", "registers", "shared", "threads", "blocks", "limit"),
    [
        ("sm_90", 32, 0, 256, 8, "warps"),
        ("sm_90", 128, 0, 256, 2, "registers"),
        ("sm_90", 16, 0, 32, 32, "blocks"),
        ("sm_90", 16, 100 * 1024, 128, 2, "shared memory"),
        ("sm_86", 16, 0, 32, 16, "blocks"),
        ("gfx90a", 128, 0, 256, 4, "registers"),
        ("gfx90a", 16, 0, 64, 32, "warps"),
        ("gfx90a", 16, 0, 128, 16, "warps"),
        ("gfx90a", 16, 40 * 1024, 256, 1, "shared memory"),
        ("gfx1100", 16, 0, 64, 16, "warps"),
        ("gfx1100", 256, 0, 1024, 0, "registers"),
    ],
)
def test_blocks_of_a_compute_unit(
    arch: str, registers: int, shared: int, threads: int, blocks: int, limit: str
) -> None:
    """By hand, from the vendors' numbers."""
    report = KernelReport("k", arch, registers, None, 0, 0, shared)
    found = residency(report, threads)
    assert found is not None and (found.blocks, found.limit) == (blocks, limit)


def test_unknown_architectures_have_no_numbers() -> None:
    assert residency(KernelReport("k", "gfx803", 16, None, 0, 0, 0), 64) is None


# --- programs in one file -----------------------------------------------------------------------

MIXED = """
${kernel()}
{
    ${shared(int32, "held", "m")}
    const ${index} i = ${global_id(0)}, j = ${global_id(1)};
    if (${linear_id()} == 0) {
        for (int row = 0; row < m; ++row)
            held[row] = 3 * row;
    }
    ${barrier()}
    if (i < n && j < m) {
        /* a "quoted" text with a \\\\ */
        const ${value} sum = ${fma(load("a"), load("x", "j", "i"), load("y", "j", "i"))};
        ${store("y", "j", "i", "sum")}
        if (i == 0) {
            ${store("k", "j", "(int)j + by + held[j]")}
        }
        if (j == 0) {
            ${store("short_", "i", of("float64").mul(load("short_", "i"), load("short_", "i")))}
        }
    }
}
"""
MIXED_TAKES = (
    "mixed(a: value, by: int32, x: in [m, n], y: inout [m, n], k: out int32 [m],"
    " short_: inout slfp64in48b [n])"
)


def mixed(**more: Any) -> mp.Kernel:
    return mp.Kernel(
        MIXED, MIXED_TAKES, **({"threads": ("n", "m"), "block": (16, 4), "format": "d+s"} | more)
    )


def fnv(parts: list[np.ndarray[Any, Any]]) -> str:
    """The checksum that programs print."""
    state = 14695981039346656037
    for byte in b"".join(part.tobytes() for part in parts):
        state = (state ^ byte) * 1099511628211 % 2**64
    return f"{state:016x}"


def test_opencl_program_gives_the_same_bits(tmp_path: Path, device: Device) -> None:
    """Built by the machine's C compiler, and run where there is a driver."""
    mixed_kernel = mixed()
    source = mixed_kernel.standalone("opencl", tmp_path)
    compiler = opencl_compiler()
    binary = tmp_path / "mixed"
    build = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(binary)]
    subprocess.run([*build, "-c", str(source)], check=True)
    if subprocess.run(
        [*build, str(source), "-lOpenCL"], capture_output=True, check=False
    ).returncode:
        pytest.skip("no OpenCL library to link with: compiled only")
    m, n = 5, 37
    draw = np.random.default_rng(3).standard_normal((2, m, n))
    x, y = mp.array(draw[0], "d+s", device), mp.array(draw[1], "d+s", device)
    short = mp.array(draw[0, 0], "slfp64in48b", device)
    for name, array in (("x", x), ("y", y), ("short_", short)):
        (tmp_path / name).write_bytes(b"".join(part.tobytes() for part in array.to_parts()))
    k = mixed_kernel(a=3, by=-7, x=x, y=y, short_=short)
    command = [str(binary), f"m={m}", f"n={n}", "a=3", "by=-7", "x=x", "y=y", "short_=short_"]
    command += ["y.to=result"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    missing = re.search("no OpenCL driver|device: none does", done.stderr)
    if done.returncode and missing:
        pytest.skip(f"{missing[0]}, says a plain program: built only")
    assert not done.returncode, done.stderr
    sums = re.findall(r"^(\w+): (\d+) elements, checksum (\w+)$", done.stdout, re.MULTILINE)
    assert sums == [
        ("y", str(m * n), fnv(y.to_parts())),
        ("k", str(m), fnv([k.to_numpy()])),
        ("short_", str(n), fnv(short.to_parts())),
    ]
    result = (tmp_path / "result").read_bytes()
    assert result == b"".join(part.tobytes() for part in y.to_parts())
    for wrong in (["q=1"], ["x=none"], ["by=2147483648"], ["a=z"], ["n=3", "x=x"]):
        done = subprocess.run(
            [*command[:1], *wrong], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        lines = [line for line in done.stderr.splitlines() if "is left out" not in line]
        assert done.returncode == 1 and len(lines) == 1, wrong


def test_hip_program_builds(tmp_path: Path) -> None:
    check("hiprtc")
    if shutil.which("hipcc") is None:
        pytest.skip("hipcc is not on PATH")
    source = mixed().standalone("rocm", tmp_path)
    command = host_programs.get("rocm").build.format("mixed").split()
    assert command[0] == "HIP_PLATFORM=amd" and source.name in command
    subprocess.run(
        ["env", *command, "--offload-arch=gfx90a"], check=True, cwd=tmp_path, capture_output=True
    )
    assert (tmp_path / "mixed").exists()


def test_cuda_program_builds(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not on PATH")
    mixed().standalone("cuda", tmp_path)
    command = host_programs.get("cuda").build.format("mixed").split()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_programs_of_other_kernels(tmp_path: Path) -> None:
    """A grid by a function is asked for; values stand in it; nothing is half written."""
    by_function = mixed(threads=lambda n, m: (n, m)).standalone("opencl", tmp_path)
    assert "grid=X,Y,Z: blocks along each axis (a function" in by_function.read_text()
    text = tiled(tile=3).standalone("cuda", tmp_path).read_text()
    assert "const long long tile = 3;" in text and "__fma_rn" in text
    with pytest.raises(InputError, match="does not exist"):
        tiled().standalone("cuda", tmp_path / "none")
    with pytest.raises(ArgumentError, match="unknown platform 'metal'"):
        tiled().standalone("metal", tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["axpy.cu", "mixed.c"]
    assert set(host_programs.PROGRAMS) == set(platform.PLATFORMS)


# --- tuning -------------------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of settings of the test's own; the database's file in it."""
    monkeypatch.setenv("PORTMP_CONFIG_DIR", str(tmp_path / "settings"))
    paths.settings_folder.cache_clear()
    database.reload()
    yield tmp_path / "settings" / database.FILE
    monkeypatch.undo()
    paths.settings_folder.cache_clear()
    database.reload()


def test_tuning(settings: Path, device: Device) -> None:
    """All of the space is tried, arrays stay, the winner is taken by later calls and processes."""
    kernel, (x, y) = tiled(), operands(device)
    before = bits(y)
    assert str(kernel.schedule(device)) == "tile=2 block=64 (declared)"
    earlier = tiled()
    earlier(a=3, x=x, y=mp.zeros(300, "dd", device))
    found = kernel.tune({"tile": [1, 4], "block": [32, 64, 10**6]}, 3, x, y)
    assert bits(y) == before
    assert len(found.candidates) == 7 and len(found.left_out) == 2
    assert all("1000000 threads given" in c.left_out for c in found.left_out)
    assert all(c.seconds > 0 for c in found.candidates)
    assert len(str(found).splitlines()) == 8
    assert json.loads(json.dumps(found.as_dict()))["kernel"] == "axpy"
    chosen = kernel.schedule(device)
    assert re.fullmatch(r"user \d{4}-\d\d-\d\d", chosen.origin)
    assert chosen.words() == found.schedule.words()
    assert launched_blocks(earlier, device) == launched_blocks(kernel, device)
    again = tiled()
    assert again.schedule(device) == chosen
    expected = mp.fma(mp.array([3] * 300, "dd", device), x, y)
    again(3, x, y)
    assert bits(y) == bits(expected)
    # An edited kernel, another block and other threads have no schedule.
    for other in (tiled(TILED + " "), tiled(TILED.replace("sum", "total")), tiled(block=32)):
        same = other.render("opencl") == kernel.render("opencl")
        assert (other.schedule(device).origin != "declared") == same
    assert tiled(threads="n").schedule(device).origin == "declared"
    database.store([], settings)
    assert len(json.loads(settings.read_text())["kernels"]) == 1
    tiled().tune({"tile": [1]}, 3, x, y)
    assert len(json.loads(settings.read_text())["kernels"]) == 1


def launched_blocks(kernel: mp.Kernel, device: Device) -> Any:
    """The grid and the block that a call launches."""
    kernel(3, *operands(device))
    [plan] = kernel._plans[device.queue].values()
    [step] = plan.steps
    return step.grid, step.block


def test_calls_take_what_the_database_says(settings: Path, device: Device) -> None:
    """Of functions of values too, and for kernels of a module with others."""
    module = mp.Module('${kernel("other")}\n{\n}\n' + TILED.replace("()", '("axpy")', 1), tile=2)
    module.kernel("other(x: in [n])", threads="n", block=16)
    kernel = module.kernel(TAKES, threads=lambda n, tile: -(-n // tile), block=64)
    assert launched_blocks(kernel, device) == ((3, 1, 1), (64, 1, 1))
    kernel.tune({"tile": [2]}, 3, *operands(device))
    data = json.loads(settings.read_text())
    data["kernels"][0]["schedule"] = {"values": {"tile": 5}, "block": [4, 1, 1]}
    settings.write_text(json.dumps(data))
    database.reload()
    fresh = mp.Module(module.text, tile=2)
    fresh.kernel("other(x: in [n])", threads="n", block=16)
    kernel = fresh.kernel(TAKES, threads=lambda n, tile: -(-n // tile), block=64)
    assert launched_blocks(kernel, device) == ((15, 1, 1), (4, 1, 1))
    assert kernel.schedule(device).words() == "tile=5 block=4"


def test_candidates_with_other_bits_are_left_out(settings: Path, device: Device) -> None:
    """Also those that leave elements of a new array as they are."""
    kernel = mp.Kernel(
        """
        ${kernel()}
        {
            const ${index} i = ${global_id()};
            if (i < n && i < ${most}) {
                ${store("k", "i", "(int)i + " + str(by))}
            }
        }
        """,
        "count(k: out int32 [n])",
        threads="n",
        by=1,
        most=10**6,
        block=32,
    )
    found = kernel.tune({"by": [1, 2], "most": [10**6, 9, "nonsense"]}, n=40, device=device)
    reasons = {c.schedule.words(): c.left_out for c in found.candidates}
    assert reasons["by=1 most=1000000 block=32"] == ""
    assert "bits differ" in reasons["by=2 most=1000000 block=32"]
    assert "bits differ" in reasons["by=1 most=9 block=32"]
    assert "template text line 5" in reasons["by=1 most=nonsense block=32"]
    assert found.schedule.words() == "by=1 most=1000000 block=32"
    given = mp.plain_zeros(40, "int32", device)
    kernel.tune({"block": [16]}, given)
    assert given.to_numpy().tolist() == list(range(1, 41))


WRONG_SPACES: dict[str, tuple[Any, str]] = {
    "no names": ({}, "as the space"),
    "a list": ([8], "as the space"),
    "unknown": ({"tiles": [1]}, "'tiles' is no value of the template.*'tile'"),
    "no list": ({"tile": 3}, "tile: 3 given, a list"),
    "text": ({"tile": "12"}, "tile: '12' given, a list"),
    "nothing": ({"tile": []}, r"tile: \[\] given"),
    "object": ({"tile": [None]}, "tile: None given"),
    "block": ({"block": [(1, 2, 3, 4)]}, "block: .* given, one to three"),
    "many": ({"tile": range(200), "block": range(1, 100)}, "19800 combinations given"),
}


@pytest.mark.parametrize("name", WRONG_SPACES)
def test_wrong_spaces(name: str, settings: Path, device: Device) -> None:
    space, message = WRONG_SPACES[name]
    with pytest.raises(ArgumentError, match=f"axpy: tune.*{message}"):
        tiled().tune(space, 3, *operands(device, 8))
    assert not settings.exists()


def test_what_cannot_be_tuned(
    settings: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    check("hiprtc")
    with pytest.raises(DeviceError, match=r"axpy: tune: .*emulated:gfx90a.* is an interpreter"):
        tiled().tune({"tile": [1]}, 3, *operands("emulated:gfx90a", 8))
    with pytest.raises(DeviceError, match=r"axpy: tune: .*runs no kernels"):
        tiled().tune({"tile": [1]}, 3, *operands("host:0", 8))
    with pytest.raises(ArgumentError, match=r"axpy: tune: no candidate runs: .*threads given"):
        tiled(block=2**20).tune({"tile": [1]}, 3, *operands(device, 8))
    monkeypatch.setenv("PORTMP_CONFIG_DIR", "")
    paths.settings_folder.cache_clear()
    with pytest.raises(ArgumentError, match="PORTMP_CONFIG_DIR"):
        tiled().tune({"tile": [1]}, 3, *operands(device, 8))


def test_damaged_entries_of_kernels(settings: Path, device: Device) -> None:
    """A sentence that names the file."""
    tiled().tune({"tile": [1]}, 3, *operands(device, 8))
    good = json.loads(settings.read_text())
    for path, value in (
        (("kernel",), 3),
        (("text",), None),
        (("schedule", "block"), [64]),
        (("schedule", "block"), [64, 1, "x"]),
        (("schedule", "values"), {"tile": [1]}),
        (("where", "device"), 7),
        (("measured", "date"), None),
    ):
        data = json.loads(json.dumps(good))
        place = data["kernels"][0]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        settings.write_text(json.dumps(data))
        database.reload()
        with pytest.raises(InputError, match=r"schedules\.json: not a file of schedules|given"):
            tiled().schedule(device)


# --- verifying ----------------------------------------------------------------------------------


def test_verifying_on_all_devices(tmp_path: Path, device: Device) -> None:
    """The same bits on interpreted devices; within a bound of the exact numbers; kept in a file."""
    check("hiprtc")
    check("clang")
    kernel, (x, y) = tiled(), operands("host:0", 50)
    before = bits(y)
    file = tmp_path / "digests.json"
    asked = ["emulated:gfx90a", "emulated:gfx1100"]
    found = kernel.verify(exactly, "0.1", x, y, devices=asked, digests=file, bound=2.0**-90)
    assert found.ok and not found.errors and bits(y) == before
    assert [o.device for o in found.outcomes][:2] == asked
    assert discovery.get().name in [o.device for o in found.outcomes]
    assert len({o.digest for o in found.outcomes if o.digest}) == 1
    assert str(found).splitlines()[0].endswith("devices as expected")
    found.check()
    rows = json.loads(file.read_text())["digests"]
    assert len(rows) == sum(bool(o.digest) for o in found.outcomes)
    assert set(rows[0]) == {
        *("kernel", "arguments", "device", "driver", "compiler", "digest", "date")
    }
    text = file.read_text()
    again = kernel.verify(exactly, "0.1", x, y, digests=file, bound=2.0**-90)
    assert again.ok and again.kept == len(rows) and file.read_text() == text
    # Other arguments have digests of their own; bits that change are an error that keeps the file.
    assert kernel.verify(None, 3, x, y, digests=file).ok
    text = file.read_text()
    edited = tiled(TILED.replace("fma(", "absolute(fma(").replace('"i"))}', '"i")))}', 1))
    wrong = edited.verify(None, 3, x, y, digests=file)
    assert not wrong.ok and file.read_text() == text
    assert "its bits differ from those that" in wrong.errors[0] and str(file) in wrong.errors[0]
    with pytest.raises(VerifyError, match=r"axpy: .*: its bits differ"):
        wrong.check()
    assert json.loads(json.dumps(wrong.as_dict()))["ok"] is False


def test_references_of_numpy_and_integers(device: Device) -> None:
    """Arrays of integers are NumPy's, sizes are known; several arrays go out."""
    kernel = mp.Kernel(
        """
        ${kernel()}
        {
            const ${index} i = ${global_id()};
            if (i < n) {
                ${store("twice", "i", load("k", "i") + " * 2")}
                ${store("half", "i", mul(from_real("(double)" + load("k", "i")), number("0.5")))}
            }
        }
        """,
        "halves(k: in int32 [n], twice: out int32 [n], half: out [n])",
        threads="n",
        block=32,
    )
    k = mp.plain_array(np.arange(-20, 20), "int32", device)

    def reference(k: Any, n: int) -> Any:
        assert n == 40 and isinstance(k, np.ndarray)
        return 2 * k, k / 2

    assert kernel.verify(reference, k).ok
    wrong = kernel.verify(lambda k: (2 * k, np.where(k == 3, 1, k / 2)), k)
    assert not wrong.ok and "half[23] is 1.5, the reference says 1" in wrong.errors[0]
    assert kernel.verify(lambda **given: (2 * given["k"], given["k"] / 2), k).ok
    near = kernel.verify(lambda k: (2 * k, k / 2 + 1), k, bound=lambda expected: 1)
    assert near.ok
    assert not kernel.verify(lambda k: (2 * k, k / 2 + 1), k, bound="0.01").ok


def test_numbers_that_are_not_finite(device: Device) -> None:
    """NaN is NaN, and infinities have their sign."""
    x = mp.array([float("inf"), float("nan"), 1.0], "dd", device)
    y = mp.array([0, 0, 0], "dd", device)
    inf, nan = float("inf"), float("nan")
    assert tiled().verify(lambda: [inf, nan, 3.0], 3, x, y).ok
    found = tiled().verify(lambda: [-inf, nan, 3.0], 3, x, y)
    assert "y[0] is inf, the reference says -inf" in found.errors[0]


def test_devices_that_differ(device: Device) -> None:
    """Which element, on which device, with the words of both."""
    check("hiprtc")
    pick = """<% pick = "1.5" if warp_size == 64 else "2" %>
        const ${real} word = i == 7 ? ${pick} : 1;
        const"""
    text = TILED.replace("const ${value} sum", f"{pick} ${{value}} sum")
    kernel = tiled(text.replace('"sum")}', 'from_real("word"))}'))
    x, y = operands("host:0", 20)
    found = kernel.verify(None, 3, x, y, devices="emulated:gfx90a")
    assert not found.ok and found.outcomes[0].error == ""
    told = r"y\[7\] has other bits than on emulated:gfx90a: 0x1\.0+p\+1 0x0\S+, there 0x1\.8"
    assert re.search(told, found.errors[0])


def test_devices_that_cannot_count() -> None:
    """The head counts a device on which the kernel fails, and none that is refused."""
    told = {"ran": {"digest": "1"}, "fails": {"error": "no atomics"}, "rounds": {"refusal": "FTZ"}}
    outcomes = [Outcome(name, "", "", "", **kind) for name, kind in told.items()]
    found = Verified("k", tuple(outcomes), "")
    assert not found.ok and str(found).startswith("k: 1 of 2 devices as expected\n")


def test_wrong_verifications(tmp_path: Path, device: Device) -> None:
    kernel, (x, y) = tiled(), operands(device, 8)
    cases: list[tuple[Callable[[], Any], type[PortmpError], str]] = [
        (lambda: kernel.verify(3, 1, x, y), ArgumentError, "reference: 3 given"),
        (lambda: kernel.verify(lambda q: q, 1, x, y), ArgumentError, "takes 'q', which is no"),
        (lambda: kernel.verify(lambda x: "z", 1, x, y), ArgumentError, "'z' given"),
        (lambda: kernel.verify(None, 1, x, y, bound=-1), ArgumentError, "bound: -1 given"),
        (lambda: kernel.verify(None, 1, x, y, bound="x"), ArgumentError, "bound: 'x' given"),
        (lambda: kernel.verify(None, 1, x), ArgumentError, "y is missing"),
        (lambda: kernel.verify(None, 1, x, y, devices="no such"), DeviceError, "'no such'"),
        (lambda: kernel.verify(None, 1, x, y, digests=tmp_path), InputError, "is a folder"),
    ]
    for work, kind, message in cases:
        with pytest.raises(kind, match=message):
            work()
    found = kernel.verify(lambda x: [1, 2], 1, x, y)
    assert "reference has shape (2,)" in found.errors[0]
    for content in ("", "[]", '{"version": 2, "digests": []}', '{"version": 1, "digests": [3]}'):
        file = tmp_path / "digests.json"
        file.write_text(content)
        with pytest.raises(InputError, match=r"digests\.json"):
            kernel.verify(None, 1, x, y, digests=file)
        assert file.read_text() == content
    with pytest.raises(ShapeError, match="follows from no array"):
        mp.Kernel("${kernel()}\n{\n}\n", "f(k: out int32 [n])", threads="n").verify(lambda: 3)


# --- lines of templates -------------------------------------------------------------------------

INCLUDES = "## lod\n${kernel()}\n\n{\n    <%include file='more.mako'/>\n}\n"
LINES: dict[str, tuple[str, str, str]] = {
    "unknown in an include": (INCLUDES, "\n## lod\n${lod('x')}\n", "more.mako line 3: 'lod' is"),
    "word in an include": (INCLUDES, "\n${load('z')}\n", "more.mako line 2: k has no parameter"),
    "python in an include": (INCLUDES, "\n<%\nq = 0\nr = 1 / q\n%>", "more.mako line 4: division"),
    "syntax in an include": (INCLUDES, "\n\n% if x\n", "more.mako line 3: "),
    "no include": (INCLUDES.replace("more", "most"), "", "own.mako line 5: .*most.mako"),
    "def of a namespace": (
        "<%namespace name='more' file='more.mako'/>${kernel()}\n{\n${more.one()}\n}\n",
        "<%def name='one()'>\n${load('z')}\n</%def>",
        "more.mako line 2: k has no parameter",
    ),
    "after an include": (INCLUDES + "${load('z')}", "\n", "own.mako line 7: k has no"),
    "no body": ("\n${kernel()}\n;\n", "", "own.mako line 2: a kernel's body"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_errors_name_the_template_and_the_line(name: str, tmp_path: Path) -> None:
    """The user's own, also where another one is included, which may be edited at any time."""
    own, more, message = LINES[name]
    (tmp_path / "more.mako").write_text("\n")
    (tmp_path / "own.mako").write_text(own)
    kernel = mp.Kernel(tmp_path / "own.mako", "k(x: inout [n])", threads="n")
    if "more.mako line" in message and "namespace" not in own:
        kernel.render("opencl")
    (tmp_path / "more.mako").write_text(more)
    with pytest.raises(RenderError, match=f"^{message}") as found:
        kernel.render("opencl")
    assert len(str(found.value).splitlines()) == 1


def broken(folder: Path) -> list[tuple[mp.Kernel, str]]:
    """Kernels that a compiler rejects, each with the place that it should name."""
    (folder / "more.mako").write_text("\n\nnonsense;\n")
    (folder / "own.mako").write_text(INCLUDES)
    text = '${kernel("a")}\n{\n}\n\n\n\n${kernel("b")}\n\n\n{\n\n\n\n    nonsense;\n}\n'
    module = mp.Module(text)
    module.kernel("a(x: inout [n])", threads="n")
    own = mp.Kernel(folder / "own.mako", "k(x: inout [n])", threads="n")
    second = module.kernel("b(x: inout qd [n])", threads="n")
    return [(own, "template more.mako line 3"), (second, "template text line 14")]


@pytest.mark.parametrize(
    ("tier", "target", "arch"),
    [("nvrtc", "cuda", "sm_90"), ("hiprtc", "rocm", "gfx90a"), ("clang", "rocm", "gfx1100")],
)
def test_compilers_name_the_template_and_the_line(
    tier: str, target: str, arch: str, tmp_path: Path
) -> None:
    check(tier)
    for kernel, place in broken(tmp_path):
        with pytest.raises(CompileError, match=rf"\({place}\): nonsense;"):
            kernel.compile(target, arch)


def test_drivers_name_the_template_and_the_line(tmp_path: Path, device: Device) -> None:
    for kernel, place in broken(tmp_path):
        with pytest.raises(CompileError, match=rf"\({place}\): nonsense;"):
            kernel(x=mp.zeros(3, "qd" if kernel.name == "b" else "dd", device))


# --- threads ------------------------------------------------------------------------------------


def test_threads_compile_once(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """First calls at once, of two kernels of a module: each is loaded once, and all are right."""
    loads: list[str] = []
    load = program.load

    def counted(device: Device, source: Any) -> Any:
        loads.append(source.text)
        return load(device, source)

    monkeypatch.setattr(program, "load", counted)
    body = TILED.replace("tile", "step")
    text = body.replace("()", '("axpy")', 1) + body.replace("()", '("again")', 1)
    module = mp.Module(text, step=1)
    kernels = [
        module.kernel(TAKES.replace("axpy", name), threads="n", block=32)
        for name in ("axpy", "again")
    ]
    pairs = [operands(device, 20 + i) for i in range(8)]
    expected = [mp.fma(mp.array([5] * x.size, "dd", device), x, y) for x, y in pairs]
    barrier, failures = threading.Barrier(8), []

    def call(i: int) -> None:
        barrier.wait()
        try:
            kernels[i % 2](5, *pairs[i])
        except Exception as error:
            failures.append(error)

    work = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert not failures
    assert all(bits(y) == bits(e) for (_, y), e in zip(pairs, expected, strict=True))
    assert len([t for t in loads if "axpy_kernel" in t]) == 2


# --- the page -----------------------------------------------------------------------------------


def test_the_pages_example(
    settings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The program of docs/kernels.md, "Around a kernel", as it stands."""
    page = Path(__file__).resolve().parents[1] / "docs" / "kernels.md"
    section = page.read_text(encoding="utf-8").partition("## Around a kernel")[2]
    block = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert block
    monkeypatch.chdir(tmp_path)
    exec(compile(block[1], "around", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"axpy: (\d+) of \1 devices as expected", lines[0])
    assert any("9 tried, kept in" in line for line in lines)
    assert lines[-1] == "axpy.c" and lines[-2].startswith("tile=")
    assert (tmp_path / "axpy.json").exists() and (tmp_path / "axpy.c").exists()
