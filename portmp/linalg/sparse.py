"""Sparse matrices stored by rows (CSR), in every computing and storage format.

Names are ``scipy.sparse.csr_array``'s. The stored elements are an Array on the device; products
with vectors and matrices have a defined order of sums (docs/bits.md), so that bits are the same on
every device. SciPy itself is not needed.
"""

from __future__ import annotations

import importlib
import operator
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from portmp.arrays import elementwise
from portmp.arrays.array import Array, array, from_parts, operand
from portmp.arrays.blas import CONJUGATED, Factor, Trans, scal, scalar, transposes
from portmp.arrays.complexes import in_complex, is_complex
from portmp.arrays.creation import Where
from portmp.arrays.plain import PlainArray
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError, ShapeError, UnsupportedError
from portmp.formats import Format
from portmp.formats.complexes import has_complex
from portmp.routines.moves import launch as moves
from portmp.routines.sparse import launch as routine

__all__ = ["csr_array"]

Indices = np.ndarray[Any, np.dtype[np.int64]]
MOST = 2**31 - 1
"""Columns at most: their numbers are int32 on the device."""


class csr_array:
    """A sparse matrix (m, n) stored by rows.

    *source*: a sparse matrix of SciPy (any that has ``tocsr``) or of portmp; ``(data, indices,
    indptr)`` as SciPy has them, with *data* an Array or whatever ``portmp.array`` takes; or a dense
    matrix, of which elements that are not zero are stored. *format*, *device* and *rounding* are
    those of ``portmp.array``; elements may be in a storage format of that of vectors. *shape* (m,
    n) is needed where columns at the end are empty. Or ``(data, (rows, columns))``: elements by
    their places, in any order.

    Elements of a row are put in order of their columns. An element that is given twice, indices
    outside the matrix and borders of rows that do not fit raise ArgumentError. NaN and infinities
    are kept; what is not stored is zero even beside them.
    """

    __array_ufunc__ = None
    """NumPy's arrays leave ``@`` and ``*`` to this class."""

    ndim = 2

    def __init__(
        self,
        source: Any,
        format: str | Format | None = None,
        device: Where = None,
        *,
        shape: tuple[int, int] | None = None,
        rounding: str | None = None,
    ) -> None:
        if device is None and isinstance(source, PlainArray):
            device = source.queue
        asked = None if shape is None else _pair(shape)
        data, given, borders, known = _taken(source, asked)
        if asked not in (None, known):
            raise ShapeError(f"csr_array: shape {asked} given for a matrix {known}")
        size = data.shape if isinstance(data, Array) else np.shape(data)
        columns, starts, whole, order = _checked(given, borders, known, size)
        if order is not None:
            data = data[order]
        self._set(array(data, format, device, rounding), columns, starts, whole)

    def _set(
        self, data: Array, columns: Indices, starts: Indices, shape: tuple[int, int]
    ) -> csr_array:
        self._data = data if data.planes.contiguous else data.copy()
        self.shape = shape
        self._columns, self._starts = columns, starts
        return self

    def _with(self, data: Array) -> csr_array:
        """The same pattern with other elements."""
        made = object.__new__(csr_array)._set(data, self._columns, self._starts, self.shape)
        if data.queue is self.data.queue:
            made.rows = replace(self.rows, values=made.data.planes)
        return made

    @cached_property
    def rows(self) -> routine.Rows:
        """What kernels read."""
        return routine.rows_of(self.data.planes, self._starts, self._columns, self.shape[1])

    # --- facts ----------------------------------------------------------------------------

    @property
    def data(self) -> Array:
        """The elements, row by row. Another Array of as many may be set."""
        return self._data

    @data.setter
    def data(self, data: Array) -> None:
        if not isinstance(data, Array) or data.shape != self._data.shape:
            given = getattr(data, "shape", type(data).__name__)
            raise ArgumentError(
                f"data: {given} given, an Array of shape {self._data.shape} is needed"
            )
        self.__dict__ = self._with(data).__dict__

    @property
    def format(self) -> Format:
        """The number format of the elements."""
        return self.data.format

    dtype = format

    @property
    def device(self) -> Device:
        """Where the elements are."""
        return self.data.device

    @property
    def queue(self) -> Queue:
        """The queue of products."""
        return self.data.queue

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return self.data.size

    @property
    def nbytes(self) -> int:
        """Bytes on the device: elements, their columns, and the borders of rows."""
        return self.data.nbytes + 4 * self.nnz + 8 * (self.shape[0] + 1)

    @property
    def indices(self) -> PlainArray:
        """A copy of the elements' columns: int32."""
        return PlainArray(moves.copied(self.rows.columns))

    @property
    def indptr(self) -> PlainArray:
        """A copy of where the elements of each row begin, and the end: int64."""
        return PlainArray(moves.copied(self.rows.starts))

    def __repr__(self) -> str:
        m, n = self.shape
        return (
            f"<portmp.sparse.csr_array {m} x {n}, {self.nnz} elements in {self.format.name}, "
            f"device={self.device.name!r}>"
        )

    def _row_numbers(self) -> Indices:
        """Of each element."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self._starts))

    # --- products -------------------------------------------------------------------------

    def times(
        self,
        x: Array,
        *,
        alpha: Factor = 1,
        beta: Factor = 0,
        y: Array | None = None,
        trans: Trans = False,
        out: Array | None = None,
    ) -> Array:
        """alpha op(a) x + beta y; x (n,) or (n, r), y like the result.

        *trans*: False, 0, ``"N"``; True, 1, ``"T"``; 2, ``"C"``, conjugated. Elements may be in a
        storage format of x's. Real and complex operands mix, in one length. Each element's error is
        that of a DOT over the row's stored elements, of complex ones that of four. Transposes are
        made once and kept.
        """
        vector, matrix = operand(x, "x"), self
        if transposes(trans, "csr_array.times: trans"):
            matrix = self.H if trans in CONJUGATED else self.T
        ends: dict[str, Any] = {
            n: None if v is None else operand(v, n) for n, v in (("y", y), ("out", out))
        }
        if any(is_complex(v) or has_complex(v) for v in (alpha, beta)):
            return _ended(elementwise.multiply(alpha, matrix.times(vector)), beta, **ends)
        form = routine.complex_of(matrix.format, vector.format)
        if form and ends["y"] is not None:
            ends["y"] = in_complex(ends["y"], form)
        found = routine.times(
            matrix.rows,
            vector.planes,
            alpha=scalar(vector.real, alpha, "alpha"),
            beta=scalar(vector.real, beta, "beta"),
            **{name: None if v is None else v.planes for name, v in ends.items()},
        )
        return Array(found)

    def __matmul__(self, x: Any) -> Array:
        """The product with a vector (n,) or a matrix (n, r)."""
        if isinstance(x, csr_array):
            raise ArgumentError("@: two sparse matrices given; products of them are not offered")
        return self.times(x)

    dot = __matmul__

    def __rmatmul__(self, x: Any) -> Array:
        """x (m,) or (r, m) times the matrix, by the transpose."""
        given = operand(x, "@: the left operand")
        if given.ndim == 2:
            found: Array = self.T.times(given.T).T
            return found
        return self.T.times(given)

    # --- copies ---------------------------------------------------------------------------

    @cached_property
    def T(self) -> csr_array:
        """The transpose, stored by rows: in memory of its own, made when it is first used."""
        m, n = self.shape
        order = np.argsort(self._columns, kind="stable")
        made = object.__new__(csr_array)
        starts = _borders(self._columns, n)
        return made._set(self.data[order], self._row_numbers()[order], starts, (n, m))

    @cached_property
    def H(self) -> csr_array:
        """The conjugate transpose, likewise; of real numbers the transpose."""
        return self.T.conj()

    def conj(self) -> csr_array:
        """The conjugates of the elements; of real numbers the matrix itself."""
        return self._with(self.data.conj()) if self.format.components > 1 else self

    conjugate = conj

    @property
    def real(self) -> csr_array:
        """The real parts of the elements, in the same memory."""
        return self._with(self.data.real)

    @property
    def imag(self) -> csr_array:
        """The imaginary parts of the elements, likewise."""
        return self._with(self.data.imag)

    def transpose(self) -> csr_array:
        """The transpose, as ``T``."""
        return self.T

    def astype(self, format: str | Format, rounding: str | None = None) -> csr_array:
        """The matrix in another format, each element rounded once."""
        return self._with(self.data.astype(format, rounding))

    def copy(self) -> csr_array:
        """The matrix with elements in memory of their own."""
        return self._with(self.data.copy())

    def to(self, device: str | Device | Queue) -> csr_array:
        """The matrix on another device or queue; itself if it is there already."""
        moved = self.data.to(device)
        return self if moved.queue is self.queue else self._with(moved)

    def toarray(self) -> Array:
        """The dense matrix, made by the host."""
        return _spread(self.data, self.shape, (self._row_numbers(), self._columns))

    todense = toarray

    def diagonal(self) -> Array:
        """The elements (i, i), in the matrix' format: shape (the smaller of m and n,)."""
        places = np.flatnonzero(self._row_numbers() == self._columns)
        return _spread(self.data[places], (min(self.shape),), (self._columns[places],))

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.csr_array`` of float64 or complex128, each element rounded once."""
        try:
            sparse = importlib.import_module("scipy.sparse")
        except ImportError:
            raise ArgumentError(
                "to_scipy: the package scipy is not installed: pip install scipy"
            ) from None
        values = self.data.to_numpy()
        return sparse.csr_array((values, self._columns, self._starts), shape=self.shape)

    # --- by elements ------------------------------------------------------------------------

    def __neg__(self) -> csr_array:
        return self._with(-self.data)

    def __abs__(self) -> csr_array:
        return self._with(abs(self.data))

    def __mul__(self, number: Any) -> csr_array:
        """Each element times a number."""
        return self._with(scal(_number(number), self.data))

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> csr_array:
        """Each element by a number."""
        return self._with(self.data / _number(number))

    def __add__(self, other: Any) -> csr_array:
        raise UnsupportedError(
            "+: sums of sparse matrices are not offered; to_scipy() has them, rounded to float64"
        )

    __radd__ = __sub__ = __rsub__ = __add__

    def __getitem__(self, key: Any) -> Any:
        raise UnsupportedError(
            "[]: parts of sparse matrices are not offered; toarray() and to_scipy() have them"
        )


def _ended(product: Array, beta: Factor, y: Array | None, out: Array | None) -> Array:
    """product + beta y of complex numbers."""
    if beta != 0:
        if y is None or y.shape != product.shape:
            given = "is missing" if y is None else f"{y.shape}, {product.shape} needed"
            raise ShapeError(f"csr_array.times: beta is not 0 but y {given}")
        product = elementwise.add(product, elementwise.multiply(beta, y))
    found: Array = elementwise.given_back(product.planes, out)
    return found


def _borders(rows: Indices, count: int) -> Indices:
    """Where each of *count* rows begins, and the end, by the rows of elements."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)


