"""The package: what the wheel and the sdist hold, and that the wheel works on its own."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import portmp

ROOT = Path(__file__).resolve().parents[1]
DATA = ("portmp/py.typed", "portmp/compilers/hip_prelude.h")
SCRIPT = """
import sys
import portmp
from portmp.compilers.clang import ClangCompiler
from portmp.codegen.render import template_folder
from portmp.formats import get
from portmp.formats.inputs import ordinary
from portmp.routines import compilation_units
from portmp.verify import cases

print(portmp.__file__)
print(template_folder())
for platform in ("cuda", "rocm", "opencl"):
    text = compilation_units.kernels("dd")["gemm"].render(platform).text
    assert "dd_accumulate" in text and "gemm(" in text
assert len(cases.recorded()) > 100
case = next(c for c in cases.cases("dd") if c.routine == "dot")
assert cases.digest(case.host_result()) == cases.recorded()[case.key]
assert not {"pyopencl", "cuda", "hip"} & set(sys.modules)
"""


def build(source: Path, target: Path, *options: str) -> list[Path]:
    """Build *source* with what is installed here: nothing is downloaded."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            *options,
            "--outdir",
            str(target),
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return sorted(target.iterdir())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of this tree, and the wheel that is made from the sdist."""
    sdist, wheel = sorted(
        build(ROOT, tmp_path_factory.mktemp("dist")), key=lambda path: path.suffix == ".whl"
    )
    assert sdist.name == f"portmp-{portmp.__version__}.tar.gz"
    assert wheel.name == f"portmp-{portmp.__version__}-py3-none-any.whl"
    return sdist, wheel


def names_in(wheel: Path) -> set[str]:
    """Files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def needed() -> set[str]:
    """What an installed portmp needs: modules, templates and data."""
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "portmp").rglob("*")
        if path.suffix in (".py", ".json", ".csv", ".h", ".toml", ".typed")
    }
    templates = (path.relative_to(ROOT) for path in (ROOT / "templates").rglob("*.mako"))
    return files | {f"portmp/{path.as_posix()}" for path in templates}


def test_wheel_is_complete(built: tuple[Path, Path]) -> None:
    """Modules, templates, data, the prelude and the typing marker; no tests."""
    names = names_in(built[1])
    wanted = needed()
    assert set(DATA) <= wanted
    assert len([n for n in wanted if n.endswith(".mako")]) > 5
    assert len([n for n in wanted if n.startswith("portmp/data/")]) > 2
    assert wanted - names == set()
    outside = {n.split("/")[0] for n in names} - {"portmp"}
    assert outside == {f"portmp-{portmp.__version__}.dist-info"}
    assert not [n for n in names if n.endswith(".pyc") or "__pycache__" in n]


def test_wheels_are_reproducible(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Byte for byte, with and without the detour through the sdist."""
    (wheel,) = build(ROOT, tmp_path, "--wheel")
    assert wheel.read_bytes() == built[1].read_bytes()


def test_sdist_is_complete(built: tuple[Path, Path]) -> None:
    """Source, templates, tests and documents."""
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("portmp", "templates", "tests", "docs"):
        present = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".py", ".mako", ".md", ".json", ".csv", ".h", ".toml", ".typed")
            and "generated" not in path.parts  # by ci/docs
        }
        assert present - names == set()
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_metadata(built: tuple[Path, Path]) -> None:
    """Version, requirements, licence and the command."""
    info = f"portmp-{portmp.__version__}.dist-info"
    with zipfile.ZipFile(built[1]) as archive:
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        entries = archive.read(f"{info}/entry_points.txt").decode()
    assert metadata["Version"] == portmp.__version__
    assert metadata["License-Expression"] == "MIT"
    requirements = metadata.get_all("Requires-Dist") or []
    always = {r for r in requirements if "extra ==" not in r}
    assert always == {"filelock", "mako", "msgpack", "numpy>=1.26", "pyelftools"}
    assert {"opencl", "cuda", "rocm", "test"} <= set(metadata.get_all("Provides-Extra") or [])
    assert "portmp = portmp.cli:main" in entries
    assert metadata.get_payload()


def test_installed_wheel_works(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Rendering, data and reference from the installed wheel alone, far from the source."""
    target = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--no-compile",
            "--disable-pip-version-check",
            "--target",
            str(target),
            str(built[1]),
        ],
        check=True,
        capture_output=True,
    )
    environment = {**os.environ, "PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    places = done.stdout.splitlines()
    assert places == [str(target / "portmp/__init__.py"), str(target / "portmp/templates")]
