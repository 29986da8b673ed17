"""Types of public functions, which tables and decorators make: what type checkers know of them."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

from portmp.arrays.array import Array as Array
from portmp.arrays.plain import PlainArray as PlainArray
from portmp.arrays.viewed import Viewed
from portmp.backends.base import Device, Queue
from portmp.formats import Format

K = TypeVar("K")
P = ParamSpec("P")
A = TypeVar("A", Array, PlainArray)

Operand: TypeAlias = (
    "Viewed[Any] | complex | str | Fraction | Decimal | np.ndarray[Any, Any] | np.generic"
    " | Sequence[Any]"
)
"""Arrays, exact numbers and their texts, lists, NumPy's arrays."""
Truths: TypeAlias = "Viewed[Any] | np.ndarray[Any, Any] | bool"
Axis: TypeAlias = int | tuple[int, ...] | None
Where: TypeAlias = str | Device | Queue | None
Shape: TypeAlias = int | Sequence[int]
Plain: TypeAlias = Literal[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"
]
"""Dtypes of integers and truth values by name."""

def as_(kind: type[K]) -> Callable[[Any], K]: ...

class Kept(Protocol[P]):
    """Of each kind of array the same kind; as a method, too."""

    @overload
    def __call__(self, x: A, /, *given: P.args, **named: P.kwargs) -> A: ...
    @overload
    def __call__(self, x: Any, /, *given: P.args, **named: P.kwargs) -> Any: ...
    def __get__(self, array: K, owner: Any = None) -> Callable[P, K]: ...

Keeping: TypeAlias = Kept[...]

def keeps(function: Callable[Concatenate[Any, P], Any]) -> Kept[P]: ...

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

# --- over axes

class Reduced(Protocol):
    """One number of each row, of the rows' dtype."""

    @overload
    def __call__(
        self,
        x: A,
        /,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        out: A | None = None,
        initial: Any = None,
        where: Truths = True,
    ) -> A: ...
    @overload
    def __call__(self, x: Any, /, axis: Axis = None, **options: Any) -> Any: ...
    def __get__(self, array: K, owner: Any = None) -> Callable[..., K]: ...

class Summed(Protocol):
    """The same, of another dtype where one is given; a pair with *bound*."""

    @overload
    def __call__(
        self,
        x: A,
        /,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        out: A | None = None,
        rounding: str | None = None,
        bound: Literal[False] = False,
        initial: Any = None,
        where: Truths = True,
    ) -> A: ...
    @overload
    def __call__(
        self,
        x: Array,
        /,
        axis: Axis = None,
        *,
        bound: Literal[True, "tight"],
        dtype: Any = None,
        keepdims: bool = False,
        where: Truths = True,
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(self, x: Any, /, axis: Axis = None, **options: Any) -> Any: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

class Averaged(Protocol):
    """Values, of integers those of the default format."""

    def __call__(
        self,
        x: Operand,
        /,
        axis: Axis = None,
        *,
        dtype: Any = None,
        keepdims: bool = False,
        out: Array | None = None,
        where: Truths = True,
    ) -> Array: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Array]: ...

class Spread(Protocol):
    """The same, about a mean."""

    def __call__(
        self,
        x: Operand,
        /,
        axis: Axis = None,
        *,
        correction: Any = 0,
        ddof: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        out: Array | None = None,
        where: Truths = True,
        mean: Any = None,
    ) -> Array: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Array]: ...

class Truth(Protocol):
    """Truth values of rows."""

    def __call__(
        self,
        x: Operand,
        /,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        out: PlainArray | None = None,
        where: Truths = True,
    ) -> PlainArray: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., PlainArray]: ...

class Counted(Protocol):
    """How many elements of rows are something."""

    def __call__(
        self, x: Operand, /, *, axis: Axis = None, keepdims: bool = False
    ) -> PlainArray: ...

class Position(Protocol):
    """Indices in rows."""

    def __call__(
        self,
        x: Operand,
        /,
        axis: int | None = None,
        *,
        keepdims: bool = False,
        out: PlainArray | None = None,
    ) -> PlainArray: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., PlainArray]: ...

class Running(Protocol):
    """A number for each element, of the elements' dtype or another one."""

    @overload
    def __call__(
        self,
        x: A,
        /,
        *,
        axis: int | None = None,
        include_initial: bool = False,
        out: A | None = None,
    ) -> A: ...
    @overload
    def __call__(self, x: Any, /, **options: Any) -> Any: ...

# --- new arrays

class Filled(Protocol):
    """An array of a shape: values, unless a dtype of integers or truth values is named."""

    # A name of Plain is a str, too: the first one that fits is taken.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, shape: Shape, format: Plain | np.dtype[Any], device: Where = None
    ) -> PlainArray: ...
    @overload
    def __call__(
        self, shape: Shape, format: str | Format | None = None, device: Where = None
    ) -> Array: ...
    @overload
    def __call__(
        self, shape: Shape, format: Any = None, device: Where = None, *, dtype: Any = None
    ) -> Any: ...

class Full(Protocol):
    """An array of equal numbers, integers of integers where no format is named."""

    @overload
    def __call__(
        self, shape: Shape, fill_value: Any, format: Plain | np.dtype[Any], device: Where = None
    ) -> PlainArray: ...
    @overload
    def __call__(
        self, shape: Shape, fill_value: int, format: None = None, device: Where = None
    ) -> PlainArray: ...
    @overload
    def __call__(
        self, shape: Shape, fill_value: Any, format: str | Format, device: Where = None
    ) -> Array: ...
    @overload
    def __call__(self, shape: Shape, fill_value: Any, *given: Any, **options: Any) -> Any: ...

class Range(Protocol):
    """Numbers from one on: integers where all are, values where a format or another is named."""

    @overload
    def __call__(
        self, start: int, /, stop: int | None = None, step: int = 1, *, device: Where = None
    ) -> PlainArray: ...
    @overload
    def __call__(self, start: int, stop: str | Format, /, *, device: Where = None) -> Array: ...
    @overload
    def __call__(self, start: Any, /, *given: Any, **options: Any) -> Any: ...

class Like(Protocol):
    """An array of another one's shape and dtype."""

    @overload
    def __call__(self, x: A, /, *, device: Where = None) -> A: ...
    @overload
    def __call__(self, x: Any, /, *, dtype: Any = None, device: Where = None) -> Any: ...

class Eye(Protocol):
    """A matrix, as ``Filled``."""

    @overload
    def __call__(
        self,
        n_rows: int,
        n_cols: int | str | Format | None = None,
        /,
        k: int = 0,
        format: str | Format | None = None,
        device: Where = None,
    ) -> Array: ...
    @overload
    def __call__(
        self,
        n_rows: int,
        n_cols: int | None = None,
        /,
        k: int = 0,
        format: Any = None,
        device: Where = None,
        *,
        dtype: Any = None,
    ) -> Any: ...

class Spaced(Protocol):
    """Values at equal distances; with *retstep* the distance, too."""

    @overload
    def __call__(
        self,
        start: Operand,
        stop: Operand,
        /,
        num: int | str | Format = 50,
        format: str | Format | None = None,
        device: Where = None,
        *,
        dtype: Any = None,
        endpoint: bool = True,
        retstep: Literal[False] = False,
    ) -> Array: ...
    @overload
    def __call__(
        self,
        start: Operand,
        stop: Operand,
        /,
        num: int | str | Format = 50,
        format: str | Format | None = None,
        device: Where = None,
        *,
        dtype: Any = None,
        endpoint: bool = True,
        retstep: Literal[True],
    ) -> tuple[Array, Array]: ...
