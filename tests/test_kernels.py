"""Kernels of the user's own: calls, words on every platform, bits, and errors that name things."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import words_page
from slow import mostly_slow
from tiers import check, interpreted

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    FormatError,
    InputError,
    LaunchError,
    PortmpError,
    RenderError,
    ShapeError,
)
from portmp.kernels import names, signature
from portmp.kernels.vocabulary import WORDS
from portmp.kernels.words.arithmetic import FUNCTIONS, OPERATORS
from portmp.kernels.words.complexes import OWN
from portmp.kernels.words.warps import WARPS, WHOLE
from portmp.networks.functions import ARITY

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"

AXPY = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        const ${value} sum = ${fma(load("a"), load("x", "i"), load("y", "i"))};
        ${store("y", "i", "sum")}
    }
}
"""
AXPY_TAKES = "axpy(a: value, x: in [n], y: inout [n])"


@cache
def axpy(form: str) -> mp.Kernel:
    return mp.Kernel(AXPY, AXPY_TAKES, threads="n", block=64, format=form)


def same(x: mp.Array, y: mp.Array) -> bool:
    """Whether all bits are equal."""
    return all(a.tobytes() == b.tobytes() for a, b in zip(x.to_limbs(), y.to_limbs(), strict=True))


def numbers(form: str, count: int, device: Device, seed: int = 1) -> mp.Array:
    draw = np.random.default_rng(seed)
    return mp.array(draw.standard_normal(count), form, device)


# --- calls ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    mostly_slow(formats.STANDARD, ("float32", "ds", "dd", "d+s"), "one of each kind is fast"),
)
def test_every_format(form: str, device: Device) -> None:
    """The same bits as portmp's own fma, for storage formats too."""
    x, y = numbers(form, 200, device), numbers(form, 200, device, 2)
    expected = mp.fma(mp.array(["1.1"] * 200, form, device), x, y)
    if formats.get(form).coded:
        a = mp.array("1.1", formats.get(form).arithmetic.name, device)
        expected = mp.fma(
            mp.array([a.to_fractions()] * 200, x.format.arithmetic, device),
            x.astype(x.format.arithmetic),
            y.astype(x.format.arithmetic),
        ).astype(form)
    axpy(form)(a="1.1", x=x, y=y)
    assert same(y, expected)


def test_views(anywhere: Device) -> None:
    """Strides, negative ones and starts; the elements between stay as they are."""
    x, y = numbers("dd", 100, anywhere), numbers("dd", 300, anywhere, 2)
    expected = y.copy()
    expected[250:50:-2] = mp.fma(mp.array([3] * 100, "dd", anywhere), x, y[250:50:-2])
    axpy("dd")(3, x, y[250:50:-2])
    assert same(y, expected)
    axpy("dd")(a=3, x=x[:0], y=y[:0])
    assert same(y, expected)


def test_arrays_that_go_out_are_made(device: Device) -> None:
    """And returned; a size that no array has is given by name."""
    kernel = mp.Kernel(
        """
        ${kernel()}
        {
            const ${index} i = ${global_id()};
            if (i < n) {
                ${store("even", "i", "(int)(2 * i)")}
                ${store("root", "i", sqrt(from_real(f"({real})i")))}
            }
        }
        """,
        "count(even: out int32 [n], root: out [n])",
        threads="n",
        format="dd",
    )
    even, root = kernel(n=100, device=device)
    assert even.to_numpy().tolist() == list(range(0, 200, 2))
    assert same(root, mp.sqrt(mp.array(list(range(100)), "dd", device)))
    given = mp.plain_zeros(50, "int32", device)
    again, _ = kernel(even=given)
    assert again is given and given.to_numpy()[49] == 98


def test_integers_of_every_size(anywhere: Device) -> None:
    """Loaded, added to in C, stored; numbers by value."""
    dtypes = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    stores = "\n".join(
        f'${{store("{d}s", "i", load("{d}s", "i") + " + (" + {d} + ")by")}}' for d in dtypes
    )
    kernel = mp.Kernel(
        "${kernel()}\n{\nconst ${index} i = ${global_id()};\nif (i < n) {\n" + stores + "\n}\n}\n",
        f"more(by: int64, {', '.join(f'{d}s: inout {d} [n]' for d in dtypes)})",
        threads="n",
        block=32,
    )
    arrays = {f"{d}s": mp.plain_array(np.arange(40), d, anywhere) for d in dtypes}
    kernel(by=3, **arrays)
    for array in arrays.values():
        assert array.to_numpy().tolist() == list(range(3, 43))


def test_blocks_and_grids_of_three_axes(anywhere: Device) -> None:
    """Ids, sizes, and which thread is which."""
    three_axes(anywhere)


def test_ids_in_registers_of_their_own() -> None:
    """Where hardware has not yet packed the three into one."""
    three_axes(interpreted("emulated:gfx908"))


