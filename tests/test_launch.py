"""Plans: calls that come again do what the first one did, with other memory and other numbers."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import TURNS, by_turns, slow
from tiers import check
from work import frames

import portmp as mp
from portmp import paths
from portmp.backends.base import Device, recording, replay
from portmp.codegen.render import RenderedSource
from portmp.errors import CompileError, DeviceError
from portmp.routines.ozaki.options import Auto
from portmp.runtime import launch, planes, program
from portmp.runtime.planes import PERIOD, Start, Unknown
from portmp.schedules import database

RNG = np.random.default_rng(5)


def bits(x: Any) -> list[bytes]:
    """The limbs of an array."""
    return [np.ascontiguousarray(plane).tobytes() for plane in x.to_limbs()]


def some(shape: tuple[int, ...], form: str, device: Device) -> mp.Array:
    """Random numbers."""
    return mp.array(RNG.standard_normal(shape), form, device) / 3


@pytest.mark.parametrize("form", ["float64", "ts", "slfp64in48b"])
def test_other_memory_and_numbers(form: str, device: Device) -> None:
    """A plan holds for all arrays that lie alike, and numbers are those of each call."""
    first, second = some((3, 4), form, device), some((3, 4), form, device)
    for number in (2.5, 0, -0.0, 1, -1, float("inf"), 0.1):
        for x in (first, second):
            found = x * number if number != 0.1 else x * "0.1"
            host = mp.array(x.to_fractions(), form, "host")
            wanted = host * number if number != 0.1 else host * "0.1"
            assert bits(found) == bits(wanted), number


def test_memory_of_its_own_or_shared(device: Device) -> None:
    """Operands that share memory, and those that do not, in turns."""
    x, y = some((5, 5), "dd", device), some((5, 5), "dd", device)
    both, twice = bits(x + y), bits(x + x)
    for _ in range(2):
        assert bits(x + y) == both and bits(x + x) == twice
    c = some((5, 5), "dd", device)
    wanted = bits(mp.gemm(x, y, beta=2, c=c))
    for _ in range(2):
        target, apart = c.copy(), mp.zeros((5, 5), "dd", device)
        assert bits(mp.gemm(x, y, beta=2, c=target, out=target)) == wanted
        assert bits(mp.gemm(x, y, beta=2, c=c, out=apart)) == wanted


@pytest.mark.parametrize("k", [700, 2500])
def test_products_by_several_kernels(k: int, device: Device) -> None:
    """What is added up in memory of the plan's own, by one kernel for each slab or by blocks."""
    a, b = some((3, k), "float32", device), some((k, 2), "float32", device)
    host = [mp.array(v.to_fractions(), "float32", "host") for v in (a, b)]
    for alpha, beta in ((1, 0), (0, 1), (-1, 1), (3, 0.5), (0, 0)):
        for _ in range(2):
            c = some((3, 2), "float32", device)
            mine = mp.gemm(a, b, alpha=alpha, beta=beta, c=c)
            there = mp.array(c.to_fractions(), "float32", "host")
            assert bits(mine) == bits(mp.gemm(*host, alpha=alpha, beta=beta, c=there))


@slow(TURNS, unless=by_turns("n", (1, 7, 40)))
@pytest.mark.parametrize("n", [1, 7, 40])
def test_systems(n: int, anywhere: Device) -> None:
    """Factors, rows and triangles in one plan, for other matrices; a singular one is named."""
    for _ in range(2):
        a, b = some((2, n, n), "dd", anywhere), some((2, n, 3), "dd", anywhere)
        mine = mp.linalg.solve(a, b)
        host = [mp.array(v.to_fractions(), "dd", "host") for v in (a, b)]
        assert bits(mine) == bits(mp.linalg.solve(*host))
        a[1, :, n - 1] = 0
        with pytest.raises(mp.errors.LinAlgError, match=f"entry 1 .* column {n - 1} "):
            mp.linalg.solve(a, b)


CALLS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + x,
    "scaled": lambda x: x * 2.5,
    "exp": mp.exp,
    "sum": lambda x: x.sum(axis=0),
    "product": lambda x: x @ x,
    "where": lambda x: mp.where(x > 0, x, -x),
    "converted": lambda x: x.astype("float32"),
}


