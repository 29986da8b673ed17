"""Complex numbers: values against mpmath, C99's special values, parts, conversions, refusals."""

from __future__ import annotations

import cmath
import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import gmpy2
import mpmath
import numpy as np
import pytest
from slow import mostly_slow
from tiers import check

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.codegen import kernel_spec
from portmp.compilers.base import Compiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import ArgumentError, FormatError, InputError
from portmp.formats import Format, convert
from portmp.formats.exact import Complex
from portmp.networks.complexes import INNER, NAMES
from portmp.routines import compilation_units
from portmp.routines.complexes import launch, reference
from portmp.verify import cases

HOST = "host"
FAST = ("complex128", "cdd", "cts")
FORMATS = mostly_slow(formats.COMPLEX, FAST, "the same networks with other words and lengths")
mpc = mpmath.mpc


def on_host(op: str, form: Format, *parts: Any) -> list[np.ndarray[Any, Any]]:
    """A network by the reference, of parts as floats or limbs."""
    part = form.component
    limbs = [p if isinstance(p, list) else convert.to_limbs(np.asarray(p), part) for p in parts]
    return reference.elementwise(part, launch.network(op, part), *limbs)


# --- special values -------------------------------------------------------------------------------

POINTS = list(
    itertools.product(
        (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, math.inf, -math.inf, math.nan, 1e300, -1e-300, 700.0),
        repeat=2,
    )
)
FUNCTIONS = (
    *("exp", "log", "log10", "sqrt", "sinh", "cosh", "tanh", "sin", "cos", "tan"),
    *("asinh", "acosh", "atanh", "asin", "acos", "atan"),
)
LATER = {
    "tanh 0.0 nan": (0.0, math.nan),
    "tan nan 0.0": (math.nan, 0.0),
    "acosh 0.0 nan": (math.nan, math.pi / 2),
}
"""What the C standard says today and Python's cmath does not: DR 471 and its like."""


def agree(found: float, wanted: float, signed: bool, near: float) -> bool:
    """Whether a part is what C99 says; where that leaves the sign open it is not *signed*."""
    if math.isnan(wanted):
        return math.isnan(found)
    if math.isinf(wanted) or not wanted:
        same = math.copysign(1, found) == math.copysign(1, wanted)
        return abs(found) == abs(wanted) and (same or not signed)
    return abs(found - wanted) <= near


