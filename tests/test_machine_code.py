"""Kernels of every format in machine code: no contraction, no lost fma, no spills.

Compiled without a GPU. Usually the kernels whose instructions are counted, for one architecture
a compiler and one format; the slow tier has all kernels of all formats in one module for that
architecture, and for every other one those of a format of either word: compilers have one
generator of code for all of their architectures.

Instructions are counted by class (add, mul, fma of the word type) and compared with the
cost of the networks. What compilers do with additions and products, and what is therefore
allowed for:

- NVIDIA negates and takes absolute values by adding zero (``DADD R2, -RZ, |R2|``): not
  counted.
- AMD's packed float32 instructions do one or two operations; which, the text does not
  tell. A count is therefore a range: instructions up to lanes.
- The guard's ``h`` may be a value that the network also computes: one operation less.
- A product may be computed again where that is cheaper than keeping it in a register.
- Of ``min`` and ``max`` only the sign of the difference is used: fewer additions.
- On AMD, integer division by a number that is known at run time uses float32 fma: kernels
  with two-dimensional indices (gemm) cannot be counted for float32 there.

Division and square root are sequences of the vendors with fma in them: not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from slow import slow
from tiers import available, check

from portmp import formats, networks
from portmp.codegen import kernel_spec
from portmp.codegen.kernel_spec import KernelSpec
from portmp.compilers.amd_code import classify as classify_amd
from portmp.compilers.base import Compiler, KernelReport
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.compilers.nvrtc import classify as classify_nvidia
from portmp.formats import Accumulator, Format
from portmp.networks import Network
from portmp.networks.operators import ARITY
from portmp.routines import compilation_units

NVIDIA = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
FAST = {("nvrtc", "sm_90"): "ts", ("hiprtc", "gfx90a"): "d+s", ("clang", "gfx942"): "qs"}
"""Formats of the fast tier, by architecture: two limbs to four, of one word and of two."""
ELSEWHERE = ("dd", "ts")
"""Formats of the other architectures: of either word."""
ALL = {
    "nvrtc": NVIDIA,
    "hiprtc": ("gfx906", "gfx908", "gfx90a", "gfx1030"),
    "clang": ("gfx942", "gfx1100", "gfx1201"),
}
COMPILERS: dict[str, Compiler] = {
    "nvrtc": NvrtcCompiler(),
    "hiprtc": HiprtcCompiler(),
    "clang": ClangCompiler(),
}
LONGEST = 20_000
PACKED = ("v_pk_", "FFMA2", "FADD2", "FMUL2")
COUNTED = [op for op in ARITY if op not in ("div", "sqrt", "compare")]
SIGN_ONLY = ("min", "max")
EXACT_COPIES = ("neg", "abs", "copy")

Range = tuple[int, int]
"""How many operations there are at least and at most: instructions, lanes."""


def architectures(tier: str) -> tuple[str, ...]:
    """The architectures to compile for."""
    wanted = ALL[tier]
    if tier == "nvrtc" and available(tier):
        return tuple(a for a in wanted if a in NvrtcCompiler().architectures())
    return wanted


TARGETS = [(tier, arch) for tier in COMPILERS for arch in architectures(tier)]
OURS = [name for name in formats.NAMES if not formats.get(name).paper]
MODULES = [
    (*t, name)
    for t in TARGETS
    for name in (ELSEWHERE if t not in FAST else formats.NAMES if t[0] == "nvrtc" else OURS)
]


def counted_kernels(form: Format) -> dict[str, KernelSpec]:
    """The kernels of a format whose instructions are counted."""
    names = [f"elementwise_{'less' if op == 'compare' else op}" for op in ARITY]
    names += [f"gemm{accumulator.suffix}_slabs" for accumulator in form.accumulators.values()]
    return {name: compilation_units.kernels(form.name)[name] for name in names}


def machine_code(tier: str, arch: str, kernels: Mapping[str, KernelSpec]) -> bytes:
    """The binary of one module of kernels."""
    on = "cuda" if tier == "nvrtc" else "rocm"
    return COMPILERS[tier].compile(kernel_spec.rendered(kernels.values(), on).text, arch)


def with_calls(net: Network) -> Iterator[Network]:
    """A network and all that it calls."""
    yield net
    for name in net.calls:
        yield from with_calls(networks.get(name))


def counted(lines: list[str], tier: str, word: str) -> dict[str, Range]:
    """Operations of the word type, and ``other``: those of the other float type."""
    classify = classify_nvidia if tier == "nvrtc" else classify_amd
    bits = word.removeprefix("float")
    found: dict[str, list[int]] = {c: [0, 0] for c in ("add", "mul", "fma", "other")}
    for line in lines:
        head, _, operands = line.partition(" ")
        kind = classify(head)
        if kind[:3] not in found or kind[3:] not in ("32", "64"):
            continue
        if tier == "nvrtc" and kind[:3] == "add" and "RZ" in operands:
            continue
        entry = found[kind[:3] if kind[3:] == bits else "other"]
        entry[0] += 1
        entry[1] += 2 if head.startswith(PACKED) else 1
    return {kind: (low, high) for kind, (low, high) in found.items()}


def check_operator(op: str, form: Format, tier: str, lines: list[str]) -> None:
    """One elementwise kernel against its network's cost, once for each element of a thread."""
    net = form.operator(op)
    items = dict(compilation_units.kernels(form.name)[f"elementwise_{op}"].values)["s"].items
    cost = Counter({kind: count * items for kind, count in net.cost.items()})
    found = counted(lines, tier, form.word)
    low, high = found["fma"]
    assert low <= cost["fma"] <= high, (op, found, cost)
    assert found["other"] == (0, 0), (op, found)
    parts = list(with_calls(net))
    if any(n.foreign for n in parts):
        return  # the cost of a template that branches on data is not known
    assert found["mul"][0] <= cost["mul"] * 1.25 + (items if cost["mul"] else 0), (op, found, cost)
    assert found["add"][0] <= cost["add"], (op, found, cost)
    if op in EXACT_COPIES:
        assert sum(high for _, high in found.values()) == 0, (op, found)
    elif op not in SIGN_ONLY and not any("split" in n.name for n in parts):
        # (Equal splittings are merged, in the papers' arithmetic without fma.)
        assert found["mul"][1] >= cost["mul"] - items, (op, found, cost)
        assert found["add"][1] >= cost["add"] - 2 * items, (op, found, cost)


