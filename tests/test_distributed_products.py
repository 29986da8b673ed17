"""Products, factorisations and systems on several devices: the bits of one device's."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slow
import tiers
from test_distributed import HOST, check_same, drawn, team

import portmp as mp
from portmp import cli, definition, discovery
from portmp.distributed import factor, helpers, memory, products, tiles, transport
from portmp.distributed.layout import columns
from portmp.errors import LinAlgError, OutOfMemory, ShapeError, UnsupportedError
from portmp.routines.factor import small
from portmp.routines.ozaki.options import Auto

LAYOUTS = (mp.Rows(), mp.Replicated(), mp.BlockCyclic(16, 2, 2), mp.BlockCyclic(7, 4, 1))
SIZES = ("37 50 45", "1 20 33", "40 12 1", "3 0 4")
OTHERS = "other sizes, each with all pairs of layouts"


@pytest.mark.parametrize("sizes", slow.mostly_slow(SIZES, SIZES[:1], OTHERS))
@pytest.mark.parametrize("left", LAYOUTS, ids=repr)
def test_products(left: Any, sizes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of matrices in any two layouts, b's columns all at once or a few; with vectors."""
    m, k, n = map(int, sizes.split())
    a, b, c, x, y = (drawn(s, seed=i) for i, s in enumerate([(m, k), (k, n), (m, n), k, m]))
    devices = team(4)
    s, d, v, w = (mp.shard(one, devices) for one in (a, c, x, y))
    s = s.redistribute(left)
    for width in (4096, 8):
        monkeypatch.setattr(products, "COLUMNS", width)
        for right in LAYOUTS:
            check_same(s @ mp.shard(b, devices, right), a @ b)
    t = mp.shard(b, devices)
    check_same(mp.gemm(s, t, alpha=3, beta=2, c=d), mp.gemm(a, b, alpha=3, beta=2, c=c))
    check_same(s @ v, a @ x)
    check_same(w @ s, y @ a)
    check_same(v @ v, x @ x)
    check_same(mp.gemv(s, v, alpha=3, beta=2, y=w), mp.gemv(a, x, alpha=3, beta=2, y=y))
    check_same(mp.axpy("0.1", v, v), mp.axpy("0.1", x, x))
    check_same(s.T @ s, a.T @ a)
    check_same(mp.gemm(t, s, trans_a=True, trans_b=True), mp.gemm(b, a, trans_a=True, trans_b=True))
    check_same(mp.gemv(s, w, trans=True), mp.gemv(a, y, trans=True))


def test_transposes_by_letters() -> None:
    """N, T and C, of complex numbers conjugated; a matrix in a shorter format beside a vector."""
    a, b = (mp.array(drawn((5, 5), seed=i).to_float64() * (1 + 2j)) for i in (1, 2))
    s, t = mp.shard(a, team(2)), mp.shard(b, team(2), mp.BlockCyclic(2, 1, 2))
    for how in ("N", "T", "C"):
        options: dict[str, Any] = {"trans_a": how, "trans_b": how}
        check_same(mp.gemm(s, t, **options), mp.gemm(a, b, **options))
        check_same(mp.gemv(s, mp.shard(b[0], team(2)), trans=how), mp.gemv(a, b[0], trans=how))
    short, x = drawn((9, 7), "slfp64in48b"), drawn(7, "float64")
    check_same(mp.gemv(mp.shard(short, team(2)), mp.shard(x, team(2))), mp.gemv(short, x))


METHODS: tuple[dict[str, str], ...] = (
    {"method": "ozaki1"},
    {"method": "ozaki2"},
    {"rounding": "correct"},
    {"accuracy": "fast"},
)


@pytest.mark.parametrize(
    "options", slow.mostly_slow(METHODS, METHODS[1:2], "other methods"), ids=repr
)
def test_methods(options: dict[str, str]) -> None:
    """Slices, residues, correct rounding, on devices of two kinds."""
    a, b = drawn((20, 30)), drawn((30, 15), seed=2)
    s, t = (mp.shard(x, team(3, HOST), mp.Rows(3)) for x in (a, b))
    check_same(mp.gemm(s, t, **options), mp.gemm(a, b, **options))