def _spread(data: Array, shape: tuple[int, ...], places: tuple[Indices, ...]) -> Array:
    """Zeros with elements at places, made by the host."""
    parts = data.to_parts()
    made = [np.zeros(shape, part.dtype) for part in parts]
    for plane, part in zip(made, parts, strict=True):
        plane[places] = part
    return from_parts(made, data.format, data.queue)


def _pair(shape: Any) -> tuple[int, int]:
    """Two lengths; ShapeError for anything else."""
    try:
        m, n = (operator.index(length) for length in shape)
    except (TypeError, ValueError):
        m = n = -1
    if min(m, n) < 0:
        raise ShapeError(f"csr_array: shape {shape!r:.60} given, two lengths (m, n) are needed")
    return m, n


def _number(value: Any) -> Any:
    if isinstance(value, csr_array) or (isinstance(value, Array) and value.shape):
        raise ArgumentError(
            f"*: {type(value).__name__} given; a sparse matrix is multiplied elementwise by "
            "numbers only, and by vectors and matrices with @"
        )
    return value


def _taken(
    source: Any, shape: tuple[int, int] | None
) -> tuple[Any, Any, Any, tuple[int, int] | None]:
    """The elements, their columns, the borders of rows, and the shape as far as it is known."""
    if isinstance(source, csr_array):
        return source.data, source._columns, source._starts, source.shape
    if isinstance(source, tuple):
        if len(source) == 2 and isinstance(source[1], tuple):
            return _coordinates(*source, shape)
        if len(source) != 3:
            raise ArgumentError(
                f"csr_array: a tuple of {len(source)} given; (data, indices, indptr) or (data, "
                "(rows, columns)) is needed"
            )
        return _elements(source[0]), *source[1:], shape
    if hasattr(source, "tocsr"):
        rows = source.tocsr()
        if len(rows.shape) != 2:
            raise ShapeError(f"csr_array: a sparse array {rows.shape} given, two axes are needed")
        return _elements(rows.data), rows.indices, rows.indptr, rows.shape
    return _dense(source)


