"""Products that judge each element: bits of the host's, of no neighbours, and the direct bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq
from operands import rationals
from slow import TWICE, first_device, mostly_slow, on_two_devices, slow

import portmp as mp
from portmp import definition, formats
from portmp.backends.base import Device, Multiplication, Queue
from portmp.errors import ArgumentError, OutOfMemory, ShapeError
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.ozaki import judged, levels, reference, residues, systems
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.launch import Way
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.products import engines
from portmp.routines.products.product import Product
from portmp.routines.triangular import launch as triangular
from portmp.runtime import planes
from portmp.verify import cases as verify

Host = list[np.ndarray[Any, Any]]
FORMATS = ["ds", "ts", "qs", "dd", "td", "qd", "d+s"]
WHY = "levels differ by their bits and margins alone"
ANY = Auto(smallest=1)


def array(form: str, host: Host, device: Device) -> mp.Array:
    return mp.Array(planes.upload(formats.get(form), host, device.queue))


def bits(x: mp.Array | Host) -> str:
    """A digest of all limbs."""
    return verify.digest(x.to_limbs() if isinstance(x, mp.Array) else x)


def spread(orders: float, density: float = 1.0) -> Callable[[Format, tuple[int, int], str], Host]:
    """Entries over so many binary orders, of which a share is zero."""

    def made(form: Format, shape: tuple[int, int], seed: str) -> Host:
        host = inputs.ordinary(form, shape, seed)
        random = np.random.default_rng(len(seed) + shape[0])
        scale = np.exp2(np.round(random.uniform(-orders, 0, shape)))
        scale *= random.random(shape) < density
        return [(p * scale).astype(p.dtype) for p in host]

    return made


def triangles(form: Format, shape: tuple[int, int], seed: str) -> Host:
    return [np.tril(p) for p in inputs.ordinary(form, shape, seed)]


def one_large(form: Format, shape: tuple[int, int], seed: str) -> Host:
    """A row whose largest entry is far above all others, which meets a zero in ``meeting``."""
    host = spread(3)(form, shape, seed)
    for p in host:
        p[:, 3] *= p.dtype.type(2.0**40)
    return host


Kind = Callable[[Format, tuple[int, int], str], Host]
KINDS: dict[str, Kind] = {
    "ordinary": inputs.ordinary,
    "spread": spread(9),
    "far": spread(45),
    "sparse": spread(45),
    "triangles": triangles,
    "one large": one_large,
}


SECOND: dict[str, Kind] = {**KINDS, "sparse": spread(9, 0.3)}
"""Of columns, where they are of another kind than rows."""


def factors(form: Format, kind: str, m: int = 9, k: int = 70, n: int = 11) -> tuple[Host, Host]:
    """Of one kind; sums cancel in part, and the large entry of a row meets a zero."""
    a = KINDS[kind](form, (m, k), f"a {kind}")
    b = [p.T.copy() for p in SECOND[kind](form, (n, k), f"b {kind}")]
    for limb, p in enumerate(a):
        p[: m // 2, 40:60] = p[: m // 2, 20:40] * (1 if limb < form.limbs - 1 else -1)
    for q in b:
        q[40:60] = -q[20:40]
        if kind == "one large":
            q[3, ::2] = 0
    return a, b


@cache
def of_the_host(name: str, kind: str) -> tuple[str, str]:
    """Digests of products, the second with alpha, beta and an addend."""
    form = formats.get(name)
    a, b = factors(form, kind)
    return bits(levels.product(form, a, b)), bits(levels.product(form, a, b, *ends(form)))


def ends(form: Format) -> tuple[list[Any], list[Any], Host]:
    """alpha, beta and an addend."""
    alpha, beta = ([p[0] for p in inputs.ordinary(form, (1,), seed)] for seed in ("x", "y"))
    return alpha, beta, inputs.ordinary(form, (9, 11), "c")


@slow(
    WHY,
    unless=lambda p: (
        (p["name"] in ("dd", "ts") and p["every_device"] == first_device())
        or (p["name"], p["kind"]) == ("dd", "far")
    ),
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_bits_are_the_hosts(every_device: Device, name: str, kind: str) -> None:
    """Of all levels, with alpha and beta and an addend in the output's memory, by columns too."""
    form = formats.get(name)
    a, b = factors(form, kind)
    alpha, beta, c = ends(form)
    left, right = (array(name, host, every_device) for host in (a, b))
    wanted = of_the_host(name, kind)
    assert bits(mp.gemm(left, right, method=ANY)) == wanted[0]
    out = array(name, [p.T.copy() for p in c], every_device).T
    scalars = [mp.from_limbs([np.asarray(p) for p in v], form, every_device) for v in (alpha, beta)]
    given = {"alpha": scalars[0], "beta": scalars[1], "c": out, "out": out}
    assert bits(mp.gemm(left, right, method=ANY, **given)) == wanted[1]


