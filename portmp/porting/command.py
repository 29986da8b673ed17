"""``portmp port``: CUDA sources told, translated to HIP, and begun as templates."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from portmp.errors import ArgumentError, printable
from portmp.files import target
from portmp.porting import hipify, report, sources, templates
from portmp.porting.hipify import Hip
from portmp.porting.prepared import CODED
from portmp.porting.report import Report
from portmp.porting.sources import Source
from portmp.porting.traps.base import CERTAINTIES, HIP, Facts


@dataclass
class Written:
    """A file that was made: from what, with what changes or marks, and what came of it."""

    source: str
    file: str
    kind: str
    changes: list[Any] = field(default_factory=list)
    compiled: bool | None = None
    words: str = ""
    compared: dict[str, str] = field(default_factory=dict)


def command(args: Any) -> int:
    """``portmp port``: print the report, write what is asked for; the exit status.

    1 where a trap of at least the certainty ``--fail`` stands between the sources and AMD; with
    ``--hip``, between the texts that were written and AMD.
    """
    hip, template, folder = args.hip, args.template, args.output
    if (hip or template) != (folder is not None):
        what = "--hip and --template write into a folder: -o DIR"
        raise ArgumentError(what if folder is None else "-o: give --hip or --template, or both")
    read = sources.together([sources.read(name) for name in args.files])
    reports = [report.of(source) for source in read]
    texts = [hipify.translated(source) for source in read] if hip else []
    if hip:
        reports = [report.after(one, text) for one, text in zip(reports, texts, strict=True)]
    made = list(_written(read, Path(folder), texts, template)) if folder is not None else []
    if args.json:
        print(json.dumps(_as_json(reports, made, hip), indent=1))
    else:
        parts = [report.text(one, args.opencl, not args.traps) for one in reports]
        for lines in (*parts, *map(_told, made)):
            if told := "\n".join(printable(line) for line in lines):
                print(told, end="\n\n")
        summary = report.summary(reports, hip, args.opencl or not hip)
        print("\n".join([*summary, *_refused(made)]))
    return int(_fails(reports, made, args.fail))


def _fails(reports: Sequence[Report], made: Sequence[Written], fail_on: str) -> bool:
    """Whether a trap is grave enough, or a compiler refuses a text; what is slow is no error."""
    if fail_on not in CERTAINTIES:
        return False
    grave = CERTAINTIES[: CERTAINTIES.index(fail_on) + 1]
    left = [t for r in reports for t in r.traps if t.platform == HIP and not t.cured]
    found = any(t.certainty in grave and t.effect != "speed" for t in left)
    return found or any(one.compiled is False for one in made)


def _as_json(reports: Sequence[Report], made: Sequence[Written], hip: bool) -> dict[str, Any]:
    return {
        "files": [one.as_dict() for one in reports],
        "summary": [*report.summary(reports, hip), *_refused(made)],
        "written": [asdict(one) for one in made],
    }


def _written(
    read: Sequence[Source], folder: Path, hip: Sequence[Hip], template: bool
) -> Iterator[Written]:
    """HIP texts and templates in a folder, all or none; then compiled and compared."""
    target.make_folder(folder)
    texts: dict[str, bytes] = {}
    helpers: dict[str, bytes] = {}
    made: list[tuple[Source, Written]] = []
    for place, source in enumerate(read):
        if hip:
            text = hip[place]
            _add(texts, text.file, text.content, source)
            for helper in text.helpers:
                helpers[helper.name] = helper.read_bytes()
            changes = [asdict(change) for change in text.changes]
            made.append((source, Written(source.name, str(folder / text.file), "hip", changes)))
        if template:
            for begun in _templates(source):
                name = f"{begun.name}.py"
                _add(texts, name, begun.text.encode(*CODED), source)
                marks = [{"line": line, "what": what} for line, what in begun.marks]
                made.append((source, Written(source.name, str(folder / name), "template", marks)))
    for name, content in helpers.items():
        _add(texts, name, content, read[0])
    for name in texts:
        _check(folder / name, read)
    for name, content in texts.items():
        target.make_folder((folder / name).parent)
        target.replace(folder / name, content)
    for source, one in made:
        if one.kind == "hip":
            yield _checked(source, one, texts[str(Path(one.file).relative_to(folder))])
        else:
            yield one


def _add(texts: dict[str, bytes], name: str, content: bytes, source: Source) -> None:
    if name in texts:
        raise ArgumentError(f"{source.name}: {name} would be written twice: one folder for each")
    texts[name] = content


def _check(place: Path, read: Sequence[Source]) -> None:
    """No file that was read is written over."""
    for source in read:
        if place.exists() and Path(source.name).exists() and place.samefile(source.name):
            other = f", that is {source.name}," if str(place) != source.name else ""
            raise ArgumentError(
                f"-o: {place}{other} was read and would be written over: give another folder"
            )
    if place.parent.exists():
        target.check_place(place)


def _templates(source: Source) -> Iterator[templates.Template]:
    facts = Facts(source)
    seen: set[str] = set()
    for inside in facts.functions:
        if inside.is_kernel and inside.name.isidentifier() and inside.name not in seen:
            seen.add(inside.name)
            yield templates.of(facts, inside)


def _refused(made: Sequence[Written]) -> list[str]:
    """What the summary says of texts that a compiler does not take."""
    refused = [one.file for one in made if one.compiled is False]
    if not refused:
        return []
    count = f"{len(refused)} of {sum(one.compiled is not None for one in made)} HIP texts"
    return [f"hipcc refuses {count}: {', '.join(refused)}"]


def _checked(source: Source, one: Written, content: bytes) -> Written:
    file = Path(one.file)
    with_it = [other.name for other in source.group if source in other.included.values()]
    if with_it and file.suffixes == [".hip", ".cpp"]:
        one.words = f"it is compiled with {with_it[0]}, which includes it"
    elif file.suffix in (".cpp", ".cc", ".cxx", ".c", ".hip"):
        beside = [Path(source.name).parent] if Path(source.name).exists() else []
        one.compiled, one.words = hipify.compiled(file, beside)
    else:
        one.words = "a header is compiled with what includes it"
    one.compared = dict(hipify.compared(Path(source.name), content))
    return one


def _told(one: Written) -> Iterator[str]:
    if one.kind == "template":
        yield f"{one.file}: a first template, {len(one.changes)} places are not translated"
        for mark in one.changes:
            yield f"    {one.source}:{mark['line']}: {mark['what']}"
        return
    yield f"{one.file}: {len(one.changes)} changes"
    changes: dict[tuple[str, str], list[int]] = {}
    for change in one.changes:
        changes.setdefault((change["before"], change["after"]), []).append(change["line"])
    for (before, after), lines in changes.items():
        first, others = lines[0], sorted({*lines} - {lines[0]})
        more = f" (and line {report.some_of(others)})" if others else ""
        yield f"    {one.source}:{first}: {before or 'nothing'} -> {after}{more}"
    state = {True: "hipcc compiles it for", False: "hipcc refuses it for", None: "not compiled for"}
    words = one.words.splitlines() or [""]
    how = f"{hipify.ARCHITECTURE} ({hipify.STANDARD})"
    yield f"    {state[one.compiled]} {how}{': ' if words[0] else ''}{words[0]}"
    yield from (f"        {line}" for line in words[1:])
    yield from (f"    {name}: {says}" for name, says in one.compared.items())
