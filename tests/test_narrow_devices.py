"""Devices of few threads a block give the same bits; a block or a grid too large is refused.

CPUs' OpenCL may allow one thread a block where a kernel has barriers; more gave wrong bits there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import tiers
from slow import mostly_slow

import portmp as mp
from portmp import discovery, formats, nbody
from portmp.backends.base import Device, Queue, recording, replay
from portmp.discovery import probe
from portmp.errors import DeviceError, LaunchError
from portmp.formats import inputs
from portmp.routines import base, compilation_units
from portmp.routines.gemm import launch as gemm
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.gravity import launch as gravity
from portmp.routines.ozaki import Ozaki1, Ozaki2
from portmp.routines.products import engines
from portmp.routines.reference import Host
from portmp.routines.split2021 import launch as split2021
from portmp.routines.triangular.launch import copy_spec
from portmp.runtime import planes, program
from portmp.schedules import database
from portmp.verify import cases as verify


def narrow(threads: int, kind: str = "cpu") -> Device:
    """A device of its own that says it allows so few threads a block."""
    device = tiers.new_cpu()
    device.properties = replace(device.properties, max_threads=threads, kind=kind)
    return device


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Schedules that were found for a changed device are not kept for others."""
    yield
    database.reload()


Launched = list[tuple[str, int]]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Kernels' names and threads a block, as they are launched, or planned to be."""
    found: Launched = []

    def noting(launch: Any) -> Any:
        def noted(self: Queue, kernel: Any, grid: Any, block: Any, *rest: Any) -> Any:
            found.append((kernel.name, math.prod(block)))
            return launch(self, kernel, grid, block, *rest)

        return noted

    for how in ("launch", "relauncher"):
        monkeypatch.setattr(Queue, how, noting(getattr(Queue, how)))
    return found


def array(device: Device, form: str, shape: tuple[int, ...], seed: str) -> mp.Array:
    """Ordinary numbers there."""
    f = formats.get(form)
    return mp.Array(planes.upload(f, inputs.ordinary(f, shape, seed), device.queue))


def same(found: Host, expected: Host) -> bool:
    """Whether all limbs have the same bits."""
    return verify.digest(found) == verify.digest(expected)


DEVICES = [(1, "cpu"), (1, "gpu"), (8, "gpu"), (100, "gpu")]
WAYS = [(*d, form) for d in DEVICES for form in ("dd", "ts", "float32", "fp64infp32")]
WAYS.append((8, "gpu", "qd"))


@pytest.mark.parametrize(
    ("threads", "kind", "form"),
    mostly_slow(WAYS, [(1, "cpu", "float32")], "all kernels of each device"),
)
def test_every_case_has_its_bits(threads: int, kind: str, form: str, launched: Launched) -> None:
    """What ``portmp verify`` compares, of every routine."""
    device = narrow(threads, kind)
    wrong = [
        case.key
        for case in verify.cases(form)
        if not same(verify.device_result(case, device), case.host_result())
    ]
    assert not wrong
    assert launched
    assert max(block for _, block in launched) <= threads


def _product(device: Device, **options: Any) -> mp.Array:
    a, b = array(device, "dd", (5, 2300), "a"), array(device, "dd", (2300, 4), "b")
    return mp.gemm(a, b, **options)


def _field(device: Device) -> mp.Array:
    position, mass = array(device, "dd", (2100, 3), "p"), array(device, "dd", (2100,), "m")
    return nbody.acceleration(position, mass, eps="0.1", targets=position[:3])


def _paper(device: Device) -> mp.Array:
    a, b = array(device, "ts2021", (9, 20), "a"), array(device, "ts2021", (20, 7), "b")
    return mp.Array(split2021.gemm(a.planes, b.planes, 3))


SPLIT = GemmSchedule(threads_m=1, threads_n=1).for_call(split=True)

