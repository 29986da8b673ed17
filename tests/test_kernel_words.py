"""Words of kernels: memory, atomics, bits of integers, the platform's own functions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from slow import TURNS, by_turns, slow
from tiers import INTERPRETED, check, interpreted

import portmp as mp
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.errors import ArgumentError, LaunchError, PortmpError, RenderError
from portmp.kernels.words.atomics import ATOMICS
from portmp.kernels.words.base import ALIGNMENT


def kernel(body: str, takes: str, **more: Any) -> mp.Kernel:
    """A kernel with this body, for n threads in blocks of 64."""
    given: dict[str, Any] = {"block": 64} | ({} if "grid" in more else {"threads": "n"}) | more
    return mp.Kernel("${kernel()}\n{\n" + body + "\n}\n", takes, **given)


# --- bits of integers -------------------------------------------------------------------------


@slow(TURNS, unless=by_turns("bits", (32, 64)))
@pytest.mark.parametrize("bits", [32, 64])
def test_bits_of_integers(bits: int, anywhere: Device) -> None:
    """Set bits and leading zeros, of zero and of negative numbers too; fences compile."""
    kernel = mp.Kernel(
        """
        ${kernel()}
        {
            const ${index} i = ${global_id()};
            if (i < n) {
                ${store("ones", "i", popcount(load("x", "i"), type(dtype)))}
                ${fence()}
                ${store("zeros", "i", leading_zeros(load("x", "i"), type(dtype)))}
                ${fence("device")}
            }
        }
        """,
        f"count(x: in int{bits} [n], ones: out int32 [n], zeros: out int32 [n])",
        threads="n",
        block=64,
        dtype=f"int{bits}",
    )
    draw = np.random.default_rng(5).integers(-(2 ** (bits - 1)), 2 ** (bits - 1), 90)
    given = [0, 1, -1, 2 ** (bits - 1) - 1, *(int(x) >> k % bits for k, x in enumerate(draw))]
    ones, zeros = kernel(mp.plain_array(given, f"int{bits}", anywhere))
    plain = [x % 2**bits for x in given]
    assert ones.to_numpy().tolist() == [x.bit_count() for x in plain]
    assert zeros.to_numpy().tolist() == [bits - x.bit_length() for x in plain]


def test_bytes_are_permuted(anywhere: Device) -> None:
    """Every choice of one byte, and some of four."""
    chosen = kernel(
        """
        const ${index} i = ${global_id()};
        if (i < n)
            ${store("y", "i", permute_bytes("0x33221100u", "0x77665544u", load("x", "i")))}
        """,
        "choose(x: in uint32 [n], y: out uint32 [n])",
    )
    draw = np.random.default_rng(8).integers(0, 2**32, 100, dtype=np.uint64)
    selectors = [0x3210, 0x7654, *(k * 0x1111 for k in range(16)), *map(int, draw)]
    given = bytes.fromhex("0011223344556677")
    expected = [
        int.from_bytes(bytes(given[s >> 4 * i & 7] for i in range(4)), "little") for s in selectors
    ]
    y = chosen(mp.plain_array(selectors, "uint32", anywhere))
    assert y.to_numpy().tolist() == expected


@slow(TURNS, unless=by_turns("dtype", ("int32", "uint32")))
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_dot4(dtype: str, anywhere: Device) -> None:
    """Products of bytes, summed modulo 2^32."""
    summed = kernel(
        """
        const ${index} i = ${global_id()};
        if (i < n)
            ${store("z", "i", dot4(load("x", "i"), load("y", "i"), load("z", "i"), type(dtype)))}
        """,
        f"total(x: in {dtype} [n], y: in {dtype} [n], z: inout {dtype} [n])",
        dtype=dtype,
    )
    info = np.iinfo(dtype)
    draw = np.random.default_rng(9)
    x, y, z = draw.integers(info.min, info.max, (3, 200), np.int64, endpoint=True).astype(dtype)
    x[:4], y[:4], z[:4] = info.max, info.max, info.max
    byte = np.int8 if dtype == "int32" else np.uint8
    products = x.view(byte).astype(np.int64) * y.view(byte).astype(np.int64)
    expected = (products.reshape(-1, 4).sum(axis=1) + z).astype(dtype)
    given = [mp.plain_array(one, dtype, anywhere) for one in (x, y, z)]
    summed(*given)
    assert (given[2].to_numpy() == expected).all()


# --- atomics ----------------------------------------------------------------------------------

COUNT = """
${kernel()}
{
% if space == "block":
    ${shared(type_of("k"), "held", 8)}
% endif
    const ${index} i = ${global_id()}, block = ${block_id()};
    const int t = ${thread_id()};
% if space == "block":
    if (t < 8)
        held[t] = ${load("found", "block", "t")};
    ${barrier()}
% endif
<% on = ("held",) if space == "block" else ("found", "block") %>
    if (i < n) {
        const ${type_of("k")} k = ${load("k", "i")};
% for place, op in enumerate(operations):
        ${atomic(op, *on, place, "k")};
% endfor
    }
    ${barrier("all")}
% if space == "block":
    if (t < 8)
        ${store("found", "block", "t", "held[t]")}
% endif
}
"""


def in_numpy(x: Any) -> Any:
    """A plain array's numbers, or those of float32 and float64."""
    return x.to_limbs()[0] if isinstance(x, mp.Array) else x.to_numpy()


