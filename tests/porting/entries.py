"""The entries of the porting reference: what one holds, and the reader that checks it.

An entry is a file ``entries/GROUP/NAME.toml``:

``title``, ``sees`` (what a porter sees who does not know it), ``trap`` (why), ``hip`` and
``opencl`` (what the construct becomes there): prose. ``constructs``: names in CUDA sources that it
is about.

``[text]`` holds the three texts ``cuda``, ``hip`` and ``opencl`` (which may be ``"same"`` as
CUDA's), and others that claims are about. Each of the three is compiled by all compilers of its
dialect, but for those that ``not_by`` names with a reason; ``programs = true`` says that they are
whole programs. ``[options]`` holds options for a compiler.

Claims are tables in lists: ``compiles``, ``message``, ``run``, ``count``, ``prints``, ``names``,
``error`` and ``stated``; the classes below say what they hold.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from porting import toolchains
from porting.toolchains import EntryError
from portmp.errors import suggestion
from portmp.porting import entries as ported
from portmp.porting.entries import FOLDER, GROUPS

DIALECTS = ("cuda", "hip", "opencl")
DEVICES = {"h200": "cuda", "gfx908": "hip", "gfx90a": "hip", "gfx1100": "hip", "pocl": "opencl"}
"""Where texts run, with the dialect that runs there; gfx... are interpreted."""

TYPES = (*("int8", "uint8", "int32", "uint32", "int64", "uint64"), *("float32", "float64"))


@dataclass(frozen=True)
class Claim:
    """Something that an entry says and that can be looked at. ``note``: what it shows, in words."""

    kind: ClassVar[str]
    note: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class OfText(Claim):
    """About what a compiler, ``by``, makes of a text, for an architecture, with options."""

    by: str
    text: str
    arch: str = field(default="", kw_only=True)
    options: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Compiles(OfText):
    """The compiler takes it."""

    kind: ClassVar[str] = "compiles"


@dataclass(frozen=True)
class Message(OfText):
    """The compiler refuses it, and each line of *says* is a part of its message."""

    kind: ClassVar[str] = "message"
    says: str


@dataclass(frozen=True)
class Run(Claim):
    """The kernel ``k(T *out)``, or ``k(T *out, const U *in)``, gives these numbers.

    ``gives``: the first numbers, or those for each device of ``on``. ``text``: the dialect's own if
    it is not named. ``type``: of out, ``input_type`` of in (the same if it is not named). out
    begins with zeros, and has ``count`` numbers (as many as are given if it is not said).
    """

    kind: ClassVar[str] = "run"
    on: tuple[str, ...]
    type: str
    gives: Any
    text: str = ""
    threads: int = 1
    blocks: int = 1
    input: tuple[Any, ...] = ()
    input_type: str = ""
    count: int = 0
    options: tuple[str, ...] = ()

    def expected(self, device: str) -> list[Any]:
        """The numbers that one device gives."""
        return list(self.gives[device] if isinstance(self.gives, Mapping) else self.gives)


@dataclass(frozen=True)
class Count(OfText):
    """So many instructions of the code match a regular expression, ``finds``."""

    kind: ClassVar[str] = "count"
    finds: str
    times: int = -1
    at_least: int = 0


@dataclass(frozen=True)
class Uses(OfText):
    """The kernel takes ``resource`` (registers, shared, scratch) between two numbers."""

    kind: ClassVar[str] = "uses"
    resource: str
    at_least: int = 0
    at_most: int = 2**31


@dataclass(frozen=True)
class Prints(OfText):
    """A program for this machine, built from the text, prints this."""

    kind: ClassVar[str] = "prints"
    prints: str


@dataclass(frozen=True)
class Names(Claim):
    """The bindings of cuda or hip have these names, lack those, and give constants these values."""

    kind: ClassVar[str] = "names"
    of: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Error(Claim):
    """Worst errors of a function, in units in the last place, at points of an interval.

    ``call``: the function of x (and y), for each dialect; ``reference``: gmpy2's name of it;
    ``from`` and ``to``: the interval of x, or of the exponents of x where ``powers`` is set.
    ``elsewhere``: what another kind of the same device gives, such as a CPU of shorter vectors.
    """

    kind: ClassVar[str] = "error"
    type: str
    call: Mapping[str, str]
    reference: str
    low: float
    high: float
    worst: Mapping[str, float]
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    powers: bool = False
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Stated(Claim):
    """What cannot be looked at here, and who says it."""

    kind: ClassVar[str] = "stated"
    what: str
    source: str


CLAIMS = {c.kind: c for c in (Compiles, Message, Run, Count, Uses, Prints, Names, Error, Stated)}


@dataclass(frozen=True)
class Entry(ported.Entry):
    """One construct, one trap, and what shows it. ``name`` is ``GROUP/NAME``."""

    title: str = ""
    sees: str = ""
    trap: str = ""
    programs: bool = False
    not_by: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    see: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The group's name."""
        return self.name.partition("/")[0]

    def text(self, name: str) -> str:
        """One of its texts."""
        if name not in self.texts:
            raise EntryError(
                f"{self.name}: text {name!r} is named, there are {', '.join(self.texts)}"
            )
        return self.texts[name]

    def options_for(self, by: str, claim: Any) -> tuple[str, ...]:
        """Options that a compiler gets: the entry's and the claim's."""
        return (*self.options.get(by, ()), *claim.options)


