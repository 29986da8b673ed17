"""Kernels of the user's: rendered for a device, compiled once, launched on arrays by name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from portmp import discovery, formats
from portmp.arrays.array import Array
from portmp.arrays.creation import Where
from portmp.arrays.plain import PlainArray
from portmp.arrays.viewed import wrapped
from portmp.backends.base import Device, LaunchMemory, Queue
from portmp.backends.base import Kernel as Loaded
from portmp.codegen import platform, render
from portmp.codegen.platform import Traits
from portmp.codegen.render import RenderedSource
from portmp.errors import (
    ArgumentError,
    CheckError,
    CompileError,
    DeviceError,
    FormatError,
    InputError,
    LaunchError,
    RenderError,
    suggestion,
)
from portmp.formats import Format
from portmp.kernels import advice, names, requirements, tuned
from portmp.kernels.extent import Extent, Grid, block_of
from portmp.kernels.requirements import Requirement
from portmp.kernels.signature import Operand, parsed
from portmp.kernels.tuned import Declared, Schedule
from portmp.kernels.vocabulary import Words
from portmp.kernels.words.base import BlockMemory
from portmp.kernels.words.threads import MORE, OPENING, c_name
from portmp.routines import base
from portmp.runtime import launch, program
from portmp.runtime.launch import Plan, Plans
from portmp.runtime.planes import Blank, View, blank

if TYPE_CHECKING:
    from portmp.kernels.resources import Resources
    from portmp.kernels.tuning import Tuning
    from portmp.kernels.verifying import Verified

Dense = frozenset[str]
"""The arrays of a call whose elements follow each other from the start of their memory."""

_BODY = re.compile(rf"{OPENING}(\s*)\{{")
_ARRAYS = (Array, PlainArray)
_NUMBERS = {
    kind: (np.iinfo(kind).min, np.iinfo(kind).max)
    for kind in ("int32", "int64", "uint32", "uint64")
}
"""Plain numbers that are passed by value: the least and the most of each kind."""


@dataclass(frozen=True)
class Written:
    """A module's text for one platform; the block memory and the assertions of each kernel."""

    source: RenderedSource
    memory: Mapping[str, BlockMemory]
    requirements: Mapping[str, Sequence[Requirement]]


class Ready(NamedTuple):
    """A kernel on a device, the block memory that it takes, and what it asserts."""

    kernel: Loaded
    memory: BlockMemory
    requirements: Sequence[Requirement]


