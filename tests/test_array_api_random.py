"""The array API standard's functions on random shapes and dtypes, beside array-api-strict.

As the standard's own test suite draws them: shapes with axes of no length and without axes,
operands that broadcast, every pair of dtypes that meet, special values, axes of every kind. The
host's reference answers, so that no kernel is compiled; other devices have its bits
(tests/test_bits.py). What the standard leaves open is left out where it is drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as drawn

import portmp as mp

strict = pytest.importorskip("array_api_strict")

SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
WHOLE, FLOATS = SIGNED + UNSIGNED, ("float32", "float64")
REAL = WHOLE + FLOATS
ALL = ("bool", *REAL)

few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
shapes = drawn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
with_axes = drawn.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
with_elements = drawn.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)
matrices = drawn.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=3)


@pytest.fixture(autouse=True)
def _as_the_standard() -> Iterator[None]:
    """float64 where no dtype is given, on the host."""
    strict.set_array_api_strict_flags(api_version="2024.12")
    with mp.default_format("float64"), mp.device("host"), np.errstate(all="ignore"):
        yield


def both(host: Any) -> tuple[Any, Any]:
    """An array of portmp's and one of the reference's."""
    host = np.asarray(host)
    return tuple(xp.asarray(host, dtype=getattr(xp, host.dtype.name)) for xp in (mp, strict))


def agree(own: Any, theirs: Any, ulps: int = 0) -> None:
    """Shapes, dtypes and values; floats within so many units of the last place."""
    if isinstance(theirs, (tuple, list)):
        assert len(own) == len(theirs)
        for one, other in zip(own, theirs, strict=True):
            agree(one, other, ulps)
        return
    if not hasattr(theirs, "__array_namespace__"):
        assert own == theirs
        return
    expected = np.asarray(theirs)
    assert own.shape == expected.shape
    assert getattr(own.dtype, "name", str(own.dtype)) == expected.dtype.name
    found = np.asarray(own)
    if expected.dtype.kind != "f":
        assert np.array_equal(found, expected)
        return
    if not ulps:
        assert np.array_equal(found, expected, equal_nan=True)
    within = ulps * float(np.finfo(expected.dtype).eps)
    np.testing.assert_allclose(found, expected, rtol=within, atol=1e-300)
    zeros = expected == 0
    assert ulps or np.array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


def array(draw: Any, dtypes: tuple[str, ...], shape: Any = shapes, values: Any = None) -> Any:
    """An array of NumPy's."""
    return draw(drawn.arrays(draw(st.sampled_from(dtypes)), shape, elements=values))


def meeting(dtypes: tuple[str, ...]) -> Any:
    """Pairs of dtypes for which the standard has a common one."""
    pairs = [(a, b) for a in dtypes for b in dtypes if _meet(a, b)]
    return st.sampled_from(pairs)


def _meet(a: str, b: str) -> bool:
    kinds = {np.dtype(a).kind, np.dtype(b).kind}
    return len(kinds) == 1 or (kinds == {"i", "u"} and "uint64" not in (a, b))


ROUNDED = 4
"""Units of the last place in which elementary functions of NumPy's and ours may differ."""
SUMMED = 64
"""Those of sums in another order, of numbers from 0 to 5 that are not whole."""

UNARY = {
    **dict.fromkeys(
        [
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "cos",
            "cosh",
            "exp",
            "expm1",
            "log",
            "log1p",
            "log2",
            "log10",
            "sin",
            "sinh",
            "tan",
            "tanh",
        ],
        (FLOATS, ROUNDED),
    ),
    **dict.fromkeys(["sqrt", "reciprocal", "signbit"], (FLOATS, 0)),
    **dict.fromkeys(
        ["abs", "ceil", "floor", "trunc", "round", "negative", "positive", "sign", "square"],
        (REAL, 0),
    ),
    **dict.fromkeys(["isfinite", "isinf", "isnan"], (REAL, 0)),
    "bitwise_invert": (("bool", *WHOLE), 0),
    "logical_not": (("bool",), 0),
}
BINARY = {
    **dict.fromkeys(["atan2", "hypot", "logaddexp"], (FLOATS, ROUNDED)),
    **dict.fromkeys(["copysign", "divide", "nextafter"], (FLOATS, 0)),
    **dict.fromkeys(["add", "subtract", "multiply", "maximum", "minimum"], (REAL, 0)),
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal"], (REAL, 0)),
    **dict.fromkeys(["equal", "not_equal"], (ALL, 0)),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], (("bool",), 0)),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], (("bool", *WHOLE), 0)),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], (WHOLE, 0)),
    "floor_divide": (REAL, 0),
    "remainder": (REAL, 0),
    "pow": (REAL, ROUNDED),
}


