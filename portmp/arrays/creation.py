"""New arrays: of given numbers, of equal ones, of numbers at equal distances."""

# mypy: disable-error-code="type-abstract"
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.arrays import complexes as complex_arrays
from portmp.arrays import dtypes, elementwise, exchange, manipulation, typed
from portmp.arrays.dtypes import BOOL, INTEGER, Dtype
from portmp.arrays.typed import Eye, Filled, Full, Like, Range, Spaced, as_, keeps
from portmp.arrays.viewed import AnyArray, Viewed, called, integers, makes_arrays, wrapped
from portmp.backends import dlpack
from portmp.backends.base import Device, Queue, is_recording
from portmp.errors import ArgumentError, FormatError, OutOfMemory, ShapeError, choice, shown
from portmp.formats import Format, complexes, convert, foreign, losses
from portmp.routines import base
from portmp.routines.elementwise import launch as routine
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.runtime.planes import Numbers, Planes, View, blank, upload, upload_numbers

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like"]
__all__ += ["identity", "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros_like"]

Where = str | Device | Queue | None

FEW_BYTES = 1 << 16
"""Up to so many a GPU's driver sets to 0, which takes less to call than a kernel."""


# --- where, and of what ---------------------------------------------------------------------------


def opened(form: Dtype, device: Where) -> Queue:
    """A queue of a device that can hold values of *form*."""
    queue = discovery.queue_of(device)
    target = queue.device
    if isinstance(form, Format):
        base.check_words(form, target)
    return queue


def chosen(format: Any, dtype: Any, usual: Dtype | None = None) -> Dtype:
    """The dtype that *format* or *dtype*, of which one may be given, asks for."""
    if format is not None and dtype is not None:
        raise ArgumentError("dtype: given beside format, which is the same; give one of them")
    given = dtype if format is None else format
    if given is None:
        return usual or dtypes.default()
    return dtypes.resolved(given, "dtype" if format is None else "format", usual)


def is_format(value: Any) -> bool:
    """Whether an argument of another kind is a format or its name, given where zeros takes it."""
    try:
        return isinstance(value, Format) or (isinstance(value, str) and bool(formats.get(value)))
    except FormatError:
        return False


def _sizes(shape: Any, what: str) -> tuple[int, ...]:
    sizes = (shape,) if type(shape) is int else tuple(integers((shape,), "shape"))
    for size in sizes:
        if size < 0:
            raise ShapeError(f"{what}: shape {sizes} given, lengths cannot be negative")
        if size >= 2**63:
            raise ShapeError(f"{what}: shape {sizes!s:.80} given, lengths are below 2^63")
    return sizes


def new(shape: Any, kind: Dtype, device: Where, what: str) -> View[Any]:
    """New memory with undefined content; OutOfMemory where the device has less."""
    queue = opened(kind, device)
    made = blank(kind if isinstance(kind, Format) else kind.name, _sizes(shape, what))
    if (needed := sum(made.sizes)) > queue.device.properties.memory:
        raise OutOfMemory(f"{what}: {needed} bytes asked for, {queue.device.room()}")
    view: View[Any] = made.made(queue)
    return view


def _filled(view: View[Any], value: Any, argument: str) -> View[Any]:
    """The same dense memory with all elements equal to a number."""
    found = elementwise.number(value, dtypes.of_view(view), argument)
    if isinstance(view, Planes):
        routine.fill(view, found)
    else:
        assert isinstance(view, Numbers)
        plain.fill(view, found)
    return view


# --- of given numbers -----------------------------------------------------------------------------


