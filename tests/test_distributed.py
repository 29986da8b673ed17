"""Arrays on several devices: made, moved, elements, sums, products of vectors, forces, errors.

A device may be named several times: it has parts of its own each time, in queues of their own. So
one device is as many, and the host's reference is another one beside it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import slow

import portmp as mp
from portmp import discovery
from portmp.distributed import creation, saving, transport
from portmp.distributed.layout import Axis, common
from portmp.errors import (
    ArgumentError,
    DeviceError,
    FormatError,
    InputError,
    OutOfMemory,
    ShapeError,
    UnsupportedError,
)
from portmp.runtime.digests import digest

HOST = "host:0"
LAYOUTS = (
    mp.Rows(),
    mp.Rows(5),
    mp.Replicated(),
    mp.BlockCyclic(4, 2, 2),
    mp.BlockCyclic(3, 1, 4),
    mp.BlockCyclic(7, 4, 1),
)
SHAPE = 19, 13
FEW = slow.mostly_slow(LAYOUTS, (LAYOUTS[1], LAYOUTS[3]), "other layouts")


def team(count: int, *others: str) -> list[str]:
    """So many parts on the first device, and other devices after it."""
    return [slow.first_device()] * (count - len(others)) + list(others)


def drawn(shape: Sequence[int], form: str = "dd", seed: int = 1) -> Any:
    """Numbers whose limbs are all filled, on the first device."""
    return mp.random.default_rng(seed).standard_normal(shape, form, slow.first_device())


def check_same(found: Any, wanted: Any) -> None:
    """One shape, and the same bits."""
    assert found.shape == wanted.shape
    if hasattr(wanted, "to_limbs") and isinstance(wanted.dtype, type(mp.dd)):
        assert digest(found.to_limbs()) == digest(wanted.to_limbs())
    else:
        assert np.array_equal(found.to_numpy(), wanted.to_numpy())


# --- where elements are -----------------------------------------------------------------------


def test_parts_of_axes_have_everything_once() -> None:
    """Each element is in one part of each way to cut an axis, and where both say."""
    axes = [Axis(n, block, parts) for n in (1, 7, 24) for block in (1, 3, 8) for parts in (1, 2, 5)]
    for one, other in itertools.product(axes, axes):
        if one.n != other.n:
            continue
        here, there = ([axis.places(i) for i in range(axis.parts)] for axis in (one, other))
        assert sorted(np.concatenate(here)) == list(range(one.n))
        assert [len(part) for part in here] == [one.count(i) for i in range(one.parts)]
        for i, j in itertools.product(range(one.parts), range(other.parts)):
            met = []
            for run in common(one, i, other, j):
                for k, at in itertools.product(range(run.times), range(run.length)):
                    mine = here[i][run.here + k * run.here_step + at]
                    assert mine == there[j][run.there + k * run.there_step + at]
                    met.append(mine)
            assert sorted(met) == sorted(set(here[i]) & set(there[j]))


@pytest.mark.parametrize("layout", FEW, ids=repr)
def test_shard_gather_redistribute(layout: Any) -> None:
    """From one device, from the host and from every other layout: the same elements."""
    a, devices = drawn(SHAPE), team(4, HOST)
    s = mp.shard(a, devices, layout)
    assert s.shape == SHAPE and s.ndim == 2 and s.size == a.size and s.format is a.format
    assert [d.name for d in s.devices] == [discovery.get(name).name for name in devices]
    check_same(s, a)
    check_same(s.gather(HOST), a)
    check_same(s.T, a.T)
    for other in LAYOUTS:
        moved = s.redistribute(other)
        check_same(moved, a)
        check_same(moved.redistribute(layout, devices[:1] * 4), a)
    values = a.to_float64()
    check_same(mp.shard(values, devices, layout, "qs"), mp.array(values, "qs"))
    check_same(mp.shard(a, layout=layout, like=s).astype("float64"), a.astype("float64"))


@pytest.mark.parametrize("layout", (mp.Rows(), mp.Rows(5), mp.BlockCyclic(4, 2, 2)), ids=repr)
def test_fourier_transforms(layout: Any) -> None:
    """Along axes that are cut, or not; of several axes, of vectors, of few rows."""
    real = drawn((12, 10))
    a = real + 1j * drawn((12, 10), seed=2)
    s = mp.shard(a, team(4, HOST), layout)
    for axis in (0, 1, -1):
        found = mp.fft.fft(s, axis=axis)
        check_same(found, mp.fft.fft(a, axis=axis))
        assert found.layout == s.layout and found.devices == s.devices
    check_same(mp.fft.ifft(s, 7, 0, "ortho"), mp.fft.ifft(a, 7, 0, "ortho"))
    check_same(mp.fft.irfftn(s), mp.fft.irfftn(a))
    check_same(mp.fft.rfft2(mp.shard(real, like=s)), mp.fft.rfft2(real))
    check_same(mp.fft.fft(mp.shard(a[:2], like=s), axis=0), mp.fft.fft(a[:2], axis=0))
    vector = mp.shard(a[0], team(3))
    check_same(mp.fft.fft(vector), mp.fft.fft(a[0]))
    with pytest.raises(ArgumentError, match=r"axis: 1.5 given"):
        mp.fft.fft(s, axis=1.5)
    with pytest.raises(UnsupportedError, match=r"docs/distributed.md"):
        mp.fft.fft(s, out=s.copy())


def test_tiles_are_views() -> None:
    """Blocks know where they begin; what is written to them is in the array."""
    s = mp.distributed.zeros((7, 6), "dd", devices=team(4), layout=mp.BlockCyclic(2, 2, 2))
    wanted = np.zeros((7, 6))
    for n, tile in enumerate(s.tiles()):
        tile.array[...] = n
        (i, j), (m, k) = tile.start, tile.array.shape
        wanted[i : i + m, j : j + k] = n
    assert n == 11 and (s.to_float64() == wanted).all()
    for layout in (mp.BlockCyclic(2, 1, 3), mp.Rows()):
        found = mp.distributed.eye(7, "ts", devices=team(3), layout=layout)
        check_same(found, mp.eye(7, format="ts"))


@pytest.mark.parametrize("layout", LAYOUTS[:4], ids=repr)
def test_random_numbers_are_those_of_their_places(layout: Any) -> None:
    """Made where they lie, and equal to those of one device; the generator is as far then."""
    one, several = mp.random.default_rng(5), mp.random.default_rng(5)
    options: dict[str, Any] = {"devices": team(4), "layout": layout}
    check_same(mp.distributed.random(several, SHAPE, "dd", **options), one.random(SHAPE, "dd"))
    found = mp.distributed.standard_normal(several, SHAPE, "float32", **options)
    check_same(found, one.standard_normal(SHAPE, "float32"))
    assert one.random(3, "dd").tolist() == several.random(3, "dd").tolist()


def test_printing() -> None:
    """As on one device, with devices and layout; of long axes the ends, which alone are read."""
    a, devices = mp.array([[1, 2], [3, "0.1"]], "dd"), team(2)
    s = mp.shard(a, devices)
    assert str(s) == str(a)
    names = [d.name for d in s.devices]
    assert (
        repr(s) == f"portmp.shard([['1.0', '2.0'],\n ['3.0', '0.1']], {names}, Rows(block=1), 'dd')"
    )
    long = mp.arange(5000, dtype="float64")
    for layout in (mp.Rows(), mp.Rows(3)):
        assert str(mp.shard(long, devices, layout)) == str(long)
    wide = mp.arange(40 * 50, dtype="float64").reshape(40, 50)
    assert str(mp.shard(wide, team(4), mp.BlockCyclic(4, 2, 2))) == str(wide)


def test_what_is_sent_waits_and_may_be_changed(
    device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of what was there then: of work that is not done yet, and that is written over."""
    monkeypatch.setattr(device.reserve, "poison", False)  # which waits
    a, b = drawn((200, 200), "qd"), drawn((200, 200), "qd", 3)
    other, wanted = device.new_queue(), a @ a
    for _ in range(2):  # the second time nothing is compiled meanwhile
        late = a @ a
        there = transport.sent(late.planes, other)
        late[...] = 0
        found = mp.Array(there).to_limbs()
    assert digest(found) == digest(wanted.to_limbs())
    kept = b.copy()
    with transport.lent([b.planes]) as seen:
        sent = transport.sent(seen[0], other)
    b[...] = 1
    check_same(mp.Array(sent), kept)


