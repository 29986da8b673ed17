"""The same bits everywhere: digests of results on recorded inputs.

A case is a routine, a format and an input. Its result on a device is reduced to a digest
of its limbs' bits (NaN made canonical) and compared with the digest recorded in the
package, which the host reference gives too. Keys carry the version of the definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import definition, formats, nbody, paths
from portmp.backends.base import Device
from portmp.errors import ArgumentError, suggestion
from portmp.formats import Format, convert, inputs
from portmp.networks.operators import ARITY
from portmp.routines import base, elementwise
from portmp.routines.elementwise import reference as elementwise_reference
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.gravity import reference as gravity_reference
from portmp.routines.lu import reference as lu_reference
from portmp.routines.ozaki import reference as ozaki_reference
from portmp.routines.ozaki import residues, slices
from portmp.routines.ozaki.options import Ozaki1
from portmp.routines.reduce import reference as reduce_reference
from portmp.runtime import planes

Host = list[np.ndarray[Any, Any]]
REFERENCE = "reference"


@dataclass(frozen=True)
class Case:
    """One routine on one recorded input: how a device and the host compute it."""

    routine: str
    name: str
    form: Format
    arguments: tuple[Any, ...]
    on_device: Callable[..., Any]
    on_host: Callable[..., Host]

    @property
    def key(self) -> str:
        """The digest's key: routine and definition version, format and its version, input."""
        form = f"{self.form.name}.{self.form.definition}"
        return f"{self.routine}.{definition.VERSION}/{form}/{self.name}"

    def device_result(self, device: Device) -> Host:
        """Limb planes computed by *device*."""
        given = [
            mp.Array(upload(self.form, a, device)) if isinstance(a, list) else a
            for a in self.arguments
        ]
        result = self.on_device(*given)
        return [result] if isinstance(result, np.ndarray) else result.to_limbs()

    def host_result(self) -> Host:
        """Limb planes computed by the host reference."""
        return self.on_host(self.form, *self.arguments)


def upload(form: Format, host: Host, device: Device) -> Any:
    """Planes with exactly these limbs."""
    return planes.upload(form, host, device.queue)


def digest(planes: Sequence[np.ndarray[Any, Any]]) -> str:
    """32 hexadecimal digits of the shape and the bits of all limbs."""
    state = hashlib.sha256(str(planes[0].shape).encode())
    for plane in planes:
        if plane.dtype.kind == "f":
            bits = convert.canonical_nan_bits(np.ascontiguousarray(plane))
        else:
            bits = np.ascontiguousarray(plane)
        state.update(bits.astype(bits.dtype.newbyteorder("<")).tobytes())
    return state.hexdigest()[:32]


# --- cases ------------------------------------------------------------------------------

COUNT = 203
ALPHA, BETA = "0.3", "-1.7"


def _scalar(form: Format, text: str) -> tuple[Any, ...]:
    return base.words(form, text, "alpha")


def _elementwise(form: Format) -> Iterator[Case]:
    public: dict[str, Callable[..., Any]] = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y, "neg": lambda x: -x, "abs": abs, "sqrt": mp.sqrt,
        "fma": mp.fma, "min": mp.minimum, "max": mp.maximum, "copy": lambda x: x.copy(),
        "compare": _signs,
    }  # fmt: skip
    for op, arity in ARITY.items():
        kinds: dict[str, list[Host]] = {
            "ordinary": [inputs.ordinary(form, (COUNT,), f"{op}{i}") for i in range(arity)],
            "wide": [inputs.wide(form, (COUNT,), f"{op}{i}") for i in range(arity)],
            "hostile": [inputs.hostile(form, 5 * COUNT, f"{op}{i}") for i in range(arity)],
        }
        if arity > 1:
            first = inputs.ordinary(form, (COUNT,), op)
            second = inputs.cancelling(form, (COUNT,), op)
            kinds["cancelling"] = [first, [-p for p in first[:-1]] + [second[-1]]]
            kinds["cancelling"] += [inputs.ordinary(form, (COUNT,), "z")] * (arity - 2)
        for name, operands in kinds.items():
            yield Case(
                op, name, form, tuple(operands), public[op],
                lambda f, *v, op=op: elementwise_reference.elementwise(f, op, *v),
            )  # fmt: skip


