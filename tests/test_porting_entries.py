"""The porting reference: what an entry may hold, its pages, and its evidence, claim by claim."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import evidence_checked
import pytest
import seeded_faults
import tiers
from porting import checks, entries, evidence, pages
from porting.checks import FAILS, HOLDS, UNCHECKED, Result
from porting.entries import Entry, EntryError
from slow import slow

import portmp as mp
from portmp.errors import BackendUnavailable, CompileError

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/porting"
EVERY = entries.every()
TIERS = {
    "nvrtc": ("nvrtc",),
    "hiprtc": ("hiprtc",),
    "clang": ("clang",),
    "hipcc": ("hipcc",),
    "pocl": ("pocl", "pocl-debian"),
    "cc": ("pocl-debian",),
    "gfx908": ("hiprtc",),
    "gfx90a": ("hiprtc",),
    "gfx1100": ("clang",),
    "cuda-bindings": ("nvrtc",),
    "hip-python": ("hiprtc",),
}
"""Which tiers of tests have a compiler, a device or a library."""

SMALL: dict[str, Any] = {
    "title": "A title",
    "sees": "what one sees",
    "trap": "why",
    "hip": "there",
    "opencl": "and there",
    "text": {
        "cuda": 'extern "C" __global__ void k(int *out) { out[threadIdx.x] = threadIdx.x; }',
        "hip": "same",
        "opencl": "__kernel void k(__global int *out) { out[get_local_id(0)] = get_local_id(0); }",
    },
}


def made(**changes: Any) -> Entry:
    """An entry with other content."""
    return entries.parsed("warps/small", {**SMALL, **changes})


def missing(result: Result) -> str:
    """The tier that a run was meant to have and that a result lacks; nothing if none is."""
    of = TIERS.get(result.where, ())
    return next((t for t in of if result.state == UNCHECKED and tiers.required(t)), "")


# --- evidence -------------------------------------------------------------------------------

_QUOTED = re.compile(
    r"\b(error|warning|undeclared|undefined|unknown|expected|ambiguous|incomplete)\b"
    r"|file not found|no (matching|member|known)|(can|may|is|are) ?not |requires "
)
"""Quotations that are words of a compiler's."""


@pytest.mark.parametrize("name", EVERY)
def test_messages_are_proved(name: str) -> None:
    """A message that the text quotes is one that a compiler here gave, or has its source."""
    entry = EVERY[name]
    shown = " ".join(
        f"{getattr(claim, 'says', '')} {getattr(claim, 'what', '')}" for claim in entry.claims
    )
    for quoted in re.findall(r"`([^`]+)`", entry.sees):
        plain = re.sub(r"^(clang: )?((fatal |catastrophic )?error|warning): ", "", quoted)
        if _QUOTED.search(quoted):
            assert plain in shown, quoted


_unchecked: Counter[str] = Counter()

STANDING = {
    fault.file.removeprefix(f"{seeded_faults.ENTRIES}/").removesuffix(".toml")
    for fault in seeded_faults.FAULTS
    if fault.file.startswith(seeded_faults.ENTRIES)
}
"""Entries with claims of every kind, into which faults are put."""


def _looked_at(case: dict[str, str]) -> bool:
    name = case["name"]
    return name in STANDING or evidence_checked.recorded().get(name) != evidence_checked.digest(
        name
    )


@slow("it was borne out by this text (evidence_checked.py)", unless=_looked_at)
@pytest.mark.parametrize("name", EVERY)
def test_evidence(name: str, record_property: Any) -> None:
    """Every claim holds that can be looked at here; compilers that a run requires are there."""
    results = checks.results(EVERY[name])
    failing = [f"{r.where}: {r.words}" for r in results if r.state == FAILS]
    assert not failing, "\n".join(failing)
    for result in results:
        if tier := missing(result):
            tiers.need(tier, result.words)
        if result.state == UNCHECKED and result.where != "stated":
            _unchecked[f"{result.where} ({result.words})"] += 1
    if _unchecked:
        told = "; ".join(f"{count} of {what}" for what, count in _unchecked.items())
        record_property("remark porting reference", f"claims not checked here: {told}")


