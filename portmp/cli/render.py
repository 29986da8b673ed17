"""``portmp render``: the source text of kernels."""

import argparse
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from portmp.cli import flag
from portmp.cli.shared import with_kernels
from portmp.codegen import columns, platform
from portmp.compilers import host_programs
from portmp.errors import ArgumentError
from portmp.files import target
from portmp.verify import programs

if TYPE_CHECKING:
    from portmp.backends.base import Device


def options(parser: argparse.ArgumentParser) -> None:
    """The routine, and how it is shown."""
    source_options(parser)
    parser.add_argument(
        "--diff",
        metavar="PLATFORM[,PLATFORM]",
        help="show what differs on one or two other platforms, in columns",
    )
    parser.add_argument("--html", metavar="FILE", help="write the columns into a page, whole")
    parser.add_argument("--device", help="exactly the text that this device compiles")
    flag(
        parser,
        "--standalone",
        "add what hipcc needs; with -o, programs that run and check the routine",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="where the programs are written, one a platform"
    )


def source_options(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """The routine, its format and platform."""
    parser.add_argument("routine", nargs="?" if optional else None, help="gemm, dot, add, ...")
    parser.add_argument("--format", default="dd", help="number format (default dd)")
    usual = "that of --arch, else opencl" if optional else "opencl"
    parser.add_argument("--platform", help=f"cuda, rocm or opencl (default {usual})")


def run(args: argparse.Namespace) -> int:
    """Print or write it."""
    if args.output and not args.standalone:
        raise ArgumentError("-o: give --standalone, whose programs are written into a folder")
    if args.html and not args.diff:
        raise ArgumentError("--html: give --diff, whose columns are written into a file")
    if args.standalone and args.output:
        return _programs(args)
    device = with_kernels(args.device) if args.device else None
    name = device.platform if device else args.platform or "opencl"
    text = _rendered(args, name, device)
    if args.diff:
        return _columns(args, name, text)
    print(text, end="")
    return 0


def _rendered(args: argparse.Namespace, name: str, device: "Device | None") -> str:
    text = programs.text(args.routine, args.format, name, device)
    return platform.get(name).standalone + text if args.standalone else text


def _programs(args: argparse.Namespace) -> int:
    """Programs that run a routine's recorded cases, one a platform."""
    if args.diff or args.device:
        raise ArgumentError("--standalone -o: programs are for platforms: no --diff, no --device")
    on = [args.platform] if args.platform else list(host_programs.PROGRAMS)
    for file in programs.write(args.routine, args.format, on, Path(args.output)):
        print(file)
    return 0


def _columns(args: argparse.Namespace, name: str, text: str) -> int:
    """Texts of platforms side by side, on the terminal or in a file."""
    names = [name, *filter(None, args.diff.split(","))]
    if len(names) not in (2, 3):
        raise ArgumentError(f"--diff: {args.diff!r} given, one platform or two are needed")
    rows = columns.aligned([text, *(_rendered(args, other, None) for other in names[1:])])
    if args.html:
        title = f"{args.routine}, {args.format}: {', '.join(names)}"
        target.check_place(Path(args.html))
        target.replace(Path(args.html), columns.page(rows, names, title).encode())
    elif not any(map(columns.differs, rows)):
        print(f"{args.routine}: the same text for {' and '.join(names)}")
    else:
        print("\n".join(columns.terminal(rows, names, get_terminal_size((160, 24)).columns)))
    return 0