def three_axes(device: Device) -> None:
    kernel = mp.Kernel(
        """
        ${kernel()}
        {
            const ${index} x = ${global_id(0)}, y = ${global_id(1)}, z = ${global_id(2)};
            if (x < n && y < m && z < l) {
                ${store("place", "z", "y", "x", "(int)(10000 * z + 100 * y + x)")}
                ${store("number", "z", "y", "x", linear_id())}
                ${store("whole", "z", "y", "x", global_size(0))}
            }
        }
        """,
        "all(place: out int32 [l, m, n], number: out int32 [l, m, n], whole: out int64 [l, m, n])",
        threads=("n", "m", "l"),
        block=(4, 2, 8),
    )
    place, number, whole = kernel(l=9, m=5, n=7, device=device)
    z, y, x = np.indices((9, 5, 7))
    assert (place.to_numpy() == 10000 * z + 100 * y + x).all()
    assert (number.to_numpy() == x % 4 + 4 * (y % 2) + 8 * (z % 8)).all()
    assert (whole.to_numpy() == 8).all()


def test_formats_of_both_words_in_one_kernel(anywhere: Device) -> None:
    """Each by its own arithmetic, whose functions share names."""
    kernel = mp.Kernel(
        """
        <% ds = of("ds") %>
        ${kernel()}
        {
            const ${index} i = ${global_id()};
            if (i < n) {
                const ${ds.value} square = ${ds.mul(load("x", "i"), load("x", "i"))};
                const ${value} high = ${from_real("(double)" + ds.limb("square", 0))};
                const ${value} low = ${from_real("(double)" + ds.limb("square", 1))};
                const ${value} sum = ${add(add("high", "low"), load("y", "i"))};
                ${store("y", "i", "sum")}
                ${store("x", "i", "square")}
            }
        }
        """,
        "mixed(x: inout ds [n], y: inout qd [n])",
        threads="n",
        format="qd",
    )
    x, y = numbers("ds", 100, anywhere), numbers("qd", 100, anywhere, 2)
    square = x * x
    expected = mp.array(square.to_fractions(), "qd", anywhere) + y
    kernel(x=x, y=y)
    assert same(x, square) and same(y, expected)


def test_kernels_that_name_arrays_alike(device: Device) -> None:
    """Each has the formats of its own signature."""
    body = """
    {
        const ${index} i = ${global_id()};
        if (i < n) {
            ${store("y", "i", load("x", "i"))}
        }
    }
    """
    module = mp.Module(f'${{kernel("a")}}{body}\n${{kernel("b")}}{body}', format="float64")
    a = module.kernel("a(x: in slfp64in32b [n], y: out slfp64in48b [n])", threads="n")
    b = module.kernel("b(x: in [n], y: out slfp64in32b [n])", threads="n")
    x = numbers("float64", 50, device)
    short = b(x=x)
    assert same(short, x.astype("slfp64in32b"))
    assert same(a(x=short), short.astype("slfp64in48b"))


def test_operators_are_the_formats_own(device: Device) -> None:
    """All words of arithmetic, against arrays' operators."""
    two = {"add", "sub", "mul", "div", "minimum", "maximum"}
    one = {"sqrt", "negative", "absolute"}
    assert two | one | {"fma", "compare"} == set(OPERATORS)
    lines = [f'${{store("o{op}", "i", {op}("a", "b"))}}' for op in sorted(two)]
    lines += [f'${{store("o{op}", "i", {op}("a"))}}' for op in sorted(one)]
    outs = ", ".join(f"o{op}: out [n]" for op in (*sorted(two), *sorted(one)))
    kernel = mp.Kernel(
        "${kernel()}\n{\nconst ${index} i = ${global_id()};\nif (i < n) {\n"
        'const ${value} a = ${load("x", "i")}, b = ${load("y", "i")};\n'
        + "\n".join(lines)
        + '\n${store("sign", "i", compare("a", "b"))}\n}\n}\n',
        f"all(x: in [n], y: in [n], {outs}, sign: out int32 [n])",
        threads="n",
        format="td",
    )
    x, y = abs(numbers("td", 60, device)), numbers("td", 60, device, 2)
    *found, sign = kernel(x=x, y=y)
    by_name = dict(zip((*sorted(two), *sorted(one)), found, strict=True))
    expected = {
        "add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "sqrt": mp.sqrt(x),
        "minimum": mp.minimum(x, y), "maximum": mp.maximum(x, y),
        "negative": -x, "absolute": abs(x),
    }  # fmt: skip
    assert not [op for op in expected if not same(by_name[op], expected[op])]
    assert (sign.to_numpy() == np.sign((x - y).to_float64())).all()


