"""Conversions between formats, and between plain integers and formats.

Definition: a value of another format is rounded once from its exact value, limb by limb, each what
is left; limbs of the same encodings as the other format's first ones are kept as they are. An
integer becomes limbs greedily, each the rest rounded to its word, so that it is rounded once; zero
is +0. A value becomes an integer toward zero: one beyond the dtype's ends becomes the end, NaN
becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Parameter, vector
from portmp.formats import Format
from portmp.routines import axes, base
from portmp.routines.conversions import reference
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, View, allocate, allocate_numbers

THREADS = 256
_WHOLE = {"float32": "ts", "float64": "dd"}
"""Formats of these words that hold every integer."""


def holds(form: Format, dtype: str) -> bool:
    """Whether a format holds every number of a plain dtype exactly."""
    if dtype == "bool":
        return True
    info = np.iinfo(dtype)
    bits = info.bits - (info.min < 0)
    return bits <= form.encodings[0].bits or (bits <= form.compute.bits and not form.coded)


def from_plain(x: Numbers, form: Format) -> Planes:
    """Integers or truth values in a format, each rounded once."""
    if form.coded and not holds(form, x.dtype):
        # What is stored short is rounded from the integer itself.
        return between(from_plain(x, formats.get(_WHOLE[form.word])), form)
    out = allocate(form, x.shape, x.queue)
    kernel = partial(kernel_spec, "from_plain", form.name, source=x.dtype)
    _run(x, out, partial(reference.from_plain, form), kernel)
    return out


def to_plain(x: Planes, dtype: str) -> Numbers:
    """Values toward zero, cut to the range of an integer's dtype."""
    out = allocate_numbers(dtype, x.shape, x.queue)
    info = np.iinfo(dtype)
    ends = {"lowest": int(info.min), "highest": int(info.max)}
    kernel = partial(kernel_spec, "to_plain", x.format.name, target=dtype, **ends)
    _run(x, out, partial(reference.to_plain, dtype), kernel)
    return out


def between(x: Planes, form: Format) -> Planes:
    """Values in another format; FormatError where the device has not its words."""
    base.check_words(form, x.device)
    if elementwise.converts(x.format, form):
        return elementwise.converted(x, form)
    out = allocate(form, x.shape, x.queue)
    if form.encodings[: x.format.limbs] == x.format.encodings:
        head = out.buffers[: len(x.format.parts)]
        moves.copied(x, Planes(x.format, x.shape, out.strides, 0, head, x.queue))
        for plane in range(len(head), len(form.parts)):
            plain.fill(out.raw(plane), 0)
        return out
    change = partial(reference.between, x.format, form)
    _run(x, out, change, partial(between_spec, x.format.name, form.name))
    return out


@cache
def between_spec(source: str, target: str, rank: int, threads: int) -> KernelSpec:
    """The kernel that rounds values of one format to another; it computes in the longer words."""
    both = {"x": formats.get(source), "out": formats.get(target)}
    word = max(form.word for form in both.values())
    path, f, takes = "arrays/between.mako", formats.get(word), _taken(rank)
    return spec("between", path, f, {}, stored=both, takes=takes, rank=rank, threads=threads)


def _taken(rank: int, source: str = "", target: str = "") -> list[Parameter]:
    """What a kernel takes: values or, of a dtype, plain numbers."""
    x, out = ((dtype,) if dtype else () for dtype in (source, target))
    ends = vector("x", rank, plain=x), vector("out", rank, plain=out, const=False)
    return [*axes.taken(rank), *ends]


@cache
def kernel_spec(template: str, form: str, rank: int, threads: int, **values: Any) -> KernelSpec:
    """The kernel that converts to or from a format."""
    f = formats.get(form)
    roles = {"copy": f.operator("copy")}
    path = f"arrays/{template}.mako"
    takes = _taken(rank, values.get("source", ""), values.get("target", ""))
    return spec(template, path, f, roles, takes=takes, rank=rank, threads=threads, **values)


def _run(
    x: View[Any], out: View[Any], on_host: Any, kernel_of: Callable[[int, int], KernelSpec]
) -> None:
    """Convert by the kernel for so many axes and threads or, without kernels, *on_host*."""
    kept, key, plan = launch.find((_run,), (x, out))
    if plan is None:

        def by_kernel(x: View[Any], out: View[Any]) -> None:
            axes.launched(out, {"x": x}, THREADS, kernel_of)

        plan = kept.plan(key, (x, out), by_kernel, base.hosted(on_host))
    plan.run((x, out))
