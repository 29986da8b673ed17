"""Stacks of small matrices on GPUs' kernels, bit for bit the reference's, alone and in views."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tiers
from slow import mostly_slow, slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines.cholesky import launch as cholesky_launch
from portmp.routines.cholesky import reference as cholesky_reference
from portmp.routines.factor import panel, small
from portmp.routines.ldl import launch as ldl_launch
from portmp.routines.lu import launch as lu_launch
from portmp.routines.lu import reference as lu_reference
from portmp.routines.qr import launch as qr_launch
from portmp.routines.reference import Host
from portmp.routines.triangular.routine import dominant
from portmp.runtime.planes import allocate

FORMATS = ("float32", "float64", "ds", "dd", "d+s", "ts", "td", "qs", "qd", "qd2011", "ts2021")
SHAPES = ((1, 1), (7, 7), (16, 16), (17, 13), (9, 30), (32, 32), (64, 20))
"""Of each size of kernel: whole, with rows and columns to spare; wide, tall ..."""
TWO_PANELS = ((64, 64), (33, 64), (64, 33), (50, 47))
"""... of two panels in one launch; whole, wide, tall, with rows and columns to spare."""
WHOLE = ("dd", "d+s", "ts")
"""Formats of all sizes; every other format has a size of each kind."""
DEFAULT, WIDE, NARROW = "default", *tiers.INTERPRETED
Sizes = dict[str, set[tuple[str, Any]]]
FAST: Sizes = {
    DEFAULT: {("dd", shape) for shape in ((1, 1), (16, 16), (9, 30), (64, 64))}
    | {("d+s", (50, 47)), ("ts", (17, 13)), ("qd", (7, 7))},
    WIDE: {("dd", (9, 30))},
    NARROW: {("ds", (17, 13))},
}
FAST_CHOLESKY: Sizes = {
    DEFAULT: {("dd", 16), ("dd", 64), ("qs", 7), ("d+s", 40)},
    WIDE: {("ds", 40)},
    NARROW: {("dd", 16)},
}
FAST_PANELS: Sizes = {DEFAULT: {("dd", (130, 32))}, WIDE: set(), NARROW: set()}
FAST_QR: Sizes = {
    DEFAULT: {("dd", (7, 7)), ("dd", (40, 33)), ("d+s", (20, 64))},
    WIDE: {("dd", (7, 7))},
    NARROW: set(),
}


OTHERS = slow("kernels of other sizes and formats are one text")
WAVES = "waves of 64 and of 32 lanes have one of two tests each"


def pairs(sizes: Sequence[Any], fast: Sizes) -> pytest.MarkDecorator:
    """Where, formats and sizes: on the default device all sizes of ``WHOLE``, of each other format
    every third; interpreted every ninth, which take most of their time to be compiled. All but the
    *fast* ones are in the slow tier."""
    found = []
    for at, where in enumerate(fast):
        for i, form in enumerate(FORMATS):
            for j, size in enumerate(sizes):
                quick = (form, size) in fast[where]
                if where == DEFAULT:
                    taken = form in WHOLE or (i + j) % 3 == 0
                else:
                    taken = (i + j + at) % 9 == 0 and not form.startswith("q")
                if quick or taken:
                    name = "x".join(map(str, size)) if isinstance(size, tuple) else str(size)
                    marks = () if quick else OTHERS
                    case = pytest.param(where, form, size, marks=marks, id=f"{where}-{form}-{name}")
                    found.append(case)
    assert sum(map(len, fast.values())) == sum(not case.marks for case in found)
    return pytest.mark.parametrize(("anywhere", "form", "size"), found, indirect=["anywhere"])


@pytest.fixture
def gpu(anywhere: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device that takes kernels as GPUs do: a CPU of OpenCL is taken for one."""
    if anywhere.properties.kind == "cpu":
        anywhere = tiers.cpu()
        properties = replace(anywhere.properties, kind="gpu", warp_size=small.WARP)
        monkeypatch.setattr(anywhere, "properties", properties)
    return anywhere


