"""Platforms without vectors in memory: no such type in any text, and the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import tiers
from slow import mostly_slow

import portmp as mp
from portmp import discovery, formats, nbody
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.platform import OPENCL, Platform, Traits
from portmp.formats import inputs
from portmp.routines import compilation_units
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.gemm import launch as gemm
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.routines.reduce import launch as reduce
from portmp.routines.reduce.schedule import ReduceSchedule
from portmp.runtime import planes
from portmp.schedules import database
from portmp.verify import cases as verify

VECTOR = re.compile(
    r"\b(?:as_|convert_)?(u?(?:char|short|int|long)|float|double)(2|3|4|8|16)(?:_anywhere|_rt[enpz])?\b"
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SCALAR = replace(
    OPENCL,
    name="scalar",
    title="OpenCL C without vectors",
    vectors=(1,),
    memory_vectors=False,
    high_word="(int)(as_long({0}) >> 32)",
    low_word="(int)as_long({0})",
    double_of="y = as_double((long)({0}) << 32 | (unsigned)({1}));",
)
"""Words' halves are taken from long too: the usual ones are those of a vector."""

TILES = GemmSchedule(8, 8, 2, 2, vector=2, pad=2, stages=2, unroll=1)
ACROSS = TILES.for_call(a_order="m", b_order="k")
STAGED = ReduceSchedule(8, 2, 4, staged=8, elements_per_access=4)
SIDE_BY_SIDE = FlatSchedule(64, 2, elements_per_access=4)
BODIES = (
    NbodySchedule(32, 2, 32, shared=0),
    NbodySchedule(32, 1, 32, shared=1),
    NbodySchedule(32, 1, 64, shared=1, stages=2, ilp=2),
)


@pytest.fixture
def scalar(monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """The platform, known while a test runs."""
    monkeypatch.setitem(platform.PLATFORMS, SCALAR.name, SCALAR)
    yield SCALAR
    database.reload()


@pytest.fixture
def device(scalar: Platform) -> Device:
    """A CPU as a GPU of that platform: schedules are those of GPUs."""
    device = tiers.new_cpu()
    device.platform = scalar.name
    device.properties = replace(device.properties, kind="gpu")
    return device


def kernels(form: str) -> Iterator[KernelSpec]:
    """Those of a format's units, and with schedules that take neighbours at once."""
    for name in compilation_units.names(form):
        yield from compilation_units.find(form, name)
    f = formats.get(form)
    yield from (gemm.kernel_spec(form, s) for s in (TILES, ACROSS))
    if f.coded:
        access = ("value", "contiguous", "contiguous")
        yield elementwise.kernel_spec(form, "fma", access, 1, SIDE_BY_SIDE)
        yield from reduce.compilation_unit(form, "sum", ReduceSchedule(elements_per_access=4))
        yield from reduce.compilation_unit(f.arithmetic.name, "dot", STAGED, matrix=form)
    elif not f.paper:
        for s in BODIES:
            yield from gravity.compilation_unit(form, s, ("acceleration", "potential"))


def vectors(one: KernelSpec, on: str, traits: Traits | None = None) -> set[str]:
    """The types of vectors in a kernel's text; comments name formats (``float16``)."""
    text = COMMENT.sub("", one.render(on, traits).text)
    return {"".join(found) for found in VECTOR.findall(text)}


@pytest.mark.parametrize(
    "form",
    mostly_slow(
        [*formats.NAMES, *formats.STORAGE],
        ("float32", "qs", "dd", "d+s", "float16", "slfp64in48b", "tsin80b"),
        "one template for all of a kind",
    ),
)
def test_no_text_has_vectors(scalar: Platform, form: str) -> None:
    """All kernels of a format."""
    for one in kernels(form):
        assert not vectors(one, scalar.name), one.name


def test_the_usual_platforms_have_them() -> None:
    """The scan finds what it looks for."""
    for on in ("cuda", "rocm", "opencl"):
        found: set[str] = set()
        for form in ("float32", "dd", "slfp64in48b"):
            found = found.union(*(vectors(one, on) for one in kernels(form)))
        assert {"float4", "double2", "uint4", "uint2"} <= found


@pytest.mark.parametrize(
    "form",
    mostly_slow(
        ["float32", "dd", *formats.STORAGE],
        ("float32", "dd", "slfp64in56b", "tsin80b"),
        "one template for all of a kind",
    ),
)
def test_a_device_of_short_vectors(form: str) -> None:
    """A compiler that is given 64 bits at most gets no type of 16 bytes."""
    for one in kernels(form):
        assert not vectors(one, "cuda", Traits(vector_bits=64)), one.name


def array(on: Device, form: str, shape: tuple[int, ...], seed: str) -> mp.Array:
    """Ordinary numbers there."""
    f = formats.get(form)
    return mp.Array(planes.upload(f, inputs.ordinary(f, shape, seed), on.queue))


def _sums(on: Device, form: str) -> mp.Array:
    schedule = None if on.by_reference else STAGED
    matrix = array(on, form, (9, 8192 + 64), "a")
    vector = array(on, formats.get(form).arithmetic.name, (8192 + 64,), "x")
    return mp.gemv(matrix, vector, schedule=schedule)


def _product(on: Device, form: str, schedule: GemmSchedule = TILES) -> mp.Array:
    a, b = array(on, form, (36, 40), "a"), array(on, form, (40, 32), "b")
    return mp.gemm(a, b, schedule=None if on.by_reference else schedule)


def _turned(on: Device, form: str) -> mp.Array:
    a, b = array(on, form, (40, 36), "a"), array(on, form, (32, 40), "b")
    return mp.gemm(a.T, b.T, schedule=None if on.by_reference else TILES)


def _copied(on: Device, form: str) -> mp.Array:
    x, y = array(on, form, (1003,), "x"), array(on, form, (1003,), "y")
    schedule = None if on.by_reference else SIDE_BY_SIDE
    return mp.Array(elementwise.apply("add", [x.planes, y.planes], schedule=schedule))


CALLS: dict[str, Callable[[Device, str], mp.Array]] = {
    "gemv": _sums,
    "gemm": _product,
    "transposed": _turned,
    "add": _copied,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "form", mostly_slow(["float16", "slfp64in48b", "tsin80b"], ["slfp64in48b"], "the same ways")
)
def test_packed_access(device: Device, form: str, name: str) -> None:
    """Operands that are stored short, element by element: the host's bits."""
    expected = CALLS[name](discovery.get("host"), form)
    found = CALLS[name](device, form)
    assert verify.digest(found.to_limbs()) == verify.digest(expected.to_limbs())


@pytest.mark.parametrize("form", ["float32", "dd", "d+s"])
def test_tiles(device: Device, form: str) -> None:
    """Tiles of words, read and kept one by one."""
    for call in (_product, _turned):
        expected, found = (call(on, form) for on in (discovery.get("host"), device))
        assert verify.digest(found.to_limbs()) == verify.digest(expected.to_limbs())


@pytest.mark.parametrize("schedule", BODIES)
@pytest.mark.parametrize("form", ["float32", "d+s"])
def test_gravity(device: Device, form: str, schedule: NbodySchedule) -> None:
    """Sources as single words, from memory or from tiles of it."""

    def field(on: Device) -> mp.Array:
        position, mass = array(on, form, (150, 3), "p"), array(on, form, (150,), "m")
        chosen = None if on.by_reference else schedule
        return nbody.acceleration(position, mass, eps="0.1", schedule=chosen)

    expected, found = field(discovery.get("host")), field(device)
    assert verify.digest(found.to_limbs()) == verify.digest(expected.to_limbs())
