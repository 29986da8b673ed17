"""Sparse matrices of complex numbers, and iterative methods with them."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from slow import mostly_slow
from tiers import check

import portmp as mp
from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen import kernel_spec
from portmp.compilers.base import Compiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.routines import base, compilation_units
from portmp.routines.sparse import launch

HOST = "host"
FORMATS = mostly_slow(formats.COMPLEX, ("complex64", "cdd"), "the same steps in other words")
LENGTHS = (0, 3, 8, 1, definition.SPARSE_CHUNK + 21, 40, 9)
WIDTH = 41


def numbers(form: str, shape: tuple[int, ...], seed: int, device: Any = HOST) -> Any:
    """Real or complex numbers in (-1, 1) with all limbs."""
    part = formats.get(form).component.name
    rng = mp.random.default_rng(seed)
    real, imaginary = (rng.uniform(-1, 1, shape, format=part, device=device) for _ in range(2))
    if formats.get(form).components == 1:
        return real
    return real + imaginary * mp.array(1j, form, device)


def pattern(lengths: tuple[int, ...] = LENGTHS) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    columns = [np.sort(rng.choice(WIDTH, n, replace=n > WIDTH)) for n in lengths]
    return np.concatenate(columns).astype(np.int64), np.concatenate([[0], np.cumsum(lengths)])


def same(x: Any, y: Any) -> bool:
    """Whether two arrays have the same bits."""
    pairs = zip(x.to_limbs(), y.to_limbs(), strict=True)
    return x.format is y.format and all(p.tobytes() == q.tobytes() for p, q in pairs)


def multiplied(data: Any, x: Any, alone: bool | None = None) -> Any:
    """The product of rows with a vector or a matrix, by the kernels of CPUs or of GPUs."""
    columns, starts = pattern()
    rows = launch.rows_of(data.planes, starts, columns, WIDTH)
    one, zero = (base.scalar_limbs(x.format.component, n, "alpha") for n in (1, 0))
    return mp.Array(launch.times(rows, x.planes, alpha=one, beta=zero, alone=alone))


@pytest.mark.parametrize("form", mostly_slow(formats.COMPLEX, ("cdd",), "kernels are compiled"))
def test_products_are_four_real_ones(form: str, device: Device) -> None:
    """Bit for bit, by each kernel and by the reference; two beside a real operand."""
    data = numbers(form, (sum(LENGTHS),), 1, device)
    data[5], data[17] = complex(np.inf, 1), complex(0, np.nan)
    x = numbers(form, (WIDTH, 3), 2, device)
    pairs = [(data, x), (data, x.real), (data.real, x), (data, x[:, 1])]
    for a, b in pairs:
        both = [multiplied(c, d) for c in _halves(a) for d in _halves(b)]
        if len(both) == 4:
            both = [both[0] - both[3], both[1] + both[2]]
        found = multiplied(a, b)
        assert found.format.name == form
        assert same(found.real, both[0]) and same(found.imag, both[1])
        assert same(found, multiplied(a, b, True)) and same(found, multiplied(a, b, False))
        assert same(found.to(HOST), multiplied(a.to(HOST), b.to(HOST)))


def _halves(x: Any) -> list[Any]:
    return [x.real, x.imag] if x.format.components > 1 else [x]


@pytest.mark.parametrize("form", FORMATS)
def test_products_are_near_exact_ones(form: str) -> None:
    """Within 200 u^N of the sums of magnitudes, in each part: with a, a^T and a^H."""
    lengths = (0, 3, 8, 1, 17, 40, 0, 9, 2)
    columns, starts = pattern(lengths)
    unit = Fraction(formats.get(form).unit_roundoff)
    a = mp.sparse.csr_array((numbers(form, (80,), 1), columns, starts), shape=(9, WIDTH))
    dense = _exactly(a.toarray())
    for trans, matrix in (("N", dense), ("T", dense.T), ("C", _conjugates(dense.T))):
        x = numbers(form, (matrix.shape[1],), 2)
        right = _exactly(x)
        found = _exactly(a.times(x, trans=trans))
        for row, value in zip(matrix, found, strict=True):
            terms = [u * v for u, v in zip(row, right, strict=True) if u.real or u.imag]
            for of in ("real", "imag"):
                exact = sum((getattr(t, of) for t in terms), Fraction(0))
                size = sum(
                    (
                        abs(Fraction(u.real) * v.real)
                        + abs(Fraction(u.imag) * v.imag)
                        + abs(Fraction(u.real) * v.imag)
                        + abs(Fraction(u.imag) * v.real)
                        for u, v in zip(row, right, strict=True)
                    ),
                    Fraction(0),
                )
                assert abs(getattr(value, of) - exact) <= 200 * unit * size


def _exactly(x: Any) -> Any:
    """Exact complex numbers, as an array of objects."""
    parts = [np.array(part.to_fractions(), dtype=object) for part in (x.real, x.imag)]
    made = [Exact(u, v) for u, v in zip(parts[0].ravel(), parts[1].ravel(), strict=True)]
    found = np.empty(len(made), dtype=object)
    found[:] = made
    return found.reshape(x.shape)


class Exact:
    """A complex number of fractions."""

    def __init__(self, real: Any, imag: Any) -> None:
        self.real, self.imag = Fraction(real), Fraction(imag)

    def __mul__(self, other: Exact) -> Exact:
        real = self.real * other.real - self.imag * other.imag
        return Exact(real, self.real * other.imag + self.imag * other.real)


def _conjugates(x: Any) -> Any:
    found = [Exact(v.real, -v.imag) for v in x.ravel()]
    made = np.empty(len(found), dtype=object)
    made[:] = found
    return made.reshape(x.shape)


def test_transposes_factors_and_parts(device: Device) -> None:
    """As dense matrices have them; alpha and beta real in the kernel, complex ones elementwise."""
    columns, starts = pattern((2, 0, 7, 30))
    data = numbers("cdd", (39,), 1, device)
    a = mp.sparse.csr_array((data, columns, starts), shape=(4, WIDTH))
    dense, x, y = a.toarray(), numbers("cdd", (WIDTH,), 2, device), numbers("cdd", (4,), 3, device)
    assert same(a.T.toarray(), dense.T.copy()) and same(a.conj().data, mp.conj(data))
    assert (a.H.toarray() == mp.conj(dense).T).all() and a.H is a.H
    assert same(a.real.toarray(), dense.real.copy()) and same(a.imag.toarray(), dense.imag.copy())
    assert same(abs(a).data, abs(data)) and a.real.conj() is not a.conj()
    for trans in (2, "C"):
        assert same(a.times(y, trans=trans), a.H @ y)
    assert same(y @ a, a.T @ y) and same(a.times(y, trans="T"), a.T @ y)
    rows = mp.stack([y, 2 * y])
    assert same(rows @ a, (a.T @ rows.T).T)
    product = a @ x
    assert same(a.times(x, alpha=-1, beta=1, y=y), y - product)
    assert same(a.times(x, alpha="0.3", beta="-1.7", y=y), "0.3" * product + "-1.7" * y)
    assert same(a.times(x, alpha=2 - 1j, beta=1j, y=y), (2 - 1j) * product + 1j * y)
    assert same(a.times(x, alpha=1j), 1j * product)
    out = mp.zeros(4, "cdd", device)
    assert same(a.times(x, alpha=1j, beta=2, y=y, out=out), 1j * product + 2 * y)
    assert same(out, 1j * product + 2 * y)
    assert same(a.times(x, beta=1, y=y.real), product + y.real)
    assert same(a.real @ x, (a.real @ x.real) + (a.real @ x.imag) * mp.array(1j, "cdd", device))
    short = a.real.astype("ddin64b")
    assert same(short @ x, short.astype("dd") @ x)
    assert same((a * 2j).data, data * 2j) and same((a.real * 1j).data, data.real * 1j)
    assert same((a / 2j).data, data / 2j) and same(a.diagonal(), mp.diag(dense).copy())


def test_where_they_come_from(device: Device, tmp_path: Path) -> None:
    """SciPy's, dense ones, texts, mpmath's, Matrix Market's; and back."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random((7, 5)) < 0.4, rng.random((7, 5)) + 1j * rng.random((7, 5)), 0)
    values[2, 3] = 1j  # its real part is not stored as nothing
    a = mp.sparse.csr_array(scipy.sparse.csc_array(values), "cqd", device)
    assert a.format.name == "cqd" and (a.toarray().to_numpy() == values).all()
    assert a.to_scipy().dtype == np.complex128 and (a.to_scipy().toarray() == values).all()
    for dense in (mp.array(values, "cdd", device), values):
        again = mp.sparse.csr_array(dense, device=device)
        assert again.nnz == np.count_nonzero(values) and again.format.name == "cdd"
        assert (again.toarray().to_numpy() == values).all()
    texts = mp.sparse.csr_array((["0.1+0.2j", "(0, 0.3)"], [1, 0], [0, 1, 2]), "cqd", device)
    wanted = mp.array([[0, "0.1+0.2j"], ["0.3j", 0]], "cqd", device)
    assert same(texts.toarray(), wanted)
    exact = [mpmath.mpc("0.25", "-3"), 2]
    found = mp.sparse.csr_array((exact, ([1, 0], [0, 1])), "ctd", device)
    assert found.toarray().tolist() == [[0, 2], [0.25 - 3j, 0]]
    assert mp.sparse.csr_array(texts.real, "cdd").format.name == "cdd"
    assert "2 x 2, 2 elements in cqd" in repr(texts)
    file = tmp_path / "a.mtx"
    file.write_text(
        "%%MatrixMarket matrix coordinate complex hermitian\n3 3 3\n1 1 2 0\n2 1 0.1 0.2\n3 3 1 0\n"
    )
    read = mp.sparse.csr_array(mp.load(file, "cdd", device))
    assert read.nnz == 4 and (read.H.toarray() == read.toarray()).all()
    assert same(read.toarray()[1, 0], mp.array("0.1+0.2j", "cdd", device))