@pytest.mark.parametrize("name", CALLS)
def test_places_are_told_apart(name: str, device: Device) -> None:
    """By strides, starts, shapes and formats: a plan of one view is not taken for another."""
    arrays = [some(s, form, device) for s, form in (((7, 6), "dd"), ((3, 3), "td"))]
    host = [mp.array(x.to_fractions(), x.format, "host") for x in arrays]
    (whole, *others), (there, *theirs) = arrays, host
    shown: list[Callable[[Any], Any]] = [
        lambda x: x[:3, :3],
        lambda x: x[2:5, 1:4],
        lambda x: x[:3, :3].T,
        lambda x: x[::2, ::2][:3],
        lambda x: x[:3, ::-1][:, :3],
    ]
    views = [*(show(whole) for show in shown), *others]
    found = [bits(CALLS[name](v)) for v in views]
    again = [bits(CALLS[name](v)) for v in reversed(views)]
    wanted = [bits(CALLS[name](v)) for v in (*(show(there) for show in shown), *theirs)]
    assert found == again[::-1] == wanted


@slow(TURNS, unless=by_turns("form", ("dd", "slfp64in48b", "tsin80b")))
@pytest.mark.parametrize("form", ["dd", "slfp64in48b", "tsin80b"])
def test_slices_share_plans(form: str, anywhere: Device) -> None:
    """Where an operand begins is told in each call: a walk along an array makes few plans."""
    n = 3 * PERIOD
    x, y = some((n + 9,), form, anywhere), some((n + 9,), form, anywhere)
    at_once = [list(map(str, v.to_fractions())) for v in (x + y, mp.exp(x))]
    queue = x.queue
    before = set(queue.plans)
    for i in (*range(PERIOD, n), *range(PERIOD)):
        apart = x[i : i + 8] + y[n - i : n - i + 8]
        assert bits(apart) == bits(x[i : i + 8].copy() + y[n - i : n - i + 8].copy())
        assert bits(x[i : i + 8] + y[i : i + 8]) == bits((x + y)[i : i + 8])
        assert bits(mp.exp(x[i : i + 8])) == bits(mp.exp(x)[i : i + 8])
    made = [key for key in queue.plans if key not in before]
    assert len(made) < 6 * (PERIOD + 2) and launch._PLACED not in queue.plans.values()
    assert at_once == [list(map(str, v.to_fractions())) for v in (x + y, mp.exp(x))]


def test_starts_are_known_by_their_rest(device: Device) -> None:
    """Whether neighbours are read at once depends on it."""
    x = some((5 * PERIOD,), "slfp64in48b", device)
    first, one, two, odd = (x[i : i + 8].planes.facts for i in (0, PERIOD, 2 * PERIOD, PERIOD + 1))
    assert one is two and len({first, one, odd}) == 3


def test_slices_of_one_memory(device: Device) -> None:
    """In place, one in another, and one beside the other: wherever both begin."""
    host = mp.array(np.arange(40.0) / 3, "dd", "host")
    mine = host.to(device)
    for i in range(30):
        for x in (host, mine):
            x[i : i + 5] += x[i : i + 5]
            x[i + 1 : i + 6] = x[i : i + 5]
            x[i : i + 3] *= x[i + 3 : i + 6]
            x[i] = x[i + 2]
        assert bits(host) == bits(mine)


def test_shifted_results_are_refused_wherever_they_begin(device: Device) -> None:
    """A plan of operands that lie apart is none of those that overlap."""
    x, y = some((60,), "dd", device), some((5,), "dd", device)
    mp.add(x[4:9], y, out=x[4 + PERIOD + 1 : 9 + PERIOD + 1])
    with pytest.raises(mp.PortmpError, match="overlap"):
        mp.add(x[4 + PERIOD : 9 + PERIOD], y, out=x[4 + PERIOD + 1 : 9 + PERIOD + 1])


def test_plans_that_ask_where_operands_begin(device: Device) -> None:
    """They hold for one place each; other places have plans of their own."""
    whole, wide = some((12, 12), "dd", device), some((2, 9, 9), "dd", device)
    for _ in range(2):
        for i in (0, 1, 2, 5):
            part, both = whole[i : i + 4, i : i + 4], wide[:, i : i + 4, 1:5]
            assert bits(mp.linalg.solve(part, part[0])) == bits(
                mp.linalg.solve(part.copy(), part[0].copy())
            )
            assert bits(both @ both) == bits(both.copy() @ both.copy())
            assert bits(mp.linalg.cholesky(part @ part.T)) == bits(
                mp.linalg.cholesky(part.copy() @ part.copy().T)
            )
    start = Start(21, 3)
    assert start % 4 == 1 and start == Start(21, 3) and Start(5, 3) == start
    part = start + 12
    assert part % 8 == 1 and part == start + 12 != start and hash(part) == hash(start + 12)
    for asked in (
        lambda: start + start,
        lambda: start - 1,
        lambda: start % 32,
        lambda: bool(start),
        lambda: start == 21,
    ):
        with pytest.raises(Unknown):
            asked()