# --- elements and sums ------------------------------------------------------------------------


@pytest.mark.parametrize("layout", FEW, ids=repr)
def test_functions_of_elements(layout: Any) -> None:
    """Operators, functions, comparisons, broadcasting, numbers, results of several arrays."""
    a, b, devices = drawn(SHAPE), drawn(SHAPE, seed=2), team(4, HOST)
    s, t = mp.shard(a, devices, layout), mp.shard(b, devices, mp.Rows(2))
    check_same(s + t * 3 - "0.1", a + b * 3 - "0.1")
    check_same(abs(2 / s), abs(2 / a))
    check_same(mp.sqrt(mp.fma(s, s, t * t)), mp.sqrt(mp.fma(a, a, b * b)))
    check_same(mp.where(s > t, s, 0), mp.where(a > b, a, 0))
    row, column = a[:1], a[:, :1]
    for cut in (mp.Replicated(), layout):
        check_same(s * mp.shard(row, devices, cut), a * row)
        check_same(s * mp.shard(column, devices, cut), a * column)
    check_same(mp.shard(row, devices) + mp.shard(column, devices), row + column)
    for found, wanted in zip(mp.modf(s), mp.modf(a), strict=True):
        check_same(found, wanted)
    out = mp.distributed.zeros(SHAPE, "dd", devices=devices, layout=layout)
    assert mp.add(s, t, out=out) is out
    check_same(out, a + b)
    kept = s
    s += t
    check_same(s, a + b)
    check_same(kept, a)


