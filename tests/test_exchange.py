"""Arrays handed to files and other libraries, and taken from them: every bit is kept."""

from __future__ import annotations

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest

import portmp as mp
from portmp.arrays.exchange import reach
from portmp.backends import dlpack
from portmp.backends.base import Device
from portmp.errors import ArgumentError, DeviceError, FormatError, InputError, PortmpError

FORMATS = ("float32", "float64", "ds", "dd", "qd", "d+s", "float16", "slfp64in48b")


def _sample(form: str, device: Device) -> Any:
    """Values with all limbs, a view of them, and special ones."""
    x = mp.array([["0.1", "-2/3", "1e10"], ["inf", "nan", "-0.0"]], form, device)
    return x[:, ::-1]


def _bits(x: Any) -> list[bytes]:
    parts = x.to_parts() if isinstance(x, mp.Array) else [x.to_numpy()]
    return [
        np.nan_to_num(p, nan=9.5).tobytes() if p.dtype.kind == "f" else p.tobytes() for p in parts
    ]


def _on_host(x: Any) -> np.ndarray[Any, Any]:
    """By DLPack; NumPy must ask for a copy of memory that is not the host's."""
    host = x.__dlpack_device__()[0] == dlpack.CPU
    return np.from_dlpack(x) if host else np.from_dlpack(x, device="cpu")


def _same(x: Any, y: Any) -> None:
    assert type(x) is type(y) and x.shape == y.shape and x.dtype == y.dtype
    assert _bits(x) == _bits(y)


@pytest.mark.parametrize("form", FORMATS)
def test_pickle_copy_and_files(form: str, device: Device, tmp_path: Path) -> None:
    """Planes come back as they were, on the same device."""
    x = _sample(form, device)
    _same(pickle.loads(pickle.dumps(x)), x)
    assert pickle.loads(pickle.dumps(x)).device is device
    for made in (copy.copy(x), copy.deepcopy([x])[0]):
        _same(made, x)
        made[...] = 0
        assert not bool((x == 0).all())
    mp.save(tmp_path / "x.npz", x)
    _same(mp.load(tmp_path / "x.npz", device=device), x)
    for suffix in ("csv", "txt", "mtx"):
        mp.save(tmp_path / f"x.{suffix}", x[:1])
        _same(mp.load(tmp_path / f"x.{suffix}", form, device), x[:1].copy())


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int32"])
def test_plain_numbers(dtype: str, device: Device, tmp_path: Path) -> None:
    """Integers and truth values likewise."""
    x = mp.asarray(np.array([[0, 1], [1, 1]]), dtype=dtype, device=device)
    _same(pickle.loads(pickle.dumps(x)), x)
    mp.save(tmp_path / "x.npz", x)
    _same(mp.load(tmp_path / "x.npz", device=device), x)
    with pytest.raises(InputError, match=r"saved as \.npz"):
        mp.save(tmp_path / "x.csv", x)
    _same(mp.from_dlpack(x), x)
    assert _on_host(x).tolist() == x.tolist()


@pytest.mark.parametrize("suffix", ["h5", "hdf5"])
def test_hdf5(suffix: str, device: Device, tmp_path: Path) -> None:
    """Files and groups of h5py; what is no array, or a damaged one, is refused."""
    h5py = pytest.importorskip("h5py")
    file = tmp_path / f"x.{suffix}"
    whole = mp.asarray([[True, False]], device=device)
    for x in (
        _sample("qd", device),
        _sample("float16", device),
        whole,
        mp.zeros((0, 3), "dd", device),
    ):
        mp.save(file, x)
        _same(mp.load(file, device=device), x)
    assert mp.load(file, "qd", device).format.name == "qd"
    with h5py.File(tmp_path / "several.h5", "w") as opened:
        mp.save(opened.create_group("a"), _sample("dd", device))
        mp.save(opened.create_group("b"), whole)
        with pytest.raises(InputError, match="not empty"):
            mp.save(opened["a"], whole)
        _same(mp.load(opened["a"], device=device), _sample("dd", device))
        _same(mp.load(opened["b"], device=device), whole)
        with pytest.raises(InputError, match="attributes name none"):
            mp.load(opened, device=device)
        del opened["a/plane1"]
        with pytest.raises(InputError, match="planes of an array"):
            mp.load(opened["a"], device=device)
        opened["a"].attrs["format"] = "no such"
        with pytest.raises(FormatError, match="no such"):
            mp.load(opened["a"], device=device)
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(InputError, match=r"bad\.h5"):
        mp.load(tmp_path / "bad.h5", device=device)


