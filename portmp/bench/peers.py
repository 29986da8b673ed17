"""Libraries that portmp is compared with, each of them optional.

PEERS is the table: a name, the module to import, the precision, the formats that it is
compared with, and an engine, which spells operands and calls. Peers run on the host's
processor (or on the GPU, for those that are made for it) with the same inputs and the
same check as portmp, on the wall's clock, at the largest size that takes about a second.

Vendor is the AXPY, GEMV and GEMM that come with a device: the platform's BLAS on GPUs, on CPUs the
OpenBLAS that NumPy's or SciPy's wheels bring, called directly, since NumPy itself has no AXPY; it
runs on the host's threads and is timed by the wall's clock.
"""

import contextlib
import ctypes
import importlib
import importlib.metadata
import importlib.util
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from portmp import formats
from portmp.arrays.array import Array
from portmp.backends.base import Device, Library, Multiplication, Queue, Rows
from portmp.bench import cases as blas
from portmp.bench import exact, measure
from portmp.bench.cases import Case
from portmp.bench.exact import Errors
from portmp.bench.experiment import Family, Run
from portmp.bench.options import Request
from portmp.bench.runner import Pool, entry_of
from portmp.bench.tables import Row
from portmp.bench.values import Plane, Values, exponent, integers, power_of_two
from portmp.errors import BackendUnavailable, PortmpError
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines import base
from portmp.routines.work import ALPHA, Entry, Walk, Work
from portmp.runtime.planes import allocate

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
        magnitude = int(integer) * power_of_two(int(power))
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
        return int(integer) * power_of_two(int(power))


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
        module, problem = imported(peer)
        entry: Row = {"name": peer.name, "version": None, "problem": problem, "results": []}
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


def imported(peer: Peer) -> tuple[Any, str | None]:
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


def _tasks(peer: Peer, cases: Sequence[Case]) -> Iterator[tuple[Format, Work, int]]:
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


def _measured(engine: Engine, values: Values, which: Work, cap: int, runs: int) -> dict[str, Any]:
    """Time and check the largest size up to *cap* that takes about a second."""

    def sized(n: int) -> Case:
        return Case(which, values.form, blas.ACCURATE, which.sized(min(n, cap), "cpu")[0])

    case = sized(FIRST[which.name])
    while True:
        call = _call(engine, case, values)
        result = call()
        engine.wait()
        once = measure.once(call, engine.wait)
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
    entries = [case.entry(values, place) for place in places]
    return {
        "routine": which.name,
        "format": values.form.name,
        "bits": engine.bits,
        "shape": list(case.shape),
        "seconds": timing.as_dict(),
        "operations": case.operations,
        "operations_per_second": case.operations / timing.median,
        "error": exact.errors(found, entries, power_of_two(-engine.bits)).as_dict(),
    }


def _call(engine: Engine, case: Case, values: Values) -> Callable[[], Any]:
    """One call of the peer on the case's inputs."""
    operands = [
        engine.load(values.take(start, shape))
        for start, shape in zip(case.starts, case.operands, strict=False)
    ]
    if case.routine.name == "axpy":
        words = base.scalar_limbs(case.form, ALPHA, "alpha")
        operands.insert(0, engine.load([np.asarray(w, case.form.word) for w in words]))
    routine = getattr(engine, case.routine.name)
    return lambda: routine(*operands)


# --- what comes with a device -------------------------------------------------------------------

LIBRARY = "library"
"""What a vendor's is called in tables."""
_ROWS_FIRST, _AS_IT_IS, _TRANSPOSED = 101, 111, 112
"""CBLAS's words."""
_REALS = {"float32": ("s", ctypes.c_float), "float64": ("d", ctypes.c_double)}
"""What begins names of functions of a word, and its type in C."""


@dataclass(frozen=True)
class Subject:
    """A call of a case: limbs of its result's entries, and what they should be.

    ``on_host``: whether the host runs it.
    """

    case: Case
    work: Callable[[], object]
    entry: Callable[[int], list[float]]
    expected: Callable[[int], Entry]
    on_host: bool = False

    def errors(self) -> Errors:
        """The errors of what the last call left."""
        return exact.sampled(self.case.samples, self.entry, self.expected, self.case.form)