def stack_of(form: Format, shape: tuple[int, int], name: str) -> list[Host]:
    """Matrices: ordinary; with columns of zeros; with ties; of columns that depend; not finite."""
    m, n = shape
    hosts = [[*inputs.ordinary(form, shape, f"{name} {i}")] for i in range(5)]
    hosts[1] = [np.where(np.arange(n) % 3 == 1, 0, p).astype(p.dtype) for p in hosts[1]]
    signs = np.where(hosts[2][0] < 0, -1.0, 1.0)
    hosts[2] = [(signs if i == 0 else 0 * p).astype(p.dtype) for i, p in enumerate(hosts[2])]
    hosts[3] = [np.repeat(p[:, :1], n, axis=1) for p in hosts[3]]
    hosts[4][0][m // 2, n // 2] = math.nan
    hosts[4][0][0, n - 1] = math.inf
    finite = np.isfinite(hosts[4][0])
    hosts[4] = [
        p if i == 0 else np.where(finite, p, 0).astype(p.dtype) for i, p in enumerate(hosts[4])
    ]
    return hosts


def stacked(hosts: Sequence[Host]) -> Host:
    return [np.stack(planes) for planes in zip(*hosts, strict=True)]


def bits(host: Host) -> list[bytes]:
    return [np.ascontiguousarray(p).tobytes() for p in host]


def same(found: Host, wanted: Host) -> bool:
    """The same bits, but for which NaN it is."""
    pairs = zip(found, wanted, strict=True)
    return all(
        bool((np.isnan(x) == np.isnan(y)).all())
        and bits([x[~np.isnan(x)]]) == bits([y[~np.isnan(y)]])
        for x, y in pairs
    )


def both_ways(form: Format, planes: Host, device: Device) -> Iterator[mp.Array]:
    """Matrices whose rows are nearer in memory, then the same with columns nearer."""
    yield mp.from_limbs(planes, form, device)
    turned = [p.swapaxes(1, 2).copy() for p in planes]
    yield mp.from_limbs(turned, form, device).transpose(0, 2, 1)


def compare_lu(
    device: Device, form: Format, shape: tuple[int, int], name: str, overwrite: bool = False
) -> tuple[mp.Array, Host]:
    """Factors and pivots of each matrix with the reference's; the last stack, and its factors."""
    hosts = stack_of(form, shape, name)
    wanted = [lu_reference.factor(form, host) for host in hosts]
    given = stacked(hosts)
    for a in both_ways(form, given, device):
        found = mp.linalg.lu_factor(a, overwrite_a=overwrite)
        assert same(found.lu.to_limbs(), stacked([one.factors for one in wanted]))
        assert (found.piv.to_numpy() == np.stack([one.pivots for one in wanted])).all()
        assert overwrite or bits(a.to_limbs()) == bits(given)
    return a, found.lu.to_limbs()


def compare_qr(device: Device, form: Format, shape: tuple[int, int], name: str) -> None:
    """Q and R with those of the host."""
    given = stacked(stack_of(form, shape, name))
    host = mp.linalg.qr(mp.from_limbs(given, form, "host"))
    for a in both_ways(form, given, device):
        found = mp.linalg.qr(a)
        assert same(found.Q.to_limbs(), host.Q.to_limbs())
        assert same(found.R.to_limbs(), host.R.to_limbs())


@pairs(SHAPES + TWO_PANELS, FAST)
def test_lu(gpu: Device, form: str, size: tuple[int, int]) -> None:
    """Factors and pivots of each matrix; rows or columns nearer; in the matrix's memory."""
    a, factors = compare_lu(gpu, formats.get(form), size, "small lu")
    mp.linalg.lu_factor(a, overwrite_a=True)
    assert same(a.to_limbs(), factors)


@pairs((1, 7, 16, 20, 32, 33, 40, 64, 70), FAST_CHOLESKY)
def test_cholesky(gpu: Device, form: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower and upper factors, in place, of triangles beside anything; which is not positive."""
    monkeypatch.setattr(cholesky_launch, "MANY", 5)
    f, n = formats.get(form), size
    hosts = [dominant(f, n, f"small cholesky {i}") for i in range(5)]
    wanted = stacked([cholesky_reference.lower(f, host) for host in hosts])
    given = stacked(hosts)
    given[0][:, *np.triu_indices(n, 1)] = math.nan
    a = mp.from_limbs(given, f, gpu)
    upper = mp.linalg.cholesky(a.transpose(0, 2, 1), upper=True)
    assert bits(mp.linalg.cholesky(a).to_limbs()) == bits(wanted)
    assert bits([p.swapaxes(1, 2) for p in upper.to_limbs()]) == bits(wanted)
    assert mp.linalg.cholesky(a, overwrite_a=True) is a
    assert bits(a.to_limbs()) == bits(wanted)
    given[0][3, n // 2, n // 2] = -1
    message = rf"not positive definite in entry 3 .* minor of order {n // 2 + 1} is"
    with pytest.raises(mp.errors.LinAlgError, match=message):
        mp.linalg.cholesky(mp.from_limbs(given, f, gpu))


@pairs([(n, rows) for n in (70, 130) for rows in cholesky_launch.ROWS], FAST_PANELS)
def test_cholesky_panels(
    gpu: Device, form: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block and the rows below it at once, in one and several blocks of threads; views.

    With so many rows of a block of threads, or as many as the format and the device have.
    """
    f, (n, rows) = formats.get(form), size
    most = max(r for r in cholesky_launch.panel_rows(f, gpu) if r <= rows)
    monkeypatch.setattr(cholesky_launch, "panel_rows", lambda *_: [most])
    hosts = [dominant(f, n, f"cholesky panels {i}") for i in range(2)]
    wanted = stacked([cholesky_reference.lower(f, host) for host in hosts])
    given = stacked(hosts)
    a = mp.from_limbs(given, f, gpu)
    assert bits(mp.linalg.cholesky(a).to_limbs()) == bits(wanted)
    turned = mp.linalg.cholesky(a.transpose(0, 2, 1), upper=True, overwrite_a=True)
    assert bits([p.swapaxes(1, 2) for p in turned.to_limbs()]) == bits(wanted)
    for order in (5, n):
        given[0][1, order - 1, order - 1] = -1
        message = rf"not positive definite in entry 1 .* minor of order {order} is"
        with pytest.raises(mp.errors.LinAlgError, match=message):
            mp.linalg.cholesky(mp.from_limbs(given, f, gpu))
        given[0][1, order - 1, order - 1] = n


@pairs(
    [(1, 1), (7, 7), (16, 16), (9, 5), (5, 9), (60, 20), (40, 33), (20, 64), *TWO_PANELS], FAST_QR
)
def test_qr(gpu: Device, form: str, size: tuple[int, int]) -> None:
    """Q and R of matrices, one with columns of zeros, one whose columns depend; rows or columns
    nearer; a column that is not finite spreads as it does in the reference."""
    compare_qr(gpu, formats.get(form), size, "small qr")


@slow(
    "kernels of other sizes and formats are one text",
    unless=lambda p: (
        p["form"] == {"lu32": "dd", "qr64": "d+s"}.get(f"{p['factors']}{p['rows']}", "ts")
    ),
)
@pytest.mark.parametrize(("factors", "rows"), [("lu", 32), ("lu", 4096), ("qr", 64), ("qr", 4096)])
@pytest.mark.parametrize("form", FORMATS)
def test_panels_of_cpus(
    device: Device, form: str, factors: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In vectors by one core, and those of more rows than it takes by several: the same."""
    monkeypatch.setattr(panel, "ALONE", dict.fromkeys(panel.ALONE, rows))
    f = formats.get(form)
    for shape in ((70, 67) if factors == "lu" else (66, 34), (33, 7), (5, 41)):
        if factors == "lu":
            compare_lu(device, f, shape, "lu of CPUs", overwrite=True)
        else:
            compare_qr(device, f, shape, "qr of CPUs")


@pytest.mark.parametrize(
    ("anywhere", "n"),
    mostly_slow(
        [(DEFAULT, 8), (DEFAULT, 64), (NARROW, 8), (NARROW, 32)],
        [(DEFAULT, 64), (NARROW, 8)],
        "one size of each",
    ),
    indirect=["anywhere"],
)
def test_one_launch(gpu: Device, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack of small matrices is factored by one launch, whatever their size."""
    rng = np.random.default_rng(n)
    a = mp.array(rng.standard_normal((2, n, n)), "dd", gpu)
    spd = a @ a.transpose(0, 2, 1)
    out = allocate(a.format, a.shape, a.planes.queue)
    launched = []
    queue = type(a.planes.queue)
    launch = queue.launch

    def counted(self: object, kernel: object, *rest: object) -> object:
        launched.append(kernel)
        return launch(self, kernel, *rest)

    monkeypatch.setattr(queue, "launch", counted)
    for factor in (
        lambda: lu_launch.factor(a.planes, out, None),
        lambda: cholesky_launch.factor(spd.planes, None),
        lambda: qr_launch.factor(a.planes, None),
        lambda: ldl_launch.factor(spd.planes),
    ):
        launched.clear()
        factor()
        assert len(launched) == 1


@pytest.mark.parametrize(
    "anywhere", mostly_slow((DEFAULT, WIDE, NARROW), (DEFAULT, WIDE), WAVES), indirect=True
)
def test_more_matrices_than_a_block_has(gpu: Device) -> None:
    """Stacks that end within a block of threads, of views: every matrix as it is alone."""
    rng = np.random.default_rng(8)
    whole = mp.array(rng.standard_normal((13, 2, 24, 11)), "dd", gpu)
    view = whole[::-1, 1, 2:22:2, 10:0:-1]
    assert view.shape == (13, 10, 10)
    found = mp.linalg.lu_factor(view)
    x = mp.linalg.solve(view, whole[0, 0, :10, :3])
    square = view @ view.transpose(0, 2, 1)
    factor = mp.linalg.cholesky(square)
    for i in (0, 5, 12):
        one = mp.linalg.lu_factor(view[i].copy())
        assert bits(one.lu.to_limbs()) == bits(found.lu[i].to_limbs())
        assert (one.piv.to_numpy() == found.piv[i].to_numpy()).all()
        alone = mp.linalg.solve(view[i].copy(), whole[0, 0, :10, :3])
        assert bits(alone.to_limbs()) == bits(x[i].to_limbs())
        assert (mp.linalg.cholesky(square[i]) == factor[i]).all()
    permuted = mp.linalg.lu(view, p_indices=True)
    rebuilt = permuted.l @ permuted.u
    for i in range(13):
        rows = rebuilt[i].to_float64()[permuted.p.to_numpy()[i]]
        assert np.abs(rows - view[i].to_float64()).max() < 1e-14
    spoiled = view.copy()
    spoiled[7, :, 3] = 0
    with pytest.raises(mp.errors.LinAlgError, match="entry 7 of the stack: the pivot of column 3"):
        mp.linalg.solve(spoiled, whole[0, 0, :10, :3])


@slow("seconds of an interpreter")
def test_shapes_change_no_bits(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """However rows are cut into parts, and slots into groups."""
    f = formats.get("dd")
    host = stacked(stack_of(f, (20, 20), "cut"))
    found = set()
    for registers in (8, 32, 1024):
        for group in (1, 8, 64):
            monkeypatch.setattr(small, "REGISTERS", registers)
            monkeypatch.setattr(small, "GROUPS", group)
            one = mp.linalg.lu_factor(mp.from_limbs(host, f, gpu)).lu.to_limbs()
            found.add(b"".join(bits([np.nan_to_num(p) for p in one])))
    assert len(found) == 1


@pytest.mark.parametrize(
    "anywhere", mostly_slow((DEFAULT, WIDE, NARROW), (DEFAULT, NARROW), WAVES), indirect=True
)
def test_solve_of_larger_stacks(gpu: Device) -> None:
    """A stack of matrices that is smaller than that of right-hand sides: each goes with its own."""
    rng = np.random.default_rng(5)
    for stack, sides in (((), (3, 5, 1)), ((2, 1), (3, 5, 2))):
        a, b = rng.standard_normal((*stack, 5, 5)), rng.standard_normal(sides)
        on = [
            mp.linalg.solve(mp.array(a, "dd", d), mp.array(b, "dd", d)).to_limbs()
            for d in (gpu, discovery.get("host"))
        ]
        for mine, host in zip(*on, strict=True):
            assert mine.tobytes() == host.tobytes()
