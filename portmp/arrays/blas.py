"""The BLAS on arrays: gemm, gemv, dot, axpy, scal.

alpha and beta are exact scalars: Python numbers, decimal strings, or an Array of shape
(), which is read from the device (a wait).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload

import numpy as np

from portmp import definition
from portmp.arrays import complexes, composed, creation, elementwise, norm_bounds, products
from portmp.arrays.array import Array, Number, operand
from portmp.arrays.elementwise import sqrt
from portmp.arrays.foreign import A, as_they_are
from portmp.arrays.products import Bound, ProductBound, dot
from portmp.arrays.viewed import AnyArray, wrapped
from portmp.errors import ArgumentError, ShapeError
from portmp.formats.foreign import is_complex
from portmp.routines import base
from portmp.routines.bounds import certified, normwise, tight
from portmp.routines.complexes import launch
from portmp.routines.complexes import products as by_parts
from portmp.routines.elementwise import launch as routine
from portmp.routines.gemm.launch import shape_of as gemm_shape
from portmp.routines.gemm.schedule import Schedule
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2, of_both
from portmp.routines.products import methods
from portmp.routines.products.product import Asked, Product
from portmp.routines.reduce.launch import shape_of as gemv_shape
from portmp.routines.reduce.schedule import ReduceSchedule, SweepSchedule
from portmp.runtime.planes import Planes

__all__ = ["axpy", "explain", "gemm", "gemv", "last_product", "nrm2", "scal", "split2021"]

if TYPE_CHECKING:
    from portmp.routines.products.explained import Explanation


Factor = Number | complex | Array
"""alpha and beta."""


def scalar(like: Array, value: Factor, argument: str) -> base.ScalarLimbs:
    """Limbs of a scalar; an Array of shape () is read from the device."""
    if not isinstance(value, Array):
        return base.scalar_limbs(like.format, value, argument)
    base.same(like.format, **{"the array": like.planes, argument: value.planes})
    if value.shape != ():
        raise ShapeError(f"{argument}: one number expected, shape {value.shape} given")
    kind = np.dtype(like.format.word).type
    return tuple(kind(plane[()]) for plane in value.to_limbs())


Trans = bool | int | str
TURNED = {0: False, 1: True, 2: True, "N": False, "T": True, "C": True}
"""Whether op(a) is a transpose, by SciPy's numbers and letters; ..."""
CONJUGATED = (2, "C")
"""... and those of a conjugate one."""


def transposes(trans: Trans, argument: str) -> bool:
    """Whether op is a transpose; ArgumentError for what names no op."""
    if isinstance(trans, (int, str, np.bool_)) and trans in TURNED:
        return TURNED[trans]
    raise ArgumentError(f"{argument} {trans!r:.60} given, allowed are 0, 1, 2, 'N', 'T' and 'C'")


def turned(a: Array, trans: Trans, argument: str) -> Array:
    """op(a)."""
    if trans is False or not transposes(trans, argument):
        return a
    a = composed.conj(a) if trans in CONJUGATED else a
    return a.mT if a.ndim >= 2 else a


