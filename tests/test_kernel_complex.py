"""Kernels of users in complex formats, where real values may stand beside complex ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import TURNS, by_turns, mostly_slow, slow
from tiers import check, opencl_compiler

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.errors import ArgumentError, CompileError, RenderError
from portmp.kernels.words.arithmetic import FUNCTIONS
from portmp.kernels.words.complexes import MIXED, ORDER
from portmp.networks import complexes


def kernel(form: str, body: str, takes: str, **more: Any) -> mp.Kernel:
    """A kernel with this body, for each i below n."""
    text = "${kernel()}\n{\nconst ${index} i = ${global_id()};\nif (i < n) {\n" + body + "\n}\n}\n"
    return mp.Kernel(text, takes, **({"threads": "n", "block": 64, "format": form} | more))


def same(x: Any, y: Any) -> bool:
    """Whether all bits are equal, but those of NaN."""
    pairs = zip(x.to_limbs(), y.to_limbs(), strict=True)
    kept = ([np.where(np.isnan(p), np.nan, p).tobytes() for p in pair] for pair in pairs)
    return x.format is y.format and all(a == b for a, b in kept)


SPECIAL = ["inf+1j", "-infj", "nan+0j", "-0.0-0.0j", "0", "inf-infj"]


def numbers(form: str, device: Device, seed: int = 1, real: bool = False) -> Any:
    """Numbers of all digits, and special ones."""
    draw = np.random.default_rng(seed)
    part = formats.get(form).component.name
    one, two = (mp.array(draw.normal(size=(2, 20)).tolist(), part, device) / 3 for _ in range(2))
    special = mp.array(SPECIAL, form, device)
    if real:
        return mp.concat([special.real, one[0] + two[0] * 2.0**-60])
    return mp.concat([special, one[0] + 1j * two[1]])


# --- what words compute -------------------------------------------------------------------------

CALLS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "power": lambda a, b: a**b,
}
"""The same words of arrays."""

MIXED_BODY = """
const ${value} z = ${load("z", "i")}, w = ${load("w", "i")};
const ${part.value} x = ${load("x", "i")}, y = ${part.mul("x", part.number("0.3"))};
${store("both", "i", word("z", "w"))}
${store("right", "i", word("z", "x"))}
${store("left", "i", word("x", "z"))}
${store("none", "i", word("x", "y"))}
${store("number_", "i", word(load("a"), load("z", "i")))}
"""


@pytest.mark.parametrize("word", MIXED)
def test_real_values_beside_complex_ones(word: str, device: Device) -> None:
    """Variables, elements and numbers of either kind: bits are those of arrays, which differ."""
    form = "complex128" if word == "power" else "cds"
    part = formats.get(form).component.name
    outs = "both: out [n], right: out [n], left: out [n], none: out PART [n], number_: out [n]"
    takes = f"f(a: PART, z: in [n], w: in [n], x: in PART [n], {outs})".replace("PART", part)
    body = MIXED_BODY.replace("word(", f"{word}(")
    z, w = numbers(form, device), numbers(form, device, 2)
    x, f = numbers(form, device, 3, real=True), CALLS[word]
    found = kernel(form, body, takes)("0.7", z, w, x)
    a = mp.array("0.7", part, device)
    expected = f(z, w), f(z, x), f(x, z), f(x, x * mp.array("0.3", part, device)), f(a, z)
    assert all(map(same, found, expected))
    if word in ("mul", "div"):
        whole = x + mp.zeros(len(x), form, device)
        assert not same(f(z, x), f(z, whole)), "no zero is made for a real number's other part"


WORDS_BODY = """
const ${value} z = ${load("z", "i")}, w = ${constant(value, "table", ["0.1-0.2j", "3j"])}[i % 2];
const ${part.value} x = ${load("x", "i")};
${store("fused", "i", fma("x", "z", conj("w")))}
${store("root", "i", sub(sqrt("z"), negative(from_parts(imag_part("w"), "x"))))}
${store("sizes", "i", part.add(absolute("z"), part.sub(angle("z"), real_part("w"))))}
${store("alike", "i", equal("z", load("z", "i")))}
${store("first", "i", from_real(limb("z", words - 1)))}
"""


@pytest.mark.parametrize(
    "form", mostly_slow(formats.COMPLEX, ("complex64", "cdd"), "one of each kind is fast")
)
def test_every_format(form: str, device: Device) -> None:
    """Parts, numbers, tables of constants and what is made of them."""
    words_of_complex(form, device)


def test_other_devices(anywhere: Device) -> None:
    """The same on waves of 64 and of 32 lanes."""
    words_of_complex("cdd", anywhere)


def words_of_complex(form: str, device: Device) -> None:
    part = formats.get(form).component.name
    takes = (
        "f(z: in [n], x: in PART [n], fused: out [n], root: out [n], sizes: out PART [n],"
        " alike: out int32 [n], first: out [n])"
    )
    words = formats.get(form).words
    f = kernel(form, WORDS_BODY, takes.replace("PART", part), words=words)
    # views, of which parts lie in one array's memory
    z, x = numbers(form, device)[::-1][2:], numbers(form, device, 2).real[2:]
    table = ["0.1-0.2j" if i % 2 == 0 else "3j" for i in range(len(x))]
    w = mp.array(table, form, device)
    fused, root, sizes, alike, first = f(z, x)
    assert same(fused, mp.fma(x, z, w.conj())) and same(fused, x * z + w.conj())
    assert same(root.real, mp.sqrt(z).real + w.imag) and same(root.imag, mp.sqrt(z).imag + x)
    assert same(sizes, abs(z) + (mp.angle(z) - w.real))
    assert (alike.to_numpy() == ~mp.isnan(z).to_numpy()).all() and not alike.to_numpy().all()
    lowest, others = z.to_limbs()[-1], first.to_limbs()
    assert np.array_equal(others[0], lowest, equal_nan=True) and not any(map(np.any, others[1:]))


ONE_OPERAND = [n for n, of in FUNCTIONS.items() if of in complexes.OF_VALUES and n != "power"]


@pytest.mark.parametrize("form", mostly_slow(formats.COMPLEX, ("complex128",), "compilers' time"))
def test_functions(form: str, device: Device) -> None:
    """All elementary functions have the bits of arrays'."""
    body = "\n".join(f'${{store("y{w}", "i", {w}(load("z", "i")))}}' for w in ONE_OPERAND)
    outs = ", ".join(f"y{word}: out [n]" for word in ONE_OPERAND)
    z = numbers(form, device)
    found = kernel(form, body, f"f(z: in [n], {outs})")(z)
    assert len(found) == 18
    for word, one in zip(ONE_OPERAND, found, strict=True):
        assert same(one, getattr(mp, word)(z)), word