_PROSE = ("title", "sees", "trap", "hip", "opencl")
_KEYS = (*_PROSE, "constructs", "programs", "not_by", "options", "text", "see", *CLAIMS)


def read(path: Path, folder: Path = FOLDER) -> Entry:
    """An entry's file; EntryError says what is wrong with it."""
    name = path.relative_to(folder).with_suffix("").as_posix()
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EntryError(f"{name}: {error}") from None
    return parsed(name, found)


def parsed(name: str, found: Mapping[str, Any]) -> Entry:
    """An entry from what its file holds."""
    _check_keys(name, found, _KEYS)
    if (
        not re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", name)
        or name.split("/", maxsplit=1)[0] not in GROUPS
    ):
        raise EntryError(f"{name}: names are GROUP/words-with-hyphens, groups {', '.join(GROUPS)}")
    for key in _PROSE:
        if not isinstance(found.get(key), str) or not found[key].strip():
            raise EntryError(f"{name}: {key} must be a text")
    texts = _texts(name, found.get("text", {}))
    claims = tuple(_claims(name, found))
    entry = Entry(
        name,
        **{key: " ".join(found[key].split()) for key in _PROSE},
        constructs=_strings(name, "constructs", found.get("constructs", [])),
        programs=bool(found.get("programs", False)),
        not_by=dict(found.get("not_by", {})),
        options={k: _strings(name, k, v) for k, v in found.get("options", {}).items()},
        texts=texts,
        claims=claims,
        see=_strings(name, "see", found.get("see", [])),
    )
    _check(entry)
    return entry


def _texts(name: str, found: Any) -> dict[str, str]:
    if not isinstance(found, Mapping) or not all(isinstance(v, str) for v in found.values()):
        raise EntryError(f"{name}: text must be a table of texts")
    texts = {key: value.strip("\n") + "\n" for key, value in found.items()}
    return {k: texts["cuda"] if v.strip() == "same" else v for k, v in texts.items()}


def _strings(name: str, key: str, found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(v, str) for v in found):
        raise EntryError(f"{name}: {key} must be a list of texts, {found!r} given")
    return tuple(found)


def _check_keys(name: str, found: Mapping[str, Any], allowed: Iterable[str]) -> None:
    for key in found:
        if key not in allowed:
            raise EntryError(f"{name}: unknown key {key!r}{suggestion(key, list(allowed))}")


