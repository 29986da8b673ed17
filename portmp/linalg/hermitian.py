"""Rank updates: products of complex matrices with their (conjugate) transposes."""

from typing import Any, cast

from portmp import formats
from portmp.arrays import complexes, composed, creation, elementwise, products
from portmp.arrays.array import Array, Number
from portmp.arrays.blas import Trans, gemm, scalar, transposes
from portmp.arrays.typed import Operand
from portmp.arrays.viewed import wrapped
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg import operands
from portmp.linalg.operands import By
from portmp.routines import base
from portmp.routines.ozaki.options import Auto

ROWS = 1024
"""Of a triangle, made by one product."""


def herk(
    a: Operand,
    *,
    alpha: Number | Array = 1,
    beta: Number | Array = 0,
    c: Array | None = None,
    trans: Trans = False,
    lower: bool = False,
    overwrite_c: bool = False,
    method: By = "auto",
) -> Array:
    """The upper (*lower*: the lower) triangle of alpha a a^H + beta c, zeros beyond it.

    With *trans*, of any kind, of alpha a^H a + beta c. a is (..., n, k), c (..., n, n), of which
    that triangle is read; the imaginary part of the diagonal is 0, and c's counts as 0. alpha and
    beta are real.
    *overwrite_c* and errors as ``syrk``'s. Elements are gemm's: 4 n^2 k operations for large n.
    """
    found = _square(_factor("herk", a, trans), "C", lower, method)
    return _ended("herk", found, (alpha, beta), c, lower, overwrite_c)


def symmetric(
    a: Array, factors: tuple[Any, Any], c: Array | None, lower: bool, overwrite: bool, method: By
) -> Array:
    """``syrk`` of op(a), complex: alpha a a^T + beta c, by *factors* alpha and beta."""
    found = _square(a, "T", lower, method)
    return _ended("syrk", found, factors, c, lower, overwrite, hermitian=False)


def _square(first: Any, trans: str, lower: bool, method: By) -> Any:
    """What a triangle of the product of a matrix with its (conjugate) transpose needs."""
    judged = method == "auto" and products.is_by_one(first.planes, first.mT.planes)
    how: Any = (Auto(smallest=1) if judged else "direct") if method == "auto" else method
    n = first.shape[-2]
    found = creation.zeros((*first.shape[:-2], n, n), first.format, first.queue)
    for start in range(0, n, ROWS):
        rows = slice(start, start + ROWS)
        columns = slice(0, start + ROWS) if lower else slice(start, n)
        part = gemm(first[..., rows, :], first[..., columns, :], trans_b=trans, method=how)
        found[..., rows, columns] = part
    return found


def her2k(
    a: Operand,
    b: Operand,
    *,
    alpha: Number | complex | Array = 1,
    beta: Number | Array = 0,
    c: Array | None = None,
    trans: Trans = False,
    lower: bool = False,
    overwrite_c: bool = False,
    method: By = "auto",
) -> Array:
    """One triangle of alpha a b^H + conj(alpha) b a^H + beta c, as of ``herk``; b is of a's shape.

    With *trans* of alpha a^H b + conj(alpha) b^H a + beta c. Elements are x_ij + conj(x_ji), x
    being gemm's alpha a b^H: 8 n^2 k operations. Others as ``herk``'s.
    """
    known, other = operands.alike(a, b, "her2k")
    if known.shape != other.shape:
        raise ShapeError(f"her2k: a {known.shape} and b {other.shape} given, one shape is needed")
    first, second = (_factor("her2k", x, trans) for x in (known, other))
    found = gemm(first, second, alpha=cast(Any, alpha), trans_b="C", method=method)
    return _ended("her2k", found + composed.conj(found).mT, (1, beta), c, lower, overwrite_c)


def _factor(name: str, a: object, trans: Trans) -> Any:
    """op(a), complex."""
    matrix = operands.values(a, f"{name}: a")
    if matrix.ndim < 2:
        raise ShapeError(f"{name}: a needs two axes at least, {matrix.shape} given")
    if matrix.format.components == 1:
        base.computes(matrix.format, f"{name}: a")
        matrix = wrapped(elementwise.as_dtype(matrix.planes, formats.complex_of(matrix.format)))
    turned = transposes(trans, f"{name}: trans")
    return composed.conj(matrix).mT if turned else matrix


def _ended(
    name: str,
    found: Any,
    factors: tuple[Any, Any],
    c: Any,
    lower: bool,
    overwrite: bool,
    hermitian: bool = True,
) -> Array:
    """The triangle of alpha *found* + beta c; *hermitian*: with a real diagonal."""
    for value, argument in zip(factors, ("alpha", "beta"), strict=True):
        if hermitian and (complexes.is_complex(value) or isinstance(value, complex)):
            raise ArgumentError(f"{name}: {argument}: {value!r} given, a real number is needed")

    def parts(z: Any) -> tuple[Any, ...]:
        return (z.real, z.imag) if hermitian else (z,)

    alpha, beta = (
        scalar(parts(found)[0], x, n) for x, n in zip(factors, ("alpha", "beta"), strict=True)
    )
    read, n = not base.is_number(beta, 0), found.shape[-1]
    if c is None and (read or overwrite):
        reason = "beta is not 0" if read else "overwrite_c is given"
        raise ArgumentError(f"{name}: {reason} but c is missing")
    if c is not None:
        c = operands.values(c, f"{name}: c", found)
        base.same(found.format, a=found.planes, c=c.planes)
        if c.shape[-2:] != (n, n) or (overwrite and c.shape != found.shape):
            raise ShapeError(f"{name}: c {c.shape} given, {found.shape} is needed")
    cut, halves = creation.tril if lower else creation.triu, []
    for i, half in enumerate(parts(found)):
        made = half if base.is_number(alpha, 1) else elementwise.multiply(factors[0], half)
        if read:
            added = parts(c)[i]
            one = base.is_number(beta, 1)
            made = elementwise.add(made, added if one else elementwise.multiply(factors[1], added))
        # The imaginary part has no diagonal.
        halves.append(cut(made, -i if lower else i))
    if not overwrite:
        return cast(Array, complexes.joined(*halves) if hermitian else halves[0])
    inside = cut(creation.ones((n, n), found.real.format, found.queue)) != 0
    for half, target in zip(halves, parts(c), strict=True):
        target[...] = elementwise.where(inside, half, target)
    return cast(Array, c)
