"""Draws the documentation's pictures: ``python docs/pictures/draw.py [NAME ...]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

import portmp as mp

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "gallery"))


def mandelbrot(path: Path) -> None:
    """The Mandelbrot set 1e-25 and 1e-55 wide: what float64 sees, and what is there."""
    import mandelbrot as gallery

    figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
    titles = ["float64, 1e-25 wide", "dd", "float64, 1e-55 wide", "qd"]
    for axis, count, title in zip(axes, gallery.main(size=240), titles, strict=True):
        axis.imshow(gallery.shades(count), "magma", vmin=0, vmax=1)
        axis.set_title(title)
        axis.axis("off")
    figure.savefig(path, dpi=80)


def boundary(path: Path) -> None:
    """How near the set is, 1e-15 and 1e-55 wide: blocks, and what is there."""
    import boundary as gallery

    figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
    titles = ["complex128, 1e-15 wide", "cqd", "complex128, 1e-55 wide", "cqd"]
    for axis, distance, title in zip(axes, gallery.main(size=240), titles, strict=True):
        axis.imshow(gallery.shades(distance), "bone", vmin=0, vmax=1)
        axis.set_title(title)
        axis.axis("off")
    figure.savefig(path, dpi=80)


def cancellation(path: Path) -> None:
    """(x - 1)^7, multiplied out, close to its root."""
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    offsets = np.linspace(-0.012, 0.012, 401)
    for form, style in (("float64", ":"), ("dd", "-")):
        x = 1 + mp.array(offsets, form)
        y = mp.array([1], form)
        for coefficient in (-7, 21, -35, 35, -21, 7, -1):
            y = y * x + coefficient
        axis.plot(offsets, y.to_float64(), style, label=form)
    axis.set_xlabel("x - 1")
    axis.set_ylabel("x^7 - 7 x^6 + ... - 1")
    axis.legend()
    figure.savefig(path, dpi=80)


def lorenz(path: Path) -> None:
    """Lorenz's equations from the same start, by the same steps: how far formats are from qd."""
    step, steps = 2.0**-7, 128 * 150
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    paths = {}
    for form in ("float64", "dd", "td", "qd"):
        kernel = mp.Kernel(LORENZ, "lorenz(h: value, path: out [n])", grid=1, block=1, format=form)
        paths[form] = kernel(step, n=steps).astype("qd")
    for form in ("float64", "dd", "td"):
        off = np.abs((paths[form] - paths["qd"]).to_float64())
        axis.semilogy(np.arange(steps) * step, off, label=form, linewidth=0.8)
    axis.set_xlabel("time (the system's unit)")
    axis.set_ylabel("|x - x in qd|")
    axis.set_ylim(1e-50, 1e3)
    axis.legend()
    figure.savefig(path, dpi=80)


def ill_conditioned(path: Path) -> None:
    """Digits that formats keep of ill-conditioned problems: ``portmp demo linalg``."""
    from portmp import discovery
    from portmp.demos import linear_algebra

    found = linear_algebra.run(discovery.get(), linear_algebra.SITES, lambda text: None)
    linear_algebra.plot(path, found)


def measured(path: Path) -> None:
    """Digits and speed of products of matrices, portmp's and other libraries', as recorded."""
    from portmp.report import drawing, figures, page, subjects

    found, _ = subjects.read([FOLDER.parents[1] / "bench/devices/nvidia-h200-cuda.json"])
    (picture,) = figures.cover(subjects.sorted_by_device(found), list(recorded()))
    (FOLDER.parent / "measured.svg").write_text(drawing.alone(picture, page.data("style.css")))


def recorded() -> Iterator[tuple[str, str, float, str]]:
    """Products of matrices in files of results: whose, format, operations a second, the order."""
    results = FOLDER.parents[1] / "bench/results"
    (part,) = json.loads((results / "everyday-h200-2026-11-28.json").read_text())["devices"]
    for row in part["experiments"]["everyday"]["rows"]:
        for peer in ("NumPy float64", "CuPy float64", "mpmath") if row["call"] == "m @ m" else ():
            times = row["peers"].get(peer)
            if times and (row["format"] == "float64") == peer.endswith("float64"):
                rate, name = 2 * row["n"] ** 3 / times[1], peer.removesuffix(" float64")
                yield name + WHERE[name], row["format"], rate, f"n = {row['n']}"
    for row in json.loads((results / "linalg-peers-cpu-2026-11-26.json").read_text())["rows"]:
        if row["routine"] == "gemm":
            where = f"{row['library']}, 2 CPU cores"
            yield where, row["format"], row["rate"], f"{row['function']}, n = {row['n']}"


WHERE = {"NumPy": ", 16 CPU cores", "CuPy": "", "mpmath": ", 1 CPU core"}
"""What peers of everyday-h200-2026-11-28.json ran on."""

LORENZ = """
<%def name="slopes(k)">
    const ${value} dx${k} = ${mul(number(10), sub(f"y{k}", f"x{k}"))};
    const ${value} dy${k} = ${sub(mul(f"x{k}", sub(number(28), f"z{k}")), f"y{k}")};
    const ${value} dz${k} = ${sub(mul(f"x{k}", f"y{k}"), mul(number("8/3"), f"z{k}"))};
</%def>
${kernel()}
{
    const ${value} part = ${mul(load("h"), number("0.5"))};
    ${value} x = ${number(1)}, y = ${number(1)}, z = ${number(1)};
    for (${index} i = 0; i < n; ++i) {
        ${store("path", "i", "x")}
        const ${value} sixth = ${mul(load("h"), number("1/6"))};
        const ${value} x0 = x, y0 = y, z0 = z;
${slopes(0)}
% for k, width in ((1, "part"), (2, "part"), (3, load("h"))):
    % for c in "xyz":
        const ${value} ${c}${k} = ${fma(width, f"d{c}{k - 1}", c)};
    % endfor
${slopes(k)}
% endfor
% for c in "xyz":
        const ${value} inner${c} = ${mul(number(2), add(f"d{c}1", f"d{c}2"))};
        const ${value} sum${c} = ${add(add(f"d{c}0", f"d{c}3"), f"inner{c}")};
        ${c} = ${fma("sixth", f"sum{c}", c)};
% endfor
    }
}
"""

PICTURES: dict[str, Callable[[Path], None]] = {
    "mandelbrot": mandelbrot,
    "boundary": boundary,
    "cancellation": cancellation,
    "lorenz": lorenz,
    "ill_conditioned": ill_conditioned,
    "measured": measured,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name](FOLDER / f"{name}.png")