def test_kinds_of_claims_that_every_run_looks_at() -> None:
    """Each kind is among the entries that are never left out; records are of entries that are."""
    kinds = {claim.kind for name in STANDING for claim in checks.claims_of(EVERY[name])}
    assert {*kinds, "stated"} == {c.kind for e in EVERY.values() for c in checks.claims_of(e)}
    assert set(evidence_checked.recorded()) <= set(EVERY)


def test_enough_of_everything() -> None:
    """At least 80 entries, in every group; nearly all with something that is looked at."""
    assert len(EVERY) >= 80
    assert {entry.group for entry in EVERY.values()} == set(entries.GROUPS)
    only_stated = [
        entry.name
        for entry in EVERY.values()
        if all(claim.kind == "stated" for claim in checks.claims_of(entry))
    ]
    assert len(only_stated) <= len(EVERY) // 20, only_stated
    assert len({entry.title for entry in EVERY.values()}) == len(EVERY)


def test_recorded_results_are_of_these_texts() -> None:
    """Nothing is recorded for texts that have changed since."""
    for device, found in checks.recorded().items():
        keys = set()
        for entry in EVERY.values():
            for claim in entry.claims:
                if isinstance(claim, entries.Run) and device in claim.on:
                    keys.add(checks.key_of(entry, claim, device))
                if isinstance(claim, entries.Error) and device in claim.worst:
                    keys.add(checks.errors_of_functions.key(entry, claim, device))
        assert set(found["results"]) == keys


# --- wrong claims fail ----------------------------------------------------------------------

RUN = {"on": ["pocl"], "type": "int32", "threads": 4, "gives": [0, 1, 2, 3]}
MESSAGE = {"by": "nvrtc", "text": "cuda", "says": "error"}


def states(entry: Entry, kind: str) -> list[Result]:
    """What comes of its claims of one kind."""
    only = replace(entry, texts=entry.texts, claims=entry.claims)
    return [
        check.result()
        for check in checks.checks(only)
        if any(check.where in where for where in [_wheres(entry, kind)])
    ][-1:]


def _wheres(entry: Entry, kind: str) -> set[str]:
    return {
        where
        for claim in entry.claims
        if claim.kind == kind
        for where, _ in checks._LOOKS[kind](entry, claim)
    }


@pytest.mark.parametrize(
    ("tier", "kind", "claim", "state", "words"),
    [
        ("pocl", "run", RUN, HOLDS, "gives [0, 1, 2, 3]"),
        ("pocl", "run", RUN | {"gives": [0, 1, 2, 4]}, FAILS, "[0, 1, 2, 4] was expected"),
        ("nvrtc", "message", MESSAGE, FAILS, "the text cuda compiles"),
        ("nvrtc", "count", {"by": "nvrtc", "text": "cuda", "finds": "^STG", "times": 1}, HOLDS, ""),
        ("nvrtc", "count", {"by": "nvrtc", "text": "cuda", "finds": "^STG", "times": 2}, FAILS, ""),
        (
            "nvrtc",
            "uses",
            {"by": "nvrtc", "text": "cuda", "resource": "registers", "at_least": 200},
            FAILS,
            "200 to",
        ),
        ("nvrtc", "names", {"of": "cuda", "has": ["cudaMalloc"]}, HOLDS, "cudaMalloc"),
        ("nvrtc", "names", {"of": "cuda", "has": ["cudaMallok"]}, FAILS, "no cudaMallok"),
        ("nvrtc", "names", {"of": "cuda", "lacks": ["cudaMalloc"]}, FAILS, "has cudaMalloc"),
        (
            "nvrtc",
            "names",
            {"of": "cuda", "values": {"cudaErrorNotReady": 601}},
            FAILS,
            "cudaErrorNotReady is 600",
        ),
        (
            "pocl",
            "error",
            {
                "type": "float32",
                "call": {"cuda": "x * x", "opencl": "x * x"},
                "reference": "square",
                "low": 1,
                "high": 2,
                "worst": {"pocl": 0.25},
            },
            FAILS,
            "0.25 was expected",
        ),
        ("", "stated", {"what": "It is so.", "source": "a page"}, UNCHECKED, "source: a page"),
    ],
)
def test_claims(tier: str, kind: str, claim: dict[str, Any], state: str, words: str) -> None:
    """A right claim holds, a wrong one fails and says what was found."""
    if tier and not any(tiers.available(t) for t in TIERS.get(tier, (tier,))):
        tiers.need(tier, "needed to look at a claim")
    if kind == "count":
        tiers.check("nvdisasm")
    (found,) = states(made(**{kind: [claim]}), kind)
    assert (found.state, words in found.words) == (state, True), found


