"""Rendering: each platform's dialect, the way back to template lines, errors that say where."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest
from slow import mostly_slow
from tiers import check

import portmp as mp
from portmp import definition, discovery, formats, networks
from portmp.backends.base import Device, Kernel
from portmp.bench.papers.hpcs2011 import measured as hpcs2011
from portmp.bench.papers.nbody import kernels as nbody_kernels
from portmp.bench.papers.slfp import layouts
from portmp.codegen import kernel_spec, platform, render
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.platform import Traits
from portmp.codegen.render import RenderedSource
from portmp.compilers import host_programs, tools
from portmp.compilers.base import Compiler
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.discovery import probe
from portmp.emulator import machine
from portmp.errors import CompileError, FormatError, RenderError
from portmp.networks import network
from portmp.networks.operators import ARITY
from portmp.routines import ceilings, compilation_units
from portmp.routines.cholesky import launch as cholesky
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.factor.panel import Shape
from portmp.routines.fourier import launch as fourier
from portmp.routines.gemm import launch as gemm
from portmp.routines.gemm.schedule import PanelSchedule, UnitSchedule
from portmp.routines.lu import launch as lu
from portmp.routines.ozaki import residues, systems
from portmp.routines.products import engines
from portmp.routines.qr import launch as qr
from portmp.routines.qr.launch import THREADS, shapes
from portmp.routines.reduce import launch as reduce
from portmp.routines.reduce.schedule import ACROSS, ReduceSchedule, SweepSchedule
from portmp.routines.split2021 import launch as split2021
from portmp.routines.triangular import launch as triangular
from portmp.runtime import program
from portmp.verify import programs
from portmp.verify.capture import CaptureDevice

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = render.template_folder()
HIP = {"__global__", "__shared__", "__syncthreads()", "threadIdx.x", "blockIdx.x", "long long"}
CL = {
    "__kernel ",
    "__local ",
    "__global double *",
    "get_local_id(0)",
    "get_group_id(0)",
    "barrier(CLK_LOCAL_MEM_FENCE)",
    "reqd_work_group_size",
    "FP_CONTRACT OFF",
}
IDIOMS = {
    "cuda": HIP | {"__fma_rn(", "__dsqrt_rn("},
    "rocm": HIP | {" fma("},
    "opencl": CL | {" fma("},
}
COMPILERS: dict[str, tuple[type[Compiler], str, str]] = {
    "nvrtc": (NvrtcCompiler, "cuda", "sm_90"),
    "hiprtc": (HiprtcCompiler, "rocm", "gfx90a"),
    "clang": (ClangCompiler, "rocm", "gfx942"),
}
LITERAL = "    if (i >= n)"


def gemm_and_root(on: str) -> str:
    """Two kernels that use most of a dialect."""
    known = compilation_units.kernels("dd")
    return kernel_spec.rendered([known["gemm"], known["elementwise_sqrt"]], on).text


OWN = """
${kernel()}
{
    ${store("y", 0, warp_reduce("add", load("x", 0)))}
    ${store("k", 0, warp_scan("add", load("k", 0), int64))}
    ${atomic("min", "k", 0, permute_bytes(1, 2, 3))};
}
"""


COMPUTING = tuple(name for name in formats.NAMES if not formats.get(name).coded)


@pytest.mark.parametrize(
    "form", mostly_slow(COMPUTING, ("dd",), "words of the language do not depend on formats")
)
def test_texts_for_gpus_are_opencl_c(form: str, tmp_path: Path) -> None:
    """No device here takes what OpenCL's GPUs do: a compiler reads it as the language says."""
    check("clang")
    compiler = str(tools.versioned_tools("clang++", tools.ROCM_FOLDERS)[0])
    how = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only"]
    units = compilation_units.kernels(form)
    paths = [tmp_path / f"{number}.cl" for number in range(len(units))]
    for path, one in zip(paths, units.values(), strict=True):
        path.write_text(one.render("opencl").text)
    command = [compiler, *how, "-w", "-target", "spir64", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def of_some_devices(on: str, form: str) -> Iterator[KernelSpec]:
    """Kernels of linear algebra for CPUs, for blocks that wait, of small matrices."""
    if on == "opencl" and form in ("dd", "ts"):
        yield triangular.kernel_spec(form, 4)
        yield cholesky.kernel_spec(form)
        yield lu.alone_spec(form, 4, 64)
        yield qr.alone_spec(form, 4, 64)
        yield lu.swap_spec(form, 1)
        yield engines.lines_spec()
        yield engines.panels_spec("float64", 8, 256)
        words = formats.get(form)
        by = residues.WideResidues(systems.wide(systems.system(words, 1), 1), None)
        by.rebuilt = 4
        yield from (by.cut_spec(words, one, not one, 256) for one in (False, True))
        yield by.rebuild_spec(words, 1, 256)
    if platform.get(on).grid_barrier:
        yield lu.panel_spec(form, together=True)
        yield from (qr.panel_spec(form, shape, together=True) for shape in shapes(THREADS))
    if on != "opencl":
        yield lu.panel_spec(form, 32, 16)
        yield qr.panel_spec(form, Shape(definition.ROWS, 64), False)


def by_units(on: str) -> Iterator[tuple[str, str, RenderedSource]]:
    """What multiplies by the platform's matrix units."""
    for unit in platform.get(on).matrix_units:
        traits = replace(platform.get(on).defaults, matrix_unit=unit)
        schedule = UnitSchedule(lanes=platform.get(on).matrix_units[unit].lanes)
        rate = ceilings.unit_rate_spec(256)
        for one in (gemm.kernel_spec("float64", schedule), probe.unit_spec(), rate):
            yield on, f"{one.name} by {unit}", one.render(on, traits)


def fused(on: str) -> list[KernelSpec]:
    """The kernels of an expression, and of its sum."""
    x = mp.ones((9, 9), "float16", CaptureDevice(on))
    with program.watching() as specs:
        mp.fuse(lambda x: mp.sqrt(x) * x.T - 1)(x)
        mp.fuse(lambda x: mp.sum(x * x.T - 1, axis=1))(x)
    return list(dict.fromkeys(specs))


def everything() -> Iterator[tuple[str, str, RenderedSource]]:
    """All kernels of a few formats on all platforms, and one of a user's own."""
    own = mp.Kernel(OWN, "own(x: in [n], y: out [n], k: inout int64 [n])", grid=1)
    for on in platform.PLATFORMS:
        yield on, "own", own.module.write(on).source
        if not host_programs.get(on).embedded:  # a text in strings has no kernels to find
            yield on, "own program", own.program(on)
            yield on, "program of a routine", programs.program("add", "float32", on)
        yield from by_units(on)
        of_complex = compilation_units.kernels("cdd").values()
        yield from ((on, one.name, one.render(on)) for one in (*fused(on), *of_complex))
        for name in ("float32", "dd", "d+s", "ts", "qd2011"):
            kernels = [
                *compilation_units.kernels(name).values(),
                gemm.kernel_spec(name, PanelSchedule()),
                *reduce.compilation_unit(name, "dot", ReduceSchedule(staged=2)),
                *reduce.compilation_unit(name, "dot", ReduceSchedule(staged=2), single=True),
                *reduce.compilation_unit(name, "sum", ReduceSchedule(1), single=True),
                *reduce.compilation_unit(name, "dot", SweepSchedule(2)),
                *reduce.compilation_unit(name, "dot", SweepSchedule(2, call=ACROSS)),
                ceilings.rate_spec(formats.get(name).word, "fma", 1, 64),
                ceilings.triad_spec(formats.get(name).word, 1),
                nbody_kernels.chain_spec(formats.get(name).word, "fma", 64),
                nbody_kernels.chain_spec(formats.get(name).word, "fast", 64),
                probe.roots_spec(),
                probe.barrier_spec(64),
                split2021.kernel_spec(),
                fourier.kernel_spec(name, (5, 3), True, False, 0),
                fourier.kernel_spec(name, (2, 4), False, True, 0),
                fourier.kernel_spec(name, (2, 4, 4), True, True, 16),
                hpcs2011.gemv_spec(name, 64),
            ]
            if name in ("float32", "dd"):
                kernels += [
                    *compilation_units.find(name, "sin"),
                    *compilation_units.find(name, "exp"),
                    *compilation_units.find(name, "random_uniform"),
                    *compilation_units.find(name, "random_normal"),
                ]
            if on == "opencl" and name in ("dd", "d+s", "ts"):
                access = ("value", "contiguous", "contiguous")
                kernels += [
                    elementwise.kernel_spec(name, "fma", access, 1, FlatSchedule(1, 8, 4)),
                    *reduce.compilation_unit(name, "dot", SweepSchedule(2, 4)),
                ]
            kernels += of_some_devices(on, name)
            for one in kernels:
                yield on, f"{name} {one.name}", one.render(on)
        for name in ("slfp64in56b", "slfp32in24b", "float16_rz", "fp64infp32_rz", "qdin192b"):
            access = ("value", "contiguous", "contiguous")
            side_by_side = FlatSchedule(elements_per_access=4)
            kernels = [
                *compilation_units.kernels(name).values(),
                elementwise.kernel_spec(name, "fma", access, 1, side_by_side),
                *reduce.compilation_unit(name, "dot", ReduceSchedule(elements_per_access=4)),
                *reduce.compilation_unit(
                    name, "sum", ReduceSchedule(elements_per_access=4), alone=True
                ),
            ]
            parent = formats.get(name).arithmetic.name
            if formats.get(name).limbs == 1:
                ways = [(name, parent), (parent, name)]
                kernels += [
                    elementwise.kernel_spec(to, "copy", access[1:2], 1, side_by_side, of)
                    for of, to in ways
                ]
            shared = ReduceSchedule(8, 2, 4, staged=8, elements_per_access=4)
            kernels += reduce.compilation_unit(parent, "dot", shared, matrix=name, alone=True)
            if on == "opencl":
                kernels += [
                    elementwise.kernel_spec(name, "fma", access, 1, FlatSchedule(1, 8, 4)),
                    *reduce.compilation_unit(name, "dot", SweepSchedule(2, 4)),
                ]
            for one in kernels:
                yield on, f"{name} {one.name}", one.render(on)
        for name in layouts.FORMATS:
            one = layouts.kernel_spec(name, 256)
            yield on, f"{name} {one.name}", one.render(on)
    for lanes in (32, 64):
        yield "opencl", f"interpreter of {lanes} lanes", machine.interpreter(lanes).render("opencl")


# --- dialects -------------------------------------------------------------------------


@pytest.mark.parametrize("on", IDIOMS)
def test_dialect(on: str) -> None:
    """A platform's text has its own idioms and none of the others'."""
    text = gemm_and_root(on)
    assert {idiom for idiom in IDIOMS[on] if idiom not in text} == set()
    foreign = set().union(*IDIOMS.values()) - IDIOMS[on]
    assert {idiom for idiom in foreign if idiom in text} == set()


def test_rendered_text_is_clean() -> None:
    """No marks, template syntax or trailing blanks; braces balance; kernels are found."""
    for on, what, source in everything():
        lines = source.text.splitlines()
        assert not re.search(
            r"[\x00-\x09\x0b-\x1f]|\$\{|<%|%>|^\s*%|UNDEFINED|None", source.text
        ), what
        assert all(line == line.rstrip() for line in lines), (on, what)
        assert source.text.count("{") == source.text.count("}"), (on, what)
        assert source.text.endswith("\n") and not source.text.endswith("\n\n")
        assert len(source.line_map) == len(lines)
        assert source.kernels and len(set(source.kernels)) == len(source.kernels)


def test_traits_change_the_spelling() -> None:
    """What the probe finds reaches the text."""
    one = compilation_units.kernels("ds")["elementwise_div"]
    native = one.render("opencl", Traits()).text
    widened = one.render("opencl", Traits(division="widened")).text
    contracted = one.render("opencl", Traits(fma="contracted")).text
    assert "(double)" not in native and "(float)((double)" in widened
    assert "fusedf(" in contracted and "fusedf(" not in native
    assert contracted.count("#pragma clang fp contract(on)") == 1


def test_vectors_call_no_function_for_their_size() -> None:
    """A device whose function takes vectors by memory is not slowed by it."""
    for form in ("ds", "dd"):
        schedule = FlatSchedule(1, width=4)
        one = elementwise.kernel_spec(form, "fmod", ("contiguous",) * 2, 1, schedule)
        assert "fabs" not in one.render("opencl").text


def test_vectors_keep_rare_paths_apart() -> None:
    """What is seldom called stays a function, so that compilers inline what is usual; of scalars,
    which GPUs compute, they decide."""
    for width, count in ((1, 0), (4, 1)):
        schedule = FlatSchedule(1, width=width)
        one = elementwise.kernel_spec("qd", "floor", ("contiguous",), 1, schedule)
        lines = one.render("opencl").text.splitlines()
        marked = [lines[i + 1] for i, line in enumerate(lines) if "noinline" in line]
        assert len(marked) == count
        assert all("floor_limbs(" in line for line in marked)


def test_templates_name_no_vendor() -> None:
    """Templates read tables by capability; programs' parts are of one platform's driver."""
    files = [f for f in TEMPLATES.rglob("*") if f.is_file() and f.parent.name != "programs"]
    assert len(files) > 5
    vendors = re.compile(r"nvidia|\bamd|cuda|rocm|\bhip\b|pocl|intel|opencl", re.IGNORECASE)
    assert [(f.name, m[0]) for f in files for m in [vendors.search(f.read_text())] if m] == []


def test_vendor_packages_are_imported_in_backends_and_compilers_only() -> None:
    """The rest of portmp does not know which packages there are."""
    found = []
    for path in (ROOT / "portmp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if {n.split(".")[0] for n in names} & {"pyopencl", "cuda", "hip", "pocl", "rocm"}:
                found.append(path.relative_to(ROOT / "portmp").parts[0])
    assert set(found) == {"backends", "compilers"}


def test_text_does_not_depend_on_the_process() -> None:
    """The same spec renders the same text, whatever order sets have."""
    script = (
        "import hashlib\n"
        "from portmp.codegen import platform\n"
        "from portmp.routines import compilation_units\n"
        "for form in ('float64', 'dd', 'qd2011'):\n"
        "    for one in compilation_units.kernels(form).values():\n"
        "        for on in platform.PLATFORMS:\n"
        "            print(hashlib.sha256(one.render(on).text.encode()).hexdigest(), one.name)\n"
    )
    outputs = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        outputs.add(
            subprocess.run(
                [sys.executable, "-c", script], env=environment, capture_output=True, check=True
            ).stdout
        )
    assert len(outputs) == 1 and outputs.pop().count(b"\n") > 100


def test_modules_define_arithmetic_once() -> None:
    """Kernels of one module share their functions."""
    known = compilation_units.kernels("td")
    text = kernel_spec.rendered(known.values(), "opencl").text
    for function in ("two_sum", "fast_two_sum", "two_prod", "td_add", "td_mul", "make_td"):
        assert len(re.findall(rf"^static inline \w+ {function}\(", text, re.MULTILINE)) == 1
    alone = [name for one in known.values() for name in one.render("opencl").kernels]
    assert len(alone) > len(known)
    assert sorted(re.findall(r"^__kernel .*?(\w+)\($", text, re.MULTILINE)) == sorted(alone)


# --- the way back ----------------------------------------------------------------------


def template_lines() -> dict[str, list[str]]:
    """Lines of every template by file name."""
    return {f.name: f.read_text().splitlines() for f in TEMPLATES.rglob("*.mako")}


def literals(written: str) -> list[str]:
    """What a template line has beside its ``${...}``, in which braces are balanced."""
    pieces, depth = [""], 0
    for i, c in enumerate(written.strip().removesuffix("\\")):
        depth += c == "{" and (depth > 0 or written.strip()[i - 1] == "$")
        if depth == 0:
            pieces[-1] += c
        elif c == "}":
            depth -= 1
            if depth == 0:
                pieces[-1] = pieces[-1].removesuffix("$")
                pieces.append("")
    return pieces


def test_line_map() -> None:
    """A rendered line's template line has the same text between its substitutions."""
    sources = template_lines()
    compared: dict[str, int] = dict.fromkeys(sources, 0)
    for on, what, source in everything():
        for number, line in enumerate(source.text.splitlines(), 1):
            origin = source.origin(number)
            if not line or origin is None or origin[0] == "template text":
                continue
            written = sources[origin[0]][origin[1] - 1]
            pieces = literals(written)
            pattern = ".*".join(re.escape(piece) for piece in pieces)
            assert re.search(pattern, line), (on, what, number, line, written)
            compared[origin[0]] += any(map(str.strip, pieces))
    unused = {name for name, count in compared.items() if count < 4}
    # The first two only call others; programs for OpenCL hold kernels in strings.
    assert unused <= {"add4_2011.mako", "prelude.mako", "opencl.mako"}, compared


def test_line_map_of_literal_lines() -> None:
    """Lines without substitutions come from exactly their template line."""
    source = compilation_units.kernels("td")["elementwise_add"].render("opencl")
    written = template_lines()
    lines = source.text.splitlines()
    for file, literal in (
        ("elementwise.mako", LITERAL),
        ("arithmetic.mako", "    *e = (a - (s - t)) + (b - t);"),
        ("arithmetic.mako", "    *e = b - (s - a);"),
    ):
        assert lines.count(literal) == 1
        expected = (file, written[file].index(literal) + 1)
        assert source.origin(lines.index(literal) + 1) == expected
    assert source.origin(0) is None and source.origin(len(lines) + 1) is None


def test_line_map_of_modules() -> None:
    """In a module of two kernels the second one's lines are found too."""
    known = compilation_units.kernels("td")
    source = kernel_spec.rendered([known["elementwise_add"], known["elementwise_mul"]], "cuda")
    lines = source.text.splitlines()
    expected = ("elementwise.mako", template_lines()["elementwise.mako"].index(LITERAL) + 1)
    numbers = [i for i, line in enumerate(lines, 1) if line == LITERAL]
    assert len(numbers) == 2
    assert [source.origin(i) for i in numbers] == [expected, expected]
    assert source.kernels == ("elementwise_add", "elementwise_mul")


# --- errors ----------------------------------------------------------------------------


def broken(on: str) -> tuple[RenderedSource, int, int]:
    """A kernel with one bad line, that line's number, and its template's."""
    source = compilation_units.kernels("td")["elementwise_add"].render(on)
    lines = source.text.splitlines()
    number = lines.index(LITERAL) + 1
    lines[number - 1] = "    if (i >= nothing)"
    origin = source.origin(number)
    assert origin is not None
    return RenderedSource("\n".join(lines) + "\n", source.line_map), number, origin[1]


def check_message(message: str, number: int, line: int) -> None:
    """One note, with both lines and the source; the compiler's own words follow."""
    note = f"rendered line {number} (template elementwise.mako line {line}): if (i >= nothing)"
    assert note in message
    assert len(re.findall(r"rendered line \d+ ", message)) == 1, message
    assert re.search(r"(undeclared|use of).*nothing|nothing.*undefined", message.split(note)[1])


@pytest.mark.parametrize("tier", COMPILERS)
def test_compile_errors(tier: str) -> None:
    """Every compiler's message leads to the template line."""
    check(tier)
    compiler, on, arch = COMPILERS[tier]
    source, number, line = broken(on)
    with pytest.raises(CompileError) as caught:
        compiler().compile(source.text, arch)
    check_message(str(program.explained(caught.value, source)), number, line)


def test_compile_errors_of_drivers() -> None:
    """The same for each OpenCL driver that works here."""
    source, number, line = broken("opencl")
    for device in discovery.accepted(discovery.find("opencl").devices):
        with pytest.raises(CompileError) as caught:
            program.compile_source(device, source)
        check_message(str(caught.value), number, line)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("kernel.cu(3): error: identifier", [3]),
        ("kernel.cu(2): warning #177-D: function was declared", []),
        ("<stdin>:3:7: error: use of undeclared identifier", [3]),
        ("/tmp/comgr-1a2/input/CompileSource:3:7: error: no", [3]),
        ("error: /home/a b/tempfile_x1.cl:3:7: use of", [3]),
        ("1:3:7: error: use of", [3]),
        ("3:7: error: use of", [3]),
        ("<kernel>:3:7: error: use of", [3]),
        ("<stdin>:3:7: error: a\n<stdin>:2:1: note: declared here", [3, 2]),
        ("<stdin>:3:7: error: a\n    3 |   f(1): g(2) + get_local_id(1);", [3]),
        ("/usr/include/hip/thing.h:3:7: error: a", []),
        ("In file included from <built-in>:1:\n<stdin>:3:7: error: a", [3]),
        ("<stdin>:99:7: error: beyond the text", []),
        ("clBuildProgram failed: code (2)", []),
    ],
)
def test_forms_of_logs(log: str, expected: list[int]) -> None:
    """Line numbers are found in every form of message, and nowhere else."""
    source = RenderedSource("a\nb\nc\n", (("t.mako", 1), None, ("t.mako", 9)))
    message = str(program.explained(CompileError(log), source))
    assert log in message
    assert [int(n) for n in re.findall(r"rendered line (\d+) ", message)] == expected
    assert ("rendered line 2 (template generated text): b" in message) == (2 in expected)


