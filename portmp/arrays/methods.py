"""The functions that are methods of arrays, too, by the names that NumPy gives them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from portmp.arrays import (
    choosing,
    complexes,
    composed,
    elementwise,
    exchange,
    functions,
    manipulation,
    numpy_protocol,
    printing,
    products,
    sorting,
    statistics,
    storing,
    typed,
)
from portmp.arrays.operators import Operators
from portmp.arrays.typed import Keeping, Operand, PlainArray
from portmp.errors import (
    ArgumentError,
    FormatError,
    ShapeError,
    UnsupportedError,
    no_attribute,
    not_here,
)
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import View


class Flat:
    """The elements of an array in C order, as if it had one axis: ``a.flat[3]``, ``a.flat = 0``."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __len__(self) -> int:
        return int(self._array.size)

    def __iter__(self) -> Any:
        return iter(manipulation.ravel(self._array))

    def __getitem__(self, key: Any) -> Any:
        return manipulation.ravel(self._array)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        line = manipulation.ravel(self._array).copy()
        line[key] = value
        self._array[...] = line.reshape(self._array.shape)


V = TypeVar("V", bound=View[Any])


def _sorted_in_place(x: Any, axis: int = -1, **options: Any) -> None:
    """Put the elements in order along an axis, in their own memory."""
    moves.copied(sorting.sort(x, axis, **options).planes, elementwise.written(x, "sort").planes)


def _parted_in_place(x: Any, kth: Any, axis: int = -1) -> None:
    """Put the kth in its sorted place, smaller before it, larger behind it: all are sorted."""
    moves.copied(sorting.partition(x, kth, axis).planes, elementwise.written(x, "partition").planes)


def _kept(x: Any, condition: Any, axis: int | None = None) -> Any:
    """The parts along an axis where *condition* is true; without an axis elements, flat."""
    return choosing.compress(condition, x, axis)


def _set_real(x: Any, value: Any) -> None:
    composed.real(x)[...] = value


def _set_imag(x: Any, value: Any) -> None:
    if not complexes.is_complex(x):
        raise FormatError(f"imag: {x.dtype} given, real numbers have no imaginary part to set")
    composed.imag(x)[...] = value


class Methods(Operators[V]):
    """An array with NumPy's methods, and what other libraries ask arrays for."""

    __slots__ = ()

    __reduce__ = storing.reduced
    __dlpack__ = exchange.exported
    __dlpack_device__ = exchange.dlpack_device
    __cuda_array_interface__ = property(exchange.by_address)
    __array_ufunc__ = numpy_protocol.ufunc
    __array_function__ = numpy_protocol.function
    __array_namespace__ = numpy_protocol.namespace
    __str__, __repr__ = printing.shown, printing.written

    if TYPE_CHECKING:  # the same names, as type checkers read them
        sum: typed.Summed
        prod: typed.Summed
        mean: typed.Averaged
        ptp: typed.Reduced
        cumsum: typed.OwnKind
        cumprod: typed.OwnKind
        ravel: Keeping
        flatten: Keeping
        squeeze: Keeping
        swapaxes: Keeping
        repeat: Keeping
        take: Keeping
        diagonal: Keeping
        clip: typed.Clipped
        dot: typed.Dotted
        trace: typed.OwnKind

        real: Self
        imag: Self

        def conj(self) -> Self: ...
        def conjugate(self) -> Self: ...
        def round(self, decimals: int = 0, *, out: Self | None = None) -> Self: ...
        def compress(self, condition: Operand, axis: int | None = None) -> Self: ...
        def searchsorted(
            self, x2: Operand, /, side: str = "left", *, sorter: Operand | None = None
        ) -> PlainArray: ...
        def argpartition(
            self, kth: int | Sequence[int], /, axis: int | None = -1
        ) -> PlainArray: ...
    else:
        sum, prod, mean, ptp = statistics.sum, statistics.prod, statistics.mean, statistics.ptp
        cumsum, cumprod = statistics.cumsum, statistics.cumprod
        ravel, flatten, squeeze = manipulation.ravel, manipulation.flatten, manipulation.squeeze
        swapaxes, repeat = manipulation.swapaxes, manipulation.repeat
        take, diagonal = manipulation.take, manipulation.diagonal
        dot, trace = products.dot, products.trace
        real, imag = property(composed.real, _set_real), property(composed.imag, _set_imag)
        conj = conjugate = composed.conj
        round, clip = functions.round, elementwise.clip
        compress = _kept
        searchsorted, argpartition = sorting.searchsorted, sorting.argpartition
    var, std, all, any = statistics.var, statistics.std, statistics.all, statistics.any
    max, min, argmax, argmin = statistics.max, statistics.min, statistics.argmax, statistics.argmin
    sort = _sorted_in_place
    argsort, nonzero, partition = sorting.argsort, sorting.nonzero, _parted_in_place
    choose, put = choosing.choose, choosing.put

    if not TYPE_CHECKING:  # Names that are not there are errors of types all the same.

        def __getattr__(self, name: str) -> Any:
            if name == "_hasna":  # what pandas asks of a value that it is to set
                raise UnsupportedError(
                    f"pandas has no {self.dtype}: float(x) is x rounded, str(x) a text with all "
                    "digits"
                )
            if name.startswith("_"):
                return object.__getattribute__(self, name)  # with the error that it raised
            raise no_attribute(not_here.of_arrays(name, type(self).__name__))

    @property
    def flat(self) -> Flat:
        """The elements in C order: to go through, to read and to set by one index."""
        return Flat(self)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of an element in memory."""
        return sum(np.dtype(part).itemsize for part in self.planes.parts)

    def fill(self, value: Any) -> None:
        """Set all elements to a number."""
        self[...] = value

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """``to``, by the array API standard's name; *stream* is None."""
        if stream is not None:
            raise ArgumentError(f"stream: {stream!r:.60} given, None is needed: devices wait")
        return self.to(device)

    def __round__(self, digits: int | None = None) -> Any:
        return functions.round(self, digits or 0)

    def __index__(self) -> int:
        raise TypeError("only integers of shape () are indices")

    def __float__(self) -> float:
        return float(self._only("float"))

    def __int__(self) -> int:
        return int(self._only("int"))

    def __complex__(self) -> complex:
        return complex(self._only("complex"))

    def _one(self, what: str) -> None:
        if self.size != 1:
            raise ShapeError(f"{what}: one element expected, shape {self.shape} given")

    def _only(self, what: str) -> Any:
        self._one(what)
        return self.item()
