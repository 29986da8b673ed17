"""Systems of equations."""

from typing import Any, Literal, overload

from portmp.arrays.foreign import A, as_they_are
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, choice
from portmp.linalg import operands
from portmp.linalg.certified import Certified, certified, magnitudes
from portmp.linalg.elimination import solve_directly
from portmp.linalg.indefinite import solve_symmetric
from portmp.linalg.operands import By
from portmp.linalg.positive_definite import solve_positive
from portmp.linalg.refinement import Refined, refined

ASSUMED = {"general": "gen", "symmetric": "sym", "hermitian": "her", "positive definite": "pos"}
"""SciPy's long and short names of what a matrix may be taken as."""


@overload
def solve(
    a: A,
    b: A,
    *,
    method: By = "auto",
    refine: Literal[False] = False,
    certify: Literal[False] = False,
    assume_a: str = "gen",
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
) -> A: ...


@overload
def solve(
    a: A, b: A, *, method: By = "auto", refine: Literal[True], certify: Literal[False] = False
) -> Refined: ...


@overload
def solve(
    a: A, b: A, *, method: By = "auto", refine: bool = False, certify: Literal[True]
) -> Certified: ...


@as_they_are
def solve(
    a: AnyArray,
    b: AnyArray,
    *,
    method: By = "auto",
    refine: bool = False,
    certify: bool = False,
    assume_a: str = "gen",
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
) -> Any:
    """The solution x of a x = b for a (..., n, n), b (n,) or (..., n, r), by LU with partial
    pivoting.

    Backward stable in the format's precision. *method* as in ``lu_factor``. Raises ArgumentError
    for a singular matrix, naming the column whose pivot is zero or NaN; a LinAlgWarning tells of
    one that is numerically singular, as far as its pivots show that (docs/linalg.md). Arrays of
    another library are taken as they are, and x is one of its (docs/foreign_arrays.md).

    With *refine* (one matrix) the factors are computed in one limb, and x is refined with residuals
    in the format until its backward error is at most n u^N, as one of the format's own LU; where
    that does not come about, as for condition numbers near the limb's 1/u, by GMRES with these
    factors where that costs little, else with one limb more, up to the format itself. The result is
    a ``Refined``: ``x``, and in ``info`` which format's factors it took, how many corrections and
    iterations of GMRES, and an estimated bound of the error.

    With *certify* (one matrix) the result is a ``Certified``: ``x``, ``bound``, which no
    component's error exceeds (proved, with all roundings), and ``info``. x is corrected by an
    approximate inverse, of as few limbs as do, with exact residuals, whether with *refine* or
    without, so that bounds are near the last limb's rounding. Raises ArgumentError where a cannot
    be proved regular, as for condition numbers near the format's u^-N / n.

    *assume_a*, SciPy's: ``sym`` takes a as symmetric, by L D L^T (``ldl``), ``her`` as Hermitian,
    by L D L^H, ``pos`` as positive definite, by Cholesky. Of these only the upper triangle is read,
    with *lower* the lower one. *overwrite_a*, *overwrite_b*, SciPy's: factors take a's memory, x
    takes b's, unless it is converted to the other's format; not with ``sym``, ``her``, *refine* or
    *certify*, which need both.

    Real and complex numbers mix: of a real a and complex b both parts of b are right-hand sides of
    the real system; a complex a makes b complex. With *certify* bounds are of |x - exact|.
    """
    parts = operands.real_beside_complex(a, b, "solve")
    if parts:
        how: Any = {"method": method, "assume_a": assume_a, "lower": lower, "refine": refine}
        how |= {"overwrite_a": overwrite_a, "certify": certify}
        found: Any = operands.by_parts(parts[1], lambda b: solve(parts[0], b, **how))
        return found._replace(bound=magnitudes(found.bound)) if certify else found
    a, b = operands.alike(a, b, "solve")
    choice("solve: assume_a", assume_a, [*ASSUMED.values(), *ASSUMED])
    assumed = ASSUMED.get(assume_a, assume_a)
    if (overwrite_a or overwrite_b) and (refine or certify or assumed in ("sym", "her")):
        raise ArgumentError(
            "solve: overwrite_a or overwrite_b given, which assume_a 'sym' and 'her', refine and "
            "certify do not take"
        )
    if assumed != "gen":
        if refine or certify:
            asked = "refine" if refine else "certify"
            raise ArgumentError(
                f"solve: assume_a {assume_a!r} given with {asked}, for which it must be 'gen'"
            )
        if assumed in ("sym", "her"):
            hermitian = assumed == "her"
            return solve_symmetric(a, b, lower=lower, hermitian=hermitian, method=method)
        return solve_positive(
            a, b, lower=lower, method=method, overwrite_a=overwrite_a, overwrite_b=overwrite_b
        )
    if certify:
        return certified(a, b, method)
    if refine:
        return refined(a, b, method)
    return solve_directly(a, b, method=method, overwrite_a=overwrite_a, overwrite_b=overwrite_b)
