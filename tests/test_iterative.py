"""GMRES, MINRES and what all iterative methods multiply by; honest ends."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator
from slow import mostly_slow

import portmp as mp
from portmp import discovery
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError

N = 40
RNG = np.random.default_rng(8)
BASIS, _ = np.linalg.qr(RNG.standard_normal((N, N)))
EIGENVALUES = np.linspace(1, 9, N)
DEFINITE = (BASIS * EIGENVALUES) @ BASIS.T
INDEFINITE = (BASIS * (EIGENVALUES * (-1.0) ** np.arange(N))) @ BASIS.T
GENERAL = RNG.standard_normal((N, N)) / 8 + np.eye(N)
RIGHT = RNG.standard_normal(N)
MATRICES = {"cg": DEFINITE, "minres": INDEFINITE, "gmres": GENERAL}


def system(name: str, form: str, device: Device) -> tuple[mp.Array, mp.Array]:
    """A method's matrix, symmetric to the last bit where it has to be, and a right side."""
    matrix = MATRICES[name]
    if name != "gmres":
        matrix = (matrix + matrix.T) / 2
    a, b = (mp.array(v, "qd", device).astype(form) for v in (matrix, RIGHT))
    return a, b


def error(x: mp.Array, a: mp.Array, b: mp.Array) -> float:
    """The relative distance from the solution by elimination in qd."""
    exact = mp.linalg.solve(a.astype("qd"), b.astype("qd"))
    return float(mp.nrm2(x.astype("qd") - exact)) / float(mp.nrm2(exact))


def same(x: mp.Array, y: mp.Array) -> bool:
    """Whether all bits are the same."""
    pairs = zip(x.to_limbs(), y.to_limbs(), strict=True)
    return all(p.tobytes() == q.tobytes() for p, q in pairs)


@pytest.mark.parametrize("name", ["gmres", "minres"])
@pytest.mark.parametrize(
    "form",
    mostly_slow(
        ["float32", "float64", "ds", "dd", "ts", "td", "qs", "qd", "d+s"],
        ["float64", "dd", "qd"],
        "formats differ alike",
    ),
)
def test_full_accuracy(name: str, form: str, device: Device) -> None:
    """The residual's bound holds in each format, so the error is the condition number times it."""
    a, b = system(name, form, device)
    found = getattr(mp.linalg, name)(a, b)
    unit = b.format.unit_roundoff
    condition = np.linalg.cond(MATRICES[name])
    assert found.converged and found.x.format is b.format
    assert found.residual <= 16 * unit * (2 * condition + 1)
    assert error(found.x, a, b) <= 16 * unit * condition * (2 * condition + 1)
    assert found.residual == found.residuals[-1]
    assert sum(found.rounds) == found.iterations <= 3 * N


@pytest.mark.parametrize("name", ["cg", "gmres", "minres"])
def test_scipys_tolerances(name: str, device: Device) -> None:
    """The larger of rtol |b| and atol, whatever b's scale."""
    a, b = system(name, "dd", device)
    solve = getattr(mp.linalg, name)
    usual = solve(a, b)
    for power in (0, -300):
        side, scale = b * 2.0**power, 2.0**power
        size = float(np.linalg.norm(RIGHT))
        rough = solve(a, side, None, rtol=0.0, atol=1e-3 * size * scale)
        assert rough.converged and rough.residual <= 1e-3
        if name != "minres":  # whose last iteration finds all of this solution
            assert rough.residual > 1e-12 and rough.iterations < usual.iterations
        assert solve(a, side, atol=1e-3 * size * scale).iterations == rough.iterations
        same_goal = solve(a, side, rtol=1e-20, atol=1e-25 * scale)
        assert same(same_goal.x, solve(a, side, rtol=1e-20).x)
    assert not solve(a, b, b, rtol=0.5, atol=1e6 * size).rounds
    for wrong in (-1.0, float("nan"), float("inf"), "0"):
        with pytest.raises(ArgumentError, match=r"atol .* a finite number from 0 on is needed"):
            solve(a, b, atol=wrong)
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        solve(a, b, rtol=0.0)