def has_fast(form: Format) -> bool:
    """Whether the format has fast sums that differ from the accurate ones."""
    return any(a.suffix for a in form.accumulators.values())


def _signs(x: mp.Array, y: mp.Array) -> np.ndarray[Any, Any]:
    return elementwise.compare(x.planes, y.planes)


def _vectors(form: Format) -> Iterator[Case]:
    alpha = _scalar(form, ALPHA)
    for name, make in (("ordinary", inputs.ordinary), ("wide", inputs.wide)):
        x, y = make(form, (COUNT,), "x"), make(form, (COUNT,), "y")
        yield Case("axpy", name, form, (x, y), lambda x, y: mp.axpy(ALPHA, x, y),
                   lambda f, x, y: elementwise_reference.axpy(f, alpha, x, y))  # fmt: skip
        yield Case("scal", name, form, (x,), lambda x: mp.scal(ALPHA, x),
                   lambda f, x: elementwise_reference.scal(f, alpha, x))  # fmt: skip
    hostile = [inputs.hostile(form, 5 * COUNT, f"axpy{i}") for i in range(2)]
    for name, text in (("hostile", ALPHA), ("hostile-alpha-one", "1"), ("hostile-alpha-zero", "0")):
        factor = _scalar(form, text)
        yield Case("axpy", name, form, tuple(hostile),
                   lambda x, y, text=text: mp.axpy(text, x, y),
                   lambda f, x, y, factor=factor: (
                       elementwise_reference.axpy(f, factor, x, y)))  # fmt: skip
        yield Case("scal", name, form, (hostile[0],),
                   lambda x, text=text: mp.scal(text, x),
                   lambda f, x, factor=factor: (
                       elementwise_reference.scal(f, factor, x)))  # fmt: skip
    for name, x, y in _dot_inputs(form):
        yield Case("dot", name, form, (x, y), mp.dot, reduce_reference.dot)
        if has_fast(form):
            yield Case("dot_fast", name, form, (x, y),
                       lambda x, y: mp.dot(x, y, accuracy="fast"),
                       lambda f, x, y: reduce_reference.dot(f, x, y, "fast"))  # fmt: skip
    for name, x in _sum_inputs(form):
        for kind in ("sum", "max", "min"):
            yield Case(
                f"reduce_{kind}", name, form, (x,),
                lambda x, kind=kind: getattr(x, kind)(axis=-1),
                lambda f, x, kind=kind: reduce_reference.over_rows(f, kind, x),
            )  # fmt: skip


def _dot_inputs(form: Format) -> Iterator[tuple[str, Host, Host]]:
    def pair(make: Callable[..., Host], n: int) -> tuple[Host, Host]:
        return make(form, (n,), f"dot x {n}"), make(form, (n,), f"dot y {n}")

    for n in (1, 31, 33, 8192 + 77):
        yield (f"ordinary-{n}", *pair(inputs.ordinary, n))
    yield ("positive-3000", *pair(inputs.positive, 3000))
    x, _ = pair(inputs.cancelling, 1001)
    yield "cancelling-1001", x, inputs.positive(form, (1001,), "dot y")
    yield ("wide-97", *pair(inputs.wide, 97))
    x, y = pair(inputs.ordinary, 200)
    yield "infinite-200", inputs.with_specials(x, "inf", (np.inf,)), y
    yield "opposite-200", inputs.with_specials(x, "opp", (np.inf, -np.inf, 0.0)), y
    yield "nan-200", inputs.with_specials(x, "nan", (np.nan,)), y


def _sum_inputs(form: Format) -> Iterator[tuple[str, Host]]:
    for shape in ((1, 1), (3, 50), (2, 8192 + 5)):
        yield f"ordinary-{shape[0]}x{shape[1]}", inputs.ordinary(form, shape, "sum")
    yield "wide-4x61", inputs.wide(form, (4, 61), "sum")
    plain = inputs.ordinary(form, (4, 40), "sum")
    yield "special-4x40", inputs.with_specials(plain, "s", (np.inf, np.nan, -0.0))


