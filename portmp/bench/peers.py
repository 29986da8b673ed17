"""What else is installed on the machine, measured beside portmp: each of them optional.

PEERS is the table: a name, the module to import, the precision, the formats that it is
compared with, and an engine, which spells operands and calls. Peers run on the host's
processor (or on the GPU, for those that are made for it) with the same inputs and the
same check as portmp, on the wall's clock, at the largest size that takes about a second.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Device
from portmp.bench import cases as blas
from portmp.bench import exact, measure
from portmp.bench.cases import Case, Routine
from portmp.bench.values import Plane, Values, exponent, integers
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines import base

SECONDS = 1.0
"""What one call of a peer may take."""
FIRST = {"gemm": 16, "gemv": 64, "dot": 2**10, "axpy": 2**10}
"""The sizes that peers start with, and so the routines that are compared."""


class Engine:
    """A peer's operands and calls; here for arrays with NumPy's operators."""

    def __init__(self, module: Any, bits: int, gpu: int | None) -> None:
        self.module = module
        self.bits = bits
        self.gpu = gpu

    def load(self, planes: Sequence[Plane]) -> Any:
        """An operand of shape (), (n,) or (m, n) from limb planes."""
        return planes[0].astype(np.float64)

    def gemm(self, a: Any, b: Any) -> Any:
        """A B."""
        return a @ b

    def gemv(self, a: Any, x: Any) -> Any:
        """A x."""
        return a @ x

    def dot(self, x: Any, y: Any) -> Any:
        """The sum of x_i y_i."""
        return x @ y

    def axpy(self, alpha: Any, x: Any, y: Any) -> Any:
        """alpha x + y."""
        return alpha * x + y

    def wait(self) -> None:
        """Return when all work is done."""

    def fraction(self, result: Any, index: tuple[int, ...]) -> Fraction | None:
        """The exact value of an entry; None where it is not finite."""
        value = float(result[index])
        return Fraction(value) if math.isfinite(value) else None


class CupyEngine(Engine):
    """cuBLAS through CuPy."""

    def load(self, planes: Sequence[Plane]) -> Any:
        with self.module.cuda.Device(self.gpu):
            return self.module.asarray(planes[0].astype(np.float64))

    def wait(self) -> None:
        self.module.cuda.Device(self.gpu).synchronize()


class TorchEngine(Engine):
    """torch-dd: on the GPU where one is measured and torch finds it."""

    def __init__(self, module: Any, bits: int, gpu: int | None) -> None:
        super().__init__(module, bits, gpu)
        self.torch = importlib.import_module("torch")
        on_gpu = gpu is not None and self.torch.cuda.is_available()
        self.place = f"cuda:{gpu}" if on_gpu else "cpu"

    def load(self, planes: Sequence[Plane]) -> Any:
        words = [self.torch.from_numpy(np.array(p, ndmin=1)).to(self.place) for p in planes]
        return self.module.DDTensor.from_hilo(*words)

    def gemv(self, a: Any, x: Any) -> Any:
        return (a @ x.reshape(-1, 1)).reshape(-1)

    def dot(self, x: Any, y: Any) -> Any:
        return (x.reshape(1, -1) @ y.reshape(-1, 1)).reshape(-1)

    def wait(self) -> None:
        if self.place != "cpu":
            self.torch.cuda.synchronize(self.place)

    def fraction(self, result: Any, index: tuple[int, ...]) -> Fraction | None:
        at = index or (0,)
        return exact.fraction([float(result.hi[at]), float(result.lo[at])])


class QuadEngine(Engine):
    """numpy-quaddtype's binary128."""

    def load(self, planes: Sequence[Plane]) -> Any:
        kind = self.module.QuadPrecDType()
        words = [np.asarray(plane).astype(kind) for plane in reversed(planes)]
        total = words[0]
        for word in words[1:]:
            total = word + total
        return total

    def fraction(self, result: Any, index: tuple[int, ...]) -> Fraction | None:
        value: Any = result[index] if index else np.asarray(result)[()]
        return Fraction(*map(int, value.as_integer_ratio())) if np.isfinite(value) else None


