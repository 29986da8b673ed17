"""The command line: one small function a command.

Exit status: 0, 1 where a check failed, 2 for bad use or input with one clear line on
standard error.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from portmp.errors import (
    ArgumentError,
    CompileError,
    InputError,
    LinAlgWarning,
    PortmpError,
    ShapeError,
    one_line,
    printable,
    suggestion,
)

if TYPE_CHECKING:
    from portmp.arrays.array import Array
    from portmp.backends.base import Device
    from portmp.compilers.base import Compiler, KernelReport
    from portmp.linalg import Certified, Refined, Trust

Args = argparse.Namespace
_DEVICE = "a device, such as cuda:0 (default: PORTMP_DEVICE, else the best one)"
_MATRIX = ".npy, .npz, .mtx, .csv or .txt, or - (standard input)"
_NEGATIVE = re.compile(r"-(?:[0-9.]|inf|nan)", re.IGNORECASE)


class _WithDefaults(argparse.HelpFormatter):
    """Help that tells what an option is where it is not given."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        plain = action.default is None or isinstance(action.default, bool)
        if text is None or plain or "default" in text or action.default is argparse.SUPPRESS:
            return text
        return f"{text} (default: %(default)s)"


class _OneLineParser(argparse.ArgumentParser):
    """Reports bad use in one line, with the nearest word for a mistyped command."""

    commands: Collection[str] = ()

    def error(self, message: str) -> NoReturn:
        match = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if match:
            near = suggestion(match[1], list(self.commands))
            message = f"unknown command {match[1]!r}{near}; commands: {', '.join(self.commands)}"
        self.exit(2, f"portmp: error: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed when the process started
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # names that a terminal cannot show are escaped
            stream.reconfigure(errors="backslashreplace")
    words = _attached(sys.argv[1:] if argv is None else argv) or ["--help"]
    args = command_line(words).parse_args(words)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            status: int = args.run(args)
        sys.stdout.flush()
    except PortmpError as error:
        text = str(error)
        return _failed(text if isinstance(error, CompileError) else text.replace("\n", "\\n"))
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        said = str(error) and one_line(error)  # NumPy tells what did not fit
        return _failed(f"this machine's memory does not suffice{said and f': {said}'}")
    except BrokenPipeError:
        _abandon_output()
        return 0
    except OSError as error:
        _abandon_output()
        return _failed(f"{error.filename or 'standard output'}: {error.strerror or error}")
    return status


def _warned(message: Warning | str, *where: object, **more: object) -> None:
    """A warning as a line: where in portmp it was said tells nothing."""
    print(f"portmp: warning: {printable(str(message))}", file=sys.stderr)


def _attached(words: Sequence[str]) -> list[str]:
    """The words, with a negative factor attached to its option: argparse sees options in -1/3."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in ("--alpha", "--beta") and _NEGATIVE.match(word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _failed(message: str) -> int:
    print(f"portmp: error: {printable(message)}", file=sys.stderr)
    return 2


def _abandon_output() -> None:
    """Let the interpreter's last flush go nowhere instead of failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- devices and cache -----------------------------------------------------------------


def _devices(args: Args) -> int:
    from portmp import discovery
    from portmp.discovery import probe

    rows, problems = [], {}
    for backend in discovery.BACKENDS:
        found = discovery.find(backend)
        if found.problem:
            problems[backend] = found.problem
        for device in found.devices:
            state, usable = "not probed", True
            if not args.no_probe:
                try:
                    repairs = probe.approve(device).repairs
                    state = "ok" if not repairs else "repaired: " + "; ".join(repairs)
                except PortmpError as error:
                    state, usable = str(error), False
            if device.by_reference:
                state = device.remark
            facts = device.properties.as_dict()
            facts |= {"device": facts["name"], "name": device.name}
            rows.append({**facts, "state": state, "usable": usable})
    if args.json:
        print(json.dumps({"devices": rows, "problems": problems}, indent=1))
        return 0
    usual = ""
    with suppress(PortmpError):
        usual = "" if args.no_probe else discovery.get().name
    for row in rows:
        about = row["extra"].get("platform", f"driver {row['driver']}")
        memory = f"{row['memory'] / 2**30:.1f} GiB"
        size = f"{row['compute_units']} units, {memory}"
        print(f"{row['name']:10} {row['kind']:4} {row['device']}, {size}")
        print(f"{'':15} {about}: {row['state']}{', the default' * (row['name'] == usual)}")
    for backend, problem in problems.items():
        print(f"{backend:10} none: {problem}")
    return 0


def _formats(args: Args) -> int:
    from portmp import formats

    same = ("name", "limbs", "word", "bits", "digits", "about")
    rows: list[dict[str, Any]] = [
        {k: getattr(f, k) for k in same} | {"bytes": f.itemsize, "stored_short": f.coded}
        for f in map(formats.get, (*formats.NAMES, *formats.STORED))
    ]
    if args.json:
        print(json.dumps({"formats": rows}, indent=1))
        return 0
    print(f"{'format':14}{'limbs':>6}  {'word':9}{'bytes':>6}{'bits':>6}{'digits':>8}  what it is")
    for row in rows:
        print(
            f"{row['name']:14}{row['limbs']:>6}  {row['word']:9}{row['bytes']:>6}{row['bits']:>6}"
            f"{row['digits']:>8}  {row['about']}"
        )
    return 0


def _cache(args: Args) -> int:
    from portmp import paths
    from portmp.runtime import program

    files = list(program.cached_files())
    size = sum(file.stat().st_size for file in files if file.exists())
    if args.clear:
        for file in files:
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"{file}: cannot be removed: {error.strerror}") from None
    folder = paths.cache_folder()
    facts = {
        "folder": str(folder) if folder else None,
        "files": len(files),
        "bytes": size,
        "cleared": bool(args.clear),
    }
    if args.json:
        print(json.dumps(facts, indent=1))
    elif folder is None:
        print("no cache: PORTMP_CACHE_DIR is empty or its folder cannot be written")
    else:
        what = "removed" if args.clear else "kept"
        print(f"{folder}: {len(files)} files {what}, {size} bytes")
    return 0