def counted(space: str, dtype: str, k: Any, start: Any, operations: Any, device: Device) -> Any:
    """What each block of 64 numbers leaves of *start*, by one operation a place."""
    one = mp.Kernel(
        COUNT,
        f"count(k: in {dtype} [n], found: inout {dtype} [blocks, 8])",
        threads="n",
        block=64,
        format=dtype if dtype in REALS else "dd",
        space=space,
        operations=operations,
    )
    start = np.tile(np.array(start, dtype), (-(-k.size // 64), 1))
    make: Any = mp.array if dtype in REALS else mp.plain_array
    found = make(start, dtype, device)
    one(k=make(k, dtype, device), found=found)
    return in_numpy(found)


INTEGERS = ("int32", "uint32", "int64", "uint64")
REALS = ("float32", "float64")


@slow(TURNS, unless=by_turns("dtype", INTEGERS))
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("space", ["device", "block"])
def test_atomics_on_integers(dtype: str, space: str, anywhere: Device) -> None:
    """Those whose order plays no part, on arrays and in block memory."""
    info = np.iinfo(dtype)
    draw = np.random.default_rng(5)
    k = draw.integers(info.min, info.max, 500, dtype, endpoint=True)
    operations = ("add", "min", "max", "and", "or", "xor")
    start = [3, info.max, info.min, info.max, 0, 5, 0, 0]
    found = counted(space, dtype, k, start, operations, anywhere)
    for row, part in zip(found, np.split(k, range(64, 500, 64)), strict=True):
        with np.errstate(over="ignore"):
            expected = [
                part.sum(dtype=dtype) + np.array(3, dtype)[()],
                part.min(),
                part.max(),
                np.bitwise_and.reduce(part) & info.max,
                np.bitwise_or.reduce(part),
                np.bitwise_xor.reduce(part) ^ np.array(5, dtype)[()],
            ]
        assert row.tolist() == [int(one) for one in expected] + [0, 0]


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("space", ["device", "block"])
def test_atomics_on_reals(dtype: str, space: str, anywhere: Device) -> None:
    """Sums of few bits, whose order plays no part; extrema; one number of an exchange."""
    k = np.random.default_rng(6).integers(-1000, 1000, 300).astype(dtype) / 8
    start = [0.5, np.inf, -np.inf, 0, 7, 7, 7, 7]
    found = counted(space, dtype, k, start, ("add", "min", "max", "exchange"), anywhere)
    for row, part in zip(found, np.split(k, range(64, 300, 64)), strict=True):
        assert row[:3].tolist() == [part.sum() + 0.5, part.min(), part.max()]
        assert row[3] in part and row[4:].tolist() == [7] * 4


@slow(TURNS, unless=by_turns("dtype", INTEGERS))
@pytest.mark.parametrize("dtype", INTEGERS)
def test_what_an_atomic_gives(dtype: str, anywhere: Device) -> None:
    """The number before: tickets are all different; a swap is made where the expected stands."""
    ticket = kernel(
        """
        const ${index} i = ${global_id()};
        if (i < n)
            ${store("taken", "i", atomic("add", "next", 0, 1))}
        if (i == 0) {
            ${store("old", 0, atomic("compare_and_swap", "next", 1, 5, 9))}
            ${store("old", 1, atomic("compare_and_swap", "next", 1, 5, 4))}
            ${store("old", 2, atomic("exchange", "next", 2, 11))}
        }
        """,
        f"tickets(next: inout {dtype} [3], taken: out {dtype} [n], old: out {dtype} [3])",
    )
    following = mp.plain_array([7, 5, 6], dtype, anywhere)
    taken, old = ticket(next=following, n=300)
    assert sorted(taken.to_numpy().tolist()) == list(range(7, 307))
    assert following.to_numpy().tolist() == [307, 9, 11]
    assert old.to_numpy().tolist() == [5, 9, 6]


# --- memory -----------------------------------------------------------------------------------


def test_dynamic_block_memory(anywhere: Device) -> None:
    """Two arrays whose sizes a call decides, beside one whose size is a number.

    They begin at multiples of 16 bytes; OpenCL's drivers align them for what pointers point to.
    """
    turned = kernel(
        """
        ${shared(uint64, "fixed", 3)}
        ${shared(value, "values", "n + 1")}
        ${shared(int32, "places", "2 * n")}
        const int t = ${thread_id()};
        if (t < 3)
            fixed[t] = 5;
        if (t < n) {
            values[t + 1] = ${load("x", "t")};
            places[2 * t] = places[2 * t + 1] = (int)n - t;
        }
        ${barrier()}
        if (t < n) {
            ${store("y", "t", "values[places[2 * t + 1]]")}
            const ${uint64} rest = (${uint64})values % 16 + (${uint64})places % 16;
            ${store("k", "t", "places[2 * t] + (int)fixed[t % 3] + (int)rest")}
        }
        """,
        "turn(x: in [n], y: out [n], k: out int32 [n])",
        grid=1,
        format="td",
    )
    for n in (1, 2, 31, 64):
        x = mp.array(np.random.default_rng(n).standard_normal(n), "td", anywhere)
        y, k = turned(x=x)
        assert y.to_fractions() == x.to_fractions()[::-1]
        assert k.to_numpy().tolist() == [n - t + 5 for t in range(n)]


def test_dynamic_block_memory_is_aligned_by_its_type() -> None:
    """Drivers align a parameter for what it points to; NVIDIA's for no more than that."""
    cltypes = pytest.importorskip("pyopencl.cltypes")
    named = re.fullmatch(r"__local (\w+) \*dynamic_", platform.get("opencl").dynamic_parameter)
    assert named and np.dtype(getattr(cltypes, named[1])).itemsize == ALIGNMENT


def test_dynamic_block_memory_alone(anywhere: Device) -> None:
    """The same in a kernel that has no other block memory: drivers place it by other rules."""
    turned = kernel(
        """
        ${shared(value, "values", "n + 1")}
        const int t = ${thread_id()};
        if (t < n)
            values[t + 1] = ${load("x", "t")};
        ${barrier()}
        if (t < n) {
            ${store("y", "t", "values[n - t]")}
        }
        """,
        "turn(x: in [n], y: out [n])",
        grid=1,
        format="float32",
    )
    for n in (3, 64):
        x = mp.array(np.arange(n), "float32", anywhere)
        assert turned(x=x).to_fractions() == list(range(n))[::-1]


def test_too_much_dynamic_block_memory(device: Device) -> None:
    """Refused before the launch, with both numbers."""
    much = kernel(
        """
        ${shared(value, "values", "n")}
        values[0] = ${number(0)};
        """,
        "much(x: in [n])",
    )
    x = mp.zeros(device.properties.shared_memory // 16 + 1, "dd", device)
    with pytest.raises(LaunchError, match=r"much: takes \d+ bytes of block memory, .* has \d+"):
        much(x=x)


def test_atomics_that_change_nothing(anywhere: Device) -> None:
    """0 that is added, a number that nobody looks at: atomics still, and no races with others."""
    text = """
${kernel()}
{
    ${shared(int32, "last", 1)}
    if (${linear_id()} == 0) last[0] = 0;
    ${barrier()}
    if (${linear_id()} % 2) ${atomic("exchange", "last", 0, 5)};
    else { const int now = ${atomic("add", "last", 0, 0)}; ${store("y", thread_id(), "now < 9")} }
}
"""
    y = mp.plain_zeros(64, "int32", anywhere)
    mp.Kernel(text, "k(y: inout int32 [64])", threads=64, block=64)(y=y)
    assert y.to_numpy().tolist() == [1, 0] * 32


TABLES = ("float32", "ds", "float64", "qd", "slfp64in32b")


@slow(TURNS, unless=by_turns("form", TABLES))
@pytest.mark.parametrize("form", TABLES)
def test_constants(form: str, anywhere: Device) -> None:
    """Tables of values rounded correctly, and of integers at their ends."""
    texts = ["0.1", "-3", "1e-20", "7"]
    table = kernel(
        """
        const int t = ${thread_id()};
        <%
            weights = constant(value, "weights", texts)
            offsets = constant(int64, "offsets", [-(2**63), 2**63 - 1, 0, -1])
            masks = constant(uint64, "masks", [2**64 - 1, 2**63, 0, 1])
        %>
        if (t < n) {
            ${store("y", "t", f"{weights}[t]")}
            ${store("k", "t", f"{offsets}[t]")}
            ${store("m", "t", f"{masks}[t]")}
        }
        """,
        "table(y: out [n], k: out int64 [n], m: out uint64 [n])",
        format=form,
        texts=texts,
    )
    y, k, m = table(n=4, device=anywhere)
    assert y.to_fractions() == mp.array(texts, form, anywhere).to_fractions()
    assert k.to_numpy().tolist() == [-(2**63), 2**63 - 1, 0, -1]
    assert m.to_numpy().tolist() == [2**64 - 1, 2**63, 0, 1]


@slow(TURNS, unless=by_turns("kind", ("float32", "float64", "uint32", "int64")))
@pytest.mark.parametrize(
    ("kind", "lanes"), [("float32", 4), ("float32", 2), ("float64", 2), ("uint32", 4), ("int64", 2)]
)
def test_vectors(kind: str, lanes: int, anywhere: Device) -> None:
    """Neighbours at once, of dense arrays and of views with steps and other starts."""
    real = kind.startswith("float")
    copied = kernel(
        """
        const ${index} i = ${global_id()};
        if (i < n / lanes_) {
            ${vector(type_of("x"), lanes)} v = ${load_vector("x", "i", lanes)};
            v.x = v.y;
            ${store_vector("y", "i", "v", lanes)}
        }
        """.replace("lanes_", "${lanes}"),
        f"copied(x: in {kind} [n], y: out {kind} [n])",
        lanes=lanes,
        format=kind if real else "dd",
    )
    given = np.arange(1, 601).astype(kind)
    x: Any = (mp.array if real else mp.plain_array)(given, kind, anywhere)
    for view, numbers in ((x, given), (x[4:300:3], given[4:300:3])):
        expected = numbers[: numbers.size // lanes * lanes].reshape(-1, lanes).copy()
        expected[:, 0] = expected[:, 1]
        found = in_numpy(copied(x=view))[: expected.size]
        assert (found == expected.ravel()).all()


# --- the platform's own -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ds", "dd"])
def test_approximate_functions(form: str, device: Device) -> None:
    """All of them, near what they should be: of their bits nothing is said."""
    near = kernel(
        """
        const ${index} i = ${global_id()};
        if (i < n) {
            const ${real} x = ${load("x", "i")};
        % for place, name in enumerate(names):
            ${store("y", place, "i", from_real(approximate(name, "x")))}
        % endfor
            ${store("y", len(names), "i", from_real(approximate("pow", "x", 2.5)))}
            ${store("y", len(names) + 1, "i", from_real(approximate("atan2", "x", 3)))}
        }
        """.replace('limb(load("x", "i"))', "load('x', 'i')"),
        f"near(x: in {'float32' if form == 'ds' else 'float64'} [n], y: out [12, n])",
        format=form,
        names=["rcp", "rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh"],
    )
    x = np.linspace(0.1, 3, 50)
    y = near(x=mp.array(x, "float32" if form == "ds" else "float64", device)).to_float64()
    expected = [1 / x, x**-0.5, np.exp(x), np.exp2(x), np.log(x), np.log2(x), np.sin(x)]
    expected += [np.cos(x), np.tan(x), np.tanh(x), x**2.5, np.arctan2(x, 3)]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-6)


def test_printing(capfd: pytest.CaptureFixture[str], device: Device) -> None:
    """A line a thread, with quotes and line ends as they were given."""
    said = kernel(
        """
        const ${index} i = ${global_id()};
        if (i < n)
            ${printf('"%d" is %g\\n', "(int)i", load("x", "i"))}
        """,
        "said(x: in [n])",
        format="float64",
    )
    said(x=mp.array([0.5, 2], "float64", device))
    device.queue.synchronize()
    assert {'"0" is 0.5', '"1" is 2'} <= set(capfd.readouterr().out.splitlines())


def timed() -> mp.Kernel:
    return kernel(
        """
        const ${int64} start = ${clock()};
        if (${thread_id()} == 0)
            ${store('t', 0, clock() + ' - start')}
        """,
        "timed(t: out int64 [n])",
    )


def test_clocks() -> None:
    """Where a platform has none the word is refused."""
    assert "clock64()" in timed().render("cuda")
    with pytest.raises(RenderError, match=r"clock: OpenCL C .* has no clock"):
        timed().render("opencl")


@pytest.mark.parametrize("name", INTERPRETED)
def test_clocks_count_on(name: str) -> None:
    """A later reading is greater."""
    (time,) = timed()(n=1, device=interpreted(name)).to_numpy()
    assert 0 < time < 1000


# --- what is refused --------------------------------------------------------------------------

WRONG = {
    "atomic on a storage format": ("${atomic('add', 'z', 'i', 1)}", "atomic: z: elements of a st"),
    "atomic on a value": ("${atomic('add', 'y', 'i', 1)}", "atomic: add: y has elements of dd"),
    "atomic on what is read": ("${atomic('add', 'k', 'i', 1)}", "atomic: k is in, out or inout"),
    "bits of reals": (
        "${atomic('or', 'w', 'i', 1)}",
        "atomic: or: w has elements of float64, int32",
    ),
    "indices of block memory": (
        "${shared(int32, 't', 2, 2)} ${atomic('add', 't', 0, 1)}",
        "atomic: add: t takes 2 indices and a number, 2 operands",
    ),
    "name of block memory": (
        "${shared(int32, 't', 2)} ${shared(int32, 't', 2)}",
        "shared: t is declared twice",
    ),
    "unknown size": ("${shared(int32, 't', 'm + 1')}", "shared: t: 'm' is no size of the kernel"),
    "two dynamic axes": ("${shared(int32, 't', 'n', 'n')}", "shared: t: sizes"),
    "no constants": ("${constant(int32, 't', [])}", "constant: t: no numbers given"),
    "constant too large": ("${constant(int32, 't', [2**31])}", "constant: t: 2147483648 given"),
    "constant no integer": ("${constant(int32, 't', [0.5])}", "constant: t: 0.5 given, int has"),
    "other constants": (
        "${constant(int32, 't', [1])} ${constant(int32, 't', [2])}",
        "constant: t is declared twice",
    ),
    "vector of values": ("${vector(value, 2)}", "vector: dd given, single words"),
    "long vector": ("${vector(int64, 4)}", "vector: 4 of long long given, 2 or 4 of at most 16"),
    "vector of a plate": ("${load_vector('p', 0, 2)}", "load_vector: p: vectors are of arrays"),
    "vector of a storage format": ("${load_vector('z', 0, 2)}", "load_vector: z: elements of a"),
    "vector to what is read": ("${store_vector('k', 0, 'v', 2)}", "k: is in, not out or inout"),
    "dot4 of 64 bits": ("${dot4(1, 2, 3, int64)}", "dot4: long long given, int32 and uint32"),
    "popcount of a value": ("${popcount('y', value)}", "popcount: dd given, integers of 32"),
    "one number to swap": (
        "${atomic('compare_and_swap', 'y', 'i', 1)}",
        "y takes 1 indices and the expected and the new number, 2 operands",
    ),
    "operand of another format": (
        "${add(load('w', 'i'), load('y', 'i'))}",
        "add: w0[(long long)(i)] is float64, dd is needed: from_real(...) makes it one",
    ),
    "stored value of another format": (
        "${store('y', 'i', load('k', 'i'))}",
        "store: y: k0[(long long)(i)] is int32, dd is needed: from_real(...)",
    ),
    "longer operand": ("${of('float64').add(load('y', 'i'), 1)}", "is dd, float64 is needed"),
    "unknown function": ("${approximate('gamma', 1)}", "approximate: 'gamma' given, rcp, rsqrt"),
    "operands": ("${approximate('pow', 1)}", "approximate: pow: 1 operands given, 2 needed"),
    "function of a value": ("${approximate('exp', 1, kind=value)}", "approximate: dd given, float"),
    "no text": ("${printf(5)}", "printf: int given, a text is needed"),
    "memory of a fence": ("${fence('grid')}", "fence: 'grid' given"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str) -> None:
    """One sentence when the template is rendered."""
    body, message = WRONG[name]
    takes = (
        "wrong(k: in int32 [n], y: inout [n], z: inout slfp64in32b [n], w: inout float64 [n], "
        "p: in float64 [n, n])"
    )
    with pytest.raises((RenderError, ArgumentError)) as caught:
        kernel(body, takes).render("cuda")
    assert isinstance(caught.value, PortmpError) and message in str(caught.value)


def test_every_operation_has_a_text() -> None:
    """Swaps of 32 and 64 bits, from which all others can be made."""
    for table in platform.PLATFORMS.values():
        for dtype in INTEGERS:
            assert (("compare_and_swap", dtype)) in table.atomics
        assert {op for op, _ in table.atomics} <= set(ATOMICS)


@pytest.mark.parametrize(
    ("tier", "target", "arch"), [("nvrtc", "cuda", "sm_90"), ("hiprtc", "rocm", "gfx906")]
)
def test_compiled_without_a_device(tier: str, target: str, arch: str) -> None:
    """Atomics of every type in both memories; what the interpreter cannot show."""
    check(tier)
    for dtype in (*INTEGERS, *REALS):
        operations = ("add", "min", "max", "exchange")
        for space in ("device", "block"):
            one = mp.Kernel(
                COUNT,
                f"count(k: in {dtype} [n], found: inout {dtype} [blocks, 8])",
                threads="n",
                format=dtype if dtype in REALS else "dd",
                space=space,
                operations=operations,
            )
            (report,) = one.compile(target, arch)
            assert report.spills == 0
