"""Products by slices and residues: exact sums, bounds, bits that no engine or block changes."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow, slow
from tiers import check, opencl

import portmp as mp
from portmp import discovery, formats
from portmp.backends import blas as blas_library
from portmp.backends.base import Device, Multiplication, Rows
from portmp.backends.blas import BlasLibrary
from portmp.backends.cuda import blas as cublas
from portmp.backends.opencl import blas as clblast
from portmp.compilers import tools
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError, FormatError, OutOfMemory
from portmp.formats import Format, convert, inputs
from portmp.routines import base
from portmp.routines.ozaki import choose, reference, residues, slices, systems
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.ozaki.systems import ResidueSystem, WideSystem
from portmp.routines.products import engines
from portmp.routines.products.product import Product
from portmp.runtime import planes
from portmp.verify import cases as verify

Host = list[np.ndarray[Any, Any]]
HOST: dict[str, Any] = {"ozaki1": slices.on_host, "ozaki2": residues.on_host}
FORMATS = ["float32", "float64", "ds", "ts", "qs", "dd", "td", "d+s"]


def array(form: str, host: Host, device: Device) -> mp.Array:
    """An array with exactly these limbs."""
    return mp.Array(planes.upload(formats.get(form), host, device.queue))


def bits(x: mp.Array) -> str:
    """A digest of all limbs."""
    return verify.digest(x.to_limbs())


def pair(form: str, m: int, n: int, k: int, device: Device) -> tuple[mp.Array, mp.Array]:
    """Ordinary factors."""
    f = formats.get(form)
    return (
        array(form, inputs.ordinary(f, (m, k), "a"), device),
        array(form, inputs.ordinary(f, (k, n), "b"), device),
    )


# --- residue systems --------------------------------------------------------------------


def test_moduli_are_coprime() -> None:
    moduli = systems.moduli()
    assert len(moduli) == systems.MOST and moduli[0] == systems.LARGEST
    assert math.lcm(*moduli) == math.prod(moduli)


def test_sums_fit_into_int32() -> None:
    """Also where all residues are -128."""
    assert residues.DEPTH * 128 * 128 < 2**31
    assert (residues.DEPTH + 16) * 128 * 128 >= 2**31


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("depth", [1, 1000, 4096, 100000, 10**6])
def test_systems_tell_sums_apart(form: str, depth: int) -> None:
    """Signed sums differ modulo the product; words and digits hold what they must."""
    s = systems.system(formats.get(form), depth)
    assert isinstance(s, ResidueSystem)
    assert s.bits >= formats.get(form).bits - 2 * (formats.get(form).limbs == 1)
    assert 2 * depth * 4**s.bits < s.product
    assert s.bias > 2**s.bits and s.bias + 2**s.bits < 2 ** (32 * s.words)
    assert 2 ** (51 + 48 * (s.pieces - 1)) >= 2**s.bits
    for number in (s.product, *(g.others for g in s.groups)):
        places = map(int, systems.places(number))
        assert sum(d << (systems.PLACE * t) for t, d in enumerate(places)) == number
    # What a group of residues makes, of any int32 each: a rounded quotient is off by so much.
    off = max(0.5 + g_error(g) for g in s.groups)
    most = [off * g.product for g in s.groups]
    assert off <= 1.25 and max(most) < 2**31
    multiples = sum(m / g.product for m, g in zip(most, s.groups, strict=True)) + 1
    assert (sum(most) + multiples + 1) * 2**systems.PLACE + 2**systems.DIGIT < 2**52
    # Residues of one modulus make what is 1 by this modulus and 0 by all others.
    for group in s.groups:
        for m, factor in zip(group.moduli, group.factors, strict=True):
            made = [factor * group.others % other for other in s.moduli]
            assert made == [int(other == m) for other in s.moduli]
    for m in s.moduli:
        # What kernels add up stays below the integers that a float32 holds.
        weights = [w >> (8 * i) & 255 for w in s.weights(m) for i in range(4)]
        assert sum(weights) * 255 + m < 2**22


def g_error(group: systems.Group) -> float:
    """By how much shares of a group's sums, times int32 numbers, err at most."""
    found = zip(group.factors, group.shares, strict=True)
    wanted = Fraction(2**32, group.product)
    return float(sum(abs(wanted * factor - share) for factor, share in found) / 2)


def test_fewest_moduli() -> None:
    """30 for dd and 47 for td at a depth of 4096, as in the literature; half to a third of wide."""
    counts = {f: systems.system(formats.get(f), 4096).count for f in ("dd", "td", "ts")}
    assert counts == {"dd": 30, "td": 47, "ts": 21}
    found = {f: residues.numbers(formats.get(f), "cpu", 4096, Ozaki2()) for f in ("dd", "td", "qd")}
    assert {f: s.count for f, s in found.items()} == {"dd": 11, "td": 16, "qd": 20}


