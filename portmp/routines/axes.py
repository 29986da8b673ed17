"""Views that are walked together: their common shape, and as few axes as they need."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.signature import Index
from portmp.errors import ArgumentError, AxisError, ShapeError
from portmp.routines import base
from portmp.runtime import launch
from portmp.runtime.planes import View

V = TypeVar("V", bound=View[Any])


def common_shape(op: str, arrays: Sequence[View[Any]]) -> tuple[int, ...]:
    """The common shape of *op*'s operands."""
    shapes = {p.shape: None for p in arrays}
    if len(shapes) == 1:
        return arrays[0].shape
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = " and ".join(map(str, shapes))
        raise ShapeError(f"operands of {op}: shapes {named} do not broadcast") from None


def taken(rank: int) -> list[Index]:
    """What kernels take that walk so many axes: how many elements, and lengths but the first's."""
    return [Index("n"), *(Index(f"size{axis}") for axis in range(1, rank))]


def walked(out: View[Any], operands: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a launch, with *out* and what is walked with it as views of as few axes.

    Of *operands* those that are numbers stay as they are.
    """
    arrays = {name: one for name, one in operands.items() if isinstance(one, View)}
    views = {"out": out, **{name: one.broadcast_to(out.shape) for name, one in arrays.items()}}
    sizes, strides = collapsed(out.shape, [view.strides for view in views.values()])
    given: dict[str, Any] = {
        "n": math.prod(sizes),
        **{f"size{axis}": n for axis, n in enumerate(sizes) if axis},
    }
    for (name, view), steps in zip(views.items(), strides, strict=True):
        given[name] = view.view(sizes, steps, view.start)
    return {**operands, **given}


def launched(
    out: View[Any],
    operands: Mapping[str, Any],
    usual: int,
    spec_of: Callable[[int, int], KernelSpec],
    **more: Any,
) -> None:
    """Launch what walks *operands* with *out*, a thread an element, in *usual* threads a block.

    *spec_of*: its kernel, for so many axes and threads.
    """
    if not out.size:
        return
    given, threads = walked(out, operands), base.threads(out.device, usual)
    unit = (spec_of(given["out"].ndim, threads),)
    launch.over(out.queue, unit, out.size, threads, given | more)


def named(
    axis: Any, ndim: int, argument: str = "axis", count: int | None = None
) -> tuple[int, ...]:
    """Axes named by None (all), an integer, or several, counted from the front; *count* of them."""
    given = tuple(range(ndim)) if axis is None else axis
    given = given if isinstance(given, (tuple, list)) else (given,)
    found = []
    for one in given:
        if isinstance(one, bool) or not isinstance(one, (int, np.integer)):
            raise ArgumentError(f"{argument}: {axis!r} given, integers or None are allowed")
        if not -ndim <= one < ndim:
            raise AxisError(f"{argument}: {axis} given, the number of axes is {ndim}")
        found.append(int(one) % ndim)
    if len(set(found)) < len(found):
        raise ShapeError(f"{argument}: {axis} given, which names one axis twice")
    if count not in (None, len(found)):
        raise ShapeError(f"{argument}: {axis} given, {count} axis or axes are needed")
    return tuple(found)


def rows(view: V, over: Sequence[int], dense: Callable[[V], V]) -> tuple[V, tuple[int, ...]]:
    """A view as a matrix whose rows run along the axes *over*, and the shape of its other axes.

    Elements of a row are in C order. *dense* makes copies, where only they have such strides.
    """
    how = _rows(view.shape, view.strides, tuple(over))
    if how.dense:
        turned = view.transposed(how.order)
        view = dense(turned).view_as(turned.shape)
    return view.view(how.sizes, how.steps, view.start), how.shape


class _Rows(NamedTuple):
    """How a view is walked by rows: once its axes in an *order* are *dense*, or as it is."""

    order: tuple[int, ...]
    dense: bool
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]


@lru_cache(maxsize=4096)
def _rows(shape: tuple[int, ...], strides: tuple[int, ...], over: tuple[int, ...]) -> _Rows:
    kept = tuple([axis for axis in range(len(shape)) if axis not in over])
    sides = [
        ([shape[a] for a in some], [strides[a] for a in some]) for some in (kept, sorted(over))
    ]
    walked = [collapsed(lengths, [tuple(steps)]) for lengths, steps in sides]
    sizes = tuple([math.prod(lengths) for lengths, _ in sides])
    order, left = (*kept, *sorted(over)), tuple(sides[0][0])
    if 0 not in shape and any(len(lengths) > 1 for lengths, _ in walked):
        return _Rows(order, True, sizes, (sizes[1], 1), left)
    return _Rows(order, False, sizes, tuple([steps[0][0] for _, steps in walked]), left)


def collapsed(
    shape: Sequence[int], views: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Merge axes that every view walks as one, by their strides; drop axes of length 1."""
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in views]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        steps = [v[axis] for v in views]
        if sizes and all(s[-1] == step * size for s, step in zip(strides, steps, strict=True)):
            sizes[-1] *= size
            for s, step in zip(strides, steps, strict=True):
                s[-1] = step
        else:
            sizes.append(size)
            for s, step in zip(strides, steps, strict=True):
                s.append(step)
    if not sizes:
        return (1,), [(1,)] * len(views)
    return tuple(sizes), [tuple(s) for s in strides]
