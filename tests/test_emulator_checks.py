"""The interpreter's checks: what is a mistake in block memory and at barriers, and what is not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tiers import INTERPRETED, check, interpreted

import portmp as mp
from portmp.compilers import amd_code, select
from portmp.emulator import lines, listing, marks
from portmp.errors import CheckError
from portmp.runtime.planes import allocate_numbers

THREADS = 64
"""A wave on gfx90a, two on gfx1100."""


def run(device: str, body: str, memory: str = "int32", **more: Any) -> np.ndarray[Any, Any]:
    """What threads t leave in the array k: the block has ``held``, two numbers a thread."""
    text = (
        "${kernel()}\n{\n"
        f'    ${{shared({memory}, "held", {2 * THREADS})}}\n'
        "    const int t = ${linear_id()};\n"
        f"    {body}\n}}"
    )
    options = {"grid": 1, "block": THREADS} | more
    kernel = mp.Kernel(text, "k(k: inout int32 [n])", **options)
    k = mp.plain_full(256, 0, "int32", interpreted(device).name)
    kernel(k)
    return k.to_numpy()


def found(device: str, body: str, *args: Any, **more: Any) -> list[str]:
    """What is told of such a kernel, a line each."""
    with pytest.raises(CheckError) as error:
        run(device, body, *args, **more)
    head, *told = str(error.value).splitlines()
    assert head.startswith(f"{device} finds mistakes in the kernel k_kernel, launched with grid=")
    return told


on_both = pytest.mark.parametrize("device", INTERPRETED)

REVERSED = "held[t] = t; {} k0[t] = held[{} - t];"


@on_both
@pytest.mark.parametrize("within", ["wave", "block"])
def test_races_need_a_barrier(device: str, within: str) -> None:
    """Also of lanes of one wave, which run in step: whose numbers are read is 63 - t, or 15 - t."""
    last = THREADS - 1 if within == "block" else 15
    guard = "" if within == "block" else "if (t < 16) "
    racing = f"held[t] = t; {guard}k0[t] = held[{last} - t];"
    told = found(device, racing)[0]  # a wave that reads before another one writes is told as well
    who = r"thread \(\d+,0,0\) of block \(0,0,0\) in template text line 5 \(`.*`\)"
    what = r"  Read-write data race at local memory address 0x[0-9a-f]+ \(held\[\d+\]\)"
    assert re.fullmatch(rf"{what}: {who} and {who}(; \d+ more of these)?", told)
    k = run(device, racing.replace("; ", "; ${barrier()} ", 1))
    assert k[: last + 1].tolist() == list(range(last, -1, -1))


@on_both
def test_barriers_of_warps(device: str) -> None:
    """They order what their own 32 threads do, and no others'."""
    body = "held[t] = t; ${barrier('warp')} k0[t] = held[%s];"
    assert run(device, body % "t ^ 31")[:33].tolist() == [*range(31, -1, -1), 63]
    wave = 64 if "gfx9" in device else 32
    if wave == 32:
        assert "Read-write data race" in found(device, body % "t ^ 32")[0]


@on_both
def test_a_barrier_of_a_warp_that_some_reach(device: str) -> None:
    """All threads of a warp, or none."""
    run(device, "if (t < 32) { ${barrier('warp')} } k0[t] = t;")
    (told,) = found(device, "if (t < 35) { ${barrier('warp')} } k0[t] = t;")
    assert re.match(r"  Warp divergence detected .*: thread \(32,0,0\) of .* line 5", told)


@on_both
def test_shuffles_order_nothing(device: str) -> None:
    """A word of another lane is no barrier for memory."""
    body = 'held[t] = t; const int x = ${shuffle("t", 0, int32)}; k0[t] = held[t ^ 1] + x;'
    assert "Read-write data race" in found(device, body)[0]


@on_both
def test_one_place_written_by_many(device: str) -> None:
    """The same number as well; and once more after a barrier by one thread alone."""
    (told,) = found(device, "held[0] = (int)n; ${barrier()} k0[t] = held[0];")
    assert "Write-write data race at local memory address 0x0: " in told
    k = run(device, "if (t == 5) held[0] = (int)n; ${barrier()} k0[t] = held[0];")
    assert k[:THREADS].tolist() == [256] * THREADS


@on_both
def test_writing_after_others_have_read(device: str) -> None:
    """By a thread that read it too, of the first, the last or another wave."""
    start = "if (t == 0) held[0] = (int)n; ${barrier()} k0[t] = held[0];"
    for thread in (0, 31, 40, THREADS - 1):
        (told,) = found(device, f"{start} if (t == {thread}) held[0] = 8;")
        assert "Read-write data race at local memory address 0x0: " in told, thread
        run(device, f"{start} ${{barrier()}} if (t == {thread}) held[0] = 8;")


