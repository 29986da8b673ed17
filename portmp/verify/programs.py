"""A routine as a program in one file: it runs recorded cases and compares their bits.

And the text of a routine, by the same names: what ``portmp render`` prints.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmp.backends.base import Device
from portmp.codegen import kernel_spec, render
from portmp.codegen import platform as platforms
from portmp.codegen.render import RenderedSource
from portmp.compilers import host_programs
from portmp.errors import ArgumentError, choice
from portmp.files import target
from portmp.formats import registry
from portmp.routines import compilation_units
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


def names(form: str) -> list[str]:
    """What may be rendered: routines with recorded cases, and texts that are compiled at once."""
    name = registry.get(form).name
    return sorted({case.routine for case in cases.cases(name)} | set(compilation_units.names(name)))


def _cases(routine: str, form: str) -> list[Case]:
    """The cases of a routine; none for a part of one. ArgumentError for an unknown name."""
    name = registry.get(form).name
    found = [case for case in cases.cases(name) if case.routine == routine]
    if not found:
        choice("routine:", routine, names(name))
    return found


def runs(routine: str, form: str, platform: str) -> list[Run]:
    """The cases of a routine whose input fits a program's text."""
    mine = _cases(routine, form)
    if not mine:
        raise ArgumentError(
            f"--standalone: {routine!r} is a part of routines and has no recorded cases of its "
            "own, so that no program could check it; without -o its text is printed"
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


def text(routine: str, form: str, platform: str, on: Device | None = None) -> str:
    """The source text of a routine for a platform, or exactly what a device compiles.

    That of a routine that is compiled at once, or else the texts of the kernels that its recorded
    cases launch. ArgumentError for an unknown name, and where the host decides between kernels
    which ones follow.
    """
    name = registry.get(form).name
    if routine in compilation_units.names(name, on):
        unit = compilation_units.find(name, routine, on)
        return kernel_spec.rendered(unit, platform, on.traits if on else None).text
    mine = _cases(routine, name)
    if on:
        raise ArgumentError(
            f"--device: {routine!r} is made of several texts, which are told for platforms: "
            "give --platform"
        )
    texts: dict[str, None] = {}
    begun: dict[str, None] = {}
    for case in mine:
        device = CaptureDevice(platform)
        try:
            cases.device_result(case, device)
        except ArgumentError:
            begun |= dict.fromkeys(one.kernel.name for one in device.notes.launches)
            continue
        texts |= dict.fromkeys(one.kernel.text for one in device.notes.launches)
    if not texts:
        first = f" It begins with {', '.join(begun)}." if begun else ""
        raise ArgumentError(
            f"routine: {routine!r} is made of other routines, and the host works between their "
            f"kernels: it has no text of its own.{first}"
        )
    return "\n".join(texts)


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
