"""How a product of matrices is made, and how the last one was: ``explain`` and ``last_product``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portmp.arrays.array import Array, operand
from portmp.errors import ArgumentError, ShapeError
from portmp.routines import base
from portmp.routines.product import Product

if TYPE_CHECKING:
    from portmp.routines.explained import Explanation

ROUTINES = "gemm", "matmul"


def explain(
    routine: str, a: Array, b: Array, *, method: Any = "auto", accuracy: str = "accurate"
) -> Explanation:
    """How ``gemm`` or ``matmul`` makes a b: method, bits, bound, and who multiplies.

    a (..., m, k) and b (..., k, n), matrices or stacks. The product is not made; where elements are
    judged they are, which waits for the device. ShapeError, FormatError, ArgumentError as there.
    """
    # Seldom wanted, and much to import.
    from portmp.routines import explained

    if routine not in ROUTINES:
        raise ArgumentError(f"routine: {routine!r} given; {' and '.join(ROUTINES)} are explained")
    left, right = operand(a, "a"), operand(b, "b")
    if left.ndim < 2 or right.ndim < 2:
        raise ShapeError(
            f"{routine}: shapes {left.shape} and {right.shape} given; products of matrices are "
            "explained, those with vectors are direct"
        )
    one, zero = (base.scalar_limbs(left.format, number, "alpha") for number in (1, 0))
    given = Product(left.planes, right.planes, one, zero, None, None)
    return explained.product(given, method, accuracy)


def last_product() -> Explanation | None:
    """How this thread's last product of matrices was made; None before the first one.

    Shares of elements are known where all have the first level.
    """
    from portmp.routines import explained

    return explained.last_one()
