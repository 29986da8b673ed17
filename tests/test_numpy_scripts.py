"""Scripts as NumPy users write them: only the module is another one, and digits are more."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp.errors import ArgumentError, FormatError, PlaceError, ShapeError, UnsupportedError

Script = Callable[[Any], list[Any]]


def polynomial_fit(xp: Any) -> list[Any]:
    """By polyfit, by QR, by normal equations."""
    x = xp.linspace(0, 1, 50)
    y = 3 * x**3 - 2 * x**2 + x - 1
    v = xp.stack([x**k for k in range(4)], axis=1)
    q, r = xp.linalg.qr(v)
    found = [xp.polyfit(x, y, 3), xp.linalg.solve(r, q.T @ y), xp.linalg.lstsq(v, y)[0]]
    found.append(xp.linalg.solve(v.T @ v, v.T @ y))
    apart = xp.abs(xp.vander(x, 4, increasing=True) - v).max()
    return [*found, xp.polyval(found[0], x), apart]


def eigen_iteration(xp: Any) -> list[Any]:
    """Power iteration, deflation, and the QR algorithm, on a Hilbert matrix."""
    n = 5
    a = xp.array([[1 / (i + j + 1) for j in range(n)] for i in range(n)])
    v = xp.ones(n)
    v = v / xp.linalg.norm(v)
    for _ in range(60):
        w = a @ v
        largest = v @ w
        v = w / xp.linalg.norm(w)
    rest = a - largest * xp.outer(v, v)
    turned = a.copy()
    for _ in range(20):
        q, r = xp.linalg.qr(turned)
        turned = r @ q
    values = xp.sort(xp.diag(turned))[::-1]
    assert float(xp.linalg.norm(a @ v - largest * v)) < 1e-14
    assert xp.argmax(values) == 0 and xp.isclose(values[0], largest)
    return [largest, xp.trace(rest), values[:3], xp.abs(v)]


def gram_schmidt(xp: Any) -> list[Any]:
    """Modified, by elements of arrays that are filled; and by columns."""
    i = xp.arange(12)
    a = xp.cos(xp.outer(i + 1.0, xp.arange(6) + 1.0))
    q, r = xp.zeros((12, 6)), xp.zeros((6, 6))
    for j in range(6):
        v = a[:, j].copy()
        for k in range(j):
            r[k, j] = xp.dot(q[:, k], v)
            v -= r[k, j] * q[:, k]
        r[j, j] = xp.sqrt(xp.sum(v**2))
        q[:, j] = v / r[j, j]
    other = xp.empty_like(a)
    for k, column in enumerate(a.T):
        rest = column - other[:, :k] @ (other[:, :k].T @ column)
        other[:, k] = rest / xp.linalg.norm(rest)
    assert xp.count_nonzero(xp.tril(r, -1)) == 0 and xp.allclose(q @ r, a)
    return [q, r, other, xp.hstack([a, q]), xp.vstack((a, q)), xp.round(r[0], 3), a.std()]


def ode_steps(xp: Any) -> list[Any]:
    """Runge and Kutta's steps, Lorenz's system by Euler's, integrals."""

    def slope(y: Any) -> Any:
        return xp.array([y[1], -y[0]])

    h, y = 1 / 32, xp.array([1.0, 0.0])
    ways = [y]
    for _ in range(32):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
        ways.append(y)
    way = xp.array(ways)
    t = xp.linspace(0, 1, 33)
    off = xp.abs(way[:, 0] - xp.cos(t))
    state = xp.array([1.0, 1.0, 1.0])
    for _ in range(20):
        x, y, z = state
        state = state + 0.001 * xp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 * z / 3])
    energy = 0.5 * (way[:, 0] ** 2 + way[:, 1] ** 2)
    assert xp.all(xp.abs(energy - 0.5) < 1e-5)
    integral = (getattr(xp, "trapezoid", None) or xp.trapz)(energy, t)
    angle = xp.arctan2(way[:, 1], way[:, 0])
    return [way, state, t[xp.argmax(off)], xp.diff(energy) * 1e6, integral, xp.degrees(angle)]


