"""Fourier transforms: values, bits on devices, NumPy's and SciPy's conventions, refusals."""

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import mpmath
import numpy as np
import pytest
import tiers
from slow import TWICE, mostly_slow, on_two_devices, slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, AxisError, FormatError, ShapeError
from portmp.formats import convert
from portmp.routines.fourier import launch, roots, steps
from portmp.routines.fourier.block_memory import BlockMemory

HOST = "host"
FORMS = ("complex64", "complex128", "cds", "cts", "cqs", "cdd", "ctd", "cqd")


def numbers(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def bits(x: mp.Array) -> list[bytes]:
    return [np.ascontiguousarray(plane).tobytes() for plane in x.to_limbs()]


def near(found: mp.Array, wanted: np.ndarray) -> None:
    """Equal shapes, and values within a few units of float64's last place of the largest one."""
    values = found.to_numpy() if found.dtype.kind == "c" else found.to_float64()
    assert values.shape == wanted.shape
    if wanted.size:
        assert np.abs(values - wanted).max() <= 1e-14 * wanted[..., 0].size * np.abs(wanted).max()


@pytest.mark.parametrize("form", mostly_slow(FORMS, ("complex64", "cdd", "cqs"), "a product"))
def test_roots_are_rounded_once(form: str) -> None:
    """Each part is the number of the format that is nearest; those of a half are exact."""
    part = formats.get(form).component
    with mpmath.workprec(part.bits + 400):
        for order in (1, 3, 8, 12, 49, 640):
            planes = roots.of(part.name, np.arange(order), order)
            for j in range(0, order, 1 + order // 60):
                angle = 2 * mpmath.pi * j / order
                for which, exact in enumerate((mpmath.cos(angle), -mpmath.sin(angle))):
                    scaled = int(mpmath.nint(exact * mpmath.mpf(2) ** (part.bits + 300)))
                    fraction = mp.formats.exact.Exact(scaled, 2 ** (part.bits + 300))
                    if abs(exact * 2 - mpmath.nint(exact * 2)) < mpmath.mpf(2) ** -(
                        part.bits + 200
                    ):
                        fraction = mp.formats.exact.Exact(int(mpmath.nint(exact * 2)), 2)
                    wanted = convert.to_limbs(fraction, part, "root")
                    mine = planes[which * part.limbs : (which + 1) * part.limbs]
                    assert [p[j] for p in mine] == [w[()] for w in wanted]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 12, 30, 31, 64])
@pytest.mark.parametrize("form", mostly_slow(FORMS, ("complex128", "cdd"), "a product of cases"))
def test_exact_values(form: str, n: int) -> None:
    """Errors, in the 2-norm, are within the bound of docs/fourier.md of the exact transform."""
    given = mp.array(numbers((n,), n), form, HOST)
    found = mp.fft.fft(given).to_mpmath()
    u = formats.get(form).unit_roundoff
    with mpmath.workprec(700):
        exact = [
            sum(
                z * mpmath.expjpi(mpmath.mpf(-2) * j * k / n)
                for j, z in enumerate(given.to_mpmath())
            )
            for k in range(n)
        ]
        error = mpmath.sqrt(sum(abs(a - b) ** 2 for a, b in zip(found, exact, strict=True)))
        size = mpmath.sqrt(sum(abs(b) ** 2 for b in exact))
        direct = n == 1 or steps.factors(n)
        levels = math.log2(n) if direct else 3 * math.log2(4 * n)
        assert error <= 12 * levels * u * size


@slow(TWICE, unless=on_two_devices(0))
@pytest.mark.with_host
def test_bits_on_every_device(every_device: Device) -> None:
    """All factors, and a length with none of them; a row's result does not depend on others."""
    for form, n in (("cdd", 210), ("cts", 32), ("complex128", 31)):
        z = mp.array(numbers((3, n)), form, HOST)
        wanted = mp.fft.fft(z)
        found = mp.fft.fft(z.to(every_device))
        assert bits(found) == bits(wanted)
        assert bits(mp.fft.fft(z[1].to(every_device))) == bits(wanted[1])


BY_BLOCKS = (
    ("cdd", ((3, 16), (2, 96), (1, 2048))),
    ("complex128", ((3, 32), (70, 64), (2, 768), (1, 4096), (1, 8192))),
    ("complex64", ((3, 512), (1, 1024), (1, 3072))),
)
"""Rows that a block has whole, or with its neighbours; such that end within a block."""


