"""Schedules of elementwise kernels."""

from __future__ import annotations

from dataclasses import dataclass

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.schedules.base import (
    Schedule,
    check_block,
    check_elements_per_access,
    check_positive,
    check_width,
    kind,
)
from portmp.schedules.database import Task, find, register, shared_names, stored_names


@kind("flat")
@dataclass(frozen=True)
class FlatSchedule(Schedule):
    """Elementwise kernels: threads of a block, elements of a thread.

    With a ``width`` dense operands are taken in explicit vectors, ``items`` of them a thread.
    ``elements_per_access`` (1 or 4) elements that are stored short are read and written at once.
    """

    threads: int = 256
    items: int = 1
    width: int = 1
    elements_per_access: int = 1

    halved = "width", "threads"

    def check(self, form: Format, device: Device) -> None:
        check_positive(self, "threads", "items")
        check_elements_per_access(self.elements_per_access)
        check_width(self.width, form, device)
        check_block(self.threads, 0, device)


def _names(form: Format) -> list[tuple[str, ...]]:
    """What entries call a format: storage formats have kernels of their own."""
    return [stored_names(form)] if form.coded else shared_names(form)


SHAPES = register("elementwise", {"flat": ()}, _names)


def flat(form: Format, device: Device | None) -> FlatSchedule:
    """The schedule of elementwise kernels."""
    found: FlatSchedule = find(Task("elementwise", form, "accurate", "flat"), device)
    return found