def _coordinates(
    data: Any, places: tuple[Any, ...], shape: tuple[int, int] | None
) -> tuple[Any, Any, Any, tuple[int, int]]:
    """The same of elements by their rows and columns, in any order."""
    if len(places) != 2:
        raise ArgumentError(
            f"csr_array: data with {len(places)} arrays of places given; two are needed: (rows, "
            "columns)"
        )
    rows, columns = (_whole(*each) for each in zip(places, ("rows", "columns"), strict=True))
    values = _elements(data)
    if not values.shape == rows.shape == columns.shape:
        raise ShapeError(
            f"csr_array: data {values.shape}, rows {rows.shape} and columns {columns.shape} given, "
            "vectors of one length are needed"
        )
    m, n = shape or (int(place.max(initial=-1)) + 1 for place in (rows, columns))
    if rows.size and not (rows.min() >= 0 and rows.max() < m):
        raise ArgumentError(f"csr_array: rows: numbers from 0 to {m - 1} are needed")
    order = np.argsort(rows, kind="stable")
    return values[order], columns[order], _borders(rows, m), (m, n)


def _elements(data: Any) -> Any:
    """Elements as an array, whose order can be changed; texts and exact numbers too."""
    if isinstance(data, Array):
        return data
    try:
        found = np.asarray(data)
    except ValueError:
        raise ShapeError("csr_array: rows of different lengths given") from None
    # NumPy would make floats of exact numbers that it does not know.
    return np.array(data, dtype=object) if found.dtype.kind in "OUST" else found


