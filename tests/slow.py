"""The slow tier: proofs that take long, and the parts of full products that seldom find more.

A test marked ``slow`` is left out unless PORTMP_SLOW asks for it:

``none``     the fast tier alone (the default)
``few``      of it a case of each test, another one each day (``ci/test``)
``rotate``   and a slice of the slow tier, another one each day
``3/10``     and the slice of that number, to repeat what a day ran
``all``      everything

A test that is named with ``::`` on the command line always runs.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from functools import cache
from typing import Any

import pytest
import tiers

from portmp import discovery, formats

SETTING = "PORTMP_SLOW"
SLICES = 28
"""Days after which each slow test has run."""

WORDS = {f: formats.get(f).words for f in (*formats.NAMES, *formats.COMPLEX, *formats.STORED)}
"""Of each format, by which the costs of a test's cases differ most."""


def slow(
    why: str,
    unless: Callable[..., bool] | None = None,
    weight: Callable[[Mapping[str, Any]], float] | None = None,
) -> pytest.MarkDecorator:
    """Leave a test to the slow tier, but for the cases whose parameters make *unless* true.

    *weight* tells of the parameters of a case how many times those of another it costs (see cost).
    """
    return pytest.mark.slow(why, unless=unless, weight=weight)


def mostly_slow(values: Iterable[Any], fast: Collection[Any], why: str) -> list[Any]:
    """All *values* as parameters: the *fast* ones as they are, the others in the slow tier."""
    values = list(values)
    missing = [v for v in fast if v not in values]
    assert not missing, f"{missing} are not among the parameters"

    def left(value: Any) -> Any:
        return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=slow(why))

    return [v if v in fast else left(v) for v in values]


def one_in(of: int, **values: Iterable[Any]) -> Callable[[Mapping[str, Any]], bool]:
    """For a product of these parameters: of each value one case in *of*, beside others each."""
    places = {name: list(some) for name, some in values.items()}
    return lambda p: sum(some.index(p[name]) for name, some in places.items()) % of == 0


@cache
def first_device() -> str:
    """The name of the device that tests take where one is enough."""
    return discovery.get().name


def on_one_device(kept: Collection[str]) -> Callable[[Mapping[str, Any]], bool]:
    """For ``every_device`` and ``name``: all formats on one device, those *kept* on each."""
    return lambda p: p["every_device"] == first_device() or p["name"] in kept


@cache
def _others() -> list[str]:
    """The names of all other devices that run kernels."""
    names = [d.name for d in discovery.listed() if not d.by_reference]
    return [name for name in names if name != first_device()]


def on_two_devices(turn: int) -> Callable[[Mapping[str, Any]], bool]:
    """For ``every_device``: the host, the first device and one of the others, which *turn* chooses.

    Tests of one kind have turns 0, 1, 2 ..., so that each device has some of them.
    """

    def kept(p: Mapping[str, Any]) -> bool:
        others = _others()
        return p["every_device"] not in others or p["every_device"] == others[turn % len(others)]

    return kept


def by_turns(name: str, values: Iterable[Any]) -> Callable[[Mapping[str, Any]], bool]:
    """For ``anywhere``: all of these values on the default device, each on one interpreted one."""
    places = list(values)
    return lambda p: (
        p["anywhere"] == "default"
        or tiers.INTERPRETED.index(p["anywhere"]) == places.index(p[name]) % 2
    )


TWICE = "a second compiler has each routine's kernels, and each compiler those of some routines"
TURNS = "waves of 64 and of 32 lanes have the cases by turns"


def resolved(setting: str, day: date) -> str:
    """The setting with a day's slice in the place of ``rotate``; ValueError if it is none."""
    setting = setting.strip() or "none"
    if setting == "rotate":
        return f"{day.toordinal() % SLICES}/{SLICES}"
    if setting == "few":
        return f"few/{day.toordinal()}"
    part = re.fullmatch(r"(\d+)/([1-9]\d*)", setting)
    known = setting in ("none", "all") or re.fullmatch(r"few/\d+", setting)
    if known or (part and int(part[1]) < int(part[2])):
        return setting
    raise ValueError(f"{SETTING}={setting!r} is not none, few, all, rotate or a slice such as 3/10")


def chosen(costs: Mapping[str, float], setting: str) -> set[str]:
    """The slow tests of these names that a resolved setting asks for."""
    if setting in ("none", "all") or _few(setting):
        return set(costs) if setting == "all" else set()
    number, of = map(int, setting.split("/"))
    return {name for name, day in dealt(costs, of).items() if day == number}


def dealt(costs: Mapping[str, float], of: int) -> dict[str, int]:
    """The day of each of these tests, of which the costs are given: days have like parts of a file.

    The cases of a test are dealt one after another, those that cost most first, and tests of a
    file go on where the one before ended. On which day a file begins is chosen by its name
    alone: other files change nothing.
    """
    days: dict[str, int] = {}
    turns: dict[str, int] = {}
    for name in sorted(costs, key=lambda n: (n.partition("[")[0], -costs[n], n)):
        file = name.partition("::")[0]
        turn = turns.setdefault(file, zlib.crc32(file.encode()))
        turns[file] += 1
        days[name] = turn % of
    return days


def cost(item: pytest.Item) -> float:
    """What a case costs beside others of its test: words of its widest format, times the mark's."""
    whole = float(max((WORDS.get(w, 1) for w in re.split(r"[\[\]-]", item.nodeid)), default=1))
    for mark in item.iter_markers("slow"):
        if weight := mark.kwargs.get("weight"):
            whole *= weight(_parameters(item))
    return whole


def _few(setting: str) -> str:
    """The day of a setting that asks for few cases, as digits."""
    word, _, day = setting.partition("/")
    return day if word == "few" else ""


def one_of_each(names: Iterable[str], day: int) -> set[str]:
    """Of the cases of each test another one each day."""
    cases: dict[str, list[str]] = {}
    for name in names:
        cases.setdefault(name.partition("[")[0], []).append(name)
    return {some[day % len(some)] for some in cases.values()}


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return found


def is_slow(item: pytest.Item) -> bool:
    """Whether a mark leaves this case of a test to the slow tier."""
    for mark in item.iter_markers("slow"):
        unless = mark.kwargs.get("unless")
        if unless is None or not unless(_parameters(item)):
            return True
    return False


def select(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item], int]:
    """Tests to run, tests to leave out, and how many could be left out."""
    setting = os.environ.get(SETTING, "none")
    slow_ones = [i for i in items if is_slow(i)]
    taken = chosen({i.nodeid: cost(i) for i in slow_ones}, setting)
    left = [i for i in slow_ones if i.nodeid not in taken]
    out = set(left)
    kept = [i for i in items if i not in out]
    if day := _few(setting):
        few = one_of_each((i.nodeid for i in kept), int(day))
        left += [i for i in kept if i.nodeid not in few]
        kept = [i for i in kept if i.nodeid in few]
    return kept, left, len(left) + len(slow_ones) - len(out)


def summary(left: int, of: int) -> str:
    """What the end of a run says of the slow tier."""
    setting = os.environ.get(SETTING, "none")
    if _few(setting):
        more = f"{SETTING}=none ci/test runs the fast ones, ci/test --all every one"
        return f"{left} tests left out ({SETTING}={setting}): {more}"
    ran = f"{of - left} of {of} slow tests taken ({SETTING}={setting})"
    return f"{ran}, {left} left out: ci/test --all runs them" if left else ran
