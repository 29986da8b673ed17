"""Which schedule a call takes: the user's measurements, those in the package, defaults.

An entry says for which devices, routine, format, accuracy and class of shapes a schedule
was found. The class of shapes counts most (a schedule for large products wastes most of
its work on narrow ones), then how well the entry fits the device: the device itself, its
architecture, its vendor or runtime, any device of its kind. Bits never depend on it.
"""

import importlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from portmp import paths
from portmp.backends.base import Device, per_device
from portmp.errors import ArgumentError, DeviceError, InputError
from portmp.formats import Format, rounded_as
from portmp.schedules import base as schedules
from portmp.schedules.base import Schedule, widths

VERSION = 2
_RENAMED = {"neighbours": "elements_per_access"}
"""What version 1 called a field."""
FILE = "schedules.json"
LEVELS = (
    ("platform", "device"),
    ("platform", "arch"),
    ("device",),
    ("arch",),
    ("platform", "vendor"),
    ("vendor",),
    ("platform",),
    (),
)
"""How an entry fits a device, best first: by the fields that it shares with it."""

DEFAULTS = (("platform",), ())
"""Levels for entries that name no device."""

SHAPES: dict[str, Mapping[str, tuple[str, ...]]] = {}
"""Classes of shapes of each routine, each with those that stand in for it, nearest first."""

_NAMES: dict[str, Callable[[Format], list[tuple[str, ...]]]] = {}


def register(
    routine: str,
    shapes: Mapping[str, tuple[str, ...]],
    names: Callable[[Format], list[tuple[str, ...]]] | None = None,
) -> Mapping[str, tuple[str, ...]]:
    """Make a routine's classes of shapes known; returns them.

    *names* says what entries may call a format (default: ``shared_names``): a list of groups, best
    first, whose names are equally good.
    """
    SHAPES[routine] = shapes
    _NAMES[routine] = names or shared_names
    return shapes


@dataclass(frozen=True)
class Task:
    """What a schedule is for. *routine*: one that registered its classes of shapes."""

    routine: str
    format: Format
    accuracy: str
    shape: str

    def __post_init__(self) -> None:
        if not isinstance(self.accuracy, str):
            self.format.accumulator(self.accuracy)  # which says what is allowed

    def __str__(self) -> str:
        suffix = "" if self.accuracy == "accurate" else f" {self.accuracy}"
        return f"{self.routine} {self.format.name}{suffix}, {self.shape}"


# --- entries ---------------------------------------------------------------------------------


def identity(device: Device) -> dict[str, str]:
    """What entries are compared with. For CPUs the OpenCL runtime counts as the vendor."""
    facts = device.properties
    runtime = " ".join(facts.extra.get("platform", "").split()[:3])
    return {
        "platform": device.platform,
        "kind": facts.kind,
        "device": facts.name if facts.kind == "gpu" else f"{facts.name}, {facts.driver}",
        "arch": facts.arch,
        "vendor": facts.vendor if facts.kind == "gpu" else runtime,
    }


IDENTITY = ("platform", "kind", "device", "arch", "vendor")
"""What ``identity`` tells."""
Purpose = tuple[str, str, str, str]
Key = tuple[tuple[str, ...], tuple[str, ...], Purpose]


@dataclass(frozen=True)
class Entry:
    """A schedule, what it is for, and where it was measured (nothing for a default)."""

    where: tuple[tuple[str, tuple[str, ...]], ...]
    routine: str
    format: str
    accuracy: str
    shape: str
    schedule: Schedule
    origin: str

    def answers(self) -> Iterator[Key]:
        """What a lookup may ask for to find this entry."""
        where = dict(self.where)
        for level in LEVELS:
            # What was measured on one device is no default for all.
            if set(where) == {*level, "kind"} or (
                set(level) <= set(where) and level not in DEFAULTS
            ):
                for values in itertools.product(*(where[name] for name in (*level, "kind"))):
                    yield level, values, self.purpose

    @property
    def purpose(self) -> Purpose:
        """Routine, format, accuracy, shape."""
        return self.routine, self.format, self.accuracy, self.shape


@cache
def _load_routines() -> None:
    """Entries may be of any routine: those with schedules register their kinds when loaded."""
    folder = resources.files("portmp").joinpath("routines")
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.joinpath("schedule.py").is_file():
            importlib.import_module(f"portmp.routines.{one.name}.schedule")


