"""Products of matrices and vectors by any method or rounding, and how they were computed."""

from typing import Any

from portmp import definition
from portmp.errors import ArgumentError
from portmp.routines import base
from portmp.routines.conversions import launch as conversions
from portmp.routines.exact import launch as exact
from portmp.routines.gemm import launch as gemm
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.products.product import Asked, last
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import Planes

CORRECT, AUTO = "correct", "auto"

Computed = str | Ozaki1 | Ozaki2
"""How a product was computed: ``accurate``, ``fast``, ``correct``, or by integers."""


def check_correct(
    rounding: str, accuracy: str, schedule: object, method: object = "direct", bound: bool = False
) -> None:
    """ArgumentError for options that do not go with a correct rounding."""
    base.check_rounding(rounding, bound)
    if accuracy != "accurate" or schedule is not None or method not in (AUTO, "direct"):
        raise ArgumentError(
            "rounding: 'correct' given; it has no accuracy, schedule or method to choose"
        )


def judged(given: Asked) -> bool:
    """Whether elements of a product of matrices may be made by integers, by its sizes."""
    a, b = given.a, given.b
    if a.ndim < 2 or b.ndim < 2:
        return False
    sizes = a.shape[-2], b.shape[-1], a.shape[-1]
    return definition.judges(*sizes, a.format.word, a.format.limbs)


def of_matrices(
    given: Asked,
    *,
    accuracy: str = "accurate",
    schedule: Any = None,
    method: object = AUTO,
    rounding: str | None = None,
) -> tuple[Planes, Computed]:
    """The product, into its output where there is one."""
    a, b = given.a, given.b
    if method == AUTO and not judged(given):
        method = "direct"
    computed: Computed = accuracy
    how: object = None
    if rounding is not None:
        check_correct(rounding, accuracy, schedule, method)
        found, computed, how = exact.gemm(given), CORRECT, CORRECT
    elif method == "direct":
        found = gemm.gemm(*given, accuracy=accuracy, schedule=schedule)
    else:
        # Seldom wanted, and much to import.
        from portmp.routines.ozaki import choose
        from portmp.routines.ozaki import judged as by_element
        from portmp.routines.ozaki import launch as ozaki

        how = choose.resolve(method, accuracy, schedule, a.format)
        if isinstance(how, Auto):
            # No element may lose more than the direct product may.
            found = by_element.gemm(given, how)
        elif isinstance(how, (Ozaki1, Ozaki2)) and min(a.ndim, b.ndim) > 1:
            found = ozaki.gemm(given, choose.way(a.format, a.device, given.steps, how))
            computed = how
        else:
            found = gemm.gemm(*given, accuracy=accuracy, schedule=schedule)
    last.made = found.format, found.queue, found.shape, given.steps, how if given.depth else None
    return found, computed


def of_vector(
    given: Asked, *, accuracy: str, schedule: Any, rounding: str | None
) -> tuple[Planes, Computed]:
    """The same of a vector b."""
    if rounding is None:
        return reduce.gemv(*given, accuracy=accuracy, schedule=schedule), accuracy
    check_correct(rounding, accuracy, schedule)
    whole = reduce.checked(given)
    a, x = whole.a, whole.b
    if a.format is not x.format:
        a = conversions.between(a, x.format)
    exact.gemm(whole.in_columns()._replace(a=a))
    return whole.out, CORRECT
