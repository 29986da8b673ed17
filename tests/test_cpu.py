"""The processor by a plain clang: its launches, its language, what it refuses; other processors."""

from __future__ import annotations

import ctypes
import gc
import math
import platform as machine
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiers

import portmp as mp
from portmp import discovery, formats, paths
from portmp.backends.base import LaunchMemory
from portmp.backends.cpu import runtime
from portmp.backends.cpu.runtime import CpuDevice
from portmp.compilers import cpu, opencl_builtins
from portmp.discovery import probe
from portmp.errors import BackendUnavailable, CompileError, DeviceError, LaunchError
from portmp.formats import inputs
from portmp.routines import compilation_units
from portmp.runtime import program

RNG = np.random.default_rng(55)
Run = Callable[..., list[np.ndarray[Any, Any]]]


@pytest.fixture(scope="module")
def processor() -> CpuDevice:
    """A device of its own."""
    tiers.check("cpu")
    device = CpuDevice(next(cpu.found()))
    probe.trust(device)
    return device


@pytest.fixture
def run(processor: CpuDevice) -> Run:
    """Run the kernel k of a text on arrays, and read all of them back."""

    def ran(
        source: str, *given: Any, grid: Sequence[int] = (1,), block: Sequence[int] = (1,)
    ) -> list[np.ndarray[Any, Any]]:
        kernel = processor.load(processor.compile(source), ["k"])["k"]
        queue = processor.queue
        arrays = [a for a in given if isinstance(a, np.ndarray)]
        buffers = processor.allocate_parts([a.nbytes for a in arrays])
        for buffer, array in zip(buffers, arrays, strict=True):
            queue.write(buffer, array)
        left = iter(buffers)
        args = [next(left) if isinstance(a, np.ndarray) else a for a in given]
        shape = [tuple([*axes, 1, 1][:3]) for axes in (grid, block)]
        queue.launch(kernel, *shape, args)  # type: ignore[arg-type]
        found = [np.empty_like(a) for a in arrays]
        for buffer, array in zip(buffers, found, strict=True):
            queue.read(buffer, array)
        return found

    return ran


def head(*parameters: str, items: Sequence[int] = (1, 1, 1)) -> str:
    """The head of the kernel k, as portmp writes them."""
    size = ", ".join(map(str, items))
    text = ", ".join(parameters)
    return f"__kernel __attribute__((reqd_work_group_size({size}))) void k(\n    {text})\n"


# --- launches -------------------------------------------------------------------------------------

ROOM = """{
    const long i = (long)(get_global_id(0) + get_global_size(0) * (get_global_id(1)
        + get_global_size(1) * get_global_id(2)));
    where[i] += (int)(get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2)
        + 1000 * get_group_id(0) + 10000 * get_group_id(1) + 100000 * get_group_id(2));
    METHOD
}
"""