@typed.as_(typed.Made)
def array(
    data: Any,
    format: Any = None,
    device: Where = None,
    rounding: str | None = None,
    *,
    dtype: Any = None,
    copy: bool | None = True,
    ndmin: int = 0,
) -> Any:
    """An array of *data* on *device*.

    *data*: nested sequences or NumPy arrays of decimal strings (correctly rounded), ints,
    Fractions, Decimals, floats (exact, as far as the format holds them), mpmath, gmpy2 and
    python-flint numbers, or arrays (which are copied; nested ones are stacked). Complex numbers
    (those of these libraries, "1.1+2.2j", "(1.1, 2.2)") become complex ones of the format; in a
    real one they are taken where their imaginary parts are all 0. Without a format: that of arrays,
    else dd, or cdd; truth values stay what they are. *dtype* is another name for the format, and
    may also be one of integers or truth values. *rounding*: how a storage format rounds,
    ``nearest`` (ties to even) or ``
    toward_zero``; results in the array's format are rounded so, too. *copy*: None or False for an
    array itself where nothing is to be changed, as of ``asarray``. *ndmin*: axes at least, of
    length 1 before the others.
    """
    if ndmin:
        found = array(data, format, device, rounding, dtype=dtype, copy=copy)
        return found.reshape((*[1] * (ndmin - found.ndim), *found.shape))
    data = _on_device(data)
    if isinstance(data, (list, tuple)) and has_arrays(data):
        data = _stacked(data)
    known = data.dtype if isinstance(data, Viewed) else None
    kind = None if format is None and dtype is None else chosen(format, dtype, known)
    if isinstance(data, Viewed):
        own = data.dtype
        wanted = rounded(kind or (own if isinstance(own, Format) else dtypes.default()), rounding)
        if copy is not True:
            return asarray(data, dtype=wanted, device=device, copy=copy)
        found = elementwise.converted(data, wanted)
        found = found.copy() if found.planes is data.planes else found
        return found if device is None else found.to(device)
    if copy is False:
        raise ArgumentError("array: copy=False given, numbers of the host must be copied")
    if kind is None and _are_truths(data):
        kind = BOOL
    wanted = rounded(kind or _usual(data), rounding)
    return wrapped(_of_host(data, wanted, device))


def _usual(data: Any) -> Format:
    """The format of numbers that are given none: complex where one of them is."""
    form = dtypes.default()
    return formats.complex_of(form) if complexes.has_complex(data) else form


def _on_device(data: Any) -> Any:
    """The arrays of GPU libraries as arrays over the same memory; all else as it is."""
    if isinstance(data, (Viewed, np.ndarray, np.generic, list, tuple, str, int, float, complex)):
        return data
    if not exchange.is_array(data) or exchange.on_host(data):
        return data
    return wrapped(exchange.taken(data))


def _real(data: Any, kind: Format) -> Any:
    """Complex numbers of NumPy's whose imaginary parts are 0 as the real ones that they are."""
    if np.any(np.imag(data) != 0):
        raise FormatError(
            f"data: complex numbers are not accepted in {kind}, whose numbers are real, where "
            f"imaginary parts are not 0; formats of complex ones: {', '.join(formats.COMPLEX)}"
        )
    return np.real(data)


def rounded(kind: Dtype, rounding: str | None) -> Dtype:
    """The storage format with another rounding, where one is asked for."""
    if rounding is None:
        return kind
    if not isinstance(kind, Format):
        raise ArgumentError(f"rounding: {rounding!r} given, {kind} is not rounded")
    return formats.rounded_as(kind, rounding)


def _of_host(data: Any, kind: Dtype, device: Where) -> View[Any]:
    """Numbers of the host on a device."""
    if isinstance(kind, Format) and kind.components > 1:
        return upload(kind, complexes.to_limbs(data, kind), opened(kind, device))
    if isinstance(kind, Format):
        if isinstance(data, complex) or getattr(getattr(data, "dtype", None), "kind", "") == "c":
            data = _real(data, kind)
        limbs = convert.to_limbs(data, kind)
        losses.check(data, kind, "data")
        return upload(kind, limbs, opened(kind, device))
    return upload_numbers(plain_host(data, kind.name, "data"), opened(kind, device))


def has_arrays(data: Any) -> bool:
    """Whether nested lists hold arrays."""
    nested = (list, tuple)
    return any(isinstance(x, Viewed) or (isinstance(x, nested) and has_arrays(x)) for x in data)


