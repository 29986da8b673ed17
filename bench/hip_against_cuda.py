#!/usr/bin/env python3
"""Compares machine code made through HIP's header with code made without any header.

The rendered text of each kernel is compiled twice by nvcc with portmp's options: as
``portmp render --standalone`` gives it, with HIP's header for NVIDIA, and bare. Where the
machine code is the same, HIP costs nothing there, and there is nothing to time.

HIP's headers know the CUDA runtime of their time. Those of HIP 5.2 (Debian: libamdhip64-dev)
need the headers of CUDA 11.8; the bare text is compiled with nvcc's own:

    pip install nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-nvcc-cu11==11.8.89

nvcc comes with a CUDA toolkit, or with pip install nvidia-cuda-nvcc nvidia-nvvm
nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-profiler-api.

Exit status: 0 where all code is the same, 1 where some differs, 2 where nothing was compared.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

import portmp
from portmp.codegen import kernel_spec, platform, render
from portmp.compilers import elf
from portmp.compilers.nvrtc import NvrtcCompiler, nvdisasm
from portmp.errors import ArgumentError, BackendUnavailable, CompileError, PortmpError
from portmp.files import target
from portmp.routines import compilation_units

PLATFORM = "cuda"
CASES = {
    "float32": (
        "nbody",
        "nbody_fast",
        "nbody_rsqrt",
        "nbody_division",
        "nbody_parts",
        "gemm",
        "dot",
    ),
    "dd": ("nbody", "nbody_parts", "gemm", "dot"),
}
"""Routines that are compared, by format; ``nbody`` has the exact root."""

OLD_HEADERS = {
    "nvidia-cuda-runtime-cu11": "cuda_runtime.h",
    "nvidia-cuda-nvcc-cu11": "crt/host_config.h",
}
"""Packages with the headers that HIP 5.2 knows, and a header of each."""

THROUGH_HIP = ("-D__HIP_PLATFORM_NVIDIA__",)
ANY_HOST = "-allow-unsupported-compiler"
"""Old headers refuse newer host compilers, which have no part in code for the device."""

Row = dict[str, Any]
Build = Callable[[str, bool], bytes]
"""Source text, and whether HIP's header is in it, to machine code."""


# --- the tools -------------------------------------------------------------------------------


def packaged(package: str, ending: str) -> Path | None:
    """The file of an installed package whose path ends so."""
    try:
        found = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return None
    paths = [file.locate() for file in found if str(file).endswith(f"/{ending}")]
    return Path(str(paths[0])) if paths else None


def default_headers() -> list[Path]:
    """Folders of the old runtime's headers, where pip has installed them."""
    found = []
    for package, header in OLD_HEADERS.items():
        path = packaged(package, f"include/{header}")
        if path:
            found.append(path.parents[header.count("/")])
    return found


def find_nvcc(given: str | None) -> str:
    """nvcc: as named, on PATH, or pip's."""
    if given:
        found = shutil.which(given)
        if found is None:
            raise ArgumentError(f"--nvcc: {given!r} given, an executable file is needed")
        return found
    installed = shutil.which("nvcc") or packaged("nvidia-cuda-nvcc", "bin/nvcc")
    if installed is None:
        raise BackendUnavailable("nvcc is missing: --nvcc names one, --help says what brings it")
    return str(installed)


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """The finished command."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BackendUnavailable(f"{command[0]} cannot be run: {error.strerror}") from None


def builder(nvcc: str, arch: str, hip: Path, headers: Sequence[Path]) -> Build:
    """What compiles with nvcc, by portmp's options."""
    options = [*NvrtcCompiler().options(arch), ANY_HOST]
    through = [*THROUGH_HIP, f"-I{hip}", *(f"-I{folder}" for folder in headers)]

    def build(text: str, with_hip: bool) -> bytes:
        with tempfile.TemporaryDirectory(prefix="portmp-") as folder:
            source, code = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
            source.write_text(text, encoding="utf-8")
            done = run(
                [
                    nvcc,
                    "-cubin",
                    *options,
                    *(through if with_hip else ()),
                    str(source),
                    "-o",
                    str(code),
                ]
            )
            if done.returncode or not code.is_file():
                raise CompileError(_refusal(nvcc, done.stdout + done.stderr, with_hip))
            return code.read_bytes()

    return build


def _refusal(nvcc: str, messages: str, with_hip: bool) -> str:
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    advice = "; --hip and --headers say where headers are, --help which are needed"
    return f"{nvcc} failed{' through HIP' * with_hip}: {first}{advice * with_hip}"


def versions(nvcc: str, hip: Path, headers: Sequence[Path]) -> dict[str, str]:
    """Of the compiler, the headers and the disassembler."""
    text = run([nvcc, "--version"]).stdout
    release = re.search(r"V(\d[\d.]*)", text)
    parts = [_number(hip / "hip/hip_version.h", f"HIP_VERSION_{x}") for x in ("MAJOR", "MINOR")]
    old = [folder / "cuda_runtime_api.h" for folder in headers]
    runtime = _number(next((f for f in old if f.is_file()), None), "CUDART_VERSION")
    reader = re.search(r"V(\d[\d.]*)", run([nvdisasm(), "--version"]).stdout)
    # 11080 stands for 11.8.
    through = f"{runtime // 1000}.{runtime % 1000 // 10}" if runtime else "nvcc's own"
    return {
        "nvcc": release[1] if release else "unknown",
        "hip": ".".join(map(str, parts)),
        "headers for hip": through,
        "nvdisasm": reader[1] if reader else "unknown",
    }