def test_functions_in_kernels(device: Device) -> None:
    """Words of elementary functions give what arrays' functions give; constants by name."""
    taken = {word: '"a", "b"' if ARITY[name] > 1 else '"a"' for word, name in FUNCTIONS.items()}
    lines = [
        f'${{store("o{word}", "i", {word}({taken[word]}))}}'
        for word, name in FUNCTIONS.items()
        if name in SOME
    ]
    outs = ", ".join(f"o{word}: out [n]" for word, name in FUNCTIONS.items() if name in SOME)
    kernel = mp.Kernel(
        "${kernel()}\n{\nconst ${index} i = ${global_id()};\nif (i < n) {\n"
        'const ${value} a = ${load("x", "i")}, b = ${load("y", "i")};\n'
        + "\n".join(lines)
        + '\n${store("half_turn", "i", number("pi"))}\n}\n}\n',
        f"all(x: in [n], y: in [n], {outs}, half_turn: out [n])",
        threads="n",
        format="ds",
    )
    x, y = abs(numbers("ds", 60, device)), numbers("ds", 60, device, 2)
    *found, half_turn = kernel(x=x, y=y)
    names = [name for name in FUNCTIONS.values() if name in SOME]
    for name, result in zip(names, found, strict=True):
        assert same(result, getattr(mp, name)(*(x, y)[: ARITY[name]])), name
    assert same(half_turn, mp.array([mp.pi] * 60, "ds", device))


SOME = ("exp", "log", "sin", "pow", "atan2", "round", "floor", "cbrt")
"""Functions with tables, folds, branches and bits of words."""

# --- logical warps ----------------------------------------------------------------------------

LANES = """
${kernel()}
{
    const ${index} i = ${global_id()};
    const ${value} mine = ${load("x", "i")};
    const ${value} all = ${warp_reduce("add", "mine", width=width)};
    const ${value} run = ${warp_scan("add", "mine", width=width)};
    const ${value} up = ${shuffle_up("mine", 3, width=width)};
    const ${value} down = ${shuffle_down("mine", 3, width=width)};
    const ${value} other = ${shuffle_xor("mine", 5, width=width)};
    const ${value} named = ${shuffle("mine", f"{lane(width)} * 7 + 1", width=width)};
    const int least = ${warp_reduce("minimum", load("k", "i"), int32, width)};
    const ${int64} wide = ${warp_scan("add", f"({int64}){load('k', 'i')} << 33", int64, width)};
    const unsigned votes = ${ballot(load("k", "i") + " > 0", width)};
    const int some = ${warp_any(load("k", "i") + " > 90", width)};
    const int every = ${warp_all(load("k", "i") + " > -90", width)};
    ${store("sums", "i", 0, "all")}
    ${store("sums", "i", 1, "run")}
    ${store("sums", "i", 2, "up")}
    ${store("sums", "i", 3, "down")}
    ${store("sums", "i", 4, "other")}
    ${store("sums", "i", 5, "named")}
    ${store("whole", "i", 0, "least")}
    ${store("whole", "i", 1, "wide")}
    ${store("whole", "i", 2, "votes")}
    ${store("whole", "i", 3, "some")}
    ${store("whole", "i", 4, "every")}
}
"""


@cache
def lanes(form: str, width: int) -> mp.Kernel:
    return mp.Kernel(
        LANES,
        "lanes(x: in [n], k: in int32 [n], sums: out [n, 6], whole: out int64 [n, 5])",
        threads="n",
        block=(32, 2),
        grid=None,
        format=form,
        width=width,
    )


@pytest.mark.parametrize(
    ("form", "width"),
    mostly_slow(
        itertools.product(("float32", "ts", "dd"), WARPS),
        (("float32", 8), ("ts", 16), ("dd", 32)),
        "formats and widths share nothing",
    ),
)
def test_logical_warps(form: str, width: int, anywhere: Device) -> None:
    """Every word on lanes, in the order that is promised, by arrays on the host."""
    kernel = mp.Kernel(
        LANES,
        "lanes(x: in [n], k: in int32 [n], sums: out [n, 6], whole: out int64 [n, 5])",
        threads="n",
        block=64,
        format=form,
        width=width,
    )
    count = 128
    x, k = numbers(form, count, anywhere), np.random.default_rng(3).integers(-100, 100, count)
    sums, whole = kernel(x=x, k=mp.plain_array(k, "int32", anywhere))
    host = x.to("host:0")
    i = np.arange(count)
    lane, first = i % width, i - i % width

    def taken(indices: Any) -> mp.Array:
        limbs = [limb[indices] for limb in host.to_limbs()]
        return mp.from_limbs(limbs, form, "host:0")

    def where(condition: Any, yes: mp.Array, no: mp.Array) -> mp.Array:
        pairs = zip(yes.to_limbs(), no.to_limbs(), strict=True)
        return mp.from_limbs([np.where(condition, a, b) for a, b in pairs], form, "host:0")

    total, d = host, width // 2
    while d:
        limbs = [limb[i ^ d] for limb in total.to_limbs()]
        other = mp.from_limbs(limbs, form, "host:0")
        total = where(lane & d, other + total, total + other)
        d //= 2
    run, d = host, 1
    while d < width:
        limbs = [limb[np.where(lane < d, i, i - d)] for limb in run.to_limbs()]
        run = where(lane >= d, mp.from_limbs(limbs, form, "host:0") + run, run)
        d *= 2
    expected = [
        total,
        run,
        taken(np.where(lane < 3, i, i - 3)),
        taken(np.where(lane + 3 < width, i + 3, i)),
        taken(first + (lane ^ 5)),
        taken(first + (lane * 7 + 1) % width),
    ]
    for column, one in enumerate(expected):
        assert same(sums[:, column], one), column
    rows = k.reshape(-1, width)
    bits = ((rows > 0).astype(np.int64) << np.arange(width)).sum(axis=1)
    wanted = np.stack(
        [
            np.repeat(rows.min(axis=1), width),
            (np.cumsum(rows.astype(np.int64), axis=1) << 33).ravel(),
            np.repeat(bits, width),
            np.repeat((rows > 90).any(axis=1), width),
            np.repeat((rows > -90).all(axis=1), width),
        ],
        axis=1,
    )
    assert (whole.to_numpy() == wanted).all()


