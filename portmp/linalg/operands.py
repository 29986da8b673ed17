"""What functions of linear algebra take: matrices and stacks of them, methods of products."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from portmp import formats
from portmp.arrays import complexes, composed, creation, dtypes
from portmp.arrays import elementwise as elementwise_functions
from portmp.arrays.array import Array, operand
from portmp.arrays.manipulation import diagonal
from portmp.arrays.plain import PlainArray
from portmp.arrays.viewed import wrapped
from portmp.errors import (
    ArgumentError,
    LinAlgError,
    LinAlgWarning,
    MatrixShapeError,
    ShapeError,
    choice,
)
from portmp.formats import Format, losses
from portmp.formats import complexes as complex_numbers
from portmp.routines import base
from portmp.routines.complexes.products import stacked as stacked_parts
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.lu.reference import ratio
from portmp.routines.moves import launch as moves
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.choose import METHODS
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.triangular.steps import Method
from portmp.runtime.planes import Planes, allocate

By = str | Auto | Ozaki1 | Ozaki2
"""How large products within a factorisation are made: ``auto``, ``direct``, ``ozaki1``,
``ozaki2``."""


def values(value: object, argument: str, like: Array | None = None) -> Array:
    """*value*, an Array; lists, NumPy's arrays and integers become one of the default format.

    Or of the format, and on the device, of another. Complex numbers become those of these digits.
    Lists of arrays beside no other keep their format.
    """
    if like is None and isinstance(value, (list, tuple)) and creation.has_arrays(value):
        value = creation.array(value)
    if isinstance(value, (list, tuple, np.ndarray, PlainArray)):
        form = dtypes.default() if like is None else like.format
        if form.components == 1 and complex_numbers.has_complex(value):
            form = formats.complex_of(form)
        if like is not None and isinstance(value, np.ndarray):
            elementwise_functions.refuse_rounding(value, form, argument)
        where = None if like is None or isinstance(value, PlainArray) else like.queue
        made: Array = creation.array(value, form, where)
        return made
    return operand(value, argument)


def identity(shape: tuple[int, ...], like: Array | Planes, form: Format | None = None) -> Array:
    """A stack of matrices with ones on their diagonals, made where *like* is, in its format."""
    found: Array = creation.zeros(shape, form or like.format, like.queue)
    diagonal(found, 0, -2, -1)[...] = 1
    return found


def alike(a: object, b: object, routine: str, second: str = "b") -> tuple[Array, Array]:
    """Two operands in one format, as elementwise functions take them; *second*: b's name.

    Lists and NumPy's arrays take the other's; float32 beside float64 becomes float64.
    """
    if isinstance(a, Array) and isinstance(b, Array) and a.format is b.format:
        return a, b
    left = values(a, f"{routine}: a", b if isinstance(b, Array) else None)
    right = values(b, f"{routine}: {second}", left)
    form = dtypes.promoted(left.format, right.format, routine)
    return left.astype(form, copy=False), right.astype(form, copy=False)


def matrix(
    value: object, routine: str, *, square: bool = False, argument: str = "a", kinds: str = "f"
) -> Array:
    """*value*, an Array of one matrix or a stack of them in a format that computes.

    *kinds*: real numbers alone, or ``fc`` for complex ones, too.
    """
    a = values(value, f"{routine}: {argument}")
    if a.ndim < 2:
        raise MatrixShapeError(f"{routine}: {argument} needs two axes at least, {a.shape} given")
    if square and a.shape[-1] != a.shape[-2]:
        raise MatrixShapeError(f"{routine}: {argument} must be square, {a.shape} given")
    form = a.format if a.format.kind not in kinds else a.format.component
    base.computes(form, f"{routine}: {argument}")
    return a


def _is_complex(value: object) -> bool:
    return complexes.is_complex(value) or complex_numbers.has_complex(value)


def real_beside_complex(a: object, b: object, routine: str) -> tuple[Array, Array] | None:
    """A real matrix and complex right-hand sides, in one length; None where others are given."""
    if _is_complex(a) or not _is_complex(b):
        return None
    left = values(a, f"{routine}: a")
    right = values(b, f"{routine}: b", left)
    form = dtypes.promoted(left.format, right.format, routine)
    assert isinstance(form, Format)
    return left.astype(form.component, copy=False), right.astype(form, copy=False)


def by_parts(b: Array, solved: Callable[[Array], Any]) -> Any:
    """Complex solutions of real systems: what *solved* makes of both parts of b, side by side.

    Of a tuple so are the arrays among what it holds.
    """
    sides = b[..., None] if b.ndim == 1 else b
    n = sides.shape[-1]

    def whole(x: Any) -> Any:
        if not isinstance(x, Array):
            return x
        found = complexes.joined(x[..., :n], x[..., n:])
        return found[..., 0] if b.ndim == 1 else found

    made = solved(wrapped(stacked_parts(sides.planes.halves, -1)))
    return type(made)(*map(whole, made)) if isinstance(made, tuple) else whole(made)


def adjoint(x: Array) -> Array:
    """Matrices transposed, of complex numbers with the other sign of imaginary parts."""
    found: Array = composed.conj(x).mT
    return found


def right(
    value: object, a: Array, routine: str, rows: int, error: type[ShapeError] = ShapeError
) -> tuple[Array, bool]:
    """Right-hand sides of *rows* rows as (stacks of) matrices, and whether one vector was given.

    Raises *error* where they have not so many.
    """
    b = values(value, f"{routine}: b", a)
    base.same(a.format, a=a.planes, b=b.planes)
    vector = b.ndim == 1
    sides = Array(base.column_of(b.planes)) if vector else b
    if b.ndim < 1 or sides.shape[-2] != rows:
        raise error(f"{routine}: b {b.shape} does not fit a {a.shape}: {rows} rows are needed")
    return sides, vector


class Sides(NamedTuple):
    """Right-hand sides of systems: as in ``right``, and the stack's shape of the solutions."""

    sides: Array
    vector: bool
    batch: tuple[int, ...]


