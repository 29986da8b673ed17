"""Templates to source text, with the way back from a rendered line to its template line.

Mako keeps no line map. The lexer below puts a private mark before each line end of a
template's text; rendering carries the marks along, and they are read and removed
afterwards. So the map also holds through defs, loops and included files.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from portmp import paths
from portmp.errors import PortmpError, RenderError, suggestion

_MARK = re.compile("\x02([^\x03]*)\x03")
_KERNEL = re.compile(r"(?:__global__|__kernel) [^\n]*?(\w+)\($", re.MULTILINE)


@dataclass(frozen=True)
class RenderedSource:
    """Source text and, for each of its lines, (template, line) or None."""

    text: str
    line_map: tuple[tuple[str, int] | None, ...]
    kernels: tuple[str, ...] = ()

    def origin(self, line: int) -> tuple[str, int] | None:
        """The template and line that rendered *line* (counted from 1)."""
        return self.line_map[line - 1] if 0 < line <= len(self.line_map) else None


@cache
def template_folder() -> Path:
    """The folder of templates: packaged with an installed portmp, else beside it."""
    here = paths.PACKAGE
    for folder in (here / "templates", here.parent / "templates"):
        if folder.is_dir():
            return folder
    raise RenderError(f"no templates folder in {here} or beside it: reinstall portmp")


@cache
def templates_digest() -> str:
    """Which templates these are: 16 hexadecimal digits of all of them."""
    state = hashlib.sha256()
    for path in sorted(template_folder().rglob("*.mako")):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


@cache
def own_templates() -> frozenset[str]:
    """The file names of portmp's templates."""
    return frozenset(path.name for path in template_folder().rglob("*.mako"))


@cache
def _lookup() -> Any:
    """portmp's own templates."""
    return _lookup_in()


def _lookup_in(*folders: Path) -> Any:
    """Templates of *folders* and, where they have none of a name, portmp's own."""
    from mako.lookup import TemplateLookup

    places = [str(folder) for folder in (*folders, template_folder())]
    return TemplateLookup(places, lexer_cls=_marking_lexer(), strict_undefined=True)


@cache
def _marking_lexer() -> Any:
    from mako.lexer import Lexer
    from mako.parsetree import Text

    class MarkingLexer(Lexer):  # type: ignore[misc]
        """Puts ``name:line`` before every line end of plain text."""

        def append_node(self, nodecls: Any, *args: Any, **kwargs: Any) -> Any:
            if nodecls is Text and args and "\n" in args[0]:
                name = Path(self.filename).name if self.filename else "?"
                line = self.matched_lineno
                pieces = args[0].split("\n")
                marked = [
                    f"{piece}\x02{name}:{line + i}\x03" for i, piece in enumerate(pieces[:-1])
                ]
                args = ("\n".join([*marked, pieces[-1]]), *args[1:])
            return super().append_node(nodecls, *args, **kwargs)

    return MarkingLexer


def render(template: str, context: Mapping[str, Any]) -> RenderedSource:
    """Render *template* (a path below the templates folder).

    Raises RenderError with Mako's account of the failing template line.
    """
    from mako import exceptions

    try:
        text = _lookup().get_template(template).render_unicode(**context)
    except PortmpError:
        raise
    except Exception as error:
        if isinstance(error, exceptions.TopLevelLookupException):
            raise RenderError(f"no template {template!r} in {template_folder()}") from None
        trace = exceptions.text_error_template().render_unicode().strip()
        raise RenderError(f"template {template}: {error}\n{trace}") from error
    return _tidy(text)


def render_own(
    text: str, name: str, folder: Path | None, context: Mapping[str, Any]
) -> RenderedSource:
    """Render a template of the user's, called *name*; it may include others of its *folder*.

    Raises RenderError that names the template's line.
    """
    from mako.template import Template

    try:
        template = Template(
            text,
            filename=name,
            lookup=_lookup_in(*([folder] if folder else [])),  # which reads edited files again
            lexer_cls=_marking_lexer(),
            strict_undefined=True,
        )
        return _tidy(template.render_unicode(**context))
    except PortmpError as error:
        raise _placed(error, name, text) from None
    except Exception as error:  # what a template's Python raises
        raise _placed(error, name, text, context) from None


def _placed(
    error: Exception, name: str, text: str, context: Mapping[str, Any] | None = None
) -> PortmpError:
    """The error with the template and its line, and with a near word for one that is unknown.

    The template is the user's, called *name*, or one that it includes.
    """
    from mako.exceptions import CompileException, RichTraceback, SyntaxException

    message = str(error) or type(error).__name__
    unknown = re.fullmatch(r"'?(\w+)'? is not defined", message.replace("name ", ""))
    file, line = name, 0
    if isinstance(error, (CompileException, SyntaxException)):
        file, line, message = error.filename, error.lineno, message.partition(" in file ")[0]
    else:
        for _, _, _, _, place, at, _, _ in RichTraceback(error=error).records:
            file, line = (place, at) if place is not None else (file, line)
    if unknown:
        # Mako looks all names up at the start: the line is where the name first stands.
        line = _first_line(unknown[1], text if file == name else _content(file))
        near = suggestion(unknown[1], list(context or ())) if len(unknown[1]) > 2 else ""
        message = f'{unknown[1]!r} is not defined{near}; text of C stands in quotes: "{unknown[1]}"'
    kind = type(error) if isinstance(error, PortmpError) else RenderError
    return kind(f"{Path(file).name}{f' line {line}' if line else ''}: {message}")


def _first_line(word: str, text: str) -> int:
    """Where a word first stands outside of comments; 0 for nowhere."""
    for line, content in enumerate(text.split("\n"), 1):
        if not content.lstrip().startswith("##") and re.search(rf"\b{word}\b", content):
            return line
    return 0


def _content(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def opening(text: str) -> RenderedSource:
    """Text that no template has, such as a platform's prologue; or none."""
    return _tidy(text)


def joined(*parts: RenderedSource) -> RenderedSource:
    """One source text of several."""
    parts = tuple(part for part in parts if part.line_map)
    line_map: list[tuple[str, int] | None] = []
    for i, part in enumerate(parts):
        line_map += ([None] if i else []) + list(part.line_map)
    kernels = tuple(k for part in parts for k in part.kernels)
    return RenderedSource("\n".join(p.text for p in parts), tuple(line_map), kernels)


def difference(first: str, second: str, a: str, b: str) -> str:
    """What differs between two texts called *a* and *b*, as ``diff -u`` tells it."""
    from difflib import unified_diff

    lines = unified_diff(first.splitlines(), second.splitlines(), a, b, lineterm="")
    return "\n".join(lines)


def _tidy(text: str) -> RenderedSource:
    """Take the marks out, drop runs of blank lines, end with one line end."""
    lines: list[str] = []
    origins: list[tuple[str, int] | None] = []
    for raw in text.split("\n"):
        marks = _MARK.findall(raw)
        line = _MARK.sub("", raw).rstrip()
        if not line and (not lines or not lines[-1]):
            continue
        lines.append(line)
        if marks:
            name, number = marks[-1].rsplit(":", 1)
            origins.append((name, int(number)))
        else:
            origins.append(None)
    while lines and not lines[-1]:
        lines.pop()
        origins.pop()
    known: tuple[str, int] | None = None
    for i in range(len(origins) - 1, -1, -1):
        known = origins[i] = origins[i] or known
    source = "\n".join(lines) + "\n"
    kernels = _KERNEL.findall(source)
    return RenderedSource(source, tuple(origins), tuple(kernels))