# --- without a device -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tier", "target", "arch"),
    [("nvrtc", "cuda", "sm_90"), ("hiprtc", "rocm", "gfx90a"), ("clang", "rocm", "gfx1100")],
)
def test_compiling_without_a_device(tier: str, target: str, arch: str) -> None:
    """All words, with a report of each kernel."""
    check(tier)
    for kernel in (axpy("qd"), lanes("dd", 16)):
        (report,) = kernel.compile(target, arch)
        assert report.name == f"{kernel.name}_kernel" and report.registers


@pytest.mark.parametrize("name", platform.PLATFORMS)
def test_texts(name: str) -> None:
    """One text a platform, the same each time."""
    text = axpy("dd").render(name)
    assert text == axpy("dd").render(name)
    assert "axpy_kernel(" in text and "dd_fma" in text


def test_lines_of_templates(device: Device) -> None:
    """Compilers' messages name the user's line; so do errors of words, and unknown ones."""
    broken = mp.Kernel("\n\n${kernel()}\n{\n    nonsense;\n}\n", "k(n: int32)", threads=1)
    with pytest.raises(CompileError, match=r"template text line 5"):
        broken(n=1, device=device)
    for name in platform.PLATFORMS:
        source = broken.module.write(name).source
        lines = source.text.splitlines()
        assert len(lines) == len(source.line_map)
        assert source.origin(lines.index("    nonsense;") + 1) == ("template text", 5)
    with pytest.raises(RenderError, match=r"template text line 3: 'lod' is not defined.*'load'"):
        mp.Kernel("${kernel()}\n{\n${lod('x')}\n}\n", "k(x: in [n])", threads="n").render("cuda")
    with pytest.raises(RenderError, match=r"template text line 3: k has no parameter 'xs'.*'x'"):
        mp.Kernel("${kernel()}\n{\n${load('xs')}\n}\n", "k(x: in [n])", threads="n").render("cuda")


NEARLY = {
    "blocks": ("${store('y', 'i', load('x', 'i'))}", {"blocks": 64}, "blocks: .*mean 'block'"),
    "treads": ("${store('y', 'i', load('x', 'i'))}", {"treads": "n"}, "treads: .*mean 'threads'"),
    "a function of Python's": ("${store('y', 'i', max)}", {}, 'line 5: max is .* quotes: "max"'),
    "a word": ("${store('y', 'i', number)}", {}, 'line 5: number is .* quotes: "number"'),
    "a name": ("${store('y', i, 'v')}", {}, "line 4: 'i' is not defined; .* quotes: \"i\""),
    "no brace": ("${store('y', 'i', 'v')", {}, "line 5: .* has no brace behind it"),
    "a float": ("${value} v = ${number(0.3)};", {}, r'number: 0.3 is a float, .* number\("0.3"\)'),
    "a number": ("${value} v = .5;", {}, r'line 5: a value is made by \$\{number\(".5"\)\}'),
    "a sum": ("${load('x', 'i')} + ${load('y', 'i')};", {}, r"line 5: \+ of values .*\$\{add\("),
    "a product": ("${value} v; v = 2 * v;", {}, r"line 5: \* of values .*\$\{mul\("),
    "elements": ("y[i] = x[i + 1];", {}, r'line 5: elements .*\$\{load\("x", "i"\)\}'),
}
"""Statements of a kernel, its other arguments, and what is told."""


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_nearly_right(name: str, device: Device) -> None:
    """Mistyped options, names without quotes, operators of C on values: what was meant is said."""
    statement, more, message = NEARLY[name]
    text = f"\n${{kernel()}}\n{{\n    const ${{index}} i = ${{global_id()}};\n{statement}\n}}\n"
    x = mp.array(["0.1", "0.2"], "td", device)
    with pytest.raises(mp.errors.PortmpError, match=message):
        told: dict[str, Any] = {"threads": "n", "format": "td"} | more
        kernel = mp.Kernel(text, "k(x: in [n], y: inout [n])", **told)
        kernel(x=x, y=mp.zeros(2, "td", device))


def test_a_template_of_one_line(device: Device) -> None:
    """A text with words is no file's name; values that a function of extents takes are used."""
    text = "${kernel()} { if (${global_id()} < n) ${store('y', global_id(), number(1))} }"
    one = mp.Kernel(text, "k(y: out [n])", threads=lambda n, most: n + most, most=0)
    assert one(y=mp.zeros(2, "dd", device)).to_fractions() == [1, 1]


