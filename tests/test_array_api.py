"""The array API standard 2024.12, function by function beside array-api-strict.

Each function of the standard has calls here that are made with both libraries: shapes, dtypes and
values must agree. Values of portmp are float64 for that; a second run takes dd and looks whether
float64's answer comes out again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from slow import slow

import portmp as mp
from portmp.backends.base import Device
from portmp.errors import ArgumentError

strict = pytest.importorskip("array_api_strict")
strict.set_array_api_strict_flags(api_version="2024.12")

NOT_THERE = {
    "fft": "transforms: with complex numbers below",
    "linalg": "decompositions: tests of portmp.linalg",
    "complex64": "a dtype",
    "complex128": "a dtype",
    "bool": "a dtype",
}
"""What the standard has, and these tests do not call."""

ROUNDED = 4e-15
"""Sums and functions of float64 are rounded in another order, or not correctly, by NumPy."""


class Arrays:
    """The same arrays of either library."""

    def __init__(self, xp: Any, floats: Any, device: Device | None) -> None:
        self.xp, self.floats = xp, floats
        self.where = {} if device is None else {"device": device}
        draw = np.random.default_rng(26)
        self.f = self.real(draw.normal(size=(3, 4)))
        self.g = self.real(draw.normal(size=(4,)))
        self.cube = self.real(draw.normal(size=(2, 3, 4)))
        self.positive = self.real(draw.uniform(0.1, 3, size=(3, 4)))
        self.small = self.real(draw.uniform(-0.9, 0.9, size=(3, 4)))
        self.special = self.real([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5, -2.5, 3.0])
        self.other = self.real([1.0, np.inf, 2.0, -0.0, 0.0, np.nan, -2.5, -np.inf])
        self.ties = self.real([3, 1, 3, 0, 1, 3, -2, 0])
        self.none = self.real(np.zeros((0, 3)))
        self.i = self.whole(draw.integers(-9, 9, size=(3, 4)))
        self.j = self.whole(draw.integers(1, 9, size=(4,)))
        self.places = self.whole([2, 0, -1, 1])
        z = [draw.normal(size=(3, 4, 2)), draw.normal(size=(4, 2))]
        self.z, self.w = (
            xp.reshape(self._made(p[..., 0] + 1j * p[..., 1], xp.complex128), p.shape[:-1])
            for p in z
        )
        ties = [1 + 2j, 1 - 1j, 3, 1 + 2j, 0, -1j, 3, complex(np.nan, 1)]
        self.pairs = self._made(ties, xp.complex128)
        self.b = xp.asarray((draw.integers(0, 2, size=(3, 4)) == 1).tolist(), **self.where)
        self.c = xp.asarray([True, False, True, True], **self.where)

    def real(self, values: Any) -> Any:
        """Values."""
        return self.xp.reshape(self._made(values, self.floats), np.shape(values))

    def whole(self, values: Any, dtype: str = "int64") -> Any:
        """Integers."""
        return self.xp.reshape(self._made(values, getattr(self.xp, dtype)), np.shape(values))

    def _made(self, values: Any, dtype: Any) -> Any:
        return self.xp.asarray(np.asarray(values).ravel().tolist(), dtype=dtype, **self.where)


Call = Callable[[Any, Arrays], Any]


def _unary(name: str, *arrays: str) -> list[Call]:
    return [lambda xp, a, n=n: getattr(xp, name)(getattr(a, n)) for n in arrays]


def _binary(name: str, *pairs: str) -> list[Call]:
    """Calls with pairs of arrays, and with numbers, such as "f g" or "f 2"."""

    def of(a: Arrays, text: str) -> Any:
        return float(text) if text[-1].isdigit() else getattr(a, text)

    return [
        lambda xp, a, x=x, y=y: getattr(xp, name)(of(a, x), of(a, y))
        for x, y in (pair.split() for pair in pairs)
    ]


def _axes(name: str, *arrays: str, **options: Any) -> list[Call]:
    """A reduction over all, along an axis, over several, over none that is kept."""
    kinds: list[dict[str, Any]] = [
        {},
        {"axis": 0},
        {"axis": (0, -1)},
        {"axis": 1, "keepdims": True},
    ]
    return [
        lambda xp, a, n=n, k=k: getattr(xp, name)(getattr(a, n), **k, **options)
        for n in arrays
        for k in kinds
    ]


FLOATS = ("f", "special")
COMPARED = ("f g", "special other", "f 0.5", "i j", "special special")
BITS = ("i j", "b c")

CASES: dict[str, list[Call]] = {
    # elementwise
    **{n: _unary(n, "small") for n in ("acos", "asin", "atanh")},
    **{n: _unary(n, *FLOATS) for n in ("asinh", "atan", "ceil", "floor", "round", "trunc", "tanh")},
    **{n: _unary(n, "f") for n in ("cos", "cosh", "exp", "expm1", "sin", "sinh", "tan")},
    **{n: _unary(n, "positive") for n in ("acosh", "log", "log10", "log1p", "log2")},
    "acosh": [lambda xp, a: xp.acosh(a.positive + 1)],
    "abs": _unary("abs", "f", "special", "i"),
    "negative": _unary("negative", "f", "special", "i"),
    "positive": _unary("positive", "f", "special", "i"),
    "sign": _unary("sign", "f", "special", "i"),
    "square": _unary("square", "f", "special", "i"),
    "reciprocal": _unary("reciprocal", "f", "special"),
    "sqrt": _unary("sqrt", "positive", "special"),
    "signbit": _unary("signbit", "f", "special"),
    "isnan": _unary("isnan", "f", "special", "i"),
    "isinf": _unary("isinf", "f", "special", "i"),
    "isfinite": _unary("isfinite", "f", "special", "i"),
    "add": _binary("add", "f g", "special other", "f 2.5", "i j", "none 2.5"),
    "subtract": _binary("subtract", "f g", "special other", "2.5 f", "i j"),
    "multiply": _binary("multiply", "f g", "special other", "f 2.5", "i j"),
    "divide": _binary("divide", "f g", "special other", "2.5 f"),
    "floor_divide": _binary("floor_divide", "f g", "special other", "i j", "f 0.75"),
    "remainder": _binary("remainder", "f g", "special other", "i j", "f 0.75"),
    "pow": _binary("pow", "positive g", "f 3.0", "positive -2.0", "2.0 f"),
    "atan2": _binary("atan2", "f g", "special other"),
    "hypot": _binary("hypot", "f g", "special other"),
    "logaddexp": _binary("logaddexp", "f g", "special other"),
    "copysign": _binary("copysign", "f g", "special other"),
    "nextafter": _binary("nextafter", "f g", "special other", "f f"),
    "maximum": _binary("maximum", "f g", "i j"),
    "minimum": _binary("minimum", "f g", "i j"),
    **{
        n: _binary(n, *COMPARED)
        for n in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    **{n: _binary(n, "b c") for n in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": _unary("logical_not", "b"),
    **{n: _binary(n, *BITS) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "bitwise_invert": _unary("bitwise_invert", "i", "b"),
    "bitwise_left_shift": _binary("bitwise_left_shift", "i j"),
    "bitwise_right_shift": _binary("bitwise_right_shift", "i j"),
    "clip": [
        lambda xp, a: xp.clip(a.f, -0.5, 0.5),
        lambda xp, a: xp.clip(a.f, min=a.g),
        lambda xp, a: xp.clip(a.i, max=3),
        lambda xp, a: xp.clip(a.special, -1.0, 2.0),
    ],
    "where": [
        lambda xp, a: xp.where(a.b, a.f, a.g),
        lambda xp, a: xp.where(a.c, a.i, 7),
        lambda xp, a: xp.where(a.c, 0.5, a.f),
    ],
    "real": [lambda xp, a: a.f],
    "imag": [lambda xp, a: xp.zeros_like(a.f)],
    "conj": _unary("conj", "f"),
    # creation
    "arange": [
        lambda xp, a: xp.arange(7, **a.where),
        lambda xp, a: xp.arange(2, 11, 3, dtype=a.floats, **a.where),
        lambda xp, a: xp.arange(5.0, -1.0, -0.75, dtype=a.floats, **a.where),
    ],
    "asarray": [
        lambda xp, a: xp.asarray([[1, 2], [3, 4]], **a.where),
        lambda xp, a: xp.asarray([True, False], **a.where),
        lambda xp, a: xp.asarray(2.5, dtype=a.floats, **a.where),
        lambda xp, a: xp.asarray(a.f, copy=True),
    ],
    "empty": [lambda xp, a: xp.empty((0, 5), dtype=a.floats, **a.where)],
    "empty_like": [lambda xp, a: xp.empty_like(a.none)],
    "eye": [
        lambda xp, a: xp.eye(3, dtype=a.floats, **a.where),
        lambda xp, a: xp.eye(3, 5, k=-1, dtype=xp.int32, **a.where),
        lambda xp, a: xp.eye(4, 2, k=9, dtype=a.floats, **a.where),
    ],
    "from_dlpack": [lambda xp, a: xp.from_dlpack(a.f) if a.floats is xp.float64 else a.f],
    "full": [
        lambda xp, a: xp.full((2, 3), 4, **a.where),
        lambda xp, a: xp.full(3, 0.5, dtype=a.floats, **a.where),
        lambda xp, a: xp.full((), True, **a.where),
    ],
    "full_like": [
        lambda xp, a: xp.full_like(a.f, 2.5),
        lambda xp, a: xp.full_like(a.i, 3, dtype=xp.uint8),
    ],
    "linspace": [
        lambda xp, a: xp.linspace(-1.0, 2.0, 7, dtype=a.floats, **a.where),
        lambda xp, a: xp.linspace(0, 5, 6, endpoint=False, dtype=a.floats, **a.where),
        lambda xp, a: xp.linspace(3, 3, 1, dtype=a.floats, **a.where),
        lambda xp, a: xp.linspace(3, 3, 0, dtype=a.floats, **a.where),
    ],
    "meshgrid": [
        lambda xp, a: xp.meshgrid(a.g, a.ties),
        lambda xp, a: xp.meshgrid(a.g, a.ties, a.g, indexing="ij"),
    ],
    "ones": [lambda xp, a: xp.ones((2, 1), dtype=a.floats, **a.where)],
    "ones_like": [lambda xp, a: xp.ones_like(a.i)],
    "zeros": [lambda xp, a: xp.zeros(4, dtype=xp.int16, **a.where)],
    "zeros_like": [lambda xp, a: xp.zeros_like(a.cube)],
    "tril": [
        lambda xp, a: xp.tril(a.f),
        lambda xp, a: xp.tril(a.cube, k=-1),
        lambda xp, a: xp.tril(a.i, k=2),
    ],
    "triu": [lambda xp, a: xp.triu(a.f), lambda xp, a: xp.triu(a.cube, k=1)],
    # dtypes
    "astype": [
        lambda xp, a: xp.astype(a.f, xp.int32),
        lambda xp, a: xp.astype(a.i, a.floats),
        lambda xp, a: xp.astype(a.special, xp.bool),
        lambda xp, a: xp.astype(a.b, xp.uint8),
        lambda xp, a: xp.astype(a.f, xp.float32),
    ],
    "can_cast": [
        lambda xp, a: xp.can_cast(xp.int8, xp.int32),
        lambda xp, a: xp.can_cast(xp.int32, xp.int8),
        lambda xp, a: xp.can_cast(a.f, xp.int32),
        lambda xp, a: xp.can_cast(xp.float32, a.floats),
    ],
    "finfo": [
        lambda xp, a, n=n: float(getattr(xp.finfo(xp.float32), n))
        for n in ("bits", "eps", "max", "min", "smallest_normal")
    ],
    "iinfo": [lambda xp, a, n=n: getattr(xp.iinfo(xp.int16), n) for n in ("bits", "max", "min")],
    "isdtype": [
        lambda xp, a, k=k, d=d: xp.isdtype(getattr(xp, d), k)
        for k in ("bool", "signed integer", "integral", ("bool", "numeric"), "real floating")
        for d in ("bool", "int8", "uint32", "float64")
    ],
    "result_type": [
        lambda xp, a: str(xp.result_type(xp.int8, xp.uint16)).rpartition(".")[2],
        lambda xp, a: str(xp.result_type(xp.float32, xp.float64)).rpartition(".")[2],
        lambda xp, a: str(xp.result_type(a.i, 3)).rpartition(".")[2],
    ],
    # manipulation
    "broadcast_arrays": [lambda xp, a: xp.broadcast_arrays(a.f, a.g, a.cube)],
    "broadcast_shapes": [lambda xp, a: xp.broadcast_shapes((3, 1), (4,), (2, 1, 1))],
    "broadcast_to": [lambda xp, a: xp.broadcast_to(a.g, (3, 4))],
    "concat": [
        lambda xp, a: xp.concat([a.f, a.positive]),
        lambda xp, a: xp.concat((a.f, a.positive), axis=-1),
        lambda xp, a: xp.concat([a.f, a.g], axis=None),
        lambda xp, a: xp.concat([a.i, a.i], axis=1),
    ],
    "expand_dims": [
        lambda xp, a: xp.expand_dims(a.f, axis=0),
        lambda xp, a: xp.expand_dims(a.f, axis=-1),
    ],
    "flip": [
        lambda xp, a: xp.flip(a.f),
        lambda xp, a: xp.flip(a.cube, axis=(0, 2)),
        lambda xp, a: xp.flip(a.f, axis=-1),
    ],
    "moveaxis": [lambda xp, a: xp.moveaxis(a.cube, (0, 1), (-1, 0))],
    "permute_dims": [lambda xp, a: xp.permute_dims(a.cube, (2, 0, 1))],
    "repeat": [
        lambda xp, a: xp.repeat(a.f, 3),
        lambda xp, a: xp.repeat(a.f, a.j, axis=1),
        lambda xp, a: xp.repeat(a.f, 2, axis=0),
    ],
    "reshape": [
        lambda xp, a: xp.reshape(a.f, (2, -1)),
        lambda xp, a: xp.reshape(a.f[0:1, 0:1], ()),
    ],
    "roll": [
        lambda xp, a: xp.roll(a.f, 5),
        lambda xp, a: xp.roll(a.f, (1, -2), axis=(0, 1)),
        lambda xp, a: xp.roll(a.cube, -1, axis=2),
    ],
    "squeeze": [lambda xp, a: xp.squeeze(a.f[:1, :], axis=0)],
    "stack": [
        lambda xp, a: xp.stack([a.f, a.positive], axis=0),
        lambda xp, a: xp.stack((a.f, a.positive), axis=-1),
    ],
    "tile": [lambda xp, a: xp.tile(a.f, (2, 1, 3)), lambda xp, a: xp.tile(a.cube, (2,))],
    "unstack": [lambda xp, a: xp.unstack(a.cube, axis=1)],
    "matrix_transpose": [lambda xp, a: xp.matrix_transpose(a.cube)],
    # searching, sorting, sets
    "argmax": [
        lambda xp, a: xp.argmax(a.f),
        lambda xp, a: xp.argmax(a.ties),
        lambda xp, a: xp.argmax(a.cube, axis=1, keepdims=True),
        lambda xp, a: xp.argmax(a.special),
        lambda xp, a: xp.argmax(a.i, axis=0),
    ],
    "argmin": [
        lambda xp, a: xp.argmin(a.f, axis=-1),
        lambda xp, a: xp.argmin(a.ties),
        lambda xp, a: xp.argmin(a.special),
    ],
    "argsort": [
        lambda xp, a: xp.argsort(a.f),
        lambda xp, a: xp.argsort(a.ties, stable=True),
        lambda xp, a: xp.argsort(a.cube, axis=0, descending=True),
        lambda xp, a: xp.argsort(a.special, stable=True),
    ],
    "sort": [
        lambda xp, a: xp.sort(a.f, axis=0),
        lambda xp, a: xp.sort(a.i, descending=True),
        lambda xp, a: xp.sort(a.special),
    ],
    "searchsorted": [
        lambda xp, a: xp.searchsorted(xp.sort(a.g), a.f[0, :]),
        lambda xp, a: xp.searchsorted(xp.sort(a.ties), a.ties, side="right"),
        lambda xp, a: xp.searchsorted(a.ties, a.g, sorter=xp.argsort(a.ties)),
    ],
    "nonzero": [lambda xp, a: xp.nonzero(a.i), lambda xp, a: xp.nonzero(a.b)],
    "count_nonzero": _axes("count_nonzero", "i", "b"),
    "unique_all": [lambda xp, a: xp.unique_all(a.ties), lambda xp, a: xp.unique_all(a.i)],
    "unique_counts": [lambda xp, a: xp.unique_counts(a.i)],
    "unique_inverse": [lambda xp, a: xp.unique_inverse(a.i)],
    "unique_values": [lambda xp, a: xp.unique_values(a.b), lambda xp, a: xp.unique_values(a.ties)],
    "take": [lambda xp, a: xp.take(a.f, a.places, axis=1), lambda xp, a: xp.take(a.ties, a.places)],
    "take_along_axis": [
        lambda xp, a: xp.take_along_axis(a.f, xp.argsort(a.f, axis=1), axis=1),
        lambda xp, a: xp.take_along_axis(a.cube, xp.argsort(a.cube, axis=0), axis=0),
    ],
    # statistics
    "all": _axes("all", "b", "i"),
    "any": _axes("any", "b", "i"),
    "max": _axes("max", "f", "i"),
    "min": _axes("min", "f", "i"),
    "sum": [*_axes("sum", "f", "cube", "i"), lambda xp, a: xp.sum(a.none, axis=0)],
    "prod": [*_axes("prod", "f", "i"), lambda xp, a: xp.prod(a.none)],
    "mean": _axes("mean", "f", "cube"),
    "var": _axes("var", "f") + _axes("var", "cube", correction=1.0),
    "std": _axes("std", "f") + _axes("std", "cube", correction=1.0),
    "cumulative_sum": [
        lambda xp, a: xp.cumulative_sum(a.g),
        lambda xp, a: xp.cumulative_sum(a.cube, axis=1),
        lambda xp, a: xp.cumulative_sum(a.i, axis=0, include_initial=True),
    ],
    "cumulative_prod": [
        lambda xp, a: xp.cumulative_prod(a.g),
        lambda xp, a: xp.cumulative_prod(a.f, axis=1, include_initial=True),
    ],
    "diff": [
        lambda xp, a: xp.diff(a.f),
        lambda xp, a: xp.diff(a.cube, axis=0, n=1),
        lambda xp, a: xp.diff(a.i, n=2, prepend=a.i, append=a.i),
    ],
    # products
    "matmul": [
        lambda xp, a: xp.matmul(a.f, xp.matrix_transpose(a.f)),
        lambda xp, a: xp.matmul(a.cube, a.g),
        lambda xp, a: xp.matmul(a.g, xp.matrix_transpose(a.cube)),
        lambda xp, a: xp.matmul(a.i, a.j),
    ],
    "tensordot": [
        lambda xp, a: xp.tensordot(a.f, a.positive),
        lambda xp, a: xp.tensordot(a.cube, a.f, axes=((1, 2), (0, 1))),
        lambda xp, a: xp.tensordot(a.g, a.ties, axes=0),
    ],
    "vecdot": [
        lambda xp, a: xp.vecdot(a.f, a.g),
        lambda xp, a: xp.vecdot(a.f, a.positive, axis=-2),
    ],
    "isin": [lambda xp, a: xp.isin(a.i, a.j)],
}
"""Calls of each function, with either library and its arrays."""

_OF_COMPLEX = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp"),
    *("expm1", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "negative"),
    *("positive", "real", "reciprocal", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
)
COMPLEX: dict[str, list[Call]] = {
    **{n: _unary(n, "z") for n in _OF_COMPLEX},
    **{
        n: _binary(n, "z w", "z f", "f z") for n in ("add", "subtract", "multiply", "divide", "pow")
    },
    **{n: _binary(n, "z z", "z w", "z 2.0") for n in ("equal", "not_equal")},
    **{n: _axes(n, "z", "w")[:5] for n in ("sum", "prod", "mean")},
    **{n: [lambda xp, a, n=n: getattr(xp, n)(a.z, axis=1)] for n in ("cumulative_sum", "diff")},
    "cumulative_prod": [lambda xp, a: xp.cumulative_prod(a.w)],
    "matmul": [
        lambda xp, a: xp.matmul(a.z, a.w),
        lambda xp, a: xp.matmul(a.f, xp.matrix_transpose(a.z)),
    ],
    "vecdot": [lambda xp, a: xp.vecdot(a.z, a.w), lambda xp, a: xp.vecdot(a.g, a.w)],
    "tensordot": [lambda xp, a: xp.tensordot(a.z, a.z, axes=2)],
    "where": [lambda xp, a: xp.where(a.c, a.z, a.w), lambda xp, a: xp.where(a.c, a.g, a.w)],
    "astype": [
        lambda xp, a: xp.astype(a.f, xp.complex128),
        lambda xp, a: xp.astype(a.z, xp.complex64),
    ],
    "result_type": [
        lambda xp, a: str(xp.result_type(xp.complex64, xp.float64)).rpartition(".")[2],
        lambda xp, a: str(xp.result_type(a.f, 1j)).rpartition(".")[2],
    ],
    "isdtype": [
        lambda xp, a, k=k: xp.isdtype(xp.complex64, k)
        for k in ("complex floating", "numeric", "real floating", ("bool", "complex floating"))
    ],
    "asarray": [
        lambda xp, a: xp.asarray([1, 2j], dtype=xp.complex128, **a.where),
        lambda xp, a: xp.asarray(a.z[0, :]),
    ],
    "full": [lambda xp, a: xp.full(3, 1.5j, dtype=xp.complex128, **a.where)],
    **{
        n: [lambda xp, a, n=n: getattr(xp, n)(a.pairs)]
        for n in ("unique_all", "unique_counts", "unique_inverse", "unique_values")
    },
    "take": [lambda xp, a: xp.take(a.z, a.places, axis=1)],
    "matrix_norm": [
        lambda xp, a, o=o: xp.linalg.matrix_norm(a.z, ord=o) for o in ("fro", 1, float("inf"))
    ],
    "vector_norm": [lambda xp, a, o=o: xp.linalg.vector_norm(a.z, ord=o, axis=1) for o in (1, 2)],
    **{n: [lambda xp, a, n=n: getattr(xp.fft, n)(a.z)] for n in ("fft", "ifft", "fftn", "ifftn")},
    **{n: [lambda xp, a, n=n: getattr(xp.fft, n)(a.cube)] for n in ("rfft", "rfftn", "ihfft")},
    **{n: [lambda xp, a, n=n: getattr(xp.fft, n)(a.w, n=6)] for n in ("irfft", "hfft")},
    "irfftn": [lambda xp, a: xp.fft.irfftn(a.z, axes=(0, 1))],
    **{n: [lambda xp, a, n=n: getattr(xp.fft, n)(a.z, axes=1)] for n in ("fftshift", "ifftshift")},
    **{
        n: [lambda xp, a, n=n: getattr(xp.fft, n)(7, d=0.5, dtype=a.floats, **a.where)]
        for n in ("fftfreq", "rfftfreq")
    },
}
"""The same of complex numbers, and Fourier transforms."""

AFTER = {"isin", "broadcast_shapes"}
"""What came to the standard after 2024.12."""


def _names() -> list[str]:
    """Names of the standard, as array-api-strict has them."""
    own = ("ArrayAPI", "Device", "ModuleType", "get_array", "reset_array", "set_array", "__")
    return [n for n in dir(strict) if not n.startswith(("_", *own)) and "strict_flags" not in n]


def test_every_name_of_the_standard_is_there() -> None:
    """Functions are called below; constants and dtypes are there."""
    known = [n for n in _names() if n not in NOT_THERE]
    assert [n for n in known if not hasattr(mp, n)] == []
    functions = {n for n in known if callable(getattr(strict, n)) and n[0].islower()}
    dtypes = {n for n in functions if isinstance(getattr(strict, n), type) or "int" in n[:4]}
    assert functions - dtypes - set(CASES) <= {"float32", "float64"}
    for name in ("e", "inf", "nan", "pi"):
        assert float(getattr(mp, name)) == getattr(strict, name) or name == "nan"
    assert mp.newaxis is None
    assert mp.__array_api_version__ == "2024.12"


@pytest.mark.parametrize("name", sorted(set(CASES) - AFTER))
def test_signature(name: str) -> None:
    """Parameters have the standard's names and order, and can be given as the standard says."""
    theirs = inspect.signature(getattr(strict, name)).parameters
    own = inspect.signature(getattr(mp, name)).parameters
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in theirs.values()):
        assert any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in own.values())
        return
    first = [n for n, p in theirs.items() if p.kind in positional]
    assert [n for n, p in own.items() if p.kind in positional][: len(first)] == first or all(
        theirs[n].kind is inspect.Parameter.POSITIONAL_ONLY for n in first
    )
    for key, parameter in theirs.items():
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            assert own[key].kind is not inspect.Parameter.POSITIONAL_ONLY
        if isinstance(parameter.default, (bool, int, float, str)) and key in own:
            assert own[key].default == parameter.default


