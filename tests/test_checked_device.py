"""The device ``oclgrind``: how it runs, and what its log says. What it finds: test_mutants."""

from __future__ import annotations

import numpy as np
import pytest
from tiers import check

import portmp as mp
from portmp import discovery
from portmp.backends import findings
from portmp.backends.oclgrind import log, runtime
from portmp.errors import BackendUnavailable, CheckError, CompileError, DeviceError, OutOfMemory
from portmp.runtime.planes import allocate_numbers


@pytest.fixture(scope="module")
def device() -> str:
    """The device's name, where Oclgrind is."""
    check("oclgrind")
    pytest.importorskip("pyopencl")
    return discovery.get("oclgrind").name


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


COPIED = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n)
        ${store("y", "i", load("x", "i"))}
}
"""


@pytest.mark.parametrize(
    "part", [slice(0, 1), slice(3, 5), slice(None, None, 2), slice(1, 20), slice(7, None)]
)
def test_a_part_that_is_written_leaves_the_rest(part: slice, device: str) -> None:
    """Elements beside it are known to be set, or not to be."""
    copied = mp.Kernel(COPIED, "copied(x: in uint8 [n], y: out uint8 [n])", threads="n", block=8)
    given = np.arange(40, dtype=np.uint8)
    x = mp.plain_array(given, device=device)
    x[part] = 99
    given[part] = 99
    assert copied(x).to_numpy().tolist() == given.tolist()
    fresh = mp.PlainArray(allocate_numbers("uint8", (40,), x.planes.queue))
    fresh[3:37] = 5
    assert copied(fresh[3:37]).to_numpy().tolist() == [5] * 34
    for unset in (fresh[2:37], fresh[3:38]):
        with pytest.raises(CheckError, match="Uninitialized value written"):
            copied(unset)


def test_routines_run_on_it(device: str) -> None:
    """The device is one like others: portmp's own kernels run, and are clean."""
    a = mp.array(np.arange(12.0).reshape(3, 4), "dd", device)
    assert np.array_equal((a @ a.T).to_float64(), (a.to_float64() @ a.to_float64().T))


def test_only_when_asked_for(device: str) -> None:
    """No list has it, and nothing is timed on it."""
    assert device not in [d.name for d in discovery.listed()]
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
