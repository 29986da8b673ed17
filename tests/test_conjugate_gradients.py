"""Conjugate gradients: right in every kind of format, refined from short copies, honest ends."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow

import portmp as mp
from portmp import discovery
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.linalg import conjugate_gradients

N, CONDITION = 48, 1e3


def _matrix() -> np.ndarray[Any, Any]:
    """A symmetric matrix with eigenvalues from 1 down to 1e-3, spread evenly by logarithm."""
    rng = np.random.default_rng(5)
    basis, _ = np.linalg.qr(rng.standard_normal((N, N)))
    product = (basis * np.logspace(0, -np.log10(CONDITION), N)) @ basis.T
    return np.asarray((product + product.T) / 2)


MATRIX = _matrix()
RIGHT = np.random.default_rng(6).standard_normal(N)


def system(form: str, device: Device) -> tuple[mp.Array, mp.Array]:
    """The matrix and a right side, rounded to *form*."""
    matrix, right = (mp.array(v, "dd", device).astype(form) for v in (MATRIX, RIGHT))
    return matrix, right


def error(x: mp.Array, a: mp.Array, b: mp.Array) -> float:
    """The relative distance from the solution by elimination in qd."""
    exact = mp.linalg.solve(a.astype("qd"), b.astype("qd"))
    return float(mp.nrm2(x.astype("qd") - exact)) / float(mp.nrm2(exact))


@pytest.mark.parametrize(
    ("form", "inner"),
    mostly_slow(
        [
            ("float64", None),
            ("float64", "slfp64in32b"),
            ("float64", "slfp64in24b_rz"),
            ("dd", "slfp64in32b"),
            ("ds", None),
        ],
        [("float64", None), ("dd", "slfp64in32b")],
        "a short matrix is refined alike",
    ),
)
def test_full_accuracy(form: str, inner: str | None, device: Device) -> None:
    """Whatever iterations read: the residual's bound holds, so the error is cond times it."""
    a, b = system(form, device)
    found = mp.linalg.cg(a, b, inner=inner)
    assert found.converged
    assert found.x.format is b.format
    assert found.residual == found.residuals[-1]
    assert found.iterations == sum(found.rounds) <= 10 * N * b.format.limbs
    unit = b.format.unit_roundoff
    assert error(found.x, a, b) <= 16 * unit * CONDITION * (np.trace(MATRIX) + 1) * 1.1
    assert (len(found.rounds) > 1) == (inner is not None)


def test_short_matrix_alone(device: Device) -> None:
    """The rounded matrix's system is solved, not the given one's."""
    a, b = system("float64", device)
    short = a.astype("slfp64in32b")
    found = mp.linalg.cg(short, b, tolerance=1e-13)
    assert found.converged and len(found.rounds) == 1
    assert error(found.x, short.astype("float64"), b) < 1e-10
    assert 1e-8 < error(found.x, a, b) < 2.0**-21 * CONDITION * np.sqrt(N)


def test_tolerance_is_kept(device: Device) -> None:
    """And what is asked for saves iterations; reduction decides how many rounds they are."""
    a, b = system("float64", device)
    rough = mp.linalg.cg(a, b, tolerance=1e-4)
    assert rough.converged and rough.residual <= 1e-4
    assert rough.iterations < mp.linalg.cg(a, b).iterations
    short = a.astype("slfp64in32b")
    many = mp.linalg.cg(a, b, inner=short, tolerance=1e-10, reduction=0.3)
    few = mp.linalg.cg(a, b, inner=short, tolerance=1e-10, reduction=1e-3)
    assert many.converged and few.converged
    assert len(many.rounds) > len(few.rounds)