class ExactlyLoaded(Engine, ABC):
    """Peers whose numbers are made of an integer and a power of two, one by one."""

    @abstractmethod
    def number(self, integer: int, power: int) -> Any:
        """integer * 2^power, rounded to the peer's precision."""

    @abstractmethod
    def matrix(self, rows: int, columns: int, numbers: list[Any]) -> Any:
        """A matrix from its rows, one after the other."""

    def load(self, planes: Sequence[Plane]) -> Any:
        flat = [np.ravel(p) for p in planes]
        power = exponent(flat)
        numbers = [self.number(int(n), power) for n in integers(flat, power)]
        shape = np.shape(planes[0])
        if not shape:
            return numbers[0]
        return self.matrix(shape[0], shape[1] if len(shape) > 1 else 1, numbers)

    def gemm(self, a: Any, b: Any) -> Any:
        return a * b

    def gemv(self, a: Any, x: Any) -> Any:
        return a * x

    def axpy(self, alpha: Any, x: Any, y: Any) -> Any:
        return x * alpha + y


class MpmathEngine(ExactlyLoaded):
    """mpmath in a context of its own."""

    def __init__(self, module: Any, bits: int, gpu: int | None) -> None:
        super().__init__(module, bits, gpu)
        self.context = module.MPContext()
        self.context.prec = bits

    def number(self, integer: int, power: int) -> Any:
        return self.context.mpf((integer, power))

    def matrix(self, rows: int, columns: int, numbers: list[Any]) -> Any:
        parts = [numbers[i * columns : (i + 1) * columns] for i in range(rows)]
        return self.context.matrix(parts)

    def dot(self, x: Any, y: Any) -> Any:
        return self.context.fdot(zip(x, y, strict=True))

    def fraction(self, result: Any, index: tuple[int, ...]) -> Fraction | None:
        value = result[index if len(index) > 1 else index[0]] if index else result
        if not self.context.isfinite(value):
            return None
        sign, integer, power, _ = value._mpf_
        magnitude = int(integer) * exact.power(int(power))
        return -magnitude if sign else magnitude


class FlintEngine(ExactlyLoaded):
    """python-flint's arb_mat: ball arithmetic, of which the midpoints are checked."""

    def __init__(self, module: Any, bits: int, gpu: int | None) -> None:
        super().__init__(module, bits, gpu)
        module.ctx.prec = bits

    def number(self, integer: int, power: int) -> Any:
        return self.module.arb((integer, power))

    def matrix(self, rows: int, columns: int, numbers: list[Any]) -> Any:
        return self.module.arb_mat(rows, columns, numbers)

    def dot(self, x: Any, y: Any) -> Any:
        return x.transpose() * y

    def fraction(self, result: Any, index: tuple[int, ...]) -> Fraction | None:
        value = result[(*index, 0, 0)[:2]].mid()
        if not value.is_finite():
            return None
        integer, power = value.man_exp()
        return int(integer) * exact.power(int(power))


@dataclass(frozen=True)
class Peer:
    """A row of the table. ``bits`` of None: the precision of the format, set there.

    ``formats``: which of portmp's formats it is compared with; None: every one of several
    limbs. ``platform``: only beside a device of this platform.
    """

    name: str
    module: str
    package: str
    engine: Callable[[Any, int, int | None], Engine]
    bits: int | None = None
    formats: tuple[str, ...] | None = None
    platform: str = ""
    routines: tuple[str, ...] = tuple(FIRST)


PEERS = (
    Peer("NumPy float64", "numpy", "numpy", Engine, 53, ("float64",)),
    Peer("CuPy float64", "cupy", "cupy-cuda13x", CupyEngine, 53, ("float64",), "cuda"),
    Peer("torch-dd", "torch_dd", "torch-dd", TorchEngine, 106, ("dd",)),
    Peer("numpy-quaddtype", "numpy_quaddtype", "numpy-quaddtype", QuadEngine, 113, ("dd",)),
    Peer("python-flint", "flint", "python-flint", FlintEngine),
    Peer("mpmath", "mpmath", "mpmath", MpmathEngine),
)


