"""y = a x + y in quad-double: the first kernel of the tutorial."""

import portmp as mp

axpy = mp.Kernel(
    """
    ${kernel()}
    {
        const ${index} i = ${global_id()};
        if (i < n) {
            const ${value} sum = ${fma(load("a"), load("x", "i"), load("y", "i"))};
            ${store("y", "i", "sum")}
        }
    }
    """,
    "axpy(a: value, x: in [n], y: inout [n])",
    threads="n",
    format="qd",
)


def main(device: str | None = None) -> mp.Array:
    """0.1 * 0.2 + 0.3, a thousand times."""
    x = mp.array(["0.2"] * 1000, "qd", device)
    y = mp.array(["0.3"] * 1000, "qd", device)
    axpy(a="0.1", x=x, y=y)
    return y


if __name__ == "__main__":
    print(main()[0].to_strings())
