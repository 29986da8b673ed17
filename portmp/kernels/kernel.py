"""Kernels of the user's: rendered for a device, compiled once, launched on arrays by name."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from portmp import discovery, formats
from portmp.arrays.array import Array
from portmp.arrays.plain import PlainArray
from portmp.backends.base import (
    Argument,
    Buffer,
    Device,
    Dim3,
    Launch,
    LaunchMemory,
    Queue,
    check_process,
    is_recording,
)
from portmp.backends.base import Kernel as Loaded
from portmp.codegen import platform, render
from portmp.codegen.platform import Traits
from portmp.codegen.render import RenderedSource
from portmp.errors import (
    ArgumentError,
    CheckError,
    DeviceError,
    FormatError,
    InputError,
    LaunchError,
    RenderError,
    suggestion,
)
from portmp.formats import Format
from portmp.kernels import names, requirements, tuned
from portmp.kernels.extent import Extent, Grid, block_of
from portmp.kernels.requirements import Requirement
from portmp.kernels.signature import OWN, Parameter, parsed
from portmp.kernels.tuned import Declared, Schedule
from portmp.kernels.vocabulary import Words
from portmp.kernels.words.base import BlockMemory
from portmp.kernels.words.threads import MORE, OPENING, c_name
from portmp.routines import base
from portmp.runtime import program
from portmp.runtime.planes import View, allocate, allocate_numbers

if TYPE_CHECKING:
    from portmp.kernels.resources import Resources
    from portmp.kernels.tuning import Tuning
    from portmp.kernels.verifying import Verified

Where = str | Device | Queue | None
"""What names a device, or a queue of one."""

Dense = frozenset[str]
"""The arrays of a call whose elements follow each other from the start of their memory."""

_BODY = re.compile(rf"{OPENING}(\s*)\{{")
_NUMBERS = ("int32", "int64", "uint32", "uint64")
"""Plain numbers that are passed by value."""


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
        kernels = program.load(device, written.source)
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
        name = self.signature.name
        if isinstance(template, Module):
            if of_module := [*(["checked"] if checked else []), *values]:
                raise ArgumentError(f"{name}: {of_module[0]}: is the module's to say")
            self.module = template
        else:
            self.module = Module(template, format, checked=checked, **values)
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
        self._array_names = [p.name for p in self._arrays]
        self._numbers = [p for p in self.signature.parameters if not p.is_array]
        self._outs = [p.name for p in self._arrays if p.way == "out"]
        self._required = {p.name for p in self.signature.parameters if p.way != "out"}
        self._names = frozenset(self.signature.by_name)
        self._plans: dict[Any, _Plan] = {}
        self._prepared: dict[tuple[int, ...], _Prepared] = {}
        self._variants: dict[Schedule, Kernel] = {}
        self._is_variant = False
        _kernels.add(self)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.signature.name

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
        found = tuning.tune(self, space, given, named, device)
        for kernel in tuple(_kernels):  # others may be of the same text
            kernel._plans.clear()
            kernel._prepared.clear()
        return found

    def schedule(self, device: str | Device | None = None) -> Schedule:
        """The values and the block that calls take on a device, and where they come from."""
        return self._schedule(discovery.get(device))

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

    def _schedule(self, device: Device) -> Schedule:
        """What is in force on a device."""
        own = Schedule(tuned.kept(self.module.values), self.block.dimensions)
        if self._is_variant or device.by_reference:
            return own

        def text() -> str:
            return self.module.write(device.platform, device.traits).source.text

        return tuned.find(self.name, self.module.name, self.declared, text, own, device)

    # --- calls --------------------------------------------------------------------------------

    def __call__(self, *given: Any, device: Where = None, **named: Any) -> Any:
        """Launch on arrays and numbers, by name or in the order of the signature."""
        if known := self._known(named) if device is None and not given else None:
            self._launch(known, named)
            made, arguments = {}, named
        else:
            arguments = self.arguments(given, named)
            plan = self._plan(arguments, device)
            made = {p.name: self._made(p, plan.sizes, plan.queue) for p in plan.made}
            views = {
                name: (made[name] if name in made else arguments[name]).planes
                for name in self._array_names
            }
            self._refuse_overlaps(views)
            prepared = _Prepared(plan, self._parts(plan, views))
            self._launch(prepared, arguments)
            if not made:
                self._keep(prepared, views.values())
        results = [made.get(name, arguments.get(name)) for name in self._outs]
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def _known(self, named: Mapping[str, Any]) -> _Prepared | None:
        """What an earlier call with the same arrays, all given by name, prepared."""
        if named.keys() != self._names:
            return None
        try:
            views = [named[name].planes for name in self._array_names]
        except AttributeError:  # no array: the call is refused in words
            return None
        return self._prepared.get(tuple(map(id, views)))

    def _keep(self, prepared: _Prepared, views: Iterable[View[Any]]) -> None:
        """Remember what a call prepared, as long as all of its arrays live."""
        views = tuple(views)
        key = tuple(map(id, views))
        kept = self._prepared

        def forget(_: object) -> None:
            kept.pop(key, None)

        if len(kept) >= MOST_PLANS:
            kept.clear()
        prepared.watched = [weakref.ref(view, forget) for view in views]
        kept[key] = prepared

    def _parts(
        self, plan: _Plan, views: Mapping[str, View[Any]]
    ) -> list[list[Argument] | Parameter]:
        """A launch's arguments but for block memory: of arrays and sizes as they are."""
        parts: list[list[Argument] | Parameter] = []
        for parameter in self.signature.parameters:
            name = parameter.name
            if parameter.shape is None:
                parts.append(parameter)
            else:
                view = views[name]
                place = () if name in plan.dense else (view.start, *view.strides)
                parts.append([*view.buffers, *place])
        return [*parts, [*plan.sizes.values()]]

    def _launch(self, prepared: _Prepared, arguments: Mapping[str, Any]) -> None:
        """Launch what is prepared, with a call's numbers."""
        plan = prepared.plan
        queue, kernel = plan.queue, plan.kernel
        try:
            if prepared.again is not None:
                check_process(queue.device)
                queue.perform(prepared.again.run, prepared.again.args)
                return
            if prepared.with_numbers is not None and not is_recording():
                check_process(queue.device)
                limbs: list[Argument] = []
                for parameter in self._numbers:
                    limbs += self._number(parameter, arguments[parameter.name])
                prepared.with_numbers(limbs)
                return
            launched, places = self._arguments(prepared.parts, arguments)
            told = requirements.buffer(plan.requirements, queue) if plan.requirements else None
            launched += [told] if told else []
            launched += plan.memory
            numbers = {p.name: arguments[p.name] for p in self._numbers}
            grid = plan.grid or kernel._grid.blocks(kernel.block, plan.sizes, numbers)
            if 0 in grid:
                return
            block = kernel.block.dimensions
            run = queue.prepared(plan.loaded, grid, block, launched)
            queue.perform(run, launched)
        except CheckError as error:
            raise kernel._placed(error, plan) from None
        if told:
            kernel._check(told, plan, grid)
        elif not self._numbers:
            prepared.again = Launch(run, launched)
        elif plan.grid:
            prepared.with_numbers = queue.relauncher(plan.loaded, grid, block, launched, places)

    def _arguments(
        self, parts: Sequence[list[Argument] | Parameter], given: Mapping[str, Any]
    ) -> tuple[list[Argument], list[int]]:
        """A launch's arguments but for block memory, and which of them are numbers' limbs."""
        arguments: list[Argument] = []
        places: list[int] = []
        for part in parts:
            if isinstance(part, Parameter):
                limbs = self._number(part, given[part.name])
                places += range(len(arguments), len(arguments) + len(limbs))
                arguments += limbs
            else:
                arguments += part
        return arguments, places

    def _plan(self, arguments: Mapping[str, Any], device: Where) -> _Plan:
        """What calls share whose arrays are alike, made by the first of them."""
        key = self._key(arguments, device)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(arguments, device)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _key(self, arguments: Mapping[str, Any], device: Where) -> Any:
        """What tells calls apart that need plans of their own."""
        asked = [arguments[size] for size in self.signature.sizes if size in arguments]
        sizes = [(type(size), str(size)) for size in asked]
        return (*map(_facts, map(arguments.get, self._array_names)), *sizes, str(device))

    def _planned(self, arguments: Mapping[str, Any], device: Where) -> _Plan:
        """What all calls share whose arrays are alike; errors where the arrays are wrong."""
        views = self._views(arguments)
        queue = self._queue(views, device)
        target = queue.device
        sizes = self._sizes(views, arguments)
        made = [p for p in self._arrays if p.name not in views]
        dense = {n for n, view in views.items() if view.contiguous and not view.start}
        dense |= {p.name for p in made}
        schedule = self._schedule(target)
        kernel = self if schedule.origin == "declared" else self.varied(schedule)
        ready = kernel._fitting(target, frozenset(dense))
        dynamic = ready.memory.bytes(sizes)
        _check_memory(
            self.name, ready.memory.static + dynamic, target.properties.shared_memory, target
        )
        asked = (LaunchMemory(dynamic),) if ready.memory.dynamic else ()
        ordered = {size: sizes[size] for size in self.signature.sizes}
        grid = kernel._grid.blocks(kernel.block, sizes, {}) if kernel._grid.fixed else None
        return _Plan(
            queue,
            ordered,
            made,
            frozenset(dense),
            ready.kernel,
            grid,
            asked,
            kernel,
            ready.requirements,
        )

    def _check(self, told: Buffer, plan: _Plan, grid: Dim3) -> None:
        """CheckError for what the kernel asserts and does not hold."""
        broken = requirements.broken(told, plan.requirements, plan.queue)
        if broken:
            device = plan.queue.device
            written = self.module.write(device.platform, device.traits, {self.name: plan.dense})
            text = written.source
            raise requirements.error(self.name, broken, self.block.dimensions, grid, text)

    def _placed(self, error: CheckError, plan: _Plan) -> CheckError:
        """A checker's error with the template's lines."""
        device = plan.queue.device
        written = self.module.write(device.platform, device.traits, {self.name: plan.dense})
        return program.placed(error, written.source)

    def _views(self, arguments: Mapping[str, Any]) -> dict[str, View[Any]]:
        """The memory of the arrays that a call gives."""
        views: dict[str, View[Any]] = {}
        for parameter in self._arrays:
            value = arguments.get(parameter.name)
            if value is not None:
                views[parameter.name] = self._view(parameter, value)
        return views

    def new_arrays(self, arguments: Mapping[str, Any], queue: Queue) -> dict[str, Any]:
        """The arrays that go out and that a call does not give."""
        views = self._views(arguments)
        sizes = self._sizes(views, arguments)
        missing = [p for p in self._arrays if p.name not in views]
        return {p.name: self._made(p, sizes, queue) for p in missing}

    def arguments(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """What a call gives, by name: all parameters but arrays that go out, and sizes."""
        whole = not given and named.keys() == self._required
        if whole and not any(value is None for value in named.values()):
            return dict(named)
        names = [p.name for p in self.signature.parameters]
        if len(given) > len(names):
            raise ArgumentError(
                f"{self.name}: {len(given)} arguments given, {len(names)} are taken: "
                + ", ".join(names)
            )
        found = dict(zip(names, given, strict=False))
        for name, value in named.items():
            if name not in self.signature.by_name and name not in self.signature.sizes:
                near = suggestion(name, [*names, *self.signature.sizes])
                raise ArgumentError(f"{self.name}: has no parameter {name!r}{near}")
            if name in found:
                raise ArgumentError(f"{self.name}: {name} is given twice")
            found[name] = value
        for parameter in self.signature.parameters:
            if found.get(parameter.name) is None and parameter.way != "out":
                raise ArgumentError(f"{self.name}: {parameter.name} is missing")
        return found

    def _view(self, parameter: Parameter, value: Any) -> View[Any]:
        """An array's memory, once its elements are what the parameter says."""
        where, kind = f"{self.name}: {parameter.name}", parameter.kind
        if not isinstance(value, (Array, PlainArray)):
            wanted = self.module.format.name if kind == OWN else kind
            raise ArgumentError(
                f"{where}: {type(value).__name__} given, an array is needed: "
                f"portmp.array(..., {wanted!r})"
            )
        wanted = kind if parameter.is_plain else parameter.format(self.module.format).name
        if str(value.planes.elements) != wanted:
            raise FormatError(
                f"{where}: elements are {value.planes.elements!s}, {wanted} is needed"
            )
        view: View[Any] = value.planes
        if parameter.written and any(
            n > 1 and not step for n, step in zip(view.shape, view.strides, strict=True)
        ):
            raise ArgumentError(f"{where}: a broadcast view cannot be written")
        return view

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

    def _sizes(
        self, views: Mapping[str, View[Any]], arguments: Mapping[str, Any]
    ) -> dict[str, int]:
        """All sizes, from shapes and from what the call gives; ShapeError where they differ."""
        asked = {}
        for size in self.signature.sizes:
            if size in arguments:
                value = arguments[size]
                if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
                    raise ArgumentError(
                        f"{self.name}: {size}: {value!r:.60} given, a size from 0 on is needed"
                    )
                asked[size] = int(value)
        sizes = self.signature.measured({n: v.shape for n, v in views.items()}, asked)
        for name, view in views.items():
            self.signature.check(name, view.shape, sizes)
        return sizes

    def _made(
        self, parameter: Parameter, sizes: Mapping[str, int], queue: Queue
    ) -> Array | PlainArray:
        """A new array for what goes out."""
        shape = self.signature.shape(parameter.name, sizes)
        if any(n < 0 for n in shape):
            raise ArgumentError(f"{self.name}: {parameter.name}: its shape is {shape}")
        if parameter.is_plain:
            return PlainArray(allocate_numbers(parameter.kind, shape, queue))
        return Array(allocate(parameter.format(self.module.format), shape, queue))

    def _refuse_overlaps(self, views: Mapping[str, View[Any]]) -> None:
        """ArgumentError where what is written shares memory with another array."""
        for parameter in self._arrays:
            if parameter.written:
                view = views[parameter.name]
                for name, other in views.items():
                    if other is not view and view.overlaps(other):
                        raise ArgumentError(
                            f"{self.name}: {parameter.name}: overlaps {name}, and is written; give "
                            "a copy"
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

    def _number(self, parameter: Parameter, value: Any) -> Sequence[Argument]:
        """A number as kernel arguments."""
        where = f"{self.name}: {parameter.name}"
        if not parameter.is_plain:
            if isinstance(value, Array):
                raise ArgumentError(f"{where}: an array given, one number is needed")
            return base.scalar_limbs(parameter.format(self.module.format), value, where)
        info = np.iinfo(parameter.kind)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentError(f"{where}: {value!r:.60} given, an integer is needed")
        if not info.min <= value <= info.max:
            raise ArgumentError(
                f"{where}: {value} given, {parameter.kind} holds {info.min} to {info.max}"
            )
        return [np.dtype(parameter.kind).type(value)]

    def __repr__(self) -> str:
        return f"<portmp kernel {self.name} of {self.module.name}, {self.module.format.name}>"


@dataclass(slots=True)
class _Prepared:
    """A call whose arrays are checked: its arguments, and parameters where numbers come."""

    plan: _Plan
    parts: Sequence[list[Argument] | Parameter]
    again: Launch | None = None
    """The launch itself, where it needs no numbers."""
    with_numbers: Callable[[Sequence[Argument]], None] | None = None
    """What launches it with the limbs of numbers, which do not change the grid."""
    watched: Sequence[weakref.ref[Any]] = ()


class _Plan(NamedTuple):
    """What calls share whose arrays have the same kinds, places and device."""

    queue: Queue
    sizes: Mapping[str, int]
    made: Sequence[Parameter]
    dense: Dense
    loaded: Loaded
    grid: tuple[int, int, int] | None
    memory: Sequence[LaunchMemory]
    kernel: Kernel
    requirements: Sequence[Requirement]


MOST_PLANS = 256
"""Plans that a kernel keeps, and calls that it repeats."""

_kernels: WeakSet[Kernel] = WeakSet()
"""All that live, so that what is tuned counts for those that were called before."""


def _facts(value: Any) -> Any:
    """What a plan depends on of an argument; of what is no array, its type."""
    if type(value) is Array or type(value) is PlainArray:
        view = value.planes
        return view.elements, view.place, view.queue
    return type(value)


def _template(template: str | Path) -> tuple[Path | None, str, str]:
    """Folder, name and text of a template."""
    if isinstance(template, str) and "\n" in template:
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
        raise InputError(f"template {path}: cannot be read: {reason}") from None


def _check_memory(kernel: str, needed: int, most: int, device: Device) -> None:
    """LaunchError for more block memory than a device has."""
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
