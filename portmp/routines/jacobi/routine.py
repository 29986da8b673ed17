"""Jacobi's method, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from portmp import definition
from portmp.backends.base import Device
from portmp.backends.host.runtime import HostDevice
from portmp.formats import Format, inputs
from portmp.networks import ieee
from portmp.routines.case import Case
from portmp.routines.jacobi import columns, launch, symmetric
from portmp.routines.qr import reference as qr
from portmp.routines.reduce import reference as reduce
from portmp.routines.reference import Arithmetic, Host, Plane
from portmp.routines.routine import Routine
from portmp.runtime.planes import upload
from portmp.runtime.program import CompilationUnit


class Jacobi(Routine):
    """Eigenvalues of symmetric matrices, and singular values."""

    name = "jacobi"
    stored = False

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Sweeps, their end, and corrections of vectors."""
        yield "jacobi", launch.unit(form, device, definition.ROTATED)
        yield "off_diagonal", launch.measure_unit(form, device)
        yield "correction", symmetric.correction_unit(form, device)

    def cases(self, form: Format) -> Iterator[Case]:
        """What ``portmp verify`` compares by digests."""
        a = inputs.ordinary(form, (5, 5), "eigh")
        yield Case("eigh", "ordinary-5", form, (a,), "linalg.eigvalsh", _values)
        yield Case("eigh", "vectors-5", form, (a,), _eigenvectors, _vectors)
        a = inputs.ordinary(form, (7, 4), "svd")
        yield Case("svd", "ordinary-7x4", form, (a,), "linalg.svdvals", _singular_values)
        if form.name in ("float32", "ds"):
            a = _almost_diagonal(form, 65)
            yield Case("eigh", "blocks-65", form, (a,), "linalg.eigvalsh", _values)


def _almost_diagonal(form: Format, n: int) -> Host:
    """Ordinary numbers, small ones beside a diagonal that ascends."""
    a = inputs.ordinary(form, (n, n), "eigh blocks")
    for i, plane in enumerate(a):
        plane[...] = plane * plane.dtype.type(2.0**-9)
        plane[range(n), range(n)] = 0 if i else np.arange(n) / 64
    return a


def _eigenvectors(a: Any) -> Any:
    return np.linalg.eigh(a).eigenvectors


def _values(form: Format, a: Host) -> Host:
    return _spectrum(form, a)[0]


def _vectors(form: Format, a: Host) -> Host:
    return _spectrum(form, a)[1]


def _times_power(ar: Arithmetic, x: Host, powers: Any) -> Host:
    """Times powers of two, as arrays are: by a product, where there is one that is not 1."""
    if not np.any(powers):
        return x
    factors = np.broadcast_to(np.ldexp(1.0, powers), x[0].shape).astype(ar.word)
    value = ar.load(x)
    rest = [np.zeros_like(factors)] * (len(value) - 1)
    return ar.store(ar.operator("mul", value, (factors, *rest)))


def _exponents(ar: Arithmetic, a: Host, axis: int | None = None) -> Any:
    """The powers of two above all leading limbs, or above those along an axis."""
    return np.frexp(np.abs(ar.load(a)[0]).max(axis).astype(np.float64))[1]


def _order(planes: Host, sign: int) -> Plane:
    """What sorts values, ascending for the sign 1."""
    return np.lexsort([sign * np.asarray(p, np.float64) for p in reversed(planes)])


def _spectrum(form: Format, a: Host) -> tuple[Host, Host]:
    """Ascending eigenvalues, and vectors whose largest elements are positive."""
    ar, n = Arithmetic(form), len(a[0])
    with ieee.quiet():
        whole = [np.where(np.tri(n, dtype=bool), p, p.T) for p in a]
        power = _exponents(ar, whole)
        near = [p[None] for p in _times_power(ar, whole, -power)]
        given = upload(form, near, HostDevice().queue)
        found = symmetric.spectrum(given, vectors=True, method=None)
        assert found.v is not None
        values = [p[0] for p in found.values.read_dense()]
        order = _order(values, 1)
        v = [p[0][:, order] for p in found.v.read_dense()]
        lead = np.take_along_axis(v[0], np.abs(v[0]).argmax(axis=0)[None], axis=0)
        ordered = _times_power(ar, [p[order] for p in values], power)
        return ordered, [np.where(lead < 0, -p, p) for p in v]


def _singular_values(form: Format, a: Host) -> Host:
    """Descending: lengths of R's columns once they are orthogonal."""
    ar = Arithmetic(form)
    with ieee.quiet():
        power = _exponents(ar, a) - definition.LIFTED[form.word]
        square = [p[None] for p in qr.upper(form, _times_power(ar, a, -power))]
        given = upload(form, square, HostDevice().queue)
        found = columns.orthogonal(given, vectors=False, method=None, begun=True).b
        rows = [p[0].T for p in found.read_dense()]
        powers = _exponents(ar, rows, 1)
        near = ar.load(_times_power(ar, rows, -powers[:, None]))
        total = ar.load(reduce.over_rows(form, "sum", ar.store(ar.operator("mul", near, near))))
        s = _times_power(ar, ar.store(ar.operator("sqrt", total)), powers)
        order = _order(s, -1)
        return _times_power(ar, [p[order] for p in s], power)