@on_both
def test_atomics(device: str) -> None:
    """Fine among themselves; not beside plain accesses of other threads."""
    start = "if (t == 0) held[0] = 0; ${barrier()} ${atomic('add', 'held', 0, 1)};"
    k = run(device, f"{start} ${{barrier()}} k0[t] = held[0];")
    assert k[:THREADS].tolist() == [THREADS] * THREADS
    for more in ("k0[t] = held[0];", "if (t == 3) held[0] = 1;"):
        told = found(device, f"{start} {more}")
        assert any("data race at local memory address 0x0 (held[0]): " in one for one in told), more
    told = found(device, "k0[t] = held[t / 8]; ${atomic('add', 'held', 't / 8', 1)};")
    assert any("data race" in one for one in told)
    (told,) = found(device, "${atomic('add', 'held', 't', 1)};")
    assert "Uninitialized value read from local memory" in told


@on_both
def test_bytes_are_apart(device: str) -> None:
    """Neighbours of a word belong to different threads; a byte that nobody wrote is told."""
    wave = "held[t] = t; ${barrier()} k0[t] = held[%s];"
    assert run(device, wave % "63 - t", "uint8")[:2].tolist() == [63, 62]
    (told,) = found(device, wave % "t == 9 ? 77 : t", "uint8")
    assert (
        "Uninitialized value read from local memory address 0x4d (held[77]): thread (9,0,0)" in told
    )
    (told,) = found(device, "held[t / 2] = t; ${barrier()} k0[t] = held[t / 2];", "uint8")
    assert "Write-write data race" in told


@on_both
def test_words_that_lie_across_others(device: str) -> None:
    """Hardware takes them at any address, and compilers make them of bytes: checked by bytes."""
    word = "*(int *)(held + 4 * {} + 1)"
    body = f"if (t < 16) {word.format('t')} = t; {{}} if (t < 16) k0[t] = {{}};"
    other = word.format("(t ^ 1)")
    k = run(device, body.format("${barrier()}", other), "uint8")
    assert k[:16].tolist() == [t ^ 1 for t in range(16)]
    for read in (other, "held[4 * t + 5]"):
        told, *_ = found(device, body.format("", read), "uint8")
        assert "Read-write data race at local memory address 0x" in told
    (told,) = found(device, body.format("${barrier()}", "held[t]"), "uint8")
    assert (
        "Uninitialized value read from local memory address 0x0 (held[0]): thread (0,0,0)" in told
    )


@on_both
def test_words_whose_bytes_are_used_later(device: str) -> None:
    """What is known of a word is then known of each of its bytes."""
    body = "if (t < 16) ((int *)held)[t] = t; {} k0[t] = held[63 - t];"
    k = run(device, body.format("${barrier()}"), "uint8")
    assert k[:8].tolist() == [0, 0, 0, 15, 0, 0, 0, 14]
    assert any("Read-write data race" in told for told in found(device, body.format(""), "uint8"))


@on_both
def test_block_memory_begins_unwritten_in_each_block(device: str) -> None:
    """Though the interpreter uses the same memory for blocks that come later."""
    body = "if (${block_id()} != 40) held[t] = t; if (t == 0) k0[${block_id()}] = held[0];"
    (told,) = found(device, body, grid=50)
    who = "thread (0,0,0) of block (40,0,0)"
    assert f"Uninitialized value read from local memory address 0x0 (held[0]): {who}" in told
    assert "more of these" not in told


@on_both
def test_memory_that_was_never_written(device: str) -> None:
    """Of arrays that a call makes; what a kernel or the host has written is fine."""
    name = interpreted(device).name
    text = "${kernel()}\n{\n    const int t = ${thread_id()};\n    k0[t] = x0[t] + 1;\n}"
    kernel = mp.Kernel(text, "k(x: out int8 [64], k: out int32 [64])", grid=1, block=64)
    with pytest.raises(CheckError, match=r"Uninitialized value read from global memory .* line 4 "):
        kernel(device=name)
    x = mp.plain_full(64, 3, "int8", name)
    _, k = kernel(x=x)
    assert k.to_numpy().tolist() == [4] * 64
    half = mp.Kernel(
        text.replace("k0[t] =", "if (t & 1) x0[t] ="), "k(x: inout int8 [64])", grid=1, block=64
    )
    half(x=x)
    assert x.to_numpy().tolist() == [3, 4] * 32