def test_ends_that_are_no_solutions(device: Device) -> None:
    """Too few iterations, a tolerance beyond the format, a copy too far off: said, not looped."""
    a, b = system("float64", device)
    early = mp.linalg.cg(a, b, iterations=20)
    assert (early.converged, early.rounds) == (False, (20,))
    assert early.residual < 1
    beyond = mp.linalg.cg(a, b, tolerance=1e-30)
    assert not beyond.converged
    assert beyond.residual < 1e-14
    far = mp.linalg.cg(a, b, inner=a * 10, tolerance=1e-10)
    assert not far.converged
    assert len(far.rounds) == 1
    assert far.residual == pytest.approx(0.9, rel=1e-2)


@pytest.mark.parametrize("inner", ["slfp64in16b", "slfp64in16b_rz"])
def test_too_short(inner: str, device: Device) -> None:
    """Rounding makes an eigenvalue negative: the format and what it means are named."""
    a, b = system("float64", device)
    rounded = a.astype(inner)
    assert np.linalg.eigvalsh(rounded.to_float64())[0] < 0
    message = f"matrix in {inner} is not positive definite.*in iteration .*more bits"
    with pytest.raises(ArgumentError, match=message):
        mp.linalg.cg(a, b, inner=inner)


def test_matrices_that_are_not_definite(device: Device) -> None:
    """Indefinite, zero, with a NaN, or beyond the short copy's range."""
    a, b = system("float64", device)
    for bad, message in (
        (-a, "not positive definite"),
        (a * 0, "not positive definite"),
        (a * float("nan"), "infinities or NaN"),
    ):
        with pytest.raises(ArgumentError, match=message):
            mp.linalg.cg(bad, b, tolerance=1e-9)
    for value in (np.nan, np.inf):
        with pytest.raises(ArgumentError, match=r"diagonal sums to (nan|inf)"):
            mp.linalg.cg(a + mp.array(np.diag([value] + [0.0] * (N - 1)), "float64", device), b)
    with pytest.raises(ArgumentError, match="norm is nan"):
        mp.linalg.cg(a, b * float("nan"))
    with pytest.raises(ArgumentError, match=r"matrix in float32 .*beyond the format's range"):
        mp.linalg.cg(a * 1e40, b, inner="float32")


def test_traces_beyond_the_range_of_a_short_format(device: Device) -> None:
    """They are summed in the format that computes."""
    a = mp.array(300 * np.eye(300), "float16", device)
    found = mp.linalg.cg(a, mp.array(np.ones(300), "float32", device))
    assert found.converged
    assert np.allclose(found.x.to_float64(), 1 / 300, rtol=1e-6)


def test_sizes_of_right_sides(device: Device) -> None:
    """Squares of residuals do not underflow; zero and nothing are solved at once."""
    a, b = system("float64", device)
    usual = mp.linalg.cg(a, b, inner="slfp64in32b", tolerance=1e-12)
    small = mp.linalg.cg(a, b * 2.0**-700, inner="slfp64in32b", tolerance=1e-12)
    assert (small.x == usual.x * 2.0**-700).all()
    assert small.rounds == usual.rounds
    zero = mp.linalg.cg(a, b * 0)
    assert zero.converged and zero.rounds == () and (zero.x == 0).all()
    nothing = mp.linalg.cg(mp.zeros((0, 0), "float64", device), mp.zeros(0, "float64", device))
    assert nothing.converged and nothing.x.shape == (0,)
    view = mp.array(np.ascontiguousarray(MATRIX[::-1, ::-1]), "float64", device)[::-1, ::-1]
    assert (mp.linalg.cg(view, b).x == mp.linalg.cg(a, b).x).all()