def _stacked(data: Any) -> AnyArray:
    """Nested lists of arrays (and numbers) of one shape as one array."""
    made = [_stacked(x) if isinstance(x, (list, tuple)) and has_arrays(x) else x for x in data]
    known = [x for x in made if isinstance(x, Viewed)]
    own = elementwise.common_dtype("array", known)
    items = [
        x if isinstance(x, Viewed) else array(x, own, known[0].queue)  # numbers beside arrays
        for x in made
    ]
    return manipulation.stack([wrapped(elementwise.as_dtype(x.planes, own)) for x in items])


@typed.as_(typed.Taken)
@makes_arrays
def asarray(
    obj: Any, /, *, dtype: Any = None, device: Where = None, copy: bool | None = None
) -> Any:
    """*obj* as an array: itself, if it is one of this dtype on this device.

    Numbers get a dtype of their kind where none is given: the default format, int64 or bool.
    *copy*: always (True), only where needed (None), or never (False: ValueError where needed).
    """
    obj = _on_device(obj)
    if isinstance(obj, Viewed):
        kind = None if dtype is None else dtypes.resolved(dtype, own=obj.dtype)
        found = obj.planes if kind is None else elementwise.converted(obj, kind).planes
        queue = found.queue if device is None else discovery.queue_of(device)
        moved = wrapped(found) if queue is found.queue else wrapped(found).to(device)
        if moved.planes is not obj.planes and copy is False:
            raise ArgumentError("asarray: copy=False given, another dtype or device needs a copy")
        return moved.copy() if copy and moved.planes.buffers[0] is obj.planes.buffers[0] else moved
    if copy is False:
        raise ArgumentError("asarray: copy=False given, numbers of the host must be copied")
    return array(obj, _kind_of(obj) if dtype is None else None, device, dtype=dtype)


def _kind_of(data: Any) -> Dtype:
    """What suits numbers of the host: integers' own dtype, bool, int64 or the default format.

    Of an array its own.
    """
    if isinstance(data, Viewed):
        return data.dtype
    if isinstance(data, (list, tuple)) and has_arrays(data):
        return dtypes.of_view(_stacked(data).planes)
    own = getattr(data, "dtype", None)
    if isinstance(own, np.dtype):
        return dtypes.resolved(own) if own.kind in "iub" else _usual(data)
    flat = list(convert.leaves(data))
    if flat and all(isinstance(x, (bool, np.bool_)) for x in flat):
        return BOOL
    if flat and all(isinstance(x, (bool, int, np.bool_, np.integer)) for x in flat):
        return INTEGER
    return _usual(flat)


def _are_truths(data: Any) -> bool:
    """Whether numbers of the host are truth values, all of them."""
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if isinstance(first, np.ndarray):
        first = first.flat[0] if first.size else None
    return isinstance(first, (bool, np.bool_)) and _kind_of(data) == BOOL


def plain_host(data: Any, dtype: str | None, argument: str) -> np.ndarray[Any, Any]:
    """*data* as a C-contiguous NumPy array of plain numbers of *dtype*, with the same values."""
    convert.refuse_masked(data, argument)
    try:
        given = np.asarray(data)
        if given.dtype.kind == "f" and not hasattr(data, "dtype"):
            given = np.asarray(data, object)  # small and large integers make floats of each other
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"{argument}: no array of numbers: {error}") from None
    if dtype is None and given.dtype.kind in "iub":
        return np.ascontiguousarray(convert.native(given)).reshape(given.shape)
    wanted = dtype or "int64"
    if given.dtype.kind not in "iub" and not (given.size == 0 or _whole(given)):
        raise FormatError(
            f"{argument}: integers or truth values are needed, {_strange(given)} given"
        )
    low, high = (0, 1) if wanted == "bool" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
    if given.size and not (low <= int(given.min()) and int(given.max()) <= high):
        raise FormatError(
            f"{argument}: from {int(given.min())} to {int(given.max())} given, {wanted} holds "
            f"{low} to {high}"
        )
    return np.ascontiguousarray(given.astype(wanted)).reshape(given.shape)


