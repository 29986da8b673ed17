"""The device ``oclgrind``: mistakes in kernels are errors that name their lines."""

from __future__ import annotations

import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiers import check

import portmp as mp
from portmp import discovery
from portmp.backends import findings
from portmp.backends.oclgrind import log, runtime
from portmp.errors import BackendUnavailable, CheckError, CompileError, DeviceError, OutOfMemory

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
HEAT_ROWS, HEAT_COLUMNS = 20, 18
"""A plate of two by two blocks, none of them whole but the first."""


@pytest.fixture(scope="module")
def device() -> str:
    """The device's name, where Oclgrind is."""
    check("oclgrind")
    pytest.importorskip("pyopencl")
    return discovery.get("oclgrind").name


def replaced(name: str, old: str = "", new: str = "") -> str:
    """The text of a file of the gallery with one part replaced."""
    text = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new, 1)


def from_gallery(name: str, old: str = "", new: str = "") -> Any:
    """The same as a module."""
    module = types.ModuleType(name)
    exec(compile(replaced(name, old, new), name, "exec"), module.__dict__)
    return module


def step(module: Any, device: str) -> mp.Array:
    """A step of the heat equation."""
    u = mp.zeros((HEAT_ROWS, HEAT_COLUMNS), "ds", device)
    u[0] = 1
    found: mp.Array = module.step(rate="0.25", old=u)
    return found


def turned(module: Any, device: str) -> mp.Array:
    """A transposed matrix that is no multiple of the tile."""
    a = mp.array(np.arange(40 * 33.0).reshape(40, 33), "float64", device)
    found: mp.Array = module.transpose(a=a)
    return found


