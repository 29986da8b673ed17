"""Elimination with complex numbers: LU, Cholesky's and L D L^H, and what follows from them."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest
from slow import mostly_slow, slow
from tiers import INTERPRETED, check

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.codegen import kernel_spec
from portmp.compilers.base import Compiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import ArgumentError, FormatError, LinAlgError, LinAlgWarning
from portmp.formats import inputs
from portmp.routines import compilation_units
from portmp.routines.cholesky import reference as cholesky
from portmp.routines.ldl import reference as ldl
from portmp.routines.lu import reference as lu
from portmp.routines.ozaki.choose import METHODS
from portmp.routines.ozaki.options import Auto, Ozaki2
from portmp.routines.registry import ROUTINES
from portmp.routines.triangular import reference as triangular
from portmp.routines.triangular.launch import OnDevice
from portmp.routines.triangular.routine import dominant

HOST = "host"
FORMATS = mostly_slow(formats.COMPLEX, ("complex64", "cdd"), "the same steps in other words")
linalg = mp.linalg
rng = np.random.default_rng(620)


def numbers(form: str, *shape: int, scale: Any = 1.0) -> Any:
    """Complex numbers with all limbs."""
    part = formats.get(form).component.name
    halves = [
        mp.array(rng.normal(size=shape) * scale, part, HOST) / mp.array(3, part, HOST)
        for _ in range(2)
    ]
    return halves[0] + halves[1] * mp.array(1j, form, HOST)


def adjoint(z: Any) -> Any:
    return mp.conj(z).mT


def error(found: Any, wanted: Any) -> float:
    """The largest error relative to the largest element, in units of u^N; in 4 limbs more or less.

    Both are arrays, or *wanted* a matrix of mpmath's.
    """
    unit = found.format.unit_roundoff
    with mpmath.workprec(800):
        if isinstance(wanted, mpmath.matrix):
            right = np.array(wanted.tolist(), dtype=object)
        else:
            right = np.array(wanted.to_mpmath(), dtype=object)
        left = np.array(found.to_mpmath(), dtype=object)
        left, right = left.reshape(-1), right.reshape(-1)
        largest = max(map(abs, right), default=0) or 1
        return float(max(map(abs, left - right), default=0) / largest / unit)


def exactly(z: Any) -> Any:
    """The exact values as a matrix of mpmath's."""
    return mpmath.matrix(np.array(z.to_mpmath(), dtype=object).reshape(z.shape).tolist())


def product(*factors: Any) -> Any:
    """The product of matrices in 800 bits."""
    with mpmath.workprec(800):
        found = exactly(factors[0])
        for factor in factors[1:]:
            found = found * exactly(factor)
        return found


def same(x: Any, y: Any) -> bool:
    """Whether two arrays have the same bits."""
    return equal(x.to_limbs(), y.to_limbs())


def equal(one: Any, other: Any) -> bool:
    return all(np.array_equal(p, q, equal_nan=True) for p, q in zip(one, other, strict=True))


# --- against mpmath -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
def test_solutions_have_their_digits(form: str) -> None:
    """Of a graded matrix: x, the inverse, determinants, within what its condition number allows."""
    n = 6
    a = numbers(form, n, n, scale=10.0 ** np.linspace(-2, 2, n)[:, None])
    b = numbers(form, n, 2)
    with mpmath.workprec(800):
        matrix = exactly(a)
        inverse, right = matrix**-1, mpmath.det(matrix)
        wanted, squared = inverse * exactly(b), inverse * inverse
        size = float(mpmath.mnorm(matrix, 1) * mpmath.mnorm(inverse, 1))
    assert error(linalg.solve(a, b), wanted) < n * size
    assert error(linalg.inv(a), inverse) < n * size
    assert error(linalg.matrix_power(a, -2), squared) < 4 * n * size**2
    found = linalg.det(a)
    with mpmath.workprec(800):
        exact = mpmath.matrix([[right]])
        sign, log = linalg.slogdet(a)
        assert error(sign, exact / abs(right)) < 2 * n * size
        assert error(log, mpmath.matrix([[mpmath.log(abs(right))]])) < 2 * n * size
    assert found.shape == sign.shape == () and error(found, exact) < n * size