def _gemv(form: Format) -> Iterator[Case]:
    alpha, beta = _scalar(form, ALPHA), _scalar(form, BETA)
    for name, make, (m, n) in (
        ("ordinary-5x300", inputs.ordinary, (5, 300)),
        ("wide-6x65", inputs.wide, (6, 65)),
        ("ordinary-37x1", inputs.ordinary, (37, 1)),
    ):
        a, x, y = make(form, (m, n), "a"), make(form, (n,), "x"), make(form, (m,), "y")
        yield Case("gemv", name, form, (a, x), mp.gemv, reduce_reference.gemv)
        yield Case("gemv", f"alpha-beta-{name}", form, (a, x, y),
                   lambda a, x, y: mp.gemv(a, x, alpha=ALPHA, beta=BETA, y=y),
                   lambda f, a, x, y: reduce_reference.gemv(f, a, x, alpha, beta, y))  # fmt: skip
        xt = make(form, (m,), "xt")
        yield Case("gemv", f"transposed-{name}", form, (a, xt),
                   lambda a, x: mp.gemv(a, x, trans=True),
                   lambda f, a, x: reduce_reference.gemv(f, [p.T for p in a], x))  # fmt: skip
    a, x = inputs.cancelling(form, (5, 333), "a"), inputs.positive(form, (333,), "x")
    yield Case("gemv", "cancelling-5x333", form, (a, x), mp.gemv, reduce_reference.gemv)
    if has_fast(form):
        yield Case("gemv_fast", "cancelling-5x333", form, (a, x),
                   lambda a, x: mp.gemv(a, x, accuracy="fast"),
                   lambda f, a, x: reduce_reference.gemv(f, a, x, accuracy="fast"))  # fmt: skip
    a = inputs.with_specials(inputs.ordinary(form, (7, 90), "a"), "gemv", (np.inf, np.nan, -np.inf))
    x = inputs.ordinary(form, (90,), "x")
    yield Case("gemv", "special-7x90", form, (a, x), mp.gemv, reduce_reference.gemv)


def _gemm(form: Format) -> Iterator[Case]:
    alpha, beta = _scalar(form, ALPHA), _scalar(form, BETA)

    def plain(name: str, a: Host, b: Host) -> Iterator[Case]:
        yield Case("gemm", name, form, (a, b), mp.gemm, gemm_reference.gemm)
        if has_fast(form):
            yield Case("gemm_fast", name, form, (a, b),
                       lambda a, b: mp.gemm(a, b, accuracy="fast"),
                       lambda f, a, b: gemm_reference.gemm(f, a, b, accuracy="fast"))  # fmt: skip

    for name, make, (m, n, k) in (
        ("ordinary-7x5x33", inputs.ordinary, (7, 5, 33)),
        ("ordinary-1x1x1", inputs.ordinary, (1, 1, 1)),
        ("ordinary-17x19x23", inputs.ordinary, (17, 19, 23)),
        ("wide-9x8x20", inputs.wide, (9, 8, 20)),
        ("slabs-3x2x1100", inputs.ordinary, (3, 2, 1100)),
        ("positive-2x3x600", inputs.positive, (2, 3, 600)),
    ):
        a, b = make(form, (m, k), f"a {name}"), make(form, (k, n), f"b {name}")
        yield from plain(name, a, b)
    a, b = inputs.ordinary(form, (6, 30), "a"), inputs.ordinary(form, (30, 11), "b")
    c = inputs.ordinary(form, (6, 11), "c")
    yield Case("gemm", "alpha-beta-6x11x30", form, (a, b, c),
               lambda a, b, c: mp.gemm(a, b, alpha=ALPHA, beta=BETA, c=c),
               lambda f, a, b, c: gemm_reference.gemm(f, a, b, alpha, beta, c))  # fmt: skip
    yield Case("gemm", "beta-one-6x11x30", form, (a, b, c),
               lambda a, b, c: mp.gemm(a, b, beta=1, c=c),
               lambda f, a, b, c: gemm_reference.gemm(f, a, b, (), _scalar(f, "1"), c))  # fmt: skip
    at, bt = [p.T.copy() for p in a], [p.T.copy() for p in b]
    yield Case("gemm", "transposed-6x11x30", form, (at, bt),
               lambda a, b: mp.gemm(a, b, trans_a=True, trans_b=True),
               lambda f, a, b: gemm_reference.gemm(
                   f, [p.T for p in a], [p.T for p in b]))  # fmt: skip
    cancelling = inputs.cancelling(form, (4, 101), "a")
    yield from plain("cancelling-4x4x101", cancelling, inputs.positive(form, (101, 4), "b"))
    special = inputs.with_specials(a, "gemm", (np.inf, -np.inf, np.nan))
    yield from plain("special-6x11x30", special, inputs.with_specials(b, "gemm b", (0.0, np.inf)))
    if not form.paper:
        yield from _integers(form)
    batch = inputs.ordinary(form, (3, 5, 14), "batch")
    yield Case("gemm", "batch-3x5x11x14", form, (batch, [p[:14] for p in b]), mp.gemm,
               _host_batch)  # fmt: skip