def test_bad_use(device: Device) -> None:
    """Each argument is named, with what is allowed."""
    make = mp.sparse.csr_array
    a = make(([1j, 2], [0, 1], [0, 1, 2]), "cdd", device)
    x = mp.array([1, 2j], "cdd", device)
    cases: list[tuple[type[Exception], str, Any]] = [
        (FormatError, "a: format cdd, x has ctd", lambda: a @ x.astype("ctd")),
        (FormatError, "a: format cdd, x has td", lambda: a @ x.real.astype("td")),
        (FormatError, "x.real", lambda: a.astype("dd")),
        (FormatError, "complex numbers are not", lambda: make(([1j], [0], [0, 1]), "dd", device)),
        (FormatError, "out: dd given, the result is cdd", lambda: a.times(x, out=x.real)),
        (ShapeError, "beta is not 0 but y is missing", lambda: a.times(x, beta=1j)),
        (ShapeError, "beta is not 0 but y (1,), (2,) needed", lambda: a.times(x, beta=1j, y=x[:1])),
        (ShapeError, "beta is not 0 but y is missing", lambda: a.times(x, beta=1)),
        (ArgumentError, "allowed are 0, 1, 2, 'N', 'T' and 'C'", lambda: a.times(x, trans="H")),
        (ArgumentError, "out: overlaps x", lambda: a.times(x.real, out=x)),
        (ShapeError, "a must be square", lambda: mp.linalg.gmres(a.toarray()[:1], x)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=re.escape(message)):
            call()


@pytest.mark.parametrize("form", mostly_slow(["cdd", "cqs"], ["cdd"], "texts differ alike"))
@pytest.mark.parametrize("tier", ["nvrtc", "hiprtc"])
def test_kernels_compile_for_gpus(tier: str, form: str) -> None:
    """For vectors and for matrices, also beside real ones, without a device."""
    check(tier)
    compiler, on, arch = GPUS[tier]
    for name in ("csr", "csr_columns"):
        unit = compilation_units.find(form, name)
        assert compiler().compile(kernel_spec.rendered(unit, on).text, arch)
    part = formats.get(form).component.name
    unit = (launch.kernel_spec(part, form, 128, False),)
    assert compiler().compile(kernel_spec.rendered(unit, on).text, arch)


GPUS: dict[str, tuple[type[Compiler], str, str]] = {
    "nvrtc": (NvrtcCompiler, "cuda", "sm_90"),
    "hiprtc": (HiprtcCompiler, "rocm", "gfx90a"),
}


# --- iterative methods ----------------------------------------------------------------------------

N = 14
RNG = np.random.default_rng(62)
BASIS, _ = np.linalg.qr(RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N)))
SIZES = np.linspace(1, 5, N)
MATRICES = {
    "cg": (BASIS * SIZES) @ BASIS.conj().T,
    "minres": (BASIS * (SIZES * (-1.0) ** np.arange(N))) @ BASIS.conj().T,
    "gmres": (RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N))) / 8 + np.diag(1j + SIZES),
}
METHODS = list(MATRICES)