def test_hostile_pickles(device: Device) -> None:
    """Planes that are not what the format has, and limbs that are no normalised value."""
    made, arguments = mp.array([1], "dd", device).__reduce__()
    is_format, kind, shape, parts, where = arguments
    for change in (
        (is_format, "qd", shape, parts, where),
        (is_format, kind, (2,), parts, where),
        (is_format, kind, shape, [p.astype(np.float32) for p in parts], where),
        (is_format, "no such", shape, parts, where),
        (False, "object", shape, parts[:1], where),
    ):
        with pytest.raises(PortmpError):
            made(*change)
    odd = made(is_format, kind, shape, [np.array([1.0]), np.array([1.0])], where)
    assert odd.to_limbs()[0][0] == 2.0
    assert made(is_format, kind, shape, parts, "cuda:77").tolist() == [1]


def test_archives_are_those_of_numpy(tmp_path: Path) -> None:
    """Byte for byte: of limbs, parts of limbs, plain numbers; a .npy file likewise."""
    for form in ("dd", "slfp64in48b", "complex128"):
        x = mp.array(["0.1", "2"], form, "host")
        parts = x.to_parts()
        named: Any = {f"{'part' if x.format.coded else 'limb'}{i}": p for i, p in enumerate(parts)}
        np.savez(tmp_path / "wanted.npz", **named, format=np.array(form))
        mp.save(tmp_path / "x.npz", x)
        assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "wanted.npz").read_bytes()
        assert mp.load(tmp_path / "x.npz", device="host").tolist() == x.tolist()
    np.save(tmp_path / "wanted.npy", np.array([0.5, 3]))
    mp.save(tmp_path / "x.npy", mp.array([0.5, 3], "float64", "host"))
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "wanted.npy").read_bytes()


def test_dlpack(device: Device) -> None:
    """One limb goes as it is; limb planes of others are arrays of one limb; the rest is refused."""
    one = mp.array([[0.5, 1.5], [2.5, 3.5]], "float64", device).T
    assert _on_host(one).tolist() == one.tolist()
    _same(mp.from_dlpack(np.array([0.5])).to(device), mp.array([0.5], "float64", device))
    two = mp.array(["0.1", "0.3"], "dd", device)
    with pytest.raises(BufferError, match=r"a\.limbs"):
        _on_host(two)
    planes = [_on_host(limb) for limb in two.limbs]
    _same(mp.from_limbs(planes, "dd", device), two)
    _same(mp.from_limbs(two.limbs, "dd", device), two)
    with pytest.raises(BufferError):
        one.__dlpack__(dl_device=(2, 99))
    if device.dlpack_type <= 0:
        with pytest.raises(BufferError, match="copy"):
            one.__dlpack__(copy=False)