def test_templates_in_files(tmp_path: Path, device: Device) -> None:
    """With an include beside them."""
    (tmp_path / "twice.mako").write_text("${add('sum', 'sum')}")
    file = tmp_path / "own.mako"
    file.write_text(
        AXPY.replace('"sum")}', 'capture(lambda: context.write(""))) if 0 else "sum")}')
    )
    file.write_text(
        AXPY.replace("const ${value} sum", "${value} sum").replace(
            "${store", 'sum = <%include file="twice.mako"/>;\n        ${store'
        )
    )
    kernel = mp.Kernel(file, AXPY_TAKES, threads="n", format="dd")
    x, y = numbers("dd", 10, device), numbers("dd", 10, device, 2)
    expected = mp.fma(mp.array([2] * 10, "dd", device), x, y)
    kernel(a=2, x=x, y=y)
    assert same(y, expected + expected)


def test_definitions_of_templates(device: Device) -> None:
    """Words of the user's own, which stand in others; C's strings in a raw text."""
    kernel = mp.Kernel(
        r"""
        <%def name="squared(x)" buffered="True">${mul(x, x)}</%def>
        ${kernel()}
        {
            const ${index} i = ${global_id()};
            if (i < n) {
                const ${value} a = ${load("x", "i")};
                ${store("y", "i", add(squared("a"), squared(load("y", "i"))))}
                if (i > n)
                    ${printf("%d\n", "(int)i")}
            }
        }
        """,
        "squares(x: in [n], y: inout [n])",
        threads="n",
        format="td",
    )
    x, y = numbers("td", 20, device), numbers("td", 20, device, 2)
    expected = x * x + y * y
    kernel(x=x, y=y)
    assert same(y, expected)


def test_threads_of_python(device: Device) -> None:
    """A kernel's first calls at once."""
    kernel = mp.Kernel(AXPY, AXPY_TAKES, threads="n", block=32, format="ds")
    arrays = [(numbers("ds", 50, device, i), numbers("ds", 50, device, i + 9)) for i in range(6)]
    expected = [mp.fma(mp.array([7] * 50, "ds", device), x, y) for x, y in arrays]
    work = [threading.Thread(target=kernel, kwargs={"a": 7, "x": x, "y": y}) for x, y in arrays]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert all(same(y, e) for (_, y), e in zip(arrays, expected, strict=True))


# --- errors -----------------------------------------------------------------------------------


def _own(text: str = AXPY, takes: str = AXPY_TAKES, **more: Any) -> mp.Kernel:
    return mp.Kernel(text, takes, **({"threads": "n"} | more))