# --- matrices ----------------------------------------------------------------------------


def _finish(
    args: Args, result: Array, told: Trust | None = None, *, note: str = "", **also: Any
) -> int:
    """Write the result, or print it: every value of it, and how far it can be trusted.

    *note*: a line about it for standard error; *also*: what JSON tells instead.
    """
    from portmp import files
    from portmp.arrays.printing import SHOWN
    from portmp.files import text as files_text

    facts: dict[str, Any] = {"format": result.format.name, "shape": result.shape, **also}
    if told is not None:
        facts |= told._asdict()
    if args.output:
        files.write(args.output, result)
        facts = {"output": args.output} | facts
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


def _prepare(
    args: Args, *inputs: str | None, outputs: Sequence[str | None] = ()
) -> Callable[[str], Array]:
    """Check format, outputs and device; returns the reader of input files.

    *outputs*: further ones, beside that of -o.
    """
    from pathlib import Path

    from portmp import discovery, files, formats

    if inputs.count(files.STANDARD_INPUT) > 1:
        raise ArgumentError("-: standard input can be one of the matrices only")
    form = formats.get(args.format or _stored_format([name for name in inputs if name]))
    if args.output:
        files.check_target(args.output, form)
    device = discovery.get(args.device)
    further = [name for name in outputs if name is not None]
    given = [args.output, *further] if args.output else further
    if len({Path(name).resolve() for name in given}) < len(given):
        raise ArgumentError(f"{given[-1]}: is given for two outputs")
    for name in further:
        files.check_target(name, form)
    return lambda name: files.read(name, form, device)


def _stored_format(inputs: list[str]) -> str:
    """The format that the input files name; which of several is meant is not guessed."""
    from portmp import files
    from portmp.arrays.dtypes import USUAL

    stored = {name: form.name for name in inputs if (form := files.stored_format(name))}
    if len(set(stored.values())) > 1:
        found = ", ".join(f"{name} holds {form}" for name, form in stored.items())
        raise ArgumentError(f"{found}: give --format to choose the format of the result")
    return next(iter(stored.values()), USUAL)


