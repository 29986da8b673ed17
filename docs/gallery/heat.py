"""Steps of the heat equation on a plate: a block reads its tile and a halo into block memory."""

import portmp as mp

TILE = 16

step = mp.Kernel(
    """
    ${kernel()}
    {
        ${shared(value, "u", tile + 2, tile + 2)}
        const int x = ${thread_id(0)} + 1, y = ${thread_id(1)} + 1;
        const ${index} row = ${global_id(1)}, column = ${global_id(0)};
        const int inside = row < m && column < n;
        if (inside) {
            u[y][x] = ${load("old", "row", "column")};
            if (y == 1 && row > 0)
                u[0][x] = ${load("old", "row - 1", "column")};
            if (y == ${tile} && row + 1 < m)
                u[${tile + 1}][x] = ${load("old", "row + 1", "column")};
            if (x == 1 && column > 0)
                u[y][0] = ${load("old", "row", "column - 1")};
            if (x == ${tile} && column + 1 < n)
                u[y][${tile + 1}] = ${load("old", "row", "column + 1")};
        }
        ${barrier()}
        if (inside) {
            ${value} next = u[y][x];
            if (row > 0 && row + 1 < m && column > 0 && column + 1 < n) {
                const ${value} beside = ${add("u[y][x - 1]", "u[y][x + 1]")};
                const ${value} above = ${add("u[y - 1][x]", "u[y + 1][x]")};
                const ${value} four = ${mul(number(4), "u[y][x]")};
                next = ${fma(load("rate"), sub(add("beside", "above"), "four"), "next")};
            }
            ${store("new", "row", "column", "next")}
        }
    }
    """,
    "step(rate: value, old: in [m, n], new: out [m, n])",
    threads=("n", "m"),
    block=(TILE, TILE),
    format="ds",
    tile=TILE,
)


def main(device: str | None = None) -> mp.Array:
    """Ten steps of a plate with one hot edge."""
    u = mp.zeros((40, 53), "ds", device)
    u[0] = 1
    for _ in range(10):
        u = step(rate="0.2", old=u)
    return u


if __name__ == "__main__":
    print(main()[1:4, 26].to_strings())
