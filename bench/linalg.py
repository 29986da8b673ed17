#!/usr/bin/env python3
"""Refined solutions beside factors of float64, and sparse products: wall time with waiting.

``refine`` is ``solve(refine=True)`` in dd of a matrix with the condition number 10^10, beside the
float64 factors alone; ``csr`` the product of a sparse matrix of 27 elements a row with a vector:
bytes of elements, indices, borders and both vectors over the time. A script, as neither is a call
with a size alone: factorisations, systems and spectra are ``portmp bench linalg``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.bench import measure
from portmp.errors import PortmpError

REFINED = {"gpu": (1024, 4096, 8192, 16384), "cpu": (256, 512)}
CONDITION = 1e10
SPARSE = {"gpu": 1 << 20, "cpu": 1 << 16}
"""Rows of sparse matrices."""
SPARSE_FORMATS = (
    "float64",
    "slfp64in48b",
    "slfp64in32b",
    "dd",
    "td",
    "qd",
    "ds",
    "ts",
    "d+s",
    "cdd",
)


def refined(n: int, device: Device) -> dict[str, Any]:
    """``solve(refine=True)`` in dd beside the float64 factors, of a matrix of condition 10^10.

    The matrix is h d h, h reflections and d a diagonal: exact products are not needed.
    """
    form = "dd"
    rng = np.random.default_rng(n)
    sizes = mp.array(10.0 ** -np.linspace(0, np.log10(CONDITION), n), form, device)
    a = mp.zeros((n, n), form, device)
    mp.diagonal(a)[...] = sizes
    for _ in range(3):
        for axis in (0, 1):
            v = mp.array(rng.standard_normal(n), form, device)
            v = v / mp.nrm2(v)
            a = a - 2 * (v[:, None] * (v @ a) if axis == 0 else (a @ v)[:, None] * v)
    b = a @ mp.array(np.ones(n), form, device)
    first = a.limbs[0].copy()
    by = "direct"
    wait = device.queue.synchronize
    factors = measure.timed_by_wall(lambda: mp.linalg.lu_factor(first, method=by), wait).median
    seconds = measure.timed_by_wall(lambda: mp.linalg.solve(a, b, refine=True), wait).median
    x, info = mp.linalg.solve(a, b, refine=True)
    return {
        "routine": "refine",
        "format": form,
        "n": n,
        "seconds": seconds,
        "factors": factors,
        "ratio": seconds / factors,
        "error": float(abs(x - 1).max()),
        "info": info._asdict(),
    }


def sparse(form: str, device: Device) -> dict[str, Any]:
    """The product of 27 diagonals, those of a cube's neighbours, with a vector."""
    n = SPARSE[device.properties.kind]
    side = round(n ** (1 / 3))
    steps = [i + side * (j + side * k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    columns = np.arange(n)[:, None] + np.sort(steps)
    there = (columns >= 0) & (columns < n)
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    turned = 1 + 0.5j if formats.get(form).components > 1 else 1.0
    values = np.random.default_rng(1).standard_normal(int(starts[-1])) * turned
    parent = "float64" if form.startswith("slfp64") else form
    a = mp.sparse.csr_array((values, columns[there], starts), form, device, shape=(n, n))
    x = mp.array(np.random.default_rng(2).standard_normal(n) * turned, parent, device)
    y = mp.zeros(n, parent, device)
    seconds = measure.timed(device, lambda: a.times(x, out=y)).median
    host = a.to_scipy() @ x.to_numpy()
    size = a.nbytes + x.nbytes + y.nbytes
    return {
        "routine": "csr",
        "format": form,
        "n": n,
        "seconds": seconds,
        "bytes": size,
        "bandwidth": size / seconds,
        "error": float(np.abs(y.to_numpy() - host).max() / np.abs(host).max()),
    }


def others(device: Device, left: Callable[[], float]) -> Iterator[dict[str, Any]]:
    """Refinement and sparse products, as long as there is time."""
    kind = device.properties.kind
    for n in REFINED[kind]:
        if left() < 20:
            return
        row = refined(n, device)
        info = row["info"]
        print(
            f"refine    dd      n = {n:5}  {row['seconds']:9.4f} s  {row['ratio']:5.2f} times the "
            f"float64 factors  {info['corrections']} corrections  error {row['error']:.1e}",
            flush=True,
        )
        yield row
    for form in SPARSE_FORMATS:
        if left() < 10:
            return
        row = sparse(form, device)
        print(
            f"csr       {form:12} n = {row['n']}  {row['seconds'] * 1e6:9.1f} us  "
            f"{row['bandwidth'] / 1e9:8.1f} GB/s  error {row['error']:.1e}",
            flush=True,
        )
        yield row


def main(arguments: list[str] | None = None) -> int:
    """Measure, print lines, write JSON; 2 for a device that cannot be had."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--seconds", type=float, default=170, help="to be ended after")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    try:
        device = discovery.get(options.device)
        rows = list(others(device, lambda: options.seconds - (time.perf_counter() - begun)))
    except PortmpError as problem:
        print(f"bench/linalg.py: error: {problem}", file=sys.stderr)
        return 2
    if options.output:
        facts = {
            "device": device.properties.as_dict() | {"platform": device.platform},
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rows": rows,
        }
        options.output.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