@pytest.fixture
def own_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the templates that a test may break."""
    folder = tmp_path / "templates"
    shutil.copytree(TEMPLATES, folder)
    monkeypatch.setattr(render, "template_folder", lambda: folder)
    render._lookup.cache_clear()
    yield folder
    render._lookup.cache_clear()


def test_a_broken_template_is_named(own_templates: Path, device: Device) -> None:
    """C that does not compile: the compiler's message leads to the template."""
    file = own_templates / "blas" / "elementwise.mako"
    lines = file.read_text().splitlines()
    number = lines.index(LITERAL) + 1
    lines[number - 1] = "    if (i >= nothing)"
    file.write_text("\n".join(lines) + "\n")
    source = compilation_units.kernels("td")["elementwise_add"].render(
        device.platform, device.traits
    )
    with pytest.raises(
        CompileError, match=rf"elementwise\.mako line {number}\): if \(i >= nothing"
    ):
        program.compile_source(device, source)


@pytest.mark.parametrize(
    ("bad", "words"),
    [("    ${nothing_of_that_name}", "nothing_of_that_name"), ("% if True:", "elementwise.mako")],
)
def test_errors_in_templates(own_templates: Path, bad: str, words: str) -> None:
    """Names that are not there, and blocks that are not closed."""
    file = own_templates / "blas" / "elementwise.mako"
    file.write_text(file.read_text().replace(LITERAL, f"{bad}\n{LITERAL}"))
    with pytest.raises(RenderError, match=words) as caught:
        compilation_units.kernels("td")["elementwise_add"].render("opencl")
    assert "elementwise.mako" in str(caught.value)


