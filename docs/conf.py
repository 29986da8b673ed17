"""How Sphinx builds the documentation: ``ci/docs`` calls it.

Each build writes the reference anew, into ``generated``: functions and classes from docstrings,
commands from their ``--help``.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx

import portmp
from portmp import cli
from portmp.definition import __version__

project = "portmp"
copyright = "the authors of portmp, MIT licence"  # Sphinx's name for it
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["gallery", "pictures"]
html_theme = "furo"
html_extra_path = ["measured.html"]
html_title = f"portmp {version}"
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing"]  # of files beside docs/; tests/test_docs.py checks links
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

FOLDER = Path(__file__).resolve().parent / "generated"


def commands() -> str:
    """The page of commands."""
    os.environ["COLUMNS"] = "100"
    whole = cli.command_line()
    parts = ["# Commands", f"```text\n{whole.format_help()}```"]
    for name, parser in below(whole).items():
        parts += [f"## portmp {name}", f"```text\n{parser.format_help()}```"]
        for inner, its in below(parser).items():
            parts += [f"### portmp {name} {inner}", f"```text\n{its.format_help()}```"]
    return "\n\n".join(parts) + "\n"


def below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of a command's own commands, by name."""
    found = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return next((dict(action.choices) for action in found), {})


def reference() -> dict[str, str]:
    """Pages of what ``portmp`` has: a page for each module that defines some of it."""
    groups: dict[str, list[str]] = {}
    modules: list[str] = []
    for name in portmp.__all__:
        found = getattr(portmp, name)
        if inspect.ismodule(found):
            modules.append(name)
        elif callable(found):
            groups.setdefault(found.__module__, []).append(f"portmp.{name}")
    pages = {}
    for module, names in groups.items():
        if module != "portmp.errors":
            room, _, own = module.removeprefix("portmp.").rpartition(".")
            pages[f"{room}-{own}" if own in pages else own] = page(
                importlib.import_module(module), names
            )
    for name in modules:
        found = getattr(portmp, name)
        pages[name] = page(found, [f"portmp.{name}.{one}" for one in public(found)])
    return pages


def public(module: ModuleType) -> list[str]:
    """The functions and classes that a module offers."""
    own = [n for n, o in vars(module).items() if getattr(o, "__module__", "") == module.__name__]
    return [
        name
        for name in getattr(module, "__all__", own)
        if not name.startswith("_") and callable(getattr(module, name))
    ]


def page(module: ModuleType, names: list[str]) -> str:
    """What a module's docstring and those of its functions and classes say."""
    about = (module.__doc__ or "").strip().partition("\n\n")
    title = about[0].replace("\n", " ").rstrip(".")
    lines = [f"# {title}", "", "```{eval-rst}", plain(about[2]), ""]
    for name in names:
        is_class = inspect.isclass(resolved(name))
        lines += [f".. auto{'class' if is_class else 'function'}:: {name}"]
        lines += ["   :members:", "   :inherited-members: Exception, tuple"] if is_class else []
        lines.append("")
    return "\n".join([*lines, "```", ""])


def resolved(name: str) -> object:
    """What a dotted name below portmp means."""
    found: object = portmp
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def plain(text: str) -> str:
    """A line of a docstring: bars are absolute values, not marks of reStructuredText."""
    parts = re.split(r"(``.*?``)", text)
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def written(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Change a docstring's lines before Sphinx reads them."""
    lines[:] = map(plain, lines)


PORTING = "\n```{toctree}\n:hidden:\n:glob:\n\nporting/index\nporting/*\n```\n"
"""The pages of the porting reference, below their one entry of the side bar."""


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Change a page's text before Sphinx reads it: what a reader of the file need not see."""
    if name == "porting":
        source[0] += PORTING


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", written)


FOLDER.mkdir(exist_ok=True)
for old in FOLDER.glob("*.md"):
    old.unlink()
pages = {f"api-{name}": text for name, text in reference().items()}
for name, text in (pages | {"commands": commands()}).items():
    (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
contents = "\n".join(pages)
(FOLDER / "api.md").write_text(
    f"# Functions and classes\n\n```{{toctree}}\n{contents}\n```\n", encoding="utf-8"
)
