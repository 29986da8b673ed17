"""Cases of methods that are made of many routines: their reference is the host, which runs those
of the routines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import portmp as mp
from portmp import discovery
from portmp.arrays.array import Array
from portmp.formats import Format, inputs
from portmp.routines.case import Case
from portmp.routines.reference import Host
from portmp.runtime.planes import upload

Call = Callable[[Array, Array], Array]


def cases(form: Format) -> Iterator[Case]:
    """Iterative methods, a few iterations each."""
    if form.coded:
        return
    b = inputs.ordinary(form, (5,), "iterative b")
    a = inputs.ordinary(form, (5, 5), "iterative a")
    symmetric = [plane.copy() for plane in a]
    for plane in symmetric:
        for i in range(5):
            plane[i, :i] = plane[:i, i]
    for name, matrix, call in (("gmres", a, _gmres), ("minres", symmetric, _minres)):
        yield Case(name, "ordinary-5", form, (matrix, b), call, partial(_on_host, call))


def _gmres(a: Array, b: Array) -> Array:
    return mp.linalg.gmres(a, b, restart=3, maxiter=6).x


def _minres(a: Array, b: Array) -> Array:
    return mp.linalg.minres(mp.sparse.csr_array(a), b, maxiter=4).x


def _on_host(call: Call, form: Format, *operands: Host) -> Host:
    queue = discovery.get("host").queue
    return call(*(Array(upload(form, planes, queue)) for planes in operands)).to_limbs()