@pytest.mark.parametrize(
    ("items", "grid", "method"),
    [
        ((1, 1, 1), (7, 3, 2), ""),
        ((4, 3, 2), (5, 2, 3), ""),
        ((4, 3, 2), (5, 2, 3), "barrier(CLK_LOCAL_MEM_FENCE);"),
        ((1, 1, 1), (7, 3, 2), "barrier(CLK_LOCAL_MEM_FENCE);"),
        ((256, 1, 1), (9, 1, 1), "barrier(CLK_GLOBAL_MEM_FENCE);"),
    ],
)
def test_each_work_item_once(
    run: Run, items: tuple[int, int, int], grid: tuple[int, int, int], method: str
) -> None:
    """Each with its own identifiers, however they are run."""
    source = head("__global int *where", items=items) + ROOM.replace("METHOD", method)
    size = tuple(g * b for g, b in zip(grid, items, strict=True))
    (found,) = run(source, np.zeros(math.prod(size), np.int32), grid=grid, block=items)
    at = np.indices(size[::-1])[::-1]  # x, y, z, of which x is the fastest
    digits = [at[a] % items[a] * 10**a + at[a] // items[a] * 1000 * 10**a for a in range(3)]
    assert (found == sum(digits).ravel()).all()


TURNED = """{
    __local double held[256];
    const int t = (int)get_local_id(0), group = (int)get_group_id(0);
    double sum = 0;
    for (int step = 1; step <= steps; ++step) {
        held[t] = x[256 * group + t] * step;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += held[(t + step) % 256];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[256 * group + t] = sum;
}
"""


def test_blocks_that_meet_have_memory_of_their_own(run: Run) -> None:
    """Many at once, each with barriers in a loop; numbers kept over barriers stay their own."""
    source = head("__global double *x", "const int steps", items=(256, 1, 1)) + TURNED
    x = RNG.integers(-1000, 1000, 256 * 64).astype(np.float64)
    (found,) = run(source, x, np.int32(5), grid=(64,), block=(256,))
    blocks = x.reshape(64, 256)
    wanted = sum(step * np.roll(blocks, -step, axis=1) for step in range(1, 6))
    assert (found == wanted.ravel()).all()


def test_block_memory_of_a_launch(run: Run) -> None:
    """Its size is the launch's; it begins at a multiple of 16 bytes."""
    body = """{
        __local double *const held = (__local double *)dynamic_;
        const int t = (int)get_local_id(0);
        held[t] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] = held[SIZE - 1 - t] + (double)((ulong)held % 16);
    }
    """
    for size in (32, 1024):
        items = (size, 1, 1)
        source = head("__global double *x", "__local ulong2 *dynamic_", items=items)
        x = RNG.random(8 * size)
        memory = LaunchMemory(8 * size)
        (found,) = run(source + body.replace("SIZE", str(size)), x, memory, grid=(8,), block=items)
        assert (found == x.reshape(8, size)[:, ::-1].ravel()).all()


@pytest.mark.parametrize("n", [-3, 1, 255, 256, 257, 1000])
@pytest.mark.parametrize("text", ["i < n", "i < n && x[i] > -2", "n > i"])
def test_work_items_beyond_an_extent(run: Run, n: int, text: str) -> None:
    """Whole blocks do not ask; what lies behind is not touched."""
    number = "const long i = ((long)(int)get_group_id(0) * 256 + (int)get_local_id(0));"
    source = head("__global double *x", "const long n", items=(256, 1, 1))
    x = np.linspace(-1, 1, 1280)
    (found,) = run(
        f"{source}{{ {number} if ({text}) x[i] = x[i] * 3 + 1; }}\n", x, n, grid=(5,), block=(256,)
    )
    most = max(n, 0)
    assert (found[:most] == x[:most] * 3 + 1).all() and (found[most:] == x[most:]).all()


def test_parts_of_extents(run: Run) -> None:
    """A part of an extent is another bound than the extent."""
    number = "const long i = ((long)(int)get_group_id(0) * 256 + (int)get_local_id(0));"
    source = head("__global long *x", "const long n", items=(256, 1, 1))
    for test, most in (("i < n / 4", 250), ("2 * i < n", 500), ("n - 700 > i && i < n - 8", 300)):
        body = f"{source}{{ {number} if ({test}) x[i] = 1; }}\n"
        (found,) = run(body, np.zeros(1024, np.int64), 1000, grid=(4,), block=(256,))
        assert found[:most].all() and not found[most:].any(), test


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", "if (i < n) x[i] = n;"),
        ("#define EXTENT n\n", "if (i < n) x[i] = EXTENT;"),
        ("", "for (long i = 0; i < 2000; i += 1500) if (i < n) x[i % 7] = 1000;"),
        ("", "for (long j = 0, i = 0; j < 2; ++j, i += 1500) if (i < n) x[i % 7] = 1000;"),
        ("#define NEXT long i\n", "{ NEXT = 1500; if (i < n) x[3] = 5; }"),
    ],
)
def test_bounds_of_something_else(run: Run, before: str, body: str) -> None:
    """Whatever else an extent or its number is there, the results are the same."""
    number = "const long i = ((long)(int)get_group_id(0) * 256 + (int)get_local_id(0));"
    found = []
    for hidden in ("n", "n + 0"):  # the second is never thought to be a bound
        source = f"{before}{head('__global long *x', 'const long n', items=(256, 1, 1))}"
        text = f"{source}{{ {number} {body.replace('i < n', f'i < {hidden}')} }}\n"
        found += run(text, np.zeros(1024, np.int64), 1000, grid=(3,), block=(256,))
    assert (found[0] == found[1]).all()


def test_extents_that_are_used_otherwise(run: Run) -> None:
    """A bound that is also a number keeps its value."""
    number = "const long i = ((long)(int)get_group_id(0) * 256 + (int)get_local_id(0));"
    source = head("__global long *x", "const long n", items=(256, 1, 1))
    (found,) = run(
        f"{source}{{ {number} if (i < n) x[i] = n; }}\n",
        np.zeros(1024, np.int64),
        1000,
        grid=(4,),
        block=(256,),
    )
    assert (found[:1000] == 1000).all() and not found[1000:].any()


