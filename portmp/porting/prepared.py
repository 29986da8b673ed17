"""Sources as the grammar can read them: what the preprocessor would take away, blanked.

Programs hide words of declarations in macros (``#define HD __host__ __device__``), whole kernels
too. The grammar knows no macros, and some words of CUDA only where people rarely write them. Here
such words become spaces, so that every byte and every line stays where it is; what they said is
kept beside the text.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from portmp.porting.tables import named

Node = Any
Walk = Callable[[Node], Iterator[Node]]

CODED = ("utf-8", "surrogateescape")
"""How texts are coded: bytes that are no UTF-8 are kept."""

_SPACES = frozenset(("__global__", "__device__", "__host__", "__constant__", "__shared__"))
_DECLARING = named("declaring")
"""Words before a name that change no type."""

_BEFORE_PARENTHESES = named("hidden_with_parentheses")
_ALONE = named("hidden")
_NONE: frozenset[str] = frozenset()
_TOKEN = re.compile(rb'[A-Za-z_]\w*|"(?:[^"\\]|\\.)*"|\.\.\.|[^\s\\]')
_CLOSING = {b"(": b")", b"[": b"]", b"{": b"}"}


@dataclass(frozen=True)
class Hidden:
    """A text that is blanked: where it begins, and which words of memory spaces it stands for."""

    start: int
    text: str
    qualifiers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Macro:
    """A macro of words that declare, and perhaps the name declared: ``#define KERNEL(f) ... f``.

    ``qualifiers``: words of memory spaces in it; ``kept``: the parameter that stands for the name;
    ``rest``: whether the other parameters are those of the function; ``has_body``: a function with
    its body; ``whole``: declarations of other kinds, whose uses at file scope end in no semicolon.
    """

    qualifiers: frozenset[str]
    has_parameters: bool = False
    kept: int | None = None
    rest: bool = False
    is_void: bool = False
    has_body: bool = False
    whole: bool = False


def macros(root: Node, walk: Walk, known: Mapping[str, Macro]) -> dict[str, Macro]:
    """Macros that are defined in a tree and hide declarations; *known*: those of other files."""
    defined: dict[str, list[tuple[list[str] | None, bytes]]] = {}
    for node in walk(root):
        if node.type in ("preproc_def", "preproc_function_def"):
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            parameters = node.child_by_field_name("parameters")
            names = [c.text.decode() for c in parameters.children] if parameters else None
            names = [n for n in names if n not in "(,)"] if names is not None else None
            body = re.sub(rb"//.*|/\*.*?\*/", b" ", value.text) if value is not None else b""
            defined.setdefault(name.text.decode(*CODED), []).append((names, body))
    found = dict(known)
    while True:
        more = dict(found)
        for name, texts in defined.items():
            each = [_macro(names, body, found) for names, body in texts]
            whole = [macro for macro in each if macro is not None]
            if len(whole) == len(each):
                more[name] = max(whole, key=lambda macro: len(macro.qualifiers))
        if more == found:
            return found
        found = more


def _macro(names: list[str] | None, body: bytes, known: Mapping[str, Macro]) -> Macro | None:
    """What a macro hides; None where it is one of another kind."""
    tokens = [token.decode(*CODED) for token in _TOKEN.findall(body)]
    if not tokens:
        return Macro(_NONE, names is not None, whole=names is not None)
    at, words = _declaring(tokens, known)
    rest = tokens[at:]
    if rest[:1] == ["void"]:  # words such as __launch_bounds__(256) may stand behind it too
        behind, more = _declaring(rest[1:], known)
        rest, words = ["void", *rest[1 + behind :]], words | more
    if "{" in rest and words & {"__global__", "__device__"}:
        return Macro(words, names is not None, has_body=True)
    if tokens[-1] in (";", "}") and tokens.count("{") == tokens.count("}"):
        return Macro(_NONE, names is not None, whole=True)
    if at == 0:
        return None
    if not rest:
        return Macro(words, names is not None)
    if rest == ["void"] and names is None:
        return Macro(words, is_void=True)
    void, names = rest[0] == "void", names or []
    if names and rest[-4:] == [names[0], "(", "__VA_ARGS__", ")"] and len(rest) <= 6:
        return Macro(words, True, kept=0, rest=True, is_void=void)
    if rest[-1] in names and all(re.fullmatch(r"[A-Za-z_]\w*|\*", token) for token in rest):
        return Macro(words, True, kept=names.index(rest[-1]), is_void=void)
    return None


def _declaring(tokens: list[str], known: Mapping[str, Macro]) -> tuple[int, frozenset[str]]:
    """How many words at the start declare, what stands in parentheses after them included."""
    qualifiers: set[str] = set()
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token in _DECLARING:
            qualifiers |= {token} & _SPACES
        elif token in known and _of_words_alone(known[token]):
            qualifiers |= known[token].qualifiers
        elif token == "template" and tokens[i + 1 : i + 2] == ["<"]:
            i = _after(tokens, i + 1, {"<": 1, ">": -1}) - 1
        elif not (token == '"C"' and i and tokens[i - 1] == "extern"):
            break
        i += 1
        if i < len(tokens) and tokens[i] == "(":
            i = _after(tokens, i, {"(": 1, ")": -1})
    return i, frozenset(qualifiers)


def _of_words_alone(macro: Macro) -> bool:
    return macro.kept is None and not macro.has_body and not macro.whole


def _after(tokens: list[str], i: int, signs: dict[str, int]) -> int:
    """Where the brackets end that begin at a place."""
    depth = 0
    for end, token in enumerate(tokens[i:], i + 1):
        depth += signs.get(token, 0)
        if depth == 0:
            return end
    return len(tokens)


def text(
    content: bytes, parsed: Callable[[bytes], Node], walk: Walk, known: Mapping[str, Macro]
) -> tuple[bytes, tuple[Hidden, ...]]:
    """The text that is parsed, as long as *content*, and what is blanked in it.

    Where a macro's use could not be parsed, neither could definitions beside it: so the tree of
    what is left is looked at again.
    """
    changed = bytearray(_ASKED.sub(lambda found: _filled(found[0], b"1"), content))
    for found in _LAUNCH.finditer(content):
        changed[slice(*found.span())] = found[0].translate(bytes.maketrans(b"{}", b"()"))
    hidden: list[Hidden] = []
    for _ in range(_PASSES):
        root = parsed(bytes(changed))
        known = macros(root, walk, known)
        edits = list(_edits(bytes(changed), root, walk, known))
        for start, end, instead, words in edits:
            changed[start:end] = _filled(bytes(changed[start:end]), instead)
            if words is not None:
                hidden.append(_hidden(content, start, end, words))
        if not edits or not root.has_error:
            break
    for start, end in _other_branches(bytes(changed)):
        hidden.append(_hidden(content, start, end))
        changed[start:end] = _filled(bytes(changed[start:end]))
    return bytes(changed), tuple(sorted(hidden, key=lambda one: one.start))


_PASSES = 3
_LAUNCH = re.compile(rb"<\s*<\s*<[^;<>]*\{[^;<>]*>\s*>\s*>")
_ASKED = re.compile(rb"\b__has_include\s*\([^()\n]*\)")


def _filled(old: bytes, instead: bytes = b"") -> bytes:
    """Spaces in the place of a text, with its lines; *instead* at its start where it has room."""
    blank = re.sub(rb"[^\r\n]", b" ", old)
    fits = len(instead) <= len(blank) and not re.search(rb"[\r\n]", blank[: len(instead)])
    return instead + blank[len(instead) :] if fits else blank


Edit = tuple[int, int, bytes, frozenset[str] | None]
"""From where to where, what instead, and words of memory spaces; None where nothing is hidden."""


def _hidden(content: bytes, start: int, end: int, words: frozenset[str] = frozenset()) -> Hidden:
    return Hidden(start, content[start:end].decode(*CODED), words)


def _edits(content: bytes, root: Node, walk: Walk, of: Mapping[str, Macro]) -> Iterator[Edit]:
    end = 0
    for node in walk(root):
        if node.start_byte < end:
            continue
        if node.type == "preproc_call" and _alone(content, node.start_byte):
            yield node.start_byte, node.end_byte, b"", _NONE
        elif node.type in ("preproc_def", "preproc_function_def"):
            name = node.child_by_field_name("name").text.decode(*CODED)
            if name in of and of[name].has_body:
                yield from _opened(node)
                end = node.end_byte
        elif node.child_count == 0 and re.fullmatch(rb"[A-Za-z_]\w*", node.text):
            if node.parent is not None and node.parent.type.startswith("preproc_"):
                continue
            for edit in _uses(content, node, of):
                yield edit
                end = max(end, edit[1])


def _alone(content: bytes, start: int) -> bool:
    """Whether a directive stands between the head of a loop and its body."""
    return content[max(0, start - 400) : start].rstrip()[-1:] == b")"


def _uses(content: bytes, node: Node, of: Mapping[str, Macro]) -> Iterator[Edit]:
    """What is blanked of a word, and of what stands in parentheses after it."""
    start, end, name = node.start_byte, node.end_byte, node.text.decode()
    if name in _ALONE:
        yield start, end, b"", _NONE
    elif name in _BEFORE_PARENTHESES:
        end = _end(content, end)
        yield start, end, b"", _NONE
    elif name in ("__device__", "__host__"):
        if re.search(rb"\](\s*__(device|host)__)*\s*$", content[max(0, start - 60) : start]):
            yield start, end, b"", frozenset((name,))
    elif name in of and of[name].whole and _in_braces(node):
        yield from _statement(content, node)
    elif name in of and not (
        of[name].whole and re.search(rb"[\w*&>] *$", content[max(0, start - 80) : start])
    ):
        yield from _macro_used(content, start, end, of[name])
    elif words := _guessed(content, start, end, name):
        yield start, end, b"", words


_GUESSED = re.compile(r"([A-Z0-9]+_)*(HOST_)?(DEVICE|GLOBAL)(_(FORCE)?INLINE)?")


def _guessed(content: bytes, start: int, end: int, name: str) -> frozenset[str]:
    """What a word is by its name, where its definition was not read: CUTLASS_HOST_DEVICE.

    Only where a declaration begins and goes on after it, so that no constant is taken for one.
    """
    found = _GUESSED.fullmatch(name)
    begins = re.search(
        rb"([;{}>:/)\"]|\b(static|inline))\s*$|^\s*$", content[max(0, start - 40) : start]
    )
    if not found or not begins or not re.match(rb"\s+[A-Za-z_]", content[end : end + 40]):
        return _NONE
    word = {"DEVICE": "__device__", "GLOBAL": "__global__"}[found[3]]
    return frozenset((word, "__host__") if found[2] else (word,))


def _statement(content: bytes, node: Node) -> Iterator[Edit]:
    """A macro of statements, used without a semicolon: its arguments stay, as a statement."""
    last = _end(content, node.end_byte)
    before = _NO_CODE.sub(b"", content[max(0, node.start_byte - 400) : node.start_byte])
    after = _NO_CODE.sub(b"", content[last : last + 400])
    if before.rstrip()[-1:] not in (b";", b"{", b"}", b")", b":"):
        return
    if last == node.end_byte:
        if re.match(rb"\s*\n\s*[^;,).?:=+*/<>|&-]", after):
            yield node.start_byte, last, b";", _NONE
    elif re.match(rb"\s*[;,).?:=+*/<>|&-]", after) is None:
        opened = content.index(b"(", node.end_byte)
        yield node.start_byte, opened + 1, b"", _NONE
        yield last - 1, last, b";", None


def _in_braces(node: Node) -> bool:
    """Whether a word stands in a function's body, where a macro's use is a call as others."""
    while (node := node.parent) is not None:
        if node.type in ("compound_statement", "field_declaration_list", "initializer_list"):
            return True
    return False


def _macro_used(content: bytes, start: int, end: int, macro: Macro) -> Iterator[Edit]:
    void = b"void" if macro.is_void else b""
    if not macro.has_parameters:
        yield start, end, void, macro.qualifiers
        return
    given = _parentheses(content, end)
    if not given or (macro.kept is not None and macro.kept >= len(given)):
        return
    if macro.kept is None or macro.has_body:
        end = _end(content, end)
        yield start, end, b"", macro.qualifiers
        return
    first, last = given[macro.kept]
    yield start, first, void and b"void ", macro.qualifiers
    if macro.rest and len(given) > 1:
        yield last, last + 1, b"(", None  # the comma after the name
    elif not macro.rest:
        yield last, given[-1][1] + 1, b"", _NONE


def _end(content: bytes, start: int) -> int:
    """Where the parentheses after a place end; the place itself where there are none."""
    given = _parentheses(content, start)
    return given[-1][1] + 1 if given else start


def _parentheses(content: bytes, start: int) -> list[tuple[int, int]]:
    """Where the arguments in the parentheses after a place begin and end; nothing without any."""
    opened = re.compile(rb"\s*\(").match(content, start)
    if opened is None:
        return []
    found: list[tuple[int, int]] = []
    stack, begin = [b")"], opened.end()
    for token in _TOKEN.finditer(content, begin, min(len(content), begin + _LONGEST)):
        sign = token[0]
        if sign in _CLOSING:
            stack.append(_CLOSING[sign])
        elif sign == stack[-1]:
            stack.pop()
            if not stack:
                return [*found, (begin, token.start())]
        elif sign == b"," and len(stack) == 1:
            found.append((begin, token.start()))
            begin = token.end()
    return []


_LONGEST = 20000
"""Bytes that the arguments of a macro have at most."""


def _opened(node: Node) -> Iterator[Edit]:
    """A macro whose body is a function: its first words and the ends of its lines are blanked."""
    start, value = node.start_byte, node.child_by_field_name("value")
    yield start, value.start_byte, b"", _NONE
    for found in re.finditer(rb"\\(?=\r?\n)|[ \t]*##[ \t]*", value.text):
        first, last = (value.start_byte + place for place in found.span())
        yield first, last, b"_" * (last - first) if b"#" in found[0] else b"", None


_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[^\n]*$", re.MULTILINE)


def _other_branches(content: bytes) -> Iterator[tuple[int, int]]:
    """What is left out where branches of the preprocessor open braces, or stand in parentheses:
    all but the first.
    """
    left: list[list[tuple[int, int]]] = []
    inside = _in_parentheses(content)
    for found in _DIRECTIVE.finditer(content):
        if found[1].startswith(b"if"):
            left.append([found.span()])
        elif left:
            left[-1].append(found.span())
        if found[1] == b"endif" and left:
            group = left.pop()
            parts = [content[a[1] : b[0]] for a, b in pairwise(group)]
            unlike = len(parts) > 1 and not all(map(_balanced, parts))
            heads = len(parts) > 1 and re.match(rb"\s*\{", content[group[-1][1] :]) is not None
            heads = heads and _NO_CODE.sub(b"", parts[0]).rstrip()[-1:] == b")"
            if unlike or heads or group[0][0] in inside:
                yield group[0]
                yield group[1][0], group[-1][1]


def _in_parentheses(content: bytes) -> frozenset[int]:
    """Directives that stand between parentheses, as in a list of parameters: where they begin."""
    found, depth = set(), 0
    for token in _PLACES.finditer(content):
        sign = token[0]
        if sign in b"{}":
            depth = 0
        elif sign in b"()":
            depth = max(0, depth + (1 if sign == b"(" else -1))
        elif depth and sign.lstrip().startswith(b"#"):
            found.add(token.start())
    return frozenset(found)


def _balanced(part: bytes) -> bool:
    plain = _NO_CODE.sub(b"", part)
    return plain.count(b"{") == plain.count(b"}")


_NO_CODE = re.compile(rb"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)


_PLACES = re.compile(
    rb"^[ \t]*\#(?:[^\n]*\\\r?\n)*[^\n]*$|[(){}]|" + _NO_CODE.pattern, re.DOTALL | re.MULTILINE
)
"""Directives, comments, texts and brackets."""


def qualifiers(hidden: Sequence[Hidden], first: int, last: int) -> frozenset[str]:
    """Words of memory spaces that are blanked between two places; *hidden* is in order."""
    start, end = (bisect_left(hidden, at, key=lambda one: one.start) for at in (first, last))
    return _NONE.union(*(one.qualifiers for one in hidden[start:end]))
