"""Schedules of elementwise kernels."""

from dataclasses import dataclass

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.schedules import base
from portmp.schedules.database import Task, find, register, shared_names, stored_names


@base.kind("flat")
@dataclass(frozen=True)
class FlatSchedule(base.Schedule):
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
        base.check_positive(self, "threads", "items")
        base.check_elements_per_access(self.elements_per_access)
        base.check_width(self.width, form, device)
        base.check_block(self.threads, 0, device)


def _names(form: Format) -> list[tuple[str, ...]]:
    """What entries call a format: storage formats have kernels of their own."""
    return [stored_names(form)] if form.coded else shared_names(form)


SHAPES = register("elementwise", {"flat": ()}, _names)


def flat(form: Format, device: Device | None) -> FlatSchedule:
    """The schedule of elementwise kernels."""
    found: FlatSchedule = find(Task("elementwise", form, "accurate", "flat"), device)
    return found
