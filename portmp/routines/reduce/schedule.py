"""Schedules of DOT, GEMV and sums: teams of work-items on GPUs, sweeps on CPUs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from portmp import definition
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.schedules import base
from portmp.schedules.database import Task, find, register, shared_names, stored_names, usual_names


@dataclass(frozen=True)
class Rows:
    """How rows lie in memory: ``across``, neighbouring elements are of neighbouring rows."""

    across: bool = False


ALONG, ACROSS = Rows(), Rows(across=True)


@base.kind("reduce")
@dataclass(frozen=True)
class ReduceSchedule(base.Schedule):
    """DOT, GEMV, sums: a team of 32 work-items, one for each lane, takes ``rows`` rows.

    ``teams`` share a block, a work-item loads ``unroll`` steps at once; of rows that lie across
    neighbouring work-items read neighbouring rows. With ``staged`` a block takes one chunk of
    one row: its threads fetch ``staged`` elements each at a time, and 32 of them are the lanes.
    With ``elements_per_access`` = 4 a work-item of contiguous rows holds four lanes, a team has 8,
    and ``staged`` steps of the vector at a time go through memory that the block's teams share.
    """

    teams: int = 4
    rows: int = 1
    unroll: int = 4
    combine_threads: int = 64
    staged: int = 0
    elements_per_access: int = 1
    call: Rows = ALONG

    halved = "staged", "teams"
    width: ClassVar[int] = 1
    combines_alone: ClassVar[bool] = True
    combining: ClassVar[str] = "blas/reduce_combine.mako"

    @property
    def template(self) -> str:
        """The template of the first half."""
        if self.elements_per_access > 1:
            return "blas/reduce_packed.mako"
        return "blas/reduce_staged.mako" if self.staged else "blas/reduce.mako"

    @property
    def ends(self) -> bool:
        """Whether a block that has a row's only chunk can end the row."""
        return self.elements_per_access == 1 and bool(self.staged or self.teams == self.rows == 1)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return definition.LANES // self.elements_per_access * self.teams

    def blocks(self, rows: int, chunks: int) -> int:
        """Blocks for *rows* rows of so many chunks."""
        if self.staged and self.elements_per_access == 1:
            return rows * chunks
        groups = -(-rows // self.rows)
        if self.call.across or self.staged:
            return -(-groups // self.teams) * chunks
        return -(-groups * chunks // self.teams)

    def for_shape(self, shape: str) -> ReduceSchedule:
        """Read along rows, or across them where they lie side by side."""
        return replace(self, call=Rows(shape == "across"))

    def finer(self) -> ReduceSchedule | None:
        """With half the rows a team; None at one."""
        return replace(self, rows=self.rows // 2) if self.rows > 1 else None

    def smaller(self) -> ReduceSchedule | None:
        if self.combine_threads > definition.LANES:
            return replace(self, combine_threads=max(self.combine_threads // 2, definition.LANES))
        if self.elements_per_access > 1 and self.staged:
            return replace(self, staged=0)
        return super().smaller()

    def check(self, form: Format, device: Device) -> None:
        base.check_positive(self, "teams", "rows", "unroll", "combine_threads")
        if self.staged:
            base.check_positive(self, "staged")
        base.check_elements_per_access(self.elements_per_access)
        shared = definition.LANES * self.teams * form.compute.itemsize
        if self.elements_per_access > 1:
            shared = definition.LANES * (self.teams * self.rows + self.staged)
            shared *= form.compute.itemsize
            if self.call.across:
                raise ArgumentError("schedule: elements_per_access 4 needs rows that lie along")
            if self.staged % self.unroll:
                raise ArgumentError(
                    f"schedule: staged {self.staged} is no multiple of unroll {self.unroll}"
                )
        elif self.staged:
            shared *= 2 * self.staged
            if self.rows != 1 or self.call.across:
                raise ArgumentError("schedule: staged needs rows 1, and rows that lie along")
            if definition.CHUNK % (self.threads * self.staged):
                raise ArgumentError(
                    f"schedule: {self.threads} threads x staged {self.staged} do not divide "
                    f"{definition.CHUNK}"
                )
        base.check_block(self.threads, shared, device)
        base.check_block(self.combine_threads, self.combine_threads * form.compute.itemsize, device)
        shares, rest = divmod(self.combine_threads, definition.LANES)
        if rest or shares & (shares - 1):
            raise ArgumentError(
                f"schedule: combine_threads {self.combine_threads} given, {definition.LANES} times "
                "a power of two is needed"
            )


@base.kind("sweep")
@dataclass(frozen=True)
class SweepSchedule(base.Schedule):
    """DOT, GEMV, sums on a CPU: a work-item goes through a chunk in order, with all its lanes.

    It takes ``rows`` rows, vectors of ``width`` lanes, ``unroll`` of them written out; or,
    where rows lie across, ``rows`` vectors of ``width`` rows.
    """

    rows: int = 1
    width: int = 1
    unroll: int = 1
    call: Rows = ALONG

    halved = "width", "rows"
    ends: ClassVar[bool] = False
    template: ClassVar[str] = "blas/reduce_sweep.mako"
    combining: ClassVar[str] = "blas/reduce_combine_sweep.mako"
    threads: ClassVar[int] = 1
    combine_threads: ClassVar[int] = 1
    combines_alone: ClassVar[bool] = False
    elements_per_access: ClassVar[int] = 1

    def blocks(self, rows: int, chunks: int) -> int:
        """Blocks for *rows* rows of so many chunks."""
        return -(-rows // (self.rows * (self.width if self.call.across else 1))) * chunks

    def check(self, form: Format, device: Device) -> None:
        base.check_positive(self, "rows", "unroll")
        base.check_width(self.width, form, device)
        if definition.LANES % self.unroll:
            raise ArgumentError(
                f"schedule: unroll {self.unroll} does not divide {definition.LANES}"
            )

    def for_shape(self, shape: str) -> SweepSchedule:
        """Read along rows, or across them where they lie side by side."""
        return replace(self, call=Rows(shape == "across"))

    def finer(self) -> None:
        """None: a work-item's rows share what it reads."""


Schedule = ReduceSchedule | SweepSchedule


def _names(form: Format) -> list[tuple[str, ...]]:
    """What entries call a format: of one limb, storage formats have schedules of their own."""
    if form.coded and form.limbs == 1:
        return [stored_names(form), usual_names(form)]
    return shared_names(form)


SHAPES = register(
    "reduce", {"one": (), "short": ("one",), "along": ("one",), "across": ("along", "one")}, _names
)
"""One row; one whose few chunks leave a GPU mostly idle; many rows, read along or across."""


def reduce(form: Format, device: Device | None, accuracy: str, shape: str) -> Schedule:
    """The schedule of DOT, GEMV and sums of a class of shapes."""
    found: Schedule = find(Task("reduce", form, accuracy, shape), device)
    return found
