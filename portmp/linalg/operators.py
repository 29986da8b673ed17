"""What iterative methods multiply by: a matrix, a sparse matrix, or a function.

A function, or an object with SciPy's ``shape`` and ``matvec``, takes an Array (n,) and gives one.
Operators are scaled by powers of two, so that products neither underflow nor overflow.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from portmp import definition
from portmp.arrays import blas
from portmp.arrays.array import Array, zeros
from portmp.errors import ArgumentError, ShapeError, UnsupportedError
from portmp.formats import Format
from portmp.linalg.scaling import sizes
from portmp.linalg.sparse import csr_array
from portmp.routines import base
from portmp.routines.complexes import products as by_parts
from portmp.routines.elementwise.launch import scal
from portmp.routines.reduce import launch as reduce
from portmp.routines.sparse import launch as rows
from portmp.runtime.planes import Planes, allocate

Function = Callable[[Array], Array]
Matrix = Array | csr_array
Linear = Matrix | Any
"""A matrix, or a function of vectors, or an object with ``matvec``."""

NEAR = 24
"""Sizes within 2^-24 and 2^24 need no scaling: products with the matrix do not underflow."""


class Operator:
    """A linear map of vectors (n,): ``matrix``, or else ``function``."""

    def __init__(self, name: str, argument: str, matrix: Matrix | None, function: Function | None):
        self.called = f"{name}: {argument}"
        self.matrix, self.function = matrix, function

    def launch(self, x: Planes, alpha: base.ScalarLimbs, out: Planes) -> None:
        """out = alpha, limbs of a part, times the image of x."""
        zero = base.scalar_limbs(x.format.component, 0, "beta")
        ends: dict[str, Any] = {"alpha": alpha, "beta": zero}
        if isinstance(self.matrix, csr_array):
            rows.times(self.matrix.rows, x, out=out, **ends)
        elif self.matrix is None:
            scaled_by(alpha, self.image(Array(x)).planes, out)
        elif x.format.components > 1:
            by_parts.by_four(self.matrix.planes, x, partial(reduce.gemv, **ends), out)
        else:
            reduce.gemv(self.matrix.planes, x, out=out, **ends)

    def residual(self, x: Array, b: Array) -> Array:
        """b less the image of x."""
        if isinstance(self.matrix, csr_array):
            return self.matrix.times(x, alpha=-1, beta=1, y=b)
        if self.matrix is not None:
            return blas.gemv(self.matrix, x, alpha=-1, beta=1, y=b)
        found: Array = b - self.image(x)
        return found

    def image(self, x: Array) -> Array:
        """The function of x, checked."""
        assert self.function is not None
        try:
            found = self.function(x)
        except UnsupportedError as error:
            raise ArgumentError(
                f"{self.called}: it computes in NumPy, as SciPy's sums, products and matrices as "
                f"operators do; give a function of portmp's arrays ({error})"
            ) from error
        if not isinstance(found, Array):
            raise ArgumentError(
                f"{self.called}: the function gave {type(found).__name__}, an Array is needed"
            )
        if found.shape != x.shape:
            raise ShapeError(f"{self.called}: the function gave {found.shape} for {x.shape}")
        base.same(x.format, x=x.planes, **{"what the function gave": found.planes})
        return found

    @property
    def elements(self) -> Array | None:
        """The matrix' elements, where there is one."""
        return self.matrix.data if isinstance(self.matrix, csr_array) else self.matrix