def test_unknown_templates_and_platforms() -> None:
    """Both are errors of portmp."""
    with pytest.raises(RenderError, match=r"no template 'blas/nothing\.mako'"):
        render.render("blas/nothing.mako", {})
    with pytest.raises(ValueError, match=r"unknown platform 'opencI'.*mean 'opencl'"):
        compilation_units.kernels("dd")["gemm"].render("opencI")


# --- networks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listing", "line", "words"),
    [
        ("a = x[0]\nreturn a + b, a", 2, "unknown name 'b'"),
        ("a = x[2]\nreturn a, a", 1, "no limb 2 of 'x'"),
        ("a = x[0]\na = a * a + x[1]\nreturn a, a", 2, "product feeds an addition"),
        ("x = two_sum(x[0], x[1])\nreturn x, x", 1, "assigns to an input"),
        ("a = x[0] ** x[1]\nreturn a, a", 1, "not part of the language"),
        ("a = x[0]\nif a: a = 0\nreturn a, a", 2, "only assignments and one return"),
        ("a = x[0]\n\na[0] = x[1]\nreturn a, a", 3, "only names can be assigned to"),
    ],
)
def test_errors_of_the_network_language(listing: str, line: int, words: str) -> None:
    """Each names the network and the line of its listing."""
    with pytest.raises(FormatError, match=rf"network 'broken', line {line}: .*{words}"):
        network("broken", "x:2 -> 2", listing, source="-", bound="-").steps  # noqa: B018