def host_plane(plane: Any) -> np.ndarray[Any, Any]:
    """A copy on the host of one plane: of an array of one limb, or anything with DLPack."""
    if isinstance(plane, Viewed):
        return np.asarray(plane)
    if hasattr(plane, "__dlpack__") and not isinstance(plane, np.ndarray):
        if exchange.on_host(plane):
            return np.from_dlpack(exchange.resolved(plane))
        if hasattr(plane, "get"):
            return np.asarray(plane.get())
        if hasattr(plane, "cpu"):
            return np.asarray(plane.cpu())
    return np.asarray(plane)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library's, by DLPack.

    Of a GPU that portmp drives the memory is shared, unless *device* or *copy* asks otherwise; else
    it is copied. Integers and truth values become plain numbers, float32 and float64 values.
    """
    if isinstance(x, Viewed):
        return asarray(x, device=device, copy=copy)
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(f"from_dlpack: {type(x).__name__} given, which has no __dlpack__")
    kind, index = (int(n) for n in x.__dlpack_device__())
    where = None if device is None else discovery.queue_of(device)
    if kind != dlpack.CPU and exchange.device_of(kind, index) is not None:
        found = wrapped(exchange.taken(x))
        if where is not None and where is not found.queue:
            return found.to(where)
        return found.copy() if copy else found
    if copy is False:
        raise BufferError("copy=False given, memory of the host must be copied to a device")
    host = host_plane(x)
    return asarray(host, dtype=host.dtype, device=device)


def _strange(given: np.ndarray[Any, Any]) -> object:
    """The first number that is no integer, or the dtype where a device's numbers have one."""
    if given.dtype.kind not in "Of":
        return given.dtype
    return next(shown(x) for x in given.ravel().tolist() if not _whole(np.asarray(x, object)))


def _whole(given: np.ndarray[Any, Any]) -> bool:
    """Whether numbers of Python or of float dtypes are integers."""
    if given.dtype.kind == "O":
        return all(
            isinstance(x, (int, np.integer)) or (isinstance(x, (float, np.floating)) and x % 1 == 0)
            for x in given.ravel()
        )
    return given.dtype.kind == "f" and bool(np.all(np.isfinite(given) & (given == np.floor(given))))


# --- of equal numbers -----------------------------------------------------------------------------


@as_(Filled)
def zeros(
    shape: int | Sequence[int], format: Any = None, device: Where = None, *, dtype: Any = None
) -> Any:
    """An array of zeros, of the default format unless *format* (or *dtype*) names another."""
    made = new(shape, chosen(format, dtype), device, "zeros")
    buffers = made.buffers
    many = len(buffers) * buffers[0].nbytes > FEW_BYTES
    if many or not made.queue.clears or is_recording():  # what is repeated is launches alone
        return wrapped(_filled(made, 0, "zeros"))
    made.queue.clear(buffers)
    return wrapped(made)


@as_(Filled)
def ones(
    shape: int | Sequence[int], format: Any = None, device: Where = None, *, dtype: Any = None
) -> Any:
    """An array of ones."""
    return full(shape, 1, chosen(format, dtype), device)


@as_(Filled)
def empty(
    shape: int | Sequence[int], format: Any = None, device: Where = None, *, dtype: Any = None
) -> Any:
    """An array whose elements are not set."""
    return wrapped(new(shape, chosen(format, dtype), device, "empty"))


@as_(Full)
def full(
    shape: int | Sequence[int],
    fill_value: Any,
    format: Any = None,
    device: Where = None,
    *,
    dtype: Any = None,
) -> Any:
    """An array of equal numbers; without a format of the number's kind, as ``asarray`` has it.

    Arrays and lists are broadcast.
    """
    usual = None if format is not None or dtype is not None else _kind_of(fill_value)
    kind = chosen(format, dtype, usual)
    if isinstance(fill_value, (list, tuple, np.ndarray)):
        fill_value = asarray(fill_value, dtype=kind, device=device)
    if device is None and isinstance(fill_value, Viewed):
        device = fill_value.queue
    made = new(shape, kind, device, "full")
    if not isinstance(fill_value, Viewed):
        return wrapped(_filled(made, fill_value, "fill_value"))
    moves.copied(elementwise.as_dtype(fill_value.planes, kind), made)
    return wrapped(made)