def sums(xp: Any) -> list[Any]:
    """Series and statistics, where float64 loses nothing that counts."""
    k = xp.arange(1, 501) * 1.0
    inverse = 1 / k
    signs = (-1.0) ** xp.arange(500)
    place = xp.where(k > 498)[0]
    ends = [xp.percentile(inverse, 25), xp.quantile(inverse, [0.5, 0.9]), xp.median(k)]
    return [
        xp.sum(inverse),
        xp.cumsum(1 / k**2)[-1] - xp.pi**2 / 6,
        (signs / (2 * xp.arange(500) + 1)).sum() * 4,
        xp.prod(k[:20]),
        [k.mean(), k.var(), k.min(), k.max(), xp.dot(k, k)],
        [len(k), 7 in k, int(xp.any(k == 7)), place, k[k % 125 == 0]],
        [xp.arcsin(inverse[1:]), xp.arctan(k), xp.radians(k), xp.clip(k, 3, 5)],
        *ends,
    ]


def image(xp: Any) -> list[Any]:
    """An iteration of all points at once, and how the picture's shades are spread."""
    cx, cy = xp.meshgrid(xp.linspace(-2.0, 0.6, 24), xp.linspace(-1.25, 1.25, 16))
    zx, zy = xp.zeros_like(cx), xp.zeros_like(cy)
    count = xp.zeros(cx.shape, dtype=int)
    for _ in range(20):
        alive = zx * zx + zy * zy < 4
        zx, zy = (
            xp.where(alive, zx * zx - zy * zy + cx, zx),
            xp.where(alive, 2 * zx * zy + cy, zy),
        )
        count[alive] += 1
    shades = count / count.max()
    spread, edges = xp.histogram(shades.ravel(), bins=5)
    both = xp.union1d(count, xp.arange(3)), xp.intersect1d(count, xp.arange(3))
    found = [count, shades, xp.bincount(count.ravel()), xp.unique(count), spread, edges, *both]
    return [*found, xp.setdiff1d(count, xp.arange(3)), xp.moveaxis(cx[None], 0, -1), xp.flip(cx)]


def polynomials(xp: Any) -> list[Any]:
    """As objects, and all that a fit tells."""
    p, q = xp.poly1d([1.0, -6, 11, -6]), xp.poly1d([2.0, 0.5])
    x = xp.linspace(-1, 2, 20)
    found = [p(x), p(0.25), p(q).c, (p + q).c, (p - 1).c, (1 - p).c, (3 * p * q).c, (q**3).c]
    found += [(p / 2).c, *(one.c for one in p / q), p.deriv().c, p.integ(2, k=[1, 2]).c, p[1], p[9]]
    found += [xp.poly1d([1, 2], r=True).c, p.order, len(p), (-p).coeffs, list(p)[1], p.deriv(9).c]
    q[3] = 4
    found += [q.c, p == xp.poly1d(p), p != q, xp.sort(xp.poly1d([1.0, -3, 2]).r.real)]
    objects = [xp.polyder(p), xp.polyint(p, 2), xp.polymul(p, [1, 2]), xp.polyadd([1.0], p)]
    objects += [xp.polysub(p, q), *xp.polydiv(p, q), xp.polyval(q, p), xp.polyder(p, 4)]
    found += [one.c for one in objects] + [xp.polyval(p, x), xp.sort(xp.roots(p).real)]
    y = xp.cos(x)
    for options in ({}, {"w": x * x + 1}):
        found += xp.polyfit(x, y, 3, full=True, **options)[:4]
    return [*found, *xp.polyfit(x[:4], xp.stack([y, x], axis=1)[:4], 3, full=True)[:4]]