LONG: dict[str, tuple[Callable[[Device], mp.Array], tuple[str, ...]]] = {
    "slabs": (lambda d: _product(d, schedule=SPLIT), ("gemm_slabs", "gemm_combine")),
    "dot": (lambda d: mp.dot(*(array(d, "ts", (30000,), s) for s in "xy")), ()),
    "sum": (lambda d: array(d, "dd", (3, 20000), "x").sum(axis=1), ()),
    "gemv": (lambda d: mp.gemv(array(d, "dd", (70, 900), "a"), array(d, "dd", (900,), "x")), ()),
    "strided": (lambda d: mp.sqrt(array(d, "dd", (30, 40), "x").T[::3]), ()),
    "gravity": (_field, ("gravity_combine",)),
    "ozaki1": (lambda d: _product(d, method=Ozaki1(engine="own")), ("int8_product",)),
    "ozaki2": (lambda d: _product(d, method=Ozaki2(engine="own")), ("ozaki_exponents",)),
    "split2021": (_paper, ("split2021_slice", "split2021_add")),
}


@pytest.mark.parametrize(("threads", "kind"), mostly_slow(DEVICES, [(1, "cpu")], "of each device"))
@pytest.mark.parametrize("name", LONG)
def test_long_ones_are_combined(name: str, threads: int, kind: str, launched: Launched) -> None:
    """Several slabs, chunks and engines' tiles: bits are those of the host."""
    call, kernels = LONG[name]
    expected = call(discovery.get("host"))
    found = call(narrow(threads, kind))
    assert same(found.to_limbs(), expected.to_limbs())
    assert set(kernels) <= {kernel for kernel, _ in launched}
    assert max(block for _, block in launched) <= threads


def test_comparing_and_the_probe(launched: Launched) -> None:
    """Comparisons wait for signs; the probe's own kernels fit too."""
    device = narrow(1)
    x = array(device, "dd", (300,), "x")
    y = array(device, "dd", (300,), "x")
    assert bool((x == y).all())
    assert probe.examine(device).refusal == ""
    assert {block for _, block in launched} == {1}


def test_a_block_or_a_grid_too_large_is_refused() -> None:
    """Before anything runs, with the kernel's name, what is given and what is allowed."""
    device = narrow(32)
    one = copy_spec("dd", 64)
    kernel = program.kernels(device, one)["triangle"]
    allowed = rf"'triangle' .*: 64 threads a block, {device.name} allows 32"
    with pytest.raises(LaunchError, match=allowed):
        device.queue.launch(kernel, (1, 1, 1), (64, 1, 1), [])
    with pytest.raises(LaunchError, match="64 threads a block"):
        device.queue.launch(kernel, (1, 1, 1), (8, 4, 2), [])
    for grid, block in (((0, 1, 1), (1, 1, 1)), ((1, 1, 1), (-1, -1, 1)), ((1, 1, 1), (1, 0, 1))):
        with pytest.raises(LaunchError, match="it is empty"):
            device.queue.launch(kernel, grid, block, [])
    device.most_blocks = (7, 5, 5)
    with pytest.raises(LaunchError, match=r"grid=\(1, 6, 1\).*allows \(7, 5, 5\) blocks"):
        device.queue.launch(kernel, (1, 6, 1), (1, 1, 1), [])


def test_repeated_launches_are_not_checked_again(launched: Launched) -> None:
    """A recording was checked when it was made."""
    device = narrow(1)
    x = array(device, "dd", (10,), "x")
    with recording() as launches:
        y = x * x
    before = len(launched)
    replay(launches)
    assert len(launched) == before
    assert same(y.to_limbs(), (x * x).to_limbs())


@pytest.mark.parametrize(("allowed", "threads"), [(1, 1), (63, 32), (64, 64), (1024, 256)])
def test_threads_of_a_block(allowed: int, threads: int) -> None:
    """The wanted number, or the largest power of two that the device allows."""
    device = narrow(allowed)
    assert base.threads(device, 256) == threads
    assert engines.side(device) ** 2 <= allowed
    assert base.threads(None, 256) == 256
    assert engines.side(None) == engines.SIDE
    with pytest.raises(DeviceError, match=r"\w+:\d+: blocks of 0 threads"):
        base.threads(narrow(0), 64)


def test_units_are_what_calls_compile() -> None:
    """Rendered for a narrow device, blocks have one thread: none is left at its usual size."""
    device = narrow(1)
    for form in ("dd", "ts2021"):
        for name, unit in compilation_units.units(form, device).items():
            for one in unit:
                text = one.render("opencl", device.traits).text
                assert set(re.findall(r"reqd_work_group_size\((\d+)", text)) == {"1"}, name
    assert gemm.COMBINE_THREADS > 1
    assert gravity.COMBINE_THREADS > 1
