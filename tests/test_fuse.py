"""Fused expressions: the bits of the calls one by one, and what cannot be fused said in words."""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import tiers
from slow import TWICE, mostly_slow, on_two_devices, slow
from work import frames

import portmp as mp
from portmp.arrays import tracing
from portmp.backends.base import Device
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import ArgumentError, DeviceError, FormatError, UnsupportedError
from portmp.routines.fused import launch as fused
from portmp.verify.capture import CaptureDevice

SPECIAL = (0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan"), 1e300, 5e-324, -7.25)
FORMS = ("float64", "dd", "d+s", "float32", "ts", "qd", "slfp64in24b", "float16", "bfloat16_rz")


def bits(x: Any) -> list[bytes]:
    """What an array holds; every NaN counts as one."""
    if isinstance(x, mp.PlainArray):
        return [x.to_numpy().tobytes()]
    parts = x.to_limbs()
    return [np.where(np.isnan(p), np.nan, p).tobytes() for p in parts]


def some(shape: tuple[int, ...], form: str, device: Any, seed: int = 1) -> Any:
    """Values with all limbs, and special ones among them."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    values.reshape(-1)[: len(SPECIAL) * 7 : 7] = SPECIAL[: -(-values.size // 7)]
    with np.errstate(over="ignore"):
        return mp.array(values, form, device, rounding="nearest") * mp.pi


def same(function: Callable[..., Any], *operands: Any) -> Any:
    """The result of a fused function, which has the bits of the plain one, twice."""
    one = mp.fuse(function)
    wanted = function(*operands)
    for _ in range(2):
        found = one(*operands)
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        assert bits(found) == bits(wanted)
    return found


UNARY: list[Callable[[Any], Any]] = [
    *(lambda x: -x, abs, mp.sqrt, mp.sign, mp.positive, lambda x: x * x, mp.floor, mp.exp),
    *(lambda x: mp.clip(x, -1, mp.pi), lambda x: 2 - x, lambda x: x / 3, lambda x: x[::-1]),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    *(lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y),
    *(mp.maximum, mp.minimum, mp.copysign, lambda x, y: mp.fma(x, y, x)),
    *(lambda x, y: mp.where(x < y, x, y * 0.1), lambda x, y: mp.where(x >= 0, y, "0.1")),
    lambda x, y: mp.where((x > y) | ~(mp.isfinite(x) & (x != y)), y, -x),
]


def tree(rng: random.Random, depth: int) -> Callable[[Sequence_], Any]:
    """A random expression of operands."""
    if not depth:
        which = rng.randrange(3)
        return lambda operands: operands[which]
    if rng.random() < 0.4:
        unary, inner = rng.choice(UNARY), tree(rng, depth - 1)
        return lambda operands: unary(inner(operands))
    binary, left, right = rng.choice(BINARY), tree(rng, depth - 1), tree(rng, depth - 1)
    return lambda operands: binary(left(operands), right(operands))


Sequence_ = tuple[Any, ...]


@pytest.mark.parametrize("form", mostly_slow(FORMS, ("dd", "float16"), "a product of cases"))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_expressions(form: str, seed: int, device: Device) -> None:
    """Trees of operations, functions, choices and views, of operands that broadcast."""
    rng = random.Random(seed)
    made = tree(rng, 4)
    operands = some((5, 40), form, device), some((40,), form, device, 2), some((), form, device, 3)
    same(lambda *given: made(given) + given[0], *operands)
    same(lambda *given: mp.sum(made(given) * given[0], axis=seed % 2), *operands)


@slow(TWICE, unless=on_two_devices(1))
def test_on_every_device(every_device: Device) -> None:
    """Elementwise, with truth values; sums of one chunk."""
    a, b = some((70, 301), "dd", every_device), some((301,), "dd", every_device, 2)
    same(lambda a, b: mp.where(a > b, mp.sqrt(abs(a)), b), a, b)
    same(lambda a, b: mp.sum(a * b, axis=1), a, b)


def test_reductions(device: Device) -> None:
    """Each reduction, of one chunk and several, after operations and tests."""
    a, b = some((70, 301), "dd", device), some((301,), "dd", device, 2)
    same(lambda a, b: abs(a * b + mp.pi - a / 3), a, b)
    same(lambda a, b: (a < b) ^ mp.isnan(a), a, b)
    for axis in (0, None):
        same(lambda a, b, axis=axis: mp.sum(a * b, axis=axis), a, b)
    finite = mp.where(mp.isfinite(a) & (abs(a) < 9), a, 1)
    same(lambda a, b: mp.sum(a - a.shape[1], axis=(0, 1), keepdims=True), finite, b)
    same(lambda a, b: mp.max(a[:, 5:] * 2, axis=1), finite, b)
    same(lambda a, b: mp.prod((a.T / a.T)[3:9]), finite, b)


@pytest.mark.with_host
def test_formats_on_every_device(every_device: Device) -> None:
    """Results are rounded after each operation as their format is stored."""
    shorts = ("d+s", "float16", "slfp64in24b_rz")
    for form in (shorts[every_device.index % 3],) if every_device.index else shorts:
        a, b = some((33,), form, every_device), some((33,), form, every_device, 2)
        same(lambda a, b: (a + b) * a - b / 7, a, b)
        same(lambda a, b: mp.sum(a * b), a, b)
        wide = same(lambda a, b: (a * b).astype(a.dtype.arithmetic) + 1, a, b)
        assert wide.dtype == a.dtype.arithmetic


def test_views_and_broadcasting(device: Device) -> None:
    """Views of operands and of results, strides of any sign, elements, sizes 0 and 1."""
    a, b = some((6, 9), "ts", device), some((9,), "ts", device, 2)
    same(lambda a, b: a[::2, ::-1] * b + a[1::2], a, b)
    same(lambda a, b: (a * b).T + b[:, None], a, b)
    same(lambda a, b: (a + b)[1:4, ::-3] - (a * b)[:3, 2::3], a, b)
    same(lambda a, b: mp.sqrt(a * a)[:, None, :] + (b * b)[:6, None, None], a, b)
    same(lambda a, b: (a * a)[2] - b[4], a, b)
    same(lambda a, b: (a[0] * b).reshape(3, 3) * 2, a, b)
    same(lambda a, b: mp.sum((a * b)[::2, 1:].T, axis=1), a, b)
    same(lambda b: mp.sum(b * b[::-1]), b)
    same(lambda a, b: a + b, a[:0], b)
    same(lambda a, b: mp.sum(a * b, axis=1), a[:0], b)
    same(lambda a, b: mp.sum(a * b, axis=0), a[:0], b)
    same(lambda a, b: a * b, a[:1, :1], b[:1])
    same(lambda a: a, a)
    same(lambda a, b: b + b, a, b)
    same(lambda x, y: x - y, a, a)
    for k in range(3):
        same(lambda x, y: x * y + 1, b[k : k + 5], b[2 * k : 2 * k + 5])
    with pytest.raises(UnsupportedError, match=r"another shape"):
        mp.fuse(lambda a, b: (a * b).reshape(9, 6) + 1)(a, b)


def test_formats_that_meet(device: Device) -> None:
    """As without fuse: binary32 beside binary64, integers and truth values; others are refused."""
    a, short = some((40,), "float64", device), some((40,), "float32", device, 2)
    whole = mp.plain_array(np.arange(40), "int32", device)
    same(lambda a, x: a * x + x[::-1], a, short)
    same(lambda a, x: mp.sum(a * x), a, short)
    same(lambda a, n: a / n + n[::-1], a, whole)
    same(lambda a, t: mp.where(t & (a > 0), a, -a), a, whole > 3)
    dd = a.astype("dd")
    same(lambda a, x: a.astype("dd") * x, a, dd)
    with pytest.raises(FormatError, match="multiply: formats float64 and dd"):
        mp.fuse(lambda a, x: a * x)(a, dd)
    with pytest.raises(UnsupportedError, match="converts a result of float64 to dd"):
        mp.fuse(lambda a, x: (a * a).astype("dd") * x)(a, dd)


@pytest.mark.parametrize(
    ("form", "other"),
    [("float64", "float16"), ("dd", "bfloat16_rz"), ("float32", "slfp64in24b"), ("ds", "dd"),
     ("float64", "fp64infp32"), ("float32", "fp64infp32"), ("float32", "float64")],
)  # fmt: skip
def test_operands_in_another_format(form: str, other: str, device: Device) -> None:
    """Converted before they are read, or read as what they are in memory."""
    x = some((40,), form, device)
    same(lambda x: x.astype(other)[::-3] * 2, x)
    same(lambda x: mp.sum(x[1:4].astype(other)), x)


def test_numbers(device: Device) -> None:
    """Constants and texts are exact; numbers among the arguments and around count as they are."""
    x = some((30,), "qd", device)
    same(lambda x, n, s: x * n + s - mp.pi + mp.e * 2, x, 3, "0.1")
    scaled = mp.fuse(lambda x, n: x * n if n > 1 else x / n)
    for n in (2, 2.0, 0.5, 0.0, -0.0, 3):
        assert bits(scaled(x, n)) == bits(x * n if n > 1 else x / n), n
    assert bits(scaled(x, n=4)) == bits(x * 4)
    step = 0.25

    def inner(x: Any) -> Any:
        return x * step

    moved = mp.fuse(lambda x: inner(x) + 1)
    for step in (0.25, 0.75, "0.1"):
        assert bits(moved(x)) == bits(x * step + 1)


def test_in_place_within(device: Device) -> None:
    """Results may be changed in place, operands not."""

    def added(x: Any, y: Any) -> Any:
        z = x * y
        z += x
        z = mp.zeros_like(z) + z
        z *= 2
        return z

    x, y = some((20,), "dd", device), some((20,), "dd", device, 2)
    same(added, x, y)
    before = bits(x)
    for wrong in ("x += y", "x[2] = 1", "x[:3] = y[:3]", "z = x * y; z[1:] = x[1:]"):

        def function(x: Any, y: Any, wrong: str = wrong) -> Any:
            exec(wrong, {"x": x, "y": y})
            return x + y

        with pytest.raises(UnsupportedError, match="in place; return the new array"):
            mp.fuse(function)(x, y)
    assert bits(x) == before


def test_what_cannot_be_fused(device: Device) -> None:
    """Each is refused in words that say what to write instead."""
    x, outer = some((4, 4), "dd", device), some((4, 4), "dd", device, 2)
    cases: list[tuple[Callable[[Any], Any], str]] = [
        (lambda x: x if x[0, 0] > 0 else -x, r"a value on the host \(if.*portmp.where"),
        (lambda x: x * float(x[0, 0]), "a value on the host"),
        (lambda x: x[x > 0], "at places that a result tells.*portmp.where"),
        (lambda x: print(x) or x, "a value on the host"),
        (lambda x: x @ x, "which is no elementwise operation|kernels of its own; call that"),
        (lambda x: mp.sum(x * x) * 2, "a reduction's result; that comes last, go on outside"),
        (mp.cumsum, r"it adds up along an axis \(cumsum.*no elementwise operation; call that"),
        (mp.median, r"it sorts or searches \(sort, median"),
        (lambda x: mp.all(x > 0), r"it counts or asks of whole rows \(all, any"),
        (lambda x: x if mp.array_equiv(x, x) else -x, "whole rows|a value on the host"),
        (lambda x: mp.linalg.solve(x, x), "on the host|no elementwise|kernels of its own"),
        (lambda x: x * outer, "an array that is no argument.*give it as an argument"),
        (lambda x: outer * x, "an array that is no argument.*give it as an argument"),
        (lambda x: outer, "no result of its arguments"),
        (lambda x: x * [1, 2, 3, 4], "an array of the host's numbers; give it as an argument"),
        (lambda x: (x, x), "returns tuple; one array is returned"),
        (lambda x: x.limbs[0] + 1, "takes a value apart"),
        (mp.zeros_like, "depends on no argument"),
        (lambda x: mp.plain_array([1], device=x.device) + x, "host.s numbers|no argument"),
    ]
    for function, words in cases:
        with pytest.raises(UnsupportedError, match=words):
            mp.fuse(function)(x)
    with pytest.raises(ArgumentError, match="fuse: str given, a function is needed"):
        mp.fuse("x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no array given"):
        mp.fuse(abs)(2)
    with pytest.raises(ArgumentError, match="argument 0: object given"):
        mp.fuse(lambda self, x: x)(object(), x)
    z = mp.array(["1+2j"] * 4, "cdd", device)
    for f in (lambda z: z * z, lambda z: z.real * 2, lambda z: abs(x * 1j), lambda z: x * z):
        with pytest.raises(UnsupportedError, match=r"complex numbers, .* z\.real and z\.imag"):
            mp.fuse(f)(z)
    sizes = mp.fuse(lambda a, b: a * a + b * b)(z.real, z.imag)
    assert (sizes == z.real * z.real + z.imag * z.imag).all()
    with pytest.raises(DeviceError, match=r"several queues|another queue"):
        mp.fuse(lambda x, y: x + y)(x, mp.queue(device) and outer.to(mp.queue(device)))
    many = [x] * 60
    with pytest.raises(UnsupportedError, match="more than a kernel takes; make two"):
        mp.fuse(lambda *many: sum(m * (i + 2) for i, m in enumerate(many)))(*many)


def test_lists_beside_arrays(device: Device) -> None:
    """Lists and NumPy's arrays become arrays beside the first one, as in operators."""
    x = some((3,), "dd", device)
    for other in ([1, 2, 3], np.array([0.5, 1, 2]), ["0.1", "0.2", "0.3"]):
        assert bits(mp.fuse(lambda x, y: x * y + y)(x, other)) == bits(x * other + other)


def test_known_by_what_it_does(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two functions that do the same have one kernel; a warm call neither traces nor plans."""
    x, y = some((50,), "dd", device), some((50,), "dd", device, 2)
    first, second = mp.fuse(lambda x, y: x * y + 2.5), mp.fuse(lambda a, b: 3 + b * a - 0)
    specs: list[Any] = []
    monkeypatch.setattr(fused, "kernel_spec", lambda *key: specs.append(key) or _KERNEL(*key))
    first(x, y)
    mp.fuse(lambda p, q: p * q + 7)(x, y)
    assert len({key[0] for key in specs}) == 1
    second(x, y)
    assert len({key[0] for key in specs}) == 2
    monkeypatch.setattr(tracing, "traced", None)
    assert bits(first(y, x)) == bits(y * x + 2.5)
    assert frames(lambda: first(x, y)) <= frames(lambda: x + y) + 2


_KERNEL = fused.kernel_spec

around: Any = 2
"""What functions read in ``test_what_is_around_counts``."""


def _times(x: Any) -> Any:
    return x * around


def _scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(x: Any) -> Any:
        return function(x) * around

    return inner


class _Called:
    def __call__(self, x: Any) -> Any:
        return x * around


def test_what_is_around_counts(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed numbers, also of wrapped and partial functions, callable objects, modules."""
    module = types.ModuleType("physics")
    exec("def force(x):\n    return x * around", module.__dict__)
    x = mp.array([1, 2], "qd", device)
    helper, wrapped, called = mp.fuse(_times), _scaled(lambda x: x + 0), _Called()
    users: list[Callable[..., Any]] = [
        *(_times, wrapped, called, functools.partial(lambda k, x: x * around * k, 1), helper),
        *(lambda x: helper(x) + 0, lambda x: called(x) + wrapped(x), lambda x: module.force(x) + 0),
    ]
    ours = [mp.fuse(one) for one in users]
    known = mp.fuse(lambda x, k: x * k)
    for value, digits in ((2, 15), (2.5, 15), ("0.1", 15), (mpmath.pi, 15), (mpmath.pi, 60)):
        monkeypatch.setattr(mpmath.mp, "dps", digits)
        monkeypatch.setattr(sys.modules[__name__], "around", value)
        vars(module)["around"] = value
        for one, alike in zip(users, ours, strict=True):
            assert bits(alike(x)) == bits(one(x))
        assert bits(known(x, value)) == bits(x * value)


def test_objects_are_known_as_long_as_they_may_be_met(device: Device) -> None:
    """A new object in the place in memory of one that is gone is another one; so are closures."""
    x = mp.array([1], "dd", device)
    read: Any = None
    one = mp.fuse(lambda x: x * read.k)
    for k in range(2, 9):
        read = types.SimpleNamespace(k=k)
        assert one(x)[0] == k

    def made(k: int) -> Any:
        def times(x: Any) -> Any:
            return x * k

        def put(new: int) -> None:
            nonlocal k
            k = new

        return times, put

    (first, _), (second, put) = made(2), made(3)
    both = mp.fuse(lambda x: first(x) + second(x))
    assert both(x)[0] == 5
    put(9)
    assert both(x)[0] == 11
    pairs = ([1, 2], [3, 4])
    assert mp.fuse(lambda x: x * pairs[1][0])(x)[0] == 3
    for other in ({2}, {"k": 2}):
        with pytest.raises(ArgumentError, match=r"argument 1: (set|dict) given"):
            mp.fuse(lambda x, y: x)(x, other)


def test_functions_of_functions(device: Device) -> None:
    """Fused functions within others; many operations, of which results are used and seen twice."""
    inner = mp.fuse(lambda x, y: mp.where(x > y, x * y, -x))

    def outer(x: Any, y: Any) -> Any:
        return inner(x, y) + inner(y, 0.5)

    def deep(x: Any, y: Any) -> Any:
        for _ in range(20):
            x = x * x - y
        for _ in range(400):
            x = x * 0.5 + y
        return x[::-1] + x

    x, y = some((30,), "float64", device), some((30,), "float64", device, 2)
    same(outer, x, y)
    same(deep, x, y)
    same(lambda x, y: (x < y) & (x + y > 1), *(some((9,), "float16", device, i) for i in (1, 2)))


@pytest.mark.parametrize(
    ("tier", "platform", "arch"),
    [("nvrtc", "cuda", "sm_90"), ("hiprtc", "rocm", "gfx90a"), ("clang", "rocm", "gfx1100")],
)
def test_compiles_for_gpus(tier: str, platform: str, arch: str) -> None:
    """All kernels of expressions and of their sums, by each vendor's compiler."""
    tiers.check(tier)
    compilers = {"nvrtc": NvrtcCompiler, "hiprtc": HiprtcCompiler, "clang": ClangCompiler}
    there = CaptureDevice(platform)
    x, y = some((9, 9), "dd", there), some((9000,), "float16", there)
    mp.fuse(lambda x: mp.where(x > 1, mp.sqrt(x) * x.T, -x))(x)
    mp.fuse(lambda x: mp.sum(x * x.T - 1, axis=1))(x)
    mp.fuse(lambda y: y * y - 0.1)(y)
    mp.fuse(lambda y: mp.sum(y * y[::-1]))(y)
    texts = {one.kernel.text: one.kernel.name for one in there.notes.launches}
    assert {"expression", "sum_chunk", "sum_combine"} < set(texts.values())
    for text in texts:
        if "fused_" in text:
            assert compilers[tier]().compile(text, arch)


@pytest.mark.parametrize("name", ["emulated:gfx90a", "emulated:gfx1100"])
def test_on_interpreted_gpus(name: str) -> None:
    """AMD's code of an expression and of its sum has the bits of the calls one by one."""
    there = tiers.interpreted(name)
    a, b = some((3, 70), "dd", there), some((70,), "dd", there, 2)
    same(lambda a, b: mp.where(a > b, a * b, a - 1), a, b)
    same(lambda a, b: mp.sum(a * b - 1, axis=1), a, b)
    short = some((70,), "float16", there)
    same(lambda x: (x + 0.5) * x, short)
