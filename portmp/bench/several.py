"""``portmp bench devices``: the same work on 1, 2, 4 ... devices; times, ratios, equal bits.

Operands are made in place, by random numbers of their places, so that they are the same on any
number of devices. Where one device is named alone, it has several parts: that shows what cutting up
costs, and that bits stay. Several processes work on the
devices of all, and one of them alone on as many.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import portmp as mp
from portmp import discovery, distributed, formats
from portmp.bench import measure, options
from portmp.bench.experiment import Case, Experiment, Family, Run
from portmp.bench.options import Request
from portmp.bench.tables import TEXT, Column, Row, key
from portmp.distributed import processes, transport
from portmp.distributed.layout import Layout
from portmp.distributed.processes import Processes
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.runtime.digests import digest

USUAL = {
    "gpu": {"matrices": 16384, "particles": 2**20, "vectors": 2**30},
    "cpu": {"matrices": 256, "particles": 2048, "vectors": 2**20},
}
"""Sizes by kind of device: orders of matrices, particles, lengths."""
PARTS = 2
"""Of one device alone, at most."""
SECONDS = 5.0
"""What the runs of one case may take, beside the first."""
TILE = {"gpu": 512, "cpu": 32}
MOST = 2**24
"""Elements of a result whose bits are compared."""


@dataclass(frozen=True)
class Work:
    """What is done with an operand (n, ...): ``made`` of it; ``sized`` names its usual size."""

    sized: str
    shape: Callable[[int], tuple[int, ...]]
    made: Callable[[Any], Any]
    moved: int = 1
    """How many times its operand it takes in memory."""


WORKS: Mapping[str, Work] = {
    "gemm": Work("matrices", lambda n: (n, n), lambda a: a @ a, 5),
    "lu": Work("matrices", lambda n: (n, n), lambda a: mp.linalg.lu_factor(a).lu, 4),
    "cholesky": Work("matrices", lambda n: (n, n), mp.linalg.cholesky, 4),
    "qr": Work("matrices", lambda n: (n, n), lambda a: mp.linalg.qr(a, "r"), 5),
    "nbody": Work(
        "particles",
        lambda n: (n, 4),
        lambda a: mp.nbody.acceleration(a[:, :3], a[:, 3], eps="0.01"),
        3,
    ),
    "sum": Work("vectors", lambda n: (n,), mp.sum),
    "dot": Work("vectors", lambda n: (n,), lambda a: mp.dot(a, a)),
}


@dataclass
class Several(Run):
    """One run: on which devices, of which sizes, what is left of one device; by which processes."""

    names: Sequence[str] = ()
    sizes: Sequence[int] = ()
    first: dict[Any, Row] = field(default_factory=dict)
    job: Processes | None = None


def cases(run: Several, name: str) -> Iterator[Case]:
    """Each size and format on 1, 2, 4 ... devices; by several processes on those of all."""
    work = WORKS[name]
    usual = USUAL[run.kind][work.sized]
    for form, n in itertools.product(run.forms, run.sizes or [usual]):
        nbytes = form.itemsize * math.prod(work.shape(n)) * work.moved
        if run.job:
            what = f"{name} {form.name}, n = {n}, {run.job.count} processes"
            yield Case(what, partial(by_ranks, run, name, form, n, run.job))
            continue
        most = len(run.names)
        for count in [*itertools.takewhile(most.__gt__, (1 << i for i in itertools.count())), most]:
            each = nbytes // (count if len(set(run.names)) > 1 else 1)
            what = f"{name} {form.name}, n = {n}, {count} devices"
            yield Case(what, partial(measured, run, name, form, n, count), memory=each)


def measured(run: Several, name: str, form: Format, n: int, count: int) -> list[Row]:
    """One work on so many devices, beside one of them."""
    row = timed(run, name, form, n, run.names[:count])
    return [compared(row, run.first.setdefault((name, form.name, n), row))]


def by_ranks(run: Several, name: str, form: Format, n: int, job: Processes) -> list[Row]:
    """One work on the devices of all processes, beside devices of these names in the first one."""
    ask = partial(timed, run, name, form, n, run.names)
    alone = transport.first(ask, job.queues, "times of one process") | {"ranks": 1}
    return [compared(row, alone) for row in (alone, ask(job) | {"ranks": job.count})]


def compared(row: Row, first: Row) -> Row:
    """A row beside the one that it is compared with."""
    ratio = first["seconds"]["median"] / row["seconds"]["median"]
    return {**row, "ratio": ratio, "same_bits": row["digest"] == first["digest"]}


def timed(
    run: Several,
    name: str,
    form: Format,
    n: int,
    names: Sequence[str],
    job: Processes | None = None,
) -> Row:
    """One work on devices of this process; of all, where a *job* is given."""
    work, where = WORKS[name], None if job else list(names)
    shape, count = work.shape(n), len(names)
    layout: Layout = mp.Rows()
    if len(shape) == 2 and work.sized == "matrices":
        layout = mp.BlockCyclic(TILE[run.kind], 1, count)
    rng = mp.random.default_rng(1)
    operand = distributed.standard_normal(rng, shape, form, devices=where, layout=layout)
    if name == "cholesky":
        operand = operand + distributed.eye(n, form, devices=where, layout=layout) * (4 * n)
    if name == "nbody":
        operand = abs(operand)

    def wait() -> None:
        for queue in operand.queues:
            queue.synchronize()
        if job:
            job.share(None, "the end of a run")

    bits = digest(_last(work.made(operand)).to_limbs())
    call = partial(work.made, operand)
    agreed: Any = lambda t: operand.by_one(lambda: t, "seconds")  # noqa: E731
    timing = measure.timed_by_wall(call, wait, run.runs, SECONDS, agreed)
    return {
        "routine": name,
        "format": form.name,
        "n": n,
        "devices": ", ".join(names),
        "count": count,
        "seconds": timing.as_dict(),
        "digest": bits,
    }


def _last(result: Any) -> Any:
    """The last rows, on which all of a factorisation has worked: hashing more takes minutes."""
    if not result.ndim:
        return result
    rows = MOST // (result.size // result.shape[0])
    return result.gather()[-max(1, rows) :]


COLUMNS = (
    *(key("routine"), key("format"), key("n", unit="words"), key("count", unit="words")),
    key("ranks", unit="words"),
    Column("time", "seconds.median", "s", compared=True),
    Column("times one", "ratio", ".3g"),
    Column("same bits", "same_bits", "yes"),
    Column("devices", "devices", TEXT),
)


class Devices(Family):
    """Work on several devices."""

    name = "devices"
    limits = None
    run = Several
    experiments = tuple(
        [Experiment(name, partial(cases, name=name), COLUMNS, title=name) for name in WORKS]
    )

    def check(self, request: Request) -> None:
        options.check_least_size(request.sizes, 1)

    def ready(self, run: Several, request: Request) -> None:
        usual = "dd" if run.device.properties.float64 else "ds"
        run.forms = request.forms or [formats.get(usual)]
        run.sizes = request.sizes
        names = options.listed(request.args.devices, lambda name: name)
        job = processes.job()
        if job and job.count > 1:
            if names:
                raise ArgumentError("--devices: given to several processes, which have their own")
            run.job, run.names = job, job.names
            return
        if names:
            run.names = [discovery.get(name).name for name in names]
            if run.names[0] != run.device.name:
                raise ArgumentError(
                    f"--devices: {request.args.devices} given, the first must be --device, "
                    f"{run.device.name}"
                )
            return
        alike = [d.name for d in discovery.devices() if d.backend == run.device.backend]
        rest = [name for name in alike if name != run.device.name]
        run.names = [run.device.name, *rest] if rest else [run.device.name] * PARTS


FAMILY = Devices()
