"""The BLAS, sums and solvers given arrays of other libraries as they are.

CuPy is stood in for by a library whose arrays lie where the processor's kernels reach them, said to
be another device's.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiers
from slow import first_device, slow

import portmp as mp
from portmp import discovery
from portmp.arrays import exchange
from portmp.backends import dlpack
from portmp.backends.base import Device
from portmp.backends.cpu.runtime import CpuDevice
from portmp.backends.pool import Part
from portmp.errors import ArgumentError, DeviceError, FormatError, PortmpError, ShapeError

pytestmark = pytest.mark.with_host
RNG = np.random.default_rng(60)
A = RNG.normal(size=(6, 5, 5))
B = RNG.normal(size=(6, 5, 2))
P = A @ A.transpose(0, 2, 1) + np.eye(5)

CALLS: dict[str, Callable[[Any], Any]] = {
    "gemm": lambda x: mp.gemm(x.a, x.b, alpha=2, beta=-1, c=x.b),
    "matmul": lambda x: mp.matmul(x.a, x.b),
    "gemv": lambda x: mp.gemv(x.a[0, :, :], x.b[0, :, 0]),
    "dot": lambda x: mp.dot(x.b[0, :, 0], x.b[1, :, 1]),
    "sum": lambda x: mp.sum(x.a, axis=1),
    "all": lambda x: mp.sum(x.a),
    "nrm2": lambda x: mp.nrm2(x.a),
    "axpy": lambda x: mp.axpy(0.1, x.a, x.p),
    "scal": lambda x: mp.scal(0.1, x.a),
    "solve": lambda x: mp.linalg.solve(x.a, x.b),
    "inv": lambda x: mp.linalg.inv(x.a),
    "cholesky": lambda x: mp.linalg.cholesky(x.p),
    "cholesky_solve": lambda x: mp.linalg.cholesky_solve(mp.linalg.cholesky(x.p), x.b),
    "lu": lambda x: mp.linalg.lu(x.a)[2],
    "order": lambda x: mp.linalg.lu(x.a, p_indices=True).p,
    "lu_solve": lambda x: mp.linalg.lu_solve(mp.linalg.lu_factor(x.a), x.b),
    "triangle": lambda x: mp.linalg.solve_triangular(x.a, x.b),
    "bound": lambda x: mp.dot(x.b[0, :, 0], x.b[1, :, 1], bound=True)[1],
}
"""Calls whose results one array is."""


def made(make: Callable[[Any], Any], dtype: str = "float64") -> SimpleNamespace:
    """The operands as arrays of a library."""
    return SimpleNamespace(**{k: make(v.astype(dtype)) for k, v in (("a", A), ("b", B), ("p", P))})


def host(x: Any) -> np.ndarray[Any, Any]:
    """What an array holds."""
    return np.asarray(x.memory if isinstance(x, Lent) else x)


def bits(x: Any) -> tuple[Any, ...]:
    """Dtype, shape and bytes of an array."""
    found = host(x)
    return found.dtype.name, found.shape, found.tobytes()


# --- a library of another device's arrays ---------------------------------------------------------

ELSEWHERE = 77
"""What DLPack calls memory of the library that is stood in for."""


class Lent:
    """An array of it, which notes the streams that were told to wait for it."""

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self.memory, self.dtype, self.shape = memory, memory.dtype, memory.shape
        self.streams: list[Any] = []

    def __getitem__(self, key: Any) -> Lent:
        return Lent(self.memory[key])

    def __dlpack_device__(self) -> tuple[int, int]:
        return ELSEWHERE, 0

    def __dlpack__(self, stream: Any = None, **_: Any) -> Any:
        self.streams.append(stream)
        m = self.memory
        steps = [step // m.itemsize for step in m.strides]
        return dlpack.lent(m, m.ctypes.data, (ELSEWHERE, 0), m.dtype.name, m.shape, steps)


def _from_dlpack(x: Any) -> Lent:
    assert x.__dlpack_device__() == (ELSEWHERE, 0)
    there = dlpack.borrowed(x.__dlpack__(stream=5))
    kind = np.dtype(there.dtype)
    steps = [step * kind.itemsize for step in there.strides]
    low, high = exchange.reach(there.shape, there.strides)
    raw = (ctypes.c_uint8 * (kind.itemsize * high)).from_address(there.pointer)
    assert low == 0
    return Lent(np.ndarray(there.shape, kind, raw, 0, steps).copy())


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Device:
    """The processor as the device of that library."""
    tiers.check("cpu")
    device = discovery.get("cpu:0")
    module = ModuleType("lending")
    module.from_dlpack = _from_dlpack  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lending", module)
    monkeypatch.setattr(Lent, "__module__", "lending.arrays")
    monkeypatch.setattr(CpuDevice, "dlpack_type", ELSEWHERE)
    monkeypatch.setattr(CpuDevice, "stream_number", lambda *_: 1234)
    monkeypatch.setattr(Part, "pointer", Part.place, raising=False)
    return device


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_callers(name: str, device: Device) -> None:
    """NumPy's arrays in, NumPy's out, with the bits of portmp's own float64; so by DLPack."""
    strict = pytest.importorskip("array_api_strict")
    with mp.device(device):
        wanted = CALLS[name](made(lambda v: mp.array(v, "float64")))
        found = CALLS[name](made(np.asarray))
        assert isinstance(found, np.generic if wanted.shape == () else np.ndarray)
        assert bits(found) == bits(wanted)
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # which hands on what it was handed
            other = CALLS[name](made(strict.asarray))
            assert type(other) is type(strict.asarray(1.0)) and bits(other) == bits(wanted)


