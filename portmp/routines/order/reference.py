"""Orders on the host, bit for bit as on devices."""

from __future__ import annotations

from functools import cmp_to_key

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.reference import Arithmetic, Host, Plane


def ranks(form: Format | None, x: Host) -> Plane:
    """Integers in the order of the elements of x: equal ones are equal, NaN is the greatest."""
    if form is None:
        return np.unique(x[0], return_inverse=True)[1].reshape(x[0].shape)
    ar = Arithmetic(form)
    words = tuple(w.ravel() for w in ar.load(x))
    number = np.isnan(words[0])

    def compared(i: int, j: int) -> int:
        if number[i] or number[j]:
            return int(number[i]) - int(number[j])
        sign = ar.operator("compare", *(tuple(w[k : k + 1] for w in words) for k in (i, j)))
        return int(sign[0][0])

    found = np.empty(words[0].size, np.int64)
    with ieee.quiet():
        order = sorted(range(found.size), key=cmp_to_key(compared))
        rank = 0
        for before, i in zip([None, *order], order, strict=False):
            rank += before is not None and compared(before, i) != 0
            found[i] = rank
    return found.reshape(x[0].shape)


def argsort(form: Format | None, descending: bool, x: Host) -> Host:
    """The order of the elements of each row; equal ones keep their places."""
    found = ranks(form, x)
    return [np.argsort(-found if descending else found, axis=1, kind="stable")]


def searchsorted(form: Format | None, right: bool, x: Host, v: Host) -> Host:
    """Where elements of v would stand among those of x, which are sorted."""
    together = [np.concatenate([a, b.ravel()]) for a, b in zip(x, v, strict=True)]
    found = ranks(form, together)
    n = x[0].size
    places = np.searchsorted(found[:n], found[n:], side="right" if right else "left")
    return [places.astype(np.int64).reshape(v[0].shape)]


def position(form: Format | None, largest: bool, x: Host) -> Host:
    """Where the first of the largest or smallest elements of each row is, or the first NaN."""
    found = ranks(form, x)
    if form is not None:
        end = found.max(initial=0) + 1
        found = np.where(np.isnan(x[0]), end if largest else -1, found)
    return [np.argmax(found, axis=1) if largest else np.argmin(found, axis=1)]