def test_iterations_launched_ahead_change_nothing(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither bits nor iterations; and hardly any are for nothing, none beyond the limit."""
    launched: list[int] = []
    run = conjugate_gradients._Iterates.run

    def counted(work: Any, count: int) -> list[tuple[float, float]]:
        launched.append(count)
        return run(work, count)

    monkeypatch.setattr(conjugate_gradients._Iterates, "run", counted)
    a, b = system("dd", device)
    found = set()
    for ahead in (2, 3, 8):
        monkeypatch.setattr(conjugate_gradients, "AHEAD", ahead)
        for most in (7, None):
            launched.clear()
            one = mp.linalg.cg(a, b, inner="slfp64in32b", iterations=most)
            assert max(launched) == ahead or most
            assert one.iterations <= sum(launched) <= (most or 1.1 * one.iterations)
            limbs = b"".join(limb.tobytes() for limb in one.x.to_limbs())
            found.add((most, one.rounds, one.residuals, limbs))
    assert len(found) == 2
    launched.clear()
    easy = mp.array(np.eye(N) + 1.0, "float64", device)
    assert mp.linalg.cg(easy, b.astype("float64")).iterations == sum(launched) == 2


def test_bits_are_the_same_on_all_devices() -> None:
    """Iterations, residuals and every bit of the solution, on the first two that are found."""
    found = set()
    for device in [d for d in discovery.devices() if d.properties.float64][:2]:
        a, b = system("float64", device)
        one = mp.linalg.cg(a, b, inner="slfp64in24b_rz")
        found.add((one.rounds, one.residuals, one.x.to_limbs()[0].tobytes()))
    assert len(found) == 1


def test_bad_use(device: Device) -> None:
    """Each argument is named, with what is allowed."""
    a, b = system("float64", device)
    calls: list[tuple[type[Exception], str, tuple[Any, ...], dict[str, Any]]] = [
        (ArgumentError, "cg: a: ndarray given", (MATRIX, b), {}),
        (ArgumentError, "cg: b: list given", (a, [1.0]), {}),
        (ShapeError, "a must be square", (a[:, :3], b), {}),
        (ShapeError, "b (47,) does not fit", (a, b[1:]), {}),
        (ShapeError, "does not fit", (a, a), {}),
        (FormatError, "a: format dd, b has float64", (a.astype("dd"), b), {}),
        (FormatError, "storage format", (a, b.astype("slfp64in32b")), {}),
        (FormatError, "did you mean 'slfp64in32b'", (a, b), {"inner": "slfp64in32"}),
        (ShapeError, "inner has shape (3, 48)", (a, b), {"inner": a[:3]}),
        (ArgumentError, "tolerance 0 given", (a, b), {"tolerance": 0}),
        (ArgumentError, "tolerance nan given", (a, b), {"tolerance": float("nan")}),
        (ArgumentError, "tolerance 'x' given", (a, b), {"tolerance": "x"}),
        (
            ArgumentError,
            "reduction 0.5 given, a float between 0 and 0.5",
            (a, b),
            {"reduction": 0.5},
        ),
        (ArgumentError, "iterations 2.5 given", (a, b), {"iterations": 2.5}),
        (ArgumentError, "iterations 0 given", (a, b), {"iterations": 0}),
    ]
    for kind, message, arguments, named in calls:
        with pytest.raises(kind, match=re.escape(message)):
            mp.linalg.cg(*arguments, **named)


@pytest.mark.parametrize("size", ["1e-30", "1e30"])
def test_products_do_not_underflow(device: Device, size: str) -> None:
    """A matrix whose products with directions would leave float32's range."""
    a = mp.array([[size, 0], [0, size]], "ts", device)
    b = mp.array([size, "2" + size[1:]], "ts", device)
    found = mp.linalg.cg(a, b)
    assert found.converged
    assert np.abs(found.x.to_float64() - [1, 2]).max() < 1e-6


def test_sizes_that_differ(device: Device) -> None:
    """A small matrix and a right side near 1, so that solutions are large, and the other way."""
    a, b = (mp.array(v, "qd", device).astype("ts") for v in (MATRIX, RIGHT))
    usual = mp.linalg.cg(a, b)
    for power in (-80, 80):
        found = mp.linalg.cg(a * 2.0**power, b)
        assert found.residuals == usual.residuals
        assert (found.x == usual.x * 2.0**-power).all()