class Vendor(ABC):
    """A vendor's library. ``name`` says which, and on how many threads."""

    name: str
    copies: ClassVar[int] = 0
    """Bytes of the host's memory that it takes for a value of portmp's operands."""

    @abstractmethod
    def axpy(self, pool: Pool, case: Case) -> Subject:
        """y = f x + y of a pool's vectors, in place, f of ``factors`` by turns."""

    @abstractmethod
    def gemm(self, pool: Pool, case: Case) -> Subject:
        """A B^T of a pool's matrices."""

    @abstractmethod
    def gemv(self, pool: Pool, case: Case) -> Subject:
        """A x of a pool's matrix and vector."""

    @property
    def routines(self) -> dict[str, Callable[[Pool, Case], Subject]]:
        """What portmp calls of it."""
        return {"axpy": self.axpy, "gemv": self.gemv, "gemm": self.gemm}


class OnDevice(Vendor):
    """The platform's BLAS."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.name = library.name

    def axpy(self, pool: Pool, case: Case) -> Subject:
        (buffer,), (n,) = pool.planes.buffers, case.shape
        queue, word, signs = pool.planes.queue, case.form.word, factors()
        x, y = Rows(buffer, 1), Rows(buffer, 1, case.starts[1])

        def work() -> None:
            self.library.axpy(queue, word, n, float(next(signs)), x, y)

        entry = partial(entry_of, pool.inputs(case)[1])
        return Subject(case, work, entry, partial(case.entry, pool.values))

    def gemm(self, pool: Pool, case: Case) -> Subject:
        (buffer,), n = pool.planes.buffers, case.shape[-1]
        queue: Queue = pool.planes.queue
        out = allocate(case.form, (n, n), queue)
        a, b, c = Rows(buffer, n), Rows(buffer, n, case.starts[1]), Rows(out.buffers[0], n)
        asked = Multiplication(case.form.word, n, n, n, a, b, c)
        work = partial(self.library.multiply, queue, asked)
        return Subject(case, work, partial(entry_of, Array(out)), _transposed(pool, case))

    def gemv(self, pool: Pool, case: Case) -> Subject:
        (buffer,), (m, n) = pool.planes.buffers, case.shape
        out = allocate(case.form, (m,), pool.planes.queue)
        rows = Rows(buffer, n), Rows(buffer, 1, case.starts[1]), Rows(out.buffers[0], 1)
        work = partial(self.library.gemv, pool.planes.queue, case.form.word, m, n, *rows)
        entry = partial(entry_of, Array(out))
        return Subject(case, work, entry, partial(case.entry, pool.values))


class OpenBlas(Vendor):
    """OpenBLAS on the host's threads. Operands are its own, gathered by indices."""

    copies = 24

    def __init__(self) -> None:
        self._library, self._prefix, self._suffix = _openblas()
        self._integer = ctypes.c_int64 if self._suffix.startswith("64") else ctypes.c_int32
        config = self._function("openblas_get_config")
        config.restype = ctypes.c_char_p
        about = " ".join(config().decode(errors="replace").split()[:2])
        self.threads = int(self._function("openblas_get_num_threads")())
        self.name = f"{about or 'OpenBLAS'}, {self.threads} threads"

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"{self._prefix}{name}{self._suffix}")

    def _routine(self, name: str, operand: Plane) -> tuple[Any, Any]:
        """A routine for the operand's word, and the type of its numbers."""
        letter, real = _REALS[operand.dtype.name]
        function = self._function(f"cblas_{letter}{name}")
        function.restype = None
        return function, real

    def axpy(self, pool: Pool, case: Case) -> Subject:
        x, y = _operands(pool, case)
        function, real = self._routine("axpy", x)
        count, step, signs = self._integer(x.size), self._integer(1), factors()

        def work() -> None:
            function(count, real(float(next(signs))), _address(x), step, _address(y), step)

        expected = partial(case.entry, pool.values)
        return Subject(case, work, lambda place: [float(y[place])], expected, on_host=True)

    def gemm(self, pool: Pool, case: Case) -> Subject:
        a, b = _operands(pool, case)
        c = np.zeros_like(a)
        (function, real), order = self._routine("gemm", a), self._integer(len(a))
        how = _ROWS_FIRST, _AS_IT_IS, _TRANSPOSED, order, order, order

        def work() -> None:
            factors = real(1), _address(a), order, _address(b), order
            function(*how, *factors, real(0), _address(c), order)

        expected = _transposed(pool, case)
        return Subject(case, work, lambda place: [float(c.flat[place])], expected, on_host=True)

    def gemv(self, pool: Pool, case: Case) -> Subject:
        a, x = _operands(pool, case)
        y = np.zeros(len(a), a.dtype)
        function, real = self._routine("gemv", a)
        m, n, step = map(self._integer, (*a.shape, 1))

        def work() -> None:
            vector = _address(x), step, real(0), _address(y), step
            function(_ROWS_FIRST, _AS_IT_IS, m, n, real(1), _address(a), n, *vector)

        expected = partial(case.entry, pool.values)
        return Subject(case, work, lambda place: [float(y[place])], expected, on_host=True)


