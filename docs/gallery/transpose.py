"""A transposition through block memory: reads and writes of neighbours, no two in one bank."""

import portmp as mp

TILE, ROWS = 32, 8

transpose = mp.Kernel(
    """
    ${kernel()}
    {
        ${shared(real, "held", tile, tile + 1)}
        const int x = ${thread_id(0)}, y = ${thread_id(1)};
        const ${index} row = (${index})${block_id(1)} * ${tile} + y;
        const ${index} column = (${index})${block_id(0)} * ${tile} + x;
    % for k in range(0, tile, block_size(1)):
        if (row + ${k} < m && column < n)
            held[y + ${k}][x] = ${load("a", f"row + {k}", "column")};
    % endfor
        ${barrier()}
        const ${index} to_row = (${index})${block_id(0)} * ${tile} + y;
        const ${index} to_column = (${index})${block_id(1)} * ${tile} + x;
    % for k in range(0, tile, block_size(1)):
        if (to_row + ${k} < n && to_column < m)
            ${store("b", f"to_row + {k}", "to_column", f"held[x][y + {k}]")}
    % endfor
    }
    """,
    "transpose(a: in [m, n], b: out [n, m])",
    grid=("(n + tile - 1) // tile", "(m + tile - 1) // tile"),
    block=(TILE, ROWS),
    format="float64",
    tile=TILE,
)


def main(device: str | None = None) -> tuple[mp.Array, mp.Array]:
    """A matrix that is no multiple of the tile, and its transpose."""
    a = mp.array([[100 * i + j for j in range(45)] for i in range(70)], "float64", device)
    return a, transpose(a=a)


if __name__ == "__main__":
    given, turned = main()
    print("equal:", bool((turned == given.T).all()))