def test_a_network_that_returns_nothing() -> None:
    """It is named too."""
    with pytest.raises(FormatError, match="network 'broken' returns nothing"):
        network("broken", "x:2 -> 2", "a = x[0]", source="-", bound="-").steps  # noqa: B018


def test_every_network_parses() -> None:
    """All listings, with sources and bounds; what they call exists."""
    for name in formats.NAMES:
        for op in ARITY:
            formats.get(name).operator(op)
    assert len(networks.NETWORKS) > 100
    for net in networks.NETWORKS.values():
        assert net.source and net.bound
        assert net.foreign or net.steps or net.returned.op
        assert all(networks.get(called).name == called for called in net.calls)
        assert set(net.cost) <= {"add", "mul", "fma", "div", "sqrt", "select", "compare", "bits"}


@pytest.mark.parametrize(
    ("name", "instructions"),
    [
        ("add2", 20),
        ("mul2", 9),
        ("div2", 35),
        ("sqrt2", 23),
        ("accumulate2", 18),
        ("add3", 63),
        ("mul3", 44),
        ("div3", 150),
        ("accumulate3", 64),
        ("add4", 139),
        ("mul4", 124),
        ("div4", 304),
        ("sqrt3", 98),
        ("sqrt4", 202),
        ("accumulate4", 137),
    ],
)
def test_instruction_counts(name: str, instructions: int) -> None:
    """The published cost of each network; more would be a slower library."""
    assert sum(networks.get(name).cost.values()) == instructions