def _waiting(what: str, a: Array) -> AbstractContextManager[None]:
    """Tell that work goes on, once it has taken two seconds."""
    from portmp.progress import lasting

    where = "by the host reference" if a.device.by_reference else f"on {a.device.name}"
    size = " x ".join(map(str, a.shape))
    return lasting(f"{what} of {a.format}, {size}, {where}", sys.stderr.isatty())


def _gemm(args: Args) -> int:
    import portmp as mp

    if args.beta is not None and args.c is None:
        raise ArgumentError("--beta: needs the matrix C (-C FILE)")
    read = _prepare(args, args.a, args.b, args.c)
    a, b, c = read(args.a), read(args.b), read(args.c) if args.c else None
    if c is not None:
        _check_c(args, a, b, c)
    beta = (args.beta or "1") if c is not None else 0
    with _waiting("gemm", a):
        result = mp.gemm(
            a,
            b,
            alpha=args.alpha,
            beta=beta,
            c=c,
            accuracy=args.accuracy,
            method=args.method,
            trans_a=args.trans_a,
            trans_b=args.trans_b,
        )
    return _finish(args, result)


def _check_c(args: Args, a: Array, b: Array, c: Array) -> None:
    """Refuse a C of another shape than the product's: broadcast, it would hide a wrong file."""
    import numpy as np

    left = a.shape[-2:][:: -1 if args.trans_a else 1]
    right = b.shape[-2:][:: -1 if args.trans_b else 1]
    if len(left) + len(right) < 4 or left[1] != right[0]:
        return  # gemm has the words for that, and for batches that differ
    try:
        product = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), left[0], right[1])
    except ValueError:
        return
    if c.shape != product:
        raise ShapeError(f"-C {args.c}: the shape is {c.shape}, that of the product {product}")


def _solve(args: Args) -> int:
    import portmp as mp

    read = _prepare(args, args.a, args.b)
    if args.positive and (args.refine or args.certify):
        raise ArgumentError("--positive: goes with neither --refine nor --certify")
    a, b = read(args.a), read(args.b)
    with _waiting("solve", a):
        found: Any
        if args.positive:
            found = mp.linalg.cholesky_solve(mp.linalg.cholesky(a), b)
        else:
            found = mp.linalg.solve(a, b, refine=args.refine, certify=args.certify)
    if args.certify:
        return _certified(args, found)
    return _refined(args, found) if args.refine else _finish(args, found)


def _refined(args: Args, found: Refined) -> int:
    """Write or print the solution, and what was done."""
    info = found.info
    told = (
        f"factors in {info.format}, {info.corrections} corrections, {info.iterations} iterations "
        f"of GMRES; condition about {info.condition:.2g}; error below {info.bound:.2g} of the "
        "largest |x|, by that estimate"
    )
    return _finish(args, found.x, note=told, refinement=info._asdict())


def _certified(args: Args, found: Certified) -> int:
    """Write or print the solution, and its bounds: the largest one in words, all as JSON."""
    import decimal

    upwards = decimal.Context(prec=2, rounding=decimal.ROUND_CEILING)
    bounds = found.bound.to_float64()
    largest = upwards.create_decimal_from_float(float(bounds.max(initial=0)))
    above = f"{largest:.1e}" if largest else "0"
    told = (
        f"no component's error is above {above}: proved with an inverse in "
        f"{found.info.format} and {found.info.corrections} corrections"
    )
    bound = found.bound.to_strings("round-trip")
    return _finish(args, found.x, note=told, bound=bound, certificate=found.info._asdict())