def system(name: str, form: str, device: Any) -> tuple[Any, Any]:
    """A method's matrix, Hermitian to the last bit where it has to be, and a right side."""
    matrix = MATRICES[name]
    if name != "gmres":
        matrix = (matrix + matrix.conj().T) / 2
    return mp.array(matrix, "cqd", device).astype(form), numbers("cqd", (N,), 9, device).astype(
        form
    )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("form", FORMATS)
def test_solutions_are_as_good_as_those_of_rounded_systems(
    name: str, form: str, device: Device
) -> None:
    """The residual's bound holds in exact arithmetic; the error is the condition times it."""
    a, b = system(name, form, device)
    found = getattr(mp.linalg, name)(mp.sparse.csr_array(a), b)
    unit, condition = b.format.unit_roundoff, np.linalg.cond(MATRICES[name])
    assert found.converged and found.x.format is b.format and found.iterations <= 3 * N
    with mpmath.workprec(900):
        matrix, right, x = (
            mpmath.matrix(np.array(v.to_mpmath(), dtype=object).reshape(len(v), -1).tolist())
            for v in (a, b, found.x)
        )
        left, size = mpmath.norm(right - matrix * x), mpmath.norm(right)
        assert float(left / size) <= 17 * unit * (N * condition + 1)
        solution = mpmath.lu_solve(matrix, right)
        error = float(mpmath.norm(x - solution) / mpmath.norm(solution))
    assert error <= 17 * unit * condition * (N * condition + 1)
    dense = getattr(mp.linalg, name)(a, b, rtol=1e-5)
    assert dense.converged and dense.iterations < found.iterations + 1
    if name != "minres":  # SciPy's takes real matrices alone
        theirs = getattr(scipy.sparse.linalg, name)(a.to_numpy(), b.to_numpy(), rtol=1e-5)[0]
        assert np.abs(dense.x.to_numpy() - theirs).max() < 1e-3