def _check(own: Any, theirs: Any, exact: bool) -> None:
    if isinstance(theirs, (tuple, list)):
        assert isinstance(own, (tuple, list))
        assert len(own) == len(theirs)
        assert getattr(own, "_fields", None) == getattr(theirs, "_fields", None)
        for one, other in zip(own, theirs, strict=True):
            _check(one, other, exact)
        return
    if not hasattr(theirs, "__array_namespace__"):
        assert own == theirs
        return
    assert own.shape == theirs.shape
    expected = np.asarray(theirs)
    if expected.dtype.kind == "f":
        assert mp.isdtype(own.dtype, "real floating")
        assert own.dtype.name == expected.dtype.name or not exact
        found = own.to_float64()
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        # A multi-limb zero has its own sign (docs/bits.md).
        zero = (expected == 0) & (found == 0)
        assert not exact or np.array_equal(np.signbit(found)[zero], np.signbit(expected)[zero])
        np.testing.assert_allclose(found, expected, rtol=ROUNDED, atol=ROUNDED)
    elif expected.dtype.kind == "c":
        assert own.dtype.name == expected.dtype.name and mp.isdtype(own.dtype, "complex floating")
        rounded = ROUNDED if expected.dtype == "complex128" else 2e-7
        np.testing.assert_allclose(own.to_numpy(), expected, rtol=rounded, atol=10 * rounded)
    else:
        assert str(own.dtype) == expected.dtype.name
        assert np.array_equal(own.to_numpy(), expected)