def _lstsq(args: Args) -> int:
    import portmp as mp

    read = _prepare(args, args.a, args.b)
    if args.polynomial is None:
        if args.b is None:
            raise ArgumentError("lstsq: two files A B expected, or --polynomial DEGREE and one")
        a, b = read(args.a), read(args.b)
        with _waiting("lstsq", a):
            found = mp.linalg.lstsq(a, b)
            told = mp.linalg.trust(a, b, found.x)
        if args.output and not args.json:
            squares = found.residuals.to_strings(6)
            print(f"rank {found.rank}, sums of squares of residuals {squares}")
        if found.rank < a.shape[1] and not args.json:
            print(
                f"rank {found.rank}, {a.shape[1]} unknowns: the shortest of all solutions",
                file=sys.stderr,
            )
        short = found.residuals.to_strings("short")
        return _finish(args, found.x, told, rank=found.rank, residuals=short)
    from portmp import files
    from portmp.demos.filip import polynomial_fit
    from portmp.demos.ill_conditioned import powers

    data = read(args.a)
    if args.b is not None or args.polynomial < 0 or data.ndim != 2 or data.shape[1] != 2:
        raise ArgumentError("--polynomial DEGREE: one file with two columns, y and x, expected")
    names = [name.lower() for name in files.headings(args.a)]
    if sorted(names) != ["x", "y"]:
        print("columns are not called x and y: y is taken first, x second", file=sys.stderr)
    y, x = (data[:, 1], data[:, 0]) if names == ["x", "y"] else (data[:, 0], data[:, 1])
    with _waiting("lstsq", data):
        fit = polynomial_fit(x, y, args.polynomial)
        told = mp.linalg.trust(powers(x, args.polynomial), y, fit, 0.0)
    return _finish(args, fit, told)


def _eigh(args: Args) -> int:
    import portmp as mp

    read = _prepare(args, args.a, args.b, outputs=[args.vectors])
    a, b = read(args.a), None if args.b is None else read(args.b)
    subset = None if args.subset is None else tuple(args.subset)
    if subset and not 0 <= subset[0] <= subset[1] < a.shape[-1]:
        raise ArgumentError(
            f"--subset: {subset[0]} {subset[1]} given, two numbers in order from 0 to "
            f"{a.shape[-1] - 1} are needed"
        )
    options: dict[str, Any] = {"UPLO": "U" if args.upper else "L", "subset_by_index": subset}
    for name, x in ((args.a, a), (args.b, b)):
        if x is not None and x.ndim > 1 and x.shape == x.mT.shape and not (x == x.mT).all():
            half = "upper" if args.upper else "lower"
            print(f"{name}: not symmetric: its {half} triangle alone is read", file=sys.stderr)
    with _waiting("eigh", a):
        if args.vectors is None:
            return _finish(args, mp.linalg.eigvalsh(a, b, **options))
        values, vectors = mp.linalg.eigh(a, b, **options)
    return _finish(args, values, None, **_written({"vectors": (args.vectors, vectors)}))


def _svd(args: Args) -> int:
    import portmp as mp

    read = _prepare(args, args.a, outputs=[args.left, args.right])
    if args.full and args.left is None and args.right is None:
        raise ArgumentError("--full: is about vectors: give --left or --right")
    a = read(args.a)
    with _waiting("svd", a):
        if args.left is None and args.right is None:
            return _finish(args, mp.linalg.svdvals(a, relative=args.relative))
        u, s, vh = mp.linalg.svd(a, args.full, relative=args.relative)
    written = _written({"left": (args.left, u), "right": (args.right, vh)})
    return _finish(args, s, None, **written)


def _written(outputs: Mapping[str, tuple[str | None, Array]]) -> dict[str, str]:
    """Write further results, and say where."""
    from portmp import files

    found = {what: (name, array) for what, (name, array) in outputs.items() if name is not None}
    for name, array in found.values():
        files.write(name, array)
    return {what: name for what, (name, _) in found.items()}


def _demo(args: Args) -> int:
    warnings.simplefilter("ignore", LinAlgWarning)  # their tables tell which digits are right
    others = () if args.about == "storage" else ("format", "size", "output")
    for name in others[:1] if args.about in _SIZED_DEMOS else others:
        if getattr(args, name) is not None:
            raise ArgumentError(f"--{name}: belongs to portmp demo storage")
    return _of(f"portmp.demos.{_SIZED_DEMOS.get(args.about, args.about)}")(args)


_SIZED_DEMOS = {"storage": "storage", "linalg": "linear_algebra", "krylov": "krylov"}
"""Demonstrations that take a size, and their modules."""


def _of(module: str) -> Callable[[Args], int]:
    """The command of a module that is loaded when it runs."""

    def run(args: Args) -> int:
        status: int = importlib.import_module(module).command(args)
        return status

    return run


_verify, _tune = _of("portmp.verify.command"), _of("portmp.tuner.search")
_nbody, _report = _of("portmp.nbody.simulate"), _of("portmp.report.command")
_port = _of("portmp.porting.command")