def _integers(form: Format) -> Iterator[Case]:
    """Products by integers; how they are cut is that of products over few steps."""
    alpha, beta = _scalar(form, ALPHA), _scalar(form, BETA)
    for method, host in (("ozaki1", ozaki_reference.gemm1), ("ozaki2", ozaki_reference.gemm2)):
        if method == "ozaki2" and not residues.modules(form):
            continue
        key, product = f"gemm_{method}", partial(mp.gemm, method=method)
        for name, make, (m, n, k) in (
            ("ordinary-17x19x23", inputs.ordinary, (17, 19, 23)),
            ("wide-9x8x20", inputs.wide, (9, 8, 20)),
            ("cancelling-4x5x101", inputs.cancelling, (4, 5, 101)),
        ):
            a, b = make(form, (m, k), f"a {name}"), make(form, (k, n), f"b {name}")
            yield Case(key, name, form, (a, b), product, host)
        a, b, c = (inputs.hostile(form, n, f"ozaki2 {n}") for n in (6 * 30, 30 * 11, 6 * 11))
        a, b, c = (
            [p.reshape(s) for p in v] for v, s in ((a, (6, 30)), (b, (30, 11)), (c, (6, 11)))
        )
        yield Case(key, "hostile-6x11x30", form, (a, b, c),
                   lambda a, b, c, f=product: f(a, b, alpha=ALPHA, beta=BETA, c=c),
                   lambda f, a, b, c, host=host: host(f, a, b, alpha, beta, c))  # fmt: skip
        at, bt = [p.T.copy() for p in a], [p.T.copy() for p in b]
        yield Case(key, "transposed-6x11x30", form, (at, bt),
                   partial(product, trans_a=True, trans_b=True),
                   partial(_of_transposed, host))  # fmt: skip
    a, b = inputs.ordinary(form, (13, 40), "a words"), inputs.ordinary(form, (40, 9), "b words")
    for word in ("float32", "float64"):
        yield Case("gemm_ozaki1", f"{word}-13x9x40", form, (a, b),
                   partial(mp.gemm, method=Ozaki1(word=word)),
                   partial(ozaki_reference.gemm1, cut=slices.slices(form, word)))  # fmt: skip


def _of_transposed(host: Callable[[Format, Host, Host], Host], f: Format, a: Host, b: Host) -> Host:
    return host(f, [p.T for p in a], [p.T for p in b])


def _host_batch(form: Format, a: Host, b: Host) -> Host:
    results = [gemm_reference.gemm(form, [p[i] for p in a], b) for i in range(a[0].shape[0])]
    return [np.stack(planes) for planes in zip(*results, strict=True)]


def _linalg(form: Format) -> Iterator[Case]:
    a, b = inputs.ordinary(form, (7, 7), "solve a"), inputs.ordinary(form, (7, 2), "solve b")
    yield Case("solve", "ordinary-7x2", form, (a, b), mp.linalg.solve, lu_reference.solve)
    x = inputs.ordinary(form, (150,), "nrm2")
    yield Case("nrm2", "ordinary-150", form, (x,), mp.nrm2, reduce_reference.nrm2)
    x = inputs.wide(form, (150,), "nrm2")
    yield Case("nrm2", "wide-150", form, (x,), mp.nrm2, reduce_reference.nrm2)
    x = inputs.hostile(form, 200, "nrm2")
    yield Case("nrm2", "hostile-200", form, (x,), mp.nrm2, reduce_reference.nrm2)
    a, b = inputs.ordinary(form, (12, 4), "lstsq a"), inputs.ordinary(form, (12, 1), "lstsq b")
    yield Case("lstsq", "ordinary-12x4", form, (a, b), mp.linalg.lstsq, lu_reference.lstsq)


