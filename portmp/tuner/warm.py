"""``portmp warm``: compile ahead what calls will ask for, so that no first call waits."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from portmp import discovery, paths
from portmp.backends.base import Device
from portmp.discovery import isolated
from portmp.errors import ArgumentError, PortmpError
from portmp.progress import Progress
from portmp.routines import compilation_units
from portmp.runtime import program


@dataclass(frozen=True)
class Warmed:
    """What was compiled of a format: units of kernels, how many were missing, seconds."""

    format: str
    units: int
    compiled: int
    seconds: float
    failures: tuple[str, ...] = ()


def warm(
    device: Device, forms: Sequence[str], progress: Progress, workers: int = 0
) -> Iterator[Warmed]:
    """Compile all units of each format that the disk cache has not, several at once.

    Large arrays, odd strides and other options may still ask for kernels of their own. *workers*
    (default: one a core) processes compile; ArgumentError without a disk cache to keep them.
    """
    if workers < 0:
        raise ArgumentError(f"--workers: {workers} given, a positive number is needed")
    if paths.cache_folder() is None:
        raise ArgumentError(
            "warm: no cache folder is written to; unset PORTMP_CACHE_DIR or name a folder by it"
        )
    count = workers or os.cpu_count() or 1
    # Processes of their own: drivers compile one program at a time in a process.
    with closing(isolated.Workers(count)) as pool:
        for form in forms:
            began = time.perf_counter()
            units = {unit: name for name, unit in compilation_units.units(form, device).items()}
            missing = [n for unit, n in units.items() if not program.is_cached(device, unit)]
            said = pool.run(_compile, [(device.name, form, name) for name in missing])
            failures = []
            for done, (name, problem) in enumerate(zip(missing, said, strict=True), 1):
                progress.show(f"{form}: {done} of {len(missing)} units compiled ...")
                if problem:
                    failures.append(f"{name}: {problem}")
            progress.clear()
            seconds = time.perf_counter() - began
            yield Warmed(form, len(units), len(missing), seconds, tuple(failures))


def _compile(name: str, form: str, routine: str) -> str:
    """In a process of its own: compile and load a routine's unit; the error, or nothing."""
    try:
        device = discovery.get(name)
        program.kernels(device, *compilation_units.find(form, routine, device))
    except PortmpError as error:
        return str(error).partition("\n")[0]
    return ""
