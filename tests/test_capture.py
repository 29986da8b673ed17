"""Captured launches: the same bits as the calls, the memory they live in, and what is refused."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.backends import base
from portmp.backends.base import Device
from portmp.errors import ArgumentError, DeviceError, LaunchError, PortmpError
from portmp.nbody.system import System

LEAPFROG = 5
"""Steps that are replayed."""


def bits(x: Any) -> list[bytes]:
    """The limbs of an array."""
    return [plane.tobytes() for plane in x.to_limbs()]


def some(shape: tuple[int, ...], form: str, device: Any, seed: int = 1) -> Any:
    """Values with all limbs."""
    return mp.array(np.random.default_rng(seed).standard_normal(shape), form, device) * mp.pi


def orbit(form: str, device: Any) -> tuple[list[Any], Callable[[], None]]:
    """A planet's state, and a step in place: copies, a reduction, numbers, what is made within."""
    x, v = mp.array([1, 0, 0], form, device), mp.array([0, 1, "0.1"], form, device)
    a = -x

    def step() -> None:
        v[...] = v + a * 0.125
        x[...] = x + v * 0.25
        r2 = (x * x).sum()
        a[...] = mp.where(r2 > 0, -x / (r2 * mp.sqrt(r2)), 0.5)
        v[1:] += a[1:] * 0.125
        v[:1] += a[:1] * 0.125

    return [x, v, a], step


@pytest.mark.with_host
@pytest.mark.parametrize("form", ["dd", "float16"])
def test_the_bits_of_the_calls(form: str, every_device: Device) -> None:
    """Replays go on where the block ended, one by one and by numbers."""
    plain, step = orbit(form, every_device)
    for _ in range(1 + LEAPFROG):
        step()
    state, step = orbit(form, every_device)
    with mp.capture() as loop:
        step()
    count = len(loop)
    assert count > 10 and repr(loop) == f"<portmp loop of {count} launches on {every_device.name}>"
    loop.replay()
    loop.replay(0)
    loop.replay(LEAPFROG - 1)
    assert [bits(x) for x in state] == [bits(x) for x in plain]


def test_operands_are_read_anew(anywhere: Device) -> None:
    """What changed in place since the block counts; numbers, and names of Python, as they were."""
    x, number = some((40,), "dd", anywhere), 3
    with mp.capture() as loop:
        y = x * number
    for number in (5, 7):
        x[...] = some((40,), "dd", anywhere, number)
        loop.replay()
        assert bits(y) == bits(x * 3)
    kept, x = x, some((40,), "dd", anywhere, 9)
    kept += 1
    loop.replay()
    assert bits(y) == bits(kept * 3) != bits(x * 3)


def test_memory_of_the_loop(device: Device) -> None:
    """What the block makes lives as long as the loop, whatever other arrays come and go."""
    x = some((500,), "dd", device)
    with mp.capture() as loop:
        y = (x + 1) * (x - 1)
        total = mp.sum(y * y)
        z = mp.array([1, 2, 3], "dd", device)
        z += 1
    wanted = bits(y), bits(total), bits(z)
    for seed in range(3):
        others = [some((500,), "dd", device, seed) for _ in range(20)]
        y[...], z[...] = 0, 0
        loop.replay()
        assert (bits(y), bits(total), bits(z)) == wanted, "made anew, not added to"
        del others
    del x
    gc.collect()
    loop.replay()
    assert bits(total) == wanted[1]


def test_fused_expressions(device: Device) -> None:
    """They are launches as others."""
    x = some((30,), "td", device)
    moved = mp.fuse(lambda x, y: mp.where(x > 0, x * y + 0.1, -x))
    with mp.capture() as loop:
        x[...] = moved(x, x[::-1])
    wanted = x.copy()
    for _ in range(3):
        wanted = mp.where(wanted > 0, wanted * wanted[::-1] + 0.1, -wanted)
    loop.replay(3)
    assert bits(x) == bits(wanted)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "if": lambda x: 1 if x > 0 else 0,
    "print": print,
    "to_numpy": lambda x: x.to_numpy(),
    "tolist": lambda x: (x > 0).tolist(),
    "solve": lambda x: mp.linalg.solve(mp.eye(3, dtype="dd", device=x.device) + x, [1, 2, 3]),
    "norm": lambda x: mp.linalg.norm(x * mp.ones((3, 3), "dd", x.device)),
    "array_equiv": lambda x: mp.array_equiv(x, x),
    "cg": lambda x: mp.linalg.cg(x * mp.ones((1, 1), "dd", x.device), x.reshape(1)),
    "random": lambda x: mp.random.default_rng(1).random(3, "dd", x.device),
    "write_from": lambda x: x.write_from(np.zeros(()), np.zeros(())),
    "another queue": lambda x: x.to(mp.queue(x.device)),
    "another device": lambda x: x.to("host") + 1,
    "work elsewhere": lambda x: (x + 1, mp.ones(3, "dd", mp.queue(x.device)) + 1),
    "another within": lambda x: mp.capture().__enter__(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str, device: Device) -> None:
    """Each says why in words; nothing is kept, and the thread launches as before."""
    x = mp.array(2, "dd", device)
    words = {"another within": "within another", "work elsewhere": "another queue or device"}
    usual = r"capture: .*(float\(\)|random|write_from copies)"
    with pytest.raises(ArgumentError, match=words.get(what, usual)), mp.capture() as loop:
        REFUSED[what](x)
    with pytest.raises(ArgumentError, match="nothing was captured: its block ended by Arg"):
        loop.replay()
    assert len(loop) == 0 and not base.is_recording()
    assert float(x + 1) == 3