def _gravity(form: Format) -> Iterator[Case]:
    if form.paper:
        return
    mass = inputs.positive(form, (1100,), "mass")
    plain = inputs.ordinary(form, (37, 3), "position")
    pairs = [np.concatenate([p[:20], p[:20]]) for p in plain]
    many, few = inputs.ordinary(form, (1100, 3), "many"), inputs.ordinary(form, (5, 3), "few")
    for name, position, eps in (
        ("ordinary-37", plain, "0.01"), ("hard-37", plain, 0),
        ("pairs-40", pairs, "0.01"), ("hard-pairs-40", pairs, 0),
    ):  # fmt: skip
        yield Case("nbody", name, form, (position, [m[: len(position[0])] for m in mass]),
                   lambda r, m, eps=eps: nbody.acceleration(r, m, eps=eps),
                   lambda f, r, m, eps=eps: _sums(f, r, r, m, eps, 0)[0])  # fmt: skip
    yield Case("nbody", "apart-5x1100", form, (few, many, mass),
               lambda t, r, m: nbody.acceleration(r, m, eps="1e-3", targets=t),
               lambda f, t, r, m: _sums(f, t, r, m, "1e-3", None)[0])  # fmt: skip
    yield Case("nbody_potential", "ordinary-37", form, (plain, [m[:37] for m in mass]),
               lambda r, m: nbody.potential(r, m, eps="0.01"),
               lambda f, r, m: _sums(f, r, r, m, "0.01", 0)[1])  # fmt: skip


def _sums(
    form: Format, targets: Host, sources: Host, mass: Host, eps: Any, first: int | None
) -> tuple[Host, Host]:
    return gravity_reference.gravity(form, targets, sources, mass, nbody.squared(eps, form), first)


def _short(form: Format) -> Iterator[Case]:
    """Storage formats: what the BLAS reads short and stores short."""
    alpha, beta = _scalar(form, ALPHA), _scalar(form, BETA)
    makers = (inputs.ordinary, inputs.wide, _hostile)
    for make in makers:
        name = make.__name__.lstrip("_")
        x, y = make(form, (COUNT,), "x"), make(form, (COUNT,), "y")
        yield Case("axpy", name, form, (x, y), lambda x, y: mp.axpy(ALPHA, x, y),
                   lambda f, x, y: elementwise_reference.axpy(f, alpha, x, y))  # fmt: skip
        yield Case("mul", name, form, (x, y), lambda x, y: x * y,
                   lambda f, x, y: elementwise_reference.elementwise(f, "mul", x, y))  # fmt: skip
    a, b = inputs.ordinary(form, (17, 23), "a"), inputs.ordinary(form, (23, 19), "b")
    c = inputs.ordinary(form, (17, 19), "c")
    yield Case("gemm", "alpha-beta-17x19x23", form, (a, b, c),
               lambda a, b, c: mp.gemm(a, b, alpha=ALPHA, beta=BETA, c=c),
               lambda f, a, b, c: gemm_reference.gemm(f, a, b, alpha, beta, c))  # fmt: skip
    if elementwise.converts(form, form.arithmetic):
        yield from _conversions(form)
    if form.rounding != "nearest":
        return
    for name, x, y in _dot_inputs(form):
        if name in ("ordinary-33", "wide-97", f"ordinary-{8192 + 77}", "nan-200"):
            yield Case("dot", name, form, (x, y), mp.dot, reduce_reference.dot)
    x = inputs.ordinary(form, (2, 8192 + 5), "sum")
    yield Case("reduce_sum", "ordinary-2x8197", form, (x,), lambda x: x.sum(axis=-1),
               lambda f, x: reduce_reference.over_rows(f, "sum", x))  # fmt: skip
    yield from _short_products(form)


