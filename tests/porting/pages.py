"""The pages of the reference, made from its entries: ``ci/porting pages FOLDER``.

A page a group, and three ways in: by construct, by message, by what one sees. Lists and short
lines rather than tables, so that a phone shows them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from porting import checks, entries, toolchains
from porting.entries import DIALECTS, GROUPS, Entry
from portmp.paths import PACKAGE
from portmp.porting import report

LANGUAGES = {"cuda": "cuda", "hip": "cpp", "opencl": "c"}
TITLES = {"cuda": "CUDA", "hip": "HIP", "opencl": "OpenCL C"}
DEVICES = {
    "h200": "H200",
    "gfx908": "gfx908, interpreted",
    "gfx90a": "gfx90a, interpreted",
    "gfx1100": "gfx1100, interpreted",
    "pocl": "PoCL",
}
_MADE = "<!-- made by tests/porting/pages.py from portmp/porting/entries -->\n"
_SHOWN = 8
MESSAGES = PACKAGE / "data/porting_messages.json"


def anchor(title: str) -> str:
    """The name of a heading in links."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def link(entry: Entry) -> str:
    """A link to an entry from any of the pages."""
    return f"[{_plain(entry.title)}]({entry.group}.md#{anchor(entry.title)})"


def _plain(text: str) -> str:
    """A text with no meaning of Markdown's but that of quotes."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", p) for p in parts)


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def _texts(entry: Entry) -> Iterator[str]:
    for name in DIALECTS:
        if name in entry.texts:
            if name != "cuda" and entry.texts[name] == entry.texts.get("cuda"):
                yield f"{TITLES[name]}: the same text.\n"
            else:
                yield f"{TITLES[name]}:\n"
                yield _block(LANGUAGES[name], entry.texts[name])
    for name, text in entry.texts.items():
        if name not in DIALECTS:
            yield f"*{name.replace('_', ' ')}*:\n"
            yield _block(_language(entry, name), text)


def _language(entry: Entry, name: str) -> str:
    text = entry.texts[name]
    return "c" if "__kernel" in text or "<CL/" in text else "cpp"


def _list(values: Sequence[Any]) -> str:
    """A list of results, short: what repeats is told once."""
    texts = [v if isinstance(v, str) else str(v) for v in values]
    if len(texts) > _SHOWN and len(set(texts)) == 1:
        return f"{texts[0]}, {len(texts)} times"
    rest = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _evidence(entry: Entry) -> Iterator[str]:
    """The claims, a line each."""
    by = [claim.by for claim in entries.compiled(entry)]
    if by:
        yield f"Compiled by {', '.join(toolchains.get(name).about for name in by)}."
    for name, why in entry.not_by.items():
        yield f"Not by {toolchains.get(name).about}: {why}."
    for claim in entry.claims:
        note = f" ({claim.note})" if claim.note else ""
        for line in _ABOUT[claim.kind](entry, claim):
            yield line + note


def _compiles(entry: Entry, claim: entries.Compiles) -> Iterator[str]:
    options = "".join(f" `{option}`" for option in claim.options)
    yield f"{toolchains.get(claim.by).about}{options} takes {_name(claim.text)} without a word"


def _message(entry: Entry, claim: entries.Message) -> Iterator[str]:
    lines = [line.strip() for line in claim.says.strip().splitlines()]
    what = " ".join(filter(None, [_name(claim.text), *(f"`{o}`" for o in claim.options)]))
    said = ", ".join(f"`{line}`" for line in lines)
    yield f"{toolchains.get(claim.by).about} on {what}: {said}"


def _name(text: str) -> str:
    return f"the text for {TITLES[text]}" if text in TITLES else f"*{text.replace('_', ' ')}*"


def _run(entry: Entry, claim: entries.Run) -> Iterator[str]:
    shown: dict[tuple[str, str], list[str]] = {}
    for device in claim.on:
        text = claim.text or entries.DEVICES[device]
        shown.setdefault((text, _list(claim.expected(device))), []).append(DEVICES[device])
    results: dict[str, list[str]] = {}
    for (text, result), devices in shown.items():
        key = result if not claim.text else f"{_name(text)}: {result}"
        results.setdefault(key, []).extend(devices)
    size = f"{claim.blocks} x {claim.threads}" if claim.blocks > 1 else str(claim.threads)
    threads = "" if size == "1" else f", {size} threads"
    options = "".join(f" `{option}`" for option in claim.options)
    for result, devices in results.items():
        yield f"{'; '.join(devices)}{options}{threads}: {result}"


def _count(entry: Entry, claim: entries.Count) -> Iterator[str]:
    wanted = str(claim.times) if claim.times >= 0 else f"at least {claim.at_least}"
    options = "".join(f" `{option}`" for option in claim.options)
    what = claim.finds.replace("`", "")
    yield (
        f"{toolchains.get(claim.by).about}{options}, {_name(claim.text)}: {wanted} "
        f"instruction{'' if wanted == '1' else 's'} that match `{what}`"
    )


def _uses(entry: Entry, claim: entries.Uses) -> Iterator[str]:
    size = (
        f"{claim.at_least} to {claim.at_most}"
        if claim.at_most < 2**31
        else (f"at least {claim.at_least}")
    )
    unit = "registers" if claim.resource == "registers" else f"bytes of {claim.resource} memory"
    yield f"{toolchains.get(claim.by).about}, {_name(claim.text)}: {size} {unit}"


def _prints(entry: Entry, claim: entries.Prints) -> Iterator[str]:
    lines = "; ".join(line.strip() for line in claim.prints.strip().splitlines())
    yield f"{_name(claim.text)}, with PoCL, prints: `{lines}`"


def _names(entry: Entry, claim: entries.Names) -> Iterator[str]:
    where = {"cuda": "CUDA 13.5 (cuda-bindings)", "hip": "HIP 7 (hip-python)"}[claim.of]
    if claim.has:
        yield f"{where} has {', '.join(f'`{n}`' for n in claim.has)}"
    if claim.lacks:
        yield f"{where} lacks {', '.join(f'`{n}`' for n in claim.lacks)}"
    if claim.values:
        yield f"{where}: {', '.join(f'`{n}` = {v}' for n, v in claim.values.items())}"


def _error(entry: Entry, claim: entries.Error) -> Iterator[str]:
    inside = f"{claim.low:g} to {claim.high:g}"
    where = f"x from 2^{claim.low:g} to 2^{claim.high:g}" if claim.powers else f"x from {inside}"
    worst = ", ".join(f"{DEVICES[d]} {value:.2f}" for d, value in claim.worst.items())
    yield f"`{claim.call['cuda']}`, {claim.type}, {where}; worst error in ulp: {worst}"


def _stated(entry: Entry, claim: entries.Stated) -> Iterator[str]:
    yield f"Not checked here: {_plain(claim.what)}. Source: {claim.source}"


_ABOUT: Mapping[str, Any] = {
    "compiles": _compiles,
    "message": _message,
    "run": _run,
    "count": _count,
    "uses": _uses,
    "prints": _prints,
    "names": _names,
    "error": _error,
    "stated": _stated,
}


def section(entry: Entry) -> str:
    """One entry."""
    parts = [f"## {_plain(entry.title)}\n", f"**What you see:** {entry.sees}\n", f"{entry.trap}\n"]
    parts.append(f"- **HIP:** {entry.hip}\n- **OpenCL:** {entry.opencl}\n")
    parts += _texts(entry)
    if lines := list(_evidence(entry)):
        parts.append("Evidence:\n\n" + "\n".join(f"- {line}" for line in lines) + "\n")
    if entry.constructs:
        parts.append(f"About {', '.join(f'`{name}`' for name in entry.constructs)}.\n")
    if entry.see:
        parts.append(f"See also {', '.join(link(entries.every()[n]) for n in entry.see)}.\n")
    parts.append(f"Entry `{entry.name}`.\n")
    return "\n".join(parts)


def group_page(group: str) -> str:
    """All entries of a group."""
    mine = [entry for entry in entries.every().values() if entry.group == group]
    contents = "\n".join(f"- [{_plain(e.title)}](#{anchor(e.title)})" for e in mine)
    sections = "\n".join(section(entry) for entry in mine)
    return f"{_MADE}# {GROUPS[group]}\n\n[All pages](index.md)\n\n{contents}\n\n{sections}"


def by_construct() -> str:
    """Names in CUDA sources, with the entries about them."""
    found: dict[str, list[Entry]] = {}
    for entry in entries.every().values():
        for name in entry.constructs:
            found.setdefault(name, []).append(entry)
    lines = [
        f"- `{name}`: {'; '.join(map(link, found[name]))}"
        for name in sorted(found, key=lambda name: (name.lstrip("_").lower(), name))
    ]
    return f"{_MADE}# By construct\n\n[All pages](index.md)\n\n" + "\n".join(lines) + "\n"


def said(entry: Entry) -> Iterator[tuple[str, str]]:
    """Lines of compilers' messages, without those of the text that they show; and whose."""
    for claim in entry.claims:
        if isinstance(claim, entries.Message):
            lines = [line.strip() for line in claim.says.strip().splitlines()]
            for line in lines[:1] + [line for line in lines[1:] if _SENTENCE.search(line)]:
                yield line, toolchains.get(claim.by).about