class _Interface:
    """An object that only knows an address."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = told


def test_array_interface(device: Device) -> None:
    """Memory by its address: shared where a device of that vendor is, else refused by name."""
    x = mp.array([[1, 2, 3], [4, 5, 6]], "float64", device)
    if device.dlpack_type != 2:
        assert not hasattr(x, "__cuda_array_interface__")
        told = {"shape": (2,), "typestr": "<f8", "data": (64, False), "version": 3}
        if not any(d.dlpack_type == 2 for d in mp.devices()):
            with pytest.raises(PortmpError, match="no device here"):
                mp.asarray(_Interface(told))
        return
    assert not hasattr(mp.zeros(2, "dd", device), "__cuda_array_interface__")
    other = mp.asarray(_Interface(x.T.__cuda_array_interface__))
    _same(other, x.T)
    other += 1
    assert x.tolist() == [[2, 3, 4], [5, 6, 7]]
    whole = mp.arange(5, device=device)
    _same(mp.asarray(_Interface(whole[::2].__cuda_array_interface__)), whole[::2])


@pytest.mark.parametrize("form", ["dd", "td", "qd"])
def test_numbers_of_other_libraries(form: str, device: Device) -> None:
    """There and back, exact; more digits than the format has are rounded once."""
    third = Fraction(1, 3)
    x = mp.array([third], form, device)
    exact = x[0].item()
    assert abs(exact - third) < Fraction(1, 2 ** (x.format.bits - 1))
    assert (
        Fraction(x[0]) == exact and (x[0].numerator, x[0].denominator) == exact.as_integer_ratio()
    )
    assert gmpy2.mpq(x[0]) == exact
    with mpmath.workprec(400):
        number = mpmath.mpf(x[0])
        assert Fraction(int(number.man)) * Fraction(2) ** int(number.exp) == exact
        back = mp.array([number, mpmath.mpf(1) / 3], form, device)
    with gmpy2.context(precision=400):
        more = mp.array([gmpy2.mpq(1, 3), gmpy2.mpfr(1) / 3], form, device)
    for found in (back, more, mp.array([third, Decimal(1) / 3 + 0], form, device)[:1]):
        assert found[0].item() == exact
    assert back[1].item() == more[1].item() == exact
    assert int(mp.array(["-7.9"], form, device)) == -7
    assert float(x) == 1 / 3
    assert complex(x) == 1 / 3


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_ml_dtypes(name: str, device: Device) -> None:
    """Short floats are taken exactly."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    given = np.array([0.5, -1.5, 3.0, 0.1], getattr(ml_dtypes, name))
    x = mp.array(given, "dd", device)
    assert x.tolist() == [Fraction(float(v)) for v in given]