def test_kinds_have_all_levels() -> None:
    form = formats.get("dd")
    found = {kind: set(np.unique(levels.judged(form, *factors(form, kind)))) for kind in KINDS}
    assert found["ordinary"] == {1}
    assert found["spread"] == {1, 2} and 0 in found["far"]
    assert set().union(*found.values()) == {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_no_element_is_worse_than_a_direct_one_may_be(name: str, kind: str) -> None:
    """c u^N T of the format that the direct product computes in, and 2 u^N of the result."""
    form = formats.get(name)
    a, b = factors(form, kind)
    chosen, got = levels.judged(form, a, b), rationals(levels.product(form, a, b))
    left, right = rationals(a), rationals(b)
    unit = mpq(2) ** (levels.DIRECT[form.compute.limbs - 1] - form.compute.bits)
    exact = left @ right
    allowed = unit * (abs(left) @ abs(right)) + mpq(2, 2**form.bits) * abs(exact)
    assert ((abs(got - exact) <= allowed) | (chosen == 0)).all()


@pytest.mark.parametrize("name", mostly_slow(["dd", "ts", "qd"], ("dd",), WHY))
def test_elements_depend_on_nothing_else(device: Device, name: str) -> None:
    """A row, a column, a tile, a batch's member computed alone have the bits of the whole."""
    form = formats.get(name)
    parts = [factors(form, kind) for kind in ("ordinary", "spread", "far")]
    a = array(name, [np.concatenate(p) for p in zip(*(a for a, _ in parts), strict=True)], device)
    b = array(name, [np.hstack(p) for p in zip(*(b for _, b in parts), strict=True)], device)
    whole = mp.gemm(a, b, method=ANY)
    for rows, columns in ((slice(4, 5), slice(0, 33)), (slice(0, 27), slice(30, 31))):
        alone = mp.gemm(a[rows], b[:, columns], method=ANY)
        assert bits(alone) == bits(whole[rows, columns])
    tile = mp.gemm(a[7:20], b[:, 10:25], method=Auto(smallest=1, workspace=1 << 21))
    assert bits(tile) == bits(whole[7:20, 10:25])
    stack = mp.stack([a, -a])
    assert bits(mp.gemm(stack, b, method=ANY)[1]) == bits(-whole)


def test_blocks_of_a_small_workspace(device: Device) -> None:
    a, b = (array("dd", host, device) for host in factors(formats.get("dd"), "spread", 70, 70, 90))
    few = Auto(smallest=1, workspace=1 << 21)
    assert bits(mp.gemm(a, b, method=few)) == bits(mp.gemm(a, b, method=ANY))


@slow(TWICE, unless=on_two_devices(1))
@pytest.mark.parametrize("name", ["dd", "ts"])
def test_special_values(every_device: Device, name: str) -> None:
    """Infinities and NaN, zeros, the ends of the range: as the host has them."""
    form = formats.get(name)
    a, b = factors(form, "spread")
    tiny, large = float(np.finfo(form.word).smallest_subnormal), float(np.finfo(form.word).max)
    for p in (*a, *b):
        p[1] = 0
    a[0][0, 5], a[0][2, 7], a[0][4] = np.inf, np.nan, 0
    b[0][5, 0], b[0][7, 3] = -np.inf, np.nan
    for p in a[1:]:
        p[[0, 2, 4]] = 0
    for p in b[1:]:
        p[[5, 7]] = 0
    for p, x in ((a, tiny), (b, tiny), (a, large / 2**80)):
        p[0][6 if x == tiny else 7, ::3] = x
        for q in p[1:]:
            q[6 if x == tiny else 7, ::3] = 0
    left, right = (array(name, host, every_device) for host in (a, b))
    assert bits(mp.gemm(left, right, method=ANY)) == bits(levels.product(form, a, b))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"smallest": 0}, "smallest: 0 given, 1 to"),
        ({"smallest": "few"}, "smallest: 'few' given, a number"),
        ({"engine": "fast"}, "engine: 'fast' given"),
        ({"workspace": -1}, "workspace: -1 given, a positive number"),
        ({"workspace": "1 GB"}, "workspace: '1 GB' given"),
        ({"beyond": (2, -1)}, "beyond: -1 given, 0 to"),
        ({"beyond": [2]}, r"beyond: \[2\] given, a tuple"),
        ({"beyond": ()}, r"beyond: \(\) given, a tuple"),
    ],
)
def test_options(options: dict[str, Any], message: str, device: Device) -> None:
    a = mp.ones((9, 9), "dd", device)
    with pytest.raises(ArgumentError, match=message):
        mp.gemm(a, a, method=Auto(**options))