def test_gmres_tells_x_after_each_round(device: Device) -> None:
    """SciPy's ``callback_type``."""
    a, b = system("gmres", "dd", device)
    told: list[mp.Array] = []
    found = mp.linalg.gmres(a, b, restart=5, callback=told.append, callback_type="x")
    assert len(told) == len(found.rounds) > 2
    left = [float(mp.nrm2(b - a @ x)) / float(mp.nrm2(b)) for x in told]
    assert left == sorted(left, reverse=True)
    norms: list[float] = []
    mp.linalg.gmres(a, b, restart=5, callback=norms.append, callback_type="pr_norm")
    assert len(norms) == found.iterations
    with pytest.raises(ArgumentError, match="callback_type 'norm' given"):
        mp.linalg.gmres(a, b, callback_type="norm")


@pytest.mark.parametrize("name", ["cg", "gmres", "minres"])
def test_kinds_of_operators(name: str, device: Device) -> None:
    """Dense, sparse, a function, SciPy's operator, an object with matvec; and the same in short."""
    a, b = system(name, "dd", device)
    solve = getattr(mp.linalg, name)
    dense = solve(a, b)
    duck = SimpleNamespace(shape=(N, N), matvec=lambda v: mp.gemv(a, v))
    kinds = {
        "sparse": mp.sparse.csr_array(a),
        "function": lambda v: mp.gemv(a, v),
        "SciPy": LinearOperator((N, N), matvec=lambda v: mp.gemv(a, v), dtype=object),
        "matvec": duck,
    }
    for kind, one in kinds.items():
        found = solve(one, b)
        assert found.converged, kind
        assert error(found.x, a, b) < 1e-27, kind
        if kind != "sparse" and name != "cg":
            assert same(found.x, dense.x), kind
    short = a.astype("float64").astype("fp64infp32")
    for one in (short, mp.sparse.csr_array(short)):
        found = solve(one, b.astype("float64"), rtol=1e-13)
        assert found.converged
        assert error(found.x, short.astype("float64"), b.astype("float64")) < 1e-11
        assert error(found.x, a, b) > 1e-9


@pytest.mark.parametrize("name", ["cg", "gmres", "minres"])
def test_preconditioners_starts_and_callbacks(name: str, device: Device) -> None:
    """An inverse rounded to few bits saves iterations; a start near the solution does, too."""
    a, b = system(name, "dd", device)
    solve = getattr(mp.linalg, name)
    plain = solve(a, b, rtol=1e-25)
    matrix = a.to_float64() if name != "minres" else DEFINITE
    inverse = np.linalg.inv(matrix).astype(np.float32)
    near = mp.array((inverse + inverse.T) / 2 if name != "gmres" else inverse, "dd", device)
    if name == "minres":  # definite, and the inverse of the matrix but for signs
        near = mp.array((BASIS / EIGENVALUES) @ BASIS.T, "dd", device)
        near = (near + near.T) / 2
    for size in (1.0, 1e-40, 1e40):
        scaled = near * size
        for m in (scaled, mp.sparse.csr_array(scaled), lambda v, m=scaled: mp.gemv(m, v)):
            found = solve(a, b, rtol=1e-25, M=m)
            assert found.converged and error(found.x, a, b) < 1e-23
            assert found.iterations < 0.6 * plain.iterations
    started = solve(a, b, rtol=1e-25, x0=plain.x * (1 + 2.0**-60))
    assert started.converged and started.iterations < plain.iterations
    at_end = solve(a, b, rtol=1e-20, x0=plain.x)
    assert at_end.rounds == () and same(at_end.x, plain.x)
    told: list[Any] = []
    watched = solve(a, b, rtol=1e-25, callback=told.append)
    assert same(watched.x, plain.x) and len(told) == watched.iterations
    if name == "gmres":
        assert told == sorted(told, reverse=True) and told[-1] <= 1e-25
    else:
        assert error(told[-1], a, b) < 1e-23 < error(told[2], a, b)


@pytest.mark.parametrize("name", ["gmres", "minres"])
@pytest.mark.parametrize("n", [0, 1, 2, 65])
def test_sizes(name: str, n: int, device: Device) -> None:
    """From nothing on, one element more than a block's, and zero right-hand sides."""
    rng = np.random.default_rng(n)
    values = rng.standard_normal((n, n))
    a = mp.array(values + values.T, "dd", device)
    b = mp.array(rng.standard_normal(n), "dd", device)
    solve = getattr(mp.linalg, name)
    found = solve(a, b)
    assert found.converged and found.x.shape == (n,)
    if n:
        assert error(found.x, a, b) < 1e-25 * np.linalg.cond(values + values.T)
    nothing = solve(a, b * 0)
    assert nothing.converged and nothing.rounds == () and (nothing.x == 0).all()


