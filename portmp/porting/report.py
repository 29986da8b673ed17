"""What stands in CUDA sources: constructs with entries, and traps; for people and as JSON."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from portmp.porting import entries, names, prepared
from portmp.porting.entries import Entry
from portmp.porting.hipify import Hip
from portmp.porting.prepared import CODED
from portmp.porting.sources import Source, line_of, of_type, text_of, walk
from portmp.porting.tables import named
from portmp.porting.traps import arithmetic, host, kernels, lacking, language, opencl, warps
from portmp.porting.traps.base import CERTAINTIES, EFFECTS, HIP, OPENCL, POSSIBLE, Facts, Trap
from portmp.porting.words import INCLUDE, Word

FINDERS = (
    *(*warps.TRAPS, *kernels.TRAPS, *lacking.TRAPS, *opencl.TRAPS),
    *(*arithmetic.TRAPS, *host.TRAPS, *language.TRAPS),
)

_OF_CUDA = re.compile(
    r"(__\w+|(make_)?cu[A-Z]\w*|(make_)?cuda\w+|CU\w*_\w+|cu(blas|fft|rand|sparse|solver|dnn)\w*|nvrtc\w+"
    r"|(make_)?(u?(char|short|int|long|longlong)|float|double)[1-4])$"
)
_UNSAID = frozenset(("const", "constexpr", "auto", "double", "__restrict__"))
"""Words that are everywhere and that no porter has to look at."""
_NAMESPACES = frozenset(("cooperative_groups", "nvcuda", "cub", "thrust"))
_PLACED = frozenset(("<<<",))


@dataclass(frozen=True)
class Construct:
    """A construct with the lines on which it stands, and what it becomes.

    ``entries``: those about it; ``hip`` and ``opencl``: what it is there.
    """

    name: str
    lines: tuple[int, ...]
    hip: str
    opencl: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What a file holds; *sketch*: of what OpenCL C has not, by tables."""

    file: str
    constructs: tuple[Construct, ...]
    traps: tuple[Trap, ...]
    sketch: tuple[Trap, ...] = ()
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


@cache
def by_construct() -> dict[str, tuple[Entry, ...]]:
    """Entries about each construct."""
    found: dict[str, list[Entry]] = {}
    for entry in entries.every():
        for name in entry.constructs:
            found.setdefault("<<<" if name == "<<<>>>" else name, []).append(entry)
    return {name: tuple(some) for name, some in found.items()}


def after(report: Report, text: Hip) -> Report:
    """A report with the traps marked that the HIP text of its source has right."""
    traps = (replace(trap, cured=text.cures(trap)) for trap in report.traps)
    return replace(report, traps=tuple(traps))


def of(source: Source) -> Report:
    """The report of a source, beside the files that are read with it."""
    facts = Facts(source)
    traps = {
        _where_compiled(facts, trap): None
        for find in (*FINDERS, _in_strings)
        for trap in find(facts)
        if not any(first < trap.line < last for first, last in facts.dead)
    }
    order = sorted(traps, key=lambda t: (t.line, CERTAINTIES.index(t.certainty), t.entry))
    constructs, remarks = tuple(_constructs(facts)), tuple(_remarks(facts))
    if not constructs:
        remarks += ("nothing of CUDA was found in it",)
    told = {(t.line, t.entry) for t in order if t.platform == OPENCL}
    found = {t: None for t in opencl.sketch(facts) if (t.line, t.entry) not in told}
    sketch = tuple(sorted(found, key=lambda trap: trap.line))
    return Report(source.name, constructs, tuple(order), sketch, remarks)


def _in_strings(facts: Facts) -> Iterator[Trap]:
    """Traps of kernels that stand in strings, for a compiler at run time."""
    for node in of_type(facts.source.nodes, "string_literal", "raw_string_literal", _STRINGS):
        whole = text_of(node)
        if "__global__" not in whole or (node.parent and node.parent.type == _STRINGS):
            continue
        inside = "".join(
            raw or _LETTERS.sub(_letter, plain) for _, raw, plain in _TEXTS.findall(whole)
        )
        for trap in of(Source(facts.source.name, inside.encode(*CODED))).traps:
            if trap.platform == HIP:
                line = line_of(node) + min(trap.line - 1, whole.count("\n"))
                words = f"{trap.words}; in a string, which portmp port --hip leaves as it is"
                yield replace(trap, line=line, words=words, kept=True)