@pytest.mark.parametrize("limbs", [1, 2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_c99(name: str, limbs: int) -> None:
    """Zeros, infinities and NaN, signs too, beside the table of Python's cmath."""
    form = formats.get("complex128" if limbs == 1 else "cdd")
    x, y = np.array(POINTS).T
    planes = on_host(name, form, x, y)
    for i, (a, b) in enumerate(POINTS):
        found = planes[0][i], planes[limbs][i]
        try:
            whole = getattr(cmath, name)(complex(a, b))
        except (ValueError, OverflowError):  # cmath raises at poles and beyond the range
            continue
        wanted = LATER.get(f"{name} {abs(a)} {abs(b)}", (whole.real, whole.imag))
        signed = not any(map(math.isnan, wanted))
        size = abs(whole) if cmath.isfinite(whole) else abs(max(whole.real, whole.imag, key=_size))
        near = 1e-14 * (size if math.isfinite(size) else 10)
        assert all(map(agree, found, wanted, [signed] * 2, [near] * 2)), (a, b, found, wanted)


def _size(x: float) -> float:
    return abs(x) if math.isfinite(x) else 0.0


@pytest.mark.parametrize(
    ("op", "parts", "wanted"),
    [
        ("mul", (math.inf, math.nan, 1.0, 1.0), (math.inf, math.inf)),
        ("mul", (1e300, 1e300, 1e300, -1e300), (math.inf, math.nan)),
        ("mul", (math.inf, 0.0, 0.0, math.inf), (math.nan, math.inf)),
        ("mul", (math.nan, -math.inf, 2.0, 3.0), (math.inf, -math.inf)),
        ("mul", (1.0, 2.0, math.inf, math.inf), (math.nan, math.inf)),
        ("mul", (1e300, math.nan, 1e300, 1.0), (math.inf, math.inf)),
        ("div", (1.0, 1.0, 0.0, 0.0), (math.inf, math.inf)),
        ("div", (1.0, -1.0, math.inf, math.inf), (0.0, 0.0)),
        ("div", (math.inf, 1.0, 2.0, 1.0), (math.inf, -math.inf)),
        ("div", (1e308, 1e308, 1e308, 1e308), (1.0, 0.0)),
        ("div", (1e-308, 1e-308, 1e-308, -1e-308), (0.0, 1.0)),
        ("div", (1e300, 0.0, 1e-5, 1e-5), (5e304, -5e304)),
        ("div", (5e-324, 0.0, 5e-324, 0.0), (1.0, 0.0)),
        ("sqrt", (1e308, 1e308), (1.098684113467809966e154, 4.550898605622273e153)),
        ("sqrt", (0.0, 5e-324), (1.5717277847026288e-162, 1.5717277847026288e-162)),
        ("abs", (math.inf, math.nan), (math.inf,)),
        ("exp", (1000.0, -1e-300), (math.inf, -1.970071114017047e134)),
        ("sign", (-math.inf, 3.0), (-1.0, 0.0)),
        ("sign", (0.0, 0.0), (0.0, 0.0)),
        ("atanh", (1.0, 5e-324), (372.56660955097060381, math.pi / 4)),
        ("atanh", (-1.0, 3e-310), (-356.69795686002300036, math.pi / 4)),
        ("atan", (5e-324, 1.0), (math.pi / 4, 372.56660955097060381)),
        ("pow", (0.0, 0.0, 0.0, 0.0), (1.0, 0.0)),
        ("pow", (0.0, 0.0, 2.0, 1.0), (0.0, 0.0)),
        ("pow_real", (-8.0, 0.0, 2.0), (64.0, 0.0)),
    ],
)
def test_extremes(op: str, parts: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    """Annex G's infinities; quotients and roots whose parts have products beyond the range."""
    planes = on_host(op, formats.get("complex128"), *parts)
    for found, exact in zip(planes, wanted, strict=True):
        assert found == pytest.approx(exact, rel=1e-14, abs=0 if exact else 1e-13, nan_ok=True)


# --- values ---------------------------------------------------------------------------------------

MPMATH: dict[str, Callable[..., Any]] = {
    **{name: getattr(mpmath, name) for name in FUNCTIONS if name != "log10"},
    "expm1": mpmath.expm1,
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log1p": lambda z: mpmath.log(1 + z),
    "sign": lambda z: z / abs(z),
    "mul": lambda z, w: z * w,
    "div": lambda z, w: z / w,
    "pow": lambda z, w: mpmath.exp(w * mpmath.log(z)),
}
BOUND = {"tanh": 12, "tan": 12, "pow": 8}
"""In units of u^N of the result's absolute value; of others 8 (docs/complex.md)."""


def numbers(form: Format, seed: int, count: int = 15) -> tuple[list[Any], list[mpmath.mpc]]:
    """Parts with all limbs, about 1 and over many sizes; and the exact values."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-6, 1, count)
    turn = np.exp(1j * rng.uniform(-3.2, 3.2, count))
    plain = rng.normal(size=count) + 1j * rng.normal(size=count)
    start = [plain, plain * size, 1 + plain * size * 1e-3, 1j + plain * size * 1e-3, turn]
    chosen = np.choose(np.arange(count) % len(start), start)
    parts = []
    for half in (chosen.real, chosen.imag):
        tail = [Fraction(int(n), 2**120) for n in rng.integers(2**60, size=count)]
        exact = [Fraction(x) * (1 + t) for x, t in zip(half.tolist(), tail, strict=True)]
        parts.append(convert.to_limbs(exact, form.component))
    return parts, values(parts)


def values(parts: list[Any]) -> list[Any]:
    """Limb planes as exact numbers of mpmath."""
    halves = [[sum(map(mpmath.mpf, row)) for row in convert.element_rows(half)] for half in parts]
    return [mpc(a, b) for a, b in zip(*halves, strict=True)]


@pytest.mark.parametrize(
    "form", mostly_slow(formats.COMPLEX, FAST[:2], "the same networks with other words and lengths")
)
def test_errors_are_within_the_stated_bounds(form: str) -> None:
    """Each operation against mpmath, relative to the absolute value of the result."""
    f = formats.get(form)
    with mpmath.workprec(700):
        z, exact_z = numbers(f, 1)
        w, exact_w = numbers(f, 2)
        for name, of in MPMATH.items():
            two = name in ("mul", "div", "pow")
            planes = on_host(name, f, *z, *(w if two else ()))
            found = values([planes[: f.limbs], planes[f.limbs :]])
            for i, value in enumerate(found):
                wanted = of(exact_z[i], exact_w[i]) if two else of(exact_z[i])
                bound = BOUND.get(name, 8) * mpmath.mpf(2) ** -f.bits * abs(wanted)
                if name == "pow":
                    bound *= 1 + abs(exact_w[i] * mpmath.log(exact_z[i]))
                assert abs(value - wanted) <= bound, (name, exact_z[i], value, wanted)


def test_what_is_exact() -> None:
    """z times its conjugate is real; parts of i are moved; halves and squares of whole numbers."""
    z = mp.array(["1.1+2.2j", "-3+1e-9j", "1/3-7/11j"], "cqd", HOST)
    assert (z * z.conj()).imag.tolist() == [0, 0, 0]
    assert bool(mp.all(z * 1j == mp.array([complex(0, 1)], "cqd", HOST) * z))
    assert (mp.array([3 + 4j], "cdd", HOST) ** 2).tolist() == [-7 + 24j]
    assert abs(mp.array(3 + 4j, "cdd", HOST)).tolist() == 5
    assert mp.sqrt(mp.array([-4, 4, 2j], "cdd", HOST)).tolist() == [2j, 2, 1 + 1j]
    assert mp.log2(mp.array([8 + 0j], "cdd", HOST)).tolist() == [3]


def test_real_operands_have_no_imaginary_part() -> None:
    """As C99 has it: nothing is multiplied by a zero that nobody wrote."""
    z = mp.array([complex(math.inf, 1), complex(3, -0.0)], "complex128", HOST)
    assert str((2 * z).tolist()) == "[(inf+2j), (6-0j)]"
    assert str((z / 2).tolist()) == "[(inf+0.5j), (1.5-0j)]"
    assert str((z + 1).tolist()) == "[(inf+1j), (4-0j)]"
    third = mp.array(["1+2j"], "cqd", HOST) / 3
    assert third.real.tolist() == (mp.array([1], "qd", HOST) / 3).tolist()


# --- arrays ---------------------------------------------------------------------------------------

GIVEN = [
    ("1.1+2.2j", "1.1", "2.2"),
    ("(1.1, 2.2)", "1.1", "2.2"),
    (" ( -1e-5 , 2e+3 ) ", "-1e-5", "2e3"),
    ("-1e-5-2E+3J", "-1e-5", "-2e3"),
    ("1/3 - 2/7j", "1/3", "-2/7"),
    ("(2-1j)", "2", "-1"),
    ("0x1.8p+1+0x1p-2j", "3", "0.25"),
    ("-j", "0", "-1"),
    ("2.5j", "0", "2.5"),
    ("7", "7", "0"),
    (1.5 - 2j, 1.5, -2),
    (np.complex64(1 + 2j), 1, 2),
    (np.complex128(0.1 - 3j), 0.1, -3),
    (gmpy2.mpc("0.1+0.7j", 300), gmpy2.mpfr("0.1", 300), gmpy2.mpfr("0.7", 300)),
    (flint.acb(2, -3), 2, -3),
    (Fraction(1, 3), Fraction(1, 3), 0),
    (Complex(Fraction(1, 3), Fraction(2, 7)), Fraction(1, 3), Fraction(2, 7)),
]


@pytest.mark.parametrize(("given", "real", "imaginary"), GIVEN, ids=str)
def test_creation(given: Any, real: Any, imaginary: Any) -> None:
    """Numbers of all kinds: each part is rounded once."""
    z = mp.array([given], "ctd", HOST)
    assert z.dtype == mp.ctd
    parts = (mp.array([x], "td", HOST).to_limbs() for x in (real, imaginary))
    assert [p.tolist() for p in z.to_limbs()] == [p.tolist() for half in parts for p in half]


def test_creation_from_mpmath() -> None:
    """All digits of mpc, whatever mpmath's precision is now."""
    with mpmath.workdps(60):
        given = mpc(1, 2) / 3
    z = mp.array(given, device=HOST)
    assert z.dtype == mp.cdd
    with mpmath.workdps(60):
        assert abs(z.to_mpmath() - given) < mpmath.mpf(10) ** -32


@pytest.mark.parametrize("text", ["1+2", "(1,2,3)", "1+2jj", "j1", "1++2j", "(1", "1.5x+2j"])
def test_texts_that_are_no_numbers(text: str) -> None:
    """1+2 is no sum to be computed, and a text names itself."""
    with pytest.raises(InputError, match="data"):
        mp.array([text], "cdd", HOST)


def test_formats_of_what_is_given_none() -> None:
    """Complex numbers make complex arrays of the default format; real formats refuse them."""
    assert mp.array([1, 2j], device=HOST).dtype == mp.cdd
    assert mp.asarray(np.array([1j], "complex64"), device=HOST).dtype == mp.cdd
    assert mp.full(2, 1j, device=HOST).dtype == mp.cdd
    with mp.default_format("qd"):
        assert mp.array(["1+1j"], device=HOST).dtype == mp.cqd
        assert mp.zeros(1, complex, HOST).dtype == mp.cqd
    assert mp.array(np.array([1 + 0j]), "dd", HOST).tolist() == [1]
    with pytest.raises(FormatError, match="cdd"):
        mp.array(np.array([1j]), "dd", HOST)


def test_promotion() -> None:
    """As the array API standard and NumPy have it; longer formats never meet shorter ones."""
    meetings = {
        ("cdd", "dd"): "cdd",
        ("complex64", "float32"): "complex64",
        ("complex64", "float64"): "complex128",
        ("complex128", "float32"): "complex128",
        ("complex64", "complex128"): "complex128",
        ("cqd", "int64"): "cqd",
        ("cdd", "bool"): "cdd",
    }
    for pair, wanted in meetings.items():
        assert mp.result_type(*pair) == mp.result_type(*pair[::-1]) == wanted
    assert mp.result_type("dd", 1j) == "cdd"
    assert mp.result_type("int64", 1j) == "cdd"
    for pair in (("cdd", "td"), ("cdd", "ctd"), ("complex64", "dd"), ("cdd", "d+s")):
        with pytest.raises(FormatError):
            mp.result_type(*pair)
    with pytest.raises(FormatError, match="astype\\('ctd'\\)"):
        mp.result_type("cdd", "td")
    assert mp.isdtype(mp.cdd, "complex floating") and not mp.isdtype(mp.cdd, "real floating")
    assert mp.isdtype(mp.complex64, ("real floating", "numeric"))
    assert not mp.isdtype(mp.dd, "complex floating")
    assert mp.can_cast("dd", "cdd") and mp.can_cast("complex64", "cts")
    assert not mp.can_cast("cdd", "dd") and not mp.can_cast("cdd", "cds")
    assert mp.finfo(mp.cqd).dtype == mp.qd and mp.cdd.kind == "c" and mp.cdd.limbs == 2


def test_parts_are_views() -> None:
    """What is written to them is written to the array; nothing is copied."""
    z = mp.array([[1 + 2j, 3 - 4j]], "cdd", HOST)
    z.imag[0, 1] = "0.1"
    z.real += 1
    assert z.to_strings("short") == [["2.0+2.0j", "4.0+0.1j"]]
    z.imag = 0
    z[0, 0] = "5-1j"
    assert z.tolist() == [[5 - 1j, 4]]
    assert z.limbs[2].tolist() == [[-1, 0]]
    with pytest.raises(FormatError, match="imag"):
        mp.zeros(2, "dd", HOST).imag = 1


@pytest.mark.parametrize("form", FORMATS)
def test_texts_give_the_numbers_back(form: str) -> None:
    """repr, pickles, limbs, texts and exact numbers: no digit is lost."""
    z = mp.array(["1.1+2.2j", "(-0.0, 1e-7)", "1/3-2/3j"], form, HOST)
    special = mp.array([complex(math.inf, -0.0), complex(math.nan, 1)], form, HOST)
    for same in (
        eval(repr(z), {"portmp": mp}),
        pickle.loads(pickle.dumps(z)),
        mp.from_limbs(z.to_limbs(), form, HOST),
        mp.array(z.tolist(), form, HOST),
        mp.array(z.to_strings("short"), form, HOST),
        mp.array(z.to_mpmath(), form, HOST),
        mp.array(z.to_fractions(), form, HOST),
        mp.stack(list(z)),
    ):
        assert same.dtype == form and bool((same == z).all())
    assert str(eval(repr(special), {"portmp": mp})) == str(special) == "[inf-0.0j, nan+1.0j]"


def test_numpy_and_dlpack() -> None:
    """Both parts side by side, in and out."""
    values = np.array([[1 + 2j, 3 - 4j], [0.5j, -1]])
    z = mp.array(values, "complex128", HOST)
    assert np.asarray(z).dtype == np.complex128
    for found in (np.asarray(z), np.from_dlpack(z.T).T, z.to_numpy()):
        np.testing.assert_array_equal(found, values)
    assert mp.from_dlpack(values.T[1], device=HOST).to_numpy().tolist() == values.T[1].tolist()
    assert mp.from_dlpack(values, device=HOST).dtype == mp.complex128
    long = mp.array("1/3+1/7j", "cqd", HOST).to_numpy(np.clongdouble)
    assert long.real == np.longdouble(1) / 3
    x = mp.array([1, 2], "dd", HOST)
    assert (x * np.array([1j, 2])).dtype == mp.cdd
    assert (mp.array([1j, 2], "cdd", HOST) + np.array([1.0, 2])).tolist() == [1 + 1j, 4]
    assert np.add(x, [1j, 1]).tolist() == [1 + 1j, 3]
    with pytest.raises(BufferError, match=r"x\.real"):
        np.from_dlpack(mp.array([1j], "cdd", HOST))


def test_order_is_refused_by_name() -> None:
    """And all else that takes real numbers alone, in one sentence."""
    z = mp.array([[1 + 2j, 3]], "cdd", HOST)
    refused: dict[str, Callable[[], Any]] = {
        "less": lambda: z < 1,
        "greater_equal": lambda: z >= 2j,
        "maximum": lambda: mp.maximum(z, 1),
        "max": z.max,
        "argmin": lambda: mp.argmin(z),
        "floor": lambda: mp.floor(z),
        "gamma": lambda: mp.gamma(z),
        "atan2": lambda: mp.atan2(z, z),
        "float": lambda: float(z[0, 0]),
        "to_float64": z.to_float64,
        "signbit": lambda: mp.signbit(z),
        "ldexp": lambda: mp.ldexp(z, 2),
        "frexp": lambda: mp.frexp(z),
        "degrees": lambda: mp.degrees(z),
        "quantile": lambda: mp.quantile(z, 0.5),
        "histogram": lambda: mp.histogram(z),
        "digitize": lambda: mp.digitize(z, [0, 1]),
        "clip": lambda: mp.clip(z, 0, 1),
        "copysign": lambda: mp.copysign(z, 1),
        "fmax": lambda: mp.fmax(z, 1),
        "fmin": lambda: mp.fmin(z, 1),
        "floor_divide": lambda: z // 2,
        "heaviside": lambda: mp.heaviside(z, 1),
        "logaddexp": lambda: mp.logaddexp(z, z),
        "modf": lambda: mp.modf(z),
        "ptp": lambda: mp.ptp(z),
        "remainder": lambda: z % 2,
    }
    for name, call in refused.items():
        with pytest.raises(FormatError, match=f"^{name}.*complex numbers; real ones alone"):
            call()
    with pytest.raises(FormatError, match=r"x\.real"):
        z.astype("dd")
    same = z.copy()
    assert (z == same).all() and not (z != same).any()
    assert (mp.array([1, 2], "dd", HOST) == np.array([1 + 1j, 2])).tolist() == [False, True]


def test_questions_and_parts() -> None:
    """isnan and the like, real, imag, angle, conj, where, truth."""
    z = mp.array([complex(math.nan, 1), complex(1, -math.inf), 2 - 1j, 0], "cdd", HOST)
    assert mp.isnan(z).tolist() == [True, False, False, False]
    assert mp.isinf(z).tolist() == [False, True, False, False]
    assert mp.isfinite(z).tolist() == [False, False, True, True]
    assert z.astype(bool).tolist() == [True, True, True, False]
    assert mp.iscomplex(z).tolist() == [True, True, True, False] and mp.iscomplexobj(z)
    assert mp.where(mp.isfinite(z), z, 1j).tolist() == [1j, 1j, 2 - 1j, 0]
    assert mp.angle(mp.array([1j, -2], "complex128", HOST), deg=True).tolist() == [90, 180]
    assert mp.nan_to_num(z)[0].tolist() == 1j
    assert mp.round(mp.array([1.26 - 3.75j], "cdd", HOST), 1).to_numpy() == 1.3 - 3.8j
    assert bool(mp.isclose(z[2], z[2] + mp.array(1e-12j, "cdd", HOST)))
    assert complex(z[2]) == 2 - 1j and f"{z[2]:.2f}" == "2.00-1.00j" and hash(z[2]) == hash(2 - 1j)


def test_reductions() -> None:
    """Sums, means and variances by parts; products by halves."""
    rng = np.random.default_rng(3)
    values = rng.integers(-4, 5, (3, 7)) + 1j * rng.integers(-4, 5, (3, 7))
    z = mp.array(values, "cdd", HOST)
    assert z.sum().tolist() == values.sum()
    assert z.sum(axis=0, rounding="correct").tolist() == values.sum(axis=0).tolist()
    assert z.prod(axis=1).tolist() == values.prod(axis=1).tolist()
    assert mp.prod(z, initial=2j).tolist() == values.prod() * 2j
    assert mp.cumulative_sum(z, axis=1).tolist() == values.cumsum(axis=1).tolist()
    assert mp.cumulative_prod(z, axis=0).tolist() == values.cumprod(axis=0).tolist()
    first = mp.cumulative_prod(z[0], include_initial=True)
    assert first.tolist() == [1, *values[0].cumprod().tolist()]
    assert z.cumsum().tolist() == values.ravel().cumsum().tolist()
    np.testing.assert_allclose(z.mean(axis=0).to_numpy(), values.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(z.var(axis=1).to_float64(), values.var(axis=1), rtol=1e-14)
    np.testing.assert_allclose(z.std(ddof=1).to_float64(), values.std(ddof=1), rtol=1e-14)
    assert mp.prod(mp.zeros((0,), "cdd", HOST)).tolist() == 1
    huge = mp.array([1e308 + 1e308j] * 4, "cdd", HOST)
    assert bool(mp.isfinite(huge.mean())) and not bool(mp.isfinite(huge.sum()))
    assert mp.sum(z, where=z.real > 0).tolist() == values[values.real > 0].sum()


def test_results_in_given_memory() -> None:
    """out= and in place, overlapping too; of the wrong format refused."""
    z = mp.array([1 + 1j, 2 - 1j, 3], "cdd", HOST)
    out = mp.zeros(3, "cdd", HOST)
    assert mp.multiply(z, z, out=out) is out and out.tolist() == [2j, 3 - 4j, 9]
    z *= z
    assert bool((z == out).all())
    mp.abs(out, out=z.real)
    assert z.real.tolist() == [2, 5, 9]
    with pytest.raises(FormatError, match="out"):
        mp.exp(z, out=mp.zeros(3, "dd", HOST))
    with pytest.raises(ArgumentError, match="overlaps"):
        mp.multiply(z[:2], 2, out=z[1:])


def test_functions_made_of_others() -> None:
    """As NumPy's, where a conjugate or a part could be forgotten."""
    values = np.array([1 + 2j, 3 - 1j, 0.5j, 4])
    real = np.array([1.0, 2, 3, 4])
    z, x = mp.array(values, "cdd", HOST), mp.array(real, "dd", HOST)
    pairs = [
        (np.conjugate(z), values.conj()),
        (np.conj(z), values.conj()),
        (mp.correlate(x, z), np.correlate(real, values)),
        (mp.correlate(z, z[:2]), np.correlate(values, values[:2])),
        (mp.convolve(z, x), np.convolve(values, real)),
        (mp.linspace(0, 1 - 2j, 5, dtype="cdd", device=HOST), np.linspace(0, 1 - 2j, 5)),
        (mp.linspace(z, 0, 3), np.linspace(values, 0, 3)),
        (mp.linalg.norm(z), np.linalg.norm(values)),
        (mp.average(z, weights=x), np.average(values, weights=real)),
        (mp.nanmean(z), values.mean()),
        (mp.poly(z), np.poly(values)),
        (mp.polyval(z, x), np.polyval(values, real)),
        (mp.gradient(z), np.gradient(values)),
        (mp.multiply.outer(z, x), np.multiply.outer(values, real)),
        (mp.concat([z, x]), np.concatenate([values, real])),
    ]
    for found, wanted in pairs:
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-14)
    out = mp.zeros(4, "cdd", HOST)
    assert mp.conj(z, out=out) is out and bool((out == z.conj()).all())


# --- bits -----------------------------------------------------------------------------------------


def test_every_operation_has_a_case() -> None:
    """Of those that users call; parts of others and what real operands make are within these."""
    found = {case.routine.removeprefix("complex_") for case in cases.cases("cdd")}
    mixed = {name for name in NAMES if "real" in name} | {
        "combined",
        "copy",
        "nonzero",
        "not_equal",
    }
    assert set(NAMES) - mixed <= found and not set(INNER) & found
    assert {case.key for case in cases.cases("cdd")} <= set(cases.recorded())


def test_host_has_the_recorded_bits() -> None:
    """The reference of every operation."""
    for case in cases.cases("complex64"):
        assert cases.digest(case.host_result()) == cases.recorded()[case.key], case.key


QUICK = ("complex_mul", "complex_div", "complex_exp")


@pytest.mark.parametrize(
    "form", mostly_slow(formats.COMPLEX, ("cds",), "kernels of each format are compiled")
)
def test_devices_have_the_recorded_bits(device: Device, form: str) -> None:
    """Kernels: of scalars and of vectors, real and complex operands."""
    for case in cases.cases(form):
        if case.routine in QUICK:
            found = cases.digest(cases.device_result(case, device))
            assert found == cases.recorded()[case.key], case.key


@pytest.mark.parametrize(("form", "op"), [("cdd", "mul"), ("cts", "div"), ("complex64", "sqrt")])
@pytest.mark.parametrize("tier", ["nvrtc", "hiprtc"])
def test_kernels_compile_for_gpus(tier: str, form: str, op: str) -> None:
    """The texts of both platforms, without a device."""
    check(tier)
    compiler, on, arch = GPUS[tier]
    unit = compilation_units.find(form, op)
    assert compiler().compile(kernel_spec.rendered(unit, on).text, arch)


GPUS: dict[str, tuple[type[Compiler], str, str]] = {
    "nvrtc": (NvrtcCompiler, "cuda", "sm_90"),
    "hiprtc": (HiprtcCompiler, "rocm", "gfx90a"),
}


# --- sets, norms, exact numbers -------------------------------------------------------------------


@pytest.mark.parametrize("equal_nan", [True, False])
def test_different_values(equal_nan: bool) -> None:
    """NumPy's, in its order of complex numbers, and all that is known of them; rows, too."""
    nan, inf = math.nan, math.inf
    z = np.array([1 + 2j, 1 + 1j, nan, 1 + 2j, -0.0, 0j, complex(1, nan), 3, complex(inf, -1), 1j])
    options: dict[str, Any] = dict.fromkeys(
        ("return_index", "return_inverse", "return_counts"), True
    )
    found = mp.unique(mp.array(z, "cdd", HOST), equal_nan=equal_nan, **options)
    expected = np.unique(z, equal_nan=equal_nan, **options)
    for mine, theirs in zip(found, expected, strict=True):
        assert np.array_equal(mine.to_numpy(), theirs, equal_nan=True)
    rows = mp.array([["0.1+1j", "2"], ["0.1", "2"], ["0.1+1j", "2"]], "cdd", HOST)
    assert (mp.unique(rows, axis=0) == rows[[1, 0]]).all()
    assert (mp.union1d(rows[0], rows[1]) == mp.array(["0.1", "0.1+1j", "2"], "cdd", HOST)).all()


def test_norms_of_matrices() -> None:
    """Real, of absolute values: huge and tiny ones, along axes, of none."""
    z = mp.array([["3+4j", "0"], ["-12j", "0"]], "cdd", HOST)
    size = mp.linalg.norm(z, axis=(0, 1))
    assert size.format.name == "dd" and size == 13
    for scale in ("1e200", "1e-200"):
        far = mp.linalg.norm(z * mp.array(scale, "dd", HOST), "fro")
        assert abs(far / mp.array(scale, "dd", HOST) / 13 - 1) < 1e-30
    assert (mp.linalg.norm(z, axis=1) == mp.array([5, 12], "dd", HOST)).all()
    assert mp.linalg.matrix_norm(z[:0]).format.name == "dd"


def test_exact_numbers_beside_zero() -> None:
    """What ``tolist`` gives of more than one limb, added to 0 and subtracted from it."""
    z, w = mp.array(["0.1+2j", "-3j"], "cdd", HOST).tolist()
    assert z + 0 == 0 + z == z - 0 == z and 0 - z == -z and z * 0 == 0 / z == 0
    assert sum([z, w]) == z + w
    assert z + Complex(0) == z


EXPRESSIONS: dict[str, Callable[[Any, complex], Any]] = {
    "i pi": lambda p, i: i * p,
    "pi i": lambda p, i: p * i,
    "1 - 2 i pi": lambda p, i: 1 - 2 * i * p,
    "1 / (i pi)": lambda p, i: 1 / (i * p),
    "i / pi - 0.1": lambda p, i: i / p - 0.1,
    "pi / (i - pi)": lambda p, i: p / (i - p),
    "(1 + i pi)^5": lambda p, i: (1 + i * p) ** 5,
    "(i pi)^-3": lambda p, i: (i * p) ** -3,
}


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("imaginary", [1j, np.complex128(1j), np.complex64(1j), np.array(1j)])
def test_expressions_of_a_constant(text: str, imaginary: Any) -> None:
    """Are exact, and rounded once in an array; the factors' order loses nothing."""
    of = EXPRESSIONS[text]
    with mpmath.workprec(1728):
        found, wanted = of(mp.pi, imaginary), of(+mpmath.pi, 1j)
        assert type(found) is Complex
        for part, right in ((found.real, wanted.real), (found.imag, wanted.imag)):
            value = mpmath.mpf(part.numerator) / part.denominator
            assert abs(value - right) <= abs(wanted) * mpmath.mpf(2) ** -1600
    ones = mp.ones(2, "qd", HOST)
    assert (ones * found == mp.array([found, found], "cqd", HOST)).all()


def test_exact_numbers_as_python_has_them() -> None:
    """Magnitudes, signs, formats; other powers, order and NumPy's arrays are refused."""
    z = mp.array(["3+4j"], "cdd", HOST).item()
    assert abs(z) == 5 and abs(z / 3) == Fraction(5, 3) and abs(1j * mp.pi) == mp.pi and +z == z
    assert abs(1 + 1j * mp.pi) ** 2 == pytest.approx(1 + math.pi**2)
    assert abs(math.inf * z) == math.inf
    assert z == mp.array("3+4j", "cqd", HOST) == z and z != "3" and z in mp.array([z]).tolist()
    assert f"{z / 7:.3f}" == "0.429+0.571j" and f"{-1j * mp.pi:+.4e}" == "+0.0000e+00-3.1416e+00j"
    refused: tuple[Callable[[], Any], ...] = (
        lambda: z**0.5,
        lambda: 2**z,
        lambda: mp.pi**1j,
        lambda: np.exp(z),
    )
    for call in refused:
        with pytest.raises(ArgumentError, match="exact"):
            call()
    for kind, form in ((complex, "cdd"), (float, "dd")):
        with pytest.raises(FormatError, match=f'portmp.array\\(x, "{form}"\\)'):
            np.ones(3, kind) * (2j * mp.pi)
    with pytest.raises(TypeError):
        mp.pi < 1j  # noqa: B015
    for number in (z, 1 + 1j, mpmath.mpc(0, 1)):
        with pytest.raises(FormatError, match=r"a complex number is not accepted .*cdd"):
            mp.array([0.5, number], "qd")


def test_interpolated() -> None:
    """Complex values on a line, by parts, as NumPy's; places are real."""
    knots, values, places = [0, 1, 2.5], np.array([1 + 2j, 3 - 1j, 0.5j]), [-1, 0.25, 1, 2, 5]
    more: list[dict[str, Any]] = [{}, {"left": 7}, {"right": 1j, "left": 2 - 1j}, {"period": 3}]
    for options in more:
        found = mp.interp(mp.array(places, "dd"), knots, mp.array(values, "cdd"), **options)
        assert np.array_equal(found.to_numpy(), np.interp(places, knots, values, **options))
    assert mp.interp(0.5, [0, 1], mp.array([1j, 2], "cqd")).item() == 1 + 0.5j
    with pytest.raises(FormatError, match="interp: x: cdd given"):
        mp.interp(mp.array([1j], "cdd"), knots, [1, 2, 3])


# --- order and covariances, as NumPy has them -----------------------------------------------------

PARTS = [-math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan]


def mixed(*shape: int) -> Any:
    """Complex numbers of few parts, so that many are equal, with NaN in either part or both."""
    rng = np.random.default_rng([29, *shape])
    found = np.empty(shape, complex)
    found.real, found.imag = (rng.choice(PARTS, shape) for _ in range(2))
    return found


@pytest.mark.parametrize("form", ["complex128", "cqd"])
def test_order_of_numpy(form: str, device: Device) -> None:
    """By real parts, then imaginary ones, NaN last, equal ones where they were; along any axis."""
    values = mixed(5, 40)
    z = mp.array(values, form, device)
    for axis in (0, 1, -1, None):
        places = mp.argsort(z, axis=axis)
        np.testing.assert_array_equal(places, np.argsort(values, axis=axis, kind="stable"))
        found = mp.sort(z, axis=axis).to_numpy()
        np.testing.assert_array_equal(found, np.sort(values, axis=axis, kind="stable"))
    down = mp.argsort(z[0], descending=True).tolist()
    ranks = {place: rank for rank, place in enumerate(mp.argsort(z[0]).tolist())}
    same = values[0][down[:-1]] == values[0][down[1:]]
    for one, other, equal in zip(down, down[1:], same, strict=False):
        assert one < other if equal else ranks[one] > ranks[other] or np.isnan(values[0][other])
    mine, other = mp.array(values[0], form, device), values[0].copy()
    mine.sort()
    other.sort(kind="stable")
    np.testing.assert_array_equal(mine.to_numpy(), other)
    fine = values[1][np.isfinite(values[1])]
    assert mp.median(mp.array(fine, form, device)).tolist() == np.median(fine)
    part = mp.partition(mp.array(fine, form, device), 3)
    assert part[3].tolist() == np.partition(fine, 3)[3]
    np.testing.assert_array_equal(
        mp.lexsort([z[2], z[3].real]), np.lexsort([values[2], values[3].real])
    )


def test_order_takes_all_limbs(device: Device) -> None:
    """What differs in the last limb alone, of either part."""
    tiny = mp.array("1e-40", "qd", device)
    z = mp.array([1j, 1j, 1, 1, 1], "cqd", device)
    z = z + mp.stack([tiny, 0 * tiny, tiny, 0 * tiny, -tiny])
    z = z + mp.array(1j, "cqd", device) * mp.stack([0 * tiny, -tiny, tiny, 2 * tiny, tiny])
    assert mp.argsort(z).tolist() == [1, 0, 4, 3, 2]
    assert mp.searchsorted(mp.sort(z), z).tolist() == [1, 0, 4, 3, 2]


def test_places_and_sets_of_numpy(device: Device) -> None:
    """searchsorted on both sides, with NaN; isin, and what sets have."""
    values, others = np.sort(mixed(30)), mixed(4, 9)
    z, w = (mp.array(x, "cdd", device) for x in (values, others))
    for side in ("left", "right"):
        found = mp.searchsorted(z, w, side=side)
        np.testing.assert_array_equal(found, np.searchsorted(values, others, side=side))
    assert mp.searchsorted(z[:0], w[0]).tolist() == [0] * 9
    order = np.random.default_rng(1).permutation(30)
    shuffled, places = z[order], np.argsort(order)
    found = mp.searchsorted(shuffled, w[0], sorter=mp.asarray(places))
    np.testing.assert_array_equal(found, np.searchsorted(values, others[0]))
    one, two = (x[np.isfinite(x)] for x in (values, others.ravel()))
    a, b = (mp.array(x, "cdd", device) for x in (one, two))
    np.testing.assert_array_equal(mp.isin(a, b), np.isin(one, two))
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        wanted = getattr(np, name)(one, two)
        np.testing.assert_array_equal(getattr(mp, name)(a, b).to_numpy(), wanted)


def test_covariances_of_numpy(device: Device) -> None:
    """Of rows or columns, with a second one and weights; at the ends of the range."""
    rng = np.random.default_rng(12)
    x, y = (rng.standard_normal((3, 8)) + 1j * rng.standard_normal((3, 8)) for _ in range(2))
    z, w = (mp.array(v, "cdd", device) for v in (x, y))
    calls: list[dict[str, Any]] = [
        {},
        {"rowvar": False},
        {"bias": True},
        {"fweights": [1, 2, 3, 1, 2, 3, 1, 1]},
        {"aweights": [0.5, 2, 3, 1, 2, 3, 1, 1], "ddof": 2},
    ]
    for options in calls:
        np.testing.assert_allclose(
            mp.cov(z, **options).to_numpy(), np.cov(x, **options), rtol=1e-13
        )
    np.testing.assert_allclose(mp.cov(z, w).to_numpy(), np.cov(x, y), rtol=1e-13)
    real = mp.array(y.real, "dd", device)
    np.testing.assert_allclose(
        mp.cov(z, real).to_numpy(), np.cov(x, y.real), rtol=1e-13, atol=1e-15
    )
    np.testing.assert_allclose(mp.corrcoef(z).to_numpy(), np.corrcoef(x), rtol=1e-13, atol=1e-15)
    assert complex(mp.cov(z[0])) == pytest.approx(complex(np.cov(x[0])), rel=1e-13)
    # 1 + i and its opposite: the variance is 4; also where squares are beyond the range.
    pair = mp.array([1 + 1j, -1 - 1j], "cdd", device)
    assert mp.cov(pair).tolist() == 4
    far = mp.array(2.0**1000, "dd", device) * pair
    assert mp.corrcoef(far, 1j * far).to_numpy().round(12).tolist() == [[1, -1j], [1j, 1]]
    near = mp.array(2.0**-600, "dd", device) * pair
    assert mp.cov(far, near).to_numpy()[0, 1] == 2.0**402


@pytest.mark.parametrize("bound", [True, "tight"])
def test_bounds_of_sums_and_norms(bound: Any) -> None:
    """Of each part, and of Euclidean norms; those of other norms are refused."""
    rng = np.random.default_rng(17)
    z = mp.array(rng.standard_normal((3, 40)) + 1j * rng.standard_normal((3, 40)), "cdd", HOST) / 3
    value, error = z.sum(axis=1, bound=bound)
    assert (value == z.sum(axis=1)).all() and error.dtype == mp.complex128
    for part, limit, terms in ((value.real, error.real, z.real), (value.imag, error.imag, z.imag)):
        for i, row in enumerate(terms.to_fractions()):
            assert abs(part.to_fractions()[i] - sum(row)) <= limit.to_fractions()[i] < 1e-29
    for ord, axis in ((None, 1), (None, None), (2, 0), ("fro", (0, 1)), (0, 1)):
        size, error = mp.linalg.norm(z, ord, axis, bound=bound)
        assert (size == mp.linalg.norm(z, ord, axis)).all() and error.dtype == mp.float64
        if ord == 0:
            assert float(error.max()) == 0
            continue
        long = mp.linalg.norm(z.astype("cqd"), ord, axis)
        assert (abs(size.astype("qd") - long) <= error.astype("qd") * 1.001).all()
        assert float(error.max()) < 1e-28
    with pytest.raises(ArgumentError, match="ord 1 of vectors, whose error has no bound here"):
        mp.linalg.norm(z, 1, 1, bound=True)
    with pytest.raises(ArgumentError, match="out: given"):
        z.sum(axis=1, bound=True, out=value)


def test_functions_of_numpy() -> None:
    """sinc, and matrices that are lists of arrays, in their own format."""
    values = np.array([0.5 + 1j, 0, 2, 3 - 0.5j, -1.25j])
    np.testing.assert_allclose(
        mp.sinc(mp.array(values, "cdd", HOST)).to_numpy(), np.sinc(values), atol=1e-15
    )
    exact = mp.sinc(mp.array("1e-20+3j", "cqd", HOST))
    with mpmath.workdps(80):
        z = mpmath.mpc("1e-20", 3)
        assert abs(exact.to_mpmath() - mpmath.sincpi(z)) < 1e-60
    rows = [mp.array(["1/3+1j", 2], "ctd", HOST), mp.array([0, 3], "ctd", HOST)]
    assert mp.linalg.det(rows).format.name == "ctd"
    assert mp.linalg.det([row.real for row in rows]).tolist() == mp.array(1, "td", HOST).tolist()