def test_plans_of_parts_of_operands(device: Device) -> None:
    """A plan that begins within its operands serves them wherever these begin."""
    whole = some((70, 70), "dd", device)
    for method in ("ozaki2", Auto(smallest=4)):
        plans = set()
        for i in (8, 16, 32, 40):
            x = whole[i : i + 20, :40]
            found = mp.gemm(x, x.T, method=method)
            assert bits(found) == bits(mp.gemm(x.copy(), x.copy().T, method=method))
            plans.add(len(device.queue.plans))
        assert len(plans) == 1
    for i in (8, 16, 24):
        x = whole[i : i + 46, :46]
        found, wanted = (mp.linalg.solve_triangular(v, v) for v in (x, x.copy()))
        assert bits(found) == bits(wanted)


def test_calls_that_may_stay_alone(device: Device) -> None:
    """They are planned when they come again: then nothing of them runs but what they launch."""
    x, noted = some((30,), "dd", device), []

    def launches(x: Any) -> None:
        noted.append(x.queue.notes)

    for _ in range(4):
        launch.repeat(("such", RNG), (x.planes,), launches, launches, later=True)
    assert noted == [False, True]


def test_recorded_launches(device: Device) -> None:
    """What a plan launches is recorded like all launches, and keeps its memory."""
    x, y = some((40,), "dd", device), some((40,), "dd", device)
    out, total = mp.zeros(40, "dd", device), mp.zeros((), "dd", device)
    for _ in range(2):
        with recording() as launches:
            mp.add(x, y, out=out)
            mp.dot(out, y, out=total)
        x += 1
        replay(launches)
        assert bits(out) == bits(x + y) and bits(total) == bits(mp.dot(x + y, y))


def test_kernels_of_planned_calls_are_seen(device: Device) -> None:
    """Those who collect what a call looks up see it the second time, too."""
    x = some((9,), "ts", device)
    seen = []
    for _ in range(2):
        with program.watching() as specs:
            x / x
        seen.append([spec.name for spec in specs])
    assert seen[0] == seen[1] == ["elementwise_div"]


def test_sizes_of_numpys_integers(device: Device) -> None:
    """They are equal to Python's: a plan made with the ones serves the others."""
    planes.blank.cache_clear()
    planes.dense_strides.cache_clear()
    made = planes.blank("int32", (np.int64(2), np.int32(5)))
    assert all(type(n) is int for n in (*made.shape, *made.strides, *made.sizes))
    of_numpy = planes.allocate_numbers("int32", (np.int64(7),), device.queue)
    assert all(type(n) is int for n in (*of_numpy.shape, *of_numpy.strides))


def test_plans_are_made_anew(device: Device) -> None:
    """Where the device's traits are others, or databases of schedules were read again."""
    x = some((4, 4), "dd", device)
    x - x
    kept = x.queue.plans
    x - x
    assert x.queue.plans is kept
    database.reload()
    x - x
    assert x.queue.plans is not kept
    kept, usual = x.queue.plans, device.traits
    try:
        device.traits = replace(usual)
        x - x
        assert x.queue.plans is not kept
    finally:
        device.traits = usual


