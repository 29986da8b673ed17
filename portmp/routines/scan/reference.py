"""Running sums and products on the host, bit for bit as on devices."""

from typing import Any

import numpy as np

from portmp.definition import SCAN
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.reference import Arithmetic, Host, Value

PLAIN: dict[str, Any] = {"add": np.add, "mul": np.multiply}


def over_rows(form: Format, op: str, x: Host) -> Host:
    """Running sums or products of each row of x (m, n)."""
    ar = Arithmetic(form)
    with ieee.quiet():
        return ar.store(_scan(ar, op, ar.load(x)))


def _scan(ar: Arithmetic, op: str, x: Value) -> Value:
    rows, n = x[0].shape
    if not n:
        return x
    chunks = -(-n // SCAN)
    length = min(n, SCAN)
    rest = (0, 0), (0, chunks * length - n)
    padded = tuple(np.pad(w, rest).reshape(rows, chunks, length) for w in x)
    found = [tuple(w[:, :, 0] for w in padded)]
    for i in range(1, length):
        found.append(ar.operator(op, found[-1], tuple(w[:, :, i] for w in padded)))
    local = tuple(np.stack([f[k] for f in found], axis=2) for k in range(len(x)))
    if chunks == 1:
        return tuple(w[:, 0, :] for w in local)
    totals = _scan(Arithmetic(ar.form.compute), op, tuple(w[:, :-1, -1] for w in local))
    # Elements are stored before the totals are combined with them.
    stored = ar.load(ar.store(local))
    after = tuple(w[:, 1:] for w in stored)
    carry = tuple(np.broadcast_to(w[:, :, None], after[0].shape) for w in totals)
    later = ar.operator(op, carry, after)
    whole = (np.concatenate([w[:, :1], s], axis=1) for w, s in zip(stored, later, strict=True))
    return tuple(w.reshape(rows, -1)[:, :n] for w in whole)


def plain(op: str, dtype: str, x: Host) -> Host:
    """The same of plain numbers, which wrap around."""
    return [PLAIN[op].accumulate(x[0].astype(dtype), axis=1, dtype=dtype)]
