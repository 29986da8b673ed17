"""What routines share: checks, scalars, launch arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from ctypes import c_float
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from portmp import formats
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError, DeviceError, FormatError, ShapeError, choice
from portmp.formats import Format, complexes, convert, losses
from portmp.formats.meeting import meeting
from portmp.runtime.planes import Host, Numbers, Planes, View, allocate, allocate_numbers

T = TypeVar("T", bound=tuple[Any, ...])
Scalar = int | float | str | Fraction
ScalarLimbs = tuple[np.generic, ...]
Operand = View[Any] | ScalarLimbs | None


def scalar_limbs(form: Format, value: object, argument: str) -> ScalarLimbs:
    """Limbs of an exact scalar as kernel arguments, in words of the arithmetic."""
    form = form.arithmetic
    if form.components > 1:
        part = form.component
        both = complexes.parts(value, argument)
        return tuple(w for x in both for w in scalar_limbs(part, x, argument))
    losses.check(value, form, argument)
    if type(value) is float and (limbs := _float_limbs(form, value)):
        return limbs
    # == does not tell -0.0 from 0.0.
    if type(value) in _KNOWN and not (value == 0 and str(value).startswith("-")):
        return _known_limbs(form, value, argument)
    return _scalar_limbs(form, value, argument)


_KNOWN = (int, str)


def _float_limbs(form: Format, value: float) -> ScalarLimbs | None:
    """``scalar_limbs`` of a finite float, as ``convert`` gives them; None where it must be asked.

    Numbers that change from launch to launch cost ten times as much through ``convert``.
    """
    if form.coded or not math.isfinite(value):
        return None
    word = _WORDS[form.word]
    limbs = []
    for plane in form.planes:
        limb = value if plane == "float64" else c_float(value).value  # which warns of nothing
        limbs.append(word(limb))
        value -= limb
    return tuple(limbs) if math.isfinite(limbs[0]) else None


_WORDS: dict[str, type[np.floating[Any]]] = {"float32": np.float32, "float64": np.float64}


@lru_cache(maxsize=1024, typed=True)
def _known_limbs(form: Format, value: object, argument: str) -> ScalarLimbs:
    """``scalar_limbs`` of a value that == and its type tell from all others."""
    return _scalar_limbs(form, value, argument)


def _scalar_limbs(form: Format, value: object, argument: str) -> ScalarLimbs:
    planes = convert.to_limbs(value, form, argument)
    if planes[0].shape != ():
        raise ShapeError(f"{argument}: one number expected, shape {planes[0].shape} given")
    kind = np.dtype(form.word).type
    # A product with 1 changes nothing but that a signaling NaN becomes a quiet one, as kernels
    # that cut words expect.
    with np.errstate(invalid="ignore"):
        return tuple(kind(plane[()]) * kind(1) for plane in planes)


def is_number(value: ScalarLimbs, number: float) -> bool:
    """Whether limbs are exactly *number* (0 or 1)."""
    return bool(value[0] == number) and not any(value[1:])


def check_words(form: Format, device: Device) -> None:
    """FormatError where a device has not the words that a format computes in."""
    if form.word == "float64" and not device.properties.float64:
        raise FormatError(
            f"format {form.name}: {device.name} ({device.properties.name}) has no float64; "
            "use float32, ds, ts or qs"
        )


def same(form: Format, **operands: Planes) -> None:
    """Check that operands share *form* and one device's queue."""
    first = next(iter(operands.items()))
    for name, planes in operands.items():
        if planes.format is not form:
            raise FormatError(
                f"{name}: format {planes.format}, {first[0]} has {form}; "
                + meeting((form, planes.format))
            )
    same_device(first[1], first[0], **operands)


def same_device(first: View[Any], called: str = "x", /, **operands: View[Any]) -> None:
    """Check that operands are on the device and the queue of *first*."""
    for name, planes in operands.items():
        _same_queue(first.queue, called, planes.queue, name)


def _same_queue(wanted: Queue, called: str, given: Queue, name: str) -> None:
    if given is wanted:
        return
    if given.device is wanted.device:
        raise DeviceError(f"{name}: belongs to another queue of its device than {called}")
    raise DeviceError(
        f"{name}: on {given.device.name}, {called} is on {wanted.device.name}; "
        f"copy with {name}.to({wanted.device.name!r})"
    )


def computes(form: Format, routine: str) -> None:
    """FormatError for complex numbers and storage formats, which *routine* does not take."""
    formats.real_only(form, routine)
    if form.coded:
        raise FormatError(
            f"{routine}: {form.name} is a storage format; convert with "
            f"astype({form.arithmetic.name!r})"
        )


def check_rounding(rounding: str, bound: bool) -> None:
    """ArgumentError for a rounding of sums other than ``correct``, and for that with a bound."""
    if rounding == "correct" and bound:
        raise ArgumentError(
            "bound: True given, with rounding='correct' too; a rounded sum is within half an ulp "
            "of its last limb"
        )
    choice("rounding:", rounding, ["correct"], ", or None for the format's networks")


def output(
    out: Planes | None, like: Planes, shape: Sequence[int], **inputs: View[Any] | None
) -> Planes:
    """The output planes: *out* after ``check_out``, or new ones."""
    if out is None:
        return allocate(like.format, shape, like.queue)
    check_out(out, like.format, shape, like.queue, **inputs)
    return out


def output_numbers(out: Numbers | None, dtype: str, shape: Sequence[int], queue: Queue) -> Numbers:
    """The output of plain numbers: *out* after ``check_out``, or new ones."""
    if out is None:
        return allocate_numbers(dtype, shape, queue)
    check_out(out, dtype, shape, queue)
    return out