def sides_of(a: Array, b: object, routine: str, overwrite: bool = False) -> Sides:
    """The right-hand sides b of a x = b, once they fit the square matrices a.

    With *overwrite*, where a or b is to be overwritten, they must not share memory either.
    """
    sides, vector = right(b, a, routine, a.shape[-1])
    batch = batch_of(a, sides, routine)
    if overwrite:
        refuse_overlap(a, sides, routine)
    return Sides(sides, vector, batch)


def refuse(singular: np.ndarray[Any, Any], a: Array, name: str, argument: str = "a") -> None:
    """LinAlgError for the first matrix that is singular; a LinAlgWarning where one may well be,
    by the least of negative numbers, as ``lu.launch.solved`` has them.
    """
    if not singular.any():
        return
    bad = singular > 0
    entry = int(np.argmax(bad) if bad.any() else np.argmin(singular))
    where = in_stack(entry, a.shape[:-2])
    if bad.any():
        raise LinAlgError(
            f"{name}: {argument}: the matrix is singular{where}: the pivot of column "
            f"{singular[entry] - 1} is zero or NaN"
        )
    longer = formats.wider(a.format)
    found, limit = ratio(singular[entry], a.shape[-1], a.format)
    losses.warn(
        f"{name}: {argument}: the matrix is numerically singular{where}: a pivot is {found:.1e} of "
        f"what was subtracted from it, less than {limit:.1e}, and the result may have no right "
        "digits; lstsq and pinv have more"
        + (f", and {longer} has, if {argument} is made in it" if longer else ""),
        LinAlgWarning,
    )


def is_singular(a: Array) -> bool:
    """Whether one triangle has a zero on its diagonal; reads that from the device."""
    return bool((diagonal(a) == 0).any())


def refuse_singular(a: Array, name: str, argument: str = "a") -> None:
    """The same for triangles with a zero on their diagonals, which are read from the device."""
    zero = np.asarray(diagonal(a, 0, -2, -1) == 0)
    if zero.size:
        zero = zero.reshape(-1, a.shape[-1])
        refuse(np.where(zero.any(1), zero.argmax(1) + 1, 0), a, name, argument)


