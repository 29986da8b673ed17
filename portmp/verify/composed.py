"""Cases of functions that are composed of other routines, with decisions on the host in between.

What they give by definition is what they give on the host device, whose routines are the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from operator import attrgetter
from typing import Any, Literal

import numpy as np

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Queue
from portmp.formats import Format, inputs
from portmp.routines.case import Case, In
from portmp.routines.reference import Host
from portmp.runtime import planes
from portmp.verify.outcome import planes_of


def computed(
    call: str | Callable[..., Any],
    form: Format,
    queue: Queue,
    operands: Iterable[Any],
    options: Mapping[str, Any],
) -> Host:
    """Limb planes of what a function of portmp's gives; of several results the first counts."""

    def given(value: Any) -> Any:
        if isinstance(value, In):
            return mp.Array(planes.upload(value.form, value.planes, queue))
        return mp.Array(planes.upload(form, value, queue)) if isinstance(value, list) else value

    function = attrgetter(call)(mp) if isinstance(call, str) else call
    result = function(*map(given, operands), **{n: given(value) for n, value in options.items()})
    return planes_of(result[0] if isinstance(result, tuple) else result)


def on_host(call: str | Callable[..., Any]) -> Callable[..., Host]:
    """The reference of a function of arrays: what the host device gives."""

    def reference(form: Format, *operands: Any) -> Host:
        return computed(call, form, discovery.get("host").queue, operands, {})

    return reference


def scaled(form: Format, shape: tuple[int, ...], seed: str, power: int) -> Host:
    """Recorded inputs times a power of two."""
    return [np.ldexp(p, power) for p in inputs.ordinary(form, shape, seed)]


def almost_diagonal(form: Format, n: int) -> Host:
    """Ordinary numbers, small ones beside a diagonal that ascends."""
    a = inputs.ordinary(form, (n, n), "eigh blocks")
    for i, plane in enumerate(a):
        plane[...] = plane * plane.dtype.type(2.0**-9)
        plane[range(n), range(n)] = 0 if i else np.arange(n) / 64
    return a


def symmetric_system(a: mp.Array, b: mp.Array) -> mp.Array:
    """x of a x = b for symmetric a."""
    return mp.linalg.solve(a, b, assume_a="sym")


def pivoted(a: mp.Array) -> Any:
    """R of a with its columns in the order of their lengths."""
    return mp.linalg.qr(a, "reduced", pivoting=True)[1]


def least_squares(a: mp.Array, b: mp.Array) -> Any:
    """The shortest of all solutions: two columns of a depend on others."""
    return mp.linalg.lstsq(mp.concat([a, a[:, :2] + a[:, 1:3]], axis=1), b)[0]


def definite(a: mp.Array) -> Any:
    """A positive definite matrix."""
    return a @ a.T + mp.eye(len(a), dtype=a.format, device=a.device)


def eigenvectors(a: mp.Array) -> Any:
    """Those of a symmetric matrix."""
    return mp.linalg.eigh(a).eigenvectors


def generalised(a: mp.Array) -> Any:
    """Eigenvalues of a pair."""
    return mp.linalg.eigh(a + a.T, definite(a)).eigenvalues


def conjugate_gradients(a: mp.Array, b: mp.Array) -> mp.Array:
    """x after four steps."""
    return mp.linalg.cg(definite(a), b, maxiter=4).x


def refined(a: mp.Array, b: mp.Array) -> mp.Array:
    """x from factors of one limb, or of as many as they take."""
    return mp.linalg.solve(a, b, refine=True).x


def certified(a: mp.Array, b: mp.Array) -> Any:
    """x, and beside it the proved bounds of its components' errors."""
    found = mp.linalg.solve(a, b, certify=True)
    return mp.stack([found.x, found.bound.astype(a.format)])


def real_parts(a: mp.Array) -> mp.Array:
    """Of eigenvalues."""
    return mp.linalg.eigvals(a).real


def generalised_minimal_residuals(a: mp.Array, b: mp.Array) -> mp.Array:
    """x after two rounds of three steps."""
    return mp.linalg.gmres(a, b, restart=3, maxiter=6).x


def minimal_residuals(a: mp.Array, b: mp.Array) -> mp.Array:
    """x after four steps with a sparse symmetric a."""
    return mp.linalg.minres(mp.sparse.csr_array(a), b, maxiter=4).x