@pytest.mark.parametrize("form", [*FORMATS, "qd"])
@pytest.mark.parametrize("depth", [1, 1000, 4096, 100000, 2**23])
def test_wide_systems_tell_sums_apart(form: str, depth: int) -> None:
    """As those of eight bits do, with the same operands and digits; words hold what they must."""
    f = formats.get(form)
    given = systems.system(f, depth)
    for s in (systems.wide(given, depth), WideSystem(systems.MOST_BITS, systems.counted(depth))):
        assert math.lcm(*s.moduli) == s.product and 2 * depth * 4**s.bits < s.product
        # As few as numbers of so many bits can be.
        assert max(s.moduli) <= 2**systems.WIDTH
        assert 2 ** (systems.WIDTH * (s.count - 1)) < 3 * systems.counted(depth) * 4**s.bits
        assert residues.WIDE_DEPTH * (max(s.moduli) // 2 + 1) ** 2 + max(s.moduli) < 2**53
        # Places and digits of sums: no more bits than the definition's digits have.
        assert s.product < 2 ** (systems.DIGIT * s.digits)
        assert 2 * s.digits - 1 <= s.places <= 2 * s.digits
        largest = sum(m // 2 + 1 for m in s.moduli) + s.count
        assert largest * 2**systems.PLACE + 2**systems.DIGIT < 2**52
        # A multiple of the product is told by the sum of residues over moduli, to 0.003.
        assert Fraction(systems.ROOM, 1000) + s.count * Fraction(2, 2**50) < Fraction(1, 2)
        for m in s.moduli:
            assert s.product // m * s.inverse(m) % m == 1
            weights = s.weights(m, s.inverse(m))
            assert all(2 * abs(w) <= m for w in weights)
            assert sum(map(abs, weights)) * 2**systems.HALF + m < 2**52
    if isinstance(given, ResidueSystem):
        found = systems.wide(given, depth)
        assert (found.bits, found.bias, found.digits) == (given.bits, given.bias, given.digits)


def test_wide_systems_have_the_digits_of_others() -> None:
    """Also where their own product would take fewer."""
    f, fewer = formats.get("dd"), 0
    for depth in (2**n for n in range(10, 24)):
        for wanted in range(systems.LEAST_BITS, 150):
            given = systems.system(f, depth, bits=wanted)
            assert isinstance(given, ResidueSystem)
            found = systems.wide(given, depth)
            assert found.digits == given.digits and 2 * found.digits - 1 <= found.places
            assert found.product < 2 ** (systems.DIGIT * found.digits)
            fewer += found.product.bit_length() <= systems.DIGIT * (found.digits - 1)
    assert fewer


@pytest.mark.parametrize("form", FORMATS)
def test_kinds_of_moduli_change_no_bits(form: str, device: Device) -> None:
    """Of eight bits on int8 matrices, wide ones in float64, more steps than a float64 sum holds."""
    a, b = pair(form, 37, 29, 1100, device)
    want = bits(mp.gemm(a, b, method="ozaki2"))
    numbers = systems.system(a.format, 1100)
    assert isinstance(numbers, ResidueSystem)
    schemes = residues.Residues(numbers), residues.WideResidues(systems.wide(numbers, 1100), device)
    for scheme in schemes:
        out = mp.zeros((37, 29), form, device)
        one, zero = (base.scalar_limbs(a.format, v, "alpha") for v in (1, 0))
        way = ozaki.Way(scheme, engines.Own())
        x, y, z = a.planes, b.planes, out.planes
        ozaki.update(Product(x, y, one, zero, z, z), way)
        assert bits(out) == want


@pytest.mark.parametrize("form", ["float32", "td", "qd"])
def test_bits_of_operands(form: str, device: Device) -> None:
    """As many as are asked for, by moduli of either kind."""
    a, b = pair(form, 5, 6, 40, device)
    for wanted in (8, 100, 230, systems.MOST_BITS):
        numbers = systems.system(a.format, 40, bits=wanted)
        assert numbers.bits >= wanted
        want = reference.product(a.format, numbers, a.to_limbs(), b.to_limbs())
        assert bits(mp.gemm(a, b, method=Ozaki2(bits=wanted))) == verify.digest(want)


# --- slices -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*FORMATS, "qd"])
@pytest.mark.parametrize("word", list(slices.SUMS))
def test_slices_hold_operands_and_sums(word: str, form: str) -> None:
    """Digits hold operands; no sum of digits' products, carry or digit of a sum is rounded."""
    f = formats.get(form)
    s = slices.slices(f, word)
    needed = f.bits - 2 * (f.limbs == 1)
    assert s.bits >= needed + math.log2((f.limbs + s.count - 1) / f.limbs)
    assert s.width <= slices.WIDEST[word]
    # An operand may be larger than 2^bits by a half of each limb's rounding.
    most = 2**s.bits + f.limbs
    assert s.bias >= most and s.bias + most < 2 ** (s.count * s.width) <= 2 ** (32 * s.words)
    assert sum(s.bias_of(q) << (48 * q) for q in range(s.pieces)) == s.bias
    digit = 2 ** (s.width - 1)
    length = slices.longest(word, s.width)
    assert length * digit**2 <= 2 ** slices.SUMS[word] - (word == "int8")
    assert length >= 1024
    # What the highest digit of a sum holds is exact.
    assert 2**31 * 4**s.bits <= 2 ** (s.shift + s.base * (s.digits - 1) + 52)
    assert (s.digits - 1) * s.gathered >= s.count - 1
    assert s.base <= slices.DIGIT


def test_fewest_slices() -> None:
    """As the literature: 14 and 20 of eight bits for dd and td; fewer of 22 than of 20 bits."""
    forms = [formats.get(f) for f in ("ts", "dd", "td", "qd")]
    assert [slices.slices(f, "int8").count for f in forms] == [10, 14, 21, 28]
    assert [slices.slices(f, "float64").count for f in forms] == [4, 5, 8, 10]
    assert slices.slices(forms[1], "float64", width=20).count == 6


@pytest.mark.parametrize(
    "form", mostly_slow(["float32", "ts", "dd", "qd"], ("ts",), "kernels of three words for each")
)
def test_engines_agree(form: str, device: Device) -> None:
    """Digits of one width give one result, whatever they are multiplied as, and in any blocks."""
    a, b = pair(form, 33, 21, 90, device)
    cut = slices.slices(formats.get(form), "int8")
    host = slices.on_host(a.format, a.to_limbs(), b.to_limbs(), cut=cut)
    for options in (
        {"word": "int8"},
        {"word": "float32", "workspace": 400 * cut.count * 90},
        {"word": "float64", "width": cut.width},
        {"word": "float64", "width": cut.width, "slices": cut.count, "engine": "own"},
    ):
        assert bits(mp.gemm(a, b, method=Ozaki1(**options))) == verify.digest(host), options


@pytest.mark.parametrize("word", list(slices.SUMS))
def test_sums_at_the_largest_depth(word: str, device: Device) -> None:
    """Digits that are all as large as they may be: the fullest sums are exact."""
    width = slices.WIDEST[word]
    k, digit = slices.longest(word, width), 2 ** (width - 1)
    a, b = (
        planes.upload(engines.FACTORS[word], [np.full((rows, k), -digit)], device.queue)
        for rows in (2, 3)
    )
    c = planes.allocate(engines.SUMS[word], (2, 3), device.queue)
    factors = Rows(a.buffers[0], k), Rows(b.buffers[0], k)
    asked = Multiplication(word, 2, 3, k, *factors, Rows(c.buffers[0], 3))
    engines.Own().multiply(device.queue, asked)
    assert (c.read_dense()[0] == k * digit**2).all()


def test_many_full_sums(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """More sums of a float64 than an int64 holds are added up exactly."""
    pieces, full = 600, 2**53

    class Full(engines.Own):
        launches = False

        def multiply(self, queue: Any, asked: Multiplication) -> None:
            form, shape = formats.get(asked.word), (asked.m, asked.n)
            where = asked.c.start, (asked.c.buffer,)
            c = planes.Planes(form, shape, (asked.n, 1), *where, queue)
            c.write([np.full(shape, float(full))])

    monkeypatch.setattr(slices, "longest", lambda *_: 32)
    monkeypatch.setattr(engines, "get", lambda *_: Full())
    ones = mp.array(np.ones((1, 32 * pieces)), "dd", device)
    got = mp.gemm(ones, ones.T, method=Ozaki1(2, 22, word="float64"))
    sums = (pieces * 2**22 + 2 * pieces) * full
    assert got.to_fractions() == [[Fraction(sums * 2**22 * 4, 4**42)]]


def test_sums_are_cut(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Antidiagonals in pieces of one digit's columns, of less, and of more."""
    a, b = pair("dd", 5, 6, 200, device)
    want = bits(mp.gemm(a, b, method="ozaki1"))
    for length in (32, 64, 224, 320):
        monkeypatch.setattr(slices, "longest", lambda *_, length=length: length)
        assert bits(mp.gemm(a, b, method="ozaki1")) == want


def test_more_slices_keep_more_bits(device: Device) -> None:
    """With digits enough a product of small integers and of tiny ones beside them is exact."""
    x = np.ldexp(np.arange(1.0, 13).reshape(3, 4), [0, -60, 0, -100])
    y = np.ldexp(np.arange(1.0, 9).reshape(4, 2), [[0], [60], [0], [40]])
    want = [
        [sum(Fraction(p) * Fraction(q) for p, q in zip(r, c, strict=True)) for c in y.T] for r in x
    ]
    a, b = mp.array(x, "qd", device), mp.array(y, "qd", device)
    found = [mp.gemm(a, b, method=Ozaki1(bits=n)).to_fractions() == want for n in (60, 120)]
    assert found == [False, True]
    assert mp.gemm(a, b, method=Ozaki1(slices=20)).to_fractions() == want


# --- results ----------------------------------------------------------------------------


def within_the_bound(form: Format, a: Host, b: Host, c: mp.Array, bits: int, cut: int = 0) -> None:
    """The bound of gemm's docstring, element by element, with *cut* slices or none."""
    x, y = convert.to_fractions(a), convert.to_fractions(b)
    got = c.to_fractions()
    unit, u = Fraction(1, 2**bits), Fraction(1, 2**form.bits)
    above_a = [2 ** Fraction(math.frexp(max(abs(row)))[1]) for row in a[0].astype(float)]
    above_b = [2 ** Fraction(math.frexp(max(abs(row)))[1]) for row in b[0].T.astype(float)]
    for i in range(len(x)):
        for j in range(y.shape[1]):
            exact = sum(p * q for p, q in zip(x[i], y[:, j], strict=True))
            limbs = Fraction(form.limbs, 2)
            rounding = (
                limbs
                * unit
                * (above_a[i] * sum(map(abs, y[:, j])) + above_b[j] * sum(map(abs, x[i])))
            )
            second = len(x[i]) * (limbs * unit) ** 2 * above_a[i] * above_b[j]
            left_out = Fraction(11, 10) * len(x[i]) * cut * unit * above_a[i] * above_b[j]
            bound = rounding + second + left_out + 2 * u * abs(exact)
            assert abs(Fraction(got[i][j]) - exact) <= bound, (i, j)


@pytest.mark.parametrize(
    "form", mostly_slow([*FORMATS, "qd"], ("dd", "qd"), "kernels of four methods for each")
)
def test_bound(form: str, device: Device) -> None:
    """Ordinary entries, and rows whose entries spread over many orders of magnitude."""
    f = formats.get(form)
    a, b = inputs.ordinary(f, (6, 40), "a"), inputs.ordinary(f, (40, 5), "b")
    spread = 2.0 ** -np.arange(0, 40).astype(a[0].dtype)
    steep = [(p * spread).astype(p.dtype) for p in a]
    for left in (a, steep):
        x, y = array(form, left, device), array(form, b, device)
        c = mp.gemm(x, y, method="ozaki2")
        within_the_bound(f, left, b, c, systems.system(f, 40).bits)
        for word in slices.SUMS:
            cut = slices.slices(f, word)
            c = mp.gemm(x, y, method=Ozaki1(word=word))
            within_the_bound(f, left, b, c, cut.bits, cut.count)


def test_better_than_direct(device: Device) -> None:
    """dd of entries of one size: no worse than the accurate kernel."""
    a, b = pair("dd", 8, 8, 1500, device)
    columns = list(zip(*b.to_fractions(), strict=True))
    exact = [
        [sum(p * q for p, q in zip(r, c, strict=True)) for c in columns] for r in a.to_fractions()
    ]

    def worst(c: mp.Array) -> float:
        got = c.to_fractions()
        return max(float(abs(got[i][j] - exact[i][j])) for i in range(8) for j in range(8))

    assert worst(mp.gemm(a, b, method="ozaki2")) <= worst(mp.gemm(a, b))


def test_moduli_change_no_bits(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the bits of operands count, not how many moduli carry them."""
    a, b = pair("dd", 9, 7, 30, device)
    given = systems.system(formats.get("dd"), 30)
    want = bits(mp.gemm(a, b, method="ozaki2"))
    for more in (1, 3, 10):
        found = ResidueSystem(given.bits, given.count + more)
        monkeypatch.setattr(systems, "system", lambda *_, s=found: s)
        assert bits(mp.gemm(a, b, method="ozaki2")) == want


def test_more_moduli_keep_more_bits(device: Device) -> None:
    """Entries far below the largest are exact once K reaches down to their last bits."""
    a, b = pair("dd", 5, 5, 20, device)
    small = a * mp.array([[2.0**-j for j in range(20)]], "dd", device)
    for count in (28, 37):
        want = residues.on_host(small.format, small.to_limbs(), b.to_limbs(), moduli=count)
        assert bits(mp.gemm(small, b, method=Ozaki2(moduli=count))) == verify.digest(want)
    lead = mp.array(small.to_limbs()[0], "float64", device)
    ones = mp.array(np.eye(20), "float64", device)
    exact = [mp.gemm(lead, ones, method=Ozaki2(moduli=count)) for count in (15, 30)]
    assert [bits(x) == bits(lead) for x in exact] == [False, True]


MODULI = (4, 5, 6, 10, 15)


@slow(
    "each format with one number of moduli, each number with a format",
    unless=lambda p: MODULI[FORMATS.index(p["form"]) % len(MODULI)] == p["moduli"],
)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("moduli", MODULI)
def test_few_moduli(form: str, moduli: int, device: Device) -> None:
    """Small integers are exact with any number of moduli, also in formats of more words."""
    f = formats.get(form)
    x = np.array([[1.0, -2, 7], [3, 4, -5]])
    y = np.array([[2.0, 1], [-3, 5], [6, -7]])
    a, b = mp.array(x, form, device), mp.array(y, form, device)
    c = mp.gemm(a, b, method=Ozaki2(moduli=moduli))
    assert c.to_fractions() == (x @ y).astype(int).tolist()
    want = residues.on_host(f, a.to_limbs(), b.to_limbs(), moduli=moduli)
    assert bits(c) == verify.digest(want)


def test_largest_entries(device: Device) -> None:
    """Beyond the format's range there are infinities, never a finite number; zero stays zero."""
    f = formats.get("float64")
    large = 1.7e308
    x = np.array([[large, -large], [large, large], [1.0, -1.0]])
    y = np.array([[large, large / 2, 1.0], [large, large / 3, 1.0]])
    for moduli in (4, 15):
        got = mp.gemm(
            mp.array(x, "float64", device),
            mp.array(y, "float64", device),
            method=Ozaki2(moduli=moduli),
        )
        assert verify.digest(residues.on_host(f, [x], [y], moduli=moduli)) == bits(got)
        lead = got.to_limbs()[0]
        assert lead[0, 0] == 0 and np.isinf(lead[0, 1]) and np.isinf(lead[1, :2]).all()
        assert lead[2, 2] == 0


@pytest.mark.parametrize("kind", ["bytes", "wide"])
@pytest.mark.parametrize("form", ["dd", "ts"])
def test_blocks_change_no_bits(
    form: str, kind: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of C by the workspace, parts of the depth by what a sum holds; moduli of each kind."""
    a, b = pair(form, 70, 45, 130, device)
    given = systems.system(formats.get(form), 130)
    assert isinstance(given, ResidueSystem)
    want = bits(mp.gemm(a, b, method="ozaki2"))
    one, zero = (base.scalar_limbs(a.format, v, "alpha") for v in (1, 0))

    def by(scheme: residues.Scheme, limit: int | None = None) -> str:
        out = mp.zeros((70, 45), form, device)
        way = ozaki.Way(scheme, engines.Own(), limit)
        x, y, z = a.planes, b.planes, out.planes
        ozaki.update(Product(x, y, one, zero, z, z), way)
        return bits(out)

    def scheme() -> residues.Scheme:
        if kind == "bytes":
            return residues.Residues(given)
        return residues.WideResidues(systems.wide(given, 130), device)

    cut, less = set(), 2 if kind == "bytes" else 1
    for limit in (2**22, 2**21 // less, 3 * 2**19 // less, 2**20 // less):
        cut.add(ozaki.blocks(scheme(), 70, 45, 130, limit))
        assert by(scheme(), limit) == want
    assert len(cut) > 1
    monkeypatch.setattr(type(scheme()), "longest", 48)
    assert by(scheme()) == want


def test_cpus_with_little_memory_take_bytes(device: Device) -> None:
    """Wide residues of a long product may not fit where those of eight bits do: same bits."""
    a, b = pair("dd", 3, 2, 3000, device)
    want = bits(mp.gemm(a, b, method="ozaki2"))
    method = Ozaki2(workspace=7 * 10**6)
    by = choose.way(a.format, device, 3000, method).scheme
    assert isinstance(by, residues.Residues)
    assert bits(mp.gemm(a, b, method=method)) == want


@pytest.mark.parametrize("form", ["float64", "dd", "qd"])
def test_smallest_numbers_by_many_bits(form: str, device: Device) -> None:
    """Products far below the range are zero, and bounds hold, with as many bits as there may be."""
    a = mp.array([[2.0**-1022]], form, device)
    method = Ozaki2(bits=systems.MOST_BITS)
    found, bound = mp.gemm(a, a, method=method, bound="normwise")
    exact = Fraction(1, 2**2044)
    assert abs(found.to_fractions()[0][0] - exact) <= Fraction(float(bound[0, 0]))
    assert found.to_fractions() == [[0]]


def test_workspace_is_a_limit() -> None:
    """Residues and the products of all parts of the depth count; what cannot fit is refused."""
    numbers = systems.system(formats.get("dd"), 300000)
    assert isinstance(numbers, ResidueSystem)
    scheme = residues.Residues(numbers)
    for limit in (2 * 10**9, 4 * 10**9, 10**10):
        rows, columns = ozaki.blocks(scheme, 5000, 5000, 300000, limit)
        products = 4 * 3 * rows * columns
        assert scheme.count * (ozaki.padded(300000) * (rows + columns) + products) <= limit
    with pytest.raises(OutOfMemory, match="workspace: 1000 bytes allowed, the smallest block"):
        ozaki.blocks(scheme, 50, 50, 300000, 1000)


def test_own_engine_at_the_largest_depth(device: Device) -> None:
    """Residues of -128 only: the sum is within 128^2 of int32's end."""
    k, queue = residues.DEPTH, device.queue
    a = planes.upload(engines.BYTES, [np.full((2, k), -128, np.int8)], queue)
    b = planes.upload(engines.BYTES, [np.full((3, k), -128, np.int8)], queue)
    c = planes.allocate(engines.INTS, (2, 3), queue)
    factors = Rows(a.buffers[0], k), Rows(b.buffers[0], k)
    asked = Multiplication("int8", 2, 3, k, *factors, Rows(c.buffers[0], 3))
    engines.Own().multiply(queue, asked)
    assert (c.read_dense()[0] == k * 128 * 128).all()


@pytest.mark.parametrize("word", ["int8", "float32", "float64"])
def test_own_engine(word: str, device: Device) -> None:
    """Batches of any shapes against NumPy, from offsets on, rows apart."""
    rng = np.random.default_rng(1)
    queue = device.queue
    for batch, m, n, k in ((1, 1, 1, 4), (3, 65, 7, 36), (2, 130, 70, 100)):
        left = rng.integers(-128, 128, (batch, m, k + 8))
        right = rng.integers(-128, 128, (batch, n, k + 4))
        a, b = (planes.upload(engines.FACTORS[word], [x], queue) for x in (left, right))
        size = batch * m * (n + 3) + 5
        c = planes.upload(engines.SUMS[word], [np.zeros(size)], queue)
        asked = Multiplication(
            word,
            m,
            n,
            k,
            Rows(a.buffers[0], k + 8, 4, m * (k + 8)),
            Rows(b.buffers[0], k + 4, 0, n * (k + 4)),
            Rows(c.buffers[0], n + 3, 5, m * (n + 3)),
            batch,
        )
        engines.Own().multiply(queue, asked)
        want = left[:, :, 4 : k + 4] @ right[:, :, :k].transpose(0, 2, 1)
        got = c.read_dense()[0]
        found = got[5:].reshape(batch, m, n + 3)
        assert np.array_equal(found[:, :, :n], want)
        assert not got[:5].any() and not found[:, :, n:].any()


@pytest.mark.parametrize("method", list(HOST))
def test_scaled_rows(method: str, device: Device) -> None:
    """Rows and columns times powers of two give the product times them, near both ends too."""
    a, b = pair("dd", 6, 6, 17, device)
    plain = mp.gemm(a, b, method=method).to_fractions()
    left, right = [900, -900, 0, 1000, -1000, 30], [-900, 900, 5, -990, 990, -30]
    scaled_a = array("dd", [np.ldexp(p, np.array(left)[:, None]) for p in a.to_limbs()], device)
    scaled_b = array("dd", [np.ldexp(p, np.array(right)[None, :]) for p in b.to_limbs()], device)
    got = mp.gemm(scaled_a, scaled_b, method=method).to_limbs()
    for i in range(6):
        for j in range(6):
            e = left[i] + right[j]
            if abs(e) < 900 and min(left[i], right[j]) >= -900:  # else low limbs are cut
                value = Fraction(float(got[0][i, j])) + Fraction(float(got[1][i, j]))
                assert value == plain[i][j] * Fraction(2) ** e, (i, j)
            elif e > 1100:
                assert np.isinf(got[0][i, j]) and got[1][i, j] == 0
            elif e < -1200:
                assert got[0][i, j] == 0


@pytest.mark.parametrize("method", list(HOST))
def test_special_rows(method: str, device: Device) -> None:
    """Zeros, infinities, NaN and subnormals: as the definition says, element by element."""
    f = formats.get("dd")
    a, b = inputs.ordinary(f, (5, 12), "a"), inputs.ordinary(f, (12, 4), "b")
    for plane in a:
        plane[0] = 0
        plane[3] = 0
    a[0][1, 4], a[1][1, 4] = np.inf, 0
    a[0][2, 7], a[1][2, 7] = np.nan, 0
    a[0][3, :5] = 5e-324
    b[0][:, 3], b[1][:, 3] = 0, 0
    c = mp.gemm(array("dd", a, device), array("dd", b, device), method=method)
    lead = c.to_limbs()[0]
    assert verify.digest(c.to_limbs()) == verify.digest(HOST[method](f, a, b))
    assert (lead[0] == 0).all() and not np.signbit(lead[0]).any()
    assert np.isinf(lead[1, :3]).all() and np.isnan(lead[1, 3]) and np.isnan(lead[2]).all()


@pytest.mark.parametrize("method", list(HOST))
def test_shapes(method: str, device: Device) -> None:
    """Strided, transposed, batched, empty operands; no depth; alpha 0; C by columns, in place."""
    a, b = pair("dd", 6, 8, 10, device)
    want = bits(mp.gemm(a, b, method=method))
    assert bits(mp.gemm(a.T.copy(), b, trans_a=True, method=method)) == want
    assert bits(mp.gemm(a, b.T.copy(), trans_b=True, method=method)) == want
    wide = mp.zeros((12, 30), "dd", device)
    wide[::2, ::3] = a
    assert bits(mp.gemm(wide[::2, ::3], b, method=method)) == want
    batch = mp.zeros((2, 3, 6, 10), "dd", device)
    batch[1, 2] = a
    assert bits(mp.gemm(batch, b, method=method)[1, 2]) == want
    assert mp.gemm(a[:0], b, method=method).shape == (0, 8)
    for shape in ((2, 3, 0, 10), (0, 6, 10), (1, 0, 6, 10)):
        assert mp.gemm(mp.zeros(shape, "dd", device), b, method=method).shape == (*shape[:-1], 8)
    assert mp.gemm(a[:, :0], b[:0], method=method).to_fractions() == [[0] * 8] * 6
    c = mp.gemm(a, b)
    kept = bits(c)
    assert bits(mp.gemm(a, b, alpha=0, beta=1, c=c, method=method)) == kept
    assert bits(mp.gemm(a[::-1], b[:, ::-1], method=method)[::-1, ::-1].copy()) == want
    twice = mp.gemm(a, b, beta=1, c=c, method=method)
    by_columns = mp.zeros((8, 6), "dd", device).T
    mp.gemm(a, b, beta=1, c=c, out=by_columns, method=method)
    assert bits(by_columns.copy()) == bits(twice)
    odd = mp.gemm(a, b[:, :7], beta=1, c=c[:, :7], method=method)
    assert bits(odd) == bits(twice[:, :7].copy())
    assert bits(mp.gemm(a, b, beta=1, c=c, out=c, method=method)) == bits(twice)


def test_bad_use(device: Device) -> None:
    """Each error names the argument, what was given and what is allowed."""
    a, b = pair("dd", 3, 3, 3, device)
    half: dict[str, Any] = {"moduli": 30.5}
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ArgumentError, r"method: 'ozaki3' given.*did you mean", {"method": "ozaki3"}),
        (ArgumentError, "method: 7 given", {"method": 7}),
        (ArgumentError, "accuracy and schedule", {"method": "ozaki2", "accuracy": "fast"}),
        (ArgumentError, "method: None given", {"method": None, "accuracy": "fast"}),
        (ArgumentError, "moduli: 3 given, 4 to 49", {"method": Ozaki2(moduli=3)}),
        (ArgumentError, "moduli: 50 given, 4 to 49", {"method": Ozaki2(moduli=50)}),
        (ArgumentError, "moduli: 30.5 given", {"method": Ozaki2(**half)}),
        (ArgumentError, "bits: 7 given, 8 to 456", {"method": Ozaki2(bits=7)}),
        (ArgumentError, "bits: 60 given, but moduli: 9", {"method": Ozaki2(9, bits=60)}),
        (ArgumentError, "workspace: 0 given", {"method": Ozaki2(workspace=0)}),
        (ArgumentError, "engine: 'libary' given.*library", {"method": Ozaki2(engine="libary")}),
        (ArgumentError, "slices: 0 given, 1 to 64", {"method": Ozaki1(slices=0)}),
        (ArgumentError, "width: 23 given, 4 to 22", {"method": Ozaki1(word="float64", width=23)}),
        (ArgumentError, "width: 9 given, 4 to 8", {"method": Ozaki1(word="int8", width=9)}),
        (ArgumentError, "bits: 7 given, 8 to", {"method": Ozaki1(bits=7)}),
        (ArgumentError, "word: 'int16' given.*did you mean", {"method": Ozaki1(word="int16")}),
        (ArgumentError, "slices: 1 of 8 bits given.*8 to 880", {"method": Ozaki1(1)}),
        (ArgumentError, "bits: 800 given, 64 digits of 8", {"method": Ozaki1(bits=800)}),
        (ArgumentError, "bits: 900 given, 8 to 880", {"method": Ozaki1(bits=900)}),
        (ArgumentError, "slices: 41 of 22 bits", {"method": Ozaki1(41, 22, word="float64")}),
        (ArgumentError, "bits: 60 given, but slices: 9", {"method": Ozaki1(9, bits=60)}),
        (ArgumentError, "workspace: True given", {"method": Ozaki1(workspace=True)}),
        (ArgumentError, "accuracy and schedule", {"method": Ozaki1(), "accuracy": "fast"}),
    ]
    for kind, message, options in cases:
        for left, alpha in ((a, 1), (a[:0], 1), (a, 0)):
            with pytest.raises(kind, match=message):
                mp.gemm(left, b, alpha=alpha, **options)
    with pytest.raises(ArgumentError, match=r"moduli: 4 given, sums of .* leave 7 bits"):
        systems.system(formats.get("dd"), 20000, 4)
    old = mp.zeros((2, 2), "dd2011", device)
    with pytest.raises(FormatError, match="dd2011 has none"):
        mp.gemm(old, old, method="ozaki2")
    if device.platform == "opencl" and device.properties.kind == "gpu":
        with pytest.raises(BackendUnavailable, match="float32, float64 only, not int8"):
            mp.gemm(a, b, method=Ozaki2(engine="library"))


def test_reference_without_a_product() -> None:
    """No depth, or alpha 0: factors are not read, as in the direct product."""
    f = formats.get("dd")
    a, b = inputs.hostile(f, 6, "a"), inputs.hostile(f, 6, "b")
    a, b = [p.reshape(2, 3) for p in a], [p.reshape(3, 2) for p in b]
    c = inputs.ordinary(f, (2, 2), "c")
    zero, one = ((np.float64(v), np.float64(0)) for v in (0, 1))
    assert verify.digest(residues.on_host(f, a, b, zero, one, c)) == verify.digest(c)
    nothing = residues.on_host(f, [p[:, :0] for p in a], [p[:0] for p in b])
    assert not nothing[0].any() and nothing[0].shape == (2, 2)


# --- libraries --------------------------------------------------------------------------


class Recorder:
    """A BLAS library that writes down its calls."""

    def __init__(self, status: int = 0) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.status = status

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            return self.status

        return call


class Stub:
    """What a queue or a buffer must have here."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def stub(**values: Any) -> Any:
    """Something that stands for a queue, a buffer or a driver."""
    return Stub(**values)


def plain(value: Any) -> Any:
    """A ctypes argument as a number."""
    return value.value if isinstance(value, ctypes.c_void_p | ctypes.c_int64) else value


def test_library_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """c = a b^T by rows is c^T = b a^T by columns: the arguments that cuBLAS takes."""
    monkeypatch.setattr(blas_library, "GpuQueue", Stub)
    monkeypatch.setattr(blas_library, "GpuBuffer", Stub)
    library: Any = Recorder()
    blas = BlasLibrary(cublas.CUBLAS, library, stub(current=lambda: None))
    a, b, c = (stub(pointer=p) for p in (0x1000, 0x2000, 0x3000))
    for _ in range(2):
        rows = Rows(a, 12, 0, 84), Rows(b, 16, 3, 60), Rows(c, 5, 5, 35)
        blas.multiply(stub(stream=9), Multiplication("int8", 7, 5, 12, *rows, 2))
    names = [name for name, _ in library.calls]
    one = cublas.CUBLAS
    assert names == [one.create, *[one.set_stream, one.gemm] * 2]
    got = [plain(x) for x in library.calls[2][1]][1:]
    kind, result, _ = one.kinds["int8"]
    del got[14], got[5]  # the addresses of beta and alpha
    middle = [0x2003, kind, 16, 60, 0x1000, kind, 12, 84, 0x3014, result, 5, 35]
    assert got == [one.transposed, one.plain, 5, 7, 12, *middle, 2, 72, -1]
    blas.axpy(stub(stream=9), "float32", 2**28, 0.5, Rows(a, 1), Rows(b, 1, 3))
    name, given = library.calls[-1]
    assert name == "cublasSaxpy_v2"
    assert [plain(x) for x in given[1:2] + given[3:]] == [2**28, 0x1000, 1, 0x200C, 1]
    with pytest.raises(DeviceError, match="vectors of 2147483648 are beyond its 32 bits"):
        blas.axpy(stub(stream=9), "float64", 2**31, 0.5, Rows(a, 1), Rows(b, 1))
    # A of 7 rows and 5 columns is one of 5 rows by columns, to be transposed.
    blas.gemv(stub(stream=9), "float64", 7, 5, Rows(a, 12, 1), Rows(b, 1, 3), Rows(c, 1))
    name, given = library.calls[-1]
    assert name == "cublasDgemv_v2"
    got = [plain(x) for x in given[1:4] + given[5:9] + given[10:]]
    assert got == [one.transposed, 5, 7, 0x1008, 12, 0x2018, 1, 0x3000, 1]
    with pytest.raises(DeviceError, match="7x2147483648 in rows of 1 is beyond its 32 bits"):
        blas.gemv(stub(stream=9), "float64", 7, 2**31, Rows(a, 1), Rows(b, 1), Rows(c, 1))


HIPBLAS = r"""
#include <stdint.h>
#include <stdio.h>
int hipblasCreate(void **handle) { *handle = (void *)0x77; return 0; }
int hipblasSetStream(void *handle, void *stream)
{
    printf("%lx %lx\n", (long)handle, (long)stream);
    return 0;
}
int hipblasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k,
    const int *alpha, const void *a, int at, int lda, int64_t sa, const void *b, int bt, int ldb,
    int64_t sb, const int *beta, void *c, int ct, int ldc, int64_t sc, int batch, int sums, int how)
{
    printf("%lx %d %d %d %d %d %d %lx %d %d %ld %lx %d %d %ld %d %lx %d %d %ld %d %d %d\n",
        (long)handle, ta, tb, m, n, k, *alpha, (long)a, at, lda, sa, (long)b, bt, ldb, sb, *beta,
        (long)c, ct, ldc, sc, batch, sums, how);
    fflush(stdout);
    return batch == 3 ? 7 : 0;
}
int hipblasDaxpy(void *handle, int n, const double *alpha, const void *x, int dx, void *y, int dy)
{
    printf("%lx %d %g %lx %d %lx %d\n", (long)handle, n, *alpha, (long)x, dx, (long)y, dy);
    fflush(stdout);
    return 0;
}
int hipblasDgemv(void *handle, int how, int m, int n, const double *alpha, const void *a, int da,
    const void *x, int dx, const double *beta, void *y, int dy)
{
    printf("%lx %d %d %d %g %lx %d %lx %d %g %lx %d\n", (long)handle, how, m, n, *alpha, (long)a,
        da, (long)x, dx, *beta, (long)y, dy);
    fflush(stdout);
    return 0;
}
"""

HIPBLAS_USED = """
from portmp.backends import blas as blas_library
from portmp.backends.base import Multiplication, Rows
from portmp.backends.rocm.blas import HipBlas
from portmp.errors import DeviceError
class Stub:
    def __init__(self, **values): self.__dict__.update(values)
blas_library.GpuQueue = blas_library.GpuBuffer = Stub
blas = HipBlas(Stub(current=lambda: None))
a, b, c = (Stub(pointer=p) for p in (0x1000, 0x2000, 0x3000))
rows = Rows(a, 12, 0, 84), Rows(b, 16, 3, 60), Rows(c, 5, 5, 2**33)
for batch in (2, 3):
    try:
        blas.multiply(Stub(stream=9), Multiplication("int8", 7, 5, 12, *rows, batch))
    except DeviceError as error:
        print(error, flush=True)
blas.axpy(Stub(stream=9), "float64", 1000, -0.3, Rows(a, 1), Rows(b, 1, 2))
blas.gemv(Stub(stream=9), "float64", 7, 5, Rows(a, 12, 1), Rows(b, 1, 3), Rows(c, 1))
"""


def test_hipblas_through_its_bindings(tmp_path: Path) -> None:
    """A library that writes down what hip-python hands on; a status becomes an error."""
    check("clang")
    check("hiprtc")
    (tmp_path / "lib").mkdir()
    built = tmp_path / "lib" / "libhipblas.so"
    source = tmp_path / "hipblas.c"
    source.write_text(HIPBLAS)
    compiler = next(iter(tools.versioned_tools("clang", tools.ROCM_FOLDERS)))
    subprocess.run([str(compiler), "-shared", "-fPIC", "-o", str(built), str(source)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", HIPBLAS_USED],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ, ROCM_PATH=str(tmp_path)),
    )
    operands = "1 2003 3 16 60 1000 3 12 84 0 3014 10 5 8589934592"
    calls = ["77 9", f"77 112 111 5 7 12 {operands} 2 9 160"]
    calls += ["77 9", f"77 112 111 5 7 12 {operands} 3 9 160"]
    assert done.stdout.splitlines() == [
        *calls,
        "hipBLAS: hipblasGemmStridedBatchedEx: HIPBLAS_STATUS_NOT_SUPPORTED",
        "77 9",
        "77 1000 -0.3 1000 1 2010 1",
        "77 9",
        "77 112 5 7 1 1008 12 2018 1 0 3000 1",
    ]


@pytest.mark.parametrize("word", ["int8", "float32", "float64"])
def test_more_slices_hold_more_bits(word: str) -> None:
    """Given a number of digits they are as wide as they may be."""
    found = [slices.slices(formats.get("dd"), word, count=n).bits for n in range(2, 65)]
    assert all(a < b or b > 800 for a, b in itertools.pairwise(found))


def test_memory_of_deep_products_stays_below_the_limit(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut operands, sums and exponents together, where parts of the depth are padded."""
    monkeypatch.setattr(residues, "DEPTH", 48)
    k = residues.DEPTH + 16
    a, b = (mp.from_limbs([np.ones(s)], "float64", device) for s in ((32, k), (k, 32)))
    held, most = [0], [0]

    def counted(plain: Callable[..., Any], *given: Any) -> Any:
        found = plain(*given)
        held[0] += sum(buffer.nbytes for buffer in found.buffers)
        most[0] = max(most[0], held[0])
        return found

    for name in ("allocate", "allocate_numbers"):
        monkeypatch.setattr(ozaki, name, partial(counted, getattr(ozaki, name)))
    with pytest.raises(OutOfMemory, match="smallest block") as error:
        mp.gemm(a, b, method=Ozaki2(moduli=8, workspace=2**10))
    smallest = int(str(error.value).split()[-1])
    held[0] = 0
    mp.gemm(a, b, method=Ozaki2(moduli=8, workspace=smallest))
    assert smallest == most[0]


def test_a_library_that_fails_is_not_taken(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried once; products go to portmp's kernel then."""
    tried = []

    class Failing(engines.Own):
        name = "failing"

        def multiply(self, *_: Any, **__: Any) -> None:
            tried.append(1)
            raise DeviceError("failing: not for this architecture")

    monkeypatch.setattr(engines._first, "_kept", {})
    monkeypatch.setattr(type(device), "library", lambda _: Failing())
    monkeypatch.setattr(type(device), "library_words", Device.library_words)
    for _ in range(3):
        assert isinstance(engines.get(device), engines.Own)
    assert len(tried) == 1
    assert engines.get(device, "library").name == "failing"


@pytest.mark.parametrize("word", ["int8", "float32", "float64"])
def test_a_library_that_rounds_is_not_taken(
    word: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that loses the last bit of one sum is found out; one that is exact is taken."""
    wrong: list[int] = []

    class Rounding(engines.Own):
        name = "rounding"

        def multiply(self, queue: Any, asked: Multiplication) -> None:
            super().multiply(queue, asked)
            form, shape = engines.SUMS[asked.word], (asked.m, asked.n)
            c = planes.Planes(form, shape, (asked.n, 1), 0, (asked.c.buffer,), queue)
            host = c.read_dense()
            host[0][tuple(wrong)] -= bool(wrong)
            c.write(host)

    monkeypatch.setattr(engines._first, "_kept", {})
    monkeypatch.setattr(type(device), "library", lambda _: Rounding())
    monkeypatch.setattr(type(device), "library_words", Device.library_words)
    assert engines.get(device, "auto", word).name == "rounding"
    wrong += [3, 5]
    engines._first.cache_clear()
    assert engines.get(device, "auto", word).name == "portmp"


def test_clblast() -> None:
    """On an OpenCL device: matrices anywhere in memory, bits of products by slices."""
    check("clblast")
    device = discovery.get(opencl())
    library, queue, k = device.library(), device.queue, 36
    rng = np.random.default_rng(1)
    for word in device.library_words:
        left, right = rng.integers(-99, 99, (2, 7, k + 8)), rng.integers(-99, 99, (2, 5, k + 4))
        a, b = (planes.upload(engines.FACTORS[word], [x], queue) for x in (left, right))
        c = planes.upload(engines.SUMS[word], [np.zeros(3 + 2 * 7 * 6)], queue)
        asked = Multiplication(
            word,
            7,
            5,
            k,
            Rows(a.buffers[0], k + 8, 4, 7 * (k + 8)),
            Rows(b.buffers[0], k + 4, 0, 5 * (k + 4)),
            Rows(c.buffers[0], 6, 3, 7 * 6),
            2,
        )
        library.multiply(queue, asked)
        got = c.read_dense()[0]
        want = left[:, :, 4 : k + 4] @ right[:, :, :k].transpose(0, 2, 1)
        assert np.array_equal(got[3:].reshape(2, 7, 6)[:, :, :5], want)
        assert not got[:3].any() and not got[3:].reshape(2, 7, 6)[:, :, 5].any()
        library.axpy(queue, word, 10, -2.0, Rows(a.buffers[0], 1, 3), Rows(c.buffers[0], 1, 5))
        assert np.array_equal(c.read_dense()[0][5:15], got[5:15] - 2 * left.ravel()[3:13])
        x, y = pair("dd", 20, 20, 30, device)
        one, other = (Ozaki1(word=word, engine=e) for e in ("library", "own"))
        assert bits(mp.gemm(x, y, method=one)) == bits(mp.gemm(x, y, method=other))
    with pytest.raises(BackendUnavailable, match="opencl multiply float32, float64 only, not int8"):
        engines.get(device, "library", "int8")
    assert isinstance(engines.get(device, "auto", "float64"), engines.Own)


def test_clblast_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyclblast is given for each matrix of a batch; its failures are DeviceErrors."""
    calls: list[dict[str, Any]] = []

    def product(*arguments: Any, **places: Any) -> None:
        calls.append({"arguments": arguments[1:4] + arguments[7:], **places})
        if len(calls) > 2:
            raise RuntimeError("PyCLBlast: invalid kernel")

    given: list[tuple[Any, ...]] = []
    fake = stub(gemm=product, gemv=lambda *words, **starts: given.append((words[1:], starts)))
    monkeypatch.setitem(sys.modules, "pyclblast", fake)
    arrays = stub(Array=lambda *_, data: data)
    monkeypatch.setitem(sys.modules, "pyopencl", stub(array=arrays))
    rows = [Rows(stub(mem=i), 10 + i, i, 100 * i) for i in range(3)]
    library = clblast.Clblast()
    library.multiply(stub(queue=object()), Multiplication("float64", 5, 6, 7, *rows, 2))
    assert calls[1] == {
        "arguments": (5, 6, 7, 10, 11, 12),
        "b_transp": True,
        "a_offset": 0,
        "b_offset": 101,
        "c_offset": 202,
    }
    library.gemv(stub(queue=object()), "float64", 5, 6, *rows)
    starts = {"a_offset": 0, "x_offset": 1, "y_offset": 2}
    assert given == [((5, 6, 0, 1, 2, 10), starts)]
    with pytest.raises(DeviceError, match="CLBlast: PyCLBlast: invalid kernel"):
        library.multiply(stub(queue=object()), Multiplication("float64", 5, 6, 7, *rows))
    with pytest.raises(ArgumentError, match="of another platform"):
        library.multiply(stub(), Multiplication("float64", 5, 6, 7, *rows))


def test_library_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status is a DeviceError in words; other platforms' memory is refused."""
    failing: Any = Recorder(15)
    blas = BlasLibrary(cublas.CUBLAS, failing, stub(current=lambda: None))
    with pytest.raises(ArgumentError, match="of another platform"):
        blas.multiply(stub(stream=9), Multiplication("int8", 1, 1, 4, *[Rows(stub(), 4)] * 3))
    monkeypatch.setattr(blas_library, "GpuQueue", Stub)
    monkeypatch.setattr(blas_library, "GpuBuffer", Stub)
    with pytest.raises(DeviceError, match="cuBLAS: cublasCreate_v2: not supported"):
        rows = [Rows(stub(pointer=1), 4)] * 3
        blas.multiply(stub(stream=9), Multiplication("int8", 1, 1, 4, *rows))
