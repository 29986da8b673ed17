"""Schedules: how a kernel is cut up. They change speed, never bits.

Plain data with checks: what the definition and a device allow. Routines have classes of their
own, which register here; which schedule a call takes is the business of ``database``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from typing import Any, ClassVar, Self, TypeVar, cast

from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.codegen.packed import COUNT
from portmp.errors import ArgumentError, choice
from portmp.formats import Format


class Schedule(ABC):
    """How a routine's kernel is cut up for a device: frozen, of integers.

    ``kind`` is what it is called in a file. ``call`` holds what follows from the shape and the
    strides of a call: no search chooses it, and no file keeps it.
    """

    kind: ClassVar[str]
    halved: ClassVar[tuple[str, ...]] = ()
    """Fields that smaller ones have halves of, the first that are above 1 first."""
    call: object = None

    @abstractmethod
    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""

    def smaller(self) -> Self | None:
        """The next smaller one, for a device that this one does not fit; None at the smallest."""
        lengths = {name: getattr(self, name) for name in self.halved}
        name = next((name for name, length in lengths.items() if length > 1), None)
        return self._changed(**{name: lengths[name] // 2}) if name else None

    def narrowed(self, widths: Collection[int]) -> Self:
        """The same with vectors of one of *widths*: defaults are written for wide ones."""
        own: Any = self
        if "width" not in {field.name for field in fields(own)}:
            return self
        return self._changed(width=widest(own.width, widths))

    def _changed(self, **fields: int) -> Self:
        found: Self = replace(cast("Any", self), **fields)
        return found

    def for_shape(self, shape: str) -> Self:
        """The same for a class of shapes: entries do not say how operands are read."""
        return self

    def consistent(self) -> Self:
        """The same with fields that follow from others set right."""
        return self

    def affordable(self, form: Format) -> bool:
        """Whether a GPU's registers hold what a thread needs, before anything is compiled."""
        return True


Kind = TypeVar("Kind", bound=type[Schedule])
KINDS: dict[str, type[Schedule]] = {}
"""What a schedule is called in a file."""


def kind(name: str) -> Callable[[Kind], Kind]:
    """Register a class of schedules, a frozen dataclass, under the name that files use."""

    def registered(cls: Kind) -> Kind:
        cls.kind = name
        KINDS[name] = cls
        return cls

    return registered


def check_class(schedule: object, *classes: type[Schedule]) -> None:
    """Raise ArgumentError where *schedule* is neither None nor of one of *classes*."""
    if not isinstance(schedule, (*classes, type(None))):
        names = " or ".join(one.__name__ for one in classes)
        raise ArgumentError(f"schedule: {schedule!r} given, {names} is allowed")


def widest(width: int, widths: Collection[int]) -> int:
    """The widest of *widths* that is no wider than *width*."""
    return max(w for w in widths if w <= width)


def check_positive(schedule: Schedule, *fields: str) -> None:
    """Raise ArgumentError where a field is no positive integer."""
    for name in fields:
        value = getattr(schedule, name)
        if not isinstance(value, int) or value < 1:
            raise ArgumentError(f"schedule: {name} {value!r} given, positive integers are allowed")


def check_block(threads: int, shared: int, device: Device) -> None:
    """Raise ArgumentError where a block does not fit the device."""
    limit = device.properties
    if threads > limit.max_threads:
        raise ArgumentError(
            f"schedule: {threads} threads a block, {device.name} allows {limit.max_threads}"
        )
    most = int(limit.extra.get("static_shared_memory", limit.shared_memory))
    if shared > most:
        raise ArgumentError(f"schedule: {shared} bytes of shared memory, {device.name} has {most}")


def widths(form: Format, device: Device) -> tuple[int, ...]:
    """The vector widths that the format, the platform and the device's compiler have."""
    return (1,) if form.scalar else platform.get(device.platform).widths(device.traits, form.word)


def check_width(width: int, form: Format, device: Device) -> None:
    """Refuse a vector width that the platform or the format does not have."""
    allowed = widths(form, device)
    if width not in allowed:
        known = ", ".join(map(str, allowed))
        raise ArgumentError(
            f"schedule: width {width} given, {form.name} on {device.name} has {known}"
        )


ELEMENTS_PER_ACCESS = (1, COUNT)
"""Elements stored short that a work-item may take side by side: whole words of each part."""


def check_elements_per_access(count: int) -> None:
    """Raise ArgumentError for another number of elements side by side."""
    if type(count) is not int or count not in ELEMENTS_PER_ACCESS:
        allowed = ", ".join(map(str, ELEMENTS_PER_ACCESS))
        raise ArgumentError(f"schedule: elements_per_access {count} given, allowed are {allowed}")


def _kept(cls: type[Schedule]) -> list[str]:
    """The fields that files keep."""
    return [f.name for f in fields(cls) if f.name != "call"]  # type: ignore[arg-type]


def as_data(schedule: Schedule) -> dict[str, Any]:
    """Plain data for a file."""
    return {"kind": schedule.kind, **{k: getattr(schedule, k) for k in _kept(type(schedule))}}


def from_data(data: dict[str, Any]) -> Schedule:
    """The schedule that *data* describes; ArgumentError where it describes none."""
    given = dict(data)
    kind = given.pop("kind", None)
    cls = KINDS[choice("schedule: kind", kind, KINDS)]
    known = _kept(cls)
    for name, value in given.items():
        if name not in known or isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(
                f"schedule: {name}={value!r} given, {kind} has the integers {', '.join(known)}"
            )
    return cls(**given)
