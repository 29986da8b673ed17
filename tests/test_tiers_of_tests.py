"""A run of the tests: slices of slow ones, a cache of its own; faults that fit the code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import seeded_faults
import slow
import tiers
import times

from portmp import paths
from portmp.schedules import database

COSTS = {
    f"tests/test_{file}.py::test_some[{device}-{form}-{part}]": words * (1.0 if part else 8.0)
    for file in ("any", "other")
    for form, words in slow.WORDS.items()
    for device in ("cpu:0", "opencl:0", "opencl:1", "opencl:2")
    for part in range(2)
}


def test_each_slow_test_has_its_day() -> None:
    """In as many days as there are slices all of them run, and one day's part can be repeated."""
    days = [slow.resolved("rotate", date(2026, 2, 26) + timedelta(n)) for n in range(slow.SLICES)]
    taken = [slow.chosen(COSTS, day) for day in days]
    assert sum(map(len, taken)) == len(COSTS) and set().union(*taken) == set(COSTS)
    assert all(taken)
    assert slow.resolved(days[0], date(2000, 1, 1)) == days[0]


def test_days_cost_alike() -> None:
    """What costs most is dealt out first; a file's tests have their days without other files."""
    days = slow.dealt(COSTS, slow.SLICES)
    for file in ("any", "other"):
        mine = {n: c for n, c in COSTS.items() if f"_{file}.py" in n}
        assert {n: days[n] for n in mine} == slow.dealt(mine, slow.SLICES)
        costly = sorted(mine, key=lambda n: (-mine[n], n))[: slow.SLICES]
        assert {days[n] for n in costly} == {*range(slow.SLICES)}
        sums = [sum(c for n, c in mine.items() if days[n] == d) for d in range(slow.SLICES)]
        assert max(sums) - min(sums) <= max(mine.values())
    few = slow.dealt({f"a.py::test_{k}[{i}]": 1.0 for k in range(14) for i in range(4)}, 28)
    assert Counter(Counter(few.values()).values()) == {2: 28}
    assert len({day for name, day in few.items() if "_5[" in name}) == 4


def test_costs_of_cases() -> None:
    """Words of the widest format of the name, times what the mark says of the parameters."""
    case: Any = SimpleNamespace(
        nodeid="tests/test_a.py::test_b[opencl:0-ds-cqd-rest]",
        callspec=SimpleNamespace(params={"part": "rest"}),
        iter_markers=lambda name: [slow.slow("why", weight=lambda p: len(p["part"])).mark],
    )
    assert slow.cost(case) == 8 * 4
    plain: Any = SimpleNamespace(nodeid="tests/test_dd.py::test_x", iter_markers=lambda name: [])
    assert slow.cost(plain) == 1


def test_a_case_of_each_test() -> None:
    """Another one each day, so that after some days each had its turn."""
    names = ["a.py::x", *(f"a.py::y[{i}]" for i in range(5)), "a.py::z[1]", "a.py::z[2]"]
    days = [slow.one_of_each(names, day) for day in range(5)]
    assert all(len(day) == 3 and "a.py::x" in day for day in days)
    assert set().union(*days) == set(names)
    assert slow.resolved("few", date(2026, 2, 26)) == f"few/{date(2026, 2, 26).toordinal()}"
    assert not slow.chosen(COSTS, "few/3")


def test_settings_of_the_slow_tier() -> None:
    """None of them by default, all, and no word that means nothing."""
    assert slow.resolved("", date.today()) == "none"
    assert not slow.chosen(COSTS, "none")
    assert slow.chosen(COSTS, "all") == set(COSTS)
    for word in ("some", "few/", "12/12", "3/", "-1/3", "0/0"):
        with pytest.raises(ValueError, match="PORTMP_SLOW"):
            slow.resolved(word, date.today())


def test_representative_values_are_values() -> None:
    """A name that no parameter has is an error, not a test that silently becomes slow."""
    found = slow.mostly_slow(["a", "b"], ["a"], "why")
    assert found[0] == "a" and found[1].values == ("b",)
    with pytest.raises(AssertionError, match="not among"):
        slow.mostly_slow(["a", "b"], ["c"], "why")


def test_devices_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first device and the host have all cases; of the others each has some."""
    names, others = ("host:0", "first", "b", "c"), ["b", "c"]
    monkeypatch.setattr(slow, "_others", lambda: others)

    def kept(turn: int) -> set[str]:
        return {name for name in names if slow.on_two_devices(turn)({"every_device": name})}

    assert [kept(turn) for turn in range(3)] == [{*names} - {"c"}, {*names} - {"b"}, kept(0)]
    others.clear()
    assert kept(1) == {*names}
    case, devices = slow.by_turns("n", (1, 7, 40)), ("default", *tiers.INTERPRETED)
    found = {n: [d for d in devices if case({"anywhere": d, "n": n})] for n in (1, 7, 40)}
    default, wide, narrow = devices
    assert found == {1: [default, wide], 7: [default, narrow], 40: [default, wide]}


def test_a_run_is_apart_from_its_user() -> None:
    """No device, schedules or kernels of the user's."""
    folder = paths.settings_folder()
    assert folder is not None and folder.is_dir() and not list(folder.iterdir())
    assert database.users() == ()
    cache = paths.cache_folder()
    assert cache is not None and cache != Path("~/.cache/portmp").expanduser()
    assert "POCL_CACHE_DIR" not in os.environ


def test_seeded_faults_fit_the_code() -> None:
    """Each has one place in its file, a name of its own, and tests that exist."""
    root = seeded_faults.ROOT
    assert len({f.name for f in seeded_faults.FAULTS}) == len(seeded_faults.FAULTS) >= 40
    for fault in seeded_faults.FAULTS:
        text = (root / fault.file).read_text(encoding="utf-8")
        assert fault.changed(text) != text
        assert all((root / "tests" / name).is_file() for name in fault.tests.split()), fault.name


def test_times_of_files() -> None:
    """Files that take long one by one, longest first, the others together; sum and budget."""
    reports = [
        SimpleNamespace(nodeid=f"tests/test_{i % 12}.py::test_x[{i}]", processor=0.5 * (i % 12))
        for i in range(24)
    ]
    reports.append(SimpleNamespace(nodeid="tests/test_11.py::test_y"))  # that of another part
    files = times.by_file(reports)
    assert files["tests/test_3.py"] == 3 and sum(files.values()) == 66
    first, *lines, last = times.table(files, 70.0)
    assert first.endswith("seconds:")
    assert [line.split(maxsplit=1)[0] for line in lines] == [
        "11.0",
        "10.0",
        "9.0",
        "8.0",
        "7.0",
        "6.0",
        "5.0",
        "10.0",
        "4.0",
    ]
    assert lines[7].endswith("5 other files")
    assert last.startswith(f"70 s of a budget of {times.BUDGET} s")
    assert times.table({"tests/test_1.py": 99.0}, 99.0) == []


def test_processor_time_is_of_all_processes() -> None:
    """What a process takes that is waited for later counts while it runs, and once."""
    before = times.processor()
    count = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", count], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        living = times.processor() - before
    assert 0.4 < living <= times.processor() - before