def _of_complex(
    of_real: Any,
    left: Array,
    right: Array,
    ends: tuple[Any, Any, Any, Any],
    rounding: str | None,
    bound: Any,
    options: dict[str, Any],
) -> Any:
    """alpha a b + beta c of complex operands, by *of_real*: gemm or gemv of real ones."""
    alpha, beta, c, out = ends
    name, addend = of_real.__name__, "c" if of_real is gemm else "y"
    kind: Any = elementwise.common_dtype(name, (left, right))
    a, b = (cast(Planes, products.in_kind(x.planes, kind)) for x in (left, right))
    factors = [
        base.scalar_limbs(kind, x.item() if isinstance(x, Array) else x, n)
        for x, n in ((alpha, "alpha"), (beta, "beta"))
    ]
    adds, vector = not base.is_number(factors[1], 0), of_real is gemv
    if adds and c is None:
        raise ShapeError(f"{name}: beta is not 0 but {addend} is missing")
    shape: tuple[int, ...] = (gemv_shape if vector else gemm_shape)(a.halves[0], b.halves[0])
    if adds and (found := operand(c, addend).shape) != shape:
        raise ShapeError(f"{name}: {addend}: shape {found} given, {shape} needed")
    exact = rounding is not None or bound is not False
    if exact:
        check_real(name, factors)
        a, b = (cast(Planes, elementwise.as_dtype(x, kind)) for x in (a, b))
        axis = -1 if vector else -2
        more: dict[str, Any] = {"alpha": alpha, "beta": beta}
        if adds:
            given = cast(Planes, elementwise.as_dtype(operand(c, addend).planes, kind))
            more[addend] = wrapped(by_parts.stacked(given.halves, axis))
        factor = wrapped(by_parts.rows(a)), wrapped(by_parts.stacked(b.halves, axis))
    if rounding is not None and bound is False:
        found = of_real(*factor, **more, **options, rounding=rounding)
        return elementwise.given_back(_joined(found, vector), out)
    product: Any = None
    if not base.is_number(factors[0], 0):
        plain = options.get("method", "direct")
        judged = plain == methods.AUTO and not vector and products.is_by_one(a, b)
        direct = plain == "direct" or (plain == methods.AUTO and not judged)

        def multiply(x: Planes, y: Planes, **how: object) -> Planes:
            found: Planes = of_real(wrapped(x), wrapped(y), **(options | how)).planes
            return found

        if direct:
            product = wrapped(by_parts.by_four(a, b, multiply))
        else:
            product = wrapped(by_parts.by_one(a, b, plain, multiply))
        product = product if base.is_number(factors[0], 1) else elementwise.multiply(alpha, product)
    if adds:
        whole = operand(c, addend)
        whole = whole if base.is_number(factors[1], 1) else elementwise.multiply(beta, whole)
        product = whole if product is None else elementwise.add(product, whole)
    if product is None:
        product = creation.zeros(shape, kind, left.queue)
    if bound is False:
        return elementwise.given_back(product.planes, out)
    value, error = of_real(*factor, **more, **options, rounding=rounding, bound=bound)
    near = zip(_split(value, vector), _split(error, vector), strict=True)
    found = product if rounding is None else wrapped(_joined(value, vector))
    return found, products.bounds(found, list(near))