def _bench(args: Args) -> int:
    from portmp.bench import compare, options

    if args.benchmark == "compare":
        return compare.command(args)
    status: int = options.family(args.benchmark).command(args)
    return status


# --- source and machine code ------------------------------------------------------------


def _rendered(args: Args, name: str, device: Device | None) -> str:
    from portmp.codegen import platform
    from portmp.verify import programs

    text = programs.text(args.routine, args.format, name, device)
    return platform.get(name).standalone + text if args.standalone else text


def _warm(args: Args) -> int:
    from dataclasses import asdict

    from portmp import discovery, formats
    from portmp.progress import Progress
    from portmp.tuner import warm

    device = discovery.get(args.device)
    names = formats.STANDARD if args.format == "all" else (formats.get(args.format).name,)
    rows = []
    for one in warm.warm(device, names, Progress(sys.stderr.isatty()), args.workers):
        rows.append(one)
        if not args.json:
            print(
                f"{one.format:10} {one.units} units, {one.compiled} compiled in "
                f"{one.seconds:.1f} s on {device.name}"
            )
            for failure in one.failures:
                print(f"portmp: {failure}", file=sys.stderr)
    if args.json:
        print(json.dumps([asdict(one) for one in rows], indent=1))
    return int(any(one.failures for one in rows))


def _render(args: Args) -> int:
    if args.output and not args.standalone:
        raise ArgumentError("-o: give --standalone, whose programs are written into a folder")
    if args.html and not args.diff:
        raise ArgumentError("--html: give --diff, whose columns are written into a file")
    if args.standalone and args.output:
        return _programs(args)
    device = _with_kernels(args.device) if args.device else None
    name = device.platform if device else args.platform or "opencl"
    text = _rendered(args, name, device)
    if args.diff:
        return _columns(args, name, text)
    print(text, end="")
    return 0


def _programs(args: Args) -> int:
    """Programs that run a routine's recorded cases, one a platform."""
    from pathlib import Path

    from portmp.compilers import host_programs
    from portmp.verify import programs

    if args.diff or args.device:
        raise ArgumentError("--standalone -o: programs are for platforms: no --diff, no --device")
    on = [args.platform] if args.platform else list(host_programs.PROGRAMS)
    for file in programs.write(args.routine, args.format, on, Path(args.output)):
        print(file)
    return 0


def _columns(args: Args, name: str, text: str) -> int:
    """Texts of platforms side by side, on the terminal or in a file."""
    from pathlib import Path
    from shutil import get_terminal_size

    from portmp.codegen import columns
    from portmp.files import target

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


def _with_kernels(name: str) -> Device:
    """The device of that name; ArgumentError for one that compiles nothing."""
    from portmp import discovery

    device = discovery.get(name)
    if device.by_reference:
        raise ArgumentError(
            f"--device: {device.name} runs no kernels: it computes by the host reference"
        )
    return device


def _compile(args: Args) -> int:
    from portmp import formats
    from portmp.codegen import kernel_spec
    from portmp.errors import CompileError
    from portmp.routines import compilation_units
    from portmp.runtime import program

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


def _compiler(args: Args) -> tuple[Compiler, str, str, Device | None]:
    """The compiler, what it compiles for, the platform, and the device whose driver it is."""
    from portmp.codegen import platform
    from portmp.compilers.select import OFFLINE, compiler_for, platform_of

    named = args.platform and platform.get(args.platform).name
    if args.device and args.arch:
        raise ArgumentError(f"--arch: {args.device} compiles for itself; leave --arch or --device")
    if args.arch or (named in OFFLINE and not args.device):
        on = named or platform_of(args.arch)
        return *compiler_for(on, args.arch or ""), on, None
    device = _with_kernels(args.device or named or "opencl")
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


# --- the parser ------------------------------------------------------------------------------