def factors() -> Iterator[str]:
    """A factor and its negative by turns, so that what is added in place stays what it was."""
    return itertools.cycle((ALPHA, f"-{ALPHA}"))


def _operands(pool: Pool, case: Case) -> Iterator[Plane]:
    """A case's operands, of one limb, on the host."""
    for start, shape in zip(case.starts, case.operands, strict=False):
        yield pool.values.take(start, shape)[0]


def _transposed(pool: Pool, case: Case) -> Callable[[int], Entry]:
    """What entries of a vendor's A B^T should be."""
    n = case.shape[-1]

    def entry(place: int) -> Entry:
        row, column = divmod(place, n)
        return pool.values.dot(Walk(row * n), Walk(case.starts[1] + column * n), n)

    return entry


def _address(array: Plane) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _openblas() -> tuple[ctypes.CDLL, str, str]:
    """The library of a wheel, and what surrounds the names in it."""
    for file in _files():
        try:
            library = ctypes.CDLL(str(file))
        except OSError:
            continue
        for prefix in ("scipy_", ""):
            for suffix in ("64_", ""):
                if hasattr(library, f"{prefix}cblas_daxpy{suffix}"):
                    return library, prefix, suffix
    raise BackendUnavailable(
        "no OpenBLAS is found among the libraries of NumPy and SciPy: their wheels of PyPI have one"
    )


def _files() -> Iterator[Path]:
    for package in ("numpy", "scipy"):
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations or () if found else ():
            place = Path(folder)
            for libraries in (place.parent / f"{package}.libs", place / ".dylibs"):
                yield from sorted(libraries.glob("*openblas*"))


def find(device: Device) -> tuple[Vendor | None, str]:
    """Whom a device is compared with, or why with nobody."""
    try:
        if device.properties.kind == "cpu":
            return OpenBlas(), ""
        return OnDevice(device.library()), ""
    except PortmpError as error:
        return None, str(error)


@dataclass
class BesideVendor(Run):
    """A run on one device and its vendor's library, or why there is none."""

    vendor: Vendor | None = None
    no_vendor: str = ""


class FamilyBesideVendor(Family):
    """Experiments that take a vendor's library beside portmp."""

    run = BesideVendor

    def ready(self, run: Any, request: Request) -> None:
        run.vendor, run.no_vendor = find(run.device)

    def facts(self, run: Any) -> Row:
        name = run.vendor.name if run.vendor else None
        return {"library": {"name": name, "problem": run.no_vendor or None}}

    def first_line(self, part: Row) -> str:
        library = part["library"]
        return f"; {LIBRARY}: {library['name'] or 'none: ' + library['problem']}"