LANES = """
${kernel()}
{
    ${shared(value, "held", 64)}
    const int i = ${thread_id()};
    held[i] = ${load("z", "i")};
    ${barrier()}
    const ${value} other = held[63 - i];
    ${store("turned", "i", shuffle_xor("other", 1))}
    const ${value} product = ${warp_reduce("mul", "other", value, 8)};
    const ${value} sums = ${warp_scan("add", "product")};
    ${store("scanned", "i", "sums")}
    ${require("i >= 0", "never")}
}
"""


@slow(TURNS, unless=by_turns("form", ("complex64", "cdd")))
@pytest.mark.parametrize("form", ["complex64", "cdd"])
def test_lanes_and_block_memory(form: str, anywhere: Device) -> None:
    """Exchanged, multiplied and added up as real values are."""
    draw = np.random.default_rng(3)
    z = mp.array((draw.normal(size=64) + 1j * draw.normal(size=64)).tolist(), form, anywhere) / 3
    takes = "f(z: in [n], turned: out [n], scanned: out [n])"
    turned, scanned = mp.Kernel(LANES, takes, grid=1, block=64, format=form)(z)
    other = z[::-1]
    assert same(turned, other[mp.array(np.arange(64) ^ 1)])
    x = other.reshape(8, 8)
    for d in (4, 2, 1):  # lane i with i + d: each has the product of the lower with the higher
        x = mp.concat([x[:, :d] * x[:, d : 2 * d]], axis=1)
    sums = mp.repeat(x[:, 0], 8)
    for d in (1, 2, 4, 8, 16):
        rows = sums.reshape(2, 32)
        sums = mp.concat([rows[:, :d], rows[:, :-d] + rows[:, d:]], axis=1).reshape(64)
    assert same(scanned, sums)