def _number(header: Path | None, name: str) -> int:
    """A number that a header defines; 0 without it."""
    if header is None or not header.is_file():
        return 0
    found = re.search(rf"#define\s+{name}\s+(\d+)", header.read_text(errors="replace"))
    return int(found[1]) if found else 0


# --- comparing -------------------------------------------------------------------------------


def difference(hip: Sequence[str], bare: Sequence[str]) -> str:
    """Where two listings differ first; empty where they are the same."""
    for i, (a, b) in enumerate(zip_longest(hip, bare, fillvalue="nothing")):
        if a != b:
            return f"instruction {i}: {a!r} through HIP, {b!r} without"
    return ""


def compared(hip: bytes, bare: bytes) -> list[Row]:
    """Each kernel of two binaries: instructions by the disassembler, and all their bits."""
    listings = [NvrtcCompiler().disassemble(code) for code in (hip, bare)]
    bits = [
        {
            name: part.data()
            for name, part in elf.sections(code).items()
            if name.startswith(".text.")
        }
        for code in (hip, bare)
    ]
    rows: list[Row] = []
    for name in sorted(listings[0].keys() | listings[1].keys()):
        first, second = (listing.get(name, []) for listing in listings)
        found = difference(first, second)
        if not found and bits[0].get(f".text.{name}") != bits[1].get(f".text.{name}"):
            found = "the same instructions with other scheduling bits"
        rows.append(
            {"kernel": name, "instructions": len(first), "same": not found, "difference": found}
        )
    return rows


def case(form: str, routine: str, build: Build) -> list[Row]:
    """The kernels of one routine, through HIP's header and without."""
    text = kernel_spec.rendered(compilation_units.find(form, routine), PLATFORM).text
    header = platform.get(PLATFORM).standalone
    rows = compared(build(header + text, True), build(text, False))
    if not rows:
        raise CompileError(f"{form} {routine}: no kernel in the machine code")
    return [{"format": form, "routine": routine, **row} for row in rows]


# --- the command -----------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """What was compared, one kernel a line."""
    lines = [f"{'format':8} {'routine':15} {'kernel':29} {'instructions':>12}  same"]
    for row in rows:
        told = "yes" if row["same"] else f"no: {row['difference']}"
        lines.append(
            f"{row['format']:8} {row['routine']:15} {row['kernel']:29} "
            f"{row['instructions']:12}  {told}"
        )
    same = sum(row["same"] for row in rows)
    return "\n".join([*lines, "", f"{same} of {len(rows)} kernels have the same machine code"])


def chosen(names: Sequence[str]) -> list[tuple[str, str]]:
    """The cases named FORMAT:ROUTINE, or all."""
    known = [(form, routine) for form, routines in CASES.items() for routine in routines]
    wanted = [tuple(name.split(":", 1)) for name in names]
    for name, pair in zip(names, wanted, strict=True):
        if pair not in known:
            allowed = ", ".join(map(":".join, known))
            raise ArgumentError(f"--case: {name!r} given, {allowed} are allowed")
    return [pair for pair in known if pair in wanted or not wanted]


def arguments() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", default="sm_90", help="architecture (default sm_90)")
    parser.add_argument("--nvcc", help="the compiler (default: on PATH, or pip's)")
    parser.add_argument(
        "--hip",
        type=Path,
        default=Path("/usr/include"),
        metavar="DIR",
        help="folder that holds hip/hip_runtime.h (default /usr/include)",
    )
    parser.add_argument(
        "--headers",
        type=Path,
        action="append",
        metavar="DIR",
        help="folder of CUDA headers that HIP's know, read before nvcc's own; may be repeated "
        "(default: those of pip's packages named above, where they are installed)",
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="FORMAT:ROUTINE", help="only these"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the JSON there")
    return parser


def report(args: argparse.Namespace) -> dict[str, Any]:
    """All that was found, with versions."""
    cases = chosen(args.case)
    if args.output:
        target.check_place(args.output)
    nvcc = find_nvcc(args.nvcc)
    headers = default_headers() if args.headers is None else args.headers
    if not (args.hip / "hip/hip_runtime.h").is_file():
        raise ArgumentError(f"--hip: {args.hip} given, a folder with hip/hip_runtime.h is needed")
    for folder in headers:
        if not folder.is_dir():
            raise ArgumentError(f"--headers: {folder} given, a folder is needed")
    build = builder(nvcc, args.arch, args.hip, headers)
    found = versions(nvcc, args.hip, headers)
    rows = [row for form, routine in cases for row in case(form, routine, build)]
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "portmp": portmp.__version__,
        "templates": render.templates_digest(),
        "arch": args.arch,
        "versions": found,
        "options": list(NvrtcCompiler().options(args.arch)),
        "same": all(row["same"] for row in rows),
        "kernels": rows,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print, write; the exit status."""
    args = arguments().parse_args(argv)
    try:
        found = report(args)
        text = json.dumps(found, indent=1)
        if args.output:
            target.replace(args.output, f"{text}\n".encode())
    except PortmpError as error:
        print(f"hip_against_cuda: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(text)
    else:
        known = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
        print(f"{found['arch']}: {known}\n\n{table(found['kernels'])}")
    return 0 if found["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