_STRINGS = "concatenated_string"
_TEXTS = re.compile(r'R"(?P<end>\w*)\((.*?)\)(?P=end)"|"((?:\\.|[^"\\])*)"', re.DOTALL)
_LETTERS = re.compile(r"\\(\n|.)", re.DOTALL)


def _letter(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "\n": ""}.get(found[1], found[1])


def _where_compiled(facts: Facts, trap: Trap) -> Trap:
    """A trap; possible alone where a branch of the preprocessor keeps it from AMD's compilers."""
    branch = next((name for first, last, name in facts.left_out if first < trap.line < last), "")
    if trap.platform != HIP or trap.effect != "compile" or not branch:
        return trap
    words = f"{trap.words}; left out where {branch} is not defined"
    return replace(trap, certainty=POSSIBLE, words=words)


def _constructs(facts: Facts) -> Iterator[Construct]:
    lines: dict[str, list[int]] = {}
    for word in facts.words:
        if _counts(facts, word):
            lines.setdefault(word.text, []).append(word.line)
    for found, line in _structures(facts):
        lines.setdefault(found, []).append(line)
    for name, where in sorted(lines.items(), key=lambda item: (item[1][0], item[0])):
        about = by_construct().get(name, ())
        other = names.header(name) or names.hip_name(name)
        if not about and not other:
            continue
        says = first(about)
        yield Construct(
            "<<<>>>" if name == "<<<" else name,
            tuple(sorted(set(where))),
            f"`{other}`" if other else says.hip if says else "the same",
            says.opencl if says else "none of that name",
            tuple(entry.name for entry in about),
        )


def first(about: Sequence[Entry]) -> Entry | None:
    """The entry that says what a construct becomes: one of names before one of a trap."""
    plain = [e for e in about if e.name in _OF_NAMES]
    return next(iter(plain or about), None)


_OF_NAMES = named("entries_of_names")


def _counts(facts: Facts, word: Word) -> bool:
    """Whether a word is a construct where it stands, and not a name of the program's own."""
    name = word.text
    if name in _UNSAID or facts.owns(word):
        return False
    if word.kind == INCLUDE:
        return name in by_construct() or bool(names.header(name))
    if name not in by_construct() and not names.hip_name(name):
        return False
    if word.kind == "field_identifier":
        return name in _MEMBERS or (
            name in _OF_GROUPS and "cooperative_groups" in facts.source.text
        )
    if word.node is not None and word.node.parent.type == "gnu_asm_qualifier":
        return False
    if _OF_CUDA.match(name) or name in _PLACED or name in _NAMESPACES:
        return True
    if facts.source.content[: word.start].endswith(b"cub::"):
        return True
    variable = any(word.text in inside.types for inside in facts.around(word.start))
    return facts.on_device(word.start) and not variable


_MEMBERS = host.MEMBERS | named("members")


_OF_GROUPS = named("members_of_groups")


def _structures(facts: Facts) -> Iterator[tuple[str, int]]:
    """Constructs that no single word shows."""
    for node in facts.source.nodes:
        if node.type == "declaration":
            text = text_of(node)
            if re.match(r"extern\s+__shared__", text):
                yield "extern __shared__", line_of(node)
            elif re.match(r"extern\s+__device__", text):
                yield "extern __device__", line_of(node)
        elif node.type == "preproc_call" and re.match(r"#\s*pragma\s+unroll", text_of(node)):
            yield "#pragma unroll", line_of(node)
        elif node.type == "string_content" and text_of(node) in by_construct():
            yield text_of(node), line_of(node)
    for one in facts.source.hidden:
        if re.match(r"#\s*pragma\s+unroll", one.text):
            yield "#pragma unroll", facts.source.content.count(b"\n", 0, one.start) + 1


