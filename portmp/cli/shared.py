"""What several commands have: files of matrices in and out, options, devices."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from portmp import discovery, formats
from portmp.arrays.dtypes import USUAL
from portmp.arrays.printing import SHOWN
from portmp.distributed import creation, processes, transport
from portmp.errors import ArgumentError, ShapeError
from portmp.files import arrays as files
from portmp.files import saved
from portmp.files import text as files_text
from portmp.formats import Format
from portmp.progress import lasting

if TYPE_CHECKING:
    from portmp.arrays.array import Array
    from portmp.backends.base import Device
    from portmp.linalg import Trust

DEVICE = "a device, such as cuda:0 (default: PORTMP_DEVICE, else the best one)"
MATRIX = ".npy, .npz, .h5, .mtx, .csv or .txt, or - (standard input)"


def matrix_options(parser: argparse.ArgumentParser) -> None:
    """Where the result goes, its format, the device."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result here")
    parser.add_argument(
        "--format", help="number format (default: the one that the .npz files name, else dd)"
    )
    parser.add_argument("--device", help=DEVICE)


def finish(
    args: argparse.Namespace, result: Any, told: Trust | None = None, *, note: str = "", **also: Any
) -> int:
    """Write the result, or print it: every value of it, and how far it can be trusted.

    *note*: a line about it for standard error; *also*: what JSON tells instead.
    """
    facts: dict[str, Any] = {"format": result.format.name, "shape": result.shape, **also}
    if told is not None:
        facts |= told._asdict()
    if args.output:
        saved.save(args.output, result)
        facts = {"output": args.output} | facts
    elif len(result.pieces) > 1 and (result := result.gather("host:0", 0)) is None:
        return 0  # another process prints it
    elif args.json:
        facts["values"] = result.to_strings("round-trip")
    elif result.size > SHOWN:  # print would show the shape only
        width = result.shape[-1] if result.ndim > 1 else 1
        print(files_text.csv_text(result.reshape(-1, width)), end="")
    else:
        print(result)
    if args.json:
        print(json.dumps(facts, indent=1))
    elif note:
        print(note, file=sys.stderr)
    elif told is not None:
        print(
            f"residual {told.residual:.2g} of |b|; of the solution's least certain number about "
            f"{told.digits} digits can be trusted, as far as the given numbers are exact",
            file=sys.stderr,
        )
    return 0


def prepare(
    args: argparse.Namespace,
    *inputs: str | None,
    outputs: Sequence[str | None] = (),
    stacks: bool = True,
) -> Callable[[str], Array]:
    """Check format, outputs and device; returns the reader of input files.

    *outputs*: further ones, beside that of -o. *stacks*: of matrices, by several processes too.
    """
    if inputs.count(files.STANDARD_INPUT) > 1:
        raise ArgumentError("-: standard input can be one of the matrices only")
    given = [name for name in (args.output, *outputs) if name is not None]
    if len({Path(name).resolve() for name in given}) < len(given):
        raise ArgumentError(f"{given[-1]}: is given for two outputs")

    def chosen() -> Format:
        form = formats.get(args.format or _stored_format([name for name in inputs if name]))
        for name in given:
            saved.check_target(name, form)
        return form

    job, device = processes.job(), discovery.get(args.device)
    form = transport.first(chosen, job.queues if job else (), "the format")
    if job and job.count > 1:
        return lambda name: _cut_up(name, form, stacks)
    return lambda name: saved.load(name, form, device)


def _cut_up(name: str, form: Format, stacks: bool) -> Array:
    """A file's array on the devices of all processes."""
    found = creation.load(name, form)
    if not stacks and found.ndim not in (1, 2):
        raise ShapeError(
            f"{name}: an array of shape {found.shape} given, several processes take matrices; one "
            "process, without mpiexec, takes stacks of them, too"
        )
    return found


def _stored_format(inputs: list[str]) -> str:
    """The format that the input files name; which of several is meant is not guessed."""
    stored = {name: form.name for name in inputs if (form := saved.stored_format(name))}
    if len(set(stored.values())) > 1:
        found = ", ".join(f"{name} holds {form}" for name, form in stored.items())
        raise ArgumentError(f"{found}: give --format to choose the format of the result")
    return next(iter(stored.values()), USUAL)


def waiting(what: str, a: Array) -> AbstractContextManager[None]:
    """Tell that work goes on, once it has taken two seconds."""
    device, more = a.pieces[0].queue.device, len(a.pieces) - 1
    where = "by the host reference" if device.by_reference else f"on {device.name}"
    where += f" and {more} more" if more else ""
    size = " x ".join(map(str, a.shape))
    return lasting(f"{what} of {a.format}, {size}, {where}", sys.stderr.isatty())


def written(outputs: Mapping[str, tuple[str | None, Array]]) -> dict[str, str]:
    """Write further results, and say where."""
    found = {what: (name, array) for what, (name, array) in outputs.items() if name is not None}
    for name, array in found.values():
        saved.save(name, array)
    return {what: name for what, (name, _) in found.items()}


def with_kernels(name: str) -> Device:
    """The device of that name; ArgumentError for one that compiles nothing."""
    device = discovery.get(name)
    if device.by_reference:
        raise ArgumentError(
            f"--device: {device.name} runs no kernels: it computes by the host reference"
        )
    return device