@pytest.fixture(scope="module")
def theirs() -> Arrays:
    """Arrays of the reference."""
    return Arrays(strict, strict.float64, None)


@pytest.fixture(scope="module")
def given() -> dict[str, Arrays]:
    """Arrays of portmp's, by format."""
    return {}


@slow("kernels of dd are those of float64 with other networks", unless=lambda p: p["form"] != "dd")
@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("form", ["float64", "dd"])
def test_behaviour(
    name: str, form: str, device: Device, theirs: Arrays, given: dict[str, Arrays]
) -> None:
    """Shapes, dtypes and values."""
    if form not in given:
        given[form] = Arrays(mp, getattr(mp, form), device)
    if name == "nextafter" and form == "dd":
        pytest.skip("between two values of several limbs lie more")
    version = "2025.12" if name in AFTER else "2024.12"
    for call in CASES[name]:
        with strict.ArrayAPIStrictFlags(api_version=version), np.errstate(all="ignore"):
            expected = call(strict, theirs)
        _check(call(mp, given[form]), expected, form == "float64")


@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_complex_numbers(
    name: str, device: Device, theirs: Arrays, given: dict[str, Arrays]
) -> None:
    """Shapes, dtypes and values of complex numbers; every transform of the extension."""
    if "float64" not in given:
        given["float64"] = Arrays(mp, mp.float64, device)
    for call in COMPLEX[name]:
        _check(call(mp, given["float64"]), call(strict, theirs), True)
    assert not set(strict.fft.__all__) - set(COMPLEX)


