"""Python's operators on arrays, by the functions that they stand for."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np

from portmp.arrays import complexes, composed, creation, dtypes, elementwise, indexing, products
from portmp.arrays.typed import Array, Operand, PlainArray
from portmp.arrays.viewed import Viewed
from portmp.errors import FormatError, PlaceError, ShapeError, UnsupportedError
from portmp.formats import Format, complex_of
from portmp.routines import base
from portmp.routines.elementwise import launch as routine
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import Numbers, Planes, View

V = TypeVar("V", bound=View[Any])
OfValues = TypeVar("OfValues", bound="Operators[Planes]")
OfIntegers = TypeVar("OfIntegers", bound="Operators[Numbers]")
Binary = Callable[[Any, Any], Any]


def _in_place(function: Binary) -> Binary:
    """x = function(x, other) in the memory of x, which others may share.

    Of shape () there is a new array, as with NumPy's numbers.
    """

    def operator(self: Any, other: Any) -> Any:
        if not elementwise.written(self, "in place").shape:
            return NotImplemented
        if complexes.is_complex(other) and isinstance(self.dtype, Format):
            form = complex_of(self.dtype)
            if form is not self.dtype:
                raise _other_format(self.dtype, form)
        found = function(self, other)
        if found.shape != self.shape:
            raise ShapeError(f"in place: shape {self.shape} cannot become {found.shape}")
        if found.planes.elements != self.planes.elements:
            raise _other_format(self.dtype, found.dtype)
        moves.copied(found.planes, self.planes)
        return self

    return operator


def _other_format(own: Any, found: Any) -> FormatError:
    told = f"in place: {own} cannot become {found}"
    return FormatError(f"{told}: astype({str(found)!r}) makes an array that takes it")


def _in_memory(name: str, function: Binary) -> Binary:
    """The same, computed where the result lies, if the operands' memory allows it."""
    slowly = _in_place(function)

    def operator(self: Any, other: Any) -> Any:
        mine = self.planes
        fits = mine.shape and isinstance(mine, Planes)
        if fits and isinstance(other, Viewed):
            theirs = other.planes
            fits = theirs.elements is mine.elements and theirs.shape in (mine.shape, ())
            if fits and theirs.buffers[0] is mine.buffers[0]:
                fits = theirs.same_view(mine) or not theirs.overlaps(mine)
        if fits:
            try:
                return elementwise.call(name, self, other, out=self)
            except FormatError:  # which then tells of x += y, not of an output
                pass
        return slowly(self, other)

    return operator