def operator(a: Linear, b: Array, name: str, argument: str = "a") -> Operator:
    """*a* as an operator on vectors like b (n,), whose format a matrix may store short."""
    n = b.shape[0]
    if isinstance(a, (Array, csr_array)):
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ShapeError(f"{name}: {argument} must be square, {a.shape} given")
        if a.shape[0] != n:
            raise ShapeError(
                f"{name}: b {b.shape} does not fit {argument} {a.shape}: ({a.shape[0]},) is needed"
            )
        elements = a.data if isinstance(a, csr_array) else a
        if a.format.arithmetic not in (b.format, b.format.component):
            base.same(b.format, b=b.planes, **{argument: elements.planes})
        base.same_device(b.planes, "b", **{argument: elements.planes})
        return Operator(name, argument, a, None)
    # What SciPy's operators are made of; their public method makes NumPy's arrays of all.
    function = getattr(a, "_matvec", None) or getattr(a, "matvec", None)
    if function is None and callable(a):
        function = a
    if not callable(function):
        raise ArgumentError(
            f"{name}: {argument}: {type(a).__name__} given, an Array, a sparse.csr_array, a "
            "function, or an object with shape and matvec is needed"
        )
    shape = getattr(a, "shape", (n, n))
    if tuple(shape) != (n, n):
        raise ShapeError(
            f"{name}: b {b.shape} does not fit {argument} {tuple(shape)}: ({n}, {n}) is needed"
        )
    return Operator(name, argument, None, function)


class Scaled:
    """An operator times 2^-power, in a format: small products are enlarged before they are made,
    large ones reduced after, so that none underflow."""

    def __init__(self, of: Operator, power: int, like: Array) -> None:
        self.of, self.power = of, power
        self.enlarged = allocate(like.format, like.shape, like.queue) if power < 0 else None
        part = like.format.component
        self.factor = base.scalar_limbs(part, math.ldexp(1.0, -power), "alpha")
        self.one = base.scalar_limbs(part, 1, "alpha")

    def launch(self, x: Planes, out: Planes) -> None:
        """out = 2^-power times the image of x."""
        if self.enlarged is not None:
            self.of.launch(scaled_by(self.factor, x, self.enlarged), self.one, out)
        else:
            self.of.launch(x, self.factor if self.power else self.one, out)

    def times(self, x: Array) -> Array:
        """2^-power times the image of x."""
        out = allocate(x.format, x.shape, x.queue)
        self.launch(x.planes, out)
        return Array(out)

    def residual(self, x: Array, b: Array) -> Array:
        """b less 2^-power times the image of x."""
        if self.power >= 0:
            return scaled(self.of.residual(x, scaled(b, self.power)), -self.power)
        return self.of.residual(scaled(x, -self.power), b)


def scaled_by(factor: base.ScalarLimbs, x: Planes, out: Planes) -> Planes:
    """out, the real factor times x."""
    for part, to in zip(x.halves, out.halves, strict=True):
        scal(factor, part, to)
    return out


def scaled(x: Array, power: int) -> Array:
    """2^power x, in steps that the words hold."""
    most = 120 if x.format.word == "float32" else 1000
    while power:
        step = max(-most, min(most, power))
        x = blas.scal(math.ldexp(1.0, step), x)
        power -= step
    return x


def exponent_of(form: Format, size: float) -> int:
    """The exponent by which something of this size is scaled; 0 where it is near 1."""
    exponent = definition.norm_exponent(form.arithmetic.word, abs(size)) or 0
    return exponent if abs(exponent) > NEAR else 0


def power_of(a: Operator, b: Array) -> int:
    """The exponent of the largest element or, of a function, of what it makes of b."""
    if a.elements is not None:
        elements = a.elements
        largest = float(sizes(elements.astype(elements.format.arithmetic, copy=False)).max())
        return exponent_of(b.format, largest if elements.size else 0.0)
    return power_of_image(a, b)


def power_of_image(a: Operator, b: Array) -> int:
    """The exponent of the largest element of the image of b, b being scaled to about 1."""
    out = zeros(b.shape, b.format, b.queue).planes
    a.launch(normal(b)[0].planes, base.scalar_limbs(b.format.component, 1, "alpha"), out)
    return exponent_of(b.format, float(sizes(Array(out)).max()))


def normal(x: Array) -> tuple[Array, int]:
    """2^-e x and e, the exponent of the largest element; 0 where that is 0 or no number."""
    exponent = definition.norm_exponent(x.format.word, float(sizes(x).max())) or 0
    return blas.scal(math.ldexp(1.0, -exponent), x) if exponent else x, exponent
