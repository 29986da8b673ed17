"""Texts of two or three platforms side by side: lines that belong together in one row."""

import html
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

Row = tuple[str | None, ...]
"""A line of each text; None where a text has none."""

CONTEXT = 3
_WORD = re.compile(r"\w+|\s+|.")
_LEAST = 0.25
"""How alike two lines must be (0 to 1) to stand in one row."""
_LARGEST = 250_000
"""Pairs of lines of one changed part that are compared; larger parts are not aligned inside."""


def aligned(texts: Sequence[str]) -> list[Row]:
    """Rows of all lines of two texts or more, each aligned with the first."""
    first, *others = [text.splitlines() for text in texts]
    rows: list[list[str | None]] = [[line] for line in first]
    for other in others:
        width = len(rows[0]) if rows else 1
        merged: list[list[str | None]] = []
        for row, line in _pairs([_key(row) for row in rows], other):
            before = rows[row] if row is not None else [None] * width
            merged.append([*before, line])
        rows = merged
    return [tuple(row) for row in rows]


def _key(row: Sequence[str | None]) -> str:
    """What stands for a row: the first text's line, or another's."""
    return next((line for line in row if line is not None), "")


def _pairs(a: list[str], b: list[str]) -> Iterator[tuple[int | None, str | None]]:
    """Places in *a* with lines of *b*, all of both in their order."""
    for tag, i, i2, j, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ((i + n, b[j + n]) for n in range(i2 - i))
        elif (i2 - i) * (j2 - j) > _LARGEST:
            yield from zip_longest(range(i, i2), b[j:j2])
        else:
            yield from ((None if n is None else i + n, m) for n, m in _best(a[i:i2], b[j:j2]))


def _best(a: list[str], b: list[str]) -> Iterator[tuple[int | None, str | None]]:
    """The alignment of a changed part in which lines of one row are most alike in all."""
    words_a, words_b = [_words(line) for line in a], [_words(line) for line in b]
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            alike = _alike(words_a[i], words_b[j])
            both = best[i + 1][j + 1] + alike if alike >= _LEAST else -1.0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    i = j = 0
    while i < len(a) or j < len(b):
        alike = _alike(words_a[i], words_b[j]) if i < len(a) and j < len(b) else 0.0
        if alike >= _LEAST and best[i][j] == best[i + 1][j + 1] + alike:
            yield i, b[j]
            i, j = i + 1, j + 1
        elif j == len(b) or (i < len(a) and best[i][j] == best[i + 1][j]):
            yield i, None
            i += 1
        else:
            yield None, b[j]
            j += 1


def _words(line: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+|[^\w\s]", line))


def _alike(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(len(a | b), 1) if a or b else 1.0


def differs(row: Row) -> bool:
    """Whether the texts say different things in a row."""
    return len(set(row)) > 1


def terminal(rows: Sequence[Row], names: Sequence[str], width: int) -> Iterator[str]:
    """Columns that fit a terminal of *width* characters: what differs, and lines around it.

    Long lines go on in the next line. A row that differs has ``|`` between its columns.
    """
    each = max((width - 3 * (len(names) - 1)) // len(names), 8)
    yield " | ".join(name.ljust(each) for name in names).rstrip()
    yield "-+-".join("-" * each for _ in names)
    shown = [
        any(differs(row) for row in rows[max(n - CONTEXT, 0) : n + CONTEXT + 1])
        for n in range(len(rows))
    ]
    gap = False
    for row, show in zip(rows, shown, strict=True):
        if not show:
            gap = True
            continue
        if gap:
            yield " : ".join("...".ljust(each) for _ in names).rstrip()
            gap = False
        mark = " | " if differs(row) else "   "
        parts = [_wrapped(line or "", each) for line in row]
        for pieces in zip_longest(*parts, fillvalue=""):
            yield mark.join(piece.ljust(each) for piece in pieces).rstrip()


def _wrapped(line: str, width: int) -> list[str]:
    """A line in pieces; those after the first are as far in as its text."""
    line = line.expandtabs(4)
    start = min(len(line) - len(line.lstrip()) + 2, width // 2)
    end = _end(line, width)
    pieces, rest = [line[:end]], line[end:]
    while rest:
        end = _end(rest, width - start)
        pieces.append(" " * start + rest[:end])
        rest = rest[end:]
    return pieces


def _end(text: str, width: int) -> int:
    """Where a piece of at most *width* characters ends: behind a blank, if there is a late one,
    or else behind a bracket or a comma.
    """
    if len(text) <= width:
        return len(text)
    ends = (text.rfind(sign, width // 2, width) + 1 for sign in " (,")
    return next(filter(None, ends), width)


_STYLE = """\
body { font: 14px/1.4 sans-serif; margin: 1em; }
div { overflow-x: auto; }
table { border-collapse: collapse; table-layout: fixed; width: 100%; }
th { text-align: left; position: sticky; top: 0; background: #fff; }
td { font: 12px/1.35 monospace; white-space: pre-wrap; overflow-wrap: anywhere;
     vertical-align: top; padding: 0 1em 0 0.4em; border-left: 1px solid #ccc; tab-size: 4; }
tr.differs td { background: #f6f3e8; }
td.none { background: #eee; }
mark { background: #f3d98b; }
"""


_NARROW = 42
"""Characters of a column of the page at least: a narrow screen is moved sideways."""


def page(rows: Sequence[Row], names: Sequence[str], title: str) -> str:
    """An HTML page with all rows; words that differ from the first text's are marked."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "\n".join(_html_row(row) for row in rows)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n<div>\n"
        f'<table style="min-width: {_NARROW * len(names)}ch">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n"
        f"{body}\n</tbody>\n</table>\n</div>\n</body>\n</html>\n"
    )


def _html_row(row: Row) -> str:
    kind = ' class="differs"' if differs(row) else ""
    first = _key(row)
    return f"<tr{kind}>{''.join(_html_cell(line, first) for line in row)}</tr>"


def _html_cell(line: str | None, first: str) -> str:
    if line is None:
        return '<td class="none"></td>'
    if line == first:
        return f"<td>{html.escape(line)}</td>"
    known, own = _WORD.findall(first), _WORD.findall(line)
    pieces = []
    for tag, _, _, j, j2 in SequenceMatcher(None, known, own, autojunk=False).get_opcodes():
        text = html.escape("".join(own[j:j2]))
        pieces.append(text if tag == "equal" or not text.strip() else f"<mark>{text}</mark>")
    return f"<td>{''.join(pieces)}</td>"
