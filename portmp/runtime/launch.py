"""Launches that are planned once: kernels, blocks and arguments, all but memory and numbers.

A plan is made by running what launches a routine's kernels, or a user's, on stand-ins for its
operands, in a queue that only notes what it is given. Calls whose operands lie in the same way then
give memory and numbers to what was noted. So a routine is written once, and nothing of it runs
again but its kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from portmp import formats
from portmp.backends import base
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import DeviceError
from portmp.runtime import program
from portmp.runtime.planes import Blank, Planes, Start, Unknown, View
from portmp.schedules import database

MOST, MOST_STEPS = 4096, 1 << 16
"""Plans that a queue keeps, and launches in them, each of which takes about 4 kB of the host."""

WASTED = 2
"""Plans' memory is used again for what takes at least one part in so many of it."""

ROOM = 3
"""A plan takes at most one part in so many of a device's memory."""

T = TypeVar("T")
V = TypeVar("V", bound=View[Any])
Number = np.generic
Given = View[Any] | Sequence[Number]
"""An operand of a call: a view of memory, or the limbs of a number."""


@dataclass(eq=False)
class Memory(base.Buffer):
    """What stands in a plan for memory: that number ``index`` of those that a call gives.

    What is noted keeps its number only: once nothing else holds it, its memory is *idle*.
    """

    device: base.Device
    nbytes: int
    index: int
    idle: list[Slot] | None = None

    def __del__(self) -> None:
        if self.idle is not None:
            self.idle.append(Slot(self.index))


@dataclass(frozen=True)
class Slot:
    """The number of memory among what a call gives."""

    index: int


@dataclass(eq=False, slots=True)
class Limb:
    """What stands in a plan for a word of a number, of a type of NumPy's; it equals none."""

    kind: type[Number]
    index: int


_STAND_INS = {Slot, Limb}


class Step(NamedTuple):
    """A launch with stand-ins among its arguments; ``run`` is given what they stand for.

    Without a kernel it is a library's work.
    """

    kernel: base.Kernel | None
    grid: base.Dim3
    block: base.Dim3
    args: Sequence[Any]
    run: Callable[[Sequence[Any]], None]

    def filled(self, held: Sequence[Any]) -> list[base.Argument]:
        """The arguments of one call."""
        return [held[a.index] if type(a) in _STAND_INS else a for a in self.args]


class Planner(base.Queue):
    """A queue that notes launches and allocations instead of doing them."""

    notes = True
    copies = False

    held = 0
    """How many buffers, starts and limbs its operands have."""

    def __init__(self, queue: base.Queue) -> None:
        self.queue = queue
        self.device = queue.device
        self.steps: list[Step] = []
        self.scratch: list[int] = []
        self.idle: list[Slot] = []
        self.parts: dict[tuple[int, int], Slot] = {}
        self.awaited: set[program.CompilationUnit] = set()

    def awaits(self, unit: program.CompilationUnit) -> bool:
        """Whether threads compile a unit: the rest is told to them first, and planned again."""
        if unit in self.awaited:
            return True
        if self.device.compiles_beside and program.begin(self.device, unit):
            self.awaited.add(unit)
            return True
        return False

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[base.Buffer, ...]:
        return tuple([Memory(self.device, n, self._slot(n).index, self.idle) for n in sizes])

    def _slot(self, nbytes: int) -> Slot:
        """Memory of so many bytes, if there is any that earlier steps no longer need."""
        sizes = [self.scratch[one.index - self.held] for one in self.idle]
        fitting = [size for size in sizes if nbytes <= size <= WASTED * nbytes]
        if fitting:
            return self.idle.pop(sizes.index(min(fitting)))
        self.scratch.append(nbytes)
        return Slot(self.held + len(self.scratch) - 1)

    def _begins(self, start: Start) -> Slot:
        """Where an operand or a part of one begins.

        Those of parts are counted from the end of what a call holds, whose length is known last.
        """
        if not start.offset:
            return Slot(start.index)
        return self.parts.setdefault((start.index, start.offset), Slot(-1 - len(self.parts)))

    def launch(
        self, kernel: base.Kernel, grid: base.Dim3, block: base.Dim3, args: Sequence[Any]
    ) -> None:
        typed: list[Any] = [*args]
        kept, stand_ins = [*typed], {}
        for i, a in enumerate(typed):
            kind = type(a)
            if kind is Start:
                kept[i], typed[i] = self._begins(a), 0
            elif kind is Memory:
                kept[i] = Slot(a.index)
            elif kind is Limb:
                typed[i] = a.kind(0)
            else:
                continue
            stand_ins[i] = kept[i].index
        run = self.queue.relauncher(kernel, grid, block, typed, stand_ins)
        self.steps.append(Step(kernel, grid, block, kept, run))

    def multiply(self, library: base.Library, asked: base.Multiplication) -> None:
        if library.launches:
            library.multiply(self, asked)
            return
        a, b, c = (cast(Memory, rows.buffer).index for rows in (asked.a, asked.b, asked.c))
        prepared, queue = library.prepared(self.queue, asked), self.queue

        def run(held: Sequence[Any]) -> None:
            if base.recorder.launches is None:
                prepared(held[a], held[b], held[c])
                return
            rows = zip((asked.a, asked.b, asked.c), (a, b, c), strict=True)
            there = [replace(one, buffer=held[i]) for one, i in rows]
            queue.multiply(library, asked._replace(a=there[0], b=there[1], c=there[2]))

        self.steps.append(Step(None, (1, 1, 1), (1, 1, 1), (), run))

    def _refuse(self, *given: Any, **named: Any) -> Any:
        raise DeviceError(f"{self.device.name}: what is planned is launches alone")

    write = read = copy = receive = record = wait = synchronize = _launcher = _refuse


