"""Products of matrices and vectors by any method or rounding, and how they were computed."""

from __future__ import annotations

from typing import Any

from portmp.errors import ArgumentError
from portmp.routines import base, conversions, exact, gemm
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import Planes

CORRECT = "correct"

Computed = str | Ozaki1 | Ozaki2
"""How a product was computed: ``accurate``, ``fast``, ``correct``, or by integers."""


def check_correct(
    rounding: str, accuracy: str, schedule: object, method: object = "direct", bound: bool = False
) -> None:
    """ArgumentError for options that do not go with a correct rounding."""
    base.check_rounding(rounding, bound)
    if accuracy != "accurate" or schedule is not None or method != "direct":
        raise ArgumentError(
            "rounding: 'correct' given; it has no accuracy, schedule or method to choose"
        )


def of_matrices(
    a: Planes,
    b: Planes,
    *,
    accuracy: str,
    schedule: Any,
    method: object,
    rounding: str | None,
    **operands: Any,
) -> tuple[Planes, Computed]:
    """alpha a b + beta c into out; *operands*: alpha, beta, c and out."""
    if rounding is not None:
        check_correct(rounding, accuracy, schedule, method)
        return exact.gemm(a, b, **operands), CORRECT
    if method != "direct":
        # Seldom wanted, and much to import.
        from portmp.routines.ozaki import choose
        from portmp.routines.ozaki import launch as ozaki

        chosen = choose.resolve(method, accuracy, schedule, a, b)
        if chosen is not None:
            way = choose.way(a.format, a.device, a.shape[-1], chosen)
            return ozaki.gemm(a, b, **operands, way=way), chosen
    return gemm.gemm(a, b, **operands, accuracy=accuracy, schedule=schedule), accuracy


def of_vector(
    a: Planes,
    x: Planes,
    *,
    c: Planes | None,
    out: Planes | None,
    accuracy: str,
    schedule: Any,
    rounding: str | None,
    **scalars: base.ScalarLimbs,
) -> tuple[Planes, Computed]:
    """alpha a x + beta c into out for a vector x; *scalars*: alpha and beta."""
    if rounding is None:
        found = reduce.gemv(a, x, y=c, out=out, accuracy=accuracy, schedule=schedule, **scalars)
        return found, accuracy
    check_correct(rounding, accuracy, schedule)
    addend, target = reduce.operands(a, x, scalars["beta"], c, out)
    if a.format is not x.format:
        a = conversions.between(a, x.format)
    column, addend, ended = (base.column_of(v) for v in (x, addend, target))
    exact.gemm(a, column, c=addend, out=ended, **scalars)
    return target, CORRECT
