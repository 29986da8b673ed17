"""Cases of functions that are composed of other routines, with decisions on the host in between.

What they give by definition is what they give on the host device, whose routines are the reference.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from operator import attrgetter
from typing import Any, cast

import numpy as np

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Queue
from portmp.formats import Format, inputs
from portmp.routines.case import Case, In, hostile
from portmp.routines.ozaki.options import Auto
from portmp.routines.reference import Host
from portmp.runtime import planes
from portmp.verify.outcome import planes_of

Call = str | Callable[..., Any]
"""A function of arrays, or its name in portmp."""


def computed(
    call: Call,
    form: Format,
    queue: Queue,
    operands: Iterable[Any],
    options: Mapping[str, Any],
    placed: Callable[[mp.Array], Any] = lambda array: array,
) -> Host:
    """Limb planes of what a function of portmp's gives; of several results the first counts.

    *placed*: what is done to each operand, such as to cut it up.
    """

    def given(value: Any) -> Any:
        if isinstance(value, In):
            return placed(mp.Array(planes.upload(value.form, value.planes, queue)))
        if isinstance(value, list):
            return placed(mp.Array(planes.upload(form, value, queue)))
        return value

    function = attrgetter(call)(mp) if isinstance(call, str) else call
    result = function(*map(given, operands), **{n: given(value) for n, value in options.items()})
    return planes_of(result[0] if isinstance(result, tuple) else result)


def on_host(call: Call) -> Callable[..., Host]:
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


def definite(a: mp.Array) -> Any:
    """A positive definite matrix."""
    return a @ mp.conj(a).T + mp.eye(len(a), dtype=a.format, device=a.device)


def least_squares(a: mp.Array, b: mp.Array) -> Any:
    """The shortest of all solutions: two columns of a depend on others."""
    return mp.linalg.lstsq(mp.concat([a, a[:, :2] + a[:, 1:3]], axis=1), b)[0]


def certified(a: mp.Array, b: mp.Array) -> Any:
    """x, and beside it the proved bounds of its components' errors."""
    found = mp.linalg.solve(a, b, certify=True)
    return mp.stack([found.x, found.bound.astype(found.x.format)])


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


def two_slabs(a: mp.Array, b: mp.Array) -> Any:
    """Bounds of products of more than one slab."""
    known = a.format.accumulators
    pairs = [mp.gemm(a, b, accuracy=accuracy, bound=True) for accuracy in known]
    pairs.append(mp.gemm(a, b, alpha="0.3", beta="-1.7", c=a[:, :2], bound=True))
    return mp.concat([error.ravel() for _, error in pairs])


def bounds(bound: Any, a: mp.Array, b: mp.Array) -> Any:
    """Of products and, but for those by norms, of sums and norms."""
    pairs = [
        mp.gemm(a, b, bound=bound),
        mp.gemm(a, b, alpha="0.3", beta="-1.7", c=a[:, :3], bound=bound),
        mp.gemv(a, b[:, 0], bound=bound),
    ]
    if bound != "normwise":
        pairs += [
            mp.dot(a[0], b[:, 1], bound=bound),
            a.sum(axis=1, bound=bound),
            mp.nrm2(a[0], bound=bound),
            mp.linalg.norm(a, axis=1, bound=bound),
            mp.linalg.norm(a, 1, bound=bound),
        ]
    return mp.concat([error.ravel() for _, error in pairs])


BOUNDS: dict[str, Call] = {
    "followed": partial(bounds, True),
    "tight": partial(bounds, "tight"),
    "normwise": partial(bounds, "normwise"),
}
"""What each rounding may lose; distances from results with one limb more, or from exact ones; by
norms of rows and columns."""


def cases(form: Format) -> Iterator[Case]:
    """What ``portmp verify`` compares by digests beside the routines' own cases."""
    for name, case, operands, call in (*_bounded(form), *_of_values(form), *_of_complex(form)):
        yield Case(name, case, form, operands, call, on_host(call))


COMPLEX_PARTS = {formats.get(name).component.name for name in formats.COMPLEX}

Calls = Iterator[tuple[str, str, tuple[Host, ...], Call]]


def _bounded(form: Format) -> Calls:
    if not formats.has_bounds(form) or form.rounding != "nearest":
        return
    pair = tuple([inputs.ordinary(form, s, f"bounds {s}") for s in ((4, 71), (71, 3))])
    for name, call in BOUNDS.items():
        yield "bound", f"{name}-4x71x3", pair, call
    k = definition.SLAB + 77
    pair = tuple([inputs.ordinary(form, s, f"bounds {s}") for s in ((2, k), (k, 2))])
    yield "bound", f"two-slabs-2x{k}x2", pair, two_slabs
    # Rows and columns over the whole range.
    pair = tuple([inputs.wide(form, s, f"bounds {s}") for s in ((6, 9), (9, 3))])
    yield "bound", "normwise-wide-6x9x3", pair, BOUNDS["normwise"]


