"""Arrays in pickles: the names of format and device, and planes."""

from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays.viewed import AnyArray, wrapped
from portmp.backends.base import Queue
from portmp.errors import FormatError, InputError, PortmpError
from portmp.formats import complexes
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import Planes, View, allocate, allocate_numbers


def reduced(x: AnyArray) -> tuple[Any, ...]:
    """What pickle keeps of an array: nothing but names, the shape and planes as they lie there."""
    view = x.planes
    parts = moves.dense(view).read_parts() if view.size else []
    kind = view.format.name if isinstance(view, Planes) else view.elements
    return restored, (isinstance(view, Planes), kind, view.shape, parts, x.device.name)


def restored(
    is_format: bool, kind: str, shape: tuple[int, ...], parts: list[Any], device: str | Queue
) -> Any:
    """The array again: on the device of that name or, where there is none, the default one.

    InputError where the planes are not what the format or dtype has.
    """
    try:
        queue = discovery.queue_of(device)
    except PortmpError:
        queue = discovery.queue_of(None)
    made: View[Any]
    if is_format:
        made = allocate(formats.get(kind), shape, queue)
    elif kind in _PLAIN:
        made = allocate_numbers(kind, shape, queue)
    else:
        raise FormatError(f"dtype: {kind!r} given, {', '.join(_PLAIN)} are allowed")
    if made.size:
        found = [np.asarray(part) for part in parts]
        if [(p.dtype.name, p.shape) for p in found] != [(d, made.shape) for d in made.parts]:
            raise InputError(f"pickle: planes of an array of {kind} of shape {shape} are needed")
        if isinstance(made, Planes) and not made.format.coded:
            found = complexes.normalise(found, made.format, "pickle")
        made.write_parts(found)
    return wrapped(made)


_PLAIN = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