@dataclass(eq=False, slots=True)
class Plan:
    """What a call does whose operands lie in a certain way.

    ``makes``: what its result is, where the call is given no memory for it. ``function``: what does
    it where nothing is noted: a reference, a part of another plan, what calls decide. ``parts``:
    of each part the number of where its operand begins, and how many elements later it does.
    """

    queue: base.Queue
    makes: Any = None
    function: Callable[..., None] | None = None
    steps: tuple[Step, ...] = ()
    scratch: tuple[int, ...] = ()
    parts: tuple[tuple[int, int], ...] = ()
    specs: tuple[KernelSpec, ...] = ()

    def run(self, operands: Sequence[Given | None], out: V | None = None) -> V:
        """Launch it with these operands, in the order in which they were planned.

        Where it makes a view, that is returned: *out*, or new memory. None stands for it.
        """
        queue = self.queue
        found = cast("V", out)
        views: Any = operands
        if isinstance(self.makes, Blank):
            found = self.makes.made(queue) if out is None else out
            views = []
            for operand in operands:
                views.append(found if operand is None else operand)
        if self.function is not None:
            self.function(*views)
            return found
        if base.drivers["lost"]:
            base.check_process(queue.device)
        held: list[Any] = []
        for one in views:
            if isinstance(one, View):
                held += one.buffers
                held.append(one.start)
            else:
                held += one
        if self.scratch or self.parts:
            held += self._more(held)
        if program.watchers.lists:
            program.saw(self.specs)
        recorded = base.recorder.launches is not None
        for step in self.steps:
            if recorded and step.kernel is not None:
                queue.launch(step.kernel, step.grid, step.block, step.filled(held))
            else:
                step.run(held)
        return found

    def _more(self, held: Sequence[Any]) -> list[Any]:
        """New memory, and where parts of operands begin."""
        found: list[Any] = []
        if self.scratch:
            queue = self.queue
            recorded = base.recorder.launches is not None
            made = queue.allocate_parts if recorded else queue.scratch_parts
            found += made(self.scratch)
        return found + [held[i] + offset for i, offset in self.parts]