def _word(text: str) -> str:
    """An argument that is not empty: an unset variable of the shell means no default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty")
    return text


def _flag(parser: argparse.ArgumentParser, name: str, about: str) -> None:
    parser.add_argument(name, action="store_true", help=about)


Command = Callable[[str, Callable[[Args], int], str], argparse.ArgumentParser]


def _linear_options(command: Command) -> None:
    """The commands of linear algebra."""
    solve = command("solve", _solve, "solve a system of equations from files")
    solve.add_argument("a", metavar="A", help=_MATRIX)
    solve.add_argument("b", metavar="B", help="right-hand sides, likewise")
    _flag(solve, "--positive", "A is positive definite: by Cholesky's method")
    _flag(solve, "--refine", "by factors of fewer limbs, with an error estimate")
    _flag(solve, "--certify", "with a proved bound of each component's error")
    _matrix_options(solve)

    lstsq = command("lstsq", _lstsq, "least squares by QR")
    lstsq.add_argument("a", metavar="A", help=_MATRIX)
    lstsq.add_argument(
        "b", metavar="B", nargs="?", help="right-hand sides, likewise (none with --polynomial)"
    )
    lstsq.add_argument(
        "--polynomial", type=int, metavar="DEGREE", help="fit a polynomial to columns y, x"
    )
    _matrix_options(lstsq)

    eigh = command("eigh", _eigh, "eigenvalues of a symmetric matrix from a file, ascending")
    eigh.add_argument("a", metavar="A", help=_MATRIX)
    eigh.add_argument("b", metavar="B", nargs="?", help="of A x = w B x, B positive definite")
    _flag(eigh, "--upper", "read upper triangles, not lower ones")
    eigh.add_argument(
        "--subset", type=int, nargs=2, metavar=("LO", "HI"), help="only values LO to HI, from 0"
    )
    eigh.add_argument("--vectors", metavar="FILE", help="write the eigenvectors, as columns, here")
    _matrix_options(eigh)

    svd = command("svd", _svd, "singular values of a matrix from a file, descending")
    svd.add_argument("a", metavar="A", help=_MATRIX)
    svd.add_argument("--left", metavar="FILE", help="write the left vectors, as columns, here")
    svd.add_argument("--right", metavar="FILE", help="write the right vectors, as rows, here")
    _flag(svd, "--full", "square matrices of vectors")
    _flag(svd, "--relative", "small values relatively exact, more slowly")
    _matrix_options(svd)


def command_line(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or the one that suffices for *words*: benchmarks load much."""
    parser = _OneLineParser(
        prog="portmp", description="Arithmetic beyond float64 on GPUs, the same bits everywhere."
    )
    parser.add_argument("--version", action="version", version=f"portmp {_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.commands = commands.choices

    def command(name: str, run: Callable[[Args], int], about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=about, description=about, formatter_class=_WithDefaults
        )
        sub.set_defaults(run=run)
        sub.register("type", None, _word)
        if name not in ("render", "bench", "report"):
            _flag(sub, "--json", "print JSON")
        return sub

    devices = command("devices", _devices, "list devices, and why a backend has none")
    _flag(devices, "--no-probe", "do not probe the arithmetic")
    command("formats", _formats, "list the formats: limbs, bits, digits")

    _gemm_options(command("gemm", _gemm, "multiply two matrices from files"))
    _linear_options(command)
    _demo_options(
        command("demo", _demo, "the Filip regression in several formats, and other examples")
    )

    _render_options(command("render", _render, "print the source text of a routine"))

    compile_ = command("compile", _compile, "compile kernels and report their resources")
    _source_options(compile_, optional=True)
    _flag(compile_, "--all", "all kernels of the format")
    compile_.add_argument("--arch", help="architecture, such as sm_90 or gfx90a")
    compile_.add_argument("--device", help="the device whose driver compiles")

    verify = command("verify", _verify, "compare the bits of all routines with the recorded ones")
    verify.add_argument(
        "--device",
        help="a device, 'reference' or 'all' (default: PORTMP_DEVICE, else the best one)",
    )
    verify.add_argument("--format", help="one format only (default: all)")
    verify.add_argument("--routine", help="one routine only (default: all)")
    verify.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes, a format each (default: 1)"
    )
    verify.add_argument("-o", "--output", metavar="FILE", help="write the JSON report")

    tune = command("tune", _tune, "search for the fastest schedules on a device")
    _tune_options(tune)

    _nbody_options(command("nbody", _nbody, "move particles under gravity, in several formats"))

    bench = command("bench", _bench, "measure routines, or compare two measurements")
    if words is None or "bench" in words:
        _bench_parsers(bench)

    _report_options(command("report", _report, "a page of measured results, or of what changed"))

    _port_options(command("port", _port, "what stands between CUDA sources and AMD or OpenCL"))

    _warm_options(command("warm", _warm, "compile kernels ahead, so that no first call waits"))
    cache = command("cache", _cache, "show or clear the cache of compiled kernels")
    _flag(cache, "--clear", "remove the files")
    return parser