def run(
    cases: Sequence[Case], devices: Sequence[Device], runs: int, progress: Progress
) -> list[dict[str, Any]]:
    """Results of each peer on what *cases* ask for, and why one has none."""
    known: dict[Format, Values] = {}
    gpu = next((d.index for d in devices if d.platform == "cuda"), None)
    found = []
    for peer in PEERS:
        if peer.platform and peer.platform not in {d.platform for d in devices}:
            continue
        module, problem = _imported(peer)
        entry: dict[str, Any] = {"name": peer.name, "version": None, "problem": problem}
        entry["results"] = []
        found.append(entry)
        if module is None:
            continue
        entry["version"] = _version(peer, module)
        for form, which, cap in _tasks(peer, cases):
            progress.show(f"{peer.name}: {which.name} {form.name}")
            if form not in known:
                known[form] = Values(form)
            try:
                engine = peer.engine(module, peer.bits or form.bits, gpu)
                entry["results"].append(_measured(engine, known[form], which, cap, runs))
            except Exception as error:  # whatever a foreign library raises ends its part only
                entry["problem"] = f"{which.name} {form.name}: {_words(error)}"
    progress.clear()
    return found


def _imported(peer: Peer) -> tuple[Any, str | None]:
    """The peer's module, or why there is none."""
    try:
        return importlib.import_module(peer.module), None
    except ModuleNotFoundError as error:
        missing = "not installed" if error.name == peer.module else f"{error.name} is missing"
        return None, f"{missing}: pip install {peer.package}"
    except Exception as error:  # a library of its own that does not load
        return None, f"cannot be imported: {_words(error)}"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _version(peer: Peer, module: Any) -> str | None:
    version = getattr(module, "__version__", None)
    if version is None:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(peer.package)
    return None if version is None else str(version)


def _tasks(peer: Peer, cases: Sequence[Case]) -> Iterator[tuple[Format, Routine, int]]:
    """Format, routine and the largest size of the cases, for what a peer can do."""
    forms = dict.fromkeys(case.form for case in cases)
    if peer.formats is None:
        # Formats of as many bits are the same to a peer: the first stands for them.
        by_bits = {form.bits: form for form in reversed(forms) if form.limbs > 1}
        wanted = [form for form in forms if by_bits.get(form.bits) is form]
    else:
        # float64 is the common scale: there also where portmp runs other formats only.
        named = map(formats.get, peer.formats)
        wanted = [form for form in named if form in forms or form.name == "float64"]
    for form in wanted:
        for name in peer.routines:
            sizes = [
                max(case.shape)
                for case in cases
                if case.routine.name == name and (form not in forms or case.form.bits == form.bits)
            ]
            if sizes:
                yield form, blas.routine(name), max(sizes)


def _measured(
    engine: Engine, values: Values, which: Routine, cap: int, runs: int
) -> dict[str, Any]:
    """Time and check the largest size up to *cap* that takes about a second."""

    def sized(n: int) -> Case:
        return Case(which, values.form, blas.ACCURATE, which.sized(min(n, cap), "cpu")[0])

    case = sized(FIRST[which.name])
    while True:
        call = _call(engine, case, values)
        result = call()
        engine.wait()
        start = time.perf_counter()
        call()
        engine.wait()
        once = time.perf_counter() - start
        larger = sized(2 * max(case.shape))
        if larger == case or once * larger.operations / case.operations > SECONDS:
            break
        case = larger
    timing = measure.timed_by_wall(call, engine.wait, runs, SECONDS)
    shape = which.result(case.shape)
    places = case.samples
    found = [
        engine.fraction(result, tuple(map(int, np.unravel_index(place, shape))) if shape else ())
        for place in places
    ]
    entries = [which.entry(values, case.starts, case.shape, place) for place in places]
    return {
        "routine": which.name, "format": values.form.name, "bits": engine.bits,
        "shape": list(case.shape), "seconds": timing.as_dict(), "operations": case.operations,
        "operations_per_second": case.operations / timing.median,
        "error": exact.errors(found, entries, exact.power(-engine.bits)).as_dict(),
    }  # fmt: skip


def _call(engine: Engine, case: Case, values: Values) -> Callable[[], Any]:
    """One call of the peer on the case's inputs."""
    operands = [
        engine.load(values.take(start, shape))
        for start, shape in zip(case.starts, case.operands, strict=False)
    ]
    if case.routine.name == "axpy":
        words = base.words(case.form, blas.ALPHA, "alpha")
        operands.insert(0, engine.load([np.asarray(w, case.form.word) for w in words]))
    routine = getattr(engine, case.routine.name)
    return lambda: routine(*operands)
