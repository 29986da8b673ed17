"""Eigenvalues and singular values against longer arithmetic; bits across devices."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow, slow
from test_linalg import MATRICES

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import inputs
from portmp.linalg import singular
from portmp.routines.jacobi import blocks, reference
from portmp.routines.jacobi.rule import pairs
from portmp.routines.triangular.steps import Method

flint = pytest.importorskip("flint")

BITS = 700
"""Of the arithmetic that results are compared with."""
FORMATS = ("float32", "dd", "td", "qd", "d+s", "ts")
CONSTANT = 10
"""Of n u^N: what eigenvalues and orthogonality may miss."""
linalg = mp.linalg


def wilkinson(n: int) -> list[list[Any]]:
    """Eigenvalues in pairs that agree to ever more digits."""
    middle = Fraction(n - 1, 2)
    return [
        [abs(i - middle) if i == j else int(abs(i - j) == 1) for j in range(n)] for i in range(n)
    ]


def symmetric(kind: str, n: int) -> list[list[Any]]:
    """A matrix of test_linalg's plus its transpose, or one of its own kind."""
    if kind == "pairs":
        return wilkinson(n)
    if kind == "multiple":  # a reflection: 1 and -1
        return [[int(i == j) - Fraction(2, n) for j in range(n)] for i in range(n)]
    if kind == "clustered":
        tiny = Fraction(1, 2**80)
        return [
            [(1 + i * tiny if i == j else 0) - Fraction(2, n) for j in range(n)] for i in range(n)
        ]
    rows = MATRICES[kind](n)
    return [[Fraction(rows[i][j]) + Fraction(rows[j][i]) for j in range(n)] for i in range(n)]


KINDS = (*MATRICES, "pairs", "multiple", "clustered")


def ball(x: mp.Array) -> Any:
    """A matrix as balls of radius 0."""
    rows = x.to_fractions()
    return flint.arb_mat(
        [[flint.arb(flint.fmpq(v.numerator, v.denominator)) for v in row] for row in rows]
    )


def largest(m: Any) -> float:
    """The largest size of a matrix's entries."""
    return max(
        (float(abs(m[i, j]).mid()) for i in range(m.nrows()) for j in range(m.ncols())), default=0.0
    )


def eye(n: int) -> Any:
    return flint.arb_mat([[int(i == j) for j in range(n)] for i in range(n)])


def spread(values: mp.Array, m: int, n: int) -> Any:
    """A diagonal matrix (m, n)."""
    found = flint.arb_mat(m, n)
    for i, v in enumerate(values.to_fractions()):
        found[i, i] = flint.arb(flint.fmpq(v.numerator, v.denominator))
    return found


@pytest.fixture(autouse=True)
def _precision() -> Any:
    before, flint.ctx.prec = flint.ctx.prec, BITS
    yield
    flint.ctx.prec = before


def check_signs(vectors: mp.Array) -> None:
    """The largest element of each row is positive."""
    for row in vectors.to_fractions():
        assert max(row, key=abs) > 0


def check_eigh(a: mp.Array, found: linalg.Eigh) -> None:
    """By a similar matrix: a v - v w and v^T v - 1, whose norms bound what eigenvalues miss."""
    n, unit = a.shape[0], a.format.unit_roundoff
    w, v = found
    exact, vectors = ball(a), ball(v)
    size = float(np.linalg.norm(a.to_float64(), 2))
    orthogonal = largest(vectors.transpose() * vectors - eye(n))
    assert orthogonal <= CONSTANT * n * unit, orthogonal / unit
    residual = largest(exact * vectors - vectors * spread(w, n, n))
    assert residual <= CONSTANT * n * unit * size, residual / unit / size
    values = w.to_fractions()
    assert values == sorted(values)
    check_signs(v.T)


def kept(case: dict[str, Any]) -> bool:
    return case["form"] == "dd" or case["kind"] == "random"


def fitting(kind: str, form: str, n: int) -> int:
    """The order, so that numbers are within a format's range."""
    return min(n, 12) if form in ("float32", "ts") and kind in ("graded", "vandermonde") else n