def systems(xp: Any) -> list[Any]:
    """As NumPy's lines unpack them; between arrays of more axes."""
    a = xp.reshape(xp.cos(xp.arange(12.0) ** 2), (4, 3))
    x, _, rank, values = xp.linalg.lstsq(a, xp.arange(4.0), rcond=None)
    more = xp.reshape(xp.cos(xp.arange(36.0) ** 2), (2, 3, 6))
    sides = xp.reshape(xp.arange(6.0), (2, 3))
    turned = xp.moveaxis(more, 2, 0)
    return [
        *(x, rank, values, xp.linalg.tensorsolve(more, sides), xp.linalg.tensorinv(more)),
        xp.linalg.tensorsolve(turned, sides, axes=(0,)),
    ]


def places(xp: Any) -> list[Any]:
    """Triangles, elements one after the other, parts of sums, points in rectangles."""
    a = xp.reshape(xp.cos(xp.arange(16.0) ** 2), (4, 4))
    found = [a[xp.triu_indices(4, 1)], a[xp.tril_indices(4)], a[xp.diag_indices(4)]]
    found += [a.flat[5], a.flat[3:9:2], len(a.flat)]
    b = a.copy()
    b[xp.tril_indices(4, -1)] = 0
    b.flat[[1, -1]] = 7
    b.T.flat[2] = 5
    found += [b, xp.add.reduceat(a, [0, 2, 1, 1]), xp.maximum.reduceat(a, [1, 3], axis=1)]
    found += [*xp.histogram2d(a[0], a[1], bins=2), *xp.histogram2d(a[2], a[3], [2, 3])]
    ends = [[-1, 1], [-0.5, 0.5]]
    line = a.ravel()
    found += [*xp.histogram2d(line, line[::-1], 3, ends, density=True, weights=line**2)]
    with xp.errstate(divide="ignore", invalid="ignore"):
        found += [xp.isnan(0 / (a * 0)).sum(), *xp.frexp(a * 1e20), *xp.frexp(a / 1e20)]
    return [*found, *xp.frexp(xp.array([1.0, 0.5, -3.0, 0.0, 1e-310])), xp.euler_gamma * a[0]]


def keywords(xp: Any) -> list[Any]:
    """That NumPy's users write."""
    a = xp.linspace(0, 2, 5)
    same = xp.array(a, copy=True)
    same += 1
    grid, step = xp.linspace(0, 1, 5, retstep=True)
    rows = xp.linspace(xp.array([0.0, 1.0]), xp.array([1.0, 3.0]), 3)
    found = [a, same, grid, step, rows, xp.linspace(0.0, rows[1], 4, endpoint=False)]
    found += [*xp.meshgrid(a, a[:2], sparse=True), xp.clip(a, a_min=0.5, a_max=1), a.imag]
    found += [xp.average(a, weights=[1, 2, 3, 4, 5]), xp.average(rows, axis=1, weights=[1, 3])]
    found += [isinstance(a, xp.ndarray), isinstance(a > 1, xp.ndarray), xp.isreal(a)]
    found += [xp.iscomplex(a), a[xp.s_[1:4]], xp.asanyarray(a), xp.bitwise_not(a > 1)]
    places = xp.argmax(rows, axis=1, keepdims=True)
    xp.put_along_axis(rows, places, 9.0, axis=1)
    xp.put_along_axis(grid, xp.arange(2), xp.linspace(5, 6, 2), axis=0)
    found += [rows, grid, xp.zeros(3, dtype=xp.int_), xp.conjugate(a)]
    return [*found, a * [1, 2, 3, 4, 5], a + np.arange(5), np.arange(5.0) * a, a.conjugate()]