@pytest.mark.parametrize("form", FORMATS)
def test_transposes_of_a_system(form: str) -> None:
    """a, a^T and a^H by the same factors."""
    a, b = numbers(form, 7, 7), numbers(form, 7, 3)
    factors = linalg.lu_factor(a)
    for trans, matrix in ((0, a), (1, a.mT), (2, adjoint(a))):
        assert error(linalg.lu_solve(factors, b, trans), linalg.solve(matrix, b)) < 3000
    p, lower, upper = linalg.lu(a)
    assert p.format is a.format.component and error(p @ lower @ upper, a) < 40


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("n", [1, 5, 33])
def test_hermitian_factors(form: str, n: int) -> None:
    """l l^H and u^H u of one triangle, whatever the other one and the diagonal's sides hold."""
    g = numbers(form, n, n)
    a = g @ adjoint(g) + mp.array(np.eye(n), g.format.component, HOST)
    b = numbers(form, n, 2)
    noise = numbers(form, n, n, scale=100.0)
    part = a.real + mp.array(1j, form, HOST) * mp.where(np.eye(n, dtype=bool), 9, a.imag)
    for upper in (False, True):
        keep = np.tri(n, dtype=bool) if not upper else np.tri(n, dtype=bool).T
        given = mp.where(keep, part, noise)
        factor = linalg.cholesky(given, upper=upper)
        made = product(adjoint(factor), factor) if upper else product(factor, adjoint(factor))
        assert error(a, made) < 4 * n
        assert not np.asarray(mp.linalg.diagonal(factor).imag != 0).any()
        triangle = mp.triu(factor, 1) if not upper else mp.tril(factor, -1)
        assert not np.asarray(triangle != 0).any()
        x = linalg.cholesky_solve(factor, b, upper=upper)
        assert same(x, linalg.solve(given, b, assume_a="pos", lower=not upper))
        assert error(b, product(a, x)) < 1000 * n * n


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("hermitian", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_indefinite_factors(form: str, hermitian: bool, lower: bool) -> None:
    """L D L^H, and L D L^T of complex symmetric matrices, with pairs and a small diagonal."""
    turned = adjoint if hermitian else (lambda z: z.mT)
    for n in (1, 2, 9, 34) if form != "cdd" or lower else (2, 9):
        g = numbers(form, n, n)
        a = (g + turned(g)) * mp.array(np.where(np.eye(n), 1e-3, 1), g.format.component, HOST)
        keep = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
        given = mp.where(keep, a, numbers(form, n, n, scale=100.0))
        left, d, perm = linalg.ldl(given, lower, hermitian)
        if n < 30:
            assert error(a, product(left, d, turned(left))) < 30 * n
        assert same(d, turned(d))
        assert n < 9 or np.asarray(linalg.diagonal(d, offset=-1) != 0).any()
        rows = left[np.asarray(perm)]
        assert same(rows, mp.tril(rows) if lower else mp.triu(rows))
        b = numbers(form, n, 2)
        x = linalg.solve(given, b, assume_a="her" if hermitian else "sym", lower=lower)
        assert error(b, product(a, x)) < 1000 * n * n


# --- pivots, and what has none --------------------------------------------------------------------


def test_pivots_by_sums_of_parts() -> None:
    """|re| + |im| of leading limbs, the first of equals; never NaN while there are numbers."""
    for column, row in (
        ([1, 6.5j, 3 + 4j], 2),  # the modulus of the second one is larger
        ([1, -2 + 1j, 3, 3j], 1),
        ([1, complex(np.nan, 9), 2], 2),
        ([1, complex(9, np.nan), complex(0, np.inf)], 2),
        ([0, 0, 1e-300j], 2),
    ):
        a = mp.array(np.array(column)[:, None], "cdd", HOST)
        assert np.asarray(linalg.lu_factor(a).piv).tolist() == [row]


def test_singular_matrices() -> None:
    """Zeros of both parts in a pivot; columns are named; determinants are 0."""
    z = numbers("cdd", 3, 3)
    z[:, 1] = z[:, 0] * mp.array(2j, "cdd", HOST)
    z[2] = 0
    for call in (linalg.inv, lambda a: linalg.solve(a, a), lambda a: linalg.lu_solve(f(a), a)):
        with pytest.raises(LinAlgError, match="is singular: the pivot of column"):
            call(z)
    assert linalg.det(z) == 0
    sign, log = linalg.slogdet(z)
    assert sign == 0 and float(log) == -np.inf
    stack = mp.stack([mp.array(np.eye(2) * 1j, "cdd", HOST), mp.zeros((2, 2), "cdd", HOST)])
    with pytest.raises(LinAlgError, match="in entry 1 of the stack"):
        linalg.solve(stack, mp.ones((2, 1), "cdd", HOST))
    assert np.asarray(linalg.det(stack).to_numpy()).tolist() == [-1, 0]
    # a matrix that rounding alone keeps from being singular
    third = mp.array([["1/3", "1/3"], ["1", "1"]], "cdd", HOST) * mp.array(1 + 1j, "cdd", HOST)
    third[1, 1] = third[1, 1] * (1 + mp.array(2.0**-102, "dd", HOST))
    with pytest.warns(LinAlgWarning, match="numerically singular.*ctd has"):
        linalg.solve(third, third[:, 0])
    with pytest.raises(LinAlgError, match="minor of order 2 is not positive"):
        linalg.cholesky(mp.array([[1, -2j], [2j, 1]], "cdd", HOST))
    with pytest.raises(LinAlgError, match="d has a zero in its step"):
        linalg.solve(mp.zeros((2, 2), "cdd", HOST), [1, 1], assume_a="her")


def f(a: Any) -> Any:
    return linalg.lu_factor(a)


def test_determinants_beyond_the_range() -> None:
    """Parts that overflow by themselves; logarithms of what no word holds."""
    huge = mp.array(np.diag([1e200, 1e200j, 1e-300, 1e-100]), "cdd", HOST)
    assert abs(complex(linalg.det(huge)) - 1j) < 1e-15
    more = mp.array(np.diag([1e300, 1e300 + 1e300j]), "cdd", HOST)
    assert linalg.det(more).to_numpy() == complex(np.inf, np.inf)
    sign, log = linalg.slogdet(more)
    assert abs(complex(sign) - (1 + 1j) / np.sqrt(2)) < 1e-15
    assert float(log) == pytest.approx(2 * np.log(1e300) + np.log(2) / 2, rel=1e-15)


def test_what_is_not_finite_spreads() -> None:
    """NaN and infinities end in results or in errors, and nothing hangs."""
    a = numbers("cdd", 5, 5)
    a[3, 2] = complex(np.nan, 1)
    assert np.isnan(complex(linalg.det(a)).real)
    a[3, 2] = complex(1, np.inf)
    found = linalg.lu_factor(a)
    assert not np.isfinite(found.lu.to_numpy()).all()
    ldl.factor(formats.get("cdd"), a.to_limbs(), True)
    with pytest.raises(LinAlgError, match="not positive definite"):
        linalg.cholesky(mp.array([[complex(np.nan, 0)]], "cdd", HOST))


def test_nothing_and_one() -> None:
    """Matrices of no rows, of one, and stacks of none."""
    none, one = mp.zeros((0, 0), "cdd", HOST), mp.array([[3 + 4j]], "cdd", HOST)
    for call in (linalg.inv, linalg.cholesky):
        assert call(none).shape == (0, 0)
    assert linalg.det(none) == 1 and linalg.slogdet(none).sign == 1
    assert linalg.solve(none, mp.zeros((0, 2), "cdd", HOST)).shape == (0, 2)
    assert linalg.ldl(none).d.shape == (0, 0) and linalg.lu(none).p.shape == (0, 0)
    assert complex(linalg.inv(one)[0, 0]) == complex(np.longdouble("0.12"), -0.16)
    assert complex(linalg.det(one)) == 3 + 4j
    assert float(linalg.slogdet(one).logabsdet) == np.log(5)
    stack = mp.zeros((0, 3, 3), "cdd", HOST)
    assert linalg.inv(stack).shape == (0, 3, 3) and linalg.det(stack).shape == (0,)


# --- real and complex numbers ---------------------------------------------------------------------


def test_real_matrices_and_complex_sides() -> None:
    """Both parts are right-hand sides of the real system; a complex matrix makes all complex."""
    a = mp.array(rng.normal(size=(4, 4)), "dd", HOST)
    z = numbers("cdd", 4, 3)
    spd = a @ a.mT + mp.array(np.eye(4), "dd", HOST)
    both = mp.concat([z.real, z.imag], axis=1)
    factors, root = linalg.lu_factor(a), linalg.cholesky(spd)
    for call, matrix in (
        (linalg.solve, a),
        (lambda a, b: linalg.solve(a, b, assume_a="sym"), spd),
        (lambda a, b: linalg.solve(a, b, assume_a="pos"), spd),
        (lambda _, b: linalg.lu_solve(factors, b), a),
        (lambda _, b: linalg.cholesky_solve(root, b), spd),
        (linalg.solve_triangular, a),
        (lambda a, b: linalg.solve_triangular(a, b.mT, left=False).mT, a),
    ):
        x, parts = call(matrix, z), call(matrix, both)
        assert x.format is z.format
        assert same(mp.concat([x.real, x.imag], axis=1), parts)
        assert call(matrix, z[:, :1]).shape == (4, 1)
    vector = linalg.solve(a, z[:, 0])
    assert vector.shape == (4,) and vector.format is z.format
    x = linalg.solve(z[:, :3][:3], a[:3, 0])
    assert same(x, linalg.solve(z[:3], a[:3, 0].astype("cdd")))
    assert linalg.solve(a, [1, 2, 3j, 4]).format is z.format
    assert linalg.solve([[2, 1j], [1, 3]], [1, 2]).format == "cdd"
    wide = linalg.solve(a.astype("float32"), z.astype("complex128"))
    assert wide.format == "complex128"


def test_numpys_names() -> None:
    """np.linalg's functions take complex arrays."""
    a, b = numbers("cdd", 4, 4), numbers("cdd", 4)
    values, right = a.to_numpy(), b.to_numpy()
    h, positive = a @ adjoint(a), values @ values.conj().T
    np.testing.assert_allclose(np.linalg.solve(a, b).to_numpy(), np.linalg.solve(values, right))
    np.testing.assert_allclose(np.linalg.inv(a).to_numpy(), np.linalg.inv(values))
    np.testing.assert_allclose(complex(np.linalg.det(a)), np.linalg.det(values))
    np.testing.assert_allclose(np.linalg.cholesky(h).to_numpy(), np.linalg.cholesky(positive))
    sign, log = np.linalg.slogdet(a)
    np.testing.assert_allclose([complex(sign), float(log)], [*np.linalg.slogdet(values)])
    np.testing.assert_allclose(
        np.linalg.matrix_power(a, 3).to_numpy(), np.linalg.matrix_power(values, 3)
    )


def test_triangular_systems() -> None:
    """SciPy's ops from both sides, by letters and by numbers; trmm with the same."""
    n = 5
    a, b = numbers("cdd", n, n), numbers("cdd", n, 2)
    a = a + mp.array(4 * np.eye(n), "dd", HOST)
    for lower in (True, False):
        t = mp.tril(a) if lower else mp.triu(a)
        for trans, op in ((0, t), ("T", t.mT), (2, adjoint(t)), ("C", adjoint(t))):
            how = {"lower": lower, "trans": trans}
            assert error(b, product(op, linalg.solve_triangular(a, b, **how))) < 40
            x = linalg.solve_triangular(a, b.mT, left=False, **how)
            assert error(b.mT, product(x, op)) < 40
            assert error(linalg.trmm(a, b, **how), product(op, b)) < 40
    for trans in ("H", 3, None):
        with pytest.raises(ArgumentError, match="'N', 'T' and 'C'"):
            linalg.solve_triangular(a, b, trans=trans)


def test_what_refuses_complex_numbers() -> None:
    """In one sentence each, with the format."""
    z = numbers("cdd", 3, 3)
    real = mp.array(np.eye(3), "dd", HOST)
    with pytest.raises(FormatError, match="formats dd and ctd given"):
        linalg.solve(real, z[0].astype("ctd"))
    with pytest.raises(ArgumentError, match="trans 3 given, 0, 1 or 2"):
        linalg.lu_solve(linalg.lu_factor(z), z, 3)


def test_blocks_and_memory_that_is_overwritten() -> None:
    """Several blocks; factors in a's memory, solutions in b's: the same bits."""
    a, b = numbers("cdd", 40, 40), numbers("cdd", 40, 3)
    wanted = linalg.solve(a, b)
    assert error(b, product(a, wanted)) < 1e6
    transposed = linalg.lu_solve(linalg.lu_factor(a), b, 2)
    assert error(b, product(adjoint(a), transposed)) < 1e6
    w, x = a.copy(), b.copy()
    found = linalg.solve(w, x, overwrite_a=True, overwrite_b=True)
    assert same(found, wanted) and same(x, wanted)
    factors = linalg.lu_factor(w := a.copy(), overwrite_a=True)
    assert factors.lu is w and same(w, linalg.lu_factor(a).lu)
    h = a @ adjoint(a)
    assert same(linalg.cholesky(h.copy(), overwrite_a=True), linalg.cholesky(h))


# --- bits -----------------------------------------------------------------------------------------


@slow(
    "products by integers are gemm's; waves of 64 lanes have real numbers' systems",
    unless=lambda p: not p["method"] and p["anywhere"] != INTERPRETED[0],
)
@pytest.mark.parametrize("method", [None, "ozaki2"])
def test_bits_are_the_references(anywhere: Device, method: str | None) -> None:
    """Panels, blocks below them and products between these, as devices with blocks of threads cut
    them, too."""
    form, how = formats.get("complex64"), {"method": method} if method else {}
    by = METHODS[method or "direct"]
    for shape in ((37, 35), (9, 20)):
        a = inputs.ordinary(form, shape, f"complex lu {shape}")
        found = linalg.lu_factor(mp.from_limbs(a, form, anywhere), **how).lu
        assert equal(found.to_limbs(), lu.factor(form, a, by).factors)
    a, b = dominant(form, 37, "complex"), inputs.ordinary(form, (37, 3), "complex")
    x = mp.from_limbs(a, form, anywhere)
    assert equal(linalg.cholesky(x, **how).to_limbs(), cholesky.lower(form, a, by))
    for taken, trans in (("", 0), ("conjugated", "C")):
        matrix = [p.T for p in a] if taken else a
        right = mp.from_limbs(b, form, anywhere)
        found = linalg.solve_triangular(x, right, lower=not taken, trans=trans, **how)
        wanted = triangular.solve(form, matrix, b, lower=True, taken=taken, method=by)
        assert equal(found.to_limbs(), wanted)
    if method is None:
        many = mp.from_limbs([np.stack([p[:9, :9]] * 70) for p in a], form, anywhere)
        small = cholesky.lower(form, [p[:9, :9] for p in a])
        assert equal([p[69] for p in linalg.cholesky(many).to_limbs()], small)
        x = mp.from_limbs([p[:9, :9].copy() for p in a], form, anywhere)
        for hermitian in (True, False):
            part = [p[:9, :9] for p in a]
            wanted = ldl.lower(form, part, hermitian)
            assert equal(linalg.ldl(x, hermitian=hermitian).lu.to_limbs(), wanted)


@pytest.mark.parametrize(
    "method", [Auto(smallest=4), Ozaki2(), None], ids=["auto", "two", "direct"]
)
def test_products_between_blocks(device: Device, method: Any) -> None:
    """By integers one real product of both parts: gemm's bits; what they are taken from, too."""
    f = formats.get("cds")
    shapes = {"a": (13, 20), "b": (20, 7), "c": (13, 7)}
    a, b, c = (inputs.ordinary(f, shape, name) for name, shape in shapes.items())
    for kind, conjugated in itertools.product(("set", "subtract"), ("", "a", "b")):
        batches = [mp.from_limbs([p[None] for p in x], f, device).planes for x in (a, b, c)]
        OnDevice(f, method).product(*batches, kind, method, conjugated)
        found = mp.Array(batches[2])[0]
        wanted = [p.copy() for p in c]
        triangular.OnHost(f, method).product(a, b, wanted, kind, method, conjugated)
        assert equal(found.to_limbs(), wanted)
        if kind == "set":
            x, y = (mp.from_limbs(z, f, device) for z in (a, b))
            x, y = mp.conj(x) if conjugated == "a" else x, mp.conj(y) if conjugated == "b" else y
            assert same(found, mp.gemm(x, y, method=method or "direct"))


@pytest.mark.parametrize("form", formats.COMPLEX)
def test_kernels_have_texts(form: str) -> None:
    """Of every format, for devices with blocks of threads."""
    f = formats.get(form)
    for name in ("lu", "cholesky", "ldl", "triangular"):
        for _, unit in ROUTINES[name].units(f, None):
            assert all(
                f"__global const {WORD[f.word]} *" in one.render("opencl").text
                or f"__global {WORD[f.word]} *" in one.render("opencl").text
                for one in unit
            )


WORD = {"float32": "float", "float64": "double"}


@pytest.mark.parametrize("name", ["lu", "ldl_hermitian"])
@pytest.mark.parametrize("tier", ["nvrtc", "hiprtc"])
def test_kernels_compile_for_gpus(tier: str, name: str) -> None:
    """The texts of both platforms, without a device."""
    check(tier)
    compiler, on, arch = GPUS[tier]
    unit = compilation_units.find("complex64", name)
    assert compiler().compile(kernel_spec.rendered(unit, on).text, arch)


GPUS: dict[str, tuple[type[Compiler], str, str]] = {
    "nvrtc": (NvrtcCompiler, "cuda", "sm_90"),
    "hiprtc": (HiprtcCompiler, "rocm", "gfx90a"),
}