def _to_bits(value: Fraction, bits: int, least: int) -> Fraction:
    """Rounded to a word of so many bits, ties to even, the last one 2^least or more."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent += abs(value) >= Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - bits, least)
    return round(value / unit) * unit


def _ties(rng: random.Random) -> Fraction:
    """Few bits far apart: beside ties, and where a second rounding would be seen."""
    value, place = Fraction(0), rng.randint(-20, 20)
    for _ in range(rng.randint(1, 4)):
        step = rng.choice([1, -1, 2**20 + 1, rng.getrandbits(53)])
        value += step * Fraction(2) ** place
        place -= rng.choice([8, 11, 24, 53, 54, 64, 65, 112, 113, 114, 200])
    return value


@pytest.mark.parametrize("form", ["qd", "dd", "ts"])
@pytest.mark.parametrize(
    ("library", "name", "bits", "least"),
    [
        ("numpy", "longdouble", 64, -500),
        ("numpy", "float32", 24, -149),
        ("numpy", "float16", 11, -24),
        ("numpy", "float64", 53, -1074),
        ("ml_dtypes", "bfloat16", 8, -133),
        ("ml_dtypes", "float8_e5m2", 3, -16),
        ("numpy_quaddtype", "QuadPrecDType", 113, -500),
    ],
)
def test_to_numpy(form: str, library: str, name: str, bits: int, least: int) -> None:
    """Each value rounded once, ties to even; special values; back without loss."""
    dtype = getattr(pytest.importorskip(library), name)
    dtype = dtype() if library == "numpy_quaddtype" else dtype
    if name == "longdouble" and np.finfo(dtype).nmant != 63:
        pytest.skip("longdouble is another one here")
    rng = random.Random(7)
    x = mp.array([_ties(rng) for _ in range(400)], form, "host")
    found = x.to_numpy(dtype)
    assert found.dtype == np.dtype(dtype)
    for value, number in zip(x.to_fractions(), found, strict=True):
        if name in ("float16", "float8_e5m2") and not np.isfinite(number):
            assert abs(value) > 57000
            continue
        exact = mp.array(float(number) if bits <= 53 else number, "qd", "host").item()
        assert exact == _to_bits(value, bits, least), value
    odd = mp.array(["nan", "inf", "-inf", "-0"], form, "host").to_numpy(dtype)
    assert np.isnan(odd[0]) and odd[1] > 0 > odd[2] and not np.isfinite(odd[1:3]).any()
    assert odd[3] == 0 and np.signbit(odd[3])
    assert mp.zeros((0, 3), form, "host").to_numpy(dtype).shape == (0, 3)


def test_to_numpy_takes_dtypes_of_floats() -> None:
    """Others are refused; the largest numbers stay finite in longer dtypes."""
    x = mp.array(["0.1"], "dd", "host")
    for wrong in ("int64", object, "no such", np.complex128):
        with pytest.raises(ArgumentError, match=r"to_numpy: dtype: .* given, one of floats"):
            x.to_numpy(wrong)
    high = np.finfo(np.float64).max
    largest = mp.from_limbs([np.array([high]), np.array([high * 2.0**-54])], "dd", "host")
    if np.finfo(np.longdouble).nmant == 63:
        found = largest.to_numpy(np.longdouble)[0]
        assert Fraction(*found.as_integer_ratio()) == _to_bits(largest[0].item(), 64, 0)
    assert largest.to_numpy(np.float32)[0] == np.inf


def test_scalars_in_python(device: Device) -> None:
    """Truth, hash, indices, iteration, formats: as NumPy has them."""
    x = mp.array(["0.1", "2"], "dd", device)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    labels = mp.asarray([3, 5, 3], device=device)
    with pytest.raises(TypeError, match="unhashable"):
        hash(labels)
    assert {x[0]: "a", x[1]: "b"}[x[1] + 0] == "b" and 2 in {x[1]} and {2.0: "c"}[x[1]] == "c"
    assert len(set(labels)) == 2 and {3: "d"}[labels[2]] == "d"
    assert len({*mp.array(["inf", "inf", 0, "-0"], "dd", device)}) == 2
    with pytest.raises(PortmpError, match="one element"):
        bool(x)
    assert bool(x[0]) and not bool(mp.zeros((), "dd", device))
    assert [10, 20, 30][mp.asarray(1, device=device)] == 20
    with pytest.raises(TypeError):
        [10, 20][x[0]]  # type: ignore[call-overload]
    assert [float(v) for v in x] == [0.1, 2.0]
    with pytest.raises(TypeError, match="iteration"):
        iter(x[0])
    assert f"{x[0]:.3e}" == "1.000e-01" and f"{x[1]:.2f}" == "2.00"
    assert round(x[1]) == 2 and round(x[0], 1).to_strings("short") == "0.1"
    assert x[0] != "x" and not bool((x == None).any())  # noqa: E711
    b = a = x.copy()
    a += 1
    assert b.tolist() == a.tolist() == (x + 1).tolist()
    assert x.item(1) == 2 and x.tolist()[1] == Fraction(2)


def test_devices_and_formats_of_a_block(device: Device) -> None:
    """Where arrays are made, and in what, while a block runs; threads have their own."""
    others = [d for d in mp.devices() if d.name != device.name]
    with mp.device(device.name):
        assert mp.zeros(2).device is device
        if others:
            with mp.device(others[0].name):
                assert mp.zeros(2).device.name == others[0].name
            assert mp.zeros(2).device is device
    with pytest.raises(DeviceError), mp.device("no such"):
        pass
    with mp.default_format("qd"):
        assert mp.zeros(2).format.name == "qd"
        with mp.default_format("float64"):
            assert mp.linspace(0, 1, 3).format.name == "float64"
        assert mp.array(["0.1"]).format.name == "qd"
    assert mp.zeros(2).format.name == "dd"
    told = mp.memory(device)
    assert told.device == device.name and told.total > 0
    assert told.free is None or 0 <= told.free <= told.total


def test_threads(device: Device) -> None:
    """Eight threads on one device, with formats of their own: the bits of one after another."""
    names = ("float64", "ds", "dd", "td", "qd", "ts", "qs", "d+s")

    def work(form: str) -> list[bytes]:
        found = []
        with mp.default_format(form):
            for seed in range(4):
                x = mp.linspace(1, 2 + seed, 40)
                a = x[:, None] * x[None, ::-1] + mp.eye(40)
                y = mp.sort(a @ x) / mp.sum(x) - mp.cumulative_sum(x)
                y[y < 0] *= -1
                found += _bits(mp.sqrt(y))
        return found

    expected = [work(form) for form in names]
    with ThreadPoolExecutor(len(names)) as pool:
        assert list(pool.map(work, names)) == expected


def test_capsules_are_given_back() -> None:
    """What was lent is kept as long as somebody has it: a capsule, a borrower, nobody."""
    memory = np.arange(6.0)

    class Lender:
        """Host memory by DLPack."""

        def __dlpack__(self, **_: object) -> object:
            return dlpack.lent(memory, memory.ctypes.data, (1, 0), "float64", (2, 3), (3, 1))

        def __dlpack_device__(self) -> tuple[int, int]:
            return dlpack.CPU, 0

    class Elsewhere(Lender):
        """The same, said to be on a GPU: NumPy refuses it, with an exception on its way."""

        def __dlpack__(self, **_: object) -> object:
            return dlpack.lent(memory, memory.ctypes.data, (2, 0), "float64", (2, 3), (3, 1))

    dlpack._sweep()
    kept = len(dlpack._kept)
    for _ in range(3):
        capsule = Lender().__dlpack__()
        dlpack._sweep()
        assert len(dlpack._kept) == kept + 1
        del capsule
        dlpack._sweep()
        assert len(dlpack._kept) == kept
        taken = np.from_dlpack(Lender())  # type: ignore[arg-type]
        dlpack._sweep()
        assert taken.tolist() == [[0, 1, 2], [3, 4, 5]] and len(dlpack._kept) == kept + 1
        del taken
        assert len(dlpack._kept) == kept
        with pytest.raises((RuntimeError, BufferError), match="device"):
            np.from_dlpack(Elsewhere())  # type: ignore[arg-type]
        dlpack._sweep()
        assert len(dlpack._kept) == kept
    borrowed = dlpack.borrowed(memory.__dlpack__())
    assert (borrowed.pointer, borrowed.shape) == (memory.ctypes.data, (6,))


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((), (), (0, 1)),
        ((4,), (1,), (0, 4)),
        ((2, 3), (-3, 1), (-3, 3)),
        ((2, 3), (1, -2), (-4, 2)),
        ((3, 0), (1, 1), (0, 0)),
        ((5, 2), (0, 7), (0, 8)),
    ],
)
def test_reach(shape: tuple[int, ...], strides: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Where the elements of another library's array lie around the first one."""
    assert reach(shape, strides) == expected


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_libraries_of_gpus(library: str, device: Device) -> None:
    """Both ways without a copy, views and misaligned parts too; in one process with the other."""
    if device.platform != "cuda":
        pytest.skip("the device's memory is not that of GPU libraries")
    other = pytest.importorskip(library)
    x = mp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float64", device)
    there = other.from_dlpack(x[:, 1:])
    there *= 2
    device.queue.synchronize()
    assert x.to_float64().tolist() == [[1, 4, 6], [4, 10, 12]]
    for make in (mp.from_dlpack, mp.asarray):
        back = make(there[1:])
        assert back.format.name == "float64" and back.to_float64().tolist() == [[10, 12]]
        back += 1
        device.queue.synchronize()
        assert [float(v) for v in there[1]] == [11, 13]
        there[1] -= 1
    high = other.from_dlpack(mp.array([0.1, 0.2], "float64", device))
    pair = mp.from_limbs([high, high * 2.0**-60], "dd", device)
    assert pair.to_limbs()[1].tolist() == [0.1 * 2.0**-60, 0.2 * 2.0**-60]
    for k in range(1, 5):  # reductions and sums read several neighbours at a time
        long = other.arange(1000, dtype=other.float64, **CUDA[library])[k:]
        assert float(mp.from_dlpack(long).sum().to_float64()) == sum(range(k, 1000))
        assert (mp.from_dlpack(long) + 1).to_float64()[0] == k + 1


CUDA: dict[str, dict[str, Any]] = {"cupy": {}, "torch": {"device": "cuda"}}
"""What makes an array of these libraries lie on the GPU."""