def systems_by_hand(xp: Any) -> list[Any]:
    """Elimination with pivots, a tridiagonal system, conjugate gradients, Newton's method."""
    a = xp.array([[0.0, 2.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 3.0]])
    m = xp.hstack([a, xp.array([[3.0], [3.0], [6.0]])])
    for k in range(3):
        p = k + int(xp.argmax(xp.abs(m[k:, k])))
        m[[k, p]] = m[[p, k]]
        m[k] /= m[k, k]
        for i in range(3):
            if i != k:
                m[i] -= m[i, k] * m[k]
    low, main, up, d = (xp.full(6, float(v)) for v in (-1, 2.5, -1, 1))
    for i in range(1, 6):
        w = low[i] / main[i - 1]
        main[i] -= w * up[i - 1]
        d[i] -= w * d[i - 1]
    x = xp.zeros_like(d)
    x[-1] = d[-1] / main[-1]
    for i in range(4, -1, -1):
        x[i] = (d[i] - up[i] * x[i + 1]) / main[i]
    h = 1.0 / (xp.arange(4)[:, None] + xp.arange(4) + 1) + xp.eye(4)
    y, r = xp.zeros(4), xp.ones(4)
    p, old = r.copy(), r @ r
    for _ in range(4):
        q = h @ p
        alpha = old / (p @ q)
        y += alpha * p
        r -= alpha * q
        new = r @ r
        p, old = r + (new / old) * p, new
    v = xp.array([2.0, 0.5])
    for _ in range(7):
        f = xp.array([v[0] ** 2 + v[1] ** 2 - 4, v[0] * v[1] - 1])
        v = v - xp.linalg.solve(xp.array([[2 * v[0], 2 * v[1]], [v[1], v[0]]]), f)
    return [m[:, -1], x, y, v]


def points(xp: Any) -> list[Any]:
    """Distances, neighbours, clusters, principal axes, particles that attract each other."""
    x = xp.array([[1.0, 1.0], [1.5, 2.0], [8.0, 8.0], [9.0, 9.5], [0.5, 1.5]])
    centres = x[[0, 2]].copy()
    for _ in range(3):
        apart = xp.linalg.norm(x[:, None] - centres[None], axis=2)
        label = xp.argmin(apart, axis=1)
        centres = xp.stack([x[label == k].mean(axis=0) for k in range(2)])
    squares = ((x[:, None, :] - x[None]) ** 2).sum(-1)
    order = xp.argsort(squares, axis=1)[:, :2]
    middle = x - x.mean(axis=0)
    w, v = xp.linalg.eigh(middle.T @ middle / (len(x) - 1))
    place, speed, mass = x / 10, xp.zeros_like(x), xp.ones(5) / 5
    for _ in range(4):
        d = place[None, :, :] - place[:, None, :]
        pull = d * (((d**2).sum(axis=-1) + 0.01) ** -1.5)[..., None] * mass[None, :, None]
        speed += 0.01 * pull.sum(axis=1)
        place += 0.01 * speed
    near = xp.take_along_axis(squares, order, axis=1)
    return [centres, label, order, near, w, xp.abs(v), place, xp.cov(x, rowvar=False)]


def masks(xp: Any) -> list[Any]:
    """What counts, and where results go: reductions and functions of a part."""
    x = xp.array([[1.0, -4.0, 9.0], [0.0, 16.0, -1.0]])
    there, roots = x > 0, xp.zeros_like(x)
    xp.sqrt(x, out=roots, where=there)
    over = xp.divide(1.0, x, out=xp.full_like(x, -7.0), where=x != 0)
    x[x < -2] *= -1
    found = [roots, over, x.sum(where=there), xp.max(x, axis=1, where=there, initial=0.5)]
    found += [xp.mean(x, where=there), xp.prod(x, axis=0, where=there, initial=2.0)]
    found += [xp.add.reduce(x, axis=1, where=there), xp.any(x > 8, axis=0, where=there)]
    softmax = xp.exp(x - x.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    return [*found, softmax, xp.einsum(x, [0, 1], x, [0, 2], [1, 2]), x.item(4), x[:, xp.arange(2)]]


def plain(found: Any) -> Any:
    """Numbers as NumPy has them, of arrays and lists of any kind."""
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    values = found.to_float64() if isinstance(found, mp.Array) else found
    return np.asarray(values, dtype=np.float64).tolist()


def near(found: Any, wanted: Any) -> bool:
    """Whether nested lists agree to 1e-9."""
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(near, found, wanted))
    return bool(np.isclose(found, wanted, rtol=1e-9, atol=1e-9))