DECLARED: dict[str, tuple[Callable[[], Any], type[PortmpError], str]] = {
    "no name": (
        lambda: _own(takes="(x: in [n])"),
        ArgumentError,
        r"signature: '\(x: in \[n\]\)' given",
    ),
    "no text": (lambda: _own(takes=3), ArgumentError, "signature: 3 given"),
    "no parameter": (lambda: _own(takes="f(x y)"), ArgumentError, "f: parameter 'x y' given"),
    "no way": (lambda: _own(takes="f(x: [n])"), ArgumentError, "x: an array is in, out or inout"),
    "a number goes out": (lambda: _own(takes="f(x: out value)"), ArgumentError, "x: out given"),
    "unknown kind": (lambda: _own(takes="f(x: in dq [n])"), ArgumentError, "x: unknown kind.*'dq'"),
    "near kind": (lambda: _own(takes="f(x: in int3 [n])"), ArgumentError, "did you mean 'int32'"),
    "twice": (lambda: _own(takes="f(x: in [n], x: in [n])"), ArgumentError, "'x' stands for two"),
    "size and name": (lambda: _own(takes="f(n: in [n])"), ArgumentError, "'n' stands for two"),
    "no size": (lambda: _own(takes="f(x: in [n,])"), ArgumentError, r"x: \[n,\] given"),
    "bad size": (lambda: _own(takes="f(x: in [n/2])"), ArgumentError, "size 'n/2'"),
    "no expression": (lambda: _own(takes="f(x: in [2 n])"), ArgumentError, "size '2 n'"),
    "short number": (lambda: _own(takes="f(k: int8, x: in [n])"), ArgumentError, "k: numbers are"),
    "neither": (lambda: _own(threads=None), ArgumentError, "either threads or grid"),
    "both": (lambda: _own(grid=1), ArgumentError, "either threads or grid"),
    "unknown extent": (lambda: _own(threads="m"), ArgumentError, "threads: 'm' is no size"),
    "unknown argument": (lambda: _own(threads=lambda m: m), ArgumentError, "'m' is no size"),
    "four axes": (lambda: _own(threads=(1, 1, 1, 1)), ArgumentError, "one to three axes"),
    "no block": (lambda: _own(block=0), ArgumentError, "block: 0 given"),
    "block of text": (
        lambda: _own(block="n"),
        ArgumentError,
        "block: 'n' is no value of the kernel",
    ),
    "format": (lambda: _own(format="dq"), FormatError, "dq"),
    "a word as a value": (lambda: _own(lane=3).render("cuda"), ArgumentError, "'lane' is a word"),
    "no file": (lambda: _own("none.mako"), InputError, "none.mako: cannot be read"),
    "no template": (lambda: _own(7), ArgumentError, "template: int given"),
    "no kernel": (lambda: _own("x\n").render("cuda"), RenderError, "has no .*axpy"),
    "another kernel": (
        lambda: _own('${kernel("other")}\n{\n}\n').render("cuda"),
        RenderError,
        "'other' given",
    ),
    "no body": (lambda: _own("${kernel()}\nint;\n").render("cuda"), RenderError, "body in braces"),
    "two limbs": (
        lambda: _own("${kernel()}\n{\n}\n", "k(x: in [n], x0: int32)").render("cuda"),
        RenderError,
        "'x0'",
    ),
    "a variable called as a type of OpenCL's": (
        lambda: _own("${kernel()}\n{\n    const double half = 0.5;\n}\n").render("cuda"),
        RenderError,
        "line 3: 'half' is declared, which is a word of OpenCL C: call",
    ),
    "a variable called as a word of C++": (
        lambda: _own("${kernel()}\n{\n    int new = 1;\n}\n").render("opencl"),
        RenderError,
        "'new' is declared, which is a word of C",
    ),
    "a variable called as a limb": (
        lambda: _own("${kernel()}\n{\n    double t = 1,\n        x0 = 2;\n}\n").render("cuda"),
        RenderError,
        "template text line 4: 'x0' is declared, which is the name in C of a part of x: call",
    ),
    "a variable called as a number's limb": (
        lambda: _own("${kernel()}\n{ for (int a1 = 0; a1 < 2; ++a1) ; }\n").render("opencl"),
        RenderError,
        "template text line 2: 'a1' is declared, .* a part of a:",
    ),
    "block memory called as a view's start": (
        lambda: _own("${kernel()}\n{ ${shared(value, 'y_start', 4)} }\n").render("rocm"),
        RenderError,
        "'y_start' is declared, .* a part of y:",
    ),
    "axis": (
        lambda: _own("${kernel()}\n{ ${thread_id(3)} }\n").render("cuda"),
        RenderError,
        "axis 3",
    ),
    "few indices": (
        lambda: _own("${kernel()}\n{ ${load('x')} }\n").render("cuda"),
        RenderError,
        "x: 0 indices",
    ),
    "stored input": (
        lambda: _own("${kernel()}\n{ ${store('x', 'i', 'z')} }\n").render("cuda"),
        RenderError,
        "x: is in, not out or inout",
    ),
    "operands": (
        lambda: _own("${kernel()}\n{ ${add('x')} }\n").render("cuda"),
        ArgumentError,
        "add: 1 operands",
    ),
    "width": (
        lambda: _own("${kernel()}\n{ ${lane(64)} }\n").render("cuda"),
        RenderError,
        "width 64 given",
    ),
    "odd block": (
        lambda: _own("${kernel()}\n{ ${lane()} }\n", block=40).render("cuda"),
        RenderError,
        "blocks of 40 threads",
    ),
    "fence memory": (
        lambda: _own("${kernel()}\n{ ${fence('grid')} }\n").render("cuda"),
        RenderError,
        "fence: 'grid' given",
    ),
    "popcount of a value": (
        lambda: _own("${kernel()}\n{ ${popcount('y', value)} }\n").render("cuda"),
        RenderError,
        "popcount: ",
    ),
    "atomic value": (
        lambda: _own("${kernel()}\n{ ${atomic('add', 'y', 'i', 1)} }\n").render("cuda"),
        RenderError,
        "atomic: add: y has elements of dd, int32, uint32",
    ),
    "atomic word": (
        lambda: _own("${kernel()}\n{ ${atomic('sub', 'y', 'i', 1)} }\n").render("cuda"),
        RenderError,
        "atomic: 'sub' given",
    ),
    "shared size": (
        lambda: _own("${kernel()}\n{ ${shared(value, 't', 'm')} }\n").render("cuda"),
        RenderError,
        "shared: t: 'm' is no size of the kernel; sizes: n",
    ),
    "shared type": (
        lambda: _own("${kernel()}\n{ ${shared('double', 't', 3)} }\n").render("cuda"),
        RenderError,
        "shared: 'double' given",
    ),
    "barrier": (
        lambda: _own("${kernel()}\n{ ${barrier('x')} }\n").render("cuda"),
        RenderError,
        "barrier: 'x'",
    ),
    "before a kernel": (
        lambda: _own("${load('x', 0)}\n${kernel()}\n{ }\n").render("cuda"),
        RenderError,
        "before any",
    ),
    "reduction": (
        lambda: _own("${kernel()}\n{ ${warp_reduce('sub', 'z')} }\n").render("cuda"),
        RenderError,
        "warp_reduce: 'sub' given",
    ),
    "number": (
        lambda: _own("${kernel()}\n{ ${number('x')} }\n").render("cuda"),
        InputError,
        "number: ",
    ),
    "platform": (lambda: _own().render("metal"), ArgumentError, "unknown platform 'metal'"),
    "architecture": (lambda: _own().compile("opencl", "x"), ArgumentError, "opencl"),
}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("int a; double b = f(c, d), *const e = b, g[3] = {h, i}, k;", "a b e g k"),
        ("const unsigned long long a = 1; const double *const b = c;", "a b"),
        ("for (int i = 0, j = k; i < n; ++i) { float u{1}; } v w(3);", "i j u w"),
        ("if (a) { const dd_value b = c; } else { T d; do { T e; } while (f); }", "b d e"),
        ("a = b * c, d = e; return f; f(g, h); ++i; a * b + c; x ? y : z * w;", ""),
        ("double a[2] = {b * c, {d * e, f}}; g = (pair){h * i, j}; k = h(i * j, l);", "a"),
        ('/* int a; */ // int b;\n#define T int c;\nchar d = \'"\'; s = "int e; {"; int f;', "d f"),
        ("switch (a) { case b: int c = 1; return c; default: goto d; }", ""),
        ("T * a = b; __shared__ double c[4][5]; barrier(d); struct e f, *g;", "a c f g"),
    ],
)
def test_variables_of_a_body(body: str, found: str) -> None:
    """What statements declare: not what they use, nor what stands in values, comments and text."""
    assert " ".join(one.text for one in names.declared(f"\n{{ {body} }} int x;")) == found