@pytest.mark.parametrize("limit", ["MOST", "MOST_STEPS"])
def test_plans_are_so_many(limit: str, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of many shapes do not fill memory, by their plans or by the launches in these."""
    monkeypatch.setattr(launch, limit, 3)
    x = some((20,), "dd", device)
    x.queue.plans = None
    for n in range(20):
        assert (x[:n] + x[:n]).shape == (n,)
        launches = sum(len(plan.steps) for plan in x.queue.plans.values())
        assert (len(x.queue.plans) if limit == "MOST" else launches) <= 3


def test_plans_keep_no_memory(device: Device) -> None:
    """What a call was given is free once the arrays are gone."""
    x, y = some((30,), "dd", device), some((30,), "dd", device)
    z = x + y
    kept = [weakref.ref(v.planes) for v in (x, y, z)]
    del x, y, z
    gc.collect()
    assert [ref() for ref in kept] == [None] * 3


def test_threads_share_plans(device: Device) -> None:
    """Each gets the results of its own arrays."""
    given = [(some((50,), "dd", device), float(i)) for i in range(4)]
    wanted = [bits((x * number) + x) for x, number in given]
    wrong: list[int] = []

    def work(which: int) -> None:
        x, number = given[which]
        for _ in range(100):
            if bits((x * number) + x) != wanted[which]:
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_operands_of_other_queues(device: Device) -> None:
    """Are refused wherever launches are planned, and nothing is launched."""
    x = mp.zeros((3, 3), "dd", device)
    other = mp.zeros((3, 3), "dd", mp.queue(device))
    mask = mp.zeros(3, bool, mp.queue(device))
    calls: list[Callable[[], Any]] = [
        lambda: x + other,
        lambda: x @ other,
        lambda: mp.dot(x[0], other[0]),
        lambda: mp.gemv(x, other[0]),
        lambda: mp.where(x > 0, x, other),
        lambda: mp.concat((x, other)),
        lambda: mp.linalg.solve(x, other),
        lambda: mp.add(x, x, out=other),
        lambda: mp.sum(x, axis=0, out=other[0]),
        lambda: mp.searchsorted(x[0], other[0]),
        lambda: x.__setitem__(slice(None), other),
        lambda: x.__setitem__(mask, 1),
    ]
    for call in calls:
        with pytest.raises(DeviceError, match="queue"):
            call()


MOST = {
    "a + b": (lambda v: v["a"] + v["a"], 25),
    "a * number": (lambda v: v["a"] * 2.5, 25),
    "exp": (lambda v: mp.exp(v["a"]), 25),
    "dot": (lambda v: mp.dot(v["a"], v["a"]), 35),
    "sum": (lambda v: v["a"].sum(), 45),
    "gemm": (lambda v: mp.gemm(v["m"], v["m"]), 40),
    "matrix @ matrix": (lambda v: v["m"] @ v["m"], 40),
    "matrix @ vector": (lambda v: v["m"] @ v["m"][0], 40),
    "solve": (lambda v: mp.linalg.solve(v["m"], v["m"][0]), 250),
}
"""Calls, and how many Python functions of portmp the second one may run."""


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("form", ["float64", "dd"])
def test_calls_run_few_functions(
    form: str, name: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decided by shapes, formats and devices is decided once."""
    call, most = MOST[name]
    reserve = getattr(device, "reserve", None)
    if reserve is not None:  # what tests write to new memory is no call's
        monkeypatch.setattr(reserve, "poison", False)
    values = {"a": some((100,), form, device), "m": some((64, 64), form, device)}
    call(values)
    assert frames(lambda: call(values)) <= most


def test_kernels_of_a_plan_are_compiled_together(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By threads, each once and before the first is loaded; what fails is tried again."""
    rng = np.random.default_rng(70)
    a = mp.array(rng.standard_normal((70, 70)), "dd", device) + 70 * mp.eye(70, dtype="dd")
    wanted = bits(mp.linalg.solve(a.to("host"), a[:, 0].to("host")))
    asked, begun, loaded = [], [], []
    compiled, load, broken = program.compile_source, device.load, [True]
    begin = program.begin

    def compile_source(where: Device, text: RenderedSource) -> bytes:
        asked.append((threading.current_thread(), text.text))
        if broken and "lu_panel" in text.kernels:
            broken.clear()
            raise CompileError("as a test asks")
        return compiled(where, text)

    def told(where: Device, unit: Any) -> bool:
        begun.append(begin(where, unit))
        return begun[-1]

    def counted(binary: bytes, kernels: Any) -> Any:
        loaded.append(sum(begun))
        return load(binary, kernels)

    monkeypatch.setattr(paths, "kept", lambda _: None)
    monkeypatch.setattr(program, "compile_source", compile_source)
    monkeypatch.setattr(program, "begin", told)
    monkeypatch.setattr(device, "load", counted)
    monkeypatch.setattr(device.queue, "plans", None)
    program.forget(device)
    with pytest.raises(CompileError, match="as a test asks"):
        mp.linalg.solve(a, a[:, 0])
    assert bits(mp.linalg.solve(a, a[:, 0])) == wanted
    texts = [text for _, text in asked]
    assert len(set(texts)) == len(texts) - 1
    assert not any(thread is threading.current_thread() for thread, _ in asked)
    assert max(loaded.count(n) for n in loaded) > 3


def test_host_time_without_a_gpu() -> None:
    """A driver that does nothing is given what a GPU's would be, in each call as much."""
    check("nvrtc")
    script = Path(__file__).with_name("host_time.py")
    asked = ["sum", "64", "--devices", "2", "--calls", "3"]
    run = subprocess.run(
        [sys.executable, script, *asked], capture_output=True, text=True, check=True
    )
    told = re.findall(
        r"call (\d): +[\d.]+ ms of the host, (\d+) launches, (\d+) copies", run.stdout
    )
    assert [call for call, *_ in told] == ["1", "2", "3"] and told[1][1:] == told[2][1:]
    assert int(told[1][1]) >= 4 and int(told[1][2]) > 0