def tried(check: Callable[[Any], None]) -> None:
    """A check with data that are drawn, a few times."""
    few(given(st.data())(check))()


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_one_operand(name: str) -> None:
    dtypes, ulps = UNARY[name]

    def holds(data: Any) -> None:
        own, theirs = both(array(data.draw, dtypes))
        agree(getattr(mp, name)(own), getattr(strict, name)(theirs), ulps)

    tried(holds)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_functions_of_two_operands(name: str) -> None:
    """With shapes that broadcast, and dtypes that meet."""
    dtypes, ulps = BINARY[name]

    def holds(data: Any) -> None:
        kinds = data.draw(meeting(dtypes))
        joined = drawn.mutually_broadcastable_shapes(
            num_shapes=2, min_side=0, max_dims=3, max_side=3
        )
        pairs = zip(kinds, data.draw(joined).input_shapes, strict=True)
        a, b = (data.draw(drawn.arrays(kind, shape)) for kind, shape in pairs)
        if kinds[0][0] in "iu":
            a, b = _within_reach(name, a, b)
        (own, theirs), (own2, theirs2) = both(a), both(b)
        agree(getattr(mp, name)(own, own2), getattr(strict, name)(theirs, theirs2), ulps)

    tried(holds)


def _within_reach(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Integers for which the standard says what comes out."""
    if "shift" in name:
        b = b % np.asarray(np.result_type(a, b).itemsize * 8).astype(b.dtype)
    elif name == "pow":
        b = b % np.asarray(5).astype(b.dtype)
    elif name in ("floor_divide", "remainder"):
        b = np.where(b == 0, 3, b).astype(b.dtype)
        a = np.where(a == np.iinfo(a.dtype).min, 0, a).astype(a.dtype)
    return np.asarray(a), np.asarray(b)


Draw = Callable[[Any], Any]
Options = Callable[[Draw, Any], tuple[tuple[Any, ...], dict[str, Any]]]


def one_axis(draw: Draw, x: Any, none: bool = False) -> Any:
    return draw(st.sampled_from([*range(-x.ndim, x.ndim), *([None] if none else [])]))


def any_axes(draw: Draw, x: Any) -> Any:
    several = st.sets(st.integers(0, max(x.ndim - 1, 0)), max_size=x.ndim).map(tuple)
    return draw(several) if x.ndim and draw(st.booleans()) else one_axis(draw, x, none=True)


def reduced(draw: Draw, x: Any) -> Any:
    return (), {"axis": any_axes(draw, x), "keepdims": draw(st.booleans())}


def along(**more: Any) -> Options:
    def options(draw: Draw, x: Any) -> Any:
        return (), {"axis": one_axis(draw, x)} | {k: draw(v) for k, v in more.items()}

    return options


def reshaped(draw: Draw, x: Any) -> Any:
    return (draw(st.sampled_from([(-1,), (1, x.size), x.shape[::-1]])),), {}


def permuted(draw: Draw, x: Any) -> Any:
    return (tuple(draw(st.permutations(range(x.ndim)))),), {}


def moved(draw: Draw, x: Any) -> Any:
    return (one_axis(draw, x), one_axis(draw, x)), {}


def counted(draw: Draw, x: Any) -> Any:
    return (draw(st.integers(0, 3)),), {"axis": one_axis(draw, x, none=True)}


def placed(draw: Draw, x: Any) -> Any:
    return (), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))}


def diagonals(draw: Draw, x: Any) -> Any:
    return (), {"k": draw(st.integers(-4, 4))}


def nothing(draw: Draw, x: Any) -> Any:
    return (), {}


up_to_5 = st.integers(0, 5)
yes = st.booleans()
ordered = along(descending=yes, stable=st.just(True))
running = along(include_initial=yes)

ARRAYS: dict[str, tuple[tuple[str, ...], Any, Any, Options, int]] = {
    "all": (ALL, shapes, None, reduced, 0),
    "any": (ALL, shapes, None, reduced, 0),
    "max": (REAL, with_elements, None, reduced, 0),
    "min": (REAL, with_elements, None, reduced, 0),
    "sum": (REAL, shapes, up_to_5, reduced, 0),
    "prod": (REAL, shapes, up_to_5, reduced, 0),
    "mean": (FLOATS, with_elements, up_to_5, reduced, SUMMED),
    "var": (FLOATS, with_elements, up_to_5, reduced, SUMMED),
    "std": (FLOATS, with_elements, up_to_5, reduced, SUMMED),
    "count_nonzero": (ALL, shapes, up_to_5, reduced, 0),
    "argmax": (REAL, with_elements, None, along(keepdims=yes), 0),
    "argmin": (REAL, with_elements, None, along(keepdims=yes), 0),
    "cumulative_sum": (REAL, with_axes, up_to_5, running, 0),
    "cumulative_prod": (REAL, with_axes, up_to_5, running, 0),
    "diff": (REAL, with_axes, up_to_5, along(n=st.integers(0, 2)), 0),
    "sort": (REAL, with_axes, up_to_5, ordered, 0),
    "argsort": (REAL, with_axes, up_to_5, ordered, 0),
    "unique_all": (ALL, shapes, up_to_5, nothing, 0),
    "unique_counts": (ALL, shapes, up_to_5, nothing, 0),
    "unique_inverse": (ALL, shapes, up_to_5, nothing, 0),
    "unique_values": (ALL, shapes, up_to_5, nothing, 0),
    "nonzero": (ALL, with_axes, up_to_5, nothing, 0),
    "flip": (ALL, shapes, None, lambda draw, x: ((), {"axis": any_axes(draw, x)}), 0),
    "roll": (ALL, with_axes, None, counted, 0),
    "repeat": (ALL, with_axes, None, counted, 0),
    "expand_dims": (ALL, shapes, None, placed, 0),
    "permute_dims": (ALL, shapes, None, permuted, 0),
    "reshape": (ALL, with_elements, None, reshaped, 0),
    "moveaxis": (ALL, with_axes, None, moved, 0),
    "unstack": (ALL, with_elements, None, along(), 0),
    "matrix_transpose": (ALL, matrices, None, nothing, 0),
    "tril": (ALL, matrices, None, diagonals, 0),
    "triu": (ALL, matrices, None, diagonals, 0),
    "zeros_like": (ALL, shapes, None, nothing, 0),
    "ones_like": (ALL, shapes, None, nothing, 0),
}
"""Functions of one array: dtypes, shapes, elements (None: any), other arguments, ulps apart."""


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_functions_of_one_array(name: str) -> None:
    dtypes, sizes, values, options, ulps = ARRAYS[name]

    def holds(data: Any) -> None:
        kind = data.draw(st.sampled_from(dtypes))
        x = data.draw(drawn.arrays(kind, sizes, elements=None if kind == "bool" else values))
        positional, named = options(data.draw, x)
        own, theirs = both(x)
        expected = getattr(strict, name)(theirs, *positional, **named)
        agree(getattr(mp, name)(own, *positional, **named), expected, ulps)

    tried(holds)


def taken(draw: Draw) -> Iterator[Any]:
    x = array(draw, ALL, with_elements)
    axis = one_axis(draw, x)
    n = x.shape[axis]
    places = np.array(draw(st.lists(st.integers(-n, n - 1), max_size=5)), "int64")
    yield "take", [x, places], {"axis": axis}
    sizes = list(x.shape)
    sizes[axis] = draw(st.integers(0, 4))
    several = draw(drawn.arrays("int64", tuple(sizes), elements=st.integers(-n, n - 1)))
    yield "take_along_axis", [x, several], {"axis": axis}


def searched(draw: Draw) -> Iterator[Any]:
    kind = draw(st.sampled_from(REAL))
    x = np.sort(draw(drawn.arrays(kind, draw(up_to_5), elements=up_to_5)))
    wanted = draw(drawn.arrays(kind, shapes, elements=up_to_5))
    yield "searchsorted", [x, wanted], {"side": draw(st.sampled_from(["left", "right"]))}


def chosen(draw: Draw) -> Iterator[Any]:
    kinds = ("bool", *draw(meeting(ALL)))
    joined = drawn.mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_dims=3, max_side=3)
    pairs = zip(kinds, draw(joined).input_shapes, strict=True)
    yield "where", [draw(drawn.arrays(kind, shape)) for kind, shape in pairs], {}
    x = array(draw, REAL)
    low, high = (np.asarray(end, x.dtype) for end in sorted((draw(up_to_5), draw(up_to_5))))
    yield "clip", [x, low, high], {}


def multiplied(draw: Draw) -> Iterator[Any]:
    for name, signature in (("matmul", np.matmul.signature), ("vecdot", "(n),(n)->()")):
        joined = drawn.mutually_broadcastable_shapes(
            signature=signature, max_dims=2, max_side=3, min_side=1
        )
        pairs = zip(draw(meeting(REAL)), draw(joined).input_shapes, strict=True)
        yield name, [draw(drawn.arrays(k, shape, elements=up_to_5)) for k, shape in pairs], {}
    k, few_sides = draw(st.integers(0, 2)), st.lists(st.integers(0, 3), max_size=2)
    common = draw(st.lists(st.integers(0, 3), min_size=k, max_size=k))
    sizes = (tuple(draw(few_sides) + common), tuple(common + draw(few_sides)))
    pairs = zip(draw(meeting(REAL)), sizes, strict=True)
    operands = [draw(drawn.arrays(kind, shape, elements=up_to_5)) for kind, shape in pairs]
    yield "tensordot", operands, {"axes": k}


@few
@pytest.mark.parametrize("calls", [taken, searched, chosen, multiplied])
@given(data=st.data())
def test_functions_of_several_arrays(calls: Callable[[Draw], Iterator[Any]], data: Any) -> None:
    for name, operands, named in calls(data.draw):
        own, theirs = zip(*map(both, operands), strict=True)
        agree(getattr(mp, name)(*own, **named), getattr(strict, name)(*theirs, **named))


@few
@given(data=st.data())
def test_functions_of_lists_of_arrays(data: Any) -> None:
    """concat and stack of dtypes that meet; meshgrid."""
    draw = data.draw
    kinds = draw(st.sampled_from([("bool",), SIGNED, UNSIGNED, FLOATS]))
    shape = draw(with_axes)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    given_ = [both(array(draw, kinds, st.just(shape))) for _ in range(draw(st.integers(1, 3)))]
    own, theirs = ([pair[i] for pair in given_] for i in range(2))
    for name in ("concat", "stack"):
        agree(getattr(mp, name)(own, axis=axis), getattr(strict, name)(theirs, axis=axis))
    kind = draw(st.sampled_from(ALL))
    lines = [both(draw(drawn.arrays(kind, st.integers(0, 3)))) for _ in range(2)]
    order = draw(st.sampled_from(["xy", "ij"]))
    agree(
        mp.meshgrid(*[line[0] for line in lines], indexing=order),
        strict.meshgrid(*[line[1] for line in lines], indexing=order),
    )


@few
@given(data=st.data())
def test_creation(data: Any) -> None:
    draw = data.draw
    kind, shape = draw(st.sampled_from(ALL)), draw(shapes)
    value = {"b": True, "i": -3, "u": 7, "f": float("nan")}[np.dtype(kind).kind]
    rows, columns, k = draw(up_to_5), draw(up_to_5 | st.none()), draw(st.integers(-5, 5))
    quarters = st.integers(-20, 20).map(lambda n: n / 4)
    start, stop, step = draw(quarters), draw(quarters), draw(quarters.filter(bool))
    whole = draw(st.integers(-9, 9)), draw(st.integers(-9, 9)), draw(st.sampled_from([-2, 1, 3]))
    number, end = draw(up_to_5), draw(yes)
    for own, theirs in [
        tuple(f(xp) for xp in (mp, strict))
        for f in (
            lambda xp: xp.zeros(shape, dtype=getattr(xp, kind)),
            lambda xp: xp.ones(shape),
            lambda xp: xp.full(shape, value, dtype=getattr(xp, kind)),
            lambda xp: xp.full(shape, value if kind[0] != "u" else 3),
            lambda xp: xp.eye(rows, columns, k=k, dtype=getattr(xp, kind)),
            lambda xp: xp.arange(*whole),
            lambda xp: xp.arange(start, stop, step),
            lambda xp: xp.linspace(start, stop, number, endpoint=end),
        )
    ]:
        agree(own, theirs, 1)


@few
@given(data=st.data())
def test_indices_read_and_write(data: Any) -> None:
    """Integers, slices, ellipses and new axes; truth values for whole arrays; as targets, too."""
    x = array(data.draw, ALL)
    key = data.draw(drawn.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    mask = data.draw(drawn.arrays("bool", x.shape))
    own, theirs = both(x)
    agree(own[both(mask)[0]], theirs[both(mask)[1]])
    none = mask[tuple(slice(data.draw(st.sampled_from([n, 0]))) for n in mask.shape)]
    agree(own[both(none)[0]], theirs[both(none)[1]])
    # NumPy in place of array-api-strict, which asks for one ellipsis at least where axes are left.
    host = np.array(x)
    agree(own[key], strict.asarray(host[key]))
    if host[key].size:
        host[key] = 1
        own[key] = 1
        agree(own, strict.asarray(host))


@few
@given(data=st.data())
def test_dtypes(data: Any) -> None:
    """astype of numbers that both hold, result_type, isdtype; can_cast within one kind."""
    one, other = (data.draw(st.sampled_from(ALL)) for _ in range(2))
    least = 1 if "bool" in (one, other) else 100
    x = data.draw(drawn.arrays(one, shapes, elements=st.integers(0, least)))
    own, theirs = both(x)
    agree(mp.astype(own, getattr(mp, other)), strict.astype(theirs, getattr(strict, other)))
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric")
    for kind in (*kinds, "complex floating", ("bool", "real floating")):
        assert mp.isdtype(getattr(mp, one), kind) == strict.isdtype(getattr(strict, one), kind)
    if _meet(one, other):
        common = mp.result_type(getattr(mp, one), getattr(mp, other))
        expected = strict.result_type(getattr(strict, one), getattr(strict, other))
        assert getattr(common, "name", str(common)) == str(expected).rpartition(".")[2]
    if np.dtype(one).kind == np.dtype(other).kind:
        expected = strict.can_cast(getattr(strict, one), getattr(strict, other))
        assert mp.can_cast(getattr(mp, one), getattr(mp, other)) == expected


# --- what is not drawn ----------------------------------------------------------------------------

SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, -2, 3, -3, 2.5]
OPEN = {"maximum", "minimum"}
"""What the standard leaves open is which zero they give."""


@pytest.mark.parametrize("name", sorted({*UNARY, *BINARY} - OPEN))
def test_special_values(name: str) -> None:
    """Each beside each: infinities, NaN, both zeros, integers and halves."""
    dtypes, ulps = (UNARY | BINARY)[name]
    if "float64" not in dtypes:
        return
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    operands = [pairs[:, 0], pairs[:, 1]] if name in BINARY else [np.array(SPECIAL)]
    own, theirs = zip(*map(both, operands), strict=True)
    found, expected = getattr(mp, name)(*own), getattr(strict, name)(*theirs)
    agree(found, expected, ulps)
    if expected.dtype == strict.float64:
        zeros = np.asarray(expected) == 0
        signs = [np.signbit(np.asarray(x))[zeros].tolist() for x in (found, expected)]
        assert signs[0] == signs[1]


@pytest.mark.parametrize("name", sorted(BINARY))
def test_numbers_beside_arrays(name: str) -> None:
    """On either side they have the array's dtype."""
    dtypes, ulps = BINARY[name]
    for kind in dtypes:
        number = {"b": True, "f": 2.5}.get(np.dtype(kind).kind, 2)
        own, theirs = both(np.array([1, 2, 3]).astype(kind))
        agree(getattr(mp, name)(own, number), getattr(strict, name)(theirs, number), ulps)
        agree(getattr(mp, name)(number, own), getattr(strict, name)(number, theirs), ulps)


@pytest.mark.parametrize(
    "key",
    [
        ([0, 2], 1, [3, 4]),
        ([[0], [1]], [1, 2], 0),
        (1, [0, 3], 2),
        ([2, 0], [3, 1], [4, 4]),
        ([0, -1], ...),
    ],
    ids=str,
)
def test_arrays_of_integers_beside_integers(key: Any) -> None:
    x = np.arange(60).reshape(3, 4, 5)
    places = tuple(mp.asarray(k) if isinstance(k, list) else k for k in key)
    agree(mp.asarray(x)[places], strict.asarray(x[key]))


SQUARE = [[[4.0, 1, 2], [1, 3, 0], [2, 0, 5]], [[5.0, 1, 1], [1, 6, 2], [1, 2, 7]]]
TALL = [[1.0, 2], [3, 4], [5, 6.5]]
Linalg = Callable[[Any, Any, Any], Any]
LINALG: dict[str, Linalg] = {
    "cholesky": lambda f, a, t: [f(a), f(a, upper=True)],
    "cross": lambda f, a, t: [f(a, a[:, ::-1, :]), f(a, a[:, ::-1, :], axis=-2)],
    "det": lambda f, a, t: f(a),
    "diagonal": lambda f, a, t: [f(a), f(t, offset=-1)],
    "eigh": lambda f, a, t: [f(a).eigenvalues, f(a)._fields],
    "eigvalsh": lambda f, a, t: f(a),
    "inv": lambda f, a, t: f(a),
    "matmul": lambda f, a, t: [f(a, t), f(a, a)],
    "matrix_norm": lambda f, a, t: [
        f(x, ord=ord, keepdims=kept)
        for x in (a, t)
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        for kept in (True, False)
    ],
    "matrix_power": lambda f, a, t: [f(a, n) for n in (0, 1, 3, -2)],
    "matrix_rank": lambda f, a, t: [f(a), f(t), f(a, rtol=0.4)],
    "matrix_transpose": lambda f, a, t: [f(a), f(t)],
    "outer": lambda f, a, t: f(t[0, :], t[:, 1]),
    "pinv": lambda f, a, t: [f(a), f(t), f(t, rtol=0.2)],
    "qr": lambda f, a, t: [[abs(x) for x in f(t)], f(a)._fields, f(t, mode="complete")[0].shape],
    "slogdet": lambda f, a, t: f(a),
    "solve": lambda f, a, t: [f(a, t), f(a, t[:, 0])],
    "svd": lambda f, a, t: [f(t).S, f(a)._fields, [x.shape for x in f(t, full_matrices=False)]],
    "svdvals": lambda f, a, t: [f(a), f(t)],
    "tensordot": lambda f, a, t: f(a, t, axes=((2,), (0,))),
    "trace": lambda f, a, t: [f(a), f(t, offset=-1), f(a, dtype=a.dtype)],
    "vecdot": lambda f, a, t: [f(a, t[:, 0]), f(t, t, axis=-2)],
    "vector_norm": lambda f, a, t: [
        f(a, ord=ord, axis=axis, keepdims=kept)
        for ord in (0, 1, -1, 2, 3, 0.5, np.inf, -np.inf)
        for axis in (None, 0, (0, -1))
        for kept in (True, False)
    ],
}
"""Calls of the extension for linear algebra, with a stack of matrices and with a tall one."""


@pytest.mark.parametrize("name", sorted(LINALG))
@pytest.mark.parametrize("kind", FLOATS)
def test_linear_algebra(name: str, kind: str) -> None:
    """Options, dtypes, shapes and fields are the standard's; values as far as rounding goes."""
    a, t = (both(np.array(x, kind)) for x in (SQUARE, TALL))
    found = LINALG[name](getattr(mp.linalg, name), a[0], t[0])
    agree(found, LINALG[name](getattr(strict.linalg, name), a[1], t[1]), 200)


def test_every_function_of_linear_algebra_is_called() -> None:
    own = {n for n, f in vars(strict.linalg).items() if f.__class__.__name__ == "function"}
    assert {n for n in strict.linalg.__all__ if n in own} <= {*LINALG, "vecdot"}