def _claims(name: str, found: Mapping[str, Any]) -> Iterable[Claim]:
    for kind, cls in CLAIMS.items():
        tables = found.get(kind, [])
        if not isinstance(tables, list) or not all(isinstance(t, Mapping) for t in tables):
            raise EntryError(f"{name}: {kind} must be a list of tables, [[{kind}]]")
        for table in tables:
            yield _claim(f"{name}: {kind}", cls, table)


def _claim(where: str, cls: type[Claim], table: Mapping[str, Any]) -> Claim:
    known = {f.name: f for f in fields(cls)}
    _check_keys(where, table, known)
    for key, one in known.items():
        needed = one.default is MISSING and one.default_factory is MISSING
        if needed and key not in table:
            raise EntryError(f"{where}: {key} is missing")
    values: dict[str, Any] = {}
    for key, value in table.items():
        plain = known[key].type
        if plain in ("str", "int", "float", "bool"):
            kinds: tuple[type, ...] = {"str": (str,), "int": (int,), "bool": (bool,)}.get(
                str(plain), (int, float)
            )
            if not isinstance(value, kinds):
                raise EntryError(f"{where}: {key} must be of the type {plain}, {value!r} given")
        values[key] = tuple(value) if isinstance(value, list) and key != "gives" else value
    return cls(**values)


def _check(entry: Entry) -> None:
    """That what claims name is there, and that something is claimed."""
    for tool in (*entry.not_by, *entry.options):
        toolchains.get(tool)
    used = set(DIALECTS)
    for claim in entry.claims:
        where = f"{entry.name}: {claim.kind}"
        if isinstance(claim, OfText):
            toolchains.get(claim.by)
            entry.text(claim.text)
            used.add(claim.text)
        if isinstance(claim, Run):
            _check_run(where, entry, claim)
            used.add(claim.text)
        if isinstance(claim, Error) and (bad := [d for d in claim.worst if d not in DEVICES]):
            raise EntryError(f"{where}: worst: {bad[0]!r} given, devices are {', '.join(DEVICES)}")
    if unused := set(entry.texts) - used:
        raise EntryError(f"{entry.name}: no claim is about the text {sorted(unused)[0]!r}")
    if not (set(DIALECTS) <= set(entry.texts) or entry.claims):
        raise EntryError(f"{entry.name}: nothing is claimed: give three texts, or a claim")


def _check_run(where: str, entry: Entry, claim: Run) -> None:
    for device in claim.on:
        if device not in DEVICES:
            raise EntryError(f"{where}: on: {device!r} given, devices are {', '.join(DEVICES)}")
        if isinstance(claim.gives, Mapping) and device not in claim.gives:
            raise EntryError(f"{where}: gives: nothing is said of {device}")
        entry.text(claim.text or DEVICES[device])
    for kind in filter(None, (claim.type, claim.input_type)):
        if kind not in TYPES:
            raise EntryError(f"{where}: type: {kind!r} given, types are {', '.join(TYPES)}")


def compiled(entry: Entry) -> list[Compiles]:
    """Which compilers take which of the three texts, which nobody has to write."""
    return [
        Compiles(tool.name, tool.dialect, options=entry.options.get(tool.name, ()))
        for tool in toolchains.TOOLCHAINS.values()
        if tool.programs == entry.programs
        and tool.dialect in entry.texts
        and tool.name not in entry.not_by
    ]


@cache
def every(folder: Path = FOLDER) -> dict[str, Entry]:
    """All entries by name, in the order of the groups."""
    found = [read(path, folder) for path in sorted(folder.rglob("*.toml"))]
    order = list(GROUPS)
    found.sort(key=lambda entry: (order.index(entry.group), entry.name))
    entries = {entry.name: entry for entry in found}
    for entry in found:
        for other in entry.see:
            if other not in entries:
                raise EntryError(f"{entry.name}: see: there is no entry {other!r}")
    return entries


def get(name: str) -> Entry:
    """One entry; EntryError says what it is called rather."""
    entries = every()
    if name not in entries:
        raise EntryError(f"there is no entry {name!r}{suggestion(name, list(entries))}")
    return entries[name]
