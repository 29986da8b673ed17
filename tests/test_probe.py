"""Devices are probed when they are opened: approved, repaired or refused, with words."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiers
from slow import mostly_slow, slow

from portmp import discovery, formats, paths
from portmp.backends.base import Device
from portmp.backends.opencl import runtime
from portmp.backends.opencl.runtime import ClDevice
from portmp.codegen import kernel_spec
from portmp.codegen.platform import Traits
from portmp.compilers.opencl import OpenclCompiler
from portmp.discovery import isolated, probe, probe_process
from portmp.discovery.verdict import Verdict
from portmp.errors import CompileError, DeviceError
from portmp.routines import compilation_units
from portmp.runtime import program

"""Devices are opened anew: the process that probes them finds them as they usually are."""


@pytest.fixture
def fresh() -> Device:
    """An OpenCL CPU device of its own, so that its options and traits may be spoiled."""
    there = discovery.accepted(discovery.find("opencl").devices)
    found = next((d for d in there if d.properties.kind == "cpu"), None)
    if found is None:
        pytest.skip("no CPU is an OpenCL device here")
    assert isinstance(found, ClDevice)
    device = ClDevice(90, found.handle)
    device.traits = found.traits
    return device


@pytest.mark.with_host
def test_every_device_found_is_approved(every_device: Device) -> None:
    """Opening probes: the verdict is known and holds; a fresh probe gives it again."""
    assert probe.approve(every_device).refusal == ""


@pytest.mark.parametrize("option", ["-cl-fast-relaxed-math", "-cl-denorms-are-zero"])
def test_options_that_break_arithmetic_are_noticed(fresh: ClDevice, option: str) -> None:
    """Options that fold two_sum to zero are seen; flushing is, where the driver obeys it."""
    fresh.compiler.build_options += (option,)
    verdict = probe.examine(fresh)
    if option == "-cl-fast-relaxed-math":
        assert "differ from IEEE 754" in verdict.refusal


def _failing(check: str, until: Traits) -> Any:
    """Checks of which one fails until the device has the given traits."""

    def checks(device: Device, started: Any) -> Iterator[tuple[str, str, int, int]]:
        yield check, f"{check} made to fail", int(device.traits != until), 10

    return checks


@pytest.mark.parametrize(
    ("check", "cure"),
    [
        ("fma", {"fma": "contracted"}),
        ("division float32", {"division": "widened"}),
        ("square root float32", {"sqrt": "widened"}),
        ("barrier", {"barriers": "unoptimised"}),
    ],
)
def test_repairs(
    fresh: Device, monkeypatch: pytest.MonkeyPatch, check: str, cure: dict[str, Any]
) -> None:
    """What another spelling cures is repaired and said."""
    fresh.traits = Traits(warp_size=1)
    monkeypatch.setattr(probe, "_checks", _failing(check, replace(fresh.traits, **cure)))
    verdict = probe.examine(fresh)
    assert verdict.refusal == ""
    assert verdict.traits == replace(Traits(warp_size=1), **cure)
    assert verdict.repairs == (f"{check} made to fail: 1 of 10 results differ from IEEE 754",)


@pytest.mark.parametrize("check", ["rounding", "division float64", "two_sum float32"])
def test_what_has_no_cure_is_refused(
    fresh: Device, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    """The refusal says which operation differs."""
    monkeypatch.setattr(probe, "_checks", _failing(check, Traits(warp_size=-1)))
    assert check in probe.examine(fresh).refusal


def test_what_no_compiler_takes_is_not_counted(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No results differ where none were computed: the compiler's words are the refusal."""

    def compiled(*_: Any) -> Any:
        raise CompileError("no vectors here")

    monkeypatch.setattr(probe, "_arithmetic", compiled)
    found = probe._first_failure(fresh, lambda check: None)
    assert found is not None and "no vectors here: not tried" in found[1]
    assert "differ" not in found[1]
    monkeypatch.setattr(probe, "_arithmetic", lambda *_: iter(()))
    monkeypatch.setattr(probe.program, "kernels", compiled)
    fresh.traits = replace(fresh.traits, root="estimate")
    found = probe._first_failure(fresh, lambda check: None)
    assert found == ("reciprocal root", "reciprocal square root from the estimate: not tried")


def test_widened_division_and_root_are_correctly_rounded(fresh: Device) -> None:
    """The repairs themselves pass the probe on a real device."""
    fresh.traits = replace(fresh.traits, division="widened", sqrt="widened")
    assert probe.examine(fresh).refusal == ""


