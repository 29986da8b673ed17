"""A routine as a program in one file: it runs recorded cases and compares their bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmp.codegen import platform as platforms
from portmp.codegen import render
from portmp.codegen.render import RenderedSource
from portmp.compilers import host_programs
from portmp.errors import ArgumentError, suggestion
from portmp.files import target
from portmp.formats import registry
from portmp.routines.case import Case
from portmp.verify import cases
from portmp.verify.capture import CaptureDevice, Launched, Result, cannot

MOST = 65536
"""Bytes of input of a case at most: they stand in the program's text."""


@dataclass(frozen=True)
class Run:
    """One case: memory with its content, launches, the parts of the result, and its digest.

    ``shape``: what the digest begins with; ``float``: the size of the result's words in bytes,
    0 for integers, whose bits are taken as they are.
    """

    name: str
    memories: tuple[bytes, ...]
    launches: tuple[Launched, ...]
    results: tuple[Result, ...]
    shape: str
    words: int
    digest: str


def run_of(case: Case, platform: str) -> Run:
    """What a case does on a platform; ArgumentError where it is more than launches."""
    device = CaptureDevice(platform)
    planes = cases.device_result(case, device)
    results = tuple(device.notes.results)
    sizes = [plane.nbytes for plane in planes]
    if [one.nbytes for one in results] != sizes:
        raise cannot("the result is made on the host")
    kind = planes[0].dtype
    return Run(
        case.name,
        tuple(memory.content.tobytes() for memory in device.memories),
        tuple(device.notes.launches),
        results,
        str(planes[0].shape),
        kind.itemsize if kind.kind == "f" else 0,
        cases.recorded()[case.key],
    )


def runs(routine: str, form: str, platform: str) -> list[Run]:
    """The cases of a routine whose input fits a program's text."""
    name = registry.get(form).name
    every = cases.cases(name)
    mine = [case for case in every if case.routine == routine]
    if not mine:
        known = sorted({case.routine for case in every})
        near = suggestion(routine, known)
        raise ArgumentError(
            f"--standalone: no cases of {routine!r} in {name} are recorded{near}; "
            f"there are {', '.join(known)}"
        )
    found = []
    why: ArgumentError | None = None
    for case in mine:
        try:
            run = run_of(case, platform)
        except ArgumentError as error:
            why = error
            continue
        if sum(len(memory) for memory in run.memories if any(memory)) <= MOST:
            found.append(run)
    if not found:
        raise why or cannot("its cases are too large for a program's text")
    return found


def program(routine: str, form: str, platform: str) -> RenderedSource:
    """The text of the program."""
    table = platforms.get(platform)
    found = runs(routine, form, table.name)
    texts = list(dict.fromkeys(one.kernel.text for run in found for one in run.launches))
    kernels = list(
        dict.fromkeys(
            (texts.index(one.kernel.text), one.kernel.name) for run in found for one in run.launches
        )
    )
    context = {
        "part": host_programs.get(table.name),
        "name": file_name(routine, form),
        "routine": routine,
        "form": form,
        "texts": texts,
        "kernels": kernels,
        "number": {(texts[m], name): i for i, (m, name) in enumerate(kernels)},
        "runs": found,
        "words": _words,
    }
    return render.render("/programs/routine.mako", context)


def _words(content: bytes) -> Iterator[str]:
    """Lines of an array of 32-bit words."""
    padded = content + bytes(-len(content) % 4)
    values = [f"0x{value:x}" for value in np.frombuffer(padded, "<u4")]
    for start in range(0, len(values), 8):
        yield ", ".join(values[start : start + 8]) + ","


def file_name(routine: str, form: str) -> str:
    """What the program is called, without its ending."""
    plain = "".join(c if c.isalnum() else "_" for c in registry.get(form).name)
    return f"{routine}_{plain}"


def write(routine: str, form: str, on: Sequence[str], folder: Path) -> list[Path]:
    """Programs for platforms in a folder, which is made if it is not there; their files."""
    texts = {}
    for platform in on:
        ending = host_programs.get(platform).ending
        texts[folder / f"{file_name(routine, form)}{ending}"] = program(
            routine, form, platform
        ).text
    target.make_folder(folder)
    for file in texts:
        target.check_place(file)
    for file, text in texts.items():
        target.replace(file, text.encode())
    return list(texts)