@pytest.mark.parametrize("name", ["gmres", "minres"])
@pytest.mark.parametrize("size", ["1e-30", "1e30"])
def test_products_do_not_underflow(name: str, size: str, device: Device) -> None:
    """Matrices, functions and right-hand sides near the ends of float32's range."""
    a = mp.array([[size, 0], [0, "-" + size]], "ts", device)
    b = mp.array([size, "2" + size[1:]], "ts", device)
    for one in (a, mp.sparse.csr_array(a), lambda v: mp.gemv(a, v)):
        found = getattr(mp.linalg, name)(one, b)
        assert found.converged
        assert np.abs(found.x.to_float64() - [1, -2]).max() < 1e-6
    tiny = getattr(mp.linalg, name)(a * 2.0**20, b)
    assert tiny.converged


@pytest.mark.parametrize("name", ["gmres", "minres"])
def test_ends_that_are_no_solutions(name: str, device: Device) -> None:
    """Too few iterations, a tolerance beyond the format, singular matrices: with the residual."""
    a, b = system(name, "float64", device)
    solve = getattr(mp.linalg, name)
    early = solve(a, b, maxiter=5)
    assert (early.converged, early.rounds) == (False, (5,))
    assert 1e-10 < early.residual < 1
    beyond = solve(a, b, rtol=1e-30)
    assert not beyond.converged and beyond.residual < 1e-13
    singular = mp.array(np.diag([2.0, -1.0, 0.0]), "dd", device)
    one = solve(singular, mp.array([2, 3, 0], "dd", device))
    assert one.converged and np.allclose(one.x.to_float64()[:2], [1, -3])
    none = solve(singular, mp.array([2, 3, 1], "dd", device))
    assert not none.converged
    assert none.residual == pytest.approx(1 / np.sqrt(14), rel=1e-9)
    zero = solve(singular * 0, mp.array([2, 3, 1], "dd", device))
    assert not zero.converged and zero.residual == 1
    turned = mp.array(np.roll(np.eye(6), 1, axis=0), "dd", device)
    if name == "gmres":  # no round but a full one helps
        start = mp.array([1, 0, 0, 0, 0, 0], "dd", device)
        stuck = solve(turned, start, restart=5)
        assert not stuck.converged and stuck.residual == 1
        assert solve(turned, start).converged


@pytest.mark.parametrize("name", ["gmres", "minres"])
def test_not_finite(name: str, device: Device) -> None:
    """Infinities and NaN of a, b and functions are named."""
    a, b = system(name, "dd", device)
    solve = getattr(mp.linalg, name)
    spoilt = a.copy()
    spoilt[3, 5] = float("inf")
    with pytest.raises(ArgumentError, match=f"{name}: infinities or NaN in iteration 1"):
        solve(spoilt, b)
    with pytest.raises(ArgumentError, match="a norm is nan"):
        solve(a, b * float("nan"))
    with pytest.raises(ArgumentError, match="infinities or NaN in iteration"):
        solve(lambda v: v / 0, b)


def test_restarts_and_short_rounds(device: Device) -> None:
    """Rounds of a few iterations reach the same accuracy, by more of them."""
    a, b = system("gmres", "dd", device)
    full, short = mp.linalg.gmres(a, b), mp.linalg.gmres(a, b, restart=20)
    assert full.rounds == (N,) and short.converged
    assert len(short.rounds) > 1 and set(short.rounds[:-1]) == {20}


