"""Which schedule a call takes, where it is kept, and how it is searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import cli, formats, paths
from portmp.backends.base import Device
from portmp.errors import ArgumentError, InputError
from portmp.routines import problem as search_problem
from portmp.routines.elementwise import routine as space
from portmp.routines.elementwise import schedule as elementwise_schedule
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.gemm import schedule as gemm_schedule
from portmp.routines.gemm.schedule import GemmCall, GemmSchedule, PanelSchedule
from portmp.routines.reduce import schedule as reduce_schedule
from portmp.routines.reduce.schedule import ACROSS, ReduceSchedule, SweepSchedule
from portmp.schedules import base as schedules
from portmp.schedules import database as tuning
from portmp.schedules.database import SHAPES, Task
from portmp.tuner import search
from portmp.tuner import space as spaces

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty database of the user's."""
    monkeypatch.setenv("PORTMP_CONFIG_DIR", str(tmp_path))
    paths.settings_folder.cache_clear()
    tuning.reload()
    yield tmp_path / tuning.FILE
    monkeypatch.undo()
    paths.settings_folder.cache_clear()
    tuning.reload()


def entry(where: dict[str, Any], schedule: Any, **changes: str) -> dict[str, Any]:
    """An entry for the accurate dd product."""
    purpose = {"routine": "gemm", "format": "dd", "accuracy": "accurate", "shape": "large"}
    return {"where": where, **purpose, **changes, "schedule": schedules.as_data(schedule)}


def stored(database: Path, *entries: dict[str, Any]) -> None:
    """Store entries and read the database again."""
    tuning.store(entries, database)
    tuning.reload()


LARGE = Task("gemm", formats.get("dd"), "accurate", "large")


def test_shapes() -> None:
    """Every shape has a class, and every class stands in for itself only once."""
    expected = {
        (4096, 4096): "large",
        (129, 1000): "large",
        (64, 64): "small",
        (1, 1): "small",
        (4096, 1): "columns-1",
        (4096, 2): "columns-8",
        (9, 8): "columns-8",
        (100, 32): "columns-32",
        (1, 2): "rows-1",
        (8, 4096): "rows-8",
        (31, 33): "rows-32",
        (33, 33): "small",
        (128, 33): "small",
    }
    assert {shape: gemm_schedule.gemm_shape(*shape) for shape in expected} == expected
    for chains in SHAPES.values():
        for shape, chain in chains.items():
            assert shape not in chain
            assert len(set(chain)) == len(chain)
            assert set(chain) <= set(chains)


def test_every_task_has_a_schedule(device: Device) -> None:
    """On the device, and as the catalogue shows it without one."""
    for task in spaces.tasks(list(SHAPES), [formats.get(n) for n in formats.NAMES], ["accurate"]):
        tuning.find(task, device).check(task.format, device)
        tuning.default(task)


