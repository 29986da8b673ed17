"""Calls that are repeated: what was checked once is kept as long as its arrays live."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from work import frames

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, PortmpError
from portmp.routines import base
from portmp.runtime import launch

ADDED = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n)
        ${store("y", "i", add(load("x", "i"), load("y", "i")))}
}
"""
SCALED = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n && i < last)
        ${store("y", "i", mul(load("a"), load("y", "i")))}
}
"""


def plans(kernel: mp.Kernel) -> list[launch.Plan]:
    """What a kernel keeps for calls that come again."""
    return [plan for kept in kernel._plans.values() for plan in kept.values()]


def added() -> mp.Kernel:
    """y += x."""
    return mp.Kernel(ADDED, "added(x: in [n], y: inout [n])", threads="n", block=64)


def test_repeated_calls_are_calls(device: Device) -> None:
    """The same arrays again, by turns with others, given in another order or by place."""
    kernel = added()
    x, y, z = (mp.array([k, 10 * k], "dd", device) for k in (1, 2, 3))
    for _ in range(3):
        kernel(x=x, y=y)
        kernel(y=z, x=y)
    kernel(x, y)
    assert y.to_fractions() == [6, 60]
    assert z.to_fractions() == [3 + 3 + 4 + 5, 150]
    assert len(plans(kernel)) == 1
    kernel(x=x[:1], y=y[1:])
    assert len(plans(kernel)) == 2 and y.to_fractions() == [6, 61]
    with mp.capture() as step:
        kernel(x=x, y=y)
    step.replay()
    assert y.to_fractions() == [8, 81]


def test_numbers_and_grids_are_a_calls_own(device: Device) -> None:
    """Numbers are looked at in every call, and so are grids that they decide."""
    takes = "scaled(a: value, last: int32, y: inout [n])"
    kernel = mp.Kernel(SCALED, takes, grid=lambda last: -(-last // 64), block=64)
    y = mp.array([1] * 130, "dd", device)
    kernel(a=2, last=130, y=y)
    kernel(a=3, last=64, y=y)
    kernel(a=5, last=0, y=y)
    assert y.to_fractions() == [6] * 64 + [2] * 66
    for wrong in ({"a": "x", "last": 1}, {"a": 2, "last": 2**31}, {"a": None, "last": 1}):
        with pytest.raises(PortmpError, match=r"scaled: (a|last)"):
            kernel(y=y, **wrong)
    with pytest.raises(ArgumentError, match="scaled: y: int given"):
        kernel(a=1, last=1, y=5)
    assert y.to_fractions() == [6] * 64 + [2] * 66


def scaled(form: str = "dd") -> mp.Kernel:
    """y *= a, where i < last; a grid that no number decides."""
    takes = "scaled(a: value, last: int32, y: inout [n])"
    return mp.Kernel(SCALED, takes, threads="n", block=64, format=form)


def test_numbers_change_from_launch_to_launch(device: Device) -> None:
    """What is prepared takes each call's numbers; what is recorded keeps those of then."""
    kernel = scaled()
    y = mp.array([1] * 130, "dd", device)
    for a, last in ((2.0, 130), (3, 64), ("5", 130), (0.1, 0), (-1.0, 1), (0.5, 130)):
        kernel(a=a, last=last, y=y)
    [plan] = plans(kernel)
    assert len(plan.steps) == 1
    assert y.to_fractions() == [-15] + [15] * 63 + [5] * 66
    for wrong in ({"a": "x", "last": 1}, {"a": 2, "last": 2**31}, {"a": y, "last": 1}):
        with pytest.raises(PortmpError, match=r"scaled: (a|last)"):
            kernel(y=y, **wrong)
    with mp.capture() as step:
        kernel(a=2, last=1, y=y)
    kernel(a=7, last=2, y=y)
    step.replay()
    assert y.to_fractions() == [-15 * 2 * 7 * 2, 15 * 7] + [15] * 62 + [5] * 66


def test_threads_with_numbers_of_their_own(device: Device) -> None:
    """The same kernel and arrays in many threads: each launch has its own thread's number."""
    kernel = scaled("float64")
    y = mp.array([1.0], "float64", device)
    kernel(a=1.0, last=1, y=y)
    numbers = [2.0, -1.0, 0.5, 4.0, 0.25]

    def launch(number: float) -> None:
        for _ in range(200):
            kernel(a=number, last=1, y=y)
            kernel(a=1 / number, last=1, y=y)

    with ThreadPoolExecutor(len(numbers)) as pool:
        list(pool.map(launch, numbers))
    assert y.to_fractions() == [1]


@pytest.mark.parametrize("name", [*formats.STANDARD, "slfp64in48b", "dd2011", "ts2021"])
def test_limbs_of_floats(name: str) -> None:
    """The short way from floats to limbs gives what the conversion gives, bit for bit."""
    form = formats.get(name).arithmetic
    rng = np.random.default_rng(5)
    values = [0.0, -0.0, 1e-45, -7e-46, 1e-50, 3.4028235677973366e38, 3.5e38, -1e308, 5e-324]
    values += [math.inf, -math.inf, math.nan, 2.0**-149, 0.1, 2.0**181 / 3]
    values += (rng.standard_normal(200) * 10.0 ** rng.integers(-60, 60, 200)).tolist()
    for value in values:
        short = base.scalar_limbs(form, value, "a")
        exact = base._scalar_limbs(form, value, "a")
        assert [x.tobytes() for x in short] == [x.tobytes() for x in exact], value
        assert [type(x) for x in short] == [type(x) for x in exact]