def _three(of: str | Binary) -> tuple[Binary, Binary, Binary]:
    """An operator, the same with operands exchanged, and in place: a row of the table, or any."""
    function: Binary = of if callable(of) else partial(elementwise.call, of)

    def forward(self: Any, other: Any) -> Any:
        return function(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return function(other, self)

    return forward, reflected, _in_place(of) if callable(of) else _in_memory(of, function)


def _product(x: Any, other: Any, turned: bool) -> Any:
    """x @ other, or other @ x; a list, or an array of NumPy's, becomes an array beside x."""
    known = isinstance(other, (Viewed, list, tuple, np.ndarray))
    if not (known or elementwise.is_column(other)):
        return NotImplemented
    operands = [x, other] if isinstance(other, Viewed) else elementwise.beside([x, other])
    return products.matmul(*(reversed(operands) if turned else operands))


def _value(view: View[Any], value: Any) -> View[Any]:
    """What is written to a view's elements, in their dtype."""
    kind = dtypes.of_view(view)
    if isinstance(value, Viewed):
        elementwise.refuse_rounding(value, kind, "value")
        base.same_device(view, "the array", value=value.planes)
        return elementwise.as_dtype(value.planes, kind)
    if elementwise.is_number(value):
        return elementwise.like_number(elementwise.number(value, kind, "value"), view)
    found: View[Any] = creation.array(value, kind, view.queue).planes
    return found


class Operators(Viewed[V]):
    """An array with Python's operators.

    Elementwise with broadcasting; Python's numbers and decimal strings mix in as exact scalars.
    ``@`` is the matrix product. Results are new arrays, which the host does not wait for; ``+=``
    and the like change the array itself, which all its views see.
    """

    __slots__ = ()

    @property
    def __pandas_priority__(self) -> int:
        """Above that of pandas' columns and tables, which leave operators to an array."""
        asking = sys._getframe(1).f_back
        if asking and asking.f_code.co_name == "_inplace_method":  # which takes no such answer
            raise UnsupportedError(
                "in place: a column of pandas' cannot become an array of portmp's: "
                "x = column * y makes one where column *= y cannot"
            )
        return 5000

    if TYPE_CHECKING:  # the same names, as type checkers read them

        @overload
        def __add__(self: OfValues, other: Operand, /) -> OfValues: ...
        @overload
        def __add__(self: OfIntegers, other: OfIntegers | int, /) -> OfIntegers: ...
        @overload
        def __add__(self, other: Array, /) -> Array: ...
        @overload
        def __add__(self, other: Operand, /) -> Any: ...
        def __add__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Operand, /) -> Array: ...
        def __neg__(self) -> Self: ...
        def __lt__(self, other: Operand, /) -> PlainArray: ...

        __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = (
            __add__
        )
        __floordiv__ = __rfloordiv__ = __ifloordiv__ = __mod__ = __rmod__ = __imod__ = __add__
        __and__ = __rand__ = __iand__ = __or__ = __ror__ = __ior__ = __xor__ = __rxor__ = __add__
        __ixor__ = __lshift__ = __rlshift__ = __ilshift__ = __rshift__ = __rrshift__ = __add__
        __irshift__ = __rpow__ = __ipow__ = __add__
        __rtruediv__ = __itruediv__ = __truediv__
        __pos__ = __abs__ = __invert__ = __neg__
        __le__ = __gt__ = __ge__ = __lt__
        __matmul__ = __rmatmul__ = __imatmul__ = __pow__ = __add__

        def __divmod__(self, other: Operand, /) -> tuple[Self, Self]: ...
        # Of all objects these give one truth value, of arrays one for each element.
        def __eq__(self, other: object) -> PlainArray: ...  # type: ignore[override]
        def __ne__(self, other: object) -> PlainArray: ...  # type: ignore[override]
    else:
        __add__, __radd__, __iadd__ = _three("add")
        __sub__, __rsub__, __isub__ = _three("subtract")
        __mul__, __rmul__, __imul__ = _three("multiply")
        __truediv__, __rtruediv__, __itruediv__ = _three("divide")
        __floordiv__, __rfloordiv__, __ifloordiv__ = _three(composed.floor_divide)
        __mod__, __rmod__, __imod__ = _three(composed.remainder)
        _, __rpow__, __ipow__ = _three(composed.power)
        __and__, __rand__, __iand__ = _three("bitwise_and")
        __or__, __ror__, __ior__ = _three("bitwise_or")
        __xor__, __rxor__, __ixor__ = _three("bitwise_xor")
        __lshift__, __rlshift__, __ilshift__ = _three("bitwise_left_shift")
        __rshift__, __rrshift__, __irshift__ = _three("bitwise_right_shift")
        __neg__, __pos__ = elementwise.negative, elementwise.positive
        __abs__, __invert__ = elementwise.abs, elementwise.bitwise_invert
        __lt__, __le__ = elementwise.less, elementwise.less_equal
        __gt__, __ge__ = elementwise.greater, elementwise.greater_equal

        def __matmul__(self, other: Any) -> Any:
            return _product(self, other, turned=False)

        def __rmatmul__(self, other: Any) -> Any:
            return _product(self, other, turned=True)

        def __imatmul__(self, other: Any) -> Any:
            if not isinstance(other, Viewed):
                return NotImplemented
            return _in_place(products.matmul)(self, other)

        def __pow__(self, other: Any, modulo: None = None) -> Any:
            if modulo is not None:
                raise UnsupportedError(f"pow: modulo: {modulo!r:.60} given, None is needed")
            return composed.power(self, other)

        def __divmod__(self, other: Any) -> tuple[Any, Any]:
            return composed.floor_divide(self, other), composed.remainder(self, other)

        def __eq__(self, other: object) -> Any:
            return elementwise.is_same(self, other, "equal")

        def __ne__(self, other: object) -> Any:
            return elementwise.is_same(self, other, "not_equal")

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return composed.floor_divide(other, self), composed.remainder(other, self)

    def __hash__(self) -> int:
        """That of a single number, as NumPy's numbers have it: keys of dicts, elements of sets."""
        if self.shape:
            raise TypeError(f"unhashable type: {type(self).__name__!r} with axes")
        return hash(self.item())

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copy elements (broadcast) to those that a key names.

        Where an array of indices names one several times, the last stays.
        """
        view = elementwise.written(self, "the array").planes
        if isinstance(view, Planes) and elementwise.is_number(value):
            there = indexing.named(view, key)
            if there is not None:
                routine.fill(there, elementwise.number(value, view.format, "value"))
                return
        indexing.put(view, key, _value(view, value))

    def __delitem__(self, key: Any) -> None:
        raise UnsupportedError("del: arrays keep their lengths: portmp.delete(a, places) makes one")

    def __bool__(self) -> bool:
        if self.size != 1:
            many = f"shape {self.shape} given; x.any() and x.all() make one truth value of many"
            raise ShapeError(f"bool: one element expected, {many}")
        return bool(self.item())

    def item(self, *index: int) -> Any:
        """The only element, or that at *index*, as one of Python's numbers: exact.

        One index counts in C order, as in ``flat``.
        """
        if len(index) == 1 and isinstance(index[0], tuple):
            (index,) = index
        if index:
            if len(index) not in (1, self.ndim):
                raise ShapeError(f"item: {len(index)} indices given, shape {self.shape}")
            if len(index) == 1 < self.ndim:
                if not -self.size <= index[0] < self.size:
                    raise PlaceError(f"item: index {index[0]} given, {self.size} elements")
                return self[np.unravel_index(index[0] % self.size, self.shape)].item()
            return self[index].item()
        if self.size != 1:
            raise ShapeError(f"item: one element expected, shape {self.shape} given")
        return self.reshape(()).tolist()