def test_the_shape_counts_most_then_the_device(
    database: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Device, architecture, vendor or runtime, kind; an exact shape before all of them."""
    usual = tuple(e for e in tuning.packaged() if {key for key, _ in e.where} <= {"kind"})
    monkeypatch.setattr(tuning, "packaged", lambda: usual)
    tuning.reload()
    here = tuning.identity(device)
    marked = [PanelSchedule(rows=n) for n in range(1, 6)]
    steps = [
        {"kind": here["kind"], "vendor": here["vendor"]},
        {"kind": here["kind"], "arch": here["arch"]},
        {"kind": here["kind"], "platform": here["platform"], "arch": here["arch"]},
        here,
    ]
    for schedule, where in zip(marked, steps, strict=False):
        stored(database, entry(where, schedule))
        assert tuning.find(LARGE, device) == schedule
    small = replace(LARGE, shape="small")
    assert tuning.find(small, device) == marked[3]
    stored(database, entry(steps[0], marked[4], shape="small"))
    assert tuning.find(small, device) == marked[4]
    assert tuning.find(replace(LARGE, accuracy="fast"), device) not in marked
    assert tuning.origin(LARGE, device).startswith("user")


def test_entries_of_other_devices_are_not_taken(database: Path, device: Device) -> None:
    """Neither another kind of device nor one that shares nothing with this one."""
    here = tuning.identity(device)
    usual = tuning.find(LARGE, device)
    odd = PanelSchedule(rows=7)
    other = dict.fromkeys(here, "other")
    stored(
        database,
        entry(other | {"kind": here["kind"]}, odd),
        entry(here | {"kind": "other"}, odd),
        entry(other | {"kind": here["kind"], "platform": here["platform"]}, odd),
    )
    assert tuning.find(LARGE, device) == usual


def test_schedules_that_do_not_fit_are_passed_over(database: Path, device: Device) -> None:
    """An entry of a larger device with the same vendor."""
    usual = tuning.find(LARGE, device)
    stored(database, entry(tuning.identity(device), GemmSchedule(256, 256)))
    assert tuning.find(LARGE, device) == usual


def test_schedules_shrink_until_they_fit(device: Device) -> None:
    """Each kind ends at its smallest; every step is allowed where its size fits."""
    form = formats.get("qd")
    largest: list[Any] = [
        GemmSchedule(32, 32, 8, 8, 32, 4, 4, 2, 32, 4),
        PanelSchedule(64, 8, 4, 8),
        ReduceSchedule(32, 1, 8, combine_threads=1024, staged=8),
        FlatSchedule(1024, 4, 8),
        SweepSchedule(8, 8),
    ]
    for schedule in largest:
        count = 0
        smaller = schedule
        while (after := smaller.smaller()) is not None:
            assert after != smaller
            smaller, count = after, count + 1
        assert 3 < count < 40
        smaller.check(form, device)


def test_a_call_takes_the_users_schedule(
    database: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And gives the same bits."""
    from portmp.routines.gemm import launch as gemm_launch

    a = mp.array(np.arange(12.0).reshape(3, 4) / 7, "dd", device)
    before = (a @ a.T).to_limbs()
    stored(database, entry(tuning.identity(device), PanelSchedule(2, 1, 1, 1), shape="small"))
    seen = []
    real = gemm_launch._launch
    monkeypatch.setattr(
        gemm_launch, "_launch", lambda f, s, *rest: (seen.append(s), real(f, s, *rest))
    )
    after = (a @ a.T).to_limbs()
    assert set(seen) == {PanelSchedule(2, 1, 1, 1)}  # planned again once it is compiled
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))


def test_storing_replaces_and_keeps(database: Path) -> None:
    """One entry for a device and purpose; those of others stay, and of other shapes."""
    one, two = {"kind": "gpu", "device": "one"}, {"kind": "gpu", "device": "two"}
    tuning.store([entry(one, PanelSchedule(1)), entry(two, PanelSchedule(2))], database)
    tuning.store(
        [entry(one, PanelSchedule(3)), entry(one, PanelSchedule(4), shape="small")], database
    )
    kept = json.loads(database.read_text())["entries"]
    found = {(e["where"]["device"], e["shape"]): e["schedule"]["rows"] for e in kept}
    assert found == {("one", "large"): 3, ("two", "large"): 2, ("one", "small"): 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a file of schedules"),
        ("[]", "not a file of schedules"),
        ('{"version": 3, "entries": []}', "version 3, 1 and 2 are read"),
        ('{"version": 1}', "'entries' is missing"),
        ('{"version": 1, "entries": [{}]}', "'where' is missing"),
        ('{"version": 1, "entries": [7]}', "not a file of schedules"),
    ],
)
def test_bad_databases(database: Path, device: Device, text: str, message: str) -> None:
    """Are named, with what is wrong."""
    database.write_text(text)
    tuning.reload()
    with pytest.raises(InputError, match=message) as caught:
        tuning.find(LARGE, device)
    assert str(database) in str(caught.value)
    with pytest.raises(InputError, match=message):
        tuning.store([], database)
    assert database.read_text() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "nothing"}, "kind 'nothing' given"),
        ({"kind": ["tiles"]}, "kind .* given"),
        ({"warp": 3}, "warp=3 given, panels has the integers rows, "),
        ({"rows": "8"}, "rows='8' given"),
        ({"rows": True}, "rows=True given"),
    ],
)
def test_bad_schedules_in_databases(change: dict[str, Any], message: str) -> None:
    """Are refused with what is allowed."""
    data = {"kind": "panels", "rows": 8} | change
    with pytest.raises(ArgumentError, match=message):
        schedules.from_data(data)
    where = {"kind": "cpu"}
    text = json.dumps(
        {"version": 1, "entries": [entry(where, PanelSchedule()) | {"schedule": data}]}
    )
    with pytest.raises(InputError, match=message):
        tuning.parsed(text, "file", "user")


def test_bad_purposes_in_databases() -> None:
    """A shape of another routine, a device without a kind."""
    for bad in (
        entry({"kind": "cpu"}, PanelSchedule(), shape="flat"),
        entry({"kind": "cpu"}, PanelSchedule(), routine="trsm"),
        entry({"device": "x"}, PanelSchedule()),
        entry({"kind": "cpu", "arch": 7}, PanelSchedule()),
    ):
        with pytest.raises(InputError, match=r"given|not iterable"):
            tuning.parsed(json.dumps({"version": 1, "entries": [bad]}), "file", "user")