class Module:
    """A template with one or more kernels, which are compiled together.

    *template*: a file's path, or the text itself (which has line ends). *format*: what ``value``
    stands for. *checked*: whether calls look at what ``require`` asserts. *values*: names that the
    template may use. Kernels are declared by ``kernel``, all before the first is called.
    """

    def __init__(
        self,
        template: str | Path,
        format: str | Format = "dd",
        *,
        checked: bool = False,
        **values: object,
    ) -> None:
        self.format = formats.get(format)
        self.checked = checked
        self.values = values
        self.kernels: dict[str, Kernel] = {}
        self.folder, self.name, self.text = _template(template)
        self._loaded: WeakKeyDictionary[Device, dict[Any, Mapping[str, Ready]]] = (
            WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    def kernel(
        self,
        signature: str,
        *,
        threads: Extent | None = None,
        grid: Extent | None = None,
        block: Extent = 256,
    ) -> Kernel:
        """Declare a kernel of this module: see Kernel."""
        return Kernel(self, signature, threads=threads, grid=grid, block=block)

    def write(
        self, on: str, traits: Traits | None = None, dense: Mapping[str, Dense] | None = None
    ) -> Written:
        """The module's text for a platform; by default for arrays that are dense."""
        told = [k.declared for k in self.kernels.values()]
        extents = [one for d in told for one in (d.threads, d.grid, d.block)]
        advice.refuse_unread(self.name, self.text, self.values, extents)
        table = platform.get(on)
        signatures = {name: k.signature for name, k in self.kernels.items()}
        everything = {name: frozenset(s.by_name) for name, s in signatures.items()}
        words = Words(
            table,
            traits or table.defaults,
            self.format,
            signatures,
            {name: k.block for name, k in self.kernels.items()},
            everything | dict(dense or {}),
            self.checked,
        )
        context = words.context()
        if taken := sorted(set(context) & set(self.values)):
            raise ArgumentError(
                f"{self.name}: {taken[0]!r} is a word of the vocabulary, not a value"
            )
        body = render.render_own(self.text, self.name, self.folder, context | self.values)
        advice.refuse_objects(body, self.name)
        advice.refuse_open(self.text, body, self.name)
        missing = [name for name in signatures if c_name(name) not in body.kernels]
        if missing:
            raise RenderError(f"{self.name}: has no ${{kernel({missing[0]!r})}}")
        made = {c_name(kernel): given for kernel, given in words.made.items()}
        names.check(body, OPENING, made, self.name)
        source = render.joined(words.prelude(), _opened(body, words, self.name))
        return Written(source, words.memory, words.requirements)

    def load(self, device: Device, name: str, dense: Dense) -> Mapping[str, Ready]:
        """The module on a device, for a call of one kernel whose arrays *dense* are dense."""
        known = self._loaded.get(device)
        if known is None:
            known = self._loaded.setdefault(device, {})
        key = device.traits, name, dense, len(self.kernels)
        found = known.get(key)
        if found is None:
            with self._lock:
                found = known.get(key) or self._loaded_on(device, name, dense)
                known[key] = found
        return found

    def _loaded_on(self, device: Device, name: str, dense: Dense) -> Mapping[str, Ready]:
        written = self.write(device.platform, device.traits, {name: dense})
        facts = device.properties
        most = int(facts.extra.get("static_shared_memory", facts.shared_memory))
        for kernel, memory in written.memory.items():
            _check_memory(kernel, memory.static, most, device)
        try:
            kernels = program.load(device, written.source)
        except CompileError as error:
            arrays = {p.name for k in self.kernels.values() for p in k._arrays}
            numbers = {p.name for k in self.kernels.values() for p in k._numbers}
            raise advice.of_values(
                error, written.source, self.name, self.format, arrays, sorted(numbers)
            ) from None
        return {
            kernel: Ready(kernels[c_name(kernel)], memory, written.requirements[kernel])
            for kernel, memory in written.memory.items()
        }

    def varied(self, values: Mapping[str, object], blocks: Mapping[str, Extent]) -> Module:
        """The same template with other values, and with other blocks of some kernels."""
        made = copy(self)
        made.values = self.values | dict(values)
        made.kernels, made._loaded, made._lock = {}, WeakKeyDictionary(), threading.Lock()
        for name, kernel in self.kernels.items():
            told = kernel.declared
            block = blocks.get(name, told.block)
            made.kernel(told.signature, threads=told.threads, grid=told.grid, block=block)
        return made


class Kernel:
    """A kernel of the user's own, called with arrays and numbers by name.

    *template*: see Module, or a Module. *signature*: name and parameters
    (``"axpy(a: value, x: in [n], y: inout [n])"``; portmp.kernels.signature). *threads*: how many
    are needed along each axis, or *grid*: how many blocks; numbers, sizes (``"n"``, ``"2 * m"``),
    or a function of sizes, values and numbers by their names. *block*: threads of a block along
    each axis, likewise, but of values alone. *format*, *checked* and *values* are the module's.

    A call returns its ``out`` arrays: those that it was not given are made, on the device of the
    others or on *device*. It does not wait for the device, unless it is *checked*: then CheckError
    tells which ``require`` did not hold, and in which thread.
    """

    def __init__(
        self,
        template: str | Path | Module,
        signature: str,
        *,
        format: str | Format = "dd",
        threads: Extent | None = None,
        grid: Extent | None = None,
        block: Extent = 256,
        checked: bool = False,
        **values: object,
    ) -> None:
        self.signature = parsed(signature)
        self.name = name = self.signature.name
        if isinstance(template, Module):
            if of_module := [*(["checked"] if checked else []), *values]:
                raise ArgumentError(f"{name}: {of_module[0]}: is the module's to say")
            self.module = template
        else:
            self.module = Module(template, format, checked=checked, **values)
            advice.refuse_unread(name, self.module.text, values, [threads, grid, block])
        if name in self.module.kernels:
            raise ArgumentError(f"{name}: the module has a kernel of this name")
        self.block = block_of(name, block, self.module.values)
        self.declared = Declared(str(signature), threads, grid, block)
        self._grid = Grid(self.signature, self.module.values, threads, grid)
        for parameter in self.signature.parameters:
            if not parameter.is_array and parameter.is_plain and parameter.kind not in _NUMBERS:
                raise ArgumentError(
                    f"{name}: {parameter.name}: numbers are {', '.join(_NUMBERS)} or of a format, "
                    f"{parameter.kind} given"
                )
        self.module.kernels[name] = self
        self._arrays = [p for p in self.signature.parameters if p.is_array]
        self._numbers = [p for p in self.signature.parameters if not p.is_array]
        self._order = [p.name for p in (*self._arrays, *self._numbers)]
        self._outs = [(i, p.name) for i, p in enumerate(self._arrays) if p.way == "out"]
        self._repeats = bool(self._arrays) and self._grid.fixed and not self.module.checked
        self._names = frozenset(self.signature.by_name)
        self._plans: dict[Queue, Plans] = {}
        self._variants: dict[Schedule, Kernel] = {}
        self._is_variant = False

    def render(self, platform: str) -> str:
        """The source text for cuda, rocm or opencl."""
        return self.module.write(platform).source.text

    def diff(self, a: str, b: str) -> str:
        """What differs between the texts of two platforms, as ``diff -u`` tells it."""
        return render.difference(self.render(a), self.render(b), a, b)

    def compile(self, platform: str, arch: str = "") -> Resources:
        """Compile for an architecture without a device; what the module's kernels take of it."""
        from portmp.kernels import resources  # with compilers: more than importing portmp may

        source = self.module.write(platform).source
        threads = {c_name(name): k.block.threads for name, k in self.module.kernels.items()}
        return resources.compiled(source, platform, arch, threads)

    def standalone(self, platform: str, folder: str | Path) -> Path:
        """Write a program in one file that runs the kernel without portmp; returns the file."""
        from portmp.kernels import standalone

        return standalone.write(platform, self.name, self.program(platform).text, Path(folder))

    def program(self, platform: str) -> RenderedSource:
        """The text of that program."""
        from portmp.kernels import standalone

        if self.module.checked:
            raise ArgumentError(f"{self.name}: standalone: declare the kernel without checked")
        written = self.module.write(platform)
        return standalone.program(
            platform,
            self.signature,
            self.module.format,
            written.source,
            self.block,
            self._grid.told,
            written.memory[self.name],
        )

    def tune(
        self,
        space: Mapping[str, Sequence[Any]],
        /,
        *given: Any,
        device: str | Device | None = None,
        **named: Any,
    ) -> Tuning:
        """Find the fastest of the *space*'s values and blocks on a device, for these arguments.

        *space*: names of the template's values, or ``block``, each with what to try. Only
        candidates with the bits of the declared kernel count. Arrays are left as they were. The
        fastest is kept in the user's database; later calls take it where text, device and compiler
        are the same.
        """
        from portmp.kernels import tuning

        if self.module.checked:
            raise ArgumentError(f"{self.name}: tune: declare the kernel without checked")
        return tuning.tune(self, space, given, named, device)

    def schedule(self, device: str | Device | None = None) -> Schedule:
        """The values and the block that calls take on a device, and where they come from."""
        target = discovery.get(device)
        if self._is_variant or target.by_reference:
            return tuned.own(self)
        return tuned.find(self, target)

    def verify(
        self,
        reference: Callable[..., Any] | None,
        /,
        *given: Any,
        devices: Sequence[str | Device] = (),
        digests: str | Path | None = None,
        bound: Any = 0,
        **named: Any,
    ) -> Verified:
        """Compare results on all devices, and on those asked for, with a host function's.

        See portmp.kernels.verifying.
        """
        from portmp.kernels import verifying

        call = verifying.Call(self, self.arguments(given, named))
        return verifying.verify(call, reference, devices, digests, bound)

    def varied(self, schedule: Schedule) -> Kernel:
        """The kernel with a schedule's values and block, whatever the database says."""
        found = self._variants.get(schedule)
        if found is None:
            module = self.module.varied(dict(schedule.values), {self.name: schedule.block})
            for kernel in module.kernels.values():
                kernel._is_variant = True
            found = self._variants.setdefault(schedule, module.kernels[self.name])
        return found

    # --- calls --------------------------------------------------------------------------------

    def __call__(self, *given: Any, device: Where = None, **named: Any) -> Any:
        """Launch on arrays and numbers, by name or in the order of the signature."""
        what: list[Any] = [device]
        if given or named.keys() != self._names:
            named = self.arguments(given, named)
            what += self._asked(named).items()
        operands = self._views(named)
        if len({*operands}) < len(operands):
            # An array that is given twice is no overlap of two views.
            what += map(operands.index, operands)
        queue = None if any(operands) else discovery.queue_of(device)
        kept, key, plan = launch.find(what, operands, queue, self._plans)
        if plan is None:
            plan = self._planned(kept, key, operands, self._asked(named), device)
        for place, new in plan.makes:
            if operands[place] is None:
                operands[place] = new.made(plan.queue)
        for parameter in self._numbers:
            operands.append(self._number(parameter, named[parameter.name]))
        if not self._repeats:
            operands.append(named)
        try:
            plan.run(operands)
        except CheckError as error:
            there = plan.queue.device
            text = self._in_force(there)._text(there, self._dense(operands))
            raise program.placed(error, text) from None
        if not self._outs:
            return None
        results = []
        for place, name in self._outs:
            result = named.get(name)
            results.append(wrapped(operands[place]) if result is None else result)
        return results[0] if len(results) == 1 else tuple(results)

    def _planned(
        self, kept: Plans, key: Any, views: list[Any], asked: Mapping[str, int], device: Where
    ) -> Plan:
        """A plan of calls whose arrays are alike; errors where they are wrong.

        Arrays that the call does not give are made, and put among the *views*.
        """
        given = {p.name: v for p, v in zip(self._arrays, views, strict=True) if v}
        for name, view in given.items():
            self._check_view(self.signature.by_name[name], view)
        queue = self._queue(given, device)
        sizes = self._sizes(given, asked)
        kernel, dense = self._in_force(queue.device), self._dense(views)
        ready = kernel._fitting(queue.device, dense)
        dynamic = ready.memory.bytes(sizes)
        most = queue.device.properties.shared_memory
        _check_memory(self.name, ready.memory.static + dynamic, most, queue.device)
        memory = [LaunchMemory(dynamic)] if ready.memory.dynamic else []
        makes = self._makes(views, sizes)
        for place, new in makes:
            views[place] = new.made(queue)
        self._refuse_overlaps(views)
        takes, block = self.signature.taken(dense), kernel.block.dimensions

        def launches(*operands: Any) -> None:
            numbers = {}
            if not self._repeats:
                numbers = {p.name: operands[-1][p.name] for p in self._numbers}
            grid = kernel._grid.blocks(kernel.block, sizes, numbers)
            if 0 in grid:
                return
            where = operands[0].queue if self._arrays else queue
            arguments = takes.arguments(dict(zip(self._order, operands, strict=False)) | sizes)
            told = requirements.buffer(ready.requirements, where) if ready.requirements else None
            arguments += [told, *memory] if told else memory
            where.launch(ready.kernel, grid, block, arguments)
            if told and (broken := requirements.broken(told, ready.requirements, where)):
                text = kernel._text(where.device, dense)
                raise requirements.error(self.name, broken, block, grid, text)

        # Plans tell 0 and 1 from other numbers, calls do not.
        operands = [*views, *(self._number(p, 2) for p in self._numbers)]
        return kept.plan(key, operands, launches, launches, makes, fixed=self._repeats)

    def _in_force(self, device: Device) -> Kernel:
        """The kernel with the values and the block that calls take on a device."""
        schedule = self.schedule(device)
        return self if schedule.origin == "declared" else self.varied(schedule)

    def _dense(self, views: Sequence[View[Any] | None]) -> Dense:
        """The arrays that are dense, as those are that a call does not give."""
        pairs = zip(self._arrays, views, strict=False)
        return frozenset([p.name for p, v in pairs if not v or (v.contiguous and not v.start)])

    def _text(self, device: Device, dense: Dense) -> RenderedSource:
        """What is compiled for such calls."""
        return self.module.write(device.platform, device.traits, {self.name: dense}).source

    def _views(self, arguments: Mapping[str, Any]) -> list[Any]:
        """The memory of the arrays that a call gives, in their order; None for those it does not.

        ArgumentError where one is missing, or something else.
        """
        views: list[Any] = []
        for parameter in self._arrays:
            value = arguments.get(parameter.name)
            if isinstance(value, _ARRAYS):
                views.append(value.planes)
            elif value is None and parameter.way == "out":
                views.append(None)
            elif value is None:
                raise self._missing(parameter)
            else:
                raise ArgumentError(
                    f"{self.name}: {parameter.name}: {type(value).__name__} given, an array is "
                    f"needed: portmp.array(..., {str(parameter.elements(self.module.format))!r})"
                )
        return views

    def _missing(self, parameter: Operand) -> ArgumentError:
        return ArgumentError(f"{self.name}: {parameter.name} is missing")

    def new_arrays(self, arguments: Mapping[str, Any], queue: Queue) -> dict[str, Any]:
        """The arrays that go out and that a call does not give."""
        views = self._views(arguments)
        given = {p.name: v for p, v in zip(self._arrays, views, strict=True) if v}
        makes = self._makes(views, self._sizes(given, self._asked(arguments)))
        return {self._arrays[place].name: wrapped(one.made(queue)) for place, one in makes}

    def arguments(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """What a call gives, by name: all parameters but arrays that go out, and sizes."""
        found = dict(named)
        if given or not self._names.issuperset(named):
            names = [p.name for p in self.signature.parameters]
            if len(given) > len(names):
                raise ArgumentError(
                    f"{self.name}: {len(given)} arguments given, {len(names)} are taken: "
                    + ", ".join(names)
                )
            found = dict(zip(names, given, strict=False))
            for name in named:
                if name not in self._names and name not in self.signature.sizes:
                    near = suggestion(name, [*names, *self.signature.sizes])
                    raise ArgumentError(f"{self.name}: has no parameter {name!r}{near}")
                if name in found:
                    raise ArgumentError(f"{self.name}: {name} is given twice")
            found |= named
        for parameter in self.signature.parameters:
            if found.get(parameter.name) is None and parameter.way != "out":
                raise self._missing(parameter)
        return found

    def _check_view(self, parameter: Operand, view: View[Any]) -> None:
        """An error where elements are not what the parameter says, or cannot be written."""
        where = f"{self.name}: {parameter.name}"
        wanted = parameter.elements(self.module.format)
        if str(view.elements) != str(wanted):
            own = f": Kernel(..., format={str(view.elements)!r})"
            own *= parameter.kind == "value" and isinstance(view.elements, Format)
            raise FormatError(f"{where}: elements are {view.elements!s}, {wanted} is needed{own}")
        sides = zip(view.shape, view.strides, strict=True)
        if parameter.written and any(n > 1 and not step for n, step in sides):
            raise ArgumentError(f"{where}: a broadcast view cannot be written")

    def _queue(self, views: Mapping[str, View[Any]], asked: Where) -> Queue:
        """The queue of all arrays, or of what is asked for where there are none."""
        first = next(iter(views), "")
        queue = views[first].queue if views else discovery.queue_of(asked)
        for name, view in views.items():
            if view.queue is not queue:
                raise DeviceError(
                    f"{self.name}: {name}: on {view.device.name}, {first} is on "
                    f"{queue.device.name} (another queue, where it is the same device)"
                )
        wrong = discovery.get(asked) is not queue.device if asked is not None else False
        if wrong or (isinstance(asked, Queue) and asked is not queue):
            raise DeviceError(
                f"{self.name}: device={asked!r} given, {first} is on {queue.device.name}"
                + ("" if wrong else ", in another queue")
            )
        if queue.device.by_reference:
            raise LaunchError(
                f"{self.name}: {queue.device.name} runs no kernels; devices that do: "
                + (", ".join(d.name for d in discovery.devices() if not d.by_reference) or "none")
            )
        return queue

    def _asked(self, arguments: Mapping[str, Any]) -> dict[str, int]:
        """The sizes that a call gives."""
        asked = {}
        for size in self.signature.sizes:
            if size in arguments:
                value = arguments[size]
                if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
                    raise ArgumentError(
                        f"{self.name}: {size}: {value!r:.60} given, a size from 0 on is needed"
                    )
                asked[size] = int(value)
        return asked

    def _sizes(self, views: Mapping[str, View[Any]], asked: Mapping[str, int]) -> dict[str, int]:
        """All sizes, from shapes and from what the call gives; ShapeError where they differ."""
        sizes = self.signature.measured({n: v.shape for n, v in views.items()}, asked)
        for name, view in views.items():
            self.signature.check(name, view.shape, sizes)
        return {size: sizes[size] for size in self.signature.sizes}

    def _makes(
        self, views: Sequence[View[Any] | None], sizes: Mapping[str, int]
    ) -> list[tuple[int, Blank]]:
        """What makes the arrays that a call does not give, each with its place."""
        makes = []
        for place, (parameter, view) in enumerate(zip(self._arrays, views, strict=True)):
            if view is None:
                shape = self.signature.shape(parameter.name, sizes)
                if any(n < 0 for n in shape):
                    raise ArgumentError(f"{self.name}: {parameter.name}: its shape is {shape}")
                makes.append((place, blank(parameter.elements(self.module.format), shape)))
        return makes

    def _refuse_overlaps(self, views: Sequence[View[Any]]) -> None:
        """ArgumentError where what is written shares memory with another array."""
        for parameter, view in zip(self._arrays, views, strict=True):
            for other, seen in zip(self._arrays, views, strict=True):
                if other is parameter or not parameter.written:
                    continue
                if not (seen is view and parameter.way == "inout") and view.overlaps(seen):
                    raise ArgumentError(
                        f"{self.name}: {parameter.name}: overlaps {other.name}, and is written; "
                        "give a copy"
                    )

    def _fitting(self, device: Device, dense: Dense) -> Ready:
        """The loaded module; LaunchError for blocks beyond what the device takes."""
        facts = device.properties
        if self.block.threads > facts.max_threads:
            raise LaunchError(
                f"{self.name}: block: {self.block.threads} threads given, {device.name} allows "
                f"{facts.max_threads}"
            )
        return self.module.load(device, self.name, dense)[self.name]

    def _number(self, parameter: Operand, value: Any) -> Sequence[Any]:
        """A number as kernel arguments."""
        where = f"{self.name}: {parameter.name}"
        if value is None:
            raise self._missing(parameter)
        if not parameter.is_plain:
            if isinstance(value, Array):
                raise ArgumentError(f"{where}: an array given, one number is needed")
            return base.scalar_limbs(parameter.format(self.module.format), value, where)
        least, most = _NUMBERS[parameter.kind]
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentError(f"{where}: {value!r:.60} given, an integer is needed")
        if not least <= value <= most:
            raise ArgumentError(f"{where}: {value} given, {parameter.kind} holds {least} to {most}")
        return (np.dtype(parameter.kind).type(value),)

    def __repr__(self) -> str:
        return f"<portmp kernel {self.name} of {self.module.name}, {self.module.format.name}>"


def _template(template: str | Path) -> tuple[Path | None, str, str]:
    """Folder, name and text of a template."""
    if isinstance(template, str) and (not template or any(c in template for c in "\n{}")):
        return None, "template text", template
    if not isinstance(template, (str, Path)):
        raise ArgumentError(
            f"template: {type(template).__name__} given, a file's path or the text is needed"
        )
    path = Path(template)
    try:
        return path.resolve().parent, path.name, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file (UTF-8)"
        words = "" if path.suffix else "; a text that is meant has words in it, such as ${kernel()}"
        raise InputError(f"template {path}: cannot be read: {reason}{words}") from None


def _check_memory(kernel: str, needed: int, most: int, device: Device) -> None:
    if needed > most:
        raise LaunchError(
            f"{kernel}: takes {needed} bytes of block memory, {device.name} has {most}"
        )


def _opened(body: RenderedSource, words: Words, name: str) -> RenderedSource:
    """The text with declarations at the start of kernels' bodies."""
    order = iter(body.kernels)
    parameters = {c_name(kernel): words.more_parameters(kernel) for kernel in words.memory}
    scratches = {c_name(kernel): scratch for kernel, scratch in words.scratch.items()}

    def declared(match: re.Match[str]) -> str:
        scratch = scratches[next(order)]
        return f"{match[1]}{{{' ' + scratch if scratch else ''}"

    text, count = _BODY.subn(declared, body.text)
    for kernel in body.kernels:
        text = text.replace(MORE, "".join(f", {one}" for one in parameters[kernel]), 1)
    if count != len(body.kernels) or OPENING in text:
        origin = body.origin(text.partition(OPENING)[0].count("\n") + 1)
        place = f"{origin[0]} line {origin[1]}" if origin else name
        raise RenderError(f"{place}: a kernel's body in braces must follow ${{kernel()}}")
    return RenderedSource(text, body.line_map, body.kernels)