def check_real(name: str, factors: Sequence[Any]) -> None:
    """ArgumentError for complex factors of a product that is rounded once or has a bound."""
    for limbs, which in zip(factors, ("alpha", "beta"), strict=True):
        if any(limbs[len(limbs) // 2 :]):
            raise ArgumentError(
                f"{name}: {which}: real with rounding or bound, a complex one given"
            )


def _split(z: Any, vector: bool) -> tuple[Planes, Planes]:
    """Both halves of a product whose rows are those of real and imaginary parts."""
    if vector:
        half = z.shape[0] // 2
        return z[:half].planes, z[half:].planes
    return by_parts.halves_of_rows(z.planes)


def _joined(z: Any, vector: bool) -> Planes:
    return launch.joined(*_split(z, vector))


class GemmOptions(TypedDict, total=False):
    """What gemm takes beside its factors and *bound*."""

    alpha: Factor
    beta: Factor
    c: AnyArray | None
    trans_a: Trans
    trans_b: Trans
    out: AnyArray | None
    accuracy: str
    schedule: Schedule | None
    method: str | Auto | Ozaki1 | Ozaki2
    rounding: str | None


class GemvOptions(TypedDict, total=False):
    """What gemv takes beside its factors and *bound*."""

    alpha: Factor
    beta: Factor
    y: AnyArray | None
    trans: Trans
    out: AnyArray | None
    accuracy: str
    schedule: ReduceSchedule | SweepSchedule | None
    rounding: str | None


@overload
def gemm(a: A, b: A, *, bound: Literal[False] = False, **options: Unpack[GemmOptions]) -> A: ...


@overload
def gemm(
    a: A, b: A, *, bound: Literal[True, "tight", "normwise"], **options: Unpack[GemmOptions]
) -> tuple[A, A]: ...


@as_they_are
def gemm(
    a: AnyArray,
    b: AnyArray,
    *,
    alpha: Factor = 1,
    beta: Factor = 0,
    c: Array | None = None,
    trans_a: Trans = False,
    trans_b: Trans = False,
    out: Array | None = None,
    accuracy: str = "accurate",
    schedule: Schedule | None = None,
    method: str | Auto | Ozaki1 | Ozaki2 = methods.AUTO,
    rounding: str | None = None,
    bound: ProductBound = False,
) -> Any:
    """alpha op(a) op(b) + beta c, with op the transpose where asked for.

    *trans_a*, *trans_b*: False, 0, ``"N"``; True, 1, ``"T"``; 2, ``"C"``, conjugated.
    a (..., m, k), b (..., k, n), c and out (..., m, n), one format, one device; batch
    axes broadcast. beta = 0 does not read c, alpha = 0 does not read a and b. Arrays of another
    library are taken as they are, and results are its arrays (docs/foreign_arrays.md).
    *accuracy* chooses the multiply-accumulate: ``accurate``, or ``fast``, which keeps one
    word less and takes about three quarters of the time. Error per element, with u the
    word's roundoff, N limbs, T the sum of |a_i b_i| and S_i the running sums of a slab of
    1024 products: accurate 1.001u^2 sum|S_i| + 9.001u^2 T (two limbs), 24u^3 T (three), 83u^4 T
    (four); fast 11.001u^2 sum|S_i| + 29.001u^2 T, 71u^3 sum|S_i| + 212u^3 T, 383u^4 sum|S_i| +
    1517u^4 T; plus 2u^N of the result, and that of add for each further slab: all proved
    (docs/bounds.md), and far above what random numbers give. One limb: a chain of fma.
    Beside its operands a product over more than 1024 steps takes memory for one more C
    where C is read or the format is stored short; on CPUs one whose A lies by columns for one
    more A.

    *method*: ``auto``, ``direct`` or the Ozaki scheme: ``ozaki2`` (or an ``Ozaki2`` with options),
    residues multiplied exactly by int8 matrix engines or, on CPUs and for ``qd``, as float64
    matrices; ``ozaki1`` (or an ``Ozaki1``), slices of a few bits whose products float64, float32 or
    int8 engines add up exactly. Rows of a and columns of b are rounded to K bits below their
    largest entry, K at least the format's (two fewer for one limb) unless fewer moduli or slices
    are asked for. Error per element, with alpha_i and beta_j the powers of two above the largest
    entries of the row and the column (and above the smallest normal number) and N limbs: N/2 2^-K
    (alpha_i sum|b| + beta_j sum|a|) + k (N/2 2^-K)^2 alpha_i beta_j, plus 2u^N of the result:
    entries far below the largest lose digits. Slices leave out products below 1.1 k s 2^-K alpha_i
    beta_j, s their number. An element whose row or column holds an infinity or NaN comes from
    leading limbs, as in direct. They take no *accuracy* and no *schedule*.

    ``auto`` (or an ``Auto`` with options), the default, makes each element of a large product by
    residues of 2 or 20 bits more than the format has where its row and column tell that this loses
    no more than 8u^2 T, 16u^3 T, 64u^4 T (by limbs) and 2u^N of the result, else directly. What an
    element is depends on no others, blocks or devices. Which rows and columns have elements of
    other kinds than the first is read (a wait). With *accuracy* ``fast`` or a *schedule*, of small
    products and of one limb it is ``direct``.

    *rounding*: ``correct`` adds up exactly, with alpha and beta as they were converted, and rounds
    once, as ``dot`` does.

    Complex operands: the four real products of their parts, or where these are judged, by integers
    or rounded once, one of twice the steps (docs/complex.md); then alpha and beta as elementwise
    products. With *rounding* or *bound* both are real. A bound's parts are those of the parts.

    With *bound* two arrays are returned, the product and, in words, what each element's error is
    not above: |result - exact| <= bound, with alpha and beta as they were converted. It holds
    whatever underflows; it is infinite or NaN where the result is not finite or may have lost its
    lower limbs near overflow. The product's bits are the same. ``True`` adds up what each rounding
    may have lost, so that it is far above the error of long products. The others take any
    *method*, *schedule* or *rounding*: ``normwise`` is the bounds above with |a_i| |b_j|, the
    Euclidean norms of a row and a column, for T; ``tight`` is at most a few percent above the
    error, unless that is nearly zero or, in large products, large entries of a row meet only small
    ones of the column. For those it needs float64. docs/digits.md says which to take, and
    docs/bounds.md what each costs.
    """
    left = turned(operand(a, "a"), trans_a, "gemm: trans_a")
    right = turned(operand(b, "b"), trans_b, "gemm: trans_b")
    if left.format.components > 1 or right.format.components > 1:
        options = {"accuracy": accuracy, "schedule": schedule, "method": method}
        ends = alpha, beta, c, out
        return _of_complex(gemm, left, right, ends, rounding, bound, options)
    how = certified.wanted(bound, left.format, normwise=True)
    limbs = scalar(left, alpha, "alpha"), scalar(left, beta, "beta")
    given = Product(left.planes, right.planes, *limbs, _planes(c, "c"), _planes(out, "out"))
    if how == certified.FOLLOWED:
        certified.check(accuracy, schedule, method, rounding)
        return _followed(given, accuracy, method)
    if how:
        given = _kept(given)
    value, computed = methods.of_matrices(
        given, accuracy=accuracy, schedule=schedule, method=method, rounding=rounding
    )
    return _with_bound(how, value, given, computed)


@overload
def gemv(a: A, x: A, *, bound: Literal[False] = False, **options: Unpack[GemvOptions]) -> A: ...


@overload
def gemv(
    a: A, x: A, *, bound: Literal[True, "tight", "normwise"], **options: Unpack[GemvOptions]
) -> tuple[A, A]: ...


@as_they_are
def gemv(
    a: AnyArray,
    x: AnyArray,
    *,
    alpha: Factor = 1,
    beta: Factor = 0,
    y: Array | None = None,
    trans: Trans = False,
    out: Array | None = None,
    accuracy: str = "accurate",
    schedule: ReduceSchedule | SweepSchedule | None = None,
    rounding: str | None = None,
    bound: ProductBound = False,
) -> Any:
    """alpha op(a) x + beta y for a (m, n), x (n,), y and out (m,). Other options as in gemm.

    The matrix may be in a storage format of the vectors': it is read short, all else is done and
    stored in the vectors' format.
    """
    matrix, vector = turned(operand(a, "a"), trans, "gemv: trans"), operand(x, "x")
    if matrix.format.components > 1 or vector.format.components > 1:
        options = {"accuracy": accuracy, "schedule": schedule}
        ends = alpha, beta, y, out
        return _of_complex(gemv, matrix, vector, ends, rounding, bound, options)
    how = certified.wanted(bound, vector.format, normwise=True)
    limbs = scalar(vector, alpha, "alpha"), scalar(vector, beta, "beta")
    given = Product(matrix.planes, vector.planes, *limbs, _planes(y, "y"), _planes(out, "out"))
    if how == certified.FOLLOWED:
        certified.check(accuracy, schedule, rounding=rounding)
        return _pair(*certified.product(given, accuracy, vector=True))
    if how:
        given = _kept(given)
    value, computed = methods.of_vector(
        given, accuracy=accuracy, schedule=schedule, rounding=rounding
    )
    return _with_bound(how, value, given, computed)


def _followed(given: Asked, accuracy: str, method: object) -> tuple[Array, Array]:
    """The product, and a bound from what the direct one's roundings may have lost."""
    if method == "direct" or accuracy != "accurate" or not methods.judged(given):
        return _pair(*certified.product(given, accuracy))
    near = certified.product(given._replace(out=None), accuracy)
    value, _ = methods.of_matrices(given)
    return _pair(value, certified.distance(value, near))


def _planes(value: object, argument: str) -> Planes | None:
    return None if value is None else operand(value, argument).planes


def _with_bound(
    how: str, value: Planes, given: Asked, computed: methods.Computed
) -> Array | tuple[Array, Array]:
    """The result, with the bound that is wanted beside it."""
    if not how:
        return Array(value)
    bound_of = tight.product if how == certified.TIGHT else normwise.product
    return _pair(value, bound_of(value, given, computed))


def _pair(value: Planes, bound: Planes) -> tuple[Array, Array]:
    return Array(value), Array(bound)


def _kept(given: Asked) -> Asked:
    """The operands, with a copy of the addend where the output takes its memory."""
    if given.c is None or given.out is None or not given.out.overlaps(given.c):
        return given
    return given._replace(c=routine.apply("copy", [given.c]))


@as_they_are
def axpy(alpha: Factor, x: A, y: A, *, out: A | None = None) -> A:
    """alpha x + y, elementwise."""
    left, right, target = operand(x, "x"), operand(y, "y"), _planes(out, "out")
    if left.format.components > 1 or right.format.components > 1 or is_complex(alpha):
        factor, given_out = cast("Array", alpha), cast("Array | None", out)
        return cast("A", elementwise.add(elementwise.multiply(factor, left), right, out=given_out))
    words = scalar(left, alpha, "alpha")
    return cast("A", Array(routine.axpy(words, left.planes, right.planes, target)))


@as_they_are
def scal(alpha: Factor, x: A, *, out: A | None = None) -> A:
    """alpha x."""
    given = operand(x, "x")
    if given.format.components > 1 or is_complex(alpha):
        factor, given_out = cast("Array", alpha), cast("Array | None", out)
        return cast("A", elementwise.multiply(factor, given, out=given_out))
    words = scalar(given, alpha, "alpha")
    return cast("A", Array(routine.scal(words, given.planes, _planes(out, "out"))))


def split2021(a: Array, b: Array, slices: int = 9, words: int = 1) -> Array:
    """The product a b in ``ts2021`` as the triple-single paper splits it (docs/papers.md).

    a (m, k) and b (k, n) are cut into *slices* float32 matrices each, 1 to 32. All pairs of these
    are multiplied by SGEMM and added in triple-single. Products with a last slice round, so that
    bits depend on the SGEMM; entries must stay below about 2^100, and far above 2^-126. *words* of
    2: by slices of double-single, the paper's future work: three are as good as twelve. Made to
    reproduce the paper: ``gemm``'s methods have no such limits. Raises ArgumentError, FormatError
    and ShapeError for what cannot be.
    """
    from portmp.routines.split2021 import launch as papers  # seldom wanted

    left, right = operand(a, "a"), operand(b, "b")
    return Array(papers.gemm(left.planes, right.planes, slices, words))


@overload
def nrm2(x: A, *, bound: Literal[False] = False) -> A: ...


@overload
def nrm2(x: A, *, bound: Literal[True, "tight"]) -> tuple[A, A]: ...


@as_they_are
def nrm2(x: AnyArray, *, bound: Bound = False) -> Any:
    """The Euclidean norm, scaled by a power of two so that squares neither overflow nor vanish.

    Definition: s = 2^-e with e the exponent of the largest |x_i|, then
    2^e sqrt(dot(s x, s x)); without scaling where that is zero, infinite or NaN. Reads
    one number back from the device. With *bound* two arrays are returned, as by gemm.
    """
    if complexes.is_complex(x):
        flat = [wrapped(half).ravel().planes for half in x.planes.halves]
        x, given = wrapped(by_parts.stacked(flat, -1)), bound
        return nrm2(x, bound=given) if given else nrm2(x)
    how = certified.wanted(bound, operand(x, "x").format)
    if how == certified.TIGHT:
        norm = nrm2(x)
        error = norm_bounds.of_rows(norm.reshape(1), x.reshape(1, x.size), tight=True)
        return norm, error.reshape(())
    largest = float(abs(operand(x, "x")).max().to_limbs()[0]) if x.size else 0.0
    flat = x.reshape(-1)
    exponent = definition.norm_exponent(x.format.word, largest)
    scaled = flat if exponent is None else scal(math.ldexp(1.0, -exponent), flat)
    if how:
        square, error = dot(scaled, scaled, bound=True)
        norm = _unscaled(square, exponent)
        pair = square.planes, error.planes
        return norm, Array(certified.root(norm.planes, largest, pair, x.size, exponent))
    return _unscaled(dot(scaled, scaled), exponent)


def _unscaled(square: Array, exponent: int | None) -> Array:
    """2^exponent sqrt(square)."""
    root: Array = sqrt(square)
    return root if exponent is None else scal(math.ldexp(1.0, exponent), root)


# --- how products are made ------------------------------------------------------------------------

ROUTINES = "gemm", "matmul"


def explain(
    routine: str, a: Array, b: Array, *, method: Any = "auto", accuracy: str = "accurate"
) -> "Explanation":
    """How ``gemm`` or ``matmul`` makes a b: method, bits, bound, and who multiplies.

    a (..., m, k) and b (..., k, n), matrices or stacks. The product is not made; where elements are
    judged they are, which waits for the device. Of complex numbers a real product is told that it
    is made of: that of matrices of both parts, or, of those of a part by a part, the one of real
    parts. ShapeError, FormatError, ArgumentError as there.
    """
    # Seldom wanted, and much to import.
    from portmp.routines.products import explained

    if routine not in ROUTINES:
        raise ArgumentError(f"routine: {routine!r} given; {' and '.join(ROUTINES)} are explained")
    left, right = operand(a, "a"), operand(b, "b")
    if left.ndim < 2 or right.ndim < 2:
        raise ShapeError(
            f"{routine}: shapes {left.shape} and {right.shape} given; products of matrices are "
            "explained, those with vectors are direct"
        )
    first, second = left.planes, right.planes
    whole = left.format if left.format.components > 1 else right.format
    both = left.format is right.format and method != "direct"
    if whole.components > 1:
        elementwise.common_dtype(routine, (left, right))
    if whole.components == 1:
        name = whole.name
    elif both and (method != methods.AUTO or products.is_by_one(first, second)):
        first, second = by_parts.rows(first), by_parts.columns(second)
        method, name = of_both(method), None
    else:
        (first, *_), (second, *_), name = first.halves, second.halves, whole.name
    one, zero = (base.scalar_limbs(whole.component, number, "alpha") for number in (1, 0))
    given = Product(first, second, one, zero, None, None)
    found = explained.product(given, method, accuracy)
    return replace(found, format=name) if name else found


def last_product() -> "Explanation | None":
    """How this thread's last product of matrices was made; None before the first one.

    Shares of elements are known where all have the first level.
    """
    from portmp.routines.products import explained

    return explained.last_one()