def parsed(text: str, source: str, name: str) -> list[Entry]:
    """The entries of the file *source*, whose *name* says where a schedule comes from.

    InputError for one that is none.
    """
    _load_routines()
    try:
        data = json.loads(text)
        if data["version"] not in (1, VERSION):
            raise InputError(f"{source}: version {data['version']!r}, 1 and {VERSION} are read")
        for item in data.get("kernels", []):
            _check_kernel(item)
        return [_entry(_today(item), name) for item in data["entries"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{source}: not a file of schedules: {what}") from None


def _today(item: dict[str, Any]) -> dict[str, Any]:
    """An entry with the names that fields have today."""
    given = item.get("schedule", {})
    renamed = {_RENAMED.get(name, name): value for name, value in given.items()}
    return {**item, "schedule": renamed}


def _entry(item: dict[str, Any], source: str) -> Entry:
    where = {
        name: (value,) if isinstance(value, str) else tuple(value)
        for name, value in item["where"].items()
    }
    if "kind" not in where or any(not isinstance(v, str) for vs in where.values() for v in vs):
        raise ArgumentError(f"where: {item['where']!r} given, texts are needed, kind among them")
    shapes = SHAPES.get(item["routine"], {})
    if item["shape"] not in shapes:
        raise ArgumentError(
            f"routine {item['routine']!r}, shape {item['shape']!r} given; allowed are "
            + "; ".join(f"{routine}: {', '.join(known)}" for routine, known in SHAPES.items())
        )
    schedule, measured = schedules.from_data(item["schedule"]), item.get("measured")
    origin = f"{source} {measured['date']}" if measured else f"{source} default"
    purpose = item["routine"], item["format"], item.get("accuracy", ""), item["shape"]
    return Entry(tuple(sorted(where.items())), *purpose, schedule, origin)


def _check_kernel(item: dict[str, Any]) -> None:
    """ArgumentError or KeyError for what is no entry of a kernel of the user's."""
    for name in ("kernel", "template", "text", "compiler"):
        if not isinstance(item[name], str):
            raise ArgumentError(f"kernels: {name} {item[name]!r} given, a text is needed")
    values, block = item["schedule"]["values"], item["schedule"]["block"]
    whole = isinstance(block, list) and all(type(n) is int and 0 < n < 2**31 for n in block)
    if not (whole and len(block) == 3):
        raise ArgumentError(f"kernels: block {block!r} given, three positive integers are needed")
    if not all(isinstance(value, (int, float, str)) for value in values.values()):
        raise ArgumentError(f"kernels: values {values!r} given, numbers and texts are needed")
    for place, kept in ((item["where"], IDENTITY), (item["measured"], ("date",))):
        for name in kept:
            if not isinstance(place[name], str):
                raise ArgumentError(f"kernels: {name} {place[name]!r} given, a text is needed")


# --- databases -------------------------------------------------------------------------------


def user_file() -> Path | None:
    """The user's database, or None where there is no folder for it."""
    folder = paths.settings_folder()
    return folder / FILE if folder else None


@cache
def packaged() -> tuple[Entry, ...]:
    """The entries in the package."""
    text = resources.files("portmp").joinpath(f"data/{FILE}").read_text()
    return tuple(parsed(text, FILE, "package"))


@cache
def _of_user() -> tuple[tuple[Entry, ...], tuple[dict[str, Any], ...]]:
    """The user's entries for routines and for kernels of the user's own, read once."""
    path = user_file()
    if path is None or not path.is_file():
        return (), ()
    content = _content(path)
    entries = tuple(parsed(content, str(path), "user"))
    return entries, tuple(json.loads(content).get("kernels", ()))


def users() -> tuple[Entry, ...]:
    """The user's entries."""
    return _of_user()[0]


def kernels() -> tuple[dict[str, Any], ...]:
    """The user's entries for kernels of the user's own (portmp.kernels.tuned)."""
    return _of_user()[1]


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text (UTF-8)"
        raise InputError(f"{path}: cannot be read: {reason}") from None


@cache
def _index() -> dict[Key, Entry]:
    found: dict[Key, Entry] = {}
    for entry in (*users(), *packaged()):
        for key in entry.answers():
            found.setdefault(key, entry)
    return found


class _Edition:
    """Counts how often the databases were read: plans of an earlier reading are old."""

    number = 0


edition = _Edition()


def reload() -> None:
    """Read the databases again."""
    edition.number += 1
    _of_user.cache_clear()
    _index.cache_clear()
    _found.cache_clear()


def store(
    entries: Iterable[dict[str, Any]], path: Path, kernels: Iterable[dict[str, Any]] = ()
) -> None:
    """Add entries to a database, in place of those for the same device and purpose.

    *kernels*: entries for kernels of the user's own.
    """

    def purpose(item: dict[str, Any]) -> str:
        kept = {k: v for k, v in item.items() if k not in ("schedule", "measured")}
        return json.dumps(kept, sort_keys=True)

    def listed(items: Iterable[dict[str, Any]]) -> str:
        merged = {purpose(item): item for item in items}
        return "[\n" + ",\n".join(json.dumps(merged[key]) for key in sorted(merged)) + "\n]"

    paths.make_private(path.parent)
    with paths.locked(path):
        old: dict[str, Any] = {"entries": []}
        if path.is_file():
            content = _content(path)
            parsed(content, str(path), "")
            old = json.loads(content)
        own = [*old.get("kernels", ()), *kernels]
        text = f'{{"version": {VERSION}, "entries": '
        text += listed([*map(_today, old["entries"]), *entries])
        text += f', "kernels": {listed(own)}' if own else ""
        paths.replace_file(path, f"{text}}}\n".encode())


# --- lookup ----------------------------------------------------------------------------------


def stored_names(form: Format) -> tuple[str, ...]:
    """What entries call a storage format: itself, all of its bits, all. Nothing for others.

    Truncated ones read as those that round do.
    """
    if not form.coded:
        return ()
    rounded = rounded_as(form, "nearest").name
    return (form.name, rounded, f"stored{8 * form.itemsize}", "stored")


def usual_names(form: Format) -> tuple[str, ...]:
    """What entries call the format that computes: itself, or all of its word and length."""
    parent = form.arithmetic
    return (parent.name, "branching" if form.scalar else f"{form.word}x{form.limbs}")


def shared_names(form: Format) -> list[tuple[str, ...]]:
    """Those of routines whose storage formats run as their parents do, unless one was measured."""
    return [(*stored_names(form)[:2], *usual_names(form))]


def _candidates(where: dict[str, str], task: Task) -> Iterator[Entry]:
    """Entries for *task*, best first."""
    index = _index()
    shapes = (task.shape, *SHAPES[task.routine][task.shape])
    groups = _NAMES[task.routine](task.format)
    for shape, names, level in itertools.product(shapes, groups, LEVELS):
        if not set(level) <= set(where):
            continue
        values = tuple(where[name] for name in (*level, "kind"))
        for name, accuracy in itertools.product(names, (task.accuracy, "")):
            entry = index.get((level, values, (task.routine, name, accuracy, shape)))
            if entry is not None:
                yield entry


def default(task: Task) -> Schedule:
    """The schedule of *task* without a device: that of a large GPU."""
    return next(_candidates({"kind": "gpu", "platform": "cuda"}, task)).schedule


def find(task: Task, device: Device | None) -> Any:
    """The schedule of *task* on *device*: the best entry that fits, else a default made smaller.

    It is of one of the classes that the routine registered. Without a device: a large GPU's. Where
    no smaller one fits either, as in blocks of few threads: a CPU's, for one work-item.
    """
    return _found(device, task)[0] if device else default(task)


def origin(task: Task, device: Device) -> str:
    """Where that schedule comes from."""
    return _found(device, task)[1]


@per_device
def _found(device: Device, task: Task) -> tuple[Schedule, str]:
    schedule = None
    for entry in _candidates(identity(device), task):
        schedule = entry.schedule.narrowed(widths(task.format, device)).for_shape(task.shape)
        if fits(schedule, task.format, device):
            return schedule, entry.origin
    while schedule is not None and not fits(schedule, task.format, device):
        schedule = schedule.smaller()
    if schedule is not None:
        return schedule, "default, made smaller"
    for entry in _candidates({"kind": "cpu"}, task):
        schedule = entry.schedule.narrowed(widths(task.format, device)).for_shape(task.shape)
        if fits(schedule, task.format, device):
            return schedule, "default, for one work-item"
    raise DeviceError(
        f"{device.name} has no room for any schedule of {task}: blocks of "
        f"{device.properties.max_threads} threads, {device.properties.shared_memory} bytes shared"
    )


def fits(schedule: Schedule, form: Format, device: Device) -> bool:
    """Whether a schedule fits the definition and the device."""
    try:
        schedule.check(form, device)
    except ArgumentError:
        return False
    return True
