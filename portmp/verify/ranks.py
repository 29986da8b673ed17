"""``portmp verify --ranks N``: recorded digests by arrays that are cut up among N processes.

The command starts them by the mpiexec that is found, each of which runs this module. They compute
the recorded cases of what works on several devices, each case in another layout, and compare what
every one of them collects.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import portmp as mp
from portmp import paths
from portmp.backends.base import Queue
from portmp.distributed import processes, transport
from portmp.distributed.layout import BlockCyclic, Layout, Rows
from portmp.errors import BackendUnavailable, PortmpError, ProcessError, UnsupportedError
from portmp.routines.case import Case
from portmp.runtime.digests import digest
from portmp.verify import composed
from portmp.verify.cases import cases, recorded
from portmp.verify.outcome import Outcome, read

ROUTINES = (
    *("add", "exp", "axpy", "scal", "reduce_sum", "reduce_max", "mean", "var"),
    *("gemm", "gemm_fast", "gemm_ozaki1", "gemm_ozaki2", "gemm_auto", "gemv", "dot", "nrm2"),
    *("exact_sum", "exact_dot", "exact_gemm", "lu", "cholesky", "qr", "solve"),
    *("eigh", "svd", "inv", "fft", "complex_solve"),
    *("nbody", "nbody_potential", "complex_gemm", "complex_gemv", "complex_add", "complex_exp"),
)
"""What is compared: routines that work on several devices."""
ANYWHERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Open MPI starts processes as root, and more than there are cores, only if it is told to."""


def layouts(devices: int) -> list[Layout]:
    """Those in which arrays are cut up among so many devices, by turns."""
    found: list[Layout] = [Rows(), Rows(3)]
    grids = [p for p in range(1, devices + 1) if devices % p == 0]
    return [*found, *(BlockCyclic(4, p, devices // p) for p in grids)]


def run(device: str, chosen: Sequence[Case], ranks: int) -> tuple[list[Outcome], list[str]]:
    """What so many processes say of cases on the device of a name, or, of a backend's name, each
    on one of its devices: process number r of a machine on number r, modulo those there are. And
    the devices' names, by ranks.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise BackendUnavailable(f"mpi4py is not installed: {processes.INSTALL}")
    command, environment = launcher(), ANYWHERE | os.environ
    environment |= {"PYTHONPATH": paths.python_path()}
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        keys = [case.key for case in chosen]
        names = list(dict.fromkeys(case.form.name for case in chosen))
        wanted = {"device": device, "formats": names, "keys": keys}
        asked = json.dumps({**wanted, "to": str(written)})
        asks = Path(folder) / "asked.json"
        asks.write_text(asked)
        words = [command, "-n", str(ranks), sys.executable, "-P", "-m", __name__, str(asks)]
        ended = subprocess.run(
            words, capture_output=True, text=True, errors="replace", check=False, env=environment
        )
        if ended.returncode == 0 and written.exists():
            told = json.loads(written.read_text())
            return read(told), told["devices"]
    raise ProcessError(_reason(f"{ended.stderr}\n{ended.stdout}", ended.returncode))


def launcher() -> str:
    """The mpiexec beside Python, where pip installs it, or the one on PATH."""
    beside = Path(sys.executable).parent
    found = shutil.which("mpiexec", path=str(beside)) or shutil.which("mpiexec")
    if found is None:
        raise BackendUnavailable(f"mpiexec is neither in {beside} nor on PATH: {processes.INSTALL}")
    return found


def _reason(text: str, status: int) -> str:
    """The sentence by which a process ended the job, without what mpiexec says about it."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -")]
    own = [line for line in lines if line.startswith("portmp: ")]
    said = own[0].removeprefix("portmp: ") if own else " ".join(lines[:6]) or "nothing"
    return f"--ranks: mpiexec ended with status {status}: {said}"


def compared(
    chosen: Sequence[Case],
    queues: Sequence[Queue],
    ways: Sequence[Layout],
    devices: Sequence[str] | None = None,
) -> list[Outcome]:
    """Outcomes of cases in one of the processes, by these layouts in turns; none of those that are
    not made on several. By *devices* of one process, where they are named.
    """
    found, queue = [], transport.home(queues)
    for i, case in enumerate(chosen):
        wanted = recorded().get(case.key, "")
        try:
            planes = _computed(case, queue, ways[i % len(ways)], devices)
        except UnsupportedError:
            continue  # of batches, or with options of one device
        except ProcessError:
            raise
        except PortmpError as error:
            found.append(Outcome(case.key, "", wanted, str(error)))
        else:
            found.append(Outcome(case.key, digest(planes), wanted))
    return found


def _computed(case: Case, queue: Any, layout: Layout, devices: Sequence[str] | None) -> Any:
    def placed(a: Any) -> Any:
        if not a.ndim:
            return a
        fits = a.ndim == 2 or isinstance(layout, Rows) or layout == BlockCyclic(4, 1, 1)
        return mp.shard(a, devices, layout if fits else Rows())

    return composed.computed(case.call, case.form, queue, case.operands, case.options, placed)


def main(file: str) -> None:
    """One of the processes: the first one writes what was found, where all found the same."""
    asked = json.loads(Path(file).read_text())
    job = processes.initialize(devices=asked["device"])
    wanted = set(asked["keys"])
    every_case = chain.from_iterable(map(cases, asked["formats"]))
    chosen = [case for case in every_case if case.key in wanted]
    mine = compared(chosen, job.queues, layouts(len(job.queues)))
    every = list(zip(*job.share(mine, "what it found"), strict=True))
    found = [
        one[0] if len(set(one)) == 1 else Outcome(one[0].key, "", one[0].expected, _differ(one))
        for one in every
    ]
    if job.rank == 0:
        failures = [vars(one) for one in found if not one.ok]
        digests = {one.key: one.digest for one in found}
        Path(asked["to"]).write_text(
            json.dumps({"failures": failures, "digests": digests, "devices": job.names})
        )


def _differ(found: Sequence[Outcome]) -> str:
    said = {one.error or one.digest for one in found}
    return f"processes differ: {', '.join(sorted(chain(said)))}"


if __name__ == "__main__":
    main(sys.argv[1])