def test_words_of_another_format(device: Device) -> None:
    """A kernel of real values with complex arrays: ``of`` has all words of theirs."""
    body = """
    <% c = of("cds") %>
    const ${c.value} z = ${c.mul(load("z", "i"), c.number("0.5+1j"))};
    ${store("y", "i", of("ds").add(c.absolute("z"), of("ds").mul(c.imag_part("z"), load("a"))))}
    ${store("z", "i", c.exp(c.conj("z")))}
    """
    takes = "f(a: value, z: inout cds [n], y: out [n])"
    z = numbers("cds", device)
    expected = z * mp.array("0.5+1j", "cds", device)
    y = kernel("ds", body, takes)(3, z)
    assert same(y, abs(expected) + expected.imag * 3)
    assert same(z, mp.exp(expected.conj()))


# --- without a device, and around a kernel ------------------------------------------------------

STEP = '${store("z", "i", fma(load("z", "i"), load("z", "i"), load("c")))}'


@pytest.mark.parametrize(
    ("tier", "target", "arch"),
    [("nvrtc", "cuda", "sm_90"), ("hiprtc", "rocm", "gfx90a"), ("clang", "rocm", "gfx1100")],
)
def test_compiling_without_a_device(tier: str, target: str, arch: str) -> None:
    """For GPUs, with mixed operands and functions."""
    check(tier)
    body = STEP + '${store("z", "i", mul(exp(load("z", "i")), absolute(load("z", "i"))))}'
    (report,) = kernel("cds", body, "f(c: value, z: inout [n])").compile(target, arch)
    assert report.registers


def test_texts() -> None:
    """Functions of one name say so where the language is C; all planes are parameters."""
    for name in platform.PLATFORMS:
        text = kernel("cdd", STEP, "f(c: value, z: inout [n])").render(name)
        assert text.count(" cdd_mul(const") == 4
        assert ("__attribute__((overloadable))" in text) is (name == "opencl")
        assert all(f"z{k}" in text and f"double c{k}" in text for k in range(4))


def test_checked_accesses() -> None:
    """Oclgrind runs them, too, and sees what is beyond an array of complex numbers."""
    check("oclgrind")
    device = discovery.get("oclgrind")
    z = mp.array(["1+2j", "3-0.5j"], "cds", device)
    expected = z * z + 1j
    kernel("cds", STEP, "f(c: value, z: inout [n])")(1j, z)
    assert same(z, expected)
    beyond = STEP.replace('store("z", "i"', 'store("z", "i + 1"')
    with pytest.raises(mp.errors.PortmpError, match=r"z3|z0|z\["):
        kernel("cds", beyond, "f(c: value, z: inout [n])")(1j, z)


def test_verified_by_a_reference(device: Device) -> None:
    """References give and take exact complex numbers; bounds are of absolute values."""
    f = kernel("cdd", '${store("y", "i", mul(load("z", "i"), load("a")))}',
               "f(a: value, z: in [n], y: out [n])")  # fmt: skip
    z = mp.array(["1.1+2.2j", "0.3-0.4j", "inf", "1e-40j"], "cdd", device)

    taken = z[[0, 1, 3]]
    near = f.verify(lambda a, z: [a * p for p in z.tolist()], "0.1+3j", taken, bound=2.0**-100)
    assert near.ok
    wrong = f.verify(lambda a, z: [a * p for p in z.tolist()], "0.1+3j", taken)
    assert not wrong.ok and re.search(r"y\[0\] is -6\.4\d+\+3\.5\d+j, the ref", wrong.errors[0])
    distance = f.verify(lambda a, z: [0, 0, 0], 1, taken, bound=lambda expected: 3)
    assert distance.ok and not f.verify(lambda a, z: [0, 0, 0], 1, taken, bound=1).ok
    turned = [p + 0.5j for p in taken.tolist()]
    assert not f.verify(lambda z: turned, 1, taken, bound=lambda expected: 0.25).ok
    numpys = f.verify(lambda z: z.to_numpy() * 2, 2, mp.array([1 + 2j, -0.0], "cdd", device))
    assert numpys.ok
    special = f.verify(lambda z: [complex("inf+infj")], "1+1j", z[2:3])
    assert special.ok, special
    with pytest.raises(ArgumentError, match="bound: 1j given"):
        f.verify(None, 1, taken, bound=1j)