def _alike(x: AnyArray, dtype: Any, device: Where) -> tuple[Any, Any, Any]:
    """The shape, the dtype and the place of an array, unless others are given."""
    x = manipulation.checked(x, "x")
    return x.shape, chosen(None, dtype, x.dtype), device or x.queue


def _like(made: Callable[..., Any], about: str) -> Any:
    def like(x: AnyArray, /, *, dtype: Any = None, device: Where = None) -> Any:
        return made(*_alike(x, dtype, device))

    return called(
        like,
        f"{made.__name__}_like",
        f"{about} of the shape of x, by default of its dtype and on its queue.",
    )


@typed.as_(typed.Filling)
def full_like(x: AnyArray, /, fill_value: Any, *, dtype: Any = None, device: Where = None) -> Any:
    """Equal numbers of the shape of x, by default of its dtype and on its queue."""
    shape, kind, where = _alike(x, dtype, device)
    if dtype is None:
        elementwise.refuse_rounding(fill_value, kind, "fill_value")
    return full(shape, fill_value, kind, where)


zeros_like: Like = _like(zeros, "Zeros")
ones_like: Like = _like(ones, "Ones")
empty_like: Like = _like(empty, "Elements that are not set,")


# --- at equal distances ---------------------------------------------------------------------------


@as_(Range)
def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    format: Any = None,
    device: Where = None,
    *,
    dtype: Any = None,
) -> Any:
    """start, start + step ... up to *stop*, left out; integers where all are: ``arange(5, "qd")``.

    Element i is the value of start + i step: a product and a sum of the format (``fma``). Numbers
    may be decimal strings and Fractions; how many elements there are is computed exactly.
    """
    if is_format(stop):
        stop, format = None, stop
    elif is_format(step):
        step, format = 1, step
    start, stop = (0, start) if stop is None else (start, stop)
    numbers = [_exact(x, name) for x, name in ((start, "start"), (stop, "stop"), (step, "step"))]
    if numbers[2] == 0:
        raise ArgumentError("arange: step: 0 given, another number is needed")
    count = max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2]))
    whole = all(isinstance(x, (int, np.integer)) for x in (start, stop, step))
    usual, beside = _of_ends("arange", (start, stop, step))
    kind = chosen(format, dtype, INTEGER if whole else usual)
    queue = opened(kind, beside if device is None else device)
    if not isinstance(kind, Format):
        if not whole:
            raise FormatError(f"arange: {kind} asked for, start, stop and step must be integers")
        return wrapped(plain.counted(int(start), int(step), count, kind.name, queue))
    for value, name in ((start, "start"), (step, "step")):
        if isinstance(value, (int, np.integer)):
            elementwise.number(int(value), kind, f"arange: {name}")  # which refuses to round it
    if whole and max(map(abs, numbers)) < 1 << kind.encodings[0].bits:
        # Integers that the format holds: so are all elements.
        counter = plain.counted(int(start), int(step), count, "int64", queue)
        return wrapped(elementwise.as_dtype(counter, kind))
    counter = plain.counted(0, 1, count, "int64", queue)
    by, first = (_point(x, kind, queue) if isinstance(x, Viewed) else x for x in (step, start))
    return elementwise.fma(wrapped(elementwise.as_dtype(counter, kind)), by, first)


def _of_ends(what: str, ends: Sequence[Any]) -> tuple[Format | None, Queue | None]:
    """The format in which those of some numbers meet that are arrays, and where the first is."""
    given = [x for x in ends if isinstance(x, Viewed)]
    known = [found for x in given if isinstance(found := x.dtype, Format)]
    usual: Any = known[0] if known else None
    for other in known[1:]:
        usual = dtypes.promoted(usual, other, what)
    return usual, given[0].queue if given else None


