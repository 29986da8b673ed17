"""Orders on the host, bit for bit as on devices."""

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

    def compared(first: Plane, second: Plane) -> Plane:
        pairs = (tuple(w[places] for w in words) for places in (first, second))
        sign = ar.operator("compare", *pairs)[0]
        either = number[first] | number[second]
        return np.where(either, number[first] * 1.0 - number[second], sign)

    found = np.empty(words[0].size, np.int64)
    # By limbs elements are nearly in order; neighbours change places until they are.
    order = np.lexsort(words[::-1])
    with ieee.quiet():
        moved = True
        while moved:
            moved = False
            for start in (0, 1):
                count = (order.size - start) // 2
                first, second = order[start : start + 2 * count].reshape(count, 2).T.copy()
                away = compared(first, second) > 0
                moved |= bool(away.any())
                pairs = np.where(away, second, first), np.where(away, first, second)
                order[start : start + 2 * count] = np.stack(pairs, axis=1).ravel()
        found[order] = np.cumsum(np.append(False, compared(order[:-1], order[1:]) != 0))[
            : order.size
        ]
    return found.reshape(x[0].shape)


def argsort(form: Format | None, x: Host, descending: bool = False) -> Host:
    """The order of the elements of each row; equal ones keep their places."""
    found = ranks(form, x)
    return [np.argsort(-found if descending else found, axis=1, kind="stable")]


def searchsorted(form: Format | None, x: Host, v: Host, right: bool) -> Host:
    """Where elements of v would stand among those of x, which are sorted."""
    together = [np.concatenate([a, b.ravel()]) for a, b in zip(x, v, strict=True)]
    found = ranks(form, together)
    n = x[0].size
    places = np.searchsorted(found[:n], found[n:], side="right" if right else "left")
    return [places.astype(np.int64).reshape(v[0].shape)]


def position(form: Format | None, x: Host, largest: bool) -> Host:
    """Where the first of the largest or smallest elements of each row is, or the first NaN."""
    found = ranks(form, x)
    if form is not None:
        end = found.max(initial=0) + 1
        found = np.where(np.isnan(x[0]), end if largest else -1, found)
    return [np.argmax(found, axis=1) if largest else np.argmin(found, axis=1)]


def unique(form: Format, x: Host) -> dict[str, Host]:
    """What ``unique_all`` gives of elements in C order, by its names; each NaN differs."""
    flat = [plane.reshape(1, -1) for plane in x]
    (places,) = argsort(form, flat)
    order = places[0]
    found = ranks(form, flat)[0][order]
    new = np.concatenate([[True], (found[1:] != found[:-1]) | np.isnan(flat[0][0][order][1:])])
    starts = np.flatnonzero(new)
    inverse = np.empty(order.size, np.int64)
    inverse[order] = np.cumsum(new) - 1
    return {
        "values": [plane[0][order[starts]] for plane in flat],
        "indices": [order[starts]],
        "inverse_indices": [inverse.reshape(x[0].shape)],
        "counts": [np.diff(starts, append=order.size)],
    }