def fitted(x: mp.Array, y: mp.Array) -> Any:
    """A parabola's coefficients, and below them their covariances."""
    found, spread = mp.polyfit(x, y, 2, cov=True)
    return mp.concat([found[None], spread])


def quantiles(x: mp.Array) -> Any:
    """Between elements and at them."""
    shares = [Fraction(1, 3), Fraction(9, 10)]
    return mp.concat([mp.quantile(x, shares, method=m) for m in ("linear", "weibull", "lower")])


def drawn(x: mp.Array) -> Any:
    """Elements by chance, with and without coming back, and by weights."""
    rng = mp.random.default_rng(26)
    weights = [Fraction(1, 8), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), 0, 0, 0]
    parts = [rng.choice(x, 5), rng.choice(x, 4, replace=False), rng.choice(x, 3, p=weights)]
    return mp.concat(parts)


def densities(x: mp.Array, weights: mp.Array) -> Any:
    """A histogram's, and the edges of its bins."""
    return mp.concat(mp.histogram(x, 3, density=True, weights=abs(weights)))


def contracted(a: mp.Array, b: mp.Array) -> Any:
    """Einstein's sum over matrices that share an axis, and over one alone."""
    return mp.concat([mp.einsum("ij,kj->ki", a, b).ravel(), mp.einsum("ij,ij->i", a, a)])


def scattered(x: mp.Array) -> Any:
    """Added in their order at places that come several times; running extrema."""
    sums = mp.zeros_like(x[:3])
    mp.add.at(sums, [0, 2, 0, 0, 2, 1, 0], x)
    return mp.concat([sums, mp.maximum.accumulate(x), mp.nanvar(x)[None]])


def followed(a: mp.Array, b: mp.Array) -> Any:
    """Bounds of what each rounding may lose: of products, sums and norms."""
    return _bounds(a, b, True)


def tight(a: mp.Array, b: mp.Array) -> Any:
    """Distances from results with one limb more, or from exact ones."""
    return _bounds(a, b, "tight")


def normwise(a: mp.Array, b: mp.Array) -> Any:
    """Bounds by norms of rows and columns: of products."""
    return mp.concat([error.ravel() for _, error in _products(a, b, "normwise")])


def two_slabs(a: mp.Array, b: mp.Array) -> Any:
    """Bounds of products of more than one slab."""
    known = a.format.accumulators
    pairs = [mp.gemm(a, b, accuracy=accuracy, bound=True) for accuracy in known]
    pairs.append(mp.gemm(a, b, alpha="0.3", beta="-1.7", c=a[:, :2], bound=True))
    return mp.concat([error.ravel() for _, error in pairs])


def _bounds(a: mp.Array, b: mp.Array, bound: Literal[True, "tight"]) -> Any:
    pairs = [
        *_products(a, b, bound),
        mp.dot(a[0], b[:, 1], bound=bound),
        a.sum(axis=1, bound=bound),
        mp.nrm2(a[0], bound=bound),
        mp.linalg.norm(a, axis=1, bound=bound),
        mp.linalg.norm(a, 1, bound=bound),
    ]
    return mp.concat([error.ravel() for _, error in pairs])


def _products(
    a: mp.Array, b: mp.Array, bound: Literal[True, "tight", "normwise"]
) -> list[tuple[mp.Array, mp.Array]]:
    return [
        mp.gemm(a, b, bound=bound),
        mp.gemm(a, b, alpha="0.3", beta="-1.7", c=a[:, :3], bound=bound),
        mp.gemv(a, b[:, 0], bound=bound),
    ]