def test_a_text_that_does_not_compile() -> None:
    """It fails, with the compiler's words."""
    tiers.check("nvrtc")
    texts = {**SMALL["text"], "cuda": SMALL["text"]["cuda"].replace("int *out", "imt *out")}
    results = checks.results(made(text={**texts, "hip": "same"}))
    (found,) = [r for r in results if r.where == "nvrtc"]
    assert found.state == FAILS
    assert 'identifier "imt" is undefined' in found.words


def test_a_message_that_is_another() -> None:
    """Each line of what an entry says is looked for."""
    tiers.check("nvrtc")
    wrong = 'extern "C" __global__ void k(int *out) { out[0] = nothing; }'
    text = {**SMALL["text"], "wrong": wrong}
    says = 'identifier "nothing" is undefined\n'
    right = made(text=text, message=[MESSAGE | {"text": "wrong", "says": says}])
    assert states(right, "message")[0].state == HOLDS
    more = made(text=text, message=[MESSAGE | {"text": "wrong", "says": says + "and more"}])
    (found,) = states(more, "message")
    assert found.state == FAILS and "'and more' is not in the message" in found.words


def test_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a device gave elsewhere counts for the same text; for another one it fails."""

    def absent(name: str) -> None:
        raise BackendUnavailable("no such GPU")

    monkeypatch.setattr(checks.running, "device", absent)
    entry = made(run=[RUN | {"on": ["h200"]}])
    key = checks.key_of(entry, entry.claims[0], "h200")  # type: ignore[arg-type]
    for results, state, words in (
        ({key: [0, 1, 2, 3]}, HOLDS, "recorded once"),
        ({key: [0, 1, 2, 9]}, FAILS, "[0, 1, 2, 9]"),
        ({"warps/small 0123456789ab": [0, 1, 2, 3]}, FAILS, "another text"),
        ({}, UNCHECKED, "has no record of this"),
    ):
        record = {"h200": {"about": "once", "results": results}}
        monkeypatch.setattr(checks, "recorded", lambda record=record: record)
        (found,) = states(entry, "run")
        assert (found.state, words in found.words) == (state, True), found


# --- entries that say too little or too much ----------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"titel": "x"}, "warps/small: unknown key 'titel' (did you mean 'title'?)"),
        ({"trap": " "}, "warps/small: trap must be a text"),
        ({"constructs": "k"}, "warps/small: constructs must be a list of texts, 'k' given"),
        ({"text": {"cuda": 3}}, "warps/small: text must be a table of texts"),
        ({"run": {"on": []}}, "warps/small: run must be a list of tables"),
        ({"run": [{"on": ["pocl"]}]}, "warps/small: run: type is missing"),
        ({"run": [RUN | {"on": ["gfx90b"]}]}, "'gfx90b' given, devices are h200, gfx908"),
        ({"run": [RUN | {"type": "int31"}]}, "'int31' given, types are int8"),
        ({"run": [RUN | {"threads": "4"}]}, "threads must be of the type int, '4' given"),
        ({"run": [RUN | {"gives": {"h200": []}}]}, "gives: nothing is said of pocl"),
        ({"run": [RUN | {"blok": 1}]}, "run: unknown key 'blok' (did you mean 'blocks'?)"),
        ({"message": [MESSAGE | {"by": "nvrtx"}]}, "by: 'nvrtx' given, compilers are nvrtc"),
        ({"message": [MESSAGE | {"text": "other"}]}, "text 'other' is named, there are cuda"),
        ({"text": SMALL["text"] | {"more": "x"}}, "no claim is about the text 'more'"),
        ({"text": {}}, "nothing is claimed: give three texts, or a claim"),
        ({"not_by": {"gcc": "why"}}, "by: 'gcc' given"),
    ],
)
def test_wrong_entries(changes: dict[str, Any], message: str) -> None:
    """One sentence that names the entry and the key."""
    with pytest.raises(EntryError, match=re.escape(message)):
        made(**changes)


def test_files_that_are_no_entries(tmp_path: Path) -> None:
    """Damaged files, and names that are none."""
    (tmp_path / "warps").mkdir()
    path = tmp_path / "warps/x.toml"
    path.write_text("title = ")
    with pytest.raises(EntryError, match="warps/x: "):
        entries.read(path, tmp_path)
    with pytest.raises(EntryError, match="names are GROUP/words-with-hyphens"):
        entries.parsed("warps/Upper", SMALL)
    with pytest.raises(EntryError, match=r"no entry 'warps/balot-64-bits'.*did you mean"):
        entries.get("warps/balot-64-bits")


# --- the command ------------------------------------------------------------------------------


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """It prints each claim; the exit status is 1 where one fails, 2 for a name that is none."""
    tiers.check("nvrtc")
    texts = {**SMALL["text"], "hip": "same", "opencl": SMALL["text"]["opencl"]}
    right = made(text=texts, names=[{"of": "cuda", "has": ["cudaMalloc"]}])
    wrong = made(text=texts, names=[{"of": "cuda", "lacks": ["cudaMalloc"]}])
    for entry, status, word in ((right, 0, "holds"), (wrong, 1, "FAILS")):
        monkeypatch.setattr(entries, "every", lambda entry=entry: {entry.name: entry})
        assert evidence.main([]) == status
        printed = capsys.readouterr().out
        assert re.search(rf"{word} +cuda-bindings", printed)
        assert "1 entries: " in printed
    assert evidence.main(["warps/none"]) == 2
    assert "there is no entry 'warps/none'" in capsys.readouterr().err


# --- pages -------------------------------------------------------------------------------------


def test_pages_are_made_of_the_entries() -> None:
    """ci/porting pages docs/porting writes them."""
    found = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    expected = pages.pages()
    assert set(found) == set(expected)
    stale = [name for name, text in expected.items() if found[name] != text]
    assert not stale, "ci/porting pages docs/porting"
    assert json.loads(pages.MESSAGES.read_text()) == pages.messages()


@pytest.mark.parametrize(
    ("tier", "platform", "text", "entry"),
    [
        ("hiprtc", "rocm", "__syncwarp();", "warps/syncwarp"),
        ("hiprtc", "rocm", "x = __dadd_rz(x, x);", "arithmetic/directed-rounding"),
        ("nvrtc", "cuda", "half y;", "language/half"),
    ],
)
def test_compile_errors_name_entries(tier: str, platform: str, text: str, entry: str) -> None:
    """Where a compiler refuses a kernel of the user's with a message of the reference."""
    tiers.check(tier)
    body = f"${{kernel()}}\n{{ double x = 1.5; {text} ${{store('y', '0', 'x')}} }}"
    kernel = mp.Kernel(body, "k(y: out [n])", threads="n", format="float64")
    with pytest.raises(CompileError, match=f"see the porting reference, entry {entry}"):
        kernel.compile(platform)