def test_work_with_waits_has_threads(device: Any) -> None:
    """One for each device, all at once; the first error names its device."""
    ran: list[str] = []
    both = threading.Barrier(2, timeout=60)

    def meet(name: str) -> Callable[[], None]:
        def work() -> None:
            both.wait()
            ran.append(name)

        return work

    transport.together([meet("a"), meet("b")], [device, device])
    assert sorted(ran) == ["a", "b"]

    def fails() -> None:
        raise ArgumentError("told")

    with pytest.raises(ArgumentError, match="told") as found:
        transport.together([lambda: None, fails], [device, device])
    assert found.value.__notes__ == [f"on device 1 of 2: {device.name}"]
    distant: Any = SimpleNamespace(rank=1)
    assert transport.together([lambda: 1, lambda: 2], [distant, distant]) == [1, 2]


@pytest.mark.parametrize("layout", FEW, ids=repr)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_along_axes(layout: Any, axis: int | None) -> None:
    """Sums, products, extrema, means and deviations."""
    a = drawn(SHAPE)
    s = mp.shard(a, team(4), layout)
    for function in (mp.sum, mp.prod, mp.max, mp.min, mp.mean, mp.std):
        check_same(function(s, axis), function(a, axis))
        check_same(function(s, axis, keepdims=True), function(a, axis, keepdims=True))
    check_same(s - s.mean(axis, keepdims=True), a - a.mean(axis, keepdims=True))


FORMATS = ("dd", "float64", "d+s", "qs", "slfp64in48b")
LENGTHS = (5, 8192, 20001, 50000)