def one_system(a: Array, b: Array, routine: str, option: str) -> tuple[Array, Array, bool]:
    """a, and b as in ``right``, of a x = b where *option* takes no stacks: one square matrix."""
    single = matrix(a, routine, square=True, kinds="fc")
    if single.ndim != 2:
        raise ShapeError(f"{routine}: a {single.shape} given, {option} takes one matrix")
    sides, vector = right(b, single, routine, single.shape[0])
    if sides.ndim != 2:
        raise ShapeError(f"{routine}: b {b.shape} given, {option} takes one or two axes")
    return single, sides, vector


def batch_of(a: Array, b: Array, routine: str, second: str = "b") -> tuple[int, ...]:
    """The stack's shape of two operands' matrices; *second*: b's name."""
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"{routine}: stacks of a {a.shape} and {second} {b.shape} do not fit each other"
        ) from None


def in_stack(entry: int, batch: tuple[int, ...]) -> str:
    """Words for which matrix of a stack of shape *batch* is meant; none of a single one."""
    return f" in entry {entry} of the stack" if batch else ""


def stacked(a: Array, batch: tuple[int, ...] | None = None, *, own: bool = True) -> Planes:
    """Matrices as (entries, rows, columns); *own*: in memory of their own, to be overwritten."""
    planes = a.planes
    shape = (*(a.shape[:-2] if batch is None else batch), *a.shape[-2:])
    planes = planes.broadcast_to(shape)
    if not own and len(shape) == 3:
        return planes
    if not own and len(shape) == 2:
        return planes.view((1, *shape), (0, *planes.strides), planes.start)
    if own or (len(shape) > 3 and not planes.contiguous):
        if planes.format.components > 1:
            planes = moves.copied(planes)
        else:
            out = allocate(planes.format, shape, planes.queue)
            planes = elementwise.apply("copy", [planes], out)
    return planes.view_as((math.prod(shape[:-2]), *shape[-2:]))


def worked(
    a: Array, routine: str, argument: str, overwrite: bool, batch: tuple[int, ...] | None = None
) -> Planes:
    """``stacked`` in memory of their own or, with *overwrite*, where they lie."""
    if not overwrite:
        return stacked(a, batch)
    shape = (*(a.shape[:-2] if batch is None else batch), *a.shape[-2:])
    apart = all(step or count < 2 for count, step in zip(a.shape, a.planes.strides, strict=True))
    planes = stacked(a, own=False)
    if a.shape != shape or not apart or planes.buffers[0] is not a.planes.buffers[0]:
        raise ArgumentError(
            f"{routine}: overwrite_{argument} given: {argument} must have the result's shape "
            f"{shape} ({a.shape} given), no element twice, and of stacks of more than one axis "
            "contiguous ones"
        )
    return planes


def refuse_overlap(a: Array, b: Array, routine: str, second: str = "b") -> None:
    """ArgumentError where a and b, one of which is to be overwritten, share memory.

    *second*: b's name.
    """
    if a.planes.overlaps(b.planes):
        given = "overwrite_a or overwrite_b" if second == "b" else f"overwrite_{second}"
        raise ArgumentError(f"{routine}: {given} given, but a and {second} overlap")


def unstacked(planes: Planes, batch: tuple[int, ...], vector: bool = False) -> Array:
    """Dense matrices (entries, rows, columns) as a stack of shape *batch*; a column as *vector*."""
    sides = planes.shape[1:2] if vector else planes.shape[1:]
    found: Array = wrapped(planes.view_as((*batch, *sides)))
    return found


def by(method: By, form: Format, routine: str) -> Method:
    """The options of a method by its name or itself; None is the direct product."""
    if isinstance(method, (Auto, Ozaki1, Ozaki2)):
        ozaki.check_options(method.engine, method.workspace)
        try:
            hash(method)
        except TypeError:
            raise ArgumentError(
                f"{routine}: method: {method!r} given, its options are numbers and words"
            ) from None
        return method
    return METHODS[choice(f"{routine}: method", method, METHODS, ", Auto, Ozaki1, Ozaki2")]