def test_negation_before_a_barrier(fresh: ClDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is kept wrongly the probe says so, and such programs are not optimised."""

    class Mixing(OpenclCompiler):
        """Intel's runtime 2026.2: a work-item gets the last one's; right without optimisation."""

        def compile(self, source: str, arch: str, *more: str) -> bytes:
            wrong = source.replace("kept = -numbers[thread]", "kept = -numbers[63]")
            asked.append((wrong != source, more))
            return super().compile(source if "-cl-opt-disable" in more else wrong, arch, *more)

    asked: list[tuple[bool, tuple[str, ...]]] = []
    binaries: dict[str, bytes] = {}
    monkeypatch.setattr(paths, "kept", binaries.get)
    monkeypatch.setattr(paths, "keep", binaries.__setitem__)
    fresh.compiler = Mixing(fresh.context, fresh.handle)
    fresh.traits = replace(fresh.traits, barriers="optimised")
    assert probe._first_failure(fresh, lambda check: None) == (
        "barrier",
        "a number kept over a barrier: 63 of 64 results differ from IEEE 754",
    )
    usual = fresh.traits
    verdict = probe.examine(fresh)
    assert verdict.traits == replace(usual, barriers="unoptimised")
    assert len(verdict.repairs) == 1 and verdict.refusal == ""
    assert (True, ("-cl-opt-disable",)) in asked
    assert not any(more for barrier, more in asked if not barrier)


BLOCKS = "__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void f()"


@pytest.mark.parametrize(
    ("line", "negates"),
    [
        ("y = -x;", True),
        ("y = fma(a, -b, c);", True),
        ("return -x;", True),
        ("y = (double4)-x;", True),
        ("y = x * -1.0f;", True),
        ("y = -1.0 * x;", True),
        ("y = -0.0 - x;", True),
        ("y = a[i] - f(x) - z;", False),
        ("int i = -1; --j; y = 1e-5f;", False),
        ("table = {-541304.0, 2.0};", False),
    ],
)
def test_only_negations_at_barriers_cost_optimisation(line: str, negates: bool) -> None:
    """In blocks of several work-items."""
    at_barriers = runtime._negates_at_barriers
    assert at_barriers(f"{BLOCKS.format(64)} {{ {line} barrier(1); }}") == negates
    assert not at_barriers(f"{BLOCKS.format(64)} {{ {line} }}")
    assert not at_barriers(f"{BLOCKS.format(1)} {{ {line} barrier(1); }}")


def _answering(answers: list[str]) -> Any:
    """Instead of ``Popen``: processes that run lines of Python, the last one ever on."""
    real = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
        code = answers.pop(0) if len(answers) > 1 else answers[0]
        return real(
            [sys.executable, "-c", f"import json, os, signal, sys, time; {code}"], **options
        )

    return start


CRASH = "sys.stderr.write('LLVM ERROR: cannot select\\n'); sys.stderr.flush(); os.abort()"


def test_a_crash_refuses_the_device(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that always kills the probe process does not kill the caller."""
    monkeypatch.setattr(probe, "_recalled", lambda key: None)
    monkeypatch.setattr(subprocess, "Popen", _answering([CRASH]))
    with pytest.raises(DeviceError, match=r"refused.*signal 6.*LLVM ERROR.*pocl-opencl-icd"):
        probe.approve(fresh)
    probe._verdicts.pop(fresh.name)


def test_one_crash_is_tried_again(fresh: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """An accident narrows nothing."""
    verdict = json.dumps(json.dumps(Verdict(fresh.traits).as_json()))
    monkeypatch.setattr(subprocess, "Popen", _answering([CRASH, f"print({verdict})"]))
    assert isolated.examine(fresh) == Verdict(fresh.traits)


STAND_IN = """
import os, re, sys, time
from portmp.compilers.opencl import OpenclCompiler
compile = OpenclCompiler.compile
def fragile(self, source, arch, *more):
    if re.search(r"\\b(double|long|ulong)8\\b|\\b(float|int|uint)16\\b", source):
        if "hangs" in os.environ["STAND_IN"]:
            time.sleep(600)
        print("LLVM ERROR: Cannot select: i64 = fsqrt", file=sys.stderr, flush=True)
        os.abort()
    return compile(self, source, arch, *more)
OpenclCompiler.compile = fragile
"""
"""A module that each Python process loads first: a compiler that cannot do 512 bits."""


@pytest.fixture(params=["dies", pytest.param("hangs", marks=slow("it waits for what never comes"))])
def stand_in(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Processes that are started find a compiler that dies of long vectors, or hangs."""
    (tmp_path / "sitecustomize.py").write_text(STAND_IN)
    monkeypatch.setenv("STAND_IN", request.param)
    own = paths.python_path()
    monkeypatch.setattr(paths, "python_path", lambda: os.pathsep.join([str(tmp_path), own]))
    if request.param == "hangs":
        monkeypatch.setattr(isolated, "SILENCE", 30.0)
    return str(request.param)


def test_a_compiler_that_cannot_do_long_vectors_gets_shorter_ones(
    fresh: Device, stand_in: str
) -> None:
    """As PoCL 3.0 on CPUs with AVX-512: repaired by half the width, nothing else is lost."""
    usual = replace(fresh.traits, vector_bits=512)
    fresh.traits = usual
    verdict = isolated.examine(fresh)
    assert verdict.refusal == ""
    assert verdict.traits == replace(usual, vector_bits=256)
    (repair,) = verdict.repairs
    assert repair.startswith("vectors of 512 bits: ")
    assert ("signal 6" in repair and "fsqrt" in repair) or (
        stand_in == "hangs" and "hung" in repair
    )


def test_the_probe_process_ignores_files_of_the_current_folder(
    fresh: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds this package and the device itself, not by place or number."""
    asked: list[tuple[list[str], dict[str, str]]] = []
    real = subprocess.Popen

    def start(command: list[str], **options: Any) -> subprocess.Popen[str]:
        asked.append((command, options["env"]))
        return real([sys.executable, "-c", "import sys; sys.exit('stopped here')"], **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(isolated.Ended, match="stopped here"):
        isolated._attempt(fresh, fresh.traits)
    ((command, environment),) = asked
    assert "-P" in command
    assert command[-2] == fresh.compiler_key()
    first = environment["PYTHONPATH"].split(os.pathsep)[0]
    assert (Path(first) / "portmp" / "__init__.py").is_file()
    traits = json.dumps(Verdict(fresh.traits).as_json())
    assert probe_process.main("opencl", "no such device", traits) == 1


VECTOR = re.compile(
    r"\b(?:as_|convert_)?(u?(?:char|short|int|long)|float|double)(2|4|8|16)(?:_anywhere|_rt[enpz])?\b"
)
BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64}


@pytest.mark.parametrize("bits", [256, 128])
@pytest.mark.parametrize(
    "name",
    mostly_slow(
        formats.NAMES,
        ("float32", "qs", "dd", "d+s"),
        "limbs of other numbers have the same templates",
    ),
)
def test_no_text_has_longer_vectors_than_the_device(fresh: Device, name: str, bits: int) -> None:
    """All that is compiled for a device: types, conversions, reinterpretations."""
    fresh.traits = replace(fresh.traits, vector_bits=bits)
    longest = 0
    for module in compilation_units.units(name, fresh).values():
        text = kernel_spec.rendered(module, fresh.platform, fresh.traits).text
        for kind, lanes in VECTOR.findall(text):
            longest = max(longest, BITS[kind.removeprefix("u")] * int(lanes))
    assert longest <= bits
    if not formats.get(name).scalar:
        assert longest == bits


def test_a_verdict_on_an_interpreter_goes_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept from one process to the next, until a line changes, and for one device."""
    device = tiers.interpreted("emulated:gfx90a")
    key = probe._key(device)
    monkeypatch.setattr(paths, "cache_folder", lambda: tmp_path)
    probe._remember(key, Verdict(device.traits))
    with monkeypatch.context() as patch:
        patch.setattr(program, "code", lambda: "other")
        assert probe._key(device) != key
    asked = []
    monkeypatch.setattr(probe, "_verdicts", {})
    monkeypatch.setattr(probe, "examine", asked.append)
    assert probe.approve(device).refusal == "" and not asked
    monkeypatch.setattr(type(device), "name", "emulated:gfx90a+1")
    assert probe._key(device) != key


def test_verdicts_of_other_traits_are_others(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict is kept for the traits that were examined."""
    key = probe._key(device)
    other = replace(
        device.traits, fma="builtin" if device.traits.fma != "builtin" else "contracted"
    )
    monkeypatch.setattr(device, "traits", other)
    assert probe._key(device) != key