class Plans(dict[Any, Plan]):
    """The plans of a queue, as long as its device and the databases of schedules stay as they are.

    By what a call is told, by where its operands lie, and which of them share memory: all that
    checks depend on, so that a plan that is found was checked.
    """

    def __init__(self, queue: base.Queue) -> None:
        super().__init__()
        self.queue = queue
        self.traits = queue.device.traits
        self.edition = database.edition.number
        self.steps = 0
        self.seen: set[int] = set()

    def is_new(self, key: Any) -> bool:
        """Whether no such call came before, which is noted."""
        if len(self.seen) >= MOST:
            self.seen.clear()
        before = len(self.seen)
        try:
            self.seen.add(hash(key[0]))
        except TypeError:  # as in ``find``
            return True
        return len(self.seen) > before

    def plan(
        self,
        key: Any,
        operands: Sequence[Given],
        launches: Callable[..., None],
        reference: Callable[..., None],
        makes: Any = None,
        *,
        fixed: bool = True,
    ) -> Plan:
        """The new plan of what *launches* (or the *reference*, without kernels) does.

        Both are called with operands, or stand-ins, in this order. Where what is launched is not
        *fixed* by all that the plan is found by, *launches* is called in every run.
        """
        queue = self.queue
        function = key[0][0]
        for one in operands if callable(function) else ():  # else a kernel of the user's
            if isinstance(one, Planes) and not _takes_complex(key[0]):
                formats.real_only(one.format, _called(function))
        if any(isinstance(one, View) and one.queue is not queue for one in operands):
            raise DeviceError("operands: of several queues or devices; copy with to(...)")
        if len(self) >= MOST or self.steps >= MOST_STEPS:
            self.clear()
            self.steps = 0
        known, starts, placed = key
        if queue.device.rank is not None:
            made = Plan(queue, makes, _by_another)
        elif not fixed or queue.notes or queue.device.by_reference:
            made = Plan(queue, makes, reference if queue.device.by_reference else launches)
        else:
            try:
                if placed:
                    raise Unknown
                made = _planned(queue, operands, launches, makes)
            except Unknown:
                self[known] = _PLACED
                known = known, starts
                made = _planned(queue, operands, launches, makes, placed=True)
            if sum(made.scratch) > queue.device.properties.memory // ROOM:
                made = Plan(queue, makes, launches)
        self[known] = made
        self.steps += len(made.steps)
        return made


def _by_another(*operands: object) -> Any:
    """What the process does that has the device, which runs the same program."""


TAKES_COMPLEX: set[Any] = set()
"""Functions of routines whose calls take complex numbers, or pairs of one and what it is told;
others refuse them."""


def _takes_complex(call: Any) -> bool:
    """Whether a function, with what it is told first, is one of these; nothing is hashed."""
    return any(one in (call[0], call[:2]) for one in TAKES_COMPLEX)


def _called(function: Any) -> str:
    """What messages call what a plan is asked for: a routine, or a kernel of the user's."""
    return function.__module__.split(".")[-2] if callable(function) else "kernel"


_PLACED: Any = Plan(cast(base.Queue, None))
"""Stands for the plans of calls that differ by where their operands begin."""


def run(
    queue: base.Queue,
    unit: Sequence[KernelSpec],
    grid: base.Dim3,
    block: base.Dim3,
    given: Mapping[str, Any],
    kernel: str = "",
) -> None:
    """Launch the first kernel of a compilation unit, or the one that is named.

    *given*: what its signature names: views, numbers as limbs, integers.
    """
    if queue.awaits(tuple(unit)):
        return
    kernel = kernel or unit[0].name
    signature = {s.kernel: s for one in unit for s in one.signatures}[kernel]
    loaded = program.kernels(queue.device, *unit)[kernel]
    queue.launch(loaded, grid, block, signature.arguments(given))