def counted(module: Any, device: str) -> mp.PlainArray:
    """How often each of 256 numbers comes, whose neighbours are often equal."""
    count = mp.plain_zeros(256, "int32", device)
    module.histogram(k=mp.plain_array(np.arange(700) // 3, "int32", device), count=count)
    return count


def pulled(module: Any, device: str) -> mp.Array:
    """Forces between atoms of more than one tile."""
    places = np.random.default_rng(1).random((70, 3)) * module.BOX
    found: mp.Array = module.forces("float64")(mp.array(places, "float64", device))
    return found


def test_gallery_is_clean(device: str) -> None:
    """The gallery's kernels: nothing to report, and the right results."""
    after = step(from_gallery("heat"), device).to_float64()
    expected = np.zeros((HEAT_ROWS, HEAT_COLUMNS))
    expected[0], expected[1, 1:-1] = 1, 0.25
    assert np.array_equal(after, expected)
    b = turned(from_gallery("transpose"), device).to_float64()
    assert np.array_equal(b, np.arange(40 * 33.0).reshape(40, 33).T)
    count = counted(from_gallery("histogram"), device).to_numpy()
    assert np.array_equal(count, np.bincount(np.arange(700) // 3, minlength=256))
    assert np.isfinite(pulled(from_gallery("lennard_jones"), device).to_float64()).all()
    systems = mp.array(np.eye(4)[None, ::-1], "dd", device), mp.array([[1, 2, 3, 4]], "dd", device)
    x = from_gallery("solver4").solve("dd")(*systems)
    assert np.array_equal(x.to_float64(), [[4, 3, 2, 1]])
    from_gallery("mandelbrot").escape("dd")("0.1", "0.2", "0.1", 20, m=3, n=9, device=device)
    from_gallery("monte_carlo").inside(points=300, seed=1, blocks=1, device=device)


def line_of(whole: str, text: str) -> int:
    """The line of a file's template that has *text*, the one of the opening quotes being 1."""
    begins = re.search(r'(mp\.Kernel\(\s*|TEMPLATE = )(?=""")', whole)
    assert begins
    start = begins.end()
    return whole[start : whole.index(text, start)].count("\n") + 1


RACE = r"(Read-write|Write-write) data race at local memory address 0x[0-9a-f]+"
MUTANTS = {
    "an operation that is not atomic": (
        "histogram",
        '${atomic("add", "held", load("k", "i"), 1)}',
        'held[${load("k", "i")}] += 1',
        counted,
        RACE,
        'held[${load("k", "i")}] += 1',
    ),
    "a tile that is read too early": (
        "lennard_jones",
        "        ${barrier()}\n        for",
        "        for",
        pulled,
        RACE,
        'tile[t][${d}] = ${load("position"',
    ),
    "a barrier removed": ("heat", "        ${barrier()}\n", "", step, RACE, "const ${value} above"),
    "a halo not read": (
        "heat",
        "if (x == 1 && column > 0)",
        "if (0)",
        step,
        r"Uninitialized value written to global memory address 0x[0-9a-f]+",
        '${store("new"',
    ),
    "an index off by one": (
        "transpose",
        'f"row + {k}", "column")',
        'f"row + {k} + 1", "column")',
        turned,
        r"Invalid read of size 8 at global memory address 0x[0-9a-f]+",
        'held[y + ${k}][x] = ${load("a"',
    ),
    "a bound off by one": (
        "transpose",
        "if (to_row + ${k} < n",
        "if (to_row + ${k} <= n",
        turned,
        r"Invalid write of size 8 at global memory address 0x[0-9a-f]+",
        '${store("b"',
    ),
    "a barrier that some reach": (
        "transpose",
        "${barrier()}",
        "if (x < 7) { ${barrier()} }",
        turned,
        r"Work-group divergence detected \(barrier\)",
        "${barrier()}",
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_reported(mutant: str, device: str) -> None:
    """With the kernel, the kind, the address, who did it, and the template's line."""
    name, old, new, run, what, place = MUTANTS[mutant]
    with pytest.raises(CheckError) as caught:
        run(from_gallery(name, old, new), device)
    text = str(caught.value)
    kernel = {step: "step", pulled: "forces"}.get(run, name)
    assert f"oclgrind finds mistakes in the kernel {kernel}_kernel" in text
    line = line_of(replaced(name, old, new), place)
    found = [t for t in text.splitlines() if re.search(what, t)]
    assert any(f"template text line {line} (" in t and "block (" in t for t in found), text


def test_the_device_goes_on_after_a_mistake(device: str) -> None:
    """A finding is told once; numbers, plain arrays and new kernels work afterwards."""
    head = "${kernel()}\n{\n    const int i = ${global_id()};\n"
    bad = mp.Kernel(head + "    k0[i + 1] = i;\n}", "bad(k: inout int32 [n])", threads=8, block=8)
    good = mp.Kernel(head + "    k0[i] = i;\n}", "good(k: inout int32 [n])", threads=8, block=8)
    k = mp.plain_zeros(8, "int32", device)
    for _ in range(2):
        with pytest.raises(CheckError, match=r"Invalid write of size 4 .*template text line 4"):
            bad(k)
        good(k)
        assert k.to_numpy().tolist() == list(range(8))
    wrong = mp.Kernel(head + "    foo(i);\n}", "wrong(k: inout int32 [n])", threads=8)
    with pytest.raises(CompileError, match="template text line 4"):
        wrong(k)


def test_routines_run_on_it(device: str) -> None:
    """The device is one like others: portmp's own kernels run, and are clean."""
    a = mp.array(np.arange(12.0).reshape(3, 4), "dd", device)
    assert np.array_equal((a @ a.T).to_float64(), (a.to_float64() @ a.to_float64().T))


def test_only_when_asked_for(device: str) -> None:
    """No list has it, and nothing is timed on it."""
    assert device not in [d.name for d in discovery.devices()]
    with pytest.raises(DeviceError, match="interpreter"):
        discovery.hardware(device)


def test_memory_has_an_end(device: str) -> None:
    """What is not given back is counted."""
    opened = discovery.get(device)
    with pytest.raises(OutOfMemory, match="is not given back"):
        opened.allocate(runtime.MEMORY)


def test_without_oclgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the command that installs it."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendUnavailable, match="apt-get install oclgrind"):
        runtime.CheckedDevice()


LOG = """
Read-write data race at local memory address 0x1000000000008
\tKernel: broken
\t
\tFirst entity:  Global(1,0,0) Local(1,0,0) Group(0,0,0)
\t  store double %conv, double addrspace(3)* %arrayidx, align 8, !dbg !23
\tAt line 5 (column 29) of input.cl:
\t  (source not available)
\t
\tSecond entity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\t  %2 = load double, double addrspace(3)* %arrayidx3, align 8, !dbg !24
\tAt line 6 (column 29) of input.cl:
\t  (source not available)
\t

Work-group divergence detected (barrier)
\tKernel:     broken
\tWork-group: (0,0,0)
\tOnly 1 out of 2 work-items executed barrier
\tAt line 12 (column 9) of input.cl:
"""


def test_logs_are_read() -> None:
    """Reports with one place and with two; causes first, the same mistake once."""
    race, divergence = log.parsed(LOG)
    assert str(race) == (
        "Read-write data race at local memory address 0x1000000000008: thread (1,0,0) of block "
        "(0,0,0) in rendered line 5 and thread (0,0,0) of block (0,0,0) in rendered line 6"
    )
    assert divergence.places == ("rendered line 12",)
    assert divergence.who == ("block (0,0,0) (only 1 out of 2 work-items executed barrier)",)
    assert findings.told([race, divergence, race]).splitlines() == [
        f"  {divergence}",
        f"  {race}; 1 more of these",
    ]