@pytest.mark.parametrize("name", DECLARED)
def test_wrong_declarations(name: str) -> None:
    """One sentence that names what is wrong."""
    work, kind, message = DECLARED[name]
    with pytest.raises(kind, match=message) as found:
        work()
    assert len(str(found.value).splitlines()) == 1 and len(str(found.value)) < 300


CALLS: dict[str, tuple[dict[str, Any], type[PortmpError], str]] = {
    "missing": ({"x": None}, ArgumentError, "axpy: x is missing"),
    "missing number": ({"a": None}, ArgumentError, "axpy: a is missing"),
    "unknown": ({"z": 1}, ArgumentError, "axpy: has no parameter 'z'"),
    "no array": ({"x": [1, 2]}, ArgumentError, "axpy: x: list given"),
    "of NumPy": ({"x": np.ones(8)}, ArgumentError, "axpy: x: ndarray given"),
    "format": ({"x": "ds"}, FormatError, "axpy: x: elements are ds, dd is needed"),
    "dtype": ({"x": "int32"}, FormatError, "axpy: x: elements are int32, dd is needed"),
    "shape": ({"x": 7}, ShapeError, r"axpy: x: shape \(7,\) given|axpy: y: shape \(8,\) given"),
    "axes": ({"x": (2, 4)}, ShapeError, "axpy: x: 2 axes given"),
    "text": ({"a": "one"}, InputError, "axpy: a: .*one"),
    "array as number": ({"a": "array"}, ArgumentError, "axpy: a: an array given"),
    "size": ({"n": 9}, ShapeError, r"shape \(8,\) given, \[n\] is \(9,\)"),
    "bad size": ({"n": -1}, ArgumentError, "axpy: n: -1 given"),
    "overlap": ({"x": "y"}, ArgumentError, "axpy: y: overlaps x"),
    "broadcast": ({"y": "wide"}, ArgumentError, "axpy: y: a broadcast view"),
    "device": ({"device": "host:0"}, DeviceError, "device='host:0' given"),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls(name: str, device: Device) -> None:
    """Before anything is launched."""
    changes, kind, message = CALLS[name]
    given: dict[str, Any] = {"a": 2, "x": numbers("dd", 8, device), "y": numbers("dd", 8, device)}
    made: dict[Any, Callable[[], Any]] = {
        "ds": lambda: numbers("ds", 8, device),
        "int32": lambda: mp.plain_array(range(8), "int32", device),
        "y": lambda: given["y"][:],
        "wide": lambda: mp.Array(given["y"][:1].planes.broadcast_to((8,))),
        "array": lambda: given["x"],
        7: lambda: mp.zeros(7, "dd", device),
        (2, 4): lambda: mp.zeros((2, 4), "dd", device),
    }
    for key, value in changes.items():
        known = isinstance(value, (str, int, tuple)) and value in made
        given[key] = made[value]() if known else value
    before = numbers("dd", 8, device)
    with pytest.raises(kind, match=message) as found:
        axpy("dd")(**given)
    assert len(str(found.value).splitlines()) == 1
    assert same(numbers("dd", 8, device), before)


def test_positions_and_names(device: Device) -> None:
    x, y = numbers("dd", 8, device), numbers("dd", 8, device)
    with pytest.raises(ArgumentError, match="4 arguments given, 3 are taken"):
        axpy("dd")(1, x, y, 3)
    with pytest.raises(ArgumentError, match="axpy: x is given twice"):
        axpy("dd")(1, x, y, x=x)
    with pytest.raises(LaunchError, match="axpy: host:0 runs no kernels"):
        axpy("dd")(1, x.to("host:0"), y.to("host:0"))
    with pytest.raises(DeviceError, match="axpy: y: on host:0, x is on"):
        axpy("dd")(1, x, y.to("host:0"))


def test_resources_of_devices(device: Device) -> None:
    """Blocks and block memory beyond what the device has."""
    large = mp.Kernel("${kernel()}\n{\n}\n", "large(x: in [n])", threads="n", block=(2**16, 8))
    with pytest.raises(LaunchError, match=r"large: block: 524288 threads given"):
        large(x=numbers("dd", 8, device))
    much = mp.Kernel(
        "${kernel()}\n{\n${shared(value, 'held', 2 ** 22)}\nheld[0] = ${number(1)};\n}\n",
        "much(x: in [n])",
        threads="n",
    )
    with pytest.raises(LaunchError, match=r"much: takes 67108864 bytes of block memory"):
        much(x=numbers("dd", 8, device))


# --- arrays of plain numbers --------------------------------------------------------------------


def test_plain_arrays(device: Device) -> None:
    """Created, filled, copied both ways, seen in views."""
    data = np.arange(24).reshape(2, 3, 4)
    a = mp.plain_array(data, "int16", device)
    assert (a.shape, a.ndim, a.size, len(a), a.dtype.name) == ((2, 3, 4), 3, 24, 2, "int16")
    for key in (0, (slice(None), 1), (..., slice(None, None, -2)), (None, -1, 1), (slice(3, 1),)):
        assert np.array_equal(a[key].to_numpy(), data[key])
    assert np.array_equal(a.T.to_numpy(), data.T)
    assert np.array_equal(a.T.reshape(4, 6).to_numpy(), data.T.reshape(4, 6))
    a[1, :, ::2] = [[1, 2], [3, 4], [5, 6]]
    data[1, :, ::2] = [[1, 2], [3, 4], [5, 6]]
    assert np.array_equal(a.to_numpy(), data) and np.array_equal(np.asarray(a), data)
    b = a.copy()
    b[...] = -1
    assert (b.to_numpy() == -1).all() and np.array_equal(a.to_numpy(), data)
    assert np.array_equal(a.to("host:0").to_numpy(), data)
    flags = mp.plain_array([True, False], device=device)
    assert flags.dtype == bool and flags.to_numpy().tolist() == [True, False]
    assert (mp.plain_full((2, 2), 7, "uint8", device).to_numpy() == 7).all()
    assert (b == -1).all() and (a == a.copy()).all() and not (a != data).any()
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    assert "portmp.array([1, 0], 'int64'" in repr(mp.plain_array([1, 0], device=device))


@pytest.mark.parametrize(
    ("work", "kind", "message"),
    [
        (lambda: mp.plain_array([0.5]), FormatError, "data: integers or truth values are needed"),
        (lambda: mp.plain_array([1], "float32"), FormatError, "dtype: 'float32' given"),
        (lambda: mp.plain_array([256], "uint8"), FormatError, "data: from 256 to 256 given, uint8"),
        (lambda: mp.plain_array([-1], "uint64"), FormatError, "uint64 holds 0 to"),
        (lambda: mp.plain_array([[1], [2, 3]]), ArgumentError, "data: no array of numbers"),
        (lambda: mp.plain_array(["1"]), FormatError, "data: integers"),
        (lambda: mp.plain_zeros(-1), ShapeError, "full: shape "),
        (lambda: mp.plain_zeros(2**62), PortmpError, "full: .*asked for"),
        (lambda: mp.plain_array([2**70]), FormatError, "data: "),
    ],
)
def test_wrong_plain_arrays(work: Callable[[], Any], kind: type[PortmpError], message: str) -> None:
    with pytest.raises(kind, match=message):
        work()


def test_sizes_are_expressions() -> None:
    """Evaluated as integers, as in C for what is not negative."""
    takes = signature.parsed("f(x: in [2 * n + 1, m // 2], y: out int8 [n % 3], z: in [n, m])")
    assert takes.sizes == ("n", "m")
    known = takes.measured({"z": (5, 8)}, {})
    assert known == {"n": 5, "m": 8}
    assert takes.shape("x", known) == (11, 4) and takes.shape("y", known) == (2,)


def test_the_tutorial(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    """Its first program runs as it stands, and prints what the page says."""
    text = (GALLERY.parent / "kernels.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert block
    exec(compile(block[1], "tutorial", "exec"), {})
    assert capsys.readouterr().out == "0.32\n"


def test_the_reference() -> None:
    """docs/words.md is what the platforms' tables say; its tests exist."""
    assert words_page.words() == set(WORDS)
    written = (GALLERY.parent / "words.md").read_text(encoding="utf-8")
    assert written == words_page.page(), "python tests/words_page.py > docs/words.md"
    tests = "".join(one.read_text() for one in Path(__file__).parent.glob("test_kernel*.py"))
    named = {one.test for words in words_page.SECTIONS.values() for one in words.values()}
    assert not [name for name in named if f"def {name}(" not in tests]


def test_the_page_names_every_word() -> None:
    """docs/kernels.md is the contract."""
    text = (GALLERY.parent / "kernels.md").read_text(encoding="utf-8")
    words = (
        *WORDS,
        *OPERATORS,
        *FUNCTIONS,
        *WHOLE,
        "value",
        "real",
        "index",
        "number",
        "from_real",
        "limb",
        *OWN,
    )
    assert not [word for word in words if f"`{word}" not in text]
