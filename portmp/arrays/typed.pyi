"""Types of elementwise functions, which tables make: what type checkers know of them."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, overload

import numpy as np

from portmp.arrays.array import Array as Array
from portmp.arrays.plain import PlainArray as PlainArray
from portmp.arrays.viewed import Viewed

Operand: TypeAlias = (
    "Viewed[Any] | int | float | str | Fraction | Decimal | np.ndarray[Any, Any] | np.generic"
    " | Sequence[Any]"
)
"""Arrays, exact numbers and their texts, lists, NumPy's arrays."""
Truths: TypeAlias = "Viewed[Any] | np.ndarray[Any, Any] | bool"

class OfOne(Protocol):
    """Values of one operand, integers and truth values as values of the default format."""

    def __call__(
        self, x: Operand, /, out: Array | None = None, *, where: Truths = True
    ) -> Array: ...

class _WithMethods(Protocol):
    """What functions of two operands have beside, as NumPy's (``ufunc_methods``)."""

    outer: Callable[..., Any]
    at: Callable[..., None]
    reduce: Callable[..., Any]
    reduceat: Callable[..., Any]
    accumulate: Callable[..., Any]

class OfTwo(_WithMethods, Protocol):
    """Values of two operands."""

    def __call__(
        self, x1: Operand, x2: Operand, /, out: Array | None = None, *, where: Truths = True
    ) -> Array: ...

class OfThree(Protocol):
    """Values of three operands."""

    def __call__(
        self,
        x1: Operand,
        x2: Operand,
        x3: Operand,
        /,
        out: Array | None = None,
        *,
        where: Truths = True,
    ) -> Array: ...

class AlikeOfOne(Protocol):
    """Of integers integers, of values values."""

    @overload
    def __call__(
        self, x: PlainArray, /, out: PlainArray | None = None, *, where: Truths = True
    ) -> PlainArray: ...
    @overload
    def __call__(self, x: Array, /, out: Array | None = None, *, where: Truths = True) -> Array: ...
    @overload
    def __call__(self, x: Operand, /, out: Any = None, *, where: Truths = True) -> Any: ...

class AlikeOfTwo(_WithMethods, Protocol):
    """Of integers integers, of values and anything else values."""

    @overload
    def __call__(
        self,
        x1: PlainArray,
        x2: PlainArray,
        /,
        out: PlainArray | None = None,
        *,
        where: Truths = True,
    ) -> PlainArray: ...
    @overload
    def __call__(
        self, x1: Array, x2: Operand, /, out: Array | None = None, *, where: Truths = True
    ) -> Array: ...
    @overload
    def __call__(
        self, x1: Operand, x2: Array, /, out: Array | None = None, *, where: Truths = True
    ) -> Array: ...
    @overload
    def __call__(
        self, x1: Operand, x2: Operand, /, out: Any = None, *, where: Truths = True
    ) -> Any: ...

class PlainOfOne(Protocol):
    """Truth values or integers, one for each element."""

    def __call__(
        self, x: Operand, /, out: PlainArray | None = None, *, where: Truths = True
    ) -> PlainArray: ...

class PlainOfTwo(_WithMethods, Protocol):
    """Truth values or integers of two operands."""

    def __call__(
        self, x1: Operand, x2: Operand, /, out: PlainArray | None = None, *, where: Truths = True
    ) -> PlainArray: ...
