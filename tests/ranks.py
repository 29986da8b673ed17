"""What processes of MPI compute together, and one process alone: digests of both, by names.

``mpiexec -n 3 python ranks.py FILE DEVICES NAMES`` writes them to a file; it imports no pytest.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import portmp as mp
from portmp.backends.base import Buffer, Channel, Queue
from portmp.backends.cpu.runtime import CpuDevice
from portmp.distributed import direct, processes
from portmp.runtime.digests import digest

N = 97
"""Order of matrices: several panels, which different devices make."""

Place = Callable[..., Any]
"""What is done to operands: nothing, or they are cut up; matrices, vectors, layout number."""


def drawn(shape: Any, seed: int, form: str = "dd") -> Any:
    """Numbers whose limbs are all filled."""
    return mp.random.default_rng(seed).standard_normal(shape, form)


def _products(place: Place) -> list[Any]:
    a, b, x = drawn((37, 50), 1), drawn((50, 23), 2), drawn(50, 3)
    s, t, v = place(a, 0), place(b, 1), place(x, 0)
    return [s @ t, mp.gemm(t, s, trans_a=True, trans_b=True), s @ v, v @ t, t.T @ t]


def _factors(place: Place) -> list[Any]:
    a = place(drawn((N, N), 1), 2)
    lu, qr = mp.linalg.lu_factor(a), mp.linalg.qr(a)
    qr = (*qr, *mp.linalg.qr(place(drawn((60, 40), 2, "float32"), 0)))
    return [lu.lu, lu.piv, *mp.linalg.lu(a), *qr, mp.linalg.cholesky(a @ a.T)]


def _systems(place: Place) -> list[Any]:
    a, b = place(drawn((N, N), 1), 0), place(drawn((N, 5), 2), 1)
    positive = mp.linalg.solve(a @ a.T, b, assume_a="pos")
    tall = mp.linalg.lstsq(place(drawn((N, 40), 4), 2), b)
    refined = mp.linalg.solve(a, b, refine=True).x
    return [
        *tall[:2],
        refined,
        mp.linalg.solve(a, b),
        mp.linalg.solve(a, place(drawn(N, 3), 0)),
        positive,
    ]


def _elements(place: Place) -> list[Any]:
    a, b = place(drawn((19, 13), 1), 2), place(drawn((19, 13), 2), 1)
    both = mp.modf(a)
    return [mp.exp(a) + b * 2, mp.where(a > b, a, 0), *both, a - a.mean(0), a.std(1), mp.max(b)]


def _sums(place: Place) -> list[Any]:
    x, y = drawn(50_000, 1), drawn(50_000, 2)
    s, t = place(x, 0), place(y, 1)
    wild = place(mp.array([1e308, 1e308, -1e308, -1e308] * 5000, "dd"), 0)
    return [s.sum(), mp.dot(s, t), mp.nrm2(s), mp.prod(s[:] * 1), wild.sum()]


def _exact(place: Place) -> list[Any]:
    """Sums that are rounded once, of integers, and of complex numbers."""
    wide = drawn(3001, 1)
    wide[5], wide[77] = "1e300", "-1e300"
    x, y = place(wide, 0), place(drawn(3001, 2), 1)
    found = [mp.sum(x, rounding="correct"), mp.dot(x, y, rounding="correct")]
    for name in ("int32", "uint8", "bool"):
        n = place(mp.plain_array((np.arange(5000) % 250).astype(name)), 1)
        found += [mp.sum(n), mp.max(n), mp.min(n), mp.prod(n)]
    z = mp.array(drawn(9000, 3).to_float64() + 1j * drawn(9000, 4).to_float64())
    z = place(z, 0)
    return [*found, z.sum(), mp.dot(z, z), mp.sum(z, rounding="correct")]


def _forces(place: Place) -> list[Any]:
    p, m = place(drawn((45, 3), 1, "float32"), 0), place(abs(drawn(45, 2, "float32")), 0)
    return [*mp.nbody.field(p, m, eps="0.1"), mp.nbody.energy(p, p, m)]


def _made(place: Place) -> list[Any]:
    """Read by the host: elements, texts, truth values; gathered."""
    x = place(mp.arange(5000, dtype="float64"), 1)
    told = [str(x), x.to_strings(5)[4321], bool((x < 5000).all()), bool((x > 4998).any())]
    words = mp.plain_array(np.frombuffer(repr(told).encode(), np.uint8).astype("uint8"))
    read = place(mp.zeros((33, 40), "dd"), 2)
    numbers = np.arange(33 * 40.0).reshape(33, 40)
    if not hasattr(read, "tiles"):
        return [words, x, mp.array(numbers, "dd")]
    for tile in read.tiles():
        (i, j), (m, n) = tile.start, tile.array.shape
        tile.array[...] = numbers[i : i + m, j : j + n]
    return [words, x.redistribute(mp.Replicated()), read]


WORKS: dict[str, Callable[[Place], list[Any]]] = {
    "products": _products,
    "factors": _factors,
    "systems": _systems,
    "elements": _elements,
    "sums": _sums,
    "exact": _exact,
    "forces": _forces,
    "made": _made,
}


def digests(place: Place, names: Sequence[str]) -> dict[str, list[str]]:
    """Of each result of some works."""
    return {name: [_digest(one) for one in WORKS[name](place)] for name in names}


def _digest(found: Any) -> str:
    real = isinstance(found.dtype, type(mp.dd))
    return f"{found.shape} {digest(found.to_limbs() if real else [found.to_numpy()])}"


class Noted(Channel):
    """What stands for a channel between GPUs: by MPI, of CPUs' memory; all messages are noted."""

    messages: ClassVar[list[str]] = []
    tags = itertools.count(1)

    def __init__(self, device: Any, key: tuple[int, int], end: int) -> None:
        from mpi4py import MPI

        (rank, self.tag), self.comm, self.device = key, MPI.COMM_WORLD, device
        self.pending: list[Any] = []
        if end == 1:
            self.other = rank
            self.comm.send(self.comm.Get_rank(), rank, self.tag)
        else:
            self.other = self.comm.recv(tag=self.tag)

    @classmethod
    def key(cls, device: Any) -> tuple[int, int]:
        from mpi4py import MPI

        rank = MPI.COMM_WORLD.Get_rank()
        return rank, 100 * rank + next(cls.tags)

    def send(self, queue: Queue, source: Buffer, nbytes: int) -> tuple[()]:
        assert queue.device is self.device
        data = np.empty(nbytes, np.uint8)
        queue.read(source, data)
        self.pending.append((self.comm.Isend(data, self.other, self.tag), data))
        self.messages.append("sent")
        return ()

    def receive(self, queue: Queue, target: Buffer, nbytes: int) -> tuple[()]:
        assert queue.device is self.device
        data = np.empty(nbytes, np.uint8)
        self.comm.Recv(data, self.other, self.tag)
        queue.write(target, data)
        self.messages.append("received")
        return ()