@pytest.mark.parametrize("name", ["gemm", "sum", "nrm2", "solve", "cholesky"])
def test_float32_stays_float32(name: str, device: Device) -> None:
    with mp.device(device):
        wanted = CALLS[name](made(lambda v: mp.array(v, "float32"), "float32"))
        found = CALLS[name](made(np.asarray, "float32"))
    assert found.dtype == np.float32 and bits(found) == bits(wanted)


@pytest.mark.parametrize("name", CALLS)
def test_tensors(name: str, device: Device) -> None:
    """PyTorch's, where it is installed; of the host."""
    torch = pytest.importorskip("torch")
    with mp.device(device):
        found = CALLS[name](made(torch.tensor))
        assert isinstance(found, torch.Tensor) and found.device.type == "cpu"
        assert bits(found) == bits(CALLS[name](made(np.asarray)))


def test_values_that_tensors_keep_otherwise(device: Device) -> None:
    """With the other sign in memory; those that ask for a gradient are refused."""
    torch = pytest.importorskip("torch")
    x = torch.arange(3, dtype=torch.float64)
    negated = torch.complex(x, x).conj().imag
    assert negated.is_neg() and mp.from_dlpack(negated).tolist() == [0, -1, -2]
    with mp.device(device):
        assert mp.scal(1, negated).tolist() == [0, -1, -2]
        assert mp.sum(torch.arange(4)).tolist() == 6
        with pytest.raises(ArgumentError, match=r"sum: x: Tensor that requires .* x\.detach"):
            mp.sum(x.requires_grad_())
        for short in (torch.float16, torch.bfloat16):
            with pytest.raises(FormatError, match=f"Tensor of {str(short)[6:]} given"):
                mp.sum(torch.zeros(3, dtype=short))


@pytest.mark.parametrize("name", ["gemm", "solve", "sum", "all", "order", "bound"])
def test_memory_of_a_device_is_not_copied(name: str, elsewhere: Device) -> None:
    """It is read where it lies, after its stream's work; results lie there, too."""
    given = made(Lent)
    found = CALLS[name](given)
    assert isinstance(found, Lent) and bits(found) == bits(CALLS[name](made(np.asarray)))
    assert {s for x in vars(given).values() for s in x.streams} <= {1234}
    known = [exchange.taken(x) for x in vars(given).values()]
    assert [v.buffers[0].place + 8 * v.start for v in known] == [
        x.memory.ctypes.data for x in vars(given).values()
    ]


def test_out_of_a_device(elsewhere: Device) -> None:
    """It is written where it lies, also where it is an operand."""
    a, out = Lent(A.copy()), Lent(np.zeros((5, 6, 5)).transpose(1, 0, 2))
    assert mp.gemm(a, a, out=out) is out
    assert (out.memory == mp.gemm(A, A)).all()
    assert mp.gemm(a, a, out=a) is a and (a.memory == out.memory).all()
    with pytest.raises(ArgumentError, match="Lent and ndarray given, arrays of one library"):
        mp.gemm(a, A)
    with pytest.raises(FormatError, match="out: ndarray given"):
        mp.gemm(a, a, out=A)
    beside = mp.array([[1, 2]], "dd", elsewhere) / 3
    assert mp.gemm(beside, Lent(np.eye(2))).tolist() == beside.tolist()
    with pytest.raises(FormatError, match="gemm: b: float64 given, ds does not hold all"):
        mp.gemm(mp.zeros((2, 2), "ds", elsewhere), Lent(np.eye(2)))
    other = mp.zeros((5, 5), "float64", "host")
    with pytest.raises(DeviceError, match=r"gemm: a: on cpu:0, others are on host:0"):
        mp.gemm(a, other)


# --- where elements lie ---------------------------------------------------------------------------