@on_both
def test_bytes_of_arrays_are_known_one_by_one(device: str) -> None:
    """By words across others, by copies and from the host: what is beside them stays unwritten."""
    opened: Any = interpreted(device)
    text = "${kernel()}\n{\n    const int t = ${thread_id()};\n    %s\n}"
    copied = mp.Kernel(
        text % "if (t < n) ${store('y', 't', load('x', 't'))}",
        "k(x: in uint8 [n], y: out uint8 [n])",
        grid=1,
        block=64,
    )

    def fresh() -> mp.PlainArray:
        return mp.PlainArray(allocate_numbers("uint8", (40,), opened.queue))

    across = "if (t < 8) *(int *)(x0 + 4 * t + 3) = 0x01010101;"
    crossed = mp.Kernel(text % across, "k(x: inout uint8 [n])", grid=1, block=64)
    x, y, host = fresh(), fresh(), fresh()
    crossed(x)
    planes: Any = x.planes, y.planes
    first, second = (one.buffers[0].pointer for one in planes)
    opened.hip.machine.memory.copy(second + 1, first + 1, 37)
    host[3:35] = 1
    for array in (x, y, host):
        assert copied(array[3:35]).to_numpy().tolist() == [1] * 32
        for part in (array[2:35], array[3:36]):
            with pytest.raises(CheckError, match="Uninitialized value read from global memory"):
                copied(part)


@on_both
def test_an_index_beyond_an_array_is_no_race(device: str) -> None:
    """It lands in the next array: who runs out of which one is told, and what lies there."""
    arrays = '${shared(int32, "a", 64)} ${shared(int32, "b", 64)}\n'
    filled = f"{arrays}a[t] = t;\nb[t] = 2;\n"
    ends = "${barrier()} k0[t] = a[t / 2 + 18] + b[t];"
    both = f"{arrays}b[t] = 2;\na[t + 8] = t;\n{ends}"  # compilers make one store of them
    (told,) = found(device, both)
    assert "(b[0]): outside of a, or a race: the compiler made one access of two: " in told
    (told,) = found(device, f"{arrays}b[t] = 2;\nif (t > 9)\na[t + 8] = t;\n{ends}")
    assert re.match(
        r"  Invalid write of size 4 at local memory address 0x\w+ \(b\[[0-7]\]\): outside of a: "
        r"thread \(\d+,0,0\) of block \(0,0,0\) in template text line 8 \(`a\[t \+ 8\] = t;`\)",
        told,
    )
    apart = f"{arrays}a[t] = t;\n${{barrier()}} b[t] = a[t + 9];\n${{barrier()}} k0[t] = b[63 - t];"
    (told, *_) = found(device, apart)
    assert "Invalid read of size 4 at local memory" in told and "outside of a: " in told
    aliased = f"{arrays}b[t] = 2;\nint *p = a;\nif (t > 9)\np[t + 8] = t;\n"
    told, *others = found(device, f"{aliased}{ends}")
    assert "data race" in told and not any("outside of" in one for one in others)
    within = f"{filled}${{barrier()}} k0[t] = a[63 - t] + b[63 - t];"
    assert run(device, within)[:2].tolist() == [65, 64]


@on_both
def test_addresses_of_arrays_are_named(device: str) -> None:
    """By the kernel's parameter: how far from its end, or which of its bytes."""
    for index, where in (
        ("256 + t", "0 bytes behind the end of k0"),
        ("-5 - t", "bytes before k0"),
    ):
        (told,) = found(device, f"if (t < 1) k0[{index}] = t;")
        assert f"{where}, which has 1024)" in told
    text = "${kernel()}\n{\n    if (${thread_id()} == 0) k0[0] = x0[3] + 1;\n}"
    kernel = mp.Kernel(text, "k(x: out int8 [64], k: out int32 [64])", grid=1, block=64)
    with pytest.raises(CheckError, match=r"Uninitialized value .* \(byte 3 of x0\): thread"):
        kernel(device=interpreted(device).name)


BARRIERS = {
    "some threads of a wave": ("if (t < 7) { ${barrier()} }", "7 out of 128"),
    "a wave": ("if (t < 64) { ${barrier()} }", "64 out of 128"),
    "those that go on": ("if (t == 99) return; ${barrier()}", "127 out of 128"),
}


@on_both
@pytest.mark.parametrize("how", BARRIERS)
def test_barriers_that_some_reach(how: str, device: str) -> None:
    """With how many do."""
    body, count = BARRIERS[how]
    told = found(device, f"{body} k0[t] = t;", block=128)
    words = f"Work-group divergence detected (barrier): block (0,0,0) (only {count} work-items "
    assert words in told[0] and "in template text line 5 (" in told[0]


@on_both
def test_different_barriers(device: str) -> None:
    """Half of the block at one, half at another: both are named."""
    body = (
        "if (t < 64) {\nheld[t] = t;\n${barrier()} k0[t] = held[63 - t];\n"
        "} else {\n${barrier()} k0[t] = 2;\n}"
    )
    (told, *_) = found(device, body, block=128)
    assert "divergence" in told and "line 7 (" in told and "line 9 (" in told, told


