"""Products of matrices and vectors: what they are made of, and what ends their elements."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from portmp.backends.base import Queue
from portmp.codegen.signature import Flag, Value
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import base
from portmp.runtime.planes import Host, Planes

Ends_co = TypeVar("Ends_co", bound=Planes | None, covariant=True)

SCALARS = (Value("alpha"), Value("beta"), Flag("alpha_is_one"), Flag("beta_kind"))
"""What kernels take that end an element, beside c and out."""


class Product(NamedTuple, Generic[Ends_co]):
    """alpha a b + beta c, for a (..., m, k), b (..., k, n), c and out (..., m, n).

    Or vectors b (k,), c and out (m,). c is not read where beta is 0. Of a product that was not
    checked yet c and out may be missing; of one that was they are there, c being any planes where
    it is not read.
    """

    a: Planes
    b: Planes
    alpha: base.ScalarLimbs
    beta: base.ScalarLimbs
    c: Ends_co
    out: Ends_co

    @property
    def steps(self) -> int:
        """k, over which products are added up; of a number, which has no product, 0."""
        return self.a.shape[-1] if self.a.shape else 0

    @property
    def depth(self) -> int:
        """The same, 0 where alpha is 0: a and b are not read."""
        return 0 if base.is_number(self.alpha, 0) else self.steps

    @property
    def adds(self) -> bool:
        """Whether beta c is added."""
        return not base.is_number(self.beta, 0)

    @property
    def ending(self) -> dict[str, Any]:
        """What ends an element, by the names that kernels have for it."""
        _, _, alpha, beta, c, out = self
        kind = 0 if base.is_number(beta, 0) else 1 if base.is_number(beta, 1) else 2
        flags = {"alpha_is_one": base.is_number(alpha, 1), "beta_kind": kind}
        return {"c": c, "out": out, "alpha": alpha, "beta": beta, **flags}

    def each(self, change: Callable[[Planes], Planes]) -> "Product[Ends_co]":
        """The product of what *change* makes of each operand."""
        a, b, alpha, beta, *ends = self
        more: Any = [one and change(cast(Planes, one)) for one in ends]
        return Product(change(a), change(b), alpha, beta, *more)

    def in_columns(self) -> "Product[Ends_co]":
        """With vectors as matrices of one column."""
        columns = self.each(base.column_of)
        return columns._replace(a=self.a)


Made = tuple[Format, Queue, tuple[int, ...], int, object]
"""A product that was made: its format, queue, shape and steps, and by which of gemm's methods:
options, None for the direct one, or ``correct``."""


class _Last(threading.local):
    """The last product of a thread; ``alike``: whether all elements are of the first level."""

    made: Made | None = None
    alike: bool = False


last = _Last()

Asked = Product[Planes | None]
"""A product that was not checked yet."""


def of_vectors(x: Planes, y: Planes, out: Planes | None = None) -> Asked:
    """The sum of x_i y_i as the product of a row and a vector."""
    one, zero = (base.scalar_limbs(x.format, number, "alpha") for number in (1, 0))
    row = x.view((1, *x.shape), (0, *x.strides), x.start)
    held = out and out.view((1,), (1,), out.start)
    return Product(row, y, one, zero, held, held)


def entries(given: Product[Planes], axes: int = 2) -> Iterator[Product[Planes]]:
    """The products of a batch one by one, as matrices; or smaller batches, with more *axes*."""
    batch = given.out.shape[:-2]
    if batch:
        given = given.each(lambda v: v.broadcast_to((*batch, *v.shape[-2:])))
    if given.out.ndim <= axes:
        yield given
        return
    for entry in np.ndindex(*given.out.shape[:-axes]):
        yield given.each(partial(base.matrix_of, entry=entry))


def vector_addend(given: Asked, shape: Sequence[int], what: str = "") -> Planes:
    """What beta multiplies of a matrix' product with vectors: y."""
    if given.c is None:
        raise ShapeError(f"{what}beta is not 0 but y is missing")
    base.same(given.b.format, x=given.b, y=given.c)
    if given.c.shape != shape:
        raise ShapeError(f"{what}y: shape {given.c.shape} given, {shape} needed")
    return given.c


def completed(
    given: Asked,
    shape: Sequence[int],
    addend: Callable[[Asked, Sequence[int]], Planes],
    b: str = "b",
    c: str = "c",
) -> Product[Planes]:
    """With an output of this *shape* and, where one is read, an *addend*; else that is the output.

    a and b were checked. *b*, *c*: what errors call these.
    """
    factors, out = given[:4], base.output(given.out, given.b, shape, **{"a": given.a, b: given.b})
    if not given.adds:
        return Product(*factors, out, out)
    added = addend(given, shape)
    base.refuse_shift(out, **{c: added})
    return Product(*factors, added, out)


def computed_by(reference: Callable[..., Host]) -> Callable[..., None]:
    """What computes products by a host *reference*, a matrix at a time.

    The reference is given a, b, alpha, beta, c or None where it is not read, and what operands
    follow those of a product.
    """

    def compute(*operands: Any) -> None:
        given: Product[Planes] = Product(*operands[:6])
        for one in entries(given):
            a, b, alpha, beta, c, out = one
            base.on_host(out, reference, a, b, alpha, beta, c if one.adds else None, *operands[6:])

    return compute
