"""Claims looked at: whether compilers, devices and libraries here do what an entry says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from porting import bindings, entries, errors_of_functions, running, toolchains
from porting.entries import DEVICES, Claim, Entry, EntryError
from portmp.errors import BackendUnavailable, CompileError, PortmpError, one_line

HOLDS, FAILS, UNCHECKED = "holds", "FAILS", "not checked"
RECORDED = Path(__file__).with_name("recorded.json")
"""What devices gave that CI has not: results by entry, text and place."""


@dataclass(frozen=True)
class Result:
    """What came of one claim: by or on what, one of the three states, and words."""

    where: str
    state: str
    words: str


@dataclass(frozen=True)
class Check:
    """One thing to look at; *where* is a compiler, a device or a library."""

    entry: Entry
    where: str
    look: Callable[[], str]

    def result(self) -> Result:
        """Look at it."""
        try:
            return Result(self.where, HOLDS, self.look())
        except BackendUnavailable as error:
            return Result(self.where, UNCHECKED, one_line(error))
        except _Wrong as error:
            return Result(self.where, FAILS, str(error))
        except EntryError:
            raise
        except PortmpError as error:
            return Result(self.where, FAILS, str(error))


class _Wrong(Exception):
    """A claim does not hold."""


def checks(entry: Entry) -> Iterator[Check]:
    """All that can be looked at of one entry."""
    for claim in (*entries.compiled(entry), *entry.claims):
        for where, look in _LOOKS[claim.kind](entry, claim):
            yield Check(entry, where, look)


Looks = Iterator[tuple[str, Callable[[], str]]]


@lru_cache(maxsize=512)
def compile_text(by: str, text: str, arch: str, options: tuple[str, ...]) -> bytes:
    """Machine code, made once; CompileError, BackendUnavailable."""
    if problem := toolchains.problem(by):
        raise BackendUnavailable(problem)
    tool = toolchains.get(by)
    return tool.make(options).compile(text, arch or tool.arch)


def _code(entry: Entry, claim: Any) -> bytes:
    options = entry.options_for(claim.by, claim) if claim.kind != "compiles" else claim.options
    return compile_text(claim.by, entry.text(claim.text), claim.arch, options)


def _called(claim: Any) -> str:
    """A compiler, its architecture and options, in words."""
    arch = claim.arch or toolchains.get(claim.by).arch
    return " ".join((*filter(None, [arch]), *claim.options))


def _compiles(entry: Entry, claim: entries.Compiles) -> Looks:
    def look() -> str:
        try:
            _code(entry, claim)
        except CompileError as error:
            raise _Wrong(f"the text {claim.text} does not compile: {error}") from None
        return f"{_called(claim)} compiles the text {claim.text}"

    yield claim.by, look


def _message(entry: Entry, claim: entries.Message) -> Looks:
    def look() -> str:
        try:
            _code(entry, claim)
        except CompileError as error:
            missing = [line for line in claim.says.splitlines() if line.strip() not in str(error)]
            if missing:
                raise _Wrong(f"{missing[0].strip()!r} is not in the message: {error}") from None
            return f"{_called(claim)} refuses the text {claim.text}: {claim.says.splitlines()[0]}"
        raise _Wrong(f"the text {claim.text} compiles, {claim.says!r} was expected")

    yield claim.by, look


def as_numbers(values: list[Any], kind: str) -> np.ndarray[Any, Any]:
    """Numbers of an entry as an array; texts are hexadecimal or 'nan'."""

    def one(value: Any) -> Any:
        if isinstance(value, str):
            return float.fromhex(value) if kind.startswith("float") else int(value, 0)
        return value

    return np.array([one(v) for v in values], kind)


def equal(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """The same bits; one NaN is as good as another."""
    if found.dtype.kind == "f" and np.isnan(expected).any():
        places = np.isnan(expected)
        return bool(np.isnan(found[places]).all()) and equal(
            np.where(places, 0, found).astype(found.dtype),
            np.where(places, 0, expected).astype(found.dtype),
        )
    return found.tobytes() == expected.tobytes()


def shown(values: np.ndarray[Any, Any]) -> str:
    """An array in a line, floats as they are written exactly."""
    texts = [float(v).hex() if values.dtype.kind == "f" else str(v) for v in values]
    return "[" + ", ".join(texts) + "]"


def key_of(entry: Entry, claim: entries.Run, device: str) -> str:
    """What a recorded result is called: changed with the text, the options and the launch."""
    text = entry.text(claim.text or DEVICES[device])
    facts = [text, claim.options, claim.threads, claim.blocks, list(claim.input), claim.type]
    digest = sha256(json.dumps(facts).encode()).hexdigest()[:12]
    return f"{entry.name} {digest}"


def ran(entry: Entry, claim: entries.Run, device: str) -> np.ndarray[Any, Any]:
    """What a device here gives."""
    count = claim.count or len(claim.expected(device))
    given = as_numbers(list(claim.input), claim.input_type or claim.type) if claim.input else None
    return running.run(
        device,
        entry.text(claim.text or DEVICES[device]),
        entry.options_for(running.compiler(device), claim),
        np.zeros(count, claim.type),
        given,
        claim.blocks,
        claim.threads,
        compile_text,
    )


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    """Recorded results, with the devices they are from."""
    found: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    return found


def _from_record(entry: Entry, key: str, device: str, problem: Exception) -> Any:
    of = recorded().get(device, {"results": {}})
    if key in of["results"]:
        return of["results"][key]
    if any(other.split()[0] == entry.name for other in of["results"]):
        raise _Wrong(f"what is recorded of {device} is of another text: {key}") from None
    raise BackendUnavailable(f"{problem}; {device} has no record of this") from None


def _run(entry: Entry, claim: entries.Run) -> Looks:
    def looked(device: str) -> str:
        expected = as_numbers(claim.expected(device), claim.type)
        name = claim.text or DEVICES[device]
        words = f"the text {name} gives {shown(expected)[:200]}"
        try:
            running.device(device)
        except BackendUnavailable as error:
            found = as_numbers(
                _from_record(entry, key_of(entry, claim, device), device, error), claim.type
            )
            words += f" (recorded {recorded()[device]['about']})"
        else:
            found = ran(entry, claim, device)
        found = found[: len(expected)]
        if not equal(found, expected):
            raise _Wrong(f"the text {name} gives {shown(found)}, {shown(expected)} was expected")
        return words

    for device in claim.on:
        yield device, partial(looked, device)


def _count(entry: Entry, claim: entries.Count) -> Looks:
    def look() -> str:
        tool = toolchains.get(claim.by)
        code = _code(entry, claim)
        listing = tool.make(()).disassemble(code)
        found = [
            line for lines in listing.values() for line in lines if re.search(claim.finds, line)
        ]
        right = len(found) == claim.times if claim.times >= 0 else len(found) >= claim.at_least
        if not right:
            wanted = claim.times if claim.times >= 0 else f"at least {claim.at_least}"
            raise _Wrong(f"{len(found)} instructions match {claim.finds!r}, {wanted} were expected")
        return f"{_called(claim)}: {len(found)} of {claim.finds!r} in the text {claim.text}"

    yield claim.by, look


def _uses(entry: Entry, claim: entries.Uses) -> Looks:
    def look() -> str:
        tool = toolchains.get(claim.by)
        compiler = tool.make(())
        (report, *_) = compiler.report(_code(entry, claim), claim.arch or tool.arch)
        found = getattr(report, claim.resource, None)
        if found is None:
            raise BackendUnavailable(f"{claim.by} tells nothing of {claim.resource}")
        if not claim.at_least <= found <= claim.at_most:
            wanted = f"{claim.at_least} to {claim.at_most}"
            raise _Wrong(f"{found} {claim.resource}, {wanted} were expected")
        return f"{_called(claim)}: {found} {claim.resource} in the text {claim.text}"

    yield claim.by, look


def _prints(entry: Entry, claim: entries.Prints) -> Looks:
    def look() -> str:
        options = entry.options_for(claim.by, claim)
        said = toolchains.run_program(
            compile_text(claim.by, entry.text(claim.text), claim.arch, options)
        )
        if said.split() != claim.prints.split():
            raise _Wrong(f"the text {claim.text} prints {said!r}, not {claim.prints!r}")
        return f"the text {claim.text} prints {one_line(Exception(said))}"

    yield claim.by, look


def _names(entry: Entry, claim: entries.Names) -> Looks:
    def look() -> str:
        known = bindings.bound_names(claim.of)
        if missing := [name for name in claim.has if name not in known]:
            raise _Wrong(f"{claim.of} has no {', '.join(missing)}")
        if there := [name for name in claim.lacks if name in known]:
            raise _Wrong(f"{claim.of} has {', '.join(there)}")
        for name, value in claim.values.items():
            if known.get(name) != value:
                raise _Wrong(f"{name} is {known.get(name)}, {value} was expected")
        lacks = f", lacks {', '.join(claim.lacks)}" if claim.lacks else ""
        values = "".join(f", {n} = {v}" for n, v in claim.values.items())
        return f"has {', '.join(claim.has) or 'bindings'}{lacks}{values}"

    yield {"cuda": "cuda-bindings", "hip": "hip-python"}[claim.of], look


def _error(entry: Entry, claim: entries.Error) -> Looks:
    def looked(device: str, worst: float) -> str:
        try:
            running.device(device)
        except BackendUnavailable as error:
            found = _from_record(
                entry, errors_of_functions.key(entry, claim, device), device, error
            )
            words = f" (recorded {recorded()[device]['about']})"
        else:
            found, words = errors_of_functions.worst(claim, device, compile_text), ""
        if round(found, 2) not in (round(worst, 2), claim.elsewhere.get(device)):
            raise _Wrong(f"worst error of {claim.reference}: {found:.2f} ulp, {worst} was expected")
        return f"worst error of {claim.reference}, {claim.type}: {found:.2f} ulp{words}"

    for device, worst in claim.worst.items():
        yield device, partial(looked, device, worst)


def _stated(entry: Entry, claim: entries.Stated) -> Looks:
    def look() -> str:
        raise BackendUnavailable(f"{claim.what} (source: {claim.source})")

    yield "stated", look


_LOOKS: dict[str, Callable[[Entry, Any], Looks]] = {
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


def results(entry: Entry) -> list[Result]:
    """What comes of all claims of an entry."""
    return [check.result() for check in checks(entry)]


def claims_of(entry: Entry) -> tuple[Claim, ...]:
    """All claims, those that nobody has to write as well."""
    return (*entries.compiled(entry), *entry.claims)