def test_conjugate_gradients_with_other_operators(device: Device) -> None:
    """A sparse matrix read short, and SciPy's names of arguments."""
    a, b = system("cg", "dd", device)
    sparse = mp.sparse.csr_array(a)
    for inner in ("float64", sparse.astype("float64"), a.astype("float64")):
        found = mp.linalg.cg(sparse, b, inner=inner)
        assert found.converged and len(found.rounds) > 1
        assert error(found.x, a, b) < 1e-28
    few = mp.linalg.cg(sparse, b, maxiter=3)
    assert few.rounds == (3,) and not few.converged
    rough = mp.linalg.cg(sparse, b, rtol=1e-3)
    assert rough.converged and rough.residual <= 1e-3
    for size in ("1e-30", "1e30"):
        small = mp.array([[size, 0], [0, size]], "ts", device)
        right = mp.array([size, "2" + size[1:]], "ts", device)
        for one in (mp.sparse.csr_array(small), lambda v, a=small: mp.gemv(a, v)):
            found = mp.linalg.cg(one, right)
            assert found.converged
            assert np.abs(found.x.to_float64() - [1, 2]).max() < 1e-6


def test_bits_are_the_same_on_all_devices() -> None:
    """Iterations, residuals and every bit of the solution, also by way of a sparse matrix."""
    seen: dict[Any, set[Any]] = {}
    first = discovery.get()
    others = [d for d in discovery.devices() if d.properties.float64 and d is not first]
    for device in (first, *others[:1]):
        for name in ("cg", "gmres", "minres"):
            a, b = system(name, "dd", device)
            for kind, one in (("dense", a), ("sparse", mp.sparse.csr_array(a))):
                found = getattr(mp.linalg, name)(one, b, rtol=1e-22)
                limbs = b"".join(limb.tobytes() for limb in found.x.to_limbs())
                seen.setdefault((name, kind), set()).add((found.residuals, found.rounds, limbs))
    assert all(len(one) == 1 for one in seen.values())


@pytest.mark.parametrize("name", ["cg", "gmres", "minres"])
def test_bad_use(name: str, device: Device) -> None:
    """Each argument is named, with what is allowed."""
    a, b = system(name, "float64", device)
    sparse = mp.sparse.csr_array(a)
    solve = getattr(mp.linalg, name)
    calls: list[tuple[type[Exception], str, tuple[Any, ...], dict[str, Any]]] = [
        (ArgumentError, f"{name}: a: ndarray given", (DEFINITE, b), {}),
        (ArgumentError, f"{name}: b: list given", (a, [1.0]), {}),
        (ShapeError, "a must be square", (a[:, :3], b), {}),
        (ShapeError, "b (39,) does not fit", (sparse, b[1:]), {}),
        (FormatError, "a: format dd, b has float64", (sparse.astype("dd"), b), {}),
        (FormatError, "storage format", (a, b.astype("slfp64in32b")), {}),
        (ArgumentError, "a: the function gave ndarray", (lambda v: v.to_float64(), b), {}),
        (ShapeError, "a: the function gave (39,)", (lambda v: v[1:], b), {}),
        (FormatError, "what the function gave: format dd", (lambda v: v.astype("dd"), b), {}),
        (ShapeError, "does not fit a (3, 3)", (SimpleNamespace(shape=(3, 3), matvec=abs), b), {}),
        (ArgumentError, "0 given, a float between 0 and 1", (a, b), {"rtol": 0}),
        (ArgumentError, "0 given, a whole number", (a, b), {"maxiter": 0}),
        (ArgumentError, "x0: ndarray given", (a, b), {"x0": RIGHT}),
        (ShapeError, "x0 (39,) does not fit", (a, b), {"x0": b[1:]}),
        (FormatError, "x0: format dd", (a, b), {"x0": b.astype("dd")}),
        (ArgumentError, "M: str given", (a, b), {"M": "jacobi"}),
        (ShapeError, "M must be square", (a, b), {"M": a[1:]}),
        (ArgumentError, "callback: int given", (a, b), {"callback": 3}),
    ]  # fmt: skip
    if name == "gmres":
        calls.append((ArgumentError, "restart 0 given", (a, b), {"restart": 0}))
    else:
        calls.append((ArgumentError, "M is not positive definite", (a, b), {"M": lambda v: -v}))
    if name == "cg":
        calls += [
            (ArgumentError, "rtol: given beside", (a, b), {"rtol": 0.1, "tolerance": 0.1}),
            (ArgumentError, "a is a function", (lambda v: v, b), {"inner": "float32"}),
            (ArgumentError, "function is not positive definite", (lambda v: -v, b), {}),
        ]
    for kind, message, arguments, named in calls:
        with pytest.raises(kind, match=re.escape(message)):
            solve(*arguments, **named)