def test_older_databases_are_read(database: Path, device: Device) -> None:
    """Version 1 called a field otherwise; what is stored beside it is of today."""
    old = entry({"kind": device.properties.kind}, FlatSchedule(32), routine="elementwise")
    old["shape"] = "flat"
    old["schedule"]["neighbours"] = old["schedule"].pop("elements_per_access")
    text = json.dumps({"version": 1, "entries": [old]})
    (found,) = tuning.parsed(text, "file", "user")
    assert found.schedule == FlatSchedule(32)
    database.write_text(text)
    tuning.store([], database)
    assert "neighbours" not in database.read_text()
    assert tuning.parsed(database.read_text(), "file", "user") == [found]


def test_data_round_trip() -> None:
    """What follows from the call is not kept."""
    for schedule in (GemmSchedule(8, 8), PanelSchedule(3), ReduceSchedule(2), FlatSchedule(64)):
        assert schedules.from_data(json.loads(json.dumps(schedules.as_data(schedule)))) == schedule
    assert (
        schedules.from_data(schedules.as_data(GemmSchedule(call=GemmCall(split=True))))
        == GemmSchedule()
    )


# --- the search ------------------------------------------------------------------------------


def test_spaces_hold_only_what_fits(device: Device) -> None:
    """Before anything is compiled; and each group offers a change."""
    for routine, chains in SHAPES.items():
        for shape in chains:
            task = Task(routine, formats.get("dd"), "accurate", shape)
            start = tuning.find(task, device)
            found = [
                s
                for group in spaces.space(task, start)
                for s in spaces.candidates(task, start, group, device)
            ]
            assert found
            assert start not in found
            for schedule in found:
                schedule.check(task.format, device)