def over(
    queue: base.Queue,
    unit: Sequence[KernelSpec],
    items: int,
    threads: int,
    given: Mapping[str, Any],
    kernel: str = "",
) -> None:
    """``run`` with a thread for each of *items*, in blocks of *threads*."""
    run(queue, unit, (-(-items // threads), 1, 1), (threads, 1, 1), given, kernel)


def repeat(
    what: Sequence[Any],
    operands: Sequence[Given],
    launches: Callable[..., None],
    reference: Callable[..., None],
    *,
    fixed: Callable[[], bool] = lambda: True,
    later: bool = False,
) -> None:
    """Do what *launches* does, by its plan: that of the last such call, or a new one.

    Operands were checked. *what* as in ``find``, the functions and *fixed* as in ``Plans.plan``.
    *later*: the first such call is no plan's, since to make one takes longer than to launch once.
    """
    kept, key, plan = find(what, operands)
    if plan is None and later and kept.is_new(key):
        do(operands, launches, reference)
        return
    plan = plan or kept.plan(key, operands, launches, reference, fixed=fixed())
    plan.run(operands)


def do(operands: Sequence[Given], launches: Callable[..., T], reference: Callable[..., T]) -> T:
    """What is not worth a plan: *launches* or, on a device that runs no kernels, the *reference*.

    Both are called with the operands, of which the first is a view; what they return is returned.
    """
    first = operands[0]
    assert isinstance(first, View)
    if first.device.rank is not None:
        return cast(T, _by_another())
    return (reference if first.device.by_reference else launches)(*operands)


def _varies(number: Sequence[Number]) -> bool:
    """Whether the number is neither 0 nor 1."""
    return number[0] not in (0, 1) or any(number[1:])


def find(
    what: Sequence[Any],
    operands: Sequence[Given | None],
    queue: Any = None,
    known: dict[base.Queue, Plans] | None = None,
) -> tuple[Plans, Any, Plan | None]:
    """The plans of the operands' queue, what this call is there and, if it came before, its plan.

    *what* tells calls of a routine apart but for their operands. One of these is a view, or their
    *queue* is told. *known*: where plans are kept that go with something else than the queue.
    """
    key = [*what]
    memory: list[base.Buffer] = []
    starts: list[int] = []
    for one in operands:
        if isinstance(one, View):
            key.append(one._facts or one.facts)
            if queue is None:
                queue = one.queue
            elif one.queue is not queue:
                key.append(one.queue)
            # Two views of one memory differ from views of two, and by how far they are apart.
            buffer = one.buffers[0]
            if buffer in memory:
                first = memory.index(buffer)
                key.append((first, _distance(starts[first], one.start)))
            memory.append(buffer)
            starts.append(one.start)
        elif one is None:
            key.append(None)
        else:
            # 0 and 1 are told apart, since routines do, and are no stand-ins.
            key.append(None if _varies(one) else (one[0], math.copysign(1, one[0])))
    kept: Plans | None = queue.plans if known is None else known.get(queue)
    if (
        kept is None
        or kept.traits is not queue.device.traits
        or kept.edition != database.edition.number
    ):
        kept = Plans(queue)
        if known is None:
            queue.plans = kept
        else:
            known[queue] = kept
    call = tuple(key)
    try:
        plan = kept.get(call)
    except TypeError:  # an option of a kind that has no plan: it is refused in words
        return kept, (call, (), False), None
    if plan is not None and plan is not _PLACED:
        return kept, call, plan
    places, placed = tuple(starts), plan is _PLACED
    return kept, (call, places, placed), kept.get((call, places)) if placed else None


def _distance(first: Any, other: Any) -> Any:
    """How far two views of one memory are apart; of stand-ins both."""
    return other - first if type(first) is type(other) is int else (first, other)


def _planned(
    queue: base.Queue,
    operands: Sequence[Given],
    launches: Callable[..., None],
    makes: Any,
    placed: bool = False,
) -> Plan:
    """What is launched for operands that lie like these; *placed*: and begin where these do."""
    stand_ins: list[Any] = []
    index = 0
    planner = Planner(queue)
    firsts: dict[int, Memory] = {}
    starts: dict[Any, Start] = {}
    for one in operands:
        if isinstance(one, View):
            parts = [Memory(queue.device, b.nbytes, index + i) for i, b in enumerate(one.buffers)]
            parts[0] = firsts.setdefault(id(one.buffers[0]), parts[0])
            index += len(parts)
            start: Any = one.start
            if start and not placed:
                start = starts.setdefault((parts[0], start), Start(start, index))
            place = one.shape, one.strides, start
            stand_ins.append(type(one)(one.elements, *place, tuple(parts), planner))
            index += 1
            continue
        if not _varies(one):
            stand_ins.append(one)
        else:
            stand_ins.append(tuple([Limb(type(limb), index + i) for i, limb in enumerate(one)]))
        index += len(one)
    planner.held = index
    with program.watching(alone=True) as specs:  # a run tells them
        launches(*stand_ins)
    if planner.awaited:
        return _planned(queue, operands, launches, makes, placed)
    noted = tuple(planner.steps), tuple(planner.scratch), tuple(reversed(planner.parts))
    return Plan(queue, makes, None, *noted, tuple(specs))