@slow("formats and matrices seldom fail together", unless=kept)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_eigenvalues(device: Device, form: str, kind: str) -> None:
    """Residuals and orthogonality in longer arithmetic; values against longer ones."""
    n = fitting(kind, form, 21)
    a = mp.array(symmetric(kind, n), form, device)
    found = linalg.eigh(a)
    check_eigh(a, found)
    exact = flint.acb_mat(ball(a)).eig(multiple=True, algorithm="approx")
    wanted = sorted(exact, key=lambda z: float(z.real.mid()))
    size = float(np.linalg.norm(a.to_float64(), 2))
    for mine, one in zip(found.eigenvalues.to_fractions(), wanted, strict=True):
        error = abs(flint.arb(flint.fmpq(mine.numerator, mine.denominator)) - one.real)
        assert float(error.mid()) <= CONSTANT * n * a.format.unit_roundoff * size
    values = linalg.eigvalsh(a)
    assert (
        float(abs(values - found.eigenvalues).max()) <= CONSTANT * n * a.format.unit_roundoff * size
    )


@slow(
    "formats and matrices seldom fail together", unless=lambda c: kept(c) and c["kind"] != "moler"
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ("dd", "td", "ts"))
def test_eigenvalues_of_blocks(device: Device, form: str, kind: str) -> None:
    """Beyond 64 rows, begun in the first limb: clusters, too."""
    if form == "ts" and kind in ("graded", "vandermonde"):
        return
    a = mp.array(symmetric(kind, 70), form, device)
    check_eigh(a, linalg.eigh(a))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 63, 64, 65, 129])
def test_sizes(device: Device, n: int) -> None:
    """About the limits of blocks, by residuals."""
    rng = np.random.default_rng(n)
    a = mp.array(rng.standard_normal((n, n)), "dd", device)
    a = a + a.T
    w, v = linalg.eigh(a)
    assert w.shape == (n,) and v.shape == (n, n)
    if n:
        unit = CONSTANT * n * a.format.unit_roundoff
        size = float(linalg.norm(a, 2))
        assert float(abs(a @ v - v * w).max()) <= unit * size
        assert float(abs(v.T @ v - mp.array(np.eye(n), "dd", device)).max()) <= unit
        assert np.allclose(w.to_float64(), np.linalg.eigvalsh(a.to_float64()), atol=1e-12)


def test_triangles_scales_and_stacks(device: Device) -> None:
    """One triangle is read; powers of two pass through; a stack has the bits of its matrices."""
    rng = np.random.default_rng(5)
    a = mp.array(rng.standard_normal((3, 6, 6)), "qd", device)
    a = a + a.transpose(0, 2, 1)
    found = linalg.eigh(a)
    spoiled = a.copy()
    spoiled[:, 0, 1:] = math.nan
    assert (linalg.eigh(spoiled).eigenvectors == found.eigenvectors).all()
    assert (
        linalg.eigh(spoiled.transpose(0, 2, 1), UPLO="U").eigenvalues == found.eigenvalues
    ).all()
    assert (np.linalg.eigh(a, "U").eigenvalues == found.eigenvalues).all()
    assert (np.linalg.eigvalsh(a) == linalg.eigvalsh(a)).all()
    for i in range(3):
        assert (linalg.eigh(a[i]).eigenvectors == found.eigenvectors[i]).all()
    for power in (300, -300):
        scaled = linalg.eigh(a * 2.0**power)
        assert (scaled.eigenvalues == found.eigenvalues * 2.0**power).all()
        assert (scaled.eigenvectors == found.eigenvectors).all()
    mixed = mp.concat([a[:1] * 2.0**300, a[1:] * 2.0**-300])
    assert (linalg.eigh(mixed).eigenvectors == found.eigenvectors).all()


def test_pairs_of_matrices(device: Device) -> None:
    """a x = w b x, by either triangle."""
    rng = np.random.default_rng(6)
    a, c = (mp.array(rng.standard_normal((7, 7)), "dd", device) for _ in range(2))
    a, b = a + a.T, c @ c.T + mp.array(np.eye(7), "dd", device)
    w, x = linalg.eigh(a, b)
    assert float(abs(a @ x - b @ x * w).max()) < 1e-28
    assert float(abs(x.T @ b @ x - mp.array(np.eye(7), "dd", device)).max()) < 1e-29
    assert float(abs(linalg.eigvalsh(a, b, "U") - w).max()) < 1e-28
    with pytest.raises(ArgumentError, match="eigh: b: the matrix is not positive definite"):
        linalg.eigh(a, -b)


