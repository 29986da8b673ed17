"""Complex products by residues: two or three integer products of a modulus, the bits of four."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow
from tiers import check

import portmp as mp
from portmp import formats
from portmp.arrays.viewed import wrapped
from portmp.backends.base import Device
from portmp.codegen import kernel_spec
from portmp.compilers.select import compiler_for, platform_of
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import inputs
from portmp.routines import base
from portmp.routines.case import hostile
from portmp.routines.complexes import products
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki import levels, residues, systems
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.ozaki.systems import ComplexSystem, ResidueSystem, WideSystem
from portmp.routines.products import engines
from portmp.routines.products.product import Product
from portmp.runtime import planes
from portmp.verify import cases as verify

FORMATS = mostly_slow(formats.COMPLEX, ("complex128", "cdd"), "the same products of other parts")
HOST = "host"
INPUTS = {"ordinary": inputs.ordinary, "wide": inputs.wide, "hostile": hostile}


def matrix(form: str, name: str, shape: tuple[int, ...], seed: str, device: Device | str) -> Any:
    """Recorded inputs as both parts; with zeros and an infinity in two rows where hostile."""
    f, queue = formats.get(form), mp.zeros((1,), form, device).queue
    draw = inputs.ordinary if name == "some special" else INPUTS[name]
    parts = [draw(f.component, shape, f"{seed} {part}") for part in "ri"]
    found = mp.Array(planes.upload(f, [plane for part in parts for plane in part], queue))
    if name == "some special":
        found[1, 2], found[3, 4] = complex(math.inf, 1), complex(-0.0, math.nan)
        found[4] = 0
    return found


def real_product(a: Any, b: Any, method: Any) -> Any:
    """The product of the real matrices [p, -q; q, p] and [r; s]."""
    rows, columns = wrapped(products.rows(a.planes)), wrapped(products.columns(b.planes))
    return mp.gemm(rows, columns, method=method)


def bits(x: Any) -> str:
    """A digest of all limbs."""
    return verify.digest(x.to_limbs())


# --- moduli -------------------------------------------------------------------------------------


def test_roots_of_minus_one() -> None:
    """Where all prime factors are 1 modulo 4, and nowhere else."""
    for m in range(3, 2000, 2):
        s = systems.root(m)
        primes = [p for p in range(3, m + 1) if m % p == 0 and all(p % q for q in range(2, p))]
        assert (s is not None) == all(p % 4 == 1 for p in primes)
        assert s is None or (s * s + 1) % m == 0


@pytest.mark.parametrize("form", formats.COMPLEX)
@pytest.mark.parametrize("depth", [2, 4096, 2**18])
def test_fewest_products_tell_sums_apart(form: str, depth: int) -> None:
    """Sums of what is multiplied give both parts back, of moduli of both kinds and of squares."""
    part = formats.get(form).component
    rng = np.random.default_rng(62)
    for given in (systems.system(part, depth), levels.system(part, 20, depth)):
        s = systems.of_complex(given, depth, True)
        wide = systems.of_complex(given, depth, False)
        assert isinstance(s, ComplexSystem) and isinstance(wide, WideSystem)
        real = given if isinstance(given, ResidueSystem) else systems.squared(given, depth)
        assert s.products < 2.7 * real.products
        assert wide.products <= 2 * systems.wide(given, depth).count + 2
        for one in (s, wide):
            assert (one.bits, one.digits) == (given.bits, given.digits)
            assert math.lcm(*one.moduli) == one.product
            assert 1000 * systems.counted(depth) * 4**one.bits <= one.product * systems.ROOM
        # Words and sums of the kernels: integers that float32 and int32 words hold.
        for m, of in s.alone:
            weights = [w >> (8 * i) & 255 for w in s.weights(m, of=of) for i in range(4)]
            assert sum(weights) * 255 + m < 2**22
        for m, of in s.digits_of:
            found = [s.weights(m * m, i, of) for i in range(2)]
            whole = [
                (w >> (8 * i) & 255) << 8 * j
                for j, f in enumerate(found)
                for w in f
                for i in range(4)
            ]
            assert sum(whole) * 255 + m * m < 2**32
        parts = [s.groups_of(1), s.groups_of(2)]
        assert sum(len(g.factors) for g in parts[0]) == s.kept
        for groups in parts:
            most = [(0.5 + off(g)) * g.product for g in groups]
            assert max(most) < 2**31
            multiples = sum(n / g.product for n, g in zip(most, groups, strict=True)) + 1
            assert (sum(most) + multiples + 1) * 2**systems.PLACE + 2**systems.DIGIT < 2**53
        a, b, c, d = (int.from_bytes(rng.bytes(s.bits // 8), "big") for _ in range(4))
        signs = (a, -b), (c, d)
        sums = sums_of(s, *signs)
        for groups, want in zip(parts, (a * c + b * d, a * d - b * c), strict=True):
            left, made = list(sums), 0
            for group in groups:
                factors = group.factors
                made += sum(x * f for x, f in zip(left, factors, strict=False)) * group.others
                del left[: len(factors)]
            assert not left and (made - want) % s.product == 0
        for m, of in wide.multiplied:
            assert sum(map(abs, wide.weights(m, wide.inverse(m), of))) * 2**systems.HALF + m < 2**52


def off(group: systems.Group) -> float:
    """By how much shares of a group's sums, times int32 numbers, err at most."""
    wanted = Fraction(2**32, group.product)
    found = zip(group.factors, group.shares, strict=True)
    return float(sum(abs(wanted * factor - share) for factor, share in found) / 2)