def _exact(value: Any, argument: str) -> Fraction:
    if isinstance(value, Viewed):
        value = value.tolist()
    found = foreign.exact(value, f"arange: {argument}")
    if isinstance(found, float) and not math.isfinite(found):
        raise ArgumentError(f"arange: {argument}: {value!r} given, a finite number is needed")
    return Fraction(found)


def _ends(given: Any, kind: Any, where: Where) -> Any:
    """Ends as an array of a format, or of its complex one; a single one as it is."""
    if not isinstance(given, (list, tuple, np.ndarray)):
        return given
    whole = isinstance(kind, Format) and complexes.has_complex(given)
    return asarray(given, dtype=formats.complex_of(kind) if whole else kind, device=where)


def _end(x: Any, which: int) -> Any:
    """The real or the imaginary part of an end."""
    if not isinstance(x, Viewed):
        return complexes.parts(x, "linspace")[which]
    if complex_arrays.is_complex(x):
        return complex_arrays.halves(x)[which]
    return zeros(x.shape, x.dtype, x.queue) if which else x


@as_(Spaced)
def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    format: Any = None,
    device: Where = None,
    *,
    dtype: Any = None,
    endpoint: bool = True,
    retstep: bool = False,
) -> Any:
    """*num* numbers at equal distances from *start* to *stop*, which is the last one (or left out).

    Element i is start + i (stop - start) / d, where d is num - 1, or num without the end point: the
    difference, the product, the quotient and the sum, each an operation of the format; where they
    leave its range, start (1 - i / d) + stop i / d. The last one is *stop* itself. Without a dtype
    and a device those of *start* or *stop*, if one is an array; between arrays with axes as many
    rows. *retstep*: a pair, with the distance. Between complex numbers each part so, in the complex
    format of a real one.
    """
    num, format = (50, num) if is_format(num) else (num, format)
    (count,) = integers((num,), "num", count=1)
    if count < 0:
        raise ArgumentError(f"linspace: num: {count} given, a number from 0 on is needed")
    known = next((x for x in (start, stop) if isinstance(x, Viewed)), None)
    if any(isinstance(x, (list, tuple, np.ndarray)) for x in (start, stop)):
        kind = chosen(format, dtype, None if known is None else known.dtype)
        where = known.queue if device is None and known is not None else device
        start, stop = (_ends(x, kind, where) for x in (start, stop))
        known = next(x for x in (start, stop) if isinstance(x, Viewed))
    if any(complex_arrays.is_complex(x) or complexes.has_complex(x) for x in (start, stop)):
        kind = chosen(format, dtype, None if known is None else known.dtype)
        form = formats.complex_of(kind if isinstance(kind, Format) else dtypes.default())
        where = device if device is not None or known is None else known.queue
        told: dict[str, Any] = {
            "dtype": form.component,
            "endpoint": endpoint,
            "retstep": True,
            "device": where,
        }
        ends = [linspace(_end(start, i), _end(stop, i), count, **told) for i in range(2)]
        both = [complex_arrays.joined(*pair) for pair in zip(*ends, strict=True)]
        return tuple(both) if retstep else both[0]
    usual, beside = _of_ends("linspace", (start, stop))
    kind = chosen(format, dtype, usual)
    if not isinstance(kind, Format):
        raise FormatError(
            f"linspace: {kind} asked for, a format is needed; astype({kind.name!r}) cuts it"
        )
    queue = opened(kind, beside if device is None else device)
    first, last = (_point(x, kind, queue) for x in (start, stop))
    index = wrapped(elementwise.as_dtype(plain.counted(0, 1, count, "int64", queue), kind))
    parts = Fraction(max(count - 1 if endpoint else count, 1))
    distance = last - first
    index = index.reshape(count, *[1] * distance.ndim)
    steps = index * distance
    found, step = first + steps / parts, distance / parts
    # What is captured reads nothing, and takes the way that holds for all.
    if is_recording() or not bool(elementwise.isfinite(steps[-1:]).all()):
        # In parts, where the difference or a product is beyond the range; equal ends stay.
        share, finite = index / parts, elementwise.isfinite(steps)
        there = elementwise.where(share == 0, first, first * (1 - share) + last * share)
        found = elementwise.where(finite, found, elementwise.where(first == last, first, there))
        step = elementwise.where(elementwise.isfinite(distance), step, last / parts - first / parts)
    if endpoint and count > 1:
        found[-1] = last
    return (found, step) if retstep else found