@pytest.mark.parametrize("name", METHODS)
def test_kinds_of_operators_and_preconditioners(name: str, device: Device) -> None:
    """Dense, sparse, a function; M real or complex; a start; the host's bits."""
    a, b = system(name, "cds", device)
    solve = getattr(mp.linalg, name)
    usual = solve(a, b)
    inverse = np.linalg.inv(MATRICES[name])
    if name == "minres":  # definite, and the inverse but for signs
        inverse = BASIS / SIZES @ BASIS.conj().T
    if name != "gmres":
        inverse = (inverse + inverse.conj().T) / 2
    near = mp.array(inverse, "cdd", device).astype("cds")
    unit = b.format.unit_roundoff
    for operator, options in (
        (mp.sparse.csr_array(a), {}),
        (lambda v: mp.gemv(a, v), {}),
        (a, {"M": near}),
        (a, {"M": mp.sparse.csr_array(mp.eye(N, dtype="ds", device=device) / 3)}),
        (a, {"x0": usual.x}),
        (a * 2.0**-90, {}),
    ):
        found = solve(operator, b, **options)
        x = found.x * 2.0**-90 if operator is not a and isinstance(operator, mp.Array) else found.x
        assert found.converged
        assert float(mp.nrm2(x - usual.x)) <= 400 * unit * float(mp.nrm2(usual.x)) * N
        if options.get("M") is near:
            assert found.iterations <= 4
        if "x0" in options:
            assert found.iterations == 0
    on_host = solve(a.to(HOST), b.to(HOST))
    assert same(on_host.x, usual.x.to(HOST)) and on_host.residuals == usual.residuals
    sparse = solve(mp.sparse.csr_array(a.to(HOST)), b.to(HOST))
    assert same(sparse.x, solve(mp.sparse.csr_array(a), b).x.to(HOST))