def test_devices_render_for_their_platform() -> None:
    """Every platform of a device has a table."""
    others = {discovery.PROCESSOR, discovery.HOST}
    assert {*discovery.BACKENDS} - others == {*platform.PLATFORMS}
    rendered = {d.platform for d in discovery.listed() if d.backend == discovery.PROCESSOR}
    assert rendered <= {*platform.PLATFORMS}


# --- what is shown is what is compiled ---------------------------------------------------

CALLS: dict[str, Callable[[mp.Array, mp.Array], object]] = {
    "add": lambda a, x: x + x,
    "compare": lambda a, x: x < a[0],
    "axpy": lambda a, x: mp.axpy("0.1", x, x),
    "scal": lambda a, x: mp.scal("0.1", x),
    "dot": lambda a, x: mp.dot(x, x),
    "dot_fast": lambda a, x: mp.dot(x, x, accuracy="fast"),
    "gemv": mp.gemv,
    "sum": lambda a, x: x.sum(),
    "reduce_max": lambda a, x: x.max(),
    "gemm": lambda a, x: a @ a,
    "gemm_fast": lambda a, x: mp.gemm(a, a, accuracy="fast"),
    "triangular": mp.linalg.solve_triangular,
    "triangle": lambda a, x: mp.linalg.lu(a),
    "lu": lambda a, x: mp.linalg.lu_factor(a),
    "lu_swap": lambda a, x: mp.linalg.lu_factor(a),
    "rows": lambda a, x: mp.linalg.lu_solve(mp.linalg.lu_factor(a), x),
    "cholesky": lambda a, x: mp.linalg.cholesky(a),
    "ldl": lambda a, x: mp.linalg.ldl(mp.array(np.eye(65), "dd", a.device)),
    "ldl_small": lambda a, x: mp.linalg.ldl(a),
    "qr": lambda a, x: mp.linalg.qr(a),
    "schur": lambda a, x: mp.linalg.eigvals(a),
    "jacobi": lambda a, x: mp.linalg.eigvalsh(mp.array(np.eye(17), "dd", a.device)),
    "off_diagonal": lambda a, x: mp.linalg.svdvals(a),
    "correction": lambda a, x: mp.linalg.eigvalsh(mp.array(np.ones((65, 65)), "dd", a.device)),
    "nbody": lambda a, x: mp.nbody.acceleration(*_bodies(x.device), eps=1),
    "csr": lambda a, x: mp.sparse.csr_array(a) @ x,
}