def _point(value: Any, kind: Format, queue: Queue) -> Any:
    if isinstance(value, Viewed):
        return wrapped(elementwise.as_dtype(value.planes, kind))
    limbs = base.scalar_limbs(kind, value, "linspace")
    return wrapped(upload(kind, [np.asarray(w, kind.dtype(i)) for i, w in enumerate(limbs)], queue))


# --- matrices -------------------------------------------------------------------------------------


@as_(Eye)
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    format: Any = None,
    device: Where = None,
    *,
    dtype: Any = None,
) -> Any:
    """Ones on a diagonal, the k-th above the main one, zeros elsewhere: ``eye(3, "qd")``."""
    n_cols, format = (None, n_cols) if is_format(n_cols) else (n_cols, format)
    rows, cols = _sizes((n_rows, n_rows if n_cols is None else n_cols), "eye")
    (shift,) = integers((k,), "k", count=1)
    found = zeros((rows, cols), chosen(format, dtype), device)
    view = found.planes
    first = shift if shift >= 0 else -shift * cols
    count = max(0, min(rows, cols - shift) if shift >= 0 else min(rows + shift, cols))
    if count:
        one = ones((), dtypes.of_view(view), found.queue)
        moves.copied(one.planes, view.view((count,), (cols + 1,), view.start + first))
    return found


@as_(Filled)
def identity(n: int, format: Any = None, device: Where = None, *, dtype: Any = None) -> Any:
    """The square matrix with ones on its diagonal."""
    return eye(n, dtype=chosen(format, dtype), device=device)


def _triangle(x: AnyArray, k: int, name: str) -> Any:
    x = manipulation.checked(x, "x")
    if x.ndim < 2:
        raise ShapeError(f"{name}: matrices are needed, shape {x.shape} given")
    rows, cols = x.shape[-2:]
    queue, (k,) = x.queue, integers((k,), f"{name}: k")
    row = wrapped(plain.counted(0, 1, rows, "int64", queue).view((rows, 1), (1, 0), 0))
    col = wrapped(plain.counted(0, 1, cols, "int64", queue))
    kept = row + k >= col if name == "tril" else row + k <= col
    return elementwise.where(kept, x, zeros((), x.dtype, queue))


@keeps
def tril(x: AnyArray, /, k: int = 0) -> Any:
    """x (..., m, n) with zeros above a diagonal, the k-th above the main one."""
    return _triangle(x, k, "tril")


@keeps
def triu(x: AnyArray, /, k: int = 0) -> Any:
    """x (..., m, n) with zeros below a diagonal, the k-th above the main one."""
    return _triangle(x, k, "triu")


@typed.as_(typed.Grids)
def meshgrid(*arrays: AnyArray, indexing: str = "xy", sparse: bool = False) -> list[Any]:
    """Coordinates of a grid from vectors of them: copies of one shape, an axis each.

    *indexing*: ``xy``, where the first two axes are exchanged, or ``ij``. *sparse*: the vectors,
    each along its axis, which broadcast to that shape.
    """
    choice("meshgrid: indexing:", indexing, ("xy", "ij"))
    arrays = tuple(manipulation.checked(x, f"arrays[{i}]") for i, x in enumerate(arrays))
    if any(x.ndim > 1 for x in arrays):
        raise ShapeError(f"meshgrid: vectors are needed, {[x.shape for x in arrays]} given")
    count = len(arrays)
    order = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    shape = tuple(arrays[i].size for i in order)
    found = []
    for i, x in enumerate(arrays):
        line = x.reshape([x.size if axis == i else 1 for axis in order])
        found.append(line.copy() if sparse else manipulation.broadcast_to(line, shape).copy())
    return found