def test_links_of_the_pages() -> None:
    """Every link leads to a page and a heading."""
    texts = pages.pages()
    headings = {
        name: {
            pages.anchor(line.lstrip("# ").replace("\\", ""))
            for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines()
            if line.startswith("#")
        }
        for name, text in texts.items()
    }
    for name, text in texts.items():
        prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            page, _, anchor = target.partition("#")
            if page.startswith(".."):
                assert (PAGES / page).exists(), target
                continue
            assert not anchor or anchor in headings[page or name], (name, target)


def test_pages_are_readable_on_a_phone() -> None:
    """No tables, and code of at most 100 columns."""
    for name, text in pages.pages().items():
        assert "|---" not in text, name
        for block in re.findall(r"```\w+\n(.*?)```", text, re.DOTALL):
            assert max(map(len, block.splitlines())) <= 100, (name, block)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("warp reduction", "wrong sums", "MI250"), "warps/shuffle-width"),
        (("local memory", "exceeds limit"), "memory/shared-limit"),
        (("__syncwarp",), "warps/syncwarp"),
    ],
)
def test_who_searches_finds(words: tuple[str, ...], name: str) -> None:
    """The words of a porter stand on one line of the page of traps, with the link."""
    entry = EVERY[name]
    lines = [line for line in pages.by_trap().splitlines() if all(word in line for word in words)]
    assert any(pages.anchor(entry.title) in line for line in lines)
