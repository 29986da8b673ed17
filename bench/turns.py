"""One build's side of ``history.py``: kernels and calls, run when the other side is told.

This file runs as a script in a process of its own, with one of two builds of portmp on the path.
So it goes by what users call, and by a queue's marks, which earlier versions have as well. Each
line on standard input asks for a run of a kernel; each on standard output tells its seconds.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLE = 0.02
"""Seconds that a run lasts at least; shorter work is repeated within it."""
MOST_CALLS = 500
Work = Callable[[], Any]


def _arrays(mp: Any, name: str, *shape: int, count: int = 2) -> list[Any]:
    """Arrays of positive numbers, the same in every build."""
    random = np.random.default_rng(len(shape) * 1000 + shape[0])
    return [mp.array(random.uniform(0.5, 1.5, shape), name) for _ in range(count)]


def _gravity(mp: Any, name: str, n: int) -> Work:
    position, mass = _arrays(mp, name, n, 3, count=1)[0], _arrays(mp, name, n, count=1)[0]
    return lambda: mp.nbody.acceleration(position, mass, eps="0.01")


def _of_two(call: Callable[[Any, Any], Any], operands: list[Any]) -> Work:
    return lambda: call(*operands)


KERNELS: dict[str, tuple[Callable[[Any, int], Work], int, int]] = {
    "gemm float64": (lambda mp, n: _of_two(mp.gemm, _arrays(mp, "float64", n, n)), 384, 4096),
    "gemm dd": (lambda mp, n: _of_two(mp.gemm, _arrays(mp, "dd", n, n)), 192, 2048),
    "gemm ds": (lambda mp, n: _of_two(mp.gemm, _arrays(mp, "ds", n, n)), 192, 2048),
    "gemm qd": (lambda mp, n: _of_two(mp.gemm, _arrays(mp, "qd", n, n)), 96, 1024),
    "gemv dd": (
        lambda mp, n: _of_two(
            mp.gemv, _arrays(mp, "dd", n, n, count=1) + _arrays(mp, "dd", n, count=1)
        ),
        512,
        8192,
    ),
    "dot dd": (lambda mp, n: _of_two(mp.dot, _arrays(mp, "dd", n)), 2**18, 2**24),
    "axpy dd": (
        lambda mp, n: _of_two(lambda x, y: mp.axpy("0.1", x, y), _arrays(mp, "dd", n)),
        2**18,
        2**24,
    ),
    "div qd": (lambda mp, n: _of_two(lambda x, y: x / y, _arrays(mp, "qd", n)), 2**15, 2**22),
    "sqrt dd": (lambda mp, n: _of_two(lambda x, _: mp.sqrt(x), _arrays(mp, "dd", n)), 2**17, 2**23),
    "gravity dd": (lambda mp, n: _gravity(mp, "dd", n), 1024, 32768),
    "a + a": (lambda mp, n: _of_two(lambda x, _: x + x, _arrays(mp, "dd", n)), 1000, 1000),
    "where": (
        lambda mp, n: _of_two(lambda x, _: mp.where(x > 0, x, -x), _arrays(mp, "dd", n)),
        1000,
        1000,
    ),
    "float(a[0])": (
        lambda mp, n: _of_two(lambda x, _: float(x[0]), _arrays(mp, "dd", n)),
        1000,
        1000,
    ),
    "m @ m": (lambda mp, n: _of_two(lambda x, y: x @ y, _arrays(mp, "dd", n, n)), 64, 64),
    "solve": (lambda mp, n: _of_two(mp.linalg.solve, _arrays(mp, "dd", n, n)), 64, 64),
}
"""Each with its size on CPUs and on GPUs. The last ones are calls of every day, which cost what the

host does for them.
"""
WITHOUT_FLOAT64 = {"float64": "float32", "dd": "ds", "qd": "qs"}
"""Formats that take the place of others where a device has no float64."""


class _Named:
    """portmp with the formats that a device has in the place of those asked for."""

    def __init__(self, mp: Any, formats: dict[str, str]) -> None:
        self._mp, self._formats = mp, formats

    def array(self, data: Any, name: str) -> Any:
        """An array of a format that the device has."""
        return self._mp.array(data, self._formats.get(name, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mp, name)


class Side:
    """The kernels of one build on one device."""

    def __init__(self, device: str) -> None:
        import portmp as mp
        from portmp import discovery

        self.device = discovery.get(device)
        self.version = mp.__version__
        self.mp = _Named(mp, {} if self.device.properties.float64 else WITHOUT_FLOAT64)
        self.works: dict[str, Work] = {}
        self.calls: dict[str, int] = {}

    def ready(self, name: str, calls: int) -> dict[str, Any]:
        """Compile a kernel and warm up; how many *calls* make a run, unless they are given."""
        make, small, large = KERNELS[name]
        size = small if self.device.properties.kind == "cpu" else large
        self.works[name] = make(self.mp, size)
        result = self.works[name]()
        digest = hashlib.sha256()
        for plane in [np.float64(result)] if isinstance(result, float) else result.to_limbs():
            digest.update(np.ascontiguousarray(plane).tobytes())
        once = self._seconds(name, 2)
        self.calls[name] = calls or max(1, min(MOST_CALLS, math.ceil(SAMPLE / max(once, 1e-9))))
        self._seconds(name, self.calls[name])
        return {"calls": self.calls[name], "n": size, "digest": digest.hexdigest()}

    def run(self, name: str) -> dict[str, Any]:
        """Seconds of a call."""
        return {"seconds": self._seconds(name, self.calls[name])}

    def _seconds(self, name: str, calls: int) -> float:
        work, queue = self.works[name], self.device.queue
        start = queue.record()
        for _ in range(calls):
            work()
        return float(queue.record().seconds_since(start)) / calls


def main() -> None:
    """Answer one line after another, until there is none."""
    side = Side(sys.argv[1])
    print(json.dumps({"version": side.version, "name": side.device.name}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["do"] == "ready":
                answer = side.ready(ask["kernel"], ask["calls"])
            else:
                answer = side.run(ask["kernel"])
        except Exception as error:  # the other side says it, whatever it is
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
