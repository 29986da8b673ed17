"""The functions that are methods of arrays, too, by the names that NumPy gives them."""

from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

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
)
from portmp.arrays.operators import Operators
from portmp.arrays.typed import Averaged, Keeping
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


def _named(module: ModuleType, names: str) -> Any:
    """Functions of a module, whose first operand is the array that they are methods of."""
    return (getattr(module, name) for name in names.split())


def _sorted_in_place(x: Any, axis: int = -1, **options: Any) -> None:
    """Put the elements in order along an axis, in their own memory."""
    moves.copied(sorting.sort(x, axis, **options).planes, elementwise.written(x, "sort").planes)


def _parted_in_place(x: Any, kth: Any, axis: int = -1) -> None:
    """``sort``: what is smaller stands before the kth element, what is larger behind it."""
    moves.copied(sorting.partition(x, kth, axis).planes, elementwise.written(x, "partition").planes)


def _kept(x: Any, condition: Any, axis: int | None = None) -> Any:
    """The parts along an axis for which truth values are true; without one of all elements."""
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

    mean: Averaged
    sum, prod, cumsum, cumprod, mean, ptp = _named(statistics, "sum prod cumsum cumprod mean ptp")
    var, std, all, any = statistics.var, statistics.std, statistics.all, statistics.any
    max, min, argmax, argmin = statistics.max, statistics.min, statistics.argmax, statistics.argmin
    ravel: Keeping
    flatten: Keeping
    squeeze: Keeping
    swapaxes: Keeping
    repeat: Keeping
    take: Keeping
    diagonal: Keeping
    ravel, flatten, squeeze, swapaxes = _named(manipulation, "ravel flatten squeeze swapaxes")
    repeat, take, diagonal = _named(manipulation, "repeat take diagonal")
    sort = _sorted_in_place
    argsort, searchsorted, nonzero = sorting.argsort, sorting.searchsorted, sorting.nonzero
    round = functions.round
    clip, dot, trace = elementwise.clip, products.dot, products.trace
    partition, argpartition = _parted_in_place, sorting.argpartition
    compress, choose, put = _kept, choosing.choose, choosing.put

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

    real = property(composed.real, _set_real)
    imag = property(composed.imag, _set_imag)
    conj = conjugate = composed.conj

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