def _remarks(facts: Facts) -> Iterator[str]:
    own = {
        w.text
        for w in facts.words
        if w.kind == INCLUDE
        and re.search(r"\.(cuh|cu)$", w.text)
        and not w.text.startswith(("cub/", "thrust/"))
    }
    if missing := sorted(name for name in own if facts.source.of_group(name) is None):
        yield f"includes {', '.join(missing)}: read only where the command line names it"
    known = prepared.macros(facts.source.root, walk, facts.source.macros)
    for node in of_type(facts.source.nodes, "preproc_def", "preproc_function_def"):
        name = text_of(node.child_by_field_name("name"))
        if "__global__" in text_of(node.child_by_field_name("value")) and name not in known:
            yield f"kernels that the macro {name} (line {line_of(node)}) makes are not looked into"
    kept: dict[str, int] = {}
    for word in facts.words:
        if word.kind != "field_identifier" and names.hip_name(word.text) and facts.owns(word):
            kept.setdefault(word.text, word.line)
    if kept:
        some = ", ".join(f"{name} (line {line})" for name, line in kept.items())
        yield f"names that the program declares itself, and that stay: {some}"
    bad = [n for n in facts.source.nodes if n.type == "ERROR" or n.is_missing]
    if lines := sorted({line_of(n) for n in bad}):
        where = some_of(lines, 5)
        yield f"parts could not be parsed (line {where}); names in them are found, traps may not be"


# --- for people ---------------------------------------------------------------------------------


def text(report: Report, with_opencl: bool, with_constructs: bool = True) -> Iterator[str]:
    """Lines: traps as compilers tell them, then constructs."""
    causes: dict[Trap, list[Trap]] = {}
    for trap in (*report.traps, *report.sketch):
        if trap.platform == HIP or with_opencl:
            causes.setdefault(replace(trap, line=0, construct=""), []).append(trap)
    for trap, *others in causes.values():
        where = "" if trap.platform == HIP else ", OpenCL"
        where += ", right in the HIP text" if trap.cured else ""
        yield f"{report.file}:{trap.line}: {trap.certainty}{where}: {trap.words} [{trap.entry}]"
        yield f"    {trap.construct}"
        if lines := sorted({other.line for other in others} - {trap.line}):
            yield f"    and {'line' if len(lines) == 1 else 'lines'} {some_of(lines)}"
    for remark in report.remarks:
        yield f"{report.file}: {remark}"
    told = [c for c in report.constructs if with_opencl or not c.hip.startswith("the same")]
    if with_constructs and told:
        yield f"{report.file}: constructs"
        for one in told:
            about = ", ".join(one.entries) or "a name alone"
            yield f"    {one.name} (line {some_of(one.lines)}) [{about}]"
            yield f"        HIP: {one.hip}"
            if with_opencl:
                yield f"        OpenCL: {one.opencl}"


def some_of(lines: Sequence[int], most: int = 6) -> str:
    """Lines, the first of them."""
    more = f" and {len(lines) - most} more" if len(lines) > most else ""
    return ", ".join(map(str, lines[:most])) + more


def summary(reports: Sequence[Report], of_hip: bool = False, with_opencl: bool = True) -> list[str]:
    """What stands between the sources, or the HIP texts that were written (*of_hip*), and AMD."""
    left = [t for r in reports for t in r.traps if not t.cured]
    found = [t for t in left if t.certainty != POSSIBLE] + [t for r in reports for t in r.sketch]
    cured = sum(t.cured for r in reports for t in r.traps)
    possible = sum(t.certainty == POSSIBLE and t.platform == HIP for t in left)
    lines = []
    titles = {HIP: "AMD, through HIP", OPENCL: "OpenCL, beside the host's part"}
    for platform, title in list(titles.items())[: 1 + with_opencl]:
        counts: dict[str, Counter[str]] = {}
        for trap in found:
            if trap.platform == platform:
                counts.setdefault(trap.effect, Counter())[trap.entry] += 1
        what = "the HIP text" if of_hip and platform == HIP else "this code"
        lines.append(f"What stands between {what} and {title}:")
        if platform == OPENCL:
            lines.append(f"    a sketch: looked for are {opencl.table()['sought']};")
            lines.append(f"    not looked for are {opencl.table()['unsought']}")
        if not counts:
            lines.append("    nothing that is known here but names")
        for effect, (one_does, several_do) in EFFECTS.items():
            if effect in counts:
                some = counts[effect]
                about = ", ".join(f"{name} ({n})" for name, n in some.most_common(4))
                more = f" and {len(some) - 4} more" if len(some) > 4 else ""
                total = sum(some.values())
                places = f"place that {one_does}" if total == 1 else f"places that {several_do}"
                lines.append(f"    {total} {places}: {about}{more}")
        if platform == HIP and possible:
            lines.append(f"    {possible} more to look at, which may be right as they are")
    if cured:
        lines.append(f"{cured} {'place is' if cured == 1 else 'places are'} right in the HIP text.")
    return lines