def test_what_waits_for_levels(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long products, all of CPUs, and with an addend in the output's memory: the same bits."""
    form = formats.get("dd")
    for kind in ("ordinary", "spread", "far", "one large"):
        a, b = (array("dd", host, device) for host in factors(form, kind))
        found = set()
        for least in (0, 2**60):
            monkeypatch.setattr(judged, "LONG", dict.fromkeys(judged.LONG, least))
            found.add(bits(mp.gemm(a, b, method=ANY)))
        assert found == {bits(levels.product(form, *factors(form, kind)))}, kind


def test_a_device_without_float64(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (array("ts", host, device) for host in factors(formats.get("ts"), "ordinary"))
    monkeypatch.setattr(device, "properties", replace(device.properties, float64=False))
    with pytest.raises(ArgumentError, match=r"needs float64 .* has none; .*method='direct'"):
        mp.gemm(a, b, method=ANY)


def test_sizes_that_are_judged(device: Device) -> None:
    """By rows, columns and steps alone; direct below, and where a direct product is asked for."""
    least = definition.JUDGED["float64"][1]
    dd = formats.get("dd")
    assert levels.judges(dd, least, least, least)
    assert not any(
        levels.judges(dd, *s) for s in ((least - 1, 9999, 9999), (9999, 9999, least - 1))
    )
    assert not levels.judges(formats.get("float64"), 9999, 9999, 9999, 1)
    a, b = (array("dd", host, device) for host in factors(dd, "spread"))
    direct = bits(mp.gemm(a, b))
    assert bits(mp.gemm(a, b, method="auto")) == direct != bits(mp.gemm(a, b, method=ANY))
    assert bits(mp.gemm(a, b, method=Auto(smallest=12))) == direct
    old = a.astype("dd2011")
    assert bits(mp.gemm(old, old.T, method=ANY)) == bits(mp.gemm(old, old.T))
    one = a.astype("float64")
    assert bits(mp.gemm(one, one.T, method=ANY)) == bits(mp.gemm(one, one.T))
    with pytest.raises(ShapeError):
        mp.gemm(a, a, method=ANY)
    fast = bits(mp.gemm(a, b, method="direct", accuracy="fast"))
    assert bits(mp.gemm(a, b, method=ANY, accuracy="fast")) == fast
    assert mp.gemm(a[:0], b, method=ANY).shape == (0, 11)
    assert bits(mp.gemm(a[:, :0], b[:0], method=ANY)) == bits(mp.zeros((9, 11), "dd", device))


def test_a_library_multiplies_in_plans(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is noted of it is done again with other memory."""
    a, b = (array("dd", host, device) for host in factors(formats.get("dd"), "ordinary"))
    wanted, calls = bits(mp.gemm(a, b, method=ANY)), []

    class Library(engines.Own):
        launches = False

        def multiply(self, queue: Queue, asked: Multiplication) -> None:
            calls.append(asked)
            super().multiply(queue, asked)

    monkeypatch.setattr(engines, "get", lambda *_: Library())
    monkeypatch.setattr(a.queue, "plans", None)
    found = [mp.gemm(a.copy(), b, method=ANY) for _ in range(3)]
    assert {bits(one) for one in found} == {wanted} and len(calls) == 6


@pytest.mark.parametrize("name", FORMATS)
def test_systems_of_levels(name: str) -> None:
    """So many bits and no more; digits are those of any moduli that hold the sums."""
    form = formats.get(name)
    for more in (*definition.BEYOND, *definition.BEYOND_FACTORS):
        for k in (1, 1000, 2**17, 2**20):
            found = levels.system(form, more, k)
            assert found.bits == form.compute.bits + more
            other = systems.wide(found, k)
            assert other.digits == found.digits
            held = 497 * found.product // 1000
            assert held >= systems.counted(k) << 2 * found.bits
            assert found.product.bit_length() <= systems.DIGIT * found.digits


def test_it_is_the_default(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all products of matrices that are large enough; bounds hold, and change no bits."""
    monkeypatch.setattr(definition, "JUDGED", dict.fromkeys(("float32", "float64"), (0, 9, 9, 9)))
    a, b = (array("dd", host, device) for host in factors(formats.get("dd"), "far"))
    wanted = bits(mp.gemm(a, b, method=ANY))
    assert wanted != bits(mp.gemm(a, b, method="direct"))
    for made in (a @ b, mp.gemm(a, b), mp.matmul(a, b), mp.tensordot(a, b, 1)):
        assert bits(made) == wanted
    square = (a @ a.T)[:9, :9]
    assert bits(mp.linalg.matrix_power(square, 2)) == bits(mp.gemm(square, square, method=ANY))
    exact = mp.gemm(a, b, rounding="correct")
    for bound in (True, "tight", "normwise"):
        c = mp.ones((9, 11), "dd", device)
        value, error = mp.gemm(a, b, bound=bound)
        assert bits(value) == wanted
        away = np.abs((value - exact).to_float64())
        rounding = np.abs(exact.to_float64()) * 2.0**-105
        assert (away <= error.to_float64() + rounding).all()
        value, error = mp.gemm(a, b, beta=1, c=c, out=c, bound=bound)
        assert bits(value) == bits(c) == bits(mp.gemm(a, b, beta=1, c=mp.ones_like(c), method=ANY))


@pytest.mark.parametrize("name", mostly_slow(FORMATS, ("dd", "ts"), WHY))
def test_few_direct_elements_are_made_by_their_list(
    device: Device, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over several slabs, with infinities and where sums overflow; a longer list is not taken."""
    form, k = formats.get(name), 2100
    a, b = inputs.ordinary(form, (9, k), "a"), inputs.ordinary(form, (k, 7), "b")
    large = float(np.finfo(form.word).max) / 8
    # A row over all orders; its entries that are not small meet the small ones of a column.
    for i, (p, q) in enumerate(zip(a, b, strict=True)):
        p[2] *= p.dtype.type(2.0**-60)
        p[2, 5], q[5, 3] = (1, 0) if i == 0 else (0, 0)
        p[4, ::2], q[::2, 6] = (large, 4) if i == 0 else (0, 0)
        p[4, 1::2], q[1::2, 6] = (2.0**-90, 1) if i == 0 else (0, 0)
    left, right = array(name, a, device), array(name, b, device)
    beyond = (2,)
    chosen = levels.judged(form, a, b, beyond)
    assert 0 < (chosen == 0).sum() < 64 and chosen[2, 3] == 0
    wanted = bits(levels.product(form, a, b, beyond=beyond))
    listed = bits(mp.gemm(left, right, method=Auto(smallest=1, beyond=beyond)))
    monkeypatch.setattr(judged.elements, "FEWEST", 1)
    assert wanted == listed == bits(mp.gemm(left, right, method=Auto(smallest=1, beyond=beyond)))


SYSTEMS: dict[str, Callable[[mp.Array, mp.Array], Any]] = {
    "lu": lambda a, b: mp.linalg.lu(a, method="auto"),
    "cholesky": lambda a, b: mp.linalg.cholesky(mp.linalg.syrk(a), method="auto"),
    "qr": lambda a, b: mp.linalg.qr(a, method="auto"),
    "solve": lambda a, b: mp.linalg.solve(a, b, method="auto"),
    "inv": lambda a, b: mp.linalg.inv(a, method="auto"),
    "triangular": lambda a, b: mp.linalg.solve_triangular(a, b, lower=True, method="auto"),
    "product": lambda a, b: mp.linalg.trmm(a, b, lower=True, method="auto"),
    "square": lambda a, b: mp.linalg.syrk(a, method="auto"),
}


@pytest.mark.parametrize("kind", ["ordinary", "far"])
@pytest.mark.parametrize("name", mostly_slow(["dd", "ts", "qd"], ("dd",), WHY))
def test_factorisations_hope_that_no_elements_are_left(
    device: Device, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not wait for products, and is done again where some are left, has the same bits."""
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(definition, "MANY", (1,) * 4)
    form = formats.get(name)
    a, b = (array(name, KINDS[kind](form, s, str(s)), device) for s in ((70, 70), (70, 24)))
    again: list[int] = []
    rest = judged._made_again
    monkeypatch.setattr(judged, "_made_again", lambda *given: (again.append(1), rest(*given)))
    for what, call in SYSTEMS.items():
        found = set()
        for hoped in (lambda *_: False, triangular._hoped, triangular._hoped):
            with monkeypatch.context() as patch:
                patch.setattr(triangular, "_hoped", hoped)
                made = call(a, b)
            all_of = made if isinstance(made, tuple) else (made,)
            found.add("".join([bits(x) for x in all_of if isinstance(x, mp.Array)]))
        assert len(found) == 1, what
    assert bool(again) == (kind == "far")


@cache
def of_wide_moduli(name: str, kept: int | None, k: int) -> str:
    """The digest of the host's product."""
    form = formats.get(name)
    a, b = inputs.ordinary(form, (9, k), "a"), inputs.ordinary(form, (k, 7), "b")
    return bits(reference.product(form, systems.system(form, k, None, kept), a, b))


@slow(TWICE, unless=on_two_devices(0))
@pytest.mark.parametrize(
    ("name", "kept", "k"),
    mostly_slow(
        [("qd", None, 70), ("qd", None, 5000), ("td", 175, 70), ("qd", 225, 300)],
        (("qd", None, 5000), ("td", 175, 70)),
        WHY,
    ),
)
def test_squares_of_moduli(
    every_device: Device, name: str, kept: int | None, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where 49 moduli are too few some count twice: bits of the wide ones, in parts, too."""
    if every_device.by_reference:
        pytest.skip("the device runs no kernels")
    form = formats.get(name)
    found = systems.system(form, k, None, kept)
    assert isinstance(found, systems.WideSystem)
    numbers = systems.squared(found, k)
    assert isinstance(numbers, systems.ResidueSystem) and numbers.squares
    assert math.gcd(*numbers.moduli) == 1 and numbers.product * 497 >= 1000 * k << 2 * found.bits
    a, b = inputs.ordinary(form, (9, k), "a"), inputs.ordinary(form, (k, 7), "b")
    wanted = of_wide_moduli(name, kept, k)
    left, right = (array(name, host, every_device).planes for host in (a, b))
    engine = engines.get(every_device, "own", "int8")
    for longest in (residues.SQUARES_DEPTH, 64):
        monkeypatch.setattr(residues, "SQUARES_DEPTH", longest)
        out = planes.allocate(form, (9, 7), every_device.queue)
        one, zero = (base.scalar_limbs(form, number, "alpha") for number in (1, 0))
        way = Way(residues.Residues(numbers), engine)
        ozaki.update(Product(left, right, one, zero, out, out), way)
        assert bits(mp.Array(out)) == wanted


def test_factorisations_in_little_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit in one go is done product by product, from the matrix as it was."""
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(definition, "MANY", (1,) * 4)
    a = array("dd", inputs.ordinary(formats.get("dd"), (70, 70), "a"), device)
    wanted = bits(mp.linalg.lu_factor(a).lu)

    def full(*given: Any, **more: Any) -> None:
        raise OutOfMemory("none left")

    monkeypatch.setattr(judged, "_attempt", full)
    monkeypatch.setattr(a.queue, "plans", None)
    assert bits(mp.linalg.lu_factor(a.copy(), overwrite_a=True).lu) == wanted


def test_parts_of_longer_work_tell_its_own_memory(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That elements are left is told to the call that asks, whichever one planned such systems."""
    monkeypatch.setattr(triangular, "PLANNED", 64)
    n, method, rng = 160, Auto(smallest=8), np.random.default_rng(1)

    def wild(*shape: int) -> Any:
        return rng.standard_normal(shape) * 2.0 ** rng.integers(-40, 41, shape)

    a = mp.array(np.triu(wild(n, n), 1) + 2.0**60 * np.eye(n), "dd", device)
    b = mp.array(wild(n, 40), "dd", device)
    tame, whole = (mp.array(rng.standard_normal((n + k, n + k)), "dd", device) for k in (0, 16))
    for other in (tame, tame.mT):
        mp.linalg.solve(other, b, method=method)
    whole[:n, :n] = a
    found = mp.linalg.solve(whole[:n, :n], b, method=method)
    assert bits(found) == bits(mp.linalg.solve(a.to("host"), b.to("host"), method=method))


@pytest.mark.parametrize("name", ["solve_triangular", "trmm", "solve", "cholesky"])
def test_options_that_are_none(name: str, device: Device) -> None:
    """They are refused in words where no product is large enough to ask for them."""
    a = mp.eye(5, dtype="dd", device=device)
    function = getattr(mp.linalg, name)
    given = (a,) if name == "cholesky" else (a, a)
    wrong: Any = [1]
    bad = Auto(engine="bad"), Auto(workspace=wrong), Ozaki2(engine=wrong), Ozaki1(bits=wrong)
    for method in bad:
        with pytest.raises(ArgumentError, match="given"):
            function(*given, method=method)


PLANNED: dict[str, tuple[int, int, Callable[[mp.Array, mp.Array], Any]]] = {
    "qr": (96, 96, lambda a, b: mp.linalg.qr(a)),
    "qr of many rows": (150, 60, lambda a, b: mp.linalg.qr(a)),
    "lu of many columns": (60, 150, lambda a, b: mp.linalg.lu(a)),
    "solve of many": (64, 64, mp.linalg.solve),
    "lstsq": (96, 64, lambda a, b: mp.linalg.lstsq(a, b)[0]),
    "svd": (90, 80, lambda a, b: mp.linalg.svd(a)),
    "cholesky": (96, 96, lambda a, b: mp.linalg.cholesky(mp.linalg.syrk(a))),
}


@pytest.mark.parametrize("what", PLANNED)
def test_no_plan_holds_products_that_read(
    device: Device, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the products is the largest, and whichever is large enough to be judged."""
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    m, n, call = PLANNED[what]
    a = array("ds", inputs.ordinary(formats.get("ds"), (m, n), what), device)
    b = array("ds", inputs.ordinary(formats.get("ds"), (m, 300), "b"), device)
    for least in (2**15, 2**17, 2**18, 300_000, 500_000, 2**20, 2**21):
        monkeypatch.setattr(definition, "MANY", (least,) * 4)
        call(a, b)