def test_subsets(device: Device) -> None:
    """By numbers and by values."""
    a = mp.array(np.diag([3.0, 1, 2, 5, 4]), "dd", device)
    w, v = linalg.eigh(a, subset_by_index=(1, 2))
    assert w.to_float64().tolist() == [2, 3] and v.shape == (5, 2)
    w, v = linalg.eigh(a, subset_by_value=(1, 3))
    assert w.to_float64().tolist() == [2, 3] and v.shape == (5, 2)
    assert linalg.eigvalsh(a, subset_by_value=(7, 9)).shape == (0,)
    for options in (
        {"subset_by_index": (2, 1)},
        {"subset_by_index": (0, 5)},
        {"subset_by_value": (1, 1)},
        {"subset_by_value": 1},
        {"subset_by_value": (0, 1), "subset_by_index": (0, 1)},
    ):
        with pytest.raises(ArgumentError, match="eigh: subset_by"):
            linalg.eigh(a, **options)  # type: ignore[arg-type]


def test_refusals(device: Device) -> None:
    """What is no symmetric matrix of numbers."""
    a = mp.array([[1.0, math.inf], [2.0, 1.0]], "dd", device)
    with pytest.raises(ArgumentError, match="eigh: a holds infinities or NaN"):
        linalg.eigh(a, "U")
    assert linalg.eigh(a).eigenvalues.to_float64().tolist() == [-1, 3]
    with pytest.raises(
        ArgumentError, match="svd: a holds infinities or NaN in entry 1 of the stack"
    ):
        linalg.svd(mp.array(np.stack([np.eye(2), np.full((2, 2), np.nan)]), "dd", device))
    with pytest.raises(ArgumentError, match="UPLO 'M' given"):
        linalg.eigh(a, "M")
    with pytest.raises(ShapeError, match="must be square"):
        linalg.eigh(a[:1])
    with pytest.raises(FormatError, match="storage format"):
        linalg.svd(mp.zeros((2, 2), formats.STORED[0], device))


def test_refusals_are_numpys(device: Device) -> None:
    """Where NumPy raises LinAlgError so does portmp, and it names the function that was called."""
    negative = mp.array(np.diag([1.0, -1.0]), "dd", device)
    with pytest.raises(np.linalg.LinAlgError, match=r"eigvalsh: b: .* not positive definite"):
        linalg.eigvalsh(negative, negative)
    endless = mp.array(np.diag([math.inf, 1.0]), "dd", device)
    for name in ("eigh", "eigvalsh", "eigvals", "schur", "svd", "svdvals", "pinv", "matrix_rank"):
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: [aA] holds infinities"):
            getattr(linalg, name)(endless)
    for name in ("svd", "pinv", "matrix_rank"):
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: [aA] holds infinities"):
            getattr(linalg, name)(endless, hermitian=True)
        with pytest.raises(ShapeError, match=rf"^{name}: .* must be square"):
            getattr(linalg, name)(negative[:1], hermitian=True)


# --- singular values -----------------------------------------------------------------------------


def check_svd(a: mp.Array, found: linalg.SVD) -> None:
    """u s vh - a, and orthogonality, in longer arithmetic."""
    m, n = a.shape
    k, unit = min(m, n), a.format.unit_roundoff
    u, s, vh = found
    size = float(np.linalg.norm(a.to_float64(), 2))
    left, right = ball(u), ball(vh)
    most = CONSTANT * max(m, n) * unit
    assert largest(left.transpose() * left - eye(u.shape[1])) <= most
    assert largest(right * right.transpose() - eye(vh.shape[0])) <= most
    made = left * spread(s, u.shape[1], vh.shape[0]) * right
    assert largest(made - ball(a)) <= most * size
    values = s.to_fractions()
    assert values == sorted(values, reverse=True) and min(values) >= 0
    check_signs(vh[:k])


@slow("formats and matrices seldom fail together", unless=kept)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("form", FORMATS)
def test_singular_values(device: Device, form: str, kind: str) -> None:
    """Of square matrices and of some of their columns and rows."""
    n = fitting(kind, form, 20)
    a = mp.array(MATRICES[kind](n), form, device)
    check_svd(a, linalg.svd(a))
    for part in (a[:, :7], a[:5]):
        for full in (True, False):
            check_svd(part, linalg.svd(part, full))
    assert (linalg.svdvals(a) == linalg.svd(a, compute_uv=False)).all()


