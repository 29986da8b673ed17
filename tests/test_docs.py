"""The documents say what the code does: examples run, names exist, links and numbers are right."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from portmp import definition, formats, networks
from portmp.codegen import platform

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCUMENTS = [
    *(README, ROOT / "CHANGELOG.md", ROOT / "bench" / "README.md"),
    *sorted((ROOT / "docs").glob("*.md")),
]
FOLDERS = ("ci", "docs", "portmp", "templates", "tests")


def text_of(name: str) -> str:
    """A document's text."""
    return (ROOT / name).read_text(encoding="utf-8")


def rows(name: str, columns: int) -> list[list[str]]:
    """The rows of all tables with so many columns."""
    found = []
    for line in text_of(name).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns:
            found.append(cells)
    return found


def commands() -> list[str]:
    """Subcommands that the documents name."""
    found: set[str] = set()
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"`portmp ([a-z]+)\b", text))
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
            found |= set(re.findall(r"^portmp ([a-z]+)\b", block, re.MULTILINE))
    return sorted(found)


def anchors(path: Path) -> set[str]:
    """Anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_first_example_of_the_readme() -> None:
    block = re.search(r"```python\n(.*?)```", text_of("README.md"), re.DOTALL)
    assert block
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block[1], "README.md", "exec"), {})
    promised = re.findall(r"^print\(.*?\)\s+# (.*?)(?: on every device)?$", block[1], re.MULTILINE)
    assert promised
    assert printed.getvalue().splitlines() == promised


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_resolve(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target
    # Files that the reader is told to write.
    new = set(re.findall(r"^New file `([^`]+)`", text, re.MULTILINE))
    for name in re.findall(r"`([\w./]+)`", text):
        if name.split("/")[0] in FOLDERS and "/" in name and name not in new:
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_machine_is_named(path: Path) -> None:
    assert not re.search(r"/(home|root|work|tmp)/", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", commands())
def test_commands_exist(command: str) -> None:
    script = f"import sys; sys.argv = ['portmp', {command!r}, '--help']\n"
    script += "from portmp.cli import main; sys.exit(main())"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout.lower()


def test_environment_variables_are_read() -> None:
    files = [*(ROOT / "portmp").rglob("*.py"), *(ROOT / "tests").glob("*.py")]
    files += [p for folder in ("ci", ".ci") for p in (ROOT / folder).glob("*") if p.is_file()]
    code = "".join(p.read_text(encoding="utf-8") for p in files if p.name != Path(__file__).name)
    pages = text_of("docs/command_line.md") + text_of("docs/testing.md")
    named = set(re.findall(r"\b(?:PORTMP|OCL)_[A-Z_]+\b", pages))
    assert named
    assert not {name for name in named if not re.search(rf"\b{name}\b", code)}
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(PORTMP_[A-Z_]+)", code))
    assert read <= named


def test_extras_exist() -> None:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    named = [re.findall(r"\"\.\[([\w,]+)\]", text_of(f)) for f in ("README.md", "docs/install.md")]
    assert all(named)
    extras = {name for groups in named for group in groups for name in group.split(",")}
    extras |= {cells[0].strip("`") for cells in rows("docs/install.md", 2)[2:]}
    assert {"intel", "plot"} < extras <= set(project["optional-dependencies"])
    assert project["requires-python"] == ">=3.11"


def test_table_of_formats() -> None:
    table = {cells[0].strip("`"): cells for cells in rows("docs/precision.md", 6)}
    assert set(formats.STANDARD) <= set(table)
    for name in formats.STANDARD:
        form = formats.get(name)
        _, also, planes, bits, digits, _ = table[name]
        assert (int(bits), int(digits)) == (form.bits, form.digits)
        assert re.findall(r"`([^`]+)`", also) == list(form.aliases)
        kinds = list(dict.fromkeys(form.planes))
        count = f"{form.limbs} " if len(kinds) == 1 else ""
        assert planes == count + ", ".join(kinds)
    papers = set(formats.NAMES) - set(formats.STANDARD)
    assert all(f"`{name}`" in text_of("docs/precision.md") for name in papers)


def test_digits_of_formats() -> None:
    """A format has one number of digits, wherever it is told: the registry's."""
    costs = {cells[0].strip("`"): cells[1] for cells in rows("docs/precision.md", 9)[2:]}
    listed = {
        name: re.findall(rf"`{name}` (\d+)[,.]", text_of("README.md"))
        for name in ("ds", "float64", "ts", "qs", "dd", "td", "qd")
    }
    for name, found in listed.items():
        digits = str(formats.get(name).digits)
        assert (costs[name], found) == (digits, [digits])
    fewest, most = (str(formats.get(name).digits) for name in ("ds", "qd"))
    for page in ("README.md", "docs/index.md"):
        assert re.search(rf"with {fewest} to {most} decimal digits", text_of(page))


def test_numbers_of_the_definition() -> None:
    text = text_of("docs/bits.md")
    assert f"version is {definition.VERSION}" in text
    assert f"slabs of {definition.SLAB}" in text
    assert f"every {definition.PERIOD}nd step" in text
    assert f"lane i mod {definition.LANES} of chunk i div {definition.CHUNK}" in text
    assert f"after every {definition.FAST_PERIOD}th" in text


def test_bounds_and_instructions() -> None:
    table = [cells for cells in rows("docs/bits.md", 4) if cells[1].strip("`") in networks.NETWORKS]
    named = {cells[1].strip("`") for cells in table}
    for form in map(formats.get, formats.STANDARD):
        used = {net.name for a in form.accumulators.values() for net in a.networks.values()}
        used = {n for n in {*used, *form.networks.values()} if not n.startswith("keep")}
        assert used <= named
    for _, name, bound, count in table:
        net = networks.get(name.strip("`"))
        assert bound.replace("\\|", "|") == net.bound
        assert int(count) == sum(net.cost.values())


def test_dialects() -> None:
    table = {cells[0]: cells[1:] for cells in rows("docs/porting.md", 4)}
    for entry, row in (
        ("barrier", "barrier"),
        ("device_barrier", "barrier for data in device memory"),
        ("index", "64-bit integer"),
        ("int8", "8-bit signed integer"),
        ("function", "device function"),
    ):
        cells = [cell.strip("`").replace("\\|", "|") for cell in table[row]]
        cells[1] = cells[0] if cells[1] == "same" else cells[1]
        assert cells == [getattr(platform.get(p), entry) for p in ("cuda", "rocm", "opencl")]
    for word in ("float32", "float64"):
        cells = [cell.strip("`") for cell in table[f"fma, {word}"]]
        made = [platform.get(p).fma[word].format("a", "b", "c") for p in ("cuda", "rocm", "opencl")]
        assert cells == made


def test_modules_import_downwards() -> None:
    layers = [
        re.findall(r"`(\w+)/?`", cells[0])
        for cells in rows("docs/architecture.md", 2)
        if cells[0].startswith("`")
    ]
    rank = {module: -i for i, layer in enumerate(layers) for module in layer}
    present = {p.stem for p in (ROOT / "portmp").glob("*.py")} - {"__init__", "__main__", "cli"}
    present |= {p.parent.name for p in (ROOT / "portmp").glob("*/__init__.py")} - {"cli", "data"}
    assert present <= set(rank)
    for file in (ROOT / "portmp").rglob("*.py"):
        module = file.relative_to(ROOT / "portmp").parts[0].removesuffix(".py")
        if module not in rank:
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module == "portmp":
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("portmp."):
                names = [str(node.module).split(".")[1]]
            else:
                continue
            for name in names:
                assert rank.get(name, -99) <= rank[module], f"{module} imports {name}"