@slow.slow("products of elements that are judged are large")
@pytest.mark.parametrize("layout", (mp.Rows(), mp.BlockCyclic(32, 2, 2)), ids=repr)
def test_judged_as_the_whole(layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts with fewer rows than products by integers have are made by them all the same."""
    monkeypatch.setattr(products, "COLUMNS", 100)
    a, b = drawn((260, 270), "qd"), drawn((270, 265), "qd", 2)
    a[3] *= 1e200
    devices = team(4)
    s = mp.shard(a, devices, layout) @ mp.shard(b, devices)
    check_same(s, a @ b)
    direct = mp.gemm(a, b, method="direct")
    assert any((x != y).any() for x, y in zip(s.to_limbs(), direct.to_limbs(), strict=True))


def test_refused() -> None:
    """Shapes that do not fit, arguments that are for one device."""
    a = drawn((4, 6))
    s = mp.shard(a, team(2))
    with pytest.raises(ShapeError, match="cannot be multiplied"):
        s @ s
    with pytest.raises(UnsupportedError, match=r"x\.gather"):
        mp.gemm(s, s, bound=True)
    with pytest.raises(ShapeError, match="square"):
        mp.linalg.cholesky(s)


# --- factorisations -----------------------------------------------------------------------------

CUTS = (mp.Rows(), mp.BlockCyclic(16, 1, 3), mp.BlockCyclic(20, 3, 1))
SHAPES = ("97 97", "97 130", "130 97", "3 3")
FORMATS = slow.mostly_slow(["dd", "ts", "float64"], ["dd"], "another format")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shape", slow.mostly_slow(SHAPES, SHAPES[:1], "other shapes"))
@pytest.mark.parametrize("layout", slow.mostly_slow(CUTS, CUTS[1:2], "other layouts"), ids=repr)
def test_factors(layout: Any, shape: str, form: str) -> None:
    """LU and QR in all their forms; several panels, which different devices make."""
    a = drawn([*map(int, shape.split())], form)
    s = mp.shard(a, team(3), layout)
    found, wanted = mp.linalg.lu_factor(s), mp.linalg.lu_factor(a)
    check_same(found.lu, wanted.lu)
    check_same(found.piv, wanted.piv)
    for indices in (False, True):
        both = mp.linalg.lu(s, p_indices=indices), mp.linalg.lu(a, p_indices=indices)
        for one, other in zip(*both, strict=True):
            check_same(one, other)
    for mode in ("reduced", "complete"):
        for one, other in zip(mp.linalg.qr(s, mode), mp.linalg.qr(a, mode), strict=True):
            check_same(one, other)
    check_same(mp.linalg.qr(s, "r"), mp.linalg.qr(a, "r"))


def test_halves_that_end_within_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of several panels, the second half of which two devices have."""
    monkeypatch.setattr(tiles, "ROUNDS", 1)
    a = drawn((160, 160))
    s = mp.shard(a, team(2))
    assert tiles.placement(a.shape, 2).axes[1].block == 64
    check_same(mp.linalg.lu_factor(s).lu, mp.linalg.lu_factor(a).lu)
    check_same(mp.linalg.cholesky(s @ s.T), mp.linalg.cholesky(a @ a.T))
    for one, other in zip(mp.linalg.qr(s), mp.linalg.qr(a), strict=True):
        check_same(one, other)


SCALED = slow.mostly_slow(["float32", "qs", "dd", "cdd"], ["float32"], "another format")


@pytest.mark.parametrize("form", SCALED)
def test_least_squares(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By all devices, also of scaled columns, which those of float32 are; the rank, and s."""
    real = form.removeprefix("c")
    a, b = drawn((90, 70), real), drawn((90, 3), real, 2)
    if form != real:
        a, b = (x + 1j * drawn(x.shape, real, 3) for x in (a, b))
    small = a * 1
    small[:, 65] = small[:, 65] * mp.array("1e-20" if "float" in form else "1e-250", real)
    dependent = a * 1
    dependent[:, 65] = a[:, 64]
    gathered: list[str] = []
    alone = factor._alone
    monkeypatch.setattr(
        factor, "_alone", lambda f, *x, **y: gathered.append(f.__name__) or alone(f, *x, **y)
    )
    s, t = mp.shard(a, team(3), mp.BlockCyclic(16, 1, 3)), mp.shard(b, team(3))
    for x in (a, small):
        for one, other in zip(mp.linalg.qr(mp.shard(x, like=s)), mp.linalg.qr(x), strict=True):
            check_same(one, other)
    for side, cut in ((b, t), (b[:, 0], mp.shard(b[:, 0], team(3)))):
        found, wanted = mp.linalg.lstsq(s, cut), mp.linalg.lstsq(a, side)
        check_same(found.x, wanted.x)
        check_same(found.residuals, wanted.residuals)
        assert found.rank == wanted.rank == 70
    assert not gathered
    found = mp.linalg.lstsq(mp.shard(dependent, like=s), t)
    check_same(found.x, mp.linalg.lstsq(dependent, b).x)
    assert found.rank == 69 and gathered == ["lstsq"]
    few = mp.shard(a[:, :4], team(2))
    check_same(mp.linalg.lstsq(few, mp.shard(b, team(2))).s, mp.linalg.svdvals(a[:, :4]))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("layout", slow.mostly_slow(CUTS, CUTS[1:2], "other layouts"), ids=repr)
def test_systems(layout: Any, form: str) -> None:
    """By LU and by Cholesky's factors; many right-hand sides and one."""
    n = 97
    a, b = drawn((n, n), form), drawn((n, 5), form, 2)
    p = a @ a.T
    s, t, d = (mp.shard(x, team(3), layout) for x in (a, b, p))
    check_same(mp.linalg.solve(s, t), mp.linalg.solve(a, b))
    check_same(mp.linalg.solve(s, mp.shard(b[:, 0], team(3))), mp.linalg.solve(a, b[:, 0]))
    check_same(mp.linalg.cholesky(d), mp.linalg.cholesky(p))
    check_same(mp.linalg.cholesky(d, upper=True), mp.linalg.cholesky(p, upper=True))
    positive = {"assume_a": "pos"}
    check_same(mp.linalg.solve(d, t, **positive), mp.linalg.solve(p, b, **positive))


def test_systems_of_complex_numbers() -> None:
    """The same of complex matrices, warnings of weak pivots too."""
    n = 70
    a, b = (drawn(s) + 1j * drawn(s, seed=3) for s in ((n, n), (n, 3)))
    p = a @ mp.conj(a).mT
    s, t, d = (mp.shard(x, team(2)) for x in (a, b, p))
    check_same(mp.linalg.solve(s, t), mp.linalg.solve(a, b))
    for found, wanted in zip(mp.linalg.lu(s), mp.linalg.lu(a), strict=True):
        check_same(found, wanted)
        assert found.dtype is wanted.dtype
    for upper in (False, True):
        found = mp.linalg.cholesky(d, upper=upper)
        check_same(found, mp.linalg.cholesky(p, upper=upper))
        how = {"assume_a": "pos", "lower": not upper}
        check_same(mp.linalg.solve(d, t, **how), mp.linalg.solve(p, b, **how))
    a[5] = a[6] * 3j
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mp.linalg.solve(mp.shard(a, team(2)), t)
        mp.linalg.solve(a, b)
    assert len({str(one.message) for one in caught}) == 1 and len(caught) == 2


def test_large_systems_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors of which a device takes a few rows at once."""
    a, b = drawn((97, 97)), drawn((97, 3), seed=2)
    monkeypatch.setattr(tiles.ColumnSteps, "rows_at_once", lambda self, columns: 40)
    s, t = (mp.shard(x, team(2)) for x in (a, b))
    check_same(mp.linalg.solve(s, t), mp.linalg.solve(a, b))


@slow.slow("products within factors that are made by integers are large")
@pytest.mark.parametrize("scale", [1.0, 1e200])
def test_products_by_integers_within(scale: float) -> None:
    """Also where elements are left, for which all is done again."""
    a = drawn((600, 600), "td")
    a[7] *= scale
    s = mp.shard(a, team(2), mp.BlockCyclic(64, 1, 2))
    check_same(mp.linalg.lu_factor(s).lu, mp.linalg.lu_factor(a).lu)
    p, d = a @ a.T, s @ s.T
    check_same(mp.linalg.cholesky(d), mp.linalg.cholesky(p))
    check_same(mp.linalg.qr(s, "r"), mp.linalg.qr(a, "r"))


def test_products_within_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device's columns alone are too few for integers, those of all are not."""
    monkeypatch.setattr(definition, "MANY", (2**19,) * 4)
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    a, b = drawn((256, 256)), drawn((256, 256), seed=2)
    s, t = (mp.shard(x, team(3)) for x in (a, b))
    check_same(mp.linalg.solve(s, t), mp.linalg.solve(a, b))
    check_same(mp.linalg.qr(s, "r"), mp.linalg.qr(a, "r"))


def test_what_is_left_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the levels of factors, as on one device, each time that it comes."""
    rng, method = np.random.default_rng(3), Auto(smallest=8)
    seen: list[bool] = []
    x = rng.standard_normal((160, 160)) * 2.0 ** rng.integers(-14, 15, (160, 160))
    left = tiles.ColumnSteps.left

    def told(steps: Any) -> bool:
        seen.append(left(steps))
        return seen[-1]

    monkeypatch.setattr(tiles.ColumnSteps, "left", told)
    for form, times in (("dd", 3), ("cdd", 1)):
        a = mp.array(x if form == "dd" else x + 1j * x.T, form, slow.first_device())
        s, wanted = mp.shard(a, team(2)), mp.linalg.lu_factor(a, method=method)
        for _ in range(times):
            found = mp.linalg.lu_factor(s, method=method)
            check_same(found.lu, wanted.lu)
            check_same(found.piv, wanted.piv)
    check_same(mp.linalg.qr(s, "r", method=method), mp.linalg.qr(a, "r", method=method))
    assert len(seen) == 5 and any(seen)


ALONE: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda x: mp.linalg.eigh(x + x.T),
    "svd": mp.linalg.svd,
    "lstsq": lambda x: mp.linalg.lstsq(x, x).x,
    "inv": mp.linalg.inv,
    "lu_solve": lambda x: mp.linalg.lu_solve(mp.linalg.lu_factor(x), x),
    "refine": lambda x: mp.linalg.solve(x, x.T, refine=True),
    "certify": lambda x: mp.linalg.solve(x, x.T, certify=True),
    "sym": lambda x: mp.linalg.solve(x + x.T, x, assume_a="sym"),
    "triangular": lambda x: mp.linalg.solve_triangular(x, x),
    "zeros": lambda x: mp.linalg.lstsq(x * 0, x).x,
}


@pytest.mark.parametrize(
    "name", slow.mostly_slow(ALONE, ["lu_solve", "certify"], "other functions")
)
def test_done_on_one_device(name: str) -> None:
    """Gathered, and cut up as the operand is; so is what meets a device without kernels."""
    a = drawn((6, 6))
    found, wanted = ALONE[name](mp.shard(a, team(2), mp.BlockCyclic(2, 1, 2))), ALONE[name](a)
    both = [x if isinstance(x, tuple) else (x,) for x in (found, wanted)]
    for one, other in zip(*both, strict=True):
        if isinstance(other, tuple):
            assert one == other
            continue
        check_same(one, other)
        assert len(one.devices) == 2
    mixed = mp.shard(a, team(2, HOST))
    check_same(mp.linalg.solve(mixed, mixed), mp.linalg.solve(a, a))
    check_same(mp.linalg.qr(mixed).Q, mp.linalg.qr(a).Q)


def test_others_help_in_large_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those within eigenvalues and singular values, of which each device makes some columns."""
    monkeypatch.setattr(definition, "MANY", (2**15,) * 4)
    monkeypatch.setattr(definition, "BY_INTEGERS", (16,) * 4)
    monkeypatch.setattr(helpers, "LEAST", 2**17)
    helped: list[int] = []
    together = transport.together

    def noted(work: Any, devices: Any) -> Any:
        helped.append(len(devices))
        return together(work, devices)

    monkeypatch.setattr(transport, "together", noted)
    a = drawn((70, 70))
    s = mp.shard(a, team(3))
    for one, other in zip(mp.linalg.eigh(s), mp.linalg.eigh(a), strict=True):
        check_same(one, other)
    assert helped.count(3) >= 8
    check_same(mp.linalg.svdvals(s), mp.linalg.svdvals(a))


def test_what_one_device_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that are done on one say so, by how much it is short, and what fits."""
    s = mp.shard(drawn((40, 40)), team(2))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(type(s.devices[0]), "free_memory", lambda self: 20_000)
    told = (
        "eigvalsh: of an array on several devices .*takes 25600 bytes on .*, 5600 more than is .*"
        "; a device with 25600 bytes free would fit, or here 31 of its rows"
    )
    with pytest.raises(OutOfMemory, match=told):
        mp.linalg.eigvalsh(s)
    with pytest.raises(
        OutOfMemory, match=r"shard: float64 .*, 18400 more than is free: .* one device"
    ):
        mp.shard(np.zeros((2, 2400)), team(1), format="float64")


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_errors_and_warnings_are_those_of_one_device(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Singular, numerically singular, not positive definite: the same words, and the same of
    kernels that GPUs have for few rows."""
    device = discovery.get(slow.first_device())
    properties = replace(device.properties, kind=kind, warp_size=small.WARP)
    monkeypatch.setattr(device, "properties", properties)
    a = drawn((60, 60))
    a[5] = a[6] * 3
    zero = a * 1
    zero[:, 40] = 0
    minor = a @ a.T + mp.eye(60, format="dd")
    minor[50, 50] = -1
    positive = {"assume_a": "pos"}
    for x, options in ((a, {}), (zero, {}), (minor, positive)):
        told = []
        for given in (x, mp.shard(x, team(3))):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    mp.linalg.solve(given, given, **options)
                    told.append([str(one.message) for one in caught])
                except LinAlgError as error:
                    told.append([str(error)])
        assert told[0] == told[1] and told[0]


def test_factors_are_made_by_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels go round, and nobody has the whole matrix."""
    made: list[int] = []
    panel = factor.Lu.panel

    def noted(self: Any, w: Any, first: int, end: int, columns: slice) -> None:
        made.extend(self.part(w, slice(first, w.rows), slice(first, end)).local)
        panel(self, w, first, end, columns)

    monkeypatch.setattr(factor.Lu, "panel", noted)
    a = drawn((130, 130))
    s = mp.shard(a, team(2))
    check_same(mp.linalg.lu_factor(s).lu, mp.linalg.lu_factor(a).lu)
    assert made == [0, 1, 0, 1, 0]
    check_same(mp.linalg.qr(s, "r"), mp.linalg.qr(a, "r"))
    check_same(mp.linalg.cholesky(s @ s.T), mp.linalg.cholesky(a @ a.T))


@slow.slow("the interpreter runs a factorisation")
@pytest.mark.parametrize("routine", ["lu", "qr"])
def test_nothing_is_sent_that_was_never_written(routine: str) -> None:
    """The interpreter tells of each; last panels are short."""
    device = tiers.interpreted("emulated:gfx1100").name
    a = drawn((100, 100), "float64")
    s = mp.shard(a, [device] * 2)
    if routine == "lu":
        check_same(mp.linalg.lu_factor(s).lu, mp.linalg.lu_factor(a).lu)
    else:
        check_same(mp.linalg.qr(s, "r"), mp.linalg.qr(a, "r"))


def test_the_next_block_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its device updates it before its other columns, which wait until it was sent."""
    steps, w = _steps(2, 5)
    done: list[Any] = []
    sent: list[int] = []
    monkeypatch.setattr(steps, "asked", lambda x, i: lambda: sent.append(i))

    def noted(columns: slice) -> None:
        c = steps.part(w, slice(0, w.rows), columns)

        def act(mine: tiles.Columns, first: int) -> None:
            for i in mine.local:
                steps.factor_at(w, i)
            done.append((columns.start, *mine.local, first))

        steps.ahead(c, act)

    noted(slice(32, 160))
    assert done == [(32, 1, 0), (32, 0, 32)]  # device 1 still owes what follows its block
    noted(slice(48, 64))  # within that block
    assert done[2:] == [(48, 1, 0)]
    del done[:]
    noted(slice(64, 160))
    assert done == [(64, 0, 0), (32, 1, 32), (64, 1, 32)]
    steps.settle()
    assert done[3:] == [(64, 0, 32)] and steps.wide == 0 and steps.owed is None
    assert sent == [1, 0, 1, 0, 1]  # once for what device 1 did in two parts, once for device 0


def _steps(devices: int, blocks: int) -> tuple[tiles.ColumnSteps, tiles.Columns]:
    """Steps of a matrix of so many blocks of columns, and it."""
    x = mp.shard(drawn((96, 32 * blocks)), team(devices))
    place = columns(x.shape, devices, 32)
    w = tiles.matrix(x.placed(place, x.queues).views, place)
    return tiles.ColumnSteps(w, x.format, None, x.queues, waits=False), w


def test_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same work on one and on two parts of a device: its report is one, and bits are equal."""
    device, file = slow.first_device(), tmp_path / "devices.json"
    words = ["--size", "40", "--runs", "1", "--experiment", "dot", "--format", "float64"]
    assert cli.main(["bench", "devices", "--device", device, *words, "-o", str(file)]) == 0
    experiments = json.loads(file.read_text())["devices"][0]["experiments"]
    assert [len(found["rows"]) for found in experiments.values()] == [2]
    rows = [row for found in experiments.values() for row in found["rows"]]
    assert all(row["same_bits"] and row["ratio"] > 0 for row in rows)
    assert "times one" in capsys.readouterr().out
    assert cli.main(["bench", "devices", "--device", device, "--devices", HOST]) == 2
