"""Numbers that are stored in 32 bits, added in double-double."""

import portmp as mp

row_sums = mp.Kernel(
    """
    ${kernel()}
    {
        const ${index} row = ${block_id()};
        ${value} sum = ${number(0)};
        for (${index} j = ${thread_id()}; j < n; j += ${block_size()}) {
            const double one = ${load("a", "row", "j")};
            sum = ${add("sum", from_real("one"))};
        }
        sum = ${warp_reduce("add", "sum")};
        if (${thread_id()} == 0) {
            ${store("sums", "row", "sum")}
        }
    }
    """,
    "row_sums(a: in slfp64in32b [m, n], sums: out [m])",
    grid="m",
    block=32,
    format="dd",
)


def main(device: str | None = None) -> tuple[mp.Array, mp.Array]:
    """Rows whose sums need more digits than float64 has."""
    values = [[(-1) ** j * 2.0 ** (40 * (j % 3)) * (i + 1) for j in range(100)] for i in range(5)]
    a = mp.array(values, "slfp64in32b", device)
    return a, row_sums(a=a)


if __name__ == "__main__":
    print(main()[1].to_strings())
