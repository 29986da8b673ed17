"""What is meant by a template, or a call, that is nearly right: for messages."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from portmp.codegen.render import RenderedSource
from portmp.codegen.writer import PREFIX
from portmp.errors import ArgumentError, CompileError, RenderError, suggestion
from portmp.formats import Format

OPTIONS = ("format", "threads", "grid", "block", "checked")
"""What declares a kernel beside its template and its signature."""

_OBJECT = re.compile(
    r"<(?:built-in function|class|function|bound method) '?(?:\w+\.)*(\w+)'?[^>\n]*>"
    r"|functools\.partial\(<bound method (?:\w+\.)*\w+ [^\n]*"
)
"""How Python writes one of its functions, where the text of C was meant."""
_WORDS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "fabs": "abs"}


def refuse_unread(
    name: str, text: str, values: Mapping[str, object], extents: Iterable[Any]
) -> None:
    """ArgumentError for a value that neither has, and whose name is nearly an option's."""
    if "<%include" in text or "<%namespace" in text or "<%inherit" in text:
        return  # other files may
    codes = [one.__code__ for one in extents if hasattr(one, "__code__")]
    named = " ".join([text, *map(str, extents), *(n for one in codes for n in one.co_varnames)])
    for value in values:
        near = suggestion(value, list(OPTIONS))
        if near and not re.search(rf"\b{re.escape(value)}\b", named):
            raise ArgumentError(
                f"{name}: {value}: the template does not use it, and it is none of "
                f"{', '.join(OPTIONS)}{near}"
            )


def refuse_objects(body: RenderedSource, name: str) -> None:
    """RenderError for Python's functions in the text: names of C without their quotes."""
    for found in _OBJECT.finditer(body.text):
        origin = body.origin(body.text.count("\n", 0, found.start()) + 1)
        place = f"{origin[0]} line {origin[1]}" if origin else name
        what = found[1] or "a word"
        raise RenderError(
            f'{place}: {what} is a function of Python\'s here; text of C stands in quotes: "{what}"'
        )


def refuse_open(text: str, body: RenderedSource, name: str) -> None:
    """RenderError where ${...} took a brace of C's, since its own is missing."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", "", body.text, flags=re.DOTALL)
    if plain.count("{") <= plain.count("}"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        opened = line.rfind("${")
        if opened >= 0 and "}" not in line[opened:] and line.count("(") == line.count(")"):
            raise RenderError(f"{name} line {number}: ${{... has no brace behind it: }}")


def of_values(
    error: CompileError,
    source: RenderedSource,
    name: str,
    form: Format,
    arrays: Collection[str],
    numbers: Collection[str],
) -> CompileError:
    """A compiler's message with the word that was meant, where operators of C stand on values.

    *arrays* and *numbers*: names of parameters.
    """
    lines = [
        (origin[1], line)
        for number, line in enumerate(source.text.split("\n"), 1)
        if (origin := source.origin(number)) and origin[0] == name
    ]
    if form.words == 1:
        return error
    value = "c" * (form.components - 1) + PREFIX[form.word, form.limbs]
    named = {n for _, line in lines for n in re.findall(rf"\b{re.escape(value)}\s+(\w+)", line)}
    either = "|".join(sorted(named)) or value
    one = rf"(?:\b(?:{either})\b(?!\.)|\bmake_{value}\((?:[^()]|\([^()]*\))*\))"
    calls_of = re.compile(rf"\b(sqrt|fabs|fma|pow|exp|log|sin|cos|tan)\s*\(\s*{one}")
    sign_of = re.compile(rf"{one}\s*([-+*/])=?\s*(?:{one}|[\d.])|[\d.]\s*([-+*/])\s*{one}")
    unknown = set(re.findall(r"identifier ['\"](\w+)['\"]", str(error)))
    said = [f'{name}: {one} is read by ${{load("{one}")}}' for one in numbers if one in unknown]
    for number, line in lines:
        what = f"{name} line {number}"
        if made := re.search(rf"\b{value}\s+\w+\s*=\s*([-+]?(?:\d|\.\d)[\w.]*)\s*;", line):
            said.append(f'{what}: a value is made by ${{number("{made[1]}")}}')
        for found in sign_of.finditer(line):
            sign = found[1] or found[2]
            said.append(f'{what}: {sign} of values is a word: ${{{_WORDS[sign]}("a", "b")}}')
        for called in calls_of.findall(line):
            word = _WORDS.get(called, called)
            said.append(f'{what}: {called} of values is a word: ${{{word}("a")}}')
        for array in re.findall(r"(?<![\w.])([A-Za-z_]\w*)\s*\[", line):
            if array in arrays and not re.search(rf"\w\s+{array}\s*\[", line):
                said.append(
                    f'{what}: elements are read by ${{load("{array}", "i")}} and written by '
                    f'${{store("{array}", "i", "v")}}'
                )
    return CompileError("\n".join([*dict.fromkeys(said), str(error)])) if said else error
