"""What ``explain`` and ``last_product`` say of products."""

from __future__ import annotations

import numpy as np
import pytest

import portmp as mp
from portmp import definition
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.routines.ozaki.options import Auto


def numbers(shape: tuple[int, ...], form: str, device: Device, orders: float = 0) -> mp.Array:
    random = np.random.default_rng(sum(shape))
    scale = np.exp2(np.round(random.uniform(-orders, 0, shape)))
    return mp.array(random.standard_normal(shape) * scale, form, device) / 3


def test_explain_tells_levels_by_their_shares(device: Device) -> None:
    """Those of the elements that are made; the host's are the same."""
    a, b = numbers((9, 70), "dd", device, 30), numbers((70, 7), "dd", device)
    a[4:] = numbers((5, 70), "dd", device)
    found = mp.explain("gemm", a, b, method=Auto(smallest=1))
    assert found == mp.explain("matmul", a, b, method=Auto(smallest=1))
    host = mp.explain("gemm", a.to("host"), b.to("host"), method=Auto(smallest=1))
    assert [(p.share, p.bits) for p in host.parts] == [(p.share, p.bits) for p in found.parts]
    assert found.method == "auto" and found.shape == (9, 7) and found.steps == 70
    assert {p.bits for p in found.parts} <= {108, 126, None} and len(found.parts) > 1
    assert sum(p.share or 0 for p in found.parts) == pytest.approx(1)
    assert "8u^N T" in str(found) and "9 x 70 by 70 x 7 in dd, method auto" in str(found)
    assert all(p.engine and p.products for p in found.parts if p.bits)


def test_explain_says_why_products_are_direct(device: Device) -> None:
    a, x = numbers((9, 9), "dd", device), numbers((9, 9), "float64", device)
    least = definition.JUDGED["float64"][1]
    assert mp.explain("matmul", a, a).why == f"fewer than {least} rows, columns or steps"
    assert mp.explain("matmul", x, x).why == "float64 has no other"
    assert mp.explain("gemm", a, a, method=Auto(smallest=500)).why.startswith("fewer than 500")
    for method in (Auto(smallest=1), "ozaki1", "ozaki2"):
        none = mp.explain("gemm", a[:, :0], a[:0], method=method)
        assert (none.method, none.why) == ("direct", "there are no steps")
    fast = mp.explain("gemm", a, a, method=Auto(smallest=1), accuracy="fast")
    assert fast.method == "direct" and not fast.why
    assert mp.explain("gemm", a, a, method="ozaki2").parts[0].bits >= 106
    assert mp.explain("gemm", a, a, method="ozaki1").method == "ozaki1"


def test_explain_refuses_what_gemm_refuses(device: Device) -> None:
    a = numbers((9, 8), "dd", device)
    with pytest.raises(ArgumentError, match="routine: 'solve' given; gemm and matmul"):
        mp.explain("solve", a, a.T)
    with pytest.raises(ShapeError, match="cannot be multiplied"):
        mp.explain("matmul", a, a)
    with pytest.raises(ArgumentError, match="method"):
        mp.explain("matmul", a, a.T, method="best")
    with pytest.raises(ArgumentError, match="accuracy: 'silly' given"):
        mp.explain("gemm", a, a.T, accuracy="silly")
    with pytest.raises(ArgumentError, match="engine: 'x' given"):
        mp.explain("gemm", a, a.T, method=Auto(engine="x"))
    with pytest.raises(ShapeError, match=r"matmul: shapes .* products of matrices"):
        mp.explain("matmul", a, a[0])


def test_the_last_product(device: Device) -> None:
    """What was asked for last, by whatever name."""
    a = numbers((9, 70), "dd", device)
    mp.gemm(a, a.T, method=Auto(smallest=1))
    found = mp.last_product()
    assert found is not None and found.method == "auto" and found.shape == (9, 9)
    if not device.by_reference:
        assert found.parts[0].share == 1 and found.parts[0].bits == 108
    mp.gemm(a, a.T, method=Auto(smallest=10))
    assert (found := mp.last_product()) is not None and found.method == "direct"
    mp.gemm(a, a.T, method=Auto(smallest=1))
    mp.gemm(a, a.T, alpha=0, method=Auto(smallest=1))
    assert (found := mp.last_product()) is not None and found.method == "direct"
    a @ a.T
    assert (found := mp.last_product()) is not None and found.method == "direct"
    mp.gemm(a, a.T, rounding="correct")
    assert (found := mp.last_product()) is not None and found.method == "correctly rounded"


def test_products_of_complex_numbers(device: Device) -> None:
    """What is told of one that is made, by one real product of both parts or by several."""
    z = numbers((9, 9), "dd", device) * (1 + 2j)
    for method in ("direct", "ozaki2", Auto(smallest=1)):
        for a, b in ((z, z), (z, z.real), (z.real, z)):
            told = mp.explain("gemm", a, b, method=method)
            mp.gemm(a, b, method=method)
            assert (told.format, told.shape, told.steps) == ("cdd", (9, 9), 9)
            assert mp.last_product() == told
    assert mp.explain("matmul", z, z).why.startswith("fewer than")
    with pytest.raises(FormatError, match="td"):
        mp.explain("gemm", z, z.real.astype("td"))
