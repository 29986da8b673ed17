"""Conversions, as one object."""

from collections.abc import Iterator
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format, encode, inputs
from portmp.formats.encodings import PRECISION
from portmp.routines import base
from portmp.routines.case import Case, hostile
from portmp.routines.conversions import launch, reference
from portmp.routines.reference import Host
from portmp.routines.routine import Routine, Units
from portmp.runtime.planes import allocate_numbers

COUNT = 300
DTYPES = ("int8", "int32", "int64", "uint32", "uint64")


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format: to others that compute in its words or in shorter ones.

    Papers' formats have the limbs of others. Of the longest of each word all are asked for.
    """
    if form.paper:
        return
    x = values(form, COUNT, "conversion")
    for target in _targets(form):
        convert = partial(reference.between, form, target)
        call = methodcaller("astype", target)
        yield Case("convert", f"to-{target.name}", form, (x,), call, lambda f, x, c=convert: c(x))
    whole = integers()
    for dtype in DTYPES:
        there = whole.astype(dtype)
        yield Case(
            "from_integers",
            dtype,
            form,
            ([np.zeros(1, form.dtype(i)) for i in range(form.limbs)],),
            partial(_from_integers, form, there),
            lambda f, x, there=there: reference.from_plain(f, [there]),
        )
        if not form.coded:
            yield Case(
                "to_integers",
                dtype,
                form,
                (x,),
                partial(_to_integers, dtype),
                lambda f, x, dtype=dtype: reference.to_plain(dtype, x),
            )


def _targets(form: Format) -> list[Format]:
    """What a format is converted to."""
    if form.coded:
        return [formats.get("dd" if form.word == "float64" else "ts")]
    names: tuple[str, ...] = {"dd": formats.STANDARD, "ts": formats.STANDARD}.get(form.name, ())
    names = (*formats.STANDARD, *formats.STORED) if form.name in ("qs", "qd") else names
    found = [formats.get(name) for name in names or ("float32", "ds", "dd")]
    shorter = [target for target in found if target.word <= form.word]
    return [target for target in shorter if target is not form]


def _from_integers(form: Format, there: Any, x: Any) -> Any:
    given = allocate_numbers(there.dtype.name, there.shape, x.queue)
    given.write_parts([there])
    return type(x)(launch.from_plain(given, form))


def _to_integers(dtype: str, x: Any) -> Any:
    return launch.to_plain(x.planes, dtype).read_span()


def integers() -> np.ndarray[Any, np.dtype[np.int64]]:
    """Integers of all sizes, about powers of two and at the ends of their range."""
    powers = [1 << k for k in range(63)]
    near = [p + step for p in powers for step in (-1, 0, 1)]
    ends = [2**63 - 1, -(2**63), -(2**63) + 1, 2**63 - 512, 2**63 - 513, 0]
    spread = inputs.Stream("integers").integers(60).view(np.int64)
    return np.concatenate([np.array([*near, *(-n for n in near), *ends], np.int64), spread])


def values(form: Format, count: int, seed: str) -> Host:
    """Hostile numbers, and others whose lower limbs are ties of all formats, or nearly."""
    anything, tied = hostile(form, (count,), seed), _tied(form, count, seed)
    return [np.concatenate(both) for both in zip(anything, tied, strict=True)]


def _tied(form: Format, count: int, seed: str) -> Host:
    stream = inputs.Stream(f"tied {form.name} {seed}")
    leading = hostile(form, (count,), f"tied {seed}")[0]
    image = leading.view(encode.IMAGE[leading.dtype.name])
    # The leading limb is cut to a few bits, or all of its bits are ones.
    cut = image.dtype.type(1) << stream.below(count, PRECISION[leading.dtype.name]).astype(
        image.dtype
    )
    ones = image | (cut - image.dtype.type(1))
    kept = np.where(stream.below(count, 3) == 0, ones, image & ~(cut - image.dtype.type(1)))
    limbs = [np.where(np.isfinite(leading), kept, image).view(leading.dtype)]
    with np.errstate(all="ignore"):
        for i in range(1, form.limbs):
            above = np.abs(limbs[-1])
            largest = np.nextafter(np.finfo(above.dtype).max, above.dtype.type(0))
            half = np.spacing(np.minimum(above, largest)).astype(np.float64) / 2
            far = stream.below(count, 60) * (stream.below(count, 3) == 0)
            sign = stream.below(count, 3) - 1.0  # one of three is zero
            limb = (np.ldexp(half, -far) * sign).astype(form.dtype(i))
            none = ~np.isfinite(limbs[0]) | (above == 0) | (2 * np.abs(limb) > 2 * half)
            limbs.append(np.where(none, form.dtype(i).type(0), limb))
    return encode.stored(form, limbs)


class Conversions(Routine):
    """Values to other formats; integers to values and back."""

    name = "conversions"
    cases = staticmethod(cases)

    def units(self, form: Format, device: Device | None) -> Units:
        """To the format whose numbers have most kinds of limbs; from and to int64."""
        threads = base.threads(device, launch.THREADS)
        target = "d+s" if form.word == "float64" else "tsin80b"
        if form.name not in (target, "d+s") and not form.paper:
            yield f"to_{target}", (launch.between_spec(form.name, target, 1, threads),)
        if not form.coded:
            there = launch.kernel_spec("from_plain", form.name, 1, threads, source="int64")
            yield "from_integers", (there,)
            ends = {"lowest": -(2**63), "highest": 2**63 - 1}
            back = launch.kernel_spec("to_plain", form.name, 1, threads, target="int64", **ends)
            yield "to_integers", (back,)