def _of_complex(form: Format) -> Calls:
    """Products of complex numbers, by four real ones, by one, and rounded once; running ones."""
    if form.components == 1:
        return

    def made(*shape: int) -> Host:
        seed = f"complex {shape}"
        parts = [inputs.ordinary(form.component, shape, f"{seed} {n}") for n in range(2)]
        return [plane for part in parts for plane in part]

    pair = made(4, 71), made(71, 3)
    yield "complex_gemm", "4x71x3", pair, "gemm"
    yield "complex_gemm", "correct-4x71x3", pair, lambda a, b: mp.gemm(a, b, rounding="correct")
    turned = made(4, 71), made(3, 71)
    yield "complex_gemm", "conjugated-4x71x3", turned, conjugated
    yield "complex_gemv", "4x71", (made(4, 71), made(71)), "gemv"
    yield "complex_dot", "vdot-301", (made(301), made(301)), "vdot"
    square = (made(4, 4),)
    yield "complex_eig", "vectors-4", square, lambda a: mp.linalg.eig(a).eigenvectors
    yield "complex_schur", "form-4", square, "linalg.schur"
    yield "complex_prod", "7x31", (made(7, 31),), lambda x: mp.prod(x, axis=1)
    yield "complex_scan", "prod-7x31", (made(7, 31),), lambda x: mp.cumulative_prod(x, axis=1)
    yield "fft", "other-2x97", (made(2, 97),), mp.fft.fft
    yield "fft", "real-2x97", (made(2, 49),), lambda x: mp.fft.irfft(x, 97, norm="ortho")
    yield (
        "fft",
        "cosines-2x49",
        (made(2, 49),),
        lambda x: mp.fft.idct(x.real, 2) + mp.fft.dst(x.imag),
    )
    linalg = mp.linalg
    yield "eigh", "ordinary-5", (made(5, 5),), "linalg.eigvalsh"
    yield "eigh", "vectors-5", (made(5, 5),), lambda a: linalg.eigh(a).eigenvectors
    if form.name in ("complex64", "cds"):
        yield "eigh", "blocks-65", (almost_diagonal(form, 65),), "linalg.eigvalsh"
    yield "svd", "ordinary-7x4", (made(7, 4),), "linalg.svdvals"
    yield "svd", "vectors-3x5", (made(3, 5),), right_vectors
    yield "lstsq", "deficient-5x7", (made(5, 5), made(5)), least_squares
    yield "qr", "pivoted-5", (made(5, 5),), lambda a: linalg.qr(a, "reduced", pivoting=True)[1]
    yield "pinv", "ordinary-5", (made(5, 5),), "linalg.pinv"
    for name, call in ITERATIVE.items():
        yield name, "ordinary-5", (made(5, 5), made(5)), call
    yield "minres", "real-matrix-5", (made(5, 5), made(5)), real_matrix
    linalg, (a, b) = mp.linalg, (made(9, 9), made(9, 2))
    yield "complex_inv", "9", (a,), "linalg.inv"
    yield "complex_det", "9", (a,), "linalg.det"
    yield "complex_solve", "real-9x2", (a, b), lambda a, b: linalg.solve(a.real, b)
    yield "complex_solve", "hermitian-9x2", (a, b), lambda a, b: linalg.solve(a, b, assume_a="her")
    yield "complex_solve", "symmetric-9x2", (a, b), lambda a, b: linalg.solve(a, b, assume_a="sym")
    yield from (
        ("complex_refined", "9x2", (a, b), lambda a, b: linalg.solve(a, b, refine=True).x),
        ("complex_certified", "9x2", (a, b), certified),
        ("complex_certified", "real-9x2", (a, b), lambda a, b: certified(a.real, b)),
        ("complex_expm", "4", square, "linalg.expm"),
        ("complex_syrk", "9x2", (b,), lambda b: linalg.syrk(b, alpha=2 - 1j)),
        ("complex_cov", "4x4", square, "cov"),
    )
    by_integers = made(9, 31), made(31, 7)
    residues = partial(mp.gemm, method="ozaki2")
    yield "complex_gemm", "ozaki2-9x31x7", by_integers, residues
    endless = [
        [plane for n in "ri" for plane in hostile(form.component, s, f"complex {s} {n}")]
        for s in ((6, 30), (30, 11))
    ]
    yield "complex_gemm", "hostile-6x11x30", tuple(endless), "gemm"
    yield "complex_gemm", "ozaki2-hostile-6x11x30", tuple(endless), residues
    yield "complex_gemm", "auto-9x31x7", by_integers, partial(mp.gemm, method=Auto(smallest=1))
    pair = made(9, 31), [plane[::-1] for plane in made(9, 31)]
    yield "complex_herk", "9x31", pair[:1], partial(mp.linalg.herk, lower=True)
    yield "complex_herk", "two-9x31", pair, her2k


