"""Importing portmp touches no GPU package and nothing heavy."""

from __future__ import annotations

import ast
import graphlib
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from slow import mostly_slow

import portmp

PACKAGE = Path(portmp.__file__).parent
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
    """Not even NumPy comes along."""
    code = "import json, sys, portmp; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {*HEAVY, "numpy"}


LIGHT = {"portmp"}
"""What `import portmp` loads of portmp itself."""


def loaded_by(code: str) -> set[str]:
    """The modules that a process has loaded after *code*."""
    said = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def of_portmp(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "portmp"}


def test_functions_are_loaded_when_they_are_used() -> None:
    """So that the import costs little more than NumPy's; then all on arrays, and nothing else."""
    assert of_portmp(loaded_by("import portmp")) == LIGHT
    some = loaded_by("import portmp as mp\nmp.array")
    assert "portmp.arrays.array" in some
    assert not some & set(HEAVY)
    assert "portmp.arrays" not in of_portmp(loaded_by("import portmp as mp\nmp.formats.get('dd')"))


OTHER_ORDERS = "a process that imports all; other orders of the same modules"

THREADS = """
import faulthandler, importlib, random, sys, threading, traceback
import portmp as mp

faulthandler.dump_traceback_later(100, exit=True)
sys.setswitchinterval(1e-5)
names = ["array", "linalg", "sparse", "random", "poly1d", "testing", "interp", "system", "save"]
names += ["ozaki", "Kernel", "formats", "errors", "pi", "nbody"]
modules = ["linalg", "nbody", "random", "kernels", "formats", "errors"]
work = names * 2 + ["portmp." + name for name in modules * 2]
random.Random(int(sys.argv[1])).shuffle(work)
barrier, wrong = threading.Barrier(len(work)), []

def ask(name):
    barrier.wait()
    try:
        found = importlib.import_module(name) if "." in name else getattr(mp, name)
        for public in getattr(found, "__all__", []):
            getattr(found, public)
        mp.linalg.solve, mp.array, mp.random.default_rng, mp.nbody.system
    except BaseException:
        wrong.append(traceback.format_exc())

threads = [threading.Thread(target=ask, args=(name,)) for name in work]
for one in threads: one.start()
for one in threads: one.join()
assert not wrong, wrong[0]
"""