def sums_of(s: ComplexSystem, left: tuple[int, int], right: tuple[int, int]) -> list[int]:
    """What kernels make of one product: for each word its sum, of a square two, in their order."""

    def words(z: tuple[int, int], m: int, of: tuple[int, ...]) -> int:
        residue = sum(f * x for f, x in zip(of, z, strict=True)) % m
        return residue - m if 2 * residue > m else residue

    alone = [words(left, m, of) * words(right, m, of) for m, of in s.alone]
    found = []
    for (root, of), beside in zip(s.digits_of, alone, strict=False):
        pairs = []
        for z in (left, right):
            r = words(z, root**2, of)
            t = (r + root // 2) % root - root // 2
            pairs.append(((r - t) // root, t))
        (q, t), (u, v) = pairs
        found += [t * v, q * v + t * u, beside]
    return found + alone[len(s.digits_of) :]


def test_how_many_products() -> None:
    """What docs/benchmarks.md says of 8192 steps: four real ones, and what there is."""
    counts = {}
    for form, method in (("complex128", None), ("cdd", 2), ("ctd", 2), ("cqd", 2)):
        part = formats.get(form).component
        depth = 2 * 8192
        given = levels.system(part, 2, depth) if method else systems.system(part, depth)
        real = given if isinstance(given, ResidueSystem) else systems.squared(given, depth)
        found = systems.of_complex(given, depth, True)
        counts[form] = 4 * real.products, found.products
    assert counts == {
        "complex128": (60, 32),
        "cdd": (124, 75),
        "ctd": (192, 122),
        "cqd": (300, 184),
    }


# --- bits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["ordinary", "wide", "hostile", "some special"])
def test_bits_of_four_products(form: str, name: str, device: Device) -> None:
    """Of all methods, whatever the entries: infinities, NaN, zeros, sizes far apart."""
    for m, n, k in ((7, 9, 40), (6, 35, 33)):
        a = matrix(form, name, (m, k), f"a {m}", device)
        b = matrix(form, "ordinary" if "some" in name else name, (k, n), f"b {m}", device)
        for method in ("ozaki2", "ozaki1", Ozaki2(bits=80), Auto(smallest=1)):
            found = mp.gemm(a, b, method=method)
            want = real_product(a, b, method)
            assert bits(found.real) == bits(want[:m]) and bits(found.imag) == bits(want[m:])


@pytest.mark.parametrize("kind", ["bytes", "wide"])
@pytest.mark.parametrize("form", mostly_slow(formats.COMPLEX, ("cdd", "cqd"), "of other parts"))
def test_kinds_and_blocks_change_no_bits(
    form: str, kind: str, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moduli of eight bits, squares too, and wide ones; blocks of C, parts of the depth."""
    m, n, k = 40, 37, 70
    a, b = (matrix(form, "ordinary", s, str(s), device) for s in ((m, k), (k, n)))
    want = bits(real_product(a, b, "ozaki2"))
    part = a.format.component
    given = systems.of_complex(systems.system(part, 2 * k), 2 * k, kind == "bytes")
    rows, columns = products.rows(a.planes), products.columns(b.planes)

    def scheme() -> residues.Scheme:
        if isinstance(given, WideSystem):
            return residues.WideResidues(given, device)
        return residues.Residues(given)

    def by(limit: int | None = None) -> str:
        out = mp.zeros((2 * m, n), part.name, device)
        one, zero = (base.scalar_limbs(part, v, "alpha") for v in (1, 0))
        asked = Product(rows, columns, one, zero, out.planes, out.planes)
        ozaki.update(asked, ozaki.Way(scheme(), engines.Own(), limit))
        return bits(out)

    little = ozaki.bytes_of(scheme(), k) * 3 // 2
    assert ozaki.blocks(scheme(), m, n, k, little) != ozaki.blocks(scheme(), m, n, k, 2**40)
    assert by() == want and by(little) == want
    for kinds in (residues.Residues, residues.WideResidues):
        monkeypatch.setattr(kinds, "longest", 48)
    monkeypatch.setattr(residues, "SQUARES_DEPTH", 48)
    assert by() == want


def test_elements_of_other_levels(device: Device) -> None:
    """Rows and columns of these are made again, also where of a number one part alone is such."""
    a, b = (matrix("cdd", "ordinary", s, f"levels {s}", device) for s in ((9, 40), (40, 11)))
    a.real[::3, 0], a.imag[::3, 0] = 2.0**12, 2.0**-12
    b.real[0], b.imag[0] = 2.0**-8, 2.0**4
    rows, columns = (x.read_dense() for x in (products.rows(a.planes), products.columns(b.planes)))
    level = levels.judged(a.format.component, rows, columns)
    assert (level[:9:3] == 0).all() and (level[9::3] == 2).all()
    found = mp.gemm(a, b, method=Auto(smallest=1))
    told = mp.last_product()
    assert told and (told.format, told.shape, told.steps) == ("cdd", (9, 11), 40)
    want = real_product(a, b, Auto(smallest=1))
    assert bits(found.real) == bits(want[:9]) and bits(found.imag) == bits(want[9:])


def test_a_product_of_the_default_size(device: Device) -> None:
    """By default from the real formats' sizes on; also of a matrix whose rows are far apart."""
    n = 320
    a, b = (matrix("ctd", "ordinary", (n, n), name, device) for name in "ab")
    a = a * mp.array([[2.0**-60 if i % 5 else 1] for i in range(n)], "td", device)
    found = a @ b
    want = real_product(a, b, Auto())
    assert bits(found.real) == bits(want[:n]) and bits(found.imag) == bits(want[n:])


@pytest.mark.parametrize("arch", ["sm_90", "gfx90a"])
@pytest.mark.parametrize("form", mostly_slow(formats.COMPLEX, ("complex64",), "the same text"))
def test_kernels_compile(form: str, arch: str) -> None:
    """For the vendors' GPUs, without one; what cuts a matrix of either order, and rebuilds."""
    check("nvrtc" if arch.startswith("sm") else "clang")
    on = platform_of(arch)
    units = residues.of_complex(formats.get(form).component, None)
    assert len(units) == 3
    for unit in units.values():
        source = kernel_spec.rendered(unit, on)
        assert compiler_for(on, arch)[0].compile(source.text, arch)


# --- Hermitian rank updates ---------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("lower", [False, True])
def test_herk_is_a_triangle_of_gemm(form: str, lower: bool) -> None:
    """The elements of gemm's product, a diagonal without imaginary part, zeros beyond."""
    a, c = (matrix(form, "ordinary", s, f"herk {s}", HOST) for s in ((5, 8), (5, 5)))
    cut = mp.tril if lower else mp.triu
    found = mp.linalg.herk(a, lower=lower)
    want = mp.gemm(a, a, trans_b="C")
    k = -1 if lower else 1
    assert bits(found.real) == bits(cut(want.real)) and bits(found.imag) == bits(cut(want.imag, k))
    whole = found + mp.conj(cut(found, k)).mT
    assert bool((whole == mp.conj(whole).mT).all()) and not mp.diag(whole).imag.any()
    turned = mp.linalg.herk(mp.conj(a).mT, trans=True, lower=lower)
    assert bits(turned) == bits(found)
    ended = mp.linalg.herk(a, alpha="0.5", beta=2, c=c, lower=lower)
    want = mp.gemm(a, a, trans_b="C", alpha="0.5", beta=2, c=c)
    assert bits(ended.real) == bits(cut(want.real)) and bits(ended.imag) == bits(cut(want.imag, k))
    other = c.copy()
    assert mp.linalg.herk(a, c=other, lower=lower, overwrite_c=True) is other
    rest = mp.triu(c, 1) if lower else mp.tril(c, -1)
    assert bits(other) == bits(rest + found) and bits(found) == bits(cut(other))


@pytest.mark.parametrize("form", FORMATS)
def test_her2k(form: str) -> None:
    """x + x^H of gemm's x, exactly Hermitian; stacks and both triangles."""
    a, b = (matrix(form, "ordinary", (5, 8), f"her2k {n}", HOST) for n in "ab")
    found = mp.linalg.her2k(a, b, alpha=2 - 1j)
    x = mp.gemm(a, b, trans_b="C", alpha=2 - 1j)
    assert bool((found.real == mp.triu(x.real + x.real.mT)).all())
    assert bool((found.imag == mp.triu(x.imag - x.imag.mT, 1)).all())
    lower = mp.linalg.her2k(a, b, alpha=2 - 1j, lower=True)
    assert bool((lower == mp.conj(found).mT).all())
    turned = mp.linalg.her2k(*(mp.conj(y).mT for y in (a, b)), alpha=2 - 1j, trans=True)
    assert bits(turned) == bits(found)
    stack = mp.stack([a, b])
    assert bits(mp.linalg.herk(stack)[1]) == bits(mp.linalg.herk(b))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("lower", [False, True])
def test_syrk_is_a_triangle_of_gemm(form: str, lower: bool) -> None:
    """a a^T, whose diagonal is complex, by complex factors; stacks, and in c's memory."""
    a, c = (matrix(form, "ordinary", s, f"syrk {s}", HOST) for s in ((5, 8), (5, 5)))
    cut, ends = (mp.tril if lower else mp.triu), {"alpha": 2 - 1j, "beta": 1j}
    found = mp.linalg.syrk(a, lower=lower)
    assert bits(found) == bits(cut(mp.gemm(a, a, trans_b="T")))
    ended = mp.linalg.syrk(a.mT, c=c, lower=lower, trans=True, **ends)
    assert bits(ended) == bits(cut(mp.gemm(a, a, trans_b="T", c=c, **ends)))
    assert bits(mp.linalg.syrk(mp.stack([a, c @ a]), lower=lower)[0]) == bits(found)
    other, rest = c.copy(), mp.triu(c, 1) if lower else mp.tril(c, -1)
    assert mp.linalg.syrk(a, c=other, lower=lower, overwrite_c=True) is other
    assert bits(other) == bits(rest + found)
    with pytest.raises(ArgumentError, match="syrk: trans 'C' given, of complex numbers herk"):
        mp.linalg.syrk(a, trans="C")


def test_herk_of_many_rows(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of rows have the elements of the whole, which its size says how to make."""
    from portmp import definition
    from portmp.linalg import hermitian

    monkeypatch.setattr(hermitian, "ROWS", 16)
    monkeypatch.setitem(definition.JUDGED, "float64", (32,) * 4)
    a = matrix("cdd", "ordinary", (40, 33), "rows", device)
    for lower, cut in ((False, mp.triu), (True, mp.tril)):
        found = mp.linalg.herk(a, lower=lower)
        assert bits(found.real) == bits(cut((a @ mp.conj(a).mT).real))


def test_what_hermitian_updates_refuse() -> None:
    """As syrk does: by the argument's name, what was given, what is needed."""
    a, c = (matrix("cdd", "ordinary", s, "refused", HOST) for s in ((3, 4), (3, 3)))
    with pytest.raises(ArgumentError, match="herk: beta is not 0 but c is missing"):
        mp.linalg.herk(a, beta=1)
    with pytest.raises(ArgumentError, match="her2k: overwrite_c is given but c is missing"):
        mp.linalg.her2k(a, a, overwrite_c=True)
    with pytest.raises(ArgumentError, match="herk: alpha: 1j given, a real number"):
        mp.linalg.herk(a, alpha=1j)
    with pytest.raises(ShapeError, match=r"herk: c \(2, 3\) given"):
        mp.linalg.herk(a, beta=1, c=c[:2])
    with pytest.raises(ShapeError, match=r"her2k: a \(3, 4\) and b \(3, 3\)"):
        mp.linalg.her2k(a, c)
    with pytest.raises(ShapeError, match="herk: a needs two axes"):
        mp.linalg.herk(a[0])
    with pytest.raises(ArgumentError, match="method"):
        mp.linalg.herk(a, method="ozaki3")
    real = mp.linalg.herk(a.real)
    assert bool((real.real == mp.linalg.syrk(a.real)).all()) and not real.imag.any()
    assert mp.linalg.herk(a, method=Ozaki1()).shape == (3, 3)