def by_minres(a: mp.Array, b: mp.Array) -> Any:
    """Four steps with a sparse matrix, symmetric or made Hermitian."""
    if a.format.components > 1:
        a = a + mp.conj(a).T
    return mp.linalg.minres(mp.sparse.csr_array(a), b, maxiter=4).x


def real_matrix(a: mp.Array, b: mp.Array) -> Any:
    """The same with a real matrix and a complex right-hand side."""
    return by_minres(a.real + a.real.T, b)


ITERATIVE: dict[str, Call] = {
    "gmres": lambda a, b: mp.linalg.gmres(a, b, restart=3, maxiter=6).x,
    "minres": by_minres,
    "cg": lambda a, b: mp.linalg.cg(definite(a), b, maxiter=4).x,
}
"""Two rounds of three steps; four steps, of a sparse matrix and of a definite one."""


def her2k(a: mp.Array, b: mp.Array) -> Any:
    """(2 - i) a b^H + (2 + i) b a^H."""
    return mp.linalg.her2k(a, b, alpha=2 - 1j)


def right_vectors(a: mp.Array) -> Any:
    """Rows of Vh."""
    return cast("mp.linalg.SVD", mp.linalg.svd(a)).Vh


def conjugated(a: mp.Array, b: mp.Array) -> Any:
    """(2 - i) a b^H + i a b^T."""
    return mp.gemm(a, b, trans_b="C", alpha=2 - 1j, beta=1j, c=mp.gemm(a, b, trans_b="T"))


def _of_values(form: Format) -> Calls:
    if form.coded or form.components > 1:
        return
    linalg = mp.linalg
    a = inputs.ordinary(form, (5, 5), "eigh")
    yield "eigh", "ordinary-5", (a,), "linalg.eigvalsh"
    yield "eigh", "vectors-5", (a,), lambda a: linalg.eigh(a).eigenvectors
    if form.name in ("float32", "ds"):
        yield "eigh", "blocks-65", (almost_diagonal(form, 65),), "linalg.eigvalsh"
    yield "svd", "ordinary-7x4", (inputs.ordinary(form, (7, 4), "svd"),), "linalg.svdvals"
    for name, power in (("ordinary-4", 0), ("squared-4", 3)):
        yield "expm", name, (scaled(form, (4, 4), f"expm {name}", power),), "linalg.expm"
    a, b = (inputs.ordinary(form, (7, n), f"symmetric {n}") for n in (7, 2))
    yield "solve", "symmetric-7x2", (a, b), lambda a, b: linalg.solve(a, b, assume_a="sym")
    a = inputs.ordinary(form, (4, 4), "eigenvalues")
    if form.name in COMPLEX_PARTS:
        yield "eigvals", "real-4", (a,), lambda a: linalg.eigvals(a).real
        yield "eig", "vectors-4", (a,), lambda a: linalg.eig(a).eigenvectors
    yield "schur", "form-4", (a,), "linalg.schur"
    ones = [np.full((5, 5), 0.0 if i else 1.0, p.dtype) for i, p in enumerate(a)]
    yield "schur", "ones-5", (ones,), "linalg.schur"
    short = inputs.ordinary(form, (6, 6), "short columns")
    graded = [plane * np.ldexp(1.0, -10 * np.arange(6)).astype(plane.dtype) for plane in short]
    yield "svd", "graded-6", (graded,), "linalg.svdvals"

    b = inputs.ordinary(form, (5,), "iterative b")
    a = inputs.ordinary(form, (5, 5), "iterative a")
    mirrored = [np.triu(plane) + np.triu(plane, 1).T for plane in a]
    for name, call in ITERATIVE.items():
        yield name, "ordinary-5", (mirrored if name == "minres" else a, b), call
    yield "solve", "refined-5", (a, b), lambda a, b: linalg.solve(a, b, refine=True).x
    yield "lstsq", "deficient-5x7", (a, b), least_squares
    if formats.has_bounds(form):
        yield "solve", "certified-5", (a, b), certified
    yield "eigh", "generalised-5", (a,), lambda a: linalg.eigh(a + a.T, definite(a)).eigenvalues
    yield "qr", "pivoted-5", (a,), lambda a: linalg.qr(a, "reduced", pivoting=True)[1]
    for name in ("pinv", "inv", "det"):
        yield name, "ordinary-5", (a,), f"linalg.{name}"

    x, y = (inputs.ordinary(form, (7,), f"vector {name}") for name in "xy")
    a, b = (inputs.ordinary(form, (n, 4), f"contracted {n}") for n in (2, 3))
    yield "polyfit", "ordinary", (x, y), fitted
    yield "quantile", "ordinary", (x,), quantiles
    yield "choice", "ordinary", (x,), drawn
    yield "histogram", "ordinary", (x, y), densities
    yield "einsum", "ordinary", (a, b), contracted
    yield "scattered", "ordinary", (x,), scattered