@slow("formats seldom fail apart", unless=lambda c: c["form"] == "dd")
@pytest.mark.parametrize("form", ["dd", "td", "ds"])
@pytest.mark.parametrize("shape", [(70, 66), (65, 65), (66, 90)])
def test_singular_values_of_blocks(device: Device, form: str, shape: tuple[int, int]) -> None:
    """Beyond 64 columns, with and without a beginning in the first limb."""
    a = mp.array(np.random.default_rng(8).standard_normal(shape), form, device)
    check_svd(a, linalg.svd(a, False))
    check_svd(a, linalg.svd(a, False, relative=True))


@slow("longer limbs go the same way", unless=lambda c: c["n"] == 24 or c["form"] == "d+s")
@pytest.mark.parametrize("form", ["ts", "qs", "d+s"])
@pytest.mark.parametrize("n", [24, 66])
def test_singular_values_down_to_roundoff(device: Device, form: str, n: int) -> None:
    """Squares of columns that are as short as rounding errors have no limbs left near 1."""
    hilbert = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    sizes = 2.0 ** np.linspace(0, -90, n)
    graded = np.random.default_rng(n).standard_normal((n, n)) * sizes
    for rows in (hilbert, graded):
        a = mp.array(rows, form, device)
        check_svd(a, linalg.svd(a))
    a = mp.array(hilbert, form, device)
    check_svd(a, linalg.svd(a, relative=True))