def _hostile(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    return [p.reshape(shape) for p in inputs.hostile(form, int(np.prod(shape)), seed)]


def _conversions(form: Format) -> Iterator[Case]:
    """Arrays in the parent's format and back."""
    parent = form.arithmetic
    x, y = (inputs.hostile(form, 5 * COUNT, f"astype {seed}") for seed in "xy")
    yield Case("astype", f"{parent.name}-hostile", form, (x,), lambda x: x.astype(parent),
               lambda f, x: convert.change_format(x, f, parent))  # fmt: skip
    yield Case("astype", f"products-of-{parent.name}-hostile", form, (x, y),
               lambda x, y: (x.astype(parent) * y.astype(parent)).astype(form),
               lambda f, x, y: convert.change_format(
                   elementwise_reference.elementwise(parent, "mul", x, y), parent, f))  # fmt: skip


def _short_products(form: Format) -> Iterator[Case]:
    alpha, beta, parent = _scalar(form, ALPHA), _scalar(form, BETA), form.arithmetic
    a, x, y = (inputs.ordinary(form, shape, n) for shape, n in (((5, 300), "a"), ((300,), "x"),
                                                                ((5,), "y")))  # fmt: skip
    yield Case("gemv", "alpha-beta-5x300", form, (a, x, y),
               lambda a, x, y: mp.gemv(a, x, alpha=ALPHA, beta=BETA, y=y),
               lambda f, a, x, y: reduce_reference.gemv(f, a, x, alpha, beta, y))  # fmt: skip
    yield Case("gemv", "transposed-5x300", form, (a, y), lambda a, x: mp.gemv(a, x, trans=True),
               lambda f, a, x: reduce_reference.gemv(f, [p.T for p in a], x))  # fmt: skip
    special = inputs.with_specials(a, "gemv", (np.inf, np.nan, -np.inf))
    yield Case("gemv", "short-matrix-5x300", form, (special, x),
               lambda a, x: mp.gemv(a, x.astype(parent)),
               lambda f, a, x: reduce_reference.gemv(parent, a, x))  # fmt: skip
    for name, (m, n, k) in (("slabs-3x2x1100", (3, 2, 1100)), ("ordinary-40x35x9", (40, 35, 9))):
        a, b = inputs.ordinary(form, (m, k), f"a {name}"), inputs.wide(form, (k, n), f"b {name}")
        yield Case("gemm", name, form, (a, b), mp.gemm, gemm_reference.gemm)
    at, bt = [p.T.copy() for p in a], [p.T.copy() for p in b]
    yield Case("gemm", "transposed-40x35x9", form, (at, bt),
               lambda a, b: mp.gemm(a, b, trans_a=True, trans_b=True),
               lambda f, a, b: gemm_reference.gemm(
                   f, [p.T for p in a], [p.T for p in b]))  # fmt: skip


@cache
def cases(name: str) -> tuple[Case, ...]:
    """All cases of one format."""
    form = formats.get(name)
    if form.coded:
        return tuple(_short(form))
    makers = (_elementwise, _vectors, _gemv, _gemm, _linalg, _gravity)
    return tuple(case for make in makers for case in make(form))


def selected(format_name: str | None, routine: str | None) -> list[Case]:
    """The cases of all formats, or of one format or routine."""
    names = [formats.get(format_name).name] if format_name else [*formats.NAMES, *formats.STORED]
    found = [c for name in names for c in cases(name) if routine in (None, c.routine)]
    if not found:
        known = sorted({c.routine for c in cases(names[0])})
        near = suggestion(str(routine), known)
        raise ArgumentError(f"routine: unknown {routine!r}{near}; routines: {', '.join(known)}")
    return found


# --- recorded digests --------------------------------------------------------------------


@cache
def recorded() -> dict[str, str]:
    """The digests in the package, by key."""
    text = resources.files("portmp").joinpath("data/digests.json").read_text()
    digests: dict[str, str] = json.loads(text)["digests"]
    return digests


def record(path: Path) -> int:
    """Write the host reference's digests of all cases to *path*; returns their number."""
    digests = {c.key: digest(c.host_result()) for c in selected(None, None)}
    data = {"definition": definition.VERSION, "digests": dict(sorted(digests.items()))}
    paths.replace_file(path, (json.dumps(data, indent=1) + "\n").encode())
    return len(digests)