def test_program(tmp_path: Path) -> None:
    """A program in one file: numbers have the words of both parts, and arrays all planes."""
    f = kernel("cdd", STEP, "f(c: value, z: inout [n])")
    source = f.standalone("opencl", tmp_path)
    text = source.read_text()
    assert "those of the real part before the others" in text
    assert text.count("host_word(") == 5 and "{1, 0, 1, 0}" in text
    compiler = opencl_compiler()
    build = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", str(source)]
    subprocess.run([*build, "-o", str(tmp_path / "f.o")], check=True)


# --- refused ------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, str]] = {
    **{
        word: (f'${{{word}(load("z", "i"), load("z", "i"))}};', f"{word}: cdd .* no order: compare")
        for word in ORDER
    },
    "a function of real numbers": ('${erf("z")};', "erf: cdd .* no erf: part.erf takes real ones"),
    "a word of it": ('${of("cqd").floor("z")};', "floor: cqd .* no floor"),
    "a real operand": ('${exp(load("x", "i"))};', r"from_parts\(..., part.number\(0\)\)"),
    "a complex one": ('${part.exp(load("z", "i"))};', r"real_part\(...\), imag_part\(...\)"),
    "stored": ('${store("x", "i", load("z", "i"))}', "store: x: .* is cdd, dd is needed"),
    "parts": ('${from_parts(load("z", "i"), "y")};', "from_parts: .* is cdd, dd is needed"),
    "limbs": ('${limb("z", 4)};', "limb: 4 given, cdd has 4 limbs"),
    "operands": ('${mul("z")};', "mul: 1 operands given, 2 are needed"),
    "fused": ('${fma("z", "z")};', "fma: 2 operands given, 3 are needed"),
    "atomics": ('${atomic("add", "z", "i", "z")};', "atomic: add: z has elements of cdd"),
    "vectors": ('${load_vector("z", "i", 2)};', "vector: cdd given"),
    "a reduction": ('${warp_reduce("maximum", "z")};', "maximum: cdd .* no order"),
    "a number": ('${number("1+2i")};', "1\\+2i"),
    "a float": ("${number(0.3)};", "number: 0.3 is a float"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    """In words, when the kernel is rendered."""
    body, message = REFUSED[name]
    f = kernel("cdd", body, "f(z: inout [n], x: inout dd [n])")
    with pytest.raises((RenderError, ArgumentError, mp.errors.InputError), match=message):
        f.render("opencl")


def test_wrong_calls(device: Device) -> None:
    """Arrays of another kind, numbers that are none, operators of C."""
    f = kernel("cdd", STEP, "f(c: value, z: inout [n])")
    with pytest.raises(mp.errors.FormatError, match="z: elements are dd, cdd is needed"):
        f(1, mp.zeros(3, "dd", device))
    with pytest.raises(mp.errors.PortmpError, match=r"c: .*1;2"):
        f("1;2", mp.zeros(3, "cdd", device))
    real = mp.Kernel("${kernel()}\n{\n${conj('z')}\n}\n", "f(z: inout [n])", threads="n")
    with pytest.raises(RenderError, match="'conj' is not defined"):
        real.render("cuda")
    for form in ("cdd", "complex128"):
        body = '${value} z = ${load("z", "i")};\nz = z * z;'
        with pytest.raises(CompileError, match=r"\* of values is a word: \$\{mul"):
            kernel(form, body, "f(z: inout [n])")(mp.zeros(3, form, device))
    body = '${value} z = sqrt(${load("z", "i")});\nz = ${mul("z", "c")};'
    with pytest.raises(CompileError) as found:
        kernel("cdd", body, "f(c: value, z: inout [n])")(1, mp.zeros(3, "cdd", device))
    assert 'sqrt of values is a word: ${sqrt("a")}' in str(found.value)
    assert 'c is read by ${load("c")}' in str(found.value)
