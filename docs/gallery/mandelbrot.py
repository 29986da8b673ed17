"""The Mandelbrot set 1e-25 wide in double-double and 1e-55 wide in quad-double.

Both places are copies of the set beside c = i. float64 cannot tell their pixels apart: it sees one
point. `python mandelbrot.py` prints all four, `python mandelbrot.py FILE.png` draws them.
"""

import sys
from fractions import Fraction
from functools import cache

import numpy as np

import portmp as mp

MOST = 2000
PLACES = {  # centre and width: the centre's orbit comes back to 0 after 36 steps, and after 76
    "dd": (
        "-0.0000000000001320721783985673511439394726",
        "1.0000000000000126930363237363978163075208",
        "1e-25",
    ),
    "qd": (
        "0.0000000000000000000000000001173036586962842459733324404795498365612485",
        "0.9999999999999999999999999999887263190569437065233301605596576372394125",
        "1e-55",
    ),
}

TEMPLATE = """
${kernel()}
{
    const ${index} i = ${global_id(1)}, j = ${global_id(0)};
    if (i < m && j < n) {
        const ${value} right = ${from_real(f"({real})(j - n / 2)")};
        const ${value} up = ${from_real(f"({real})(m / 2 - i)")};
        const ${value} cx = ${fma("right", load("step"), load("x"))};
        const ${value} cy = ${fma("up", load("step"), load("y"))};
        ${value} x = ${number(0)}, y = ${number(0)}, xx = ${number(0)}, yy = ${number(0)};
        int k = 0;
        while (k < most && ${limb("xx", 0)} + ${limb("yy", 0)} <= 4) {
            y = ${fma(add("x", "x"), "y", "cy")};
            x = ${add(sub("xx", "yy"), "cx")};
            xx = ${mul("x", "x")};
            yy = ${mul("y", "y")};
            ++k;
        }
        ${store("count", "i", "j", "k")}
    }
}
"""
TAKES = "escape(x: value, y: value, step: value, most: int32, count: out int32 [m, n])"


@cache
def escape(form: str) -> mp.Kernel:
    """Steps until |z| > 2, at most *most*, of the points around x + iy."""
    return mp.Kernel(TEMPLATE, TAKES, threads=("n", "m"), block=(8, 8), format=form)


def main(device: str | None = None, size: int = 48) -> tuple[mp.PlainArray, ...]:
    """Counts of both places, each in float64 and in the format that it needs."""
    return tuple(
        escape(form)(x, y, Fraction(width) / size, MOST, m=size, n=size, device=device)
        for place, (x, y, width) in PLACES.items()
        for form in ("float64", place)
    )


def shades(count: mp.PlainArray) -> np.ndarray:
    """From 0, where points leave first, to 1, where they stay: a picture of logarithms."""
    more = count.to_numpy() - count.to_numpy().min()
    return np.log1p(more / 5) / np.log1p(MOST / 5)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(2, 2, figsize=(10, 10), layout="tight")
        for axis, count in zip(axes.flat, main(size=400), strict=True):
            axis.imshow(shades(count), "magma", vmin=0, vmax=1)
            axis.axis("off")
        figure.savefig(sys.argv[1])
    else:
        lines = [
            ["".join(".:-=+*#%@@"[int(9 * shade)] for shade in row) for row in shades(count)[::2]]
            for count in main()
        ]
        for left, right in zip(lines[0] + lines[2], lines[1] + lines[3], strict=True):
            print(left, right)