def test_sweeps_end_where_products_round_otherwise(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pair's own product is direct, that of the whole not: a cosine may be small in one alone."""
    monkeypatch.setattr(blocks, "SWEEPS", 20)
    a = np.random.default_rng(2).standard_normal((256, 256))
    found = linalg.svd(mp.array(a, "float64", device), method="ozaki2")
    u, s, vh = (x.to_float64() for x in found)
    unit = 256 * 2.0**-53
    assert np.linalg.norm(u.T @ u - np.eye(256)) <= 10 * unit
    assert np.linalg.norm(vh @ vh.T - np.eye(256)) <= 10 * unit
    assert np.linalg.norm(u * s @ vh - a) <= 10 * unit * np.linalg.norm(a)


def test_rows_of_any_size(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where columns do not become orthogonal in time (129 rows need more sweeps than there are)."""
    monkeypatch.setattr(blocks, "SWEEPS", 8)
    ended: list[bool] = []
    tall = singular._tall

    def noted(*arguments: Any) -> Any:
        ended.append(False)
        found = tall(*arguments)
        ended[-1] = True
        return found

    monkeypatch.setattr(singular, "_tall", noted)
    n = 66
    rows = np.random.default_rng(n).standard_normal((n, n)) * 2.0 ** (-2 * np.arange(n))[:, None]
    a = mp.array(rows, "td", device)
    found = linalg.svd(a)
    assert ended == [False, True]
    check_svd(a, found)
    values, turned = linalg.svdvals(a), linalg.svd(a.T)
    check_svd(a.T, turned)
    size = 10 * n * a.format.unit_roundoff * float(values[0])
    assert float(abs(values - found.S).max()) <= size
    assert float(abs(turned.S - found.S).max()) <= size
    both = linalg.svd(mp.stack([a, a]))
    for mine, one in zip(both, found, strict=True):
        assert (mine[0] == one).all() and (mine[1] == one).all()


def test_vectors_do_not_depend_on_the_rest_of_the_stack(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two matrices one's left vectors need reflections to be orthonormal, the other's do not."""
    were: list[bool] = []
    asked = singular._is_orthonormal

    def told(u: mp.Array, method: Method) -> bool:
        were.append(asked(u, method))
        return were[-1]

    monkeypatch.setattr(singular, "_is_orthonormal", told)
    rng = np.random.default_rng(0)
    a = mp.array(rng.standard_normal((2, 65, 65)).astype(np.float32), "ts", device)
    both = linalg.svd(a)
    assert were == [False, True]
    for entry in range(2):
        for mine, one in zip(both, linalg.svd(a[entry]), strict=True):
            assert (mine[entry] == one).all()


def test_small_singular_values(device: Device) -> None:
    """Columns of any scale: relatively exact; those of a definite matrix, by its factor."""
    rng = np.random.default_rng(9)
    scales = [Fraction(10) ** -(6 * i) for i in range(8)]
    rows = [
        [Fraction(x) * s for x, s in zip(row, scales, strict=True)]
        for row in rng.standard_normal((8, 8))
    ]
    a = mp.array(rows, "dd", device)
    s = linalg.svdvals(a)
    exact = ball(a)
    product = exact.transpose() * exact
    flint.ctx.prec = 2 * BITS
    wanted = flint.acb_mat(product).eig(algorithm="approx")
    roots = sorted((z.real.sqrt() for z in wanted), key=lambda x: -float(x.mid()))
    for mine, one in zip(s.to_fractions(), roots, strict=True):
        ratio = flint.arb(flint.fmpq(mine.numerator, mine.denominator)) / one - 1
        assert abs(float(ratio.mid())) < 1e-28


def test_deficient(device: Device) -> None:
    """Ranks, pseudoinverses, vectors of zeros, condition numbers."""
    a = mp.array(np.outer(np.arange(1, 6), np.arange(1, 4)), "dd", device)
    assert linalg.matrix_rank(a) == 1 and linalg.matrix_rank(a[0]) == 1
    assert linalg.matrix_rank(a, tol=1e3) == 0
    check_svd(a, linalg.svd(a))
    p = linalg.pinv(a)
    for left, right in ((a @ p @ a, a), (p @ a @ p, p), ((a @ p).T, a @ p), ((p @ a).T, p @ a)):
        assert float(abs(left - right).max()) < 1e-29
    none = mp.zeros((3, 4), "dd", device)
    check_svd(none, linalg.svd(none))
    assert linalg.matrix_rank(none) == 0 and float(abs(linalg.pinv(none)).max()) == 0
    stack = mp.array(np.stack([np.eye(3), np.ones((3, 3))]), "dd", device)
    assert linalg.matrix_rank(stack).to_numpy().tolist() == [3, 1]
    assert (linalg.pinv(stack)[0] == stack[0]).all()
    d = mp.array(np.diag([1.0, -4, 2]), "dd", device)
    assert linalg.cond(d, 2) == 4 and linalg.cond(d, -2) == 0.25
    assert linalg.cond(stack[1] * 0 + mp.array(np.diag([1.0, 1, 0]), "dd", device), 2) == math.inf
    assert [float(linalg.norm(d, p)) for p in (2, -2, "nuc")] == [4, 1, 7]
    assert linalg.norm(stack, 2, axis=(1, 2)).to_float64().tolist() == [1, 3]
    u, s, vh = linalg.svd(d, hermitian=True)
    assert s.to_float64().tolist() == [4, 2, 1] and float(abs((u * s) @ vh - d).max()) == 0
    assert (linalg.svdvals(d) == np.linalg.svd(d).S).all()
    for bad in ({"rcond": -1}, {"rcond": math.nan}, {"rcond": 0.1, "rtol": 0.1}):
        with pytest.raises(ArgumentError, match="pinv: rcond"):
            linalg.pinv(d, **bad)


def test_tolerances(device: Device) -> None:
    """Any from 0 on, as the array API standard has it: a number, or one for each matrix."""
    one = np.diag([4.0, 2, 1])
    stack = mp.array(np.stack([one, one, one, one]).reshape(2, 2, 3, 3), "dd", device)
    tolerances = mp.array([[0, 0.25], [0.5, 2]], "dd", device)
    assert linalg.matrix_rank(stack, rtol=tolerances).to_numpy().tolist() == [[3, 2], [1, 0]]
    inverses = linalg.pinv(stack, rtol=tolerances)
    for each, tolerance in zip(inverses.reshape((4, 3, 3)), (0, 0.25, 0.5, 2), strict=True):
        assert (each == linalg.pinv(stack[0, 0], rtol=tolerance)).all()
    assert float(abs(inverses[1, 1]).max()) == 0 and float(inverses[0, 0, 2, 2]) == 1
    by_column = linalg.matrix_rank(stack, rtol=mp.array([[0.25], [42]], "float64", device))
    assert by_column.to_numpy().tolist() == [[2, 2], [0, 0]]
    assert (
        linalg.matrix_rank(stack, rtol=[0.25, np.float32(0.5)]).to_numpy().tolist() == [[2, 1]] * 2
    )
    assert linalg.matrix_rank(stack[0, 0], rtol=mp.array(0.5, "dd", device)) == 1
    for shape in ((3,), (1, 2, 2)):
        with pytest.raises(ShapeError, match="matrix_rank: rtol of shape"):
            linalg.matrix_rank(stack, rtol=mp.zeros(shape, "dd", device))
    with pytest.raises(ArgumentError, match="pinv: rtol has a negative"):
        linalg.pinv(stack, rtol=-tolerances)


# --- bits ----------------------------------------------------------------------------------------


def test_pairs_meet_once() -> None:
    """In a sweep each two indices meet once, and no index twice in a step."""
    for m in (1, 2, 3, 6, 7):
        met = []
        for low, high in pairs(m):
            assert len({*low.tolist(), *high.tolist()}) == 2 * len(low)
            met += [(p, q) for p, q in zip(low.tolist(), high.tolist(), strict=True) if q < m]
        assert sorted(met) == [(p, q) for p in range(m) for q in range(p + 1, m)]


@slow("formats seldom fail apart", unless=lambda c: c["form"] in ("dd", "float32"))
@pytest.mark.parametrize("form", ["float32", "dd", "qs", "d+s", "ts2021"])
def test_the_reference_has_the_same_bits(device: Device, form: str) -> None:
    """Vectors and values of a small stack, on the host too."""
    host = discovery.get("host:0")
    given = inputs.ordinary(formats.get(form), (2, 5, 3), f"spectra {form}")
    results = []
    for where in (device, host):
        a = mp.from_limbs(given, form, where)
        square = a @ a.transpose(0, 2, 1)
        results.append([*linalg.eigh(square), *linalg.svd(a), linalg.pinv(a)])
    for mine, other in zip(*results, strict=True):
        for plane, wanted in zip(mine.to_limbs(), other.to_limbs(), strict=True):
            assert plane.tobytes() == wanted.tobytes()


def test_corrections_have_the_same_bits(device: Device) -> None:
    """A step of refinement, with rows that are apart and rows that are not."""
    from portmp.routines.jacobi import symmetric as routine

    form = formats.get("td")
    s, r = (inputs.ordinary(form, (9, 9), f"correction {x}") for x in "sr")
    found = routine.correction(
        mp.from_limbs(s, form, device).planes, mp.from_limbs(r, form, device).planes, 0.25
    )
    wanted = reference.correction(form, s, r, 0.25)
    for plane, other in zip(mp.Array(found).to_limbs(), wanted, strict=True):
        assert plane.tobytes() == other.tobytes()


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_matrix_norms_by_singular_values(device: Device, order: Any) -> None:
    a = np.random.default_rng(4).standard_normal((2, 4, 3))
    found = mp.linalg.matrix_norm(mp.array(a, "dd", device), ord=order, keepdims=True)
    assert found.shape == (2, 1, 1)
    wanted = [[[np.linalg.norm(one, order)]] for one in a]
    np.testing.assert_allclose(found.to_float64(), wanted, rtol=1e-13)


def _low_ranks(n: int) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(n)
    left, right = rng.integers(-3, 4, (n, 2)), rng.integers(-3, 4, (2, n))
    some = rng.standard_normal((n, n))
    some[:, n // 2] = some[0] = 0
    graph = np.tile([[0, 1, 0], [1, 0, 1], [0, 1, 0]], (-(-n // 3), -(-n // 3)))[:n, :n]
    return {
        "ones": np.ones((n, n)),
        "rank 2": (left @ right).astype(float),
        "graph": graph.astype(float),
        "zeros in rows and columns": some,
        "counted": np.arange(float(n * n)).reshape(n, n),
    }


@pytest.mark.parametrize("n", mostly_slow((3, 6, 24, 64), (3, 24), "sizes seldom fail apart"))
@pytest.mark.parametrize("form", ["float64", "dd", "ds"])
def test_low_rank(device: Device, form: str, n: int) -> None:
    """Columns of rounding errors have no directions; U and V are orthogonal all the same."""
    unit = mp.zeros((), form, device).format.unit_roundoff
    eye = mp.eye(n, dtype=form, device=device)
    for what, values in _low_ranks(n).items():
        a = mp.array(values, form, device)
        u, s, vh = linalg.svd(a)
        size = np.abs(values).sum()
        assert float(abs((u * s) @ vh - a).max()) <= 20 * n * unit * size, what
        for q in (u, vh.T):
            assert float(abs(q.T @ q - eye).max()) <= 20 * n * unit, what
        assert linalg.matrix_rank(a) == np.linalg.matrix_rank(values), what
        inverse = linalg.pinv(a)
        assert float(abs(a @ inverse @ a - a).max()) <= 1e4 * n * unit * size, what
