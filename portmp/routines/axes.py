"""Views that are walked together: their common shape, and as few axes as they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.errors import ShapeError
from portmp.runtime.planes import View


def common_shape(op: str, arrays: Sequence[View[Any]]) -> tuple[int, ...]:
    """The common shape of *op*'s operands."""
    shapes = {p.shape: None for p in arrays}
    if len(shapes) == 1:
        return arrays[0].shape
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = " and ".join(str(p.shape) for p in arrays)
        raise ShapeError(f"operands of {op}: shapes {named} do not broadcast") from None


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