def _gemm_options(gemm: argparse.ArgumentParser) -> None:
    gemm.add_argument("a", metavar="A", help=_MATRIX)
    gemm.add_argument("b", metavar="B", help="likewise")
    gemm.add_argument("-C", dest="c", metavar="C", help="matrix to add")
    gemm.add_argument("--alpha", default="1", help="factor of the product (decimal string)")
    gemm.add_argument("--beta", help="factor of C (default 1 where C is given)")
    _flag(gemm, "--trans-a", "transpose A")
    _flag(gemm, "--trans-b", "transpose B")
    gemm.add_argument(
        "--accuracy", default="accurate", help="accurate (the default), or fast: one word less"
    )
    gemm.add_argument(
        "--method",
        choices=("auto", "direct", "ozaki1", "ozaki2"),
        default="auto",
        help="each element as its row and column allow (auto, the default), direct, or all by "
        "integers (ozaki1, ozaki2)",
    )
    _matrix_options(gemm)


def _demo_options(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "about",
        nargs="?",
        choices=("filip", *_SIZED_DEMOS),
        default="filip",
        help="filip (the default), storage: what short formats cost, and refinement, linalg: "
        "digits of ill-conditioned problems in each format, or krylov: where more digits pay by "
        "fewer iterations",
    )
    demo.add_argument("--device", help=_DEVICE)
    demo.add_argument("--plot", metavar="FILE", help="draw digits, errors or iterations")
    demo.add_argument("--format", metavar="F,...", help="storage: formats (default all slfp64)")
    demo.add_argument(
        "--size",
        type=int,
        metavar="N",
        help="storage, krylov: equations (default 1024); linalg: sites (default 1000)",
    )
    demo.add_argument("-o", "--output", metavar="FILE", help="write the JSON report, not of filip")


def _bench_parsers(bench: argparse.ArgumentParser) -> None:
    from portmp.bench import options

    bench.register("type", None, str)  # the benchmarks check their own words
    kinds = bench.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    subs = []
    for name, found in (options.COMMANDS | options.SUITES).items():
        told: Any = {"help": found.about, "description": found.about}
        subs.append(kinds.add_parser(name, **told, formatter_class=_WithDefaults))
        options.add(subs[-1], found)
    about = "two reports of one benchmark and their ratios, row by row"
    compare = kinds.add_parser("compare", help=about, description=about)
    compare.add_argument("old", metavar="OLD", help="a report of a benchmark")
    compare.add_argument("new", metavar="NEW", help="another one of the same benchmark")
    for sub in (*subs, compare):
        sub.register("type", None, _word)
        _flag(sub, "--json", "print JSON")


def _matrix_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result here")
    parser.add_argument(
        "--format", help="number format (default: the one that the .npz files name, else dd)"
    )
    parser.add_argument("--device", help=_DEVICE)


def _nbody_options(nbody: argparse.ArgumentParser) -> None:
    nbody.add_argument(
        "source",
        nargs="?",
        default="outer_solar_system",
        help="a .csv table, a saved .npz state, plummer, uniform, or outer_solar_system (default)",
    )
    nbody.add_argument("--number", type=int, help="particles of a sphere (default 1024)")
    nbody.add_argument("--seed", type=int, help="seed of a sphere (default 0)")
    nbody.add_argument("--format", default="float64,dd", help="formats, side by side")
    nbody.add_argument("--device", help=_DEVICE)
    nbody.add_argument("--scheme", default="yoshida6", help="leapfrog, yoshida4 or yoshida6")
    nbody.add_argument("--dt", default="100", help="length of a step (decimal string)")
    nbody.add_argument("--steps", type=int, default=1000, metavar="N", help="steps (default 1000)")
    nbody.add_argument("--samples", type=int, default=200, help="how often errors are taken")
    nbody.add_argument("--eps", help="softening length (decimal string, default 0)")
    nbody.add_argument("--root", help="the inverse square root (default exact)")
    back = "go back, and tell how near (by default where nothing is written)"
    nbody.add_argument("--reverse", action=argparse.BooleanOptionalAction, help=back)
    nbody.add_argument("-o", "--output", metavar="FILE", help="save the last state (.npz)")
    nbody.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="save the run here on the way (.npz), and go on from it where it is there",
    )
    nbody.add_argument(
        "--every",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="from one checkpoint to the next (default 60)",
    )
    nbody.add_argument("--trajectory", metavar="FILE", help="write the samples' positions (.npz)")
    nbody.add_argument("--plot", metavar="FILE", help="draw orbits and errors")