def test_far_ends_of_linspace(device: Device) -> None:
    """What a call looks at before it goes on, a captured one does in any case: the same bits."""
    first, last = mp.array("-1e308", "dd", device), mp.array("1e308", "dd", device)
    with mp.capture() as loop:
        far, near = mp.linspace(first, last, 5), mp.linspace(first / last, 2, 5)
    assert bits(far) == bits(mp.linspace(first, last, 5))
    first[...] = 1
    loop.replay()
    assert bits(far) == bits(mp.linspace(first, last, 5))
    assert bits(near) == bits(mp.linspace(first / last, 2, 5))


def test_exceptions_and_ends(device: Device) -> None:
    """An error of the user's goes on; a loop is no loop before its block's end; wrong numbers."""
    x = mp.array(2, "dd", device)
    with pytest.raises(KeyError), mp.capture() as broken:
        x += 1
        raise KeyError("mine")
    with pytest.raises(ArgumentError, match="its block ended by KeyError"):
        broken.replay()
    assert repr(broken) == "<portmp loop of 0 launches>"
    with pytest.raises(ArgumentError, match="its block has not ended"), mp.capture() as loop:
        loop.replay()
    with mp.capture() as empty:
        pass
    empty.replay(3)
    counts: list[Any] = [-1, 1.5, "x"]
    for wrong in counts:
        with pytest.raises(ArgumentError, match="replay: times: "):
            empty.replay(wrong)
    assert float(x) == 3


def test_a_loop_within_another(device: Device) -> None:
    """What is replayed in a block is a part of it."""
    x = mp.array(1, "dd", device)
    with mp.capture() as once:
        x.reshape(1)[...] = x + 1
    with mp.capture() as twice:
        once.replay(2)
    twice.replay(10)
    assert float(x) == 2 + 2 + 20 and len(twice) == 2 * len(once)


def test_other_threads(device: Device) -> None:
    """What another thread does meanwhile is done, and no part of the loop."""
    x, y = mp.array([1, 1], "dd", device), mp.array([1, 1], "dd", device)

    def other() -> None:
        y.__iadd__(1)

    with mp.capture() as loop:
        x += 1
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    loop.replay(4)
    assert x.to_float64().tolist() == [6, 6] and y.to_float64().tolist() == [2, 2]
    threads = [threading.Thread(target=loop.replay, args=(25,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.to_float64().tolist() == [106, 106]


def test_errors_at_replay(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that lost its drivers, and a launch that fails, as errors of portmp's."""
    x = mp.array([1, 1], "dd", device)
    with mp.capture() as loop:
        x += 1
    monkeypatch.setitem(base.drivers, "lost", True)
    with pytest.raises(DeviceError, match="forked"):
        loop.replay()
    monkeypatch.undo()
    threads = getattr(device, "threads", None)
    repeated = loop._repeated
    if getattr(threads, "repeat", None) is not None and repeated is not None:
        for status, error in ((1, PortmpError), (2, LaunchError)):
            monkeypatch.setattr(threads, "repeat", lambda *given, s=status: s)
            with pytest.raises(error):
                mp.arrays.queues.Repeated(repeated.launches)()
        monkeypatch.undo()
    loop.replay()
    assert x.to_float64().tolist() == [3, 3]


def test_steps_of_particles(device: Device) -> None:
    """Many steps, of which most are replayed, have the bits of steps one by one."""

    def system() -> Any:
        bodies = some((9, 3), "dd", device), some((9, 3), "dd", device, 2)
        return System(*bodies, mp.ones(9, "dd", device), eps="0.1")

    one, many = system(), system()
    for _ in range(12):
        one.step("0.01")
    many.step("0.01", 12)
    assert bits(one.position) == bits(many.position) and one.time == many.time
    with mp.capture() as loop:
        many.step("0.01", 10)
    loop.replay()
    one.step("0.01", 20)
    assert bits(one.velocity) == bits(many.velocity)