@pytest.mark.parametrize(
    "script",
    [
        polynomial_fit,
        eigen_iteration,
        gram_schmidt,
        ode_steps,
        sums,
        image,
        polynomials,
        systems,
        places,
        keywords,
        systems_by_hand,
        points,
        masks,
    ],
)
def test_scripts_run_with_another_module(script: Script) -> None:
    """NumPy's own results, as far as float64 has them."""
    for found, wanted in zip(script(mp), script(np), strict=True):
        assert near(plain(found), plain(wanted)), (found, wanted)


def exact(found: Any) -> list[Fraction]:
    """All numbers of arrays and lists of them."""
    if isinstance(found, list):
        return [number for one in found for number in exact(one)]
    if isinstance(found, mp.Array):
        return exact(found.ravel().to_fractions())
    return [found] if isinstance(found, Fraction) else []


@pytest.mark.parametrize("script", [systems_by_hand, points, masks, eigen_iteration, ode_steps])
def test_scripts_lose_no_digits(script: Script) -> None:
    """In dd as in qd: no step goes through float64."""
    both = []
    for form in ("dd", "qd"):
        with mp.default_format(form):
            both.append(exact(script(mp)))
    for one, other in zip(*both, strict=True):
        assert abs(one - other) <= max(abs(other), 1) * Fraction(1, 10**26)


def test_polynomials_as_objects_keep_all_digits() -> None:
    """NumPy's functions of them are portmp's; NumPy's own objects mix in."""
    p = mp.poly1d(mp.array(["0.1", "2", "3"], "qd"))
    for own, numpys in ((mp.polyder, np.polyder), (mp.polyint, np.polyint)):
        assert own(p) == numpys(p) and isinstance(numpys(p), mp.poly1d)
    assert np.polyval(p, Fraction(1, 3)).item() == mp.polyval(p.c, Fraction(1, 3)).item()
    assert mp.polymul(p, np.poly1d([1.0, 2.0])) == p * np.poly1d([1.0, 2.0]) == p * [1, 2]
    assert np.roots(p).real.format.name == "qd"


MIXED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "average": lambda xp, a, b: xp.average(a, weights=b),
    "block": lambda xp, a, b: xp.block([[a], [b]]),
    "choose": lambda xp, a, b: xp.choose([0, 1, 1], [a, b]),
    "clip": lambda xp, a, b: xp.clip(a, b, 3),
    "cov": lambda xp, a, b: xp.cov(a, b),
    "diff": lambda xp, a, b: xp.diff(a, prepend=b),
    "einsum": lambda xp, a, b: xp.einsum("i,j->ij", a, b),
    "linalg.multi_dot": lambda xp, a, b: xp.linalg.multi_dot([a, b[:, None], a[None, :]]),
    "linalg.outer": lambda xp, a, b: xp.linalg.outer(a, b),
    "searchsorted": lambda xp, a, b: xp.searchsorted(a, b),
    "tensordot": lambda xp, a, b: xp.tensordot(a, b, axes=1),
    "trapezoid": lambda xp, a, b: xp.trapezoid(a, b),
    "where": lambda xp, a, b: xp.where(np.array([True, False, True]), a, b),
    **{
        name: lambda xp, a, b, name=name: getattr(xp, name)(a, b)
        for name in (
            *("append", "convolve", "cross", "dot", "hypot", "inner", "kron", "matmul"),
            *("maximum", "outer", "polymul", "union1d", "vdot", "vecdot"),
        )
    },
    **{
        name: lambda xp, a, b, name=name: getattr(xp, name)([a, b])
        for name in ("concatenate", "column_stack", "dstack", "hstack", "stack", "vstack")
    },
}


@pytest.mark.parametrize("name", MIXED)
def test_arrays_of_numpy_beside_others_take_their_format(name: str) -> None:
    """Of any format that holds them, on either side; where it does not hold them, an error."""
    plain = np.array([0.1, 0.25, 4.0])
    call = MIXED[name]
    x = mp.array(["-1", "0.3", "2.5"], "td", "host")
    same = mp.array(plain, "td", "host")
    for xp in (mp, np):
        for given, wanted in (((x, plain), (x, same)), ((plain, x), (same, x))):
            found, exact = call(xp, *given), call(mp, *wanted)
            assert found.tolist() == exact.tolist() and found.dtype == exact.dtype
            assert found.device is x.device
    short = mp.array([1, 2, 3], "ts", "host")
    with pytest.raises(FormatError, match="ts does not hold"):
        call(mp, short, plain)


