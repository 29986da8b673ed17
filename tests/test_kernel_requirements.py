"""What kernels assert, and names that calls keep for themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError, CheckError, LaunchError, RenderError
from portmp.kernels.signature import KEYWORDS

TEMPLATE = """
${kernel()}
{
    const ${index} i = ${global_id(0)}, j = ${global_id(1)};
    if (i < n && j < m) {
        if (k > 0)
            ${require("i + j != k", "the sum is k")}
        else
            ${require('k > -7 && k != -9')}
        ${store("y", "j", "i", "(int)(i + j)")}
    }
}
"""


def sums(*, checked: bool = True) -> mp.Kernel:
    """y[j][i] = i + j, where it is not k."""
    takes = "sums(k: int64, y: out int32 [m, n])"
    return mp.Kernel(TEMPLATE, takes, threads=("n", "m"), block=(8, 4, 2), checked=checked)


def test_what_a_kernel_requires(device: Device) -> None:
    """What holds is not noticed; of what does not, the first thread is told, and the line."""
    kernel = sums()
    found = kernel(k=99, m=10, n=20, device=device)
    wanted = np.add.outer(np.arange(10), np.arange(20))
    assert found.to_numpy().tolist() == wanted.tolist()
    # i + j = 12 first holds in block (1,0,0), at i = 9 + 3 and, earlier in the block, j = 0
    with pytest.raises(CheckError) as caught:
        kernel(k=12, m=10, n=20, device=device)
    assert str(caught.value) == (
        "sums: template text line 7: require(i + j != k) does not hold in thread (4,0,0) of block "
        "(1,0,0): the sum is k"
    )
    # blocks are counted before threads: i + j = 4 holds in block (0,0,0), threads (4,0) to (1,3)
    with pytest.raises(CheckError, match=r"line 7: .* in thread \(4,0,0\) of block \(0,0,0\)"):
        kernel(k=4, m=10, n=20, device=device)
    # threads of the second layer do what those of the first do, and come later
    with pytest.raises(CheckError, match=r"line 9: .* in thread \(0,0,0\) of block \(0,0,0\)$"):
        kernel(k=-9, m=10, n=20, device=device)
    assert kernel(k=99, m=2, n=2, device=device).to_numpy().tolist() == [[0, 1], [1, 2]]


def test_several_do_not_hold(device: Device) -> None:
    """Each has a line, also where one statement of the template is written several times."""
    kernel = mp.Kernel(
        """
        ${kernel()}
        {
        % for k in range(4):
            ${require(f"x0[{k}] < {k}")}
        % endfor
            ${require("n == 4", "four are needed")}
        }
        """,
        "small(x: in int32 [n])",
        grid=3,
        block=64,
        checked=True,
    )
    with pytest.raises(CheckError) as caught:
        kernel(mp.plain_array([0, 0, 5, 0], "int32", device))
    first, second = str(caught.value).split("\n")
    assert "line 5: require(x0[0] < 0) does not hold in thread (0,0,0)" in first
    assert "line 5: require(x0[2] < 2)" in second


def test_unchecked_kernels_assert_nothing(device: Device) -> None:
    """No parameter, no text, no waiting; programs in one file are of such kernels."""
    kernel = sums(checked=False)
    assert "failed_" not in kernel.render("opencl")
    assert kernel(k=12, m=10, n=20, device=device).shape == (10, 20)


def test_checked_kernels_are_not_tuned_recorded_or_written(device: Device, tmp_path: Path) -> None:
    """What measures or repeats them would measure or leave out the waiting."""
    kernel = sums()
    with pytest.raises(ArgumentError, match="sums: tune: declare the kernel without checked"):
        kernel.tune({"block": [64]}, k=1, m=2, n=3, device=device)
    with pytest.raises(ArgumentError, match="standalone: declare the kernel without checked"):
        kernel.standalone("opencl", tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(LaunchError, match="capture one without it"), mp.capture():
        kernel(k=99, m=2, n=3, device=device)


def test_modules_are_checked() -> None:
    """All kernels of a module, or none; other texts are refused."""
    module = mp.Module(TEMPLATE, checked=True)
    takes = "sums(k: int64, y: out int32 [m, n])"
    with pytest.raises(ArgumentError, match="sums: checked: is the module's to say"):
        mp.Kernel(module, takes, threads="n", checked=True)
    assert "failed_[1]" in module.kernel(takes, threads="n").render("rocm")
    for text in ('${require("a\\nb")}', "${require(5)}", '${require("a", 5)}'):
        with pytest.raises(RenderError, match="a text of one line is needed"):
            mp.Kernel("${kernel()}\n{\n" + text + "\n}\n", takes, threads="n").render("cuda")


@pytest.mark.parametrize("name", KEYWORDS)
def test_names_of_keywords(name: str) -> None:
    """A parameter or a size that a call could not be given by name."""
    for takes in (f"k({name}: int32, x: in [n])", f"k(x: in [{name}])"):
        with pytest.raises(ArgumentError, match=f"k: '{name}' is a keyword of calls"):
            mp.Kernel("${kernel()}\n{\n}\n", takes, threads=1)