def lend() -> None:
    """Let CPUs' memory stand for GPUs': MPI is given its addresses, and it has channels."""

    def address(self: CpuDevice, buffer: Any) -> int:
        Noted.messages.append("address")
        return int(self.shift + buffer.place)

    made: Any = CpuDevice
    made.address, made.channels = address, lambda self: Noted
    processes.socket.gethostname = lambda: f"machine of {os.getpid()}"
    direct.Direct.refusal = staticmethod(lambda job, own: "")  # type: ignore[method-assign]


def main(file: str, devices: str, names: str, transport: str = "host") -> None:
    """In one of the processes."""
    stands_in = transport != "host" and devices.startswith("cpu")
    if stands_in:
        lend()
    named = None if devices == "-" else devices.split(",")
    job = mp.distributed.initialize(devices=named, limit=120, transport=transport)
    count = len(job.queues)
    grids: list[Any] = [mp.BlockCyclic(16, 1, count), mp.BlockCyclic(20, count, 1)]
    if count % 2 == 0:
        grids.append(mp.BlockCyclic(16, 2, count // 2))
    ways = [mp.Rows(), mp.Rows(7), grids[-1]]

    def place(a: Any, way: int) -> Any:
        return mp.shard(a, layout=ways[way] if a.ndim == 2 else ways[way % 2])

    found = digests(place, names.split(","))
    drawn_in_place = mp.distributed.standard_normal(mp.random.default_rng(1), (19, 13), "dd")
    found["drawn"] = [_digest(drawn_in_place)]
    x = mp.shard(drawn((19, 13), 1), layout=ways[2])
    last = x.gather(root=job.count - 1)
    assert (last is None) == (job.rank != job.count - 1)
    assert last is None or _digest(last) == found["drawn"][0]
    if stands_in and platform.machine() == "x86_64":  # a device of this process, not of the job
        assert _digest(x.gather("cpu:x86-64-v2")) == found["drawn"][0]
    every = job.share(found, "digests")
    assert all(one == found for one in every), "processes have different results"
    assert bool(Noted.messages) == stands_in, "messages did not go as asked for"
    if job.rank == 0:
        Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