def _dense(source: Any) -> tuple[Any, Any, Any, tuple[int, int]]:
    if isinstance(source, Array):
        limbs, values = source.to_limbs(), source
        leading = np.logical_or.reduce(limbs[:: source.format.limbs])
    else:
        values = _elements(source)
        if values.dtype == object:
            raise ArgumentError(
                "csr_array: a dense matrix of texts or exact numbers given; make it an array "
                "first: portmp.array(...)"
            )
        leading = values
    if leading.ndim != 2:
        raise ShapeError(f"csr_array: {leading.shape} given, a matrix is needed")
    rows, columns = np.nonzero(leading)
    starts = _borders(rows, leading.shape[0])
    return values[rows, columns], columns, starts, cast("tuple[int, int]", leading.shape)


def _checked(
    columns: Any, starts: Any, shape: Any, count: tuple[int, ...]
) -> tuple[Indices, Indices, tuple[int, int], Indices | None]:
    """Columns, borders, the shape, and the order of elements where theirs is another one."""
    columns, starts = _whole(columns, "indices"), _whole(starts, "indptr")
    if len(count) != 1 or columns.shape != count:
        raise ShapeError(
            f"csr_array: data {count} and indices {columns.shape} given, vectors of one length "
            "are needed"
        )
    if (
        starts.size < 1
        or starts[0] != 0
        or starts[-1] != columns.size
        or (np.diff(starts) < 0).any()
    ):
        raise ArgumentError(
            "csr_array: indptr must begin with 0, never fall, and end with the number of elements, "
            f"{columns.size}"
        )
    rows = starts.size - 1
    if shape is None:
        shape = rows, int(columns.max(initial=-1)) + 1
    if max(shape) > MOST:
        raise ShapeError(f"csr_array: shape {shape!r} given, two numbers are needed")
    height, width = int(shape[0]), int(shape[1])
    if height != rows:
        raise ShapeError(f"csr_array: indptr has {rows} rows, shape {shape} is given")
    if columns.size and not (columns.min() >= 0 and columns.max() < width):
        raise ArgumentError(
            f"csr_array: indices from {columns.min()} to {columns.max()} given, 0 to {width - 1} "
            "are allowed"
        )
    of_row = np.repeat(np.arange(rows), np.diff(starts))
    places = of_row * width + columns
    order = None
    if (np.diff(places) < 0).any():
        order = np.argsort(places, kind="stable")
        places, columns = places[order], columns[order]
    twice = np.flatnonzero(np.diff(places) == 0)
    if twice.size:
        row, column = divmod(int(places[twice[0]]), width)
        raise ArgumentError(
            f"csr_array: the element ({row}, {column}) is given twice; add up such elements "
            "before (sum_duplicates in SciPy)"
        )
    return columns, starts, (height, width), order


def _whole(numbers: Any, name: str) -> Indices:
    """Indices as int64."""
    found = numbers.to_numpy() if isinstance(numbers, PlainArray) else np.asarray(numbers)
    if found.ndim == 1 and not found.size:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise ArgumentError(
            f"csr_array: {name}: {found.dtype} {found.shape} given, a vector of integers is needed"
        )
    return found.astype(np.int64)
