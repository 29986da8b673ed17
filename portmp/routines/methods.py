"""Products of matrices and vectors by any method or rounding, and how they were computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from portmp.errors import ArgumentError
from portmp.routines import base
from portmp.routines.conversions import launch as conversions
from portmp.routines.exact import launch as exact
from portmp.routines.gemm import launch as gemm
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import Planes

CORRECT = "correct"

Computed = str | Ozaki1 | Ozaki2
"""How a product was computed: ``accurate``, ``fast``, ``correct``, or by integers."""


@dataclass(frozen=True)
class ProductOperands:
    """What alpha a b + beta c is made of: a (..., m, k), b (..., k, n), c (..., m, n).

    Or vectors b (k,) and c (m,). c is not read, and may be missing, where beta is 0.
    """

    a: Planes
    b: Planes
    alpha: base.ScalarLimbs
    beta: base.ScalarLimbs
    c: Planes | None

    @property
    def steps(self) -> int:
        """k, over which products are added up; of a number, which has no product, 0."""
        return self.a.shape[-1] if self.a.shape else 0

    @property
    def adds(self) -> bool:
        """Whether beta c is added."""
        return not base.is_number(self.beta, 0)

    def in_columns(self) -> ProductOperands:
        """With vectors as matrices of one column."""
        c = None if self.c is None else base.column_of(self.c)
        return replace(self, b=base.column_of(self.b), c=c)


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
    given: ProductOperands,
    out: Planes | None,
    *,
    accuracy: str,
    schedule: Any,
    method: object,
    rounding: str | None,
) -> tuple[Planes, Computed]:
    """The product, into *out* where there is one."""
    a, b = given.a, given.b
    more: dict[str, Any] = {"alpha": given.alpha, "beta": given.beta, "c": given.c, "out": out}
    if rounding is not None:
        check_correct(rounding, accuracy, schedule, method)
        return exact.gemm(a, b, **more), CORRECT
    if method != "direct":
        # Seldom wanted, and much to import.
        from portmp.routines.ozaki import choose
        from portmp.routines.ozaki import launch as ozaki

        chosen = choose.resolve(method, accuracy, schedule, a, b)
        if chosen is not None and min(a.ndim, b.ndim) > 1:
            way = choose.way(a.format, a.device, given.steps, chosen)
            return ozaki.gemm(a, b, **more, way=way), chosen
    return gemm.gemm(a, b, **more, accuracy=accuracy, schedule=schedule), accuracy


def of_vector(
    given: ProductOperands,
    out: Planes | None,
    *,
    accuracy: str,
    schedule: Any,
    rounding: str | None,
) -> tuple[Planes, Computed]:
    """The same of a vector b."""
    a, x, c, beta = given.a, given.b, given.c, given.beta
    scalars = {"alpha": given.alpha, "beta": beta}
    if rounding is None:
        found = reduce.gemv(a, x, y=c, out=out, accuracy=accuracy, schedule=schedule, **scalars)
        return found, accuracy
    check_correct(rounding, accuracy, schedule)
    addend, target = reduce.operands(a, x, beta, c, out)
    if a.format is not x.format:
        a = conversions.between(a, x.format)
    column, addend, ended = (base.column_of(v) for v in (x, addend, target))
    exact.gemm(a, column, c=addend, out=ended, **scalars)
    return target, CORRECT
