"""Elements of any kind, moved bit by bit: out[i] = x[i], in the order of any strides.

Definition: bits are copied. Where several elements are written to one place it is not defined which
of them stays: callers leave one.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from portmp import formats
from portmp.backends.base import Buffer
from portmp.backends.host.runtime import HostBuffer
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import vector
from portmp.routines import axes, base
from portmp.runtime import launch, planes
from portmp.runtime.planes import Numbers, View, blank, blank_like

THREADS = 256
V = TypeVar("V", bound=View[Any])
_RAW = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


def like(view: V, shape: tuple[int, ...]) -> V:
    """New memory for elements of the same kind, on the same queue."""
    made: V = blank(view.elements, shape).made(view.queue)
    return made


def dense(view: V) -> V:
    """*view* itself if its elements follow each other in C order, else a copy whose do."""
    return view if view.contiguous else copied(view)


def copied(view: V, out: V | None = None) -> V:
    """A dense copy, or one into *out*, to whose shape *view* is broadcast."""
    target = like(view, view.shape) if out is None else out
    if view.queue is not target.queue:
        base.same_device(target, "the array", value=view)
    if not planes.copied(view.broadcast_to(target.shape), target):
        run({"x": view}, target)
    return target


def selected(cond: Numbers, x: V, y: V) -> V:
    """x where *cond* is true, else y, with broadcasting."""
    kept, key, plan = launch.find((selected,), (x, y, cond))
    if plan is None:
        base.same_device(cond, "condition", x=x, y=y)
        target = like(x, axes.common_shape("where", [cond, x, y]))
        by_kernel, by_host = (partial(f, ("x", "y", "cond"), "") for f in (_launch, _on_host))
        plan = kept.plan(key, (x, y, cond, target), by_kernel, by_host, blank_like(target))
    return plan.run((x, y, cond, None))


def gathered(x: V, offsets: Numbers, shape: tuple[int, ...], strides: tuple[int, ...]) -> V:
    """Elements of x at *offsets* (int64, broadcast to *shape*) beyond strides of x."""
    out = like(x, shape)
    run({"x": x.view(shape, strides, x.start), "offset": offsets}, out, indexed="x")
    return out


def scattered(
    x: V,
    out: V,
    offsets: Numbers | None,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    cond: Numbers | None = None,
) -> None:
    """Write elements of x (broadcast to *shape*) at *offsets* beyond strides of *out*.

    Only those where *cond* is true, if it is given.
    """
    operands: dict[str, View[Any]] = {"x": x}
    operands |= {} if cond is None else {"cond": cond}
    operands |= {} if offsets is None else {"offset": offsets}
    target = out.view(shape, strides, out.start)
    run(operands, target, indexed="" if offsets is None else "out")


@cache
def kernel_spec(
    parts: tuple[str, ...], operands: tuple[str, ...], indexed: str, rank: int, threads: int
) -> KernelSpec:
    """The kernel that moves elements of these *parts*."""
    return spec(
        "_".join(["moves", *operands[1:]]),
        "arrays/moves.mako",
        formats.get("float32"),
        {},
        takes=[
            *axes.taken(rank),
            *(vector(name, rank, plain=_PLAIN.get(name, parts)) for name in operands),
            vector("out", rank, plain=parts, const=False),
        ],
        parts=parts,
        operands=operands,
        indexed=indexed,
        rank=rank,
        threads=threads,
    )


_PLAIN = {"offset": ("int64",), "cond": ("bool",)}
"""The dtypes of operands that are no elements."""
_CALLED = {"offset": "index", "cond": "condition"}
"""What messages call operands."""


def run(operands: Mapping[str, View[Any]], out: View[Any], indexed: str = "") -> None:
    given = (*operands.values(), out)
    kept, key, plan = launch.find((run, *operands, indexed), given)
    if plan is None:
        base.same_device(out, "the array", **{_CALLED.get(n, n): v for n, v in operands.items()})
        names = tuple(operands)
        by_kernels, by_host = (partial(f, names, indexed) for f in (_launch, _on_host))
        plan = kept.plan(key, given, by_kernels, by_host)
    plan.run(given)


def _launch(names: tuple[str, ...], indexed: str, *views: View[Any]) -> None:
    *operands, out = views
    parts = tuple([_RAW[np.dtype(part).itemsize] for part in out.parts])
    kernel = partial(kernel_spec, parts, names, indexed)
    axes.launched(out, dict(zip(names, operands, strict=True)), THREADS, kernel)


launch.TAKES_COMPLEX |= {run, selected}

# --- where the host computes --------------------------------------------------------------------


def _on_host(names: tuple[str, ...], indexed: str, *views: View[Any]) -> None:
    *given, out = views
    operands = dict(zip(names, given, strict=True))
    if not out.size:
        return
    held: list[Buffer] = [b for v in views for b in v.buffers]

    def run() -> None:
        there = {name: v.broadcast_to(out.shape) for name, v in operands.items()} | {"out": out}
        offsets = there.pop("offset", None)
        cond = there.pop("cond", None)
        places = {name: _places(v) for name, v in there.items()}
        if offsets is not None:
            places[indexed] = places[indexed] + offsets.in_place()[0]
        chosen = np.ones(out.shape, bool) if cond is None else cond.in_place()[0]
        for k, part in enumerate(out.parts):
            memory = {name: _memory(v.buffers[k], part) for name, v in there.items()}
            if "y" in there:
                found = np.where(chosen, memory["x"][places["x"]], memory["y"][places["y"]])
                memory["out"][places["out"]] = found
            else:
                memory["out"][places["out"][chosen]] = memory["x"][places["x"][chosen]]

    out.queue.perform(run, held)


def _places(view: View[Any]) -> np.ndarray[Any, Any]:
    """Where each element of a view lies in its buffers."""
    found = np.array(view.start)
    for n, step in zip(view.shape, view.strides, strict=True):
        found = found[..., None] + np.arange(n) * step
    return found


def _memory(buffer: Buffer, part: str) -> np.ndarray[Any, Any]:
    assert isinstance(buffer, HostBuffer)
    size = np.dtype(part).itemsize
    return buffer.memory[: buffer.memory.size // size * size].view(_RAW[size])
