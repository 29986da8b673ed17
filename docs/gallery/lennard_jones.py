"""Lennard-Jones forces of all pairs in a periodic box, in any format.

Blocks read tiles of atoms into block memory. Distances are those to the nearest image; pairs beyond
the cut-off are left out. Units: epsilon = sigma = 1.
"""

from functools import cache

import numpy as np

import portmp as mp

BOX, CUT = 7.5, 2.5

TEMPLATE = """
${kernel()}
{
    ${shared(value, "tile", block_size(), 3)}
    const ${index} i = ${global_id()};
    const int t = ${thread_id()};
    ${value} x[3], r[3], sum[3];
% for d in range(3):
    sum[${d}] = ${number(0)};
    if (i < n)
        x[${d}] = ${load("position", "i", d)};
% endfor
    for (${index} first = 0; first < n; first += ${block_size()}) {
        ${barrier()}
% for d in range(3):
        if (first + t < n)
            tile[t][${d}] = ${load("position", "first + t", d)};
% endfor
        ${barrier()}
        for (int k = 0; k < ${block_size()} && first + k < n; ++k) {
            if (first + k == i || i >= n)
                continue;
% for d in range(3):
            r[${d}] = ${sub(f"x[{d}]", f"tile[k][{d}]")};
            if (${compare(f"r[{d}]", number(box / 2))} == 1)
                r[${d}] = ${sub(f"r[{d}]", number(box))};
            if (${compare(f"r[{d}]", number(-box / 2))} == -1)
                r[${d}] = ${add(f"r[{d}]", number(box))};
% endfor
            const ${value} plane = ${fma("r[0]", "r[0]", mul("r[1]", "r[1]"))};
            const ${value} square = ${fma("r[2]", "r[2]", "plane")};
            if (${compare("square", number(cut * cut))} == -1) {
                const ${value} s = ${div(number(1), "square")};
                const ${value} s3 = ${mul("s", mul("s", "s"))};
                const ${value} strength = ${mul(mul("s", "s3"), sub(add("s3", "s3"), number(1)))};
% for d in range(3):
                sum[${d}] = ${fma("strength", f"r[{d}]", f"sum[{d}]")};
% endfor
            }
        }
    }
% for d in range(3):
    if (i < n)
        ${store("force", "i", d, mul(number(24), f"sum[{d}]"))}
% endfor
}
"""


@cache
def forces(form: str) -> mp.Kernel:
    """The force on each atom; coordinates are from 0 to the box's."""
    takes = "forces(position: in [n, 3], force: out [n, 3])"
    return mp.Kernel(TEMPLATE, takes, threads="n", block=64, format=form, box=BOX, cut=CUT)


def main(device: str | None = None, form: str = "dd") -> tuple[mp.Array, mp.Array]:
    """Atoms near the points of a lattice, and the forces on them."""
    points = np.stack(np.indices((5, 5, 5)), axis=-1).reshape(-1, 3) * (BOX / 5)
    shaken = np.random.default_rng(1).integers(0, 2**28, points.shape) * 2.0**-30
    position = mp.array(points + shaken, form, device)
    return position, forces(form)(position)


if __name__ == "__main__":
    for form in ("float64", "dd", "qd"):
        print(form, "sum of all forces:", *main(form=form)[1].sum(axis=0).to_strings(3))