@pytest.mark.parametrize("special", slow.mostly_slow([False, True], [False], "rare values"))
@pytest.mark.parametrize("n", slow.mostly_slow(LENGTHS, [50000], "other numbers of chunks"))
@pytest.mark.parametrize("form", slow.mostly_slow(FORMATS, ["dd"], "other formats"))
def test_sums_by_chunks(form: str, n: int, special: bool) -> None:
    """Chunks that begin on one device and end on others; overflow and infinities among them."""
    x, y = np.random.default_rng(n).standard_normal((2, n))
    if special:
        x[n // 2] = np.inf
    v, w = mp.array(x, form), mp.array(y, form)
    stored = v.format.arithmetic is not v.format
    for layout in (mp.Rows(), mp.Rows(700)):
        s, t = (mp.shard(one, team(3), layout) for one in (v, w))
        for function in (mp.sum, mp.max):
            check_same(function(s), function(v))
        if not stored:
            check_same(mp.dot(s, t), mp.dot(v, w))
            check_same(mp.dot(s, mp.shard(w, team(3), mp.Replicated())), mp.dot(v, w))
            if not special:
                check_same(mp.nrm2(s), mp.nrm2(v))


def test_sums_beyond_the_range() -> None:
    """As on one device: the chain of leading limbs."""
    big = mp.full(20000, 1e308, "dd", slow.first_device())
    big[5] = -1e308
    check_same(mp.shard(big, team(3)).sum(), big.sum())
    mixed = mp.array([1e308, 1e308, -1e308, -1e308] * 5000, "dd")
    check_same(mp.shard(mixed, team(2)).sum(), mixed.sum())


EXACT = ("dd", "float32", "d+s", "slfp64in48b")


@pytest.mark.parametrize("form", slow.mostly_slow(EXACT, ["dd", "float32"], "other formats"))
def test_sums_that_are_rounded_once(form: str) -> None:
    """Each device's sum is an integer; whatever cancels between devices, one of them the host."""
    x, y = drawn(3001, form), drawn(3001, form, 2)
    if form == "dd":
        x[5], x[2900] = "1e300", "-1e300"
    for layout in (mp.Rows(), mp.Rows(100), mp.Replicated()):
        s, t = (mp.shard(v, team(3, HOST), layout) for v in (x, y))
        check_same(mp.sum(s, rounding="correct"), mp.sum(x, rounding="correct"))
        if x.format.arithmetic is x.format:
            check_same(mp.dot(s, t, rounding="correct"), mp.dot(x, y, rounding="correct"))
    wide = x[:3000].reshape(30, 100)
    for axis in (0, 1):
        found = mp.sum(mp.shard(wide, team(3)), axis, rounding="correct")
        check_same(found, mp.sum(wide, axis, rounding="correct"))
    x[7] = np.inf
    with pytest.raises(ArgumentError, match="an infinity or a NaN"):
        mp.sum(mp.shard(x, team(2)), rounding="correct")
    with pytest.raises(ArgumentError, match="rounding"):
        mp.sum(mp.shard(y, team(2)), rounding="up")


@pytest.mark.parametrize("name", ["int32", "uint8", "bool", "uint64"])
def test_sums_of_integers(name: str) -> None:
    """In 64 bits, which wrap around; extrema in their own type; more devices than elements."""
    n = mp.plain_array((np.arange(5000) % 250).astype(name))
    for layout in (mp.Rows(), mp.Rows(7), mp.Replicated()):
        s = mp.shard(n, team(3, HOST), layout)
        for function in (mp.sum, mp.prod, mp.max, mp.min):
            found, wanted = function(s), function(n)
            check_same(found, wanted)
            assert found.dtype == wanted.dtype
    square = n.reshape(50, 100)
    for axis in (0, 1):
        check_same(mp.sum(mp.shard(square, team(3)), axis), mp.sum(square, axis))
    check_same(mp.sum(mp.shard(square, team(3)), keepdims=True), mp.sum(square, keepdims=True))
    check_same(mp.max(mp.shard(n[:2], team(3))), mp.max(n[:2]))
    with pytest.raises(FormatError, match="integers given"):
        mp.sum(mp.shard(n, team(2)), rounding="correct")


def test_sums_of_complex_numbers() -> None:
    """By parts, as on one device; products of vectors by four sums."""
    x, y = (
        mp.array(a.to_float64() + 1j * b.to_float64())
        for a, b in ((drawn(9001), drawn(9001, seed=2)), (drawn(9001, seed=3), drawn(9001)))
    )
    for layout in (mp.Rows(), mp.Rows(70), mp.Replicated()):
        s, t = (mp.shard(v, team(3), layout) for v in (x, y))
        check_same(s.sum(), x.sum())
        check_same(mp.dot(s, t), mp.dot(x, y))
        check_same(mp.sum(s, rounding="correct"), mp.sum(x, rounding="correct"))
        check_same(mp.dot(s, t, rounding="correct"), mp.dot(x, y, rounding="correct"))
    square = x[:9000].reshape(90, 100)
    check_same(mp.shard(square, team(3)).sum(0), square.sum(0))


def test_other_arrays() -> None:
    """More axes, integers, truth values, elements of shape ()."""
    x = mp.arange(60, dtype="dd").reshape(5, 3, 4)
    s = mp.shard(x, team(3, HOST))
    check_same(s.sum(2), x.sum(2))
    check_same(s.max((1, 2)), x.max((1, 2)))
    check_same(s.sum(), x.sum())
    check_same(s[:, 1], x[:, 1])
    n = mp.shard(mp.plain_array(range(7), "int32"), team(3))
    check_same(n * 2 + n, mp.plain_array([3 * i for i in range(7)], "int32"))
    assert (n > 3).to_numpy().tolist() == [False] * 4 + [True] * 3 and (n < 9).all()
    one = mp.shard(mp.array(3, "dd"), team(2))
    assert one.tolist() == 3 and (one * 2).shape == () and bool(one)


# --- N-body -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", slow.mostly_slow(["dd", "float32"], ["float32"], "another format"))
def test_gravity(form: str) -> None:
    """Targets are split; also where they are not the sources, and in any layout."""
    p, v, m, t = (drawn(shape, form, i) for i, shape in enumerate([(45, 3), (45, 3), 45, (7, 3)]))
    for layout in (mp.Rows(), mp.Rows(7), mp.Replicated()):
        position, velocity, mass, targets = (
            mp.shard(x, team(3, HOST), layout) for x in (p, v, m, t)
        )
        for found, wanted in zip(
            mp.nbody.field(position, mass, eps="0.1"), mp.nbody.field(p, m, eps="0.1"), strict=True
        ):
            check_same(found, wanted)
        found = mp.nbody.acceleration(position, mass, targets=targets)
        check_same(found, mp.nbody.acceleration(p, m, targets=t))
        check_same(mp.nbody.energy(position, velocity, mass), mp.nbody.energy(p, v, m))


def test_files(tmp_path: Path) -> None:
    """Saved from all devices; loaded on one."""
    a = drawn(SHAPE)
    mp.save(tmp_path / "a.npz", mp.shard(a, team(4), mp.BlockCyclic(4, 2, 2)))
    check_same(mp.load(tmp_path / "a.npz"), a)


# --- errors -----------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "a function of its own": (lambda s, a: mp.sort(s), UnsupportedError, r"x\.gather\(\)"),
    "indices": (lambda s, a: s[1], UnsupportedError, "distributed.md"),
    "in place": (lambda s, a: s.__setitem__(0, 1), UnsupportedError, "on 3 devices"),
    "a determinant": (lambda s, a: mp.linalg.det(s), UnsupportedError, "Rows"),
    "a bound": (lambda s, a: mp.sum(s, bound=True), UnsupportedError, "gather"),
    "beside one device": (lambda s, a: s + a, DeviceError, r"shard\(x, like=a\)"),
    "beside a list": (lambda s, a: s + a.tolist(), DeviceError, "list beside"),
    "other devices": (lambda s, a: s + mp.shard(a, team(2)), DeviceError, "redistribute"),
    "shapes": (lambda s, a: s + mp.shard(a[:2], like=s), ShapeError, "shape"),
    "a layout": (lambda s, a: mp.shard(a, team(3), "rows"), ArgumentError, "BlockCyclic"),
    "a grid": (lambda s, a: mp.shard(a, team(3), mp.BlockCyclic(2, 2, 2)), ArgumentError, "4 dev"),
    "a block": (lambda s, a: mp.Rows(0), ArgumentError, "from 1 on"),
    "one name": (lambda s, a: mp.shard(a, "cpu:0"), ArgumentError, "a list"),
    "a root": (lambda s, a: s.gather(root=1), ArgumentError, "root: 1 given"),
    "no devices": (lambda s, a: mp.shard(a), ArgumentError, "devices: none given"),
    "many axes": (
        lambda s, a: mp.shard(a[None], team(2), mp.BlockCyclic(2, 1, 2)),
        ShapeError,
        "matrices",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """What is not made says what to do instead."""
    a = drawn((4, 4))
    ask, error, told = REFUSED[name]
    with pytest.raises(error, match=told):
        ask(mp.shard(a, team(3)), a)


def test_too_large() -> None:
    """By how much, and what would fit; nothing is made before."""
    first = discovery.get(slow.first_device())
    n = first.properties.memory // 16 + 1000
    with pytest.raises(OutOfMemory, match=r"Rows\(\) on 3 devices of this size would fit"):
        mp.distributed.zeros((n, 2), "dd", devices=team(2))
    with pytest.raises(OutOfMemory, match=r"Replicated\(\) on 2 devices.*more than it has"):
        mp.distributed.zeros((n, 2), "dd", devices=team(2, HOST), layout=mp.Replicated)


# --- files, and particles that move ----------------------------------------------------------


KINDS = ("dd", "slfp64in48b", "complex128", "float64", "int16", "bool")
FILES = ("x.npz", "x.npy", "x.h5", "x.csv")


@pytest.mark.parametrize("kind", slow.mostly_slow(KINDS, KINDS[:2] + KINDS[4:5], "other elements"))
def test_files_by_rows(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written some rows at once, with the bytes of one device's, and read by parts, in any layout;
    packed archives and texts as a whole.
    """
    monkeypatch.setattr(saving, "AT_ONCE", 300)
    monkeypatch.setattr(creation, "AT_ONCE", 300)
    numbers = drawn(SHAPE, "float64").to_float64() * 9
    form = kind in ("int16", "bool")
    x: Any = mp.plain_array(numbers.astype(kind), device=slow.first_device()) if form else None
    x = mp.array(drawn(SHAPE, "dd"), kind, slow.first_device()) if x is None else x
    for i, name in enumerate(FILES):
        if name != "x.npz" and form and not name.endswith("h5"):
            continue
        if name == "x.npy" and kind == "dd":
            continue
        s = mp.shard(x, team(4), LAYOUTS[i])
        mp.save(tmp_path / name, x)
        wanted = (tmp_path / name).read_bytes()
        mp.save(tmp_path / name, s)
        assert (tmp_path / name).read_bytes() == wanted, name
        for layout in LAYOUTS[1:4]:
            found = mp.distributed.load(tmp_path / name, devices=team(4, HOST), layout=layout)
            check_same(found, mp.load(tmp_path / name))
            assert found.layout == layout
    with np.load(tmp_path / "x.npz") as members:
        np.savez_compressed(tmp_path / "packed.npz", **members)
    check_same(mp.distributed.load(tmp_path / "packed.npz", devices=team(2)), x)


def test_files_of_other_shapes_and_what_is_wrong(tmp_path: Path) -> None:
    """Vectors, numbers and empty arrays; columns first; another format; damage, targets."""
    for shape in ((17,), (), (0, 3), (5, 3, 2)):
        x = drawn(shape)
        mp.save(tmp_path / "x.npz", mp.shard(x, team(3)))
        check_same(mp.distributed.load(tmp_path / "x.npz", devices=team(2)), x)
        wanted = mp.load(tmp_path / "x.npz", "ts")
        check_same(mp.distributed.load(tmp_path / "x.npz", "ts", devices=team(2)), wanted)
    np.save(tmp_path / "f.npy", np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    check_same(
        mp.distributed.load(tmp_path / "f.npy", "dd", devices=team(2)),
        mp.load(tmp_path / "f.npy", "dd"),
    )
    planes: Any = {"format": np.array("dd"), "limb0": np.ones((2, 3)), "limb1": np.zeros((2, 3))}
    np.savez(tmp_path / "p.npz", **planes)
    check_same(mp.distributed.load(tmp_path / "p.npz", devices=team(2)), mp.ones((2, 3), "dd"))
    for other in (np.zeros(3), np.zeros((3, 3)), np.zeros((2, 2))):
        np.savez(tmp_path / "p.npz", **planes | {"limb1": other})
        with pytest.raises((InputError, ShapeError), match=r"p\.npz"):
            mp.distributed.load(tmp_path / "p.npz", devices=team(2))
    (tmp_path / "p.npz").unlink()
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[300] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(InputError, match=r"x\.npz: damaged or truncated: Bad CRC"):
        mp.distributed.load(tmp_path / "x.npz", devices=team(2))
    with pytest.raises(InputError, match="unknown file type"):
        mp.save(tmp_path / "x.nonsense", mp.shard(x, team(2)))
    with pytest.raises(InputError, match=r"holds one plane"):
        mp.save(tmp_path / "x.npy", mp.shard(x, team(2)))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f.npy", "x.npz"]


MOVES = tuple(itertools.product(("leapfrog", "yoshida4", "yoshida6"), ("float32", "dd", "qs")))


@pytest.mark.parametrize(
    ("scheme", "form"), slow.mostly_slow(MOVES, MOVES[::4], "other pairs of schemes and formats")
)
def test_particles_that_move(scheme: str, form: str, tmp_path: Path) -> None:
    """The states, energies and files of one device, with any layout of rows."""
    made = mp.particles.plummer(11, 3)
    given = [mp.array(x, form, slow.first_device()) for x in vars(made).values() if len(x)]
    mass, position, velocity = given
    one = mp.system.System(position, velocity, mass, eps="0.1")
    layouts: Any = (mp.Rows(), mp.Rows(2))
    each = [[mp.shard(x, team(3, HOST), y) for x in (position, velocity)] for y in layouts]
    others = [mp.system.System(*x, mp.shard(mass, like=x[0]), eps="0.1") for x in each]
    wanted = b""
    for moving in (one, *others):
        moving.step("0.01", 3, scheme)
        moving.step("-0.003", 1, scheme)
        moving.save(tmp_path / "state.npz")
        found = (tmp_path / "state.npz").read_bytes()
        wanted = wanted or found
        assert found == wanted and (moving.time, len(moving)) == (one.time, 11)
        check_same(moving.energy(), one.energy())
        for mine, theirs in zip(moving.angular_momentum(), one.angular_momentum(), strict=True):
            check_same(mine, theirs)
    with pytest.raises(ArgumentError, match=r"velocity, mass: .* cut up otherwise"):
        mp.system.System(each[0][0], each[1][1], mass)
