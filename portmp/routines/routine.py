"""What a routine is to the rest of portmp: one object, with all its parts.

``render``, ``compile``, ``warm``, ``tune``, ``verify`` and ``bench`` go over the objects in
``registry`` and know of no routine by itself.
"""

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.case import Case
from portmp.routines.problem import Problem, Space
from portmp.routines.work import Work
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

ACCURATE, FAST = "accurate", "fast"
Tuned = Mapping[str, tuple[str, ...]]
Units = Iterator[tuple[str, CompilationUnit]]
"""What is compiled together, by name."""


class Routine(ABC):
    """A routine. What it does not have, it leaves as it is here.

    Beside it lie ``launch``, the module of its checks and launches, whose docstring has the
    definition, and ``reference``, the module that gives the same bits on the host. ``tuned`` are
    the names that ``portmp tune`` knows it by, each with the classes of shapes that are meant, and
    ``work`` what ``portmp bench`` measures.
    """

    name: ClassVar[str]
    tuned: ClassVar[Tuned] = {}
    work: ClassVar[tuple[Work, ...]] = ()
    stored: ClassVar[bool] = True
    """Whether storage formats have it, too."""
    kinds: ClassVar[str] = "f"
    """The kinds of numbers that it takes, as NumPy's letters: real or complex ones."""

    def units(self, form: Format, device: Device | None) -> Units:
        """What is compiled together, by name; without a device as a large GPU runs it."""
        return iter(())

    def on_request(self, form: Format, device: Device | None) -> Units:
        """The same of what is compiled only where its name is given: not among all units."""
        return iter(())

    def cases(self, form: Format) -> Iterable[Case]:
        """What ``portmp verify`` compares by digests."""
        return ()

    def accuracies(self, form: Format) -> tuple[str, ...]:
        """The accuracies whose kernels differ; none where the format has no such routine."""
        return (ACCURATE,)

    def space(self, task: Task, schedule: Any) -> Space:
        """The groups of parameters that a search changes about *schedule*: as many for its kind."""
        raise NotImplementedError

    def problem(self, task: Task, device: Device, checked: bool) -> Problem:
        """What a search times or, with *checked*, a small odd problem whose bits are compared."""
        raise NotImplementedError
