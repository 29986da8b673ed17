"""Conversions on the host, bit for bit as on devices."""

import math

import numpy as np

from portmp.formats import Format, convert, encode
from portmp.routines.reference import Host


def between(source: Format, target: Format, x: Host) -> Host:
    """Values of another format, each rounded once."""
    return encode.stored(target, convert.change_format(x, source, target))


def from_plain(form: Format, x: Host) -> Host:
    """Integers, each rounded once."""
    numbers = map(int, x[0].ravel().tolist())
    items = [convert.round_ratio(n, 1, form)[0] if n else (0.0,) * form.limbs for n in numbers]
    return [
        np.array([limbs[k] for limbs in items], form.dtype(k)).reshape(x[0].shape)
        for k in range(form.limbs)
    ]


def to_plain(dtype: str, x: Host) -> Host:
    """Values toward zero, cut to the dtype's range; NaN gives 0."""
    info = np.iinfo(dtype)
    lowest, highest = int(info.min), int(info.max)

    def whole(limbs: tuple[float, ...]) -> int:
        if math.isnan(limbs[0]):
            return 0
        if math.isinf(limbs[0]):
            return highest if limbs[0] > 0 else lowest
        return min(max(int(convert.to_fraction(limbs)), lowest), highest)

    rows = zip(*(plane.ravel().tolist() for plane in x), strict=True)
    return [np.array([whole(row) for row in rows], dtype).reshape(x[0].shape)]