FIELDS = np.zeros(5, [("x", "f8"), ("short", "f4")])
FIELDS["x"] = B[0, :, 0]
VIEWS: dict[str, np.ndarray[Any, Any]] = {
    "transposed": A[0].T,
    "every other": np.repeat(A[0], 2, 1)[:, ::2],
    "backwards": A[0, ::-1, ::-1],
    "of the other byte order": A[0].astype(">f8"),
    "broadcast": np.broadcast_to(B[0, :, 0], (5, 5)),
    "between others": np.broadcast_to(FIELDS["x"], (5, 5)),
    "at an odd place": np.frombuffer(b"!" + A[0].tobytes(), "f8", offset=1).reshape(5, 5),
    "no rows": A[0, :0],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, every_device: Device) -> None:
    """As they lie, read-only; nothing is written to them."""
    x = VIEWS[view].view()
    x.flags.writeable = False
    dense = np.ascontiguousarray(x.astype("f8"))
    with mp.device(every_device):
        assert bits(mp.gemm(x, x.T)) == bits(mp.gemm(dense, dense.T))
        assert bits(mp.sum(x, axis=1)) == bits(mp.sum(dense, axis=1))
    assert bits(dense) == bits(np.ascontiguousarray(x.astype("f8")))


def test_what_kernels_reach_is_not_copied(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's memory on the processor; never on another device, nor what is misaligned."""
    seen: list[int] = []
    over = exchange.over
    monkeypatch.setattr(
        exchange, "over", lambda there, queue: (seen.append(there.pointer), over(there, queue))[1]
    )
    x = np.arange(12.0)[::-1]
    with mp.device(device):
        assert mp.sum(x) == 66
        assert mp.sum(VIEWS["at an odd place"]) == mp.sum(A[0])
    assert seen == ([x.ctypes.data, A.ctypes.data] if device.near else [])


def test_operands_may_be_changed_at_once(device: Device) -> None:
    """Nothing is read after a call returns, or raises."""
    a = np.tile(np.eye(60), (50, 1, 1))
    with mp.device(device):
        for _ in range(5):
            x = mp.linalg.inv(a)
            a *= 2
            assert (x == np.linalg.inv(a / 2)).all()
        with pytest.raises(mp.linalg.LinAlgError, match="not positive definite in entry 49"):
            a[49] = -1
            mp.linalg.cholesky(a)


def test_out_and_overwriting(device: Device) -> None:
    """out= is filled, whatever lies below it; operands stay what they are."""
    a, kept = A.copy(), A.copy()
    out = np.full((5, 6, 5), np.nan).transpose(1, 0, 2)
    with mp.device(device):
        assert mp.gemm(a, a, out=out) is out and (out == mp.gemm(a, a)).all()
        value, bound = mp.gemm(a, a, out=out, bound=True)
        assert value is out and (bound > 0).all()
        mp.linalg.lu_factor(a, True)
        mp.linalg.solve(a, B, overwrite_a=True, overwrite_b=True)
        assert (a == kept).all()
        assert mp.gemm(a, a, out=a) is a and (a == out).all()
        for wrong in (np.zeros((6, 5, 5), "f4"), np.zeros((6, 5, 5), int)):
            with pytest.raises(PortmpError, match="out"):
                mp.gemm(kept, kept, out=wrong)
        with pytest.raises(ShapeError, match="out"):
            mp.gemm(kept, kept, out=np.zeros(5))
        masked = np.ma.masked_array(out, out > 0)
        for wrong, told in (
            (masked, "MaskedArray"),
            (np.broadcast_to(0.0, out.shape), "read-only"),
        ):
            with pytest.raises(ArgumentError, match=f"out: .*{told}"):
                mp.gemm(kept, kept, out=wrong)
        with pytest.raises(TypeError, match="multiple values"):
            mp.gemm(kept, kept, a=kept)


# --- mixtures -------------------------------------------------------------------------------------


def test_dtypes_that_meet(device: Device) -> None:
    """float32 beside float64 is float64, exactly; numbers are numbers, integers no float's."""
    a, short = A, B.astype("f4")
    with mp.device(device):
        for call in (mp.gemm, mp.linalg.solve):
            assert bits(call(a, short)) == bits(call(a, short.astype("f8")))
        for alpha in (np.float64(0.1), np.array(0.1), 0.1, "0.1"):
            assert bits(mp.scal(alpha, short)) == bits(mp.scal(0.1, short))
        assert bits(mp.linalg.solve(a[0], [1, 2, 3, "4", 5.5])) == bits(
            mp.linalg.solve(a[0], np.array([1, 2, 3, 4, 5.5]))
        )
        assert mp.sum(a, dtype="dd").format.name == "dd"
        assert mp.sum(a, where=a > 0) == mp.sum(np.where(a > 0, a, 0))
        for call, wrong in (
            (mp.gemm, a.astype(int)), (mp.gemm, a.tolist()), (mp.dot, a.astype(int)),
        ):  # fmt: skip
            with pytest.raises(PortmpError):
                call(a, wrong)
        with pytest.raises(ShapeError, match="alpha: one number expected"):
            mp.scal(np.ones(2), a)
        with pytest.raises(ArgumentError, match="MaskedArray given"):
            mp.sum(np.ma.masked_array(a, a > 0))
        for call in (mp.gemm, mp.linalg.solve):
            with pytest.raises(FormatError, match="b: ndarray of float16 given"):
                call(a, a.astype("f2"))


def test_beside_arrays_of_portmp(device: Device) -> None:
    """They take its format where that holds them, and results are portmp's, with all digits."""
    third = mp.array(A, "dd", device) / 3
    for call in (mp.gemm, mp.linalg.solve, mp.matmul):
        for x in (B, B.astype("f4")):
            found = call(third, x)
            assert isinstance(found, mp.Array) and found.format.name == "dd"
            assert (found == call(third, mp.array(x, "dd", device))).all()
    assert (mp.axpy("0.1", A, third) == mp.axpy("0.1", mp.array(A, "dd", device), third)).all()
    assert isinstance(mp.gemm(A, A, out=mp.zeros(A.shape, "float64", device)), mp.Array)
    whole = mp.asarray([1, 2, 3, 4, 5], device=device)  # integers beside them: as of lists
    assert (whole @ A[0]).format.name == mp.dot(A[0], whole).format.name == "dd"
    for form in ("float32", "ds"):
        with pytest.raises(FormatError, match=r"gemm: b: an array of float64 given"):
            mp.gemm(mp.array(A, form, device), B)


def test_recorded_work_takes_none(device: Device) -> None:
    """Nor may results be read there."""
    with (
        pytest.raises(ArgumentError, match=r"capture: .* is given arrays of other libraries"),
        mp.capture(),
    ):
        mp.sum(A)


# --- the same bits --------------------------------------------------------------------------------


@slow(
    "the cuts of other batches, and the kernels of another word",
    unless=lambda p: (
        p["n"] == 17 and (p["dtype"] == "float64" or p["every_device"] == first_device())
    ),
)
@pytest.mark.parametrize(("n", "dtype"), [(5, "float64"), (17, "float64"), (17, "float32")])
def test_a_system_knows_no_neighbours(n: int, dtype: str, every_device: Device) -> None:
    """Its solution is the same alone, in any batch, at any place, and on every device."""
    draw = np.random.default_rng(n)
    a, b = (draw.normal(size=(11, *shape)).astype(dtype) for shape in ((n, n), (n, 1)))
    with mp.device("host"):
        wanted = mp.linalg.solve(a, b)
    with mp.device(every_device):
        for cut in ([11], [1] * 11, [4, 7], [10, 1]):
            ends = np.cumsum([0, *cut])
            pieces = [mp.linalg.solve(a[i:j], b[i:j]) for i, j in itertools.pairwise(ends)]
            assert bits(np.concatenate(pieces)) == bits(wanted)
        order = draw.permutation(11)
        assert bits(mp.linalg.solve(a[order], b[order])) == bits(wanted[order])
        assert bits(mp.linalg.solve(a[3], b[3])) == bits(wanted[3])
        large = a * np.array([1] * 10 + [2.0**60]).astype(dtype)[:, None, None]
        assert bits(mp.linalg.solve(large, b)[:10]) == bits(wanted[:10])


def test_elements_know_no_neighbours(every_device: Device) -> None:
    """Of sums of rows and of products: whatever is around them, on every device."""
    a = RNG.normal(size=(7, 300))
    with mp.device("host"):
        sums, squares = mp.sum(a, axis=1), mp.gemm(a, a.T)
    with mp.device(every_device):
        assert bits(mp.sum(a, axis=1)) == bits(sums)
        assert [mp.sum(row) for row in a] == sums.tolist()
        assert bits(mp.gemm(a, a.T)) == bits(squares)
        assert bits(mp.gemm(a[2:5], a[1:].T)) == bits(squares[2:5, 1:])
        assert [mp.dot(row, a[0]) for row in a] == [mp.dot(row.copy(), a[0].copy()) for row in a]


@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("name", CALLS)
def test_libraries_of_gpus(library: str, name: str, device: Device) -> None:
    """Operands that its stream has just made, results that it reads at once; NumPy's bits."""
    if device.platform != "cuda":
        pytest.skip("the device's memory is not that of GPU libraries")
    other = pytest.importorskip(library)
    place = {"device": "cuda"} if library == "torch" else {}
    found = CALLS[name](made(lambda v: other.asarray(v / 2, **place) * 2))
    assert (
        type(found) is type(other.asarray(1.0))
        and found.device == other.asarray(1.0, **place).device
    )
    again = found * 1
    with mp.device(device):
        wanted = CALLS[name](made(np.asarray))
    assert bits(again.get() if library == "cupy" else again.cpu()) == bits(wanted)