@pytest.mark.parametrize("seed", mostly_slow(range(6), (0, 1), OTHER_ORDERS))
def test_threads_meet_no_half_loaded_modules(seed: int) -> None:
    """Names and modules that many ask for at the same time, before any was loaded."""
    command = [sys.executable, "-c", THREADS, str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MODULES = """
import faulthandler, importlib, random, sys, threading, traceback

faulthandler.dump_traceback_later(100, exit=True)
sys.setswitchinterval(1e-5)
modules = sys.argv[2:]
random.Random(int(sys.argv[1])).shuffle(modules)
barrier, wrong = threading.Barrier(16), []

def load(own):
    barrier.wait()
    for name in own:
        try:
            found = importlib.import_module(name)
            for public in getattr(found, "__all__", []):
                getattr(found, public)
        except BaseException:
            wrong.append(f"{name}: {traceback.format_exc()}")

threads = [threading.Thread(target=load, args=(modules[i::16],)) for i in range(16)]
for one in threads: one.start()
for one in threads: one.join()
assert not wrong, wrong[0]
import portmp as mp
assert mp.linalg.solve(mp.array([[2.0]]), mp.array([1.0])).tolist() == [0.5]
"""


def modules() -> list[str]:
    """All modules of the package that users may import."""
    found = pkgutil.walk_packages(portmp.__path__, "portmp.")
    return ["portmp", *(one.name for one in found)]


@pytest.mark.parametrize("seed", mostly_slow(range(6), (0,), OTHER_ORDERS))
@pytest.mark.parametrize("below", ["portmp", "portmp.linalg", "portmp.networks", "portmp.arrays"])
def test_threads_may_first_import_any_module(below: str, seed: int) -> None:
    """Sixteen threads, each of which begins with other modules, by their own names."""
    own = [name for name in modules() if name == below or name.startswith(f"{below}.")]
    assert len(own) > 16
    command = [sys.executable, "-c", MODULES, str(seed), *own]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_help_loads_the_command_line_alone() -> None:
    """Benchmarks' options are made only where the words name them."""
    code = "from portmp import cli\ntry: cli.main(['--help'])\nexcept SystemExit: pass"
    assert of_portmp(loaded_by(code)) == LIGHT | {
        "portmp.cli",
        "portmp.definition",
        "portmp.distributed",
        "portmp.distributed.launched",
        "portmp.errors",
    }


def test_public_names_are_where_the_stub_says() -> None:
    """What type checkers read is what is loaded, and all that is offered."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    said: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "typing":
            assert node.module is not None
            everything = node.names[0].name == "*"
            module = importlib.import_module(node.module)
            for name in module.__all__ if everything else ():
                assert said.setdefault(name, node.module) == node.module
            for alias in () if everything else node.names:
                assert alias.asname == alias.name, "type checkers take other names for private"
                assert said.setdefault(alias.name, node.module) == node.module
    assert said == portmp._PLACES and set(portmp.__all__) == set(said)
    for name, place in said.items():
        found, module = getattr(portmp, name), importlib.import_module(place)
        assert found is getattr(module, name) is getattr(portmp, name)
    assert portmp.formats.get("dd").name == "dd"


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


def room(module: str) -> str:
    """The folder or the file directly in the package that holds a module, or the package's face."""
    return module.removeprefix("portmp").lstrip(".").partition(".")[0] or "__init__"


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports anywhere, under their full names."""
    yield from imported_by(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_by(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The same of some statements."""
    for node in nodes:
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
    assert len(found.keys() - {"__main__"}) <= 30  # which only calls the command line
    list(graphlib.TopologicalSorter(found).static_order())


def test_no_two_files_import_each_other() -> None:
    """Imports within functions count."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        own = module.removesuffix(".__init__")
        found[own] = {name for name in imported(path) if name != own}
    list(graphlib.TopologicalSorter(found).static_order())


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that importing a file runs: not those of functions, nor for type checkers."""
    for below in ast.iter_child_nodes(node):
        types = isinstance(below, ast.If) and ast.unparse(below.test) == "TYPE_CHECKING"
        if not types and not isinstance(below, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield below
            yield from at_once(below)


def test_import_locks_cannot_cross() -> None:
    """A module waits for its package and for what it imports: never in a circle.

    So no package imports a module of its own while it is imported itself.
    """
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        own = module.removesuffix(".__init__")
        needed = set(imported_by(at_once(ast.parse(path.read_text(encoding="utf-8")))))
        found[own] = (needed | {own.rpartition(".")[0]}) - {own, ""}
    list(graphlib.TopologicalSorter(found).static_order())


def test_no_name_of_a_package_is_that_of_another_thing() -> None:
    """A package has its modules as attributes, which must hide no public name."""
    for stub in PACKAGE.rglob("__init__.pyi"):
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            package = ".".join(stub.parent.relative_to(PACKAGE.parent).parts)
            if isinstance(node, ast.ImportFrom) and node.module and node.module != package:
                names = [alias.asname or alias.name for alias in node.names]
                for name in importlib.import_module(node.module).__all__ if "*" in names else names:
                    assert not list(stub.parent.glob(f"{name}.py")), f"{package}.{name}"
                    assert not (stub.parent / name / "__init__.py").is_file() or package == "portmp"


def test_every_folder_says_what_it_is_for() -> None:
    """In the first line of its __init__, as a sentence."""
    for folder in sorted({p.parent for p in PACKAGE.rglob("*.py")} - {PACKAGE}):
        line = (folder / "__init__.py").read_text(encoding="utf-8").splitlines()[0]
        assert re.fullmatch(r'"""[^"]{20,}\.?(""")?', line), (folder, line)
