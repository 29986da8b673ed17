"""Importing portmp touches no GPU package and nothing heavy."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import portmp

HEAVY = (
    "pyopencl",
    "cuda",
    "hip",
    "mako",
    "matplotlib",
    "mpmath",
    "gmpy2",
    "elftools",
    "msgpack",
    "importlib.metadata",
    "concurrent.futures",
    "multiprocessing",
    "portmp.kernels",
    "portmp.linalg",
    "portmp.nbody",
    "portmp.networks.functions.gamma",
    "portmp.routines.ozaki.choose",
)


def test_import_is_light() -> None:
    """Only NumPy comes along."""
    code = "import json, sys, portmp; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "numpy" in loaded
    assert not loaded & set(HEAVY)


def test_naming_a_format_needs_no_device() -> None:
    """Formats, networks and rendering work without any GPU package."""
    code = (
        "import json, sys\n"
        "from portmp.codegen import kernel_spec\n"
        "from portmp.routines import compilation_units\n"
        "text = kernel_spec.rendered(compilation_units.kernels('dd').values(), 'cuda').text\n"
        "print(json.dumps([len(text), sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size, loaded = json.loads(done.stdout)
    assert size > 10000
    assert not set(loaded) & {"pyopencl", "cuda", "hip"}


PACKAGE = Path(portmp.__file__).parent


def room(module: str) -> str:
    """The folder or the file directly in the package that holds a module, or the package's face."""
    return module.removeprefix("portmp").lstrip(".").partition(".")[0] or "__init__"


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports anywhere, under their full names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "portmp")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "portmp":
            assert node.module is not None
            for alias in node.names:
                below = PACKAGE.parent / f"{node.module}.{alias.name}".replace(".", "/")
                known = below.is_dir() or below.with_suffix(".py").is_file()
                yield f"{node.module}.{alias.name}" if known else node.module


def arrows() -> dict[str, set[str]]:
    """Which rooms each room imports."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        own = room(module)
        found.setdefault(own, set()).update(
            room(name) for name in imported(path) if room(name) != own
        )
    return found


def test_no_two_rooms_import_each_other() -> None:
    """Also in a roundabout way: rooms can be ordered so that imports run downwards."""
    found = arrows()
    assert len(found) <= 28
    list(graphlib.TopologicalSorter(found).static_order())


def test_no_two_files_import_each_other() -> None:
    """Imports within functions count."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        own = module.removesuffix(".__init__")
        found[own] = {name for name in imported(path) if name != own}
    list(graphlib.TopologicalSorter(found).static_order())


def test_every_folder_says_what_it_is_for() -> None:
    """In the first line of its __init__, as a sentence."""
    for folder in sorted({p.parent for p in PACKAGE.rglob("*.py")} - {PACKAGE}):
        line = (folder / "__init__.py").read_text(encoding="utf-8").splitlines()[0]
        assert re.fullmatch(r'"""[^"]{20,}\.?(""")?', line), (folder, line)