def check_out(
    out: View[Any],
    elements: Format | str,
    shape: Sequence[int],
    queue: Queue,
    **inputs: View[Any] | None,
) -> None:
    """Check that *out* takes a result: all that is given as ``out=`` goes through this.

    It has the result's elements, queue and shape, each element has a place of its own, and no
    memory is an input's: inputs are those that are read after the first element is written.
    """
    if out.elements != elements:
        raise FormatError(f"out: {out.elements} given, the result is {elements}")
    _same_queue(queue, "the result", out.queue, "out")
    if out.shape != tuple(shape):
        raise ShapeError(f"out: shape {out.shape} given, {tuple(shape)} needed")
    check_places(out, "out")
    refuse_overlap(out, **inputs)


def check_places(view: View[Any], argument: str) -> None:
    """ArgumentError for what is to be written and has elements that share a place."""
    if any(n > 1 and s == 0 for n, s in zip(view.shape, view.strides, strict=True)):
        raise ArgumentError(f"{argument}: a broadcast view cannot be written; copy() can")


def refuse_overlap(out: View[Any], **inputs: View[Any] | None) -> None:
    """Refuse an output that shares memory with an input that is read many times."""
    for name, view in inputs.items():
        if view is not None and out.overlaps(view):
            raise ArgumentError(f"out: overlaps {name}; give an output of its own")


def refuse_shift(out: View[Any], **inputs: View[Any]) -> None:
    """Refuse an output that shares memory with an input of which it is not the same view."""
    for name, view in inputs.items():
        if not out.same_view(view):
            refuse_overlap(out, **{name: view})


def exact_limbs(form: Format, value: ScalarLimbs) -> ScalarLimbs:
    """A scalar as kernels take it whose values have a bound each, *form*: it is exact."""
    return (*value, *[np.dtype(form.word).type(0)] * (form.limbs - len(value)))


def bounds_of(z: Planes) -> Planes:
    """The bounds of results that have one each, in units of u^N."""
    word = formats.get(z.format.word)
    return Planes(word, z.shape, z.strides, z.start, z.buffers[-1:], z.queue)


def on_host(out: View[Any], reference: Callable[..., Host], *operands: Operand) -> None:
    """Fill *out* by the host reference: what a device does that runs no kernels.

    Of *operands* the reference is given limbs, or plain numbers in a list.
    """
    all_on_host([out], lambda *limbs: [reference(*limbs)], *operands)


def all_on_host(
    outs: Sequence[View[Any]], reference: Callable[..., Sequence[Host]], *operands: Operand
) -> None:
    """The same of a reference with several results. It is recorded as one launch."""

    def run() -> None:
        given = [o.decoded() if isinstance(o, View) else o for o in operands]
        for out, found in zip(outs, reference(*given), strict=True):
            out.fill(found)

    if any(out.size for out in outs):
        held = [b for o in (*outs, *operands) if isinstance(o, View) for b in o.buffers]
        outs[0].queue.perform(run, held)


def each_on_host(out: Planes, reference: Callable[..., Host], *operands: Operand) -> None:
    """The same for each matrix of batches, whose leading axes are those of *out*."""
    for each in np.ndindex(*out.shape[:-2]):
        mine = [matrix_of(o, each) if isinstance(o, Planes) else o for o in operands]
        on_host(matrix_of(out, each), reference, *mine)


def each_changed(outs: Sequence[Planes], reference: Callable[..., T], *operands: Planes) -> list[T]:
    """Fill each matrix of batches by the first results of a reference; all results, of each."""
    every: list[T] = []

    def made(*planes: Host) -> Sequence[Host]:
        every.append(reference(*planes))
        return every[-1][: len(outs)]

    for each in np.ndindex(*outs[0].shape[:-2]):
        mine, given = ([matrix_of(o, each) for o in batches] for batches in (outs, operands))
        all_on_host(mine, made, *given)
    return every


def hosted(reference: Callable[..., Host]) -> Callable[..., None]:
    """What fills the last of its operands by a *reference* of the others."""
    return lambda *operands: on_host(operands[-1], reference, *operands[:-1])


def matrix_of(v: Planes, entry: tuple[int, ...]) -> Planes:
    """One matrix of a batch or, by fewer indices than it has axes, a smaller batch."""
    start = v.start + sum(i * s for i, s in zip(entry, v.strides, strict=False))
    return v.view(v.shape[len(entry) :], v.strides[len(entry) :], start)


def column_of(v: Planes) -> Planes:
    """A vector as a matrix of one column."""
    return v.view((*v.shape, 1), (*v.strides, 1), v.start)


def threads(device: Device | None, usual: int) -> int:
    """Threads of a block: *usual*, a power of two, or the largest that the device allows.

    Without a device, as for rendered text, the usual ones.
    """
    allowed = device.properties.max_threads if device else usual
    if allowed < 1:
        raise DeviceError(f"{device.name if device else ''}: blocks of {allowed} threads")
    return usual if allowed >= usual else 1 << (allowed.bit_length() - 1)


def threads_of(device: Device | None, usual: int) -> int:
    """Threads of a block with many barriers: one on a CPU, which would take them in turns."""
    cpu = device is not None and device.properties.kind == "cpu"
    return 1 if cpu else threads(device, usual)


def blocks(count: int, block: int) -> int:
    """How many blocks of *block* cover *count*."""
    return -(-count // block)
