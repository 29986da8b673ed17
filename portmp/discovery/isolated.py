"""The probe in a process of its own: a driver that crashes or hangs there harms nobody.

A compiler that dies or hangs on long vectors is given shorter ones: each attempt halves them.
The driver keeps nothing between attempts, since what a dying process leaves in its caches may be
damaged.
"""

import json
import multiprocessing
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import replace
from typing import IO, Any

from portmp import paths
from portmp.backends.base import Device, end_with_parent
from portmp.codegen.platform import Traits
from portmp.discovery.verdict import Verdict, narrower

PROCESS = "portmp.discovery.probe_process"

SILENCE = 120.0
"""Seconds without a word after which a process counts as hung."""


class Ended(Exception):
    """A probe process that gave no verdict; the text says how it ended, and in which check."""


class Hung(Ended):
    """One that said nothing for long: an accident is unlikely, and trying again takes long."""


class Workers:
    """Processes for work beside this one, which end with it, however it ends.

    A worker may be killed, or be ended by what it does: that task is tried again, alone.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = _processes(count)

    def run(self, work: Callable[..., str], tasks: Sequence[tuple[Any, ...]]) -> Iterator[str]:
        """What *work* says of each task (its arguments), in their order, as soon as it is known."""
        left = list(tasks)
        while left:
            futures: list[Future[str]] = []
            try:
                futures += [self._pool.submit(work, *task) for task in left]
                while futures:
                    said = futures[0].result()
                    del futures[0], left[0]
                    yield said
            except BrokenExecutor:
                self.close()
                self._pool = _processes(self._count)
                if futures:  # else one was killed while it had nothing to do
                    yield _alone(work, left.pop(0))
            finally:
                for future in futures:
                    future.cancel()

    def close(self) -> None:
        """Begin nothing more; what runs comes to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _processes(count: int) -> ProcessPoolExecutor:
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count, spawn, end_with_parent, (os.getpid(),))


def _alone(work: Callable[..., str], task: tuple[Any, ...]) -> str:
    """What *work* says where nothing else runs; or that it ends its process."""
    with _processes(1) as process:
        try:
            return process.submit(work, *task).result()
        except BrokenExecutor:
            return "the process that was to do it ended, and again alone"


def examine(device: Device) -> Verdict:
    """Probe *device* in processes of its own, with shorter vectors where they crash or hang.

    A first crash may be an accident (memory that others took): it is tried again.
    """
    repairs: list[str] = []
    before = ""
    while True:
        try:
            verdict = _attempt(device, device.traits)
            return replace(verdict, repairs=(*repairs, *verdict.repairs))
        except Ended as ended:
            if not (before or isinstance(ended, Hung)):
                before = str(ended)
                continue
            shorter = narrower(device)
            if shorter is None:
                return Verdict(device.traits, tuple(repairs), str(ended))
            repairs.append(f"vectors of {device.traits.vector_bits} bits: {ended}")
            device.traits = shorter


def _attempt(device: Device, traits: Traits) -> Verdict:
    """The verdict of one process, which begins with *traits*."""
    asked = json.dumps(Verdict(traits).as_json())
    # -P: a file of the current folder must not stand for a module of Python.
    command = [sys.executable, "-P", "-m", PROCESS, device.backend, device.compiler_key(), asked]
    with paths.temporary_folder("probe") as folder, tempfile.TemporaryFile() as errors:
        environment = {
            **os.environ,
            **device.separate_caches(folder),
            "PYTHONPATH": paths.python_path(),
            "PORTMP_CACHE_DIR": "",
        }
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
        except OSError as error:
            raise Ended(f"the arithmetic probe could not start: {error}") from None
        with process:
            try:
                return _heard(process, errors)
            finally:
                process.kill()


def _heard(process: subprocess.Popen[str], errors: IO[bytes]) -> Verdict:
    """The verdict that a process prints as its last line, after a line for each check."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    check = "its start"
    while True:
        try:
            line = lines.get(timeout=SILENCE)
        except queue.Empty:
            raise Hung(f"the arithmetic probe hung for {SILENCE:.0f} s in {check}") from None
        if line is None:
            break
        try:
            word = json.loads(line)
            if "check" not in word:
                return Verdict.from_json(word)
            check = str(word["check"])
        except (ValueError, KeyError, TypeError):
            continue  # what a driver prints is no word of the probe's
    status = process.wait()
    errors.seek(0)
    said = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
    # Compilers that die ask for a report of it last.
    why = next((line for line in said if "error" in line.lower()), said[-1])
    how = f"signal {-status}" if status < 0 else f"status {status}"
    raise Ended(f"the arithmetic probe ended with {how} in {check}: {why}")
