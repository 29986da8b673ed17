"""How far points are from the Mandelbrot set, by complex numbers, where float64 sees blocks.

Two widths about a point where three branches meet: at 1e-15 neighbours on the picture are the same
number in complex128, which draws blocks of them, at 1e-55 all are; quad-double (cqd) tells them
apart.

`python boundary.py` prints all four pictures, `python boundary.py FILE.png` draws them.
"""

import sys
from fractions import Fraction
from functools import cache

import numpy as np

import portmp as mp

MOST = 2000
CENTRE = (  # its orbit comes to a point that stays, after four steps
    "-0.101096363845622161025785445738622565463805442826253483876931177660780840740"
    "+0.956286510809141500771096057729977435809833336510529170034314321500524659066j"
)
WIDTHS = ("1e-15", "1e-55")
FORMATS = {"complex128": "float64", "cqd": "qd"}

TEMPLATE = """
${kernel()}
{
    const ${index} i = ${global_id(1)}, j = ${global_id(0)};
    if (i < m && j < n) {
        const ${part.value} right = ${part.from_real(f"({real})(j - n / 2)")};
        const ${part.value} up = ${part.from_real(f"({real})(m / 2 - i)")};
        const ${value} c = ${fma(load("step"), from_parts("right", "up"), load("centre"))};
        ${value} z = ${number(0)}, slope = ${number(0)};
        ${part.value} far = ${part.number(0)};
        int k = 0;
        while (k < most && ${part.limb("far", 0)} < 1e6) {
            slope = ${fma(mul(part.number(2), "z"), "slope", part.number(1))};
            z = ${fma("z", "z", "c")};
            far = ${real_part(mul("z", conj("z")))};
            ++k;
        }
        double pixels = 0;
        if (k < most) {
            const ${part.value} size = ${absolute("z")};
            const ${part.value} away = ${part.mul("size", part.log("size"))};
            const ${part.value} step = ${part.mul(absolute("slope"), load("step"))};
            const ${part.value} found = ${part.div("away", "step")};
            pixels = 2 * ${part.limb("found", 0)};
        }
        ${store("distance", "i", "j", "pixels")}
    }
}
"""


@cache
def boundary(form: str) -> mp.Kernel:
    """Distances from the set in pixels, 0 within it, of the points around the centre."""
    takes = f"centre: value, step: {FORMATS[form]}, most: int32, distance: out float64 [m, n]"
    return mp.Kernel(TEMPLATE, f"boundary({takes})", threads=("n", "m"), block=(8, 8), format=form)


def main(device: str | None = None, size: int = 32) -> tuple[mp.Array, ...]:
    """Distances at both widths, each in complex128 and in cqd."""
    return tuple(
        boundary(form)(CENTRE, Fraction(width) / size, MOST, m=size, n=size, device=device)
        for width in WIDTHS
        for form in FORMATS
    )


def shades(distance: mp.Array) -> np.ndarray:
    """From 0 on the set to 1 far from it."""
    return np.tanh(distance.to_float64()) ** 0.3


if __name__ == "__main__":
    if len(sys.argv) > 1:
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(2, 2, figsize=(10, 10), layout="tight")
        for axis, distance in zip(axes.flat, main(size=400), strict=True):
            axis.imshow(shades(distance), "bone", vmin=0, vmax=1)
            axis.axis("off")
        figure.savefig(sys.argv[1])
    else:
        lines = [
            ["".join("@%#*+=-:. "[int(9 * shade)] for shade in row) for row in shades(one)[::2]]
            for one in main()
        ]
        for left, right in zip(lines[0] + lines[2], lines[1] + lines[3], strict=True):
            print(left, right)
