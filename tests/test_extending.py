"""docs/extending.md by its own words: each recipe carried out on a copy of the sources.

The document's code is written and inserted where it says, and nothing else is changed; then the new
format, storage format, routine and vendor give the host reference's bits.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from portmp.backends.base import Device

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "extending.md"
STEP = re.compile(
    r"^(?:New file `(?P<new>[^`]+)`|In `(?P<file>[^`]+)`, "
    r"(?:(?P<how>after|as an entry of) `(?P<anchor>[^`]+)`|at the end)):\n\n"
    r"```\w+\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def sections() -> dict[str, str]:
    """The document's recipes by their headings."""
    parts = re.split(r"^## (A [a-z ]+)\n", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def inserted(text: str, anchor: str, code: str, entry: bool) -> str:
    """*text* with *code* behind the only line that has *anchor*; as an entry, with its comma."""
    lines = text.splitlines(keepends=True)
    (at,) = (i for i, line in enumerate(lines) if anchor in line)
    lines.insert(at + 1, code.rstrip() + ",\n" if entry else code)
    return "".join(lines)


def carry_out(recipe: str, tree: Path) -> int:
    """Do what a recipe says, on the sources in *tree*; returns the number of steps."""
    steps = list(STEP.finditer(sections()[recipe]))
    for step in steps:
        path = tree / (step["new"] or step["file"])
        if step["new"]:
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(step["code"], encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        if step["anchor"]:
            text = inserted(text, step["anchor"], step["code"], step["how"] == "as an entry of")
        else:
            text += "\n\n" + step["code"]
        path.write_text(text, encoding="utf-8")
    return len(steps)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources."""
    for folder in ("portmp", "templates"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc"))
    return tmp_path


def run(tree: Path, script: str) -> list[str]:
    """The lines that a script prints with the sources in *tree*."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


COMPARED = """
import sys
from pathlib import Path
import portmp
from portmp import discovery
from portmp.verify import cases

def compare(form, device, routines):
    device = discovery.get(device)
    chosen = [c for c in cases.cases(form) if c.routine in routines]
    assert {c.routine for c in chosen} == set(routines), {c.routine for c in chosen}
    for case in chosen:
        found, wanted = cases.device_result(case, device), case.host_result()
        assert cases.digest(found) == cases.digest(wanted), case.key
    print(form, len(chosen))

assert Path(portmp.__file__).parents[1] == Path.cwd()
"""


def test_a_format(tree: Path, device: Device) -> None:
    assert carry_out("A format", tree) == 1
    script = f"compare('ds_jmp', {device.name!r}, ['add', 'mul', 'axpy', 'dot', 'gemm', 'solve'])"
    (line,) = run(tree, COMPARED + script)
    assert int(line.split()[1]) > 30


def test_a_storage_format(tree: Path, device: Device) -> None:
    """Every number survives; products, sums and conversions have the reference's bits."""
    assert carry_out("A storage format", tree) == 2
    script = f"""
import numpy as np, portmp as mp
every = np.arange(256, dtype=np.uint8)
numbers = mp.from_parts([every], "float8_e5m2", device={device.name!r})
wide = (every.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
assert np.array_equal(numbers.astype("float32").to_limbs()[0], wide, equal_nan=True)
finite = np.isfinite(wide)
again = mp.array(wide[finite], "float8_e5m2", device={device.name!r})
assert np.array_equal(again.to_parts()[0], every[finite])
for form in ("float8_e5m2", "float8_e5m2_rz"):
    compare(form, {device.name!r}, ["mul", "axpy", "gemm", "astype"])
"""
    assert len(run(tree, COMPARED + script)) == 2


def test_a_routine(tree: Path, device: Device) -> None:
    """On devices and on the host; the command line knows it."""
    assert carry_out("A routine", tree) == 9
    script = f"""
import portmp as mp
for form in ("float32", "ts", "dd", "d+s"):
    compare(form, {device.name!r}, ["horner"])
    compare(form, "host", ["horner"])
c, x = mp.array([1, 2, 3], "dd"), mp.array(["0.5", 2], "dd")
print(mp.horner(c, x).to_float64().tolist())
from portmp.cli import main
sys.argv = ["portmp", "render", "horner", "--platform", "rocm"]
main()
"""
    lines = run(tree, COMPARED + script)
    assert lines[8] == "[2.75, 17.0]"
    assert any("__global__" in line and "horner(" in line for line in lines)


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_a_vendor(tree: Path) -> None:
    """The probe passes, routines of all kinds have the reference's bits, its texts are shown."""
    assert carry_out("A vendor", tree) == 5
    script = """
assert "hostc:0" in {d.name for d in portmp.devices()}
for form in ("ts", "dd"):
    compare(form, "hostc", ["mul", "div", "dot", "gemv", "gemm", "reduce_sum", "solve", "nbody"])
compare("float16", "hostc", ["mul", "dot", "gemm"])
from portmp.cli import main
sys.argv = ["portmp", "render", "gemm", "--platform", "hostc"]
main()
sys.argv = ["portmp", "compile", "gemm", "--platform", "hostc"]
sys.exit(main())
"""
    lines = run(tree, COMPARED + script)
    assert any("group_id[0]" in line for line in lines)


def test_every_recipe_is_carried_out() -> None:
    names = {name.removeprefix("A ").replace(" ", "_") for name in sections()}
    assert names == {
        name.removeprefix("test_a_") for name in globals() if name.startswith("test_a_")
    }
