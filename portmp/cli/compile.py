"""``portmp compile``: machine code of kernels, and its resources."""

from __future__ import annotations

import argparse
import json
import sys

from portmp import formats
from portmp.backends.base import Device
from portmp.cli import flag
from portmp.cli.render import source_options
from portmp.cli.shared import with_kernels
from portmp.codegen import kernel_spec, platform
from portmp.compilers.base import Compiler, KernelReport
from portmp.compilers.select import OFFLINE, compiler_for, platform_of
from portmp.errors import ArgumentError, CompileError
from portmp.routines import compilation_units
from portmp.runtime import program


def options(parser: argparse.ArgumentParser) -> None:
    """The routine, and for what it is compiled."""
    source_options(parser, optional=True)
    flag(parser, "--all", "all kernels of the format")
    parser.add_argument("--arch", help="architecture, such as sm_90 or gfx90a")
    parser.add_argument("--device", help="the device whose driver compiles")


def run(args: argparse.Namespace) -> int:
    """Compile, and report."""
    if args.all == (args.routine is not None):
        raise ArgumentError("compile: give a routine or --all")
    compiler, arch, on, device = _compiler(args)
    names = formats.NAMES if args.format == "all" else (formats.get(args.format).name,)
    reports = []
    for name in names:
        routines = list(compilation_units.units(name, device)) if args.all else [args.routine]
        for routine in routines:
            if args.all and sys.stderr.isatty():
                print(f"compiling {routine} of {name} for {arch} ...", file=sys.stderr)
            module = compilation_units.find(name, routine, device)
            source = kernel_spec.rendered(module, on, device.traits if device else None)
            try:
                binary = compiler.compile(source.text, arch)
            except CompileError as error:
                raise program.explained(error, source) from None
            reports += [(name, routine, r) for r in compiler.report(binary, arch)]
    if args.json:
        rows = [{"format": n, "routine": routine, **r.as_dict()} for n, routine, r in reports]
        print(json.dumps(rows, indent=1))
    else:
        print(f"{compiler.name} {compiler.version()}, {arch}")
        print(_report_table(reports))
    return 0


def _compiler(args: argparse.Namespace) -> tuple[Compiler, str, str, Device | None]:
    """The compiler, what it compiles for, the platform, and the device whose driver it is."""
    named = args.platform and platform.get(args.platform).name
    if args.device and args.arch:
        raise ArgumentError(f"--arch: {args.device} compiles for itself; leave --arch or --device")
    if args.arch or (named in OFFLINE and not args.device):
        on = named or platform_of(args.arch)
        return *compiler_for(on, args.arch or ""), on, None
    device = with_kernels(args.device or named or "opencl")
    if named not in (None, device.platform):
        raise ArgumentError(f"--device: {device.name} is not of the platform {named}")
    if device.compiler is None:
        raise ArgumentError(f"--device: the driver of {device.name} does not show its code")
    return device.compiler, device.properties.arch, device.platform, device


def _report_table(reports: list[tuple[str, str, KernelReport]]) -> str:
    def text(value: int | None) -> str:
        return "-" if value is None else str(value)

    rows: list[tuple[str, ...]] = [
        ("format", "routine", "kernel", "regs", "spills", "scratch", "shared", "instructions")
    ]
    for name, routine, r in reports:
        classes = " ".join(f"{k} {v}" for k, v in sorted(r.instructions.items()) if v)
        numbers = (text(v) for v in (r.registers, r.spills, r.scratch, r.shared))
        rows.append((name, routine, r.name, *numbers, classes))
    wide = [max(len(row[i]) for row in rows) + 2 for i in range(3)]
    names = "".join(f"{{:{width}}}" for width in wide)
    return "\n".join((names + "{:>4}{:>8}{:>9}{:>8}  {}").format(*row) for row in rows)
