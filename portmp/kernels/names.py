"""Variables of a kernel's body, as far as their names must not be those that portmp gives.

Statements of C are read for what they declare; what else they say is not looked at.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from portmp.codegen.render import RenderedSource
from portmp.errors import RenderError

_UNSEEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | ^[ \t]*\#[^\n]*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NO_TYPES = frozenset(
    ("return", "goto", "case", "sizeof", "throw", "delete", "new", "using", "typedef")
)
_QUALIFIERS = frozenset(("const", "volatile", "restrict", "__restrict__", "__restrict"))
_ENDS = frozenset(("=", ";", ",", "[", "{", ":"))
"""What follows the first name of a declaration; without a star also a parenthesis."""


_OF_LANGUAGES = {
    "OpenCL C": "half kernel global local constant private read_only write_only read_write pipe "
    "event_t sampler_t image1d_t image2d_t image3d_t",
    "C++, the language of kernels through CUDA and HIP": "new delete class this template typename "
    "operator public protected friend virtual namespace using try catch throw and or not xor "
    "bitand bitor compl true false nullptr explicit mutable export",
}
WORDS = {
    word: f"a word of {language}"
    for language, words in _OF_LANGUAGES.items()
    for word in words.split()
}
"""What is no name on some platform: a kernel that has it would compile on others alone."""


class _Token(NamedTuple):
    text: str
    at: int

    @property
    def is_name(self) -> bool:
        return _NAME.fullmatch(self.text) is not None


def check(
    body: RenderedSource, opening: str, made: Mapping[str, Mapping[str, str]], name: str
) -> None:
    """RenderError for a variable that is called as portmp or a language calls something.

    *opening* stands before each kernel's body in braces. *made*: for each kernel of the text, what
    its names stand for. *name*: the template's.
    """
    at = 0
    parts = body.text.split(opening)
    for kernel, before, text in zip(body.kernels, parts, parts[1:], strict=False):
        at += len(before) + len(opening)
        for variable in declared(text):
            own = made[kernel].get(variable.text)
            meaning = f"the name in C of {own}" if own else WORDS.get(variable.text)
            if meaning:
                origin = body.origin(body.text.count("\n", 0, at + variable.at) + 1)
                place = f"{origin[0]} line {origin[1]}" if origin else name
                raise RenderError(
                    f"{place}: {variable.text!r} is declared, which is {meaning}: call the "
                    "variable otherwise"
                )


def declared(text: str) -> Iterator[_Token]:
    """The variables that a body in braces declares, with their places in *text*."""
    plain = _UNSEEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    tokens = [_Token(found[0], found.start()) for found in _TOKEN.finditer(plain)]
    for start in _statements(tokens):
        yield from _declarators(tokens, start)


def _statements(tokens: Sequence[_Token]) -> Iterator[int]:
    """Where statements begin, in the first braces."""
    before = closed = _Token("", 0)
    callers: list[_Token] = []  # what stands before each parenthesis that is open
    blocks: list[bool] = []  # of each brace that is open: whether it holds statements
    for index, token in enumerate(tokens):
        begins = token.text in ("else", "do") or (token.text == ";" and not callers)
        if token.text == "(":
            callers.append(before)
            begins = before.text == "for"
        elif token.text == ")" and callers:
            closed = callers.pop()
        elif token.text == "{":
            # a cast and braces are a value: there no name stands before the parenthesis
            begins = before.text in ("", ";", "}", ":", "else", "do")
            begins |= before.text == "{" and blocks[-1]
            begins |= before.text == ")" and closed.is_name and closed.text not in _NO_TYPES
            blocks.append(begins)
        elif token.text == "}" and blocks:
            begins = blocks.pop()
            if not blocks:
                return
        if begins:
            yield index + 1
        before = token


def _declarators(tokens: Sequence[_Token], start: int) -> Iterator[_Token]:
    """The names that a statement declares, if it does: types, then a name, others after commas."""
    end = start
    while end < len(tokens) and (tokens[end].is_name or tokens[end].text == "*"):
        end += 1
    words, following = tokens[start:end], tokens[end].text if end < len(tokens) else ""
    starred = any(word.text == "*" for word in words)
    if len(words) < 2 or not words[0].is_name or not words[-1].is_name:
        return
    if words[0].text in _NO_TYPES or words[-1].text in _QUALIFIERS:
        return
    if following not in _ENDS and (starred or following != "("):
        return
    yield words[-1]
    depth, first = 0, False
    for token in tokens[end:]:
        if depth == 0 and token.text in (";", ")"):
            return
        depth += (token.text in "([{") - (token.text in ")]}")
        if first and token.is_name and token.text not in _QUALIFIERS:
            yield token
            first = False
        else:
            first = depth == 0 and (first or token.text == ",")