def cases(form: Format) -> Iterator[Case]:
    """What ``portmp verify`` compares by digests beside the routines' own cases."""
    if formats.has_bounds(form) and form.rounding == "nearest":
        a, b = (inputs.ordinary(form, s, f"bounds {s}") for s in ((4, 71), (71, 3)))
        for call in (followed, tight, normwise):
            name = call.__name__.replace("_", "-")
            yield Case("bound", f"{name}-4x71x3", form, (a, b), call, on_host(call))
        k = definition.SLAB + 77
        a, b = (inputs.ordinary(form, s, f"bounds {s}") for s in ((2, k), (k, 2)))
        yield Case("bound", f"two-slabs-2x{k}x2", form, (a, b), two_slabs, on_host(two_slabs))
        # Rows and columns over the whole range.
        a, b = (inputs.wide(form, s, f"bounds {s}") for s in ((6, 9), (9, 3)))
        yield Case("bound", "normwise-wide-6x9x3", form, (a, b), normwise, on_host(normwise))
    if form.coded:
        return
    a = inputs.ordinary(form, (5, 5), "eigh")
    yield Case("eigh", "ordinary-5", form, (a,), "linalg.eigvalsh", on_host("linalg.eigvalsh"))
    yield Case("eigh", "vectors-5", form, (a,), eigenvectors, on_host(eigenvectors))
    if form.name in ("float32", "ds"):
        a = almost_diagonal(form, 65)
        yield Case("eigh", "blocks-65", form, (a,), "linalg.eigvalsh", on_host("linalg.eigvalsh"))
    a = inputs.ordinary(form, (7, 4), "svd")
    yield Case("svd", "ordinary-7x4", form, (a,), "linalg.svdvals", on_host("linalg.svdvals"))
    for name, power in (("ordinary-4", 0), ("squared-4", 3)):
        a = scaled(form, (4, 4), f"expm {name}", power)
        yield Case("expm", name, form, (a,), "linalg.expm", on_host("linalg.expm"))
    a, b = (inputs.ordinary(form, (7, n), f"symmetric {n}") for n in (7, 2))
    method = symmetric_system
    yield Case("solve", "symmetric-7x2", form, (a, b), method, on_host(method))
    a = inputs.ordinary(form, (4, 4), "eigenvalues")
    yield Case("eigvals", "real-4", form, (a,), real_parts, on_host(real_parts))
    yield Case("schur", "form-4", form, (a,), "linalg.schur", on_host("linalg.schur"))
    ones = [np.full((5, 5), 0.0 if i else 1.0, p.dtype) for i, p in enumerate(a)]
    yield Case("schur", "ones-5", form, (ones,), "linalg.schur", on_host("linalg.schur"))
    short = inputs.ordinary(form, (6, 6), "short columns")
    graded = [plane * np.ldexp(1.0, -10 * np.arange(6)).astype(plane.dtype) for plane in short]
    yield Case("svd", "graded-6", form, (graded,), "linalg.svdvals", on_host("linalg.svdvals"))
    b = inputs.ordinary(form, (5,), "iterative b")
    a = inputs.ordinary(form, (5, 5), "iterative a")
    mirrored = [np.triu(plane) + np.triu(plane, 1).T for plane in a]
    solvers: tuple[tuple[str, str, Host, Callable[..., Any]], ...] = (
        ("gmres", "ordinary-5", a, generalised_minimal_residuals),
        ("minres", "ordinary-5", mirrored, minimal_residuals),
        ("cg", "ordinary-5", a, conjugate_gradients),
        ("solve", "refined-5", a, refined),
        ("lstsq", "deficient-5x7", a, least_squares),
    )
    if formats.has_bounds(form):
        solvers = (*solvers, ("solve", "certified-5", a, certified))
    for name, case, matrix, method in solvers:
        yield Case(name, case, form, (matrix, b), method, on_host(method))
    factors: tuple[tuple[str, str, str | Callable[..., Any]], ...] = (
        ("eigh", "generalised-5", generalised),
        ("qr", "pivoted-5", pivoted),
        ("pinv", "ordinary-5", "linalg.pinv"),
        ("inv", "ordinary-5", "linalg.inv"),
        ("det", "ordinary-5", "linalg.det"),
    )
    for name, case, factor in factors:
        yield Case(name, case, form, (a,), factor, on_host(factor))
    x, y = (inputs.ordinary(form, (7,), f"vector {name}") for name in "xy")
    a, b = (inputs.ordinary(form, (n, 4), f"contracted {n}") for n in (2, 3))
    functions: tuple[tuple[str, Callable[..., Any], tuple[Host, ...]], ...] = (
        ("polyfit", fitted, (x, y)),
        ("quantile", quantiles, (x,)),
        ("choice", drawn, (x,)),
        ("histogram", densities, (x, y)),
        ("einsum", contracted, (a, b)),
        ("scattered", scattered, (x,)),
    )
    for name, function, operands in functions:
        yield Case(name, "ordinary", form, operands, function, on_host(function))
