"""The command line: which commands there are, each of them a file beside this one.

A command's module has ``options``, which declares them, and ``run``. Exit status: 0, 1 where a
check failed, 2 for bad use or input with one clear line on standard error.
"""

import argparse
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NoReturn

from portmp.definition import __version__
from portmp.distributed.launched import launched
from portmp.errors import ArgumentError, CompileError, PortmpError, one_line, printable, suggestion

COMMANDS = {
    "devices": "list devices, and why a backend has none",
    "formats": "list the formats: limbs, bits, digits",
    "gemm": "multiply two matrices from files",
    "solve": "solve a system of equations from files",
    "lstsq": "least squares by QR",
    "eigh": "eigenvalues of a symmetric matrix from a file, ascending",
    "svd": "singular values of a matrix from a file, descending",
    "demo": "the Filip regression in several formats, and other examples",
    "render": "print the source text of a routine",
    "compile": "compile kernels and report their resources",
    "verify": "compare the bits of all routines with the recorded ones",
    "tune": "search for the fastest schedules on a device",
    "nbody": "move particles under gravity, in several formats",
    "bench": "measure routines, or compare two measurements",
    "report": "a page of measured results, or of what changed",
    "port": "what stands between CUDA sources and AMD or OpenCL",
    "warm": "compile kernels ahead, so that no first call waits",
    "cache": "show or clear the cache of compiled kernels",
}
"""What each does, by its name, which is that of its module."""
RANKED = ("gemm", "solve", "lstsq", "eigh", "svd", "nbody", "bench devices")
"""Commands that several processes of MPI do together (docs/distributed.md)."""
_NO_JSON = ("render", "bench", "report")
"""Commands whose results are texts and files; those of ``bench`` have the option themselves."""
_NEGATIVE = re.compile(r"-(?:[0-9.]|inf|nan)", re.IGNORECASE)


class WithDefaults(argparse.HelpFormatter):
    """Help that tells what an option is where it is not given."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        plain = action.default is None or isinstance(action.default, bool)
        if text is None or plain or "default" in text or action.default is argparse.SUPPRESS:
            return text
        return f"{text} (default: %(default)s)"


class _OneLineParser(argparse.ArgumentParser):
    """Reports bad use in one line, with the nearest word for a mistyped command or option."""

    commands: Collection[str] = ()
    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        match = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if match:
            near = suggestion(match[1], list(self.commands))
            message = f"unknown command {match[1]!r}{near}; commands: {', '.join(self.commands)}"
        elif message.startswith("unrecognized") or re.search(r": [A-Z]+$", message):
            known = list(_options(self))
            given = next((w for w in self.words if w[:2] == "--" and w not in known), None)
            if given:
                word = given.partition("=")[0]
                message = f"unknown option {word!r}{suggestion(word, known)}"
        self.exit(2, f"portmp: error: {message}\n")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Names of options, those of commands too."""
    yield from parser._option_string_actions
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _options(one)


def command_line(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or one with the options of those among *words*."""
    parser = _OneLineParser(
        prog="portmp", description="Arithmetic beyond float64 on GPUs, the same bits everywhere."
    )
    parser.add_argument("--version", action="version", version=f"portmp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.commands, parser.words = COMMANDS, words or ()
    for name, about in COMMANDS.items():
        known: Any = {"help": about, "description": about, "formatter_class": WithDefaults}
        sub = commands.add_parser(name, **known)
        sub.register("type", None, filled)
        if words is None or name in words:
            if name not in _NO_JSON:
                flag(sub, "--json", "print JSON")
            importlib.import_module(f"portmp.cli.{name}").options(sub)
    return parser


def filled(text: str) -> str:
    """An argument that is not empty: an unset variable of the shell means no default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty")
    return text


def flag(parser: argparse.ArgumentParser, name: str, about: str) -> None:
    """An option without a value."""
    parser.add_argument(name, action="store_true", help=about)


def _join(args: argparse.Namespace, count: int) -> None:
    """Meet the other processes; ArgumentError for commands that one process does."""
    command = f"{args.command} {vars(args).get('benchmark', '')}".strip()
    if command not in RANKED:
        raise ArgumentError(
            f"{command}: started {count} times, and one process does it; several do "
            f"{', '.join(RANKED)}; verify --ranks N starts its processes itself"
        )
    from portmp.distributed import processes

    given = args.device[0] if isinstance(args.device, list) else args.device
    job = processes.job() or processes.initialize(devices=given)
    mine = next(device.name for device in job.devices if device.rank is None)
    args.device = [mine] if args.command == "bench" else mine


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status.

    Of processes that mpiexec or srun started the first one alone writes to the terminal.
    """
    rank, count, _ = launched()
    if rank:
        sys.stdout = sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
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
            if count > 1:
                _join(args, count)
            status: int = importlib.import_module(f"portmp.cli.{args.command}").run(args)
        sys.stdout.flush()
    except PortmpError as error:
        text = str(error)
        text = text if isinstance(error, CompileError) else text.replace("\n", "\\n")
        return _failed(text, error)
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        said = str(error) and one_line(error)  # NumPy tells what did not fit
        return _failed(f"this machine's memory does not suffice{said and f': {said}'}", error)
    except BrokenPipeError:
        _abandon_output()
        return 0
    except OSError as error:
        _abandon_output()
        return _failed(f"{error.filename or 'standard output'}: {error.strerror or error}", error)
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


def _failed(message: str, error: BaseException) -> int:
    """Tell what is wrong; of several processes all end, and one of them tells."""
    known: Any = sys.modules.get("portmp.distributed.processes")
    job = known and known.job()
    if job and job.count > 1:
        job.fail(error.with_traceback(None), 2)  # no line of a program to be named
    print(f"portmp: error: {printable(message)}", file=sys.stderr)
    return 2


def _abandon_output() -> None:
    """Let the interpreter's last flush go nowhere instead of failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