@pytest.mark.parametrize(("form", "shapes"), BY_BLOCKS, ids=lambda one: str(one)[:10])
def test_steps_by_block_memory(
    form: str, shapes: tuple[tuple[int, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What GPUs run: stages with barriers between them, roots that are listed and others."""
    device = discovery.get(tiers.opencl())
    monkeypatch.setattr(launch, "blocked", lambda _: True)
    part = formats.get(form).component
    for listed in (steps.LISTED, 2 * part.itemsize * 100):
        monkeypatch.setattr(steps, "LISTED", listed)
        monkeypatch.setattr(launch, "_known", WeakKeyDictionary())
        monkeypatch.setattr(device.queue, "plans", None)
        for rows, n in shapes:
            z = mp.array(numbers((rows, n)), form, HOST)
            assert any(one.columns for one in steps.passes(n, part, True))
            assert bits(mp.fft.fft(z.to(device))) == bits(mp.fft.fft(z))


@pytest.mark.parametrize("form", ["complex64", "complex128", "cdd", "cqd"])
def test_elements_lie_apart_in_block_memory(form: str) -> None:
    """No two share a place, all are inside, and what a device has at least is enough."""
    part = formats.get(form).component
    for n in (64, 2048, 4096, 1 << 17, 1 << 24):
        for before, radices, columns in steps.passes(n, part, True):
            if columns:
                size = math.prod(radices)
                each = steps.each(part, size)
                stages, whole = steps.grouped(radices, each), size == n
                group = each if whole and len(stages) > 2 else math.prod(stages[-1])
                own = BlockMemory(part, size, columns, each, group, before == 1, whole)
                at = own.at("row", "column").replace("/", "//")
                places = {
                    eval(at, {"row": row, "column": column})
                    for row in range(size)
                    for column in range(columns)
                }
                assert len(places) == size * columns
                assert 0 <= min(places) <= max(places) < own.span
                assert own.words * np.dtype(part.word).itemsize <= 48 << 10
                assert size * columns // each <= 256


def test_passes_are_few() -> None:
    """Rows of one limb up to 4096 are read and written once, 2^24 elements three times."""
    for name, n, count in (("float32", 4096, 1), ("float64", 4096, 1), ("float64", 1 << 24, 3)):
        assert len([*steps.passes(n, formats.get(name), True)]) == count


def test_on_an_interpreted_gpu() -> None:
    """AMD's code gives the same bits."""
    device = tiers.interpreted(tiers.INTERPRETED[0])
    z = mp.array(numbers((2, 64)), "complex128", HOST)
    assert bits(mp.fft.fft(z.to(device))) == bits(mp.fft.fft(z))


NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("n", [1, 2, 5, 8, 11, 30])
def test_numpys_functions(n: int) -> None:
    """Of one axis, with each norm and length, cut and padded."""
    z = numbers((2, n), n)
    complex_, real = mp.array(z, "cdd", HOST), mp.array(z.real, "dd", HOST)
    for norm in NORMS:
        for m in (None, 2 * n, max(n - 1, 1)):
            near(mp.fft.fft(complex_, m, norm=norm), np.fft.fft(z, m, norm=norm))
            near(mp.fft.ifft(complex_, m, norm=norm), np.fft.ifft(z, m, norm=norm))
            near(mp.fft.rfft(real, m, norm=norm), np.fft.rfft(z.real, m, norm=norm))
            near(mp.fft.ihfft(real, m, norm=norm), np.fft.ihfft(z.real, m, norm=norm))
            if n > 1 or m:
                near(mp.fft.irfft(complex_, m, norm=norm), np.fft.irfft(z, m, norm=norm))
                near(mp.fft.hfft(complex_, m, norm=norm), np.fft.hfft(z, m, norm=norm))
    near(np.fft.fft(complex_, axis=0), np.fft.fft(z, axis=0))
    out = mp.zeros((2, n), "cdd", HOST)
    assert mp.fft.ifft(complex_, out=out) is out
    assert bits(out) == bits(mp.fft.ifft(complex_))


def test_several_axes() -> None:
    """In NumPy's order, with lengths and axes."""
    z = numbers((4, 6, 5))
    complex_, real = mp.array(z, "cdd", HOST), mp.array(z.real, "dd", HOST)
    for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"):
        near(getattr(mp.fft, name)(complex_), getattr(np.fft, name)(z))
    for name in ("rfft2", "rfftn"):
        near(getattr(mp.fft, name)(real), getattr(np.fft, name)(z.real))
    for name in ("fftn", "ifftn", "irfftn"):
        given = (3, 8), (0, 2), "ortho"
        near(getattr(mp.fft, name)(complex_, *given), getattr(np.fft, name)(z, *given))
    near(mp.fft.irfftn(complex_, (8, -1), (0, 1)), np.fft.irfftn(z, (8, -1), (0, 1)))
    near(mp.fft.rfft2(real, axes=(0, 0)), np.fft.rfft2(z.real, axes=(0, 0)))
    near(mp.fft.irfft2(complex_, axes=(0, 0)), np.fft.irfft2(z, axes=(0, 0)))
    near(mp.fft.fftshift(real), np.fft.fftshift(z.real))
    near(mp.fft.ifftshift(real, axes=1), np.fft.ifftshift(z.real, axes=1))


def test_frequencies_are_exact() -> None:
    """k / (n d), rounded once: of d as it is written."""
    exact = mp.array(["0", "2", "4", "-4", "-2"], "dd", HOST)
    assert bits(mp.fft.fftfreq(5, d="0.1", device=HOST)) == bits(exact)
    near(mp.fft.rfftfreq(7), np.fft.rfftfreq(7))
    assert [mp.fft.next_fast_len(n) for n in (1, 11, 97, 127, 2049)] == [1, 12, 98, 128, 2058]


def test_cosines_and_sines() -> None:
    """As SciPy scales them; each undone by its inverse."""
    fft = pytest.importorskip("scipy.fft")
    for n in (1, 2, 5, 8):
        x = numbers((2, n), n).real
        given = mp.array(x, "dd", HOST)
        for kind in (2, 3):
            for norm in NORMS:
                for name in ("dct", "idct", "dst", "idst"):
                    wanted = getattr(fft, name)(x, kind, norm=norm)
                    near(getattr(mp.fft, name)(given, kind, norm=norm), wanted)
    z = numbers((3, 5))
    whole = mp.fft.dct(mp.array(z, "cdd", HOST), 3, axis=0, norm="ortho")
    near(whole, fft.dct(z, 3, axis=0, norm="ortho"))


def test_convolutions() -> None:
    """Against sums of products; along an axis, with NumPy's modes."""
    a, b = numbers((2, 7)).real, numbers((4,), 2)
    for mode in ("full", "same", "valid"):
        wanted = np.array([np.convolve(row, b, mode) for row in a])
        near(mp.fft.convolve(mp.array(a, "dd", HOST), mp.array(b, "cdd", HOST), mode), wanted)
        left = mp.array(a.T, "dd", HOST)
        near(mp.fft.convolve(left, mp.array(b[:, None], "cdd", HOST), mode, axis=0), wanted.T)
        near(
            mp.fft.correlate(mp.array(a[0], "dd", HOST), mp.array(b, "cdd", HOST), mode),
            np.correlate(a[0], b, mode),
        )


def test_inverses_and_views() -> None:
    """There and back in qd; views of any strides; nothing in, nothing out."""
    z = mp.array(numbers((6, 4)), "cqd", HOST)
    back = mp.fft.ifft(mp.fft.fft(z))
    assert abs(back - z).max() < 1e-62
    turned = z[::-2].T
    assert bits(mp.fft.fft(turned)) == bits(mp.fft.fft(turned.copy()))
    assert mp.fft.fft(z[:0]).shape == (0, 4)
    assert mp.fft.fft([1, 2, 3]).dtype == mp.cdd
    not_finite = mp.fft.fft(mp.array([1.0, math.inf, 0, 0], "dd", HOST))
    assert not bool(mp.isfinite(not_finite).any())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda z: mp.fft.fft(z, 0), ArgumentError, "n: 0 given, an integer of 1 at least"),
        (lambda z: mp.fft.fft(z, 2.5), ArgumentError, "n: 2.5 given"),
        (lambda z: mp.fft.fft(z, axis=2), AxisError, "axis"),
        (lambda z: mp.fft.fftshift(z, axes=2), AxisError, "axes: 2 given"),
        (lambda z: mp.fft.fft(z, axis=1.0), ArgumentError, "axis: 1.0 given"),
        (lambda z: mp.fft.fft(z, norm="orto"), ArgumentError, "'orto' given .did you mean 'ortho'"),
        (mp.fft.rfft, ArgumentError, "rfft: x: complex numbers given, fft takes these"),
        (lambda z: mp.fft.fft(z.sum()), ShapeError, "an axis at least is needed"),
        (lambda z: mp.fft.fft(z[:, :0]), ShapeError, "no elements along the axis"),
        (lambda z: mp.fft.fft(z.real.astype("float16")), FormatError, "float16 has no complex"),
        (lambda z: mp.fft.fftn(z, (2,), (0, 1)), ArgumentError, "1 lengths given, axes: 2"),
        (lambda z: mp.fft.ifftn(z[0], (2, 2)), AxisError, "the number of axes is 1"),
        (lambda z: mp.fft.irfftn(z, (2, 2, 2)), AxisError, "the number of axes is 2"),
        (lambda z: mp.fft.dct(z.real, 1), ArgumentError, "type: 1 given, allowed are 2 and 3"),
        (lambda z: mp.fft.fft(z, out=mp.zeros(3, "cdd", HOST)), ShapeError, "out: shape"),
    ],
)
def test_refusals(call: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    """Errors name the argument, what was given and what is allowed."""
    with pytest.raises(error, match=words):
        call(mp.array(numbers((2, 4)), "cdd", HOST))