def test_namespace(device: Device) -> None:
    """Arrays name portmp as their namespace, by each version; others are refused."""
    x = mp.zeros(3, "dd", device)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is mp
    with pytest.raises(ValueError, match=r"1999\.12"):
        x.__array_namespace__(api_version="1999.12")
    info = mp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == mp.dd
    assert info.default_dtypes()["integral"] == mp.int64
    assert {"float64", "int8", "bool"} <= set(info.dtypes()) <= set(dir(strict))
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert device.name in [d.name for d in info.devices()]
    assert info.capabilities()["boolean indexing"]


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "dd", "td", "qd"])
def test_finfo_holds(form: str, device: Device) -> None:
    """eps is what 1 + x first shows, and max does not overflow."""
    info = mp.finfo(form)
    one = mp.array([1], form, device)
    assert bool(((one + info.eps) > one).all())
    if one.format.limbs == 1:
        assert bool((one + mp.array([info.eps], form, device) / 4 == one).all())
    assert bool(mp.isfinite(mp.array([info.max, info.min], form, device)).all())
    assert info.dtype == mp.result_type(one)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64"])
def test_integers_are_whole_already(dtype: str, device: Device) -> None:
    """floor, ceil, trunc and round keep their dtype; tens are rounded as NumPy rounds them."""
    given = [5, 15, 25, 14, 16, 0, 99] + ([-5, -15, -14] if dtype[0] == "i" else [])
    x = mp.asarray(given, dtype=dtype, device=device)
    for name in ("floor", "ceil", "trunc", "round"):
        found = getattr(mp, name)(x)
        assert found.dtype == dtype and found.tolist() == given
    wanted = np.round(np.array(given, dtype), -1)
    assert mp.round(x, -1).dtype == dtype and mp.round(x, -1).tolist() == wanted.tolist()
    assert mp.round(x, 2).tolist() == given and not mp.round(x, -30).any()


def test_methods_that_the_standard_names(device: Device) -> None:
    """Of arrays of both kinds, also where they refuse."""
    for x in (mp.ones((2, 2), "dd", device), mp.asarray([[1, 2], [3, 4]], device=device)):
        assert x.to_device(x.device) is x
        assert (x.__rmatmul__(x) == x @ x).all()
        with pytest.raises(TypeError, match="indices"):
            x.__index__()
        with pytest.raises(ArgumentError, match="stream"):
            x.to_device(x.device, stream=7)