_SENTENCE = re.compile(r"\berror\b|\w+ \w+ \w+")


def by_message() -> str:
    """Messages of compilers, as they were seen."""
    found: dict[str, list[str]] = {}
    for entry in entries.every().values():
        for line, by in said(entry):
            where = found.setdefault(f"`{line}` ({by})", [])
            if link(entry) not in where:
                where.append(link(entry))
    lines = [f"- {message}: {'; '.join(found[message])}" for message in sorted(found)]
    return f"{_MADE}# By message\n\n[All pages](index.md)\n\n" + "\n".join(lines) + "\n"


_NAMED = re.compile(r"""'[^']*\w{3,}[^']*'|"[^"]*\w{3,}[^"]*\"""")


def messages() -> dict[str, str]:
    """Messages that name something, with the first entry about them: for compile errors."""
    found: dict[str, str] = {}
    for entry in entries.every().values():
        for line, _ in said(entry):
            if _NAMED.search(line):
                found.setdefault(line.removeprefix("error: "), entry.name)
    for name, about in report.by_construct().items():
        one = report.first(about)
        if re.fullmatch(r"(__|cuda)\w+", name) and one:
            found.setdefault(f"use of undeclared identifier '{name}'", one.name)
    return dict(sorted(found.items()))


def by_trap() -> str:
    """What one sees who does not know it: what programs do first, then what compilers say."""
    groups = ", ".join(f"[{title}](#{anchor(title)})" for title in GROUPS.values())
    parts = [f"{_MADE}# By what you see\n\n[All pages](index.md)\n\n{groups}\n"]
    for group, title in GROUPS.items():
        mine = [entry for entry in entries.every().values() if entry.group == group]
        mine.sort(key=lambda entry: bool(re.match(r"(\w[\w+, .]*: )?`", entry.sees)))
        lines = "\n".join(f"- {entry.sees} {link(entry)}" for entry in mine)
        parts.append(f"## {title}\n\n{lines}\n")
    return "\n".join(parts)


