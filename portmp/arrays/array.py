"""Arrays of multi-limb numbers on a device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np

from portmp import discovery, formats
from portmp.arrays.viewed import Viewed, integers
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError, FormatError, OutOfMemory, ShapeError
from portmp.formats import Format, convert, decimal
from portmp.routines import base, certified, elementwise, exact, gemm, reduce
from portmp.runtime.planes import Planes, allocate, moved, upload

Number = int | float | str | Fraction
Comparison = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
DEFAULT_FORMAT = "dd"
SHOWN = 1000


def operand(value: object, argument: str) -> Array:
    """*value* itself, an Array; ArgumentError for anything else."""
    if not isinstance(value, Array):
        raise ArgumentError(
            f"{argument}: {type(value).__name__} given, an Array is needed: portmp.array(...)"
        )
    return value


class Array(Viewed[Planes]):
    """A strided view of limb planes on one device.

    Operators work elementwise with NumPy's broadcasting and return new arrays without
    waiting for the device; Python numbers and decimal strings mix in as exact scalars.
    ``@`` is the matrix product. Comparisons and conversions to the host wait.
    """

    __slots__ = ()
    __array_ufunc__ = None

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(f"bool: one element expected, shape {self.shape} given")
        return bool(self.to_limbs()[0].ravel()[0] != 0)

    # --- facts ----------------------------------------------------------------------------

    @property
    def format(self) -> Format:
        """The number format."""
        return self.planes.format

    @property
    def limbs(self) -> tuple[Planes, ...]:
        """The planes on the device, leading limb first, each as Planes of one float plane."""
        p = self.planes
        base.computes(p.format, "limbs")
        return tuple(
            Planes(formats.get(p.format.planes[i]), p.shape, p.strides, p.start, (b,), p.queue)
            for i, b in enumerate(p.buffers)
        )

    # --- views ----------------------------------------------------------------------------

    def _dense(self) -> Planes:
        return elementwise.contiguous(self.planes)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copy a value (broadcast) into the elements of a view."""
        target = self[key].planes
        source = self._operand(value, "value")
        if not isinstance(source, Planes):
            source = upload(
                self.format,
                [np.asarray(w, self.format.dtype(i)) for i, w in enumerate(source)],
                target.queue,
            )
        if target.overlaps(source):
            source = elementwise.apply(
                "copy", [source], allocate(source.format, source.shape, source.queue)
            )
        elementwise.apply("copy", [source.broadcast_to(target.shape)], target)

    def copy(self) -> Array:
        """A dense copy on the same device."""
        p = self.planes
        return Array(elementwise.apply("copy", [p], allocate(p.format, p.shape, p.queue)))

    # --- host -----------------------------------------------------------------------------

    def to_limbs(self) -> list[np.ndarray[Any, Any]]:
        """The limb planes as NumPy arrays, leading limb first."""
        if not self.size:
            return [np.empty(self.shape, self.format.dtype(i)) for i in range(self.format.limbs)]
        return elementwise.contiguous(self.planes).read_dense()

    def to_parts(self) -> list[np.ndarray[Any, Any]]:
        """The planes as they lie in memory: of storage formats integers, leading bits first."""
        if not self.size:
            return [np.empty(self.shape, part) for part in self.format.parts]
        return elementwise.contiguous(self.planes).read_parts()

    def to_float64(self) -> np.ndarray[Any, Any]:
        """Values rounded correctly to float64."""
        return convert.to_float64(self.to_limbs())

    def to_fractions(self) -> Any:
        """Exact values as Fractions: nested lists, or one Fraction for shape ()."""
        return convert.to_fractions(self.to_limbs()).tolist()

    def to_strings(self, digits: decimal.Digits = None) -> Any:
        """Decimal strings (nested lists, or one string).

        *digits* are significant digits, by default as many as the format holds; ``"short"`` gives
        the shortest text that gives each value's limbs back, ``"shown"``, which is printed, the
        same where the format's digits are enough for that, else so many.
        """
        return decimal.to_strings(self.to_limbs(), self.format, digits).tolist()

    def to_mpmath(self) -> Any:
        """Exact values as mpmath numbers: nested lists, or one number."""
        limbs = self.to_limbs()
        columns = (p.ravel().tolist() for p in limbs)
        flat = [decimal.to_mpmath(w) for w in zip(*columns, strict=True)]
        result = np.empty(len(flat), object)
        result[:] = flat
        return result.reshape(self.shape).tolist()

    def __float__(self) -> float:
        if self.size != 1:
            raise ShapeError(f"float: one element expected, shape {self.shape} given")
        return float(self.to_float64().ravel()[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        values = self.to_float64()
        return values if dtype is None else values.astype(dtype)

    def __str__(self) -> str:
        if self.size > SHOWN:
            return f"<{self.size} values of shape {self.shape}>"
        texts = decimal.to_strings(self.to_limbs(), self.format, "shown")
        return np.array2string(
            texts, separator=", ", formatter={"all": str}, threshold=SHOWN, max_line_width=100
        )

    def __repr__(self) -> str:
        return f"portmp.Array({self}, format={self.format.name!r}, device={self.device.name!r})"

    # --- conversion -------------------------------------------------------------------------

    def astype(self, fmt: str | Format, rounding: str | None = None) -> Array:
        """A copy in another format, each value rounded once from its exact value.

        *rounding* (``nearest`` or ``toward_zero``) is a storage format's. Between formats of
        one limb that compute in the same words the device converts, else the host.
        """
        form = formats.get(fmt)
        if rounding is not None:
            form = formats.rounded_as(form, rounding)
        if form is self.format:
            return self.copy()
        if elementwise.converts(self.format, form):
            return Array(elementwise.converted(self.planes, form))
        limbs = self.to_limbs()
        return Array(
            upload(form, convert.change_format(limbs, self.format, form), self.planes.queue)
        )

    def to(self, device: str | Device | Queue) -> Array:
        """The array on another device (itself if it is there already).

        In another queue of the same device it is the same memory: what is done there comes after
        all that was given to its own queue so far.
        """
        queue = opened(self.format, device)
        if queue.device is not self.device:
            return Array(moved(elementwise.contiguous(self.planes), queue))
        return Array(self.planes.in_queue(queue)) if isinstance(device, Queue) else self

    # --- arithmetic -----------------------------------------------------------------------

    def _operand(self, value: Any, argument: str = "operand") -> elementwise.Operand:
        if isinstance(value, Array):
            base.same(self.format, self=self.planes, **{argument: value.planes})
            return value.planes
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
            raise ArgumentError(
                f"{argument}: {type(value).__name__} given; make it an array first: "
                f"portmp.array(x, {self.format.name!r})"
            )
        return base.scalar_limbs(self.format, value, argument)

    def _apply(self, op: str, *others: Any) -> Array:
        operands = [self.planes, *(self._operand(o) for o in others)]
        return Array(elementwise.apply(op, operands))

    def _reflected(self, op: str, other: Any) -> Array:
        return Array(elementwise.apply(op, [self._operand(other), self.planes]))

    def __add__(self, other: Any) -> Array:
        return self._apply("add", other)

    def __radd__(self, other: Any) -> Array:
        return self._reflected("add", other)

    def __sub__(self, other: Any) -> Array:
        return self._apply("sub", other)

    def __rsub__(self, other: Any) -> Array:
        return self._reflected("sub", other)

    def __mul__(self, other: Any) -> Array:
        return self._apply("mul", other)

    def __rmul__(self, other: Any) -> Array:
        return self._reflected("mul", other)

    def __truediv__(self, other: Any) -> Array:
        return self._apply("div", other)

    def __rtruediv__(self, other: Any) -> Array:
        return self._reflected("div", other)

    def __neg__(self) -> Array:
        return self._apply("neg")

    def __pos__(self) -> Array:
        return self.copy()

    def __abs__(self) -> Array:
        return self._apply("abs")

    def __matmul__(self, other: Array) -> Array:
        if not isinstance(other, Array):
            return NotImplemented
        a, b = self, other
        if a.ndim == 0 or b.ndim == 0:
            raise ShapeError("@: operands of shape () given; use *")
        if a.ndim == 1 and b.ndim == 1:
            return Array(reduce.dot(a.planes, b.planes))
        one, zero = base.scalar_limbs(a.format, 1, "alpha"), base.scalar_limbs(a.format, 0, "beta")
        left = a[None, :] if a.ndim == 1 else a
        right = b[:, None] if b.ndim == 1 else b
        product = Array(gemm.gemm(left.planes, right.planes, alpha=one, beta=zero))
        if a.ndim == 1:
            return product[..., 0, :]
        return product[..., 0] if b.ndim == 1 else product

    def _compare(self, other: Any, test: Callable[[Any], Any]) -> Comparison:
        result: Comparison = test(elementwise.compare(self.planes, self._operand(other)))
        return result

    def __eq__(self, other: object) -> Comparison:  # type: ignore[override]
        return self._compare(other, lambda s: s == 0)

    def __ne__(self, other: object) -> Comparison:  # type: ignore[override]
        return self._compare(other, lambda s: s != 0)

    def __lt__(self, other: Any) -> Comparison:
        return self._compare(other, lambda s: s == -1)

    def __le__(self, other: Any) -> Comparison:
        return self._compare(other, lambda s: (s == -1) | (s == 0))

    def __gt__(self, other: Any) -> Comparison:
        return self._compare(other, lambda s: s == 1)

    def __ge__(self, other: Any) -> Comparison:
        return self._compare(other, lambda s: (s == 1) | (s == 0))

    __hash__ = None  # type: ignore[assignment]

    # --- reductions -----------------------------------------------------------------------

    def _rows(self, axis: int | None) -> tuple[Planes, tuple[int, ...]]:
        """The array as a matrix whose rows are reduced, and the result's shape."""
        if axis is None:
            flat = elementwise.contiguous(self.planes)
            return flat.view((1, self.size), (0, 1), flat.start), ()
        if not isinstance(axis, (int, np.integer)):
            raise ArgumentError(f"axis: {axis!r} given, one axis or None is allowed")
        if not -self.ndim <= axis < self.ndim:
            raise ShapeError(f"axis: {axis} given, the array has {self.ndim}")
        axis %= self.ndim
        order = [i for i in range(self.ndim) if i != axis] + [axis]
        moved = self.planes.transposed(order)
        shape = moved.shape[:-1]
        if len(shape) > 1:
            # A dense view may have any stride along an axis of length 1.
            moved = elementwise.contiguous(moved).view_as(moved.shape)
        rows = math.prod(shape)
        step = moved.strides[-2] if shape else 0
        return moved.view((rows, moved.shape[-1]), (step, moved.strides[-1]), moved.start), shape

    def _reduce(self, kind: str, axis: int | None) -> Array:
        rows, shape = self._rows(axis)
        return Array(reduce.over_rows(kind, rows).view_as(shape))

    @overload
    def sum(
        self, axis: int | None = None, *, rounding: str | None = None, bound: Literal[False] = False
    ) -> Array: ...

    @overload
    def sum(
        self, axis: int | None = None, *, rounding: str | None = None, bound: Literal[True]
    ) -> tuple[Array, Array]: ...

    def sum(
        self, axis: int | None = None, *, rounding: str | None = None, bound: bool = False
    ) -> Array | tuple[Array, Array]:
        """The sum over all elements or one axis; *rounding* and *bound* as of ``dot``."""
        rows, shape = self._rows(axis)
        if rounding is not None:
            base.check_rounding(rounding, bound)
            return Array(exact.over_rows(rows).view_as(shape))
        if bound:
            value, error = certified.over_rows(rows)
            return Array(value.view_as(shape)), Array(error.view_as(shape))
        return Array(reduce.over_rows("sum", rows).view_as(shape))

    def max(self, axis: int | None = None) -> Array:
        """The maximum; NaN propagates."""
        return self._reduce("max", axis)

    def min(self, axis: int | None = None) -> Array:
        """The minimum; NaN propagates."""
        return self._reduce("min", axis)


# --- creation -------------------------------------------------------------------------------


def array(
    data: Any,
    format: str | Format | None = None,
    device: str | Device | Queue | None = None,
    rounding: str | None = None,
) -> Array:
    """An array of *data* on *device*.

    *data*: nested sequences or NumPy arrays of decimal strings (correctly rounded),
    ints, Fractions, Decimals, floats (exact, as far as the format holds them), mpmath
    and gmpy2 numbers, or an Array (which is copied). Without a format: that of an Array,
    else dd. *rounding*: how a storage format rounds, ``nearest`` (ties to even) or
    ``toward_zero``; results in the array's format are rounded so, too.
    """
    if isinstance(data, Array):
        converted = data.astype(data.format if format is None else format, rounding)
        return converted.to(device) if device is not None else converted
    form = formats.get(format if format is not None else DEFAULT_FORMAT)
    if rounding is not None:
        form = formats.rounded_as(form, rounding)
    host = convert.to_limbs(data, form)
    return Array(upload(form, host, opened(form, device)))


def from_limbs(
    limbs: Sequence[Any], format: str | Format, device: str | Device | Queue | None = None
) -> Array:
    """An array from limb planes, leading limb first: NumPy arrays or anything with DLPack.

    Planes are normalised; a finite value that the format cannot hold is refused.
    """
    form = formats.get(format)
    count = len(limbs) if isinstance(limbs, Sequence) else repr(limbs)
    if count != form.limbs:
        raise FormatError(f"limbs: {count} given, {form.name} has {form.limbs} planes")
    host: list[np.ndarray[Any, Any]] = []
    for i, plane in enumerate(limbs):
        values = _host(plane)
        if values.dtype != form.dtype(i):
            raise FormatError(
                f"limbs[{i}]: dtype {values.dtype} given, "
                f"plane {i} of {form.name} is {form.planes[i]}"
            )
        if values.shape != (host[0].shape if host else values.shape):
            raise ShapeError(f"limbs[{i}]: shape {values.shape}, limbs[0] has {host[0].shape}")
        host.append(values)
    return Array(upload(form, convert.normalise(host, form), opened(form, device)))


def from_parts(
    parts: Sequence[Any], format: str | Format, device: str | Device | Queue | None = None
) -> Array:
    """An array from planes as they lie in memory (``to_parts``), leading bits first."""
    form = formats.get(format)
    given = [np.asarray(part) for part in parts]
    found = ", ".join(f"{part.dtype} {part.shape}" for part in given)
    if tuple(part.dtype.name for part in given) != form.parts:
        raise FormatError(f"parts: {found} given, {form.name} has {', '.join(form.parts)}")
    if any(part.shape != given[0].shape for part in given):
        raise ShapeError(f"parts: {found} given, one shape is needed")
    planes = allocate(form, given[0].shape, opened(form, device))
    if planes.size:
        planes.write_parts(given)
    return Array(planes)


def _host(plane: Any) -> np.ndarray[Any, Any]:
    if isinstance(plane, Planes):
        return elementwise.contiguous(plane).read_dense()[0]
    if hasattr(plane, "__dlpack__") and not isinstance(plane, np.ndarray):
        kind = plane.__dlpack_device__()[0]
        if int(kind) == 1:
            return np.from_dlpack(plane)
        if hasattr(plane, "get"):
            return np.asarray(plane.get())
        if hasattr(plane, "cpu"):
            return np.asarray(plane.cpu())
    return np.asarray(plane)


def opened(form: Format, device: str | Device | Queue | None) -> Queue:
    """A queue of a device that can hold values of *form*."""
    queue = discovery.queue_of(device)
    target = queue.device
    if form.word == "float64" and not target.properties.float64:
        raise FormatError(
            f"format {form.name}: {target.name} ({target.properties.name}) has no float64; "
            "use float32, ds, ts or qs"
        )
    return queue


def zeros(
    shape: int | Sequence[int],
    format: str | Format = DEFAULT_FORMAT,
    device: str | Device | Queue | None = None,
) -> Array:
    """An array of zeros."""
    form = formats.get(format)
    sizes = integers((shape,), "shape")
    if any(n < 0 for n in sizes):
        raise ShapeError(f"zeros: shape {tuple(sizes)} given, lengths cannot be negative")
    if any(n >= 2**63 for n in sizes):
        raise ShapeError(f"zeros: shape {tuple(sizes)!s:.80} given, lengths are below 2^63")
    queue = opened(form, device)
    target = queue.device
    needed, memory = math.prod(sizes) * form.itemsize, target.properties.memory
    if needed > memory:
        raise OutOfMemory(f"zeros: {needed} bytes asked for, {target.name} has {memory}")
    host = [np.zeros(sizes, form.dtype(i)) for i in range(form.limbs)]
    return Array(upload(form, host, queue))