def _render_options(render: argparse.ArgumentParser) -> None:
    _source_options(render)
    render.add_argument(
        "--diff",
        metavar="PLATFORM[,PLATFORM]",
        help="show what differs on one or two other platforms, in columns",
    )
    render.add_argument("--html", metavar="FILE", help="write the columns into a page, whole")
    render.add_argument("--device", help="exactly the text that this device compiles")
    _flag(
        render,
        "--standalone",
        "add what hipcc needs; with -o, programs that run and check the routine",
    )
    render.add_argument(
        "-o", "--output", metavar="DIR", help="where the programs are written, one a platform"
    )


def _report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument("files", nargs="*", metavar="FILE", help="what bench and verify wrote")
    report.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a page (.html), one file of one device (.json), a table (.md), a figure (.svg)",
    )
    report.add_argument("--device", help="with -o FILE.json: which device, such as opencl:0")
    _flag(report, "--compare", "two files: what changed beyond both spreads")
    _flag(report, "--check", "say whether files of a device would be taken")


def _port_options(port: argparse.ArgumentParser) -> None:
    port.add_argument("files", nargs="+", metavar="FILE", help="CUDA sources and their headers")
    _flag(port, "--opencl", "tell of OpenCL as well as of HIP")
    _flag(port, "--traps", "traps alone, no list of constructs")
    _flag(port, "--hip", "write HIP texts into the folder of -o")
    _flag(port, "--template", "write first templates of kernels into it")
    port.add_argument("-o", "--output", metavar="DIR", help="where to write")
    port.add_argument(
        "--fail",
        choices=("certain", "likely", "possible", "never"),
        default="likely",
        help="the least certainty of a trap that makes the exit status 1 (default likely)",
    )


def _warm_options(warm: argparse.ArgumentParser) -> None:
    warm.add_argument("--format", default="dd", help="a format, or all: the standard ones")
    warm.add_argument("--device", help=_DEVICE)
    warm.add_argument(
        "--workers", type=int, default=0, metavar="N", help="processes (default: one a core)"
    )


def _tune_options(tune: argparse.ArgumentParser) -> None:
    tune.add_argument("routine", nargs="?", help="gemm, gemv, dot, axpy or nbody (default all)")
    tune.add_argument("--device", help=_DEVICE)
    tune.add_argument("--format", help="formats, with commas between (default: all standard ones)")
    tune.add_argument("--accuracy", default="both", help="accurate, fast or both (default)")
    tune.add_argument("--shape", help="one class of shapes only: large, columns-8, ...")
    tune.add_argument("--seconds", type=float, default=300, help="limit of a search (default 300)")
    tune.add_argument("--passes", type=int, default=2, help="passes over the space (default 2)")
    tune.add_argument("--workers", type=int, help="processes that compile (default: all cores)")
    _flag(tune, "--again", "forget earlier trials")
    _flag(tune, "--show", "show the schedules in effect")
    tune.add_argument("-o", "--output", metavar="FILE", help="add to this file of schedules")


def _source_options(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    parser.add_argument("routine", nargs="?" if optional else None, help="gemm, dot, add, ...")
    parser.add_argument("--format", default="dd", help="number format (default dd)")
    usual = "that of --arch, else opencl" if optional else "opencl"
    parser.add_argument("--platform", help=f"cuda, rocm or opencl (default {usual})")


def _version() -> str:
    import portmp

    return portmp.__version__


if __name__ == "__main__":
    sys.exit(main())