def check_product(form: Format, tier: str, accumulator: Accumulator, lines: list[str]) -> None:
    """The inner loop of gemm: whole accumulations, however often it was unrolled."""
    if tier != "nvrtc" and form.word == "float32":
        return
    schedule = dict(compilation_units.kernels(form.name)["gemm_slabs"].values)["s"]
    cost = accumulator.networks["accumulate"].cost
    results = schedule.thread_m * schedule.thread_n
    found = counted(lines, tier, form.word)
    fused = found["fma"][0]
    if cost["fma"] == 0:
        assert fused == 0, found
        return
    assert fused > 0 and fused % (results * cost["fma"]) == 0, (found, cost)
    copies = fused // cost["fma"]
    assert found["mul"][1] >= copies * cost["mul"], (found, cost)


def check_resources(form: Format, reports: dict[str, KernelReport]) -> None:
    """Elementwise kernels keep all in registers, but for QD's addition, which indexes arrays.

    No kernel grows out of bounds by unrolling, as chunks of QD's additions once did.
    """
    long = {r.name for r in reports.values() if sum(r.instructions.values()) > LONGEST}
    assert long <= {"schur", "qr_panels"}  # many operations, and each of QD's is long

    if form.scalar:
        return
    for op in ARITY:
        report = reports[f"elementwise_{'less' if op == 'compare' else op}"]
        assert (report.spills, report.scratch) == (0, 0), report
        assert report.registers is not None and 0 < report.registers <= 128, report


def check_module(tier: str, arch: str, form: Format, kernels: Mapping[str, KernelSpec]) -> None:
    """Every kernel compiles; the arithmetic in the binary is what the networks say."""
    check(tier)
    if tier == "nvrtc":
        check("nvdisasm")
    compiler = COMPILERS[tier]
    binary = machine_code(tier, arch, kernels)
    reports = {report.name: report for report in compiler.report(binary, arch)}
    assert set(kernels) <= set(reports)
    listing = compiler.disassemble(binary)
    for op in COUNTED:
        check_operator(op, form, tier, listing[f"elementwise_{op}"])
    for accumulator in form.accumulators.values():
        check_product(form, tier, accumulator, listing[f"gemm{accumulator.suffix}_slabs"])
    check_resources(form, reports)


@pytest.mark.parametrize(("tier", "arch"), FAST)
def test_counted_kernels(tier: str, arch: str) -> None:
    """Arithmetic and products of one format, for one architecture a compiler."""
    form = formats.get(FAST[tier, arch])
    check_module(tier, arch, form, counted_kernels(form))


@slow("a module of all kernels takes half a minute")
@pytest.mark.parametrize(("tier", "arch", "name"), MODULES)
def test_all_kernels(tier: str, arch: str, name: str) -> None:
    """A module of each format (for AMD no paper's), for one architecture a compiler; of two
    formats for the others."""
    check_module(tier, arch, formats.get(name), compilation_units.kernels(name))


@pytest.mark.parametrize(("tier", "arch"), [t for t in FAST if t[0] != "clang"])
def test_counting_sees_a_contraction(tier: str, arch: str) -> None:
    """The same kernel with one product and one sum written as fma is found out."""
    check(tier)
    if tier == "nvrtc":
        check("nvdisasm")
    form = formats.get("dd")
    text = (
        compilation_units.kernels("dd")["elementwise_mul"]
        .render("cuda" if tier == "nvrtc" else "rocm")
        .text
    )
    plain = "c = c + d;"
    assert text.count(plain) == 1
    fused = text.replace(plain, "c = fma(x.x0, y.x1, d);")
    compiler = COMPILERS[tier]
    for code, contracted in ((text, False), (fused, True)):
        lines = compiler.disassemble(compiler.compile(code, arch))["elementwise_mul"]
        if contracted:
            with pytest.raises(AssertionError):
                check_operator("mul", form, tier, lines)
        else:
            check_operator("mul", form, tier, lines)