def test_equality_with_arrays_of_numpy_is_exact() -> None:
    """A float64 number that ds does not hold equals none of ds, however it is rounded."""
    tenth, half = np.array([0.1]), np.array([0.5])
    short = mp.array(tenth, "ds", "host")
    assert not np.array_equal(short, tenth) and not mp.array_equiv(tenth, short)
    assert np.array_equal(mp.array(half, "ds", "host"), half)
    assert np.allclose(short, tenth) and mp.allclose(tenth, short, rtol=1e-13)
    mp.testing.assert_allclose(short, tenth, rtol=1e-13)
    with pytest.raises(FormatError, match="does not hold"):
        mp.testing.assert_array_equal(short, tenth)
    longer = np.array([1], np.longdouble) / 3
    if longer[0] != longer.astype(np.float64)[0]:
        assert not mp.array_equal(mp.array(longer, "float64", "host"), longer)
    assert mp.array_equal(mp.array(longer, "dd", "host"), longer)


def test_fits_have_the_formats_digits() -> None:
    """A cubic through its own values has 28 digits in dd; weights and columns."""
    x = mp.linspace(-1, 1, 31, dtype="dd")
    y = mp.stack([x**3 - x / 3, x * 0 + 1], axis=1)
    found = mp.polyfit(x, y, 3, w=1 + x * x)
    wanted = [[1, 0], [0, 0], [Fraction(-1, 3), 0], [0, 1]]
    for row, exact in zip(found.to_fractions(), wanted, strict=True):
        assert all(abs(a - b) < Fraction(1, 10**29) for a, b in zip(row, exact, strict=True))
    assert (np.polyfit(x, y[:, 0], 3) == mp.polyfit(x, y[:, 0], 3)).all()


@pytest.mark.parametrize("form", ["dd", "qs", "float32", "td"])
def test_parts_of_numbers_are_exact(form: str) -> None:
    """m 2^e is the number, also beside powers of two, where a logarithm is rounded."""
    numbers = [Fraction(1), 1 - Fraction(1, 2**40), Fraction(1, 3), Fraction(-5), Fraction(2**60)]
    x = (
        mp.array([str(float(v)) for v in numbers], form)
        if form == "float32"
        else mp.array(numbers, form)
    )
    m, e = mp.frexp(x)
    for given, part, power in zip(x.to_fractions(), m.to_fractions(), e.tolist(), strict=True):
        assert part * Fraction(2) ** power == given and Fraction(1, 2) <= abs(part) < 1
    special = mp.array([float("inf"), float("nan"), 0.0], form)
    m, e = mp.frexp(special)
    assert e.tolist() == [0, 0, 0] and str(m) == str(special)


def test_printing_can_be_set() -> None:
    """Digits after the point, ends, and back again; numbers stay what they are."""
    x = mp.array(["3.14159265358979323846264338", "-0.5", "1e-20", "1e30", "nan"], "dd")
    before, options = str(x), mp.get_printoptions()
    with mp.printoptions(precision=3, edgeitems=1) as held:
        assert held["precision"] == 3
        assert str(x) == "[3.142, -0.5, 1e-20, 1e+30, nan]"
        assert f"{x[0]}" == "3.142" and f"{x[0]:.10f}" == "3.1415926536"
        with mp.printoptions(suppress=True, threshold=2):
            assert str(x) == "[3.142, ..., nan]"
            assert str(x[2:3]) == "[0.0]"
        assert str(mp.arange(3)) == "[0, 1, 2]"
    assert str(x) == before and mp.get_printoptions() == options
    mp.set_printoptions(0)
    try:
        assert str(x[:2]) == "[3.0, -5e-1]"
    finally:
        mp.set_printoptions(precision=None)
    with pytest.raises(UnsupportedError, match="floatmode"):
        mp.set_printoptions(floatmode="fixed")
    with pytest.raises(ArgumentError, match="precision"):
        mp.set_printoptions(precision=-1)