@pytest.mark.parametrize("name", METHODS)
def test_real_and_complex_operands_mix(name: str, device: Device) -> None:
    """A real matrix stays real beside a complex b; one complex operand makes b complex."""
    a, b = system(name, "cdd", device)
    solve = getattr(mp.linalg, name)
    real = a.real + (2 * mp.eye(N, dtype="dd", device=device) if name == "cg" else 0)
    real = mp.sparse.csr_array((real + real.T) / 2)
    found = solve(real, b)
    assert found.converged and found.x.format.name == "cdd"
    rest = b - real @ found.x
    assert float(mp.nrm2(rest)) <= 1e-29 * float(mp.nrm2(b))
    found = solve(a, b.real)
    assert found.converged and same(found.x, solve(a, mp.array(b.real, "cdd")).x)
    start = solve(real, b.real, x0=b)
    assert start.converged and start.x.format.name == "cdd"
    told: list[Any] = []
    solve(a, b, callback=told.append)
    if name == "gmres":
        assert all(isinstance(v, float) for v in told)
    else:
        assert float(mp.nrm2(told[-1] - solve(a, b).x)) < 1e-28


def test_short_copies_and_matrices_that_are_not_definite(device: Device) -> None:
    """cg refines from another format; the sign of p^H a p tells."""
    a, b = system("cg", "cqd", device)
    found = mp.linalg.cg(a, b, inner="complex128")
    assert found.converged and len(found.rounds) > 2
    assert float(mp.nrm2(b - mp.gemv(a, found.x))) <= 1e-61 * float(mp.nrm2(b))
    found = mp.linalg.cg(a, b, inner="cdd")
    assert found.converged and len(found.rounds) > 1
    with pytest.raises(FormatError, match="dd holds real numbers alone"):
        mp.linalg.cg(a, b, inner="dd")
    real = mp.eye(N, dtype="qd", device=device)
    assert same(mp.linalg.cg(real, b.real, inner="cdd").x, b.real.astype("cqd"))
    with pytest.raises(ArgumentError, match="not positive definite"):
        mp.linalg.cg(-a, b)
    with pytest.raises(ArgumentError, match="infinities or NaN"):
        mp.linalg.gmres(a * complex(0, float("nan")), b)


def test_systems_of_known_solutions(device: Device) -> None:
    """Of a turned shift, to which GMRES comes in its last step alone; of a singular matrix."""
    n = 6
    shift = mp.array(1j * np.roll(np.eye(n), 1, axis=0), "cdd", device)
    side = mp.array([1, 1j, 2, -1j, 1 + 1j, 3], "cdd", device)
    found = mp.linalg.gmres(mp.sparse.csr_array(shift), side)
    assert found.converged and max(found.rounds) <= n
    assert float(mp.nrm2(found.x - mp.conj(shift).T @ side)) <= 1e-30
    first = mp.eye(n, dtype="cdd", device=device)[0]
    found = mp.linalg.gmres(shift, first)
    assert found.rounds == (n,) and (found.x == mp.conj(shift).T @ first).all()
    flat = mp.array([[1, 1j], [-1j, 1]], "cdd", device)  # eigenvalues 0 and 2
    found = mp.linalg.minres(flat, mp.array([1j, 1], "cdd", device) * 2)
    assert found.converged and (found.x == mp.array([1j, 1], "cdd", device)).all()
    found = mp.linalg.minres(flat, mp.array([1, 0], "cdd", device))
    assert not found.converged and found.residual == pytest.approx(0.5**0.5)
