"""Types of public functions, which tables and decorators make: what type checkers know of them."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

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
Dtype: TypeAlias = "str | Format | np.dtype[Any] | type | None"
"""What names a format, or a dtype of integers or truth values."""
Shape: TypeAlias = int | Sequence[int]
Plain: TypeAlias = Literal[
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"
]
"""Dtypes of integers and truth values by name."""

def as_(kind: type[K]) -> Callable[[Any], K]: ...

class Kept(Protocol[P]):  # of each kind of array the same kind; as a method, too
    @overload
    def __call__(self, x: A, /, *given: P.args, **named: P.kwargs) -> A: ...
    @overload
    def __call__(self, x: Any, /, *given: P.args, **named: P.kwargs) -> Any: ...
    @overload
    def __get__(self, array: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, array: K, owner: Any = None) -> Callable[P, K]: ...

Keeping: TypeAlias = Kept[...]

def keeps(function: Callable[Concatenate[Any, P], Any]) -> Kept[P]: ...
def gives(kind: type[K]) -> Callable[[Callable[P, Any]], Callable[P, K]]:
    """A decorator: whatever the function is given, its result is of this type."""

class Widened(Protocol):  # of one array the same kind, of several a tuple
    @overload
    def __call__(self, x: A, /) -> A: ...
    @overload
    def __call__(self, x: Any, /) -> Any: ...
    @overload
    def __call__(self, x: A, y: A, /, *more: A) -> tuple[A, ...]: ...
    @overload
    def __call__(self, x: Any, y: Any, /, *more: Any) -> tuple[Any, ...]: ...

class Selecting(Protocol):
    @overload
    def __call__(
        self, condlist: Any, choicelist: Array | Sequence[Array], default: Any = 0
    ) -> Array: ...
    @overload
    def __call__(self, condlist: Any, choicelist: Any, default: Any = 0) -> Any: ...

# Of two arrays of integers integers, of values and anything else values.
class Meeting(Protocol[P]):
    @overload
    def __call__(
        self, x1: PlainArray, x2: PlainArray, /, *given: P.args, **named: P.kwargs
    ) -> PlainArray: ...
    @overload
    def __call__(self, x1: Array, x2: Operand, /, *given: P.args, **named: P.kwargs) -> Array: ...
    @overload
    def __call__(self, x1: Operand, x2: Array, /, *given: P.args, **named: P.kwargs) -> Array: ...
    @overload
    def __call__(self, x1: Operand, x2: Operand, /, *given: P.args, **named: P.kwargs) -> Any: ...

def meets(function: Callable[Concatenate[Any, Any, P], Any]) -> Meeting[P]: ...

class Joined(Protocol[P]):  # of arrays of one kind an array of that kind
    @overload
    def __call__(self, arrays: Sequence[A] | A, /, *given: P.args, **named: P.kwargs) -> A: ...
    @overload
    def __call__(self, arrays: Any, /, *given: P.args, **named: P.kwargs) -> Any: ...

def joins(function: Callable[Concatenate[Any, P], Any]) -> Joined[P]: ...

class Cut(Protocol[P]):  # parts of an array, which are of its kind
    @overload
    def __call__(self, x: A, /, *given: P.args, **named: P.kwargs) -> list[A]: ...
    @overload
    def __call__(self, x: Any, /, *given: P.args, **named: P.kwargs) -> list[Any]: ...

Cutting: TypeAlias = Cut[...]

def cuts(function: Callable[Concatenate[Any, P], Any]) -> Cut[P]: ...

class Together(Protocol):  # arrays that are made alike, each of its own kind
    @overload
    def __call__(self, *arrays: A) -> list[A]: ...
    @overload
    def __call__(self, *arrays: Any) -> list[Any]: ...

class Grids(Protocol):  # coordinates along axes, each of its own kind
    @overload
    def __call__(self, *arrays: A, indexing: str = "xy", sparse: bool = False) -> list[A]: ...
    @overload
    def __call__(self, *arrays: Any, indexing: str = "xy", sparse: bool = False) -> list[Any]: ...

class Slices(Protocol):  # views of an array's slices, which are of its kind
    @overload
    def __call__(self, x: A, /, axis: int = 0) -> tuple[A, ...]: ...
    @overload
    def __call__(self, x: Any, /, axis: int = 0) -> tuple[Any, ...]: ...

# Values of one operand, integers and truth values as values of the default format.
class OfOne(Protocol):
    def __call__(
        self, x: Operand, /, out: Array | None = None, *, where: Truths = True
    ) -> Array: ...

# What functions of two operands have beside, as NumPy's (``ufunc_methods``).
class _WithMethods(Protocol):
    outer: Callable[..., Any]
    at: Callable[..., None]
    reduce: Callable[..., Any]
    reduceat: Callable[..., Any]
    accumulate: Callable[..., Any]

class OfTwo(_WithMethods, Protocol):  # values of two operands
    def __call__(
        self, x1: Operand, x2: Operand, /, out: Array | None = None, *, where: Truths = True
    ) -> Array: ...

class OfThree(Protocol):  # values of three operands
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

class AlikeOfOne(Protocol):  # of integers integers, of values values
    @overload
    def __call__(
        self, x: PlainArray, /, out: PlainArray | None = None, *, where: Truths = True
    ) -> PlainArray: ...
    @overload
    def __call__(self, x: Array, /, out: Array | None = None, *, where: Truths = True) -> Array: ...
    @overload
    def __call__(self, x: Operand, /, out: Any = None, *, where: Truths = True) -> Any: ...

# Of integers integers, of values and anything else values.
class AlikeOfTwo(_WithMethods, Protocol):
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

class PlainOfOne(Protocol):  # truth values or integers, one for each element
    def __call__(
        self, x: Operand, /, out: PlainArray | None = None, *, where: Truths = True
    ) -> PlainArray: ...

class PlainOfTwo(_WithMethods, Protocol):  # truth values or integers of two operands
    def __call__(
        self, x1: Operand, x2: Operand, /, out: PlainArray | None = None, *, where: Truths = True
    ) -> PlainArray: ...

class DivMod(Protocol):  # quotients and remainders, of two arrays of integers integers
    @overload
    def __call__(
        self, x1: PlainArray, x2: PlainArray, /, out: Any = None, *, where: Truths = True
    ) -> tuple[PlainArray, PlainArray]: ...
    @overload
    def __call__(
        self, x1: Array, x2: Operand, /, out: Any = None, *, where: Truths = True
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, x1: Operand, x2: Operand, /, out: Any = None, *, where: Truths = True
    ) -> tuple[Any, Any]: ...

class ModF(Protocol):  # two values of each
    def __call__(
        self,
        x: Operand,
        /,
        out: tuple[Array | None, Array | None] | None = None,
        *,
        where: Truths = True,
    ) -> tuple[Array, Array]: ...

class FrExp(Protocol):  # of each a value and an integer
    def __call__(
        self,
        x: Operand,
        /,
        out: tuple[Array | None, PlainArray | None] | None = None,
        *,
        where: Truths = True,
    ) -> tuple[Array, PlainArray]: ...

# Elements of two operands, which meet as in functions; of a condition alone indices.
class Chosen(Protocol):
    @overload
    def __call__(self, condition: Operand, /) -> tuple[PlainArray, ...]: ...
    @overload
    def __call__(self, condition: Operand, x1: PlainArray, x2: PlainArray, /) -> PlainArray: ...
    @overload
    def __call__(self, condition: Operand, x1: Array, x2: Operand, /) -> Array: ...
    @overload
    def __call__(self, condition: Operand, x1: Operand, x2: Array, /) -> Array: ...
    @overload
    def __call__(self, condition: Operand, x1: Operand, x2: Operand, /) -> Any: ...

class _Bounds(TypedDict, total=False):
    out: Array | None
    a_min: Operand | None
    a_max: Operand | None

class Clipped(Protocol):  # values between bounds, and integers between integers
    @overload
    def __call__(
        self,
        x: Array,
        /,
        min: Operand | None = None,
        max: Operand | None = None,
        **options: Unpack[_Bounds],
    ) -> Array: ...
    @overload
    def __call__(
        self, x: PlainArray, /, min: int | None = None, max: int | None = None
    ) -> PlainArray: ...
    @overload
    def __call__(
        self, x: Operand, /, min: Operand | None = None, max: Operand | None = None, **more: Any
    ) -> Any: ...
    @overload
    def __get__(self, array: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, array: Array, owner: Any = None) -> Callable[..., Array]: ...
    @overload
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

# An array whose elements lie one behind another, of its own kind or of a dtype.
class Dense(Protocol):
    @overload
    def __call__(self, a: A) -> A: ...
    @overload
    def __call__(self, a: Operand, dtype: Dtype = None) -> Any: ...

class ByIndex(Protocol):  # for each integer the element of one of several arrays
    @overload
    def __call__(
        self, a: Operand, choices: Sequence[A], mode: str = "raise", out: A | None = None
    ) -> A: ...
    @overload
    def __call__(self, a: Operand, choices: Any, mode: str = "raise", out: Any = None) -> Any: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

class Compressed(Protocol):  # parts of an array, which is the second operand
    @overload
    def __call__(
        self, condition: Operand, x: A, axis: int | None = None, out: A | None = None
    ) -> A: ...
    @overload
    def __call__(
        self, condition: Operand, x: Operand, axis: int | None = None, out: Any = None
    ) -> Any: ...

class OfPolynomial(Protocol):  # coefficients of coefficients; polynomials as objects give such
    @overload
    def __call__(self, p: Viewed[Any], /, m: int = 1, k: Operand | None = None) -> Array: ...
    @overload
    def __call__(self, p: Any, /, m: int = 1, k: Any = None) -> Any: ...

class OfPolynomials(Protocol):  # the same of two
    @overload
    def __call__(self, a1: Viewed[Any], a2: Operand, /) -> Array: ...
    @overload
    def __call__(self, a1: Operand, a2: Viewed[Any], /) -> Array: ...
    @overload
    def __call__(self, a1: Any, a2: Any, /) -> Any: ...

class Evaluated(Protocol):  # values of a polynomial; of polynomials as objects such
    @overload
    def __call__(self, p: PlainArray, x: PlainArray, /) -> PlainArray: ...
    @overload
    def __call__(self, p: Any, x: Array, /) -> Array: ...
    @overload
    def __call__(self, p: Any, x: Any, /) -> Any: ...

class Multiplied(Protocol):  # products of arrays of this library; arrays of others give their own
    @overload
    def __call__(
        self, x1: PlainArray, x2: PlainArray, /, *, out: PlainArray | None = None
    ) -> PlainArray: ...
    @overload
    def __call__(self, x1: Array, x2: Operand, /, *, out: Array | None = None) -> Array: ...
    @overload
    def __call__(self, x1: Operand, x2: Array, /, *, out: Array | None = None) -> Array: ...
    @overload
    def __call__(self, x1: Any, x2: Any, /, *, out: Any = None) -> Any: ...

class _Products(TypedDict, total=False):
    accuracy: str
    schedule: Any
    rounding: str | None

class Dotted(Protocol):  # the same, and pairs with *bound*
    @overload
    def __call__(
        self, x: PlainArray, y: PlainArray, *, out: PlainArray | None = None
    ) -> PlainArray: ...
    @overload
    def __call__(
        self,
        x: Array,
        y: Operand,
        *,
        out: Array | None = None,
        bound: Literal[False] = False,
        **options: Unpack[_Products],
    ) -> Array: ...
    @overload
    def __call__(
        self, x: Array, y: Operand, *, bound: Literal[True, "tight"], **options: Unpack[_Products]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(self, x: Any, y: Any, **options: Any) -> Any: ...
    @overload
    def __get__(self, array: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, array: Array, owner: Any = None) -> _OwnDotted: ...
    @overload
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

class _OwnDotted(Protocol):  # that of an array of values, as its method
    @overload
    def __call__(
        self,
        y: Operand,
        *,
        out: Array | None = None,
        bound: Literal[False] = False,
        **options: Unpack[_Products],
    ) -> Array: ...
    @overload
    def __call__(
        self, y: Operand, *, bound: Literal[True, "tight"], **options: Unpack[_Products]
    ) -> tuple[Array, Array]: ...

# --- over axes

class _Rows(TypedDict, total=False):  # how elements of rows are taken together
    keepdims: bool
    where: Truths

class _Started(_Rows, total=False):
    initial: Any

class _Rounded(_Started, total=False):
    rounding: str | None

class _InFormat(_Rows, total=False):
    dtype: Dtype
    out: Array | None

class _Moments(_InFormat, total=False):
    correction: Any
    ddof: Any
    mean: Any

class Reduced(Protocol):  # one number of each row, of the rows' dtype
    @overload
    def __call__(
        self, x: A, /, axis: Axis = None, *, out: A | None = None, **options: Unpack[_Started]
    ) -> A: ...
    @overload
    def __call__(self, x: Any, /, axis: Axis = None, **options: Any) -> Any: ...
    @overload
    def __get__(self, array: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, array: A, owner: Any = None) -> _OwnReduced[A]: ...
    @overload
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

class _OwnReduced(Protocol[A]):  # that of an array, as its method
    def __call__(
        self, axis: Axis = None, *, out: A | None = None, **options: Unpack[_Started]
    ) -> A: ...

class Summed(Protocol):  # the same, of another dtype where one is given; a pair with *bound*
    @overload
    def __call__(
        self,
        x: A,
        /,
        axis: Axis = None,
        *,
        out: A | None = None,
        bound: Literal[False] = False,
        **options: Unpack[_Rounded],
    ) -> A: ...
    @overload
    def __call__(
        self,
        x: Array,
        /,
        axis: Axis = None,
        *,
        bound: Literal[True, "tight"],
        dtype: Dtype = None,
        **options: Unpack[_Rows],
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(self, x: Any, /, axis: Axis = None, **options: Any) -> Any: ...
    @overload
    def __get__(self, array: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, array: A, owner: Any = None) -> _OwnSummed[A]: ...
    @overload
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

class _OwnSummed(Protocol[A]):  # that of an array, as its method
    @overload
    def __call__(
        self,
        axis: Axis = None,
        *,
        out: A | None = None,
        bound: Literal[False] = False,
        **options: Unpack[_Rounded],
    ) -> A: ...
    @overload
    def __call__(
        self, axis: Axis = None, *, bound: Literal[True, "tight"], **options: Any
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(self, axis: Axis = None, **options: Any) -> Any: ...

class Averaged(Protocol):  # values, of integers those of the default format
    def __call__(self, x: Operand, /, axis: Axis = None, **options: Unpack[_InFormat]) -> Array: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Array]: ...

class Spread(Protocol):  # the same, about a mean
    def __call__(self, x: Operand, /, axis: Axis = None, **options: Unpack[_Moments]) -> Array: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Array]: ...

class Truth(Protocol):  # truth values of rows
    def __call__(
        self,
        x: Operand,
        /,
        axis: Axis = None,
        *,
        out: PlainArray | None = None,
        **options: Unpack[_Rows],
    ) -> PlainArray: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., PlainArray]: ...

class Position(Protocol):  # indices in rows
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

class Running(Protocol):  # A number for each element, of the elements' dtype or another one
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

# Of an array one of its kind, unless *dtype* is another: running sums, sums of diagonals.
class OwnKind(Protocol):
    @overload
    def __call__(
        self, x: A, /, *axes: int | None, out: A | None = None, **axis: int | None
    ) -> A: ...
    @overload
    def __call__(self, x: Any, /, *axes: int | None, **options: Any) -> Any: ...
    @overload
    def __get__(self, array: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, array: A, owner: Any = None) -> _Own[A]: ...
    @overload
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., Any]: ...

class _Own(Protocol[A]):  # that of an array, as its method
    @overload
    def __call__(self, *axes: int | None, out: A | None = None, **axis: int | None) -> A: ...
    @overload
    def __call__(self, *axes: int | None, **options: Any) -> Any: ...

class Weighted(Protocol):  # values, with *returned* the sums of weights, too
    @overload
    def __call__(
        self,
        x: Operand,
        axis: Axis = None,
        weights: Operand | None = None,
        returned: Literal[False] = False,
        *,
        keepdims: bool = False,
    ) -> Array: ...
    @overload
    def __call__(
        self, x: Operand, axis: Axis = None, *, returned: Literal[True], **options: Any
    ) -> tuple[Array, Array]: ...

class Different(Protocol):  # different elements, and a tuple with what is asked for beside
    @overload
    def __call__(self, x: A, /, *, axis: int | None = None, equal_nan: bool = True) -> A: ...
    @overload
    def __call__(self, x: Any, /, *given: Any, **options: Any) -> Any: ...

class Sorted(Protocol):  # indices that put elements in order
    def __call__(
        self,
        x: Operand,
        /,
        axis: int | None = -1,
        *,
        descending: bool = False,
        stable: bool = True,
        kind: str | None = None,
    ) -> PlainArray: ...
    def __get__(self, array: Any, owner: Any = None) -> Callable[..., PlainArray]: ...

class Shares(Protocol):  # values below which a share of rows lies
    def __call__(
        self,
        x: Operand,
        /,
        q: Operand,
        axis: Axis = None,
        *,
        method: str = "linear",
        keepdims: bool = False,
        out: Array | None = None,
        weights: Operand | None = None,
    ) -> Array: ...

# --- transforms

class Transform(Protocol):  # fourier transforms along an axis
    def __call__(
        self,
        x: Operand,
        /,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        out: Array | None = None,
    ) -> Array: ...

class TransformOfAxes(Protocol):  # fourier transforms along several axes
    def __call__(
        self,
        x: Operand,
        /,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = ...,
        norm: str | None = None,
        out: Array | None = None,
    ) -> Array: ...

class CosineTransform(Protocol):  # cosine and sine transforms along an axis
    def __call__(
        self,
        x: Operand,
        /,
        type: Literal[2, 3] = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
    ) -> Array: ...

# --- new arrays

class _Copied(TypedDict, total=False):
    copy: bool | None
    device: Where

class _Made(_Copied, total=False):
    ndmin: int

class Made(Protocol):  # values, unless a dtype of integers or truth values is named
    @overload
    def __call__(self, data: Any, format: Plain, **options: Unpack[_Made]) -> PlainArray: ...
    @overload
    def __call__(self, data: Any, *, dtype: Plain, **options: Unpack[_Made]) -> PlainArray: ...
    @overload
    def __call__(
        self,
        data: Any,
        format: Dtype = None,
        device: Where = None,
        rounding: str | None = None,
        *,
        dtype: Dtype = None,
        copy: bool | None = True,
        ndmin: int = 0,
    ) -> Array: ...

# An array itself, or one of numbers: of integers integers, unless a dtype is named.
class Taken(Protocol):
    @overload
    def __call__(self, obj: A, /, *, dtype: None = None, **options: Unpack[_Copied]) -> A: ...
    @overload
    def __call__(self, obj: Any, /, *, dtype: Plain, **options: Unpack[_Copied]) -> PlainArray: ...
    @overload
    def __call__(
        self, obj: Any, /, *, dtype: str | Format, **options: Unpack[_Copied]
    ) -> Array: ...
    @overload
    def __call__(self, obj: Any, /, *, dtype: Dtype = None, **options: Unpack[_Copied]) -> Any: ...

class Cast(Protocol):  # the elements of an array in another dtype
    @overload
    def __call__(self, x: Any, dtype: Plain, /, **options: Unpack[_Copied]) -> PlainArray: ...
    @overload
    def __call__(self, x: Any, dtype: str | Format, /, **options: Unpack[_Copied]) -> Array: ...
    @overload
    def __call__(self, x: Any, dtype: Dtype, /, **options: Unpack[_Copied]) -> Any: ...

class OwnCast(Protocol):  # that of an array, as its method; *rounding*: a storage format's
    # A name of Plain is a str, too: the first one that fits is taken.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, dtype: Plain, *, copy: bool = True
    ) -> PlainArray: ...
    @overload
    def __call__(
        self, dtype: str | Format, rounding: str | None = None, *, copy: bool = True
    ) -> Array: ...
    @overload
    def __call__(self, dtype: Dtype, rounding: str | None = None, *, copy: bool = True) -> Any: ...

class Filling(Protocol):  # equal numbers of an array's shape and dtype
    @overload
    def __call__(self, x: A, /, fill_value: Any, *, device: Where = None) -> A: ...
    @overload
    def __call__(self, x: Any, /, fill_value: Any, **options: Any) -> Any: ...

class Counts(Protocol):  # how often each integer is there, or the sums of its weights
    @overload
    def __call__(self, x: Operand, /, weights: None = None, minlength: int = 0) -> PlainArray: ...
    @overload
    def __call__(self, x: Operand, /, weights: Operand, minlength: int = 0) -> Array: ...

class Histogram(Protocol):  # how many elements are in each bin, and the bins' edges
    @overload
    def __call__(
        self, x: Operand, /, bins: Any = 10, range: tuple[Any, Any] | None = None
    ) -> tuple[PlainArray, Array]: ...
    @overload
    def __call__(
        self,
        x: Operand,
        /,
        bins: Any = 10,
        range: tuple[Any, Any] | None = None,
        density: bool | None = None,
        weights: Operand | None = None,
    ) -> tuple[Any, Array]: ...

# An array of a shape: values, unless a dtype of integers or truth values is named.
class Filled(Protocol):
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

class Full(Protocol):  # an array of equal numbers, integers of integers where no format is named
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

# Numbers from one on: integers where all are, values where a format or another is named.
class Range(Protocol):
    @overload
    def __call__(
        self, start: int, /, stop: int | None = None, step: int = 1, *, device: Where = None
    ) -> PlainArray: ...
    @overload
    def __call__(self, start: int, stop: str | Format, /, *, device: Where = None) -> Array: ...
    @overload
    def __call__(self, start: Any, /, *given: Any, **options: Any) -> Any: ...

class Like(Protocol):  # an array of another one's shape and dtype
    @overload
    def __call__(self, x: A, /, *, device: Where = None) -> A: ...
    @overload
    def __call__(self, x: Any, /, *, dtype: Any = None, device: Where = None) -> Any: ...

class Eye(Protocol):  # A matrix, as ``Filled``
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

class _Between(TypedDict, total=False):
    dtype: Dtype
    endpoint: bool

class Spaced(Protocol):  # values at equal distances; with *retstep* the distance, too
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
        retstep: Literal[False] = False,
        **options: Unpack[_Between],
    ) -> Array: ...
    @overload
    def __call__(
        self, start: Operand, stop: Operand, /, *given: Any, retstep: Literal[True], **options: Any
    ) -> tuple[Array, Array]: ...

class Histogram2d(Protocol):  # how many points are in each rectangle, and the edges of both axes
    @overload
    def __call__(
        self, x: Operand, y: Operand, bins: Any = 10, range: Any = None
    ) -> tuple[PlainArray, Array, Array]: ...
    @overload
    def __call__(
        self,
        x: Operand,
        y: Operand,
        bins: Any = 10,
        range: Any = None,
        density: bool | None = None,
        weights: Operand | None = None,
    ) -> tuple[Any, Array, Array]: ...