def test_spaces_of_gpus_respect_registers(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that would not fit a thread or a compute unit are not tried."""
    facts = replace(device.properties, kind="gpu", max_threads=1024, shared_memory=49152)
    monkeypatch.setattr(device, "properties", facts)
    task = Task("gemm", formats.get("qd"), "accurate", "large")
    start = GemmSchedule(16, 16, 2, 2, 8, 2, 2, 1, 4, 1)
    assert spaces.allowed(task, start, device)
    assert not spaces.allowed(task, replace(start, thread_m=8, thread_n=4), device)
    assert not spaces.allowed(task, replace(start, blocks=4), device)
    tried = {
        (s.thread_m, s.thread_n)
        for s in spaces.candidates(task, start, spaces.space(task, start)[1], device)
        if isinstance(s, GemmSchedule)
    }
    assert (1, 1) in tried
    assert (8, 4) not in tried


def test_reductions_are_searched_with_and_without_neighbours(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From either kind the first group leads to the other one, and groups correspond."""
    facts = replace(device.properties, kind="gpu", max_threads=1024, shared_memory=49152)
    monkeypatch.setattr(device, "properties", facts)
    task = Task("reduce", formats.get("d+s"), "accurate", "along")
    apart, beside = ReduceSchedule(), ReduceSchedule(elements_per_access=4)
    assert len(spaces.space(task, apart)) == len(spaces.space(task, beside))
    for start in (apart, beside):
        found = spaces.candidates(task, start, spaces.space(task, start)[0], device)
        assert {s.elements_per_access for s in found if isinstance(s, ReduceSchedule)} == {1, 4}
    across = ReduceSchedule(call=ACROSS)
    kept = spaces.candidates(task, across, spaces.space(task, across)[0], device)
    assert {s.elements_per_access for s in kept if isinstance(s, ReduceSchedule)} == {1}


def test_the_shape_says_how_reductions_read(every_device: Device) -> None:
    """What is found reads across rows for that shape alone, and so does what is searched."""
    for shape in SHAPES["reduce"]:
        task = Task("reduce", formats.get("ts"), "accurate", shape)
        found = tuning.find(task, every_device)
        assert isinstance(found, (ReduceSchedule, SweepSchedule))
        assert found.call.across == (shape == "across")
        assert reduce_schedule.reduce(task.format, every_device, "accurate", shape) == found


def test_search(
    database: Path,
    device: Device,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Finds the fastest by the clock it is given, stores it, and resumes without new trials."""
    monkeypatch.setattr(space, "FLAT", ((("threads",), ((32,), (64,), (128,))),))
    trials = []

    def slow(schedule: FlatSchedule) -> float:
        trials.append(schedule)
        return 1.0 / schedule.threads if schedule.threads < 128 else 1.0

    monkeypatch.setattr(search.TaskSearch, "reading", lambda self, schedule, *rest: slow(schedule))
    task = Task("elementwise", formats.get("float32"), "accurate", "flat")
    start = tuning.find(task, device)
    words = ["tune", "axpy", "--format", "float32", "--device", device.name, "--workers", "1"]
    assert cli.main([*words, "--again"]) == 0
    shown = capsys.readouterr().out
    assert "threads=64" in shown
    assert str(database) in shown
    assert tuning.find(task, device) == replace(start, threads=64)
    found = json.loads(database.read_text())["entries"]
    assert [e["schedule"]["threads"] for e in found] == [64]
    assert found[0]["measured"]["driver"] == device.properties.driver
    count = len(trials)
    assert cli.main(words) == 0
    assert len(trials) < 2 * count
    capsys.readouterr()
    assert cli.main(["tune", "axpy", "--format", "float32", "--device", device.name, "--show"]) == 0
    assert "user" in capsys.readouterr().out


def test_wrong_bits_end_with_a_failure(
    database: Path,
    device: Device,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A candidate that changes the result is never stored, and the exit status says so."""
    monkeypatch.setattr(space, "FLAT", ((("threads",), ((32,),)),))
    real = search_problem.Problem.__init__

    def broken(self: Any, shape: Any, operations: int, nbytes: int, run: Any, modules: Any) -> None:
        def other(schedule: Any) -> Any:
            result = run(schedule)
            if schedule.threads == 32:
                result.write([p + 1 for p in result.read_dense()])
            return result

        real(self, shape, operations, nbytes, other, modules)

    monkeypatch.setattr(search_problem.Problem, "__init__", broken)
    words = ["tune", "axpy", "--format", "float32", "--device", device.name, "--workers", "1"]
    assert cli.main([*words, "--again"]) == 1
    assert "bits differ" in capsys.readouterr().out
    task = Task("elementwise", formats.get("float32"), "accurate", "flat")
    assert elementwise_schedule.flat(task.format, device).threads != 32


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["axpi"], "routine: 'axpi' given (did you mean 'axpy'?)"),
        (["--format", "ddd"], "unknown format 'ddd'"),
        (["--accuracy", "fst"], "fst"),
        (["--shape", "larg"], "did you mean 'large'?"),
        (["axpy", "--shape", "large"], "--shape"),
        (["--passes", "0"], "--passes: 0 given"),
        (["--seconds", "-3"], "--seconds: -3"),
        (["--device", "opencl:99"], "opencl:99"),
        (["-o", "missing/folder/file.json"], "missing/folder"),
    ],
)
def test_bad_use(words: list[str], message: str, capsys: Captured) -> None:
    """One clear line, status 2."""
    assert cli.main(["tune", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "shape", "taken"),
    [
        ("slfp64in16b_rz", "along", "slfp64in16b"),
        ("slfp64in40b", "one", "stored"),
        ("slfp64in48b", "along", "stored"),
        ("slfp64in48b", "across", "float64"),
        ("tsin80b_rz", "along", "tsin80b"),
        ("float64", "one", "float64x1"),
    ],
)
def test_storage_formats_have_reductions_of_their_own(name: str, shape: str, taken: str) -> None:
    """Even on a device for which their parent's were measured."""
    h200 = {
        "platform": "cuda",
        "kind": "gpu",
        "device": "NVIDIA H200",
        "arch": "sm_90",
        "vendor": "NVIDIA",
    }
    task = Task("reduce", formats.get(name), "accurate", shape)
    assert next(tuning._candidates(h200, task)).format == taken


@pytest.mark.parametrize(
    "name", ["float32", "float64", "ds", "ts", "qs", "dd", "td", "qd", "d+s", "slfp64in48b"]
)
def test_products_with_a_vector_leave_no_thread_idle(name: str) -> None:
    """On GPUs each thread of a block has an element."""
    for shape, side in (("columns-1", "n"), ("rows-1", "m")):
        schedule = tuning.default(Task("gemm", formats.get(name), "accurate", shape))
        assert getattr(schedule, f"tile_{side}") == 1


@pytest.mark.parametrize(("shape", "vectors"), [("along", "float64"), ("one", "slfp64in16b")])
def test_a_short_matrix_is_timed_beside_vectors_of_its_parent(
    shape: str, vectors: str, every_device: Device
) -> None:
    task = Task("reduce", formats.get("slfp64in16b"), "accurate", shape)
    problem = spaces.problem(task, every_device, True)
    assert problem.run(tuning.find(task, every_device)).format.name == vectors