@on_both
def test_a_block_of_one_wave(device: str) -> None:
    """Its barriers are no instructions, and are checked all the same."""
    (told, *_) = found(device, "if (t < 7) { ${barrier()} } k0[t] = t;", block=32)
    assert "(only 7 out of 32 work-items executed barrier) in template text line 5 (" in told


@on_both
def test_lanes_that_are_absent(device: str) -> None:
    """A shuffle in a branch reads a thread that is not in it."""
    (told,) = found(device, 'if (t != 9) k0[t] = ${shuffle("t", 9, int32)};')
    assert re.match(r"  Shuffle from thread \(9,0,0\), which does not take part: thread \(", told)
    assert "called in template text line 5 (" in told and told.lstrip().count(".mako line") == 1


@on_both
def test_functions_of_portmp_name_the_template(device: str) -> None:
    """An access in a function of a word: its line, and where the template calls it."""
    body = "${atomic('min', 'held', 't + 65', 1.0)};"
    told = found(device, body, "real")[0]
    assert re.search(
        r"in (atomics\.mako line \d+ \(`.*`\), called in )?template text line 5 \(", told
    )


@on_both
def test_stores_of_two_branches(device: str) -> None:
    """Compilers make them one, of no line: the one before is named, and none of the barrier's."""
    loop = (
        "    for (int h = 0; h < 2; ++h) {\n"
        "        const int i = ${thread_id()} + h * ${block_size()};\n"
        "        if (${global_id(1)} < rows) %s\n%s    }\n"
    )
    filled = loop % (
        'held[i] = ${load("x", global_id(1), "i")};',
        "        else held[i] = ${number(0)};\n",
    )
    stored = loop % ('${store("x", global_id(1), "i", "held[i]")}', "")
    start = '${kernel()}\n{\n    ${shared(value, "held", 64)}\n'
    text = f"{start}{filled}    ${{barrier()}}\n{stored}}}"
    options: dict[str, Any] = {"threads": (32, "rows"), "block": (32, 4), "format": "dd"}
    kernel = mp.Kernel(text, "k(x: inout [rows, 64])", **options)
    with pytest.raises(CheckError) as error:
        kernel(mp.zeros((6, 64), "dd", interpreted(device)))
    races = [told for told in str(error.value).splitlines() if "Write-write" in told]
    assert len(races) == 2
    for told in races:  # at 0 and at 512
        assert set(re.findall(r"template text line (\d+)", told)) <= {"6", "7"}


@on_both
def test_a_mistake_changes_nothing_later(device: str) -> None:
    """The device goes on, and knows nothing of earlier launches."""
    bad, good = "held[t / 2] = t; k0[t] = held[t ^ 1];", "held[t] = t; k0[t] = held[t];"
    for _ in range(2):
        assert found(device, bad)
        assert run(device, good)[:THREADS].tolist() == list(range(THREADS))


# --- what code is compiled with ------------------------------------------------------------


@pytest.mark.parametrize(("arch", "tier"), [("gfx90a", "hiprtc"), ("gfx1100", "clang")])
def test_lines_change_no_instruction(arch: str, tier: str) -> None:
    """The machine code with a table of lines is that without."""
    check(tier)
    text = mp.Kernel(
        '${kernel()}\n{\n    ${shared(value, "held", 256)}\n    const int t = ${thread_id()};\n'
        '    held[t] = ${load("x", "t")};\n    ${barrier()}\n'
        '    ${store("x", "t", div("held[255 - t]", "held[t]"))}\n}',
        "k(x: inout [n])",
        grid=1,
    ).render("rocm")
    plain = select.amd(arch).compile(text, arch)
    lined = select.amd(arch, *lines.OPTIONS).compile(marks.marked(text, 64), arch)
    code = []
    for binary in (plain, lined):
        found = [one for _, one in listing.instructions(amd_code.unbundle(binary))]
        code.append([(one.address - found[0].address, one.text) for one in found])
    assert len(code[0]) > 100 and code[0] == code[1]


def test_marks_stand_where_barriers_leave_nothing() -> None:
    """In blocks of one wave, and where a warp meets; lines keep their numbers."""
    start = "void __launch_bounds__({}) k()"
    large, small = start.format(256), start.format(64)
    for text, lanes, wanted in (
        (f"{large} __syncthreads();", 64, False),
        (f"{small} __syncthreads();", 32, False),
        (f"{small} __syncthreads();", 64, True),
        (small, 64, False),
        (f"{large} __builtin_amdgcn_wave_barrier();", 32, True),
    ):
        made = marks.marked(text, lanes)
        assert f'#line 1 "{lines.NAME}"\n{text}\nextern "C" __device__ ' in made
        assert ("s_sleep" in made) == wanted