PRIVATE = {
    "chosen": (
        "double t[4] = {x[i], 2 * x[i], 3 * x[i], 4 * x[i]}; y[i] = t[d[i]];",
        "(d + 1) * x",
    ),
    "filled": (
        "double t[8]; for (int k = 0; k < 8; k++) t[k] = x[i] * k; y[i] = t[d[i] + 3];",
        "(d + 3) * x",
    ),
    "counted": (
        "uchar s = 2, t[4] = {1, 2, 3, 4}; t[d[i]] = 9; y[i] = t[1] + s;",
        "4 + 7 * (d == 1)",
    ),
    "held": (
        "struct { double v[2]; } s = {{x[i], 1}}; s.v[d[i] & 1] += 1; y[i] = s.v[0] * s.v[1];",
        "np.where(d % 2, 2 * x, x + 1)",
    ),
    "of_items": (
        "double t[4] = {0, 0, 0, 0}; t[get_local_id(0) & 3] = x[i]; y[i] = t[d[i]];",
        "x * (np.arange(512) % 4 == d)",
    ),
}
"""Kernels with arrays of their own: what they do, and what comes of it."""


@pytest.mark.parametrize("kernel", PRIVATE)
def test_work_items_have_arrays_of_their_own(run: Run, kernel: str) -> None:
    """Loops over work-items are no vectors where these use one place in memory."""
    body, wanted = PRIVATE[kernel]
    x, d = RNG.random(512), RNG.integers(0, 4, 512).astype(np.int32)
    for items in (4, 16, 64):
        source = head(
            "__global double *x", "__global int *d", "__global double *y", items=(items, 1, 1)
        )
        source += "{ const int i = (int)get_global_id(0); " + body + " }"
        found = run(source, x, d, np.zeros(512), grid=(512 // items,), block=(items,))[2]
        assert (found == eval(wanted, {"np": np, "x": x, "d": d})).all()


def test_launches_in_order_from_several_threads(processor: CpuDevice) -> None:
    """Each on a queue of its own: long and short ones by turns, each sees what came before."""
    source = head("__global double *x", "const long n", "const double a") + (
        "{ for (long i = get_group_id(0); i < n; i += get_num_groups(0)) x[i] = x[i] * a + 1; }\n"
    )
    kernel = processor.load(processor.compile(source), ["k"])["k"]
    wrong: list[int] = []

    def work(number: int) -> None:
        queue = processor.new_queue()
        for size in (3, 100_000, 17, 1000):
            x = np.full(size, float(number))
            (buffer,) = queue.allocate_parts([x.nbytes])
            queue.write(buffer, x)
            for step in range(30):
                grid = (1 + (step * 7 + number) % 40, 1, 1)
                queue.launch(kernel, grid, (1, 1, 1), [buffer, size, np.float64(step % 3)])
                x = x * (step % 3) + 1
            found = np.empty_like(x)
            queue.read(buffer, found)
            wrong.extend(np.flatnonzero(found != x))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_launches_that_nobody_waits_for(processor: CpuDevice) -> None:
    """More than are kept at once."""
    source = head("__global int *x") + "{ x[get_group_id(0)] += 1; }\n"
    kernel = processor.load(processor.compile(source), ["k"])["k"]
    (buffer,) = processor.allocate_parts([400])
    processor.queue.write(buffer, np.zeros(100, np.int32))
    for _ in range(5000):
        processor.queue.launch(kernel, (100, 1, 1), (1, 1, 1), [buffer])
    found = np.empty(100, np.int32)
    processor.queue.read(buffer, found)
    assert (found == 5000).all()


@pytest.mark.skipif(sys.platform != "linux", reason="numbers of the C library's header")
def test_rounding_of_other_libraries(run: Run) -> None:
    """What they set for their thread is neither used nor changed."""
    library = ctypes.CDLL(None)
    source = head("__global double *x") + "{ const int i = get_group_id(0); x[i] = x[i] / 3; }\n"
    upwards = {"x86_64": 0x800, "aarch64": 0x400000}.get(runtime.machine.machine())
    if upwards is None:
        pytest.skip("the mode's number is not known here")
    x = RNG.random(10_000)
    try:
        assert library.fesetround(upwards) == 0
        (found,) = run(source, x, grid=(x.size,))
        assert library.fegetround() == upwards
    finally:
        library.fesetround(0)
    assert (found == x / 3).all()


def test_memory_of_cycles(processor: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that goes with a cycle is given out again: its memory must still be there."""
    queue = processor.queue
    given: list[int] = []

    def holder() -> None:
        parts = queue.allocate_parts([4321, 1234])
        given.extend(part.place for part in parts)
        cycle: list[object] = [*parts]
        cycle.append(cycle)

    freed: list[int] = []
    monkeypatch.setattr(runtime, "_give", freed.append)
    holder()
    gc.collect()
    again = queue.allocate_parts([4321, 1234])
    assert [part.place for part in again] == given and not freed
    del again
    processor.give_memory_back()
    assert set(given) <= set(freed)


def test_too_many_parameters(processor: CpuDevice) -> None:
    source = head(*(f"const long a{i}" for i in range(300))) + "{ }\n"
    kernel = processor.load(processor.compile(source), ["k"])["k"]
    with pytest.raises(LaunchError, match="'k' has too many parameters"):
        processor.queue.launch(kernel, (1, 1, 1), (1, 1, 1), list(range(300)))


# --- the language ---------------------------------------------------------------------------------


CHOSEN = """
#define SIGN 0x7fffffffffffffff
#define BIG (double8)(4503599627370496.0)
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void chosen(
    __global double8 *x, __global double8 *y, const long n)
{
    double8 r = x[0], q = y[0];
    for (long i = 0; i < n; ++i) {
        const double8 w = r / q, size = as_double8(as_long8(w) & SIGN);
        const long8 sized = as_long8((size + BIG) - BIG) & SIGN;
        const double8 near = as_double8(sized | (as_long8(w) & ~SIGN));
        const double8 whole = (size < BIG) ? near : w;
        const double8 low = (w < whole) ? whole - (double8)(1.0) : whole;
        const double8 last = (low < (double8)(2.0)) ? low : low - (double8)(1.0);
        r = r - q * (((double8)(1e300) < r) ? last : whole);
    }
    x[0] = r;
}
"""


@pytest.mark.skipif(machine.machine() not in ("x86_64", "AMD64"), reason="code of x86")
def test_choices_of_signs_with_avx512() -> None:
    """None of clang's masked truth tables, some of which are of operands in another order."""
    for clang in cpu.found():
        compiler = cpu.CpuCompiler(clang)
        assert not cpu._MASKED_TABLE.search(compiler.object(CHOSEN, "x86-64-v4"))
        if int(clang.version.partition("version ")[2].partition(".")[0]) < cpu._TABLES_RIGHT:
            assert cpu._MASKED_TABLE.search(compiler._object(CHOSEN, "x86-64-v4"))


def test_contraction_is_refused(processor: CpuDevice) -> None:
    """A text's own pragma would stand above the option; without one nothing is contracted."""
    body = head("__global double *x") + "{ x[0] = x[0] * x[1] + x[2]; }\n"
    for how in ("ON", "DEFAULT"):
        with pytest.raises(CompileError, match=rf"FP_CONTRACT {how}: what is contracted differs"):
            processor.compile(f"#pragma OPENCL FP_CONTRACT {how}\n{body}")


@pytest.mark.parametrize("items", [(1, 1, 1), (8, 1, 1)])
def test_contraction(run: Run, items: tuple[int, int, int]) -> None:
    """The invited fma alone."""
    x = np.array([1 + 2.0**-30, 1 - 2.0**-30, -1.0])
    source = head("__global double *x", "__global double *y", items=items) + (
        "{ const int i = get_local_id(0);"
        " y[i] = x[0] * x[1] + x[2]; y[8 + i] = fma(x[0], x[1], x[2]); }\n"
    )
    _, found = run(source, x, np.zeros(16), block=items)
    assert found[0] == 0 and found[8] == -(2.0**-60)


def test_variables_that_no_stack_holds(processor: CpuDevice) -> None:
    body = (
        "{ double a[9000]; for (int i = 0; i < 9000; ++i) a[i] = x[i]; MEET x[0] = a[(int)x[1]]; }"
    )
    processor.compile(head("__global double *x") + body.replace("MEET", ""))
    meeting = head("__global double *x", items=(8, 1, 1)) + body
    processor.compile(meeting.replace("MEET", "barrier(0);"))
    with pytest.raises(CompileError, match="stack frame size"):
        processor.compile(meeting.replace("MEET", "barrier(0);").replace("9000", "90000"))


def test_helpers_ask_which_work_item_they_are(run: Run) -> None:
    source = "static int mine(void) { return (int)get_global_id(0); }\n" + head(
        "__global int *x", items=(4, 1, 1)
    )
    (found,) = run(
        source + "{ x[mine()] = mine() + 1; }\n", np.zeros(12, np.int32), grid=(3,), block=(4,)
    )
    assert (found == np.arange(1, 13)).all()


def test_errors_name_lines_of_templates(processor: CpuDevice) -> None:
    text = head("__global int *x") + "{ x[0] = nonsense; }\n"
    with pytest.raises(CompileError, match=r"<stdin>:3:\d+: error: .*nonsense"):
        processor.compile(text)


INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
DTYPES = dict(zip(INTEGERS, map(np.dtype, ["b", "B", "h", "H", "i", "I", "l", "L"]), strict=True))


def whole(dtype: np.dtype[Any], n: int = 64) -> np.ndarray[Any, Any]:
    """Integers over the whole range, its ends among them."""
    facts = np.iinfo(dtype)
    found = RNG.integers(facts.min, facts.max, n, dtype, endpoint=True)
    found[:4] = facts.min, facts.max, 0, 1
    return found


def exactly(dtype: np.dtype[Any], values: Iterator[int]) -> np.ndarray[Any, Any]:
    """Values modulo the type's range."""
    bits = 8 * dtype.itemsize
    unsigned = [v % 2**bits for v in values]
    return np.array(unsigned, f"u{dtype.itemsize}").view(dtype)


def integers(name: str, bits: int, signed: bool, *x: int) -> int:
    """What OpenCL says of the functions of integers."""
    low = -(2 ** (bits - 1)) if signed else 0
    unsigned = [v % 2**bits for v in x]
    by_name: dict[str, Callable[[], int]] = {
        "min": lambda: min(x),
        "max": lambda: max(x),
        "clamp": lambda: min(max(x[0], x[1]), x[2]),
        "abs": lambda: abs(x[0]),
        "hadd": lambda: (x[0] + x[1]) >> 1,
        "rhadd": lambda: (x[0] + x[1] + 1) >> 1,
        "mul_hi": lambda: (x[0] * x[1]) >> bits,
        "popcount": unsigned[0].bit_count,
        "clz": lambda: bits - unsigned[0].bit_length(),
        "ctz": lambda: (unsigned[0] & -unsigned[0]).bit_length() - 1 if unsigned[0] else bits,
        "rotate": lambda: (
            (unsigned[0] << unsigned[1] % bits) | (unsigned[0] >> (bits - unsigned[1] % bits))
        ),
        "add_sat": lambda: min(max(x[0] + x[1], low), low + 2**bits - 1),
        "sub_sat": lambda: min(max(x[0] - x[1], low), low + 2**bits - 1),
        "bitselect": lambda: (x[0] & ~x[2]) | (x[1] & x[2]),
        "select": lambda: x[1] if x[2] else x[0],
    }
    return by_name[name]()


@pytest.mark.parametrize("kind", INTEGERS)
def test_functions_of_integers(run: Run, kind: str) -> None:
    """Against Python's integers; of vectors, too."""
    dtype = DTYPES[kind]
    names = {
        **dict.fromkeys(("abs", "popcount", "clz", "ctz"), 1),
        **dict.fromkeys(
            ("min", "max", "hadd", "rhadd", "mul_hi", "rotate", "add_sat", "sub_sat"), 2
        ),
        **dict.fromkeys(("clamp", "bitselect", "select"), 3),
    }
    x, y, z = whole(dtype), RNG.permutation(whole(dtype)), whole(dtype)
    lines = []
    for at, (name, count) in enumerate(names.items()):
        given = ", ".join(f"{a}[i]" for a in "xyz"[:count])
        lines.append(f"out[{64 * at} + i] = ({kind}){name}({given});")
    texts = [f"__global {kind} *{a}" for a in ("x", "y", "z", "out")]
    body = f"{{ const int i = (int)get_group_id(0); {' '.join(lines)} }}\n"
    *_, out = run(head(*texts) + body, x, y, z, np.zeros(64 * len(names), dtype), grid=(64,))
    bits, signed = 8 * dtype.itemsize, dtype.kind == "i"
    for at, (name, count) in enumerate(names.items()):
        rows = zip(*(a.tolist() for a in (x, y, z)[:count]), strict=True)
        wanted = exactly(dtype, (integers(name, bits, signed, *row) for row in rows))
        if name == "clamp":  # of an empty range nothing is said
            wanted = np.where(y <= z, wanted, out[64 * at : 64 * at + 64])
        assert (out[64 * at : 64 * at + 64] == wanted).all(), name


def test_functions_of_vectors_are_those_of_numbers(run: Run) -> None:
    """Every function that vectors have, on four lanes, against the same on numbers."""
    whole_names = {
        name: arguments
        for table in (opencl_builtins._WHOLE, opencl_builtins._LANE)
        for name, arguments in ((n, v if isinstance(v, str) else v[0]) for n, v in table.items())
    }
    for kind, dtype in (("float", np.float32), ("double", np.float64)):
        numbers, vectors = [], []
        for at, (name, arguments) in enumerate(whole_names.items()):
            given = ", ".join(f"{a}[i]" for a in arguments)
            numbers.append(f"u[{64 * at} + i] = {name}({given});")
            loads = ", ".join(f"vload4(i, {a})" for a in arguments)
            vectors.append(f"if (i < 16) vstore4({name}({loads}), i, v + {64 * at});")
        parameters = [f"__global {kind} *{a}" for a in "xyzuv"]
        body = f"{{ const int i = (int)get_group_id(0); {' '.join(numbers + vectors)} }}\n"
        x, y, z = (RNG.random((3, 64)) * 2 + 0.25).astype(dtype)
        zeros = np.zeros(64 * len(whole_names), dtype)
        *_, u, v = run(head(*parameters) + body, x, y, z, zeros, zeros, grid=(64,))
        for at, name in enumerate(whole_names):
            part = slice(64 * at, 64 * at + 64)
            assert u[part].any(), name
            assert np.array_equal(u[part], v[part], equal_nan=True), name


def test_exact_functions_of_floats(run: Run) -> None:
    """Against NumPy, on halves and ends of ranges."""
    x = np.array(
        [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 2.0**52 + 1, -0.0, np.inf, np.nan]
    )
    y = np.array([np.nan, 1.0, -3.0, 2.5, -0.0, 0.0, -1.0, 0.0, 7.0, 1.0])
    names: dict[str, Callable[..., Any]] = {
        "floor(x[i])": np.floor(x),
        "ceil(x[i])": np.ceil(x),
        "trunc(x[i])": np.trunc(x),
        "rint(x[i])": np.rint(x),
        "round(x[i])": np.copysign(np.floor(np.abs(x) + np.where(np.abs(x) < 0.5, 0, 0.5)), x),
        "copysign(x[i], y[i])": np.copysign(x, y),
        "fmin(x[i], y[i])": np.fmin(x, y),
        "fmax(x[i], y[i])": np.fmax(x, y),
        "isnan(x[i])": np.isnan(x),
        "isinf(x[i])": np.isinf(x),
        "isfinite(x[i])": np.isfinite(x),
        "signbit(x[i])": np.signbit(x),
        "fabs(x[i])": np.fabs(x),
    }
    names["round(x[i])"] = np.where(np.abs(x) > 2.0**51, x, names["round(x[i])"])
    lines = [f"z[{10 * at} + i] = {text};" for at, text in enumerate(names)]
    source = head("__global double *x", "__global double *y", "__global double *z")
    body = f"{{ const int i = (int)get_group_id(0); {' '.join(lines)} }}\n"
    *_, z = run(source + body, x, y, np.zeros(10 * len(names)), grid=(10,))
    for at, (text, wanted) in enumerate(names.items()):
        got, expected = z[10 * at : 10 * at + 10], np.asarray(wanted, np.float64)
        if text.startswith(("is", "sign", "copy")):
            got, expected = np.nan_to_num(got, nan=8), np.nan_to_num(expected, nan=8)
        assert np.array_equal(got, expected, equal_nan=True), text


def test_atomics(run: Run) -> None:
    """By all threads at once, on both widths."""
    kinds = {"int": ("atomic", np.int32), "uint": ("atomic", np.uint32)}
    kinds |= {"long": ("atom", np.int64), "ulong": ("atom", np.uint64)}
    for kind, (start, dtype) in kinds.items():
        lines = [f"{start}_add(x, ({kind})(i + 1));", f"{start}_sub(x + 1, ({kind})1);"]
        lines += [f"{start}_max(x + 2, ({kind})i);", f"{start}_min(x + 3, ({kind})i);"]
        lines += [f"{start}_or(x + 4, ({kind})1 << i % 20);", f"{start}_inc(x + 5);"]
        lines += [f"{start}_xor(x + 6, ({kind})i);", f"{start}_dec(x + 7);"]
        lines += [f"{kind} seen = x[8]; for ({kind} old = ~seen; old != seen;)"]
        lines += [f"{{ old = seen; seen = {start}_cmpxchg(x + 8, old, old + 2); }}"]
        lines += [f"y[i] = {start}_xchg(x + 9, ({kind})(i + 1));"]
        source = head(f"volatile __global {kind} *x", f"__global {kind} *y")
        body = f"{{ const int i = (int)get_group_id(0); {' '.join(lines)} }}\n"
        start_values = np.array([0, 5000, 7, 5000, 0, 0, 0, 4000, 0, 0], dtype)
        n = 3000
        x, y = run(source + body, start_values, np.zeros(n, dtype), grid=(n,))
        turned = int(np.bitwise_xor.reduce(np.arange(n)))
        wanted = [n * (n + 1) // 2, 5000 - n, n - 1, 0, 2**20 - 1, n, turned, 4000 - n, 2 * n]
        assert x[:9].tolist() == wanted
        assert sorted([*y.tolist(), int(x[9])]) == list(range(n + 1))


# --- processors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_levels_of_x86(processor: CpuDevice, level: str) -> None:
    """Without an instruction for fma the C library's function is called: the same bits."""
    if runtime.machine.machine() != "x86_64":
        pytest.skip("for x86-64")
    device = CpuDevice(processor.clang)
    device.properties = replace(device.properties, arch=level)
    verdict = probe.examine(device)
    assert not verdict.refusal and not verdict.repairs
    probe.trust(device)
    for name in ("ds", "qd"):
        form = formats.get(name)
        hosts = [
            [limb.reshape(9, 9) for limb in inputs.hostile(form, 81, f"level {i}")]
            for i in range(2)
        ]
        results = []
        for where in ("host", device.queue):
            a, b = (mp.from_limbs(host, name, device=where) for host in hosts)
            results.append([*(a @ b).to_limbs(), *(a * b + a).to_limbs()])
        for ours, wanted in zip(*results, strict=True):
            assert np.array_equal(ours, wanted, equal_nan=True)


TARGETS = (
    *("x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "x86_64-linux-musl"),
    *("aarch64-macos", "x86_64-macos", "x86_64-windows-gnu"),
)


@pytest.mark.parametrize("target", TARGETS)
def test_objects_for_other_systems(processor: CpuDevice, target: str) -> None:
    """Kernels and the pool compile for them; nobody has run those of the last three."""
    magic = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b"d\x86"}
    start = next(bytes_ for system, bytes_ in magic.items() if system in target)
    compiler = processor.compiler
    if "ziglang" not in compiler._clang.command[0] and "mac" in target:
        pytest.skip("a name of zig's")
    names = [name for name in compilation_units.names("dd") if name in ("gemm", "exp", "lu")]
    for name in names or compilation_units.names("dd")[:2]:
        text = program.source(processor, *compilation_units.find("dd", name)).text
        assert compiler.object(text, target).startswith(start)
    meeting = head("__global double *x", "const int steps", items=(256, 1, 1)) + TURNED
    assert compiler.object(meeting, target).startswith(start)
    pool = compiler.object_of_c(runtime.POOL.read_text(), "-target", target, "-Wall", "-Werror")
    assert pool.startswith(start)


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"cpu.max": "max 100000"}, 8),
        ({"cpu.max": "250000 100000"}, 3),
        ({"cpu.max": "10000 100000"}, 1),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 2),
        ({"a/b/cpu.max": "400000 100000", "cpu.max": "600000 100000"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        ({"cpu/cpu.cfs_quota_us": "450000", "cpu/cpu.cfs_period_us": "100000"}, 5),
        ({}, 8),
    ],
)
def test_processors_of_a_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], wanted: int
) -> None:
    """Its share, and that of each group of processes around this one, bounds those of the mask."""
    mine = runtime.processors()
    assert 1 <= mine <= (runtime.os.cpu_count() or 1)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "own").write_text("1:cpu:/\n0::/a/b\n")
    monkeypatch.setattr(runtime, "CGROUPS", tmp_path)
    monkeypatch.setattr(runtime, "GROUPS", tmp_path / "own")
    monkeypatch.setattr(runtime.os, "sched_getaffinity", lambda process: range(8), raising=False)
    assert runtime.processors() == wanted


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
def test_folders_that_no_program_runs_from(
    processor: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code is loaded from memory; where that is forbidden too, the message says what to set."""
    opened = ctypes.CDLL

    def refusing(name: str, *more: Any, **named: Any) -> ctypes.CDLL:
        if not Path(name).is_symlink():
            raise OSError("failed to map segment from shared object")
        return opened(name, *more, **named)

    monkeypatch.setattr(runtime.ctypes, "CDLL", refusing)
    binaries = [
        processor.compile(head("__global int *x") + f"{{ x[0] = {number}; }}\n")
        for number in (1, 2)
    ]
    loaded = [runtime.loaded(binary) for binary in binaries]
    assert loaded[0]._handle != loaded[1]._handle
    monkeypatch.delattr(runtime.os, "memfd_create")
    with pytest.raises(LaunchError, match=r"map segment.*; set TMPDIR to a folder"):
        runtime.loaded(binaries[0])
    monkeypatch.setattr(runtime, "_pool", [])
    with pytest.raises(BackendUnavailable, match=r"folder that programs may run from$"):
        runtime.by_first_clang(CpuDevice)


def test_code_is_for_the_processor_that_compiled_it(
    processor: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that machines share gives none the other's code."""
    before = processor.compiler_key()
    monkeypatch.setattr(cpu, "features", lambda: "another processor")
    assert processor.compiler_key() != before


def test_which_clang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user's alone; pip's before the system's; one that is too old is told."""
    monkeypatch.setattr(paths, "cache_folder", lambda: None)
    for name, version in (("old", 15), ("new", 17)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho Some clang version {version}.0.1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PORTMP_CLANG", str(tmp_path / "new"))
    assert [one.version for one in cpu.found()] == ["Some clang version 17.0.1"]
    monkeypatch.setenv("PORTMP_CLANG", str(tmp_path / "old"))
    with pytest.raises(BackendUnavailable, match=r"PORTMP_CLANG=.*old is no clang .* 15\.0\.1"):
        list(cpu.found())
    monkeypatch.delenv("PORTMP_CLANG")
    monkeypatch.setattr(cpu, "find_spec", lambda name: None)
    monkeypatch.setattr(cpu.tools, "versioned_tools", lambda name: [tmp_path / "old"])
    with pytest.raises(BackendUnavailable, match=r"15\.0\.1\); pip install '\.\[cpu\]'"):
        list(cpu.found())
    monkeypatch.setattr(cpu.tools, "versioned_tools", lambda name: [])
    with pytest.raises(BackendUnavailable, match="no clang of at least version 17; pip"):
        list(cpu.found())


def test_a_clang_that_the_probe_refuses(
    processor: CpuDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next one compiles, which is told; with none left the device is refused."""
    monkeypatch.setattr(paths, "cache_folder", lambda: None)
    wrong = replace(processor.clang, version="wrong clang version 1.2")
    compiled = cpu.CpuCompiler.compile

    def compile(self: cpu.CpuCompiler, source: str, arch: str) -> bytes:
        if self._clang is wrong:
            raise CompileError("it cannot")
        return compiled(self, source, arch)

    monkeypatch.setattr(cpu.CpuCompiler, "compile", compile)
    for left in ([processor.clang], [wrong]):
        monkeypatch.setattr(cpu, "found", lambda left=left: iter([wrong, *left]))
        monkeypatch.setattr(probe, "_verdicts", {})
        device = runtime.by_first_clang(CpuDevice)
        assert device.clang is wrong
        if left == [wrong]:
            with pytest.raises(DeviceError, match=r"cpu:0 .* is refused: .*it cannot"):
                probe.approve(device)
            continue
        (said,) = probe.approve(device).repairs
        assert re.match("by another compiler, since .*: it cannot", said)
        assert device.clang is processor.clang
        assert device.properties.driver == processor.properties.driver


def test_a_pool_that_does_not_compile_is_no_device(
    processor: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: object, source: str) -> bytes:
        raise CompileError("no linker")

    monkeypatch.setattr(cpu.CpuCompiler, "library", failing)
    monkeypatch.setattr(paths, "kept", lambda name: None)
    monkeypatch.setattr(runtime, "_pool", [])
    with pytest.raises(BackendUnavailable, match=r"no clang works: .*no linker"):
        runtime.find_devices()


def test_the_end_of_a_process(processor: CpuDevice) -> None:
    """Launches that nobody waits for end before memory does."""
    script = (
        "import portmp as mp\nfrom portmp import discovery\n"
        "a = mp.ones((400, 400), 'qd', device='cpu')\n"
        "for _ in range(3): b = a @ a\nprint('end', flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_kernels_of_a_binary(processor: CpuDevice) -> None:
    """Their names alone: what they take is not told."""
    source = head("__global int *x") + "{ x[0] = 1; }\n"
    found = processor.compiler.report(processor.compile(source), "native")
    assert [(one.name, one.registers) for one in found] == [("k", None)]


def test_printing_is_in_order(capfd: pytest.CaptureFixture[str], run: Run) -> None:
    source = head("__global int *x") + '{ printf("number %d\\n", x[0]); }\n'
    run(source, np.array([7], np.int32))
    assert re.fullmatch(r"number 7\n", capfd.readouterr().out)


def test_it_is_the_default_without_a_gpu() -> None:
    """Before OpenCL's processors and the host."""
    names = [d.backend for d in sorted(discovery.listed(), key=discovery.finding._rank)]
    if "cpu" in names:
        kinds = [d.properties.kind for d in discovery.listed() if not d.by_reference]
        place = names.index("cpu")
        assert place == kinds.count("gpu") and set(names[place + 1 :]) <= {"opencl", "host"}
