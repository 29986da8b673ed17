"""Elementwise operations on the host, bit for bit as on devices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.networks.operators import TESTS
from portmp.routines.reference import Arithmetic, Host, is_number


def elementwise(form: Format, op: str, *operands: Sequence[Any]) -> Host:
    """A public operator on planes, with broadcasting; ``compare`` gives one int8 plane.

    One of TESTS gives a plane of truth values.
    """
    ar = Arithmetic(form)
    with ieee.quiet():
        values = [ar.load(o) for o in operands]
        shape = np.broadcast_shapes(*(v[0].shape for v in values))
        result = ar.operator(op, *(tuple(np.broadcast_to(w, shape) for w in v) for v in values))
        result = tuple(np.broadcast_to(word, shape) for word in result)
        if op in TESTS:
            return [result[0]]
        return [result[0].astype(np.int8)] if op == "compare" else ar.store(result)


def axpy(form: Format, alpha: Sequence[Any], x: Host, y: Host) -> Host:
    """alpha x + y."""
    if is_number(tuple(alpha), 1):
        return elementwise(form, "add", x, y)
    return (
        [p.copy() for p in y]
        if is_number(tuple(alpha), 0)
        else elementwise(form, "fma", alpha, x, y)
    )


def scal(form: Format, alpha: Sequence[Any], x: Host) -> Host:
    """alpha x."""
    if is_number(tuple(alpha), 1):
        return [p.copy() for p in x]
    return elementwise(form, "mul", alpha, x)