def index() -> str:
    """The first page."""
    every = entries.every().values()
    groups = "\n".join(
        f"- [{title}]({group}.md), {sum(e.group == group for e in every)} entries"
        for group, title in GROUPS.items()
    )
    about = checks.recorded().get("h200", {}).get("about", "nothing recorded")
    claims = sum(len(list(checks.checks(entry))) for entry in every)
    about = about.replace(", nvrtc", ",\nnvrtc")
    return f"""{_MADE}# The porting reference

CUDA beside HIP and OpenCL, {len(every)} entries: what a construct becomes, the trap behind it,
the message or the wrong result that a porter meets, and what shows it.

- [By what you see](by-trap.md): "my warp reduction gives wrong sums on MI250"
- [By message](by-message.md) of a compiler
- [By construct](by-construct.md): `__shfl_sync`, `cudaMallocHost`, ...

{groups}

The tables of [Porting from CUDA](../porting.md) are about portmp's own kernels.

## Evidence

{claims} claims stand behind the entries: texts that compile, messages, results, instructions in
compiled code, names in bindings. In a checkout of the repository one command looks at them again,
and says what holds, what fails and what cannot be checked on this machine:

```sh
ci/porting evidence
ci/porting evidence warps atomics/float-add
```

Seen with NVRTC 13.5, hiprtc and hipcc of ROCm 5.2, clang 19 with portmp's prelude, PoCL 3.1, and
names from cuda-bindings 13.5 and hip-python of HIP 7; nvcc 13.0 (not in CI). Results of NVIDIA's:
{about}. Results of AMD's are of compiled code that the [interpreter](../emulator.md) ran: nothing
here was executed on an AMD GPU. There the approximate instructions (reciprocals, roots, powers
and logarithms of 2, sines) are taken for correctly rounded: errors of functions that use them are
the least that hardware can have. What is marked "not checked here" has a source instead.
"""


def pages() -> dict[str, str]:
    """All pages, by file name."""
    found = {
        "index.md": index(),
        "by-construct.md": by_construct(),
        "by-message.md": by_message(),
        "by-trap.md": by_trap(),
    }
    return found | {f"{group}.md": group_page(group) for group in GROUPS}


def main(argv: Sequence[str]) -> int:
    """Write the pages into a folder, and the messages where compile errors look them up."""
    if len(argv) != 1:
        print("usage: ci/porting pages FOLDER", file=sys.stderr)
        return 2
    folder = Path(argv[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    MESSAGES.write_text(json.dumps(messages(), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