@pytest.mark.parametrize("grid", [{"threads": "n"}, {"grid": lambda last: -(-last // 64)}])
def test_nothing_keeps_arrays(grid: dict[str, Any], device: Device) -> None:
    """Memory is given back with the arrays, and others at their places are other arrays."""
    takes = "added(last: int32, x: in [n], y: inout [n])"
    kernel = mp.Kernel(ADDED, takes, block=64, **grid)
    for k in range(6):
        x, y = (mp.array([k, 1], "dd", device) for _ in range(2))
        for _ in range(2):
            kernel(x=x, y=y, last=k + 1)
        assert y.to_fractions() == [3 * k, 3]
        assert len(plans(kernel)) == 1
        memory = weakref.ref(x.planes.buffers[0])
        del x
        gc.collect()
        assert memory() is None


def test_kernels_go_with_their_plans(device: Device) -> None:
    """What is compiled for a kernel that is gone is kept by no queue."""
    kernel = added()
    x, y = (mp.array([1], "dd", device) for _ in range(2))
    kernel(x=x, y=y)
    gone = weakref.ref(kernel), weakref.ref(kernel.module)
    del kernel
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_an_array_given_twice(device: Device) -> None:
    """Is one array; another view of it overlaps, whichever call comes first."""
    for first in (0, 1):
        kernel, y = added(), mp.array([1, 2], "dd", device)
        for turn in range(first, first + 3):
            if turn % 2:
                with pytest.raises(ArgumentError, match="added: y: overlaps x"):
                    kernel(x=y[:], y=y)
            else:
                kernel(x=y, y=y)
        assert y.to_fractions() == ([4, 8] if first == 0 else [2, 4])


def test_queues_of_calls_without_arrays(device: Device) -> None:
    """What is made lies in the queue that is meant at the time of each call."""
    kernel = mp.Kernel("${kernel()}\n{\ny0[0] = 7;\n}\n", "seven(y: out int32 [n])", grid=1)
    other = mp.queue(device)
    for _ in range(2):
        for queue in (device.queue, other):
            with mp.device(queue):
                made = kernel(n=1)
            assert made.planes.queue is queue and made.to_numpy().tolist() == [7]
            assert kernel(n=3, device=queue).planes.queue is queue


@pytest.mark.parametrize("given", ["by name", "by place", "made"])
def test_calls_run_few_functions(
    given: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decided by how arrays lie is decided once."""
    reserve = getattr(device, "reserve", None)
    if reserve is not None:  # what tests write to new memory is no call's
        monkeypatch.setattr(reserve, "poison", False)
    twice = mp.Kernel(ADDED.replace('"y", "i"))', '"x", "i"))'), "t(x: in [n], y: out [n])", grid=1)
    x, y = (mp.array([1], "dd", device) for _ in range(2))
    calls: dict[str, Callable[[], Any]] = {
        "by name": lambda: twice(x=x, y=y),
        "by place": lambda: twice(x, y),
        "made": lambda: twice(x=x),
    }
    calls[given]()
    assert frames(calls[given]) <= (13 if given == "made" else 9)


def test_as_many_calls_are_kept_as_are_allowed(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then all are forgotten, and made anew."""
    monkeypatch.setattr(launch, "MOST", 3)
    kernel = added()
    xs = [mp.array([1] * k, "dd", device) for k in range(8)]
    ys = [mp.array([k] * k, "dd", device) for k in range(8)]
    for _ in range(2):
        for x, y in zip(xs, ys, strict=True):
            kernel(x=x, y=y)
            assert 1 <= len(plans(kernel)) <= 3
    assert [y.to_fractions() for y in ys] == [[k + 2] * k for k in range(8)]


@pytest.mark.parametrize(
    "block", ["16 * k", ("8 * k", 2), lambda k: 16 * k, lambda j, k: (j, 8 * k)]
)
def test_blocks_of_values(block: Any) -> None:
    """A block may be made of the template's values, and follows them."""
    kernel = mp.Kernel(
        "${kernel()}\n{\n/* ${block_size(0) * block_size(1)} */\n}\n",
        "k(x: in [n])",
        threads="n",
        block=block,
        j=2,
        k=4,
    )
    assert kernel.block.threads == 64 and "/* 64 */" in kernel.render("cuda")
    twice = kernel.module.varied({"k": 8}, {}).kernels["k"]
    assert twice.block.threads == 128 and "/* 128 */" in twice.render("opencl")


WRONG_BLOCKS: dict[str, tuple[Any, str]] = {
    "size": ("n", "block: 'n' is no value of the kernel"),
    "near": ("tiel", "block: 'tiel' is no value of the kernel .did you mean 'tile'"),
    "value": ("name", "block: name is 'axpy', an integer is needed"),
    "function": (lambda tile: tile - 4, "block: 0 given, one to three integers from 1 on"),
    "fraction": (lambda tile: tile / 2, "block: 2.0 given, one to three integers from 1 on"),
    "axes": ((1, 1, "tile", 1), r"block: \(1, 1, 'tile', 1\) given, one to three axes"),
}


@pytest.mark.parametrize("name", WRONG_BLOCKS)
def test_wrong_blocks(name: str) -> None:
    """One sentence that names the block."""
    block, message = WRONG_BLOCKS[name]
    with pytest.raises(ArgumentError, match=message):
        mp.Kernel(
            "${kernel()}\n{\n}\n", "k(x: in [n])", threads="n", block=block, tile=4, name="axpy"
        )
