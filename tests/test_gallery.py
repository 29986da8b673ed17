"""The gallery: each file's results against exact ones, and their bits on interpreted devices."""

from __future__ import annotations

import importlib.util
import runpy
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import slow
from tiers import INTERPRETED, check, interpreted

import portmp as mp
from portmp.backends.base import Device

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
NAMES = sorted(file.stem for file in GALLERY.glob("*.py"))


@cache
def gallery(name: str) -> Any:
    """A file of the gallery as a module."""
    spec = importlib.util.spec_from_file_location(name, GALLERY / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planes(found: Any) -> list[bytes]:
    """All bits of an array, or of several."""
    if isinstance(found, tuple):
        return [plane for one in found for plane in planes(one)]
    plain = isinstance(found, mp.PlainArray)
    return [plane.tobytes() for plane in ([found.to_numpy()] if plain else found.to_limbs())]


SMALLER: dict[str, dict[str, Any]] = {
    "boundary": {"size": 8},
    "mandelbrot": {"size": 16},
    "schroedinger": {"n": 64, "steps": 1},
}
"""What interpreters, which take their time, are asked for."""


@pytest.mark.parametrize("name", NAMES)
def test_results(name: str, device: Device) -> None:
    """What a file computes is right."""
    RIGHT[name](gallery(name).main(device.name))


@slow(
    "each on one kind of wave; test_mutants.py runs them on those of 64 lanes, too",
    unless=lambda p: (
        p["name"] == "prefix_sum" or NAMES.index(p["name"]) % 2 == INTERPRETED.index(p["other"])
    ),
)
@pytest.mark.parametrize("other", INTERPRETED)
@pytest.mark.parametrize("name", NAMES)
def test_bits(name: str, other: str, device: Device) -> None:
    """The same on the default device and on interpreted ones."""
    main, asked = gallery(name).main, SMALLER.get(name, {})
    assert planes(main(device.name, **asked)) == planes(main(interpreted(other).name, **asked))


KERNELS: dict[str, Callable[[Any], Sequence[mp.Kernel]]] = {
    "axpy": lambda file: [file.axpy],
    "boundary": lambda file: [file.boundary(form) for form in file.FORMATS],
    "heat": lambda file: [file.step],
    "histogram": lambda file: [file.histogram],
    "lennard_jones": lambda file: [file.forces("dd")],
    "mandelbrot": lambda file: [file.escape(form) for form in ("float64", "dd", "qd")],
    "mixed": lambda file: [file.row_sums],
    "monte_carlo": lambda file: [file.draw],
    "prefix_sum": lambda file: [file.within],
    "schroedinger": lambda file: [file.turn("complex64", "float32"), file.turn("cqd", "qd")],
    "solver4": lambda file: [file.solve(form) for form in ("float64", "dd")],
    "transpose": lambda file: [file.transpose],
}
"""One kernel of each module."""


@pytest.mark.parametrize("name", NAMES)
def test_compiled_for_nvidia(name: str) -> None:
    """For sm_90: no kernel spills registers or needs private memory."""
    check("nvrtc")
    for kernel in KERNELS[name](gallery(name)):
        for report in kernel.compile("cuda", "sm_90"):
            assert report.registers and not report.spills and not report.scratch, report.row()


# --- exact results ------------------------------------------------------------------------------


def _axpy(y: mp.Array) -> None:
    assert y.to_strings(60) == mp.array(["0.32"] * 1000, "qd").to_strings(60)


def _transpose(found: tuple[mp.Array, mp.Array]) -> None:
    a, b = found
    assert (b == a.T).all()


def _prefix_sum(y: mp.Array) -> None:
    tenth = mp.array("0.1", "dd").to_fractions()
    for i, one in enumerate(y.to_fractions()):
        assert abs(one - (i + 1) * tenth) <= (i + 1) * tenth * 2**-98


def _heat(u: mp.Array) -> None:
    found = u.to_float64()
    expected = np.zeros((40, 53))
    expected[0] = 1
    for _ in range(10):
        inner = expected[1:-1, 1:-1]
        around = expected[1:-1, :-2] + expected[1:-1, 2:] + expected[:-2, 1:-1] + expected[2:, 1:-1]
        expected[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    assert np.abs(found - expected).max() < 1e-13


def _mixed(found: tuple[mp.Array, mp.Array]) -> None:
    a, sums = found
    assert sums.to_fractions() == [sum(row) for row in a.to_fractions()]


def _histogram(found: tuple[mp.PlainArray, mp.PlainArray]) -> None:
    k, count = found
    assert (count.to_numpy() == np.bincount(k.to_numpy(), minlength=256)).all()


def _solver4(found: tuple[mp.Array, mp.Array, mp.Array]) -> None:
    assert solved_within(*found) < 1e-22


def _lennard_jones(found: tuple[mp.Array, mp.Array]) -> None:
    assert forces_within(*found) < 1e-28


def _mandelbrot(found: tuple[mp.PlainArray, ...]) -> None:
    """Counts by exact orbits (400 bits) of points drawn at random; float64 sees one point."""
    file = gallery("mandelbrot")
    for place, (x, y, width) in enumerate(file.PLACES.values()):
        ruin, count = (one.to_numpy() for one in found[2 * place : 2 * place + 2])
        size = len(count)
        assert (ruin == ruin[0, 0]).all()
        assert len(np.unique(count)) > 100 and count[size // 2, size // 2] == file.MOST
        step = Fraction(width) / size
        for i, j in np.random.default_rng(1).integers(0, size, (150, 2)).tolist():
            c = Fraction(x) + (j - size // 2) * step, Fraction(y) + (size // 2 - i) * step
            assert count[i, j] == steps(*c, file.MOST), (i, j)


def _boundary(found: tuple[mp.Array, ...]) -> None:
    """Distances by 400 bits of points drawn at random; complex128's rows repeat, then all do."""
    file = gallery("boundary")
    rows = [len({row.tobytes() for row in one.to_float64()}) for one in found]
    size = found[0].shape[0]
    assert rows[0] <= 11 and rows[2] == 1 and rows[1] == rows[3] == size
    assert len(np.unique(found[2].to_float64())) == 1
    c = mp.array(file.CENTRE, "cqd")
    middle = c.real.to_fractions(), c.imag.to_fractions()
    for width, one in zip(file.WIDTHS, found[1::2], strict=True):
        step, distance = Fraction(width) / size, one.to_float64()
        for i, j in np.random.default_rng(2).integers(0, size, (60, 2)).tolist():
            x, y = middle[0] + (j - size // 2) * step, middle[1] + (size // 2 - i) * step
            exact = away(x, y, file.MOST) / step
            assert abs(distance[i, j] - exact) <= 1e-6 * exact or exact < 1e-2, (i, j)


def _monte_carlo(counts: mp.PlainArray) -> None:
    """The counts of the same points by NumPy; of each thread's, then of each warp's."""
    file, threads = gallery("monte_carlo"), 32 * counts.size
    i = np.arange(file.POINTS // 2, dtype=np.uint64)
    drawn = philox((i & ONES, i >> np.uint64(32), i * 0, i * 0), (2011, 0))
    pairs = np.stack(drawn).reshape(2, 2, -1) >> np.uint64(1)
    inside = ((pairs**2).sum(axis=1) < 2**62).sum(axis=0).reshape(-1, threads).sum(axis=0)
    assert (counts.to_numpy() == inside.reshape(-1, 32).sum(axis=1)).all()
    assert abs(4 * inside.sum() / file.POINTS - np.pi) < 3 * 1.65 / file.POINTS**0.5


RIGHT: dict[str, Callable[[Any], None]] = {
    "axpy": _axpy,
    "boundary": _boundary,
    "heat": _heat,
    "histogram": _histogram,
    "lennard_jones": _lennard_jones,
    "mandelbrot": _mandelbrot,
    "mixed": _mixed,
    "monte_carlo": _monte_carlo,
    "prefix_sum": _prefix_sum,
    "schroedinger": lambda found: waves_within(*found, most=1e-29),
    "solver4": _solver4,
    "transpose": _transpose,
}


# --- forces -------------------------------------------------------------------------------------

ERRORS = {"float64": (1, 1, 1), "dd": (2, 7, 16), "qd": (16, 16, 21)}
"""Of add, mul and div in units of the format's roundoff (docs/bits.md)."""


def forces_within(position: mp.Array, force: mp.Array) -> float:
    """The largest error of a force, which none has beyond its bound; by numbers of 400 bits.

    Differences of coordinates are exact here, which the bound uses. To first order it is the sum
    of the relative errors of all operations on the way to a term, times the terms' magnitudes.
    """
    with precise():
        points, found = wide(position), wide(force)
        add, mul, div = ERRORS[position.format.name]
        errors, bounds = [], []
        for one, got in zip(points, found, strict=True):
            exact, size, pairs = [0] * 3, [0] * 3, 0
            for r in near(one, points):
                s = 1 / sum(d * d for d in r)
                strength, most = 24 * s**4 * (2 * s**3 - 1), 24 * s**4 * (2 * s**3 + 1)
                exact = [f + strength * d for f, d in zip(exact, r, strict=True)]
                size = [f + most * abs(d) for f, d in zip(size, r, strict=True)]
                pairs += 1
            operations = 7 * (mul + 2 * add + div) + 8 * mul + 2 * add + pairs * add
            unit = position.format.unit_roundoff * operations * 1.01
            errors.append([abs(f - e) for f, e in zip(got, exact, strict=True)])
            bounds.append([unit * one for one in size])
        assert (np.array(errors) <= np.array(bounds)).all()
        assert (abs(sum(np.array(found))) <= sum(np.array(bounds))).all()
        return float(np.max(errors))


def near(one: Sequence[Any], points: Sequence[Sequence[Any]]) -> Iterable[list[Any]]:
    """The ways to the nearest images of all others within the cut-off."""
    file = gallery("lennard_jones")
    for other in points:
        r = [a - b for a, b in zip(one, other, strict=True)]
        r = [min((d, d - file.BOX, d + file.BOX), key=abs) for d in r]
        square = sum(d * d for d in r)
        assert abs(square - file.CUT**2) > 1e-9
        if other is not one and square < file.CUT**2:
            yield r


def precise() -> Any:
    """A context in which gmpy2's numbers have 400 bits."""
    gmpy2 = pytest.importorskip("gmpy2")
    return gmpy2.context(gmpy2.get_context(), precision=400)


def wide(array: mp.Array) -> list[list[Any]]:
    """A matrix in gmpy2's numbers, which hold it exactly."""
    from gmpy2 import mpfr, mpq

    return [[mpfr(mpq(one)) for one in row] for row in array.to_fractions()]


@pytest.mark.parametrize(("form", "most"), [("float64", 1e-13), ("qd", 1e-60)])
def test_forces_in_other_formats(form: str, most: float, device: Device) -> None:
    """With the bounds of their own arithmetic."""
    assert 0 < forces_within(*gallery("lennard_jones").main(device.name, form)) < most


@pytest.mark.parametrize("form", ["float64", "dd"])
def test_two_atoms_pull_alike(form: str, device: Device) -> None:
    """Newton's third law, bit for bit: also through the box's walls, and beyond the cut-off."""
    file = gallery("lennard_jones")
    for x in ("0.7", "1.3", "2.4", "2.6", "6.6", "7.1"):
        points = mp.array([["0.1", "0.2", "0.3"], [x, "7.2", "1.1"]], form, device)
        here, there = file.forces(form)(points)
        assert (here == -there).all()
        beyond = x == "2.6"
        assert bool((here == 0).all()) is beyond


# --- systems ------------------------------------------------------------------------------------


def inverse(matrix: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """By Gauss and Jordan, exactly."""
    n = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[n:] for row in rows]


def total(a: Iterable[Fraction], b: Iterable[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def solved_within(a: mp.Array, b: mp.Array, x: mp.Array) -> float:
    """The largest error, which none has beyond its bound.

    Higham, Accuracy and Stability of Numerical Algorithms, theorem 9.4: x solves a system whose
    matrix differs from A by at most 3 n u |L| |U|; with partial pivoting, |L| <= 1 and |U| is at
    most 2^(n-1) of the largest entry.
    """
    unit = Fraction(a.format.unit_roundoff) * max(ERRORS[a.format.name]) * Fraction(101, 100)
    worst = Fraction(0)
    for m, right, got in zip(*(one.to_fractions() for one in (a, b, x)), strict=True):
        inverted = inverse(m)
        largest = max(abs(entry) for row in m for entry in row)
        residual = 3 * 4 * unit * 4 * 2**3 * largest * sum(map(abs, got))
        for row, one in zip(inverted, got, strict=True):
            error = abs(one - total(row, right))
            assert error <= residual * sum(map(abs, row))
            worst = max(worst, error)
    return float(worst)


@pytest.mark.parametrize(("form", "most"), [("float64", 1e-6), ("qd", 1e-54)])
def test_systems_in_other_formats(form: str, most: float, device: Device) -> None:
    """With the bounds of their own arithmetic."""
    assert 0 < solved_within(*gallery("solver4").main(device.name, form)) < most


def test_rows_are_exchanged(device: Device) -> None:
    """All 24 permutation matrices, and matrices near them; a singular one."""
    draw = np.random.default_rng(4)
    permuted = np.array([np.eye(4)[list(order)] for order in permutations(range(4))])
    a = np.concatenate([permuted, permuted + 2.0**-60 * draw.random((24, 4, 4))])
    b = draw.integers(-9, 9, (48, 4))
    given = mp.array(a, "dd", device), mp.array(b, "dd", device)
    x = gallery("solver4").solve("dd")(*given)
    assert (x[:24].to_float64() == (permuted.transpose(0, 2, 1) @ b[:24, :, None])[..., 0]).all()
    assert solved_within(*given, x) < 1e-29
    nothing = mp.zeros((1, 4, 4), "dd", device), mp.array([[1, 2, 3, 4]], "dd", device)
    assert not np.isfinite(gallery("solver4").solve("dd")(*nothing).to_float64()).any()


# --- orbits -------------------------------------------------------------------------------------


def steps(x: Fraction, y: Fraction, most: int) -> int:
    """Steps of the orbit of x + iy until it is beyond 2."""
    with precise():
        from gmpy2 import mpfr, mpq

        cx, cy, zx, zy = mpfr(mpq(x)), mpfr(mpq(y)), mpfr(0), mpfr(0)
        for k in range(most):
            if zx * zx + zy * zy > 4:
                return k
            zx, zy = zx * zx - zy * zy + cx, 2 * zx * zy + cy
        return most


def away(x: Fraction, y: Fraction, most: int) -> Fraction:
    """The distance of x + iy from the set, estimated where its orbit is beyond 1000."""
    with precise():
        from gmpy2 import log, mpc, mpfr, mpq

        c, z, slope = mpc(mpfr(mpq(x)), mpfr(mpq(y))), mpc(0), mpc(0)
        for _ in range(most):
            slope, z = 2 * z * slope + 1, z * z + c
            if abs(z) > 1000:
                return Fraction(mpq(2 * abs(z) * log(abs(z)) / abs(slope)))
        return Fraction(0)


@pytest.mark.parametrize(("place", "period", "digits"), [("dd", 36, 40), ("qd", 76, 70)])
def test_centres_come_back(place: str, period: int, digits: int) -> None:
    """A Newton step towards the point whose orbit comes back to 0 is below the digits given."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(120):
        c = mpmath.mpc(*gallery("mandelbrot").PLACES[place][:2])
        z = slope = mpmath.mpc(0)
        for k in range(period):
            slope, z = 2 * z * slope + 1, z * z + c
            assert k == period - 1 or abs(z) > mpmath.mpf(10) ** -20
        assert abs(z / slope) < mpmath.mpf(10) ** -digits


# --- waves --------------------------------------------------------------------------------------


def waves_within(first: mp.Array, after: mp.Array, back: mp.Array, most: float) -> None:
    """Waves by 400 bits, forth; back they are what they were. Each turn errs by a few units."""
    file = gallery("schroedinger")
    n, steps = len(first), 200
    with precise():
        from gmpy2 import cos, exp, mpc, mpfr, mpq, sin

        def wide(wave: mp.Array) -> list[Any]:
            pairs = zip(wave.real.to_fractions(), wave.imag.to_fractions(), strict=True)
            return [mpc(mpfr(mpq(a)), mpfr(mpq(b))) for a, b in pairs]

        step = mpfr(file.STEP)
        wall = exp(mpc(0, -2 * step))
        psi = start = wide(first)
        for _ in range(steps):
            for even in (0, 1):
                psi = [
                    cos(step) * one + mpc(0, sin(step)) * psi[(k + 1 - 2 * ((k + even) % 2)) % n]
                    for k, one in enumerate(psi)
                ]
            psi = [one * (wall if 0 <= k - n // 2 < 4 else 1) for k, one in enumerate(psi)]
        error = max(abs(a - b) for a, b in zip(wide(after), psi, strict=True))
        lost = max(abs(a - b) for a, b in zip(wide(back), start, strict=True))
        assert 0 < error < most and 0 < lost < most
        assert abs(sum(abs(one) ** 2 for one in psi) - 1) < 20 * first.format.unit_roundoff
        through = float(sum(abs(one) ** 2 for one in psi[n // 2 + 4 :]))
        assert 0.03 < through < 0.05


@pytest.mark.parametrize(("form", "most"), [("float32", 1e-4), ("float64", 1e-12), ("qd", 1e-61)])
def test_waves_in_other_formats(form: str, most: float, device: Device) -> None:
    """With the digits of their own arithmetic."""
    waves_within(*gallery("schroedinger").main(device.name, form), most=most)


@pytest.mark.parametrize("name", ["boundary", "schroedinger"])
def test_as_commands(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the files print by themselves."""
    monkeypatch.setattr("sys.argv", [f"{name}.py"])
    runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    if name == "boundary":
        assert len(lines) == 32 and not lines[20][:32].strip() and lines[20][33:].strip()
    else:
        assert [line.partition(":")[0] for line in lines] == ["float64", "dd", "qd"]


# --- random numbers -----------------------------------------------------------------------------

ONES = np.uint64(0xFFFFFFFF)
ANSWERS = [
    # counter, key, numbers: the known answers that come with Random123 (Salmon et al. 2011)
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def philox(counter: Any, key: tuple[int, int]) -> tuple[Any, Any, Any, Any]:
    """Philox4x32-10 of counters, by NumPy's integers of 64 bits."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p, q = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        half = np.uint64(32)
        c0, c1, c2, c3 = (
            (q >> half) ^ c1 ^ np.uint64(k0), q & ONES, (p >> half) ^ c3 ^ np.uint64(k1), p & ONES
        )  # fmt: skip
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def words(texts: Iterable[str]) -> list[list[int]]:
    return [[int(word, 16) for word in text.split()] for text in texts]


def test_known_answers(anywhere: Device) -> None:
    """Philox's, on every device, and of the reference that other tests use."""
    counter, key, expected = (words(column) for column in zip(*ANSWERS, strict=True))
    given = (mp.plain_array(one, "uint32", anywhere) for one in (counter, key))
    assert gallery("monte_carlo").draw(*given).to_numpy().tolist() == expected
    for c, k, numbers in zip(counter, key, expected, strict=True):
        assert list(map(int, philox(np.array(c, np.uint64), (k[0], k[1])))) == numbers


def test_blocks_change_no_count(device: Device) -> None:
    """Nor does how points are cut among threads."""
    main = gallery("monte_carlo").main
    assert main(device.name, 3).to_numpy().sum() == main(device.name, 16).to_numpy().sum()