def test_eulers_constant_has_all_bits() -> None:
    """Beside MPFR's."""
    gmpy2 = pytest.importorskip("gmpy2")
    with gmpy2.context(precision=1800):
        wanted = Fraction(*map(int, gmpy2.const_euler().as_integer_ratio()))
    assert abs(mp.euler_gamma - wanted) < Fraction(1, 2**1727)
    assert pickle.loads(pickle.dumps(mp.euler_gamma)) is mp.euler_gamma


def test_quantiles_are_exact_where_they_can_be() -> None:
    """q is an exact scalar: 1/3 of three steps is an element itself."""
    x = mp.array(["0.4", "0.1", "0.3", "0.2"], "qd")
    assert bool(mp.quantile(x, Fraction(1, 3)) == mp.array("0.2", "qd"))
    assert mp.percentile(x, ["50", 100]).to_strings(30) == ["0.25", "0.4"]
    table = mp.array(np.arange(12.0).reshape(3, 4), "dd")
    assert mp.quantile(table, 0.5, axis=0, keepdims=True).tolist() == [[4, 5, 6, 7]]
    assert mp.isnan(mp.quantile(mp.array([1.0, float("nan")], "dd"), 0.5))


def test_rounding_to_decimals() -> None:
    """Ties go to even; of negative places, too."""
    x = mp.array(["2.674", "-0.125", "1234.5"], "dd")
    assert mp.round(x, 2).to_strings(10) == ["2.67", "-0.12", "1234.5"]
    assert mp.round(x, -2).tolist() == [0, 0, 1200]
    assert x.round().tolist() == [3, 0, 1234]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (mp.bincount, ArgumentError, "integers is needed"),
        (lambda x: mp.bincount(mp.plain_array([-1])), ArgumentError, "-1"),
        (lambda x: mp.histogram(x, 0), ArgumentError, "bins"),
        (lambda x: mp.histogram(x, [2, 1]), ArgumentError, "in order"),
        (lambda x: mp.histogram(x, 3, (2, 1)), ArgumentError, "range"),
        (lambda x: mp.quantile(x, 2), ArgumentError, "from 0 to 1"),
        (lambda x: mp.quantile(x[:0], 0.5), ShapeError, "empty"),
        (lambda x: mp.polyfit(x, x, -1), ArgumentError, "deg"),
        (lambda x: mp.polyfit(x, x[:1], 1), ShapeError, "polyfit"),
        (lambda x: mp.errstate(divide="raise").__enter__(), UnsupportedError, "raise"),
        (lambda x: mp.seterr(all="warn"), UnsupportedError, "warn"),
        (lambda x: mp.add.reduceat(x, [2]), IndexError, "size 2"),
        (lambda x: mp.histogram2d(x, x[:1]), ShapeError, "histogram2d"),
        (lambda x: mp.put_along_axis(x, [[0]], 1, 0), ShapeError, "as many"),
        (lambda x: mp.put_along_axis(x, [0.5], 1, 0), PlaceError, "integers"),
        (lambda x: mp.issubdtype, AttributeError, "isdtype"),
        (lambda x: mp.poly1d(x) ** -1, ArgumentError, "power"),
        (lambda x: mp.poly1d(x[None]), ShapeError, "poly1d"),
        (lambda x: mp.linalg.tensorinv(x[None], 0), ArgumentError, "ind"),
        (lambda x: mp.linalg.tensorinv(x[None]), ShapeError, "no square matrix"),
        (lambda x: mp.linalg.tensorsolve(x[None], x), ShapeError, "as many"),
        (lambda x: mp.where(x > 0, x), ArgumentError, "one of x1 and x2"),
        (lambda x: mp.round(x, 0.5), ArgumentError, "decimals"),
    ],
)
def test_refused(call: Any, error: type[Exception], words: str) -> None:
    """What cannot be done is said with the argument's name."""
    with pytest.raises(error, match=words):
        call(mp.array([1.0, 2.0], "dd"))