FILLING = ("gemm", "gemm_fast", "nbody")
"""Routines that a GPU cuts finer where their work does not fill it."""

PANELS = ("lu", "lu_swap", "qr")
"""Factorisations that a GPU has another kernel for, of small matrices."""

LONG = ("dot", "dot_fast", "gemv", "sum", "reduce_max")
"""Routines of rows, that a GPU ends by one kernel where a row has one chunk."""

LARGE = 300
"""The order of a matrix whose products take the schedule of large ones, and panels many blocks."""


BODIES = 4096
"""Particles that fill one unit of a device."""


def _bodies(device: Device) -> tuple[mp.Array, mp.Array]:
    return mp.zeros((BODIES, 3), "dd", device), mp.zeros(BODIES, "dd", device)


@pytest.mark.parametrize("routine", CALLS)
def test_compilation_units_are_what_is_compiled(
    device: Device, routine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain call loads exactly the text that ``portmp render --device`` prints.

    Where many units would cut it finer: on a device of one.
    """
    if routine in FILLING:
        monkeypatch.setattr(device, "properties", replace(device.properties, compute_units=1))
    gpu = device.properties.kind == "gpu"
    rows = LARGE if routine in FILLING or (gpu and routine in PANELS) else 3
    if gpu and routine == "cholesky":
        rows = definition.BLOCK  # kernels of fewer rows are for so many
    columns = definition.CHUNK + 1 if routine in LONG else rows
    a = mp.array(np.eye(rows, columns), "dd", device)
    x = mp.array(np.arange(columns), "dd", device)
    loaded: list[str] = []
    load = program.load

    def recorded(on: Device, text: RenderedSource, *begun: Any) -> dict[str, Kernel]:
        loaded.append(text.text)
        return load(on, text, *begun)

    monkeypatch.setattr(a.queue, "plans", None)  # a plan that is known loads nothing
    monkeypatch.setattr(program, "load", recorded)
    monkeypatch.setattr(program, "_loaded", WeakKeyDictionary())
    monkeypatch.setattr(program, "_remembered", lambda on, note: None)
    CALLS[routine](a, x)
    known = compilation_units.names("dd", device)
    units = [routine] if routine in known else [n for n in known if n.startswith(f"{routine}_")]
    shown = [program.source(device, *compilation_units.find("dd", n, device)).text for n in units]
    assert any(text in loaded for text in shown)
